/* Asking before a write, or showing it first. */
#include "mcp/confirm.h"

#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "base/name.h"
#include "mcp/ask.h"
#include "mcp/trail.h"

#define ANSWER "confirmation"

enum {
    US_PER_S = 1000 * 1000,
    NS_PER_MS = 1000 * 1000,
    KEY_CHARS = SIRIX_RANDOM_ID_BYTES - 1,
    REVISION_BYTES = 8,
    NOTE_BYTES = REVISION_BYTES + KEY_CHARS,
    PREVIEW_BYTES_MAX = 16 * 1024,
    SHOWN_CHANGES = 5,
    SHOWN_VALUE_BYTES = 80,
    SHOWN_QUERY_BYTES = 2000,
    SHOWN_PATH_BYTES = 400,
};

/* What is remembered between the preview and the write. */
struct note {
    uint64_t revision;
    char key[KEY_CHARS];
};

static void pack(const struct note *note, uint8_t out[NOTE_BYTES])
{
    for (size_t i = 0; i < REVISION_BYTES; i++) {
        out[i] = (uint8_t)(note->revision >> 8 * (REVISION_BYTES - 1 - i));
    }
    memcpy(out + REVISION_BYTES, note->key, KEY_CHARS);
}

static bool unpack(struct sirix_bytes bytes, struct note *out)
{
    const uint8_t *at = bytes.data;

    if (bytes.len != NOTE_BYTES) {
        return false;
    }
    out->revision = 0;
    for (size_t i = 0; i < REVISION_BYTES; i++) {
        out->revision = out->revision << 8 | at[i];
    }
    memcpy(out->key, at + REVISION_BYTES, KEY_CHARS);
    return true;
}

static int64_t now_s(void)
{
    return sirix_clock_realtime_us(sirix_clock_system()) / US_PER_S;
}

/* --- Previews -------------------------------------------------------------------------------------- */

/* Up to max bytes of stored text, cut at a character. */
static enum sirix_status add_stored(struct sirix_buf *out, struct sirix_bytes text, size_t max,
                                    struct sirix_error *err)
{
    const uint8_t *bytes = text.data;
    size_t len = text.len < max ? text.len : max;

    while (len != 0 && len < text.len && (bytes[len] & 0xC0) == 0x80) {
        len--;
    }
    enum sirix_status status = sirix_buf_append(out, bytes, len, err);
    return status == SIRIX_OK && len < text.len ? sirix_buf_append_str(out, "…", err) : status;
}

enum sirix_status sirix_mcp_preview_stored(struct sirix_mcp_preview *out, struct sirix_bytes text,
                                           struct sirix_error *err)
{
    return add_stored(&out->text, text, SHOWN_QUERY_BYTES, err);
}

static enum sirix_status add_change(struct sirix_buf *out, const struct sirix_change *change,
                                    struct sirix_error *err)
{
    const bool is_gone = change->kind == SIRIX_CHANGE_KIND_DELETE;
    const struct sirix_bytes value = is_gone ? change->old_value : change->new_value;
    enum sirix_status status =
        sirix_buf_printf(out, err, "\n- %s ", sirix_change_kind_name(change->kind));

    if (status == SIRIX_OK) {
        status = add_stored(out, change->path, SHOWN_PATH_BYTES, err);
    }
    if (status == SIRIX_OK && value.len != 0) {
        status = sirix_buf_append_str(out, ": ", err);
    }
    return status == SIRIX_OK ? add_stored(out, value, SHOWN_VALUE_BYTES, err) : status;
}

enum sirix_status sirix_mcp_preview_diff(struct sirix_mcp_call *call, const struct sirix_view *from,
                                         const struct sirix_view *to, const char *what,
                                         struct sirix_mcp_preview *out, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    const struct sirix_diff_request request = {
        .database = call->database,
        .resource = call->resource,
        .has_from = true,
        .from = *from,
        .to = *to,
        .max_changes = SHOWN_CHANGES,
        .max_value_bytes = SHOWN_VALUE_BYTES,
    };
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_part part = {.kind = SIRIX_DIFF_PART_CHANGES};
    struct sirix_buf changes;
    enum sirix_status status =
        sirix_backend_diff(call->server->backend, &request, &options, &stream, err);

    sirix_buf_init(&changes, PREVIEW_BYTES_MAX);
    while (status == SIRIX_OK && part.kind != SIRIX_DIFF_PART_END) {
        status = sirix_backend_diff_next(stream, &part, err);
        for (size_t i = 0;
             status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_CHANGES && i < part.change_count;
             i++) {
            status = add_change(&changes, &part.changes[i], err);
        }
    }
    if (status == SIRIX_OK) {
        const struct sirix_diff_ends ends = sirix_backend_diff_ends(stream);
        const struct sirix_diff_counts *counts = &part.counts;

        out->revision = ends.from_revision;
        status =
            sirix_buf_printf(&out->text, err,
                             "%s of %s/%s: from the content of revision %" PRIu64
                             " to that of revision %" PRIu64 ". Inserts: %" PRIu64
                             ", deletes: %" PRIu64 ", updates: %" PRIu64 ", others: %" PRIu64 ".",
                             what, call->database, call->resource, ends.from_revision,
                             ends.to_revision, counts->inserts, counts->deletes, counts->updates,
                             counts->replaces + counts->renames + counts->moves);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&out->text, sirix_buf_view(&changes), err);
    }
    if (status == SIRIX_OK && part.counts.truncated) {
        status = sirix_buf_append_str(&out->text, "\n- and more", err);
    }
    sirix_backend_diff_close(stream);
    sirix_buf_deinit(&changes);
    return status;
}

