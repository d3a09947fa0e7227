/*
 * Opening and closing block on the disk, so neither is done under the mutex: an entry that is being
 * opened or closed says so, and whoever wants it waits for the condition.
 */
#include "service/registry.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/name.h"
#include "base/utf8.h"
#include "service/folder.h"
#include "service/registry_state.h"

enum { LIST_GROWTH = 64 };

static struct sirix_handle **bucket_of(struct sirix_registry *registry, const char *name)
{
    return &registry
                ->buckets[sirix_hash(&registry->key, name, strlen(name)) % SIRIX_REGISTRY_BUCKETS];
}

static struct sirix_handle *find(struct sirix_registry *registry, const char *name)
{
    struct sirix_handle *handle = *bucket_of(registry, name);

    while (handle != NULL && strcmp(handle->name, name) != 0) {
        handle = handle->next;
    }
    return handle;
}

static void unlink_entry(struct sirix_registry *registry, const struct sirix_handle *handle)
{
    struct sirix_handle **at = bucket_of(registry, handle->name);

    while (*at != handle) {
        at = &(*at)->next;
    }
    *at = handle->next;
}

/* What cannot be deleted now is deleted at the next start. */
static void delete_leftover(struct sirix_registry *registry, const char *name)
{
    struct sirix_error ignored = {0};

    if (sirix_folder_delete(registry->folder, name, &ignored) != SIRIX_OK) {
        return;
    }
}

static enum sirix_status check_name(struct sirix_bytes name,
                                    char out_name[SIRIX_NAME_BYTES_MAX + 1],
                                    struct sirix_error *err)
{
    enum sirix_status status = sirix_name_check(SIRIX_NAME_DATABASE, name, "database", err);

    if (status == SIRIX_OK) {
        memcpy(out_name, name.data, name.len);
        out_name[name.len] = '\0';
    }
    return status;
}

static enum sirix_status fail_unknown(const char *name, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN, "there is no database %s", name);

    sirix_error_set_field(err, "database");
    return status;
}

/* --- Opening and closing ------------------------------------------------------------------------ */

static enum sirix_status open_store(struct sirix_registry *registry, const char *folder_name,
                                    bool create, struct sirix_database **out_database,
                                    struct sirix_recovery *out_recovery, struct sirix_error *err)
{
    char path[SIRIX_FOLDER_PATH_BYTES];
    struct sirix_backend *backend = NULL;

    enum sirix_status status =
        sirix_folder_path(registry->folder, folder_name, path, sizeof(path), err);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_lmdb_options lmdb = {
        .dir = path, .map_bytes_max = registry->options.map_bytes_max, .create = create};
    status = sirix_backend_open_lmdb(&lmdb, &backend, err);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_database_options options = {.backend = backend,
                                             .pool = registry->options.pool,
                                             .clock = registry->options.clock,
                                             .dir = path};
    return sirix_database_open(&options, out_database, out_recovery, err);
}

static void close_store(struct sirix_handle *handle)
{
    assert(handle->stream_readers == 0);

    while (handle->reader_count > 0) {
        sirix_reader_close(handle->readers[--handle->reader_count]);
    }
    sirix_database_close(handle->database);
    handle->database = NULL;
}

/* With the mutex held, of an entry that nobody holds; gives it back after the closing. */
void sirix_registry_close_entry(struct sirix_registry *registry, struct sirix_handle *handle)
{
    assert(handle->refs == 0);

    handle->state = SIRIX_ENTRY_CLOSING;
    (void)pthread_mutex_unlock(&registry->mutex);
    close_store(handle);
    if (handle->dropped) {
        delete_leftover(registry, handle->folder);
    }
    (void)pthread_mutex_lock(&registry->mutex);
    if (!handle->dropped) {
        unlink_entry(registry, handle);
    }
    registry->open_count--;
    (void)pthread_cond_broadcast(&registry->changed);
    free(handle);
}

/* The open entry that has been idle longest; NULL if all are in use. With the mutex held. */
static struct sirix_handle *find_idle(struct sirix_registry *registry)
{
    struct sirix_handle *oldest = NULL;

    for (size_t i = 0; i < SIRIX_REGISTRY_BUCKETS; i++) {
        for (struct sirix_handle *h = registry->buckets[i]; h != NULL; h = h->next) {
            bool idle = h->state == SIRIX_ENTRY_OPEN && h->refs == 0;
            bool older = oldest == NULL || h->idle_since_ns < oldest->idle_since_ns;
            oldest = idle && older ? h : oldest;
        }
    }
    return oldest;
}

