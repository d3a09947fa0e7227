/* The clauses of FLWOR expressions and the phases that they make. */
#include "query/run/flwor.h"

enum sirix_status sirix_run_bind(struct sirix_run *run, const struct sirix_plan *clause,
                                 struct sirix_slot *slot, const struct sirix_sequence *value,
                                 struct sirix_query_error *err)
{
    bool matches = true;
    char type[128];
    enum sirix_status status = SIRIX_OK;

    if (clause->typed) {
        status = sirix_sequence_matches(&run->work, value, &clause->type, &matches, err);
        if (status == SIRIX_OK && !matches) {
            sirix_sequence_type_show(&clause->type, type, sizeof(type));
            return sirix_query_fail_at(err, clause->line, clause->column, "XPTY0004",
                                       "the value of the variable is not of type %s", type);
        }
    }
    if (status == SIRIX_OK) {
        sirix_slot_set(slot, value);
        sirix_run_stamp(run, slot);
    }
    return status;
}

/* --- for ------------------------------------------------------------------------------------------- */

/* Holds a first array back until it is known whether it is the only item. */
struct unwrap_sink {
    struct sirix_sink sink;
    struct sirix_sink *outer;
    struct sirix_item held;
    bool started;
};

static enum sirix_status take_unwrap(struct sirix_sink *sink, struct sirix_run *run,
                                     const struct sirix_item *item, struct sirix_query_error *err)
{
    struct unwrap_sink *unwrap = (struct unwrap_sink *)sink;
    enum sirix_status status = SIRIX_OK;

    if (!unwrap->started && item->kind == SIRIX_ITEM_ARRAY) {
        unwrap->held = *item;
        unwrap->started = true;
        run->kept++;
        return SIRIX_OK;
    }
    unwrap->started = true;
    if (unwrap->held.kind != SIRIX_ITEM_NONE) {
        const struct sirix_item held = unwrap->held;

        unwrap->held = (struct sirix_item){0};
        status = unwrap->outer->take(unwrap->outer, run, &held, err);
    }
    return status == SIRIX_OK ? unwrap->outer->take(unwrap->outer, run, item, err) : status;
}

/* The array of e[] where that is one array of several members: what is in them does not matter then. */
static enum sirix_status several_members(struct sirix_run *run, const struct sirix_plan *items,
                                         struct sirix_item *out, bool *out_several,
                                         struct sirix_query_error *err)
{
    uint64_t size = 0;
    bool many = false;
    enum sirix_status status = SIRIX_OK;

    *out_several = false;
    if (items->kind != SIRIX_PLAN_UNBOX) {
        return SIRIX_OK;
    }
    status = sirix_run_few(run, items->children[0], out, &many, err);
    if (status != SIRIX_OK || many || out->kind != SIRIX_ITEM_ARRAY ||
        !sirix_container_is_stored(*out)) {
        return status;
    }
    status = sirix_container_size(&run->work, *out, &size, err);
    *out_several = size > 1;
    return status;
}

enum sirix_status sirix_run_for_items(struct sirix_run *run, const struct sirix_plan *clause,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    const struct sirix_plan *items = clause->children[0];
    struct unwrap_sink unwrap = {.sink = {.take = take_unwrap, .want = UINT64_MAX}, .outer = sink};
    struct sirix_item only = {0};
    bool several = false;
    bool many = false;

    if ((clause->flags & SIRIX_PLAN_UNWRAP) == 0) {
        return sirix_run_push(run, items, sink, err);
    }
    enum sirix_status status = several_members(run, items, &only, &several, err);
    if (status == SIRIX_OK && several) {
        return sirix_run_children(run, &only, sink, err);
    }
    if (status == SIRIX_OK) {
        only = (struct sirix_item){0};
        status = sirix_run_few(run, items, &only, &many, err);
    }
    if (status != SIRIX_OK || (!many && only.kind == SIRIX_ITEM_NONE)) {
        return status;
    }
    if (!many) {
        return only.kind == SIRIX_ITEM_ARRAY ? sirix_run_children(run, &only, sink, err)
                                             : sink->take(sink, run, &only, err);
    }
    status = sirix_run_push(run, items, &unwrap.sink, err);
    if (status == SIRIX_OK && unwrap.held.kind != SIRIX_ITEM_NONE) {
        status = sirix_run_children(run, &unwrap.held, sink, err);
    }
    return status;
}

