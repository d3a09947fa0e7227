#include "unit/query_run/fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"

enum { PIECE_BYTES = 64 * 1024 };

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    if (status != SIRIX_OK) {
        (void)fprintf(stderr, "%s: %s: %s\n", what, sirix_status_name(status), err->text);
        abort();
    }
}

/* --- The catalogue ---------------------------------------------------------------------------------- */

static enum sirix_status open_place(void *context, struct sirix_bytes database,
                                    struct sirix_bytes resource,
                                    struct sirix_query_place *out_place, struct sirix_error *err)
{
    struct query_fixture *f = context;
    struct sirix_query_place place = {0};
    enum sirix_status status = SIRIX_OK;

    if (!sirix_bytes_equal(database, bytes_of("db"))) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                                 "there is no such database");
    }
    if (f->hidden != NULL && sirix_bytes_equal(resource, bytes_of(f->hidden))) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                                 "there is no such resource");
    }
    status = sirix_resource_open(f->database, resource, &place.resource, err);
    if (status == SIRIX_OK) {
        status = sirix_reader_open(f->backend, &place.reader, err);
        if (status != SIRIX_OK) {
            sirix_resource_unref(place.resource);
        }
    }
    if (status == SIRIX_OK) {
        *out_place = place;
    }
    return status;
}

static void close_place(void *context, struct sirix_query_place *place)
{
    (void)context;
    sirix_reader_close(place->reader);
    sirix_resource_unref(place->resource);
}

static enum sirix_status list_databases(void *context, sirix_name_visit_fn visit,
                                        void *visit_context, struct sirix_error *err)
{
    bool stop = false;

    (void)context;
    return visit(visit_context, bytes_of("db"), &stop, err);
}

static enum sirix_status list_resources(void *context, struct sirix_bytes database,
                                        sirix_name_visit_fn visit, void *visit_context,
                                        struct sirix_error *err)
{
    struct query_fixture *f = context;

    if (!sirix_bytes_equal(database, bytes_of("db"))) {
        return sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                                 "there is no such database");
    }
    return sirix_resource_list(f->database, (struct sirix_bytes){0}, visit, visit_context, err);
}

/* --- Preparing -------------------------------------------------------------------------------------- */

void query_fixture_open(struct query_fixture *f, const char *dir)
{
    const struct sirix_memory_options memory = {.seed = 1};
    const struct sirix_lmdb_options lmdb = {.dir = dir, .create = true, .no_sync = true};
    struct sirix_database_options options = {.dir = dir};
    struct sirix_recovery recovery = {0};
    struct sirix_error err = {0};

    *f = (struct query_fixture){0};
    must(dir == NULL ? sirix_backend_open_memory(&memory, &f->backend, &err)
                     : sirix_backend_open_lmdb(&lmdb, &f->backend, &err),
         &err, "backend");
    must(sirix_committer_pool_start(1, &f->pool, &err), &err, "pool");
    options.backend = f->backend;
    options.pool = f->pool;
    must(sirix_database_open(&options, &f->database, &recovery, &err), &err, "database");
    must(sirix_reader_open(f->backend, &f->reader, &err), &err, "reader");
    f->catalogue = (struct sirix_query_catalogue){
        .context = f,
        .open = open_place,
        .close = close_place,
        .databases = list_databases,
        .resources = list_resources,
    };
}

void query_fixture_close(struct query_fixture *f)
{
    sirix_reader_close(f->reader);
    sirix_database_close(f->database);
    sirix_committer_pool_stop(f->pool);
}

static struct sirix_resource *resource_of(struct query_fixture *f, const char *name)
{
    struct sirix_resource *resource = NULL;
    struct sirix_error err = {0};

    if (sirix_resource_open(f->database, bytes_of(name), &resource, &err) != SIRIX_OK) {
        must(sirix_resource_create_hidden(f->database, bytes_of(name), &resource, &err), &err,
             "create");
    }
    sirix_reader_yield(f->reader);
    return resource;
}

static void head_of(struct query_fixture *f, struct sirix_resource *resource,
                    struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_error err = {0};

    must(sirix_view_open(resource, f->reader, &spec, view, &err), &err, "head");
}

