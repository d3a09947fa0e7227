/*
 * Doors, slots, the polling thread, and the order of a shutdown.
 *
 * A shutdown has one order that core accepts: refuse and wind up streams ourselves (a live stream
 * would hold it for the whole grace time), shutdown_and_notify on every door, after the grace time
 * cancel_all_calls, wait for the shutdown tags and for the last call, end the workers (they may
 * still start batches), shut the queue down and drain it, destroy.
 */
#include "rpc/runtime/server.h"

#include <assert.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "rpc/runtime/internal.h"

/*
 * LMDB callocs 2 MiB and takes 1 MiB for each environment that it opens and hardly touches either: they
 * must be maps of their own, or calloc clears 2 MiB of a heap that was used before. Many workers hand
 * memory to each other, so more arenas only keep more of it.
 */
enum {
    MALLOC_MMAP_THRESHOLD = 1024 * 1024,
    MALLOC_TRIM_THRESHOLD = 64 * 1024 * 1024,
    MALLOC_TOP_PAD = 1024 * 1024,
    MALLOC_ARENAS_MAX = 4,
};

enum {
    LINGER_MS = 250,
    ANSWERED_LINGER_MS = 1500,
    CANCEL_AGAIN_MS = 100,
    ABANDON_MS = 3000,
    MS_PER_SECOND = 1000
};

static const long ns_per_ms = 1000000;

void sirix_rpc_tune_malloc(void)
{
    (void)mallopt(M_MMAP_THRESHOLD, MALLOC_MMAP_THRESHOLD); /* A hint: what fails stays default. */
    (void)mallopt(M_TRIM_THRESHOLD, MALLOC_TRIM_THRESHOLD);
    (void)mallopt(M_TOP_PAD, MALLOC_TOP_PAD);
    (void)mallopt(M_ARENA_MAX, MALLOC_ARENAS_MAX);
}

static sirix_rpc_log_fn log_to;

static void log_line(gpr_log_func_args *args)
{
    log_to(args->message);
}

void sirix_rpc_log_to(sirix_rpc_log_fn log)
{
    log_to = log;
    gpr_set_log_function(log_line);
}

/* --- Unknown methods ---------------------------------------------------------------------------- */

static enum sirix_status refuse_unknown(struct sirix_rpc_call *call, void *state,
                                        const ProtobufCMessage *message, struct sirix_error *err)
{
    const struct sirix_rpc_server *server = call->server;
    enum { PATH_SHOWN_MAX = 200 };

    (void)state;
    (void)message;
    char *path = grpc_slice_to_c_string(call->details.method);
    for (size_t i = 0; i < server->method_count; i++) {
        if (strcmp(server->methods[i]->path, path) == 0) {
            gpr_free(path);
            return sirix_fail_reason(err, SIRIX_PERMISSION, SIRIX_REASON_READ_ONLY,
                                     "%s %s, and this socket is for readers",
                                     server->methods[i]->path,
                                     server->methods[i]->operates ? "is for operators" : "writes");
        }
    }
    enum sirix_status status =
        sirix_fail(err, SIRIX_UNSUPPORTED, "there is no method %.*s", PATH_SHOWN_MAX, path);
    gpr_free(path);
    return status;
}

static const struct sirix_rpc_method unknown_method = {
    .path = "unknown",
    .client_streams = true,
    .inline_turns = true,
    .for_everybody = true,
    .start = refuse_unknown,
};

/* --- The queue ---------------------------------------------------------------------------------- */

