/*
 * Windows: parts of a sequence between a start and an end. A tumbling window ends before the next one
 * starts; sliding ones overlap.
 */
#include "query/run/flwor.h"

struct windows {
    struct sirix_flwor *flwor;
    const struct sirix_plan *clause;
    const struct sirix_plan *start;
    const struct sirix_plan *end; /* NULL: up to the next start. */
    uint32_t next;
    struct sirix_sequence items;
};

static void bind_or_none(struct sirix_run *run, uint32_t slot, const struct sirix_sequence *items,
                         size_t at, bool exists)
{
    if (slot == SIRIX_PLAN_NO_SLOT) {
        return;
    }
    if (!exists) {
        run->frame[slot].value = (struct sirix_sequence){0};
    } else {
        const struct sirix_item item = sirix_sequence_at(items, at);

        sirix_slot_set_item(&run->frame[slot], &item);
    }
}

/* The variables of an edge for the item at an index. */
static void bind_edge(struct sirix_run *run, const struct windows *windows,
                      const struct sirix_plan *edge, size_t at)
{
    const struct sirix_item position = sirix_item_integer((int64_t)at + 1);

    bind_or_none(run, edge->slot, &windows->items, at, true);
    bind_or_none(run, edge->previous_slot, &windows->items, at - 1, at != 0);
    bind_or_none(run, edge->next_slot, &windows->items, at + 1, at + 1 < windows->items.count);
    if (edge->position_slot != SIRIX_PLAN_NO_SLOT) {
        sirix_slot_set_item(&run->frame[edge->position_slot], &position);
    }
}

static enum sirix_status edge_at(struct sirix_run *run, const struct windows *windows,
                                 const struct sirix_plan *edge, size_t at, bool *out,
                                 struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    enum sirix_status status = sirix_work_tick(&run->work, 1, err);

    bind_edge(run, windows, edge, at);
    if (status == SIRIX_OK) {
        status = sirix_run_truth(run, edge->children[0], out, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

/* Where a window that starts at `from` ends, both included; *out_ended false: at no end, but the last. */
static enum sirix_status find_end(struct sirix_run *run, const struct windows *windows, size_t from,
                                  size_t *out_end, bool *out_ended, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t at = from;
    bool ended = false;

    for (; at < windows->items.count && status == SIRIX_OK && !ended; at++) {
        if (windows->end != NULL) {
            status = edge_at(run, windows, windows->end, at, &ended, err);
        } else if (at + 1 < windows->items.count) {
            status = edge_at(run, windows, windows->start, at + 1, &ended, err);
        }
    }
    if (status == SIRIX_OK) {
        *out_end = at - 1;
        *out_ended = ended;
    }
    return status;
}

static enum sirix_status give_window(struct sirix_run *run, const struct windows *windows,
                                     size_t from, size_t end, struct sirix_query_error *err)
{
    const struct sirix_plan *clause = windows->clause;
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    const struct sirix_sequence part = sirix_sequence_part(&windows->items, from, end - from + 1);

    bind_edge(run, windows, windows->start, from);
    if (windows->end != NULL) {
        bind_edge(run, windows, windows->end, end);
    }
    enum sirix_status status = sirix_run_bind(run, clause, &run->frame[clause->slot], &part, err);
    if (status == SIRIX_OK) {
        status = sirix_flwor_chain(run, windows->flwor, windows->next, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

enum sirix_status sirix_flwor_window(struct sirix_run *run, struct sirix_flwor *flwor,
                                     uint32_t clause, struct sirix_query_error *err)
{
    const struct sirix_plan *plan = flwor->plan->children[clause];
    const bool sliding = (plan->flags & SIRIX_PLAN_SLIDING) != 0;
    struct windows windows = {
        .flwor = flwor, .clause = plan, .start = plan->children[1], .next = clause + 1};
    enum sirix_status status = sirix_run_all(run, plan->children[0], &windows.items, err);

    if (plan->child_count > 2) {
        windows.end = plan->children[2];
    }
    for (size_t at = 0; at < windows.items.count && status == SIRIX_OK; at++) {
        bool starts = false;
        bool ended = false;
        size_t end = 0;

        status = edge_at(run, &windows, windows.start, at, &starts, err);
        if (status != SIRIX_OK || !starts) {
            continue;
        }
        status = find_end(run, &windows, at, &end, &ended, err);
        if (status == SIRIX_OK &&
            (ended || windows.end == NULL || (windows.end->flags & SIRIX_PLAN_ONLY) == 0)) {
            status = give_window(run, &windows, at, end, err);
        }
        if (!sliding) {
            at = end;
        }
    }
    return status;
}
