/* From a message to the method that answers it, and back to an answer of its era. */
#include "mcp/server.h"

#include <stdlib.h>
#include <string.h>

#include "mcp/arguments.h"
#include "mcp/envelope.h"
#include "mcp/methods.h"
#include "mcp/tools.h"
#include "json/text.h"

/* --- Life ------------------------------------------------------------------------------------------ */

static enum sirix_status parse_schemas(struct sirix_mcp_server *server, struct sirix_error *err)
{
    struct sirix_json_tree tree;
    enum sirix_status status = SIRIX_OK;

    if (server->registry->tool_count > SIRIX_MCP_TOOLS_MAX) {
        return sirix_fail(err, SIRIX_INTERNAL, "more tools than there is room for");
    }
    for (size_t i = 0; i < server->registry->tool_count && status == SIRIX_OK; i++) {
        const char *schema = server->registry->tools[i].input_schema;

        status = sirix_json_tree_init(&tree, &server->arena, err);
        if (status == SIRIX_OK) {
            status = sirix_json_tree_parse(&tree, sirix_bytes_from_str(schema), NULL, NULL, err);
        }
        if (status == SIRIX_OK) {
            server->schemas[i] = tree.root;
        }
    }
    return status;
}

enum sirix_status sirix_mcp_server_init(struct sirix_mcp_server *server,
                                        const struct sirix_settings *settings,
                                        const struct sirix_mcp_registry *registry,
                                        struct sirix_gateway_backend *backend,
                                        struct sirix_error *err)
{
    *server = (struct sirix_mcp_server){
        .settings = settings,
        .backend = backend,
        .registry = registry,
        .tools_page = SIRIX_MCP_TOOLS_PAGE,
        .may_create = true,
    };
    sirix_arena_init(&server->arena, SIZE_MAX);
    enum sirix_status status = parse_schemas(server, err);
    if (status == SIRIX_OK) {
        status = sirix_seal_keys_random(&server->keys, err);
    }
    if (status == SIRIX_OK) {
        server->pending = malloc(sizeof(*server->pending));
        server->metrics = calloc(1, sizeof(*server->metrics));
        server->rate = calloc(1, sizeof(*server->rate));
        server->heartbeat = malloc(sizeof(*server->heartbeat));
        status = server->pending == NULL || server->metrics == NULL || server->rate == NULL ||
                         server->heartbeat == NULL
                     ? sirix_fail(err, SIRIX_NO_MEMORY, "no memory")
                     : SIRIX_OK;
    }
    if (server->pending != NULL) {
        sirix_pending_init(server->pending);
    }
    if (server->heartbeat != NULL) {
        sirix_heartbeat_init(server->heartbeat);
    }
    if (status == SIRIX_OK) {
        status = sirix_events_new(server, &server->events, err);
    }
    if (status != SIRIX_OK) {
        sirix_mcp_server_deinit(server);
    }
    return status;
}

void sirix_mcp_server_end(const struct sirix_mcp_server *server)
{
    sirix_pending_end(server->pending);
}

bool sirix_mcp_server_is_ending(const struct sirix_mcp_server *server)
{
    return sirix_pending_is_ending(server->pending);
}

void sirix_mcp_server_deinit(struct sirix_mcp_server *server)
{
    free(server->metrics);
    free(server->rate);
    if (server->heartbeat != NULL) {
        sirix_heartbeat_deinit(server->heartbeat);
        free(server->heartbeat);
    }
    sirix_events_free(server->events);
    if (server->pending != NULL) {
        sirix_pending_deinit(server->pending);
        free(server->pending);
    }
    sirix_arena_deinit(&server->arena);
}

/* --- Methods --------------------------------------------------------------------------------------- */

static enum sirix_status answer_empty(struct sirix_mcp_request *request, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    (void)request;
    return sirix_buf_append_str(out, "{}", err);
}

enum needs { NOTHING, WATCHING, RESOURCES, PROMPTS, COMPLETION };

