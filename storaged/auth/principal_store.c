/* A table behind a mutex that is held for as long as counting it takes. */
#include "auth/principal_store.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"

enum { READ_BYTES = 64 * 1024, WRITABLE_BY_OTHERS = 0022 };

struct sirix_principal_store {
    char *path;
    pthread_mutex_t mutex;
    struct sirix_principal_table *table;
};

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing, const char *path)
{
    char text[128];

    return sirix_fail(err, SIRIX_IO, "%s %s: %s", doing, path,
                      strerror_r(errno, text, sizeof(text)));
}

static enum sirix_status check_mode(int fd, const char *path, struct sirix_error *err)
{
    struct stat info = {0};

    if (fstat(fd, &info) != 0) {
        return fail_errno(err, "look at", path);
    }
    if (!S_ISREG(info.st_mode)) {
        return sirix_fail(err, SIRIX_PRECONDITION, "%s is no plain file", path);
    }
    if ((info.st_mode & WRITABLE_BY_OTHERS) != 0) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s may be written by others than its owner (mode %04o): chmod 600 it",
                          path, (unsigned)info.st_mode & 07777U);
    }
    return SIRIX_OK;
}

static enum sirix_status read_file(const char *path, struct sirix_buf *into,
                                   struct sirix_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);

    if (fd < 0) {
        return fail_errno(err, "open", path);
    }
    enum sirix_status status = check_mode(fd, path, err);
    ssize_t got = 1;
    while (status == SIRIX_OK && got != 0) {
        status = sirix_buf_reserve(into, READ_BYTES, err);
        if (status == SIRIX_OK) {
            got = read(fd, into->data + into->len, READ_BYTES);
            if (got < 0) {
                status = fail_errno(err, "read", path);
            } else {
                into->len += (size_t)got;
            }
        }
    }
    (void)close(fd);
    return status;
}

static enum sirix_status read_table(const char *path, struct sirix_principal_table **out_table,
                                    struct sirix_error *err)
{
    struct sirix_buf text;

    sirix_buf_init(&text, SIRIX_PRINCIPALS_FILE_BYTES_MAX + READ_BYTES);
    enum sirix_status status = read_file(path, &text, err);
    if (status == SIRIX_OK) {
        status = sirix_principal_table_parse(sirix_buf_view(&text), out_table, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

enum sirix_status sirix_principal_store_open(const char *path,
                                             struct sirix_principal_store **out_store,
                                             struct sirix_error *err)
{
    struct sirix_principal_store *store = calloc(1, sizeof(*store));

    if (store == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the principals");
    }
    (void)pthread_mutex_init(&store->mutex, NULL);
    store->path = strdup(path);
    enum sirix_status status = store->path == NULL
                                   ? sirix_fail(err, SIRIX_NO_MEMORY, "allocate the principals")
                                   : read_table(path, &store->table, err);
    if (status != SIRIX_OK) {
        sirix_principal_store_close(store);
        return status;
    }
    *out_store = store;
    return SIRIX_OK;
}

void sirix_principal_store_close(struct sirix_principal_store *store)
{
    if (store == NULL) {
        return;
    }
    sirix_principal_table_unref(store->table);
    (void)pthread_mutex_destroy(&store->mutex);
    free(store->path);
    free(store);
}

/* The table as it is now, with a reference. */
static struct sirix_principal_table *hold_table(struct sirix_principal_store *store)
{
    (void)pthread_mutex_lock(&store->mutex);
    struct sirix_principal_table *table = store->table;
    sirix_principal_table_ref(table);
    (void)pthread_mutex_unlock(&store->mutex);
    return table;
}

size_t sirix_principal_store_count(struct sirix_principal_store *store)
{
    struct sirix_principal_table *table = hold_table(store);
    size_t count = sirix_principal_table_count(table);

    sirix_principal_table_unref(table);
    return count;
}

enum sirix_status sirix_principal_store_reload(struct sirix_principal_store *store,
                                               size_t *out_count, struct sirix_error *err)
{
    struct sirix_principal_table *table = NULL;

    enum sirix_status status = read_table(store->path, &table, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *out_count = sirix_principal_table_count(table);
    (void)pthread_mutex_lock(&store->mutex);
    struct sirix_principal_table *before = store->table;
    store->table = table;
    (void)pthread_mutex_unlock(&store->mutex);
    sirix_principal_table_retire(before);
    sirix_principal_table_unref(before);
    return SIRIX_OK;
}

enum sirix_status sirix_principal_store_authenticate(struct sirix_principal_store *store,
                                                     const struct sirix_credentials *credentials,
                                                     const struct sirix_principal **out_principal,
                                                     struct sirix_error *err)
{
    struct sirix_principal_table *table = hold_table(store);

    enum sirix_status status = sirix_principal_table_find(table, credentials, out_principal, err);
    if (status != SIRIX_OK) { /* Else the reference is the principal's. */
        sirix_principal_table_unref(table);
    }
    return status;
}
