/* The envelope of a request. */
#include "mcp/envelope.h"

#include <stdio.h>
#include <string.h>

#include "mcp/arguments.h"
#include "mcp/notify.h"
#include "json/text.h"

enum { SHOWN_BYTES_MAX = 64, WHERE_BYTES = 128 };

/* --- The client ------------------------------------------------------------------------------------ */

/* A text of the client's, cut to a C string of at most max bytes. */
static enum sirix_status copy_text(struct sirix_arena *arena, const struct sirix_json_node *node,
                                   char *out, size_t max, struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    if (node == NULL || node->kind != SIRIX_JSON_KIND_STRING) {
        return SIRIX_OK;
    }
    const struct sirix_bytes cut = {
        .data = node->value.text.data,
        .len = sirix_json_text_cut(node->value.text, max),
    };
    enum sirix_status status = sirix_json_text_to_plain(arena, cut, &plain, err);
    if (status == SIRIX_OK && plain.len != 0) {
        const size_t len = strnlen(plain.data, plain.len); /* Ends at its first NUL. */

        memcpy(out, plain.data, len);
        out[len] = '\0';
    }
    return status;
}

/* elicitation: {} and {"form":{}} mean forms, {"url":{}} alone does not. */
static bool can_fill_forms(const struct sirix_json_node *elicitation)
{
    return elicitation != NULL && (sirix_arguments_member(elicitation, "form") != NULL ||
                                   sirix_arguments_member(elicitation, "url") == NULL);
}

enum sirix_status sirix_envelope_client(struct sirix_mcp_context *context,
                                        struct sirix_arena *arena,
                                        const struct sirix_json_node *info,
                                        const struct sirix_json_node *capabilities,
                                        struct sirix_error *err)
{
    context->capabilities = 0;
    if (can_fill_forms(sirix_arguments_member(capabilities, "elicitation"))) {
        context->capabilities |= SIRIX_MCP_CAN_ELICIT;
    }
    if (sirix_arguments_member(capabilities, "sampling") != NULL) {
        context->capabilities |= SIRIX_MCP_CAN_SAMPLE;
    }
    if (sirix_arguments_member(capabilities, "roots") != NULL) {
        context->capabilities |= SIRIX_MCP_CAN_LIST_ROOTS;
    }
    return copy_text(arena, sirix_arguments_member(info, "name"), context->client_name,
                     SIRIX_MCP_CLIENT_NAME_BYTES_MAX, err);
}

/* --- The modern era -------------------------------------------------------------------------------- */

static enum sirix_status bad_meta(struct sirix_mcp_request *request, const char *key, bool is_there,
                                  const char *wanted)
{
    struct sirix_mcp_failure *failure = &request->failure;
    char where[WHERE_BYTES];

    (void)snprintf(where, sizeof(where), "params._meta.%s", key);
    (void)sirix_fail_reason(&failure->error, SIRIX_INVALID,
                            is_there ? SIRIX_REASON_FIELD_INVALID : SIRIX_REASON_FIELD_MISSING,
                            "%s must be %s", where, wanted);
    sirix_error_set_field(&failure->error, where);
    failure->code = SIRIX_JSONRPC_INVALID_PARAMS;
    request->http_status = SIRIX_HTTP_BAD_REQUEST;
    return SIRIX_INVALID;
}

static enum sirix_status mismatch(struct sirix_mcp_request *request, const char *header,
                                  const char *what)
{
    struct sirix_mcp_failure *failure = &request->failure;

    (void)sirix_fail_reason(&failure->error, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                            "the header %s %s", header, what);
    sirix_error_set_field(&failure->error, header);
    failure->code = SIRIX_MCP_HEADER_MISMATCH;
    request->http_status = SIRIX_HTTP_BAD_REQUEST;
    return SIRIX_INVALID;
}

