/* Tools about snapshots (labels) and branches. */
#include <inttypes.h>
#include <string.h>

#include "base/name.h"
#include "mcp/confirm.h"
#include "mcp/listing.h"
#include "mcp/trail.h"

/* --- Lists -------------------------------------------------------------------------------------- */

static enum sirix_status fetch_snapshots(struct sirix_mcp_call *call, const struct sirix_page *page,
                                         const void **out_list, size_t *out_count,
                                         struct sirix_bytes *out_next, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_snapshot_list *list = NULL;
    enum sirix_status status = sirix_backend_list_snapshots(
        call->server->backend, call->database, call->resource, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out_list = list;
        *out_count = list->count;
        *out_next = list->next_cursor;
    }
    return status;
}

static struct sirix_json_node *snapshot_item(struct sirix_mcp_call *call, const void *list,
                                             size_t index, const char **out_name)
{
    const struct sirix_snapshot_info *info =
        &((const struct sirix_snapshot_list *)list)->items[index];
    struct sirix_json_node *item = sirix_answer_object(&call->answer);

    sirix_answer_u64(&call->answer, item, "revision", info->revision);
    sirix_answer_time(&call->answer, item, "timestamp", info->timestamp_us);
    *out_name = info->name;
    return item;
}

enum sirix_status sirix_tool_list_snapshots(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const struct sirix_listing listing = {
        .name = "snapshots", .is_map = true, .fetch = fetch_snapshots, .item = snapshot_item};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    return status == SIRIX_OK ? sirix_listing_run(call, &listing, err) : status;
}

static enum sirix_status fetch_branches(struct sirix_mcp_call *call, const struct sirix_page *page,
                                        const void **out_list, size_t *out_count,
                                        struct sirix_bytes *out_next, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_branch_list *list = NULL;
    enum sirix_status status = sirix_backend_list_branches(
        call->server->backend, call->database, call->resource, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out_list = list;
        *out_count = list->count;
        *out_next = list->next_cursor;
    }
    return status;
}

static void add_branch(struct sirix_answer *answer, struct sirix_json_node *object,
                       const struct sirix_branch_info *info)
{
    sirix_answer_u64(answer, object, "revision", info->revision);
    if (info->revision != 0) {
        sirix_answer_time(answer, object, "timestamp", info->timestamp_us);
    }
    sirix_answer_u64(answer, object, "baseRevision", info->base_revision);
    if (info->expires_at_us != 0) {
        sirix_answer_time(answer, object, "expires", info->expires_at_us);
    }
}

static struct sirix_json_node *branch_item(struct sirix_mcp_call *call, const void *list,
                                           size_t index, const char **out_name)
{
    const struct sirix_branch_info *info = &((const struct sirix_branch_list *)list)->items[index];
    struct sirix_json_node *item = sirix_answer_object(&call->answer);

    (void)out_name;
    sirix_answer_str(&call->answer, item, "name", info->name);
    add_branch(&call->answer, item, info);
    return item;
}

enum sirix_status sirix_tool_list_branches(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const struct sirix_listing listing = {
        .name = "branches", .fetch = fetch_branches, .item = branch_item};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    return status == SIRIX_OK ? sirix_listing_run(call, &listing, err) : status;
}

/* --- Changes ------------------------------------------------------------------------------------ */

/* Database, resource, the name to make or delete, and what every write carries. */
static enum sirix_status take(struct sirix_mcp_call *call, bool is_branch, const char **out_name,
                              struct sirix_write_options *out_write, struct sirix_error *err)
{
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "name", is_branch, out_name, err);
    }
    return status == SIRIX_OK ? sirix_mcp_label_options(call, out_write, err) : status;
}

static void add_names(struct sirix_mcp_call *call, const char *name)
{
    struct sirix_answer *answer = &call->answer;

    sirix_answer_str(answer, answer->body, "database", call->database);
    sirix_answer_str(answer, answer->body, "resource", call->resource);
    sirix_answer_str(answer, answer->body, "name", name);
}

