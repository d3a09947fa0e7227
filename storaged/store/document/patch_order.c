/* Turns a diff into the operations of RFC 6902, in an order in which each finds what it names. */
#include <inttypes.h>
#include <stdlib.h>

#include "base/checked.h"
#include "store/document/diff_moves.h"
#include "store/document/patch_plan.h"
#include "store/document/patch_state.h"

enum { ITEMS_MIN = 64 };

/* --- Collecting --------------------------------------------------------------------------------- */

static enum sirix_status fail_count(uint64_t count, uint64_t max_ops, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                             "the patch would have %" PRIu64 " operations, at most %" PRIu64
                             " are allowed",
                             count, max_ops);
}

/* Makes room for one more; *items may move. */
static enum sirix_status grow(void **items, size_t *cap, size_t count, size_t size,
                              struct sirix_error *err)
{
    size_t wanted = *cap == 0 ? ITEMS_MIN : *cap * 2;
    size_t bytes = 0;
    void *grown = NULL;

    if (count < *cap) {
        return SIRIX_OK;
    }
    if (sirix_mul_size(wanted, size, &bytes)) {
        grown = realloc(*items, bytes);
    }
    if (grown == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate %zu operations of a patch", wanted);
    }
    *items = grown;
    *cap = wanted;
    return SIRIX_OK;
}

static enum sirix_status add_item(struct sirix_patch_writer *writer,
                                  const struct sirix_change *change, struct sirix_error *err)
{
    bool is_delete = change->kind == SIRIX_CHANGE_DELETE;
    void *items = writer->items;
    enum sirix_status status =
        grow(&items, &writer->item_cap, writer->item_count, sizeof(*writer->items), err);

    writer->items = items;
    if (status == SIRIX_OK) {
        writer->items[writer->item_count++] = (struct sirix_patch_item){
            .kind = change->kind,
            .depth = change->depth,
            .is_member = change->is_member,
            .key_before = change->before.key,
            .key_after = change->after.key,
            .parent = is_delete ? change->before.parent : change->after.parent,
            .index_before = change->before.index,
            .index_after = change->after.index,
        };
    }
    return status;
}

enum sirix_status sirix_patch_collect(struct sirix_patch_writer *writer, struct sirix_error *err)
{
    struct sirix_change change;
    enum sirix_status status = SIRIX_OK;
    uint64_t count = 0;

