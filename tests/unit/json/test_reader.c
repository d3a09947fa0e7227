/* The reader: exact events, errors with their place, limits, and chunks that make no difference. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "unit/base/alloc_fault.h"
#include "unit/json/json_help.h"
#include "json/reader.h"
#include "json/text.h"

/* --- Events as text --------------------------------------------------------------------------- */

/* Appends one event in a short form: { } [ ] N"name" S"string" I"42" D"1.5" X"1e5" t f n . */
static void show(struct sirix_buf *out, const struct sirix_json_event *event)
{
    static const char MARKS[] = "?{}[]NSP#tfn.";
    char mark = MARKS[event->kind];

    if (event->kind == SIRIX_JSON_NUMBER) {
        mark = "IDX"[event->number.number_class];
    }
    bool has_text = event->kind >= SIRIX_JSON_NAME && event->kind <= SIRIX_JSON_NUMBER;
    /* Parts are joined, so that where a string was cut does not show. */
    if (has_text && event->kind != SIRIX_JSON_STRING_PART) {
        assert_int_equal(sirix_buf_printf(out, NULL, "%c\"", mark), SIRIX_OK);
    } else if (event->kind == SIRIX_JSON_STRING_PART && event->is_first) {
        assert_int_equal(sirix_buf_append_str(out, "S\"", NULL), SIRIX_OK);
    } else if (!has_text) {
        assert_int_equal(sirix_buf_append_u8(out, (uint8_t)mark, NULL), SIRIX_OK);
    }
    if (has_text) {
        assert_int_equal(sirix_buf_append_bytes(out, event->text, NULL), SIRIX_OK);
        if (event->kind != SIRIX_JSON_STRING_PART || event->is_last) {
            assert_int_equal(sirix_buf_append_u8(out, '"', NULL), SIRIX_OK);
        }
    }
    if (event->kind == SIRIX_JSON_NAME || event->kind == SIRIX_JSON_STRING ||
        event->kind == SIRIX_JSON_STRING_PART) {
        assert_int_equal(event->plain_len, sirix_json_text_plain_len(event->text));
        assert_int_equal(event->has_escapes, sirix_json_text_has_escapes(event->text));
        assert_true(sirix_json_text_valid(event->text));
    }
}

/* Reads json with chunks of the sizes that seed gives (0: one chunk). */
static enum sirix_status read_all(const struct sirix_json_reader_options *options,
                                  struct sirix_bytes json, uint64_t seed, struct sirix_buf *out,
                                  struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    const char *bytes = json.data;
    struct sirix_json_reader reader;
    enum sirix_status status = SIRIX_OK;
    uint8_t *chunk = NULL;
    size_t at = 0;

    sirix_json_reader_init(&reader, options);
    while (event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
        if (status != SIRIX_OK) {
            struct sirix_error again = {0};

            assert_int_equal(sirix_json_reader_next(&reader, &event, &again), status);
            assert_true(err == NULL || strcmp(err->text, again.text) == 0);
            break;
        }
        if (event.kind == SIRIX_JSON_NEED_INPUT) {
            size_t len = seed == 0 ? json.len : next_random(&seed) % 9;

            len = len > json.len - at ? json.len - at : len;
            free(chunk); /* So that a sanitizer sees who keeps pointers into an old chunk. */
            chunk = __real_malloc(len + 1);
            assert_non_null(chunk);
            memcpy(chunk, bytes + at, len);
            at += len;
            sirix_json_reader_feed(&reader, (struct sirix_bytes){chunk, len}, at == json.len);
        } else {
            show(out, &event);
        }
    }
    free(chunk);
    sirix_json_reader_deinit(&reader);
    return status;
}

static void expect_events(const struct sirix_json_reader_options *options, const char *json,
                          const char *events)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct sirix_error err = {0};
        struct sirix_buf out;
        const char *got = NULL;

        sirix_buf_init(&out, SIZE_MAX);
        if (read_all(options, text(json), seed, &out, &err) != SIRIX_OK) {
            fail_msg("%s: %s", json, err.text);
        }
        assert_int_equal(sirix_buf_c_str(&out, &got, NULL), SIRIX_OK);
        assert_string_equal(got, events);
        sirix_buf_deinit(&out);
    }
}

