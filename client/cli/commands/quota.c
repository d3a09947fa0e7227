/*
 * sirixctl quota DB | --principal NAME
 *
 * Shows the limits, or sets those that are given and leaves the others.
 */
#include <inttypes.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_PRINCIPAL, FLAG_BYTES, FLAG_SNAPSHOTS, FLAG_BRANCHES, FLAG_CALLS };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_PRINCIPAL] = {"principal", "NAME", "of a principal: its calls at a time"},
    [FLAG_BYTES] = {"bytes", "N", "of the database's files; 0: no limit, here and below"},
    [FLAG_SNAPSHOTS] = {"snapshots", "N", "of one resource"},
    [FLAG_BRANCHES] = {"branches", "N", "of one resource, main included"},
    [FLAG_CALLS] = {"calls", "N", "at a time"},
};

/* Takes over what is given; *out_given: anything is. */
static enum sirix_status take_limits(const struct sirixctl *ctl, struct sirix_quota *quota,
                                     bool *out_given, struct sirix_error *err)
{
    uint64_t *const limits[] = {
        [FLAG_BYTES] = &quota->bytes,
        [FLAG_SNAPSHOTS] = &quota->snapshots,
        [FLAG_BRANCHES] = &quota->branches,
        [FLAG_CALLS] = &quota->calls,
    };
    enum sirix_status status = SIRIX_OK;

    *out_given = false;
    for (enum own_flag flag = FLAG_BYTES; status == SIRIX_OK && flag <= FLAG_CALLS; flag++) {
        *out_given = *out_given || ctl->args.own[flag] != NULL;
        status = sirixctl_parse_optional(ctl->args.own[flag], own_flags[flag].name, UINT64_MAX,
                                         limits[flag], err);
    }
    return status;
}

static void print_limit(struct sirixctl_out *out, const char *name, uint64_t limit)
{
    if (limit == 0) {
        sirixctl_out_printf(out, "%-10s no limit\n", name);
    } else {
        sirixctl_out_printf(out, "%-10s %" PRIu64 "\n", name, limit);
    }
}

static enum sirix_status answer(struct sirixctl *ctl, const struct sirix_quota *quota,
                                struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!ctl->json) {
        if (ctl->args.own[FLAG_PRINCIPAL] == NULL) {
            print_limit(&ctl->out, "bytes", quota->bytes);
            print_limit(&ctl->out, "snapshots", quota->snapshots);
            print_limit(&ctl->out, "branches", quota->branches);
        }
        print_limit(&ctl->out, "calls", quota->calls);
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_u64(&json, "bytes", quota->bytes);
    sirixctl_json_u64(&json, "snapshots", quota->snapshots);
    sirixctl_json_u64(&json, "branches", quota->branches);
    sirixctl_json_u64(&json, "calls", quota->calls);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *principal = ctl->args.own[FLAG_PRINCIPAL];
    const char *database = ctl->args.operand_count == 0 ? NULL : ctl->args.operands[0];
    struct sirix_quota checked = {0};
    struct sirix_quota quota = {0};
    bool given = false;
    enum sirix_status status = SIRIX_OK;

    if ((principal != NULL) == (database != NULL)) {
        return sirixctl_usage(err, "of what? give a database, or --principal NAME");
    }
    status = take_limits(ctl, &checked, &given, err);
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_client_set_quota(ctl->client, database, principal, NULL, &ctl->call, &quota, err);
    }
    if (status == SIRIX_OK && given) {
        status = take_limits(ctl, &quota, &given, err);
        checked = quota;
        if (status == SIRIX_OK) {
            status = sirix_client_set_quota(ctl->client, database, principal, &checked, &ctl->call,
                                            &quota, err);
        }
    }
    return status == SIRIX_OK ? answer(ctl, &quota, err) : status;
}

const struct sirixctl_command sirixctl_quota = {
    .name = "quota",
    .operands = "DB | --principal NAME",
    .summary = "Show what a database may take or a principal may do at a time, or limit it",
    .details =
        "Limits that are not given stay as they are. What gives space back is never refused.",
    .answer = "{\"bytes\",\"snapshots\",\"branches\",\"calls\"}; 0: no limit",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 0,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run,
};
