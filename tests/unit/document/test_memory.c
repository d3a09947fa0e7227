/*
 * Each allocation of an edit fails once, one after another: every time there is an error and no
 * revision, and what was there is there.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "store/document/path_summary.h"
#include "unit/document/fixture.h"

/* Allocations of this thread until one fails; -1: none does. */
static _Thread_local long until_failure = -1;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool fails(void)
{
    return until_failure >= 0 && until_failure-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return fails() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return fails() ? NULL : __real_realloc(memory, size);
}

static char *long_text(void)
{
    char *text = malloc(40000);
    size_t len = 0;

    assert_non_null(text);
    len += (size_t)sprintf(text, "{\"s\":\"");
    memset(text + len, 'x', 3000);
    len += 3000;
    len += (size_t)sprintf(text + len, "\",\"a\":[");
    for (unsigned i = 0; i < 100; i++) {
        len += (size_t)sprintf(text + len, "%s{\"k%u\":%u}", i == 0 ? "" : ",", i, i);
    }
    len += (size_t)sprintf(text + len, "],\"o\":{");
    for (unsigned i = 0; i < 100; i++) {
        len += (size_t)sprintf(text + len, "%s\"m%u\":[%u]", i == 0 ? "" : ",", i, i);
    }
    (void)sprintf(text + len, "}}");
    return text;
}

/* All kinds of operations; stops at the first failure. */
static enum sirix_status work(struct sirix_edit *edit, const char *text, struct sirix_error *err)
{
    const struct sirix_bytes name = bytes_of("new");
    const struct sirix_edit_insert insert = {.target = 1, .name = &name};
    const struct sirix_edit_insert element = {.target = 2, .place = SIRIX_PLACE_INDEX, .index = 1};
    const struct sirix_edit_insert lines = {.target = 2, .ndjson = true};
    const struct sirix_edit_update update = {.target = 4};
    struct sirix_edit_move move = {.key = 6, .target = 1, .name = &name};
    struct sirix_edit_result result = {0};
    struct sirix_bytes other = bytes_of("renamed");
    uint64_t key = 0;
    bool changed = false;
    enum sirix_status status = sirix_edit_insert(edit, &insert, bytes_of(text), &result, err);

