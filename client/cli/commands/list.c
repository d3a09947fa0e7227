/* sirixctl list [DB | DB/RESOURCE] */
#include <inttypes.h>

#include "cli/commands/commands.h"

static void json_database(struct sirixctl_json *json, const struct sirix_database_info *item)
{
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

static void print_database(struct sirixctl_out *out, const struct sirix_database_info *item)
{
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

static void show_databases(struct sirixctl *ctl, const struct sirix_database_list *list,
                           struct sirixctl_json *json)
{
    for (size_t i = 0; i < list->count; i++) {
        if (ctl->json) {
            json_database(json, &list->items[i]);
        } else {
            print_database(&ctl->out, &list->items[i]);
        }
    }
}

static enum sirix_status list_databases(struct sirixctl *ctl, struct sirixctl_json *json,
                                        struct sirix_error *err)
{
    struct sirix_database_list *list = NULL;
    struct sirix_page page = {0};
    enum sirix_status status = SIRIX_OK;

    sirixctl_json_array(json, "databases");
    do {
        struct sirix_database_list *next = NULL;

        status = sirix_client_list_databases(ctl->client, &page, &ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&page.cursor, next->next_cursor, err);
        }
        sirix_client_free(list); /* Its cursor was needed until now. */
        list = next;
        if (status == SIRIX_OK) {
            show_databases(ctl, list, json);
        }
    } while (status == SIRIX_OK && page.cursor.len != 0);
    sirix_client_free(list);
    sirixctl_json_array_end(json);
    return status;
}

static void show_resources(struct sirixctl *ctl, const struct sirix_resource_list *list,
                           struct sirixctl_json *json)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct sirix_resource_entry *item = &list->items[i];

        if (ctl->json) {
            sirixctl_json_object(json, NULL);
            sirixctl_json_str(json, "name", item->name);
            sirixctl_json_u64(json, "revision", item->revision);
            sirixctl_json_time(json, "timestamp", item->timestamp_us);
            sirixctl_json_object_end(json);
            continue;
        }
        sirixctl_out_str(&ctl->out, item->name);
        sirixctl_out_printf(&ctl->out, "  revision %" PRIu64 "  ", item->revision);
        sirixctl_out_time(&ctl->out, item->timestamp_us);
        sirixctl_out_printf(&ctl->out, "\n");
    }
}

static enum sirix_status list_resources(struct sirixctl *ctl, const char *database,
                                        struct sirixctl_json *json, struct sirix_error *err)
{
    struct sirix_resource_list *list = NULL;
    struct sirix_page page = {0};
    enum sirix_status status = SIRIX_OK;

    sirixctl_json_array(json, "resources");
    do {
        struct sirix_resource_list *next = NULL;

        status = sirix_client_list_resources(ctl->client, database, &page, &ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&page.cursor, next->next_cursor, err);
        }
        sirix_client_free(list);
        list = next;
        if (status == SIRIX_OK) {
            show_resources(ctl, list, json);
        }
    } while (status == SIRIX_OK && page.cursor.len != 0);
    sirix_client_free(list);
    sirixctl_json_array_end(json);
    return status;
}

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
        status = list_databases(ctl, &json, err);
    } else if (name.resource[0] == '\0') {
        status = list_resources(ctl, name.database, &json, err);
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
