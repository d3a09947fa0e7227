/*
 * sirixctl branch create DB/RESOURCE[@WHAT] NAME
 * sirixctl branch list DB/RESOURCE
 * sirixctl branch delete DB/RESOURCE NAME
 * sirixctl branch promote DB/RESOURCE NAME
 */
#include <inttypes.h>

#include "base/clock.h"
#include "cli/commands/commands.h"
#include "cli/commands/labels.h"

enum create_flag { FLAG_BRANCH, FLAG_TTL };
enum promote_flag { FLAG_TARGET, FLAG_REPLACE, FLAG_EXPECTED_REVISION };

enum { TTL_MAX_S = 1000 * 1000 * 1000 };

static const struct sirixctl_flag create_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "begin at this branch instead of main"},
    [FLAG_TTL] = {"ttl", "SECONDS", "it ends after so long (default: never)"},
};

static const struct sirixctl_flag promote_flags[] = {
    [FLAG_TARGET] = {"target", "NAME", "the branch that moves, instead of main"},
    [FLAG_REPLACE] = {"replace", NULL, "also if that leaves revisions of the target behind"},
    [FLAG_EXPECTED_REVISION] = {"expected-revision", "N", "refuse unless the target is at N"},
};

static void json_branch(struct sirixctl_json *json, const char *member,
                        const struct sirix_branch_info *branch)
{
    sirixctl_json_str(json, member, branch->name);
    sirixctl_json_u64(json, "revision", branch->revision);
    sirixctl_json_time(json, "timestamp", branch->timestamp_us);
    sirixctl_json_u64(json, "baseRevision", branch->base_revision);
    sirixctl_json_time(json, "createdAt", branch->created_at_us);
    sirixctl_json_time(json, "expiresAt", branch->expires_at_us);
}

static void print_branch(struct sirixctl_out *out, const struct sirix_branch_info *branch)
{
    sirixctl_out_str(out, branch->name);
    sirixctl_out_printf(out, "  revision %" PRIu64 "  base %" PRIu64, branch->revision,
                        branch->base_revision);
    if (branch->expires_at_us != 0) {
        sirixctl_out_printf(out, "  until ");
        sirixctl_out_time(out, branch->expires_at_us);
    }
    sirixctl_out_printf(out, "\n");
}

