/*
 * Functions without memory: the arenas refuse, or malloc does, at every point in turn. A function then
 * fails as that, holds on to nothing, and otherwise gives what it always gives.
 */
#include "unit/query_function/stage.h"

#include "unit/base/alloc_fault.h"

static const struct {
    const char *name;
    const char *arguments;
} ROWS[] = {
    {"concat", "\"a\" | 1 | date 2001-01-01"},
    {"string-join", "1 , 2 , 3 | \", \""},
    {"upper-case", "\"stra\xc3\x9f\x65\""},
    {"translate", "\"abc\" | \"b\" | \"x\""},
    {"normalize-unicode", "\"e\xcc\x81\" | \"NFC\""},
    {"normalize-space", "\" a  b \""},
    {"encode-for-uri", "\"a b\""},
    {"resolve-uri", "\"../g\" | \"http://a/b/c/d\""},
    {"string-to-codepoints", "\"abc\""},
    {"codepoints-to-string", "97 , 98"},
    {"matches", "\"abcd\" | \"^(a|b)+[c-d-[e]]\\p{L}$\""},
    {"replace", "\"abab\" | \"(a)(b)\" | \"$2$1\""},
    {"tokenize", "\"a,b,c\" | \",\""},
    {"analyze-string", "\"a1b2\" | \"(\\d)\""},
    {"sum", "99999999999999999999 , 1 , 0.5"},
    {"avg", "1 , 2 , 4"},
    {"max", "1 , 2.5 , 99999999999999999999"},
    {"round", "12345678901234567890.55 | 1"},
    {"xs:decimal", "double 0.1"},
    {"xs:integer", "\"123456789012345678901234567890\""},
    {"xs:hexBinary", "\"0aff\""},
    {"xs:base64Binary", "\"Zm9v\""},
    {"xs:duration", "\"P1Y2M3DT4H\""},
    {"string", "base64Binary Zm9v"},
    {"format-number", "1234567.891 | \"#,##0.00\""},
    {"format-integer", "123 | \"w\""},
    {"format-date", "date 2001-02-03 | \"[D1o] [MNn] [Y]\""},
    {"parse-ietf-date", "\"Wed, 06 Jun 1994 07:29:35 GMT\""},
    {"tail", "1 , 2 , 3"},
    {"reverse", "1 , 2 , 3"},
    {"distinct-values", "1 , 2 , 1 , \"a\" , \"b\" , 3 , 4 , 5 , 6 , 7 , 8 , 9 , 10 , 11"},
    {"insert-before", "1 , 2 | 2 | 9 , 8"},
    {"index-of", "1 , 2 , 1 | 1"},
    {"deep-equal", "{\"a\":[1,{\"b\":2}]} | {\"a\":[1,{\"b\":2}]}"},
    {"sort", "3 , 1 , 2 | () | Fnegate"},
    {"for-each", "1 , 2 | Ftwice"},
    {"filter", "1 , 2 , 3 | Feven"},
    {"fold-left", "1 to 5 | 0 | Fadd"},
    {"apply", "Fadd | [1,2]"},
    {"keys", "{\"a\":1,\"b\":2} , {\"c\":3}"},
    {"members", "[1,[2]] , [3]"},
    {"flatten", "[1,[2,[3]]]"},
    {"project", "{\"a\":1,\"b\":2} | \"a\""},
    {"accumulate", "{\"a\":1} , {\"a\":2,\"b\":3}"},
    {"descendant-objects", "{\"a\":[{\"b\":1}]}"},
    {"map:merge", "{\"a\":1} , {\"a\":3} | {\"duplicates\":\"combine\"}"},
    {"map:put", "{\"a\":1} | \"b\" | 1 , 2"},
    {"map:find", "[{\"a\":1},{\"b\":{\"a\":[2]}}] | \"a\""},
    {"array:subarray", "[1,2,3] | 2"},
    {"array:sort", "[3,1,2]"},
    {"array:join", "[1] , [2]"},
    {"parse-json", "\"{\"a\":[1,2.50,\"x\\u00e9\"],\"b\":{\"c\":null}}\""},
    {"jn:parse-json", "\"{\"a\":1}[2]\""},
    {"serialize", "{\"a\":[1,\"x\"]} , 2"},
    {"QName", "\"urn:x\" | \"p:a\""},
    {"function-name", "Fadd"},
};

enum { ROW_COUNT = sizeof(ROWS) / sizeof(ROWS[0]), SWEEP_MAX = 4000 };

static size_t limit_bytes;
static long malloc_count;

static void arm_limit(struct stage *stage)
{
    stage->bench->arena.limit_bytes = stage->bench->arena.used_bytes + limit_bytes;
    stage->bench->scratch.limit_bytes = stage->bench->scratch.used_bytes + limit_bytes;
}

static void disarm_limit(struct stage *stage)
{
    stage->bench->arena.limit_bytes = SIZE_MAX;
    stage->bench->scratch.limit_bytes = SIZE_MAX;
}

static void arm_malloc(struct stage *stage)
{
    (void)stage;
    alloc_fault_arm(malloc_count);
}

static void disarm_malloc(struct stage *stage)
{
    (void)stage;
    alloc_fault_disarm();
}

/* Calls a row on a stage of its own; the text goes to `to`. */
static void call_row(size_t row, void (*arm)(struct stage *), void (*disarm)(struct stage *),
                     char *to, size_t to_bytes)
{
    void *stage = NULL;

    assert_int_equal(set_up(&stage), 0);
    ((struct stage *)stage)->arm = arm;
    ((struct stage *)stage)->disarm = disarm;
    (void)snprintf(to, to_bytes, "%s", called(stage, ROWS[row].name, ROWS[row].arguments));
    assert_int_equal(((struct stage *)stage)->bench->scratch.used_bytes, 0);
    assert_int_equal(tear_down(&stage), 0);
}

static void nothing_to_arm(struct stage *stage)
{
    (void)stage;
}

static void an_arena_that_refuses_is_told_and_left_as_it_was(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROW_COUNT; row++) {
        char expected[2048];
        char got[2048] = "!exhausted";

        call_row(row, nothing_to_arm, NULL, expected, sizeof(expected));
        for (limit_bytes = 0; limit_bytes < SWEEP_MAX && strcmp(got, expected) != 0;
             limit_bytes += 8) {
            call_row(row, arm_limit, disarm_limit, got, sizeof(got));
            if (strcmp(got, "!exhausted") != 0 && strcmp(got, expected) != 0) {
                fail_msg("%s(%s) in %zu bytes: %s, not %s", ROWS[row].name, ROWS[row].arguments,
                         limit_bytes, got, expected);
            }
        }
    }
}

static void an_allocation_that_fails_is_told(void **state)
{
    (void)state;
    for (size_t row = 0; row < ROW_COUNT; row++) {
        char expected[2048];
        char got[2048] = "!no_memory";

        call_row(row, nothing_to_arm, NULL, expected, sizeof(expected));
        for (malloc_count = 0; malloc_count < SWEEP_MAX && strcmp(got, expected) != 0;
             malloc_count++) {
            call_row(row, arm_malloc, disarm_malloc, got, sizeof(got));
            if (strcmp(got, "!no_memory") != 0 && strcmp(got, expected) != 0) {
                fail_msg("%s(%s), allocation %ld fails: %s, not %s", ROWS[row].name,
                         ROWS[row].arguments, malloc_count, got, expected);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arena_that_refuses_is_told_and_left_as_it_was),
        cmocka_unit_test(an_allocation_that_fails_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
