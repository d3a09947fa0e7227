/*
 * A document that was written one element at a time, each on a branch of its own that was promoted and
 * deleted: what reading it takes, counted in looks into segments and in bytes, beside the same document
 * from one import.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "unit/document/fixture.h"

static uint64_t looks;

enum sirix_status __real_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err);
enum sirix_status __wrap_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err);
enum sirix_status __wrap_sirix_segment_get(struct sirix_reader *reader, uint64_t address,
                                           size_t min_len, struct sirix_bytes *out_bytes,
                                           struct sirix_error *err)
{
    looks++;
    return __real_sirix_segment_get(reader, address, min_len, out_bytes, err);
}

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    fixture_open(f);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture_close(*state);
    free(*state);
    return 0;
}

/* One round: branch, insert at the end, promote, delete the branch. */
static void live_once(struct fixture *f, uint64_t number)
{
    const struct sirix_view_spec side = {.by = SIRIX_VIEW_BRANCH, .name = bytes_of("side")};
    const struct sirix_edit_commit commit = {.author = bytes_of("tester")};
    struct sirix_branch_info info;
    struct sirix_promoted promoted;
    struct sirix_published published;
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    char value[24];
    bool changed = false;

    (void)snprintf(value, sizeof(value), "%llu", (unsigned long long)number);
    fixture_head(f, &view);
    assert_int_equal(sirix_branch_create(&view, bytes_of("side"), 0, &info, NULL), SIRIX_OK);
    sirix_view_close(&view);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_view_open(f->resource, f->reader, &side, &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_edit_new(&view, f->reader, &edit, NULL), SIRIX_OK);
    (void)edit_insert(edit, 1, SIRIX_PLACE_LAST_CHILD, 0, NULL, value);
    assert_int_equal(sirix_edit_commit(edit, &commit, &published, &changed, NULL), SIRIX_OK);
    fixture_drop(edit, &view);
    assert_int_equal(sirix_branch_promote(f->resource, bytes_of("side"), bytes_of("main"), false,
                                          &promoted, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_branch_delete(f->resource, bytes_of("side"), NULL), SIRIX_OK);
    sirix_reader_yield(f->reader);
}

/* The whole document, and how often a segment was looked into for it. */
static char *scan(struct fixture *f, uint64_t *out_looks)
{
    struct sirix_view view;

    fixture_head(f, &view);
    looks = 0;
    char *text = text_of_view(f, &view, 0);
    *out_looks = looks;
    sirix_view_close(&view);
    return text;
}

static uint64_t segment_bytes(struct fixture *f)
{
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    return stats.segment_bytes;
}

static uint64_t rounds_wanted(void)
{
    const char *text = getenv("SIRIX_ROUNDS");

    return text == NULL ? 2000 : strtoull(text, NULL, 10);
}

static void rounds_of_branches_leave_a_document_as_quick_to_read_as_an_import(void **state)
{
    struct fixture *f = *state;
    struct fixture bulk;
    uint64_t rounds = rounds_wanted();
    uint64_t by_rounds = 0;
    uint64_t by_import = 0;

    import_text(f, "[]");
    uint64_t bytes = segment_bytes(f);
    for (uint64_t i = 0; i < rounds; i++) {
        live_once(f, i);
    }
    print_message("%llu rounds: %llu bytes a round\n", (unsigned long long)rounds,
                  (unsigned long long)((segment_bytes(f) - bytes) / rounds));
    char *text = scan(f, &by_rounds);
    fixture_open(&bulk);
    import_text(&bulk, text);
    char *again = scan(&bulk, &by_import);
    print_message("%llu looks, after an import %llu\n", (unsigned long long)by_rounds,
                  (unsigned long long)by_import);
    assert_string_equal(again, text);
    assert_true(by_rounds <= 2 * by_import);
    free(text);
    free(again);
    fixture_close(&bulk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            rounds_of_branches_leave_a_document_as_quick_to_read_as_an_import, set_up, tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
