/* A revision in words and as members of an object. */
#include "cli/revision.h"

#include <inttypes.h>

void sirixctl_json_revision(struct sirixctl_json *json, const struct sirix_revision_info *info)
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

void sirixctl_out_revision(struct sirixctl_out *out, const struct sirix_revision_info *info)
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
