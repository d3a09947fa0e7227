/*
 * A part of the tree, flat, in document order. The walk keeps a stack of child iterators in the
 * arena, as deep as was asked for. Every cap that bites sets `cut` on the node whose children are
 * missing, so that nothing looks complete that is not.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/read.h"
#include "service/texts.h"
#include "store/page/string.h"
#include "json/text.h"

struct reading {
    const struct sirix_request *request;
    const struct sirix_read_node_request *wanted;
    struct sirix_arena *arena;
    struct sirix_document document;
    struct sirix_read_node *read;
    uint64_t depth_max;
    uint64_t children_max;
    uint64_t nodes_max;
    uint64_t bytes_max;
    uint64_t value_max;
    uint64_t first_child; /* From the cursor. */
    size_t bytes;
    struct sirix_buf text; /* Scratch. */
    size_t room;           /* Items allocated. */
};

/* One level of the walk: whose children are being listed. */
struct level {
    struct sirix_children children;
    size_t item; /* The container's place in the list. */
    uint64_t listed;
    uint64_t index;
    bool is_object;
};

enum { FIRST_ITEMS = 64, ESCAPE_BYTES_MAX = 6, CURSOR_TEXT_BYTES = 64, DECIMAL = 10 };

enum sirix_value_kind sirix_value_kind_of(enum sirix_node_kind kind)
{
    switch (sirix_node_value_kind(kind)) {
    case SIRIX_NODE_OBJECT:
        return SIRIX_VALUE_OBJECT;
    case SIRIX_NODE_ARRAY:
        return SIRIX_VALUE_ARRAY;
    case SIRIX_NODE_STRING:
        return SIRIX_VALUE_STRING;
    case SIRIX_NODE_INTEGER:
    case SIRIX_NODE_NUMBER:
        return SIRIX_VALUE_NUMBER;
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        return SIRIX_VALUE_BOOLEAN;
    case SIRIX_NODE_NULL:
        return SIRIX_VALUE_NULL;
    default:
        return SIRIX_VALUE_NONE;
    }
}

enum sirix_status sirix_node_target_resolve(struct sirix_document *document,
                                            const struct sirix_node_target *target,
                                            uint64_t *out_key, struct sirix_error *err)
{
    if (!target->has_path) {
        *out_key = target->node_key == 0 ? 1 : target->node_key;
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_document_resolve(document, SIRIX_PATH_SIRIX, target->path, out_key, err);
    if (status == SIRIX_NOT_FOUND || status == SIRIX_INVALID) {
        sirix_error_set_field(err, "path");
    }
    return status;
}

/* --- Limits and cursor -------------------------------------------------------------------------- */

static enum sirix_status check_limits(struct reading *r, struct sirix_error *err)
{
    const struct sirix_read_node_request *wanted = r->wanted;

    enum sirix_status status =
        sirix_limit_check(wanted->max_depth, wanted->has_depth ? 0 : SIRIX_READ_DEPTH_DEFAULT,
                          SIRIX_READ_DEPTH_MAX, "max_depth", &r->depth_max, err);
    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_children, SIRIX_READ_CHILDREN_DEFAULT,
                                   SIRIX_READ_CHILDREN_MAX, "max_children", &r->children_max, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_nodes, SIRIX_READ_NODES_DEFAULT,
                                   SIRIX_READ_NODES_MAX, "max_nodes", &r->nodes_max, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_bytes, SIRIX_READ_BYTES_DEFAULT,
                                   SIRIX_READ_BYTES_MAX, "max_bytes", &r->bytes_max, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_value_bytes, SIRIX_READ_VALUE_DEFAULT,
                                   SIRIX_READ_VALUE_MAX, "max_value_bytes", &r->value_max, err);
    }
    if (status == SIRIX_OK && r->value_max < SIRIX_READ_VALUE_MIN) {
        r->value_max = SIRIX_READ_VALUE_MIN;
    }
    return status;
}

/* A cursor is "REVISION.INDEX": the same revision, from that child on. */
static enum sirix_status read_cursor(struct reading *r, struct sirix_view_request *view,
                                     struct sirix_error *err)
{
    const char *text = r->wanted->cursor.data;
    size_t len = r->wanted->cursor.len;
    uint64_t numbers[2] = {0, 0};
    size_t number = 0;
    bool valid = len > 0 && len < CURSOR_TEXT_BYTES;

    for (size_t i = 0; valid && i < len; i++) {
        uint64_t digit = (uint64_t)(text[i] - '0');
        if (text[i] == '.' && number == 0 && i > 0) {
            number = 1;
        } else if (text[i] < '0' || text[i] > '9' ||
                   numbers[number] > (UINT64_MAX - digit) / DECIMAL) {
            valid = false;
        } else {
            numbers[number] = numbers[number] * DECIMAL + digit;
        }
    }
    if (!valid || number == 0 || text[len - 1] == '.') {
        enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                                                     "the cursor is not one of ours");
        sirix_error_set_field(err, "cursor");
        return status;
    }
    *view = (struct sirix_view_request){.which = SIRIX_VIEW_WHICH_REVISION, .revision = numbers[0]};
    r->first_child = numbers[1];
    return SIRIX_OK;
}

