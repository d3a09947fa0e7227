/* What binds variables: FLWOR, quantifiers, typeswitch, catch. */
#include <string.h>

#include "query/plan/builder.h"

/* --- Bindings --------------------------------------------------------------------------------- */

/* Binds an optional variable of a node's place; NO_SLOT when there is none. */
static bool bind_optional(struct builder *builder, const struct sirix_ast *ast,
                          const struct sirix_ast_name *name, uint32_t *slot)
{
    return name == NULL || builder_bind(builder, name, ast->line, ast->column, false, slot);
}

/* Names of one clause, of which some may be NULL, have to differ. */
static bool check_different(struct builder *builder, const struct sirix_ast *ast,
                            const struct sirix_ast_name *const *names, size_t count,
                            const char *code)
{
    bool is_fine = true;

    for (size_t i = 0; i < count; i++) {
        for (size_t j = 0; j < i; j++) {
            is_fine = is_fine && (names[i] == NULL || names[j] == NULL ||
                                  !builder_same_text(names[i], names[j]));
        }
    }
    if (!is_fine) {
        builder_fail(builder, ast->line, ast->column, code,
                     "two variables of one clause have the same name");
    }
    return is_fine;
}

static struct sirix_plan *build_for(struct builder *builder, const struct sirix_ast *ast,
                                    uint32_t flags)
{
    const struct sirix_ast_name *position = ast->more == NULL ? NULL : ast->more->position;
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_FOR, ast, 1);

    if (node == NULL || !builder_children(builder, ast, node) ||
        !check_different(builder, ast, (const struct sirix_ast_name *[]){ast->name, position}, 2,
                         "XQST0089") ||
        !builder_set_type(builder, node, ast->type) ||
        !builder_bind(builder, ast->name, ast->line, ast->column, false, &node->slot) ||
        !bind_optional(builder, ast, position, &node->position_slot)) {
        return NULL;
    }
    node->flags |= flags;
    if ((ast->flags & SIRIX_AST_ALLOWING_EMPTY) != 0) {
        node->flags |= SIRIX_PLAN_ALLOWING_EMPTY;
    }
    return builder_finish(builder, node);
}

static struct sirix_plan *build_let(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_LET, ast, 1);

    if (node == NULL || !builder_children(builder, ast, node) ||
        !builder_set_type(builder, node, ast->type) ||
        !builder_bind(builder, ast->name, ast->line, ast->column, false, &node->slot)) {
        return NULL;
    }
    return builder_finish(builder, node);
}

/* --- Windows ---------------------------------------------------------------------------------- */

static struct sirix_plan *build_edge(struct builder *builder, const struct sirix_ast *ast)
{
    const struct sirix_ast_more *more = ast->more;
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_EDGE, ast, 1);

    if (node == NULL) {
        return NULL;
    }
    if (!bind_optional(builder, ast, ast->name, &node->slot) ||
        !bind_optional(builder, ast, more->position, &node->position_slot) ||
        !bind_optional(builder, ast, more->previous, &node->previous_slot) ||
        !bind_optional(builder, ast, more->next, &node->next_slot) ||
        !builder_children(builder, ast, node)) {
        return NULL;
    }
    if ((ast->flags & SIRIX_AST_ONLY) != 0) {
        node->flags |= SIRIX_PLAN_ONLY;
    }
    return builder_finish(builder, node);
}

/* The names of a window clause: its own, and those of its edges. */
static bool check_window(struct builder *builder, const struct sirix_ast *ast)
{
    const struct sirix_ast_name *names[9] = {ast->name};
    size_t count = 1;

    for (uint32_t i = 1; i < 3; i++) {
        const struct sirix_ast *edge = ast->children[i];

        if (edge != NULL) {
            names[count++] = edge->name;
            names[count++] = edge->more->position;
            names[count++] = edge->more->previous;
            names[count++] = edge->more->next;
        }
    }
    return check_different(builder, ast, names, count, "XQST0103");
}

