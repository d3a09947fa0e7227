/*
 * From the leaves up: a node whose parts are constants becomes one, if computing it works and gives
 * a small atomic; conditions that are known choose their branch; sequences in sequences are one. FLWOR
 * expressions: rewrite_flwor.c.
 */
#include "query/plan/rewrite.h"

#include <string.h>

#include "query/plan/rewrite_flwor.h"
#include "query/value/cast.h"
#include "query/value/compare.h"
#include "query/value/number.h"

enum {
    FOLDED_BYTES_MAX = 4096, /* Longer results are computed when they are asked for. */
    FOLDED_ITEMS_MAX = 64,   /* Of a constant argument. */
    FOLDED_ARGUMENTS_MAX = 8,
};

struct rewriter {
    struct sirix_work *work;
    struct sirix_query_error *err;
    enum sirix_status status; /* Of the rewriter itself: memory, limits of time. */
};

static void rewrite(struct rewriter *rewriter, struct sirix_plan *node);

/* --- Constants -------------------------------------------------------------------------------- */

static bool is_constant(const struct sirix_plan *node)
{
    return node->kind == SIRIX_PLAN_CONSTANT;
}

/* Whether a result may stand in the plan. */
static bool may_stand(struct sirix_item item)
{
    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
    case SIRIX_ITEM_FUNCTION:
    case SIRIX_ITEM_BIG_INTEGER:
    case SIRIX_ITEM_BIG_DECIMAL:
        return false;
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
    case SIRIX_ITEM_BASE64:
    case SIRIX_ITEM_HEX:
        return item.len <= FOLDED_BYTES_MAX;
    default:
        return true;
    }
}

static void become(struct sirix_plan *node, enum sirix_plan_kind kind, struct sirix_item item)
{
    *node = (struct sirix_plan){.kind = (uint16_t)kind,
                                .line = node->line,
                                .column = node->column,
                                .slot = SIRIX_PLAN_NO_SLOT,
                                .position_slot = SIRIX_PLAN_NO_SLOT,
                                .previous_slot = SIRIX_PLAN_NO_SLOT,
                                .next_slot = SIRIX_PLAN_NO_SLOT,
                                .item = item};
}

/*
 * What came of computing a constant: an error of the language is the query's own business, when it
 * runs; anything else ends the rewriting.
 */
static void take(struct rewriter *rewriter, struct sirix_plan *node, enum sirix_status status,
                 struct sirix_item item, const struct sirix_query_error *err)
{
    if (status == SIRIX_OK) {
        if (may_stand(item)) {
            become(node, SIRIX_PLAN_CONSTANT, item);
        }
    } else if (status == SIRIX_NO_MEMORY || status == SIRIX_CANCELLED || status == SIRIX_DEADLINE) {
        rewriter->status = status;
        *rewriter->err = *err;
    }
}

static bool all_constant(const struct sirix_plan *node)
{
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (node->children[i] == NULL || !is_constant(node->children[i])) {
            return false;
        }
    }
    return node->child_count != 0;
}

/* --- Operators -------------------------------------------------------------------------------- */

static enum sirix_arithmetic arithmetic_of(uint8_t op)
{
    switch ((enum sirix_ast_op)op) {
    case SIRIX_AST_MINUS:
        return SIRIX_SUBTRACT;
    case SIRIX_AST_TIMES:
        return SIRIX_MULTIPLY;
    case SIRIX_AST_DIV:
        return SIRIX_DIVIDE;
    case SIRIX_AST_IDIV:
        return SIRIX_INTEGER_DIVIDE;
    case SIRIX_AST_MOD:
        return SIRIX_MODULO;
    default:
        return SIRIX_ADD;
    }
}

static void fold_arithmetic(struct rewriter *rewriter, struct sirix_plan *node)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_item item = node->children[0]->item;
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 1; i < node->child_count && status == SIRIX_OK; i++) {
        status = sirix_item_arithmetic(rewriter->work, arithmetic_of(node->ops[i]), item,
                                       node->children[i]->item, &item, &err);
    }
    take(rewriter, node, status, item, &err);
}

