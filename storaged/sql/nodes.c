/* nodes(database, resource[, revision]): every node of one revision; its count reads none of them. */
#include <string.h>

#include "sql/list.h"
#include "sql/modules.h"
#include "sql/value.h"
#include "json/text.h"

enum column_number {
    NODE_KEY,
    PARENT_KEY,
    KIND,
    NAME,
    POSITION,
    PATH,
    DEPTH,
    VALUE,
    NUMBER,
    BOOLEAN,
    DATABASE,
    RESOURCE,
    REVISION,
};

enum { WAY_ALL, WAY_KEY, WAY_PARENT, WAY_PATH, WAY_COUNT, WAY_MASK = 7, ARGUMENTS_SHIFT = 3 };

struct node_cursor {
    sqlite3_vtab_cursor base;
    struct sirix_document document;
    struct sirix_sql_view *view;
    int way;
    bool eof;
    struct sirix_walk *walk;
    struct sirix_children children;
    bool walk_depth_known;
    uint32_t depth; /* Of the walk. */
    uint64_t key;
    uint64_t left; /* WAY_COUNT. */
    struct sirix_document_node node;
    uint64_t generation; /* Of the reader when node was read. */
    struct sirix_buf scratch;
};

const struct sirix_sql_list sirix_sql_node_columns = {
    .name = "nodes",
    .meaning = "One row a node of one revision: value, member or element.",
    .form = "nodes('database', 'resource'[, revision or snapshot])",
    .columns =
        {
            {.name = "node_key",
             .type = "integer",
             .meaning = "Its key, the same in all revisions."},
            {.name = "parent_key",
             .type = "integer",
             .meaning = "Of the container; NULL: the value."},
            {.name = "kind",
             .type = "text",
             .meaning = "object, array, string, number, boolean, null."},
            {.name = "name", .type = "text", .meaning = "Of a member."},
            {.name = "position", .type = "integer", .meaning = "Among its siblings, from 0."},
            {.name = "path", .type = "text", .meaning = "Such as /users/[0]/name."},
            {.name = "depth", .type = "integer", .meaning = "Of the document's value: 0."},
            {.name = "value", .type = "text", .meaning = "Of a string, or a number as written."},
            {.name = "number", .type = "number", .meaning = "Of a number."},
            {.name = "boolean", .type = "boolean", .meaning = "Of a boolean: 1 or 0."},
            {.name = "database", .type = "text", .argument = true, .meaning = "Argument 1."},
            {.name = "resource", .type = "text", .argument = true, .meaning = "Argument 2."},
            {.name = "revision",
             .type = "any",
             .argument = true,
             .meaning = "Argument 3, may be left out: a revision, snapshot, branch or time."},
        },
    .required = 2,
};

static struct sirix_sql_session *session_of(const struct node_cursor *cursor)
{
    return ((struct sirix_sql_vtab *)cursor->base.pVtab)->session;
}

/* --- Connecting and planning ---------------------------------------------------------------------- */

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out_table, char **out_message)
{
    enum { DECLARATION_BYTES_MAX = 4096 };
    struct sirix_sql_session *session = context;
    struct sirix_buf text = {.max = DECLARATION_BYTES_MAX};
    const char *declared = NULL;
    struct sirix_error err = {0};

    (void)argc;
    (void)argv;
    if (!session->setting_up) {
        *out_message = sqlite3_mprintf("tables are not made");
        return SQLITE_AUTH;
    }
    enum sirix_status status = sirix_sql_list_declaration(&sirix_sql_node_columns, &text, &err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&text, &declared, &err);
    }
    int rc = status == SIRIX_OK ? sirix_sql_declare(db, session, declared,
                                                    sizeof(struct sirix_sql_vtab), out_table)
                                : sirix_sql_failed(session, &err);
    sirix_buf_deinit(&text);
    return rc;
}

