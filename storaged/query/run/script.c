/*
 * Statements: blocks, assignments, loops with a condition, early exits. The updates of a statement are
 * applied to values in memory before the next one starts; those to the store wait for the query's end.
 */
#include "query/run/update.h"

static enum sirix_status apply(struct sirix_run *run, struct sirix_query_error *err)
{
    return run->updates == NULL || run->updates->count == 0
               ? SIRIX_OK
               : sirix_updates_apply(run, run->updates, NULL, err);
}

static enum sirix_status block(struct sirix_run *run, const struct sirix_plan *plan,
                               struct sirix_sink *sink, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK; i++) {
        const bool last = i + 1 == plan->child_count;
        struct sirix_sequence ignored = {0};
        struct sirix_collector collector;

        if (plan->children[i] == NULL) {
            break;
        }
        if (last) {
            return sirix_run_push(run, plan->children[i], sink, err);
        }
        sirix_collector_init(&collector, &ignored);
        status = sirix_run_push(run, plan->children[i], &collector.sink, err);
        if (status == SIRIX_OK) {
            status = apply(run, err);
        }
    }
    return status;
}

static enum sirix_status set_variable(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_query_error *err)
{
    struct sirix_arena *const arena = run->work.arena;
    const struct sirix_slot *global = NULL;
    struct sirix_sequence value = {0};
    enum sirix_status status = SIRIX_OK;

    /* A variable that is set outlives the loop in which that happens. */
    run->work.arena = run->global;
    if (plan->child_count != 0 && plan->children[0] != NULL) {
        status = sirix_run_all(run, plan->children[0], &value, err);
    }
    run->work.arena = arena;
    if (status != SIRIX_OK) {
        return status;
    }
    if ((plan->flags & SIRIX_PLAN_GLOBAL_SLOT) != 0) {
        status = sirix_run_global_value(run, plan->slot, &global, err);
        if (status == SIRIX_OK) {
            sirix_slot_set(&run->globals[plan->slot].slot, &value);
        }
        return status;
    }
    return sirix_run_bind(run, plan, &run->frame[plan->slot], &value, err);
}

static enum sirix_status repeat(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_sink *sink, struct sirix_query_error *err)
{
    for (;;) {
        bool truth = false;
        enum sirix_status status = sirix_run_truth(run, plan->children[0], &truth, err);

        if (status != SIRIX_OK || !truth) {
            return status;
        }
        status = sirix_run_push(run, plan->children[1], sink, err);
        if (status == SIRIX_RUN_STOP && run->leave == SIRIX_LEAVE_BREAK) {
            run->leave = SIRIX_LEAVE_NONE;
            return apply(run, err);
        }
        if (status == SIRIX_RUN_STOP && run->leave == SIRIX_LEAVE_CONTINUE) {
            run->leave = SIRIX_LEAVE_NONE;
            status = SIRIX_OK;
        }
        if (status == SIRIX_OK) {
            status = apply(run, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
}

static enum sirix_status leave(struct sirix_run *run, enum sirix_run_leave how)
{
    run->leave = how;
    return SIRIX_RUN_STOP;
}

static enum sirix_status exit_with(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_query_error *err)
{
    struct sirix_arena *const arena = run->work.arena;

    run->work.arena = run->global;
    enum sirix_status status = sirix_run_all(run, plan->children[0], &run->exit_value, err);
    run->work.arena = arena;
    return status == SIRIX_OK ? leave(run, SIRIX_LEAVE_EXIT) : status;
}

enum sirix_status sirix_run_script(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, struct sirix_query_error *err)
{
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_BLOCK:
        return block(run, plan, sink, err);
    case SIRIX_PLAN_DECLARE:
    case SIRIX_PLAN_ASSIGN:
        return set_variable(run, plan, err);
    case SIRIX_PLAN_WHILE:
        return repeat(run, plan, sink, err);
    case SIRIX_PLAN_BREAK:
        return leave(run, SIRIX_LEAVE_BREAK);
    case SIRIX_PLAN_CONTINUE:
        return leave(run, SIRIX_LEAVE_CONTINUE);
    default:
        return exit_with(run, plan, err);
    }
}