/* Whether a header has the text, which is canonical. */
static enum sirix_status check_header(struct sirix_mcp_request *request, const char *header,
                                      const char *given, const struct sirix_json_node *wanted)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    if (given == NULL) {
        return mismatch(request, header, "is missing");
    }
    if (wanted == NULL || wanted->kind != SIRIX_JSON_KIND_STRING) {
        /* The method says what is wrong with its parameters. */
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_json_text_to_plain(request->arena, wanted->value.text, &plain,
                                                        &request->failure.error);
    if (status != SIRIX_OK) {
        return status;
    }
    return sirix_bytes_equal(plain, (struct sirix_bytes){given, strlen(given)})
               ? SIRIX_OK
               : mismatch(request, header, "is not what the body says");
}

/* Which parameter Mcp-Name repeats; NULL: none. */
static const char *named_by(const struct sirix_jsonrpc_message *message)
{
    static const char *const methods[][2] = {
        {"tools/call", "name"},
        {"prompts/get", "name"},
        {"resources/read", "uri"},
    };

    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        if (sirix_bytes_equal(message->method, sirix_bytes_from_str(methods[i][0]))) {
            return methods[i][1];
        }
    }
    return NULL;
}

static enum sirix_status check_headers(struct sirix_mcp_request *request,
                                       const struct sirix_json_node *version)
{
    const struct sirix_mcp_headers *headers = request->headers;
    const struct sirix_json_node method = {
        .kind = SIRIX_JSON_KIND_STRING,
        .value.text = request->message->method,
    };
    const char *member = named_by(request->message);

    if (headers == NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        check_header(request, "MCP-Protocol-Version", headers->version, version);
    if (status == SIRIX_OK) {
        status = check_header(request, "Mcp-Method", headers->method, &method);
    }
    if (status == SIRIX_OK && member != NULL && headers->name_is_bad) {
        status = mismatch(request, "Mcp-Name", "is not properly encoded");
    }
    if (status == SIRIX_OK && member != NULL) {
        status = check_header(request, "Mcp-Name", headers->name,
                              sirix_arguments_member(request->message->params, member));
    }
    return status;
}

static enum sirix_status unsupported(struct sirix_mcp_request *request,
                                     const struct sirix_json_node *wanted)
{
    struct sirix_mcp_failure *failure = &request->failure;
    const size_t shown = sirix_json_text_cut(wanted->value.text, SHOWN_BYTES_MAX);
    char *data = NULL;

    (void)sirix_fail_reason(&failure->error, SIRIX_UNSUPPORTED, SIRIX_REASON_FIELD_INVALID,
                            "protocol revision %.*s is not spoken in this form", (int)shown,
                            shown == 0 ? "" : (const char *)wanted->value.text.data);
    sirix_error_set_field(&failure->error, "params._meta." SIRIX_META_VERSION);
    failure->code = SIRIX_MCP_UNSUPPORTED_VERSION;
    request->http_status = SIRIX_HTTP_BAD_REQUEST;
    enum sirix_status status = sirix_arena_printf(
        request->arena, &data, &failure->error, "\"supported\":[\"%s\"],\"requested\":\"%.*s\"",
        sirix_mcp_version_name(SIRIX_MCP_NEWEST), (int)shown,
        shown == 0 ? "" : (const char *)wanted->value.text.data);
    failure->data = data;
    return status == SIRIX_OK ? SIRIX_UNSUPPORTED : status;
}

static enum sirix_status read_log_level(struct sirix_mcp_request *request,
                                        const struct sirix_json_node *meta)
{
    const struct sirix_json_node *level = sirix_arguments_member(meta, SIRIX_META_LOG_LEVEL);

    request->context.log_level = SIRIX_MCP_LOG_NONE;
    if (level == NULL) {
        return SIRIX_OK;
    }
    return level->kind == SIRIX_JSON_KIND_STRING &&
                   sirix_mcp_log_level_find(level->value.text, &request->context.log_level)
               ? SIRIX_OK
               : bad_meta(request, SIRIX_META_LOG_LEVEL, true, "a level such as \"info\"");
}

static enum sirix_status read_modern(struct sirix_mcp_request *request,
                                     const struct sirix_json_node *meta)
{
    const struct sirix_json_node *version = sirix_arguments_member(meta, SIRIX_META_VERSION);
    const struct sirix_json_node *capabilities =
        sirix_arguments_member(meta, SIRIX_META_CAPABILITIES);

    request->context.version = SIRIX_MCP_NEWEST;
    if (version == NULL || version->kind != SIRIX_JSON_KIND_STRING) {
        return bad_meta(request, SIRIX_META_VERSION, version != NULL,
                        "a protocol revision such as \"2026-07-28\"");
    }
    if (capabilities == NULL || capabilities->kind != SIRIX_JSON_KIND_OBJECT) {
        return bad_meta(request, SIRIX_META_CAPABILITIES, capabilities != NULL, "an object");
    }
    enum sirix_status status = check_headers(request, version);
    if (status != SIRIX_OK) {
        return status;
    }
    if (!sirix_mcp_is_modern(sirix_mcp_version_find(version->value.text))) {
        return unsupported(request, version);
    }
    status = sirix_envelope_client(&request->context, request->arena,
                                   sirix_arguments_member(meta, SIRIX_META_CLIENT), capabilities,
                                   &request->failure.error);
    return status == SIRIX_OK ? read_log_level(request, meta) : status;
}

/* --- Either ---------------------------------------------------------------------------------------- */

/* Where a request without a session and without an envelope comes from. */
static enum sirix_status read_legacy_http(struct sirix_mcp_request *request)
{
    const char *given = request->headers->version;
    enum sirix_mcp_version version = SIRIX_MCP_2025_03_26; /* As the protocol has it. */

    if (given != NULL) {
        version = sirix_mcp_version_find(sirix_bytes_from_str(given));
    }
    request->context.log_level = SIRIX_MCP_LOG_INFO;
    if (request->server->registry->trusts_unknown_clients) {
        request->context.capabilities =
            SIRIX_MCP_CAN_ELICIT | SIRIX_MCP_CAN_SAMPLE | SIRIX_MCP_CAN_LIST_ROOTS;
    }
    if (version == SIRIX_MCP_NONE) {
        request->context.version = SIRIX_MCP_NEWEST_LEGACY;
        (void)sirix_fail_reason(&request->failure.error, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                "the header MCP-Protocol-Version names no revision that is spoken");
        sirix_error_set_field(&request->failure.error, "MCP-Protocol-Version");
        request->failure.code = SIRIX_JSONRPC_INVALID_REQUEST;
        request->http_status = SIRIX_HTTP_BAD_REQUEST;
        return SIRIX_INVALID;
    }
    request->context.version = version;
    return SIRIX_OK;
}

static enum sirix_status read_common(struct sirix_mcp_request *request,
                                     const struct sirix_json_node *meta)
{
    struct sirix_mcp_context *context = &request->context;
    const struct sirix_json_node *trace = sirix_arguments_member(meta, "traceparent");

    if (request->headers != NULL && request->headers->traceparent != NULL) {
        (void)snprintf(context->traceparent, sizeof(context->traceparent), "%s",
                       request->headers->traceparent);
    }
    enum sirix_status status = copy_text(request->arena, trace, context->traceparent,
                                         SIRIX_MCP_TRACE_BYTES_MAX, &request->failure.error);
    if (status == SIRIX_OK) {
        status = sirix_jsonrpc_id(request->arena, sirix_arguments_member(meta, "progressToken"),
                                  &context->progress_token, &request->failure.error);
    }
    for (const char *at = context->traceparent; *at != '\0'; at++) {
        if (*at < ' ' || *at > '~') {
            context->traceparent[0] = '\0';
        }
    }
    return status;
}

enum sirix_status sirix_envelope_read(struct sirix_mcp_request *request)
{
    const struct sirix_json_node *meta = sirix_arguments_member(request->message->params, "_meta");
    const struct sirix_mcp_headers *headers = request->headers;
    const bool is_discover =
        sirix_bytes_equal(request->message->method, sirix_bytes_from_str("server/discover"));
    /* Any revision from the modern era on, also one that comes later. */
    const bool says_modern =
        headers != NULL && headers->version != NULL &&
        strcmp(headers->version, sirix_mcp_version_name(SIRIX_MCP_NEWEST_LEGACY)) > 0;
    enum sirix_status status = SIRIX_OK;

    if (sirix_arguments_member(meta, SIRIX_META_VERSION) != NULL || says_modern || is_discover) {
        status = read_modern(request, meta);
    } else if (request->session != NULL) {
        struct sirix_mcp_cancel *cancel = request->context.cancel;
        struct sirix_mcp_peer *peer = request->context.peer;

        request->context = request->session->context;
        request->context.cancel = cancel;
        request->context.peer = peer;
    } else if (headers != NULL) {
        status = read_legacy_http(request);
    }
    return status == SIRIX_OK ? read_common(request, meta) : status;
}

/* --- Answers --------------------------------------------------------------------------------------- */

void sirix_envelope_put_cache(struct sirix_put *put, const struct sirix_mcp_request *request,
                              uint64_t ttl_ms)
{
    if (sirix_mcp_is_modern(request->context.version)) {
        sirix_put_u64(put, "ttlMs", ttl_ms);
        sirix_put_str(put, "cacheScope", "private");
    }
}

void sirix_envelope_put_server(struct sirix_put *put, const char *name,
                               const struct sirix_mcp_request *request)
{
    sirix_put_object(put, name);
    sirix_put_str(put, "name", request->server->settings->name);
    if (sirix_mcp_has_structure(request->context.version)) {
        sirix_put_str(put, "title", "Versioned JSON database");
    }
    sirix_put_str(put, "version", request->server->settings->version);
    sirix_put_object_end(put);
}

enum sirix_status sirix_envelope_seal(const struct sirix_mcp_request *request,
                                      struct sirix_bytes result, struct sirix_buf *out,
                                      struct sirix_error *err)
{
    const char *text = result.data;
    const bool is_empty = result.len == 2;
    struct sirix_buf meta;
    struct sirix_put put;

    sirix_buf_init(&meta, SIZE_MAX);
    sirix_put_init(&put, &meta);
    sirix_put_object(&put, NULL);
    sirix_envelope_put_server(&put, SIRIX_META_SERVER, request);
    if (sirix_mcp_is_listening(request)) {
        sirix_put_raw(&put, SIRIX_META_SUBSCRIPTION, request->message->id);
    }
    sirix_put_object_end(&put);
    enum sirix_status status = sirix_put_finish(&put, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, "{\"resultType\":\"complete\",\"_meta\":", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(out, sirix_buf_view(&meta), err);
    }
    if (status == SIRIX_OK && !is_empty) {
        status = sirix_buf_append_u8(out, ',', err);
    }
    if (status == SIRIX_OK) {
        /* The object without its brace, which is ours. */
        status = sirix_buf_append(out, text + 1, result.len - 1, err);
    }
    sirix_buf_deinit(&meta);
    return status;
}

enum sirix_status sirix_envelope_questions(const struct sirix_mcp_request *request,
                                           struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_put put;

    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "resultType", "input_required");
    sirix_put_object(&put, "_meta");
    sirix_envelope_put_server(&put, SIRIX_META_SERVER, request);
    sirix_put_object_end(&put);
    if (request->questions.len != 2) {
        sirix_put_raw(&put, "inputRequests", sirix_buf_view(&request->questions));
    }
    if (request->state.len != 0) {
        sirix_put_plain(&put, "requestState", sirix_buf_view(&request->state));
    }
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}
