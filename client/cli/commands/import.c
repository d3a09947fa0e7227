/*
 * sirixctl import DB/RESOURCE FILE          one file
 * sirixctl import DB FILE...                each into the resource of its name without suffix
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

enum own_flag {
    FLAG_NDJSON = SIRIXCTL_WRITE_FLAG_COUNT,
    FLAG_REPLACE,
    FLAG_DUPLICATE_KEYS,
    FLAG_AT,
    FLAG_POSITION,
    FLAG_NAME,
};

static const struct sirixctl_flag own_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [FLAG_NDJSON] = {"ndjson", NULL, "one JSON text a line (so are *.ndjson and *.jsonl)"},
    [FLAG_REPLACE] = {"replace", NULL, "replace the value that is there"},
    [FLAG_DUPLICATE_KEYS] = {"duplicate-keys", "WHAT", "refuse (default), or last: keep the last"},
    [FLAG_AT] = {"at", "NODE", "insert at this node (key or path) instead"},
    [FLAG_POSITION] = {"position", "WHERE",
                       "with --at: first (default), last, before, after, or an index"},
    [FLAG_NAME] = {"name", "NAME", "with --at an object: the new member"},
};

/* A file, or stdin, as the library reads it. */
struct file_source {
    const char *path;
    int fd;
    uint64_t size_bytes; /* 0: not known. */
    struct sirixctl_progress progress;
};

static enum sirix_status read_file(void *context, void *buffer, size_t capacity, size_t *out_len,
                                   struct sirix_error *err)
{
    struct file_source *source = context;
    ssize_t len = 0;

    do {
        if (!sirixctl_interrupt_wait_readable(source->fd)) {
            return sirix_fail(err, SIRIX_CANCELLED, "the import was interrupted");
        }
        len = read(source->fd, buffer, capacity);
    } while (len < 0 && (errno == EINTR || errno == EAGAIN));
    if (len < 0) {
        return sirix_fail(err, SIRIX_IO, "read `%s`: %s", source->path, strerror(errno));
    }
    sirixctl_progress_add(&source->progress, (uint64_t)len);
    *out_len = (size_t)len;
    return SIRIX_OK;
}

static enum sirix_status open_source(const char *path, struct file_source *out_source,
                                     struct sirix_error *err)
{
    struct file_source source = {.path = path, .fd = STDIN_FILENO};
    struct stat file = {0};

    if (strcmp(path, "-") != 0) {
        source.fd = open(path, O_RDONLY | O_CLOEXEC);
    }
    if (source.fd < 0) {
        return sirix_fail(err, errno == ENOENT ? SIRIX_NOT_FOUND : SIRIX_IO, "open `%s`: %s", path,
                          strerror(errno));
    }
    if (fstat(source.fd, &file) == 0 && S_ISDIR(file.st_mode)) {
        (void)close(source.fd);
        return sirix_fail(err, SIRIX_IO, "`%s` is a folder", path);
    }
    if (S_ISREG(file.st_mode) && file.st_size > 0) {
        source.size_bytes = (uint64_t)file.st_size;
    }
    *out_source = source;
    return SIRIX_OK;
}

static void close_source(struct file_source *source)
{
    if (source->fd != STDIN_FILENO) {
        (void)close(source->fd);
    }
}

static bool has_suffix(const char *path, const char *suffix)
{
    size_t len = strlen(path);
    size_t suffix_len = strlen(suffix);

    return len > suffix_len && strcmp(path + len - suffix_len, suffix) == 0;
}

/* The name of the resource that a file makes: its own, without folder and suffix. */
static enum sirix_status name_from_file(const char *path, struct sirixctl_name *name,
                                        struct sirix_error *err)
{
    static const char *const known_suffixes[] = {".json", ".ndjson", ".jsonl"};
    const char *base = strrchr(path, '/');

    base = base != NULL ? base + 1 : path;
    size_t len = strlen(base);
    for (size_t i = 0; i < sizeof(known_suffixes) / sizeof(known_suffixes[0]); i++) {
        if (has_suffix(base, known_suffixes[i])) {
            len -= strlen(known_suffixes[i]);
            break;
        }
    }
    struct sirix_bytes bytes = {.data = base, .len = len};
    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, bytes, "resource", err);
    if (status == SIRIX_INVALID) {
        return sirix_fail_reason(err, status, SIRIX_REASON_NAME_INVALID,
                                 "the name of `%s` is none for a resource (1 to %d letters a-z and "
                                 "A-Z, digits, '.', '_' and '-'): give one, %s/NAME FILE",
                                 path, SIRIX_NAME_BYTES_MAX, name->database);
    }
    if (status == SIRIX_OK) {
        memcpy(name->resource, base, len);
        name->resource[len] = '\0';
    }
    return status;
}

