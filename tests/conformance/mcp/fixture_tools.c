/* The tools that the official conformance suite asks for. Texts and shapes are those that it documents. */
#include <poll.h>
#include <stdio.h>
#include <string.h>

#include "conformance/mcp/fixture.h"
#include "mcp/tools.h"
#include "json/text.h"

enum { PAUSE_MS = 50 };

/* Half a silent sample. */
#define WAV "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

#define NO_ARGUMENTS "{\"type\":\"object\",\"properties\":{},\"additionalProperties\":false}"
#define ONE_TEXT(name)                                                                             \
    "{\"type\":\"object\",\"properties\":{\"" name                                                 \
    "\":{\"type\":\"string\"}},\"required\":[\"" name "\"],\"additionalProperties\":false}"

#define ASK_NAME FORM("What is your name?", "\"name\":{\"type\":\"string\"}", "\"name\"")
#define SAMPLE(text, tokens)                                                                       \
    "{\"messages\":[{\"role\":\"user\",\"content\":{\"type\":\"text\",\"text\":\"" text            \
    "\"}}],\"maxTokens\":" tokens "}"

/* --- What handlers share ------------------------------------------------------------------------ */

/* Time passes in the middle of a call, so that a client sees one message after the other. */
static void pause_a_moment(void)
{
    (void)poll(NULL, 0, PAUSE_MS);
}

/* Answers content as it is written here. */
static enum sirix_status answer_json(struct sirix_mcp_call *call, const char *json,
                                     struct sirix_error *err)
{
    return sirix_buf_append_str(&call->content, json, err);
}

/* Answers one block of text: a beginning and a canonical text. */
static enum sirix_status answer_text(struct sirix_mcp_call *call, const char *beginning,
                                     struct sirix_bytes canonical, struct sirix_error *err)
{
    return sirix_buf_printf(&call->content, err, "[{\"type\":\"text\",\"text\":\"%s%.*s\"}]",
                            beginning, (int)canonical.len,
                            canonical.len == 0 ? "" : (const char *)canonical.data);
}

/* A value as JSON text, escaped to stand inside of a string. */
static enum sirix_status quote(struct sirix_mcp_call *call, const struct sirix_json_node *value,
                               struct sirix_bytes *out, struct sirix_error *err)
{
    struct sirix_buf json;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&json, SIZE_MAX);
    if (value != NULL) {
        status = sirix_json_tree_print(value, &json, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_text_to_canonical(call->arena, sirix_buf_view(&json), out, err);
    }
    if (status == SIRIX_OK && out->data == json.data) {
        status = sirix_arena_copy(call->arena, *out, out, err);
    }
    sirix_buf_deinit(&json);
    return status;
}

static const struct sirix_json_node *member(const struct sirix_json_node *object, const char *name)
{
    return sirix_arguments_member(object, name);
}

/* A text in an answer that was accepted; canonical, empty where there is none. */
static struct sirix_bytes accepted_text(const struct sirix_json_node *answer, const char *name)
{
    const struct sirix_json_node *text = member(member(answer, "content"), name);

    return text != NULL && text->kind == SIRIX_JSON_KIND_STRING
               ? text->value.text
               : (struct sirix_bytes){.data = NULL, .len = 0};
}

/* --- Tools: content ------------------------------------------------------------------------------ */

static enum sirix_status simple_text(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return answer_text(call, "This is a simple text response for testing.", fixture_str(""), err);
}

static enum sirix_status image_content(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return answer_json(
        call, "[{\"type\":\"image\",\"data\":\"" FIXTURE_PNG "\",\"mimeType\":\"image/png\"}]",
        err);
}

static enum sirix_status audio_content(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return answer_json(
        call, "[{\"type\":\"audio\",\"data\":\"" WAV "\",\"mimeType\":\"audio/wav\"}]", err);
}

static enum sirix_status embedded_resource(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return answer_json(call,
                       "[{\"type\":\"resource\",\"resource\":{\"uri\":\"test://embedded-resource\","
                       "\"mimeType\":\"text/plain\",\"text\":\"This is an embedded resource "
                       "content.\"}}]",
                       err);
}

