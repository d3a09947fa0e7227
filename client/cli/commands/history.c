/* sirixctl history DB/RESOURCE[@WHAT] [NODE] */
#include <inttypes.h>

#include "cli/commands/commands.h"
#include "cli/pages.h"
#include "cli/revision.h"

enum own_flag { FLAG_BRANCH, FLAG_COUNT };

enum { COUNT_DEFAULT = 20, COUNT_MAX = 1000000 };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "of this branch instead of main"},
    [FLAG_COUNT] = {"count", "N", "so many, newest first (default 20)"},
};

static enum sirix_status fetch_revisions(struct sirixctl *ctl, void *context,
                                         const struct sirix_page *page,
                                         struct sirixctl_page *out_page, struct sirix_error *err)
{
    struct sirix_history_request *request = context;
    struct sirix_history_page *list = NULL;

    request->page = *page;
    enum sirix_status status = sirix_client_history(ctl->client, request, &ctl->call, &list, err);
    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void show_revision_json(struct sirixctl_json *json, const void *items, size_t index)
{
    sirixctl_json_object(json, NULL);
    sirixctl_json_revision(json, (const struct sirix_revision_info *)items + index);
    sirixctl_json_object_end(json);
}

static void show_revision(struct sirixctl_out *out, const void *items, size_t index)
{
    sirixctl_out_revision(out, (const struct sirix_revision_info *)items + index);
    sirixctl_out_printf(out, "\n");
}

static const struct sirixctl_list_kind revisions = {fetch_revisions, show_revision_json,
                                                    show_revision};

/* --- Of a node -------------------------------------------------------------------------------- */

static enum sirix_status fetch_entries(struct sirixctl *ctl, void *context,
                                       const struct sirix_page *page,
                                       struct sirixctl_page *out_page, struct sirix_error *err)
{
    struct sirix_node_history_request *request = context;
    struct sirix_node_history_page *list = NULL;

    request->page = *page;
    enum sirix_status status =
        sirix_client_node_history(ctl->client, request, &ctl->call, &list, err);
    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void show_entry_json(struct sirixctl_json *json, const void *items, size_t index)
{
    const struct sirix_node_history_entry *entry =
        (const struct sirix_node_history_entry *)items + index;

    sirixctl_json_object(json, NULL);
    sirixctl_json_revision(json, &entry->revision);
    sirixctl_json_str(json, "change", sirix_change_kind_name(entry->change));
    sirixctl_json_str(json, "kind", sirix_node_type_name(entry->type));
    /* A value that was cut is no JSON value any more, so it is told as text. */
    if (entry->cut) {
        sirixctl_json_text(json, "text", entry->value);
    } else if (entry->value.len != 0) {
        sirixctl_json_raw(json, "value", entry->value);
    }
    if (entry->name.len != 0) {
        sirixctl_json_text(json, "name", entry->name);
    }
    sirixctl_json_object_end(json);
}

static void show_entry(struct sirixctl_out *out, const void *items, size_t index)
{
    const struct sirix_node_history_entry *entry =
        (const struct sirix_node_history_entry *)items + index;

    sirixctl_out_revision(out, &entry->revision);
    sirixctl_out_printf(out, "\n    %s  ", sirix_change_kind_name(entry->change));
    sirixctl_out_text(out, entry->value);
    sirixctl_out_printf(out, "%s\n", entry->cut ? " ..." : "");
}

static const struct sirixctl_list_kind entries = {fetch_entries, show_entry_json, show_entry};

/* --- The command ------------------------------------------------------------------------------ */

static enum sirix_status history_of(struct sirixctl *ctl, const struct sirixctl_name *name,
                                    const struct sirix_view *view,
                                    const struct sirix_target *target, uint64_t count,
                                    struct sirixctl_json *json, struct sirix_error *err)
{
    struct sirix_history_request request = {
        .database = name->database,
        .resource = name->resource,
        .view = *view,
    };
    struct sirix_node_history_request node_request = {
        .database = name->database,
        .resource = name->resource,
        .view = *view,
    };

    if (target == NULL) {
        return sirixctl_show_list(ctl, &revisions, &request, count, json, err);
    }
    enum sirix_status status =
        sirixctl_target_key(ctl, name, view, target, &node_request.node_key, err);
    return status != SIRIX_OK ? status
                              : sirixctl_show_list(ctl, &entries, &node_request, count, json, err);
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    uint64_t count = COUNT_DEFAULT;
    struct sirixctl_name name;
    struct sirixctl_json json;
    struct sirix_view view;
    struct sirix_target target = {0};
    bool of_node = ctl->args.operand_count > 1;
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK && of_node) {
        status = sirixctl_target(ctl->args.operands[1], &target, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirixctl_parse_optional(ctl->args.own[FLAG_COUNT], "--count", COUNT_MAX, &count, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, &name, ctl->args.own[FLAG_BRANCH], &view, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_array(&json, "revisions");
    status = history_of(ctl, &name, &view, of_node ? &target : NULL, count, &json, err);
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    return sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, status, err);
}

const struct sirixctl_command sirixctl_history = {
    .name = "history",
    .operands = "DB/RESOURCE[@WHAT] [NODE]",
    .summary = "List the revisions of a resource, or those that changed a node",
    .answer = "{\"revisions\":[{\"revision\",\"parentRevision\",\"branch\",\"timestamp\","
              "\"author\",\"onBehalfOf\",\n"
              "\"message\",\"revertedTo\"?,\"nodeCount\"}]}\n"
              "of a node each also has \"change\",\"kind\",\"value\"|\"text\"?,\"name\"?",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
