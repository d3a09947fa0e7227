/* Each call is one call of the store, checked before and kept for retries after. */
#include "service/labels.h"

#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "service/quota.h"

static enum sirix_status check_expected(const struct sirix_write_options *options,
                                        uint64_t revision, struct sirix_error *err)
{
    if (!options->has_expected || options->expected_revision == revision) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                                 "the revision is %" PRIu64 ", not %" PRIu64,
                                                 revision, options->expected_revision);
    sirix_error_set_field(err, "options.expected_revision");
    if (err != NULL) {
        err->current_revision = revision;
    }
    return status;
}

/* --- Changes ------------------------------------------------------------------------------------ */

struct change;

/* One kind of change. */
struct change_kind {
    enum sirix_name_kind name;
    const char *name_field; /* Of the request, where the sentence is about the name. */
    const char *head_field; /* And about the branch whose head it takes. */
    size_t answer_count;
    enum sirix_status (*make)(void *context, struct sirix_once *once, struct sirix_answer *answer,
                              struct sirix_error *err);
    void (*tell)(void *context, const void *result, struct sirix_answer *answer);
};

/* What a change needs: the request and what it is about. */
struct change {
    const struct change_kind *kind;
    const struct sirix_request *request;
    const struct sirix_label_request *wanted; /* Of changes that take no turn. */
    struct sirix_write *write;                /* Of those that do. */
    struct sirix_bytes source;
    bool replace;
    int64_t time_us; /* Of the view's revision, for the answer. */
};

static enum sirix_status run(struct change *change, struct sirix_bytes database,
                             const struct sirix_write_options *options,
                             struct sirix_answer *out_answer, bool *out_replayed,
                             struct sirix_error *err)
{
    const struct sirix_change_once once = {
        .request = change->request,
        .options = options,
        .database = database,
        .answer_count = change->kind->answer_count,
        .change = change->kind->make,
        .tell = change->kind->tell,
        .context = change,
    };

    return sirix_once_run(&once, out_answer, out_replayed, err);
}

/* A change of a label that takes no turn. */
static enum sirix_status run_label(const struct change_kind *kind,
                                   const struct sirix_request *request,
                                   const struct sirix_label_request *wanted,
                                   struct sirix_answer *out_answer, bool *out_replayed,
                                   struct sirix_error *err)
{
    struct change change = {.kind = kind, .request = request, .wanted = wanted};

    enum sirix_status status = sirix_name_check(kind->name, wanted->name, kind->name_field, err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_change(request, wanted->database, wanted->name,
                                            kind->name_field, err);
    }
    return status == SIRIX_OK
               ? run(&change, wanted->database, &wanted->options, out_answer, out_replayed, err)
               : status;
}

/* A change of a head, with its turn. */
static enum sirix_status run_head(struct change *change, struct sirix_bytes database,
                                  struct sirix_answer *out_answer, bool *out_replayed,
                                  struct sirix_error *err)
{
    change->request = &change->write->request;
    return run(change, database, &change->write->options, out_answer, out_replayed, err);
}

/* A write calls the branch that it goes to `branch`; this request may not. */
static void blame_head(const struct change_kind *kind, struct sirix_error *err)
{
    if (err != NULL && strcmp(err->field, "branch") == 0) {
        sirix_error_set_field(err, kind->head_field);
    }
}

static enum sirix_status open_head(const struct change_kind *kind,
                                   const struct sirix_request *request,
                                   const struct sirix_write_place *place, struct sirix_write *write,
                                   struct sirix_answer *out_answer, bool *out_known,
                                   struct sirix_error *err)
{
    enum sirix_status status =
        sirix_once_open(request, place, kind->answer_count, write, out_answer, out_known, err);

    if (status != SIRIX_OK) {
        blame_head(kind, err);
    }
    return status;
}

/* Whether the request names what its kind is about. */
static enum sirix_status check_name(const struct change_kind *kind, struct sirix_bytes name,
                                    struct sirix_error *err)
{
    return sirix_name_check(kind->name, name, kind->name_field, err);
}

/* Where the head is, with its turn. */
static enum sirix_status head_revision(const struct change *change, uint64_t *out_revision,
                                       struct sirix_error *err)
{
    enum sirix_status status = sirix_write_head_revision(change->write, out_revision, err);

    if (status != SIRIX_OK) {
        blame_head(change->kind, err);
    }
    return status;
}

static enum sirix_status open_view(struct change *change, struct sirix_target *target,
                                   struct sirix_view *out_view, struct sirix_error *err)
{
    const struct sirix_label_request *wanted = change->wanted;

