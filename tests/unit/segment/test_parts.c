/*
 * The small parts under the backends: sealed segments, packs as bytes, the tables of a reader, the
 * memory of checks, and what the memory backend does by its seed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "store/segment/pack.h"
#include "store/segment/slices.h"
#include "store/segment/verified.h"
#include "unit/segment/support.h"

/* --- Fault injection -------------------------------------------------------------------------- */

static bool allocations_fail;
static int allocations_until_failure = -1; /* 0: the next one fails; -1: none does. */

static bool allocation_fails(void)
{
    if (allocations_until_failure >= 0 && allocations_until_failure-- == 0) {
        return true;
    }
    return allocations_fail;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return allocation_fails() ? NULL : __real_calloc(count, size);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return allocation_fails() ? NULL : __real_malloc(size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    return allocation_fails() ? NULL : __real_realloc(old, size);
}

/* --- Segments --------------------------------------------------------------------------------- */

static void any_changed_byte_of_a_segment_is_found(void **state)
{
    (void)state;
    struct sirix_bytes good = test_segment_new(5, 200);
    uint8_t bytes[200];

    assert_int_equal(sirix_segment_check(good, 5, NULL), SIRIX_OK);
    for (size_t i = 0; i < sizeof(bytes); i++) {
        memcpy(bytes, good.data, sizeof(bytes));
        bytes[i] ^= 0x10;
        struct sirix_error err = {0};
        assert_int_equal(sirix_segment_check((struct sirix_bytes){bytes, sizeof(bytes)}, 5, &err),
                         SIRIX_CORRUPT);
        assert_int_equal(err.reason, SIRIX_REASON_CHECKSUM);
        assert_non_null(strstr(err.text, "segment 5"));
    }
    test_segment_free(good);
}

static void a_segment_of_another_length_is_refused(void **state)
{
    (void)state;
    struct sirix_bytes good = test_segment_new(5, 200);

    for (size_t len = 0; len < 200; len++) {
        struct sirix_bytes cut = {.data = good.data, .len = len};
        assert_int_equal(sirix_segment_check(cut, 5, NULL), SIRIX_CORRUPT);
    }
    test_segment_free(good);
}

static void addresses_hold_number_and_offset(void **state)
{
    (void)state;
    const struct {
        uint64_t number;
        uint32_t offset;
    } cases[] = {{1, 16}, {SIRIX_SEGMENT_NUMBER_MAX, SIRIX_SEGMENT_BYTES_MAX - 8}, {77, 0}};

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t address = sirix_address_make(cases[i].number, cases[i].offset);
        assert_int_equal(sirix_address_number(address), cases[i].number);
        assert_int_equal(sirix_address_offset(address), cases[i].offset);
    }
}

/* --- Packs ------------------------------------------------------------------------------------ */

enum { MEMBERS = 5 };

static struct sirix_buf pack_new(struct sirix_pack_member members[MEMBERS])
{
    const uint64_t numbers[MEMBERS] = {512, 515, 516, 600, 767};
    struct sirix_buf buf;

    sirix_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < MEMBERS; i++) {
        members[i] = (struct sirix_pack_member){.number = numbers[i],
                                                .bytes = test_segment_new(numbers[i], 30 + 17 * i)};
    }
    assert_int_equal(sirix_pack_build(members, MEMBERS, &buf, NULL), SIRIX_OK);
    return buf;
}

static void pack_end(struct sirix_pack_member members[MEMBERS], struct sirix_buf *buf)
{
    for (size_t i = 0; i < MEMBERS; i++) {
        test_segment_free(members[i].bytes);
    }
    sirix_buf_deinit(buf);
}

static void a_pack_gives_its_members_back(void **state)
{
    (void)state;
    struct sirix_pack_member members[MEMBERS];
    struct sirix_buf buf = pack_new(members);
    struct sirix_bytes pack = sirix_buf_view(&buf);
    struct sirix_bytes found;

    assert_int_equal(sirix_pack_check(pack, 767, NULL), SIRIX_OK);
    assert_int_equal(sirix_pack_count(pack), MEMBERS);
    for (size_t i = 0; i < MEMBERS; i++) {
        assert_true(sirix_pack_find(pack, members[i].number, &found));
        assert_true(sirix_bytes_equal(found, members[i].bytes));
        assert_int_equal(sirix_pack_lower_bound(pack, members[i].number), i);
        assert_int_equal(sirix_pack_at(pack, i).number, members[i].number);
    }
    assert_false(sirix_pack_find(pack, 513, &found));
    assert_false(sirix_pack_find(pack, 511, &found));
    assert_int_equal(sirix_pack_lower_bound(pack, 768), MEMBERS);
    pack_end(members, &buf);
}

