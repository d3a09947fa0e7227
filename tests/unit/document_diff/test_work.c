/*
 * How work grows with documents and with changes, counted and not timed: pages that are read, and the
 * basic blocks that the document, child and page layers run (they are compiled for this test with a
 * call in each, see CMakeLists.txt) with the bytes that are copied. CI goes to 100,000 members;
 * SIRIX_LARGE=1 to a million.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <inttypes.h>

#include "store/document/patch.h"
#include "unit/document_diff/support.h"

enum {
    SMALL_MEMBERS = 10000,
    CI_MEMBERS = 100000,
    LARGE_MEMBERS = 1000000,
    READS_FACTOR = 3, /* Of the largest document against the small one. */
    LEAST_ELEMENTS = 8000,
    MOST_ELEMENTS = 64000,
    GROWTH_PER_CENT = 250, /* Work of twice as many elements. */
    BLOCK_BYTES = 64,      /* Copied bytes that count as one block. */
};

static _Thread_local uint64_t blocks;
static _Thread_local uint64_t reads;

/* Called from each basic block. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void)
{
    blocks++;
}

void *__real_memmove(void *to, const void *from, size_t len);
void *__wrap_memmove(void *to, const void *from, size_t len);
void *__wrap_memmove(void *to, const void *from, size_t len)
{
    blocks += len / BLOCK_BYTES;
    return __real_memmove(to, from, len);
}

void *__real_memcpy(void *to, const void *from, size_t len);
void *__wrap_memcpy(void *to, const void *from, size_t len);
void *__wrap_memcpy(void *to, const void *from, size_t len)
{
    blocks += len / BLOCK_BYTES;
    return __real_memcpy(to, from, len);
}

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
    reads++;
    return __real_sirix_segment_get(reader, address, min_len, out_bytes, err);
}

/* Imports an array of count numbers, or an object of count members. */
static void import_many(struct fixture *f, size_t count, bool is_object)
{
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&text, is_object ? "{" : "[", NULL), SIRIX_OK);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sirix_buf_append_str(&text, i == 0 ? "" : ",", NULL), SIRIX_OK);
        assert_int_equal(is_object ? sirix_buf_printf(&text, NULL, "\"m%zu\":%zu", i, i)
                                   : sirix_buf_printf(&text, NULL, "%zu", i),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_str(&text, is_object ? "}" : "]", NULL), SIRIX_OK);
    import_bytes(f, sirix_buf_view(&text), 100000);
    sirix_buf_deinit(&text);
}

static uint64_t count_changes(struct fixture *f, const struct sirix_view *before,
                              const struct sirix_view *after)
{
    const struct sirix_diff_options options = {
        .old_view = before, .new_view = after, .reader = f->reader};
    struct sirix_diff *diff = NULL;
    struct sirix_change change;
    enum sirix_status status = SIRIX_OK;
    uint64_t count = 0;

    assert_int_equal(sirix_diff_new(&options, &diff, NULL), SIRIX_OK);
    while ((status = sirix_diff_next(diff, &change, NULL)) == SIRIX_OK) {
        count++;
    }
    assert_int_equal(status, SIRIX_NOT_FOUND);
    sirix_diff_free(diff);
    return count;
}

/* Pages that the diff of so many updates, spread over a document of count members, reads. */
static uint64_t reads_of_updates(size_t count, bool is_object, size_t updates)
{
    struct fixture f;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    uint64_t before_reads = 0;

    fixture_open(&f);
    import_many(&f, count, is_object);
    fixture_head(&f, &before);
    edit = fixture_edit(&f, &view);
    for (size_t i = 0; i < updates; i++) {
        uint64_t key = 0;

        assert_int_equal(sirix_edit_child_at(edit, 1, i * (count / updates), &key, NULL), SIRIX_OK);
        (void)edit_update(edit, key, "\"changed\"");
    }
    assert_true(fixture_commit(&f, edit, &view));
    fixture_head(&f, &after);
    before_reads = reads;
    assert_int_equal(count_changes(&f, &before, &after), updates);
    before_reads = reads - before_reads;
    sirix_view_close(&before);
    sirix_view_close(&after);
    fixture_close(&f);
    return before_reads;
}