/* The equality with a column that can be used; -1: there is none, -2: it cannot be used now. */
static int equality(const sqlite3_index_info *info, int column)
{
    int found = -1;

    for (int i = 0; i < info->nConstraint; i++) {
        if (info->aConstraint[i].iColumn != column ||
            info->aConstraint[i].op != SQLITE_INDEX_CONSTRAINT_EQ) {
            continue;
        }
        if (info->aConstraint[i].usable) {
            return i;
        }
        found = -2;
    }
    return found;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    enum { ALL_ROWS = 1000000, SIBLINGS = 100 };
    static const struct {
        int column;
        int way;
        const char *name;
        double rows;
    } ways[] = {
        {NODE_KEY, WAY_KEY, "node_key", 1},
        {PATH, WAY_PATH, "path", 1},
        {PARENT_KEY, WAY_PARENT, "parent_key", SIBLINGS},
    };
    struct sirix_sql_plan plan = {.len = 0};
    double rows = ALL_ROWS;
    int number = WAY_ALL;
    (void)vtab;

    for (int column = DATABASE; column <= REVISION; column++) {
        const int i = equality(info, column);

        if (i == -2) {
            return SQLITE_CONSTRAINT;
        }
        if (i >= 0 && sirix_sql_plan_take(&plan, info, i,
                                          sirix_sql_node_columns.columns[column].name, true)) {
            number |= 1 << (ARGUMENTS_SHIFT + column - DATABASE);
        }
    }
    for (size_t w = 0; w < sizeof(ways) / sizeof(ways[0]) && (number & WAY_MASK) == WAY_ALL; w++) {
        const int i = equality(info, ways[w].column);

        if (i >= 0 && sirix_sql_plan_take(&plan, info, i, ways[w].name, false)) {
            number |= ways[w].way;
            rows = ways[w].rows;
        }
    }
    /* The arguments are known without a node. */
    if ((number & WAY_MASK) == WAY_ALL && (info->colUsed & ((UINT64_C(1) << DATABASE) - 1)) == 0) {
        number |= WAY_COUNT;
    }
    info->idxFlags = rows <= 1 ? SQLITE_INDEX_SCAN_UNIQUE : 0;
    return sirix_sql_plan_give(&plan, info, number, rows, (int64_t)rows);
}

/* --- Scanning ------------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct node_cursor *cursor = sqlite3_malloc64(sizeof(*cursor));

    (void)vtab;
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof(*cursor));
    sirix_buf_init(&cursor->scratch, SIRIX_SQL_VALUE_BYTES_MAX);
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct node_cursor *cursor = (struct node_cursor *)base;

    sirix_walk_free(cursor->walk);
    sirix_buf_deinit(&cursor->scratch);
    return sirix_sql_close_plain(base);
}

/* Reads the node of the present key again if its slices are gone. */
static enum sirix_status look(struct node_cursor *cursor, struct sirix_error *err)
{
    const uint64_t generation = sirix_reader_generation(cursor->document.reader);

    if (cursor->generation == generation) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_document_get(&cursor->document, cursor->key, &cursor->node, err);
    cursor->generation = generation;
    return status;
}

static enum sirix_status advance(struct node_cursor *cursor, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (cursor->way == WAY_COUNT) {
        const uint64_t step = session_of(cursor)->weighing ? cursor->left : 1;

        cursor->eof = cursor->left == 0;
        cursor->left -= cursor->eof ? 0 : step;
        session_of(cursor)->weight = (int64_t)step;
        cursor->key++;
        return SIRIX_OK;
    }
    status = sirix_sql_touch(session_of(cursor), err);
    if (status != SIRIX_OK) {
        return status;
    }
    switch (cursor->way) {
    case WAY_ALL:
        status = sirix_walk_next(cursor->walk, &cursor->node, &cursor->depth, err);
        cursor->key = cursor->node.key;
        cursor->generation = sirix_reader_generation(cursor->document.reader);
        break;
    case WAY_PARENT:
        status = sirix_children_next(&cursor->children, &cursor->key, err);
        cursor->generation = UINT64_MAX;
        break;
    default:
        cursor->eof = true;
        return SIRIX_OK;
    }
    if (status == SIRIX_NOT_FOUND) {
        cursor->eof = true;
        return SIRIX_OK;
    }
    return status;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct node_cursor *cursor = (struct node_cursor *)base;
    struct sirix_error err = {0};

    return advance(cursor, &err) == SIRIX_OK ? SQLITE_OK
                                             : sirix_sql_failed(session_of(cursor), &err);
}

static int is_eof(sqlite3_vtab_cursor *base)
{
    return ((struct node_cursor *)base)->eof;
}

static enum sirix_status open_view(struct node_cursor *cursor, int number, sqlite3_value ***values,
                                   struct sirix_error *err)
{
    struct sirix_sql_session *session = session_of(cursor);
    struct sirix_sql_place *place = NULL;
    struct sirix_bytes given[3] = {0};
    struct sirix_bytes database = {0};
    enum sirix_status status = SIRIX_OK;

    for (int i = 0; i < 3 && status == SIRIX_OK; i++) {
        if ((number & (1 << (ARGUMENTS_SHIFT + i))) == 0) {
            continue;
        }
        status = sirix_sql_spec_from(session, *(*values)++, &given[i], err);
    }
    if (status == SIRIX_OK && given[1].len == 0) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "nodes needs its arguments: FROM %s", sirix_sql_node_columns.form);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_default_database(session, given[0], &database, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_place_open(session, database, given[1], &place, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(session, place, given[2], &cursor->view, err);
    }
    if (status == SIRIX_OK) {
        sirix_document_init(&cursor->document, &cursor->view->view, place->reader);
    }
    return status;
}

