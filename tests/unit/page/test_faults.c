/*
 * What is left when memory or a read fails: each scenario is run with its first allocation (or read of
 * a segment) failing, then with its second, and so on until nothing fails. The failure comes back with
 * its own status, nothing leaks (the leak sanitizer is the judge), and a failed change of an edit
 * leaves the edit as it was.
 *
 * Failures are injected at the linker (--wrap), so the code under test has no test hooks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "page_fixture.h"
#include "store/page/string.h"

/* --- Fault injection ------------------------------------------------------------------------- */

static int allocations_left = -1; /* 0: the next one fails; -1: none does. */
static int reads_left = -1;

static bool countdown_hits(int *countdown)
{
    if (*countdown < 0) {
        return false;
    }
    *countdown -= 1;
    return *countdown < 0;
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return countdown_hits(&allocations_left) ? NULL : __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return countdown_hits(&allocations_left) ? NULL : __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return countdown_hits(&allocations_left) ? NULL : __real_realloc(old, size);
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
    if (countdown_hits(&reads_left)) {
        return sirix_fail(err, SIRIX_IO, "the disk does not answer");
    }
    return __real_sirix_segment_get(reader, address, min_len, out_bytes, err);
}

/* --- Fixture --------------------------------------------------------------------------------- */

struct world {
    struct store store;
    struct sirix_trie base; /* 3,000 rows, and a fused row over the edge of two leaves. */
    uint64_t graft;         /* A leaf of the index GRAFT_INDEX. */
};

enum { ROWS = 3000, GRAFT_INDEX = 70 };

static void put(struct sirix_trie_edit *edit, uint64_t key, uint32_t width, const char *text)
{
    uint8_t place[64];

    assert_int_equal(sirix_trie_edit_put(edit, key, width, text_record(width, text, place), NULL),
                     SIRIX_OK);
}

static int setup(void **state)
{
    static struct world world;
    struct sirix_trie_edit *edit = NULL;
    struct sirix_page_writer *writer = NULL;
    struct sirix_leaf_rows rows = {.begins = 2};
    uint8_t *place = NULL;

    store_open(&world.store, 1);
    writer = store_writer(&world.store, 4096);
    assert_int_equal(sirix_trie_edit_new(world.store.reader, (struct sirix_trie){0}, &edit, NULL),
                     SIRIX_OK);
    for (uint64_t key = 0; key < ROWS; key++) {
        if (key == 639) {
            put(edit, key++, 2, "fused");
        } else {
            put(edit, key, 1, "row");
        }
    }
    assert_int_equal(sirix_trie_edit_write(edit, writer, &world.base, NULL), SIRIX_OK);
    sirix_trie_edit_free(edit);
    rows.records[1] = (struct sirix_bytes){"\x06", 1};
    assert_int_equal(
        sirix_page_writer_alloc(writer, sirix_leaf_size(&rows), &world.graft, &place, NULL),
        SIRIX_OK);
    sirix_leaf_encode(&rows, GRAFT_INDEX, place);
    (void)store_publish(&world.store, writer);
    *state = &world;
    return 0;
}

static int teardown(void **state)
{
    struct world *world = *state;

    allocations_left = -1;
    reads_left = -1;
    store_close(&world->store);
    return 0;
}

/* A scenario ends with the status of its first failure. */
typedef enum sirix_status (*scenario_fn)(struct world *world);

static void sweep(struct world *world, scenario_fn scenario, int *countdown,
                  enum sirix_status expected, int failures_min)
{
    enum sirix_status status = SIRIX_INTERNAL;
    int failures = 0;

    for (;; failures++) {
        sirix_reader_yield(world->store.reader);
        *countdown = failures;
        status = scenario(world);
        if (*countdown >= 0) {
            break;
        }
        if (status != expected) {
            fail_msg("failure %d gave %s", failures, sirix_status_name(status));
        }
    }
    *countdown = -1;
    assert_int_equal(status, SIRIX_OK);
    if (failures < failures_min) {
        fail_msg("only %d failures were injected", failures);
    }
}

/* --- Edits ----------------------------------------------------------------------------------- */

/* What an edit holds at some keys, as far as a failed change could have touched it. */
struct sample {
    uint64_t keys[12];
    size_t sizes[12];
};

static const uint64_t sampled[12] = {0, 5, 638, 639, 640, 641, 1279, 1280, 1281, 2999, 5000, 70000};

