/* if, switch, typeswitch, try, loops and statements. */
#include "query/syntax/parser_internal.h"

/*
 * A branch of if, switch or typeswitch: an expression or a statement, whose semicolon is read here
 * if the next branch, which begins with a word, follows it.
 */
static struct sirix_ast *read_branch(struct parser *parser, const char *word, const char *other)
{
    struct sirix_ast *branch = parser_statement(parser);

    if (branch != NULL && parser_at(parser, SIRIX_TOKEN_SEMICOLON)) {
        const struct sirix_token *ahead = parser_ahead(parser);

        if (ahead == NULL) {
            return NULL;
        }
        if (parser_is_word(parser, ahead, word) ||
            (other != NULL && parser_is_word(parser, ahead, other))) {
            (void)parser_advance(parser);
        }
    }
    return parser->status == SIRIX_OK ? branch : NULL;
}

/* (e) */
static struct sirix_ast *read_in_parentheses(struct parser *parser)
{
    struct sirix_ast *e =
        parser_expect(parser, SIRIX_TOKEN_OPEN, "'('") ? parser_expression(parser) : NULL;

    return e != NULL && parser_expect(parser, SIRIX_TOKEN_CLOSE, "')'") ? e : NULL;
}

/* `return`, or JSONiq's older `select`. */
static bool expect_return(struct parser *parser)
{
    return parser_take_word(parser, "select") || parser_expect_word(parser, "return");
}

struct sirix_ast *parser_if(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    do {
        if (!parser_advance(parser)) {
            return NULL;
        }

        struct sirix_ast *condition = read_in_parentheses(parser);

        if (condition == NULL || !parser_list_push(parser, condition) ||
            !parser_expect_word(parser, "then")) {
            return NULL;
        }

        struct sirix_ast *then = read_branch(parser, "else", NULL);

        if (then == NULL || !parser_list_push(parser, then) ||
            !parser_expect_word(parser, "else")) {
            return NULL;
        }
    } while (parser_at_word_then(parser, "if", SIRIX_TOKEN_OPEN));

    struct sirix_ast *otherwise = parser_statement(parser);

    return otherwise != NULL && parser_list_push(parser, otherwise)
               ? parser_list_close(parser, mark, SIRIX_AST_IF, &place)
               : NULL;
}

/* --- switch ----------------------------------------------------------------------------------- */

static struct sirix_ast *read_case(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    while (parser_take_word(parser, "case")) {
        struct sirix_ast *e = parser_single(parser);

        if (e == NULL || !parser_list_push(parser, e)) {
            return NULL;
        }
    }

    struct sirix_ast *result =
        expect_return(parser) ? read_branch(parser, "case", "default") : NULL;

    return result != NULL && parser_list_push(parser, result)
               ? parser_list_close(parser, mark, SIRIX_AST_CASE, &place)
               : NULL;
}

struct sirix_ast *parser_switch(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    struct sirix_ast *e = parser_advance(parser) ? read_in_parentheses(parser) : NULL;

    if (e == NULL || !parser_list_push(parser, e)) {
        return NULL;
    }
    if (!parser_at_word(parser, "case")) {
        return parser_fail_expected(parser, "'case'");
    }
    while (parser_at_word(parser, "case")) {
        e = read_case(parser);
        if (e == NULL || !parser_list_push(parser, e)) {
            return NULL;
        }
    }
    e = parser_expect_word(parser, "default") && expect_return(parser) ? parser_statement(parser)
                                                                       : NULL;
    return e != NULL && parser_list_push(parser, e)
               ? parser_list_close(parser, mark, SIRIX_AST_SWITCH, &place)
               : NULL;
}

/* --- typeswitch ------------------------------------------------------------------------------- */

static bool grow_types(struct parser *parser, struct sirix_ast_type ***types, uint32_t *cap)
{
    uint32_t grown_cap = *cap == 0 ? 2 : *cap * 2;
    struct sirix_ast_type **grown =
        parser_alloc(parser, grown_cap, sizeof(struct sirix_ast_type *));

    if (grown == NULL) {
        return false;
    }
    if (*cap != 0) {
        memcpy(grown, *types, *cap * sizeof(struct sirix_ast_type *));
    }
    *types = grown;
    *cap = grown_cap;
    return true;
}

/* T | T ... into more->types. */
static bool read_types(struct parser *parser, struct sirix_ast_more *more)
{
    struct sirix_ast_type **types = NULL;
    uint32_t count = 0;
    uint32_t cap = 0;

    do {
        struct sirix_ast_type *type = parser_sequence_type(parser);

        if (type == NULL) {
            return false;
        }
        if (count == cap && !grow_types(parser, &types, &cap)) {
            return false;
        }
        types[count++] = type;
    } while (parser_take(parser, SIRIX_TOKEN_BAR));
    more->types = types;
    more->type_count = count;
    return parser->status == SIRIX_OK;
}

