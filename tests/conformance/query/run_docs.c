/*
 * Runs the examples of docs/query.md, so that the page tells the truth. A block
 *
 *     ```json database/resource   is a document; the next one of the same name is its next revision
 *     ```jsoniq                   is a query
 *     ```result                   behind it are its items as JSON, one a line, or `error CODE`
 *
 * Queries may update: later examples see it.
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
#include "query/function/function.h"
#include "query/node/functions.h"

struct page {
    struct engine engine;
    struct sirix_arena arena;
    struct sirix_buf query; /* Of the example; empty: none waits for its result. */
    struct sirix_buf block;
    char opened[200]; /* What stands behind the backquotes of the block; empty: none is open. */
    unsigned line;
    unsigned query_line;
    unsigned examples;
    unsigned failures;
};

static void complain(struct page *page, const char *what, struct sirix_bytes is)
{
    page->failures++;
    print_message("docs/query.md:%u: %s\n%.*s\n", page->query_line, what, (int)is.len,
                  is.len == 0 ? "" : (const char *)is.data);
}

/* The items as lines, or the error. */
static void run_example(struct page *page, struct sirix_buf *out)
{
    const struct engine_options options = {.jsoniq = false};
    struct sirix_query_error err = {.line = 0};
    struct result_item *items = NULL;
    size_t count = 0;
    enum sirix_status status =
        engine_run(&page->engine, sirix_buf_view(&page->query), &options, &items, &count, &err);

    if (status != SIRIX_OK) {
        assert_int_equal(sirix_buf_printf(out, NULL, "error %s%s\n", err.code,
                                          err.code[0] == '\0' ? err.base.field : ""),
                         SIRIX_OK);
        return;
    }
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(sirix_buf_append_bytes(out, items[i].json, NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_u8(out, '\n', NULL), SIRIX_OK);
    }
}

static void end_result(struct page *page)
{
    struct sirix_buf is;

    sirix_buf_init(&is, SIZE_MAX);
    page->examples++;
    run_example(page, &is);
    if (!sirix_bytes_equal(sirix_buf_view(&is), sirix_buf_view(&page->block))) {
        complain(page, "the example gives", sirix_buf_view(&is));
    }
    sirix_buf_deinit(&is);
    sirix_buf_clear(&page->query);
}

