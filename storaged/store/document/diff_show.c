/* Paths, values and names of changes, from the revision that has them. */
#include "store/document/diff_state.h"
#include "json/text.h"

static struct sirix_rows *rows_of(struct sirix_diff *diff, enum sirix_diff_side side)
{
    return side == SIRIX_DIFF_BEFORE ? &diff->rows_before : &diff->rows_after;
}

enum sirix_status sirix_diff_path(struct sirix_diff *diff, const struct sirix_change *change,
                                  enum sirix_diff_side side, enum sirix_path_form form,
                                  struct sirix_buf *out, struct sirix_error *err)
{
    uint64_t key = sirix_change_side(change, side)->key;

    return key == 0 ? SIRIX_OK : sirix_rows_path(rows_of(diff, side), key, form, out, err);
}

enum sirix_status sirix_diff_name(struct sirix_diff *diff, const struct sirix_change *change,
                                  enum sirix_diff_side side, struct sirix_buf *out,
                                  struct sirix_error *err)
{
    struct sirix_rows *rows = rows_of(diff, side);
    uint64_t key = sirix_change_side(change, side)->key;
    struct sirix_document_node node;
    enum sirix_status status = SIRIX_OK;

    if (key == 0 || !change->is_member) {
        return SIRIX_OK;
    }
    status = sirix_rows_child(rows, key, &node, err);
    return status == SIRIX_OK ? sirix_rows_name(rows, sirix_node_listed(&node), out, err) : status;
}

/* Up to max_bytes of a container's text. */
static enum sirix_status append_container(struct sirix_document *document, uint64_t key,
                                          size_t max_bytes, struct sirix_buf *out, bool *out_cut,
                                          struct sirix_error *err)
{
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_serialiser *serialiser = NULL;
    size_t from = out->len;
    bool done = false;
    enum sirix_status status = sirix_serialiser_new(document, &options, &serialiser, err);

    while (status == SIRIX_OK && !done && out->len - from < max_bytes) {
        status = sirix_serialiser_step(serialiser, max_bytes - (out->len - from), out, &done, err);
    }
    sirix_serialiser_free(serialiser);
    if (status == SIRIX_OK && (!done || out->len - from > max_bytes)) {
        const struct sirix_bytes text = {.data = out->data + from, .len = out->len - from};

        out->len = from + sirix_json_text_cut(text, max_bytes);
        *out_cut = true;
    }
    return status;
}

enum sirix_status sirix_diff_value(struct sirix_diff *diff, const struct sirix_change *change,
                                   enum sirix_diff_side side, size_t max_bytes,
                                   struct sirix_buf *out, bool *out_cut, struct sirix_error *err)
{
    struct sirix_document *document = sirix_diff_document(diff, side);
    const struct sirix_change_side *of = sirix_change_side(change, side);
    struct sirix_document_node node;
    enum sirix_status status = SIRIX_OK;

    *out_cut = false;
    if (of->key == 0) {
        return SIRIX_OK;
    }
    if (sirix_node_is_container(of->kind)) {
        return append_container(document, of->key, max_bytes, out, out_cut, err);
    }
    status = sirix_document_get(document, of->key, &node, err);
    return status == SIRIX_OK ? sirix_document_scalar(document, &node, max_bytes, out, out_cut, err)
                              : status;
}
