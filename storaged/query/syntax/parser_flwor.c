/* FLWOR expressions, quantifiers, and which rule an expression begins with. */
#include "query/syntax/parser_internal.h"

/* --- Bindings --------------------------------------------------------------------------------- */

/* Sets name, type and children[0] of a new clause. */
static struct sirix_ast *binding(struct parser *parser, enum sirix_ast_kind kind,
                                 const struct sirix_token *place, struct sirix_ast_name *name,
                                 struct sirix_ast_type *type, struct sirix_ast *e)
{
    struct sirix_ast *node = e == NULL ? NULL : parser_node1(parser, kind, place, e);

    if (node != NULL) {
        node->name = name;
        node->type = type;
    }
    return node;
}

/* at $p, if it is there. */
static bool read_position(struct parser *parser, struct sirix_ast_name **out)
{
    if (parser_take_word(parser, "at")) {
        *out = parser_variable_name(parser);
    }
    return parser->status == SIRIX_OK;
}

/* $x as T allowing empty at $p in e. */
static struct sirix_ast *read_for(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_variable_name(parser);
    struct sirix_ast_type *type = NULL;
    struct sirix_ast_name *position = NULL;
    uint32_t flags = 0;

    if (name == NULL || !parser_as(parser, &type)) {
        return NULL;
    }
    if (parser_take_word(parser, "allowing")) {
        flags = SIRIX_AST_ALLOWING_EMPTY;
        if (!parser_expect_word(parser, "empty")) {
            return NULL;
        }
    }
    if (!read_position(parser, &position) || !parser_expect_word(parser, "in")) {
        return NULL;
    }

    struct sirix_ast *node =
        binding(parser, SIRIX_AST_FOR, &place, name, type, parser_single(parser));

    if (node == NULL) {
        return NULL;
    }
    node->flags = flags;
    if (position != NULL) {
        struct sirix_ast_more *more = parser_more(parser, node);

        if (more == NULL) {
            return NULL;
        }
        more->position = position;
    }
    return node;
}

/* $x as T := e */
static struct sirix_ast *read_let(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_variable_name(parser);
    struct sirix_ast_type *type = NULL;

    if (name == NULL || !parser_as(parser, &type) ||
        !parser_expect(parser, SIRIX_TOKEN_ASSIGN, "':='")) {
        return NULL;
    }
    return binding(parser, SIRIX_AST_LET, &place, name, type, parser_single(parser));
}

typedef struct sirix_ast *(*read_fn)(struct parser *parser);

/* One or more of them with commas, each pushed as a clause of its own. */
static bool push_each(struct parser *parser, read_fn read)
{
    do {
        struct sirix_ast *node = read(parser);

        if (node == NULL || !parser_list_push(parser, node)) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser->status == SIRIX_OK;
}

/* --- Windows ---------------------------------------------------------------------------------- */

/* Behind start or end: $c at $p previous $v next $n when e. */
static struct sirix_ast *read_edge(struct parser *parser, uint32_t flags)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_name *current = NULL;
    struct sirix_ast_more parts = {0};

    if (!parser_advance(parser)) {
        return NULL;
    }
    if (parser_at(parser, SIRIX_TOKEN_DOLLAR)) {
        current = parser_variable_name(parser);
    }
    if (!read_position(parser, &parts.position)) {
        return NULL;
    }
    if (parser_take_word(parser, "previous")) {
        parts.previous = parser_variable_name(parser);
    }
    if (parser_take_word(parser, "next")) {
        parts.next = parser_variable_name(parser);
    }

    struct sirix_ast *when = parser_expect_word(parser, "when") ? parser_single(parser) : NULL;
    struct sirix_ast *node =
        when == NULL ? NULL : parser_node1(parser, SIRIX_AST_WINDOW_EDGE, &place, when);
    struct sirix_ast_more *more = node == NULL ? NULL : parser_more(parser, node);

    if (more == NULL) {
        return NULL;
    }
    *more = parts;
    node->name = current;
    node->flags = flags;
    return node;
}

