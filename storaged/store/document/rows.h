/*
 * Rows and child lists of one state of a document, wherever it comes from: a stored revision, read
 * through a trie cursor, or an edit in progress. Everything that reads documents is written once, on
 * top of this.
 *
 * Private to this folder. Slices live until the next yield of the reader or change of the edit.
 */
#ifndef SIRIX_STORE_DOCUMENT_ROWS_H
#define SIRIX_STORE_DOCUMENT_ROWS_H

#include "store/document/document.h"

struct sirix_edit;

struct sirix_rows {
    struct sirix_reader *reader;
    struct sirix_resource *resource;
    struct sirix_trie_cursor *cursor; /* A stored revision; NULL: the edit. */
    struct sirix_edit *edit;
    uint64_t revision; /* For messages: the revision, or the one the edit stands on. */
};

struct sirix_rows sirix_rows_of_document(struct sirix_document *document);
struct sirix_rows sirix_rows_of_edit(struct sirix_edit *edit);

/* The row that covers key; NOT_FOUND without a sentence. */
enum sirix_status sirix_rows_get(struct sirix_rows *rows, uint64_t key, struct sirix_row *out_row,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The node that a caller calls key: k + 1 gives member k, the parent is canonical. NOT_FOUND
 * (node_unknown) names key and revision.
 */
enum sirix_status sirix_rows_node(struct sirix_rows *rows, uint64_t key,
                                  struct sirix_document_node *out_node,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The node that a child list calls key: nothing beside it is read, and parent stays the row key of
 * the container. An absent row is SIRIX_CORRUPT.
 */
enum sirix_status sirix_rows_child(struct sirix_rows *rows, uint64_t key,
                                   struct sirix_document_node *out_node,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The row that stands in the parent's child list: a member's row k, else the value's row. */
static inline const struct sirix_node *sirix_node_listed(const struct sirix_document_node *node)
{
    return node->field.kind != SIRIX_NODE_DOCUMENT ? &node->field : &node->stored;
}

/* What callers call the container whose row key this is. */
enum sirix_status sirix_rows_canonical(struct sirix_rows *rows, uint64_t container,
                                       uint64_t *out_key, struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Child lists ------------------------------------------------------------------------------- */

/* The children of one node as its source has them now. Scalars have none. */
struct sirix_open_list; /* edit_state.h */
struct sirix_list {
    enum sirix_node_kind kind; /* Of the node; DOCUMENT too. */
    uint64_t container;        /* Row key. */
    uint64_t count;
    struct sirix_node stored;     /* The container's row. */
    struct sirix_open_list *open; /* An edit's changed child tree; NULL: as stored. */
};

/* The list of a node read before. */
enum sirix_status sirix_list_of(struct sirix_rows *rows, const struct sirix_document_node *node,
                                struct sirix_list *out_list,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* Child index; NOT_FOUND past the last. */
enum sirix_status sirix_list_at(struct sirix_rows *rows, const struct sirix_list *list,
                                uint64_t index, uint64_t *out_key,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* The index of a child whose listed row is given; not in its list is SIRIX_CORRUPT. */
enum sirix_status sirix_list_index(struct sirix_rows *rows, const struct sirix_list *list,
                                   const struct sirix_node *listed, uint64_t *out_index,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The member with this name (stored form); NOT_FOUND without a sentence. */
enum sirix_status sirix_list_member(struct sirix_rows *rows, const struct sirix_list *list,
                                    struct sirix_bytes name, uint64_t *out_key,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the member's name is this one. */
enum sirix_status sirix_rows_name_equals(struct sirix_rows *rows, const struct sirix_node *field,
                                         struct sirix_bytes name, bool *out_equal,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Walks a list forward from any index; survives yields, not changes. */
enum sirix_siblings_form {
    SIRIX_SIBLINGS_KEYS,
    SIRIX_SIBLINGS_TREE,
    SIRIX_SIBLINGS_EDIT,
};
struct sirix_siblings {
    enum sirix_siblings_form form;
    uint64_t index; /* Of the child that _next() gives. */
    uint64_t count;
    union {
        uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
        struct sirix_child_cursor cursor;
        struct sirix_child_edit *edit;
    } from;
};
enum sirix_status sirix_siblings_init(struct sirix_siblings *siblings, struct sirix_rows *rows,
                                      const struct sirix_list *list, uint64_t first_index,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* NOT_FOUND after the last. */
enum sirix_status sirix_siblings_next(struct sirix_siblings *siblings, uint64_t *out_key,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Texts ------------------------------------------------------------------------------------- */

/* Bytes that the JSON text of a scalar row takes, quotes included. */
uint64_t sirix_scalar_text_len(const struct sirix_node *node);

/* Appends an integer or a number of decimal form. */
enum sirix_status sirix_scalar_append_number(const struct sirix_node *node, struct sirix_buf *out,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends len bytes of a text from offset on, inline or out of line; the range lies in the text. */
enum sirix_status sirix_rows_text(struct sirix_rows *rows, const struct sirix_text *text,
                                  uint64_t offset, size_t len, struct sirix_buf *out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a stored text is these bytes. */
enum sirix_status sirix_rows_text_equals(struct sirix_rows *rows, const struct sirix_text *text,
                                         struct sirix_bytes bytes, bool *out_equal,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* As sirix_document_scalar(), of any state. */
enum sirix_status sirix_rows_scalar(struct sirix_rows *rows, const struct sirix_node *node,
                                    size_t max_bytes, struct sirix_buf *out, bool *out_cut,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the stored form of a member's name, wherever it lies. */
enum sirix_status sirix_rows_name(struct sirix_rows *rows, const struct sirix_node *field,
                                  struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;
/* Its length. */
enum sirix_status sirix_rows_name_len(struct sirix_rows *rows, const struct sirix_node *field,
                                      uint64_t *out_len, struct sirix_error *err) SIRIX_MUST_CHECK;

/* As sirix_document_path(), of any state. */
enum sirix_status sirix_rows_path(struct sirix_rows *rows, uint64_t key, enum sirix_path_form form,
                                  struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends a slash and a member's name as it stands in a path. */
enum sirix_status sirix_path_append_member(struct sirix_rows *rows, const struct sirix_node *field,
                                           enum sirix_path_form form, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Serialising any state ----------------------------------------------------------------------- */

/* As sirix_walk_new() and sirix_serialiser_new(), for an edit too; it may not change meanwhile. */
enum sirix_status sirix_walk_new_rows(const struct sirix_rows *rows, uint64_t key,
                                      struct sirix_walk **out_walk,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_serialiser_new_rows(const struct sirix_rows *rows,
                                            const struct sirix_serialise_options *options,
                                            struct sirix_serialiser **out_serialiser,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
