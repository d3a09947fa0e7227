/* A failed call as a struct sirix_error: what peers may send, and what they should not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "lib/transport/failure.h"
#include "sirix/sirix.h"
#include "sirix/storage/v1/error.pb-c.h"

/* --- Fault injection -------------------------------------------------------------------------- */

static int allocations_until_failure = -1; /* 0: the next one fails; -1: none does. */

static int fails_now(void)
{
    if (allocations_until_failure < 0) {
        return 0;
    }
    allocations_until_failure--;
    return allocations_until_failure < 0;
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    return fails_now() ? NULL : __real_calloc(count, size);
}

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    return fails_now() ? NULL : __real_malloc(size);
}

/* --- Details under construction --------------------------------------------------------------- */

static ProtobufCBinaryData binary(const char *text, size_t len)
{
    return (ProtobufCBinaryData){.len = len, .data = (uint8_t *)(uintptr_t)text};
}

static ProtobufCBinaryData str(const char *text)
{
    return binary(text, strlen(text));
}

static uint8_t packed[8192];

/* A google.rpc.Status with the detail, under the type's name. */
static struct sirix_bytes details_of(const Sirix__Storage__V1__ErrorDetail *detail,
                                     const char *type)
{
    static uint8_t inner[4096];
    Sirix__Storage__V1__ErrorAny any = SIRIX__STORAGE__V1__ERROR_ANY__INIT;
    Sirix__Storage__V1__ErrorAny *list[] = {&any};
    Sirix__Storage__V1__ErrorStatus status = SIRIX__STORAGE__V1__ERROR_STATUS__INIT;

    any.type_url = str(type);
    any.value.len = sirix__storage__v1__error_detail__pack(detail, inner);
    any.value.data = inner;
    status.n_details = 1;
    status.details = list;
    size_t len = sirix__storage__v1__error_status__pack(&status, packed);
    return (struct sirix_bytes){.data = packed, .len = len};
}

static const char TYPE[] = "type.googleapis.com/sirix.storage.v1.ErrorDetail";

/* --- Tests ------------------------------------------------------------------------------------ */

static void every_code_has_a_status(void **state)
{
    static const struct {
        int code;
        enum sirix_status status;
    } CASES[] = {
        {1, SIRIX_CANCELLED},  {2, SIRIX_INTERNAL},         {3, SIRIX_INVALID},
        {4, SIRIX_DEADLINE},   {5, SIRIX_NOT_FOUND},        {6, SIRIX_ALREADY_EXISTS},
        {7, SIRIX_PERMISSION}, {8, SIRIX_EXHAUSTED},        {9, SIRIX_PRECONDITION},
        {10, SIRIX_CONFLICT},  {11, SIRIX_OUT_OF_RANGE},    {12, SIRIX_UNSUPPORTED},
        {13, SIRIX_INTERNAL},  {14, SIRIX_UNAVAILABLE},     {15, SIRIX_CORRUPT},
        {17, SIRIX_INTERNAL},  {16, SIRIX_UNAUTHENTICATED}, {-1, SIRIX_INTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct sirix_failure failure = {.code = CASES[i].code};
        struct sirix_error err = {0};

        assert_int_equal(sirix_failure_record(&failure, &err), CASES[i].status);
        assert_int_equal(err.status, CASES[i].status);
        assert_true(err.text[0] != '\0');
    }
}

static void a_write_without_an_answer_leaves_the_outcome_open(void **state)
{
    static const struct {
        int code;
        enum sirix_status status;
    } CASES[] = {
        {1, SIRIX_OUTCOME_UNKNOWN},  {4, SIRIX_OUTCOME_UNKNOWN}, {14, SIRIX_OUTCOME_UNKNOWN},
        {13, SIRIX_OUTCOME_UNKNOWN}, {8, SIRIX_OUTCOME_UNKNOWN}, {12, SIRIX_UNSUPPORTED},
        {16, SIRIX_UNAUTHENTICATED}, {2, SIRIX_OUTCOME_UNKNOWN},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        const struct sirix_failure failure = {.code = CASES[i].code, .may_have_changed = true};

        assert_int_equal(sirix_failure_record(&failure, NULL), CASES[i].status);
    }
}

static void details_of_a_write_are_an_answer(void **state)
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;
    struct sirix_error err = {0};

    (void)state;
    detail.status = str("deadline");
    detail.reason = str("write_queue_timeout");
    const struct sirix_failure failure = {
        .code = 4, .may_have_changed = true, .details = details_of(&detail, TYPE)};

    assert_int_equal(sirix_failure_record(&failure, &err), SIRIX_DEADLINE);
    assert_int_equal(err.reason, SIRIX_REASON_QUEUE_TIMEOUT);
    assert_false(err.has_offset);
}

