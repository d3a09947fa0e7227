/*
 * Our own cases of the query language, in own_cases.txt, written from the texts of the languages:
 *
 *     # a comment                     blank lines are passed over
 *     @ default                       the dialect of what follows: default, jsoniq or xquery
 *     query ==> item | item           the items as text: JSON of structured ones; '' is an empty string
 *     query ==> !CODE                 the code of the error
 *
 * A query is one line. Each runs twice, with the planner's rewrites and without any.
 *
 *     SIRIX_QUERY_OWN=path            reads another file of cases, and shows what each gives
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

static const char XQUERY_PROLOG[] = "xquery version \"3.1\"; ";

enum dialect { DIALECT_DEFAULT, DIALECT_JSONIQ, DIALECT_XQUERY };

struct page {
    struct engine engine;
    struct sirix_arena arena; /* Of one case. */
    const char *path;
    unsigned line;
    enum dialect dialect;
    unsigned cases;
    unsigned failures;
};

/* The results of a query in the form of the file. */
static void run_query(struct page *page, const char *query, bool naive, struct sirix_buf *out)
{
    const struct engine_options options = {.jsoniq = page->dialect == DIALECT_JSONIQ,
                                           .naive = naive};
    struct sirix_query_error err = {.line = 0};
    struct result_item *items = NULL;
    struct sirix_buf text;
    size_t count = 0;

    sirix_buf_init(&text, SIZE_MAX);
    assert_int_equal(sirix_buf_printf(&text, NULL, "%s%s",
                                      page->dialect == DIALECT_XQUERY ? XQUERY_PROLOG : "", query),
                     SIRIX_OK);

    /* The engine is promised no byte behind the text, as with a text out of a message. */
    uint8_t *exact = malloc(text.len);

    assert_non_null(exact);
    memcpy(exact, sirix_buf_view(&text).data, text.len);

    enum sirix_status status = engine_run(&page->engine, (struct sirix_bytes){exact, text.len},
                                          &options, &items, &count, &err);

    if (status != SIRIX_OK) {
        assert_int_equal(
            sirix_buf_printf(out, NULL, "!%s", err.code[0] == '\0' ? err.base.field : err.code),
            SIRIX_OK);
        count = 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct sirix_bytes item = items[i].text;

        assert_int_equal(sirix_buf_append_str(out, i == 0 ? "" : " | ", NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_bytes(out, item.len == 0 ? bytes_of("''") : item, NULL),
                         SIRIX_OK);
    }
    assert_int_equal(sirix_buf_append_u8(out, '\0', NULL), SIRIX_OK);
    free(exact);
    sirix_buf_deinit(&text);
}

static void run_case(struct page *page, const char *query, const char *want)
{
    page->cases++;
    for (int naive = 0; naive < 2; naive++) {
        struct sirix_buf is;

        sirix_arena_reset(&page->arena);
        sirix_buf_init(&is, SIZE_MAX);
        run_query(page, query, naive != 0, &is);
        if (strcmp((const char *)is.data, want) != 0) {
            page->failures++;
            print_message("%s:%u: %s\n    gives%s %s\n    wanted %s\n", page->path, page->line,
                          query, naive != 0 ? " (naive)" : "", (const char *)is.data, want);
            naive++;
        }
        sirix_buf_deinit(&is);
    }
}

static void take_line(struct page *page, char *line)
{
    char *arrow = strstr(line, " ==>");

    page->line++;
    line[strcspn(line, "\n")] = '\0';
    if (line[0] == '\0' || line[0] == '#') {
        return;
    }
    if (line[0] == '@') {
        page->dialect = strstr(line, "jsoniq") != NULL   ? DIALECT_JSONIQ
                        : strstr(line, "xquery") != NULL ? DIALECT_XQUERY
                                                         : DIALECT_DEFAULT;
        return;
    }
    if (arrow == NULL) {
        fail_msg("%s:%u: no ==>", page->path, page->line);
        return;
    }
    *arrow = '\0';
    arrow += strlen(" ==>");
    run_case(page, line, arrow + (*arrow == ' ' ? 1 : 0));
}

static void every_case_gives_its_result(void **state)
{
    struct page *page = calloc(1, sizeof(*page));
    const char *other = getenv("SIRIX_QUERY_OWN");
    char *line = NULL;
    size_t line_cap = 0;

    (void)state;
    assert_non_null(page);
    page->path = other != NULL ? other : SIRIX_QUERY_OWN_CASES;

    FILE *file = fopen(page->path, "rb");

    assert_non_null(file);
    sirix_arena_init(&page->arena, SIZE_MAX);
    engine_open(&page->engine, &page->arena);
    engine_store(
        &page->engine, bytes_of("db"), bytes_of("res"),
        bytes_of("{\"a\":1,\"list\":[1,2,3],\"o\":{\"x\":\"y\"},\"s\":\"text\",\"n\":null}"));
    while (getline(&line, &line_cap, file) > 0) {
        take_line(page, line);
    }
    free(line);
    (void)fclose(file);

    unsigned cases = page->cases;
    unsigned failures = page->failures;

    engine_close(&page->engine);
    sirix_arena_deinit(&page->arena);
    free(page);
    print_message("%u cases, %u fail\n", cases, failures);
    assert_true(cases != 0);
    assert_int_equal(failures, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_case_gives_its_result),
    };

    return cmocka_run_group_tests_name("query_own", tests, NULL, NULL);
}
