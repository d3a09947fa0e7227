/* Full leaves, deltas and inner pages as bytes: what is written, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "page_fixture.h"

enum { ADDRESS = 0x200002, BASE = 0x400002, INDEX = 5, PAGE_BYTES_MAX = 70 * 1024 };

static uint8_t page[PAGE_BYTES_MAX];
static uint8_t delta[PAGE_BYTES_MAX];

static void assert_bytes(const uint8_t *got, size_t got_len, const char *expected, size_t len)
{
    assert_int_equal(got_len, len);
    assert_memory_equal(got, expected, len);
}

static void set(struct sirix_leaf_rows *rows, uint32_t slot, const char *record)
{
    rows->begins |= sirix_slot_bit(slot);
    rows->records[slot] = (struct sirix_bytes){record, strlen(record)};
}

static void a_leaf_is_laid_out_as_the_format_says(void **state)
{
    struct sirix_leaf_rows rows = {.begins = 0};
    static const char expected[] =
        "\x02\x00\x03\x00\x0c\x00\x00\x00\x40\x01\x00\x00\x00\x00\x00\x00"
        "\x02\x06!"
        "\x00\x03"
        "\x03\x0d??"
        "\x02\x07!";

    (void)state;
    set(&rows, 0, "\x06!");
    set(&rows, 4, "\x0d??"); /* Fused: slots 4 and 5. */
    set(&rows, 6, "\x07!");
    memset(page, 0, sizeof(page));
    sirix_leaf_encode(&rows, INDEX, page);

    assert_bytes(page, sirix_leaf_size(&rows), expected, sizeof(expected) - 1);
}

static void a_leaf_that_is_carried_into_begins_at_its_second_slot(void **state)
{
    struct sirix_leaf_rows rows = {.carries_in = true};
    static const char expected[] =
        "\x02\x01\x01\x00\x03\x00\x00\x00\x40\x01\x00\x00\x00\x00\x00\x00"
        "\x02\x06!";

    (void)state;
    set(&rows, 1, "\x06!");
    memset(page, 0, sizeof(page));
    sirix_leaf_encode(&rows, INDEX, page);

    assert_bytes(page, sirix_leaf_size(&rows), expected, sizeof(expected) - 1);
}

static void a_delta_is_laid_out_as_the_format_says(void **state)
{
    struct sirix_leaf_rows rows = {.begins = 0};
    static const char expected[] =
        "\x03\x00\x02\x00\x06\x00\x00\x00\x02\x00\x40\x00\x00\x00\x00\x00"
        "\x03\x02\x06!"
        "\x3f\x00";

    (void)state;
    set(&rows, 3, "\x06!");
    set(&rows, 9, "\x07!");
    sirix_delta_encode(&rows, sirix_slot_bit(3) | sirix_slot_bit(63), BASE, delta);

    assert_bytes(delta, sirix_delta_size(&rows, sirix_slot_bit(3) | sirix_slot_bit(63)), expected,
                 sizeof(expected) - 1);
}

static void an_inner_page_is_laid_out_as_the_format_says(void **state)
{
    uint64_t children[SIRIX_INNER_CHILDREN] = {0};
    static const char expected[] = "\x01\x03\x04\x84\x34\x12\x00\x00"
                                   "\x03\x00\xe0\x00\x00\x00\x00\x00"
                                   "\x03\x02\x00\x00\x00\x00\x00\x00"
                                   "\xff\xff\x3f"
                                   "\x01\x01";

    (void)state;
    children[2] = sirix_address_make(9, 16);
    children[10] = sirix_address_make(7, 24);
    children[15] = sirix_address_make(7, 24 + 8 * 257);
    sirix_inner_encode(children, 3, 0x1234, page);

    assert_bytes(page, sirix_inner_size(children), expected, sizeof(expected) - 1);
}

