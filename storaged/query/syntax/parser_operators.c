/*
 * Operators by rank. Those of one rank that may follow each other become one flat node; the others
 * stand alone, and a second one of the same rank is an error.
 */
#include "query/syntax/parser_internal.h"

enum level {
    LEVEL_OR = 1,
    LEVEL_AND,
    LEVEL_NOT,
    LEVEL_COMPARE,
    LEVEL_CONCAT,
    LEVEL_RANGE,
    LEVEL_ADD,
    LEVEL_MULTIPLY,
    LEVEL_UNION,
    LEVEL_INTERSECT,
    LEVEL_INSTANCE,
    LEVEL_TREAT,
    LEVEL_CASTABLE,
    LEVEL_CAST,
    LEVEL_ARROW,
    LEVEL_VALUE,
};

struct rule {
    const char *word; /* Of a name, and the second word behind it; or the token. */
    const char *second;
    enum sirix_token_kind token;
    unsigned level;
    enum sirix_ast_kind kind;
    enum sirix_ast_op op;
};

static const struct rule operators[] = {
    {"or", NULL, SIRIX_TOKEN_NAME, LEVEL_OR, SIRIX_AST_OR, SIRIX_AST_OP_NONE},
    {"and", NULL, SIRIX_TOKEN_NAME, LEVEL_AND, SIRIX_AST_AND, SIRIX_AST_OP_NONE},
    {"eq", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_EQ},
    {"ne", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_NE},
    {"lt", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_LT},
    {"le", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_LE},
    {"gt", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GT},
    {"ge", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GE},
    {NULL, NULL, SIRIX_TOKEN_EQUAL, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_EQ},
    {NULL, NULL, SIRIX_TOKEN_NOT_EQUAL, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_NE},
    {NULL, NULL, SIRIX_TOKEN_LESS, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_LT},
    {NULL, NULL, SIRIX_TOKEN_LESS_EQUAL, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_LE},
    {NULL, NULL, SIRIX_TOKEN_GREATER, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_GT},
    {NULL, NULL, SIRIX_TOKEN_GREATER_EQUAL, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_GENERAL_GE},
    {"is", NULL, SIRIX_TOKEN_NAME, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_IS},
    {NULL, NULL, SIRIX_TOKEN_BEFORE, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_BEFORE},
    {NULL, NULL, SIRIX_TOKEN_AFTER, LEVEL_COMPARE, SIRIX_AST_COMPARE, SIRIX_AST_AFTER},
    {NULL, NULL, SIRIX_TOKEN_CONCAT, LEVEL_CONCAT, SIRIX_AST_CONCAT, SIRIX_AST_OP_NONE},
    {"to", NULL, SIRIX_TOKEN_NAME, LEVEL_RANGE, SIRIX_AST_RANGE, SIRIX_AST_OP_NONE},
    {NULL, NULL, SIRIX_TOKEN_PLUS, LEVEL_ADD, SIRIX_AST_ADD, SIRIX_AST_PLUS},
    {NULL, NULL, SIRIX_TOKEN_MINUS, LEVEL_ADD, SIRIX_AST_ADD, SIRIX_AST_MINUS},
    {NULL, NULL, SIRIX_TOKEN_STAR, LEVEL_MULTIPLY, SIRIX_AST_MULTIPLY, SIRIX_AST_TIMES},
    {"div", NULL, SIRIX_TOKEN_NAME, LEVEL_MULTIPLY, SIRIX_AST_MULTIPLY, SIRIX_AST_DIV},
    {"idiv", NULL, SIRIX_TOKEN_NAME, LEVEL_MULTIPLY, SIRIX_AST_MULTIPLY, SIRIX_AST_IDIV},
    {"mod", NULL, SIRIX_TOKEN_NAME, LEVEL_MULTIPLY, SIRIX_AST_MULTIPLY, SIRIX_AST_MOD},
    {"union", NULL, SIRIX_TOKEN_NAME, LEVEL_UNION, SIRIX_AST_UNION, SIRIX_AST_OP_NONE},
    {NULL, NULL, SIRIX_TOKEN_BAR, LEVEL_UNION, SIRIX_AST_UNION, SIRIX_AST_OP_NONE},
    {"intersect", NULL, SIRIX_TOKEN_NAME, LEVEL_INTERSECT, SIRIX_AST_INTERSECT,
     SIRIX_AST_OP_INTERSECT},
    {"except", NULL, SIRIX_TOKEN_NAME, LEVEL_INTERSECT, SIRIX_AST_INTERSECT, SIRIX_AST_OP_EXCEPT},
    {"instance", "of", SIRIX_TOKEN_NAME, LEVEL_INSTANCE, SIRIX_AST_INSTANCE_OF, SIRIX_AST_OP_NONE},
    {"treat", "as", SIRIX_TOKEN_NAME, LEVEL_TREAT, SIRIX_AST_TREAT_AS, SIRIX_AST_OP_NONE},
    {"castable", "as", SIRIX_TOKEN_NAME, LEVEL_CASTABLE, SIRIX_AST_CASTABLE_AS, SIRIX_AST_OP_NONE},
    {"cast", "as", SIRIX_TOKEN_NAME, LEVEL_CAST, SIRIX_AST_CAST_AS, SIRIX_AST_OP_NONE},
    {NULL, NULL, SIRIX_TOKEN_ARROW, LEVEL_ARROW, SIRIX_AST_CALL, SIRIX_AST_OP_NONE},
};

