/* Updating expressions: what they mean is found out and noted down; update_apply.c does it. */
#include "query/run/update.h"

/* --- Noting down ------------------------------------------------------------------------------------ */

/* What is kept of an update lies where the list does; note() sees to it that no loop takes it back. */
static enum sirix_status keep_text(struct sirix_run *run, struct sirix_bytes text,
                                   struct sirix_bytes *out, struct sirix_query_error *err)
{
    return run->updates == NULL ? SIRIX_OK
                                : sirix_arena_copy(run->updates->arena, text, out, &err->base);
}

static enum sirix_status keep_value(struct sirix_run *run, struct sirix_item value,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_arena *const arena = run->work.arena;

    if (run->updates != NULL) {
        run->work.arena = run->updates->arena;
    }
    run->kept++;
    enum sirix_status status = sirix_item_copy(&run->work, value, out, err);
    run->work.arena = arena;
    return status;
}

static enum sirix_status note(struct sirix_run *run, const struct sirix_plan *plan,
                              struct sirix_update *update, struct sirix_query_error *err)
{
    struct sirix_updates *updates = run->updates;
    void *memory = NULL;

    if (updates == NULL) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XUST0001",
                                   "an updating expression cannot stand here");
    }
    if (updates->count == SIRIX_UPDATES_MAX) {
        return sirix_query_fail_limit(err, "updates", "a query makes more than %d updates",
                                      SIRIX_UPDATES_MAX);
    }
    if (updates->count == updates->cap) {
        const size_t cap = updates->cap == 0 ? 16 : updates->cap * 2;
        enum sirix_status status =
            sirix_arena_alloc(updates->arena, cap * sizeof(*update), &memory, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
        if (updates->count != 0) {
            memcpy(memory, updates->list, updates->count * sizeof(*update));
        }
        updates->list = memory;
        updates->cap = cap;
    }
    run->kept++;
    update->line = plan->line;
    update->column = plan->column;
    updates->list[updates->count++] = *update;
    return SIRIX_OK;
}

/* --- Targets ---------------------------------------------------------------------------------------- */

/* What a target names: a field or an element of a container; stored ones also alone. */
struct target {
    bool nothing; /* There is nothing there to change, and that is no error. */
    bool is_field;
    struct sirix_item container;
    struct sirix_bytes field;
    uint64_t position;
    struct sirix_item item; /* What stands there. */
};

static enum sirix_status missing(const struct sirix_plan *plan, const struct sirix_plan *update,
                                 struct target *target, struct sirix_query_error *err)
{
    if (update->kind == SIRIX_PLAN_DELETE && (update->flags & SIRIX_PLAN_JSONIQ) == 0 &&
        target->is_field) {
        target->nothing = true;
        return SIRIX_OK;
    }
    return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0016",
                               "there is no such %s to change",
                               target->is_field ? "field" : "position");
}

static enum sirix_status field_target(struct sirix_run *run, const struct sirix_plan *plan,
                                      const struct sirix_plan *update, struct sirix_item key,
                                      struct target *target, struct sirix_query_error *err)
{
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    target->is_field = true;
    if (!sirix_item_is_atomic(key)) {
        return sirix_query_fail_at(err, plan->line, plan->column,
                                   plan->kind == SIRIX_PLAN_DYNAMIC_CALL ? "JNTY0004" : "JNUP0007",
                                   "a field name is a string, not %s",
                                   key.kind == SIRIX_ITEM_NONE
                                       ? "an empty sequence"
                                       : sirix_type_name((enum sirix_type)key.type));
    }
    status = sirix_item_text(&run->work, key, &name, err);
    if (status == SIRIX_OK) {
        status = keep_text(run, name, &target->field, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_object_field(&run->work, target->container, target->field, &target->item, err);
    }
    return status == SIRIX_OK && target->item.kind == SIRIX_ITEM_NONE
               ? missing(plan, update, target, err)
               : status;
}

/* The position that a step's number means: which kind of step and dialect decide. */
static bool element_position(const struct sirix_plan *plan, int64_t n, uint64_t size, uint64_t *out)
{
    const bool from_one = plan->kind == SIRIX_PLAN_MEMBER
                              ? (plan->flags & SIRIX_PLAN_MEMBER_FROM_0) == 0
                              : (plan->flags & SIRIX_PLAN_JSONIQ) != 0;

    if (!from_one) {
        return sirix_run_position(n, size, out);
    }
    return n >= 1 && sirix_run_position(n - 1, size, out);
}

static enum sirix_status element_target(struct sirix_run *run, const struct sirix_plan *plan,
                                        const struct sirix_plan *update, struct sirix_item key,
                                        struct target *target, struct sirix_query_error *err)
{
    uint64_t size = 0;
    enum sirix_status status = SIRIX_OK;

