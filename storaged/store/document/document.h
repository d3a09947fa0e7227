/*
 * A document: one revision of a resource as people know it: objects, arrays, members, elements.
 *
 * Nodes      are named by key. Document 0; its value 1. A member (field) is ONE node here, named by k:
 *            asking for k + 1 gives k, through every function; answers never name k + 1. The children
 *            of a member with a container value are the container's children, and their parent is k.
 *            0 and 1 as a parent mean the same: the document's value slot.
 * Slices     texts in a node live until the reader's next yield. Cursors, walks and serialisers
 *            survive yields; no function here yields.
 * Depth      no C recursion follows the document's depth.
 * Errors     NOT_FOUND node_unknown names key and revision; CORRUPT names what and where.
 */
#ifndef SIRIX_STORE_DOCUMENT_DOCUMENT_H
#define SIRIX_STORE_DOCUMENT_DOCUMENT_H

#include "base/buf.h"
#include "store/child/child_tree.h"
#include "store/page/node.h"
#include "store/revision/view.h"

enum { SIRIX_DOCUMENT_DEPTH_MAX = 1000 };

/* Caller's storage. The view must stay open and the reader must be used by one thread. */
struct sirix_document {
    const struct sirix_view *view;
    struct sirix_reader *reader;
    struct sirix_trie_cursor cursor;
};
void sirix_document_init(struct sirix_document *document, const struct sirix_view *view,
                         struct sirix_reader *reader);

/* One node as seen from outside. */
struct sirix_document_node {
    uint64_t key;    /* Canonical: a member's k. */
    uint64_t parent; /* Canonical. Of key 1: 0. */
    bool is_member;
    enum sirix_node_kind kind; /* Of the value: OBJECT, ARRAY, STRING, INTEGER, NUMBER, TRUE, ... */
    uint64_t child_count;      /* Containers. */
    struct sirix_bytes name;   /* Members: stored form; empty when the name is out of line. */
    struct sirix_text long_name; /* Set when the name is out of line. */
    struct sirix_node
        stored; /* The row that holds the value (for a container: row of the container). */
    struct sirix_node field; /* Members with a container value: the field row. Else kind 0. */
};
enum sirix_status sirix_document_get(struct sirix_document *document, uint64_t key,
                                     struct sirix_document_node *out_node,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the resource has a value at all in this revision. */
enum sirix_status sirix_document_has_value(struct sirix_document *document, bool *out_has,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Navigation: SIRIX_NOT_FOUND (reason NONE) where there is no such neighbour -------------------- */
enum sirix_status sirix_document_first_child(struct sirix_document *document, uint64_t key,
                                             uint64_t *out_key,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_document_last_child(struct sirix_document *document, uint64_t key,
                                            uint64_t *out_key,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_document_left_sibling(struct sirix_document *document, uint64_t key,
                                              uint64_t *out_key,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_document_right_sibling(struct sirix_document *document, uint64_t key,
                                               uint64_t *out_key,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
/* Child `index` (from 0), O(log n); index of a child; a member by its name (stored form). */
enum sirix_status sirix_document_child_at(struct sirix_document *document, uint64_t key,
                                          uint64_t index, uint64_t *out_key,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_document_child_index(struct sirix_document *document, uint64_t key,
                                             uint64_t *out_index,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_document_member(struct sirix_document *document, uint64_t key,
                                        struct sirix_bytes name, uint64_t *out_key,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Children of a container from any index on, in order; survives yields. Caller's storage. */
struct sirix_children {
    struct sirix_document *document;
    uint64_t container; /* Row key of the container. */
    uint64_t index;
    uint64_t count;
    bool tree;
    struct sirix_child_cursor cursor;
    uint64_t generation;
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
};
enum sirix_status sirix_children_init(struct sirix_children *children,
                                      struct sirix_document *document, uint64_t key,
                                      uint64_t first_index,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_children_next(struct sirix_children *children, uint64_t *out_key,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Pre-order walk of the subtree of key, key first. depth 0 is key itself. Heap memory: O(depth). */
struct sirix_walk;
enum sirix_status sirix_walk_new(struct sirix_document *document, uint64_t key,
                                 struct sirix_walk **out_walk,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_walk_free(struct sirix_walk *walk);
enum sirix_status sirix_walk_next(struct sirix_walk *walk, struct sirix_document_node *out_node,
                                  uint32_t *out_depth, struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Paths --------------------------------------------------------------------------------------- */

/* Appends the path of key: form SIRIX_PATH (`/users/[5]/name`) or SIRIX_PATH_POINTER (RFC 6901). */
enum sirix_path_form { SIRIX_PATH_SIRIX, SIRIX_PATH_POINTER };
enum sirix_status sirix_document_path(struct sirix_document *document, uint64_t key,
                                      enum sirix_path_form form, struct sirix_buf *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* The node at a path or pointer ("" is the value, key 1); NOT_FOUND names the first step that fails. */
enum sirix_status sirix_document_resolve(struct sirix_document *document, enum sirix_path_form form,
                                         struct sirix_bytes path, uint64_t *out_key,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Text ------------------------------------------------------------------------------------------ */

/*
 * Appends the JSON text of a scalar node's value. Long strings only up to max_bytes of their text
 * (cut at a character; *out_cut tells).
 */
enum sirix_status sirix_document_scalar(struct sirix_document *document,
                                        const struct sirix_document_node *node, size_t max_bytes,
                                        struct sirix_buf *out, bool *out_cut,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Serialises the value of key as JSON text, a piece at a time: each step appends about max_bytes to
 * out (a long string's chunk may pass it by SIRIX_SEGMENT_BULK_BYTES). Yield between steps.
 */
struct sirix_serialiser;
struct sirix_serialise_options {
    uint64_t key;          /* 0: the whole document. */
    uint32_t indent;       /* 0: minified. */
    uint32_t depth_max;    /* Levels below key that are written; 0: all. Cut containers are written
                           empty. Output is valid JSON in every case. */
    uint64_t children_max; /* Of each container; 0: all. */
    uint64_t nodes_max;    /* 0: all. */
};
enum sirix_status sirix_serialiser_new(struct sirix_document *document,
                                       const struct sirix_serialise_options *options,
                                       struct sirix_serialiser **out_serialiser,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_serialiser_free(struct sirix_serialiser *serialiser);
enum sirix_status sirix_serialiser_step(struct sirix_serialiser *serialiser, size_t max_bytes,
                                        struct sirix_buf *out, bool *out_done,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* Nodes written so far, or begun. */
uint64_t sirix_serialiser_nodes(const struct sirix_serialiser *serialiser);

#endif