static enum sirix_status mixed_content(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return answer_json(
        call,
        "[{\"type\":\"text\",\"text\":\"Multiple content types test:\"},{\"type\":\"image\","
        "\"data\":\"" FIXTURE_PNG
        "\",\"mimeType\":\"image/png\"},{\"type\":\"resource\",\"resource\":{"
        "\"uri\":\"test://mixed-content-resource\",\"mimeType\":\"application/json\",\"text\":"
        "\"{\\\"test\\\":\\\"data\\\",\\\"value\\\":123}\"}}]",
        err);
}

static enum sirix_status error_handling(struct sirix_mcp_call *call, struct sirix_error *err)
{
    (void)call;
    return sirix_fail(err, SIRIX_INVALID, "This tool intentionally returns an error for testing");
}

/* --- Tools: what is told meanwhile ---------------------------------------------------------------- */

static enum sirix_status with_logging(struct sirix_mcp_call *call, struct sirix_error *err)
{
    sirix_mcp_tell_log(call->request, SIRIX_MCP_LOG_INFO,
                       fixture_str("\"Tool execution started\""));
    pause_a_moment();
    sirix_mcp_tell_log(call->request, SIRIX_MCP_LOG_INFO, fixture_str("\"Tool processing data\""));
    pause_a_moment();
    sirix_mcp_tell_log(call->request, SIRIX_MCP_LOG_INFO,
                       fixture_str("\"Tool execution completed\""));
    return answer_text(call, "Logged three messages.", fixture_str(""), err);
}

static enum sirix_status with_progress(struct sirix_mcp_call *call, struct sirix_error *err)
{
    sirix_mcp_tell_progress(call->request, 0, 100, NULL, true);
    pause_a_moment();
    sirix_mcp_tell_progress(call->request, 50, 100, NULL, true);
    pause_a_moment();
    sirix_mcp_tell_progress(call->request, 100, 100, NULL, true);
    return answer_text(call, "Told its progress.", fixture_str(""), err);
}

static enum sirix_status tool_change(struct sirix_mcp_call *call, struct sirix_error *err)
{
    sirix_events_tools_changed(call->server->events);
    return answer_text(call, "Told that tools changed.", fixture_str(""), err);
}

static enum sirix_status prompt_change(struct sirix_mcp_call *call, struct sirix_error *err)
{
    sirix_events_prompts_changed(call->server->events);
    return answer_text(call, "Told that prompts changed.", fixture_str(""), err);
}

/* --- Tools: questions, legacy --------------------------------------------------------------------- */

static enum sirix_status sampling(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes prompt = {.data = NULL, .len = 0};
    char *params = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_mcp_can_ask(call->request, SIRIX_MCP_CAN_SAMPLE)) {
        return sirix_mcp_need_capability(call->request, SIRIX_MCP_CAN_SAMPLE, err);
    }
    status = sirix_json_text_to_canonical(
        call->arena, sirix_argument_text(&call->arguments, "prompt"), &prompt, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_printf(call->arena, &params, err, SAMPLE("%.*s", "100"),
                                    (int)prompt.len, (const char *)prompt.data);
    }
    if (status == SIRIX_OK) {
        status = fixture_ask(call->request, "sample", "sampling/createMessage", fixture_str(params),
                             "", &answer, err);
    }
    const struct sirix_json_node *text = member(member(answer, "content"), "text");
    return status == SIRIX_OK && answer != NULL
               ? answer_text(
                     call, "LLM response: ", text == NULL ? fixture_str("") : text->value.text, err)
               : status;
}

/* Asks by a form and answers what came, behind the beginning. */
static enum sirix_status elicit(struct sirix_mcp_call *call, const char *params, bool as_completed,
                                struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes content = {.data = NULL, .len = 0};
    char beginning[128];
    enum sirix_status status = SIRIX_OK;

    if (!sirix_mcp_can_ask(call->request, SIRIX_MCP_CAN_ELICIT)) {
        return sirix_mcp_need_capability(call->request, SIRIX_MCP_CAN_ELICIT, err);
    }
    status = fixture_ask(call->request, "form", "elicitation/create", fixture_str(params), "",
                         &answer, err);
    if (status != SIRIX_OK || answer == NULL) {
        return status;
    }
    const struct sirix_json_node *action = member(answer, "action");
    status = quote(call, as_completed ? member(answer, "content") : answer, &content, err);
    (void)snprintf(beginning, sizeof(beginning), "Elicitation completed: action=%.*s, content=",
                   action == NULL ? 0 : (int)action->value.text.len,
                   action == NULL ? "" : (const char *)action->value.text.data);
    return status == SIRIX_OK
               ? answer_text(call, as_completed ? beginning : "User response: ", content, err)
               : status;
}

