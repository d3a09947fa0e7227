/* Health and metrics of the gateway. */
#include "transport/ops.h"

#include "probe/probe.h"

/* --- What is told -------------------------------------------------------------------------------- */

static bool is_ready(void *context)
{
    const struct sirix_mcp_server *server = context;
    const struct sirix_call_options options = {.deadline_ms = SIRIX_OPS_READY_MS};
    struct sirix_server_status *state = NULL;

    if (sirix_mcp_server_is_ending(server) ||
        sirix_backend_status(server->backend, &options, &state, NULL) != SIRIX_OK) {
        return false;
    }
    sirix_backend_release(state);
    return true;
}

static void write_metrics(void *context, struct sirix_exposition *exposition)
{
    const struct sirix_mcp_server *server = context;
    struct sirix_metrics *metrics = server->metrics;
    const long running = atomic_load(&metrics->running);
    static const char requests[] = "sirix_mcp_requests_total";

    sirix_exposition_family(exposition, requests, "counter", "Requests answered.");
    sirix_exposition_number(exposition, requests, "{era=\"legacy\"}",
                            atomic_load(&metrics->requests_legacy));
    sirix_exposition_number(exposition, requests, "{era=\"modern\"}",
                            atomic_load(&metrics->requests_modern));
    sirix_exposition_one(exposition, "sirix_mcp_requests_failed_total", "counter",
                         "Requests answered with an error of the protocol.",
                         atomic_load(&metrics->requests_failed));
    sirix_exposition_one(exposition, "sirix_mcp_requests_running", "gauge",
                         "Requests that are being answered.", running > 0 ? (uint64_t)running : 0);
    sirix_exposition_one(exposition, "sirix_mcp_tool_calls_total", "counter", "Calls of tools.",
                         atomic_load(&metrics->tools_called));
    sirix_exposition_one(exposition, "sirix_mcp_tool_refusals_total", "counter",
                         "Calls of tools that were refused.", atomic_load(&metrics->tools_refused));
    sirix_exposition_one(exposition, "sirix_mcp_tool_microseconds_total", "counter",
                         "What calls of tools took together.", atomic_load(&metrics->tools_us));
    sirix_exposition_one(exposition, "sirix_mcp_questions_total", "counter",
                         "Questions asked of clients.", atomic_load(&metrics->questions));
}

/* --- Life ---------------------------------------------------------------------------------------- */

/* The door's owner is handed around without const; nothing here changes it. */
static void *owner_of(const struct sirix_mcp_server *server)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = server};

    return pointer.out;
}

enum sirix_status sirix_ops_start(const struct sirix_mcp_server *server, const char *listen,
                                  struct sirix_probe **out, struct sirix_error *err)
{
    const struct sirix_probe_owner owner = {
        .context = owner_of(server), .is_ready = is_ready, .write_metrics = write_metrics};
    enum sirix_status status = sirix_probe_start(&owner, listen, out, err);

    if (status == SIRIX_INVALID) {
        sirix_error_set_field(err, "ops");
    }
    return status;
}
