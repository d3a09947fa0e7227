/*
 * Moving a node with its subtree. Keys stay, but for the top node between an object and an array: a
 * member has two keys, an element one, so that it gets fresh ones, and the children of its container a
 * new parent.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/path_rows.h"

struct moving {
    struct sirix_edit *edit;
    struct sirix_rows rows;
    struct sirix_document_node node;
    struct sirix_spot spot;
    bool to_object;
    bool same_parent;
    struct sirix_buf name; /* The one that it will have. */
    bool renamed;
    uint64_t old_index;
    uint64_t old_count;
    uint64_t old_name_len;
    uint32_t old_hash;
    uint64_t key; /* Of the node afterwards. */
};

static enum sirix_status refuse(const char *what, struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND, "%s", what);
}

/* The spot may not lie in the subtree that moves. */
static enum sirix_status check_outside(struct moving *m, struct sirix_error *err)
{
    uint64_t key = m->spot.parent.key;

    while (key > 1) {
        struct sirix_document_node node = {0};
        enum sirix_status status = SIRIX_OK;
        if (key == m->node.key) {
            return refuse("a node cannot be moved into its own subtree", err);
        }
        status = sirix_rows_node(&m->rows, key, &node, err);
        if (status != SIRIX_OK) {
            return status;
        }
        key = node.parent;
    }
    return SIRIX_OK;
}

static enum sirix_status check_depth(struct moving *m, struct sirix_error *err)
{
    struct sirix_subtree subtree = {0};
    uint32_t from = 0;
    uint32_t to = 0;
    enum sirix_status status = sirix_edit_depth(m->edit, m->node.parent, &from, err);

    if (status == SIRIX_OK) {
        status = sirix_edit_depth(m->edit, m->spot.parent.key, &to, err);
    }
    if (status != SIRIX_OK || to <= from || !sirix_node_is_container(m->node.kind)) {
        return status;
    }
    status = sirix_edit_scan(m->edit, &m->node, false, &subtree, err);
    if (status == SIRIX_OK && to + subtree.height > SIRIX_DOCUMENT_DEPTH_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_DEPTH_LIMIT,
                                   "the document would be nested deeper than %d levels",
                                   SIRIX_DOCUMENT_DEPTH_MAX);
    }
    sirix_subtree_deinit(&subtree);
    return status;
}

/* The name that the node will have, and whether it may have it there. */
static enum sirix_status check_name(struct moving *m, const struct sirix_bytes *given,
                                    struct sirix_error *err)
{
    const struct sirix_node *listed = sirix_node_listed(&m->node);
    enum sirix_status status = SIRIX_OK;
    bool same = false;

    if (!m->to_object) {
        return SIRIX_OK;
    }
    if (given == NULL && !m->node.is_member) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "an element that moves into an object needs a name");
        sirix_error_set_field(err, "name");
        return status;
    }
    if (given != NULL) {
        status = sirix_edit_name_check(*given, err);
        if (status == SIRIX_OK && m->node.is_member) {
            status = sirix_rows_name_equals(&m->rows, listed, *given, &same, err);
        }
        m->renamed = !same;
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(&m->name, *given, err);
        }
    } else {
        status = sirix_rows_name(&m->rows, listed, &m->name, err);
    }
    if (status == SIRIX_OK && (m->renamed || !m->same_parent)) {
        status = sirix_edit_name_free(m->edit, &m->spot.parent, sirix_buf_view(&m->name), err);
    }
    return status;
}

static enum sirix_status check(struct moving *m, const struct sirix_edit_move *move,
                               struct sirix_error *err)
{
    struct sirix_document_node parent = {0};
    struct sirix_name_hash hash = {0};
    struct sirix_list list = {0};
    const struct sirix_node *listed = NULL;
    enum sirix_status status = sirix_rows_node(&m->rows, move->key, &m->node, err);

