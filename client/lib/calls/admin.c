/* The server's state, and the check of a database. */
#include "lib/calls/encode.h"
#include "lib/stream.h"

#include <stdlib.h>
#include <string.h>

static const char *role_name(PB(Role) role)
{
    switch (role) {
    case SIRIX__STORAGE__V1__ROLE__ROLE_READER:
        return "reader";
    case SIRIX__STORAGE__V1__ROLE__ROLE_WRITER:
        return "writer";
    case SIRIX__STORAGE__V1__ROLE__ROLE_OPERATOR:
        return "operator";
    default:
        return "unknown";
    }
}

static enum sirix_status fill_status(struct sirix_arena *arena, const ProtobufCMessage *message,
                                     void *answer, struct sirix_error *err)
{
    const PB(StatusResponse) *from = (const void *)message;
    struct sirix_server_status *to = answer;

    *to = (struct sirix_server_status){
        .started_at_us = from->started_at_us,
        .now_us = from->now_us,
        .process_id = from->process_id,
        .embedded = from->embedded != 0,
        .draining = from->draining != 0,
        .role = role_name(from->role),
        .databases = from->databases,
        .databases_open = from->databases_open,
        .calls_running = from->calls_running,
        .writes_waiting = from->writes_waiting,
        .calls_total = from->calls_total,
        .commits_total = from->commits_total,
        .resident_bytes = from->resident_bytes,
    };
    enum sirix_status status = sirix_answer_name(arena, from->version, &to->version, err);
    if (status == SIRIX_OK) {
        status = sirix_answer_name(arena, from->principal, &to->principal, err);
    }
    return status;
}

enum sirix_status sirix_client_status(struct sirix_client *client,
                                      const struct sirix_call_options *call,
                                      struct sirix_server_status **out_status,
                                      struct sirix_error *err)
{
    PB(StatusRequest) request = PB_INIT(STATUS_REQUEST);
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_STATUS,
        .request = &request.base,
        .answer_type = PB_TYPE(status_response),
    };
    void *answer = NULL;
    enum sirix_status status = sirix_client_unary_answer(client, &unary, call, sizeof(**out_status),
                                                         fill_status, &answer, err);

    if (status == SIRIX_OK) {
        *out_status = answer;
    }
    return status;
}

/* --- Activity --------------------------------------------------------------------------------- */

/* count numbers in the arena. */
static enum sirix_status copy_numbers(struct sirix_arena *arena, const uint64_t *from, size_t count,
                                      const uint64_t **out, struct sirix_error *err)
{
    uint64_t *numbers = NULL;
    enum sirix_status status = SIRIX_ANSWER_ARRAY(arena, count, &numbers, err);

    if (status == SIRIX_OK) {
        if (count != 0) {
            memcpy(numbers, from, count * sizeof(*numbers));
        }
        *out = numbers;
    }
    return status;
}

static enum sirix_status fill_method(struct sirix_arena *arena, const PB(MethodActivity) * from,
                                     size_t bucket_count, struct sirix_method_activity *to,
                                     struct sirix_error *err)
{
    *to = (struct sirix_method_activity){
        .running = from->running,
        .ended = from->ended,
        .failed = from->failed,
        .total_us = from->total_us,
    };
    enum sirix_status status = sirix_answer_name(arena, from->method, &to->method, err);
    if (status == SIRIX_OK && from->n_bucket_counts == bucket_count + 1) {
        status = copy_numbers(arena, from->bucket_counts, from->n_bucket_counts, &to->bucket_counts,
                              err);
    }
    return status;
}

