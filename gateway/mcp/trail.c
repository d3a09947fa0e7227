/* Lines for the audit log. */
#include "mcp/trail.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "guard/visible.h"

enum { SHOWN_BYTES_MAX = 512, SHOWN_NAME_BYTES_MAX = 64 };

const char *sirix_mcp_principal(const struct sirix_mcp_request *request)
{
    if (request->server->principal != NULL) {
        return request->server->principal;
    }
    /* Whoever holds our stdin started us; over HTTP nobody has said who they are. */
    return request->context.is_http ? "anonymous" : "local";
}

/* --- Arguments ------------------------------------------------------------------------------------- */

static int compare_names(const void *a, const void *b)
{
    const struct sirix_json_node *const *left = a;
    const struct sirix_json_node *const *right = b;
    const struct sirix_bytes x = (*left)->name;
    const struct sirix_bytes y = (*right)->name;
    const size_t len = x.len < y.len ? x.len : y.len;
    const int order = len == 0 ? 0 : memcmp(x.data, y.data, len);

    return order != 0 ? order : (x.len > y.len) - (x.len < y.len);
}

/* Members of the object in the order of their names, in the arena; duplicates were refused. */
static enum sirix_status sorted(struct sirix_mcp_call *call, const char *left_out,
                                const struct sirix_json_node ***out, size_t *out_count,
                                struct sirix_error *err)
{
    const size_t max = sirix_json_count(call->given);
    const struct sirix_json_node **list = NULL;
    void *memory = NULL;
    size_t count = 0;
    enum sirix_status status =
        sirix_arena_calloc(call->arena, max, sizeof(const struct sirix_json_node *), &memory, err);

    if (status != SIRIX_OK) {
        return status;
    }
    list = memory;
    for (const struct sirix_json_node *at = sirix_json_first(call->given); at != NULL;
         at = at->next) {
        if (left_out == NULL || !sirix_bytes_equal(at->name, sirix_bytes_from_str(left_out))) {
            list[count++] = at;
        }
    }
    if (count > 1) {
        qsort(list, count, sizeof(const struct sirix_json_node *), compare_names);
    }
    *out = list;
    *out_count = count;
    return SIRIX_OK;
}

