/* Whether values are the same text, with members in any order. */
#include <stdlib.h>

#include "base/buf.h"
#include "store/document/diff_state.h"
#include "json/number.h"

enum { TEXT_PIECE_BYTES = 64 * 1024, FRAMES_MIN = 16 };

/* --- Scalars ------------------------------------------------------------------------------------ */

static enum sirix_status texts_same(struct sirix_rows *rows_a, const struct sirix_text *a,
                                    struct sirix_rows *rows_b, const struct sirix_text *b,
                                    bool *out_same, struct sirix_error *err)
{
    struct sirix_buf piece_a;
    struct sirix_buf piece_b;
    enum sirix_status status = SIRIX_OK;
    bool same = a->len == b->len;

    if (!same || (a->address != 0 && a->address == b->address)) {
        *out_same = same;
        return SIRIX_OK;
    }
    if (a->address == 0 && b->address == 0) {
        *out_same = sirix_bytes_equal(a->bytes, b->bytes);
        return SIRIX_OK;
    }
    sirix_buf_init(&piece_a, TEXT_PIECE_BYTES);
    sirix_buf_init(&piece_b, TEXT_PIECE_BYTES);
    for (uint64_t at = 0; at < a->len && same && status == SIRIX_OK; at += TEXT_PIECE_BYTES) {
        size_t len = a->len - at < TEXT_PIECE_BYTES ? (size_t)(a->len - at) : TEXT_PIECE_BYTES;

        sirix_buf_clear(&piece_a);
        sirix_buf_clear(&piece_b);
        status = sirix_rows_text(rows_a, a, at, len, &piece_a, err);
        if (status == SIRIX_OK) {
            status = sirix_rows_text(rows_b, b, at, len, &piece_b, err);
        }
        same = sirix_bytes_equal(sirix_buf_view(&piece_a), sirix_buf_view(&piece_b));
    }
    sirix_buf_deinit(&piece_a);
    sirix_buf_deinit(&piece_b);
    if (status == SIRIX_OK) {
        *out_same = same;
    }
    return status;
}

/* Whether two numbers that are written differently have one value. */
static enum sirix_status numbers_equal(struct sirix_rows *rows_a, const struct sirix_node *a,
                                       struct sirix_rows *rows_b, const struct sirix_node *b,
                                       bool *out_equal, struct sirix_error *err)
{
    struct sirix_buf text_a;
    struct sirix_buf text_b;
    enum sirix_status status = SIRIX_OK;
    bool cut = false;

    sirix_buf_init(&text_a, SIZE_MAX);
    sirix_buf_init(&text_b, SIZE_MAX);
    status = sirix_rows_scalar(rows_a, a, SIZE_MAX, &text_a, &cut, err);
    if (status == SIRIX_OK) {
        status = sirix_rows_scalar(rows_b, b, SIZE_MAX, &text_b, &cut, err);
    }
    if (status == SIRIX_OK) {
        *out_equal =
            sirix_json_number_compare(sirix_buf_view(&text_a), sirix_buf_view(&text_b)) == 0;
    }
    sirix_buf_deinit(&text_a);
    sirix_buf_deinit(&text_b);
    return status;
}

