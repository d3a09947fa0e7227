/* Creating a resource with its first, empty revision; dropping one. */
#include "store/revision/internal.h"

#include <inttypes.h>
#include <stdlib.h>

struct create_work {
    struct sirix_commit_work work;
    struct sirix_database *database;
    struct sirix_bytes name;
    bool hidden;
    uint64_t intent; /* Hidden: what undoes it. */
    struct sirix_published published;
    struct sirix_record record;
    struct sirix_segment_built segment;
    struct sirix_resource shell; /* Stands for the resource in rows and sentences. */
};

enum { FIRST_FREE_KEY = 2 }; /* After the document and its value. */

/* The resource's id from the database's row, which remembers that it was given. */
static enum sirix_status take_id(struct sirix_group *group, uint32_t *out_id,
                                 struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_meta();
    struct sirix_meta_row meta;
    struct sirix_rows_value changed;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_meta_decode(value, &meta, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (meta.next_resource == UINT32_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "the database has given all its resource ids");
    }
    *out_id = meta.next_resource++;
    changed = sirix_rows_meta_encode(&meta);
    return sirix_row_put(group, &key, &changed, err);
}

static enum sirix_status check_free(struct sirix_group *group, struct sirix_bytes name,
                                    struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_resource_name(name);
    struct sirix_resource_name_row row;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_resource_name_decode(value, &row, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_bytes_equal(row.name, name)) {
        return sirix_fail(err, SIRIX_ALREADY_EXISTS, "resource %.*s exists already", (int)name.len,
                          (const char *)name.data);
    }
    return sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_NAME_CASE,
                             "resource %.*s exists, and %.*s differs from it in case alone",
                             (int)row.name.len, (const char *)row.name.data, (int)name.len,
                             (const char *)name.data);
}

/* Gives the resource its name: from now on it can be opened. */
static enum sirix_status put_name(struct sirix_group *group, uint32_t resource,
                                  struct sirix_bytes name, struct sirix_error *err)
{
    const struct sirix_resource_name_row row = {.resource = resource, .name = name};
    const struct sirix_rows_key key = sirix_rows_key_resource_name(name);
    const struct sirix_rows_value value = sirix_rows_resource_name_encode(&row);

    return sirix_row_put(group, &key, &value, err);
}

/* What undoes a resource that gets no name: its rows and the segment of its first revision. */
static enum sirix_status put_intent(struct create_work *create, struct sirix_group *group,
                                    int64_t now_us, struct sirix_error *err)
{
    enum sirix_status status = sirix_intent_add(group, SIRIX_INTENT_CREATE, create->shell.id,
                                                now_us, &create->intent, err);

    return status == SIRIX_OK
               ? sirix_intent_name(group, create->intent, create->segment.number, err)
               : status;
}

static enum sirix_status put_descriptor(struct sirix_group *group,
                                        const struct sirix_resource *resource,
                                        struct sirix_bytes name, int64_t created_us,
                                        struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_descriptor(resource->id);
    struct sirix_descriptor_row row = {.created_us = created_us, .name = name};
    struct sirix_rows_value value;

    memcpy(row.name_seed, resource->seed.bytes, sizeof(row.name_seed));
    value = sirix_rows_descriptor_encode(&row);
    return sirix_row_put(group, &key, &value, err);
}

