/* Tries to build, edit and read in tests. Reads of segments are counted at the linker
 * (--wrap=sirix_segment_get). */
#ifndef SIRIX_TESTS_PAGE_TRIE_FIXTURE_H
#define SIRIX_TESTS_PAGE_TRIE_FIXTURE_H

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

static inline int setup(void **state)
{
    static struct store store;

    store_open(&store, 1);
    *state = &store;
    return 0;
}

static inline int teardown(void **state)
{
    store_close(*state);
    return 0;
}

static inline struct sirix_trie_edit *edit_of(struct store *store, struct sirix_trie trie)
{
    struct sirix_trie_edit *edit = NULL;

    assert_int_equal(sirix_trie_edit_new(store->reader, trie, &edit, NULL), SIRIX_OK);
    return edit;
}

static inline void put(struct sirix_trie_edit *edit, uint64_t key, uint32_t width, const char *text)
{
    uint8_t place[600];

    assert_int_equal(sirix_trie_edit_put(edit, key, width, text_record(width, text, place), NULL),
                     SIRIX_OK);
}

static inline void remove_keys(struct sirix_trie_edit *edit, uint64_t first, uint64_t last)
{
    assert_int_equal(sirix_trie_edit_remove(edit, first, last, NULL), SIRIX_OK);
}

/* Writes, publishes and frees the edit. */
static inline struct sirix_trie publish(struct store *store, struct sirix_trie_edit *edit,
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
static inline struct sirix_trie build(struct store *store, struct sirix_trie base, uint64_t first,
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

static inline struct sirix_row row_at(struct store *store, struct sirix_trie trie, uint64_t key)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_init(&cursor, store->reader, trie);
    status = sirix_trie_get(&cursor, key, &row, NULL);
    assert_true(status == SIRIX_OK || status == SIRIX_NOT_FOUND);
    return row;
}

static inline uint64_t count_rows(struct store *store, struct sirix_trie trie)
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

static inline uint64_t count_differences(struct store *store, struct sirix_trie a,
                                         struct sirix_trie b)
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

#endif
