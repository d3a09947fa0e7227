/* Which calls can be added up tuple by tuple, and adding them up. */
#include "query/run/accumulate.h"

/* --- Finding ---------------------------------------------------------------------------------------- */

struct search {
    const struct sirix_plan *group;
    struct sirix_accumulators *found;
    bool
        closed; /* Behind a clause that takes tuples in: results of their groups are gone by then. */
};

static bool is_rest(const struct sirix_plan *group, uint32_t slot)
{
    for (uint32_t i = 0; i < group->list_count; i++) {
        if (group->slots[i] == slot) {
            return true;
        }
    }
    return false;
}

/* $r, $r.a, $r.a.b with names that do not change. */
static bool is_field_path(const struct sirix_plan *group, const struct sirix_plan *plan)
{
    while (plan->kind == SIRIX_PLAN_FIELD) {
        if (plan->children[1]->kind != SIRIX_PLAN_CONSTANT) {
            return false;
        }
        plan = plan->children[0];
    }
    return plan->kind == SIRIX_PLAN_VARIABLE && is_rest(group, plan->slot);
}

/* Whether an expression, without its parts, asks for a grouped variable as a whole. */
static bool asks_for_rest(const struct sirix_plan *group, const struct sirix_plan *plan)
{
    if (plan->kind == SIRIX_PLAN_VARIABLE || plan->kind == SIRIX_PLAN_GROUP_KEY) {
        return is_rest(group, plan->slot);
    }
    for (uint32_t i = 0; plan->kind == SIRIX_PLAN_CLOSURE && i < plan->user->capture_count; i++) {
        if (is_rest(group, plan->user->captures[i])) {
            return true;
        }
    }
    return false;
}

static bool look(struct search *search, const struct sirix_plan *plan)
{
    struct sirix_accumulators *found = search->found;

    if (plan == NULL) {
        return true;
    }
    if (plan->kind == SIRIX_PLAN_CALL && sirix_run_adds_up(plan) &&
        is_field_path(search->group, plan->children[0])) {
        if (search->closed || found->count == SIRIX_ACCUMULATORS_MAX) {
            return false;
        }
        found->calls[found->count++] = plan;
        return true;
    }
    if (asks_for_rest(search->group, plan)) {
        return false;
    }
    for (uint32_t i = 0; i < plan->child_count; i++) {
        if (!look(search, plan->children[i])) {
            return false;
        }
    }
    return true;
}

void sirix_accumulators_find(const struct sirix_plan *flwor, uint32_t group_clause,
                             struct sirix_accumulators *out)
{
    struct search search = {.group = flwor->children[group_clause], .found = out};

    *out = (struct sirix_accumulators){.covered = true};
    for (uint32_t i = group_clause + 1; i < flwor->child_count && out->covered; i++) {
        const struct sirix_plan *clause = flwor->children[i];

        out->covered = look(&search, clause);
        search.closed =
            search.closed || clause->kind == SIRIX_PLAN_GROUP || clause->kind == SIRIX_PLAN_ORDER;
    }
    if (!out->covered) {
        out->count = 0;
    }
}

/* --- Adding ----------------------------------------------------------------------------------------- */

enum sirix_status sirix_accumulate(struct sirix_run *run, const struct sirix_plan *call,
                                   struct sirix_accumulator *accumulator,
                                   struct sirix_query_error *err)
{
    struct sirix_query_error failed = {0};
    void *memory = NULL;

    if (accumulator->error != NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_run_add_up(run, call, &accumulator->sum, &failed);
    if (status == SIRIX_OK || !sirix_query_error_catchable(&failed)) {
        if (status != SIRIX_OK) {
            *err = failed;
        }
        return status;
    }
    accumulator->status = status;
    status = sirix_arena_alloc(run->work.arena, sizeof(failed), &memory, &err->base);
    if (status == SIRIX_OK) {
        run->kept++;
        memcpy(memory, &failed, sizeof(failed));
        accumulator->error = memory;
    }
    return status;
}