static void values_come_as_events_with_canonical_texts(void **state)
{
    (void)state;
    expect_events(NULL, "{\"a\":[1,-2.50,1e5,true,false,null],\"b\":{},\"c\":[]}",
                  "{N\"a\"[I\"1\"D\"-2.50\"X\"1e5\"tfn]N\"b\"{}N\"c\"[]}.");
    expect_events(NULL, " \"\\u0041\\/\\u00e9\\ud83d\\ude00\\u0000\\u001F\\n\\u000a\\\"\" ",
                  "S\"A/\xc3\xa9\xf0\x9f\x98\x80\\u0000\\u001f\\n\\n\\\"\".");
    expect_events(NULL, "{\"\\u0061\\u002f\":\"\xe6\x97\xa5\xe6\x9c\xac\"}",
                  "{N\"a/\"S\"\xe6\x97\xa5\xe6\x9c\xac\"}.");
    expect_events(NULL, "-9223372036854775808", "I\"-9223372036854775808\".");
    expect_events(NULL, "\xef\xbb\xbf\t[ \r\n\"\" ]\n", "[S\"\"].");
}

static void ndjson_is_one_array(void **state)
{
    const struct sirix_json_reader_options options = {.ndjson = true};

    (void)state;
    expect_events(&options, "", "[].");
    expect_events(&options, "\n\n \r\n", "[].");
    expect_events(&options, "{\"a\":1}\n\n{\"a\":2}\r\n[3] 4 \"5\"\n",
                  "[{N\"a\"I\"1\"}{N\"a\"I\"2\"}[I\"3\"]I\"4\"S\"5\"].");
    expect_events(&options,
                  "\xef\xbb\xbf"
                  "1",
                  "[I\"1\"].");
}

/* --- Errors ----------------------------------------------------------------------------------- */

