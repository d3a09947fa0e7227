/*
 * The trie against a model: random puts, removals and bulk builds over several revisions; every
 * revision is read again in every way, and pairs of them are compared. The reader yields at random.
 *
 * The keys in use lie in a few clusters, so that leaves, pages and heights have edges to work at. A
 * model row names its record by a number that the record's bytes follow from.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>

#include "page_fixture.h"

struct cluster {
    uint64_t first;
    uint32_t count;
};

enum { CLUSTERS = 6, BULK_CLUSTER = 3, POSITIONS = 1024 + 256 + 256 + 2560 + 192 + 128 };
static const struct cluster clusters[CLUSTERS] = {
    {0, 1024},
    {UINT64_C(64) * 16 * 5 - 128, 256},
    {(UINT64_C(1) << 20) - 128, 256},
    {(UINT64_C(1) << 24) + UINT64_C(64) * 3, 2560}, /* Built in bulk when it is empty. */
    {(UINT64_C(1) << 40) - 64, 192},
    {SIRIX_KEY_MAX - 127, 128},
};

struct model_row {
    uint32_t id;
    uint16_t len;
    uint8_t width; /* 0: no row begins here. */
};

struct revision {
    struct sirix_trie trie;
    struct model_row rows[POSITIONS];
};

enum { REVISIONS = 24, RECORD_MAX = 2000 };

struct world {
    struct store store;
    struct dice dice;
    struct model_row rows[POSITIONS];
    struct revision *revisions;
    uint32_t count;
    uint32_t next_id;
    uint32_t bulk_builds;
};

/* --- The model ------------------------------------------------------------------------------- */

static uint64_t key_of(uint32_t position)
{
    uint32_t i = 0;

    while (position >= clusters[i].count) {
        position -= clusters[i].count;
        i++;
    }
    return clusters[i].first + position;
}

static uint32_t cluster_begin(uint32_t cluster)
{
    uint32_t begin = 0;

    for (uint32_t i = 0; i < cluster; i++) {
        begin += clusters[i].count;
    }
    return begin;
}

/* Whether position + 1 is the next key, too. */
static bool has_next(uint32_t position)
{
    return position + 1 < POSITIONS && key_of(position + 1) == key_of(position) + 1;
}

static struct sirix_bytes record_of(const struct model_row *row, uint8_t *place)
{
    struct dice dice = {.state = row->id};

    return dice_record(&dice, row->width, place, row->len);
}

/* The position of the row that covers a position; POSITIONS: none. */
static uint32_t covering(const struct model_row *rows, uint32_t position)
{
    if (rows[position].width != 0) {
        return position;
    }
    if (position != 0 && has_next(position - 1) && rows[position - 1].width == 2) {
        return position - 1;
    }
    return POSITIONS;
}

static struct model_row new_row(struct world *world, uint32_t width)
{
    uint32_t style = dice_below(&world->dice, 100);
    uint32_t len = 1 + dice_below(&world->dice, style < 90 ? 12 : style < 98 ? 300 : RECORD_MAX);

    return (struct model_row){++world->next_id, (uint16_t)len, (uint8_t)width};
}

static void maybe_yield(struct world *world)
{
    if (dice_below(&world->dice, 16) == 0) {
        sirix_reader_yield(world->store.reader);
    }
}

/* --- Changes --------------------------------------------------------------------------------- */

static void put(struct world *world, struct sirix_trie_edit *edit, uint32_t position,
                struct model_row row)
{
    uint8_t place[RECORD_MAX];
    struct sirix_bytes record = record_of(&row, place);

    assert_int_equal(sirix_trie_edit_put(edit, key_of(position), row.width, record, NULL),
                     SIRIX_OK);
    world->rows[position] = row;
}

static void remove_keys(struct world *world, struct sirix_trie_edit *edit, uint64_t first,
                        uint64_t last)
{
    assert_int_equal(sirix_trie_edit_remove(edit, first, last, NULL), SIRIX_OK);
    for (uint32_t i = 0; i < POSITIONS; i++) {
        if (key_of(i) >= first && key_of(i) <= last) {
            world->rows[i] = (struct model_row){0};
        }
    }
}

static uint32_t random_position(struct world *world)
{
    uint32_t cluster = dice_below(&world->dice, CLUSTERS);

    return cluster_begin(cluster) + dice_below(&world->dice, clusters[cluster].count);
}

