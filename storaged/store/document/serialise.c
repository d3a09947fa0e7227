/*
 * Serialising: rows in, JSON text out. Stored texts are canonical already, so that most of the work is
 * copying; every piece of a row is written into room that was reserved once for the row.
 *
 * Between steps the reader may yield: what is kept are keys, counts and addresses, never slices. (Names
 * of the dictionary live as long as the resource is open.)
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/varint.h"
#include "store/document/serialise_state.h"
#include "json/number.h"

enum {
    FRAMES_MIN = 8,
    NAMES_MIN = 64,
};

enum sirix_status sirix_serialiser_new_rows(const struct sirix_rows *rows,
                                            const struct sirix_serialise_options *options,
                                            struct sirix_serialiser **out_serialiser,
                                            struct sirix_error *err)
{
    struct sirix_serialiser *s = NULL;

    if (options->indent > SIRIX_SERIALISE_INDENT_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "indent %u is above %d", options->indent,
                                 SIRIX_SERIALISE_INDENT_MAX);
    }
    s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a serialiser");
    }
    s->rows = *rows;
    s->options = *options;
    sirix_arena_init(&s->name_bytes, SIZE_MAX);
    s->nodes_left = options->nodes_max == 0 ? UINT64_MAX : options->nodes_max;
    *out_serialiser = s;
    return SIRIX_OK;
}

enum sirix_status sirix_serialiser_new(struct sirix_document *document,
                                       const struct sirix_serialise_options *options,
                                       struct sirix_serialiser **out_serialiser,
                                       struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);

    return sirix_serialiser_new_rows(&rows, options, out_serialiser, err);
}

uint64_t sirix_serialiser_nodes(const struct sirix_serialiser *serialiser)
{
    uint64_t nodes_max = serialiser->options.nodes_max;

    return (nodes_max == 0 ? UINT64_MAX : nodes_max) - serialiser->nodes_left;
}

void sirix_serialiser_free(struct sirix_serialiser *serialiser)
{
    if (serialiser == NULL) {
        return;
    }
    free(serialiser->frames);
    free(serialiser->names);
    sirix_arena_deinit(&serialiser->name_bytes);
    free(serialiser);
}

/* --- Pieces -------------------------------------------------------------------------------------- */

static inline void put(struct sirix_buf *out, const void *data, size_t len)
{
    memcpy(out->data + out->len, data, len);
    out->len += len;
}

static inline void put_byte(struct sirix_buf *out, char byte)
{
    out->data[out->len++] = (uint8_t)byte;
}

/* Indented form: a new line with the indent of depth levels. Room is reserved by the caller. */
static void put_line(struct sirix_serialiser *s, uint32_t depth, struct sirix_buf *out)
{
    size_t spaces = (size_t)s->options.indent * depth;

    put_byte(out, '\n');
    memset(out->data + out->len, ' ', spaces);
    out->len += spaces;
}

static enum sirix_status grow_names(struct sirix_serialiser *s, uint32_t id,
                                    struct sirix_error *err)
{
    size_t cap = s->name_cap == 0 ? NAMES_MIN : s->name_cap;
    struct sirix_bytes *names = NULL;

    while (cap <= id) {
        cap *= 2;
    }
    names = realloc(s->names, cap * sizeof(*names));
    if (names == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu names", cap);
    }
    memset(names + s->name_cap, 0, (cap - s->name_cap) * sizeof(*names));
    s->names = names;
    s->name_cap = cap;
    return SIRIX_OK;
}

