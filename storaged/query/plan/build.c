/* The builder's door, its ground, and the prolog. */
#include "query/plan/build.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "query/plan/builder.h"

/* --- Ground ----------------------------------------------------------------------------------- */

void *builder_alloc(struct builder *builder, size_t count, size_t size)
{
    void *memory = NULL;

    if (builder->status == SIRIX_OK) {
        builder->status =
            sirix_arena_calloc(builder->arena, count, size, &memory, &builder->err->base);
    }
    return builder->status == SIRIX_OK ? memory : NULL;
}

void *builder_fail(struct builder *builder, uint32_t line, uint32_t column, const char *code,
                   const char *fmt, ...)
{
    char text[SIRIX_ERROR_TEXT_BYTES];
    va_list args;

    if (builder->status == SIRIX_OK) {
        va_start(args, fmt);
        (void)vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        builder->status = sirix_query_fail_at(builder->err, line, column, code, "%s", text);
    }
    return NULL;
}

void *builder_fail_limit(struct builder *builder, uint32_t line, uint32_t column, const char *name,
                         const char *what, int limit)
{
    if (builder->status == SIRIX_OK) {
        builder->status =
            sirix_query_fail_limit(builder->err, name, "%s is more than %d", what, limit);
        sirix_query_error_locate(builder->err, line, column);
    }
    return NULL;
}

struct sirix_plan *builder_node(struct builder *builder, enum sirix_plan_kind kind,
                                const struct sirix_ast *ast, uint32_t child_count)
{
    struct sirix_plan *node = builder_alloc(builder, 1, sizeof(*node));

    if (node == NULL) {
        return NULL;
    }
    node->kind = (uint16_t)kind;
    node->line = ast->line;
    node->column = ast->column;
    node->slot = SIRIX_PLAN_NO_SLOT;
    node->position_slot = SIRIX_PLAN_NO_SLOT;
    node->previous_slot = SIRIX_PLAN_NO_SLOT;
    node->next_slot = SIRIX_PLAN_NO_SLOT;
    node->child_count = child_count;
    if (child_count != 0) {
        node->children = builder_alloc(builder, child_count, sizeof(struct sirix_plan *));
    }
    return builder->status == SIRIX_OK ? node : NULL;
}

/* --- Namespaces and settings ------------------------------------------------------------------ */

/* Namespaces of modules that are always there; others cannot be imported. */
static bool is_known_module(struct sirix_bytes uri)
{
    enum sirix_function_ns ns = SIRIX_NS_NONE;

    return sirix_function_ns_of_uri(uri, &ns);
}

static bool declare_namespace(struct builder *builder,
                              const struct sirix_ast_declaration *declaration)
{
    bool is_import = (declaration->flags & SIRIX_AST_EXTERNAL) != 0;

    if (is_import && declaration->uri.len == 0) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0088",
                     "a module has a namespace");
        return false;
    }
    if (is_import && !is_known_module(declaration->uri)) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0059",
                     "there is no module %.*s",
                     (int)(declaration->uri.len < 200 ? declaration->uri.len : 200),
                     declaration->uri.len == 0 ? "" : (const char *)declaration->uri.data);
        return false;
    }
    if (declaration->prefix.len == 0) {
        return true;
    }
    if (builder_bytes_are(declaration->prefix, "xml") ||
        builder_bytes_are(declaration->prefix, "xmlns") ||
        builder_bytes_are(declaration->uri, "http://www.w3.org/XML/1998/namespace") ||
        builder_bytes_are(declaration->uri, "http://www.w3.org/2000/xmlns/")) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0070",
                     "xml and xmlns cannot be declared");
        return false;
    }
    for (uint32_t i = 0; i < builder->namespace_count; i++) {
        if (sirix_bytes_equal(builder->namespaces[i].prefix, declaration->prefix)) {
            builder_fail(builder, declaration->line, declaration->column, "XQST0033",
                         "the prefix %.*s is declared twice",
                         (int)(declaration->prefix.len < 60 ? declaration->prefix.len : 60),
                         (const char *)declaration->prefix.data);
            return false;
        }
    }
    return builder_add_namespace(builder, declaration->prefix, declaration->uri);
}

static bool is_no(struct sirix_bytes text)
{
    return builder_bytes_are(text, "no") || builder_bytes_are(text, "false");
}

/* The option that makes true, false and null names. */
static bool set_option(struct builder *builder, const struct sirix_ast_declaration *declaration)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};

    if (!builder_expand(builder, declaration->name, declaration->line, declaration->column,
                        &name)) {
        return false;
    }
    if (builder_bytes_are(name.local, "jsoniq-boolean-and-null-literals") &&
        is_no(declaration->text)) {
        builder->has_literals = false;
    }
    return true;
}

