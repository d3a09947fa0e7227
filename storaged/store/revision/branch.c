/*
 * Branches: heads over one graph. Creating one writes its name and its head; nothing in memory and
 * nothing elsewhere knows that it is there.
 *
 * Time to live  an absolute time, compared with max(clock, last commit or head move of the resource). From
 *               then on the branch refuses to be opened, and its name is free. Sweeps remove its rows,
 *               found in the order of expiry; of an expired branch only its name stays.
 * Deletion      leaves one row, so that a view as of a time when the branch was there still reads it.
 * Name          a row under the id, written once and never deleted: what was made on a branch says so
 *               for ever.
 */
#include "store/revision/internal.h"

#include <inttypes.h>
#include <stdlib.h>

enum { SWEEP_BATCH = 100 };

struct branch_work {
    struct sirix_commit_work work;
    struct sirix_resource *resource;
    struct sirix_bytes name;
    /* Creation: */
    const struct sirix_view *view;
    int64_t expires_us;
    struct sirix_branch_info info;
    /* Deletion: */
    uint64_t id;      /* 0: whichever has the name. */
    uint64_t deleted; /* The revision its head was at. */
};

/* --- Creating ----------------------------------------------------------------------------------- */

static enum sirix_status put_expiry(struct sirix_group *group,
                                    const struct sirix_resource *resource,
                                    const struct sirix_label_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key =
        sirix_rows_key_expiry(row->expires_us, resource->id, row->branch);

    /* The name as written is what a sweep needs to find the branch's row. */
    return row->expires_us == 0
               ? SIRIX_OK
               : sirix_group_ref_put(group, sirix_rows_key_view(&key), row->name, err);
}

static enum sirix_status put_name(struct sirix_group *group, const struct sirix_resource *resource,
                                  const struct sirix_label_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_branch_name(resource->id, row->branch);

    return sirix_group_ref_put(group, sirix_rows_key_view(&key), row->name, err);
}

static enum sirix_status check_new(const struct branch_work *branch, struct sirix_group *group,
                                   struct sirix_counters_row *counters, int64_t now_us,
                                   struct sirix_error *err)
{
    struct sirix_label_row there;
    bool taken = false;
    enum sirix_status status =
        sirix_label_get(group, branch->resource, branch->name, &taken, &there, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (taken &&
        (there.kind != SIRIX_LABEL_BRANCH || !sirix_expired(there.expires_us, now_us, counters))) {
        return sirix_label_taken(branch->resource, branch->name, &there, err);
    }
    if (taken) {
        status = sirix_branch_remove(group, branch->resource, &there, counters, now_us, false, err);
    }
    if (status == SIRIX_OK && sirix_expired(branch->expires_us, now_us, counters)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "the branch would have expired before it began");
        sirix_error_set_field(err, "expires");
    }
    return status;
}

