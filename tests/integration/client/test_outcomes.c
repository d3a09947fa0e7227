/* Failures: how they are told, what is tried again, and when the outcome of a write is unknown. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "server.h"

static struct server_program program;
static struct server server;
static struct sirix_client *client;
static struct sirix_error err;

static int set_up(void **state)
{
    const struct sirix_client_options options = {.connect_timeout_ms = 1500};

    (void)state;
    err = (struct sirix_error){0};
    server_start(&server, &program);
    assert_int_equal(sirix_client_open(server.address, &options, &client, &err), SIRIX_OK);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    sirix_client_close(client);
    server_stop(&server);
    return 0;
}

static enum sirix_status create(const char *database, const char *key,
                                const struct sirix_call_options *call,
                                struct sirix_write_result *result)
{
    const struct sirix_write_options write = {.idempotency_key = sirix_bytes_from_str(key)};

    return sirix_client_create_resource(client, database, "res", &write, call, result, &err);
}

static enum sirix_status read_node(const char *database, const struct sirix_call_options *call)
{
    const struct sirix_read_node_request request = {.database = database, .resource = "res"};
    struct sirix_node_page *page = NULL;
    enum sirix_status status = sirix_client_read_node(client, &request, call, &page, &err);

    sirix_client_free(page);
    return status;
}

/* --- How failures are told -------------------------------------------------------------------- */

static void every_fact_of_the_details_arrives(void **state)
{
    (void)state;
    assert_int_equal(create("details", NULL, NULL, NULL), SIRIX_CONFLICT);

    assert_int_equal(err.status, SIRIX_CONFLICT);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_MOVED);
    assert_string_equal(err.text, "the head moved to 7");
    assert_string_equal(err.field, "options.expected_revision");
    assert_string_equal(err.pointer, "/a/b");
    assert_true(err.has_offset);
    assert_int_equal(err.offset, 0);
    assert_int_equal(err.current_revision, 7);
    assert_int_equal(err.retry_after_ms, 12);
}

static void names_of_a_newer_server_fall_back_to_the_code(void **state)
{
    (void)state;
    assert_int_equal(create("newer", NULL, NULL, NULL), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_NONE);
    assert_string_equal(err.text, "of a later version");
}

static void a_failure_without_details_keeps_its_words(void **state)
{
    (void)state;
    assert_int_equal(read_node("plain", NULL), SIRIX_NOT_FOUND);
    assert_string_equal(err.text, "bare words");
}

static void a_caller_that_wants_no_sentence_gets_the_status(void **state)
{
    (void)state;
    assert_int_equal(sirix_client_create_database(client, "details", NULL, NULL, NULL),
                     SIRIX_CONFLICT);
}

/* --- Trying again ----------------------------------------------------------------------------- */

static void a_read_is_tried_again_while_the_server_is_unavailable(void **state)
{
    (void)state;
    assert_int_equal(read_node("unavailable-3", NULL), SIRIX_OK);
}

static void what_has_no_room_just_now_is_asked_again_and_what_has_none_at_all_is_not(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 500};
    struct sirix_write_result result = {0};

    (void)state;
    assert_int_equal(read_node("full-3", NULL), SIRIX_OK);
    assert_int_equal(create("full-2", "key", NULL, &result), SIRIX_OK);
    assert_int_equal(result.revision, 3); /* The third try. */
    assert_int_equal(create("full-1", NULL, NULL, NULL), SIRIX_EXHAUSTED);
    assert_int_equal(read_node("quota", NULL), SIRIX_EXHAUSTED);
    assert_int_equal(err.reason, SIRIX_REASON_QUOTA);
    assert_int_equal(read_node("full-1000", &call), SIRIX_EXHAUSTED);
    assert_int_equal(err.retry_after_ms, 5);
}

static void a_write_without_a_key_is_not(void **state)
{
    (void)state;
    assert_int_equal(create("unavailable-1", NULL, NULL, NULL), SIRIX_UNAVAILABLE);
}

static void a_write_with_a_key_is(void **state)
{
    struct sirix_write_result result = {0};

    (void)state;
    assert_int_equal(create("unavailable-2", "key", NULL, &result), SIRIX_OK);
    assert_int_equal(result.revision, 3); /* The third try. */
}

/* An update, kept or not. A stream when the value comes from a source. */
static enum sirix_status apply(const char *database, bool dry_run, struct text_source *source,
                               const struct sirix_call_options *call)
{
    struct sirix_source from = {0};
    struct sirix_operation update = {
        .kind = SIRIX_OPERATION_UPDATE,
        .node_key = 1,
        .json = sirix_bytes_from_str("1"),
    };
    const struct sirix_apply_request request = {
        .database = database,
        .resource = "res",
        .operations = &update,
        .operation_count = 1,
        .dry_run = dry_run,
    };
    struct sirix_apply_result *result = NULL;

    if (source != NULL) {
        from = text_source(source);
        update.source = &from;
    }
    enum sirix_status status = sirix_client_apply(client, &request, call, &result, &err);
    sirix_client_free(result);
    return status;
}

