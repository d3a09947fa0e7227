/* Streams both ways: large ones, broken ones, and ones that nobody reads to the end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static struct server_program program;
static struct server server;
static struct sirix_client *client;
static struct sirix_error err;

static int set_up_group(void **state)
{
    (void)state;
    server_start(&server, &program);
    return 0;
}

static int tear_down_group(void **state)
{
    (void)state;
    server_stop(&server);
    return 0;
}

static int set_up(void **state)
{
    (void)state;
    err = (struct sirix_error){0};
    assert_int_equal(sirix_client_open(server.address, NULL, &client, &err), SIRIX_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sirix_client_close(client);
    return 0;
}

static enum sirix_status open_document(const char *database, struct sirix_document_stream **out)
{
    const struct sirix_read_document_request request = {.database = database, .resource = "res"};

    return sirix_client_read_document(client, &request, NULL, out, &err);
}

/* Reads to the end and counts; *out_text is the first piece's beginning. */
static enum sirix_status read_all(struct sirix_document_stream *stream, size_t *out_len, char *text,
                                  size_t text_bytes)
{
    struct sirix_bytes piece;
    size_t len = 0;

    for (;;) {
        enum sirix_status status = sirix_document_stream_next(stream, &piece, &err);

        if (status != SIRIX_OK || piece.len == 0) {
            *out_len = len;
            return status;
        }
        for (size_t i = 0; i < piece.len && len + i < text_bytes; i++) {
            text[len + i] = ((const char *)piece.data)[i];
        }
        len += piece.len;
    }
}

static void a_document_comes_whole_and_empty_pieces_do_not_end_it(void **state)
{
    struct sirix_document_stream *stream = NULL;
    char text[16] = {0};
    size_t len = 0;

    (void)state;
    assert_int_equal(open_document("db", &stream), SIRIX_OK);

    assert_int_equal(sirix_document_stream_timestamp_us(stream), 6);
    assert_int_equal(read_all(stream, &len, text, sizeof(text)), SIRIX_OK);
    assert_string_equal(text, "{\"a\":1}");
    struct sirix_bytes again;
    assert_int_equal(sirix_document_stream_next(stream, &again, &err), SIRIX_OK);
    assert_int_equal(again.len, 0);
    sirix_document_stream_close(stream);
}

static void a_large_document_is_never_held_whole(void **state)
{
    struct sirix_document_stream *stream = NULL;
    char text[1];
    size_t len = 0;

    (void)state;
    assert_int_equal(open_document("big", &stream), SIRIX_OK);
    assert_int_equal(read_all(stream, &len, text, sizeof(text)), SIRIX_OK);
    assert_int_equal(len, 64U * 256 * 1024);
    sirix_document_stream_close(stream);
}

static void opening_a_stream_is_tried_again(void **state)
{
    struct sirix_document_stream *stream = NULL;

    (void)state;
    assert_int_equal(open_document("unavailable-2", &stream), SIRIX_OK);
    assert_int_equal(sirix_document_stream_revision(stream), 3);
    sirix_document_stream_close(stream);
}

static void errors_of_the_request_are_told_when_opening(void **state)
{
    struct sirix_document_stream *stream = NULL;

    (void)state;
    assert_int_equal(open_document("plain", &stream), SIRIX_NOT_FOUND);
    assert_null(stream);
}

static void a_stream_that_breaks_never_looks_complete(void **state)
{
    struct sirix_document_stream *stream = NULL;
    struct sirix_bytes piece;
    char text[16];
    size_t len = 0;

    (void)state;
    assert_int_equal(open_document("broken-off", &stream), SIRIX_OK);

    assert_int_equal(read_all(stream, &len, text, sizeof(text)), SIRIX_CORRUPT);
    assert_int_equal(err.reason, SIRIX_REASON_CHECKSUM);
    assert_int_equal(sirix_document_stream_next(stream, &piece, &err), SIRIX_CORRUPT);
    sirix_document_stream_close(stream);
}