static enum sirix_status create_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct branch_work *branch = (struct branch_work *)work;
    const struct sirix_resource *resource = branch->resource;
    const struct sirix_view *view = branch->view;
    int64_t now_us = sirix_database_now_us(resource->database);
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_counters_get(group, resource, &counters, err);

    if (status == SIRIX_OK) {
        status = check_new(branch, group, &counters, now_us, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_label_row row = {
        .kind = SIRIX_LABEL_BRANCH,
        .name = branch->name,
        .created_us = sirix_counters_tick(&counters, now_us),
        .branch = counters.next_branch++,
        .expires_us = branch->expires_us,
        .revision = view->record.revision,
        .address = view->record_address,
        .time_us = view->record.time_us,
    };
    const struct sirix_head_row head = {
        .revision = row.revision, .address = row.address, .expires_us = row.expires_us};

    counters.branch_count++;
    status = sirix_label_put(group, resource, &row, err);
    if (status == SIRIX_OK) {
        status = sirix_head_put(group, resource, row.branch, &head, err);
    }
    if (status == SIRIX_OK) {
        status = put_expiry(group, resource, &row, err);
    }
    if (status == SIRIX_OK) {
        status = put_name(group, resource, &row, err);
    }
    branch->info = (struct sirix_branch_info){
        .name = branch->name,
        .id = row.branch,
        .head_revision = row.revision,
        .base_revision = row.revision,
        .created_us = row.created_us,
        .expires_us = row.expires_us,
    };
    return status == SIRIX_OK ? sirix_counters_put(group, resource, &counters, err) : status;
}

enum sirix_status sirix_branch_create_once(const struct sirix_view *view, struct sirix_bytes name,
                                           int64_t expires_us, struct sirix_once *once,
                                           struct sirix_branch_info *out_info,
                                           struct sirix_error *err)
{
    struct branch_work branch = {
        .work = {.prepare = create_prepare, .done = sirix_work_done},
        .resource = view->resource,
        .name = name,
        .view = view,
        .expires_us = expires_us,
    };
    enum sirix_status status = sirix_name_check(SIRIX_NAME_BRANCH, name, "branch", err);

    if (status == SIRIX_OK && sirix_name_is_main_folded(name)) {
        status =
            sirix_fail_reason(err, SIRIX_ALREADY_EXISTS,
                              sirix_name_is_main(name) ? SIRIX_REASON_NONE : SIRIX_REASON_NAME_CASE,
                              "the branch main is always there");
    }
    if (status == SIRIX_OK) {
        status = sirix_run_once(view->resource->database, &branch.work, &branch.info, once, err);
    }
    if (status == SIRIX_OK && !sirix_once_replayed(once)) {
        *out_info = branch.info;
    }
    return status;
}

enum sirix_status sirix_branch_create(const struct sirix_view *view, struct sirix_bytes name,
                                      int64_t expires_us, struct sirix_branch_info *out_info,
                                      struct sirix_error *err)
{
    return sirix_branch_create_once(view, name, expires_us, NULL, out_info, err);
}

/* --- Removing ----------------------------------------------------------------------------------- */

struct moves_walk {
    struct sirix_group *group;
};

static enum sirix_status remove_move(void *context, struct sirix_bytes key,
                                     struct sirix_bytes value, bool *stop, struct sirix_error *err)
{
    const struct moves_walk *walk = context;

    (void)value;
    *stop = false;
    return sirix_group_ref_put(walk->group, key, (struct sirix_bytes){0}, err);
}

/* Keeps the life of a deleted branch, or drops the moves that nothing can ask for any more. */
static enum sirix_status settle_past(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     const struct sirix_label_row *row,
                                     const struct sirix_head_row *head, int64_t time_us,
                                     bool keep_past, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_tomb(resource->id, row->name, time_us);
    const struct sirix_rows_key moves = sirix_rows_prefix_moves(resource->id, row->branch);
    const struct sirix_tomb_row tomb = {
        .branch = row->branch,
        .created_us = row->created_us,
        .base_revision = row->revision,
        .head_revision = head->revision,
        .head_address = head->address,
    };
    const struct sirix_rows_value value = sirix_rows_tomb_encode(&tomb);
    struct moves_walk walk = {.group = group};

    if (keep_past) {
        return sirix_row_put(group, &key, &value, err);
    }
    return sirix_ref_scan(sirix_group_reader(group), sirix_rows_key_view(&moves),
                          (struct sirix_bytes){0}, false, remove_move, &walk, err);
}

static enum sirix_status note_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    (void)key;
    (void)value;
    (void)err;
    *(bool *)context = true;
    *stop = true;
    return SIRIX_OK;
}

/* Whether there may be revisions that were made on the branch: its head is not where it began, or was not. */
static enum sirix_status has_revisions(struct sirix_group *group,
                                       const struct sirix_resource *resource,
                                       const struct sirix_label_row *row,
                                       const struct sirix_head_row *head, bool *out_has,
                                       struct sirix_error *err)
{
    const struct sirix_rows_key moves = sirix_rows_prefix_moves(resource->id, row->branch);

    *out_has =
        head->address != row->address || sirix_group_changes(group, sirix_rows_key_view(&moves));
    return *out_has ? SIRIX_OK
                    : sirix_ref_scan(sirix_group_reader(group), sirix_rows_key_view(&moves),
                                     (struct sirix_bytes){0}, false, note_row, out_has, err);
}

