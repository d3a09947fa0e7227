/* The server and its tools in front of a made-up backend. */
#include "unit/gateway/gateway_help.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>

#include "mcp/server.h"
#include "mcp/tools.h"
#include "unit/gateway/fake_backend.h"

/* --- Faults ----------------------------------------------------------------------------------- */

static long allocations_left = -1; /* Fails when it is 0; negative: never. */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__wrap_realloc(void *memory, size_t size);

static bool must_fail(void)
{
    return allocations_left >= 0 && allocations_left-- == 0;
}

void *__wrap_malloc(size_t size)
{
    return must_fail() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size)
{
    return must_fail() ? NULL : __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size)
{
    return must_fail() ? NULL : __real_realloc(memory, size);
}

/* --- One server a test ------------------------------------------------------------------------ */

static struct sirix_settings settings;
static struct sirix_mcp_registry registry;
static struct sirix_mcp_server server;
static struct sirix_mcp_session session;
static struct sirix_arena arena;
static struct sirix_buf answer;

static void start(const char *members)
{
    char file[512];

    (void)snprintf(file, sizeof(file), "{\"server\":{%s}}", members);
    fake = (struct fake_backend){.sentence = "made up"};
    registry = sirix_mcp_product();
    session = (struct sirix_mcp_session){.context = {.version = SIRIX_MCP_NEWEST_LEGACY}};
    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&answer, SIZE_MAX);
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    assert_int_equal(sirix_settings_parse(&settings, text(file), NULL), SIRIX_OK);
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL), SIRIX_OK);
}

static void stop(void)
{
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
    sirix_buf_deinit(&answer);
    sirix_arena_deinit(&arena);
}

static enum sirix_status try_line(const char *line)
{
    struct sirix_jsonrpc_input input = {0};
    struct sirix_mcp_request request;

    sirix_buf_clear(&answer);
    enum sirix_status status = sirix_jsonrpc_read(&arena, text(line), &input, NULL);
    if (status == SIRIX_OK) {
        sirix_mcp_request_open(&request, &server, &session, NULL, &arena, &input.messages[0]);
        status = sirix_mcp_answer(&request, &answer, NULL);
        sirix_mcp_request_close(&request);
    }
    return status;
}

static struct sirix_json_node *parse(struct sirix_bytes json)
{
    struct sirix_json_tree tree;

    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, json, NULL, NULL, NULL), SIRIX_OK);
    return tree.root;
}

/* The member of a member … of the answer to a line; the path ends with NULL. */
static const struct sirix_json_node *ask(const char *line, const char *const *path)
{
    assert_int_equal(try_line(line), SIRIX_OK);
    const struct sirix_json_node *node = parse(sirix_buf_view(&answer));
    for (; *path != NULL && node != NULL; path++) {
        node = sirix_arguments_member(node, *path);
    }
    return node;
}

static const struct sirix_json_node *call(const char *tool, const char *arguments,
                                          const char *member)
{
    const char *const path[] = {"result", member, NULL};
    char line[1024];

    (void)snprintf(line, sizeof(line),
                   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
                   "\"%s\",\"arguments\":%s}}",
                   tool, arguments);
    return ask(line, path);
}

static bool answer_has(const char *word)
{
    return memmem(answer.data, answer.len, word, strlen(word)) != NULL;
}

/* Arguments that every tool of that schema accepts. */
static const char *some_arguments(const struct sirix_mcp_tool *tool)
{
    static const char *const KNOWN[][2] = {
        {"database", "\"secret\""},
        {"resource", "\"r\""},
        {"name", "\"n\""},
        {"nodeKey", "1"},
        {"value", "1"},
        {"data", "1"},
        {"branch", "\"b\""},
        {"revision", "1"},
        {"query", "\"1\""},
        {"sql", "\"SELECT 1\""},
        {"table", "\"t\""},
        {"words", "\"w\""},
        {NULL, NULL},
    };
    static char line[512];
    size_t len = (size_t)snprintf(line, sizeof(line), "{");

    for (size_t i = 0; KNOWN[i][0] != NULL; i++) {
        char quoted[64];

        (void)snprintf(quoted, sizeof(quoted), "\"%s\":{", KNOWN[i][0]);
        if (strstr(tool->input_schema, quoted) != NULL) {
            len += (size_t)snprintf(line + len, sizeof(line) - len, "%s\"%s\":%s",
                                    len == 1 ? "" : ",", KNOWN[i][0], KNOWN[i][1]);
        }
    }
    (void)snprintf(line + len, sizeof(line) - len, "}");
    return line;
}

/* --- Tests ------------------------------------------------------------------------------------ */

static void what_is_denied_is_not_asked_of_the_backend(void **state)
{
    (void)state;
    start("\"readOnly\":false,\"denyDatabases\":[\"secret\"]");
    for (size_t i = 0; i < sirix_mcp_tool_count; i++) {
        const struct sirix_mcp_tool *tool = &sirix_mcp_tools[i];

        if (strstr(tool->input_schema, "\"database\"") == NULL) {
            continue;
        }
        const struct sirix_json_node *is_error = call(tool->name, some_arguments(tool), "isError");
        assert_non_null(is_error);
        assert_int_equal(is_error->kind, SIRIX_JSON_KIND_TRUE);
        assert_true(answer_has("database_unknown"));
    }
    assert_int_equal(fake.calls, 0);
    stop();
}

