/*
 * Applies a patch to an edit: each operation becomes one or two of the edit's own. A move is a removal
 * and an add in RFC 6902, so its path is looked up as if what it moves were gone already.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "store/document/patch_applying.h"
#include "json/number.h"

enum { PATCH_ARENA_BYTES_MAX = 16 * 1024 * 1024, COPY_STEP_BYTES = 256 * 1024 };

/* A child that a move takes away: paths are looked up as if it were gone. */
struct hole {
    uint64_t key; /* 0: none. */
    uint64_t parent;
    uint64_t index;
};

/* Where a path ends: a container and a place in it; or, without steps, the value itself. */
struct place {
    bool is_whole;
    struct sirix_document_node parent;
    const struct sirix_json_step *step;
    uint64_t index; /* Arrays: 0..count. */
    bool has_child; /* Something stands there. */
    uint64_t child; /* Its key. */
};

/* --- Finding places ----------------------------------------------------------------------------- */

/* Looks a step up in a container; has_child false where nothing stands. */
static enum sirix_status look_up(struct sirix_patch_applying *a, const struct hole *hole,
                                 struct place *place, struct sirix_error *err)
{
    const struct sirix_json_step *step = place->step;
    bool is_holed = hole->key != 0 && hole->parent == place->parent.key;
    uint64_t count = place->parent.child_count - (is_holed ? 1 : 0);
    enum sirix_status status = SIRIX_NOT_FOUND;

    if (place->parent.kind == SIRIX_NODE_OBJECT) {
        status = sirix_edit_member(a->edit, place->parent.key, step->name, &place->child, err);
        if (status == SIRIX_OK && is_holed && place->child == hole->key) {
            status = SIRIX_NOT_FOUND;
        }
    } else if (place->parent.kind == SIRIX_NODE_ARRAY && (step->is_position || step->is_end)) {
        place->index = step->is_end ? count : step->position;
        if (place->index < count) {
            status = sirix_edit_child_at(a->edit, place->parent.key,
                                         place->index +
                                             (is_holed && place->index >= hole->index ? 1 : 0),
                                         &place->child, err);
        }
    }
    place->has_child = status == SIRIX_OK;
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/*
 * The place that steps name. to_put: its last step may name a member, or the end of an array, where
 * nothing is yet; otherwise something must be there.
 */
static enum sirix_status find_place(struct sirix_patch_applying *a,
                                    const struct sirix_json_steps *steps, const struct hole *hole,
                                    bool to_put, struct place *out_place, struct sirix_error *err)
{
    struct place place = {.is_whole = true, .child = 1};
    struct sirix_document_node node;
    enum sirix_status status = sirix_edit_get(a->edit, 0, &node, err);

    place.has_child = status == SIRIX_OK && node.child_count != 0;
    for (size_t i = 0; i < steps->count && status == SIRIX_OK; i++) {
        if (!place.has_child) {
            return sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, steps,
                                      ": the path leads nowhere", err);
        }
        status = sirix_edit_get(a->edit, place.child, &place.parent, err);
        if (status == SIRIX_OK) {
            place.is_whole = false;
            place.step = &steps->steps[i];
            place.index = 0;
            status = look_up(a, hole, &place, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!place.has_child && !place.is_whole && place.parent.kind == SIRIX_NODE_ARRAY) {
        uint64_t count =
            place.parent.child_count - (hole->key != 0 && hole->parent == place.parent.key ? 1 : 0);
        to_put = to_put && (place.step->is_position || place.step->is_end) && place.index <= count;
    } else if (!place.has_child && !place.is_whole) {
        to_put = to_put && place.parent.kind == SIRIX_NODE_OBJECT;
    }
    if (!place.has_child && !to_put) {
        return sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, steps,
                                  ": nothing is there", err);
    }
    *out_place = place;
    return SIRIX_OK;
}

static const struct hole no_hole = {0};

/* --- Doing operations --------------------------------------------------------------------------- */

/* Puts a JSON text where add would put a value. */
static enum sirix_status put_text(struct sirix_patch_applying *a, const struct place *place,
                                  struct sirix_bytes text, struct sirix_error *err)
{
    bool is_object = !place->is_whole && place->parent.kind == SIRIX_NODE_OBJECT;
    struct sirix_edit_result result;
    struct sirix_edit_insert insert = {0};

