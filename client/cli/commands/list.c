/* sirixctl list [DB | DB/RESOURCE[@WHAT]] */
#include <inttypes.h>

#include "cli/commands/commands.h"
#include "cli/pages.h"

/* --- Databases -------------------------------------------------------------------------------- */

static enum sirix_status fetch_databases(struct sirixctl *ctl, void *context,
                                         const struct sirix_page *page,
                                         struct sirixctl_page *out_page, struct sirix_error *err)
{
    struct sirix_database_list *list = NULL;
    enum sirix_status status =
        sirix_client_list_databases(ctl->client, page, &ctl->call, &list, err);

    (void)context; /* All there are. */
    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void json_database(struct sirixctl_json *json, const void *items, size_t index)
{
    const struct sirix_database_info *item = (const struct sirix_database_info *)items + index;

    sirixctl_json_object(json, NULL);
    sirixctl_json_str(json, "name", item->name);
    sirixctl_json_u64(json, "storedBytes", item->stored_bytes);
    sirixctl_json_u64(json, "resourceCount", item->resource_count);
    sirixctl_json_bool(json, "open", item->open);
    if (item->read_only_reason.len != 0) {
        sirixctl_json_text(json, "readOnlyReason", item->read_only_reason);
    }
    sirixctl_json_object_end(json);
}

static void print_database(struct sirixctl_out *out, const void *items, size_t index)
{
    const struct sirix_database_info *item = (const struct sirix_database_info *)items + index;
    char size[16];

    sirixctl_format_bytes(item->stored_bytes, size);
    sirixctl_out_str(out, item->name);
    sirixctl_out_printf(out, "  %s", size);
    if (item->read_only_reason.len != 0) {
        sirixctl_out_printf(out, "  read-only: ");
        sirixctl_out_text(out, item->read_only_reason);
    }
    sirixctl_out_printf(out, "\n");
}

static const struct sirixctl_list_kind databases = {fetch_databases, json_database, print_database};

/* --- Resources -------------------------------------------------------------------------------- */

static enum sirix_status fetch_resources(struct sirixctl *ctl, void *context,
                                         const struct sirix_page *page,
                                         struct sirixctl_page *out_page, struct sirix_error *err)
{
    const struct sirixctl_name *name = context;
    struct sirix_resource_list *list = NULL;
    enum sirix_status status =
        sirix_client_list_resources(ctl->client, name->database, page, &ctl->call, &list, err);

    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void json_resource(struct sirixctl_json *json, const void *items, size_t index)
{
    const struct sirix_resource_entry *item = (const struct sirix_resource_entry *)items + index;

    sirixctl_json_object(json, NULL);
    sirixctl_json_str(json, "name", item->name);
    sirixctl_json_u64(json, "revision", item->revision);
    sirixctl_json_time(json, "timestamp", item->timestamp_us);
    sirixctl_json_object_end(json);
}

static void print_resource(struct sirixctl_out *out, const void *items, size_t index)
{
    const struct sirix_resource_entry *item = (const struct sirix_resource_entry *)items + index;

    sirixctl_out_str(out, item->name);
    sirixctl_out_printf(out, "  revision %" PRIu64 "  ", item->revision);
    sirixctl_out_time(out, item->timestamp_us);
    sirixctl_out_printf(out, "\n");
}

static const struct sirixctl_list_kind resources = {fetch_resources, json_resource, print_resource};

/* --- One resource ----------------------------------------------------------------------------- */

static void json_info(struct sirixctl_json *json, const struct sirix_resource_info *info)
{
    sirixctl_json_str(json, "database", info->database);
    sirixctl_json_str(json, "resource", info->resource);
    sirixctl_json_u64(json, "revision", info->revision);
    sirixctl_json_u64(json, "revisionCount", info->revision_count);
    sirixctl_json_u64(json, "oldestRevision", info->oldest_revision);
    sirixctl_json_u64(json, "newestRevision", info->newest_revision);
    sirixctl_json_time(json, "createdAt", info->created_at_us);
    sirixctl_json_time(json, "lastModifiedAt", info->last_modified_at_us);
    sirixctl_json_u64(json, "nodeCount", info->node_count);
    sirixctl_json_u64(json, "textBytes", info->text_bytes);
    sirixctl_json_u64(json, "storedBytes", info->stored_bytes);
    sirixctl_json_str(json, "storageType", info->storage_type);
    sirixctl_json_u64(json, "branches", info->branch_count);
    sirixctl_json_u64(json, "snapshots", info->snapshot_count);
}

static void print_info(struct sirixctl_out *out, const struct sirix_resource_info *info)
{
    char text[16];
    char stored[16];

    sirixctl_format_bytes(info->text_bytes, text);
    sirixctl_format_bytes(info->stored_bytes, stored);
    sirixctl_out_printf(out, "revision       %" PRIu64 "\nrevisions      %" PRIu64 "\n",
                        info->revision, info->revision_count);
    sirixctl_out_printf(out, "created        ");
    sirixctl_out_time(out, info->created_at_us);
    sirixctl_out_printf(out, "\nlast modified  ");
    sirixctl_out_time(out, info->last_modified_at_us);
    sirixctl_out_printf(out, "\nnodes          %" PRIu64 "\ntext           %s\nstored         %s\n",
                        info->node_count, text, stored);
    sirixctl_out_printf(out, "branches       %" PRIu64 "\nsnapshots      %" PRIu64 "\n",
                        info->branch_count, info->snapshot_count);
}

static enum sirix_status show_resource(struct sirixctl *ctl, const struct sirixctl_name *name,
                                       struct sirixctl_json *json, struct sirix_error *err)
{
    struct sirix_resource_request request = {
        .database = name->database,
        .resource = name->resource,
    };
    struct sirix_resource_info *info = NULL;
    enum sirix_status status = sirixctl_view(ctl, name, NULL, &request.view, err);

