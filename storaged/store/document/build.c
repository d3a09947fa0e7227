/*
 * The builder's main line: events of the JSON reader become rows.
 */
#include "store/document/build.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "store/document/path_rows.h"

enum { FRAMES_MIN = 8 };

enum sirix_status sirix_build_new(struct sirix_edit *edit,
                                  const struct sirix_build_options *options,
                                  struct sirix_build **out_build, struct sirix_error *err)
{
    const struct sirix_json_reader_options reader_options = {.depth_max = options->depth_max,
                                                             .ndjson = options->ndjson};
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
    status = sirix_path_summary_root(&build->paths, err);
    if (status == SIRIX_OK && options->tape) {
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
    sirix_path_summary_deinit(&build->paths);
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
    free(build->grafts);
    free(build);
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

static struct sirix_build_frame *innermost(struct sirix_build *build)
{
    return &build->frames[build->depth - 1];
}

/* Where the row of the container that begins here will stand; a member's field row is put now. */
static enum sirix_status place_container(struct sirix_build *build, struct sirix_build_frame *frame,
                                         struct sirix_error *err)
{
    const struct sirix_build_frame *outer = NULL;
    enum sirix_status status = SIRIX_OK;

    if (build->depth == 0) {
        frame->container = build->options.container;
        return SIRIX_OK;
    }
    outer = innermost(build);
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
    status = sirix_build_begin_value(build, event, err);
    if (status == SIRIX_OK && build->options.tape) {
        status = sirix_build_tape(build, frame.is_object ? "{" : "[", 1, err);
    }
    if (status == SIRIX_OK) {
        status = place_container(build, &frame, err);
    }
    build->text_bytes += 2;
    frame.path = build->child_path;
    sirix_path_summary_mark(&build->paths, frame.path,
                            frame.is_object ? SIRIX_NODE_OBJECT : SIRIX_NODE_ARRAY);
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
        status = sirix_build_tape(build, frame->is_object ? "}" : "]", 1, err);
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

    return status == SIRIX_OK && build->options.tape ? sirix_build_tape_before(build, event, err)
                                                     : status;
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
        return sirix_build_string_part(build, event, err);
    default:
        return sirix_build_scalar(build, event, err);
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

bool sirix_build_is_taken(const struct sirix_build *build, uint64_t key)
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
        if (sirix_build_is_taken(build, key)) {
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
