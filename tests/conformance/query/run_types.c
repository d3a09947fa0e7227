/*
 * All pairs of atomic types: what casts to what, what compares with what, and what arithmetic there is,
 * by the tables of Functions and Operators 3.1 (19.1, 4.3, 9.4, 9.8, 9.9) and XQuery 3.1 (B.2).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

/*
 * A type with a value of it. casts has a letter for each type in this order: Y always, M it depends on
 * the value, N never. group: values of one group compare with each other; is_ordered: by lt, too.
 */
static const struct type {
    const char *name;
    const char *value;
    const char *casts;
    char group;
    bool is_ordered;
} types[] = {
    {"untypedAtomic", "xs:untypedAtomic('2')", "YYMMMMMMMMMMMMMMMMMMMM", 's', true},
    {"string", "'a'", "YYMMMMMMMMMMMMMMMMMMMM", 's', true},
    {"float", "xs:float(1)", "YYYYMMNNNNNNNNNNNYNNNN", 'n', true},
    {"double", "1e0", "YYYYMMNNNNNNNNNNNYNNNN", 'n', true},
    {"decimal", "1.5", "YYYYYYNNNNNNNNNNNYNNNN", 'n', true},
    {"integer", "1", "YYYYYYNNNNNNNNNNNYNNNN", 'n', true},
    {"duration", "xs:duration('P1Y1D')", "YYNNNNYYYNNNNNNNNNNNNN", 'd', false},
    {"yearMonthDuration", "xs:yearMonthDuration('P1Y')", "YYNNNNYYYNNNNNNNNNNNNN", 'd', true},
    {"dayTimeDuration", "xs:dayTimeDuration('P1D')", "YYNNNNYYYNNNNNNNNNNNNN", 'd', true},
    {"dateTime", "xs:dateTime('2000-01-01T00:00:00')", "YYNNNNNNNYYYYYYYYNNNNN", 't', true},
    {"time", "xs:time('10:00:00')", "YYNNNNNNNNYNNNNNNNNNNN", 'u', true},
    {"date", "xs:date('2000-01-01')", "YYNNNNNNNYNYYYYYYNNNNN", 'v', true},
    {"gYearMonth", "xs:gYearMonth('2000-01')", "YYNNNNNNNNNNYNNNNNNNNN", 'w', false},
    {"gYear", "xs:gYear('2000')", "YYNNNNNNNNNNNYNNNNNNNN", 'x', false},
    {"gMonthDay", "xs:gMonthDay('--01-01')", "YYNNNNNNNNNNNNYNNNNNNN", 'y', false},
    {"gDay", "xs:gDay('---01')", "YYNNNNNNNNNNNNNYNNNNNN", 'z', false},
    {"gMonth", "xs:gMonth('--01')", "YYNNNNNNNNNNNNNNYNNNNN", 'a', false},
    {"boolean", "true()", "YYYYYYNNNNNNNNNNNYNNNN", 'b', true},
    {"base64Binary", "xs:base64Binary('AAAA')", "YYNNNNNNNNNNNNNNNNYYNN", 'c', true},
    {"hexBinary", "xs:hexBinary('00')", "YYNNNNNNNNNNNNNNNNYYNN", 'e', true},
    {"anyURI", "xs:anyURI('a')", "YYNNNNNNNNNNNNNNNNNNYN", 's', true},
    {"QName", "QName('u','a')", "YYNNNNNNNNNNNNNNNNNNNY", 'q', false},
};

enum {
    TYPE_COUNT = sizeof(types) / sizeof(types[0]),
    UNTYPED = 0,
    INTEGER = 5,
    MONTHS = 7,
    SECONDS = 8,
    DATE_TIME = 9,
    TIME = 10,
    DATE = 11,
    QUERY_BYTES_MAX = 300,
};

struct page {
    struct engine engine;
    struct sirix_arena arena;
    unsigned cases;
    unsigned failures;
};

/* want: the text of the one item, "" for any, or the code of the error behind a '!'. */
static void check(struct page *page, const char *query, const char *want)
{
    const struct engine_options options = {.jsoniq = false};
    struct sirix_query_error err = {.line = 0};
    struct result_item *items = NULL;
    char is[QUERY_BYTES_MAX];
    size_t count = 0;

    sirix_arena_reset(&page->arena);
    enum sirix_status status =
        engine_run(&page->engine, bytes_of(query), &options, &items, &count, &err);

    if (status != SIRIX_OK) {
        (void)snprintf(is, sizeof(is), "!%s", err.code);
    } else {
        assert_int_equal(count, 1);
        (void)snprintf(is, sizeof(is), "%.*s", (int)items[0].text.len,
                       (const char *)items[0].text.data);
    }
    page->cases++;
    if (want[0] == '\0' ? is[0] == '!' : strcmp(is, want) != 0) {
        page->failures++;
        print_message("%s gives %s, not %s\n", query, is, want[0] == '\0' ? "a value" : want);
    }
}

