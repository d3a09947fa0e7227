/* Progress and log messages. */
#include "mcp/notify.h"

#include <string.h>

#include "base/clock.h"
#include "jsonrpc/put.h"
#include "mcp/server.h"

enum { NS_PER_MS = 1000 * 1000, MESSAGE_BYTES_MAX = 64 * 1024 };

static const char *const level_names[] = {
    [SIRIX_MCP_LOG_DEBUG] = "debug",   [SIRIX_MCP_LOG_INFO] = "info",
    [SIRIX_MCP_LOG_NOTICE] = "notice", [SIRIX_MCP_LOG_WARNING] = "warning",
    [SIRIX_MCP_LOG_ERROR] = "error",   [SIRIX_MCP_LOG_CRITICAL] = "critical",
    [SIRIX_MCP_LOG_ALERT] = "alert",   [SIRIX_MCP_LOG_EMERGENCY] = "emergency",
};

const char *sirix_mcp_log_level_name(enum sirix_mcp_log_level level)
{
    return level_names[level];
}

bool sirix_mcp_log_level_find(struct sirix_bytes name, enum sirix_mcp_log_level *out)
{
    for (size_t i = 0; i < sizeof(level_names) / sizeof(level_names[0]); i++) {
        const struct sirix_bytes known = {level_names[i], strlen(level_names[i])};

        if (sirix_bytes_equal(known, name)) {
            *out = (enum sirix_mcp_log_level)i;
            return true;
        }
    }
    return false;
}

/* Begins {"jsonrpc":"2.0","method":…,"params":{ */
static void begin(struct sirix_put *put, struct sirix_buf *message, const char *method)
{
    sirix_buf_init(message, MESSAGE_BYTES_MAX);
    sirix_put_init(put, message);
    sirix_put_object(put, NULL);
    sirix_put_str(put, "jsonrpc", "2.0");
    sirix_put_str(put, "method", method);
    sirix_put_object(put, "params");
}

static void end(struct sirix_put *put, struct sirix_buf *message, struct sirix_mcp_peer *peer)
{
    sirix_put_object_end(put);
    sirix_put_object_end(put);
    if (sirix_put_finish(put, NULL) == SIRIX_OK) {
        /* A peer that is gone, or memory that is short: the request itself will find out. */
        (void)!peer->send(peer, sirix_buf_view(message), NULL);
    }
    sirix_buf_deinit(message);
}

/* Sends what is true now. Called with the lock of the heartbeat. */
static void send_progress(struct sirix_mcp_request *request, uint64_t progress, uint64_t total,
                          const char *sentence)
{
    struct sirix_buf message;
    struct sirix_put put;

    request->progress = progress;
    request->progress_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    begin(&put, &message, "notifications/progress");
    sirix_put_raw(&put, "progressToken", request->context.progress_token);
    sirix_put_u64(&put, "progress", progress);
    if (total != 0) {
        sirix_put_u64(&put, "total", total);
    }
    if (sentence != NULL && request->context.version >= SIRIX_MCP_2025_03_26) {
        sirix_put_str(&put, "message", sentence);
    }
    end(&put, &message, request->context.peer);
}

static bool wants_progress(const struct sirix_mcp_request *request)
{
    return request->context.progress_token.len != 0 && request->context.peer != NULL &&
           !sirix_mcp_cancel_is_set(request->context.cancel);
}

void sirix_mcp_tell_progress(struct sirix_mcp_request *request, uint64_t progress, uint64_t total,
                             const char *sentence, bool is_sure)
{
    const uint64_t interval_ns = (uint64_t)SIRIX_MCP_PROGRESS_INTERVAL_MS * NS_PER_MS;

    if (!wants_progress(request)) {
        return;
    }
    (void)pthread_mutex_lock(&request->server->heartbeat->mutex);
    const uint64_t now_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    const bool was_told = request->progress_ns != 0;
    const bool is_more = !was_told || progress > request->progress;
    if (is_more && (!was_told || is_sure || now_ns - request->progress_ns >= interval_ns)) {
        send_progress(request, progress, total, sentence);
    }
    (void)pthread_mutex_unlock(&request->server->heartbeat->mutex);
}

void sirix_mcp_tell_beat(struct sirix_mcp_request *request)
{
    if (wants_progress(request)) {
        send_progress(request, request->progress_ns == 0 ? 0 : request->progress + 1, 0,
                      "still at work");
    }
}

void sirix_mcp_tell_log(struct sirix_mcp_request *request, enum sirix_mcp_log_level level,
                        struct sirix_bytes data)
{
    struct sirix_buf message;
    struct sirix_put put;

    if (level < request->context.log_level || request->context.peer == NULL ||
        sirix_mcp_cancel_is_set(request->context.cancel)) {
        return;
    }
    begin(&put, &message, "notifications/message");
    sirix_put_str(&put, "level", level_names[level]);
    sirix_put_str(&put, "logger", "sirix");
    sirix_put_raw(&put, "data", data);
    end(&put, &message, request->context.peer);
}
