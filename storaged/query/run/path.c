/*
 * Steps into objects and arrays: .name, =>>name, ?key, [[n]], slices, [] and projections. Each maps over
 * all items of its base and passes over those that it does not fit.
 */
#include "query/run/run.h"

bool sirix_run_position(int64_t position, uint64_t size, uint64_t *out)
{
    if (position < 0) {
        const uint64_t back = UINT64_C(0) - (uint64_t)position;

        if (back > size) {
            return false;
        }
        *out = size - back;
        return true;
    }
    *out = (uint64_t)position;
    return (uint64_t)position < size;
}

enum sirix_status sirix_run_key(struct sirix_run *run, const struct sirix_plan *key,
                                bool is_constructor, struct sirix_bytes *out,
                                struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (key->kind == SIRIX_PLAN_CONSTANT && key->item.kind == SIRIX_ITEM_STRING) {
        *out = sirix_item_bytes(key->item);
        return SIRIX_OK;
    }
    bool many = false;
    enum sirix_status status = sirix_run_few(run, key, &item, &many, err);

    if (status == SIRIX_OK && many) {
        struct sirix_sequence keys = {0};

        status = sirix_run_all(run, key, &keys, err);
        if (status == SIRIX_OK && keys.count > 1) {
            return sirix_query_fail_at(err, key->line, key->column,
                                       is_constructor ? "XPTY0004" : "JNTY0018",
                                       "a field has one name, not %zu", keys.count);
        }
        item = keys.count == 1 ? sirix_sequence_at(&keys, 0) : (struct sirix_item){0};
    }
    if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail_at(err, key->line, key->column,
                                   is_constructor ? "XPTY0004" : "JNTY0018",
                                   "a field name is expected, not an empty sequence");
    }
    if (status == SIRIX_OK && !sirix_item_is_atomic(item)) {
        return sirix_query_fail_at(err, key->line, key->column, "JNTY0004",
                                   "a field name is a string, not %s",
                                   sirix_type_name((enum sirix_type)item.type));
    }
    return status == SIRIX_OK ? sirix_item_text(&run->work, item, out, err) : status;
}

/* The name of a step: one that does not change is kept with what the store knows of it. */
static enum sirix_status name_of(struct sirix_run *run, const struct sirix_plan *key,
                                 struct sirix_run_name *spare, struct sirix_run_name **out,
                                 struct sirix_query_error *err)
{
    void *memory = NULL;

