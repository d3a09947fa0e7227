/* Each call of the library: what is asked goes over whole, and what is answered comes back whole. */
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
    client = NULL;
    return 0;
}

static void assert_bytes(struct sirix_bytes bytes, const char *text)
{
    assert_int_equal(bytes.len, strlen(text));
    assert_memory_equal(bytes.data, text, bytes.len);
}

static struct sirix_bytes bytes(const char *text)
{
    return sirix_bytes_from_str(text);
}

/* --- Catalogue -------------------------------------------------------------------------------- */

static void databases_come_in_pages(void **state)
{
    struct sirix_database_list *list = NULL;
    struct sirix_page page = {.size = 2};

    (void)state;
    assert_int_equal(sirix_client_list_databases(client, &page, NULL, &list, &err), SIRIX_OK);

    assert_int_equal(list->count, 2);
    assert_string_equal(list->items[0].name, "alpha");
    assert_string_equal(list->items[1].name, "beta");
    assert_int_equal(list->items[1].stored_bytes, 11);
    assert_true(list->items[1].open);
    page.cursor = list->next_cursor;
    struct sirix_database_list *rest = NULL;
    assert_int_equal(sirix_client_list_databases(client, &page, NULL, &rest, &err), SIRIX_OK);
    assert_int_equal(rest->count, 1);
    assert_string_equal(rest->items[0].name, "gamma");
    assert_int_equal(rest->next_cursor.len, 0);
    sirix_client_free(list);
    sirix_client_free(rest);
}

static void a_resource_is_described_with_its_labels_branches_and_paths(void **state)
{
    struct sirix_resource_info *info = NULL;
    const struct sirix_resource_request request = {
        .database = "db",
        .resource = "res",
        .view = {.kind = SIRIX_VIEW_REVISION, .revision = 42},
        .paths_cursor = bytes("c"),
    };
    const struct sirix_call_options call = {.traceparent = bytes("00-ab-cd-01")};

    (void)state;
    assert_int_equal(sirix_client_get_resource(client, &request, &call, &info, &err), SIRIX_OK);

    assert_string_equal(info->database, "db");
    assert_string_equal(info->resource, "res");
    assert_int_equal(info->revision, 42);
    assert_string_equal(info->storage_type, "lmdb");
    assert_int_equal(info->node_count, 1); /* The server saw the trace context. */
    assert_int_equal(info->listed_branch_count, 1);
    assert_string_equal(info->branches[0].name, "main");
    assert_string_equal(info->snapshots[0].name, "before");
    assert_bytes(info->paths[0].path, "/a/[]");
    assert_int_equal(info->paths[0].types, 1U << SIRIX_NODE_TYPE_STRING);
    assert_false(info->paths[0].any_member);
    assert_true(info->paths[1].any_member);
    assert_bytes(info->next_paths_cursor, "c+");
    sirix_client_free(info);
}

static void a_trace_context_that_cannot_be_a_header_is_refused(void **state)
{
    static const char *const BAD[] = {"a b", "a\nb", "\x7f", "\xc3\xa9"};
    struct sirix_server_status *status = NULL;

    (void)state;
    for (size_t i = 0; i < sizeof(BAD) / sizeof(BAD[0]); i++) {
        const struct sirix_call_options call = {.traceparent = bytes(BAD[i])};

        assert_int_equal(sirix_client_status(client, &call, &status, &err), SIRIX_INVALID);
        assert_string_equal(err.field, "traceparent");
    }
}

/* --- Reading ---------------------------------------------------------------------------------- */