/* At tumbling or sliding. */
static struct sirix_ast *read_window(struct parser *parser)
{
    bool is_sliding = parser_at_word(parser, "sliding");
    struct sirix_ast_type *type = NULL;

    if (!parser_advance(parser) || !parser_expect_word(parser, "window")) {
        return NULL;
    }

    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_variable_name(parser);

    if (name == NULL || !parser_as(parser, &type) || !parser_expect_word(parser, "in")) {
        return NULL;
    }

    struct sirix_ast *e = parser_single(parser);

    if (e == NULL) {
        return NULL;
    }
    if (!parser_at_word(parser, "start")) {
        return parser_fail_expected(parser, "'start'");
    }

    struct sirix_ast *start = read_edge(parser, 0);
    struct sirix_ast *end = NULL;
    bool is_only = parser_take_word(parser, "only");

    if (start != NULL && (is_only || is_sliding || parser_at_word(parser, "end"))) {
        if (!parser_at_word(parser, "end")) {
            return parser_fail_expected(parser, "'end'");
        }
        end = read_edge(parser, is_only ? SIRIX_AST_ONLY : 0);
    }

    struct sirix_ast *node = parser_named(parser, SIRIX_AST_WINDOW, &place, name, 3);

    if (node == NULL) {
        return NULL;
    }
    node->type = type;
    node->flags = is_sliding ? SIRIX_AST_SLIDING : 0;
    node->children[0] = e;
    node->children[1] = start;
    node->children[2] = end;
    return parser_measure(parser, node) ? node : NULL;
}

/* --- group by, order by ----------------------------------------------------------------------- */

static bool read_collation(struct parser *parser, struct sirix_ast *node)
{
    if (parser_take_word(parser, "collation")) {
        return parser_string(parser, &node->text);
    }
    return parser->status == SIRIX_OK;
}

/* $k as T := e collation "..." */
static struct sirix_ast *read_group_key(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_variable_name(parser);
    struct sirix_ast_type *type = NULL;
    struct sirix_ast *e = NULL;

    if (name == NULL || !parser_as(parser, &type)) {
        return NULL;
    }
    if (type != NULL || parser_at(parser, SIRIX_TOKEN_ASSIGN)) {
        e = parser_expect(parser, SIRIX_TOKEN_ASSIGN, "':='") ? parser_single(parser) : NULL;
        if (e == NULL) {
            return NULL;
        }
    }

    struct sirix_ast *node = parser_named(parser, SIRIX_AST_GROUP_KEY, &place, name, 1);

    if (node == NULL) {
        return NULL;
    }
    node->type = type;
    node->children[0] = e;
    return read_collation(parser, node) && parser_measure(parser, node) ? node : NULL;
}

/* e ascending empty least collation "..." */
static struct sirix_ast *read_order_key(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *e = parser_single(parser);
    struct sirix_ast *node =
        e == NULL ? NULL : parser_node1(parser, SIRIX_AST_ORDER_KEY, &place, e);

    if (node == NULL) {
        return NULL;
    }
    if (parser_take_word(parser, "descending")) {
        node->flags |= SIRIX_AST_DESCENDING;
    } else {
        (void)parser_take_word(parser, "ascending");
    }
    if (parser_take_word(parser, "empty")) {
        if (parser_take_word(parser, "greatest")) {
            node->flags |= SIRIX_AST_EMPTY_GREATEST;
        } else if (parser_expect_word(parser, "least")) {
            node->flags |= SIRIX_AST_EMPTY_LEAST;
        }
    }
    return read_collation(parser, node) ? node : NULL;
}