static void put_somewhere(struct world *world, struct sirix_trie_edit *edit)
{
    uint32_t at = random_position(world);
    uint32_t width = 1 + dice_below(&world->dice, 2);

    /* The edges of leaves are where it matters. */
    if (dice_below(&world->dice, 4) == 0) {
        at = at - (uint32_t)(key_of(at) & 63) % (at + 1);
        at += dice_below(&world->dice, 2) * (at + 63 < POSITIONS ? 63 : 0);
    }
    if (!has_next(at)) {
        width = 1;
    }
    if (at != 0 && has_next(at - 1) && world->rows[at - 1].width == 2) {
        put(world, edit, at - 1, new_row(world, 1));
    }
    if (width == 2 && world->rows[at + 1].width != 0) {
        remove_keys(world, edit, key_of(at + 1), key_of(at + 1));
    }
    put(world, edit, at, new_row(world, width));
}

static void remove_somewhere(struct world *world, struct sirix_trie_edit *edit)
{
    uint64_t first = key_of(random_position(world));
    uint64_t last = 0;

    switch (dice_below(&world->dice, 8)) {
    case 0:
        last = key_of(random_position(world));
        break;
    case 1:
        first &= ~UINT64_C(63);
        last = first + 64 * (uint64_t)(1 + dice_below(&world->dice, 20)) - 1;
        break;
    case 2:
        last = UINT64_MAX;
        break;
    default:
        last = first + dice_below(&world->dice, 40);
        break;
    }
    remove_keys(world, edit, first, last);
}

static void put_same_again(struct world *world, struct sirix_trie_edit *edit)
{
    uint32_t at = random_position(world);

    if (world->rows[at].width != 0) {
        put(world, edit, at, world->rows[at]);
    }
}

/* --- Bulk ------------------------------------------------------------------------------------ */

static void bulk_put(struct sirix_trie_bulk *bulk, uint32_t position, struct model_row row)
{
    uint8_t place[RECORD_MAX];
    struct sirix_bytes record = record_of(&row, place);

    assert_int_equal(sirix_trie_bulk_put(bulk, key_of(position), row.width, record, NULL),
                     SIRIX_OK);
}

/* Builds rows for the bulk cluster: some are held back, as open containers are, and come later. */
static void build(struct world *world, struct sirix_trie_bulk *bulk)
{
    const uint32_t begin = cluster_begin(BULK_CLUSTER);
    const uint32_t end = begin + clusters[BULK_CLUSTER].count;
    uint32_t held[32];
    uint32_t held_count = 0;

    for (uint32_t at = begin; at < end; at++) {
        uint32_t choice = dice_below(&world->dice, 100);
        if (choice < 4 && held_count < 32) {
            held[held_count++] = at;
            assert_int_equal(sirix_trie_bulk_hold(bulk, key_of(at), NULL), SIRIX_OK);
        } else if (choice < 80) {
            uint32_t width = at + 1 < end ? 1 + dice_below(&world->dice, 2) : 1;
            world->rows[at] = new_row(world, width);
            bulk_put(bulk, at, world->rows[at]);
            at += width - 1;
        } else if (choice < 84) {
            at += 200 < end - at ? dice_below(&world->dice, 200) : 0;
        }
        if (held_count != 0 && dice_below(&world->dice, 20) == 0) {
            uint32_t parent = held[--held_count];
            world->rows[parent] = new_row(world, 1);
            bulk_put(bulk, parent, world->rows[parent]);
        }
        if (dice_below(&world->dice, 3) == 0) {
            assert_int_equal(sirix_trie_bulk_settle(bulk, key_of(at) + 1, NULL), SIRIX_OK);
        }
    }
    while (held_count != 0) {
        uint32_t parent = held[--held_count];
        world->rows[parent] = new_row(world, 1);
        bulk_put(bulk, parent, world->rows[parent]);
    }
    assert_int_equal(sirix_trie_bulk_settle(
                         bulk, clusters[BULK_CLUSTER].first + clusters[BULK_CLUSTER].count, NULL),
                     SIRIX_OK);
}

static void graft_bulk(struct world *world, struct sirix_trie_edit *edit)
{
    struct sirix_page_writer *writer = store_writer(&world->store, 2048);
    struct sirix_trie_bulk *bulk = NULL;
    struct sirix_trie_graft *grafts = NULL;
    size_t count = 0;

    assert_int_equal(sirix_trie_bulk_new(writer, clusters[BULK_CLUSTER].first, &bulk, NULL),
                     SIRIX_OK);
    build(world, bulk);
    assert_int_equal(sirix_trie_bulk_finish(bulk, &grafts, &count, NULL), SIRIX_OK);
    sirix_trie_bulk_free(bulk);
    (void)store_publish(&world->store, writer);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(
            sirix_trie_edit_graft(edit, grafts[i].level, grafts[i].index, grafts[i].address, NULL),
            SIRIX_OK);
    }
    free(grafts);
    world->bulk_builds++;
}