static void nodes_keep_names_with_nul_and_unknown_kinds(void **state)
{
    struct sirix_node_page *page = NULL;
    const struct sirix_read_node_request request = {.database = "db", .resource = "res"};

    (void)state;
    assert_int_equal(sirix_client_read_node(client, &request, NULL, &page, &err), SIRIX_OK);

    assert_int_equal(page->count, 3);
    assert_int_equal(page->revision, 3);
    assert_int_equal(page->nodes[0].parent_index, -1);
    assert_false(page->nodes[0].has_name);
    assert_true(page->nodes[1].has_name);
    assert_int_equal(page->nodes[1].name.len, 3);
    assert_memory_equal(page->nodes[1].name.data, "a\0b", 3);
    assert_true(page->nodes[2].has_name); /* An empty name is a name. */
    assert_int_equal(page->nodes[2].type, SIRIX_NODE_TYPE_NONE);
    assert_true(page->has_next_offset); /* Zero is an offset. */
    assert_bytes(page->next_cursor, "more");
    sirix_client_free(page);
}

static void depth_zero_is_not_the_default_depth(void **state)
{
    struct sirix_node_page *page = NULL;
    const struct sirix_read_node_request request = {
        .database = "db", .resource = "res", .has_max_depth = true};

    (void)state;
    assert_int_equal(sirix_client_read_node(client, &request, NULL, &page, &err), SIRIX_OK);

    assert_int_equal(page->count, 1);
    sirix_client_free(page);
}

static void a_list_whose_parents_do_not_come_first_is_refused(void **state)
{
    struct sirix_node_page *page = NULL;
    const struct sirix_read_node_request request = {.database = "lying", .resource = "res"};

    (void)state;
    assert_int_equal(sirix_client_read_node(client, &request, NULL, &page, &err), SIRIX_INTERNAL);
    assert_null(page);
}

static void history_tells_missing_facts_as_empty(void **state)
{
    struct sirix_history_page *page = NULL;
    const struct sirix_history_request request = {.database = "db", .resource = "res"};

    (void)state;
    assert_int_equal(sirix_client_history(client, &request, NULL, &page, &err), SIRIX_OK);

    assert_int_equal(page->count, 2);
    assert_bytes(page->items[0].author, "me");
    assert_bytes(page->items[0].message, "second");
    assert_string_equal(page->items[0].branch, "main");
    assert_int_equal(page->items[0].chain.len, 32);
    assert_string_equal(page->items[1].branch, "");
    assert_int_equal(page->items[1].message.len, 0);
    sirix_client_free(page);
}

static void node_history_copes_with_entries_without_a_revision(void **state)
{
    struct sirix_node_history_page *page = NULL;
    const struct sirix_node_history_request request = {.database = "db", .resource = "res"};

    (void)state;
    assert_int_equal(sirix_client_node_history(client, &request, NULL, &page, &err), SIRIX_OK);

    assert_int_equal(page->count, 2);
    assert_int_equal(page->items[0].change, SIRIX_CHANGE_KIND_UPDATE);
    assert_bytes(page->items[0].value, "1.50");
    assert_int_equal(page->items[1].change, SIRIX_CHANGE_KIND_NONE);
    assert_int_equal(page->items[1].revision.revision, 0);
    sirix_client_free(page);
}

/* --- Writing ---------------------------------------------------------------------------------- */

static void operations_and_their_results_correspond(void **state)
{
    struct sirix_apply_result *result = NULL;
    const struct sirix_operation operations[] = {
        {.kind = SIRIX_OPERATION_INSERT, .has_name = true, .json = bytes("1")},
        {.kind = SIRIX_OPERATION_UPDATE, .node_key = 4, .json = bytes("2")},
        {.kind = SIRIX_OPERATION_REPLACE, .node_key = 4, .json = bytes("[]")},
        {.kind = SIRIX_OPERATION_DELETE, .node_key = 5},
        {.kind = SIRIX_OPERATION_RENAME, .node_key = 5, .name = bytes("x")},
        {.kind = SIRIX_OPERATION_MOVE, .node_key = 5, .place = {.position = SIRIX_POSITION_INDEX}},
    };
    const struct sirix_apply_request request = {
        .database = "db",
        .resource = "res",
        .operations = operations,
        .operation_count = sizeof(operations) / sizeof(operations[0]),
    };

    (void)state;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);

    assert_int_equal(result->count, 6);
    assert_int_equal(result->operations[0].node_key_count, 2);
    assert_int_equal(result->operations[0].node_keys[1], 12);
    assert_int_equal(result->operations[1].node_key_count, 0);
    assert_true(result->result.changed);
    sirix_client_free(result);
}

