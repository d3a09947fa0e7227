/* Function items: references, inline functions with what they capture, partial applications. */
#include "query/run/closure.h"

static const struct sirix_sequence_type any_items = {.type = SIRIX_TYPE_ITEM,
                                                     .occurrence = SIRIX_OCCURRENCE_MANY};

static enum sirix_status new_item(struct sirix_run *run, const struct sirix_run_closure *closure,
                                  const struct sirix_function_value *value, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    struct both {
        struct sirix_function_value value;
        struct sirix_run_closure closure;
    } *both = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(run->work.arena, sizeof(*both), &memory, &err->base);

    if (status == SIRIX_OK) {
        both = memory;
        both->value = *value;
        both->closure = *closure;
        both->value.closure = &both->closure;
        *out = (struct sirix_item){.kind = SIRIX_ITEM_FUNCTION,
                                   .type = SIRIX_TYPE_FUNCTION,
                                   .value.function = &both->value};
    }
    return status;
}

static enum sirix_status new_user(struct sirix_run *run, const struct sirix_plan_function *user,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_run_closure closure = {.kind = SIRIX_CLOSURE_USER, .user = user};
    const struct sirix_function_value value = {
        .ns = SIRIX_NS_NONE,
        .name = user->name,
        .signature = {.arity = user->parameter_count,
                      .parameters = user->parameters,
                      .result = user->result},
    };
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (user->capture_count != 0) {
        status = sirix_arena_calloc(run->work.arena, user->capture_count, sizeof(*closure.captured),
                                    &memory, &err->base);
        closure.captured = memory;
    }
    for (uint32_t i = 0; i < user->capture_count && status == SIRIX_OK; i++) {
        const struct sirix_sequence *captured = &run->frame[user->captures[i]].value;

        if (captured->count == 1) { /* It lies in the slot, which will change. */
            status = sirix_sequence_single(&run->work, sirix_sequence_at(captured, 0),
                                           &closure.captured[i], err);
        } else {
            closure.captured[i] = *captured;
        }
    }
    return status == SIRIX_OK ? new_item(run, &closure, &value, out, err) : status;
}

static enum sirix_status new_cast(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    static const struct sirix_sequence_type parameter = {.type = SIRIX_TYPE_ATOMIC,
                                                         .occurrence = SIRIX_OCCURRENCE_OPTIONAL};
    const struct sirix_run_closure closure = {.kind = SIRIX_CLOSURE_CAST, .type = plan->type.type};
    const char *name = sirix_type_name(plan->type.type);
    const struct sirix_function_value value = {
        .ns = SIRIX_NS_XS,
        .name = {.data = name, .len = strlen(name)},
        .signature = {.arity = 1,
                      .parameters = &parameter,
                      .result = {.type = plan->type.type, .occurrence = SIRIX_OCCURRENCE_OPTIONAL}},
    };

    return new_item(run, &closure, &value, out, err);
}

/* A function that looks at the focus takes along the one where it was named. */
static enum sirix_status focused(struct sirix_run *run, const struct sirix_function *function,
                                 size_t arity, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    struct taken {
        struct sirix_function_value value;
        struct sirix_focus focus;
    } *taken = NULL;
    void *memory = NULL;
    enum sirix_status status = sirix_function_reference(&run->work, function, arity, out, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_alloc(run->work.arena, sizeof(*taken), &memory, &err->base);
    }
    if (status == SIRIX_OK) {
        taken = memory;
        taken->value = *out->value.function;
        taken->focus = run->focus;
        taken->value.focus = taken->focus.item.kind == SIRIX_ITEM_NONE ? NULL : &taken->focus;
        out->value.function = &taken->value;
    }
    return status;
}

/* The function that a FUNCTION_ITEM or PARTIAL names. */
static enum sirix_status named(struct sirix_run *run, const struct sirix_plan *plan, size_t arity,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    if (plan->function != NULL && (plan->function->flags & SIRIX_FUNCTION_NEEDS_FOCUS) != 0) {
        return focused(run, plan->function, arity, out, err);
    }
    if (plan->function != NULL) {
        return sirix_function_reference(&run->work, plan->function, arity, out, err);
    }
    return plan->user != NULL ? new_user(run, plan->user, out, err) : new_cast(run, plan, out, err);
}

