/* Objects, arrays, sequences; JSON in and out; booleans and errors. */
#include "unit/query_value/value_help.h"

static void objects_keep_order_and_find_fields_whatever_their_number(void **state)
{
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_work *work = &bench->work;
    struct sirix_item object = {0};
    struct sirix_item found = {0};
    char names[3000][8];

    (void)state;
    assert_int_equal(sirix_object_new(work, 0, &object, &bench->err), SIRIX_OK);
    for (int i = 0; i < 3000; i++) {
        (void)snprintf(names[i], sizeof(names[i]), "n%d", i);
        assert_int_equal(
            sirix_object_add(work, object, text_of(names[i]), sirix_item_integer(i), &bench->err),
            SIRIX_OK);
    }
    assert_int_equal(sirix_object_add(work, object, text_of("n77"), sirix_item_null(), &bench->err),
                     SIRIX_INVALID);
    assert_string_equal(bench->err.code, "JNDY0003");

    for (int i = 0; i < 3000; i += 2) {
        assert_true(sirix_object_remove(object, text_of(names[i])));
    }
    assert_false(sirix_object_remove(object, text_of("n0")));
    assert_int_equal(
        sirix_object_rename(work, object, text_of("n1"), text_of("first"), &bench->err), SIRIX_OK);
    assert_int_equal(sirix_object_rename(work, object, text_of("n3"), text_of("n5"), &bench->err),
                     SIRIX_INVALID);
    assert_int_equal(
        sirix_object_set(work, object, text_of("n9"), sirix_item_integer(-9), &bench->err),
        SIRIX_OK);
    for (int i = 1; i < 3000; i += 2) {
        const char *name = i == 1 ? "first" : names[i];

        assert_int_equal(sirix_object_field(work, object, text_of(name), &found, &bench->err),
                         SIRIX_OK);
        assert_int_equal(found.value.integer, i == 9 ? -9 : i);
    }
    assert_int_equal(sirix_object_field(work, object, text_of("n2"), &found, &bench->err),
                     SIRIX_OK);
    assert_int_equal(found.kind, SIRIX_ITEM_NONE);
    bench_free(bench);
}

static void copies_share_nothing_with_what_they_were_made_of(void **state)
{
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_item item =
        item_of(bench, "json {\"a\":[1,{\"b\":\"text\"}],\"c\":99999999999999999999}");
    struct sirix_item copy = {0};
    struct sirix_item inner = {0};
    bool equal = false;

    (void)state;
    assert_int_equal(sirix_item_copy(&bench->work, item, &copy, &bench->err), SIRIX_OK);
    assert_false(sirix_container_same(item, copy));
    assert_int_equal(sirix_item_deep_equal(&bench->work, item, copy, &equal, &bench->err),
                     SIRIX_OK);
    assert_true(equal);

    assert_int_equal(sirix_object_field(&bench->work, item, text_of("a"), &inner, &bench->err),
                     SIRIX_OK);
    assert_int_equal(sirix_array_append(&bench->work, inner, sirix_item_integer(3), &bench->err),
                     SIRIX_OK);
    assert_string_equal(shown(bench, copy),
                        "json {\"a\":[1,{\"b\":\"text\"}],\"c\":99999999999999999999}");
    assert_string_equal(shown(bench, item),
                        "json {\"a\":[1,{\"b\":\"text\"},3],\"c\":99999999999999999999}");
    bench_free(bench);
}

static void deep_equality_looks_at_values_not_at_their_form(void **state)
{
    static const struct {
        const char *a;
        const char *b;
        bool equal;
    } CASES[] = {
        {"json {\"a\":1,\"b\":[1,2]}", "json {\"b\":[1.0,2],\"a\":1}", true},
        {"json {\"a\":1}", "json {\"a\":1,\"b\":2}", false},
        {"json [1,2]", "json [2,1]", false},
        {"json [[]]", "json [{}]", false},
        {"json [null]", "json [false]", false},
        {"json {}", "json {}", true},
        {"integer 1", "string 1", false},
        {"double NaN", "double NaN", true},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool equal = false;

        assert_int_equal(sirix_item_deep_equal(&bench->work, item_of(bench, CASES[i].a),
                                               item_of(bench, CASES[i].b), &equal, &bench->err),
                         SIRIX_OK);
        if (equal != CASES[i].equal) {
            fail_msg("%s and %s: %d", CASES[i].a, CASES[i].b, equal);
        }
    }
    bench_free(bench);
}