/* The operator at hand, or NULL. This is asked behind every value, once a rank. */
static const struct rule *find_operator(struct parser *parser)
{
    const enum sirix_token_kind kind = parser->token.kind;
    const char *first = (const char *)parser->text.data + parser->token.start;

    if (kind == SIRIX_TOKEN_END) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        const struct rule *found = &operators[i];

        if (found->token != kind ||
            (kind == SIRIX_TOKEN_NAME &&
             (found->word[0] != *first || !parser_at_word(parser, found->word)))) {
            continue;
        }
        if (found->second != NULL && !parser_at_words(parser, found->word, found->second)) {
            return NULL;
        }
        return found;
    }
    return NULL;
}

static bool is_flat(unsigned level)
{
    return level == LEVEL_OR || level == LEVEL_AND || level == LEVEL_CONCAT || level == LEVEL_ADD ||
           level == LEVEL_MULTIPLY || level == LEVEL_UNION || level == LEVEL_INTERSECT;
}

/* All operators of a rank in a row, from the first one on. */
static struct sirix_ast *read_flat(struct parser *parser, struct sirix_ast *left, unsigned level)
{
    struct sirix_token place = parser->token;
    const struct rule *found = find_operator(parser);
    enum sirix_ast_kind kind = found->kind;
    size_t mark = parser_list_open(parser);
    size_t ops_mark = parser->ops.len;
    uint8_t op = SIRIX_AST_OP_NONE;

    if (!parser_list_push(parser, left)) {
        return NULL;
    }
    while (parser->status == SIRIX_OK && found != NULL && found->level == level) {
        if (parser->ops.len == ops_mark) {
            parser->status = sirix_buf_append_u8(&parser->ops, op, &parser->err->base);
        }
        if (parser->status != SIRIX_OK || !parser_advance(parser)) {
            return NULL;
        }
        op = (uint8_t)found->op;
        parser->status = sirix_buf_append_u8(&parser->ops, op, &parser->err->base);

        struct sirix_ast *right = parser_operators(parser, level + 1);

        if (right == NULL || !parser_list_push(parser, right)) {
            return NULL;
        }
        found = find_operator(parser);
    }

    struct sirix_ast *node = parser_list_close(parser, mark, kind, &place);

    if (node != NULL && op != SIRIX_AST_OP_NONE) {
        node->ops = parser_alloc(parser, node->child_count, 1);
        if (node->ops == NULL) {
            return NULL;
        }
        memcpy(node->ops, parser->ops.data + ops_mark, node->child_count);
    }
    parser->ops.len = ops_mark;
    return node;
}

/* instance of, treat as, castable as, cast as. */
static struct sirix_ast *read_type_operator(struct parser *parser, struct sirix_ast *left,
                                            const struct rule *found)
{
    struct sirix_token place = parser->token;
    bool is_cast = found->level == LEVEL_CAST || found->level == LEVEL_CASTABLE;

    if (!parser_skip(parser, 2)) {
        return NULL;
    }

    struct sirix_ast_type *type =
        is_cast ? parser_single_type(parser) : parser_sequence_type(parser);
    struct sirix_ast *node = type == NULL ? NULL : parser_node1(parser, found->kind, &place, left);

    if (node != NULL) {
        node->type = type;
    }
    return node;
}

/* left => f(...), left => $f(...), left => (e)(...) */
static struct sirix_ast *read_arrow(struct parser *parser, struct sirix_ast *left)
{
    struct sirix_ast_name *name = NULL;
    struct sirix_ast *function = NULL;

    if (!parser_advance(parser)) {
        return NULL;
    }

    struct sirix_token place = parser->token;

    if (parser_at_name(parser)) {
        name = parser_name(parser);
    } else if (parser_at(parser, SIRIX_TOKEN_DOLLAR) || parser_at(parser, SIRIX_TOKEN_OPEN)) {
        function = parser_primary(parser);
    } else {
        parser_fail_expected(parser, "a function behind '=>'");
    }

    size_t mark = parser_list_open(parser);

    if ((function != NULL && !parser_list_push(parser, function)) ||
        !parser_list_push(parser, left) || !parser_arguments(parser)) {
        return NULL;
    }

    struct sirix_ast *node = parser_list_close(
        parser, mark, name != NULL ? SIRIX_AST_CALL : SIRIX_AST_DYNAMIC_CALL, &place);

    if (node != NULL) {
        node->name = name;
    }
    return node;
}