/* One node, by key or by path; what is not there is no row. */
static enum sirix_status begin_one(struct node_cursor *cursor, sqlite3_value *value,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (cursor->way == WAY_PATH) {
        const struct sirix_bytes path = {.data = sqlite3_value_text(value),
                                         .len = (size_t)sqlite3_value_bytes(value)};

        cursor->eof = path.data == NULL;
        if (!cursor->eof) {
            status = sirix_document_resolve(&cursor->document, SIRIX_PATH_SIRIX, path, &cursor->key,
                                            err);
        }
    } else {
        cursor->eof = !sirix_sql_key_from(value, &cursor->key) || cursor->key == 0;
    }
    if (status == SIRIX_OK && !cursor->eof) {
        status = sirix_document_get(&cursor->document, cursor->key, &cursor->node, err);
        cursor->generation = sirix_reader_generation(cursor->document.reader);
    }
    if (status == SIRIX_NOT_FOUND || status == SIRIX_INVALID) {
        cursor->eof = true;
        return SIRIX_OK;
    }
    cursor->eof = cursor->eof || cursor->node.key != cursor->key;
    return status;
}

static enum sirix_status begin(struct node_cursor *cursor, int number, sqlite3_value **values,
                               int count, struct sirix_error *err)
{
    uint64_t parent = 0;
    bool has = false;
    enum sirix_status status = sirix_sql_touch(session_of(cursor), err);

    /* An argument, or the key or path that is looked for. */
    if (status != SIRIX_OK || sirix_sql_has_null(values, count)) {
        return status;
    }
    status = open_view(cursor, number, &values, err);
    if (status == SIRIX_OK) {
        status = sirix_document_has_value(&cursor->document, &has, err);
    }
    if (status != SIRIX_OK || !has) {
        return status;
    }
    cursor->eof = false;
    switch (cursor->way) {
    case WAY_KEY:
    case WAY_PATH:
        return begin_one(cursor, *values, err);
    case WAY_COUNT:
        cursor->left = cursor->view->view.record.node_count;
        cursor->key = 0;
        return advance(cursor, err);
    case WAY_PARENT:
        if (!sirix_sql_key_from(*values, &parent) || parent == 0) {
            cursor->eof = true; /* The value's parent is NULL. */
            return SIRIX_OK;
        }
        status = sirix_children_init(&cursor->children, &cursor->document, parent, 0, err);
        if (status == SIRIX_NOT_FOUND || status == SIRIX_INVALID) {
            cursor->eof = true;
            return SIRIX_OK;
        }
        break;
    default:
        status = sirix_walk_new(&cursor->document, 1, &cursor->walk, err);
        break;
    }
    return status == SIRIX_OK ? advance(cursor, err) : status;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **values)
{
    struct node_cursor *cursor = (struct node_cursor *)base;
    struct sirix_error err = {0};

    (void)text;
    sirix_walk_free(cursor->walk);
    cursor->walk = NULL;
    cursor->way = number & WAY_MASK;
    cursor->eof = true;
    return begin(cursor, number, values, argc, &err) == SIRIX_OK
               ? SQLITE_OK
               : sirix_sql_failed(session_of(cursor), &err);
}

/* --- Columns -------------------------------------------------------------------------------------- */

static const char *kind_name(enum sirix_node_kind kind)
{
    switch (kind) {
    case SIRIX_NODE_OBJECT:
        return "object";
    case SIRIX_NODE_ARRAY:
        return "array";
    case SIRIX_NODE_STRING:
        return "string";
    case SIRIX_NODE_INTEGER:
    case SIRIX_NODE_NUMBER:
        return "number";
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        return "boolean";
    default:
        return "null";
    }
}

static enum sirix_status name_cell(struct node_cursor *cursor, struct sirix_sql_cell *out,
                                   struct sirix_error *err)
{
    struct sirix_buf stored = {.max = SIRIX_MEMBER_NAME_BYTES_MAX};
    struct sirix_bytes name = cursor->node.name;
    enum sirix_status status = SIRIX_OK;

    if (!cursor->node.is_member) {
        return SIRIX_OK;
    }
    if (name.len == 0 && cursor->node.long_name.len != 0) {
        status = sirix_stored_text_append(&cursor->document, &cursor->node.long_name, &stored, err);
        name = sirix_buf_view(&stored);
    }
    sirix_buf_clear(&cursor->scratch);
    if (status == SIRIX_OK) {
        status = sirix_json_text_unescape(&cursor->scratch, name, err);
    }
    *out = sirix_sql_cell_text(sirix_buf_view(&cursor->scratch));
    sirix_buf_deinit(&stored);
    return status;
}