    enum sirix_status status =
        sirix_target_open_named(change->request, wanted->database, wanted->resource, target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_target_view(target, &wanted->view, "view", out_view, err);
    if (status == SIRIX_OK) {
        change->time_us = out_view->record.time_us;
        status = check_expected(&wanted->options, out_view->record.revision, err);
        if (status != SIRIX_OK) {
            sirix_view_close(out_view);
        }
    }
    if (status != SIRIX_OK) {
        sirix_target_close(target);
    }
    return status;
}

/* The answer of a deletion: where the label or the branch's head was. */
enum { DELETED_NUMBERS = 1 };

static void tell_deleted(void *context, const void *result, struct sirix_answer *answer)
{
    (void)context;
    *answer =
        (struct sirix_answer){.count = DELETED_NUMBERS, .numbers = {*(const uint64_t *)result}};
}

/* What either creation gives. */
union created {
    struct sirix_snapshot_created snapshot;
    struct sirix_branch_info branch;
};

/* Whether one more may be made; a snapshot that is there only moves. */
static enum sirix_status check_quota(const struct change *change, struct sirix_target *target,
                                     struct sirix_error *err)
{
    struct sirix_service *service = change->request->service;
    const struct sirix_view_spec there = {.by = SIRIX_VIEW_SNAPSHOT, .name = change->wanted->name};
    struct sirix_resource_info info = {0};
    struct sirix_view view = {0};
    struct sirix_error missing = {0};
    enum sirix_status status = sirix_quota_check_bytes(service, target->handle, err);