static struct sirix_plan *build_window(struct builder *builder, const struct sirix_ast *ast)
{
    uint32_t child_count = ast->children[2] == NULL ? 2 : 3;
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_WINDOW, ast, child_count);

    if (node == NULL || !check_window(builder, ast)) {
        return NULL;
    }
    node->children[0] = builder_build(builder, ast->children[0]);
    if (node->children[0] == NULL || !builder_set_type(builder, node, ast->type)) {
        return NULL;
    }
    for (uint32_t i = 1; i < child_count; i++) {
        node->children[i] = build_edge(builder, ast->children[i]);
        if (node->children[i] == NULL) {
            return NULL;
        }
    }
    if (!builder_bind(builder, ast->name, ast->line, ast->column, false, &node->slot)) {
        return NULL;
    }
    if ((ast->flags & SIRIX_AST_SLIDING) != 0) {
        node->flags |= SIRIX_PLAN_SLIDING;
    }
    return builder_finish(builder, node);
}

/* --- group by, order by ----------------------------------------------------------------------- */

/* The slots of bindings that this FLWOR has made, from first on, that keys do not hold. */
static bool list_slots(struct builder *builder, struct sirix_plan *node, uint32_t first)
{
    uint32_t count = 0;
    uint32_t *slots = builder_alloc(builder, builder->binding_count - first, sizeof(slots[0]));

    if (slots == NULL) {
        return false;
    }
    for (uint32_t i = first; i < builder->binding_count; i++) {
        bool is_key = false;

        for (uint32_t k = 0; node->kind == SIRIX_PLAN_GROUP && k < node->child_count; k++) {
            is_key = is_key || node->children[k]->slot == builder->bindings[i].slot;
        }
        if (!is_key) {
            slots[count++] = builder->bindings[i].slot;
        }
    }
    node->slots = slots;
    node->list_count = count;
    return true;
}

static bool check_collation(struct builder *builder, const struct sirix_ast *ast, const char *code)
{
    if (ast->text.len == 0 ||
        builder_bytes_are(ast->text,
                          "http://www.w3.org/2005/xpath-functions/collation/codepoint")) {
        return true;
    }
    builder_fail(builder, ast->line, ast->column, code, "strings are compared by code point only");
    return false;
}

static struct sirix_plan *build_group_key(struct builder *builder, const struct sirix_ast *ast,
                                          uint32_t first)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};
    struct sirix_plan *node =
        builder_node(builder, SIRIX_PLAN_GROUP_KEY, ast, ast->children[0] == NULL ? 0 : 1);

    if (node == NULL || !builder_set_type(builder, node, ast->type) ||
        !check_collation(builder, ast, "XQST0076")) {
        return NULL;
    }
    if (ast->children[0] != NULL) {
        node->children[0] = builder_build(builder, ast->children[0]);
        return node->children[0] != NULL &&
                       builder_bind(builder, ast->name, ast->line, ast->column, false, &node->slot)
                   ? builder_finish(builder, node)
                   : NULL;
    }
    if (!builder_expand(builder, ast->name, ast->line, ast->column, &name)) {
        return NULL;
    }

    const struct builder_binding *binding = builder_find(builder, &name);

    if (binding == NULL || binding < builder->bindings + first) {
        char shown[160];

        return builder_fail(
            builder, ast->line, ast->column, "XQST0094",
            "$%s is no variable of this FLWOR expression: only those are grouped by",
            builder_show(ast->name, shown, sizeof(shown)));
    }
    node->slot = binding->slot;
    return node;
}

/*
 * $k := e is a variable, and then a key by its name: where a later key of the clause makes another one of
 * that name, that one is the key, and this one only a variable on the way to it.
 */
static bool is_hidden_key(const struct sirix_ast *ast, uint32_t i)
{
    const struct sirix_ast_name *name = ast->children[i]->name;

    for (uint32_t j = i + 1; j < ast->child_count; j++) {
        if (ast->children[j]->children[0] != NULL &&
            sirix_bytes_equal(ast->children[j]->name->local, name->local) &&
            sirix_bytes_equal(ast->children[j]->name->prefix, name->prefix)) {
            return true;
        }
    }
    return false;
}

/* Keys that are variables only: they go before the clause. */
static uint32_t count_hidden_keys(const struct sirix_ast *ast)
{
    uint32_t count = 0;

    for (uint32_t i = 0; ast->kind == SIRIX_AST_GROUP && i < ast->child_count; i++) {
        count += ast->children[i]->children[0] != NULL && is_hidden_key(ast, i) ? 1 : 0;
    }
    return count;
}

