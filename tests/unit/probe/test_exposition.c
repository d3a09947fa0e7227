/* Prometheus' text, line by line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "probe/exposition.h"

static void numbers_and_seconds_have_their_lines(void **state)
{
    struct sirix_buf text;
    struct sirix_exposition exposition = {.out = &text, .status = SIRIX_OK};
    const char *got = NULL;

    (void)state;
    sirix_buf_init(&text, 4096);
    sirix_exposition_one(&exposition, "a_total", "counter", "As.", UINT64_MAX);
    sirix_exposition_family(&exposition, "b_seconds", "gauge", "Bs.");
    sirix_exposition_seconds(&exposition, "b_seconds", "{x=\"y\"}", 1000002);

    assert_int_equal(exposition.status, SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&text, &got, NULL), SIRIX_OK);
    assert_string_equal(got, "# HELP a_total As.\n# TYPE a_total counter\n"
                             "a_total 18446744073709551615\n"
                             "# HELP b_seconds Bs.\n# TYPE b_seconds gauge\n"
                             "b_seconds{x=\"y\"} 1.000002\n");
    sirix_buf_deinit(&text);
}

static void buckets_add_up_and_end_with_infinity(void **state)
{
    struct sirix_buf text;
    struct sirix_exposition exposition = {.out = &text, .status = SIRIX_OK};
    struct sirix_histogram histogram = {0};
    struct sirix_histogram_reading reading;
    const char *got = NULL;

    (void)state;
    sirix_buf_init(&text, 64 * 1024);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 60);
    sirix_histogram_add(&histogram, sirix_histogram_times_us, 3000000);
    sirix_histogram_read(&histogram, &reading);
    sirix_exposition_histogram(&exposition, "t", "method=\"M\"", sirix_histogram_times_us,
                               &reading);
    sirix_exposition_histogram(&exposition, "s", "", sirix_histogram_sizes, &reading);

    assert_int_equal(sirix_buf_c_str(&text, &got, NULL), SIRIX_OK);
    const char *const lines[] = {
        "t_bucket{method=\"M\",le=\"0.000050\"} 0\n",
        "t_bucket{method=\"M\",le=\"0.000100\"} 1\n",
        "t_bucket{method=\"M\",le=\"2.500000\"} 1\n",
        "t_bucket{method=\"M\",le=\"10.000000\"} 2\n",
        "t_bucket{method=\"M\",le=\"+Inf\"} 2\n",
        "t_sum{method=\"M\"} 3.000060\n",
        "t_count{method=\"M\"} 2\n",
        "s_bucket{le=\"1024\"} 2\n",
        "s_sum 3000060\n",
        "s_count 2\n",
    };
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        assert_non_null(strstr(got, lines[i]));
    }
    sirix_buf_deinit(&text);
}

static void what_does_not_fit_is_told_at_the_end(void **state)
{
    struct sirix_buf text;
    struct sirix_exposition exposition = {.out = &text, .status = SIRIX_OK};

    (void)state;
    sirix_buf_init(&text, 64);
    for (unsigned i = 0; i < 10; i++) {
        sirix_exposition_one(&exposition, "a_total", "counter", "As.", i);
    }

    assert_int_not_equal(exposition.status, SIRIX_OK);
    sirix_buf_deinit(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers_and_seconds_have_their_lines),
        cmocka_unit_test(buckets_add_up_and_end_with_infinity),
        cmocka_unit_test(what_does_not_fit_is_told_at_the_end),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
