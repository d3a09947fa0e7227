/* Objects, arrays, blocks: whatever stands in braces and brackets of its own. */
#include <assert.h>

#include "query/syntax/parser_internal.h"

static bool read_members(struct parser *parser)
{
    do {
        (void)parser_take(parser, SIRIX_TOKEN_EQUAL);

        struct sirix_ast *member = parser_single(parser);

        if (member == NULL || !parser_list_push(parser, member)) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser->status == SIRIX_OK;
}

/* [e, =e, ...] */
struct sirix_ast *parser_array(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser)) {
        return NULL;
    }
    if (!parser_at(parser, SIRIX_TOKEN_SQUARE_CLOSE) && !read_members(parser)) {
        return NULL;
    }
    if (!parser_expect(parser, SIRIX_TOKEN_SQUARE_CLOSE, "',' or ']'")) {
        return NULL;
    }

    struct sirix_ast *array = parser_list_close(parser, mark, SIRIX_AST_ARRAY, &place);

    if (array != NULL && parser->xquery_31) {
        array->flags |= SIRIX_AST_HOLDS_SEQUENCES;
    }
    return array;
}

/* {| e? |} */
struct sirix_ast *parser_merge(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *e = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }
    e = parser_at(parser, SIRIX_TOKEN_MERGE_CLOSE)
            ? parser_node(parser, SIRIX_AST_SEQUENCE, &place, 0)
            : parser_expression(parser);
    return e != NULL && parser_expect(parser, SIRIX_TOKEN_MERGE_CLOSE, "'|}'")
               ? parser_node1(parser, SIRIX_AST_MERGE, &place, e)
               : NULL;
}

/* The value behind `key :`. */
static struct sirix_ast *read_pair(struct parser *parser, struct sirix_ast *key)
{
    struct sirix_token colon = parser->token;

    if (key == NULL || !parser_expect(parser, SIRIX_TOKEN_COLON, "':'")) {
        return NULL;
    }

    struct sirix_ast *value = parser_single(parser);

    return value == NULL ? NULL : parser_node2(parser, SIRIX_AST_PAIR, &colon, key, value);
}

static bool read_map_pairs(struct parser *parser)
{
    do {
        struct sirix_ast *pair = read_pair(parser, parser_single(parser));

        if (pair == NULL || !parser_list_push(parser, pair)) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser->status == SIRIX_OK;
}

/* map { key : value, ... } */
struct sirix_ast *parser_map(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser) || !parser_expect(parser, SIRIX_TOKEN_BRACE_OPEN, "'{'")) {
        return NULL;
    }
    if (!parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE) && !read_map_pairs(parser)) {
        return NULL;
    }
    if (!parser_expect(parser, SIRIX_TOKEN_BRACE_CLOSE, "',' or '}'")) {
        return NULL;
    }

    struct sirix_ast *map = parser_list_close(parser, mark, SIRIX_AST_OBJECT, &place);

    if (map != NULL) {
        map->flags |= SIRIX_AST_HOLDS_SEQUENCES;
    }
    return map;
}

/* --- Braces: an object or a block ------------------------------------------------------------- */

/* Whether a key without quotes is at hand. */
static bool at_bare_key(struct parser *parser)
{
    if (!parser_at(parser, SIRIX_TOKEN_NAME) && !parser_at(parser, SIRIX_TOKEN_QNAME)) {
        return false;
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    if (ahead == NULL) {
        return false;
    }
    if (parser_at(parser, SIRIX_TOKEN_QNAME)) {
        return ahead->kind != SIRIX_TOKEN_OPEN && ahead->kind != SIRIX_TOKEN_HASH;
    }
    return ahead->kind == SIRIX_TOKEN_COLON;
}

static struct sirix_ast *read_bare_key(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_bytes key = {NULL, 0};

    if (parser->jsoniq_version == 31) {
        return parser_fail_at(parser, &place, "XPST0003",
                              "JSONiq 3.1 wants the names of fields in quotes");
    }
    return parser_local_name(parser, &key) ? parser_string_node(parser, &place, key) : NULL;
}

/* key : value, or a statement or expression. */
static struct sirix_ast *read_entry(struct parser *parser)
{
    struct sirix_ast *entry =
        at_bare_key(parser) ? read_bare_key(parser) : parser_statement(parser);

    if (entry == NULL || !parser_at(parser, SIRIX_TOKEN_COLON)) {
        return entry;
    }
    return read_pair(parser, entry);
}

/* What makes no sense in an object: alone in braces it makes them a block. */
static bool is_statement(const struct sirix_ast *node)
{
    switch ((enum sirix_ast_kind)node->kind) {
    case SIRIX_AST_DECLARE:
    case SIRIX_AST_ASSIGN:
    case SIRIX_AST_WHILE:
    case SIRIX_AST_BREAK:
    case SIRIX_AST_CONTINUE:
    case SIRIX_AST_EXIT:
    case SIRIX_AST_INSERT:
    case SIRIX_AST_APPEND:
    case SIRIX_AST_DELETE:
    case SIRIX_AST_REPLACE:
    case SIRIX_AST_RENAME:
        return true;
    default:
        return false;
    }
}

/* The entries turned out to be the first statement of a block. */
static struct sirix_ast *read_block(struct parser *parser, const struct sirix_token *place,
                                    size_t mark)
{
    size_t count = parser_list_count(parser, mark);
    struct sirix_ast *first = NULL;

    for (size_t i = 0; i < count; i++) {
        first = parser_list_at(parser, mark, i);
        if (first->kind == SIRIX_AST_PAIR) {
            return parser_fail_expected(parser, "',' or '}'");
        }
    }
    assert(first != NULL); /* The entries are at least one. */
    if (!is_statement(first) && !parser_at(parser, SIRIX_TOKEN_SEMICOLON) &&
        parser->closed_end != parser->last_end) {
        return parser_fail_expected(parser, "':', ',' or '}'");
    }
    if (count == 1) {
        parser->list.len = mark;
    } else {
        first = parser_list_close(parser, mark, SIRIX_AST_SEQUENCE, place);
    }
    return first == NULL ? NULL : parser_statements(parser, first, place, SIRIX_TOKEN_BRACE_CLOSE);
}

/* The entries up to the closing brace, which is left. */
static struct sirix_ast *read_entries(struct parser *parser, const struct sirix_token *place)
{
    size_t mark = parser_list_open(parser);
    struct sirix_ast *entry = NULL;

    if (parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE)) {
        return parser_node(parser, SIRIX_AST_OBJECT, place, 0);
    }
    do {
        entry = read_entry(parser);
        if (entry == NULL || !parser_list_push(parser, entry)) {
            return NULL;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));

    if (!parser_at(parser, SIRIX_TOKEN_BRACE_CLOSE) ||
        (parser_list_count(parser, mark) == 1 && is_statement(entry))) {
        return read_block(parser, place, mark);
    }
    return parser_list_close(parser, mark, SIRIX_AST_OBJECT, place);
}

struct sirix_ast *parser_braces(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *node = NULL;

    if (!parser_enter(parser) || !parser_advance(parser)) {
        return NULL;
    }
    node = read_entries(parser, &place);
    parser_leave(parser);
    if (node == NULL || !parser_expect(parser, SIRIX_TOKEN_BRACE_CLOSE, "',' or '}'")) {
        return NULL;
    }
    if (node->kind != SIRIX_AST_OBJECT) {
        if (node->kind != SIRIX_AST_BLOCK) {
            node = parser_node1(parser, SIRIX_AST_BLOCK, &place, node);
        }
        parser->closed_end = parser->last_end;
    }
    return node;
}