/* case $v as T return e, default $v return e. */
static struct sirix_ast *read_type_case(struct parser *parser, bool is_default)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_more parts = {0};
    struct sirix_ast_name *name = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    if (parser_at(parser, SIRIX_TOKEN_DOLLAR)) {
        name = parser_variable_name(parser);
        if (name == NULL || (!is_default && !parser_expect_word(parser, "as"))) {
            return NULL;
        }
    }
    if ((!is_default && !read_types(parser, &parts)) || !expect_return(parser)) {
        return NULL;
    }

    struct sirix_ast *result =
        is_default ? parser_statement(parser) : read_branch(parser, "case", "default");
    struct sirix_ast *node =
        result == NULL ? NULL : parser_node1(parser, SIRIX_AST_TYPE_CASE, &place, result);
    struct sirix_ast_more *more = node == NULL ? NULL : parser_more(parser, node);

    if (more == NULL) {
        return NULL;
    }
    *more = parts;
    node->name = name;
    return node;
}

struct sirix_ast *parser_typeswitch(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    struct sirix_ast *e = parser_advance(parser) ? read_in_parentheses(parser) : NULL;

    if (e == NULL || !parser_list_push(parser, e)) {
        return NULL;
    }
    if (!parser_at_word(parser, "case")) {
        return parser_fail_expected(parser, "'case'");
    }
    while (parser_at_word(parser, "case")) {
        e = read_type_case(parser, false);
        if (e == NULL || !parser_list_push(parser, e)) {
            return NULL;
        }
    }
    if (!parser_at_word(parser, "default")) {
        return parser_fail_expected(parser, "'case' or 'default'");
    }
    e = read_type_case(parser, true);
    return e != NULL && parser_list_push(parser, e)
               ? parser_list_close(parser, mark, SIRIX_AST_TYPESWITCH, &place)
               : NULL;
}

/* --- try -------------------------------------------------------------------------------------- */

/* *, *:local, prefix:*, Q{uri}* or a name. */
static bool read_catch_test(struct parser *parser, struct sirix_ast_name *out)
{
    if (parser_take(parser, SIRIX_TOKEN_STAR)) {
        out->any_uri = true;
        if (!parser_take(parser, SIRIX_TOKEN_COLON)) {
            out->any_local = true;
            return parser->status == SIRIX_OK;
        }
        return parser_local_name(parser, &out->local);
    }

    const struct sirix_token *ahead = parser_at_name(parser) ? parser_ahead(parser) : NULL;
    bool is_braced = parser_at(parser, SIRIX_TOKEN_BRACED);

    if (ahead != NULL && ((is_braced && ahead->kind == SIRIX_TOKEN_STAR) ||
                          (!is_braced && ahead->kind == SIRIX_TOKEN_COLON))) {
        struct sirix_bytes text = parser_text(parser, &parser->token);

        out->any_local = true;
        out->has_uri = is_braced;
        if (is_braced) {
            out->uri = (struct sirix_bytes){(const uint8_t *)text.data + 2, text.len - 3};
        } else {
            out->prefix = text;
            (void)parser_advance(parser);
        }
        return parser_advance(parser) &&
               (is_braced ? parser_advance(parser)
                          : parser_expect(parser, SIRIX_TOKEN_STAR, "'*' or a name"));
    }

    struct sirix_ast_name *name = parser_name(parser);

    if (name == NULL) {
        return false;
    }
    *out = *name;
    return true;
}

enum { CATCH_TESTS_MAX = 100 };

/* test | test ... into more->names. */
static bool read_catch_tests(struct parser *parser, struct sirix_ast_more *more)
{
    struct sirix_ast_name tests[CATCH_TESTS_MAX];
    uint32_t count = 0;

    do {
        if (count == CATCH_TESTS_MAX) {
            parser_fail_status(parser, sirix_query_fail_limit(parser->err, "query.catch_tests",
                                                              "a catch names more than %d errors",
                                                              CATCH_TESTS_MAX));
            return false;
        }
        tests[count] = (struct sirix_ast_name){.any_uri = false};
        if (!read_catch_test(parser, &tests[count++])) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_BAR));

    more->names = parser_alloc(parser, count, sizeof(more->names[0]));
    if (more->names == NULL) {
        return false;
    }
    memcpy(more->names, tests, count * sizeof(tests[0]));
    more->name_count = count;
    return true;
}

static struct sirix_ast *read_catch(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_more parts = {0};

    if (!parser_advance(parser) || !read_catch_tests(parser, &parts)) {
        return NULL;
    }

    struct sirix_ast *body = parser_body(parser);
    struct sirix_ast *node =
        body == NULL ? NULL : parser_node1(parser, SIRIX_AST_CATCH, &place, body);
    struct sirix_ast_more *more = node == NULL ? NULL : parser_more(parser, node);

    if (more == NULL) {
        return NULL;
    }
    *more = parts;
    return node;
}

