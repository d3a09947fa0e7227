/* resources/list, resources/templates/list, resources/read, resources/subscribe: over the registry. */
#include "mcp/resources.h"

#include <string.h>

#include "mcp/arguments.h"
#include "mcp/cursor.h"
#include "mcp/envelope.h"
#include "mcp/methods.h"
#include "json/text.h"

/* --- Finding --------------------------------------------------------------------------------------- */

/* The resource of that URI, which is plain text; *out NULL: there is none. */
static enum sirix_status find(const struct sirix_mcp_registry *registry, struct sirix_arena *arena,
                              struct sirix_bytes uri, const struct sirix_mcp_resource **out,
                              struct sirix_uri_values *out_values, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool matches = false;

    *out = NULL;
    for (size_t i = 0; i < registry->resource_count && !matches && status == SIRIX_OK; i++) {
        status = sirix_uri_match(arena, registry->resources[i].uri, uri, &matches, out_values, err);
        if (matches) {
            *out = &registry->resources[i];
        }
    }
    return status;
}

static enum sirix_status no_resource(struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
        "there is no resource of this URI; resources/templates/list shows their form");

    sirix_error_set_field(err, "params.uri");
    return status;
}

enum sirix_status sirix_resources_state(const struct sirix_mcp_server *server,
                                        struct sirix_arena *arena, struct sirix_bytes uri,
                                        struct sirix_call_cancel *cancel, uint64_t *out,
                                        struct sirix_error *err)
{
    const struct sirix_resources_look look = {.server = server, .arena = arena, .cancel = cancel};
    const struct sirix_mcp_resource *resource = NULL;
    struct sirix_uri_values values = {.count = 0};
    enum sirix_status status = find(server->registry, arena, uri, &resource, &values, err);

    if (status != SIRIX_OK) {
        return status;
    }
    return resource == NULL || resource->state == NULL ? no_resource(err)
                                                       : resource->state(&look, &values, out, err);
}

enum sirix_status sirix_resources_list_state(const struct sirix_mcp_server *server,
                                             struct sirix_arena *arena,
                                             struct sirix_call_cancel *cancel, uint64_t *out,
                                             struct sirix_error *err)
{
    /* What is listed beside what is always there follows from the first one. */
    return sirix_resources_state(
        server, arena, sirix_bytes_from_str(server->registry->resources[0].uri), cancel, out, err);
}

/* --- Lists ----------------------------------------------------------------------------------------- */

static void put_resource(struct sirix_put *put, const struct sirix_mcp_request *request,
                         const struct sirix_mcp_resource *resource, const char *key,
                         struct sirix_bytes uri, struct sirix_bytes name)
{
    sirix_put_object(put, NULL);
    sirix_put_plain(put, key, uri);
    sirix_put_plain(put, "name", name);
    if (sirix_mcp_has_structure(request->context.version) && resource->title != NULL) {
        sirix_put_str(put, "title", resource->title);
    }
    sirix_put_str(put, "description", resource->description);
    sirix_put_str(put, "mimeType", resource->mime_type);
    sirix_put_object_end(put);
}

/* One entry out of a template: named after its value. */
static enum sirix_status put_value(struct sirix_put *put, const struct sirix_mcp_request *request,
                                   const struct sirix_mcp_resource *resource,
                                   struct sirix_bytes value, struct sirix_error *err)
{
    struct sirix_buf uri;

    sirix_buf_init(&uri, SIRIX_URI_BYTES_MAX);
    enum sirix_status status = sirix_uri_expand(&uri, resource->uri, &value, 1, err);
    if (status == SIRIX_OK) {
        put_resource(put, request, resource, "uri", sirix_buf_view(&uri), value);
    }
    sirix_buf_deinit(&uri);
    return status;
}

/* Entries of the resource number `at`; *cursor says where it goes on in it, or is empty. */
static enum sirix_status put_entries(struct sirix_put *put, struct sirix_mcp_request *request,
                                     size_t at, struct sirix_bytes *cursor, size_t *left,
                                     struct sirix_error *err)
{
    const struct sirix_mcp_resource *resource = &request->server->registry->resources[at];
    struct sirix_bytes values[SIRIX_MCP_LIST_PAGE];
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_uri_is_template(resource->uri)) {
        put_resource(put, request, resource, "uri", sirix_bytes_from_str(resource->uri),
                     sirix_bytes_from_str(resource->name));
        (*left)--;
        return SIRIX_OK;
    }
    if (resource->list == NULL) {
        return SIRIX_OK;
    }
    status = resource->list(request, *cursor, *left, values, &count, cursor, err);
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = put_value(put, request, resource, values[i], err);
    }
    *left -= status == SIRIX_OK ? count : 0;
    return status;
}

