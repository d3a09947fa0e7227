/* Calling built-in functions: conversion of arguments, streams, function items. */
#include <stdio.h>

#include "query/function/support.h"

enum { WHAT_BYTES = 128 };

static void describe(const struct sirix_function *function, size_t argument_index, char *to)
{
    (void)snprintf(to, WHAT_BYTES, "argument %zu of %s:%s", argument_index + 1,
                   sirix_function_ns_prefix(function->ns), function->name); /* Cut is fine. */
}

static const struct sirix_sequence_type *parameter_of(const struct sirix_function *function,
                                                      size_t i)
{
    bool is_variadic = (function->flags & SIRIX_FUNCTION_VARIADIC) != 0;
    size_t last = is_variadic && function->min_arity > 0 ? (size_t)function->min_arity - 1
                                                         : SIRIX_FUNCTION_PARAMETERS_MAX - 1;

    return &function->parameters[i < last ? i : last];
}

/* Whether an argument needs no conversion, told without looking far. */
static bool is_fine(const struct sirix_sequence *argument, const struct sirix_sequence_type *type)
{
    if (type->type == SIRIX_TYPE_ITEM) {
        return sirix_occurrence_allows(type->occurrence, argument->count);
    }
    if (argument->count == 0) {
        return sirix_occurrence_allows(type->occurrence, 0);
    }
    return argument->count == 1 && type->occurrence != SIRIX_OCCURRENCE_NONE &&
           type->function == NULL && type->member == NULL &&
           sirix_item_is(sirix_sequence_at(argument, 0), type->type);
}

static enum sirix_status convert(struct sirix_call *call, struct sirix_query_error *err)
{
    bool streams = (call->function->flags & SIRIX_FUNCTION_STREAMS) != 0;

    assert(call->argument_count == 0 || call->arguments != NULL);

