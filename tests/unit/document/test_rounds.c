/*
 * A document that was written one element at a time, each on a branch of its own that was promoted and
 * deleted: what reading it takes, counted in looks into segments and in bytes of the pages that it
 * consists of, beside the same document from one import. The history of the rounds is kept, so what is
 * stored in all is another figure: it is held to a number of bytes a round.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/map.h"
#include "store/page/page.h"
#include "unit/document/fixture.h"

#ifdef SIRIX_SANITIZED
enum { ROUNDS = 2000 };
#else
enum { ROUNDS = 10000 };
#endif
enum { ROUND_BYTES_MAX = 1024 }; /* Kept of a round: its record, its pages, rows of the branch. */

static uint64_t looks;
static struct sirix_map *looked_at; /* From addresses to lengths of pages; NULL: not wanted. */

/* The length of the page that bytes begin with: docs/format.md. */
static uint64_t page_bytes(struct sirix_bytes bytes)
{
    const uint8_t *page = bytes.data;

    switch (page[0]) {
    case SIRIX_PAGE_INNER:
        return SIRIX_INNER_HEADER_BYTES + sirix_inner_nibble_sum(sirix_load_u64le(page + 16));
    case SIRIX_PAGE_LEAF:
    case SIRIX_PAGE_LEAF_DELTA:
        return SIRIX_LEAF_HEADER_BYTES + sirix_load_u32le(page + 4);
    case SIRIX_PAGE_CHILD_LEAF:
    case SIRIX_PAGE_CHILD_INNER:
    case SIRIX_PAGE_NAME_LEAF:
    case SIRIX_PAGE_NAME_INNER:
        return sirix_load_u16le(page + 2);
    default:
        fail_msg("a page of type %u", page[0]);
        return 0;
    }
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
    enum sirix_status status = __real_sirix_segment_get(reader, address, min_len, out_bytes, err);

    looks++;
    if (status == SIRIX_OK && looked_at != NULL) {
        assert_int_equal(sirix_map_put(looked_at, address, page_bytes(*out_bytes), NULL), SIRIX_OK);
    }
    return status;
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

/* What reading all of a document took. */
struct work {
    uint64_t looks; /* Into segments. */
    uint64_t pages; /* That were looked at, each counted once. */
    uint64_t bytes; /* Of them, as they lie in their segments. */
};

/* The whole document of main's head: every page that it consists of is asked for. */
static char *scan(struct fixture *f, struct work *out_work)
{
    struct sirix_view view;
    struct sirix_map map;
    size_t cursor = 0;
    uint64_t address = 0;
    uint64_t bytes = 0;

    fixture_head(f, &view);
    sirix_map_init(&map);
    looked_at = &map;
    looks = 0;
    char *text = text_of_view(f, &view, 0);
    looked_at = NULL;
    *out_work = (struct work){.looks = looks};
    while (sirix_map_next(&map, &cursor, &address, &bytes)) {
        out_work->pages++;
        out_work->bytes += sirix_page_padded(bytes);
    }
    sirix_map_deinit(&map);
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

    return text == NULL ? ROUNDS : strtoull(text, NULL, 10);
}

static void
rounds_of_branches_leave_a_document_as_small_and_quick_to_read_as_an_import(void **state)
{
    struct fixture *f = *state;
    struct fixture bulk;
    uint64_t rounds = rounds_wanted();
    struct work by_rounds = {0};
    struct work by_import = {0};

    import_text(f, "[]");
    uint64_t bytes = segment_bytes(f);
    for (uint64_t i = 0; i < rounds; i++) {
        live_once(f, i);
    }
    bytes = (segment_bytes(f) - bytes) / rounds;
    print_message("%llu rounds: %llu bytes a round\n", (unsigned long long)rounds,
                  (unsigned long long)bytes);
    char *text = scan(f, &by_rounds);
    fixture_open(&bulk);
    import_text(&bulk, text);
    char *again = scan(&bulk, &by_import);
    print_message("%llu looks at %llu pages of %llu bytes, after an import %llu at %llu of %llu\n",
                  (unsigned long long)by_rounds.looks, (unsigned long long)by_rounds.pages,
                  (unsigned long long)by_rounds.bytes, (unsigned long long)by_import.looks,
                  (unsigned long long)by_import.pages, (unsigned long long)by_import.bytes);
    assert_string_equal(again, text);
    assert_true(by_import.looks != 0 && by_rounds.looks <= 2 * by_import.looks);
    assert_true(by_import.bytes != 0 && by_rounds.bytes <= 2 * by_import.bytes);
    assert_true(bytes <= ROUND_BYTES_MAX);
    free(text);
    free(again);
    fixture_close(&bulk);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(
            rounds_of_branches_leave_a_document_as_small_and_quick_to_read_as_an_import, set_up,
            tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
