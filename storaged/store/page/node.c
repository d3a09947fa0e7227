/*
 * Codec of node records. Decoding walks the bytes once, checks every step, and refuses any form that
 * encoding would not have chosen, so that one node has one record.
 */
#include "store/page/node.h"

#include <assert.h>
#include <inttypes.h>

#include "base/endian.h"
#include "base/varint.h"
#include "store/segment/segment.h"

/* Byte 0: kind in bits 0..3, order mode in bits 4..5, then two bits whose sense the kind gives. */
enum {
    KIND_MASK = 0x0f,
    ORDER_SHIFT = 4,
    ORDER_MASK = 0x03,
    FLAG_CHILD_TREE = 0x40,  /* Containers. */
    FLAG_OUT_OF_LINE = 0x40, /* Strings, number texts. */
    FLAG_ESCAPED = 0x80,     /* Strings. */
    FLAG_TEXT = 0x80,        /* Numbers: kept as text. */
    FLAGS_MASK = 0xc0,
};

/* The varint before a name: form in bits 0..1, for texts `escaped` in bit 2, then id or length. */
enum {
    NAME_FORM_MASK = 0x03,
    NAME_INTERNED = 0,
    NAME_INLINE = 1,
    NAME_OUT_OF_LINE = 2,
    NAME_FORM_BITS = 2,
    NAME_ESCAPED = 0x04,
    NAME_LENGTH_SHIFT = 3,
};

enum { ADDRESS_BYTES = 8 };

static uint64_t text_bytes_max(uint64_t decoded_max)
{
    return decoded_max * SIRIX_ESCAPED_FACTOR_MAX;
}

/* --- Decoding -------------------------------------------------------------------------------- */

struct input {
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    uint64_t key;
    struct sirix_error *err;
};

static enum sirix_status damaged(const struct input *in, const char *what)
{
    return sirix_fail(in->err, SIRIX_CORRUPT, "record of node %" PRIu64 ", byte %zu: %s", in->key,
                      (size_t)(in->at - in->start), what);
}

static inline enum sirix_status take_varint(struct input *in, uint64_t *out_value)
{
    size_t len = 0;

    if (in->at != in->end && *in->at < 0x80) {
        *out_value = *in->at++;
        return SIRIX_OK;
    }
    len = sirix_varint_decode(in->at, (size_t)(in->end - in->at), out_value);
    if (len == 0) {
        return damaged(in, "a number is cut off, too large or not in its shortest form");
    }
    in->at += len;
    return SIRIX_OK;
}

static enum sirix_status take_zigzag(struct input *in, int64_t *out_value)
{
    uint64_t bits = 0;
    enum sirix_status status = take_varint(in, &bits);

    if (status == SIRIX_OK) {
        *out_value = sirix_zigzag_decode(bits);
    }
    return status;
}

static enum sirix_status take_address(struct input *in, bool may_be_absent, uint64_t *out_address)
{
    uint64_t address = 0;

    if (in->end - in->at < ADDRESS_BYTES) {
        return damaged(in, "an address is cut off");
    }
    address = sirix_load_u64le(in->at);
    if (sirix_address_number(address) == 0 && !(may_be_absent && address == 0)) {
        return damaged(in, "an address names segment 0");
    }
    in->at += ADDRESS_BYTES;
    *out_address = address;
    return SIRIX_OK;
}

/* The bytes or the address of a text of len stored bytes. */
static enum sirix_status take_text(struct input *in, uint64_t len, uint64_t len_max,
                                   bool out_of_line, struct sirix_text *text)
{
    text->len = len;
    if (out_of_line) {
        if (len <= SIRIX_TEXT_INLINE_MAX || len > text_bytes_max(len_max)) {
            return damaged(in, "a text out of line has a length that no such text has");
        }
        return take_address(in, false, &text->address);
    }
    if (len > SIRIX_TEXT_INLINE_MAX || len > (uint64_t)(in->end - in->at)) {
        return damaged(in, "an inline text is cut off or too long");
    }
    text->bytes = (struct sirix_bytes){.data = in->at, .len = (size_t)len};
    in->at += len;
    return SIRIX_OK;
}

