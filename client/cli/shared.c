/* What commands share. */
#include "cli/command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "json/reader.h"

enum { READ_BYTES = 64 * 1024 };

enum sirix_status sirixctl_resource_operand(const struct sirixctl *ctl, size_t at,
                                            struct sirixctl_name *out_name, struct sirix_error *err)
{
    struct sirixctl_name name;
    enum sirix_status status = sirixctl_name_parse(ctl->args.operands[at], &name, err);

    if (status == SIRIX_OK && name.resource[0] == '\0') {
        status =
            sirixctl_usage(err, "`%s` names a database; this wants DB/RESOURCE", name.database);
    }
    if (status == SIRIX_OK) {
        *out_name = name;
    }
    return status;
}

enum sirix_status sirixctl_write_operand(const struct sirixctl *ctl, size_t at,
                                         struct sirixctl_name *out_name, struct sirix_error *err)
{
    enum sirix_status status = sirixctl_resource_operand(ctl, at, out_name, err);

    return status != SIRIX_OK ? status : sirixctl_name_refuse_at(out_name, err);
}

enum sirix_status sirixctl_view(struct sirixctl *ctl, const struct sirixctl_name *name,
                                const char *branch, struct sirix_view *out_view,
                                struct sirix_error *err)
{
    enum sirix_status status = sirixctl_check_branch(branch, err);

    if (status == SIRIX_OK) {
        status = sirixctl_name_check_branch(name, branch, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_name_view(ctl->client, name, branch, &ctl->call, out_view, err);
    }
    return status;
}

enum sirix_status sirixctl_check_operand(const struct sirixctl *ctl, size_t at,
                                         enum sirix_name_kind kind, struct sirix_error *err)
{
    static const char *const kind_names[] = {
        [SIRIX_NAME_DATABASE] = "database",
        [SIRIX_NAME_RESOURCE] = "resource",
        [SIRIX_NAME_SNAPSHOT] = "snapshot",
        [SIRIX_NAME_BRANCH] = "branch",
    };

    return sirix_name_check(kind, sirix_bytes_from_str(ctl->args.operands[at]), kind_names[kind],
                            err);
}

enum sirix_status sirixctl_check_branch(const char *branch, struct sirix_error *err)
{
    return branch == NULL
               ? SIRIX_OK
               : sirix_name_check(SIRIX_NAME_BRANCH, sirix_bytes_from_str(branch), "--branch", err);
}

enum sirix_status sirixctl_check_json(struct sirix_bytes text, unsigned depth_max,
                                      struct sirix_error *err)
{
    const struct sirix_json_reader_options options = {.depth_max = depth_max};
    struct sirix_json_event event = {.kind = SIRIX_JSON_NEED_INPUT};
    struct sirix_json_reader reader;
    enum sirix_status status = SIRIX_OK;

    sirix_json_reader_init(&reader, &options);
    sirix_json_reader_feed(&reader, text, true);
    while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
    }
    sirix_json_reader_deinit(&reader);
    return status;
}

enum sirix_status sirixctl_expected_revision(const char *text, struct sirix_write_options *write,
                                             struct sirix_error *err)
{
    write->has_expected_revision = text != NULL;
    return sirixctl_parse_optional(text, "--expected-revision", UINT64_MAX,
                                   &write->expected_revision, err);
}

enum sirix_status sirixctl_write_options(const struct sirixctl *ctl,
                                         struct sirix_write_options *out_write,
                                         struct sirix_error *err)
{
    struct sirix_write_options write = {
        .message = sirix_bytes_from_str(ctl->args.own[SIRIXCTL_MESSAGE]),
        .idempotency_key = sirix_bytes_from_str(ctl->args.own[SIRIXCTL_IDEMPOTENCY_KEY]),
        .on_behalf_of = sirix_bytes_from_str(ctl->args.own[SIRIXCTL_ON_BEHALF_OF]),
    };
    enum sirix_status status = sirixctl_check_branch(ctl->args.own[SIRIXCTL_BRANCH], err);

    if (status == SIRIX_OK) {
        status = sirixctl_expected_revision(ctl->args.own[SIRIXCTL_EXPECTED_REVISION], &write, err);
    }
    if (status == SIRIX_OK) {
        *out_write = write;
    }
    return status;
}

enum sirix_status sirixctl_target(const char *text, struct sirix_target *out_target,
                                  struct sirix_error *err)
{
    struct sirix_target target = {0};

