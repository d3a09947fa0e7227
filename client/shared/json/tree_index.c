/*
 * Lists with two helps: elements are found from the nearest known place, members of objects past a
 * few through an open hash table that is made on the first look-up and kept up from then on.
 */
#include "json/tree_index.h"

#include <assert.h>

enum { INDEX_MEMBERS_MIN = 12, INDEX_SLOTS_MIN = 32 };

static uint32_t hash_of(const struct sirix_json_children *index, struct sirix_bytes name)
{
    return (uint32_t)sirix_hash(&index->key, name.data, name.len);
}

static void slot_add(struct sirix_json_children *index, struct sirix_json_node *node)
{
    size_t mask = index->slot_count - 1;

    node->name_hash = hash_of(index, node->name);

    size_t at = node->name_hash & mask;

    while (index->slots[at] != NULL) {
        at = (at + 1) & mask;
    }
    index->slots[at] = node;
}

/* Later entries of the run move back, so that no look-up breaks off early. */
static void slot_remove(struct sirix_json_children *index, const struct sirix_json_node *node)
{
    size_t mask = index->slot_count - 1;
    size_t hole = node->name_hash & mask;

    while (index->slots[hole] != node) {
        assert(index->slots[hole] != NULL);
        hole = (hole + 1) & mask;
    }
    for (size_t at = (hole + 1) & mask; index->slots[at] != NULL; at = (at + 1) & mask) {
        size_t home = index->slots[at]->name_hash & mask;

        if (((at - home) & mask) >= ((at - hole) & mask)) {
            index->slots[hole] = index->slots[at];
            hole = at;
        }
    }
    index->slots[hole] = NULL;
}

static void index_drop(struct sirix_json_children *index)
{
    index->slots = NULL;
    index->slot_count = 0;
}

/* Makes the table for all members; without memory there is none, and look-ups walk. */
static void index_make(struct sirix_json_tree *tree, struct sirix_json_node *object)
{
    struct sirix_json_children *index = object->value.list.index;
    size_t slot_count = INDEX_SLOTS_MIN;
    void *memory = NULL;

    while (slot_count / 2 < object->value.list.count) {
        slot_count *= 2;
    }
    slot_count *= 2; /* Room to grow before the next time. */
    if (index == NULL) {
        if (sirix_arena_calloc(tree->arena, 1, sizeof(*index), &memory, NULL) != SIRIX_OK) {
            return;
        }
        index = memory;
        index->key = tree->key;
        object->value.list.index = index;
    }
    if (sirix_arena_calloc(tree->arena, slot_count, sizeof(struct sirix_json_node *), &memory,
                           NULL) != SIRIX_OK) {
        return;
    }
    index->slots = memory;
    index->slot_count = slot_count;
    for (struct sirix_json_node *node = object->value.list.first; node != NULL; node = node->next) {
        slot_add(index, node);
    }
}

void json_link(struct sirix_json_node *container, struct sirix_json_node *before,
               struct sirix_json_node *node)
{
    struct sirix_json_node *prev = before == NULL ? container->value.list.last : before->prev;
    struct sirix_json_children *index = container->value.list.index;

    assert(node->parent == NULL);

    node->parent = container;
    node->prev = prev;
    node->next = before;
    if (prev == NULL) {
        container->value.list.first = node;
    } else {
        prev->next = node;
    }
    if (before == NULL) {
        container->value.list.last = node;
    } else {
        before->prev = node;
    }
    container->value.list.count++;
    if (index == NULL) {
        return;
    }
    /* Only a change right at the known element keeps what is known about its position. */
    if (before != NULL && before == index->near) {
        index->near = node;
    } else if (before != NULL) {
        index->near = NULL;
    }
    if (index->slots != NULL) {
        if (container->value.list.count > index->slot_count / 2) {
            index_drop(index);
        } else {
            slot_add(index, node);
        }
    }
}