static void take_sample(struct sirix_trie_edit *edit, struct sample *sample)
{
    int allocations = allocations_left;
    int reads = reads_left;

    allocations_left = -1;
    reads_left = -1;
    for (uint32_t i = 0; i < 12; i++) {
        struct sirix_row row = {0};
        enum sirix_status status = sirix_trie_edit_get(edit, sampled[i], &row, NULL);
        assert_true(status == SIRIX_OK || status == SIRIX_NOT_FOUND);
        sample->keys[i] = status == SIRIX_OK ? row.key + 1 : 0;
        sample->sizes[i] = row.record.len;
    }
    allocations_left = allocations;
    reads_left = reads;
}

struct change {
    uint64_t key;
    uint32_t width;
    const char *text;
};

static enum sirix_status change_edit(struct sirix_trie_edit *edit)
{
    /* In place, longer, at the edge from narrow to fused and back, in new leaves near and far. */
    static const struct change changes[] = {
        {5, 1, "longer than before"}, {5, 1, "short"},    {639, 1, "narrow"},
        {640, 1, "beside it"},        {1279, 1, "edge"},  {5000, 1, "new leaf"},
        {70000, 1, "new height"},     {2999, 2, "fused"},
    };

    for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
        struct sample before;
        struct sample after;
        struct sirix_error err = {0};
        uint8_t place[64];
        enum sirix_status status = SIRIX_OK;
        take_sample(edit, &before);
        status = sirix_trie_edit_put(edit, changes[i].key, changes[i].width,
                                     text_record(changes[i].width, changes[i].text, place), &err);
        if (status != SIRIX_OK) {
            assert_string_not_equal(err.text, "");
            take_sample(edit, &after);
            assert_memory_equal(&before, &after, sizeof(before));
            return status;
        }
    }
    return SIRIX_OK;
}

static enum sirix_status edit_scenario(struct world *world)
{
    const struct sirix_page_writer_options options = {
        .backend = world->store.backend,
        .segment_bytes = 600,
    };
    struct sirix_page_writer *writer = NULL;
    struct sirix_trie_edit *edit = NULL;
    struct sirix_trie trie = {.root = 77};
    struct sirix_row row;
    uint8_t place[16];
    enum sirix_status status = sirix_page_writer_new(&options, &writer, NULL);