static void json_text_goes_in_and_comes_out(void **state)
{
    static const struct {
        const char *json;
        const char *expect;
    } CASES[] = {
        {"{\"a\":[1,1.10,1e2,-0,true,null,\"\\u00e9\\n\"]}",
         "json {\"a\":[1,1.10,100,0,true,null,\"\xc3\xa9\\n\"]}"},
        {" [ ] ", "json []"},
        {"{\"a\":1,\"b\":2,\"a\":3}", "json {\"a\":3,\"b\":2}"},
        {"\"x\"", "string x"},
        {"[1,]", "!FOJS0001"},
        {"{\"a\"}", "!FOJS0001"},
        {"", "!FOJS0001"},
        {"1 2", "!FOJS0001"},
    };
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_sequence lines = {0};

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        struct sirix_item item = {0};
        enum sirix_status status = sirix_item_parse_json(
            &bench->work, text_of(CASES[i].json), SIRIX_JSON_DOUBLES_LAST, &item, &bench->err);

        assert_string_equal(outcome(bench, status, item), CASES[i].expect);
        memset(&bench->err, 0, sizeof(bench->err));
    }
    assert_int_equal(sirix_items_parse_json_lines(
                         &bench->work, text_of("{\"a\":1}\n[2]\n\n3 \"x\""), &lines, &bench->err),
                     SIRIX_OK);
    assert_int_equal(lines.count, 4);
    bench_free(bench);
}

static void values_deeper_than_the_limit_are_refused_not_followed(void **state)
{
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_item item = sirix_item_integer(1);
    struct sirix_item copy = {0};
    struct sirix_buf buf;
    bool equal = false;

    (void)state;
    for (int i = 0; i < 100000; i++) {
        struct sirix_sequence one = sirix_sequence_of(&item);
        struct sirix_item outer = {0};

        assert_int_equal(sirix_array_from(&bench->work, &one, &outer, &bench->err), SIRIX_OK);
        item = outer;
    }
    sirix_buf_init(&buf, SIZE_MAX);

    assert_int_equal(sirix_item_print_json(&bench->work, item, &buf, &bench->err), SIRIX_EXHAUSTED);
    assert_string_equal(bench->err.base.field, "value_depth");
    assert_int_equal(sirix_item_copy(&bench->work, item, &copy, &bench->err), SIRIX_EXHAUSTED);
    assert_int_equal(sirix_item_keep(&bench->work, item, &copy, &bench->err), SIRIX_EXHAUSTED);
    struct sirix_sequence flat = {0};
    assert_int_equal(sirix_array_flatten(&bench->work, item, &flat, &bench->err), SIRIX_EXHAUSTED);
    assert_int_equal(sirix_item_deep_equal(&bench->work, item, item, &equal, &bench->err),
                     SIRIX_OK);
    sirix_buf_deinit(&buf);
    bench_free(bench);
}

static void ranges_take_no_memory_until_they_are_changed(void **state)
{
    struct bench *bench = bench_new(1024 * 1024);
    struct sirix_sequence range = sirix_sequence_range(1, INT64_C(1000000000));
    struct sirix_sequence more = sirix_sequence_range(INT64_C(1000000001), INT64_C(2000000000));
    struct sirix_sequence part = sirix_sequence_part(&range, 10, 3);

    (void)state;
    assert_int_equal(range.count, 1000000000);
    assert_int_equal(sirix_sequence_at(&range, 999999999).value.integer, 1000000000);
    assert_int_equal(sirix_sequence_at(&part, 2).value.integer, 13);
    assert_int_equal(sirix_sequence_append_all(&bench->work, &range, &more, &bench->err), SIRIX_OK);
    assert_int_equal(range.count, 2000000000);
    assert_int_equal(sirix_sequence_append(&bench->work, &range, sirix_item_null(), &bench->err),
                     SIRIX_EXHAUSTED);
    assert_int_equal(sirix_sequence_append(&bench->work, &part, sirix_item_null(), &bench->err),
                     SIRIX_OK);
    assert_int_equal(part.count, 4);
    assert_int_equal(sirix_sequence_range(2, 1).count, 0);
    assert_int_equal(sirix_sequence_at(&part, 0).value.integer, 11);
    bench_free(bench);
}