    for (size_t i = streams ? 1 : 0; i < call->argument_count; i++) {
        const struct sirix_sequence_type *type = parameter_of(call->function, i);
        char what[WHAT_BYTES];

        if (is_fine(&call->arguments[i], type)) {
            continue;
        }
        describe(call->function, i, what);
        enum sirix_status status = sirix_sequence_convert(call->work, &call->arguments[i], type,
                                                          what, &call->arguments[i], err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    return SIRIX_OK;
}

/* The next item of the stream, or of an array of it that is being spread. */
static enum sirix_status next_raw(struct sirix_call *call, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    if (call->pending_at < call->pending.count) {
        *out = sirix_sequence_at(&call->pending, call->pending_at++);
        return SIRIX_OK;
    }
    return sirix_iterator_next(call->input, out, err);
}

enum sirix_status next_input(struct sirix_call *call, struct sirix_item *out,
                             struct sirix_query_error *err)
{
    const struct sirix_sequence_type *type = &call->function->parameters[0];
    struct sirix_item item = {0};
    enum sirix_status status = sirix_work_tick(call->work, 1, err);

    if (status == SIRIX_OK) {
        status = next_raw(call, &item, err);
    }
    while (status == SIRIX_OK && item.kind == SIRIX_ITEM_ARRAY &&
           sirix_type_derives(type->type, SIRIX_TYPE_ATOMIC)) {
        call->pending = (struct sirix_sequence){0};
        call->pending_at = 0;
        status = sirix_array_flatten(call->work, item, &call->pending, err);
        if (status == SIRIX_OK) {
            status = next_raw(call, &item, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (item.kind != SIRIX_ITEM_NONE && !sirix_item_is(item, type->type)) {
        struct sirix_sequence_type one = *type;
        struct sirix_sequence given = sirix_sequence_of(&item);
        struct sirix_sequence converted = {0};
        char what[WHAT_BYTES];

        one.occurrence = SIRIX_OCCURRENCE_ONE;
        describe(call->function, 0, what);
        status = sirix_sequence_convert(call->work, &given, &one, what, &converted, err);
        if (status != SIRIX_OK) {
            return status;
        }
        item = sirix_sequence_at(&converted, 0);
    }
    *out = item;
    return SIRIX_OK;
}

enum sirix_status sirix_function_call(struct sirix_call *call, struct sirix_sequence *out,
                                      struct sirix_query_error *err)
{
    enum sirix_status status = convert(call, err);

    return status != SIRIX_OK ? status : call->function->call(call, out, err);
}

/* An iterator over a sequence, both in one piece of the arena. */
struct held_iterator {
    struct sirix_sequence_iterator over;
    struct sirix_sequence sequence;
};

enum sirix_status sirix_function_open(struct sirix_call *call, struct sirix_iterator **out,
                                      struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (call->function->open != NULL) {
        status = convert(call, err);
        return status != SIRIX_OK ? status : call->function->open(call, out, err);
    }
    status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(struct held_iterator), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct held_iterator *held = memory;

    status = sirix_function_call(call, &held->sequence, err);
    if (status == SIRIX_OK) {
        sirix_sequence_iterate(&held->over, &held->sequence);
        *out = &held->over.iterator;
    }
    return status;
}

/* --- Function items ---------------------------------------------------------------------------------- */

enum sirix_status sirix_function_reference(struct sirix_work *work,
                                           const struct sirix_function *function, size_t arity,
                                           struct sirix_item *out, struct sirix_query_error *err)
{
    void *value_memory = NULL;
    void *types_memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        work->arena, 1, sizeof(struct sirix_function_value), &value_memory, &err->base);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(work->arena, arity, sizeof(struct sirix_sequence_type),
                                    &types_memory, &err->base);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_function_value *value = value_memory;
    struct sirix_sequence_type *types = types_memory;

    for (size_t i = 0; i < arity; i++) {
        types[i] = *parameter_of(function, i);
    }
    value->builtin = function;
    value->ns = (int)function->ns;
    value->name = literal_bytes(function->name);
    value->signature = (struct sirix_function_type){
        .arity = arity, .parameters = types, .result = function->result};
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_FUNCTION, .type = SIRIX_TYPE_FUNCTION, .value.function = value};
    return SIRIX_OK;
}

/* The bound arguments and those given, as one list. */
static enum sirix_status all_arguments(struct sirix_work *work,
                                       const struct sirix_function_value *value,
                                       const struct sirix_sequence *arguments,
                                       size_t argument_count, struct sirix_sequence **out,
                                       struct sirix_query_error *err)
{
    void *memory = NULL;

    if (argument_count != value->signature.arity) {
        return sirix_query_fail(err, "XPTY0004", "%s:%s takes %zu arguments here, not %zu",
                                sirix_function_ns_prefix(value->builtin->ns), value->builtin->name,
                                value->signature.arity, argument_count);
    }
    enum sirix_status status =
        sirix_arena_calloc(work->arena, value->bound_count + argument_count,
                           sizeof(struct sirix_sequence), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_sequence *given = memory;

    assert(given != NULL);

    for (size_t i = 0; i < value->bound_count; i++) {
        given[i] = value->bound[i];
    }
    for (size_t i = 0; i < argument_count; i++) {
        given[value->bound_count + i] = arguments[i];
    }
    *out = given;
    return SIRIX_OK;
}

enum sirix_status sirix_function_invoke(struct sirix_work *work,
                                        const struct sirix_evaluator *evaluator,
                                        const struct sirix_function_value *value,
                                        const struct sirix_sequence *arguments,
                                        size_t argument_count, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    struct sirix_sequence *given = NULL;
    size_t count = value->bound_count + argument_count;
    struct sirix_sequence_iterator over;
    enum sirix_status status = all_arguments(work, value, arguments, argument_count, &given, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_call call = {.work = work,
                              .function = value->builtin,
                              .argument_count = count,
                              .arguments = given,
                              .focus = value->focus,
                              .evaluator = evaluator};
    struct sirix_sequence first = {0};

    assert(given != NULL);
    if ((value->builtin->flags & SIRIX_FUNCTION_STREAMS) != 0 && count > 0) {
        first = given[0];
        sirix_sequence_iterate(&over, &first);
        call.input = &over.iterator;
        given[0] = (struct sirix_sequence){0};
    }
    return sirix_function_call(&call, out, err);
}

/* --- Support -------------------------------------------------------------------------------------------- */

enum sirix_status too_long(struct sirix_query_error *err)
{
    return sirix_query_fail_limit(err, "string_bytes", "a string would be longer than %d bytes",
                                  SIRIX_ITEM_STRING_BYTES_MAX);
}

enum sirix_status give_buffer(struct sirix_call *call, enum sirix_status status,
                              struct sirix_buf *buf, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (status == SIRIX_OK) {
        status = sirix_item_new_string(call->work, sirix_buf_view(buf), &item, err);
    } else if (status == SIRIX_EXHAUSTED && buf->max == SIRIX_ITEM_STRING_BYTES_MAX &&
               err->code[0] == '\0' && err->base.field[0] == '\0') {
        status = too_long(err);
    }
    sirix_buf_deinit(buf);
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

enum sirix_status context_item(const struct sirix_call *call, struct sirix_item *out,
                               struct sirix_query_error *err)
{
    if (call->focus == NULL || call->focus->item.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail(err, "XPDY0002", "%s:%s() needs a context item, and there is none",
                                sirix_function_ns_prefix(call->function->ns), call->function->name);
    }
    *out = call->focus->item;
    return SIRIX_OK;
}

enum sirix_status check_collation(const struct sirix_call *call, size_t i,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes name = text_argument(call, i);

    if (!has_argument(call, i) ||
        bytes_are(name, "http://www.w3.org/2005/xpath-functions/collation/codepoint") ||
        bytes_are(name, "collation/codepoint")) {
        return SIRIX_OK;
    }
    return sirix_query_fail(err, "FOCH0002", "there is no collation \"%.*s\"",
                            (int)(name.len > 100 ? 100 : name.len), (const char *)name.data);
}

enum sirix_status truth_of_filter(const struct sirix_sequence *answer, bool *out,
                                  struct sirix_query_error *err)
{
    struct sirix_item item =
        answer->count == 1 ? sirix_sequence_at(answer, 0) : (struct sirix_item){0};

    if (item.kind != SIRIX_ITEM_BOOLEAN) {
        return sirix_query_fail(err, "XPTY0004",
                                "the function of filter() gives no single boolean");
    }
    *out = item.value.boolean;
    return SIRIX_OK;
}

/* An object gives the field of that name, an array the member at that position, from 0. */
static enum sirix_status look_up(struct sirix_call *call, struct sirix_item container,
                                 const struct sirix_sequence *key, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_item at = key->count == 1 ? sirix_sequence_at(key, 0) : (struct sirix_item){0};
    struct sirix_item found = {0};
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if (at.kind == SIRIX_ITEM_NONE) {
        return sirix_query_fail(err, "XPTY0004", "%zu keys where one looks up a member",
                                key->count);
    }
    if (container.kind == SIRIX_ITEM_ARRAY) {
        if (at.kind != SIRIX_ITEM_INTEGER) {
            return sirix_query_fail(err, "XPTY0004", "a member of an array is found by an integer");
        }
        if (at.value.integer >= 0) {
            status = sirix_array_element(work, container, (uint64_t)at.value.integer, &found, err);
        }
    } else {
        status = sirix_item_text(work, at, &name, err);
        if (status == SIRIX_OK) {
            status = sirix_object_field(work, container, name, &found, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return found.kind == SIRIX_ITEM_NONE ? give_nothing(out)
                                         : sirix_item_spread(work, found, out, err);
}

enum sirix_status invoke(struct sirix_call *call, struct sirix_item function,
                         const struct sirix_sequence *arguments, size_t count,
                         struct sirix_sequence *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_work_tick(call->work, 1, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is_structured(function)) {
        return count == 1 ? look_up(call, function, &arguments[0], out, err)
                          : sirix_query_fail(err, "XPTY0004",
                                             "an object or array is a function of one argument");
    }
    return call->evaluator->invoke(call->evaluator->run, function, arguments, count, out, err);
}