static void inner_pages_keep_any_children(void **state)
{
    struct dice dice = {.state = 2};

    (void)state;
    for (uint32_t round = 0; round < 20000; round++) {
        uint64_t children[SIRIX_INNER_CHILDREN] = {0};
        uint64_t again[SIRIX_INNER_CHILDREN];
        struct sirix_bytes bytes = {0};
        uint32_t spread = 1 + dice_below(&dice, 42);
        uint64_t present = dice_roll(&dice) | (round % 2 == 0 ? 0xffff : 1);
        for (uint32_t slot = 0; slot < SIRIX_INNER_CHILDREN; slot++) {
            if ((present >> slot & 1) != 0) {
                children[slot] = sirix_address_make(1 + dice_roll(&dice) % (UINT64_C(1) << spread),
                                                    dice_below(&dice, 1 << 24));
            }
        }
        bytes = (struct sirix_bytes){page, sirix_inner_size(children)};
        assert_true(bytes.len <= SIRIX_INNER_BYTES_MAX);
        sirix_inner_encode(children, 3, round, page);
        assert_int_equal(sirix_inner_check(bytes, 3, round, ADDRESS, NULL), SIRIX_OK);
        assert_int_equal(sirix_inner_children(page, ADDRESS, again, NULL), SIRIX_OK);
        assert_memory_equal(again, children, sizeof(children));
        for (uint32_t slot = 0; slot < SIRIX_INNER_CHILDREN; slot++) {
            assert_int_equal(sirix_inner_child(page, slot), children[slot]);
        }
        bytes.len--;
        assert_int_equal(sirix_inner_check(bytes, 3, round, ADDRESS, NULL), SIRIX_CORRUPT);
    }
}

static void inner_pages_that_break_a_rule_are_refused(void **state)
{
    /* One child at slot 0 and one 257 units behind it at slot 1. */
    static const uint8_t good[26] = {1, 3, 3, 0,    9, 0, 0, 0, 3, 0, 0x20, 0, 0,
                                     0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0, 0,    1, 1};
    const struct {
        const char *why;
        size_t offset;
        uint8_t byte;
    } cases[] = {
        {"other type", 0, 2},
        {"other level", 1, 4},
        {"no children", 2, 0},
        {"more lengths than children", 2, 1},
        {"other index", 4, 8},
        {"base in segment 0", 10, 0},
        {"a length of 9", 16, 0x90},
        {"a page cut off", 16, 0x30},
        {"a length too many", 17, 0x02},
        {"a distance in two bytes where one does", 25, 0},
        {"no child at the base", 16, 0x11},
    };
    uint64_t children[SIRIX_INNER_CHILDREN];

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]) + 1; i++) {
        bool is_good = i == sizeof(cases) / sizeof(cases[0]);
        enum sirix_status status = SIRIX_OK;
        memcpy(page, good, sizeof(good));
        if (!is_good) {
            page[cases[i].offset] = cases[i].byte;
        }
        status = sirix_inner_check((struct sirix_bytes){page, sizeof(good)}, 3, 9, ADDRESS, NULL);
        if (status == SIRIX_OK) {
            status = sirix_inner_children(page, ADDRESS, children, NULL);
        }
        if (status != (is_good ? SIRIX_OK : SIRIX_CORRUPT)) {
            fail_msg("case '%s': got %s", is_good ? "good" : cases[i].why,
                     sirix_status_name(status));
        }
    }
    for (size_t len = 0; len < sizeof(good); len++) {
        struct sirix_bytes bytes = {good, len};
        assert_int_equal(sirix_inner_check(bytes, 3, 9, ADDRESS, NULL), SIRIX_CORRUPT);
    }
}

/* Asks for every slot in the order of step and compares. */
static void assert_view_has(struct sirix_leaf_view *view, const struct sirix_leaf_rows *rows,
                            uint32_t step)
{
    for (uint32_t i = 0; i < SIRIX_LEAF_KEYS; i++) {
        uint32_t slot = i * step % SIRIX_LEAF_KEYS;
        struct sirix_bytes record = {0};
        assert_int_equal(sirix_leaf_view_at(view, slot, &record, NULL), SIRIX_OK);
        if ((rows->begins & sirix_slot_bit(slot)) == 0) {
            assert_null(record.data);
        } else {
            assert_true(sirix_bytes_equal(record, rows->records[slot]));
        }
    }
}

