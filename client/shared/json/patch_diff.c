/*
 * Making a patch. Pairs of values that belong together and differ are gone through from the root:
 * what is simply another value is replaced at once, at its old place; how containers change their
 * children is written afterwards, from the last pair to the first, so that the places named are
 * still the old ones.
 */
#include <string.h>

#include "base/map.h"
#include "json/patch.h"
#include "json/patch_internal.h"
#include "json/pointer.h"

enum {
    FEW_CHILDREN = 8,      /* Up to here children are changed one by one whatever it costs. */
    RENAME_TEXT_BYTES = 32 /* A text this long is worth a move when its member gets another name. */
};

/* A value of a and the value of b that takes its place. */
struct pair {
    struct sirix_json_node *a;
    struct sirix_json_node *b;
    size_t parent;             /* The pair of the containers; own index at the root. */
    size_t position;           /* In an array of a. */
    struct patch_match *match; /* Arrays that change their elements; NULL for objects. */
    bool is_container;
};

struct diff {
    struct sirix_json_tree *a_tree;
    struct sirix_json_tree *b_tree;
    struct sirix_json_tree *out;
    struct sirix_json_node *ops;
    size_t op_count;
    size_t op_max;
    struct sirix_arena scratch;
    struct patch_matcher matcher;
    struct sirix_buf pairs; /* struct pair */
    struct sirix_buf chain; /* size_t: a pair and its ancestors. */
    struct sirix_buf path;
    struct sirix_buf from;
};

static struct pair *pair_at(const struct diff *diff, size_t index)
{
    return (struct pair *)(void *)(diff->pairs.data + index * sizeof(struct pair));
}

static size_t pair_count(const struct diff *diff)
{
    return diff->pairs.len / sizeof(struct pair);
}

/* --- Operations ------------------------------------------------------------------------------- */

static enum sirix_status add_text(struct diff *diff, struct sirix_json_node *op, const char *name,
                                  struct sirix_bytes text, struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    enum sirix_status status = sirix_json_new_string_plain(diff->out, text, &node, err);

    return status == SIRIX_OK ? sirix_json_object_set_str(diff->out, op, name, node, err) : status;
}

/* Writes an operation at diff->path; with from (a move) or value, or neither (a remove). */
static enum sirix_status add_op(struct diff *diff, const char *name, bool has_from,
                                const struct sirix_json_node *value, struct sirix_error *err)
{
    const struct sirix_bytes text = {.data = name, .len = strlen(name)};
    struct sirix_json_node *op = NULL;
    struct sirix_json_node *copy = NULL;
    enum sirix_status status = SIRIX_OK;

    if (++diff->op_count > diff->op_max) {
        return SIRIX_OK; /* Counted to the end, so that the refusal can say how many. */
    }
    status = sirix_json_new(diff->out, SIRIX_JSON_KIND_OBJECT, &op, err);
    if (status == SIRIX_OK) {
        status = add_text(diff, op, "op", text, err);
    }
    if (status == SIRIX_OK && has_from) {
        status = add_text(diff, op, "from", sirix_buf_view(&diff->from), err);
    }
    if (status == SIRIX_OK) {
        status = add_text(diff, op, "path", sirix_buf_view(&diff->path), err);
    }
    if (status == SIRIX_OK && value != NULL) {
        status = sirix_json_clone(diff->out, value, &copy, err);
        if (status == SIRIX_OK) {
            status = sirix_json_object_set_str(diff->out, op, "value", copy, err);
        }
    }
    if (status == SIRIX_OK) {
        sirix_json_array_append(diff->ops, op);
    }
    return status;
}

/* Sets a buffer to the old place of a pair. */
static enum sirix_status set_place(struct diff *diff, struct sirix_buf *place, size_t index,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(place);
    sirix_buf_clear(&diff->chain);
    while (pair_at(diff, index)->parent != index && status == SIRIX_OK) {
        status = sirix_buf_append(&diff->chain, &index, sizeof(index), err);
        index = pair_at(diff, index)->parent;
    }
    while (diff->chain.len != 0 && status == SIRIX_OK) {
        diff->chain.len -= sizeof(index);
        memcpy(&index, diff->chain.data + diff->chain.len, sizeof(index));
        const struct pair *pair = pair_at(diff, index);

        status = pair->a->has_name ? sirix_json_pointer_add_name(place, pair->a->name, err)
                                   : sirix_json_pointer_add_position(place, pair->position, err);
    }
    return status;
}

/* --- Finding what differs --------------------------------------------------------------------- */

static enum sirix_status add_pair(struct diff *diff, struct sirix_json_node *a,
                                  struct sirix_json_node *b, size_t parent, size_t position,
                                  struct sirix_error *err)
{
    const struct pair pair = {.a = a, .b = b, .parent = parent, .position = position};

