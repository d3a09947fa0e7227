/* The log: whole lines, nothing forged, nothing mixed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

struct fixture {
    FILE *file;
    char text[400000];
    size_t len;
};

static int64_t fixed_us(void *context)
{
    (void)context;
    return INT64_C(1705330800500000);
}

static uint64_t fixed_ns(void *context)
{
    (void)context;
    return 0;
}

static const struct sirix_clock CLOCK = {fixed_us, fixed_ns, NULL};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->file = tmpfile();
    assert_non_null(f->file);
    sirix_log_setup(SIRIX_LOG_INFO, fileno(f->file), &CLOCK);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;

    sirix_log_setup(SIRIX_LOG_OFF, STDERR_FILENO, NULL);
    (void)fclose(f->file);
    free(f);
    return 0;
}

static const char *logged(struct fixture *f)
{
    rewind(f->file);
    f->len = fread(f->text, 1, sizeof(f->text) - 1, f->file);
    f->text[f->len] = '\0';
    return f->text;
}

static void a_line_is_one_json_object_with_its_fields_in_order(void **state)
{
    struct fixture *f = *state;

    sirix_log(SIRIX_LOG_INFO, "opened", sirix_log_str("database", "notes"), sirix_log_u64("ms", 12),
              sirix_log_i64("delta", -3), sirix_log_bool("ok", true), sirix_log_str("none", NULL));
    sirix_log_write(SIRIX_LOG_ERROR, "bare", NULL, 0);

    assert_string_equal(
        logged(f),
        "{\"time\":\"2024-01-15T15:00:00.500000Z\",\"level\":\"info\",\"msg\":\"opened\","
        "\"database\":\"notes\",\"ms\":12,\"delta\":-3,\"ok\":true,\"none\":null}\n"
        "{\"time\":\"2024-01-15T15:00:00.500000Z\",\"level\":\"error\",\"msg\":\"bare\"}\n");
}

static void levels_below_the_threshold_are_silent(void **state)
{
    struct fixture *f = *state;
    enum sirix_log_level level = SIRIX_LOG_OFF;

    sirix_log_write(SIRIX_LOG_DEBUG, "no", NULL, 0);
    assert_false(sirix_log_enabled(SIRIX_LOG_DEBUG));
    sirix_log_set_level(SIRIX_LOG_OFF);
    sirix_log_write(SIRIX_LOG_ERROR, "no", NULL, 0);
    assert_false(sirix_log_enabled(SIRIX_LOG_OFF));
    assert_string_equal(logged(f), "");

    assert_true(sirix_log_level_parse("warn", &level));
    assert_int_equal(level, SIRIX_LOG_WARN);
    assert_false(sirix_log_level_parse("WARN", &level));
    assert_false(sirix_log_level_parse("", &level));
}

static void nothing_in_a_field_can_forge_a_line_or_steer_a_terminal(void **state)
{
    struct fixture *f = *state;

    static const char VALUE[] = "a\n{\"msg\":1}\r\x1b[2J\x7f\0\xe2\x80\xa8\xe2\x80\xae"
                                "\xe2\x80\x8b\xc2\x85\xef\xbb\xbf\xff\xf3\xa0\x80\xa0\xc3\xa9";

    sirix_log(SIRIX_LOG_WARN, "x",
              sirix_log_bytes("v", (struct sirix_bytes){VALUE, sizeof(VALUE) - 1}));

    assert_non_null(strstr(logged(f),
                           "\"v\":\"a\\u000a{\\\"msg\\\":1}\\u000d\\u001b[2J\\u007f\\u0000"
                           "\\u2028\\u202e\\u200b\\u0085\\ufeff\xef\xbf\xbd\\udb40\\udc20"
                           "\xc3\xa9\"}\n"));
    for (size_t i = 0; i + 1 < f->len; i++) {
        assert_true((unsigned char)f->text[i] >= 0x20 && f->text[i] != 0x7f);
    }
}

static void a_line_that_would_be_too_long_is_cut_and_says_so(void **state)
{
    struct fixture *f = *state;
    char *longer = malloc(100000);
    struct sirix_log_field fields[20];

    assert_non_null(longer);
    for (size_t i = 0; i < 99999; i += 3) {
        memcpy(longer + i, "\xe2\x82\xac", 3);
    }
    longer[99999] = '\0';
    for (size_t i = 0; i < 20; i++) {
        fields[i] = sirix_log_str("f", longer);
    }
    sirix_log_write(SIRIX_LOG_INFO, "m", fields, 20);
    memset(longer, '\x01', 99999);
    sirix_log_write(SIRIX_LOG_INFO, longer, fields, 1);

    (void)logged(f);
    char *second = strchr(f->text, '\n');
    assert_non_null(second);
    assert_true((size_t)(second - f->text) < SIRIX_LOG_LINE_BYTES_MAX);
    assert_memory_equal(second - strlen(",\"cut\":true}"), ",\"cut\":true}", 12);
    assert_null(strstr(f->text, "\xef\xbf\xbd")); /* Cut between characters. */
    assert_non_null(strstr(second, "\"msg\":\"\""));
    assert_int_equal(f->text[f->len - 1], '\n');
    free(longer);
}

static void an_error_is_logged_with_its_facts(void **state)
{
    struct fixture *f = *state;
    struct sirix_error err = {0};

    (void)sirix_fail_reason(&err, SIRIX_INVALID, SIRIX_REASON_DUPLICATE_KEY, "twice");
    sirix_error_set_field(&err, "value");
    sirix_error_set_pointer(&err, "/a");
    sirix_error_set_offset(&err, 9);
    errno = EINTR;
    sirix_log_error(SIRIX_LOG_WARN, "refused", &err);

    assert_int_equal(errno, EINTR);
    assert_non_null(strstr(logged(f), "\"msg\":\"refused\",\"status\":\"invalid\",\"reason\":"
                                      "\"duplicate_key\",\"error\":\"twice\",\"field\":\"value\","
                                      "\"pointer\":\"/a\",\"offset\":9}\n"));
}

static void *write_lines(void *context)
{
    for (int i = 0; i < 500; i++) {
        sirix_log(SIRIX_LOG_INFO, "line", sirix_log_str("who", context));
    }
    return NULL;
}

static void lines_of_several_threads_do_not_mix(void **state)
{
    struct fixture *f = *state;
    char who[4][2] = {"a", "b", "c", "d"};
    pthread_t threads[4];
    size_t lines = 0;

    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_create(&threads[i], NULL, write_lines, who[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    }
    for (const char *line = logged(f); *line != '\0'; line = strchr(line, '\n') + 1) {
        assert_memory_equal(line, "{\"time\"", 7);
        assert_non_null(strstr(line, "\"who\":\""));
        lines++;
    }
    assert_int_equal(lines, 2000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_line_is_one_json_object_with_its_fields_in_order, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(levels_below_the_threshold_are_silent, setup, teardown),
        cmocka_unit_test_setup_teardown(nothing_in_a_field_can_forge_a_line_or_steer_a_terminal,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_line_that_would_be_too_long_is_cut_and_says_so, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_error_is_logged_with_its_facts, setup, teardown),
        cmocka_unit_test_setup_teardown(lines_of_several_threads_do_not_mix, setup, teardown),
    };
    return cmocka_run_group_tests_name("log", tests, NULL, NULL);
}