enum sirix_status sirix_mcp_preview_node(struct sirix_mcp_call *call, const char *branch,
                                         uint64_t node_key, const char *what,
                                         struct sirix_mcp_preview *out, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    const struct sirix_read_node_request request = {
        .database = call->database,
        .resource = call->resource,
        .view = {.kind = branch != NULL ? SIRIX_VIEW_BRANCH : SIRIX_VIEW_DEFAULT, .name = branch},
        .target = {.node_key = node_key},
        .has_max_depth = true,
        .max_nodes = 1,
        .max_value_bytes = SHOWN_VALUE_BYTES,
    };
    struct sirix_node_page *page = NULL;
    enum sirix_status status =
        sirix_backend_read_node(call->server->backend, &request, &options, &page, err);

    if (status != SIRIX_OK) {
        return status;
    }
    out->revision = page->revision;
    status = sirix_buf_printf(&out->text, err,
                              "%s in %s/%s on branch %s, whose newest revision is %" PRIu64 ": ",
                              what, call->database, call->resource,
                              branch != NULL ? branch : SIRIX_BRANCH_MAIN, page->revision);
    if (status == SIRIX_OK && page->count == 0) {
        status = sirix_buf_append_str(&out->text, "the resource has no value yet", err);
    }
    if (status == SIRIX_OK && page->count != 0) {
        const struct sirix_node_info *node = &page->nodes[0];

        status = sirix_buf_printf(
            &out->text, err, "node %" PRIu64 ", %s with %" PRIu64 " children, at \"",
            node->node_key, sirix_node_type_name(node->type), node->child_count);
        if (status == SIRIX_OK) {
            status = add_stored(&out->text, page->path, SHOWN_PATH_BYTES, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_str(&out->text, node->value.len != 0 ? "\": " : "\"", err);
        }
        if (status == SIRIX_OK) {
            status = add_stored(&out->text, node->value, SHOWN_VALUE_BYTES, err);
        }
    }
    sirix_backend_release(page);
    return status;
}

/* --- What the client keeps ------------------------------------------------------------------------- */

/* What a token belongs to: whom it was given, and the call. */
static enum sirix_status binding_of(struct sirix_mcp_call *call, struct sirix_bytes *out,
                                    struct sirix_error *err)
{
    uint8_t digest[SIRIX_SHA256_BYTES];
    char hex[SIRIX_SHA256_HEX_BYTES];
    char *text = NULL;
    enum sirix_status status = sirix_mcp_arguments_digest(call, "confirmToken", digest, err);

    if (status == SIRIX_OK) {
        sirix_sha256_hex(digest, hex);
        status = sirix_arena_printf(call->arena, &text, err, "%s\n%s\n%s",
                                    sirix_mcp_principal(call->request), call->tool->name, hex);
    }
    if (status == SIRIX_OK) {
        *out = sirix_bytes_from_str(text);
    }
    return status;
}

static enum sirix_status refuse_token(struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                          "confirmToken was not given out for this call with these arguments, or "
                          "has expired; leave it "
                          "out to see what the call would do and to get a new one");

    sirix_error_set_field(err, "confirmToken");
    return status;
}

static enum sirix_status open_token(struct sirix_mcp_call *call, struct sirix_bytes token,
                                    struct note *out, struct sirix_error *err)
{
    struct sirix_seal_binding binding = {.purpose = "confirmToken"};
    struct sirix_bytes payload = {.data = NULL, .len = 0};
    enum sirix_status status = binding_of(call, &binding.context, err);