static enum sirix_status elicitation(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_bytes message = {.data = NULL, .len = 0};
    char *params = NULL;
    enum sirix_status status = sirix_json_text_to_canonical(
        call->arena, sirix_argument_text(&call->arguments, "message"), &message, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_printf(
            call->arena, &params, err,
            FORM("%.*s",
                 "\"username\":{\"type\":\"string\",\"description\":\"User's response\"},"
                 "\"email\":{\"type\":\"string\",\"description\":\"User's email address\"}",
                 "\"username\",\"email\""),
            (int)message.len, (const char *)message.data);
    }
    return status == SIRIX_OK ? elicit(call, params, false, err) : status;
}

static enum sirix_status elicitation_defaults(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return elicit(call,
                  FORM("Please review",
                       "\"name\":{\"type\":\"string\",\"default\":\"John Doe\"},"
                       "\"age\":{\"type\":\"integer\",\"default\":30},"
                       "\"score\":{\"type\":\"number\",\"default\":95.5},"
                       "\"status\":{\"type\":\"string\",\"enum\":[\"active\",\"inactive\","
                       "\"pending\"],\"default\":\"active\"},"
                       "\"verified\":{\"type\":\"boolean\",\"default\":true}",
                       ""),
                  true, err);
}

static enum sirix_status elicitation_enums(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return elicit(
        call,
        FORM("Please choose",
             "\"untitledSingle\":{\"type\":\"string\",\"enum\":[\"option1\",\"option2\","
             "\"option3\"]},"
             "\"titledSingle\":{\"type\":\"string\",\"oneOf\":[{\"const\":\"value1\",\"title\":"
             "\"First Option\"},{\"const\":\"value2\",\"title\":\"Second Option\"},{\"const\":"
             "\"value3\",\"title\":\"Third Option\"}]},"
             "\"legacyEnum\":{\"type\":\"string\",\"enum\":[\"opt1\",\"opt2\",\"opt3\"],"
             "\"enumNames\":[\"Option One\",\"Option Two\",\"Option Three\"]},"
             "\"untitledMulti\":{\"type\":\"array\",\"items\":{\"type\":\"string\",\"enum\":["
             "\"option1\",\"option2\",\"option3\"]}},"
             "\"titledMulti\":{\"type\":\"array\",\"items\":{\"anyOf\":[{\"const\":\"value1\","
             "\"title\":\"First Choice\"},{\"const\":\"value2\",\"title\":\"Second Choice\"},{"
             "\"const\":\"value3\",\"title\":\"Third Choice\"}]}}",
             ""),
        true, err);
}

/* --- Tools: questions, modern --------------------------------------------------------------------- */

static enum sirix_status missing_capability(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return sirix_mcp_can_ask(call->request, SIRIX_MCP_CAN_SAMPLE)
               ? answer_text(call, "The client can sample.", fixture_str(""), err)
               : sirix_mcp_need_capability(call->request, SIRIX_MCP_CAN_SAMPLE, err);
}

static enum sirix_status input_elicitation(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_mcp_question question = {
        .key = "user_name", .method = "elicitation/create", .params = fixture_str(ASK_NAME)};
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes greeting = {.data = NULL, .len = 0};
    char *text = NULL;

    if (!sirix_mcp_can_ask(call->request, SIRIX_MCP_CAN_ELICIT)) {
        return sirix_mcp_need_capability(call->request, SIRIX_MCP_CAN_ELICIT, err);
    }
    enum sirix_status status = fixture_ask(call->request, question.key, question.method,
                                           question.params, "", &answer, err);
    if (status != SIRIX_OK || answer == NULL) {
        return status;
    }
    greeting = accepted_text(answer, "name");
    if (greeting.len == 0) {
        call->request->failure.code = SIRIX_JSONRPC_INVALID_PARAMS;
        return sirix_fail(err, SIRIX_INVALID, "inputResponses.user_name has no name");
    }
    status = sirix_arena_printf(call->arena, &text, err, "Hello, %.*s!", (int)greeting.len,
                                (const char *)greeting.data);
    return status == SIRIX_OK ? answer_text(call, text, fixture_str(""), err) : status;
}

