/*
 * Documents as they are read: one stored revision behind the questions of document.h.
 */
#include "store/document/document.h"

#include "store/document/rows.h"

void sirix_document_init(struct sirix_document *document, const struct sirix_view *view,
                         struct sirix_reader *reader)
{
    document->view = view;
    document->reader = reader;
    sirix_trie_cursor_init(&document->cursor, reader, view->record.trie);
}

enum sirix_status sirix_document_get(struct sirix_document *document, uint64_t key,
                                     struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);

    return sirix_rows_node(&rows, key, out_node, err);
}

enum sirix_status sirix_document_has_value(struct sirix_document *document, bool *out_has,
                                           struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_trie_get(&document->cursor, 1, &row, err);

    if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
        return status;
    }
    *out_has = status == SIRIX_OK;
    return SIRIX_OK;
}

/* --- Navigation ---------------------------------------------------------------------------------- */

static enum sirix_status list_of_key(struct sirix_rows *rows, uint64_t key,
                                     struct sirix_list *out_list, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = sirix_rows_node(rows, key, &node, err);

    return status == SIRIX_OK ? sirix_list_of(rows, &node, out_list, err) : status;
}

enum sirix_status sirix_document_first_child(struct sirix_document *document, uint64_t key,
                                             uint64_t *out_key, struct sirix_error *err)
{
    return sirix_document_child_at(document, key, 0, out_key, err);
}

enum sirix_status sirix_document_last_child(struct sirix_document *document, uint64_t key,
                                            uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_list list = {0};
    enum sirix_status status = list_of_key(&rows, key, &list, err);

    if (status == SIRIX_OK && list.count == 0) {
        return SIRIX_NOT_FOUND;
    }
    return status == SIRIX_OK ? sirix_list_at(&rows, &list, list.count - 1, out_key, err) : status;
}

enum sirix_status sirix_document_child_at(struct sirix_document *document, uint64_t key,
                                          uint64_t index, uint64_t *out_key,
                                          struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_list list = {0};
    enum sirix_status status = list_of_key(&rows, key, &list, err);

    return status == SIRIX_OK ? sirix_list_at(&rows, &list, index, out_key, err) : status;
}

/* Where a node stands: the list of its parent and its index there. NOT_FOUND for the document. */
static enum sirix_status place_of(struct sirix_rows *rows, uint64_t key,
                                  struct sirix_list *out_list, uint64_t *out_index,
                                  struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = sirix_rows_node(rows, key, &node, err);

    if (status == SIRIX_OK && node.kind == SIRIX_NODE_DOCUMENT) {
        return SIRIX_NOT_FOUND;
    }
    if (status == SIRIX_OK) {
        status = list_of_key(rows, node.parent, out_list, err);
    }
    return status == SIRIX_OK
               ? sirix_list_index(rows, out_list, sirix_node_listed(&node), out_index, err)
               : status;
}

enum sirix_status sirix_document_child_index(struct sirix_document *document, uint64_t key,
                                             uint64_t *out_index, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_list list = {0};

    return place_of(&rows, key, &list, out_index, err);
}

enum sirix_status sirix_document_left_sibling(struct sirix_document *document, uint64_t key,
                                              uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_list list = {0};
    uint64_t index = 0;
    enum sirix_status status = place_of(&rows, key, &list, &index, err);

    if (status == SIRIX_OK && index == 0) {
        return SIRIX_NOT_FOUND;
    }
    return status == SIRIX_OK ? sirix_list_at(&rows, &list, index - 1, out_key, err) : status;
}

enum sirix_status sirix_document_right_sibling(struct sirix_document *document, uint64_t key,
                                               uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_list list = {0};
    uint64_t index = 0;
    enum sirix_status status = place_of(&rows, key, &list, &index, err);

    return status == SIRIX_OK ? sirix_list_at(&rows, &list, index + 1, out_key, err) : status;
}

enum sirix_status sirix_document_member(struct sirix_document *document, uint64_t key,
                                        struct sirix_bytes name, uint64_t *out_key,
                                        struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_document_node node = {0};
    struct sirix_list list = {0};
    /* 0 is the value slot here: its members are those of the value. */
    enum sirix_status status = sirix_rows_node(&rows, key == 0 ? 1 : key, &node, err);

    if (status == SIRIX_OK) {
        status = sirix_list_of(&rows, &node, &list, err);
    }
    return status == SIRIX_OK ? sirix_list_member(&rows, &list, name, out_key, err) : status;
}

/* --- Children ------------------------------------------------------------------------------------ */

enum sirix_status sirix_children_init(struct sirix_children *children,
                                      struct sirix_document *document, uint64_t key,
                                      uint64_t first_index, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);
    struct sirix_siblings siblings;
    struct sirix_list list = {0};
    enum sirix_status status = list_of_key(&rows, key, &list, err);

    if (status == SIRIX_OK) {
        status = sirix_siblings_init(&siblings, &rows, &list, first_index, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    children->document = document;
    children->container = list.container;
    children->index = first_index;
    children->count = list.count;
    children->tree = siblings.form == SIRIX_SIBLINGS_TREE;
    children->generation = sirix_reader_generation(document->reader);
    if (children->tree) {
        children->cursor = siblings.from.cursor;
    } else {
        memcpy(children->keys, siblings.from.keys, (size_t)list.count * sizeof(children->keys[0]));
    }
    return SIRIX_OK;
}

enum sirix_status sirix_children_next(struct sirix_children *children, uint64_t *out_key,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (children->index >= children->count) {
        return SIRIX_NOT_FOUND;
    }
    if (children->tree) {
        status = sirix_child_cursor_next(&children->cursor, out_key, err);
        if (status == SIRIX_NOT_FOUND) {
            return sirix_fail(err, SIRIX_CORRUPT, "a child tree ends before its count");
        }
    } else {
        *out_key = children->keys[children->index];
    }
    if (status == SIRIX_OK) {
        children->index++;
    }
    return status;
}
