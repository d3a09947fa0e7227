/*
 * Property: a leaf that reads to its end is written back to the same bytes; rows asked for out of
 * order are the same rows. The input is a leaf of index 0; with a delta: u16 length of the delta,
 * delta, full leaf, and the property is that what reads to its end has no overlapping rows.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/page/page.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ADDRESS = 0x200002 };

static void rows_of(struct sirix_leaf_view *view, struct sirix_leaf_rows *rows)
{
    *rows = (struct sirix_leaf_rows){.begins = view->begins, .carries_in = view->carries_in};
    for (uint64_t left = rows->begins; left != 0; left &= left - 1) {
        uint32_t slot = (uint32_t)__builtin_ctzll(left);
        rows->records[slot] = sirix_leaf_view_record(view, slot);
    }
}

/* Looks rows up from the last slot down, and then compares with those of the whole walk. */
static void check_lookups(struct sirix_leaf_view lazy, const struct sirix_leaf_rows *rows)
{
    for (uint32_t i = SIRIX_LEAF_KEYS; i-- != 0;) {
        struct sirix_bytes record = {0};
        enum sirix_status status = sirix_leaf_view_at(&lazy, i, &record, NULL);
        assert(status == SIRIX_OK);
        assert((record.data != NULL) == ((rows->begins >> i & 1) != 0));
        assert(record.data == NULL || sirix_bytes_equal(record, rows->records[i]));
    }
}

static void check_written(const struct sirix_leaf_view *view, const struct sirix_leaf_rows *rows)
{
    const size_t len = sirix_leaf_size(rows);
    uint8_t *again = calloc(1, len);

    if (again != NULL) {
        sirix_leaf_encode(rows, 0, again);
        assert(view->delta != NULL ||
               (len == view->base_end && memcmp(again, view->base, len) == 0));
        free(again);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_leaf_view view;
    struct sirix_leaf_view lazy;
    struct sirix_leaf_rows rows;
    struct sirix_bytes first = {.data = data, .len = size};
    struct sirix_bytes base = {0};

    if (size > 2 && data[2] == SIRIX_PAGE_LEAF_DELTA) {
        size_t len = sirix_load_u16le(data);
        len = len < size - 2 ? len : size - 2;
        first = (struct sirix_bytes){.data = data + 2, .len = len};
        base = (struct sirix_bytes){.data = data + 2 + len, .len = size - 2 - len};
    }
    if (sirix_leaf_view_init(&view, 0, ADDRESS, first, NULL) != SIRIX_OK) {
        return 0;
    }
    if (view.base == NULL && sirix_leaf_view_set_base(&view, base, NULL) != SIRIX_OK) {
        return 0;
    }
    lazy = view;
    if (sirix_leaf_view_walk(&view, SIRIX_LEAF_KEYS, NULL) != SIRIX_OK) {
        return 0;
    }
    rows_of(&view, &rows);
    check_lookups(lazy, &rows);
    if (rows.begins != 0) {
        check_written(&view, &rows);
    }
    return 0;
}
