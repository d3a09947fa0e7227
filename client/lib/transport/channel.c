/* Addresses, channel arguments, connecting, and the pool of queues. */
#include "lib/transport/channel.h"

#include <ctype.h>
#include <grpc/grpc_security.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "base/clock.h"
#include "lib/transport/cancel.h"
#include "lib/transport/message.h"
#include "lib/transport/runtime.h"

enum {
    RECONNECT_FIRST_MS = 100,
    RECONNECT_MAX_MS = 2000,
    CONNECT_TRY_MIN_MS = 2000,
    METADATA_BYTES_MAX = 16 * 1024,
    PORT_DIGITS_MAX = 5,
    PORT_MAX = 65535,
    SHOWN_ADDRESS_BYTES_MAX = 200,
};

static const uint64_t ns_a_second = 1000000000;
/* How long a cancelled caller may still wait for a connection. */
static const uint64_t cancel_look_ns = 20000000;
static const char unix_scheme[] = "unix:";

struct sirix_channel {
    grpc_channel *channel;
    struct sirix_security *security; /* NULL: nothing is shown. */
    void *methods[SIRIX_METHOD_COUNT];
    pthread_mutex_t mutex;
    grpc_completion_queue *queues[SIRIX_CHANNEL_QUEUES_KEPT_MAX];
    size_t queue_count;
};

uint64_t sirix_monotonic_ns(void)
{
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

gpr_timespec sirix_grpc_time(uint64_t monotonic_ns)
{
    if (monotonic_ns == UINT64_MAX) {
        return gpr_inf_future(GPR_CLOCK_MONOTONIC);
    }
    /*
     * gRPC's monotonic clock is the system's, but a deadline is told as a duration from now all the
     * same, so that nothing depends on it.
     */
    uint64_t now_ns = sirix_monotonic_ns();
    uint64_t left_ns = monotonic_ns > now_ns ? monotonic_ns - now_ns : 0;
    gpr_timespec left = {
        .tv_sec = (int64_t)(left_ns / ns_a_second),
        .tv_nsec = (int32_t)(left_ns % ns_a_second),
        .clock_type = GPR_TIMESPAN,
    };
    return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC), left);
}

/* --- Addresses -------------------------------------------------------------------------------- */

/* address may be anything, so it is not repeated where it is too long to be read. */
static enum sirix_status fail_address(struct sirix_error *err, const char *address)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "`%.*s` is neither unix:PATH nor HOST:PORT",
                                                 SHOWN_ADDRESS_BYTES_MAX, address);

    sirix_error_set_field(err, "address");
    return status;
}

/* gRPC reads a target as a URI: what could mean something there is escaped. */
static enum sirix_status append_escaped(struct sirix_buf *to, const char *path,
                                        struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (const char *at = path; *at != '\0' && status == SIRIX_OK; at++) {
        unsigned char byte = (unsigned char)*at;

        if (byte < 0x80 && (isalnum(byte) != 0 || strchr("/._-", byte) != NULL)) {
            status = sirix_buf_append_u8(to, byte, err);
        } else {
            status = sirix_buf_printf(to, err, "%%%02X", byte);
        }
    }
    return status;
}

static bool is_port(const char *text)
{
    size_t len = strlen(text);

    if (len == 0 || len > PORT_DIGITS_MAX || strspn(text, "0123456789") != len) {
        return false;
    }
    long port = strtol(text, NULL, 10);
    return port >= 1 && port <= PORT_MAX;
}

static bool is_host(const char *text, size_t len)
{
    bool bracketed = len > 2 && text[0] == '[' && text[len - 1] == ']';

    if (bracketed) {
        text++;
        len -= 2;
    }
    for (size_t i = 0; i < len; i++) {
        unsigned char byte = (unsigned char)text[i];
        const char *others = bracketed ? ":." : "._-";

        if (byte >= 0x80 || (isalnum(byte) == 0 && (byte == 0 || strchr(others, byte) == NULL))) {
            return false;
        }
    }
    return len > 0;
}