static enum sirix_status take_name(struct input *in, struct sirix_node *node)
{
    uint64_t head = 0;
    uint64_t form = 0;
    enum sirix_status status = take_varint(in, &head);

    if (status != SIRIX_OK) {
        return status;
    }
    form = head & NAME_FORM_MASK;
    if (form == NAME_INTERNED) {
        if (head >> NAME_FORM_BITS >= SIRIX_NAME_INTERNED_MAX) {
            return damaged(in, "a name id is past the limit");
        }
        node->name_interned = true;
        node->name_id = (uint32_t)(head >> NAME_FORM_BITS);
        return SIRIX_OK;
    }
    if (form != NAME_INLINE && form != NAME_OUT_OF_LINE) {
        return damaged(in, "a name has an unknown form");
    }
    node->name.escaped = (head & NAME_ESCAPED) != 0;
    return take_text(in, head >> NAME_LENGTH_SHIFT, SIRIX_MEMBER_NAME_BYTES_MAX,
                     form == NAME_OUT_OF_LINE, &node->name);
}

/* Every delta ends with a byte below 0x80: their number is known without decoding them. */
static bool deltas_fit(const uint8_t *at, size_t len, uint64_t count)
{
    uint64_t ends = 0;

    for (size_t i = 0; i < len; i++) {
        ends += at[i] < 0x80;
    }
    return ends == count && (len == 0 || at[len - 1] < 0x80);
}

static enum sirix_status take_children(struct input *in, uint8_t flags, struct sirix_node *node)
{
    enum sirix_status status = take_varint(in, &node->child_count);

    if (status != SIRIX_OK) {
        return status;
    }
    if ((flags & FLAG_CHILD_TREE) != 0) {
        if (node->child_count == 0) {
            return damaged(in, "a child tree is empty");
        }
        node->child_tree = true;
        status = take_address(in, false, &node->child_tree_address);
        if (status == SIRIX_OK && node->kind == SIRIX_NODE_OBJECT) {
            status = take_address(in, true, &node->name_index_address);
        }
        return status;
    }
    if (node->child_count > SIRIX_NODE_CHILDREN_INLINE_MAX) {
        return damaged(in, "too many inline children");
    }
    node->children = (struct sirix_bytes){.data = in->at, .len = (size_t)(in->end - in->at)};
    if (!deltas_fit(in->at, node->children.len, node->child_count)) {
        return damaged(in, "inline children do not fit their count");
    }
    in->at = in->end;
    return SIRIX_OK;
}

static enum sirix_status take_string(struct input *in, uint8_t flags, struct sirix_node *node)
{
    uint64_t len = 0;
    enum sirix_status status = take_varint(in, &len);

    if (status != SIRIX_OK) {
        return status;
    }
    node->text.escaped = (flags & FLAG_ESCAPED) != 0;
    return take_text(in, len, SIRIX_STRING_BYTES_MAX, (flags & FLAG_OUT_OF_LINE) != 0, &node->text);
}

static enum sirix_status take_number(struct input *in, uint8_t flags, struct sirix_node *node)
{
    uint64_t head = 0;
    enum sirix_status status = take_varint(in, &head);

    if (status != SIRIX_OK) {
        return status;
    }
    if ((flags & FLAG_TEXT) != 0) {
        node->number_text = true;
        if (head == 0 || head > SIRIX_NUMBER_TEXT_BYTES_MAX) {
            return damaged(in, "a number text is empty or too long");
        }
        return take_text(in, head, SIRIX_NUMBER_TEXT_BYTES_MAX, (flags & FLAG_OUT_OF_LINE) != 0,
                         &node->text);
    }
    if (head == 0 || head > SIRIX_NUMBER_SCALE_MAX) {
        return damaged(in, "a decimal's scale is 0 or too large");
    }
    node->scale = (uint32_t)head;
    return take_zigzag(in, &node->integer);
}

