/*
 * The builder's main line: events of the JSON reader become rows.
 */
#include "store/document/build.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

enum { FRAMES_MIN = 8 };

enum sirix_status sirix_build_new(struct sirix_edit *edit,
                                  const struct sirix_build_options *options,
                                  struct sirix_build **out_build, struct sirix_error *err)
{
    const struct sirix_json_reader_options reader_options = {.ndjson = options->ndjson};
    struct sirix_build *build = calloc(1, sizeof(*build));
    enum sirix_status status = SIRIX_OK;

    if (build == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a value");
    }
    build->edit = edit;
    build->options = *options;
    build->bulk_run = SIRIX_BUILD_BULK_RUN_MIN;
    build->early_fresh =
        edit->early == NULL && edit->early_count == 0 && edit->intent == 0 && !edit->has_early;
    sirix_json_reader_init(&build->reader, &reader_options);
    sirix_buf_init(&build->top_bytes, SIZE_MAX);
    sirix_buf_init(&build->child_name, SIZE_MAX);
    sirix_buf_init(&build->string_copy, SIZE_MAX);
    sirix_buf_init(&build->tape, SIZE_MAX);
    if (options->tape) {
        status = sirix_sha256_init(&build->sha, err);
    }
    if (status != SIRIX_OK) {
        sirix_build_free(build);
        return status;
    }
    *out_build = build;
    return SIRIX_OK;
}

void sirix_build_frame_deinit(struct sirix_build_frame *frame)
{
    sirix_open_list_free(frame->open);
    if (frame->seen != NULL) {
        sirix_map_deinit(frame->seen);
        free(frame->seen);
    }
    sirix_child_bulk_free(frame->bulk);
    sirix_name_bulk_free(frame->names);
}

void sirix_build_free(struct sirix_build *build)
{
    if (build == NULL) {
        return;
    }
    for (uint32_t i = 0; i < build->depth; i++) {
        sirix_build_frame_deinit(&build->frames[i]);
    }
    if (build->string_open) {
        sirix_string_writer_deinit(&build->string);
    }
    sirix_open_list_free(build->top_open);
    sirix_trie_bulk_free(build->bulk);
    sirix_json_reader_deinit(&build->reader);
    sirix_sha256_deinit(&build->sha);
    sirix_buf_deinit(&build->top_bytes);
    sirix_buf_deinit(&build->child_name);
    sirix_buf_deinit(&build->string_copy);
    sirix_buf_deinit(&build->tape);
    free(build->frames);
    free(build->keys);
    free(build->tokens);
    free(build->hashes);
    free(build->duplicates);
    free(build->taken);
    free(build);
}

/* --- Tape: the minified text as a hash ------------------------------------------------------------- */

