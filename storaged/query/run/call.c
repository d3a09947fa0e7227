/* Calls: of the library, of declared functions, of function items, and of what only the run knows. */
#include <stdio.h>

#include "query/run/closure.h"

enum sirix_status sirix_run_arguments(struct sirix_run *run, const struct sirix_plan *plan,
                                      uint32_t first, struct sirix_sequence **out, bool **out_open,
                                      struct sirix_query_error *err)
{
    const size_t count = plan->child_count - first;
    struct sirix_sequence *arguments = NULL;
    bool *open = NULL;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        run->work.arena, count + 1, sizeof(*arguments) + (out_open != NULL ? sizeof(*open) : 0),
        &memory, &err->base);

    arguments = memory;
    if (status == SIRIX_OK && out_open != NULL) {
        open = (bool *)(arguments + count + 1);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        const struct sirix_plan *argument = plan->children[first + i];

        if (argument->kind == SIRIX_PLAN_PLACEHOLDER && open != NULL) {
            open[i] = true;
        } else {
            status = sirix_run_all(run, argument, &arguments[i], err);
        }
    }
    if (status == SIRIX_OK) {
        *out = arguments;
        if (out_open != NULL) {
            *out_open = open;
        }
    }
    return status;
}

/* --- The library ----------------------------------------------------------------------------------- */

static enum sirix_status prepare(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_call *call, struct sirix_sequence *first,
                                 struct sirix_sequence_iterator *input,
                                 struct sirix_query_error *err)
{
    struct sirix_sequence *arguments = NULL;
    enum sirix_status status = sirix_run_arguments(run, plan, 0, &arguments, NULL, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *call = (struct sirix_call){
        .work = &run->work,
        .function = plan->function,
        .argument_count = plan->child_count,
        .arguments = arguments,
        .focus = &run->focus,
        .evaluator = &run->evaluator,
    };
    if ((plan->function->flags & SIRIX_FUNCTION_STREAMS) != 0 && plan->child_count != 0) {
        *first = arguments[0];
        arguments[0] = (struct sirix_sequence){0};
        sirix_sequence_iterate(input, first);
        call->input = &input->iterator;
    }
    return SIRIX_OK;
}

/* The value of an error outlives the loops that it passes on its way to whoever catches it. */
static void keep_error_value(struct sirix_run *run, struct sirix_query_error *err)
{
    struct sirix_work work = run->work;
    struct sirix_query_error ignored = {0};
    void *memory = NULL;

    if (err == NULL || err->value == NULL) {
        return;
    }
    work.arena = run->keep;
    if (sirix_arena_calloc(run->keep, 1, sizeof(*err->value), &memory, &ignored.base) == SIRIX_OK &&
        sirix_sequence_keep(&work, err->value, memory, &ignored) == SIRIX_OK) {
        err->value = memory;
    } else {
        err->value = NULL; /* Without memory the error itself says more than its value would. */
    }
}

static enum sirix_status call_library(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence first = {0};
    struct sirix_sequence_iterator input;
    struct sirix_call call;
    enum sirix_status status = prepare(run, plan, &call, &first, &input, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_function_call(&call, out, err);
    if (status != SIRIX_OK) {
        keep_error_value(run, err);
    }
    return status;
}

/* A result that comes item by item. */
static enum sirix_status push_opened(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_iterator *result = NULL;
    struct sirix_sequence first = {0};
    struct sirix_sequence_iterator input;
    struct sirix_call call;
    enum sirix_status status = prepare(run, plan, &call, &first, &input, err);

    if (status == SIRIX_OK) {
        status = sirix_function_open(&call, &result, err);
    }
    while (status == SIRIX_OK) {
        struct sirix_item item = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_iterator_next(result, &item, err);
        }
        if (status != SIRIX_OK || item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = sink->take(sink, run, &item, err);
    }
    sirix_iterator_close(result);
    return status;
}

/* --- Declared and inline functions ----------------------------------------------------------------- */

static bool is_any(const struct sirix_sequence_type *type)
{
    return type->type == SIRIX_TYPE_ITEM && type->occurrence == SIRIX_OCCURRENCE_MANY;
}

static enum sirix_status bind_arguments(struct sirix_run *run,
                                        const struct sirix_plan_function *function,
                                        const struct sirix_sequence *arguments,
                                        struct sirix_slot *frame, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; i < function->parameter_count && status == SIRIX_OK; i++) {
        struct sirix_sequence value = arguments[i];

        if (!is_any(&function->parameters[i])) {
            char what[96];

            (void)snprintf(what, sizeof(what), "argument %u of %.*s", i + 1,
                           function->name.len == 0
                               ? 19
                               : (int)(function->name.len < 60 ? function->name.len : 60),
                           function->name.len == 0 ? "the inline function"
                                                   : (const char *)function->name.data);
            status = sirix_sequence_convert(&run->work, &value, &function->parameters[i], what,
                                            &value, err);
        }
        if (status == SIRIX_OK) {
            sirix_slot_set(&frame[i], &value);
        }
    }
    return status;
}

static enum sirix_status push_converted(struct sirix_run *run,
                                        const struct sirix_plan_function *function,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence value = {0};
    enum sirix_status status = sirix_run_all(run, function->body, &value, err);

    return status == SIRIX_OK ? sirix_sequence_convert(&run->work, &value, &function->result,
                                                       "the result of the function", out, err)
                              : status;
}

enum sirix_status sirix_run_user(struct sirix_run *run, const struct sirix_plan_function *function,
                                 const struct sirix_sequence *captured,
                                 const struct sirix_sequence *arguments, struct sirix_sink *sink,
                                 struct sirix_query_error *err)
{
    const struct sirix_arena_mark mark = sirix_arena_mark(run->frames);
    struct sirix_slot *const outer_frame = run->frame;
    const struct sirix_focus outer_focus = run->focus;
    struct sirix_sequence result = {0};
    struct sirix_slot *frame = NULL;
    struct sirix_scope scope;
    enum sirix_status status = sirix_run_frame(run, function->slot_count, &frame, err);

