/*
 * Fields of one name at any depth: =>>name.
 *
 * In order   the containers below one are walked with a list of members a level.
 * Counted    of a whole document they are counted row by row as these lie in the trie, without following
 *            anything: every row of a revision belongs to its document.
 * Pruned     a walk that gets long asks the path summary of the resource and stays out of what no field of
 *            that name has ever been in.
 */
#include "query/node/item.h"

enum { PRUNE_FROM = 10000 }; /* Nodes that a walk passes before it asks. */

struct level {
    struct sirix_stored_list list;
    struct level *up;
    struct level *spare; /* One deeper, made before. */
    uint32_t step;       /* By which it was entered: of the path summary. */
    uint32_t path;       /* Of the container; NONE: not known. */
    uint32_t next;       /* The path of the member that is likely to come next. */
};

struct descent {
    struct sirix_store_view *view;
    struct sirix_stored_name name;
    struct sirix_sink *sink; /* NULL: they are counted alone. */
    uint64_t count;
    uint64_t passed;
    uint64_t container; /* Key of the row of what the walk is below of. */
    struct level *level;
    uint32_t depth;
    const struct sirix_path_summary *paths; /* NULL: everything is walked. */
    bool *leads;                            /* Which of the paths have such a field below them. */
};

/* --- Paths ------------------------------------------------------------------------------------------ */

static uint32_t find_step(const struct sirix_path_summary *paths, uint32_t path, uint32_t step)
{
    uint32_t child = paths->paths[path].first_child;

    while (child != SIRIX_PATH_NONE && paths->paths[child].step != step) {
        child = paths->paths[child].next;
    }
    return child;
}

/* The path of what a step leads to; NONE: it is not known alone. *out_leads: it may hold such a field. */
static uint32_t follow(const struct descent *descent, uint32_t path, uint32_t step, uint32_t hint,
                       bool *out_leads)
{
    const struct sirix_path_summary *paths = descent->paths;
    uint32_t child = hint;
    uint32_t any = SIRIX_PATH_NONE;

    *out_leads = true;
    if (path == SIRIX_PATH_NONE) {
        return SIRIX_PATH_NONE;
    }
    if (child == SIRIX_PATH_NONE || paths->paths[child].step != step) {
        child = find_step(paths, path, step);
    }
    if (step != SIRIX_PATH_STEP_ANY &&
        (child == SIRIX_PATH_NONE || paths->paths[path].child_count >= SIRIX_PATH_NAMES_MAX)) {
        any = find_step(paths, path, SIRIX_PATH_STEP_ANY);
    }
    if (child == SIRIX_PATH_NONE) {
        child = any;
        any = SIRIX_PATH_NONE;
    }
    if (child == SIRIX_PATH_NONE) {
        return SIRIX_PATH_NONE;
    }
    *out_leads = descent->leads[child] || (any != SIRIX_PATH_NONE && descent->leads[any]);
    return any == SIRIX_PATH_NONE ? child : SIRIX_PATH_NONE;
}

/* Which paths lead to a field of the name. A name without an id, and any name, may be `*`. */
static enum sirix_status mark_leading(struct sirix_run *run, struct descent *descent,
                                      struct sirix_query_error *err)
{
    const struct sirix_path_summary *paths = descent->paths;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(run->work.arena, paths->count, sizeof(bool), &memory, &err->base);

    descent->leads = memory;
    for (uint32_t i = paths->count; i > 1 && status == SIRIX_OK; i--) {
        const struct sirix_path *path = &paths->paths[i - 1];

        if (descent->leads[i - 1] || path->step == SIRIX_PATH_STEP_ANY ||
            (descent->name.has_id && path->step == descent->name.id)) {
            descent->leads[path->parent] = true;
        }
    }
    return status;
}

