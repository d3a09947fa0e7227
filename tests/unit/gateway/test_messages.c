/* Lines, JSON-RPC messages, cursors, arguments, and the schemas of the tools. */
#include "unit/gateway/gateway_help.h"

#include <ctype.h>
#include <stdio.h>

#include "jsonrpc/message.h"
#include "mcp/arguments.h"
#include "mcp/cursor.h"
#include "mcp/tools.h"
#include "transport/lines.h"
#include "json/text.h"

static struct sirix_arena arena;

static int setup(void **state)
{
    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    sirix_arena_deinit(&arena);
    return 0;
}

/* --- Lines ------------------------------------------------------------------------------------ */

static void lines_are_the_same_however_they_are_cut(void **state)
{
    static const char INPUT[] = "one\r\n\n\r\ntwo\nlonger than ten\nfour\nlast";
    static const char WANTED[] = "one|two|!|four|last|";
    struct sirix_lines lines;

    (void)state;
    for (size_t chunk = 1; chunk <= sizeof(INPUT); chunk++) {
        char found[64] = "";
        size_t at = 0;

        sirix_lines_init(&lines, 10);
        while (at < sizeof(INPUT)) {
            struct sirix_bytes line = {0};
            enum sirix_lines_kind kind = sirix_lines_next(&lines, &line);

            if (kind == SIRIX_LINES_MORE && at == sizeof(INPUT) - 1) {
                at++;
                sirix_lines_end(&lines);
                kind = sirix_lines_next(&lines, &line);
            } else if (kind == SIRIX_LINES_MORE) {
                size_t left = sizeof(INPUT) - 1 - at;
                const struct sirix_bytes bytes = {INPUT + at, left < chunk ? left : chunk};

                assert_int_equal(sirix_lines_feed(&lines, bytes, NULL), SIRIX_OK);
                at += bytes.len;
                continue;
            }
            if (kind != SIRIX_LINES_MORE) {
                (void)snprintf(found + strlen(found), sizeof(found) - strlen(found), "%.*s|",
                               kind == SIRIX_LINES_TOO_LONG ? 1 : (int)line.len,
                               kind == SIRIX_LINES_TOO_LONG ? "!" : (const char *)line.data);
            }
        }
        assert_string_equal(found, WANTED);
        sirix_lines_deinit(&lines);
    }
}

static void a_line_past_the_limit_is_not_kept(void **state)
{
    static const char BLOCK[1000] = {0};
    struct sirix_lines lines;
    struct sirix_bytes line = {0};
    int told = 0;

    (void)state;
    sirix_lines_init(&lines, 100);
    for (int i = 0; i < 1000; i++) {
        const struct sirix_bytes bytes = {BLOCK, sizeof(BLOCK)};

        assert_int_equal(sirix_lines_feed(&lines, bytes, NULL), SIRIX_OK);
        while (sirix_lines_next(&lines, &line) == SIRIX_LINES_TOO_LONG) {
            told++;
        }
        assert_true(lines.buf.cap <= 8192);
    }

    assert_int_equal(told, 1);
    sirix_lines_deinit(&lines);
}

/* --- Messages --------------------------------------------------------------------------------- */

