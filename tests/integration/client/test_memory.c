/*
 * Calls for which there is no memory: each allocation of the library fails once, and every call
 * ends in an error that tells the truth. (gRPC's own allocations are not wrapped; it aborts.)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "server.h"

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

/* --- Calls ------------------------------------------------------------------------------------ */

static struct server_program program;
static struct server server;
static struct sirix_client *client;

static enum sirix_status list_databases(void)
{
    struct sirix_database_list *list = NULL;
    enum sirix_status status = sirix_client_list_databases(client, NULL, NULL, &list, NULL);

    sirix_client_free(list);
    return status;
}

static enum sirix_status get_resource(void)
{
    const struct sirix_resource_request request = {.database = "db", .resource = "res"};
    struct sirix_resource_info *info = NULL;
    enum sirix_status status = sirix_client_get_resource(client, &request, NULL, &info, NULL);

    sirix_client_free(info);
    return status;
}

static enum sirix_status read_node(void)
{
    const struct sirix_read_node_request request = {.database = "db", .resource = "res"};
    struct sirix_node_page *page = NULL;
    enum sirix_status status = sirix_client_read_node(client, &request, NULL, &page, NULL);

    sirix_client_free(page);
    return status;
}

static enum sirix_status read_document(void)
{
    const struct sirix_read_document_request request = {.database = "db", .resource = "res"};
    struct sirix_document_stream *stream = NULL;
    struct sirix_bytes piece = {.len = 1};
    enum sirix_status status = sirix_client_read_document(client, &request, NULL, &stream, NULL);

    while (status == SIRIX_OK && piece.len != 0) {
        status = sirix_document_stream_next(stream, &piece, NULL);
    }
    sirix_document_stream_close(stream);
    return status;
}

static enum sirix_status diff(void)
{
    const struct sirix_diff_request request = {.database = "db", .resource = "res"};
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_part part = {.kind = SIRIX_DIFF_PART_CHANGES};
    enum sirix_status status = sirix_client_diff(client, &request, NULL, &stream, NULL);

    while (status == SIRIX_OK && part.kind != SIRIX_DIFF_PART_END) {
        status = sirix_diff_stream_next(stream, &part, NULL);
    }
    sirix_diff_stream_close(stream);
    return status;
}

static enum sirix_status apply(void)
{
    const struct sirix_operation operation = {.kind = SIRIX_OPERATION_INSERT,
                                              .json = sirix_bytes_from_str("1")};
    const struct sirix_apply_request request = {
        .database = "db", .resource = "res", .operations = &operation, .operation_count = 1};
    struct sirix_apply_result *result = NULL;
    enum sirix_status status = sirix_client_apply(client, &request, NULL, &result, NULL);

    sirix_client_free(result);
    return status;
}

static enum sirix_status apply_streamed(void)
{
    struct text_source reader = {.text = sirix_bytes_from_str("[1]")};
    struct sirix_source source = text_source(&reader);
    const struct sirix_operation operation = {.kind = SIRIX_OPERATION_INSERT, .source = &source};
    const struct sirix_apply_request request = {
        .database = "db", .resource = "res", .operations = &operation, .operation_count = 1};
    struct sirix_apply_result *result = NULL;
    enum sirix_status status = sirix_client_apply(client, &request, NULL, &result, NULL);

    sirix_client_free(result);
    return status;
}

static enum sirix_status apply_diff(void)
{
    const struct sirix_apply_request request = {
        .database = "db",
        .resource = "res",
        .source = SIRIX_APPLY_DIFF,
        .diff_to = {.kind = SIRIX_VIEW_REVISION, .revision = 3}};
    struct sirix_apply_result *result = NULL;
    enum sirix_status status = sirix_client_apply(client, &request, NULL, &result, NULL);

    sirix_client_free(result);
    return status;
}

static enum sirix_status create_snapshot(void)
{
    const struct sirix_create_snapshot_request request = {
        .database = "db", .resource = "res", .name = "label"};
    struct sirix_create_snapshot_result *result = NULL;
    enum sirix_status status = sirix_client_create_snapshot(client, &request, NULL, &result, NULL);

    sirix_client_free(result);
    return status;
}

static enum sirix_status import(void)
{
    struct text_source source = {.text = sirix_bytes_from_str("[1]")};
    const struct sirix_import_request request = {
        .database = "db", .resource = "res", .source = text_source(&source)};
    struct sirix_import_result result;

    return sirix_client_import(client, &request, NULL, &result, NULL);
}

/* --- Tests ------------------------------------------------------------------------------------ */

/* Fails one allocation after the other until the call succeeds; counts what it answered. */
static void fail_each(enum sirix_status (*call)(void), int *out_no_memory, int *out_unknown)
{
    enum sirix_status status = SIRIX_NO_MEMORY;

    *out_no_memory = 0;
    *out_unknown = 0;
    for (int i = 0; status != SIRIX_OK; i++) {
        assert_true(i < 1000);
        allocations_until_failure = i;
        status = call();
        allocations_until_failure = -1;
        *out_no_memory += status == SIRIX_NO_MEMORY ? 1 : 0;
        *out_unknown += status == SIRIX_OUTCOME_UNKNOWN ? 1 : 0;
        assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY ||
                    status == SIRIX_OUTCOME_UNKNOWN);
    }
}

static void a_read_without_memory_says_so(void **state)
{
    static enum sirix_status (*const READS[])(void) = {list_databases, get_resource, read_node,
                                                       read_document, diff};

    (void)state;
    for (size_t i = 0; i < sizeof(READS) / sizeof(READS[0]); i++) {
        int no_memory = 0;
        int unknown = 0;

        fail_each(READS[i], &no_memory, &unknown);
        assert_true(no_memory >= 2);
        assert_int_equal(unknown, 0);
    }
}

static void a_write_without_memory_for_its_answer_leaves_the_outcome_open(void **state)
{
    static enum sirix_status (*const WRITES[])(void) = {apply, apply_streamed, apply_diff,
                                                        create_snapshot, import};

    (void)state;
    for (size_t i = 0; i < sizeof(WRITES) / sizeof(WRITES[0]); i++) {
        int no_memory = 0;
        int unknown = 0;

        fail_each(WRITES[i], &no_memory, &unknown);
        assert_true(no_memory >= 1); /* Before it was sent: nothing happened. */
        assert_true(unknown >= 1);   /* After it was done. */
    }
}

static int set_up_group(void **state)
{
    (void)state;
    server_start(&server, &program);
    return sirix_client_open(server.address, NULL, &client, NULL) == SIRIX_OK ? 0 : -1;
}

static int tear_down_group(void **state)
{
    (void)state;
    sirix_client_close(client);
    server_stop(&server);
    return 0;
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_read_without_memory_says_so),
        cmocka_unit_test(a_write_without_memory_for_its_answer_leaves_the_outcome_open),
    };

    program = server_program_from(argc, argv);
    return cmocka_run_group_tests_name("client memory", tests, set_up_group, tear_down_group);
}
