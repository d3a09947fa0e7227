/* Expressions: one node of the tree, one node of the plan. */
#include <string.h>

#include "query/plan/builder.h"
#include "query/value/number.h"

/* --- Effects ---------------------------------------------------------------------------------- */

static bool is_updating(const struct sirix_plan *node)
{
    return (node->flags & SIRIX_PLAN_UPDATING) != 0 && (node->flags & BUILDER_EITHER) == 0;
}

static bool is_simple(const struct sirix_plan *node)
{
    return (node->flags & (SIRIX_PLAN_UPDATING | BUILDER_VACUOUS)) == 0;
}

/* Whether child number i of a node may update; else it has to give a value. */
static bool may_update(const struct sirix_plan *node, uint32_t i)
{
    switch ((enum sirix_plan_kind)node->kind) {
    case SIRIX_PLAN_SEQUENCE:
    case SIRIX_PLAN_BLOCK:
    case SIRIX_PLAN_TRY:
    case SIRIX_PLAN_CATCH:
    case SIRIX_PLAN_TYPE_CASE:
        return true;
    case SIRIX_PLAN_IF:
        return i % 2 == 1 || i + 1 == node->child_count;
    case SIRIX_PLAN_SWITCH:
    case SIRIX_PLAN_TYPESWITCH:
    case SIRIX_PLAN_WHILE:
        return i > 0;
    case SIRIX_PLAN_CASE:
    case SIRIX_PLAN_FLWOR:
        return i + 1 == node->child_count;
    case SIRIX_PLAN_COPY:
        return i + 2 == node->child_count;
    default:
        return false;
    }
}

/* Whether the node's parts have to be all updating or all simple. */
static bool is_either_way(const struct sirix_plan *node)
{
    return node->kind == SIRIX_PLAN_SEQUENCE || node->kind == SIRIX_PLAN_IF ||
           node->kind == SIRIX_PLAN_SWITCH || node->kind == SIRIX_PLAN_TYPESWITCH;
}

/* Whether child number i is evaluated in a focus of its own. */
static bool has_own_focus(const struct sirix_plan *node, uint32_t i)
{
    return i > 0 && (node->kind == SIRIX_PLAN_PREDICATE || node->kind == SIRIX_PLAN_FILTER ||
                     node->kind == SIRIX_PLAN_MAP);
}

static bool fail_misplaced(struct builder *builder, const struct sirix_plan *node,
                           const char *message)
{
    builder_fail(builder, node->line, node->column, "XUST0001", "%s", message);
    return false;
}

/* What the parts of a node do, those that may update. */
struct effects {
    const struct sirix_plan *updating;
    const struct sirix_plan *simple;
    bool is_vacuous;
    bool is_either;
};

static void add_effect(struct effects *effects, const struct sirix_plan *child)
{
    if (is_updating(child)) {
        effects->updating = child;
    }
    if (is_simple(child)) {
        effects->simple = child;
    }
    effects->is_vacuous = effects->is_vacuous && (child->flags & BUILDER_VACUOUS) != 0;
    effects->is_either = effects->is_either || (child->flags & BUILDER_EITHER) != 0;
}

/* Whether a node of nothing but vacuous parts is vacuous. */
static bool may_be_vacuous(const struct sirix_plan *node)
{
    return is_either_way(node) || node->kind == SIRIX_PLAN_CASE ||
           node->kind == SIRIX_PLAN_TYPE_CASE || node->kind == SIRIX_PLAN_FLWOR;
}

/* Updates of the parts are updates of the whole, where they may stand. */
static bool take_effects(struct builder *builder, struct sirix_plan *node)
{
    struct effects effects = {.is_vacuous = true,
                              .is_either =
                                  node->kind == SIRIX_PLAN_TRY || node->kind == SIRIX_PLAN_BLOCK};

    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct sirix_plan *child = node->children[i];

        if (child == NULL) {
            continue;
        }
        if (may_update(node, i)) {
            add_effect(&effects, child);
            node->flags |= child->flags & SIRIX_PLAN_UPDATING;
        } else if (is_updating(child)) {
            return fail_misplaced(builder, child, "an update cannot stand where a value is needed");
        }
    }
    if (is_either_way(node) && effects.updating != NULL && effects.simple != NULL) {
        return fail_misplaced(builder, effects.simple,
                              "this gives a value, but what stands beside it updates");
    }
    if ((node->flags & SIRIX_PLAN_UPDATING) != 0 && effects.is_either) {
        node->flags |= BUILDER_EITHER;
    }
    if (effects.is_vacuous && may_be_vacuous(node)) {
        node->flags |= BUILDER_VACUOUS;
    }
    return true;
}