static void *poll_queue(void *context)
{
    struct sirix_rpc_server *server = context;

    for (;;) {
        grpc_event event =
            grpc_completion_queue_next(server->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        if (event.type == GRPC_QUEUE_SHUTDOWN) {
            break;
        }
        struct sirix_rpc_tag *tag = event.tag;
        sirix_rpc_tag_acquire(tag);
        tag->fn(tag->self, event.success != 0);
    }
    return NULL;
}

static void on_door_down(void *self, bool ok)
{
    struct sirix_rpc_door *door = self;

    (void)ok;
    (void)pthread_mutex_lock(&door->server->mutex);
    door->down = true;
    (void)pthread_cond_broadcast(&door->server->changed);
    (void)pthread_mutex_unlock(&door->server->mutex);
}

/* --- Making a server ---------------------------------------------------------------------------- */

enum sirix_status sirix_rpc_server_new(const struct sirix_rpc_options *options,
                                       struct sirix_rpc_server **out_server,
                                       struct sirix_error *err)
{
    pthread_condattr_t monotonic;
    struct sirix_rpc_server *server = calloc(1, sizeof(*server));

    if (server == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the server");
    }
    server->options = *options;
    grpc_init();
    (void)pthread_mutex_init(&server->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&server->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    server->idle_since_us = sirix_cancel_now_us();
    server->queue = grpc_completion_queue_create_for_next(NULL);
    enum sirix_status status = sirix_rpc_pool_start(options->workers, &server->pool, err);
    if (status != SIRIX_OK) {
        sirix_rpc_server_free(server);
        return status;
    }
    *out_server = server;
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_server_add_methods(struct sirix_rpc_server *server,
                                               const struct sirix_rpc_method *methods, size_t count,
                                               void *context, struct sirix_error *err)
{
    assert(server->door_count == 0);

    if (count > SIRIX_RPC_METHODS_MAX - server->method_count) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "a server has at most %d methods",
                          SIRIX_RPC_METHODS_MAX);
    }
    for (size_t i = 0; i < count; i++) {
        server->contexts[server->method_count] = context;
        server->methods[server->method_count++] = &methods[i];
    }
    return SIRIX_OK;
}

/* grpc_arg takes its keys as char *; it only reads them. */
static grpc_arg int_arg(const char *key, int value)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = key};

    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = pointer.out, .value.integer = value};
}

static grpc_server *make_core_server(void)
{
    grpc_arg args[] = {
        /* Else two daemons share a port in silence. */
        int_arg(GRPC_ARG_ALLOW_REUSEPORT, 0),
        int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, SIRIX_RPC_MESSAGE_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, SIRIX_RPC_MESSAGE_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_METADATA_SIZE, SIRIX_RPC_METADATA_BYTES_MAX),
        int_arg(GRPC_ARG_MAX_CONCURRENT_STREAMS, SIRIX_RPC_STREAMS_PER_CONNECTION_MAX),
        int_arg(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                SIRIX_RPC_PING_INTERVAL_MIN_MS),
        int_arg(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1),
        int_arg(GRPC_ARG_KEEPALIVE_TIME_MS, SIRIX_RPC_KEEPALIVE_MS),
        int_arg(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, SIRIX_RPC_KEEPALIVE_TIMEOUT_MS),
    };
    const grpc_channel_args list = {.num_args = sizeof(args) / sizeof(args[0]), .args = args};

    return grpc_server_create(&list, NULL);
}

enum sirix_role sirix_rpc_method_role(const struct sirix_rpc_method *method)
{
    if (method->operates) {
        return SIRIX_ROLE_OPERATOR;
    }
    return method->writes ? SIRIX_ROLE_WRITER : SIRIX_ROLE_READER;
}

/* principals NULL: every call is principal's. */
static enum sirix_status open_door(struct sirix_rpc_server *server,
                                   const struct sirix_principal *principal,
                                   struct sirix_principal_store *principals,
                                   struct sirix_rpc_door **out_door, struct sirix_error *err)
{
    if (server->door_count == SIRIX_RPC_DOORS_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED, "a server has at most %d doors",
                          SIRIX_RPC_DOORS_MAX);
    }
    struct sirix_rpc_door *door = calloc(1, sizeof(*door));
    if (door == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a door");
    }
    door->server = server;
    door->principal = principal;
    door->principals = principals;
    door->down_tag = (struct sirix_rpc_tag){.fn = on_door_down, .self = door};
    door->core = make_core_server();
    server->doors[server->door_count++] = door; /* From here sirix_rpc_server_free() ends it. */
    grpc_server_register_completion_queue(door->core, server->queue, NULL);
    for (size_t i = 0; i < server->method_count; i++) {
        const struct sirix_rpc_method *method = server->methods[i];
        if (principals == NULL && sirix_rpc_method_role(method) > principal->role) {
            continue;
        }
        void *registered = grpc_server_register_method(
            door->core, method->path, NULL,
            method->client_streams ? GRPC_SRM_PAYLOAD_NONE
                                   : GRPC_SRM_PAYLOAD_READ_INITIAL_BYTE_BUFFER,
            0);
        if (registered == NULL) {
            return sirix_fail(err, SIRIX_INTERNAL, "register %s: twice?", method->path);
        }
        door->slots[door->slot_count++] = (struct sirix_rpc_slot){.door = door,
                                                                  .method = method,
                                                                  .context = server->contexts[i],
                                                                  .registered = registered,
                                                                  .number = i};
    }
    door->slots[door->slot_count++] = (struct sirix_rpc_slot){
        .door = door, .method = &unknown_method, .number = server->method_count};
    *out_door = door;
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_server_open_door(struct sirix_rpc_server *server,
                                             const struct sirix_principal *principal,
                                             struct sirix_rpc_door **out_door,
                                             struct sirix_error *err)
{
    return open_door(server, principal, NULL, out_door, err);
}

