/*
 * sirixctl snapshot create DB/RESOURCE[@WHAT] LABEL
 * sirixctl snapshot list DB/RESOURCE
 * sirixctl snapshot delete DB/RESOURCE LABEL
 *
 * The JSON of list is the file that the first version of this product kept its labels in.
 */
#include <inttypes.h>

#include "cli/commands/commands.h"
#include "cli/commands/labels.h"

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

static enum sirix_status fetch_snapshots(struct sirixctl *ctl, void *context,
                                         const struct sirix_page *page,
                                         struct sirixctl_page *out_page, struct sirix_error *err)
{
    const struct sirixctl_name *name = context;
    struct sirix_snapshot_list *list = NULL;
    enum sirix_status status = sirix_client_list_snapshots(
        ctl->client, name->database, name->resource, page, &ctl->call, &list, err);

    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void show_json(struct sirixctl_json *json, const void *items, size_t index)
{
    const struct sirix_snapshot_info *item = (const struct sirix_snapshot_info *)items + index;

    sirixctl_json_name(json, sirix_bytes_from_str(item->name));
    sirixctl_json_object(json, NULL);
    sirixctl_json_u64(json, "revision", item->revision);
    sirixctl_json_time(json, "timestamp", item->timestamp_us);
    sirixctl_json_object_end(json);
}

static void show_words(struct sirixctl_out *out, const void *items, size_t index)
{
    const struct sirix_snapshot_info *item = (const struct sirix_snapshot_info *)items + index;

    sirixctl_out_str(out, item->name);
    sirixctl_out_printf(out, "  %" PRIu64 "  ", item->revision);
    sirixctl_out_time(out, item->timestamp_us);
    sirixctl_out_printf(out, "\n");
}

static enum sirix_status run_list(struct sirixctl *ctl, struct sirix_error *err)
{
    static const struct sirixctl_list_kind snapshots = {fetch_snapshots, show_json, show_words};

    return sirixctl_label_list(ctl, &snapshots, NULL, err);
}

static enum sirix_status run_delete(struct sirixctl *ctl, struct sirix_error *err)
{
    static const struct sirixctl_label_delete what = {SIRIX_NAME_SNAPSHOT, "label", "revision",
                                                      sirix_client_delete_snapshot};

    return sirixctl_label_remove(ctl, &what, err);
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