static void begin_value(struct query_fixture *f, const struct sirix_view *view,
                        struct sirix_edit **out_edit)
{
    const struct sirix_edit_insert insert = {.target = 1, .place = SIRIX_PLACE_LAST_CHILD};
    const struct sirix_edit_update update = {.target = 1};
    struct sirix_document document;
    struct sirix_error err = {0};
    bool has_value = false;

    sirix_document_init(&document, view, f->reader);
    must(sirix_document_has_value(&document, &has_value, &err), &err, "value");
    must(sirix_edit_new(view, f->reader, out_edit, &err), &err, "edit");
    must(has_value ? sirix_edit_update_begin(*out_edit, &update, &err)
                   : sirix_edit_insert_begin(*out_edit, &insert, &err),
         &err, "begin");
}

static void end_value(struct query_fixture *f, struct sirix_edit *edit, struct sirix_view *view)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("tester"),
                                             .message = bytes_of("put")};
    struct sirix_edit_result result;
    struct sirix_published published;
    struct sirix_error err = {0};
    bool changed = false;

    must(sirix_edit_value_end(edit, &result, &err), &err, "end");
    must(sirix_edit_commit(edit, &commit, &published, &changed, &err), &err, "commit");
    sirix_edit_free(edit);
    sirix_view_close(view);
    sirix_reader_yield(f->reader);
}

void query_fixture_create(struct query_fixture *f, const char *name)
{
    struct sirix_resource *resource = NULL;
    struct sirix_error err = {0};

    must(sirix_resource_create(f->database, bytes_of(name), bytes_of("tester"), bytes_of("made"),
                               &resource, &err),
         &err, "create");
    sirix_resource_unref(resource);
    sirix_reader_yield(f->reader);
}

void query_fixture_put(struct query_fixture *f, const char *name, const char *json)
{
    struct sirix_resource *resource = resource_of(f, name);
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    struct sirix_error err = {0};

    head_of(f, resource, &view);
    begin_value(f, &view, &edit);
    must(sirix_edit_value_feed(edit, bytes_of(json), &err), &err, "feed");
    end_value(f, edit, &view);
    sirix_resource_unref(resource);
}

void query_fixture_import(struct query_fixture *f, const char *name, const char *path)
{
    struct sirix_resource *resource = resource_of(f, name);
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    struct sirix_error err = {0};
    static char piece[PIECE_BYTES];
    size_t len = 0;
    FILE *file = fopen(path, "rb");

    if (file == NULL) {
        perror(path);
        abort();
    }
    head_of(f, resource, &view);
    begin_value(f, &view, &edit);
    while ((len = fread(piece, 1, sizeof(piece), file)) != 0) {
        must(sirix_edit_value_feed(edit, (struct sirix_bytes){.data = piece, .len = len}, &err),
             &err, "feed");
    }
    (void)fclose(file);
    end_value(f, edit, &view);
    sirix_resource_unref(resource);
}

void query_fixture_snapshot(struct query_fixture *f, const char *name, const char *label)
{
    struct sirix_resource *resource = resource_of(f, name);
    struct sirix_snapshot_created created;
    struct sirix_view view;
    struct sirix_error err = {0};

    head_of(f, resource, &view);
    must(sirix_snapshot_create(&view, bytes_of(label), false, &created, &err), &err, "snapshot");
    sirix_view_close(&view);
    sirix_resource_unref(resource);
    sirix_reader_yield(f->reader);
}

void query_fixture_branch(struct query_fixture *f, const char *name, const char *branch)
{
    struct sirix_resource *resource = resource_of(f, name);
    struct sirix_branch_info info;
    struct sirix_view view;
    struct sirix_error err = {0};

    head_of(f, resource, &view);
    must(sirix_branch_create(&view, bytes_of(branch), 0, &info, &err), &err, "branch");
    sirix_view_close(&view);
    sirix_resource_unref(resource);
    sirix_reader_yield(f->reader);
}

/* --- Running ---------------------------------------------------------------------------------------- */

static enum sirix_status check(void *context, struct sirix_error *err)
{
    struct query_fixture *f = context;