static enum sirix_status run_create(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_create_branch_request request = {.name = ctl->args.operands[1]};
    struct sirix_create_branch_result *result = NULL;
    const char *ttl = ctl->args.own[FLAG_TTL];
    struct sirixctl_name name;
    struct sirixctl_json json;
    uint64_t ttl_s = 0;
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_check_operand(ctl, 1, SIRIX_NAME_BRANCH, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(ttl, "--ttl", TTL_MAX_S, &ttl_s, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, &name, ctl->args.own[FLAG_BRANCH], &request.view, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        if (ttl != NULL) {
            request.expires_at_us =
                (uint64_t)sirix_clock_realtime_us(sirix_clock_system()) + ttl_s * 1000000;
        }
        status = sirix_client_create_branch(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK && ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        json_branch(&json, "branch", &result->branch);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, &ctl->out, err);
    } else if (status == SIRIX_OK && !ctl->quiet) {
        print_branch(&ctl->out, &result->branch);
    }
    sirix_client_free(result);
    return status;
}

static enum sirix_status fetch_branches(struct sirixctl *ctl, void *context,
                                        const struct sirix_page *page,
                                        struct sirixctl_page *out_page, struct sirix_error *err)
{
    const struct sirixctl_name *name = context;
    struct sirix_branch_list *list = NULL;
    enum sirix_status status = sirix_client_list_branches(
        ctl->client, name->database, name->resource, page, &ctl->call, &list, err);

    if (status == SIRIX_OK) {
        *out_page = (struct sirixctl_page){list, list->items, list->count, list->next_cursor};
    }
    return status;
}

static void show_json(struct sirixctl_json *json, const void *items, size_t index)
{
    sirixctl_json_object(json, NULL);
    json_branch(json, "name", (const struct sirix_branch_info *)items + index);
    sirixctl_json_object_end(json);
}

static void show_words(struct sirixctl_out *out, const void *items, size_t index)
{
    print_branch(out, (const struct sirix_branch_info *)items + index);
}

static enum sirix_status run_list(struct sirixctl *ctl, struct sirix_error *err)
{
    static const struct sirixctl_list_kind branches = {fetch_branches, show_json, show_words};

    return sirixctl_label_list(ctl, &branches, "branches", err);
}

static enum sirix_status run_delete(struct sirixctl *ctl, struct sirix_error *err)
{
    static const struct sirixctl_label_delete what = {SIRIX_NAME_BRANCH, "branch", "at revision",
                                                      sirix_client_delete_branch};

    return sirixctl_label_remove(ctl, &what, err);
}

static enum sirix_status answer_promoted(struct sirixctl *ctl,
                                         const struct sirix_promote_request *request,
                                         const struct sirix_promote_result *result,
                                         struct sirix_error *err)
{
    const char *target = request->target != NULL ? request->target : SIRIX_BRANCH_MAIN;
    struct sirixctl_json json;

    if (!ctl->json) {
        if (!ctl->quiet) {
            sirixctl_out_printf(&ctl->out, "%s is at revision %" PRIu64, target, result->revision);
            sirixctl_out_printf(&ctl->out, result->changed ? " (was %" PRIu64 ")\n" : " already\n",
                                result->previous_revision);
        }
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_str(&json, "branch", request->branch);
    sirixctl_json_str(&json, "target", target);
    sirixctl_json_u64(&json, "revision", result->revision);
    sirixctl_json_u64(&json, "previousRevision", result->previous_revision);
    sirixctl_json_bool(&json, "changed", result->changed);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status run_promote(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_promote_request request = {
        .branch = ctl->args.operands[1],
        .target = ctl->args.own[FLAG_TARGET],
        .replace = ctl->args.own[FLAG_REPLACE] != NULL,
    };
    struct sirix_promote_result result;
    struct sirixctl_name name;
    enum sirix_status status =
        sirixctl_expected_revision(ctl->args.own[FLAG_EXPECTED_REVISION], &request.write, err);

    if (status == SIRIX_OK) {
        status = sirixctl_check_branch(request.target, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_label_operands(ctl, SIRIX_NAME_BRANCH, &name, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_promote(ctl->client, &request, &ctl->call, &result, err);
    }
    return status != SIRIX_OK ? status : answer_promoted(ctl, &request, &result, err);
}

const struct sirixctl_command sirixctl_branch_create = {
    .name = "branch create",
    .operands = "DB/RESOURCE[@WHAT] NAME",
    .summary = "Begin a branch; nothing is copied",
    .answer =
        "{\"branch\",\"revision\",\"timestamp\",\"baseRevision\",\"createdAt\",\"expiresAt\"}",
    .flags = SIRIXCTL_FLAGS(create_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_create,
};

const struct sirixctl_command sirixctl_branch_list = {
    .name = "branch list",
    .operands = "DB/RESOURCE",
    .summary = "List the branches",
    .answer = "{\"branches\":[{\"name\",\"revision\",\"timestamp\",\"baseRevision\",\"createdAt\","
              "\"expiresAt\"}]}",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run_list,
};

const struct sirixctl_command sirixctl_branch_delete = {
    .name = "branch delete",
    .operands = "DB/RESOURCE NAME",
    .summary = "Remove a branch",
    .answer = "{\"branch\",\"revision\"}",
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_delete,
};

const struct sirixctl_command sirixctl_branch_promote = {
    .name = "branch promote",
    .operands = "DB/RESOURCE NAME",
    .summary = "Move main (or --target) to the head of a branch",
    .answer = "{\"branch\",\"target\",\"revision\",\"previousRevision\",\"changed\"}",
    .flags = SIRIXCTL_FLAGS(promote_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_promote,
};