static const struct method {
    const char *name;
    sirix_mcp_method_fn run;
    bool is_legacy; /* It is there in that era. */
    bool is_modern;
    bool is_long;
    bool is_first; /* Also before `initialize`. */
    enum needs needs;
} methods[] = {
    {"tools/call", sirix_mcp_tools_call, true, true, true, false, NOTHING},
    {"tools/list", sirix_mcp_tools_list, true, true, false, false, NOTHING},
    {"ping", answer_empty, true, false, false, true, NOTHING},
    {"initialize", sirix_mcp_initialize, true, false, false, true, NOTHING},
    {"server/discover", sirix_mcp_discover, false, true, false, true, NOTHING},
    {"resources/read", sirix_mcp_resources_read, true, true, true, false, RESOURCES},
    {"resources/list", sirix_mcp_resources_list, true, true, true, false, RESOURCES},
    {"resources/templates/list", sirix_mcp_templates_list, true, true, false, false, RESOURCES},
    {"resources/subscribe", sirix_mcp_resources_subscribe, true, false, true, false, WATCHING},
    {"resources/unsubscribe", sirix_mcp_resources_unsubscribe, true, false, true, false, WATCHING},
    {"subscriptions/listen", answer_empty, false, true, false, false, RESOURCES},
    {"prompts/list", sirix_mcp_prompts_list, true, true, false, false, PROMPTS},
    {"prompts/get", sirix_mcp_prompts_get, true, true, true, false, PROMPTS},
    {"completion/complete", sirix_mcp_complete, true, true, true, false, COMPLETION},
    {"logging/setLevel", sirix_mcp_set_level, true, false, false, false, NOTHING},
};

static bool has_what_it_needs(const struct sirix_mcp_request *request, enum needs needs)
{
    const struct sirix_mcp_registry *registry = request->server->registry;

    switch (needs) {
    case WATCHING:
        return registry->resource_count != 0 && sirix_mcp_can_watch(request);
    case RESOURCES:
        return registry->resource_count != 0;
    case PROMPTS:
        return registry->prompt_count != 0;
    case COMPLETION:
        return registry->complete != NULL;
    default:
        return true;
    }
}

/* The method that serves a request in its era; NULL: there is none. */
static const struct method *find_method(const struct sirix_mcp_request *request)
{
    const bool is_modern = sirix_mcp_is_modern(request->context.version);

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        const struct method *method = &methods[i];

        if (sirix_bytes_equal(request->message->method, sirix_bytes_from_str(method->name))) {
            return (is_modern ? method->is_modern : method->is_legacy) &&
                           has_what_it_needs(request, method->needs)
                       ? method
                       : NULL;
        }
    }
    return NULL;
}

/* --- Requests -------------------------------------------------------------------------------------- */

void sirix_mcp_request_open(struct sirix_mcp_request *request,
                            const struct sirix_mcp_server *server,
                            struct sirix_mcp_session *session,
                            const struct sirix_mcp_headers *headers, struct sirix_arena *arena,
                            const struct sirix_jsonrpc_message *message)
{
    *request = (struct sirix_mcp_request){
        .server = server,
        .session = session,
        .headers = headers,
        .message = message,
        .arena = arena,
        .context = {.log_level = SIRIX_MCP_LOG_NONE, .is_http = headers != NULL},
        .http_status = SIRIX_HTTP_OK,
    };
    sirix_buf_init(&request->questions, SIZE_MAX);
    sirix_buf_init(&request->state, SIZE_MAX);
    if (message->is_faulty) {
        request->failure.code = message->fault.code;
        request->failure.error = message->fault.error;
        request->http_status = SIRIX_HTTP_BAD_REQUEST;
    } else {
        request->failure.error.status = sirix_envelope_read(request);
    }
}

void sirix_mcp_request_close(struct sirix_mcp_request *request)
{
    sirix_buf_deinit(&request->questions);
    sirix_buf_deinit(&request->state);
}

static bool is_refused(const struct sirix_mcp_request *request)
{
    return request->message->is_faulty || request->failure.error.status != SIRIX_OK;
}

bool sirix_mcp_is_long(const struct sirix_mcp_request *request)
{
    const struct method *method = is_refused(request) ? NULL : find_method(request);

    return method != NULL && method->is_long;
}

bool sirix_mcp_is_listening(const struct sirix_mcp_request *request)
{
    const struct method *method = is_refused(request) ? NULL : find_method(request);

    return method != NULL && strcmp(method->name, "subscriptions/listen") == 0;
}

static enum sirix_status run(struct sirix_mcp_request *request, struct sirix_buf *out,
                             struct sirix_error *err)
{
    const struct method *method = find_method(request);

    if (method == NULL) {
        enum sirix_status status =
            sirix_fail(err, SIRIX_UNSUPPORTED, "there is no such method here");

        sirix_error_set_field(err, "method");
        if (sirix_mcp_is_modern(request->context.version)) {
            request->http_status = SIRIX_HTTP_NOT_FOUND;
        }
        return status;
    }
    if (request->context.version == SIRIX_MCP_NONE && !method->is_first) {
        request->failure.code = SIRIX_JSONRPC_INVALID_REQUEST;
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_NONE,
                                 "initialize must come first");
    }
    return method->run(request, out, err);
}

/* --- Answers --------------------------------------------------------------------------------------- */

