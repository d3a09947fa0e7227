/* Questions to the client. */
#include "mcp/ask.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/sha256.h"
#include "jsonrpc/put.h"
#include "mcp/arguments.h"
#include "mcp/pending.h"
#include "mcp/server.h"
#include "mcp/trail.h"

enum { US_PER_S = 1000 * 1000 };

static const char *capability_json(enum sirix_mcp_capability capability)
{
    switch (capability) {
    case SIRIX_MCP_CAN_ELICIT:
        return "\"requiredCapabilities\":{\"elicitation\":{}}";
    case SIRIX_MCP_CAN_SAMPLE:
        return "\"requiredCapabilities\":{\"sampling\":{}}";
    default:
        return "\"requiredCapabilities\":{\"roots\":{}}";
    }
}

bool sirix_mcp_can_ask(const struct sirix_mcp_request *request,
                       enum sirix_mcp_capability capability)
{
    return (request->context.capabilities & capability) != 0 &&
           (sirix_mcp_is_modern(request->context.version) || request->context.peer != NULL);
}

enum sirix_status sirix_mcp_need_capability(struct sirix_mcp_request *request,
                                            enum sirix_mcp_capability capability,
                                            struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_FIELD_MISSING,
                          "the client has not declared what this needs: %s",
                          capability == SIRIX_MCP_CAN_ELICIT   ? "elicitation"
                          : capability == SIRIX_MCP_CAN_SAMPLE ? "sampling"
                                                               : "roots");

    if (sirix_mcp_is_modern(request->context.version)) {
        request->failure.code = SIRIX_MCP_MISSING_CAPABILITY;
        request->failure.data = capability_json(capability);
    }
    return status;
}

/* --- Modern: questions are an answer, answers come with a request --------------------------------- */

static const struct sirix_json_node *given(const struct sirix_mcp_request *request)
{
    return sirix_mcp_is_modern(request->context.version)
               ? sirix_arguments_member(request->message->params, "inputResponses")
               : NULL;
}

const struct sirix_json_node *sirix_mcp_given_answer(const struct sirix_mcp_request *request,
                                                     const char *key)
{
    return sirix_arguments_member(given(request), key);
}

static int compare_digests(const void *left, const void *right)
{
    return memcmp(left, right, SIRIX_SHA256_BYTES);
}

/* Whether a parameter says what is asked for. */
static bool counts(struct sirix_bytes name)
{
    static const char *const left_out[] = {"_meta", "inputResponses", "requestState"};

    for (size_t i = 0; i < sizeof(left_out) / sizeof(left_out[0]); i++) {
        if (sirix_bytes_equal(name, sirix_bytes_from_str(left_out[i]))) {
            return false;
        }
    }
    return true;
}

/* Appends the digest of a parameter; text is for the work. */
static enum sirix_status add_digest(const struct sirix_json_node *parameter, struct sirix_buf *text,
                                    struct sirix_buf *digests, struct sirix_error *err)
{
    uint8_t one[SIRIX_SHA256_BYTES];

    sirix_buf_clear(text);
    enum sirix_status status = sirix_arguments_append_text(parameter, text, err);
    if (status == SIRIX_OK) {
        status = sirix_sha256(text->data, text->len, one, err);
    }
    return status == SIRIX_OK ? sirix_buf_append(digests, one, sizeof(one), err) : status;
}

/*
 * What a state belongs to: a digest of who asks, the method, and the parameters that say what is asked
 * for, in whatever order they come: those of the parameters are sorted. (A sum of them would be matched
 * by parameters that somebody chose for it.)
 */