    if (status == SIRIX_OK) {
        status = sirix_resource_info(target->resource, &info, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (change->kind->name == SIRIX_NAME_BRANCH) {
        return sirix_quota_check_branches(service, target->handle, info.branch_count, err);
    }
    status = sirix_quota_check_snapshots(service, target->handle, info.snapshot_count, err);
    if (status != SIRIX_OK &&
        sirix_view_open(target->resource, target->reader, &there, &view, &missing) == SIRIX_OK) {
        sirix_view_close(&view);
        status = SIRIX_OK;
    }
    return status;
}

/* Labels the view's revision, or begins a branch at it. */
static enum sirix_status create(void *context, struct sirix_once *once, struct sirix_answer *answer,
                                struct sirix_error *err)
{
    struct change *change = context;
    const struct sirix_label_request *wanted = change->wanted;
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    union created created = {0};

    enum sirix_status status = open_view(change, &target, &view, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = check_quota(change, &target, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = change->kind->name == SIRIX_NAME_SNAPSHOT
                 ? sirix_snapshot_create_once(&view, wanted->name, wanted->replace, once,
                                              &created.snapshot, err)
                 : sirix_branch_create_once(&view, wanted->name, wanted->expires_us, once,
                                            &created.branch, err);
    if (status == SIRIX_OK) {
        change->kind->tell(change, &created, answer);
    } else if (status == SIRIX_ALREADY_EXISTS) {
        sirix_error_set_field(err, change->kind->name_field);
    }
out:
    sirix_view_close(&view);
    sirix_target_close(&target);
    return status;
}

/* --- Snapshots ---------------------------------------------------------------------------------- */

enum { SNAPSHOT_NUMBERS = 3 };

static void tell_snapshot(void *context, const void *result, struct sirix_answer *answer)
{
    const struct sirix_snapshot_created *created = result;

    (void)context;
    *answer = (struct sirix_answer){
        .count = SNAPSHOT_NUMBERS,
        .numbers = {created->revision, created->previous_revision, (uint64_t)created->time_us}};
}

enum sirix_status sirix_service_create_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                struct sirix_snapshot_change *out_change,
                                                bool *out_replayed, struct sirix_error *err)
{
    static const struct change_kind kind = {
        .name = SIRIX_NAME_SNAPSHOT,
        .name_field = "name",
        .answer_count = SNAPSHOT_NUMBERS,
        .make = create,
        .tell = tell_snapshot,
    };
    struct sirix_answer answer = {0};

    enum sirix_status status = run_label(&kind, request, wanted, &answer, out_replayed, err);
    if (status == SIRIX_OK) {
        *out_change = (struct sirix_snapshot_change){
            .snapshot = {.revision = answer.numbers[0], .time_us = (int64_t)answer.numbers[2]},
            .previous_revision = answer.numbers[1],
            .changed = answer.numbers[0] != answer.numbers[1],
        };
        sirix_label_name(out_change->snapshot.name, wanted->name);
    }
    return status;
}

static enum sirix_status delete_snapshot(void *context, struct sirix_once *once,
                                         struct sirix_answer *answer, struct sirix_error *err)
{
    const struct change *change = context;
    const struct sirix_label_request *wanted = change->wanted;
    const struct sirix_label_request labelled = {
        .database = wanted->database,
        .resource = wanted->resource,
        .view = {.which = SIRIX_VIEW_WHICH_SNAPSHOT, .name = wanted->name},
        .options = wanted->options,
    };
    struct change lookup = {.request = change->request, .wanted = &labelled};
    struct sirix_target target = {0};
    struct sirix_view view = {0};

    enum sirix_status status = open_view(&lookup, &target, &view, err);
    if (status == SIRIX_OK) {
        tell_deleted(context, &view.record.revision, answer);
        sirix_view_close(&view);
        status = sirix_snapshot_delete_once(target.resource, wanted->name, once, err);
        sirix_target_close(&target);
    }
    if (status == SIRIX_NOT_FOUND && err != NULL && err->reason == SIRIX_REASON_SNAPSHOT_UNKNOWN) {
        sirix_error_set_field(err, "name");
    }
    return status;
}

enum sirix_status sirix_service_delete_snapshot(const struct sirix_request *request,
                                                const struct sirix_label_request *wanted,
                                                uint64_t *out_revision, bool *out_replayed,
                                                struct sirix_error *err)
{
    static const struct change_kind kind = {
        .name = SIRIX_NAME_SNAPSHOT,
        .name_field = "name",
        .answer_count = DELETED_NUMBERS,
        .make = delete_snapshot,
        .tell = tell_deleted,
    };
    struct sirix_answer answer = {0};

    enum sirix_status status = run_label(&kind, request, wanted, &answer, out_replayed, err);
    if (status == SIRIX_OK) {
        *out_revision = answer.numbers[0];
    }
    return status;
}

/* --- Branches ----------------------------------------------------------------------------------- */

enum { BRANCH_NUMBERS = 5, PROMOTION_NUMBERS = 2 };

static void tell_branch(void *context, const void *result, struct sirix_answer *answer)
{
    const struct change *change = context;
    const struct sirix_branch_info *info = result;

    *answer = (struct sirix_answer){.count = BRANCH_NUMBERS,
                                    .numbers = {info->head_revision, (uint64_t)change->time_us,
                                                info->base_revision, (uint64_t)info->created_us,
                                                (uint64_t)info->expires_us}};
}

/* Of a request that comes first: one that is repeated after the branch's time has its answer. */
static enum sirix_status create_branch_in_time(void *context, struct sirix_once *once,
                                               struct sirix_answer *answer, struct sirix_error *err)
{
    const struct change *change = context;
    int64_t expires_us = change->wanted->expires_us;

    if (expires_us != 0 && expires_us <= sirix_clock_realtime_us(change->request->service->clock)) {
        enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                     "the branch would expire in the past");
        sirix_error_set_field(err, "expires_at_us");
        return status;
    }
    return create(context, once, answer, err);
}

enum sirix_status sirix_service_create_branch(const struct sirix_request *request,
                                              const struct sirix_label_request *wanted,
                                              struct sirix_branch_item *out_branch,
                                              bool *out_replayed, struct sirix_error *err)
{
    static const struct change_kind kind = {
        .name = SIRIX_NAME_BRANCH,
        .name_field = "name",
        .answer_count = BRANCH_NUMBERS,
        .make = create_branch_in_time,
        .tell = tell_branch,
    };
    struct sirix_answer answer = {0};

    enum sirix_status status = run_label(&kind, request, wanted, &answer, out_replayed, err);
    if (status == SIRIX_OK) {
        *out_branch = (struct sirix_branch_item){
            .revision = answer.numbers[0],
            .time_us = (int64_t)answer.numbers[1],
            .base_revision = answer.numbers[2],
            .created_us = (int64_t)answer.numbers[3],
            .expires_us = (int64_t)answer.numbers[4],
        };
        sirix_label_name(out_branch->name, wanted->name);
    }
    return status;
}

static struct sirix_bytes branch_of(const struct sirix_write *write)
{
    return (struct sirix_bytes){.data = write->branch, .len = strlen(write->branch)};
}

static enum sirix_status delete_branch(void *context, struct sirix_once *once,
                                       struct sirix_answer *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_write *write = change->write;
    uint64_t revision = 0;

    enum sirix_status status = head_revision(change, &revision, err);
    if (status == SIRIX_OK) {
        status = sirix_branch_delete_once(write->target.resource, branch_of(write),
                                          write->branch_id, once, &revision, err);
    }
    if (status == SIRIX_OK) {
        tell_deleted(context, &revision, answer);
    } else if (err != NULL && err->field[0] == '\0') {
        sirix_error_set_field(err, change->kind->name_field);
    }
    return status;
}

static const struct change_kind branch_deletion = {
    .name = SIRIX_NAME_BRANCH,
    .name_field = "name",
    .head_field = "name",
    .answer_count = DELETED_NUMBERS,
    .make = delete_branch,
    .tell = tell_deleted,
};

enum sirix_status sirix_delete_branch_open(const struct sirix_request *request,
                                           const struct sirix_write_place *place,
                                           struct sirix_write *write, uint64_t *out_revision,
                                           bool *out_known, struct sirix_error *err)
{
    struct sirix_answer answer = {0};

    write->any_branch = true;
    write->adds_nothing = true;
    enum sirix_status status = check_name(&branch_deletion, place->branch, err);
    if (status == SIRIX_OK) {
        status = open_head(&branch_deletion, request, place, write, &answer, out_known, err);
    }
    if (status == SIRIX_OK) {
        *out_revision = answer.numbers[0];
    }
    return status;
}

enum sirix_status sirix_delete_branch_run(struct sirix_write *write, struct sirix_bytes database,
                                          uint64_t *out_revision, bool *out_replayed,
                                          struct sirix_error *err)
{
    struct change change = {.kind = &branch_deletion, .write = write};
    struct sirix_answer answer = {0};

    enum sirix_status status = run_head(&change, database, &answer, out_replayed, err);
    if (status == SIRIX_OK) {
        *out_revision = answer.numbers[0];
    }
    return status;
}

static void tell_promotion(void *context, const void *result, struct sirix_answer *answer)
{
    const struct sirix_promoted *promoted = result;

    (void)context;
    *answer = (struct sirix_answer){.count = PROMOTION_NUMBERS,
                                    .numbers = {promoted->revision, promoted->previous_revision}};
}

static struct sirix_promotion promotion_of(const struct sirix_answer *answer)
{
    return (struct sirix_promotion){
        .revision = answer->numbers[0],
        .previous_revision = answer->numbers[1],
        .changed = answer->numbers[0] != answer->numbers[1],
    };
}

static enum sirix_status promote(void *context, struct sirix_once *once,
                                 struct sirix_answer *answer, struct sirix_error *err)
{
    const struct change *change = context;
    struct sirix_write *write = change->write;
    struct sirix_promoted promoted = {0};
    uint64_t revision = 0;

    enum sirix_status status = head_revision(change, &revision, err);
    if (status == SIRIX_OK) {
        status = sirix_branch_promote_once(write->target.resource, change->source, branch_of(write),
                                           change->replace, once, &promoted, err);
    }
    if (status == SIRIX_OK) {
        tell_promotion(context, &promoted, answer);
    } else if (err != NULL && err->field[0] == '\0') {
        sirix_error_set_field(err, change->kind->name_field);
    }
    return status;
}

static const struct change_kind promotion = {
    .name = SIRIX_NAME_BRANCH,
    .name_field = "branch",
    .head_field = "target",
    .answer_count = PROMOTION_NUMBERS,
    .make = promote,
    .tell = tell_promotion,
};

enum sirix_status sirix_promote_open(const struct sirix_request *request,
                                     const struct sirix_write_place *place,
                                     struct sirix_bytes source, struct sirix_write *write,
                                     struct sirix_promotion *out_promotion, bool *out_known,
                                     struct sirix_error *err)
{
    struct sirix_answer answer = {0};

    write->adds_nothing = true;
    enum sirix_status status = check_name(&promotion, source, err);
    if (status == SIRIX_OK) {
        status = open_head(&promotion, request, place, write, &answer, out_known, err);
    }
    if (status == SIRIX_OK) {
        *out_promotion = promotion_of(&answer);
    }
    return status;
}

enum sirix_status sirix_promote_run(struct sirix_write *write, struct sirix_bytes database,
                                    struct sirix_bytes source, bool replace,
                                    struct sirix_promotion *out_promotion, bool *out_replayed,
                                    struct sirix_error *err)
{
    struct change change = {
        .kind = &promotion, .write = write, .source = source, .replace = replace};
    struct sirix_answer answer = {0};

    enum sirix_status status = run_head(&change, database, &answer, out_replayed, err);
    if (status == SIRIX_OK) {
        *out_promotion = promotion_of(&answer);
    }
    return status;
}
