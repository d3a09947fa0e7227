/*
 * Root page    header 64: type, 0, u16 0, u32 chunks, u64 stored length, u64 decoded length,
 *              u32 chunk length, u32 0, 32 bytes hash; then u64 address of each chunk
 * Chunk page   header 8: type, 0, u16 0, u32 length; then the bytes
 */
#include "store/page/string.h"

#include <assert.h>

#include "store/page/page.h"

enum { ADDRESS_BYTES = 8, UNICODE_ESCAPE_BYTES = 6, SHORT_ESCAPE_BYTES = 2 };
enum {
    STORED_BYTES_MAX = SIRIX_STRING_BYTES_MAX * SIRIX_ESCAPED_FACTOR_MAX,
    CHUNKS_MAX = STORED_BYTES_MAX / SIRIX_STRING_CHUNK_BYTES + 1,
};

/* --- Root pages ------------------------------------------------------------------------------ */

static uint64_t chunks_needed(uint64_t stored_len, uint32_t chunk_bytes)
{
    return (stored_len + chunk_bytes - 1) / chunk_bytes;
}

static bool lengths_fit(const struct sirix_string_info *info)
{
    return info->stored_len != 0 && info->decoded_len != 0 &&
           info->decoded_len <= SIRIX_STRING_BYTES_MAX && info->decoded_len <= info->stored_len &&
           info->stored_len <= info->decoded_len * SIRIX_ESCAPED_FACTOR_MAX &&
           info->chunk_bytes != 0 && info->chunk_bytes <= SIRIX_STRING_CHUNK_BYTES &&
           info->chunk_count == chunks_needed(info->stored_len, info->chunk_bytes);
}

enum sirix_status sirix_string_root_decode(struct sirix_bytes bytes, uint64_t address,
                                           struct sirix_string_info *out_info,
                                           struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    struct sirix_string_info info = {0};

    if (bytes.len < SIRIX_STRING_ROOT_HEADER_BYTES || page[0] != SIRIX_PAGE_STRING_ROOT ||
        page[1] != 0 || sirix_load_u16le(page + 2) != 0 || sirix_load_u32le(page + 28) != 0) {
        return sirix_page_damaged(address, "not the root page of a string", err);
    }
    info.chunk_count = sirix_load_u32le(page + 4);
    info.stored_len = sirix_load_u64le(page + 8);
    info.decoded_len = sirix_load_u64le(page + 16);
    info.chunk_bytes = sirix_load_u32le(page + 24);
    memcpy(info.hash, page + 32, sizeof(info.hash));
    if (!lengths_fit(&info)) {
        return sirix_page_damaged(address, "a string's lengths do not fit each other", err);
    }
    if ((bytes.len - SIRIX_STRING_ROOT_HEADER_BYTES) / ADDRESS_BYTES < info.chunk_count) {
        return sirix_page_damaged(address, "a string's root page is cut off", err);
    }
    *out_info = info;
    return SIRIX_OK;
}

enum sirix_status sirix_string_root_chunk(struct sirix_bytes bytes, uint64_t address,
                                          uint32_t index, uint64_t *out_chunk,
                                          struct sirix_error *err)
{
    const uint8_t *page = bytes.data;
    uint64_t chunk =
        sirix_load_u64le(page + SIRIX_STRING_ROOT_HEADER_BYTES + (size_t)index * ADDRESS_BYTES);

    if (sirix_address_number(chunk) == 0) {
        return sirix_page_damaged(address, "a chunk address names segment 0", err);
    }
    *out_chunk = chunk;
    return SIRIX_OK;
}

/* --- Writing --------------------------------------------------------------------------------- */

enum sirix_status sirix_string_writer_init(struct sirix_string_writer *writer,
                                           struct sirix_page_writer *pages, struct sirix_error *err)
{
    *writer = (struct sirix_string_writer){.pages = pages};
    sirix_buf_init(&writer->chunk, SIRIX_STRING_CHUNK_BYTES);
    sirix_buf_init(&writer->addresses, (size_t)CHUNKS_MAX * ADDRESS_BYTES);
    return sirix_sha256_init(&writer->sha, err);
}