enum sirix_status sirix_diff_scalars(struct sirix_rows *rows_a, const struct sirix_node *a,
                                     struct sirix_rows *rows_b, const struct sirix_node *b,
                                     bool *out_same, bool *out_equal_value, struct sirix_error *err)
{
    enum sirix_node_kind kind = sirix_node_value_kind(a->kind);
    enum sirix_node_kind kind_b = sirix_node_value_kind(b->kind);
    enum sirix_status status = SIRIX_OK;
    bool same = false;
    bool equal = false;

    if (kind == SIRIX_NODE_STRING && kind_b == kind) {
        status = texts_same(rows_a, &a->text, rows_b, &b->text, &same, err);
    } else if (kind == SIRIX_NODE_INTEGER && kind_b == kind) {
        same = a->integer == b->integer;
    } else if (kind == SIRIX_NODE_NUMBER && kind_b == kind && a->number_text == b->number_text) {
        if (a->number_text) {
            status = texts_same(rows_a, &a->text, rows_b, &b->text, &same, err);
        } else {
            same = a->integer == b->integer && a->scale == b->scale;
        }
    } else {
        same = kind == kind_b && kind != SIRIX_NODE_NUMBER;
    }
    if (status == SIRIX_OK && !same && sirix_json_type(kind) == SIRIX_NODE_INTEGER &&
        sirix_json_type(kind_b) == SIRIX_NODE_INTEGER &&
        (kind == SIRIX_NODE_NUMBER || kind_b == SIRIX_NODE_NUMBER)) {
        status = numbers_equal(rows_a, a, rows_b, b, &equal, err);
    }
    if (status == SIRIX_OK) {
        *out_same = same;
        *out_equal_value = same || equal;
    }
    return status;
}

/* --- Subtrees ----------------------------------------------------------------------------------- */

/* Two containers whose children are being compared: those of a in order. */
struct frame {
    struct sirix_siblings siblings_a;
    struct sirix_siblings siblings_b; /* Arrays. */
    struct sirix_list list_b;         /* Objects: members are looked up. */
    uint64_t key_b;                   /* Of the node whose list that is, */
    uint64_t generation;              /* which is read again after a yield. */
    bool is_object;
};

struct comparison {
    struct sirix_diff *diff;
    struct sirix_rows *rows_a;
    struct sirix_rows *rows_b;
    struct frame *frames;
    size_t depth;
    size_t cap;
    uint64_t nodes_left;
    struct sirix_buf name;
    bool same;
};

static enum sirix_status push_frame(struct comparison *comparison,
                                    const struct sirix_document_node *a,
                                    const struct sirix_document_node *b, struct sirix_error *err)
{
    struct sirix_list list_a;
    struct frame *frame = NULL;
    enum sirix_status status = SIRIX_OK;

    if (comparison->depth == comparison->cap) {
        size_t cap = comparison->cap == 0 ? FRAMES_MIN : comparison->cap * 2;
        struct frame *frames = realloc(comparison->frames, cap * sizeof(*frames));

        if (frames == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a comparison of values");
        }
        comparison->frames = frames;
        comparison->cap = cap;
    }
    frame = &comparison->frames[comparison->depth];
    frame->is_object = a->kind == SIRIX_NODE_OBJECT;
    frame->key_b = b->key;
    frame->generation = sirix_reader_generation(comparison->rows_b->reader);
    status = sirix_list_of(comparison->rows_a, a, &list_a, err);
    if (status == SIRIX_OK) {
        status = sirix_siblings_init(&frame->siblings_a, comparison->rows_a, &list_a, 0, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_of(comparison->rows_b, b, &frame->list_b, err);
    }
    if (status == SIRIX_OK && !frame->is_object) {
        status =
            sirix_siblings_init(&frame->siblings_b, comparison->rows_b, &frame->list_b, 0, err);
    }
    if (status == SIRIX_OK) {
        comparison->depth += 1;
    }
    return status;
}

/* Compares two values; containers that may be the same are pushed. */
static enum sirix_status compare_nodes(struct comparison *comparison,
                                       const struct sirix_document_node *a,
                                       const struct sirix_document_node *b, struct sirix_error *err)
{
    bool equal = false;

    if (comparison->nodes_left == 0) {
        comparison->same = false;
        return SIRIX_OK;
    }
    comparison->nodes_left -= 1;
    if (sirix_node_is_container(a->kind) || sirix_node_is_container(b->kind)) {
        comparison->same = a->kind == b->kind && a->child_count == b->child_count;
        return comparison->same && a->child_count != 0 ? push_frame(comparison, a, b, err)
                                                       : SIRIX_OK;
    }
    return sirix_diff_scalars(comparison->rows_a, &a->stored, comparison->rows_b, &b->stored,
                              &comparison->same, &equal, err);
}

/* Reads the list of b again if the reader has yielded since. */
static enum sirix_status refresh(struct comparison *comparison, struct frame *frame,
                                 struct sirix_error *err)
{
    uint64_t generation = sirix_reader_generation(comparison->rows_b->reader);
    struct sirix_document_node b;
    enum sirix_status status = SIRIX_OK;

    if (!frame->is_object || frame->generation == generation) {
        return SIRIX_OK;
    }
    status = sirix_rows_child(comparison->rows_b, frame->key_b, &b, err);
    if (status == SIRIX_OK) {
        status = sirix_list_of(comparison->rows_b, &b, &frame->list_b, err);
        frame->generation = generation;
    }
    return status;
}

/* The child of b that stands against a child of a; NOT_FOUND: b has no member of that name. */
static enum sirix_status counterpart(struct comparison *comparison, struct frame *frame,
                                     const struct sirix_document_node *a, uint64_t *out_key,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!frame->is_object) {
        return sirix_siblings_next(&frame->siblings_b, out_key, err);
    }
    sirix_buf_clear(&comparison->name);
    status = sirix_rows_name(comparison->rows_a, sirix_node_listed(a), &comparison->name, err);
    if (status == SIRIX_OK) {
        status = sirix_list_member(comparison->rows_b, &frame->list_b,
                                   sirix_buf_view(&comparison->name), out_key, err);
    }
    return status;
}