    return a->mark == b->mark ? SIRIX_OK : sirix_buf_append(&diff->pairs, &pair, sizeof(pair), err);
}

/* Objects without a name in common are other objects, not changed ones. */
static bool share_a_name(struct diff *diff, struct sirix_json_node *a, struct sirix_json_node *b)
{
    for (struct sirix_json_node *child = sirix_json_first(a); child != NULL; child = child->next) {
        if (sirix_json_member(diff->b_tree, b, child->name) != NULL) {
            return true;
        }
    }
    return sirix_json_count(a) + sirix_json_count(b) <= FEW_CHILDREN;
}

static enum sirix_status compare_objects(struct diff *diff, size_t index, bool *out_replace,
                                         struct sirix_error *err)
{
    struct sirix_json_node *a = pair_at(diff, index)->a;
    struct sirix_json_node *b = pair_at(diff, index)->b;
    enum sirix_status status = SIRIX_OK;

    if (!share_a_name(diff, a, b)) {
        *out_replace = true;
        return SIRIX_OK;
    }
    pair_at(diff, index)->is_container = true;
    for (struct sirix_json_node *child = sirix_json_first(a); child != NULL && status == SIRIX_OK;
         child = child->next) {
        struct sirix_json_node *other = sirix_json_member(diff->b_tree, b, child->name);

        if (other != NULL) {
            status = add_pair(diff, child, other, index, 0, err);
        }
    }
    return status;
}