/* A clause that is a list of keys. */
static struct sirix_ast *read_keys(struct parser *parser, enum sirix_ast_kind kind,
                                   const struct sirix_token *place, read_fn read)
{
    size_t mark = parser_list_open(parser);

    return parser_expect_word(parser, "by") && push_each(parser, read)
               ? parser_list_close(parser, mark, kind, place)
               : NULL;
}

/* --- Clauses ---------------------------------------------------------------------------------- */

/* Whether for, from or let at hand begins a clause. */
static bool at_binding(struct parser *parser)
{
    if (!parser_at_word(parser, "for") && !parser_at_word(parser, "from")) {
        return parser_at_word_then(parser, "let", SIRIX_TOKEN_DOLLAR);
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    return ahead != NULL &&
           (ahead->kind == SIRIX_TOKEN_DOLLAR || parser_is_word(parser, ahead, "tumbling") ||
            parser_is_word(parser, ahead, "sliding"));
}

static bool push_single(struct parser *parser, struct sirix_ast *clause)
{
    return clause != NULL && parser_list_push(parser, clause);
}

/* Reads one clause and pushes what it consists of; *out_is is false where none begins. */
static bool push_clause(struct parser *parser, bool *out_is)
{
    struct sirix_token place = parser->token;

    *out_is = true;
    if (at_binding(parser)) {
        bool is_let = parser_at_word(parser, "let");

        if (!parser_advance(parser)) {
            return false;
        }
        if (is_let) {
            return push_each(parser, read_let);
        }
        return parser_at(parser, SIRIX_TOKEN_DOLLAR) ? push_each(parser, read_for)
                                                     : push_single(parser, read_window(parser));
    }
    if (parser_take_word(parser, "where")) {
        struct sirix_ast *e = parser_single(parser);

        return e != NULL && push_single(parser, parser_node1(parser, SIRIX_AST_WHERE, &place, e));
    }
    if (parser_take_word(parser, "group")) {
        return push_single(parser, read_keys(parser, SIRIX_AST_GROUP, &place, read_group_key));
    }
    if (parser_at_word(parser, "stable") || parser_at_word(parser, "order")) {
        bool is_stable = parser_take_word(parser, "stable");
        struct sirix_ast *node = parser_expect_word(parser, "order")
                                     ? read_keys(parser, SIRIX_AST_ORDER, &place, read_order_key)
                                     : NULL;

        if (node != NULL && is_stable) {
            node->flags |= SIRIX_AST_STABLE;
        }
        return push_single(parser, node);
    }
    if (parser_take_word(parser, "count")) {
        return push_single(
            parser, parser_named(parser, SIRIX_AST_COUNT, &place, parser_variable_name(parser), 0));
    }
    *out_is = false;
    return parser->status == SIRIX_OK;
}

struct sirix_ast *parser_flwor(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    bool is_clause = true;

    while (is_clause) {
        if (!push_clause(parser, &is_clause)) {
            return NULL;
        }
    }
    if (!parser_take_word(parser, "return") && !parser_take_word(parser, "select")) {
        return parser_fail_expected(parser, "an operator, a clause or 'return'");
    }

    struct sirix_ast *result = parser_statement(parser);

    return push_single(parser, result) ? parser_list_close(parser, mark, SIRIX_AST_FLWOR, &place)
                                       : NULL;
}

/* $x as T in e */
static struct sirix_ast *read_quantifier_binding(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast_name *name = parser_variable_name(parser);
    struct sirix_ast_type *type = NULL;

    return name != NULL && parser_as(parser, &type) && parser_expect_word(parser, "in")
               ? binding(parser, SIRIX_AST_FOR, &place, name, type, parser_single(parser))
               : NULL;
}

struct sirix_ast *parser_quantified(struct parser *parser)
{
    struct sirix_token place = parser->token;
    enum sirix_ast_kind kind = parser_at_word(parser, "some") ? SIRIX_AST_SOME : SIRIX_AST_EVERY;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser) || !push_each(parser, read_quantifier_binding) ||
        !parser_expect_word(parser, "satisfies")) {
        return NULL;
    }
    return push_single(parser, parser_single(parser))
               ? parser_list_close(parser, mark, kind, &place)
               : NULL;
}

