/* Frames come in pieces; a whole one is checked, then applied to a database that nobody sees. */
#include "service/restore.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "service/registry_restore.h"
#include "service/spool.h"
#include "store/store.h"

enum { BATCH_ITEMS_MAX = 1024 };

static atomic_uint running;

enum expected { EXPECT_START, EXPECT_ROWS, EXPECT_SEGMENTS };

struct sirix_restore {
    struct sirix_request request;
    struct sirix_restore_place place;
    bool placed;
    struct sirix_backend *backend; /* NULL: given to the database, or not yet open. */
    struct sirix_reader *reader;
    struct sirix_buf frame; /* What has come of the present one. */
    uint64_t offset;        /* Where it began in the stream. */
    struct sirix_sha256 sha;
    enum expected expected;

    /* Of the present backup. */
    struct sirix_backup_start start;
    struct sirix_spool rows;
    struct sirix_buf scratch;
    uint64_t row_count;
    uint64_t segments;
    uint64_t segment_bytes;
    uint64_t above; /* The highest number so far: they rise. */

    /* Of those before it. */
    uint8_t last_sha[SIRIX_SHA256_BYTES];
    int64_t created_us;
    uint64_t next;
    uint64_t reserved; /* The backend has given the numbers below. */
    struct sirix_restore_result result;

    struct sirix_segment_put puts[BATCH_ITEMS_MAX];
    struct sirix_ref_put refs[BATCH_ITEMS_MAX];
};

/* --- Failures ----------------------------------------------------------------------------------- */

static enum sirix_status fail_at(const struct sirix_restore *restore, const char *text,
                                 struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                          "the backup is damaged at byte %" PRIu64 ": %s", restore->offset, text);

    sirix_error_set_offset(err, restore->offset);
    return status;
}

/* A failure of a part, with the place of the frame. */
static enum sirix_status place_failure(const struct sirix_restore *restore,
                                       enum sirix_status status, const struct sirix_error *cause,
                                       struct sirix_error *err)
{
    if (status == SIRIX_CORRUPT) {
        return fail_at(restore, cause->text, err);
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = *cause;
    }
    return status;
}

/* --- Writing ------------------------------------------------------------------------------------ */

struct commit {
    pthread_mutex_t lock;
    pthread_cond_t ended;
    bool done;
    enum sirix_status status;
    struct sirix_error error;
};

static void committed(void *context, const struct sirix_commit_outcome *outcome)
{
    struct commit *commit = context;

    (void)pthread_mutex_lock(&commit->lock);
    commit->done = true;
    commit->status = outcome->status;
    commit->error = outcome->error;
    (void)pthread_cond_signal(&commit->ended);
    (void)pthread_mutex_unlock(&commit->lock);
}

static enum sirix_status commit_batch(struct sirix_restore *restore,
                                      const struct sirix_batch *batch, struct sirix_error *err)
{
    struct commit commit = {.lock = PTHREAD_MUTEX_INITIALIZER, .ended = PTHREAD_COND_INITIALIZER};

    sirix_backend_commit(restore->backend, batch, committed, &commit);
    (void)pthread_mutex_lock(&commit.lock);
    while (!commit.done) {
        (void)pthread_cond_wait(&commit.ended, &commit.lock);
    }
    (void)pthread_mutex_unlock(&commit.lock);
    (void)pthread_cond_destroy(&commit.ended);
    (void)pthread_mutex_destroy(&commit.lock);
    if (commit.status != SIRIX_OK && err != NULL) {
        *err = commit.error;
    }
    return commit.status;
}

static enum sirix_status found(void *context, uint64_t number, struct sirix_bytes bytes, bool *stop,
                               struct sirix_error *err)
{
    (void)number;
    (void)bytes;
    (void)err;
    *(bool *)context = true;
    *stop = true;
    return SIRIX_OK;
}

/* An incremental backup may bring again what is there. */
static enum sirix_status is_stored(struct sirix_restore *restore, uint64_t number, bool *out_is,
                                   struct sirix_error *err)
{
    *out_is = false;
    if (restore->result.backups == 0) {
        return SIRIX_OK;
    }
    return sirix_segment_scan(restore->reader, number, number, found, out_is, err);
}

