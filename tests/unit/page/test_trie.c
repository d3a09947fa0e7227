/*
 * The trie case by case: the edges of leaves, what an edit writes and what it does not, what is read
 * and what is not, and damage.
 *
 * Reads of segments are counted at the linker (--wrap=sirix_segment_get).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "page_fixture.h"

static uint32_t segment_gets;

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
    segment_gets++;
    return __real_sirix_segment_get(reader, address, min_len, out_bytes, err);
}

/* --- Fixture --------------------------------------------------------------------------------- */

static int setup(void **state)
{
    static struct store store;

    store_open(&store, 1);
    *state = &store;
    return 0;
}

static int teardown(void **state)
{
    store_close(*state);
    return 0;
}

static struct sirix_trie_edit *edit_of(struct store *store, struct sirix_trie trie)
{
    struct sirix_trie_edit *edit = NULL;

    assert_int_equal(sirix_trie_edit_new(store->reader, trie, &edit, NULL), SIRIX_OK);
    return edit;
}

static void put(struct sirix_trie_edit *edit, uint64_t key, uint32_t width, const char *text)
{
    uint8_t place[600];

    assert_int_equal(sirix_trie_edit_put(edit, key, width, text_record(width, text, place), NULL),
                     SIRIX_OK);
}

static void remove_keys(struct sirix_trie_edit *edit, uint64_t first, uint64_t last)
{
    assert_int_equal(sirix_trie_edit_remove(edit, first, last, NULL), SIRIX_OK);
}

/* Writes, publishes and frees the edit. */
static struct sirix_trie publish(struct store *store, struct sirix_trie_edit *edit,
                                 uint64_t *out_page_bytes)
{
    struct sirix_page_writer *writer = store_writer(store, 0);
    struct sirix_trie trie = {0};
    uint64_t page_bytes = 0;

    assert_int_equal(sirix_trie_edit_write(edit, writer, &trie, NULL), SIRIX_OK);
    sirix_trie_edit_free(edit);
    page_bytes = store_publish(store, writer);
    if (out_page_bytes != NULL) {
        *out_page_bytes = page_bytes;
    }
    return trie;
}

/* A trie with a number at each of the keys first, first + step, ... */
static struct sirix_trie build(struct store *store, struct sirix_trie base, uint64_t first,
                               uint64_t count, uint64_t step)
{
    struct sirix_trie_edit *edit = edit_of(store, base);

    for (uint64_t i = 0; i < count; i++) {
        char text[24];
        (void)snprintf(text, sizeof(text), "%u", (unsigned)i);
        put(edit, first + i * step, 1, text);
    }
    return publish(store, edit, NULL);
}

static struct sirix_row row_at(struct store *store, struct sirix_trie trie, uint64_t key)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    status = sirix_trie_get(&cursor, key, &row, NULL);
    assert_true(status == SIRIX_OK || status == SIRIX_NOT_FOUND);
    return row;
}

static uint64_t count_rows(struct store *store, struct sirix_trie trie)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};
    uint64_t count = 0;

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    for (uint64_t key = 0; sirix_trie_next(&cursor, key, &row, NULL) == SIRIX_OK;
         key = row.key + row.width) {
        count++;
    }
    return count;
}

static uint64_t count_differences(struct store *store, struct sirix_trie a, struct sirix_trie b)
{
    struct sirix_trie_compare compare;
    struct sirix_row row_a = {0};
    struct sirix_row row_b = {0};
    uint64_t count = 0;

    sirix_trie_compare_init(&compare, store->reader, a, store->reader, b);
    while (sirix_trie_compare_next(&compare, &row_a, &row_b, NULL) == SIRIX_OK) {
        count++;
    }
    return count;
}

/* --- A pair of keys at and inside the edge of a leaf ------------------------------------------- */

enum pair {
    NOTHING,
    FIRST,  /* A row at k. */
    SECOND, /* A row at k + 1. */
    BOTH,   /* One at each. */
    FUSED,  /* One row for both. */
    PAIRS,
};

