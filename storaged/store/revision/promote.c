/*
 * Promote: one branch's head becomes another's. Makes no revision.
 *
 * Whether it is a fast-forward is found out on the caller's thread, along the graph as it stands. On
 * the committer's thread only the target's head is compared with what was seen; when it moved, the
 * question is asked again. A source that moved meanwhile is promoted as it was seen, which is what it
 * was when the call had begun.
 */
#include "store/revision/internal.h"

#include <inttypes.h>

enum { PROMOTE_TRIES_MAX = 64 };

struct side {
    struct sirix_bytes name;
    uint64_t branch;
    struct sirix_head_row head;
};

struct promote_work {
    struct sirix_commit_work work;
    struct sirix_resource *resource;
    struct side source;
    struct side target;
    bool replace;
    bool moved; /* The target's head is no longer what was seen. */
    struct sirix_promoted promoted;
};

static enum sirix_status read_side(struct sirix_resource *resource, struct sirix_reader *reader,
                                   const struct sirix_counters_row *counters, struct side *side,
                                   struct sirix_error *err)
{
    struct sirix_branch_head branch;
    enum sirix_status status =
        sirix_branch_read(resource, reader, side->name, counters, false, &branch, err);

    if (status == SIRIX_OK) {
        side->branch = branch.id;
        side->head = (struct sirix_head_row){.revision = branch.revision,
                                             .address = branch.address,
                                             .expires_us = branch.expires_us};
    }
    return status;
}

/* Whether the target's head is the source's or one of its ancestors. */
static enum sirix_status is_fast_forward(const struct promote_work *promote,
                                         struct sirix_reader *reader, bool *out_is,
                                         struct sirix_error *err)
{
    const struct sirix_resource *resource = promote->resource;
    const struct sirix_head_row *source = &promote->source.head;
    const struct sirix_head_row *target = &promote->target.head;
    struct sirix_step step = {.address = source->address};
    struct sirix_record tip;
    enum sirix_status status =
        sirix_record_of(reader, resource, source->revision, source->address, &step.record, err);

    if (status == SIRIX_OK) {
        status = sirix_record_of(reader, resource, target->revision, target->address, &tip, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (tip.depth > step.record.depth) {
        *out_is = false;
        return SIRIX_OK;
    }
    status = sirix_step_to_depth(reader, resource, &step, tip.depth, err);
    if (status == SIRIX_OK) {
        *out_is = step.record.revision == tip.revision;
    }
    return status;
}

static enum sirix_status refuse(const struct promote_work *promote, struct sirix_error *err)
{
    const struct side *source = &promote->source;
    const struct side *target = &promote->target;
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_PRECONDITION, SIRIX_REASON_NOT_FAST_FORWARD,
        "resource %s: branch %.*s at revision %" PRIu64 " is not on the way to branch %.*s at "
        "revision %" PRIu64 ": apply the difference to it, or replace it",
        promote->resource->name, (int)target->name.len, (const char *)target->name.data,
        target->head.revision, (int)source->name.len, (const char *)source->name.data,
        source->head.revision);

    if (err != NULL) {
        err->current_revision = target->head.revision;
    }
    return status;
}

static enum sirix_status promote_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                         struct sirix_error *err)
{
    struct promote_work *promote = (struct promote_work *)work;
    const struct sirix_resource *resource = promote->resource;
    const struct sirix_head_row *to = &promote->source.head;
    int64_t now_us = sirix_database_now_us(resource->database);
    struct sirix_counters_row counters;
    struct sirix_head_row source;
    struct sirix_head_row head;
    enum sirix_status status = sirix_counters_get(group, resource, &counters, err);

