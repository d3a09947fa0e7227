/*
 * A list in memory and its text:
 *
 *     database shop bytes=1000000 snapshots=0 branches=16 calls=0
 *     principal ci bytes=0 snapshots=0 branches=0 calls=8
 */
#include "service/quota.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buf.h"
#include "service/service.h"

enum {
    ROWS_FIRST = 16,
    LINE_BYTES_MAX = 512,
    FILE_BYTES_MAX = SIRIX_QUOTAS_MAX * LINE_BYTES_MAX,
    PRIVATE_MODE = 0600,
    RETRY_AFTER_MS = 100,
    DECIMAL = 10,
};

static const char file_name[] = "quotas";
static const char new_name[] = "quotas.new";
static const char *const of_names[] = {
    [SIRIX_QUOTA_DATABASE] = "database",
    [SIRIX_QUOTA_PRINCIPAL] = "principal",
};

struct row {
    enum sirix_quota_of of;
    char name[SIRIX_QUOTA_NAME_BYTES_MAX + 1];
    struct sirix_quota quota;
    uint64_t running; /* Calls of a principal. */
};

struct sirix_quotas {
    int dir_fd;
    pthread_mutex_t mutex;
    struct row *rows;
    size_t count;
    size_t capacity;
    atomic_bool any; /* There are rows: without, nobody takes the mutex. */
};

/* --- Rows; with the mutex held ------------------------------------------------------------------ */

static struct row *find(struct sirix_quotas *quotas, enum sirix_quota_of of,
                        struct sirix_bytes name)
{
    for (size_t i = 0; i < quotas->count; i++) {
        struct row *row = &quotas->rows[i];

        if (row->of == of && strlen(row->name) == name.len &&
            memcmp(row->name, name.data, name.len) == 0) {
            return row;
        }
    }
    return NULL;
}

static enum sirix_status add(struct sirix_quotas *quotas, enum sirix_quota_of of,
                             struct sirix_bytes name, struct row **out_row, struct sirix_error *err)
{
    if (quotas->count == SIRIX_QUOTAS_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "there are %d quotas, as many as may be",
                          SIRIX_QUOTAS_MAX);
    }
    if (quotas->count == quotas->capacity) {
        size_t capacity = quotas->capacity == 0 ? ROWS_FIRST : 2 * quotas->capacity;
        struct row *rows = realloc(quotas->rows, capacity * sizeof(*rows));
        if (rows == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a quota");
        }
        quotas->rows = rows;
        quotas->capacity = capacity;
    }
    struct row *row = &quotas->rows[quotas->count++];
    *row = (struct row){.of = of};
    memcpy(row->name, name.data, name.len);
    atomic_store(&quotas->any, true);
    *out_row = row;
    return SIRIX_OK;
}

/* --- The file ----------------------------------------------------------------------------------- */

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing)
{
    char text[128];

    return sirix_fail(err, errno == ENOSPC ? SIRIX_NO_SPACE : SIRIX_IO, "%s the quotas: %s", doing,
                      strerror_r(errno, text, sizeof(text)));
}

/* Takes the next word off; empty at the end. */
static struct sirix_bytes next_word(const char **at)
{
    *at += strspn(*at, " ");
    const struct sirix_bytes word = {.data = *at, .len = strcspn(*at, " ")};

    *at += word.len;
    return word;
}

/* "KEY=NUMBER" as the next word. */
static bool take_number(const char **at, const char *key, uint64_t *out_value)
{
    const struct sirix_bytes word = next_word(at);
    const char *text = word.data;
    size_t len = strlen(key);
    char *end = NULL;

    if (word.len <= len + 1 || memcmp(text, key, len) != 0 || text[len] != '=') {
        return false;
    }
    errno = 0;
    *out_value = strtoull(text + len + 1, &end, DECIMAL);
    return errno == 0 && end == text + word.len;
}

static bool parse_quota(const char *at, struct sirix_quota *out_quota)
{
    return take_number(&at, "bytes", &out_quota->bytes) &&
           take_number(&at, "snapshots", &out_quota->snapshots) &&
           take_number(&at, "branches", &out_quota->branches) &&
           take_number(&at, "calls", &out_quota->calls) && next_word(&at).len == 0;
}

static enum sirix_status parse_line(struct sirix_quotas *quotas, const char *line,
                                    struct sirix_error *err)
{
    const struct sirix_bytes of = next_word(&line);
    const struct sirix_bytes name = next_word(&line);
    struct sirix_quota quota = {0};
    struct row *row = NULL;
    size_t kind = 0;

