/*
 * Watch: what is new, as fast as the client takes it. Each batch lives in memory of the state's own,
 * which is used again for the next: the call may last for months.
 */
#include "service/watch.h"

#include "rpc/methods/codec.h"

enum { POSITIONS_MAX = 10000, BATCH_BYTES_MAX = 8 * 1024 * 1024 };

struct watch_state {
    struct sirix_watch *watch;
    struct sirix_arena arena;
    bool writing;
};

/* By whoever made a revision. */
static void watch_wake(void *context)
{
    sirix_rpc_call_try_wake(context);
}

static enum sirix_status take_positions(struct sirix_rpc_call *call,
                                        const Sirix__Storage__V1__WatchRequest *request,
                                        struct sirix_watch_request *wanted, struct sirix_error *err)
{
    struct sirix_watch_position *positions = NULL;
    void *memory = NULL;

    if (request->n_after > POSITIONS_MAX) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                "after has %zu positions, at most %d are allowed", request->n_after,
                                POSITIONS_MAX);
        sirix_error_set_field(err, "after");
        return SIRIX_INVALID;
    }
    if (request->n_after != 0 && request->resource.len != 0) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "after is for a whole database; of a resource say from_revision");
        sirix_error_set_field(err, "after");
        return SIRIX_INVALID;
    }
    if (wanted->has_from && request->resource.len == 0) {
        (void)sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "from_revision is of a resource; of a database say after");
        sirix_error_set_field(err, "from_revision");
        return SIRIX_INVALID;
    }
    enum sirix_status status = sirix_arena_calloc(sirix_rpc_call_arena(call), request->n_after,
                                                  sizeof(*positions), &memory, err);
    positions = memory;
    for (size_t i = 0; status == SIRIX_OK && i < request->n_after; i++) {
        positions[i] = (struct sirix_watch_position){
            .resource = sirix_rpc_bytes(request->after[i]->resource),
            .revision = request->after[i]->revision,
        };
    }
    wanted->after = positions;
    wanted->after_count = request->n_after;
    return status;
}

static enum sirix_status watch_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    const Sirix__Storage__V1__WatchRequest *request =
        (const Sirix__Storage__V1__WatchRequest *)message;
    Sirix__Storage__V1__WatchResponse answer = SIRIX__STORAGE__V1__WATCH_RESPONSE__INIT;
    Sirix__Storage__V1__WatchStart begin = SIRIX__STORAGE__V1__WATCH_START__INIT;
    const struct sirix_request who = sirix_rpc_request(call);
    struct watch_state *watch = state;
    struct sirix_watch_request wanted = {
        .database = sirix_rpc_bytes(request->database),
        .resource = sirix_rpc_bytes(request->resource),
        .has_from = request->from_case == SIRIX__STORAGE__V1__WATCH_REQUEST__FROM_FROM_REVISION,
        .from = request->from_revision,
    };

    sirix_arena_init(&watch->arena, BATCH_BYTES_MAX);
    enum sirix_status status = take_positions(call, request, &wanted, err);
    if (status == SIRIX_OK) {
        status = sirix_watch_start(&who, &wanted, watch_wake, call, &watch->watch,
                                   &begin.next_revision, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    answer.part_case = SIRIX__STORAGE__V1__WATCH_RESPONSE__PART_START;
    answer.start = &begin;
    watch->writing = true;
    return sirix_rpc_call_write(call, &answer.base, err);
}

/* The messages of a batch, in the state's memory. */
static enum sirix_status fill_events(struct watch_state *watch,
                                     const struct sirix_watch_event *events, size_t count,
                                     Sirix__Storage__V1__WatchEvents *out_list,
                                     struct sirix_error *err)
{
    Sirix__Storage__V1__WatchEvent *messages = NULL;
    Sirix__Storage__V1__RevisionInfo *infos = NULL;
    void *memory[3] = {NULL, NULL, NULL};
    const size_t sizes[3] = {sizeof(*messages), sizeof(*infos), sizeof(void *)};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < 3; i++) {
        status = sirix_arena_calloc(&watch->arena, count, sizes[i], &memory[i], err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    messages = memory[0];
    infos = memory[1];
    out_list->events = memory[2];
    out_list->n_events = count;
    for (size_t i = 0; i < count; i++) {
        sirix__storage__v1__watch_event__init(&messages[i]);
        messages[i].resource = sirix_rpc_binary_str(events[i].resource);
        messages[i].behind = events[i].behind;
        if (events[i].dropped) {
            messages[i].what_case = SIRIX__STORAGE__V1__WATCH_EVENT__WHAT_DROPPED;
            messages[i].dropped = true;
        } else {
            sirix_rpc_revision_info(&events[i].info, &infos[i]);
            messages[i].what_case = SIRIX__STORAGE__V1__WATCH_EVENT__WHAT_REVISION;
            messages[i].revision = &infos[i];
        }
        out_list->events[i] = &messages[i];
    }
    return SIRIX_OK;
}

/* Sends what is new; the end of that write looks again. */
static enum sirix_status watch_tell(struct sirix_rpc_call *call, struct watch_state *watch,
                                    struct sirix_error *err)
{
    Sirix__Storage__V1__WatchResponse answer = SIRIX__STORAGE__V1__WATCH_RESPONSE__INIT;
    Sirix__Storage__V1__WatchEvents list = SIRIX__STORAGE__V1__WATCH_EVENTS__INIT;
    struct sirix_watch_event *events = NULL;
    size_t count = 0;

    if (watch->writing) {
        return SIRIX_OK;
    }
    sirix_arena_reset(&watch->arena);
    enum sirix_status status = sirix_watch_next(watch->watch, &watch->arena, &events, &count, err);
    if (status != SIRIX_OK || count == 0) {
        return status;
    }
    status = fill_events(watch, events, count, &list, err);
    if (status != SIRIX_OK) {
        return status;
    }
    answer.part_case = SIRIX__STORAGE__V1__WATCH_RESPONSE__PART_EVENTS;
    answer.events = &list;
    watch->writing = true;
    return sirix_rpc_call_write(call, &answer.base, err);
}

static enum sirix_status watch_written(struct sirix_rpc_call *call, void *state,
                                       struct sirix_error *err)
{
    struct watch_state *watch = state;

    watch->writing = false;
    return watch_tell(call, watch, err);
}

static enum sirix_status watch_woken(struct sirix_rpc_call *call, void *state,
                                     struct sirix_error *err)
{
    if (sirix_principal_is_outdated(sirix_rpc_call_principal(call))) {
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_CREDENTIALS,
                                 "the server has read its principals again: call again");
    }
    return watch_tell(call, state, err);
}

static enum sirix_status watch_draining(struct sirix_rpc_call *call, void *state,
                                        struct sirix_error *err)
{
    (void)call;
    (void)state;
    return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_SHUTTING_DOWN,
                             "the server is shutting down");
}

static void watch_ended(void *state)
{
    struct watch_state *watch = state;

    sirix_watch_stop(watch->watch);
    sirix_arena_deinit(&watch->arena);
}

const struct sirix_rpc_method sirix_rpc_watch_methods[] = {
    {
        .path = SIRIX_RPC_STORAGE_PATH("Watch"),
        .request = &sirix__storage__v1__watch_request__descriptor,
        .server_streams = true,
        .lasts = true,
        .state_bytes = sizeof(struct watch_state),
        .start = watch_start,
        .written = watch_written,
        .woken = watch_woken,
        .draining = watch_draining,
        .ended = watch_ended,
    },
    {.path = NULL},
};
