/*
 * sirixctl diff DB/RESOURCE[@TO]
 * sirixctl diff DB/RESOURCE[@FROM] DB/RESOURCE[@TO]    what leads from the first to the second;
 *                                                      the second may be written as @TO
 */
#include <inttypes.h>
#include <string.h>

#include "cli/commands/commands.h"

enum own_flag {
    FLAG_BRANCH,
    FLAG_SINCE_PARTED,
    FLAG_JSON_PATCH,
    FLAG_MAX_OPERATIONS,
    FLAG_STAT,
    FLAG_MAX,
};

/* Of a patch: all that the daemon gives. Whoever asked for it here wants it whole. */
enum { PATCH_OPERATIONS_MAX = 1000 * 1000 };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "for ends without @: of this branch instead of main"},
    [FLAG_SINCE_PARTED] = {"since-parted", NULL,
                           "from the newest revision that both ends come from"},
    [FLAG_JSON_PATCH] = {"json-patch", NULL, "as an RFC 6902 patch"},
    [FLAG_MAX_OPERATIONS] = {"max-operations", "N",
                             "with --json-patch: refuse more than N (default: 1000000, the most)"},
    [FLAG_STAT] = {"stat", NULL, "counts only"},
    [FLAG_MAX] = {"max", "N", "changes to show (default: all)"},
};

/* --- JSON ------------------------------------------------------------------------------------- */

static void json_change(struct sirixctl_json *json, const struct sirix_change *change)
{
    sirixctl_json_object(json, NULL);
    sirixctl_json_str(json, "type", sirix_change_kind_name(change->kind));
    sirixctl_json_u64(json, "nodeKey", change->node_key);
    sirixctl_json_text(json, "path", change->path);
    /* A value that was cut is no JSON value any more, so it is told as text. */
    if (change->old_value.len != 0 && change->old_cut) {
        sirixctl_json_text(json, "oldText", change->old_value);
    } else if (change->old_value.len != 0) {
        sirixctl_json_raw(json, "oldValue", change->old_value);
    }
    if (change->new_value.len != 0 && change->new_cut) {
        sirixctl_json_text(json, "newText", change->new_value);
    } else if (change->new_value.len != 0) {
        sirixctl_json_raw(json, "newValue", change->new_value);
    }
    if (change->has_old_name && change->kind == SIRIX_CHANGE_KIND_RENAME) {
        sirixctl_json_text(json, "oldName", change->old_name);
    }
    if (change->has_new_name && change->kind == SIRIX_CHANGE_KIND_RENAME) {
        sirixctl_json_text(json, "newName", change->new_name);
    }
    if (change->has_old_index) {
        sirixctl_json_u64(json, "oldIndex", change->old_index);
    }
    if (change->has_new_index) {
        sirixctl_json_u64(json, "newIndex", change->new_index);
    }
    if (change->equal_value) {
        sirixctl_json_bool(json, "equalValue", true);
    }
    sirixctl_json_object_end(json);
}

/* Whether changes that were to be shown are missing; who asked for counts alone misses none. */
static bool lacks_changes(const struct sirixctl *ctl, const struct sirix_diff_counts *counts)
{
    return counts->truncated && ctl->args.own[FLAG_STAT] == NULL;
}

static void json_counts(struct sirixctl_json *json, const struct sirix_diff_counts *counts)
{
    sirixctl_json_object(json, "counts");
    sirixctl_json_u64(json, "inserts", counts->inserts);
    sirixctl_json_u64(json, "deletes", counts->deletes);
    sirixctl_json_u64(json, "updates", counts->updates);
    sirixctl_json_u64(json, "replaces", counts->replaces);
    sirixctl_json_u64(json, "renames", counts->renames);
    sirixctl_json_u64(json, "moves", counts->moves);
    sirixctl_json_object_end(json);
}

/* --- Words ------------------------------------------------------------------------------------ */

static void print_value(struct sirixctl_out *out, char sign, enum sirixctl_colour colour,
                        struct sirix_bytes value, bool cut)
{
    if (value.len == 0) {
        return;
    }
    sirixctl_out_colour(out, colour);
    sirixctl_out_printf(out, "    %c ", sign);
    sirixctl_out_text(out, value);
    sirixctl_out_printf(out, "%s", cut ? " ..." : "");
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_printf(out, "\n");
}