/* What damage does: refused, or every member is inside the pack and its own checksum decides. */
static void no_damage_to_a_pack_leads_outside_of_it(void **state)
{
    (void)state;
    struct sirix_pack_member members[MEMBERS];
    struct sirix_buf buf = pack_new(members);
    unsigned refused = 0;
    unsigned member_refused = 0;

    for (size_t at = 0; at < buf.len; at++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            uint8_t *copy = malloc(buf.len); /* Of its exact size, for the sanitizer. */
            assert_non_null(copy);
            memcpy(copy, buf.data, buf.len);
            copy[at] ^= (uint8_t)(1u << bit);
            struct sirix_bytes pack = {.data = copy, .len = buf.len};
            if (sirix_pack_check(pack, 767, NULL) != SIRIX_OK) {
                refused++;
            } else {
                for (size_t i = 0; i < sirix_pack_count(pack); i++) {
                    struct sirix_pack_member member = sirix_pack_at(pack, i);
                    member_refused +=
                        sirix_segment_check(member.bytes, member.number, NULL) == SIRIX_OK ? 0 : 1;
                }
            }
            free(copy);
        }
    }
    assert_true(refused >= 8 * 44); /* The whole header and directory of five. */
    assert_true(member_refused >= 8 * (30 + 47 + 64 + 81 + 98));
    for (size_t len = 0; len < buf.len; len++) {
        uint8_t *copy = malloc(len + 1);
        assert_non_null(copy);
        memcpy(copy, buf.data, len);
        assert_int_equal(sirix_pack_check((struct sirix_bytes){copy, len}, 767, NULL),
                         SIRIX_CORRUPT);
        free(copy);
    }
    pack_end(members, &buf);
}

