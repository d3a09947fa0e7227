/*
 * Where things go: a target and a place become a container and an index, and what is refused is
 * refused here, before anything changes.
 */
#include <inttypes.h>

#include "store/document/edit_state.h"

static const char *kind_name(enum sirix_node_kind kind)
{
    switch (kind) {
    case SIRIX_NODE_OBJECT:
        return "an object";
    case SIRIX_NODE_ARRAY:
        return "an array";
    case SIRIX_NODE_STRING:
        return "a string";
    case SIRIX_NODE_INTEGER:
    case SIRIX_NODE_NUMBER:
        return "a number";
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        return "a boolean";
    default:
        return "null";
    }
}

/* The spot beside a sibling. */
static enum sirix_status beside(struct sirix_rows *rows, uint64_t target, bool right,
                                struct sirix_spot *spot, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    struct sirix_list list = {0};
    enum sirix_status status = SIRIX_OK;

    if (target <= 1) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                 "the document's value has no siblings");
    }
    status = sirix_rows_node(rows, target, &node, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_node(rows, node.parent, &spot->parent, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_of(rows, &spot->parent, &list, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_index(rows, &list, sirix_node_listed(&node), &spot->index, err);
    }
    if (status == SIRIX_OK) {
        spot->index += right ? 1 : 0;
        spot->container = spot->parent.stored.key;
    }
    return status;
}

enum sirix_status sirix_edit_spot(struct sirix_edit *edit, uint64_t target, enum sirix_place place,
                                  uint64_t index, struct sirix_spot *out_spot,
                                  struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_spot spot = {0};
    uint64_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (place == SIRIX_PLACE_LEFT_SIBLING || place == SIRIX_PLACE_RIGHT_SIBLING) {
        status = beside(&rows, target, place == SIRIX_PLACE_RIGHT_SIBLING, &spot, err);
        if (status == SIRIX_OK) {
            *out_spot = spot;
        }
        return status;
    }
    status = sirix_rows_node(&rows, target <= 1 ? 0 : target, &spot.parent, err);
    if (status == SIRIX_OK && target <= 1 && spot.parent.child_count != 0) {
        status = sirix_rows_node(&rows, 1, &spot.parent, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (spot.parent.kind != SIRIX_NODE_DOCUMENT && !sirix_node_is_container(spot.parent.kind)) {
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                 "node %" PRIu64 " is %s, which has no children: update it instead",
                                 spot.parent.key, kind_name(spot.parent.kind));
    }
    spot.container = spot.parent.kind == SIRIX_NODE_DOCUMENT ? 0 : spot.parent.stored.key;
    count = spot.parent.child_count;
    if (place == SIRIX_PLACE_INDEX && index > count) {
        status =
            sirix_fail(err, SIRIX_OUT_OF_RANGE,
                       "index %" PRIu64 " is past the end of %" PRIu64 " children", index, count);
        sirix_error_set_field(err, "index");
        return status;
    }
    spot.index = place == SIRIX_PLACE_FIRST_CHILD  ? 0
                 : place == SIRIX_PLACE_LAST_CHILD ? count
                                                   : index;
    *out_spot = spot;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_name_free(struct sirix_edit *edit,
                                       const struct sirix_document_node *object,
                                       struct sirix_bytes name, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_list list = {0};
    struct sirix_buf pointer;
    const char *text = NULL;
    uint64_t key = 0;
    enum sirix_status status = sirix_list_of(&rows, object, &list, err);

    if (status == SIRIX_OK) {
        status = sirix_list_member(&rows, &list, name, &key, err);
    }
    if (status != SIRIX_OK) {
        return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
    }
    status = sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_DUPLICATE_KEY,
                               "the object has a member of this name already, node %" PRIu64, key);
    sirix_buf_init(&pointer, SIZE_MAX);
    if (sirix_rows_path(&rows, key, SIRIX_PATH_POINTER, &pointer, NULL) == SIRIX_OK &&
        sirix_buf_c_str(&pointer, &text, NULL) == SIRIX_OK) {
        sirix_error_set_pointer(err, text);
    }
    sirix_buf_deinit(&pointer);
    return status;
}