static bool bulk_cluster_empty(const struct world *world)
{
    bool empty = true;

    for (uint32_t i = 0; i < clusters[BULK_CLUSTER].count; i++) {
        empty = empty && world->rows[cluster_begin(BULK_CLUSTER) + i].width == 0;
    }
    return empty;
}

/* --- Reading --------------------------------------------------------------------------------- */

static void assert_row(const struct sirix_row *row, const struct model_row *rows, uint32_t position)
{
    uint8_t place[RECORD_MAX];
    struct sirix_bytes record = record_of(&rows[position], place);

    assert_int_equal(row->key, key_of(position));
    assert_int_equal(row->width, rows[position].width);
    assert_int_equal(row->record.len, record.len);
    assert_memory_equal(row->record.data, record.data, record.len);
}

static void assert_got(enum sirix_status status, const struct sirix_row *row,
                       const struct model_row *rows, uint32_t position)
{
    uint32_t expected = covering(rows, position);

    if (expected == POSITIONS) {
        assert_int_equal(status, SIRIX_NOT_FOUND);
    } else {
        assert_int_equal(status, SIRIX_OK);
        assert_row(row, rows, expected);
    }
}

static void check_edit(struct world *world, struct sirix_trie_edit *edit, uint32_t lookups)
{
    for (uint32_t i = 0; i < lookups; i++) {
        uint32_t at = random_position(world);
        struct sirix_row row = {0};
        enum sirix_status status = sirix_trie_edit_get(edit, key_of(at), &row, NULL);
        assert_got(status, &row, world->rows, at);
        maybe_yield(world);
    }
}

static void check_gets(struct world *world, const struct revision *revision)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};

    sirix_trie_cursor_init(&cursor, world->store.reader, revision->trie);
    for (uint32_t i = 0; i < 2 * POSITIONS; i++) {
        uint32_t at = i < POSITIONS ? i : random_position(world);
        enum sirix_status status = sirix_trie_get(&cursor, key_of(at), &row, NULL);
        assert_got(status, &row, revision->rows, at);
        maybe_yield(world);
    }
    assert_int_equal(sirix_trie_get(&cursor, SIRIX_KEY_MAX + 1, &row, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_trie_get(&cursor, UINT64_C(1) << 33, &row, NULL), SIRIX_NOT_FOUND);
}

static void check_scan(struct world *world, const struct revision *revision)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};
    uint64_t key = 0;

    sirix_trie_cursor_init(&cursor, world->store.reader, revision->trie);
    for (uint32_t i = 0; i < POSITIONS; i++) {
        if (revision->rows[i].width != 0) {
            assert_int_equal(sirix_trie_next(&cursor, key, &row, NULL), SIRIX_OK);
            assert_row(&row, revision->rows, i);
            key = row.key + row.width;
            maybe_yield(world);
        }
    }
    assert_int_equal(sirix_trie_next(&cursor, key, &row, NULL), SIRIX_NOT_FOUND);

    for (uint32_t i = 0; i < 200; i++) {
        uint32_t at = random_position(world);
        enum sirix_status status = sirix_trie_next(&cursor, key_of(at), &row, NULL);
        while (at < POSITIONS && revision->rows[at].width == 0) {
            at++;
        }
        assert_int_equal(status, at == POSITIONS ? SIRIX_NOT_FOUND : SIRIX_OK);
        if (status == SIRIX_OK) {
            assert_row(&row, revision->rows, at);
        }
    }
}

static bool rows_differ(const struct model_row *a, const struct model_row *b)
{
    uint8_t place_a[RECORD_MAX];
    uint8_t place_b[RECORD_MAX];

    if (a->width == 0 || b->width == 0) {
        return a->width != b->width;
    }
    return a->id != b->id && !sirix_bytes_equal(record_of(a, place_a), record_of(b, place_b));
}