static void make_pair(struct sirix_trie_edit *edit, uint64_t key, enum pair now, enum pair wanted)
{
    bool first = wanted == FIRST || wanted == BOTH;
    bool second = wanted == SECOND || wanted == BOTH;

    if ((now == SECOND || now == BOTH) && !second) {
        remove_keys(edit, key + 1, key + 1);
    }
    if (now != NOTHING && now != SECOND && !first && wanted != FUSED) {
        remove_keys(edit, key, key);
    }
    if (first) {
        put(edit, key, 1, "first");
    }
    if (second) {
        put(edit, key + 1, 1, "second");
    }
    if (wanted == FUSED) {
        put(edit, key, 2, "fused");
    }
}

static void assert_key(const struct sirix_row *row, uint64_t key, uint32_t width, const char *text)
{
    uint8_t place[64];

    if (text == NULL) {
        assert_null(row->record.data);
        return;
    }
    assert_int_equal(row->key, key);
    assert_int_equal(row->width, width);
    assert_true(sirix_bytes_equal(row->record, text_record(width, text, place)));
}

static void assert_pair(const struct sirix_row *first, const struct sirix_row *second, uint64_t key,
                        enum pair pair)
{
    if (pair == FUSED) {
        assert_key(first, key, 2, "fused");
        assert_key(second, key, 2, "fused");
        return;
    }
    assert_key(first, key, 1, pair == FIRST || pair == BOTH ? "first" : NULL);
    assert_key(second, key + 1, 1, pair == SECOND || pair == BOTH ? "second" : NULL);
}

static void assert_pair_in_edit(struct sirix_trie_edit *edit, uint64_t key, enum pair pair)
{
    struct sirix_row rows[2] = {0};

    for (uint32_t i = 0; i < 2; i++) {
        enum sirix_status status = sirix_trie_edit_get(edit, key + i, &rows[i], NULL);
        assert_true(status == SIRIX_OK || status == SIRIX_NOT_FOUND);
    }
    assert_pair(&rows[0], &rows[1], key, pair);
}

static void assert_pair_stored(struct store *store, struct sirix_trie trie, uint64_t key,
                               enum pair pair)
{
    struct sirix_row first = row_at(store, trie, key);
    struct sirix_row second = row_at(store, trie, key + 1);

    assert_pair(&first, &second, key, pair);
}

/* More rows in the leaves around the pair, so that they exist, or none. */
static void make_company(struct sirix_trie_edit *edit, uint64_t key, uint32_t company)
{
    if ((company & 1) != 0) {
        for (uint64_t i = 3; i < 40; i++) {
            put(edit, key - i, 1, "before");
        }
    }
    if ((company & 2) != 0) {
        for (uint64_t i = 3; i < 40; i++) {
            put(edit, key + i, 1, "behind");
        }
    }
}

static void check_pair_change(struct store *store, uint64_t key, uint32_t company, enum pair from,
                              enum pair to)
{
    struct sirix_trie_edit *edit = edit_of(store, (struct sirix_trie){0});
    struct sirix_trie before = {0};
    struct sirix_trie after = {0};

    make_company(edit, key, company);
    make_pair(edit, key, NOTHING, from);
    assert_pair_in_edit(edit, key, from);
    before = publish(store, edit, NULL);
    assert_pair_stored(store, before, key, from);

    edit = edit_of(store, before);
    assert_pair_in_edit(edit, key, from);
    make_pair(edit, key, from, to);
    assert_pair_in_edit(edit, key, to);
    after = publish(store, edit, NULL);
    assert_pair_stored(store, after, key, to);
    assert_pair_stored(store, before, key, from);
    assert_true((count_differences(store, before, after) == 0) == (from == to));
}

static void a_pair_of_keys_changes_from_any_form_to_any_at_any_edge(void **state)
{
    /* Inside a leaf, over the edge of a leaf, of a page of 16 leaves, and of a page of 256. */
    const uint64_t keys[] = {500, 64 * 3 - 1, 64 * 16 - 1, UINT64_C(64) * 256 - 1};

    for (size_t k = 0; k < sizeof(keys) / sizeof(keys[0]); k++) {
        for (uint32_t i = 0; i < 4 * PAIRS * PAIRS; i++) {
            check_pair_change(*state, keys[k], i / (PAIRS * PAIRS), (enum pair)(i / PAIRS % PAIRS),
                              (enum pair)(i % PAIRS));
        }
    }
}

