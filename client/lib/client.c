/* Clients, and when a call is tried again. */
#include "lib/client.h"

#include <grpc/byte_buffer.h>
#include <stdlib.h>
#include <string.h>

#include "lib/embedded.h"
#include "lib/transport/message.h"

static const uint64_t ns_a_ms = 1000000;

enum {
    CLIENT_NAME_BYTES_MAX = 256,
    PAUSE_FIRST_MS = 20,
    PAUSE_MAX_MS = 1000,
};

/* --- Clients ---------------------------------------------------------------------------------- */

enum sirix_status sirix_client_check_options(const struct sirix_client_options *options,
                                             struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (options == NULL) {
        return SIRIX_OK;
    }
    for (size_t i = 0; i < sizeof(options->reserved) / sizeof(options->reserved[0]); i++) {
        if (options->reserved[i] != NULL) {
            status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                       "reserved options must be NULL");
            sirix_error_set_field(err, "reserved");
            return status;
        }
    }
    if (options->client_name != NULL && strlen(options->client_name) > CLIENT_NAME_BYTES_MAX) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                                   "client_name has over %d bytes", CLIENT_NAME_BYTES_MAX);
        sirix_error_set_field(err, "client_name");
    }
    return status;
}

enum sirix_status sirix_client_new(struct sirix_channel *channel,
                                   const struct sirix_client_options *options,
                                   struct sirix_client **out_client, struct sirix_error *err)
{
    static const struct sirix_client_options defaults = {0};
    struct sirix_client *client = NULL;

    options = options != NULL ? options : &defaults;
    enum sirix_status status = sirix_client_check_options(options, err);
    if (status != SIRIX_OK) {
        return status;
    }
    client = calloc(1, sizeof(*client));
    if (client == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a client");
    }
    client->channel = channel;
    client->default_deadline_ms = options->default_deadline_ms != 0
                                      ? options->default_deadline_ms
                                      : SIRIX_CLIENT_DEADLINE_DEFAULT_MS;
    client->connect_timeout_ms = options->connect_timeout_ms != 0 ? options->connect_timeout_ms
                                                                  : SIRIX_CLIENT_CONNECT_DEFAULT_MS;
    *out_client = client;
    return SIRIX_OK;
}

enum sirix_status sirix_client_open(const char *address, const struct sirix_client_options *options,
                                    struct sirix_client **out_client, struct sirix_error *err)
{
    struct sirix_channel *channel = NULL;
    enum sirix_status status = sirix_client_check_options(options, err);

    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_security_options security = {
        .token_file = options == NULL ? NULL : options->token_file,
        .tls_ca = options == NULL ? NULL : options->tls_ca,
        .tls_cert = options == NULL ? NULL : options->tls_cert,
        .tls_key = options == NULL ? NULL : options->tls_key,
    };
    status = sirix_channel_open(address, &security, &channel, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_client_new(channel, options, out_client, err);
    if (status != SIRIX_OK) {
        sirix_channel_close(channel);
    }
    return status;
}

void sirix_client_close(struct sirix_client *client)
{
    if (client == NULL) {
        return;
    }
    sirix_embedded_stop(client->embedded);
    sirix_channel_close(client->channel);
    free(client);
}

/* --- Tries ------------------------------------------------------------------------------------ */

bool sirix_client_writes(enum sirix_method method, enum sirix_repeat repeat)
{
    return sirix_method_rows[method].writes && repeat != SIRIX_REPEAT_DRY_RUN;
}

static uint64_t add_ms(uint64_t from_ns, uint32_t ms)
{
    return ms == SIRIX_DEADLINE_NONE ? UINT64_MAX : from_ns + ms * ns_a_ms;
}

void sirix_tries_init(struct sirix_tries *tries, struct sirix_client *client,
                      enum sirix_method method, const struct sirix_call_options *options,
                      enum sirix_repeat repeat)
{
    bool writes = sirix_client_writes(method, repeat);
    uint32_t deadline_ms = options != NULL ? options->deadline_ms : 0;

    if (deadline_ms == 0) {
        deadline_ms =
            sirix_method_rows[method].streams ? SIRIX_DEADLINE_NONE : client->default_deadline_ms;
    }
    *tries = (struct sirix_tries){
        .client = client,
        .method = method,
        .cancel = options != NULL ? options->cancel : NULL,
        .writes = writes,
        .repeatable = repeat == SIRIX_REPEAT_KEYED || !writes,
        .deadline_ns = add_ms(sirix_monotonic_ns(), deadline_ms),
        .pause_ns = PAUSE_FIRST_MS * ns_a_ms,
    };
}

enum sirix_status sirix_tries_prepare(struct sirix_tries *tries, struct sirix_error *err)
{
    struct sirix_client *client = tries->client;
    enum sirix_status status = SIRIX_OK;
    uint64_t by_ns = add_ms(sirix_monotonic_ns(), client->connect_timeout_ms);