/* With the mutex held. Opens the database of an entry just added; takes it away again on failure. */
static enum sirix_status open_entry(struct sirix_registry *registry, struct sirix_handle *handle,
                                    struct sirix_error *err)
{
    struct sirix_recovery recovery = {0};
    bool is_there = false;

    (void)pthread_mutex_unlock(&registry->mutex);
    enum sirix_status status = sirix_folder_exists(registry->folder, handle->name, &is_there, err);
    if (status == SIRIX_OK && !is_there) {
        status = fail_unknown(handle->name, err);
    }
    if (status == SIRIX_OK) {
        status = open_store(registry, handle->name, false, &handle->database, &recovery, err);
    }
    if (status == SIRIX_OK && registry->options.opened != NULL) {
        registry->options.opened(registry->options.context, handle->name, &recovery);
    }
    (void)pthread_mutex_lock(&registry->mutex);
    if (status == SIRIX_OK) {
        handle->state = SIRIX_ENTRY_OPEN;
    } else {
        unlink_entry(registry, handle);
        registry->open_count--;
        free(handle);
    }
    (void)pthread_cond_broadcast(&registry->changed);
    return status;
}

/* With the mutex held. Makes room for one more open database. */
static enum sirix_status make_room(struct sirix_registry *registry, struct sirix_error *err)
{
    while (registry->open_count >= registry->options.open_max) {
        struct sirix_handle *idle = find_idle(registry);
        if (idle == NULL) {
            return sirix_fail(err, SIRIX_EXHAUSTED, "%u databases are open and in use, the limit",
                              registry->options.open_max);
        }
        sirix_registry_close_entry(registry, idle);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_registry_acquire(struct sirix_registry *registry, struct sirix_bytes name,
                                         struct sirix_handle **out_handle, struct sirix_error *err)
{
    char text[SIRIX_NAME_BYTES_MAX + 1];
    struct sirix_handle *handle = NULL;

    enum sirix_status status = check_name(name, text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&registry->mutex);
    while ((handle = find(registry, text)) != NULL && handle->state != SIRIX_ENTRY_OPEN) {
        (void)pthread_cond_wait(&registry->changed, &registry->mutex);
    }
    if (handle == NULL) {
        status = make_room(registry, err);
        /* Another thread may have opened it while an idle one was closed. */
        if (status == SIRIX_OK && find(registry, text) != NULL) {
            (void)pthread_mutex_unlock(&registry->mutex);
            return sirix_registry_acquire(registry, name, out_handle, err);
        }
        handle = status == SIRIX_OK ? calloc(1, sizeof(*handle)) : NULL;
        if (status == SIRIX_OK && handle == NULL) {
            status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate a database handle");
        }
        if (status == SIRIX_OK) {
            struct sirix_handle **bucket = bucket_of(registry, text);
            handle->registry = registry;
            memcpy(handle->name, text, sizeof(text));
            handle->next = *bucket;
            *bucket = handle;
            registry->open_count++;
            status = open_entry(registry, handle, err);
        }
    }
    if (status == SIRIX_OK) {
        handle->refs++;
        *out_handle = handle;
    }
    (void)pthread_mutex_unlock(&registry->mutex);
    return status;
}

void sirix_registry_release(struct sirix_handle *handle)
{
    if (handle == NULL) {
        return;
    }
    struct sirix_registry *registry = handle->registry;
    (void)pthread_mutex_lock(&registry->mutex);
    assert(handle->refs > 0);
    handle->idle_since_ns = sirix_clock_monotonic_ns(registry->options.clock);
    if (--handle->refs == 0 && (handle->dropped || handle->suspect)) {
        sirix_registry_close_entry(registry, handle);
    }
    (void)pthread_mutex_unlock(&registry->mutex);
}

void sirix_registry_tick(struct sirix_registry *registry)
{
    uint64_t now = sirix_clock_monotonic_ns(registry->options.clock);
    uint64_t idle_ns = (uint64_t)registry->options.idle_close_ms * 1000000U;

    (void)pthread_mutex_lock(&registry->mutex);
    for (;;) {
        struct sirix_handle *idle = find_idle(registry);
        if (idle == NULL || now - idle->idle_since_ns < idle_ns) {
            break;
        }
        sirix_registry_close_entry(registry, idle);
    }
    (void)pthread_mutex_unlock(&registry->mutex);
}

uint64_t sirix_registry_open_count(const struct sirix_registry *registry)
{
    return atomic_load(&registry->open_count);
}

uint64_t sirix_registry_count(const struct sirix_registry *registry)
{
    return atomic_load(&registry->count);
}

/* --- The folder's life -------------------------------------------------------------------------- */

static bool sweep_leftover(void *context, const char *name)
{
    struct sirix_registry *registry = context;

    if (name[0] == '.') {
        delete_leftover(registry, name);
    } else {
        (void)atomic_fetch_add(&registry->count, 1);
    }
    return true;
}

enum sirix_status sirix_registry_open(const struct sirix_registry_options *options,
                                      struct sirix_registry **out_registry, struct sirix_error *err)
{
    struct sirix_registry *registry = calloc(1, sizeof(*registry));

    if (registry == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the registry of databases");
    }
    registry->options = *options;
    (void)pthread_mutex_init(&registry->mutex, NULL);
    (void)pthread_mutex_init(&registry->naming, NULL);
    (void)pthread_cond_init(&registry->changed, NULL);
    enum sirix_status status =
        sirix_random_bytes(registry->key.bytes, sizeof(registry->key.bytes), err);
    if (status == SIRIX_OK) {
        status = sirix_folder_open(options->dir, "databases", &registry->folder, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_folder_list(registry->folder, sweep_leftover, registry, err);
    }
    if (status != SIRIX_OK) {
        sirix_registry_close(registry);
        return status;
    }
    *out_registry = registry;
    return SIRIX_OK;
}

void sirix_registry_close(struct sirix_registry *registry)
{
    if (registry == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&registry->mutex);
    struct sirix_handle *idle = NULL;
    while ((idle = find_idle(registry)) != NULL) {
        sirix_registry_close_entry(registry, idle);
    }
    assert(registry->open_count == 0);
    (void)pthread_mutex_unlock(&registry->mutex);
    sirix_folder_close(registry->folder);
    (void)pthread_cond_destroy(&registry->changed);
    (void)pthread_mutex_destroy(&registry->naming);
    (void)pthread_mutex_destroy(&registry->mutex);
    free(registry);
}

/* --- Naming ------------------------------------------------------------------------------------- */

struct twin {
    const char *name;
    char found[SIRIX_NAME_BYTES_MAX + 1];
};

static bool find_twin(void *context, const char *name)
{
    struct twin *twin = context;

    if (sirix_ascii_equal_fold(name, strlen(name), twin->name, strlen(twin->name))) {
        memcpy(twin->found, name, strlen(name) + 1);
        return false;
    }
    return true;
}

enum sirix_status sirix_registry_refuse_twin(struct sirix_registry *registry, const char *name,
                                             struct sirix_error *err)
{
    struct twin twin = {.name = name};

    enum sirix_status status = sirix_folder_list(registry->folder, find_twin, &twin, err);
    if (status != SIRIX_OK || twin.found[0] == '\0') {
        return status;
    }
    if (strcmp(twin.found, name) == 0) {
        status = sirix_fail(err, SIRIX_ALREADY_EXISTS, "database %s exists already", name);
    } else {
        status = sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_NAME_CASE,
                                   "database %s exists, and %s differs from it in case alone",
                                   twin.found, name);
    }
    sirix_error_set_field(err, "database");
    return status;
}

/* Made under a name of ours and renamed when it is whole: a crash leaves all of it or nothing. */
static enum sirix_status create_named(struct sirix_registry *registry, const char *name,
                                      struct sirix_error *err)
{
    static const char making[] = ".create";
    struct sirix_database *database = NULL;
    struct sirix_recovery recovery = {0};

    enum sirix_status status = sirix_registry_refuse_twin(registry, name, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_folder_delete(registry->folder, making, err);
    if (status == SIRIX_OK) {
        status = sirix_folder_make(registry->folder, making, err);
    }
    if (status == SIRIX_OK) {
        status = open_store(registry, making, true, &database, &recovery, err);
    }
    if (status == SIRIX_OK) {
        sirix_database_close(database);
        status = sirix_folder_rename(registry->folder, making, name, err);
    }
    if (status != SIRIX_OK) {
        delete_leftover(registry, making);
    }
    return status;
}

enum sirix_status sirix_registry_create(struct sirix_registry *registry, struct sirix_bytes name,
                                        struct sirix_error *err)
{
    char text[SIRIX_NAME_BYTES_MAX + 1];

    enum sirix_status status = check_name(name, text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&registry->naming);
    status = create_named(registry, text, err);
    if (status == SIRIX_OK) {
        (void)atomic_fetch_add(&registry->count, 1);
    }
    (void)pthread_mutex_unlock(&registry->naming);
    return status;
}

/* With `naming` and the mutex held: takes the name away from whoever holds the database. */
static void detach(struct sirix_registry *registry, struct sirix_handle *handle, const char *folder)
{
    unlink_entry(registry, handle);
    handle->dropped = true;
    memcpy(handle->folder, folder, strlen(folder) + 1);
    if (handle->refs == 0) {
        sirix_registry_close_entry(registry, handle);
    }
}

enum sirix_status sirix_registry_drop(struct sirix_registry *registry, struct sirix_bytes name,
                                      struct sirix_error *err)
{
    char text[SIRIX_NAME_BYTES_MAX + 1];
    char folder[SIRIX_FOLDER_NAME_BYTES];
    struct sirix_handle *handle = NULL;
    bool is_there = false;

    enum sirix_status status = check_name(name, text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&registry->naming);
    (void)pthread_mutex_lock(&registry->mutex);
    while ((handle = find(registry, text)) != NULL && handle->state != SIRIX_ENTRY_OPEN) {
        (void)pthread_cond_wait(&registry->changed, &registry->mutex);
    }
    sirix_folder_drop_name(registry->drop_count++, folder);
    /* The rename is under the mutex: nobody may open the old name between it and the detaching. */
    status = sirix_folder_exists(registry->folder, text, &is_there, err);
    if (status == SIRIX_OK && !is_there) {
        status = fail_unknown(text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_folder_rename(registry->folder, text, folder, err);
    }
    if (status == SIRIX_OK) {
        (void)atomic_fetch_sub(&registry->count, 1);
    }
    if (status == SIRIX_OK && handle != NULL) {
        detach(registry, handle, folder);
    }
    (void)pthread_mutex_unlock(&registry->mutex);
    if (status == SIRIX_OK && handle == NULL) {
        delete_leftover(registry, folder);
    }
    (void)pthread_mutex_unlock(&registry->naming);
    return status;
}

struct listing {
    struct sirix_bytes after;
    struct sirix_registry_name *names;
    size_t count;
    size_t room;
    bool no_memory;
};

static bool add_name(void *context, const char *name)
{
    struct listing *listing = context;
    size_t len = strlen(name);

    if (name[0] == '.' || len > SIRIX_NAME_BYTES_MAX) {
        return true;
    }
    size_t common = len < listing->after.len ? len : listing->after.len;
    int order = common == 0 ? 0 : memcmp(name, listing->after.data, common);
    if (listing->after.len != 0 && (order < 0 || (order == 0 && len <= listing->after.len))) {
        return true;
    }
    if (listing->count == listing->room) {
        size_t room = listing->room == 0 ? LIST_GROWTH : listing->room * 2;
        struct sirix_registry_name *names = realloc(listing->names, room * sizeof(*names));
        if (names == NULL) {
            listing->no_memory = true;
            return false;
        }
        listing->names = names;
        listing->room = room;
    }
    memcpy(listing->names[listing->count++].name, name, len + 1);
    return true;
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(((const struct sirix_registry_name *)a)->name,
                  ((const struct sirix_registry_name *)b)->name);
}

enum sirix_status sirix_registry_list(struct sirix_registry *registry, struct sirix_bytes after,
                                      struct sirix_registry_name **out_names, size_t *out_count,
                                      struct sirix_error *err)
{
    struct listing listing = {.after = after};

    enum sirix_status status = sirix_folder_list(registry->folder, add_name, &listing, err);
    if (status == SIRIX_OK && listing.no_memory) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the list of databases");
    }
    if (status != SIRIX_OK) {
        free(listing.names);
        return status;
    }
    if (listing.count > 1) {
        qsort(listing.names, listing.count, sizeof(listing.names[0]), compare_names);
    }
    *out_names = listing.names;
    *out_count = listing.count;
    return SIRIX_OK;
}

enum sirix_status sirix_registry_stat(struct sirix_registry *registry, const char *name,
                                      bool *out_open, uint64_t *out_bytes, struct sirix_error *err)
{
    uint64_t bytes = 0;

    enum sirix_status status = sirix_folder_bytes(registry->folder, name, &bytes, err);
    if (status == SIRIX_NOT_FOUND) {
        status = fail_unknown(name, err);
    }
    if (status == SIRIX_OK) {
        (void)pthread_mutex_lock(&registry->mutex);
        *out_open = find(registry, name) != NULL;
        (void)pthread_mutex_unlock(&registry->mutex);
        *out_bytes = bytes;
    }
    return status;
}
