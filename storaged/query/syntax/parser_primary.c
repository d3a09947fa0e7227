/* What a value can begin with: literals, variables, calls and function items. */
#include <stdlib.h>

#include "query/syntax/parser_internal.h"

/* Names that are no functions where a parenthesis follows: XQuery 3.1, A.3. */
static const char *const reserved[] = {
    "array",
    "attribute",
    "comment",
    "document-node",
    "element",
    "empty-sequence",
    "function",
    "if",
    "item",
    "map",
    "namespace-node",
    "node",
    "processing-instruction",
    "schema-attribute",
    "schema-element",
    "switch",
    "text",
    "typeswitch",
    "while",
};

/* What XQuery makes nodes of XML with. */
static const char *const node_words[] = {
    "attribute", "comment", "document", "element", "namespace", "processing-instruction",
};

static bool is_one_of(const struct parser *parser, const struct sirix_token *token,
                      const char *const *words, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parser_is_word(parser, token, words[i])) {
            return true;
        }
    }
    return false;
}

bool parser_at_reserved(const struct parser *parser)
{
    return is_one_of(parser, &parser->token, reserved, sizeof(reserved) / sizeof(reserved[0]));
}

/* --- Braces behind a word --------------------------------------------------------------------- */

/* { e? }: the expression, () if there is none. */
static struct sirix_ast *read_enclosed(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *e = NULL;

    if (!parser_expect(parser, SIRIX_TOKEN_BRACE_OPEN, "'{'")) {
        return NULL;
    }
    e = parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE)
            ? parser_node(parser, SIRIX_AST_SEQUENCE, &place, 0)
            : parser_expression(parser);
    return e != NULL && parser_expect(parser, SIRIX_TOKEN_BRACE_CLOSE, "'}'") ? e : NULL;
}

/* Whether {} is at hand. */
static bool at_empty_braces(struct parser *parser)
{
    const struct sirix_token *ahead =
        parser_at(parser, SIRIX_TOKEN_BRACE_OPEN) ? parser_ahead(parser) : NULL;

    return ahead != NULL && ahead->kind == SIRIX_TOKEN_BRACE_CLOSE;
}

static struct sirix_ast_name *made_name(struct parser *parser, const char *prefix,
                                        const char *local)
{
    struct sirix_ast_name *name = parser_alloc(parser, 1, sizeof(*name));

    if (name != NULL) {
        name->prefix = (struct sirix_bytes){prefix, strlen(prefix)};
        name->local = (struct sirix_bytes){local, strlen(local)};
    }
    return name;
}

static struct sirix_ast *made_call(struct parser *parser, const struct sirix_token *place,
                                   const char *prefix, const char *local, struct sirix_ast *first,
                                   struct sirix_ast *second)
{
    struct sirix_ast *call = second == NULL
                                 ? parser_node1(parser, SIRIX_AST_CALL, place, first)
                                 : parser_node2(parser, SIRIX_AST_CALL, place, first, second);

    if (call != NULL) {
        call->name = made_name(parser, prefix, local);
    }
    return call != NULL && call->name != NULL ? call : NULL;
}

/* text { e }: there are no nodes, but the value of this one is that of an untyped atomic. */
static struct sirix_ast *read_text(struct parser *parser)
{
    static const struct sirix_bytes blank = {" ", 1};
    struct sirix_token place = parser->token;

    if (!parser_advance(parser)) {
        return NULL;
    }

    struct sirix_ast *e = read_enclosed(parser);
    struct sirix_ast *space = e == NULL ? NULL : parser_string_node(parser, &place, blank);

    if (space == NULL) {
        return NULL;
    }
    e = made_call(parser, &place, "fn", "string-join", e, space);
    return e == NULL ? NULL : made_call(parser, &place, "xs", "untypedAtomic", e, NULL);
}

/* A name with a brace behind it, if that has a meaning of its own; *out_is: whether. */
static struct sirix_ast *read_word_and_braces(struct parser *parser, bool *out_is)
{
    struct sirix_token place = parser->token;

    *out_is = true;
    if (parser_at_word(parser, "ordered") || parser_at_word(parser, "unordered")) {
        return parser_advance(parser) ? read_enclosed(parser) : NULL;
    }
    if (parser_at_word(parser, "map")) {
        return parser_map(parser);
    }
    if (parser_at_word(parser, "array")) {
        return parser_advance(parser)
                   ? parser_node1(parser, SIRIX_AST_ARRAY, &place, read_enclosed(parser))
                   : NULL;
    }
    if (parser_at_word(parser, "text")) {
        return read_text(parser);
    }
    if (is_one_of(parser, &parser->token, node_words, sizeof(node_words) / sizeof(node_words[0]))) {
        return parser_fail_at(parser, &place, "XPST0003",
                              "nodes of XML cannot be made: this language is of JSON");
    }
    *out_is = false;
    return NULL;
}

