/* The heart of the run: which kind of expression is evaluated where, and in which form. */
#include "query/run/run.h"

enum sirix_status sirix_run_too_deep(struct sirix_query_error *err)
{
    return sirix_query_fail_limit(err, "stack_bytes",
                                  "expressions or function calls are nested too deep");
}

/* --- Sinks ---------------------------------------------------------------------------------------- */

static enum sirix_status collect(struct sirix_sink *sink, struct sirix_run *run,
                                 const struct sirix_item *item, struct sirix_query_error *err)
{
    struct sirix_collector *collector = (struct sirix_collector *)sink;

    if (sirix_item_has_memory(item) || collector->to->count == collector->to->cap) {
        run->kept++;
    }
    return sirix_sequence_append(&run->work, collector->to, *item, err);
}

void sirix_collector_init(struct sirix_collector *collector, struct sirix_sequence *to)
{
    collector->sink = (struct sirix_sink){.take = collect, .want = UINT64_MAX};
    collector->to = to;
}

static enum sirix_status leave_scope(struct sirix_sink *sink, struct sirix_run *run,
                                     const struct sirix_item *item, struct sirix_query_error *err)
{
    struct sirix_scope *scope = (struct sirix_scope *)sink;
    struct sirix_slot *const frame = run->frame;
    const struct sirix_focus focus = run->focus;

    run->frame = scope->frame;
    run->focus = scope->focus;
    enum sirix_status status = scope->outer->take(scope->outer, run, item, err);
    run->frame = frame;
    run->focus = focus;
    return status;
}

void sirix_scope_init(struct sirix_scope *scope, const struct sirix_run *run,
                      struct sirix_sink *outer)
{
    scope->sink = (struct sirix_sink){.take = leave_scope, .want = outer->want};
    scope->outer = outer;
    scope->frame = run->frame;
    scope->focus = run->focus;
}

enum sirix_status sirix_run_give(struct sirix_run *run, const struct sirix_sequence *sequence,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    const struct sirix_sequence items = *sequence; /* The variable may be set meanwhile. */
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < items.count && status == SIRIX_OK; i++) {
        const struct sirix_item item = sirix_sequence_at(&items, i);

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sink->take(sink, run, &item, err);
        }
    }
    return status;
}

/* --- Variables ------------------------------------------------------------------------------------ */

enum sirix_status sirix_run_frame(struct sirix_run *run, uint32_t slot_count,
                                  struct sirix_slot **out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(run->frames, slot_count == 0 ? 1 : slot_count,
                                                  sizeof(struct sirix_slot), &memory, &err->base);

    if (status == SIRIX_OK) {
        *out = memory;
    }
    return status;
}

static enum sirix_status check_global(struct sirix_run *run, const struct sirix_plan_global *global,
                                      const struct sirix_sequence *value,
                                      struct sirix_query_error *err)
{
    char type[128];
    bool matches = false;
    enum sirix_status status =
        sirix_sequence_matches(&run->work, value, &global->type, &matches, err);

    if (status == SIRIX_OK && !matches) {
        sirix_sequence_type_show(&global->type, type, sizeof(type));
        return sirix_query_fail_at(err, global->line, global->column, "XPTY0004",
                                   "the value of $%.*s is not of type %s", (int)global->name.len,
                                   (const char *)global->name.data, type);
    }
    return status;
}

static enum sirix_status evaluate_global(struct sirix_run *run,
                                         const struct sirix_plan_global *global,
                                         struct sirix_sequence *out, struct sirix_query_error *err)
{
    const struct sirix_focus focus = run->focus;
    struct sirix_slot *const frame = run->frame;
    struct sirix_arena_mark mark = sirix_arena_mark(run->frames);
    bool found = false;
    enum sirix_status status = SIRIX_OK;