/* Makes the written form of a name. */
static enum sirix_status make_name(struct sirix_serialiser *s, uint32_t id, struct sirix_error *err)
{
    struct sirix_bytes name = {0};
    void *memory = NULL;
    uint8_t *to = NULL;
    enum sirix_status status = sirix_names_get(s->rows.resource, id, &name, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(&s->name_bytes, 1, name.len + 4 + SIRIX_SERIALISE_BLOCK_BYTES,
                                    &memory, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    to = memory;
    *to++ = '"';
    if (name.len != 0) {
        memcpy(to, name.data, name.len);
    }
    to += name.len;
    *to++ = '"';
    *to++ = ':';
    *to = ' ';
    s->names[id] = (struct sirix_bytes){
        .data = memory,
        .len = name.len + (s->options.indent != 0 ? 4 : 3),
    };
    return SIRIX_OK;
}

enum sirix_status sirix_serialise_name(struct sirix_serialiser *s, uint32_t id,
                                       struct sirix_bytes *out_name, struct sirix_error *err)
{
    enum sirix_status status = id < s->name_cap ? SIRIX_OK : grow_names(s, id, err);

    if (status == SIRIX_OK && s->names[id].data == NULL) {
        status = make_name(s, id, err);
    }
    if (status == SIRIX_OK) {
        *out_name = s->names[id];
    }
    return status;
}

static enum sirix_status put_name(struct sirix_serialiser *s, const struct sirix_node *field,
                                  struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if (field->name_interned) {
        status = sirix_serialise_name(s, field->name_id, &name, err);
        return status == SIRIX_OK ? sirix_buf_append_bytes(out, name, err) : status;
    }
    status = sirix_buf_append_u8(out, '"', err);
    if (status == SIRIX_OK) {
        status = sirix_rows_text(&s->rows, &field->name, 0, (size_t)field->name.len, out, err);
    }
    return status == SIRIX_OK
               ? sirix_buf_append_str(out, s->options.indent != 0 ? "\": " : "\":", err)
               : status;
}

static enum sirix_status put_text(struct sirix_serialiser *s, const struct sirix_text *text,
                                  bool quoted, struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_reserve(
        out, (text->address == 0 ? text->bytes.len : 0) + SIRIX_SERIALISE_SLACK_BYTES, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (quoted) {
        put_byte(out, '"');
    }
    if (text->address != 0) {
        s->pending = *text;
        s->pending_offset = 0;
        s->pending_quote = quoted;
        return SIRIX_OK;
    }
    if (text->len != 0) {
        put(out, text->bytes.data, text->bytes.len);
    }
    if (quoted) {
        put_byte(out, '"');
    }
    return SIRIX_OK;
}

/* The next piece of a text out of line; its end clears pending. */
static enum sirix_status put_pending(struct sirix_serialiser *s, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    uint64_t left = s->pending.len - s->pending_offset;
    size_t piece = left < SIRIX_SEGMENT_BULK_BYTES ? (size_t)left : SIRIX_SEGMENT_BULK_BYTES;
    enum sirix_status status =
        sirix_rows_text(&s->rows, &s->pending, s->pending_offset, piece, out, err);

    if (status != SIRIX_OK) {
        return status;
    }
    s->pending_offset += piece;
    if (s->pending_offset == s->pending.len) {
        s->pending.address = 0;
        if (s->pending_quote) {
            status = sirix_buf_append_u8(out, '"', err);
        }
    }
    return status;
}

static enum sirix_status put_scalar(struct sirix_serialiser *s, const struct sirix_node *node,
                                    struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_STRING:
        return put_text(s, &node->text, true, out, err);
    case SIRIX_NODE_NUMBER:
        return node->number_text ? put_text(s, &node->text, false, out, err)
                                 : sirix_scalar_append_number(node, out, err);
    case SIRIX_NODE_INTEGER:
        return sirix_scalar_append_number(node, out, err);
    default:
        break;
    }
    status = sirix_buf_reserve(out, SIRIX_SERIALISE_SLACK_BYTES, err);
    if (status != SIRIX_OK) {
        return status;
    }
    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_TRUE:
        put(out, "true", 4);
        break;
    case SIRIX_NODE_FALSE:
        put(out, "false", 5);
        break;
    default:
        put(out, "null", 4);
        break;
    }
    return SIRIX_OK;
}

/* --- Containers ---------------------------------------------------------------------------------- */

static enum sirix_status push(struct sirix_serialiser *s, const struct sirix_list *list,
                              struct sirix_error *err)
{
    struct sirix_serialise_frame *frame = NULL;
    enum sirix_status status = SIRIX_OK;

