/* What the product offers: its registry, and the six resources of the URIs sirix:///… */
#include "mcp/product.h"

#include <string.h>

#include "base/hash.h"
#include "base/name.h"
#include "mcp/server.h"
#include "mcp/tools.h"

enum { PAGE_SIZE = 200, DEPTH_MAX = 100 };

/* --- Shared ---------------------------------------------------------------------------------------- */

struct sirix_call_options sirix_product_options(const struct sirix_mcp_request *request)
{
    const struct sirix_mcp_context *context = &request->context;

    return (struct sirix_call_options){
        .deadline_ms = (uint32_t)request->server->settings->query_timeout_ms,
        .cancel = context->cancel == NULL ? NULL : context->cancel->call,
        .traceparent = sirix_bytes_from_str(context->traceparent),
    };
}

enum sirix_status sirix_product_check(const struct sirix_mcp_server *server, const char *database,
                                      const char *resource, struct sirix_error *err)
{
    const struct sirix_bytes names[] = {sirix_bytes_from_str(database),
                                        sirix_bytes_from_str(resource)};
    const struct sirix_access *access = &server->settings->access;
    enum sirix_status status = sirix_name_check(SIRIX_NAME_DATABASE, names[0], "database", err);

    if (status == SIRIX_OK && resource != NULL) {
        status = sirix_name_check(SIRIX_NAME_RESOURCE, names[1], "resource", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const bool may = resource == NULL ? sirix_access_database(access, names[0])
                                      : sirix_access_resource(access, names[0], names[1]);
    return may ? SIRIX_OK
               : sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                                   "there is no such database or resource");
}

/* --- Reading: what a tool answers ------------------------------------------------------------------- */

/* The arguments of a tool as an object: names and values one after the other, NULL at the end. */
static enum sirix_status make_arguments(struct sirix_mcp_request *request, const char *const *pairs,
                                        struct sirix_json_node **out, struct sirix_error *err)
{
    struct sirix_json_tree tree;
    enum sirix_status status = sirix_json_tree_init(&tree, request->arena, err);

    if (status == SIRIX_OK) {
        status = sirix_json_new(&tree, SIRIX_JSON_KIND_OBJECT, &tree.root, err);
    }
    for (; *pairs != NULL && status == SIRIX_OK; pairs += 2) {
        struct sirix_json_node *value = NULL;

        status = sirix_json_new_string_plain(&tree, sirix_bytes_from_str(pairs[1]), &value, err);
        if (status == SIRIX_OK) {
            status = sirix_json_object_set_str(&tree, tree.root, pairs[0], value, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = tree.root;
    }
    return status;
}

/* Runs a tool and gives its answer as the resource's text; *out_is_truncated may say: not all. */
static enum sirix_status run_tool(struct sirix_mcp_request *request, const char *name,
                                  const char *const *pairs, struct sirix_buf *out,
                                  bool *out_is_truncated, struct sirix_error *err)
{
    const struct sirix_mcp_tool *tool =
        sirix_mcp_tool_find(request->server, sirix_bytes_from_str(name));
    struct sirix_json_node *arguments = NULL;
    enum sirix_status status = make_arguments(request, pairs, &arguments, err);

    if (status == SIRIX_OK && tool == NULL) {
        status = sirix_fail(err, SIRIX_INTERNAL, "there is no tool %s", name);
    }
    return status == SIRIX_OK
               ? sirix_mcp_run_tool(request, tool, arguments, out, out_is_truncated, err)
               : status;
}

static enum sirix_status read_by(struct sirix_mcp_request *request, const char *tool,
                                 const struct sirix_uri_values *values, struct sirix_put *put,
                                 struct sirix_error *err)
{
    const char *const pairs[] = {
        values->count > 0 ? "database" : NULL,
        values->count > 0 ? values->items[0].data : NULL,
        values->count > 1 ? "resource" : NULL,
        values->count > 1 ? values->items[1].data : NULL,
        NULL,
    };
    struct sirix_buf text;
    bool is_truncated = false;

    sirix_buf_init(&text, SIZE_MAX);
    enum sirix_status status = run_tool(request, tool, pairs, &text, &is_truncated, err);
    if (status == SIRIX_OK) {
        sirix_put_plain(put, "text", sirix_buf_view(&text));
    }
    sirix_buf_deinit(&text);
    return status;
}

static enum sirix_status read_databases(struct sirix_mcp_request *request,
                                        const struct sirix_uri_values *values,
                                        struct sirix_put *put, struct sirix_error *err)
{
    return read_by(request, "sirix_list_databases", values, put, err);
}

static enum sirix_status read_resources(struct sirix_mcp_request *request,
                                        const struct sirix_uri_values *values,
                                        struct sirix_put *put, struct sirix_error *err)
{
    return read_by(request, "sirix_list_resources", values, put, err);
}

static enum sirix_status read_info(struct sirix_mcp_request *request,
                                   const struct sirix_uri_values *values, struct sirix_put *put,
                                   struct sirix_error *err)
{
    return read_by(request, "sirix_resource_info", values, put, err);
}

static enum sirix_status read_history(struct sirix_mcp_request *request,
                                      const struct sirix_uri_values *values, struct sirix_put *put,
                                      struct sirix_error *err)
{
    return read_by(request, "sirix_history", values, put, err);
}

static enum sirix_status read_snapshots(struct sirix_mcp_request *request,
                                        const struct sirix_uri_values *values,
                                        struct sirix_put *put, struct sirix_error *err)
{
    return read_by(request, "sirix_list_snapshots", values, put, err);
}

/* The whole document, or where that is too much its outline as deep as it fits. */
static enum sirix_status read_revision(struct sirix_mcp_request *request,
                                       const struct sirix_uri_values *values, struct sirix_put *put,
                                       struct sirix_error *err)
{
    static const char *const depths[] = {"100", "16", "8", "4", "3", "2", "1"};
    const char *pairs[] = {"database", values->items[0].data, "resource", values->items[1].data,
                           "revision", values->items[2].data, "maxDepth", NULL,
                           NULL};
    struct sirix_buf text;
    bool is_truncated = true;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&text, SIZE_MAX);
    for (size_t i = 0; i < sizeof(depths) / sizeof(depths[0]) && is_truncated && status == SIRIX_OK;
         i++) {
        sirix_buf_clear(&text);
        pairs[7] = depths[i];
        status = run_tool(request, "sirix_read_node", pairs, &text, &is_truncated, err);
    }
    if (status == SIRIX_OK) {
        sirix_put_plain(put, "text", sirix_buf_view(&text));
    }
    sirix_buf_deinit(&text);
    return status;
}

/* --- State: what changes with the content ------------------------------------------------------------ */

static const struct sirix_hash_key fixed_key = {{'s', 't', 'a', 't', 'e'}};

static uint64_t mix(uint64_t state, const char *name, uint64_t number)
{
    return sirix_mix64(state ^ sirix_hash(&fixed_key, name, strlen(name)) ^ sirix_mix64(number));
}

static struct sirix_call_options look_options(const struct sirix_resources_look *look)
{
    return (struct sirix_call_options){
        .deadline_ms = SIRIX_EVENTS_CALL_MS,
        .cancel = look->cancel,
    };
}

/* Mixes one page of a list into the state; *next says where it goes on. */
typedef enum sirix_status (*mix_page_fn)(const struct sirix_resources_look *look,
                                         const char *database, const struct sirix_page *page,
                                         uint64_t *state, struct sirix_bytes *out_next,
                                         struct sirix_error *err);

static enum sirix_status mix_databases(const struct sirix_resources_look *look,
                                       const char *database, const struct sirix_page *page,
                                       uint64_t *state, struct sirix_bytes *out_next,
                                       struct sirix_error *err)
{
    const struct sirix_call_options options = look_options(look);
    struct sirix_database_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_databases(look->server->backend, page, &options, &list, err);

    (void)database;
    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;

        if (sirix_access_database(&look->server->settings->access, sirix_bytes_from_str(name))) {
            *state = mix(*state, name, 0);
        }
    }
    status = sirix_arena_copy(look->arena, list->next_cursor, out_next, err);
    sirix_backend_release(list);
    return status;
}

static enum sirix_status mix_resources(const struct sirix_resources_look *look,
                                       const char *database, const struct sirix_page *page,
                                       uint64_t *state, struct sirix_bytes *out_next,
                                       struct sirix_error *err)
{
    const struct sirix_call_options options = look_options(look);
    struct sirix_resource_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_resources(look->server->backend, database, page, &options, &list, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < list->count; i++) {
        const char *name = list->items[i].name;

        if (sirix_access_resource(&look->server->settings->access, sirix_bytes_from_str(database),
                                  sirix_bytes_from_str(name))) {
            *state = mix(*state, name, list->items[i].revision);
        }
    }
    status = sirix_arena_copy(look->arena, list->next_cursor, out_next, err);
    sirix_backend_release(list);
    return status;
}

static enum sirix_status mix_all(const struct sirix_resources_look *look, const char *database,
                                 mix_page_fn mix_page, uint64_t *out, struct sirix_error *err)
{
    struct sirix_page page = {.size = PAGE_SIZE};
    uint64_t state = 1;
    enum sirix_status status = SIRIX_OK;

    do {
        status = mix_page(look, database, &page, &state, &page.cursor, err);
    } while (status == SIRIX_OK && page.cursor.len != 0);
    if (status == SIRIX_OK) {
        *out = state;
    }
    return status;
}

static enum sirix_status state_of_databases(const struct sirix_resources_look *look,
                                            const struct sirix_uri_values *values, uint64_t *out,
                                            struct sirix_error *err)
{
    (void)values;
    return mix_all(look, NULL, mix_databases, out, err);
}

static enum sirix_status state_of_resources(const struct sirix_resources_look *look,
                                            const struct sirix_uri_values *values, uint64_t *out,
                                            struct sirix_error *err)
{
    const char *database = values->items[0].data;
    enum sirix_status status = sirix_product_check(look->server, database, NULL, err);

    return status == SIRIX_OK ? mix_all(look, database, mix_resources, out, err) : status;
}

static enum sirix_status state_of_resource(const struct sirix_resources_look *look,
                                           const struct sirix_uri_values *values, uint64_t *out,
                                           struct sirix_error *err)
{
    const struct sirix_call_options options = look_options(look);
    const struct sirix_resource_request request = {
        .database = values->items[0].data,
        .resource = values->items[1].data,
    };
    struct sirix_resource_info *info = NULL;
    enum sirix_status status =
        sirix_product_check(look->server, request.database, request.resource, err);

    if (status == SIRIX_OK) {
        status = sirix_backend_get_resource(look->server->backend, &request, &options, &info, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    uint64_t state = mix(1, "", info->newest_revision);
    for (size_t i = 0; i < info->listed_branch_count; i++) {
        state = mix(state, info->branches[i].name, info->branches[i].revision);
    }
    state = mix(state, "", info->branch_count);
    for (size_t i = 0; i < info->listed_snapshot_count; i++) {
        state = mix(state, info->snapshots[i].name, info->snapshots[i].revision);
    }
    *out = mix(state, "", info->snapshot_count);
    sirix_backend_release(info);
    return SIRIX_OK;
}

/* --- Lists ----------------------------------------------------------------------------------------- */

static enum sirix_status list_databases(struct sirix_mcp_request *request,
                                        struct sirix_bytes cursor, size_t max,
                                        struct sirix_bytes *out_values, size_t *out_count,
                                        struct sirix_bytes *out_next, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    const struct sirix_page page = {.size = (uint32_t)max, .cursor = cursor};
    struct sirix_database_list *list = NULL;
    size_t count = 0;
    enum sirix_status status =
        sirix_backend_list_databases(request->server->backend, &page, &options, &list, err);

    for (size_t i = 0; status == SIRIX_OK && i < list->count && count < max; i++) {
        const struct sirix_bytes name = sirix_bytes_from_str(list->items[i].name);

        if (sirix_access_database(&request->server->settings->access, name)) {
            status = sirix_arena_copy(request->arena, name, &out_values[count++], err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(request->arena, list->next_cursor, out_next, err);
    }
    if (status == SIRIX_OK) {
        *out_count = count;
    }
    sirix_backend_release(list);
    return status;
}

/* --- Tables ---------------------------------------------------------------------------------------- */

#define JSON_TYPE "application/json"

const struct sirix_mcp_resource sirix_product_resources[] = {
    {.uri = "sirix:///databases",
     .name = "databases",
     .title = "Databases",
     .description = "The databases that can be read.",
     .mime_type = JSON_TYPE,
     .read = read_databases,
     .state = state_of_databases},
    {.uri = "sirix:///{database}/resources",
     .name = "resources",
     .title = "Resources of a database",
     .description = "The resources (JSON documents) of a database with their newest revision.",
     .mime_type = JSON_TYPE,
     .read = read_resources,
     .state = state_of_resources,
     .list = list_databases},
    {.uri = "sirix:///{database}/{resource}/info",
     .name = "info",
     .title = "About a resource",
     .description = "Newest revision, number of revisions, times, size, branches and snapshots.",
     .mime_type = JSON_TYPE,
     .read = read_info,
     .state = state_of_resource},
    {.uri = "sirix:///{database}/{resource}/history",
     .name = "history",
     .title = "History of a resource",
     .description = "Its newest revisions with time, message and user.",
     .mime_type = JSON_TYPE,
     .read = read_history,
     .state = state_of_resource},
    {.uri = "sirix:///{database}/{resource}/revision/{revision}",
     .name = "revision",
     .title = "A document at a revision",
     .description = "The whole document; where that is too long, its outline with nodeKeys for "
                    "sirix_read_node.",
     .mime_type = JSON_TYPE,
     .read = read_revision},
    {.uri = "sirix:///{database}/{resource}/snapshots",
     .name = "snapshots",
     .title = "Snapshots of a resource",
     .description = "Its labels with the revisions that they name.",
     .mime_type = JSON_TYPE,
     .read = read_snapshots,
     .state = state_of_resource},
    {.uri = "sirix:///docs/sql",
     .name = "sql",
     .title = "Ask the store a question nobody anticipated",
     .description = "How to ask in SQL with store_query, with examples.",
     .mime_type = "text/markdown",
     .read = sirix_product_sql_page},
};
const size_t sirix_product_resource_count =
    sizeof(sirix_product_resources) / sizeof(sirix_product_resources[0]);

struct sirix_mcp_registry sirix_mcp_product(void)
{
    return (struct sirix_mcp_registry){
        .tools = sirix_mcp_tools,
        .tool_count = sirix_mcp_tool_count,
        .resources = sirix_product_resources,
        .resource_count = sirix_product_resource_count,
        .prompts = sirix_product_prompts,
        .prompt_count = sirix_product_prompt_count,
        .complete = sirix_product_complete,
    };
}
