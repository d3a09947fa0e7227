/* The store's summary in another order and with names, and its pages as text. */
#include "service/paths.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/text.h"

enum { CURSOR_BYTES = 16 };

/* --- Order -------------------------------------------------------------------------------------- */

/* A path of the summary as it is sorted. */
struct item {
    uint32_t parent; /* Of the summary. */
    uint32_t index;
    enum sirix_path_step step;
    struct sirix_bytes name;
};

static int compare_names(struct sirix_bytes a, struct sirix_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}

static int compare_items(const void *left, const void *right)
{
    const struct item *a = left;
    const struct item *b = right;

    if (a->parent != b->parent) {
        return a->parent < b->parent ? -1 : 1;
    }
    return a->step != b->step ? (int)a->step - (int)b->step : compare_names(a->name, b->name);
}

static enum sirix_path_step step_of(const struct sirix_path *path)
{
    if (path->parent == SIRIX_PATH_NONE) {
        return SIRIX_STEP_VALUE;
    }
    if (path->step == SIRIX_PATH_STEP_ELEMENT) {
        return SIRIX_STEP_ELEMENT;
    }
    return path->step == SIRIX_PATH_STEP_ANY ? SIRIX_STEP_ANY_MEMBER : SIRIX_STEP_MEMBER;
}

/* Names every path, and sorts those of one parent. */
static enum sirix_status sort(const struct sirix_path_summary *summary,
                              struct sirix_resource *resource, struct sirix_arena *arena,
                              struct item *items, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 0; status == SIRIX_OK && i < summary->count; i++) {
        const struct sirix_path *path = &summary->paths[i];
        struct sirix_bytes stored = {.data = NULL, .len = 0};

        items[i] = (struct item){.parent = path->parent, .index = i, .step = step_of(path)};
        if (items[i].step != SIRIX_STEP_MEMBER) {
            continue;
        }
        status = sirix_names_get(resource, path->step, &stored, err);
        if (status == SIRIX_OK) {
            status = sirix_json_text_to_plain(arena, stored, &items[i].name, err);
        }
        if (status == SIRIX_OK) { /* Without escapes it is the resource's, which may be closed. */
            status = sirix_arena_copy(arena, items[i].name, &items[i].name, err);
        }
    }
    if (status == SIRIX_OK) {
        qsort(items, summary->count, sizeof(*items), compare_items);
    }
    return status;
}

static uint32_t kinds_of(uint32_t node_kinds)
{
    uint32_t kinds = 0;

    for (; node_kinds != 0; node_kinds &= node_kinds - 1) {
        kinds |=
            UINT32_C(1) << sirix_value_kind_of((enum sirix_node_kind)__builtin_ctz(node_kinds));
    }
    return kinds;
}

/* Where a path of the summary is. */
struct link {
    uint32_t item;  /* Its place among the items. */
    uint32_t first; /* That of its first child; NONE. */
    uint32_t node;  /* Its place in the order, once it has one. */
};

static void link_items(const struct item *items, uint32_t count, struct link *links)
{
    for (uint32_t i = 0; i < count; i++) {
        links[i].first = SIRIX_PATH_NONE;
    }
    for (uint32_t i = count; i-- > 0;) {
        links[items[i].index].item = i;
        if (items[i].parent != SIRIX_PATH_NONE) {
            links[items[i].parent].first = i;
        }
    }
}

/* The item after `at`, whose subtree has `placed` as its end where nothing is below it; NONE: over. */
static uint32_t next_item(const struct item *items, uint32_t count, const struct link *links,
                          uint32_t at, uint32_t placed, struct sirix_path_node *nodes)
{
    uint32_t next = links[items[at].index].first;

    while (next == SIRIX_PATH_NONE) {
        uint32_t parent = items[at].parent;

        nodes[links[items[at].index].node].end = placed;
        if (parent == SIRIX_PATH_NONE) {
            return SIRIX_PATH_NONE;
        }
        if (at + 1 < count && items[at + 1].parent == parent) {
            next = at + 1;
        }
        at = links[parent].item;
    }
    return next;
}

