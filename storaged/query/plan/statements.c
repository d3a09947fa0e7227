/* Updates, copies, and the statements of scripts. */
#include <string.h>

#include "query/plan/builder.h"

static struct sirix_plan *mark_updating(struct builder *builder, struct sirix_plan *node)
{
    if (node == NULL) {
        return NULL;
    }
    node->flags |= SIRIX_PLAN_UPDATING;
    if (builder->jsoniq) {
        node->flags |= SIRIX_PLAN_JSONIQ;
    }
    return node;
}

struct sirix_plan *builder_update(struct builder *builder, const struct sirix_ast *ast)
{
    enum sirix_plan_kind kind = SIRIX_PLAN_INSERT;

    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_APPEND:
        kind = SIRIX_PLAN_APPEND;
        break;
    case SIRIX_AST_DELETE:
        kind = SIRIX_PLAN_DELETE;
        break;
    case SIRIX_AST_REPLACE:
        kind = SIRIX_PLAN_REPLACE;
        break;
    case SIRIX_AST_RENAME:
        kind = SIRIX_PLAN_RENAME;
        break;
    default:
        break;
    }
    return mark_updating(builder, builder_plain(builder, kind, ast));
}

/* $x := e of a copy. */
static struct sirix_plan *copied(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *let = builder_node(builder, SIRIX_PLAN_LET, ast, 1);

    return let != NULL && builder_children(builder, ast, let) &&
                   builder_bind(builder, ast->name, ast->line, ast->column, false, &let->slot)
               ? builder_finish(builder, let)
               : NULL;
}

/* copy $x := e modify u return e: the updates end with it. */
struct sirix_plan *builder_copy(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_COPY, ast, ast->child_count);
    uint32_t let_count = ast->child_count - 2;

    if (node == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        const struct sirix_ast *child = ast->children[i];

        node->children[i] = i < let_count ? copied(builder, child) : builder_build(builder, child);
        if (node->children[i] == NULL) {
            return NULL;
        }
    }

    const struct sirix_plan *modify = node->children[let_count];

    if ((modify->flags & (SIRIX_PLAN_UPDATING | BUILDER_VACUOUS)) == 0) {
        return builder_fail(builder, modify->line, modify->column, "XUST0002",
                            "what stands behind modify has to update");
    }
    node = builder_finish(builder, node);
    if (node != NULL) {
        node->flags &= ~(uint32_t)(SIRIX_PLAN_UPDATING | BUILDER_EITHER | BUILDER_VACUOUS);
    }
    return node;
}

/* --- Statements ------------------------------------------------------------------------------- */

static struct sirix_plan *declare(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_DECLARE, ast, 1);

    if (node == NULL || !builder_children(builder, ast, node) ||
        !builder_set_type(builder, node, ast->type) ||
        !builder_bind(builder, ast->name, ast->line, ast->column, true, &node->slot)) {
        return NULL;
    }
    if (node->children[0] == NULL) {
        node->child_count = 0;
    }
    builder->bindings[builder->binding_count - 1].declared = node;
    return builder_finish(builder, node);
}

/* $x := e: a variable that is known, or a new one. */
static struct sirix_plan *assign(struct builder *builder, const struct sirix_ast *ast)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};

    if (!builder_expand(builder, ast->name, ast->line, ast->column, &name)) {
        return NULL;
    }

    const struct builder_binding *found = builder_find(builder, &name);

    if (found == NULL) {
        return declare(builder, ast);
    }
    if (!found->assignable ||
        (!found->is_global && found < builder->bindings + builder->frame->binding_base)) {
        char shown[160];

        return builder_fail(builder, ast->line, ast->column, "XSST0007",
                            "$%s cannot be assigned to: it is no variable of this script",
                            builder_show(ast->name, shown, sizeof(shown)));
    }

    const struct builder_binding binding = *found;
    struct sirix_plan *node = builder_plain(builder, SIRIX_PLAN_ASSIGN, ast);

    if (node == NULL) {
        return NULL;
    }
    node->slot = binding.slot;
    if (binding.is_global) {
        const struct sirix_plan_global *global = &builder->query->globals[binding.slot];

        node->flags |= SIRIX_PLAN_GLOBAL_SLOT;
        node->typed = global->typed;
        node->type = global->type;
    } else if (binding.declared != NULL) {
        node->typed = binding.declared->typed;
        node->type = binding.declared->type;
    }
    return node;
}

struct sirix_plan *builder_statement(struct builder *builder, const struct sirix_ast *ast)
{
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_BLOCK:
        return builder_plain(builder, SIRIX_PLAN_BLOCK, ast);
    case SIRIX_AST_DECLARE:
        return declare(builder, ast);
    case SIRIX_AST_ASSIGN:
        return assign(builder, ast);
    case SIRIX_AST_WHILE:
        return builder_plain(builder, SIRIX_PLAN_WHILE, ast);
    case SIRIX_AST_BREAK:
        return builder_node(builder, SIRIX_PLAN_BREAK, ast, 0);
    case SIRIX_AST_CONTINUE:
        return builder_node(builder, SIRIX_PLAN_CONTINUE, ast, 0);
    case SIRIX_AST_EXIT:
        return builder_plain(builder, SIRIX_PLAN_EXIT, ast);
    default:
        return builder_fail(builder, ast->line, ast->column, "XPST0003", "%s cannot stand here",
                            sirix_ast_kind_name(ast->kind));
    }
}