struct for_sink {
    struct sirix_sink sink;
    struct sirix_flwor *flwor;
    const struct sirix_plan *clause;
    uint32_t next;
    uint64_t position;
    uint64_t to_skip; /* What sink.skip was, until the first item. */
};

static enum sirix_status for_tuple(struct sirix_run *run, struct for_sink *at,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    const struct sirix_plan *clause = at->clause;
    enum sirix_status status = SIRIX_OK;

    if (clause->typed) {
        struct sirix_item copy = *item;
        const struct sirix_sequence value =
            item->kind == SIRIX_ITEM_NONE ? (struct sirix_sequence){0} : sirix_sequence_of(&copy);

        status = sirix_run_bind(run, clause, &run->frame[clause->slot], &value, err);
    } else if (item->kind == SIRIX_ITEM_NONE) {
        run->frame[clause->slot].value = (struct sirix_sequence){0};
    } else {
        sirix_slot_set_item(&run->frame[clause->slot], item);
    }
    if (status == SIRIX_OK && clause->position_slot != SIRIX_PLAN_NO_SLOT) {
        const struct sirix_item position = sirix_item_integer((int64_t)at->position);

        sirix_slot_set_item(&run->frame[clause->position_slot], &position);
    }
    return status == SIRIX_OK ? sirix_flwor_chain(run, at->flwor, at->next, err) : status;
}

static enum sirix_status take_for(struct sirix_sink *sink, struct sirix_run *run,
                                  const struct sirix_item *item, struct sirix_query_error *err)
{
    struct for_sink *at = (struct for_sink *)sink;
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);

    if (at->to_skip != 0) {
        at->position += at->to_skip - *sink->skip;
        at->to_skip = 0;
    }
    at->position++;
    enum sirix_status status = for_tuple(run, at, item, err);
    sirix_run_turn_end(run, &turn);
    return status;
}

static enum sirix_status for_clause(struct sirix_run *run, struct sirix_flwor *flwor,
                                    uint32_t clause, struct sirix_query_error *err)
{
    const struct sirix_plan *plan = flwor->plan->children[clause];
    struct for_sink at = {.sink = {.take = take_for, .want = UINT64_MAX},
                          .flwor = flwor,
                          .clause = plan,
                          .next = clause + 1};

    if (flwor->joins != NULL && flwor->joins[clause] != NULL) {
        return sirix_flwor_join_give(run, flwor->joins[clause], flwor, clause, err);
    }
    if ((plan->flags & SIRIX_PLAN_ONE_EACH) != 0 && flwor->sink->skip != NULL) {
        at.sink.skip = flwor->sink->skip;
        at.to_skip = *flwor->sink->skip;
    }
    enum sirix_status status = sirix_run_for_items(run, plan, &at.sink, err);
    if (status == SIRIX_OK && at.position == 0 && (plan->flags & SIRIX_PLAN_ALLOWING_EMPTY) != 0) {
        const struct sirix_item none = {0};

        status = for_tuple(run, &at, &none, err);
    }
    return status;
}

/* --- The other clauses ----------------------------------------------------------------------------- */

static enum sirix_status let_clause(struct sirix_run *run, const struct sirix_plan *clause,
                                    struct sirix_query_error *err)
{
    struct sirix_slot *slot = &run->frame[clause->slot];
    struct sirix_sequence value = {0};
    struct sirix_item item = {0};
    bool many = clause->typed;
    enum sirix_status status = SIRIX_OK;