static const struct sirix_sequence_type *parameter_of(struct sirix_item function, size_t index)
{
    if (function.kind == SIRIX_ITEM_FUNCTION && index < function.value.function->signature.arity &&
        function.value.function->signature.parameters != NULL) {
        return &function.value.function->signature.parameters[index];
    }
    return &any_items;
}

enum sirix_status sirix_run_partial(struct sirix_run *run, struct sirix_item target,
                                    struct sirix_sequence *arguments, const bool *is_open,
                                    size_t count, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    const struct sirix_run_closure closure = {
        .kind = SIRIX_CLOSURE_PARTIAL,
        .target = target,
        .argument_count = count,
        .arguments = arguments,
        .is_open = is_open,
    };
    struct sirix_function_value value = {.ns = SIRIX_NS_NONE};
    struct sirix_sequence_type *parameters = NULL;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, count + 1, sizeof(*parameters), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    if (target.kind == SIRIX_ITEM_FUNCTION && target.value.function->signature.arity != count) {
        return sirix_query_fail(err, "XPTY0004", "a function of %zu arguments is given %zu",
                                target.value.function->signature.arity, count);
    }
    parameters = memory;
    for (size_t i = 0; i < count; i++) {
        if (is_open[i]) {
            parameters[value.signature.arity++] = *parameter_of(target, i);
        }
    }
    value.signature.parameters = parameters;
    value.signature.result =
        target.kind == SIRIX_ITEM_FUNCTION ? target.value.function->signature.result : any_items;
    return new_item(run, &closure, &value, out, err);
}

enum sirix_status sirix_run_function_item(struct sirix_run *run, const struct sirix_plan *plan,
                                          struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_sequence *arguments = NULL;
    struct sirix_item target = {0};
    bool *is_open = NULL;
    enum sirix_status status = SIRIX_OK;

    if (plan->kind == SIRIX_PLAN_CLOSURE) {
        return new_user(run, plan->user, out, err);
    }
    if (plan->kind == SIRIX_PLAN_FUNCTION_ITEM) {
        return named(run, plan, (size_t)plan->number, out, err);
    }
    status = named(run, plan, plan->child_count, &target, err);
    if (status == SIRIX_OK) {
        status = sirix_run_arguments(run, plan, 0, &arguments, &is_open, err);
    }
    return status == SIRIX_OK
               ? sirix_run_partial(run, target, arguments, is_open, plan->child_count, out, err)
               : status;
}

/* --- Calling --------------------------------------------------------------------------------------- */