static struct sirix_ast *read_one(struct parser *parser, struct sirix_ast *left,
                                  const struct rule *found)
{
    struct sirix_token place = parser->token;

    if (found->level == LEVEL_ARROW) {
        return read_arrow(parser, left);
    }
    if (found->second != NULL) {
        return read_type_operator(parser, left, found);
    }
    if (!parser_advance(parser)) {
        return NULL;
    }

    struct sirix_ast *right = parser_operators(parser, found->level + 1);
    struct sirix_ast *node =
        right == NULL ? NULL : parser_node2(parser, found->kind, &place, left, right);

    if (node != NULL) {
        node->op = (uint16_t)found->op;
    }
    return node;
}

static bool is_operator_word(const struct parser *parser, const struct sirix_token *token)
{
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++) {
        if (operators[i].word != NULL && parser_is_word(parser, token, operators[i].word)) {
            return true;
        }
    }
    return false;
}

/* Whether `not` at hand is the prefix operator: something that begins a value follows it. */
static bool at_not(struct parser *parser)
{
    if (!parser_at_word(parser, "not")) {
        return false;
    }

    const struct sirix_token *ahead = parser_ahead(parser);

    if (ahead == NULL) {
        return false;
    }
    switch (ahead->kind) {
    case SIRIX_TOKEN_QNAME:
    case SIRIX_TOKEN_BRACED:
    case SIRIX_TOKEN_STRING:
    case SIRIX_TOKEN_INTEGER:
    case SIRIX_TOKEN_DECIMAL:
    case SIRIX_TOKEN_DOUBLE:
    case SIRIX_TOKEN_DOLLAR:
    case SIRIX_TOKEN_CONTEXT:
    case SIRIX_TOKEN_SQUARE_OPEN:
    case SIRIX_TOKEN_BRACE_OPEN:
    case SIRIX_TOKEN_MERGE_OPEN:
    case SIRIX_TOKEN_MINUS:
        return true;
    case SIRIX_TOKEN_NAME:
        return !is_operator_word(parser, ahead);
    default:
        return false;
    }
}

/* not not ... e: one node if their number is odd, two if it is even. */
static struct sirix_ast *read_not(struct parser *parser)
{
    struct sirix_token place = parser->token;
    bool is_even = true;

    while (at_not(parser)) {
        is_even = !is_even;
        if (!parser_advance(parser)) {
            return NULL;
        }
    }

    struct sirix_ast *node =
        parser_node1(parser, SIRIX_AST_NOT, &place, parser_operators(parser, LEVEL_COMPARE));

    return is_even ? parser_node1(parser, SIRIX_AST_NOT, &place, node) : node;
}

struct sirix_ast *parser_operators(struct parser *parser, unsigned level_min)
{
    unsigned level_max = LEVEL_VALUE;
    struct sirix_ast *left = NULL;

    if (parser->seed == NULL && at_not(parser)) {
        left = read_not(parser);
        level_max = LEVEL_AND;
    } else {
        left = parser_value(parser);
    }
    while (left != NULL) {
        const struct rule *found = find_operator(parser);

        if (parser->status != SIRIX_OK) {
            return NULL;
        }
        if (found == NULL || found->level < level_min) {
            return left;
        }
        if (found->level > level_max) {
            return parser_fail_expected(parser, "parentheses: these operators have no order");
        }
        if (is_flat(found->level)) {
            left = read_flat(parser, left, found->level);
            level_max = found->level;
        } else {
            left = read_one(parser, left, found);
            level_max = found->level == LEVEL_ARROW ? LEVEL_ARROW : found->level - 1;
        }
    }
    return NULL;
}

/* first ! e ! ... */
static struct sirix_ast *read_map(struct parser *parser, struct sirix_ast *first)
{
    struct sirix_token place = parser->token;
    size_t mark = parser_list_open(parser);
    struct sirix_ast *value = first;

    while (value != NULL && parser_list_push(parser, value) &&
           parser_take(parser, SIRIX_TOKEN_BANG)) {
        value = parser_postfix(parser);
    }
    return value == NULL ? NULL : parser_list_close(parser, mark, SIRIX_AST_MAP, &place);
}

struct sirix_ast *parser_value(struct parser *parser)
{
    struct sirix_token place = parser->token;
    bool has_sign = false;
    bool is_minus = false;

    while (parser->seed == NULL &&
           (parser_at(parser, SIRIX_TOKEN_MINUS) || parser_at(parser, SIRIX_TOKEN_PLUS))) {
        has_sign = true;
        is_minus = is_minus != parser_at(parser, SIRIX_TOKEN_MINUS);
        if (!parser_advance(parser)) {
            return NULL;
        }
    }

    struct sirix_ast *value = parser_postfix(parser);

    if (value != NULL && parser_at(parser, SIRIX_TOKEN_BANG)) {
        value = read_map(parser, value);
    }
    if (value != NULL && has_sign) {
        value = parser_node1(parser, SIRIX_AST_UNARY, &place, value);
        if (value != NULL) {
            value->op = is_minus ? SIRIX_AST_MINUS : SIRIX_AST_PLUS;
        }
    }
    return value;
}
