/* What evaluation asks of stored objects and arrays: fields and members, without items where it can. */
#include <string.h>

#include "query/node/item.h"
#include "json/text.h"

/* --- What the run asks ------------------------------------------------------------------------------ */

enum sirix_status sirix_store_prepare_name(struct sirix_run *run, struct sirix_store_view *view,
                                           struct sirix_run_name *name,
                                           struct sirix_stored_name *out,
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

enum sirix_status sirix_store_row_has_name(struct sirix_store_view *view,
                                           const struct sirix_row *row,
                                           struct sirix_stored_name *name, bool *out_equal,
                                           struct sirix_query_error *err)
{
    struct sirix_node field;
    uint32_t id = 0;
    enum sirix_status status = SIRIX_OK;

    if (sirix_stored_name_id(row->record, &id)) {
        *out_equal = name->has_id && id == name->id;
        return SIRIX_OK;
    }
    status = sirix_node_decode(row->record, row->key, &field, &err->base);
    if (status == SIRIX_OK && sirix_node_is_field(field.kind)) {
        return sirix_stored_name_equals(&view->document, &field, name, out_equal, &err->base);
    }
    *out_equal = false;
    return status;
}

/* Whether the listed row has the name; its row is then at hand. */
static enum sirix_status is_member(struct sirix_store_view *view, uint64_t listed,
                                   struct sirix_stored_name *name, struct sirix_row *row,
                                   bool *out_equal, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_stored_row(&view->document, listed, row, &err->base);

    return status == SIRIX_OK ? sirix_store_row_has_name(view, row, name, out_equal, err) : status;
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
    enum sirix_status status = sirix_store_prepare_name(run, view, name, &wanted, err);

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
    uint64_t first = 0;
    enum sirix_status status = sirix_store_container_node(*container, &node, err);

    if (status == SIRIX_OK && sink->skip != NULL) {
        first = *sink->skip < node.child_count ? *sink->skip : node.child_count;
        *sink->skip -= first;
    }
    if (status == SIRIX_OK) {
        status = sirix_stored_list_init(&list, &view->document, &node, first, &err->base);
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

const struct sirix_run_store sirix_query_store_ops = {
    .field = run_field,
    .children = run_children,
    .descendants = sirix_store_descendants,
    .count_descendants = sirix_store_count_descendants,
};
