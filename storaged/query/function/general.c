/* Booleans, string(), number(), data(), deep-equal(), error() and trace(). */
#include <math.h>

#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/json.h"

static enum sirix_status constant(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    return give_boolean(call, call->function->detail != 0, out, err);
}

/* boolean() and not(): detail 1 negates. */
static enum sirix_status truth(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    bool value = false;
    enum sirix_status status = sirix_iterator_truth(call->work, call->input, &value, err);

    return status != SIRIX_OK
               ? status
               : give_boolean(call, value != (call->function->detail != 0), out, err);
}

/* Argument 0, or the context item where there are no arguments. */
static enum sirix_status subject(struct sirix_call *call, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    if (call->argument_count == 0) {
        return context_item(call, out, err);
    }
    *out = argument(call, 0);
    return SIRIX_OK;
}

static enum sirix_status string_of(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    struct sirix_bytes text = {.data = "", .len = 0};
    enum sirix_status status = subject(call, &item, err);

    if (status == SIRIX_OK && item.kind == SIRIX_ITEM_STRING && item.type == SIRIX_TYPE_STRING) {
        item.origin = 0;
        return give(call, item, out, err);
    }
    if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
        status = sirix_item_text(call->work, item, &text, err);
    }
    return status != SIRIX_OK ? status : give_text(call, text, out, err);
}

