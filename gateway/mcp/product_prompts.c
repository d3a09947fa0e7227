/* The product's prompts: ways of working, filled with what is true of a resource now. */
#include <inttypes.h>
#include <string.h>

#include "base/clock.h"
#include "base/name.h"
#include "mcp/product.h"
#include "mcp/server.h"
#include "mcp/tools.h"

enum { TEXT_BYTES_MAX = 4096 };

/* Order of the arguments that all prompts begin with. */
enum { DATABASE, RESOURCE, FROM, TO };

static bool has_tool(const struct sirix_mcp_request *request, const char *name)
{
    return sirix_mcp_tool_find(request->server, sirix_bytes_from_str(name)) != NULL;
}

static enum sirix_status facts_of(struct sirix_mcp_request *request,
                                  const struct sirix_bytes *values,
                                  struct sirix_resource_info **out, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    const struct sirix_resource_request wanted = {
        .database = values[DATABASE].data,
        .resource = values[RESOURCE].data,
    };
    enum sirix_status status =
        sirix_product_check(request->server, wanted.database, wanted.resource, err);

    if (status == SIRIX_OK) {
        status = sirix_backend_get_resource(request->server->backend, &wanted, &options, out, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        request->failure.code = SIRIX_JSONRPC_INVALID_PARAMS;
        sirix_error_set_field(err, "params.arguments.resource");
    }
    return status;
}

/* One message of the user's. */
static void put_message(struct sirix_put *put, const struct sirix_buf *text)
{
    sirix_put_object(put, NULL);
    sirix_put_str(put, "role", "user");
    sirix_put_object(put, "content");
    sirix_put_str(put, "type", "text");
    sirix_put_plain(put, "text", sirix_buf_view(text));
    sirix_put_object_end(put);
    sirix_put_object_end(put);
}

static void format_time(uint64_t time_us, char out[SIRIX_TIME_TEXT_BYTES])
{
    (void)sirix_time_format(time_us > INT64_MAX ? INT64_MAX : (int64_t)time_us, out);
}

static enum sirix_status get_time_travel(struct sirix_mcp_request *request,
                                         const struct sirix_bytes *values, struct sirix_put *put,
                                         struct sirix_error *err)
{
    struct sirix_resource_info *info = NULL;
    char first[SIRIX_TIME_TEXT_BYTES];
    char last[SIRIX_TIME_TEXT_BYTES];
    struct sirix_buf text;
    enum sirix_status status = facts_of(request, values, &info, err);

    if (status != SIRIX_OK) {
        return status;
    }
    format_time(info->created_at_us, first);
    format_time(info->last_modified_at_us, last);
    sirix_buf_init(&text, TEXT_BYTES_MAX);
    status = sirix_buf_printf(
        &text, err,
        "Given SirixDB resource %s/%s, help me query the data as it existed at a specific point in "
        "time. The resource has %" PRIu64 " revision%s spanning from %s to %s.\n"
        "Available tools: %ssirix_read_node (with revision or timestamp parameter), sirix_history, "
        "sirix_diff.",
        info->database, info->resource, info->revision_count, info->revision_count == 1 ? "" : "s",
        first, last, has_tool(request, "sirix_query") ? "sirix_query and " : "");
    if (status == SIRIX_OK) {
        put_message(put, &text);
    }
    sirix_buf_deinit(&text);
    sirix_backend_release(info);
    return status;
}

static enum sirix_status get_safe_mutation(struct sirix_mcp_request *request,
                                           const struct sirix_bytes *values, struct sirix_put *put,
                                           struct sirix_error *err)
{
    struct sirix_resource_info *info = NULL;
    struct sirix_buf text;
    enum sirix_status status = facts_of(request, values, &info, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&text, TEXT_BYTES_MAX);
    status = sirix_buf_printf(
        &text, err,
        "I need to modify data in %s/%s, which is at revision %" PRIu64
        ". Follow this safe workflow:\n"
        "1. Create a snapshot of the current state (sirix_create_snapshot)\n"
        "2. Make the requested changes (sirix_insert, sirix_update, sirix_delete%s)\n"
        "3. Show the diff between the snapshot and the new state (sirix_diff)\n"
        "4. Ask the user to confirm or revert (sirix_revert)",
        info->database, info->resource, info->newest_revision,
        has_tool(request, "sirix_execute_update_query") ? ", sirix_execute_update_query" : "");
    if (status == SIRIX_OK) {
        put_message(put, &text);
    }
    sirix_buf_deinit(&text);
    sirix_backend_release(info);
    return status;
}

/* An end of a comparison: the number of a revision or a label. */
static enum sirix_status check_end(struct sirix_bytes value, const char *field,
                                   struct sirix_error *err)
{
    const char *text = value.data;
    size_t digits = 0;

    while (digits < value.len && text[digits] >= '0' && text[digits] <= '9') {
        digits++;
    }
    return value.len != 0 && digits == value.len
               ? SIRIX_OK
               : sirix_name_check(SIRIX_NAME_SNAPSHOT, value, field, err);
}

static enum sirix_status get_analyze_changes(struct sirix_mcp_request *request,
                                             const struct sirix_bytes *values,
                                             struct sirix_put *put, struct sirix_error *err)
{
    struct sirix_resource_info *info = NULL;
    struct sirix_buf text;
    enum sirix_status status = check_end(values[FROM], "params.arguments.from", err);

    if (status == SIRIX_OK) {
        status = check_end(values[TO], "params.arguments.to", err);
    }
    if (status == SIRIX_OK) {
        status = facts_of(request, values, &info, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&text, TEXT_BYTES_MAX);
    status = sirix_buf_printf(
        &text, err,
        "Analyze what changed in %s/%s between revision %s and revision %s (the newest is %" PRIu64
        "). Use sirix_diff to get structural changes, then %s at both revisions to understand the "
        "semantic impact.",
        info->database, info->resource, (const char *)values[FROM].data,
        (const char *)values[TO].data, info->newest_revision,
        has_tool(request, "sirix_query") ? "sirix_query" : "sirix_read_node");
    if (status == SIRIX_OK) {
        put_message(put, &text);
    }
    sirix_buf_deinit(&text);
    sirix_backend_release(info);
    return status;
}

#define DATABASE_ARGUMENT                                                                          \
    {                                                                                              \
        .name = "database", .description = "Name of the database", .is_required = true             \
    }
#define RESOURCE_ARGUMENT                                                                          \
    {                                                                                              \
        .name = "resource", .description = "Name of the resource", .is_required = true             \
    }

const struct sirix_mcp_prompt sirix_product_prompts[] = {
    {.name = "time_travel",
     .title = "Look into the past",
     .description = "Query a resource as it was at some point in time.",
     .arguments = {DATABASE_ARGUMENT, RESOURCE_ARGUMENT},
     .tools = {"sirix_read_node", "sirix_history", "sirix_diff"},
     .get = get_time_travel},
    {.name = "safe_mutation",
     .title = "Change data safely",
     .description = "Change a resource with a snapshot before and a review after.",
     .arguments = {DATABASE_ARGUMENT, RESOURCE_ARGUMENT},
     .tools = {"sirix_create_snapshot", "sirix_insert", "sirix_diff", "sirix_revert"},
     .get = get_safe_mutation},
    {.name = "analyze_changes",
     .title = "Analyze changes",
     .description = "What changed in a resource between two revisions, and what it means.",
     .arguments = {DATABASE_ARGUMENT,
                   RESOURCE_ARGUMENT,
                   {.name = "from", .description = "Revision or snapshot", .is_required = true},
                   {.name = "to", .description = "Revision or snapshot", .is_required = true}},
     .tools = {"sirix_diff", "sirix_read_node"},
     .get = get_analyze_changes},
};
const size_t sirix_product_prompt_count =
    sizeof(sirix_product_prompts) / sizeof(sirix_product_prompts[0]);