    if (key.kind != SIRIX_ITEM_INTEGER && sirix_item_is_atomic(key)) {
        status = sirix_item_cast(&run->work, key, SIRIX_TYPE_INTEGER, &key, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (key.kind != SIRIX_ITEM_INTEGER) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0007",
                                   "a position in an array is an integer");
    }
    status = sirix_container_size(&run->work, target->container, &size, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (!element_position(plan, key.value.integer, size, &target->position)) {
        return missing(plan, update, target, err);
    }
    return sirix_array_element(&run->work, target->container, target->position, &target->item, err);
}

/* Whether a container is one that a step leads into; *out_nothing: calling it gives nothing to change. */
static enum sirix_status check_base(const struct sirix_plan *plan, struct sirix_item container,
                                    bool *out_nothing, struct sirix_query_error *err)
{
    if (plan->kind == SIRIX_PLAN_DYNAMIC_CALL && sirix_item_is_atomic(container)) {
        *out_nothing = true;
        return SIRIX_OK;
    }
    return sirix_item_is_structured(container)
               ? SIRIX_OK
               : sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                     "the target of an update is in one object or array");
}

/* The containers of a step's base: one; of a call any number, each of them is changed. */
static enum sirix_status step_base(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sequence *out, struct sirix_query_error *err)
{
    const bool called = plan->kind == SIRIX_PLAN_DYNAMIC_CALL;
    enum sirix_status status = sirix_run_all(run, plan->children[0], out, err);

    if (status == SIRIX_OK && out->count == 0 && !called) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XUDY0027",
                                   "the target of an update is an empty sequence");
    }
    if (status == SIRIX_OK && out->count > 1 && !called) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                   "the target of an update is in one object or array");
    }
    return status;
}

/* An expression that is no step gives the item itself: it has to be one of the store. */
static enum sirix_status item_target(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct target *target, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan, &value, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (value.count == 0) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XUDY0027",
                                   "the target of an update is an empty sequence");
    }
    target->item = sirix_sequence_at(&value, 0);
    if (value.count > 1 || target->item.origin == 0) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                   "the target of an update is one item of the store");
    }
    return SIRIX_OK;
}

static bool is_step(const struct sirix_plan *plan)
{
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_FIELD:
    case SIRIX_PLAN_MEMBER:
        return true;
    case SIRIX_PLAN_PREDICATE:
        return (plan->children[1]->flags &
                (SIRIX_PLAN_USES_CONTEXT | SIRIX_PLAN_USES_POSITION | SIRIX_PLAN_USES_LAST)) == 0;
    case SIRIX_PLAN_DYNAMIC_CALL:
        return plan->child_count == 2;
    default:
        return false;
    }
}

/* What a step names in a container. */
static enum sirix_status find_target(struct sirix_run *run, const struct sirix_plan *update,
                                     struct target *target, struct sirix_query_error *err)
{
    const struct sirix_plan *plan = update->children[0];
    struct sirix_item key = {0};
    enum sirix_status status = check_base(plan, target->container, &target->nothing, err);

    if (status != SIRIX_OK || target->nothing) {
        return status;
    }
    status = sirix_run_one(run, plan->children[1], &key, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (target->container.kind == SIRIX_ITEM_OBJECT) {
        if (plan->kind == SIRIX_PLAN_MEMBER || plan->kind == SIRIX_PLAN_PREDICATE) {
            return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0016",
                                       "an object has fields, no positions");
        }
        return field_target(run, plan, update, key, target, err);
    }
    if (plan->kind == SIRIX_PLAN_FIELD) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                   "an array has positions, no fields");
    }
    return element_target(run, plan, update, key, target, err);
}

/* --- Inserts ---------------------------------------------------------------------------------------- */