static enum sirix_status number_of(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    struct sirix_item number = {0};
    struct sirix_query_error failure = {0};
    enum sirix_status status = subject(call, &item, err);

    if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
        status = sirix_item_atomise(item, &item, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (item.kind == SIRIX_ITEM_NONE) {
        return give(call, sirix_item_double((double)NAN), out, err);
    }
    status = sirix_item_cast(call->work, item, SIRIX_TYPE_DOUBLE, &number, &failure);
    if (status != SIRIX_OK && !sirix_query_error_catchable(&failure)) {
        *err = failure;
        return status;
    }
    return give(call, status == SIRIX_OK ? number : sirix_item_double((double)NAN), out, err);
}

/* data(): the parameter's type has made all of them atomic, but JSONiq has a code of its own for it. */
static enum sirix_status data_of(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item item = {0};

    if (call->argument_count == 0) {
        enum sirix_status status = context_item(call, &item, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (!sirix_item_is_structured(item)) {
            status = sirix_item_atomise(item, &item, err);
            return status != SIRIX_OK ? status : give(call, item, out, err);
        }
    }
    for (size_t i = 0; call->argument_count > 0 && i < call->arguments[0].count; i++) {
        struct sirix_item one = sirix_sequence_at(&call->arguments[0], i);
        enum sirix_status status = sirix_work_tick(call->work, 1, err);

        if (status == SIRIX_OK && one.kind == SIRIX_ITEM_FUNCTION) {
            status = sirix_item_atomise(one, &one, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        item = sirix_item_is_structured(one) ? one : item;
    }
    if (item.kind != SIRIX_ITEM_NONE) {
        return sirix_query_fail(err, "JNTY0004", "an %s is not an atomic value",
                                sirix_type_name((enum sirix_type)item.type));
    }
    *out = call->arguments[0];
    return SIRIX_OK;
}

static enum sirix_status deep_equal(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    const struct sirix_sequence *a = &call->arguments[0];
    const struct sirix_sequence *b = &call->arguments[1];
    bool equal = a->count == b->count;
    enum sirix_status status = check_collation(call, 2, err);

    for (size_t i = 0; status == SIRIX_OK && equal && i < a->count; i++) {
        status = sirix_item_deep_equal(call->work, sirix_sequence_at(a, i), sirix_sequence_at(b, i),
                                       &equal, err);
    }
    return status != SIRIX_OK ? status : give_boolean(call, equal, out, err);
}

/* error(code?, description?, value*): never gives anything. */
static enum sirix_status error(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    struct sirix_item code = argument(call, 0);
    struct sirix_bytes text = text_argument(call, 1);
    char name[SIRIX_QUERY_CODE_BYTES] = "FOER0000";
    void *value = NULL;

    (void)out;
    if (call->argument_count > 2) {
        enum sirix_status status =
            sirix_arena_alloc(call->work->arena, sizeof(struct sirix_sequence), &value, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
        memcpy(value, &call->arguments[2], sizeof(struct sirix_sequence));
    }
    if (code.kind == SIRIX_ITEM_QNAME && code.value.qname->local.len < sizeof(name)) {
        memcpy(name, code.value.qname->local.data, code.value.qname->local.len);
        name[code.value.qname->local.len] = '\0';
    }
    if (!has_argument(call, 1)) {
        text = literal_bytes("raised by fn:error()");
    }
    (void)sirix_query_fail(err, name, "%.*s", (int)text.len, (const char *)text.data);
    if (code.kind == SIRIX_ITEM_QNAME && code.value.qname->uri.len != 0 &&
        code.value.qname->uri.len < sizeof(err->code_ns) &&
        !bytes_are(code.value.qname->uri, sirix_function_ns_uri(SIRIX_NS_ERR))) {
        memcpy(err->code_ns, code.value.qname->uri.data, code.value.qname->uri.len);
        err->code_ns[code.value.qname->uri.len] = '\0';
    }
    err->value = value;
    return SIRIX_INVALID;
}

/* trace() has nowhere to write to that the caller would see: it gives its argument. */
static enum sirix_status trace(struct sirix_call *call, struct sirix_sequence *out,
                               struct sirix_query_error *err)
{
    (void)err;
    *out = call->arguments[0];
    return SIRIX_OK;
}

static enum sirix_status null(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    return give(call, sirix_item_null(), out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "true", 0, 0, PURE, constant, 1, T(BOOLEAN, ONE), {0}),
    ROW(FN, "false", 0, 0, PURE, constant, 0, T(BOOLEAN, ONE), {0}),
    ROW(FN, "boolean", 1, 1, PURE | AGGREGATE, truth, 0, T(BOOLEAN, ONE), T(ITEM, MANY)),
    ROW(FN, "not", 1, 1, PURE | AGGREGATE, truth, 1, T(BOOLEAN, ONE), T(ITEM, MANY)),
    ROW(FN, "string", 0, 0, FOCUS, string_of, 0, T(STRING, ONE), {0}),
    ROW(FN, "string", 1, 1, PURE, string_of, 0, T(STRING, ONE), T(ITEM, OPTIONAL)),
    ROW(FN, "number", 0, 0, FOCUS, number_of, 0, T(DOUBLE, ONE), {0}),
    ROW(FN, "number", 1, 1, PURE, number_of, 0, T(DOUBLE, ONE), T(ITEM, OPTIONAL)),
    ROW(FN, "data", 0, 0, FOCUS, data_of, 0, T(ATOMIC, MANY), {0}),
    ROW(FN, "data", 1, 1, PURE, data_of, 0, T(ATOMIC, MANY), T(ITEM, MANY)),
    ROW(FN, "deep-equal", 2, 3, PURE, deep_equal, 0, T(BOOLEAN, ONE), T(ITEM, MANY), T(ITEM, MANY),
        T(STRING, ONE)),
    ROW(FN, "error", 0, 0, 0, error, 0, T(ITEM, MANY), {0}),
    ROW(FN, "error", 1, 3, 0, error, 0, T(ITEM, MANY), T(QNAME, OPTIONAL), T(STRING, OPTIONAL),
        T(ITEM, MANY)),
    ROW(FN, "trace", 1, 2, 0, trace, 0, T(ITEM, MANY), T(ITEM, MANY), T(STRING, OPTIONAL)),
    ROW(JN, "null", 0, 0, PURE, null, 0, T(NULL, ONE), {0}),
};

const struct sirix_function_table sirix_functions_general = {rows, sizeof(rows) / sizeof(rows[0])};
