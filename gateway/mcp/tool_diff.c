/* sirix_diff. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "mcp/cursor.h"
#include "mcp/tools.h"

enum {
    VALUE_BYTES_DEFAULT = 4096, /* Of one old or new value, less where the answer is small. */
    VALUE_SHARE = 8,            /* Of maxResultBytes that one value may take. */
    PATCH_OPERATIONS_MAX = 1000000,
};

struct comparing {
    struct sirix_mcp_call *call;
    struct sirix_diff_request request;
    struct sirix_json_node *changes;
    uint64_t limit;
    uint64_t skip; /* Changes that earlier answers gave. */
    uint64_t seen;
    uint64_t given;
    size_t bytes;
    bool is_full;
    struct sirix_buf patch;
    struct sirix_diff_counts counts;
    struct sirix_diff_ends ends;
};

/* One end: a revision or a snapshot; *out_given says whether there was any. */
static enum sirix_status take_end(struct sirix_mcp_call *call, const char *revision_name,
                                  const char *snapshot_name, struct sirix_view *out,
                                  bool *out_given, struct sirix_error *err)
{
    const struct sirix_argument *revision = sirix_argument(&call->arguments, revision_name);
    const char *snapshot = NULL;
    enum sirix_status status = sirix_mcp_name(call, snapshot_name, false, &snapshot, err);

    if (status == SIRIX_OK && revision != NULL && snapshot != NULL) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "%s and %s exclude each other; give one", revision_name,
                                   snapshot_name);
        sirix_error_set_field(err, snapshot_name);
    }
    if (status == SIRIX_OK && revision != NULL) {
        *out = (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = revision->number};
    } else if (status == SIRIX_OK && snapshot != NULL) {
        *out = (struct sirix_view){.kind = SIRIX_VIEW_SNAPSHOT, .name = snapshot};
    }
    *out_given = revision != NULL || snapshot != NULL;
    return status;
}

static enum sirix_status take_request(struct comparing *c, struct sirix_error *err)
{
    struct sirix_mcp_call *call = c->call;
    const struct sirix_bytes format = sirix_argument_text(&call->arguments, "format");
    const char *branch = NULL;
    bool has_to = false;
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = take_end(call, "from_revision", "from_snapshot", &c->request.from,
                          &c->request.has_from, err);
    }
    if (status == SIRIX_OK) {
        status = take_end(call, "to_revision", "to_snapshot", &c->request.to, &has_to, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "branch", true, &branch, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!has_to && branch != NULL) {
        c->request.to = (struct sirix_view){.kind = SIRIX_VIEW_BRANCH, .name = branch};
    }
    c->request.database = call->database;
    c->request.resource = call->resource;
    c->request.json_patch = format.len == strlen("json-patch");
    c->request.max_patch_operations = PATCH_OPERATIONS_MAX;
    const size_t share = call->answer.bytes_max / VALUE_SHARE;
    c->request.max_value_bytes =
        (uint32_t)(share < VALUE_BYTES_DEFAULT ? share : VALUE_BYTES_DEFAULT);
    c->limit = sirix_mcp_limit(call, "limit", 0);
    return SIRIX_OK;
}

/* Goes on where a cursor says: both revisions are in it, as `revision` and `server`. */
static enum sirix_status take_cursor(struct comparing *c, uint64_t tag, struct sirix_error *err)
{
    const struct sirix_argument *given = sirix_argument(&c->call->arguments, "cursor");
    struct sirix_cursor cursor = {0};
    uint64_t from = 0;
    enum sirix_status status = SIRIX_OK;

    if (given != NULL) {
        status = sirix_cursor_read(c->call->arena, tag, given->text, &cursor, err);
    }
    if (given == NULL || status != SIRIX_OK) {
        return status;
    }
    if (cursor.server.len != sizeof(from) || cursor.skip > UINT32_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                                   "cursor is not one that sirix_diff has answered");
        sirix_error_set_field(err, "cursor");
        return status;
    }
    memcpy(&from, cursor.server.data, sizeof(from));
    c->request.has_from = true;
    c->request.from = (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = from};
    c->request.to = (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = cursor.revision};
    c->skip = cursor.skip;
    return SIRIX_OK;
}

/* A value, or the beginning of its text where it was too long. */
static void add_value(struct sirix_answer *answer, struct sirix_json_node *item, const char *name,
                      struct sirix_bytes json, bool is_cut)
{
    if (json.len == 0) {
        return;
    }
    if (!is_cut) {
        sirix_answer_set(answer, item, name, sirix_answer_value(answer, json));
        return;
    }
    /* The text of a value that is cut is no JSON; it is shown as text. */
    sirix_answer_stored(answer, item, name, json);
    sirix_answer_bool(answer, item, "valueCut", true);
    sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_STRINGS);
}

static struct sirix_json_node *change_item(struct sirix_answer *answer,
                                           const struct sirix_change *change)
{
    struct sirix_json_node *item = sirix_answer_object(answer);

    sirix_answer_str(answer, item, "type", sirix_change_kind_name(change->kind));
    sirix_answer_u64(answer, item, "nodeKey", change->node_key);
    sirix_answer_stored(answer, item, "path", change->path);
    switch (change->kind) {
    case SIRIX_CHANGE_KIND_INSERT:
        add_value(answer, item, "value", change->new_value, change->new_cut);
        break;
    case SIRIX_CHANGE_KIND_RENAME:
        sirix_answer_stored(answer, item, "oldName", change->old_name);
        sirix_answer_stored(answer, item, "newName", change->new_name);
        break;
    case SIRIX_CHANGE_KIND_MOVE:
        sirix_answer_u64(answer, item, "oldIndex", change->old_index);
        sirix_answer_u64(answer, item, "newIndex", change->new_index);
        break;
    default:
        add_value(answer, item, "oldValue", change->old_value, change->old_cut);
        add_value(answer, item, "newValue", change->new_value, change->new_cut);
        break;
    }
    if (change->equal_value) {
        sirix_answer_bool(answer, item, "equalValue", true);
    }
    return item;
}

