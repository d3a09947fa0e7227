/* Buckets, their bounds, and quantiles; many threads lose nothing. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/histogram.h"

enum { THREADS = 4, ROUNDS = 20000 };

static void a_value_is_in_the_first_bucket_that_it_fits_into(void **state)
{
    struct sirix_histogram histogram = {0};
    struct sirix_histogram_reading reading;

    (void)state;
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 0);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 50);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 51);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 10000000);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 10000001);
    sirix_histogram_read(&histogram, &reading);

    assert_int_equal(reading.counts[0], 2);
    assert_int_equal(reading.counts[1], 1);
    assert_int_equal(reading.counts[SIRIX_HISTOGRAM_BUCKETS - 1], 1);
    assert_int_equal(reading.counts[SIRIX_HISTOGRAM_BUCKETS], 1);
    assert_int_equal(reading.total, 5);
    assert_int_equal(reading.sum, 20000102);
}

static void bounds_rise(void **state)
{
    (void)state;
    for (unsigned i = 1; i < SIRIX_HISTOGRAM_BUCKETS; i++) {
        assert_true(sirix_histogram_times_us[i] > sirix_histogram_times_us[i - 1]);
        assert_true(sirix_histogram_sizes[i] > sirix_histogram_sizes[i - 1]);
    }
}

static void a_quantile_is_the_bound_that_the_share_does_not_pass(void **state)
{
    struct sirix_histogram histogram = {0};
    struct sirix_histogram_reading reading;

    (void)state;
    sirix_histogram_read(&histogram, &reading);
    assert_int_equal(sirix_histogram_quantile(&reading, sirix_histogram_times_us, 990), 0);
    for (unsigned i = 0; i < 98; i++) {
        sirix_histogram_add(&histogram, sirix_histogram_times_us, 70);
    }
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 900);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 99999999);
    sirix_histogram_read(&histogram, &reading);

    assert_int_equal(sirix_histogram_quantile(&reading, sirix_histogram_times_us, 500), 100);
    assert_int_equal(sirix_histogram_quantile(&reading, sirix_histogram_times_us, 990), 1000);
    assert_true(sirix_histogram_quantile(&reading, sirix_histogram_times_us, 1000) == UINT64_MAX);
}

static void *add_many(void *context)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        sirix_histogram_add(context, sirix_histogram_sizes, i % 3);
    }
    return NULL;
}

static void threads_lose_nothing(void **state)
{
    struct sirix_histogram histogram = {0};
    struct sirix_histogram_reading reading;
    pthread_t threads[THREADS];

    (void)state;
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, add_many, &histogram), 0);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    sirix_histogram_read(&histogram, &reading);

    assert_int_equal(reading.total, THREADS * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_value_is_in_the_first_bucket_that_it_fits_into),
        cmocka_unit_test(bounds_rise),
        cmocka_unit_test(a_quantile_is_the_bound_that_the_share_does_not_pass),
        cmocka_unit_test(threads_lose_nothing),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
