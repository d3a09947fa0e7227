/* Calls to log lines, counters to numbers. */
#include "app/telemetry.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "ops/metrics.h"

/* --- The log of calls --------------------------------------------------------------------------- */

/* A caller's mistakes are the caller's to read; ours and the machine's are the operator's. */
static enum sirix_log_level level_of(const struct sirix_error *err)
{
    switch (err == NULL ? SIRIX_OK : err->status) {
    case SIRIX_INTERNAL:
    case SIRIX_IO:
    case SIRIX_CORRUPT:
    case SIRIX_OUTCOME_UNKNOWN:
        return SIRIX_LOG_ERROR;
    case SIRIX_NO_SPACE:
    case SIRIX_NO_MEMORY:
        return SIRIX_LOG_WARN;
    default:
        return SIRIX_LOG_DEBUG;
    }
}

static void log_call(enum sirix_log_level level, const char *msg,
                     const struct sirix_rpc_ended *ended)
{
    enum { FIELDS_MAX = 12 };
    const struct sirix_error *err = ended->err;
    struct sirix_log_field fields[FIELDS_MAX];
    struct sirix_rpc_trace trace;
    size_t count = 0;

    sirix_rpc_call_trace(ended->call, &trace);
    fields[count++] = sirix_log_str("method", ended->path);
    fields[count++] = sirix_log_str("principal", ended->principal->name);
    fields[count++] =
        sirix_log_str("status", sirix_status_name(err == NULL ? SIRIX_OK : err->status));
    fields[count++] = sirix_log_u64("took_us", ended->took_us);
    fields[count++] = sirix_log_u64("call", ended->number);
    if (trace.trace_id[0] != '\0') {
        fields[count++] = sirix_log_str("trace_id", trace.trace_id);
        fields[count++] = sirix_log_str("span_id", trace.span_id);
    }
    if (trace.request_id[0] != '\0') {
        fields[count++] = sirix_log_str("request_id", trace.request_id);
    }
    if (err != NULL) {
        fields[count++] = sirix_log_str("reason", sirix_reason_name(err->reason));
        fields[count++] = sirix_log_str("field", err->field);
        if (level_of(err) != SIRIX_LOG_DEBUG) {
            fields[count++] = sirix_log_str("error", err->text);
        }
    }
    sirix_log_write(level, msg, fields, count);
}

void sirix_telemetry_ended(void *context, const struct sirix_rpc_ended *ended)
{
    struct sirix_telemetry *telemetry = context;
    enum sirix_log_level level = level_of(ended->err);
    bool slow = !ended->lasts && telemetry->slow_us != 0 && ended->took_us > telemetry->slow_us;

    if (slow) {
        (void)atomic_fetch_add_explicit(&telemetry->slow_calls, 1, memory_order_relaxed);
        level = level < SIRIX_LOG_WARN ? SIRIX_LOG_WARN : level;
    }
    if (sirix_log_enabled(level)) {
        log_call(level, slow ? "slow call" : ended->err == NULL ? "call" : "call failed", ended);
    }
}

/* --- The door ----------------------------------------------------------------------------------- */

static bool is_started(void *context)
{
    struct sirix_telemetry *telemetry = context;

    return sirix_health_get(telemetry->health) != SIRIX_HEALTH_STARTING;
}

static bool is_ready(void *context)
{
    struct sirix_telemetry *telemetry = context;

    return sirix_health_get(telemetry->health) == SIRIX_HEALTH_SERVING;
}

/* "Apply" of our own service, "Health/Check" of another; "unknown" stays. */
static const char *short_name(const char *path)
{
    static const char own[] = "/sirix.storage.v1.Storage/";
    const char *name = strrchr(path, '.');

    if (strncmp(path, own, sizeof(own) - 1) == 0) {
        return path + sizeof(own) - 1;
    }
    return name == NULL ? path : name + 1;
}

static void read_method(const struct sirix_rpc_server *server, size_t at,
                        struct sirix_metrics_method *out_method)
{
    struct sirix_rpc_method_stats stats;

    sirix_rpc_server_method_stats(server, at, &stats);
    *out_method = (struct sirix_metrics_method){
        .name = short_name(stats.path),
        .lasts = stats.lasts,
        .running = stats.running,
        .times = stats.times,
    };
    memcpy(out_method->codes, stats.codes, sizeof(stats.codes));
}

static void write_metrics(void *context, struct sirix_exposition *exposition)
{
    _Static_assert((int)SIRIX_METRICS_CODES == (int)SIRIX_RPC_CODES, "the same codes");
    struct sirix_telemetry *telemetry = context;
    const struct sirix_rpc_server *server = atomic_load(&telemetry->server);
    struct sirix_metrics_calls calls = {.slow = atomic_load(&telemetry->slow_calls)};
    struct sirix_metrics_method *methods = NULL;

    if (server != NULL) {
        calls.method_count = sirix_rpc_server_method_count(server);
        methods = calloc(calls.method_count, sizeof(*methods));
        if (methods == NULL) {
            exposition->status = SIRIX_NO_MEMORY;
            return;
        }
        for (size_t i = 0; i < calls.method_count; i++) {
            read_method(server, i, &methods[i]);
        }
        calls.methods = methods;
        calls.running = sirix_rpc_server_calls_running(server);
        calls.waiting = sirix_rpc_server_calls_waiting(server);
    }
    sirix_metrics_write(exposition, telemetry->health, atomic_load(&telemetry->service), &calls);
    free(methods);
}

enum sirix_status sirix_telemetry_start(struct sirix_telemetry *telemetry, const char *listen,
                                        struct sirix_error *err)
{
    const struct sirix_probe_owner owner = {
        .context = telemetry,
        .is_started = is_started,
        .is_ready = is_ready,
        .write_metrics = write_metrics,
    };

    if (listen == NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_probe_start(&owner, listen, &telemetry->probe, err);
    if (status == SIRIX_OK) {
        sirix_log(SIRIX_LOG_INFO, "health and metrics", sirix_log_str("address", listen),
                  sirix_log_i64("port", sirix_probe_port(telemetry->probe)));
    }
    return status;
}

void sirix_telemetry_stop(struct sirix_telemetry *telemetry)
{
    sirix_probe_stop(telemetry->probe);
    telemetry->probe = NULL;
}
