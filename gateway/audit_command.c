/* Checking audit logs from the command line. */
#include "audit_command.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "backend/backend.h"
#include "base/hash.h"
#include "guard/audit_check.h"

enum { EXIT_USAGE = 2, EXIT_OPEN = 3, SETTLE_TIMEOUT_MS = 30 * 1000 };

struct command {
    struct sirix_gateway_backend_options store;
    char *const *files;
    int file_count;
};

/* Where the value of a flag goes; NULL: there is no such flag. */
static const char **find(struct command *command, const char *flag)
{
    struct sirix_gateway_backend_options *store = &command->store;
    const struct {
        const char *flag;
        const char **to;
    } flags[] = {
        {"--database-path", &store->directory}, {"--storage", &store->address},
        {"--token-file", &store->token_file},   {"--tls-ca", &store->tls_ca},
        {"--tls-cert", &store->tls_cert},       {"--tls-key", &store->tls_key},
    };

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strcmp(flag, flags[i].flag) == 0) {
            return flags[i].to;
        }
    }
    return NULL;
}

static bool take(int argc, char *const *argv, struct command *out)
{
    int at = 3;

    if (argc < 3 || strcmp(argv[2], "verify") != 0) {
        return false;
    }
    for (; at + 1 < argc && argv[at][0] == '-'; at += 2) {
        const char **where = find(out, argv[at]);

        if (where == NULL || *where != NULL) {
            return false;
        }
        *where = argv[at + 1];
    }
    out->files = argv + at;
    out->file_count = argc - at;
    return out->file_count > 0 && argv[at][0] != '-' &&
           (out->store.directory == NULL || out->store.address == NULL);
}

/*
 * Whether the store has done the write with that key. It is asked for something that it never does:
 * to remove a label that does not exist. A key that was used stands for another request, and the store
 * says so before it looks for the label.
 */
static enum sirix_status settle(struct sirix_gateway_backend *backend,
                                const struct sirix_audit_intent *intent, bool *out_has_happened,
                                struct sirix_error *err)
{
    const struct sirix_call_options options = {.deadline_ms = SETTLE_TIMEOUT_MS};
    struct sirix_delete_name_result result = {0};
    struct sirix_error inner = {0};
    char name[SIRIX_RANDOM_ID_BYTES];
    enum sirix_status status = sirix_random_id(name, err);

    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_delete_name_request request = {
        .database = intent->database,
        .resource = intent->resource,
        .name = name,
        .write = {.idempotency_key = sirix_bytes_from_str(intent->key)},
    };
    status = sirix_backend_delete_snapshot(backend, &request, &options, &result, &inner);
    if (status == SIRIX_INVALID && inner.reason == SIRIX_REASON_IDEMPOTENCY_MISMATCH) {
        *out_has_happened = true;
        return SIRIX_OK;
    }
    /* Where the resource itself is gone nobody knows, but for what would have made it. */
    if (status == SIRIX_NOT_FOUND && (inner.reason == SIRIX_REASON_SNAPSHOT_UNKNOWN ||
                                      strcmp(intent->tool, "sirix_create_resource") == 0)) {
        *out_has_happened = false;
        return SIRIX_OK;
    }
    return sirix_fail(err, status == SIRIX_OK ? SIRIX_INTERNAL : status, "%s", inner.text);
}

/* How many of the writes without an outcome stay open. */
static size_t settle_all(const struct command *command, const struct sirix_audit_check *check)
{
    const bool has_store = command->store.directory != NULL || command->store.address != NULL;
    struct sirix_gateway_backend *backend = NULL;
    struct sirix_error err = {0};
    size_t open = 0;

    if (has_store && check->intent_count != 0 &&
        sirix_backend_start(&command->store, &backend, &err) != SIRIX_OK) {
        (void)fprintf(stderr, "sirix-mcp: %s\n", err.text);
    }
    for (size_t i = 0; i < check->intent_count; i++) {
        const struct sirix_audit_intent *intent = &check->intents[i];
        bool has_happened = false;
        const bool is_settled =
            backend != NULL && settle(backend, intent, &has_happened, &err) == SIRIX_OK;

        (void)printf("write %" PRIu64 " of %s, %s on %s/%s: ", intent->seq, intent->instance,
                     intent->tool, intent->database, intent->resource);
        if (is_settled) {
            (void)printf("%s\n", has_happened ? "has happened" : "has not happened");
        } else {
            (void)printf("is open%s%s\n", backend != NULL ? ": " : "",
                         backend != NULL ? err.text : "");
            open++;
        }
    }
    sirix_backend_stop(backend);
    return open;
}

static enum sirix_status check_one(struct sirix_audit_check *check, const char *path,
                                   struct sirix_error *err)
{
    const int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot open: %s", strerror(errno));
    }
    enum sirix_status status = sirix_audit_check_file(check, fd, err);
    (void)close(fd);
    return status;
}

static int verify(const struct command *command, struct sirix_audit_check *check)
{
    bool is_broken = false;
    bool is_open = false;

    for (int i = 0; i < command->file_count; i++) {
        const char *path = command->files[i];
        struct sirix_error err = {0};

        if (check_one(check, path, &err) != SIRIX_OK) {
            (void)printf("%s: %s\n", path, err.text);
            is_broken = true;
            continue;
        }
        (void)printf("%s: whole, last line %" PRIu64 " %s%s\n", path, check->seq, check->hash,
                     check->is_torn ? ", and a piece of a line behind it" : "");
        if (!check->has_ended && !check->is_rotated) {
            (void)printf(
                "%s: has no end: its process was killed, runs still, or lines are cut off\n", path);
            is_open = true;
        }
    }
    if (settle_all(command, check) != 0) {
        is_open = true;
    }
    return is_broken ? EXIT_FAILURE : is_open ? EXIT_OPEN : EXIT_SUCCESS;
}

int sirix_audit_command(int argc, char *const *argv)
{
    struct command command = {0};
    struct sirix_audit_check check;
    struct sirix_error err = {0};

    if (!take(argc, argv, &command)) {
        (void)fprintf(stderr, "sirix-mcp: usage: sirix-mcp audit verify [--database-path DIR | "
                              "--storage ADDRESS] FILE...\n");
        return EXIT_USAGE;
    }
    if (sirix_audit_check_init(&check, &err) != SIRIX_OK) {
        (void)fprintf(stderr, "sirix-mcp: %s\n", err.text);
        return EXIT_FAILURE;
    }
    int code = verify(&command, &check);
    sirix_audit_check_deinit(&check);
    return fflush(stdout) == 0 ? code : EXIT_FAILURE;
}
