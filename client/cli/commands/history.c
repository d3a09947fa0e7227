/* sirixctl history DB/RESOURCE[@WHAT] [NODE] */
#include <inttypes.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_BRANCH, FLAG_COUNT };

enum { COUNT_DEFAULT = 20, COUNT_MAX = 1000000, PAGE_MAX = 1000 };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "of this branch instead of main"},
    [FLAG_COUNT] = {"count", "N", "so many, newest first (default 20)"},
};

static void json_revision(struct sirixctl_json *json, const struct sirix_revision_info *info)
{
    sirixctl_json_u64(json, "revision", info->revision);
    sirixctl_json_u64(json, "parentRevision", info->parent_revision);
    sirixctl_json_str(json, "branch", info->branch);
    sirixctl_json_time(json, "timestamp", info->timestamp_us);
    sirixctl_json_text(json, "author", info->author);
    sirixctl_json_text(json, "onBehalfOf", info->on_behalf_of);
    sirixctl_json_text(json, "message", info->message);
    if (info->reverted_to != 0) {
        sirixctl_json_u64(json, "revertedTo", info->reverted_to);
    }
    sirixctl_json_u64(json, "nodeCount", info->node_count);
}

static void print_revision(struct sirixctl_out *out, const struct sirix_revision_info *info)
{
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_YELLOW);
    sirixctl_out_printf(out, "%" PRIu64, info->revision);
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_printf(out, "  ");
    sirixctl_out_time(out, info->timestamp_us);
    sirixctl_out_printf(out, "  ");
    sirixctl_out_text(out, info->author);
    if (info->on_behalf_of.len != 0) {
        sirixctl_out_printf(out, " for ");
        sirixctl_out_text(out, info->on_behalf_of);
    }
    if (info->branch[0] != '\0') {
        sirixctl_out_printf(out, "  ");
        sirixctl_out_str(out, info->branch);
    }
    if (info->reverted_to != 0) {
        sirixctl_out_printf(out, "  revert to %" PRIu64, info->reverted_to);
    }
    if (info->message.len != 0) {
        sirixctl_out_printf(out, "  ");
        sirixctl_out_text(out, info->message);
    }
}

static void show_revisions(struct sirixctl *ctl, const struct sirix_history_page *page,
                           struct sirixctl_json *json)
{
    for (size_t i = 0; i < page->count; i++) {
        if (ctl->json) {
            sirixctl_json_object(json, NULL);
            json_revision(json, &page->items[i]);
            sirixctl_json_object_end(json);
        } else {
            print_revision(&ctl->out, &page->items[i]);
            sirixctl_out_printf(&ctl->out, "\n");
        }
    }
}

static enum sirix_status list_revisions(struct sirixctl *ctl, struct sirix_history_request *request,
                                        uint64_t count, struct sirixctl_json *json,
                                        struct sirix_error *err)
{
    struct sirix_history_page *page = NULL;
    enum sirix_status status = SIRIX_OK;

    do {
        struct sirix_history_page *next = NULL;

        request->page.size = (uint32_t)(count < PAGE_MAX ? count : PAGE_MAX);
        status = sirix_client_history(ctl->client, request, &ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&request->page.cursor, next->next_cursor, err);
        }
        sirix_client_free(page); /* Its cursor was needed until now. */
        page = next;
        if (status == SIRIX_OK) {
            show_revisions(ctl, page, json);
            count -= page->count < count ? page->count : count;
        }
    } while (status == SIRIX_OK && count != 0 && request->page.cursor.len != 0);
    sirix_client_free(page);
    return status;
}

static void json_entry(struct sirixctl_json *json, const struct sirix_node_history_entry *entry)
{
    sirixctl_json_object(json, NULL);
    json_revision(json, &entry->revision);
    sirixctl_json_str(json, "change", sirix_change_kind_name(entry->change));
    sirixctl_json_str(json, "kind", sirix_node_type_name(entry->type));
    sirixctl_json_raw(json, "value", entry->value);
    if (entry->name.len != 0) {
        sirixctl_json_text(json, "name", entry->name);
    }
    sirixctl_json_object_end(json);
}

static void show_entries(struct sirixctl *ctl, const struct sirix_node_history_page *page,
                         struct sirixctl_json *json)
{
    for (size_t i = 0; i < page->count; i++) {
        const struct sirix_node_history_entry *entry = &page->items[i];

        if (ctl->json) {
            json_entry(json, entry);
            continue;
        }
        print_revision(&ctl->out, &entry->revision);
        sirixctl_out_printf(&ctl->out, "\n    %s  ", sirix_change_kind_name(entry->change));
        sirixctl_out_text(&ctl->out, entry->value);
        sirixctl_out_printf(&ctl->out, "%s\n", entry->cut ? " ..." : "");
    }
}

static enum sirix_status list_entries(struct sirixctl *ctl,
                                      struct sirix_node_history_request *request, uint64_t count,
                                      struct sirixctl_json *json, struct sirix_error *err)
{
    struct sirix_node_history_page *page = NULL;
    enum sirix_status status = SIRIX_OK;

    do {
        struct sirix_node_history_page *next = NULL;

        request->page.size = (uint32_t)(count < PAGE_MAX ? count : PAGE_MAX);
        status = sirix_client_node_history(ctl->client, request, &ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&request->page.cursor, next->next_cursor, err);
        }
        sirix_client_free(page);
        page = next;
        if (status == SIRIX_OK) {
            show_entries(ctl, page, json);
            count -= page->count < count ? page->count : count;
        }
    } while (status == SIRIX_OK && count != 0 && request->page.cursor.len != 0);
    sirix_client_free(page);
    return status;
}

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
        return list_revisions(ctl, &request, count, json, err);
    }
    enum sirix_status status =
        sirixctl_target_key(ctl, name, view, target, &node_request.node_key, err);
    return status != SIRIX_OK ? status : list_entries(ctl, &node_request, count, json, err);
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
    if (count != 0) {
        status = history_of(ctl, &name, &view, of_node ? &target : NULL, count, &json, err);
    }
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
              "of a node each also has \"change\",\"kind\",\"value\",\"name\"?",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