    if (text != NULL && text[0] == '/') {
        target.path = sirix_bytes_from_str(text);
    } else if (text != NULL && text[0] != '\0') {
        enum sirix_status status =
            sirixctl_parse_u64(text, "a node (its key, or its path, which begins with a slash)",
                               UINT64_MAX, &target.node_key, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out_target = target;
    return SIRIX_OK;
}

enum sirix_status sirixctl_position(const char *text, struct sirix_place *place,
                                    struct sirix_error *err)
{
    static const struct {
        const char *name;
        enum sirix_position position;
    } known_names[] = {
        {"first", SIRIX_POSITION_FIRST_CHILD},
        {"last", SIRIX_POSITION_LAST_CHILD},
        {"before", SIRIX_POSITION_LEFT_SIBLING},
        {"after", SIRIX_POSITION_RIGHT_SIBLING},
    };

    for (size_t i = 0; text != NULL && i < sizeof(known_names) / sizeof(known_names[0]); i++) {
        if (strcmp(text, known_names[i].name) == 0) {
            place->position = known_names[i].position;
            return SIRIX_OK;
        }
    }
    if (text == NULL) {
        return SIRIX_OK;
    }
    place->position = SIRIX_POSITION_INDEX;
    return sirixctl_parse_u64(text, "--position (first, last, before, after, or an index)",
                              UINT64_MAX, &place->index, err);
}

enum sirix_status sirixctl_target_key(struct sirixctl *ctl, const struct sirixctl_name *name,
                                      const struct sirix_view *view,
                                      const struct sirix_target *target, uint64_t *out_key,
                                      struct sirix_error *err)
{
    struct sirix_node_page *page = NULL;
    struct sirix_read_node_request request = {
        .database = name->database,
        .resource = name->resource,
        .view = *view,
        .target = *target,
        .has_max_depth = true,
        .max_nodes = 1,
    };

    if (target->path.len == 0) {
        *out_key = target->node_key;
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_client_read_node(ctl->client, &request, &ctl->call, &page, err);
    if (status == SIRIX_OK && page->count == 0) {
        status = sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_NODE_UNKNOWN,
                                   "the resource holds no value");
    }
    if (status == SIRIX_OK) {
        *out_key = page->nodes[0].node_key;
    }
    sirix_client_free(page);
    return status;
}

static enum sirix_status fail_file(struct sirix_error *err, const char *path)
{
    enum sirix_status status = errno == ENOENT ? SIRIX_NOT_FOUND : SIRIX_IO;

    return sirix_fail(err, status, "read `%s`: %s", path, strerror(errno));
}

enum sirix_status sirixctl_read_file(const char *path, size_t bytes_max, char **out_text,
                                     size_t *out_len, struct sirix_error *err)
{
    bool is_stdin = strcmp(path, "-") == 0;
    int fd = is_stdin ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    enum sirix_status status = SIRIX_OK;
    struct sirix_buf buf;

    if (fd < 0) {
        return fail_file(err, path);
    }
    sirix_buf_init(&buf, bytes_max);
    for (;;) {
        status = sirix_buf_reserve(&buf, READ_BYTES, err);
        if (status != SIRIX_OK) {
            break;
        }
        ssize_t len = read(fd, buf.data + buf.len, READ_BYTES);
        if (len < 0 && errno == EINTR) {
            continue;
        }
        if (len < 0) {
            status = fail_file(err, path);
        }
        if (len <= 0) {
            break;
        }
        buf.len += (size_t)len;
    }
    if (status == SIRIX_OK) {
        uint8_t *data = NULL;

        sirix_buf_take(&buf, &data, out_len);
        *out_text = (char *)data;
    }
    sirix_buf_deinit(&buf);
    if (!is_stdin) {
        (void)close(fd);
    }
    return status;
}

void sirixctl_json_write_result(struct sirixctl_json *json, const struct sirix_write_result *result)
{
    sirixctl_json_u64(json, "revision", result->revision);
    sirixctl_json_u64(json, "parentRevision", result->parent_revision);
    sirixctl_json_time(json, "timestamp", result->timestamp_us);
    sirixctl_json_bool(json, "changed", result->changed);
    sirixctl_json_bool(json, "replayed", result->replayed);
}

static void print_write_result(struct sirixctl *ctl, const struct sirix_write_result *result)
{
    if (ctl->quiet) {
        return;
    }
    if (!result->changed) {
        sirixctl_out_printf(&ctl->out, "nothing changed; the head is revision %" PRIu64 "\n",
                            result->revision);
        return;
    }
    sirixctl_out_printf(&ctl->out, "revision %" PRIu64 "%s\n", result->revision,
                        result->replayed ? " (done before, by the same key)" : "");
}

bool sirixctl_begin_write_answer(struct sirixctl *ctl, const struct sirix_write_result *result,
                                 struct sirixctl_json *json)
{
    if (!ctl->json) {
        print_write_result(ctl, result);
        return false;
    }
    sirixctl_json_init(json);
    sirixctl_json_object(json, NULL);
    sirixctl_json_write_result(json, result);
    return true;
}
