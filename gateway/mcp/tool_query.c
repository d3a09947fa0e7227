/* sirix_query and sirix_execute_update_query. */
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "mcp/confirm.h"
#include "mcp/cursor.h"
#include "mcp/tools.h"
#include "mcp/trail.h"

enum {
    ITEM_FRAME_BYTES = 512, /* What an item may need beside its value and path. */
    READS_SHOWN = 16,
    UPDATES_SHOWN = 64,
};

/* --- What both share ---------------------------------------------------------------------------- */

static enum sirix_status fail_missing(struct sirix_error *err, const char *argument)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
        "%s is missing: database and resource are both given or neither", argument);

    sirix_error_set_field(err, argument);
    return status;
}

/* database and resource, which may both be missing. */
static enum sirix_status take_optional_resource(struct sirix_mcp_call *call,
                                                struct sirix_error *err)
{
    const bool has_database = sirix_argument(&call->arguments, "database") != NULL;
    const bool has_resource = sirix_argument(&call->arguments, "resource") != NULL;

    if (has_database != has_resource) {
        return fail_missing(err, has_database ? "resource" : "database");
    }
    return has_resource ? sirix_mcp_take_resource(call, err) : SIRIX_OK;
}

static const char *or_null(const char *name)
{
    return name[0] == '\0' ? NULL : name;
}

/* --- sirix_query -------------------------------------------------------------------------------- */

struct asking {
    struct sirix_mcp_call *call;
    struct sirix_query_request request;
    struct sirix_scope scope;
    uint64_t tag;
    uint64_t limit; /* That the caller knows; the request's gets smaller until the answer fits. */
    struct sirix_json_node *items;
    uint64_t given;
    size_t bytes;
    bool is_full; /* The item after the given ones does not fit. */
};

static enum sirix_status take_cursor(struct asking *a, struct sirix_error *err)
{
    static const struct sirix_hash_key fixed_key = {{0}};
    struct sirix_mcp_call *call = a->call;
    const struct sirix_argument *given = sirix_argument(&call->arguments, "cursor");
    struct sirix_cursor cursor = {0};
    enum sirix_status status = SIRIX_OK;

    a->tag = sirix_cursor_tag(call->tool->name, call->database, call->resource,
                              sirix_hash(&fixed_key, a->request.query.data, a->request.query.len));
    if (given != NULL) {
        status = sirix_cursor_read(call->arena, a->tag, given->text, &cursor, err);
        a->request.cursor = cursor.server;
    }
    return status;
}

static enum sirix_status take_query(struct asking *a, struct sirix_error *err)
{
    struct sirix_mcp_call *call = a->call;
    enum sirix_status status = take_optional_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &a->request.view, err);
    }
    if (status == SIRIX_OK && call->resource[0] == '\0' &&
        a->request.view.kind != SIRIX_VIEW_DEFAULT) {
        status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                              "revision, snapshot and branch are those of one resource: give "
                              "database and resource too, or name the revision in the query, "
                              "such as jn:doc('db', 'resource', 3); timestamp alone is of all");
        sirix_error_set_field(err, "database");
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_scope(call, &a->scope, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    a->limit = sirix_mcp_limit(call, "limit", 0);
    a->request.query = sirix_argument_text(&call->arguments, "query");
    a->request.database = or_null(call->database);
    a->request.resource = or_null(call->resource);
    a->request.limit = a->limit;
    a->request.with_nodes = true;
    a->request.scope = &a->scope;
    return take_cursor(a, err);
}

/* An item that is too long for any answer: where it is, and how long. */
static void cut_item(struct sirix_answer *answer, struct sirix_json_node *object,
                     const struct sirix_query_item *item)
{
    sirix_answer_bool(answer, object, "valueCut", true);
    sirix_answer_u64(answer, object, "valueBytes", item->json.len);
    sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
}

static struct sirix_json_node *item_object(struct asking *a, const struct sirix_query_item *item,
                                           bool with_value)
{
    struct sirix_answer *answer = &a->call->answer;
    struct sirix_json_node *object = sirix_answer_object(answer);
    const struct sirix_bytes names[] = {sirix_bytes_from_str(a->call->database),
                                        sirix_bytes_from_str(a->call->resource)};

    if (with_value) {
        sirix_answer_set(answer, object, "value", sirix_answer_value(answer, item->json));
    } else {
        cut_item(answer, object, item);
    }
    if (item->node_key == 0) {
        return object;
    }
    sirix_answer_u64(answer, object, "nodeKey", item->node_key);
    sirix_answer_stored(answer, object, "path", item->path);
    sirix_answer_u64(answer, object, "revision", item->revision);
    if (!sirix_bytes_equal(item->database, names[0]) ||
        !sirix_bytes_equal(item->resource, names[1])) {
        sirix_answer_stored(answer, object, "database", item->database);
        sirix_answer_stored(answer, object, "resource", item->resource);
    }
    return object;
}