/* --- Names ------------------------------------------------------------------------------------ */

/* name#arity, from the # on. */
static struct sirix_ast *read_function_name(struct parser *parser, const struct sirix_token *place,
                                            struct sirix_ast_name *name)
{
    char digits[20] = {0};

    if (!parser_advance(parser)) {
        return NULL;
    }

    struct sirix_bytes arity = parser_text(parser, &parser->token);

    if (!parser_at(parser, SIRIX_TOKEN_INTEGER) || arity.len >= sizeof(digits)) {
        return parser_fail_expected(parser, "a number of arguments behind '#'");
    }
    memcpy(digits, arity.data, arity.len);

    struct sirix_ast *node = parser_advance(parser)
                                 ? parser_named(parser, SIRIX_AST_FUNCTION_NAME, place, name, 0)
                                 : NULL;

    if (node != NULL) {
        node->number = strtoull(digits, NULL, 10);
    }
    return node;
}

static struct sirix_ast *read_call(struct parser *parser, const struct sirix_token *place,
                                   struct sirix_ast_name *name)
{
    size_t mark = parser_list_open(parser);
    struct sirix_ast *node =
        parser_arguments(parser) ? parser_list_close(parser, mark, SIRIX_AST_CALL, place) : NULL;

    if (node != NULL) {
        node->name = name;
    }
    return node;
}

static struct sirix_ast *read_keyword_value(struct parser *parser, enum sirix_ast_kind kind)
{
    struct sirix_ast *node = parser_node(parser, kind, &parser->token, 0);

    return node != NULL && parser_advance(parser) ? node : NULL;
}

/* A name: a literal, a constructor, a call, a function item, or a field of the context. */
static struct sirix_ast *read_name(struct parser *parser)
{
    struct sirix_token place = parser->token;
    const struct sirix_token *ahead = parser_ahead(parser);

    if (ahead == NULL) {
        return NULL;
    }

    bool is_callable = ahead->kind == SIRIX_TOKEN_OPEN || ahead->kind == SIRIX_TOKEN_HASH ||
                       place.kind == SIRIX_TOKEN_BRACED;

    if (ahead->kind == SIRIX_TOKEN_OPEN && parser_at_word(parser, "function")) {
        return parser_inline_function(parser);
    }
    if (ahead->kind == SIRIX_TOKEN_BRACE_OPEN) {
        bool is = false;
        struct sirix_ast *node = read_word_and_braces(parser, &is);

        if (is) {
            return node;
        }
    }
    if (!is_callable && parser_at_word(parser, "true")) {
        return read_keyword_value(parser, SIRIX_AST_TRUE);
    }
    if (!is_callable && parser_at_word(parser, "false")) {
        return read_keyword_value(parser, SIRIX_AST_FALSE);
    }
    if (!is_callable && parser_at_word(parser, "null")) {
        return read_keyword_value(parser, SIRIX_AST_NULL);
    }
    if (is_callable && parser_at_reserved(parser)) {
        return parser_fail_at(parser, &place, "XPST0003",
                              "this name is reserved: it is no function");
    }

    struct sirix_ast_name *name = parser_name(parser);

    if (name == NULL) {
        return NULL;
    }
    if (parser_at(parser, SIRIX_TOKEN_HASH)) {
        return read_function_name(parser, &place, name);
    }
    if (parser_at(parser, SIRIX_TOKEN_OPEN)) {
        return read_call(parser, &place, name);
    }
    if (place.kind != SIRIX_TOKEN_NAME) {
        return parser_fail_expected(parser, "'(' or '#' behind the name of a function");
    }
    return parser_named(parser, SIRIX_AST_NAME, &place, name, 0);
}

/* --- Text between backquotes, pragmas ----------------------------------------------------------- */

/* `{ e? }`: the value as text, its items with a blank between them. */
static struct sirix_ast *read_interpolation(struct parser *parser)
{
    static const struct sirix_bytes blank = {" ", 1};
    struct sirix_token place = parser->token;
    struct sirix_ast *e = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    e = parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE)
            ? parser_node(parser, SIRIX_AST_SEQUENCE, &place, 0)
            : parser_expression(parser);
    if (e == NULL) {
        return NULL;
    }
    if (!parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE) || parser->lexer.at >= parser->text.len ||
        parser->lexer.text[parser->lexer.at] != '`') {
        return parser_fail_expected(parser, "'}`'");
    }
    parser->lexer.at++;
    parser->lexer.column++;
    return made_call(parser, &place, "fn", "string-join", e,
                     parser_string_node(parser, &place, blank));
}

