/*
 * The bytes of a backup (docs/format.md): frames, one after the other.
 *
 *     START  REFS...  SEGMENTS...  END      a full backup, or an incremental one on top of it
 *
 * Every frame has its length and a checksum in front, so that damage is told with its offset; the end
 * holds the SHA-256 of all that is before it, which also names the backup. An incremental one names
 * that of its base.
 */
#ifndef SIRIX_SERVICE_BACKUP_FORMAT_H
#define SIRIX_SERVICE_BACKUP_FORMAT_H

#include <stdbool.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/sha256.h"
#include "store/segment/segment.h"

enum {
    SIRIX_BACKUP_MAJOR = 1,
    SIRIX_BACKUP_MINOR = 0,
    SIRIX_BACKUP_FRAME_HEADER_BYTES = 12, /* u8 type, 3 zeros, u32 length, u32 checksum. */
    SIRIX_BACKUP_FRAME_BYTES_MAX = SIRIX_SEGMENT_BYTES_MAX + 64,
    SIRIX_BACKUP_GATHER_BYTES =
        256 * 1024, /* Rows and small segments share frames of about so much. */
    SIRIX_BACKUP_HOLES_MAX = 16 * 1024,
    SIRIX_BACKUP_START_BYTES_MAX = 512,
    SIRIX_BACKUP_END_BYTES_MAX = 88 + 16 * SIRIX_BACKUP_HOLES_MAX,
    SIRIX_BACKUP_SEGMENT_HEADER_BYTES = 12, /* u64 number, u32 length. */
    SIRIX_BACKUP_ROW_HEADER_BYTES = 4,      /* u16 length of the key, u16 of the value. */
};

/* Higher numbers are refused: the database needs some for what is written later. */
#define SIRIX_BACKUP_NUMBER_MAX (SIRIX_SEGMENT_NUMBER_MAX / 2)

enum sirix_backup_frame {
    SIRIX_BACKUP_START = 1,
    SIRIX_BACKUP_REFS = 2,
    SIRIX_BACKUP_SEGMENTS = 3,
    SIRIX_BACKUP_END = 4,
};

struct sirix_backup_start {
    int64_t made_us;
    int64_t created_us; /* Of the database. */
    bool incremental;
    uint8_t base[SIRIX_SHA256_BYTES]; /* The SHA-256 of the base's end; zeros of a full one. */
    struct sirix_bytes name;          /* Of the database when it was made. */
};

/*
 * What an end says. `next`: the base holds no number from here on. holes: ranges below `next` that the
 * backup and its bases may lack, rising. So an incremental one reads them and what is from next on.
 */
struct sirix_backup_end {
    uint64_t rows;
    uint64_t segments;
    uint64_t segment_bytes;
    uint64_t next;
    int64_t created_us;
    struct sirix_segment_range *holes; /* malloc'ed. */
    size_t hole_count;
    uint8_t sha[SIRIX_SHA256_BYTES]; /* Of every byte before the frame. */
};

/* --- Writing ------------------------------------------------------------------------------------ */

/* Begins a frame in buf and returns where it begins; the payload is appended by the caller. */
enum sirix_status sirix_backup_frame_begin(struct sirix_buf *buf, enum sirix_backup_frame type,
                                           size_t *out_at,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Fills in length and checksum of the frame that began there and ends with the buffer. */
void sirix_backup_frame_finish(struct sirix_buf *buf, size_t at);

enum sirix_status sirix_backup_put_start(struct sirix_buf *buf,
                                         const struct sirix_backup_start *start,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_backup_put_end(struct sirix_buf *buf, const struct sirix_backup_end *end,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Reading ------------------------------------------------------------------------------------ */

/*
 * What the first SIRIX_BACKUP_FRAME_HEADER_BYTES of a frame say. SIRIX_CORRUPT: none of ours, or longer
 * than its type may be.
 */
enum sirix_status sirix_backup_frame_read(const uint8_t *header, enum sirix_backup_frame *out_type,
                                          size_t *out_len,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the checksum of a whole frame is right. */
bool sirix_backup_frame_is_whole(struct sirix_bytes frame);

/* Of payloads. SIRIX_CORRUPT; SIRIX_UNSUPPORTED (format_version). The name stays the payload's. */
enum sirix_status sirix_backup_get_start(struct sirix_bytes payload,
                                         struct sirix_backup_start *out_start,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* The holes are the caller's to free. */
enum sirix_status sirix_backup_get_end(struct sirix_bytes payload, struct sirix_backup_end *out_end,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Takes a row or a segment off the front of a payload; false: it is broken. */
bool sirix_backup_take_row(struct sirix_bytes *payload, struct sirix_bytes *out_key,
                           struct sirix_bytes *out_value);
bool sirix_backup_take_segment(struct sirix_bytes *payload, uint64_t *out_number,
                               struct sirix_bytes *out_bytes);

#endif