static void a_stream_without_its_start_is_refused(void **state)
{
    struct sirix_document_stream *stream = NULL;

    (void)state;
    assert_int_equal(open_document("out-of-order", &stream), SIRIX_INTERNAL);
}

static void closing_early_stops_the_server(void **state)
{
    struct sirix_document_stream *stream = NULL;
    struct sirix_bytes piece;
    uint64_t ended = 0;

    (void)state;
    assert_int_equal(open_document("endless", &stream), SIRIX_OK);
    assert_int_equal(sirix_document_stream_next(stream, &piece, &err), SIRIX_OK);

    sirix_document_stream_close(stream);

    while (ended == 0) {
        struct sirix_server_status *status = NULL;

        assert_int_equal(sirix_client_status(client, NULL, &status, &err), SIRIX_OK);
        ended = status->commits_total; /* The fake server counts them there. */
        sirix_client_free(status);
    }
}

static void a_cancelled_stream_says_so(void **state)
{
    const struct sirix_read_document_request request = {.database = "endless", .resource = "res"};
    struct sirix_document_stream *stream = NULL;
    struct sirix_call_cancel *cancel = NULL;
    struct sirix_bytes piece;
    enum sirix_status status = SIRIX_OK;

    (void)state;
    assert_int_equal(sirix_call_cancel_new(&cancel, &err), SIRIX_OK);
    const struct sirix_call_options call = {.cancel = cancel};
    assert_int_equal(sirix_client_read_document(client, &request, &call, &stream, &err), SIRIX_OK);

    sirix_call_cancel_trigger(cancel);

    while (status == SIRIX_OK) {
        status = sirix_document_stream_next(stream, &piece, &err);
    }
    assert_int_equal(status, SIRIX_CANCELLED);
    sirix_document_stream_close(stream);
    sirix_call_cancel_free(cancel);
}

/* --- Diff and verify -------------------------------------------------------------------------- */