    if (status == SIRIX_OK) {
        status = sirix_client_get_resource(ctl->client, &request, &ctl->call, &info, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        json_info(json, info);
    } else if (status == SIRIX_OK) {
        print_info(&ctl->out, info);
    }
    sirix_client_free(info);
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirixctl_name name = {.at = SIRIXCTL_AT_NOTHING};
    struct sirixctl_json json;
    enum sirix_status status = SIRIX_OK;

    if (ctl->args.operand_count == 1) {
        status = sirixctl_name_parse(ctl->args.operands[0], &name, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    if (name.database[0] == '\0') {
        sirixctl_json_array(&json, "databases");
        status = sirixctl_show_list(ctl, &databases, NULL, SIRIXCTL_ALL_ITEMS, &json, err);
        sirixctl_json_array_end(&json);
    } else if (name.resource[0] == '\0') {
        sirixctl_json_array(&json, "resources");
        status = sirixctl_show_list(ctl, &resources, &name, SIRIXCTL_ALL_ITEMS, &json, err);
        sirixctl_json_array_end(&json);
    } else {
        status = show_resource(ctl, &name, &json, err);
    }
    sirixctl_json_object_end(&json);
    return sirixctl_json_end(&json, ctl->json && status == SIRIX_OK ? &ctl->out : NULL, status,
                             err);
}

const struct sirixctl_command sirixctl_list = {
    .name = "list",
    .operands = "[DB | DB/RESOURCE[@WHAT]]",
    .summary = "List databases, the resources of one, or the facts of a resource",
    .answer = "{\"databases\":[{\"name\",\"storedBytes\",\"resourceCount\",\"open\","
              "\"readOnlyReason\"?}]}\n"
              "of a database: {\"resources\":[{\"name\",\"revision\",\"timestamp\"}]}\n"
              "of a resource: "
              "{\"database\",\"resource\",\"revision\",\"revisionCount\",\"oldestRevision\",\n"
              "\"newestRevision\",\"createdAt\",\"lastModifiedAt\",\"nodeCount\",\"textBytes\","
              "\"storedBytes\",\n"
              "\"storageType\",\"branches\",\"snapshots\"}",
    .operands_min = 0,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
