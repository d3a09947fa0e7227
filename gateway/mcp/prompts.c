/* prompts/list and prompts/get: over the registry. */
#include <stdio.h>
#include <string.h>

#include "mcp/arguments.h"
#include "mcp/cursor.h"
#include "mcp/envelope.h"
#include "mcp/methods.h"
#include "mcp/tools.h"
#include "json/text.h"

enum { NAME_BYTES_MAX = 64 };

static bool is_offered(const struct sirix_mcp_request *request,
                       const struct sirix_mcp_prompt *prompt)
{
    for (size_t i = 0; i < SIRIX_MCP_PROMPT_TOOLS_MAX && prompt->tools[i] != NULL; i++) {
        if (sirix_mcp_tool_find(request->server, sirix_bytes_from_str(prompt->tools[i])) == NULL) {
            return false;
        }
    }
    return true;
}

static void put_prompt(struct sirix_put *put, const struct sirix_mcp_request *request,
                       const struct sirix_mcp_prompt *prompt)
{
    sirix_put_object(put, NULL);
    sirix_put_str(put, "name", prompt->name);
    if (sirix_mcp_has_structure(request->context.version) && prompt->title != NULL) {
        sirix_put_str(put, "title", prompt->title);
    }
    sirix_put_str(put, "description", prompt->description);
    sirix_put_array(put, "arguments");
    for (size_t i = 0; i < SIRIX_MCP_PROMPT_ARGUMENTS_MAX && prompt->arguments[i].name != NULL;
         i++) {
        sirix_put_object(put, NULL);
        sirix_put_str(put, "name", prompt->arguments[i].name);
        sirix_put_str(put, "description", prompt->arguments[i].description);
        sirix_put_bool(put, "required", prompt->arguments[i].is_required);
        sirix_put_object_end(put);
    }
    sirix_put_array_end(put);
    sirix_put_object_end(put);
}

enum sirix_status sirix_mcp_prompts_list(struct sirix_mcp_request *request, struct sirix_buf *out,
                                         struct sirix_error *err)
{
    const struct sirix_mcp_registry *registry = request->server->registry;
    struct sirix_cursor cursor = {0};
    struct sirix_put put;
    enum sirix_status status =
        sirix_cursor_param(request, sirix_cursor_tag("prompts/list", "", "", 0), &cursor, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_array(&put, "prompts");
    for (size_t i = 0; i < registry->prompt_count; i++) {
        if (is_offered(request, &registry->prompts[i])) {
            put_prompt(&put, request, &registry->prompts[i]);
        }
    }
    sirix_put_array_end(&put);
    sirix_envelope_put_cache(&put, request, SIRIX_MCP_TTL_MS);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

/* --- prompts/get ----------------------------------------------------------------------------------- */

static enum sirix_status bad_argument(const char *name, bool is_missing, struct sirix_error *err)
{
    char field[SIRIX_ERROR_WHERE_BYTES];

    (void)snprintf(field, sizeof(field), "params.arguments.%s", name);
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_INVALID, is_missing ? SIRIX_REASON_FIELD_MISSING : SIRIX_REASON_FIELD_INVALID,
        is_missing ? "the argument %s is missing" : "the argument %s must be a string", name);
    sirix_error_set_field(err, field);
    return status;
}

static enum sirix_status unknown_argument(struct sirix_bytes name, struct sirix_error *err)
{
    const size_t shown = sirix_json_text_cut(name, NAME_BYTES_MAX);
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "there is no argument \"%.*s\"", (int)shown,
                                                 shown == 0 ? "" : (const char *)name.data);

    sirix_error_set_field(err, "params.arguments");
    return status;
}

static enum sirix_status find_prompt(struct sirix_mcp_request *request,
                                     const struct sirix_mcp_prompt **out, struct sirix_error *err)
{
    const struct sirix_mcp_registry *registry = request->server->registry;
    struct sirix_bytes name = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_mcp_text_param(request, "name", &name, err);

    for (size_t i = 0; i < registry->prompt_count && status == SIRIX_OK; i++) {
        const struct sirix_mcp_prompt *prompt = &registry->prompts[i];

        if (sirix_bytes_equal(name, sirix_bytes_from_str(prompt->name)) &&
            is_offered(request, prompt)) {
            *out = prompt;
            return SIRIX_OK;
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "there is no prompt of this name; prompts/list lists them");
        sirix_error_set_field(err, "params.name");
    }
    return status;
}

/* The value of argument i, where it was given. */
static enum sirix_status take_value(struct sirix_mcp_request *request,
                                    const struct sirix_mcp_prompt_argument *argument,
                                    const struct sirix_json_node *given, struct sirix_bytes *out,
                                    struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    char *copy = NULL;

    if (given == NULL) {
        return argument->is_required ? bad_argument(argument->name, true, err) : SIRIX_OK;
    }
    if (given->kind != SIRIX_JSON_KIND_STRING) {
        return bad_argument(argument->name, false, err);
    }
    enum sirix_status status =
        sirix_json_text_to_plain(request->arena, given->value.text, &plain, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(request->arena, plain, &copy, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_bytes){.data = copy, .len = plain.len};
    }
    return status;
}

static enum sirix_status take_values(struct sirix_mcp_request *request,
                                     const struct sirix_mcp_prompt *prompt,
                                     struct sirix_bytes values[SIRIX_MCP_PROMPT_ARGUMENTS_MAX],
                                     struct sirix_error *err)
{
    const struct sirix_json_node *given =
        sirix_arguments_member(request->message->params, "arguments");
    size_t known = 0;
    enum sirix_status status = SIRIX_OK;

    if (given != NULL && given->kind != SIRIX_JSON_KIND_OBJECT) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "params.arguments must be an object of strings");
        sirix_error_set_field(err, "params.arguments");
        return status;
    }
    while (known < SIRIX_MCP_PROMPT_ARGUMENTS_MAX && prompt->arguments[known].name != NULL) {
        known++;
    }
    for (const struct sirix_json_node *at = given == NULL ? NULL : sirix_json_first(given);
         at != NULL; at = at->next) {
        size_t i = 0;

        while (i < known &&
               !sirix_bytes_equal(at->name, sirix_bytes_from_str(prompt->arguments[i].name))) {
            i++;
        }
        if (i == known) {
            return unknown_argument(at->name, err);
        }
    }
    for (size_t i = 0; i < known && status == SIRIX_OK; i++) {
        status =
            take_value(request, &prompt->arguments[i],
                       sirix_arguments_member(given, prompt->arguments[i].name), &values[i], err);
    }
    return status;
}

enum sirix_status sirix_mcp_prompts_get(struct sirix_mcp_request *request, struct sirix_buf *out,
                                        struct sirix_error *err)
{
    struct sirix_bytes values[SIRIX_MCP_PROMPT_ARGUMENTS_MAX] = {{.data = NULL, .len = 0}};
    const struct sirix_mcp_prompt *prompt = NULL;
    struct sirix_error failure = {0};
    struct sirix_put put;

    enum sirix_status status = find_prompt(request, &prompt, err);
    if (status == SIRIX_OK) {
        status = take_values(request, prompt, values, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "description", prompt->description);
    sirix_put_array(&put, "messages");
    status = prompt->get(request, values, &put, &failure);
    sirix_put_fail(&put, status, &failure);
    sirix_put_array_end(&put);
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}