struct sirix_plan *builder_finish(struct builder *builder, struct sirix_plan *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL && !has_own_focus(node, i)) {
            node->flags |= node->children[i]->flags & BUILDER_FOCUS;
        }
    }
    return take_effects(builder, node) ? node : NULL;
}

/* --- Ground ----------------------------------------------------------------------------------- */

bool builder_children(struct builder *builder, const struct sirix_ast *ast, struct sirix_plan *node)
{
    for (uint32_t i = 0; i < ast->child_count; i++) {
        node->children[i] = builder_build(builder, ast->children[i]);
        if (node->children[i] == NULL && ast->children[i] != NULL) {
            return false;
        }
    }
    return true;
}

struct sirix_plan *builder_plain(struct builder *builder, enum sirix_plan_kind kind,
                                 const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, kind, ast, ast->child_count);

    if (node == NULL || !builder_children(builder, ast, node)) {
        return NULL;
    }
    node->op = (uint8_t)ast->op;
    node->ops = ast->ops;
    return builder_finish(builder, node);
}

struct sirix_plan *builder_constant(struct builder *builder, const struct sirix_ast *ast,
                                    struct sirix_item item)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_CONSTANT, ast, 0);

    if (node != NULL) {
        node->item = item;
    }
    return node;
}

static struct sirix_plan *number(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_item item = {.kind = SIRIX_ITEM_NONE};

    builder->status = sirix_number_parse(builder->work, ast->text, false, &item, builder->err);
    if (builder->status != SIRIX_OK) {
        sirix_query_error_locate(builder->err, ast->line, ast->column);
        return NULL;
    }
    return builder_constant(builder, ast, item);
}

/* --- Values ----------------------------------------------------------------------------------- */

static struct sirix_plan *context(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_CONTEXT, ast, 0);

    if (node != NULL) {
        node->flags |= SIRIX_PLAN_USES_CONTEXT;
    }
    return node;
}

/* name: short for $$.name. */
static struct sirix_plan *bare_name(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_FIELD, ast, 2);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] = context(builder, ast);
    node->children[1] = builder_constant(builder, ast, sirix_item_string(ast->name->local));
    return node->children[0] == NULL || node->children[1] == NULL ? NULL
                                                                  : builder_finish(builder, node);
}

/* true, false and null: literals, unless an option says that they are names. */
static struct sirix_plan *word(struct builder *builder, const struct sirix_ast *ast)
{
    const char *text = sirix_ast_kind_name(ast->kind);
    struct sirix_ast_name name = {.local = {text, strlen(text)}};
    struct sirix_ast as_name = *ast;

    if (builder->has_literals) {
        return builder_constant(builder, ast,
                                ast->kind == SIRIX_AST_NULL
                                    ? sirix_item_null()
                                    : sirix_item_boolean(ast->kind == SIRIX_AST_TRUE));
    }
    as_name.name = &name;
    return bare_name(builder, &as_name);
}

/* a, b, exit returning e: what stands before the exit is returned with it. */
static struct sirix_plan *exit_with_all(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_plain(builder, SIRIX_PLAN_SEQUENCE, ast);
    struct sirix_plan *last = node == NULL ? NULL : node->children[node->child_count - 1];

    if (last == NULL) {
        return NULL;
    }
    node->children[node->child_count - 1] = last->children[0];
    last->children[0] = node;
    last->flags |= node->flags;
    return last;
}

static struct sirix_plan *sequence(struct builder *builder, const struct sirix_ast *ast)
{
    if (ast->child_count == 0) {
        struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_EMPTY, ast, 0);

        if (node != NULL) {
            node->flags |= BUILDER_VACUOUS;
        }
        return node;
    }
    if (ast->children[ast->child_count - 1]->kind == SIRIX_AST_EXIT) {
        return exit_with_all(builder, ast);
    }
    return builder_plain(builder, SIRIX_PLAN_SEQUENCE, ast);
}

/*
 * is, << and >> compare nodes of XML. There are none, so that only empty sequences can be given to them,
 * and that is what they give: a function whose parameters have the type of no item.
 */