/* placed: something is put at a place of an array. */
static enum sirix_status insert_target(struct sirix_run *run, const struct sirix_plan *plan,
                                       bool placed, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, plan, &value, err);

    if (status == SIRIX_OK && value.count == 0 && placed) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XUDY0027",
                                   "the target of an update is an empty sequence");
    }

    if (status == SIRIX_OK) {
        *out = value.count == 1 ? sirix_sequence_at(&value, 0) : (struct sirix_item){0};
    }
    if (status == SIRIX_OK && !sirix_item_is_structured(*out)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                   "things are inserted into one object or array, not into %s",
                                   value.count == 0  ? "an empty sequence"
                                   : value.count > 1 ? "several items"
                                                     : sirix_type_name((enum sirix_type)out->type));
    }
    return status;
}

static enum sirix_status insert_fields(struct sirix_run *run, const struct sirix_plan *plan,
                                       struct sirix_item object,
                                       const struct sirix_sequence *content,
                                       struct sirix_query_error *err)
{
    struct sirix_item merged = {0};
    enum sirix_status status = sirix_object_new(&run->work, 8, &merged, err);

    for (size_t i = 0; i < content->count && status == SIRIX_OK; i++) {
        const struct sirix_item item = sirix_sequence_at(content, i);
        struct sirix_cursor cursor;

        if (item.kind != SIRIX_ITEM_OBJECT) {
            return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0019",
                                       "only objects can be inserted into an object");
        }
        status = sirix_cursor_start(&run->work, item, &cursor, err);
        while (status == SIRIX_OK) {
            struct sirix_update update = {.kind = SIRIX_UPDATE_INSERT_FIELD,
                                          .stored = sirix_container_is_stored(object),
                                          .target = object};
            struct sirix_item value = {0};

            status = sirix_cursor_next(&run->work, &cursor, &update.name, &value, err);
            if (status != SIRIX_OK || value.kind == SIRIX_ITEM_NONE) {
                break;
            }
            status = keep_text(run, update.name, &update.name, err);
            if (status == SIRIX_OK) { /* Only to find names that come twice. */
                status = sirix_object_add(&run->work, merged, update.name, sirix_item_null(), err);
            }
            if (status == SIRIX_OK) {
                status = keep_value(run, value, &update.value, err);
            }
            if (status == SIRIX_OK) {
                status = note(run, plan, &update, err);
            }
        }
    }
    return status;
}

/* Where in an array the plan says; at the end where it says nothing. */
static enum sirix_status insert_position(struct sirix_run *run, const struct sirix_plan *plan,
                                         struct sirix_item array, uint64_t *out,
                                         struct sirix_query_error *err)
{
    const int64_t first = (plan->flags & SIRIX_PLAN_JSONIQ) != 0 ? 1 : 0;
    struct sirix_item item = {0};
    uint64_t size = 0;
    enum sirix_status status = sirix_container_size(&run->work, array, &size, err);

    *out = size;
    if (status != SIRIX_OK || plan->kind == SIRIX_PLAN_APPEND || plan->child_count < 3 ||
        plan->children[2] == NULL) {
        return status;
    }
    status = sirix_run_atom(run, plan->children[2], &item, err);
    if (status == SIRIX_OK && item.kind != SIRIX_ITEM_INTEGER) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0007",
                                   "the position of an insert is an integer");
    }
    if (status == SIRIX_OK &&
        (item.value.integer < first || (uint64_t)(item.value.integer - first) > size)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0016",
                                   "position %lld is outside of the array, which has %llu members",
                                   (long long)item.value.integer, (unsigned long long)size);
    }
    *out = status == SIRIX_OK ? (uint64_t)(item.value.integer - first) : *out;
    return status;
}

static enum sirix_status insert_elements(struct sirix_run *run, const struct sirix_plan *plan,
                                         struct sirix_item array, uint64_t position,
                                         const struct sirix_sequence *content,
                                         struct sirix_query_error *err)
{
    struct sirix_update update = {.kind = SIRIX_UPDATE_INSERT_ELEMENT,
                                  .stored = sirix_container_is_stored(array),
                                  .target = array,
                                  .position = position};
    struct sirix_item whole = {0};
    enum sirix_status status = SIRIX_OK;

    if (content->count > 1 && (plan->flags & SIRIX_PLAN_JSONIQ) == 0) {
        status = sirix_array_from(&run->work, content, &whole, err);
        if (status == SIRIX_OK) {
            status = keep_value(run, whole, &update.value, err);
        }
        return status == SIRIX_OK ? note(run, plan, &update, err) : status;
    }
    for (size_t i = 0; i < content->count && status == SIRIX_OK; i++) {
        status = keep_value(run, sirix_sequence_at(content, i), &update.value, err);
        if (status == SIRIX_OK) {
            status = note(run, plan, &update, err);
        }
    }
    return status;
}

