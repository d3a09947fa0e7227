/* Little-endian fields at fixed places, and lists behind them. */
#include "service/backup_format.h"

#include <stdlib.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "base/name.h"

static const uint8_t magic[8] = {'S', 'I', 'R', 'I', 'X', 'B', 'A', 'K'};

enum {
    TYPE_AT = 0,
    LEN_AT = 4,
    CRC_AT = 8,
    START_VERSION_AT = 8,
    START_FLAGS_AT = 12,
    START_MADE_AT = 16,
    START_CREATED_AT = 24,
    START_BASE_AT = 32,
    START_NAME_AT = 64,
    START_INCREMENTAL = 1,
    END_ROWS_AT = 0,
    END_SEGMENTS_AT = 8,
    END_BYTES_AT = 16,
    END_NEXT_AT = 24,
    END_CREATED_AT = 32,
    END_COUNT_AT = 40,
    END_SHA_AT = 48,
    END_HOLES_AT = 80,
    HOLE_BYTES = 16,
    END_TAIL_BYTES = 8, /* The length of the frame, which so is found from the end of a file. */
};

/* --- Frames ------------------------------------------------------------------------------------- */

static uint32_t checksum(struct sirix_bytes frame)
{
    const uint8_t *bytes = frame.data;
    uint32_t crc = sirix_crc32c(0, bytes, CRC_AT);

    return sirix_crc32c(crc, bytes + SIRIX_BACKUP_FRAME_HEADER_BYTES,
                        frame.len - SIRIX_BACKUP_FRAME_HEADER_BYTES);
}

enum sirix_status sirix_backup_frame_begin(struct sirix_buf *buf, enum sirix_backup_frame type,
                                           size_t *out_at, struct sirix_error *err)
{
    size_t at = buf->len;
    enum sirix_status status = sirix_buf_append_fill(buf, 0, SIRIX_BACKUP_FRAME_HEADER_BYTES, err);

    if (status == SIRIX_OK) {
        buf->data[at + TYPE_AT] = (uint8_t)type;
        *out_at = at;
    }
    return status;
}

void sirix_backup_frame_finish(struct sirix_buf *buf, size_t at)
{
    uint8_t *frame = buf->data + at;
    size_t len = buf->len - at;

    sirix_store_u32le(frame + LEN_AT, (uint32_t)(len - SIRIX_BACKUP_FRAME_HEADER_BYTES));
    sirix_store_u32le(frame + CRC_AT, checksum((struct sirix_bytes){.data = frame, .len = len}));
}

enum sirix_status sirix_backup_frame_read(const uint8_t *header, enum sirix_backup_frame *out_type,
                                          size_t *out_len, struct sirix_error *err)
{
    static const size_t longest[] = {
        [SIRIX_BACKUP_START] = SIRIX_BACKUP_START_BYTES_MAX,
        [SIRIX_BACKUP_REFS] = SIRIX_BACKUP_FRAME_BYTES_MAX,
        [SIRIX_BACKUP_SEGMENTS] = SIRIX_BACKUP_FRAME_BYTES_MAX,
        [SIRIX_BACKUP_END] = SIRIX_BACKUP_END_BYTES_MAX,
    };
    uint8_t type = header[TYPE_AT];
    uint32_t len = sirix_load_u32le(header + LEN_AT);

    if (type < SIRIX_BACKUP_START || type > SIRIX_BACKUP_END || header[1] != 0 || header[2] != 0 ||
        header[3] != 0 || len > longest[type]) {
        return sirix_fail(err, SIRIX_CORRUPT, "the bytes are no frame of a backup");
    }
    *out_type = (enum sirix_backup_frame)type;
    *out_len = len;
    return SIRIX_OK;
}

bool sirix_backup_frame_is_whole(struct sirix_bytes frame)
{
    return sirix_load_u32le((const uint8_t *)frame.data + CRC_AT) == checksum(frame);
}

/* --- Start -------------------------------------------------------------------------------------- */

enum sirix_status sirix_backup_put_start(struct sirix_buf *buf,
                                         const struct sirix_backup_start *start,
                                         struct sirix_error *err)
{
    uint8_t fixed[START_NAME_AT] = {0};
    size_t at = 0;