    if (status == SIRIX_OK) {
        status = bind_arguments(run, function, arguments, frame, err);
    }
    for (uint32_t i = 0; i < function->capture_count && status == SIRIX_OK; i++) {
        sirix_slot_set(&frame[function->parameter_count + i], &captured[i]);
    }
    sirix_scope_init(&scope, run, sink);
    run->frame = frame;
    run->focus = (struct sirix_focus){0};
    if (status == SIRIX_OK && is_any(&function->result)) {
        status = sirix_run_push(run, function->body, &scope.sink, err);
    } else if (status == SIRIX_OK) {
        status = push_converted(run, function, &result, err);
    }
    run->frame = outer_frame;
    run->focus = outer_focus;
    if (status == SIRIX_RUN_STOP && run->leave == SIRIX_LEAVE_EXIT) {
        run->leave = SIRIX_LEAVE_NONE;
        result = run->exit_value;
        status = SIRIX_OK;
    }
    if (status == SIRIX_OK && result.count != 0) {
        status = sirix_run_give(run, &result, sink, err);
    }
    sirix_arena_rewind(run->frames, mark);
    return status;
}

static enum sirix_status call_user(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence *arguments = NULL;
    enum sirix_status status = sirix_run_arguments(run, plan, 0, &arguments, NULL, err);

    return status == SIRIX_OK ? sirix_run_user(run, plan->user, NULL, arguments, sink, err)
                              : status;
}

/* --- Function items -------------------------------------------------------------------------------- */

/* A name that has not been seen, as an item; kind NONE: it has. */
static enum sirix_status new_name(struct sirix_run *run, struct sirix_item seen,
                                  struct sirix_bytes name, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item before = {0};
    enum sirix_status status = sirix_object_field(&run->work, seen, name, &before, err);

    *out = (struct sirix_item){0};
    if (status != SIRIX_OK || before.kind != SIRIX_ITEM_NONE) {
        return status;
    }
    status = sirix_item_new_string(&run->work, name, out, err);
    return status == SIRIX_OK
               ? sirix_object_add(&run->work, seen, sirix_item_bytes(*out), sirix_item_null(), err)
               : status;
}

static enum sirix_status give_names_of(struct sirix_run *run, struct sirix_item object,
                                       struct sirix_item seen, struct sirix_sink *sink,
                                       struct sirix_query_error *err)
{
    struct sirix_cursor cursor;
    enum sirix_status status = sirix_cursor_start(&run->work, object, &cursor, err);

