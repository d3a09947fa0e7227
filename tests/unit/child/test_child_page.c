/* Pages of child trees and name indexes: one encoding each, and everything else refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/child/child_page.h"
#include "unit/child/support.h"

static enum sirix_status decode(const uint8_t *bytes, size_t len, enum sirix_child_kind kind,
                                struct sirix_child_page *page)
{
    /* A heap copy of exactly this size: the sanitizer sees a read past it. */
    uint8_t *copy = malloc(len == 0 ? 1 : len);
    enum sirix_status status = SIRIX_OK;

    assert_non_null(copy);
    memcpy(copy, bytes, len);
    status = sirix_child_page_decode((struct sirix_bytes){.data = copy, .len = len}, 0, kind, page,
                                     NULL);
    free(copy);
    return status;
}

static bool pages_equal(const struct sirix_child_page *a, const struct sirix_child_page *b)
{
    bool equal = a->level == b->level && a->count == b->count;

    for (uint32_t i = 0; equal && i < a->count; i++) {
        if (a->level == 0) {
            equal = a->items[i].key == b->items[i].key && a->items[i].order == b->items[i].order &&
                    sirix_label_compare(a->items[i].label, b->items[i].label) == 0;
        } else {
            equal = a->entries[i].count == b->entries[i].count &&
                    a->entries[i].address == b->entries[i].address &&
                    sirix_label_compare(a->entries[i].first, b->entries[i].first) == 0;
        }
    }
    return equal;
}

static struct sirix_label random_label_after(struct test_child *f, struct sirix_label label)
{
    switch (test_random(f, 4)) {
    case 0:
        label.major += 1 + (int64_t)test_random(f, 1000);
        label.minor = test_random(f, 2) == 0 ? 0 : test_random(f, UINT64_MAX);
        break;
    case 1:
        label.major += 1;
        label.minor = test_random(f, 1000) << 40;
        break;
    default:
        if (label.minor > UINT64_MAX - (UINT64_C(1) << 33)) {
            label.major += 1;
            label.minor = 0;
        }
        label.minor += 1 + test_random(f, UINT64_C(1) << 33);
        break;
    }
    return label;
}

static void fill_children(struct test_child *f, struct sirix_child_page *page)
{
    struct sirix_label before = {.major = -(int64_t)test_random(f, 100000)};
    uint64_t modes = test_random(f, 5);
    uint64_t step = 1 + test_random(f, 9);

    for (uint32_t i = 0; i < page->count; i++) {
        struct sirix_child_item *item = &page->items[i];

        item->key = 1 + test_random(f, UINT64_C(1) << (1 + test_random(f, 61)));
        item->order = SIRIX_ORDER_EXPLICIT;
        item->label = random_label_after(f, before);
        if (modes == 0) { /* An array as imported, evenly or not. */
            item->key = i == 0 ? 1 + test_random(f, 1000) : page->items[i - 1].key + step;
            item->order = SIRIX_ORDER_KEY;
        } else if (modes == 1) {
            item->key = (i == 0 ? 100000 : page->items[i - 1].key) - 1 - test_random(f, 1000);
            item->order = SIRIX_ORDER_MIRRORED;
        } else if (modes == 2 && before.major >= 0 && before.major < INT64_MAX - 1000 &&
                   test_random(f, 2) == 0) {
            item->key = (uint64_t)before.major + 1 + test_random(f, 50);
            item->order = SIRIX_ORDER_KEY;
        }
        if (item->order != SIRIX_ORDER_EXPLICIT) {
            item->label = sirix_label_default(item->key, item->order);
        }
        before = item->label;
    }
}

static void fill_names(struct test_child *f, struct sirix_child_page *page)
{
    uint64_t hash = test_random(f, 1000);

    for (uint32_t i = 0; i < page->count; i++) {
        struct sirix_child_item *item = &page->items[i];
        bool same = i != 0 && test_random(f, 4) == 0;

        hash += same ? 0 : 1 + test_random(f, UINT32_MAX / 128);
        item->key = (same ? page->items[i - 1].key : 0) + 1 + test_random(f, 1000000);
        item->label = (struct sirix_label){.major = (int64_t)hash, .minor = item->key};
        item->order = SIRIX_ORDER_EXPLICIT;
    }
}

static void fill_entries(struct test_child *f, struct sirix_child_page *page,
                         enum sirix_child_kind kind)
{
    struct sirix_label before = {.major = 0};

    for (uint32_t i = 0; i < page->count; i++) {
        before = random_label_after(f, before);
        page->entries[i] = (struct sirix_child_entry){
            .count = 1 + test_random(f, UINT64_C(1) << (1 + test_random(f, 50))),
            .address = 1 + test_random(f, UINT64_MAX - 1),
            .first = before,
        };
        if (kind == SIRIX_CHILD_KIND_NAMES) {
            assert_true(before.major <= UINT32_MAX);
        }
    }
}

static struct sirix_child_page random_page(struct test_child *f, enum sirix_child_kind kind)
{
    struct sirix_child_page page = {.level = (uint32_t)test_random(f, 3)};