static enum sirix_status digest_of(const struct sirix_mcp_request *request,
                                   uint8_t out[SIRIX_SHA256_BYTES], struct sirix_error *err)
{
    const struct sirix_jsonrpc_message *message = request->message;
    struct sirix_buf text;
    struct sirix_buf digests;

    sirix_buf_init(&text, SIZE_MAX);
    sirix_buf_init(&digests, SIZE_MAX);
    enum sirix_status status = SIRIX_OK;
    for (const struct sirix_json_node *at = sirix_json_first(message->params);
         at != NULL && status == SIRIX_OK; at = at->next) {
        if (counts(at->name)) {
            status = add_digest(at, &text, &digests, err);
        }
    }
    if (digests.len != 0) {
        qsort(digests.data, digests.len / SIRIX_SHA256_BYTES, SIRIX_SHA256_BYTES, compare_digests);
    }
    sirix_buf_clear(&text);
    if (status == SIRIX_OK) {
        status = sirix_buf_printf(&text, err, "%s\n", sirix_mcp_principal(request));
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&text, message->method, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(&text, '\n', err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&text, sirix_buf_view(&digests), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256(text.data, text.len, out, err);
    }
    sirix_buf_deinit(&digests);
    sirix_buf_deinit(&text);
    return status;
}

static int64_t now_s(void)
{
    return sirix_clock_realtime_us(sirix_clock_system()) / US_PER_S;
}

enum sirix_status sirix_mcp_given_state(struct sirix_mcp_request *request, struct sirix_bytes *out,
                                        struct sirix_error *err)
{
    const struct sirix_json_node *state =
        sirix_mcp_is_modern(request->context.version)
            ? sirix_arguments_member(request->message->params, "requestState")
            : NULL;
    uint8_t digest[SIRIX_SHA256_BYTES];
    enum sirix_status status = SIRIX_OK;

    if (state == NULL) {
        *out = (struct sirix_bytes){.data = NULL, .len = 0};
        return SIRIX_OK;
    }
    status = digest_of(request, digest, err);
    if (status == SIRIX_OK) {
        const struct sirix_seal_binding binding = {
            .purpose = "requestState",
            .context = {.data = digest, .len = sizeof(digest)},
        };
        /* A sealed text has no escapes; what has is none. */
        const struct sirix_bytes text = state->kind == SIRIX_JSON_KIND_STRING
                                            ? state->value.text
                                            : (struct sirix_bytes){.data = "", .len = 0};
        status = sirix_seal_open(&request->server->keys, &binding, text, now_s(), request->arena,
                                 out, err);
    }
    if (status == SIRIX_INVALID) {
        request->failure.code = SIRIX_JSONRPC_INVALID_PARAMS;
        sirix_error_set_field(err, "params.requestState");
    }
    return status;
}

static bool has_all(const struct sirix_mcp_request *request,
                    const struct sirix_mcp_question *questions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (sirix_mcp_given_answer(request, questions[i].key) == NULL) {
            return false;
        }
    }
    return true;
}

static void put_question(struct sirix_put *put, const struct sirix_mcp_question *question)
{
    sirix_put_object(put, question->key);
    sirix_put_str(put, "method", question->method);
    if (question->params.len != 0) {
        sirix_put_raw(put, "params", question->params);
    }
    sirix_put_object_end(put);
}

static enum sirix_status seal_state(struct sirix_mcp_request *request, struct sirix_bytes state,
                                    struct sirix_error *err)
{
    uint8_t digest[SIRIX_SHA256_BYTES];
    const struct sirix_seal_binding binding = {
        .purpose = "requestState",
        .context = {.data = digest, .len = sizeof(digest)},
    };
    enum sirix_status status = digest_of(request, digest, err);

    return status == SIRIX_OK
               ? sirix_seal_close(&request->server->keys, &binding, state,
                                  now_s() + SIRIX_MCP_STATE_LIFE_S, &request->state, err)
               : status;
}

static enum sirix_status ask_later(struct sirix_mcp_request *request,
                                   const struct sirix_mcp_question *questions, size_t count,
                                   struct sirix_bytes state, struct sirix_error *err)
{
    struct sirix_put put;

    sirix_buf_clear(&request->questions);
    sirix_buf_clear(&request->state);
    sirix_put_init(&put, &request->questions);
    sirix_put_object(&put, NULL);
    for (size_t i = 0; i < count; i++) {
        put_question(&put, &questions[i]);
    }
    sirix_put_object_end(&put);
    enum sirix_status status = sirix_put_finish(&put, err);
    if (status == SIRIX_OK && state.len != 0) {
        status = seal_state(request, state, err);
    }
    request->is_asking = status == SIRIX_OK;
    return status;
}

/* --- Legacy: requests of ours --------------------------------------------------------------------- */

static enum sirix_status send_question(struct sirix_mcp_request *request,
                                       const struct sirix_mcp_question *question, const char *id,
                                       struct sirix_error *err)
{
    struct sirix_buf message;
    struct sirix_put put;

