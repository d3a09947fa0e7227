/* Scans of inferred tables: by position, by key, by the table around, by an index that a join makes. */
#include "sql/table.h"

#include <stdlib.h>
#include <string.h>

enum { LONG_BYTES = 64 * 1024 };

/* --- A cursor ------------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct sirix_sql_table_cursor *cursor = sqlite3_malloc64(sizeof(*cursor));

    (void)vtab;
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof(*cursor));
    sirix_buf_init(&cursor->scratch, SIRIX_SQL_VALUE_BYTES_MAX);
    for (size_t i = 0; i < SIRIX_SQL_FILTERS_MAX; i++) {
        sirix_buf_init(&cursor->filter_texts[i], SIRIX_SQL_VALUE_BYTES_MAX);
    }
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    struct sirix_sql_table_cursor *cursor = (struct sirix_sql_table_cursor *)base;

    sirix_sql_walk_deinit(&cursor->walk);
    sirix_buf_deinit(&cursor->scratch);
    for (size_t i = 0; i < SIRIX_SQL_FILTERS_MAX; i++) {
        sirix_buf_deinit(&cursor->filter_texts[i]);
    }
    sqlite3_free(cursor);
    return SQLITE_OK;
}

/* The value of a column of the present row. */
static enum sirix_status cell_at(struct sirix_sql_table_cursor *cursor, int i,
                                 struct sirix_sql_cell *out_cell, struct sirix_error *err)
{
    const struct sirix_sql_member *shape = &cursor->walk.table->columns[i];
    struct sirix_sql_table_column *column = &cursor->columns[i];
    struct sirix_node node = {0};
    enum sirix_status status = SIRIX_OK;
    uint64_t parent = 0;
    bool found = false;

    *out_cell = (struct sirix_sql_cell){0};
    switch (shape->source) {
    case SIRIX_SQL_FROM_KEY:
        *out_cell = sirix_sql_cell_number(cursor->walk.row.key);
        return SIRIX_OK;
    case SIRIX_SQL_FROM_REVISION:
        *out_cell = sirix_sql_cell_number(cursor->view->view.record.revision);
        return SIRIX_OK;
    case SIRIX_SQL_FROM_PARENT:
        status = sirix_sql_walk_parent(&cursor->walk, &parent, err);
        if (status == SIRIX_OK && parent != 0) {
            *out_cell = sirix_sql_cell_number(parent);
        }
        return status;
    case SIRIX_SQL_FROM_REST:
        status = sirix_sql_walk_rest(&cursor->walk, &cursor->scratch, err);
        *out_cell = sirix_sql_cell_text(sirix_buf_view(&cursor->scratch));
        out_cell->json = true;
        return status;
    default:
        break;
    }
    column->name.canonical = shape->member;
    status =
        sirix_sql_walk_member(&cursor->walk, &column->name, &column->guess, &node, &found, err);
    if (status == SIRIX_OK && found) {
        status =
            sirix_sql_cell_of(&cursor->walk.document, &node, true, &cursor->scratch, out_cell, err);
    }
    /* A long value is work that no step of the engine stands for. */
    return status == SIRIX_OK && out_cell->value.bytes.len >= LONG_BYTES
               ? sirix_sql_check(cursor->walk.session, err)
               : status;
}

static enum sirix_status passes(struct sirix_sql_table_cursor *cursor, bool *out_passes,
                                struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *out_passes = true;
    for (size_t i = 0; i < cursor->filter_count && *out_passes && status == SIRIX_OK; i++) {
        struct sirix_sql_cell cell = {0};

        status = cell_at(cursor, cursor->filters[i].column, &cell, err);
        *out_passes =
            status == SIRIX_OK && sirix_sql_filter_passes(&cursor->filters[i], &cell.value);
    }
    return status;
}

/* Puts the next row in place, whether it passes or not; eof after the last. */
static enum sirix_status step(struct sirix_sql_table_cursor *cursor, struct sirix_error *err)
{
    const struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)cursor->base.pVtab;
    uint64_t key = 0;

    if (cursor->index == NULL) {
        enum sirix_status status = sirix_sql_walk_next(&cursor->walk, err);

        cursor->eof = cursor->walk.done;
        return status;
    }
    cursor->eof = !sirix_sql_index_next(cursor->index, &cursor->index_at, &key);
    if (cursor->eof) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_sql_touch(table->vtab.session, err);
    return status == SIRIX_OK ? sirix_sql_walk_row(&cursor->walk, key, err) : status;
}

/* Goes on to the next row that passes. */
static enum sirix_status advance(struct sirix_sql_table_cursor *cursor, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool pass = false;

    cursor->counted++;
    while (status == SIRIX_OK && !pass) {
        status = step(cursor, err);
        if (cursor->eof || status != SIRIX_OK) {
            return status;
        }
        status = passes(cursor, &pass, err);
    }
    return status;
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct sirix_sql_table_cursor *cursor = (struct sirix_sql_table_cursor *)base;
    struct sirix_error err = {0};

    if ((cursor->plan & SIRIX_SQL_PLAN_NODE_KEY) != 0) {
        cursor->eof = true;
        return SQLITE_OK;
    }
    return advance(cursor, &err) == SIRIX_OK
               ? SQLITE_OK
               : sirix_sql_failed(((struct sirix_sql_vtab *)base->pVtab)->session, &err);
}