    if (place->has_child && (place->is_whole || is_object)) {
        const struct sirix_edit_update update = {.target = place->child};

        return sirix_edit_update(a->edit, &update, text, &result, err);
    }
    if (!place->is_whole) {
        insert.target = place->parent.key;
        insert.place = is_object ? SIRIX_PLACE_LAST_CHILD : SIRIX_PLACE_INDEX;
        insert.index = place->index;
        insert.name = is_object ? &place->step->name : NULL;
    }
    return sirix_edit_insert(a->edit, &insert, text, &result, err);
}

static enum sirix_status do_add(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct place place;
    enum sirix_status status = find_place(a, &a->path, &no_hole, true, &place, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_print(a->value, &a->text, err);
    }
    return status == SIRIX_OK ? put_text(a, &place, sirix_buf_view(&a->text), err) : status;
}

static enum sirix_status do_remove(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct place place;
    uint64_t nodes = 0;
    enum sirix_status status = find_place(a, &a->path, &no_hole, false, &place, err);

    if (status == SIRIX_OK && place.is_whole) {
        status = sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, &a->path,
                                    ": the whole value cannot be removed", err);
    }
    return status == SIRIX_OK ? sirix_edit_delete(a->edit, place.child, &nodes, err) : status;
}

static enum sirix_status do_replace(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct sirix_edit_result result;
    struct sirix_edit_update update = {0};
    struct place place;
    enum sirix_status status = find_place(a, &a->path, &no_hole, false, &place, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_print(a->value, &a->text, err);
    }
    if (status == SIRIX_OK) {
        update.target = place.child;
        status = sirix_edit_update(a->edit, &update, sirix_buf_view(&a->text), &result, err);
    }
    return status;
}

/* Counts what a copy makes, which may be only a part of it so far, against the limits of all. */
static enum sirix_status check_copies(const struct sirix_patch_applying *a, uint64_t bytes,
                                      uint64_t nodes, struct sirix_error *err)
{
    const struct sirix_patch_copies *copies = a->copies;
    uint64_t bytes_max = copies->bytes_max == 0 ? SIRIX_PATCH_COPY_BYTES_MAX : copies->bytes_max;
    uint64_t nodes_max = copies->nodes_max == 0 ? SIRIX_PATCH_COPY_NODES_MAX : copies->nodes_max;
    char what[SIRIX_ERROR_TEXT_BYTES];

    /* What was counted never passes the limits. */
    if (nodes > nodes_max - copies->nodes) {
        (void)snprintf(what, sizeof(what),
                       ": the copies of one patch make at most %" PRIu64 " nodes together",
                       nodes_max);
    } else if (bytes > bytes_max - copies->bytes) {
        (void)snprintf(what, sizeof(what),
                       ": the copies of one patch have at most %" PRIu64
                       " bytes of JSON text together",
                       bytes_max);
    } else {
        return SIRIX_OK;
    }
    return sirix_patch_refuse(a, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT, &a->path, what, err);
}

/*
 * Puts the text of what stands at one place at another. counts: it stays where it was too, so that
 * the patch makes something of nothing, which has limits; nothing is put past them.
 */
static enum sirix_status put_copy(struct sirix_patch_applying *a, const struct place *from,
                                  const struct place *to, bool counts, struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = from->child};
    struct sirix_serialiser *serialiser = NULL;
    uint64_t nodes = 0;
    bool done = false;
    enum sirix_status status = sirix_serialiser_new_rows(&a->rows, &options, &serialiser, err);

    while (status == SIRIX_OK && !done) {
        status = sirix_serialiser_step(serialiser, COPY_STEP_BYTES, &a->text, &done, err);
        if (status == SIRIX_OK && counts) {
            nodes = sirix_serialiser_nodes(serialiser);
            status = check_copies(a, a->text.len, nodes, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_edit_pause(a->edit, err);
        }
    }
    sirix_serialiser_free(serialiser);
    if (status == SIRIX_OK && counts) {
        a->copies->bytes += a->text.len;
        a->copies->nodes += nodes;
    }
    return status == SIRIX_OK ? put_text(a, to, sirix_buf_view(&a->text), err) : status;
}

static bool step_equal(const struct sirix_json_step *a, const struct sirix_json_step *b)
{
    return a->is_position == b->is_position && sirix_bytes_equal(a->name, b->name);
}

/* Whether path begins with all of from. */
static bool is_inside(const struct sirix_json_steps *path, const struct sirix_json_steps *from)
{
    bool inside = path->count >= from->count;

    for (size_t i = 0; i < from->count && inside; i++) {
        inside = step_equal(&path->steps[i], &from->steps[i]);
    }
    return inside;
}

/* Does a move whose places are known; to stands where it is when from is gone. */
static enum sirix_status move_to(struct sirix_patch_applying *a, const struct hole *hole,
                                 struct place *to, struct sirix_error *err)
{
    bool is_object = to->parent.kind == SIRIX_NODE_OBJECT;
    struct sirix_edit_move move = {
        .key = hole->key,
        .target = to->parent.key,
        .place = SIRIX_PLACE_INDEX,
        .index = to->index,
    };
    enum sirix_status status = SIRIX_OK;
    uint64_t ignored = 0;
    bool changed = false;