static void messages_are_sorted_by_what_they_hold(void **state)
{
    static const struct {
        const char *line;
        int code; /* Of the fault; 0: none. */
        enum sirix_jsonrpc_kind kind;
        const char *id;
    } CASES[] = {
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", 0, SIRIX_JSONRPC_REQUEST, "1"},
        {"{\"params\":{},\"method\":\"m\",\"id\":\"\\u0041\\n\",\"jsonrpc\":\"2.0\"}", 0,
         SIRIX_JSONRPC_REQUEST, "\"A\\n\""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1.0,\"method\":\"m\"}", 0, SIRIX_JSONRPC_REQUEST, "1.0"},
        {"{\"jsonrpc\":\"2.0\",\"method\":\"m\"}", 0, SIRIX_JSONRPC_NOTIFICATION, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}", 0, SIRIX_JSONRPC_RESPONSE, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"error\":{}}", 0, SIRIX_JSONRPC_RESPONSE, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1}", -32600, SIRIX_JSONRPC_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"result\":{}}", -32600, SIRIX_JSONRPC_REQUEST, ""},
        {"{\"jsonrpc\":\"2.0\",\"id\":true,\"method\":\"m\"}", -32600, SIRIX_JSONRPC_REQUEST, ""},
        {"{\"jsonrpc\":2.0,\"id\":1,\"method\":\"m\"}", -32600, SIRIX_JSONRPC_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\",\"params\":null}", -32602,
         SIRIX_JSONRPC_REQUEST, "1"},
        {"{\"jsonrpc\":\"2.0\",\"id\":1,\"id\":2,\"method\":\"m\"}", -32600, SIRIX_JSONRPC_REQUEST,
         "2"},
        {"[]", -32600, SIRIX_JSONRPC_REQUEST, ""},
        {"null", -32600, SIRIX_JSONRPC_REQUEST, ""},
        {"{\"a\":1} x", -32700, SIRIX_JSONRPC_REQUEST, ""},
        {"{\"a\":\"\\ud800\"}", -32700, SIRIX_JSONRPC_REQUEST, ""},
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_jsonrpc_input input = {0};

        assert_int_equal(sirix_jsonrpc_read(&arena, text(CASES[i].line), &input, NULL), SIRIX_OK);
        assert_int_equal(input.count, 1);
        assert_false(input.is_batch);
        assert_int_equal(input.messages[0].is_faulty, CASES[i].code != 0);
        assert_int_equal(input.messages[0].fault.code, CASES[i].code);
        assert_int_equal(input.messages[0].kind, CASES[i].kind);
        assert_text(input.messages[0].id, CASES[i].id);
    }
}

static void a_message_that_needs_too_much_memory_is_refused(void **state)
{
    static char line[4000];
    struct sirix_jsonrpc_input input = {0};
    struct sirix_arena small;

    (void)state;
    memset(line, ',', sizeof(line) - 1);
    for (size_t i = 1; i < sizeof(line) - 1; i += 2) {
        line[i] = '0';
    }
    line[0] = '[';
    line[sizeof(line) - 2] = ']';
    sirix_arena_init(&small, 64 * 1024);

    assert_int_equal(sirix_jsonrpc_read(&small, text(line), &input, NULL), SIRIX_OK);

    assert_int_equal(input.messages[0].fault.code, SIRIX_JSONRPC_INVALID_REQUEST);
    assert_int_equal(input.messages[0].fault.error.reason, SIRIX_REASON_SIZE_LIMIT);
    sirix_arena_deinit(&small);
}

