/* Canonical texts and the writer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/json/json_help.h"
#include "json/text.h"
#include "json/writer.h"

static struct sirix_arena arena;

static int setup(void **state)
{
    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sirix_arena_deinit(&arena);
    return 0;
}

/* --- Canonical text --------------------------------------------------------------------------- */

static void plain_and_canonical_lead_to_each_other(void **state)
{
    static const struct {
        struct sirix_bytes plain;
        const char *canonical;
    } CASES[] = {
        {{"", 0}, ""},
        {{"abc/\x7f", 5}, "abc/\x7f"},
        {{"a\"b\\c", 5}, "a\\\"b\\\\c"},
        {{"\b\f\n\r\t", 5}, "\\b\\f\\n\\r\\t"},
        {{"\0\x01\x0b\x1f", 4}, "\\u0000\\u0001\\u000b\\u001f"},
        {{"\xc3\xa9\n", 3}, "\xc3\xa9\\n"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_bytes canonical = {0};
        struct sirix_bytes plain = {0};

        assert_int_equal(sirix_json_text_to_canonical(&arena, CASES[i].plain, &canonical, NULL),
                         SIRIX_OK);
        assert_true(sirix_bytes_equal(canonical, text(CASES[i].canonical)));
        assert_int_equal(sirix_json_text_to_plain(&arena, canonical, &plain, NULL), SIRIX_OK);
        assert_true(sirix_bytes_equal(plain, CASES[i].plain));
        assert_int_equal(sirix_json_text_plain_len(canonical), plain.len);
        assert_true(sirix_json_text_valid(canonical));
    }
}

static void only_the_one_form_is_valid(void **state)
{
    static const char *const BAD[] = {"\"",      "\\",      "\\/",  "\\u0041", "\\u000a",
                                      "\\u001F", "\\u00",   "\\x",  "a\nb",    "\\ud83d\\ude00",
                                      "\xff",    "\\u0020", "abc\\"};

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        if (sirix_json_text_valid(text(BAD[i]))) {
            fail_msg("'%s' is accepted", BAD[i]);
        }
    }
}