static const char *setter_code(struct sirix_bytes name)
{
    static const struct {
        const char *name;
        const char *code;
    } setters[] = {
        {"boundary-space", "XQST0068"}, {"base-uri", "XQST0032"},
        {"construction", "XQST0067"},   {"ordering", "XQST0065"},
        {"revalidation", "XUST0003"},   {"copy-namespaces", "XQST0055"},
    };

    for (size_t i = 0; i < sizeof(setters) / sizeof(setters[0]); i++) {
        if (builder_bytes_are(name, setters[i].name)) {
            return setters[i].code;
        }
    }
    return NULL;
}

/* The error of what is declared twice and may be only once; NULL: it may. */
static const char *once_code(const struct sirix_ast_declaration *declaration)
{
    switch (declaration->kind) {
    case SIRIX_DECLARE_DEFAULT_FUNCTION:
    case SIRIX_DECLARE_DEFAULT_ELEMENT:
        return "XQST0066";
    case SIRIX_DECLARE_COLLATION:
        return "XQST0038";
    case SIRIX_DECLARE_EMPTY_ORDER:
        return "XQST0069";
    case SIRIX_DECLARE_CONTEXT:
        return "XQST0099";
    case SIRIX_DECLARE_SETTER:
        return setter_code(declaration->uri);
    default:
        return NULL;
    }
}

/* Whether two declarations are of the same thing. */
static bool is_same_setting(const struct sirix_ast_declaration *a,
                            const struct sirix_ast_declaration *b)
{
    return a->kind == b->kind &&
           (a->kind != SIRIX_DECLARE_SETTER || sirix_bytes_equal(a->uri, b->uri));
}

static bool check_once(struct builder *builder)
{
    const struct sirix_ast_module *module = builder->module;
    /* There are fewer kinds that this looks at than one list of them holds. */
    const struct sirix_ast_declaration *seen[16];
    uint32_t count = 0;
    bool is_fine = true;

    for (uint32_t i = 0; i < module->declaration_count; i++) {
        const struct sirix_ast_declaration *declaration = &module->declarations[i];
        const char *code = once_code(declaration);

        for (uint32_t j = 0; code != NULL && j < count; j++) {
            is_fine = is_fine && !is_same_setting(seen[j], declaration);
        }
        if (!is_fine) {
            builder_fail(builder, declaration->line, declaration->column, code,
                         "this is declared twice");
            return false;
        }
        if (code != NULL && count < sizeof(seen) / sizeof(seen[0])) {
            seen[count++] = declaration;
        }
    }
    return true;
}

static bool apply_setting(struct builder *builder, const struct sirix_ast_declaration *declaration)
{
    switch (declaration->kind) {
    case SIRIX_DECLARE_NAMESPACE:
        return declare_namespace(builder, declaration);
    case SIRIX_DECLARE_DEFAULT_FUNCTION:
        builder->function_uri = declaration->uri;
        return true;
    case SIRIX_DECLARE_OPTION:
        return set_option(builder, declaration);
    case SIRIX_DECLARE_EMPTY_ORDER:
        builder->empty_greatest = (declaration->flags & SIRIX_AST_EMPTY_GREATEST) != 0;
        return true;
    case SIRIX_DECLARE_COLLATION:
        if (!builder_bytes_are(declaration->uri,
                               "http://www.w3.org/2005/xpath-functions/collation/codepoint")) {
            builder_fail(builder, declaration->line, declaration->column, "XQST0038",
                         "strings are compared by code point only");
            return false;
        }
        return true;
    default:
        return true;
    }
}

/* --- Globals ---------------------------------------------------------------------------------- */

/* A body in a frame of its own. */
static struct sirix_plan *build_alone(struct builder *builder, const struct sirix_ast *ast,
                                      uint32_t *out_slot_count)
{
    struct builder_frame *frame = builder_alloc(builder, 1, sizeof(*frame));

    if (frame == NULL) {
        return NULL;
    }
    builder_frame_open(builder, frame, false, 0);

    struct sirix_plan *body = builder_build(builder, ast);

    *out_slot_count = builder_frame_close(builder, body);
    return body;
}

