/*
 * The life of an edit, and what all operations share: keys, rows, names, reading back.
 */
#include "store/document/edit.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/build.h"
#include "store/document/edit_install.h"
#include "json/text.h"

enum sirix_status sirix_edit_new(const struct sirix_view *base, struct sirix_reader *reader,
                                 struct sirix_edit **out_edit, struct sirix_error *err)
{
    struct sirix_edit *edit = calloc(1, sizeof(*edit));
    enum sirix_status status = SIRIX_OK;

    if (edit == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for an edit");
    }
    edit->base = *base;
    edit->reader = reader;
    edit->node_count = base->record.node_count;
    edit->text_bytes = base->record.text_bytes;
    edit->keys.run_keys = SIRIX_EDIT_RUN_KEYS_MIN;
    edit->keys.shared_max = SIRIX_EDIT_SHARED_KEYS;
    sirix_map_init(&edit->open_lists);
    sirix_map_init(&edit->early_texts);
    sirix_buf_init(&edit->record, SIZE_MAX);
    sirix_buf_init(&edit->deltas, SIZE_MAX);
    sirix_buf_init(&edit->extra_bytes, SIZE_MAX);
    status = sirix_trie_edit_new(reader, base->record.trie, &edit->trie, err);
    if (status != SIRIX_OK) {
        sirix_edit_free(edit);
        return status;
    }
    *out_edit = edit;
    return SIRIX_OK;
}

void sirix_edit_free(struct sirix_edit *edit)
{
    if (edit == NULL) {
        return;
    }
    sirix_edit_value_abort(edit);
    sirix_edit_unkeep(edit);
    sirix_edit_open_lists_free(edit);
    sirix_edit_early_deinit(edit);
    sirix_trie_edit_free(edit->trie);
    sirix_path_summary_deinit(&edit->paths);
    sirix_map_deinit(&edit->open_lists);
    sirix_map_deinit(&edit->early_texts);
    sirix_buf_deinit(&edit->record);
    sirix_buf_deinit(&edit->deltas);
    sirix_buf_deinit(&edit->extra_bytes);
    for (size_t i = 0; i < edit->segment_count; i++) {
        free(edit->segments[i].bytes);
    }
    free(edit->segments);
    free(edit->name_ids);
    free(edit->extra_refs);
    free(edit);
}

enum sirix_status sirix_edit_check(struct sirix_edit *edit, struct sirix_error *err)
{
    if (edit->broken != SIRIX_OK) {
        if (err != NULL) {
            *err = edit->broken_error;
        }
        return edit->broken;
    }
    if (edit->build != NULL) {
        return sirix_fail(err, SIRIX_INTERNAL, "a value is open: feed and end it first");
    }
    if (edit->prepared) {
        return sirix_fail(err, SIRIX_INTERNAL, "the edit was prepared already");
    }
    return SIRIX_OK;
}

enum sirix_status sirix_edit_begin(struct sirix_edit *edit, bool deletes, struct sirix_error *err)
{
    enum sirix_status status = sirix_edit_check(edit, err);

    if (status == SIRIX_OK) {
        edit->operations += edit->operations < 2 ? 1 : 0;
        edit->puts = edit->puts || !deletes;
        sirix_edit_unkeep(edit);
    }
    return status;
}

enum sirix_status sirix_edit_break(struct sirix_edit *edit, enum sirix_status status,
                                   const struct sirix_error *error)
{
    if (status != SIRIX_OK && edit->broken == SIRIX_OK) {
        edit->broken = status;
        edit->broken_error = error != NULL ? *error : (struct sirix_error){.status = status};
    }
    return status;
}

void sirix_edit_set_pause(struct sirix_edit *edit, sirix_edit_pause_fn pause, void *context)
{
    assert(edit->operations == 0);
    edit->pause = pause;
    edit->pause_context = context;
}

enum sirix_status sirix_edit_pause(struct sirix_edit *edit, struct sirix_error *err)
{
    struct sirix_error error = {0};
    enum sirix_status status = SIRIX_OK;

    edit->steps = 0;
    if (edit->pause != NULL) {
        status = sirix_edit_break(edit, edit->pause(edit->pause_context, &error), &error);
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = error;
    }
    return status;
}