    if (global->external && run->external != NULL) {
        status = run->external(run->external_context, global, out, &found, err);
    }
    if (status == SIRIX_OK && !found && global->body == NULL) {
        return sirix_query_fail_at(err, global->line, global->column, "XPDY0002",
                                   "the external variable $%.*s has no value",
                                   (int)global->name.len, (const char *)global->name.data);
    }
    if (status == SIRIX_OK && !found) {
        run->focus = run->initial_focus;
        status = sirix_run_frame(run, global->slot_count, &run->frame, err);
        if (status == SIRIX_OK) {
            status = sirix_run_all(run, global->body, out, err);
        }
        run->frame = frame;
        run->focus = focus;
        sirix_arena_rewind(run->frames, mark);
    }
    return status == SIRIX_OK && global->typed ? check_global(run, global, out, err) : status;
}

enum sirix_status sirix_run_global_value(struct sirix_run *run, uint32_t number,
                                         const struct sirix_slot **out,
                                         struct sirix_query_error *err)
{
    const struct sirix_plan_global *global = &run->plan->globals[number];
    struct sirix_run_global *state = &run->globals[number];
    struct sirix_arena *const arena = run->work.arena;
    struct sirix_sequence value = {0};

    if (state->ready) {
        *out = &state->slot;
        return SIRIX_OK;
    }
    if (state->running) {
        return sirix_query_fail_at(err, global->line, global->column, "XQDY0054",
                                   "the value of $%.*s depends on itself", (int)global->name.len,
                                   (const char *)global->name.data);
    }
    state->running = true;
    run->work.arena = run->global;
    enum sirix_status status = evaluate_global(run, global, &value, err);
    run->work.arena = arena;
    if (status == SIRIX_OK) {
        sirix_slot_set(&state->slot, &value);
        sirix_run_stamp(run, &state->slot);
        state->ready = true;
        *out = &state->slot;
    }
    state->running = false;
    return status;
}

static enum sirix_status slot_of(struct sirix_run *run, const struct sirix_plan *plan,
                                 const struct sirix_slot **out, struct sirix_query_error *err)
{
    if (plan->kind == SIRIX_PLAN_GLOBAL) {
        return sirix_run_global_value(run, plan->slot, out, err);
    }
    *out = &run->frame[plan->slot];
    return SIRIX_OK;
}

static enum sirix_status context_item(const struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    if (run->focus.item.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPDY0002",
                                   "there is no context item here");
    }
    *out = run->focus.item;
    return SIRIX_OK;
}

/* --- Forms ---------------------------------------------------------------------------------------- */

static enum sirix_status located(enum sirix_status status, const struct sirix_plan *plan,
                                 struct sirix_query_error *err)
{
    if (sirix_run_failed(status)) {
        sirix_query_error_locate(err, plan->line, plan->column);
    }
    return status;
}

static enum sirix_status push_variable(struct sirix_run *run, const struct sirix_plan *plan,
                                       struct sirix_sink *sink, struct sirix_query_error *err)
{
    const struct sirix_slot *slot = NULL;
    enum sirix_status status = slot_of(run, plan, &slot, err);

    if (status == SIRIX_OK && slot->value.count == 1) {
        const struct sirix_item item = sirix_sequence_at(&slot->value, 0);
        return sink->take(sink, run, &item, err);
    }
    return status == SIRIX_OK ? sirix_run_give(run, &slot->value, sink, err) : status;
}

static enum sirix_status push_scalar(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = sirix_run_operator(run, plan, &item, err);

    if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    return sink->take(sink, run, &item, err);
}

static enum sirix_status push_sequence(struct sirix_run *run, const struct sirix_plan *plan,
                                       struct sirix_sink *sink, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK; i++) {
        status = sirix_run_push(run, plan->children[i], sink, err);
    }
    return status;
}

