/*
 * Texts of rows: lengths, numbers, and bytes that lie in the row, on a string page, or in the memory
 * of an edit that has not been published.
 */
#include "store/document/rows.h"

#include <assert.h>
#include <inttypes.h>

#include "store/document/edit_state.h"
#include "json/number.h"
#include "json/text.h"

static uint64_t digits(uint64_t value)
{
    uint64_t count = 1;

    while (value >= 10) {
        value /= 10;
        count++;
    }
    return count;
}

static uint64_t magnitude(int64_t value)
{
    return value < 0 ? UINT64_C(0) - (uint64_t)value : (uint64_t)value;
}

static uint64_t number_len(const struct sirix_node *node)
{
    uint64_t count = 0;

    if (node->number_text) {
        return node->text.len;
    }
    count = digits(magnitude(node->integer));
    if (count <= node->scale) {
        count = node->scale + 1; /* 0.0x: zeros before the mantissa. */
    }
    return count + 1 + (node->integer < 0 ? 1 : 0);
}

uint64_t sirix_scalar_text_len(const struct sirix_node *node)
{
    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_STRING:
        return node->text.len + 2;
    case SIRIX_NODE_INTEGER:
        return digits(magnitude(node->integer)) + (node->integer < 0 ? 1 : 0);
    case SIRIX_NODE_NUMBER:
        return number_len(node);
    case SIRIX_NODE_FALSE:
        return 5;
    default:
        return 4; /* true, null */
    }
}

enum sirix_status sirix_scalar_append_number(const struct sirix_node *node, struct sirix_buf *out,
                                             struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_reserve(out, SIRIX_JSON_DECIMAL_TEXT_BYTES + 1, err);
    char *to = NULL;

    if (status != SIRIX_OK) {
        return status;
    }
    to = (char *)out->data + out->len;
    if (sirix_node_value_kind(node->kind) == SIRIX_NODE_INTEGER) {
        out->len += sirix_json_number_format_integer(node->integer, to);
        return SIRIX_OK;
    }
    if (node->scale > SIRIX_JSON_DECIMAL_DIGITS_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT,
                          "node %" PRIu64 " is a decimal with %u digits behind the point",
                          node->key, node->scale);
    }
    out->len += sirix_json_number_format_decimal(node->integer, (uint8_t)node->scale, to);
    return SIRIX_OK;
}

static enum sirix_status stored_text(struct sirix_rows *rows, const struct sirix_text *text,
                                     uint64_t offset, size_t len, struct sirix_buf *out,
                                     struct sirix_error *err)
{
    struct sirix_string_reader string = {0};
    enum sirix_status status = sirix_string_reader_init(&string, rows->reader, text->address, err);

    if (status == SIRIX_OK && string.info.stored_len != text->len) {
        return sirix_fail(err, SIRIX_CORRUPT,
                          "a string page says %" PRIu64 " bytes, its row %" PRIu64,
                          string.info.stored_len, text->len);
    }
    while (status == SIRIX_OK && len != 0) {
        struct sirix_bytes piece = {0};
        status = sirix_string_reader_at(&string, offset, &piece, err);
        if (status == SIRIX_OK && piece.len == 0) {
            return sirix_fail(err, SIRIX_CORRUPT, "a string ends before its length");
        }
        if (status == SIRIX_OK) {
            piece.len = piece.len < len ? piece.len : len;
            status = sirix_buf_append_bytes(out, piece, err);
            offset += piece.len;
            len -= piece.len;
        }
    }
    return status;
}

enum sirix_status sirix_rows_text(struct sirix_rows *rows, const struct sirix_text *text,
                                  uint64_t offset, size_t len, struct sirix_buf *out,
                                  struct sirix_error *err)
{
    const struct sirix_early_text *early = NULL;

    assert(offset <= text->len && len <= text->len - offset);
    if (text->address == 0) {
        return len == 0
                   ? SIRIX_OK
                   : sirix_buf_append(out, (const uint8_t *)text->bytes.data + offset, len, err);
    }
    if (rows->edit != NULL) {
        early = sirix_edit_early_text_find(rows->edit, text->address);
    }
    if (early != NULL) {
        return sirix_buf_append(out, early->bytes + offset, len, err);
    }
    return stored_text(rows, text, offset, len, out, err);
}

enum sirix_status sirix_rows_text_equals(struct sirix_rows *rows, const struct sirix_text *text,
                                         struct sirix_bytes bytes, bool *out_equal,
                                         struct sirix_error *err)
{
    const struct sirix_early_text *early = NULL;
    struct sirix_string_reader string = {0};
    uint8_t hash[SIRIX_SHA256_BYTES];
    enum sirix_status status = SIRIX_OK;

