/*
 * sirixctl apply DB/RESOURCE PATCH.json               an RFC 6902 patch as one revision
 * sirixctl apply DB/RESOURCE --to WHAT [--from WHAT]  what changed there, done again here
 */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/commands/commands.h"

enum own_flag {
    FLAG_TO = SIRIXCTL_WRITE_FLAG_COUNT,
    FLAG_FROM,
    FLAG_SINCE_PARTED,
    FLAG_DRY_RUN,
};

enum {
    PATCH_BYTES_MAX = 64 * 1024 * 1024, /* What the server takes. */
    PATCH_DEPTH_MAX = SIRIXCTL_JSON_DEPTH_MAX + 2,
};

static const struct sirixctl_flag own_flags[] = {
    SIRIXCTL_WRITE_FLAGS,
    [FLAG_TO] = {"to", "WHAT", "instead of a patch: what changed up to this revision"},
    [FLAG_FROM] = {"from", "WHAT", "with --to: since this revision (default: its parent)"},
    [FLAG_SINCE_PARTED] = {"since-parted", NULL,
                           "with --to: since it and the branch (or --from) parted"},
    [FLAG_DRY_RUN] = {"dry-run", NULL, "check it against the head and change nothing"},
};

/* --- Words and JSON --------------------------------------------------------------------------- */

static void json_keys(struct sirixctl_json *json, const struct sirix_apply_result *result)
{
    sirixctl_json_array(json, "keys");
    for (size_t i = 0; i < result->key_count; i++) {
        sirixctl_json_object(json, NULL);
        sirixctl_json_u64(json, "sourceKey", result->keys[i].source_key);
        sirixctl_json_u64(json, "nodeKey", result->keys[i].node_key);
        sirixctl_json_object_end(json);
    }
    sirixctl_json_array_end(json);
}

static void print_dry_run(struct sirixctl *ctl, const struct sirix_apply_request *request,
                          const struct sirix_apply_result *result)
{
    struct sirixctl_out *out = &ctl->out;

    sirixctl_out_printf(out, "revision %" PRIu64 " takes it: ", result->result.revision);
    if (request->source == SIRIX_APPLY_DIFF) {
        sirixctl_out_count(out, result->applied, "change");
        sirixctl_out_printf(out, " to do, %" PRIu64 " there already\n", result->already);
    } else {
        sirixctl_out_count(out, result->applied, "operation");
        sirixctl_out_printf(out, ", ");
        sirixctl_out_count(out, result->tests, "test");
        sirixctl_out_printf(out, " passed\n");
    }
}

static enum sirix_status answer(struct sirixctl *ctl, const struct sirix_apply_request *request,
                                const struct sirix_apply_result *result, struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!ctl->json && request->dry_run && !ctl->quiet) {
        print_dry_run(ctl, request, result);
        return SIRIX_OK;
    }
    if (!sirixctl_begin_write_answer(ctl, &result->result, &json)) {
        return SIRIX_OK;
    }
    sirixctl_json_bool(&json, "dryRun", request->dry_run);
    sirixctl_json_u64(&json, "applied", result->applied);
    if (request->source == SIRIX_APPLY_DIFF) {
        sirixctl_json_u64(&json, "already", result->already);
        json_keys(&json, result);
    } else {
        sirixctl_json_u64(&json, "tests", result->tests);
    }
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

/* --- The command line ------------------------------------------------------------------------- */

/* One patch or one diff. */
static enum sirix_status check_source(const struct sirixctl *ctl, struct sirix_error *err)
{
    bool has_patch = ctl->args.operand_count > 1;
    bool has_to = ctl->args.own[FLAG_TO] != NULL;

    bool has_since = ctl->args.own[FLAG_FROM] != NULL || ctl->args.own[FLAG_SINCE_PARTED] != NULL;

    if (has_patch && (has_to || has_since)) {
        return sirixctl_usage(err, "a patch, or --to with what changed up to it; not both");
    }
    if (has_since && !has_to) {
        return sirixctl_usage(err, "--to is missing: up to which revision?");
    }
    if (!has_patch && !has_to) {
        return sirixctl_usage(err, "what shall be applied? PATCH.json, or --to WHAT");
    }
    return SIRIX_OK;
}