enum sirix_status sirix_rpc_server_open_guarded_door(struct sirix_rpc_server *server,
                                                     struct sirix_principal_store *principals,
                                                     struct sirix_rpc_door **out_door,
                                                     struct sirix_error *err)
{
    return open_door(server, &sirix_principal_nobody, principals, out_door, err);
}

enum sirix_status sirix_rpc_door_listen(struct sirix_rpc_door *door, const char *address,
                                        int *out_port, struct sirix_error *err)
{
    grpc_server_credentials *plain = grpc_insecure_server_credentials_create();
    int port = grpc_server_add_http2_port(door->core, address, plain);

    grpc_server_credentials_release(plain);
    if (port == 0) {
        return sirix_fail(err, SIRIX_UNAVAILABLE,
                          "cannot listen at %s: the address is in use or not of this machine",
                          address);
    }
    *out_port = port;
    return SIRIX_OK;
}

static enum sirix_status arm_door(struct sirix_rpc_door *door, struct sirix_error *err)
{
    for (size_t i = 0; i < door->slot_count; i++) {
        if (!sirix_rpc_call_arm(&door->slots[i])) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "arm %s", door->slots[i].method->path);
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_rpc_server_start(struct sirix_rpc_server *server, struct sirix_error *err)
{
    for (size_t i = 0; i < server->door_count; i++) {
        struct sirix_rpc_door *door = server->doors[i];
        grpc_server_start(door->core);
    }
    if (pthread_create(&server->poller, NULL, poll_queue, server) != 0) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "start the thread of the completion queue");
    }
    server->polling = true;
    (void)pthread_setname_np(server->poller, "sirix-poller");
    enum sirix_status status = SIRIX_OK;
    for (size_t i = 0; status == SIRIX_OK && i < server->door_count; i++) {
        status = arm_door(server->doors[i], err);
    }
    return status;
}

/* --- Ending ------------------------------------------------------------------------------------- */

/*
 * With the mutex held: the first call from `call` on that lives, with a reference; NULL: none. One
 * whose last reference went is in the list until it is freed, and must not be brought back.
 */
static struct sirix_rpc_call *hold_next(struct sirix_rpc_call *call)
{
    while (call != NULL && !sirix_rpc_call_try_ref(call)) {
        call = call->next;
    }
    return call;
}

/*
 * A turn that runs here may end its call, which takes the mutex to leave the list: so calls are held
 * and posted outside. A held one stays in the list, so the walk can go on from it.
 */
static void post_all(struct sirix_rpc_server *server, const char *path, unsigned event)
{
    (void)pthread_mutex_lock(&server->mutex);
    struct sirix_rpc_call *call = hold_next(server->live);
    while (call != NULL) {
        (void)pthread_mutex_unlock(&server->mutex);
        if (path == NULL || strcmp(call->method->path, path) == 0) {
            sirix_rpc_call_post(call, event);
        }
        (void)pthread_mutex_lock(&server->mutex);
        struct sirix_rpc_call *next = hold_next(call->next);
        (void)pthread_mutex_unlock(&server->mutex);
        sirix_rpc_call_unref(call);
        (void)pthread_mutex_lock(&server->mutex);
        call = next;
    }
    (void)pthread_mutex_unlock(&server->mutex);
}

void sirix_rpc_server_wake_path(struct sirix_rpc_server *server, const char *path)
{
    post_all(server, path, SIRIX_RPC_EVENT_WAKE);
}

/* Also of doors that were never started: core wants it before it destroys a listener. */
static void shut_doors(struct sirix_rpc_server *server)
{
    for (size_t i = 0; i < server->door_count; i++) {
        struct sirix_rpc_door *door = server->doors[i];
        sirix_rpc_tag_release(&door->down_tag);
        grpc_server_shutdown_and_notify(door->core, server->queue, &door->down_tag);
    }
}

static bool all_down(const struct sirix_rpc_server *server)
{
    for (size_t i = 0; i < server->door_count; i++) {
        if (!server->doors[i]->down) {
            return false;
        }
    }
    return true;
}

static bool no_calls(const struct sirix_rpc_server *server)
{
    return atomic_load(&server->calls_running) == 0;
}

