/* sirix_insert, sirix_update, sirix_delete, sirix_revert. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mcp/confirm.h"
#include "mcp/trail.h"
#include "json/text.h"

/* --- Values ------------------------------------------------------------------------------------- */

/* JSON text that is given as a string: it must be exactly one value. */
static enum sirix_status check_json(struct sirix_mcp_call *call, struct sirix_bytes text,
                                    const char *name, struct sirix_error *err)
{
    struct sirix_json_tree tree;
    enum sirix_status status = sirix_json_tree_init(&tree, call->arena, err);

    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&tree, text, NULL, NULL, err);
        if (status != SIRIX_OK) {
            sirix_error_set_field(err, name);
        }
    }
    return status;
}

/* Whether a string is meant as JSON: the whole of it is an object or array. */
static bool is_container_text(struct sirix_mcp_call *call, struct sirix_bytes text)
{
    const char *at = text.data;
    const char *end = at + text.len;
    struct sirix_json_tree tree;

    while (at < end && strchr(" \t\r\n", *at) != NULL && *at != '\0') {
        at++;
    }
    if (at == end || (*at != '{' && *at != '[')) {
        return false;
    }
    return sirix_json_tree_init(&tree, call->arena, NULL) == SIRIX_OK &&
           sirix_json_tree_parse(&tree, text, NULL, NULL, NULL) == SIRIX_OK;
}

/*
 * The value to store, as JSON text: that of `name`, which may be any value, or of `text_name`, which
 * is a string of JSON text. Exactly one must be given.
 */
