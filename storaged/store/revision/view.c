/*
 * Resolving views. A branch as of a time is the branch's head at that time:
 *
 *   - the heads between two moves of a branch (creation, promotes, deletion) are a chain of parents,
 *     because between them it moves by commits alone;
 *   - so the first move after the time tells what the branch stood at before it (without one: where it
 *     stands now), and the head at the time is the newest ancestor of that made at or before it.
 *
 * Moves take their times from the same strictly rising clock as commits, so no two events of a
 * resource share an instant. Deleted branches can still be read as of the times when they were.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>

/* What a view spec comes down to. */
struct resolved {
    uint64_t revision;
    uint64_t address;
    uint64_t branch;
};

static const char *text_of(struct sirix_bytes name)
{
    return name.len == 0 ? SIRIX_BRANCH_MAIN : (const char *)name.data;
}

static int len_of(struct sirix_bytes name)
{
    return name.len == 0 ? (int)sizeof(SIRIX_BRANCH_MAIN) - 1 : (int)name.len;
}

/* --- By revision -------------------------------------------------------------------------------- */

static enum sirix_status pruned(const struct sirix_resource *resource, uint64_t revision,
                                const struct sirix_counters_row *counters, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_PRECONDITION, SIRIX_REASON_REVISION_PRUNED,
        "resource %s: revision %" PRIu64 " was pruned, the oldest one kept is %" PRIu64,
        resource->name, revision, counters->oldest_revision);

    if (err != NULL) {
        err->current_revision = counters->last_revision;
    }
    return status;
}

static enum sirix_status resolve_revision(const struct sirix_resource *resource,
                                          struct sirix_reader *reader, uint64_t revision,
                                          const struct sirix_counters_row *counters,
                                          struct resolved *out, struct sirix_error *err)
{
    struct sirix_index_entry entry;
    enum sirix_status status = SIRIX_OK;

    if (revision == 0) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_REVISION_UNKNOWN,
                                 "resource %s: there is no revision 0, the first one is 1",
                                 resource->name);
    }
    if (revision > counters->last_revision) {
        status = sirix_fail_reason(err, SIRIX_OUT_OF_RANGE, SIRIX_REASON_REVISION_AHEAD,
                                   "resource %s: there is no revision %" PRIu64
                                   " yet, the newest one is %" PRIu64,
                                   resource->name, revision, counters->last_revision);
        if (err != NULL) {
            err->current_revision = counters->last_revision;
        }
        return status;
    }
    if (revision < counters->oldest_revision) {
        return pruned(resource, revision, counters, err);
    }
    status = sirix_index_read(reader, resource, counters, revision, &entry, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (entry.address == 0) {
        return pruned(resource, revision, counters, err);
    }
    *out =
        (struct resolved){.revision = revision, .address = entry.address, .branch = entry.branch};
    return SIRIX_OK;
}

/* --- By branch and time ------------------------------------------------------------------------- */

static enum sirix_status before_first(const struct sirix_resource *resource,
                                      struct sirix_bytes name, const struct sirix_branch_head *life,
                                      struct sirix_error *err)
{
    char when[SIRIX_TIME_TEXT_BYTES];

    (void)sirix_time_format(life->created_us, when);
    return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_REVISION_BEFORE_FIRST,
                             "resource %s: the time is before the first revision of branch %.*s, "
                             "which began at %s with revision %" PRIu64,
                             resource->name, len_of(name), text_of(name), when,
                             life->base_revision);
}

/* The first row of a scan. */
struct first_row {
    bool found;
    int64_t time_us;
    struct sirix_move_row move;
    struct sirix_tomb_row tomb;
};

static enum sirix_status first_move(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                    bool *stop, struct sirix_error *err)
{
    struct first_row *first = context;

    *stop = true;
    if (!sirix_rows_key_move_parse(key, &first->time_us)) {
        return sirix_fail(err, SIRIX_CORRUPT, "head move row with a malformed key");
    }
    first->found = true;
    return sirix_rows_move_decode(value, &first->move, err);
}

static enum sirix_status first_tomb(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                    bool *stop, struct sirix_error *err)
{
    struct first_row *first = context;

    *stop = true;
    if (!sirix_rows_key_tomb_parse(key, &first->time_us)) {
        return sirix_fail(err, SIRIX_CORRUPT, "deleted branch row with a malformed key");
    }
    first->found = true;
    return sirix_rows_tomb_decode(value, &first->tomb, err);
}