/* The same changes one behind another in one edit, where no page says anything yet. */
static void a_pair_of_keys_changes_within_one_edit(void **state)
{
    for (uint32_t company = 0; company < 4; company++) {
        struct sirix_trie_edit *edit = edit_of(*state, (struct sirix_trie){0});
        struct dice dice = {.state = company};
        enum pair now = NOTHING;
        make_company(edit, 1023, company);
        for (uint32_t i = 0; i < 300; i++) {
            enum pair next = (enum pair)dice_below(&dice, PAIRS);
            make_pair(edit, 1023, now, next);
            assert_pair_in_edit(edit, 1023, next);
            now = next;
        }
        assert_pair_stored(*state, publish(*state, edit, NULL), 1023, now);
    }
}

static void a_removed_range_takes_a_straddling_row_with_it_only_if_it_begins_inside(void **state)
{
    struct sirix_trie_edit *edit = edit_of(*state, (struct sirix_trie){0});
    struct sirix_trie trie = {0};
    struct sirix_trie without = {0};

    put(edit, 127, 2, "fused");
    put(edit, 130, 1, "behind");
    trie = publish(*state, edit, NULL);

    edit = edit_of(*state, trie);
    remove_keys(edit, 128, 191);
    assert_pair_in_edit(edit, 127, FUSED);
    assert_pair_stored(*state, publish(*state, edit, NULL), 127, FUSED);

    edit = edit_of(*state, trie);
    remove_keys(edit, 64, 127);
    assert_pair_in_edit(edit, 127, NOTHING);
    put(edit, 128, 1, "second");
    without = publish(*state, edit, NULL);
    assert_pair_stored(*state, without, 127, SECOND);
    assert_int_equal(count_rows(*state, without), 2);
}

/* --- What is written ------------------------------------------------------------------------- */

static void an_edit_without_a_difference_writes_nothing(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 500, 1);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    uint64_t page_bytes = 1;
    struct sirix_trie trie = {0};

    assert_false(sirix_trie_edit_dirty(edit));
    put(edit, 7, 1, "7"); /* What is there already. */
    assert_false(sirix_trie_edit_dirty(edit));
    put(edit, 9, 1, "other");
    put(edit, 9, 1, "9");
    put(edit, 100000, 1, "far away");
    remove_keys(edit, 99000, 200000);
    remove_keys(edit, 499, 499);
    put(edit, 499, 1, "499");
    trie = publish(*state, edit, &page_bytes);

    assert_int_equal(page_bytes, 0);
    assert_int_equal(trie.root, base.root);
    assert_int_equal(trie.height, base.height);
}

static void an_emptied_trie_has_no_root(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 50, 1000);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    uint64_t page_bytes = 1;
    struct sirix_trie trie = {0};

    remove_keys(edit, 0, UINT64_MAX);
    assert_true(sirix_trie_edit_dirty(edit));
    trie = publish(*state, edit, &page_bytes);

    assert_int_equal(trie.root, 0);
    assert_int_equal(trie.height, 0);
    assert_int_equal(page_bytes, 0);
    assert_int_equal(count_rows(*state, trie), 0);
}

static void height_grows_as_needed_and_no_more(void **state)
{
    const struct {
        uint64_t key;
        uint32_t height;
    } cases[] = {
        {0, 0},
        {63, 0},
        {64, 1},
        {1023, 1},
        {1024, 2},
        {(UINT64_C(1) << 30) - 1, 6},
        {UINT64_C(1) << 30, 7},
        {SIRIX_KEY_MAX, 14},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_trie trie = build(*state, (struct sirix_trie){0}, cases[i].key, 1, 1);
        struct sirix_trie more = build(*state, trie, 5, 1, 1);
        assert_int_equal(trie.height, cases[i].height);
        assert_int_equal(more.height, cases[i].height);
        assert_int_equal(count_rows(*state, more), 2);
        assert_int_equal(count_differences(*state, trie, more), 1);
    }
}

