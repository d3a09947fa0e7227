/*
 * Marks: every distinct value of two trees gets a number, from the leaves up. A container is told by
 * the numbers of its children, so each comparison costs its children and not its whole subtree.
 */
#include <assert.h>
#include <string.h>

#include "base/hash.h"
#include "json/patch_internal.h"
#include "json/tree_index.h"

enum { SLOTS_FIRST = 64 };

struct slot {
    uint64_t hash;
    struct sirix_json_node *node; /* NULL: free. The first one of its value. */
};

struct marks {
    struct sirix_arena *scratch;
    struct sirix_json_tree *a_tree;
    struct sirix_json_tree *b_tree;
    uint32_t a_count; /* Marks up to here have their first node in a, higher ones in b. */
    struct slot *slots;
    size_t slot_count;
    uint32_t count;
};

static uint64_t hash_bytes(const struct marks *marks, struct sirix_bytes bytes)
{
    return sirix_hash(&marks->a_tree->key, bytes.data, bytes.len);
}

static uint64_t hash_of(const struct marks *marks, const struct sirix_json_node *node)
{
    uint64_t hash = sirix_mix64(node->kind + UINT64_C(1));

    if (!sirix_json_is_container(node)) {
        bool has_text = node->kind >= SIRIX_JSON_KIND_NUMBER;

        return has_text ? hash ^ hash_bytes(marks, node->value.text) : hash;
    }
    for (const struct sirix_json_node *child = sirix_json_first(node); child != NULL;
         child = child->next) {
        if (node->kind == SIRIX_JSON_KIND_ARRAY) {
            hash = sirix_mix64(hash * 31 + child->mark);
        } else {
            hash += sirix_mix64(hash_bytes(marks, child->name) + child->mark);
        }
    }
    return hash;
}

static bool same_children(const struct marks *marks, const struct sirix_json_node *a,
                          struct sirix_json_node *b)
{
    const struct sirix_json_node *left = sirix_json_first(a);
    const struct sirix_json_node *right = sirix_json_first(b);
    /* A look-up may make an index, which must lie in the arena of the node's own tree. */
    struct sirix_json_tree *b_owner = b->mark <= marks->a_count ? marks->a_tree : marks->b_tree;

    for (; left != NULL; left = left->next) {
        const struct sirix_json_node *other = right;

        if (left->has_name && !sirix_bytes_equal(left->name, right->name)) {
            other = sirix_json_member(b_owner, b, left->name);
        }
        if (other == NULL || other->mark != left->mark) {
            return false;
        }
        right = right->next; /* Both have the same number of children. */
    }
    return true;
}

static bool same(const struct marks *marks, const struct sirix_json_node *a,
                 struct sirix_json_node *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (sirix_json_is_container(a)) {
        return sirix_json_count(a) == sirix_json_count(b) && same_children(marks, a, b);
    }
    return a->kind < SIRIX_JSON_KIND_NUMBER || sirix_bytes_equal(a->value.text, b->value.text);
}

static void fill_slot(struct slot *slots, size_t slot_count, struct slot slot)
{
    size_t at = (size_t)slot.hash & (slot_count - 1);

    while (slots[at].node != NULL) {
        at = (at + 1) & (slot_count - 1);
    }
    slots[at] = slot;
}

static enum sirix_status grow(struct marks *marks, struct sirix_error *err)
{
    size_t slot_count = marks->slot_count == 0 ? SLOTS_FIRST : marks->slot_count * 2;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(marks->scratch, slot_count, sizeof(struct slot), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct slot *slots = memory;
    for (size_t i = 0; i < marks->slot_count; i++) {
        if (marks->slots[i].node != NULL) {
            fill_slot(slots, slot_count, marks->slots[i]);
        }
    }
    marks->slots = slots;
    marks->slot_count = slot_count;
    return SIRIX_OK;
}

/* Marks a node whose children are marked. */
static enum sirix_status mark_node(struct marks *marks, struct sirix_json_node *node,
                                   struct sirix_error *err)
{
    uint64_t hash = hash_of(marks, node);

    if (marks->count >= marks->slot_count / 2) {
        enum sirix_status status = grow(marks, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    size_t at = (size_t)hash & (marks->slot_count - 1);
    for (; marks->slots[at].node != NULL; at = (at + 1) & (marks->slot_count - 1)) {
        struct slot *slot = &marks->slots[at];

        if (slot->hash == hash && same(marks, node, slot->node)) {
            node->mark = slot->node->mark;
            return SIRIX_OK;
        }
    }
    assert(marks->count < PATCH_NO_MATCH - 1);
    marks->slots[at] = (struct slot){.hash = hash, .node = node};
    node->mark = ++marks->count;
    return SIRIX_OK;
}

/* Marks a subtree, children before their parent. */
static enum sirix_status mark_tree(struct marks *marks, struct sirix_json_node *top,
                                   struct sirix_error *err)
{
    struct sirix_json_node *node = top;

    for (;;) {
        while (sirix_json_is_container(node) && sirix_json_first(node) != NULL) {
            node = sirix_json_first(node);
        }
        enum sirix_status status = mark_node(marks, node, err);
        while (status == SIRIX_OK && node != top && node->next == NULL) {
            node = node->parent;
            status = mark_node(marks, node, err);
        }
        if (status != SIRIX_OK || node == top) {
            return status;
        }
        node = node->next;
    }
}

enum sirix_status patch_mark(struct sirix_arena *scratch, struct sirix_json_tree *a_tree,
                             struct sirix_json_node *a, struct sirix_json_tree *b_tree,
                             struct sirix_json_node *b, uint32_t *out_marks,
                             struct sirix_error *err)
{
    struct marks marks = {
        .scratch = scratch, .a_tree = a_tree, .b_tree = b_tree, .a_count = UINT32_MAX};
    enum sirix_status status = mark_tree(&marks, a, err);

    if (status == SIRIX_OK) {
        marks.a_count = marks.count;
        status = mark_tree(&marks, b, err);
    }
    if (status == SIRIX_OK) {
        *out_marks = marks.count;
    }
    return status;
}