static bool declare_global(struct builder *builder, const struct sirix_ast_declaration *declaration)
{
    struct sirix_plan_query *query = builder->query;
    struct sirix_plan_global *global = &query->globals[query->global_count];
    struct builder_name name = {{NULL, 0}, {NULL, 0}};
    char shown[160];
    char *text = NULL;

    if (!builder_expand(builder, declaration->name, declaration->line, declaration->column,
                        &name)) {
        return false;
    }
    if (builder_find(builder, &name) != NULL) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0049",
                     "$%s is declared twice",
                     builder_show(declaration->name, shown, sizeof(shown)));
        return false;
    }
    builder_show(declaration->name, shown, sizeof(shown));
    builder->status = sirix_arena_strdup(builder->arena, shown, &text, &builder->err->base);
    if (builder->status != SIRIX_OK) {
        return false;
    }
    global->name = (struct sirix_bytes){text, strlen(text)};
    global->line = declaration->line;
    global->column = declaration->column;
    global->external = (declaration->flags & SIRIX_AST_EXTERNAL) != 0;
    global->typed = declaration->type != NULL;
    return builder_type(builder, declaration->type, &global->type) &&
           builder_bind_global(builder, &name, (declaration->flags & SIRIX_AST_NONASSIGNABLE) == 0,
                               query->global_count++);
}

static bool declare_globals(struct builder *builder)
{
    const struct sirix_ast_module *module = builder->module;
    uint32_t count = 0;

    for (uint32_t i = 0; i < module->declaration_count; i++) {
        count += module->declarations[i].kind == SIRIX_DECLARE_VARIABLE ? 1 : 0;
    }
    builder->query->globals = builder_alloc(builder, count, sizeof(builder->query->globals[0]));
    if (builder->query->globals == NULL) {
        return false;
    }
    for (uint32_t i = 0; i < module->declaration_count; i++) {
        if (module->declarations[i].kind == SIRIX_DECLARE_VARIABLE &&
            !declare_global(builder, &module->declarations[i])) {
            return false;
        }
    }
    return true;
}

/* `e as T` for the context item: let $x as T := e return $x. */
static bool check_context_type(struct builder *builder,
                               const struct sirix_ast_declaration *declaration)
{
    struct sirix_plan_query *query = builder->query;
    struct sirix_plan *e = query->context;
    const uint32_t slot = query->context_slot_count;

    if (!query->context_typed) {
        return true;
    }

    struct sirix_plan *flwor = builder_node(builder, SIRIX_PLAN_FLWOR, declaration->body, 2);
    struct sirix_plan *let = builder_node(builder, SIRIX_PLAN_LET, declaration->body, 1);
    struct sirix_plan *variable = builder_node(builder, SIRIX_PLAN_VARIABLE, declaration->body, 0);

    if (builder->status != SIRIX_OK) {
        return false;
    }
    let->slot = slot;
    let->typed = true;
    let->type = query->context_type;
    let->children[0] = e;
    variable->slot = slot;
    flwor->children[0] = let;
    flwor->children[1] = variable;
    flwor->flags = e->flags;
    query->context = flwor;
    query->context_slot_count++;
    return true;
}

static bool build_context(struct builder *builder, const struct sirix_ast_declaration *declaration)
{
    struct sirix_plan_query *query = builder->query;

    query->has_context = declaration->body != NULL;
    query->context_external = (declaration->flags & SIRIX_AST_EXTERNAL) != 0;
    query->context_typed = declaration->type != NULL;
    if (!builder_type(builder, declaration->type, &query->context_type)) {
        return false;
    }
    if (declaration->body == NULL) {
        return true;
    }
    query->context = build_alone(builder, declaration->body, &query->context_slot_count);
    if (query->context == NULL || !check_context_type(builder, declaration)) {
        return false;
    }
    if ((query->context->flags & BUILDER_FOCUS) != 0) {
        builder_fail(builder, declaration->line, declaration->column, "XQST0107",
                     "the context item cannot be declared by means of itself");
        return false;
    }
    return true;
}

static bool build_globals(struct builder *builder)
{
    const struct sirix_ast_module *module = builder->module;
    uint32_t number = 0;

    for (uint32_t i = 0; i < module->declaration_count; i++) {
        const struct sirix_ast_declaration *declaration = &module->declarations[i];

        if (declaration->kind == SIRIX_DECLARE_CONTEXT && !build_context(builder, declaration)) {
            return false;
        }
        if (declaration->kind == SIRIX_DECLARE_DECIMAL_FORMAT &&
            !builder_decimal_format(builder, declaration)) {
            return false;
        }
        if (declaration->kind == SIRIX_DECLARE_VARIABLE && declaration->body != NULL) {
            struct sirix_plan_global *global = &builder->query->globals[number];

            global->body = build_alone(builder, declaration->body, &global->slot_count);
        }
        number += declaration->kind == SIRIX_DECLARE_VARIABLE ? 1 : 0;
    }
    return builder->status == SIRIX_OK;
}

