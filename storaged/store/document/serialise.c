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
#include "store/document/document.h"
#include "store/document/rows.h"
#include "json/number.h"

enum {
    FRAMES_MIN = 8,
    NAMES_MIN = 64,
    INDENT_MAX = 16,
    ROW_SLACK_BYTES = 64, /* Punctuation, literals and numbers of one row. */
};

struct frame {
    bool is_object;
    bool has_child; /* One was written. */
    uint64_t left;  /* Children that may still be written. */
    struct sirix_siblings siblings;
};

struct sirix_serialiser {
    struct sirix_rows rows;
    struct sirix_serialise_options options;
    bool started;
    bool done;
    uint64_t nodes_left;
    struct frame *frames;
    uint32_t depth;
    uint32_t cap;
    struct sirix_bytes *names; /* By id, as far as they were needed; data NULL: not yet. */
    size_t name_cap;
    struct sirix_text pending; /* A text out of line, not written to its end: address != 0. */
    uint64_t pending_offset;
    bool pending_quote; /* A string: its closing quote is due. */
};

enum sirix_status sirix_serialiser_new_rows(const struct sirix_rows *rows,
                                            const struct sirix_serialise_options *options,
                                            struct sirix_serialiser **out_serialiser,
                                            struct sirix_error *err)
{
    struct sirix_serialiser *s = NULL;

    if (options->indent > INDENT_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "indent %u is above %d", options->indent, INDENT_MAX);
    }
    s = calloc(1, sizeof(*s));
    if (s == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a serialiser");
    }
    s->rows = *rows;
    s->options = *options;
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