    return ++f->checks == f->stop_at ? sirix_fail(err, SIRIX_CANCELLED, "stopped by the test")
                                     : SIRIX_OK;
}

void query_fixture_options(struct query_fixture *f, const char *text,
                           struct sirix_query_options *out)
{
    *out = (struct sirix_query_options){
        .text = bytes_of(text),
        .dialect = f->jsoniq ? SIRIX_QUERY_DIALECT_JSONIQ : SIRIX_QUERY_DIALECT_DEFAULT,
        .naive = f->naive,
        .catalogue = &f->catalogue,
        .inputs = f->inputs,
        .input_count = f->input_count,
        .variables = f->variables,
        .variable_count = f->variable_count,
        .limits = f->limits,
        .check = check,
        .context = f,
    };
    if (f->context != NULL) {
        out->database = bytes_of("db");
        out->resource = bytes_of(f->context);
    }
}

static void put_error(struct sirix_buf *out, enum sirix_status status,
                      const struct sirix_query_error *err)
{
    struct sirix_error failed = {0};

    if (getenv("QUERY_FIXTURE_VERBOSE") != NULL) {
        (void)fprintf(stderr, "%s %u:%u %s %s\n", err->code, err->line, err->column,
                      sirix_status_name(status), err->base.text);
    }
    must(err->code[0] != '\0'
             ? sirix_buf_printf(out, &failed, "! %s", err->code)
             : sirix_buf_printf(out, &failed, "! %s %s", sirix_status_name(status),
                                err->base.field[0] != '\0' ? err->base.field
                                                           : sirix_reason_name(err->base.reason)),
         &failed, "answer");
}

static char *taken(struct sirix_buf *out)
{
    struct sirix_error err = {0};
    const char *text = NULL;
    char *copy = NULL;

    must(sirix_buf_c_str(out, &text, &err), &err, "answer");
    copy = strdup(text);
    sirix_buf_deinit(out);
    return copy;
}

char *query_fixture_run(struct query_fixture *f, const char *text)
{
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    struct sirix_error failed = {0};
    struct sirix_buf out;
    bool done = false;

    sirix_buf_init(&out, QUERY_FIXTURE_ANSWER_BYTES);
    query_fixture_options(f, text, &options);
    enum sirix_status status = sirix_query_prepare(&options, &query, &err);
    while (status == SIRIX_OK && !done) {
        const struct sirix_query_item *items = NULL;
        size_t count = 0;

        status = sirix_query_next(query, f->item_max, 0, &items, &count, &done, &err);
        for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
            must(sirix_buf_printf(&out, &failed, "%s%.*s", out.len == 0 ? "" : "\n",
                                  (int)items[i].json.len, (const char *)items[i].json.data),
                 &failed, "answer");
        }
    }
    if (status != SIRIX_OK) {
        sirix_buf_clear(&out);
        put_error(&out, status, &err);
    }
    sirix_query_close(query);
    return taken(&out);
}

char *query_fixture_update(struct query_fixture *f, const char *text)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("tester"),
                                             .message = bytes_of("update")};
    const struct sirix_query_touched *touched = NULL;
    struct sirix_query_committed committed[64];
    struct sirix_query_options options;
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {0};
    struct sirix_error failed = {0};
    struct sirix_buf out;
    size_t count = 0;
    size_t changed = 0;

    sirix_buf_init(&out, QUERY_FIXTURE_ANSWER_BYTES);
    query_fixture_options(f, text, &options);
    options.updating = true;
    enum sirix_status status = sirix_query_prepare(&options, &query, &err);
    if (status == SIRIX_OK) {
        status = sirix_query_evaluate(query, &touched, &count, &err);
    }
    if (status == SIRIX_OK) {
        status = sirix_query_commit(query, &commit, committed, &err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        changed += committed[i].changed ? 1 : 0;
    }
    if (status == SIRIX_OK) {
        must(sirix_buf_printf(&out, &failed, "changed %zu", changed), &failed, "answer");
    } else {
        put_error(&out, status, &err);
    }
    sirix_query_close(query);
    sirix_reader_yield(f->reader);
    return taken(&out);
}
