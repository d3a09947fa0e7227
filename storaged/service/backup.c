/* A stepper: frames are made in a buffer, which is handed out in pieces. */
#include "service/backup.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/endian.h"
#include "service/spool.h"

enum {
    FRAMES_BYTES_MAX = 2 * SIRIX_BACKUP_FRAME_BYTES_MAX,
    CREATED_AT = 8, /* In the row D of a database. */
    DATABASE_ROW_BYTES_MIN = 16,
    ROW_BYTES_ESTIMATE = 16, /* Of headers, for each row and segment. */
};

static atomic_uint running;
static _Atomic uint64_t made_whole;
static _Atomic int64_t last_us;

struct sirix_backup_counts sirix_backup_count(void)
{
    return (struct sirix_backup_counts){.running = atomic_load(&running),
                                        .whole = atomic_load(&made_whole),
                                        .last_us = atomic_load(&last_us)};
}

enum step { STEP_ROWS, STEP_SEGMENTS, STEP_END, STEP_DONE };

struct sirix_backup {
    struct sirix_request request;
    struct sirix_target target;
    struct sirix_spool rows; /* As they stand in frames. */
    struct sirix_buf scratch;
    uint64_t rows_taken;
    uint64_t row_count;
    enum step step;

    /* Ranges that are read: what the base lacks, and what is new. */
    struct sirix_segment_range *ranges;
    size_t range_count;
    size_t range;
    uint64_t at;     /* The next number of the present range. */
    bool enough;     /* The scan ended because the frame is full. */
    size_t frame_at; /* Of the frame under construction. */
    size_t in_frame; /* Segments in it. */

    struct sirix_buf frames; /* Made and not handed out. */
    size_t handed;           /* Of them. */
    struct sirix_sha256 sha;
    uint64_t bytes;
    struct sirix_backup_start start;
    struct sirix_backup_end end;
    size_t hole_room;
    bool had_created;
};

/* --- Rows --------------------------------------------------------------------------------------- */

static enum sirix_status keep_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    struct sirix_backup *backup = context;
    uint8_t header[SIRIX_BACKUP_ROW_HEADER_BYTES];

    *stop = false;
    if (key.len == 1 && ((const char *)key.data)[0] == 'D' && value.len >= DATABASE_ROW_BYTES_MIN) {
        backup->start.created_us =
            (int64_t)sirix_load_u64le((const uint8_t *)value.data + CREATED_AT);
        backup->had_created = true;
    }
    sirix_store_u16le(header, (uint16_t)key.len);
    sirix_store_u16le(header + 2, (uint16_t)value.len);
    enum sirix_status status = sirix_spool_append(
        &backup->rows, (struct sirix_bytes){.data = header, .len = sizeof(header)}, err);
    if (status == SIRIX_OK) {
        status = sirix_spool_append(&backup->rows, key, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_spool_append(&backup->rows, value, err);
    }
    backup->row_count++;
    return status;
}

/* The instant of the backup: all rows of one snapshot, and a bound of the numbers that they lead to. */
static enum sirix_status keep_rows(struct sirix_backup *backup,
                                   struct sirix_backup_estimate *out_estimate,
                                   struct sirix_error *err)
{
    static const struct sirix_bytes none = {.data = NULL, .len = 0};
    struct sirix_reader *reader = backup->target.reader;
    struct sirix_backend_stats stats = {0};

    enum sirix_status status = sirix_ref_scan(reader, none, none, false, keep_row, backup, err);
    sirix_reader_yield(reader);
    if (status == SIRIX_EXHAUSTED) { /* The spool speaks of values. */
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "the rows of the database pass %" PRIu64
                                   " bytes, the limit of a backup",
                                   SIRIX_SPOOL_BYTES_MAX);
    }
    if (status == SIRIX_OK && !backup->had_created) {
        status = sirix_fail(err, SIRIX_CORRUPT, "the database has no row of its own");
    }
    if (status == SIRIX_OK) { /* After the snapshot: whatever it saw is below. */
        status = sirix_backend_stats(sirix_reader_backend(reader), &stats, err);
    }
    if (status == SIRIX_OK) {
        backup->end.next = stats.next_number;
        out_estimate->bytes = backup->rows.len + stats.segment_bytes;
    }
    return status;
}