static void a_key_past_the_last_is_refused(void **state)
{
    struct sirix_trie_edit *edit = edit_of(*state, (struct sirix_trie){0});
    struct sirix_row row;
    uint8_t place[8];

    assert_int_equal(
        sirix_trie_edit_put(edit, SIRIX_KEY_MAX + 1, 1, text_record(1, "x", place), NULL),
        SIRIX_EXHAUSTED);
    assert_int_equal(sirix_trie_edit_put(edit, SIRIX_KEY_MAX, 2, text_record(2, "x", place), NULL),
                     SIRIX_EXHAUSTED);
    assert_int_equal(sirix_trie_edit_get(edit, UINT64_MAX, &row, NULL), SIRIX_NOT_FOUND);
    put(edit, SIRIX_KEY_MAX, 1, "last");
    sirix_trie_edit_free(edit);
}

/* The type of the page that holds a key. */
static uint8_t leaf_type(struct store *store, struct sirix_trie trie, uint64_t key)
{
    struct sirix_trie_cursor cursor;
    struct sirix_bytes bytes = {0};
    uint64_t address = 0;

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    assert_int_equal(sirix_trie_leaf_address(&cursor, key, &address, NULL), SIRIX_OK);
    assert_int_not_equal(address, 0);
    assert_int_equal(sirix_segment_get(store->reader, address, 1, &bytes, NULL), SIRIX_OK);
    return *(const uint8_t *)bytes.data;
}

static void eight_changed_rows_are_a_delta_and_nine_a_full_leaf(void **state)
{
    struct sirix_trie trie = {0};
    struct sirix_trie_edit *edit = edit_of(*state, trie);
    uint64_t page_bytes = 0;

    for (uint64_t key = 0; key < 64; key++) {
        put(edit, key, 1, "a number of some length");
    }
    trie = publish(*state, edit, NULL);
    assert_int_equal(leaf_type(*state, trie, 0), SIRIX_PAGE_LEAF);
    for (uint64_t change = 1; change <= 9; change++) {
        edit = edit_of(*state, trie);
        put(edit, change * 7, 1, "new");
        trie = publish(*state, edit, &page_bytes);
        assert_int_equal(leaf_type(*state, trie, 0),
                         change <= SIRIX_DELTA_ROWS_MAX ? SIRIX_PAGE_LEAF_DELTA : SIRIX_PAGE_LEAF);
        assert_true(page_bytes < 100 || change == 9);
    }
    assert_int_equal(count_rows(*state, trie), 64);
}

static void a_delta_is_at_most_half_of_its_base(void **state)
{
    struct sirix_trie trie = build(*state, (struct sirix_trie){0}, 0, 10, 1);
    struct sirix_trie_edit *edit = edit_of(*state, trie);

    put(edit, 3, 1, "a text that is longer than half of the leaf of ten short rows");
    trie = publish(*state, edit, NULL);

    assert_int_equal(leaf_type(*state, trie, 0), SIRIX_PAGE_LEAF);
}

static void a_delta_is_smaller_than_the_full_leaf(void **state)
{
    struct sirix_trie_edit *edit = edit_of(*state, (struct sirix_trie){0});
    struct sirix_trie trie = {0};

    put(edit, 0, 1, "1");
    for (uint64_t key = 1; key < 9; key++) {
        put(edit, key, 1, "a number of some length");
    }
    trie = publish(*state, edit, NULL);
    edit = edit_of(*state, trie);
    remove_keys(edit, 1, 8); /* Eight holes would take more than the one row that is left. */
    trie = publish(*state, edit, NULL);

    assert_int_equal(leaf_type(*state, trie, 0), SIRIX_PAGE_LEAF);
}