/* Puts the paths in order. Items of one parent stand together; the root is last among them. */
static void place(const struct sirix_path_summary *summary, const struct item *items,
                  struct link *links, struct sirix_path_node *nodes)
{
    uint32_t at = summary->count - 1;
    uint32_t placed = 0;

    link_items(items, summary->count, links);
    while (at != SIRIX_PATH_NONE) {
        const struct item *item = &items[at];
        const struct sirix_path *path = &summary->paths[item->index];

        nodes[placed] = (struct sirix_path_node){
            .step = item->step,
            .name = item->name,
            .kinds = kinds_of(path->kinds),
            .parent = item->step == SIRIX_STEP_VALUE ? SIRIX_PATH_NONE : links[item->parent].node,
            .id = path->id,
            .seen = item->step == SIRIX_STEP_MEMBER ? path->step : 0, /* Ids are given in order. */
        };
        links[item->index].node = placed++;
        at = next_item(items, summary->count, links, at, placed, nodes);
    }
    assert(placed == summary->count);
}

static enum sirix_status order(const struct sirix_path_summary *summary,
                               struct sirix_resource *resource, struct sirix_arena *arena,
                               struct sirix_path_node **out_nodes, struct sirix_error *err)
{
    void *items = NULL;
    void *links = NULL;
    void *nodes = NULL;

    enum sirix_status status =
        sirix_arena_calloc(arena, summary->count, sizeof(struct item), &items, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, summary->count, sizeof(struct link), &links, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(arena, summary->count, sizeof(struct sirix_path_node), &nodes, err);
    }
    if (status == SIRIX_OK) {
        status = sort(summary, resource, arena, items, err);
    }
    if (status == SIRIX_OK) {
        place(summary, items, links, nodes);
        *out_nodes = nodes;
    }
    return status;
}

enum sirix_status sirix_paths_of_view(struct sirix_target *target, const struct sirix_view *view,
                                      struct sirix_arena *arena, struct sirix_paths *out_paths,
                                      struct sirix_error *err)
{
    struct sirix_path_summary summary;
    struct sirix_path_node *nodes = NULL;
    struct sirix_document document;
    bool has_value = false;

    sirix_document_init(&document, view, target->reader);
    enum sirix_status status = sirix_document_has_value(&document, &has_value, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_path_summary_init(&summary);
    if (has_value) {
        status = sirix_path_summary_read(target->resource, target->reader, &summary, err);
    }
    if (status == SIRIX_OK && summary.count != 0) {
        status = order(&summary, target->resource, arena, &nodes, err);
    }
    if (status == SIRIX_OK) {
        *out_paths =
            (struct sirix_paths){.nodes = nodes, .count = summary.count, .whole = !summary.coarse};
    }
    sirix_path_summary_deinit(&summary);
    return status;
}

/* --- Text --------------------------------------------------------------------------------------- */

/* Appends "/name", with the escapes of a path. */
static enum sirix_status append_name(struct sirix_buf *path, struct sirix_bytes name,
                                     struct sirix_error *err)
{
    const char *text = name.data;

    enum sirix_status status = sirix_buf_append_u8(path, '/', err);
    for (size_t i = 0; status == SIRIX_OK && i < name.len; i++) {
        if (text[i] == '~') {
            status = sirix_buf_append_str(path, "~0", err);
        } else if (text[i] == '/') {
            status = sirix_buf_append_str(path, "~1", err);
        } else if (text[i] == '[' && i == 0) {
            status = sirix_buf_append_str(path, "~2", err);
        } else {
            status = sirix_buf_append_u8(path, (uint8_t)text[i], err);
        }
    }
    return status;
}

static enum sirix_status append_step(struct sirix_buf *path, const struct sirix_path_node *node,
                                     struct sirix_error *err)
{
    switch (node->step) {
    case SIRIX_STEP_VALUE:
        return SIRIX_OK;
    case SIRIX_STEP_ELEMENT:
        return sirix_buf_append_str(path, "/[]", err);
    case SIRIX_STEP_MEMBER:
        return append_name(path, node->name, err);
    case SIRIX_STEP_ANY_MEMBER:
        break;
    }
    return sirix_buf_append_str(path, "/*", err);
}

/* The index behind the path that the cursor names. */
static enum sirix_status find_cursor(const struct sirix_paths *paths, struct sirix_bytes cursor,
                                     uint32_t *out_index, struct sirix_error *err)
{
    char text[CURSOR_BYTES + 1];

    *out_index = 0;
    if (cursor.len == 0) {
        return SIRIX_OK;
    }
    for (uint32_t i = 0; i < paths->count; i++) {
        (void)snprintf(text, sizeof(text), "%016" PRIx64, paths->nodes[i].id);
        if (sirix_bytes_equal(cursor, (struct sirix_bytes){.data = text, .len = CURSOR_BYTES})) {
            *out_index = i + 1;
            return SIRIX_OK;
        }
    }
    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_CURSOR,
                             "the cursor names no path of this resource");
}

