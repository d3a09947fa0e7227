/*
 * Scalars of a value that is built, long strings among them, and the hash of the text.
 */
#include "store/document/build.h"

/* --- Tape: the minified text as a hash ------------------------------------------------------------- */

enum sirix_status sirix_build_tape(struct sirix_build *build, const void *data, size_t len,
                                   struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append(&build->tape, data, len, err);

    if (status == SIRIX_OK && build->tape.len >= SIRIX_BUILD_TAPE_BYTES) {
        status = sirix_sha256_update(&build->sha, build->tape.data, build->tape.len, err);
        sirix_buf_clear(&build->tape);
    }
    return status;
}

enum sirix_status sirix_build_hash(struct sirix_build *build, uint8_t out_hash[SIRIX_SHA256_BYTES],
                                   struct sirix_error *err)
{
    enum sirix_status status =
        sirix_sha256_update(&build->sha, build->tape.data, build->tape.len, err);

    sirix_buf_clear(&build->tape);
    return status == SIRIX_OK ? sirix_sha256_final(&build->sha, out_hash, err) : status;
}

/* What stands before a value: a comma after a sibling; for members the comma and the name. */
enum sirix_status sirix_build_tape_before(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err)
{
    const struct sirix_build_frame *frame =
        build->depth == 0 ? NULL : &build->frames[build->depth - 1];
    bool is_name = event->kind == SIRIX_JSON_NAME;
    enum sirix_status status = SIRIX_OK;