static void fold_sign(struct rewriter *rewriter, struct sirix_plan *node)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_item item = node->children[0]->item;

    if (!sirix_item_is_numeric(item)) {
        return;
    }
    if (node->op == SIRIX_AST_MINUS) {
        enum sirix_status status = sirix_item_negate(rewriter->work, item, &item, &err);

        take(rewriter, node, status, item, &err);
    } else {
        become(node, SIRIX_PLAN_CONSTANT, item);
    }
}

static void fold_comparison(struct rewriter *rewriter, struct sirix_plan *node)
{
    struct sirix_query_error err = {.line = 0};
    const enum sirix_comparison op = (enum sirix_comparison)(node->op - SIRIX_AST_EQ);
    const struct sirix_item a = node->children[0]->item;
    const struct sirix_item b = node->children[1]->item;
    bool is_true = false;
    enum sirix_status status =
        node->kind == SIRIX_PLAN_COMPARE
            ? sirix_compare_values(rewriter->work, op, a, b, &is_true, &err)
            : sirix_compare_general(rewriter->work, op, a, b, &is_true, &err);

    take(rewriter, node, status, sirix_item_boolean(is_true), &err);
}

static void fold_cast(struct rewriter *rewriter, struct sirix_plan *node)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_item item = node->children[0]->item;
    bool is_castable = false;
    enum sirix_status status = SIRIX_OK;

    if (node->kind == SIRIX_PLAN_CASTABLE_AS) {
        status = sirix_item_castable(rewriter->work, item, node->type.type, &is_castable, &err);
        item = sirix_item_boolean(is_castable);
    } else {
        status = sirix_item_cast(rewriter->work, item, node->type.type, &item, &err);
    }
    take(rewriter, node, status, item, &err);
}

/* --- Calls ------------------------------------------------------------------------------------ */

/* The value of an argument that is a constant, or a short list of them. */
static bool constant_argument(struct rewriter *rewriter, const struct sirix_plan *node,
                              struct sirix_sequence *out, struct sirix_query_error *err)
{
    *out = (struct sirix_sequence){0};
    if (node->kind == SIRIX_PLAN_EMPTY) {
        return true;
    }
    if (is_constant(node)) {
        return sirix_sequence_append(rewriter->work, out, node->item, err) == SIRIX_OK;
    }
    if (node->kind != SIRIX_PLAN_SEQUENCE || node->child_count > FOLDED_ITEMS_MAX ||
        !all_constant(node)) {
        return false;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (sirix_sequence_append(rewriter->work, out, node->children[i]->item, err) != SIRIX_OK) {
            return false;
        }
    }
    return true;
}

static void fold_call(struct rewriter *rewriter, struct sirix_plan *node)
{
    struct sirix_query_error err = {.line = 0};
    struct sirix_sequence arguments[FOLDED_ARGUMENTS_MAX];
    struct sirix_sequence value = {0};
    struct sirix_call call = {.work = rewriter->work,
                              .function = node->function,
                              .argument_count = node->child_count,
                              .arguments = arguments};

    if ((node->function->flags & SIRIX_FUNCTION_PURE) == 0 ||
        (node->function->flags & (SIRIX_FUNCTION_STREAMS | SIRIX_FUNCTION_HIGHER_ORDER |
                                  SIRIX_FUNCTION_NEEDS_FOCUS)) != 0 ||
        node->child_count > FOLDED_ARGUMENTS_MAX) {
        return;
    }
    for (uint32_t i = 0; i < node->child_count; i++) {
        if (!constant_argument(rewriter, node->children[i], &arguments[i], &err)) {
            return;
        }
    }

    enum sirix_status status = sirix_function_call(&call, &value, &err);

    if (status == SIRIX_OK && value.count == 0) {
        become(node, SIRIX_PLAN_EMPTY, (struct sirix_item){.kind = SIRIX_ITEM_NONE});
    } else if (status != SIRIX_OK || value.count == 1) {
        take(rewriter, node, status,
             status == SIRIX_OK ? sirix_sequence_at(&value, 0)
                                : (struct sirix_item){.kind = SIRIX_ITEM_NONE},
             &err);
    }
}

