/*
 * What the tests of pages share: a store in memory, publishing what a page writer built, a seeded
 * random sequence, and records that tell their width.
 *
 * Include after cmocka.h.
 */
#ifndef SIRIX_TESTS_UNIT_PAGE_FIXTURE_H
#define SIRIX_TESTS_UNIT_PAGE_FIXTURE_H

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/page/node.h"
#include "store/page/page.h"
#include "store/page/trie.h"
#include "store/page/writer.h"

struct store {
    struct sirix_backend *backend;
    struct sirix_reader *reader;
};

static inline void store_open(struct store *store, uint64_t seed)
{
    const struct sirix_memory_options options = {.seed = seed};

    assert_int_equal(sirix_backend_open_memory(&options, &store->backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_reader_open(store->backend, &store->reader, NULL), SIRIX_OK);
}

static inline void store_close(struct store *store)
{
    sirix_reader_close(store->reader);
    sirix_backend_close(store->backend);
    *store = (struct store){0};
}

static inline struct sirix_page_writer *store_writer(struct store *store, size_t segment_bytes)
{
    const struct sirix_page_writer_options options = {
        .backend = store->backend,
        .resource_id = 7,
        .segment_bytes = segment_bytes,
    };
    struct sirix_page_writer *writer = NULL;

    assert_int_equal(sirix_page_writer_new(&options, &writer, NULL), SIRIX_OK);
    return writer;
}

static inline void note_outcome(void *context, const struct sirix_commit_outcome *outcome)
{
    *(enum sirix_status *)context = outcome->status;
}

/* Stores the segments and shows them to the reader; gives their bytes back. */
static inline void store_segments(struct store *store, struct sirix_segment_built *segments,
                                  size_t count)
{
    enum sirix_status outcome = SIRIX_INTERNAL;
    struct sirix_segment_put *puts = calloc(count + 1, sizeof(*puts));
    struct sirix_batch batch = {.puts = puts, .put_count = count};

    assert_non_null(puts);
    for (size_t i = 0; i < count; i++) {
        if (segments[i].kind == SIRIX_SEGMENT_COMMIT) {
            sirix_segment_seal(segments[i].bytes, segments[i].len, segments[i].kind, 7);
        }
        puts[i] =
            (struct sirix_segment_put){segments[i].number, {segments[i].bytes, segments[i].len}};
    }
    if (count != 0) {
        sirix_backend_commit(store->backend, &batch, note_outcome, &outcome);
        assert_int_equal(outcome, SIRIX_OK);
    }
    for (size_t i = 0; i < count; i++) {
        free(segments[i].bytes);
    }
    free(segments);
    free(puts);
    sirix_reader_yield(store->reader);
}

/* Ends the writer and stores what it built. Returns the bytes of pages. */
static inline uint64_t store_publish(struct store *store, struct sirix_page_writer *writer)
{
    struct sirix_segment_built *segments = NULL;
    size_t count = 0;
    uint8_t body[32];
    uint64_t page_bytes = sirix_page_writer_bytes(writer);

    assert_int_equal(sirix_page_writer_finish(writer, &segments, &count, body, NULL), SIRIX_OK);
    sirix_page_writer_free(writer);
    store_segments(store, segments, count);
    return page_bytes;
}

/* --- Random things --------------------------------------------------------------------------- */

struct dice {
    uint64_t state;
};

static inline uint64_t dice_roll(struct dice *dice)
{
    dice->state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(dice->state);
}

/* A number below limit. */
static inline uint32_t dice_below(struct dice *dice, uint32_t limit)
{
    assert_int_not_equal(limit, 0);
    return limit == 0 ? 0 : (uint32_t)(dice_roll(dice) % limit);
}

/* A record of the width: its first byte is a kind of that width, the rest is anything. */
static inline struct sirix_bytes dice_record(struct dice *dice, uint32_t width, uint8_t *place,
                                             uint32_t len)
{
    uint32_t kind = width == 2 ? 10 + dice_below(dice, 6) : 1 + dice_below(dice, 9);

    place[0] = 0;
    for (uint32_t i = 0; i < len; i++) {
        place[i] = (uint8_t)dice_roll(dice);
    }
    place[0] = (uint8_t)((place[0] & 0xf0) | kind);
    return (struct sirix_bytes){place, len};
}

/* A record of a text: a number, or for width 2 a fused number. */
static inline struct sirix_bytes text_record(uint32_t width, const char *text, uint8_t *place)
{
    size_t len = strlen(text);

    place[0] = width == 2 ? SIRIX_NODE_FIELD_INTEGER : SIRIX_NODE_INTEGER;
    memcpy(place + 1, text, len);
    return (struct sirix_bytes){place, len + 1};
}

#endif
