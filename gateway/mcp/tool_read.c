/* sirix_read_node and sirix_history. */
#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/hash.h"
#include "mcp/cursor.h"
#include "mcp/tools.h"
#include "json/text.h"

/* --- sirix_read_node ---------------------------------------------------------------------------- */

enum {
    DEPTH_DEFAULT = 3,
    NODES_PER_CHILD = 10,
    NODES_MAX = 20000,
    CHILDREN_MAX = 10000,
    VALUE_BYTES_MAX = 1024 * 1024,
    CHARACTER_BYTES_MAX = 6, /* Canonical. */
    NODE_BYTES_MIN = 32,     /* What a node takes in an answer, whatever it is. */
};

/* One reading: what is asked, and what came. */
struct reading {
    struct sirix_mcp_call *call;
    struct sirix_read_node_request request;
    uint64_t tag;
    struct sirix_node_page *page;
    struct sirix_json_node **items; /* Of the answer, by node. */
    struct sirix_json_node **lists; /* Their `children`. */
    uint64_t *listed;               /* How many children each has there. */
    struct sirix_json_node **plain; /* Values without keys. */
};

static enum sirix_status take_target(struct reading *r, struct sirix_error *err)
{
    struct sirix_mcp_call *call = r->call;
    const struct sirix_argument *key = sirix_argument(&call->arguments, "nodeKey");
    const struct sirix_argument *path = sirix_argument(&call->arguments, "path");
    const struct sirix_argument *cursor_text = sirix_argument(&call->arguments, "cursor");
    static const struct sirix_hash_key fixed_key = {{0}};
    struct sirix_cursor cursor = {0};
    enum sirix_status status = SIRIX_OK;

    if (key != NULL && path != NULL) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "nodeKey and path exclude each other; give one");
        sirix_error_set_field(err, "path");
        return status;
    }
    r->request.target.node_key = key != NULL ? key->number : 0;
    if (path != NULL) {
        r->request.target.path = path->text;
    }
    r->tag = sirix_cursor_tag(call->tool->name, call->database, call->resource,
                              path != NULL ? sirix_hash(&fixed_key, path->text.data, path->text.len)
                                           : r->request.target.node_key);
    if (cursor_text != NULL) {
        status = sirix_cursor_read(call->arena, r->tag, cursor_text->text, &cursor, err);
    }
    if (status == SIRIX_OK && cursor.revision != 0) {
        r->request.view = (struct sirix_view){
            .kind = SIRIX_VIEW_REVISION,
            .revision = cursor.revision,
        };
        r->request.cursor = cursor.server;
    }
    return status;
}

