/* Read before a statement's first row, a database at a time, and kept as plain values. */
#include "sql/facts.h"

#include <string.h>

static const struct sirix_bytes nothing = {.data = NULL, .len = 0};

/* One resource while its branches and snapshots are read. */
struct reading {
    struct sirix_sql_session *session;
    struct sirix_target *target; /* With a reader; the resource is the present one. */
    struct sirix_sql_facts *facts;
    struct sirix_sql_resource *last;
    struct sirix_sql_resource *resource;
    size_t cap;
};

/* Room for one more in an array of the arena. */
static enum sirix_status grow(struct reading *reading, void **array, size_t count, size_t size,
                              struct sirix_error *err)
{
    enum { FIRST = 2 };
    void *grown = NULL;

    if (count != 0 && count < reading->cap) {
        return SIRIX_OK;
    }
    reading->cap = count == 0 ? FIRST : count * 2;
    enum sirix_status status =
        sirix_arena_calloc(&reading->session->arena, reading->cap, size, &grown, err);
    if (status == SIRIX_OK) {
        if (count != 0) {
            memcpy(grown, *array, count * size);
        }
        *array = grown;
    }
    return status;
}

static enum sirix_status add_branch(void *context, const struct sirix_branch_info *info, bool *stop,
                                    struct sirix_error *err)
{
    struct reading *reading = context;
    struct sirix_sql_resource *resource = reading->resource;
    struct sirix_bytes name = {0};
    void *array = resource->branches;

    *stop = false;
    enum sirix_status status =
        grow(reading, &array, resource->branch_count, sizeof(*resource->branches), err);
    resource->branches = array;
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&reading->session->arena, info->name, &name, err);
    }
    if (status == SIRIX_OK) {
        resource->branches[resource->branch_count++] = (struct sirix_sql_branch){
            .name = name,
            .revision = info->head_revision,
            .base_revision = info->base_revision,
            .created_us = info->created_us,
            .expires_us = info->expires_us,
        };
        status = sirix_sql_check(reading->session, err);
    }
    return status;
}

static enum sirix_status add_snapshot(void *context, const struct sirix_snapshot_info *info,
                                      bool *stop, struct sirix_error *err)
{
    struct reading *reading = context;
    struct sirix_sql_resource *resource = reading->resource;
    struct sirix_bytes name = {0};
    void *array = resource->snapshots;

    *stop = false;
    enum sirix_status status =
        grow(reading, &array, resource->snapshot_count, sizeof(*resource->snapshots), err);
    resource->snapshots = array;
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&reading->session->arena, info->name, &name, err);
    }
    if (status == SIRIX_OK) {
        resource->snapshots[resource->snapshot_count++] = (struct sirix_sql_snapshot){
            .name = name,
            .revision = info->revision,
            .time_us = info->time_us,
            .created_us = info->created_us,
        };
        status = sirix_sql_check(reading->session, err);
    }
    return status;
}

/* What is damaged, pruned or gone is left unknown: it hides neither itself nor the others. */
static enum sirix_status forgive(enum sirix_status status, const struct sirix_error *inner,
                                 struct sirix_error *err)
{
    if (status == SIRIX_CORRUPT || status == SIRIX_NOT_FOUND || status == SIRIX_PRECONDITION) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = *inner;
    }
    return status;
}

/* The time of a branch's head, which its row does not have. */
static enum sirix_status head_times(struct reading *reading, struct sirix_error *err)
{
    struct sirix_sql_resource *resource = reading->resource;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < resource->branch_count && status == SIRIX_OK; i++) {
        struct sirix_sql_branch *branch = &resource->branches[i];
        const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION,
                                             .revision = branch->revision};
        struct sirix_view view = {0};
        struct sirix_error inner = {0};

        if (branch->revision == resource->revision) {
            branch->time_us = resource->time_us;
            continue;
        }
        status = sirix_view_open(reading->target->resource, reading->target->reader, &spec, &view,
                                 &inner);
        if (status == SIRIX_OK) {
            branch->time_us = view.record.time_us;
            sirix_view_close(&view);
        }
        status = forgive(status, &inner, err);
    }
    return status;
}

static enum sirix_status read_head(struct reading *reading, struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_sql_resource *resource = reading->resource;
    struct sirix_view view = {0};
    struct sirix_error inner = {0};
    enum sirix_status status =
        sirix_view_open(reading->target->resource, reading->target->reader, &spec, &view, &inner);

    if (status == SIRIX_OK) {
        resource->revision = view.record.revision;
        resource->time_us = view.record.time_us;
        resource->node_count = view.record.node_count;
        resource->text_bytes = view.record.text_bytes;
        sirix_view_close(&view);
    }
    return forgive(status, &inner, err);
}