static void what_is_denied_and_what_is_absent_are_told_alike(void **state)
{
    char denied[2048] = "";

    (void)state;
    for (int round = 0; round < 2; round++) {
        start(round == 0 ? "\"allowResources\":{\"secret\":[]}" : "");
        fake.status = SIRIX_NOT_FOUND;
        fake.reason = SIRIX_REASON_RESOURCE_UNKNOWN;
        fake.sentence = "the storage says it in other words";
        const struct sirix_json_node *content =
            call("sirix_read_node", "{\"database\":\"secret\",\"resource\":\"r\"}", "content");
        const struct sirix_bytes said =
            sirix_arguments_member(sirix_json_first(content), "text")->value.text;
        const char *facts = memmem(said.data, said.len, "{\\\"error", 8);

        assert_int_equal(fake.calls, round);
        assert_non_null(facts);
        /* Up to the tag behind, which is another one each time. */
        const char *end = strstr(facts, "}\\n<");
        if (round == 0) {
            memcpy(denied, facts, (size_t)(end - facts));
        } else {
            assert_memory_equal(denied, facts, (size_t)(end - facts));
        }
        stop();
    }
}

static void a_tool_that_writes_is_not_there_in_read_only_mode(void **state)
{
    const char *const path[] = {"error", "code", NULL};

    (void)state;
    start("");
    for (size_t i = 0; i < sirix_mcp_tool_count; i++) {
        const struct sirix_mcp_tool *tool = &sirix_mcp_tools[i];

        if (tool->writes) {
            char line[1024];

            (void)snprintf(line, sizeof(line),
                           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{"
                           "\"name\":\"%s\",\"arguments\":%s}}",
                           tool->name, some_arguments(tool));
            assert_text(ask(line, path)->value.text, "-32602");
        }
        assert_true((sirix_mcp_tool_find(&server, text(tool->name)) == NULL) == tool->writes);
    }
    assert_int_equal(fake.calls, 0);
    stop();
}

static void each_failure_of_the_backend_becomes_a_tool_error(void **state)
{
    static const enum sirix_status ALL[] = {
#define SIRIX_X(upper, lower, grpc, jsonrpc, exit_code) SIRIX_##upper,
        SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
    };

    (void)state;
    start("\"readOnly\":false");
    for (size_t i = 0; i < COUNT(ALL); i++) {
        for (size_t j = 0; j < sirix_mcp_tool_count && ALL[i] != SIRIX_OK; j++) {
            const struct sirix_mcp_tool *tool = &sirix_mcp_tools[j];
            int calls = fake.calls;

            fake.status = ALL[i];
            const struct sirix_json_node *is_error =
                call(tool->name, some_arguments(tool), "isError");
            assert_int_equal(is_error->kind, SIRIX_JSON_KIND_TRUE);
            assert_int_equal(fake.calls, calls + 1);
            assert_true(answer_has(sirix_status_name(ALL[i])));
        }
    }
    stop();
}

static void a_call_has_the_time_that_is_set(void **state)
{
    (void)state;
    start("\"readOnly\":false,\"queryTimeoutMs\":700,\"writeTimeoutMs\":90");
    (void)call("sirix_list_databases", "{}", "isError");
    assert_in_range(fake.deadline_ms, 400, 700);
    (void)call("sirix_delete", "{\"database\":\"d\",\"resource\":\"r\",\"nodeKey\":1}", "isError");
    assert_in_range(fake.deadline_ms, 1, 90);
    stop();
}

static void a_long_list_comes_whole_in_pages_without_what_is_denied(void **state)
{
    char arguments[512] = "{}";
    size_t seen = 0;
    int pages = 0;

    (void)state;
    start("\"denyDatabases\":[\"d0000\",\"d0099\",\"d0100\",\"d0999\"]");
    for (;;) {
        const struct sirix_json_node *structure =
            call("sirix_list_databases", arguments, "structuredContent");
        const struct sirix_json_node *list = sirix_arguments_member(structure, "databases");
        const struct sirix_json_node *next = sirix_arguments_member(structure, "nextCursor");
        const struct sirix_json_node *at = sirix_json_first(list);

        assert_true(sirix_json_count(list) <= 100);
        for (; at != NULL; at = at->next) {
            char name[8];

            do {
                (void)snprintf(name, sizeof(name), "d%04zu", seen++ % 10000);
            } while (!sirix_access_database(&settings.access, text(name)));
            assert_text(sirix_arguments_member(at, "name")->value.text, name);
        }
        pages++;
        if (next == NULL) {
            break;
        }
        (void)snprintf(arguments, sizeof(arguments), "{\"cursor\":\"%.*s\"}",
                       (int)next->value.text.len, (const char *)next->value.text.data);
    }
    assert_int_equal(seen, 999);
    assert_int_equal(pages, 10);
    stop();
}

static void tools_are_listed_in_pages_in_their_order(void **state)
{
    const char *const path[] = {"result", NULL};
    char line[512] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}";
    size_t seen = 0;

    (void)state;
    for (int round = 0; round < 2; round++) {
        start(round == 0 ? "\"readOnly\":false" : "");
        server.tools_page = 4;
        (void)snprintf(line, sizeof(line),
                       "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}");
        seen = 0;
        for (;;) {
            const struct sirix_json_node *result = ask(line, path);
            const struct sirix_json_node *list = sirix_arguments_member(result, "tools");
            const struct sirix_json_node *next = sirix_arguments_member(result, "nextCursor");

            assert_in_range(sirix_json_count(list), 1, 4);
            for (const struct sirix_json_node *at = sirix_json_first(list); at != NULL;
                 at = at->next) {
                assert_text(sirix_arguments_member(at, "name")->value.text,
                            sirix_mcp_tools[seen++].name);
            }
            if (next == NULL) {
                break;
            }
            (void)snprintf(line, sizeof(line),
                           "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\",\"params\":{"
                           "\"cursor\":\"%.*s\"}}",
                           (int)next->value.text.len, (const char *)next->value.text.data);
        }
        assert_int_equal(seen, round == 0 ? sirix_mcp_tool_count : 14);
        stop();
    }
}