    if (status == SIRIX_OK) {
        status = sirix_seal_open(&call->server->keys, &binding, token, now_s(), call->arena,
                                 &payload, err);
        if (status == SIRIX_INVALID || (status == SIRIX_OK && !unpack(payload, out))) {
            status = refuse_token(err);
        }
    }
    return status;
}

static enum sirix_status give_token(struct sirix_mcp_call *call, const struct note *note,
                                    struct sirix_bytes preview, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_seal_binding binding = {.purpose = "confirmToken"};
    uint8_t payload[NOTE_BYTES];
    struct sirix_buf token;
    const char *text = NULL;
    enum sirix_status status = binding_of(call, &binding.context, err);

    pack(note, payload);
    sirix_buf_init(&token, SIRIX_SEAL_TEXT_BYTES_MAX);
    if (status == SIRIX_OK) {
        status = sirix_seal_close(&call->server->keys, &binding,
                                  (struct sirix_bytes){payload, NOTE_BYTES},
                                  now_s() + SIRIX_MCP_STATE_LIFE_S, &token, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&token, &text, err);
    }
    if (status == SIRIX_OK) {
        sirix_answer_str(
            answer, answer->body, "message",
            "Nothing is changed yet. Show the preview to the user. Only if they agree, "
            "call again with the same arguments and confirmToken.");
        sirix_answer_str(answer, answer->body, "database", call->database);
        sirix_answer_str(answer, answer->body, "resource", call->resource);
        sirix_answer_bool(answer, answer->body, "changed", false);
        sirix_answer_stored(answer, answer->body, "preview", preview);
        sirix_answer_u64(answer, answer->body, "parentRevision", note->revision);
        sirix_answer_str(answer, answer->body, "confirmToken", text);
        sirix_answer_u64(answer, answer->body, "expiresInSeconds", SIRIX_MCP_STATE_LIFE_S);
        call->is_held = true;
    }
    sirix_buf_deinit(&token);
    return status;
}

/* --- Asking ---------------------------------------------------------------------------------------- */

static enum sirix_status make_params(struct sirix_mcp_call *call, struct sirix_bytes preview,
                                     struct sirix_buf *out, struct sirix_error *err)
{
    const struct sirix_bytes shown = sirix_answer_clean(&call->answer, preview);
    struct sirix_put put;

    if (call->answer.status != SIRIX_OK) {
        if (err != NULL) {
            *err = call->answer.error;
        }
        return call->answer.status;
    }
    sirix_put_init(&put, out);
    sirix_put_object(&put, NULL);
    sirix_put_canonical(&put, "message", shown);
    sirix_put_raw_str(&put, "requestedSchema",
                      "{\"type\":\"object\",\"properties\":{\"confirm\":{\"type\":\"boolean\","
                      "\"title\":\"Do it\",\"description\":\"Tick to let the agent make this "
                      "change\",\"default\":false}},\"required\":[\"confirm\"]}");
    sirix_put_object_end(&put);
    return sirix_put_finish(&put, err);
}

/* Accepted, and the box ticked: nothing else is a yes. */
static bool is_yes(const struct sirix_json_node *answers)
{
    const struct sirix_json_node *answer = sirix_arguments_member(answers, ANSWER);
    const struct sirix_json_node *action = sirix_arguments_member(answer, "action");
    const struct sirix_json_node *confirm =
        sirix_arguments_member(sirix_arguments_member(answer, "content"), "confirm");
    bool yes = false;

    return action != NULL && action->kind == SIRIX_JSON_KIND_STRING &&
           sirix_bytes_equal(action->value.text, sirix_bytes_from_str("accept")) &&
           confirm != NULL && sirix_json_get_bool(confirm, &yes) && yes;
}

/* Takes over what came back with the answer; false in *out_is_there: the question was not asked yet. */
static enum sirix_status take_state(struct sirix_mcp_call *call, struct note *note,
                                    bool *out_is_there, struct sirix_error *err)
{
    struct sirix_bytes state = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_mcp_given_state(call->request, &state, err);

    *out_is_there = false;
    /* Without an answer it is shown again, as it is now. */
    if (status != SIRIX_OK || sirix_mcp_given_answer(call->request, ANSWER) == NULL) {
        return status;
    }
    *out_is_there = unpack(state, note);
    if (!*out_is_there) {
        /* A yes to something that was never shown. */
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "the answer belongs to no question of this server");
        sirix_error_set_field(err, "params.requestState");
        call->request->failure.code = SIRIX_JSONRPC_INVALID_PARAMS;
    }
    return status;
}

