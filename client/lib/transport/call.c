/*
 * The batches of a call. Each function posts one batch and waits for its tag on the call's own
 * queue, so no event is ever outstanding when a function returns, but for the read of
 * sirix_call_is_alive(), which is taken back in deinit.
 */
#include "lib/transport/call.h"

#include <assert.h>
#include <grpc/byte_buffer.h>
#include <grpc/slice.h>
#include <string.h>

#include "lib/transport/failure.h"
#include "lib/transport/message.h"

static const char details_key[] = "grpc-status-details-bin";
static const char traceparent_key[] = "traceparent";

/* Posts a batch and waits for it. false: it failed, which the status will explain. */
static bool run(struct sirix_call *call, const grpc_op *ops, size_t count)
{
    grpc_call_error error = grpc_call_start_batch(call->call, ops, count, call, NULL);

    /* Anything else is a batch that may not be posted in this state, or bad metadata: ours. */
    assert(error == GRPC_CALL_OK);
    grpc_event event =
        grpc_completion_queue_pluck(call->queue, call, sirix_grpc_time(call->give_up_ns), NULL);
    if (event.type == GRPC_QUEUE_TIMEOUT) {
        (void)grpc_call_cancel(call->call, NULL);
        event = grpc_completion_queue_pluck(call->queue, call, gpr_inf_future(GPR_CLOCK_MONOTONIC),
                                            NULL);
    }
    assert(event.type == GRPC_OP_COMPLETE);
    return event.success != 0;
}

static void add_metadata(struct sirix_call *call, const char *key, const void *value, size_t len)
{
    grpc_metadata *row = &call->sent_metadata[call->sent_metadata_count++];

    row->key = grpc_slice_from_static_string(key);
    row->value = grpc_slice_from_copied_buffer(value, len);
}

static enum sirix_status set_token(struct sirix_call *call, struct sirix_error *err)
{
    char text[SIRIX_AUTHORIZATION_BYTES];
    enum sirix_status status =
        sirix_security_authorization(sirix_channel_security(call->channel), text, err);

    if (status == SIRIX_OK && text[0] != '\0') {
        add_metadata(call, "authorization", text, strlen(text));
        explicit_bzero(text, sizeof(text));
    }
    return status;
}

static enum sirix_status set_metadata(struct sirix_call *call,
                                      const struct sirix_call_options *options,
                                      struct sirix_error *err)
{
    if (options == NULL || options->traceparent.len == 0) {
        return SIRIX_OK;
    }
    const unsigned char *bytes = options->traceparent.data;
    bool sendable = options->traceparent.len <= SIRIX_CALL_TRACEPARENT_BYTES_MAX;
    for (size_t i = 0; sendable && i < options->traceparent.len; i++) {
        sendable = bytes[i] > ' ' && bytes[i] < 0x7f;
    }
    if (!sendable) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                              "traceparent is longer than %d bytes or not printable ASCII",
                              SIRIX_CALL_TRACEPARENT_BYTES_MAX);
        sirix_error_set_field(err, "traceparent");
        return status;
    }
    add_metadata(call, traceparent_key, options->traceparent.data, options->traceparent.len);
    return SIRIX_OK;
}

static void drop_metadata(struct sirix_call *call)
{
    for (size_t i = 0; i < call->sent_metadata_count; i++) {
        grpc_slice_unref(call->sent_metadata[i].value);
    }
    call->sent_metadata_count = 0;
}

enum sirix_status sirix_call_start(struct sirix_call *call, struct sirix_channel *channel,
                                   enum sirix_method method, uint64_t deadline_ns,
                                   const struct sirix_call_options *options,
                                   struct sirix_error *err)
{
    *call = (struct sirix_call){
        .channel = channel,
        .method = method,
        .cancel = options != NULL ? options->cancel : NULL,
        .writes = sirix_method_rows[method].writes,
        .status_text = grpc_empty_slice(),
        .give_up_ns = UINT64_MAX,
    };
    enum sirix_status status = set_metadata(call, options, err);
    if (status == SIRIX_OK) {
        status = set_token(call, err);
    }
    if (status != SIRIX_OK) {
        drop_metadata(call);
        return status;
    }
    grpc_metadata_array_init(&call->initial);
    grpc_metadata_array_init(&call->trailing);
    call->queue = sirix_channel_take_queue(channel);
    call->call =
        sirix_channel_create_call(channel, method, call->queue, sirix_grpc_time(deadline_ns));
    if (call->cancel != NULL) {
        call->link.call = call->call;
        if (!sirix_call_cancel_link(call->cancel, &call->link)) {
            call->cancel = NULL;
            call->finished = true; /* No batch was posted; there is no status to wait for. */
            sirix_call_deinit(call);
            return sirix_call_cancel_fail(err);
        }
    }
    return SIRIX_OK;
}