    memcpy(fixed, magic, sizeof(magic));
    sirix_store_u16le(fixed + START_VERSION_AT, SIRIX_BACKUP_MAJOR);
    sirix_store_u16le(fixed + START_VERSION_AT + 2, SIRIX_BACKUP_MINOR);
    sirix_store_u32le(fixed + START_FLAGS_AT, start->incremental ? START_INCREMENTAL : 0);
    sirix_store_u64le(fixed + START_MADE_AT, (uint64_t)start->made_us);
    sirix_store_u64le(fixed + START_CREATED_AT, (uint64_t)start->created_us);
    memcpy(fixed + START_BASE_AT, start->base, sizeof(start->base));
    enum sirix_status status = sirix_backup_frame_begin(buf, SIRIX_BACKUP_START, &at, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append(buf, fixed, sizeof(fixed), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(buf, start->name, err);
    }
    if (status == SIRIX_OK) {
        sirix_backup_frame_finish(buf, at);
    }
    return status;
}

enum sirix_status sirix_backup_get_start(struct sirix_bytes payload,
                                         struct sirix_backup_start *out_start,
                                         struct sirix_error *err)
{
    const uint8_t *fixed = payload.data;

    if (payload.len < START_NAME_AT || payload.len - START_NAME_AT > SIRIX_NAME_BYTES_MAX ||
        memcmp(fixed, magic, sizeof(magic)) != 0) {
        return sirix_fail(err, SIRIX_CORRUPT, "the start is none of a backup");
    }
    if (sirix_load_u16le(fixed + START_VERSION_AT) != SIRIX_BACKUP_MAJOR ||
        sirix_load_u16le(fixed + START_VERSION_AT + 2) != SIRIX_BACKUP_MINOR) {
        return sirix_fail_reason(err, SIRIX_UNSUPPORTED, SIRIX_REASON_FORMAT_VERSION,
                                 "the backup has format %u.%u, this program reads %d.%d",
                                 (unsigned)sirix_load_u16le(fixed + START_VERSION_AT),
                                 (unsigned)sirix_load_u16le(fixed + START_VERSION_AT + 2),
                                 SIRIX_BACKUP_MAJOR, SIRIX_BACKUP_MINOR);
    }
    uint32_t flags = sirix_load_u32le(fixed + START_FLAGS_AT);
    if (flags > START_INCREMENTAL) {
        return sirix_fail(err, SIRIX_CORRUPT, "the start of the backup has unknown flags");
    }
    *out_start = (struct sirix_backup_start){
        .made_us = (int64_t)sirix_load_u64le(fixed + START_MADE_AT),
        .created_us = (int64_t)sirix_load_u64le(fixed + START_CREATED_AT),
        .incremental = flags == START_INCREMENTAL,
        .name = {.data = fixed + START_NAME_AT, .len = payload.len - START_NAME_AT},
    };
    memcpy(out_start->base, fixed + START_BASE_AT, sizeof(out_start->base));
    return SIRIX_OK;
}

/* --- End ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_backup_put_end(struct sirix_buf *buf, const struct sirix_backup_end *end,
                                       struct sirix_error *err)
{
    uint8_t fixed[END_HOLES_AT] = {0};
    size_t at = 0;

    sirix_store_u64le(fixed + END_ROWS_AT, end->rows);
    sirix_store_u64le(fixed + END_SEGMENTS_AT, end->segments);
    sirix_store_u64le(fixed + END_BYTES_AT, end->segment_bytes);
    sirix_store_u64le(fixed + END_NEXT_AT, end->next);
    sirix_store_u64le(fixed + END_CREATED_AT, (uint64_t)end->created_us);
    sirix_store_u64le(fixed + END_COUNT_AT, end->hole_count);
    memcpy(fixed + END_SHA_AT, end->sha, sizeof(end->sha));
    enum sirix_status status = sirix_backup_frame_begin(buf, SIRIX_BACKUP_END, &at, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append(buf, fixed, sizeof(fixed), err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < end->hole_count; i++) {
        status = sirix_buf_append_u64le(buf, end->holes[i].first, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_u64le(buf, end->holes[i].last, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u64le(buf, buf->len - at + END_TAIL_BYTES, err);
    }
    if (status == SIRIX_OK) {
        sirix_backup_frame_finish(buf, at);
    }
    return status;
}

/* Rising, not touching each other, below next. */
static bool holes_are_good(const struct sirix_backup_end *end)
{
    uint64_t above = 1;

    for (size_t i = 0; i < end->hole_count; i++) {
        if (end->holes[i].first < above || end->holes[i].last < end->holes[i].first ||
            end->holes[i].last >= end->next) {
            return false;
        }
        above = end->holes[i].last + 1;
    }
    return true;
}

enum sirix_status sirix_backup_get_end(struct sirix_bytes payload, struct sirix_backup_end *out_end,
                                       struct sirix_error *err)
{
    const uint8_t *fixed = payload.data;
    struct sirix_backup_end end = {.rows = 0};