static enum sirix_status write_cursor(struct reading *r, uint64_t index, struct sirix_error *err)
{
    char text[CURSOR_TEXT_BYTES];

    int len = snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64, r->read->revision, index);
    return sirix_arena_copy(r->arena, (struct sirix_bytes){.data = text, .len = (size_t)len},
                            &r->read->next_cursor, err);
}

/* --- Values ------------------------------------------------------------------------------------- */

/* The value of a string from value_offset on, as JSON text that is valid however it is cut. */
static enum sirix_status string_value(struct reading *r, const struct sirix_document_node *node,
                                      uint64_t offset, struct sirix_read_item *item,
                                      struct sirix_error *err)
{
    const struct sirix_text *text = &node->stored.text;

    enum sirix_status status = sirix_buf_append_u8(&r->text, '"', err);
    if (status == SIRIX_OK) {
        status = sirix_text_append(r->document.reader, text, offset,
                                   r->value_max + ESCAPE_BYTES_MAX, &r->text, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_bytes got = {.data = r->text.data + 1, .len = r->text.len - 1};
    if (got.len > r->value_max) { /* What is beyond it tells where a character ends. */
        got.len = sirix_json_text_cut(got, (size_t)r->value_max);
        r->text.len = got.len + 1;
        item->cut = true;
    }
    if (!sirix_json_text_valid(got)) { /* An offset of the caller's own making. */
        status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                              "value_offset %" PRIu64 " is not between two characters", offset);
        sirix_error_set_field(err, "value_offset");
        return status;
    }
    item->value_bytes = text->len;
    if (item->parent_index < 0 && item->cut) {
        r->read->has_next_offset = true;
        r->read->next_offset = offset + got.len;
    }
    return sirix_buf_append_u8(&r->text, '"', err);
}

static enum sirix_status scalar_value(struct reading *r, const struct sirix_document_node *node,
                                      uint64_t offset, struct sirix_read_item *item,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&r->text);
    if (item->kind == SIRIX_VALUE_STRING) {
        status = string_value(r, node, offset, item, err);
    } else {
        /* A number cut short would be another number: it is given whole, at most 64 KiB. */
        bool cut = false;
        status = sirix_document_scalar(&r->document, node, SIZE_MAX, &r->text, &cut, err);
        item->value_bytes = r->text.len;
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(r->arena, sirix_buf_view(&r->text), &item->value, err);
    }
    return status;
}

/* --- Items -------------------------------------------------------------------------------------- */

static enum sirix_status path_of(struct reading *r, uint64_t key, struct sirix_bytes *out_path,
                                 struct sirix_error *err)
{
    sirix_buf_clear(&r->text);
    enum sirix_status status =
        sirix_document_path(&r->document, key, SIRIX_PATH_SIRIX, &r->text, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(r->arena, sirix_buf_view(&r->text), out_path, err);
    }
    return status;
}

static enum sirix_status grow_items(struct reading *r, struct sirix_error *err)
{
    size_t room = r->room == 0 ? FIRST_ITEMS : r->room * 2;
    void *items = NULL;

    enum sirix_status status =
        sirix_arena_calloc(r->arena, room, sizeof(struct sirix_read_item), &items, err);
    if (status == SIRIX_OK) {
        if (r->read->count != 0) {
            memcpy(items, r->read->items, r->read->count * sizeof(struct sirix_read_item));
        }
        r->read->items = items;
        r->room = room;
    }
    return status;
}