/* --- Keys ---------------------------------------------------------------------------------------- */

/* Takes keys one by one from the run that all writers of the resource share: never across leaves. */
static enum sirix_status take_shared(struct sirix_edit *edit, uint32_t count, uint64_t *out_key,
                                     struct sirix_error *err)
{
    uint64_t first = 0;
    enum sirix_status status =
        sirix_resource_take_keys(edit->base.resource, count, false, &first, err);

    if (status == SIRIX_OK) {
        assert(first / SIRIX_LEAF_KEYS == (first + count - 1) / SIRIX_LEAF_KEYS);
        edit->keys.shared += count;
        *out_key = first;
    }
    return status;
}

/* Takes a whole run; one that goes on where the last one ended makes it longer. */
static enum sirix_status take_run(struct sirix_edit *edit, struct sirix_error *err)
{
    struct sirix_edit_keys *keys = &edit->keys;
    uint64_t first = 0;
    enum sirix_status status =
        sirix_resource_take_keys(edit->base.resource, keys->run_keys, true, &first, err);

    if (status != SIRIX_OK) {
        return status;
    }
    assert(first % SIRIX_LEAF_KEYS == 0);
    if (first != keys->end) {
        keys->next = first;
    }
    keys->end = first + keys->run_keys;
    keys->shared_max = 0; /* From now on keys only rise. */
    if (keys->run_keys < SIRIX_EDIT_RUN_KEYS_MAX) {
        keys->run_keys *= 2;
    }
    return SIRIX_OK;
}

static bool splits(const struct sirix_edit_keys *keys, uint32_t count)
{
    return count == 2 && !keys->straddle && keys->next % SIRIX_LEAF_KEYS == SIRIX_LEAF_KEYS - 1;
}

/*
 * Whether the next keys come from the shared run. One that may go beyond the first few, to number a
 * new document without holes, ends with its leaf.
 */
static bool from_shared(const struct sirix_edit_keys *keys, uint32_t count)
{
    if (keys->next != keys->end || keys->shared + count > keys->shared_max) {
        return false;
    }
    return keys->shared == 0 || keys->shared_max == SIRIX_EDIT_SHARED_KEYS ||
           (keys->max + count) / SIRIX_LEAF_KEYS == keys->max / SIRIX_LEAF_KEYS;
}

enum sirix_status sirix_edit_take_keys(struct sirix_edit *edit, uint32_t count, uint64_t *out_key,
                                       struct sirix_error *err)
{
    struct sirix_edit_keys *keys = &edit->keys;
    enum sirix_status status = SIRIX_OK;
    uint64_t key = 0;

    assert(count == 1 || count == 2);
    if (from_shared(keys, count)) {
        status = take_shared(edit, count, &key, err);
    } else {
        keys->next += splits(keys, count) && keys->next != keys->end ? 1 : 0;
        if (keys->end - keys->next < count) {
            status = take_run(edit, err);
            assert(status != SIRIX_OK || keys->end - keys->next >= count);
        }
        key = keys->next;
        keys->next += status == SIRIX_OK ? count : 0;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (key + count - 1 > SIRIX_KEY_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "the resource has no node keys left");
    }
    if (key + count - 1 > keys->max) {
        keys->max = key + count - 1;
    }
    *out_key = key;
    return SIRIX_OK;
}

/* --- Rows and names ------------------------------------------------------------------------------ */

enum sirix_status sirix_edit_put(struct sirix_edit *edit, const struct sirix_node *node,
                                 struct sirix_error *err)
{
    enum sirix_status status = sirix_edit_step(edit, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_clear(&edit->record);
    status = sirix_node_encode(node, &edit->record, err);
    return status == SIRIX_OK
               ? sirix_trie_edit_put(edit->trie, node->key, sirix_node_width(node->kind),
                                     sirix_buf_view(&edit->record), err)
               : status;
}

enum sirix_status sirix_edit_name_check(struct sirix_bytes name, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!sirix_json_text_valid(name)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_JSON_ENCODING,
                                   "the member's name is not a JSON string in canonical form");
    } else if (sirix_json_text_plain_len(name) > SIRIX_MEMBER_NAME_BYTES_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                   "the member's name is longer than %d bytes",
                                   SIRIX_MEMBER_NAME_BYTES_MAX);
    }
    if (status != SIRIX_OK) {
        sirix_error_set_field(err, "name");
    }
    return status;
}