    if (key->kind != SIRIX_PLAN_CONSTANT || key->item.kind != SIRIX_ITEM_STRING) {
        *spare = (struct sirix_run_name){0};
        *out = spare;
        return sirix_run_key(run, key, false, &spare->plain, err);
    }
    if (key->run == NULL) {
        enum sirix_status status =
            sirix_arena_calloc(run->keep, 1, sizeof(struct sirix_run_name), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        ((struct sirix_run_name *)memory)->plain = sirix_item_bytes(key->item);
        *sirix_run_cache(key) = memory;
    }
    *out = key->run;
    return SIRIX_OK;
}

static enum sirix_status field_named(struct sirix_run *run, struct sirix_run_name *name,
                                     const struct sirix_item *base, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    if (base->kind != SIRIX_ITEM_OBJECT) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    if (run->store != NULL && sirix_container_is_stored(*base)) {
        return run->store->field(run, base, name, out, err);
    }
    return sirix_object_field(&run->work, *base, name->plain, out, err);
}

enum sirix_status sirix_run_field_of(struct sirix_run *run, const struct sirix_plan *plan,
                                     const struct sirix_item *base, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct sirix_run_name spare;
    struct sirix_run_name *name = NULL;
    enum sirix_status status = name_of(run, plan->children[1], &spare, &name, err);

    return status == SIRIX_OK ? field_named(run, name, base, out, err) : status;
}

/* --- Children -------------------------------------------------------------------------------------- */

enum sirix_status sirix_run_children(struct sirix_run *run, const struct sirix_item *container,
                                     struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_cursor cursor;

    if (run->store != NULL && sirix_container_is_stored(*container)) {
        return run->store->children(run, container, sink, err);
    }
    enum sirix_status status = sirix_cursor_start(&run->work, *container, &cursor, err);
    while (status == SIRIX_OK) {
        struct sirix_item child = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(&run->work, &cursor, NULL, &child, err);
        }
        if (status != SIRIX_OK || child.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sink->take(sink, run, &child, err);
    }
    return status;
}

/* --- Descendants ----------------------------------------------------------------------------------- */

struct level {
    struct sirix_cursor cursor;
    struct level *up;
};

static enum sirix_status open_level(struct sirix_run *run, struct sirix_item container,
                                    struct level **levels, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(run->work.arena, sizeof(struct level), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct level *level = memory;

        level->up = *levels;
        status = sirix_cursor_start(&run->work, container, &level->cursor, err);
        *levels = level;
    }
    return status;
}

static enum sirix_status descend(struct sirix_run *run, const struct sirix_item *from,
                                 struct sirix_run_name *wanted, struct sirix_sink *sink,
                                 struct sirix_query_error *err)
{
    struct level *levels = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_item_is_structured(*from)) {
        return SIRIX_OK;
    }
    if (run->store != NULL && sirix_container_is_stored(*from)) {
        return run->store->descendants(run, from, wanted, sink, err);
    }
    status = open_level(run, *from, &levels, err);
    while (status == SIRIX_OK && levels != NULL) {
        struct sirix_bytes name = {0};
        struct sirix_item child = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(&run->work, &levels->cursor, &name, &child, err);
        }
        if (status != SIRIX_OK) {
            break;
        }
        if (child.kind == SIRIX_ITEM_NONE) {
            levels = levels->up;
            continue;
        }
        if (levels->cursor.container.kind == SIRIX_ITEM_OBJECT &&
            sirix_bytes_equal(name, wanted->plain)) {
            status = sink->take(sink, run, &child, err);
        }
        if (status == SIRIX_OK && sirix_item_is_structured(child)) {
            status = sirix_container_is_stored(child)
                         ? run->store->descendants(run, &child, wanted, sink, err)
                         : open_level(run, child, &levels, err);
        }
    }
    return status;
}

enum sirix_status sirix_run_give_held(struct sirix_run *run, const struct sirix_item *found,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence held = {0};

    if (found->kind == SIRIX_ITEM_NONE) {
        return SIRIX_OK;
    }
    if (!sirix_item_spreads(*found)) {
        return sink->take(sink, run, found, err);
    }
    enum sirix_status status = sirix_item_spread(&run->work, *found, &held, err);
    return status == SIRIX_OK ? sirix_run_give(run, &held, sink, err) : status;
}

/* Gives what the children of a map or an array hold. */
struct spread_sink {
    struct sirix_sink sink;
    struct sirix_sink *outer;
};

static enum sirix_status take_held(struct sirix_sink *sink, struct sirix_run *run,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    return sirix_run_give_held(run, item, ((struct spread_sink *)sink)->outer, err);
}

/* --- ?key ------------------------------------------------------------------------------------------ */

static enum sirix_status look_up_field(struct sirix_run *run, const struct sirix_item *object,
                                       struct sirix_item key, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    struct sirix_bytes name = {0};
    enum sirix_status status = sirix_item_text(&run->work, key, &name, err);

    return status == SIRIX_OK ? sirix_object_field(&run->work, *object, name, out, err) : status;
}

