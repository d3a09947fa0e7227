/* The limit of calls, on a clock of its own. */
#include "unit/gateway/gateway_help.h"

#include "guard/rate.h"

static uint64_t now_ns;

static uint64_t monotonic_ns(void *context)
{
    (void)context;
    return now_ns;
}

static const struct sirix_clock test_clock = {.monotonic_ns = monotonic_ns};

static unsigned take_all(struct sirix_rate *rate, uint64_t per_minute, uint64_t *out_wait_ms)
{
    unsigned taken = 0;

    while (taken < 100000 && sirix_rate_take(rate, per_minute, &test_clock, out_wait_ms)) {
        taken++;
    }
    return taken;
}

static void a_burst_of_a_second_passes_and_then_the_rate(void **state)
{
    struct sirix_rate rate = {0};
    uint64_t wait_ms = 0;

    (void)state;
    now_ns = UINT64_C(5000000000);
    assert_int_equal(take_all(&rate, 6000, &wait_ms), 100);
    assert_int_equal(wait_ms, 10);
    now_ns += wait_ms * 1000000;
    assert_int_equal(take_all(&rate, 6000, &wait_ms), 1);
    now_ns += UINT64_C(60000000000);
    assert_int_equal(take_all(&rate, 6000, &wait_ms), 100);
}

static void even_a_slow_rate_lets_one_call_pass(void **state)
{
    struct sirix_rate rate = {0};
    uint64_t wait_ms = 0;

    (void)state;
    now_ns = 1;
    assert_int_equal(take_all(&rate, 1, &wait_ms), 1);
    assert_int_equal(wait_ms, 60000);
    now_ns += UINT64_C(60000000000);
    assert_int_equal(take_all(&rate, 1, &wait_ms), 1);
}

static void a_minute_has_no_more_than_its_calls_and_a_burst(void **state)
{
    struct sirix_rate rate = {0};
    uint64_t wait_ms = 0;
    unsigned taken = 0;

    (void)state;
    for (int second = 0; second < 60; second++) {
        now_ns += UINT64_C(1000000000);
        taken += take_all(&rate, 600, &wait_ms);
    }
    assert_int_equal(taken, 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_burst_of_a_second_passes_and_then_the_rate),
        cmocka_unit_test(even_a_slow_rate_lets_one_call_pass),
        cmocka_unit_test(a_minute_has_no_more_than_its_calls_and_a_burst),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
