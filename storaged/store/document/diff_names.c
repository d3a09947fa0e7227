/* Members of an object that are gone and new under one name: the same member with another key. */
#include "store/document/diff_state.h"

/* Reads the name of a member into buf, and its hash. */
static enum sirix_status read_name(struct sirix_rows *rows, uint64_t key, struct sirix_buf *buf,
                                   uint64_t *out_hash, struct sirix_document_node *out_node,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirix_rows_child(rows, key, out_node, err);

    sirix_buf_clear(buf);
    if (status == SIRIX_OK) {
        status = sirix_rows_name(rows, sirix_node_listed(out_node), buf, err);
    }
    if (status == SIRIX_OK) {
        *out_hash =
            sirix_name_hash(sirix_resource_name_seed(rows->resource), sirix_buf_view(buf)).high;
    }
    return status;
}

/* Whether the new member stands for the old one: the hash may lie, the names do not. */
static enum sirix_status pair_members(struct sirix_diff *diff, size_t before_at, size_t after_at,
                                      struct sirix_bytes name, struct sirix_error *err)
{
    struct sirix_diff_child *before = &diff->container.before.items[before_at];
    struct sirix_diff_child *after = &diff->container.after.items[after_at];
    struct sirix_document_node node;
    bool equal = false;
    bool same = false;
    enum sirix_status status = sirix_rows_child(&diff->rows_before, before->key, &node, err);

    if (status == SIRIX_OK) {
        status =
            sirix_rows_name_equals(&diff->rows_before, sirix_node_listed(&node), name, &equal, err);
    }
    if (status != SIRIX_OK || !equal) {
        return status;
    }
    status = sirix_diff_same(diff, &diff->rows_before, before->key, &diff->rows_after, after->key,
                             &same, err);
    if (status == SIRIX_OK) {
        before->fate = same ? SIRIX_DIFF_FATE_KEPT : SIRIX_DIFF_FATE_NAMED;
        after->fate = before->fate;
        before->partner = after_at;
        after->partner = before_at;
    }
    return status;
}

enum sirix_status sirix_diff_match_names(struct sirix_diff *diff, struct sirix_error *err)
{
    struct sirix_diff_children *before = &diff->container.before;
    struct sirix_diff_children *after = &diff->container.after;
    struct sirix_document_node node;
    struct sirix_map places; /* Hash of a name to the place of the member that is gone. */
    struct sirix_buf name;
    uint64_t hash = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_map_init(&places);
    sirix_buf_init(&name, SIZE_MAX);
    for (size_t i = 0; i < before->count && status == SIRIX_OK; i++) {
        if (before->items[i].partner != SIZE_MAX) {
            continue;
        }
        status = sirix_diff_step(diff, err);
        if (status == SIRIX_OK) {
            status = read_name(&diff->rows_before, before->items[i].key, &name, &hash, &node, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_map_put(&places, hash, i, err);
        }
    }
    for (size_t i = 0; i < after->count && places.count != 0 && status == SIRIX_OK; i++) {
        uint64_t place = 0;

        if (after->items[i].partner != SIZE_MAX) {
            continue;
        }
        status = sirix_diff_step(diff, err);
        if (status == SIRIX_OK) {
            status = read_name(&diff->rows_after, after->items[i].key, &name, &hash, &node, err);
        }
        if (status == SIRIX_OK && sirix_map_get(&places, hash, &place)) {
            status = pair_members(diff, (size_t)place, i, sirix_buf_view(&name), err);
        }
    }
    sirix_map_deinit(&places);
    sirix_buf_deinit(&name);
    return status;
}