static bool all_quiet(const struct sirix_rpc_server *server)
{
    return all_down(server) && no_calls(server);
}

static void cancel_all(struct sirix_rpc_server *server)
{
    for (size_t i = 0; i < server->door_count; i++) {
        grpc_server_cancel_all_calls(server->doors[i]->core);
    }
}

/* Waits for a condition under the mutex, at most for a time; whether it holds. */
static bool wait_until(struct sirix_rpc_server *server,
                       bool (*holds)(const struct sirix_rpc_server *server), unsigned wait_ms)
{
    struct timespec until = {0};
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* Cannot fail for this clock. */
    until.tv_sec += wait_ms / MS_PER_SECOND;
    until.tv_nsec += (long)(wait_ms % MS_PER_SECOND) * ns_per_ms;
    if (until.tv_nsec >= MS_PER_SECOND * ns_per_ms) {
        until.tv_sec++;
        until.tv_nsec -= MS_PER_SECOND * ns_per_ms;
    }
    (void)pthread_mutex_lock(&server->mutex);
    while (!holds(server) && rc == 0) {
        rc = pthread_cond_timedwait(&server->changed, &server->mutex, &until);
    }
    bool held = holds(server);
    (void)pthread_mutex_unlock(&server->mutex);
    return held;
}

void sirix_rpc_server_drain(struct sirix_rpc_server *server, unsigned grace_ms)
{
    if (!server->polling) {
        return;
    }
    unsigned linger_ms = no_calls(server) ? LINGER_MS : ANSWERED_LINGER_MS;
    atomic_store(&server->draining, true);
    post_all(server, NULL, SIRIX_RPC_EVENT_DRAIN);
    shut_doors(server);

    /*
     * A door is down when its connections are, and an idle client may sit on its connection for
     * seconds after the GOAWAY. So the grace time is for calls; connections get a moment, a longer one
     * where calls were running: a client that has not read its answer loses it when it next writes to
     * a connection that is closed.
     */
    if (wait_until(server, no_calls, grace_ms) && wait_until(server, all_down, linger_ms)) {
        return;
    }
    cancel_all(server);
    /* Core may match a call that it had queued only after a cancel: cancel again until it is quiet. */
    for (unsigned waited_ms = 0; !wait_until(server, all_quiet, CANCEL_AGAIN_MS);
         waited_ms += CANCEL_AGAIN_MS) {
        cancel_all(server);
        if (waited_ms >= ABANDON_MS && no_calls(server)) {
            /* Nothing of ours runs any more; what core still waits for must not hold the end up. */
            server->abandoned = true;
            return;
        }
    }
}

void sirix_rpc_server_free(struct sirix_rpc_server *server)
{
    if (server == NULL) {
        return;
    }
    if (!server->polling) {
        shut_doors(server);
    } else if (!atomic_load(&server->draining)) {
        sirix_rpc_server_drain(server, 0);
    }
    assert(atomic_load(&server->calls_running) == 0);
    sirix_rpc_pool_stop(server->pool);
    if (server->abandoned) {
        return; /* The poller and core go with the process. */
    }
    if (server->queue != NULL) {
        grpc_completion_queue_shutdown(server->queue);
        if (server->polling) {
            (void)pthread_join(server->poller, NULL);
        } else {
            (void)poll_queue(server);
        }
    }
    for (size_t i = 0; i < server->door_count; i++) {
        grpc_server_destroy(server->doors[i]->core);
        sirix_rpc_tls_free_all(server->doors[i]->tls);
        free(server->doors[i]);
    }
    if (server->queue != NULL) {
        grpc_completion_queue_destroy(server->queue);
    }
    (void)pthread_cond_destroy(&server->changed);
    (void)pthread_mutex_destroy(&server->mutex);
    free(server);
    grpc_shutdown();
}

bool sirix_rpc_server_draining(const struct sirix_rpc_server *server)
{
    return atomic_load(&server->draining);
}

uint64_t sirix_rpc_server_calls_running(const struct sirix_rpc_server *server)
{
    return atomic_load(&server->calls_running);
}

uint64_t sirix_rpc_server_calls_total(const struct sirix_rpc_server *server)
{
    return atomic_load(&server->calls_total);
}

uint64_t sirix_rpc_server_idle_us(struct sirix_rpc_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
    uint64_t idle = 0;
    if (atomic_load(&server->calls_running) == 0) {
        idle = sirix_cancel_now_us() - server->idle_since_us;
        idle = idle == 0 ? 1 : idle;
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return idle;
}
