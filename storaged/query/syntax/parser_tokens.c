/* The parser's ground: tokens, nodes, lists, names and strings. */
#include <stdio.h>

#include "base/utf8.h"
#include "query/syntax/parser_internal.h"

enum { SHOWN_BYTES_MAX = 40 }; /* Of a token in a message. */

/* --- Errors ----------------------------------------------------------------------------------- */

void *parser_fail_status(struct parser *parser, enum sirix_status status)
{
    parser->status = status;
    return NULL;
}

void *parser_fail_at(struct parser *parser, const struct sirix_token *token, const char *code,
                     const char *message)
{
    return parser_fail_status(
        parser, sirix_query_fail_at(parser->err, token->line, token->column, code, "%s", message));
}

void *parser_fail_expected(struct parser *parser, const char *what)
{
    const struct sirix_token *token = &parser->token;

    if (parser->status != SIRIX_OK) {
        return NULL;
    }
    if (token->kind == SIRIX_TOKEN_END) {
        return parser_fail_status(
            parser, sirix_query_fail_at(parser->err, token->line, token->column, "XPST0003",
                                        "expected %s, found the end of the query", what));
    }

    struct sirix_bytes shown = parser_text(parser, token);
    size_t len = sirix_utf8_cut(shown.data, shown.len,
                                shown.len < SHOWN_BYTES_MAX ? shown.len : SHOWN_BYTES_MAX);

    return parser_fail_status(parser, sirix_query_fail_at(parser->err, token->line, token->column,
                                                          "XPST0003", "expected %s, found %.*s%s",
                                                          what, (int)len, (const char *)shown.data,
                                                          len < shown.len ? "..." : ""));
}

bool parser_enter(struct parser *parser)
{
    if (parser->depth >= SIRIX_SYNTAX_NESTING_MAX) {
        enum sirix_status status = sirix_query_fail_limit(parser->err, "query.nesting",
                                                          "the query nests deeper than %d levels",
                                                          SIRIX_SYNTAX_NESTING_MAX);

        sirix_query_error_locate(parser->err, parser->token.line, parser->token.column);
        parser_fail_status(parser, status);
        return false;
    }
    parser->depth++;
    return true;
}