/* Forms that no writer makes, under a checksum that fits. */
static void a_pack_of_a_strange_form_is_refused(void **state)
{
    (void)state;
    struct sirix_pack_member members[MEMBERS];
    const struct {
        const char *why;
        size_t at;
        uint8_t value;
    } cases[] = {
        {"byte 3 is not 0", 3, 1},
        {"bytes 22, 23 are not 0", 22, 1},
        {"format 2", 2, 2},
        {"no members", 20, 0},
        {"the directory falls", 24, 4},
        {"the directory repeats", 28, 0},
        {"a member in the directory", 25, 2},
        {"a member beyond the end", 27, 1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_buf buf = pack_new(members);

        buf.data[cases[i].at] = cases[i].value;
        sirix_store_u32le(buf.data + 4, sirix_crc32c(0, buf.data + 8, 24 + 4 * MEMBERS - 8));
        if (sirix_pack_check(sirix_buf_view(&buf), 767, NULL) != SIRIX_CORRUPT) {
            fail_msg("accepted: %s", cases[i].why);
        }
        pack_end(members, &buf);
    }
}

static void as_many_members_fit_as_the_size_allows(void **state)
{
    (void)state;
    struct sirix_bytes bytes = test_segment_new(1, SIRIX_PACK_MEMBER_BYTES_MAX);
    struct sirix_pack_member members[SIRIX_PACK_GROUP];
    struct sirix_buf buf;

    sirix_buf_init(&buf, 1 << 20);
    for (size_t i = 0; i < SIRIX_PACK_GROUP; i++) {
        members[i] = (struct sirix_pack_member){.number = 256 + i, .bytes = bytes};
    }
    size_t fit = sirix_pack_fit(members, SIRIX_PACK_GROUP);
    assert_int_equal(fit, 15);
    assert_int_equal(sirix_pack_build(members, fit, &buf, NULL), SIRIX_OK);
    assert_true(buf.len <= SIRIX_PACK_BYTES_MAX);
    for (size_t i = 0; i < SIRIX_PACK_GROUP; i++) {
        members[i].bytes.len = 16;
    }
    assert_int_equal(sirix_pack_fit(members, SIRIX_PACK_GROUP), SIRIX_PACK_GROUP);
    sirix_buf_deinit(&buf);
    test_segment_free(bytes);
}

/* --- Slices ----------------------------------------------------------------------------------- */

static void slices_are_found_until_they_are_cleared(void **state)
{
    (void)state;
    struct sirix_slices slices;
    static const uint8_t bytes[4096];
    struct sirix_bytes found;

    sirix_slices_init(&slices);
    assert_false(sirix_slices_find(&slices, 1, &found));
    for (uint64_t round = 0; round < 3; round++) {
        for (uint64_t key = 0; key < 4096; key++) {
            sirix_slices_remember(&slices, key,
                                  (struct sirix_bytes){.data = bytes + key, .len = key + round});
        }
        for (uint64_t key = 0; key < 4096; key++) {
            assert_true(sirix_slices_find(&slices, key, &found));
            assert_ptr_equal(found.data, bytes + key);
            assert_int_equal(found.len, key + round);
        }
        assert_false(sirix_slices_find(&slices, 4096, &found));
        sirix_slices_clear(&slices);
        assert_false(sirix_slices_find(&slices, 7, &found));
    }
    sirix_slices_deinit(&slices);
}

static void slices_forget_rather_than_grow_without_end_or_fail(void **state)
{
    (void)state;
    struct sirix_slices slices;
    struct sirix_bytes found;
    struct sirix_bytes some = {.data = "x", .len = 1};

    sirix_slices_init(&slices);
    allocations_fail = true;
    sirix_slices_remember(&slices, 1, some);
    assert_false(sirix_slices_find(&slices, 1, &found));
    assert_int_equal(sirix_slices_copy(&slices, some, &found, NULL), SIRIX_NO_MEMORY);
    allocations_fail = false;
    for (uint64_t key = 0; key < (uint64_t)3 * SIRIX_SLICES_MAX; key++) {
        sirix_slices_remember(&slices, key, some);
        assert_true(sirix_slices_find(&slices, key, &found));
    }
    assert_true(slices.used <= SIRIX_SLICES_MAX);
    slices.stamp = UINT32_MAX;
    sirix_slices_remember(&slices, 5, some);
    sirix_slices_clear(&slices); /* The stamp begins again. */
    for (uint64_t key = 0; key < SIRIX_SLICES_MAX; key++) {
        assert_false(sirix_slices_find(&slices, key, &found));
    }
    sirix_slices_deinit(&slices);
}

/* --- Verified --------------------------------------------------------------------------------- */

static void numbers_are_verified_one_by_one(void **state)
{
    (void)state;
    struct sirix_verified verified;
    const uint64_t numbers[] = {0,
                                1,
                                63,
                                64,
                                65535,
                                65536,
                                33554431,
                                33554432,
                                1 << 30,
                                1ull << 42,
                                SIRIX_SEGMENT_NUMBER_MAX};
    enum { COUNT = sizeof(numbers) / sizeof(numbers[0]) };

    sirix_verified_init(&verified);
    for (size_t i = 0; i < COUNT; i++) {
        for (size_t j = 0; j < COUNT; j++) {
            assert_int_equal(sirix_verified_has(&verified, numbers[j]), j < i);
        }
        sirix_verified_add(&verified, numbers[i]);
    }
    sirix_verified_remove(&verified, 64);
    sirix_verified_remove(&verified, 12345678);
    assert_false(sirix_verified_has(&verified, 64));
    assert_true(sirix_verified_has(&verified, 63));
    sirix_verified_deinit(&verified);
    assert_false(sirix_verified_has(&verified, 63));

    allocations_fail = true;
    sirix_verified_add(&verified, 9);
    allocations_fail = false;
    assert_false(sirix_verified_has(&verified, 9));
    sirix_verified_deinit(&verified);
}

/* --- The memory backend by its seed ----------------------------------------------------------- */

static void an_unknown_outcome_is_applied_or_not_and_latches(void **state)
{
    (void)state;
    unsigned applied = 0;

    for (uint64_t seed = 0; seed < 40; seed++) {
        const struct sirix_memory_options options = {.seed = seed, .unknown_per_mille = 1000};
        struct sirix_backend *backend = NULL;
        struct sirix_backend_stats stats;

        assert_int_equal(sirix_backend_open_memory(&options, &backend, NULL), SIRIX_OK);
        (void)sirix_segment_reserve(backend, 2);
        assert_int_equal(test_put(backend, 1, 1, 100).status, SIRIX_OUTCOME_UNKNOWN);
        struct test_outcome outcome = test_put(backend, 2, 1, 100);
        assert_int_equal(outcome.status, SIRIX_UNAVAILABLE);
        assert_int_equal(outcome.error.reason, SIRIX_REASON_DATABASE_READ_ONLY);
        assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
        assert_true(stats.read_only);
        assert_int_equal(sirix_backend_writable(backend, &outcome.error), SIRIX_UNAVAILABLE);
        applied += (unsigned)stats.segment_count;

        sirix_backend_memory_reopen(backend);
        assert_int_equal(sirix_backend_writable(backend, NULL), SIRIX_OK);
        assert_int_equal(test_put(backend, 2, 1, 100).status, SIRIX_OUTCOME_UNKNOWN);
        sirix_backend_close(backend);
    }
    assert_true(applied > 5 && applied < 35);
}

static void no_space_comes_by_the_seed_and_changes_nothing(void **state)
{
    (void)state;
    const struct sirix_memory_options options = {.seed = 4, .no_space_per_mille = 500};
    struct sirix_backend *backend = NULL;
    struct sirix_backend_stats stats;
    uint64_t stored = 0;

    assert_int_equal(sirix_backend_open_memory(&options, &backend, NULL), SIRIX_OK);
    (void)sirix_segment_reserve(backend, 100);
    for (uint64_t number = 1; number <= 100; number++) {
        enum sirix_status status = test_put(backend, number, 1, 64).status;
        assert_true(status == SIRIX_OK || status == SIRIX_NO_SPACE);
        stored += status == SIRIX_OK ? 1 : 0;
    }
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, stored);
    assert_true(stored > 20 && stored < 80);
    sirix_backend_close(backend);
}

