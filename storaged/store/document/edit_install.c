/*
 * What happens after the text of a value: it is compared with what it replaces, rows that go are
 * removed, and the top value gets its place.
 */
#include "store/document/edit_install.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/build.h"
#include "store/document/path_rows.h"
#include "json/number.h"
#include "json/tree.h"

enum { EQUAL_TEXT_BYTES_MAX = SIRIX_EDIT_BULK_BYTES, STEP_BYTES = 16 * 1024 };

/* The value's row as a member's: fused, or field and container. */
static enum sirix_node_kind member_kind(enum sirix_node_kind kind)
{
    return sirix_node_is_container(kind)
               ? SIRIX_NODE_FIELD
               : (enum sirix_node_kind)((int)kind + SIRIX_NODE_FIELD_STRING - SIRIX_NODE_STRING);
}

/* Puts the rows of the top value. listed: key, parent, order and, for a member, the name. */
static enum sirix_status put_top(struct sirix_edit *edit, const struct sirix_node *listed,
                                 bool is_member, struct sirix_error *err)
{
    struct sirix_build *build = edit->build;
    struct sirix_node node = build->top;
    bool is_container = sirix_node_is_container(node.kind);
    enum sirix_status status = SIRIX_OK;

    node.key = listed->key;
    node.parent = listed->parent;
    node.order = listed->order;
    node.label = listed->label;
    if (is_member) {
        node.kind = member_kind(node.kind);
        node.name_interned = listed->name_interned;
        node.name_id = listed->name_id;
        node.name = listed->name;
    }
    status = sirix_edit_put(edit, &node, err);
    if (status == SIRIX_OK && is_member && is_container) {
        node = build->top;
        node.key = listed->key + 1;
        node.parent = listed->key;
        status = sirix_edit_put(edit, &node, err);
    }
    if (status == SIRIX_OK && build->top_open != NULL) {
        status = sirix_edit_open_list_keep(edit, build->top_open, err);
        build->top_open = status == SIRIX_OK ? NULL : build->top_open;
    }
    return status;
}

/* --- Inserts --------------------------------------------------------------------------------------- */

