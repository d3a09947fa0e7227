/* The writer of patches: its life, and the text of each operation. */
#include <stdlib.h>

#include "store/document/patch_state.h"
#include "json/pointer.h"
#include "json/text.h"

/* --- Life --------------------------------------------------------------------------------------- */

enum sirix_status sirix_patch_writer_new(const struct sirix_patch_options *options,
                                         struct sirix_patch_writer **out_writer,
                                         struct sirix_error *err)
{
    const struct sirix_diff_options diff = {
        .old_view = options->old_view,
        .new_view = options->new_view,
        .reader = options->reader,
        .pause = options->pause,
        .pause_context = options->pause_context,
    };
    struct sirix_patch_writer *writer = calloc(1, sizeof(*writer));
    enum sirix_status status = SIRIX_OK;

    if (writer == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the writer of a patch");
    }
    sirix_buf_init(&writer->container_path, SIZE_MAX);
    sirix_buf_init(&writer->pointer, SIZE_MAX);
    sirix_buf_init(&writer->name, SIZE_MAX);
    writer->container = UINT64_MAX;
    writer->max_ops = options->max_ops == 0 ? SIRIX_PATCH_OPS_DEFAULT : options->max_ops;
    if (writer->max_ops > SIRIX_PATCH_OPS_MAX) {
        writer->max_ops = SIRIX_PATCH_OPS_MAX;
    }
    status = sirix_diff_new(&diff, &writer->diff, err);
    if (status == SIRIX_OK) {
        status = sirix_patch_collect(writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_plan(writer, err);
    }
    if (status != SIRIX_OK) {
        sirix_patch_writer_free(writer);
        return status;
    }
    *out_writer = writer;
    return SIRIX_OK;
}

void sirix_patch_writer_free(struct sirix_patch_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    sirix_serialiser_free(writer->value);
    sirix_diff_free(writer->diff);
    sirix_buf_deinit(&writer->container_path);
    sirix_buf_deinit(&writer->pointer);
    sirix_buf_deinit(&writer->name);
    free(writer->items);
    free(writer->ops);
    free(writer);
}

uint64_t sirix_patch_writer_count(const struct sirix_patch_writer *writer)
{
    return writer->op_count;
}

struct sirix_diff_counts sirix_patch_writer_changes(const struct sirix_patch_writer *writer)
{
    return sirix_diff_counts(writer->diff);
}

/* --- Writing ------------------------------------------------------------------------------------ */

/* Sets pointer to that of a child of the item's container: a position, or the name a side gives it. */
static enum sirix_status set_child_pointer(struct sirix_patch_writer *writer,
                                           const struct sirix_patch_item *item, uint64_t position,
                                           enum sirix_diff_side side, struct sirix_error *err)
{
    struct sirix_rows *before = &writer->diff->rows_before;
    struct sirix_rows *rows = side == SIRIX_DIFF_BEFORE ? before : &writer->diff->rows_after;
    uint64_t hash = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&writer->pointer);
    if (item->parent == 0) {
        return SIRIX_OK; /* The value itself. */
    }
    if (writer->container != item->parent) {
        writer->container = UINT64_MAX;
        sirix_buf_clear(&writer->container_path);
        status =
            sirix_rows_path(before, item->parent, SIRIX_PATH_POINTER, &writer->container_path, err);
        if (status == SIRIX_OK) {
            writer->container = item->parent;
        }
    }
    if (status == SIRIX_OK) {
        status =
            sirix_buf_append_bytes(&writer->pointer, sirix_buf_view(&writer->container_path), err);
    }
    if (status == SIRIX_OK && !item->is_member) {
        return sirix_json_pointer_add_position(&writer->pointer, position, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_name(writer, rows,
                                  side == SIRIX_DIFF_BEFORE ? item->key_before : item->key_after,
                                  &hash, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_add_name(&writer->pointer, sirix_buf_view(&writer->name), err);
    }
    return status;
}

/* Appends ,"label":"pointer" */
static enum sirix_status append_pointer(struct sirix_patch_writer *writer, const char *label,
                                        struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(out, label, err);

    if (status == SIRIX_OK) {
        status = sirix_json_text_escape(out, sirix_buf_view(&writer->pointer), err);
    }
    return status == SIRIX_OK ? sirix_buf_append_u8(out, '"', err) : status;
}

static enum sirix_status append_path(struct sirix_patch_writer *writer,
                                     const struct sirix_patch_op *op, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    const struct sirix_patch_item *item = &writer->items[op->item];
    enum sirix_status status = SIRIX_OK;

    switch (op->kind) {
    case SIRIX_PATCH_REPLACE:
        sirix_buf_clear(&writer->pointer);
        status = sirix_rows_path(&writer->diff->rows_before, item->key_before, SIRIX_PATH_POINTER,
                                 &writer->pointer, err);
        break;
    case SIRIX_PATCH_REMOVE:
        status = set_child_pointer(writer, item, op->from, SIRIX_DIFF_BEFORE, err);
        break;
    case SIRIX_PATCH_MOVE:
        status = set_child_pointer(writer, item, op->from, SIRIX_DIFF_BEFORE, err);
        if (status == SIRIX_OK) {
            status = append_pointer(writer, ",\"from\":\"", out, err);
        }
        if (status == SIRIX_OK) {
            status = set_child_pointer(writer, item, op->to, SIRIX_DIFF_AFTER, err);
        }
        break;
    case SIRIX_PATCH_ADD:
        status = set_child_pointer(writer, item, op->to, SIRIX_DIFF_AFTER, err);
        break;
    }
    return status == SIRIX_OK ? append_pointer(writer, ",\"path\":\"", out, err) : status;
}

/* Writes an operation up to its value, which is then open, or all of it. */
static enum sirix_status begin_op(struct sirix_patch_writer *writer, struct sirix_buf *out,
                                  struct sirix_error *err)
{
    static const char *const heads[] = {
        [SIRIX_PATCH_REPLACE] = "{\"op\":\"replace\"",
        [SIRIX_PATCH_ADD] = "{\"op\":\"add\"",
        [SIRIX_PATCH_REMOVE] = "{\"op\":\"remove\"",
        [SIRIX_PATCH_MOVE] = "{\"op\":\"move\"",
    };
    const struct sirix_patch_op *op = &writer->ops[writer->at];
    const struct sirix_serialise_options options = {.key = writer->items[op->item].key_after};
    enum sirix_status status = sirix_buf_append_str(out, writer->at == 0 ? "" : ",", err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, heads[op->kind], err);
    }
    if (status == SIRIX_OK) {
        status = append_path(writer, op, out, err);
    }
    if (status == SIRIX_OK && (op->kind == SIRIX_PATCH_REMOVE || op->kind == SIRIX_PATCH_MOVE)) {
        writer->at += 1;
        return sirix_buf_append_u8(out, '}', err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out, ",\"value\":", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_serialiser_new(&writer->diff->after, &options, &writer->value, err);
    }
    return status;
}

static enum sirix_status continue_value(struct sirix_patch_writer *writer, size_t max_bytes,
                                        struct sirix_buf *out, struct sirix_error *err)
{
    bool done = false;
    enum sirix_status status = sirix_serialiser_step(writer->value, max_bytes, out, &done, err);

    if (status == SIRIX_OK && done) {
        sirix_serialiser_free(writer->value);
        writer->value = NULL;
        writer->at += 1;
        status = sirix_buf_append_u8(out, '}', err);
    }
    return status;
}

enum sirix_status sirix_patch_writer_step(struct sirix_patch_writer *writer, size_t max_bytes,
                                          struct sirix_buf *out, bool *out_done,
                                          struct sirix_error *err)
{
    size_t from = out->len;
    enum sirix_status status = SIRIX_OK;

    if (!writer->begun) {
        status = sirix_buf_append_u8(out, '[', err);
        writer->begun = status == SIRIX_OK;
    }
    while (status == SIRIX_OK && out->len - from < max_bytes && !writer->done) {
        if (writer->value != NULL) {
            status = continue_value(writer, max_bytes - (out->len - from), out, err);
        } else if (writer->at < writer->op_count) {
            status = begin_op(writer, out, err);
        } else {
            status = sirix_buf_append_u8(out, ']', err);
            writer->done = status == SIRIX_OK;
        }
    }
    if (status == SIRIX_OK) {
        *out_done = writer->done;
    }
    return status;
}
