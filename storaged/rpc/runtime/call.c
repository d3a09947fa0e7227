/*
 * The life of a call.
 *
 *     ARMED --new--> RUNNING --finish batch--> FINISHING --last reference--> ended() --> freed
 *
 * References: one for the armed request (the start's turn drops it), one for each batch under way,
 * one for each scheduled turn. The rules of core that shape this file:
 *   - a batch that does not start gives no event, so its reference is dropped at once;
 *   - RECV_CLOSE_ON_SERVER is the only notice of cancel, deadline and lost connection; its tag
 *     always says success, `cancelled` is valid when it comes;
 *   - an inline unary method folds it into its only batch: two queue events per call in all;
 *   - a status is sent exactly once, also after a cancel: the batch then just fails.
 */
#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/runtime/details.h"
#include "rpc/runtime/internal.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define SIRIX_RPC_TSAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define SIRIX_RPC_TSAN 1
#endif

#ifdef SIRIX_RPC_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
#endif

void sirix_rpc_tag_release(struct sirix_rpc_tag *tag)
{
#ifdef SIRIX_RPC_TSAN
    __tsan_release(tag);
#else
    (void)tag;
#endif
}

void sirix_rpc_tag_acquire(struct sirix_rpc_tag *tag)
{
#ifdef SIRIX_RPC_TSAN
    __tsan_acquire(tag);
#else
    (void)tag;
#endif
}

/* --- References --------------------------------------------------------------------------------- */

void sirix_rpc_call_ref(struct sirix_rpc_call *call)
{
    (void)atomic_fetch_add_explicit(&call->refs, 1, memory_order_relaxed);
}

bool sirix_rpc_call_try_ref(struct sirix_rpc_call *call)
{
    unsigned refs = atomic_load(&call->refs);

    while (refs != 0 && !atomic_compare_exchange_weak(&call->refs, &refs, refs + 1)) {
    }
    return refs != 0;
}

