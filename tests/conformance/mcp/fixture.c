/* The program of the conformance tests: resources, prompts and main(). */
#include "conformance/mcp/fixture.h"

#include "app.h"
#include "json/text.h"

enum sirix_status fixture_ask(struct sirix_mcp_request *request, const char *key,
                              const char *method, struct sirix_bytes params, const char *state,
                              const struct sirix_json_node **out, struct sirix_error *err)
{
    const struct sirix_mcp_question question = {.key = key, .method = method, .params = params};
    const struct sirix_json_node *answers = NULL;
    bool is_later = false;
    enum sirix_status status =
        sirix_mcp_ask(request, &question, 1, fixture_str(state), &answers, &is_later, err);

    *out = status == SIRIX_OK && !is_later ? sirix_arguments_member(answers, key) : NULL;
    return status;
}

/* --- Resources ------------------------------------------------------------------------------------ */

static enum sirix_status read_text(struct sirix_mcp_request *request,
                                   const struct sirix_uri_values *values, struct sirix_put *put,
                                   struct sirix_error *err)
{
    (void)request;
    (void)values;
    (void)err;
    sirix_put_str(put, "text", "This is the content of the static text resource.");
    return SIRIX_OK;
}

static enum sirix_status read_binary(struct sirix_mcp_request *request,
                                     const struct sirix_uri_values *values, struct sirix_put *put,
                                     struct sirix_error *err)
{
    (void)request;
    (void)values;
    (void)err;
    sirix_put_str(put, "blob", FIXTURE_PNG);
    return SIRIX_OK;
}

static enum sirix_status read_template(struct sirix_mcp_request *request,
                                       const struct sirix_uri_values *values, struct sirix_put *put,
                                       struct sirix_error *err)
{
    const struct sirix_bytes id = values->items[0];
    struct sirix_buf json;
    struct sirix_put inner;

    (void)request;
    sirix_buf_init(&json, SIZE_MAX);
    sirix_put_init(&inner, &json);
    sirix_put_object(&inner, NULL);
    sirix_put_plain(&inner, "id", id);
    sirix_put_bool(&inner, "templateTest", true);
    sirix_put_raw_str(&inner, "data", "null");
    sirix_put_object_end(&inner);
    enum sirix_status status = sirix_put_finish(&inner, err);
    if (status == SIRIX_OK) {
        json.len -= strlen("null}");
        status = sirix_buf_printf(&json, err, "\"Data for ID: %.*s\"}", (int)id.len,
                                  (const char *)id.data);
    }
    if (status == SIRIX_OK) {
        sirix_put_plain(put, "text", sirix_buf_view(&json));
    }
    sirix_buf_deinit(&json);
    return status;
}

static enum sirix_status unchanging(const struct sirix_resources_look *look,
                                    const struct sirix_uri_values *values, uint64_t *out,
                                    struct sirix_error *err)
{
    (void)look;
    (void)values;
    (void)err;
    *out = 1;
    return SIRIX_OK;
}

static const struct sirix_mcp_resource resources[] = {
    {.uri = "test://static-text",
     .name = "Static text",
     .description = "A text that stays.",
     .mime_type = "text/plain",
     .read = read_text,
     .state = unchanging},
    {.uri = "test://static-binary",
     .name = "Static binary",
     .description = "A picture that stays.",
     .mime_type = "image/png",
     .read = read_binary},
    {.uri = "test://watched-resource",
     .name = "Watched",
     .description = "One that can be watched.",
     .mime_type = "text/plain",
     .read = read_text,
     .state = unchanging},
    {.uri = "test://template/{id}/data",
     .name = "Template",
     .description = "Data of an id.",
     .mime_type = "application/json",
     .read = read_template},
};

/* --- Prompts -------------------------------------------------------------------------------------- */

static void begin_message(struct sirix_put *put, const char *type)
{
    sirix_put_object(put, NULL);
    sirix_put_str(put, "role", "user");
    sirix_put_object(put, "content");
    sirix_put_str(put, "type", type);
}

static void end_message(struct sirix_put *put)
{
    sirix_put_object_end(put);
    sirix_put_object_end(put);
}

static void put_text(struct sirix_put *put, struct sirix_bytes text)
{
    begin_message(put, "text");
    sirix_put_plain(put, "text", text);
    end_message(put);
}