enum sirix_status sirix_branch_remove(struct sirix_group *group,
                                      const struct sirix_resource *resource,
                                      const struct sirix_label_row *row,
                                      struct sirix_counters_row *counters, int64_t now_us,
                                      bool keep_past, struct sirix_error *err)
{
    const struct sirix_rows_key name = sirix_rows_key_label(resource->id, row->name);
    const struct sirix_rows_key head_key = sirix_rows_key_head(resource->id, row->branch);
    const struct sirix_rows_key expiry =
        sirix_rows_key_expiry(row->expires_us, resource->id, row->branch);
    const struct sirix_rows_key name_by_id = sirix_rows_key_branch_name(resource->id, row->branch);
    struct sirix_head_row head;
    bool has = true;
    enum sirix_status status = sirix_head_get(group, resource, row->branch, &head, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && counters->branch_count < 2)) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s: the rows of branch %.*s do not agree",
                          resource->name, (int)row->name.len, (const char *)row->name.data);
    }
    if (status == SIRIX_OK) {
        status = has_revisions(group, resource, row, &head, &has, err);
    }
    if (status == SIRIX_OK && !has) {
        status = sirix_row_delete(group, &name_by_id, err); /* Nothing is called by it. */
    }
    if (status == SIRIX_OK) {
        status = settle_past(group, resource, row, &head, sirix_counters_tick(counters, now_us),
                             keep_past, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_row_delete(group, &head_key, err);
    }
    if (status == SIRIX_OK && row->expires_us != 0) {
        status = sirix_row_delete(group, &expiry, err);
    }
    counters->branch_count--;
    return status == SIRIX_OK ? sirix_row_delete(group, &name, err) : status;
}

static enum sirix_status delete_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct branch_work *branch = (struct branch_work *)work;
    int64_t now_us = sirix_database_now_us(branch->resource->database);
    struct sirix_counters_row counters;
    struct sirix_label_row there;
    struct sirix_head_row head;
    bool found = false;
    enum sirix_status status = sirix_counters_get(group, branch->resource, &counters, err);

    if (status == SIRIX_OK) {
        status = sirix_label_get(group, branch->resource, branch->name, &found, &there, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!found || there.kind != SIRIX_LABEL_BRANCH ||
        !sirix_bytes_equal(there.name, branch->name) ||
        (branch->id != 0 && branch->id != there.branch)) {
        return sirix_label_missing(branch->resource, SIRIX_LABEL_BRANCH, branch->name,
                                   found ? &there : NULL, err);
    }
    bool expired = sirix_expired(there.expires_us, now_us, &counters);

    status = sirix_head_get(group, branch->resource, there.branch, &head, err);
    if (status != SIRIX_OK) {
        return status;
    }
    branch->deleted = head.revision;
    status = sirix_branch_remove(group, branch->resource, &there, &counters, now_us, !expired, err);
    return status == SIRIX_OK ? sirix_counters_put(group, branch->resource, &counters, err)
                              : status;
}

enum sirix_status sirix_branch_delete_once(struct sirix_resource *resource, struct sirix_bytes name,
                                           uint64_t id, struct sirix_once *once,
                                           uint64_t *out_revision, struct sirix_error *err)
{
    struct branch_work branch = {
        .work = {.frees_space = true, .prepare = delete_prepare, .done = sirix_work_done},
        .resource = resource,
        .name = name,
        .id = id,
    };
    enum sirix_status status = sirix_name_check(SIRIX_NAME_BRANCH, name, "branch", err);

    if (status == SIRIX_OK && sirix_name_is_main(name)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "the branch main cannot be deleted");
        sirix_error_set_field(err, "branch");
    }
    if (status == SIRIX_OK) {
        status = sirix_run_once(resource->database, &branch.work, &branch.deleted, once, err);
    }
    if (status == SIRIX_OK && !sirix_once_replayed(once)) {
        *out_revision = branch.deleted;
    }
    return status;
}

enum sirix_status sirix_branch_delete(struct sirix_resource *resource, struct sirix_bytes name,
                                      struct sirix_error *err)
{
    uint64_t revision = 0;

