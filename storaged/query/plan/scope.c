/* Variables: which one a name means, and which slot it has. */
#include <stdio.h>
#include <string.h>

#include "query/plan/builder.h"

enum { CANDIDATES_MAX = 1000 };

static bool push_binding(struct builder *builder, struct builder_binding binding)
{
    uint32_t bucket = builder_bucket(builder, &binding.name);

    if (builder->binding_count == builder->binding_cap) {
        uint32_t cap = builder->binding_cap == 0 ? 32 : builder->binding_cap * 2;
        struct builder_binding *grown = builder_alloc(builder, cap, sizeof(grown[0]));

        if (grown == NULL) {
            return false;
        }
        if (builder->binding_count != 0) {
            memcpy(grown, builder->bindings, builder->binding_count * sizeof(grown[0]));
        }
        builder->bindings = grown;
        builder->binding_cap = cap;
    }
    binding.next = builder->binding_heads[bucket];
    builder->bindings[builder->binding_count++] = binding;
    builder->binding_heads[bucket] = builder->binding_count;
    return true;
}

bool builder_bind_name(struct builder *builder, const struct builder_name *name, uint32_t line,
                       uint32_t column, bool assignable, uint32_t *out)
{
    struct builder_frame *frame = builder->frame;

    if (frame->parameter_count + frame->local_count >= SIRIX_PLAN_SLOTS_MAX) {
        builder_fail_limit(builder, line, column, "query.variables",
                           "the number of a function's variables", SIRIX_PLAN_SLOTS_MAX);
        return false;
    }
    *out = (frame->is_inline ? BUILDER_LOCAL : frame->parameter_count) + frame->local_count++;
    return push_binding(
        builder, (struct builder_binding){.name = *name, .slot = *out, .assignable = assignable});
}

bool builder_bind(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                  uint32_t column, bool assignable, uint32_t *out)
{
    struct builder_name expanded = {{NULL, 0}, {NULL, 0}};

    return builder_expand(builder, name, line, column, &expanded) &&
           builder_bind_name(builder, &expanded, line, column, assignable, out);
}

bool builder_bind_global(struct builder *builder, const struct builder_name *name, bool assignable,
                         uint32_t number)
{
    return push_binding(
        builder, (struct builder_binding){
                     .name = *name, .slot = number, .is_global = true, .assignable = assignable});
}

void builder_unbind(struct builder *builder, uint32_t binding_count)
{
    while (builder->binding_count > binding_count) {
        const struct builder_binding *binding = &builder->bindings[--builder->binding_count];

        builder->binding_heads[builder_bucket(builder, &binding->name)] = binding->next;
    }
}

const struct builder_binding *builder_find(struct builder *builder, const struct builder_name *name)
{
    uint32_t at = builder->binding_heads[builder_bucket(builder, name)];

    while (at != 0 && !builder_same_name(&builder->bindings[at - 1].name, name)) {
        at = builder->bindings[at - 1].next;
    }
    return at == 0 ? NULL : &builder->bindings[at - 1];
}

/* --- Captures --------------------------------------------------------------------------------- */

/* The slot in frame of a variable that has slot in the frame around it. */
static bool capture(struct builder *builder, struct builder_frame *frame, uint32_t slot,
                    uint32_t line, uint32_t column, uint32_t *out)
{
    for (uint32_t i = 0; i < frame->capture_count; i++) {
        if (frame->captures[i] == slot) {
            *out = frame->parameter_count + i;
            return true;
        }
    }
    if (frame->capture_count == BUILDER_CAPTURES_MAX) {
        builder_fail_limit(builder, line, column, "query.captures",
                           "the number of variables that a function uses from around it",
                           BUILDER_CAPTURES_MAX);
        return false;
    }
    frame->captures[frame->capture_count] = slot;
    *out = frame->parameter_count + frame->capture_count++;
    return true;
}

bool builder_reach(struct builder *builder, const struct builder_binding *binding, uint32_t line,
                   uint32_t column, uint32_t *out)
{
    const uint32_t index = (uint32_t)(binding - builder->bindings);
    struct builder_frame *inward[SIRIX_AST_HEIGHT_MAX + 1];
    uint32_t count = 0;

    for (struct builder_frame *frame = builder->frame; frame != NULL && index < frame->binding_base;
         frame = frame->outer) {
        inward[count++] = frame;
    }

    uint32_t slot = binding->slot;

    while (count-- > 0) {
        if (!capture(builder, inward[count], slot, line, column, &slot)) {
            return false;
        }
    }
    *out = slot;
    return true;
}