/* All of the request but names and source. */
static enum sirix_status read_flags(struct sirixctl *ctl, struct sirix_import_request *request,
                                    struct sirix_error *err)
{
    const char *const *flags = ctl->args.own;
    const char *duplicates = flags[FLAG_DUPLICATE_KEYS];
    enum sirix_status status = sirixctl_write_options(ctl, &request->write, err);

    if (status == SIRIX_OK && duplicates != NULL && strcmp(duplicates, "refuse") != 0 &&
        strcmp(duplicates, "last") != 0) {
        status = sirixctl_usage(err, "--duplicate-keys wants refuse or last, not `%s`", duplicates);
    }
    if (status == SIRIX_OK && flags[FLAG_AT] == NULL &&
        (flags[FLAG_POSITION] != NULL || flags[FLAG_NAME] != NULL)) {
        status = sirixctl_usage(err, "--position and --name go with --at");
    }
    if (status == SIRIX_OK) {
        struct sirix_target target; /* Found later, for each resource; wrong ones are told now. */

        status = sirixctl_target(flags[FLAG_AT], &target, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_position(flags[FLAG_POSITION], &request->place, err);
    }
    request->branch = flags[SIRIXCTL_BRANCH];
    request->replace = flags[FLAG_REPLACE] != NULL;
    request->last_duplicate_wins = duplicates != NULL && strcmp(duplicates, "last") == 0;
    request->has_place = flags[FLAG_AT] != NULL;
    request->has_name = flags[FLAG_NAME] != NULL;
    request->name = sirix_bytes_from_str(flags[FLAG_NAME]);
    return status;
}

/* The key of --at, for the resource at hand. */
static enum sirix_status find_place(struct sirixctl *ctl, const struct sirixctl_name *name,
                                    struct sirix_import_request *request, struct sirix_error *err)
{
    struct sirix_target target;
    struct sirix_view view;
    enum sirix_status status = sirixctl_target(ctl->args.own[FLAG_AT], &target, err);

    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, name, request->branch, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_target_key(ctl, name, &view, &target, &request->place.node_key, err);
    }
    return status;
}

static enum sirix_status print_json(struct sirixctl *ctl, const struct sirixctl_name *name,
                                    const char *path, const struct sirix_import_result *result,
                                    uint64_t elapsed_ns, struct sirix_error *err)
{
    struct sirixctl_json json;
    char seconds[32];

    (void)snprintf(seconds, sizeof(seconds), "%.3f", (double)elapsed_ns / 1e9);
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "database", name->database);
    sirixctl_json_str(&json, "resource", name->resource);
    sirixctl_json_str(&json, "file", path);
    sirixctl_json_write_result(&json, &result->result);
    sirixctl_json_u64(&json, "nodes", result->nodes);
    sirixctl_json_u64(&json, "textBytes", result->text_bytes);
    sirixctl_json_u64(&json, "duplicatesDropped", result->duplicates_dropped);
    sirixctl_json_u64(&json, "rootKey", result->root_key);
    sirixctl_json_u64(&json, "items", result->items);
    sirixctl_json_bool(&json, "databaseCreated", result->database_created);
    sirixctl_json_bool(&json, "resourceCreated", result->resource_created);
    sirixctl_json_raw(&json, "seconds", sirix_bytes_from_str(seconds));
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static void print_words(struct sirixctl *ctl, const struct sirixctl_name *name,
                        const struct sirix_import_result *result, uint64_t elapsed_ns)
{
    char size[16];
    char rate[16];
    double seconds = (double)elapsed_ns / 1e9;

    sirixctl_format_bytes(result->text_bytes, size);
    sirixctl_format_bytes(seconds > 0 ? (uint64_t)((double)result->text_bytes / seconds) : 0, rate);
    sirixctl_out_printf(&ctl->out, "%s/%s: revision %" PRIu64 ", ", name->database, name->resource,
                        result->result.revision);
    sirixctl_out_count(&ctl->out, result->nodes, "node");
    sirixctl_out_printf(&ctl->out, ", %s (%s/s)%s\n", size, rate,
                        result->result.replayed ? " (done before, by the same key)" : "");
    if (result->duplicates_dropped != 0) {
        sirixctl_out_printf(&ctl->out, "dropped ");
        sirixctl_out_count(&ctl->out, result->duplicates_dropped, "duplicate member");
        sirixctl_out_printf(&ctl->out, "\n");
    }
}