enum sirix_status sirix_edit_name(struct sirix_edit *edit, struct sirix_bytes name,
                                  struct sirix_node *field, struct sirix_error *err)
{
    bool is_interned = false;
    uint32_t id = 0;
    struct sirix_text text = {.bytes = name, .len = name.len};
    enum sirix_status status =
        sirix_names_intern(edit->base.resource, name, &is_interned, &id, err);

    if (status == SIRIX_OK && !is_interned && name.len > SIRIX_TEXT_INLINE_MAX) {
        status = sirix_edit_early_text(edit, name, true, &text, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    field->name_interned = is_interned;
    field->name_id = id;
    field->name = (struct sirix_text){0};
    if (is_interned) {
        edit->names_used[id / 64] |= UINT64_C(1) << (id % 64);
    } else {
        text.escaped = sirix_json_text_has_escapes(name);
        field->name = text;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_edit_depth(struct sirix_edit *edit, uint64_t key, uint32_t *out_depth,
                                   struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    uint32_t depth = 0;

    while (key != 0) {
        struct sirix_document_node node = {0};
        enum sirix_status status = sirix_rows_node(&rows, key, &node, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (depth > SIRIX_DOCUMENT_DEPTH_MAX) {
            return sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " is nested without end", key);
        }
        depth++;
        key = node.parent;
    }
    *out_depth = depth;
    return SIRIX_OK;
}

/* --- Reading through the edit -------------------------------------------------------------------- */

enum sirix_status sirix_edit_get(struct sirix_edit *edit, uint64_t key,
                                 struct sirix_document_node *out_node, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    enum sirix_status status = sirix_edit_check(edit, err);

    return status == SIRIX_OK ? sirix_rows_node(&rows, key, out_node, err) : status;
}

/* The list of a node, for the questions below. */
static enum sirix_status list_of_key(struct sirix_edit *edit, struct sirix_rows *rows, uint64_t key,
                                     struct sirix_list *out_list, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = sirix_edit_check(edit, err);

    *rows = sirix_rows_of_edit(edit);
    if (status == SIRIX_OK) {
        status = sirix_rows_node(rows, key, &node, err);
    }
    return status == SIRIX_OK ? sirix_list_of(rows, &node, out_list, err) : status;
}

enum sirix_status sirix_edit_child_at(struct sirix_edit *edit, uint64_t key, uint64_t index,
                                      uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_rows rows = {0};
    struct sirix_list list = {0};
    enum sirix_status status = list_of_key(edit, &rows, key, &list, err);

    return status == SIRIX_OK ? sirix_list_at(&rows, &list, index, out_key, err) : status;
}

enum sirix_status sirix_edit_child_index(struct sirix_edit *edit, uint64_t key, uint64_t *out_index,
                                         struct sirix_error *err)
{
    struct sirix_rows rows = {0};
    struct sirix_list list = {0};
    struct sirix_document_node node = {0};
    enum sirix_status status = sirix_edit_get(edit, key, &node, err);

    if (status == SIRIX_OK && node.kind == SIRIX_NODE_DOCUMENT) {
        return SIRIX_NOT_FOUND;
    }
    if (status == SIRIX_OK) {
        status = list_of_key(edit, &rows, node.parent, &list, err);
    }
    return status == SIRIX_OK
               ? sirix_list_index(&rows, &list, sirix_node_listed(&node), out_index, err)
               : status;
}

enum sirix_status sirix_edit_member(struct sirix_edit *edit, uint64_t key, struct sirix_bytes name,
                                    uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_rows rows = {0};
    struct sirix_list list = {0};
    enum sirix_status status = list_of_key(edit, &rows, key == 0 ? 1 : key, &list, err);

    return status == SIRIX_OK ? sirix_list_member(&rows, &list, name, out_key, err) : status;
}
