/* completion/complete: which argument is being typed, and what it may become. */
#include <string.h>

#include "mcp/arguments.h"
#include "mcp/methods.h"
#include "json/text.h"

static enum sirix_status bad(const char *field, const char *what, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s %s", field, what);

    sirix_error_set_field(err, field);
    return status;
}

/* A string member as plain text; empty where there is none or another thing. */
static enum sirix_status text_of(struct sirix_mcp_request *request,
                                 const struct sirix_json_node *object, const char *name,
                                 struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_json_node *node = sirix_arguments_member(object, name);
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    char *copy = NULL;
    enum sirix_status status = SIRIX_OK;

    if (node != NULL && node->kind == SIRIX_JSON_KIND_STRING) {
        status = sirix_json_text_to_plain(request->arena, node->value.text, &plain, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(request->arena, plain, &copy, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_bytes){.data = copy, .len = plain.len};
    }
    return status;
}

/* Whether one prompt has an argument of that name. */
static bool prompt_has(const struct sirix_mcp_prompt *prompt, struct sirix_bytes argument)
{
    bool found = false;

    for (size_t i = 0; i < SIRIX_MCP_PROMPT_ARGUMENTS_MAX && prompt->arguments[i].name != NULL;
         i++) {
        found |= sirix_bytes_equal(argument, sirix_bytes_from_str(prompt->arguments[i].name));
    }
    return found;
}

static bool has_prompt_argument(const struct sirix_mcp_registry *registry, struct sirix_bytes name,
                                struct sirix_bytes argument)
{
    bool found = false;

    for (size_t i = 0; i < registry->prompt_count; i++) {
        found |= sirix_bytes_equal(name, sirix_bytes_from_str(registry->prompts[i].name)) &&
                 prompt_has(&registry->prompts[i], argument);
    }
    return found;
}

/* Whether a template has a variable of that name. */
static bool template_has(const char *uri_template, struct sirix_bytes variable)
{
    bool found = false;

    for (const char *at = strchr(uri_template, '{'); at != NULL; at = strchr(at + 1, '{')) {
        const struct sirix_bytes one = {.data = at + 1, .len = strcspn(at + 1, "}")};

        found |= sirix_bytes_equal(one, variable);
    }
    return found;
}

static bool has_variable(const struct sirix_mcp_registry *registry, struct sirix_bytes uri,
                         struct sirix_bytes argument)
{
    bool found = false;

    for (size_t i = 0; i < registry->resource_count; i++) {
        const char *known = registry->resources[i].uri;

        found |=
            sirix_bytes_equal(uri, sirix_bytes_from_str(known)) && template_has(known, argument);
    }
    return found;
}

/* Whether what params.ref names has the argument. */
static enum sirix_status check_ref(struct sirix_mcp_request *request, struct sirix_bytes argument,
                                   struct sirix_error *err)
{
    const struct sirix_mcp_registry *registry = request->server->registry;
    const struct sirix_json_node *ref = sirix_arguments_member(request->message->params, "ref");
    struct sirix_bytes type = {.data = NULL, .len = 0};
    struct sirix_bytes name = {.data = NULL, .len = 0};
    struct sirix_bytes uri = {.data = NULL, .len = 0};

    enum sirix_status status = text_of(request, ref, "type", &type, err);
    if (status == SIRIX_OK) {
        status = text_of(request, ref, "name", &name, err);
    }
    if (status == SIRIX_OK) {
        status = text_of(request, ref, "uri", &uri, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const bool is_prompt = sirix_bytes_equal(type, sirix_bytes_from_str("ref/prompt"));
    if (!is_prompt && !sirix_bytes_equal(type, sirix_bytes_from_str("ref/resource"))) {
        return bad("params.ref.type", "must be ref/prompt or ref/resource", err);
    }
    return (is_prompt ? has_prompt_argument(registry, name, argument)
                      : has_variable(registry, uri, argument))
               ? SIRIX_OK
               : bad("params.ref", "names nothing that has this argument", err);
}

enum sirix_status sirix_mcp_complete(struct sirix_mcp_request *request, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    const struct sirix_json_node *params = request->message->params;
    const struct sirix_json_node *argument = sirix_arguments_member(params, "argument");
    const struct sirix_json_node *known =
        sirix_arguments_member(sirix_arguments_member(params, "context"), "arguments");
    struct sirix_mcp_completion completion = {.count = 0};
    struct sirix_bytes name = {.data = NULL, .len = 0};
    struct sirix_put put;

    enum sirix_status status = text_of(request, argument, "name", &name, err);
    if (status == SIRIX_OK) {
        status = text_of(request, argument, "value", &completion.typed, err);
    }
    if (status == SIRIX_OK) {
        status = text_of(request, known, "database", &completion.database, err);
    }
    if (status == SIRIX_OK) {
        status = text_of(request, known, "resource", &completion.resource, err);
    }
    if (status == SIRIX_OK) {
        status = check_ref(request, name, err);
    }
    if (status == SIRIX_OK) {
        completion.argument = name.data;
        status = request->server->registry->complete(request, &completion, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_object(&put, "completion");
    sirix_put_array(&put, "values");
    for (size_t i = 0; i < completion.count; i++) {
        sirix_put_plain(&put, NULL, completion.values[i]);
    }
    sirix_put_array_end(&put);
    sirix_put_bool(&put, "hasMore", completion.has_more);
    sirix_put_object_end(&put);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}
