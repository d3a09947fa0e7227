/*
 * Resources in memory: opening, sharing and forgetting them; their facts, node keys and names.
 *
 * A resource stays in memory while it has handles, and after that until SIRIX_RESOURCES_IDLE_MAX others
 * were let go later. What it knows beyond the disk (keys and names given but not yet published)
 * belongs to writers, and writers hold handles; so a forgotten one loses nothing.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* --- The set of resources in memory; the caller holds the database's lock ----------------------- */

static void idle_unlink(struct sirix_database *database, struct sirix_resource *resource)
{
    struct sirix_resource *newer = resource->idle_newer;
    struct sirix_resource *older = resource->idle_older;

    *(newer != NULL ? &newer->idle_older : &database->idle_newest) = older;
    *(older != NULL ? &older->idle_newer : &database->idle_oldest) = newer;
    resource->idle_newer = NULL;
    resource->idle_older = NULL;
    database->idle_count--;
}

static void idle_push(struct sirix_database *database, struct sirix_resource *resource)
{
    resource->idle_newer = NULL;
    resource->idle_older = database->idle_newest;
    if (database->idle_newest != NULL) {
        database->idle_newest->idle_newer = resource;
    }
    database->idle_newest = resource;
    if (database->idle_oldest == NULL) {
        database->idle_oldest = resource;
    }
    database->idle_count++;
}

/* Takes the oldest idle resource out of memory when there are too many; the caller frees it. */
static struct sirix_resource *evict(struct sirix_database *database)
{
    struct sirix_resource *victim = NULL;

    if (database->idle_count > SIRIX_RESOURCES_IDLE_MAX) {
        victim = database->idle_oldest;
        idle_unlink(database, victim);
        (void)sirix_map_remove(&database->resources, victim->id, NULL);
        database->evictions++;
    }
    return victim;
}

/* The resource if it is in memory, with one more handle. */
static struct sirix_resource *take(struct sirix_database *database, uint32_t id)
{
    struct sirix_resource *resource = sirix_map_get_ptr(&database->resources, id);

    if (resource != NULL) {
        if (resource->refs == 0) {
            idle_unlink(database, resource);
        }
        resource->refs++;
    }
    return resource;
}

struct sirix_resource *sirix_resource_ref(struct sirix_resource *resource)
{
    (void)pthread_mutex_lock(&resource->database->lock);
    assert(resource->refs > 0);
    resource->refs++;
    (void)pthread_mutex_unlock(&resource->database->lock);
    return resource;
}

void sirix_resource_unref(struct sirix_resource *resource)
{
    struct sirix_database *database = NULL;
    struct sirix_resource *victim = NULL;

    if (resource == NULL) {
        return;
    }
    database = resource->database;
    (void)pthread_mutex_lock(&database->lock);
    assert(resource->refs > 0);
    resource->refs--;
    if (resource->refs == 0) {
        idle_push(database, resource);
        victim = evict(database);
    }
    (void)pthread_mutex_unlock(&database->lock);
    sirix_resource_free(victim);
}

void sirix_resource_free(struct sirix_resource *resource)
{
    if (resource == NULL) {
        return;
    }
    assert(resource->pins.count == 0);
    sirix_names_deinit(&resource->names);
    sirix_map_deinit(&resource->pins);
    (void)pthread_mutex_destroy(&resource->key_lock);
    (void)pthread_mutex_destroy(&resource->pin_lock);
    (void)pthread_rwlock_destroy(&resource->pin_gate);
    free(resource);
}

/* --- Opening ----------------------------------------------------------------------------------- */

static enum sirix_status load_name(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                   bool *stop, struct sirix_error *err)
{
    struct sirix_names *names = context;
    uint32_t id = 0;

    *stop = false;
    if (!sirix_rows_key_name_parse(key, &id)) {
        return sirix_fail(err, SIRIX_CORRUPT, "name row with a malformed key");
    }
    return sirix_names_load(names, id, value, err);
}

static enum sirix_status load_rows(struct sirix_resource *resource, struct sirix_reader *reader,
                                   struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_names(resource->id);
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_counters_read(reader, resource, &counters, err);

    if (status != SIRIX_OK) {
        return status;
    }
    resource->next_key = counters.next_key;
    resource->run_key = counters.run_key;
    return sirix_ref_scan(reader, sirix_rows_key_view(&prefix), (struct sirix_bytes){0}, false,
                          load_name, &resource->names, err);
}

