/* What is no table: names, random numbers, limits, deadlines, regular expressions, the page. */
#include "unit/query_function/stage.h"

#include "query/value/regex.h"

static void random_numbers_repeat_with_their_seed(void **state)
{
    struct stage *stage = *state;
    const char *names[] = {"number", "next", "permute"};
    struct sirix_item generators[2] = {{0}, {0}};

    for (int i = 0; i < 2; i++) {
        struct sirix_item seed = sirix_item_integer(42);
        struct sirix_sequence arguments[1] = {sirix_sequence_of(&seed)};
        struct sirix_sequence result = {0};
        const struct sirix_function *function =
            sirix_function_find(stage->set, SIRIX_NS_FN, text_of("random-number-generator"), 1);
        struct sirix_call call = {.work = &stage->bench->work,
                                  .function = function,
                                  .argument_count = 1,
                                  .arguments = arguments,
                                  .evaluator = &stage->evaluator};

        assert_int_equal(sirix_function_call(&call, &result, &stage->bench->err), SIRIX_OK);
        generators[i] = result.items[0];
    }
    for (int step = 0; step < 3; step++) {
        struct sirix_item fields[2][3];

        for (int i = 0; i < 2; i++) {
            for (int j = 0; j < 3; j++) {
                assert_int_equal(sirix_object_field(&stage->bench->work, generators[i],
                                                    text_of(names[j]), &fields[i][j],
                                                    &stage->bench->err),
                                 SIRIX_OK);
            }
            assert_true(fields[i][0].value.number >= 0 && fields[i][0].value.number < 1);
            struct sirix_sequence range = sirix_sequence_range(1, 100);
            struct sirix_sequence permuted = {0};
            struct sirix_sequence following = {0};
            int64_t sum = 0;

            assert_int_equal(
                invoke_callback(stage, fields[i][2], &range, 1, &permuted, &stage->bench->err),
                SIRIX_OK);
            for (size_t k = 0; k < permuted.count; k++) {
                sum += permuted.items[k].value.integer;
            }
            assert_int_equal(sum, 5050);
            assert_int_equal(
                invoke_callback(stage, fields[i][1], NULL, 0, &following, &stage->bench->err),
                SIRIX_OK);
            generators[i] = following.items[0];
        }
        assert_true(fields[0][0].value.number == fields[1][0].value.number);
    }
}

static void the_nearest_name_is_suggested(void **state)
{
    struct stage *stage = *state;
    char name[64];
    size_t min = 0;
    size_t max = 0;

    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_NONE, text_of("sumn"), name, sizeof(name)));
    assert_string_equal(name, "fn:sum");
    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_FN, text_of("substrng"), name, sizeof(name)));
    assert_string_equal(name, "fn:substring");
    assert_true(
        sirix_function_nearest(stage->set, SIRIX_NS_JN, text_of("key"), name, sizeof(name)));
    assert_string_equal(name, "jn:keys");
    assert_false(
        sirix_function_nearest(stage->set, SIRIX_NS_FN, text_of("qqqqqqqq"), name, sizeof(name)));
    assert_true(sirix_function_arities(stage->set, SIRIX_NS_FN, text_of("substring"), &min, &max));
    assert_int_equal(min, 2);
    assert_int_equal(max, 3);
    assert_false(sirix_function_arities(stage->set, SIRIX_NS_FN, text_of("environment-variable"),
                                        NULL, NULL));
}

/* --- Limits and time ---------------------------------------------------------------------------------------- */

struct deadline {
    int looks;
    int allowed;
};

static enum sirix_status look(void *context, struct sirix_query_error *err)
{
    struct deadline *deadline = context;

    return ++deadline->looks > deadline->allowed
               ? sirix_fail(&err->base, SIRIX_DEADLINE, "the deadline passed")
               : SIRIX_OK;
}

static void long_loops_look_at_the_deadline(void **state)
{
    static const struct row ROWS[] = {
        {"count", "1 to 1000000000000", "1000000000000"},
        {"sum", "1 to 1000000000000", "500000000000500000000000"},
        {"avg", "1 to 1000000000000", "decimal 500000000000.5"},
        {"min", "1 to 1000000000000", "!deadline"},
        {"tail", "1 to 1000000000000", "!deadline"},
        {"distinct-values", "1 to 1000000000000", "!deadline"},
        {"string-join", "1 to 1000000000000", "!deadline"},
        {"fold-left", "1 to 1000000000000 | 0 | Fadd", "!deadline"},
        {"filter", "1 to 1000000000000 | Feven", "!deadline"},
        {"index-of", "1 to 1000000000000 | 0", "!deadline"},
        {"max", "1 to 1000000000000", "!deadline"},
    };
    struct stage *stage = *state;
    struct deadline deadline = {.allowed = 3};

    stage->bench->work.check = look;
    stage->bench->work.check_context = &deadline;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        deadline.looks = 0;
        assert_string_equal(called(stage, ROWS[i].name, ROWS[i].arguments), ROWS[i].expect);
    }
    stage->bench->work.check = NULL;
}