/* Puts the clause at lets[number of hidden keys], and those before it. */
static struct sirix_plan *build_group(struct builder *builder, const struct sirix_ast *ast,
                                      uint32_t first, struct sirix_plan **lets)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_GROUP, ast, ast->child_count);

    if (node == NULL) {
        return NULL;
    }
    node->child_count = 0;
    for (uint32_t i = 0; i < ast->child_count && builder->status == SIRIX_OK; i++) {
        if (!is_hidden_key(ast, i)) {
            node->children[node->child_count++] = build_group_key(builder, ast->children[i], first);
        } else if (ast->children[i]->children[0] != NULL) {
            *lets++ = build_let(builder, ast->children[i]);
        }
    }
    if (builder->status != SIRIX_OK) {
        return NULL;
    }
    return list_slots(builder, node, first) ? builder_finish(builder, node) : NULL;
}

static struct sirix_plan *build_order(struct builder *builder, const struct sirix_ast *ast,
                                      uint32_t first)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_ORDER, ast, ast->child_count);

    if (node == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        const struct sirix_ast *key_ast = ast->children[i];
        struct sirix_plan *key = builder_node(builder, SIRIX_PLAN_ORDER_KEY, key_ast, 1);

        if (key == NULL || !builder_children(builder, key_ast, key) ||
            !check_collation(builder, key_ast, "XQST0076")) {
            return NULL;
        }
        if ((key_ast->flags & SIRIX_AST_DESCENDING) != 0) {
            key->flags |= SIRIX_PLAN_DESCENDING;
        }
        if ((key_ast->flags & SIRIX_AST_EMPTY_GREATEST) != 0 ||
            ((key_ast->flags & SIRIX_AST_EMPTY_LEAST) == 0 && builder->empty_greatest)) {
            key->flags |= SIRIX_PLAN_EMPTY_GREATEST;
        }
        node->children[i] = builder_finish(builder, key);
        if (node->children[i] == NULL) {
            return NULL;
        }
    }
    return list_slots(builder, node, first) ? builder_finish(builder, node) : NULL;
}

/* --- FLWOR ------------------------------------------------------------------------------------ */

/* What a clause binds stays bound: clauses are not built through builder_build(). */
static struct sirix_plan *build_clause(struct builder *builder, const struct sirix_ast *ast,
                                       uint32_t first, struct sirix_plan **lets)
{
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_FOR:
        return build_for(builder, ast, builder->jsoniq ? 0 : SIRIX_PLAN_UNWRAP);
    case SIRIX_AST_LET:
        return build_let(builder, ast);
    case SIRIX_AST_WHERE:
        return builder_plain(builder, SIRIX_PLAN_WHERE, ast);
    case SIRIX_AST_GROUP:
        return build_group(builder, ast, first, lets);
    case SIRIX_AST_ORDER:
        return build_order(builder, ast, first);
    case SIRIX_AST_WINDOW:
        return build_window(builder, ast);
    case SIRIX_AST_COUNT: {
        struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_COUNT, ast, 0);

        return node != NULL &&
                       builder_bind(builder, ast->name, ast->line, ast->column, false, &node->slot)
                   ? node
                   : NULL;
    }
    default:
        return builder_build(builder, ast); /* The return. */
    }
}

struct sirix_plan *builder_flwor(struct builder *builder, const struct sirix_ast *ast)
{
    uint32_t first = builder->binding_count;
    uint32_t hidden = 0;
    uint32_t at = 0;

    for (uint32_t i = 0; i < ast->child_count; i++) {
        hidden += count_hidden_keys(ast->children[i]);
    }

    struct sirix_plan *node =
        builder_node(builder, SIRIX_PLAN_FLWOR, ast, ast->child_count + hidden);

    if (node == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        const struct sirix_ast *child = ast->children[i];
        struct sirix_plan **lets = node->children + at;
        struct sirix_plan *built = i + 1 == ast->child_count
                                       ? builder_build(builder, child)
                                       : build_clause(builder, child, first, lets);

        at += count_hidden_keys(child);
        node->children[at++] = built;
        if (built == NULL) {
            return NULL;
        }
    }
    return builder_finish(builder, node);
}

struct sirix_plan *builder_quantified(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node =
        builder_node(builder, ast->kind == SIRIX_AST_SOME ? SIRIX_PLAN_SOME : SIRIX_PLAN_EVERY, ast,
                     ast->child_count);

    if (node == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        node->children[i] = i + 1 == ast->child_count ? builder_build(builder, ast->children[i])
                                                      : build_for(builder, ast->children[i], 0);
        if (node->children[i] == NULL) {
            return NULL;
        }
    }
    return builder_finish(builder, node);
}

