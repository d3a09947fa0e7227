/* Reading and writing of JSON-RPC messages. */
#include "jsonrpc/message.h"

#include <string.h>

#include "jsonrpc/put.h"
#include "json/reader.h"

enum { RECOVERY_DEPTH_MAX = 1000 * 1000 };

static void set_fault(struct sirix_jsonrpc_message *message, int code, enum sirix_reason reason,
                      const char *field, const char *text)
{
    message->is_faulty = true;
    message->fault.code = code;
    (void)sirix_fail_reason(&message->fault.error, SIRIX_INVALID, reason, "%s", text);
    sirix_error_set_field(&message->fault.error, field);
}

/* Which kind of message an object is; `jsonrpc` and the id are looked at already. */
static void read_kind(struct sirix_json_tree *tree, struct sirix_json_node *node, bool has_id,
                      struct sirix_jsonrpc_message *message)
{
    const struct sirix_json_node *method = sirix_json_member_str(tree, node, "method");
    struct sirix_json_node *params = sirix_json_member_str(tree, node, "params");

    if (method == NULL && has_id &&
        (sirix_json_member_str(tree, node, "result") != NULL ||
         sirix_json_member_str(tree, node, "error") != NULL)) {
        message->kind = SIRIX_JSONRPC_RESPONSE;
        message->result = sirix_json_member_str(tree, node, "result");
        return;
    }
    if (method == NULL || method->kind != SIRIX_JSON_KIND_STRING) {
        set_fault(message, SIRIX_JSONRPC_INVALID_REQUEST,
                  method == NULL ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_FIELD_INVALID,
                  "method", "method must be a string");
        return;
    }
    message->kind = has_id ? SIRIX_JSONRPC_REQUEST : SIRIX_JSONRPC_NOTIFICATION;
    message->method = method->value.text;
    if (params != NULL && params->kind != SIRIX_JSON_KIND_OBJECT) {
        set_fault(message, SIRIX_JSONRPC_INVALID_PARAMS, SIRIX_REASON_FIELD_INVALID, "params",
                  "params must be an object");
        return;
    }
    message->params = params;
}

static enum sirix_status read_message(struct sirix_json_tree *tree, struct sirix_json_node *node,
                                      struct sirix_jsonrpc_message *message,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (node->kind != SIRIX_JSON_KIND_OBJECT) {
        set_fault(message, SIRIX_JSONRPC_INVALID_REQUEST, SIRIX_REASON_FIELD_INVALID, "",
                  "a message must be an object");
        return SIRIX_OK;
    }
    const struct sirix_json_node *id = sirix_json_member_str(tree, node, "id");
    status = sirix_jsonrpc_id(tree->arena, id, &message->id, err);
    if (status == SIRIX_OK && id != NULL && message->id.len == 0) {
        set_fault(message, SIRIX_JSONRPC_INVALID_REQUEST, SIRIX_REASON_FIELD_INVALID, "id",
                  "id must be a string or a number of at most 1024 bytes");
    }
    if (status != SIRIX_OK || message->is_faulty) {
        return status;
    }
    const struct sirix_json_node *version = sirix_json_member_str(tree, node, "jsonrpc");
    if (version == NULL || version->kind != SIRIX_JSON_KIND_STRING ||
        version->value.text.len != 3 || memcmp(version->value.text.data, "2.0", 3) != 0) {
        set_fault(message, SIRIX_JSONRPC_INVALID_REQUEST,
                  version == NULL ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_FIELD_INVALID,
                  "jsonrpc", "jsonrpc must be \"2.0\"");
        return SIRIX_OK;
    }
    read_kind(tree, node, id != NULL, message);
    return SIRIX_OK;
}

/* A text that is not JSON, or too much of it: one faulty message without id. */
static void unreadable(struct sirix_jsonrpc_input *input, const struct sirix_error *error)
{
    struct sirix_jsonrpc_message *message = &input->messages[0];
    bool is_limit = error->status == SIRIX_EXHAUSTED || error->reason == SIRIX_REASON_DEPTH_LIMIT ||
                    error->reason == SIRIX_REASON_SIZE_LIMIT;

    message->is_faulty = true;
    message->fault.code = is_limit ? SIRIX_JSONRPC_INVALID_REQUEST : SIRIX_JSONRPC_PARSE_ERROR;
    message->fault.error = *error;
}

/*
 * The id of a request that is too deep or too large to be read as a tree, so that whoever waits for
 * the answer gets it. Left empty where there is none to be found.
 */