    if (status == SIRIX_OK) {
        status = sirix_trie_edit_new(world->store.reader, world->base, &edit, NULL);
    }
    if (status == SIRIX_OK) {
        status = change_edit(edit);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_remove(edit, 1280, 1280, NULL);
    }
    if (status == SIRIX_OK) { /* Straddles the edge behind a leaf that is still on disk. */
        status = sirix_trie_edit_put(edit, 1279, 2, text_record(2, "over", place), NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_remove(edit, 100, 500, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_graft(edit, 0, GRAFT_INDEX, world->graft, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_get(edit, GRAFT_INDEX * 64 + 1, &row, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_edit_write(edit, writer, &trie, NULL);
    }
    assert_true(status == SIRIX_OK || trie.root == 77);
    sirix_trie_edit_free(edit);
    sirix_page_writer_free(writer);
    return status;
}

static void an_edit_survives_the_failure_of_any_read(void **state)
{
    sweep(*state, edit_scenario, &reads_left, SIRIX_IO, 10);
}

/* --- Readers --------------------------------------------------------------------------------- */

static enum sirix_status read_scenario(struct world *world)
{
    struct sirix_trie_cursor cursor;
    struct sirix_trie_compare compare;
    struct sirix_row row;
    struct sirix_row other;
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_init(&cursor, world->store.reader, world->base);
    for (uint64_t key = 0; status == SIRIX_OK && key < ROWS; key += 571) {
        status = sirix_trie_get(&cursor, key, &row, NULL);
    }
    for (uint64_t key = 0; status == SIRIX_OK; key = row.key + 300) {
        status = sirix_trie_next(&cursor, key, &row, NULL);
    }
    if (status != SIRIX_NOT_FOUND) {
        return status;
    }
    sirix_trie_compare_init(&compare, world->store.reader, world->base, world->store.reader,
                            (struct sirix_trie){.root = world->graft});
    do {
        status = sirix_trie_compare_next(&compare, &row, &other, NULL);
    } while (status == SIRIX_OK);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* The graft is no leaf of index 0, so the comparison above ends in damage when no read fails. */
static enum sirix_status read_scenario_to_end(struct world *world)
{
    enum sirix_status status = read_scenario(world);

    return status == SIRIX_CORRUPT ? SIRIX_OK : status;
}

static void readers_survive_the_failure_of_any_read(void **state)
{
    sweep(*state, read_scenario_to_end, &reads_left, SIRIX_IO, 20);
}

/* --- Bulk, strings, writers ------------------------------------------------------------------ */

static enum sirix_status bulk_rows(struct sirix_trie_bulk *bulk)
{
    uint8_t place[16];
    enum sirix_status status = sirix_trie_bulk_hold(bulk, 6400, NULL);

    for (uint64_t key = 6401; status == SIRIX_OK && key < 6401 + 64 * 300; key += 7) {
        bool fused = (key & 63) == 63;
        status = sirix_trie_bulk_put(bulk, key, fused ? 2 : 1,
                                     text_record(fused ? 2 : 1, "row", place), NULL);
        if (status == SIRIX_OK) {
            status = sirix_trie_bulk_settle(bulk, key + 1, NULL);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_bulk_put(bulk, 6400, 1, text_record(1, "held", place), NULL);
    }
    return status;
}

static enum sirix_status bulk_scenario(struct world *world)
{
    const struct sirix_page_writer_options options = {
        .backend = world->store.backend,
        .segment_bytes = 1024,
    };
    struct sirix_page_writer *writer = NULL;
    struct sirix_trie_bulk *bulk = NULL;
    struct sirix_trie_graft *grafts = NULL;
    struct sirix_segment_built *segments = NULL;
    size_t count = 0;
    uint8_t body[32];
    enum sirix_status status = sirix_page_writer_new(&options, &writer, NULL);

    if (status == SIRIX_OK) {
        status = sirix_trie_bulk_new(writer, 6400, &bulk, NULL);
    }
    if (status == SIRIX_OK) {
        status = bulk_rows(bulk);
    }
    if (status == SIRIX_OK) {
        status = sirix_trie_bulk_finish(bulk, &grafts, &count, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_page_writer_finish(writer, &segments, &count, body, NULL);
    }
    if (status == SIRIX_OK) {
        for (size_t i = 0; i < count; i++) {
            free(segments[i].bytes);
        }
        free(segments);
    }
    free(grafts);
    sirix_trie_bulk_free(bulk);
    sirix_page_writer_free(writer);
    return status;
}

static void a_bulk_build_survives_the_failure_of_any_allocation(void **state)
{
    sweep(*state, bulk_scenario, &allocations_left, SIRIX_NO_MEMORY, 20);
}

static enum sirix_status string_scenario(struct world *world)
{
    static uint8_t part[100000];
    const struct sirix_page_writer_options options = {
        .backend = world->store.backend,
        .record_bytes = 80,
    };
    struct sirix_page_writer *pages = NULL;
    struct sirix_string_writer writer = {0};
    struct sirix_text text = {0};
    uint64_t decoded_len = 0;
    enum sirix_status status = sirix_page_writer_new(&options, &pages, NULL);

    if (status == SIRIX_OK) {
        status = sirix_string_writer_init(&writer, pages, NULL);
    }
    for (uint32_t i = 0; status == SIRIX_OK && i < 7; i++) {
        status =
            sirix_string_writer_append(&writer, (struct sirix_bytes){part, sizeof(part)}, NULL);
    }
    if (status == SIRIX_OK) {
        status = sirix_string_writer_finish(&writer, &text, &decoded_len, NULL);
    }
    assert_true(status == SIRIX_OK || text.address == 0);
    sirix_string_writer_deinit(&writer);
    sirix_page_writer_free(pages);
    return status;
}

static void a_string_writer_survives_the_failure_of_any_allocation(void **state)
{
    sweep(*state, string_scenario, &allocations_left, SIRIX_NO_MEMORY, 8);
}

static void an_edit_survives_the_failure_of_any_allocation(void **state)
{
    sweep(*state, edit_scenario, &allocations_left, SIRIX_NO_MEMORY, 30);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        TEST(an_edit_survives_the_failure_of_any_read),
        TEST(an_edit_survives_the_failure_of_any_allocation),
        TEST(readers_survive_the_failure_of_any_read),
        TEST(a_bulk_build_survives_the_failure_of_any_allocation),
        TEST(a_string_writer_survives_the_failure_of_any_allocation),
    };
#undef TEST
    return cmocka_run_group_tests_name("faults", tests, NULL, NULL);
}