/* The head at a time within the life of a branch. */
static enum sirix_status resolve_at(const struct sirix_resource *resource,
                                    struct sirix_reader *reader,
                                    const struct sirix_branch_head *life, int64_t time_us,
                                    struct resolved *out, struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_moves(resource->id, life->id);
    struct sirix_rows_key from;
    struct sirix_step step = {.address = life->address};
    struct first_row first = {0};
    uint64_t revision = life->revision;
    enum sirix_status status = SIRIX_OK;

    assert(time_us >= life->created_us);
    if (time_us < INT64_MAX) {
        from = sirix_rows_key_move(resource->id, life->id, time_us + 1);
        status = sirix_ref_scan(reader, sirix_rows_key_view(&prefix), sirix_rows_key_view(&from),
                                false, first_move, &first, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (first.found) {
        revision = first.move.from_revision;
        step.address = first.move.from_address;
    }
    status = sirix_record_of(reader, resource, revision, step.address, &step.record, err);
    if (status == SIRIX_OK) {
        status = sirix_step_to_time(reader, resource, &step, time_us, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct resolved){
            .revision = step.record.revision, .address = step.address, .branch = life->id};
    }
    return status;
}

/* A deleted branch of this name that was there at the time; *out_found tells. */
static enum sirix_status find_tomb(const struct sirix_resource *resource,
                                   struct sirix_reader *reader, struct sirix_bytes name,
                                   int64_t time_us, bool *out_found,
                                   struct sirix_branch_head *out_life, struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_tombs(resource->id, name);
    struct sirix_rows_key from;
    struct first_row first = {0};
    enum sirix_status status = SIRIX_OK;

    *out_found = false;
    if (time_us == INT64_MAX) {
        return SIRIX_OK;
    }
    from = sirix_rows_key_tomb(resource->id, name, time_us + 1);
    status = sirix_ref_scan(reader, sirix_rows_key_view(&prefix), sirix_rows_key_view(&from), false,
                            first_tomb, &first, err);
    if (status == SIRIX_OK && first.found && first.tomb.created_us <= time_us) {
        *out_found = true;
        *out_life = (struct sirix_branch_head){
            .id = first.tomb.branch,
            .revision = first.tomb.head_revision,
            .address = first.tomb.head_address,
            .base_revision = first.tomb.base_revision,
            .created_us = first.tomb.created_us,
        };
    }
    return status;
}

static enum sirix_status resolve_branch(const struct sirix_resource *resource,
                                        struct sirix_reader *reader,
                                        const struct sirix_view_spec *spec,
                                        const struct sirix_counters_row *counters,
                                        struct resolved *out, struct sirix_error *err)
{
    struct sirix_error unknown = {0};
    struct sirix_branch_head life;
    struct sirix_branch_head past;
    bool was_there = false;
    enum sirix_status found =
        sirix_branch_read(resource, reader, spec->name, counters, false, &life, &unknown);
    enum sirix_status status = SIRIX_OK;

    if (found == SIRIX_OK && !spec->has_time) {
        *out = (struct resolved){
            .revision = life.revision, .address = life.address, .branch = life.id};
        return SIRIX_OK;
    }
    if (found == SIRIX_OK && spec->time_us >= life.created_us) {
        return resolve_at(resource, reader, &life, spec->time_us, out, err);
    }
    if (spec->has_time && spec->name.len != 0 &&
        (found == SIRIX_OK || unknown.reason == SIRIX_REASON_BRANCH_UNKNOWN)) {
        status = find_tomb(resource, reader, spec->name, spec->time_us, &was_there, &past, err);
        if (status == SIRIX_OK && was_there) {
            status = resolve_at(resource, reader, &past, spec->time_us, out, err);
        }
        if (status != SIRIX_OK || was_there) {
            return status;
        }
    }
    if (found == SIRIX_OK) {
        return before_first(resource, spec->name, &life, err);
    }
    if (err != NULL) {
        *err = unknown;
    }
    return found;
}

/* --- By snapshot -------------------------------------------------------------------------------- */

static enum sirix_status resolve_snapshot(const struct sirix_resource *resource,
                                          struct sirix_reader *reader,
                                          const struct sirix_view_spec *spec,
                                          const struct sirix_counters_row *counters,
                                          struct resolved *out, struct sirix_error *err)
{
    static const struct sirix_view_spec head = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_label_row row;
    struct sirix_error unknown = {0};
    enum sirix_status status =
        sirix_label_find(reader, resource, SIRIX_LABEL_SNAPSHOT, spec->name, &row, &unknown);

    if (status == SIRIX_OK) {
        return resolve_revision(resource, reader, row.revision, counters, out, err);
    }
    if (status == SIRIX_NOT_FOUND && sirix_name_is_main(spec->name)) {
        return resolve_branch(resource, reader, &head, counters, out, err);
    }
    if (err != NULL) {
        *err = unknown;
    }
    return status;
}

/* --- Opening ------------------------------------------------------------------------------------ */

static enum sirix_status check_spec(const struct sirix_view_spec *spec, struct sirix_error *err)
{
    switch (spec->by) {
    case SIRIX_VIEW_BRANCH:
        return spec->name.len == 0
                   ? SIRIX_OK
                   : sirix_name_check(SIRIX_NAME_BRANCH, spec->name, "view.branch", err);
    case SIRIX_VIEW_SNAPSHOT:
        return sirix_name_check(SIRIX_NAME_SNAPSHOT, spec->name, "view.snapshot", err);
    case SIRIX_VIEW_REVISION:
        return SIRIX_OK;
    }
    return sirix_fail(err, SIRIX_INTERNAL, "a view is named by %d", (int)spec->by);
}

static enum sirix_status pin(struct sirix_resource *resource, uint64_t revision,
                             struct sirix_error *err)
{
    uint64_t count = 0;

    (void)pthread_mutex_lock(&resource->pin_lock);
    (void)sirix_map_get(&resource->pins, revision, &count);
    enum sirix_status status = sirix_map_put(&resource->pins, revision, count + 1, err);
    (void)pthread_mutex_unlock(&resource->pin_lock);
    return status;
}

static void unpin(struct sirix_resource *resource, uint64_t revision)
{
    uint64_t count = 0;

    (void)pthread_mutex_lock(&resource->pin_lock);
    bool pinned = sirix_map_get(&resource->pins, revision, &count);

    assert(pinned);
    if (count == 1) {
        (void)sirix_map_remove(&resource->pins, revision, NULL);
    } else {
        /* The key is there, so nothing grows and nothing can fail. */
        enum sirix_status status = sirix_map_put(&resource->pins, revision, count - 1, NULL);

        assert(status == SIRIX_OK);
    }
    (void)pthread_mutex_unlock(&resource->pin_lock);
}

static enum sirix_status resolve(const struct sirix_resource *resource, struct sirix_reader *reader,
                                 const struct sirix_view_spec *spec, struct resolved *out,
                                 struct sirix_error *err)
{
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_counters_read(reader, resource, &counters, err);

    if (status != SIRIX_OK) {
        return status;
    }
    switch (spec->by) {
    case SIRIX_VIEW_BRANCH:
        status = resolve_branch(resource, reader, spec, &counters, out, err);
        break;
    case SIRIX_VIEW_SNAPSHOT:
        return resolve_snapshot(resource, reader, spec, &counters, out, err);
    case SIRIX_VIEW_REVISION:
        return resolve_revision(resource, reader, spec->revision, &counters, out, err);
    }
    if (status == SIRIX_OK && spec->has_time) {
        /* A head of the past may have been pruned. */
        uint64_t branch = out->branch;

        status = resolve_revision(resource, reader, out->revision, &counters, out, err);
        out->branch = branch;
    }
    return status;
}

/* Makes a pinned view of a record; the caller holds the gate. */
static enum sirix_status make_view(struct sirix_resource *resource, struct sirix_reader *reader,
                                   const struct resolved *resolved, struct sirix_view *out_view,
                                   struct sirix_error *err)
{
    struct sirix_record record;
    enum sirix_status status =
        sirix_record_of(reader, resource, resolved->revision, resolved->address, &record, err);

    if (status == SIRIX_OK) {
        status = pin(resource, resolved->revision, err);
    }
    if (status == SIRIX_OK) {
        *out_view = (struct sirix_view){
            .resource = sirix_resource_ref(resource),
            .record_address = resolved->address,
            .record = record,
            .branch_id = resolved->branch,
        };
    }
    return status;
}

enum sirix_status sirix_view_open(struct sirix_resource *resource, struct sirix_reader *reader,
                                  const struct sirix_view_spec *spec, struct sirix_view *out_view,
                                  struct sirix_error *err)
{
    struct resolved resolved = {0};
    enum sirix_status status = check_spec(spec, err);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_rwlock_rdlock(&resource->pin_gate);
    status = resolve(resource, reader, spec, &resolved, err);
    if (status == SIRIX_OK) {
        status = make_view(resource, reader, &resolved, out_view, err);
    }
    (void)pthread_rwlock_unlock(&resource->pin_gate);
    return status;
}

void sirix_view_close(struct sirix_view *view)
{
    if (view == NULL || view->resource == NULL) {
        return;
    }
    unpin(view->resource, view->record.revision);
    sirix_resource_unref(view->resource);
    view->resource = NULL;
}

enum sirix_status sirix_view_open_parent(const struct sirix_view *view, struct sirix_reader *reader,
                                         struct sirix_view *out_parent, struct sirix_error *err)
{
    struct sirix_resource *resource = view->resource;
    struct sirix_counters_row counters;
    struct resolved resolved = {0};
    enum sirix_status status = SIRIX_OK;

    if (view->record.depth == 0) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_REVISION_BEFORE_FIRST,
                                 "resource %s: revision %" PRIu64 " is the first, it has no parent",
                                 resource->name, view->record.revision);
    }
    (void)pthread_rwlock_rdlock(&resource->pin_gate);
    status = sirix_counters_read(reader, resource, &counters, err);
    if (status == SIRIX_OK) {
        status = resolve_revision(resource, reader, view->record.parent_revision, &counters,
                                  &resolved, err);
    }
    if (status == SIRIX_OK) {
        status = make_view(resource, reader, &resolved, out_parent, err);
    }
    (void)pthread_rwlock_unlock(&resource->pin_gate);
    return status;
}