/* The two upper bits that a record of this kind may have. */
static uint8_t flags_allowed(enum sirix_node_kind kind)
{
    switch (sirix_node_value_kind(kind)) {
    case SIRIX_NODE_OBJECT:
    case SIRIX_NODE_ARRAY:
        return FLAG_CHILD_TREE;
    case SIRIX_NODE_STRING:
        return FLAG_OUT_OF_LINE | FLAG_ESCAPED;
    case SIRIX_NODE_NUMBER:
        return FLAG_OUT_OF_LINE | FLAG_TEXT;
    default:
        return 0;
    }
}

static enum sirix_status take_payload(struct input *in, uint8_t flags, struct sirix_node *node)
{
    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_OBJECT:
    case SIRIX_NODE_ARRAY:
        return take_children(in, flags, node);
    case SIRIX_NODE_STRING:
        return take_string(in, flags, node);
    case SIRIX_NODE_NUMBER:
        return take_number(in, flags, node);
    case SIRIX_NODE_INTEGER:
        return take_zigzag(in, &node->integer);
    default:
        return SIRIX_OK;
    }
}

/* Byte 0, the label and the parent: what every record begins with. */
static enum sirix_status take_head(struct input *in, uint8_t *out_flags, struct sirix_node *node)
{
    enum sirix_status status = SIRIX_OK;
    int64_t to_parent = 0;
    uint8_t byte = 0;

    if (in->at == in->end) {
        return damaged(in, "the record is empty");
    }
    byte = *in->at;
    node->kind = (enum sirix_node_kind)(byte & KIND_MASK);
    node->order = (enum sirix_order)((byte >> ORDER_SHIFT) & ORDER_MASK);
    *out_flags = byte & FLAGS_MASK;
    if (node->kind == SIRIX_NODE_DOCUMENT || (uint32_t)node->order > SIRIX_ORDER_EXPLICIT ||
        (*out_flags & ~flags_allowed(node->kind)) != 0 ||
        (node->kind >= SIRIX_NODE_FIELD_TRUE && *out_flags != 0) ||
        (sirix_node_value_kind(node->kind) == SIRIX_NODE_NUMBER &&
         *out_flags == FLAG_OUT_OF_LINE)) {
        return damaged(in, "unknown kind, order or flags");
    }
    in->at++;
    if (node->order == SIRIX_ORDER_EXPLICIT) {
        status = take_zigzag(in, &node->label.major);
        if (status == SIRIX_OK) {
            status = take_varint(in, &node->label.minor);
        }
    }
    if (status == SIRIX_OK) {
        status = take_zigzag(in, &to_parent);
    }
    if (status == SIRIX_OK && to_parent == 0) {
        status = damaged(in, "a node is its own parent");
    }
    node->parent = in->key + (uint64_t)to_parent;
    return status;
}

enum sirix_status sirix_node_decode(struct sirix_bytes record, uint64_t key,
                                    struct sirix_node *out_node, struct sirix_error *err)
{
    struct input in = {.start = record.data, .at = record.data, .key = key, .err = err};
    struct sirix_node node = {.key = key};
    enum sirix_status status = SIRIX_OK;
    uint8_t flags = 0;

    in.end = record.len == 0 ? in.start : in.start + record.len;
    status = take_head(&in, &flags, &node);
    if (status == SIRIX_OK && sirix_node_is_field(node.kind)) {
        status = take_name(&in, &node);
    }
    if (status == SIRIX_OK) {
        status = take_payload(&in, flags, &node);
    }
    if (status == SIRIX_OK && in.at != in.end) {
        status = damaged(&in, "bytes follow the record's end");
    }
    if (status == SIRIX_OK) {
        *out_node = node;
    }
    return status;
}

/* --- Encoding -------------------------------------------------------------------------------- */