/* --- Operations of batches -------------------------------------------------------------------- */

static grpc_op op_send_metadata(struct sirix_call *call)
{
    grpc_op op = {.op = GRPC_OP_SEND_INITIAL_METADATA};

    op.data.send_initial_metadata.count = call->sent_metadata_count;
    op.data.send_initial_metadata.metadata = call->sent_metadata;
    return op;
}

static grpc_op op_send_message(grpc_byte_buffer *message)
{
    grpc_op op = {.op = GRPC_OP_SEND_MESSAGE};

    op.data.send_message.send_message = message;
    return op;
}

static grpc_op op_receive_metadata(struct sirix_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_INITIAL_METADATA};

    call->has_initial = true;
    op.data.recv_initial_metadata.recv_initial_metadata = &call->initial;
    return op;
}

static grpc_op op_receive_message(grpc_byte_buffer **out_message)
{
    grpc_op op = {.op = GRPC_OP_RECV_MESSAGE};

    op.data.recv_message.recv_message = out_message;
    return op;
}

static grpc_op op_receive_status(struct sirix_call *call)
{
    grpc_op op = {.op = GRPC_OP_RECV_STATUS_ON_CLIENT};

    call->finished = true;
    op.data.recv_status_on_client.trailing_metadata = &call->trailing;
    op.data.recv_status_on_client.status = &call->code;
    op.data.recv_status_on_client.status_details = &call->status_text;
    return op;
}

/* --- The end ---------------------------------------------------------------------------------- */

static struct sirix_bytes slice_bytes(const grpc_slice *slice)
{
    return (struct sirix_bytes){
        .data = GRPC_SLICE_START_PTR(*slice),
        .len = GRPC_SLICE_LENGTH(*slice),
    };
}

/* What the received status means. */
static enum sirix_status judge(struct sirix_call *call, struct sirix_error *err)
{
    struct sirix_failure failure = {
        .code = (int)call->code,
        .message = slice_bytes(&call->status_text),
        .may_have_changed = call->writes && call->request_is_out,
    };

    if (call->code == GRPC_STATUS_OK) {
        return SIRIX_OK;
    }
    for (size_t i = 0; i < call->trailing.count; i++) {
        const grpc_metadata *row = &call->trailing.metadata[i];

        if (grpc_slice_str_cmp(row->key, details_key) == 0) {
            failure.details = slice_bytes(&row->value);
        }
    }
    return sirix_failure_record(&failure, err);
}

static enum sirix_status fail_no_answer(const struct sirix_call *call, struct sirix_error *err)
{
    return sirix_fail(err, call->writes ? SIRIX_OUTCOME_UNKNOWN : SIRIX_INTERNAL,
                      "the server ended the call well without an answer");
}

static void wait_for_status(struct sirix_call *call)
{
    grpc_op op = op_receive_status(call);

    (void)run(call, &op, 1); /* Always succeeds. */
}

void sirix_call_deinit(struct sirix_call *call)
{
    if (call->call == NULL) {
        return;
    }
    if (!call->finished) {
        (void)grpc_call_cancel(call->call, NULL);
        if (call->watching) {
            (void)grpc_completion_queue_pluck(call->queue, &call->watching,
                                              gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL);
            grpc_byte_buffer_destroy(call->watched);
        }
        wait_for_status(call); /* It was given up; why it ended is nobody's matter. */
    }
    if (call->cancel != NULL) {
        sirix_call_cancel_unlink(call->cancel, &call->link);
    }
    grpc_metadata_array_destroy(&call->initial);
    grpc_metadata_array_destroy(&call->trailing);
    grpc_slice_unref(call->status_text);
    drop_metadata(call);
    grpc_call_unref(call->call);
    call->call = NULL;
    sirix_channel_return_queue(call->channel, call->queue);
}