    while (kind < sizeof(of_names) / sizeof(of_names[0]) &&
           (strlen(of_names[kind]) != of.len || memcmp(of_names[kind], of.data, of.len) != 0)) {
        kind++;
    }
    if (kind == sizeof(of_names) / sizeof(of_names[0]) || name.len == 0 ||
        name.len > SIRIX_QUOTA_NAME_BYTES_MAX || !parse_quota(line, &quota)) {
        return sirix_fail(err, SIRIX_CORRUPT, "the file of quotas has a line that is none of ours");
    }
    enum sirix_status status = add(quotas, (enum sirix_quota_of)kind, name, &row, err);
    if (status == SIRIX_OK) {
        row->quota = quota;
    }
    return status;
}

static enum sirix_status load(struct sirix_quotas *quotas, struct sirix_error *err)
{
    int fd = openat(quotas->dir_fd, file_name, O_RDONLY | O_CLOEXEC);
    char line[LINE_BYTES_MAX];
    enum sirix_status status = SIRIX_OK;

    if (fd < 0 && errno == ENOENT) {
        return SIRIX_OK;
    }
    FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
    if (file == NULL) {
        status = fail_errno(err, "open");
        if (fd >= 0) {
            (void)close(fd);
        }
        return status;
    }
    while (status == SIRIX_OK && fgets(line, sizeof(line), file) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        status = parse_line(quotas, line, err);
    }
    if (status == SIRIX_OK && ferror(file) != 0) {
        status = fail_errno(err, "read");
    }
    (void)fclose(file);
    return status;
}

static enum sirix_status print_rows(const struct sirix_quotas *quotas, struct sirix_buf *text,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < quotas->count; i++) {
        const struct row *row = &quotas->rows[i];
        const struct sirix_quota *quota = &row->quota;

        if (quota->bytes != 0 || quota->snapshots != 0 || quota->branches != 0 ||
            quota->calls != 0) {
            status = sirix_buf_printf(text, err,
                                      "%s %s bytes=%" PRIu64 " snapshots=%" PRIu64
                                      " branches=%" PRIu64 " calls=%" PRIu64 "\n",
                                      of_names[row->of], row->name, quota->bytes, quota->snapshots,
                                      quota->branches, quota->calls);
        }
    }
    return status;
}

/* With the mutex held. */
static enum sirix_status save(struct sirix_quotas *quotas, struct sirix_error *err)
{
    struct sirix_buf text;
    int fd = -1;