static void add_items(struct asking *a, const struct sirix_query_part *part)
{
    struct sirix_answer *answer = &a->call->answer;

    for (size_t i = 0; i < part->count && !a->is_full; i++) {
        const struct sirix_query_item *item = &part->items[i];
        const bool may_fit = item->json.len / 2 < answer->bytes_max; /* Strings may be cut. */
        struct sirix_json_node *object = item_object(a, item, may_fit);
        size_t size = sirix_answer_size(answer, object) + 1;

        if (a->given == 0 && !sirix_answer_has_room(answer, a->bytes, size + ITEM_FRAME_BYTES)) {
            object = item_object(a, item, false);
            size = sirix_answer_size(answer, object) + 1;
        } else if (!sirix_answer_has_room(answer, a->bytes, size + ITEM_FRAME_BYTES)) {
            a->is_full = true;
            break;
        }
        sirix_answer_append(answer, a->items, object);
        a->bytes += size;
        a->given++;
    }
}

/* What was read at its newest revision, so that it can be named. */
static void add_reads(struct asking *a, const struct sirix_query_part *end)
{
    struct sirix_answer *answer = &a->call->answer;
    struct sirix_json_node *list = sirix_answer_array(answer);

    for (size_t i = 0; i < end->read_count && i < READS_SHOWN; i++) {
        struct sirix_json_node *object = sirix_answer_object(answer);

        sirix_answer_stored(answer, object, "database", end->reads[i].database);
        sirix_answer_stored(answer, object, "resource", end->reads[i].resource);
        sirix_answer_u64(answer, object, "revision", end->reads[i].revision);
        sirix_answer_append(answer, list, object);
    }
    sirix_answer_set(answer, answer->body, "read", list);
}

static enum sirix_status finish_query(struct asking *a, const struct sirix_query_part *end,
                                      struct sirix_error *err)
{
    struct sirix_answer *answer = &a->call->answer;
    const struct sirix_cursor cursor = {.server = end->next_cursor};

    answer->has_count = true;
    answer->count = a->given;
    sirix_answer_set(answer, answer->body, "items", a->items);
    add_reads(a, end);
    if (end->next_cursor.len == 0) {
        return SIRIX_OK;
    }
    sirix_answer_truncate(answer, a->request.limit < a->limit
                                      ? SIRIX_ANSWER_LIMIT_BYTES
                                      : sirix_mcp_limit_reason(a->call, a->limit));
    return sirix_cursor_write(a->call->arena, a->tag, &cursor, &answer->next_cursor, err);
}

/* Asks once; where not all items fit, is_full says so and the answer is of no use. */
static enum sirix_status ask_once(struct asking *a, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(a->call);
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_part part = {.kind = SIRIX_QUERY_PART_ITEMS};
    uint64_t parts = 0;
    enum sirix_status status =
        sirix_backend_query(a->call->server->backend, &a->request, &options, &stream, err);

    a->items = sirix_answer_array(&a->call->answer);
    a->given = 0;
    a->bytes = 0;
    a->is_full = false;
    while (status == SIRIX_OK && part.kind != SIRIX_QUERY_PART_END && !a->is_full) {
        status = sirix_backend_query_next(stream, &part, err);
        sirix_mcp_tell_progress(a->call->request, ++parts, 0, "parts of the answer", false);
        if (status == SIRIX_OK && part.kind == SIRIX_QUERY_PART_ITEMS) {
            add_items(a, &part);
        }
    }
    if (status == SIRIX_OK && !a->is_full) {
        status = finish_query(a, &part, err);
    }
    sirix_backend_query_close(stream);
    return status;
}

enum sirix_status sirix_tool_query(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct asking a = {.call = call};
    enum sirix_status status = take_query(&a, err);

    if (status == SIRIX_OK) {
        status = ask_once(&a, err);
    }
    while (status == SIRIX_OK && a.is_full) {
        /* Again with as many as fit: the cursor that comes then goes on exactly there. */
        a.request.limit = a.given;
        sirix_answer_deinit(&call->answer);
        status = sirix_answer_init(&call->answer, call->arena, call->server->settings, err);
        if (status == SIRIX_OK) {
            status = ask_once(&a, err);
        }
    }
    return status;
}