static void cost_follows_the_change_and_not_the_document(void **state)
{
    const char *large = getenv("SIRIX_LARGE");
    size_t most = large != NULL && strcmp(large, "1") == 0 ? LARGE_MEMBERS : CI_MEMBERS;
    static const size_t updates[] = {1, 10, 100};

    (void)state;
    for (int is_object = 0; is_object <= 1; is_object++) {
        for (size_t i = 0; i < sizeof(updates) / sizeof(updates[0]); i++) {
            uint64_t few = reads_of_updates(SMALL_MEMBERS, is_object == 1, updates[i]);
            uint64_t many = reads_of_updates(most, is_object == 1, updates[i]);

            print_message(
                "%s: %zu changes in %d members read %" PRIu64 " pages, in %zu %" PRIu64 "\n",
                is_object == 1 ? "object" : "array", updates[i], SMALL_MEMBERS, few, most, many);
            assert_true(few >= updates[i]);
            assert_true(many <= few * READS_FACTOR);
        }
    }
}

/* --- Arrays that shrink ------------------------------------------------------------------------- */

/* All elements of the array that is the document go, or every second one. */
static void remove_elements(struct fixture *f, size_t count, bool all)
{
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);

    for (size_t i = 0; i < (all ? count : count / 2); i++) {
        uint64_t key = 0;

        assert_int_equal(sirix_edit_child_at(edit, 1, all ? 0 : i, &key, NULL), SIRIX_OK);
        (void)edit_delete(edit, key);
    }
    assert_true(fixture_commit(f, edit, &view));
}

static uint64_t work_of_patch(size_t count, bool all)
{
    struct fixture f;
    struct sirix_view before;
    struct sirix_view after;
    struct sirix_patch_writer *writer = NULL;
    struct sirix_buf out;
    uint64_t before_blocks = 0;
    bool done = false;

    fixture_open(&f);
    import_many(&f, count, false);
    fixture_head(&f, &before);
    remove_elements(&f, count, all);
    fixture_head(&f, &after);
    const struct sirix_patch_options options = {.old_view = &before,
                                                .new_view = &after,
                                                .reader = f.reader,
                                                .max_ops = SIRIX_PATCH_OPS_MAX};
    sirix_buf_init(&out, SIZE_MAX);
    before_blocks = blocks;
    assert_int_equal(sirix_patch_writer_new(&options, &writer, NULL), SIRIX_OK);
    assert_int_equal(sirix_patch_writer_count(writer), all ? count : count / 2);
    while (!done) {
        assert_int_equal(sirix_patch_writer_step(writer, 100000, &out, &done, NULL), SIRIX_OK);
    }
    before_blocks = blocks - before_blocks;
    sirix_patch_writer_free(writer);
    sirix_buf_deinit(&out);
    sirix_view_close(&before);
    sirix_view_close(&after);
    fixture_close(&f);
    return before_blocks;
}

static uint64_t work_of_removal(size_t count, bool all)
{
    struct fixture f;
    uint64_t before_blocks = 0;

    fixture_open(&f);
    import_many(&f, count, false);
    before_blocks = blocks;
    remove_elements(&f, count, all);
    before_blocks = blocks - before_blocks;
    fixture_close(&f);
    return before_blocks;
}

/* An array that is emptied at once: by another value in its place. */
static uint64_t work_of_emptying(size_t count, bool to_array)
{
    struct fixture f;
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    uint64_t before_blocks = 0;

    fixture_open(&f);
    import_many(&f, count, false);
    before_blocks = blocks;
    edit = fixture_edit(&f, &view);
    assert_true(edit_update(edit, 1, to_array ? "[]" : "0").changed);
    assert_true(fixture_commit(&f, edit, &view));
    before_blocks = blocks - before_blocks;
    fixture_close(&f);
    return before_blocks;
}

/* Both forms of a task, from the least number of elements to the most. */
static void assert_linear(const char *name, uint64_t (*work)(size_t count, bool form))
{
    for (int form = 0; form <= 1; form++) {
        uint64_t before = 0;

        for (size_t count = LEAST_ELEMENTS; count <= MOST_ELEMENTS; count *= 2) {
            uint64_t now = work(count, form == 1);

            print_message("%s %d of %zu elements: %" PRIu64 " blocks\n", name, form, count, now);
            assert_true(now >= count / 2); /* It is counted at all. */
            assert_true(before == 0 || now * 100 <= before * GROWTH_PER_CENT);
            before = now;
        }
    }
}

static void removing_much_of_an_array_is_linear(void **state)
{
    (void)state;
    assert_linear("patch", work_of_patch);
}

static void arrays_are_emptied_and_halved_in_linear_time(void **state)
{
    (void)state;
    assert_linear("removal", work_of_removal);
    assert_linear("emptying", work_of_emptying);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cost_follows_the_change_and_not_the_document),
        cmocka_unit_test(removing_much_of_an_array_is_linear),
        cmocka_unit_test(arrays_are_emptied_and_halved_in_linear_time),
    };

    return cmocka_run_group_tests_name("document_diff_work", tests, NULL, NULL);
}
