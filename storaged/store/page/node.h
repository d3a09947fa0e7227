/*
 * Node records: what a row of the trie says about a node.
 *
 * Keys      0 is the document, 1 its value slot. A field owns two keys for life, k and k + 1: one fused
 *           row of width 2 for a primitive value; for a container a field row k (SIRIX_NODE_FIELD) and a
 *           container row k + 1, whose parent is k and which is its children's parent.
 * Record    byte 0: kind (4 bits) | order mode (2 bits) | two bits of the kind.
 *           Then: [explicit label: zigzag varint, varint fraction] [zigzag varint parent - key]
 *           [name: for fields] [payload of the kind]. Byte tables: docs/format.md.
 * Texts     `escaped` is the writer's word: whether a backslash is in the text is not looked up again.
 * Children  inline deltas are checked for number and length by decode, each for its value by
 *           sirix_node_children().
 * Document  key 0 has no row: it always is, and its only child is key 1 when that has a row. A record of
 *           kind 0 is refused.
 *
 * Pure functions: no I/O; decode checks every bound and refuses what encode would not write.
 */
#ifndef SIRIX_STORE_PAGE_NODE_H
#define SIRIX_STORE_PAGE_NODE_H

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

enum sirix_node_kind {
    SIRIX_NODE_DOCUMENT = 0, /* Never stored. */
    SIRIX_NODE_OBJECT = 1,
    SIRIX_NODE_ARRAY = 2,
    SIRIX_NODE_STRING = 3,
    SIRIX_NODE_INTEGER = 4, /* int64, canonical text. */
    SIRIX_NODE_NUMBER = 5,  /* Decimal as mantissa and scale, or text. */
    SIRIX_NODE_TRUE = 6,
    SIRIX_NODE_FALSE = 7,
    SIRIX_NODE_NULL = 8,
    SIRIX_NODE_FIELD = 9,         /* Field row k of a container value at k + 1. */
    SIRIX_NODE_FIELD_STRING = 10, /* Fused: the value kind is kind - 7. */
    SIRIX_NODE_FIELD_INTEGER = 11,
    SIRIX_NODE_FIELD_NUMBER = 12,
    SIRIX_NODE_FIELD_TRUE = 13,
    SIRIX_NODE_FIELD_FALSE = 14,
    SIRIX_NODE_FIELD_NULL = 15,
};

enum {
    SIRIX_NODE_CHILDREN_INLINE_MAX = 64,  /* More: a child tree. */
    SIRIX_NODE_CHILDREN_INLINE_BACK = 32, /* At most: inline again. */
    SIRIX_TEXT_INLINE_MAX = 1024, /* Longer string or number texts and names: out of line. */
    SIRIX_MEMBER_NAME_BYTES_MAX = 64 * 1024,
    SIRIX_NUMBER_TEXT_BYTES_MAX = 64 * 1024,
    SIRIX_STRING_BYTES_MAX = 64 * 1024 * 1024, /* Decoded. */
    SIRIX_ESCAPED_FACTOR_MAX = 6,              /* Stored bytes of one decoded byte: \u00xx. */
    SIRIX_NUMBER_SCALE_MAX = 127, /* Digits after the point of a decimal; more: text. */
    SIRIX_NAME_INTERNED_BYTES_MAX = 64,
    SIRIX_NAME_INTERNED_MAX = 65536,
};

/* Where a child stands among its siblings in a counted child tree (child/child.h). */
struct sirix_label {
    int64_t major;
    uint64_t minor;
};
enum sirix_order {
    SIRIX_ORDER_KEY = 0,      /* label = (key, 0) */
    SIRIX_ORDER_MIRRORED = 1, /* label = (-key, 0) */
    SIRIX_ORDER_EXPLICIT = 2, /* label is stored */
};

/* Text that is stored in the record or, past SIRIX_TEXT_INLINE_MAX, in a string page. */
struct sirix_text {
    struct sirix_bytes bytes; /* Inline: canonical escaped form for strings and names. */
    uint64_t address;         /* Out of line: the string's root page; 0: inline. */
    uint64_t len;             /* Stored (escaped) length in bytes, in both forms. */
    bool escaped;             /* Contains a backslash escape. */
};

struct sirix_node {
    enum sirix_node_kind kind;
    enum sirix_order order;
    uint64_t key;
    uint64_t parent;          /* Key of the stored parent. Key 0 is its own. */
    struct sirix_label label; /* SIRIX_ORDER_EXPLICIT only. */
    /* Fields */
    struct sirix_text name; /* Not interned. */
    uint32_t name_id;       /* Interned. */
    /* Values */
    uint32_t scale;  /* NUMBER in decimal form: digits after the point, 1..SCALE_MAX. */
    int64_t integer; /* INTEGER; NUMBER in decimal form: the mantissa. */
    struct sirix_text text;
    /* Containers */
    uint64_t child_count;
    struct sirix_bytes children; /* Inline: the encoded deltas; read with sirix_node_children(). */
    uint64_t child_tree_address;
    uint64_t name_index_address; /* Objects with a child tree. */
    /* Forms of the above */
    bool name_interned;
    bool number_text; /* NUMBER kept as text. */
    bool child_tree;  /* Else inline. */
};

static inline bool sirix_node_is_field(enum sirix_node_kind kind)
{
    return kind >= SIRIX_NODE_FIELD;
}
static inline bool sirix_node_is_fused(enum sirix_node_kind kind)
{
    return kind >= SIRIX_NODE_FIELD_STRING;
}
static inline bool sirix_node_is_container(enum sirix_node_kind kind)
{
    return kind == SIRIX_NODE_OBJECT || kind == SIRIX_NODE_ARRAY;
}
/* The kind of a fused field's value; other kinds are their own. */
static inline enum sirix_node_kind sirix_node_value_kind(enum sirix_node_kind kind)
{
    return sirix_node_is_fused(kind) ? (enum sirix_node_kind)(kind - 7) : kind;
}
static inline uint32_t sirix_node_width(enum sirix_node_kind kind)
{
    return sirix_node_is_fused(kind) ? 2 : 1;
}

/* Decodes the record of the row at key. Texts and children are views into record. */
enum sirix_status sirix_node_decode(struct sirix_bytes record, uint64_t key,
                                    struct sirix_node *out_node,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Appends the record of node to out. For inline containers children must be encoded already. A node
 * past a limit of this file is our mistake (assert): whoever takes input in has checked it.
 */
enum sirix_status sirix_node_encode(const struct sirix_node *node, struct sirix_buf *out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Child keys of an inline container, in order; keys holds child_count entries. */
enum sirix_status sirix_node_children(const struct sirix_node *node, uint64_t *keys,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Appends the encoded deltas of count child keys of container key to out. */
enum sirix_status sirix_node_children_encode(uint64_t key, const uint64_t *keys, size_t count,
                                             struct sirix_buf *out,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* The effective label of a node among its siblings. */
struct sirix_label sirix_node_label(const struct sirix_node *node);

#endif