/* --- Cycles ----------------------------------------------------------------------------------- */

/* Follows the globals that a body reads itself, each of them once. */
static bool follow(struct builder *builder, uint32_t number, uint8_t *state);

static bool follow_body(struct builder *builder, const struct sirix_plan *node, uint8_t *state)
{
    if (node->kind == SIRIX_PLAN_GLOBAL && !follow(builder, node->slot, state)) {
        return false;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL && !follow_body(builder, node->children[i], state)) {
            return false;
        }
    }
    return true;
}

enum { NOT_SEEN, BEING_SEEN, SEEN };

/*
 * Globals in a row that are followed: the stack is not endless. Longer cycles are found by the run.
 */
enum { CHAIN_MAX = 20 };

static bool follow(struct builder *builder, uint32_t number, uint8_t *state)
{
    const struct sirix_plan_global *global = &builder->query->globals[number];

    if (state[number] == SEEN || global->body == NULL || builder->inline_count > CHAIN_MAX) {
        return true;
    }
    if (state[number] == BEING_SEEN) {
        builder_fail(builder, global->line, global->column, "XQST0054",
                     "$%.*s is declared by means of itself", (int)global->name.len,
                     (const char *)global->name.data);
        return false;
    }
    state[number] = BEING_SEEN;
    builder->inline_count++;

    bool is_fine = follow_body(builder, global->body, state);

    builder->inline_count--;
    state[number] = SEEN;
    return is_fine;
}

/* Globals that need each other. What goes through functions is found when it runs. */
static bool check_cycles(struct builder *builder)
{
    uint8_t *state = builder_alloc(builder, builder->query->global_count, 1);

    if (state == NULL) {
        return false;
    }
    builder->inline_count = 0;
    for (uint32_t i = 0; i < builder->query->global_count; i++) {
        if (!follow(builder, i, state)) {
            return false;
        }
    }
    return true;
}

/* --- Door ------------------------------------------------------------------------------------- */

/* The innermost part that updates, of the first that does. */
static const struct sirix_plan *first_update(const struct sirix_plan *node)
{
    uint32_t i = 0;

    while (i < node->child_count) {
        const struct sirix_plan *child = node->children[i++];

        if (child != NULL && (child->flags & SIRIX_PLAN_UPDATING) != 0) {
            node = child;
            i = 0;
        }
    }
    return node;
}

static void build_query(struct builder *builder)
{
    const struct sirix_ast_module *module = builder->module;
    struct sirix_plan_query *query = builder->query;

    query->decimal_formats =
        builder_alloc(builder, module->declaration_count, sizeof(query->decimal_formats[0]));
    if (query->decimal_formats == NULL || !check_once(builder)) {
        return;
    }
    for (uint32_t i = 0; i < module->declaration_count; i++) {
        if (!apply_setting(builder, &module->declarations[i])) {
            return;
        }
    }
    if (!builder_declare_functions(builder) || !declare_globals(builder) ||
        !build_globals(builder) || !builder_build_functions(builder)) {
        return;
    }
    query->body = build_alone(builder, module->body, &query->slot_count);
    if (query->body != NULL && check_cycles(builder)) {
        query->updating = (query->body->flags & SIRIX_PLAN_UPDATING) != 0;
        if (query->updating) {
            const struct sirix_plan *update = first_update(query->body);

            query->updating_line = update->line;
            query->updating_column = update->column;
        }
    }
}

enum sirix_status sirix_plan_build(struct sirix_work *work,
                                   const struct sirix_function_set *functions,
                                   const struct sirix_ast_module *module,
                                   struct sirix_plan_query **out, struct sirix_query_error *err)
{
    struct sirix_query_error own = {.line = 0};
    struct builder *builder = NULL;
    void *memory = NULL;

    if (err == NULL) {
        err = &own;
    }

    enum sirix_status status =
        sirix_arena_calloc(work->arena, 1, sizeof(*builder), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    builder = memory;
    builder->work = work;
    builder->arena = work->arena;
    builder->library = functions;
    builder->module = module;
    builder->err = err;
    builder->jsoniq = module->dialect == SIRIX_SYNTAX_JSONIQ || module->xquery_31;
    builder->has_literals = true;
    builder->query = builder_alloc(builder, 1, sizeof(*builder->query));
    if (builder->query != NULL) {
        builder->query->strict_truth = module->jsoniq_version == 31;
        build_query(builder);
    }
    if (builder->status == SIRIX_OK) {
        *out = builder->query;
    }
    return builder->status;
}