static enum sirix_status ask(struct sirix_mcp_call *call, const struct note *note,
                             struct sirix_bytes preview, struct sirix_error *err)
{
    const struct sirix_settings *settings = call->server->settings;
    const struct sirix_json_node *answers = NULL;
    uint8_t payload[NOTE_BYTES];
    struct sirix_buf params;
    bool is_later = false;

    pack(note, payload);
    sirix_buf_init(&params, SIZE_MAX);
    enum sirix_status status = make_params(call, preview, &params, err);
    if (status == SIRIX_OK) {
        const struct sirix_mcp_question question = {
            .key = ANSWER, .method = "elicitation/create", .params = sirix_buf_view(&params)};

        status = sirix_mcp_ask(call->request, &question, 1,
                               (struct sirix_bytes){payload, NOTE_BYTES}, &answers, &is_later, err);
    }
    sirix_buf_deinit(&params);
    if (status != SIRIX_OK) {
        return status;
    }
    call->is_held = is_later;
    if (!is_later && !is_yes(answers)) {
        return sirix_fail(err, SIRIX_PERMISSION,
                          "the user did not confirm this; nothing is changed. Ask them before you "
                          "try it again");
    }
    /* The person's time is not the store's. */
    call->deadline_ns =
        sirix_clock_monotonic_ns(sirix_clock_system()) + settings->write_timeout_ms * NS_PER_MS;
    call->trace.confirmed = is_later ? NULL : "elicited";
    return SIRIX_OK;
}

/* --- All of it ------------------------------------------------------------------------------------- */

static enum sirix_status begin(struct sirix_mcp_call *call, sirix_mcp_preview_fn preview,
                               const void *context, const struct sirix_write_options *write,
                               struct sirix_mcp_preview *shown, struct note *note,
                               struct sirix_error *err)
{
    enum sirix_status status = preview(call, context, shown, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (write->has_expected_revision && write->expected_revision != shown->revision) {
        status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                   "the head is revision %" PRIu64 ", not %" PRIu64,
                                   shown->revision, write->expected_revision);
        sirix_error_set_field(err, "expectedRevision");
        return status;
    }
    note->revision = shown->revision;
    memcpy(note->key, write->idempotency_key.data, KEY_CHARS);
    return SIRIX_OK;
}

static enum sirix_status bind(struct sirix_mcp_call *call, const struct note *note,
                              struct sirix_write_options *write, struct sirix_error *err)
{
    enum sirix_status status = sirix_arena_copy(
        call->arena, (struct sirix_bytes){note->key, KEY_CHARS}, &write->idempotency_key, err);

    write->has_expected_revision = true;
    write->expected_revision = note->revision;
    return status;
}

static bool is_two_step(const struct sirix_mcp_call *call)
{
    const char *mode = call->server->settings->confirm;

    return mode == NULL ? !call->context->is_http : strcmp(mode, "two-step") == 0;
}

enum sirix_status sirix_mcp_confirm(struct sirix_mcp_call *call, sirix_mcp_preview_fn preview,
                                    const void *context, struct sirix_write_options *write,
                                    struct sirix_error *err)
{
    const struct sirix_settings *settings = call->server->settings;
    const bool can_ask = sirix_mcp_can_ask(call->request, SIRIX_MCP_CAN_ELICIT);
    const struct sirix_argument *token = sirix_argument(&call->arguments, "confirmToken");
    struct sirix_mcp_preview shown = {0};
    struct note note = {0};
    bool is_known = false; /* It was shown in an earlier call. */
    enum sirix_status status = SIRIX_OK;

    if (!(call->tool->is_destructive ? settings->confirm_destructive : settings->confirm_writes)) {
        return SIRIX_OK;
    }
    if (!can_ask && !is_two_step(call)) {
        return sirix_mcp_need_capability(call->request, SIRIX_MCP_CAN_ELICIT, err);
    }
    sirix_buf_init(&shown.text, PREVIEW_BYTES_MAX);
    if (can_ask) {
        status = take_state(call, &note, &is_known, err);
    } else if (token != NULL) {
        status = open_token(call, token->text, &note, err);
        is_known = true;
    }
    if (status == SIRIX_OK && !is_known) {
        status = begin(call, preview, context, write, &shown, &note, err);
    }
    if (status == SIRIX_OK && can_ask) {
        status = ask(call, &note, sirix_buf_view(&shown.text), err);
    } else if (status == SIRIX_OK && !is_known) {
        status = give_token(call, &note, sirix_buf_view(&shown.text), err);
    } else if (status == SIRIX_OK) {
        call->trace.confirmed = "two-step";
    }
    if (status == SIRIX_OK && !call->is_held) {
        status = bind(call, &note, write, err);
    }
    sirix_buf_deinit(&shown.text);
    return status;
}