/* A backend takes only numbers that it has given. */
static void reserve_below(struct sirix_restore *restore, uint64_t next)
{
    if (next > restore->reserved) {
        uint64_t first = sirix_segment_reserve(restore->backend, next - restore->reserved);
        restore->reserved = first + (next - restore->reserved);
    }
}

/* Takes segments off the payload into a batch, as many as it holds; without those that are stored. */
static enum sirix_status gather_segments(struct sirix_restore *restore, struct sirix_bytes *payload,
                                         struct sirix_batch *batch, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && payload->len != 0 && batch->put_count < BATCH_ITEMS_MAX) {
        struct sirix_segment_put *put = &restore->puts[batch->put_count];
        bool stored = false;

        if (!sirix_backup_take_segment(payload, &put->number, &put->bytes) ||
            put->number <= restore->above) {
            return sirix_fail(err, SIRIX_CORRUPT, "a segment that cannot be");
        }
        restore->above = put->number;
        restore->segments++;
        restore->segment_bytes += put->bytes.len;
        status = sirix_segment_check(put->bytes, put->number, err);
        if (status == SIRIX_OK) {
            status = is_stored(restore, put->number, &stored, err);
        }
        batch->put_count += stored ? 0 : 1;
    }
    return status;
}

static enum sirix_status put_segments(struct sirix_restore *restore, struct sirix_bytes payload,
                                      struct sirix_error *err)
{
    struct sirix_error cause = {0};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && payload.len != 0) {
        struct sirix_batch batch = {.puts = restore->puts, .is_checked = true};
        status = gather_segments(restore, &payload, &batch, &cause);
        sirix_reader_yield(restore->reader);
        reserve_below(restore, restore->above + 1);
        if (status == SIRIX_OK && batch.put_count != 0) {
            status = commit_batch(restore, &batch, &cause);
        }
    }
    return place_failure(restore, status, &cause, err);
}

/* --- Frames ------------------------------------------------------------------------------------- */

static enum sirix_status take_start(struct sirix_restore *restore, struct sirix_bytes payload,
                                    struct sirix_error *err)
{
    struct sirix_error cause = {0};
    struct sirix_backup_start start = {.name = {.data = NULL, .len = 0}};

    enum sirix_status status = sirix_backup_get_start(payload, &start, &cause);
    if (status != SIRIX_OK) {
        return place_failure(restore, status, &cause, err);
    }
    bool first = restore->result.backups == 0;
    if (first && start.incremental) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "the first backup is an incremental one: give the full one that "
                                 "it is on top of, and those between, before it");
    }
    if (!first && (!start.incremental || start.created_us != restore->created_us ||
                   memcmp(start.base, restore->last_sha, sizeof(start.base)) != 0)) {
        status = sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
            "the backup at byte %" PRIu64 " is not on top of the one before it", restore->offset);
        sirix_error_set_offset(err, restore->offset);
        return status;
    }
    restore->start = start;
    restore->start.name =
        (struct sirix_bytes){.data = NULL, .len = 0}; /* It dies with the frame. */
    restore->row_count = 0;
    restore->segments = 0;
    restore->segment_bytes = 0;
    restore->above = 0;
    sirix_spool_deinit(&restore->rows); /* Rows of the last backup count. */
    sirix_spool_init(&restore->rows, restore->request.service->dir);
    restore->expected = EXPECT_ROWS;
    return SIRIX_OK;
}

static enum sirix_status take_rows(struct sirix_restore *restore, struct sirix_bytes payload,
                                   struct sirix_error *err)
{
    struct sirix_bytes rest = payload;
    struct sirix_bytes key;
    struct sirix_bytes value;

    while (rest.len != 0) {
        if (!sirix_backup_take_row(&rest, &key, &value)) {
            return fail_at(restore, "a row that cannot be", err);
        }
        restore->row_count++;
    }
    return sirix_spool_append(&restore->rows, payload, err);
}

static enum sirix_status take_end(struct sirix_restore *restore, struct sirix_bytes payload,
                                  struct sirix_error *err)
{
    struct sirix_error cause = {0};
    struct sirix_backup_end end = {.holes = NULL};
    uint8_t sha[SIRIX_SHA256_BYTES];

