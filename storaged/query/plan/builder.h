/*
 * What the builder's files share.
 *
 * As in the parser, a function gives a node or NULL; why is in builder->status and builder->err.
 *
 * Slots     a frame numbers its variables from 0. An inline function learns what it captures only
 *           while its body is built, and captures come before its own variables: those are numbered
 *           from BUILDER_LOCAL and moved down when the body is done.
 * Effects   a node is simple (gives a value), updating, vacuous (neither: (), fn:error()), or
 *           either (a block that updates and gives a value). SIRIX_PLAN_UPDATING alone is updating.
 */
#ifndef SIRIX_QUERY_PLAN_BUILDER_H
#define SIRIX_QUERY_PLAN_BUILDER_H

#include "query/function/function.h"
#include "query/plan/build.h"

enum {
    BUILDER_LOCAL = 1 << 24,
    BUILDER_CAPTURES_MAX = 1000,
    BUILDER_BUCKETS = 1024,
};

/* Flags of plan nodes that only the builder looks at. */
#define BUILDER_VACUOUS (1u << 30)
#define BUILDER_EITHER  (1u << 31)

#define BUILDER_FOCUS (SIRIX_PLAN_USES_CONTEXT | SIRIX_PLAN_USES_POSITION | SIRIX_PLAN_USES_LAST)

/* A name with its namespace. */
struct builder_name {
    struct sirix_bytes uri; /* Empty: none. */
    struct sirix_bytes local;
};

struct builder_namespace {
    struct sirix_bytes prefix;
    struct sirix_bytes uri;
};

/* Variables that are made of others: the main expression, a global, a function. */
struct builder_frame {
    struct builder_frame *outer; /* Of an inline function. */
    bool is_inline;
    uint32_t binding_base; /* The first binding that is its own. */
    uint32_t parameter_count;
    uint32_t local_count;
    uint32_t capture_count;
    uint32_t captures[BUILDER_CAPTURES_MAX]; /* Slots of the outer frame. */
};

/* A variable that can be seen. */
struct builder_binding {
    struct builder_name name;
    uint32_t next; /* In its bucket: index + 1 of an older one. */
    uint32_t slot; /* Of its frame, or the number of a global. */
    bool is_global;
    bool assignable;
    const struct sirix_plan *declared; /* The node that gives it its type; NULL: none. */
};

struct builder_function {
    struct builder_name name;
    uint32_t next; /* In its bucket. */
    const struct sirix_ast_declaration *declaration;
    struct sirix_plan_function *function;
};

struct builder {
    struct sirix_work *work;
    struct sirix_arena *arena;
    const struct sirix_function_set *library;
    const struct sirix_ast_module *module;
    struct sirix_query_error *err;
    enum sirix_status status;
    bool jsoniq;       /* The five rules of JSONiq hold. */
    bool has_literals; /* true, false and null are literals. */
    bool empty_greatest;
    struct sirix_bytes function_uri; /* Default function namespace, if it is declared. */
    struct builder_namespace *namespaces;
    uint32_t namespace_count;
    uint32_t namespace_cap;
    struct builder_binding *bindings;
    uint32_t binding_count;
    uint32_t binding_cap;
    uint32_t binding_heads[BUILDER_BUCKETS]; /* Index + 1. */
    struct builder_function *functions;
    uint32_t function_count;
    uint32_t function_heads[BUILDER_BUCKETS];
    uint32_t inline_count;
    struct builder_frame *frame;
    struct sirix_plan_query *query;
};

/* --- Ground ----------------------------------------------------------------------------------- */

void *builder_alloc(struct builder *builder, size_t count, size_t size);
void *builder_fail(struct builder *builder, uint32_t line, uint32_t column, const char *code,
                   const char *fmt, ...) SIRIX_PRINTF(5, 6);
void *builder_fail_limit(struct builder *builder, uint32_t line, uint32_t column, const char *name,
                         const char *what, int limit);

struct sirix_plan *builder_node(struct builder *builder, enum sirix_plan_kind kind,
                                const struct sirix_ast *ast, uint32_t child_count);

/* Takes over what the children need and do, and checks where updates stand. */
struct sirix_plan *builder_finish(struct builder *builder, struct sirix_plan *node);

/* --- Names ------------------------------------------------------------------------------------ */

extern const struct sirix_bytes builder_local_uri;
extern const struct sirix_bytes builder_err_uri;

bool builder_bytes_are(struct sirix_bytes bytes, const char *text);
bool builder_add_namespace(struct builder *builder, struct sirix_bytes prefix,
                           struct sirix_bytes uri);