static void check_compare(struct world *world, const struct revision *a, const struct revision *b)
{
    struct sirix_trie_compare compare;
    struct sirix_row row_a = {0};
    struct sirix_row row_b = {0};

    sirix_trie_compare_init(&compare, world->store.reader, a->trie, world->store.reader, b->trie);
    for (uint32_t i = 0; i < POSITIONS; i++) {
        if (!rows_differ(&a->rows[i], &b->rows[i])) {
            continue;
        }
        assert_int_equal(sirix_trie_compare_next(&compare, &row_a, &row_b, NULL), SIRIX_OK);
        assert_int_equal(row_a.key, key_of(i));
        assert_int_equal(row_b.key, key_of(i));
        if (a->rows[i].width != 0) {
            assert_row(&row_a, a->rows, i);
        } else {
            assert_null(row_a.record.data);
        }
        if (b->rows[i].width != 0) {
            assert_row(&row_b, b->rows, i);
        } else {
            assert_null(row_b.record.data);
        }
        maybe_yield(world);
    }
    assert_int_equal(sirix_trie_compare_next(&compare, &row_a, &row_b, NULL), SIRIX_NOT_FOUND);
    assert_int_equal(sirix_trie_compare_next(&compare, &row_a, &row_b, NULL), SIRIX_NOT_FOUND);
}

/* --- Revisions ------------------------------------------------------------------------------- */

static void change(struct world *world, struct sirix_trie_edit *edit)
{
    static const uint32_t amounts[] = {1, 3, 10, 60, 400};
    uint32_t amount = amounts[dice_below(&world->dice, 5)];

    for (uint32_t i = 0; i < amount; i++) {
        uint32_t choice = dice_below(&world->dice, 100);
        if (choice < 85) {
            put_somewhere(world, edit);
        } else if (choice < 97) {
            remove_somewhere(world, edit);
        } else {
            put_same_again(world, edit);
        }
        maybe_yield(world);
        check_edit(world, edit, 3);
    }
}

/* Each revision is built on a random earlier one, mostly the last, so there are branches too. */
static void make_revision(struct world *world)
{
    static const size_t segment_sizes[] = {256, 4096, 0};
    struct revision *revision = &world->revisions[world->count];
    const struct revision *base = &world->revisions[world->count - 1];
    struct sirix_trie_edit *edit = NULL;
    struct sirix_page_writer *writer = NULL;

    if (dice_below(&world->dice, 4) == 0) {
        base = &world->revisions[dice_below(&world->dice, world->count)];
    }
    memcpy(world->rows, base->rows, sizeof(world->rows));
    assert_int_equal(sirix_trie_edit_new(world->store.reader, base->trie, &edit, NULL), SIRIX_OK);
    if (bulk_cluster_empty(world) && dice_below(&world->dice, 2) == 0) {
        graft_bulk(world, edit);
    }
    change(world, edit);
    check_edit(world, edit, 2000);

    writer = store_writer(&world->store, segment_sizes[dice_below(&world->dice, 3)]);
    assert_int_equal(sirix_trie_edit_write(edit, writer, &revision->trie, NULL), SIRIX_OK);
    check_edit(world, edit, 200);
    sirix_trie_edit_free(edit);
    (void)store_publish(&world->store, writer);
    memcpy(revision->rows, world->rows, sizeof(world->rows));
    world->count++;
    check_gets(world, revision);
    check_scan(world, revision);
}

static void check_all(struct world *world)
{
    for (uint32_t i = 0; i < world->count; i++) {
        check_gets(world, &world->revisions[i]);
        check_scan(world, &world->revisions[i]);
        for (uint32_t j = 0; j < world->count; j += 1 + dice_below(&world->dice, 3)) {
            check_compare(world, &world->revisions[i], &world->revisions[j]);
        }
    }
}

static void every_revision_reads_as_the_model_says(void **state)
{
    const char *more = getenv("SIRIX_MODEL_SEEDS");
    const uint64_t seeds = more == NULL ? 4 : strtoull(more, NULL, 10);
    uint32_t bulk_builds = 0;

    (void)state;
    for (uint64_t seed = 1; seed <= seeds; seed++) {
        struct world *world = calloc(1, sizeof(*world));
        assert_non_null(world);
        world->dice.state = seed;
        world->revisions = calloc(REVISIONS, sizeof(*world->revisions));
        assert_non_null(world->revisions);
        store_open(&world->store, seed);
        world->count = 1; /* Revision 0 is empty. */
        while (world->count < REVISIONS) {
            make_revision(world);
        }
        check_all(world);
        bulk_builds += world->bulk_builds;
        store_close(&world->store);
        free(world->revisions);
        free(world);
    }
    assert_true(bulk_builds > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_revision_reads_as_the_model_says),
    };
    return cmocka_run_group_tests_name("trie_model", tests, NULL, NULL);
}
