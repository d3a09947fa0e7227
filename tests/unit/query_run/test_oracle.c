/*
 * Random queries over random documents: the engine with every rewrite and shortcut gives what it gives
 * without any. An error of the plain evaluation may go away (what is not evaluated cannot fail), never the
 * other way round.
 *
 *     SIRIX_QUERY_ORACLE_SEED=n  SIRIX_QUERY_ORACLE_ROUNDS=n
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unit/query_run/fixture.h"

enum { TEXT_BYTES = 64 * 1024, QUERIES_A_DOCUMENT = 40, ROUNDS = 40, DEPTH = 3, NUMBER_MAX = 6 };

struct text {
    char bytes[TEXT_BYTES];
    size_t len;
    uint64_t random;
    unsigned variables; /* $v0 .. bound so far. */
};

static unsigned pick(struct text *t, unsigned below)
{
    t->random ^= t->random << 13;
    t->random ^= t->random >> 7;
    t->random ^= t->random << 17;
    return (unsigned)(t->random >> 11) % below;
}

static void SIRIX_PRINTF(2, 3) put(struct text *t, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    int len = vsnprintf(t->bytes + t->len, TEXT_BYTES - t->len, format, args);
    va_end(args);
    assert_true(len >= 0 && t->len + (size_t)len < TEXT_BYTES);
    t->len += (size_t)len;
}

/* --- Documents -------------------------------------------------------------------------------------- */

static void put_scalar(struct text *t)
{
    static const char *const scalars[] = {
        "0",    "1",          "2",     "3",    "-1",   "1.0",   "2.50", "1e0",
        "0.1",  "\"a\"",      "\"b\"", "\"\"", "true", "false", "null", "12345678901234567890",
        "1e-1", "\"\\u00e9\""};

    put(t, "%s", scalars[pick(t, sizeof(scalars) / sizeof(scalars[0]))]);
}

static void put_document(struct text *t, unsigned depth);

static void put_record(struct text *t, unsigned depth)
{
    static const char *const names[] = {"a", "b", "c", "k", "x y"};
    const char *comma = "";

    put(t, "{");
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (pick(t, 4) == 0) {
            continue;
        }
        put(t, "%s\"%s\":", comma, names[i]);
        put_document(t, depth);
        comma = ",";
    }
    put(t, "}");
}

static void put_document(struct text *t, unsigned depth)
{
    unsigned count = pick(t, 6);

    if (depth == 0 || pick(t, 3) == 0) {
        put_scalar(t);
    } else if (pick(t, 2) == 0) {
        put_record(t, depth - 1);
    } else {
        put(t, "[");
        for (unsigned i = 0; i < count; i++) {
            put(t, "%s", i == 0 ? "" : ",");
            put_document(t, depth - 1);
        }
        put(t, "]");
    }
}

/* An object with two tables, so that joins and groups have something to do. */
static void put_root(struct text *t)
{
    put(t, "{\"t\":[");
    for (unsigned i = 0, count = pick(t, 90); i < count; i++) {
        put(t, "%s", i == 0 ? "" : ",");
        put_record(t, 1);
    }
    put(t, "],\"u\":[");
    for (unsigned i = 0, count = pick(t, 20); i < count; i++) {
        put(t, "%s", i == 0 ? "" : ",");
        put_record(t, 2);
    }
    put(t, "],\"a\":");
    put_document(t, DEPTH);
    put(t, "}");
}

/* --- Queries ---------------------------------------------------------------------------------------- */

static void put_items(struct text *t, unsigned depth);
static void put_value(struct text *t, unsigned depth);

static void put_name(struct text *t)
{
    static const char *const names[] = {".a", ".b", ".c", ".k", ".\"x y\""};

    put(t, "%s", names[pick(t, sizeof(names) / sizeof(names[0]))]);
}

static void put_variable(struct text *t)
{
    if (t->variables == 0) {
        put(t, "$$");
    } else {
        put(t, "$v%u", pick(t, t->variables));
    }
}

static void put_comparison(struct text *t, unsigned depth)
{
    static const char *const ops[] = {" eq ", " ne ", " lt ", " ge ", " = ", " != ", " < ", " >= "};

    put(t, "(");
    put_value(t, depth);
    put(t, "%s", ops[pick(t, sizeof(ops) / sizeof(ops[0]))]);
    put_value(t, depth);
    put(t, ")");
}