static enum sirix_status recover_id(struct sirix_arena *arena, struct sirix_bytes text,
                                    struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_json_reader_options options = {.depth_max = RECOVERY_DEPTH_MAX};
    struct sirix_json_node id = {.kind = SIRIX_JSON_KIND_NULL};
    struct sirix_json_event event = {.kind = SIRIX_JSON_NEED_INPUT};
    struct sirix_json_reader reader;
    bool is_next = false; /* The event is the value of the member `id` of the message. */

    sirix_json_reader_init(&reader, &options);
    sirix_json_reader_feed(&reader, text, true);
    while (id.kind == SIRIX_JSON_KIND_NULL &&
           sirix_json_reader_next(&reader, &event, NULL) == SIRIX_OK &&
           event.kind != SIRIX_JSON_END) {
        if (is_next && event.kind == SIRIX_JSON_NUMBER) {
            id.kind = SIRIX_JSON_KIND_NUMBER;
        } else if (is_next && event.kind == SIRIX_JSON_STRING) {
            id.kind = SIRIX_JSON_KIND_STRING;
        }
        is_next = event.kind == SIRIX_JSON_NAME && sirix_json_reader_depth(&reader) == 1 &&
                  event.text.len == 2 && memcmp(event.text.data, "id", 2) == 0;
    }
    enum sirix_status status = SIRIX_OK;
    if (id.kind != SIRIX_JSON_KIND_NULL) {
        /* The event's text goes with the reader. */
        status = sirix_arena_copy(arena, event.text, &id.value.text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_jsonrpc_id(arena, &id, out, err);
    }
    sirix_json_reader_deinit(&reader);
    return status;
}

/*
 * A member that is there twice: which one, is found by reading once more. Only a request that has an
 * id can be told so by name; a batch is refused as a whole.
 */
static enum sirix_status refuse_duplicates(struct sirix_arena *arena, struct sirix_bytes text,
                                           struct sirix_jsonrpc_input *input,
                                           struct sirix_error *err)
{
    struct sirix_jsonrpc_fault fault = {.code = SIRIX_JSONRPC_INVALID_REQUEST};
    struct sirix_json_tree again;
    enum sirix_status status = sirix_json_tree_init(&again, arena, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_json_tree_parse(&again, text, NULL, NULL, &fault.error) == SIRIX_OK) {
        return sirix_fail(err, SIRIX_INTERNAL, "a duplicate member was seen once only");
    }
    for (size_t i = 0; i < input->count; i++) {
        input->messages[i].is_faulty = true;
        input->messages[i].fault = fault;
    }
    return SIRIX_OK;
}

/* The messages of a tree that was read. */
static enum sirix_status read_tree(struct sirix_jsonrpc_input *input, struct sirix_error *err)
{
    struct sirix_json_node *root = input->tree.root;
    size_t count = root->kind == SIRIX_JSON_KIND_ARRAY ? sirix_json_count(root) : 0;
    void *memory = NULL;

    input->is_batch = count != 0;
    input->count = count == 0 ? 1 : count;
    enum sirix_status status =
        sirix_arena_calloc(input->tree.arena, input->count, sizeof(*input->messages), &memory, err);
    input->messages = memory;
    struct sirix_json_node *node = input->is_batch ? sirix_json_first(root) : root;
    for (size_t i = 0; i < input->count && status == SIRIX_OK; i++, node = node->next) {
        status = read_message(&input->tree, node, &input->messages[i], err);
    }
    return status;
}

enum sirix_status sirix_jsonrpc_read(struct sirix_arena *arena, struct sirix_bytes text,
                                     struct sirix_jsonrpc_input *out, struct sirix_error *err)
{
    const struct sirix_json_tree_options options = {.duplicates = SIRIX_JSON_DUPLICATES_LAST};
    const struct sirix_arena_mark start = sirix_arena_mark(arena);
    struct sirix_json_tree_stats stats = {0};
    struct sirix_jsonrpc_input input = {0};
    struct sirix_error error = {0};
    void *memory = NULL;

    enum sirix_status status = sirix_json_tree_init(&input.tree, arena, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_json_tree_parse(&input.tree, text, &options, &stats, &error);
    if (status == SIRIX_OK) {
        status = read_tree(&input, &error);
    }
    if (status == SIRIX_OK && stats.duplicates != 0) {
        status = refuse_duplicates(arena, text, &input, &error);
    }
    if (status == SIRIX_INVALID || status == SIRIX_EXHAUSTED) {
        /* What it took so far is given back, so that there is room to say why. */
        sirix_arena_rewind(arena, start);
        input = (struct sirix_jsonrpc_input){.count = 1};
        status = sirix_arena_calloc(arena, 1, sizeof(*input.messages), &memory, err);
        if (status != SIRIX_OK) {
            return status;
        }
        input.messages = memory;
        unreadable(&input, &error);
        if (input.messages[0].fault.code == SIRIX_JSONRPC_INVALID_REQUEST) {
            status = recover_id(arena, text, &input.messages[0].id, err);
        }
    } else if (status != SIRIX_OK && err != NULL) {
        *err = error;
    }
    if (status == SIRIX_OK) {
        *out = input;
    }
    return status;
}

enum sirix_status sirix_jsonrpc_id(struct sirix_arena *arena, const struct sirix_json_node *node,
                                   struct sirix_bytes *out, struct sirix_error *err)
{
    char *quoted = NULL;

    *out = (struct sirix_bytes){.data = NULL, .len = 0};
    if (node == NULL ||
        (node->kind != SIRIX_JSON_KIND_NUMBER && node->kind != SIRIX_JSON_KIND_STRING) ||
        node->value.text.len > SIRIX_JSONRPC_ID_BYTES_MAX) {
        return SIRIX_OK;
    }
    const struct sirix_bytes text = node->value.text;
    if (node->kind == SIRIX_JSON_KIND_NUMBER) {
        *out = text;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_printf(arena, &quoted, err, "\"%.*s\"", (int)text.len,
                                                  text.len == 0 ? "" : (const char *)text.data);
    if (status == SIRIX_OK) {
        *out = (struct sirix_bytes){.data = quoted, .len = text.len + 2};
    }
    return status;
}

enum sirix_status sirix_jsonrpc_write_result(struct sirix_buf *out, struct sirix_bytes id,
                                             struct sirix_bytes result, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(out, "{\"jsonrpc\":\"2.0\",\"id\":", err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(out, id, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, ",\"result\":", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(out, result, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, '}', err) : status;
}

static enum sirix_status write_text(struct sirix_json_writer *writer, const char *name,
                                    const char *text, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_name_str(writer, name, err);

    return status == SIRIX_OK ? sirix_json_write_string_str(writer, text, err) : status;
}

static enum sirix_status write_number(struct sirix_json_writer *writer, const char *name,
                                      uint64_t number, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_write_name_str(writer, name, err);

    return status == SIRIX_OK ? sirix_json_write_u64(writer, number, err) : status;
}

enum sirix_status sirix_jsonrpc_write_facts(struct sirix_json_writer *writer,
                                            const struct sirix_error *error,
                                            struct sirix_error *err)
{
    enum sirix_status status = write_text(writer, "status", sirix_status_name(error->status), err);

    if (status == SIRIX_OK && error->reason != SIRIX_REASON_NONE) {
        status = write_text(writer, "reason", sirix_reason_name(error->reason), err);
    }
    if (status == SIRIX_OK && error->field[0] != '\0') {
        status = write_text(writer, "field", error->field, err);
    }
    if (status == SIRIX_OK && error->pointer[0] != '\0') {
        status = write_text(writer, "pointer", error->pointer, err);
    }
    if (status == SIRIX_OK && error->has_offset) {
        status = write_number(writer, "offset", error->offset, err);
    }
    if (status == SIRIX_OK && error->code[0] != '\0') {
        status = write_text(writer, "code", error->code, err);
    }
    if (status == SIRIX_OK && error->line != 0) {
        status = write_number(writer, "line", error->line, err);
    }
    if (status == SIRIX_OK && error->line != 0) {
        status = write_number(writer, "column", error->column, err);
    }
    if (status == SIRIX_OK && error->current_revision != 0) {
        status = write_number(writer, "currentRevision", error->current_revision, err);
    }
    if (status == SIRIX_OK && error->retry_after_ms != 0) {
        status = write_number(writer, "retryAfterMs", error->retry_after_ms, err);
    }
    return status;
}

/* The facts of an error as an object, behind more members. */
static enum sirix_status write_data(struct sirix_buf *out, const struct sirix_error *error,
                                    const char *more, struct sirix_error *err)
{
    struct sirix_json_writer writer;
    const size_t start = out->len;

    sirix_json_writer_init_buf(&writer, out, NULL);
    enum sirix_status status = sirix_json_write_object_begin(&writer, err);
    if (status == SIRIX_OK) {
        status = sirix_jsonrpc_write_facts(&writer, error, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_write_object_end(&writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, err);
    }
    sirix_json_writer_deinit(&writer);
    if (status != SIRIX_OK || more == NULL) {
        return status;
    }
    /* There is a fact always, so that a comma belongs between. */
    const size_t len = strlen(more) + 1;
    status = sirix_buf_append_fill(out, ',', len, err);
    if (status == SIRIX_OK) {
        memmove(out->data + start + 1 + len, out->data + start + 1, out->len - len - start - 1);
        memcpy(out->data + start + 1, more, len - 1);
        out->data[start + len] = ',';
    }
    return status;
}

enum sirix_status sirix_jsonrpc_write_error(struct sirix_buf *out, struct sirix_bytes id, int code,
                                            const struct sirix_error *error, const char *more,
                                            struct sirix_error *err)
{
    static const struct sirix_bytes no_id = {"null", 4};
    struct sirix_buf data;
    struct sirix_put put;

    sirix_buf_init(&data, SIZE_MAX);
    enum sirix_status status = write_data(&data, error, more, err);
    if (status == SIRIX_OK) {
        sirix_put_init(&put, out);
        sirix_put_object(&put, NULL);
        sirix_put_str(&put, "jsonrpc", "2.0");
        sirix_put_raw(&put, "id", id.len == 0 ? no_id : id);
        sirix_put_object(&put, "error");
        sirix_put_i64(&put, "code", code);
        sirix_put_str(&put, "message", error->text);
        sirix_put_raw(&put, "data", sirix_buf_view(&data));
        sirix_put_object_end(&put);
        sirix_put_object_end(&put);
        status = sirix_put_finish(&put, err);
    }
    sirix_buf_deinit(&data);
    return status;
}
