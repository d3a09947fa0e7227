/* Types as the query writes them. */
#include <stdio.h>
#include <string.h>

#include "query/plan/builder.h"

/* Whether a name may be a type's: xs:, JSONiq's own (js:, jn:), or none. */
static bool is_type_uri(struct sirix_bytes uri, bool *out_xs)
{
    *out_xs = builder_bytes_are(uri, "http://www.w3.org/2001/XMLSchema");
    return *out_xs || uri.len == 0 || builder_bytes_are(uri, "http://jsoniq.org/types") ||
           builder_bytes_are(uri, "http://jsoniq.org/functions");
}

/* An atomic type by name; code is the error when there is none. */
static bool named_type(struct builder *builder, const struct sirix_ast_type *ast, const char *code,
                       enum sirix_type *out)
{
    char shown[160];
    struct sirix_bytes uri = {NULL, 0};
    bool is_xs = false;

    if (!builder_uri(builder, &ast->name, ast->line, ast->column, &uri)) {
        return false;
    }
    if (!is_type_uri(uri, &is_xs) || !sirix_type_find(ast->name.local, is_xs, out)) {
        builder_fail(builder, ast->line, ast->column, code, "there is no type %s",
                     builder_show(&ast->name, shown, sizeof(shown)));
        return false;
    }
    return true;
}

static enum sirix_occurrence occurrence(enum sirix_ast_occurrence ast)
{
    switch (ast) {
    case SIRIX_AST_OPTIONAL:
        return SIRIX_OCCURRENCE_OPTIONAL;
    case SIRIX_AST_ANY:
        return SIRIX_OCCURRENCE_MANY;
    case SIRIX_AST_SOME_OF:
        return SIRIX_OCCURRENCE_SOME;
    case SIRIX_AST_ONE:
        break;
    }
    return SIRIX_OCCURRENCE_ONE;
}

/* The type of an array's elements or an object's values. */
static bool member_type(struct builder *builder, const struct sirix_ast_type *ast,
                        struct sirix_sequence_type *out)
{
    struct sirix_sequence_type *member = NULL;

    if (ast->is_any) {
        return true;
    }
    member = builder_alloc(builder, 1, sizeof(*member));
    if (member == NULL || !builder_type(builder, ast->value, member)) {
        return false;
    }
    out->member = member;
    if (ast->key != NULL) {
        struct sirix_sequence_type key = {.type = SIRIX_TYPE_ITEM};

        if (!builder_type(builder, ast->key, &key)) {
            return false;
        }
        out->key = key.type;
    }
    return true;
}

static bool function_type(struct builder *builder, const struct sirix_ast_type *ast,
                          struct sirix_sequence_type *out)
{
    struct sirix_function_type *type = NULL;
    struct sirix_sequence_type *parameters = NULL;

    if (ast->is_any) {
        return true;
    }
    type = builder_alloc(builder, 1, sizeof(*type));
    parameters = builder_alloc(builder, ast->parameter_count, sizeof(parameters[0]));
    if (type == NULL || parameters == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < ast->parameter_count; i++) {
        if (!builder_type(builder, ast->parameters[i], &parameters[i])) {
            return false;
        }
    }
    type->arity = ast->parameter_count;
    type->parameters = parameters;
    out->function = type;
    return builder_type(builder, ast->value, &type->result);
}

bool builder_type(struct builder *builder, const struct sirix_ast_type *ast,
                  struct sirix_sequence_type *out)
{
    *out =
        (struct sirix_sequence_type){.type = SIRIX_TYPE_ITEM, .occurrence = SIRIX_OCCURRENCE_MANY};
    if (ast == NULL) {
        return true;
    }
    out->occurrence = occurrence(ast->occurrence);
    switch (ast->kind) {
    case SIRIX_AST_TYPE_EMPTY:
        out->occurrence = SIRIX_OCCURRENCE_NONE;
        return true;
    case SIRIX_AST_TYPE_ITEM:
        return true;
    case SIRIX_AST_TYPE_NAMED:
        return named_type(builder, ast, "XPST0051", &out->type);
    case SIRIX_AST_TYPE_JSON_ITEM:
    case SIRIX_AST_TYPE_STRUCTURED:
        out->type = SIRIX_TYPE_STRUCTURED;
        return true;
    case SIRIX_AST_TYPE_OBJECT:
        out->type = SIRIX_TYPE_OBJECT;
        return member_type(builder, ast, out);
    case SIRIX_AST_TYPE_ARRAY:
        out->type = SIRIX_TYPE_ARRAY;
        return member_type(builder, ast, out);
    case SIRIX_AST_TYPE_FUNCTION:
        out->type = SIRIX_TYPE_FUNCTION;
        return function_type(builder, ast, out);
    case SIRIX_AST_TYPE_NODE:
        /* The type that has no items. */
        out->type = SIRIX_TYPE_ERROR;
        return true;
    }
    return false;
}

bool builder_cast_type(struct builder *builder, const struct sirix_ast_type *ast,
                       struct sirix_sequence_type *out)
{
    *out = (struct sirix_sequence_type){.type = SIRIX_TYPE_ITEM,
                                        .occurrence = occurrence(ast->occurrence)};
    if (ast->kind != SIRIX_AST_TYPE_NAMED) {
        builder_fail(builder, ast->line, ast->column, "XPST0051",
                     "a cast needs the name of an atomic type");
        return false;
    }
    if (!named_type(builder, ast, "XQST0052", &out->type)) {
        return false;
    }
    if (out->type == SIRIX_TYPE_ATOMIC || out->type == SIRIX_TYPE_NOTATION) {
        builder_fail(builder, ast->line, ast->column, "XPST0080",
                     "nothing can be cast to %s: no value has that type itself",
                     sirix_type_name(out->type));
        return false;
    }
    if (!sirix_type_derives(out->type, SIRIX_TYPE_ATOMIC)) {
        builder_fail(builder, ast->line, ast->column, "XQST0052", "%s is no atomic type",
                     sirix_type_name(out->type));
        return false;
    }
    return true;
}

bool builder_set_type(struct builder *builder, struct sirix_plan *node,
                      const struct sirix_ast_type *ast)
{
    if (ast == NULL) {
        return true;
    }
    node->typed = true;
    return builder_type(builder, ast, &node->type);
}

bool builder_constructor_type(struct sirix_bytes local, enum sirix_type *out)
{
    return sirix_type_find(local, true, out) && *out != SIRIX_TYPE_ATOMIC &&
           *out != SIRIX_TYPE_NOTATION && sirix_type_derives(*out, SIRIX_TYPE_ATOMIC);
}
