/* What a stored item knows of itself: key, path, hash, counts, parent, and items by key. */

#include "base/sha256.h"
#include "query/node/functions.h"

enum { PIECE_BYTES = 64 * 1024 };

static enum sirix_status nodekey(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_store_canonical(view, key, &key, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, sirix_item_integer((int64_t)key), out, err)
                              : status;
}

/* sdb:select-item($item, $key), jn:select-json-item: of the same revision. */
static enum sirix_status select_item(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    uint64_t key = 0;
    uint64_t wanted = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_call_number(call, 1, 0, &wanted, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_store_select(call->work, view, wanted, &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

static enum sirix_status select_parent(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    struct sirix_document_node node;
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_document_get(&view->document, key, &node, &err->base);
    }
    if (status == SIRIX_OK && node.parent != 0) {
        status = sirix_store_select(call->work, view, node.parent, &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

static enum sirix_status path(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    struct sirix_buf text;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    sirix_buf_init(&text, SIRIX_ITEM_STRING_BYTES_MAX);
    if (status == SIRIX_OK) {
        status = sirix_document_path(&view->document, key, SIRIX_PATH_SIRIX, &text, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_item_new_string(call->work, sirix_buf_view(&text), &item, err);
    }
    sirix_buf_deinit(&text);
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

/* The text of an item's subtree, piece by piece, into a hash. */
static enum sirix_status hash_text(struct sirix_call *call, struct sirix_store_view *view,
                                   uint64_t key, struct sirix_sha256 *sha,
                                   struct sirix_query_error *err)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_buf piece;
    bool done = false;
    enum sirix_status status =
        sirix_serialiser_new(&view->document, &options, &serialiser, &err->base);

    sirix_buf_init(&piece, SIZE_MAX);
    while (status == SIRIX_OK && !done) {
        sirix_buf_clear(&piece);
        status = sirix_serialiser_step(serialiser, PIECE_BYTES, &piece, &done, &err->base);
        if (status == SIRIX_OK) {
            status = sirix_sha256_update(sha, piece.data, piece.len, &err->base);
        }
        if (status == SIRIX_OK) {
            status = sirix_work_tick(call->work, 1 + piece.len / SIRIX_WORK_BYTES_PER_UNIT, err);
        }
    }
    sirix_buf_deinit(&piece);
    sirix_serialiser_free(serialiser);
    return status;
}

/* sdb:hash($item): of name and content, so that equal hashes mean that nothing has changed. */
static enum sirix_status hash(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_document_node node;
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    struct sirix_sha256 sha = {0};
    uint8_t bytes[SIRIX_SHA256_BYTES];
    char text[SIRIX_SHA256_HEX_BYTES];
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_sha256_init(&sha, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_document_get(&view->document, key, &node, &err->base);
    }
    if (status == SIRIX_OK && node.is_member) {
        status = sirix_sha256_update(&sha, node.name.data, node.name.len, &err->base);
    }
    if (status == SIRIX_OK) {
        status = hash_text(call, view, key, &sha, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&sha, bytes, &err->base);
    }
    sirix_sha256_deinit(&sha);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_sha256_hex(bytes, text);
    status = sirix_item_new_string(
        call->work, (struct sirix_bytes){.data = text, .len = sizeof(text) - 1}, &item, err);
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

static enum sirix_status child_count(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    struct sirix_node node;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK) {
        status = sirix_stored_get(&view->document, key, &node, &err->base);
    }
    return status == SIRIX_OK
               ? sirix_call_give(call,
                                 sirix_item_integer(sirix_node_is_container(node.kind)
                                                        ? (int64_t)node.child_count
                                                        : 0),
                                 out, err)
               : status;
}

static enum sirix_status descendant_count(struct sirix_call *call, struct sirix_sequence *out,
                                          struct sirix_query_error *err)
{
    struct sirix_store_view *view = NULL;
    struct sirix_walk *walk = NULL;
    struct sirix_document_node node;
    int64_t count = -1; /* The item itself comes first. */
    uint32_t depth = 0;
    uint64_t key = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK && key == 1 && view->view.record.node_count != 0) {
        return sirix_call_give(call, sirix_item_integer((int64_t)view->view.record.node_count - 1),
                               out, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_walk_new(&view->document, key, &walk, &err->base);
    }
    while (status == SIRIX_OK) {
        status = sirix_walk_next(walk, &node, &depth, &err->base);
        count += status == SIRIX_OK ? 1 : 0;
        if (status == SIRIX_OK) {
            status = sirix_work_tick(call->work, 1, err);
        }
    }
    sirix_walk_free(walk);
    return status == SIRIX_NOT_FOUND ? sirix_call_give(call, sirix_item_integer(count), out, err)
                                     : status;
}

/* sdb:level-order($item [, $depth]): the item and what is below it, level by level. */
static enum sirix_status level_order(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_sequence items = {0};
    struct sirix_store_view *view = NULL;
    uint64_t key = 0;
    uint64_t depth = UINT64_MAX;
    size_t next = 0;
    enum sirix_status status = sirix_call_node(call, 0, &view, &key, err);

    if (status == SIRIX_OK && sirix_call_has(call, 1)) {
        status = sirix_call_number(call, 1, 0, &depth, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sequence_append(call->work, &items, sirix_call_item(call, 0), err);
    }
    for (uint64_t level = 0; level < depth && status == SIRIX_OK && next < items.count; level++) {
        const size_t end = items.count;

        for (; next < end && status == SIRIX_OK; next++) {
            struct sirix_item child = {0};
            struct sirix_cursor cursor;

            if (!sirix_item_is_structured(items.items[next])) {
                continue;
            }
            status = sirix_cursor_start(call->work, items.items[next], &cursor, err);
            while (status == SIRIX_OK) {
                status = sirix_work_tick(call->work, 1, err);
                if (status == SIRIX_OK) {
                    status = sirix_cursor_next(call->work, &cursor, NULL, &child, err);
                }
                if (status != SIRIX_OK || child.kind == SIRIX_ITEM_NONE) {
                    break;
                }
                status = sirix_sequence_append(call->work, &items, child, err);
            }
        }
    }
    if (status == SIRIX_OK) {
        *out = items;
    }
    return status;
}

static const struct sirix_function rows[] = {
    SIRIX_ROW(SDB, "nodekey", 1, 1, nodekey, NULL, 0, SIRIX_T(INTEGER, ONE), SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "select-item", 2, 2, select_item, NULL, 0, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(ITEM, ONE), SIRIX_T(INTEGER, ONE)),
    SIRIX_ROW(JN, "select-json-item", 2, 2, select_item, NULL, 0, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(ITEM, ONE), SIRIX_T(INTEGER, ONE)),
    SIRIX_ROW(SDB, "select-parent", 1, 1, select_parent, NULL, 0, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "path", 1, 1, path, NULL, 0, SIRIX_T(STRING, OPTIONAL), SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "hash", 1, 1, hash, NULL, 0, SIRIX_T(STRING, ONE), SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "child-count", 1, 1, child_count, NULL, 0, SIRIX_T(INTEGER, ONE),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "descendant-count", 1, 1, descendant_count, NULL, 0, SIRIX_T(INTEGER, ONE),
              SIRIX_T(ITEM, ONE)),
    SIRIX_ROW(SDB, "level-order", 1, 2, level_order, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(ITEM, ONE), SIRIX_T(INTEGER, OPTIONAL)),
};
const struct sirix_function_table sirix_store_node_functions = {
    .functions = rows, .count = sizeof(rows) / sizeof(rows[0])};