/* Steps up to the value. */
static enum sirix_status depth_cell(struct node_cursor *cursor, struct sirix_sql_cell *out,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint64_t key = cursor->key;
    uint64_t depth = 0;

    if (cursor->way == WAY_ALL) {
        *out = sirix_sql_cell_number(cursor->depth);
        return SIRIX_OK;
    }
    while (key > 1 && status == SIRIX_OK) {
        struct sirix_document_node node = {0};

        status = sirix_document_get(&cursor->document, key, &node, err);
        key = node.parent;
        depth++;
    }
    *out = sirix_sql_cell_number(depth);
    return status;
}

/* value, number and boolean: only of their own kinds. */
static enum sirix_status value_cell(struct node_cursor *cursor, int column,
                                    struct sirix_sql_cell *out, struct sirix_error *err)
{
    const enum sirix_node_kind kind = cursor->node.kind;
    const bool number = kind == SIRIX_NODE_INTEGER || kind == SIRIX_NODE_NUMBER;
    const bool boolean = kind == SIRIX_NODE_TRUE || kind == SIRIX_NODE_FALSE;
    bool cut = false;

    if (column == VALUE && number) {
        sirix_buf_clear(&cursor->scratch);
        enum sirix_status status =
            sirix_document_scalar(&cursor->document, &cursor->node, SIRIX_SQL_VALUE_BYTES_MAX,
                                  &cursor->scratch, &cut, err);
        *out = sirix_sql_cell_text(sirix_buf_view(&cursor->scratch));
        return status;
    }
    if ((column == VALUE && kind != SIRIX_NODE_STRING) || (column == NUMBER && !number) ||
        (column == BOOLEAN && !boolean)) {
        return SIRIX_OK;
    }
    return sirix_sql_cell_of(&cursor->document, &cursor->node.stored, false, &cursor->scratch, out,
                             err);
}

static enum sirix_status cell_at(struct node_cursor *cursor, int column, struct sirix_sql_cell *out,
                                 struct sirix_error *err)
{
    enum sirix_status status = column >= DATABASE ? SIRIX_OK : look(cursor, err);
    uint64_t index = 0;

    if (status != SIRIX_OK) {
        return status;
    }
    switch (column) {
    case NODE_KEY:
        *out = sirix_sql_cell_number(cursor->key);
        return SIRIX_OK;
    case PARENT_KEY:
        if (cursor->key > 1) {
            *out = sirix_sql_cell_number(cursor->node.parent == 0 ? 1 : cursor->node.parent);
        }
        return SIRIX_OK;
    case KIND:
        out->value = sirix_sql_str_value(kind_name(cursor->node.kind));
        return SIRIX_OK;
    case NAME:
        return name_cell(cursor, out, err);
    case POSITION:
        if (cursor->key > 1) {
            status = sirix_document_child_index(&cursor->document, cursor->key, &index, err);
            *out = sirix_sql_cell_number(index);
        }
        return status;
    case PATH:
        sirix_buf_clear(&cursor->scratch);
        status = sirix_document_path(&cursor->document, cursor->key, SIRIX_PATH_SIRIX,
                                     &cursor->scratch, err);
        *out = sirix_sql_cell_text(sirix_buf_view(&cursor->scratch));
        return status;
    case DEPTH:
        return depth_cell(cursor, out, err);
    case VALUE:
    case NUMBER:
    case BOOLEAN:
        return value_cell(cursor, column, out, err);
    case DATABASE:
        *out = sirix_sql_cell_text(cursor->view->place->database);
        return SIRIX_OK;
    case RESOURCE:
        *out = sirix_sql_cell_text(cursor->view->place->resource);
        return SIRIX_OK;
    default:
        *out = sirix_sql_cell_number(cursor->view->view.record.revision);
        return SIRIX_OK;
    }
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct node_cursor *cursor = (struct node_cursor *)base;
    struct sirix_sql_cell cell = {0};
    struct sirix_error err = {0};

    if (cell_at(cursor, i, &cell, &err) != SIRIX_OK) {
        return sirix_sql_failed(session_of(cursor), &err);
    }
    sirix_sql_cell_give(&cell, context);
    return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_id)
{
    *out_id = (sqlite3_int64)((struct node_cursor *)base)->key;
    return SQLITE_OK;
}

const sqlite3_module sirix_sql_node_module = {
    .iVersion = 1,
    .xCreate = connect,
    .xConnect = connect,
    .xBestIndex = best_index,
    .xDisconnect = sirix_sql_disconnect,
    .xDestroy = sirix_sql_disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = is_eof,
    .xColumn = give_column,
    .xRowid = give_rowid,
};
