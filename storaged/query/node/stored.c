/* Rows, members and child lists of a stored revision, through one trie cursor. */
#include "query/node/stored.h"

#include <inttypes.h>

#include "store/page/string.h"

static enum sirix_status damaged(const struct sirix_document *document, uint64_t key,
                                 const char *what, struct sirix_error *err)
{
    return sirix_fail(
        err, SIRIX_CORRUPT, "node %" PRIu64 " of resource %s, revision %" PRIu64 ": %s", key,
        sirix_resource_name(document->view->resource), document->view->record.revision, what);
}

enum sirix_status sirix_stored_row(struct sirix_document *document, uint64_t key,
                                   struct sirix_row *out_row, struct sirix_error *err)
{
    enum sirix_status status = sirix_trie_get(&document->cursor, key, out_row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && out_row->key != key)) {
        return damaged(document, key, "another row names it, and it has no row", err);
    }
    return status;
}

enum sirix_status sirix_stored_get(struct sirix_document *document, uint64_t key,
                                   struct sirix_node *out_node, struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_stored_row(document, key, &row, err);

    return status == SIRIX_OK ? sirix_node_decode(row.record, key, out_node, err) : status;
}

enum sirix_status sirix_stored_value(struct sirix_document *document, uint64_t listed,
                                     struct sirix_node *out_node, struct sirix_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_stored_row(document, listed, &row, err);

    if (status == SIRIX_OK && sirix_stored_kind(row.record.data) == SIRIX_NODE_FIELD) {
        status = sirix_stored_row(document, listed + 1, &row, err);
        if (status == SIRIX_OK && !sirix_node_is_container(sirix_stored_kind(row.record.data))) {
            return damaged(document, listed, "a member's value row is not its container", err);
        }
    }
    return status == SIRIX_OK ? sirix_node_decode(row.record, row.key, out_node, err) : status;
}

/* --- Members -------------------------------------------------------------------------------------- */

static enum sirix_status text_equals(struct sirix_document *document, const struct sirix_text *text,
                                     struct sirix_bytes bytes, bool *out_equal,
                                     struct sirix_error *err)
{
    struct sirix_string_reader string = {0};
    uint64_t offset = 0;
    bool equal = text->len == bytes.len;

    if (text->address == 0) {
        *out_equal = sirix_bytes_equal(text->bytes, bytes);
        return SIRIX_OK;
    }
    enum sirix_status status =
        equal ? sirix_string_reader_init(&string, document->reader, text->address, err) : SIRIX_OK;
    while (status == SIRIX_OK && equal && offset < bytes.len) {
        struct sirix_bytes piece = {0};

        status = sirix_string_reader_at(&string, offset, &piece, err);
        if (status == SIRIX_OK && (piece.len == 0 || piece.len > bytes.len - offset)) {
            return sirix_fail(err, SIRIX_CORRUPT, "a string is not as long as its row says");
        }
        equal = status == SIRIX_OK &&
                memcmp(piece.data, (const uint8_t *)bytes.data + offset, piece.len) == 0;
        offset += piece.len;
    }
    if (status == SIRIX_OK) {
        *out_equal = equal;
    }
    return status;
}

enum sirix_status sirix_stored_name_equals(struct sirix_document *document,
                                           const struct sirix_node *field,
                                           struct sirix_stored_name *name, bool *out_equal,
                                           struct sirix_error *err)
{
    if (field->name_interned) {
        *out_equal = name->has_id && field->name_id == name->id;
        return SIRIX_OK;
    }
    return text_equals(document, &field->name, name->canonical, out_equal, err);
}

/* Whether the listed row at key has the name: by its id alone where it has one. */
static enum sirix_status has_name(struct sirix_document *document, uint64_t key,
                                  struct sirix_stored_name *name, bool *out_equal,
                                  struct sirix_error *err)
{
    struct sirix_row row = {0};
    struct sirix_node field;
    uint32_t id = 0;
    enum sirix_status status = sirix_stored_row(document, key, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!sirix_node_is_field(sirix_stored_kind(row.record.data))) {
        return damaged(document, key, "it stands in an object without a name", err);
    }
    if (sirix_stored_name_id(row.record, &id)) {
        *out_equal = name->has_id && id == name->id;
        return SIRIX_OK;
    }
    status = sirix_node_decode(row.record, key, &field, err);
    return status == SIRIX_OK ? sirix_stored_name_equals(document, &field, name, out_equal, err)
                              : status;
}

struct candidate {
    struct sirix_document *document;
    struct sirix_stored_name *name;
    uint64_t key;
    bool found;
};

static enum sirix_status look(void *context, uint64_t key, bool *stop, struct sirix_error *err)
{
    struct candidate *candidate = context;
    enum sirix_status status =
        has_name(candidate->document, key, candidate->name, &candidate->found, err);

    if (status == SIRIX_OK && candidate->found) {
        candidate->key = key;
        *stop = true;
    }
    return status;
}

