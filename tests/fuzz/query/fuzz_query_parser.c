/*
 * Any bytes as a query, in each dialect: the parser gives a tree or an error with a code and a place, and
 * the static pass gives a plan or such an error. A tree is as high and has as many nodes as is promised.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>

#include "query/plan/build.h"
#include "query/plan/explain.h"
#include "query/plan/rewrite.h"
#include "query/syntax/parser.h"

enum { MEMORY_BYTES_MAX = 256 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static uint32_t height_of(const struct sirix_ast *node)
{
    uint32_t height = 1;

    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL && node->children[i]->height >= height) {
            height = node->children[i]->height + 1;
        }
    }
    return height;
}

static void check_tree(const struct sirix_ast *node)
{
    assert(node->kind < SIRIX_AST_KIND_COUNT && node->line != 0 && node->column != 0);
    assert(node->height <= SIRIX_AST_HEIGHT_MAX && node->height >= height_of(node));
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL) {
            check_tree(node->children[i]);
        }
    }
}

static void check_error(enum sirix_status status, const struct sirix_query_error *err)
{
    assert(status == SIRIX_INVALID || status == SIRIX_EXHAUSTED || status == SIRIX_NO_MEMORY);
    if (status == SIRIX_INVALID) {
        assert(err->code[0] != '\0' && err->base.text[0] != '\0');
    }
}

static void build(struct sirix_work *work, const struct sirix_function_set *functions,
                  const struct sirix_ast_module *module)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_plan_query *query = NULL;
    struct sirix_buf text;
    enum sirix_status status = sirix_plan_build(work, functions, module, &query, &err);

    if (status != SIRIX_OK) {
        check_error(status, &err);
        return;
    }
    sirix_buf_init(&text, MEMORY_BYTES_MAX);
    status = sirix_plan_rewrite(work, query, &err);
    if (status == SIRIX_OK) {
        status = sirix_plan_explain(query, &text, &err);
    }
    assert(status == SIRIX_OK || status == SIRIX_EXHAUSTED);
    sirix_buf_deinit(&text);
}

static const struct sirix_function_set *library(void)
{
    static struct sirix_function_set *functions;
    struct sirix_function_table tables[SIRIX_FUNCTION_LIBRARY_TABLES];

    if (functions == NULL && sirix_function_set_new(tables, sirix_function_library(tables),
                                                    &functions, NULL) != SIRIX_OK) {
        abort();
    }
    return functions;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int dialect = SIRIX_SYNTAX_SIRIX; dialect <= SIRIX_SYNTAX_XQUERY; dialect++) {
        struct sirix_arena arena;
        struct sirix_arena scratch;
        struct sirix_work work;
        struct sirix_query_error err = {.line = 0};
        struct sirix_ast_module *module = NULL;

        sirix_arena_init(&arena, MEMORY_BYTES_MAX);
        sirix_arena_init(&scratch, MEMORY_BYTES_MAX);
        if (sirix_work_init(&work, &arena, &scratch, &err) != SIRIX_OK) {
            abort();
        }

        enum sirix_status status =
            sirix_syntax_parse(&arena, (struct sirix_bytes){data, size},
                               (enum sirix_syntax_dialect)dialect, &module, &err);

        if (status == SIRIX_OK) {
            check_tree(module->body);
            assert(module->node_count <= SIRIX_SYNTAX_NODES_MAX);
            build(&work, library(), module);
        } else {
            check_error(status, &err);
        }
        sirix_arena_deinit(&arena);
        sirix_arena_deinit(&scratch);
    }
    return 0;
}