static void errors_name_the_byte_the_reason_and_the_pointer(void **state)
{
    static const struct sirix_json_reader_options LINES = {.ndjson = true};
    static const struct {
        const struct sirix_json_reader_options *options;
        const char *json;
        enum sirix_reason reason;
        uint64_t offset;
        const char *pointer;
    } CASES[] = {
        {NULL, "", SIRIX_REASON_JSON_TRUNCATED, 0, ""},
        {NULL, "[1,2", SIRIX_REASON_JSON_TRUNCATED, 4, "/1"},
        {NULL, "{\"a\":{\"b\":[0,tru]}}", SIRIX_REASON_JSON_SYNTAX, 16, "/a/b/1"},
        {NULL, "{\"a\":{\"b\":[0,\"x", SIRIX_REASON_JSON_TRUNCATED, 15, "/a/b/1"},
        {NULL, "[1,]", SIRIX_REASON_JSON_SYNTAX, 3, "/1"},
        {NULL, "{\"a\":1,}", SIRIX_REASON_JSON_SYNTAX, 7, "/a"},
        {NULL, "{\"a~/\":01}", SIRIX_REASON_JSON_SYNTAX, 8, "/a~0~1"},
        {NULL, "[\"\xc3\x28\"]", SIRIX_REASON_JSON_ENCODING, 2, "/0"},
        {NULL, "{\"ok\":1,\"bad\":\"x\\uD800y\"}", SIRIX_REASON_JSON_ENCODING, 16, "/bad"},
        {NULL, "[\"\\udc00\"]", SIRIX_REASON_JSON_ENCODING, 2, "/0"},
        {NULL, "[\"\\x\"]", SIRIX_REASON_JSON_SYNTAX, 2, "/0"},
        {NULL, "[\"a\tb\"]", SIRIX_REASON_JSON_SYNTAX, 3, "/0"},
        {NULL, "1 2", SIRIX_REASON_JSON_SYNTAX, 2, ""},
        {NULL, "[1]]", SIRIX_REASON_JSON_SYNTAX, 3, ""},
        {NULL, "[1e]", SIRIX_REASON_JSON_SYNTAX, 3, "/0"},
        {NULL, "[-", SIRIX_REASON_JSON_TRUNCATED, 2, "/0"},
        {NULL, "'a'", SIRIX_REASON_JSON_SYNTAX, 0, ""},
        {NULL, "\xff\xfe[", SIRIX_REASON_JSON_ENCODING, 0, ""},
        {&LINES, "{\"a\":1}{\"a\":2}", SIRIX_REASON_JSON_SYNTAX, 7, "/0"},
        {&LINES, "1\n\"2\"\"3\"", SIRIX_REASON_JSON_SYNTAX, 5, "/1"},
        {&LINES, "1\n[2,\n", SIRIX_REASON_JSON_TRUNCATED, 6, "/1/1"},
        {&LINES, "1,2", SIRIX_REASON_JSON_SYNTAX, 1, "/0"},
        {&LINES, "1\n]", SIRIX_REASON_JSON_SYNTAX, 2, "/1"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        for (uint64_t seed = 0; seed < 20; seed++) {
            struct sirix_error err = {0};
            struct sirix_buf out;

            sirix_buf_init(&out, SIZE_MAX);
            enum sirix_status status =
                read_all(CASES[i].options, text(CASES[i].json), seed, &out, &err);
            if (status != SIRIX_INVALID || err.reason != CASES[i].reason || !err.has_offset ||
                err.offset != CASES[i].offset || strcmp(err.pointer, CASES[i].pointer) != 0) {
                fail_msg("%s (seed %d): %s, pointer '%s', offset %d, reason %s", CASES[i].json,
                         (int)seed, err.text, err.pointer, (int)err.offset,
                         sirix_reason_name(err.reason));
            }
            sirix_buf_deinit(&out);
        }
    }
}

static void a_consumer_can_name_the_place_of_its_own_error(void **state)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    struct sirix_json_reader reader;
    struct sirix_error err = {0};

    (void)state;
    sirix_json_reader_init(&reader, NULL);
    sirix_json_reader_feed(&reader,
                           text("{\"a\":[7,{\"nul\\u0000\\n\\\"\":5}], "
                                "\"nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn\":9}"),
                           true);
    while (event.kind != SIRIX_JSON_END) {
        assert_int_equal(sirix_json_reader_next(&reader, &event, NULL), SIRIX_OK);
        if (event.kind == SIRIX_JSON_NUMBER) {
            sirix_json_reader_locate(&reader, &event, &err);
            assert_string_equal(err.pointer, event.number.mantissa == 7 ? "/a/0"
                                             : event.number.mantissa == 5
                                                 ? "/a/1/nul\\u0000\\n\""
                                                 : "/nnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnnn...");
            assert_int_equal(((const char *)event.text.data)[0], '0' + event.number.mantissa);
        }
    }
    sirix_json_reader_locate(&reader, &event, NULL);
    sirix_json_reader_deinit(&reader);
}

/* --- Limits ----------------------------------------------------------------------------------- */

/* Reads head, then times x piece, then tail, in chunks of one piece each. */
static enum sirix_status read_repeated(const struct sirix_json_reader_options *options,
                                       const char *head, const char *piece, size_t times,
                                       const char *tail, size_t *out_parts, size_t *out_plain,
                                       size_t *out_memory, struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    struct sirix_json_reader reader;
    enum sirix_status status = SIRIX_OK;
    size_t fed = 0;

    *out_parts = 0;
    *out_plain = 0;
    sirix_json_reader_init(&reader, options);
    while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
        if (status == SIRIX_OK && event.kind == SIRIX_JSON_NEED_INPUT) {
            const char *chunk = fed == 0 ? head : (fed <= times ? piece : tail);

            sirix_json_reader_feed(&reader, text(chunk), fed == times + 1);
            fed++;
        } else if (status == SIRIX_OK && event.kind >= SIRIX_JSON_STRING &&
                   event.kind <= SIRIX_JSON_NUMBER) {
            *out_parts += 1;
            *out_plain += event.kind == SIRIX_JSON_NUMBER ? event.text.len : event.plain_len;
        }
    }
    *out_memory = reader.buf.cap + (size_t)reader.level_cap * 64;
    sirix_json_reader_deinit(&reader);
    return status;
}