/* Writes gRPC's target of an address. */
static enum sirix_status append_target(struct sirix_buf *to, const char *address,
                                       struct sirix_error *err)
{
    size_t scheme_len = strlen(unix_scheme);

    if (strlen(address) > SIRIX_CHANNEL_ADDRESS_BYTES_MAX) {
        return fail_address(err, address);
    }
    if (strncmp(address, unix_scheme, scheme_len) == 0) {
        if (address[scheme_len] == '\0') {
            return fail_address(err, address);
        }
        enum sirix_status status = sirix_buf_append_str(to, unix_scheme, err);
        return status != SIRIX_OK ? status : append_escaped(to, address + scheme_len, err);
    }
    const char *colon = strrchr(address, ':');
    if (colon == NULL || !is_port(colon + 1) || !is_host(address, (size_t)(colon - address))) {
        return fail_address(err, address);
    }
    return sirix_buf_printf(to, err, "dns:///%s", address);
}

/* --- Channels --------------------------------------------------------------------------------- */

static grpc_arg integer_arg(const char *key, int value)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = key};

    return (grpc_arg){.type = GRPC_ARG_INTEGER, .key = pointer.out, .value.integer = value};
}

static grpc_channel *create_channel(const char *target, const struct sirix_security *security)
{
    grpc_arg args[] = {
        /* The contract's limits, on both ways. */
        integer_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, SIRIX_MESSAGE_BYTES_MAX),
        integer_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, SIRIX_MESSAGE_BYTES_MAX),
        integer_arg(GRPC_ARG_MAX_METADATA_SIZE, METADATA_BYTES_MAX),
        /* The environment names proxies that are tried even for this machine. */
        integer_arg(GRPC_ARG_ENABLE_HTTP_PROXY, 0),
        /* One client's connection is not another one's. */
        integer_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
        /* Whether a call may be sent again is for us to say. */
        integer_arg(GRPC_ARG_ENABLE_RETRIES, 0),
        integer_arg(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1),
        integer_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_FIRST_MS),
        integer_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_MAX_MS),
        integer_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TRY_MIN_MS),
    };
    grpc_channel_args all = {.num_args = sizeof(args) / sizeof(args[0]), .args = args};
    grpc_channel_credentials *credentials = sirix_security_credentials(security);
    grpc_channel *channel = grpc_channel_create(target, credentials, &all);

    grpc_channel_credentials_release(credentials);
    return channel;
}

enum sirix_status sirix_channel_open(const char *address,
                                     const struct sirix_security_options *options,
                                     struct sirix_channel **out_channel, struct sirix_error *err)
{
    struct sirix_channel *channel = NULL;
    struct sirix_security *security = NULL;
    struct sirix_buf target;
    const char *target_text = NULL;

    sirix_buf_init(&target, (size_t)4 * SIRIX_CHANNEL_ADDRESS_BYTES_MAX);
    enum sirix_status status = append_target(&target, address, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&target, &target_text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_security_open(options, address, &security, err);
    }
    if (status != SIRIX_OK) {
        goto out;
    }
    channel = calloc(1, sizeof(*channel));
    if (channel == NULL) {
        sirix_security_close(security);
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate a channel");
        goto out;
    }
    sirix_runtime_acquire();
    channel->security = security;
    (void)pthread_mutex_init(&channel->mutex, NULL); /* Cannot fail on Linux. */
    channel->channel = create_channel(target_text, security);
    for (size_t i = 0; i < SIRIX_METHOD_COUNT; i++) {
        channel->methods[i] =
            grpc_channel_register_call(channel->channel, sirix_method_rows[i].path, NULL, NULL);
    }
    *out_channel = channel;
out:
    sirix_buf_deinit(&target);
    return status;
}

struct sirix_security *sirix_channel_security(const struct sirix_channel *channel)
{
    return channel->security;
}