static void assert_view_lists(struct sirix_leaf_view *view, const struct sirix_leaf_rows *rows)
{
    uint32_t slot = 0;

    for (uint64_t left = rows->begins; left != 0; left &= left - 1) {
        assert_int_equal(sirix_leaf_view_next(view, slot, &slot, NULL), SIRIX_OK);
        assert_int_equal(slot, __builtin_ctzll(left));
        slot++;
    }
    assert_int_equal(sirix_leaf_view_next(view, slot, &slot, NULL), SIRIX_OK);
    assert_int_equal(slot, SIRIX_LEAF_KEYS);
}

static void random_rows(struct dice *dice, struct sirix_leaf_rows *rows, uint8_t *bytes)
{
    static const uint32_t densities[] = {2, 10, 50, 95, 100};
    uint32_t density = densities[dice_below(dice, 5)];

    *rows = (struct sirix_leaf_rows){.carries_in = dice_below(dice, 4) == 0};
    for (uint32_t slot = rows->carries_in ? 1 : 0; slot < SIRIX_LEAF_KEYS; slot++) {
        if (dice_below(dice, 100) < density) {
            uint32_t width = 1 + dice_below(dice, 2);
            uint32_t len = 1 + dice_below(dice, dice_below(dice, 20) == 0 ? 600 : 20);
            rows->records[slot] = dice_record(dice, width, bytes, len);
            rows->begins |= sirix_slot_bit(slot);
            bytes += len;
            slot += width - 1;
        }
    }
    if (rows->begins == 0) {
        set(rows, 40, "\x06");
    }
}

static void random_leaves_read_back_in_any_order(void **state)
{
    static uint8_t bytes[SIRIX_LEAF_KEYS * 600];
    struct dice dice = {.state = 3};

    (void)state;
    for (uint32_t round = 0; round < 3000; round++) {
        struct sirix_leaf_rows rows;
        struct sirix_leaf_view view;
        struct sirix_bytes encoded = {0};
        random_rows(&dice, &rows, bytes);
        encoded = (struct sirix_bytes){page, sirix_leaf_size(&rows)};
        assert_true(encoded.len <= sizeof(page));
        sirix_leaf_encode(&rows, INDEX, page);

        assert_int_equal(sirix_leaf_view_init(&view, INDEX, ADDRESS, encoded, NULL), SIRIX_OK);
        assert_int_equal(view.carries_in, rows.carries_in);
        assert_view_has(&view, &rows, 1 + 2 * dice_below(&dice, 32));
        assert_int_equal(sirix_leaf_view_init(&view, INDEX, ADDRESS, encoded, NULL), SIRIX_OK);
        assert_view_lists(&view, &rows);
    }
}

/* What of `rows` is not in `base`, if that is not more than a delta takes. */
static uint64_t difference(const struct sirix_leaf_rows *rows, const struct sirix_leaf_rows *base)
{
    uint64_t changed = rows->begins ^ base->begins;

    for (uint64_t both = rows->begins & base->begins; both != 0; both &= both - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(both);
        if (!sirix_bytes_equal(rows->records[slot], base->records[slot])) {
            changed |= sirix_slot_bit(slot);
        }
    }
    return changed;
}