    /* Reads find out by themselves, which saves a look at each. */
    if (!tries->writes && tries->give_up_ns == 0) {
        return SIRIX_OK;
    }
    by_ns = by_ns < tries->deadline_ns ? by_ns : tries->deadline_ns;
    if (client->embedded != NULL) {
        status = sirix_embedded_ensure(client->embedded, tries->deadline_ns, tries->cancel, err);
    }
    if (status == SIRIX_OK && tries->writes) {
        status = sirix_channel_connect(client->channel, by_ns, tries->cancel, err);
    }
    return status;
}

/*
 * Whether another try may go well. A hint with EXHAUSTED is the server's word that it has done nothing
 * and that there will be room again; without one, waiting does not help.
 */
static bool may_pass(enum sirix_status status, const struct sirix_error *err)
{
    return status == SIRIX_UNAVAILABLE || status == SIRIX_OUTCOME_UNKNOWN ||
           (status == SIRIX_EXHAUSTED && err != NULL && err->retry_after_ms != 0);
}

bool sirix_tries_again(struct sirix_tries *tries, enum sirix_status *status,
                       struct sirix_error *err)
{
    uint64_t now_ns = sirix_monotonic_ns();

    if (!tries->repeatable || !may_pass(*status, err)) {
        return false;
    }
    if (tries->give_up_ns == 0) {
        tries->give_up_ns = add_ms(now_ns, tries->client->connect_timeout_ms);
    }
    if (err != NULL && err->retry_after_ms * ns_a_ms > tries->pause_ns &&
        err->retry_after_ms <= PAUSE_MAX_MS) {
        tries->pause_ns = err->retry_after_ms * ns_a_ms;
    }
    if (now_ns + tries->pause_ns >= tries->give_up_ns ||
        now_ns + tries->pause_ns >= tries->deadline_ns) {
        return false;
    }
    if (!sirix_call_cancel_sleep(tries->cancel, tries->pause_ns)) {
        /* Of a write whose outcome is unknown, that remains the truth. */
        if (*status != SIRIX_OUTCOME_UNKNOWN) {
            *status = sirix_call_cancel_fail(err);
        }
        return false;
    }
    tries->pause_ns *= 2;
    if (tries->pause_ns > PAUSE_MAX_MS * ns_a_ms) {
        tries->pause_ns = PAUSE_MAX_MS * ns_a_ms;
    }
    return true;
}

enum sirix_status sirix_client_untaken(bool writes, enum sirix_status status,
                                       struct sirix_error *err)
{
    if (status == SIRIX_OK || status == SIRIX_OUTCOME_UNKNOWN || !writes) {
        return status;
    }
    return sirix_fail(err, SIRIX_OUTCOME_UNKNOWN, "the write's answer cannot be read (%s): %s",
                      sirix_status_name(status), err != NULL ? err->text : "");
}

/* --- Unary calls ------------------------------------------------------------------------------ */

static enum sirix_status try_once(struct sirix_tries *tries,
                                  const struct sirix_call_options *options,
                                  grpc_byte_buffer *request, grpc_byte_buffer **out_answer,
                                  struct sirix_error *err)
{
    struct sirix_call call;
    enum sirix_status status = sirix_tries_prepare(tries, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_call_start(&call, tries->client->channel, tries->method, tries->deadline_ns,
                              options, err);
    if (status != SIRIX_OK) {
        return status;
    }
    call.writes = tries->writes;
    status = sirix_call_exchange(&call, request, out_answer, err);
    sirix_call_deinit(&call);
    return status;
}

enum sirix_status sirix_client_unary(struct sirix_client *client, const struct sirix_unary *unary,
                                     const struct sirix_call_options *options,
                                     struct sirix_arena *arena, const ProtobufCMessage **out_answer,
                                     struct sirix_error *err)
{
    grpc_byte_buffer *answer = NULL;
    struct sirix_error failure = {0};
    struct sirix_tries tries;
    enum sirix_status status = SIRIX_OK;

    sirix_tries_init(&tries, client, unary->method, options, unary->repeat);
    do {
        /* gRPC empties a buffer that it sends, so each try has its own. */
        grpc_byte_buffer *request = NULL;

        status = sirix_message_encode(unary->request, &request, &failure);
        if (status != SIRIX_OK) {
            break;
        }
        status = try_once(&tries, options, request, &answer, &failure);
        grpc_byte_buffer_destroy(request);
    } while (status != SIRIX_OK && sirix_tries_again(&tries, &status, &failure));

    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = failure;
        }
        return status;
    }
    status = sirix_message_decode(answer, unary->answer_type, arena, out_answer, err);
    grpc_byte_buffer_destroy(answer);
    return sirix_client_untaken(tries.writes, status, err);
}
