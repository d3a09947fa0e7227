#include "unit/document/fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/document/temp_dir.h"

struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    if (status != SIRIX_OK) {
        print_error("%s: %s: %s (pointer %s)\n", what, sirix_status_name(status), err->text,
                    err->pointer);
        fail();
    }
}

static void open_database(struct fixture *f, struct sirix_backend *backend, const char *dir)
{
    struct sirix_error err = {0};
    struct sirix_recovery recovery = {0};
    struct sirix_database_options options = {.backend = backend, .dir = dir};

    *f = (struct fixture){.backend = backend};
    must(sirix_committer_pool_start(1, &f->pool, &err), &err, "pool");
    options.pool = f->pool;
    must(sirix_database_open(&options, &f->database, &recovery, &err), &err, "open");
}

void fixture_open_on(struct fixture *f, struct sirix_backend *backend, const char *dir, bool create)
{
    struct sirix_error err = {0};

    open_database(f, backend, dir);
    if (create) {
        must(sirix_resource_create(f->database, bytes_of("docs"), bytes_of("tester"),
                                   bytes_of("made"), &f->resource, &err),
             &err, "create");
    } else {
        must(sirix_resource_open(f->database, bytes_of("docs"), &f->resource, &err), &err,
             "open resource");
    }
    must(sirix_reader_open(backend, &f->reader, &err), &err, "reader");
}

void fixture_open_new(struct fixture *f)
{
    const struct sirix_memory_options options = {.seed = 1};
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    must(sirix_backend_open_memory(&options, &backend, &err), &err, "memory");
    open_database(f, backend, NULL);
    must(sirix_resource_create_hidden(f->database, bytes_of("docs"), &f->resource, &err), &err,
         "create");
    must(sirix_reader_open(backend, &f->reader, &err), &err, "reader");
}

/* The map is small: documents make it grow. */
static void open_on_lmdb(struct fixture *f)
{
    char dir[FIXTURE_DIR_BYTES] = "/tmp/sirix-document-XXXXXX";
    const struct sirix_lmdb_options options = {
        .dir = dir, .create = true, .no_sync = true, .map_bytes_min = 256 * 1024};
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    assert_non_null(mkdtemp(dir));
    must(sirix_backend_open_lmdb(&options, &backend, &err), &err, "lmdb");
    fixture_open_on(f, backend, dir, true);
    memcpy(f->dir, dir, sizeof(dir));
}

void fixture_open(struct fixture *f)
{
    const struct sirix_memory_options options = {.seed = 1};
    const char *lmdb = getenv("SIRIX_FIXTURE_LMDB");
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    if (lmdb != NULL && strcmp(lmdb, "1") == 0) {
        open_on_lmdb(f);
        return;
    }
    must(sirix_backend_open_memory(&options, &backend, &err), &err, "memory");
    fixture_open_on(f, backend, NULL, true);
}

void fixture_close(struct fixture *f)
{
    sirix_reader_close(f->reader);
    sirix_resource_unref(f->resource);
    sirix_database_close(f->database);
    sirix_committer_pool_stop(f->pool);
    if (f->dir[0] != '\0') {
        temp_dir_remove(f->dir);
    }
}

void fixture_head(struct fixture *f, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_error err = {0};

    must(sirix_view_open(f->resource, f->reader, &spec, view, &err), &err, "head");
}

struct sirix_edit *fixture_edit(struct fixture *f, struct sirix_view *view)
{
    struct sirix_edit *edit = NULL;
    struct sirix_error err = {0};

    fixture_head(f, view);
    must(sirix_edit_new(view, f->reader, &edit, &err), &err, "edit");
    return edit;
}

bool fixture_commit(struct fixture *f, struct sirix_edit *edit, struct sirix_view *view)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("tester"),
                                             .message = bytes_of("test")};
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    bool changed = false;

    must(sirix_edit_commit(edit, &commit, &published, &changed, &err), &err, "commit");
    fixture_drop(edit, view);
    sirix_reader_yield(f->reader);
    return changed;
}