/* What fills a page. */
struct filling {
    const struct sirix_paths *paths;
    struct sirix_arena *arena;
    size_t *ends; /* Of each path: its length in `text`. */
    struct sirix_buf text;
    struct sirix_path_page page;
    size_t bytes;
};

static enum sirix_status add_entry(struct filling *filling, const struct sirix_path_node *node,
                                   struct sirix_error *err)
{
    struct sirix_path_entry *entry = &filling->page.entries[filling->page.count];

    *entry = (struct sirix_path_entry){.kinds = node->kinds,
                                       .any_member = node->step == SIRIX_STEP_ANY_MEMBER};
    enum sirix_status status =
        sirix_arena_copy(filling->arena, sirix_buf_view(&filling->text), &entry->path, err);
    if (status == SIRIX_OK) {
        filling->page.count++;
        filling->bytes += entry->path.len;
    }
    return status;
}

/* From the first, since every path begins with that of its parent. */
static enum sirix_status fill(struct filling *filling, uint32_t first, struct sirix_error *err)
{
    const struct sirix_path_node *nodes = filling->paths->nodes;
    enum sirix_status status = SIRIX_OK;
    uint32_t i = 0;

    for (; status == SIRIX_OK && i < filling->paths->count; i++) {
        if (filling->page.count == SIRIX_PATHS_MAX || filling->bytes >= SIRIX_PATHS_BYTES_MAX) {
            break;
        }
        filling->text.len = i == 0 ? 0 : filling->ends[nodes[i].parent];
        status = append_step(&filling->text, &nodes[i], err);
        filling->ends[i] = filling->text.len;
        if (status == SIRIX_OK && i >= first) {
            status = add_entry(filling, &nodes[i], err);
        }
    }
    if (status == SIRIX_OK && i < filling->paths->count) {
        char text[CURSOR_BYTES + 1];
        (void)snprintf(text, sizeof(text), "%016" PRIx64, nodes[i - 1].id);
        status = sirix_arena_copy(filling->arena,
                                  (struct sirix_bytes){.data = text, .len = CURSOR_BYTES},
                                  &filling->page.next_cursor, err);
    }
    return status;
}

enum sirix_status sirix_paths_page(const struct sirix_paths *paths, struct sirix_bytes cursor,
                                   struct sirix_arena *arena, struct sirix_path_page *out_page,
                                   struct sirix_error *err)
{
    struct filling filling = {.paths = paths, .arena = arena};
    void *entries = NULL;
    void *ends = NULL;
    uint32_t first = 0;

    enum sirix_status status = find_cursor(paths, cursor, &first, err);
    if (status == SIRIX_OK && first < paths->count) {
        status = sirix_arena_calloc(arena, paths->count - first, sizeof(struct sirix_path_entry),
                                    &entries, err);
        if (status == SIRIX_OK) {
            status = sirix_arena_calloc(arena, paths->count, sizeof(size_t), &ends, err);
        }
        filling.page.entries = entries;
        filling.ends = ends;
        sirix_buf_init(&filling.text, SIZE_MAX);
        if (status == SIRIX_OK) {
            status = fill(&filling, first, err);
        }
        sirix_buf_deinit(&filling.text);
    }
    if (status == SIRIX_OK) {
        *out_page = filling.page;
    }
    return status;
}
