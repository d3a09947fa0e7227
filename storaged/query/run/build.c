/* Constructors of objects and arrays. What lives in the store goes in as a reference. */
#include "query/run/run.h"

struct merge_sink {
    struct sirix_sink sink;
    struct sirix_item object;
};

static enum sirix_status add_fields(struct sirix_run *run, struct sirix_item to,
                                    struct sirix_item from, struct sirix_query_error *err)
{
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(&run->work, from, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item value = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(&run->work, &cursor, &name, &value, err);
        }
        if (status == SIRIX_OK && value.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK) {
            status = sirix_object_add(&run->work, to, name, value, err);
        }
    }
    return status;
}

static enum sirix_status take_merge(struct sirix_sink *sink, struct sirix_run *run,
                                    const struct sirix_item *item, struct sirix_query_error *err)
{
    struct merge_sink *merge = (struct merge_sink *)sink;

    if (item->kind != SIRIX_ITEM_OBJECT) {
        return sirix_query_fail(err, "XPTY0004",
                                "only objects can be merged into an object, not %s",
                                sirix_type_name((enum sirix_type)item->type));
    }
    run->kept++;
    return add_fields(run, merge->object, *item, err);
}

static enum sirix_status merge_into(struct sirix_run *run, struct sirix_item object,
                                    const struct sirix_plan *plan, struct sirix_query_error *err)
{
    struct merge_sink merge = {.sink = {.take = take_merge, .want = UINT64_MAX}, .object = object};

    return sirix_run_push(run, plan, &merge.sink, err);
}

static enum sirix_status pair_value(struct sirix_run *run, const struct sirix_plan *plan,
                                    bool is_map, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    bool many = false;
    enum sirix_status status = sirix_run_few(run, plan, out, &many, err);

    if (status != SIRIX_OK || (!many && out->kind != SIRIX_ITEM_NONE)) {
        return status;
    }
    status = many ? sirix_run_all(run, plan, &value, err) : SIRIX_OK;
    if (status != SIRIX_OK) {
        return status;
    }
    return is_map ? sirix_item_box_sequence(&run->work, &value, out, err)
                  : sirix_item_from_sequence(&run->work, &value, out, err);
}

static enum sirix_status add_pair(struct sirix_run *run, struct sirix_item object,
                                  const struct sirix_plan *pair, bool is_map,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes name = {0};
    struct sirix_item value = {0};
    struct sirix_item before = {0};
    enum sirix_status status = sirix_run_key(run, pair->children[0], true, &name, err);

    if (status == SIRIX_OK) {
        status = pair_value(run, pair->children[1], is_map, &value, err);
    }
    if (status == SIRIX_OK && is_map) {
        status = sirix_object_field(&run->work, object, name, &before, err);
    }
    if (status == SIRIX_OK && before.kind != SIRIX_ITEM_NONE) {
        return sirix_query_fail_at(err, pair->line, pair->column, "XQDY0137",
                                   "the map has this key already");
    }
    if (status == SIRIX_OK) {
        status = sirix_object_add(&run->work, object, name, value, err);
    }
    if (sirix_run_failed(status)) {
        sirix_query_error_locate(err, pair->line, pair->column);
    }
    return status;
}

enum sirix_status sirix_run_object(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    const uint64_t kept = run->kept;
    const bool is_map = (plan->flags & SIRIX_PLAN_HOLDS_SEQUENCES) != 0;
    struct sirix_item object = {0};
    enum sirix_status status = sirix_object_new(&run->work, plan->child_count, &object, err);

    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK; i++) {
        const struct sirix_plan *child = plan->children[i];

        status = child->kind == SIRIX_PLAN_PAIR ? add_pair(run, object, child, is_map, err)
                                                : merge_into(run, object, child, err);
    }
    run->kept = kept;
    if (status == SIRIX_OK) {
        *out = object;
    }
    return status;
}

/* A member that may be a sequence. */
static enum sirix_status add_member(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_sequence *members, struct sirix_query_error *err)
{
    struct sirix_item member = {0};
    enum sirix_status status = pair_value(run, plan, true, &member, err);

    return status == SIRIX_OK ? sirix_sequence_append(&run->work, members, member, err) : status;
}

enum sirix_status sirix_run_array(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_sequence members = {0};
    struct sirix_collector collector;
    const uint64_t kept = run->kept;
    enum sirix_status status = SIRIX_OK;

    sirix_collector_init(&collector, &members);
    for (uint32_t i = 0; i < plan->child_count && status == SIRIX_OK; i++) {
        status = (plan->flags & SIRIX_PLAN_HOLDS_SEQUENCES) != 0
                     ? add_member(run, plan->children[i], &members, err)
                     : sirix_run_push(run, plan->children[i], &collector.sink, err);
    }
    run->kept = kept;
    return status == SIRIX_OK ? sirix_array_from(&run->work, &members, out, err) : status;
}