/* Adds the node of key to the list. *out_item is its place. */
static enum sirix_status add_item(struct reading *r, uint64_t key, const struct level *parent,
                                  size_t *out_item, struct sirix_error *err)
{
    struct sirix_document_node node;
    enum sirix_status status = SIRIX_OK;

    if (r->read->count == r->room) {
        status = grow_items(r, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_document_get(&r->document, key, &node, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_read_item *item = &r->read->items[r->read->count];
    *item = (struct sirix_read_item){
        .node_key = node.key,
        .parent_index = parent == NULL ? -1 : (int32_t)parent->item,
        .is_member = node.is_member,
        .kind = sirix_value_kind_of(node.kind),
        .child_count = node.child_count,
    };
    if (parent != NULL && !node.is_member) {
        item->is_element = true;
        item->index = parent->index;
    } else if (parent == NULL && !node.is_member && node.key > 1) {
        item->is_element = true;
        status = sirix_document_child_index(&r->document, node.key, &item->index, err);
    }
    if (status == SIRIX_OK && node.is_member) {
        status = sirix_member_name(r->document.reader, &node, r->arena, &r->text, &item->name, err);
    }
    if (status == SIRIX_OK && item->kind != SIRIX_VALUE_OBJECT && item->kind != SIRIX_VALUE_ARRAY) {
        status = scalar_value(r, &node, parent == NULL ? r->wanted->value_offset : 0, item, err);
    }
    if (status == SIRIX_OK && r->wanted->with_paths) {
        status = path_of(r, node.key, &item->path, err);
    }
    if (status == SIRIX_OK) {
        r->bytes += item->name.len + item->value.len + item->path.len;
        r->read->truncated = r->read->truncated || item->cut;
        *out_item = r->read->count++;
    }
    return status;
}

/* --- The walk ----------------------------------------------------------------------------------- */

static bool is_full(const struct reading *r)
{
    return r->read->count >= r->nodes_max || r->bytes >= r->bytes_max;
}

static void mark_cut(struct reading *r, size_t item)
{
    r->read->items[item].cut = true;
    r->read->truncated = true;
}

static enum sirix_status begin_level(struct reading *r, size_t item, uint64_t first,
                                     struct level *level, struct sirix_error *err)
{
    *level = (struct level){
        .item = item,
        .index = first,
        .is_object = r->read->items[item].kind == SIRIX_VALUE_OBJECT,
    };
    return sirix_children_init(&level->children, &r->document, r->read->items[item].node_key, first,
                               err);
}

/* The next child of the deepest level; goes down into it where it has children to list. */
static enum sirix_status list_child(struct reading *r, struct level *levels, size_t *depth,
                                    struct sirix_error *err)
{
    struct level *level = &levels[*depth - 1];
    uint64_t key = 0;
    size_t item = 0;

    enum sirix_status status = sirix_cancel_check(r->request->cancel, err);
    if (status == SIRIX_OK) {
        status = sirix_children_next(&level->children, &key, err);
    }
    if (status == SIRIX_OK) {
        status = add_item(r, key, level, &item, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    level->listed++;
    level->index++;
    if (r->read->items[item].child_count != 0) {
        if (*depth == r->depth_max) {
            mark_cut(r, item);
        } else {
            status = begin_level(r, item, 0, &levels[(*depth)++], err);
        }
    }
    return status;
}

/* Lists the children below the target, which is item 0. */
static enum sirix_status walk(struct reading *r, struct sirix_error *err)
{
    void *memory = NULL;
    size_t depth = 0;
    enum sirix_status status =
        sirix_arena_calloc(r->arena, r->depth_max, sizeof(struct level), &memory, err);
    struct level *levels = memory;

    if (status == SIRIX_OK) {
        status = begin_level(r, 0, r->first_child, &levels[0], err);
        depth = 1;
    }
    while (status == SIRIX_OK && depth > 0) {
        struct level *level = &levels[depth - 1];
        if (level->index >= r->read->items[level->item].child_count) {
            depth--;
        } else if (level->listed == r->children_max || is_full(r)) {
            mark_cut(r, level->item);
            status = depth == 1 ? write_cursor(r, level->index, err) : SIRIX_OK;
            depth--;
        } else {
            status = list_child(r, levels, &depth, err);
        }
    }
    return status;
}

static enum sirix_status read_view(struct reading *r, const struct sirix_view *view,
                                   struct sirix_reader *reader, struct sirix_error *err)
{
    uint64_t key = 0;
    size_t item = 0;
    bool has_value = false;

    sirix_document_init(&r->document, view, reader);
    r->read->revision = view->record.revision;
    r->read->time_us = view->record.time_us;
    enum sirix_status status = sirix_document_has_value(&r->document, &has_value, err);
    if (status == SIRIX_OK) {
        status = sirix_node_target_resolve(&r->document, &r->wanted->target, &key, err);
    }
    if (status != SIRIX_OK || (!has_value && key == 1)) {
        return status;
    }
    status = add_item(r, key, NULL, &item, err);
    if (status == SIRIX_OK) {
        status = path_of(r, key, &r->read->path, err);
    }
    if (status == SIRIX_OK && r->read->items[0].child_count != 0) {
        if (r->depth_max == 0) {
            mark_cut(r, 0);
        } else {
            status = walk(r, err);
        }
    }
    return status;
}

enum sirix_status sirix_service_read_node(const struct sirix_request *request,
                                          const struct sirix_read_node_request *wanted,
                                          struct sirix_arena *arena,
                                          struct sirix_read_node *out_read, struct sirix_error *err)
{
    struct sirix_read_node read = {0};
    struct reading r = {.request = request, .wanted = wanted, .arena = arena, .read = &read};
    struct sirix_view_request which = wanted->view;
    struct sirix_target target = {0};
    struct sirix_view view = {0};

    enum sirix_status status = check_limits(&r, err);
    if (status == SIRIX_OK && wanted->cursor.len != 0) {
        status = read_cursor(&r, &which, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open(request, wanted->database, wanted->resource, &target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&r.text, SIZE_MAX);
    status = sirix_target_view(&target, &which, "view", &view, err);
    if (status == SIRIX_OK) {
        status = read_view(&r, &view, target.reader, err);
        sirix_view_close(&view);
    }
    sirix_buf_deinit(&r.text);
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_read = read;
    }
    return status;
}
