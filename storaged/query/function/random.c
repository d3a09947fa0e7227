/*
 * random-number-generator(): an object of a number, a function that gives the next one, and a function
 * that permutes a sequence. The same seed gives the same numbers; without one the query's time is it.
 */
#include "base/hash.h"
#include "query/function/support.h"
#include "query/function/tables.h"

static enum sirix_status generator(struct sirix_call *call, uint64_t state, struct sirix_item *out,
                                   struct sirix_query_error *err);

/* One step of splitmix64: the next state, and a number made of it. */
static uint64_t advance(uint64_t *state)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(*state);
}

static double to_unit(uint64_t bits)
{
    return (double)(bits >> 11) * 1.1102230246251565e-16;
}

static uint64_t state_argument(const struct sirix_call *call)
{
    return (uint64_t)argument(call, 0).value.integer;
}

static enum sirix_status next(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    uint64_t state = state_argument(call);
    struct sirix_item made = {0};

    (void)advance(&state);
    enum sirix_status status = generator(call, state, &made, err);
    return status != SIRIX_OK ? status : give(call, made, out, err);
}

/* Fisher and Yates. */
static enum sirix_status permute(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    const struct sirix_sequence *from = &call->arguments[1];
    struct sirix_sequence to = {0};
    uint64_t state = state_argument(call) ^ UINT64_C(0x5851f42d4c957f2d);
    enum sirix_status status = sirix_sequence_reserve(call->work, &to, from->count, err);

    for (size_t i = 0; status == SIRIX_OK && i < from->count; i++) {
        size_t other = (size_t)(to_unit(advance(&state)) * (double)(i + 1));

        status = sirix_work_tick(call->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_sequence_append(call->work, &to, sirix_sequence_at(from, i), err);
        }
        if (status == SIRIX_OK) {
            struct sirix_item swap = to.items[i];

            to.items[i] = to.items[other];
            to.items[other] = swap;
        }
    }
    if (status == SIRIX_OK) {
        *out = to;
    }
    return status;
}

/* What the functions of a generator refer to: the state is their bound first argument. */
static const struct sirix_function next_function =
    ROW(FN, "next", 1, 1, 0, next, 0, T(OBJECT, ONE), T(INTEGER, ONE));
static const struct sirix_function permute_function =
    ROW(FN, "permute", 2, 2, 0, permute, 0, T(ITEM, MANY), T(INTEGER, ONE), T(ITEM, MANY));

/* A function item whose first argument is the state. */
static enum sirix_status bind(struct sirix_call *call, const struct sirix_function *function,
                              uint64_t state, struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_function_value *value = NULL;
    struct sirix_sequence *bound = NULL;
    void *memory = NULL;
    void *bound_memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(*value), &memory, &err->base);

    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(call->work->arena, 1, sizeof(*bound), &bound_memory, &err->base);
    }
    if (status == SIRIX_OK) {
        bound = bound_memory;
        status = sirix_sequence_single(call->work, sirix_item_integer((int64_t)state), bound, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    value = memory;
    value->builtin = function;
    value->ns = SIRIX_NS_FN;
    value->bound = bound;
    value->bound_count = 1;
    value->signature = (struct sirix_function_type){.arity = (size_t)function->min_arity - 1,
                                                    .parameters = function->parameters + 1,
                                                    .result = function->result};
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_FUNCTION, .type = SIRIX_TYPE_FUNCTION, .value.function = value};
    return SIRIX_OK;
}

static enum sirix_status generator(struct sirix_call *call, uint64_t state, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_item object = {0};
    struct sirix_item functions[2] = {{0}, {0}};
    uint64_t copy = state;
    enum sirix_status status = sirix_object_new(work, 3, &object, err);

    if (status == SIRIX_OK) {
        status = sirix_object_add(work, object, literal_bytes("number"),
                                  sirix_item_double(to_unit(advance(&copy))), err);
    }
    if (status == SIRIX_OK) {
        status = bind(call, &next_function, state, &functions[0], err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_add(work, object, literal_bytes("next"), functions[0], err);
    }
    if (status == SIRIX_OK) {
        status = bind(call, &permute_function, state, &functions[1], err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_add(work, object, literal_bytes("permute"), functions[1], err);
    }
    if (status == SIRIX_OK) {
        *out = object;
    }
    return status;
}

/* A number of a seed that is the same in every query: FNV-1a over its text. */
static enum sirix_status seed_of(struct sirix_call *call, uint64_t *out,
                                 struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (!has_argument(call, 0)) {
        *out = sirix_mix64((uint64_t)call->work->now_seconds * UINT64_C(1000000000) +
                           call->work->now_nanoseconds);
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_item_text(call->work, argument(call, 0), &text, err);
    const uint8_t *bytes = text.data;

    for (size_t i = 0; status == SIRIX_OK && i < text.len; i++) {
        hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
    }
    if (status == SIRIX_OK) {
        *out = hash;
    }
    return status;
}

static enum sirix_status start(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item made = {0};
    uint64_t state = 0;
    enum sirix_status status = seed_of(call, &state, err);

    if (status == SIRIX_OK) {
        status = generator(call, state, &made, err);
    }
    return status != SIRIX_OK ? status : give(call, made, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "random-number-generator", 0, 1, 0, start, 0, T(OBJECT, ONE), T(ATOMIC, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_random = {rows, sizeof(rows) / sizeof(rows[0])};