/* A cancelled import is told with what became of the data, which is what people ask then. */
static enum sirix_status tell_cancelled(enum sirix_status status, const struct sirixctl_name *name,
                                        size_t done, struct sirix_error *err)
{
    if (status != SIRIX_CANCELLED) {
        return status;
    }
    if (done == 0) {
        return sirix_fail(err, status, "cancelled: nothing was changed in %s/%s", name->database,
                          name->resource);
    }
    return sirix_fail(err, status,
                      "cancelled: nothing was changed in %s/%s; the %zu files before it are stored",
                      name->database, name->resource, done);
}

static enum sirix_status import_source(struct sirixctl *ctl, const struct sirixctl_name *name,
                                       struct file_source *source,
                                       struct sirix_import_request *request,
                                       struct sirix_error *err)
{
    const char *path = source->path;
    struct sirix_import_result result;

    request->database = name->database;
    request->resource = name->resource;
    request->source = (struct sirix_source){.read = read_file, .context = source};
    request->ndjson = ctl->args.own[FLAG_NDJSON] != NULL || has_suffix(path, ".ndjson") ||
                      has_suffix(path, ".jsonl");
    sirixctl_progress_start(&source->progress, strcmp(path, "-") == 0 ? "stdin" : path,
                            source->size_bytes, !ctl->quiet && !ctl->json);
    uint64_t start_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    enum sirix_status status = sirix_client_import(ctl->client, request, &ctl->call, &result, err);
    uint64_t elapsed_ns = sirix_clock_monotonic_ns(sirix_clock_system()) - start_ns;
    sirixctl_progress_stop(&source->progress);
    if (status == SIRIX_OK && ctl->json) {
        status = print_json(ctl, name, path, &result, elapsed_ns, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        print_words(ctl, name, &result, elapsed_ns);
    }
    (void)fflush(ctl->out.file); /* Each file as it is done; a failure shows at the end. */
    return status;
}

static enum sirix_status import_file(struct sirixctl *ctl, const struct sirixctl_name *name,
                                     const char *path, struct sirix_import_request *request,
                                     struct sirix_error *err)
{
    struct file_source source = {.fd = -1};
    enum sirix_status status = open_source(path, &source, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (request->has_place) {
        status = find_place(ctl, name, request, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = import_source(ctl, name, &source, request, err);
    }
    request->source = (struct sirix_source){0}; /* It was for this file alone. */
    close_source(&source);
    return status;
}

/* Names and files, before the first of them is touched. */
static enum sirix_status check_operands(struct sirixctl *ctl, const struct sirixctl_name *name,
                                        struct sirix_error *err)
{
    bool one = name->resource[0] != '\0';
    enum sirix_status status = SIRIX_OK;

    if (one && ctl->args.operand_count != 2) {
        status =
            sirixctl_usage(err, "several files go into a database: sirixctl import DB FILE...");
    }
    for (size_t i = 1; i < ctl->args.operand_count && status == SIRIX_OK; i++) {
        struct sirixctl_name unused = *name;
        struct file_source source = {.fd = -1};

        if (!one) {
            status = name_from_file(ctl->args.operands[i], &unused, err);
        }
        if (status == SIRIX_OK) {
            status = open_source(ctl->args.operands[i], &source, err);
        }
        if (status == SIRIX_OK) {
            close_source(&source);
        }
    }
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_import_request request = {0};
    struct sirixctl_name name;
    enum sirix_status status = sirixctl_name_parse(ctl->args.operands[0], &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_name_refuse_at(&name, err);
    }
    if (status == SIRIX_OK) {
        status = read_flags(ctl, &request, err);
    }
    if (status == SIRIX_OK) {
        status = check_operands(ctl, &name, err);
    }
    bool one = status == SIRIX_OK && name.resource[0] != '\0';
    for (size_t i = 1; i < ctl->args.operand_count && status == SIRIX_OK; i++) {
        const char *path = ctl->args.operands[i];

        if (!one) {
            status = name_from_file(path, &name, err);
        }
        if (status == SIRIX_OK) {
            status = import_file(ctl, &name, path, &request, err);
        }
        status = tell_cancelled(status, &name, i - 1, err);
    }
    return status;
}

const struct sirixctl_command sirixctl_import = {
    .name = "import",
    .operands = "DB/RESOURCE FILE | DB FILE...",
    .summary = "Store JSON files, each as one revision",
    .details = "Creates the database and the resource if need be. `-` is stdin. Several files go\n"
               "into the resources of their names without suffix.",
    .answer =
        "an object a file, one a line:\n"
        "{\"database\",\"resource\",\"file\",\"revision\",\"parentRevision\",\"timestamp\","
        "\"changed\",\"replayed\",\n"
        "\"nodes\",\"textBytes\",\"duplicatesDropped\",\"rootKey\",\"items\",\"databaseCreated\",\n"
        "\"resourceCreated\",\"seconds\"}",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 2,
    .operands_max = SIRIXCTL_OPERANDS_MAX,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run,
};
