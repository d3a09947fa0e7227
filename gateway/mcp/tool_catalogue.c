/* Tools about databases and resources, and the state of the servers. */
#include <inttypes.h>
#include <string.h>

#include "mcp/listing.h"
#include "mcp/trail.h"

/* --- sirix_list_databases ----------------------------------------------------------------------- */

static enum sirix_status fetch_databases(struct sirix_mcp_call *call, const struct sirix_page *page,
                                         const void **out_list, size_t *out_count,
                                         struct sirix_bytes *out_next, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_database_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_databases(call->server->backend, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out_list = list;
        *out_count = list->count;
        *out_next = list->next_cursor;
    }
    return status;
}

static struct sirix_json_node *database_item(struct sirix_mcp_call *call, const void *list,
                                             size_t index, const char **out_name)
{
    const struct sirix_database_info *info =
        &((const struct sirix_database_list *)list)->items[index];

    (void)out_name;
    if (!sirix_access_database(&call->server->settings->access, sirix_bytes_from_str(info->name))) {
        return NULL;
    }
    struct sirix_json_node *item = sirix_answer_object(&call->answer);
    sirix_answer_str(&call->answer, item, "name", info->name);
    sirix_answer_u64(&call->answer, item, "storedBytes", info->stored_bytes);
    if (info->read_only_reason.len != 0) {
        sirix_answer_stored(&call->answer, item, "readOnlyReason", info->read_only_reason);
    }
    return item;
}

enum sirix_status sirix_tool_list_databases(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const struct sirix_listing listing = {
        .name = "databases", .fetch = fetch_databases, .item = database_item};

    return sirix_listing_run(call, &listing, err);
}

/* --- sirix_list_resources ----------------------------------------------------------------------- */

static enum sirix_status fetch_resources(struct sirix_mcp_call *call, const struct sirix_page *page,
                                         const void **out_list, size_t *out_count,
                                         struct sirix_bytes *out_next, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_resource_list *list = NULL;
    enum sirix_status status = sirix_backend_list_resources(call->server->backend, call->database,
                                                            page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out_list = list;
        *out_count = list->count;
        *out_next = list->next_cursor;
    }
    return status;
}

static struct sirix_json_node *resource_item(struct sirix_mcp_call *call, const void *list,
                                             size_t index, const char **out_name)
{
    const struct sirix_resource_entry *entry =
        &((const struct sirix_resource_list *)list)->items[index];

    (void)out_name;
    if (!sirix_access_resource(&call->server->settings->access,
                               sirix_bytes_from_str(call->database),
                               sirix_bytes_from_str(entry->name))) {
        return NULL;
    }
    struct sirix_json_node *item = sirix_answer_object(&call->answer);
    sirix_answer_str(&call->answer, item, "name", entry->name);
    sirix_answer_u64(&call->answer, item, "latestRevision", entry->revision);
    if (entry->revision != 0) {
        sirix_answer_time(&call->answer, item, "lastModified", entry->timestamp_us);
    }
    return item;
}

enum sirix_status sirix_tool_list_resources(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const struct sirix_listing listing = {
        .name = "resources", .fetch = fetch_resources, .item = resource_item};
    enum sirix_status status = sirix_mcp_take_database(call, err);

    return status == SIRIX_OK ? sirix_listing_run(call, &listing, err) : status;
}

/* --- sirix_resource_info ------------------------------------------------------------------------ */

enum { INFO_NAMES_MAX = 20 };

static void add_heads(struct sirix_answer *answer, const struct sirix_resource_info *info)
{
    struct sirix_json_node *branches = sirix_answer_array(answer);
    struct sirix_json_node *snapshots = sirix_answer_array(answer);

    for (size_t i = 0; i < info->listed_branch_count && i < INFO_NAMES_MAX; i++) {
        struct sirix_json_node *item = sirix_answer_object(answer);

        sirix_answer_str(answer, item, "name", info->branches[i].name);
        sirix_answer_u64(answer, item, "revision", info->branches[i].revision);
        sirix_answer_append(answer, branches, item);
    }
    for (size_t i = 0; i < info->listed_snapshot_count && i < INFO_NAMES_MAX; i++) {
        struct sirix_json_node *item = sirix_answer_object(answer);

        sirix_answer_str(answer, item, "name", info->snapshots[i].name);
        sirix_answer_u64(answer, item, "revision", info->snapshots[i].revision);
        sirix_answer_append(answer, snapshots, item);
    }
    sirix_answer_set(answer, answer->body, "branches", branches);
    sirix_answer_set(answer, answer->body, "snapshots", snapshots);
    if (info->branch_count > INFO_NAMES_MAX || info->snapshot_count > INFO_NAMES_MAX) {
        sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_ITEMS);
    }
}