void sirix_string_writer_deinit(struct sirix_string_writer *writer)
{
    if (writer == NULL) {
        return;
    }
    sirix_buf_deinit(&writer->chunk);
    sirix_buf_deinit(&writer->addresses);
    sirix_sha256_deinit(&writer->sha);
}

static enum sirix_status write_chunk(struct sirix_string_writer *writer, struct sirix_error *err)
{
    const size_t len = writer->chunk.len;
    uint64_t address = 0;
    uint8_t *place = NULL;
    enum sirix_status status = sirix_page_writer_alloc(
        writer->pages, SIRIX_STRING_CHUNK_HEADER_BYTES + len, &address, &place, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_u64le(&writer->addresses, address, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    place[0] = SIRIX_PAGE_STRING_CHUNK;
    sirix_store_u32le(place + 4, (uint32_t)len);
    memcpy(place + SIRIX_STRING_CHUNK_HEADER_BYTES, writer->chunk.data, len);
    status = sirix_sha256_update(&writer->sha, writer->chunk.data, len, err);
    sirix_buf_clear(&writer->chunk);
    return status;
}

/* Counts what escapes add, across the borders of parts. */
static void count_escapes(struct sirix_string_writer *writer, const uint8_t *at, size_t len)
{
    const uint8_t *end = at + len;

    while (at != end) {
        if (writer->after_backslash) {
            writer->escape_left = *at == 'u' ? UNICODE_ESCAPE_BYTES - 1 : SHORT_ESCAPE_BYTES - 1;
            writer->after_backslash = false;
        }
        if (writer->escape_left != 0) {
            size_t left = (size_t)(end - at);
            size_t take = writer->escape_left < left ? writer->escape_left : left;
            writer->escape_left -= (uint32_t)take;
            writer->saved_len += take;
            at += take;
            continue;
        }
        at = memchr(at, '\\', (size_t)(end - at));
        if (at == NULL) {
            return;
        }
        at++;
        writer->after_backslash = true;
    }
}

static enum sirix_status too_long(struct sirix_error *err)
{
    return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                             "a string is longer than %d bytes", SIRIX_STRING_BYTES_MAX);
}

enum sirix_status sirix_string_writer_append(struct sirix_string_writer *writer,
                                             struct sirix_bytes part, struct sirix_error *err)
{
    const uint8_t *at = part.data;
    size_t left = part.len;

