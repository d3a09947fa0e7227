/* The parser's door. */
#include "query/syntax/parser.h"

#include "base/utf8.h"
#include "query/syntax/parser_internal.h"

enum { LIST_BYTES_MAX = 64 * 1024 * 1024 };

static enum sirix_status check_text(struct sirix_bytes text, struct sirix_query_error *err)
{
    size_t bad = 0;

    if (text.len > SIRIX_SYNTAX_TEXT_BYTES_MAX) {
        return sirix_query_fail_limit(err, "query.text", "the query is longer than %d bytes",
                                      SIRIX_SYNTAX_TEXT_BYTES_MAX);
    }
    if (text.len != 0 && !sirix_utf8_valid(text.data, text.len, &bad)) {
        return sirix_query_fail(err, "XPST0003", "the query is not UTF-8 at byte %zu", bad);
    }
    return SIRIX_OK;
}

static void read_module(struct parser *parser, struct sirix_ast_module *module)
{
    if (!parser_version(parser) || !parser_prolog(parser, module)) {
        return;
    }
    if (parser_at(parser, SIRIX_TOKEN_END)) {
        parser_fail_expected(parser, "an expression");
        return;
    }

    struct sirix_token place = parser->token;

    module->body = parser_statements(parser, NULL, &place, SIRIX_TOKEN_END);
    module->dialect = parser->dialect;
    module->jsoniq_version = parser->jsoniq_version;
    module->xquery_31 = parser->xquery_31;
    module->node_count = parser->node_count;
}

enum sirix_status sirix_syntax_parse(struct sirix_arena *arena, struct sirix_bytes text,
                                     enum sirix_syntax_dialect dialect,
                                     struct sirix_ast_module **out, struct sirix_query_error *err)
{
    struct sirix_query_error own = {.line = 0};
    struct parser parser = {
        .arena = arena, .text = text, .err = err != NULL ? err : &own, .dialect = dialect};
    struct sirix_ast_module *module = NULL;
    enum sirix_status status = check_text(text, parser.err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&parser.list, LIST_BYTES_MAX);
    sirix_buf_init(&parser.ops, SIRIX_SYNTAX_TEXT_BYTES_MAX);
    sirix_lexer_init(&parser.lexer, text);
    parser_apply_dialect(&parser);
    module = parser_alloc(&parser, 1, sizeof(*module));
    if (module != NULL && parser_advance(&parser)) {
        read_module(&parser, module);
    }
    sirix_buf_deinit(&parser.list);
    sirix_buf_deinit(&parser.ops);
    if (parser.status == SIRIX_OK) {
        *out = module;
    }
    return parser.status;
}
