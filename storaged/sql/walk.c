/* A stack of levels instead of recursion; members are found where the row before had them. */
#include "sql/walk.h"

#include <stdlib.h>
#include <string.h>

#include "json/text.h"

/* --- Beginning ------------------------------------------------------------------------------------ */

static enum sirix_status fill_level(struct sirix_sql_walk *walk, struct sirix_sql_level *level,
                                    uint32_t path, struct sirix_error *err)
{
    const struct sirix_path_node *node = &walk->table->paths->nodes[path];

    level->step = node->step;
    level->path = path;
    if (node->step != SIRIX_STEP_MEMBER) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_json_text_to_canonical(&walk->session->arena, node->name, &level->canonical, err);
    level->name.canonical = level->canonical;
    return status;
}

enum sirix_status sirix_sql_walk_init(struct sirix_sql_walk *walk,
                                      struct sirix_sql_session *session,
                                      const struct sirix_sql_table *table,
                                      struct sirix_sql_view *view, struct sirix_error *err)
{
    const struct sirix_path_node *nodes = table->paths->nodes;
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;

    *walk = (struct sirix_sql_walk){.session = session, .table = table};
    for (uint32_t at = table->path; nodes[at].step != SIRIX_STEP_VALUE; at = nodes[at].parent) {
        count++;
    }
    walk->levels = calloc(count == 0 ? 1 : count, sizeof(*walk->levels));
    if (walk->levels == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the scan of a table");
    }
    walk->level_count = count;
    for (uint32_t at = table->path; status == SIRIX_OK && count != 0; at = nodes[at].parent) {
        status = fill_level(walk, &walk->levels[--count], at, err);
    }
    sirix_document_init(&walk->document, &view->view, view->place->reader);
    return status;
}

void sirix_sql_walk_deinit(struct sirix_sql_walk *walk)
{
    free(walk->levels);
    walk->levels = NULL;
}

/* Puts a level before the first child of a container. */
static enum sirix_status enter(struct sirix_sql_walk *walk, size_t at,
                               const struct sirix_node *container, struct sirix_error *err)
{
    struct sirix_sql_level *level = &walk->levels[at];
    const enum sirix_node_kind wanted =
        level->step == SIRIX_STEP_ELEMENT ? SIRIX_NODE_ARRAY : SIRIX_NODE_OBJECT;
    bool found = false;

    walk->level = at;
    level->list.left = 0;
    level->member = 0;
    if (container->kind != wanted) {
        return SIRIX_OK;
    }
    if (level->step != SIRIX_STEP_MEMBER) {
        return sirix_stored_list_init(&level->list, &walk->document, container, 0, err);
    }
    enum sirix_status status =
        sirix_stored_member(&walk->document, container, &level->name, &level->member, &found, err);
    level->member = status == SIRIX_OK && found ? level->member : 0;
    return status;
}

enum sirix_status sirix_sql_walk_all(struct sirix_sql_walk *walk, struct sirix_error *err)
{
    struct sirix_node root = {0};
    bool has = false;

    walk->first = 0;
    walk->done = false;
    enum sirix_status status = sirix_document_has_value(&walk->document, &has, err);
    if (status == SIRIX_OK && !has) {
        walk->done = true;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_stored_get(&walk->document, 1, &root, err);
    }
    return status == SIRIX_OK ? enter(walk, 0, &root, err) : status;
}

/* --- Members of a row ----------------------------------------------------------------------------- */

static enum sirix_status load_row(struct sirix_sql_walk *walk, const struct sirix_node *object,
                                  struct sirix_error *err)
{
    struct sirix_sql_row *row = &walk->row;

    row->key = object->key;
    row->tree = object->child_tree;
    row->ids_known = false;
    row->count = row->tree ? 0 : (uint32_t)object->child_count;
    return row->tree ? SIRIX_OK : sirix_node_children(object, row->keys, err);
}

enum sirix_status sirix_sql_walk_row(struct sirix_sql_walk *walk, uint64_t key,
                                     struct sirix_error *err)
{
    struct sirix_row stored = {0};
    struct sirix_node node = {0};
    enum sirix_status status = sirix_stored_row(&walk->document, key, &stored, err);