static enum sirix_status tape(struct sirix_build *build, const void *data, size_t len,
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
static enum sirix_status tape_before(struct sirix_build *build,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    const struct sirix_build_frame *frame =
        build->depth == 0 ? NULL : &build->frames[build->depth - 1];
    bool is_name = event->kind == SIRIX_JSON_NAME;
    enum sirix_status status = SIRIX_OK;

    if (frame != NULL && frame->count > 1 && frame->is_object == is_name) {
        status = tape(build, ",", 1, err);
    }
    if (status == SIRIX_OK && is_name) {
        status = tape(build, "\"", 1, err);
        if (status == SIRIX_OK) {
            status = tape(build, event->text.data, event->text.len, err);
        }
        if (status == SIRIX_OK) {
            status = tape(build, "\":", 2, err);
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
        return tape(build, "true", 4, err);
    case SIRIX_JSON_FALSE:
        return tape(build, "false", 5, err);
    case SIRIX_JSON_NULL:
        return tape(build, "null", 4, err);
    case SIRIX_JSON_NUMBER:
        return tape(build, event->text.data, event->text.len, err);
    default:
        break;
    }
    if (event->is_first) {
        status = tape(build, "\"", 1, err);
    }
    if (status == SIRIX_OK) {
        status = tape(build, event->text.data, event->text.len, err);
    }
    return status == SIRIX_OK && event->is_last ? tape(build, "\"", 1, err) : status;
}

/* --- Values ---------------------------------------------------------------------------------------- */

static struct sirix_build_frame *innermost(struct sirix_build *build)
{
    return build->depth == 0 ? NULL : &build->frames[build->depth - 1];
}

/* Before a value: an element gets its key and place. A member has both since its name. */
static enum sirix_status begin_value(struct sirix_build *build,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    struct sirix_build_frame *frame = innermost(build);
    enum sirix_status status = SIRIX_OK;

    build->node_count++;
    if (frame != NULL && !frame->is_object) {
        status = sirix_build_take_keys(build, 1, &build->child_key, err);
        if (status == SIRIX_OK) {
            build->child.key = build->child_key;
            build->child.parent = frame->container;
            status = sirix_build_add_child(build, build->child_key, 0, err);
        }
    }
    if (status == SIRIX_OK && build->options.tape) {
        status = tape_before(build, event, err);
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
    struct sirix_build_frame *frame = innermost(build);

    build->text_bytes += text_len;
    build->child.kind = kind;
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

static enum sirix_status on_scalar(struct sirix_build *build, const struct sirix_json_event *event,
                                   struct sirix_error *err)
{
    enum sirix_status status = begin_value(build, event, err);

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

static enum sirix_status on_string_part(struct sirix_build *build,
                                        const struct sirix_json_event *event,
                                        struct sirix_error *err)
{
    struct sirix_page_writer *pages = NULL;
    enum sirix_status status = SIRIX_OK;

    if (event->is_first) {
        status = begin_value(build, event, err);
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

/* --- Containers ------------------------------------------------------------------------------------ */

static enum sirix_status too_deep(struct sirix_build *build, const struct sirix_json_event *event,
                                  struct sirix_error *err)
{
    enum sirix_status status = sirix_fail_reason(
        err, SIRIX_INVALID, SIRIX_REASON_DEPTH_LIMIT,
        "the document would be nested deeper than %d levels", SIRIX_DOCUMENT_DEPTH_MAX);

    sirix_json_reader_locate(&build->reader, event, err);
    return status;
}

static enum sirix_status push(struct sirix_build *build, const struct sirix_build_frame *frame,
                              struct sirix_error *err)
{
    if (build->depth == build->frame_cap) {
        uint32_t cap = build->frame_cap == 0 ? FRAMES_MIN : build->frame_cap * 2;
        struct sirix_build_frame *frames = realloc(build->frames, cap * sizeof(*frames));
        if (frames == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u levels", cap);
        }
        build->frames = frames;
        build->frame_cap = cap;
    }
    build->frames[build->depth++] = *frame;
    return SIRIX_OK;
}

/* Where the row of the container that begins here will stand; a member's field row is put now. */
static enum sirix_status place_container(struct sirix_build *build, struct sirix_build_frame *frame,
                                         struct sirix_error *err)
{
    const struct sirix_build_frame *outer = innermost(build);
    enum sirix_status status = SIRIX_OK;

    if (outer == NULL) {
        frame->container = build->options.container;
        return SIRIX_OK;
    }
    if (outer->is_object) {
        build->child.kind = SIRIX_NODE_FIELD;
        build->child.text = (struct sirix_text){0};
        status = sirix_build_put(build, &build->child, err);
        frame->container = build->child_key + 1;
        frame->parent = build->child_key;
    } else {
        frame->container = build->child_key;
        frame->parent = outer->container;
        frame->order = build->child.order;
        frame->label = build->child.label;
    }
    if (status == SIRIX_OK && build->bulk != NULL && frame->container >= build->bulk_first) {
        status = sirix_trie_bulk_hold(build->bulk, frame->container, err);
    }
    return status;
}

static enum sirix_status on_begin(struct sirix_build *build, const struct sirix_json_event *event,
                                  struct sirix_error *err)
{
    struct sirix_build_frame frame = {
        .is_object = event->kind == SIRIX_JSON_OBJECT_BEGIN,
    };
    bool is_members = build->depth == 0 && build->options.form == SIRIX_BUILD_MEMBERS;
    enum sirix_status status = SIRIX_OK;

    if (build->depth >= build->options.depth_left) {
        return too_deep(build, event, err);
    }
    if (is_members) {
        if (!frame.is_object) {
            status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                       "members of an object are given as an object");
            sirix_json_reader_locate(&build->reader, event, err);
            return status;
        }
        frame.container = build->options.container;
        return push(build, &frame, err);
    }
    status = begin_value(build, event, err);
    if (status == SIRIX_OK && build->options.tape) {
        status = tape(build, frame.is_object ? "{" : "[", 1, err);
    }
    if (status == SIRIX_OK) {
        status = place_container(build, &frame, err);
    }
    build->text_bytes += 2;
    frame.keys_base = build->key_count;
    frame.hashes_base = build->hash_count;
    return status == SIRIX_OK ? push(build, &frame, err) : status;
}

static void pop(struct sirix_build *build)
{
    struct sirix_build_frame *frame = innermost(build);

    build->key_count = frame->keys_base;
    build->hash_count = frame->hashes_base;
    sirix_build_frame_deinit(frame);
    build->depth--;
}

static enum sirix_status close_top(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_build_frame *frame = innermost(build);
    struct sirix_node node = {.key = frame->container};
    enum sirix_status status = SIRIX_OK;

    if (build->options.form == SIRIX_BUILD_MEMBERS) {
        build->has_top = true; /* The keys stay where they are. */
        return SIRIX_OK;
    }
    node.kind = frame->is_object ? SIRIX_NODE_OBJECT : SIRIX_NODE_ARRAY;
    sirix_buf_clear(&build->top_bytes);
    status = sirix_build_children(build, &node, &build->top_bytes, err);
    if (status == SIRIX_OK) {
        build->top = node;
        build->has_top = true;
        build->top_open = frame->open;
        frame->open = NULL;
        pop(build);
    }
    return status;
}

enum sirix_status sirix_build_close(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_build_frame *frame = innermost(build);
    struct sirix_node node = {.key = frame->container};
    enum sirix_status status = SIRIX_OK;

    if (build->options.tape) {
        status = tape(build, frame->is_object ? "}" : "]", 1, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (build->depth == 1) {
        return close_top(build, err);
    }
    node.kind = frame->is_object ? SIRIX_NODE_OBJECT : SIRIX_NODE_ARRAY;
    node.parent = frame->parent;
    node.order = frame->order;
    node.label = frame->label;
    sirix_buf_clear(&build->edit->deltas);
    status = sirix_build_children(build, &node, &build->edit->deltas, err);
    if (status == SIRIX_OK && frame->open != NULL) {
        status = sirix_edit_open_list_keep(build->edit, frame->open, err);
        frame->open = status == SIRIX_OK ? NULL : frame->open;
    }
    if (status == SIRIX_OK) {
        status = sirix_build_put(build, &node, err);
    }
    if (status == SIRIX_OK) {
        pop(build);
    }
    return status;
}

static enum sirix_status on_name(struct sirix_build *build, const struct sirix_json_event *event,
                                 struct sirix_error *err)
{
    enum sirix_status status = sirix_build_member(build, event, err);

    return status == SIRIX_OK && build->options.tape ? tape_before(build, event, err) : status;
}

/* --- Feeding --------------------------------------------------------------------------------------- */

static enum sirix_status handle(struct sirix_build *build, const struct sirix_json_event *event,
                                struct sirix_error *err)
{
    if (build->depth == 0 && build->options.form == SIRIX_BUILD_MEMBERS &&
        event->kind != SIRIX_JSON_OBJECT_BEGIN && event->kind != SIRIX_JSON_ARRAY_BEGIN) {
        enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                     "members of an object are given as an object");
        sirix_json_reader_locate(&build->reader, event, err);
        return status;
    }
    switch (event->kind) {
    case SIRIX_JSON_OBJECT_BEGIN:
    case SIRIX_JSON_ARRAY_BEGIN:
        return on_begin(build, event, err);
    case SIRIX_JSON_OBJECT_END:
    case SIRIX_JSON_ARRAY_END:
        return sirix_build_close(build, err);
    case SIRIX_JSON_NAME:
        return on_name(build, event, err);
    case SIRIX_JSON_STRING_PART:
        return on_string_part(build, event, err);
    default:
        return on_scalar(build, event, err);
    }
}

/* Between events: now and then segments go to disk; a value that has grown large goes on in bulk. */
static enum sirix_status look_around(struct sirix_build *build, struct sirix_error *err)
{
    if (build->has_refused) {
        return sirix_build_refuse(build, err);
    }
    if (++build->events % SIRIX_BUILD_EVENTS_PER_RELIEF != 0) {
        return SIRIX_OK;
    }
    if (build->bulk == NULL && sirix_json_reader_offset(&build->reader) > SIRIX_EDIT_BULK_BYTES) {
        return sirix_build_bulk_start(build, err);
    }
    return build->bulk != NULL ? sirix_edit_early_relieve(build->edit, err) : SIRIX_OK;
}

enum sirix_status sirix_build_feed(struct sirix_build *build, struct sirix_bytes text, bool is_last,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_json_reader_feed(&build->reader, text, is_last);
    while (status == SIRIX_OK) {
        struct sirix_json_event event;
        status = sirix_json_reader_next(&build->reader, &event, err);
        if (status != SIRIX_OK || event.kind == SIRIX_JSON_NEED_INPUT ||
            event.kind == SIRIX_JSON_END) {
            break;
        }
        status = handle(build, &event, err);
        if (status == SIRIX_OK) {
            status = look_around(build, err);
        }
    }
    return status;
}

enum sirix_status sirix_build_finish(struct sirix_build *build, struct sirix_error *err)
{
    assert(build->has_top);
    return build->bulk != NULL ? sirix_build_bulk_finish(build, err) : SIRIX_OK;
}

/* --- Undoing --------------------------------------------------------------------------------------- */

static bool is_taken(const struct sirix_build *build, uint64_t key)
{
    for (size_t i = 0; i < build->taken_count; i++) {
        if (key >= build->taken[i].first && key <= build->taken[i].last) {
            return true;
        }
    }
    return false;
}

static enum sirix_status drop_open_lists(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_map *lists = &build->edit->open_lists;
    uint64_t *keys = malloc((lists->count + 1) * sizeof(*keys));
    size_t count = 0;
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t value = 0;

    if (keys == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory to undo a value");
    }
    while (sirix_map_next(lists, &cursor, &key, &value)) {
        if (is_taken(build, key)) {
            keys[count++] = key;
        }
    }
    while (count != 0) {
        sirix_edit_open_list_drop(build->edit, keys[--count]);
    }
    free(keys);
    return SIRIX_OK;
}

enum sirix_status sirix_build_undo(struct sirix_build *build, struct sirix_error *err)
{
    struct sirix_edit *edit = build->edit;
    enum sirix_status status = drop_open_lists(build, err);

    for (size_t i = 0; i < build->taken_count && status == SIRIX_OK; i++) {
        status =
            sirix_trie_edit_remove(edit->trie, build->taken[i].first, build->taken[i].last, err);
    }
    if (status == SIRIX_OK && build->early_fresh) {
        /* Whoever holds pages of the writer goes first. */
        if (build->string_open) {
            sirix_string_writer_deinit(&build->string);
            build->string_open = false;
        }
        sirix_trie_bulk_free(build->bulk);
        build->bulk = NULL;
        while (build->depth != 0) {
            pop(build);
        }
        sirix_edit_early_deinit(edit);
        edit->has_early = false;
        memset(edit->early_body, 0, sizeof(edit->early_body));
    }
    return status;
}
