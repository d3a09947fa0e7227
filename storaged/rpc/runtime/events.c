/*
 * What the queue's thread does with a call: arms it, lets it in or turns it away, and turns what
 * core reports into events of the call.
 */
#include <grpc/support/time.h>
#include <stdlib.h>

#include "rpc/runtime/internal.h"

enum { RETRY_AFTER_MS = 100 };

static uint64_t deadline_us(gpr_timespec deadline)
{
    if (gpr_time_cmp(deadline, gpr_inf_future(deadline.clock_type)) == 0) {
        return UINT64_MAX;
    }
    gpr_timespec monotonic = gpr_convert_clock_type(deadline, GPR_CLOCK_MONOTONIC);
    if (monotonic.tv_sec < 0) {
        return 0;
    }
    return (uint64_t)monotonic.tv_sec * 1000000U + (uint64_t)monotonic.tv_nsec / 1000U;
}

static void on_new(void *self, bool ok)
{
    struct sirix_rpc_call *call = self;
    struct sirix_rpc_server *server = call->server;
    struct sirix_rpc_slot *slot = sirix_rpc_call_slot(call);
    const struct sirix_rpc_method *method = call->method;
    struct sirix_error err = {0};

    if (!ok) { /* The server is ending. */
        sirix_rpc_call_unref(call);
        return;
    }
    call->entered = true;
    sirix_rpc_call_arrived(call);
    bool draining = atomic_load(&server->draining);
    bool full = !method->inline_turns &&
                sirix_rpc_pool_waiting(server->pool) >= server->options.calls_waiting_max;
    bool admitted = !draining && !full && sirix_rpc_call_admit(call, &err) == SIRIX_OK;
    sirix_rpc_call_enter(call, admitted);
    if (!draining && !sirix_rpc_call_arm(slot)) {
        atomic_store(&slot->starved, true);
    }
    call->cancel.deadline_us = deadline_us(call->core_deadline);
    if (!method->inline_turns || method->client_streams || method->server_streams) {
        sirix_rpc_call_watch(call);
    }
    if (draining) {
        (void)sirix_fail_reason(&err, SIRIX_UNAVAILABLE, SIRIX_REASON_SHUTTING_DOWN,
                                "the server is shutting down");
        sirix_rpc_call_finish(call, &err, NULL);
    } else if (full) {
        (void)sirix_fail(&err, SIRIX_EXHAUSTED, "the server has %zu calls waiting, its limit",
                         server->options.calls_waiting_max);
        err.retry_after_ms = RETRY_AFTER_MS;
        sirix_rpc_call_finish(call, &err, NULL);
    } else if (!admitted) {
        sirix_rpc_call_fail(call, &err);
    } else {
        sirix_rpc_call_post(call, SIRIX_RPC_EVENT_START);
    }
    sirix_rpc_call_unref(call);
}

static void on_close(void *self, bool ok)
{
    struct sirix_rpc_call *call = self;

    (void)ok;
    if (call->close_cancelled != 0) {
        atomic_store(&call->cancel.cancelled, true);
        sirix_rpc_call_post(call, SIRIX_RPC_EVENT_CANCEL);
    }
    sirix_rpc_call_unref(call);
}

static void on_read(void *self, bool ok)
{
    struct sirix_rpc_call *call = self;

    atomic_store(&call->read_ok, ok);
    sirix_rpc_call_post(call, SIRIX_RPC_EVENT_READ);
    sirix_rpc_call_unref(call);
}

static void on_written(void *self, bool ok)
{
    struct sirix_rpc_call *call = self;

    if (!ok) {
        atomic_store(&call->cancel.cancelled, true);
    }
    sirix_rpc_call_post(call, ok ? SIRIX_RPC_EVENT_WRITTEN : SIRIX_RPC_EVENT_CANCEL);
    sirix_rpc_call_unref(call);
}

static void on_finished(void *self, bool ok)
{
    struct sirix_rpc_call *call = self;

    (void)ok;
    sirix_rpc_call_unref(call);
}

bool sirix_rpc_call_rearm(struct sirix_rpc_slot *slot, struct sirix_rpc_call *call)
{
    struct sirix_rpc_server *server = slot->door->server;
    grpc_call_error error = GRPC_CALL_OK;

    *call = (struct sirix_rpc_call){
        .slot = slot,
        .server = server,
        .method = slot->method,
        .principal = slot->door->principal,
        .new_tag = {.fn = on_new, .self = call},
        .close_tag = {.fn = on_close, .self = call},
        .read_tag = {.fn = on_read, .self = call},
        .write_tag = {.fn = on_written, .self = call},
        .finish_tag = {.fn = on_finished, .self = call},
        .refs = 1,
    };
    grpc_metadata_array_init(&call->metadata);
    grpc_call_details_init(&call->details);
    sirix_arena_init(&call->arena, SIRIX_RPC_CALL_BYTES_MAX);
    sirix_arena_init(&call->message_arena, SIRIX_RPC_CALL_BYTES_MAX);
    sirix_rpc_tag_release(&call->new_tag);
    if (slot->registered == NULL) {
        error =
            grpc_server_request_call(slot->door->core, &call->core, &call->details, &call->metadata,
                                     server->queue, server->queue, &call->new_tag);
        call->core_deadline = gpr_inf_future(GPR_CLOCK_MONOTONIC);
    } else {
        error = grpc_server_request_registered_call(
            slot->door->core, slot->registered, &call->core, &call->core_deadline, &call->metadata,
            slot->method->client_streams ? NULL : &call->payload, server->queue, server->queue,
            &call->new_tag);
    }
    if (error != GRPC_CALL_OK) {
        sirix_rpc_call_deinit(call);
        return false;
    }
    return true;
}

bool sirix_rpc_call_arm(struct sirix_rpc_slot *slot)
{
    struct sirix_rpc_call *call = malloc(sizeof(*call));

    if (call == NULL) {
        return false;
    }
    if (!sirix_rpc_call_rearm(slot, call)) {
        free(call);
        return false;
    }
    return true;
}