enum sirix_status sirix_tool_create_snapshot(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_create_snapshot_request request = {0};
    struct sirix_create_snapshot_result *result = NULL;
    enum sirix_status status = take(call, false, &request.name, &request.write, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &request.view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        request.database = call->database;
        request.resource = call->resource;
        request.replace = sirix_argument_boolean(&call->arguments, "replace");
        status =
            sirix_backend_create_snapshot(call->server->backend, &request, &options, &result, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const uint64_t revision = result->snapshot.revision;
    call->trace.revision_before = result->previous_revision;
    call->trace.revision_after = revision;
    if (!result->changed) {
        sirix_answer_printf(answer, answer->body, "message",
                            "Snapshot '%s' was at revision %" PRIu64 " already", request.name,
                            revision);
    } else if (result->previous_revision != 0) {
        sirix_answer_printf(answer, answer->body, "message",
                            "Snapshot '%s' moved from revision %" PRIu64 " to revision %" PRIu64,
                            request.name, result->previous_revision, revision);
    } else {
        sirix_answer_printf(answer, answer->body, "message",
                            "Snapshot '%s' created at revision %" PRIu64, request.name, revision);
    }
    add_names(call, request.name);
    sirix_answer_u64(answer, answer->body, "revision", revision);
    sirix_answer_time(answer, answer->body, "timestamp", result->snapshot.timestamp_us);
    if (result->previous_revision != 0) {
        sirix_answer_u64(answer, answer->body, "previousRevision", result->previous_revision);
    }
    sirix_answer_bool(answer, answer->body, "changed", result->changed);
    sirix_backend_release(result);
    return SIRIX_OK;
}

static enum sirix_status run_delete(struct sirix_mcp_call *call, bool is_branch,
                                    struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_delete_name_request request = {0};
    struct sirix_delete_name_result result = {0};
    enum sirix_status status = take(call, is_branch, &request.name, &request.write, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        request.database = call->database;
        request.resource = call->resource;
        status = is_branch ? sirix_backend_delete_branch(call->server->backend, &request, &options,
                                                         &result, err)
                           : sirix_backend_delete_snapshot(call->server->backend, &request,
                                                           &options, &result, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_answer_printf(answer, answer->body, "message",
                        "%s '%s' deleted; it was at revision %" PRIu64 ", which stays",
                        is_branch ? "Branch" : "Snapshot", request.name, result.revision);
    add_names(call, request.name);
    sirix_answer_u64(answer, answer->body, "revision", result.revision);
    return SIRIX_OK;
}

enum sirix_status sirix_tool_delete_snapshot(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return run_delete(call, false, err);
}

enum sirix_status sirix_tool_delete_branch(struct sirix_mcp_call *call, struct sirix_error *err)
{
    return run_delete(call, true, err);
}

enum sirix_status sirix_tool_create_branch(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_create_branch_request request = {0};
    struct sirix_create_branch_result *result = NULL;
    enum sirix_status status = take(call, true, &request.name, &request.write, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &request.view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        request.database = call->database;
        request.resource = call->resource;
        status =
            sirix_backend_create_branch(call->server->backend, &request, &options, &result, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_answer_printf(answer, answer->body, "message",
                        "Branch '%s' begins at revision %" PRIu64
                        "; name it as `branch` in later calls",
                        request.name, result->branch.revision);
    add_names(call, request.name);
    add_branch(answer, answer->body, &result->branch);
    sirix_backend_release(result);
    return SIRIX_OK;
}

static enum sirix_status preview_promote(struct sirix_mcp_call *call, const void *context,
                                         struct sirix_mcp_preview *out, struct sirix_error *err)
{
    const struct sirix_promote_request *request = context;
    const struct sirix_view target = {
        .kind = request->target != NULL ? SIRIX_VIEW_BRANCH : SIRIX_VIEW_DEFAULT,
        .name = request->target,
    };
    const struct sirix_view branch = {.kind = SIRIX_VIEW_BRANCH, .name = request->branch};

    enum sirix_status status =
        sirix_mcp_preview_diff(call, &target, &branch, "Promote a branch", out, err);
    if (status != SIRIX_OK && err != NULL && strncmp(err->field, "from", 4) == 0) {
        sirix_error_set_field(err, "target");
    }
    return status;
}

enum sirix_status sirix_tool_promote(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_promote_request request = {0};
    struct sirix_promote_result result = {0};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "branch", true, &request.branch, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_name(call, "target", true, &request.target, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_label_options(call, &request.write, err);
    }
    if (status == SIRIX_OK) {
        request.database = call->database;
        request.resource = call->resource;
        request.replace = sirix_argument_boolean(&call->arguments, "replace");
        status = sirix_mcp_confirm(call, preview_promote, &request, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        status = sirix_mcp_trail_intent(call, &request.write, err);
    }
    if (status == SIRIX_OK && !call->is_held) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        status = sirix_backend_promote(call->server->backend, &request, &options, &result, err);
    }
    if (status != SIRIX_OK || call->is_held) {
        return status;
    }
    call->trace.revision_before = result.previous_revision;
    call->trace.revision_after = result.revision;
    const char *target = request.target != NULL ? request.target : SIRIX_BRANCH_MAIN;
    sirix_answer_printf(answer, answer->body, "message",
                        "Branch '%s' is at revision %" PRIu64 ", the head of '%s' (it was at "
                        "%" PRIu64 ")",
                        target, result.revision, request.branch, result.previous_revision);
    sirix_answer_str(answer, answer->body, "database", call->database);
    sirix_answer_str(answer, answer->body, "resource", call->resource);
    sirix_answer_str(answer, answer->body, "branch", request.branch);
    sirix_answer_str(answer, answer->body, "target", target);
    sirix_answer_u64(answer, answer->body, "revision", result.revision);
    sirix_answer_u64(answer, answer->body, "previousRevision", result.previous_revision);
    sirix_answer_bool(answer, answer->body, "changed", result.changed);
    return SIRIX_OK;
}