static enum sirix_status update_query(const char *database, bool dry_run)
{
    const struct sirix_update_query_request request = {
        .query = sirix_bytes_from_str("insert json 1 into $$"),
        .database = database,
        .resource = "res",
        .dry_run = dry_run,
    };
    struct sirix_update_query_result *result = NULL;
    enum sirix_status status = sirix_client_update_query(client, &request, NULL, &result, &err);

    sirix_client_free(result);
    return status;
}

static void a_dry_run_is_tried_again_as_a_read_is(void **state)
{
    (void)state;
    assert_int_equal(apply("unavailable-3", true, NULL, NULL), SIRIX_OK);
    assert_int_equal(update_query("unavailable-2", true), SIRIX_OK);
    assert_int_equal(apply("unavailable-5", false, NULL, NULL), SIRIX_UNAVAILABLE);
    assert_int_equal(update_query("unavailable-4", false), SIRIX_UNAVAILABLE);
}

static void the_deadline_holds_for_all_tries_together(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 300};

    (void)state;
    assert_int_equal(read_node("unavailable-1000", &call), SIRIX_UNAVAILABLE);
}

static void a_server_that_comes_back_is_found(void **state)
{
    (void)state;
    assert_int_equal(read_node("db", NULL), SIRIX_OK);
    server_kill(&server);
    server_restart(&server, &program);
    assert_int_equal(read_node("db", NULL), SIRIX_OK);
}

static void a_write_waits_for_the_connection_and_says_that_nothing_changed(void **state)
{
    (void)state;
    server_kill(&server);
    assert_int_equal(create("db", NULL, NULL, NULL), SIRIX_UNAVAILABLE);
}

static void a_read_gives_up_a_server_that_is_not_there(void **state)
{
    (void)state;
    server_kill(&server);
    assert_int_equal(read_node("db", NULL), SIRIX_UNAVAILABLE);
}

/* --- Unknown outcomes ------------------------------------------------------------------------- */

static void a_connection_lost_under_a_write_leaves_the_outcome_unknown(void **state)
{
    (void)state;
    assert_int_equal(create("vanish", NULL, NULL, NULL), SIRIX_OUTCOME_UNKNOWN);
}

static void a_deadline_under_a_write_leaves_the_outcome_unknown(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 200};

    (void)state;
    assert_int_equal(create("hang", NULL, &call, NULL), SIRIX_OUTCOME_UNKNOWN);
}

static void a_dry_run_has_no_unknown_outcome(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 200};
    struct text_source source = {.text = sirix_bytes_from_str("2")};

    (void)state;
    assert_int_equal(apply("hang", true, NULL, &call), SIRIX_DEADLINE);
    assert_int_equal(apply("vanish-late", true, &source, NULL), SIRIX_UNAVAILABLE);
    server_kill(&server);
    server_restart(&server, &program);
    source = (struct text_source){.text = sirix_bytes_from_str("2")};
    assert_int_equal(apply("vanish-late", false, &source, NULL), SIRIX_OUTCOME_UNKNOWN);
    server_kill(&server);
    server_restart(&server, &program);
    assert_int_equal(apply("hang", false, NULL, &call), SIRIX_OUTCOME_UNKNOWN);
}

static void a_deadline_under_a_read_is_a_deadline(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 200};

    (void)state;
    assert_int_equal(read_node("hang", &call), SIRIX_DEADLINE);
}

static void an_import_that_is_cut_off_changed_nothing(void **state)
{
    /* Far more than fits into the buffers on the way. */
    enum { BYTES = 64 * 1024 * 1024 };
    char *text = calloc(1, BYTES);
    struct text_source source = {.text = {.data = text, .len = BYTES}};
    struct sirix_import_request request = {
        .database = "vanish", .resource = "res", .source = text_source(&source)};
    struct sirix_import_result result;

    (void)state;
    assert_non_null(text);
    assert_int_equal(sirix_client_import(client, &request, NULL, &result, &err), SIRIX_UNAVAILABLE);
    free(text);
}

static void an_import_whose_answer_is_lost_has_an_unknown_outcome(void **state)
{
    struct text_source source = {.text = sirix_bytes_from_str("[1]")};
    struct sirix_import_request request = {
        .database = "vanish-late", .resource = "res", .source = text_source(&source)};
    struct sirix_import_result result;

    (void)state;
    assert_int_equal(sirix_client_import(client, &request, NULL, &result, &err),
                     SIRIX_OUTCOME_UNKNOWN);
}