static void a_message_that_is_too_deep_is_refused_by_its_id(void **state)
{
    enum { DEPTH = 200000 };
    static const struct {
        const char *before;
        const char *after;
        const char *id;
    } CASES[] = {
        {"{\"id\":1.0,\"params\":{\"id\":2,\"x\":", "}}", "1.0"},
        {"{\"params\":{\"id\":2,\"x\":", "},\"id\":\"a\\n\"}", "\"a\\n\""},
        {"{\"params\":{\"id\":2,\"x\":", "},\"id\":[7]}", ""},
        {"{\"params\":{\"id\":2,\"x\":", "}}", ""},
        {"[{\"id\":3,\"x\":", "}]", ""},
        {"{\"x\":", ",\"id\":4", "4"}, /* Whoever cut it off still waits. */
    };

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_jsonrpc_input input = {0};
        struct sirix_buf line;

        sirix_buf_init(&line, SIZE_MAX);
        assert_int_equal(sirix_buf_append_str(&line, CASES[i].before, NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_fill(&line, '[', DEPTH, NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_fill(&line, ']', DEPTH, NULL), SIRIX_OK);
        assert_int_equal(sirix_buf_append_str(&line, CASES[i].after, NULL), SIRIX_OK);

        assert_int_equal(sirix_jsonrpc_read(&arena, sirix_buf_view(&line), &input, NULL), SIRIX_OK);

        assert_int_equal(input.messages[0].fault.code, SIRIX_JSONRPC_INVALID_REQUEST);
        assert_int_equal(input.messages[0].fault.error.reason, SIRIX_REASON_DEPTH_LIMIT);
        assert_text(input.messages[0].id, CASES[i].id);
        sirix_buf_deinit(&line);
    }
}

static void an_error_carries_its_facts(void **state)
{
    struct sirix_error error = {0};
    struct sirix_buf out;

    (void)state;
    sirix_buf_init(&out, SIZE_MAX);
    (void)sirix_fail_reason(&error, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED, "it \"moved\"");
    sirix_error_set_field(&error, "expectedRevision");
    error.current_revision = 7;

    assert_int_equal(sirix_jsonrpc_write_error(&out, text("1.0"), -32010, &error, NULL, NULL),
                     SIRIX_OK);

    assert_text(sirix_buf_view(&out),
                "{\"jsonrpc\":\"2.0\",\"id\":1.0,\"error\":{\"code\":-32010,\"message\":\"it "
                "\\\"moved\\\"\",\"data\":{\"status\":\"conflict\",\"reason\":\"revision_moved\","
                "\"field\":\"expectedRevision\",\"currentRevision\":7}}}");
    sirix_buf_deinit(&out);
}

/* --- Cursors ---------------------------------------------------------------------------------- */

static void a_cursor_comes_back_as_it_was(void **state)
{
    const struct sirix_cursor cursor = {
        .revision = UINT64_MAX, .skip = 9, .server = {"\x00\xff z", 4}};
    const uint64_t tag = sirix_cursor_tag("tool", "db", "res", 5);
    struct sirix_cursor found = {0};
    const char *written = NULL;

    (void)state;
    assert_int_equal(sirix_cursor_write(&arena, tag, &cursor, &written, NULL), SIRIX_OK);
    assert_int_equal(sirix_cursor_read(&arena, tag, text(written), &found, NULL), SIRIX_OK);

    assert_true(found.revision == cursor.revision && found.skip == 9);
    assert_true(sirix_bytes_equal(found.server, cursor.server));
    assert_int_equal(sirix_cursor_read(&arena, sirix_cursor_tag("tool", "db", "res", 6),
                                       text(written), &found, NULL),
                     SIRIX_INVALID);
}

static void a_cursor_that_was_not_given_is_refused(void **state)
{
    static const char *const CASES[] = {"",         "x",      "-",
                                        "0-0-0",    "1-0-0-", "0-0-0-0",
                                        "0-0-0-zz", "0--0-",  "00000000000000000-0-0-",
                                        "0-0-0-00 "};
    struct sirix_cursor found = {0};

    (void)state;
    assert_int_equal(sirix_cursor_read(&arena, 0, text("0-0-0-"), &found, NULL), SIRIX_OK);
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_error err = {0};

        assert_int_equal(sirix_cursor_read(&arena, 0, text(CASES[i]), &found, &err), SIRIX_INVALID);
        assert_int_equal(err.reason, SIRIX_REASON_CURSOR);
        assert_string_equal(err.field, "cursor");
    }
}

/* --- Arguments -------------------------------------------------------------------------------- */

static const char SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{\"i\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":"
    "100},\"n\":{\"type\":\"integer\"},\"b\":{\"type\":\"boolean\"},\"s\":{\"type\":\"string\"},"
    "\"e\":{\"type\":\"string\",\"enum\":[\"one\",\"two\"]},\"o\":{\"type\":\"object\"},\"a\":"
    "{\"type\":\"array\"},\"v\":{\"description\":\"any\"}},\"required\":[]}";

static struct sirix_json_node *parse(const char *json)
{
    struct sirix_json_tree tree;

    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, text(json), NULL, NULL, NULL), SIRIX_OK);
    return tree.root;
}

