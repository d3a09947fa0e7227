/* struct sirix_error as google.rpc.Status with one ErrorDetail. */
#include "rpc/runtime/details.h"

#include <assert.h>
#include <string.h>

#include "sirix/storage/v1/error.pb-c.h"

enum { NUMBERS_AND_NAMES_BYTES_MAX = 512 };

/* The sentence stands in the status and in the detail; all texts of an error are bounded. */
_Static_assert(2 * SIRIX_ERROR_TEXT_BYTES + 2 * SIRIX_ERROR_WHERE_BYTES + SIRIX_ERROR_CODE_BYTES +
                       NUMBERS_AND_NAMES_BYTES_MAX <=
                   SIRIX_RPC_DETAILS_BYTES_MAX,
               "an error with all its texts fits into the details");

static const char type_url[] = "type.googleapis.com/sirix.storage.v1.ErrorDetail";

/* protobuf-c takes non-const pointers for bytes it only reads; the cast lives here alone. */
static ProtobufCBinaryData binary_from_str(const char *text)
{
    union {
        const char *in;
        void *out;
    } pointer = {.in = text};

    return (ProtobufCBinaryData){.len = strlen(text), .data = pointer.out};
}

size_t sirix_rpc_details_encode(const struct sirix_error *err,
                                uint8_t out[SIRIX_RPC_DETAILS_BYTES_MAX])
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;
    Sirix__Storage__V1__ErrorAny any = SIRIX__STORAGE__V1__ERROR_ANY__INIT;
    Sirix__Storage__V1__ErrorAny *list[] = {&any};
    Sirix__Storage__V1__ErrorStatus status = SIRIX__STORAGE__V1__ERROR_STATUS__INIT;
    uint8_t packed[SIRIX_RPC_DETAILS_BYTES_MAX];

    assert(err->status != SIRIX_OK);

    detail.reason = binary_from_str(sirix_reason_name(err->reason));
    detail.status = binary_from_str(sirix_status_name(err->status));
    detail.message = binary_from_str(err->text);
    detail.field = binary_from_str(err->field);
    detail.pointer = binary_from_str(err->pointer);
    if (err->has_offset) {
        detail.place_case = SIRIX__STORAGE__V1__ERROR_DETAIL__PLACE_OFFSET;
        detail.offset = err->offset;
    }
    detail.current_revision = err->current_revision;
    detail.retry_after_ms = err->retry_after_ms;
    detail.oldest_revision = err->oldest_revision;
    detail.newest_revision = err->newest_revision;
    detail.queue_place = err->queue_place;
    detail.line = err->line;
    detail.column = err->column;
    detail.code = binary_from_str(err->code);

    any.type_url = binary_from_str(type_url);
    any.value.len = sirix__storage__v1__error_detail__pack(&detail, packed);
    any.value.data = packed;
    status.code = sirix_status_grpc_code(err->status);
    status.message = binary_from_str(err->text);
    status.n_details = 1;
    status.details = list;
    size_t size = sirix__storage__v1__error_status__pack(&status, out);
    assert(size <= SIRIX_RPC_DETAILS_BYTES_MAX);
    return size;
}
