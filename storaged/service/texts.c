/* Stored texts, in the row or out of line. */
#include "service/texts.h"

#include "store/page/string.h"
#include "json/text.h"

enum sirix_status sirix_text_append(struct sirix_reader *reader, const struct sirix_text *text,
                                    uint64_t offset, uint64_t max, struct sirix_buf *out,
                                    struct sirix_error *err)
{
    struct sirix_string_reader string;

    if (text->address == 0) {
        uint64_t len = offset >= text->len ? 0 : text->len - offset;
        return sirix_buf_append(out, (const char *)text->bytes.data + (len == 0 ? 0 : offset),
                                len > max ? max : len, err);
    }
    enum sirix_status status = sirix_string_reader_init(&string, reader, text->address, err);
    while (status == SIRIX_OK && max > 0) {
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        status = sirix_string_reader_at(&string, offset, &piece, err);
        if (status != SIRIX_OK || piece.len == 0) {
            break;
        }
        piece.len = piece.len > max ? (size_t)max : piece.len;
        status = sirix_buf_append_bytes(out, piece, err);
        offset += piece.len;
        max -= piece.len;
    }
    return status;
}

enum sirix_status sirix_member_name(struct sirix_reader *reader,
                                    const struct sirix_document_node *node,
                                    struct sirix_arena *arena, struct sirix_buf *scratch,
                                    struct sirix_bytes *out_name, struct sirix_error *err)
{
    struct sirix_bytes stored = node->name;
    struct sirix_bytes plain = {.data = NULL, .len = 0};
    enum sirix_status status = SIRIX_OK;

    if (stored.len == 0 && node->long_name.len != 0) {
        sirix_buf_clear(scratch);
        status = sirix_text_append(reader, &node->long_name, 0, node->long_name.len, scratch, err);
        stored = sirix_buf_view(scratch);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_text_to_plain(arena, stored, &plain, err);
    }
    return status == SIRIX_OK ? sirix_arena_copy(arena, plain, out_name, err) : status;
}