static void no_operation_and_too_many_are_refused_before_sending(void **state)
{
    struct sirix_operation *many = calloc(10001, sizeof(*many));
    struct sirix_apply_result *result = NULL;
    struct sirix_apply_request request = {.database = "vanish", .operations = many};

    (void)state;
    assert_non_null(many);
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_INVALID);
    assert_string_equal(err.field, "operations");
    request.operation_count = 10001;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_INVALID);
    free(many);
}

static void a_patch_is_sent_as_it_is_and_its_counts_come_back(void **state)
{
    struct sirix_apply_result *result = NULL;
    const struct sirix_apply_request request = {
        .database = "db",
        .resource = "res",
        .source = SIRIX_APPLY_JSON_PATCH,
        .json_patch = bytes("[ ]"),
        .dry_run = true,
    };

    (void)state;
    assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);

    /* The fake server answers the patch's size, and 1 test of a dry run. */
    assert_int_equal(result->applied, 3);
    assert_int_equal(result->tests, 1);
    assert_int_equal(result->count, 0);
    sirix_client_free(result);
}

static void a_diff_is_named_by_its_ends_and_its_keys_come_back(void **state)
{
    struct sirix_apply_result *result = NULL;
    struct sirix_apply_request request = {
        .database = "db",
        .resource = "res",
        .source = SIRIX_APPLY_DIFF,
        .diff_to = {.kind = SIRIX_VIEW_REVISION, .revision = 8},
        .diff_from = {.kind = SIRIX_VIEW_REVISION, .revision = 3},
    };

    (void)state;
    for (uint64_t has_from = 0; has_from < 2; has_from++) {
        request.has_diff_from = has_from == 1;
        assert_int_equal(sirix_client_apply(client, &request, NULL, &result, &err), SIRIX_OK);
        assert_int_equal(result->applied, 8); /* The revisions, from the fake server. */
        assert_int_equal(result->already, 3 * has_from);
        assert_int_equal(result->key_count, 1);
        assert_int_equal(result->keys[0].source_key, 7);
        assert_int_equal(result->keys[0].node_key, 9);
        sirix_client_free(result);
    }
}

static void a_revert_names_what_came_back(void **state)
{
    struct sirix_revert_result result;
    const struct sirix_revert_request request = {
        .database = "db",
        .resource = "res",
        .view = {.kind = SIRIX_VIEW_REVISION, .revision = 3},
    };

    (void)state;
    assert_int_equal(sirix_client_revert(client, &request, NULL, &result, &err), SIRIX_OK);
    assert_int_equal(result.reverted_to, 3);
    assert_int_equal(result.result.parent_revision, 8);
}