static void arguments_are_taken_by_type(void **state)
{
    static const struct {
        const char *json;
        bool good;
    } CASES[] = {
        {"{\"i\":10}", true},
        {"{\"i\":10.0}", true},
        {"{\"i\":\"10\"}", true},
        {"{\"i\":1e1}", true},
        {"{\"i\":\"10.0\"}", true},
        {"{\"i\":10.5}", false},
        {"{\"i\":\"ten\"}", false},
        {"{\"i\":\"\"}", false},
        {"{\"i\":0}", false},
        {"{\"i\":101}", false},
        {"{\"i\":-1}", false},
        {"{\"i\":1e400}", false},
        {"{\"i\":true}", false},
        {"{\"i\":[10]}", false},
        {"{\"i\":null}", true},
        {"{\"n\":9223372036854775807}", true},
        {"{\"n\":9223372036854775808}", false},
        {"{\"b\":true}", true},
        {"{\"b\":\"false\"}", true},
        {"{\"b\":1}", false},
        {"{\"b\":\"yes\"}", false},
        {"{\"s\":\"{}\"}", true},
        {"{\"s\":1}", false},
        {"{\"s\":{}}", false},
        {"{\"e\":\"two\"}", true},
        {"{\"e\":\"three\"}", false},
        {"{\"e\":\"\"}", false},
        {"{\"o\":{}}", true},
        {"{\"o\":\"{\\\"a\\\":1}\"}", true},
        {"{\"o\":\"[]\"}", false},
        {"{\"o\":\"{\"}", false},
        {"{\"o\":1}", false},
        {"{\"a\":[1]}", true},
        {"{\"a\":\" [1] \"}", true},
        {"{\"a\":\"{}\"}", false},
        {"{\"v\":null}", true},
        {"{\"v\":1e400}", true},
        {"{\"x\":1}", false},
        {"{}", true},
    };
    const struct sirix_json_node *schema = parse(SCHEMA);

    (void)state;
    for (size_t i = 0; i < COUNT(CASES); i++) {
        struct sirix_arguments arguments;
        struct sirix_error err = {0};
        enum sirix_status status =
            sirix_arguments_read(&arena, schema, parse(CASES[i].json), &arguments, &err);

        if ((status == SIRIX_OK) != CASES[i].good) {
            fail_msg("%s: %s", CASES[i].json, err.text);
        }
        assert_true(status == SIRIX_OK || status == SIRIX_INVALID);
    }
}

static void arguments_have_the_values_given(void **state)
{
    struct sirix_arguments arguments;

    (void)state;
    assert_int_equal(sirix_arguments_read(&arena, parse(SCHEMA),
                                          parse("{\"i\":\"7\",\"s\":\"a\\u0000\\n\",\"v\":null,"
                                                "\"b\":null,\"o\":\"{\\\"k\\\":1.50}\"}"),
                                          &arguments, NULL),
                     SIRIX_OK);

    assert_int_equal(sirix_argument_number(&arguments, "i", 0), 7);
    assert_int_equal(sirix_argument_number(&arguments, "n", 42), 42);
    assert_int_equal(sirix_argument_text(&arguments, "s").len, 3);
    assert_memory_equal(sirix_argument_text(&arguments, "s").data, "a\0\n", 4);
    assert_int_equal(sirix_argument(&arguments, "v")->node->kind, SIRIX_JSON_KIND_NULL);
    assert_null(sirix_argument(&arguments, "b"));
    assert_false(sirix_argument_boolean(&arguments, "b"));
    const struct sirix_json_node *k =
        sirix_arguments_member(sirix_argument(&arguments, "o")->node, "k");
    assert_text(k->value.text, "1.50");
}

static void what_is_unknown_or_missing_is_named(void **state)
{
    const struct sirix_json_node *schema =
        parse("{\"properties\":{\"one\":{\"type\":\"string\"},\"two\":{\"type\":\"string\"}},"
              "\"required\":[\"one\"]}");
    struct sirix_arguments arguments;
    struct sirix_error err = {0};

    (void)state;
    assert_int_equal(sirix_arguments_read(&arena, schema, parse("{\"three\":1}"), &arguments, &err),
                     SIRIX_INVALID);
    assert_non_null(strstr(err.text, "\"three\""));
    assert_non_null(strstr(err.text, "one, two"));
    assert_int_equal(sirix_arguments_read(&arena, schema, NULL, &arguments, &err), SIRIX_INVALID);
    assert_string_equal(err.field, "one");
    assert_int_equal(err.reason, SIRIX_REASON_FIELD_MISSING);
    assert_int_equal(
        sirix_arguments_read(&arena, schema, parse("{\"one\":null}"), &arguments, &err),
        SIRIX_INVALID);
}

/* --- Schemas ---------------------------------------------------------------------------------- */