/* A revision of the resource by what else stands behind an @. */
static enum sirix_status parse_end(const char *what, const struct sirixctl_name *resource,
                                   const char *flag, struct sirixctl_name *out_name,
                                   struct sirix_error *err)
{
    *out_name = *resource;
    enum sirix_status status = sirixctl_name_parse_at(what, out_name, err);
    if (status != SIRIX_OK) {
        sirix_error_set_field(err, flag);
    }
    return status;
}

static enum sirix_status find_ends(struct sirixctl *ctl, const struct sirixctl_name *resource,
                                   struct sirix_apply_request *request, struct sirix_error *err)
{
    const char *since = ctl->args.own[FLAG_FROM];
    struct sirixctl_name from;
    struct sirixctl_name to;
    enum sirix_status status = parse_end(ctl->args.own[FLAG_TO], resource, "--to", &to, err);

    request->source = SIRIX_APPLY_DIFF;
    request->has_diff_from = since != NULL;
    request->diff_since_parted = ctl->args.own[FLAG_SINCE_PARTED] != NULL;
    if (status == SIRIX_OK && since != NULL) {
        status = parse_end(since, resource, "--from", &from, err);
    }
    if (status == SIRIX_OK) {
        /* A time is one of main: --branch names where the new revision goes. */
        status = sirixctl_view(ctl, &to, NULL, &request->diff_to, err);
    }
    if (status == SIRIX_OK && since != NULL) {
        status = sirixctl_view(ctl, &from, NULL, &request->diff_from, err);
    }
    return status;
}

/* *out_text is the caller's to free(). */
static enum sirix_status read_patch(struct sirixctl *ctl, struct sirix_apply_request *request,
                                    char **out_text, struct sirix_error *err)
{
    size_t len = 0;
    enum sirix_status status =
        sirixctl_read_file(ctl->args.operands[1], PATCH_BYTES_MAX, out_text, &len, err);

    if (status == SIRIX_OK) {
        request->source = SIRIX_APPLY_JSON_PATCH;
        request->json_patch = (struct sirix_bytes){.data = *out_text, .len = len};
        status = sirixctl_check_json(request->json_patch, PATCH_DEPTH_MAX, err);
    }
    return status == SIRIX_OK ? sirixctl_connect(ctl, err) : status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_apply_request request = {
        .branch = ctl->args.own[SIRIXCTL_BRANCH],
        .dry_run = ctl->args.own[FLAG_DRY_RUN] != NULL,
    };
    struct sirix_apply_result *result = NULL;
    struct sirixctl_name name;
    char *text = NULL;
    enum sirix_status status = sirixctl_write_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = check_source(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_write_options(ctl, &request.write, err);
    }
    if (status == SIRIX_OK) {
        status = ctl->args.operand_count > 1 ? read_patch(ctl, &request, &text, err)
                                             : find_ends(ctl, &name, &request, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_apply(ctl->client, &request, &ctl->call, &result, err);
    }
    if (status == SIRIX_OK) {
        status = answer(ctl, &request, result, err);
    }
    sirix_client_free(result);
    free(text);
    return status;
}

const struct sirixctl_command sirixctl_apply = {
    .name = "apply",
    .operands = "DB/RESOURCE [PATCH.json]",
    .summary = "Apply an RFC 6902 patch, or the changes of another branch, as one revision",
    .details =
        "`-` is stdin. With --to (a revision, time, snapshot or branch): what changed since its\n"
        "parent, --from or --since-parted is done again on main or --branch. A node that is\n"
        "otherwise there is named, and then nothing happens.",
    .answer = "{\"revision\",\"parentRevision\",\"timestamp\",\"changed\",\"replayed\",\"dryRun\","
              "\"applied\",\n"
              "\"tests\"}\n"
              "with --to, instead of tests: \"already\",\"keys\":[{\"sourceKey\",\"nodeKey\"}]",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run,
};