    promote->moved = false;
    if (status == SIRIX_OK) {
        status = sirix_head_get(group, resource, promote->source.branch, &source, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_head_get(group, resource, promote->target.branch, &head, err);
    }
    if (status == SIRIX_OK && sirix_expired(head.expires_us, now_us, &counters)) {
        status = sirix_branch_expired(promote->target.name, head.expires_us, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (head.revision != promote->target.head.revision) {
        promote->moved = true;
        status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                   "resource %s: branch %.*s keeps moving", resource->name,
                                   (int)promote->target.name.len,
                                   (const char *)promote->target.name.data);
        if (err != NULL) {
            err->current_revision = head.revision;
        }
        return status;
    }
    if (head.revision == to->revision) {
        return SIRIX_OK;
    }
    const struct sirix_move_row row = {
        .from_revision = head.revision,
        .from_address = head.address,
        .to_revision = to->revision,
        .to_address = to->address,
    };
    const struct sirix_rows_key key = sirix_rows_key_move(resource->id, promote->target.branch,
                                                          sirix_counters_tick(&counters, now_us));
    const struct sirix_rows_value value = sirix_rows_move_encode(&row);

    head.revision = to->revision;
    head.address = to->address;
    status = sirix_row_put(group, &key, &value, err);
    if (status == SIRIX_OK) {
        status = sirix_head_put(group, resource, promote->target.branch, &head, err);
    }
    return status == SIRIX_OK ? sirix_counters_put(group, resource, &counters, err) : status;
}

/* One look at both heads and one try; CONFLICT and promote->moved: look again. */
static enum sirix_status try_promote(struct promote_work *promote, struct sirix_reader *reader,
                                     struct sirix_once *once, struct sirix_error *err)
{
    struct sirix_resource *resource = promote->resource;
    struct sirix_counters_row counters;
    bool fast_forward = true;
    enum sirix_status status = SIRIX_OK;

    sirix_reader_yield(reader);
    promote->moved = false;
    status = sirix_counters_read(reader, resource, &counters, err);
    if (status == SIRIX_OK) {
        status = read_side(resource, reader, &counters, &promote->source, err);
    }
    if (status == SIRIX_OK) {
        status = read_side(resource, reader, &counters, &promote->target, err);
    }
    if (status == SIRIX_OK) {
        status = is_fast_forward(promote, reader, &fast_forward, err);
    }
    if (status == SIRIX_OK && !fast_forward && !promote->replace) {
        status = refuse(promote, err);
    }
    sirix_reader_yield(reader); /* No slice may be held while the disk is waited for. */
    if (status != SIRIX_OK) {
        return status;
    }
    promote->promoted = (struct sirix_promoted){
        .revision = promote->source.head.revision,
        .previous_revision = promote->target.head.revision,
        .fast_forward = fast_forward,
    };
    promote->work = (struct sirix_commit_work){.prepare = promote_prepare, .done = sirix_work_done};
    if (once == NULL && promote->source.head.revision == promote->target.head.revision) {
        return SIRIX_OK;
    }
    return sirix_run_once(resource->database, &promote->work, &promote->promoted, once, err);
}

enum sirix_status sirix_branch_promote_once(struct sirix_resource *resource,
                                            struct sirix_bytes source, struct sirix_bytes target,
                                            bool replace, struct sirix_once *once,
                                            struct sirix_promoted *out_promoted,
                                            struct sirix_error *err)
{
    struct promote_work promote = {
        .resource = resource,
        .source = {.name = source},
        .target = {.name = target},
        .replace = replace,
        .moved = true,
    };
    struct sirix_reader *reader = NULL;
    enum sirix_status status = sirix_name_check(SIRIX_NAME_BRANCH, source, "source", err);

    if (status == SIRIX_OK) {
        status = sirix_name_check(SIRIX_NAME_BRANCH, target, "target", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_database_writable(resource->database, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_reader_open(resource->database->backend, &reader, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (int i = 0; promote.moved && i < PROMOTE_TRIES_MAX; i++) {
        status = try_promote(&promote, reader, once, err);
    }
    sirix_reader_close(reader);
    if (status == SIRIX_OK && !sirix_once_replayed(once)) {
        *out_promoted = promote.promoted;
    }
    return status;
}

enum sirix_status sirix_branch_promote(struct sirix_resource *resource, struct sirix_bytes source,
                                       struct sirix_bytes target, bool replace,
                                       struct sirix_promoted *out_promoted, struct sirix_error *err)
{
    return sirix_branch_promote_once(resource, source, target, replace, NULL, out_promoted, err);
}