/* Rows from the spool into one frame; a row may begin in one piece of the spool and end in the next. */
static enum sirix_status make_rows(struct sirix_backup *backup, struct sirix_error *err)
{
    size_t at = 0;
    enum sirix_status status =
        sirix_backup_frame_begin(&backup->frames, SIRIX_BACKUP_REFS, &at, err);

    while (status == SIRIX_OK && backup->rows_taken < backup->rows.len &&
           backup->frames.len - at < SIRIX_BACKUP_GATHER_BYTES) {
        struct sirix_bytes piece = {0};
        status = sirix_spool_read(&backup->rows, backup->rows_taken, SIRIX_SPOOL_PIECE_BYTES,
                                  &backup->scratch, &piece, err);
        const struct sirix_bytes before = piece;
        struct sirix_bytes key;
        struct sirix_bytes value;
        while (status == SIRIX_OK && sirix_backup_take_row(&piece, &key, &value)) {
        }
        if (status == SIRIX_OK) { /* Whole rows alone; one is shorter than a piece. */
            const struct sirix_bytes whole = {.data = before.data, .len = before.len - piece.len};
            status = whole.len == 0 ? sirix_fail(err, SIRIX_INTERNAL, "a row passes a piece")
                                    : sirix_buf_append_bytes(&backup->frames, whole, err);
            backup->rows_taken += whole.len;
        }
    }
    if (status == SIRIX_OK) {
        sirix_backup_frame_finish(&backup->frames, at);
    }
    if (backup->rows_taken == backup->rows.len) {
        backup->step = STEP_SEGMENTS;
    }
    return status;
}

/* --- Segments ----------------------------------------------------------------------------------- */

/* Notes that numbers are not in the backup. Past the limit a hole swallows what follows it. */
static enum sirix_status note_hole(struct sirix_backup *backup, uint64_t first, uint64_t last,
                                   struct sirix_error *err)
{
    enum { ROOM_FIRST = 64 };
    struct sirix_backup_end *end = &backup->end;

    if (first > last) {
        return SIRIX_OK;
    }
    if (end->hole_count != 0 && (end->holes[end->hole_count - 1].last + 1 == first ||
                                 end->hole_count == SIRIX_BACKUP_HOLES_MAX)) {
        end->holes[end->hole_count - 1].last = last;
        return SIRIX_OK;
    }
    if (end->hole_count == backup->hole_room) {
        size_t room = backup->hole_room == 0 ? ROOM_FIRST : 2 * backup->hole_room;
        struct sirix_segment_range *holes = realloc(end->holes, room * sizeof(*holes));
        if (holes == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "allocate what a backup lacks");
        }
        end->holes = holes;
        backup->hole_room = room;
    }
    end->holes[end->hole_count++] = (struct sirix_segment_range){.first = first, .last = last};
    return SIRIX_OK;
}

static enum sirix_status add_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                     bool *stop, struct sirix_error *err)
{
    struct sirix_backup *backup = context;
    uint8_t header[SIRIX_BACKUP_SEGMENT_HEADER_BYTES];

    size_t made = backup->frames.len - backup->frame_at;
    if (backup->in_frame != 0 && made + bytes.len > SIRIX_BACKUP_GATHER_BYTES) {
        backup->enough = true;
        *stop = true;
        return SIRIX_OK;
    }
    *stop = false;
    enum sirix_status status = sirix_segment_check(bytes, number, err);
    if (status == SIRIX_OK) {
        status = note_hole(backup, backup->at, number - 1, err);
    }
    sirix_store_u64le(header, number);
    sirix_store_u32le(header + 8, (uint32_t)bytes.len);
    if (status == SIRIX_OK) {
        status = sirix_buf_append(&backup->frames, header, sizeof(header), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&backup->frames, bytes, err);
    }
    backup->at = number + 1;
    backup->in_frame++;
    backup->end.segments++;
    backup->end.segment_bytes += bytes.len;
    return status;
}

