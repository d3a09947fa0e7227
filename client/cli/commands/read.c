/* sirixctl read DB/RESOURCE[@WHAT] [NODE] */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_BRANCH, FLAG_DEPTH, FLAG_CHILDREN, FLAG_OFFSET, FLAG_CURSOR };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "of this branch instead of main"},
    [FLAG_DEPTH] = {"depth", "N", "levels below the node (default 3)"},
    [FLAG_CHILDREN] = {"children", "N", "children of a node (default 100)"},
    [FLAG_OFFSET] = {"offset", "N", "of a long string: bytes to skip"},
    [FLAG_CURSOR] = {"cursor", "HEX", "nextCursor of the answer before: more children"},
};

enum { DEPTH_MAX = 100, CHILDREN_MAX = 10000, CURSOR_BYTES_MAX = 512, INDENT = 2 };

static int hex_value(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum sirix_status read_cursor(const char *text, uint8_t bytes[CURSOR_BYTES_MAX],
                                     struct sirix_bytes *out_cursor, struct sirix_error *err)
{
    size_t len = 0;

    for (; text != NULL && text[0] != '\0'; text += 2) {
        int high = hex_value(text[0]);
        int low = high < 0 ? -1 : hex_value(text[1]);

        if (low < 0 || len == CURSOR_BYTES_MAX) {
            return sirixctl_usage(err, "--cursor wants the nextCursor of an answer");
        }
        bytes[len++] = (uint8_t)(high * 16 + low);
    }
    *out_cursor = (struct sirix_bytes){.data = bytes, .len = len};
    return SIRIX_OK;
}

/* A cursor as --cursor takes it; false where there is none. */
static bool format_cursor(struct sirix_bytes cursor, char out_hex[2 * CURSOR_BYTES_MAX + 1])
{
    const uint8_t *bytes = cursor.data;

    if (cursor.len == 0 || cursor.len > CURSOR_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < cursor.len; i++) {
        (void)snprintf(out_hex + 2 * i, 3, "%02x", bytes[i]);
    }
    return true;
}

static bool is_container(const struct sirix_node_info *node)
{
    return node->type == SIRIX_NODE_TYPE_OBJECT || node->type == SIRIX_NODE_TYPE_ARRAY;
}

static void json_node(struct sirixctl_json *json, const struct sirix_node_info *node)
{
    sirixctl_json_object(json, NULL);
    sirixctl_json_u64(json, "nodeKey", node->node_key);
    if (node->parent_index >= 0) {
        sirixctl_json_u64(json, "parent", (uint64_t)node->parent_index);
    } else {
        sirixctl_json_raw(json, "parent", (struct sirix_bytes){0});
    }
    if (node->has_name) {
        sirixctl_json_text(json, "name", node->name);
    } else if (node->has_index) {
        sirixctl_json_u64(json, "index", node->index);
    }
    sirixctl_json_str(json, "kind", sirix_node_type_name(node->type));
    if (is_container(node)) {
        sirixctl_json_u64(json, "childCount", node->child_count);
    } else {
        sirixctl_json_raw(json, "value", node->value);
    }
    sirixctl_json_bool(json, "cut", node->cut);
    sirixctl_json_object_end(json);
}

static enum sirix_status print_json(struct sirixctl *ctl, const struct sirix_node_page *page,
                                    struct sirix_error *err)
{
    char cursor[2 * CURSOR_BYTES_MAX + 1];
    struct sirixctl_json json;

    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_u64(&json, "revision", page->revision);
    sirixctl_json_time(&json, "timestamp", page->timestamp_us);
    sirixctl_json_text(&json, "path", page->path);
    sirixctl_json_bool(&json, "truncated", page->truncated);
    if (format_cursor(page->next_cursor, cursor)) {
        sirixctl_json_str(&json, "nextCursor", cursor);
    }
    if (page->has_next_offset) {
        sirixctl_json_u64(&json, "nextOffset", page->next_offset);
    }
    sirixctl_json_array(&json, "nodes");
    for (size_t i = 0; i < page->count; i++) {
        json_node(&json, &page->nodes[i]);
    }
    sirixctl_json_array_end(&json);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static void print_node(struct sirixctl *ctl, const struct sirix_node_info *node, unsigned level)
{
    struct sirixctl_out *out = &ctl->out;

    sirixctl_out_printf(out, "%*s", (int)(level * INDENT), "");
    if (node->has_name) {
        sirixctl_out_colour(out, SIRIXCTL_COLOUR_CYAN);
        sirixctl_out_text(out, node->name);
        sirixctl_out_colour(out, SIRIXCTL_COLOUR_NONE);
        sirixctl_out_printf(out, ": ");
    } else if (node->has_index) {
        sirixctl_out_printf(out, "[%" PRIu64 "] ", node->index);
    }
    if (is_container(node)) {
        sirixctl_out_printf(out, "%s of %" PRIu64, sirix_node_type_name(node->type),
                            node->child_count);
    } else {
        sirixctl_out_text(out, node->value);
    }
    sirixctl_out_printf(out, "%s  (%" PRIu64 ")\n", node->cut ? " ..." : "", node->node_key);
}

static enum sirix_status print_words(struct sirixctl *ctl, const struct sirix_node_page *page,
                                     struct sirix_error *err)
{
    char cursor[2 * CURSOR_BYTES_MAX + 1];
    unsigned *levels = calloc(page->count + 1, sizeof(*levels));

    if (levels == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the levels of %zu nodes", page->count);
    }
    for (size_t i = 0; i < page->count; i++) {
        const struct sirix_node_info *node = &page->nodes[i];

        levels[i] = node->parent_index >= 0 ? levels[node->parent_index] + 1 : 0;
        print_node(ctl, node, levels[i]);
    }
    if (page->count == 0) {
        sirixctl_out_printf(&ctl->out, "no value\n");
    }
    if (!ctl->quiet && format_cursor(page->next_cursor, cursor)) {
        sirixctl_out_printf(&ctl->out, "more: --cursor %s\n", cursor);
    }
    if (!ctl->quiet && page->has_next_offset) {
        sirixctl_out_printf(&ctl->out, "more: --offset %" PRIu64 "\n", page->next_offset);
    }
    free(levels);
    return SIRIX_OK;
}

static enum sirix_status read_flags(struct sirixctl *ctl, struct sirix_read_node_request *request,
                                    struct sirix_error *err)
{
    const char *const *flags = ctl->args.own;
    const char *node = ctl->args.operand_count > 1 ? ctl->args.operands[1] : NULL;
    uint64_t depth = 0;
    uint64_t children = 0;
    enum sirix_status status = sirixctl_target(node, &request->target, err);

    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(flags[FLAG_DEPTH], "--depth", DEPTH_MAX, &depth, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(flags[FLAG_CHILDREN], "--children", CHILDREN_MAX,
                                         &children, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(flags[FLAG_OFFSET], "--offset", UINT64_MAX,
                                         &request->value_offset, err);
    }
    request->has_max_depth = flags[FLAG_DEPTH] != NULL;
    request->max_depth = (uint32_t)depth;
    request->max_children = (uint32_t)children;
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    struct sirix_read_node_request request = {0};
    struct sirix_node_page *page = NULL;
    struct sirixctl_name name;
    uint8_t cursor[CURSOR_BYTES_MAX];
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = read_flags(ctl, &request, err);
    }
    if (status == SIRIX_OK) {
        status = read_cursor(ctl->args.own[FLAG_CURSOR], cursor, &request.cursor, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, &name, ctl->args.own[FLAG_BRANCH], &request.view, err);
    }
    if (status == SIRIX_OK) {
        request.database = name.database;
        request.resource = name.resource;
        status = sirix_client_read_node(ctl->client, &request, &ctl->call, &page, err);
    }
    if (status == SIRIX_OK) {
        status = ctl->json ? print_json(ctl, page, err) : print_words(ctl, page, err);
    }
    sirix_client_free(page);
    return status;
}

const struct sirixctl_command sirixctl_read = {
    .name = "read",
    .operands = "DB/RESOURCE[@WHAT] [NODE]",
    .summary = "Show a node and what is below it, with keys",
    .details = "NODE is a key, or a path such as /users/[5]/name.",
    .answer = "{\"revision\",\"timestamp\",\"path\",\"truncated\",\"nextCursor\"?,\"nextOffset\"?,"
              "\"nodes\":[{\"nodeKey\",\n"
              "\"parent\" (place in nodes, or "
              "null),\"name\"|\"index\",\"kind\",\"value\"|\"childCount\",\"cut\"}]}",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
