/*
 * sirixctl verify DB | DB/RESOURCE
 *
 * Ends with the exit code of corrupt when there are problems.
 */
#include <inttypes.h>

#include "cli/commands/commands.h"
#include "cli/progress.h"

static void show_problem(struct sirixctl *ctl, const struct sirix_verify_part *part,
                         struct sirixctl_json *json)
{
    if (ctl->json) {
        sirixctl_json_object(json, NULL);
        sirixctl_json_text(json, "resource", part->resource);
        if (part->revision != 0) {
            sirixctl_json_u64(json, "revision", part->revision);
        }
        sirixctl_json_text(json, "reason", part->reason);
        sirixctl_json_text(json, "message", part->message);
        sirixctl_json_object_end(json);
        return;
    }
    sirixctl_out_colour(&ctl->out, SIRIXCTL_COLOUR_RED);
    sirixctl_out_text(&ctl->out, part->reason);
    sirixctl_out_colour(&ctl->out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_printf(&ctl->out, "  ");
    sirixctl_out_text(&ctl->out, part->resource);
    if (part->revision != 0) {
        sirixctl_out_printf(&ctl->out, " revision %" PRIu64, part->revision);
    }
    sirixctl_out_printf(&ctl->out, "  ");
    sirixctl_out_text(&ctl->out, part->message);
    sirixctl_out_printf(&ctl->out, "\n");
}

static void show_end(struct sirixctl *ctl, const struct sirix_verify_part *end,
                     struct sirixctl_json *json)
{
    char size[16];

    sirixctl_json_u64(json, "resources", end->resources);
    sirixctl_json_u64(json, "revisions", end->revisions);
    sirixctl_json_u64(json, "segments", end->segments);
    sirixctl_json_u64(json, "bytes", end->bytes);
    sirixctl_json_u64(json, "problemCount", end->problems);
    if (!ctl->json && (!ctl->quiet || end->problems != 0)) {
        sirixctl_format_bytes(end->bytes, size);
        sirixctl_out_count(&ctl->out, end->resources, "resource");
        sirixctl_out_printf(&ctl->out, ", ");
        sirixctl_out_count(&ctl->out, end->revisions, "revision");
        sirixctl_out_printf(&ctl->out, ", %s: ", size);
        sirixctl_out_count(&ctl->out, end->problems, "problem");
        sirixctl_out_printf(&ctl->out, "\n");
    }
}

static enum sirix_status follow(struct sirixctl *ctl, struct sirix_verify_stream *stream,
                                struct sirixctl_json *json, uint64_t *out_problems,
                                struct sirix_error *err)
{
    struct sirix_verify_part part = {.kind = SIRIX_VERIFY_PART_PROGRESS};
    struct sirixctl_progress progress;
    enum sirix_status status = SIRIX_OK;

    sirixctl_progress_start(&progress, "verify", 0, !ctl->quiet && !ctl->json);
    sirixctl_json_array(json, "problems");
    while (status == SIRIX_OK && part.kind != SIRIX_VERIFY_PART_END) {
        status = sirix_verify_stream_next(stream, &part, err);
        if (status == SIRIX_OK && part.kind == SIRIX_VERIFY_PART_PROBLEM) {
            show_problem(ctl, &part, json);
        } else if (status == SIRIX_OK && part.bytes > progress.done_bytes) {
            sirixctl_progress_add(&progress, part.bytes - progress.done_bytes);
        }
    }
    sirixctl_progress_stop(&progress);
    sirixctl_json_array_end(json);
    if (status == SIRIX_OK) {
        show_end(ctl, &part, json);
        *out_problems = part.problems;
    }
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_verify_stream *stream = NULL;
    struct sirixctl_name name;
    struct sirixctl_json json;
    uint64_t problems = 0;
    enum sirix_status status = sirixctl_name_parse(ctl->args.operands[0], &name, err);

    if (status == SIRIX_OK && name.at != SIRIXCTL_AT_NOTHING) {
        status = sirixctl_usage(err, "every revision is checked; leave @%s out", name.what);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_client_verify(ctl->client, name.database, name.resource, &ctl->call, &stream,
                                     err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    status = follow(ctl, stream, &json, &problems, err);
    sirix_verify_stream_close(stream);
    sirixctl_json_object_end(&json);
    status = sirixctl_json_end(&json, ctl->json ? &ctl->out : NULL, status, err);
    if (status == SIRIX_OK && problems != 0) {
        status = sirix_fail(err, SIRIX_CORRUPT, "the check found problems: %" PRIu64, problems);
    }
    return status;
}

const struct sirixctl_command sirixctl_verify = {
    .name = "verify",
    .operands = "DB | DB/RESOURCE",
    .summary = "Check every stored byte against its checksums and chains",
    .answer = "{\"problems\":[{\"resource\",\"revision\"?,\"reason\",\"message\"}],\"resources\","
              "\"revisions\",\n"
              "\"segments\",\"bytes\",\"problemCount\"}",
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