    if (!clause->typed) {
        status = sirix_run_few(run, clause->children[0], &item, &many, err);
    }
    if (status == SIRIX_OK && !many) {
        if (item.kind == SIRIX_ITEM_NONE) {
            slot->value = (struct sirix_sequence){0};
        } else {
            sirix_slot_set_item(slot, &item);
        }
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_run_all(run, clause->children[0], &value, err);
    }
    return status == SIRIX_OK ? sirix_run_bind(run, clause, slot, &value, err) : status;
}

/* What an error on the way may have left behind. */
struct before {
    struct sirix_slot *frame;
    struct sirix_focus focus;
    struct sirix_arena *arena;
};

static struct before remember(const struct sirix_run *run)
{
    return (struct before){.frame = run->frame, .focus = run->focus, .arena = run->work.arena};
}

static enum sirix_status forgive(struct sirix_run *run, const struct before *before,
                                 enum sirix_status status, bool *out_failed,
                                 struct sirix_query_error *err)
{
    *out_failed = false;
    if (status == SIRIX_OK || !sirix_query_error_catchable(err)) {
        return status;
    }
    run->frame = before->frame;
    run->focus = before->focus;
    run->work.arena = before->arena;
    *err = (struct sirix_query_error){.line = 0};
    *out_failed = true;
    return SIRIX_OK;
}

enum sirix_status sirix_flwor_early_truth(struct sirix_run *run, const struct sirix_plan *plan,
                                          bool *out, bool *out_failed,
                                          struct sirix_query_error *err)
{
    const struct before before = remember(run);

    return forgive(run, &before, sirix_run_truth(run, plan, out, err), out_failed, err);
}

enum sirix_status sirix_flwor_early_key(struct sirix_run *run, const struct sirix_plan *plan,
                                        struct sirix_item *out, bool *out_failed,
                                        struct sirix_query_error *err)
{
    const struct before before = remember(run);
    bool one = true;
    enum sirix_status status =
        forgive(run, &before, sirix_join_key(run, plan, out, &one, err), out_failed, err);

    *out_failed = *out_failed || !one;
    return status;
}

/* Whether the tuple passes. */
static enum sirix_status ask(struct sirix_run *run, const struct sirix_flwor *flwor,
                             const struct sirix_plan *where, bool *out,
                             struct sirix_query_error *err)
{
    bool failed = false;
    enum sirix_status status = SIRIX_OK;

    if ((where->flags & (SIRIX_PLAN_EARLY | SIRIX_PLAN_OF_ITEM)) == 0) {
        return sirix_run_truth(run, where->children[0], out, err);
    }
    if ((where->flags & SIRIX_PLAN_OF_ITEM) != 0) {
        *out = true;
        return flwor->ask_of_items ? sirix_run_truth(run, where->children[0], out, err) : SIRIX_OK;
    }
    status = sirix_flwor_early_truth(run, where->children[0], out, &failed, err);
    *out = *out || failed;
    return status;
}

static void count_clause(struct sirix_run *run, struct sirix_flwor *flwor, uint32_t clause)
{
    const struct sirix_item number = sirix_item_integer((int64_t)++flwor->counts[clause]);

    sirix_slot_set_item(&run->frame[flwor->plan->children[clause]->slot], &number);
}

/* A tuple that has passed all clauses of the phase. */
static enum sirix_status end_of_phase(struct sirix_run *run, struct sirix_flwor *flwor,
                                      struct sirix_query_error *err)
{
    if (flwor->groups != NULL) {
        return sirix_flwor_groups_add(run, flwor->groups, err);
    }
    if (flwor->order != NULL) {
        return sirix_flwor_order_add(run, flwor->order, err);
    }
    return sirix_run_push(run, flwor->plan->children[flwor->clause_count], flwor->sink, err);
}

