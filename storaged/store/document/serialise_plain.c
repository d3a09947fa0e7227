/*
 * The short way: most rows are plain, their name interned, their text in the row, their children
 * inline. Of these only what is written is read, in place. Whatever looks unusual is left to the whole
 * decoder.
 *
 * Bytes are written through a pointer of our own: through the buffer each of them could change, for all
 * the compiler knows, the buffer itself.
 */
#include "base/varint.h"
#include "store/document/serialise_state.h"
#include "json/number.h"

/* The upper bits of a record's first byte: page/node.h. */
enum { FLAGS_MASK = 0xc0, FLAG_OUT_OF_LINE = 0x40, ORDER_MASK = 0x30, KIND_MASK = 0x0f };

struct plain {
    enum sirix_node_kind kind; /* Of the row. */
    uint8_t flags;
    const uint8_t *at; /* The payload. */
    const uint8_t *end;
    uint32_t name_id;
};

static inline bool skip_varint(const uint8_t **at, const uint8_t *end)
{
    const uint8_t *here = *at;

    while (here != end && *here >= 0x80) {
        here++;
    }
    *at = here + (here != end ? 1 : 0);
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
    if (record.len < 2 || (*at & ORDER_MASK) > SIRIX_ORDER_MIRRORED << 4) {
        return false;
    }
    out->kind = (enum sirix_node_kind)(*at & KIND_MASK);
    out->flags = *at & FLAGS_MASK;
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

/* Copies len bytes a block at a time: up to a block more is read and written behind them. */
static inline uint8_t *give_blocks(uint8_t *to, const uint8_t *from, size_t len)
{
    for (size_t i = 0; i < len; i += SIRIX_SERIALISE_BLOCK_BYTES) {
        memcpy(to + i, from + i, SIRIX_SERIALISE_BLOCK_BYTES);
    }
    return to + len;
}

/*
 * Copies a text out of a record, which ends where no more may be read. Short texts are the rule: two
 * words that overlap do for up to 16 bytes.
 */
static inline uint8_t *give(uint8_t *to, const uint8_t *from, size_t len)
{
    if (len > 16) {
        memcpy(to, from, len);
    } else if (len >= 8) {
        uint64_t head = 0;
        uint64_t tail = 0;
        memcpy(&head, from, 8);
        memcpy(&tail, from + len - 8, 8);
        memcpy(to, &head, 8);
        memcpy(to + len - 8, &tail, 8);
    } else {
        for (size_t i = 0; i < len; i++) {
            to[i] = from[i];
        }
    }
    return to + len;
}

/* Writes value with at least `digits` digits. */
static inline uint8_t *give_digits(uint8_t *to, uint64_t value, uint32_t digits)
{
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "68697071727374757677787980818283848586878889909192939495969798"
        "99";
    uint8_t text[24];
    uint8_t *end = text + sizeof(text);
    uint8_t *at = end;

    while (value >= 100) {
        at -= 2;
        memcpy(at, pairs + value % 100 * 2, 2);
        value /= 100;
    }
    if (value >= 10) {
        at -= 2;
        memcpy(at, pairs + value * 2, 2);
    } else {
        *--at = (uint8_t)('0' + value);
    }
    while (end - at < (ptrdiff_t)digits) {
        *--at = '0';
    }
    return give(to, at, (size_t)(end - at));
}

static inline uint8_t *give_integer(uint8_t *to, int64_t value)
{
    uint64_t magnitude = (uint64_t)value;

    if (value < 0) {
        *to++ = '-';
        magnitude = UINT64_C(0) - magnitude;
    }
    return give_digits(to, magnitude, 1);
}

/* A decimal: its digits, with the point put between them. */
static inline uint8_t *give_decimal(uint8_t *to, int64_t mantissa, uint32_t scale)
{
    uint64_t magnitude = (uint64_t)mantissa;
    uint8_t *end = NULL;

    if (mantissa < 0) {
        *to++ = '-';
        magnitude = UINT64_C(0) - magnitude;
    }
    end = give_digits(to, magnitude, scale + 1);
    memmove(end - scale + 1, end - scale, scale);
    end[-(ptrdiff_t)scale] = '.';
    return end + 1;
}

/* Writes a plain scalar; NULL: it is not so plain. */
static inline uint8_t *plain_scalar(const struct plain *plain, uint8_t *to)
{
    const uint8_t *at = plain->at;
    uint64_t value = 0;
    uint64_t scale = 0;

    switch (sirix_node_value_kind(plain->kind)) {
    case SIRIX_NODE_STRING:
        if ((plain->flags & FLAG_OUT_OF_LINE) != 0 || !take_varint(&at, plain->end, &value) ||
            value != (uint64_t)(plain->end - at)) {
            return NULL;
        }
        *to++ = '"';
        to = give(to, at, (size_t)value);
        *to++ = '"';
        return to;
    case SIRIX_NODE_INTEGER:
        if (!take_varint(&at, plain->end, &value) || at != plain->end) {
            return NULL;
        }
        return give_integer(to, sirix_zigzag_decode(value));
    case SIRIX_NODE_NUMBER:
        if (plain->flags != 0 || !take_varint(&at, plain->end, &scale) || scale == 0 ||
            scale > SIRIX_JSON_DECIMAL_DIGITS_MAX || !take_varint(&at, plain->end, &value) ||
            at != plain->end) {
            return NULL;
        }
        return give_decimal(to, sirix_zigzag_decode(value), (uint32_t)scale);
    case SIRIX_NODE_TRUE:
        return at == plain->end ? give(to, (const uint8_t *)"true", 4) : NULL;
    case SIRIX_NODE_FALSE:
        return at == plain->end ? give(to, (const uint8_t *)"false", 5) : NULL;
    case SIRIX_NODE_NULL:
        return at == plain->end ? give(to, (const uint8_t *)"null", 4) : NULL;
    default:
        return NULL;
    }
}

/* Begins a container whose children are inline; NULL: it is not so plain. */
static uint8_t *plain_begin(struct sirix_serialiser *s, const struct plain *plain, uint64_t key,
                            uint8_t *to)
{
    const uint8_t *at = plain->at;
    struct sirix_serialise_frame *frame = NULL;
    uint64_t count = 0;

    if (s->depth == s->cap || plain->flags != 0 || s->nodes_left == 0 ||
        !take_varint(&at, plain->end, &count) || count == 0 ||
        count > SIRIX_NODE_CHILDREN_INLINE_MAX ||
        (s->options.depth_max != 0 && s->depth >= s->options.depth_max)) {
        return NULL;
    }
    frame = &s->frames[s->depth];
    for (uint64_t i = 0; i < count; i++) {
        uint64_t delta = 0;
        if (!take_varint(&at, plain->end, &delta)) {
            return NULL;
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
    *to++ = frame->is_object ? '{' : '[';
    return to;
}

/* Comma, line and name; and the row of the value, if it is a container of its own. */
static uint8_t *plain_head(const struct sirix_serialiser *s,
                           const struct sirix_serialise_frame *frame, struct sirix_bytes name,
                           uint8_t *to)
{
    if (frame->has_child) {
        *to++ = ',';
    }
    if (s->options.indent != 0) {
        size_t spaces = (size_t)s->options.indent * s->depth;
        *to++ = '\n';
        memset(to, ' ', spaces);
        to += spaces;
    }
    return frame->is_object ? give_blocks(to, name.data, name.len) : to;
}

enum sirix_status sirix_serialise_plain(struct sirix_serialiser *s, uint64_t key,
                                        struct sirix_bytes record, struct sirix_buf *out,
                                        bool *out_done, struct sirix_error *err)
{
    struct sirix_serialise_frame *frame = &s->frames[s->depth - 1];
    struct plain plain;
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;
    size_t room =
        sirix_serialise_line_bytes(s) + record.len + 2 * (size_t)SIRIX_SERIALISE_SLACK_BYTES;
    uint8_t *to = NULL;

    *out_done = false;
    if (!plain_read(record, &plain) || frame->is_object != sirix_node_is_field(plain.kind)) {
        return SIRIX_OK;
    }
    if (frame->is_object) {
        status = sirix_serialise_name(s, plain.name_id, &name, err);
    }
    if (status == SIRIX_OK && out->cap - out->len < room + name.len) {
        status = sirix_buf_reserve(out, room + name.len, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    to = plain_head(s, frame, name, out->data + out->len);
    if (plain.kind == SIRIX_NODE_FIELD) {
        status = sirix_serialise_row(s, ++key, &record, err);
        if (status != SIRIX_OK || !plain_read(record, &plain) ||
            !sirix_node_is_container(plain.kind)) {
            return SIRIX_OK;
        }
    }
    s->nodes_left--;
    to = sirix_node_is_container(plain.kind) ? plain_begin(s, &plain, key, to)
                                             : plain_scalar(&plain, to);
    if (to == NULL) {
        s->nodes_left++;
        return SIRIX_OK;
    }
    frame->has_child = true;
    frame->left--;
    out->len = (size_t)(to - out->data);
    *out_done = true;
    return SIRIX_OK;
}