static enum sirix_status put_rows(struct create_work *create, struct sirix_group *group,
                                  int64_t now_us, struct sirix_error *err)
{
    const struct sirix_resource *resource = &create->shell;
    const uint64_t address = sirix_address_make(create->segment.number, SIRIX_SEGMENT_HEADER_BYTES);
    const struct sirix_head_row head = {.revision = 1, .address = address};
    const struct sirix_counters_row counters = {
        .last_revision = 1,
        .last_time_us = now_us,
        .next_key = SIRIX_LEAF_KEYS,
        .run_key = FIRST_FREE_KEY,
        .next_branch = 1,
        .oldest_revision = 1,
        .revision_count = 1,
        .branch_count = 1,
        .newest = {[1] = {.address = address, .time_us = now_us, .branch = SIRIX_BRANCH_ID_MAIN}},
    };
    enum sirix_status status = put_descriptor(group, resource, create->name, now_us, err);

    if (status == SIRIX_OK) {
        status = create->hidden ? put_intent(create, group, now_us, err)
                                : put_name(group, resource->id, create->name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_head_put(group, resource, SIRIX_BRANCH_ID_MAIN, &head, err);
    }
    return status == SIRIX_OK ? sirix_counters_put(group, resource, &counters, err) : status;
}

static enum sirix_status create_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct create_work *create = (struct create_work *)work;
    struct sirix_segment_built *segment = &create->segment;
    struct sirix_record *record = &create->record;
    int64_t now_us = sirix_database_now_us(create->database);
    enum sirix_status status = check_free(group, create->name, err);

    if (status == SIRIX_OK) {
        status = take_id(group, &create->shell.id, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    record->revision = 1;
    record->time_us = now_us;
    record->branch_id = SIRIX_BRANCH_ID_MAIN;
    record->next_key = SIRIX_LEAF_KEYS;
    status = sirix_record_link(sirix_group_reader(group), &create->shell, record, NULL, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_record_encode(record, segment->bytes + SIRIX_SEGMENT_HEADER_BYTES);
    sirix_segment_seal(segment->bytes, segment->len, segment->kind, create->shell.id);
    status = sirix_group_segment_put(
        group, segment->number, (struct sirix_bytes){.data = segment->bytes, .len = segment->len},
        err);
    create->published = (struct sirix_published){
        .revision = 1,
        .time_us = now_us,
        .record_address = sirix_address_make(segment->number, SIRIX_SEGMENT_HEADER_BYTES),
    };
    return status == SIRIX_OK ? put_rows(create, group, now_us, err) : status;
}

static enum sirix_status create(struct sirix_database *database, struct sirix_bytes name,
                                struct sirix_bytes author, struct sirix_bytes message,
                                struct create_work *create, struct sirix_once *once,
                                struct sirix_error *err)
{
    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, name, "resource", err);

    if (status == SIRIX_OK) {
        status = sirix_texts_check(author, message, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_database_writable(database, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    create->database = database;
    create->name = name;
    create->record.author = author;
    create->record.message = message;
    memcpy(create->shell.name, name.data, name.len);
    status = sirix_random_bytes(create->shell.seed.bytes, sizeof(create->shell.seed.bytes), err);
    if (status == SIRIX_OK) {
        status =
            sirix_record_segment_new(database->backend, &create->record, &create->segment, err);
    }
    if (status == SIRIX_OK) {
        create->work = (struct sirix_commit_work){
            .size_hint = create->segment.len, .prepare = create_prepare, .done = sirix_work_done};
        status = sirix_run_once(database, &create->work, &create->published, once, err);
    }
    free(create->segment.bytes);
    return status;
}

enum sirix_status sirix_resource_create_once(struct sirix_database *database,
                                             struct sirix_bytes name, struct sirix_bytes author,
                                             struct sirix_bytes message, struct sirix_once *once,
                                             struct sirix_published *out_published,
                                             struct sirix_error *err)
{
    struct create_work *work = calloc(1, sizeof(*work));
    enum sirix_status status = SIRIX_OK;

    if (work == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a resource");
    }
    status = create(database, name, author, message, work, once, err);
    if (status == SIRIX_OK && !sirix_once_replayed(once)) {
        *out_published = work->published;
    }
    free(work);
    return status;
}

enum sirix_status sirix_resource_create(struct sirix_database *database, struct sirix_bytes name,
                                        struct sirix_bytes author, struct sirix_bytes message,
                                        struct sirix_resource **out_resource,
                                        struct sirix_error *err)
{
    struct sirix_published published;
    enum sirix_status status =
        sirix_resource_create_once(database, name, author, message, NULL, &published, err);

    return status == SIRIX_OK ? sirix_resource_open(database, name, out_resource, err) : status;
}

enum sirix_status sirix_resource_create_hidden(struct sirix_database *database,
                                               struct sirix_bytes name,
                                               struct sirix_resource **out_resource,
                                               struct sirix_error *err)
{
    const struct sirix_bytes none = {.data = NULL, .len = 0};
    struct create_work *work = calloc(1, sizeof(*work));
    struct sirix_resource *resource = NULL;
    enum sirix_status status = SIRIX_OK;

    if (work == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a resource");
    }
    work->hidden = true;
    status = create(database, name, none, none, work, NULL, err);
    if (status == SIRIX_OK) {
        status = sirix_resource_open_id(database, work->shell.id, name, &resource, err);
        if (status == SIRIX_OK) {
            atomic_store(&resource->hidden_intent, work->intent);
            *out_resource = resource;
        } else {
            /* Nobody can name it: if it cannot be undone now, the next opening does it. */
            enum sirix_status left = sirix_intent_undo(database, work->intent, NULL, NULL);

            (void)left;
        }
    }
    free(work);
    return status;
}

enum sirix_status sirix_resource_begin(struct sirix_group *group, struct sirix_resource *resource,
                                       int64_t time_us, struct sirix_error *err)
{
    const struct sirix_bytes name = {.data = resource->name, .len = strlen(resource->name)};
    enum sirix_status status = put_descriptor(group, resource, name, time_us, err);

    if (status == SIRIX_OK) {
        atomic_store(&resource->created_us, time_us);
    }
    return status;
}

enum sirix_status sirix_resource_reveal(struct sirix_group *group,
                                        const struct sirix_resource *resource,
                                        struct sirix_error *err)
{
    const struct sirix_bytes name = {.data = resource->name, .len = strlen(resource->name)};
    enum sirix_status status = check_free(group, name, err);

    if (status == SIRIX_OK) {
        status = put_name(group, resource->id, name, err);
    }
    return status == SIRIX_OK ? sirix_intent_settle(group, atomic_load(&resource->hidden_intent),
                                                    resource->id, err)
                              : status;
}

enum sirix_status sirix_resource_discard(struct sirix_resource *resource, struct sirix_error *err)
{
    uint64_t intent = atomic_load(&resource->hidden_intent);

    return intent == 0 ? SIRIX_OK : sirix_intent_undo(resource->database, intent, NULL, err);
}

struct drop_work {
    struct sirix_commit_work work;
    struct sirix_database *database;
    struct sirix_bytes name;
    uint64_t intent;
};

static enum sirix_status drop_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                      struct sirix_error *err)
{
    struct drop_work *drop = (struct drop_work *)work;
    const struct sirix_rows_key key = sirix_rows_key_resource_name(drop->name);
    struct sirix_rows_key descriptor;
    struct sirix_rows_key counters;
    struct sirix_resource_name_row row;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_resource_name_decode(value, &row, err);
    }
    if (status == SIRIX_NOT_FOUND ||
        (status == SIRIX_OK && !sirix_bytes_equal(row.name, drop->name))) {
        return sirix_resource_unknown(drop->name, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    descriptor = sirix_rows_key_descriptor(row.resource);
    counters = sirix_rows_key_counters(row.resource);
    status = sirix_intent_add(group, SIRIX_INTENT_DROP, row.resource,
                              sirix_database_now_us(drop->database), &drop->intent, err);
    if (status == SIRIX_OK) {
        status = sirix_row_delete(group, &key, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_row_delete(group, &descriptor, err);
    }
    return status == SIRIX_OK ? sirix_row_delete(group, &counters, err) : status;
}

enum sirix_status sirix_resource_drop_once(struct sirix_database *database, struct sirix_bytes name,
                                           struct sirix_once *once, struct sirix_error *err)
{
    struct drop_work drop = {
        .work = {.frees_space = true, .prepare = drop_prepare, .done = sirix_work_done},
        .database = database,
        .name = name,
    };
    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, name, "resource", err);

    if (status == SIRIX_OK) {
        status = sirix_run_once(database, &drop.work, NULL, once, err);
    }
    if (status != SIRIX_OK || sirix_once_replayed(once)) {
        return status;
    }
    /* The resource is gone. What is left of its rows is named by the intent: if it cannot be deleted
     * now, the next opening does it. */
    enum sirix_status left = sirix_intent_undo(database, drop.intent, NULL, NULL);

    (void)left;
    return SIRIX_OK;
}

enum sirix_status sirix_resource_drop(struct sirix_database *database, struct sirix_bytes name,
                                      struct sirix_error *err)
{
    return sirix_resource_drop_once(database, name, NULL, err);
}
