/* Items of the store, and what can be asked of objects and arrays that live there. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "query/node/store.h"
#include "json/text.h"

static struct sirix_store_view *view_of(struct sirix_item container)
{
    return (struct sirix_store_view *)(void *)container.value.container;
}

static uint64_t key_of(struct sirix_item item)
{
    return item.origin & SIRIX_STORE_KEY_MASK;
}

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
    *out_key = key_of(item);
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

/* The item of a row that holds a value. */
static enum sirix_status row_item(struct sirix_work *work, struct sirix_store_view *view,
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
    return status == SIRIX_OK ? row_item(work, view, &row, out, err) : status;
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

static enum sirix_status container_node(struct sirix_item container, struct sirix_node *out,
                                        struct sirix_query_error *err)
{
    return sirix_stored_get(&view_of(container)->document, key_of(container), out, &err->base);
}

static enum sirix_status size_op(struct sirix_work *work, struct sirix_item container,
                                 uint64_t *out, struct sirix_query_error *err)
{
    struct sirix_node node;
    enum sirix_status status = container_node(container, &node, err);

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
    struct sirix_store_view *view = view_of(array);
    struct sirix_node node;
    uint64_t listed = 0;
    bool found = false;
    enum sirix_status status = container_node(array, &node, err);

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
    struct sirix_store_view *view = view_of(object);
    struct sirix_stored_name wanted = {0};
    struct sirix_node node;
    uint64_t listed = 0;
    bool found = false;
    enum sirix_status status =
        sirix_json_text_to_canonical(work->arena, name, &wanted.canonical, &err->base);

    if (status == SIRIX_OK) {
        status = container_node(object, &node, err);
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
    struct sirix_store_view *view = view_of(container);
    struct sirix_node node;
    void *memory = NULL;
    enum sirix_status status = container_node(container, &node, err);

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
    struct sirix_store_view *view = view_of(cursor->container);
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

/* --- What the run asks ------------------------------------------------------------------------------ */

static enum sirix_status prepare_name(struct sirix_run *run, struct sirix_store_view *view,
                                      struct sirix_run_name *name, struct sirix_stored_name *out,
                                      struct sirix_query_error *err)
{
    if (name->canonical.data == NULL && name->plain.len != 0) {
        enum sirix_status status =
            sirix_json_text_to_canonical(run->keep, name->plain, &name->canonical, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (name->of != view->view.resource || !name->has_id) {
        name->of = view->view.resource;
        name->has_id = sirix_names_find(view->view.resource, name->canonical, &name->id);
    }
    *out = (struct sirix_stored_name){.canonical = name->canonical,
                                      .resource = view->view.resource,
                                      .has_id = name->has_id,
                                      .id = name->id};
    return SIRIX_OK;
}

/* The child keys of an object with few members: those of the one that was asked last are at hand. */
static enum sirix_status object_keys(struct sirix_store_view *view, uint64_t key, bool *out_known,
                                     struct sirix_node *node, struct sirix_query_error *err)
{
    const uint64_t generation = sirix_reader_generation(view->document.reader);
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    if (view->object_known && view->object_key == key && view->object_generation == generation) {
        *out_known = true;
        return SIRIX_OK;
    }
    status = sirix_stored_row(&view->document, key, &row, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    view->object_known = sirix_stored_kind(row.record.data) == SIRIX_NODE_OBJECT &&
                         sirix_stored_keys(row.record, key, view->object_keys, &view->object_count);
    view->object_key = key;
    view->object_generation = generation;
    *out_known = view->object_known;
    return view->object_known ? SIRIX_OK : sirix_node_decode(row.record, key, node, &err->base);
}

/* Whether the listed row has the name; its row is then at hand. */
static enum sirix_status is_member(struct sirix_store_view *view, uint64_t listed,
                                   struct sirix_stored_name *name, struct sirix_row *row,
                                   bool *out_equal, struct sirix_query_error *err)
{
    struct sirix_node field;
    uint32_t id = 0;
    enum sirix_status status = sirix_stored_row(&view->document, listed, row, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_stored_name_id(row->record, &id)) {
        *out_equal = name->has_id && id == name->id;
        return SIRIX_OK;
    }
    status = sirix_node_decode(row->record, listed, &field, &err->base);
    if (status == SIRIX_OK && sirix_node_is_field(field.kind)) {
        return sirix_stored_name_equals(&view->document, &field, name, out_equal, &err->base);
    }
    *out_equal = false;
    return status;
}

static enum sirix_status found_field(struct sirix_run *run, struct sirix_store_view *view,
                                     struct sirix_row *row, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    if (sirix_stored_kind(row->record.data) == SIRIX_NODE_FIELD) {
        enum sirix_status status = sirix_stored_row(&view->document, row->key + 1, row, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    return row_item(&run->work, view, row, out, err);
}

static enum sirix_status run_field(struct sirix_run *run, const struct sirix_item *object,
                                   struct sirix_run_name *name, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct sirix_store_view *view = view_of(*object);
    struct sirix_stored_name wanted;
    struct sirix_node node;
    struct sirix_row row = {0};
    uint64_t listed = 0;
    bool found = false;
    bool known = false;
    enum sirix_status status = prepare_name(run, view, name, &wanted, err);

    if (status == SIRIX_OK) {
        status = object_keys(view, key_of(*object), &known, &node, err);
    }
    if (status == SIRIX_OK && !known) {
        status = sirix_stored_member(&view->document, &node, &wanted, &listed, &found, &err->base);
        if (status == SIRIX_OK && found) {
            return sirix_store_item(&run->work, view, listed, out, err);
        }
    }
    /* Objects of one array mostly have their members in one order: the place of the last one first. */
    for (uint32_t i = 0; known && status == SIRIX_OK && i < view->object_count; i++) {
        uint32_t at = name->hint + i;

        at = at >= view->object_count ? at % view->object_count : at;
        status = is_member(view, view->object_keys[at], &wanted, &row, &found, err);
        if (status == SIRIX_OK && found) {
            name->hint = at;
            return found_field(run, view, &row, out, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_item){0};
    }
    return status;
}

static enum sirix_status run_children(struct sirix_run *run, const struct sirix_item *container,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_store_view *view = view_of(*container);
    struct sirix_stored_list list;
    struct sirix_node node;
    enum sirix_status status = container_node(*container, &node, err);

    if (status == SIRIX_OK) {
        status = sirix_stored_list_init(&list, &view->document, &node, 0, &err->base);
    }
    while (status == SIRIX_OK && list.left != 0) {
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
        struct sirix_item item = {0};
        uint64_t listed = 0;

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_stored_list_next(&list, &listed, &err->base);
        }
        if (status == SIRIX_OK) {
            status = sirix_store_item(&run->work, view, listed, &item, err);
        }
        if (status == SIRIX_OK) {
            status = sink->take(sink, run, &item, err);
        }
        sirix_run_turn_end(run, &turn);
    }
    return status;
}

/* --- Descendants ------------------------------------------------------------------------------------ */

struct level {
    struct sirix_stored_list list;
    struct level *up;
    struct level *spare; /* One deeper, made before. */
};

struct descent {
    struct sirix_store_view *view;
    struct sirix_stored_name name;
    struct sirix_sink *sink; /* NULL: they are counted alone. */
    uint64_t count;
    struct level *level;
    uint32_t depth;
};

static enum sirix_status enter(struct sirix_run *run, struct descent *descent,
                               const struct sirix_node *container, struct sirix_query_error *err)
{
    struct level *level = descent->level == NULL ? NULL : descent->level->spare;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (descent->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(&err->base, SIRIX_CORRUPT, "the document is nested deeper than %d levels",
                          SIRIX_DOCUMENT_DEPTH_MAX);
    }
    if (level == NULL) {
        status = sirix_arena_calloc(run->work.arena, 1, sizeof(*level), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        level = memory;
        level->up = descent->level;
        if (descent->level != NULL) {
            descent->level->spare = level;
        }
    }
    descent->level = level;
    descent->depth++;
    return sirix_stored_list_init(&level->list, &descent->view->document, container, 0, &err->base);
}

static enum sirix_status give_descendant(struct sirix_run *run, struct descent *descent,
                                         uint64_t listed, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;

    descent->count++;
    if (descent->sink == NULL) {
        return SIRIX_OK;
    }
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    status = sirix_store_item(&run->work, descent->view, listed, &item, err);
    if (status == SIRIX_OK) {
        status = descent->sink->take(descent->sink, run, &item, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

static enum sirix_status visit(struct sirix_run *run, struct descent *descent, uint64_t listed,
                               struct sirix_query_error *err)
{
    struct sirix_node node;
    struct sirix_row row = {0};
    bool matches = false;
    enum sirix_status status = sirix_stored_row(&descent->view->document, listed, &row, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    const enum sirix_node_kind kind = sirix_stored_kind(row.record.data);
    if (sirix_node_is_field(kind)) {
        status = is_member(descent->view, listed, &descent->name, &row, &matches, err);
        if (status == SIRIX_OK && matches) {
            status = give_descendant(run, descent, listed, err);
        }
    }
    if (status != SIRIX_OK || (kind != SIRIX_NODE_FIELD && !sirix_node_is_container(kind))) {
        return status;
    }
    status = sirix_stored_value(&descent->view->document, listed, &node, &err->base);
    return status == SIRIX_OK && node.child_count != 0 ? enter(run, descent, &node, err) : status;
}

static enum sirix_status descend(struct sirix_run *run, const struct sirix_item *container,
                                 struct sirix_run_name *name, struct descent *descent,
                                 struct sirix_query_error *err)
{
    struct sirix_node node;

    descent->view = view_of(*container);
    enum sirix_status status = prepare_name(run, descent->view, name, &descent->name, err);
    if (status == SIRIX_OK) {
        status = container_node(*container, &node, err);
    }
    if (status == SIRIX_OK) {
        status = enter(run, descent, &node, err);
    }
    while (status == SIRIX_OK && descent->level != NULL) {
        uint64_t listed = 0;

        if (descent->level->list.left == 0) {
            descent->level = descent->level->up;
            descent->depth--;
            continue;
        }
        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_stored_list_next(&descent->level->list, &listed, &err->base);
        }
        if (status == SIRIX_OK) {
            status = visit(run, descent, listed, err);
        }
    }
    return status;
}

static enum sirix_status run_descendants(struct sirix_run *run, const struct sirix_item *container,
                                         struct sirix_run_name *name, struct sirix_sink *sink,
                                         struct sirix_query_error *err)
{
    struct descent descent = {.sink = sink};

    return descend(run, container, name, &descent, err);
}

static enum sirix_status run_count_descendants(struct sirix_run *run,
                                               const struct sirix_item *container,
                                               struct sirix_run_name *name, uint64_t *out_count,
                                               struct sirix_query_error *err)
{
    struct descent descent = {0};
    enum sirix_status status = descend(run, container, name, &descent, err);

    if (status == SIRIX_OK) {
        *out_count = descent.count;
    }
    return status;
}

const struct sirix_run_store sirix_query_store_ops = {
    .field = run_field,
    .children = run_children,
    .descendants = run_descendants,
    .count_descendants = run_count_descendants,
};