    if (is_object) {
        move.name = &to->step->name;
        move.place = SIRIX_PLACE_LAST_CHILD;
    }
    if (is_object && to->has_child) {
        /* The member that was there goes, and its place is taken. */
        uint64_t index = 0;

        status = sirix_edit_child_index(a->edit, to->child, &index, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_delete(a->edit, to->child, &ignored, err);
        }
        move.place = SIRIX_PLACE_INDEX;
        move.index = index - (hole->parent == to->parent.key && hole->index < index ? 1 : 0);
    } else if (is_object && hole->parent == to->parent.key) {
        return sirix_edit_rename(a->edit, hole->key, to->step->name, &changed, err);
    }
    return status == SIRIX_OK ? sirix_edit_move(a->edit, &move, &ignored, &changed, err) : status;
}

static enum sirix_status do_move(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct place from;
    struct place to;
    struct hole hole = {0};
    enum sirix_status status = find_place(a, &a->from, &no_hole, false, &from, err);

    if (status == SIRIX_OK && from.is_whole) {
        status = sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, &a->from,
                                    ": the whole value cannot be moved", err);
    }
    if (status == SIRIX_OK && is_inside(&a->path, &a->from)) {
        return a->path.count == a->from.count
                   ? SIRIX_OK /* It stays where it is. */
                   : sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, &a->path,
                                        ": a value cannot be moved into itself", err);
    }
    if (status == SIRIX_OK) {
        hole.key = from.child;
        hole.parent = from.parent.key;
        status = sirix_edit_child_index(a->edit, from.child, &hole.index, err);
    }
    if (status == SIRIX_OK) {
        status = find_place(a, &a->path, &hole, true, &to, err);
    }
    if (status == SIRIX_OK &&
        (to.is_whole || (to.parent.kind == SIRIX_NODE_OBJECT && is_inside(&a->from, &a->path)))) {
        /* A part becomes all that it is in; the rest goes. */
        return put_copy(a, &from, &to, false, err);
    }
    return status == SIRIX_OK ? move_to(a, &hole, &to, err) : status;
}

static enum sirix_status do_copy(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct place from;
    struct place to;
    enum sirix_status status = find_place(a, &a->from, &no_hole, false, &from, err);

    if (status == SIRIX_OK) {
        status = find_place(a, &a->path, &no_hole, true, &to, err);
    }
    return status == SIRIX_OK ? put_copy(a, &from, &to, true, err) : status;
}

/* --- test --------------------------------------------------------------------------------------- */

/* Values still to be compared. */
struct comparison {
    struct comparing {
        const struct sirix_json_node *expected;
        uint64_t key;
    } * pairs;
    size_t count;
    size_t cap;
    bool equal;
};

static enum sirix_status push(struct comparison *comparison, const struct sirix_json_node *expected,
                              uint64_t key, struct sirix_error *err)
{
    if (comparison->count == comparison->cap) {
        size_t cap = comparison->cap == 0 ? 64 : comparison->cap * 2;
        struct comparing *pairs = realloc(comparison->pairs, cap * sizeof(*pairs));

        if (pairs == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a test of a patch");
        }
        comparison->pairs = pairs;
        comparison->cap = cap;
    }
    comparison->pairs[comparison->count++] = (struct comparing){expected, key};
    return SIRIX_OK;
}

static enum sirix_status compare_scalar(struct sirix_patch_applying *a,
                                        const struct sirix_document_node *node,
                                        const struct sirix_json_node *expected, bool *out_equal,
                                        struct sirix_error *err)
{
    struct sirix_bytes text;
    bool cut = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&a->text);
    status = sirix_rows_scalar(&a->rows, &node->stored, SIZE_MAX, &a->text, &cut, err);
    if (status != SIRIX_OK) {
        return status;
    }
    text = sirix_buf_view(&a->text);
    switch (sirix_node_value_kind(node->stored.kind)) {
    case SIRIX_NODE_STRING:
        text.data = (const uint8_t *)text.data + 1; /* Between the quotes. */
        text.len -= 2;
        *out_equal = expected->kind == SIRIX_JSON_KIND_STRING &&
                     sirix_bytes_equal(text, expected->value.text);
        break;
    case SIRIX_NODE_TRUE:
        *out_equal = expected->kind == SIRIX_JSON_KIND_TRUE;
        break;
    case SIRIX_NODE_FALSE:
        *out_equal = expected->kind == SIRIX_JSON_KIND_FALSE;
        break;
    case SIRIX_NODE_NULL:
        *out_equal = expected->kind == SIRIX_JSON_KIND_NULL;
        break;
    default:
        *out_equal = expected->kind == SIRIX_JSON_KIND_NUMBER &&
                     sirix_json_number_compare(text, expected->value.text) == 0;
        break;
    }
    return SIRIX_OK;
}