/* ``[text `{e}` text]``: all of it as one string. */
static struct sirix_ast *read_template(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    bool is_end = false;

    while (!is_end) {
        struct sirix_bytes chunk = {NULL, 0};

        parser->status = sirix_lexer_raw(&parser->lexer, "`{", "]``", &chunk, &is_end, parser->err);
        if (parser->status != SIRIX_OK ||
            !parser_list_push(parser, parser_string_node(parser, &place, chunk)) ||
            (!is_end && !parser_list_push(parser, read_interpolation(parser)))) {
            return NULL;
        }
    }
    return parser_advance(parser) ? parser_list_close(parser, mark, SIRIX_AST_CONCAT, &place)
                                  : NULL;
}

/* (# name text #) ... { e }: no pragma is known, so it is e. */
static struct sirix_ast *read_pragmas(struct parser *parser)
{
    while (parser_at(parser, SIRIX_TOKEN_PRAGMA_OPEN)) {
        struct sirix_bytes ignored = {NULL, 0};
        bool is_second = false;

        if (!parser_advance(parser)) {
            return NULL;
        }
        if (parser->token.kind != SIRIX_TOKEN_QNAME && parser->token.kind != SIRIX_TOKEN_BRACED) {
            return parser_fail_expected(parser, "the name of a pragma, with a prefix");
        }
        parser->status =
            sirix_lexer_raw(&parser->lexer, "#)", NULL, &ignored, &is_second, parser->err);
        if (!parser_advance(parser)) {
            return NULL;
        }
    }
    if (at_empty_braces(parser)) {
        return parser_fail_at(parser, &parser->token, "XQST0079",
                              "a pragma that is not known needs an expression");
    }
    return read_enclosed(parser);
}

/* --- Functions -------------------------------------------------------------------------------- */

struct sirix_ast *parser_inline_function(struct parser *parser)
{
    struct sirix_token place = parser->token;
    uint32_t flags = 0;
    struct sirix_ast_parameter *parameters = NULL;
    uint32_t count = 0;
    struct sirix_ast_type *type = NULL;

    if (!parser_annotations(parser, &flags)) {
        return NULL;
    }
    if ((flags & (SIRIX_AST_PRIVATE | SIRIX_AST_PUBLIC)) != 0) {
        return parser_fail_at(parser, &place, "XQST0125",
                              "an inline function is neither public nor private");
    }
    if (!parser_expect_word(parser, "function") ||
        !parser_parameters(parser, &parameters, &count) || !parser_as(parser, &type)) {
        return NULL;
    }

    struct sirix_ast *body = parser_body(parser);
    struct sirix_ast *node =
        body == NULL ? NULL : parser_node1(parser, SIRIX_AST_FUNCTION, &place, body);
    struct sirix_ast_more *more = node == NULL ? NULL : parser_more(parser, node);

    if (more == NULL) {
        return NULL;
    }
    node->flags = flags;
    node->type = type;
    more->parameters = parameters;
    more->parameter_count = count;
    return node;
}

/* --- All of them ------------------------------------------------------------------------------ */

static struct sirix_ast *read_parentheses(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *e = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    e = parser_at(parser, SIRIX_TOKEN_CLOSE) ? parser_node(parser, SIRIX_AST_SEQUENCE, &place, 0)
                                             : parser_expression(parser);
    return e != NULL && parser_expect(parser, SIRIX_TOKEN_CLOSE, "',' or ')'") ? e : NULL;
}

struct sirix_ast *parser_primary(struct parser *parser)
{
    struct sirix_token place = parser->token;

    switch (place.kind) {
    case SIRIX_TOKEN_STRING:
    case SIRIX_TOKEN_INTEGER:
    case SIRIX_TOKEN_DECIMAL:
    case SIRIX_TOKEN_DOUBLE:
        return parser_literal(parser);
    case SIRIX_TOKEN_DOLLAR:
        return parser_named(parser, SIRIX_AST_VARIABLE, &place, parser_variable_name(parser), 0);
    case SIRIX_TOKEN_CONTEXT:
    case SIRIX_TOKEN_DOT:
        return read_keyword_value(parser, SIRIX_AST_CONTEXT);
    case SIRIX_TOKEN_OPEN:
        return read_parentheses(parser);
    case SIRIX_TOKEN_SQUARE_OPEN:
        return parser_array(parser);
    case SIRIX_TOKEN_BRACE_OPEN:
        return parser_braces(parser);
    case SIRIX_TOKEN_MERGE_OPEN:
        return parser_merge(parser);
    case SIRIX_TOKEN_PERCENT:
        return parser_inline_function(parser);
    case SIRIX_TOKEN_TEMPLATE_OPEN:
        return read_template(parser);
    case SIRIX_TOKEN_PRAGMA_OPEN:
        return read_pragmas(parser);
    case SIRIX_TOKEN_NAME:
    case SIRIX_TOKEN_QNAME:
    case SIRIX_TOKEN_BRACED:
        return read_name(parser);
    default:
        return parser_fail_expected(parser, "an expression");
    }
}
