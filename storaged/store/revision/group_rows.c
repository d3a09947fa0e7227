/* Reading and writing of a resource's rows: within a group, and as a reader sees them. */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>

static struct sirix_bytes resource_name_bytes(const struct sirix_resource *resource)
{
    return (struct sirix_bytes){.data = resource->name, .len = strlen(resource->name)};
}

enum sirix_status sirix_resource_unknown(struct sirix_bytes name, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                             "there is no resource %.*s", (int)name.len, (const char *)name.data);
}

enum sirix_status sirix_counters_get(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     struct sirix_counters_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_counters(resource->id);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_resource_unknown(resource_name_bytes(resource), err);
    }
    return status == SIRIX_OK ? sirix_rows_counters_decode(value, out_row, err) : status;
}

enum sirix_status sirix_counters_put(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     const struct sirix_counters_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_counters(resource->id);
    const struct sirix_rows_value value = sirix_rows_counters_encode(row);

    return sirix_row_put(group, &key, &value, err);
}

enum sirix_status sirix_row_put(struct sirix_group *group, const struct sirix_rows_key *key,
                                const struct sirix_rows_value *value, struct sirix_error *err)
{
    return sirix_group_ref_put(group, sirix_rows_key_view(key), sirix_rows_value_view(value), err);
}

enum sirix_status sirix_row_delete(struct sirix_group *group, const struct sirix_rows_key *key,
                                   struct sirix_error *err)
{
    return sirix_group_ref_put(group, sirix_rows_key_view(key), (struct sirix_bytes){0}, err);
}

enum sirix_status sirix_head_get(struct sirix_group *group, const struct sirix_resource *resource,
                                 uint64_t branch, struct sirix_head_row *out_row,
                                 struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_head(resource->id, branch);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_BRANCH_UNKNOWN,
                                 "resource %s: the branch is gone", resource->name);
    }
    return status == SIRIX_OK ? sirix_rows_head_decode(value, out_row, err) : status;
}

enum sirix_status sirix_head_put(struct sirix_group *group, const struct sirix_resource *resource,
                                 uint64_t branch, const struct sirix_head_row *row,
                                 struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_head(resource->id, branch);
    const struct sirix_rows_value value = sirix_rows_head_encode(row);

    return sirix_row_put(group, &key, &value, err);
}

int64_t sirix_counters_tick(struct sirix_counters_row *row, int64_t now_us)
{
    if (now_us <= row->last_time_us) {
        now_us = row->last_time_us + 1;
    }
    row->last_time_us = now_us;
    return now_us;
}

enum sirix_status sirix_branch_expired(struct sirix_bytes name, int64_t expires_us,
                                       struct sirix_error *err)
{
    char when[SIRIX_TIME_TEXT_BYTES];

    (void)sirix_time_format(expires_us, when);
    return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_BRANCH_EXPIRED,
                             "branch %.*s expired at %s", (int)name.len, (const char *)name.data,
                             when);
}

enum sirix_status sirix_counters_read(struct sirix_reader *reader,
                                      const struct sirix_resource *resource,
                                      struct sirix_counters_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_counters(resource->id);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_resource_unknown(resource_name_bytes(resource), err);
    }
    return status == SIRIX_OK ? sirix_rows_counters_decode(value, out_row, err) : status;
}

enum sirix_status sirix_head_read(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, uint64_t branch,
                                  struct sirix_head_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_head(resource->id, branch);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);

    return status == SIRIX_OK ? sirix_rows_head_decode(value, out_row, err) : status;
}

enum sirix_status sirix_index_read(struct sirix_reader *reader,
                                   const struct sirix_resource *resource,
                                   const struct sirix_counters_row *counters, uint64_t revision,
                                   struct sirix_index_entry *out_entry, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_index(resource->id, revision);
    struct sirix_bytes value = {0};
    enum sirix_status status = SIRIX_OK;

    assert(revision <= counters->last_revision);
    if (revision / SIRIX_INDEX_RUN == counters->last_revision / SIRIX_INDEX_RUN) {
        *out_entry = counters->newest[revision % SIRIX_INDEX_RUN];
        return SIRIX_OK;
    }
    status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s: revision %" PRIu64 " has no index row",
                          resource->name, revision);
    }
    return status == SIRIX_OK ? sirix_rows_index_get(value, revision, out_entry, err) : status;
}

