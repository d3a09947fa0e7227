/* The error on the wire: what another language will find in grpc-status-details-bin. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "rpc/runtime/details.h"
#include "sirix/storage/v1/error.pb-c.h"

static Sirix__Storage__V1__ErrorStatus *unpack_status(const uint8_t *packed, size_t size)
{
    Sirix__Storage__V1__ErrorStatus *status =
        sirix__storage__v1__error_status__unpack(NULL, size, packed);

    assert_non_null(status);
    assert_int_equal(status->n_details, 1);
    assert_memory_equal(status->details[0]->type_url.data,
                        "type.googleapis.com/sirix.storage.v1.ErrorDetail",
                        status->details[0]->type_url.len);
    return status;
}

static void every_fact_of_an_error_is_in_its_detail(void **state)
{
    struct sirix_error err = {0};
    uint8_t packed[SIRIX_RPC_DETAILS_BYTES_MAX];

    (void)state;
    (void)sirix_fail_reason(&err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED, "head is %d", 7);
    sirix_error_set_field(&err, "options.expected_revision");
    sirix_error_set_pointer(&err, "/a~1b");
    sirix_error_set_offset(&err, 0);
    err.current_revision = 7;
    err.retry_after_ms = 250;
    err.oldest_revision = 3;
    err.newest_revision = 9;
    err.queue_place = 4;
    sirix_error_set_code(&err, "XPST0017", 3, 14);

    size_t size = sirix_rpc_details_encode(&err, packed);
    Sirix__Storage__V1__ErrorStatus *status = unpack_status(packed, size);
    Sirix__Storage__V1__ErrorDetail *detail = sirix__storage__v1__error_detail__unpack(
        NULL, status->details[0]->value.len, status->details[0]->value.data);

    assert_non_null(detail);
    assert_int_equal(status->code, 10);
    assert_memory_equal(detail->reason.data, "revision_moved", detail->reason.len);
    assert_memory_equal(detail->status.data, "conflict", detail->status.len);
    assert_memory_equal(detail->message.data, "head is 7", detail->message.len);
    assert_memory_equal(detail->field.data, "options.expected_revision", detail->field.len);
    assert_memory_equal(detail->pointer.data, "/a~1b", detail->pointer.len);
    assert_int_equal(detail->place_case, SIRIX__STORAGE__V1__ERROR_DETAIL__PLACE_OFFSET);
    assert_int_equal(detail->offset, 0);
    assert_int_equal(detail->current_revision, 7);
    assert_int_equal(detail->retry_after_ms, 250);
    assert_int_equal(detail->oldest_revision, 3);
    assert_int_equal(detail->newest_revision, 9);
    assert_int_equal(detail->queue_place, 4);
    assert_int_equal(detail->code.len, strlen("XPST0017"));
    assert_memory_equal(detail->code.data, "XPST0017", detail->code.len);
    assert_int_equal(detail->line, 3);
    assert_int_equal(detail->column, 14);
    sirix__storage__v1__error_detail__free_unpacked(detail, NULL);
    sirix__storage__v1__error_status__free_unpacked(status, NULL);
}

static void an_error_whose_texts_are_all_full_fits(void **state)
{
    struct sirix_error err = {.status = SIRIX_INVALID,
                              .reason = SIRIX_REASON_NAME_CASE,
                              .has_offset = true,
                              .offset = UINT64_MAX,
                              .current_revision = UINT64_MAX,
                              .oldest_revision = UINT64_MAX,
                              .newest_revision = UINT64_MAX,
                              .retry_after_ms = UINT64_MAX,
                              .queue_place = UINT64_MAX,
                              .line = UINT32_MAX,
                              .column = UINT32_MAX};
    uint8_t packed[SIRIX_RPC_DETAILS_BYTES_MAX];

    (void)state;
    memset(err.text, 'x', sizeof(err.text) - 1);
    memset(err.field, 'x', sizeof(err.field) - 1);
    memset(err.pointer, 'x', sizeof(err.pointer) - 1);
    memset(err.code, 'x', sizeof(err.code) - 1);

    size_t size = sirix_rpc_details_encode(&err, packed);

    assert_true(size <= SIRIX_RPC_DETAILS_BYTES_MAX);
    sirix__storage__v1__error_status__free_unpacked(unpack_status(packed, size), NULL);
}

static void every_status_has_the_code_of_the_table(void **state)
{
    (void)state;
    for (int s = SIRIX_OK + 1; s <= SIRIX_INTERNAL; s++) {
        struct sirix_error err = {.status = (enum sirix_status)s};
        uint8_t packed[SIRIX_RPC_DETAILS_BYTES_MAX];
        size_t size = sirix_rpc_details_encode(&err, packed);
        Sirix__Storage__V1__ErrorStatus *status = unpack_status(packed, size);

        assert_int_equal(status->code, sirix_status_grpc_code((enum sirix_status)s));
        assert_in_range(status->code, 1, 16);
        sirix__storage__v1__error_status__free_unpacked(status, NULL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_fact_of_an_error_is_in_its_detail),
        cmocka_unit_test(an_error_whose_texts_are_all_full_fits),
        cmocka_unit_test(every_status_has_the_code_of_the_table),
    };
    return cmocka_run_group_tests_name("rpc details", tests, NULL, NULL);
}