static void the_numbers_of_a_detail_arrive(void **state)
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;
    struct sirix_error err = {0};

    (void)state;
    detail.current_revision = 7;
    detail.oldest_revision = 3;
    detail.newest_revision = 9;
    detail.retry_after_ms = 250;
    detail.place_case = SIRIX__STORAGE__V1__ERROR_DETAIL__PLACE_OFFSET;
    detail.offset = UINT64_MAX;
    const struct sirix_failure failure = {.code = 9, .details = details_of(&detail, TYPE)};

    assert_int_equal(sirix_failure_record(&failure, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.current_revision, 7);
    assert_int_equal(err.oldest_revision, 3);
    assert_int_equal(err.newest_revision, 9);
    assert_int_equal(err.retry_after_ms, 250);
    assert_true(err.has_offset);
    assert_true(err.offset == UINT64_MAX);
}

static void a_finer_status_counts_only_if_it_fits_the_code(void **state)
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;

    (void)state;
    detail.status = str("no_space");
    struct sirix_failure failure = {.code = 8, .details = details_of(&detail, TYPE)};
    assert_int_equal(sirix_failure_record(&failure, NULL), SIRIX_NO_SPACE);
    failure.code = 5;
    assert_int_equal(sirix_failure_record(&failure, NULL), SIRIX_NOT_FOUND);
    detail.status = str("ok");
    failure.details = details_of(&detail, TYPE);
    assert_int_equal(sirix_failure_record(&failure, NULL), SIRIX_NOT_FOUND);
}

static void texts_are_cut_and_made_text(void **state)
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;
    struct sirix_error err = {0};
    char longer[2 * SIRIX_ERROR_TEXT_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(longer); i += 2) {
        memcpy(longer + i, "\xc3\xa9", 2);
    }
    detail.message = binary(longer, sizeof(longer));
    detail.field = binary("a\0b\xff\xc3", 5);
    const struct sirix_failure failure = {.code = 3, .details = details_of(&detail, TYPE)};

    assert_int_equal(sirix_failure_record(&failure, &err), SIRIX_INVALID);
    assert_string_equal(err.field, "a?b??");
    size_t len = strlen(err.text);
    assert_true(len == SIRIX_ERROR_TEXT_BYTES - 2 || len == SIRIX_ERROR_TEXT_BYTES - 1);
    assert_memory_equal(err.text + len - 2, "\xc3\xa9", 2);
}

static void details_that_are_none_are_passed_over(void **state)
{
    static const char GARBAGE[] = "\xff\xff\xff\xff\xff garbage";
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;
    char *large = calloc(1, 128 * 1024);
    struct sirix_error err = {0};
    struct sirix_failure failure = {.code = 5, .message = {.data = "words", .len = 5}};

    (void)state;
    assert_non_null(large);
    const struct sirix_bytes cases[] = {
        {.data = GARBAGE, .len = sizeof(GARBAGE) - 1},
        {.data = large, .len = 128 * 1024},
        details_of(&detail, "type.googleapis.com/google.rpc.RetryInfo"),
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        failure.details = cases[i];
        assert_int_equal(sirix_failure_record(&failure, &err), SIRIX_NOT_FOUND);
        assert_string_equal(err.text, "words");
    }
    free(large);
}

static void without_memory_the_code_still_counts(void **state)
{
    Sirix__Storage__V1__ErrorDetail detail = SIRIX__STORAGE__V1__ERROR_DETAIL__INIT;

    (void)state;
    detail.status = str("no_space");
    const struct sirix_failure failure = {.code = 8, .details = details_of(&detail, TYPE)};
    allocations_until_failure = 0;
    enum sirix_status status = sirix_failure_record(&failure, NULL);
    allocations_until_failure = -1;

    assert_int_equal(status, SIRIX_EXHAUSTED);
}

/* --- Clients without memory or sense ---------------------------------------------------------- */