static void strings_and_memory_have_named_limits(void **state)
{
    struct stage *stage = *state;
    struct sirix_item text = {0};
    struct sirix_sequence arguments[2] = {{0}, {0}};
    struct sirix_sequence result = {0};
    enum sirix_status status = SIRIX_OK;
    const struct sirix_function *concat =
        sirix_function_find(stage->set, SIRIX_NS_FN, text_of("concat"), 2);

    text = sirix_item_literal("0123456789abcdef");
    for (int i = 0; status == SIRIX_OK && i < 64; i++) { /* Doubles each time. */
        struct sirix_call call = {.work = &stage->bench->work,
                                  .function = concat,
                                  .argument_count = 2,
                                  .arguments = arguments,
                                  .evaluator = &stage->evaluator};

        arguments[0] = sirix_sequence_of(&text);
        arguments[1] = sirix_sequence_of(&text);
        status = sirix_function_call(&call, &result, &stage->bench->err);
        if (status == SIRIX_OK) {
            text = result.items[0];
        }
    }
    assert_int_equal(status, SIRIX_EXHAUSTED);
    assert_string_equal(stage->bench->err.base.field, "string_bytes");
    assert_int_equal(text.len, SIRIX_ITEM_STRING_BYTES_MAX);

    stage->bench->arena.limit_bytes = stage->bench->arena.used_bytes + 1000000;
    assert_string_equal(called(stage, "reverse", "1 to 1000000000"), "!exhausted");
    stage->bench->arena.limit_bytes = SIZE_MAX;
}

/* Says no at the third look. */
static enum sirix_status cancel_soon(void *context, struct sirix_query_error *err)
{
    unsigned *looks = context;

    return ++*looks < 3 ? SIRIX_OK : sirix_fail(&err->base, SIRIX_CANCELLED, "enough");
}

static void a_match_that_takes_long_is_cancelled_in_the_middle(void **state)
{
    struct stage *stage = *state;
    struct sirix_work *work = &stage->bench->work;
    struct sirix_regex *regex = NULL;
    const size_t *spans = NULL;
    unsigned looks = 0;
    bool found = false;
    char text[200];

    memset(text, 'a', sizeof(text));
    text[sizeof(text) - 1] = 'b';
    assert_int_equal(
        sirix_regex_get(work, text_of("^(a+)+$"), text_of(""), &regex, &stage->bench->err),
        SIRIX_OK);
    work->check = cancel_soon;
    work->check_context = &looks;
    /* All of it begins at one place. */
    assert_int_equal(sirix_regex_match(work, regex,
                                       (struct sirix_bytes){.data = text, .len = sizeof(text)}, 0,
                                       &found, &spans, &stage->bench->err),
                     SIRIX_CANCELLED);
    assert_int_equal(looks, 3);
    work->check = NULL;
}

static void a_regular_expression_that_explodes_ends_at_its_limit(void **state)
{
    struct stage *stage = *state;
    struct sirix_regex *regex = NULL;
    const size_t *spans = NULL;
    bool found = false;
    char text[200];

    memset(text, 'a', sizeof(text));
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("^(a+)+$"), text_of(""), &regex,
                                     &stage->bench->err),
                     SIRIX_OK);
    text[sizeof(text) - 1] = 'b';
    assert_int_equal(sirix_regex_match(&stage->bench->work, regex,
                                       (struct sirix_bytes){.data = text, .len = sizeof(text)}, 0,
                                       &found, &spans, &stage->bench->err),
                     SIRIX_EXHAUSTED);
    assert_string_equal(stage->bench->err.base.field, "regex_steps");
}

