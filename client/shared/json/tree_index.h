/*
 * The children of a container: the list, and what makes long lists quick to look into. Internal to
 * json/; whoever changes a list goes through these.
 */
#ifndef SIRIX_JSON_TREE_INDEX_H
#define SIRIX_JSON_TREE_INDEX_H

#include "json/tree.h"

/* Private parts of a container with many children; lies in the tree's arena. */
struct sirix_json_children {
    struct sirix_json_node *near; /* Element found last, at near_position; NULL: none. */
    size_t near_position;
    struct sirix_json_node **slots; /* Members by name hash; NULL: not made. */
    size_t slot_count;              /* A power of two. */
    struct sirix_hash_key key;      /* The tree's. */
};

/* Links a node that is not placed before another (NULL: at the end). */
void json_link(struct sirix_json_node *container, struct sirix_json_node *before,
               struct sirix_json_node *node);

/* Takes a placed node out. */
void json_unlink(struct sirix_json_node *node);

/* Puts a node that is not placed where a placed one is, which is taken out. */
void json_exchange(struct sirix_json_node *placed, struct sirix_json_node *node);

#endif
