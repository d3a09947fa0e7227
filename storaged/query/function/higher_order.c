/* for-each, filter, the folds, apply, and what is known of functions. */
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- Item by item ------------------------------------------------------------------------------------ */

struct mapping_iterator {
    struct sirix_iterator iterator; /* First. */
    struct sirix_call call;
    struct sirix_sequence current; /* for-each: what the function gave for the last item. */
    size_t at;
};

static enum sirix_status next_for_each(struct sirix_iterator *base, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    struct mapping_iterator *mapping = (struct mapping_iterator *)base;

    while (mapping->at == mapping->current.count) {
        struct sirix_item item = {0};
        enum sirix_status status = next_input(&mapping->call, &item, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (item.kind == SIRIX_ITEM_NONE) {
            *out = item;
            return SIRIX_OK;
        }
        struct sirix_sequence given = {0};

        mapping->at = 0;
        mapping->current = (struct sirix_sequence){0};
        status = sirix_sequence_single(mapping->call.work, item, &given, err);
        if (status == SIRIX_OK) {
            status = invoke(&mapping->call, argument(&mapping->call, 1), &given, 1,
                            &mapping->current, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = sirix_sequence_at(&mapping->current, mapping->at++);
    return SIRIX_OK;
}

static enum sirix_status next_filter(struct sirix_iterator *base, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    struct mapping_iterator *mapping = (struct mapping_iterator *)base;

    for (;;) {
        struct sirix_item item = {0};
        struct sirix_sequence answer = {0};
        bool keeps = false;
        enum sirix_status status = next_input(&mapping->call, &item, err);

        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            *out = item;
            return SIRIX_OK;
        }
        if (status != SIRIX_OK) {
            return status;
        }
        struct sirix_sequence given = {0};

        status = sirix_sequence_single(mapping->call.work, item, &given, err);
        if (status == SIRIX_OK) {
            status = invoke(&mapping->call, argument(&mapping->call, 1), &given, 1, &answer, err);
        }
        if (status == SIRIX_OK) {
            status = truth_of_filter(&answer, &keeps, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (keeps) {
            *out = item;
            return SIRIX_OK;
        }
    }
}

static enum sirix_status open_mapping(struct sirix_call *call, struct sirix_iterator **out,
                                      struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_calloc(
        call->work->arena, 1, sizeof(struct mapping_iterator), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct mapping_iterator *mapping = memory;

        mapping->iterator.next = call->function->detail == 0 ? next_for_each : next_filter;
        mapping->call = *call;
        *out = &mapping->iterator;
    }
    return status;
}

static enum sirix_status drain(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_iterator *iterator = NULL;
    enum sirix_status status = call->function->open(call, &iterator, err);

    return status != SIRIX_OK ? status : sirix_iterator_drain(call->work, iterator, out, err);
}

/* --- Folds ----------------------------------------------------------------------------------------------- */

static enum sirix_status fold_left(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_sequence total = call->arguments[1];

    for (;;) {
        struct sirix_item item = {0};
        enum sirix_status status = next_input(call, &item, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (item.kind == SIRIX_ITEM_NONE) {
            *out = total;
            return SIRIX_OK;
        }
        struct sirix_sequence given[2] = {total, {0}};

        status = sirix_sequence_single(call->work, item, &given[1], err);
        if (status == SIRIX_OK) {
            status = invoke(call, argument(call, 2), given, 2, &total, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
}

static enum sirix_status fold_right(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    const struct sirix_sequence *items = &call->arguments[0];
    struct sirix_sequence total = call->arguments[1];

    for (size_t i = items->count; i > 0; i--) {
        struct sirix_sequence given[2] = {{0}, total};
        enum sirix_status status =
            sirix_sequence_single(call->work, sirix_sequence_at(items, i - 1), &given[0], err);

        if (status == SIRIX_OK) {
            status = invoke(call, argument(call, 2), given, 2, &total, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = total;
    return SIRIX_OK;
}

static enum sirix_status for_each_pair(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    const struct sirix_sequence *a = &call->arguments[0];
    const struct sirix_sequence *b = &call->arguments[1];
    struct sirix_sequence all = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < a->count && i < b->count; i++) {
        struct sirix_sequence given[2] = {{0}, {0}};
        struct sirix_sequence result = {0};

        status = sirix_sequence_single(call->work, sirix_sequence_at(a, i), &given[0], err);
        if (status == SIRIX_OK) {
            status = sirix_sequence_single(call->work, sirix_sequence_at(b, i), &given[1], err);
        }
        if (status == SIRIX_OK) {
            status = invoke(call, argument(call, 2), given, 2, &result, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_append_all(call->work, &all, &result, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = all;
    }
    return status;
}

/* Objects and arrays are functions of one argument. */
static size_t arity_of(struct sirix_item function)
{
    return sirix_item_is_structured(function) ? 1 : function.value.function->signature.arity;
}

/* apply(f, array): the members are the arguments. */
static enum sirix_status apply(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item function = argument(call, 0);
    struct sirix_item array = argument(call, 1);
    uint64_t size = 0;
    void *memory = NULL;
    enum sirix_status status = sirix_container_size(call->work, array, &size, err);

    if (status == SIRIX_OK && size != arity_of(function)) {
        return sirix_query_fail(err, "FOAP0001",
                                "the function takes %zu arguments, the array has %llu members",
                                arity_of(function), (unsigned long long)size);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(call->work->arena, (size_t)size + 1,
                                    sizeof(struct sirix_sequence), &memory, &err->base);
    }
    struct sirix_sequence *given = memory;

    for (uint64_t i = 0; status == SIRIX_OK && i < size; i++) {
        struct sirix_item member = {0};

        status = sirix_array_element(call->work, array, i, &member, err);
        if (status == SIRIX_OK) {
            status = sirix_item_spread(call->work, member, &given[i], err);
        }
    }
    return status != SIRIX_OK ? status : invoke(call, function, given, (size_t)size, out, err);
}

/* --- About functions -------------------------------------------------------------------------------------- */

static enum sirix_status function_arity(struct sirix_call *call, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    return give_integer(call, (int64_t)arity_of(argument(call, 0)), out, err);
}

static enum sirix_status function_name(struct sirix_call *call, struct sirix_sequence *out,
                                       struct sirix_query_error *err)
{
    struct sirix_item function = argument(call, 0);
    void *memory = NULL;

    if (sirix_item_is_structured(function)) {
        return give_nothing(out);
    }
    const struct sirix_function_value *value = function.value.function;
    enum sirix_function_ns ns = (enum sirix_function_ns)value->ns;

    if (value->name.len == 0) {
        return give_nothing(out);
    }
    enum sirix_status status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(struct sirix_qname), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_qname *name = memory;

    name->local = value->name;
    name->prefix = literal_bytes(ns == SIRIX_NS_FN ? "" : sirix_function_ns_prefix(ns));
    name->uri = ns == SIRIX_NS_NONE ? value->uri : literal_bytes(sirix_function_ns_uri(ns));
    return give(call,
                (struct sirix_item){
                    .kind = SIRIX_ITEM_QNAME, .type = SIRIX_TYPE_QNAME, .value.qname = name},
                out, err);
}

/* function-lookup(name, arity): built-in functions; what a query declares is found by its evaluator. */
static enum sirix_status function_lookup(struct sirix_call *call, struct sirix_sequence *out,
                                         struct sirix_query_error *err)
{
    const struct sirix_qname *name = argument(call, 0).value.qname;
    struct sirix_item arity = argument(call, 1);
    enum sirix_function_ns ns = SIRIX_NS_NONE;
    struct sirix_item reference = {0};
    const struct sirix_function *function = NULL;

    if (arity.kind == SIRIX_ITEM_INTEGER && arity.value.integer >= 0 &&
        call->evaluator->functions != NULL && sirix_function_ns_of_uri(name->uri, &ns)) {
        function = sirix_function_find(call->evaluator->functions, ns, name->local,
                                       (size_t)arity.value.integer);
    }
    if (function == NULL) {
        return give_nothing(out);
    }
    enum sirix_status status = sirix_function_reference(
        call->work, function, (size_t)arity.value.integer, &reference, err);
    return status != SIRIX_OK ? status : give(call, reference, out, err);
}

/* A callback of n parameters. */
static const struct sirix_sequence_type any_items[2] = {T(ITEM, MANY), T(ITEM, MANY)};
static const struct sirix_function_type takes_one = {
    .arity = 1, .parameters = any_items, .result = T(ITEM, MANY)};
static const struct sirix_function_type takes_two = {
    .arity = 2, .parameters = any_items, .result = T(ITEM, MANY)};

#define CALLBACK(signature)                                                                        \
    {                                                                                              \
        .type = SIRIX_TYPE_FUNCTION, .function = &(signature)                                      \
    }

static const struct sirix_function rows[] = {
    {.ns = SIRIX_NS_FN,
     .name = "for-each",
     .min_arity = 2,
     .max_arity = 2,
     .flags = STREAMS | HIGHER,
     .result = T(ITEM, MANY),
     .parameters = {T(ITEM, MANY), CALLBACK(takes_one)},
     .call = drain,
     .open = open_mapping},
    {.ns = SIRIX_NS_FN,
     .name = "filter",
     .min_arity = 2,
     .max_arity = 2,
     .flags = STREAMS | HIGHER,
     .result = T(ITEM, MANY),
     .parameters = {T(ITEM, MANY), CALLBACK(takes_one)},
     .call = drain,
     .open = open_mapping,
     .detail = 1},
    ROW(FN, "fold-left", 3, 3, STREAMS | HIGHER, fold_left, 0, T(ITEM, MANY), T(ITEM, MANY),
        T(ITEM, MANY), CALLBACK(takes_two)),
    ROW(FN, "fold-right", 3, 3, HIGHER, fold_right, 0, T(ITEM, MANY), T(ITEM, MANY), T(ITEM, MANY),
        CALLBACK(takes_two)),
    ROW(FN, "for-each-pair", 3, 3, HIGHER, for_each_pair, 0, T(ITEM, MANY), T(ITEM, MANY),
        T(ITEM, MANY), CALLBACK(takes_two)),
    ROW(FN, "apply", 2, 2, HIGHER, apply, 0, T(ITEM, MANY), T(FUNCTION, ONE), T(ARRAY, ONE)),
    ROW(FN, "function-arity", 1, 1, PURE, function_arity, 0, T(INTEGER, ONE), T(FUNCTION, ONE)),
    ROW(FN, "function-name", 1, 1, PURE, function_name, 0, T(QNAME, OPTIONAL), T(FUNCTION, ONE)),
    ROW(FN, "function-lookup", 2, 2, 0, function_lookup, 0, T(FUNCTION, OPTIONAL), T(QNAME, ONE),
        T(INTEGER, ONE)),
};

const struct sirix_function_table sirix_functions_higher_order = {rows,
                                                                  sizeof(rows) / sizeof(rows[0])};
