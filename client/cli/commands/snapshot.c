/*
 * sirixctl snapshot create DB/RESOURCE[@WHAT] LABEL
 * sirixctl snapshot list DB/RESOURCE
 * sirixctl snapshot delete DB/RESOURCE LABEL
 *
 * The JSON of list is the file that the first version of this product kept its labels in.
 */
#include <inttypes.h>

#include "cli/commands/commands.h"

enum create_flag { FLAG_BRANCH, FLAG_REPLACE };

static const struct sirixctl_flag create_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "of this branch instead of main"},
    [FLAG_REPLACE] = {"replace", NULL, "move a label that is at another revision"},
};

static enum sirix_status run_create(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_create_snapshot_request request = {
        .name = ctl->args.operands[1],
        .replace = ctl->args.own[FLAG_REPLACE] != NULL,
    };
    struct sirix_create_snapshot_result *result = NULL;
    struct sirixctl_name name;
    struct sirixctl_json json;
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_check_operand(ctl, 1, SIRIX_NAME_SNAPSHOT, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, &name, ctl->args.own[FLAG_BRANCH], &request.view, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_create_snapshot(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "label", result->snapshot.name);
        sirixctl_json_u64(&json, "revision", result->snapshot.revision);
        sirixctl_json_time(&json, "timestamp", result->snapshot.timestamp_us);
        sirixctl_json_u64(&json, "previousRevision", result->previous_revision);
        sirixctl_json_bool(&json, "changed", result->changed);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        sirixctl_out_str(&ctl->out, result->snapshot.name);
        sirixctl_out_printf(&ctl->out, " is revision %" PRIu64, result->snapshot.revision);
        if (result->changed && result->previous_revision != 0) {
            sirixctl_out_printf(&ctl->out, " (was %" PRIu64 ")", result->previous_revision);
        }
        sirixctl_out_printf(&ctl->out, "\n");
    }
    sirix_client_free(result);
    return status;
}

static void show_list(struct sirixctl *ctl, const struct sirix_snapshot_list *list,
                      struct sirixctl_json *json)
{
    for (size_t i = 0; i < list->count; i++) {
        const struct sirix_snapshot_info *item = &list->items[i];

        if (ctl->json) {
            sirixctl_json_name(json, sirix_bytes_from_str(item->name));
            sirixctl_json_object(json, NULL);
            sirixctl_json_u64(json, "revision", item->revision);
            sirixctl_json_time(json, "timestamp", item->timestamp_us);
            sirixctl_json_object_end(json);
            continue;
        }
        sirixctl_out_str(&ctl->out, item->name);
        sirixctl_out_printf(&ctl->out, "  %" PRIu64 "  ", item->revision);
        sirixctl_out_time(&ctl->out, item->timestamp_us);
        sirixctl_out_printf(&ctl->out, "\n");
    }
}

static enum sirix_status run_list(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_snapshot_list *list = NULL;
    struct sirix_page page = {0};
    struct sirixctl_name name;
    struct sirixctl_json json;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    do {
        struct sirix_snapshot_list *next = NULL;

        status = sirix_client_list_snapshots(ctl->client, name.database, name.resource, &page,
                                             &ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&page.cursor, next->next_cursor, err);
        }
        sirix_client_free(list); /* Its cursor was needed until now. */
        list = next;
        if (status == SIRIX_OK) {
            show_list(ctl, list, &json);
        }
    } while (status == SIRIX_OK && page.cursor.len != 0);
    sirix_client_free(list);
    sirixctl_json_object_end(&json);
    return sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, status, err);
}

static enum sirix_status run_delete(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_delete_name_request request = {.name = ctl->args.operands[1]};
    struct sirix_delete_name_result result;
    struct sirixctl_name name;
    struct sirixctl_json json;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_check_operand(ctl, 1, SIRIX_NAME_SNAPSHOT, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_delete_snapshot(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "label", request.name);
        sirixctl_json_u64(&json, "revision", result.revision);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        sirixctl_out_printf(&ctl->out, "deleted; it was revision %" PRIu64 "\n", result.revision);
    }
    return status;
}

const struct sirixctl_command sirixctl_snapshot_create = {
    .name = "snapshot create",
    .operands = "DB/RESOURCE[@WHAT] LABEL",
    .summary = "Give a revision a name",
    .answer = "{\"label\",\"revision\",\"timestamp\",\"previousRevision\",\"changed\"}",
    .flags = SIRIXCTL_FLAGS(create_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_create,
};

const struct sirixctl_command sirixctl_snapshot_list = {
    .name = "snapshot list",
    .operands = "DB/RESOURCE",
    .summary = "List the names of revisions",
    .answer = "{LABEL:{\"revision\",\"timestamp\"},...}",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run_list,
};

const struct sirixctl_command sirixctl_snapshot_delete = {
    .name = "snapshot delete",
    .operands = "DB/RESOURCE LABEL",
    .summary = "Remove the name of a revision; the revision stays",
    .answer = "{\"label\",\"revision\"}",
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_delete,
};
