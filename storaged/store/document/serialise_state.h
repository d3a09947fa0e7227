/*
 * What a serialiser keeps between steps, shared by the whole way (serialise.c) and the short one for
 * plain rows (serialise_plain.c).
 *
 * Private to this folder.
 */
#ifndef SIRIX_STORE_DOCUMENT_SERIALISE_STATE_H
#define SIRIX_STORE_DOCUMENT_SERIALISE_STATE_H

#include "base/arena.h"
#include "store/document/rows.h"

enum {
    SIRIX_SERIALISE_INDENT_MAX = 16,
    SIRIX_SERIALISE_SLACK_BYTES = 64, /* Punctuation, literals and numbers of one row. */
    SIRIX_SERIALISE_BLOCK_BYTES = 16,
};

struct sirix_serialise_frame {
    bool is_object;
    bool has_child; /* One was written. */
    uint64_t left;  /* Children that may still be written. */
    struct sirix_siblings siblings;
};

struct sirix_serialiser {
    struct sirix_rows rows;
    struct sirix_serialise_options options;
    bool
        in_leaf; /* The cursor's leaf is right: until the end of a step, when the reader may yield. */
    bool started;
    bool done;
    uint64_t nodes_left;
    struct sirix_serialise_frame *frames;
    uint32_t depth;
    uint32_t cap;
    struct sirix_bytes *names; /* By id, as far as they were needed; data NULL: not yet. */
    struct sirix_arena name_bytes;
    size_t name_cap;
    struct sirix_text pending; /* A text out of line, not written to its end: address != 0. */
    uint64_t pending_offset;
    bool pending_quote; /* A string: its closing quote is due. */
};

/*
 * The row that begins at key; NOT_FOUND when none does, also when key is another row's second one. The
 * leaf of the row before is looked at first: rows mostly come in the order of their keys.
 */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_serialise_row(struct sirix_serialiser *s,
                                                                     uint64_t key,
                                                                     struct sirix_bytes *out_record,
                                                                     struct sirix_error *err)
{
    struct sirix_trie_cursor *cursor = s->rows.cursor;
    struct sirix_row row = {0};
    enum sirix_status status = SIRIX_OK;

    if (s->in_leaf && cursor->leaf.index == key >> SIRIX_LEAF_BITS) {
        status = sirix_leaf_view_at(&cursor->leaf, (uint32_t)key & (SIRIX_LEAF_KEYS - 1),
                                    out_record, err);
        return status == SIRIX_OK && out_record->data == NULL ? SIRIX_NOT_FOUND : status;
    }
    s->in_leaf = false;
    status = sirix_rows_get(&s->rows, key, &row, err);
    if (status == SIRIX_OK && row.key != key) {
        return SIRIX_NOT_FOUND;
    }
    if (status == SIRIX_OK && cursor != NULL && cursor->leaf.valid) {
        /* All of its rows will be wanted: one walk finds them. */
        status = sirix_leaf_view_walk(&cursor->leaf, SIRIX_LEAF_KEYS, err);
        s->in_leaf = status == SIRIX_OK;
    }
    *out_record = row.record;
    return status;
}

/* Room that a new line with its indent takes. */
static inline size_t sirix_serialise_line_bytes(const struct sirix_serialiser *s)
{
    return s->options.indent == 0 ? 0 : 1 + (size_t)s->options.indent * (s->depth + 1);
}

/*
 * An interned name as it is written, quotes, colon and, when indented, space included; made once. At
 * least SIRIX_SERIALISE_BLOCK_BYTES may be read from any multiple of that below its length.
 */
enum sirix_status sirix_serialise_name(struct sirix_serialiser *s, uint32_t id,
                                       struct sirix_bytes *out_name,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Writes the child of the innermost frame whose row is given, if it is plain; *out_done false: nothing
 * was written, the whole way does it, or says what is wrong.
 */
enum sirix_status sirix_serialise_plain(struct sirix_serialiser *s, uint64_t key,
                                        struct sirix_bytes record, struct sirix_buf *out,
                                        bool *out_done, struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
