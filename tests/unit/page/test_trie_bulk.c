/* The trie built in bulk, and damage. */
#include "trie_fixture.h"

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
        TEST(a_sparse_bulk_build_reads_back),
        TEST(a_bulk_build_without_rows_gives_nothing),
        TEST(damaged_pages_are_refused_by_every_door),
        TEST(a_trie_that_is_too_high_is_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