    sirix_buf_init(&message, SIZE_MAX);
    sirix_put_init(&put, &message);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "jsonrpc", "2.0");
    sirix_put_str(&put, "id", id);
    sirix_put_str(&put, "method", question->method);
    if (question->params.len != 0) {
        sirix_put_raw(&put, "params", question->params);
    }
    sirix_put_object_end(&put);
    enum sirix_status status = sirix_put_finish(&put, err);
    if (status == SIRIX_OK) {
        status = request->context.peer->send(request->context.peer, sirix_buf_view(&message), err);
    }
    sirix_buf_deinit(&message);
    return status;
}

/* The answer of one entry as a member of the answers. */
static enum sirix_status take_answer(struct sirix_json_tree *answers,
                                     const struct sirix_mcp_question *question,
                                     const struct sirix_pending_entry *entry,
                                     struct sirix_error *err)
{
    struct sirix_json_tree tree = *answers;

    if (entry->is_error) {
        return sirix_fail(err, SIRIX_UNAVAILABLE, "the client answered %s with an error",
                          question->method);
    }
    tree.root = NULL;
    enum sirix_status status =
        sirix_json_tree_parse(&tree, sirix_buf_view(&entry->answer), NULL, NULL, err);
    return status == SIRIX_OK
               ? sirix_json_object_set_str(answers, answers->root, question->key, tree.root, err)
               : status;
}

static enum sirix_status wait_for_all(struct sirix_mcp_request *request,
                                      const struct sirix_mcp_question *questions, size_t count,
                                      struct sirix_pending_entry *entries,
                                      struct sirix_json_tree *answers, struct sirix_error *err)
{
    struct sirix_mcp_peer *peer = request->context.peer;
    enum sirix_status status = SIRIX_OK;

    if (peer->wait_begin != NULL) {
        peer->wait_begin(peer);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = sirix_pending_wait(request->server->pending, &entries[i], request->context.cancel,
                                    SIRIX_MCP_ASK_TIMEOUT_MS, err);
        if (status == SIRIX_DEADLINE) {
            status = sirix_fail(err, SIRIX_UNAVAILABLE, "the client did not answer in time");
        }
    }
    if (peer->wait_end != NULL) {
        peer->wait_end(peer);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        status = take_answer(answers, &questions[i], &entries[i], err);
    }
    return status;
}

static enum sirix_status ask_now(struct sirix_mcp_request *request,
                                 const struct sirix_mcp_question *questions, size_t count,
                                 const struct sirix_json_node **out_answers,
                                 struct sirix_error *err)
{
    struct sirix_pending *pending = request->server->pending;
    struct sirix_pending_entry entries[SIRIX_MCP_QUESTIONS_MAX];
    struct sirix_json_tree answers;
    size_t added = 0;

    enum sirix_status status = sirix_json_tree_init(&answers, request->arena, err);
    if (status == SIRIX_OK) {
        status = sirix_json_new(&answers, SIRIX_JSON_KIND_OBJECT, &answers.root, err);
    }
    while (added < count && status == SIRIX_OK) {
        status = sirix_pending_add(pending, &entries[added], err);
        if (status == SIRIX_OK) {
            added++;
            status = send_question(request, &questions[added - 1], entries[added - 1].id, err);
        }
    }
    if (status == SIRIX_OK) {
        status = wait_for_all(request, questions, count, entries, &answers, err);
    }
    for (size_t i = 0; i < added; i++) {
        sirix_pending_remove(pending, &entries[i]);
    }
    if (status == SIRIX_OK) {
        *out_answers = answers.root;
    }
    return status;
}

enum sirix_status sirix_mcp_ask(struct sirix_mcp_request *request,
                                const struct sirix_mcp_question *questions, size_t count,
                                struct sirix_bytes state,
                                const struct sirix_json_node **out_answers, bool *out_is_later,
                                struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    assert(count <= SIRIX_MCP_QUESTIONS_MAX && state.len <= SIRIX_MCP_STATE_BYTES_MAX);
    (void)atomic_fetch_add(&request->server->metrics->questions, count);
    if (!sirix_mcp_is_modern(request->context.version)) {
        *out_is_later = false;
        return request->context.peer != NULL
                   ? ask_now(request, questions, count, out_answers, err)
                   : sirix_fail(err, SIRIX_UNAVAILABLE, "the client cannot be asked");
    }
    if (has_all(request, questions, count)) {
        *out_answers = given(request);
        *out_is_later = false;
        return SIRIX_OK;
    }
    status = ask_later(request, questions, count, state, err);
    if (status == SIRIX_OK) {
        *out_is_later = true;
    }
    return status;
}
