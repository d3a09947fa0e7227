/* Items of the store, and what can be asked of objects and arrays that live there. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "query/node/item.h"
#include "json/text.h"

/* 0 for keys past what an origin can hold: the item is then like any other. */
static uint64_t origin_of(const struct sirix_store_view *view, uint64_t key)
{
    return key > SIRIX_STORE_KEY_MASK ? 0 : view->number << SIRIX_STORE_KEY_BITS | key;
}

struct sirix_store_view *sirix_store_view_of(const struct sirix_query_store *store,
                                             struct sirix_item item, uint64_t *out_key)
{
    const uint64_t number = item.origin >> SIRIX_STORE_KEY_BITS;

    if (store == NULL || number == 0 || number > store->view_count) {
        return NULL;
    }
    *out_key = sirix_store_key(item);
    return store->views[number - 1];
}

/* --- From rows to items ----------------------------------------------------------------------------- */

/* A text as plain UTF-8 in the arena: the slice ends with the next yield. */
static enum sirix_status plain_text(struct sirix_work *work, struct sirix_store_view *view,
                                    const struct sirix_text *text, struct sirix_bytes *out,
                                    struct sirix_query_error *err)
{
    struct sirix_buf whole;
    struct sirix_bytes canonical = text->bytes;
    struct sirix_bytes plain = {0};
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&whole, (size_t)SIRIX_STRING_BYTES_MAX * SIRIX_ESCAPED_FACTOR_MAX);
    if (text->address != 0) {
        status = sirix_stored_text_append(&view->document, text, &whole, &err->base);
        canonical = sirix_buf_view(&whole);
    }
    if (status == SIRIX_OK && text->escaped) {
        status = sirix_json_text_to_plain(work->arena, canonical, &plain, &err->base);
    }
    if (status == SIRIX_OK && !text->escaped) {
        status = sirix_arena_copy(work->arena, canonical, &plain, &err->base);
    }
    sirix_buf_deinit(&whole);
    if (status == SIRIX_OK) {
        *out = plain;
    }
    return status;
}

static enum sirix_status number_item(struct sirix_work *work, struct sirix_store_view *view,
                                     const struct sirix_node *node, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};

    if (!node->number_text && node->scale <= 18) {
        *out = sirix_item_decimal(node->integer, (uint8_t)node->scale);
        out->flags = SIRIX_ITEM_AS_WRITTEN;
        return SIRIX_OK;
    }
    if (!node->number_text) {
        return sirix_fail(&err->base, SIRIX_CORRUPT,
                          "node %" PRIu64 " is a decimal with %u digits behind the point",
                          node->key, node->scale);
    }
    enum sirix_status status = plain_text(work, view, &node->text, &text, err);
    return status == SIRIX_OK ? sirix_number_parse(work, text, true, out, err) : status;
}

/* Short texts as they are and small numbers, without decoding the row; false: decode it. */
static bool quick_scalar(const struct sirix_row *row, struct sirix_item *out)
{
    const uint8_t *record = row->record.data;
    const uint8_t *end = record + row->record.len;
    const uint8_t *at = sirix_stored_payload(row->record);
    uint64_t head = 0;
    uint64_t bits = 0;

    if (at == NULL || (*record & 0xc0) != 0) {
        return false;
    }
    switch (sirix_node_value_kind(sirix_stored_kind(record))) {
    case SIRIX_NODE_INTEGER:
        if (!sirix_stored_take(&at, end, &bits)) {
            return false;
        }
        *out = sirix_item_integer(sirix_zigzag_decode(bits));
        return at == end;
    case SIRIX_NODE_NUMBER:
        if (!sirix_stored_take(&at, end, &head) || !sirix_stored_take(&at, end, &bits) ||
            head == 0 || head > 18) {
            return false;
        }
        *out = sirix_item_decimal(sirix_zigzag_decode(bits), (uint8_t)head);
        out->flags = SIRIX_ITEM_AS_WRITTEN;
        return at == end;
    case SIRIX_NODE_STRING:
        if (!sirix_stored_take(&at, end, &head) || head != (uint64_t)(end - at)) {
            return false;
        }
        *out = sirix_item_string((struct sirix_bytes){.data = at, .len = (size_t)head});
        return true;
    default:
        return false;
    }
}

