/* Which function a name means; declared and inline functions. */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "query/plan/builder.h"
#include "query/syntax/lexer.h"

/* What a call is of; one of the first four is set. */
struct target {
    const struct sirix_function *library;
    bool is_explain; /* sdb:explain(): only the run can do it, so it is in no library. */
    struct sirix_plan_function *user;
    bool is_constructor;
    enum sirix_type type;
    enum sirix_function_ns ns; /* Where it was looked for. */
};

/* --- Functions of the query ------------------------------------------------------------------- */

/* The name that a function is declared and looked up by: without a prefix it is local. */
static bool function_name(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                          uint32_t column, struct builder_name *out)
{
    if (name->prefix.len == 0 && !name->has_uri) {
        out->uri = builder->function_uri.len != 0 ? builder->function_uri : builder_local_uri;
        out->local = name->local;
        return true;
    }
    return builder_expand(builder, name, line, column, out);
}

static const struct builder_function *find_user(const struct builder *builder,
                                                const struct builder_name *name, size_t arity)
{
    uint32_t at = builder->function_heads[builder_bucket(builder, name)];

    while (at != 0) {
        const struct builder_function *function = &builder->functions[at - 1];

        if (function->function->parameter_count == arity &&
            builder_same_name(&function->name, name)) {
            return function;
        }
        at = function->next;
    }
    return NULL;
}

/* Whether the body holds an update that is the function's own, and whether it gives a value too. */
static bool holds_update(const struct sirix_ast *ast)
{
    if (ast == NULL) {
        return false;
    }
    switch ((enum sirix_ast_kind)ast->kind) {
    case SIRIX_AST_INSERT:
    case SIRIX_AST_APPEND:
    case SIRIX_AST_DELETE:
    case SIRIX_AST_REPLACE:
    case SIRIX_AST_RENAME:
        return true;
    case SIRIX_AST_COPY:
    case SIRIX_AST_FUNCTION:
        return false;
    default:
        break;
    }
    for (uint32_t i = 0; i < ast->child_count; i++) {
        if (holds_update(ast->children[i])) {
            return true;
        }
    }
    return false;
}

static bool check_parameters(struct builder *builder, const struct sirix_ast_parameter *parameters,
                             uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        bool is_fine = true;

        for (uint32_t j = 0; j < i; j++) {
            is_fine = is_fine && !builder_same_text(&parameters[i].name, &parameters[j].name);
        }
        if (!is_fine) {
            builder_fail(builder, parameters[i].line, parameters[i].column, "XQST0039",
                         "two parameters have the same name");
            return false;
        }
    }
    return true;
}

/* Types of parameters and result. */
static bool set_signature(struct builder *builder, struct sirix_plan_function *function,
                          const struct sirix_ast_parameter *parameters, uint32_t count,
                          const struct sirix_ast_type *result)
{
    struct sirix_sequence_type *types = builder_alloc(builder, count, sizeof(types[0]));

    if (types == NULL || !check_parameters(builder, parameters, count)) {
        return false;
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!builder_type(builder, parameters[i].type, &types[i])) {
            return false;
        }
    }
    function->parameter_count = count;
    function->parameters = types;
    return builder_type(builder, result, &function->result);
}

static bool declare_function(struct builder *builder,
                             const struct sirix_ast_declaration *declaration)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};
    enum sirix_function_ns ns = SIRIX_NS_NONE;
    struct sirix_plan_function *function = builder_alloc(builder, 1, sizeof(*function));
    char shown[160];

    if (function == NULL ||
        !function_name(builder, declaration->name, declaration->line, declaration->column, &name)) {
        return false;
    }
    builder_show(declaration->name, shown, sizeof(shown));
    if ((sirix_function_ns_of_uri(name.uri, &ns) && ns != SIRIX_NS_NONE) ||
        builder_bytes_are(name.uri, "http://www.w3.org/XML/1998/namespace") ||
        builder_bytes_are(name.uri, "http://www.w3.org/2001/XMLSchema-instance")) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0045",
                     "the namespace of %s is not for functions of queries", shown);
        return false;
    }
    function->name = declaration->name->local;
    function->line = declaration->line;
    function->column = declaration->column;
    function->updating =
        (declaration->flags & SIRIX_AST_UPDATING) != 0 || holds_update(declaration->body);
    if (!set_signature(builder, function, declaration->parameters, declaration->parameter_count,
                       declaration->type)) {
        return false;
    }
    if (find_user(builder, &name, function->parameter_count) != NULL) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0034",
                     "%s is declared twice with %u parameters", shown, function->parameter_count);
        return false;
    }

    uint32_t bucket = builder_bucket(builder, &name);

    builder->functions[builder->function_count++] =
        (struct builder_function){.name = name,
                                  .next = builder->function_heads[bucket],
                                  .declaration = declaration,
                                  .function = function};
    builder->function_heads[bucket] = builder->function_count;
    return true;
}