static uint8_t *give_varint(uint8_t *at, uint64_t value)
{
    return at + sirix_varint_encode(value, at);
}

static uint8_t *give_address(uint8_t *at, uint64_t address)
{
    sirix_store_u64le(at, address);
    return at + ADDRESS_BYTES;
}

static uint8_t *give_bytes(uint8_t *at, struct sirix_bytes bytes)
{
    if (bytes.len != 0) {
        memcpy(at, bytes.data, bytes.len);
    }
    return at + bytes.len;
}

static uint8_t *give_text(uint8_t *at, const struct sirix_text *text)
{
    return text->address != 0 ? give_address(at, text->address) : give_bytes(at, text->bytes);
}

/* A text keeps the rules of its form: which one its length alone decides. */
static bool text_valid(const struct sirix_text *text, uint64_t len_max)
{
    if (text->address != 0) {
        return text->len > SIRIX_TEXT_INLINE_MAX && text->len <= text_bytes_max(len_max) &&
               sirix_address_number(text->address) != 0;
    }
    return text->len == text->bytes.len && text->len <= SIRIX_TEXT_INLINE_MAX;
}

static uint8_t *give_name(uint8_t *at, const struct sirix_node *node)
{
    uint64_t head = 0;

    if (node->name_interned) {
        assert(node->name_id < SIRIX_NAME_INTERNED_MAX);
        return give_varint(at, (uint64_t)node->name_id << NAME_FORM_BITS);
    }
    assert(text_valid(&node->name, SIRIX_MEMBER_NAME_BYTES_MAX));
    head = node->name.len << NAME_LENGTH_SHIFT;
    head |= node->name.escaped ? NAME_ESCAPED : 0;
    head |= node->name.address != 0 ? NAME_OUT_OF_LINE : NAME_INLINE;
    return give_text(give_varint(at, head), &node->name);
}

static uint8_t *give_children(uint8_t *at, const struct sirix_node *node)
{
    at = give_varint(at, node->child_count);
    if (node->child_tree) {
        assert(node->child_count != 0 && sirix_address_number(node->child_tree_address) != 0);
        at = give_address(at, node->child_tree_address);
        return node->kind == SIRIX_NODE_OBJECT ? give_address(at, node->name_index_address) : at;
    }
    assert(node->child_count <= SIRIX_NODE_CHILDREN_INLINE_MAX);
    assert(deltas_fit(node->children.data, node->children.len, node->child_count));
    return give_bytes(at, node->children);
}

/* *out_flags: the upper bits of byte 0. */
static uint8_t *give_payload(uint8_t *at, const struct sirix_node *node, uint8_t *out_flags)
{
    const uint8_t text_flags = node->text.address != 0 ? FLAG_OUT_OF_LINE : 0;

    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_OBJECT:
    case SIRIX_NODE_ARRAY:
        *out_flags = node->child_tree ? FLAG_CHILD_TREE : 0;
        return give_children(at, node);
    case SIRIX_NODE_STRING:
        assert(text_valid(&node->text, SIRIX_STRING_BYTES_MAX));
        *out_flags = text_flags | (node->text.escaped ? FLAG_ESCAPED : 0);
        return give_text(give_varint(at, node->text.len), &node->text);
    case SIRIX_NODE_NUMBER:
        if (node->number_text) {
            assert(node->text.len != 0 && node->text.len <= SIRIX_NUMBER_TEXT_BYTES_MAX);
            assert(text_valid(&node->text, SIRIX_NUMBER_TEXT_BYTES_MAX));
            *out_flags = text_flags | FLAG_TEXT;
            return give_text(give_varint(at, node->text.len), &node->text);
        }
        assert(node->scale != 0 && node->scale <= SIRIX_NUMBER_SCALE_MAX);
        at = give_varint(at, node->scale);
        return give_varint(at, sirix_zigzag_encode(node->integer));
    case SIRIX_NODE_INTEGER:
        return give_varint(at, sirix_zigzag_encode(node->integer));
    default:
        return at;
    }
}

