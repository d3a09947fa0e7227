/*
 * A server with methods that do nothing useful, each of them one thing that the runtime must get
 * right. Usage: toy_server WORKERS GRACE_MS owner|reader ADDRESS...
 *
 * Prints "ready PORT..." when it listens and "ended STARTED ENDED" when it has drained: every state
 * that was started must have been ended.
 */
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rpc/runtime/internal.h"
#include "rpc/runtime/server.h"
#include "rpc/standard/health.h"
#include "rpc/standard/reflection.h"
#include "sirix/storage/v1/storage.pb-c.h"

typedef Sirix__Storage__V1__AttachRequest toy_request;

static struct sirix_rpc_server *server;
static struct sirix_rpc_health *health;
static atomic_int started;
static atomic_int ended;
static atomic_int parked;
static atomic_int held;
static atomic_int cancelled;

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);

static atomic_bool no_memory; /* For calls that are to be armed. */

void *__wrap_malloc(size_t size)
{
    return atomic_load(&no_memory) && size == sizeof(struct sirix_rpc_call) ? NULL
                                                                            : __real_malloc(size);
}

static void count_end(void *state)
{
    (void)state;
    (void)atomic_fetch_add(&ended, 1);
}

static enum sirix_status reply(struct sirix_rpc_call *call, const void *data, size_t len,
                               struct sirix_error *err)
{
    Sirix__Storage__V1__AttachResponse answer = SIRIX__STORAGE__V1__ATTACH_RESPONSE__INIT;
    union {
        const void *in;
        uint8_t *out;
    } bytes = {.in = data};

    answer.version.data = bytes.out;
    answer.version.len = len;
    return sirix_rpc_call_reply(call, &answer.base, err);
}

static enum sirix_status echo(struct sirix_rpc_call *call, void *state,
                              const ProtobufCMessage *message, struct sirix_error *err)
{
    const toy_request *request = (const toy_request *)message;

    (void)state;
    (void)atomic_fetch_add(&started, 1);
    return reply(call, request->client.data, request->client.len, err);
}

static enum sirix_status stats(struct sirix_rpc_call *call, void *state,
                               const ProtobufCMessage *message, struct sirix_error *err)
{
    char text[128];

    (void)state;
    (void)message;
    int len = snprintf(text, sizeof(text), "%d %d %d %d %llu %d", atomic_load(&started),
                       atomic_load(&ended), atomic_load(&parked), atomic_load(&held),
                       (unsigned long long)sirix_rpc_server_calls_running(server),
                       atomic_load(&cancelled));
    return reply(call, text, (size_t)len, err);
}

/* Works until it is told to stop. */
static enum sirix_status hold(struct sirix_rpc_call *call, void *state,
                              const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct timespec tick = {.tv_nsec = 200000};
    enum sirix_status status = SIRIX_OK;

    (void)state;
    (void)message;
    (void)atomic_fetch_add(&started, 1);
    (void)atomic_fetch_add(&held, 1);
    while ((status = sirix_cancel_check(sirix_rpc_call_cancel(call), err)) == SIRIX_OK) {
        (void)nanosleep(&tick, NULL);
    }
    (void)atomic_fetch_add(&cancelled, 1);
    return status;
}

/* Waits without a worker: Park until Release, Last until the server drains. */
static enum sirix_status park(struct sirix_rpc_call *call, void *state,
                              const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)call;
    (void)state;
    (void)message;
    (void)err;
    (void)atomic_fetch_add(&started, 1);
    (void)atomic_fetch_add(&parked, 1);
    return SIRIX_OK;
}

static enum sirix_status park_woken(struct sirix_rpc_call *call, void *state,
                                    struct sirix_error *err)
{
    (void)state;
    return reply(call, "woken", 5, err);
}

static enum sirix_status release(struct sirix_rpc_call *call, void *state,
                                 const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    (void)message;
    sirix_rpc_server_wake_path(server, "/toy.Toy/Park");
    return reply(call, "", 0, err);
}