static void rows_taken_back_leave_a_delta(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 60, 1);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    struct sirix_trie trie = {0};

    put(edit, 3, 1, "x");
    put(edit, 4, 1, "y");
    trie = publish(*state, edit, NULL);
    edit = edit_of(*state, trie);
    remove_keys(edit, 20, 22);
    put(edit, 3, 1, "3"); /* As in the base. */
    trie = publish(*state, edit, NULL);

    assert_int_equal(leaf_type(*state, trie, 0), SIRIX_PAGE_LEAF_DELTA);
    assert_int_equal(count_rows(*state, trie), 57);
    assert_int_equal(count_differences(*state, base, trie), 4);
}

/* --- What is read ---------------------------------------------------------------------------- */

static void removing_a_large_range_reads_only_its_edges(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 30000, 7);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    uint64_t page_bytes = 0;
    struct sirix_trie trie = {0};

    segment_gets = 0;
    remove_keys(edit, 1001, 200000);
    trie = publish(*state, edit, &page_bytes);

    assert_true(segment_gets < 100);
    assert_true(page_bytes < 4096);
    assert_int_equal(count_rows(*state, trie), 30000 - 28572 + 143);
}

static enum sirix_status status_in_edit(struct sirix_trie_edit *edit, uint64_t key)
{
    struct sirix_row row;

    return sirix_trie_edit_get(edit, key, &row, NULL);
}

/* The look-ups before leave the edit's cursor standing in what goes, or comes. */
static void keys_of_a_removed_page_are_gone_at_once(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 5000, 1);
    struct sirix_trie_edit *edit = edit_of(*state, base);

    assert_int_equal(status_in_edit(edit, 2100), SIRIX_OK);
    remove_keys(edit, 2048, 3071); /* A page of 16 leaves. */
    assert_int_equal(status_in_edit(edit, 2100), SIRIX_NOT_FOUND);
    assert_int_equal(status_in_edit(edit, 2047), SIRIX_OK);
    assert_int_equal(status_in_edit(edit, 3072), SIRIX_OK);
    remove_keys(edit, 3072, 3135); /* A leaf. */
    assert_int_equal(status_in_edit(edit, 3072), SIRIX_NOT_FOUND);
    assert_int_equal(status_in_edit(edit, 4500), SIRIX_OK);
    remove_keys(edit, 4096, 5119); /* The last page: nothing behind it is looked at. */
    assert_int_equal(status_in_edit(edit, 4500), SIRIX_NOT_FOUND);
    assert_int_equal(status_in_edit(edit, 4501), SIRIX_NOT_FOUND);
    sirix_trie_edit_free(edit);
}

static void keys_of_a_grafted_page_are_there_at_once(void **state)
{
    const uint64_t first = 5760; /* Of leaf 90. */
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 5000, 1);
    struct sirix_trie other = build(*state, (struct sirix_trie){0}, first, 10, 1);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    struct sirix_trie_cursor cursor;
    uint64_t address = 0;

    sirix_trie_cursor_init(&cursor, ((struct store *)*state)->reader, other);
    assert_int_equal(sirix_trie_leaf_address(&cursor, first, &address, NULL), SIRIX_OK);
    assert_int_equal(status_in_edit(edit, first + 3), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_trie_edit_graft(edit, 0, 90, address, NULL), SIRIX_OK);
    assert_int_equal(status_in_edit(edit, first + 3), SIRIX_OK);
    assert_int_equal(count_rows(*state, publish(*state, edit, NULL)), 5010);
}

static void comparing_reads_only_what_differs(void **state)
{
    struct sirix_trie base = build(*state, (struct sirix_trie){0}, 0, 60000, 1);
    struct sirix_trie_edit *edit = edit_of(*state, base);
    struct sirix_trie trie = {0};

    put(edit, 33333, 1, "changed");
    trie = publish(*state, edit, NULL);

    segment_gets = 0;
    assert_int_equal(count_differences(*state, base, base), 0);
    assert_int_equal(segment_gets, 0);
    assert_int_equal(count_differences(*state, base, trie), 1);
    /* Three inner pages of each, the leaf, the delta and its base. */
    assert_true(segment_gets <= 2 * 3 + 3);
}