    while (status == SIRIX_OK) {
        struct sirix_bytes name = {0};
        struct sirix_item child = {0};
        struct sirix_item item = {0};

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(&run->work, &cursor, &name, &child, err);
        }
        if (status != SIRIX_OK || child.kind == SIRIX_ITEM_NONE) {
            break;
        }
        status = new_name(run, seen, name, &item, err);
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sink->take(sink, run, &item, err);
        }
    }
    return status;
}

/* The names of the fields of all objects, each once, in the order in which they appear. */
static enum sirix_status give_names(struct sirix_run *run, const struct sirix_sequence *objects,
                                    struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_item seen = {0};
    enum sirix_status status = sirix_object_new(&run->work, 8, &seen, err);

    for (size_t i = 0; i < objects->count && status == SIRIX_OK; i++) {
        const struct sirix_item object = sirix_sequence_at(objects, i);

        if (object.kind == SIRIX_ITEM_OBJECT) {
            status = give_names_of(run, object, seen, sink, err);
        }
    }
    return status;
}

static enum sirix_status call_container(struct sirix_run *run, const struct sirix_plan *plan,
                                        struct sirix_item base, struct sirix_sink *sink,
                                        struct sirix_query_error *err)
{
    const bool from_one = (plan->flags & SIRIX_PLAN_JSONIQ) != 0;
    struct sirix_item key = {0};
    struct sirix_item found = {0};
    struct sirix_bytes name = {0};
    uint64_t size = 0;
    uint64_t position = 0;

    if (plan->child_count == 1) {
        return sirix_run_children(run, &base, sink, err);
    }
    if (plan->child_count > 2) {
        return sirix_query_fail_at(err, plan->line, plan->column, "JNTY0018",
                                   "an object or array is called with one key");
    }
    enum sirix_status status = sirix_run_atom(run, plan->children[1], &key, err);
    if (status != SIRIX_OK || key.kind == SIRIX_ITEM_NONE) {
        return status;
    }
    if (base.kind == SIRIX_ITEM_OBJECT) {
        status = sirix_item_text(&run->work, key, &name, err);
        if (status == SIRIX_OK) {
            status = sirix_object_field(&run->work, base, name, &found, err);
        }
    } else {
        if (key.kind != SIRIX_ITEM_INTEGER) {
            status = sirix_item_cast(&run->work, key, SIRIX_TYPE_INTEGER, &key, err);
        }
        if (status != SIRIX_OK || key.kind != SIRIX_ITEM_INTEGER) {
            return status; /* A huge one is in no array. */
        }
        status = sirix_container_size(&run->work, base, &size, err);
        if (status == SIRIX_OK && !(from_one && key.value.integer < 1) &&
            sirix_run_position(key.value.integer - (from_one ? 1 : 0), size, &position)) {
            status = sirix_array_element(&run->work, base, position, &found, err);
        }
    }
    return status == SIRIX_OK ? sirix_run_give_held(run, &found, sink, err) : status;
}

/* Whether a call leaves arguments open. */
static bool is_partial(const struct sirix_plan *plan)
{
    bool partial = false;

    for (uint32_t i = 1; i < plan->child_count && !partial; i++) {
        partial = plan->children[i]->kind == SIRIX_PLAN_PLACEHOLDER;
    }
    return partial;
}