static enum sirix_status input_sampling(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    enum sirix_status status =
        fixture_ask(call->request, "capital_question", "sampling/createMessage",
                    fixture_str(SAMPLE("What is the capital of France?", "100")), "", &answer, err);
    const struct sirix_json_node *text = member(member(answer, "content"), "text");

    return status == SIRIX_OK && answer != NULL
               ? answer_text(call,
                             "The model says: ", text == NULL ? fixture_str("") : text->value.text,
                             err)
               : status;
}

static enum sirix_status input_roots(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes roots = {.data = NULL, .len = 0};
    enum sirix_status status = fixture_ask(call->request, "client_roots", "roots/list",
                                           fixture_str("{}"), "", &answer, err);

    if (status == SIRIX_OK && answer != NULL) {
        status = quote(call, member(answer, "roots"), &roots, err);
    }
    return status == SIRIX_OK && answer != NULL ? answer_text(call, "Roots: ", roots, err) : status;
}

/* Asks with a state, and accepts the answer only with it. */
static enum sirix_status input_with_state(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes state = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_mcp_given_state(call->request, &state, err);

    if (status == SIRIX_OK) {
        status = fixture_ask(
            call->request, "confirm", "elicitation/create",
            fixture_str(FORM("Please confirm", "\"ok\":{\"type\":\"boolean\"}", "\"ok\"")),
            "remembered", &answer, err);
    }
    if (status != SIRIX_OK || answer == NULL) {
        return status;
    }
    return answer_text(
        call, sirix_bytes_equal(state, fixture_str("remembered")) ? "state-ok" : "state-missing",
        fixture_str(""), err);
}

static enum sirix_status input_multiple(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_mcp_question questions[] = {
        {"user_name", "elicitation/create", fixture_str(ASK_NAME)},
        {"greeting", "sampling/createMessage", fixture_str(SAMPLE("Generate a greeting", "50"))},
        {"client_roots", "roots/list", fixture_str("{}")},
    };
    const struct sirix_json_node *answers = NULL;
    struct sirix_bytes state = {.data = NULL, .len = 0};
    struct sirix_bytes all = {.data = NULL, .len = 0};
    bool is_later = false;
    enum sirix_status status = sirix_mcp_given_state(call->request, &state, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_ask(call->request, questions, 3, fixture_str("three"), &answers,
                               &is_later, err);
    }
    if (status == SIRIX_OK && !is_later) {
        status = quote(call, answers, &all, err);
    }
    return status == SIRIX_OK && !is_later ? answer_text(call, "Answers: ", all, err) : status;
}

static enum sirix_status input_rounds(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_json_node *answer = NULL;
    struct sirix_bytes state = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_mcp_given_state(call->request, &state, err);

    if (status == SIRIX_OK && !sirix_bytes_equal(state, fixture_str("second"))) {
        status = fixture_ask(call->request, "step1", "elicitation/create",
                             fixture_str(FORM("Step 1: What is your name?",
                                              "\"name\":{\"type\":\"string\"}", "\"name\"")),
                             "first", &answer, err);
        if (status != SIRIX_OK || answer == NULL) {
            return status;
        }
    }
    if (status == SIRIX_OK) {
        status = fixture_ask(call->request, "step2", "elicitation/create",
                             fixture_str(FORM("Step 2: What is your favorite color?",
                                              "\"color\":{\"type\":\"string\"}", "\"color\"")),
                             "second", &answer, err);
    }
    return status == SIRIX_OK && answer != NULL
               ? answer_text(call, "Your color is ", accepted_text(answer, "color"), err)
               : status;
}

/* Asks only for what the client has declared. */
static enum sirix_status input_capabilities(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_mcp_question all[] = {
        {"user_name", "elicitation/create", fixture_str(ASK_NAME)},
        {"greeting", "sampling/createMessage", fixture_str(SAMPLE("Generate a greeting", "50"))},
        {"client_roots", "roots/list", fixture_str("{}")},
    };
    static const enum sirix_mcp_capability needs[] = {SIRIX_MCP_CAN_ELICIT, SIRIX_MCP_CAN_SAMPLE,
                                                      SIRIX_MCP_CAN_LIST_ROOTS};
    struct sirix_mcp_question asked[3];
    const struct sirix_json_node *answers = NULL;
    bool is_later = false;
    size_t count = 0;

    for (size_t i = 0; i < 3; i++) {
        if (sirix_mcp_can_ask(call->request, needs[i])) {
            asked[count++] = all[i];
        }
    }
    enum sirix_status status =
        count == 0
            ? SIRIX_OK
            : sirix_mcp_ask(call->request, asked, count, fixture_str(""), &answers, &is_later, err);
    return status == SIRIX_OK && !is_later
               ? answer_text(call, "Asked for what was declared.", fixture_str(""), err)
               : status;
}