static void addresses_are_checked_before_anything_is_opened(void **state)
{
    static const char *const BAD[] = {
        "",       "unix:",           "localhost",    "localhost:",   "localhost:0",
        ":1",     "localhost:65536", "localhost:1x", "local host:1", "http://x:1",
        "[::1:1", "a\x1b[31m:1",     "[::1]:99999",  "dns:///x:1",   "localhost:000001",
    };
    struct sirix_client *client = NULL;
    struct sirix_error err;

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        err = (struct sirix_error){0};
        assert_int_equal(sirix_client_open(BAD[i], NULL, &client, &err), SIRIX_INVALID);
        assert_string_equal(err.field, "address");
        assert_null(client);
    }
}

static void good_addresses_open_without_a_server(void **state)
{
    static const char *const GOOD[] = {"unix:/nowhere/at all", "unix:relative", "localhost:1",
                                       "127.0.0.1:65535",      "[::1]:50051",   "a-b.c_d:1"};

    (void)state;
    for (size_t i = 0; i < sizeof(GOOD) / sizeof(GOOD[0]); i++) {
        struct sirix_client *client = NULL;

        assert_int_equal(sirix_client_open(GOOD[i], NULL, &client, NULL), SIRIX_OK);
        sirix_client_close(client);
    }
}

static void options_of_a_later_version_are_refused(void **state)
{
    const struct sirix_client_options options = {.reserved = {NULL, "later"}};
    struct sirix_client *client = NULL;

    (void)state;
    assert_int_equal(sirix_client_open("localhost:1", &options, &client, NULL), SIRIX_INVALID);
}

static void a_client_that_finds_no_memory_leaves_nothing_behind(void **state)
{
    enum sirix_status status = SIRIX_NO_MEMORY;
    int failures = 0;

    (void)state;
    /* gRPC itself aborts without memory, and is not wrapped: only our own allocations fail. */
    for (int i = 0; status == SIRIX_NO_MEMORY; i++) {
        struct sirix_client *client = NULL;

        allocations_until_failure = i;
        status = sirix_client_open("localhost:1", NULL, &client, NULL);
        allocations_until_failure = -1;
        failures += status == SIRIX_NO_MEMORY ? 1 : 0;
        sirix_client_close(client);
    }
    assert_int_equal(status, SIRIX_OK);
    assert_true(failures >= 2);
}

static void a_cancel_handle_without_memory_is_no_handle(void **state)
{
    struct sirix_call_cancel *cancel = NULL;

    (void)state;
    allocations_until_failure = 0;
    enum sirix_status status = sirix_call_cancel_new(&cancel, NULL);
    allocations_until_failure = -1;
    assert_int_equal(status, SIRIX_NO_MEMORY);
    sirix_call_cancel_free(cancel);
}

static void names_of_kinds_are_never_null(void **state)
{
    (void)state;
    assert_string_equal(sirix_node_type_name(SIRIX_NODE_TYPE_NULL), "null");
    assert_string_equal(sirix_node_type_name((enum sirix_node_type)99), "none");
    assert_string_equal(sirix_change_kind_name(SIRIX_CHANGE_KIND_MOVE), "move");
    assert_string_equal(sirix_change_kind_name((enum sirix_change_kind)99), "none");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_code_has_a_status),
        cmocka_unit_test(a_write_without_an_answer_leaves_the_outcome_open),
        cmocka_unit_test(details_of_a_write_are_an_answer),
        cmocka_unit_test(the_numbers_of_a_detail_arrive),
        cmocka_unit_test(a_finer_status_counts_only_if_it_fits_the_code),
        cmocka_unit_test(texts_are_cut_and_made_text),
        cmocka_unit_test(details_that_are_none_are_passed_over),
        cmocka_unit_test(without_memory_the_code_still_counts),
        cmocka_unit_test(addresses_are_checked_before_anything_is_opened),
        cmocka_unit_test(good_addresses_open_without_a_server),
        cmocka_unit_test(options_of_a_later_version_are_refused),
        cmocka_unit_test(a_client_that_finds_no_memory_leaves_nothing_behind),
        cmocka_unit_test(a_cancel_handle_without_memory_is_no_handle),
        cmocka_unit_test(names_of_kinds_are_never_null),
    };

    return cmocka_run_group_tests_name("client failure", tests, NULL, NULL);
}
