/* See dump.h. */
#include "dump.h"

#include <assert.h>
#include <inttypes.h>

static void put(struct sirix_buf *to, const char *text)
{
    enum sirix_status status = sirix_buf_append_str(to, text, NULL);

    assert(status == SIRIX_OK);
}

static void put_bytes(struct sirix_buf *to, struct sirix_bytes bytes)
{
    enum sirix_status status = sirix_buf_append_bytes(to, bytes, NULL);

    assert(status == SIRIX_OK);
}

static void put_quoted(struct sirix_buf *to, struct sirix_bytes bytes)
{
    put(to, "\"");
    put_bytes(to, bytes);
    put(to, "\"");
}

static void put_name(struct sirix_buf *to, const struct sirix_ast_name *name)
{
    if (name->has_uri) {
        put(to, "Q{");
        put_bytes(to, name->uri);
        put(to, "}");
    } else if (name->prefix.len != 0 || name->any_uri) {
        put_bytes(to, name->prefix);
        put(to, name->any_uri ? "*:" : ":");
    }
    put_bytes(to, name->local);
    put(to, name->any_local ? "*" : "");
}

static void put_type(struct sirix_buf *to, const struct sirix_ast_type *type)
{
    static const char *const kinds[] = {"empty",  "item",  "",         "json-item", "structured",
                                        "object", "array", "function", "node"};
    static const char *const occurrences[] = {"", "?", "*", "+"};

    put(to, kinds[type->kind]);
    put_name(to, &type->name);
    if (!type->is_any && (type->value != NULL || type->parameter_count != 0)) {
        put(to, "(");
        for (uint32_t i = 0; i < type->parameter_count; i++) {
            put_type(to, type->parameters[i]);
            put(to, ",");
        }
        if (type->key != NULL) {
            put_type(to, type->key);
            put(to, ":");
        }
        put_type(to, type->value);
        put(to, ")");
    }
    put(to, occurrences[type->occurrence]);
}

static void put_flags(struct sirix_buf *to, uint32_t flags)
{
    static const char *const names[] = {"allowing-empty", "stable",  "descending", "empty-greatest",
                                        "empty-least",    "sliding", "only",       "updating",
                                        "external",       "private", "assignable"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if ((flags >> i & 1) != 0) {
            put(to, " ");
            put(to, names[i]);
        }
    }
}

static void put_variable(struct sirix_buf *to, const char *word, const struct sirix_ast_name *name)
{
    if (name != NULL) {
        put(to, word);
        put_name(to, name);
    }
}

static void put_parameters(struct sirix_buf *to, const struct sirix_ast_parameter *parameters,
                           uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        put_variable(to, " $", &parameters[i].name);
        if (parameters[i].type != NULL) {
            put(to, " as ");
            put_type(to, parameters[i].type);
        }
    }
}

static void put_more(struct sirix_buf *to, const struct sirix_ast_more *more)
{
    put_parameters(to, more->parameters, more->parameter_count);
    for (uint32_t i = 0; i < more->type_count; i++) {
        put(to, i == 0 ? " " : "|");
        put_type(to, more->types[i]);
    }
    for (uint32_t i = 0; i < more->name_count; i++) {
        put(to, i == 0 ? " " : "|");
        put_name(to, &more->names[i]);
    }
    put_variable(to, " at $", more->position);
    put_variable(to, " previous $", more->previous);
    put_variable(to, " next $", more->next);
}

/* Nodes that are one word. True when it was one. */
static bool put_short(struct sirix_buf *to, const struct sirix_ast *node)
{
    switch ((enum sirix_ast_kind)node->kind) {
    case SIRIX_AST_STRING:
        put_quoted(to, node->text);
        return true;
    case SIRIX_AST_INTEGER:
    case SIRIX_AST_DECIMAL:
    case SIRIX_AST_DOUBLE:
        put_bytes(to, node->text);
        return true;
    case SIRIX_AST_TRUE:
    case SIRIX_AST_FALSE:
    case SIRIX_AST_NULL:
        put(to, sirix_ast_kind_name((enum sirix_ast_kind)node->kind));
        return true;
    case SIRIX_AST_VARIABLE:
        put_variable(to, "$", node->name);
        return true;
    case SIRIX_AST_CONTEXT:
        put(to, "$$");
        return true;
    case SIRIX_AST_PLACEHOLDER:
        put(to, "?");
        return true;
    default:
        return false;
    }
}

static bool binds(const struct sirix_ast *node)
{
    return node->kind != SIRIX_AST_CALL && node->kind != SIRIX_AST_NAME &&
           node->kind != SIRIX_AST_FUNCTION_NAME;
}

void dump_ast(struct sirix_buf *to, const struct sirix_ast *node)
{
    if (node == NULL) {
        put(to, "_");
        return;
    }
    if (put_short(to, node)) {
        return;
    }
    put(to, "(");
    put(to, sirix_ast_kind_name((enum sirix_ast_kind)node->kind));
    if (node->op != SIRIX_AST_OP_NONE) {
        put(to, " ");
        put(to, sirix_ast_op_name((enum sirix_ast_op)node->op));
    }
    put_variable(to, binds(node) ? " $" : " ", node->name);
    if (node->kind == SIRIX_AST_FUNCTION_NAME) {
        enum sirix_status status = sirix_buf_printf(to, NULL, "#%" PRIu64, node->number);

        assert(status == SIRIX_OK);
    }
    if (node->more != NULL) {
        put_more(to, node->more);
    }
    if (node->type != NULL) {
        put(to, " as ");
        put_type(to, node->type);
    }
    put_flags(to, node->flags);
    if (node->text.len != 0) {
        put(to, " ");
        put_quoted(to, node->text);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->ops != NULL && i != 0) {
            put(to, " ");
            put(to, sirix_ast_op_name((enum sirix_ast_op)node->ops[i]));
        }
        put(to, " ");
        dump_ast(to, node->children[i]);
    }
    put(to, ")");
}

static void put_declaration(struct sirix_buf *to, const struct sirix_ast_declaration *declaration)
{
    static const char *const kinds[] = {
        "namespace", "default-function", "default-element", "option",  "collation", "order",
        "format",    "setter",           "variable",        "context", "function"};

    put(to, "(");
    put(to, kinds[declaration->kind]);
    put_variable(to, " ", declaration->name);
    if (declaration->prefix.len != 0) {
        put(to, " ");
        put_bytes(to, declaration->prefix);
    }
    if (declaration->uri.len != 0) {
        put(to, " ");
        put_quoted(to, declaration->uri);
    }
    if (declaration->text.len != 0) {
        put(to, " ");
        put_quoted(to, declaration->text);
    }
    put_parameters(to, declaration->parameters, declaration->parameter_count);
    if (declaration->type != NULL) {
        put(to, " as ");
        put_type(to, declaration->type);
    }
    put_flags(to, declaration->flags);
    for (uint32_t i = 0; i < declaration->property_count; i++) {
        put(to, " ");
        put_bytes(to, declaration->properties[i].name);
        put(to, "=");
        put_quoted(to, declaration->properties[i].value);
    }
    if (declaration->body != NULL) {
        put(to, " ");
        dump_ast(to, declaration->body);
    }
    put(to, ") ");
}

void dump_prolog(struct sirix_buf *to, const struct sirix_ast_module *module)
{
    for (uint32_t i = 0; i < module->declaration_count; i++) {
        put_declaration(to, &module->declarations[i]);
    }
}