static void a_long_string_of_escapes_streams_in_bounded_memory_up_to_its_limit(void **state)
{
    size_t parts = 0;
    size_t plain = 0;
    size_t memory = 0;
    struct sirix_error err = {0};
    static char piece[6 * 4096 + 1];
    enum { STRING_MAX = 4 * 1024 * 1024, PIECES = STRING_MAX / 4096 };
    const struct sirix_json_reader_options options = {.string_bytes_max = STRING_MAX};

    (void)state;
    for (size_t i = 0; i < 4096; i++) {
        memcpy(piece + 6 * i, "\\u0001", 7);
    }
    assert_int_equal(
        read_repeated(&options, "[\"", piece, PIECES, "\"]", &parts, &plain, &memory, &err),
        SIRIX_OK);
    assert_int_equal(plain, STRING_MAX);
    assert_true(parts > 380);
    assert_true(memory <= (size_t)256 * 1024);

    assert_int_equal(
        read_repeated(&options, "[\"", piece, PIECES, "x\"]", &parts, &plain, &memory, &err),
        SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_int_equal(err.offset, 1);
    assert_string_equal(err.pointer, "/0");
}

static void nesting_past_the_limit_is_refused_in_constant_memory(void **state)
{
    size_t parts = 0;
    size_t plain = 0;
    size_t memory = 0;
    struct sirix_error err = {0};
    static const char *const PIECES[] = {"[", "{\"a\":"};

    (void)state;
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(
            read_repeated(NULL, "", PIECES[i], 100000, "", &parts, &plain, &memory, &err),
            SIRIX_INVALID);
        assert_int_equal(err.reason, SIRIX_REASON_DEPTH_LIMIT);
        assert_int_equal(err.offset, 1000 * strlen(PIECES[i]));
        assert_true(memory < 200000);
    }
}