/* One frame of segments, out of as many ranges as it takes. */
static enum sirix_status make_segments(struct sirix_backup *backup, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_backup_frame_begin(&backup->frames, SIRIX_BACKUP_SEGMENTS, &backup->frame_at, err);

    backup->in_frame = 0;
    backup->enough = false;
    while (status == SIRIX_OK && !backup->enough && backup->range < backup->range_count) {
        const struct sirix_segment_range *range = &backup->ranges[backup->range];
        backup->at = backup->at < range->first ? range->first : backup->at;
        status = sirix_segment_scan(backup->target.reader, backup->at, range->last, add_segment,
                                    backup, err);
        sirix_reader_yield(backup->target.reader);
        if (status == SIRIX_OK) {
            status = sirix_cancel_check(backup->request.cancel, err);
        }
        if (status == SIRIX_OK && !backup->enough) {
            status = note_hole(backup, backup->at, range->last, err);
            backup->range++;
        }
    }
    if (status == SIRIX_OK && backup->in_frame == 0) {
        backup->frames.len = backup->frame_at; /* Nothing was left. */
        backup->step = STEP_END;
    } else if (status == SIRIX_OK) {
        sirix_backup_frame_finish(&backup->frames, backup->frame_at);
    }
    return status;
}

/* --- Life --------------------------------------------------------------------------------------- */

static enum sirix_status fail_base(struct sirix_error *err, const char *text)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "%s", text);

    sirix_error_set_field(err, "since");
    return status;
}

/* What is read on top of a base, or all. */
static enum sirix_status take_base(struct sirix_backup *backup, struct sirix_bytes base,
                                   struct sirix_error *err)
{
    struct sirix_backup_end end = {.holes = NULL};
    struct sirix_error bad = {0};
    enum sirix_backup_frame type = SIRIX_BACKUP_START;
    size_t len = 0;

    if (base.len != 0 &&
        (base.len < SIRIX_BACKUP_FRAME_HEADER_BYTES ||
         sirix_backup_frame_read(base.data, &type, &len, &bad) != SIRIX_OK ||
         type != SIRIX_BACKUP_END || base.len - SIRIX_BACKUP_FRAME_HEADER_BYTES != len ||
         !sirix_backup_frame_is_whole(base) ||
         sirix_backup_get_end((struct sirix_bytes){.data = (const uint8_t *)base.data +
                                                           SIRIX_BACKUP_FRAME_HEADER_BYTES,
                                                   .len = len},
                              &end, &bad) != SIRIX_OK)) {
        return fail_base(err, "the base is not the end of a whole backup");
    }
    backup->ranges = calloc(end.hole_count + 1, sizeof(*backup->ranges));
    if (backup->ranges == NULL) {
        free(end.holes);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate what a backup reads");
    }
    if (base.len != 0) {
        backup->start.incremental = true;
        memcpy(backup->start.base, end.sha, sizeof(end.sha));
        memcpy(backup->ranges, end.holes, end.hole_count * sizeof(*end.holes));
    }
    const struct sirix_segment_range rest = {.first = base.len != 0 ? end.next : 1,
                                             .last = backup->end.next - 1};
    free(end.holes);
    if (base.len != 0 && (end.created_us != backup->start.created_us || end.next > rest.last + 1)) {
        return fail_base(err, "the base is of another database");
    }
    backup->range_count = end.hole_count;
    if (rest.first <= rest.last) {
        backup->ranges[backup->range_count++] = rest;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_backup_open(const struct sirix_request *request,
                                    const struct sirix_backup_request *wanted,
                                    struct sirix_backup **out_backup,
                                    struct sirix_backup_estimate *out_estimate,
                                    struct sirix_error *err)
{
    struct sirix_backup_estimate estimate = {.incremental = wanted->base.len != 0};

    if (atomic_fetch_add(&running, 1) >= SIRIX_BACKUPS_RUNNING_MAX) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_EXHAUSTED, "%d backups are running, as many as may",
                          SIRIX_BACKUPS_RUNNING_MAX);
    }
    struct sirix_backup *backup = calloc(1, sizeof(*backup));
    if (backup == NULL) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a backup");
    }
    backup->request = *request;
    sirix_spool_init(&backup->rows, request->service->dir);
    sirix_buf_init(&backup->scratch, SIRIX_SPOOL_PIECE_BYTES);
    sirix_buf_init(&backup->frames, FRAMES_BYTES_MAX);
    backup->start.made_us = sirix_clock_realtime_us(request->service->clock);
    enum sirix_status status = sirix_sha256_init(&backup->sha, err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen(request, wanted->database,
                                          (struct sirix_bytes){.data = NULL, .len = 0}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen_all(request, wanted->database, "back up", err);
    }
    if (status == SIRIX_OK) {
        static const struct sirix_bytes none = {.data = NULL, .len = 0};
        status = sirix_target_open_stream(request, wanted->database, none, &backup->target, err);
    }
    if (status == SIRIX_OK) {
        status = keep_rows(backup, &estimate, err);
    }
    if (status == SIRIX_OK) {
        status = take_base(backup, wanted->base, err);
    }
    if (status == SIRIX_OK) {
        const char *name = sirix_handle_name(backup->target.handle);
        backup->start.name = (struct sirix_bytes){.data = name, .len = strlen(name)};
        backup->end.created_us = backup->start.created_us;
        backup->end.rows = backup->row_count;
        status = sirix_backup_put_start(&backup->frames, &backup->start, err);
    }
    if (status != SIRIX_OK) {
        sirix_backup_close(backup);
        return status;
    }
    *out_backup = backup;
    *out_estimate = estimate;
    return SIRIX_OK;
}

