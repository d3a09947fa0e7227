#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sql_fixture.h"
#include "unit/sql/remove_tree.h"

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static void must(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OK) {
        print_error("%s: %s\n", sirix_status_name(status), err->text);
        fail();
    }
}

void sql_fixture_database(struct sql_fixture *f, const char *database)
{
    const struct sirix_write_options options = {.message = text("")};
    struct sirix_database_item item;
    struct sirix_error err = {0};

    must(sirix_service_create_database(&f->request, text(database), &options, &item, &err), &err);
}

void sql_fixture_open(struct sql_fixture *f)
{
    const struct sirix_service_options service = {.dir = f->dir};
    struct sirix_error err = {0};

    *f = (struct sql_fixture){.dir = "/tmp/sirix-sql-XXXXXX"};
    assert_non_null(mkdtemp(f->dir));
    must(sirix_service_open(&service, &f->service, &err), &err);
    f->cancel.deadline_us = UINT64_MAX;
    f->request = (struct sirix_request){
        .service = f->service,
        .caller = {.name = "tester", .may_write = true},
        .cancel = &f->cancel,
    };
    sql_fixture_database(f, "db");
}

void sql_fixture_close(struct sql_fixture *f)
{
    sirix_service_close(f->service);
    assert_int_equal(remove_tree(f->dir), 0);
}

/* Inserts a value into an empty resource, or updates the value at a path. */
static void write_value(struct sql_fixture *f, const char *database, const char *resource,
                        const char *path, const char *json)
{
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    const struct sirix_edit_commit commit = {.author = text("tester"), .message = text("m")};
    const struct sirix_view_request newest = {.which = SIRIX_VIEW_WHICH_NONE};
    struct sirix_edit_update update = {.target = 1};
    struct sirix_edit_result result;
    struct sirix_published published;
    struct sirix_target target = {0};
    struct sirix_document document;
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    struct sirix_error err = {0};
    bool changed = false;

    must(sirix_target_open(&f->request, text(database), text(resource), &target, &err), &err);
    must(sirix_target_view(&target, &newest, "view", &view, &err), &err);
    must(sirix_edit_new(&view, target.reader, &edit, &err), &err);
    if (path == NULL) {
        must(sirix_edit_insert(edit, &insert, text(json), &result, &err), &err);
    } else {
        sirix_document_init(&document, &view, target.reader);
        must(sirix_document_resolve(&document, SIRIX_PATH_SIRIX, text(path), &update.target, &err),
             &err);
        must(sirix_edit_update(edit, &update, text(json), &result, &err), &err);
    }
    must(sirix_edit_commit(edit, &commit, &published, &changed, &err), &err);
    sirix_edit_free(edit);
    sirix_view_close(&view);
    sirix_target_close(&target);
}

void sql_fixture_put(struct sql_fixture *f, const char *database, const char *resource,
                     const char *json)
{
    const struct sirix_write_options options = {.message = text("")};
    struct sirix_write_result result;
    struct sirix_error err = {0};

    must(sirix_service_create_resource(&f->request, text(database), text(resource), &options,
                                       &result, &err),
         &err);
    write_value(f, database, resource, NULL, json);
}

void sql_fixture_replace(struct sql_fixture *f, const char *database, const char *resource,
                         const char *path, const char *json)
{
    write_value(f, database, resource, path, json);
}

void sql_fixture_snapshot(struct sql_fixture *f, const char *database, const char *resource,
                          const char *name)
{
    const struct sirix_label_request wanted = {
        .database = text(database), .resource = text(resource), .name = text(name)};
    struct sirix_snapshot_change change;
    struct sirix_error err = {0};
    bool replayed = false;

    must(sirix_service_create_snapshot(&f->request, &wanted, &change, &replayed, &err), &err);
}

/* --- Statements ----------------------------------------------------------------------------------- */

static void append(char *to, struct sirix_bytes bytes)
{
    const size_t len = strlen(to);
    const size_t room = SQL_FIXTURE_TEXT_BYTES - 1 - len;
    const size_t taken = bytes.len < room ? bytes.len : room;

    if (taken != 0) {
        memcpy(to + len, bytes.data, taken);
    }
    to[len + taken] = '\0';
}

static enum sirix_status on_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    struct sql_fixture *f = context;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        append(f->columns, text(i == 0 ? "" : " "));
        append(f->columns, text(columns[i].name));
        append(f->columns, text(":"));
        append(f->columns, text(columns[i].type));
    }
    return SIRIX_OK;
}

static enum sirix_status on_row(void *context, const struct sirix_sql_value *values, size_t count,
                                struct sirix_error *err)
{
    struct sql_fixture *f = context;
    char number[64];

    (void)err;
    append(f->rows, text(f->rows[0] == '\0' ? "" : ";"));
    for (size_t i = 0; i < count; i++) {
        append(f->rows, text(i == 0 ? "" : "|"));
        switch (values[i].kind) {
        case SIRIX_SQL_INTEGER:
            (void)snprintf(number, sizeof(number), "%lld", (long long)values[i].integer);
            append(f->rows, text(number));
            break;
        case SIRIX_SQL_REAL:
            (void)snprintf(number, sizeof(number), "%.15g", values[i].real);
            append(f->rows, text(number));
            break;
        case SIRIX_SQL_NULL:
            append(f->rows, text("~"));
            break;
        default:
            append(f->rows, values[i].bytes);
            break;
        }
    }
    return SIRIX_OK;
}

enum sirix_status sql_fixture_run_bytes(struct sql_fixture *f, struct sirix_bytes sql)
{
    const struct sirix_sql_sink sink = {.context = f, .columns = on_columns, .row = on_row};

    f->columns[0] = '\0';
    f->rows[0] = '\0';
    f->end = (struct sirix_sql_end){0};
    f->err = (struct sirix_error){0};
    f->wanted.sql = sql;
    return sirix_sql_run_without(&f->request, &f->wanted, &sink, f->layers_off, &f->end, &f->err);
}

enum sirix_status sql_fixture_run(struct sql_fixture *f, const char *sql)
{
    return sql_fixture_run_bytes(f, text(sql));
}

void sql_fixture_rows(struct sql_fixture *f, const char *sql, const char *rows)
{
    if (sql_fixture_run(f, sql) != SIRIX_OK) {
        print_error("%s\n  %s\n", sql, f->err.text);
        fail();
    }
    if (strcmp(f->rows, rows) != 0) {
        print_error("%s\n", sql);
        assert_string_equal(f->rows, rows);
    }
}
