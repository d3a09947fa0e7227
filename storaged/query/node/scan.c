/* What evaluation asks of stored objects and arrays: fields, members, descendants, without items where it can. */
#include <string.h>

#include "query/node/item.h"
#include "json/text.h"

/* --- What the run asks ------------------------------------------------------------------------------ */

static enum sirix_status prepare_name(struct sirix_run *run, struct sirix_store_view *view,
                                      struct sirix_run_name *name, struct sirix_stored_name *out,
                                      struct sirix_query_error *err)
{
    if (name->canonical.data == NULL && name->plain.len != 0) {
        enum sirix_status status =
            sirix_json_text_to_canonical(run->keep, name->plain, &name->canonical, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (name->of != view->view.resource || !name->has_id) {
        name->of = view->view.resource;
        name->has_id = sirix_names_find(view->view.resource, name->canonical, &name->id);
    }
    *out = (struct sirix_stored_name){.canonical = name->canonical,
                                      .resource = view->view.resource,
                                      .has_id = name->has_id,
                                      .id = name->id};
    return SIRIX_OK;
}

/* The child keys of an object with few members: those of the one that was asked last are at hand. */
static enum sirix_status object_keys(struct sirix_store_view *view, uint64_t key, bool *out_known,
                                     struct sirix_node *node, struct sirix_query_error *err)
{
    const uint64_t generation = sirix_reader_generation(view->document.reader);
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    if (view->object_known && view->object_key == key && view->object_generation == generation) {
        *out_known = true;
        return SIRIX_OK;
    }
    status = sirix_stored_row(&view->document, key, &row, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    view->object_known = sirix_stored_kind(row.record.data) == SIRIX_NODE_OBJECT &&
                         sirix_stored_keys(row.record, key, view->object_keys, &view->object_count);
    view->object_key = key;
    view->object_generation = generation;
    *out_known = view->object_known;
    return view->object_known ? SIRIX_OK : sirix_node_decode(row.record, key, node, &err->base);
}

/* Whether the listed row has the name; its row is then at hand. */
static enum sirix_status is_member(struct sirix_store_view *view, uint64_t listed,
                                   struct sirix_stored_name *name, struct sirix_row *row,
                                   bool *out_equal, struct sirix_query_error *err)
{
    struct sirix_node field;
    uint32_t id = 0;
    enum sirix_status status = sirix_stored_row(&view->document, listed, row, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_stored_name_id(row->record, &id)) {
        *out_equal = name->has_id && id == name->id;
        return SIRIX_OK;
    }
    status = sirix_node_decode(row->record, listed, &field, &err->base);
    if (status == SIRIX_OK && sirix_node_is_field(field.kind)) {
        return sirix_stored_name_equals(&view->document, &field, name, out_equal, &err->base);
    }
    *out_equal = false;
    return status;
}

static enum sirix_status found_field(struct sirix_run *run, struct sirix_store_view *view,
                                     struct sirix_row *row, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    if (sirix_stored_kind(row->record.data) == SIRIX_NODE_FIELD) {
        enum sirix_status status = sirix_stored_row(&view->document, row->key + 1, row, &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    return sirix_store_row_item(&run->work, view, row, out, err);
}

static enum sirix_status run_field(struct sirix_run *run, const struct sirix_item *object,
                                   struct sirix_run_name *name, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(*object);
    struct sirix_stored_name wanted;
    struct sirix_node node;
    struct sirix_row row = {0};
    uint64_t listed = 0;
    bool found = false;
    bool known = false;
    enum sirix_status status = prepare_name(run, view, name, &wanted, err);

    if (status == SIRIX_OK) {
        status = object_keys(view, sirix_store_key(*object), &known, &node, err);
    }
    if (status == SIRIX_OK && !known) {
        status = sirix_stored_member(&view->document, &node, &wanted, &listed, &found, &err->base);
        if (status == SIRIX_OK && found) {
            return sirix_store_item(&run->work, view, listed, out, err);
        }
    }
    /* Objects of one array mostly have their members in one order: the place of the last one first. */
    for (uint32_t i = 0; known && status == SIRIX_OK && i < view->object_count; i++) {
        uint32_t at = name->hint + i;

        at = at >= view->object_count ? at % view->object_count : at;
        status = is_member(view, view->object_keys[at], &wanted, &row, &found, err);
        if (status == SIRIX_OK && found) {
            name->hint = at;
            return found_field(run, view, &row, out, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_item){0};
    }
    return status;
}

static enum sirix_status run_children(struct sirix_run *run, const struct sirix_item *container,
                                      struct sirix_sink *sink, struct sirix_query_error *err)
{
    struct sirix_store_view *view = sirix_store_container_view(*container);
    struct sirix_stored_list list;
    struct sirix_node node;
    enum sirix_status status = sirix_store_container_node(*container, &node, err);

    if (status == SIRIX_OK) {
        status = sirix_stored_list_init(&list, &view->document, &node, 0, &err->base);
    }
    while (status == SIRIX_OK && list.left != 0) {
        const struct sirix_turn_mark turn = sirix_run_turn_begin(run);
        struct sirix_item item = {0};
        uint64_t listed = 0;

        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_stored_list_next(&list, &listed, &err->base);
        }
        if (status == SIRIX_OK) {
            status = sirix_store_item(&run->work, view, listed, &item, err);
        }
        if (status == SIRIX_OK) {
            status = sink->take(sink, run, &item, err);
        }
        sirix_run_turn_end(run, &turn);
    }
    return status;
}

/* --- Descendants ------------------------------------------------------------------------------------ */

struct level {
    struct sirix_stored_list list;
    struct level *up;
    struct level *spare; /* One deeper, made before. */
};

struct descent {
    struct sirix_store_view *view;
    struct sirix_stored_name name;
    struct sirix_sink *sink; /* NULL: they are counted alone. */
    uint64_t count;
    struct level *level;
    uint32_t depth;
};

static enum sirix_status enter(struct sirix_run *run, struct descent *descent,
                               const struct sirix_node *container, struct sirix_query_error *err)
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

static enum sirix_status visit(struct sirix_run *run, struct descent *descent, uint64_t listed,
                               struct sirix_query_error *err)
{
    struct sirix_node node;
    struct sirix_row row = {0};
    bool matches = false;
    enum sirix_status status = sirix_stored_row(&descent->view->document, listed, &row, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    const enum sirix_node_kind kind = sirix_stored_kind(row.record.data);
    if (sirix_node_is_field(kind)) {
        status = is_member(descent->view, listed, &descent->name, &row, &matches, err);
        if (status == SIRIX_OK && matches) {
            status = give_descendant(run, descent, listed, err);
        }
    }
    if (status != SIRIX_OK || (kind != SIRIX_NODE_FIELD && !sirix_node_is_container(kind))) {
        return status;
    }
    status = sirix_stored_value(&descent->view->document, listed, &node, &err->base);
    return status == SIRIX_OK && node.child_count != 0 ? enter(run, descent, &node, err) : status;
}

static enum sirix_status descend(struct sirix_run *run, const struct sirix_item *container,
                                 struct sirix_run_name *name, struct descent *descent,
                                 struct sirix_query_error *err)
{
    struct sirix_node node;

    descent->view = sirix_store_container_view(*container);
    enum sirix_status status = prepare_name(run, descent->view, name, &descent->name, err);
    if (status == SIRIX_OK) {
        status = sirix_store_container_node(*container, &node, err);
    }
    if (status == SIRIX_OK) {
        status = enter(run, descent, &node, err);
    }
    while (status == SIRIX_OK && descent->level != NULL) {
        uint64_t listed = 0;

        if (descent->level->list.left == 0) {
            descent->level = descent->level->up;
            descent->depth--;
            continue;
        }
        status = sirix_work_tick(&run->work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_stored_list_next(&descent->level->list, &listed, &err->base);
        }
        if (status == SIRIX_OK) {
            status = visit(run, descent, listed, err);
        }
    }
    return status;
}

static enum sirix_status run_descendants(struct sirix_run *run, const struct sirix_item *container,
                                         struct sirix_run_name *name, struct sirix_sink *sink,
                                         struct sirix_query_error *err)
{
    struct descent descent = {.sink = sink};

    return descend(run, container, name, &descent, err);
}

static enum sirix_status run_count_descendants(struct sirix_run *run,
                                               const struct sirix_item *container,
                                               struct sirix_run_name *name, uint64_t *out_count,
                                               struct sirix_query_error *err)
{
    struct descent descent = {0};
    enum sirix_status status = descend(run, container, name, &descent, err);

    if (status == SIRIX_OK) {
        *out_count = descent.count;
    }
    return status;
}

const struct sirix_run_store sirix_query_store_ops = {
    .field = run_field,
    .children = run_children,
    .descendants = run_descendants,
    .count_descendants = run_count_descendants,
};