    if (text->len != bytes.len) {
        *out_equal = false;
        return SIRIX_OK;
    }
    if (text->address == 0) {
        *out_equal = sirix_bytes_equal(text->bytes, bytes);
        return SIRIX_OK;
    }
    if (rows->edit != NULL) {
        early = sirix_edit_early_text_find(rows->edit, text->address);
    }
    if (early != NULL) {
        *out_equal = memcmp(early->bytes, bytes.data, bytes.len) == 0;
        return SIRIX_OK;
    }
    status = sirix_string_reader_init(&string, rows->reader, text->address, err);
    if (status == SIRIX_OK) {
        status = sirix_sha256(bytes.data, bytes.len, hash, err);
    }
    if (status == SIRIX_OK) {
        *out_equal = string.info.stored_len == bytes.len &&
                     memcmp(string.info.hash, hash, sizeof(hash)) == 0;
    }
    return status;
}

enum sirix_status sirix_rows_name(struct sirix_rows *rows, const struct sirix_node *field,
                                  struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if (!field->name_interned) {
        return sirix_rows_text(rows, &field->name, 0, (size_t)field->name.len, out, err);
    }
    status = sirix_names_get(rows->resource, field->name_id, &name, err);
    return status == SIRIX_OK ? sirix_buf_append_bytes(out, name, err) : status;
}

enum sirix_status sirix_rows_name_len(struct sirix_rows *rows, const struct sirix_node *field,
                                      uint64_t *out_len, struct sirix_error *err)
{
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if (!field->name_interned) {
        *out_len = field->name.len;
        return SIRIX_OK;
    }
    status = sirix_names_get(rows->resource, field->name_id, &name, err);
    if (status == SIRIX_OK) {
        *out_len = name.len;
    }
    return status;
}

/* A string's text up to max_bytes, cut where neither an escape nor a character ends up in two. */
static enum sirix_status append_string(struct sirix_rows *rows, const struct sirix_text *text,
                                       size_t max_bytes, struct sirix_buf *out, bool *out_cut,
                                       struct sirix_error *err)
{
    size_t len = text->len < max_bytes ? (size_t)text->len : max_bytes;
    enum sirix_status status = sirix_buf_append_u8(out, '"', err);
    size_t from = out->len;

    if (status == SIRIX_OK) {
        status = sirix_rows_text(rows, text, 0, len, out, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    *out_cut = len != text->len;
    if (*out_cut) {
        struct sirix_bytes kept = {.data = out->data + from, .len = len};
        out->len = from + sirix_json_text_cut(kept, len);
    }
    return sirix_buf_append_u8(out, '"', err);
}

enum sirix_status sirix_rows_scalar(struct sirix_rows *rows, const struct sirix_node *node,
                                    size_t max_bytes, struct sirix_buf *out, bool *out_cut,
                                    struct sirix_error *err)
{
    bool cut = false;
    enum sirix_status status = SIRIX_OK;

    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_STRING:
        status = append_string(rows, &node->text, max_bytes, out, &cut, err);
        break;
    case SIRIX_NODE_NUMBER:
        status = node->number_text
                     ? sirix_rows_text(rows, &node->text, 0, (size_t)node->text.len, out, err)
                     : sirix_scalar_append_number(node, out, err);
        break;
    case SIRIX_NODE_INTEGER:
        status = sirix_scalar_append_number(node, out, err);
        break;
    case SIRIX_NODE_TRUE:
        status = sirix_buf_append_str(out, "true", err);
        break;
    case SIRIX_NODE_FALSE:
        status = sirix_buf_append_str(out, "false", err);
        break;
    case SIRIX_NODE_NULL:
        status = sirix_buf_append_str(out, "null", err);
        break;
    default:
        return sirix_fail_reason(err, SIRIX_PRECONDITION, SIRIX_REASON_NODE_KIND,
                                 "node %" PRIu64 " is a container, not a scalar", node->key);
    }
    if (status == SIRIX_OK) {
        *out_cut = cut;
    }
    return status;
}

enum sirix_status sirix_document_scalar(struct sirix_document *document,
                                        const struct sirix_document_node *node, size_t max_bytes,
                                        struct sirix_buf *out, bool *out_cut,
                                        struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);

    return sirix_rows_scalar(&rows, &node->stored, max_bytes, out, out_cut, err);
}