    if (s->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "the document is nested deeper than %d levels",
                          SIRIX_DOCUMENT_DEPTH_MAX);
    }
    if (s->depth == s->cap) {
        uint32_t cap = s->cap == 0 ? FRAMES_MIN : s->cap * 2;
        struct sirix_serialise_frame *frames = realloc(s->frames, cap * sizeof(*frames));
        if (frames == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u levels", cap);
        }
        s->frames = frames;
        s->cap = cap;
    }
    frame = &s->frames[s->depth];
    status = sirix_siblings_init(&frame->siblings, &s->rows, list, 0, err);
    if (status == SIRIX_OK) {
        frame->is_object = list->kind == SIRIX_NODE_OBJECT;
        frame->has_child = false;
        frame->left = s->options.children_max == 0 ? UINT64_MAX : s->options.children_max;
        s->depth++;
    }
    return status;
}

/* Begins a container: its bracket and a frame, or both brackets when nothing is written inside. */
static enum sirix_status begin(struct sirix_serialiser *s, const struct sirix_node *container,
                               struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_document_node node = {.key = container->key, .stored = *container};
    struct sirix_list list = {0};
    enum sirix_status status = sirix_buf_reserve(out, SIRIX_SERIALISE_SLACK_BYTES, err);
    bool is_object = container->kind == SIRIX_NODE_OBJECT;

    if (status != SIRIX_OK) {
        return status;
    }
    put_byte(out, is_object ? '{' : '[');
    if (container->child_count == 0 || s->nodes_left == 0 ||
        (s->options.depth_max != 0 && s->depth >= s->options.depth_max)) {
        put_byte(out, is_object ? '}' : ']');
        return SIRIX_OK;
    }
    node.kind = container->kind;
    node.child_count = container->child_count;
    status = sirix_list_of(&s->rows, &node, &list, err);
    return status == SIRIX_OK ? push(s, &list, err) : status;
}

static enum sirix_status end(struct sirix_serialiser *s, struct sirix_buf *out,
                             struct sirix_error *err)
{
    struct sirix_serialise_frame *frame = &s->frames[s->depth - 1];
    enum sirix_status status =
        sirix_buf_reserve(out, sirix_serialise_line_bytes(s) + SIRIX_SERIALISE_SLACK_BYTES, err);

    if (status != SIRIX_OK) {
        return status;
    }
    s->depth--;
    if (s->options.indent != 0 && frame->has_child) {
        put_line(s, s->depth, out);
    }
    put_byte(out, frame->is_object ? '}' : ']');
    return SIRIX_OK;
}

static enum sirix_status damaged(const struct sirix_serialiser *s, uint64_t key, const char *what,
                                 struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT,
                      "node %" PRIu64 " of resource %s, revision %" PRIu64 ": %s", key,
                      sirix_resource_name(s->rows.resource), s->rows.revision, what);
}

/* The row of a container that belongs to field k. */
static enum sirix_status container_of_field(struct sirix_serialiser *s, uint64_t key,
                                            struct sirix_node *out, struct sirix_error *err)
{
    struct sirix_bytes record = {0};
    enum sirix_status status = sirix_serialise_row(s, key + 1, &record, err);