    while ((status = sirix_diff_next(writer->diff, &change, err)) == SIRIX_OK) {
        count += 1;
        if (change.kind == SIRIX_CHANGE_DELETE && change.before.key == 1) {
            return sirix_fail(err, SIRIX_PRECONDITION,
                              "the new revision has no value, which a JSON patch cannot say");
        }
        if (count <= writer->max_ops) { /* Past it only the count is of interest. */
            status = add_item(writer, &change, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (status == SIRIX_NOT_FOUND) {
        status = count > writer->max_ops ? fail_count(count, writer->max_ops, err) : SIRIX_OK;
    }
    return status;
}

/* --- Planning ----------------------------------------------------------------------------------- */

static enum sirix_status add_op(struct sirix_patch_writer *writer, enum sirix_patch_op_kind kind,
                                size_t item, uint64_t from, uint64_t to, struct sirix_error *err)
{
    void *ops = writer->ops;
    enum sirix_status status =
        grow(&ops, &writer->op_cap, writer->op_count, sizeof(*writer->ops), err);

    writer->ops = ops;
    if (status == SIRIX_OK) {
        writer->ops[writer->op_count++] =
            (struct sirix_patch_op){.kind = kind, .item = item, .from = from, .to = to};
    }
    return status;
}

/* The changes of one container, as indexes of items. Deletes and places stand in their order. */
struct group {
    const struct sirix_key_pair *members;
    size_t count;
};

static const struct sirix_patch_item *item_of(const struct sirix_patch_writer *writer,
                                              const struct group *group, size_t i)
{
    return &writer->items[group->members[i].value];
}

static enum sirix_status plan_deletes(struct sirix_patch_writer *writer, const struct group *group,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = group->count; i-- > 0 && status == SIRIX_OK;) {
        const struct sirix_patch_item *item = item_of(writer, group, i);

        if (item->kind == SIRIX_CHANGE_DELETE) {
            status = add_op(writer, SIRIX_PATCH_REMOVE, (size_t)group->members[i].value,
                            item->index_before, 0, err);
        }
    }
    return status;
}

static enum sirix_status plan_array(struct sirix_patch_writer *writer, const struct group *group,
                                    struct sirix_error *err)
{
    uint64_t *deletes = malloc(group->count * sizeof(*deletes));
    size_t *which = malloc(group->count * sizeof(*which));
    struct sirix_array_place *places = malloc(group->count * sizeof(*places));
    struct sirix_array_step *steps = malloc(group->count * sizeof(*steps));
    enum sirix_status status = SIRIX_OK;
    size_t delete_count = 0;
    size_t place_count = 0;

    if (deletes == NULL || which == NULL || places == NULL || steps == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the patch of an array");
        goto out;
    }
    for (size_t i = 0; i < group->count; i++) {
        const struct sirix_patch_item *item = item_of(writer, group, i);

        if (item->kind == SIRIX_CHANGE_DELETE) {
            deletes[delete_count++] = item->index_before;
        } else {
            which[place_count] = (size_t)group->members[i].value;
            places[place_count++] = (struct sirix_array_place){
                .is_move = item->kind == SIRIX_CHANGE_MOVE,
                .index_before = item->index_before,
                .index_after = item->index_after,
            };
        }
    }
    status = sirix_array_plan(deletes, delete_count, places, place_count, steps, err);
    for (size_t i = 0; i < place_count && status == SIRIX_OK; i++) {
        if (!places[i].is_move) {
            status = add_op(writer, SIRIX_PATCH_ADD, which[i], 0, steps[i].to, err);
        } else if (steps[i].from != steps[i].to) {
            status = add_op(writer, SIRIX_PATCH_MOVE, which[i], steps[i].from, steps[i].to, err);
        }
    }

out:
    free(deletes);
    free(which);
    free(places);
    free(steps);
    return status;
}

enum sirix_status sirix_patch_name(struct sirix_patch_writer *writer, struct sirix_rows *rows,
                                   uint64_t key, uint64_t *out_hash, struct sirix_error *err)
{
    struct sirix_document_node node;
    enum sirix_status status = sirix_rows_child(rows, key, &node, err);

    sirix_buf_clear(&writer->name);
    if (status == SIRIX_OK) {
        status = sirix_rows_name(rows, sirix_node_listed(&node), &writer->name, err);
    }
    if (status == SIRIX_OK) {
        /* 64 bits of a keyed hash: two names in one object do not share them. */
        *out_hash =
            sirix_name_hash(sirix_resource_name_seed(rows->resource), sirix_buf_view(&writer->name))
                .high;
    }
    return status;
}

/* which: the items of the renames. blocker[i]: see patch_plan.h. */
static enum sirix_status find_blockers(struct sirix_patch_writer *writer, const size_t *which,
                                       size_t count, size_t *blocker, struct sirix_error *err)
{
    struct sirix_map old_names;
    uint64_t hash = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_map_init(&old_names);
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = sirix_patch_name(writer, &writer->diff->rows_before,
                                  writer->items[which[i]].key_before, &hash, err);
        if (status == SIRIX_OK) {
            status = sirix_map_put(&old_names, hash, i, err);
        }
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        uint64_t found = 0;

        status = sirix_patch_name(writer, &writer->diff->rows_after,
                                  writer->items[which[i]].key_after, &hash, err);
        if (status == SIRIX_OK) {
            blocker[i] = sirix_map_get(&old_names, hash, &found) ? (size_t)found : SIZE_MAX;
        }
    }
    sirix_map_deinit(&old_names);
    return status;
}

static enum sirix_status plan_renames(struct sirix_patch_writer *writer, const struct group *group,
                                      struct sirix_error *err)
{
    static const enum sirix_patch_op_kind kinds[] = {
        [SIRIX_RENAME_MOVE] = SIRIX_PATCH_MOVE,
        [SIRIX_RENAME_REMOVE] = SIRIX_PATCH_REMOVE,
        [SIRIX_RENAME_ADD] = SIRIX_PATCH_ADD,
    };
    size_t *which = malloc(group->count * sizeof(*which));
    size_t *blocker = malloc(group->count * sizeof(*blocker));
    struct sirix_rename_step *steps = malloc(group->count * 2 * sizeof(*steps));
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;
    size_t step_count = 0;