/* --- Choices ---------------------------------------------------------------------------------- */

/* Whether the effective boolean value of a node is known. */
static bool known_truth(const struct sirix_plan *node, bool *out)
{
    struct sirix_query_error err = {.line = 0};

    if (node->kind == SIRIX_PLAN_EMPTY) {
        *out = false;
        return true;
    }
    return is_constant(node) && sirix_item_truth(node->item, out, &err) == SIRIX_OK;
}

/*
 * Conditions that are false go, with what they guard; one that is true is the last that is asked.
 */
static void fold_if(struct sirix_plan *node)
{
    uint32_t kept = 0;

    for (uint32_t i = 0; i + 1 < node->child_count; i += 2) {
        bool is_true = false;

        if (!known_truth(node->children[i], &is_true)) {
            node->children[kept++] = node->children[i];
            node->children[kept++] = node->children[i + 1];
        } else if (is_true) {
            node->children[node->child_count - 1] = node->children[i + 1];
            break;
        }
    }
    node->children[kept] = node->children[node->child_count - 1];
    node->child_count = kept + 1;
    if (kept == 0) {
        struct sirix_plan *chosen = node->children[0];

        *node = *chosen;
    }
}

/* A known operand of `and` and `or` goes if it changes nothing, or decides for those behind it. */
static void fold_logic(struct sirix_plan *node)
{
    const bool deciding = node->kind == SIRIX_PLAN_OR;
    bool is_decided = false;
    uint32_t kept = 0;

    for (uint32_t i = 0; i < node->child_count && !is_decided; i++) {
        bool is_true = false;

        if (!known_truth(node->children[i], &is_true)) {
            node->children[kept++] = node->children[i];
        } else if (is_true == deciding) {
            node->children[kept++] = node->children[i];
            is_decided = true;
        }
    }
    node->child_count = kept;
    if (kept == 0 || (kept == 1 && is_decided)) {
        become(node, SIRIX_PLAN_CONSTANT, sirix_item_boolean(is_decided == deciding));
    }
}

static void fold_not(struct sirix_plan *node)
{
    bool is_true = false;

    if (known_truth(node->children[0], &is_true)) {
        become(node, SIRIX_PLAN_CONSTANT, sirix_item_boolean(!is_true));
    }
}

/* --- Sequences -------------------------------------------------------------------------------- */

static bool is_plain_sequence(const struct sirix_plan *node)
{
    return node->kind == SIRIX_PLAN_SEQUENCE && (node->flags & SIRIX_PLAN_UPDATING) == 0;
}

/* (a, (b, c), ()) is (a, b, c). */
static void flatten(struct rewriter *rewriter, struct sirix_plan *node)
{
    size_t count = 0;
    void *memory = NULL;

    for (uint32_t i = 0; i < node->child_count; i++) {
        const struct sirix_plan *child = node->children[i];

        count += is_plain_sequence(child) ? child->child_count
                                          : (child->kind == SIRIX_PLAN_EMPTY ? 0u : 1u);
    }
    if (!is_plain_sequence(node) || count == node->child_count || count > UINT32_MAX) {
        return;
    }
    rewriter->status = sirix_arena_calloc(rewriter->work->arena, count, sizeof(struct sirix_plan *),
                                          &memory, &rewriter->err->base);
    if (rewriter->status != SIRIX_OK) {
        return;
    }

    struct sirix_plan **children = memory;
    uint32_t at = 0;

    for (uint32_t i = 0; i < node->child_count; i++) {
        struct sirix_plan *child = node->children[i];

        if (is_plain_sequence(child)) {
            memcpy(children + at, child->children,
                   child->child_count * sizeof(struct sirix_plan *));
            at += child->child_count;
        } else if (child->kind != SIRIX_PLAN_EMPTY) {
            children[at++] = child;
        }
    }
    node->children = children;
    node->child_count = at;
    if (at == 0) {
        become(node, SIRIX_PLAN_EMPTY, (struct sirix_item){.kind = SIRIX_ITEM_NONE});
    } else if (at == 1) {
        struct sirix_plan *only = node->children[0];

        *node = *only;
    }
}