static struct sirix_plan *compare_nodes(struct builder *builder, const struct sirix_ast *ast)
{
    static const struct sirix_sequence_type nodes[2] = {
        {.type = SIRIX_TYPE_ERROR, .occurrence = SIRIX_OCCURRENCE_OPTIONAL},
        {.type = SIRIX_TYPE_ERROR, .occurrence = SIRIX_OCCURRENCE_OPTIONAL},
    };
    const char *name = sirix_ast_op_name((enum sirix_ast_op)ast->op);
    struct sirix_plan *node = builder_plain(builder, SIRIX_PLAN_CALL_USER, ast);
    struct sirix_plan_function *function = builder_alloc(builder, 1, sizeof(*function));

    if (node == NULL || function == NULL) {
        return NULL;
    }
    *function = (struct sirix_plan_function){
        .name = {name, strlen(name)},
        .line = ast->line,
        .column = ast->column,
        .parameter_count = 2,
        .parameters = nodes,
        .result = {.type = SIRIX_TYPE_ITEM, .occurrence = SIRIX_OCCURRENCE_MANY},
        .slot_count = 2,
        .body = builder_node(builder, SIRIX_PLAN_EMPTY, ast, 0)};
    node->op = SIRIX_AST_OP_NONE;
    node->user = function;
    return function->body == NULL ? NULL : node;
}

static struct sirix_plan *compare(struct builder *builder, const struct sirix_ast *ast)
{
    if (ast->op >= SIRIX_AST_IS) {
        return compare_nodes(builder, ast);
    }

    bool is_general = ast->op >= SIRIX_AST_GENERAL_EQ && ast->op <= SIRIX_AST_GENERAL_GE;
    struct sirix_plan *node =
        builder_plain(builder, is_general ? SIRIX_PLAN_COMPARE_ANY : SIRIX_PLAN_COMPARE, ast);

    if (node != NULL && is_general) {
        node->op = (uint8_t)(ast->op - SIRIX_AST_GENERAL_EQ + SIRIX_AST_EQ);
    }
    return node;
}

static struct sirix_plan *typed(struct builder *builder, enum sirix_plan_kind kind,
                                const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_plain(builder, kind, ast);

    if (node == NULL) {
        return NULL;
    }
    node->typed = true;
    if (kind == SIRIX_PLAN_CAST_AS || kind == SIRIX_PLAN_CASTABLE_AS) {
        return builder_cast_type(builder, ast->type, &node->type) ? node : NULL;
    }
    return builder_type(builder, ast->type, &node->type) ? node : NULL;
}

/* --- Steps ------------------------------------------------------------------------------------ */

static struct sirix_plan *step(struct builder *builder, enum sirix_plan_kind kind,
                               const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_plain(builder, kind, ast);

    if (node != NULL && builder->jsoniq) {
        node->flags |= SIRIX_PLAN_JSONIQ;
    }
    if (node != NULL && kind == SIRIX_PLAN_MEMBER &&
        builder->module->dialect == SIRIX_SYNTAX_XQUERY) {
        node->flags |= SIRIX_PLAN_MEMBER_FROM_0;
    }
    return node;
}

/* ?key of the context has no base. */
static struct sirix_plan *lookup(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node =
        builder_node(builder, SIRIX_PLAN_LOOKUP, ast, ast->children[1] == NULL ? 1 : 2);

    if (node == NULL) {
        return NULL;
    }
    node->children[0] =
        ast->children[0] == NULL ? context(builder, ast) : builder_build(builder, ast->children[0]);
    if (node->children[0] == NULL) {
        return NULL;
    }
    if (ast->children[1] != NULL) {
        node->children[1] = builder_build(builder, ast->children[1]);
        if (node->children[1] == NULL) {
            return NULL;
        }
    }
    return builder_finish(builder, node);
}

/* A map, or an array of XQuery, holds sequences. */
static struct sirix_plan *container(struct builder *builder, enum sirix_plan_kind kind,
                                    const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_plain(builder, kind, ast);

    if (node != NULL && (ast->flags & SIRIX_AST_HOLDS_SEQUENCES) != 0) {
        node->flags |= SIRIX_PLAN_HOLDS_SEQUENCES;
    }
    return node;
}

/*
 * { e, ... } without a pair: objects are merged. Where they are no objects it is a block, and its value
 * theirs.
 */
static struct sirix_plan *object(struct builder *builder, const struct sirix_ast *ast)
{
    const struct builder_name hidden = {{NULL, 0}, {NULL, 0}};
    struct sirix_plan *nodes[6] = {NULL};
    static const struct sirix_sequence_type objects = {.type = SIRIX_TYPE_OBJECT,
                                                       .occurrence = SIRIX_OCCURRENCE_MANY};
    uint32_t slot = 0;