static void a_diff_tells_changes_then_counts(void **state)
{
    const struct sirix_diff_request request = {.database = "db", .resource = "res"};
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_part part;

    (void)state;
    assert_int_equal(sirix_client_diff(client, &request, NULL, &stream, &err), SIRIX_OK);

    assert_int_equal(sirix_diff_stream_ends(stream).from_revision, 100); /* None was sent. */
    assert_int_equal(sirix_diff_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(part.kind, SIRIX_DIFF_PART_CHANGES);
    assert_int_equal(part.change_count, 2);
    assert_true(part.changes[0].has_old_index && part.changes[0].has_new_index);
    assert_int_equal(part.changes[0].new_index, 3);
    assert_false(part.changes[0].has_old_name);
    assert_true(part.changes[1].has_old_name); /* An empty name is a name. */
    assert_int_equal(part.changes[1].old_name.len, 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(sirix_diff_stream_next(stream, &part, &err), SIRIX_OK);
        assert_int_equal(part.kind, SIRIX_DIFF_PART_END);
        assert_int_equal(part.counts.moves, 1);
    }
    sirix_diff_stream_close(stream);
}

static void the_head_of_main_is_a_view_to_diff_from(void **state)
{
    const struct sirix_diff_request request = {
        .database = "db", .resource = "res", .has_from = true, .json_patch = true};
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_part part;

    (void)state;
    assert_int_equal(sirix_client_diff(client, &request, NULL, &stream, &err), SIRIX_OK);

    assert_int_equal(sirix_diff_stream_ends(stream).from_revision, 1);
    assert_int_equal(sirix_diff_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(part.kind, SIRIX_DIFF_PART_JSON_PATCH);
    assert_int_equal(part.json_patch.len, 1);
    sirix_diff_stream_close(stream);
}

static void a_diff_without_its_end_is_no_diff(void **state)
{
    const struct sirix_diff_request request = {.database = "no-end", .resource = "res"};
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_part part;

    (void)state;
    assert_int_equal(sirix_client_diff(client, &request, NULL, &stream, &err), SIRIX_OK);
    assert_int_equal(sirix_diff_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(sirix_diff_stream_next(stream, &part, &err), SIRIX_INTERNAL);
    sirix_diff_stream_close(stream);
}

static void a_check_tells_progress_problems_and_its_end(void **state)
{
    struct sirix_verify_stream *stream = NULL;
    struct sirix_verify_part part;

    (void)state;
    assert_int_equal(sirix_client_verify(client, "db", NULL, NULL, &stream, &err), SIRIX_OK);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(part.kind, SIRIX_VERIFY_PART_PROGRESS);
    assert_int_equal(part.bytes, 2);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(part.kind, SIRIX_VERIFY_PART_PROBLEM);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(part.kind, SIRIX_VERIFY_PART_END);
    assert_int_equal(part.problems, 1);
    sirix_verify_stream_close(stream);
    assert_int_equal(sirix_client_verify(client, "db", "no-end", NULL, &stream, &err), SIRIX_OK);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_OK);
    assert_int_equal(sirix_verify_stream_next(stream, &part, &err), SIRIX_INTERNAL);
    sirix_verify_stream_close(stream);
}

/* --- Import and streamed values --------------------------------------------------------------- */

static char *big_text(size_t len)
{
    char *text = malloc(len);

    assert_non_null(text);
    memset(text, ' ', len);
    return text;
}

static void an_import_of_any_size_arrives_whole(void **state)
{
    enum { BYTES = 20 * 1024 * 1024 + 1 };
    char *text = big_text(BYTES);
    struct text_source source = {.text = {.data = text, .len = BYTES}};
    struct sirix_import_result result;
    const struct sirix_import_request request = {
        .database = "db",
        .resource = "res",
        .ndjson = true,
        .last_duplicate_wins = true,
        .has_place = true,
        .place = {.node_key = 33},
        .source = text_source(&source),
    };

    (void)state;
    assert_int_equal(sirix_client_import(client, &request, NULL, &result, &err), SIRIX_OK);

    assert_int_equal(result.text_bytes, BYTES);
    assert_int_equal(result.items, 7);
    assert_int_equal(result.duplicates_dropped, 1);
    assert_int_equal(result.nodes, 33); /* The place arrived. */
    free(text);
}

static void a_server_that_refuses_early_is_heard_before_the_end_of_the_text(void **state)
{
    enum { BYTES = 64 * 1024 * 1024 };
    char *text = big_text(BYTES);
    struct text_source source = {.text = {.data = text, .len = BYTES}};
    struct sirix_import_result result;
    const struct sirix_import_request request = {
        .database = "taken", .resource = "res", .source = text_source(&source)};

    (void)state;
    assert_int_equal(sirix_client_import(client, &request, NULL, &result, &err),
                     SIRIX_ALREADY_EXISTS);

    assert_int_equal(err.reason, SIRIX_REASON_RESOURCE_HAS_VALUE);
    assert_true(source.at < BYTES);
    free(text);
}

static void a_source_that_fails_breaks_the_import_off(void **state)
{
    struct text_source source = {
        .text = sirix_bytes_from_str("[1,"),
        .fail_with = SIRIX_IO,
    };
    struct sirix_import_result result;
    const struct sirix_import_request request = {
        .database = "db", .resource = "res", .source = text_source(&source)};
    uint64_t broken = 0;

    (void)state;
    assert_int_equal(sirix_client_import(client, &request, NULL, &result, &err), SIRIX_IO);

    assert_string_equal(err.text, "the source broke");
    while (broken == 0) {
        struct sirix_server_status *status = NULL;

        assert_int_equal(sirix_client_status(client, NULL, &status, &err), SIRIX_OK);
        broken = status->writes_waiting; /* The fake server counts them there. */
        sirix_client_free(status);
    }
}

static void large_values_and_sources_are_streamed_to_their_operations(void **state)
{
    enum { BIG = 3 * 1024 * 1024 };
    char *text = big_text(BIG);
    struct text_source reader = {.text = sirix_bytes_from_str("[1,2,3]"), .piece = 2};
    struct sirix_source source = text_source(&reader);
    const struct sirix_operation operations[] = {
        {.kind = SIRIX_OPERATION_DELETE, .node_key = 5},
        {.kind = SIRIX_OPERATION_INSERT, .json = {.data = text, .len = BIG}},
        {.kind = SIRIX_OPERATION_UPDATE, .json = sirix_bytes_from_str("1")},
        {.kind = SIRIX_OPERATION_REPLACE, .source = &source},
    };
    const struct sirix_apply_request request = {
        .database = "db", .resource = "res", .operations = operations, .operation_count = 4};
    struct sirix_apply_result *result = NULL;

    (void)state;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);

    assert_int_equal(result->count, 4); /* The fake server answers the sizes as keys. */
    assert_int_equal(result->operations[0].node_keys[0], 0);
    assert_int_equal(result->operations[1].node_keys[0], BIG);
    assert_int_equal(result->operations[2].node_keys[0], 1);
    assert_int_equal(result->operations[3].node_keys[0], 7);
    sirix_client_free(result);
    free(text);
}

static void many_small_values_that_pass_a_message_together_are_streamed(void **state)
{
    enum { COUNT = 10, EACH = 600 * 1024 };
    char *text = big_text(EACH);
    struct sirix_operation operations[COUNT];
    struct sirix_apply_request request = {
        .database = "db", .resource = "res", .operations = operations, .operation_count = COUNT};
    struct sirix_apply_result *result = NULL;

    (void)state;
    for (size_t i = 0; i < COUNT; i++) {
        operations[i] = (struct sirix_operation){.kind = SIRIX_OPERATION_INSERT,
                                                 .json = {.data = text, .len = EACH}};
    }
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);

    assert_int_equal(result->operations[COUNT - 1].node_keys[0], EACH);
    sirix_client_free(result);
    free(text);
}