enum sirix_status sirix_mcp_resources_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    const uint64_t tag = sirix_cursor_tag("resources/list", "", "", 0);
    const size_t count = request->server->registry->resource_count;
    struct sirix_cursor cursor = {0};
    size_t left = SIRIX_MCP_LIST_PAGE;
    const char *next = NULL;
    struct sirix_put put;

    enum sirix_status status = sirix_cursor_param(request, tag, &cursor, err);
    if (status == SIRIX_OK && request->session != NULL && request->session->listener != NULL) {
        /* Who has seen the list of a legacy connection is told when it is another one. */
        status =
            sirix_events_want_resources(request->server->events, request->session->listener, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_array(&put, "resources");
    while (cursor.skip < count && left != 0 && status == SIRIX_OK) {
        status = put_entries(&put, request, (size_t)cursor.skip, &cursor.server, &left, err);
        if (cursor.server.len != 0) {
            break;
        }
        cursor.skip++;
    }
    sirix_put_array_end(&put);
    if (status == SIRIX_OK && cursor.skip < count) {
        status = sirix_cursor_write(request->arena, tag, &cursor, &next, err);
    }
    if (next != NULL) {
        sirix_put_str(&put, "nextCursor", next);
    }
    if (status != SIRIX_OK) {
        sirix_put_fail(&put, status, err);
    }
    sirix_envelope_put_cache(&put, request, SIRIX_MCP_TTL_MS);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

enum sirix_status sirix_mcp_templates_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    const struct sirix_mcp_registry *registry = request->server->registry;
    struct sirix_cursor cursor = {0};
    struct sirix_put put;
    enum sirix_status status = sirix_cursor_param(
        request, sirix_cursor_tag("resources/templates/list", "", "", 0), &cursor, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_array(&put, "resourceTemplates");
    for (size_t i = 0; i < registry->resource_count; i++) {
        const struct sirix_mcp_resource *resource = &registry->resources[i];

        if (sirix_uri_is_template(resource->uri)) {
            put_resource(&put, request, resource, "uriTemplate",
                         sirix_bytes_from_str(resource->uri), sirix_bytes_from_str(resource->name));
        }
    }
    sirix_put_array_end(&put);
    sirix_envelope_put_cache(&put, request, SIRIX_MCP_TTL_MS);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

/* --- Reading --------------------------------------------------------------------------------------- */

/* What a client gets that asks for something that is not there. */
static enum sirix_status tell_not_found(struct sirix_mcp_request *request, struct sirix_error *err)
{
    const struct sirix_json_node *uri = sirix_arguments_member(request->message->params, "uri");
    const struct sirix_bytes text = uri->value.text;
    const size_t shown = sirix_json_text_cut(text, SIRIX_URI_BYTES_MAX);
    char *data = NULL;

    request->failure.code = sirix_mcp_is_modern(request->context.version)
                                ? SIRIX_JSONRPC_INVALID_PARAMS
                                : SIRIX_MCP_RESOURCE_NOT_FOUND;
    if (sirix_arena_printf(request->arena, &data, NULL, "\"uri\":\"%.*s\"", (int)shown,
                           shown == 0 ? "" : (const char *)text.data) == SIRIX_OK) {
        request->failure.data = data;
    }
    sirix_error_set_field(err, "params.uri");
    return SIRIX_NOT_FOUND;
}

static enum sirix_status put_contents(struct sirix_put *put, struct sirix_mcp_request *request,
                                      struct sirix_bytes uri, struct sirix_error *err)
{
    const struct sirix_mcp_resource *resource = NULL;
    struct sirix_uri_values values = {.count = 0};
    enum sirix_status status =
        find(request->server->registry, request->arena, uri, &resource, &values, err);

    if (status == SIRIX_OK && resource == NULL) {
        status = no_resource(err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_object(put, NULL);
    sirix_put_plain(put, "uri", uri);
    sirix_put_str(put, "mimeType", resource->mime_type);
    status = resource->read(request, &values, put, err);
    sirix_put_object_end(put);
    return status;
}

enum sirix_status sirix_mcp_resources_read(struct sirix_mcp_request *request, struct sirix_buf *out,
                                           struct sirix_error *err)
{
    struct sirix_bytes uri = {.data = NULL, .len = 0};
    struct sirix_error failure = {0};
    struct sirix_put put;
    enum sirix_status status = sirix_mcp_text_param(request, "uri", &uri, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_array(&put, "contents");
    status = put_contents(&put, request, uri, &failure);
    if (status == SIRIX_NOT_FOUND) {
        (void)tell_not_found(request, &failure);
    }
    sirix_put_fail(&put, status, &failure);
    sirix_put_array_end(&put);
    sirix_envelope_put_cache(&put, request, 0);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

/* --- Watching, legacy ------------------------------------------------------------------------------ */

enum sirix_status sirix_mcp_resources_subscribe(struct sirix_mcp_request *request,
                                                struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_events_listener *listener =
        request->session == NULL ? NULL : request->session->listener;
    struct sirix_bytes uri = {.data = NULL, .len = 0};
    uint64_t state = 0;
    enum sirix_status status = sirix_mcp_text_param(request, "uri", &uri, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = listener != NULL
                 ? sirix_events_watch(request->server->events, listener, uri, err)
                 : sirix_resources_state(request->server, request->arena, uri, NULL, &state, err);
    if (status == SIRIX_NOT_FOUND) {
        return tell_not_found(request, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(out, "{}", err) : status;
}

enum sirix_status sirix_mcp_resources_unsubscribe(struct sirix_mcp_request *request,
                                                  struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_bytes uri = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_mcp_text_param(request, "uri", &uri, err);

    if (status == SIRIX_OK && request->session != NULL && request->session->listener != NULL) {
        sirix_events_unwatch(request->server->events, request->session->listener, uri);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(out, "{}", err) : status;
}
