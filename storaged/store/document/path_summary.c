#include "store/document/path_summary.h"

#include <stdlib.h>

#include "store/document/path_rows.h"
#include "store/document/rows.h"

enum { PATHS_MIN = 64 };

void sirix_path_summary_init(struct sirix_path_summary *summary)
{
    *summary = (struct sirix_path_summary){0};
}

void sirix_path_summary_deinit(struct sirix_path_summary *summary)
{
    free(summary->paths);
    *summary = (struct sirix_path_summary){0};
}

enum sirix_status sirix_path_summary_append(struct sirix_path_summary *summary, uint32_t parent,
                                            uint32_t step, uint32_t *out_path,
                                            struct sirix_error *err)
{
    struct sirix_path *above = NULL;
    uint32_t path = summary->count;

    if (summary->count == summary->cap) {
        uint32_t cap = summary->cap == 0 ? PATHS_MIN : summary->cap * 2;
        struct sirix_path *paths = realloc(summary->paths, cap * sizeof(*paths));
        if (paths == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u paths", cap);
        }
        summary->paths = paths;
        summary->cap = cap;
    }
    summary->paths[path] = (struct sirix_path){
        .parent = parent,
        .step = step,
        .first_child = SIRIX_PATH_NONE,
        .last_child = SIRIX_PATH_NONE,
        .next = SIRIX_PATH_NONE,
        .hint = SIRIX_PATH_NONE,
    };
    summary->count++;
    if (parent != SIRIX_PATH_NONE) {
        above = &summary->paths[parent];
        if (above->last_child == SIRIX_PATH_NONE) {
            above->first_child = path;
        } else {
            summary->paths[above->last_child].next = path;
        }
        above->last_child = path;
        above->child_count++;
    }
    *out_path = path;
    return SIRIX_OK;
}

static uint32_t find(const struct sirix_path_summary *summary, uint32_t path, uint32_t step)
{
    uint32_t child = summary->paths[path].first_child;

    while (child != SIRIX_PATH_NONE && summary->paths[child].step != step) {
        child = summary->paths[child].next;
    }
    return child;
}

enum sirix_status sirix_path_summary_add(struct sirix_path_summary *summary, uint32_t path,
                                         uint32_t step, uint32_t *out_path, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint32_t child = SIRIX_PATH_NONE;

    if (path == SIRIX_PATH_NONE) {
        *out_path = SIRIX_PATH_NONE;
        return SIRIX_OK;
    }
    /* Members mostly come in the order in which they came before. */
    child = summary->paths[path].hint;
    if (child == SIRIX_PATH_NONE || summary->paths[child].step != step) {
        child = find(summary, path, step);
    }
    if (child == SIRIX_PATH_NONE && summary->paths[path].child_count >= SIRIX_PATH_NAMES_MAX) {
        step = SIRIX_PATH_STEP_ANY;
        child = find(summary, path, step);
    }
    if (child == SIRIX_PATH_NONE && summary->count >= SIRIX_PATHS_MAX) {
        summary->coarse = true;
    } else if (child == SIRIX_PATH_NONE) {
        status = sirix_path_summary_append(summary, path, step, &child, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (child != SIRIX_PATH_NONE) {
        uint32_t next = summary->paths[child].next;
        summary->paths[path].hint =
            next == SIRIX_PATH_NONE ? summary->paths[path].first_child : next;
    }
    *out_path = child;
    return SIRIX_OK;
}

enum sirix_status sirix_path_summary_root(struct sirix_path_summary *summary,
                                          struct sirix_error *err)
{
    uint32_t root = 0;

    return summary->count != 0 ? SIRIX_OK
                               : sirix_path_summary_append(summary, SIRIX_PATH_NONE,
                                                           SIRIX_PATH_STEP_ANY, &root, err);
}

enum sirix_status sirix_path_summary_merge(struct sirix_path_summary *into, uint32_t at,
                                           const struct sirix_path_summary *from,
                                           struct sirix_error *err)
{
    uint32_t *map = from->count == 0 ? NULL : malloc(from->count * sizeof(*map));
    enum sirix_status status = SIRIX_OK;

    into->coarse = into->coarse || from->coarse;
    if (from->count == 0) {
        return SIRIX_OK;
    }
    if (map == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u paths", from->count);
    }
    for (uint32_t i = 0; i < from->count && status == SIRIX_OK; i++) {
        const struct sirix_path *path = &from->paths[i];
        map[i] = at;
        if (i != 0) {
            status = sirix_path_summary_add(into, map[path->parent], path->step, &map[i], err);
        }
        if (status == SIRIX_OK && map[i] != SIRIX_PATH_NONE) {
            into->paths[map[i]].kinds |= path->kinds;
        }
    }
    free(map);
    return status;
}

/* --- Walking a revision ---------------------------------------------------------------------------- */

enum sirix_status sirix_path_summary_collect(struct sirix_document *document,
                                             struct sirix_path_summary *summary,
                                             struct sirix_error *err)
{
    uint32_t *open = malloc((SIRIX_DOCUMENT_DEPTH_MAX + 2) * sizeof(*open));
    struct sirix_walk *walk = NULL;
    bool has = false;
    enum sirix_status status = SIRIX_OK;

    if (open == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a walk over paths");
    }
    status = sirix_document_has_value(document, &has, err);
    if (status == SIRIX_OK && has) {
        status = sirix_path_summary_root(summary, err);
    }
    if (status == SIRIX_OK && has) {
        status = sirix_walk_new(document, 1, &walk, err);
    }
    while (status == SIRIX_OK && has) {
        struct sirix_document_node node;
        uint32_t depth = 0;
        status = sirix_walk_next(walk, &node, &depth, err);
        if (status != SIRIX_OK) {
            break;
        }
        open[depth] = 0;
        if (depth != 0) {
            status = sirix_path_summary_add(summary, open[depth - 1],
                                            sirix_path_step_of(sirix_node_listed(&node)),
                                            &open[depth], err);
        }
        if (status == SIRIX_OK) {
            sirix_path_summary_mark(summary, open[depth], node.kind);
        }
    }
    sirix_walk_free(walk);
    free(open);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

enum sirix_status sirix_path_summary_text(const struct sirix_path_summary *summary,
                                          struct sirix_resource *resource, uint32_t path,
                                          struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_rows rows = {.resource = resource};
    uint32_t steps[SIRIX_DOCUMENT_DEPTH_MAX + 1];
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    for (; summary->paths[path].parent != SIRIX_PATH_NONE; path = summary->paths[path].parent) {
        if (count > SIRIX_DOCUMENT_DEPTH_MAX) {
            return sirix_fail(err, SIRIX_CORRUPT, "a path has more than %d steps",
                              SIRIX_DOCUMENT_DEPTH_MAX);
        }
        steps[count++] = summary->paths[path].step;
    }
    while (status == SIRIX_OK && count != 0) {
        uint32_t step = steps[--count];
        if (step == SIRIX_PATH_STEP_ELEMENT) {
            status = sirix_buf_append_str(out, "/[]", err);
        } else if (step == SIRIX_PATH_STEP_ANY) {
            status = sirix_buf_append_str(out, "/*", err);
        } else {
            const struct sirix_node field = {.name_interned = true, .name_id = step};
            status = sirix_path_append_member(&rows, &field, SIRIX_PATH_SIRIX, out, err);
        }
    }
    return status;
}
