/*
 * Any bytes as the input of a connection: lines, messages, and calls of tools in front of a made-up
 * backend. What must hold:
 *   - every message that asks for an answer gets one, which is one JSON value without a line break
 *   - an answer to a call is the same in its text and its structure
 *   - cutting the input into other chunks makes no difference to the lines
 */
#include <assert.h>
#include <stdint.h>
#include <string.h>

#include "mcp/server.h"
#include "mcp/tools.h"
#include "transport/lines.h"
#include "unit/gateway/fake_backend.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { LINE_BYTES_MAX = 4096 };

static struct sirix_settings settings;
static struct sirix_mcp_registry registry;
static struct sirix_mcp_server server;

static void check_answer(struct sirix_arena *arena, const struct sirix_buf *answer)
{
    struct sirix_json_tree tree;

    assert(answer->len != 0);
    assert(memchr(answer->data, '\n', answer->len) == NULL);
    assert(sirix_json_tree_init(&tree, arena, NULL) == SIRIX_OK);
    assert(sirix_json_tree_parse(&tree, sirix_buf_view(answer), NULL, NULL, NULL) == SIRIX_OK);
    const struct sirix_json_node *result = sirix_arguments_member(tree.root, "result");
    assert((result != NULL) != (sirix_arguments_member(tree.root, "error") != NULL));
}

static void take_line(struct sirix_mcp_session *session, struct sirix_bytes line)
{
    struct sirix_jsonrpc_input input = {0};
    struct sirix_arena arena;
    struct sirix_buf answer;

    sirix_arena_init(&arena, 16 * 1024 * 1024);
    sirix_buf_init(&answer, SIZE_MAX);
    assert(sirix_jsonrpc_read(&arena, line, &input, NULL) == SIRIX_OK);
    assert(input.count != 0);
    for (size_t i = 0; i < input.count; i++) {
        struct sirix_jsonrpc_message *message = &input.messages[i];

        if (message->is_faulty || message->kind == SIRIX_JSONRPC_REQUEST) {
            struct sirix_mcp_request request;

            sirix_buf_clear(&answer);
            sirix_mcp_request_open(&request, &server, session, NULL, &arena, message);
            assert(sirix_mcp_answer(&request, &answer, NULL) == SIRIX_OK);
            sirix_mcp_request_close(&request);
            check_answer(&arena, &answer);
        }
    }
    sirix_buf_deinit(&answer);
    sirix_arena_deinit(&arena);
}

/* Lines of the input in chunks; each is counted into a sum that chunks may not change. */
static uint64_t take_input(const uint8_t *data, size_t size, size_t chunk, bool serve)
{
    struct sirix_mcp_session session = {.context = {.version = SIRIX_MCP_NONE}};
    struct sirix_bytes line = {.data = NULL, .len = 0};
    struct sirix_lines lines;
    uint64_t sum = 0;

    sirix_lines_init(&lines, LINE_BYTES_MAX);
    for (size_t at = 0; at <= size;) {
        size_t len = size - at < chunk ? size - at : chunk;

        assert(sirix_lines_feed(&lines, (struct sirix_bytes){data + at, len}, NULL) == SIRIX_OK);
        at += len;
        if (at == size) {
            sirix_lines_end(&lines);
            at++;
        }
        enum sirix_lines_kind kind = SIRIX_LINES_MORE;
        while ((kind = sirix_lines_next(&lines, &line)) != SIRIX_LINES_MORE) {
            sum = sum * 31 + (kind == SIRIX_LINES_LINE ? line.len : UINT64_MAX);
            if (serve && kind == SIRIX_LINES_LINE) {
                take_line(&session, line);
            }
        }
    }
    sirix_lines_deinit(&lines);
    return sum;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (server.settings == NULL) {
        assert(sirix_settings_init(&settings, NULL) == SIRIX_OK);
        settings.read_only = false;
        registry = sirix_mcp_product();
        assert(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL) == SIRIX_OK);
        fake.sentence = "made up";
    }
    const uint64_t whole = take_input(data, size, size + 1, true);
    assert(take_input(data, size, 7, false) == whole);
    return 0;
}