enum sirix_status sirix_mcp_arguments_digest(struct sirix_mcp_call *call, const char *left_out,
                                             uint8_t out[SIRIX_SHA256_BYTES],
                                             struct sirix_error *err)
{
    const struct sirix_json_node **list = NULL;
    struct sirix_buf text;
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&text, SIZE_MAX);
    if (call->given != NULL && call->given->kind == SIRIX_JSON_KIND_OBJECT) {
        status = sorted(call, left_out, &list, &count, err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = sirix_arguments_append_text(list[i], &text, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_u8(&text, '\n', err); /* No printed value has one. */
        }
    }
    if (status == SIRIX_OK) {
        status =
            sirix_seal_mac(&call->server->keys, call->tool->name, sirix_buf_view(&text), out, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

/* Names of things and places in them: what an investigation asks for, and no content. */
static bool is_shown(const char *name)
{
    static const char *const shown[] = {
        "branch",   "database", "format",   "from_snapshot", "name",      "path",
        "position", "resource", "snapshot", "target",        "timestamp", "to_snapshot",
    };

    for (size_t i = 0; i < sizeof(shown) / sizeof(shown[0]); i++) {
        if (strcmp(name, shown[i]) == 0) {
            return true;
        }
    }
    return false;
}

static bool is_type(const struct sirix_json_node *schema, const char *type)
{
    const struct sirix_json_node *node = sirix_arguments_member(schema, "type");

    return node != NULL && node->kind == SIRIX_JSON_KIND_STRING &&
           sirix_bytes_equal(node->value.text, sirix_bytes_from_str(type));
}

static void put_argument(struct sirix_put *put, const struct sirix_json_node *properties,
                         const struct sirix_argument *argument)
{
    const struct sirix_json_node *schema = sirix_arguments_member(properties, argument->name);

    if (is_type(schema, "integer")) {
        sirix_put_u64(put, argument->name, argument->number);
    } else if (is_type(schema, "boolean")) {
        sirix_put_bool(put, argument->name, argument->boolean);
    } else if (is_type(schema, "string") && is_shown(argument->name)) {
        const size_t max =
            argument->text.len < SHOWN_BYTES_MAX ? argument->text.len : SHOWN_BYTES_MAX;
        size_t len = max;

        while (len != 0 && len < argument->text.len &&
               (((const uint8_t *)argument->text.data)[len] & 0xC0) == 0x80) {
            len--;
        }
        sirix_put_plain(put, argument->name,
                        (struct sirix_bytes){.data = argument->text.data, .len = len});
    } else if (is_type(schema, "string")) {
        sirix_put_object(put, argument->name);
        sirix_put_u64(put, "bytes", argument->text.len);
        sirix_put_object_end(put);
    } else {
        sirix_put_str(put, argument->name, "redacted");
    }
}

static void put_arguments(struct sirix_put *put, struct sirix_mcp_call *call)
{
    const struct sirix_mcp_server *server = call->server;
    const struct sirix_json_node *properties =
        sirix_arguments_member(server->schemas[call->tool - server->registry->tools], "properties");
    uint8_t digest[SIRIX_SHA256_BYTES];
    char hex[SIRIX_SHA256_HEX_BYTES];
    struct sirix_error inner = {0};

    sirix_put_object(put, "arguments");
    for (size_t i = 0; i < call->arguments.count; i++) {
        put_argument(put, properties, &call->arguments.items[i]);
    }
    sirix_put_object_end(put);
    enum sirix_status status = sirix_mcp_arguments_digest(call, NULL, digest, &inner);
    sirix_put_fail(put, status, &inner);
    if (status == SIRIX_OK) {
        sirix_sha256_hex(digest, hex);
        sirix_put_str(put, "argumentsDigest", hex);
    }
}

/* --- Lines ----------------------------------------------------------------------------------------- */

static void put_request(struct sirix_put *put, const struct sirix_mcp_request *request)
{
    const struct sirix_mcp_context *context = &request->context;

    sirix_put_str(put, "principal", sirix_mcp_principal(request));
    sirix_put_str(put, "client", context->client_name);
    sirix_put_str(put, "transport", context->is_http ? "http" : "stdio");
    sirix_put_plain(put, "method", request->message->method);
    if (context->traceparent[0] != '\0') {
        sirix_put_str(put, "traceparent", context->traceparent);
    }
}

static void put_call(struct sirix_put *put, struct sirix_mcp_call *call)
{
    put_request(put, call->request);
    sirix_put_str(put, "tool", call->tool->name);
    sirix_put_str(put, "database", call->database);
    sirix_put_str(put, "resource", call->resource);
    put_arguments(put, call);
}

/* Appends the members that were put; the braces around them are the line's. */
static enum sirix_status append(const struct sirix_mcp_server *server, const char *event,
                                struct sirix_put *put, struct sirix_buf *text, bool is_durable,
                                uint64_t *out_seq, struct sirix_error *err)
{
    sirix_put_object_end(put);
    enum sirix_status status = sirix_put_finish(put, err);
    if (status == SIRIX_OK) {
        const struct sirix_bytes members = {.data = text->data + 1, .len = text->len - 2};
        struct sirix_visible seen = {0};
        struct sirix_buf shown;

        /* Whoever reads the log at a terminal sees what is there. */
        sirix_buf_init(&shown, SIRIX_AUDIT_LINE_BYTES_MAX);
        status = sirix_visible_append(&shown, members, SIZE_MAX, true, &seen, err);
        if (status == SIRIX_OK) {
            status = sirix_audit_append(server->audit, event, sirix_buf_view(&shown), is_durable,
                                        out_seq, err);
        }
        sirix_buf_deinit(&shown);
    }
    sirix_buf_deinit(text);
    return status;
}

static void begin(struct sirix_put *put, struct sirix_buf *text)
{
    sirix_buf_init(text, SIRIX_AUDIT_LINE_BYTES_MAX);
    sirix_put_init(put, text);
    sirix_put_object(put, NULL);
}

static enum sirix_status refuse(enum sirix_status status, struct sirix_error *inner,
                                struct sirix_error *err)
{
    sirix_log_error(SIRIX_LOG_ERROR, "a line of the audit log cannot be written", inner);
    return status == SIRIX_NO_MEMORY
               ? sirix_fail(err, SIRIX_NO_MEMORY, "no memory")
               : sirix_fail(err, SIRIX_UNAVAILABLE,
                            "the audit log cannot be written, so nothing is done; see the log of "
                            "the server");
}

enum sirix_status sirix_mcp_trail_intent(struct sirix_mcp_call *call,
                                         const struct sirix_write_options *write,
                                         struct sirix_error *err)
{
    struct sirix_error inner = {0};
    struct sirix_buf text;
    struct sirix_put put;

    if (call->server->audit == NULL) {
        return SIRIX_OK;
    }
    begin(&put, &text);
    put_call(&put, call);
    sirix_put_plain(&put, "key", write->idempotency_key);
    if (write->has_expected_revision) {
        sirix_put_u64(&put, "expectedRevision", write->expected_revision);
    }
    if (call->trace.confirmed != NULL) {
        sirix_put_str(&put, "confirmed", call->trace.confirmed);
    }
    enum sirix_status status =
        append(call->server, "intent", &put, &text, true, &call->trace.intent, &inner);
    if (status != SIRIX_OK) {
        return refuse(status, &inner, err);
    }
    call->trace.has_intent = true;
    return SIRIX_OK;
}

enum sirix_status sirix_mcp_trail_outcome(struct sirix_mcp_call *call, enum sirix_status status,
                                          const struct sirix_error *error, size_t bytes,
                                          uint64_t duration_us, struct sirix_error *err)
{
    const struct sirix_mcp_trace *trace = &call->trace;
    struct sirix_error inner = {0};
    struct sirix_buf text;
    struct sirix_put put;

    if (call->server->audit == NULL) {
        return SIRIX_OK;
    }
    begin(&put, &text);
    if (trace->has_intent) {
        sirix_put_u64(&put, "intent", trace->intent);
        sirix_put_str(&put, "tool", call->tool->name);
    } else {
        put_call(&put, call);
    }
    sirix_put_str(&put, "outcome",
                  status == SIRIX_OK && call->is_held ? "held" : sirix_status_name(status));
    if (status != SIRIX_OK && error->reason != SIRIX_REASON_NONE) {
        sirix_put_str(&put, "reason", sirix_reason_name(error->reason));
    }
    if (trace->revision_after != 0) {
        sirix_put_u64(&put, "revisionBefore", trace->revision_before);
        sirix_put_u64(&put, "revisionAfter", trace->revision_after);
    }
    if (call->answer.has_count) {
        sirix_put_u64(&put, "items", call->answer.count);
    }
    sirix_put_u64(&put, "bytes", bytes);
    sirix_put_u64(&put, "durationUs", duration_us);
    enum sirix_status written = append(call->server, trace->has_intent ? "outcome" : "call", &put,
                                       &text, trace->has_intent, NULL, &inner);
    if (written != SIRIX_OK && trace->has_intent) {
        /* It has happened, or not, and its caller must hear so; the intent shows what to settle. */
        sirix_log_error(SIRIX_LOG_ERROR, "the outcome of a write is not in the audit log", &inner);
        return SIRIX_OK;
    }
    return written == SIRIX_OK ? SIRIX_OK : refuse(written, &inner, err);
}

enum sirix_status sirix_mcp_trail_unknown(struct sirix_mcp_request *request,
                                          struct sirix_bytes name, bool is_withheld,
                                          struct sirix_error *err)
{
    struct sirix_error inner = {0};
    struct sirix_buf text;
    struct sirix_put put;

    if (request->server->audit == NULL) {
        return SIRIX_OK;
    }
    begin(&put, &text);
    put_request(&put, request);
    if (name.len <= SHOWN_NAME_BYTES_MAX) {
        sirix_put_plain(&put, "tool", name);
    }
    sirix_put_str(&put, "outcome",
                  sirix_status_name(is_withheld ? SIRIX_PERMISSION : SIRIX_INVALID));
    enum sirix_status status = append(request->server, "call", &put, &text, false, NULL, &inner);
    return status == SIRIX_OK ? SIRIX_OK : refuse(status, &inner, err);
}