/* Makes more frames where all was handed out. */
static enum sirix_status make_more(struct sirix_backup *backup, struct sirix_error *err)
{
    size_t before = backup->frames.len;
    enum sirix_status status = SIRIX_OK;

    switch (backup->step) {
    case STEP_ROWS:
        status = make_rows(backup, err);
        break;
    case STEP_SEGMENTS:
        status = make_segments(backup, err);
        break;
    case STEP_END:
        status = sirix_sha256_final(&backup->sha, backup->end.sha, err);
        if (status == SIRIX_OK) {
            status = sirix_backup_put_end(&backup->frames, &backup->end, err);
        }
        if (status == SIRIX_OK) {
            (void)atomic_fetch_add(&made_whole, 1);
            atomic_store(&last_us, backup->start.made_us);
        }
        backup->step = STEP_DONE;
        return status;
    case STEP_DONE:
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_update(&backup->sha, backup->frames.data + before,
                                     backup->frames.len - before, err);
    }
    return status;
}

enum sirix_status sirix_backup_next(struct sirix_backup *backup, struct sirix_bytes *out_piece,
                                    struct sirix_error *err)
{
    enum sirix_status status = sirix_cancel_check(backup->request.cancel, err);

    if (status == SIRIX_OK && backup->bytes == 0) { /* The start was made at the opening. */
        status = sirix_sha256_update(&backup->sha, backup->frames.data, backup->frames.len, err);
    }
    while (status == SIRIX_OK && backup->handed == backup->frames.len &&
           backup->step != STEP_DONE) {
        sirix_buf_clear(&backup->frames);
        backup->handed = 0;
        status = make_more(backup, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    size_t len = backup->frames.len - backup->handed;
    len = len < SIRIX_BACKUP_PIECE_BYTES ? len : SIRIX_BACKUP_PIECE_BYTES;
    *out_piece = (struct sirix_bytes){.data = backup->frames.data + backup->handed, .len = len};
    backup->handed += len;
    backup->bytes += len;
    return SIRIX_OK;
}

void sirix_backup_summary(const struct sirix_backup *backup, struct sirix_backup_end *out_end,
                          uint64_t *out_bytes)
{
    *out_end = backup->end;
    *out_bytes = backup->bytes;
}

void sirix_backup_close(struct sirix_backup *backup)
{
    if (backup == NULL) {
        return;
    }
    sirix_target_close(&backup->target);
    sirix_spool_deinit(&backup->rows);
    sirix_buf_deinit(&backup->scratch);
    sirix_buf_deinit(&backup->frames);
    sirix_sha256_deinit(&backup->sha);
    free(backup->ranges);
    free(backup->end.holes);
    free(backup);
    (void)atomic_fetch_sub(&running, 1);
}
