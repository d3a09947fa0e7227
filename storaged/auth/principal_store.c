/* A table behind a mutex that is held for as long as counting it takes. */
#include "auth/principal_store.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/file.h"

enum { WRITABLE_BY_OTHERS = 0022, MODE_BITS = 07777 };

struct sirix_principal_store {
    char *path;
    pthread_mutex_t mutex;
    struct sirix_principal_table *table;
};

static enum sirix_status check_mode(const struct stat *info, const char *path,
                                    struct sirix_error *err)
{
    if (!S_ISREG(info->st_mode)) {
        return sirix_fail(err, SIRIX_PRECONDITION, "%s is no plain file", path);
    }
    if ((info->st_mode & WRITABLE_BY_OTHERS) != 0) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s may be written by others than its owner (mode %04o): chmod 600 it",
                          path, (unsigned)info->st_mode & MODE_BITS);
    }
    return SIRIX_OK;
}

static enum sirix_status read_table(const char *path, struct sirix_principal_table **out_table,
                                    struct sirix_error *err)
{
    struct sirix_buf text;
    struct stat info = {0};

    sirix_buf_init(&text, SIRIX_PRINCIPALS_FILE_BYTES_MAX);
    enum sirix_status status = sirix_file_read(path, &text, &info, err);
    if (status == SIRIX_OK) {
        status = check_mode(&info, path, err);
    }
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