/* A resource as the reader sees it, not yet in the set. */
static enum sirix_status load(struct sirix_database *database, struct sirix_reader *reader,
                              uint32_t id, struct sirix_bytes name,
                              struct sirix_resource **out_resource, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_descriptor(id);
    struct sirix_descriptor_row row;
    struct sirix_resource *resource = NULL;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_resource_unknown(name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_descriptor_decode(value, &row, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    resource = calloc(1, sizeof(*resource));
    if (resource == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a resource");
    }
    status = sirix_names_init(&resource->names, row.name_seed, err);
    if (status != SIRIX_OK) {
        free(resource);
        return status;
    }
    resource->database = database;
    resource->id = id;
    resource->created_us = row.created_us;
    memcpy(resource->seed.bytes, row.name_seed, sizeof(resource->seed.bytes));
    memcpy(resource->name, row.name.data, row.name.len);
    (void)pthread_mutex_init(&resource->key_lock, NULL);
    (void)pthread_mutex_init(&resource->pin_lock, NULL);
    (void)pthread_rwlock_init(&resource->pin_gate, NULL);
    sirix_map_init(&resource->pins);
    status = load_rows(resource, reader, err);
    if (status != SIRIX_OK) {
        sirix_resource_free(resource);
        return status;
    }
    *out_resource = resource;
    return SIRIX_OK;
}

/*
 * Puts a loaded resource into the set, unless another thread was first: then that one is taken. A
 * resource forgotten since `evictions` was noted may have published after the reader looked:
 * *out_stale, load again.
 */
static enum sirix_status enter(struct sirix_database *database, struct sirix_resource *loaded,
                               uint64_t evictions, struct sirix_resource **out_resource,
                               bool *out_stale, struct sirix_error *err)
{
    struct sirix_resource *resource = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(loaded != NULL);
    (void)pthread_mutex_lock(&database->lock);
    resource = take(database, loaded->id);
    *out_stale = resource == NULL && database->evictions != evictions;
    if (resource == NULL && !*out_stale) {
        status = sirix_map_put_ptr(&database->resources, loaded->id, loaded, err);
        if (status == SIRIX_OK) {
            resource = loaded;
            resource->refs = 1;
            loaded = NULL;
        }
    }
    (void)pthread_mutex_unlock(&database->lock);
    sirix_resource_free(loaded);
    if (status == SIRIX_OK) {
        *out_resource = resource;
    }
    return status;
}

/* Notes how many resources left memory; the reader then sees at least what those had published. */
static uint64_t note_evictions(struct sirix_database *database, struct sirix_reader *reader)
{
    uint64_t evictions = 0;

    (void)pthread_mutex_lock(&database->lock);
    evictions = database->evictions;
    (void)pthread_mutex_unlock(&database->lock);
    sirix_reader_yield(reader);
    return evictions;
}

static enum sirix_status find_id(struct sirix_reader *reader, struct sirix_bytes name,
                                 uint32_t *out_id, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_resource_name(name);
    struct sirix_resource_name_row row;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_resource_unknown(name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_resource_name_decode(value, &row, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!sirix_bytes_equal(row.name, name)) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                                 "there is no resource %.*s but %.*s: names are case-sensitive",
                                 (int)name.len, (const char *)name.data, (int)row.name.len,
                                 (const char *)row.name.data);
    }
    *out_id = row.resource;
    return SIRIX_OK;
}

/* One try; id 0: by the name. *out_stale: what was loaded may be old. */
static enum sirix_status try_open(struct sirix_database *database, struct sirix_reader *reader,
                                  uint32_t id, struct sirix_bytes name,
                                  struct sirix_resource **out_resource, bool *out_stale,
                                  struct sirix_error *err)
{
    struct sirix_resource *resource = NULL;
    uint64_t evictions = note_evictions(database, reader);
    enum sirix_status status = id == 0 ? find_id(reader, name, &id, err) : SIRIX_OK;

    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&database->lock);
    resource = take(database, id);
    (void)pthread_mutex_unlock(&database->lock);
    *out_stale = false;
    if (resource != NULL) {
        *out_resource = resource;
        return SIRIX_OK;
    }
    status = load(database, reader, id, name, &resource, err);
    return status == SIRIX_OK ? enter(database, resource, evictions, out_resource, out_stale, err)
                              : status;
}

enum sirix_status sirix_resource_open_id(struct sirix_database *database, uint32_t id,
                                         struct sirix_bytes name,
                                         struct sirix_resource **out_resource,
                                         struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;
    bool stale = true;
    enum sirix_status status = sirix_reader_open(database->backend, &reader, err);

    while (status == SIRIX_OK && stale) {
        status = try_open(database, reader, id, name, out_resource, &stale, err);
    }
    sirix_reader_close(reader);
    return status;
}

enum sirix_status sirix_resource_open(struct sirix_database *database, struct sirix_bytes name,
                                      struct sirix_resource **out_resource, struct sirix_error *err)
{
    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, name, "resource", err);

    return status == SIRIX_OK ? sirix_resource_open_id(database, 0, name, out_resource, err)
                              : status;
}

/* --- Listing and facts -------------------------------------------------------------------------- */

struct list_walk {
    struct sirix_bytes after;
    sirix_name_visit_fn visit;
    void *context;
};

static enum sirix_status list_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    struct list_walk *walk = context;
    struct sirix_resource_name_row row;
    enum sirix_status status = sirix_rows_resource_name_decode(value, &row, err);

    (void)key;
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_ascii_equal_fold(row.name.data, row.name.len, walk->after.data, walk->after.len)) {
        return SIRIX_OK;
    }
    return walk->visit(walk->context, row.name, stop, err);
}