static void neighbours_are_read_without_another_page(void **state)
{
    struct sirix_trie trie = build(*state, (struct sirix_trie){0}, 0, 5000, 1);
    struct sirix_trie_cursor cursor;
    struct sirix_row row;

    sirix_trie_cursor_init(&cursor, ((struct store *)*state)->reader, trie);
    assert_int_equal(sirix_trie_get(&cursor, 640, &row, NULL), SIRIX_OK);
    segment_gets = 0;
    for (uint64_t key = 640; key < 704; key++) {
        assert_int_equal(sirix_trie_get(&cursor, key, &row, NULL), SIRIX_OK);
    }
    assert_int_equal(segment_gets, 0);
    assert_int_equal(sirix_trie_get(&cursor, 704, &row, NULL), SIRIX_OK);
    assert_int_equal(segment_gets, 1); /* The next leaf of the same page. */
}

/* --- Bulk ------------------------------------------------------------------------------------ */

enum { SPARSE_ROWS = 4000, HELD_MAX = 20 };

struct sparse {
    struct sirix_trie_bulk *bulk;
    struct dice dice;
    uint64_t held[HELD_MAX];
    uint32_t held_count;
    uint64_t key; /* Of the last row. */
};

static void put_held(struct sparse *sparse)
{
    uint8_t place[8];
    uint64_t key = sparse->held[--sparse->held_count];

    assert_int_equal(sirix_trie_bulk_put(sparse->bulk, key, 1, text_record(1, "held", place), NULL),
                     SIRIX_OK);
}

/*
 * Rows far apart, so that whole pages of several levels stay without rows, rows held back over all of
 * that, and settling now and then: before a row, behind it, or not at all.
 */
static void build_sparse(struct sparse *sparse, uint32_t settle_percent)
{
    static const uint32_t steps[] = {1, 1, 2, 40, 40, 40, 900, 900, 9000, 70000};
    uint8_t place[8];

    for (uint32_t row = 0; row < SPARSE_ROWS; row++) {
        uint32_t kind = dice_below(&sparse->dice, 40);
        sparse->key += 1 + dice_below(&sparse->dice, steps[dice_below(&sparse->dice, 10)]);
        if (dice_below(&sparse->dice, 100) < settle_percent) {
            assert_int_equal(sirix_trie_bulk_settle(sparse->bulk, sparse->key, NULL), SIRIX_OK);
        }
        if (kind == 0 && sparse->held_count < HELD_MAX) {
            sparse->held[sparse->held_count++] = sparse->key;
            assert_int_equal(sirix_trie_bulk_hold(sparse->bulk, sparse->key, NULL), SIRIX_OK);
        } else {
            assert_int_equal(sirix_trie_bulk_put(sparse->bulk, sparse->key, 1,
                                                 text_record(1, "row", place), NULL),
                             SIRIX_OK);
        }
        if (dice_below(&sparse->dice, 100) < settle_percent) {
            assert_int_equal(sirix_trie_bulk_settle(sparse->bulk, sparse->key + 1, NULL), SIRIX_OK);
        }
        if (kind == 1 && sparse->held_count != 0) {
            put_held(sparse);
        }
    }
    while (sparse->held_count != 0) {
        put_held(sparse);
    }
}

/* Each graft lies in the range that was built; as few as can be. */
static void assert_grafts_fit(const struct sirix_trie_graft *grafts, size_t count, uint64_t first,
                              uint64_t last)
{
    uint64_t end = 0;

    for (size_t i = 0; i < count; i++) {
        uint32_t bits = SIRIX_LEAF_BITS + SIRIX_INNER_BITS * grafts[i].level;
        assert_true(grafts[i].index << bits >= first);
        assert_true(grafts[i].index << bits >= end);
        end = (grafts[i].index + 1) << bits;
        assert_true(end <= (last | 63) + 1);
    }
    assert_true(count <= 180); /* 15 at either end of each of 6 levels. */
}