    for (uint32_t i = 0; i < ast->child_count; i++) {
        if (ast->children[i]->kind == SIRIX_AST_PAIR) {
            return container(builder, SIRIX_PLAN_OBJECT, ast);
        }
    }
    if (ast->child_count == 0) {
        return container(builder, SIRIX_PLAN_OBJECT, ast);
    }
    nodes[0] = builder_plain(builder, SIRIX_PLAN_SEQUENCE, ast);
    nodes[1] = builder_node(builder, SIRIX_PLAN_TYPESWITCH, ast, 3);
    nodes[2] = builder_node(builder, SIRIX_PLAN_TYPE_CASE, ast, 1);
    nodes[3] = builder_node(builder, SIRIX_PLAN_TYPE_CASE, ast, 1);
    nodes[4] = builder_node(builder, SIRIX_PLAN_OBJECT, ast, 1);
    nodes[5] = builder_node(builder, SIRIX_PLAN_VARIABLE, ast, 0);
    if (builder->status != SIRIX_OK || nodes[0] == NULL ||
        !builder_bind_name(builder, &hidden, ast->line, ast->column, false, &slot)) {
        return NULL;
    }
    nodes[2]->types = &objects;
    nodes[2]->list_count = 1;
    for (size_t i = 2; i < 6; i++) {
        nodes[i]->slot = i == 4 ? SIRIX_PLAN_NO_SLOT : slot;
    }
    nodes[4]->children[0] = nodes[5];
    nodes[2]->children[0] = nodes[4];
    nodes[3]->children[0] = nodes[5];
    memcpy(nodes[1]->children, (struct sirix_plan *[]){nodes[0], nodes[2], nodes[3]},
           3 * sizeof(struct sirix_plan *));
    return builder_finish(builder, nodes[1]);
}

static struct sirix_plan *dispatch_step(struct builder *builder, const struct sirix_ast *ast)
{
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_FIELD:
        return step(builder, SIRIX_PLAN_FIELD, ast);
    case SIRIX_AST_DESCENDANT:
        return step(builder, SIRIX_PLAN_DESCENDANT, ast);
    case SIRIX_AST_LOOKUP:
        return lookup(builder, ast);
    case SIRIX_AST_PREDICATE:
        /* [name] is never a position, whatever the field holds. */
        return step(builder,
                    ast->children[1]->kind == SIRIX_AST_NAME ? SIRIX_PLAN_FILTER
                                                             : SIRIX_PLAN_PREDICATE,
                    ast);
    case SIRIX_AST_FILTER:
        return step(builder, SIRIX_PLAN_FILTER, ast);
    case SIRIX_AST_MEMBER:
        return step(builder, SIRIX_PLAN_MEMBER, ast);
    case SIRIX_AST_SLICE:
        return step(builder, SIRIX_PLAN_SLICE, ast);
    case SIRIX_AST_UNBOX:
        return step(builder, SIRIX_PLAN_UNBOX, ast);
    case SIRIX_AST_PROJECT:
        return step(builder, SIRIX_PLAN_PROJECT, ast);
    case SIRIX_AST_DYNAMIC_CALL:
        return step(builder, SIRIX_PLAN_DYNAMIC_CALL, ast);
    case SIRIX_AST_OBJECT:
        return object(builder, ast);
    case SIRIX_AST_PAIR:
        return builder_plain(builder, SIRIX_PLAN_PAIR, ast);
    case SIRIX_AST_MERGE:
        return builder_plain(builder, SIRIX_PLAN_MERGE, ast);
    case SIRIX_AST_ARRAY:
        return container(builder, SIRIX_PLAN_ARRAY, ast);
    case SIRIX_AST_INSERT:
    case SIRIX_AST_APPEND:
    case SIRIX_AST_DELETE:
    case SIRIX_AST_REPLACE:
    case SIRIX_AST_RENAME:
        return builder_update(builder, ast);
    case SIRIX_AST_COPY:
        return builder_copy(builder, ast);
    default:
        return builder_statement(builder, ast);
    }
}