    if (status == SIRIX_OK && sirix_stored_kind(stored.record.data) == SIRIX_NODE_OBJECT &&
        sirix_stored_keys(stored.record, key, walk->row.keys, &walk->row.count)) {
        walk->row.key = key;
        walk->row.tree = false;
        walk->row.ids_known = false;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(stored.record, key, &node, err);
    }
    return status == SIRIX_OK ? load_row(walk, &node, err) : status;
}

/* The value that a member's own row leads to. */
static enum sirix_status member_value(struct sirix_sql_walk *walk, const struct sirix_row *row,
                                      struct sirix_node *out_node, struct sirix_error *err)
{
    if (sirix_stored_kind(row->record.data) == SIRIX_NODE_FIELD) {
        return sirix_stored_get(&walk->document, row->key + 1, out_node, err);
    }
    return sirix_node_decode(row->record, row->key, out_node, err);
}

/* Learns the names of the row's members, once. */
static enum sirix_status learn_ids(struct sirix_sql_walk *walk, struct sirix_error *err)
{
    struct sirix_sql_row *row = &walk->row;
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; status == SIRIX_OK && i < row->count; i++) {
        struct sirix_row stored = {0};
        uint32_t id = 0;

        status = sirix_stored_row(&walk->document, row->keys[i], &stored, err);
        if (status == SIRIX_OK) {
            row->ids[i] = sirix_stored_name_id(stored.record, &id) ? id + 1 : 0;
        }
    }
    row->ids_known = status == SIRIX_OK;
    return status;
}

/* A member whose row does not say its name's id in the common form. */
static enum sirix_status plain_member(struct sirix_sql_walk *walk, struct sirix_stored_name *name,
                                      struct sirix_node *out_node, bool *out_found,
                                      struct sirix_error *err)
{
    struct sirix_node object = {0};
    uint64_t listed = 0;

    enum sirix_status status = sirix_stored_get(&walk->document, walk->row.key, &object, err);
    if (status == SIRIX_OK) {
        status = sirix_stored_member(&walk->document, &object, name, &listed, out_found, err);
    }
    return status == SIRIX_OK && *out_found
               ? sirix_stored_value(&walk->document, listed, out_node, err)
               : status;
}

