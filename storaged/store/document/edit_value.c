/*
 * Putting values somewhere: what is checked before the text comes, and what is done after it.
 *
 * Until the end of the text nothing that was in the document is touched; from there on only a failure of
 * memory, disk or data can stop the operation, and breaks the edit.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/build.h"
#include "store/document/edit_install.h"

enum { PIECE_BYTES = 256 * 1024 }; /* Of a text, between two looks at what waits for the disk. */

/* --- Beginning ------------------------------------------------------------------------------------- */

void sirix_edit_operation_free(struct sirix_edit_operation *op)
{
    if (op != NULL) {
        sirix_buf_deinit(&op->name);
        free(op);
    }
}

static enum sirix_status operation_new(struct sirix_edit *edit,
                                       struct sirix_edit_operation **out_op,
                                       struct sirix_error *err)
{
    struct sirix_edit_operation *op = NULL;
    enum sirix_status status = sirix_edit_begin(edit, false, err);

    if (status != SIRIX_OK) {
        return status;
    }
    op = calloc(1, sizeof(*op));
    if (op == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for an operation");
    }
    sirix_buf_init(&op->name, SIZE_MAX);
    *out_op = op;
    return SIRIX_OK;
}

/* Starts the build of an operation; both belong to the edit afterwards. */
static enum sirix_status start(struct sirix_edit *edit, struct sirix_edit_operation *op,
                               const struct sirix_build_options *options, struct sirix_error *err)
{
    enum sirix_status status = sirix_build_new(edit, options, &edit->build, err);

    if (status == SIRIX_OK) {
        edit->value = op;
    }
    return status;
}

static enum sirix_status field_error(const char *field, const char *what, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", what);

    sirix_error_set_field(err, field);
    return status;
}

/* What a name, given or not, means at the spot; checks it. */
static enum sirix_status check_name(struct sirix_edit *edit, const struct sirix_edit_insert *insert,
                                    struct sirix_edit_operation *op, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (op->spot.parent.kind != SIRIX_NODE_OBJECT) {
        return insert->name == NULL
                   ? SIRIX_OK
                   : field_error("name", "only a member of an object has a name", err);
    }
    if (insert->name == NULL) {
        op->is_members = true;
        return SIRIX_OK;
    }
    status = sirix_edit_name_check(*insert->name, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_name_free(edit, &op->spot.parent, *insert->name, err);
    }
    op->has_name = true;
    return status == SIRIX_OK ? sirix_buf_append_bytes(&op->name, *insert->name, err) : status;
}

/* Whether keys are such that no operation will take them as fresh ones, of this edit or another. */
static bool is_old_key(const struct sirix_edit *edit, uint64_t first, uint32_t count)
{
    return first <= SIRIX_KEY_MAX && sirix_resource_keys_taken(edit->base.resource, first, count) &&
           (first >= edit->keys.end || first + count <= edit->keys.next);
}

/* Keys of the top node: those given, those of the value slot, or fresh ones. */
static enum sirix_status top_keys(struct sirix_edit *edit, struct sirix_edit_operation *op,
                                  uint64_t given, struct sirix_error *err)
{
    struct sirix_row row = {0};
    uint32_t count = op->has_name ? 2 : 1;
    enum sirix_status status = SIRIX_OK;

    if (op->spot.parent.kind == SIRIX_NODE_DOCUMENT) {
        op->key = 1;
        return SIRIX_OK;
    }
    if (op->is_members) {
        return SIRIX_OK;
    }
    if (given == 0) {
        return sirix_edit_take_keys(edit, count, &op->key, err);
    }
    if (!is_old_key(edit, given, count)) {
        return sirix_fail(err, SIRIX_INVALID, "node key %" PRIu64 " has not been given before",
                          given);
    }
    for (uint32_t i = 0; i < count; i++) {
        status = sirix_trie_edit_get(edit->trie, given + i, &row, err);
        if (status == SIRIX_OK) {
            return sirix_fail(err, SIRIX_ALREADY_EXISTS, "there is a node %" PRIu64 " already",
                              given + i);
        }
        if (status != SIRIX_NOT_FOUND) {
            return status;
        }
    }
    if (given + count - 1 > edit->keys.max) {
        edit->keys.max = given + count - 1;
    }
    op->key = given;
    return SIRIX_OK;
}