static enum sirix_status take_value(struct sirix_mcp_call *call, const char *name,
                                    const char *text_name, bool parse_strings,
                                    struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_argument *value = sirix_argument(&call->arguments, name);
    const struct sirix_argument *json = sirix_argument(&call->arguments, text_name);
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    struct sirix_buf text;

    if ((value != NULL) == (json != NULL)) {
        enum sirix_status status = sirix_fail_reason(
            err, SIRIX_INVALID,
            value == NULL ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_FIELD_INVALID,
            "give %s (any JSON value) or %s (JSON text in a string), one of them", name, text_name);
        sirix_error_set_field(err, name);
        return status;
    }
    if (json != NULL) {
        *out = json->text;
        return check_json(call, json->text, text_name, err);
    }
    enum sirix_status status = SIRIX_OK;
    if (parse_strings && value->node->kind == SIRIX_JSON_KIND_STRING) {
        status = sirix_json_text_to_plain(call->arena, value->node->value.text, &plain, err);
        if (status == SIRIX_OK && plain.len != 0 && is_container_text(call, plain)) {
            *out = plain;
            return SIRIX_OK;
        }
    }
    sirix_buf_init(&text, SIZE_MAX);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_print(value->node, &text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(call->arena, sirix_buf_view(&text), out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- Apply -------------------------------------------------------------------------------------- */

struct writing {
    struct sirix_mcp_call *call;
    struct sirix_operation operation;
    struct sirix_apply_result *result;
};

static enum sirix_status preview_operation(struct sirix_mcp_call *call, const void *context,
                                           struct sirix_mcp_preview *out, struct sirix_error *err)
{
    const struct sirix_apply_request *request = context;
    const struct sirix_operation *operation = &request->operations[0];

    switch (operation->kind) {
    case SIRIX_OPERATION_DELETE:
        return sirix_mcp_preview_node(call, request->branch, operation->node_key,
                                      "Delete this and all below it,", out, err);
    case SIRIX_OPERATION_INSERT:
        return sirix_mcp_preview_node(call, request->branch, operation->place.node_key,
                                      "Insert data at this place", out, err);
    default:
        return sirix_mcp_preview_node(call, request->branch, operation->node_key,
                                      "Give this another value,", out, err);
    }
}

/*
 * Names, branch, what every write carries; then one operation, one revision. Nothing was done where the
 * call is held.
 */
static enum sirix_status apply(struct writing *w, struct sirix_error *err)
{
    struct sirix_mcp_call *call = w->call;
    struct sirix_apply_request request = {
        .database = call->database,
        .resource = call->resource,
        .operations = &w->operation,
        .operation_count = 1,
    };
    enum sirix_status status = sirix_mcp_name(call, "branch", true, &request.branch, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_write_options(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_confirm(call, preview_operation, &request, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        status = sirix_backend_apply(call->server->backend, &request, &options, &w->result, err);
    }
    return status;
}

static void add_result(struct sirix_mcp_call *call, const struct sirix_write_result *result)
{
    struct sirix_answer *answer = &call->answer;

    call->trace.revision_before = result->changed ? result->parent_revision : result->revision;
    call->trace.revision_after = result->revision;
    sirix_answer_str(answer, answer->body, "database", call->database);
    sirix_answer_str(answer, answer->body, "resource", call->resource);
    sirix_answer_u64(answer, answer->body, "revision", result->revision);
    sirix_answer_u64(answer, answer->body, "parentRevision", result->parent_revision);
    sirix_answer_time(answer, answer->body, "timestamp", result->timestamp_us);
    sirix_answer_bool(answer, answer->body, "changed", result->changed);
}

static void add_keys(struct sirix_answer *answer, const uint64_t *keys, size_t count)
{
    struct sirix_json_node *list = sirix_answer_array(answer);

    for (size_t i = 0; i < count && i < answer->bytes_max / 64; i++) {
        struct sirix_json_node *key = NULL;

        if (answer->status == SIRIX_OK) {
            answer->status = sirix_json_new_u64(&answer->tree, keys[i], &key, &answer->error);
        }
        sirix_answer_append(answer, list, key);
    }
    if (count > answer->bytes_max / 64) {
        sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
    }
    sirix_answer_set(answer, answer->body, "nodeKeys", list);
}

/* --- sirix_insert ------------------------------------------------------------------------------- */

static enum sirix_position position_of(struct sirix_bytes name)
{
    if (sirix_bytes_equal(name, sirix_bytes_from_str("last_child"))) {
        return SIRIX_POSITION_LAST_CHILD;
    }
    if (sirix_bytes_equal(name, sirix_bytes_from_str("right_sibling"))) {
        return SIRIX_POSITION_RIGHT_SIBLING;
    }
    return SIRIX_POSITION_FIRST_CHILD;
}

/* What the store says about a parent that is a scalar does not name the tool to use instead. */
static void explain_parent(enum sirix_status status, struct sirix_error *err)
{
    if (err != NULL && status != SIRIX_OK && err->reason == SIRIX_REASON_NODE_KIND) {
        const struct sirix_error first = *err;

        (void)snprintf(err->text, sizeof(err->text),
                       "%.300s; sirix_update sets the value of a node", first.text);
    }
}

enum sirix_status sirix_tool_insert(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct writing w = {.call = call, .operation = {.kind = SIRIX_OPERATION_INSERT}};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = take_value(call, "data", "dataJson", true, &w.operation.json, err);
    }
    if (status == SIRIX_OK) {
        w.operation.place.node_key = sirix_argument_number(&call->arguments, "parentNodeKey", 0);
        w.operation.place.position = position_of(sirix_argument_text(&call->arguments, "position"));
        status = apply(&w, err);
        explain_parent(status, err);
    }
    if (status != SIRIX_OK || call->is_held) {
        return status;
    }
    const struct sirix_operation_result *done = &w.result->operations[0];
    sirix_answer_printf(answer, answer->body, "message",
                        "Inserted %zu node%s into %s/%s: revision %" PRIu64, done->node_key_count,
                        done->node_key_count == 1 ? "" : "s", call->database, call->resource,
                        w.result->result.revision);
    add_result(call, &w.result->result);
    add_keys(answer, done->node_keys, done->node_key_count);
    sirix_answer_str(answer, answer->body, "kind", sirix_node_type_name(done->type));
    sirix_backend_release(w.result);
    return SIRIX_OK;
}

/* --- sirix_update and sirix_delete -------------------------------------------------------------- */

enum sirix_status sirix_tool_update(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct writing w = {.call = call};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = take_value(call, "value", "valueJson", false, &w.operation.json, err);
    }
    if (status == SIRIX_OK) {
        w.operation.kind = sirix_argument_boolean(&call->arguments, "replace")
                               ? SIRIX_OPERATION_REPLACE
                               : SIRIX_OPERATION_UPDATE;
        w.operation.node_key = sirix_argument_number(&call->arguments, "nodeKey", 0);
        status = apply(&w, err);
    }
    if (status != SIRIX_OK || call->is_held) {
        return status;
    }
    const struct sirix_operation_result *done = &w.result->operations[0];
    sirix_answer_printf(answer, answer->body, "message",
                        "Node %" PRIu64 " of %s/%s is a%s %s%s: revision %" PRIu64,
                        w.operation.node_key, call->database, call->resource,
                        strchr("ao", sirix_node_type_name(done->type)[0]) != NULL ? "n" : "",
                        sirix_node_type_name(done->type), done->changed ? "" : ", as before",
                        w.result->result.revision);
    add_result(call, &w.result->result);
    add_keys(answer, &w.operation.node_key, 1);
    sirix_answer_str(answer, answer->body, "kind", sirix_node_type_name(done->type));
    sirix_backend_release(w.result);
    return SIRIX_OK;
}

enum sirix_status sirix_tool_delete(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct writing w = {.call = call, .operation = {.kind = SIRIX_OPERATION_DELETE}};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        w.operation.node_key = sirix_argument_number(&call->arguments, "nodeKey", 0);
        status = apply(&w, err);
    }
    if (status != SIRIX_OK || call->is_held) {
        return status;
    }
    sirix_answer_printf(answer, answer->body, "message",
                        "Deleted node %" PRIu64 " of %s/%s with all below it: revision %" PRIu64,
                        w.operation.node_key, call->database, call->resource,
                        w.result->result.revision);
    add_result(call, &w.result->result);
    add_keys(answer, &w.operation.node_key, 1);
    sirix_backend_release(w.result);
    return SIRIX_OK;
}

/* --- sirix_revert ------------------------------------------------------------------------------- */

static enum sirix_status preview_revert(struct sirix_mcp_call *call, const void *context,
                                        struct sirix_mcp_preview *out, struct sirix_error *err)
{
    const struct sirix_revert_request *request = context;
    const struct sirix_view head = {
        .kind = request->branch != NULL ? SIRIX_VIEW_BRANCH : SIRIX_VIEW_DEFAULT,
        .name = request->branch,
    };

    return sirix_mcp_preview_diff(call, &head, &request->view, "Revert", out, err);
}

enum sirix_status sirix_tool_revert(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_revert_request request = {0};
    struct sirix_revert_result result = {0};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &request.view, err);
    }
    if (status == SIRIX_OK && sirix_argument(&call->arguments, "revision") == NULL &&
        sirix_argument(&call->arguments, "snapshot") == NULL &&
        sirix_argument(&call->arguments, "timestamp") == NULL) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "what shall come back? Give revision, snapshot or timestamp");
        sirix_error_set_field(err, "revision");
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "branch", true, &request.branch, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_write_options(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        request.database = call->database;
        request.resource = call->resource;
        status = sirix_mcp_confirm(call, preview_revert, &request, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        status = sirix_backend_revert(call->server->backend, &request, &options, &result, err);
    }
    if (status != SIRIX_OK || call->is_held) {
        return status;
    }
    if (result.result.changed) {
        sirix_answer_printf(answer, answer->body, "message",
                            "Reverted to revision %" PRIu64 " (new revision %" PRIu64 ")",
                            result.reverted_to, result.result.revision);
    } else {
        sirix_answer_printf(answer, answer->body, "message",
                            "Already the same as revision %" PRIu64 ", nothing to revert",
                            result.reverted_to);
    }
    add_result(call, &result.result);
    sirix_answer_u64(answer, answer->body, "revertedTo", result.reverted_to);
    add_keys(answer, NULL, 0);
    return SIRIX_OK;
}