static void destroy_queue(grpc_completion_queue *queue)
{
    /* A pluck queue without outstanding events is down at once. */
    grpc_completion_queue_shutdown(queue);
    grpc_completion_queue_destroy(queue);
}

void sirix_channel_close(struct sirix_channel *channel)
{
    if (channel == NULL) {
        return;
    }
    grpc_channel_destroy(channel->channel);
    for (size_t i = 0; i < channel->queue_count; i++) {
        destroy_queue(channel->queues[i]);
    }
    (void)pthread_mutex_destroy(&channel->mutex);
    sirix_security_close(channel->security);
    free(channel);
    sirix_runtime_release();
}

void sirix_channel_forget_failures(struct sirix_channel *channel)
{
    grpc_channel_reset_connect_backoff(channel->channel);
}

/* Waits for the state to be another one; false on cancellation or when the time is over. */
static bool wait_for_change(struct sirix_channel *channel, grpc_connectivity_state state,
                            uint64_t until_ns, struct sirix_call_cancel *cancel)
{
    grpc_completion_queue *queue = sirix_channel_take_queue(channel);
    bool changed = false;
    bool go_on = true;

    while (!changed && go_on) {
        uint64_t now_ns = sirix_monotonic_ns();
        uint64_t look_ns = until_ns;

        if (cancel != NULL && look_ns > now_ns + cancel_look_ns) {
            look_ns = now_ns + cancel_look_ns;
        }
        grpc_channel_watch_connectivity_state(channel->channel, state, sirix_grpc_time(look_ns),
                                              queue, &state);
        grpc_event event =
            grpc_completion_queue_pluck(queue, &state, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
        changed = event.success != 0;
        go_on = sirix_monotonic_ns() < until_ns &&
                (cancel == NULL || !sirix_call_cancel_triggered(cancel));
    }
    sirix_channel_return_queue(channel, queue);
    return changed;
}

enum sirix_status sirix_channel_connect(struct sirix_channel *channel, uint64_t connect_by_ns,
                                        struct sirix_call_cancel *cancel, struct sirix_error *err)
{
    grpc_connectivity_state state = grpc_channel_check_connectivity_state(channel->channel, 1);

    while (state != GRPC_CHANNEL_READY && wait_for_change(channel, state, connect_by_ns, cancel)) {
        state = grpc_channel_check_connectivity_state(channel->channel, 1);
    }
    if (state == GRPC_CHANNEL_READY) {
        return SIRIX_OK;
    }
    if (cancel != NULL && sirix_call_cancel_triggered(cancel)) {
        return sirix_call_cancel_fail(err);
    }
    return sirix_fail(err, SIRIX_UNAVAILABLE, "nobody answers at the server's address");
}

/* --- Queues and calls ------------------------------------------------------------------------- */

grpc_completion_queue *sirix_channel_take_queue(struct sirix_channel *channel)
{
    grpc_completion_queue *queue = NULL;

    (void)pthread_mutex_lock(&channel->mutex);
    if (channel->queue_count > 0) {
        queue = channel->queues[--channel->queue_count];
    }
    (void)pthread_mutex_unlock(&channel->mutex);
    return queue != NULL ? queue : grpc_completion_queue_create_for_pluck(NULL);
}

void sirix_channel_return_queue(struct sirix_channel *channel, grpc_completion_queue *queue)
{
    (void)pthread_mutex_lock(&channel->mutex);
    bool kept = channel->queue_count < SIRIX_CHANNEL_QUEUES_KEPT_MAX;
    if (kept) {
        channel->queues[channel->queue_count++] = queue;
    }
    (void)pthread_mutex_unlock(&channel->mutex);
    if (!kept) {
        destroy_queue(queue);
    }
}

grpc_call *sirix_channel_create_call(struct sirix_channel *channel, enum sirix_method method,
                                     grpc_completion_queue *queue, gpr_timespec deadline)
{
    return grpc_channel_create_registered_call(channel->channel, NULL, GRPC_PROPAGATE_DEFAULTS,
                                               queue, channel->methods[method], deadline, NULL);
}