static enum sirix_status call_dynamic(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    const size_t count = plan->child_count - 1;
    struct sirix_sequence functions = {0};
    struct sirix_sequence *arguments = NULL;
    struct sirix_sequence result = {0};
    struct sirix_item item = {0};
    bool *is_open = NULL;
    const bool partial = is_partial(plan);
    enum sirix_status status = sirix_run_all(run, plan->children[0], &functions, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (functions.count == 0) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "an empty sequence is no function and cannot be called");
    }
    item = sirix_sequence_at(&functions, 0);
    if (count == 0 && item.kind == SIRIX_ITEM_OBJECT) {
        return give_names(run, &functions, sink, err);
    }
    for (size_t i = 0; i < functions.count && status == SIRIX_OK && !partial; i++) {
        item = sirix_sequence_at(&functions, i);
        if (!sirix_item_is_structured(item)) {
            break;
        }
        status = call_container(run, plan, item, sink, err);
        if (status != SIRIX_OK || i + 1 == functions.count) {
            return status;
        }
    }
    if (functions.count > 1) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "one function is called at a time, not a sequence of them");
    }
    item = sirix_sequence_at(&functions, 0);
    if (status == SIRIX_OK) {
        status = sirix_run_arguments(run, plan, 1, &arguments, &is_open, err);
    }
    if (status == SIRIX_OK && partial) {
        status = sirix_run_partial(run, item, arguments, is_open, count, &item, err);
        return status == SIRIX_OK ? sink->take(sink, run, &item, err) : status;
    }
    if (status == SIRIX_OK) {
        status = sirix_run_invoke(run, item, arguments, count, &result, err);
    }
    return status == SIRIX_OK ? sirix_run_give(run, &result, sink, err) : status;
}

/* --- What only the run knows ------------------------------------------------------------------------ */

static enum sirix_status explain(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item text = {0};
    enum sirix_status status = sirix_run_atom(run, plan->children[0], &text, err);

    if (status == SIRIX_OK && !sirix_item_is_text(text)) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPTY0004",
                                   "sdb:explain takes the text of a query");
    }
    return status == SIRIX_OK
               ? run->explain(run->external_context, sirix_item_bytes(text), out, err)
               : status;
}

static enum sirix_status special(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, struct sirix_query_error *err)
{
    if (plan->special == SIRIX_SPECIAL_EXPLAIN) {
        return explain(run, plan, out, err);
    }
    if (run->focus.item.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail_at(err, plan->line, plan->column, "XPDY0002",
                                   "there is no context item here");
    }
    *out = sirix_item_integer(
        (int64_t)(plan->special == SIRIX_SPECIAL_LAST ? run->focus.last : run->focus.position));
    return SIRIX_OK;
}

enum sirix_status sirix_run_call_one(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, bool *out_known,
                                     struct sirix_query_error *err)
{
    struct sirix_sequence result = {0};

    *out_known = true;
    if (plan->kind == SIRIX_PLAN_CALL_SPECIAL) {
        return special(run, plan, out, err);
    }
    enum sirix_status status = sirix_run_aggregate(run, plan, out, out_known, err);
    if (status != SIRIX_OK || *out_known) {
        return status;
    }
    if (plan->function->result.occurrence != SIRIX_OCCURRENCE_ONE &&
        plan->function->result.occurrence != SIRIX_OCCURRENCE_OPTIONAL) {
        return SIRIX_OK;
    }
    *out_known = true;
    status = call_library(run, plan, &result, err);
    if (status == SIRIX_OK) {
        *out = result.count == 0 ? (struct sirix_item){0} : sirix_sequence_at(&result, 0);
    }
    return status;
}

enum sirix_status sirix_run_call(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_sequence result = {0};
    struct sirix_item item = {0};
    bool known = false;
    enum sirix_status status = SIRIX_OK;

    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_CALL_USER:
        return call_user(run, plan, sink, err);
    case SIRIX_PLAN_DYNAMIC_CALL:
        return call_dynamic(run, plan, sink, err);
    case SIRIX_PLAN_CALL_SPECIAL:
        status = special(run, plan, &item, err);
        return status == SIRIX_OK ? sink->take(sink, run, &item, err) : status;
    default:
        break;
    }
    status = sirix_run_stream(run, plan, sink, &known, err);
    if (known || status != SIRIX_OK) {
        return status;
    }
    status = sirix_run_call_one(run, plan, &item, &known, err);
    if (status == SIRIX_OK && known) {
        return item.kind == SIRIX_ITEM_NONE ? SIRIX_OK : sink->take(sink, run, &item, err);
    }
    if (status == SIRIX_OK && plan->function->open != NULL) {
        return push_opened(run, plan, sink, err);
    }
    if (status == SIRIX_OK) {
        status = call_library(run, plan, &result, err);
    }
    return status == SIRIX_OK ? sirix_run_give(run, &result, sink, err) : status;
}