void json_unlink(struct sirix_json_node *node)
{
    struct sirix_json_node *container = node->parent;
    struct sirix_json_children *index = container->value.list.index;

    if (index != NULL) {
        if (index->near == node && node->next != NULL) {
            index->near = node->next;
        } else if (index->near == node && node->prev != NULL) {
            index->near = node->prev;
            index->near_position--;
        } else if (node->next != NULL || index->near == node) {
            index->near = NULL;
        }
        if (index->slots != NULL) {
            slot_remove(index, node);
        }
    }
    if (node->prev == NULL) {
        container->value.list.first = node->next;
    } else {
        node->prev->next = node->next;
    }
    if (node->next == NULL) {
        container->value.list.last = node->prev;
    } else {
        node->next->prev = node->prev;
    }
    container->value.list.count--;
    node->parent = NULL;
    node->prev = NULL;
    node->next = NULL;
}

void json_exchange(struct sirix_json_node *placed, struct sirix_json_node *node)
{
    struct sirix_json_node *container = placed->parent;
    struct sirix_json_node *next = placed->next;

    json_unlink(placed);
    json_link(container, next, node);
}

struct sirix_json_node *sirix_json_member(struct sirix_json_tree *tree,
                                          struct sirix_json_node *object, struct sirix_bytes name)
{
    struct sirix_json_children *index = object->value.list.index;

    if (object->value.list.count > INDEX_MEMBERS_MIN && (index == NULL || index->slots == NULL)) {
        index_make(tree, object);
        index = object->value.list.index;
    }
    if (index == NULL || index->slots == NULL) {
        struct sirix_json_node *node = object->value.list.first;

        while (node != NULL && !sirix_bytes_equal(node->name, name)) {
            node = node->next;
        }
        return node;
    }
    size_t mask = index->slot_count - 1;
    uint32_t hash = hash_of(index, name);
    size_t at = hash & mask;
    while (index->slots[at] != NULL) {
        if (index->slots[at]->name_hash == hash &&
            sirix_bytes_equal(index->slots[at]->name, name)) {
            return index->slots[at];
        }
        at = (at + 1) & mask;
    }
    return NULL;
}

/* --- Elements --------------------------------------------------------------------------------- */

static struct sirix_json_node *step(struct sirix_json_node *from, size_t from_position,
                                    size_t position)
{
    for (; from_position < position; from_position++) {
        from = from->next;
    }
    for (; from_position > position; from_position--) {
        from = from->prev;
    }
    return from;
}

struct sirix_json_node *sirix_json_element(struct sirix_json_tree *tree,
                                           struct sirix_json_node *array, size_t position)
{
    struct sirix_json_children *index = array->value.list.index;
    struct sirix_json_node *from = array->value.list.first;
    size_t from_position = 0;
    size_t distance = position;

    if (position >= array->value.list.count) {
        return NULL;
    }
    if (array->value.list.count - 1 - position < distance) {
        from = array->value.list.last;
        from_position = array->value.list.count - 1;
        distance = from_position - position;
    }
    if (index != NULL && index->near != NULL) {
        size_t near = index->near_position;
        size_t from_near = near > position ? near - position : position - near;

        if (from_near < distance) {
            from = index->near;
            from_position = near;
        }
    }
    struct sirix_json_node *node = step(from, from_position, position);
    if (index == NULL && array->value.list.count > INDEX_MEMBERS_MIN) {
        void *memory = NULL;

        if (sirix_arena_calloc(tree->arena, 1, sizeof(*index), &memory, NULL) == SIRIX_OK) {
            index = memory;
            index->key = tree->key;
            array->value.list.index = index;
        }
    }
    if (index != NULL) {
        index->near = node;
        index->near_position = position;
    }
    return node;
}

size_t sirix_json_position(const struct sirix_json_node *node)
{
    size_t position = 0;

    for (const struct sirix_json_node *prev = node->prev; prev != NULL; prev = prev->prev) {
        position++;
    }
    return position;
}