/* Objects and arrays are functions of one argument. */
static enum sirix_status invoke_container(struct sirix_run *run, struct sirix_item container,
                                          const struct sirix_sequence *arguments, size_t count,
                                          struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_item key = {0};
    struct sirix_item found = {0};
    struct sirix_bytes name = {0};

    if (count != 1 || arguments[0].count != 1) {
        return sirix_query_fail(err, "XPTY0004",
                                "an object or array is called with one key, no more, no less");
    }
    enum sirix_status status = sirix_item_atomise(sirix_sequence_at(&arguments[0], 0), &key, err);
    if (status == SIRIX_OK && container.kind == SIRIX_ITEM_OBJECT) {
        status = sirix_item_text(&run->work, key, &name, err);
        if (status == SIRIX_OK) {
            status = sirix_object_field(&run->work, container, name, &found, err);
        }
    } else if (status == SIRIX_OK) {
        if (key.kind != SIRIX_ITEM_INTEGER) {
            return sirix_query_fail(err, "XPTY0004", "a position in an array is an integer");
        }
        if (key.value.integer >= 0) {
            status = sirix_array_element(&run->work, container, (uint64_t)key.value.integer, &found,
                                         err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (found.kind == SIRIX_ITEM_NONE) {
        *out = (struct sirix_sequence){0};
        return SIRIX_OK;
    }
    return sirix_item_spread(&run->work, found, out, err);
}

static enum sirix_status invoke_partial(struct sirix_run *run,
                                        const struct sirix_run_closure *closure,
                                        const struct sirix_sequence *arguments,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence *all = NULL;
    void *memory = NULL;
    size_t next = 0;
    enum sirix_status status = sirix_arena_calloc(run->work.arena, closure->argument_count + 1,
                                                  sizeof(*all), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    all = memory;
    for (size_t i = 0; i < closure->argument_count; i++) {
        all[i] = closure->is_open[i] ? arguments[next++] : closure->arguments[i];
    }
    return sirix_run_invoke(run, closure->target, all, closure->argument_count, out, err);
}

static enum sirix_status invoke_cast(struct sirix_run *run, const struct sirix_run_closure *closure,
                                     const struct sirix_sequence *argument,
                                     struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (argument->count == 0) {
        *out = (struct sirix_sequence){0};
        return SIRIX_OK;
    }
    if (argument->count > 1) {
        return sirix_query_fail(err, "XPTY0004", "several items cannot be cast at once");
    }
    enum sirix_status status =
        sirix_item_atomise_one(&run->work, sirix_sequence_at(argument, 0), &item, err);
    if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
        status = sirix_item_cast(&run->work, item, closure->type, &item, err);
    }
    if (item.kind == SIRIX_ITEM_NONE) {
        *out = (struct sirix_sequence){0};
        return status;
    }
    return status == SIRIX_OK ? sirix_sequence_single(&run->work, item, out, err) : status;
}

static enum sirix_status invoke_closure(struct sirix_run *run,
                                        const struct sirix_run_closure *closure,
                                        const struct sirix_sequence *arguments,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_collector collector;
    struct sirix_sequence all = {0};
    const uint64_t kept = run->kept;
    enum sirix_status status = SIRIX_OK;

    switch (closure->kind) {
    case SIRIX_CLOSURE_PARTIAL:
        return invoke_partial(run, closure, arguments, out, err);
    case SIRIX_CLOSURE_CAST:
        return invoke_cast(run, closure, arguments, out, err);
    default:
        break;
    }
    sirix_collector_init(&collector, &all);
    status = sirix_run_user(run, closure->user, closure->captured, arguments, &collector.sink, err);
    if (!closure->user->updating) { /* Updates stay, whatever becomes of the value. */
        run->kept = kept;
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

/* The function behind a coerced one. */
static enum sirix_status invoke_coerced(struct sirix_run *run,
                                        const struct sirix_function_value *value,
                                        const struct sirix_sequence *arguments,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    const struct sirix_function_type *signature = &value->signature;
    const struct sirix_item target = {
        .kind = SIRIX_ITEM_FUNCTION, .type = SIRIX_TYPE_FUNCTION, .value.function = value->coerced};
    struct sirix_sequence result = {0};
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        run->work.arena, signature->arity + 1, sizeof(struct sirix_sequence), &memory, &err->base);
    struct sirix_sequence *converted = memory;

    for (size_t i = 0; i < signature->arity && status == SIRIX_OK; i++) {
        status = sirix_sequence_convert(&run->work, &arguments[i], &signature->parameters[i],
                                        "the argument of a function", &converted[i], err);
    }
    if (status == SIRIX_OK) {
        status = sirix_run_invoke(run, target, converted, signature->arity, &result, err);
    }
    return status == SIRIX_OK ? sirix_sequence_convert(&run->work, &result, &signature->result,
                                                       "the result of a function", out, err)
                              : status;
}

enum sirix_status sirix_run_invoke(void *context, struct sirix_item function,
                                   const struct sirix_sequence *arguments, size_t argument_count,
                                   struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_run *run = context;
    const struct sirix_function_value *value = NULL;
    enum sirix_status status = sirix_run_deep(run, err);

    if (status == SIRIX_OK) {
        status = sirix_work_tick(&run->work, 1, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is_structured(function)) {
        return invoke_container(run, function, arguments, argument_count, out, err);
    }
    if (function.kind != SIRIX_ITEM_FUNCTION) {
        return sirix_query_fail(err, "XPTY0004", "%s is no function and cannot be called",
                                sirix_type_name((enum sirix_type)function.type));
    }
    value = function.value.function;
    if (value->signature.arity != argument_count) {
        return sirix_query_fail(err, "XPTY0004", "a function of %zu arguments is called with %zu",
                                value->signature.arity, argument_count);
    }
    if (value->coerced != NULL) {
        return invoke_coerced(run, value, arguments, out, err);
    }
    return value->builtin != NULL ? sirix_function_invoke(&run->work, &run->evaluator, value,
                                                          arguments, argument_count, out, err)
                                  : invoke_closure(run, value->closure, arguments, out, err);
}