/* --- Expressions ------------------------------------------------------------------------------ */

/* exit returning e, break loop, continue loop. */
static struct sirix_ast *read_jump(struct parser *parser)
{
    struct sirix_token place = parser->token;
    enum sirix_ast_kind kind = parser_at_word(parser, "exit")    ? SIRIX_AST_EXIT
                               : parser_at_word(parser, "break") ? SIRIX_AST_BREAK
                                                                 : SIRIX_AST_CONTINUE;

    if (!parser_skip(parser, 2)) {
        return NULL;
    }
    if (kind != SIRIX_AST_EXIT) {
        return parser_node(parser, kind, &place, 0);
    }

    struct sirix_ast *e = parser_single(parser);

    return e == NULL ? NULL : parser_node1(parser, kind, &place, e);
}

static struct sirix_ast *read_operators(struct parser *parser)
{
    struct sirix_ast *e = parser_operators(parser, 0);

    if (e == NULL || e->kind != SIRIX_AST_VARIABLE || !parser_at(parser, SIRIX_TOKEN_ASSIGN)) {
        return e;
    }

    struct sirix_token place = parser->token;
    struct sirix_ast *value = parser_advance(parser) ? parser_single(parser) : NULL;

    return value == NULL ? NULL : binding(parser, SIRIX_AST_ASSIGN, &place, e->name, NULL, value);
}

static struct sirix_ast *read_single(struct parser *parser)
{
    if (parser->seed != NULL || !parser_at(parser, SIRIX_TOKEN_NAME)) {
        return read_operators(parser);
    }
    if (at_binding(parser)) {
        return parser_flwor(parser);
    }
    if (parser_at_word_then(parser, "some", SIRIX_TOKEN_DOLLAR) ||
        parser_at_word_then(parser, "every", SIRIX_TOKEN_DOLLAR)) {
        return parser_quantified(parser);
    }
    if (parser_at_word_then(parser, "if", SIRIX_TOKEN_OPEN)) {
        return parser_if(parser);
    }
    if (parser_at_word_then(parser, "switch", SIRIX_TOKEN_OPEN)) {
        return parser_switch(parser);
    }
    if (parser_at_word_then(parser, "typeswitch", SIRIX_TOKEN_OPEN)) {
        return parser_typeswitch(parser);
    }
    if (parser_at_word_then(parser, "try", SIRIX_TOKEN_BRACE_OPEN)) {
        return parser_try(parser);
    }
    if (parser_at_word_then(parser, "copy", SIRIX_TOKEN_DOLLAR)) {
        return parser_copy(parser);
    }
    if (parser_at_update(parser)) {
        return parser_update(parser);
    }
    if (parser_at_words(parser, "exit", "returning") || parser_at_words(parser, "break", "loop") ||
        parser_at_words(parser, "continue", "loop")) {
        return read_jump(parser);
    }
    return read_operators(parser);
}

struct sirix_ast *parser_single(struct parser *parser)
{
    if (parser->status != SIRIX_OK || !parser_enter(parser)) {
        return NULL;
    }

    struct sirix_ast *node = read_single(parser);

    parser_leave(parser);
    return parser->status == SIRIX_OK ? node : NULL;
}

struct sirix_ast *parser_expression(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *first = parser_single(parser);

    if (first == NULL || !parser_at(parser, SIRIX_TOKEN_COMMA)) {
        return first;
    }

    size_t mark = parser_list_open(parser);

    while (parser_list_push(parser, first) && parser_take(parser, SIRIX_TOKEN_COMMA)) {
        first = parser_single(parser);
        if (first == NULL) {
            return NULL;
        }
    }
    return parser_list_close(parser, mark, SIRIX_AST_SEQUENCE, &place);
}
