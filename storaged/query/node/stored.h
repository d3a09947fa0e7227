/*
 * The rows of one revision as the engine reads them: by the key of the row that holds a value, names by
 * their ids, and nothing decoded that is not asked for. What is damaged or rare goes the store's way.
 *
 * Keys      "listed" is what a child list calls a node: a member's k. "Value" is the row that holds the
 *           value: k + 1 for a member with a container, else the listed row itself.
 * Slices    texts and children in a node live until the reader's next yield or look-up.
 */
#ifndef SIRIX_QUERY_NODE_STORED_H
#define SIRIX_QUERY_NODE_STORED_H

#include "base/varint.h"
#include "store/store.h"

/* A member name that is looked for; its id is asked for once a resource. Zero-initialise. */
struct sirix_stored_name {
    struct sirix_bytes canonical;
    struct sirix_resource *resource; /* That id and has_id are of. */
    bool has_id;
    uint32_t id;
};

static inline void sirix_stored_name_bind(struct sirix_stored_name *name,
                                          struct sirix_resource *resource)
{
    if (name->resource != resource || !name->has_id) {
        name->resource = resource;
        name->has_id = sirix_names_find(resource, name->canonical, &name->id);
    }
}

/* Kind of a record, of its value, and whether it is a field row of a container. */
static inline enum sirix_node_kind sirix_stored_kind(const uint8_t *record)
{
    return (enum sirix_node_kind)(*record & 0x0f);
}

/*
 * The interned name of a field's record; false when it has none, or when it is none that this reads:
 * decode it then.
 */
static inline bool sirix_stored_name_id(struct sirix_bytes record, uint32_t *out_id)
{
    const uint8_t *at = record.data;
    const uint8_t *end = at + record.len;
    uint64_t head = 0;
    size_t len = 0;

    if (record.len < 3 || (*at & 0x30) == 0x20) {
        return false; /* An explicit label: rare. */
    }
    at++;
    while (at != end && *at >= 0x80) {
        at++;
    }
    if (at == end || ++at == end) {
        return false;
    }
    len = sirix_varint_decode(at, (size_t)(end - at), &head);
    if (len == 0 || (head & 3) != 0) {
        return false;
    }
    *out_id = (uint32_t)(head >> 2);
    return true;
}

/*
 * What is read most, without a call: the bytes of a record behind label, parent and name. NULL where the
 * form is rare or damaged: sirix_node_decode() reads it then, or says what is wrong.
 */
static inline const uint8_t *sirix_stored_payload(struct sirix_bytes record)
{
    const uint8_t *at = record.data;
    const uint8_t *end = at + record.len;
    uint64_t head = 0;
    size_t len = 0;

    if (record.len < 2 || (*at & 0x30) == 0x20) {
        return NULL; /* An explicit label. */
    }
    const bool is_field = sirix_node_is_field(sirix_stored_kind(at));
    at++;
    while (at != end && *at >= 0x80) {
        at++;
    }
    if (at == end) {
        return NULL;
    }
    at++;
    if (!is_field) {
        return at;
    }
    len = sirix_varint_decode(at, (size_t)(end - at), &head);
    if (len == 0 || (head & 3) != 0) {
        return NULL; /* A name without an id. */
    }
    return at + len;
}

/* Reads a varint at *at, which moves behind it. */
static inline bool sirix_stored_take(const uint8_t **at, const uint8_t *end, uint64_t *out)
{
    size_t len = 0;

    if (*at < end && **at < 0x80) {
        *out = *(*at)++;
        return true;
    }
    if (*at >= end) {
        return false;
    }
    len = sirix_varint_decode(*at, (size_t)(end - *at), out);
    *at += len;
    return len != 0;
}

/*
 * The keys of few children of a container's record; false: there are many, or the form is none that this
 * reads.
 */
static inline bool sirix_stored_keys(struct sirix_bytes record, uint64_t key,
                                     uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX],
                                     uint32_t *out_count)
{
    const uint8_t *at = sirix_stored_payload(record);
    const uint8_t *end = (const uint8_t *)record.data + record.len;
    uint64_t count = 0;

    if (at == NULL || (*(const uint8_t *)record.data & 0xc0) != 0 ||
        !sirix_stored_take(&at, end, &count) || count > SIRIX_NODE_CHILDREN_INLINE_MAX) {
        return false;
    }
    for (uint64_t i = 0; i < count; i++) {
        uint64_t delta = 0;

        if (!sirix_stored_take(&at, end, &delta) || delta == 0) {
            return false;
        }
        key += (uint64_t)sirix_zigzag_decode(delta);
        keys[i] = key;
    }
    *out_count = (uint32_t)count;
    return at == end;
}

/* The row that begins at key, which another row names: absent is SIRIX_CORRUPT. */
enum sirix_status sirix_stored_row(struct sirix_document *document, uint64_t key,
                                   struct sirix_row *out_row,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same, decoded. */
enum sirix_status sirix_stored_get(struct sirix_document *document, uint64_t key,
                                   struct sirix_node *out_node,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The value that a listed key leads to, decoded; out_node->key is the value's. */
enum sirix_status sirix_stored_value(struct sirix_document *document, uint64_t listed,
                                     struct sirix_node *out_node,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The listed key of the member of an object; *out_found false: there is none. */
enum sirix_status sirix_stored_member(struct sirix_document *document,
                                      const struct sirix_node *object,
                                      struct sirix_stored_name *name, uint64_t *out_listed,
                                      bool *out_found, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a field row has this name. */
enum sirix_status sirix_stored_name_equals(struct sirix_document *document,
                                           const struct sirix_node *field,
                                           struct sirix_stored_name *name, bool *out_equal,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* The canonical text of a field's name or of a string or number text, appended. */
enum sirix_status sirix_stored_name_append(struct sirix_document *document,
                                           const struct sirix_node *field, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_stored_text_append(struct sirix_document *document,
                                           const struct sirix_text *text, struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* The child at an index of a container; *out_found false: past the last. */
enum sirix_status sirix_stored_child_at(struct sirix_document *document,
                                        const struct sirix_node *container, uint64_t index,
                                        uint64_t *out_listed, bool *out_found,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The listed keys of a container in order, from an index on. Survives yields. Caller's storage. */
struct sirix_stored_list {
    bool tree;
    uint32_t index; /* Inline: of the next one. */
    uint64_t left;  /* How many are still to come. */
    union {
        uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
        struct sirix_child_cursor cursor;
    } from;
};
enum sirix_status sirix_stored_list_init(struct sirix_stored_list *list,
                                         struct sirix_document *document,
                                         const struct sirix_node *container, uint64_t first,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_stored_list_next_tree(struct sirix_stored_list *list, uint64_t *out_listed,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
/* Only while left is not 0. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_stored_list_next(
    struct sirix_stored_list *list, uint64_t *out_listed, struct sirix_error *err)
{
    if (list->tree) {
        return sirix_stored_list_next_tree(list, out_listed, err);
    }
    list->left--;
    *out_listed = list->from.keys[list->index++];
    return SIRIX_OK;
}

#endif