void sirix_serialiser_free(struct sirix_serialiser *serialiser)
{
    if (serialiser == NULL) {
        return;
    }
    free(serialiser->frames);
    free(serialiser->names);
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

static size_t line_bytes(const struct sirix_serialiser *s)
{
    return s->options.indent == 0 ? 0 : 1 + (size_t)s->options.indent * (s->depth + 1);
}

/* The bytes of an interned name, looked up once. */
static enum sirix_status interned(struct sirix_serialiser *s, uint32_t id,
                                  struct sirix_bytes *out_name, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (id >= s->name_cap) {
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
    }
    if (s->names[id].data == NULL) {
        status = sirix_names_get(s->rows.resource, id, &s->names[id], err);
    }
    if (status == SIRIX_OK) {
        *out_name = s->names[id];
    }
    return status;
}

static enum sirix_status put_name(struct sirix_serialiser *s, const struct sirix_node *field,
                                  struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_bytes name = field->name.bytes;
    enum sirix_status status = SIRIX_OK;

    if (field->name_interned) {
        status = interned(s, field->name_id, &name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_reserve(
            out, (field->name_interned ? name.len : (size_t)field->name.len) + ROW_SLACK_BYTES,
            err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    put_byte(out, '"');
    if (!field->name_interned && field->name.address != 0) {
        status = sirix_rows_text(&s->rows, &field->name, 0, (size_t)field->name.len, out, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_reserve(out, ROW_SLACK_BYTES, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    } else if (name.len != 0) {
        put(out, name.data, name.len);
    }
    put_byte(out, '"');
    put_byte(out, ':');
    if (s->options.indent != 0) {
        put_byte(out, ' ');
    }
    return SIRIX_OK;
}

static enum sirix_status put_text(struct sirix_serialiser *s, const struct sirix_text *text,
                                  bool quoted, struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_buf_reserve(out, (text->address == 0 ? text->bytes.len : 0) + ROW_SLACK_BYTES, err);

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
    status = sirix_buf_reserve(out, ROW_SLACK_BYTES, err);
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
    struct frame *frame = NULL;
    enum sirix_status status = SIRIX_OK;

    if (s->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "the document is nested deeper than %d levels",
                          SIRIX_DOCUMENT_DEPTH_MAX);
    }
    if (s->depth == s->cap) {
        uint32_t cap = s->cap == 0 ? FRAMES_MIN : s->cap * 2;
        struct frame *frames = realloc(s->frames, cap * sizeof(*frames));
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
    enum sirix_status status = sirix_buf_reserve(out, ROW_SLACK_BYTES, err);
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
    struct frame *frame = &s->frames[s->depth - 1];
    enum sirix_status status = sirix_buf_reserve(out, line_bytes(s) + ROW_SLACK_BYTES, err);

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
    struct sirix_row row = {0};
    enum sirix_status status = sirix_rows_get(&s->rows, key + 1, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key + 1)) {
        return damaged(s, key, "a member has no value", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(row.record, key + 1, out, err);
    }
    if (status == SIRIX_OK && (!sirix_node_is_container(out->kind) || out->parent != key)) {
        return damaged(s, key, "a member's value row is not its container", err);
    }
    return status;
}

/* --- Plain rows ---------------------------------------------------------------------------------- */

/*
 * Most rows are plain: their name is interned, their text is in the row, their children are inline. Of
 * these only what is written is read, in place. Whatever looks unusual here is left to the whole
 * decoder, which also says what is wrong with it.
 */
struct plain {
    enum sirix_node_kind kind; /* Of the row. */
    uint8_t flags;
    const uint8_t *at; /* The payload. */
    const uint8_t *end;
    uint32_t name_id;
};

enum { PLAIN_FLAG_LONG = 0x40, PLAIN_FLAG_TEXT = 0x80, PLAIN_ORDER_MASK = 0x30 };

static inline bool skip_varint(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *here = *at;

    while (here != end && *here >= 0x80) {
        here++;
    }
    *at = here + 1;
    return here != end;
}

static inline bool take_varint(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    size_t len = 0;

    if (*at != end && **at < 0x80) {
        *out = *(*at)++;
        return true;
    }
    len = sirix_varint_decode(*at, (size_t)(end - *at), out);
    *at += len;
    return len != 0;
}

static inline bool plain_read(struct sirix_bytes record, struct plain *out)
{
    const uint8_t *at = record.data;
    const uint8_t *end = at + record.len;
    uint64_t name = 0;

    out->name_id = 0;
    if (record.len < 2 || (*at & PLAIN_ORDER_MASK) != 0) {
        return false;
    }
    out->kind = (enum sirix_node_kind)(*at & 0x0f);
    out->flags = *at & 0xc0;
    at++;
    if (!skip_varint(&at, end)) {
        return false;
    }
    if (sirix_node_is_field(out->kind)) {
        if (!take_varint(&at, end, &name) || (name & 3) != 0 ||
            name >> 2 >= SIRIX_NAME_INTERNED_MAX) {
            return false;
        }
        out->name_id = (uint32_t)(name >> 2);
    }
    out->at = at;
    out->end = end;
    return true;
}

/* Writes a plain scalar into room that is there: ROW_SLACK_BYTES and its record's length. */
static inline bool plain_put(const struct plain *plain, struct sirix_buf *out)
{
    const uint8_t *at = plain->at;
    char *to = (char *)out->data + out->len;
    uint64_t value = 0;
    uint64_t scale = 0;

    switch (sirix_node_value_kind(plain->kind)) {
    case SIRIX_NODE_STRING:
        if ((plain->flags & PLAIN_FLAG_LONG) != 0 || !take_varint(&at, plain->end, &value) ||
            value != (uint64_t)(plain->end - at)) {
            return false;
        }
        *to = '"';
        memcpy(to + 1, at, (size_t)value);
        to[value + 1] = '"';
        out->len += (size_t)value + 2;
        return true;
    case SIRIX_NODE_INTEGER:
        if (!take_varint(&at, plain->end, &value) || at != plain->end) {
            return false;
        }
        out->len += sirix_json_number_format_integer(sirix_zigzag_decode(value), to);
        return true;
    case SIRIX_NODE_NUMBER:
        if (plain->flags != 0 || !take_varint(&at, plain->end, &scale) || scale == 0 ||
            scale > SIRIX_JSON_DECIMAL_DIGITS_MAX || !take_varint(&at, plain->end, &value) ||
            at != plain->end) {
            return false;
        }
        out->len +=
            sirix_json_number_format_decimal(sirix_zigzag_decode(value), (uint8_t)scale, to);
        return true;
    case SIRIX_NODE_TRUE:
        put(out, "true", 4);
        return at == plain->end;
    case SIRIX_NODE_FALSE:
        put(out, "false", 5);
        return at == plain->end;
    case SIRIX_NODE_NULL:
        put(out, "null", 4);
        return at == plain->end;
    default:
        return false;
    }
}

/* Begins a container whose children are inline; false: it is not so plain. */
static inline bool plain_begin(struct sirix_serialiser *s, const struct plain *plain, uint64_t key,
                               struct sirix_buf *out)
{
    const uint8_t *at = plain->at;
    struct frame *frame = NULL;
    uint64_t count = 0;

    if (s->depth == s->cap || plain->flags != 0 || s->nodes_left == 0 ||
        !take_varint(&at, plain->end, &count) || count == 0 ||
        count > SIRIX_NODE_CHILDREN_INLINE_MAX ||
        (s->options.depth_max != 0 && s->depth >= s->options.depth_max)) {
        return false;
    }
    frame = &s->frames[s->depth];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t delta = 0;
        if (!take_varint(&at, plain->end, &delta)) {
            return false;
        }
        key += (uint64_t)sirix_zigzag_decode(delta);
        frame->siblings.from.keys[i] = key;
    }
    frame->siblings.form = SIRIX_SIBLINGS_KEYS;
    frame->siblings.index = 0;
    frame->siblings.count = count;
    frame->is_object = plain->kind == SIRIX_NODE_OBJECT;
    frame->has_child = false;
    frame->left = s->options.children_max == 0 ? UINT64_MAX : s->options.children_max;
    s->depth++;
    put_byte(out, frame->is_object ? '{' : '[');
    return true;
}

/*
 * Writes one child if it and its name are plain; *out_done false: nothing was written. Commas, counts
 * and the frame are as the whole way leaves them.
 */
static enum sirix_status plain_child(struct sirix_serialiser *s, uint64_t key,
                                     const struct sirix_row *row, struct sirix_buf *out,
                                     bool *out_done, struct sirix_error *err)
{
    struct frame *frame = &s->frames[s->depth - 1];
    struct plain plain;
    struct sirix_bytes name = {0};
    struct sirix_row inner = *row;
    enum sirix_status status = SIRIX_OK;
    size_t len_before = out->len;

    *out_done = false;
    if (!plain_read(row->record, &plain) || frame->is_object != sirix_node_is_field(plain.kind)) {
        return SIRIX_OK;
    }
    if (frame->is_object) {
        status = interned(s, plain.name_id, &name, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_reserve(
            out, line_bytes(s) + name.len + row->record.len + 2 * (size_t)ROW_SLACK_BYTES, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (frame->has_child) {
        put_byte(out, ',');
    }
    if (s->options.indent != 0) {
        put_line(s, s->depth, out);
    }
    if (frame->is_object) {
        put_byte(out, '"');
        put(out, name.data, name.len);
        put(out, "\": ", s->options.indent != 0 ? 3 : 2);
        if (plain.kind == SIRIX_NODE_FIELD) {
            status = sirix_rows_get(&s->rows, ++key, &inner, err);
            if (status != SIRIX_OK || inner.key != key || !plain_read(inner.record, &plain) ||
                !sirix_node_is_container(plain.kind)) {
                out->len = len_before;
                return SIRIX_OK; /* The whole way says what is wrong. */
            }
        }
    }
    s->nodes_left--;
    if (sirix_node_is_container(plain.kind) ? plain_begin(s, &plain, key, out)
                                            : plain_put(&plain, out)) {
        frame->has_child = true;
        frame->left--;
        *out_done = true;
        return SIRIX_OK;
    }
    s->nodes_left++;
    out->len = len_before;
    return SIRIX_OK;
}

/* One child of the innermost frame. */
static enum sirix_status child(struct sirix_serialiser *s, uint64_t key, struct sirix_buf *out,
                               struct sirix_error *err)
{
    struct frame *frame = &s->frames[s->depth - 1];
    struct sirix_node node;
    struct sirix_row row;
    bool done = false;
    enum sirix_status status = sirix_rows_get(&s->rows, key, &row, err);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        return damaged(s, key, "a child list names it, and it has no row", err);
    }
    if (status == SIRIX_OK) {
        status = plain_child(s, key, &row, out, &done, err);
    }
    if (status != SIRIX_OK || done) {
        return status;
    }
    status = sirix_node_decode(row.record, key, &node, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_reserve(out, line_bytes(s) + ROW_SLACK_BYTES, err);
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

    if (!s->started) {
        status = start(s, out, err);
    }
    while (status == SIRIX_OK && out->len < until) {
        struct frame *frame = NULL;
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
        status = sirix_siblings_next(&frame->siblings, &key, err);
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
