/* Buffers, arenas and maps, with allocations that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/checked.h"
#include "base/map.h"
#include "base/varint.h"
#include "unit/base/alloc_fault.h"

/* --- Buffer ----------------------------------------------------------------------------------- */

static void a_buffer_grows_and_keeps_its_bytes(void **state)
{
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, SIZE_MAX);
    for (uint32_t i = 0; i < 10000; i++) {
        assert_int_equal(sirix_buf_append_u32le(&buf, i, NULL), SIRIX_OK);
    }
    assert_int_equal(buf.len, 40000);
    for (size_t i = 0; i < 10000; i++) {
        assert_int_equal(buf.data[4 * i] | buf.data[4 * i + 1] << 8, i);
    }
    sirix_buf_consume(&buf, 39996);
    assert_int_equal(buf.len, 4);
    assert_int_equal(buf.data[0] | buf.data[1] << 8, 9999);
    sirix_buf_deinit(&buf);
    assert_null(buf.data);
}

static void a_buffer_refuses_to_pass_its_maximum_and_stays_as_it_was(void **state)
{
    struct sirix_error err = {0};
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 5);
    assert_int_equal(sirix_buf_append_str(&buf, "abcd", &err), SIRIX_OK);
    assert_int_equal(sirix_buf_append_str(&buf, "ef", &err), SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_int_equal(sirix_buf_reserve(&buf, SIZE_MAX, &err), SIRIX_EXHAUSTED);
    assert_int_equal(sirix_buf_append_u8(&buf, 'e', &err), SIRIX_OK);
    assert_memory_equal(buf.data, "abcde", 5);
    assert_int_equal(buf.len, 5);
    sirix_buf_deinit(&buf);
}

static void a_full_buffer_can_still_be_a_c_string(void **state)
{
    const char *text = NULL;
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 64);
    assert_int_equal(sirix_buf_append_fill(&buf, 'x', 64, NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&buf, &text, NULL), SIRIX_OK);
    assert_int_equal(strlen(text), 64);
    sirix_buf_deinit(&buf);
    assert_int_equal(sirix_buf_c_str(&buf, &text, NULL), SIRIX_OK);
    assert_string_equal(text, "");
    sirix_buf_deinit(&buf);
}

static void printing_to_a_buffer_has_no_length_of_its_own(void **state)
{
    struct sirix_buf buf;
    char longer[1000];

    (void)state;
    memset(longer, 'y', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    sirix_buf_init(&buf, 1010);
    assert_int_equal(sirix_buf_printf(&buf, NULL, "%d,", 42), SIRIX_OK);
    assert_int_equal(sirix_buf_printf(&buf, NULL, "%s", longer), SIRIX_OK);
    assert_int_equal(buf.len, 3 + 999);
    assert_int_equal(sirix_buf_printf(&buf, NULL, "%s", longer), SIRIX_EXHAUSTED);
    assert_int_equal(buf.len, 3 + 999);
    sirix_buf_deinit(&buf);
}

static void taking_a_buffer_leaves_an_empty_one(void **state)
{
    uint8_t *data = NULL;
    size_t len = 0;
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, 100);
    assert_int_equal(sirix_buf_append_u64le(&buf, UINT64_C(0x0102030405060708), NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_u16le(&buf, 0x0a0b, NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_append_varint(&buf, 300, NULL), SIRIX_OK);
    sirix_buf_take(&buf, &data, &len);
    assert_int_equal(len, 12);
    assert_memory_equal(data, "\x08\x07\x06\x05\x04\x03\x02\x01\x0b\x0a\xac\x02", 12);
    assert_int_equal(buf.len, 0);
    free(data);
}

static void a_buffer_survives_the_failure_of_any_allocation(void **state)
{
    char longer[600];
    struct sirix_buf buf;

    (void)state;
    memset(longer, 'z', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    for (long failing = 0; failing < 4; failing++) {
        enum sirix_status status = SIRIX_OK;

        sirix_buf_init(&buf, SIZE_MAX);
        alloc_fault_arm(failing);
        status = sirix_buf_append_str(&buf, "abc", NULL);
        if (status == SIRIX_OK) {
            status = sirix_buf_printf(&buf, NULL, "%s", longer);
        }
        alloc_fault_disarm();
        assert_int_equal(status, failing < 3 ? SIRIX_NO_MEMORY : SIRIX_OK);
        assert_int_equal(buf.len, failing == 0 ? 0 : (failing < 3 ? 3 : 602));
        sirix_buf_deinit(&buf);
    }
}

/* --- Arena ------------------------------------------------------------------------------------ */

static void an_arena_gives_aligned_memory_that_does_not_overlap(void **state)
{
    struct sirix_arena arena;
    uint8_t *given[300];

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < 300; i++) {
        size_t align = (size_t)1 << (i % 13);
        void *memory = NULL;

        assert_int_equal(sirix_arena_alloc_aligned(&arena, i * 37, align, &memory, NULL), SIRIX_OK);
        assert_int_equal((uintptr_t)memory % align, 0);
        given[i] = memory;
        memset(memory, (int)(i & 0xff), i * 37);
    }
    for (size_t i = 0; i < 300; i++) {
        for (size_t at = 0; at < i * 37; at++) {
            assert_int_equal(given[i][at], i & 0xff);
        }
    }
    sirix_arena_deinit(&arena);
}

static void an_arena_keeps_its_limit(void **state)
{
    struct sirix_error err = {0};
    struct sirix_arena arena;
    void *memory = NULL;

    (void)state;
    sirix_arena_init(&arena, 100);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 60, 1, &memory, &err), SIRIX_OK);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 41, 1, &memory, &err), SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 40, 1, &memory, &err), SIRIX_OK);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 1, 1, &memory, &err), SIRIX_EXHAUSTED);
    assert_int_equal(sirix_arena_calloc(&arena, SIZE_MAX / 2, 3, &memory, &err), SIRIX_EXHAUSTED);
    sirix_arena_reset(&arena);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 100, 1, &memory, &err), SIRIX_OK);
    sirix_arena_deinit(&arena);
}