enum sirix_status sirix_tool_resource_info(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_resource_request request = {0};
    struct sirix_resource_info *info = NULL;
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &request.view, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        request.database = call->database;
        request.resource = call->resource;
        status = sirix_backend_get_resource(call->server->backend, &request, &options, &info, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_answer_str(answer, answer->body, "database", call->database);
    sirix_answer_str(answer, answer->body, "resource", call->resource);
    sirix_answer_u64(answer, answer->body, "latestRevision", info->newest_revision);
    sirix_answer_u64(answer, answer->body, "oldestRevision", info->oldest_revision);
    sirix_answer_u64(answer, answer->body, "revisionCount", info->revision_count);
    sirix_answer_time(answer, answer->body, "created", info->created_at_us);
    sirix_answer_time(answer, answer->body, "lastModified", info->last_modified_at_us);
    sirix_answer_str(answer, answer->body, "storageType", info->storage_type);
    sirix_answer_u64(answer, answer->body, "revision", info->revision);
    sirix_answer_u64(answer, answer->body, "nodeCount", info->node_count);
    sirix_answer_u64(answer, answer->body, "textBytes", info->text_bytes);
    sirix_answer_u64(answer, answer->body, "storedBytes", info->stored_bytes);
    sirix_answer_u64(answer, answer->body, "branchCount", info->branch_count);
    sirix_answer_u64(answer, answer->body, "snapshotCount", info->snapshot_count);
    add_heads(answer, info);
    sirix_backend_release(info);
    return SIRIX_OK;
}

/* --- sirix_create_resource ---------------------------------------------------------------------- */

enum sirix_status sirix_tool_create_resource(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_write_options write = {0};
    struct sirix_write_result result = {0};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_write_options(call, &write, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_trail_intent(call, &write, err);
    }
    if (status == SIRIX_OK && sirix_argument_boolean(&call->arguments, "createDatabase")) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        status = sirix_backend_create_database(call->server->backend, call->database, NULL,
                                               &options, err);
        status = status == SIRIX_ALREADY_EXISTS ? SIRIX_OK : status;
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        status = sirix_backend_create_resource(call->server->backend, call->database,
                                               call->resource, &write, &options, &result, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    call->trace.revision_after = result.revision;
    sirix_answer_printf(answer, answer->body, "message",
                        "Created %s/%s at revision %" PRIu64
                        ". It has no value yet: sirix_insert gives it one.",
                        call->database, call->resource, result.revision);
    sirix_answer_str(answer, answer->body, "database", call->database);
    sirix_answer_str(answer, answer->body, "resource", call->resource);
    sirix_answer_u64(answer, answer->body, "revision", result.revision);
    sirix_answer_u64(answer, answer->body, "parentRevision", result.parent_revision);
    sirix_answer_set(answer, answer->body, "nodeKeys", sirix_answer_array(answer));
    return SIRIX_OK;
}

/* --- status ------------------------------------------------------------------------------------- */

enum { US_PER_S = 1000 * 1000 };

static void add_limits(struct sirix_answer *answer, const struct sirix_settings *settings)
{
    struct sirix_json_node *limits = sirix_answer_object(answer);

    sirix_answer_u64(answer, limits, "maxResultSize", settings->max_result_size);
    sirix_answer_u64(answer, limits, "maxResultBytes", settings->max_result_bytes);
    sirix_answer_u64(answer, limits, "maxStringValueLength", settings->max_string_value_length);
    sirix_answer_u64(answer, limits, "sqlDefaultRows", settings->sql_default_rows);
    sirix_answer_u64(answer, limits, "sqlMaxRows", settings->sql_max_rows);
    sirix_answer_u64(answer, limits, "queryTimeoutMs", settings->query_timeout_ms);
    sirix_answer_u64(answer, limits, "writeTimeoutMs", settings->write_timeout_ms);
    sirix_answer_set(answer, answer->body, "limits", limits);
}

/* How many databases there are is told only to who may see all of them. */
static void add_counts(struct sirix_mcp_call *call, const struct sirix_server_status *state)
{
    const struct sirix_access *access = &call->server->settings->access;
    struct sirix_answer *answer = &call->answer;
    struct sirix_json_node *counts = sirix_answer_object(answer);

    if (!access->allow_databases.is_given && access->deny_databases.count == 0) {
        sirix_answer_u64(answer, counts, "databases", state->databases);
        sirix_answer_u64(answer, counts, "databasesOpen", state->databases_open);
    }
    sirix_answer_u64(answer, counts, "callsRunning", state->calls_running);
    sirix_answer_u64(answer, counts, "writesWaiting", state->writes_waiting);
    sirix_answer_u64(answer, counts, "callsTotal", state->calls_total);
    sirix_answer_u64(answer, counts, "commitsTotal", state->commits_total);
    sirix_answer_set(answer, answer->body, "counts", counts);
}

enum sirix_status sirix_tool_status(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(call);
    struct sirix_answer *answer = &call->answer;
    struct sirix_server_status *state = NULL;
    enum sirix_status status = sirix_backend_status(call->server->backend, &options, &state, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_json_node *storage = sirix_answer_object(answer);
    sirix_answer_str(answer, storage, "version", state->version);
    sirix_answer_str(answer, storage, "role", state->role);
    sirix_answer_bool(answer, storage, "embedded", state->embedded);
    sirix_answer_bool(answer, storage, "draining", state->draining);
    sirix_answer_time(answer, storage, "startedAt", state->started_at_us);
    sirix_answer_time(answer, storage, "now", state->now_us);
    sirix_answer_u64(answer, storage, "callsRunning", state->calls_running);
    sirix_answer_u64(answer, storage, "writesWaiting", state->writes_waiting);
    sirix_answer_str(answer, answer->body, "version", SIRIX_VERSION);
    sirix_answer_str(answer, answer->body, "protocolVersion",
                     sirix_mcp_version_name(call->context->version));
    sirix_answer_bool(answer, answer->body, "readOnly", call->server->settings->read_only);
    sirix_answer_str(answer, answer->body, "health", state->draining ? "draining" : "ok");
    sirix_answer_u64(answer, answer->body, "uptimeSeconds",
                     state->now_us < state->started_at_us
                         ? 0
                         : (state->now_us - state->started_at_us) / US_PER_S);
    add_counts(call, state);
    add_limits(answer, call->server->settings);
    sirix_answer_set(answer, answer->body, "storage", storage);
    sirix_backend_release(state);
    return SIRIX_OK;
}