    return sirix_branch_delete_once(resource, name, 0, NULL, &revision, err);
}

/* --- Listing ------------------------------------------------------------------------------------ */

struct list_walk {
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    struct sirix_counters_row counters;
    int64_t now_us;
    struct sirix_bytes after;
    sirix_branch_visit_fn visit;
    void *context;
};

/* Visits one branch with its head; expired ones are no longer there. */
static enum sirix_status list_one(const struct list_walk *walk, struct sirix_branch_info *info,
                                  bool *stop, struct sirix_error *err)
{
    struct sirix_head_row head;
    enum sirix_status status = SIRIX_OK;

    if (sirix_expired(info->expires_us, walk->now_us, &walk->counters)) {
        return SIRIX_OK;
    }
    status = sirix_head_read(walk->reader, walk->resource, info->id, &head, err);
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s: branch %.*s has no head row",
                          walk->resource->name, (int)info->name.len, (const char *)info->name.data);
    }
    if (status == SIRIX_OK) {
        info->head_revision = head.revision;
        status = walk->visit(walk->context, info, stop, err);
    }
    return status;
}

static enum sirix_status list_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    const struct list_walk *walk = context;
    struct sirix_label_row row;
    enum sirix_status status = sirix_rows_label_decode(value, &row, err);

    (void)key;
    if (status != SIRIX_OK || row.kind != SIRIX_LABEL_BRANCH ||
        sirix_ascii_equal_fold(row.name.data, row.name.len, walk->after.data, walk->after.len)) {
        return status;
    }
    struct sirix_branch_info info = {
        .name = row.name,
        .id = row.branch,
        .base_revision = row.revision,
        .created_us = row.created_us,
        .expires_us = row.expires_us,
    };
    return list_one(walk, &info, stop, err);
}