/* An import into a resource that never had a value numbers its nodes from 2, without holes. */
static void number_from_start(struct sirix_edit *edit)
{
    if (edit->base.record.next_key <= SIRIX_LEAF_KEYS && edit->keys.shared == 0) {
        edit->keys.shared_max = SIRIX_LEAF_KEYS - 2;
        edit->keys.straddle = true;
    }
}

static enum sirix_status insert_begin(struct sirix_edit *edit,
                                      const struct sirix_edit_insert *insert, uint64_t given,
                                      struct sirix_error *err)
{
    struct sirix_build_options options = {
        .duplicates = insert->duplicates, .ndjson = insert->ndjson, .depth_max = insert->depth_max};
    struct sirix_edit_operation *op = NULL;
    uint32_t depth = 0;
    enum sirix_status status = operation_new(edit, &op, err);

    if (op == NULL) {
        return status;
    }
    status = sirix_edit_spot(edit, insert->target, insert->place, insert->index, &op->spot, err);
    if (status == SIRIX_OK) {
        status = check_name(edit, insert, op, err);
    }
    if (status == SIRIX_OK && op->is_members && given != 0) {
        status = field_error("name", "a node key belongs to one member, which has a name", err);
    }
    if (status == SIRIX_OK && op->spot.parent.kind != SIRIX_NODE_DOCUMENT) {
        status = sirix_edit_depth(edit, op->spot.parent.key, &depth, err);
    }
    if (status == SIRIX_OK) {
        status = top_keys(edit, op, given, err);
    }
    if (status == SIRIX_OK) {
        if (op->spot.parent.kind == SIRIX_NODE_DOCUMENT) {
            number_from_start(edit);
        }
        op->target = insert->target;
        op->place = insert->place;
        op->index = insert->index;
        op->depth = depth;
        options.form = op->is_members ? SIRIX_BUILD_MEMBERS : SIRIX_BUILD_VALUE;
        options.container = op->is_members ? op->spot.container : op->key + (op->has_name ? 1 : 0);
        options.depth_left = SIRIX_DOCUMENT_DEPTH_MAX - depth + (op->is_members ? 1 : 0);
        status = start(edit, op, &options, err);
    }
    if (status != SIRIX_OK) {
        sirix_edit_operation_free(op);
    }
    return status;
}

enum sirix_status sirix_edit_insert_begin(struct sirix_edit *edit,
                                          const struct sirix_edit_insert *insert,
                                          struct sirix_error *err)
{
    return insert_begin(edit, insert, 0, err);
}

enum sirix_status sirix_edit_update_begin(struct sirix_edit *edit,
                                          const struct sirix_edit_update *update,
                                          struct sirix_error *err)
{
    struct sirix_build_options options = {.form = SIRIX_BUILD_VALUE,
                                          .duplicates = update->duplicates,
                                          .ndjson = update->ndjson,
                                          .depth_max = update->depth_max};
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    struct sirix_document_node node = {0};
    struct sirix_edit_operation *op = NULL;
    uint32_t depth = 0;
    enum sirix_status status = operation_new(edit, &op, err);

    if (op == NULL) {
        return status;
    }
    status = sirix_rows_node(&rows, update->target == 0 ? 1 : update->target, &node, err);
    if (status == SIRIX_OK) {
        status = sirix_edit_depth(edit, node.key, &depth, err);
    }
    if (status == SIRIX_OK) {
        op->is_update = true;
        op->key = node.key;
        options.container = node.is_member ? node.key + 1 : node.key;
        options.depth_left = SIRIX_DOCUMENT_DEPTH_MAX - depth + 1;
        options.tape = sirix_node_is_container(node.kind);
        status = start(edit, op, &options, err);
    }
    if (status != SIRIX_OK) {
        sirix_edit_operation_free(op);
    }
    return status;
}

/* --- Feeding and ending ---------------------------------------------------------------------------- */

static void forget_value(struct sirix_edit *edit)
{
    sirix_build_free(edit->build);
    sirix_edit_operation_free(edit->value);
    edit->build = NULL;
    edit->value = NULL;
}

void sirix_edit_unkeep(struct sirix_edit *edit)
{
    sirix_build_free(edit->kept_build);
    sirix_edit_operation_free(edit->kept_value);
    edit->kept_build = NULL;
    edit->kept_value = NULL;
}

