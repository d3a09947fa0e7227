/* Updating expressions: JSONiq's and SirixDB's spellings of the same. */
#include "query/syntax/parser_internal.h"

bool parser_at_update(struct parser *parser)
{
    return parser_at_words(parser, "insert", "json") || parser_at_words(parser, "append", "json") ||
           parser_at_words(parser, "delete", "json") || parser_at_words(parser, "rename", "json") ||
           parser_at_words(parser, "replace", "json") ||
           parser_at_words(parser, "replace", "value");
}

/* word e */
static struct sirix_ast *read_behind(struct parser *parser, const char *word)
{
    return parser_expect_word(parser, word) ? parser_single(parser) : NULL;
}

/* A name with a colon behind it is a key without quotes; anything else is an expression. */
static struct sirix_ast *read_key(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_bytes key = {NULL, 0};
    const struct sirix_token *ahead =
        parser_at(parser, SIRIX_TOKEN_NAME) ? parser_ahead(parser) : NULL;

    if (ahead != NULL && ahead->kind == SIRIX_TOKEN_COLON) {
        return parser_local_name(parser, &key) ? parser_string_node(parser, &place, key) : NULL;
    }
    return parser_single(parser);
}

/* key : value, ... from the first colon on, as an object. */
static struct sirix_ast *read_pairs(struct parser *parser, const struct sirix_token *place,
                                    struct sirix_ast *key)
{
    size_t mark = parser_list_open(parser);

    do {
        struct sirix_token colon = {0};

        if (key == NULL) {
            key = read_key(parser);
        }
        colon = parser->token;

        struct sirix_ast *value = key != NULL && parser_expect(parser, SIRIX_TOKEN_COLON, "':'")
                                      ? parser_single(parser)
                                      : NULL;
        struct sirix_ast *pair =
            value == NULL ? NULL : parser_node2(parser, SIRIX_AST_PAIR, &colon, key, value);

        if (pair == NULL || !parser_list_push(parser, pair)) {
            return NULL;
        }
        key = NULL;
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser_list_close(parser, mark, SIRIX_AST_OBJECT, place);
}

/* An expression, or pairs of an object. */
static struct sirix_ast *read_content(struct parser *parser)
{
    struct sirix_token place = parser->token;
    struct sirix_ast *content = read_key(parser);

    return content != NULL && parser_at(parser, SIRIX_TOKEN_COLON)
               ? read_pairs(parser, &place, content)
               : content;
}

/* insert json content into target at position n */
static struct sirix_ast *read_insert(struct parser *parser, const struct sirix_token *place)
{
    struct sirix_ast *content = read_content(parser);
    struct sirix_ast *target = content == NULL ? NULL : read_behind(parser, "into");
    struct sirix_ast *position = NULL;

    if (target == NULL) {
        return NULL;
    }
    if (parser_take_word(parser, "at")) {
        position = read_behind(parser, "position");
    }

    struct sirix_ast *node = parser_node(parser, SIRIX_AST_INSERT, place, 3);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] = content;
    node->children[1] = target;
    node->children[2] = position;
    return parser_measure(parser, node) ? node : NULL;
}

/* replace json value of T with e, replace value of json T with e */
static struct sirix_ast *read_replace(struct parser *parser, const struct sirix_token *place)
{
    bool json_first = parser_take_word(parser, "json");

    if (!parser_expect_word(parser, "value") || !parser_expect_word(parser, "of") ||
        (!json_first && !parser_expect_word(parser, "json"))) {
        return NULL;
    }

    struct sirix_ast *target = parser_single(parser);
    struct sirix_ast *value = target == NULL ? NULL : read_behind(parser, "with");

    return value == NULL ? NULL : parser_node2(parser, SIRIX_AST_REPLACE, place, target, value);
}

/* e word e */
static struct sirix_ast *read_two(struct parser *parser, enum sirix_ast_kind kind,
                                  const struct sirix_token *place, const char *word)
{
    struct sirix_ast *first = parser_single(parser);
    struct sirix_ast *second = first == NULL ? NULL : read_behind(parser, word);

    return second == NULL ? NULL : parser_node2(parser, kind, place, first, second);
}

struct sirix_ast *parser_update(struct parser *parser)
{
    struct sirix_token place = parser->token;

    if (parser_take_word(parser, "replace")) {
        return read_replace(parser, &place);
    }

    bool is_insert = parser_at_word(parser, "insert");
    bool is_append = parser_at_word(parser, "append");
    bool is_delete = parser_at_word(parser, "delete");

    if (!parser_advance(parser) || !parser_expect_word(parser, "json")) {
        return NULL;
    }
    if (is_insert) {
        return read_insert(parser, &place);
    }
    if (is_append) {
        return read_two(parser, SIRIX_AST_APPEND, &place, "into");
    }
    if (is_delete) {
        struct sirix_ast *target = parser_single(parser);

        return target == NULL ? NULL : parser_node1(parser, SIRIX_AST_DELETE, &place, target);
    }
    return read_two(parser, SIRIX_AST_RENAME, &place, "as");
}

/* copy $x := e, ... modify e return e */
struct sirix_ast *parser_copy(struct parser *parser)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);

    if (!parser_advance(parser)) {
        return NULL;
    }
    do {
        struct sirix_token at = parser->token;
        struct sirix_ast_name *name = parser_variable_name(parser);
        struct sirix_ast *e = name != NULL && parser_expect(parser, SIRIX_TOKEN_ASSIGN, "':='")
                                  ? parser_single(parser)
                                  : NULL;
        struct sirix_ast *node = e == NULL ? NULL : parser_node1(parser, SIRIX_AST_LET, &at, e);

        if (node == NULL || !parser_list_push(parser, node)) {
            return NULL;
        }
        node->name = name;
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));

    struct sirix_ast *modify = read_behind(parser, "modify");

    if (modify == NULL || !parser_list_push(parser, modify)) {
        return NULL;
    }

    struct sirix_ast *result = read_behind(parser, "return");

    return result != NULL && parser_list_push(parser, result)
               ? parser_list_close(parser, mark, SIRIX_AST_COPY, &place)
               : NULL;
}