enum sirix_status sirix_branch_list(struct sirix_resource *resource, struct sirix_reader *reader,
                                    struct sirix_bytes after, sirix_branch_visit_fn visit,
                                    void *context, struct sirix_error *err)
{
    struct list_walk walk = {
        .resource = resource,
        .reader = reader,
        .now_us = sirix_database_now_us(resource->database),
        .after = after,
        .visit = visit,
        .context = context,
    };
    const struct sirix_rows_key prefix = sirix_rows_prefix_labels(resource->id);
    struct sirix_rows_key from = prefix;
    bool stop = false;
    enum sirix_status status = sirix_counters_read(reader, resource, &walk.counters, err);

    if (status == SIRIX_OK && after.len != 0) {
        status = sirix_name_check(SIRIX_NAME_BRANCH, after, "after", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (after.len == 0) {
        struct sirix_branch_info info = {
            .name = {.data = SIRIX_BRANCH_MAIN, .len = sizeof(SIRIX_BRANCH_MAIN) - 1},
            .id = SIRIX_BRANCH_ID_MAIN,
            .base_revision = 1,
            .created_us = resource->created_us,
        };

        status = list_one(&walk, &info, &stop, err);
    } else if (!sirix_name_is_main_folded(after)) {
        from = sirix_rows_key_label(resource->id, after); /* After main: from the first name. */
    }
    return status == SIRIX_OK && !stop
               ? sirix_ref_scan(reader, sirix_rows_key_view(&prefix), sirix_rows_key_view(&from),
                                false, list_row, &walk, err)
               : status;
}

/* --- Sweeping ----------------------------------------------------------------------------------- */

struct sweep_row {
    struct sirix_rows_key key;
    uint32_t resource;
    uint64_t branch;
    struct sirix_bytes name;
    char name_bytes[SIRIX_NAME_BYTES_MAX + 1];
};

struct sweep_work {
    struct sirix_commit_work work;
    struct sirix_database *database;
    uint32_t wanted;
    uint32_t swept;
    uint32_t found;
    bool more;
    struct sweep_row rows[SWEEP_BATCH];
};

static enum sirix_status sweep_find(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                    bool *stop, struct sirix_error *err)
{
    struct sweep_work *sweep = context;
    struct sweep_row *row = NULL;
    int64_t expires_us = 0;
    uint32_t resource = 0;
    uint64_t branch = 0;

    if (!sirix_rows_key_expiry_parse(key, &expires_us, &resource, &branch) ||
        value.len > SIRIX_NAME_BYTES_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "branch expiry row is malformed");
    }
    if (expires_us > sirix_database_now_us(sweep->database)) {
        *stop = true;
        return SIRIX_OK;
    }
    if (sweep->found == sweep->wanted) {
        sweep->more = true;
        *stop = true;
        return SIRIX_OK;
    }
    row = &sweep->rows[sweep->found++];
    *row = (struct sweep_row){.resource = resource, .branch = branch};
    row->key = sirix_rows_key_expiry(expires_us, resource, branch);
    if (value.len != 0) {
        memcpy(row->name_bytes, value.data, value.len);
    }
    row->name.len = value.len;
    return SIRIX_OK;
}

/* Removes one branch whose time has come. Its resource may have been dropped, its row deleted. */
static enum sirix_status sweep_one(struct sweep_work *sweep, struct sirix_group *group,
                                   struct sweep_row *row, struct sirix_resource *shell,
                                   struct sirix_error *err)
{
    struct sirix_counters_row counters;
    struct sirix_label_row there;
    struct sirix_bytes value = {0};
    bool found = false;
    enum sirix_status status =
        sirix_group_ref_get(group, sirix_rows_key_view(&row->key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    row->name.data = row->name_bytes;
    shell->id = row->resource;
    if (status == SIRIX_OK) {
        status = sirix_counters_get(group, shell, &counters, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        return sirix_row_delete(group, &row->key, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_label_get(group, shell, row->name, &found, &there, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!found || there.kind != SIRIX_LABEL_BRANCH || there.branch != row->branch) {
        return sirix_row_delete(group, &row->key, err);
    }
    sweep->swept++;
    status = sirix_branch_remove(group, shell, &there, &counters,
                                 sirix_database_now_us(sweep->database), false, err);
    return status == SIRIX_OK ? sirix_counters_put(group, shell, &counters, err) : status;
}

static enum sirix_status sweep_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                       struct sirix_error *err)
{
    struct sweep_work *sweep = (struct sweep_work *)work;
    const struct sirix_rows_key prefix = sirix_rows_prefix_expiries();
    struct sirix_resource *shell =
        calloc(1, sizeof(*shell)); /* Stands for each resource in turn. */
    enum sirix_status status = SIRIX_OK;

    if (shell == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot sweep branches");
    }
    sweep->found = 0;
    sweep->swept = 0;
    sweep->more = false;
    status = sirix_ref_scan(sirix_group_reader(group), sirix_rows_key_view(&prefix),
                            (struct sirix_bytes){0}, false, sweep_find, sweep, err);
    for (uint32_t i = 0; status == SIRIX_OK && i < sweep->found; i++) {
        status = sweep_one(sweep, group, &sweep->rows[i], shell, err);
    }
    free(shell);
    return status;
}

enum sirix_status sirix_branch_sweep(struct sirix_database *database, uint32_t max,
                                     uint32_t *out_swept, bool *out_more, struct sirix_error *err)
{
    struct sweep_work *sweep = NULL;
    uint32_t swept = 0;
    bool more = true;
    enum sirix_status status = sirix_database_writable(database, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sweep = calloc(1, sizeof(*sweep));
    if (sweep == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "cannot sweep branches");
    }
    while (status == SIRIX_OK && more && swept < max) {
        sweep->work = (struct sirix_commit_work){
            .work_class = SIRIX_WORK_BACKGROUND,
            .frees_space = true,
            .prepare = sweep_prepare,
            .done = sirix_work_done,
        };
        sweep->database = database;
        sweep->wanted = max - swept < SWEEP_BATCH ? max - swept : SWEEP_BATCH;
        status = sirix_committer_run(database->committer, &sweep->work, err);
        swept += sweep->swept;
        more = sweep->more;
    }
    free(sweep);
    if (status == SIRIX_OK) {
        *out_swept = swept;
        *out_more = more;
    }
    return status;
}