static void print_change(struct sirixctl_out *out, const struct sirix_change *change)
{
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_BOLD);
    sirixctl_out_printf(out, "%s ", sirix_change_kind_name(change->kind));
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_CYAN);
    sirixctl_out_text(out, change->path);
    sirixctl_out_printf(out, "%s", change->path.len == 0 ? "the value" : "");
    sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
    sirixctl_out_printf(out, " (%" PRIu64 ")", change->node_key);
    if (change->kind == SIRIX_CHANGE_KIND_RENAME) {
        sirixctl_out_printf(out, " was ");
        sirixctl_out_text(out, change->old_name);
    }
    if (change->kind == SIRIX_CHANGE_KIND_MOVE && change->has_old_index && change->has_new_index) {
        sirixctl_out_printf(out, " from %" PRIu64 " to %" PRIu64, change->old_index,
                            change->new_index);
    }
    sirixctl_out_printf(out, "%s\n", change->equal_value ? " (the same value)" : "");
    print_value(out, '-', SIRIXCTL_COLOUR_RED, change->old_value, change->old_cut);
    print_value(out, '+', SIRIXCTL_COLOUR_GREEN, change->new_value, change->new_cut);
}

static void print_counts(struct sirixctl_out *out, const struct sirix_diff_ends *ends,
                         const struct sirix_diff_counts *counts, bool truncated)
{
    sirixctl_out_printf(
        out,
        "%" PRIu64 " -> %" PRIu64 ": %" PRIu64 " inserted, %" PRIu64 " deleted, %" PRIu64
        " updated, %" PRIu64 " replaced, %" PRIu64 " renamed, %" PRIu64 " moved%s\n",
        ends->from_revision, ends->to_revision, counts->inserts, counts->deletes, counts->updates,
        counts->replaces, counts->renames, counts->moves, truncated ? " (not all shown)" : "");
}

/* --- The stream ------------------------------------------------------------------------------- */

static void show_changes(struct sirixctl *ctl, const struct sirix_diff_part *part,
                         struct sirixctl_json *json)
{
    for (size_t i = 0; i < part->change_count; i++) {
        if (ctl->args.own[FLAG_STAT] != NULL) {
            continue;
        }
        if (ctl->json) {
            json_change(json, &part->changes[i]);
        } else {
            print_change(&ctl->out, &part->changes[i]);
        }
    }
}

static enum sirix_status show(struct sirixctl *ctl, struct sirix_diff_stream *stream,
                              struct sirix_error *err)
{
    struct sirix_diff_ends ends = sirix_diff_stream_ends(stream);
    struct sirix_diff_part part = {.kind = SIRIX_DIFF_PART_CHANGES};
    bool patch = ctl->args.own[FLAG_JSON_PATCH] != NULL;
    bool with_changes = ctl->args.own[FLAG_STAT] == NULL;
    struct sirixctl_json json;
    enum sirix_status status = SIRIX_OK;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_u64(&json, "fromRevision", ends.from_revision);
    sirixctl_json_u64(&json, "toRevision", ends.to_revision);
    if (with_changes) {
        sirixctl_json_array(&json, "changes");
    }
    while (status == SIRIX_OK && part.kind != SIRIX_DIFF_PART_END) {
        status = sirix_diff_stream_next(stream, &part, err);
        if (status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_CHANGES) {
            show_changes(ctl, &part, &json);
        } else if (status == SIRIX_OK && part.kind == SIRIX_DIFF_PART_JSON_PATCH) {
            sirixctl_out_json(&ctl->out, part.json_patch);
        }
    }
    if (with_changes) {
        sirixctl_json_array_end(&json);
    }
    json_counts(&json, &part.counts);
    sirixctl_json_bool(&json, "truncated", lacks_changes(ctl, &part.counts));
    sirixctl_json_object_end(&json);
    if (status == SIRIX_OK && patch) {
        sirixctl_out_printf(&ctl->out, "\n");
    } else if (status == SIRIX_OK && !ctl->json) {
        print_counts(&ctl->out, &ends, &part.counts, lacks_changes(ctl, &part.counts));
    }
    return sirixctl_json_end(&json, ctl->json && !patch ? &ctl->out : NULL, status, err);
}

/* The second end: @WHAT, or in full, which then has to name the same resource. */
static enum sirix_status read_second(const struct sirixctl *ctl, const struct sirixctl_name *first,
                                     struct sirixctl_name *out_second, struct sirix_error *err)
{
    const char *text = ctl->args.operands[1];
    struct sirixctl_name second = *first;

    second.at = SIRIXCTL_AT_NOTHING;
    if (text[0] == '@') {
        *out_second = second;
        return sirixctl_name_parse_at(text + 1, out_second, err);
    }
    enum sirix_status status = sirixctl_resource_operand(ctl, 1, &second, err);
    if (status == SIRIX_OK && (strcmp(first->database, second.database) != 0 ||
                               strcmp(first->resource, second.resource) != 0)) {
        status = sirixctl_usage(err,
                                "a diff is between two revisions of one resource, not between "
                                "%s/%s and %s/%s",
                                first->database, first->resource, second.database, second.resource);
    }
    if (status == SIRIX_OK) {
        *out_second = second;
    }
    return status;
}