/* --- sirix_execute_update_query ----------------------------------------------------------------- */

static enum sirix_status preview_update(struct sirix_mcp_call *call, const void *context,
                                        struct sirix_mcp_preview *out, struct sirix_error *err)
{
    struct sirix_update_query_request request = *(const struct sirix_update_query_request *)context;
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_update_query_result *result = NULL;

    request.dry_run = true;
    request.write = (struct sirix_write_options){0};
    enum sirix_status status =
        sirix_backend_update_query(call->server->backend, &request, &options, &result, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (result->count > 1) {
        status = sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NONE,
                                   "the query changes %zu resources; what has to be confirmed "
                                   "changes one, so update them one after the other",
                                   result->count);
    } else if (result->count == 0) {
        status = sirix_buf_append_str(&out->text, "The query changes nothing at present.", err);
    } else {
        const struct sirix_query_update *update = &result->updates[0];

        out->revision = update->result.revision;
        status = sirix_buf_printf(&out->text, err,
                                  "Update %s/%s on branch %s, whose newest revision is %" PRIu64
                                  ": %" PRIu64 " change%s, by the query: ",
                                  update->database, update->resource, update->branch,
                                  update->result.revision, update->changes,
                                  update->changes == 1 ? "" : "s");
        if (status == SIRIX_OK) {
            status = sirix_mcp_preview_stored(out, request.query, err);
        }
    }
    sirix_backend_release(result);
    return status;
}

static void add_updates(struct sirix_mcp_call *call, const struct sirix_update_query_result *result)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_json_node *list = sirix_answer_array(answer);

    for (size_t i = 0; i < result->count && i < UPDATES_SHOWN; i++) {
        const struct sirix_query_update *update = &result->updates[i];
        struct sirix_json_node *object = sirix_answer_object(answer);

        sirix_answer_str(answer, object, "database", update->database);
        sirix_answer_str(answer, object, "resource", update->resource);
        sirix_answer_str(answer, object, "branch", update->branch);
        sirix_answer_u64(answer, object, "revision", update->result.revision);
        sirix_answer_u64(answer, object, "parentRevision", update->result.parent_revision);
        sirix_answer_time(answer, object, "timestamp", update->result.timestamp_us);
        sirix_answer_bool(answer, object, "changed", update->result.changed);
        sirix_answer_append(answer, list, object);
    }
    if (result->count == 1) {
        const struct sirix_query_update *update = &result->updates[0];

        call->trace.revision_before = update->result.parent_revision;
        call->trace.revision_after = update->result.revision;
        sirix_answer_printf(answer, answer->body, "message", "Updated %s/%s: revision %" PRIu64,
                            update->database, update->resource, update->result.revision);
        sirix_answer_u64(answer, answer->body, "revision", update->result.revision);
        sirix_answer_u64(answer, answer->body, "parentRevision", update->result.parent_revision);
    } else if (result->count == 0) {
        sirix_answer_str(answer, answer->body, "message", "The query changed nothing.");
    } else {
        sirix_answer_printf(answer, answer->body, "message", "Updated %zu resources in one commit",
                            result->count);
    }
    sirix_answer_bool(answer, answer->body, "changed", result->count != 0);
    sirix_answer_set(answer, answer->body, "updates", list);
}

enum sirix_status sirix_tool_update_query(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_update_query_request request = {
        .query = sirix_argument_text(&call->arguments, "query"),
    };
    struct sirix_update_query_result *result = NULL;
    struct sirix_scope scope = {0};
    enum sirix_status status = take_optional_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "branch", true, &request.branch, err);
    }
    if (status == SIRIX_OK && request.branch != NULL && call->resource[0] == '\0') {
        status = fail_missing(err, "resource");
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_scope(call, &scope, err);
    }
    if (status == SIRIX_OK) {
        request.scope = &scope;
        request.database = or_null(call->database);
        request.resource = or_null(call->resource);
        status = sirix_mcp_write_options(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_confirm(call, preview_update, &request, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        const struct sirix_call_options options = sirix_mcp_options(call);

        status =
            sirix_backend_update_query(call->server->backend, &request, &options, &result, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        add_updates(call, result);
    }
    sirix_backend_release(result);
    return status;
}