static void the_depth_limit_can_be_set_and_counts_ndjson(void **state)
{
    struct sirix_json_reader_options options = {.depth_max = 2};
    struct sirix_error err = {0};
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    assert_int_equal(read_all(&options, text("[[1]]"), 0, &out, &err), SIRIX_OK);
    assert_int_equal(read_all(&options, text("[[[1]]]"), 0, &out, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_DEPTH_LIMIT);
    options.ndjson = true;
    assert_int_equal(read_all(&options, text("[1]"), 0, &out, &err), SIRIX_OK);
    assert_int_equal(read_all(&options, text("[[1]]"), 0, &out, &err), SIRIX_INVALID);
    sirix_buf_deinit(&out);
}

static void parts_never_cut_a_character_and_join_to_the_whole(void **state)
{
    uint64_t seed = 5;

    (void)state;
    for (int round = 0; round < 300; round++) {
        static const char *const UNITS[] = {"a",   "\xc3\xa9", "\xe6\x97\xa5", "\xf0\x9f\x98\x80",
                                            "\\n", "\\u0001",  "\\u00e9",      "\\ud83d\\ude00",
                                            "bc"};
        const struct sirix_json_reader_options parts = {.part_bytes_max = (size_t)(16 + round % 7)};
        struct sirix_buf json;
        struct sirix_buf whole;
        struct sirix_buf cut;

        sirix_buf_init(&json, SIZE_MAX);
        sirix_buf_init(&whole, SIZE_MAX);
        sirix_buf_init(&cut, SIZE_MAX);
        assert_int_equal(sirix_buf_append_str(&json, "\"", NULL), SIRIX_OK);
        for (uint64_t i = next_random(&seed) % 60; i > 0; i--) {
            assert_int_equal(sirix_buf_append_str(&json, UNITS[next_random(&seed) % 9], NULL),
                             SIRIX_OK);
        }
        assert_int_equal(sirix_buf_append_str(&json, "\"", NULL), SIRIX_OK);
        assert_int_equal(read_all(NULL, sirix_buf_view(&json), 0, &whole, NULL), SIRIX_OK);
        for (uint64_t chunks = 0; chunks < 10; chunks++) {
            sirix_buf_clear(&cut);
            assert_int_equal(read_all(&parts, sirix_buf_view(&json), chunks, &cut, NULL), SIRIX_OK);
            assert_int_equal(cut.len, whole.len);
            assert_memory_equal(cut.data, whole.data, whole.len);
        }
        sirix_buf_deinit(&cut);
        sirix_buf_deinit(&whole);
        sirix_buf_deinit(&json);
    }
}

static void short_strings_are_views_of_the_chunk(void **state)
{
    static const char JSON[] = "[\"plain\",\"with \\n canonical\",\"re\\u0077ritten\"]";
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    struct sirix_json_reader reader;
    int views = 0;

    (void)state;
    sirix_json_reader_init(&reader, NULL);
    sirix_json_reader_feed(&reader, text(JSON), true);
    while (event.kind != SIRIX_JSON_END) {
        assert_int_equal(sirix_json_reader_next(&reader, &event, NULL), SIRIX_OK);
        if (event.kind == SIRIX_JSON_STRING) {
            const char *data = event.text.data;

            views += data >= JSON && data < JSON + sizeof(JSON);
        }
    }
    assert_int_equal(views, 2);
    assert_int_equal(sirix_json_reader_offset(&reader), sizeof(JSON) - 1);
    sirix_json_reader_deinit(&reader);
}

static void a_byte_order_mark_is_told(void **state)
{
    static const char *const TEXTS[] = {"1", "\xef\xbb\xbf"
                                             "1"};

    (void)state;
    for (int i = 0; i < 2; i++) {
        struct sirix_json_event event;
        struct sirix_json_reader reader;

        sirix_json_reader_init(&reader, NULL);
        sirix_json_reader_feed(&reader, text(TEXTS[i]), true);
        assert_int_equal(sirix_json_reader_next(&reader, &event, NULL), SIRIX_OK);
        assert_int_equal(sirix_json_reader_had_bom(&reader), i == 1);
        assert_int_equal(event.offset, i == 1 ? 3 : 0);
        sirix_json_reader_reset(&reader);
        assert_false(sirix_json_reader_had_bom(&reader));
        sirix_json_reader_deinit(&reader);
    }
}

static void the_reader_survives_the_failure_of_any_allocation(void **state)
{
    static const char JSON[] =
        "[[[[[[[[[[[[[[[[[[[[\"a\\u0041\",{\"n\\u0041\":123456789.5}]]]]]]]]]]]]]]]]]]]]";
    int failures = 0;

    (void)state;
    for (long failing = 0;; failing++) {
        struct sirix_error err = {0};
        struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
        struct sirix_json_reader reader;
        enum sirix_status status = SIRIX_OK;
        size_t at = 0;

        sirix_json_reader_init(&reader, NULL);
        alloc_fault_arm(failing);
        while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
            status = sirix_json_reader_next(&reader, &event, &err);
            if (status == SIRIX_OK && event.kind == SIRIX_JSON_NEED_INPUT) {
                sirix_json_reader_feed(&reader, (struct sirix_bytes){JSON + at, 1},
                                       at + 2 == sizeof(JSON));
                at++;
            }
        }
        alloc_fault_disarm();
        sirix_json_reader_deinit(&reader);
        if (status == SIRIX_OK) {
            break;
        }
        assert_int_equal(status, SIRIX_NO_MEMORY);
        assert_int_equal(err.status, SIRIX_NO_MEMORY);
        failures++;
    }
    assert_true(failures >= 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_as_events_with_canonical_texts),
        cmocka_unit_test(ndjson_is_one_array),
        cmocka_unit_test(errors_name_the_byte_the_reason_and_the_pointer),
        cmocka_unit_test(a_consumer_can_name_the_place_of_its_own_error),
        cmocka_unit_test(a_long_string_of_escapes_streams_in_bounded_memory_up_to_its_limit),
        cmocka_unit_test(nesting_past_the_limit_is_refused_in_constant_memory),
        cmocka_unit_test(the_depth_limit_can_be_set_and_counts_ndjson),
        cmocka_unit_test(parts_never_cut_a_character_and_join_to_the_whole),
        cmocka_unit_test(short_strings_are_views_of_the_chunk),
        cmocka_unit_test(a_byte_order_mark_is_told),
        cmocka_unit_test(the_reader_survives_the_failure_of_any_allocation),
    };
    return cmocka_run_group_tests_name("reader", tests, NULL, NULL);
}
