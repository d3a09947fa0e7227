/*
 * sirixctl watch DB | DB/RESOURCE
 *
 * A line a revision, written out at once, until Ctrl-C. A watch of one resource that the server ends,
 * because it ends itself or has read its principals again, is begun again behind the last revision.
 */
#include <inttypes.h>

#include "cli/commands/commands.h"
#include "cli/revision.h"

enum own_flag { FLAG_FROM, FLAG_COUNT };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_FROM] = {"from", "REVISION",
                   "of a resource: from this revision on, not from the next one"},
    [FLAG_COUNT] = {"count", "N", "end after so many"},
};

static enum sirix_status show(struct sirixctl *ctl, const struct sirix_watch_event *event,
                              struct sirix_error *err)
{
    struct sirixctl_out *out = &ctl->out;
    struct sirixctl_json json;
    enum sirix_status status = SIRIX_OK;

    if (ctl->json) {
        sirixctl_json_init(&json);
        sirixctl_json_object(&json, NULL);
        sirixctl_json_str(&json, "resource", event->resource);
        if (event->dropped) {
            sirixctl_json_bool(&json, "dropped", true);
        } else {
            sirixctl_json_revision(&json, &event->revision);
        }
        sirixctl_json_u64(&json, "behind", event->behind);
        sirixctl_json_object_end(&json);
        status = sirixctl_json_finish(&json, out, err);
    } else {
        sirixctl_out_str(out, event->resource);
        sirixctl_out_printf(out, "  ");
        if (event->dropped) {
            sirixctl_out_printf(out, "dropped");
        } else {
            sirixctl_out_revision(out, &event->revision);
        }
        sirixctl_out_printf(out, "\n");
    }
    (void)fflush(out->file); /* A failure stays with the file and is told at the end. */
    return status;
}

/* Until it ends or count is 0. *out_began: the server watched, whatever came then. */
static enum sirix_status follow(struct sirixctl *ctl, struct sirix_watch_request *request,
                                uint64_t *count, bool *out_began, struct sirix_error *err)
{
    struct sirix_watch_stream *stream = NULL;
    struct sirix_watch_event event;

    enum sirix_status status = sirix_client_watch(ctl->client, request, &ctl->call, &stream, err);
    *out_began = status == SIRIX_OK;
    if (status == SIRIX_OK && request->resource != NULL) {
        request->has_from_revision = true;
        request->from_revision = sirix_watch_stream_next_revision(stream);
    }
    while (status == SIRIX_OK && *count != 0) {
        status = sirix_watch_stream_next(stream, &event, err);
        if (status == SIRIX_OK) {
            status = show(ctl, &event, err);
            request->from_revision = event.revision.revision + 1;
            --*count;
        }
    }
    sirix_watch_stream_close(stream);
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *from = ctl->args.own[FLAG_FROM];
    struct sirix_watch_request request = {.has_from_revision = from != NULL};
    struct sirixctl_name name;
    uint64_t count = UINT64_MAX;
    bool began = false;
    enum sirix_status status = sirixctl_name_parse(ctl->args.operands[0], &name, err);

    if (status == SIRIX_OK && name.at != SIRIXCTL_AT_NOTHING) {
        status = sirixctl_usage(err, "all branches are watched; leave @%s out", name.what);
    }
    if (status == SIRIX_OK && from != NULL && name.resource[0] == '\0') {
        status = sirixctl_usage(err, "--from is of one resource: DB/RESOURCE");
    }
    if (status == SIRIX_OK) {
        status =
            sirixctl_parse_optional(from, "--from", UINT64_MAX - 1, &request.from_revision, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(ctl->args.own[FLAG_COUNT], "--count", UINT64_MAX - 1,
                                         &count, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    request.database = name.database;
    request.resource = name.resource[0] == '\0' ? NULL : name.resource;
    if (status != SIRIX_OK) {
        return status;
    }
    do {
        status = follow(ctl, &request, &count, &began, err);
    } while (status == SIRIX_UNAVAILABLE && began && request.resource != NULL);
    return status;
}

const struct sirixctl_command sirixctl_watch = {
    .name = "watch",
    .operands = "DB | DB/RESOURCE",
    .summary = "Show revisions as they are made, on all branches",
    .details =
        "A line each, until Ctrl-C, --count or --timeout. Of a database also what is created and\n"
        "dropped. `behind` is how many newer revisions the resource had by then.",
    .answer = "a line each: {\"resource\",\"revision\",\"parentRevision\",\"branch\",\"timestamp\","
              "\"author\",\n"
              "\"onBehalfOf\",\"message\",\"revertedTo\"?,\"nodeCount\",\"behind\"}\n"
              "or {\"resource\",\"dropped\":true,\"behind\"}",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
