/* Keys of writes without a revision: once, the same answer, and forgotten after a day. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "service/idempotency.h"

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);

static bool fail_calloc;

void *__wrap_calloc(size_t count, size_t size)
{
    return fail_calloc ? NULL : __real_calloc(count, size);
}

static uint64_t now_ns;

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return now_ns;
}

static int64_t realtime_us(void *context)
{
    (void)context;
    return 0;
}

static const struct sirix_clock test_clock = {.realtime_us = realtime_us,
                                              .monotonic_ns = monotonic_ns};

static struct sirix_idempotency *table;

static int setup(void **state)
{
    (void)state;
    now_ns = 1;
    return sirix_idempotency_new(&test_clock, &table, NULL) == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    (void)state;
    sirix_idempotency_free(table);
    return 0;
}

static struct sirix_idempotency_id id_of(uint64_t number)
{
    struct sirix_idempotency_id id = {{0}};

    memcpy(id.bytes, &number, sizeof(number));
    return id;
}

static const uint8_t hash_a[SIRIX_SHA256_BYTES] = {1};
static const uint8_t hash_b[SIRIX_SHA256_BYTES] = {2};

static enum sirix_status begin(uint64_t number, const uint8_t *hash, uint64_t *answer,
                               bool *replayed, struct sirix_error *err)
{
    const struct sirix_idempotency_id id = id_of(number);

    return sirix_idempotency_begin(table, &id, hash, answer, sizeof(*answer), replayed, err);
}

static void end(uint64_t number, const uint64_t *answer)
{
    const struct sirix_idempotency_id id = id_of(number);

    sirix_idempotency_end(table, &id, answer, sizeof(*answer));
}

static void a_key_again_gives_the_first_answer(void **state)
{
    uint64_t answer = 0;
    bool replayed = true;

    (void)state;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_false(replayed);
    end(7, &(uint64_t){42});

    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_true(replayed);
    assert_int_equal(answer, 42);
}

static void a_key_with_another_request_is_invalid(void **state)
{
    struct sirix_error err = {0};
    uint64_t answer = 5;
    bool replayed = false;

    (void)state;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    end(7, &(uint64_t){42});

    assert_int_equal(begin(7, hash_b, &answer, &replayed, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_IDEMPOTENCY_MISMATCH);
    assert_int_equal(answer, 5);
}

static void a_failed_write_frees_its_key(void **state)
{
    uint64_t answer = 0;
    bool replayed = true;

    (void)state;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    end(7, NULL);

    assert_int_equal(begin(7, hash_b, &answer, &replayed, NULL), SIRIX_OK);
    assert_false(replayed);
    end(7, &(uint64_t){1});
}

static void looking_finds_ended_writes_alone(void **state)
{
    const struct sirix_idempotency_id id = id_of(7);
    uint64_t answer = 0;
    bool replayed = false;
    bool known = true;

    (void)state;
    assert_int_equal(
        sirix_idempotency_find(table, &id, hash_a, &answer, sizeof(answer), &known, NULL),
        SIRIX_OK);
    assert_false(known);
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_int_equal(
        sirix_idempotency_find(table, &id, hash_a, &answer, sizeof(answer), &known, NULL),
        SIRIX_OK);
    assert_false(known); /* In flight. */
    end(7, &(uint64_t){42});
    assert_int_equal(
        sirix_idempotency_find(table, &id, hash_a, &answer, sizeof(answer), &known, NULL),
        SIRIX_OK);
    assert_true(known);
    assert_int_equal(answer, 42);
    assert_int_equal(
        sirix_idempotency_find(table, &id, hash_b, &answer, sizeof(answer), &known, NULL),
        SIRIX_INVALID);
}

static void *begin_again(void *context)
{
    uint64_t *answer = context;
    bool replayed = false;

    if (begin(7, hash_a, answer, &replayed, NULL) != SIRIX_OK || !replayed) {
        *answer = 0;
    }
    return NULL;
}

static void a_second_request_waits_for_the_first(void **state)
{
    uint64_t answer = 0;
    uint64_t second = 0;
    bool replayed = false;
    pthread_t thread;

    (void)state;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_int_equal(pthread_create(&thread, NULL, begin_again, &second), 0);
    end(7, &(uint64_t){42});
    assert_int_equal(pthread_join(thread, NULL), 0);

    assert_int_equal(second, 42);
}

static void keys_are_forgotten_after_a_day_and_not_before(void **state)
{
    const uint64_t day_ns = UINT64_C(24) * 3600 * 1000000000;
    uint64_t answer = 0;
    bool replayed = false;

    (void)state;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    end(7, &(uint64_t){42});
    now_ns += day_ns - 1;
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_true(replayed);
    now_ns += 1;
    assert_int_equal(begin(7, hash_b, &answer, &replayed, NULL), SIRIX_OK);
    assert_false(replayed);
    end(7, &(uint64_t){1});
}

static void too_many_keys_are_refused_until_old_ones_go(void **state)
{
    const uint64_t day_ns = UINT64_C(24) * 3600 * 1000000000;
    struct sirix_error err = {0};
    uint64_t answer = 0;
    bool replayed = false;

    (void)state;
    for (uint64_t i = 1; i <= SIRIX_IDEMPOTENCY_ENTRIES_MAX; i++) {
        assert_int_equal(begin(i, hash_a, &answer, &replayed, NULL), SIRIX_OK);
        end(i, &i);
    }
    assert_int_equal(begin(0, hash_a, &answer, &replayed, &err), SIRIX_EXHAUSTED);
    assert_string_equal(err.field, "options.idempotency_key");
    assert_int_equal(begin(5, hash_a, &answer, &replayed, NULL), SIRIX_OK); /* A known one goes. */
    assert_true(replayed);
    now_ns += day_ns;
    assert_int_equal(begin(0, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    end(0, NULL);
}

static void without_memory_nothing_is_begun(void **state)
{
    struct sirix_idempotency *other = NULL;
    uint64_t answer = 0;
    bool replayed = false;

    (void)state;
    fail_calloc = true;
    enum sirix_status status = begin(7, hash_a, &answer, &replayed, NULL);
    enum sirix_status made = sirix_idempotency_new(&test_clock, &other, NULL);
    fail_calloc = false;

    assert_int_equal(status, SIRIX_NO_MEMORY);
    assert_int_equal(made, SIRIX_NO_MEMORY);
    assert_int_equal(begin(7, hash_a, &answer, &replayed, NULL), SIRIX_OK);
    assert_false(replayed);
    end(7, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_key_again_gives_the_first_answer, setup, teardown),
        cmocka_unit_test_setup_teardown(a_key_with_another_request_is_invalid, setup, teardown),
        cmocka_unit_test_setup_teardown(a_failed_write_frees_its_key, setup, teardown),
        cmocka_unit_test_setup_teardown(looking_finds_ended_writes_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(a_second_request_waits_for_the_first, setup, teardown),
        cmocka_unit_test_setup_teardown(keys_are_forgotten_after_a_day_and_not_before, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(too_many_keys_are_refused_until_old_ones_go, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(without_memory_nothing_is_begun, setup, teardown),
    };
    return cmocka_run_group_tests_name("service idempotency", tests, NULL, NULL);
}