static void put_condition(struct text *t, unsigned depth)
{
    switch (pick(t, 7)) {
    case 6: /* Among many: a variable, what is evaluated each time, and both. */
        put_variable(t);
        put_name(t);
        put(t, " = %s", pick(t, 2) == 0 ? "$k" : "$d.t[].k");
        break;
    case 0:
        put(t, "exists(");
        put_items(t, depth == 0 ? 0 : depth - 1);
        put(t, ")");
        break;
    case 1:
        put_comparison(t, 0);
        put(t, " and ");
        put_comparison(t, 0);
        break;
    case 2:
        put(t, "not(");
        put_comparison(t, 0);
        put(t, ")");
        break;
    default:
        put_comparison(t, depth == 0 ? 0 : depth - 1);
    }
}

/* Something with at most one item, most of the time. */
static void put_value(struct text *t, unsigned depth)
{
    static const char *const functions[] = {"count", "sum",    "min",   "max",
                                            "avg",   "exists", "empty", "head"};

    switch (pick(t, depth == 0 ? 3 : 8)) {
    case 0:
        put(t, "%u", pick(t, NUMBER_MAX));
        break;
    case 1:
    case 2:
        put_variable(t);
        put_name(t);
        break;
    case 3:
        put(t, "(");
        put_value(t, depth - 1);
        put(t, "%s", pick(t, 2) == 0 ? " + " : " * ");
        put_value(t, depth - 1);
        put(t, ")");
        break;
    case 4:
        put(t, "\"%c\"", 'a' + (char)pick(t, 3));
        break;
    default:
        put(t, "%s(", functions[pick(t, sizeof(functions) / sizeof(functions[0]))]);
        put_items(t, depth - 1);
        put(t, ")");
    }
}

static void put_group(struct text *t)
{
    const unsigned key = t->variables++;

    put(t, "group by $v%u := ", key);
    put(t, "$v%u", pick(t, key));
    put_name(t);
    put(t, " ");
}

static void put_flwor(struct text *t, unsigned depth)
{
    const unsigned outside = t->variables;
    bool grouped = false;

    put(t, "(for $v%u in ", t->variables);
    put_items(t, depth - 1);
    t->variables++;
    put(t, " ");
    for (unsigned i = pick(t, 4); i != 0; i--) {
        switch (pick(t, 7)) {
        case 0:
            put(t, "for $v%u in $$.%s[] where $v%u", t->variables, pick(t, 2) == 0 ? "t" : "u",
                t->variables - 1);
            put_name(t);
            put(t, "%s$v%u", pick(t, 2) == 0 ? " eq " : " = ", t->variables);
            put_name(t);
            if (pick(t, 2) == 0) { /* Of the table alone. */
                put(t, " and $v%u", t->variables);
                put_name(t);
                put(t, "%s%u", pick(t, 2) == 0 ? " gt " : " != ", pick(t, NUMBER_MAX));
            }
            if (pick(t, 2) == 0) { /* Before the table is looked into. */
                put(t, " and ");
                put_comparison(t, 0);
            }
            t->variables++;
            put(t, " ");
            break;
        case 1:
            put(t, "let $v%u := ", t->variables);
            put_items(t, depth - 1);
            t->variables++;
            put(t, " ");
            break;
        case 2:
        case 3:
            put(t, "where ");
            put_condition(t, depth - 1);
            put(t, " ");
            break;
        case 4:
            put(t, "count $v%u ", t->variables++);
            break;
        case 5:
            if (!grouped) {
                put_group(t);
                grouped = true;
            }
            break;
        default:
            put(t, "order by ");
            put_value(t, 0);
            put(t, "%s%s ", pick(t, 2) == 0 ? "" : " descending",
                pick(t, 3) == 0 ? " empty greatest" : "");
        }
    }
    put(t, "return ");
    switch (pick(t, 4)) {
    case 2:
        put_variable(t);
        put_name(t);
        break;
    case 0:
        put(t, "{\"r\":");
        put_items(t, depth - 1);
        put(t, "}");
        break;
    case 1:
        put_items(t, depth - 1);
        break;
    default:
        put_variable(t);
    }
    put(t, ")");
    t->variables = outside;
}