static enum sirix_status push(struct sirix_run *run, const struct sirix_plan *plan,
                              struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence range = {0};
    enum sirix_status status = SIRIX_OK;

    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_EMPTY:
        return SIRIX_OK;
    case SIRIX_PLAN_CONSTANT:
        return sink->take(sink, run, &plan->item, err);
    case SIRIX_PLAN_VARIABLE:
    case SIRIX_PLAN_GLOBAL:
        return push_variable(run, plan, sink, err);
    case SIRIX_PLAN_SEQUENCE:
        return push_sequence(run, plan, sink, err);
    case SIRIX_PLAN_RANGE:
        status = sirix_run_range(run, plan, &range, err);
        return status == SIRIX_OK ? sirix_run_give(run, &range, sink, err) : status;
    case SIRIX_PLAN_UNION:
    case SIRIX_PLAN_INTERSECT:
        return sirix_run_sets(run, plan, sink, err);
    case SIRIX_PLAN_MAP:
    case SIRIX_PLAN_IF:
    case SIRIX_PLAN_SWITCH:
    case SIRIX_PLAN_TYPESWITCH:
    case SIRIX_PLAN_TRY:
    case SIRIX_PLAN_TREAT_AS:
        return sirix_run_control(run, plan, sink, err);
    case SIRIX_PLAN_FLWOR:
        return sirix_run_flwor(run, plan, sink, err);
    case SIRIX_PLAN_CALL:
    case SIRIX_PLAN_CALL_USER:
    case SIRIX_PLAN_CALL_SPECIAL:
    case SIRIX_PLAN_DYNAMIC_CALL:
        return sirix_run_call(run, plan, sink, err);
    case SIRIX_PLAN_FIELD:
    case SIRIX_PLAN_DESCENDANT:
    case SIRIX_PLAN_LOOKUP:
    case SIRIX_PLAN_MEMBER:
    case SIRIX_PLAN_SLICE:
    case SIRIX_PLAN_UNBOX:
    case SIRIX_PLAN_PROJECT:
        return sirix_run_path(run, plan, sink, err);
    case SIRIX_PLAN_PREDICATE:
    case SIRIX_PLAN_FILTER:
        return sirix_run_predicate(run, plan, sink, err);
    case SIRIX_PLAN_INSERT:
    case SIRIX_PLAN_APPEND:
    case SIRIX_PLAN_DELETE:
    case SIRIX_PLAN_REPLACE:
    case SIRIX_PLAN_RENAME:
        return sirix_run_update(run, plan, err);
    case SIRIX_PLAN_COPY:
        return sirix_run_copy(run, plan, sink, err);
    case SIRIX_PLAN_BLOCK:
    case SIRIX_PLAN_DECLARE:
    case SIRIX_PLAN_ASSIGN:
    case SIRIX_PLAN_WHILE:
    case SIRIX_PLAN_BREAK:
    case SIRIX_PLAN_CONTINUE:
    case SIRIX_PLAN_EXIT:
        return sirix_run_script(run, plan, sink, err);
    default:
        return push_scalar(run, plan, sink, err);
    }
}

enum sirix_status sirix_run_push(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_run_deep(run, err);

    if (status == SIRIX_OK) {
        status = sirix_work_tick(&run->work, 1, err);
    }
    return located(status == SIRIX_OK ? push(run, plan, sink, err) : status, plan, err);
}

/* One item at most, for which a sink is needed. */
struct one_sink {
    struct sirix_sink sink;
    struct sirix_item item;
};

static enum sirix_status take_one(struct sirix_sink *sink, struct sirix_run *run,
                                  const struct sirix_item *item, struct sirix_query_error *err)
{
    struct one_sink *one = (struct one_sink *)sink;

    if (one->item.kind != SIRIX_ITEM_NONE) {
        return sirix_query_fail(err, "XPTY0004",
                                "a sequence of several items stands where one is expected");
    }
    if (sirix_item_has_memory(item)) {
        run->kept++;
    }
    one->item = *item;
    return SIRIX_OK;
}