/* Compares the next children of the innermost containers; at their end the frame is popped. */
static enum sirix_status step(struct comparison *comparison, struct sirix_error *err)
{
    struct frame *frame = &comparison->frames[comparison->depth - 1];
    struct sirix_document_node a;
    struct sirix_document_node b;
    uint64_t key = 0;
    enum sirix_status status = sirix_diff_step(comparison->diff, err);

    if (status == SIRIX_OK) {
        status = refresh(comparison, frame, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_siblings_next(&frame->siblings_a, &key, err);
    }
    if (status == SIRIX_NOT_FOUND) {
        comparison->depth -= 1;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_child(comparison->rows_a, key, &a, err);
    }
    if (status == SIRIX_OK) {
        status = counterpart(comparison, frame, &a, &key, err);
        if (status == SIRIX_NOT_FOUND) {
            comparison->same = false;
            return SIRIX_OK;
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_child(comparison->rows_b, key, &b, err);
    }
    return status == SIRIX_OK ? compare_nodes(comparison, &a, &b, err) : status;
}

enum sirix_status sirix_diff_same(struct sirix_diff *diff, struct sirix_rows *rows_a,
                                  uint64_t key_a, struct sirix_rows *rows_b, uint64_t key_b,
                                  bool *out_same, struct sirix_error *err)
{
    struct comparison comparison = {
        .diff = diff,
        .rows_a = rows_a,
        .rows_b = rows_b,
        .nodes_left = SIRIX_DIFF_SAME_NODES_MAX,
        .same = true,
    };
    struct sirix_document_node a;
    struct sirix_document_node b;
    enum sirix_status status = sirix_rows_node(rows_a, key_a, &a, err);

    sirix_buf_init(&comparison.name, SIZE_MAX);
    if (status == SIRIX_OK) {
        status = sirix_rows_node(rows_b, key_b, &b, err);
    }
    if (status == SIRIX_OK) {
        status = compare_nodes(&comparison, &a, &b, err);
    }
    while (status == SIRIX_OK && comparison.same && comparison.depth != 0) {
        status = step(&comparison, err);
    }
    if (status == SIRIX_OK) {
        *out_same = comparison.same;
    }
    sirix_buf_deinit(&comparison.name);
    free(comparison.frames);
    return status;
}