static void random_deltas_read_as_the_rows_that_they_make(void **state)
{
    static uint8_t bytes[SIRIX_LEAF_KEYS * 600];
    struct dice dice = {.state = 4};
    uint32_t deltas = 0;

    (void)state;
    for (uint32_t round = 0; round < 20000; round++) {
        struct sirix_leaf_rows base;
        struct sirix_leaf_rows rows;
        struct sirix_leaf_view view;
        struct sirix_bytes encoded = {0};
        uint64_t changed = 0;
        random_rows(&dice, &base, bytes);
        rows = base;
        rows.carries_in = (rows.begins & 1) == 0 && dice_below(&dice, 2) == 0;
        for (uint32_t i = dice_below(&dice, 8); i != 0; i--) {
            rows.begins &= ~sirix_slot_bit(dice_below(&dice, SIRIX_LEAF_KEYS));
        }
        if ((rows.begins & (sirix_slot_bit(29) | sirix_slot_bit(30) | sirix_slot_bit(31))) == 0) {
            set(&rows, 30, "\x0e a fused one");
        }
        changed = difference(&rows, &base);
        if (__builtin_popcountll(changed) > SIRIX_DELTA_ROWS_MAX || rows.begins == 0) {
            continue;
        }
        deltas++;
        sirix_leaf_encode(&base, INDEX, page);
        sirix_delta_encode(&rows, changed, BASE, delta);
        encoded = (struct sirix_bytes){delta, sirix_delta_size(&rows, changed)};
        assert_int_equal(sirix_leaf_view_init(&view, INDEX, ADDRESS, encoded, NULL), SIRIX_OK);
        assert_null(view.base);
        assert_int_equal(view.base_address, BASE);
        encoded = (struct sirix_bytes){page, sirix_leaf_size(&base)};
        assert_int_equal(sirix_leaf_view_set_base(&view, encoded, NULL), SIRIX_OK);
        assert_int_equal(view.carries_in, rows.carries_in);
        assert_view_has(&view, &rows, 1 + 2 * dice_below(&dice, 32));
        assert_view_lists(&view, &rows);
    }
    assert_true(deltas > 1000);
}

/* --- Refused --------------------------------------------------------------------------------- */

static enum sirix_status read_all(struct sirix_leaf_view *view)
{
    enum sirix_status status = sirix_leaf_view_walk(view, SIRIX_LEAF_KEYS, NULL);

    assert_int_equal(view->valid, status == SIRIX_OK);
    return status;
}

/* Bodies of a leaf of index 0 whose header counts the rows as given. */
static void leaves_that_break_a_rule_are_refused(void **state)
{
    const struct {
        const char *why;
        uint8_t flags;
        uint8_t rows;
        const char *body;
        size_t len;
    } cases[] = {
        {"flag 2", 2, 1, "\x01\x06", 2},
        {"no rows", 0, 0, "", 0},
        {"65 rows", 0, 65, "\x01\x06", 2},
        {"one row more than counted", 0, 1, "\x01\x06\x01\x06", 4},
        {"one row less than counted", 0, 2, "\x01\x06", 2},
        {"a run at the end", 0, 1, "\x01\x06\x00\x05", 4},
        {"a run of nothing", 0, 1, "\x00\x00\x01\x06", 4},
        {"two runs together", 0, 1, "\x00\x01\x00\x01\x01\x06", 6},
        {"a run over the end", 0, 1, "\x00\x40\x01\x06", 4},
        {"a run and then nothing", 0, 1, "\x00", 1},
        {"a row cut off", 0, 1, "\x03\x06x", 3},
        {"a long row cut off in its length", 0, 1, "\xff\x06\x00", 3},
        {"a long row that is short", 0, 1, "\xff\x02\x00\x00\x00\x06x", 7},
        {"a record of kind 0", 0, 1, "\x01\x10", 2},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_leaf_view view;
        enum sirix_status status = SIRIX_OK;
        memset(page, 0, 64);
        page[0] = SIRIX_PAGE_LEAF;
        page[1] = cases[i].flags;
        page[2] = cases[i].rows;
        page[4] = (uint8_t)cases[i].len;
        memcpy(page + 16, cases[i].body, cases[i].len);
        status = sirix_leaf_view_init(&view, 0, ADDRESS,
                                      (struct sirix_bytes){page, 16 + cases[i].len}, NULL);
        if (status == SIRIX_OK) {
            status = read_all(&view);
        }
        if (status != SIRIX_CORRUPT) {
            fail_msg("case '%s': got %s", cases[i].why, sirix_status_name(status));
        }
    }
}

