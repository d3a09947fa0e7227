/* Types, and the parameters of functions. */
#include "query/syntax/parser_internal.h"

enum { PARAMETERS_MAX = 255 };

struct word_type {
    const char *word;
    enum sirix_ast_type_kind kind;
};

/* Names of item types that stand alone or with (). */
static const struct word_type plain_types[] = {
    {"item", SIRIX_AST_TYPE_ITEM},
    {"object", SIRIX_AST_TYPE_OBJECT},
    {"array", SIRIX_AST_TYPE_ARRAY},
    {"json-item", SIRIX_AST_TYPE_JSON_ITEM},
    {"structured-item", SIRIX_AST_TYPE_STRUCTURED},
    {"function", SIRIX_AST_TYPE_FUNCTION},
};

/* Names that need parentheses. */
static const struct word_type called_types[] = {
    {"map", SIRIX_AST_TYPE_OBJECT},          {"empty-sequence", SIRIX_AST_TYPE_EMPTY},
    {"node", SIRIX_AST_TYPE_NODE},           {"element", SIRIX_AST_TYPE_NODE},
    {"attribute", SIRIX_AST_TYPE_NODE},      {"text", SIRIX_AST_TYPE_NODE},
    {"comment", SIRIX_AST_TYPE_NODE},        {"document-node", SIRIX_AST_TYPE_NODE},
    {"namespace-node", SIRIX_AST_TYPE_NODE}, {"processing-instruction", SIRIX_AST_TYPE_NODE},
    {"schema-element", SIRIX_AST_TYPE_NODE}, {"schema-attribute", SIRIX_AST_TYPE_NODE},
};

static const struct word_type *find_type(const struct parser *parser, const struct word_type *types,
                                         size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (parser_at_word(parser, types[i].word)) {
            return &types[i];
        }
    }
    return NULL;
}

/* --- Inside the parentheses of a type --------------------------------------------------------- */

/* Whatever stands in parentheses up to the one that closes them. */
static bool skip_parentheses(struct parser *parser)
{
    size_t depth = 1;

    while (depth != 0) {
        if (parser_at(parser, SIRIX_TOKEN_END)) {
            parser_fail_expected(parser, "')'");
            return false;
        }
        if (parser_at(parser, SIRIX_TOKEN_OPEN)) {
            depth++;
        } else if (parser_at(parser, SIRIX_TOKEN_CLOSE)) {
            depth--;
        }
        if (!parser_advance(parser)) {
            return false;
        }
    }
    return true;
}

/* K, V) of a map, T) of an array. */
static bool read_members(struct parser *parser, struct sirix_ast_type *type)
{
    type->is_any = false;
    if (type->kind == SIRIX_AST_TYPE_OBJECT) {
        type->key = parser_sequence_type(parser);
        if (type->key == NULL || !parser_expect(parser, SIRIX_TOKEN_COMMA, "','")) {
            return false;
        }
    }
    type->value = parser_sequence_type(parser);
    return type->value != NULL && parser_expect(parser, SIRIX_TOKEN_CLOSE, "')'");
}

static bool read_parameters(struct parser *parser, struct sirix_ast_type **parameters,
                            uint32_t *count)
{
    do {
        if (*count == PARAMETERS_MAX) {
            parser_fail_expected(parser, "255 parameters at most");
            return false;
        }
        parameters[*count] = parser_sequence_type(parser);
        if (parameters[(*count)++] == NULL) {
            return false;
        }
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));
    return parser->status == SIRIX_OK;
}

/* T, ...) as T of a function. */
static bool read_signature(struct parser *parser, struct sirix_ast_type *type)
{
    struct sirix_ast_type *parameters[PARAMETERS_MAX];
    uint32_t count = 0;

    type->is_any = false;
    if (!parser_at(parser, SIRIX_TOKEN_CLOSE) && !read_parameters(parser, parameters, &count)) {
        return false;
    }
    if (!parser_expect(parser, SIRIX_TOKEN_CLOSE, "',' or ')'") ||
        !parser_expect_word(parser, "as")) {
        return false;
    }
    type->value = parser_sequence_type(parser);
    if (type->value == NULL) {
        return false;
    }
    type->parameter_count = count;
    if (count != 0) {
        type->parameters = parser_alloc(parser, count, sizeof(struct sirix_ast_type *));
        if (type->parameters == NULL) {
            return false;
        }
        memcpy(type->parameters, parameters, count * sizeof(struct sirix_ast_type *));
    }
    return true;
}

/* At the opening parenthesis behind the name of a type. */
static bool read_inside(struct parser *parser, struct sirix_ast_type *type, bool is_map)
{
    bool may_be_any =
        is_map || type->kind == SIRIX_AST_TYPE_ARRAY || type->kind == SIRIX_AST_TYPE_FUNCTION;

    if (!parser_advance(parser)) {
        return false;
    }
    if (type->kind == SIRIX_AST_TYPE_NODE) {
        return skip_parentheses(parser);
    }
    if (may_be_any && parser_take(parser, SIRIX_TOKEN_STAR)) {
        return parser_expect(parser, SIRIX_TOKEN_CLOSE, "')'");
    }
    if (type->kind == SIRIX_AST_TYPE_FUNCTION) {
        return read_signature(parser, type);
    }
    if (may_be_any && !parser_at(parser, SIRIX_TOKEN_CLOSE)) {
        return read_members(parser, type);
    }
    return parser_expect(parser, SIRIX_TOKEN_CLOSE, "')'");
}