/* --- The walk --------------------------------------------------------------------------------- */

static void fold(struct rewriter *rewriter, struct sirix_plan *node)
{
    switch ((enum sirix_plan_kind)node->kind) {
    case SIRIX_PLAN_ARITHMETIC:
        if (all_constant(node)) {
            fold_arithmetic(rewriter, node);
        }
        break;
    case SIRIX_PLAN_UNARY:
        if (all_constant(node)) {
            fold_sign(rewriter, node);
        }
        break;
    case SIRIX_PLAN_COMPARE:
    case SIRIX_PLAN_COMPARE_ANY:
        if (all_constant(node)) {
            fold_comparison(rewriter, node);
        }
        break;
    case SIRIX_PLAN_CAST_AS:
    case SIRIX_PLAN_CASTABLE_AS:
    case SIRIX_PLAN_CALL_CAST:
        if (all_constant(node)) {
            fold_cast(rewriter, node);
        }
        break;
    case SIRIX_PLAN_CALL:
        fold_call(rewriter, node);
        if (node->kind == SIRIX_PLAN_CALL) {
            sirix_plan_rewrite_limit(node);
        }
        break;
    case SIRIX_PLAN_FLWOR:
        rewriter->status = sirix_plan_rewrite_flwor(rewriter->work, node, rewriter->err);
        break;
    case SIRIX_PLAN_IF:
        fold_if(node);
        break;
    case SIRIX_PLAN_AND:
    case SIRIX_PLAN_OR:
        fold_logic(node);
        break;
    case SIRIX_PLAN_NOT:
        fold_not(node);
        break;
    case SIRIX_PLAN_SEQUENCE:
        flatten(rewriter, node);
        break;
    default:
        break;
    }
}

static void rewrite(struct rewriter *rewriter, struct sirix_plan *node)
{
    for (uint32_t i = 0; i < node->child_count && rewriter->status == SIRIX_OK; i++) {
        if (node->children[i] != NULL) {
            rewrite(rewriter, node->children[i]);
        }
    }
    if (rewriter->status == SIRIX_OK && node->kind == SIRIX_PLAN_CLOSURE) {
        rewrite(rewriter, node->user->body);
    }
    if (rewriter->status == SIRIX_OK) {
        rewriter->status = sirix_work_tick(rewriter->work, 1, rewriter->err);
    }
    if (rewriter->status == SIRIX_OK) {
        fold(rewriter, node);
    }
}

enum sirix_status sirix_plan_rewrite(struct sirix_work *work, struct sirix_plan_query *query,
                                     struct sirix_query_error *err)
{
    struct sirix_query_error own = {.line = 0};
    struct rewriter rewriter = {.work = work, .err = err == NULL ? &own : err, .status = SIRIX_OK};

    for (uint32_t i = 0; i < query->global_count && rewriter.status == SIRIX_OK; i++) {
        if (query->globals[i].body != NULL) {
            rewrite(&rewriter, query->globals[i].body);
        }
    }
    for (uint32_t i = 0; i < query->function_count && rewriter.status == SIRIX_OK; i++) {
        rewrite(&rewriter, query->functions[i]->body);
    }
    if (query->context != NULL && rewriter.status == SIRIX_OK) {
        rewrite(&rewriter, query->context);
    }
    if (rewriter.status == SIRIX_OK) {
        rewrite(&rewriter, query->body);
    }
    return rewriter.status;
}