static struct sirix_plan *dispatch_operator(struct builder *builder, const struct sirix_ast *ast)
{
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_RANGE:
        return builder_plain(builder, SIRIX_PLAN_RANGE, ast);
    case SIRIX_AST_OR:
        return builder_plain(builder, SIRIX_PLAN_OR, ast);
    case SIRIX_AST_AND:
        return builder_plain(builder, SIRIX_PLAN_AND, ast);
    case SIRIX_AST_NOT:
        return builder_plain(builder, SIRIX_PLAN_NOT, ast);
    case SIRIX_AST_COMPARE:
        return compare(builder, ast);
    case SIRIX_AST_CONCAT:
        return builder_plain(builder, SIRIX_PLAN_CONCAT, ast);
    case SIRIX_AST_ADD:
    case SIRIX_AST_MULTIPLY:
        return builder_plain(builder, SIRIX_PLAN_ARITHMETIC, ast);
    case SIRIX_AST_UNARY:
        return builder_plain(builder, SIRIX_PLAN_UNARY, ast);
    case SIRIX_AST_UNION:
        return builder_plain(builder, SIRIX_PLAN_UNION, ast);
    case SIRIX_AST_INTERSECT:
        return builder_plain(builder, SIRIX_PLAN_INTERSECT, ast);
    case SIRIX_AST_INSTANCE_OF:
        return typed(builder, SIRIX_PLAN_INSTANCE_OF, ast);
    case SIRIX_AST_TREAT_AS:
        return typed(builder, SIRIX_PLAN_TREAT_AS, ast);
    case SIRIX_AST_CASTABLE_AS:
        return typed(builder, SIRIX_PLAN_CASTABLE_AS, ast);
    case SIRIX_AST_CAST_AS:
        return typed(builder, SIRIX_PLAN_CAST_AS, ast);
    case SIRIX_AST_MAP:
        return builder_plain(builder, SIRIX_PLAN_MAP, ast);
    default:
        return dispatch_step(builder, ast);
    }
}

static struct sirix_plan *dispatch(struct builder *builder, const struct sirix_ast *ast)
{
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_STRING:
        return builder_constant(builder, ast, sirix_item_string(ast->text));
    case SIRIX_AST_INTEGER:
    case SIRIX_AST_DECIMAL:
    case SIRIX_AST_DOUBLE:
        return number(builder, ast);
    case SIRIX_AST_TRUE:
    case SIRIX_AST_FALSE:
    case SIRIX_AST_NULL:
        return word(builder, ast);
    case SIRIX_AST_VARIABLE:
        return builder_variable(builder, ast);
    case SIRIX_AST_CONTEXT:
        return context(builder, ast);
    case SIRIX_AST_NAME:
        return bare_name(builder, ast);
    case SIRIX_AST_SEQUENCE:
        return sequence(builder, ast);
    case SIRIX_AST_IF:
        return builder_plain(builder, SIRIX_PLAN_IF, ast);
    case SIRIX_AST_SWITCH:
        return builder_plain(builder, SIRIX_PLAN_SWITCH, ast);
    case SIRIX_AST_CASE:
        return builder_plain(builder, SIRIX_PLAN_CASE, ast);
    case SIRIX_AST_TYPESWITCH:
        return builder_typeswitch(builder, ast);
    case SIRIX_AST_SOME:
    case SIRIX_AST_EVERY:
        return builder_quantified(builder, ast);
    case SIRIX_AST_TRY:
        return builder_try(builder, ast);
    case SIRIX_AST_FLWOR:
        return builder_flwor(builder, ast);
    case SIRIX_AST_CALL:
        return builder_call(builder, ast);
    case SIRIX_AST_PLACEHOLDER:
        return builder_node(builder, SIRIX_PLAN_PLACEHOLDER, ast, 0);
    case SIRIX_AST_FUNCTION_NAME:
        return builder_function_name(builder, ast);
    case SIRIX_AST_FUNCTION:
        return builder_inline(builder, ast);
    default:
        return dispatch_operator(builder, ast);
    }
}

/* Whether what the node binds is seen behind it: a statement that declares, or a list of them. */
static bool declares(const struct sirix_ast *ast)
{
    if (ast->kind == SIRIX_AST_DECLARE || ast->kind == SIRIX_AST_ASSIGN) {
        return true;
    }
    if (ast->kind != SIRIX_AST_SEQUENCE || ast->child_count == 0) {
        return false;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        if (ast->children[i]->kind != SIRIX_AST_DECLARE) {
            return false;
        }
    }
    return true;
}

struct sirix_plan *builder_build(struct builder *builder, const struct sirix_ast *ast)
{
    if (ast == NULL || builder->status != SIRIX_OK) {
        return NULL;
    }

    uint32_t bound = builder->binding_count;
    struct sirix_plan *node = dispatch(builder, ast);

    if (builder->status != SIRIX_OK) {
        return NULL;
    }
    if (!declares(ast)) {
        builder_unbind(builder, bound);
    }
    return node;
}