static enum sirix_status fail(struct sirix_rpc_call *call, void *state,
                              const ProtobufCMessage *message, struct sirix_error *err)
{
    const toy_request *request = (const toy_request *)message;

    (void)call;
    (void)state;
    (void)atomic_fetch_add(&started, 1);
    for (int s = SIRIX_OK + 1; s <= SIRIX_INTERNAL; s++) {
        const char *name = sirix_status_name((enum sirix_status)s);
        if (strlen(name) == request->client.len &&
            memcmp(name, request->client.data, request->client.len) == 0) {
            (void)sirix_fail_reason(err, (enum sirix_status)s, SIRIX_REASON_FIELD_INVALID,
                                    "gew\xc3\xbcnscht: %s\n", name);
            sirix_error_set_field(err, "client");
            return err->status;
        }
    }
    return sirix_fail(err, SIRIX_INTERNAL, "no such status");
}

static enum sirix_status big(struct sirix_rpc_call *call, void *state,
                             const ProtobufCMessage *message, struct sirix_error *err)
{
    enum { BYTES = 5 * 1024 * 1024 };
    char *data = calloc(1, BYTES);

    (void)state;
    (void)message;
    (void)atomic_fetch_add(&started, 1);
    if (data == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the answer");
    }
    enum sirix_status status = reply(call, data, BYTES, err);
    free(data);
    return status;
}

/* client: "on" or "off". From then on no memory for a call is to be had. */
static enum sirix_status starve(struct sirix_rpc_call *call, void *state,
                                const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    atomic_store(&no_memory, ((const toy_request *)message)->client.len == 2);
    return reply(call, "", 0, err);
}

/* --- Streams ------------------------------------------------------------------------------------ */

struct count {
    unsigned sent;
    unsigned wanted;
    size_t size;
    uint8_t *data;
};

static enum sirix_status count_next(struct sirix_rpc_call *call, void *state,
                                    struct sirix_error *err)
{
    struct count *count = state;
    Sirix__Storage__V1__AttachResponse answer = SIRIX__STORAGE__V1__ATTACH_RESPONSE__INIT;

    if (count->sent == count->wanted) {
        sirix_rpc_call_end(call);
        return SIRIX_OK;
    }
    answer.process_id = ++count->sent;
    answer.version.data = count->data;
    answer.version.len = count->size;
    return sirix_rpc_call_write(call, &answer.base, err);
}