    if (which == NULL || blocker == NULL || steps == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the renames of a patch");
        goto out;
    }
    for (size_t i = 0; i < group->count; i++) {
        if (item_of(writer, group, i)->kind == SIRIX_CHANGE_RENAME) {
            which[count++] = (size_t)group->members[i].value;
        }
    }
    status = find_blockers(writer, which, count, blocker, err);
    if (status == SIRIX_OK) {
        status = sirix_rename_plan(blocker, count, steps, &step_count, err);
    }
    for (size_t i = 0; i < step_count && status == SIRIX_OK; i++) {
        status = add_op(writer, kinds[steps[i].kind], which[steps[i].rename], 0, 0, err);
    }

out:
    free(which);
    free(blocker);
    free(steps);
    return status;
}

static enum sirix_status plan_object(struct sirix_patch_writer *writer, const struct group *group,
                                     struct sirix_error *err)
{
    enum sirix_status status = plan_renames(writer, group, err);

    for (size_t i = 0; i < group->count && status == SIRIX_OK; i++) {
        if (item_of(writer, group, i)->kind == SIRIX_CHANGE_INSERT) {
            status = add_op(writer, SIRIX_PATCH_ADD, (size_t)group->members[i].value, 0, 0, err);
        }
    }
    return status;
}

static bool is_structure(const struct sirix_patch_item *item)
{
    return item->kind != SIRIX_CHANGE_UPDATE && item->kind != SIRIX_CHANGE_REPLACE;
}

/* Structure by container, the deepest first. */
static enum sirix_status plan_structure(struct sirix_patch_writer *writer, struct sirix_error *err)
{
    struct sirix_key_pair *pairs = malloc((writer->item_count + 1) * 2 * sizeof(*pairs));
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;

    if (pairs == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the order of a patch");
    }
    for (size_t i = 0; i < writer->item_count; i++) {
        if (is_structure(&writer->items[i])) {
            pairs[count++] = (struct sirix_key_pair){.key = writer->items[i].parent, .value = i};
        }
    }
    sirix_key_pairs_sort(pairs, pairs + count, count);
    for (size_t i = 0; i < count; i++) {
        pairs[i].key = UINT32_MAX - writer->items[pairs[i].value].depth;
    }
    sirix_key_pairs_sort(pairs, pairs + count, count);
    for (size_t from = 0; from < count && status == SIRIX_OK;) {
        const struct sirix_patch_item *first = &writer->items[pairs[from].value];
        struct group group = {.members = pairs + from};

        while (from < count && writer->items[pairs[from].value].parent == first->parent) {
            group.count += 1;
            from += 1;
        }
        status = plan_deletes(writer, &group, err);
        if (status == SIRIX_OK) {
            status = first->is_member ? plan_object(writer, &group, err)
                                      : plan_array(writer, &group, err);
        }
    }
    free(pairs);
    return status;
}

enum sirix_status sirix_patch_plan(struct sirix_patch_writer *writer, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < writer->item_count && status == SIRIX_OK; i++) {
        if (!is_structure(&writer->items[i])) {
            status = add_op(writer, SIRIX_PATCH_REPLACE, i, 0, 0, err);
        }
    }
    if (status == SIRIX_OK) {
        status = plan_structure(writer, err);
    }
    if (status == SIRIX_OK && writer->op_count > writer->max_ops) {
        status = fail_count(writer->op_count, writer->max_ops, err);
    }
    return status;
}