static void padding_never_wraps_the_limit(void **state)
{
    struct sirix_arena arena;
    void *memory = NULL;

    (void)state;
    sirix_arena_init(&arena, 10);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 1, 1, &memory, NULL), SIRIX_OK);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 1, 4096, &memory, NULL), SIRIX_OK);
    assert_int_equal(sirix_arena_alloc_aligned(&arena, 1, 1, &memory, NULL), SIRIX_EXHAUSTED);
    sirix_arena_deinit(&arena);
}

static void a_mark_takes_back_what_came_after_it(void **state)
{
    struct sirix_bytes text = {.data = "kept", .len = 4};
    struct sirix_arena_mark mark;
    struct sirix_arena arena;
    char *kept = NULL;
    void *memory = NULL;

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    mark = sirix_arena_mark(&arena);
    sirix_arena_rewind(&arena, mark); /* Before the first block. */
    assert_int_equal(sirix_arena_c_str(&arena, text, &kept, NULL), SIRIX_OK);
    mark = sirix_arena_mark(&arena);
    size_t used = arena.used_bytes;
    for (int i = 0; i < 100; i++) {
        assert_int_equal(sirix_arena_alloc(&arena, 5000, &memory, NULL), SIRIX_OK);
    }
    sirix_arena_rewind(&arena, mark);
    assert_int_equal(arena.used_bytes, used);
    assert_string_equal(kept, "kept");
    assert_int_equal(sirix_arena_printf(&arena, &kept, NULL, "%s-%d", "x", 3), SIRIX_OK);
    assert_string_equal(kept, "x-3");
    assert_int_equal(sirix_arena_strdup(&arena, "dup", &kept, NULL), SIRIX_OK);
    assert_string_equal(kept, "dup");
    sirix_arena_deinit(&arena);
}

static void an_arena_without_memory_says_so_and_goes_on_afterwards(void **state)
{
    struct sirix_arena arena;
    void *memory = NULL;

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    alloc_fault_arm(0);
    assert_int_equal(sirix_arena_alloc(&arena, 10, &memory, NULL), SIRIX_NO_MEMORY);
    assert_null(memory);
    alloc_fault_disarm();
    assert_int_equal(sirix_arena_alloc(&arena, 10, &memory, NULL), SIRIX_OK);
    assert_int_equal(sirix_arena_alloc(&arena, SIZE_MAX - 31, &memory, NULL), SIRIX_NO_MEMORY);
    assert_int_equal(sirix_arena_alloc(&arena, 10, &memory, NULL), SIRIX_OK);
    sirix_arena_deinit(&arena);
}

/* --- Map -------------------------------------------------------------------------------------- */

enum { MODEL_KEYS = 512 };

/* Random puts and removals against an array, with keys that collide on purpose often enough. */
static void a_map_agrees_with_a_plain_array(void **state)
{
    uint64_t values[MODEL_KEYS];
    bool present[MODEL_KEYS] = {false};
    struct sirix_map map;
    size_t count = 0;
    uint64_t seed = 12345;

    (void)state;
    sirix_map_init(&map);
    for (int step = 0; step < 200000; step++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407U;
        uint64_t key = (seed >> 33) % MODEL_KEYS;
        uint64_t value = UINT64_MAX;

        if ((seed >> 20 & 3) == 0) {
            assert_int_equal(sirix_map_remove(&map, key, &value), present[key]);
            assert_true(!present[key] || value == values[key]);
            count -= present[key] ? 1 : 0;
            present[key] = false;
        } else if ((seed >> 20 & 3) == 1) {
            assert_int_equal(sirix_map_put(&map, key, seed, NULL), SIRIX_OK);
            count += present[key] ? 0 : 1;
            present[key] = true;
            values[key] = seed;
        } else {
            assert_int_equal(sirix_map_get(&map, key, &value), present[key]);
            assert_true(!present[key] || value == values[key]);
        }
        assert_int_equal(map.count, count);
    }
    size_t cursor = 0;
    size_t seen = 0;
    uint64_t key = 0;
    uint64_t value = 0;
    while (sirix_map_next(&map, &cursor, &key, &value)) {
        assert_true(key < MODEL_KEYS && present[key] && values[key] == value);
        present[key] = false;
        seen++;
    }
    assert_int_equal(seen, count);
    sirix_map_clear(&map);
    assert_false(sirix_map_get(&map, 1, NULL));
    assert_false(sirix_map_get(&map, 0, NULL));
    sirix_map_deinit(&map);
}