    page.count = 1 + (uint32_t)test_random(f, page.level == 0 ? SIRIX_CHILD_LEAF_MAX
                                                              : SIRIX_CHILD_INNER_MAX);
    if (page.level != 0) {
        page.level = 1 + (uint32_t)test_random(f, SIRIX_CHILD_HEIGHT_MAX - 1);
        fill_entries(f, &page, kind);
    } else if (kind == SIRIX_CHILD_KIND_NAMES) {
        fill_names(f, &page);
    } else {
        fill_children(f, &page);
    }
    return page;
}

static void every_page_comes_back_as_it_went(void **state)
{
    struct test_child f = {.random = 11};

    (void)state;
    for (size_t i = 0; i < 20000; i++) {
        enum sirix_child_kind kind =
            i % 3 == 0 ? SIRIX_CHILD_KIND_NAMES : SIRIX_CHILD_KIND_CHILDREN;
        struct sirix_child_page page = random_page(&f, kind);
        struct sirix_child_page back = {0};
        uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
        uint64_t addresses[SIRIX_CHILD_INNER_MAX];
        size_t address_count = 99;
        size_t page_len = 0;
        size_t len = sirix_child_page_encode(&page, kind, bytes);

        assert_int_equal(decode(bytes, len, kind, &back), SIRIX_OK);
        assert_true(pages_equal(&page, &back));
        assert_int_equal(sirix_child_page_links((struct sirix_bytes){.data = bytes, .len = len}, 0,
                                                &page_len, addresses, &address_count, NULL),
                         SIRIX_OK);
        assert_int_equal(page_len, len);
        assert_int_equal(address_count, page.level == 0 ? 0 : page.count);
        for (size_t k = 0; k < address_count; k++) {
            assert_int_equal(addresses[k], page.entries[k].address);
        }
    }
}

static void an_even_array_of_64_takes_16_bytes(void **state)
{
    struct sirix_child_page page = {.count = 64};
    uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];

    (void)state;
    for (uint32_t i = 0; i < 64; i++) {
        page.items[i].key = 1000 + 2 * i;
        page.items[i].label = sirix_label_default(page.items[i].key, SIRIX_ORDER_KEY);
    }
    assert_true(sirix_child_page_encode(&page, SIRIX_CHILD_KIND_CHILDREN, bytes) <= 16);
}

static void a_page_cut_anywhere_is_corrupt(void **state)
{
    struct test_child f = {.random = 12};

    (void)state;
    for (size_t i = 0; i < 300; i++) {
        enum sirix_child_kind kind =
            i % 2 == 0 ? SIRIX_CHILD_KIND_NAMES : SIRIX_CHILD_KIND_CHILDREN;
        struct sirix_child_page page = random_page(&f, kind);
        struct sirix_child_page back = {.count = 12345};
        uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
        size_t len = sirix_child_page_encode(&page, kind, bytes);

        for (size_t cut = 0; cut < len; cut++) {
            assert_int_equal(decode(bytes, cut, kind, &back), SIRIX_CORRUPT);
        }
        /* Also when the page itself says that it is shorter, and of the other kind. */
        bytes[2] = (uint8_t)(len - 1);
        bytes[3] = (uint8_t)((len - 1) >> 8);
        assert_int_equal(decode(bytes, len, kind, &back), SIRIX_CORRUPT);
        bytes[2] = (uint8_t)len;
        bytes[3] = (uint8_t)(len >> 8);
        assert_int_equal(decode(bytes, len, (enum sirix_child_kind) !kind, &back), SIRIX_CORRUPT);
        assert_int_equal(back.count, 12345);
    }
}

/* Whatever decodes is what encode would write: one content, one encoding. */
static void a_changed_page_is_refused_or_means_what_it_says(void **state)
{
    struct test_child f = {.random = 13};
    unsigned accepted = 0;
    unsigned refused = 0;

    (void)state;
    for (size_t i = 0; i < 40000; i++) {
        enum sirix_child_kind kind =
            i % 2 == 0 ? SIRIX_CHILD_KIND_NAMES : SIRIX_CHILD_KIND_CHILDREN;
        struct sirix_child_page page = random_page(&f, kind);
        struct sirix_child_page back = {0};
        uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
        uint8_t again[SIRIX_CHILD_PAGE_BYTES_MAX];
        size_t len = sirix_child_page_encode(&page, kind, bytes);

        for (uint64_t k = 0; k < 1 + test_random(&f, 3); k++) {
            bytes[test_random(&f, len)] ^= (uint8_t)(1U << test_random(&f, 8));
        }
        if (decode(bytes, len, kind, &back) == SIRIX_OK) {
            size_t again_len = sirix_child_page_encode(&back, kind, again);

            accepted += 1;
            assert_int_equal(again[2] | again[3] << 8, bytes[2] | bytes[3] << 8);
            assert_memory_equal(again, bytes, again_len);
        } else {
            refused += 1;
        }
    }
    assert_true(accepted > 1000 && refused > 1000);
}