bool builder_declare_functions(struct builder *builder)
{
    const struct sirix_ast_module *module = builder->module;
    uint32_t count = 0;

    for (uint32_t i = 0; i < module->declaration_count; i++) {
        count += module->declarations[i].kind == SIRIX_DECLARE_FUNCTION ? 1 : 0;
    }
    builder->functions = builder_alloc(builder, count, sizeof(builder->functions[0]));
    if (builder->functions == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < module->declaration_count; i++) {
        if (module->declarations[i].kind == SIRIX_DECLARE_FUNCTION &&
            !declare_function(builder, &module->declarations[i])) {
            return false;
        }
    }
    return true;
}

/* The body of a function whose frame is the current one. */
static bool build_body(struct builder *builder, struct sirix_plan_function *function,
                       const struct sirix_ast_parameter *parameters, const struct sirix_ast *body)
{
    struct builder_frame *frame = builder->frame;

    for (uint32_t i = 0; i < function->parameter_count; i++) {
        struct builder_name name = {{NULL, 0}, {NULL, 0}};
        uint32_t slot = 0;

        if (!builder_expand(builder, &parameters[i].name, parameters[i].line, parameters[i].column,
                            &name) ||
            !builder_bind_name(builder, &name, parameters[i].line, parameters[i].column, true,
                               &slot)) {
            return false;
        }
        /* Its slot is its number, not one of the frame's own. */
        builder->bindings[builder->binding_count - 1].slot = i;
        frame->local_count = 0;
    }
    function->body = builder_build(builder, body);
    return function->body != NULL;
}

/* A function updates if it says so; blocks of statements may always do it. */
static bool check_effects(struct builder *builder, const struct sirix_ast_declaration *declaration,
                          struct sirix_plan_function *function)
{
    const bool declared = (declaration->flags & SIRIX_AST_UPDATING) != 0;
    const uint32_t flags = function->body->flags;
    const bool updates = (flags & SIRIX_PLAN_UPDATING) != 0;

    if (updates && (flags & BUILDER_EITHER) == 0 && !declared &&
        function->body->kind != SIRIX_PLAN_BLOCK) {
        builder_fail(builder, declaration->line, declaration->column, "XUST0001",
                     "the function updates: say declare updating function");
        return false;
    }
    if (declared && !updates && (flags & BUILDER_VACUOUS) == 0) {
        builder_fail(builder, declaration->line, declaration->column, "XUST0002",
                     "an updating function has to update, this one gives a value");
        return false;
    }
    function->updating = function->updating || updates;
    return true;
}

bool builder_build_functions(struct builder *builder)
{
    struct sirix_plan_query *query = builder->query;

    query->functions =
        builder_alloc(builder, builder->function_count, sizeof(struct sirix_plan_function *));
    if (query->functions == NULL) {
        return false;
    }
    query->function_count = builder->function_count;
    for (uint32_t i = 0; i < builder->function_count; i++) {
        const struct sirix_ast_declaration *declaration = builder->functions[i].declaration;
        struct sirix_plan_function *function = builder->functions[i].function;
        struct builder_frame frame;

        query->functions[i] = function;
        builder_frame_open(builder, &frame, false, function->parameter_count);
        if (!build_body(builder, function, declaration->parameters, declaration->body)) {
            return false;
        }
        function->slot_count = builder_frame_close(builder, function->body);
        if (!check_effects(builder, declaration, function)) {
            return false;
        }
    }
    return true;
}

