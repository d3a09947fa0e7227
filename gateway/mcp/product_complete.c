/* Completion of names: databases, resources, labels and branches that the caller may see. */
#include <string.h>

#include "mcp/product.h"
#include "mcp/server.h"
#include "mcp/tools.h"

enum { PAGE_SIZE = 500 };

/* One page of some list: how many names, the name number i, and where it goes on. */
struct page_of_names {
    const void *list;
    size_t count;
    struct sirix_bytes next;
    const char *(*name)(const void *list, size_t index);
};

typedef enum sirix_status (*fetch_fn)(struct sirix_mcp_request *request,
                                      const struct sirix_mcp_completion *completion,
                                      const struct sirix_page *page, struct page_of_names *out,
                                      struct sirix_error *err);

static const char *database_name(const void *list, size_t index)
{
    return ((const struct sirix_database_list *)list)->items[index].name;
}

static const char *resource_name(const void *list, size_t index)
{
    return ((const struct sirix_resource_list *)list)->items[index].name;
}

static const char *snapshot_name(const void *list, size_t index)
{
    return ((const struct sirix_snapshot_list *)list)->items[index].name;
}

static const char *branch_name(const void *list, size_t index)
{
    return ((const struct sirix_branch_list *)list)->items[index].name;
}

static enum sirix_status fetch_databases(struct sirix_mcp_request *request,
                                         const struct sirix_mcp_completion *completion,
                                         const struct sirix_page *page, struct page_of_names *out,
                                         struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    struct sirix_database_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_databases(request->server->backend, page, &options, &list, err);

    (void)completion;
    if (status == SIRIX_OK) {
        *out = (struct page_of_names){list, list->count, list->next_cursor, database_name};
    }
    return status;
}

static enum sirix_status fetch_resources(struct sirix_mcp_request *request,
                                         const struct sirix_mcp_completion *completion,
                                         const struct sirix_page *page, struct page_of_names *out,
                                         struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    struct sirix_resource_list *list = NULL;
    enum sirix_status status = sirix_backend_list_resources(
        request->server->backend, completion->database.data, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out = (struct page_of_names){list, list->count, list->next_cursor, resource_name};
    }
    return status;
}

static enum sirix_status fetch_snapshots(struct sirix_mcp_request *request,
                                         const struct sirix_mcp_completion *completion,
                                         const struct sirix_page *page, struct page_of_names *out,
                                         struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    struct sirix_snapshot_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_snapshots(request->server->backend, completion->database.data,
                                     completion->resource.data, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out = (struct page_of_names){list, list->count, list->next_cursor, snapshot_name};
    }
    return status;
}

static enum sirix_status fetch_branches(struct sirix_mcp_request *request,
                                        const struct sirix_mcp_completion *completion,
                                        const struct sirix_page *page, struct page_of_names *out,
                                        struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_product_options(request);
    struct sirix_branch_list *list = NULL;
    enum sirix_status status =
        sirix_backend_list_branches(request->server->backend, completion->database.data,
                                    completion->resource.data, page, &options, &list, err);

    if (status == SIRIX_OK) {
        *out = (struct page_of_names){list, list->count, list->next_cursor, branch_name};
    }
    return status;
}

/* What an argument of that name is completed with. */
static const struct source {
    const char *argument;
    fetch_fn fetch;
    bool needs_database;
    bool needs_resource;
} sources[] = {
    {"database", fetch_databases, false, false}, {"resource", fetch_resources, true, false},
    {"snapshot", fetch_snapshots, true, true},   {"from", fetch_snapshots, true, true},
    {"to", fetch_snapshots, true, true},         {"branch", fetch_branches, true, true},
};

static bool may_see(const struct sirix_mcp_request *request, const struct source *source,
                    const struct sirix_mcp_completion *completion, const char *name)
{
    const struct sirix_access *access = &request->server->settings->access;

    if (!source->needs_database) {
        return sirix_access_database(access, sirix_bytes_from_str(name));
    }
    return source->needs_resource ||
           sirix_access_resource(access, completion->database, sirix_bytes_from_str(name));
}

/* Adds the names of a page that begin as typed. */
static enum sirix_status take(struct sirix_mcp_request *request, const struct source *source,
                              const struct page_of_names *page,
                              struct sirix_mcp_completion *completion, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < page->count && !completion->has_more && status == SIRIX_OK; i++) {
        const char *name = page->name(page->list, i);
        const struct sirix_bytes bytes = sirix_bytes_from_str(name);

        if (bytes.len < completion->typed.len ||
            memcmp(name, completion->typed.data, completion->typed.len) != 0 ||
            !may_see(request, source, completion, name)) {
            continue;
        }
        if (completion->count == SIRIX_MCP_COMPLETIONS_MAX) {
            completion->has_more = true;
        } else {
            status = sirix_arena_copy(request->arena, bytes,
                                      &completion->values[completion->count++], err);
        }
    }
    return status;
}

static const struct source *find_source(const char *argument)
{
    for (size_t i = 0; i < sizeof(sources) / sizeof(sources[0]); i++) {
        if (strcmp(sources[i].argument, argument) == 0) {
            return &sources[i];
        }
    }
    return NULL;
}

enum sirix_status sirix_product_complete(struct sirix_mcp_request *request,
                                         struct sirix_mcp_completion *completion,
                                         struct sirix_error *err)
{
    const struct source *source = find_source(completion->argument);
    struct sirix_page page = {.size = PAGE_SIZE};
    enum sirix_status status = SIRIX_OK;
    bool goes_on = source != NULL;

    if (goes_on && source->needs_database) {
        status =
            sirix_product_check(request->server, completion->database.data,
                                source->needs_resource ? completion->resource.data : NULL, err);
    }
    while (goes_on && status == SIRIX_OK) {
        struct page_of_names names = {.list = NULL};

        status = source->fetch(request, completion, &page, &names, err);
        if (status == SIRIX_OK) {
            status = take(request, source, &names, completion, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_arena_copy(request->arena, names.next, &page.cursor, err);
        }
        sirix_backend_release(names.list);
        goes_on = page.cursor.len != 0 && !completion->has_more;
    }
    /* What is not there, or not for the caller, completes to nothing. */
    return status == SIRIX_NOT_FOUND || status == SIRIX_INVALID ? SIRIX_OK : status;
}