/* Of few members: their keys are in the object's own row, one after the other. */
static enum sirix_status member_inline(struct sirix_document *document,
                                       const struct sirix_node *object,
                                       struct sirix_stored_name *name, uint64_t *out_listed,
                                       bool *out_found, struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = sirix_node_children(object, keys, err);

    for (uint64_t i = 0; i < object->child_count && status == SIRIX_OK; i++) {
        bool equal = false;

        status = has_name(document, keys[i], name, &equal, err);
        if (status == SIRIX_OK && equal) {
            *out_listed = keys[i];
            *out_found = true;
            return SIRIX_OK;
        }
    }
    if (status == SIRIX_OK) {
        *out_found = false;
    }
    return status;
}

enum sirix_status sirix_stored_member(struct sirix_document *document,
                                      const struct sirix_node *object,
                                      struct sirix_stored_name *name, uint64_t *out_listed,
                                      bool *out_found, struct sirix_error *err)
{
    struct sirix_resource *resource = document->view->resource;
    struct candidate candidate = {.document = document, .name = name};

    if (object->kind != SIRIX_NODE_OBJECT || object->child_count == 0) {
        *out_found = false;
        return SIRIX_OK;
    }
    sirix_stored_name_bind(name, resource);
    if (!object->child_tree) {
        return member_inline(document, object, name, out_listed, out_found, err);
    }
    enum sirix_status status =
        sirix_name_index_find(document->reader, object->name_index_address,
                              sirix_name_hash_stored(sirix_name_hash(
                                  sirix_resource_name_seed(resource), name->canonical)),
                              look, &candidate, err);
    if (status == SIRIX_OK) {
        *out_listed = candidate.found ? candidate.key : *out_listed;
        *out_found = candidate.found;
    }
    return status;
}

/* --- Texts ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_stored_text_append(struct sirix_document *document,
                                           const struct sirix_text *text, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    struct sirix_string_reader string = {0};
    uint64_t offset = 0;

    if (text->address == 0) {
        return sirix_buf_append_bytes(out, text->bytes, err);
    }
    enum sirix_status status =
        sirix_string_reader_init(&string, document->reader, text->address, err);
    while (status == SIRIX_OK && offset < text->len) {
        struct sirix_bytes piece = {0};

        status = sirix_string_reader_at(&string, offset, &piece, err);
        if (status == SIRIX_OK && (piece.len == 0 || piece.len > text->len - offset)) {
            return sirix_fail(err, SIRIX_CORRUPT, "a string is not as long as its row says");
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(out, piece, err);
            offset += piece.len;
        }
    }
    return status;
}

enum sirix_status sirix_stored_name_append(struct sirix_document *document,
                                           const struct sirix_node *field, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    struct sirix_bytes name = {0};

    if (!field->name_interned) {
        return sirix_stored_text_append(document, &field->name, out, err);
    }
    enum sirix_status status =
        sirix_names_get(document->view->resource, field->name_id, &name, err);
    return status == SIRIX_OK ? sirix_buf_append_bytes(out, name, err) : status;
}

/* --- Child lists ---------------------------------------------------------------------------------- */

enum sirix_status sirix_stored_child_at(struct sirix_document *document,
                                        const struct sirix_node *container, uint64_t index,
                                        uint64_t *out_listed, bool *out_found,
                                        struct sirix_error *err)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = SIRIX_OK;

    if (index >= container->child_count) {
        *out_found = false;
        return SIRIX_OK;
    }
    if (container->child_tree) {
        status = sirix_child_tree_at(document->reader, container->child_tree_address, index,
                                     &keys[0], err);
        index = 0;
    } else {
        status = sirix_node_children(container, keys, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        return damaged(document, container->key, "its child tree ends before its count", err);
    }
    if (status == SIRIX_OK) {
        *out_listed = keys[index];
        *out_found = true;
    }
    return status;
}

enum sirix_status sirix_stored_list_init(struct sirix_stored_list *list,
                                         struct sirix_document *document,
                                         const struct sirix_node *container, uint64_t first,
                                         struct sirix_error *err)
{
    list->tree = container->child_tree;
    list->index = (uint32_t)first;
    list->left = first < container->child_count ? container->child_count - first : 0;
    if (list->left == 0) {
        return SIRIX_OK;
    }
    if (list->tree) {
        sirix_child_cursor_init(&list->from.cursor, document->reader, container->child_tree_address,
                                first);
        return SIRIX_OK;
    }
    return sirix_node_children(container, list->from.keys, err);
}

enum sirix_status sirix_stored_list_next_tree(struct sirix_stored_list *list, uint64_t *out_listed,
                                              struct sirix_error *err)
{
    enum sirix_status status = sirix_child_cursor_next(&list->from.cursor, out_listed, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "a child tree ends before its count");
    }
    if (status == SIRIX_OK) {
        list->left--;
    }
    return status;
}