static void a_sparse_bulk_build_reads_back(void **state)
{
    static const uint32_t settle_percents[] = {100, 50, 5, 0};

    for (uint64_t seed = 1; seed <= 24; seed++) {
        const uint64_t first = seed % 3 * 64 * 5;
        struct sirix_page_writer *writer = store_writer(*state, 0);
        struct sparse sparse = {.dice = {.state = seed}, .key = first};
        struct sirix_trie_graft *grafts = NULL;
        struct sirix_trie_edit *edit = NULL;
        struct sirix_trie trie = {0};
        size_t count = 0;

        assert_int_equal(sirix_trie_bulk_new(writer, first, &sparse.bulk, NULL), SIRIX_OK);
        build_sparse(&sparse, settle_percents[seed % 4]);
        assert_int_equal(sirix_trie_bulk_finish(sparse.bulk, &grafts, &count, NULL), SIRIX_OK);
        sirix_trie_bulk_free(sparse.bulk);
        (void)store_publish(*state, writer);
        assert_grafts_fit(grafts, count, first, sparse.key);
        edit = edit_of(*state, (struct sirix_trie){0});
        for (size_t i = 0; i < count; i++) {
            assert_int_equal(sirix_trie_edit_graft(edit, grafts[i].level, grafts[i].index,
                                                   grafts[i].address, NULL),
                             SIRIX_OK);
        }
        free(grafts);
        trie = publish(*state, edit, NULL);
        assert_int_equal(count_rows(*state, trie), SPARSE_ROWS);
        assert_non_null(row_at(*state, trie, sparse.key).record.data);
    }
}