static enum sirix_status one_pushed(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct one_sink one = {.sink = {.take = take_one, .want = 2}};
    const struct sirix_arena_mark mark = sirix_arena_mark(run->work.arena);
    const uint64_t kept = run->kept;
    enum sirix_status status = sirix_run_push(run, plan, &one.sink, err);

    if ((plan->flags & SIRIX_PLAN_UPDATING) == 0) {
        run->kept = kept;
        if (status == SIRIX_OK && !sirix_item_has_memory(&one.item)) {
            sirix_arena_rewind(run->work.arena, mark); /* All that is left of it is the item. */
        }
    }
    if (status == SIRIX_OK) {
        *out = one.item;
    }
    return status;
}

static enum sirix_status few_variable(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, bool *out_many,
                                      struct sirix_query_error *err)
{
    const struct sirix_slot *slot = NULL;
    enum sirix_status status = slot_of(run, plan, &slot, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (slot->value.count > 1) {
        *out_many = true;
        return SIRIX_OK;
    }
    *out = slot->value.count == 0 ? (struct sirix_item){0} : sirix_sequence_at(&slot->value, 0);
    return SIRIX_OK;
}

static enum sirix_status few_field(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_item *out, bool *out_many,
                                   struct sirix_query_error *err)
{
    struct sirix_item base = {0};
    enum sirix_status status = sirix_run_few(run, plan->children[0], &base, out_many, err);

    if (status != SIRIX_OK || *out_many) {
        return status;
    }
    status = sirix_run_field_of(run, plan, &base, out, err);
    *out_many = status == SIRIX_OK && sirix_item_spreads(*out);
    return status;
}

enum sirix_status sirix_run_few(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_item *out, bool *out_many,
                                struct sirix_query_error *err)
{
    enum sirix_status status = sirix_run_deep(run, err);
    bool known = true;

    *out_many = false;
    if (status != SIRIX_OK) {
        return located(status, plan, err);
    }
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_CONSTANT:
        *out = plan->item;
        return SIRIX_OK;
    case SIRIX_PLAN_VARIABLE:
    case SIRIX_PLAN_GLOBAL:
        return located(few_variable(run, plan, out, out_many, err), plan, err);
    case SIRIX_PLAN_CONTEXT:
        return context_item(run, plan, out, err);
    case SIRIX_PLAN_FIELD:
        return located(few_field(run, plan, out, out_many, err), plan, err);
    case SIRIX_PLAN_CALL:
    case SIRIX_PLAN_CALL_SPECIAL:
        status = sirix_run_call_one(run, plan, out, &known, err);
        *out_many = !known;
        return located(status, plan, err);
    case SIRIX_PLAN_EMPTY:
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    case SIRIX_PLAN_OR:
    case SIRIX_PLAN_AND:
    case SIRIX_PLAN_NOT:
    case SIRIX_PLAN_COMPARE:
    case SIRIX_PLAN_COMPARE_ANY:
    case SIRIX_PLAN_CONCAT:
    case SIRIX_PLAN_ARITHMETIC:
    case SIRIX_PLAN_UNARY:
    case SIRIX_PLAN_INSTANCE_OF:
    case SIRIX_PLAN_CASTABLE_AS:
    case SIRIX_PLAN_CAST_AS:
    case SIRIX_PLAN_CALL_CAST:
    case SIRIX_PLAN_SOME:
    case SIRIX_PLAN_EVERY:
    case SIRIX_PLAN_OBJECT:
    case SIRIX_PLAN_ARRAY:
    case SIRIX_PLAN_MERGE:
    case SIRIX_PLAN_CLOSURE:
    case SIRIX_PLAN_FUNCTION_ITEM:
    case SIRIX_PLAN_PARTIAL:
        return located(sirix_run_operator(run, plan, out, err), plan, err);
    default:
        *out_many = true;
        return SIRIX_OK;
    }
}

enum sirix_status sirix_run_one(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_item *out, struct sirix_query_error *err)
{
    bool many = false;
    enum sirix_status status = sirix_run_few(run, plan, out, &many, err);

    return status == SIRIX_OK && many ? one_pushed(run, plan, out, err) : status;
}