static enum sirix_status compare_arrays(struct diff *diff, size_t index, bool *out_replace,
                                        struct sirix_error *err)
{
    struct sirix_json_node *a = pair_at(diff, index)->a;
    struct sirix_json_node *b = pair_at(diff, index)->b;
    struct patch_match *match = NULL;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(&diff->scratch, 1, sizeof(*match), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    match = memory;
    status = patch_match_arrays(&diff->matcher, a, b, match, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (match->sure_count == 0 && match->a_count + match->b_count > FEW_CHILDREN) {
        *out_replace = true;
        return SIRIX_OK;
    }
    pair_at(diff, index)->match = match;
    pair_at(diff, index)->is_container = true;
    for (size_t i = 0; i < match->a_count && status == SIRIX_OK; i++) {
        if (match->a_to_b[i] != PATCH_NO_MATCH) {
            status = add_pair(diff, match->a[i], match->b[match->a_to_b[i]], index, i, err);
        }
    }
    return status;
}

static enum sirix_status compare_pair(struct diff *diff, size_t index, struct sirix_error *err)
{
    const struct pair *pair = pair_at(diff, index);
    struct sirix_json_node *b = pair->b;
    bool replace = pair->a->kind != b->kind || !sirix_json_is_container(b);
    enum sirix_status status = SIRIX_OK;

    if (!replace) {
        status = b->kind == SIRIX_JSON_KIND_OBJECT ? compare_objects(diff, index, &replace, err)
                                                   : compare_arrays(diff, index, &replace, err);
    }
    if (status == SIRIX_OK && replace) {
        status = set_place(diff, &diff->path, index, err);
        if (status == SIRIX_OK) {
            status = add_op(diff, "replace", false, b, err);
        }
    }
    return status;
}

/* --- Children of arrays ----------------------------------------------------------------------- */

/*
 * How many elements stand where, while an array is being changed: slot 0 counts what was put before
 * all old elements, slot i + 1 old element i (if it is still there) and what was put behind it. A
 * binary indexed tree, so that a position costs O(log n).
 */
struct places {
    uint32_t *sums;
    size_t count;
};

static void places_add(struct places *places, size_t slot, uint32_t amount)
{
    for (size_t at = slot + 1; at <= places->count; at += at & (~at + 1)) {
        places->sums[at - 1] += amount; /* Taking away is adding 2^32 - 1. */
    }
}

/* Elements in the slots 0..slot. */
static size_t places_up_to(const struct places *places, size_t slot)
{
    uint32_t sum = 0;

    for (size_t at = slot + 1; at > 0; at &= at - 1) {
        sum += places->sums[at - 1];
    }
    return sum;
}

static enum sirix_status places_init(struct diff *diff, const struct patch_match *match,
                                     struct places *out, struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(&diff->scratch, match->a_count + 1, sizeof(uint32_t), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *out = (struct places){.sums = memory, .count = match->a_count + 1};
    for (size_t i = 0; i < match->a_count; i++) {
        if (match->a_to_b[i] != PATCH_NO_MATCH) {
            places_add(out, i + 1, 1);
        }
    }
    return SIRIX_OK;
}

/* An operation on a position of the array whose place is the first base bytes of diff->path. */
static enum sirix_status add_at(struct diff *diff, size_t base, const char *name, size_t position,
                                const struct sirix_json_node *value, struct sirix_error *err)
{
    diff->path.len = base;
    enum sirix_status status = sirix_json_pointer_add_position(&diff->path, position, err);

    return status == SIRIX_OK ? add_op(diff, name, false, value, err) : status;
}

static enum sirix_status add_move(struct diff *diff, size_t base, size_t from, size_t to,
                                  struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (from == to) {
        return SIRIX_OK;
    }
    diff->path.len = base;
    sirix_buf_clear(&diff->from);
    status = sirix_buf_append_bytes(&diff->from, sirix_buf_view(&diff->path), err);
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_add_position(&diff->from, from, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_add_position(&diff->path, to, err);
    }
    return status == SIRIX_OK ? add_op(diff, "move", true, NULL, err) : status;
}

static enum sirix_status change_elements(struct diff *diff, const struct patch_match *match,
                                         struct sirix_error *err)
{
    struct sirix_arena_mark mark = sirix_arena_mark(&diff->scratch);
    size_t base = diff->path.len;
    struct places places = {0};
    size_t anchor = 0; /* The slot that the next element goes to the end of. */
    enum sirix_status status = places_init(diff, match, &places, err);

    for (size_t i = match->a_count; i > 0 && status == SIRIX_OK; i--) {
        if (match->a_to_b[i - 1] == PATCH_NO_MATCH) {
            status = add_at(diff, base, "remove", i - 1, NULL, err);
        }
    }
    for (size_t i = 0; i < match->b_count && status == SIRIX_OK; i++) {
        uint32_t old = match->b_to_a[i];

        if (match->keeps[i]) {
            anchor = (size_t)old + 1;
        } else if (old == PATCH_NO_MATCH) {
            status = add_at(diff, base, "add", places_up_to(&places, anchor), match->b[i], err);
            places_add(&places, anchor, 1);
        } else {
            size_t from = places_up_to(&places, old); /* Slots before its own. */

            places_add(&places, (size_t)old + 1, UINT32_MAX);
            status = add_move(diff, base, from, places_up_to(&places, anchor), err);
            places_add(&places, anchor, 1);
        }
    }
    sirix_arena_rewind(&diff->scratch, mark);
    return status;
}

/* --- Members of objects ----------------------------------------------------------------------- */

static bool is_worth_a_move(const struct sirix_json_node *node)
{
    if (sirix_json_is_container(node)) {
        return sirix_json_first(node) != NULL;
    }
    return node->kind >= SIRIX_JSON_KIND_NUMBER && node->value.text.len >= RENAME_TEXT_BYTES;
}

static uint64_t address_of(const struct sirix_json_node *node)
{
    return (uint64_t)(uintptr_t)node;
}

static enum sirix_status note_rename(struct sirix_map *renames, struct sirix_json_node *old,
                                     struct sirix_json_node *renamed, struct sirix_error *err)
{
    enum sirix_status status = sirix_map_put_ptr(renames, address_of(renamed), old, err);

    return status == SIRIX_OK ? sirix_map_put_ptr(renames, address_of(old), renamed, err) : status;
}

/* Notes which removed member of a goes on under another name in b, both ways. */
static enum sirix_status find_renames(struct diff *diff, const struct pair *pair,
                                      struct sirix_map *renames, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    struct sirix_map gone;

    sirix_map_init(&gone);
    for (struct sirix_json_node *node = sirix_json_first(pair->a);
         node != NULL && status == SIRIX_OK; node = node->next) {
        if (is_worth_a_move(node) && sirix_json_member(diff->b_tree, pair->b, node->name) == NULL) {
            status = sirix_map_put_ptr(&gone, node->mark, node, err);
        }
    }
    for (struct sirix_json_node *node = sirix_json_first(pair->b);
         node != NULL && status == SIRIX_OK && gone.count != 0; node = node->next) {
        struct sirix_json_node *old = sirix_map_get_ptr(&gone, node->mark);

        if (old != NULL && sirix_json_member(diff->a_tree, pair->a, node->name) == NULL) {
            (void)sirix_map_remove(&gone, node->mark, NULL);
            status = note_rename(renames, old, node, err);
        }
    }
    sirix_map_deinit(&gone);
    return status;
}

/* An operation on a member; with old: a move from its name. */
static enum sirix_status add_member_op(struct diff *diff, size_t base, const char *op,
                                       const struct sirix_json_node *member,
                                       const struct sirix_json_node *old,
                                       const struct sirix_json_node *value, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    diff->path.len = base;
    if (old != NULL) {
        sirix_buf_clear(&diff->from);
        status = sirix_buf_append_bytes(&diff->from, sirix_buf_view(&diff->path), err);
        if (status == SIRIX_OK) {
            status = sirix_json_pointer_add_name(&diff->from, old->name, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_add_name(&diff->path, member->name, err);
    }
    return status == SIRIX_OK ? add_op(diff, op, old != NULL, value, err) : status;
}

static enum sirix_status change_members(struct diff *diff, const struct pair *pair,
                                        struct sirix_error *err)
{
    size_t base = diff->path.len;
    struct sirix_map renames;

    sirix_map_init(&renames);
    enum sirix_status status = find_renames(diff, pair, &renames, err);
    for (struct sirix_json_node *node = pair->a->value.list.last;
         node != NULL && status == SIRIX_OK; node = node->prev) {
        if (sirix_json_member(diff->b_tree, pair->b, node->name) == NULL &&
            sirix_map_get_ptr(&renames, address_of(node)) == NULL) {
            status = add_member_op(diff, base, "remove", node, NULL, NULL, err);
        }
    }
    for (struct sirix_json_node *node = sirix_json_first(pair->b);
         node != NULL && status == SIRIX_OK; node = node->next) {
        if (sirix_json_member(diff->a_tree, pair->a, node->name) == NULL) {
            struct sirix_json_node *old = sirix_map_get_ptr(&renames, address_of(node));

            status = old != NULL ? add_member_op(diff, base, "move", node, old, NULL, err)
                                 : add_member_op(diff, base, "add", node, NULL, node, err);
        }
    }
    sirix_map_deinit(&renames);
    return status;
}

/* --- The whole -------------------------------------------------------------------------------- */

static enum sirix_status change_children(struct diff *diff, size_t index, struct sirix_error *err)
{
    const struct pair *pair = pair_at(diff, index);

    if (!pair->is_container) {
        return SIRIX_OK;
    }
    enum sirix_status status = set_place(diff, &diff->path, index, err);
    if (status != SIRIX_OK) {
        return status;
    }
    return pair->match != NULL ? change_elements(diff, pair->match, err)
                               : change_members(diff, pair, err);
}

static enum sirix_status run(struct diff *diff, struct sirix_json_node *a,
                             struct sirix_json_node *b, struct sirix_error *err)
{
    uint32_t mark_count = 0;
    enum sirix_status status =
        patch_mark(&diff->scratch, diff->a_tree, a, diff->b_tree, b, &mark_count, err);

    if (status == SIRIX_OK) {
        status =
            patch_matcher_init(&diff->matcher, &diff->scratch, &diff->a_tree->key, mark_count, err);
    }
    if (status == SIRIX_OK) {
        status = add_pair(diff, a, b, 0, 0, err);
    }
    for (size_t i = 0; i < pair_count(diff) && status == SIRIX_OK; i++) {
        status = compare_pair(diff, i, err);
    }
    for (size_t i = pair_count(diff); i > 0 && status == SIRIX_OK; i--) {
        status = change_children(diff, i - 1, err);
    }
    return status;
}

enum sirix_status sirix_json_patch_diff(struct sirix_json_tree *a_tree, struct sirix_json_node *a,
                                        struct sirix_json_tree *b_tree, struct sirix_json_node *b,
                                        struct sirix_json_tree *out_patch,
                                        const struct sirix_json_patch_options *options,
                                        struct sirix_error *err)
{
    struct diff diff = {
        .a_tree = a_tree,
        .b_tree = b_tree,
        .out = out_patch,
        .op_max =
            options != NULL && options->max_ops != 0 ? options->max_ops : SIRIX_JSON_PATCH_MAX_OPS,
    };

    sirix_arena_init(&diff.scratch, SIZE_MAX);
    sirix_buf_init(&diff.pairs, SIZE_MAX);
    sirix_buf_init(&diff.chain, SIZE_MAX);
    sirix_buf_init(&diff.path, SIZE_MAX);
    sirix_buf_init(&diff.from, SIZE_MAX);
    enum sirix_status status = sirix_json_new(out_patch, SIRIX_JSON_KIND_ARRAY, &diff.ops, err);
    if (status == SIRIX_OK) {
        status = run(&diff, a, b, err);
    }
    if (status == SIRIX_OK && diff.op_count > diff.op_max) {
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "the patch needs %zu operations; at most %zu are allowed",
                                   diff.op_count, diff.op_max);
    }
    if (status == SIRIX_OK) {
        out_patch->root = diff.ops;
    }
    sirix_buf_deinit(&diff.from);
    sirix_buf_deinit(&diff.path);
    sirix_buf_deinit(&diff.chain);
    sirix_buf_deinit(&diff.pairs);
    sirix_arena_deinit(&diff.scratch);
    return status;
}