static enum sirix_status fill_activity(struct sirix_arena *arena, const ProtobufCMessage *message,
                                       void *answer, struct sirix_error *err)
{
    const PB(Activity) *from = ((const PB(StatusResponse) *)(const void *)message)->activity;
    struct sirix_server_activity *to = answer;
    struct sirix_method_activity *methods = NULL;
    enum sirix_status status = fill_status(arena, message, &to->status, err);

    if (status == SIRIX_OK && from == NULL) {
        status = sirix_fail(err, SIRIX_UNSUPPORTED,
                            "the server is of a version that does not tell its activity");
    }
    if (status != SIRIX_OK) {
        return status;
    }
    to->calls_queued = from->calls_queued;
    to->groups = from->groups;
    to->group_works = from->group_works;
    to->group_bytes = from->group_bytes;
    to->group_write_us = from->group_write_us;
    to->bucket_count = from->n_bucket_bounds_us;
    status =
        copy_numbers(arena, from->bucket_bounds_us, to->bucket_count, &to->bucket_bounds_us, err);
    if (status == SIRIX_OK) {
        status = SIRIX_ANSWER_ARRAY(arena, from->n_methods, &methods, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < from->n_methods; i++) {
        status = fill_method(arena, from->methods[i], to->bucket_count, &methods[i], err);
    }
    to->methods = methods;
    to->method_count = from->n_methods;
    return status;
}

enum sirix_status sirix_client_activity(struct sirix_client *client,
                                        const struct sirix_call_options *call,
                                        struct sirix_server_activity **out_activity,
                                        struct sirix_error *err)
{
    PB(StatusRequest) request = PB_INIT(STATUS_REQUEST);
    struct sirix_unary unary = {
        .method = SIRIX_METHOD_STATUS,
        .request = &request.base,
        .answer_type = PB_TYPE(status_response),
    };
    void *answer = NULL;

    request.with_activity = true;
    enum sirix_status status = sirix_client_unary_answer(
        client, &unary, call, sizeof(**out_activity), fill_activity, &answer, err);
    if (status == SIRIX_OK) {
        *out_activity = answer;
    }
    return status;
}

static void take_principals(const ProtobufCMessage *answer, void *context)
{
    *(uint32_t *)context = ((const PB(ReloadPrincipalsResponse) *)(const void *)answer)->principals;
}

enum sirix_status sirix_client_reload_principals(struct sirix_client *client,
                                                 const struct sirix_call_options *call,
                                                 uint32_t *out_count, struct sirix_error *err)
{
    PB(ReloadPrincipalsRequest) request = PB_INIT(RELOAD_PRINCIPALS_REQUEST);
    const struct sirix_unary unary = {
        .method = SIRIX_METHOD_RELOAD_PRINCIPALS,
        .request = &request.base,
        .answer_type = PB_TYPE(reload_principals_response),
    };

    return sirix_client_unary_plain(client, &unary, call, take_principals, out_count, err);
}

static void take_quota(const ProtobufCMessage *answer, void *context)
{
    const PB(Quota) *from = ((const PB(SetQuotaResponse) *)(const void *)answer)->quota;

    if (from != NULL) {
        *(struct sirix_quota *)context = (struct sirix_quota){
            .bytes = from->bytes,
            .snapshots = from->snapshots,
            .branches = from->branches,
            .calls = from->calls,
        };
    }
}

enum sirix_status sirix_client_set_quota(struct sirix_client *client, const char *database,
                                         const char *principal, const struct sirix_quota *wanted,
                                         const struct sirix_call_options *call,
                                         struct sirix_quota *out_quota, struct sirix_error *err)
{
    PB(SetQuotaRequest) request = PB_INIT(SET_QUOTA_REQUEST);
    PB(Quota) quota = PB_INIT(QUOTA);
    struct sirix_quota result = {0};
    const struct sirix_unary unary = {
        .method = SIRIX_METHOD_SET_QUOTA,
        .request = &request.base,
        .answer_type = PB_TYPE(set_quota_response),
    };

    if (database != NULL) {
        request.of_case = SIRIX__STORAGE__V1__SET_QUOTA_REQUEST__OF_DATABASE;
        request.database = sirix_message_from_str(database);
    } else {
        request.of_case = SIRIX__STORAGE__V1__SET_QUOTA_REQUEST__OF_PRINCIPAL;
        request.principal = sirix_message_from_str(principal);
    }
    if (wanted != NULL) { /* Setting the same once more changes nothing: it is tried as a read. */
        quota.bytes = wanted->bytes;
        quota.snapshots = wanted->snapshots;
        quota.branches = wanted->branches;
        quota.calls = wanted->calls;
        request.quota = &quota;
    }
    enum sirix_status status =
        sirix_client_unary_plain(client, &unary, call, take_quota, &result, err);
    if (status == SIRIX_OK) {
        *out_quota = result;
    }
    return status;
}

/* --- Verify ----------------------------------------------------------------------------------- */

struct sirix_verify_stream {
    struct sirix_stream stream;
    const ProtobufCMessage *first; /* Not yet told. */
    struct sirix_verify_part end;
    bool complete;
};

enum sirix_status sirix_client_verify(struct sirix_client *client, const char *database,
                                      const char *resource, const struct sirix_call_options *call,
                                      struct sirix_verify_stream **out_stream,
                                      struct sirix_error *err)
{
    PB(VerifyRequest) request = PB_INIT(VERIFY_REQUEST);
    struct sirix_unary what = {
        .method = SIRIX_METHOD_VERIFY,
        .request = &request.base,
        .answer_type = PB_TYPE(verify_response),
    };
    struct sirix_verify_stream *stream = calloc(1, sizeof(*stream));

    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a stream");
    }
    request.database = sirix_message_from_str(database);
    request.resource = sirix_message_from_str(resource);
    enum sirix_status status =
        sirix_stream_open(&stream->stream, client, &what, call, &stream->first, err);
    if (status != SIRIX_OK) {
        free(stream);
        return status;
    }
    *out_stream = stream;
    return SIRIX_OK;
}