enum sirix_status sirix_sql_walk_member(struct sirix_sql_walk *walk, struct sirix_stored_name *name,
                                        uint32_t *guess, struct sirix_node *out_node,
                                        bool *out_found, struct sirix_error *err)
{
    struct sirix_sql_row *row = &walk->row;
    struct sirix_row stored = {0};
    enum sirix_status status = SIRIX_OK;
    bool unnamed = false;
    uint32_t id = 0;

    sirix_stored_name_bind(name, walk->document.view->resource);
    *out_found = false;
    if (row->tree || !name->has_id) {
        return plain_member(walk, name, out_node, out_found, err);
    }
    if (*guess < row->count) {
        status = sirix_stored_row(&walk->document, row->keys[*guess], &stored, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (sirix_stored_name_id(stored.record, &id) && id == name->id) {
            *out_found = true;
            return member_value(walk, &stored, out_node, err);
        }
    }
    status = row->ids_known ? SIRIX_OK : learn_ids(walk, err);
    for (uint32_t i = 0; status == SIRIX_OK && i < row->count; i++) {
        unnamed = unnamed || row->ids[i] == 0;
        if (row->ids[i] == name->id + 1) {
            *guess = i;
            *out_found = true;
            status = sirix_stored_row(&walk->document, row->keys[i], &stored, err);
            return status == SIRIX_OK ? member_value(walk, &stored, out_node, err) : status;
        }
    }
    return status == SIRIX_OK && unnamed ? plain_member(walk, name, out_node, out_found, err)
                                         : status;
}

/* --- Going on ------------------------------------------------------------------------------------- */

/* Whether a member has a path of its own beside the one for all others. */
static enum sirix_status has_own_path(struct sirix_sql_walk *walk, uint32_t parent, uint64_t listed,
                                      bool *out_has, struct sirix_error *err)
{
    const struct sirix_path_node *nodes = walk->table->paths->nodes;
    struct sirix_buf stored = {.max = SIRIX_MEMBER_NAME_BYTES_MAX};
    struct sirix_buf plain = {.max = SIRIX_MEMBER_NAME_BYTES_MAX};
    struct sirix_node field = {0};

    *out_has = false;
    enum sirix_status status = sirix_stored_get(&walk->document, listed, &field, err);
    if (status == SIRIX_OK) {
        status = sirix_stored_name_append(&walk->document, &field, &stored, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_text_unescape(&plain, sirix_buf_view(&stored), err);
    }
    for (uint32_t i = parent + 1; status == SIRIX_OK && i < nodes[parent].end; i = nodes[i].end) {
        if (nodes[i].step == SIRIX_STEP_MEMBER &&
            sirix_bytes_equal(nodes[i].name, sirix_buf_view(&plain))) {
            *out_has = true;
        }
    }
    sirix_buf_deinit(&stored);
    sirix_buf_deinit(&plain);
    return status;
}

/* The next child of a level; *out_more false: it has no more. */
static enum sirix_status next_child(struct sirix_sql_walk *walk, struct sirix_sql_level *level,
                                    bool *out_more, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool own = true;

    *out_more = true;
    if (level->step == SIRIX_STEP_MEMBER) {
        *out_more = level->member != 0;
        level->listed = level->member;
        level->member = 0;
        return SIRIX_OK;
    }
    while (status == SIRIX_OK && own) {
        own = false;
        if (level->list.left == 0) {
            *out_more = false;
            return SIRIX_OK;
        }
        status = sirix_stored_list_next(&level->list, &level->listed, err);
        if (status == SIRIX_OK && level->step == SIRIX_STEP_ANY_MEMBER) {
            status = has_own_path(walk, walk->table->paths->nodes[level->path].parent,
                                  level->listed, &own, err);
        }
    }
    return status;
}

/* The child of the last level as a row, if it is an object. */
static enum sirix_status take_row(struct sirix_sql_walk *walk, uint64_t listed, bool *out_is,
                                  struct sirix_error *err)
{
    struct sirix_row stored = {0};
    struct sirix_node node = {0};
    enum sirix_status status = sirix_stored_row(&walk->document, listed, &stored, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *out_is = sirix_stored_kind(stored.record.data) == SIRIX_NODE_OBJECT;
    if (!*out_is) {
        return SIRIX_OK;
    }
    if (sirix_stored_keys(stored.record, listed, walk->row.keys, &walk->row.count)) {
        walk->row.key = listed;
        walk->row.tree = false;
        walk->row.ids_known = false;
        return SIRIX_OK;
    }
    status = sirix_node_decode(stored.record, listed, &node, err);
    return status == SIRIX_OK ? load_row(walk, &node, err) : status;
}

/* Rows of the present array that are counted and not looked at; false: it has no more. */
static bool count_on(struct sirix_sql_walk *walk)
{
    struct sirix_sql_level *level = &walk->levels[walk->level];

    if (!walk->counting || walk->level != walk->level_count - 1 || level->list.left == 0) {
        return false;
    }
    walk->session->weight = walk->weighing ? (int64_t)level->list.left : 1;
    level->list.left -= walk->weighing ? level->list.left : 1;
    return true;
}

/* Goes down into the child that a level is at. */
static enum sirix_status go_down(struct sirix_sql_walk *walk, struct sirix_error *err)
{
    struct sirix_sql_level *level = &walk->levels[walk->level];
    struct sirix_node node = {0};
    enum sirix_status status = sirix_stored_value(&walk->document, level->listed, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    level->in_object = node.kind == SIRIX_NODE_OBJECT;
    return enter(walk, walk->level + 1, &node, err);
}

enum sirix_status sirix_sql_walk_next(struct sirix_sql_walk *walk, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool is = false;

    while (status == SIRIX_OK && !walk->done && !is) {
        struct sirix_sql_level *level = &walk->levels[walk->level];
        bool more = true;

        if (count_on(walk)) {
            return SIRIX_OK;
        }
        status = sirix_sql_touch(walk->session, err);
        if (status == SIRIX_OK) {
            status = next_child(walk, level, &more, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (!more) {
            walk->done = walk->level == walk->first;
            walk->level -= walk->done ? 0 : 1;
        } else if (walk->level == walk->level_count - 1) {
            status = take_row(walk, level->listed, &is, err);
        } else {
            status = go_down(walk, err);
        }
    }
    return status;
}