struct sirix_plan *builder_inline(struct builder *builder, const struct sirix_ast *ast)
{
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_CLOSURE, ast, 0);
    struct sirix_plan_function *function = builder_alloc(builder, 1, sizeof(*function));
    struct builder_frame *frame = builder_alloc(builder, 1, sizeof(*frame));

    if (node == NULL || function == NULL || frame == NULL) {
        return NULL;
    }
    if (builder->inline_count++ >= SIRIX_PLAN_FUNCTIONS_MAX) {
        return builder_fail_limit(builder, ast->line, ast->column, "query.functions",
                                  "the number of inline functions", SIRIX_PLAN_FUNCTIONS_MAX);
    }
    function->line = ast->line;
    function->column = ast->column;
    if (!set_signature(builder, function, ast->more->parameters, ast->more->parameter_count,
                       ast->type)) {
        return NULL;
    }
    builder_frame_open(builder, frame, true, function->parameter_count);
    if (!build_body(builder, function, ast->more->parameters, ast->children[0])) {
        return NULL;
    }
    function->slot_count = builder_frame_close(builder, function->body);
    function->updating = (function->body->flags & SIRIX_PLAN_UPDATING) != 0;
    if (frame->capture_count != 0) {
        uint32_t *captures = builder_alloc(builder, frame->capture_count, sizeof(captures[0]));

        if (captures == NULL) {
            return NULL;
        }
        memcpy(captures, frame->captures, frame->capture_count * sizeof(captures[0]));
        function->captures = captures;
        function->capture_count = frame->capture_count;
    }
    node->user = function;
    return node;
}

/* --- Finding ---------------------------------------------------------------------------------- */

/* Names of declared functions that are nearly this one. */
static bool nearest_user(const struct builder *builder, struct sirix_bytes local, char *to,
                         size_t to_bytes)
{
    enum { CANDIDATES_MAX = 1000 };
    size_t best = SIZE_MAX;

    for (uint32_t i = 0; i < builder->function_count && i < CANDIDATES_MAX; i++) {
        size_t distance = builder_distance(builder->functions[i].name.local, local);

        if (distance < best) {
            best = distance;
            builder_show(builder->functions[i].declaration->name, to, to_bytes);
        }
    }
    return best != SIZE_MAX;
}

static void fail_unknown(struct builder *builder, const struct sirix_ast *ast,
                         const struct target *target, size_t arity)
{
    char shown[160];
    char nearest[SIRIX_QUERY_SUGGESTION_BYTES];
    size_t min = 0;
    size_t max = 0;

    builder_show(ast->name, shown, sizeof(shown));
    if (sirix_function_arities(builder->library, target->ns, ast->name->local, &min, &max)) {
        if (min == max) {
            builder_fail(builder, ast->line, ast->column, "XPST0017",
                         "%s takes %zu argument%s, not %zu", shown, min, min == 1 ? "" : "s",
                         arity);
        } else {
            builder_fail(builder, ast->line, ast->column, "XPST0017",
                         "%s takes %zu to %zu arguments, not %zu", shown, min, max, arity);
        }
        return;
    }
    builder_fail(builder, ast->line, ast->column, "XPST0017",
                 "there is no function %s with %zu argument%s", shown, arity,
                 arity == 1 ? "" : "s");
    if (nearest_user(builder, ast->name->local, nearest, sizeof(nearest)) ||
        sirix_function_nearest(builder->library, target->ns, ast->name->local, nearest,
                               sizeof(nearest))) {
        sirix_query_error_suggest(builder->err, nearest);
    }
}

/* Looks in the library, and among the constructors of types. */
static bool find_library(struct builder *builder, const struct sirix_ast_name *name, size_t arity,
                         struct target *out)
{
    out->library = sirix_function_find(builder->library, out->ns, name->local, arity);
    if (out->library != NULL && out->library->ns == SIRIX_NS_XS) {
        out->library = NULL;
    }
    if (out->library == NULL && arity == 1 &&
        (out->ns == SIRIX_NS_XS || out->ns == SIRIX_NS_NONE)) {
        out->is_constructor = builder_constructor_type(name->local, &out->type);
    }
    return out->library != NULL || out->is_constructor;
}

