/* The virtual table of a list: one module for all of them, told apart by its context. */
#include "sql/list.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

enum { DECLARATION_BYTES_MAX = 4096, CURSOR_BYTES_MAX = 64 * 1024, US_PER_S = 1000000 };

struct list_table {
    struct sirix_sql_vtab vtab;
    const struct sirix_sql_list *list;
};

struct list_cursor {
    sqlite3_vtab_cursor base;
    struct sirix_sql_list_scan scan;
    struct sirix_sql_list_row *row;
    bool scanning;
    int64_t rowid;
};

/* --- Rows ----------------------------------------------------------------------------------------- */

enum sirix_status sirix_sql_list_add(struct sirix_sql_list_scan *scan,
                                     const struct sirix_sql_value *values, size_t count,
                                     struct sirix_error *err)
{
    struct sirix_sql_list_row *row = NULL;
    size_t columns = 0;
    void *memory = NULL;

    while (columns < SIRIX_SQL_LIST_COLUMNS_MAX && scan->list->columns[columns].name != NULL) {
        columns++;
    }
    enum sirix_status status = sirix_arena_calloc(
        &scan->arena, 1, sizeof(*row) + columns * sizeof(row->values[0]), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    row = memory;
    memcpy(row->values, values, count * sizeof(*values));
    /* An argument that was given is what it was given as. */
    for (size_t i = 0; i < columns; i++) {
        if (scan->is_given[i] && scan->list->columns[i].argument) {
            row->values[i] = scan->given[i];
        }
    }
    if (scan->last == NULL) {
        scan->first = row;
    } else {
        scan->last->next = row;
    }
    scan->last = row;
    return SIRIX_OK;
}

enum sirix_status sirix_sql_list_add_copy(struct sirix_sql_list_scan *scan,
                                          const struct sirix_sql_value *values, size_t count,
                                          struct sirix_error *err)
{
    struct sirix_sql_value copies[SIRIX_SQL_LIST_COLUMNS_MAX];
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        copies[i] = values[i];
        if (values[i].bytes.len != 0) {
            status = sirix_arena_copy(&scan->arena, values[i].bytes, &copies[i].bytes, err);
        }
    }
    return status == SIRIX_OK ? sirix_sql_list_add(scan, copies, count, err) : status;
}

struct sirix_bytes sirix_sql_list_given(const struct sirix_sql_list_scan *scan, size_t column)
{
    return scan->is_given[column] && scan->given[column].kind == SIRIX_SQL_TEXT
               ? scan->given[column].bytes
               : (struct sirix_bytes){0};
}

enum sirix_status sirix_sql_list_time(struct sirix_sql_list_scan *scan, int64_t time_us,
                                      struct sirix_sql_value *out_value, struct sirix_error *err)
{
    const time_t seconds = (time_t)(time_us / US_PER_S);
    char *text = NULL;
    struct tm parts;

    if (time_us <= 0 || gmtime_r(&seconds, &parts) == NULL) {
        *out_value = (struct sirix_sql_value){.kind = SIRIX_SQL_NULL};
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_arena_printf(&scan->arena, &text, err, "%04d-%02d-%02dT%02d:%02d:%02d.%06dZ",
                           parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                           parts.tm_min, parts.tm_sec, (int)(time_us % US_PER_S));
    if (status == SIRIX_OK) {
        *out_value = sirix_sql_str_value(text);
    }
    return status;
}

/* --- Connecting and planning ---------------------------------------------------------------------- */

enum sirix_status sirix_sql_list_declaration(const struct sirix_sql_list *list,
                                             struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(out, "CREATE TABLE x(", err);

    for (size_t i = 0;
         status == SIRIX_OK && i < SIRIX_SQL_LIST_COLUMNS_MAX && list->columns[i].name != NULL;
         i++) {
        status = i == 0 ? SIRIX_OK : sirix_buf_append_str(out, ", ", err);
        if (status == SIRIX_OK) {
            status = sirix_sql_quote(out, list->columns[i].name, err);
        }
        if (status == SIRIX_OK) {
            status =
                sirix_buf_printf(out, err, " %s%s", sirix_sql_type_declared(list->columns[i].type),
                                 list->columns[i].argument ? " HIDDEN" : "");
        }
    }
    return status == SIRIX_OK ? sirix_buf_append_str(out, ")", err) : status;
}

static int connect(sqlite3 *db, void *context, int argc, const char *const *argv,
                   sqlite3_vtab **out_table, char **out_message)
{
    const struct sirix_sql_list_context *list = context;
    struct sirix_buf text = {.max = DECLARATION_BYTES_MAX};
    const char *declared = NULL;
    struct sirix_error err = {0};

    (void)argc;
    (void)argv;
    if (!list->session->setting_up) {
        *out_message = sqlite3_mprintf("tables are not made");
        return SQLITE_AUTH;
    }
    enum sirix_status status = sirix_sql_list_declaration(list->list, &text, &err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&text, &declared, &err);
    }
    int rc = status == SIRIX_OK ? sirix_sql_declare(db, list->session, declared,
                                                    sizeof(struct list_table), out_table)
                                : sirix_sql_failed(list->session, &err);
    if (rc == SQLITE_OK) {
        ((struct list_table *)*out_table)->list = list->list;
    }
    sirix_buf_deinit(&text);
    return rc;
}