static enum sirix_status insert(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_query_error *err)
{
    const bool placed =
        plan->kind == SIRIX_PLAN_APPEND || (plan->child_count > 2 && plan->children[2] != NULL);
    struct sirix_sequence content = {0};
    struct sirix_item target = {0};
    uint64_t position = 0;
    enum sirix_status status = sirix_run_all(run, plan->children[0], &content, err);

    if (status == SIRIX_OK) {
        status = insert_target(run, plan->children[1], placed, &target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (target.kind == SIRIX_ITEM_OBJECT && !placed) {
        return insert_fields(run, plan, target, &content, err);
    }
    if (target.kind != SIRIX_ITEM_ARRAY || (!placed && (plan->flags & SIRIX_PLAN_JSONIQ) != 0)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008", "%s",
                                   target.kind == SIRIX_ITEM_ARRAY
                                       ? "an insert into an array says at which position"
                                       : "an object has no positions to insert at");
    }
    status = insert_position(run, plan, target, &position, err);
    return status == SIRIX_OK ? insert_elements(run, plan, target, position, &content, err)
                              : status;
}

/* --- Changes of what is there ----------------------------------------------------------------------- */

static enum sirix_status new_value(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_update *update, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    struct sirix_item item = {0};
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if (plan->kind == SIRIX_PLAN_DELETE) {
        return SIRIX_OK;
    }
    if (plan->kind == SIRIX_PLAN_REPLACE) {
        status = sirix_run_all(run, plan->children[1], &value, err);
        if (status == SIRIX_OK) {
            status = sirix_item_from_sequence(&run->work, &value, &item, err);
        }
        return status == SIRIX_OK ? keep_value(run, item, &update->value, err) : status;
    }
    status = sirix_run_one(run, plan->children[1], &item, err);
    if (status == SIRIX_OK && !sirix_item_is_atomic(item)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0007",
                                   "a field name is a string");
    }
    if (status == SIRIX_OK) {
        status = sirix_item_text(&run->work, item, &name, err);
    }
    return status == SIRIX_OK ? keep_text(run, name, &update->name, err) : status;
}

static enum sirix_status change_target(struct sirix_run *run, const struct sirix_plan *plan,
                                       const struct target *target, struct sirix_query_error *err)
{
    struct sirix_update update = {
        .kind = plan->kind == SIRIX_PLAN_DELETE    ? SIRIX_UPDATE_DELETE
                : plan->kind == SIRIX_PLAN_REPLACE ? SIRIX_UPDATE_REPLACE
                                                   : SIRIX_UPDATE_RENAME,
    };

    if (target->nothing) {
        return SIRIX_OK;
    }
    if (plan->kind == SIRIX_PLAN_RENAME && !target->is_field && target->item.origin == 0) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNUP0008",
                                   "only fields of objects have names");
    }
    update.stored = target->item.origin != 0 && (target->container.kind == SIRIX_ITEM_NONE ||
                                                 sirix_container_is_stored(target->container));
    update.target = update.stored ? target->item : target->container;
    update.field = target->field;
    update.position = target->position;
    enum sirix_status status = new_value(run, plan, &update, err);
    return status == SIRIX_OK ? note(run, plan, &update, err) : status;
}

static enum sirix_status change(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_query_error *err)
{
    const struct sirix_plan *step = plan->children[0];
    struct sirix_sequence base = {0};
    struct target target = {0};

    if (!is_step(step)) {
        enum sirix_status status = item_target(run, step, &target, err);

        return status == SIRIX_OK ? change_target(run, plan, &target, err) : status;
    }
    enum sirix_status status = step_base(run, step, &base, err);
    for (size_t i = 0; i < base.count && status == SIRIX_OK; i++) {
        target = (struct target){.container = sirix_sequence_at(&base, i)};
        status = find_target(run, plan, &target, err);
        if (status == SIRIX_OK) {
            status = change_target(run, plan, &target, err);
        }
    }
    return status;
}

enum sirix_status sirix_run_update(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_query_error *err)
{
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    enum sirix_status status = plan->kind == SIRIX_PLAN_INSERT || plan->kind == SIRIX_PLAN_APPEND
                                   ? insert(run, plan, err)
                                   : change(run, plan, err);

    sirix_run_turn_end(run, &turn);
    return status;
}