static enum sirix_status look_up_element(struct sirix_run *run, const struct sirix_item *array,
                                         struct sirix_item key, struct sirix_item *out,
                                         struct sirix_query_error *err)
{
    uint64_t size = 0;
    enum sirix_status status = sirix_container_size(&run->work, *array, &size, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (key.kind != SIRIX_ITEM_INTEGER) {
        return sirix_query_fail(err, "XPTY0004", "a position in an array is an integer");
    }
    if (key.value.integer < 1 || (uint64_t)key.value.integer > size) {
        return sirix_query_fail(err, "FOAY0001", "the array has no such position");
    }
    return sirix_array_element(&run->work, *array, (uint64_t)key.value.integer - 1, out, err);
}

static enum sirix_status look_up(struct sirix_run *run, const struct sirix_plan *plan,
                                 const struct sirix_item *base, struct sirix_sink *sink,
                                 struct sirix_query_error *err)
{
    struct sirix_sequence keys = {0};
    enum sirix_status status = SIRIX_OK;

    if (!sirix_item_is_structured(*base)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "? looks into objects and arrays, not into %s",
                                   sirix_type_name((enum sirix_type)base->type));
    }
    if (plan->child_count < 2 || plan->children[1] == NULL) {
        struct spread_sink spread = {.sink = {.take = take_held, .want = UINT64_MAX},
                                     .outer = sink};

        return sirix_run_children(run, base, &spread.sink, err);
    }
    status = sirix_run_all(run, plan->children[1], &keys, err);
    if (status == SIRIX_OK) {
        status = sirix_sequence_spread(&run->work, &keys, &keys, err);
    }
    for (size_t i = 0; i < keys.count && status == SIRIX_OK; i++) {
        struct sirix_item key = {0};
        struct sirix_item found = {0};

        status = sirix_item_atomise(sirix_sequence_at(&keys, i), &key, err);
        if (status == SIRIX_OK) {
            status = base->kind == SIRIX_ITEM_OBJECT ? look_up_field(run, base, key, &found, err)
                                                     : look_up_element(run, base, key, &found, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_run_give_held(run, &found, sink, err);
        }
    }
    return status;
}

/* --- {a,b} ----------------------------------------------------------------------------------------- */

static enum sirix_status project(struct sirix_run *run, const struct sirix_plan *plan,
                                 const struct sirix_item *base, struct sirix_sink *sink,
                                 struct sirix_query_error *err)
{
    struct sirix_item result = {0};
    enum sirix_status status = SIRIX_OK;

    if (base->kind != SIRIX_ITEM_OBJECT) {
        return sink->take(sink, run, base, err);
    }
    status = sirix_object_new(&run->work, plan->child_count - 1, &result, err);
    for (uint32_t i = 1; i < plan->child_count && status == SIRIX_OK; i++) {
        struct sirix_run_name spare;
        struct sirix_run_name *name = NULL;
        struct sirix_item value = {0};

        status = name_of(run, plan->children[i], &spare, &name, err);
        if (status == SIRIX_OK) {
            status = field_named(run, name, base, &value, err);
        }
        if (status == SIRIX_OK) {
            /* What is not there is null, as SirixDB has it; jn:project() leaves it out. */
            value = value.kind == SIRIX_ITEM_NONE ? sirix_item_null() : value;
            status = sirix_object_set(&run->work, result, name->plain, value, err);
        }
    }
    return status == SIRIX_OK ? sink->take(sink, run, &result, err) : status;
}

/* --- A step over all items of its base --------------------------------------------------------------- */

static enum sirix_status step(struct sirix_run *run, const struct sirix_plan *plan,
                              const struct sirix_item *base, struct sirix_sink *sink,
                              struct sirix_query_error *err)
{
    struct sirix_run_name spare;
    struct sirix_run_name *name = NULL;
    struct sirix_item found = {0};
    enum sirix_status status = SIRIX_OK;

    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_FIELD:
        status = sirix_run_field_of(run, plan, base, &found, err);
        return status == SIRIX_OK ? sirix_run_give_held(run, &found, sink, err) : status;
    case SIRIX_PLAN_DESCENDANT:
        status = name_of(run, plan->children[1], &spare, &name, err);
        return status == SIRIX_OK ? descend(run, base, name, sink, err) : status;
    case SIRIX_PLAN_LOOKUP:
        return look_up(run, plan, base, sink, err);
    case SIRIX_PLAN_MEMBER:
        return sirix_run_member(run, plan, base, sink, err);
    case SIRIX_PLAN_SLICE:
        return sirix_run_slice(run, plan, base, sink, err);
    case SIRIX_PLAN_PROJECT:
        return project(run, plan, base, sink, err);
    default: /* UNBOX */
        return base->kind == SIRIX_ITEM_ARRAY ? sirix_run_children(run, base, sink, err) : SIRIX_OK;
    }
}