static void deltas_that_break_a_rule_are_refused(void **state)
{
    /* Over a base with rows at slots 0 to 3, the row at 2 fused. */
    static const uint8_t base[] = {2, 0, 3, 0, 6, 0, 0, 0, 0, 0, 0,
                                   0, 0, 0, 0, 0, 1, 6, 1, 6, 1, 14};
    const struct {
        const char *why;
        uint8_t flags;
        uint8_t rows;
        const char *body;
        size_t len;
    } cases[] = {
        {"nine rows", 0, 9, "", 0},
        {"a slot past the last", 0, 1, "\x40\x00", 2},
        {"slots that fall", 0, 2, "\x05\x00\x04\x00", 4},
        {"a slot twice", 0, 2, "\x05\x00\x05\x00", 4},
        {"a row cut off", 0, 1, "\x05\x03\x06", 3},
        {"a slot alone", 0, 1, "\x05", 1},
        {"bytes behind the last row", 0, 1, "\x05\x00\x06\x00", 4},
        {"a record of kind 0", 0, 1, "\x05\x01\x00", 3},
        {"a fused row over one of the base", 0, 1, "\x00\x01\x0e", 3},
        {"a row under a fused one of the base", 0, 1, "\x03\x01\x06", 3},
        {"a carry over a row of the base", 1, 0, "", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_leaf_view view;
        enum sirix_status status = SIRIX_OK;
        memset(delta, 0, 64);
        delta[0] = SIRIX_PAGE_LEAF_DELTA;
        delta[1] = cases[i].flags;
        delta[2] = cases[i].rows;
        delta[4] = (uint8_t)cases[i].len;
        delta[10] = 0x40; /* A base address. */
        memcpy(delta + 16, cases[i].body, cases[i].len);
        status = sirix_leaf_view_init(&view, 0, ADDRESS,
                                      (struct sirix_bytes){delta, 16 + cases[i].len}, NULL);
        if (status == SIRIX_OK) {
            status =
                sirix_leaf_view_set_base(&view, (struct sirix_bytes){base, sizeof(base)}, NULL);
        }
        if (status == SIRIX_OK) {
            status = read_all(&view);
        }
        if (status != SIRIX_CORRUPT) {
            fail_msg("case '%s': got %s", cases[i].why, sirix_status_name(status));
        }
    }
}

static void every_cut_leaf_is_refused(void **state)
{
    struct sirix_leaf_rows rows = {.begins = 0};
    struct sirix_leaf_view view;
    size_t len = 0;

    (void)state;
    set(&rows, 0, "\x06!");
    set(&rows, 9, "\x07!");
    sirix_leaf_encode(&rows, INDEX, page);
    len = sirix_leaf_size(&rows);
    for (size_t cut = 0; cut < len; cut++) {
        struct sirix_bytes bytes = {page, cut};
        assert_int_equal(sirix_leaf_view_init(&view, INDEX, ADDRESS, bytes, NULL), SIRIX_CORRUPT);
        assert_false(view.valid);
    }
    assert_int_equal(
        sirix_leaf_view_init(&view, INDEX + 1, ADDRESS, (struct sirix_bytes){page, len}, NULL),
        SIRIX_CORRUPT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_leaf_is_laid_out_as_the_format_says),
        cmocka_unit_test(a_leaf_that_is_carried_into_begins_at_its_second_slot),
        cmocka_unit_test(a_delta_is_laid_out_as_the_format_says),
        cmocka_unit_test(an_inner_page_is_laid_out_as_the_format_says),
        cmocka_unit_test(inner_pages_keep_any_children),
        cmocka_unit_test(inner_pages_that_break_a_rule_are_refused),
        cmocka_unit_test(random_leaves_read_back_in_any_order),
        cmocka_unit_test(random_deltas_read_as_the_rows_that_they_make),
        cmocka_unit_test(leaves_that_break_a_rule_are_refused),
        cmocka_unit_test(deltas_that_break_a_rule_are_refused),
        cmocka_unit_test(every_cut_leaf_is_refused),
    };
    return cmocka_run_group_tests_name("leaf", tests, NULL, NULL);
}