/* The steps from the document's value to a container, the last one first; *out_known false: too many. */
static enum sirix_status steps_to(struct sirix_store_view *view, uint64_t key, uint32_t *steps,
                                  uint32_t *out_count, bool *out_known,
                                  struct sirix_query_error *err)
{
    *out_count = 0;
    *out_known = true;
    while (key > 1) {
        struct sirix_row row = {0};
        struct sirix_node node;
        uint32_t id = 0;
        enum sirix_status status = sirix_stored_get(&view->document, key, &node, &err->base);

        if (status == SIRIX_OK &&
            node.parent + 1 == key) { /* A member's container: its field row. */
            status = sirix_stored_row(&view->document, node.parent, &row, &err->base);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (*out_count == SIRIX_DOCUMENT_DEPTH_MAX) {
            *out_known = false;
            return SIRIX_OK;
        }
        if (row.record.data == NULL || sirix_stored_kind(row.record.data) != SIRIX_NODE_FIELD) {
            steps[(*out_count)++] = SIRIX_PATH_STEP_ELEMENT;
            key = node.parent;
            continue;
        }
        steps[(*out_count)++] = sirix_stored_name_id(row.record, &id) ? id : SIRIX_PATH_STEP_ANY;
        status = sirix_stored_get(&view->document, row.key, &node, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        key = node.parent;
    }
    return SIRIX_OK;
}

/* The path of the container that the walk is below of. */
static enum sirix_status path_of_container(const struct descent *descent, uint32_t *out,
                                           struct sirix_query_error *err)
{
    uint32_t steps[SIRIX_DOCUMENT_DEPTH_MAX];
    uint32_t count = 0;
    bool known = true;
    bool leads = true;
    enum sirix_status status =
        steps_to(descent->view, descent->container, steps, &count, &known, err);

    *out = known ? 0 : SIRIX_PATH_NONE;
    for (uint32_t i = count; status == SIRIX_OK && i != 0; i--) {
        *out = follow(descent, *out, steps[i - 1], SIRIX_PATH_NONE, &leads);
    }
    return status;
}

/* From here on the walk is pruned, if the summary has all paths. */
static enum sirix_status start_pruning(struct sirix_run *run, struct descent *descent,
                                       struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = descent->view->resource;
    struct level *levels[SIRIX_DOCUMENT_DEPTH_MAX + 2];
    uint32_t path = SIRIX_PATH_NONE;
    uint32_t depth = descent->depth;
    enum sirix_status status = SIRIX_OK;

    if (!resource->paths_read) {
        status = sirix_path_summary_read(resource->place.resource, resource->place.reader,
                                         &resource->paths, &err->base);
        resource->paths_read = status == SIRIX_OK;
    }
    if (status != SIRIX_OK || resource->paths.coarse || resource->paths.count == 0) {
        return status;
    }
    descent->paths = &resource->paths;
    status = mark_leading(run, descent, err);
    if (status == SIRIX_OK) {
        status = path_of_container(descent, &path, err);
    }
    for (struct level *level = descent->level; level != NULL; level = level->up) {
        levels[--depth] = level;
    }
    for (uint32_t i = 0; i < descent->depth && status == SIRIX_OK; i++) {
        bool leads = true;

        path = i == 0 ? path : follow(descent, path, levels[i]->step, SIRIX_PATH_NONE, &leads);
        levels[i]->path = path;
        levels[i]->next = SIRIX_PATH_NONE;
    }
    return status;
}

/* --- Walking ---------------------------------------------------------------------------------------- */

static enum sirix_status enter(struct sirix_run *run, struct descent *descent,
                               const struct sirix_node *container, uint32_t step, uint32_t path,
                               struct sirix_query_error *err)
{
    struct level *level = descent->level == NULL ? NULL : descent->level->spare;
    void *memory = NULL;
    enum sirix_status status = SIRIX_OK;

    if (descent->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(&err->base, SIRIX_CORRUPT, "the document is nested deeper than %d levels",
                          SIRIX_DOCUMENT_DEPTH_MAX);
    }
    if (level == NULL) {
        status = sirix_arena_calloc(run->work.arena, 1, sizeof(*level), &memory, &err->base);
        if (status != SIRIX_OK) {
            return status;
        }
        level = memory;
        level->up = descent->level;
        if (descent->level != NULL) {
            descent->level->spare = level;
        }
    }
    level->step = step;
    level->path = path;
    level->next = SIRIX_PATH_NONE;
    descent->level = level;
    descent->depth++;
    return sirix_stored_list_init(&level->list, &descent->view->document, container, 0, &err->base);
}

static enum sirix_status give_descendant(struct sirix_run *run, struct descent *descent,
                                         uint64_t listed, struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status = SIRIX_OK;

    descent->count++;
    if (descent->sink == NULL) {
        return SIRIX_OK;
    }
    const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
    status = sirix_store_item(&run->work, descent->view, listed, &item, err);
    if (status == SIRIX_OK) {
        status = descent->sink->take(descent->sink, run, &item, err);
    }
    sirix_run_turn_end(run, &turn);
    return status;
}

/* The step that a listed row is reached by, and the path of its value. */
static uint32_t step_of(struct descent *descent, const struct sirix_row *row, uint32_t *out_path,
                        bool *out_leads)
{
    struct level *level = descent->level;
    uint32_t step = SIRIX_PATH_STEP_ELEMENT;
    uint32_t id = 0;

    if (sirix_node_is_field(sirix_stored_kind(row->record.data))) {
        step = sirix_stored_name_id(row->record, &id) ? id : SIRIX_PATH_STEP_ANY;
    }
    *out_path = SIRIX_PATH_NONE;
    *out_leads = true;
    if (descent->paths != NULL) {
        *out_path = follow(descent, level->path, step, level->next, out_leads);
        level->next =
            *out_path == SIRIX_PATH_NONE ? SIRIX_PATH_NONE : descent->paths->paths[*out_path].next;
    }
    return step;
}

static enum sirix_status visit(struct sirix_run *run, struct descent *descent, uint64_t listed,
                               struct sirix_query_error *err)
{
    struct sirix_node node;
    struct sirix_row row = {0};
    uint32_t path = SIRIX_PATH_NONE;
    uint32_t step = 0;
    bool matches = false;
    bool leads = true;
    enum sirix_status status = sirix_stored_row(&descent->view->document, listed, &row, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    const enum sirix_node_kind kind = sirix_stored_kind(row.record.data);
    const bool is_container = kind == SIRIX_NODE_FIELD || sirix_node_is_container(kind);
    if (is_container) {
        step = step_of(descent, &row, &path, &leads);
    }
    if (sirix_node_is_field(kind)) {
        status = sirix_store_row_has_name(descent->view, &row, &descent->name, &matches, err);
        if (status == SIRIX_OK && matches) {
            status = give_descendant(run, descent, listed, err);
        }
    }
    if (status != SIRIX_OK || !is_container || !leads) {
        return status;
    }
    status = sirix_stored_value(&descent->view->document, listed, &node, &err->base);
    return status == SIRIX_OK && node.child_count != 0 ? enter(run, descent, &node, step, path, err)
                                                       : status;
}

static enum sirix_status walk(struct sirix_run *run, const struct sirix_item *container,
                              struct descent *descent, struct sirix_query_error *err)
{
    struct sirix_node node;
    enum sirix_status status = sirix_store_container_node(*container, &node, err);

    descent->container = sirix_store_key(*container);
    if (status == SIRIX_OK) {
        status = enter(run, descent, &node, SIRIX_PATH_STEP_ANY, SIRIX_PATH_NONE, err);
    }
    while (status == SIRIX_OK && descent->level != NULL) {
        uint64_t listed = 0;

        if (descent->level->list.left == 0) {
            descent->level = descent->level->up;
            descent->depth--;
            continue;
        }
        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK && ++descent->passed == PRUNE_FROM && !run->naive) {
            status = start_pruning(run, descent, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_stored_list_next(&descent->level->list, &listed, &err->base);
        }
        if (status == SIRIX_OK) {
            status = visit(run, descent, listed, err);
        }
    }
    return status;
}

/* --- Counting --------------------------------------------------------------------------------------- */

static enum sirix_status count_rows(struct sirix_run *run, struct descent *descent,
                                    struct sirix_query_error *err)
{
    struct sirix_trie_cursor *cursor = &descent->view->document.cursor;
    uint64_t key = 1;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK) {
        struct sirix_row row = {0};
        bool matches = false;

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_trie_next(cursor, key, &row, &err->base);
        }
        if (status == SIRIX_NOT_FOUND) {
            return SIRIX_OK;
        }
        if (status == SIRIX_OK && sirix_node_is_field(sirix_stored_kind(row.record.data))) {
            status = sirix_store_row_has_name(descent->view, &row, &descent->name, &matches, err);
            descent->count += matches ? 1 : 0;
        }
        key = row.key + row.width;
    }
    return status;
}

/* --- What the run asks ------------------------------------------------------------------------------ */

enum sirix_status sirix_store_descendants(struct sirix_run *run, const struct sirix_item *container,
                                          struct sirix_run_name *name, struct sirix_sink *sink,
                                          struct sirix_query_error *err)
{
    struct descent descent = {.view = sirix_store_container_view(*container), .sink = sink};
    enum sirix_status status =
        sirix_store_prepare_name(run, descent.view, name, &descent.name, err);

    return status == SIRIX_OK ? walk(run, container, &descent, err) : status;
}

enum sirix_status sirix_store_count_descendants(struct sirix_run *run,
                                                const struct sirix_item *container,
                                                struct sirix_run_name *name, uint64_t *out_count,
                                                struct sirix_query_error *err)
{
    struct descent descent = {.view = sirix_store_container_view(*container)};
    enum sirix_status status =
        sirix_store_prepare_name(run, descent.view, name, &descent.name, err);

    if (status == SIRIX_OK) {
        status = sirix_store_key(*container) == 1 ? count_rows(run, &descent, err)
                                                  : walk(run, container, &descent, err);
    }
    if (status == SIRIX_OK) {
        *out_count = descent.count;
    }
    return status;
}