/* --- Cancellation ----------------------------------------------------------------------------- */

/* Waits for the server to see as many calls end early as it should. */
static void wait_until_the_server_saw(uint64_t ended)
{
    for (;;) {
        struct sirix_server_status *status = NULL;

        assert_int_equal(sirix_client_status(client, NULL, &status, &err), SIRIX_OK);
        uint64_t seen = status->calls_total;
        sirix_client_free(status);
        if (seen >= ended) {
            return;
        }
    }
}

struct reader {
    struct sirix_call_cancel *cancel;
    enum sirix_status status;
    pthread_t thread;
};

static void *read_until_cancelled(void *context)
{
    struct reader *reader = context;
    const struct sirix_call_options call = {.cancel = reader->cancel};
    const struct sirix_read_node_request request = {.database = "hang", .resource = "res"};
    struct sirix_node_page *page = NULL;

    reader->status = sirix_client_read_node(client, &request, &call, &page, NULL);
    return NULL;
}

static void another_thread_cancels_every_call_of_a_handle(void **state)
{
    struct reader readers[8];
    struct sirix_call_cancel *cancel = NULL;

    (void)state;
    assert_int_equal(sirix_call_cancel_new(&cancel, &err), SIRIX_OK);
    for (size_t i = 0; i < 8; i++) {
        readers[i] = (struct reader){.cancel = cancel, .status = SIRIX_OK};
        assert_int_equal(
            pthread_create(&readers[i].thread, NULL, read_until_cancelled, &readers[i]), 0);
    }

    sirix_call_cancel_trigger(cancel);

    for (size_t i = 0; i < 8; i++) {
        assert_int_equal(pthread_join(readers[i].thread, NULL), 0);
        assert_int_equal(readers[i].status, SIRIX_CANCELLED);
    }
    const struct sirix_call_options call = {.cancel = cancel};
    assert_int_equal(read_node("db", &call), SIRIX_CANCELLED); /* And every later one. */
    assert_true(sirix_call_cancel_triggered(cancel));
    sirix_call_cancel_free(cancel);
}

static void a_cancelled_call_ends_at_the_server_too(void **state)
{
    const struct sirix_call_options call = {.deadline_ms = 100};

    (void)state;
    assert_int_equal(read_node("hang", &call), SIRIX_DEADLINE);
    wait_until_the_server_saw(1);
}

static void the_pause_between_two_tries_can_be_cancelled(void **state)
{
    struct sirix_call_cancel *cancel = NULL;

    (void)state;
    assert_int_equal(sirix_call_cancel_new(&cancel, &err), SIRIX_OK);
    struct reader reader = {.cancel = cancel};
    server_kill(&server);
    assert_int_equal(pthread_create(&reader.thread, NULL, read_until_cancelled, &reader), 0);
    sirix_call_cancel_trigger(cancel);
    assert_int_equal(pthread_join(reader.thread, NULL), 0);
    assert_int_equal(reader.status, SIRIX_CANCELLED);
    sirix_call_cancel_free(cancel);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(every_fact_of_the_details_arrives),
        TEST(names_of_a_newer_server_fall_back_to_the_code),
        TEST(a_failure_without_details_keeps_its_words),
        TEST(a_caller_that_wants_no_sentence_gets_the_status),
        TEST(a_read_is_tried_again_while_the_server_is_unavailable),
        TEST(what_has_no_room_just_now_is_asked_again_and_what_has_none_at_all_is_not),
        TEST(a_write_without_a_key_is_not),
        TEST(a_write_with_a_key_is),
        TEST(a_dry_run_is_tried_again_as_a_read_is),
        TEST(the_deadline_holds_for_all_tries_together),
        TEST(a_server_that_comes_back_is_found),
        TEST(a_write_waits_for_the_connection_and_says_that_nothing_changed),
        TEST(a_read_gives_up_a_server_that_is_not_there),
        TEST(a_connection_lost_under_a_write_leaves_the_outcome_unknown),
        TEST(a_deadline_under_a_write_leaves_the_outcome_unknown),
        TEST(a_dry_run_has_no_unknown_outcome),
        TEST(a_deadline_under_a_read_is_a_deadline),
        TEST(an_import_that_is_cut_off_changed_nothing),
        TEST(an_import_whose_answer_is_lost_has_an_unknown_outcome),
        TEST(another_thread_cancels_every_call_of_a_handle),
        TEST(a_cancelled_call_ends_at_the_server_too),
        TEST(the_pause_between_two_tries_can_be_cancelled),
    };

    program = server_program_from(argc, argv);
    return cmocka_run_group_tests_name("client outcomes", tests, NULL, NULL);
}