/* The URI of a prefix; false and XPST0081 when there is none. */
bool builder_uri(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                 uint32_t column, struct sirix_bytes *out);
/* Whether a prefix has one. */
bool builder_has_prefix(const struct builder *builder, struct sirix_bytes prefix);
/* With its namespace; a name without prefix has none. */
bool builder_expand(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                    uint32_t column, struct builder_name *out);
/* Names that callers choose cannot be made to share one. */
uint32_t builder_bucket(const struct builder *builder, const struct builder_name *name);
bool builder_same_name(const struct builder_name *a, const struct builder_name *b);
/* Whether two names are written the same. */
bool builder_same_text(const struct sirix_ast_name *a, const struct sirix_ast_name *b);
/* "prefix:local" as the query wrote it, in a buffer of the caller. */
const char *builder_show(const struct sirix_ast_name *name, char *to, size_t to_bytes);
/* How many letters differ; SIZE_MAX when it is more than a third. */
size_t builder_distance(struct sirix_bytes a, struct sirix_bytes b);

/* Takes in a declared decimal format. */
bool builder_decimal_format(struct builder *builder,
                            const struct sirix_ast_declaration *declaration);

/* --- Variables -------------------------------------------------------------------------------- */

/* A new variable of the frame, seen from now on. *out: its slot. */
bool builder_bind(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                  uint32_t column, bool assignable, uint32_t *out);
bool builder_bind_name(struct builder *builder, const struct builder_name *name, uint32_t line,
                       uint32_t column, bool assignable, uint32_t *out);
bool builder_bind_global(struct builder *builder, const struct builder_name *name, bool assignable,
                         uint32_t number);
/* Hides what was bound since. */
void builder_unbind(struct builder *builder, uint32_t binding_count);
/* What a name means; NULL without a failure when nothing. */
const struct builder_binding *builder_find(struct builder *builder,
                                           const struct builder_name *name);
/* The slot of a binding as the current frame sees it: captures what lies outside. */
bool builder_reach(struct builder *builder, const struct builder_binding *binding, uint32_t line,
                   uint32_t column, uint32_t *out);
struct sirix_plan *builder_variable(struct builder *builder, const struct sirix_ast *ast);

void builder_frame_open(struct builder *builder, struct builder_frame *frame, bool is_inline,
                        uint32_t parameter_count);
/* Gives the number of slots, and moves the body's own slots behind the captures. */
uint32_t builder_frame_close(struct builder *builder, struct sirix_plan *body);

/* --- Types ------------------------------------------------------------------------------------ */

/* A sequence type; NULL gives item()*. */
bool builder_type(struct builder *builder, const struct sirix_ast_type *ast,
                  struct sirix_sequence_type *out);
/* The type of a cast: atomic, not abstract. */
bool builder_cast_type(struct builder *builder, const struct sirix_ast_type *ast,
                       struct sirix_sequence_type *out);
/* Sets a node's type if the query wrote one. */
bool builder_set_type(struct builder *builder, struct sirix_plan *node,
                      const struct sirix_ast_type *ast);
/* The atomic type of a constructor function, such as xs:date. */
bool builder_constructor_type(struct sirix_bytes local, enum sirix_type *out);

/* --- Functions -------------------------------------------------------------------------------- */

bool builder_declare_functions(struct builder *builder);
bool builder_build_functions(struct builder *builder);
struct sirix_plan *builder_call(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_function_name(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_inline(struct builder *builder, const struct sirix_ast *ast);

/* --- Expressions ------------------------------------------------------------------------------ */

/* Builds, and hides again what the expression bound, but for statements. NULL for NULL. */
struct sirix_plan *builder_build(struct builder *builder, const struct sirix_ast *ast);
/* Builds all children of ast into children of node from the first on. */
bool builder_children(struct builder *builder, const struct sirix_ast *ast,
                      struct sirix_plan *node);
/* A node of a kind with the children of ast, finished. */
struct sirix_plan *builder_constant(struct builder *builder, const struct sirix_ast *ast,
                                    struct sirix_item item);
struct sirix_plan *builder_plain(struct builder *builder, enum sirix_plan_kind kind,
                                 const struct sirix_ast *ast);
struct sirix_plan *builder_flwor(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_quantified(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_typeswitch(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_try(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_update(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_copy(struct builder *builder, const struct sirix_ast *ast);
struct sirix_plan *builder_statement(struct builder *builder, const struct sirix_ast *ast);

#endif