static void malformed_pages_are_corrupt(void **state)
{
    const struct {
        const char *why;
        enum sirix_child_kind kind;
        uint8_t len;
        uint8_t bytes[40];
    } cases[] = {
        {"another type", SIRIX_CHILD_KIND_CHILDREN, 6, {3, 1, 6, 0, 0, 1}},
        {"no children", SIRIX_CHILD_KIND_CHILDREN, 6, {4, 0, 6, 0, 0, 1}},
        {"65 children", SIRIX_CHILD_KIND_CHILDREN, 8, {4, 65, 8, 0, 4, 1, 2, 0}},
        {"unknown flags", SIRIX_CHILD_KIND_CHILDREN, 6, {4, 1, 6, 0, 8, 1}},
        {"key 0", SIRIX_CHILD_KIND_CHILDREN, 6, {4, 1, 6, 0, 0, 0}},
        {"a key in a longer form", SIRIX_CHILD_KIND_CHILDREN, 7, {4, 1, 7, 0, 0, 0x81, 0}},
        {"a step of two children", SIRIX_CHILD_KIND_CHILDREN, 7, {4, 2, 7, 0, 4, 1, 2}},
        {"an even leaf not as such", SIRIX_CHILD_KIND_CHILDREN, 8, {4, 3, 8, 0, 0, 1, 2, 2}},
        {"labels that fall", SIRIX_CHILD_KIND_CHILDREN, 7, {4, 2, 7, 0, 0, 9, 1}},
        {"a map of one order", SIRIX_CHILD_KIND_CHILDREN, 8, {4, 2, 8, 0, 3, 1, 2, 0}},
        {"an order of 3", SIRIX_CHILD_KIND_CHILDREN, 8, {4, 2, 8, 0, 3, 1, 2, 12}},
        {"bits behind the map", SIRIX_CHILD_KIND_CHILDREN, 8, {4, 2, 8, 0, 3, 1, 2, 20}},
        {"bytes left over", SIRIX_CHILD_KIND_CHILDREN, 7, {4, 1, 7, 0, 0, 1, 0}},
        {"an inner page of level 0",
         SIRIX_CHILD_KIND_CHILDREN,
         15,
         {5, 0, 15, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0}},
        {"an address of 0",
         SIRIX_CHILD_KIND_CHILDREN,
         15,
         {5, 16, 15, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 0}},
        {"a count of 0",
         SIRIX_CHILD_KIND_CHILDREN,
         15,
         {5, 16, 15, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0}},
        {"no lowest key", SIRIX_CHILD_KIND_NAMES, 10, {6, 1, 10, 0, 1, 0, 0, 0, 4, 1}},
        {"one pair twice", SIRIX_CHILD_KIND_NAMES, 12, {6, 2, 12, 0, 1, 0, 0, 0, 4, 0, 0, 0}},
        {"a hash past 32 bits",
         SIRIX_CHILD_KIND_NAMES,
         12,
         {6, 2, 12, 0, 0xff, 0xff, 0xff, 0xff, 4, 0, 1, 1}},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_child_page page = {0};
        enum sirix_status status = decode(cases[i].bytes, cases[i].len, cases[i].kind, &page);

        if (status != SIRIX_CORRUPT) {
            fail_msg("case '%s': got %s", cases[i].why, sirix_status_name(status));
        }
    }
}

/* The short way down gives what decoding the whole page gives. */
static void stepping_agrees_with_decoding(void **state)
{
    struct test_child f = {.random = 14};

    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        struct sirix_child_page page = random_page(&f, SIRIX_CHILD_KIND_CHILDREN);
        uint8_t bytes[SIRIX_CHILD_PAGE_BYTES_MAX];
        size_t len = sirix_child_page_encode(&page, SIRIX_CHILD_KIND_CHILDREN, bytes);
        const struct sirix_bytes view = {.data = bytes, .len = len};
        uint64_t below = 0;
        uint64_t key = 0;
        uint64_t first = 0;
        uint32_t level = 99;

        for (uint32_t k = 0; k < page.count; k++) {
            uint64_t index = page.level == 0 ? k : first + page.entries[k].count - 1;

            assert_int_equal(sirix_child_page_step(view, 0, &index, &level, &below, &key, NULL),
                             SIRIX_OK);
            assert_int_equal(level, page.level);
            if (page.level == 0) {
                assert_int_equal(key, page.items[k].key);
            } else {
                assert_int_equal(below, page.entries[k].address);
                assert_int_equal(index, page.entries[k].count - 1);
                first += page.entries[k].count;
            }
        }
        first = page.level == 0 ? page.count : first;
        assert_int_equal(sirix_child_page_step(view, 0, &first, &level, &below, &key, NULL),
                         SIRIX_NOT_FOUND);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_page_comes_back_as_it_went),
        cmocka_unit_test(an_even_array_of_64_takes_16_bytes),
        cmocka_unit_test(a_page_cut_anywhere_is_corrupt),
        cmocka_unit_test(a_changed_page_is_refused_or_means_what_it_says),
        cmocka_unit_test(malformed_pages_are_corrupt),
        cmocka_unit_test(stepping_agrees_with_decoding),
    };
    return cmocka_run_group_tests_name("child_page", tests, NULL, NULL);
}
