/* Finding branches by name and naming them by id: rows alone, no record is read. */
#include "store/revision/internal.h"

enum sirix_status sirix_branch_read(const struct sirix_resource *resource,
                                    struct sirix_reader *reader, struct sirix_bytes name,
                                    const struct sirix_counters_row *counters, bool expired_too,
                                    struct sirix_branch_head *out_branch, struct sirix_error *err)
{
    struct sirix_branch_head branch = {
        .id = SIRIX_BRANCH_ID_MAIN, .created_us = resource->created_us, .base_revision = 1};
    struct sirix_head_row head;
    enum sirix_status status = SIRIX_OK;

    if (name.len == 0) {
        name =
            (struct sirix_bytes){.data = SIRIX_BRANCH_MAIN, .len = sizeof(SIRIX_BRANCH_MAIN) - 1};
    }
    if (!sirix_name_is_main(name)) {
        struct sirix_label_row row;

        status = sirix_label_find(reader, resource, SIRIX_LABEL_BRANCH, name, &row, err);
        if (status != SIRIX_OK) {
            return status;
        }
        branch.id = row.branch;
        branch.created_us = row.created_us;
        branch.base_revision = row.revision;
    }
    status = sirix_head_read(reader, resource, branch.id, &head, err);
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "resource %s: branch %.*s has no head row",
                          resource->name, (int)name.len, (const char *)name.data);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!expired_too &&
        sirix_expired(head.expires_us, sirix_database_now_us(resource->database), counters)) {
        return sirix_branch_expired(name, head.expires_us, err);
    }
    branch.revision = head.revision;
    branch.address = head.address;
    branch.expires_us = head.expires_us;
    *out_branch = branch;
    return SIRIX_OK;
}

enum sirix_status sirix_branch_find(struct sirix_resource *resource, struct sirix_reader *reader,
                                    struct sirix_bytes name, bool expired_too,
                                    struct sirix_branch_head *out_branch, struct sirix_error *err)
{
    struct sirix_counters_row counters;
    enum sirix_status status =
        name.len == 0 ? SIRIX_OK : sirix_name_check(SIRIX_NAME_BRANCH, name, "branch", err);

    if (status == SIRIX_OK) {
        status = sirix_counters_read(reader, resource, &counters, err);
    }
    return status == SIRIX_OK
               ? sirix_branch_read(resource, reader, name, &counters, expired_too, out_branch, err)
               : status;
}

enum sirix_status sirix_branch_name(struct sirix_resource *resource, struct sirix_reader *reader,
                                    uint64_t id, struct sirix_bytes *out_name,
                                    struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_branch_name(resource->id, id);

    if (id == SIRIX_BRANCH_ID_MAIN) {
        *out_name =
            (struct sirix_bytes){.data = SIRIX_BRANCH_MAIN, .len = sizeof(SIRIX_BRANCH_MAIN) - 1};
        return SIRIX_OK;
    }
    return sirix_ref_get(reader, sirix_rows_key_view(&key), out_name, err);
}