    if (status == SIRIX_NOT_FOUND) {
        return damaged(s, key, "a member has no value", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(record, key + 1, out, err);
    }
    if (status == SIRIX_OK && (!sirix_node_is_container(out->kind) || out->parent != key)) {
        return damaged(s, key, "a member's value row is not its container", err);
    }
    return status;
}

/* One child of the innermost frame, the whole way. */
static enum sirix_status whole_child(struct sirix_serialiser *s, uint64_t key,
                                     struct sirix_bytes record, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    struct sirix_serialise_frame *frame = &s->frames[s->depth - 1];
    struct sirix_node node;
    enum sirix_status status = sirix_node_decode(record, key, &node, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_reserve(out, sirix_serialise_line_bytes(s) + SIRIX_SERIALISE_SLACK_BYTES,
                                   err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (frame->is_object != sirix_node_is_field(node.kind)) {
        return damaged(s, key, "a member stands in an array, or an element in an object", err);
    }
    if (frame->has_child) {
        put_byte(out, ',');
    }
    frame->has_child = true;
    if (s->options.indent != 0) {
        put_line(s, s->depth, out);
    }
    s->nodes_left--;
    frame->left--;
    if (frame->is_object) {
        status = put_name(s, &node, out, err);
        if (status == SIRIX_OK && node.kind == SIRIX_NODE_FIELD) {
            status = container_of_field(s, key, &node, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    return sirix_node_is_container(node.kind) ? begin(s, &node, out, err)
                                              : put_scalar(s, &node, out, err);
}

static enum sirix_status child(struct sirix_serialiser *s, uint64_t key, struct sirix_buf *out,
                               struct sirix_error *err)
{
    struct sirix_bytes record = {0};
    bool done = false;
    enum sirix_status status = sirix_serialise_row(s, key, &record, err);

    if (status == SIRIX_NOT_FOUND) {
        return damaged(s, key, "a child list names it, and it has no row", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_serialise_plain(s, key, record, out, &done, err);
    }
    return status == SIRIX_OK && !done ? whole_child(s, key, record, out, err) : status;
}

/* The next child of a frame; the usual form without a call. */
static inline enum sirix_status next_child(struct sirix_siblings *siblings, uint64_t *out_key,
                                           struct sirix_error *err)
{
    if (siblings->form != SIRIX_SIBLINGS_KEYS) {
        return sirix_siblings_next(siblings, out_key, err);
    }
    if (siblings->index >= siblings->count) {
        return SIRIX_NOT_FOUND;
    }
    *out_key = siblings->from.keys[siblings->index++];
    return SIRIX_OK;
}

static enum sirix_status start(struct sirix_serialiser *s, struct sirix_buf *out,
                               struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    uint64_t key = s->options.key == 0 ? 1 : s->options.key;
    enum sirix_status status = sirix_rows_node(&s->rows, key, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    s->started = true;
    s->nodes_left--;
    return sirix_node_is_container(node.kind) ? begin(s, &node.stored, out, err)
                                              : put_scalar(s, &node.stored, out, err);
}

enum sirix_status sirix_serialiser_step(struct sirix_serialiser *s, size_t max_bytes,
                                        struct sirix_buf *out, bool *out_done,
                                        struct sirix_error *err)
{
    size_t until = out->len + max_bytes;
    enum sirix_status status = SIRIX_OK;

    s->in_leaf = false;
    if (!s->started) {
        status = start(s, out, err);
    }
    while (status == SIRIX_OK && out->len < until) {
        struct sirix_serialise_frame *frame = NULL;
        uint64_t key = 0;
        if (s->pending.address != 0) {
            status = put_pending(s, out, err);
            continue;
        }
        if (s->depth == 0) {
            break;
        }
        frame = &s->frames[s->depth - 1];
        if (frame->left == 0 || s->nodes_left == 0) {
            status = end(s, out, err);
            continue;
        }
        status = next_child(&frame->siblings, &key, err);
        if (status == SIRIX_OK) {
            status = child(s, key, out, err);
        } else if (status == SIRIX_NOT_FOUND) {
            status = end(s, out, err);
        }
    }
    if (status == SIRIX_OK) {
        *out_done = s->started && s->depth == 0 && s->pending.address == 0;
    }
    return status;
}