    if (status == SIRIX_OK && m->node.key <= 1) {
        return refuse("the document's value cannot be moved", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_spot(m->edit, move->target, move->place, move->index, &m->spot, err);
    }
    if (status == SIRIX_OK) {
        status = check_outside(m, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_node(&m->rows, m->node.parent, &parent, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_of(&m->rows, &parent, &list, err);
    }
    listed = sirix_node_listed(&m->node);
    if (status == SIRIX_OK) {
        status = sirix_list_index(&m->rows, &list, listed, &m->old_index, err);
    }
    if (status == SIRIX_OK && m->node.is_member) {
        status = sirix_edit_name_hash(m->edit, listed, &hash, err);
        if (status == SIRIX_OK) {
            status = sirix_rows_name_len(&m->rows, listed, &m->old_name_len, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    m->old_count = list.count;
    m->old_hash = sirix_name_hash_stored(hash);
    m->to_object = m->spot.parent.kind == SIRIX_NODE_OBJECT;
    m->same_parent = m->spot.container == list.container;
    /* Among its siblings an index is counted without the node itself. */
    if (m->same_parent && move->place == SIRIX_PLACE_INDEX && move->index >= list.count) {
        return sirix_fail(err, SIRIX_OUT_OF_RANGE,
                          "index %" PRIu64 " is past the last of %" PRIu64 " siblings", move->index,
                          list.count);
    }
    if (m->same_parent && move->place != SIRIX_PLACE_INDEX && m->spot.index > m->old_index) {
        m->spot.index--;
    }
    status = check_name(m, move->name, err);
    return status == SIRIX_OK && !m->same_parent ? check_depth(m, err) : status;
}

/* --- Doing it -------------------------------------------------------------------------------------- */

static uint32_t new_hash(const struct moving *m)
{
    return sirix_name_hash_stored(sirix_name_hash(sirix_resource_name_seed(m->edit->base.resource),
                                                  sirix_buf_view(&m->name)));
}

/* Gives the children of a container another parent. */
static enum sirix_status reparent(struct moving *m, struct sirix_siblings *siblings,
                                  uint64_t container, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint64_t key = 0;

    while (status == SIRIX_OK) {
        struct sirix_node child = {0};
        status = sirix_siblings_next(siblings, &key, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_row(m->edit, key, &child, err);
        }
        if (status == SIRIX_OK) {
            child.parent = container;
            status = sirix_edit_put(m->edit, &child, err);
        }
    }
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* The row of the container at another key, its list with it. value is a copy without slices. */
static enum sirix_status put_container(struct moving *m, struct sirix_node *value,
                                       const uint64_t *keys, struct sirix_error *err)
{
    struct sirix_edit *edit = m->edit;
    struct sirix_open_list *open = NULL;
    enum sirix_status status = SIRIX_OK;
    uint64_t old_key = m->node.stored.key;
    uint64_t held = 0;

    if (!value->child_tree) {
        sirix_buf_clear(&edit->deltas);
        status = sirix_node_children_encode(value->key, keys, (size_t)value->child_count,
                                            &edit->deltas, err);
        value->children = sirix_buf_view(&edit->deltas);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_put(edit, value, err);
    }
    if (status == SIRIX_OK && sirix_map_remove(&edit->open_lists, old_key, &held)) {
        open = sirix_edit_pointer(held);
        open->container = value->key;
        status = sirix_edit_open_list_keep(edit, open, err);
        if (status != SIRIX_OK) {
            sirix_open_list_free(open);
        }
    }
    return status;
}

/*
 * Writes the value's row or rows under the new keys; listed says which, and the place. Rows that are
 * removed take their slices with them: text and children are copied first.
 */
static enum sirix_status put_value(struct moving *m, const struct sirix_node *listed,
                                   struct sirix_siblings *siblings, struct sirix_buf *text,
                                   struct sirix_error *err)
{
    struct sirix_node value = m->node.stored;
    struct sirix_list list = {0};
    bool is_container = sirix_node_is_container(m->node.kind);
    enum sirix_status status = sirix_buf_append_bytes(text, value.text.bytes, err);

    value.text.bytes = sirix_buf_view(text);
    if (status == SIRIX_OK && is_container) {
        status = sirix_list_of(&m->rows, &m->node, &list, err);
        if (status == SIRIX_OK) {
            status = sirix_siblings_init(siblings, &m->rows, &list, 0, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_remove(m->edit->trie, m->node.key,
                                        m->node.key + (m->node.is_member ? 1 : 0), err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (m->to_object && is_container) {
        struct sirix_node field = *listed;
        field.kind = SIRIX_NODE_FIELD;
        status = sirix_edit_put(m->edit, &field, err);
        value.key = listed->key + 1;
        value.parent = listed->key;
        value.order = SIRIX_ORDER_KEY;
        value.label = (struct sirix_label){0};
    } else {
        value.kind = !m->to_object
                         ? m->node.kind
                         : (enum sirix_node_kind)((int)m->node.kind + SIRIX_NODE_FIELD_STRING -
                                                  SIRIX_NODE_STRING);
        value.key = listed->key;
        value.parent = listed->parent;
        value.order = listed->order;
        value.label = listed->label;
        value.name_interned = listed->name_interned;
        value.name_id = listed->name_id;
        value.name = listed->name;
    }
    if (status == SIRIX_OK && !is_container) {
        return sirix_edit_put(m->edit, &value, err);
    }
    if (status == SIRIX_OK) {
        status = put_container(m, &value, siblings->from.keys, err);
    }
    return status == SIRIX_OK ? reparent(m, siblings, value.key, err) : status;
}

/* Under the same keys: only the listed row says another parent, place and perhaps name. */
static enum sirix_status keep_keys(struct moving *m, const struct sirix_node *place,
                                   struct sirix_error *err)
{
    struct sirix_node row = {0};
    enum sirix_status status = sirix_edit_row(m->edit, m->node.key, &row, err);

    if (status == SIRIX_OK && m->renamed) {
        status = sirix_edit_name(m->edit, sirix_buf_view(&m->name), &row, err);
    }
    if (status == SIRIX_OK) {
        row.parent = m->spot.container;
        row.order = place->order;
        row.label = place->label;
        status = sirix_edit_put(m->edit, &row, err);
    }
    return status;
}

static enum sirix_status move_away(struct moving *m, struct sirix_error *err)
{
    struct sirix_edit *edit = m->edit;
    bool fresh = m->node.is_member != m->to_object;
    struct sirix_node listed = {.parent = m->spot.container};
    struct sirix_node old = {.key = m->node.key};
    struct sirix_siblings *siblings = NULL;
    struct sirix_buf text;
    uint64_t old_container = sirix_node_listed(&m->node)->parent;
    enum sirix_status status = SIRIX_OK;

    m->key = m->node.key;
    if (fresh) {
        status = sirix_edit_take_keys(edit, m->to_object ? 2 : 1, &m->key, err);
    }
    listed.key = m->key;
    if (status == SIRIX_OK) {
        status = sirix_edit_list_remove(edit, old_container, m->old_index, &old, m->old_hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_list_insert(edit, m->spot.container, m->spot.index, &listed,
                                        m->to_object ? new_hash(m) : 0, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!fresh) {
        return keep_keys(m, &listed, err);
    }
    if (m->to_object) {
        status = sirix_edit_name(edit, sirix_buf_view(&m->name), &listed, err);
    }
    /* Lists were rewritten: the node's slices may be stale. */
    if (status == SIRIX_OK) {
        status = sirix_rows_node(&m->rows, m->node.key, &m->node, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    siblings = malloc(sizeof(*siblings));
    if (siblings == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a move");
    }
    sirix_buf_init(&text, SIZE_MAX);
    status = put_value(m, &listed, siblings, &text, err);
    sirix_buf_deinit(&text);
    free(siblings);
    return status;
}

static enum sirix_status move_among_siblings(struct moving *m, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool changed = false;

    m->key = m->node.key;
    if (m->spot.index != m->old_index) {
        status = sirix_edit_relist(m->edit, m->node.key, m->spot.index, err);
    }
    return status == SIRIX_OK && m->renamed
               ? sirix_edit_rename(m->edit, m->node.key, sirix_buf_view(&m->name), &changed, err)
               : status;
}

static void count_texts(struct moving *m)
{
    struct sirix_edit *edit = m->edit;

    edit->text_bytes -= (m->old_count > 1 ? 1 : 0) + (m->node.is_member ? m->old_name_len + 3 : 0);
    edit->text_bytes +=
        (m->spot.parent.child_count != 0 ? 1 : 0) + (m->to_object ? m->name.len + 3 : 0);
}

enum sirix_status sirix_edit_move(struct sirix_edit *edit, const struct sirix_edit_move *move,
                                  uint64_t *out_key, bool *out_changed, struct sirix_error *err)
{
    struct moving *m = NULL;
    struct sirix_error error = {0};
    bool changed = false;
    enum sirix_status status = sirix_edit_begin(edit, false, err);

    if (status != SIRIX_OK) {
        return status;
    }
    m = calloc(1, sizeof(*m));
    if (m == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a move");
    }
    m->edit = edit;
    m->rows = sirix_rows_of_edit(edit);
    sirix_buf_init(&m->name, SIZE_MAX);
    status = check(m, move, &error);
    changed =
        status == SIRIX_OK && (!m->same_parent || m->renamed || m->spot.index != m->old_index);
    m->key = m->node.key;
    if (changed && m->same_parent) {
        status = sirix_edit_break(edit, move_among_siblings(m, &error), &error);
    } else if (changed) {
        bool was_member = m->node.is_member;
        uint64_t old_name_len = m->old_name_len;
        status = move_away(m, &error);
        if (status == SIRIX_OK) {
            status = sirix_edit_paths_walk(edit, m->key, &error);
        }
        (void)sirix_edit_break(edit, status, &error);
        m->node.is_member = was_member;
        m->old_name_len = old_name_len;
        count_texts(m);
    }
    if (status == SIRIX_OK) {
        *out_key = m->key;
        *out_changed = changed;
    } else if (err != NULL) {
        *err = error;
    }
    sirix_buf_deinit(&m->name);
    free(m);
    return status;
}