static void labels_and_branches_are_made_listed_and_deleted(void **state)
{
    struct sirix_create_snapshot_result *snapshot = NULL;
    struct sirix_create_branch_result *branch = NULL;
    struct sirix_snapshot_list *snapshots = NULL;
    struct sirix_branch_list *branches = NULL;
    struct sirix_delete_name_result deleted = {0};
    struct sirix_promote_result promoted = {0};
    const struct sirix_create_snapshot_request label = {
        .database = "db",
        .resource = "res",
        .name = "before",
        .view = {.kind = SIRIX_VIEW_REVISION, .revision = 6},
        .replace = true,
    };
    const struct sirix_create_branch_request fork = {
        .database = "db", .resource = "res", .name = "try", .expires_at_us = 77};
    const struct sirix_delete_name_request gone = {
        .database = "db",
        .resource = "res",
        .name = "try",
        .write = {.has_expected_revision = true, .expected_revision = 31},
    };
    const struct sirix_promote_request promote = {
        .database = "db", .resource = "res", .branch = "try"};

    (void)state;
    assert_int_equal(sirix_client_create_snapshot(client, &label, NULL, &snapshot, &err), SIRIX_OK);
    assert_string_equal(snapshot->snapshot.name, "before");
    assert_int_equal(snapshot->snapshot.revision, 6);
    assert_int_equal(snapshot->previous_revision, 1);
    assert_int_equal(sirix_client_list_snapshots(client, "db", "res", NULL, NULL, &snapshots, &err),
                     SIRIX_OK);
    assert_string_equal(snapshots->items[0].name, "one");
    assert_bytes(snapshots->next_cursor, "n");
    assert_int_equal(sirix_client_delete_snapshot(client, &gone, NULL, NULL, &err), SIRIX_OK);
    assert_int_equal(sirix_client_create_branch(client, &fork, NULL, &branch, &err), SIRIX_OK);
    assert_string_equal(branch->branch.name, "try");
    assert_int_equal(branch->branch.expires_at_us, 77);
    assert_int_equal(sirix_client_list_branches(client, "db", "res", NULL, NULL, &branches, &err),
                     SIRIX_OK);
    assert_int_equal(branches->count, 1);
    assert_int_equal(sirix_client_delete_branch(client, &gone, NULL, &deleted, &err), SIRIX_OK);
    assert_int_equal(deleted.revision, 31);
    assert_int_equal(sirix_client_promote(client, &promote, NULL, &promoted, &err), SIRIX_OK);
    assert_int_equal(promoted.previous_revision, 2);
    assert_true(promoted.changed);
    sirix_client_free(snapshot);
    sirix_client_free(branch);
    sirix_client_free(snapshots);
    sirix_client_free(branches);
}

static void an_answer_to_a_write_that_lacks_its_content_leaves_the_outcome_open(void **state)
{
    struct sirix_create_snapshot_result *snapshot = NULL;
    const struct sirix_create_snapshot_request label = {.database = "empty-answer"};

    (void)state;
    assert_int_equal(sirix_client_create_snapshot(client, &label, NULL, &snapshot, &err),
                     SIRIX_OUTCOME_UNKNOWN);
    assert_null(snapshot);
}

static void the_status_names_program_and_caller(void **state)
{
    struct sirix_server_status *status = NULL;

    (void)state;
    assert_int_equal(sirix_client_status(client, NULL, &status, &err), SIRIX_OK);
    assert_string_equal(status->version, "0.0.fake");
    assert_string_equal(status->role, "writer");
    assert_string_equal(status->principal, "owner");
    assert_int_equal(status->process_id, server.pid);
    sirix_client_free(status);
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(databases_come_in_pages, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_resource_is_described_with_its_labels_branches_and_paths,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_trace_context_that_cannot_be_a_header_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(nodes_keep_names_with_nul_and_unknown_kinds, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(depth_zero_is_not_the_default_depth, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_list_whose_parents_do_not_come_first_is_refused, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(history_tells_missing_facts_as_empty, set_up, tear_down),
        cmocka_unit_test_setup_teardown(node_history_copes_with_entries_without_a_revision, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(operations_and_their_results_correspond, set_up, tear_down),
        cmocka_unit_test_setup_teardown(no_operation_and_too_many_are_refused_before_sending,
                                        set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_patch_is_sent_as_it_is_and_its_counts_come_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_diff_is_named_by_its_ends_and_its_keys_come_back, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(a_revert_names_what_came_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(labels_and_branches_are_made_listed_and_deleted, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(
            an_answer_to_a_write_that_lacks_its_content_leaves_the_outcome_open, set_up, tear_down),
        cmocka_unit_test_setup_teardown(the_status_names_program_and_caller, set_up, tear_down),
    };

    program = server_program_from(argc, argv);
    return cmocka_run_group_tests_name("client calls", tests, set_up_group, tear_down_group);
}