/* --- Table --------------------------------------------------------------------------------------- */

#define TOOL(tool, handler, schema)                                                                \
    {                                                                                              \
        .name = (tool), .title = (tool), .description = "A fixture of the conformance suite.",     \
        .input_schema = (schema), .is_idempotent = true, .run = (handler)                          \
    }

const struct sirix_mcp_tool fixture_tools[] = {
    TOOL("test_simple_text", simple_text, NO_ARGUMENTS),
    TOOL("test_image_content", image_content, NO_ARGUMENTS),
    TOOL("test_audio_content", audio_content, NO_ARGUMENTS),
    TOOL("test_embedded_resource", embedded_resource, NO_ARGUMENTS),
    TOOL("test_multiple_content_types", mixed_content, NO_ARGUMENTS),
    TOOL("test_error_handling", error_handling, NO_ARGUMENTS),
    TOOL("test_tool_with_logging", with_logging, NO_ARGUMENTS),
    TOOL("test_logging_tool", with_logging, NO_ARGUMENTS),
    TOOL("test_tool_with_progress", with_progress, NO_ARGUMENTS),
    TOOL("test_trigger_tool_change", tool_change, NO_ARGUMENTS),
    TOOL("test_trigger_prompt_change", prompt_change, NO_ARGUMENTS),
    TOOL("test_sampling", sampling, ONE_TEXT("prompt")),
    TOOL("test_elicitation", elicitation, ONE_TEXT("message")),
    TOOL("test_elicitation_sep1034_defaults", elicitation_defaults, NO_ARGUMENTS),
    TOOL("test_elicitation_sep1330_enums", elicitation_enums, NO_ARGUMENTS),
    TOOL("test_missing_capability", missing_capability, NO_ARGUMENTS),
    TOOL("test_streaming_elicitation", input_elicitation, NO_ARGUMENTS),
    TOOL("test_input_required_result_elicitation", input_elicitation, NO_ARGUMENTS),
    TOOL("test_input_required_result_sampling", input_sampling, NO_ARGUMENTS),
    TOOL("test_input_required_result_list_roots", input_roots, NO_ARGUMENTS),
    TOOL("test_input_required_result_request_state", input_with_state, NO_ARGUMENTS),
    TOOL("test_input_required_result_tampered_state", input_with_state, NO_ARGUMENTS),
    TOOL("test_input_required_result_multiple_inputs", input_multiple, NO_ARGUMENTS),
    TOOL("test_input_required_result_multi_round", input_rounds, NO_ARGUMENTS),
    TOOL("test_input_required_result_capabilities", input_capabilities, NO_ARGUMENTS),
    TOOL(
        "json_schema_2020_12_tool", simple_text,
        "{\"$schema\":\"https://json-schema.org/draft/2020-12/"
        "schema\",\"type\":\"object\",\"$defs\":{"
        "\"address\":{\"$anchor\":\"addressDef\",\"type\":\"object\",\"properties\":{\"street\":{"
        "\"type\":\"string\"},\"city\":{\"type\":\"string\"}}}},\"properties\":{\"name\":{\"type\":"
        "\"string\"},\"address\":{\"$ref\":\"#/$defs/address\"},\"contactMethod\":{\"type\":"
        "\"string\",\"enum\":[\"phone\",\"email\"]},\"phone\":{\"type\":\"string\"},\"email\":{"
        "\"type\":\"string\"}},\"allOf\":[{\"anyOf\":[{\"required\":[\"phone\"]},{\"required\":["
        "\"email\"]}]}],\"if\":{\"properties\":{\"contactMethod\":{\"const\":\"phone\"}},"
        "\"required\":[\"contactMethod\"]},\"then\":{\"required\":[\"phone\"]},\"else\":{"
        "\"required\":[\"email\"]},\"additionalProperties\":false}"),
};
const size_t fixture_tool_count = sizeof(fixture_tools) / sizeof(fixture_tools[0]);
