/* Steps behind a value: fields, lookups, predicates, calls. */
#include "query/syntax/parser_internal.h"

/* The key of a step: a name, a string, a variable, $$ or an expression in parentheses. */
static struct sirix_ast *read_key(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_bytes text = {NULL, 0};

    switch (place.kind) {
    case SIRIX_TOKEN_NAME:
    case SIRIX_TOKEN_QNAME:
        return parser_local_name(parser, &text) ? parser_string_node(parser, &place, text) : NULL;
    case SIRIX_TOKEN_STRING:
        return parser_literal(parser);
    case SIRIX_TOKEN_DOLLAR:
    case SIRIX_TOKEN_CONTEXT:
    case SIRIX_TOKEN_OPEN:
        return parser_primary(parser);
    default:
        return parser_fail_expected(parser, "the name of a field");
    }
}

static struct sirix_ast *read_step(struct parser *parser, enum sirix_ast_kind kind,
                                   struct sirix_ast *base)
{
    struct sirix_token place = parser->token;

    if (!parser_advance(parser)) {
        return NULL;
    }

    struct sirix_ast *key = read_key(parser);

    return key == NULL ? NULL : parser_node2(parser, kind, &place, base, key);
}

/* ?name, ?1, ?"any string", ?$v, ?(e), ?*. base is NULL for the context. */
static struct sirix_ast *read_lookup(struct parser *parser, struct sirix_ast *base)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *key = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    if (parser_at(parser, SIRIX_TOKEN_INTEGER)) {
        key = parser_literal(parser);
    } else if (!parser_take(parser, SIRIX_TOKEN_STAR)) {
        key = read_key(parser);
    }
    return parser->status != SIRIX_OK ? NULL
                                      : parser_node2(parser, SIRIX_AST_LOOKUP, &place, base, key);
}

/* --- Brackets --------------------------------------------------------------------------------- */

/* [from:to:step] from the first colon on; from may be NULL. */
static struct sirix_ast *read_slice(struct parser *parser, const struct sirix_token *place,
                                    struct sirix_ast *base, struct sirix_ast *from)
{
    struct sirix_ast *parts[2] = {NULL, NULL};

    for (int i = 0; i < 2 && parser_take(parser, SIRIX_TOKEN_COLON); i++) {
        if (!parser_at(parser, SIRIX_TOKEN_COLON) && !parser_at(parser, SIRIX_TOKEN_SQUARE_CLOSE)) {
            parts[i] = parser_single(parser);
        }
    }
    if (!parser_expect(parser, SIRIX_TOKEN_SQUARE_CLOSE, "']'")) {
        return NULL;
    }

    struct sirix_ast *node = parser_node(parser, SIRIX_AST_SLICE, place, 4);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] = base;
    node->children[1] = from;
    node->children[2] = parts[0];
    node->children[3] = parts[1];
    return parser_measure(parser, node) ? node : NULL;
}

static struct sirix_ast *read_filter(struct parser *parser, enum sirix_ast_kind kind,
                                     const struct sirix_token *place, struct sirix_ast *base)
{
    struct sirix_ast *filter = parser_expression(parser);

    if (filter == NULL) {
        return NULL;
    }
    if (kind == SIRIX_AST_PREDICATE && parser_at(parser, SIRIX_TOKEN_COLON)) {
        return read_slice(parser, place, base, filter);
    }
    return parser_expect(parser, SIRIX_TOKEN_SQUARE_CLOSE, "']'")
               ? parser_node2(parser, kind, place, base, filter)
               : NULL;
}

/*
 * At the second of two brackets that touch: [[e]], or a predicate that begins with an array, which
 * is known only where the first closing bracket stands.
 */
static struct sirix_ast *read_member(struct parser *parser, const struct sirix_token *place,
                                     struct sirix_ast *base)
{
    struct sirix_token inner_place = parser->token;
    struct sirix_ast *inner = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    if (!parser_at(parser, SIRIX_TOKEN_SQUARE_CLOSE)) {
        inner = parser_expression(parser);
        if (inner == NULL) {
            return NULL;
        }
    }

    size_t close_end = parser->token.end;

    if (!parser_expect(parser, SIRIX_TOKEN_SQUARE_CLOSE, "']]'")) {
        return NULL;
    }
    if (inner != NULL && parser_at(parser, SIRIX_TOKEN_SQUARE_CLOSE) &&
        parser->token.start == close_end) {
        return parser_advance(parser) ? parser_node2(parser, SIRIX_AST_MEMBER, place, base, inner)
                                      : NULL;
    }
    parser->seed = inner == NULL ? parser_node(parser, SIRIX_AST_ARRAY, &inner_place, 0)
                                 : parser_node1(parser, SIRIX_AST_ARRAY, &inner_place, inner);
    return parser->seed == NULL ? NULL : read_filter(parser, SIRIX_AST_PREDICATE, place, base);
}

/*
 * At the question mark of [? e]. Behind it * or a number that something follows is XQuery's look-up of
 * the context, for it makes no condition: [?1 eq 2], [?* = 3]. A number alone is a position.
 */
static struct sirix_ast *read_question(struct parser *parser, const struct sirix_token *place,
                                       struct sirix_ast *base)
{
    struct sirix_token question = parser->token;
    const struct sirix_token *ahead = parser_ahead(parser);
    enum sirix_token_kind kind = ahead == NULL ? SIRIX_TOKEN_END : ahead->kind;
    bool is_number =
        kind == SIRIX_TOKEN_INTEGER || kind == SIRIX_TOKEN_DECIMAL || kind == SIRIX_TOKEN_DOUBLE;