static void a_map_without_memory_stays_as_it_was(void **state)
{
    struct sirix_map map;
    uint64_t full = 0;

    (void)state;
    sirix_map_init(&map);
    alloc_fault_arm(0);
    assert_int_equal(sirix_map_put(&map, 5, 6, NULL), SIRIX_NO_MEMORY);
    assert_int_equal(sirix_map_put(&map, 0, 6, NULL), SIRIX_OK); /* Its own place. */
    alloc_fault_disarm();
    assert_int_equal(map.count, 1);
    alloc_fault_arm(1);
    for (full = 1; sirix_map_put(&map, full, full, NULL) == SIRIX_OK; full++) {
    }
    assert_int_equal(sirix_map_put(&map, 3, 33, NULL), SIRIX_OK); /* Replaces: no growth. */
    alloc_fault_disarm();
    for (uint64_t key = 1; key < full; key++) {
        uint64_t value = 0;

        assert_true(sirix_map_get(&map, key, &value));
        assert_int_equal(value, key == 3 ? 33 : key);
    }
    assert_false(sirix_map_get(&map, full, NULL));
    sirix_map_deinit(&map);
}

static void a_reserved_map_does_not_allocate(void **state)
{
    struct sirix_map map;
    int thing = 0;

    (void)state;
    sirix_map_init(&map);
    assert_int_equal(sirix_map_reserve(&map, 1000, NULL), SIRIX_OK);
    alloc_fault_arm(0);
    for (uint64_t key = 0; key < 1000; key++) {
        assert_int_equal(sirix_map_put_ptr(&map, key, &thing, NULL), SIRIX_OK);
    }
    alloc_fault_disarm();
    assert_ptr_equal(sirix_map_get_ptr(&map, 999), &thing);
    assert_null(sirix_map_get_ptr(&map, 1000));
    sirix_map_deinit(&map);
}

/* --- Sums ------------------------------------------------------------------------------------- */

static void sums_and_products_tell_when_they_do_not_fit(void **state)
{
    size_t size = 1;
    uint64_t u64 = 1;
    int64_t i64 = 1;

    (void)state;
    assert_false(sirix_add_size(SIZE_MAX, 1, &size));
    assert_false(sirix_mul_size(SIZE_MAX / 2 + 1, 2, &size));
    assert_false(sirix_add_u64(UINT64_MAX, 1, &u64));
    assert_false(sirix_mul_u64(UINT64_MAX, 2, &u64));
    assert_false(sirix_add_i64(INT64_MIN, -1, &i64));
    assert_false(sirix_mul_i64(INT64_MIN, -1, &i64));
    assert_true(size == 1 && u64 == 1 && i64 == 1);
    assert_true(sirix_add_size(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
    assert_true(sirix_mul_i64(INT64_MIN, 1, &i64) && i64 == INT64_MIN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_buffer_grows_and_keeps_its_bytes),
        cmocka_unit_test(a_buffer_refuses_to_pass_its_maximum_and_stays_as_it_was),
        cmocka_unit_test(a_full_buffer_can_still_be_a_c_string),
        cmocka_unit_test(printing_to_a_buffer_has_no_length_of_its_own),
        cmocka_unit_test(taking_a_buffer_leaves_an_empty_one),
        cmocka_unit_test(a_buffer_survives_the_failure_of_any_allocation),
        cmocka_unit_test(an_arena_gives_aligned_memory_that_does_not_overlap),
        cmocka_unit_test(an_arena_keeps_its_limit),
        cmocka_unit_test(padding_never_wraps_the_limit),
        cmocka_unit_test(a_mark_takes_back_what_came_after_it),
        cmocka_unit_test(an_arena_without_memory_says_so_and_goes_on_afterwards),
        cmocka_unit_test(a_map_agrees_with_a_plain_array),
        cmocka_unit_test(a_map_without_memory_stays_as_it_was),
        cmocka_unit_test(a_reserved_map_does_not_allocate),
        cmocka_unit_test(sums_and_products_tell_when_they_do_not_fit),
    };
    return cmocka_run_group_tests_name("memory", tests, NULL, NULL);
}