static enum sirix_status read_lists(struct reading *reading, struct sirix_error *err)
{
    struct sirix_target *target = reading->target;
    struct sirix_error inner = {0};
    enum sirix_status status =
        sirix_branch_list(target->resource, target->reader, nothing, add_branch, reading, &inner);

    status = forgive(status, &inner, err);
    if (status == SIRIX_OK) {
        status = sirix_snapshot_list(target->resource, target->reader, nothing, add_snapshot,
                                     reading, &inner);
        status = forgive(status, &inner, err);
    }
    return status == SIRIX_OK ? head_times(reading, err) : status;
}

static enum sirix_status add_resource(void *context, struct sirix_bytes name, bool *stop,
                                      struct sirix_error *err)
{
    struct reading *reading = context;
    struct sirix_sql_session *session = reading->session;
    struct sirix_sql_resource *resource = NULL;
    void *memory = NULL;

    *stop = false;
    if (!sirix_sql_visible(session, reading->facts->database, name)) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_arena_calloc(&session->arena, 1, sizeof(*resource), &memory, err);
    if (status == SIRIX_OK) {
        resource = memory;
        status = sirix_arena_copy(&session->arena, name, &resource->name, err);
    }
    if (status == SIRIX_OK) {
        *(reading->last == NULL ? &reading->facts->resources : &reading->last->next) = resource;
        reading->last = resource;
        status = sirix_sql_check(session, err);
    }
    return status;
}

/* Reads one; *out_there false: it was dropped since. */
static enum sirix_status read_resource(struct reading *reading, bool *out_there,
                                       struct sirix_error *err)
{
    struct sirix_target *target = reading->target;
    struct sirix_error inner = {0};
    enum sirix_status status = sirix_resource_open(
        sirix_handle_database(target->handle), reading->resource->name, &target->resource, &inner);

    *out_there = status != SIRIX_NOT_FOUND;
    status = forgive(status, &inner, err);
    if (status == SIRIX_OK && target->resource != NULL) {
        status = read_head(reading, err);
    }
    if (status == SIRIX_OK && target->resource != NULL) {
        status = read_lists(reading, err);
    }
    sirix_resource_unref(target->resource);
    target->resource = NULL;
    return status == SIRIX_OK ? sirix_sql_check(reading->session, err) : status;
}

static enum sirix_status read_all(struct reading *reading, struct sirix_error *err)
{
    struct sirix_sql_resource **place = &reading->facts->resources;
    enum sirix_status status =
        sirix_resource_list_at(reading->target->reader, nothing, add_resource, reading, err);

    while (status == SIRIX_OK && *place != NULL) {
        bool there = false;

        reading->resource = *place;
        status = read_resource(reading, &there, err);
        if (there) {
            place = &(*place)->next;
        } else {
            *place = (*place)->next;
        }
    }
    return status;
}

struct gathering {
    struct sirix_sql_session *session;
    struct sirix_sql_facts *first;
    struct sirix_sql_facts *last;
};

static enum sirix_status add_database(void *context, struct sirix_bytes database,
                                      struct sirix_bytes resource, bool *stop,
                                      struct sirix_error *err)
{
    struct gathering *gathering = context;
    struct sirix_sql_session *session = gathering->session;
    struct sirix_target target = {0};
    struct reading reading = {.session = session, .target = &target};
    void *memory = NULL;

    (void)resource;
    *stop = false;
    enum sirix_status status =
        sirix_arena_calloc(&session->arena, 1, sizeof(*reading.facts), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    reading.facts = memory;
    status = sirix_arena_copy(&session->arena, database, &reading.facts->database, err);
    if (status == SIRIX_OK) {
        status = sirix_target_open(&session->request, database, nothing, &target, err);
    }
    if (status == SIRIX_OK) {
        /* The statement's own reader of the database, if it has one, is at the state of its tables. */
        struct sirix_reader *own = target.reader;
        struct sirix_reader *reader = sirix_sql_reader_of(session, target.handle);

        target.reader = reader == NULL ? own : reader;
        status = read_all(&reading, err);
        target.reader = own;
    }
    sirix_target_close(&target);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    if (status == SIRIX_OK) {
        *(gathering->last == NULL ? &gathering->first : &gathering->last->next) = reading.facts;
        gathering->last = reading.facts;
    }
    return status;
}

enum sirix_status sirix_sql_facts_all(struct sirix_sql_session *session,
                                      const struct sirix_sql_facts **out_facts,
                                      struct sirix_error *err)
{
    struct gathering gathering = {.session = session};

    if (!session->facts_known) {
        enum sirix_status status = sirix_sql_each_database(session, add_database, &gathering, err);
        if (status != SIRIX_OK) {
            return status;
        }
        session->facts = gathering.first;
        session->facts_known = true;
    }
    *out_facts = session->facts;
    return SIRIX_OK;
}