void parser_leave(struct parser *parser)
{
    parser->depth--;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

bool parser_advance(struct parser *parser)
{
    if (parser->status != SIRIX_OK) {
        return false;
    }
    parser->last_end = parser->token.end;
    if (parser->has_ahead) {
        parser->token = parser->ahead;
        parser->has_ahead = false;
        return true;
    }
    parser->status = sirix_lexer_next(&parser->lexer, &parser->token, parser->err);
    return parser->status == SIRIX_OK;
}

bool parser_skip(struct parser *parser, unsigned count)
{
    while (count != 0 && parser_advance(parser)) {
        count--;
    }
    return count == 0;
}

const struct sirix_token *parser_ahead(struct parser *parser)
{
    if (parser->status != SIRIX_OK) {
        return NULL;
    }
    if (!parser->has_ahead) {
        parser->status = sirix_lexer_next(&parser->lexer, &parser->ahead, parser->err);
        if (parser->status != SIRIX_OK) {
            return NULL;
        }
        parser->has_ahead = true;
    }
    return &parser->ahead;
}

struct sirix_bytes parser_text(const struct parser *parser, const struct sirix_token *token)
{
    return (struct sirix_bytes){.data = (const uint8_t *)parser->text.data + token->start,
                                .len = token->end - token->start};
}

bool parser_is_word(const struct parser *parser, const struct sirix_token *token, const char *word)
{
    struct sirix_bytes text = parser_text(parser, token);

    return token->kind == SIRIX_TOKEN_NAME && strlen(word) == text.len &&
           memcmp(text.data, word, text.len) == 0;
}

bool parser_at_word(const struct parser *parser, const char *word)
{
    return parser_is_word(parser, &parser->token, word);
}

bool parser_at_words(struct parser *parser, const char *word, const char *next)
{
    if (!parser_at_word(parser, word)) {
        return false;
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    return ahead != NULL && parser_is_word(parser, ahead, next);
}

bool parser_at_word_then(struct parser *parser, const char *word, enum sirix_token_kind kind)
{
    if (!parser_at_word(parser, word)) {
        return false;
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    return ahead != NULL && ahead->kind == kind;
}

bool parser_take(struct parser *parser, enum sirix_token_kind kind)
{
    return parser->status == SIRIX_OK && parser_at(parser, kind) && parser_advance(parser);
}

bool parser_take_word(struct parser *parser, const char *word)
{
    return parser->status == SIRIX_OK && parser_at_word(parser, word) && parser_advance(parser);
}

bool parser_expect(struct parser *parser, enum sirix_token_kind kind, const char *what)
{
    if (parser->status == SIRIX_OK && !parser_at(parser, kind)) {
        parser_fail_expected(parser, what);
    }
    return parser_advance(parser);
}

bool parser_expect_word(struct parser *parser, const char *word)
{
    if (parser->status == SIRIX_OK && !parser_at_word(parser, word)) {
        char what[SHOWN_BYTES_MAX];

        (void)snprintf(what, sizeof(what), "'%s'", word);
        parser_fail_expected(parser, what);
    }
    return parser_advance(parser);
}

/* --- Nodes ------------------------------------------------------------------------------------ */

void *parser_alloc(struct parser *parser, size_t count, size_t size)
{
    void *memory = NULL;

    if (parser->status == SIRIX_OK) {
        parser->status =
            sirix_arena_calloc(parser->arena, count, size, &memory, &parser->err->base);
    }
    return parser->status == SIRIX_OK ? memory : NULL;
}

struct sirix_ast *parser_node(struct parser *parser, enum sirix_ast_kind kind,
                              const struct sirix_token *place, uint32_t child_count)
{
    if (parser->status != SIRIX_OK) {
        return NULL;
    }
    if (parser->node_count >= SIRIX_SYNTAX_NODES_MAX) {
        return parser_fail_status(parser, sirix_query_fail_limit(parser->err, "query.nodes",
                                                                 "the query has more than %d parts",
                                                                 SIRIX_SYNTAX_NODES_MAX));
    }

    struct sirix_ast *node = parser_alloc(parser, 1, sizeof(*node));

    if (node == NULL) {
        return NULL;
    }
    parser->node_count++;
    node->kind = (uint16_t)kind;
    node->line = place->line;
    node->column = place->column;
    node->height = 1;
    node->child_count = child_count;
    if (child_count != 0) {
        node->children = parser_alloc(parser, child_count, sizeof(struct sirix_ast *));
        if (node->children == NULL) {
            return NULL;
        }
    }
    return node;
}

bool parser_measure(struct parser *parser, struct sirix_ast *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL && node->children[i]->height >= node->height) {
            node->height = node->children[i]->height + 1;
        }
    }
    if (node->height > SIRIX_AST_HEIGHT_MAX) {
        enum sirix_status status =
            sirix_query_fail_limit(parser->err, "query.nesting",
                                   "the query nests deeper than %d levels", SIRIX_AST_HEIGHT_MAX);

        sirix_query_error_locate(parser->err, node->line, node->column);
        parser_fail_status(parser, status);
        return false;
    }
    return true;
}

struct sirix_ast *parser_node1(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast *child)
{
    struct sirix_ast *node = child == NULL ? NULL : parser_node(parser, kind, place, 1);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] = child;
    return parser_measure(parser, node) ? node : NULL;
}

struct sirix_ast *parser_node2(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast *first,
                               struct sirix_ast *second)
{
    struct sirix_ast *node = parser_node(parser, kind, place, 2);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] = first;
    node->children[1] = second;
    return parser_measure(parser, node) ? node : NULL;
}

struct sirix_ast_more *parser_more(struct parser *parser, struct sirix_ast *node)
{
    if (node->more == NULL) {
        node->more = parser_alloc(parser, 1, sizeof(*node->more));
    }
    return node->more;
}

size_t parser_list_open(const struct parser *parser)
{
    return parser->list.len;
}

bool parser_list_push(struct parser *parser, struct sirix_ast *node)
{
    if (parser->status == SIRIX_OK) {
        parser->status =
            sirix_buf_append(&parser->list, &node, sizeof(struct sirix_ast *), &parser->err->base);
    }
    return parser->status == SIRIX_OK;
}

size_t parser_list_count(const struct parser *parser, size_t mark)
{
    return (parser->list.len - mark) / sizeof(struct sirix_ast *);
}

struct sirix_ast *parser_list_at(const struct parser *parser, size_t mark, size_t i)
{
    const void *list = parser->list.data + mark; /* Of pointers alone: aligned as they are. */

    return ((struct sirix_ast *const *)list)[i];
}

struct sirix_ast *parser_list_close(struct parser *parser, size_t mark, enum sirix_ast_kind kind,
                                    const struct sirix_token *place)
{
    size_t count = parser_list_count(parser, mark);
    struct sirix_ast *node = parser_node(parser, kind, place, (uint32_t)count);

    for (size_t i = 0; node != NULL && i < count; i++) {
        node->children[i] = parser_list_at(parser, mark, i);
    }
    parser->list.len = mark;
    return node != NULL && parser_measure(parser, node) ? node : NULL;
}