static void plain_text_that_is_not_utf8_is_refused_and_nothing_is_appended(void **state)
{
    struct sirix_error err = {0};
    struct sirix_buf buf;

    (void)state;
    sirix_buf_init(&buf, SIZE_MAX);
    assert_int_equal(sirix_buf_append_str(&buf, "x", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_text_escape(&buf, text("a\n\xff"), &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_JSON_ENCODING);
    assert_int_equal(err.offset, 2);
    assert_int_equal(buf.len, 1);
    sirix_buf_deinit(&buf);
}

static void a_cut_keeps_escapes_and_characters_whole(void **state)
{
    static const char TEXT[] = "a\\n\\u0001\\\\\xc3\xa9\\\\\\\"z"; /* 1 2 6 2 2 2 2 1 */
    static const size_t EDGES[] = {0, 1, 3, 9, 11, 13, 15, 17, 18};
    size_t edge = 0;

    (void)state;
    for (size_t max = 0; max <= 18; max++) {
        edge += edge + 1 < sizeof(EDGES) / sizeof(EDGES[0]) && EDGES[edge + 1] == max ? 1 : 0;
        assert_int_equal(sirix_json_text_cut(text(TEXT), max), EDGES[edge]);
    }
    assert_int_equal(sirix_json_text_cut(text(TEXT), 99), 18);
}

static void texts_are_ordered_by_code_points_not_by_their_escapes(void **state)
{
    static const char *const RISING[] = {
        "",  "\\u0000", "\\u0001", "\\t",  "\\n", "!",        "\\\"",         "#",
        "A", "A\\n",    "A!",      "\\\\", "]",   "\xc3\xa9", "\xef\xbf\xbf", "\xf0\x9f\x98\x80"};

    (void)state;
    for (size_t i = 0; i < sizeof(RISING) / sizeof(RISING[0]); i++) {
        for (size_t k = 0; k < sizeof(RISING) / sizeof(RISING[0]); k++) {
            int order = sirix_json_text_compare(text(RISING[i]), text(RISING[k]));

            assert_int_equal((order > 0) - (order < 0), (i > k) - (i < k));
        }
    }
}

/* --- Writer ----------------------------------------------------------------------------------- */

static void write_sample(struct sirix_json_writer *w)
{
    assert_int_equal(sirix_json_write_object_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_name_str(w, "a", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_i64(w, INT64_MIN, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_u64(w, UINT64_MAX, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_decimal(w, -5, 2, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_number(w, text("1e400"), NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_name_plain(w, (struct sirix_bytes){"b\n\0", 3}, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_json_write_string_plain(w, text("q\"q"), NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_name(w, text("\\t"), NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_string_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_string_part(w, text("x\\n"), NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_string_part(w, text("y"), NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_string_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_name_str(w, "e", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_object_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_object_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_begin(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_bool(w, true, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_null(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_object_end(w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_writer_finish(w, NULL), SIRIX_OK);
}

static void the_writer_writes_compact_and_indented(void **state)
{
    static const struct {
        unsigned indent;
        const char *expected;
    } CASES[] = {
        {0, "{\"a\":[-9223372036854775808,18446744073709551615,-0.05,1e400],\"b\\n\\u0000\":"
            "\"q\\\"q\","
            "\"\\t\":\"x\\ny\",\"e\":[{},[],true,null]}"},
        {2, "{\n  \"a\": [\n    -9223372036854775808,\n    18446744073709551615,\n    -0.05,\n    "
            "1e400\n"
            "  ],\n  \"b\\n\\u0000\": \"q\\\"q\",\n  \"\\t\": \"x\\ny\",\n  \"e\": [\n    {},\n    "
            "[],\n"
            "    true,\n    null\n  ]\n}"},
    };

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        const struct sirix_json_writer_options options = {.indent = CASES[i].indent};
        struct sirix_json_writer writer;
        struct sirix_buf out;
        const char *got = NULL;

        sirix_buf_init(&out, SIZE_MAX);
        sirix_json_writer_init_buf(&writer, &out, &options);
        write_sample(&writer);
        assert_int_equal(sirix_buf_c_str(&out, &got, NULL), SIRIX_OK);
        assert_string_equal(got, CASES[i].expected);
        sirix_json_writer_deinit(&writer);
        sirix_buf_deinit(&out);
    }
}

static void the_writer_refuses_what_would_be_no_json(void **state)
{
    struct sirix_json_writer w;
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    sirix_json_writer_init_buf(&w, &out, NULL);
    assert_int_equal(sirix_json_writer_finish(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_name_str(&w, "a", NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_array_end(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_string_end(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_object_begin(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_null(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_array_end(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_name_str(&w, "a", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_name_str(&w, "b", NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_object_end(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_string_begin(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_null(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_string_end(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_writer_finish(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_write_object_end(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_null(&w, NULL), SIRIX_INTERNAL);
    assert_int_equal(sirix_json_writer_finish(&w, NULL), SIRIX_OK);
    assert_int_equal(out.len, strlen("{\"a\":\"\"}"));
    sirix_json_writer_deinit(&w);
    sirix_buf_deinit(&out);
}

static void plain_text_that_is_not_utf8_writes_nothing_and_the_writer_goes_on(void **state)
{
    struct sirix_json_writer w;
    struct sirix_error err = {0};
    const char *got = NULL;
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    sirix_json_writer_init_buf(&w, &out, NULL);
    assert_int_equal(sirix_json_write_array_begin(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_string_plain(&w, text("a\xff"), &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_JSON_ENCODING);
    assert_int_equal(sirix_json_write_string_str(&w, "b\n", NULL), SIRIX_OK);
    assert_int_equal(sirix_json_write_array_end(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_writer_finish(&w, NULL), SIRIX_OK);
    assert_int_equal(sirix_buf_c_str(&out, &got, NULL), SIRIX_OK);
    assert_string_equal(got, "[\"b\\n\"]");
    sirix_json_writer_deinit(&w);
    sirix_buf_deinit(&out);
}

static void the_writer_has_a_depth_limit(void **state)
{
    struct sirix_json_writer w;
    struct sirix_error err = {0};
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    sirix_json_writer_init_buf(&w, &out, NULL);
    for (int i = 0; i < SIRIX_JSON_DEPTH_MAX; i++) {
        assert_int_equal(sirix_json_write_array_begin(&w, &err), SIRIX_OK);
    }
    assert_int_equal(sirix_json_write_array_begin(&w, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_DEPTH_LIMIT);
    for (int i = 0; i < SIRIX_JSON_DEPTH_MAX; i++) {
        assert_int_equal(sirix_json_write_array_end(&w, &err), SIRIX_OK);
    }
    assert_int_equal(sirix_json_writer_finish(&w, &err), SIRIX_OK);
    sirix_json_writer_deinit(&w);
    sirix_buf_deinit(&out);
}

struct sink {
    struct sirix_buf got;
    int calls;
    int fail_at;
};

static enum sirix_status take_block(void *context, const void *data, size_t len,
                                    struct sirix_error *err)
{
    struct sink *sink = context;

    if (++sink->calls == sink->fail_at) {
        return sirix_fail(err, SIRIX_NO_SPACE, "full");
    }
    return sirix_buf_append(&sink->got, data, len, err);
}

static void a_sink_gets_blocks_and_its_failure_is_final(void **state)
{
    static char big[100001];

    (void)state;
    memset(big, 'x', sizeof(big) - 1);
    for (int fail_at = 0; fail_at < 5; fail_at++) {
        struct sink sink = {.fail_at = fail_at};
        struct sirix_error err = {0};
        struct sirix_json_writer w;

        sirix_buf_init(&sink.got, SIZE_MAX);
        sirix_json_writer_init_sink(&w, take_block, &sink, NULL);
        enum sirix_status status = sirix_json_write_array_begin(&w, &err);
        for (int i = 0; i < 30000 && status == SIRIX_OK; i++) {
            status = sirix_json_write_i64(&w, i, &err);
        }
        if (status == SIRIX_OK) {
            status = sirix_json_write_string(&w, text(big), &err);
        }
        if (status == SIRIX_OK) {
            status = sirix_json_write_array_end(&w, &err);
        }
        if (status == SIRIX_OK) {
            status = sirix_json_writer_finish(&w, &err);
        }
        if (fail_at == 0) {
            assert_int_equal(status, SIRIX_OK);
            assert_int_equal(sink.got.len, 1 + 138890 + 30000 + 100002 + 1);
            assert_int_equal(sink.calls, 5);
        } else {
            assert_int_equal(status, SIRIX_NO_SPACE);
            assert_int_equal(sirix_json_write_null(&w, &err), SIRIX_NO_SPACE);
            assert_string_equal(err.text, "full");
            assert_int_equal(sink.calls, fail_at);
        }
        sirix_json_writer_deinit(&w);
        sirix_buf_deinit(&sink.got);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(plain_and_canonical_lead_to_each_other),
        TEST(only_the_one_form_is_valid),
        TEST(plain_text_that_is_not_utf8_is_refused_and_nothing_is_appended),
        TEST(a_cut_keeps_escapes_and_characters_whole),
        TEST(texts_are_ordered_by_code_points_not_by_their_escapes),
        TEST(the_writer_writes_compact_and_indented),
        TEST(the_writer_refuses_what_would_be_no_json),
        TEST(plain_text_that_is_not_utf8_writes_nothing_and_the_writer_goes_on),
        TEST(the_writer_has_a_depth_limit),
        TEST(a_sink_gets_blocks_and_its_failure_is_final),
    };
    return cmocka_run_group_tests_name("writer", tests, NULL, NULL);
}
