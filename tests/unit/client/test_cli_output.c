/* What sirixctl writes: nothing of a database acts on a terminal. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "cli/output.h"

struct screen {
    struct sirixctl_out out;
    FILE *file;
    char *text;
    size_t len;
};

static void open_screen(struct screen *screen, bool is_terminal, bool colours)
{
    screen->file = open_memstream(&screen->text, &screen->len);
    assert_non_null(screen->file);
    screen->out =
        (struct sirixctl_out){.file = screen->file, .is_terminal = is_terminal, .colours = colours};
}

/* What was written; the caller's to free(). */
static char *close_screen(struct screen *screen)
{
    assert_int_equal(sirixctl_out_finish(&screen->out, NULL), SIRIX_OK);
    assert_int_equal(fclose(screen->file), 0);
    return screen->text;
}

static void text_is_one_line_of_harmless_characters(void **state)
{
    static const struct {
        const char *text;
        const char *seen;
    } CASES[] = {
        {"plain \xc3\xa9 \xe6\x97\xa5", "plain \xc3\xa9 \xe6\x97\xa5"},
        {"a\nb\tc", "a\\nb\\tc"},
        {"\x1b[31m", "\\u{1b}[31m"},
        {"\x7f", "\\u{7f}"},
        {"\xc2\x9b", "\\u{9b}"},
        {"\xe2\x80\xae", "\\u{202e}"},
        {"\xe2\x80\x8b", "\\u{200b}"},
        {"\xef\xbb\xbf", "\\u{feff}"},
        {"\xf3\xa0\x81\x81", "\\u{e0041}"},
        {"\xff\xc3", "\\xff\\xc3"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct screen screen;

        open_screen(&screen, false, false); /* Not on a terminal, all the same. */
        sirixctl_out_str(&screen.out, CASES[i].text);
        char *seen = close_screen(&screen);
        assert_string_equal(seen, CASES[i].seen);
        free(seen);
    }
}

static const char JSON[] = "{\"\xe2\x80\xae\":\"\xc2\x9b \x7f \xf3\xa0\x81\x81 \xc3\xa9\"}\n\t";
static const char SAFE[] = "{\"\\u202e\":\"\\u009b \\u007f \\udb40\\udc41 \xc3\xa9\"}\n\t";

static void json_on_a_terminal_is_escaped_wherever_it_was_cut(void **state)
{
    size_t len = strlen(JSON);

    (void)state;
    for (size_t cut = 0; cut <= len; cut++) {
        for (size_t second = cut; second <= len && second <= cut + 4; second++) {
            struct screen screen;

            open_screen(&screen, true, false);
            sirixctl_out_json(&screen.out, (struct sirix_bytes){JSON, cut});
            sirixctl_out_json(&screen.out, (struct sirix_bytes){JSON + cut, second - cut});
            sirixctl_out_json(&screen.out, (struct sirix_bytes){JSON + second, len - second});
            char *seen = close_screen(&screen);
            assert_string_equal(seen, SAFE);
            free(seen);
        }
    }
}

static void json_that_is_no_utf_8_does_not_reach_a_terminal(void **state)
{
    struct screen screen;

    (void)state;
    open_screen(&screen, true, false);
    sirixctl_out_json(&screen.out, sirix_bytes_from_str("\"\xe2"));
    sirixctl_out_json(&screen.out, sirix_bytes_from_str("\x9b\xff\""));
    char *seen = close_screen(&screen);
    assert_null(strchr(seen, '\x9b'));
    assert_null(strchr(seen, '\xff'));
    free(seen);
}

static void json_to_a_file_is_as_it_was_stored(void **state)
{
    struct screen screen;

    (void)state;
    open_screen(&screen, false, false);
    sirixctl_out_json(&screen.out, sirix_bytes_from_str(JSON));
    char *seen = close_screen(&screen);
    assert_string_equal(seen, JSON);
    free(seen);
}

static void colours_are_written_only_if_wanted(void **state)
{
    struct screen screen;

    (void)state;
    open_screen(&screen, true, false);
    sirixctl_out_colour(&screen.out, SIRIXCTL_COLOUR_RED);
    char *seen = close_screen(&screen);
    assert_string_equal(seen, "");
    free(seen);
    open_screen(&screen, true, true);
    sirixctl_out_colour(&screen.out, SIRIXCTL_COLOUR_RED);
    seen = close_screen(&screen);
    assert_string_equal(seen, "\033[31m");
    free(seen);
}

static void sizes_are_short(void **state)
{
    static const struct {
        uint64_t bytes;
        const char *text;
    } CASES[] = {
        {0, "0 B"},           {999, "999 B"},        {1000, "1.0 kB"},
        {999999, "999.9 kB"}, {12345678, "12.3 MB"}, {UINT64_MAX, "18.4 EB"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        char text[16];

        sirixctl_format_bytes(CASES[i].bytes, text);
        assert_string_equal(text, CASES[i].text);
    }
}

static void an_answer_is_one_object_on_one_line(void **state)
{
    struct sirixctl_json json;
    struct screen screen;

    (void)state;
    open_screen(&screen, false, false);
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "a", "x\"\n");
    sirixctl_json_u64(&json, "b", UINT64_MAX);
    sirixctl_json_bool(&json, "c", true);
    sirixctl_json_time(&json, "d", 1000000);
    sirixctl_json_time(&json, "e", 0);
    sirixctl_json_raw(&json, "f", sirix_bytes_from_str("[1.10]"));
    sirixctl_json_raw(&json, "g", sirix_bytes_from_str(""));
    sirixctl_json_array(&json, "h");
    sirixctl_json_u64(&json, NULL, 1);
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    assert_int_equal(sirixctl_json_finish(&json, &screen.out, NULL), SIRIX_OK);
    char *seen = close_screen(&screen);
    assert_string_equal(seen,
                        "{\"a\":\"x\\\"\\n\",\"b\":18446744073709551615,\"c\":true,"
                        "\"d\":\"1970-01-01T00:00:01.000000Z\",\"e\":null,\"f\":[1.10],\"g\":null,"
                        "\"h\":[1]}\n");
    free(seen);
}

static void an_answer_that_cannot_be_json_is_an_error_and_writes_nothing(void **state)
{
    struct sirixctl_json json;
    struct sirix_error err = {0};
    struct screen screen;

    (void)state;
    open_screen(&screen, false, false);
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "a", "\xff");
    sirixctl_json_str(&json, "b", "good");
    sirixctl_json_object_end(&json);
    assert_int_equal(sirixctl_json_finish(&json, &screen.out, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_JSON_ENCODING);
    char *seen = close_screen(&screen);
    assert_string_equal(seen, "");
    free(seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_is_one_line_of_harmless_characters),
        cmocka_unit_test(json_on_a_terminal_is_escaped_wherever_it_was_cut),
        cmocka_unit_test(json_that_is_no_utf_8_does_not_reach_a_terminal),
        cmocka_unit_test(json_to_a_file_is_as_it_was_stored),
        cmocka_unit_test(colours_are_written_only_if_wanted),
        cmocka_unit_test(sizes_are_short),
        cmocka_unit_test(an_answer_is_one_object_on_one_line),
        cmocka_unit_test(an_answer_that_cannot_be_json_is_an_error_and_writes_nothing),
    };

    return cmocka_run_group_tests_name("cli output", tests, NULL, NULL);
}