static enum sirix_status take_request(struct reading *r, struct sirix_error *err)
{
    struct sirix_mcp_call *call = r->call;
    const uint64_t limit = sirix_mcp_limit(call, "limit", 0);
    const uint64_t value_bytes = (uint64_t)call->answer.string_max * CHARACTER_BYTES_MAX;
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &r->request.view, err);
    }
    if (status == SIRIX_OK) {
        status = take_target(r, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    r->request.database = call->database;
    r->request.resource = call->resource;
    r->request.has_max_depth = true;
    r->request.max_depth =
        (uint32_t)sirix_argument_number(&call->arguments, "maxDepth", DEPTH_DEFAULT);
    r->request.max_children = (uint32_t)(limit > CHILDREN_MAX ? CHILDREN_MAX : limit);
    const uint64_t nodes = limit * NODES_PER_CHILD;
    const uint64_t nodes_fit = call->answer.bytes_max / NODE_BYTES_MIN;
    r->request.max_nodes = (uint32_t)(nodes < nodes_fit ? nodes : nodes_fit);
    if (r->request.max_nodes > NODES_MAX) {
        r->request.max_nodes = NODES_MAX;
    }
    r->request.max_bytes = (uint32_t)call->answer.bytes_max;
    r->request.max_value_bytes =
        (uint32_t)(value_bytes > VALUE_BYTES_MAX ? VALUE_BYTES_MAX : value_bytes);
    r->request.value_offset = sirix_argument_number(&call->arguments, "offset", 0);
    return SIRIX_OK;
}

static enum sirix_status make_room(struct reading *r, struct sirix_error *err)
{
    void *memory[4] = {NULL};
    enum sirix_status status = SIRIX_OK;

    for (int i = 0; i < 4 && status == SIRIX_OK; i++) {
        status =
            sirix_arena_calloc(r->call->arena, r->page->count + 1, sizeof(void *), &memory[i], err);
    }
    static_assert(sizeof(uint64_t) == sizeof(void *), "numbers and pointers share their room");
    if (status == SIRIX_OK) {
        r->items = memory[0];
        r->lists = memory[1];
        r->listed = memory[2];
        r->plain = memory[3];
    }
    return status;
}

static bool is_container(const struct sirix_node_info *node)
{
    return node->type == SIRIX_NODE_TYPE_OBJECT || node->type == SIRIX_NODE_TYPE_ARRAY;
}

/* The value of a scalar; a string that is cut says where it goes on. */
static void add_scalar(struct reading *r, size_t index)
{
    struct sirix_answer *answer = &r->call->answer;
    const struct sirix_node_info *node = &r->page->nodes[index];

    if (node->type != SIRIX_NODE_TYPE_STRING) {
        sirix_answer_set(answer, r->items[index], "value", sirix_answer_value(answer, node->value));
        return;
    }
    const uint64_t offset = index == 0 ? r->request.value_offset : 0;
    uint64_t next = 0;
    struct sirix_json_node *value = sirix_answer_string_part(
        answer, node->value, offset, node->value_bytes, node->node_key, &next);
    sirix_answer_set(answer, r->items[index], "value", value);
    if (next < node->value_bytes) {
        sirix_answer_u64(answer, r->items[index], "nextOffset", next);
        sirix_answer_u64(answer, r->items[index], "valueBytes", node->value_bytes);
    }
}

/* Node `index` as an object below its parent's; the target's members go to the body. */
static void add_node(struct reading *r, size_t index)
{
    struct sirix_answer *answer = &r->call->answer;
    const struct sirix_node_info *node = &r->page->nodes[index];
    const size_t parent = node->parent_index < 0 ? SIZE_MAX : (size_t)node->parent_index;

    r->items[index] = index == 0 ? answer->body : sirix_answer_object(answer);
    if (index != 0 && node->has_name) {
        sirix_answer_stored(answer, r->items[index], "name", node->name);
    } else if (index != 0 && node->has_index) {
        sirix_answer_u64(answer, r->items[index], "index", node->index);
    }
    sirix_answer_u64(answer, r->items[index], "nodeKey", node->node_key);
    if (index == 0) {
        sirix_answer_stored(answer, answer->body, "path", r->page->path);
    }
    sirix_answer_str(answer, r->items[index], "kind", sirix_node_type_name(node->type));
    if (!is_container(node)) {
        add_scalar(r, index);
    } else {
        sirix_answer_u64(answer, r->items[index], "childCount", node->child_count);
    }
    if (parent < index) {
        if (r->lists[parent] == NULL) {
            r->lists[parent] = sirix_answer_array(answer);
            sirix_answer_set(answer, r->items[parent], "children", r->lists[parent]);
        }
        sirix_answer_append(answer, r->lists[parent], r->items[index]);
        r->listed[parent]++;
    }
}

/* Node `index` as a value without keys, in its parent's. */
static void add_plain_node(struct reading *r, size_t index, size_t parent)
{
    struct sirix_answer *answer = &r->call->answer;
    const struct sirix_node_info *node = &r->page->nodes[index];

    r->plain[index] = node->type == SIRIX_NODE_TYPE_OBJECT ? sirix_answer_object(answer)
                      : node->type == SIRIX_NODE_TYPE_ARRAY
                          ? sirix_answer_array(answer)
                          : sirix_answer_value(answer, node->value);
    if (parent >= index || r->plain[index] == NULL) {
        return;
    }
    if (!node->has_name) {
        sirix_answer_append(answer, r->plain[parent], r->plain[index]);
        return;
    }
    const struct sirix_bytes name = sirix_answer_clean(answer, node->name);
    if (answer->status == SIRIX_OK) {
        answer->status = sirix_json_object_set(&answer->tree, r->plain[parent], name,
                                               r->plain[index], NULL, &answer->error);
    }
}

/* The value as plain JSON beside the children, where all of it is there and fits. */
static void add_plain(struct reading *r)
{
    struct sirix_answer *answer = &r->call->answer;

    for (size_t i = 0; i < r->page->count; i++) {
        const struct sirix_node_info *node = &r->page->nodes[i];

        if (node->cut || (is_container(node) && r->listed[i] != node->child_count)) {
            return;
        }
        add_plain_node(r, i, node->parent_index < 0 ? SIZE_MAX : (size_t)node->parent_index);
    }
    const size_t without = sirix_answer_size(answer, answer->body);
    const size_t more = sirix_answer_size(answer, r->plain[0]);
    if (is_container(&r->page->nodes[0]) && sirix_answer_has_room(answer, without, more + 16)) {
        sirix_answer_set(answer, answer->body, "value", r->plain[0]);
    }
}

/* Whether children are missing that were asked for, not only parts of values. */
static bool lacks_children(const struct reading *r)
{
    for (size_t i = 0; i < r->page->count; i++) {
        if (r->page->nodes[i].cut && is_container(&r->page->nodes[i])) {
            return true;
        }
    }
    return false;
}

/* Builds the answer of a page; *out_fits is false when it is too long. */
static enum sirix_status build(struct reading *r, bool *out_fits, struct sirix_error *err)
{
    struct sirix_answer *answer = &r->call->answer;
    const struct sirix_node_page *page = r->page;
    enum sirix_status status = make_room(r, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_answer_u64(answer, answer->body, "revision", page->revision);
    sirix_answer_time(answer, answer->body, "timestamp", page->timestamp_us);
    if (page->count == 0) {
        sirix_answer_str(answer, answer->body, "kind", sirix_node_type_name(SIRIX_NODE_TYPE_NONE));
        sirix_answer_str(answer, answer->body, "note",
                         "The resource has no value yet; sirix_insert gives it one.");
    }
    for (size_t i = 0; i < page->count; i++) {
        add_node(r, i);
    }
    if (page->truncated) {
        sirix_answer_truncate(answer, lacks_children(r)
                                          ? sirix_mcp_limit_reason(r->call, r->request.max_children)
                                          : 0);
    }
    answer->has_count = true;
    answer->count = page->count == 0 ? 0 : r->listed[0];
    if (page->next_cursor.len != 0) {
        const struct sirix_cursor cursor = {.revision = page->revision,
                                            .server = page->next_cursor};
        status = sirix_cursor_write(r->call->arena, r->tag, &cursor, &answer->next_cursor, err);
    }
    const size_t size = sirix_answer_size(answer, answer->body);
    *out_fits = sirix_answer_has_room(answer, size, 2 * page->next_cursor.len);
    if (*out_fits && page->count > 1 && !page->truncated) {
        add_plain(r);
    }
    return status;
}

/* Reads what is asked for and builds the answer of it. */
static enum sirix_status read_once(struct reading *r, bool *out_fits, struct sirix_error *err)
{
    const struct sirix_call_options options = sirix_mcp_options(r->call);
    enum sirix_status status =
        sirix_backend_read_node(r->call->server->backend, &r->request, &options, &r->page, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = build(r, out_fits, err);
    if (r->page->revision != 0) {
        r->request.view = (struct sirix_view){
            .kind = SIRIX_VIEW_REVISION,
            .revision = r->page->revision,
        };
    }
    sirix_backend_release(r->page);
    return status;
}

enum sirix_status sirix_tool_read_node(struct sirix_mcp_call *call, struct sirix_error *err)
{
    struct reading r = {.call = call};
    bool fits = false;
    enum sirix_status status = take_request(&r, err);

    if (status == SIRIX_OK) {
        status = read_once(&r, &fits, err);
    }
    for (uint64_t tries = 1; status == SIRIX_OK && !fits; tries++) {
        sirix_mcp_tell_progress(call->request, tries, 0, "made smaller until it fits", false);
        if (r.request.max_nodes <= 2) {
            return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                     "one node does not fit in maxResultBytes");
        }
        /* Again with less, from the same revision: the server says how to go on from there. */
        r.request.max_nodes /= 2;
        r.request.max_bytes /= 2;
        sirix_answer_deinit(&call->answer);
        status = sirix_answer_init(&call->answer, call->arena, call->server->settings, err);
        if (status == SIRIX_OK) {
            status = read_once(&r, &fits, err);
            call->answer.limits |= SIRIX_ANSWER_LIMIT_BYTES;
        }
    }
    return status;
}

/* --- sirix_history ------------------------------------------------------------------------------ */

enum { HISTORY_DEFAULT = 20, HISTORY_MAX = 1000 };

static struct sirix_json_node *revision_item(struct sirix_answer *answer,
                                             const struct sirix_revision_info *info)
{
    struct sirix_json_node *item = sirix_answer_object(answer);

    sirix_answer_u64(answer, item, "revision", info->revision);
    sirix_answer_time(answer, item, "timestamp", info->timestamp_us);
    sirix_answer_stored(answer, item, "message", info->message);
    sirix_answer_stored(answer, item, "user", info->author);
    if (info->on_behalf_of.len != 0) {
        sirix_answer_stored(answer, item, "onBehalfOf", info->on_behalf_of);
    }
    sirix_answer_u64(answer, item, "parentRevision", info->parent_revision);
    if (info->branch != NULL && info->branch[0] != '\0') {
        sirix_answer_str(answer, item, "branch", info->branch);
    }
    if (info->reverted_to != 0) {
        sirix_answer_u64(answer, item, "revertedTo", info->reverted_to);
    }
    return item;
}

/* Fills the list and says at which revision it goes on; 0: nowhere. */
static uint64_t add_revisions(struct sirix_mcp_call *call, const struct sirix_history_page *page,
                              uint64_t limit)
{
    struct sirix_answer *answer = &call->answer;
    struct sirix_json_node *items = sirix_answer_array(answer);
    uint64_t next = 0;
    size_t bytes = 0;

    for (size_t i = 0; i < page->count && next == 0; i++) {
        struct sirix_json_node *item = revision_item(answer, &page->items[i]);
        const size_t size = sirix_answer_size(answer, item) + 1;

        if (answer->count != 0 && !sirix_answer_has_room(answer, bytes, size)) {
            sirix_answer_truncate(answer, SIRIX_ANSWER_LIMIT_BYTES);
            next = page->items[i].revision;
            continue;
        }
        sirix_answer_append(answer, items, item);
        answer->count++;
        bytes += size;
    }
    if (next == 0 && page->next_cursor.len != 0 && page->count != 0) {
        sirix_answer_truncate(answer, sirix_mcp_limit_reason(call, limit));
        next = page->items[page->count - 1].parent_revision;
    }
    sirix_answer_set(answer, answer->body, "revisions", items);
    return next;
}

enum sirix_status sirix_tool_history(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_argument *given = sirix_argument(&call->arguments, "cursor");
    struct sirix_history_request request = {0};
    struct sirix_history_page *page = NULL;
    struct sirix_cursor cursor = {0};
    enum sirix_status status = sirix_mcp_take_resource(call, err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_view(call, &request.view, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const uint64_t tag = sirix_cursor_tag(call->tool->name, call->database, call->resource, 0);
    uint64_t limit = sirix_mcp_limit(call, "count", HISTORY_DEFAULT);
    limit = limit > HISTORY_MAX ? HISTORY_MAX : limit;
    if (given != NULL) {
        status = sirix_cursor_read(call->arena, tag, given->text, &cursor, err);
        request.view =
            (struct sirix_view){.kind = SIRIX_VIEW_REVISION, .revision = cursor.revision};
    }
    if (status == SIRIX_OK) {
        const struct sirix_call_options options = sirix_mcp_options(call);
        request.database = call->database;
        request.resource = call->resource;
        request.page.size = (uint32_t)limit;
        status = sirix_backend_history(call->server->backend, &request, &options, &page, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    call->answer.has_count = true;
    cursor = (struct sirix_cursor){.revision = add_revisions(call, page, limit)};
    if (cursor.revision != 0) {
        status = sirix_cursor_write(call->arena, tag, &cursor, &call->answer.next_cursor, err);
    }
    sirix_backend_release(page);
    return status;
}