/* The rules that the strictest clients have; `where` is for the message. */
static void lint_schema(const struct sirix_json_node *root, const char *where)
{
    static const char *const TYPES[] = {"object", "array",   "string", "integer",
                                        "number", "boolean", "null"};
    static const char *const BANNED[] = {"anyOf", "oneOf", "allOf", "$ref", "not", "if"};

    assert_text(sirix_arguments_member(root, "type")->value.text, "object");
    for (const struct sirix_json_node *at = root; at != NULL; at = sirix_json_walk(root, at)) {
        bool is_property = at->has_name && at->parent->has_name &&
                           sirix_bytes_equal(at->parent->name, text("properties"));

        for (size_t i = 0; i < COUNT(BANNED); i++) {
            if (at->has_name && sirix_bytes_equal(at->name, text(BANNED[i]))) {
                fail_msg("%s uses %s", where, BANNED[i]);
            }
        }
        if (is_property && (at->kind != SIRIX_JSON_KIND_OBJECT || sirix_json_count(at) == 0)) {
            fail_msg("%s: an empty or boolean schema for %.*s", where, (int)at->name.len,
                     (const char *)at->name.data);
        }
        if (at->has_name && sirix_bytes_equal(at->name, text("type")) &&
            at->kind != SIRIX_JSON_KIND_OBJECT) {
            bool is_known = false;

            assert_int_equal(at->kind, SIRIX_JSON_KIND_STRING);
            for (size_t i = 0; i < COUNT(TYPES); i++) {
                is_known |= sirix_bytes_equal(at->value.text, text(TYPES[i]));
            }
            assert_true(is_known);
        }
    }
    const struct sirix_json_node *properties = sirix_arguments_member(root, "properties");
    const struct sirix_json_node *required = sirix_arguments_member(root, "required");
    const struct sirix_json_node *at = required == NULL ? NULL : sirix_json_first(required);
    for (; at != NULL; at = at->next) {
        char name[64];

        (void)snprintf(name, sizeof(name), "%.*s", (int)at->value.text.len,
                       (const char *)at->value.text.data);
        if (sirix_arguments_member(properties, name) == NULL) {
            fail_msg("%s: required but not described: %s", where, name);
        }
    }
}

static void tools_follow_the_rules_of_clients(void **state)
{
    (void)state;
    assert_true(sirix_mcp_tool_count <= SIRIX_MCP_TOOLS_MAX);
    for (size_t i = 0; i < sirix_mcp_tool_count; i++) {
        const struct sirix_mcp_tool *tool = &sirix_mcp_tools[i];
        const struct sirix_json_node *input = parse(tool->input_schema);
        const struct sirix_json_node *properties = sirix_arguments_member(input, "properties");

        assert_true(strlen(tool->name) <= 40);
        for (const char *at = tool->name; *at != '\0'; at++) {
            assert_true(islower((unsigned char)*at) || isdigit((unsigned char)*at) || *at == '_');
        }
        for (size_t j = 0; j < i; j++) {
            assert_string_not_equal(tool->name, sirix_mcp_tools[j].name);
        }
        assert_true(strlen(tool->title) > 3);
        assert_true(strlen(tool->description) > 20 && strlen(tool->description) <= 1500);
        assert_true(!tool->is_destructive || tool->writes);
        assert_true(tool->writes || tool->is_idempotent);
        assert_non_null(tool->run);
        lint_schema(input, tool->name);
        lint_schema(parse(tool->output_schema), tool->name);
        assert_true(sirix_json_count(properties) <= SIRIX_ARGUMENTS_MAX);
        assert_int_equal(sirix_arguments_member(input, "additionalProperties")->kind,
                         SIRIX_JSON_KIND_FALSE);
        for (const struct sirix_json_node *at = sirix_json_first(properties); at != NULL;
             at = at->next) {
            assert_non_null(sirix_arguments_member(at, "description"));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_the_same_however_they_are_cut),
        cmocka_unit_test(a_line_past_the_limit_is_not_kept),
        cmocka_unit_test_setup_teardown(messages_are_sorted_by_what_they_hold, setup, teardown),
        cmocka_unit_test(a_message_that_needs_too_much_memory_is_refused),
        cmocka_unit_test_setup_teardown(a_message_that_is_too_deep_is_refused_by_its_id, setup,
                                        teardown),
        cmocka_unit_test(an_error_carries_its_facts),
        cmocka_unit_test_setup_teardown(a_cursor_comes_back_as_it_was, setup, teardown),
        cmocka_unit_test_setup_teardown(a_cursor_that_was_not_given_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(arguments_are_taken_by_type, setup, teardown),
        cmocka_unit_test_setup_teardown(arguments_have_the_values_given, setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_unknown_or_missing_is_named, setup, teardown),
        cmocka_unit_test_setup_teardown(tools_follow_the_rules_of_clients, setup, teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