/* Whether the message is a part to be told now. */
static bool decode_part(struct sirix_verify_stream *stream, const PB(VerifyResponse) * from,
                        struct sirix_verify_part *out_part)
{
    switch (from->part_case) {
    case SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_PROGRESS:
        *out_part = (struct sirix_verify_part){
            .kind = SIRIX_VERIFY_PART_PROGRESS,
            .segments = from->progress->segments_checked,
            .bytes = from->progress->bytes_checked,
        };
        return true;
    case SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_PROBLEM:
        *out_part = (struct sirix_verify_part){
            .kind = SIRIX_VERIFY_PART_PROBLEM,
            .resource = sirix_message_bytes(from->problem->resource),
            .revision = from->problem->revision,
            .reason = sirix_message_bytes(from->problem->reason),
            .message = sirix_message_bytes(from->problem->message),
        };
        return true;
    case SIRIX__STORAGE__V1__VERIFY_RESPONSE__PART_END:
        /* Told when the stream has ended well too. */
        stream->complete = true;
        stream->end = (struct sirix_verify_part){
            .kind = SIRIX_VERIFY_PART_END,
            .segments = from->end->segments,
            .bytes = from->end->bytes,
            .resources = from->end->resources,
            .revisions = from->end->revisions,
            .problems = from->end->problems,
        };
        return false;
    default:
        return false; /* What a newer server adds. */
    }
}

/* The message kept from the opening, or the next one. */
static enum sirix_status next_message(struct sirix_verify_stream *stream,
                                      const ProtobufCMessage **out_message, struct sirix_error *err)
{
    const ProtobufCMessage *first = stream->first;

    if (first == NULL) {
        return sirix_stream_next(&stream->stream, out_message, err);
    }
    stream->first = NULL;
    *out_message = first;
    return SIRIX_OK;
}

enum sirix_status sirix_verify_stream_next(struct sirix_verify_stream *stream,
                                           struct sirix_verify_part *out_part,
                                           struct sirix_error *err)
{
    const ProtobufCMessage *message = NULL;

    do {
        enum sirix_status status = next_message(stream, &message, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (message == NULL && !stream->complete) {
            return sirix_stream_fail_order("a check without its end", err);
        }
    } while (message != NULL && !decode_part(stream, (const void *)message, out_part));

    if (message == NULL) {
        *out_part = stream->end;
    }
    return SIRIX_OK;
}

void sirix_verify_stream_close(struct sirix_verify_stream *stream)
{
    if (stream != NULL) {
        sirix_stream_deinit(&stream->stream);
        free(stream);
    }
}