struct sirix_ast *parser_try(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    struct sirix_ast *body = parser_advance(parser) ? parser_body(parser) : NULL;
    bool has_block = body != NULL && body->kind == SIRIX_AST_BLOCK;

    if (body == NULL || !parser_list_push(parser, body)) {
        return NULL;
    }
    if (!parser_at_word(parser, "catch")) {
        return parser_fail_expected(parser, "'catch'");
    }
    while (parser_at_word(parser, "catch")) {
        body = read_catch(parser);
        if (body == NULL || !parser_list_push(parser, body)) {
            return NULL;
        }
        has_block = has_block || body->children[0]->kind == SIRIX_AST_BLOCK;
    }
    if (has_block) {
        parser->closed_end = parser->last_end;
    }
    return parser_list_close(parser, mark, SIRIX_AST_TRY, &place);
}

/* --- Statements ------------------------------------------------------------------------------- */

struct sirix_ast *parser_while(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *condition = parser_advance(parser) ? read_in_parentheses(parser) : NULL;
    struct sirix_ast *body = condition == NULL ? NULL : parser_statement(parser);

    return body == NULL ? NULL : parser_node2(parser, SIRIX_AST_WHILE, &place, condition, body);
}

/* $x as T := e */
static struct sirix_ast *read_declared(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_type *type = NULL;
    struct sirix_ast *value = NULL;
    struct sirix_ast_name *name = parser_variable_name(parser);

    if (name == NULL || !parser_as(parser, &type)) {
        return NULL;
    }
    if (parser_take(parser, SIRIX_TOKEN_ASSIGN)) {
        value = parser_single(parser);
    }

    struct sirix_ast *node = parser_named(parser, SIRIX_AST_DECLARE, &place, name, 1);

    if (node == NULL) {
        return NULL;
    }
    node->type = type;
    node->children[0] = value;
    return parser_measure(parser, node) ? node : NULL;
}

/* variable $x as T := e, $y ... */
struct sirix_ast *parser_declare(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser)) {
        return NULL;
    }
    do {
        struct sirix_ast *node = read_declared(parser);

        if (node == NULL || !parser_list_push(parser, node)) {
            return NULL;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser_list_close(parser, mark, SIRIX_AST_SEQUENCE, &place);
}

struct sirix_ast *parser_statement(struct parser *parser)
{
    struct sirix_ast *node = NULL;

    if (parser_at_word_then(parser, "variable", SIRIX_TOKEN_DOLLAR)) {
        return parser_declare(parser);
    }
    if (parser_at_word_then(parser, "while", SIRIX_TOKEN_OPEN)) {
        if (!parser_enter(parser)) {
            return NULL;
        }
        node = parser_while(parser);
        parser_leave(parser);
        return node;
    }
    if (parser->status == SIRIX_OK && parser_at(parser, SIRIX_TOKEN_BRACE_OPEN)) {
        node = parser_braces(parser);
        if (node == NULL || node->kind == SIRIX_AST_BLOCK) {
            return node;
        }
        parser->seed = node;
    }
    return parser_single(parser);
}

/* One statement of a list: an expression may have commas. */
static struct sirix_ast *read_statement(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *first = parser_statement(parser);

    if (first == NULL || !parser_at(parser, SIRIX_TOKEN_COMMA)) {
        return first;
    }

    size_t mark = parser_list_open(parser);

    while (parser_list_push(parser, first) && parser_take(parser, SIRIX_TOKEN_COMMA)) {
        first = parser_statement(parser);
        if (first == NULL) {
            return NULL;
        }
    }
    return parser_list_close(parser, mark, SIRIX_AST_SEQUENCE, &place);
}

struct sirix_ast *parser_statements(struct parser *parser, struct sirix_ast *first,
                                    const struct sirix_token *place, enum sirix_token_kind close)
{
    size_t mark = parser_list_open(parser);
    bool is_open = false;

    do {
        struct sirix_ast *statement = first != NULL ? first : read_statement(parser);

        first = NULL;
        if (statement == NULL || !parser_list_push(parser, statement)) {
            return NULL;
        }
        is_open = !parser_take(parser, SIRIX_TOKEN_SEMICOLON);
        if (is_open && !parser_at(parser, close) && parser->closed_end != parser->last_end) {
            return parser_fail_expected(
                parser, close == SIRIX_TOKEN_END ? "an operator, ';' or the end" : "';' or '}'");
        }
    } while (parser->status == SIRIX_OK && !parser_at(parser, close));

    if (parser->status != SIRIX_OK) {
        return NULL;
    }
    if (!is_open) {
        if (!parser_list_push(parser, NULL)) {
            return NULL;
        }
    } else if (parser_list_count(parser, mark) == 1) {
        first = parser_list_at(parser, mark, 0);
        parser->list.len = mark;
        return first;
    }
    return parser_list_close(parser, mark, SIRIX_AST_BLOCK, place);
}

struct sirix_ast *parser_body(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *body = NULL;

    if (!parser_expect(parser, SIRIX_TOKEN_BRACE_OPEN, "'{'")) {
        return NULL;
    }
    body = parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE)
               ? parser_node(parser, SIRIX_AST_SEQUENCE, &place, 0)
               : parser_statements(parser, NULL, &place, SIRIX_TOKEN_BRACE_CLOSE);
    return body != NULL && parser_expect(parser, SIRIX_TOKEN_BRACE_CLOSE, "'}'") ? body : NULL;
}
