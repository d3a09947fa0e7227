/* Decoding of a failed call. */
#include "lib/transport/failure.h"

#include <stddef.h>
#include <string.h>

#include "base/arena.h"
#include "base/utf8.h"
#include "lib/transport/message.h"
#include "sirix/storage/v1/error.pb-c.h"

enum {
    DETAILS_BYTES_MAX = 64 * 1024, /* The server cuts at 4 KiB. */
    DECODED_BYTES_MAX = 1024 * 1024,
};

static const char detail_type[] = "/sirix.storage.v1.ErrorDetail";

typedef Sirix__Storage__V1__ErrorDetail detail_message;

/* gRPC's code alone, for failures without details. */
static enum sirix_status status_from_code(int code)
{
    static const enum sirix_status by_code[] = {
        [1] = SIRIX_CANCELLED,        [2] = SIRIX_INTERNAL,      [3] = SIRIX_INVALID,
        [4] = SIRIX_DEADLINE,         [5] = SIRIX_NOT_FOUND,     [6] = SIRIX_ALREADY_EXISTS,
        [7] = SIRIX_PERMISSION,       [8] = SIRIX_EXHAUSTED,     [9] = SIRIX_PRECONDITION,
        [10] = SIRIX_CONFLICT,        [11] = SIRIX_OUT_OF_RANGE, [12] = SIRIX_UNSUPPORTED,
        [13] = SIRIX_INTERNAL,        [14] = SIRIX_UNAVAILABLE,  [15] = SIRIX_CORRUPT,
        [16] = SIRIX_UNAUTHENTICATED,
    };
    size_t count = sizeof(by_code) / sizeof(by_code[0]);

    if (code < 1 || (size_t)code >= count) {
        return SIRIX_INTERNAL;
    }
    /* cppcheck-suppress arrayIndexOutOfBoundsCond ; the line above is the bound */
    return by_code[code];
}

static bool bytes_are(struct sirix_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

static enum sirix_status status_from_name(struct sirix_bytes name, int code)
{
    static const enum sirix_status every_one[] = {
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code) SIRIX_##upper,
        SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
    };

    for (size_t i = 1; i < sizeof(every_one) / sizeof(every_one[0]); i++) {
        if (bytes_are(name, sirix_status_name(every_one[i])) &&
            sirix_status_grpc_code(every_one[i]) == code) {
            return every_one[i];
        }
    }
    return status_from_code(code);
}

static enum sirix_reason reason_from_name(struct sirix_bytes name)
{
    static const enum sirix_reason every_one[] = {
#define SIRIX_X(upper, lower) SIRIX_REASON_##upper,
        SIRIX_REASON_LIST(SIRIX_X)
#undef SIRIX_X
    };

    for (size_t i = 0; i < sizeof(every_one) / sizeof(every_one[0]); i++) {
        if (bytes_are(name, sirix_reason_name(every_one[i]))) {
            return every_one[i];
        }
    }
    return SIRIX_REASON_NONE;
}

/* A C string out of bytes of a peer; what does not fit is cut at a character. */
static void copy_text(char *to, size_t to_bytes, struct sirix_bytes from)
{
    const uint8_t *bytes = from.data;
    size_t at = 0;
    size_t used = 0;

    while (at < from.len) {
        uint32_t code_point = 0;
        size_t len = sirix_utf8_decode(bytes + at, from.len - at, &code_point);
        size_t taken = len == 0 ? 1 : len;
        size_t written = len == 0 || code_point == 0 ? 1 : len;

        if (used + written >= to_bytes) {
            break;
        }
        if (len == 0 || code_point == 0) {
            to[used] = '?';
        } else {
            memcpy(to + used, bytes + at, len);
        }
        used += written;
        at += taken;
    }
    to[used] = '\0';
}