enum sirix_status sirix_call_finish(struct sirix_call *call, struct sirix_error *err)
{
    wait_for_status(call);
    return judge(call, err);
}

/* --- The three shapes ------------------------------------------------------------------------- */

enum sirix_status sirix_call_exchange(struct sirix_call *call, grpc_byte_buffer *request,
                                      grpc_byte_buffer **out_answer, struct sirix_error *err)
{
    grpc_byte_buffer *answer = NULL;
    grpc_op ops[] = {
        op_send_metadata(call),
        op_send_message(request),
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
        op_receive_metadata(call),
        op_receive_message(&answer),
        op_receive_status(call),
    };

    call->request_is_out = true;
    (void)run(call, ops, sizeof(ops) / sizeof(ops[0])); /* The status says how it went. */
    enum sirix_status status = judge(call, err);
    if (status == SIRIX_OK && answer == NULL) {
        status = fail_no_answer(call, err);
    }
    if (status != SIRIX_OK) {
        grpc_byte_buffer_destroy(answer);
        return status;
    }
    *out_answer = answer;
    return SIRIX_OK;
}

void sirix_call_request(struct sirix_call *call, grpc_byte_buffer *request)
{
    grpc_op ops[] = {
        op_send_metadata(call),
        op_send_message(request),
        {.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT},
    };

    call->request_is_out = true;
    (void)run(call, ops, sizeof(ops) / sizeof(ops[0])); /* Receiving shows a failure. */
}

grpc_byte_buffer *sirix_call_receive(struct sirix_call *call)
{
    grpc_byte_buffer *message = NULL;
    grpc_op ops[2];
    size_t count = 0;

    if (!call->has_initial) {
        ops[count++] = op_receive_metadata(call);
    }
    ops[count++] = op_receive_message(&message);
    (void)run(call, ops, count); /* A failure leaves message NULL. */
    return message;
}

void sirix_call_begin(struct sirix_call *call)
{
    grpc_op op = op_send_metadata(call);

    (void)run(call, &op, 1); /* Sending shows a failure. */
}

bool sirix_call_send(struct sirix_call *call, grpc_byte_buffer *message)
{
    grpc_op op = op_send_message(message);

    return run(call, &op, 1);
}

enum sirix_status sirix_call_answer(struct sirix_call *call, bool hung_up,
                                    grpc_byte_buffer **out_answer, struct sirix_error *err)
{
    grpc_byte_buffer *answer = NULL;
    grpc_op ops[4] = {
        op_receive_metadata(call),
        op_receive_message(&answer),
        op_receive_status(call),
    };
    size_t count = 3;

    if (!hung_up) {
        ops[count++] = (grpc_op){.op = GRPC_OP_SEND_CLOSE_FROM_CLIENT};
        call->request_is_out = true;
    }
    (void)run(call, ops, count);
    enum sirix_status status = judge(call, err);
    if (status == SIRIX_OK && answer == NULL) {
        status = fail_no_answer(call, err);
    }
    if (status != SIRIX_OK) {
        grpc_byte_buffer_destroy(answer);
        return status;
    }
    *out_answer = answer;
    return SIRIX_OK;
}

bool sirix_call_is_alive(struct sirix_call *call)
{
    grpc_op op = op_receive_message(&call->watched);

    if (call->call == NULL || call->finished) {
        return false;
    }
    if (!call->watching) {
        grpc_call_error error = grpc_call_start_batch(call->call, &op, 1, &call->watching, NULL);
        assert(error == GRPC_CALL_OK);
        call->watching = true;
    }
    grpc_event event = grpc_completion_queue_pluck(call->queue, &call->watching,
                                                   gpr_inf_past(GPR_CLOCK_MONOTONIC), NULL);
    if (event.type == GRPC_QUEUE_TIMEOUT) {
        return true;
    }
    call->watching = false;
    grpc_byte_buffer_destroy(call->watched);
    call->watched = NULL;
    wait_for_status(call); /* That it is over is all that matters. */
    return false;
}
