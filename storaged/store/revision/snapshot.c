/* Snapshots: labels on revisions. One small row each; nothing is copied. */
#include "store/revision/internal.h"

#include <inttypes.h>

struct label_work {
    struct sirix_commit_work work;
    struct sirix_resource *resource;
    struct sirix_bytes name;
    /* Creation: */
    const struct sirix_view *view;
    bool replace;
    struct sirix_snapshot_created created;
    uint64_t deleted; /* Deletion: the revision it was at. */
};

/* A name that is `main` in another spelling differs from the main branch in case alone. */
static enum sirix_status refuse_main_spelling(struct sirix_bytes name, struct sirix_error *err)
{
    if (sirix_name_is_main_folded(name) && !sirix_name_is_main(name)) {
        return sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_NAME_CASE,
                                 "%.*s differs from the branch main in case alone", (int)name.len,
                                 (const char *)name.data);
    }
    return SIRIX_OK;
}

/* Whether the label may be set; the rows of an expired branch make room for it. */
static enum sirix_status check_place(const struct label_work *label, struct sirix_group *group,
                                     const struct sirix_label_row *there,
                                     struct sirix_counters_row *counters, int64_t now_us,
                                     bool *out_fresh, struct sirix_error *err)
{
    if (there->kind == SIRIX_LABEL_BRANCH && sirix_expired(there->expires_us, now_us, counters)) {
        *out_fresh = true;
        return sirix_branch_remove(group, label->resource, there, counters, now_us, false, err);
    }
    *out_fresh = false;
    if (there->kind != SIRIX_LABEL_SNAPSHOT || !sirix_bytes_equal(there->name, label->name) ||
        (there->revision != label->view->record.revision && !label->replace &&
         !sirix_name_is_main(label->name))) {
        return sirix_label_taken(label->resource, label->name, there, err);
    }
    return SIRIX_OK;
}

static enum sirix_status create_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct label_work *label = (struct label_work *)work;
    const struct sirix_record *record = &label->view->record;
    int64_t now_us = sirix_database_now_us(label->resource->database);
    const struct sirix_label_row row = {
        .kind = SIRIX_LABEL_SNAPSHOT,
        .name = label->name,
        .created_us = now_us,
        .revision = record->revision,
        .address = label->view->record_address,
        .time_us = record->time_us,
    };
    struct sirix_counters_row counters;
    struct sirix_label_row there;
    bool taken = false;
    bool fresh = true;
    enum sirix_status status = sirix_counters_get(group, label->resource, &counters, err);

    if (status == SIRIX_OK) {
        status = sirix_label_get(group, label->resource, label->name, &taken, &there, err);
    }
    if (status == SIRIX_OK && taken) {
        status = check_place(label, group, &there, &counters, now_us, &fresh, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    label->created = (struct sirix_snapshot_created){
        .revision = record->revision,
        .previous_revision = fresh ? 0 : there.revision,
        .time_us = record->time_us,
    };
    if (!fresh && there.revision == record->revision) {
        return SIRIX_OK;
    }
    status = sirix_label_put(group, label->resource, &row, err);
    if (status == SIRIX_OK && fresh) {
        counters.snapshot_count++;
        status = sirix_counters_put(group, label->resource, &counters, err);
    }
    return status;
}

enum sirix_status sirix_snapshot_create_once(const struct sirix_view *view, struct sirix_bytes name,
                                             bool replace, struct sirix_once *once,
                                             struct sirix_snapshot_created *out_created,
                                             struct sirix_error *err)
{
    struct label_work label = {
        .work = {.prepare = create_prepare, .done = sirix_work_done},
        .resource = view->resource,
        .name = name,
        .view = view,
        .replace = replace,
    };
    enum sirix_status status = sirix_name_check(SIRIX_NAME_SNAPSHOT, name, "snapshot", err);

    if (status == SIRIX_OK) {
        status = refuse_main_spelling(name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_run_once(view->resource->database, &label.work, &label.created, once, err);
    }
    if (status == SIRIX_OK && !sirix_once_replayed(once)) {
        *out_created = label.created;
    }
    return status;
}

enum sirix_status sirix_snapshot_create(const struct sirix_view *view, struct sirix_bytes name,
                                        bool replace, struct sirix_snapshot_created *out_created,
                                        struct sirix_error *err)
{
    return sirix_snapshot_create_once(view, name, replace, NULL, out_created, err);
}

static enum sirix_status delete_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct label_work *label = (struct label_work *)work;
    const struct sirix_rows_key key = sirix_rows_key_label(label->resource->id, label->name);
    struct sirix_counters_row counters;
    struct sirix_label_row there;
    bool found = false;
    enum sirix_status status = sirix_counters_get(group, label->resource, &counters, err);

    if (status == SIRIX_OK) {
        status = sirix_label_get(group, label->resource, label->name, &found, &there, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!found || there.kind != SIRIX_LABEL_SNAPSHOT ||
        !sirix_bytes_equal(there.name, label->name)) {
        return sirix_label_missing(label->resource, SIRIX_LABEL_SNAPSHOT, label->name,
                                   found ? &there : NULL, err);
    }
    if (counters.snapshot_count == 0) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s has a snapshot and counts none",
                          label->resource->name);
    }
    counters.snapshot_count--;
    label->deleted = there.revision;
    status = sirix_row_delete(group, &key, err);
    return status == SIRIX_OK ? sirix_counters_put(group, label->resource, &counters, err) : status;
}