    sirix_buf_init(&text, FILE_BYTES_MAX);
    enum sirix_status status = print_rows(quotas, &text, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    fd = openat(quotas->dir_fd, new_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, PRIVATE_MODE);
    if (fd < 0) {
        status = fail_errno(err, "make");
        goto out;
    }
    for (size_t at = 0; status == SIRIX_OK && at < text.len;) {
        ssize_t put = write(fd, text.data + at, text.len - at);
        if (put < 0) {
            status = fail_errno(err, "write");
        } else {
            at += (size_t)put;
        }
    }
    if (status == SIRIX_OK &&
        (fsync(fd) != 0 || renameat(quotas->dir_fd, new_name, quotas->dir_fd, file_name) != 0 ||
         fsync(quotas->dir_fd) != 0)) {
        status = fail_errno(err, "write");
    }
out:
    if (fd >= 0) {
        (void)close(fd);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Opening and setting ------------------------------------------------------------------------ */

enum sirix_status sirix_quotas_open(const char *dir, struct sirix_quotas **out_quotas,
                                    struct sirix_error *err)
{
    struct sirix_quotas *quotas = calloc(1, sizeof(*quotas));

    if (quotas == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the quotas");
    }
    (void)pthread_mutex_init(&quotas->mutex, NULL);
    quotas->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    enum sirix_status status =
        quotas->dir_fd < 0 ? fail_errno(err, "open the folder of") : load(quotas, err);
    if (status != SIRIX_OK) {
        sirix_quotas_close(quotas);
        return status;
    }
    *out_quotas = quotas;
    return SIRIX_OK;
}

void sirix_quotas_close(struct sirix_quotas *quotas)
{
    if (quotas == NULL) {
        return;
    }
    if (quotas->dir_fd >= 0) {
        (void)close(quotas->dir_fd);
    }
    (void)pthread_mutex_destroy(&quotas->mutex);
    free(quotas->rows);
    free(quotas);
}

struct sirix_quota sirix_quotas_get(struct sirix_quotas *quotas, enum sirix_quota_of of,
                                    struct sirix_bytes name)
{
    struct sirix_quota quota = {0};

    if (!atomic_load(&quotas->any)) {
        return quota;
    }
    (void)pthread_mutex_lock(&quotas->mutex);
    const struct row *row = find(quotas, of, name);
    if (row != NULL) {
        quota = row->quota;
    }
    (void)pthread_mutex_unlock(&quotas->mutex);
    return quota;
}

enum sirix_status sirix_quotas_set(struct sirix_quotas *quotas, enum sirix_quota_of of,
                                   struct sirix_bytes name, const struct sirix_quota *quota,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&quotas->mutex);
    struct row *row = find(quotas, of, name);
    if (row == NULL) {
        status = add(quotas, of, name, &row, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_quota before = row->quota;

        row->quota = *quota; /* A row whose quota was taken away stays for those who run. */
        status = save(quotas, err);
        if (status != SIRIX_OK) {
            row->quota = before;
        }
    }
    (void)pthread_mutex_unlock(&quotas->mutex);
    return status;
}

/* --- Asking ------------------------------------------------------------------------------------- */

static enum sirix_status refuse(struct sirix_error *err, const char *of, const char *name,
                                uint64_t limit, const char *what)
{
    return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_QUOTA,
                             "the quota of %s %s is %" PRIu64 " %s", of, name, limit, what);
}

enum sirix_status sirix_quotas_enter(struct sirix_quotas *quotas, const char *principal,
                                     struct sirix_error *err)
{
    const struct sirix_bytes name = {.data = principal, .len = strlen(principal)};
    enum sirix_status status = SIRIX_OK;

    if (!atomic_load(&quotas->any)) {
        return SIRIX_OK;
    }
    (void)pthread_mutex_lock(&quotas->mutex);
    struct row *row = find(quotas, SIRIX_QUOTA_PRINCIPAL, name);
    if (row != NULL && row->quota.calls != 0 && row->running >= row->quota.calls) {
        status = refuse(err, "principal", principal, row->quota.calls, "calls at a time");
        sirix_error_set_retry(err, RETRY_AFTER_MS);
    } else if (row != NULL) {
        row->running++;
    }
    (void)pthread_mutex_unlock(&quotas->mutex);
    return status;
}

void sirix_quotas_leave(struct sirix_quotas *quotas, const char *principal)
{
    const struct sirix_bytes name = {.data = principal, .len = strlen(principal)};

    if (!atomic_load(&quotas->any)) {
        return;
    }
    (void)pthread_mutex_lock(&quotas->mutex);
    struct row *row = find(quotas, SIRIX_QUOTA_PRINCIPAL, name);
    if (row != NULL && row->running != 0) { /* It may have begun before there was a row. */
        row->running--;
    }
    (void)pthread_mutex_unlock(&quotas->mutex);
}

static struct sirix_quota quota_of(struct sirix_service *service, const struct sirix_handle *handle)
{
    const char *name = sirix_handle_name(handle);

    return sirix_quotas_get(service->quotas, SIRIX_QUOTA_DATABASE,
                            (struct sirix_bytes){.data = name, .len = strlen(name)});
}

enum sirix_status sirix_quota_check_bytes(struct sirix_service *service,
                                          const struct sirix_handle *handle,
                                          struct sirix_error *err)
{
    const struct sirix_quota quota = quota_of(service, handle);
    uint64_t bytes = 0;
    bool open = false;

    if (quota.bytes == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_registry_stat(service->registry, sirix_handle_name(handle), &open, &bytes, err);
    if (status == SIRIX_OK && bytes >= quota.bytes) {
        status = refuse(err, "database", sirix_handle_name(handle), quota.bytes, "bytes on disk");
    }
    return status;
}

enum sirix_status sirix_quota_check_calls(struct sirix_service *service,
                                          struct sirix_handle *handle, struct sirix_error *err)
{
    const struct sirix_quota quota = quota_of(service, handle);

    if (quota.calls == 0 || sirix_handle_uses(handle) <= quota.calls) { /* This one is counted. */
        return SIRIX_OK;
    }
    enum sirix_status status =
        refuse(err, "database", sirix_handle_name(handle), quota.calls, "calls at a time");
    sirix_error_set_retry(err, RETRY_AFTER_MS);
    return status;
}

enum sirix_status sirix_quota_check_snapshots(struct sirix_service *service,
                                              const struct sirix_handle *handle, uint64_t count,
                                              struct sirix_error *err)
{
    const struct sirix_quota quota = quota_of(service, handle);

    return quota.snapshots == 0 || count < quota.snapshots
               ? SIRIX_OK
               : refuse(err, "database", sirix_handle_name(handle), quota.snapshots,
                        "snapshots of a resource");
}

enum sirix_status sirix_quota_check_branches(struct sirix_service *service,
                                             const struct sirix_handle *handle, uint64_t count,
                                             struct sirix_error *err)
{
    const struct sirix_quota quota = quota_of(service, handle);

    return quota.branches == 0 || count < quota.branches
               ? SIRIX_OK
               : refuse(err, "database", sirix_handle_name(handle), quota.branches,
                        "branches of a resource");
}