/* "a op b" */
static void check_pair(struct page *page, size_t a, const char *op, size_t b, const char *want)
{
    char query[QUERY_BYTES_MAX];

    (void)snprintf(query, sizeof(query), "%s %s %s", types[a].value, op, types[b].value);
    check(page, query, want);
}

static void check_cast(struct page *page, size_t from, size_t to)
{
    const char how = types[from].casts[to];
    char cast[QUERY_BYTES_MAX];
    char castable[QUERY_BYTES_MAX];

    (void)snprintf(cast, sizeof(cast), "%s cast as xs:%s", types[from].value, types[to].name);
    (void)snprintf(castable, sizeof(castable), "%s castable as xs:%s", types[from].value,
                   types[to].name);
    if (how != 'M') {
        check(page, cast, how == 'Y' ? "" : "!XPTY0004");
        check(page, castable, how == 'Y' ? "true" : "false");
    }
}

static void check_comparisons(struct page *page, size_t a, size_t b)
{
    const bool compare = types[a].group == types[b].group;
    const bool ordered = compare && types[a].is_ordered && (types[a].group != 'd' || a == b);

    check_pair(page, a, "eq", b, compare ? "" : "!XPTY0004");
    check_pair(page, a, "ne", b, compare ? "" : "!XPTY0004");
    check_pair(page, a, "lt", b, ordered ? "" : "!XPTY0004");
    check_pair(page, a, "ge", b, ordered ? "" : "!XPTY0004");
}

static bool is_number(size_t type)
{
    return type == UNTYPED || (type >= 2 && type <= INTEGER);
}

static bool is_duration(size_t type)
{
    return type == MONTHS || type == SECONDS;
}

/* Whether a duration of one type can be added to a point in time. */
static bool moves(size_t duration, size_t point)
{
    return (duration == MONTHS && (point == DATE || point == DATE_TIME)) ||
           (duration == SECONDS && (point == DATE || point == DATE_TIME || point == TIME));
}

static bool has_arithmetic(size_t a, char op, size_t b)
{
    if (is_number(a) && is_number(b)) {
        return true;
    }
    switch (op) {
    case '+':
        return (is_duration(a) && a == b) || moves(a, b) || moves(b, a);
    case '-':
        return (is_duration(a) && a == b) || moves(b, a) || (a == b && a >= DATE_TIME && a <= DATE);
    case '*':
        return (is_duration(a) && is_number(b)) || (is_number(a) && is_duration(b));
    case 'd':
        return is_duration(a) && (is_number(b) || a == b);
    default:
        return false;
    }
}

static void check_arithmetic(struct page *page, size_t a, size_t b)
{
    static const char *const operators[] = {"+", "-", "*", "div", "idiv", "mod"};
    const bool untyped = (a == UNTYPED || b == UNTYPED) && !(is_number(a) && is_number(b));

    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]) && !untyped; i++) {
        const bool there = has_arithmetic(a, operators[i][0], b);

        check_pair(page, a, operators[i], b, there ? "" : "!XPTY0004");
    }
}

static void every_pair_of_types_does_what_the_tables_say(void **state)
{
    struct page *page = calloc(1, sizeof(*page));

    (void)state;
    assert_non_null(page);
    sirix_arena_init(&page->arena, SIZE_MAX);
    engine_open(&page->engine, &page->arena);
    for (size_t a = 0; a < TYPE_COUNT; a++) {
        assert_int_equal(strlen(types[a].casts), TYPE_COUNT);
        for (size_t b = 0; b < TYPE_COUNT; b++) {
            check_cast(page, a, b);
            check_comparisons(page, a, b);
            check_arithmetic(page, a, b);
        }
    }

    unsigned cases = page->cases;
    unsigned failures = page->failures;

    engine_close(&page->engine);
    sirix_arena_deinit(&page->arena);
    free(page);
    print_message("%u cases\n", cases);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_types_does_what_the_tables_say),
    };

    return cmocka_run_group_tests_name("query_types", tests, NULL, NULL);
}