/* --- typeswitch, try -------------------------------------------------------------------------- */

/* Something and its arms: the first child is built as what it is, the others by build_arm(). */
static struct sirix_plan *
build_with_arms(struct builder *builder, enum sirix_plan_kind kind, const struct sirix_ast *ast,
                struct sirix_plan *(*build_arm)(struct builder *, const struct sirix_ast *))
{
    struct sirix_plan *node = builder_node(builder, kind, ast, ast->child_count);

    if (node == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        node->children[i] = i == 0 ? builder_build(builder, ast->children[0])
                                   : build_arm(builder, ast->children[i]);
        if (node->children[i] == NULL) {
            return NULL;
        }
    }
    return builder_finish(builder, node);
}

/* The body of an arm, which sees what was bound from `bound` on; nobody else does. */
static struct sirix_plan *finish_arm(struct builder *builder, const struct sirix_ast *ast,
                                     struct sirix_plan *node, uint32_t bound)
{
    node->children[0] = builder_build(builder, ast->children[0]);
    if (node->children[0] == NULL) {
        return NULL;
    }
    builder_unbind(builder, bound);
    return builder_finish(builder, node);
}

static struct sirix_plan *build_type_case(struct builder *builder, const struct sirix_ast *ast)
{
    uint32_t count = ast->more->type_count;
    uint32_t bound = builder->binding_count;
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_TYPE_CASE, ast, 1);
    struct sirix_sequence_type *types = builder_alloc(builder, count, sizeof(types[0]));

    if (node == NULL || types == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!builder_type(builder, ast->more->types[i], &types[i])) {
            return NULL;
        }
    }
    node->types = types;
    node->list_count = count;
    return bind_optional(builder, ast, ast->name, &node->slot)
               ? finish_arm(builder, ast, node, bound)
               : NULL;
}

struct sirix_plan *builder_typeswitch(struct builder *builder, const struct sirix_ast *ast)
{
    return build_with_arms(builder, SIRIX_PLAN_TYPESWITCH, ast, build_type_case);
}

static bool build_tests(struct builder *builder, const struct sirix_ast *ast,
                        struct sirix_plan *node)
{
    uint32_t count = ast->more->name_count;
    struct sirix_plan_catch *tests = builder_alloc(builder, count, sizeof(tests[0]));

    if (tests == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct sirix_ast_name *name = &ast->more->names[i];

        tests[i].any_uri = name->any_uri;
        tests[i].any_local = name->any_local;
        tests[i].local = name->local;
        if (!name->any_uri && !builder_uri(builder, name, ast->line, ast->column, &tests[i].uri)) {
            return false;
        }
        if (builder_bytes_are(tests[i].uri, "http://www.w3.org/2005/xqt-errors") ||
            builder_bytes_are(tests[i].uri, "http://jsoniq.org/errors")) {
            tests[i].uri = (struct sirix_bytes){NULL, 0};
        }
    }
    node->tests = tests;
    node->list_count = count;
    return true;
}

/* The six variables of $err:, one slot behind the other, and one that is always empty. */
static bool bind_error(struct builder *builder, const struct sirix_ast *ast, uint32_t *out)
{
    static const char *const names[] = {"code",        "description",   "value",     "module",
                                        "line-number", "column-number", "additional"};

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        struct builder_name name = {builder_err_uri, {names[i], strlen(names[i])}};
        uint32_t slot = 0;

        if (!builder_bind_name(builder, &name, ast->line, ast->column, false, &slot)) {
            return false;
        }
        if (i == 0) {
            *out = slot;
        }
    }
    return true;
}

static struct sirix_plan *build_catch(struct builder *builder, const struct sirix_ast *ast)
{
    uint32_t bound = builder->binding_count;
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_CATCH, ast, 1);

    if (node == NULL || !build_tests(builder, ast, node) ||
        !bind_error(builder, ast, &node->slot)) {
        return NULL;
    }
    return finish_arm(builder, ast, node, bound);
}

struct sirix_plan *builder_try(struct builder *builder, const struct sirix_ast *ast)
{
    return build_with_arms(builder, SIRIX_PLAN_TRY, ast, build_catch);
}
