/* sirixctl revert DB/RESOURCE@WHAT */
#include "cli/commands/commands.h"

static const struct sirixctl_flag own_flags[] = {SIRIXCTL_WRITE_FLAGS};

static enum sirix_status answer(struct sirixctl *ctl, const struct sirix_revert_result *result,
                                struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!sirixctl_begin_write_answer(ctl, &result->result, &json)) {
        return SIRIX_OK;
    }
    sirixctl_json_u64(&json, "revertedTo", result->reverted_to);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_revert_request request = {.branch = ctl->args.own[SIRIXCTL_BRANCH]};
    struct sirix_revert_result result;
    struct sirixctl_name name;
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK && name.at == SIRIXCTL_AT_NOTHING) {
        status = sirixctl_usage(err, "what shall come back? DB/RESOURCE@WHAT");
    }
    if (status == SIRIX_OK) {
        status = sirixctl_write_options(ctl, &request.write, err);
    }
    if (status == SIRIX_OK) {
        /* A time is one of main: --branch names where the new revision goes. */
        status = sirixctl_view(ctl, &name, NULL, &request.view, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_revert(ctl->client, &request, &ctl->call, &result, err);
    }
    return status != SIRIX_OK ? status : answer(ctl, &result, err);
}

const struct sirixctl_command sirixctl_revert = {
    .name = "revert",
    .operands = "DB/RESOURCE@WHAT",
    .summary = "Make a new revision with the content of an old one",
    .answer =
        "{\"revision\",\"parentRevision\",\"timestamp\",\"changed\",\"replayed\",\"revertedTo\"}",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run,
};