/* --- Types ------------------------------------------------------------------------------------ */

static bool read_named_type(struct parser *parser, struct sirix_ast_type *type)
{
    const struct sirix_token *ahead = parser_ahead(parser);

    if (ahead == NULL) {
        return false;
    }

    bool is_called = ahead->kind == SIRIX_TOKEN_OPEN;
    bool is_map = is_called && parser_at_word(parser, "map");
    const struct word_type *found =
        find_type(parser, plain_types, sizeof(plain_types) / sizeof(plain_types[0]));

    if (found == NULL && is_called) {
        found = find_type(parser, called_types, sizeof(called_types) / sizeof(called_types[0]));
    }
    if (found != NULL) {
        type->kind = found->kind;
        type->is_any = true;
        return parser_advance(parser) && (!is_called || read_inside(parser, type, is_map));
    }

    struct sirix_ast_name *name = parser_name(parser);

    if (name == NULL) {
        return false;
    }
    type->kind = SIRIX_AST_TYPE_NAMED;
    type->name = *name;
    if (is_called) {
        parser_fail_expected(parser, "no parentheses behind this type");
        return false;
    }
    return true;
}

/* An item type without its occurrence, or (). */
static struct sirix_ast_type *read_item_type(struct parser *parser)
{
    struct sirix_ast_type *type = NULL;
    uint32_t flags = 0;

    if (parser_at(parser, SIRIX_TOKEN_PERCENT) && !parser_annotations(parser, &flags)) {
        return NULL;
    }
    if (parser_at(parser, SIRIX_TOKEN_OPEN)) {
        if (!parser_advance(parser)) {
            return NULL;
        }
        if (!parser_at(parser, SIRIX_TOKEN_CLOSE)) {
            type = parser_sequence_type(parser);
            return type != NULL && parser_expect(parser, SIRIX_TOKEN_CLOSE, "')'") ? type : NULL;
        }
    } else if (!parser_at_name(parser)) {
        return parser_fail_expected(parser, "a type");
    }
    type = parser_alloc(parser, 1, sizeof(*type));
    if (type == NULL) {
        return NULL;
    }
    type->line = parser->token.line;
    type->column = parser->token.column;
    if (parser_at(parser, SIRIX_TOKEN_CLOSE)) {
        type->kind = SIRIX_AST_TYPE_EMPTY;
        return parser_advance(parser) ? type : NULL;
    }
    return read_named_type(parser, type) ? type : NULL;
}

struct sirix_ast_type *parser_sequence_type(struct parser *parser)
{
    if (!parser_enter(parser)) {
        return NULL;
    }

    struct sirix_ast_type *type = read_item_type(parser);

    parser_leave(parser);
    if (type == NULL || type->kind == SIRIX_AST_TYPE_EMPTY) {
        return type;
    }
    if (parser_take(parser, SIRIX_TOKEN_QUESTION)) {
        type->occurrence = SIRIX_AST_OPTIONAL;
    } else if (parser_take(parser, SIRIX_TOKEN_STAR)) {
        type->occurrence = SIRIX_AST_ANY;
    } else if (parser_take(parser, SIRIX_TOKEN_PLUS)) {
        type->occurrence = SIRIX_AST_SOME_OF;
    }
    return parser->status == SIRIX_OK ? type : NULL;
}

struct sirix_ast_type *parser_single_type(struct parser *parser)
{
    struct sirix_ast_type *type = read_item_type(parser);

    if (type != NULL && parser_take(parser, SIRIX_TOKEN_QUESTION)) {
        type->occurrence = SIRIX_AST_OPTIONAL;
    }
    return parser->status == SIRIX_OK ? type : NULL;
}

bool parser_as(struct parser *parser, struct sirix_ast_type **out)
{
    if (parser_take_word(parser, "as")) {
        *out = parser_sequence_type(parser);
    }
    return parser->status == SIRIX_OK;
}

bool parser_parameters(struct parser *parser, struct sirix_ast_parameter **out, uint32_t *out_count)
{
    struct sirix_ast_parameter parameters[PARAMETERS_MAX];
    uint32_t count = 0;

    if (!parser_expect(parser, SIRIX_TOKEN_OPEN, "'('")) {
        return false;
    }
    if (parser_take(parser, SIRIX_TOKEN_CLOSE)) {
        return true;
    }
    do {
        if (count == PARAMETERS_MAX) {
            parser_fail_expected(parser, "255 parameters at most");
            return false;
        }

        struct sirix_ast_parameter *parameter = &parameters[count++];
        uint32_t line = parser->token.line;
        uint32_t column = parser->token.column;
        struct sirix_ast_name *name = parser_variable_name(parser);

        *parameter = (struct sirix_ast_parameter){.line = line, .column = column};
        if (name == NULL || !parser_as(parser, &parameter->type)) {
            return false;
        }
        parameter->name = *name;
    } while (parser_take(parser, SIRIX_TOKEN_COMMA));

    if (!parser_expect(parser, SIRIX_TOKEN_CLOSE, "',' or ')'")) {
        return false;
    }
    *out = parser_alloc(parser, count, sizeof(parameters[0]));
    if (*out == NULL) {
        return false;
    }
    memcpy(*out, parameters, count * sizeof(parameters[0]));
    *out_count = count;
    return true;
}