    /* An escape whose end is still to come counts as the one byte that it will be. */
    if (left > STORED_BYTES_MAX - writer->stored_len) {
        return too_long(err);
    }
    if (left != 0) {
        count_escapes(writer, at, left);
    }
    writer->stored_len += left;
    if (writer->stored_len - writer->saved_len > SIRIX_STRING_BYTES_MAX) {
        return too_long(err);
    }
    while (left != 0) {
        size_t room = SIRIX_STRING_CHUNK_BYTES - writer->chunk.len;
        size_t take = left < room ? left : room;
        enum sirix_status status = sirix_buf_append(&writer->chunk, at, take, err);
        if (status == SIRIX_OK && take == room) {
            status = write_chunk(writer, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        at += take;
        left -= take;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_string_writer_finish(struct sirix_string_writer *writer,
                                             struct sirix_text *out_text, uint64_t *out_decoded_len,
                                             struct sirix_error *err)
{
    const uint64_t decoded_len = writer->stored_len - writer->saved_len;
    enum sirix_status status = SIRIX_OK;
    uint64_t address = 0;
    uint8_t *place = NULL;

    assert(writer->stored_len != 0 && !writer->after_backslash && writer->escape_left == 0);
    if (writer->chunk.len != 0) {
        status = write_chunk(writer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_page_writer_alloc(writer->pages,
                                         SIRIX_STRING_ROOT_HEADER_BYTES + writer->addresses.len,
                                         &address, &place, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    place[0] = SIRIX_PAGE_STRING_ROOT;
    sirix_store_u32le(place + 4, (uint32_t)(writer->addresses.len / ADDRESS_BYTES));
    sirix_store_u64le(place + 8, writer->stored_len);
    sirix_store_u64le(place + 16, decoded_len);
    sirix_store_u32le(place + 24, SIRIX_STRING_CHUNK_BYTES);
    memcpy(place + SIRIX_STRING_ROOT_HEADER_BYTES, writer->addresses.data, writer->addresses.len);
    status = sirix_sha256_final(&writer->sha, place + 32, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *out_text = (struct sirix_text){
        .address = address,
        .len = writer->stored_len,
        .escaped = writer->saved_len != 0,
    };
    *out_decoded_len = decoded_len;
    sirix_buf_clear(&writer->addresses);
    writer->stored_len = 0;
    writer->saved_len = 0;
    return SIRIX_OK;
}

/* --- Reading --------------------------------------------------------------------------------- */

enum sirix_status sirix_string_reader_init(struct sirix_string_reader *string,
                                           struct sirix_reader *reader, uint64_t address,
                                           struct sirix_error *err)
{
    struct sirix_string_reader opened = {.reader = reader, .address = address};
    struct sirix_bytes root = {0};
    enum sirix_status status =
        sirix_segment_get(reader, address, SIRIX_STRING_ROOT_HEADER_BYTES, &root, err);

    if (status == SIRIX_OK) {
        status = sirix_string_root_decode(root, address, &opened.info, err);
    }
    if (status == SIRIX_OK) {
        *string = opened;
    }
    return status;
}

static enum sirix_status load_chunk(struct sirix_string_reader *string, uint32_t index,
                                    struct sirix_error *err)
{
    const struct sirix_string_info *info = &string->info;
    const uint64_t before = (uint64_t)index * info->chunk_bytes;
    const uint64_t rest = info->stored_len - before;
    const size_t len = rest < info->chunk_bytes ? (size_t)rest : info->chunk_bytes;
    struct sirix_bytes root = {0};
    struct sirix_bytes page = {0};
    const uint8_t *data = NULL;
    uint64_t address = 0;
    enum sirix_status status = sirix_segment_get(
        string->reader, string->address,
        SIRIX_STRING_ROOT_HEADER_BYTES + (size_t)info->chunk_count * ADDRESS_BYTES, &root, err);

    if (status == SIRIX_OK) {
        status = sirix_string_root_chunk(root, string->address, index, &address, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_segment_get(string->reader, address, SIRIX_STRING_CHUNK_HEADER_BYTES + len,
                                   &page, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    data = page.data;
    if (data[0] != SIRIX_PAGE_STRING_CHUNK || sirix_load_u32le(data + 4) != len) {
        return sirix_page_damaged(address, "not a string's chunk, or one of other length", err);
    }
    string->chunk = (struct sirix_bytes){data + SIRIX_STRING_CHUNK_HEADER_BYTES, len};
    string->chunk_index = index;
    string->generation = sirix_reader_generation(string->reader);
    return SIRIX_OK;
}

enum sirix_status sirix_string_reader_at(struct sirix_string_reader *string, uint64_t offset,
                                         struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    uint32_t index = 0;
    size_t in_chunk = 0;

    if (offset >= string->info.stored_len) {
        *out_bytes = (struct sirix_bytes){0};
        return SIRIX_OK;
    }
    index = (uint32_t)(offset / string->info.chunk_bytes);
    in_chunk = (size_t)(offset % string->info.chunk_bytes);
    if (string->chunk.data == NULL || string->chunk_index != index ||
        string->generation != sirix_reader_generation(string->reader)) {
        enum sirix_status status = load_chunk(string, index, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out_bytes = (struct sirix_bytes){
        .data = (const uint8_t *)string->chunk.data + in_chunk,
        .len = string->chunk.len - in_chunk,
    };
    return SIRIX_OK;
}