    if (status == SIRIX_OK) {
        status = sirix_edit_insert(edit, &element, bytes_of("[1,{\"z\":2}]"), &result, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_update(edit, &update, bytes_of(text), &result, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_update(edit, &update, bytes_of(text), &result, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_rename(edit, 2, other, &changed, err);
    }
    move.name = &other;
    other = bytes_of("moved");
    if (status == SIRIX_OK) {
        status = sirix_edit_move(edit, &move, &key, &changed, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_delete(edit, 5, &key, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_insert_keyed(edit, &element, 5, bytes_of("\"back\""), &result, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_insert_begin(edit, &lines, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_value_feed(edit, bytes_of("{\"x\":1}\n[2]\n"), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_value_end(edit, &result, err);
    }
    return status;
}

static enum sirix_status edit_and_commit(struct fixture *f, struct sirix_view *view,
                                         const char *text, struct sirix_error *err)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("me")};
    struct sirix_published published = {0};
    struct sirix_edit *edit = NULL;
    bool changed = false;
    enum sirix_status status = sirix_edit_new(view, f->reader, &edit, err);

    if (status == SIRIX_OK) {
        status = work(edit, text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_commit(edit, &commit, &published, &changed, err);
    }
    sirix_edit_free(edit);
    return status;
}

static void an_edit_without_memory_fails_and_leaves_what_was_there(void **state)
{
    const char *before = "{\"a\":[1,2,{\"b\":3}]}";
    struct fixture f;
    char *text = long_text();
    enum sirix_status status = SIRIX_NO_MEMORY;
    long failures = 0;

    (void)state;
    fixture_open(&f);
    import_text(&f, before);
    for (long n = 0; status != SIRIX_OK; n++) {
        struct sirix_error err = {0};
        struct sirix_view view;
        sirix_reader_yield(f.reader);
        fixture_head(&f, &view);
        until_failure = n;
        status = edit_and_commit(&f, &view, text, &err);
        until_failure = -1;
        sirix_view_close(&view);
        if (status != SIRIX_OK) {
            if (status != SIRIX_NO_MEMORY) {
                print_error("allocation %ld: %s: %s\n", n, sirix_status_name(status), err.text);
            }
            assert_int_equal(status, SIRIX_NO_MEMORY);
            failures++;
            assert_head(&f, before);
        }
        assert_true(n < 100000);
    }
    print_message("%ld allocations failed, one at a time\n", failures);
    assert_true(failures > 100);
    free(text_of_head(&f));
    free(text);
    fixture_close(&f);
}

/* A value past the border to bulk: objects of many members, long strings, and many small records. */
static char *bulk_text(void)
{
    char *text = malloc(3 * 1024 * 1024);
    size_t len = 0;

    assert_non_null(text);
    len += (size_t)sprintf(text, "{\"many\":{");
    for (unsigned i = 0; i < 30000; i++) {
        len += (size_t)sprintf(text + len, "%s\"member number %u of a long name\":%u",
                               i == 0 ? "" : ",", i, i);
    }
    len += (size_t)sprintf(text + len, "},\"long\":\"");
    memset(text + len, 'x', 300000);
    len += 300000;
    len += (size_t)sprintf(text + len, "\",\"again\":{");
    for (unsigned i = 0; i < 5000; i++) {
        len += (size_t)sprintf(text + len, "%s\"k%u\":[%u,{\"x\":1.5}]", i == 0 ? "" : ",", i, i);
    }
    (void)sprintf(text + len, "}}");
    return text;
}

static void a_bulk_value_without_memory_leaves_no_segment_behind(void **state)
{
    const struct sirix_edit_insert insert = {.target = 0};
    struct sirix_backend_stats before = {0};
    struct sirix_backend_stats after = {0};
    struct sirix_error err = {0};
    struct fixture f;
    char *text = bulk_text();
    enum sirix_status status = SIRIX_NO_MEMORY;
    long tries = 0;

    (void)state;
    fixture_open(&f);
    assert_int_equal(sirix_backend_stats(f.backend, &before, &err), SIRIX_OK);
    for (long n = 20; status != SIRIX_OK; n += 1 + n / 8, tries++) {
        const struct sirix_edit_commit commit = {.author = bytes_of("me")};
        struct sirix_published published = {0};
        struct sirix_edit_result result = {0};
        struct sirix_edit *edit = NULL;
        struct sirix_view view;
        bool changed = false;
        edit = fixture_edit(&f, &view);
        until_failure = n;
        status = sirix_edit_insert(edit, &insert, bytes_of(text), &result, &err);
        if (status == SIRIX_OK) {
            status = sirix_edit_commit(edit, &commit, &published, &changed, &err);
        }
        until_failure = -1;
        fixture_drop(edit, &view);
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
        if (status != SIRIX_OK) {
            assert_int_equal(sirix_backend_stats(f.backend, &after, &err), SIRIX_OK);
            assert_int_equal(after.segment_count, before.segment_count);
        }
    }
    print_message("%ld tries\n", tries);
    sirix_reader_yield(f.reader);
    assert_head(&f, text);
    free(text);
    fixture_close(&f);
}

/* An insert that was made on a head that has moved since, put on the new one and published. */
static enum sirix_status rebase_and_commit(struct sirix_edit *edit, const struct sirix_view *head,
                                           struct sirix_error *err)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("me")};
    struct sirix_published published = {0};
    bool changed = false;
    enum sirix_status status = sirix_edit_rebase(edit, head, err);

    return status == SIRIX_OK ? sirix_edit_commit(edit, &commit, &published, &changed, err)
                              : status;
}

static void a_rebase_without_memory_leaves_the_head_that_moved(void **state)
{
    enum sirix_status status = SIRIX_NO_MEMORY;
    struct fixture f;
    long n = 0;

    (void)state;
    fixture_open(&f);
    import_text(&f, "{\"a\":[]}");
    for (; status != SIRIX_OK; n++) {
        struct sirix_error err = {0};
        struct sirix_view view;
        struct sirix_view other_view;
        struct sirix_edit *edit = fixture_edit(&f, &view);
        struct sirix_edit *other = NULL;
        char *before = NULL;

        edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, "new", "[{\"k\":[1,2,3]},\"v\"]");
        other = fixture_edit(&f, &other_view);
        edit_insert(other, 2, SIRIX_PLACE_FIRST_CHILD, 0, NULL, "0");
        assert_true(fixture_commit(&f, other, &other_view));
        before = text_of_head(&f);
        fixture_head(&f, &other_view);
        until_failure = n;
        status = rebase_and_commit(edit, &other_view, &err);
        until_failure = -1;
        sirix_view_close(&other_view);
        fixture_drop(edit, &view);
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
        sirix_reader_yield(f.reader);
        if (status != SIRIX_OK) {
            assert_head(&f, before);
        }
        free(before);
        assert_true(n < 1000);
    }
    assert_true(n > 10);
    assert_true(key_at(&f, "/new/0/k/2") != 0);
    fixture_close(&f);
}

static enum sirix_status read_paths(struct fixture *f, struct sirix_document *document,
                                    struct sirix_error *err)
{
    struct sirix_path_summary summary;
    enum sirix_status status = sirix_path_summary_read(f->resource, f->reader, &summary, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_path_summary_collect(document, &summary, err);
    sirix_path_summary_deinit(&summary);
    return status;
}

/* Reading: every question, with each allocation failing once. */
static enum sirix_status read_all(struct fixture *f, const struct sirix_view *view,
                                  struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.indent = 1};
    struct sirix_document document;
    struct sirix_document_node node;
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_walk *walk = NULL;
    struct sirix_buf out;
    uint32_t depth = 0;
    uint64_t key = 0;
    bool done = false;
    enum sirix_status status = SIRIX_OK;

    sirix_document_init(&document, view, f->reader);
    sirix_buf_init(&out, SIZE_MAX);
    status = sirix_document_resolve(&document, SIRIX_PATH_POINTER, bytes_of("/a/2/b"), &key, err);
    if (status == SIRIX_OK) {
        status = sirix_document_path(&document, key, SIRIX_PATH_SIRIX, &out, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_walk_new(&document, 1, &walk, err);
    }
    while (status == SIRIX_OK) {
        status = sirix_walk_next(walk, &node, &depth, err);
    }
    sirix_walk_free(walk);
    if (status == SIRIX_NOT_FOUND) {
        status = sirix_serialiser_new(&document, &options, &serialiser, err);
    }
    while (status == SIRIX_OK && !done) {
        status = sirix_serialiser_step(serialiser, 100, &out, &done, err);
    }
    sirix_serialiser_free(serialiser);
    sirix_buf_deinit(&out);
    return status == SIRIX_OK ? read_paths(f, &document, err) : status;
}

static void reading_without_memory_fails_and_works_afterwards(void **state)
{
    struct fixture f;
    struct sirix_view view;
    enum sirix_status status = SIRIX_NO_MEMORY;
    long n = 0;

    (void)state;
    fixture_open(&f);
    import_text(&f, "{\"a\":[1,2,{\"b\":3}]}");
    fixture_head(&f, &view);
    for (; status != SIRIX_OK; n++) {
        struct sirix_error err = {0};
        sirix_reader_yield(f.reader);
        until_failure = n;
        status = read_all(&f, &view, &err);
        until_failure = -1;
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
        assert_true(n < 1000);
    }
    assert_true(n > 5);
    sirix_view_close(&view);
    fixture_close(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_edit_without_memory_fails_and_leaves_what_was_there),
        cmocka_unit_test(a_bulk_value_without_memory_leaves_no_segment_behind),
        cmocka_unit_test(a_rebase_without_memory_leaves_the_head_that_moved),
        cmocka_unit_test(reading_without_memory_fails_and_works_afterwards),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