enum sirix_status sirix_flwor_chain(struct sirix_run *run, struct sirix_flwor *flwor,
                                    uint32_t clause, struct sirix_query_error *err)
{
    bool passes = true;
    enum sirix_status status = sirix_run_deep(run, err);

    for (; status == SIRIX_OK && passes && clause < flwor->stop; clause++) {
        const struct sirix_plan *plan = flwor->plan->children[clause];

        switch ((enum sirix_plan_kind)plan->kind) {
        case SIRIX_PLAN_FOR:
            return for_clause(run, flwor, clause, err);
        case SIRIX_PLAN_WINDOW:
            return sirix_flwor_window(run, flwor, clause, err);
        case SIRIX_PLAN_LET:
            status = let_clause(run, plan, err);
            break;
        case SIRIX_PLAN_WHERE:
            status = ask(run, flwor, plan, &passes, err);
            break;
        default:
            count_clause(run, flwor, clause);
            break;
        }
    }
    return status == SIRIX_OK && passes ? end_of_phase(run, flwor, err) : status;
}

/* --- Phases ---------------------------------------------------------------------------------------- */

static uint32_t next_stop(const struct sirix_flwor *flwor, uint32_t from)
{
    uint32_t clause = from;

    while (clause < flwor->clause_count &&
           flwor->plan->children[clause]->kind != SIRIX_PLAN_GROUP &&
           flwor->plan->children[clause]->kind != SIRIX_PLAN_ORDER) {
        clause++;
    }
    return clause;
}

/* The source of a phase: the one empty tuple, or what the phase before has taken in. */
struct source {
    struct sirix_flwor_groups *groups;
    struct sirix_flwor_order *order;
};

static enum sirix_status run_phase(struct sirix_run *run, struct sirix_flwor *flwor,
                                   const struct source *source, uint32_t start,
                                   struct sirix_query_error *err)
{
    if (source->groups != NULL) {
        return sirix_flwor_groups_give(run, source->groups, flwor, start, err);
    }
    if (source->order != NULL) {
        return sirix_flwor_order_give(run, source->order, flwor, start, err);
    }
    return sirix_flwor_chain(run, flwor, start, err);
}

static enum sirix_status make_joins(struct sirix_run *run, struct sirix_flwor *flwor,
                                    struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 1; i < flwor->clause_count && status == SIRIX_OK; i++) {
        if (flwor->plan->children[i]->inner_key == NULL) {
            continue;
        }
        if (flwor->joins == NULL) {
            status = sirix_arena_calloc(run->work.arena, flwor->clause_count,
                                        sizeof(struct sirix_flwor_join *), &memory, &err->base);
            flwor->joins = memory;
        }
        if (status == SIRIX_OK) {
            status = sirix_flwor_join_new(run, flwor->plan->children[i], &flwor->joins[i], err);
        }
    }
    return status;
}

enum sirix_status sirix_run_flwor(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_flwor flwor = {.plan = plan, .sink = sink, .clause_count = plan->child_count - 1};
    struct source source = {0};
    uint32_t start = 0;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(run->work.arena, flwor.clause_count,
                                                  sizeof(*flwor.counts), &memory, &err->base);

    flwor.counts = memory;
    if (status == SIRIX_OK) {
        status = make_joins(run, &flwor, err);
    }
    while (status == SIRIX_OK) {
        const uint64_t kept = run->kept;

        flwor.stop = next_stop(&flwor, start);
        flwor.groups = NULL;
        flwor.order = NULL;
        if (flwor.stop == flwor.clause_count) {
            return run_phase(run, &flwor, &source, start, err);
        }
        const struct sirix_plan *clause = plan->children[flwor.stop];
        status = clause->kind == SIRIX_PLAN_GROUP
                     ? sirix_flwor_groups_new(run, &flwor, flwor.stop, &flwor.groups, err)
                     : sirix_flwor_order_new(run, &flwor, flwor.stop, &flwor.order, err);
        if (status == SIRIX_OK) {
            status = run_phase(run, &flwor, &source, start, err);
        }
        run->kept = kept;
        source = (struct source){.groups = flwor.groups, .order = flwor.order};
        start = flwor.stop + 1;
    }
    return status;
}