static enum sirix_status scalar_item(struct sirix_work *work, struct sirix_store_view *view,
                                     const struct sirix_row *row, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_node node;
    struct sirix_item item = {0};
    struct sirix_bytes text = {0};
    enum sirix_status status = SIRIX_OK;

    if (quick_scalar(row, &item)) {
        if (item.kind == SIRIX_ITEM_STRING) {
            status = sirix_arena_copy(work->arena, sirix_item_bytes(item), &text, &err->base);
            item.value.text = text.data;
        }
        item.origin = origin_of(view, row->key);
        *out = status == SIRIX_OK ? item : *out;
        return status;
    }
    status = sirix_node_decode(row->record, row->key, &node, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    switch (sirix_node_value_kind(node.kind)) {
    case SIRIX_NODE_STRING:
        status = plain_text(work, view, &node.text, &text, err);
        item = sirix_item_string(text);
        break;
    case SIRIX_NODE_INTEGER:
        item = sirix_item_integer(node.integer);
        break;
    case SIRIX_NODE_NUMBER:
        status = number_item(work, view, &node, &item, err);
        break;
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        item = sirix_item_boolean(sirix_node_value_kind(node.kind) == SIRIX_NODE_TRUE);
        break;
    default:
        item = sirix_item_null();
        break;
    }
    if (status == SIRIX_OK) {
        item.origin = origin_of(view, row->key);
        *out = item;
    }
    return status;
}

enum sirix_status sirix_store_row_item(struct sirix_work *work, struct sirix_store_view *view,
                                       const struct sirix_row *row, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    const enum sirix_node_kind kind = sirix_stored_kind(row->record.data);

    if (!sirix_node_is_container(kind)) {
        return scalar_item(work, view, row, out, err);
    }
    if (row->key > SIRIX_STORE_KEY_MASK) {
        return sirix_query_fail_limit(err, "node_key", "node %" PRIu64 " is past the key limit",
                                      row->key);
    }
    *out = (struct sirix_item){
        .kind = kind == SIRIX_NODE_OBJECT ? SIRIX_ITEM_OBJECT : SIRIX_ITEM_ARRAY,
        .type = kind == SIRIX_NODE_OBJECT ? SIRIX_TYPE_OBJECT : SIRIX_TYPE_ARRAY,
        .value.container = &view->container,
        .origin = origin_of(view, row->key),
    };
    return SIRIX_OK;
}

enum sirix_status sirix_store_item(struct sirix_work *work, struct sirix_store_view *view,
                                   uint64_t listed, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct sirix_row row = {0};
    enum sirix_status status = sirix_stored_row(&view->document, listed, &row, &err->base);

    if (status == SIRIX_OK && sirix_stored_kind(row.record.data) == SIRIX_NODE_FIELD) {
        status = sirix_stored_row(&view->document, listed + 1, &row, &err->base);
    }
    return status == SIRIX_OK ? sirix_store_row_item(work, view, &row, out, err) : status;
}

enum sirix_status sirix_store_root(struct sirix_work *work, struct sirix_store_view *view,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    bool has_value = false;
    enum sirix_status status = sirix_document_has_value(&view->document, &has_value, &err->base);

    if (status == SIRIX_OK && !has_value) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_store_item(work, view, 1, out, err) : status;
}

enum sirix_status sirix_store_select(struct sirix_work *work, struct sirix_store_view *view,
                                     uint64_t key, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_document_node node;
    struct sirix_error ignored = {0};
    enum sirix_status status = SIRIX_OK;

    if (key <= 1) {
        return sirix_store_root(work, view, out, err);
    }
    status = sirix_document_get(&view->document, key, &node, &ignored);
    if (status == SIRIX_NOT_FOUND) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        err->base = ignored;
        return status;
    }
    return sirix_store_item(work, view, node.key, out, err);
}

enum sirix_status sirix_store_canonical(struct sirix_store_view *view, uint64_t value_key,
                                        uint64_t *out_key, struct sirix_query_error *err)
{
    struct sirix_document_node node;
    enum sirix_status status = sirix_document_get(&view->document, value_key, &node, &err->base);

    if (status == SIRIX_OK) {
        *out_key = node.key;
    }
    return status;
}