/* The code of a failure: in the modern era none of the range that the protocol keeps for itself. */
static int code_of(const struct sirix_mcp_request *request)
{
    const int code = request->failure.code != 0
                         ? request->failure.code
                         : sirix_status_jsonrpc_code(request->failure.error.status);
    const bool is_of_protocol = request->failure.code != 0 || code <= SIRIX_JSONRPC_INVALID_REQUEST;

    return is_of_protocol || !sirix_mcp_is_modern(request->context.version)
               ? code
               : SIRIX_JSONRPC_INTERNAL_ERROR;
}

static enum sirix_status write_failure(struct sirix_mcp_request *request, struct sirix_buf *out,
                                       struct sirix_error *err)
{
    const int code = code_of(request);

    (void)atomic_fetch_add(&request->server->metrics->requests_failed, 1);
    if (code == SIRIX_MCP_MISSING_CAPABILITY && sirix_mcp_is_modern(request->context.version)) {
        request->http_status = SIRIX_HTTP_BAD_REQUEST;
    }
    return sirix_jsonrpc_write_error(out, request->message->id, code, &request->failure.error,
                                     request->failure.data, err);
}

static enum sirix_status write_result(const struct sirix_mcp_request *request,
                                      struct sirix_bytes result, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    struct sirix_buf sealed;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_mcp_is_modern(request->context.version)) {
        return sirix_jsonrpc_write_result(out, request->message->id, result, err);
    }
    sirix_buf_init(&sealed, SIZE_MAX);
    status = request->is_asking ? sirix_envelope_questions(request, &sealed, err)
                                : sirix_envelope_seal(request, result, &sealed, err);
    if (status == SIRIX_OK) {
        status =
            sirix_jsonrpc_write_result(out, request->message->id, sirix_buf_view(&sealed), err);
    }
    sirix_buf_deinit(&sealed);
    return status;
}

enum sirix_status sirix_mcp_answer(struct sirix_mcp_request *request, struct sirix_buf *out,
                                   struct sirix_error *err)
{
    struct sirix_buf result;
    struct sirix_error failure = {0};
    enum sirix_status status = SIRIX_OK;

    (void)atomic_fetch_add(sirix_mcp_is_modern(request->context.version)
                               ? &request->server->metrics->requests_modern
                               : &request->server->metrics->requests_legacy,
                           1);
    if (is_refused(request)) {
        return write_failure(request, out, err);
    }
    (void)atomic_fetch_add(&request->server->metrics->running, 1);
    sirix_buf_init(&result, SIZE_MAX);
    status = run(request, &result, &failure);
    (void)atomic_fetch_sub(&request->server->metrics->running, 1);
    if (status == SIRIX_OK) {
        status = write_result(request, sirix_buf_view(&result), out, err);
    } else {
        request->failure.error = failure;
        status = write_failure(request, out, err);
    }
    sirix_buf_deinit(&result);
    return status;
}

enum sirix_status sirix_mcp_refuse(struct sirix_mcp_request *request,
                                   const struct sirix_error *failure, struct sirix_buf *out,
                                   struct sirix_error *err)
{
    request->failure = (struct sirix_mcp_failure){.error = *failure};
    if (failure->status == SIRIX_ALREADY_EXISTS) {
        request->failure.code = SIRIX_JSONRPC_INVALID_REQUEST;
    }
    return write_failure(request, out, err);
}

void sirix_mcp_take_answer(const struct sirix_mcp_server *server,
                           const struct sirix_jsonrpc_message *message)
{
    sirix_pending_deliver(server->pending, message->id, message->result);
}

enum sirix_status sirix_mcp_cancelled_id(struct sirix_arena *arena,
                                         const struct sirix_jsonrpc_message *message,
                                         struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_json_node *id = sirix_arguments_member(message->params, "requestId");
    const bool is_cancelled =
        sirix_bytes_equal(message->method, sirix_bytes_from_str("notifications/cancelled"));

    return sirix_jsonrpc_id(arena, is_cancelled ? id : NULL, out, err);
}

enum sirix_status sirix_mcp_text_param(struct sirix_mcp_request *request, const char *name,
                                       struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_json_node *node = sirix_arguments_member(request->message->params, name);
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    char *copy = NULL;

    if (node == NULL || node->kind != SIRIX_JSON_KIND_STRING) {
        char field[SIRIX_ERROR_WHERE_BYTES] = "params.";
        enum sirix_status bad = sirix_fail_reason(err, SIRIX_INVALID,
                                                  node == NULL ? SIRIX_REASON_FIELD_MISSING
                                                               : SIRIX_REASON_FIELD_INVALID,
                                                  "params.%s must be a string", name);

        (void)strncat(field, name, sizeof(field) - strlen(field) - 1);
        sirix_error_set_field(err, field);
        return bad;
    }
    enum sirix_status status =
        sirix_json_text_to_plain(request->arena, node->value.text, &plain, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(request->arena, plain, &copy, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_bytes){.data = copy, .len = plain.len};
    }
    return status;
}