/* Fails the first allocation of a commit, then the second, and so on until it succeeds. */
static void a_commit_to_memory_happens_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    struct sirix_backend *backend = NULL;
    struct sirix_backend_stats stats;
    struct sirix_bytes bytes = test_segment_new(2, 100);
    const struct sirix_segment_put put = {.number = 2, .bytes = bytes};
    const struct sirix_segment_range range = {.first = 1, .last = 1};
    const struct sirix_ref_put refs[] = {
        {.key = test_text("a"), .value = test_text("new")},
        {.key = test_text("b"), .value = test_text("new")},
    };
    const struct sirix_batch batch = {.puts = &put,
                                      .put_count = 1,
                                      .deletes = &range,
                                      .delete_count = 1,
                                      .refs = refs,
                                      .ref_count = 2};
    enum sirix_status status = SIRIX_NO_MEMORY;
    int failures = 0;

    assert_int_equal(
        sirix_backend_open_memory(&(struct sirix_memory_options){.seed = 1}, &backend, NULL),
        SIRIX_OK);
    (void)sirix_segment_reserve(backend, 2);
    assert_int_equal(test_put(backend, 1, 1, 100).status, SIRIX_OK);
    assert_int_equal(test_ref(backend, "a", "old").status, SIRIX_OK);
    for (; status != SIRIX_OK; failures++) {
        struct sirix_reader *reader = NULL;
        struct sirix_bytes value;

        allocations_until_failure = failures;
        status = test_commit(backend, &batch).status;
        allocations_until_failure = -1;
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
        assert_int_equal(sirix_reader_open(backend, &reader, NULL), SIRIX_OK);
        assert_int_equal(sirix_ref_get(reader, test_text("a"), &value, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(value, test_text(status == SIRIX_OK ? "new" : "old")));
        assert_int_equal(sirix_ref_get(reader, test_text("b"), &value, NULL),
                         status == SIRIX_OK ? SIRIX_OK : SIRIX_NOT_FOUND);
        uint64_t there = status == SIRIX_OK ? 2 : 1;
        assert_int_equal(sirix_segment_get(reader, sirix_address_make(there, 16), 84, &value, NULL),
                         SIRIX_OK);
        sirix_reader_close(reader);
        assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
        assert_int_equal(stats.segment_count, 1);
    }
    assert_true(failures > 2);
    sirix_backend_close(backend);
    test_segment_free(bytes);
}

static void memory_of_dead_rows_is_given_back(void **state)
{
    (void)state;
    const struct sirix_memory_options options = {.seed = 4};
    struct sirix_backend *backend = NULL;
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_open_memory(&options, &backend, NULL), SIRIX_OK);
    for (unsigned i = 0; i < 2000; i++) {
        assert_int_equal(test_ref(backend, "key", "a value of some length").status, SIRIX_OK);
    }
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_true(stats.file_bytes < (uint64_t)300 * 32);
    sirix_backend_close(backend);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_changed_byte_of_a_segment_is_found),
        cmocka_unit_test(a_segment_of_another_length_is_refused),
        cmocka_unit_test(addresses_hold_number_and_offset),
        cmocka_unit_test(a_pack_gives_its_members_back),
        cmocka_unit_test(no_damage_to_a_pack_leads_outside_of_it),
        cmocka_unit_test(a_pack_of_a_strange_form_is_refused),
        cmocka_unit_test(as_many_members_fit_as_the_size_allows),
        cmocka_unit_test(slices_are_found_until_they_are_cleared),
        cmocka_unit_test(slices_forget_rather_than_grow_without_end_or_fail),
        cmocka_unit_test(numbers_are_verified_one_by_one),
        cmocka_unit_test(an_unknown_outcome_is_applied_or_not_and_latches),
        cmocka_unit_test(no_space_comes_by_the_seed_and_changes_nothing),
        cmocka_unit_test(a_commit_to_memory_happens_as_a_whole_or_not_at_all),
        cmocka_unit_test(memory_of_dead_rows_is_given_back),
    };
    return cmocka_run_group_tests_name("segment parts", tests, NULL, NULL);
}