void fixture_drop(struct sirix_edit *edit, struct sirix_view *view)
{
    sirix_edit_free(edit);
    sirix_view_close(view);
}

uint64_t edit_insert(struct sirix_edit *edit, uint64_t target, enum sirix_place place,
                     uint64_t index, const char *name, const char *text)
{
    struct sirix_bytes stored = {0};
    struct sirix_edit_insert insert = {.target = target, .place = place, .index = index};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};

    if (name != NULL) {
        stored = bytes_of(name);
        insert.name = &stored;
    }
    must(sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err), &err, "insert");
    return result.key;
}

struct sirix_edit_result edit_update(struct sirix_edit *edit, uint64_t target, const char *text)
{
    const struct sirix_edit_update update = {.target = target};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};

    must(sirix_edit_update(edit, &update, bytes_of(text), &result, &err), &err, "update");
    return result;
}

uint64_t edit_delete(struct sirix_edit *edit, uint64_t key)
{
    struct sirix_error err = {0};
    uint64_t nodes = 0;

    must(sirix_edit_delete(edit, key, &nodes, &err), &err, "delete");
    return nodes;
}

void import_bytes(struct fixture *f, struct sirix_bytes text, size_t piece)
{
    const struct sirix_edit_insert insert = {.target = 0};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);

    must(sirix_edit_insert_begin(edit, &insert, &err), &err, "begin");
    for (size_t at = 0; at < text.len; at += piece) {
        size_t len = text.len - at < piece ? text.len - at : piece;
        must(
            sirix_edit_value_feed(
                edit, (struct sirix_bytes){.data = (const char *)text.data + at, .len = len}, &err),
            &err, "feed");
    }
    must(sirix_edit_value_end(edit, &result, &err), &err, "end");
    assert_int_equal(result.key, 1);
    assert_true(fixture_commit(f, edit, &view));
}

void import_text(struct fixture *f, const char *text)
{
    import_bytes(f, bytes_of(text), SIZE_MAX / 2);
}

char *text_of_view(struct fixture *f, const struct sirix_view *view, uint64_t key)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_document document;
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_error err = {0};
    struct sirix_buf out;
    bool done = false;

    sirix_document_init(&document, view, f->reader);
    sirix_buf_init(&out, SIZE_MAX);
    must(sirix_serialiser_new(&document, &options, &serialiser, &err), &err, "serialiser");
    while (!done) {
        must(sirix_serialiser_step(serialiser, 1000, &out, &done, &err), &err, "step");
        sirix_reader_yield(f->reader);
    }
    sirix_serialiser_free(serialiser);
    must(sirix_buf_append_u8(&out, 0, &err), &err, "end");
    return (char *)out.data;
}

char *text_of_head(struct fixture *f)
{
    struct sirix_document document;
    struct sirix_walk *walk = NULL;
    struct sirix_document_node node;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t count = 0;
    uint32_t depth = 0;
    char *text = NULL;

    fixture_head(f, &view);
    text = text_of_view(f, &view, 0);
    assert_int_equal(view.record.text_bytes, strlen(text));
    sirix_document_init(&document, &view, f->reader);
    must(sirix_walk_new(&document, 1, &walk, &err), &err, "walk");
    while (sirix_walk_next(walk, &node, &depth, &err) == SIRIX_OK) {
        count++;
    }
    sirix_walk_free(walk);
    assert_int_equal(view.record.node_count, count);
    sirix_view_close(&view);
    return text;
}

void assert_head(struct fixture *f, const char *expected)
{
    char *text = text_of_head(f);

    assert_string_equal(text, expected);
    free(text);
}

uint64_t key_at(struct fixture *f, const char *pointer)
{
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t key = 0;

    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    must(sirix_document_resolve(&document, SIRIX_PATH_POINTER, bytes_of(pointer), &key, &err), &err,
         pointer);
    sirix_view_close(&view);
    return key;
}