    if (payload.len < END_HOLES_AT ||
        sirix_load_u64le(fixed + END_COUNT_AT) > SIRIX_BACKUP_HOLES_MAX ||
        payload.len !=
            END_HOLES_AT + HOLE_BYTES * sirix_load_u64le(fixed + END_COUNT_AT) + END_TAIL_BYTES ||
        sirix_load_u64le(fixed + payload.len - END_TAIL_BYTES) !=
            payload.len + SIRIX_BACKUP_FRAME_HEADER_BYTES) {
        return sirix_fail(err, SIRIX_CORRUPT, "the end is none of a backup");
    }
    end.rows = sirix_load_u64le(fixed + END_ROWS_AT);
    end.segments = sirix_load_u64le(fixed + END_SEGMENTS_AT);
    end.segment_bytes = sirix_load_u64le(fixed + END_BYTES_AT);
    end.next = sirix_load_u64le(fixed + END_NEXT_AT);
    end.created_us = (int64_t)sirix_load_u64le(fixed + END_CREATED_AT);
    end.hole_count = (size_t)sirix_load_u64le(fixed + END_COUNT_AT);
    memcpy(end.sha, fixed + END_SHA_AT, sizeof(end.sha));
    end.holes = calloc(end.hole_count == 0 ? 1 : end.hole_count, sizeof(*end.holes));
    if (end.holes == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate what a backup lacks");
    }
    for (size_t i = 0; i < end.hole_count; i++) {
        end.holes[i].first = sirix_load_u64le(fixed + END_HOLES_AT + i * HOLE_BYTES);
        end.holes[i].last = sirix_load_u64le(fixed + END_HOLES_AT + i * HOLE_BYTES + 8);
    }
    if (end.next == 0 || end.next > SIRIX_BACKUP_NUMBER_MAX || !holes_are_good(&end)) {
        free(end.holes);
        return sirix_fail(err, SIRIX_CORRUPT, "the end of the backup holds impossible numbers");
    }
    *out_end = end;
    return SIRIX_OK;
}

/* --- Items -------------------------------------------------------------------------------------- */

static struct sirix_bytes take(struct sirix_bytes *from, size_t len)
{
    struct sirix_bytes taken = {.data = from->data, .len = len};

    from->data = (const uint8_t *)from->data + len;
    from->len -= len;
    return taken;
}

bool sirix_backup_take_row(struct sirix_bytes *payload, struct sirix_bytes *out_key,
                           struct sirix_bytes *out_value)
{
    if (payload->len < SIRIX_BACKUP_ROW_HEADER_BYTES) {
        return false;
    }
    size_t key_len = sirix_load_u16le(payload->data);
    size_t value_len = sirix_load_u16le((const uint8_t *)payload->data + 2);
    if (key_len == 0 || key_len > SIRIX_REF_KEY_BYTES_MAX ||
        value_len > SIRIX_REF_VALUE_BYTES_MAX ||
        payload->len - SIRIX_BACKUP_ROW_HEADER_BYTES < key_len + value_len) {
        return false;
    }
    (void)take(payload, SIRIX_BACKUP_ROW_HEADER_BYTES);
    *out_key = take(payload, key_len);
    *out_value = take(payload, value_len);
    return true;
}

bool sirix_backup_take_segment(struct sirix_bytes *payload, uint64_t *out_number,
                               struct sirix_bytes *out_bytes)
{
    if (payload->len < SIRIX_BACKUP_SEGMENT_HEADER_BYTES) {
        return false;
    }
    uint64_t number = sirix_load_u64le(payload->data);
    size_t len = sirix_load_u32le((const uint8_t *)payload->data + 8);
    if (number == 0 || number >= SIRIX_BACKUP_NUMBER_MAX ||
        len > payload->len - SIRIX_BACKUP_SEGMENT_HEADER_BYTES) {
        return false;
    }
    (void)take(payload, SIRIX_BACKUP_SEGMENT_HEADER_BYTES);
    *out_number = number;
    *out_bytes = take(payload, len);
    return true;
}