static void put_path(struct text *t)
{
    put_variable(t);
    for (unsigned i = pick(t, 3) + 1; i != 0; i--) {
        switch (pick(t, 7)) {
        case 0:
            put(t, "[]");
            break;
        case 1:
            put(t, "=>>%c", 'a' + (char)pick(t, 3));
            break;
        case 2:
            put(t, "[%d]", (int)pick(t, 4) - 1);
            break;
        case 3:
            put(t, ".t[]");
            break;
        default:
            put_name(t);
        }
    }
}

static void put_items(struct text *t, unsigned depth)
{
    switch (pick(t, depth == 0 ? 2 : 10)) {
    case 0:
        put(t, "$$.%s[]", pick(t, 2) == 0 ? "t" : "u");
        break;
    case 9:
        if (t->variables != 0) { /* In a loop it becomes a table. */
            put(t, "$d.%s[][$$", pick(t, 2) == 0 ? "t" : "u");
            put_name(t);
            put(t, "%s$v%u", pick(t, 2) == 0 ? " eq " : " = ", pick(t, t->variables));
            put_name(t);
            put(t, "]");
            break;
        }
        put(t, "$$.t[]");
        break;
    case 1:
        put_path(t);
        break;
    case 2:
        put(t, "subsequence(");
        put_items(t, depth - 1);
        put(t, ",%u,%u)", pick(t, 4), pick(t, 5));
        break;
    case 3:
        put(t, "(");
        put_items(t, depth - 1);
        put(t, ")[");
        put_condition(t, depth - 1);
        put(t, "]");
        break;
    case 4:
        put(t, "(");
        put_items(t, depth - 1);
        put(t, ")[position() %s %u]", pick(t, 2) == 0 ? "le" : "eq", pick(t, 5));
        break;
    case 5:
        put(t, "distinct-values((");
        put_items(t, depth - 1);
        put(t, ")[not($$ instance of object or $$ instance of array)])");
        break;
    case 6:
        put_value(t, depth - 1);
        break;
    default:
        put_flwor(t, depth);
    }
}

/* --- The comparison --------------------------------------------------------------------------------- */

static uint64_t from_environment(const char *name, uint64_t preset)
{
    const char *text = getenv(name);

    return text == NULL ? preset : strtoull(text, NULL, 10);
}

/* Whether the plain evaluation has an answer with items in it. */
static bool compare(struct query_fixture *f, const struct text *query, const char *document)
{
    bool answered = false;

    f->naive = true;
    char *plain = query_fixture_run(f, query->bytes);
    f->naive = false;
    char *quick = query_fixture_run(f, query->bytes);

    if (strcmp(plain, quick) != 0 && plain[0] != '!') {
        print_error("query: %s\ndocument: %s\nplain: %.2000s\nquick: %.2000s\n", query->bytes,
                    document, plain, quick);
        fail();
    }
    answered = plain[0] != '!' && plain[0] != '\0';
    free(plain);
    free(quick);
    return answered;
}

static void rewritten_queries_give_what_plain_ones_give(void **state)
{
    static struct text document;
    static struct text query;
    const uint64_t seed = from_environment("SIRIX_QUERY_ORACLE_SEED", 20260101);
    const uint64_t rounds = from_environment("SIRIX_QUERY_ORACLE_ROUNDS", ROUNDS);

    uint64_t answered = 0;

    (void)state;
    for (uint64_t round = 0; round < rounds; round++) {
        struct query_fixture f;

        document = (struct text){.random = (seed + round) * UINT64_C(0x9e3779b97f4a7c15) | 1};
        put_root(&document);
        query_fixture_open(&f, NULL);
        query_fixture_put(&f, "r", document.bytes);
        f.context = "r";
        f.limits.items_visited = 20 * 1000 * 1000;
        f.limits.results = 1000;
        query.random = document.random;
        for (unsigned i = 0; i < QUERIES_A_DOCUMENT; i++) {
            query.len = 0;
            query.variables = 0;
            put(&query, "let $d := $$, $k := $d.t[].k[$$ instance of decimal] return (");
            put_items(&query, DEPTH);
            put(&query, ")");
            answered += compare(&f, &query, document.bytes) ? 1 : 0;
        }
        query_fixture_close(&f);
    }
    /* Else the queries ask for nothing that matters. */
    assert_true(answered > rounds * QUERIES_A_DOCUMENT / 4);
    print_message("%llu queries of %llu have items\n", (unsigned long long)answered,
                  (unsigned long long)(rounds * QUERIES_A_DOCUMENT));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rewritten_queries_give_what_plain_ones_give),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