/* --branch, for an end that names nothing itself or a time. */
static const char *branch_of(const struct sirixctl *ctl, const struct sirixctl_name *end)
{
    bool bare = end->at == SIRIXCTL_AT_NOTHING || end->at == SIRIXCTL_AT_TIMESTAMP;

    return bare || ctl->args.operand_count == 1 ? ctl->args.own[FLAG_BRANCH] : NULL;
}

/* One operand names `to`, two name both. */
static enum sirix_status read_ends(struct sirixctl *ctl, struct sirixctl_name *first,
                                   struct sirixctl_name *second, struct sirix_diff_request *request,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, first, err);

    request->has_from = ctl->args.operand_count == 2;
    *second = *first;
    if (status == SIRIX_OK && request->has_from) {
        status = read_second(ctl, first, second, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, second, branch_of(ctl, second), &request->to, err);
    }
    if (status == SIRIX_OK && request->has_from) {
        status = sirixctl_view(ctl, first, branch_of(ctl, first), &request->from, err);
    }
    return status;
}

/* How much of it is wanted. */
static enum sirix_status read_limits(const struct sirixctl *ctl, struct sirix_diff_request *request,
                                     struct sirix_error *err)
{
    const char *operations = ctl->args.own[FLAG_MAX_OPERATIONS];
    uint64_t max_operations = PATCH_OPERATIONS_MAX;

    if (request->json_patch && ctl->args.own[FLAG_STAT] != NULL) {
        return sirixctl_usage(err, "--json-patch and --stat exclude each other");
    }
    if (operations != NULL && !request->json_patch) {
        return sirixctl_usage(err, "--max-operations is of a patch: it needs --json-patch");
    }
    if (ctl->args.own[FLAG_STAT] != NULL) {
        request->max_changes = 1; /* The counts are of the whole diff all the same. */
    }
    enum sirix_status status = sirixctl_parse_optional(ctl->args.own[FLAG_MAX], "--max", UINT64_MAX,
                                                       &request->max_changes, err);
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(operations, "--max-operations", PATCH_OPERATIONS_MAX,
                                         &max_operations, err);
    }
    if (status == SIRIX_OK && max_operations == 0) {
        return sirixctl_usage(err, "--max-operations has to be at least 1");
    }
    if (status == SIRIX_OK && request->json_patch) {
        request->max_patch_operations = (uint32_t)max_operations;
    }
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_diff_request request = {
        .since_parted = ctl->args.own[FLAG_SINCE_PARTED] != NULL,
        .json_patch = ctl->args.own[FLAG_JSON_PATCH] != NULL,
    };
    struct sirix_diff_stream *stream = NULL;
    struct sirixctl_name first;
    struct sirixctl_name second;
    enum sirix_status status = read_limits(ctl, &request, err);

    if (status == SIRIX_OK) {
        status = read_ends(ctl, &first, &second, &request, err);
    }
    if (status == SIRIX_OK) {
        request.database = first.database;
        request.resource = first.resource;
        status = sirix_client_diff(ctl->client, &request, &ctl->call, &stream, err);
    }
    if (status == SIRIX_OK) {
        status = show(ctl, stream, err);
    }
    sirix_diff_stream_close(stream);
    return status;
}

const struct sirixctl_command sirixctl_diff = {
    .name = "diff",
    .operands = "DB/RESOURCE[@TO] | DB/RESOURCE[@FROM] [DB/RESOURCE][@TO]",
    .summary = "Show what changed between two revisions",
    .details =
        "With one end: what that revision changed in its parent. The second end is of the same\n"
        "resource, which need not be written again: diff shop/users@3 @main.",
    .answer = "{\"fromRevision\",\"toRevision\",\"changes\":[{\"type\",\"nodeKey\",\"path\","
              "\"oldValue\"|\"oldText\"?,\n"
              "\"newValue\"|\"newText\"?,\"oldName\"?,\"newName\"?,\"oldIndex\"?,\"newIndex\"?,"
              "\"equalValue\"?}],\n"
              "\"counts\":{\"inserts\",\"deletes\",\"updates\",\"replaces\",\"renames\",\"moves\"},"
              "\"truncated\"}\n"
              "with --stat: no \"changes\"; with --json-patch: the RFC 6902 array alone",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