/* Whether a constraint is an equality that shortens the list, or gives an argument. */
static bool is_taken(const struct sirix_sql_list *list, sqlite3_index_info *info, int i, int column)
{
    const struct sqlite3_index_constraint *constraint = &info->aConstraint[i];
    const struct sirix_sql_list_column *told = &list->columns[column];

    return constraint->iColumn == column && constraint->op == SQLITE_INDEX_CONSTRAINT_EQ &&
           (told->argument ||
            (told->filter && strcmp(sqlite3_vtab_collation(info, i), "BINARY") == 0));
}

/* Takes the equalities with a column; SQLITE_CONSTRAINT where an argument is not known yet. */
static int plan_column(const struct sirix_sql_list *list, sqlite3_index_info *info, int column,
                       struct sirix_sql_plan *plan, int *number)
{
    const bool argument = list->columns[column].argument;

    for (int i = 0; i < info->nConstraint && (*number & (1 << column)) == 0; i++) {
        if (!is_taken(list, info, i, column)) {
            continue;
        }
        if (!info->aConstraint[i].usable && argument) {
            return SQLITE_CONSTRAINT;
        }
        if (info->aConstraint[i].usable &&
            sirix_sql_plan_take(plan, info, i, list->columns[column].name, argument)) {
            *number |= 1 << column;
        }
    }
    return SQLITE_OK;
}

static int best_index(sqlite3_vtab *vtab, sqlite3_index_info *info)
{
    enum { FEW = 100, MANY = 10000 };
    const struct sirix_sql_list *list = ((struct list_table *)vtab)->list;
    struct sirix_sql_plan plan = {.len = 0};
    bool costly = false;
    int number = 0;

    for (int column = 0; column < SIRIX_SQL_LIST_COLUMNS_MAX && list->columns[column].name != NULL;
         column++) {
        const int rc = plan_column(list, info, column, &plan, &number);

        if (rc != SQLITE_OK) {
            return rc;
        }
        costly = costly ||
                 (list->columns[column].costly && (info->colUsed & (UINT64_C(1) << column)) != 0);
    }
    const int rows = number == 0 ? MANY : FEW;
    number |= costly ? SIRIX_SQL_LIST_COSTLY : 0;
    return sirix_sql_plan_give(&plan, info, number, rows, rows);
}

/* --- Scanning ------------------------------------------------------------------------------------- */

static int open_cursor(sqlite3_vtab *vtab, sqlite3_vtab_cursor **out_cursor)
{
    struct list_cursor *cursor = sqlite3_malloc64(sizeof(*cursor));

    (void)vtab;
    if (cursor == NULL) {
        return SQLITE_NOMEM;
    }
    memset(cursor, 0, sizeof(*cursor));
    *out_cursor = &cursor->base;
    return SQLITE_OK;
}

static void end_scan(struct list_cursor *cursor)
{
    if (cursor->scanning) {
        if (cursor->scan.list->end != NULL) {
            cursor->scan.list->end(&cursor->scan);
        }
        sirix_arena_deinit(&cursor->scan.arena);
        sirix_buf_deinit(&cursor->scan.cursor);
        cursor->scanning = false;
    }
}

static int close_cursor(sqlite3_vtab_cursor *base)
{
    end_scan((struct list_cursor *)base);
    return sirix_sql_close_plain(base);
}

/* Takes pages until one has a row. */
static enum sirix_status fill(struct list_cursor *cursor, struct sirix_error *err)
{
    struct sirix_sql_list_scan *scan = &cursor->scan;
    enum sirix_status status = SIRIX_OK;

    cursor->row = NULL;
    while (status == SIRIX_OK && cursor->row == NULL && !scan->done) {
        sirix_arena_reset(&scan->arena);
        scan->first = NULL;
        scan->last = NULL;
        status = sirix_sql_tick(scan->session, err);
        if (status == SIRIX_OK) {
            status = scan->list->page(scan, err);
        }
        cursor->row = scan->first;
    }
    return status;
}