    if (ahead == NULL) {
        return NULL;
    }
    if (kind == SIRIX_TOKEN_STAR) {
        return read_filter(parser, SIRIX_AST_PREDICATE, place, base);
    }
    if (!parser_advance(parser)) {
        return NULL;
    }
    ahead = is_number ? parser_ahead(parser) : NULL;
    if (!is_number || (ahead != NULL && ahead->kind == SIRIX_TOKEN_SQUARE_CLOSE)) {
        return read_filter(parser, SIRIX_AST_FILTER, place, base);
    }
    if (kind != SIRIX_TOKEN_INTEGER) {
        return parser_fail_expected(parser, "an integer or a name: what is looked up");
    }

    struct sirix_ast *key = parser_literal(parser);

    parser->seed =
        key == NULL ? NULL : parser_node2(parser, SIRIX_AST_LOOKUP, &question, NULL, key);
    return parser->seed == NULL ? NULL : read_filter(parser, SIRIX_AST_PREDICATE, place, base);
}

static struct sirix_ast *read_bracket(struct parser *parser, struct sirix_ast *base)
{
    struct sirix_token place = parser->token;

    if (!parser_advance(parser)) {
        return NULL;
    }
    switch (parser->token.kind) {
    case SIRIX_TOKEN_SQUARE_CLOSE:
        return parser_advance(parser) ? parser_node1(parser, SIRIX_AST_UNBOX, &place, base) : NULL;
    case SIRIX_TOKEN_QUESTION:
        return read_question(parser, &place, base);
    case SIRIX_TOKEN_COLON:
        return read_slice(parser, &place, base, NULL);
    case SIRIX_TOKEN_SQUARE_OPEN:
        if (parser->token.start == place.end) {
            return read_member(parser, &place, base);
        }
        break;
    default:
        break;
    }
    return read_filter(parser, SIRIX_AST_PREDICATE, &place, base);
}

/* --- Calls and projections -------------------------------------------------------------------- */

bool parser_arguments(struct parser *parser)
{
    if (!parser_expect(parser, SIRIX_TOKEN_OPEN, "'('")) {
        return false;
    }
    if (parser_take(parser, SIRIX_TOKEN_CLOSE)) {
        return true;
    }
    do {
        struct sirix_token place = parser->token;
        struct sirix_ast *argument = NULL;
        const struct sirix_token *ahead =
            parser_at(parser, SIRIX_TOKEN_QUESTION) ? parser_ahead(parser) : NULL;

        if (ahead != NULL &&
            (ahead->kind == SIRIX_TOKEN_COMMA || ahead->kind == SIRIX_TOKEN_CLOSE)) {
            argument = parser_node(parser, SIRIX_AST_PLACEHOLDER, &place, 0);
            (void)parser_advance(parser);
        } else {
            argument = parser_single(parser);
        }
        if (argument == NULL || !parser_list_push(parser, argument)) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser_expect(parser, SIRIX_TOKEN_CLOSE, "',' or ')'");
}

static struct sirix_ast *read_call(struct parser *parser, struct sirix_ast *function)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    return parser_list_push(parser, function) && parser_arguments(parser)
               ? parser_list_close(parser, mark, SIRIX_AST_DYNAMIC_CALL, &place)
               : NULL;
}

static struct sirix_ast *read_projection(struct parser *parser, struct sirix_ast *base)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser) || !parser_list_push(parser, base)) {
        return NULL;
    }
    do {
        struct sirix_ast *key = read_key(parser);

        if (key == NULL || !parser_list_push(parser, key)) {
            return NULL;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser_expect(parser, SIRIX_TOKEN_BRACE_CLOSE, "',' or '}'")
               ? parser_list_close(parser, mark, SIRIX_AST_PROJECT, &place)
               : NULL;
}

/* --- All of them ------------------------------------------------------------------------------ */

/* The value that the steps begin at. */
static struct sirix_ast *read_base(struct parser *parser)
{
    struct sirix_ast *seed = parser->seed;

    if (seed != NULL) {
        parser->seed = NULL;
        return seed;
    }
    if (parser_at(parser, SIRIX_TOKEN_SLASHES)) {
        return parser_node(parser, SIRIX_AST_CONTEXT, &parser->token, 0);
    }
    if (parser_at(parser, SIRIX_TOKEN_QUESTION)) {
        return read_lookup(parser, NULL);
    }
    return parser_primary(parser);
}

struct sirix_ast *parser_postfix(struct parser *parser)
{
    struct sirix_ast *base = read_base(parser);

    while (base != NULL) {
        switch (parser->token.kind) {
        case SIRIX_TOKEN_DOT:
            base = read_step(parser, SIRIX_AST_FIELD, base);
            break;
        case SIRIX_TOKEN_DESCENDANT:
        case SIRIX_TOKEN_SLASHES:
            base = read_step(parser, SIRIX_AST_DESCENDANT, base);
            break;
        case SIRIX_TOKEN_SQUARE_OPEN:
            base = read_bracket(parser, base);
            break;
        case SIRIX_TOKEN_OPEN:
            base = read_call(parser, base);
            break;
        case SIRIX_TOKEN_BRACE_OPEN:
            base = read_projection(parser, base);
            break;
        case SIRIX_TOKEN_QUESTION:
            base = read_lookup(parser, base);
            break;
        default:
            return base;
        }
    }
    return NULL;
}
