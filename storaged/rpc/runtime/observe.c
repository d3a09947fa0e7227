/* Counters of a server, and what is read from a call's metadata when somebody asks. */
#include "rpc/runtime/observe.h"

#include <string.h>

#include "rpc/runtime/internal.h"

enum { TRACEPARENT_LEN = 55, TRACE_AT = 3, SPAN_AT = 36, FLAGS_AT = 53 };

/* --- Counting ----------------------------------------------------------------------------------- */

void sirix_rpc_call_arrived(struct sirix_rpc_call *call)
{
    call->arrived_us = sirix_cancel_now_us();
    (void)atomic_fetch_add_explicit(&call->server->observed[call->slot->number].running, 1,
                                    memory_order_relaxed);
}

void sirix_rpc_call_observe(struct sirix_rpc_call *call, const struct sirix_error *err)
{
    struct sirix_rpc_observed *observed = &call->server->observed[call->slot->number];
    const struct sirix_rpc_options *options = &call->server->options;
    uint64_t took_us = sirix_cancel_now_us() - call->arrived_us;
    int code = err == NULL ? 0 : sirix_status_grpc_code(err->status);

    (void)atomic_fetch_sub_explicit(&observed->running, 1, memory_order_relaxed);
    if (code >= 0 && code < SIRIX_RPC_CODES) {
        (void)atomic_fetch_add_explicit(&observed->codes[code], 1, memory_order_relaxed);
    }
    if (!call->method->lasts) {
        sirix_histogram_add(&observed->times, sirix_histogram_times_us, took_us);
    }
    if (options->on_ended != NULL) {
        const struct sirix_rpc_ended ended = {
            .call = call,
            .path = call->method->path,
            .principal = sirix_rpc_call_principal(call),
            .err = err,
            .number = call->number,
            .took_us = took_us,
            .lasts = call->method->lasts,
        };
        options->on_ended(options->context, &ended);
    }
}

size_t sirix_rpc_server_method_count(const struct sirix_rpc_server *server)
{
    return server->method_count + 1;
}

void sirix_rpc_server_method_stats(const struct sirix_rpc_server *server, size_t at,
                                   struct sirix_rpc_method_stats *out_stats)
{
    const struct sirix_rpc_observed *observed = &server->observed[at];
    bool known = at < server->method_count;

    out_stats->path = known ? server->methods[at]->path : "unknown";
    out_stats->lasts = known && server->methods[at]->lasts;
    out_stats->running = atomic_load_explicit(&observed->running, memory_order_relaxed);
    for (unsigned i = 0; i < SIRIX_RPC_CODES; i++) {
        out_stats->codes[i] = atomic_load_explicit(&observed->codes[i], memory_order_relaxed);
    }
    sirix_histogram_read(&observed->times, &out_stats->times);
}

size_t sirix_rpc_server_calls_waiting(const struct sirix_rpc_server *server)
{
    return sirix_rpc_pool_waiting(server->pool);
}

/* --- Traces ------------------------------------------------------------------------------------- */

/* Lower-case hexadecimal digits that are not all zero. */
static bool is_hex(const char *text, size_t len, bool may_be_zero)
{
    bool zero = true;

    for (size_t i = 0; i < len; i++) {
        bool digit = text[i] >= '0' && text[i] <= '9';
        if (!digit && (text[i] < 'a' || text[i] > 'f')) {
            return false;
        }
        zero = zero && text[i] == '0';
    }
    return may_be_zero || !zero;
}

bool sirix_rpc_traceparent_parse(const char *text, size_t len, struct sirix_rpc_trace *out_trace)
{
    /* A later version may add fields behind a dash; version 255 is none. */
    bool longer =
        len > TRACEPARENT_LEN && text[TRACEPARENT_LEN] == '-' && memcmp(text, "00", 2) != 0;

    if ((len != TRACEPARENT_LEN && !longer) || !is_hex(text, 2, true) ||
        memcmp(text, "ff", 2) == 0 || text[TRACE_AT - 1] != '-' || text[SPAN_AT - 1] != '-' ||
        text[FLAGS_AT - 1] != '-' || !is_hex(text + TRACE_AT, SPAN_AT - 1 - TRACE_AT, false) ||
        !is_hex(text + SPAN_AT, FLAGS_AT - 1 - SPAN_AT, false) ||
        !is_hex(text + FLAGS_AT, 2, true)) {
        return false;
    }
    memcpy(out_trace->trace_id, text + TRACE_AT, SIRIX_RPC_TRACE_ID_BYTES - 1);
    out_trace->trace_id[SIRIX_RPC_TRACE_ID_BYTES - 1] = '\0';
    memcpy(out_trace->span_id, text + SPAN_AT, SIRIX_RPC_SPAN_ID_BYTES - 1);
    out_trace->span_id[SIRIX_RPC_SPAN_ID_BYTES - 1] = '\0';
    return true;
}

static bool is_key(const grpc_metadata *item, const char *key)
{
    size_t len = strlen(key);

    return GRPC_SLICE_LENGTH(item->key) == len &&
           memcmp(GRPC_SLICE_START_PTR(item->key), key, len) == 0;
}

static bool is_printable(const char *text, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (text[i] < ' ' || text[i] > '~') {
            return false;
        }
    }
    return len != 0;
}

void sirix_rpc_call_trace(const struct sirix_rpc_call *call, struct sirix_rpc_trace *out_trace)
{
    *out_trace = (struct sirix_rpc_trace){.trace_id = ""};
    for (size_t i = 0; i < call->metadata.count; i++) {
        const grpc_metadata *item = &call->metadata.metadata[i];
        const char *text = (const char *)GRPC_SLICE_START_PTR(item->value);
        size_t len = GRPC_SLICE_LENGTH(item->value);

        if (is_key(item, "traceparent")) {
            (void)sirix_rpc_traceparent_parse(text, len, out_trace); /* Else it stays empty. */
        } else if (is_key(item, "x-request-id") && len < SIRIX_RPC_REQUEST_ID_BYTES &&
                   is_printable(text, len)) {
            memcpy(out_trace->request_id, text, len);
            out_trace->request_id[len] = '\0';
        }
    }
}