/* --- Frames ----------------------------------------------------------------------------------- */

void builder_frame_open(struct builder *builder, struct builder_frame *frame, bool is_inline,
                        uint32_t parameter_count)
{
    frame->outer = is_inline ? builder->frame : NULL;
    frame->is_inline = is_inline;
    frame->binding_base = builder->binding_count;
    frame->parameter_count = parameter_count;
    frame->local_count = 0;
    frame->capture_count = 0;
    builder->frame = frame;
}

static void move_slot(uint32_t *slot, uint32_t by)
{
    if (*slot != SIRIX_PLAN_NO_SLOT && *slot >= BUILDER_LOCAL) {
        *slot = *slot - BUILDER_LOCAL + by;
    }
}

static void move_list(struct builder *builder, const uint32_t **slots, uint32_t count, uint32_t by)
{
    uint32_t *moved = builder_alloc(builder, count, sizeof(moved[0]));

    for (uint32_t i = 0; moved != NULL && i < count; i++) {
        moved[i] = (*slots)[i];
        move_slot(&moved[i], by);
    }
    *slots = moved;
}

static void move_slots(struct builder *builder, struct sirix_plan *node, uint32_t by)
{
    move_slot(&node->slot, by);
    move_slot(&node->position_slot, by);
    move_slot(&node->previous_slot, by);
    move_slot(&node->next_slot, by);
    if (node->slots != NULL) {
        move_list(builder, &node->slots, node->list_count, by);
    }
    if (node->kind == SIRIX_PLAN_CLOSURE) {
        move_list(builder, &node->user->captures, node->user->capture_count, by);
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] != NULL) {
            move_slots(builder, node->children[i], by);
        }
    }
}

uint32_t builder_frame_close(struct builder *builder, struct sirix_plan *body)
{
    struct builder_frame *frame = builder->frame;

    if (frame->is_inline && body != NULL) {
        move_slots(builder, body, frame->parameter_count + frame->capture_count);
    }
    builder_unbind(builder, frame->binding_base);
    builder->frame = frame->outer;
    return frame->parameter_count + frame->capture_count + frame->local_count;
}

/* --- Uses ------------------------------------------------------------------------------------- */

static void fail_unknown(struct builder *builder, const struct sirix_ast *ast)
{
    char shown[SIRIX_QUERY_SUGGESTION_BYTES];
    size_t best = SIZE_MAX;
    const struct builder_binding *nearest = NULL;
    uint32_t first =
        builder->binding_count > CANDIDATES_MAX ? builder->binding_count - CANDIDATES_MAX : 0;

    builder_fail(builder, ast->line, ast->column, "XPST0008", "there is no variable $%s",
                 builder_show(ast->name, shown, sizeof(shown)));
    for (uint32_t i = builder->binding_count; i-- > first;) {
        size_t distance = builder_distance(builder->bindings[i].name.local, ast->name->local);

        if (distance < best) {
            best = distance;
            nearest = &builder->bindings[i];
        }
    }
    if (nearest != NULL) {
        (void)snprintf(shown, sizeof(shown), "$%.*s", (int)nearest->name.local.len,
                       (const char *)nearest->name.local.data);
        sirix_query_error_suggest(builder->err, shown);
    }
}

struct sirix_plan *builder_variable(struct builder *builder, const struct sirix_ast *ast)
{
    struct builder_name name = {{NULL, 0}, {NULL, 0}};

    if (!builder_expand(builder, ast->name, ast->line, ast->column, &name)) {
        return NULL;
    }

    const struct builder_binding *binding = builder_find(builder, &name);

    if (binding == NULL) {
        fail_unknown(builder, ast);
        return NULL;
    }

    struct sirix_plan *node =
        builder_node(builder, binding->is_global ? SIRIX_PLAN_GLOBAL : SIRIX_PLAN_VARIABLE, ast, 0);

    if (node == NULL) {
        return NULL;
    }
    if (binding->is_global) {
        node->slot = binding->slot;
        return node;
    }
    return builder_reach(builder, binding, ast->line, ast->column, &node->slot) ? node : NULL;
}
