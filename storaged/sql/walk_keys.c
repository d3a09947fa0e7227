/* Rows by their keys: is a node where the path of a table leads? And what the rows have besides. */
#include <string.h>

#include "sql/walk.h"
#include "json/text.h"

/* Whether a node's name is that of a level. */
static enum sirix_status name_fits(struct sirix_sql_walk *walk, const struct sirix_sql_level *level,
                                   const struct sirix_document_node *node, bool *out_fits,
                                   struct sirix_error *err)
{
    const struct sirix_path_node *nodes = walk->table->paths->nodes;
    const uint32_t parent = nodes[level->path].parent;
    enum sirix_status status = SIRIX_OK;

    if (level->step == SIRIX_STEP_MEMBER) {
        *out_fits = node->is_member && node->long_name.len == 0 &&
                    sirix_bytes_equal(node->name, level->canonical);
        return SIRIX_OK;
    }
    *out_fits = node->is_member;
    for (uint32_t i = parent + 1; *out_fits && status == SIRIX_OK && i < nodes[parent].end;
         i = nodes[i].end) {
        struct sirix_arena_mark mark = sirix_arena_mark(&walk->session->arena);
        struct sirix_bytes canonical = {0};

        status =
            sirix_json_text_to_canonical(&walk->session->arena, nodes[i].name, &canonical, err);
        if (status == SIRIX_OK && nodes[i].step == SIRIX_STEP_MEMBER && node->long_name.len == 0) {
            *out_fits = !sirix_bytes_equal(node->name, canonical);
        }
        sirix_arena_rewind(&walk->session->arena, mark);
    }
    return status;
}

/* Whether the path of level `at` leads to a node. key 1 has no level: it is the value. */
static enum sirix_status is_at(struct sirix_sql_walk *walk, size_t at, uint64_t key, bool *out_is,
                               struct sirix_error *err)
{
    *out_is = true;
    for (size_t i = at + 1; *out_is; i--) {
        struct sirix_document_node node = {0};

        if (i == 0) {
            *out_is = key == 1;
            return SIRIX_OK;
        }
        const struct sirix_sql_level *level = &walk->levels[i - 1];
        enum sirix_status status = sirix_document_get(&walk->document, key, &node, err);
        if (status == SIRIX_NOT_FOUND) {
            *out_is = false;
            return SIRIX_OK;
        }
        if (status == SIRIX_OK && level->step != SIRIX_STEP_ELEMENT) {
            status = name_fits(walk, level, &node, out_is, err);
        } else {
            *out_is = !node.is_member && key > 1;
        }
        if (status != SIRIX_OK) {
            return status;
        }
        key = node.parent == 0 ? 1 : node.parent;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_sql_walk_get(struct sirix_sql_walk *walk, uint64_t key, bool *out_is,
                                     struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    enum sirix_status status = sirix_document_get(&walk->document, key, &node, err);

    *out_is = false;
    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && (node.kind != SIRIX_NODE_OBJECT ||
                                                             node.is_member || node.key != key))) {
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = is_at(walk, walk->level_count - 1, key, out_is, err);
    }
    return status == SIRIX_OK && *out_is ? sirix_sql_walk_row(walk, key, err) : status;
}

enum sirix_status sirix_sql_walk_below(struct sirix_sql_walk *walk, uint64_t parent_key,
                                       struct sirix_error *err)
{
    size_t around = walk->level_count - 1;
    struct sirix_node node = {0};
    bool is = false;
    bool found = false;

    while (around != 0 && walk->levels[around - 1].step != SIRIX_STEP_ELEMENT) {
        around--;
    }
    walk->done = true;
    if (around == 0) {
        return SIRIX_OK; /* No table is around this one. */
    }
    enum sirix_status status = is_at(walk, around - 1, parent_key, &is, err);
    if (status != SIRIX_OK || !is) {
        return status;
    }
    status = sirix_stored_get(&walk->document, parent_key, &node, err);
    if (status != SIRIX_OK || node.kind != SIRIX_NODE_OBJECT) {
        return status;
    }
    walk->done = false;
    walk->first = around;
    walk->level = around;
    struct sirix_sql_level *level = &walk->levels[around];
    level->list.left = 0;
    level->member = 0;
    if (level->step == SIRIX_STEP_MEMBER) {
        status =
            sirix_stored_member(&walk->document, &node, &level->name, &level->member, &found, err);
        level->member = found ? level->member : 0;
    } else if (level->step == SIRIX_STEP_ANY_MEMBER) {
        status = sirix_stored_list_init(&level->list, &walk->document, &node, 0, err);
    }
    return status;
}

enum sirix_status sirix_sql_walk_parent(struct sirix_sql_walk *walk, uint64_t *out_key,
                                        struct sirix_error *err)
{
    uint64_t key = walk->row.key;
    size_t at = walk->level_count - 1;

    *out_key = 0;
    while (at != 0) {
        struct sirix_document_node node = {0};
        enum sirix_status status = sirix_document_get(&walk->document, key, &node, err);

        if (status != SIRIX_OK) {
            return status;
        }
        key = node.parent;
        /* The parent is what the level above leads to. */
        if (walk->levels[--at].step == SIRIX_STEP_ELEMENT) {
            status = sirix_document_get(&walk->document, key, &node, err);
            *out_key = status == SIRIX_OK && node.kind == SIRIX_NODE_OBJECT ? key : 0;
            return status;
        }
    }
    return SIRIX_OK;
}

/* --- The rest ------------------------------------------------------------------------------------- */

static bool has_column(const struct sirix_sql_table *table, struct sirix_bytes canonical)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (table->columns[i].source == SIRIX_SQL_FROM_MEMBER &&
            sirix_bytes_equal(table->columns[i].member, canonical)) {
            return true;
        }
    }
    return false;
}

static enum sirix_status append_member(struct sirix_sql_walk *walk, uint64_t listed,
                                       struct sirix_buf *name, struct sirix_buf *out,
                                       struct sirix_error *err)
{
    struct sirix_node field = {0};

    sirix_buf_clear(name);
    enum sirix_status status = sirix_stored_get(&walk->document, listed, &field, err);
    if (status == SIRIX_OK) {
        status = sirix_stored_name_append(&walk->document, &field, name, err);
    }
    if (status != SIRIX_OK || has_column(walk->table, sirix_buf_view(name))) {
        return status;
    }
    status = sirix_buf_append_str(out, out->len == 1 ? "\"" : ",\"", err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(out, sirix_buf_view(name), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, "\":", err);
    }
    return status == SIRIX_OK ? sirix_sql_json_append(&walk->document, listed, out, err) : status;
}

enum sirix_status sirix_sql_walk_rest(struct sirix_sql_walk *walk, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    struct sirix_buf name = {.max = SIRIX_MEMBER_NAME_BYTES_MAX};
    struct sirix_stored_list list = {0};
    struct sirix_node object = {0};
    uint64_t listed = 0;

    sirix_buf_clear(out);
    enum sirix_status status = sirix_buf_append_str(out, "{", err);
    if (status == SIRIX_OK) {
        status = sirix_stored_get(&walk->document, walk->row.key, &object, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_stored_list_init(&list, &walk->document, &object, 0, err);
    }
    while (status == SIRIX_OK && list.left != 0) {
        status = sirix_stored_list_next(&list, &listed, err);
        if (status == SIRIX_OK) {
            status = append_member(walk, listed, &name, out, err);
        }
    }
    sirix_buf_deinit(&name);
    return status == SIRIX_OK ? sirix_buf_append_str(out, "}", err) : status;
}
