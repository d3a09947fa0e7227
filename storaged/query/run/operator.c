/* Expressions that give one item at most: operators, comparisons, types, functions as items. */
#include <inttypes.h>

#include "query/run/membership.h"

/* --- Arithmetic ------------------------------------------------------------------------------------ */

static enum sirix_arithmetic arithmetic_of(uint8_t op)
{
    switch (op) {
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

/* The common case without a call; false: it has to be done the long way. */
static bool small_arithmetic(uint8_t op, struct sirix_item *a, const struct sirix_item *b)
{
    int64_t result = 0;

    if (a->kind != SIRIX_ITEM_INTEGER || b->kind != SIRIX_ITEM_INTEGER) {
        return false;
    }
    switch (op) {
    case SIRIX_AST_PLUS:
        if (__builtin_add_overflow(a->value.integer, b->value.integer, &result)) {
            return false;
        }
        break;
    case SIRIX_AST_MINUS:
        if (__builtin_sub_overflow(a->value.integer, b->value.integer, &result)) {
            return false;
        }
        break;
    case SIRIX_AST_TIMES:
        if (__builtin_mul_overflow(a->value.integer, b->value.integer, &result)) {
            return false;
        }
        break;
    default:
        return false;
    }
    *a = sirix_item_integer(result);
    return true;
}

static enum sirix_status arithmetic(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item total = {0};
    enum sirix_status status = sirix_run_atom(run, plan->children[0], &total, err);

    for (uint32_t i = 1; i < plan->child_count && status == SIRIX_OK; i++) {
        struct sirix_item operand = {0};

        status = sirix_run_atom(run, plan->children[i], &operand, err);
        if (status != SIRIX_OK || total.kind == SIRIX_ITEM_NONE) {
            continue;
        }
        if (operand.kind == SIRIX_ITEM_NONE) {
            total = (struct sirix_item){0};
        } else if (!small_arithmetic(plan->ops[i], &total, &operand)) {
            status = sirix_item_arithmetic(&run->work, arithmetic_of(plan->ops[i]), total, operand,
                                           &total, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = total;
    }
    return status;
}

static enum sirix_status unary(struct sirix_run *run, const struct sirix_plan *plan,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    struct sirix_item negated = {0};
    enum sirix_status status = sirix_run_atom(run, plan->children[0], &item, err);

    if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
        *out = status == SIRIX_OK ? item : *out;
        return status;
    }
    status = sirix_item_negate(&run->work, item, &negated, err);
    if (status == SIRIX_OK) {
        if (plan->op == SIRIX_AST_PLUS) {
            item.origin = 0;
        }
        *out = plan->op == SIRIX_AST_PLUS ? item : negated;
    }
    return status;
}

/* --- Comparisons ----------------------------------------------------------------------------------- */

static enum sirix_comparison comparison_of(uint8_t op)
{
    switch (op) {
    case SIRIX_AST_NE:
    case SIRIX_AST_GENERAL_NE:
        return SIRIX_NE;
    case SIRIX_AST_LT:
    case SIRIX_AST_GENERAL_LT:
        return SIRIX_LT;
    case SIRIX_AST_LE:
    case SIRIX_AST_GENERAL_LE:
        return SIRIX_LE;
    case SIRIX_AST_GT:
    case SIRIX_AST_GENERAL_GT:
        return SIRIX_GT;
    case SIRIX_AST_GE:
    case SIRIX_AST_GENERAL_GE:
        return SIRIX_GE;
    default:
        return SIRIX_EQ;
    }
}

static bool holds(enum sirix_comparison op, int order)
{
    switch (op) {
    case SIRIX_EQ:
        return order == 0;
    case SIRIX_NE:
        return order != 0;
    case SIRIX_LT:
        return order < 0;
    case SIRIX_LE:
        return order <= 0;
    case SIRIX_GT:
        return order > 0;
    default:
        return order >= 0;
    }
}

/* The common pairs without a call; false: the long way. */
static bool small_comparison(enum sirix_comparison op, const struct sirix_item *a,
                             const struct sirix_item *b, bool *out)
{
    if (a->kind == SIRIX_ITEM_INTEGER && b->kind == SIRIX_ITEM_INTEGER) {
        *out = holds(op,
                     (a->value.integer > b->value.integer) - (a->value.integer < b->value.integer));
        return true;
    }
    if (a->kind == SIRIX_ITEM_STRING && b->kind == SIRIX_ITEM_STRING &&
        (op == SIRIX_EQ || op == SIRIX_NE)) {
        const bool equal =
            a->len == b->len && (a->len == 0 || memcmp(a->value.text, b->value.text, a->len) == 0);

        *out = equal == (op == SIRIX_EQ);
        return true;
    }
    return false;
}

static enum sirix_status compare(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    const enum sirix_comparison op = comparison_of(plan->op);
    struct sirix_item left = {0};
    struct sirix_item right = {0};
    bool result = false;
    enum sirix_status status = sirix_run_atom(run, plan->children[0], &left, err);

    if (status == SIRIX_OK && left.kind != SIRIX_ITEM_NONE) {
        status = sirix_run_atom(run, plan->children[1], &right, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (left.kind == SIRIX_ITEM_NONE || right.kind == SIRIX_ITEM_NONE) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    if (!small_comparison(op, &left, &right, &result)) {
        status = sirix_compare_values(&run->work, op, left, right, &result, err);
    }
    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(result);
    }
    return status;
}

struct any_sink {
    struct sirix_sink sink;
    enum sirix_comparison op;
    struct sirix_membership right;
    bool found;
};

static enum sirix_status compare_any_of(struct sirix_run *run, enum sirix_comparison op,
                                        const struct sirix_item *left,
                                        struct sirix_membership *right, bool *out,
                                        struct sirix_query_error *err)
{
    struct sirix_item atom = {0};
    struct sirix_sequence members = {0};
    bool known = false;
    bool found = false;

    if (left->kind == SIRIX_ITEM_ARRAY) {
        enum sirix_status flat = sirix_array_flatten(&run->work, *left, &members, err);

        for (size_t i = 0; i < members.count && flat == SIRIX_OK && !*out; i++) {
            const struct sirix_item member = sirix_sequence_at(&members, i);

            flat = compare_any_of(run, op, &member, right, out, err); /* No array any more. */
        }
        return flat;
    }
    enum sirix_status status = sirix_item_atomise(*left, &atom, err);

    if (status == SIRIX_OK) {
        status = sirix_membership_ask(run, right, &atom, &found, &known, err);
    }
    for (size_t i = 0; i < right->items.count && status == SIRIX_OK && !found && !known; i++) {
        struct sirix_item other = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_item_atomise(sirix_sequence_at(&right->items, i), &other, err);
        }
        if (status == SIRIX_OK && !small_comparison(op, &atom, &other, &found)) {
            status = sirix_compare_general(&run->work, op, atom, other, &found, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = found;
    }
    return status;
}

static enum sirix_status take_any(struct sirix_sink *sink, struct sirix_run *run,
                                  const struct sirix_item *item, struct sirix_query_error *err)
{
    struct any_sink *any = (struct any_sink *)sink;
    enum sirix_status status = compare_any_of(run, any->op, item, &any->right, &any->found, err);

    return status == SIRIX_OK && any->found ? SIRIX_RUN_STOP : status;
}

static enum sirix_status compare_any(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    struct any_sink any = {.sink = {.take = take_any, .want = UINT64_MAX},
                           .op = comparison_of(plan->op)};
    struct sirix_sequence right = {0};
    const uint64_t kept = run->kept;
    enum sirix_status status = sirix_run_all(run, plan->children[1], &right, err);

    if (status == SIRIX_OK) {
        status = sirix_membership_init(run, plan, &right, &any.right, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_run_push(run, plan->children[0], &any.sink, err);
    }
    run->kept = kept;
    if (status == SIRIX_RUN_STOP && any.found) {
        status = SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(any.found);
    }
    return status;
}

/* --- Logic, text, ranges --------------------------------------------------------------------------- */

static enum sirix_status logic(struct sirix_run *run, const struct sirix_plan *plan,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    const bool ends = plan->kind == SIRIX_PLAN_OR;
    enum sirix_status status = SIRIX_OK;
    bool value = !ends;

    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK && value != ends; i++) {
        status = sirix_run_truth(run, plan->children[i], &value, err);
    }
    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(plan->child_count == 0 ? !ends : value);
    }
    return status;
}

static enum sirix_status negation(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    bool value = false;
    enum sirix_status status = sirix_run_truth(run, plan->children[0], &value, err);

    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(!value);
    }
    return status;
}

static enum sirix_status concat(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_buf text;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&text, SIRIX_ITEM_STRING_BYTES_MAX);
    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK; i++) {
        struct sirix_item item = {0};
        struct sirix_bytes part = {0};

        status = sirix_run_atom(run, plan->children[i], &item, err);
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sirix_item_text(&run->work, item, &part, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(&text, part, &err->base);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_item_new_string(&run->work, sirix_buf_view(&text), out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

static enum sirix_status range_end(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_run_atom(run, plan, out, err);

    if (status == SIRIX_OK && out->kind == SIRIX_ITEM_UNTYPED) {
        status = sirix_item_cast(&run->work, *out, SIRIX_TYPE_INTEGER, out, err);
    }
    if (status != SIRIX_OK || out->kind == SIRIX_ITEM_NONE || out->kind == SIRIX_ITEM_INTEGER) {
        return status;
    }
    if (out->kind == SIRIX_ITEM_BIG_INTEGER) {
        return sirix_query_fail_limit(err, "range", "a range has an end past 64 bits");
    }
    return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                               "the ends of a range are integers, not %s",
                               sirix_type_name((enum sirix_type)out->type));
}

enum sirix_status sirix_run_range(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_item from = {0};
    struct sirix_item to = {0};
    enum sirix_status status = range_end(run, plan->children[0], &from, err);

    if (status == SIRIX_OK) {
        status = range_end(run, plan->children[1], &to, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out = from.kind == SIRIX_ITEM_NONE || to.kind == SIRIX_ITEM_NONE
               ? (struct sirix_sequence){0}
               : sirix_sequence_range(from.value.integer, to.value.integer);
    return SIRIX_OK;
}

/* --- Types ----------------------------------------------------------------------------------------- */

static enum sirix_status instance_of(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    bool matches = false;
    enum sirix_status status = sirix_run_all(run, plan->children[0], &value, err);

    if (status == SIRIX_OK) {
        status = sirix_sequence_matches(&run->work, &value, &plan->type, &matches, err);
    }
    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(matches);
    }
    return status;
}

/* The operand of a cast: one atomic item, or none where the type allows it (*out_none). */
static enum sirix_status cast_operand(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = sirix_run_one(run, plan->children[0], &item, err);

    if (status == SIRIX_OK) {
        *out = item;
        status = item.kind == SIRIX_ITEM_NONE ? SIRIX_OK
                                              : sirix_item_atomise_one(&run->work, item, out, err);
    }
    if (status == SIRIX_OK && out->kind == SIRIX_ITEM_NONE &&
        plan->type.occurrence != SIRIX_OCCURRENCE_OPTIONAL) {
        return sirix_query_fail(err, "XPTY0004", "an empty sequence cannot be cast to %s",
                                sirix_type_name(plan->type.type));
    }
    return status;
}

static enum sirix_status cast_as(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = cast_operand(run, plan, &item, err);

    if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
        status = sirix_item_cast(&run->work, item, plan->type.type, &item, err);
    }
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

static enum sirix_status castable_as(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    const struct sirix_sequence_type any = {.type = SIRIX_TYPE_ATOMIC,
                                            .occurrence = SIRIX_OCCURRENCE_MANY};
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan->children[0], &value, err);
    bool castable = false;

    if (status == SIRIX_OK) { /* Members for arrays; what is no value at all is an error. */
        status = sirix_sequence_convert(&run->work, &value, &any, "what is cast", &value, err);
    }
    if (status == SIRIX_OK && value.count == 0) {
        castable = plan->type.occurrence == SIRIX_OCCURRENCE_OPTIONAL;
    } else if (status == SIRIX_OK && value.count == 1) {
        status = sirix_item_castable(&run->work, sirix_sequence_at(&value, 0), plan->type.type,
                                     &castable, err);
    }
    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(castable);
    }
    return status;
}

static enum sirix_status quantified(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    bool value = false;
    enum sirix_status status = sirix_run_quantified(run, plan, &value, err);

    if (status == SIRIX_OK) {
        *out = sirix_item_boolean(value);
    }
    return status;
}

static enum sirix_status context(const struct sirix_run *run, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    if (run->focus.item.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail(err, "XPDY0002", "there is no context item here");
    }
    *out = run->focus.item;
    return SIRIX_OK;
}

enum sirix_status sirix_run_operator(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, struct sirix_query_error *err)
{
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_CONTEXT:
        return context(run, out, err);
    case SIRIX_PLAN_OR:
    case SIRIX_PLAN_AND:
        return logic(run, plan, out, err);
    case SIRIX_PLAN_NOT:
        return negation(run, plan, out, err);
    case SIRIX_PLAN_COMPARE:
        return compare(run, plan, out, err);
    case SIRIX_PLAN_COMPARE_ANY:
        return compare_any(run, plan, out, err);
    case SIRIX_PLAN_CONCAT:
        return concat(run, plan, out, err);
    case SIRIX_PLAN_ARITHMETIC:
        return arithmetic(run, plan, out, err);
    case SIRIX_PLAN_UNARY:
        return unary(run, plan, out, err);
    case SIRIX_PLAN_INSTANCE_OF:
        return instance_of(run, plan, out, err);
    case SIRIX_PLAN_CASTABLE_AS:
        return castable_as(run, plan, out, err);
    case SIRIX_PLAN_CAST_AS:
    case SIRIX_PLAN_CALL_CAST:
        return cast_as(run, plan, out, err);
    case SIRIX_PLAN_SOME:
    case SIRIX_PLAN_EVERY:
        return quantified(run, plan, out, err);
    case SIRIX_PLAN_OBJECT:
    case SIRIX_PLAN_MERGE:
        return sirix_run_object(run, plan, out, err);
    case SIRIX_PLAN_ARRAY:
        return sirix_run_array(run, plan, out, err);
    case SIRIX_PLAN_CLOSURE:
    case SIRIX_PLAN_FUNCTION_ITEM:
    case SIRIX_PLAN_PARTIAL:
        return sirix_run_function_item(run, plan, out, err);
    default:
        return sirix_fail(&err->base, SIRIX_INTERNAL, "a plan has a %u where an operator belongs",
                          plan->kind);
    }
}