/* Compares two containers and pushes their children. */
static enum sirix_status compare_container(struct sirix_patch_applying *a,
                                           struct comparison *comparison,
                                           const struct sirix_document_node *node,
                                           const struct sirix_json_node *expected,
                                           struct sirix_error *err)
{
    bool is_object = node->kind == SIRIX_NODE_OBJECT;
    uint64_t index = 0;
    enum sirix_status status = SIRIX_OK;

    comparison->equal =
        expected->kind == (is_object ? SIRIX_JSON_KIND_OBJECT : SIRIX_JSON_KIND_ARRAY) &&
        sirix_json_count(expected) == node->child_count;
    if (!comparison->equal) {
        return SIRIX_OK;
    }
    for (const struct sirix_json_node *child = sirix_json_first(expected);
         child != NULL && status == SIRIX_OK; child = child->next) {
        uint64_t key = 0;

        status = is_object ? sirix_edit_member(a->edit, node->key, child->name, &key, err)
                           : sirix_edit_child_at(a->edit, node->key, index, &key, err);
        index += 1;
        if (status == SIRIX_NOT_FOUND) {
            comparison->equal = false;
            return SIRIX_OK;
        }
        if (status == SIRIX_OK) {
            status = push(comparison, child, key, err);
        }
    }
    return status;
}

static enum sirix_status do_test(struct sirix_patch_applying *a, struct sirix_error *err)
{
    struct comparison comparison = {.equal = true};
    struct place place;
    enum sirix_status status = find_place(a, &a->path, &no_hole, false, &place, err);

    if (status == SIRIX_OK) {
        status = push(&comparison, a->value, place.child, err);
    }
    while (status == SIRIX_OK && comparison.equal && comparison.count != 0) {
        struct comparing pair = comparison.pairs[--comparison.count];
        struct sirix_document_node node;

        status = sirix_edit_step(a->edit, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_get(a->edit, pair.key, &node, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_node_is_container(node.kind)
                         ? compare_container(a, &comparison, &node, pair.expected, err)
                         : compare_scalar(a, &node, pair.expected, &comparison.equal, err);
        }
    }
    free(comparison.pairs);
    if (status == SIRIX_OK && !comparison.equal) {
        status = sirix_patch_refuse(a, SIRIX_INVALID, SIRIX_REASON_PATCH_TEST, &a->path,
                                    ": the value is another one", err);
    }
    return status;
}

/* --- The whole patch ---------------------------------------------------------------------------- */

static enum sirix_status do_op(struct sirix_patch_applying *a, struct sirix_error *err)
{
    static enum sirix_status (*const does[])(struct sirix_patch_applying *,
                                             struct sirix_error *) = {
        [SIRIX_PATCH_OP_ADD] = do_add,         [SIRIX_PATCH_OP_REMOVE] = do_remove,
        [SIRIX_PATCH_OP_REPLACE] = do_replace, [SIRIX_PATCH_OP_MOVE] = do_move,
        [SIRIX_PATCH_OP_COPY] = do_copy,       [SIRIX_PATCH_OP_TEST] = do_test,
    };
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&a->text);
    status = does[a->kind](a, err);
    if (status != SIRIX_OK && err != NULL && err->pointer[0] == '\0') {
        sirix_json_error_set_steps(err, &a->path);
    }
    return status;
}

enum sirix_status sirix_patch_apply_one(struct sirix_edit *edit, struct sirix_json_tree *tree,
                                        struct sirix_json_node *op, uint64_t number,
                                        struct sirix_patch_copies *copies, bool *out_is_test,
                                        struct sirix_error *err)
{
    struct sirix_patch_applying a = {
        .edit = edit,
        .rows = sirix_rows_of_edit(edit),
        .tree = tree,
        .copies = copies,
        .number = number,
        .kind = SIRIX_PATCH_OP_KINDS,
    };
    enum sirix_status status = sirix_edit_step(edit, err);

    sirix_arena_init(&a.arena, PATCH_ARENA_BYTES_MAX);
    sirix_buf_init(&a.text, SIZE_MAX);
    if (status == SIRIX_OK) {
        status = sirix_patch_read_op(&a, op, err);
    }
    if (status == SIRIX_OK) {
        status = do_op(&a, err);
    }
    sirix_arena_deinit(&a.arena);
    sirix_buf_deinit(&a.text);
    if (status == SIRIX_OK && out_is_test != NULL) {
        *out_is_test = a.kind == SIRIX_PATCH_OP_TEST;
    }
    return status;
}