    if (frame != NULL && frame->count > 1 && frame->is_object == is_name) {
        status = sirix_build_tape(build, ",", 1, err);
    }
    if (status == SIRIX_OK && is_name) {
        status = sirix_build_tape(build, "\"", 1, err);
        if (status == SIRIX_OK) {
            status = sirix_build_tape(build, event->text.data, event->text.len, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_build_tape(build, "\":", 2, err);
        }
    }
    return status;
}

static enum sirix_status tape_scalar(struct sirix_build *build,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    switch (event->kind) {
    case SIRIX_JSON_TRUE:
        return sirix_build_tape(build, "true", 4, err);
    case SIRIX_JSON_FALSE:
        return sirix_build_tape(build, "false", 5, err);
    case SIRIX_JSON_NULL:
        return sirix_build_tape(build, "null", 4, err);
    case SIRIX_JSON_NUMBER:
        return sirix_build_tape(build, event->text.data, event->text.len, err);
    default:
        break;
    }
    if (event->is_first) {
        status = sirix_build_tape(build, "\"", 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_build_tape(build, event->text.data, event->text.len, err);
    }
    return status == SIRIX_OK && event->is_last ? sirix_build_tape(build, "\"", 1, err) : status;
}

/* --- Values ---------------------------------------------------------------------------------------- */

/* Before a value: an element gets its key and place. A member has both since its name. */
enum sirix_status sirix_build_begin_value(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err)
{
    struct sirix_build_frame *frame = build->depth == 0 ? NULL : &build->frames[build->depth - 1];
    enum sirix_status status = SIRIX_OK;

    build->node_count++;
    if (frame == NULL) {
        build->child_path = 0;
    } else if (!frame->is_object) {
        status = sirix_build_take_keys(build, 1, &build->child_key, err);
        if (status == SIRIX_OK) {
            build->child.key = build->child_key;
            build->child.parent = frame->container;
            status = sirix_build_add_child(build, build->child_key, 0, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_path_summary_add(&build->paths, frame->path, SIRIX_PATH_STEP_ELEMENT,
                                            &build->child_path, err);
        }
    }
    if (status == SIRIX_OK && build->options.tape) {
        status = sirix_build_tape_before(build, event, err);
    }
    return status;
}

/* The top value keeps its texts itself. */
static enum sirix_status keep_top(struct sirix_build *build, const struct sirix_node *node,
                                  struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&build->top_bytes);
    status = sirix_buf_append_bytes(&build->top_bytes, node->text.bytes, err);
    if (status == SIRIX_OK) {
        build->top = *node;
        build->top.text.bytes = sirix_buf_view(&build->top_bytes);
        build->has_top = true;
    }
    return status;
}

/* A scalar whose payload stands in build->child. */
static enum sirix_status put_scalar(struct sirix_build *build, enum sirix_node_kind kind,
                                    uint64_t text_len, struct sirix_error *err)
{
    struct sirix_build_frame *frame = build->depth == 0 ? NULL : &build->frames[build->depth - 1];

    build->text_bytes += text_len;
    build->child.kind = kind;
    sirix_path_summary_mark(&build->paths, build->child_path, kind);
    if (frame == NULL) {
        return keep_top(build, &build->child, err);
    }
    if (frame->is_object) {
        build->child.kind =
            (enum sirix_node_kind)((int)kind + SIRIX_NODE_FIELD_STRING - SIRIX_NODE_STRING);
    }
    return sirix_build_put(build, &build->child, err);
}

/* A text of the value in build->child: in the row, or on a page of its own. */
static enum sirix_status set_text(struct sirix_build *build, const struct sirix_json_event *event,
                                  struct sirix_error *err)
{
    struct sirix_text text = {.bytes = event->text, .len = event->text.len};
    enum sirix_status status = SIRIX_OK;

    if (text.len > SIRIX_TEXT_INLINE_MAX) {
        status = sirix_edit_early_text(build->edit, event->text, build->bulk == NULL, &text, err);
    }
    if (status == SIRIX_OK) {
        text.escaped = event->kind == SIRIX_JSON_STRING && event->has_escapes;
        build->child.text = text;
    }
    return status;
}

static enum sirix_status on_number(struct sirix_build *build, const struct sirix_json_event *event,
                                   struct sirix_error *err)
{
    struct sirix_node *node = &build->child;
    enum sirix_status status = SIRIX_OK;

    node->text = (struct sirix_text){0};
    node->number_text = event->number.number_class == SIRIX_JSON_NUMBER_TEXT;
    node->integer = event->number.mantissa;
    node->scale = event->number.scale;
    if (node->number_text) {
        status = set_text(build, event, err);
    }
    return status == SIRIX_OK ? put_scalar(build,
                                           event->number.number_class == SIRIX_JSON_NUMBER_INTEGER
                                               ? SIRIX_NODE_INTEGER
                                               : SIRIX_NODE_NUMBER,
                                           event->text.len, err)
                              : status;
}

enum sirix_status sirix_build_scalar(struct sirix_build *build,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    enum sirix_status status = sirix_build_begin_value(build, event, err);

    if (status == SIRIX_OK && build->options.tape) {
        status = tape_scalar(build, event, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    switch (event->kind) {
    case SIRIX_JSON_STRING:
        status = set_text(build, event, err);
        return status == SIRIX_OK ? put_scalar(build, SIRIX_NODE_STRING, event->text.len + 2, err)
                                  : status;
    case SIRIX_JSON_NUMBER:
        return on_number(build, event, err);
    case SIRIX_JSON_TRUE:
        build->child.text = (struct sirix_text){0};
        return put_scalar(build, SIRIX_NODE_TRUE, 4, err);
    case SIRIX_JSON_FALSE:
        build->child.text = (struct sirix_text){0};
        return put_scalar(build, SIRIX_NODE_FALSE, 5, err);
    default:
        build->child.text = (struct sirix_text){0};
        return put_scalar(build, SIRIX_NODE_NULL, 4, err);
    }
}

/* --- Long strings: a part an event ----------------------------------------------------------------- */

static enum sirix_status string_end(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_text text = {0};
    uint64_t decoded = 0;
    enum sirix_status status = sirix_string_writer_finish(&build->string, &text, &decoded, err);

    sirix_string_writer_deinit(&build->string);
    build->string_open = false;
    if (status == SIRIX_OK && build->bulk == NULL) {
        status = sirix_edit_early_keep(build->edit, text.address,
                                       sirix_buf_view(&build->string_copy), err);
    }
    sirix_buf_deinit(&build->string_copy);
    sirix_buf_init(&build->string_copy, SIZE_MAX);
    if (status == SIRIX_OK) {
        build->child.text = text;
        status = put_scalar(build, SIRIX_NODE_STRING, text.len + 2, err);
    }
    return status;
}

enum sirix_status sirix_build_string_part(struct sirix_build *build,
                                          const struct sirix_json_event *event,
                                          struct sirix_error *err)
{
    struct sirix_page_writer *pages = NULL;
    enum sirix_status status = SIRIX_OK;

    if (event->is_first) {
        status = sirix_build_begin_value(build, event, err);
        if (status == SIRIX_OK) {
            status = sirix_edit_early(build->edit, &pages, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_string_writer_init(&build->string, pages, err);
            build->string_open = status == SIRIX_OK;
        }
    }
    if (status == SIRIX_OK && build->options.tape) {
        status = tape_scalar(build, event, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_string_writer_append(&build->string, event->text, err);
    }
    if (status == SIRIX_OK && build->bulk == NULL) {
        status = sirix_buf_append_bytes(&build->string_copy, event->text, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_edit_early_relieve(build->edit, err);
    }
    return status == SIRIX_OK && event->is_last ? string_end(build, err) : status;
}