struct step_sink {
    struct sirix_sink sink;
    struct sirix_sink *outer;
    const struct sirix_plan *plan;
};

static enum sirix_status take_step(struct sirix_sink *sink, struct sirix_run *run,
                                   const struct sirix_item *item, struct sirix_query_error *err)
{
    struct step_sink *at = (struct step_sink *)sink;
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    enum sirix_status status = step(run, at->plan, item, at->outer, err);

    sirix_run_turn_end(run, &turn);
    return status;
}

enum sirix_status sirix_run_path(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct step_sink at = {
        .sink = {.take = take_step, .want = UINT64_MAX}, .outer = sink, .plan = plan};
    struct sirix_item base = {0};
    bool many = false;
    enum sirix_status status = sirix_run_few(run, plan->children[0], &base, &many, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (many) {
        return sirix_run_push(run, plan->children[0], &at.sink, err);
    }
    return base.kind == SIRIX_ITEM_NONE ? SIRIX_OK : step(run, plan, &base, sink, err);
}

/* --- Counting -------------------------------------------------------------------------------------- */

struct count_sink {
    struct sirix_sink sink;
    const struct sirix_plan *plan;
    uint64_t count;
};

static enum sirix_status count_step(struct sirix_run *run, const struct sirix_plan *plan,
                                    const struct sirix_item *base, uint64_t *count,
                                    struct sirix_query_error *err)
{
    struct sirix_run_name spare;
    struct sirix_run_name *name = NULL;
    uint64_t more = 0;
    enum sirix_status status = SIRIX_OK;

    if (plan->kind == SIRIX_PLAN_UNBOX) {
        if (base->kind == SIRIX_ITEM_ARRAY) {
            status = sirix_container_size(&run->work, *base, &more, err);
        }
    } else if (sirix_item_is_structured(*base)) {
        status = name_of(run, plan->children[1], &spare, &name, err);
        if (status == SIRIX_OK) {
            status = run->store->count_descendants(run, base, name, &more, err);
        }
    }
    *count += more;
    return status;
}

static enum sirix_status take_count(struct sirix_sink *sink, struct sirix_run *run,
                                    const struct sirix_item *item, struct sirix_query_error *err)
{
    struct count_sink *at = (struct count_sink *)sink;

    return count_step(run, at->plan, item, &at->count, err);
}

enum sirix_status sirix_run_count_path(struct sirix_run *run, const struct sirix_plan *plan,
                                       uint64_t *out_count, bool *out_known,
                                       struct sirix_query_error *err)
{
    struct count_sink at = {.sink = {.take = take_count, .want = UINT64_MAX}, .plan = plan};
    struct sirix_item base = {0};
    bool many = false;
    enum sirix_status status = SIRIX_OK;

    *out_known = false;
    if (run->naive || (plan->kind != SIRIX_PLAN_UNBOX && plan->kind != SIRIX_PLAN_DESCENDANT)) {
        return SIRIX_OK;
    }
    if (plan->kind == SIRIX_PLAN_DESCENDANT) {
        status = sirix_run_few(run, plan->children[0], &base, &many, err);
        if (status != SIRIX_OK || many || run->store == NULL || !sirix_item_is_structured(base) ||
            !sirix_container_is_stored(base)) {
            return status;
        }
        status = count_step(run, plan, &base, &at.count, err);
    } else {
        status = sirix_run_push(run, plan->children[0], &at.sink, err);
    }
    if (status == SIRIX_OK) {
        *out_count = at.count;
        *out_known = true;
    }
    return status;
}