    enum sirix_status status = sirix_backup_get_end(payload, &end, &cause);
    if (status == SIRIX_OK) {
        free(end.holes);
        status = sirix_sha256_final(&restore->sha, sha, &cause);
    }
    if (status != SIRIX_OK) {
        return place_failure(restore, status, &cause, err);
    }
    if (memcmp(sha, end.sha, sizeof(sha)) != 0 || end.rows != restore->row_count ||
        end.segments != restore->segments || end.segment_bytes != restore->segment_bytes ||
        end.created_us != restore->start.created_us || end.next < restore->reserved) {
        return fail_at(restore, "what its end says of it is not so", err);
    }
    memcpy(restore->last_sha, sha, sizeof(sha));
    restore->created_us = end.created_us;
    restore->next = end.next;
    restore->result.backups++;
    restore->result.segments += end.segments;
    restore->result.made_us = restore->start.made_us;
    restore->expected = EXPECT_START;
    return SIRIX_OK;
}

/* A frame that is whole. */
static enum sirix_status take_frame(struct sirix_restore *restore, enum sirix_backup_frame type,
                                    struct sirix_error *err)
{
    const struct sirix_bytes frame = sirix_buf_view(&restore->frame);
    const struct sirix_bytes payload = {.data = (const uint8_t *)frame.data +
                                                SIRIX_BACKUP_FRAME_HEADER_BYTES,
                                        .len = frame.len - SIRIX_BACKUP_FRAME_HEADER_BYTES};
    enum sirix_status status = SIRIX_OK;