static enum sirix_status install_one(struct sirix_edit *edit, const struct sirix_edit_operation *op,
                                     bool *out_touched, struct sirix_error *err)
{
    struct sirix_bytes name = sirix_buf_view(&op->name);
    struct sirix_node listed = {.key = op->key, .parent = op->spot.container};
    uint32_t hash = 0;
    enum sirix_status status = SIRIX_OK;

    if (op->has_name) {
        status = sirix_edit_name(edit, name, &listed, err);
        hash = sirix_name_hash_stored(
            sirix_name_hash(sirix_resource_name_seed(edit->base.resource), name));
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_touched = true;
    if (op->spot.parent.kind != SIRIX_NODE_DOCUMENT) {
        status =
            sirix_edit_list_insert(edit, op->spot.container, op->spot.index, &listed, hash, err);
    }
    if (status == SIRIX_OK) {
        status = put_top(edit, &listed, op->has_name, err);
    }
    edit->node_count += edit->build->node_count;
    edit->text_bytes += edit->build->text_bytes + (op->has_name ? name.len + 3 : 0) +
                        (op->spot.parent.child_count != 0 ? 1 : 0);
    return status;
}

/* No member may have the name of one that the object has already. */
static enum sirix_status check_members(struct sirix_edit *edit,
                                       const struct sirix_edit_operation *op,
                                       struct sirix_error *err)
{
    const struct sirix_build *build = edit->build;
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node object = {0};
    struct sirix_buf name;
    enum sirix_status status = sirix_rows_node(&rows, op->spot.container, &object, err);

    sirix_buf_init(&name, SIZE_MAX);
    for (size_t i = 0; i < build->key_count && status == SIRIX_OK && object.child_count != 0; i++) {
        struct sirix_node field = {0};
        status = sirix_edit_step(edit, err);
        sirix_buf_clear(&name);
        if (status == SIRIX_OK) {
            status = sirix_edit_row(edit, build->keys[i], &field, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_rows_name(&rows, &field, &name, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_edit_name_free(edit, &object, sirix_buf_view(&name), err);
        }
    }
    sirix_buf_deinit(&name);
    return status;
}

static enum sirix_status install_members(struct sirix_edit *edit,
                                         const struct sirix_edit_operation *op, bool *out_touched,
                                         struct sirix_error *err)
{
    const struct sirix_build *build = edit->build;
    enum sirix_status status = check_members(edit, op, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < build->key_count && status == SIRIX_OK; i++) {
        struct sirix_name_hash hash = {0};
        struct sirix_node field = {0};
        struct sirix_node child = {.key = build->keys[i]};
        status = sirix_edit_step(edit, err);
        if (status != SIRIX_OK) {
            break;
        }
        *out_touched = true;
        status = sirix_edit_row(edit, build->keys[i], &field, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_name_hash(edit, &field, &hash, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_edit_list_insert(edit, op->spot.container, op->spot.index + i, &child,
                                            sirix_name_hash_stored(hash), err);
        }
        /* The row may also say where it stood on another base. */
        if (status == SIRIX_OK &&
            (child.order != field.order || child.label.major != field.label.major ||
             child.label.minor != field.label.minor)) {
            status = sirix_edit_row(edit, build->keys[i], &field, err);
            field.order = child.order;
            field.label = child.label;
            status = status == SIRIX_OK ? sirix_edit_put(edit, &field, err) : status;
        }
    }
    edit->node_count += build->node_count;
    edit->text_bytes +=
        build->text_bytes + (op->spot.parent.child_count != 0 && build->key_count != 0 ? 1 : 0);
    return status;
}

/* --- Updates --------------------------------------------------------------------------------------- */

/* The whole text of the value of key, to a buffer or, without one, into a hash. */
static enum sirix_status text_of(struct sirix_edit *edit, uint64_t key, struct sirix_buf *out,
                                 struct sirix_sha256 *sha, struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_serialiser *serialiser = NULL;
    bool done = false;
    enum sirix_status status = sirix_serialiser_new_rows(&rows, &options, &serialiser, err);

    while (status == SIRIX_OK && !done) {
        status = sirix_edit_pause(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_serialiser_step(serialiser, STEP_BYTES, out, &done, err);
        }
        if (status == SIRIX_OK && sha != NULL) {
            status = sirix_sha256_update(sha, out->data, out->len, err);
            sirix_buf_clear(out);
        }
    }
    sirix_serialiser_free(serialiser);
    return status;
}

static enum sirix_status same_container(struct sirix_edit *edit, uint64_t key, bool *out_same,
                                        struct sirix_error *err)
{
    uint8_t old_hash[SIRIX_SHA256_BYTES];
    uint8_t new_hash[SIRIX_SHA256_BYTES];
    struct sirix_sha256 sha = {0};
    struct sirix_buf text;
    enum sirix_status status = sirix_sha256_init(&sha, err);

    sirix_buf_init(&text, SIZE_MAX);
    if (status == SIRIX_OK) {
        status = text_of(edit, key, &text, &sha, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&sha, old_hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_build_hash(edit->build, new_hash, err);
    }
    if (status == SIRIX_OK) {
        *out_same = memcmp(old_hash, new_hash, sizeof(old_hash)) == 0;
    }
    sirix_sha256_deinit(&sha);
    sirix_buf_deinit(&text);
    return status;
}

/* Whether two texts are the same bytes, wherever they lie. */
static enum sirix_status same_text(struct sirix_rows *rows, const struct sirix_text *a,
                                   const struct sirix_text *b, bool *out_same,
                                   struct sirix_error *err)
{
    const struct sirix_early_text *early = NULL;
    struct sirix_string_reader string_a = {0};
    struct sirix_string_reader string_b = {0};
    enum sirix_status status = SIRIX_OK;

    *out_same = false;
    if (a->len != b->len) {
        return SIRIX_OK;
    }
    if (a->address == 0) {
        return sirix_rows_text_equals(rows, b, a->bytes, out_same, err);
    }
    early = sirix_edit_early_text_find(rows->edit, a->address);
    if (early != NULL) {
        return sirix_rows_text_equals(
            rows, b, (struct sirix_bytes){.data = early->bytes, .len = early->len}, out_same, err);
    }
    early = sirix_edit_early_text_find(rows->edit, b->address);
    if (early != NULL) {
        return sirix_rows_text_equals(
            rows, a, (struct sirix_bytes){.data = early->bytes, .len = early->len}, out_same, err);
    }
    status = sirix_string_reader_init(&string_a, rows->reader, a->address, err);
    if (status == SIRIX_OK) {
        status = sirix_string_reader_init(&string_b, rows->reader, b->address, err);
    }
    if (status == SIRIX_OK) {
        *out_same = memcmp(string_a.info.hash, string_b.info.hash, sizeof(string_a.info.hash)) == 0;
    }
    return status;
}

static bool is_number(enum sirix_node_kind kind)
{
    return kind == SIRIX_NODE_INTEGER || kind == SIRIX_NODE_NUMBER;
}

static enum sirix_status same_number(struct sirix_rows *rows, const struct sirix_node *a,
                                     const struct sirix_node *b, bool *out_equal,
                                     struct sirix_error *err)
{
    struct sirix_buf text_a;
    struct sirix_buf text_b;
    bool cut = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&text_a, SIZE_MAX);
    sirix_buf_init(&text_b, SIZE_MAX);
    status = sirix_rows_scalar(rows, a, SIZE_MAX, &text_a, &cut, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_scalar(rows, b, SIZE_MAX, &text_b, &cut, err);
    }
    if (status == SIRIX_OK) {
        *out_equal =
            sirix_json_number_compare(sirix_buf_view(&text_a), sirix_buf_view(&text_b)) == 0;
    }
    sirix_buf_deinit(&text_a);
    sirix_buf_deinit(&text_b);
    return status;
}

/* Compares the old value with the new one: by text, and numbers by value too. */
static enum sirix_status compare_scalars(struct sirix_edit *edit, const struct sirix_node *old,
                                         bool *out_same, bool *out_equal, struct sirix_error *err)
{
    const struct sirix_node *top = &edit->build->top;
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    enum sirix_node_kind kind = sirix_node_value_kind(old->kind);
    enum sirix_status status = SIRIX_OK;

    *out_same = false;
    *out_equal = false;
    if (is_number(kind) && is_number(top->kind)) {
        status = same_number(&rows, old, top, out_equal, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (kind != top->kind) {
        return SIRIX_OK;
    }
    switch (kind) {
    case SIRIX_NODE_INTEGER:
        *out_same = old->integer == top->integer;
        return SIRIX_OK;
    case SIRIX_NODE_NUMBER:
        if (!old->number_text && !top->number_text) {
            *out_same = old->integer == top->integer && old->scale == top->scale;
        }
        if (!old->number_text || !top->number_text) {
            return SIRIX_OK;
        }
        return same_text(&rows, &old->text, &top->text, out_same, err);
    case SIRIX_NODE_STRING:
        return same_text(&rows, &old->text, &top->text, out_same, err);
    default:
        *out_same = true; /* true, false, null */
        return SIRIX_OK;
    }
}

/* Whether what stands at key now is equal to the old text: numbers by value, members in any order. */
static enum sirix_status equal_container(struct sirix_edit *edit, uint64_t key,
                                         const struct sirix_buf *old_text, bool *out_equal,
                                         struct sirix_error *err)
{
    struct sirix_arena arena;
    struct sirix_json_tree old_tree = {0};
    struct sirix_json_tree new_tree = {0};
    struct sirix_buf text;
    enum sirix_status status = SIRIX_OK;

    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&text, SIZE_MAX);
    status = text_of(edit, key, &text, NULL, err);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_init(&old_tree, &arena, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_tree_init(&new_tree, &arena, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&old_tree, sirix_buf_view(old_text), NULL, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&new_tree, sirix_buf_view(&text), NULL, NULL, err);
    }
    if (status == SIRIX_OK) {
        *out_equal = sirix_json_equal(&old_tree, old_tree.root, &new_tree, new_tree.root);
    }
    sirix_buf_deinit(&text);
    sirix_arena_deinit(&arena);
    return status;
}

/* Replaces the rows: the old value's children go, the top rows keep key, name and place. */
static enum sirix_status replace(struct sirix_edit *edit, const struct sirix_document_node *old,
                                 struct sirix_subtree *subtree, struct sirix_error *err)
{
    struct sirix_node listed = *sirix_node_listed(old);
    struct sirix_buf name;
    enum sirix_status status = SIRIX_OK;

    /* Rows move while others go: what is needed of this one is copied. */
    sirix_buf_init(&name, SIZE_MAX);
    status = sirix_buf_append_bytes(&name, listed.name.bytes, err);
    listed.name.bytes = sirix_buf_view(&name);
    if (status == SIRIX_OK) {
        status = sirix_edit_scan_remove(edit, subtree, err);
    }
    if (status == SIRIX_OK && old->is_member && sirix_node_is_container(old->kind)) {
        status = sirix_trie_edit_remove(edit->trie, old->key + 1, old->key + 1, err);
    }
    if (status == SIRIX_OK) {
        status = put_top(edit, &listed, old->is_member, err);
    }
    sirix_buf_deinit(&name);
    return status;
}

static enum sirix_status install_update(struct sirix_edit *edit,
                                        const struct sirix_edit_operation *op,
                                        struct sirix_edit_result *result, bool *out_touched,
                                        struct sirix_error *err)
{
    struct sirix_build *build = edit->build;
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node old = {0};
    struct sirix_subtree subtree = {0};
    struct sirix_buf old_text;
    bool same = false;
    bool may_be_equal = false;
    enum sirix_status status = sirix_rows_node(&rows, op->key, &old, err);

    sirix_buf_init(&old_text, SIZE_MAX);
    if (status == SIRIX_OK) {
        status = sirix_edit_scan(edit, &old, false, &subtree, err);
    }
    if (status == SIRIX_OK && !sirix_node_is_container(old.kind)) {
        status = compare_scalars(edit, &old.stored, &same, &result->equal_value, err);
    } else if (status == SIRIX_OK && old.kind == build->top.kind) {
        if (subtree.text_bytes == build->text_bytes) {
            status = same_container(edit, old.key, &same, err);
        }
        may_be_equal = !same && subtree.node_count == build->node_count &&
                       subtree.text_bytes <= EQUAL_TEXT_BYTES_MAX &&
                       build->text_bytes <= EQUAL_TEXT_BYTES_MAX && build->duplicate_count == 0;
        if (status == SIRIX_OK && may_be_equal) {
            status = text_of(edit, old.key, &old_text, NULL, err);
        }
    }
    if (status == SIRIX_OK && !same) {
        *out_touched = true;
        status = replace(edit, &old, &subtree, err);
        edit->node_count += build->node_count - subtree.node_count;
        edit->text_bytes += build->text_bytes - subtree.text_bytes;
        if (status == SIRIX_OK && may_be_equal) {
            status = equal_container(edit, op->key, &old_text, &result->equal_value, err);
        }
    }
    result->changed = !same;
    result->equal_value = result->equal_value && !same;
    sirix_buf_deinit(&old_text);
    sirix_subtree_deinit(&subtree);
    return status;
}

/* --- Duplicates ------------------------------------------------------------------------------------ */

static enum sirix_status member_of(struct sirix_rows *rows, uint64_t container, uint64_t key,
                                   struct sirix_document_node *out_node, bool *out_is,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirix_rows_node(rows, key, out_node, err);

    *out_is = status == SIRIX_OK && out_node->key == key && out_node->is_member &&
              sirix_node_listed(out_node)->parent == container;
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* The later member goes to the earlier one's place, and the earlier one goes. */
static enum sirix_status drop_duplicate(struct sirix_edit *edit,
                                        const struct sirix_build_duplicate *duplicate,
                                        uint64_t *out_nodes, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node earlier = {0};
    struct sirix_document_node later = {0};
    struct sirix_subtree subtree = {0};
    uint64_t index = 0;
    bool has_earlier = false;
    bool has_later = false;
    enum sirix_status status =
        member_of(&rows, duplicate->container, duplicate->later, &later, &has_later, err);

    if (status == SIRIX_OK) {
        status =
            member_of(&rows, duplicate->container, duplicate->earlier, &earlier, &has_earlier, err);
    }
    if (status != SIRIX_OK || !has_earlier || !has_later) {
        return status; /* Gone with a duplicate around it. */
    }
    status = sirix_edit_remove_node(edit, &earlier, &subtree, &index, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_relist(edit, duplicate->later, index, err);
    }
    *out_nodes += subtree.node_count;
    sirix_subtree_deinit(&subtree);
    return status;
}

static enum sirix_status drop_duplicates(struct sirix_edit *edit, struct sirix_edit_result *result,
                                         struct sirix_error *err)
{
    const struct sirix_build *build = edit->build;
    uint64_t nodes = 0;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < build->duplicate_count && status == SIRIX_OK; i++) {
        status = sirix_edit_step(edit, err);
        if (status == SIRIX_OK) {
            status = drop_duplicate(edit, &build->duplicates[i], &nodes, err);
        }
    }
    result->duplicates_dropped = build->duplicate_count;
    result->node_count -= nodes;
    return status;
}

/* Which member is the first one, and how many there are, after some have gone. */
static enum sirix_status first_member(struct sirix_edit *edit,
                                      const struct sirix_edit_operation *op,
                                      struct sirix_edit_result *result, struct sirix_error *err)
{
    const struct sirix_build *build = edit->build;
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node object = {0};
    struct sirix_list list = {0};
    enum sirix_status status = sirix_rows_node(&rows, op->spot.container, &object, err);

    for (size_t i = 0; i < build->duplicate_count; i++) {
        result->key_count -= build->duplicates[i].container == op->spot.container ? 1 : 0;
    }
    if (status == SIRIX_OK) {
        status = sirix_list_of(&rows, &object, &list, err);
    }
    return status == SIRIX_OK ? sirix_list_at(&rows, &list, op->spot.index, &result->key, err)
                              : status;
}

/* The paths of what was built, below the one where it stands now. */
static enum sirix_status note_paths(struct sirix_edit *edit, const struct sirix_edit_operation *op,
                                    struct sirix_error *err)
{
    uint32_t path = 0;
    enum sirix_status status =
        sirix_edit_path_of(edit, op->is_members ? op->spot.container : op->key, &path, err);

    if (status == SIRIX_OK && path == SIRIX_PATH_NONE) {
        edit->paths.coarse = true;
        return SIRIX_OK;
    }
    return status == SIRIX_OK
               ? sirix_path_summary_merge(&edit->paths, path, &edit->build->paths, err)
               : status;
}

/* --- All of it ------------------------------------------------------------------------------------- */

enum sirix_status sirix_edit_install(struct sirix_edit *edit, const struct sirix_edit_operation *op,
                                     struct sirix_edit_result *out_result, bool *out_touched,
                                     struct sirix_error *err)
{
    const struct sirix_build *build = edit->build;
    struct sirix_edit_result result = {
        .key = op->key,
        .key_count = 1,
        .kind = build->top.kind,
        .node_count = build->node_count,
        .changed = true,
    };
    enum sirix_status status = SIRIX_OK;

    *out_touched = false;
    if (op->is_update) {
        status = install_update(edit, op, &result, out_touched, err);
    } else if (op->is_members) {
        result.kind = SIRIX_NODE_OBJECT;
        result.key = build->key_count == 0 ? 0 : build->keys[0];
        result.key_count = build->key_count;
        result.changed = build->key_count != 0;
        status = install_members(edit, op, out_touched, err);
    } else {
        status = install_one(edit, op, out_touched, err);
    }
    if (status == SIRIX_OK && result.changed && build->duplicate_count != 0) {
        *out_touched = true;
        status = drop_duplicates(edit, &result, err);
        if (status == SIRIX_OK && op->is_members) {
            status = first_member(edit, op, &result, err);
        }
    }
    if (status == SIRIX_OK && result.changed) {
        status = note_paths(edit, op, err);
    }
    if (status == SIRIX_OK) {
        *out_result = result;
    }
    return status;
}
