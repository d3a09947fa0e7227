/* What a listener wants. */
#include "mcp/listen.h"

#include "mcp/arguments.h"
#include "mcp/envelope.h"
#include "json/text.h"

static enum sirix_status bad_filter(const char *field, const char *wanted, struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "%s must be %s", field, wanted);

    sirix_error_set_field(err, field);
    return status;
}

static bool is_wanted(const struct sirix_json_node *filter, const char *name)
{
    bool wanted = false;
    const struct sirix_json_node *node = sirix_arguments_member(filter, name);

    return node != NULL && sirix_json_get_bool(node, &wanted) && wanted;
}

/* Watches what the list names, and writes what is watched. */
static enum sirix_status take_uris(struct sirix_mcp_request *request,
                                   struct sirix_events_listener *listener,
                                   const struct sirix_json_node *uris, struct sirix_put *put,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_put_array(put, "resourceSubscriptions");
    for (const struct sirix_json_node *at = sirix_json_first(uris);
         at != NULL && status == SIRIX_OK; at = at->next) {
        struct sirix_bytes plain = {.data = NULL, .len = 0};

        if (at->kind != SIRIX_JSON_KIND_STRING) {
            return bad_filter("params.notifications.resourceSubscriptions", "URIs", err);
        }
        status = sirix_json_text_to_plain(request->arena, at->value.text, &plain, err);
        if (status == SIRIX_OK) {
            status = sirix_events_watch(request->server->events, listener, plain, err);
        }
        if (status == SIRIX_OK) {
            sirix_put_plain(put, NULL, plain);
        } else if (status == SIRIX_NOT_FOUND || status == SIRIX_INVALID) {
            status = SIRIX_OK;
        }
    }
    sirix_put_array_end(put);
    return status;
}

static enum sirix_status put_filter(struct sirix_mcp_request *request,
                                    struct sirix_events_listener *listener, struct sirix_put *put,
                                    struct sirix_error *err)
{
    const struct sirix_mcp_registry *registry = request->server->registry;
    const struct sirix_json_node *filter =
        sirix_arguments_member(request->message->params, "notifications");
    const struct sirix_json_node *uris = sirix_arguments_member(filter, "resourceSubscriptions");
    enum sirix_status status = SIRIX_OK;

    if (filter == NULL || filter->kind != SIRIX_JSON_KIND_OBJECT) {
        return bad_filter("params.notifications", "an object of what is wanted", err);
    }
    if (uris != NULL && uris->kind != SIRIX_JSON_KIND_ARRAY) {
        return bad_filter("params.notifications.resourceSubscriptions", "an array of URIs", err);
    }
    listener->wants_tools = registry->lists_change && is_wanted(filter, "toolsListChanged");
    listener->wants_prompts = registry->lists_change && is_wanted(filter, "promptsListChanged");
    listener->wants_resources = is_wanted(filter, "resourcesListChanged");
    sirix_put_object(put, "notifications");
    if (listener->wants_tools) {
        sirix_put_bool(put, "toolsListChanged", true);
    }
    if (listener->wants_prompts) {
        sirix_put_bool(put, "promptsListChanged", true);
    }
    if (listener->wants_resources) {
        sirix_put_bool(put, "resourcesListChanged", true);
    }
    if (uris != NULL) {
        status = take_uris(request, listener, uris, put, err);
    }
    sirix_put_object_end(put);
    return status;
}

enum sirix_status sirix_mcp_listen_open(struct sirix_mcp_request *request,
                                        struct sirix_events_listener *listener,
                                        struct sirix_buf *out_acknowledgment,
                                        struct sirix_error *err)
{
    struct sirix_error failure = {0};
    struct sirix_put put;

    listener->subscription = request->message->id;
    listener->server = request->server;
    sirix_put_init(&put, out_acknowledgment);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "jsonrpc", "2.0");
    sirix_put_str(&put, "method", "notifications/subscriptions/acknowledged");
    sirix_put_object(&put, "params");
    sirix_put_object(&put, "_meta");
    sirix_put_raw(&put, SIRIX_META_SUBSCRIPTION, request->message->id);
    sirix_put_object_end(&put);
    enum sirix_status status = put_filter(request, listener, &put, &failure);
    sirix_put_fail(&put, status, &failure);
    sirix_put_object_end(&put);
    sirix_put_object_end(&put);
    status = sirix_put_finish(&put, err);
    if (status != SIRIX_OK) {
        sirix_events_remove(request->server->events, listener);
    }
    return status;
}