    if (!sirix_backup_frame_is_whole(frame)) {
        return fail_at(restore, "the checksum of the frame is another", err);
    }
    if ((restore->expected == EXPECT_START) != (type == SIRIX_BACKUP_START) ||
        (restore->expected == EXPECT_SEGMENTS && type == SIRIX_BACKUP_REFS)) {
        return fail_at(restore, "a frame at the wrong place", err);
    }
    if (type != SIRIX_BACKUP_END) {
        status = sirix_sha256_update(&restore->sha, frame.data, frame.len, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    switch (type) {
    case SIRIX_BACKUP_START:
        return take_start(restore, payload, err);
    case SIRIX_BACKUP_REFS:
        return take_rows(restore, payload, err);
    case SIRIX_BACKUP_SEGMENTS:
        restore->expected = EXPECT_SEGMENTS;
        return put_segments(restore, payload, err);
    case SIRIX_BACKUP_END:
        return take_end(restore, payload, err);
    }
    return fail_at(restore, "a frame of an unknown type", err);
}

/* Takes from piece what the present frame lacks up to `wanted` bytes; whether it has them now. */
static enum sirix_status fill(struct sirix_restore *restore, size_t wanted,
                              struct sirix_bytes *piece, struct sirix_error *err)
{
    size_t lacks = wanted - restore->frame.len;
    size_t part = lacks < piece->len ? lacks : piece->len;

    enum sirix_status status = sirix_buf_append(&restore->frame, piece->data, part, err);
    if (status == SIRIX_OK) {
        piece->data = (const uint8_t *)piece->data + part;
        piece->len -= part;
    }
    return status;
}

/* Takes what the present frame still needs of the piece, and the frame when it is whole. */
static enum sirix_status feed_frame(struct sirix_restore *restore, struct sirix_bytes *piece,
                                    struct sirix_error *err)
{
    enum sirix_backup_frame type = SIRIX_BACKUP_START;
    struct sirix_error cause = {0};
    size_t len = 0;

    if (restore->frame.len < SIRIX_BACKUP_FRAME_HEADER_BYTES) {
        enum sirix_status filled = fill(restore, SIRIX_BACKUP_FRAME_HEADER_BYTES, piece, err);
        if (filled != SIRIX_OK || restore->frame.len < SIRIX_BACKUP_FRAME_HEADER_BYTES) {
            return filled;
        }
    }
    enum sirix_status status = sirix_backup_frame_read(restore->frame.data, &type, &len, &cause);
    if (status != SIRIX_OK) {
        return place_failure(restore, status, &cause, err);
    }
    len += SIRIX_BACKUP_FRAME_HEADER_BYTES;
    status = fill(restore, len, piece, err);
    if (status == SIRIX_OK && restore->frame.len == len) {
        status = take_frame(restore, type, err);
        restore->offset += len;
        sirix_buf_clear(&restore->frame);
    }
    return status;
}

enum sirix_status sirix_restore_feed(struct sirix_restore *restore, struct sirix_bytes piece,
                                     struct sirix_error *err)
{
    enum sirix_status status = sirix_cancel_check(restore->request.cancel, err);

    restore->result.bytes += piece.len;
    while (status == SIRIX_OK && piece.len != 0) {
        status = feed_frame(restore, &piece, err);
        if (status == SIRIX_OK) {
            status = sirix_cancel_check(restore->request.cancel, err);
        }
    }
    return status;
}

/* --- The end ------------------------------------------------------------------------------------ */

/* Takes rows off a piece into a batch, as many as it holds; the number of bytes taken. */
static size_t gather_rows(struct sirix_restore *restore, struct sirix_bytes piece,
                          struct sirix_batch *batch)
{
    size_t before = piece.len;

    while (batch->ref_count < BATCH_ITEMS_MAX) {
        struct sirix_ref_put *put = &restore->refs[batch->ref_count];
        *put = (struct sirix_ref_put){.expect = SIRIX_REF_EXPECT_ANY};
        if (!sirix_backup_take_row(&piece, &put->key, &put->value)) {
            break;
        }
        batch->ref_count++;
    }
    return before - piece.len;
}

/* The rows of the last backup, and the bound of its numbers. */
static enum sirix_status put_rows(struct sirix_restore *restore, struct sirix_error *err)
{
    uint64_t at = 0;
    enum sirix_status status = SIRIX_OK;

    reserve_below(restore, restore->next);
    while (status == SIRIX_OK && at < restore->rows.len) {
        struct sirix_batch batch = {.refs = restore->refs};
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        status = sirix_spool_read(&restore->rows, at, SIRIX_SPOOL_PIECE_BYTES, &restore->scratch,
                                  &piece, err);
        if (status != SIRIX_OK) {
            return status;
        }
        at += gather_rows(restore, piece, &batch);
        status = batch.ref_count == 0 ? sirix_fail(err, SIRIX_INTERNAL, "a row passes a piece")
                                      : commit_batch(restore, &batch, err);
    }
    return status;
}

struct check {
    const struct sirix_restore *restore;
    struct sirix_reader *reader;
    uint64_t faults;
    struct sirix_error first;
};

static enum sirix_status on_fault(void *context, struct sirix_bytes resource,
                                  const struct sirix_error *fault, struct sirix_error *err)
{
    struct check *check = context;

    (void)resource;
    (void)err;
    if (check->faults++ == 0) {
        check->first = *fault;
    }
    return SIRIX_OK;
}

static enum sirix_status on_yield(void *context, const struct sirix_verify_progress *progress,
                                  struct sirix_error *err)
{
    const struct check *check = context;

    (void)progress;
    sirix_reader_yield(check->reader);
    return sirix_cancel_check(check->restore->request.cancel, err);
}

static enum sirix_status count_one(void *context, struct sirix_bytes name, bool *stop,
                                   struct sirix_error *err)
{
    (void)name;
    (void)err;
    *stop = false;
    ++*(uint64_t *)context;
    return SIRIX_OK;
}

/* Opens what came as a database, reads all of it, and closes it. */
static enum sirix_status check_all(struct sirix_restore *restore, struct sirix_error *err)
{
    const struct sirix_database_options options = {.backend = restore->backend,
                                                   .pool = restore->request.service->committers,
                                                   .clock = restore->request.service->clock,
                                                   .dir = restore->place.path};
    struct check check = {.restore = restore};
    struct sirix_database *database = NULL;
    struct sirix_recovery recovery = {0};
    struct sirix_verify_progress progress = {0};

    sirix_reader_close(restore->reader);
    restore->reader = NULL;
    restore->backend = NULL; /* Taken, also when this fails. */
    enum sirix_status status = sirix_database_open(&options, &database, &recovery, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_reader_open(sirix_database_backend(database), &check.reader, err);
    if (status == SIRIX_OK) {
        status =
            sirix_verify(database, NULL, check.reader, on_fault, on_yield, &check, &progress, err);
    }
    if (status == SIRIX_OK && check.faults != 0) {
        status = sirix_fail_reason(
            err, SIRIX_CORRUPT, check.first.reason,
            "the backup is whole and what it holds is not (problems: %" PRIu64 "): %.300s",
            check.faults, check.first.text);
    }
    if (status == SIRIX_OK) {
        static const struct sirix_bytes all = {.data = NULL, .len = 0};
        status = sirix_resource_list(database, all, count_one, &restore->result.resources, err);
    }
    restore->result.revisions = progress.revisions;
    if (check.reader != NULL) {
        sirix_reader_close(check.reader);
    }
    sirix_database_close(database);
    return status;
}

enum sirix_status sirix_restore_finish(struct sirix_restore *restore,
                                       struct sirix_restore_result *out_result,
                                       struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (restore->frame.len != 0 || restore->expected != EXPECT_START ||
        restore->result.backups == 0) {
        status = sirix_fail_reason(err, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                                   "the backup ends early, at byte %" PRIu64 ": its end is missing",
                                   restore->result.bytes);
        sirix_error_set_offset(err, restore->result.bytes);
        return status;
    }
    status = put_rows(restore, err);
    if (status == SIRIX_OK) {
        status = check_all(restore, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_registry_restore_finish(restore->request.service->registry, &restore->place, err);
    }
    if (status == SIRIX_OK) {
        restore->placed = false;
        *out_result = restore->result;
    }
    return status;
}

/* --- Life --------------------------------------------------------------------------------------- */

enum sirix_status sirix_restore_open(const struct sirix_request *request,
                                     struct sirix_bytes database,
                                     struct sirix_restore **out_restore, struct sirix_error *err)
{
    struct sirix_registry *registry = request->service->registry;
    enum sirix_status status = sirix_request_may_write(request, err);

    if (status == SIRIX_OK) {
        status = sirix_request_check_seen(request, database,
                                          (struct sirix_bytes){.data = NULL, .len = 0}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen_all(request, database, "restore", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (atomic_fetch_add(&running, 1) >= SIRIX_RESTORES_RUNNING_MAX) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_EXHAUSTED, "%d restores are running, as many as may",
                          SIRIX_RESTORES_RUNNING_MAX);
    }
    struct sirix_restore *restore = calloc(1, sizeof(*restore));
    if (restore == NULL) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a restore");
    }
    restore->request = *request;
    sirix_buf_init(&restore->frame, SIRIX_BACKUP_FRAME_HEADER_BYTES + SIRIX_BACKUP_FRAME_BYTES_MAX);
    sirix_spool_init(&restore->rows, request->service->dir);
    sirix_buf_init(&restore->scratch, SIRIX_SPOOL_PIECE_BYTES);
    status = sirix_sha256_init(&restore->sha, err);
    if (status == SIRIX_OK) {
        status = sirix_registry_restore_begin(registry, database, &restore->place, err);
        restore->placed = status == SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_registry_restore_backend(registry, &restore->place, &restore->backend, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_reader_open(restore->backend, &restore->reader, err);
    }
    if (status == SIRIX_OK) {
        struct sirix_backend_stats stats = {0};
        status = sirix_backend_stats(restore->backend, &stats, err);
        restore->reserved = stats.next_number;
    }
    if (status != SIRIX_OK) {
        sirix_restore_close(restore);
        return status;
    }
    *out_restore = restore;
    return SIRIX_OK;
}

void sirix_restore_close(struct sirix_restore *restore)
{
    if (restore == NULL) {
        return;
    }
    if (restore->reader != NULL) {
        sirix_reader_close(restore->reader);
    }
    sirix_backend_close(restore->backend);
    if (restore->placed) {
        sirix_registry_restore_abort(restore->request.service->registry, &restore->place);
    }
    sirix_buf_deinit(&restore->frame);
    sirix_buf_deinit(&restore->scratch);
    sirix_spool_deinit(&restore->rows);
    sirix_sha256_deinit(&restore->sha);
    free(restore);
    (void)atomic_fetch_sub(&running, 1);
}