/* The only operation of an edit, if it is an insert, may have to move to another base. */
static void keep_value(struct sirix_edit *edit)
{
    if (edit->operations != 1 || edit->value->is_update || edit->build->duplicate_count != 0) {
        forget_value(edit);
        return;
    }
    edit->kept_build = edit->build;
    edit->kept_value = edit->value;
    edit->build = NULL;
    edit->value = NULL;
}

/* Takes the value back; the edit is as before it, or broken. */
static void drop_value(struct sirix_edit *edit)
{
    struct sirix_error error = {0};

    if (edit->broken == SIRIX_OK) {
        enum sirix_status status = sirix_build_undo(edit->build, &error);
        (void)sirix_edit_break(edit, status, &error);
    }
    forget_value(edit);
}

static enum sirix_status check_open(struct sirix_edit *edit, struct sirix_error *err)
{
    if (edit->broken == SIRIX_OK && edit->build == NULL) {
        return sirix_fail(err, SIRIX_INTERNAL, "no value is open");
    }
    if (edit->broken != SIRIX_OK && err != NULL) {
        *err = edit->broken_error;
    }
    return edit->broken;
}

enum sirix_status sirix_edit_value_feed(struct sirix_edit *edit, struct sirix_bytes text,
                                        struct sirix_error *err)
{
    const char *at = text.data;
    enum sirix_status status = check_open(edit, err);

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t left = text.len; status == SIRIX_OK && left > 0;) {
        size_t len = left < PIECE_BYTES ? left : PIECE_BYTES;

        status = sirix_edit_early_between(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_build_feed(edit->build, (struct sirix_bytes){.data = at, .len = len},
                                      false, err);
        }
        at += len;
        left -= len;
    }
    if (status != SIRIX_OK) {
        drop_value(edit);
    }
    return status;
}

enum sirix_status sirix_edit_value_end(struct sirix_edit *edit,
                                       struct sirix_edit_result *out_result,
                                       struct sirix_error *err)
{
    struct sirix_edit_result result = {0};
    struct sirix_error error = {0};
    bool touched = false;
    enum sirix_status status = check_open(edit, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_build_feed(edit->build, (struct sirix_bytes){0}, true, &error);
    if (status == SIRIX_OK) {
        status = sirix_build_finish(edit->build, &error);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_install(edit, edit->value, &result, &touched, &error);
    }
    if (status != SIRIX_OK && touched) {
        (void)sirix_edit_break(edit, status, &error);
        forget_value(edit);
    } else if (status != SIRIX_OK || !result.changed) {
        drop_value(edit);
    } else {
        keep_value(edit);
        status = sirix_edit_break(edit, sirix_edit_early_tidy(edit, &error), &error);
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = error;
        }
        return status;
    }
    *out_result = result;
    return SIRIX_OK;
}

void sirix_edit_value_abort(struct sirix_edit *edit)
{
    if (edit->build != NULL) {
        drop_value(edit);
    }
}

static enum sirix_status feed_and_end(struct sirix_edit *edit, struct sirix_bytes text,
                                      struct sirix_edit_result *out_result, struct sirix_error *err)
{
    enum sirix_status status = sirix_edit_value_feed(edit, text, err);

    return status == SIRIX_OK ? sirix_edit_value_end(edit, out_result, err) : status;
}

enum sirix_status sirix_edit_insert(struct sirix_edit *edit, const struct sirix_edit_insert *insert,
                                    struct sirix_bytes text, struct sirix_edit_result *out_result,
                                    struct sirix_error *err)
{
    enum sirix_status status = insert_begin(edit, insert, 0, err);

    return status == SIRIX_OK ? feed_and_end(edit, text, out_result, err) : status;
}

enum sirix_status sirix_edit_update(struct sirix_edit *edit, const struct sirix_edit_update *update,
                                    struct sirix_bytes text, struct sirix_edit_result *out_result,
                                    struct sirix_error *err)
{
    enum sirix_status status = sirix_edit_update_begin(edit, update, err);

    return status == SIRIX_OK ? feed_and_end(edit, text, out_result, err) : status;
}

enum sirix_status sirix_edit_insert_keyed(struct sirix_edit *edit,
                                          const struct sirix_edit_insert *insert, uint64_t key,
                                          struct sirix_bytes text,
                                          struct sirix_edit_result *out_result,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (key < 2) {
        return sirix_fail(err, SIRIX_INVALID, "node keys from 2 on may be given");
    }
    status = insert_begin(edit, insert, key, err);
    return status == SIRIX_OK ? feed_and_end(edit, text, out_result, err) : status;
}