enum sirix_status sirix_resource_list_at(struct sirix_reader *reader, struct sirix_bytes after,
                                         sirix_name_visit_fn visit, void *context,
                                         struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_resource_names();
    struct list_walk walk = {.after = after, .visit = visit, .context = context};
    struct sirix_rows_key from = prefix;

    if (after.len != 0) {
        enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, after, "after", err);
        if (status != SIRIX_OK) {
            return status;
        }
        from = sirix_rows_key_resource_name(after);
    }
    return sirix_ref_scan(reader, sirix_rows_key_view(&prefix), sirix_rows_key_view(&from), false,
                          list_row, &walk, err);
}

enum sirix_status sirix_resource_list(struct sirix_database *database, struct sirix_bytes after,
                                      sirix_name_visit_fn visit, void *context,
                                      struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;
    enum sirix_status status = sirix_reader_open(database->backend, &reader, err);

    if (status == SIRIX_OK) {
        status = sirix_resource_list_at(reader, after, visit, context, err);
    }
    sirix_reader_close(reader);
    return status;
}

const char *sirix_resource_name(const struct sirix_resource *resource)
{
    return resource->name;
}

uint32_t sirix_resource_id(const struct sirix_resource *resource)
{
    return resource->id;
}

struct sirix_database *sirix_resource_database(const struct sirix_resource *resource)
{
    return resource->database;
}

const struct sirix_name_seed *sirix_resource_name_seed(const struct sirix_resource *resource)
{
    return &resource->seed;
}

enum sirix_status sirix_resource_info(struct sirix_resource *resource,
                                      struct sirix_resource_info *out_info, struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_reader_open(resource->database->backend, &reader, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_counters_read(reader, resource, &counters, err);
    sirix_reader_close(reader);
    if (status == SIRIX_OK) {
        *out_info = (struct sirix_resource_info){
            .newest_revision = counters.last_revision,
            .oldest_revision = counters.oldest_revision,
            .revision_count = counters.revision_count,
            .created_us = resource->created_us,
            .last_modified_us = counters.newest[counters.last_revision % SIRIX_INDEX_RUN].time_us,
            .branch_count = counters.branch_count,
            .snapshot_count = counters.snapshot_count,
        };
    }
    return status;
}

/* --- Keys and names ----------------------------------------------------------------------------- */

enum sirix_status sirix_resource_take_keys(struct sirix_resource *resource, uint64_t count,
                                           bool whole_leaves, uint64_t *out_first,
                                           struct sirix_error *err)
{
    bool from_run = !whole_leaves && count <= SIRIX_KEYS_FROM_RUN_MAX;
    uint64_t leaves = count / SIRIX_LEAF_KEYS + (count % SIRIX_LEAF_KEYS != 0);
    enum sirix_status status = SIRIX_OK;

    assert(count > 0);
    (void)pthread_mutex_lock(&resource->key_lock);
    uint64_t run_left = (0 - resource->run_key) % SIRIX_LEAF_KEYS;
    bool fits_run = from_run && count <= run_left;

    if (!fits_run && leaves > (SIRIX_KEY_MAX - resource->next_key) / SIRIX_LEAF_KEYS) {
        status =
            sirix_fail(err, SIRIX_EXHAUSTED, "resource %s has no node keys left", resource->name);
    } else if (fits_run) {
        *out_first = resource->run_key;
        resource->run_key += count;
    } else {
        *out_first = resource->next_key;
        resource->next_key += leaves * SIRIX_LEAF_KEYS;
        if (from_run) {
            resource->run_key = *out_first + count;
        }
    }
    (void)pthread_mutex_unlock(&resource->key_lock);
    return status;
}

bool sirix_resource_keys_taken(struct sirix_resource *resource, uint64_t first, uint64_t count)
{
    (void)pthread_mutex_lock(&resource->key_lock);
    /* From run_key to the end of its leaf lie those that the open run has left. */
    const uint64_t run_end = resource->run_key + (0 - resource->run_key) % SIRIX_LEAF_KEYS;
    const bool is_below = first < resource->next_key && count <= resource->next_key - first;
    const bool is_left = first < run_end && first + count > resource->run_key;

    (void)pthread_mutex_unlock(&resource->key_lock);
    return is_below && !is_left;
}

enum sirix_status sirix_names_intern(struct sirix_resource *resource, struct sirix_bytes name,
                                     bool *out_interned, uint32_t *out_id, struct sirix_error *err)
{
    if (name.len > SIRIX_NAME_INTERNED_BYTES_MAX) {
        *out_interned = false;
        return SIRIX_OK;
    }
    return sirix_names_give(&resource->names, name, out_interned, out_id, err);
}

bool sirix_names_find(struct sirix_resource *resource, struct sirix_bytes name, uint32_t *out_id)
{
    return sirix_names_lookup(&resource->names, name, out_id);
}

enum sirix_status sirix_names_get(struct sirix_resource *resource, uint32_t id,
                                  struct sirix_bytes *out_name, struct sirix_error *err)
{
    const struct sirix_names_entry *entry = sirix_names_entry(&resource->names, id);

    if (entry == NULL) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s has no name %u", resource->name, id);
    }
    *out_name = (struct sirix_bytes){.data = entry->bytes, .len = entry->len};
    return SIRIX_OK;
}