static void many_expressions_take_little_memory_each(void **state)
{
    struct stage *stage = *state;
    struct sirix_regex_cache *cache = NULL;
    size_t used = 0;

    assert_int_equal(sirix_regex_cache_new(&stage->bench->arena, &cache, &stage->bench->err),
                     SIRIX_OK);
    stage->bench->work.regexes = cache;
    for (int i = 0; i < 1000; i++) {
        struct sirix_regex *regex = NULL;
        const size_t *spans = NULL;
        char pattern[32];
        bool found = false;

        (void)snprintf(pattern, sizeof(pattern), "^a(%d|b)+$", i);
        assert_int_equal(sirix_regex_get(&stage->bench->work, text_of(pattern), text_of(""), &regex,
                                         &stage->bench->err),
                         SIRIX_OK);
        assert_int_equal(sirix_regex_match(&stage->bench->work, regex, text_of("abbb"), 0, &found,
                                           &spans, &stage->bench->err),
                         SIRIX_OK);
        assert_true(found);
        assert_int_equal(spans[2], 3);
        used = i == 0 ? stage->bench->arena.used_bytes : used;
    }
    assert_in_range(stage->bench->arena.used_bytes - used, 1, 2000 * 1000);
    stage->bench->work.regexes = NULL;
}

static void matches_far_into_a_long_text_are_found(void **state)
{
    struct stage *stage = *state;
    struct sirix_regex_cache *cache = NULL;
    struct sirix_regex *regex = NULL;
    struct sirix_regex *again = NULL;
    const size_t *spans = NULL;
    size_t len = 300000;
    char *text = test_malloc(len);
    bool found = false;

    for (size_t i = 0; i + 1 < len; i += 2) { /* Two bytes each: pieces must not cut one. */
        memcpy(text + i, "\xc3\xa9", 2);
    }
    memcpy(text + len - 6, "needle", 6);
    assert_int_equal(sirix_regex_cache_new(&stage->bench->arena, &cache, &stage->bench->err),
                     SIRIX_OK);
    stage->bench->work.regexes = cache;
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("n(e+)dle"), text_of(""), &regex,
                                     &stage->bench->err),
                     SIRIX_OK);
    assert_int_equal(sirix_regex_match(&stage->bench->work, regex,
                                       (struct sirix_bytes){.data = text, .len = len}, 0, &found,
                                       &spans, &stage->bench->err),
                     SIRIX_OK);
    assert_true(found);
    assert_int_equal(spans[0], len - 6);
    assert_int_equal(spans[3], len - 3);
    assert_int_equal(sirix_regex_get(&stage->bench->work, text_of("n(e+)dle"), text_of(""), &again,
                                     &stage->bench->err),
                     SIRIX_OK);
    assert_ptr_equal(regex, again);
    stage->bench->work.regexes = NULL;
    test_free(text);
}

/* --- The page ----------------------------------------------------------------------------------------------- */

static void every_function_is_in_the_reference(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];
    size_t count = sirix_function_library(tables);
    FILE *file = fopen(SIRIX_QUERY_DOCS, "rb");
    size_t cap = 1024 * 1024;
    char *page = test_malloc(cap);
    int missing = 0;

    (void)state;
    assert_non_null(file);
    size_t len = fread(page, 1, cap - 1, file);
    assert_int_equal(fclose(file), 0);
    assert_true(len > 0 && len < cap - 1);
    page[len] = '\0';

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < tables[i].count; j++) {
            const struct sirix_function *function = &tables[i].functions[j];
            bool has_list = function->ns == SIRIX_NS_XS || function->ns == SIRIX_NS_BIT;
            char text[96];

            /* Constructors and Brackit's names are a list; the others have an entry each. */
            (void)snprintf(
                text, sizeof(text), "%s%s%s%s",
                has_list && function->ns == SIRIX_NS_XS ? ""
                                                        : sirix_function_ns_prefix(function->ns),
                function->ns == SIRIX_NS_XS ? "" : ":", function->name, has_list ? "" : "(");
            if (strstr(page, text) == NULL) {
                print_error("docs/query.md: no %s\n", text);
                missing++;
            }
        }
    }
    test_free(page);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_STAGE(random_numbers_repeat_with_their_seed),
        WITH_STAGE(the_nearest_name_is_suggested),
        WITH_STAGE(long_loops_look_at_the_deadline),
        WITH_STAGE(strings_and_memory_have_named_limits),
        WITH_STAGE(a_regular_expression_that_explodes_ends_at_its_limit),
        WITH_STAGE(a_match_that_takes_long_is_cancelled_in_the_middle),
        WITH_STAGE(many_expressions_take_little_memory_each),
        WITH_STAGE(matches_far_into_a_long_text_are_found),
        cmocka_unit_test(every_function_is_in_the_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