/* Counts a call; one that is `served` also takes part in wakes and drains. */
void sirix_rpc_call_enter(struct sirix_rpc_call *call, bool served)
{
    struct sirix_rpc_server *server = call->server;

    call->number = atomic_fetch_add(&server->calls_total, 1) + 1;
    (void)pthread_mutex_lock(&server->mutex);
    (void)atomic_fetch_add(&server->calls_running, 1);
    if (served) {
        call->listed = true;
        call->next = server->live;
        if (call->next != NULL) {
            call->next->previous = call;
        }
        server->live = call;
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

static void unlist(struct sirix_rpc_call *call)
{
    struct sirix_rpc_server *server = call->server;

    if (!call->listed) {
        return;
    }
    (void)pthread_mutex_lock(&server->mutex);
    call->listed = false;
    if (call->next != NULL) {
        call->next->previous = call->previous;
    }
    if (call->previous != NULL) {
        call->previous->next = call->next;
    } else {
        server->live = call->next;
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

/* The very last that a call does with its server: a drain may go on from here. */
static void leave(struct sirix_rpc_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    if (atomic_fetch_sub(&server->calls_running, 1) == 1) {
        server->idle_since_us = sirix_cancel_now_us();
        (void)pthread_cond_broadcast(&server->changed);
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

/* Gives back what a call holds of core and memory; the struct itself stays. */
void sirix_rpc_call_deinit(struct sirix_rpc_call *call)
{
    if (call->payload != NULL) {
        grpc_byte_buffer_destroy(call->payload);
    }
    if (call->received != NULL) {
        grpc_byte_buffer_destroy(call->received);
    }
    grpc_metadata_array_destroy(&call->metadata);
    grpc_call_details_destroy(&call->details);
    if (call->core != NULL) {
        grpc_call_unref(call->core);
    }
    if (call->counted) {
        call->server->options.leave(call->server->options.quotas, call->principal->name);
    }
    sirix_principal_unref(call->principal);
    sirix_arena_deinit(&call->arena);
    sirix_arena_deinit(&call->message_arena);
    free(call->state);
}

static void call_free(struct sirix_rpc_call *call)
{
    struct sirix_rpc_server *server = call->server;
    struct sirix_rpc_slot *slot = sirix_rpc_call_slot(call);
    bool entered = call->entered;
    bool starved = true;
    bool kept = false;

    unlist(call);
    sirix_rpc_call_deinit(call);
    /* A method whose next call could not be allocated lives on in the memory of this one. */
    if (!atomic_load(&server->draining) &&
        atomic_compare_exchange_strong(&slot->starved, &starved, false)) {
        kept = sirix_rpc_call_rearm(slot, call);
    }
    if (!kept) {
        free(call);
    }
    if (entered) {
        leave(server);
    }
}

void sirix_rpc_call_unref(struct sirix_rpc_call *call)
{
    if (atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    assert(!call->started || call->given_back); /* What began was ended, in a turn. */
    call_free(call);
}

/* --- Batches ------------------------------------------------------------------------------------ */

static bool start_batch(struct sirix_rpc_call *call, const grpc_op *ops, size_t count,
                        struct sirix_rpc_tag *tag)
{
    sirix_rpc_call_ref(call);
    sirix_rpc_tag_release(tag);
    if (grpc_call_start_batch(call->core, ops, count, tag, NULL) == GRPC_CALL_OK) {
        return true;
    }
    /* Whoever starts a batch has a reference of its own, so that this was not the last. */
    unsigned before = atomic_fetch_sub_explicit(&call->refs, 1, memory_order_acq_rel);
    assert(before > 1);
    return false;
}

void sirix_rpc_call_watch(struct sirix_rpc_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_CLOSE_ON_SERVER};

    op.data.recv_close_on_server.cancelled = &call->close_cancelled;
    call->watching = true;
    if (!start_batch(call, &op, 1, &call->close_tag)) {
        call->watching = false;
    }
}

/* Sends the status, and before it the answer if there is one, which is destroyed. */
void sirix_rpc_call_finish(struct sirix_rpc_call *call, const struct sirix_error *err,
                           grpc_byte_buffer *answer)
{
    grpc_op ops[4] = {0};
    size_t count = 0;
    uint8_t packed[SIRIX_RPC_DETAILS_BYTES_MAX];
    grpc_metadata trailing = {0};
    grpc_slice text = grpc_empty_slice();

    if (call->finished) {
        grpc_byte_buffer_destroy(answer);
        return;
    }
    call->finished = true;
    sirix_rpc_call_observe(call, err);
    if (!call->initial_sent) {
        call->initial_sent = true;
        ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    }
    if (answer != NULL) {
        ops[count].op = GRPC_OP_SEND_MESSAGE;
        ops[count++].data.send_message.send_message = answer;
    }
    ops[count].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
    if (err != NULL) {
        text = grpc_slice_from_copied_string(err->text);
        trailing.key = grpc_slice_from_static_string("grpc-status-details-bin");
        trailing.value = grpc_slice_from_copied_buffer((const char *)packed,
                                                       sirix_rpc_details_encode(err, packed));
        ops[count].data.send_status_from_server.status =
            (grpc_status_code)sirix_status_grpc_code(err->status);
        ops[count].data.send_status_from_server.status_details = &text;
        ops[count].data.send_status_from_server.trailing_metadata = &trailing;
        ops[count].data.send_status_from_server.trailing_metadata_count = 1;
    }
    count++;
    if (!call->watching) {
        ops[count].op = GRPC_OP_RECV_CLOSE_ON_SERVER;
        ops[count++].data.recv_close_on_server.cancelled = &call->close_cancelled;
    }
    (void)start_batch(call, ops, count,
                      &call->finish_tag); /* Fails only for a call that is gone. */
    if (answer != NULL) {
        grpc_byte_buffer_destroy(answer);
    }
    if (err != NULL) {
        grpc_slice_unref(trailing.value);
        grpc_slice_unref(text);
    }
}

/* --- What methods use --------------------------------------------------------------------------- */

void sirix_rpc_call_read(struct sirix_rpc_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

    assert(!call->reading);

    if (call->finished) {
        return;
    }
    op.data.recv_message.recv_message = &call->received;
    call->reading = start_batch(call, &op, 1, &call->read_tag);
}

enum sirix_status sirix_rpc_call_write(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err)
{
    grpc_op ops[2] = {0};
    size_t count = 0;
    grpc_byte_buffer *buffer = NULL;

    assert(!call->writing);

    if (call->finished) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_rpc_message_encode(message, &buffer, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (!call->initial_sent) {
        call->initial_sent = true;
        ops[count++].op = GRPC_OP_SEND_INITIAL_METADATA;
    }
    ops[count].op = GRPC_OP_SEND_MESSAGE;
    ops[count++].data.send_message.send_message = buffer;
    call->writing = start_batch(call, ops, count, &call->write_tag);
    grpc_byte_buffer_destroy(buffer);
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_call_reply(struct sirix_rpc_call *call, const ProtobufCMessage *message,
                                       struct sirix_error *err)
{
    grpc_byte_buffer *buffer = NULL;

    enum sirix_status status = sirix_rpc_message_encode(message, &buffer, err);
    if (status == SIRIX_OK) {
        sirix_rpc_call_finish(call, NULL, buffer);
    }
    return status;
}

void sirix_rpc_call_end(struct sirix_rpc_call *call)
{
    sirix_rpc_call_finish(call, NULL, NULL);
}

void sirix_rpc_call_fail(struct sirix_rpc_call *call, const struct sirix_error *err)
{
    sirix_rpc_call_finish(call, err, NULL);
}

struct sirix_arena *sirix_rpc_call_arena(struct sirix_rpc_call *call)
{
    return &call->arena;
}

void sirix_rpc_call_keep_message(struct sirix_rpc_call *call)
{
    assert(call->arena.used_bytes == 0);

    struct sirix_arena kept = call->message_arena;
    call->message_arena = call->arena;
    call->arena = kept;
}

void *sirix_rpc_call_context(struct sirix_rpc_call *call)
{
    return call->slot->context;
}

const struct sirix_principal *sirix_rpc_call_principal(const struct sirix_rpc_call *call)
{
    return call->principal;
}

const struct sirix_cancel *sirix_rpc_call_cancel(const struct sirix_rpc_call *call)
{
    return &call->cancel;
}

void sirix_rpc_call_wake(struct sirix_rpc_call *call)
{
    sirix_rpc_call_post(call, SIRIX_RPC_EVENT_WAKE);
}

void sirix_rpc_call_try_wake(struct sirix_rpc_call *call)
{
    if (sirix_rpc_call_try_ref(call)) {
        sirix_rpc_call_wake(call);
        sirix_rpc_call_unref(call);
    }
}

/* --- Turns -------------------------------------------------------------------------------------- */

static enum sirix_status turn_start(struct sirix_rpc_call *call, struct sirix_error *err)
{
    const struct sirix_rpc_method *method = call->method;
    ProtobufCMessage *request = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!method->client_streams && method->request != NULL) {
        if (call->payload == NULL) {
            return sirix_fail(err, SIRIX_INVALID, "the call has no request message");
        }
        status =
            sirix_rpc_message_decode(call->payload, method->request, &call->arena, &request, err);
        grpc_byte_buffer_destroy(call->payload);
        call->payload = NULL;
        if (status != SIRIX_OK) {
            return status;
        }
    }
    call->state = calloc(1, method->state_bytes == 0 ? 1 : method->state_bytes);
    if (call->state == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the call's state");
    }
    call->started = true;
    return method->start == NULL ? SIRIX_OK : method->start(call, call->state, request, err);
}

/*
 * A read that brought no message: the client has said all, or the call is gone; core tells both alike. A
 * second read goes through core behind a cancellation that is under way, which is known after it, though
 * the batch that is asked to tell may come back later. What is cut off is left to that batch.
 */
static enum sirix_status turn_end(struct sirix_rpc_call *call, struct sirix_error *err)
{
    if (!call->end_seen) {
        call->end_seen = true;
        sirix_rpc_call_read(call);
        return SIRIX_OK;
    }
    return call->method->half_closed == NULL ||
                   __atomic_load_n(&call->close_cancelled, __ATOMIC_ACQUIRE) != 0
               ? SIRIX_OK
               : call->method->half_closed(call, call->state, err);
}

static enum sirix_status turn_read(struct sirix_rpc_call *call, struct sirix_error *err)
{
    const struct sirix_rpc_method *method = call->method;
    ProtobufCMessage *message = NULL;
    enum sirix_status status = SIRIX_OK;

    call->reading = false;
    if (!atomic_load(&call->read_ok) || call->received == NULL) {
        return turn_end(call, err);
    }
    sirix_arena_reset(&call->message_arena);
    status = sirix_rpc_message_decode(call->received, method->request, &call->message_arena,
                                      &message, err);
    grpc_byte_buffer_destroy(call->received);
    call->received = NULL;
    if (status == SIRIX_OK) {
        status = method->message(call, call->state, message, err);
    }
    return status;
}

static enum sirix_status turn_cancelled(struct sirix_rpc_call *call, struct sirix_error *err)
{
    enum sirix_status status = sirix_cancel_check(&call->cancel, err);

    return status == SIRIX_OK ? sirix_fail(err, SIRIX_CANCELLED, "the call was cancelled") : status;
}

/* Events that come before the start wait for it. */
static void turn(struct sirix_rpc_call *call, unsigned events)
{
    const struct sirix_rpc_method *method = call->method;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;

    if (!call->started && (events & SIRIX_RPC_EVENT_START) == 0) {
        call->early |= events;
        return;
    }
    events |= call->early;
    call->early = 0;
    if ((events & SIRIX_RPC_EVENT_START) != 0) {
        status = turn_start(call, &err);
    }
    if ((events & SIRIX_RPC_EVENT_CANCEL) != 0 && status == SIRIX_OK && !call->finished) {
        if (method->cancelled != NULL) {
            method->cancelled(call, call->state);
        }
        status = turn_cancelled(call, &err);
    }
    if ((events & SIRIX_RPC_EVENT_WRITTEN) != 0) {
        call->writing = false;
        if (status == SIRIX_OK && !call->finished && method->written != NULL) {
            status = method->written(call, call->state, &err);
        }
    }
    if ((events & SIRIX_RPC_EVENT_READ) != 0 && status == SIRIX_OK && !call->finished) {
        status = turn_read(call, &err);
    }
    if ((events & SIRIX_RPC_EVENT_WAKE) != 0 && status == SIRIX_OK && !call->finished &&
        method->woken != NULL) {
        status = method->woken(call, call->state, &err);
    }
    if ((events & SIRIX_RPC_EVENT_DRAIN) != 0 && status == SIRIX_OK && !call->finished &&
        method->draining != NULL) {
        status = method->draining(call, call->state, &err);
    }
    if (status != SIRIX_OK) {
        sirix_rpc_call_fail(call, &err);
    }
}

/*
 * A call that is ended has no more use for its state. To give it back here, and not when the last batch
 * comes back from core, saves a thread that would be woken for nothing else.
 */
static void give_back(struct sirix_rpc_call *call)
{
    if (call->finished && call->started && !call->given_back) {
        call->given_back = true;
        if (call->method->ended != NULL) {
            call->method->ended(call->state);
        }
    }
}

/* Takes turns until no event is left; the last look and the leaving are one atomic step. */
static void take_turns(struct sirix_rpc_call *call)
{
    for (;;) {
        unsigned events = atomic_exchange(&call->pending, SIRIX_RPC_SCHEDULED);
        turn(call, events);
        give_back(call);
        unsigned expected = SIRIX_RPC_SCHEDULED;
        if (atomic_compare_exchange_strong(&call->pending, &expected, 0)) {
            break;
        }
    }
    sirix_rpc_call_unref(call);
}

static void run_turns(struct sirix_rpc_job *job)
{
    take_turns((struct sirix_rpc_call *)((char *)job - offsetof(struct sirix_rpc_call, job)));
}

void sirix_rpc_call_post(struct sirix_rpc_call *call, unsigned events)
{
    unsigned before = atomic_fetch_or(&call->pending, events | SIRIX_RPC_SCHEDULED);

    if ((before & SIRIX_RPC_SCHEDULED) != 0) {
        return;
    }
    sirix_rpc_call_ref(call);
    if (call->method->inline_turns) {
        take_turns(call);
    } else {
        call->job.run = run_turns;
        sirix_rpc_pool_submit(call->server->pool, &call->job);
    }
}