static void end_document(struct page *page)
{
    const char *name = page->opened + strlen("json ");
    const char *slash = strchr(name, '/');
    struct sirix_error err = {0};
    struct sirix_bytes text = {NULL, 0};
    struct sirix_bytes names = {NULL, 0};

    assert_non_null(slash);
    assert_int_equal(sirix_arena_copy(&page->arena, sirix_buf_view(&page->block), &text, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_arena_copy(&page->arena, bytes_of(name), &names, NULL), SIRIX_OK);
    if (page->engine.has_document) {
        if (!engine_bring_to(&page->engine, text, &err)) {
            complain(page, "this revision cannot be made", bytes_of(err.text));
        }
        return;
    }
    engine_store(&page->engine, (struct sirix_bytes){names.data, (size_t)(slash - name)},
                 (struct sirix_bytes){(const char *)names.data + (slash - name) + 1,
                                      names.len - (size_t)(slash - name) - 1},
                 text);
}

static void end_block(struct page *page)
{
    if (strcmp(page->opened, "jsoniq") == 0) {
        sirix_buf_clear(&page->query);
        assert_int_equal(sirix_buf_append_bytes(&page->query, sirix_buf_view(&page->block), NULL),
                         SIRIX_OK);
    } else if (strcmp(page->opened, "result") == 0) {
        if (page->query.len == 0) {
            complain(page, "a result without a query", (struct sirix_bytes){NULL, 0});
        } else {
            end_result(page);
        }
    } else if (strncmp(page->opened, "json ", 5) == 0) {
        end_document(page);
    }
    page->opened[0] = '\0';
}

static void take_line(struct page *page, char *line)
{
    page->line++;
    if (strncmp(line, "```", 3) != 0) {
        if (page->opened[0] != '\0') {
            assert_int_equal(sirix_buf_append_str(&page->block, line, NULL), SIRIX_OK);
        }
        return;
    }
    if (page->opened[0] != '\0') {
        end_block(page);
        return;
    }
    line[strcspn(line, "\n")] = '\0';
    (void)snprintf(page->opened, sizeof(page->opened), "%s", line[3] == '\0' ? "text" : line + 3);
    if (strcmp(page->opened, "jsoniq") == 0) {
        page->query_line = page->line + 1;
    }
    sirix_buf_clear(&page->block);
}

static void every_example_gives_its_result(void **state)
{
    struct page *page = calloc(1, sizeof(*page));
    FILE *file = fopen(SIRIX_QUERY_DOCS, "rb");
    char *line = NULL;
    size_t line_cap = 0;

    (void)state;
    assert_non_null(page);
    assert_non_null(file);
    sirix_arena_init(&page->arena, SIZE_MAX);
    sirix_buf_init(&page->query, SIZE_MAX);
    sirix_buf_init(&page->block, SIZE_MAX);
    engine_open(&page->engine, &page->arena);
    while (getline(&line, &line_cap, file) > 0) {
        take_line(page, line);
    }

    unsigned examples = page->examples;
    unsigned failures = page->failures;

    engine_close(&page->engine);
    sirix_buf_deinit(&page->query);
    sirix_buf_deinit(&page->block);
    sirix_arena_deinit(&page->arena);
    free(page);
    free(line);
    (void)fclose(file);
    print_message("docs/query.md: %u examples\n", examples);
    assert_true(examples != 0);
    assert_int_equal(failures, 0);
}

/* Whether a line of the page begins with `prefix:name( in backquotes, or lists the name behind one. */
static bool is_shown(const char *page, const struct sirix_function *function)
{
    const char *prefix = sirix_function_ns_prefix(function->ns);
    char heading[200];
    char listed[200];
    const char *line = NULL;

    (void)snprintf(heading, sizeof(heading), "\n`%s:%s(", prefix, function->name);
    if (strstr(page, heading) != NULL) {
        return true;
    }
    if (function->ns == SIRIX_NS_XS) { /* All constructors have one paragraph. */
        (void)snprintf(heading, sizeof(heading), "\n`xs:integer(");
        (void)snprintf(listed, sizeof(listed), " %s", function->name);
    } else {
        (void)snprintf(heading, sizeof(heading), "\n`%s:", prefix);
        (void)snprintf(listed, sizeof(listed), "%s:%s", prefix, function->name);
    }
    for (line = strstr(page, heading); line != NULL; line = strstr(line + 1, heading)) {
        const char *end = strchr(line + 1, '\n');

        for (const char *at = strstr(line, listed); at != NULL && at < end;
             at = strstr(at + 1, listed)) {
            if (strchr(",. `", at[strlen(listed)]) != NULL) {
                return true;
            }
        }
    }
    return false;
}

static void every_function_has_a_line_and_an_example(void **state)
{
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES + 8];
    size_t count = sirix_function_library(tables);
    char *page = NULL;
    size_t len = 0;
    unsigned missing = 0;
    unsigned functions = 0;
    FILE *file = fopen(SIRIX_QUERY_DOCS, "rb");

    (void)state;
    tables[count++] = sirix_store_open_functions;
    tables[count++] = sirix_store_node_functions;
    tables[count++] = sirix_store_time_functions;
    tables[count++] = sirix_store_diff_functions;
    assert_non_null(file);
    assert_true(getdelim(&page, &len, '\0', file) > 0);
    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < tables[i].count; j++) {
            functions++;
            if (!is_shown(page, &tables[i].functions[j])) {
                missing++;
                print_message("docs/query.md does not show %s:%s\n",
                              sirix_function_ns_prefix(tables[i].functions[j].ns),
                              tables[i].functions[j].name);
            }
        }
    }
    free(page);
    (void)fclose(file);
    print_message("%u rows of functions\n", functions);
    assert_int_equal(missing, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_example_gives_its_result),
        cmocka_unit_test(every_function_has_a_line_and_an_example),
    };

    return cmocka_run_group_tests_name("query_docs", tests, NULL, NULL);
}
