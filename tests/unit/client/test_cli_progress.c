/* The text of the progress bar. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "cli/progress.h"

static void the_bar_tells_part_rate_and_time_left(void **state)
{
    static const struct {
        const char *label;
        uint64_t done;
        uint64_t total;
        uint64_t elapsed_ns;
        const char *text;
    } CASES[] = {
        {"a/users.json", 5000000, 20000000, 1000000000,
         "users.json  25% [=====>              ] 5.0 MB of 20.0 MB  5.0 MB/s  0:03 left"},
        {"x", 0, 100, 1000000000, "x   0% [>                   ] 0 B of 100 B  0 B/s"},
        {"x", 100, 100, 1000000000, "x 100% [====================] 100 B of 100 B  100 B/s"},
        {"grown", 200, 100, 1000000000,
         "grown 100% [====================] 200 B of 100 B  200 B/s"},
        {"stdin", 1000, 0, 500000000, "stdin  1.0 kB  2.0 kB/s"},
        {"x", 1, 1000000, 1000000000,
         "x   0% [>                   ] 1 B of 1.0 MB  1 B/s  16666:39 left"},
        {"evil\x1b[31m\xe2\x80\xae", 1, 0, 1000000000, "evil?[31m???  1 B  1 B/s"},
        {"x", 5, 10, 0, "x  50% [==========>         ] 5 B of 10 B  0 B/s"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct sirixctl_progress progress = {
            .label = CASES[i].label,
            .total_bytes = CASES[i].total,
            .done_bytes = CASES[i].done,
        };
        char text[SIRIXCTL_PROGRESS_BYTES_MAX];

        size_t len = sirixctl_progress_format(&progress, CASES[i].elapsed_ns, text);
        assert_string_equal(text, CASES[i].text);
        assert_int_equal(len, strlen(text));
    }
}

static void extreme_numbers_fit(void **state)
{
    const struct sirixctl_progress progress = {
        .label = "a-name-that-is-much-longer-than-what-is-shown-of-it-on-the-line-of-a-terminal",
        .total_bytes = UINT64_MAX,
        .done_bytes = UINT64_MAX - 1,
    };
    char text[SIRIXCTL_PROGRESS_BYTES_MAX];

    (void)state;
    assert_true(sirixctl_progress_format(&progress, UINT64_MAX, text) < sizeof(text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_bar_tells_part_rate_and_time_left),
        cmocka_unit_test(extreme_numbers_fit),
    };

    return cmocka_run_group_tests_name("cli progress", tests, NULL, NULL);
}