static void a_bulk_build_without_rows_gives_nothing(void **state)
{
    struct sirix_page_writer *writer = store_writer(*state, 0);
    struct sirix_trie_graft *grafts = NULL;
    struct sirix_trie_bulk *bulk = NULL;
    size_t count = 9;

    assert_int_equal(sirix_trie_bulk_new(writer, 640, &bulk, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_bulk_settle(bulk, 64000, NULL), SIRIX_OK);
    assert_int_equal(sirix_trie_bulk_finish(bulk, &grafts, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 0);
    assert_null(grafts);
    sirix_trie_bulk_free(bulk);
    sirix_page_writer_free(writer);
}

/* --- Damage ---------------------------------------------------------------------------------- */

/* Stores one page as it is given and returns its address. */
static uint64_t store_page(struct store *store, const void *bytes, size_t len)
{
    struct sirix_page_writer *writer = store_writer(store, 0);
    uint64_t address = 0;
    uint8_t *place = NULL;

    assert_int_equal(sirix_page_writer_alloc(writer, len, &address, &place, NULL), SIRIX_OK);
    memcpy(place, bytes, len);
    (void)store_publish(store, writer);
    return address;
}

static uint64_t store_inner(struct store *store, uint32_t level, uint64_t index, uint32_t slot,
                            uint64_t child)
{
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};
    uint8_t page[SIRIX_INNER_BYTES_MAX];

    children[slot] = child;
    sirix_inner_encode(children, level, index, page);
    return store_page(store, page, sirix_inner_size(children));
}

static void assert_damaged(struct store *store, struct sirix_trie trie, uint64_t key)
{
    struct sirix_trie_cursor cursor;
    struct sirix_trie_compare compare;
    struct sirix_trie_edit *edit = edit_of(store, trie);
    struct sirix_page_writer *writer = store_writer(store, 0);
    struct sirix_row row = {0};
    struct sirix_row other = {0};
    struct sirix_error err = {0};
    uint8_t place[8];

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    assert_int_equal(sirix_trie_get(&cursor, key, &row, &err), SIRIX_CORRUPT);
    assert_int_equal(sirix_trie_get(&cursor, key, &row, &err), SIRIX_CORRUPT);
    assert_non_null(strstr(err.text, "segment"));
    assert_int_equal(sirix_trie_next(&cursor, 0, &row, &err), SIRIX_CORRUPT);
    sirix_trie_compare_init(&compare, store->reader, trie, store->reader, (struct sirix_trie){0});
    assert_int_equal(sirix_trie_compare_next(&compare, &row, &other, &err), SIRIX_CORRUPT);
    assert_int_equal(sirix_trie_edit_get(edit, key, &row, &err), SIRIX_CORRUPT);
    assert_int_equal(sirix_trie_edit_put(edit, key, 1, text_record(1, "x", place), &err),
                     SIRIX_CORRUPT);
    sirix_trie_edit_free(edit);
    sirix_page_writer_free(writer);
}

static void damaged_pages_are_refused_by_every_door(void **state)
{
    static const uint8_t other_type[24] = {9};
    static const uint8_t rows_miscounted[24] = {2, 0, 5, 0, 3, 0, 0, 0, 0,  0,
                                                0, 0, 0, 0, 0, 0, 2, 4, '7'};
    static const uint8_t no_base[16] = {3, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    struct store *store = *state;
    uint64_t leaf = store_page(store, rows_miscounted, sizeof(rows_miscounted));
    static const uint8_t zero_child[24] = {1, 1, 1};
    const struct sirix_trie tries[] = {
        {.root = store_page(store, other_type, sizeof(other_type)), .height = 0},
        {.root = store_page(store, other_type, sizeof(other_type)), .height = 1},
        {.root = leaf, .height = 0},
        {.root = store_page(store, no_base, sizeof(no_base)), .height = 0},
        {.root = sirix_address_make(1 << 20, 16), .height = 1},
        {.root = store_inner(store, 2, 0, 0, leaf), .height = 1},
        {.root = store_inner(store, 1, 5, 0, leaf), .height = 1},
        {.root = store_inner(store, 2, 0, 0, store_inner(store, 1, 1, 0, leaf)), .height = 2},
        {.root = store_inner(store, 1, 0, 0, leaf), .height = 1},
        {.root = store_page(store, zero_child, sizeof(zero_child)), .height = 1},
    };

    for (size_t i = 0; i < sizeof(tries) / sizeof(tries[0]); i++) {
        assert_damaged(store, tries[i], 1);
    }
}

static void a_trie_that_is_too_high_is_refused(void **state)
{
    const struct sirix_trie trie = {.root = sirix_address_make(1, 16), .height = 15};
    struct store *store = *state;
    struct sirix_trie_cursor cursor;
    struct sirix_trie_compare compare;
    struct sirix_trie_edit *edit = NULL;
    struct sirix_row row;
    struct sirix_row other;

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    assert_int_equal(sirix_trie_get(&cursor, 1, &row, NULL), SIRIX_CORRUPT);
    assert_int_equal(sirix_trie_next(&cursor, 1, &row, NULL), SIRIX_CORRUPT);
    sirix_trie_compare_init(&compare, store->reader, trie, store->reader, (struct sirix_trie){0});
    assert_int_equal(sirix_trie_compare_next(&compare, &row, &other, NULL), SIRIX_CORRUPT);
    assert_int_equal(sirix_trie_edit_new(store->reader, trie, &edit, NULL), SIRIX_CORRUPT);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(a_pair_of_keys_changes_from_any_form_to_any_at_any_edge),
        TEST(a_pair_of_keys_changes_within_one_edit),
        TEST(a_removed_range_takes_a_straddling_row_with_it_only_if_it_begins_inside),
        TEST(an_edit_without_a_difference_writes_nothing),
        TEST(an_emptied_trie_has_no_root),
        TEST(height_grows_as_needed_and_no_more),
        TEST(a_key_past_the_last_is_refused),
        TEST(eight_changed_rows_are_a_delta_and_nine_a_full_leaf),
        TEST(a_delta_is_at_most_half_of_its_base),
        TEST(a_delta_is_smaller_than_the_full_leaf),
        TEST(rows_taken_back_leave_a_delta),
        TEST(removing_a_large_range_reads_only_its_edges),
        TEST(keys_of_a_removed_page_are_gone_at_once),
        TEST(keys_of_a_grafted_page_are_there_at_once),
        TEST(comparing_reads_only_what_differs),
        TEST(neighbours_are_read_without_another_page),
        TEST(a_sparse_bulk_build_reads_back),
        TEST(a_bulk_build_without_rows_gives_nothing),
        TEST(damaged_pages_are_refused_by_every_door),
        TEST(a_trie_that_is_too_high_is_refused),
    };
#undef TEST
    return cmocka_run_group_tests_name("trie", tests, NULL, NULL);
}