enum sirix_status sirix_index_append(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     struct sirix_counters_row *counters,
                                     const struct sirix_index_entry *entry, struct sirix_error *err)
{
    const uint64_t revision = counters->last_revision;
    enum sirix_status status = SIRIX_OK;

    if (revision % SIRIX_INDEX_RUN == 0) {
        const struct sirix_rows_key key = sirix_rows_key_index(resource->id, revision - 1);
        const struct sirix_rows_value value = sirix_rows_index_encode(counters->newest);

        status = sirix_row_put(group, &key, &value, err);
    }
    counters->newest[revision % SIRIX_INDEX_RUN] = *entry;
    return status;
}

static const char *kind_text(enum sirix_label_kind kind)
{
    return kind == SIRIX_LABEL_BRANCH ? "branch" : "snapshot";
}

enum sirix_status sirix_label_missing(const struct sirix_resource *resource,
                                      enum sirix_label_kind kind, struct sirix_bytes name,
                                      const struct sirix_label_row *there, struct sirix_error *err)
{
    const enum sirix_reason reason =
        kind == SIRIX_LABEL_BRANCH ? SIRIX_REASON_BRANCH_UNKNOWN : SIRIX_REASON_SNAPSHOT_UNKNOWN;

    if (there != NULL && !sirix_bytes_equal(there->name, name)) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, reason,
                                 "resource %s has no %s %.*s but %.*s: names are case-sensitive",
                                 resource->name, kind_text(kind), (int)name.len,
                                 (const char *)name.data, (int)there->name.len,
                                 (const char *)there->name.data);
    }
    if (there != NULL) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, reason,
                                 "resource %s has no %s %.*s but a %s of that name", resource->name,
                                 kind_text(kind), (int)name.len, (const char *)name.data,
                                 kind_text(there->kind));
    }
    return sirix_fail_reason(err, SIRIX_NOT_FOUND, reason, "resource %s has no %s %.*s",
                             resource->name, kind_text(kind), (int)name.len,
                             (const char *)name.data);
}

enum sirix_status sirix_label_find(struct sirix_reader *reader,
                                   const struct sirix_resource *resource,
                                   enum sirix_label_kind kind, struct sirix_bytes name,
                                   struct sirix_label_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_label(resource->id, name);
    struct sirix_label_row row;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_label_missing(resource, kind, name, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_label_decode(value, &row, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (row.kind != kind || !sirix_bytes_equal(row.name, name)) {
        return sirix_label_missing(resource, kind, name, &row, err);
    }
    *out_row = row;
    return SIRIX_OK;
}

enum sirix_status sirix_label_get(struct sirix_group *group, const struct sirix_resource *resource,
                                  struct sirix_bytes name, bool *out_there,
                                  struct sirix_label_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_label(resource->id, name);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    *out_there = status == SIRIX_OK;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_rows_label_decode(value, out_row, err) : status;
}

enum sirix_status sirix_label_put(struct sirix_group *group, const struct sirix_resource *resource,
                                  const struct sirix_label_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_label(resource->id, row->name);
    const struct sirix_rows_value value = sirix_rows_label_encode(row);

    return sirix_row_put(group, &key, &value, err);
}

enum sirix_status sirix_label_taken(const struct sirix_resource *resource, struct sirix_bytes name,
                                    const struct sirix_label_row *row, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_ALREADY_EXISTS;

    if (sirix_bytes_equal(row->name, name)) {
        status = sirix_fail(err, SIRIX_ALREADY_EXISTS, "resource %s has a %s %.*s already",
                            resource->name, kind_text(row->kind), (int)name.len,
                            (const char *)name.data);
    } else {
        status =
            sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_NAME_CASE,
                              "%s %.*s exists, and %.*s differs from it in case alone",
                              kind_text(row->kind), (int)row->name.len,
                              (const char *)row->name.data, (int)name.len, (const char *)name.data);
    }
    if (err != NULL && row->kind == SIRIX_LABEL_SNAPSHOT) {
        err->current_revision = row->revision;
    }
    return status;
}

bool sirix_name_is_main_folded(struct sirix_bytes name)
{
    return sirix_ascii_equal_fold(name.data, name.len, SIRIX_BRANCH_MAIN,
                                  sizeof(SIRIX_BRANCH_MAIN) - 1);
}