enum sirix_status sirix_node_encode(const struct sirix_node *node, struct sirix_buf *out,
                                    struct sirix_error *err)
{
    /* Byte 0, label, parent, name head, value head and value, each at its longest; two addresses. */
    const size_t fixed = 1 + 6 * SIRIX_VARINT_BYTES_MAX + 2 * ADDRESS_BYTES;
    const size_t size = fixed + node->name.bytes.len + node->text.bytes.len + node->children.len;
    uint8_t *head = NULL;
    uint8_t *at = NULL;
    uint8_t flags = 0;

    assert(node->kind > SIRIX_NODE_DOCUMENT && node->kind <= SIRIX_NODE_FIELD_NULL);
    assert((uint32_t)node->order <= SIRIX_ORDER_EXPLICIT && node->parent != node->key);

    if (out->cap - out->len < size) {
        enum sirix_status status = sirix_buf_reserve(out, size, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    head = out->data + out->len;
    at = head + 1;
    if (node->order == SIRIX_ORDER_EXPLICIT) {
        at = give_varint(at, sirix_zigzag_encode(node->label.major));
        at = give_varint(at, node->label.minor);
    }
    at = give_varint(at, sirix_zigzag_encode((int64_t)(node->parent - node->key)));
    if (sirix_node_is_field(node->kind)) {
        at = give_name(at, node);
    }
    at = give_payload(at, node, &flags);
    *head = (uint8_t)((uint32_t)node->kind | (uint32_t)node->order << ORDER_SHIFT | flags);
    out->len = (size_t)(at - out->data);
    return SIRIX_OK;
}

/* --- Inline children ------------------------------------------------------------------------- */

enum sirix_status sirix_node_children(const struct sirix_node *node, uint64_t *keys,
                                      struct sirix_error *err)
{
    const uint8_t *start = node->children.data;
    struct input in = {.start = start, .at = start, .key = node->key, .err = err};
    uint64_t key = node->key;

    assert(sirix_node_is_container(node->kind) && !node->child_tree);
    in.end = node->children.len == 0 ? start : start + node->children.len;
    for (uint64_t i = 0; i < node->child_count; i++) {
        int64_t delta = 0;
        enum sirix_status status = take_zigzag(&in, &delta);
        if (status != SIRIX_OK) {
            return status;
        }
        key += (uint64_t)delta;
        if (delta == 0 || key == 0) {
            return damaged(&in, "a child key repeats or is the document's");
        }
        keys[i] = key;
    }
    return in.at == in.end ? SIRIX_OK : damaged(&in, "bytes follow the last child");
}

enum sirix_status sirix_node_children_encode(uint64_t key, const uint64_t *keys, size_t count,
                                             struct sirix_buf *out, struct sirix_error *err)
{
    uint64_t before = key;
    enum sirix_status status = SIRIX_OK;
    uint8_t *at = NULL;

    assert(count <= SIRIX_NODE_CHILDREN_INLINE_MAX);
    status = sirix_buf_reserve(out, count * SIRIX_VARINT_BYTES_MAX, err);
    if (status != SIRIX_OK || count == 0) {
        return status;
    }
    at = out->data + out->len;
    for (size_t i = 0; i < count; i++) {
        assert(keys[i] != before && keys[i] != 0);
        at = give_varint(at, sirix_zigzag_encode((int64_t)(keys[i] - before)));
        before = keys[i];
    }
    out->len = (size_t)(at - out->data);
    return SIRIX_OK;
}

struct sirix_label sirix_node_label(const struct sirix_node *node)
{
    switch (node->order) {
    case SIRIX_ORDER_MIRRORED:
        return (struct sirix_label){.major = (int64_t)(UINT64_C(0) - node->key)};
    case SIRIX_ORDER_EXPLICIT:
        return node->label;
    default:
        return (struct sirix_label){.major = (int64_t)node->key};
    }
}
