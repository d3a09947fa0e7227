/* The trie case by case: the edges of leaves, what an edit writes and what it does not, what is read
 * and what is not. */
#include "trie_fixture.h"

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
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