/* The first arguments must be there, as many as the list needs. */
static enum sirix_status check_required(const struct sirix_sql_list_scan *scan,
                                        struct sirix_error *err)
{
    const struct sirix_sql_list *list = scan->list;
    unsigned missing = list->required;

    for (size_t i = 0; i < SIRIX_SQL_LIST_COLUMNS_MAX && missing != 0; i++) {
        if (list->columns[i].argument && !scan->is_given[i]) {
            return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                     "%s needs its arguments: FROM %s", list->name, list->form);
        }
        missing -= list->columns[i].argument ? 1 : 0;
    }
    return SIRIX_OK;
}

/* A name that is no text would be as none, which stands for what a statement takes by itself. */
static enum sirix_status check_given(const struct sirix_sql_list_scan *scan, size_t i,
                                     struct sirix_error *err)
{
    const struct sirix_sql_list_column *column = &scan->list->columns[i];

    return column->argument && strcmp(column->type, "text") == 0 &&
                   sirix_sql_list_given(scan, i).len == 0
               ? sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                   "%s of %s is a text that is not empty: FROM %s", column->name,
                                   scan->list->name, scan->list->form)
               : SIRIX_OK;
}

static enum sirix_status take_given(struct list_cursor *cursor, int number, sqlite3_value **values,
                                    struct sirix_error *err)
{
    struct sirix_sql_list_scan *scan = &cursor->scan;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < SIRIX_SQL_LIST_COLUMNS_MAX && status == SIRIX_OK; i++) {
        if ((number & (1 << i)) == 0) {
            continue;
        }
        scan->is_given[i] = true;
        status = sirix_sql_value_from(*values++, &scan->given[i], err);
        if (status == SIRIX_OK && scan->given[i].bytes.len != 0) {
            status = sirix_arena_copy(&scan->session->arena, scan->given[i].bytes,
                                      &scan->given[i].bytes, err);
        }
        if (status == SIRIX_OK && scan->given[i].kind == SIRIX_SQL_NULL) {
            scan->done = true; /* Nothing equals NULL. */
        } else if (status == SIRIX_OK) {
            status = check_given(scan, i, err);
        }
    }
    return status == SIRIX_OK ? check_required(scan, err) : status;
}

static int filter(sqlite3_vtab_cursor *base, int number, const char *text, int argc,
                  sqlite3_value **values)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    const struct list_table *table = (struct list_table *)base->pVtab;
    struct sirix_error err = {0};

    (void)text;
    (void)argc;
    end_scan(cursor);
    cursor->scan =
        (struct sirix_sql_list_scan){.session = table->vtab.session, .list = table->list};
    sirix_arena_init(&cursor->scan.arena, SIRIX_SQL_LIST_PAGE_BYTES_MAX);
    sirix_buf_init(&cursor->scan.cursor, CURSOR_BYTES_MAX);
    cursor->scan.is_costly = (number & SIRIX_SQL_LIST_COSTLY) != 0;
    cursor->scanning = true;
    cursor->rowid = 1;
    enum sirix_status status = take_given(cursor, number, values, &err);
    if (status == SIRIX_OK) {
        status = fill(cursor, &err);
    }
    return status == SIRIX_OK ? SQLITE_OK : sirix_sql_failed(table->vtab.session, &err);
}

static int next_row(sqlite3_vtab_cursor *base)
{
    struct list_cursor *cursor = (struct list_cursor *)base;
    struct sirix_error err = {0};

    cursor->rowid++;
    cursor->row = cursor->row->next;
    return cursor->row != NULL || fill(cursor, &err) == SIRIX_OK
               ? SQLITE_OK
               : sirix_sql_failed(cursor->scan.session, &err);
}

static int is_eof(sqlite3_vtab_cursor *base)
{
    return ((struct list_cursor *)base)->row == NULL;
}

static int give_column(sqlite3_vtab_cursor *base, sqlite3_context *context, int i)
{
    const struct list_cursor *cursor = (struct list_cursor *)base;
    const struct sirix_sql_list_column *column = &cursor->scan.list->columns[i];
    const struct sirix_sql_cell cell = {.value = cursor->row->values[i],
                                        .json = strcmp(column->type, "json") == 0};

    sirix_sql_cell_give(&cell, context);
    return SQLITE_OK;
}

static int give_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out_id)
{
    *out_id = ((struct list_cursor *)base)->rowid;
    return SQLITE_OK;
}

const sqlite3_module sirix_sql_list_module = {
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