/* client: "MESSAGES BYTES" */
static enum sirix_status count_start(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    const toy_request *request = (const toy_request *)message;
    struct count *count = state;
    char *text = NULL;
    char *rest = NULL;

    (void)atomic_fetch_add(&started, 1);
    enum sirix_status status = sirix_arena_c_str(
        sirix_rpc_call_arena(call),
        (struct sirix_bytes){.data = request->client.data, .len = request->client.len}, &text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    count->wanted = (unsigned)strtoul(text, &rest, 10);
    count->size = strtoul(rest, NULL, 10);
    count->data = calloc(1, count->size + 1);
    if (count->data == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a message");
    }
    return count_next(call, state, err);
}

static void count_ended(void *state)
{
    free(((struct count *)state)->data);
    count_end(state);
}

struct sum {
    uint64_t messages;
    uint64_t bytes;
};

static enum sirix_status sum_start(struct sirix_rpc_call *call, void *state,
                                   const ProtobufCMessage *message, struct sirix_error *err)
{
    (void)state;
    (void)message;
    (void)err;
    (void)atomic_fetch_add(&started, 1);
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status sum_message(struct sirix_rpc_call *call, void *state,
                                     const ProtobufCMessage *message, struct sirix_error *err)
{
    struct sum *sum = state;

    (void)err;
    sum->messages++;
    sum->bytes += ((const toy_request *)message)->client.len;
    sirix_rpc_call_read(call);
    return SIRIX_OK;
}

static enum sirix_status sum_end(struct sirix_rpc_call *call, void *state, struct sirix_error *err)
{
    const struct sum *sum = state;
    char text[64];

    int len = snprintf(text, sizeof(text), "%llu %llu", (unsigned long long)sum->messages,
                       (unsigned long long)sum->bytes);
    return reply(call, text, (size_t)len, err);
}

#define UNARY(name, function)                                                                      \
    .path = "/toy.Toy/" name, .request = &sirix__storage__v1__attach_request__descriptor,          \
    .start = (function), .ended = count_end

static const struct sirix_rpc_method methods[] = {
    {UNARY("Echo", echo)},
    {UNARY("EchoInline", echo), .inline_turns = true},
    {UNARY("Write", echo), .writes = true},
    {UNARY("Hold", hold)},
    {UNARY("Park", park), .woken = park_woken},
    {UNARY("Last", park), .draining = park_woken},
    {UNARY("Fail", fail)},
    {UNARY("Big", big)},
    {
        .path = "/toy.Toy/Stats",
        .request = &sirix__storage__v1__attach_request__descriptor,
        .inline_turns = true,
        .start = stats,
    },
    {
        .path = "/toy.Toy/Starve",
        .request = &sirix__storage__v1__attach_request__descriptor,
        .inline_turns = true,
        .start = starve,
    },
    {
        .path = "/toy.Toy/Release",
        .request = &sirix__storage__v1__attach_request__descriptor,
        .inline_turns = true,
        .start = release,
    },
    {
        .path = "/toy.Toy/Count",
        .request = &sirix__storage__v1__attach_request__descriptor,
        .server_streams = true,
        .state_bytes = sizeof(struct count),
        .start = count_start,
        .written = count_next,
        .ended = count_ended,
    },
    {
        .path = "/toy.Toy/Sum",
        .request = &sirix__storage__v1__attach_request__descriptor,
        .client_streams = true,
        .state_bytes = sizeof(struct sum),
        .start = sum_start,
        .message = sum_message,
        .half_closed = sum_end,
        .ended = count_end,
    },
};

static bool set_up(int argc, char **argv, struct sirix_error *err)
{
    const struct sirix_rpc_options options = {
        .workers = (unsigned)strtoul(argv[1], NULL, 10),
        .calls_waiting_max = 64,
    };

    if (sirix_rpc_server_new(&options, &server, err) != SIRIX_OK ||
        sirix_rpc_server_add_methods(server, methods, sizeof(methods) / sizeof(methods[0]), NULL,
                                     err) != SIRIX_OK ||
        sirix_rpc_health_new(server, &health, err) != SIRIX_OK ||
        sirix_rpc_reflection_add(server, err) != SIRIX_OK) {
        return false;
    }
    (void)printf("ready");
    for (int i = 3; i + 1 < argc; i += 2) {
        struct sirix_rpc_door *door = NULL;
        int port = 0;
        if (sirix_rpc_server_open_door(server,
                                       strcmp(argv[i], "reader") == 0 ? &sirix_principal_reader
                                                                      : &sirix_principal_owner,
                                       &door, err) != SIRIX_OK ||
            sirix_rpc_door_listen(door, argv[i + 1], &port, err) != SIRIX_OK) {
            return false;
        }
        (void)printf(" %d", port);
    }
    if (sirix_rpc_server_start(server, err) != SIRIX_OK) {
        return false;
    }
    sirix_rpc_health_set(health, SIRIX_RPC_HEALTH_PROCESS, true);
    (void)printf("\n");
    (void)fflush(stdout);
    return true;
}

int main(int argc, char **argv)
{
    struct sirix_error err = {0};
    sigset_t signals;
    int signal_number = 0;
    int exit_code = EXIT_FAILURE;

    if (argc < 5) {
        return EXIT_FAILURE;
    }
    sirix_rpc_tune_malloc();
    (void)sigemptyset(&signals);
    (void)sigaddset(&signals, SIGTERM);
    (void)sigprocmask(SIG_BLOCK, &signals, NULL);
    if (set_up(argc, argv, &err)) {
        (void)sigwait(&signals, &signal_number);
        sirix_rpc_health_set(health, SIRIX_RPC_HEALTH_PROCESS, false);
        sirix_rpc_server_drain(server, (unsigned)strtoul(argv[2], NULL, 10));
        exit_code = EXIT_SUCCESS;
    } else {
        (void)fprintf(stderr, "%s\n", err.text);
    }
    sirix_rpc_server_free(server);
    sirix_rpc_health_free(health);
    (void)printf("ended %d %d\n", atomic_load(&started), atomic_load(&ended));
    return exit_code;
}