enum sirix_status sirix_run_atom(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = sirix_run_one(run, plan, &item, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (item.kind == SIRIX_ITEM_NONE || sirix_item_is_atomic(item)) {
        *out = item;
        return SIRIX_OK;
    }
    return located(sirix_item_atomise_one(&run->work, item, out, err), plan, err);
}

enum sirix_status sirix_run_all(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_sequence *out, struct sirix_query_error *err)
{
    const struct sirix_slot *slot = NULL;
    struct sirix_collector collector;
    struct sirix_sequence all = {0};
    struct sirix_item item = {0};
    const uint64_t kept = run->kept;
    enum sirix_status status = SIRIX_OK;
    bool many = false;

    if (plan->kind == SIRIX_PLAN_VARIABLE || plan->kind == SIRIX_PLAN_GLOBAL) {
        status = slot_of(run, plan, &slot, err);
        if (status == SIRIX_OK && slot->value.count != 1) {
            *out = slot->value;
            out->cap = out->count; /* Whoever adds to it makes a copy. */
            return SIRIX_OK;
        }
    }
    if (plan->kind == SIRIX_PLAN_RANGE) {
        return located(sirix_run_range(run, plan, out, err), plan, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_run_few(run, plan, &item, &many, err);
    }
    if (status == SIRIX_OK && !many) {
        if (item.kind == SIRIX_ITEM_NONE) {
            *out = (struct sirix_sequence){0};
            return SIRIX_OK;
        }
        return sirix_sequence_single(&run->work, item, out, err);
    }
    sirix_collector_init(&collector, &all);
    if (status == SIRIX_OK) {
        status = sirix_run_push(run, plan, &collector.sink, err);
    }
    if ((plan->flags & SIRIX_PLAN_UPDATING) ==
        0) { /* Updates stay, whatever becomes of the value. */
        run->kept = kept;
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

/* --- Effective boolean value ----------------------------------------------------------------------- */

struct truth_sink {
    struct sirix_sink sink;
    struct sirix_item items[2];
    size_t count;
    bool stopped;
};

static enum sirix_status take_truth(struct sirix_sink *sink, struct sirix_run *run,
                                    const struct sirix_item *item, struct sirix_query_error *err)
{
    struct truth_sink *truth = (struct truth_sink *)sink;

    (void)err;
    if (sirix_item_has_memory(item)) {
        run->kept++;
    }
    truth->items[truth->count++] = *item;
    truth->stopped = truth->count == 2 || sirix_item_is_structured(*item);
    return truth->stopped ? SIRIX_RUN_STOP : SIRIX_OK;
}

enum sirix_status sirix_run_truth(struct sirix_run *run, const struct sirix_plan *plan, bool *out,
                                  struct sirix_query_error *err)
{
    struct truth_sink truth = {.sink = {.take = take_truth, .want = 2}};
    struct sirix_sequence items = {.items = truth.items};
    const struct sirix_arena_mark mark = sirix_arena_mark(run->work.arena);
    const uint64_t kept = run->kept;
    bool many = false;
    enum sirix_status status = sirix_run_few(run, plan, &truth.items[0], &many, err);

    if (status == SIRIX_OK && !many && truth.items[0].kind == SIRIX_ITEM_BOOLEAN) {
        *out = truth.items[0].value.boolean;
        if (run->kept == kept) {
            sirix_arena_rewind(run->work.arena, mark);
        }
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && !many) {
        truth.count = truth.items[0].kind == SIRIX_ITEM_NONE ? 0 : 1;
    } else if (status == SIRIX_OK) {
        truth.items[0] = (struct sirix_item){0};
        status = sirix_run_push(run, plan, &truth.sink, err);
        status = status == SIRIX_RUN_STOP && truth.stopped ? SIRIX_OK : status;
        run->kept = kept;
    }
    if (status != SIRIX_OK) {
        return status;
    }
    items.count = truth.count;
    return located(sirix_sequence_truth(&run->work, &items, out, err), plan, err);
}