/* --- What containers can be asked ------------------------------------------------------------------- */

static enum sirix_status size_op(struct sirix_work *work, struct sirix_item container,
                                 uint64_t *out, struct sirix_query_error *err)
{
    struct sirix_node node;
    enum sirix_status status = sirix_store_container_node(container, &node, err);

    (void)work;
    if (status == SIRIX_OK) {
        *out = node.child_count;
    }
    return status;
}

static enum sirix_status element_op(struct sirix_work *work, struct sirix_item array,
                                    uint64_t position, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(array);
    struct sirix_node node;
    uint64_t listed = 0;
    bool found = false;
    enum sirix_status status = sirix_store_container_node(array, &node, err);

    if (status == SIRIX_OK) {
        status =
            sirix_stored_child_at(&view->document, &node, position, &listed, &found, &err->base);
    }
    if (status == SIRIX_OK && !found) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_store_item(work, view, listed, out, err) : status;
}

static enum sirix_status field_op(struct sirix_work *work, struct sirix_item object,
                                  struct sirix_bytes name, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(object);
    struct sirix_stored_name wanted = {0};
    struct sirix_node node;
    uint64_t listed = 0;
    bool found = false;
    enum sirix_status status =
        sirix_json_text_to_canonical(work->arena, name, &wanted.canonical, &err->base);

    if (status == SIRIX_OK) {
        status = sirix_store_container_node(object, &node, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_stored_member(&view->document, &node, &wanted, &listed, &found, &err->base);
    }
    if (status == SIRIX_OK && !found) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_store_item(work, view, listed, out, err) : status;
}

static enum sirix_status start_op(struct sirix_work *work, struct sirix_item container,
                                  struct sirix_cursor *out, struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(container);
    struct sirix_node node;
    void *memory = NULL;
    enum sirix_status status = sirix_store_container_node(container, &node, err);

    if (status == SIRIX_OK) {
        status =
            sirix_arena_alloc(work->arena, sizeof(struct sirix_stored_list), &memory, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_stored_list_init(memory, &view->document, &node, 0, &err->base);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_cursor){.container = container, .state = memory};
    }
    return status;
}

static enum sirix_status member_name(struct sirix_work *work, struct sirix_store_view *view,
                                     uint64_t listed, struct sirix_bytes *out,
                                     struct sirix_query_error *err)
{
    struct sirix_node field;
    struct sirix_bytes stored = {0};
    struct sirix_bytes plain = {0};
    enum sirix_status status = sirix_stored_get(&view->document, listed, &field, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!field.name_interned) {
        return plain_text(work, view, &field.name, out, err);
    }
    status = sirix_names_get(view->view.resource, field.name_id, &stored, &err->base);
    if (status == SIRIX_OK) { /* It lives as long as the resource is open. */
        status = sirix_json_text_to_plain(work->arena, stored, &plain, &err->base);
    }
    if (status == SIRIX_OK) {
        *out = plain;
    }
    return status;
}

static enum sirix_status next_op(struct sirix_work *work, struct sirix_cursor *cursor,
                                 struct sirix_bytes *out_name, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(cursor->container);
    struct sirix_stored_list *list = cursor->state;
    struct sirix_bytes name = {0};
    uint64_t listed = 0;
    enum sirix_status status = SIRIX_OK;

    if (list->left == 0) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    status = sirix_stored_list_next(list, &listed, &err->base);
    if (status == SIRIX_OK && out_name != NULL && cursor->container.kind == SIRIX_ITEM_OBJECT) {
        status = member_name(work, view, listed, &name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_store_item(work, view, listed, out, err);
    }
    if (status == SIRIX_OK && out_name != NULL) {
        *out_name = name;
    }
    return status;
}

extern const struct sirix_container_ops sirix_store_container_ops;
const struct sirix_container_ops sirix_store_container_ops = {
    .is_stored = true,
    .size = size_op,
    .element = element_op,
    .field = field_op,
    .start = start_op,
    .next = next_op,
};