static bool find_function(struct builder *builder, const struct sirix_ast *ast, size_t arity,
                          struct target *out)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};
    bool is_plain = ast->name->prefix.len == 0 && !ast->name->has_uri;

    *out = (struct target){.ns = SIRIX_NS_NONE};
    if (!function_name(builder, ast->name, ast->line, ast->column, &name)) {
        return false;
    }

    const struct builder_function *user = find_user(builder, &name, arity);

    /* Without a prefix the library comes before what was declared with one: local:sum hides no sum. */
    if (user != NULL && is_plain && builder->function_uri.len == 0 &&
        (user->declaration->name->prefix.len != 0 || user->declaration->name->has_uri) &&
        find_library(builder, ast->name, arity, out)) {
        return true;
    }
    if (user != NULL) {
        out->user = user->function;
        return true;
    }
    if ((is_plain || sirix_function_ns_of_uri(name.uri, &out->ns)) &&
        find_library(builder, ast->name, arity, out)) {
        return true;
    }
    out->is_explain = out->ns == SIRIX_NS_SDB && ast->kind == SIRIX_AST_CALL &&
                      (arity == 1 || arity == 2) && builder_bytes_are(name.local, "explain");
    if (out->is_explain) {
        return true;
    }
    if (!is_plain && out->ns == SIRIX_NS_NONE) {
        out->ns = SIRIX_NS_ERR; /* None of the library's: nothing is there. */
    }
    fail_unknown(builder, ast, out, arity);
    return false;
}

/* --- Calls ------------------------------------------------------------------------------------ */

static enum sirix_plan_special special_of(const struct sirix_function *function, size_t arity)
{
    struct sirix_bytes name = {function->name, strlen(function->name)};

    if (function->ns != SIRIX_NS_FN || arity != 0) {
        return SIRIX_SPECIAL_NONE;
    }
    if (builder_bytes_are(name, "position")) {
        return SIRIX_SPECIAL_POSITION;
    }
    return builder_bytes_are(name, "last") ? SIRIX_SPECIAL_LAST : SIRIX_SPECIAL_NONE;
}

/* What a call of the library asks of the focus. */
static uint32_t focus_flags(const struct sirix_function *function, size_t arity)
{
    if ((function->flags & SIRIX_FUNCTION_NEEDS_FOCUS) == 0 ||
        (arity != 0 && function->min_arity != function->max_arity)) {
        return 0;
    }
    switch (special_of(function, arity)) {
    case SIRIX_SPECIAL_POSITION:
        return SIRIX_PLAN_USES_POSITION;
    case SIRIX_SPECIAL_LAST:
        return SIRIX_PLAN_USES_LAST;
    default:
        return SIRIX_PLAN_USES_CONTEXT;
    }
}

static void set_target(struct sirix_plan *node, const struct target *target, size_t arity)
{
    if (target->user != NULL) {
        node->user = target->user;
    } else if (target->is_explain) {
        node->special = SIRIX_SPECIAL_EXPLAIN;
    } else if (target->is_constructor) {
        node->typed = true;
        node->type = (struct sirix_sequence_type){.type = target->type,
                                                  .occurrence = SIRIX_OCCURRENCE_OPTIONAL};
    } else {
        assert(target->library != NULL);
        node->function = target->library;
        node->flags |= focus_flags(target->library, arity);
    }
}

/* The kind of a call that gives all its arguments. */
static enum sirix_plan_kind call_kind(const struct target *target, size_t arity)
{
    if (target->user != NULL) {
        return SIRIX_PLAN_CALL_USER;
    }
    if (target->is_constructor) {
        return SIRIX_PLAN_CALL_CAST;
    }
    if (target->is_explain) {
        return SIRIX_PLAN_CALL_SPECIAL;
    }
    assert(target->library != NULL);
    return special_of(target->library, arity) != SIRIX_SPECIAL_NONE ? SIRIX_PLAN_CALL_SPECIAL
                                                                    : SIRIX_PLAN_CALL;
}

static bool has_placeholder(const struct sirix_ast *ast)
{
    for (uint32_t i = 0; i < ast->child_count; i++) {
        if (ast->children[i]->kind == SIRIX_AST_PLACEHOLDER) {
            return true;
        }
    }
    return false;
}