/* Both eras say it, and only while the tool is among those of the server. */
static void sql_is_told_of_exactly_where_its_tool_is(void **state)
{
    static const char *const LINES[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"initialize\",\"params\":{\"protocolVersion\":"
        "\"2025-06-18\",\"capabilities\":{},\"clientInfo\":{\"name\":\"t\",\"version\":\"1\"}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"server/discover\",\"params\":{\"_meta\":{"
        "\"io.modelcontextprotocol/protocolVersion\":\"2026-07-28\","
        "\"io.modelcontextprotocol/clientInfo\":{\"name\":\"t\",\"version\":\"1\"},"
        "\"io.modelcontextprotocol/clientCapabilities\":{}}}}",
    };
    const char *const path[] = {"result", "instructions", NULL};

    (void)state;
    for (size_t i = 0; i < sizeof(LINES) / sizeof(LINES[0]) * 2; i++) {
        const bool has_tool = i % 2 == 0;
        struct sirix_mcp_tool others[SIRIX_MCP_TOOLS_MAX];
        size_t count = 0;

        start("");
        session = (struct sirix_mcp_session){0}; /* Nobody has said hello. */
        for (size_t t = 0; t < registry.tool_count; t++) {
            if (has_tool || strcmp(registry.tools[t].name, "store_query") != 0) {
                others[count++] = registry.tools[t];
            }
        }
        assert_int_equal(count, registry.tool_count - (has_tool ? 0 : 1));
        registry.tools = others;
        registry.tool_count = count;
        const struct sirix_json_node *told = ask(LINES[i / 2], path);
        assert_non_null(told);
        assert_int_equal(memmem(told->value.text.data, told->value.text.len, "SQL", 3) != NULL,
                         has_tool);
        assert_int_equal(memmem(told->value.text.data, told->value.text.len, "store_query", 11) !=
                             NULL,
                         has_tool);
        stop();
    }
}

static void without_memory_there_is_a_failure_and_no_leak(void **state)
{
    static const char *const LINES[] = {
        "{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"sirix_list_databases\",\"arguments\":{\"limit\":3}}}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"nope\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":"
        "\"sirix_insert\",\"arguments\":{\"database\":\"d\",\"resource\":\"r\",\"data\":\"[1]\"}}}",
    };

    (void)state;
    for (size_t i = 0; i < COUNT(LINES); i++) {
        bool is_done = false;

        for (long fail_at = 0; !is_done; fail_at++) {
            start("\"readOnly\":false");
            sirix_buf_deinit(&answer);
            allocations_left = fail_at;
            enum sirix_status status = try_line(LINES[i]);
            is_done = allocations_left >= 0;
            allocations_left = -1;

            assert_true(status == SIRIX_OK || status == SIRIX_NO_MEMORY);
            assert_true(!is_done || status == SIRIX_OK);
            if (status == SIRIX_OK) {
                /* Whole, whatever it says. */
                (void)parse(sirix_buf_view(&answer));
            }
            stop();
            assert_true(fail_at < 2000);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_denied_is_not_asked_of_the_backend),
        cmocka_unit_test(what_is_denied_and_what_is_absent_are_told_alike),
        cmocka_unit_test(a_tool_that_writes_is_not_there_in_read_only_mode),
        cmocka_unit_test(each_failure_of_the_backend_becomes_a_tool_error),
        cmocka_unit_test(a_call_has_the_time_that_is_set),
        cmocka_unit_test(a_long_list_comes_whole_in_pages_without_what_is_denied),
        cmocka_unit_test(tools_are_listed_in_pages_in_their_order),
        cmocka_unit_test(sql_is_told_of_exactly_where_its_tool_is),
        cmocka_unit_test(without_memory_there_is_a_failure_and_no_leak),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