static int is_eof(sqlite3_vtab_cursor *base)
{
    return ((struct sirix_sql_table_cursor *)base)->eof;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    struct sirix_sql_table_cursor *cursor = (struct sirix_sql_table_cursor *)base;
    struct sirix_sql_cell cell = {0};
    struct sirix_error err = {0};

    if (sqlite3_vtab_nochange(context) != 0) {
        return SQLITE_OK;
    }
    if (cell_at(cursor, i, &cell, &err) != SIRIX_OK) {
        return sirix_sql_failed(((struct sirix_sql_vtab *)base->pVtab)->session, &err);
    }
    sirix_sql_cell_give(&cell, context);
    return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_id)
{
    const struct sirix_sql_table_cursor *cursor = (struct sirix_sql_table_cursor *)base;

    *out_id = (sqlite3_int64)((cursor->plan & SIRIX_SQL_PLAN_COUNT) != 0 ? cursor->counted
                                                                         : cursor->walk.row.key);
    return SQLITE_OK;
}

/* --- Beginning a scan ----------------------------------------------------------------------------- */

/* Reads the filters out of the plan's text. */
static enum sirix_status take_filters(struct sirix_sql_table_cursor *cursor, const char *text,
                                      sqlite3_value **values, struct sirix_error *err)
{
    enum { DECIMAL = 10 };
    const struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)cursor->base.pVtab;
    const char *at = text == NULL ? NULL : strrchr(text, '|');
    enum sirix_status status = SIRIX_OK;

    cursor->filter_count = 0;
    while (at != NULL && status == SIRIX_OK && cursor->filter_count < SIRIX_SQL_FILTERS_MAX) {
        char *colon = NULL;
        char *end = NULL;
        const long column = strtol(at + 1, &colon, DECIMAL);
        struct sirix_sql_filter *filter = &cursor->filters[cursor->filter_count];
        struct sirix_buf *kept = &cursor->filter_texts[cursor->filter_count];

        *filter = (struct sirix_sql_filter){
            .column = (int)column,
            .op = (int)strtol(colon + 1, &end, DECIMAL),
            .numbers = strcmp(sirix_sql_type_declared(
                                  sirix_sql_type_name(table->shape->columns[column].kinds)),
                              "NUMERIC") == 0,
        };
        status = sirix_sql_value_from(values[cursor->filter_count], &filter->with, err);
        if (status == SIRIX_OK && filter->with.kind == SIRIX_SQL_TEXT) {
            sirix_buf_clear(kept);
            status = sirix_buf_append_bytes(kept, filter->with.bytes, err);
            filter->with.bytes = sirix_buf_view(kept);
        }
        cursor->filter_count++;
        at = *end == ',' ? end : NULL;
    }
    return status;
}

/* Reads all rows once. */
static enum sirix_status make_index(struct sirix_sql_table_cursor *cursor, int column,
                                    struct sirix_sql_index **out_index, struct sirix_error *err)
{
    struct sirix_sql_index *index = NULL;
    enum sirix_status status = sirix_sql_index_new(&index, err);

    if (status == SIRIX_OK) {
        status = sirix_sql_walk_all(&cursor->walk, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_sql_cell cell = {0};

        status = sirix_sql_walk_next(&cursor->walk, err);
        if (status != SIRIX_OK || cursor->walk.done) {
            break;
        }
        status = cell_at(cursor, column, &cell, err);
        if (status == SIRIX_OK) {
            status = sirix_sql_index_add(index, &cell.value, cursor->walk.row.key, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_index_finish(index, err);
    }
    if (status != SIRIX_OK) {
        sirix_sql_index_free(index);
        return status;
    }
    *out_index = index;
    return SIRIX_OK;
}

static struct sirix_sql_joined *find_joined(struct sirix_sql_table_vtab *table, int column,
                                            const struct sirix_sql_view *view)
{
    for (size_t i = 0; i < table->joined_count; i++) {
        if (table->joined[i].column == column && table->joined[i].view == view) {
            return &table->joined[i];
        }
    }
    return NULL;
}

/* A join that looks for a second value of a column pays for an index. */
static enum sirix_status choose_index(struct sirix_sql_table_cursor *cursor,
                                      struct sirix_error *err)
{
    struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)cursor->base.pVtab;
    const struct sirix_sql_filter *equal = NULL;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < cursor->filter_count && equal == NULL; i++) {
        equal = cursor->filters[i].op == SQLITE_INDEX_CONSTRAINT_EQ ? &cursor->filters[i] : NULL;
    }
    cursor->index = NULL;
    if (equal == NULL ||
        (cursor->plan & (SIRIX_SQL_PLAN_PARENT_KEY | SIRIX_SQL_PLAN_NODE_KEY)) != 0) {
        return SIRIX_OK;
    }
    struct sirix_sql_joined *joined = find_joined(table, equal->column, cursor->view);
    if (joined == NULL) {
        if (table->joined_count < SIRIX_SQL_JOINED_MAX) {
            table->joined[table->joined_count++] =
                (struct sirix_sql_joined){.column = equal->column, .view = cursor->view};
        }
        return SIRIX_OK;
    }
    if (joined->index == NULL) {
        status = make_index(cursor, equal->column, &joined->index, err);
    }
    if (status == SIRIX_OK) {
        cursor->index = joined->index;
        cursor->index_at = sirix_sql_index_find(joined->index, &equal->with);
    }
    return status;
}

static enum sirix_status begin_walk(struct sirix_sql_table_cursor *cursor, struct sirix_bytes spec,
                                    struct sirix_error *err)
{
    const struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)cursor->base.pVtab;
    struct sirix_sql_session *session = table->vtab.session;
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;