static enum sirix_status get_simple(struct sirix_mcp_request *request,
                                    const struct sirix_bytes *values, struct sirix_put *put,
                                    struct sirix_error *err)
{
    (void)request;
    (void)values;
    (void)err;
    put_text(put, fixture_str("This is a simple prompt for testing."));
    return SIRIX_OK;
}

static enum sirix_status get_with_arguments(struct sirix_mcp_request *request,
                                            const struct sirix_bytes *values, struct sirix_put *put,
                                            struct sirix_error *err)
{
    char *text = NULL;
    enum sirix_status status = sirix_arena_printf(
        request->arena, &text, err, "Prompt with arguments: arg1='%s', arg2='%s'",
        (const char *)values[0].data, (const char *)values[1].data);

    if (status == SIRIX_OK) {
        put_text(put, fixture_str(text));
    }
    return status;
}

static enum sirix_status get_with_resource(struct sirix_mcp_request *request,
                                           const struct sirix_bytes *values, struct sirix_put *put,
                                           struct sirix_error *err)
{
    (void)request;
    (void)err;
    begin_message(put, "resource");
    sirix_put_object(put, "resource");
    sirix_put_plain(put, "uri", values[0]);
    sirix_put_str(put, "mimeType", "text/plain");
    sirix_put_str(put, "text", "Embedded resource content for testing.");
    sirix_put_object_end(put);
    end_message(put);
    put_text(put, fixture_str("Please process the embedded resource above."));
    return SIRIX_OK;
}

static enum sirix_status get_with_image(struct sirix_mcp_request *request,
                                        const struct sirix_bytes *values, struct sirix_put *put,
                                        struct sirix_error *err)
{
    (void)request;
    (void)values;
    (void)err;
    begin_message(put, "image");
    sirix_put_str(put, "data", FIXTURE_PNG);
    sirix_put_str(put, "mimeType", "image/png");
    end_message(put);
    put_text(put, fixture_str("Please analyze the image above."));
    return SIRIX_OK;
}

static enum sirix_status get_asking(struct sirix_mcp_request *request,
                                    const struct sirix_bytes *values, struct sirix_put *put,
                                    struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    enum sirix_status status =
        fixture_ask(request, "user_context", "elicitation/create",
                    fixture_str(FORM("What context should the prompt use?",
                                     "\"context\":{\"type\":\"string\"}", "\"context\"")),
                    "", &answer, err);
    const struct sirix_json_node *context =
        sirix_arguments_member(sirix_arguments_member(answer, "content"), "context");

    (void)values;
    if (context != NULL) {
        begin_message(put, "text");
        sirix_put_canonical(put, "text", context->value.text);
        end_message(put);
    }
    return status;
}

static const struct sirix_mcp_prompt prompts[] = {
    {.name = "test_simple_prompt", .description = "Without arguments.", .get = get_simple},
    {.name = "test_prompt_with_arguments",
     .description = "With two arguments.",
     .arguments = {{"arg1", "First test argument", true}, {"arg2", "Second test argument", true}},
     .get = get_with_arguments},
    {.name = "test_prompt_with_embedded_resource",
     .description = "With a resource in it.",
     .arguments = {{"resourceUri", "URI of the resource to embed", true}},
     .get = get_with_resource},
    {.name = "test_prompt_with_image", .description = "With a picture.", .get = get_with_image},
    {.name = "test_input_required_result_prompt",
     .description = "One that asks first.",
     .get = get_asking},
};

static enum sirix_status complete(struct sirix_mcp_request *request,
                                  struct sirix_mcp_completion *completion, struct sirix_error *err)
{
    (void)request;
    (void)completion;
    (void)err;
    return SIRIX_OK;
}

int main(int argc, char **argv)
{
    const struct sirix_mcp_registry registry = {
        .tools = fixture_tools,
        .tool_count = fixture_tool_count,
        .resources = resources,
        .resource_count = sizeof(resources) / sizeof(resources[0]),
        .prompts = prompts,
        .prompt_count = sizeof(prompts) / sizeof(prompts[0]),
        .complete = complete,
        .trusts_unknown_clients = true,
        .lists_change = true,
    };

    return sirix_gateway_main(argc, argv, &registry);
}