/* xs:QName("p:local"): the prefixes of the query are known only here. */
static struct sirix_plan *qname_literal(struct builder *builder, const struct sirix_ast *ast)
{
    const struct sirix_bytes text = ast->children[0]->text;
    const char *bytes = text.data;
    const char *colon = text.len == 0 ? NULL : memchr(bytes, ':', text.len);
    struct sirix_ast_name name = {.local = text};
    struct sirix_qname *qname = builder_alloc(builder, 1, sizeof(*qname));
    struct sirix_item item = {.kind = SIRIX_ITEM_QNAME, .type = SIRIX_TYPE_QNAME};

    if (colon != NULL) {
        name.prefix = (struct sirix_bytes){bytes, (size_t)(colon - bytes)};
        name.local = (struct sirix_bytes){colon + 1, text.len - name.prefix.len - 1};
    }
    if (qname == NULL || !builder_uri(builder, &name, ast->line, ast->column, &qname->uri)) {
        return NULL;
    }
    qname->prefix = name.prefix;
    qname->local = name.local;
    item.value.qname = qname;
    return builder_constant(builder, ast, item);
}

/* Whether a call is of xs:QName with a literal that is a name. */
static bool is_qname_literal(const struct builder *builder, const struct target *target,
                             const struct sirix_ast *ast)
{
    struct sirix_bytes text =
        ast->child_count == 1 ? ast->children[0]->text : (struct sirix_bytes){NULL, 0};
    const char *bytes = text.data;
    const char *colon = text.len == 0 ? NULL : memchr(bytes, ':', text.len);
    const size_t first = colon == NULL ? 0 : (size_t)(colon - bytes) + 1;

    return target->is_constructor && target->type == SIRIX_TYPE_QNAME && ast->child_count == 1 &&
           ast->children[0]->kind == SIRIX_AST_STRING &&
           (colon == NULL ||
            builder_has_prefix(builder, (struct sirix_bytes){bytes, (size_t)(colon - bytes)})) &&
           (colon == NULL || sirix_lexer_is_name((struct sirix_bytes){bytes, first - 1})) &&
           sirix_lexer_is_name((struct sirix_bytes){bytes + first, text.len - first});
}

struct sirix_plan *builder_call(struct builder *builder, const struct sirix_ast *ast)
{
    struct target target = {.ns = SIRIX_NS_NONE};
    bool is_partial = has_placeholder(ast);

    if (!find_function(builder, ast, ast->child_count, &target)) {
        return NULL;
    }
    if (is_partial && target.is_explain) {
        return builder_fail(builder, ast->line, ast->column, "XPST0017",
                            "sdb:explain is no function item: it is given all its arguments");
    }
    if (is_qname_literal(builder, &target, ast)) {
        return qname_literal(builder, ast);
    }

    struct sirix_plan *node = builder_node(
        builder, is_partial ? SIRIX_PLAN_PARTIAL : call_kind(&target, ast->child_count), ast,
        ast->child_count);

    if (node == NULL || !builder_children(builder, ast, node)) {
        return NULL;
    }
    set_target(node, &target, ast->child_count);
    node->number = ast->child_count;
    if (target.library != NULL) {
        node->special = (uint8_t)special_of(target.library, ast->child_count);
    }
    node = builder_finish(builder, node);
    if (node == NULL || is_partial) {
        return node;
    }
    if (target.user != NULL && target.user->updating) {
        node->flags |= SIRIX_PLAN_UPDATING;
        if (target.user->result.occurrence != SIRIX_OCCURRENCE_MANY || target.user->body == NULL ||
            target.user->body->kind == SIRIX_PLAN_BLOCK) {
            node->flags |= BUILDER_EITHER;
        }
    }
    if (target.library != NULL && target.library->ns == SIRIX_NS_FN &&
        strcmp(target.library->name, "error") == 0) {
        node->flags |= BUILDER_VACUOUS;
    }
    return node;
}

struct sirix_plan *builder_function_name(struct builder *builder, const struct sirix_ast *ast)
{
    struct target target = {.ns = SIRIX_NS_NONE};
    struct sirix_plan *node = builder_node(builder, SIRIX_PLAN_FUNCTION_ITEM, ast, 0);

    if (node == NULL || !find_function(builder, ast, ast->number, &target)) {
        return NULL;
    }
    set_target(node, &target, ast->number);
    node->number = ast->number;
    return node;
}