static void a_large_patch_or_a_source_of_one_is_streamed(void **state)
{
    enum { BIG = 3 * 1024 * 1024 };
    char *text = big_text(BIG);
    struct text_source reader = {.text = sirix_bytes_from_str("[1,2,3]"), .piece = 2};
    struct sirix_source source = text_source(&reader);
    struct sirix_apply_request request = {.database = "db",
                                          .resource = "res",
                                          .source = SIRIX_APPLY_JSON_PATCH,
                                          .json_patch = {.data = text, .len = BIG}};
    struct sirix_apply_result *result = NULL;

    (void)state;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);
    assert_int_equal(result->applied, BIG);
    sirix_client_free(result);
    request.json_patch_source = &source;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);
    assert_int_equal(result->applied, 7);
    sirix_client_free(result);
    free(text);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_document_comes_whole_and_empty_pieces_do_not_end_it),
        TEST(a_large_document_is_never_held_whole),
        TEST(opening_a_stream_is_tried_again),
        TEST(errors_of_the_request_are_told_when_opening),
        TEST(a_stream_that_breaks_never_looks_complete),
        TEST(a_stream_without_its_start_is_refused),
        TEST(closing_early_stops_the_server),
        TEST(a_cancelled_stream_says_so),
        TEST(a_diff_tells_changes_then_counts),
        TEST(the_head_of_main_is_a_view_to_diff_from),
        TEST(a_diff_without_its_end_is_no_diff),
        TEST(a_check_tells_progress_problems_and_its_end),
        TEST(an_import_of_any_size_arrives_whole),
        TEST(a_server_that_refuses_early_is_heard_before_the_end_of_the_text),
        TEST(a_source_that_fails_breaks_the_import_off),
        TEST(large_values_and_sources_are_streamed_to_their_operations),
        TEST(many_small_values_that_pass_a_message_together_are_streamed),
        TEST(a_large_patch_or_a_source_of_one_is_streamed),
    };

    program = server_program_from(argc, argv);
    return cmocka_run_group_tests_name("client streams", tests, set_up_group, tear_down_group);
}
