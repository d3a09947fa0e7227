/*
 * Opening and closing of a database: its format, what killed commits left behind, and the resources
 * that are in memory.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Writes the first row of a fresh database. */
struct found_work {
    struct sirix_commit_work work;
    int64_t now_us;
};

static enum sirix_status found_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                       struct sirix_error *err)
{
    const struct found_work *found = (const struct found_work *)work;
    const struct sirix_meta_row row = {
        .major = SIRIX_FORMAT_MAJOR,
        .minor = SIRIX_FORMAT_MINOR,
        .created_us = found->now_us,
        .next_resource = 1,
        .next_intent = 1,
    };
    const struct sirix_rows_key key = sirix_rows_key_meta();
    const struct sirix_rows_value value = sirix_rows_meta_encode(&row);

    return sirix_row_put(group, &key, &value, err);
}

void sirix_work_done(struct sirix_commit_work *work, enum sirix_status status,
                     const struct sirix_error *error)
{
    (void)work;
    (void)status;
    (void)error; /* sirix_committer_run() hands both to the waiting submitter. */
}

static enum sirix_status check_version(struct sirix_database *database,
                                       const struct sirix_meta_row *row, struct sirix_error *err)
{
    if (row->major != SIRIX_FORMAT_MAJOR) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_FORMAT_VERSION,
                                 "the database has format %u.%u, this program knows %d.%d",
                                 row->major, row->minor, SIRIX_FORMAT_MAJOR, SIRIX_FORMAT_MINOR);
    }
    database->newer_minor = row->minor > SIRIX_FORMAT_MINOR;
    return SIRIX_OK;
}

/* Reads the database's row, or writes it where there is none. */
static enum sirix_status load_meta(struct sirix_database *database, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_meta();
    struct sirix_reader *reader = NULL;
    struct sirix_bytes value = {0};
    struct sirix_meta_row row;
    enum sirix_status status = sirix_reader_open(database->backend, &reader, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_meta_decode(value, &row, err);
        if (status == SIRIX_OK) {
            status = check_version(database, &row, err);
        }
    } else if (status == SIRIX_NOT_FOUND) {
        struct found_work found = {
            .work = {.prepare = found_prepare, .done = sirix_work_done},
            .now_us = sirix_database_now_us(database),
        };

        status = sirix_committer_run(database->committer, &found.work, err);
    }
    sirix_reader_close(reader);
    return status;
}

static enum sirix_status count_resource(void *context, struct sirix_bytes key,
                                        struct sirix_bytes value, bool *stop,
                                        struct sirix_error *err)
{
    struct sirix_recovery *recovery = context;

    (void)key;
    (void)value;
    (void)err;
    *stop = false;
    recovery->resources++;
    return SIRIX_OK;
}

static enum sirix_status recover(struct sirix_database *database, struct sirix_recovery *recovery,
                                 struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_resource_names();
    struct sirix_reader *reader = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!database->newer_minor) {
        status = sirix_intents_recover(database, recovery, err);
    }
    /* A full disk stops no reading: what the intents name is then deleted at a later opening. */
    if (status != SIRIX_OK && status != SIRIX_NO_SPACE) {
        return status;
    }
    status = sirix_reader_open(database->backend, &reader, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_ref_scan(reader, sirix_rows_key_view(&prefix), (struct sirix_bytes){0}, false,
                            count_resource, recovery, err);
    sirix_reader_close(reader);
    return status;
}

/* Whoever reads a resource has it in memory. */
static bool name_owner(void *context, uint32_t resource_id, char name[SIRIX_OWNER_NAME_BYTES])
{
    struct sirix_database *database = context;

    (void)pthread_mutex_lock(&database->lock);
    const struct sirix_resource *resource = sirix_map_get_ptr(&database->resources, resource_id);
    if (resource != NULL) {
        memcpy(name, resource->name, sizeof(resource->name));
    }
    (void)pthread_mutex_unlock(&database->lock);
    return resource != NULL;
}

enum sirix_status sirix_database_open(const struct sirix_database_options *options,
                                      struct sirix_database **out_database,
                                      struct sirix_recovery *out_recovery, struct sirix_error *err)
{
    struct sirix_recovery recovery = {0};
    struct sirix_database *database = NULL;
    enum sirix_status status = SIRIX_OK;

    assert(options != NULL && options->backend != NULL && options->pool != NULL);
    database = calloc(1, sizeof(*database));
    if (database == NULL) {
        sirix_backend_close(options->backend);
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a database");
    }
    database->backend = options->backend;
    database->clock = options->clock != NULL ? options->clock : sirix_clock_system();
    (void)pthread_mutex_init(&database->lock, NULL);
    sirix_map_init(&database->resources);
    sirix_backend_name_owners(database->backend, name_owner, database);
    if (options->dir != NULL) {
        database->dir = strdup(options->dir);
        if (database->dir == NULL) {
            status = sirix_fail(err, SIRIX_NO_MEMORY, "cannot keep the folder of a database");
            goto out;
        }
    }
    status = sirix_committer_open(options->pool, options->backend, &database->committer, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = load_meta(database, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = recover(database, &recovery, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    *out_database = database;
    database = NULL;
    if (out_recovery != NULL) {
        *out_recovery = recovery;
    }

out:
    sirix_database_close(database);
    return status;
}

void sirix_database_close(struct sirix_database *database)
{
    size_t cursor = 0;
    uint64_t id = 0;
    uint64_t pointer = 0;

    if (database == NULL) {
        return;
    }
    if (database->committer != NULL) {
        sirix_committer_close(database->committer);
    }
    while (sirix_map_next(&database->resources, &cursor, &id, &pointer)) {
        struct sirix_resource *resource = sirix_map_get_ptr(&database->resources, id);

        assert(resource->refs == 0);
        sirix_resource_free(resource);
    }
    sirix_map_deinit(&database->resources);
    sirix_backend_close(database->backend);
    (void)pthread_mutex_destroy(&database->lock);
    free(database->dir);
    free(database);
}

struct sirix_backend *sirix_database_backend(struct sirix_database *database)
{
    return database->backend;
}

struct sirix_committer *sirix_database_committer(struct sirix_database *database)
{
    return database->committer;
}

const char *sirix_database_dir(const struct sirix_database *database)
{
    return database->dir;
}

enum sirix_status sirix_database_writable(const struct sirix_database *database,
                                          struct sirix_error *err)
{
    if (database->newer_minor) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_FORMAT_VERSION,
                                 "the database was written by a newer program: it can only be "
                                 "read by this one");
    }
    return SIRIX_OK;
}

enum sirix_status sirix_database_takes_writes(struct sirix_database *database,
                                              struct sirix_error *err)
{
    struct sirix_committer_stats committer = {0};

    enum sirix_status status = sirix_database_writable(database, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_committer_stats(database->committer, &committer);
    if (committer.read_only) {
        return sirix_committer_refuse(err);
    }
    return sirix_backend_writable(database->backend, err);
}