/* The ErrorDetail inside a google.rpc.Status; NULL when there is none that we know. */
static const detail_message *find_detail(struct sirix_bytes details, struct sirix_arena *arena)
{
    const ProtobufCMessage *message = NULL;

    if (details.len == 0 || details.len > DETAILS_BYTES_MAX ||
        sirix_message_decode_bytes(details, &sirix__storage__v1__error_status__descriptor, arena,
                                   &message, NULL) != SIRIX_OK) {
        return NULL;
    }
    const Sirix__Storage__V1__ErrorStatus *status =
        (const Sirix__Storage__V1__ErrorStatus *)message;
    for (size_t i = 0; i < status->n_details; i++) {
        struct sirix_bytes type = sirix_message_bytes(status->details[i]->type_url);
        size_t suffix = strlen(detail_type);

        if (type.len >= suffix &&
            memcmp((const char *)type.data + type.len - suffix, detail_type, suffix) == 0 &&
            sirix_message_decode_bytes(sirix_message_bytes(status->details[i]->value),
                                       &sirix__storage__v1__error_detail__descriptor, arena,
                                       &message, NULL) == SIRIX_OK) {
            return (const detail_message *)message;
        }
    }
    return NULL;
}

static enum sirix_status record_detail(const struct sirix_failure *failure,
                                       const detail_message *detail, struct sirix_error *err)
{
    enum sirix_status status = status_from_name(sirix_message_bytes(detail->status), failure->code);

    if (err == NULL) {
        return status;
    }
    *err = (struct sirix_error){
        .status = status,
        .reason = reason_from_name(sirix_message_bytes(detail->reason)),
        .has_offset = detail->place_case == SIRIX__STORAGE__V1__ERROR_DETAIL__PLACE_OFFSET,
        .current_revision = detail->current_revision,
        .oldest_revision = detail->oldest_revision,
        .newest_revision = detail->newest_revision,
        .retry_after_ms = detail->retry_after_ms,
        .queue_place = detail->queue_place,
        .line = detail->line,
        .column = detail->column,
    };
    if (err->has_offset) {
        err->offset = detail->offset;
    }
    copy_text(err->field, sizeof(err->field), sirix_message_bytes(detail->field));
    copy_text(err->pointer, sizeof(err->pointer), sirix_message_bytes(detail->pointer));
    copy_text(err->code, sizeof(err->code), sirix_message_bytes(detail->code));
    copy_text(err->text, sizeof(err->text),
              detail->message.len != 0 ? sirix_message_bytes(detail->message) : failure->message);
    return status;
}

/* The failures of gRPC itself after which nobody knows what the server did. */
static bool leaves_open(enum sirix_status status)
{
    return status == SIRIX_CANCELLED || status == SIRIX_DEADLINE || status == SIRIX_UNAVAILABLE ||
           status == SIRIX_INTERNAL || status == SIRIX_EXHAUSTED;
}

static enum sirix_status record_plain(const struct sirix_failure *failure, struct sirix_error *err)
{
    char text[SIRIX_ERROR_TEXT_BYTES];
    enum sirix_status status = status_from_code(failure->code);

    copy_text(text, sizeof(text), failure->message);
    if (failure->may_have_changed && leaves_open(status)) {
        return sirix_fail(err, SIRIX_OUTCOME_UNKNOWN,
                          "no answer to a write that may have happened (%s): %s",
                          sirix_status_name(status), text);
    }
    if (status == SIRIX_DEADLINE) {
        return sirix_fail(err, status, "the deadline of the call passed");
    }
    if (status == SIRIX_CANCELLED) {
        return sirix_fail(err, status, "the call was cancelled");
    }
    return sirix_fail(err, status, "%s", text[0] != '\0' ? text : sirix_status_name(status));
}

enum sirix_status sirix_failure_record(const struct sirix_failure *failure, struct sirix_error *err)
{
    struct sirix_arena arena;

    sirix_arena_init(&arena, DECODED_BYTES_MAX);
    const detail_message *detail = find_detail(failure->details, &arena);
    enum sirix_status status =
        detail != NULL ? record_detail(failure, detail, err) : record_plain(failure, err);
    sirix_arena_deinit(&arena);
    return status;
}