enum sirix_status sirix_snapshot_delete_once(struct sirix_resource *resource,
                                             struct sirix_bytes name, struct sirix_once *once,
                                             struct sirix_error *err)
{
    struct label_work label = {
        .work = {.frees_space = true, .prepare = delete_prepare, .done = sirix_work_done},
        .resource = resource,
        .name = name,
    };
    enum sirix_status status = sirix_name_check(SIRIX_NAME_SNAPSHOT, name, "snapshot", err);

    return status == SIRIX_OK
               ? sirix_run_once(resource->database, &label.work, &label.deleted, once, err)
               : status;
}

enum sirix_status sirix_snapshot_delete(struct sirix_resource *resource, struct sirix_bytes name,
                                        struct sirix_error *err)
{
    return sirix_snapshot_delete_once(resource, name, NULL, err);
}

struct list_walk {
    struct sirix_bytes after;
    sirix_snapshot_visit_fn visit;
    void *context;
};

static enum sirix_status list_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    const struct list_walk *walk = context;
    struct sirix_label_row row;
    enum sirix_status status = sirix_rows_label_decode(value, &row, err);

    (void)key;
    if (status != SIRIX_OK || row.kind != SIRIX_LABEL_SNAPSHOT ||
        sirix_ascii_equal_fold(row.name.data, row.name.len, walk->after.data, walk->after.len)) {
        return status;
    }
    const struct sirix_snapshot_info info = {
        .name = row.name,
        .revision = row.revision,
        .time_us = row.time_us,
        .created_us = row.created_us,
    };
    return walk->visit(walk->context, &info, stop, err);
}

enum sirix_status sirix_snapshot_list(struct sirix_resource *resource, struct sirix_reader *reader,
                                      struct sirix_bytes after, sirix_snapshot_visit_fn visit,
                                      void *context, struct sirix_error *err)
{
    struct list_walk walk = {.after = after, .visit = visit, .context = context};
    const struct sirix_rows_key prefix = sirix_rows_prefix_labels(resource->id);
    struct sirix_rows_key from = prefix;
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_counters_read(reader, resource, &counters, err);

    if (status == SIRIX_OK && after.len != 0) {
        status = sirix_name_check(SIRIX_NAME_SNAPSHOT, after, "after", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (after.len != 0) {
        from = sirix_rows_key_label(resource->id, after);
    }
    return sirix_ref_scan(reader, sirix_rows_key_view(&prefix), sirix_rows_key_view(&from), false,
                          list_row, &walk, err);
}