static void a_shared_sequence_does_not_change_when_its_copy_grows(void **state)
{
    struct bench *bench = bench_new(SIZE_MAX);
    struct sirix_sequence first = {0};
    struct sirix_sequence second = {0};

    (void)state;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(
            sirix_sequence_append(&bench->work, &first, sirix_item_integer(i), &bench->err),
            SIRIX_OK);
    }
    assert_int_equal(sirix_sequence_append_all(&bench->work, &second, &first, &bench->err),
                     SIRIX_OK);
    assert_int_equal(
        sirix_sequence_append(&bench->work, &second, sirix_item_integer(7), &bench->err), SIRIX_OK);
    assert_int_equal(
        sirix_sequence_append(&bench->work, &first, sirix_item_integer(8), &bench->err), SIRIX_OK);
    assert_int_equal(sirix_sequence_at(&second, 3).value.integer, 7);
    assert_int_equal(sirix_sequence_at(&first, 3).value.integer, 8);
    bench_free(bench);
}

static void truth_is_that_of_the_first_item_or_an_error(void **state)
{
    static const struct {
        const char *written;
        const char *expect;
    } CASES[] = {
        {"none", "false"},
        {"null", "false"},
        {"integer 0", "false"},
        {"integer 5", "true"},
        {"double NaN", "false"},
        {"string ", "false"},
        {"string 0", "true"},
        {"boolean true", "true"},
        {"json {}", "true"},
        {"json []", "true"},
        {"decimal 0.0", "false"},
        {"untypedAtomic x", "true"},
        {"anyURI x", "true"},
        {"date 2001-01-01", "FORG0006"},
        {"dayTimeDuration PT0S", "FORG0006"},
        {"hexBinary 00", "FORG0006"},
        {"integer 99999999999999999999", "true"},
    };
    struct bench *bench = bench_new(SIZE_MAX);

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        bool truth = false;
        enum sirix_status status =
            sirix_item_truth(item_of(bench, CASES[i].written), &truth, &bench->err);

        assert_string_equal(status != SIRIX_OK ? bench->err.code
                            : truth            ? "true"
                                               : "false",
                            CASES[i].expect);
    }
    bench_free(bench);
}

static void errors_tell_code_place_and_suggestion_in_one_sentence(void **state)
{
    struct sirix_query_error err = {0};
    struct sirix_error plain = {0};

    (void)state;
    assert_int_equal(sirix_query_fail(&err, "XPST0017", "unknown function jn:docs"), SIRIX_INVALID);
    sirix_query_error_locate(&err, 3, 14);
    sirix_query_error_locate(&err, 1, 1);
    sirix_query_error_suggest(&err, "jn:doc");
    sirix_query_error_convert(&err, &plain);
    assert_string_equal(plain.text,
                        "XPST0017 at 3:14: unknown function jn:docs; did you mean jn:doc?");
    assert_true(sirix_query_error_catchable(&err));

    assert_int_equal(sirix_query_fail_limit(&err, "items", "too many"), SIRIX_EXHAUSTED);
    assert_false(sirix_query_error_catchable(&err));
    sirix_query_error_convert(&err, &plain);
    assert_int_equal(plain.reason, SIRIX_REASON_SIZE_LIMIT);
    assert_string_equal(plain.field, "items");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(objects_keep_order_and_find_fields_whatever_their_number),
        cmocka_unit_test(copies_share_nothing_with_what_they_were_made_of),
        cmocka_unit_test(deep_equality_looks_at_values_not_at_their_form),
        cmocka_unit_test(json_text_goes_in_and_comes_out),
        cmocka_unit_test(values_deeper_than_the_limit_are_refused_not_followed),
        cmocka_unit_test(ranges_take_no_memory_until_they_are_changed),
        cmocka_unit_test(a_shared_sequence_does_not_change_when_its_copy_grows),
        cmocka_unit_test(truth_is_that_of_the_first_item_or_an_error),
        cmocka_unit_test(errors_tell_code_place_and_suggestion_in_one_sentence),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