static void add_changes(struct comparing *c, const struct sirix_diff_part *part)
{
    struct sirix_answer *answer = &c->call->answer;

    for (size_t i = 0; i < part->change_count && !c->is_full; i++) {
        if (c->seen++ < c->skip) {
            continue;
        }
        const unsigned limits = answer->limits;
        const bool was_truncated = answer->is_truncated;
        struct sirix_json_node *item = change_item(answer, &part->changes[i]);
        const size_t size = sirix_answer_size(answer, item) + 1;

        if (c->given != 0 && !sirix_answer_has_room(answer, c->bytes, size + 256)) {
            /* What the item needed does not count, since it is not there. */
            answer->limits = limits;
            answer->is_truncated = was_truncated;
            sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
            c->is_full = true;
            break;
        }
        sirix_answer_append(answer, c->changes, item);
        c->bytes += size;
        c->given++;
    }
}

static enum sirix_status read_parts(struct comparing *c, struct sirix_diff_stream *stream,
                                    struct sirix_error *err)
{
    struct sirix_diff_part part = {.kind = SIRIX_DIFF_PART_CHANGES};
    uint64_t parts = 0;
    enum sirix_status status = SIRIX_OK;

    c->ends = sirix_backend_diff_ends(stream);
    while (status == SIRIX_OK && part.kind != SIRIX_DIFF_PART_END) {
        status = sirix_backend_diff_next(stream, &part, err);
        sirix_mcp_tell_progress(c->call->request, ++parts, 0, "parts of the diff", false);
        if (status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_CHANGES) {
            add_changes(c, &part);
        } else if (status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_JSON_PATCH &&
                   sirix_answer_has_room(&c->call->answer, c->patch.len, part.json_patch.len)) {
            status = sirix_buf_append_bytes(&c->patch, part.json_patch, err);
        } else if (status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_JSON_PATCH) {
            /* Half a patch is of no use, and must not be taken for one. */
            status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                       "the patch does not fit in maxResultBytes; the native "
                                       "format comes in pages");
            sirix_error_set_field(err, "format");
        }
    }
    c->counts = part.counts;
    return status;
}

static void add_counts(struct comparing *c)
{
    struct sirix_answer *answer = &c->call->answer;

    sirix_answer_u64(answer, answer->body, "fromRevision", c->ends.from_revision);
    sirix_answer_u64(answer, answer->body, "toRevision", c->ends.to_revision);
    sirix_answer_u64(answer, answer->body, "inserts", c->counts.inserts);
    sirix_answer_u64(answer, answer->body, "deletes", c->counts.deletes);
    sirix_answer_u64(answer, answer->body, "updates", c->counts.updates);
    sirix_answer_u64(answer, answer->body, "replaces", c->counts.replaces);
    sirix_answer_u64(answer, answer->body, "renames", c->counts.renames);
    sirix_answer_u64(answer, answer->body, "moves", c->counts.moves);
    if (c->ends.from_revision == c->ends.to_revision) {
        sirix_answer_printf(answer, answer->body, "note",
                            "Both ends are revision %" PRIu64 ", so there is no change.",
                            c->ends.to_revision);
    }
}

static enum sirix_status finish(struct comparing *c, uint64_t tag, struct sirix_error *err)
{
    struct sirix_answer *answer = &c->call->answer;
    const uint64_t from = c->ends.from_revision;
    struct sirix_cursor cursor = {
        .revision = c->ends.to_revision,
        .skip = c->skip + c->given,
        .server = {.data = &from, .len = sizeof(from)},
    };

    add_counts(c);
    if (c->request.json_patch) {
        sirix_answer_set(answer, answer->body, "patch",
                         sirix_answer_value(answer, sirix_buf_view(&c->patch)));
        return SIRIX_OK;
    }
    answer->has_count = true;
    answer->count = c->given;
    sirix_answer_set(answer, answer->body, "changes", c->changes);
    if (c->counts.truncated && !c->is_full) {
        sirix_answer_truncate(answer, sirix_mcp_limit_reason(c->call, c->limit));
    }
    return c->counts.truncated || c->is_full
               ? sirix_cursor_write(c->call->arena, tag, &cursor, &answer->next_cursor, err)
               : SIRIX_OK;
}

enum sirix_status sirix_tool_diff(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct comparing c = {.call = call};
    struct sirix_diff_stream *stream = NULL;
    enum sirix_status status = take_request(&c, err);
    const uint64_t tag = sirix_cursor_tag(call->tool->name, call->database, call->resource, 0);

    sirix_buf_init(&c.patch, call->answer.bytes_max);
    c.changes = sirix_answer_array(&call->answer);
    if (status == SIRIX_OK) {
        status = take_cursor(&c, tag, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        c.request.max_changes = c.skip + c.limit;
        status = sirix_backend_diff(call->server->backend, &c.request, &options, &stream, err);
    }
    if (status == SIRIX_OK) {
        status = read_parts(&c, stream, err);
    }
    if (status == SIRIX_OK) {
        status = finish(&c, tag, err);
    }
    sirix_backend_diff_close(stream);
    sirix_buf_deinit(&c.patch);
    return status;
}