    enum sirix_status status =
        sirix_sql_place_open(session, table->shape->database, table->shape->resource, &place, err);
    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(session, place, spec, &view, err);
    }
    if (status != SIRIX_OK || (cursor->walking && cursor->view == view)) {
        return status;
    }
    sirix_sql_walk_deinit(&cursor->walk);
    cursor->walking = false;
    cursor->view = view;
    status = sirix_sql_walk_init(&cursor->walk, session, table->shape, view, err);
    cursor->walking = status == SIRIX_OK;
    return status;
}

/* The keys that the plan asks for, taken off the values; false: no node has such a key. */
static bool take_keys(const struct sirix_sql_table_cursor *cursor, sqlite3_value ***values,
                      uint64_t *out_node_key, uint64_t *out_parent_key)
{
    bool possible = true;

    if ((cursor->plan & SIRIX_SQL_PLAN_NODE_KEY) != 0) {
        possible = sirix_sql_key_from(*(*values)++, out_node_key);
    }
    if ((cursor->plan & SIRIX_SQL_PLAN_PARENT_KEY) != 0) {
        possible = sirix_sql_key_from(*(*values)++, out_parent_key) && possible;
    }
    return possible;
}

static enum sirix_status begin(struct sirix_sql_table_cursor *cursor, const char *text,
                               sqlite3_value **values, struct sirix_error *err)
{
    struct sirix_sql_table_vtab *table = (struct sirix_sql_table_vtab *)cursor->base.pVtab;
    struct sirix_bytes spec = {0};
    uint64_t node_key = 0;
    uint64_t parent_key = 0;
    bool pass = false;
    const bool revision = (cursor->plan & SIRIX_SQL_PLAN_REVISION) != 0;
    enum sirix_status status = sirix_sql_touch(table->vtab.session, err);

    if (status != SIRIX_OK || sirix_sql_has_null(values, revision ? 1 : 0)) {
        return status;
    }
    if (revision) {
        status = sirix_sql_spec_from(table->vtab.session, *values++, &spec, err);
    }
    if (status == SIRIX_OK) {
        status = begin_walk(cursor, spec, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    cursor->eof = !take_keys(cursor, &values, &node_key, &parent_key);
    if (cursor->eof) {
        return SIRIX_OK;
    }
    status = take_filters(cursor, text, values, err);
    if (status == SIRIX_OK) {
        status = choose_index(cursor, err);
    }
    cursor->walk.counting =
        (cursor->plan & SIRIX_SQL_PLAN_COUNT) != 0 && table->shape->objects_only;
    cursor->walk.weighing = cursor->walk.counting && table->vtab.session->weighing;
    cursor->counted = 0;
    if (status == SIRIX_OK && (cursor->plan & SIRIX_SQL_PLAN_NODE_KEY) != 0) {
        status = sirix_sql_walk_get(&cursor->walk, node_key, &pass, err);
        cursor->eof = !pass;
        return status;
    }
    if (status == SIRIX_OK && cursor->index == NULL) {
        status = (cursor->plan & SIRIX_SQL_PLAN_PARENT_KEY) != 0
                     ? sirix_sql_walk_below(&cursor->walk, parent_key, err)
                     : sirix_sql_walk_all(&cursor->walk, err);
    }
    return status == SIRIX_OK ? advance(cursor, err) : status;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **values)
{
    struct sirix_sql_table_cursor *cursor = (struct sirix_sql_table_cursor *)base;
    struct sirix_error err = {0};

    (void)argc;
    cursor->plan = number;
    cursor->eof = true;
    return begin(cursor, text, values, &err) == SIRIX_OK
               ? SQLITE_OK
               : sirix_sql_failed(((struct sirix_sql_vtab *)base->pVtab)->session, &err);
}

const sqlite3_module sirix_sql_table_module = {
    .iVersion = 1,
    .xCreate = sirix_sql_table_connect,
    .xConnect = sirix_sql_table_connect,
    .xBestIndex = sirix_sql_table_best_index,
    .xDisconnect = sirix_sql_table_disconnect,
    .xDestroy = sirix_sql_table_disconnect,
    .xOpen = open_cursor,
    .xClose = close_cursor,
    .xFilter = filter,
    .xNext = next_row,
    .xEof = is_eof,
    .xColumn = give_column,
    .xRowid = give_rowid,
};
