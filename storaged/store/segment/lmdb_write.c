/*
 * Commits: one batch, one LMDB transaction, one sync; and what a failed one means.
 *
 * Rules of LMDB that shape this file:
 *   - mdb_txn_commit() frees the transaction even when it fails; aborting it then is a double free;
 *   - it writes pages, syncs, then writes and syncs the meta page. Before the sync a failure changed
 *     nothing; after it nobody knows, and LMDB's own next commit would return 0 all the same;
 *   - a short write, which is how most full disks look, is reported as EIO;
 *   - when the meta page could not be written, every later write transaction is refused (MDB_PANIC);
 *   - a value in the map is valid only until the transaction changes something.
 */
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <unistd.h>

#include "base/endian.h"
#include "store/segment/lmdb_backend.h"

enum {
    NUMBERS_AHEAD = 256, /* Given room for in the row "next" each time that it is written. */
    WAIT_EARLY_MS = 20,  /* For readers, when the map only begins to be full. */
    WAIT_FULL_MS = 500,  /* When the batch does not fit. */
    PAGES_A_BATCH = 64,  /* Copied paths and free list, generously. */
    PAGE_BYTES = 4096,
    DISK_FULL_BYTES = 1 << 20, /* Less than this free: a short write was a full disk. */
};

/* --- Failure ---------------------------------------------------------------------------------- */

enum sirix_status sirix_lmdb_write_fail(struct sirix_lmdb *lmdb, struct sirix_error *err, int rc,
                                        const char *doing)
{
    lmdb->last_rc = rc;
    return sirix_lmdb_fail(err, rc, doing);
}

enum sirix_status sirix_lmdb_check_writable(struct sirix_lmdb *lmdb, struct sirix_error *err)
{
    if (atomic_load(&lmdb->latched)) {
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                                 "the database is read-only after a commit of unknown outcome, "
                                 "until it is reopened");
    }
    if (lmdb->newer_minor) {
        return sirix_fail_reason(
            err, SIRIX_PRECONDITION, SIRIX_REASON_FORMAT_VERSION,
            "the database was written by a newer program: it can only be read");
    }
    if (lmdb->dead) {
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                                 "the database could not be mapped again: reopen it");
    }
    return SIRIX_OK;
}

static bool is_disk_full(const struct sirix_lmdb *lmdb, int rc)
{
    uint64_t free_bytes = 0;
    uint64_t stop_bytes = 0;

    if (rc == ENOSPC || rc == EDQUOT || rc == EFBIG) {
        return true;
    }
    return rc == EIO &&
           sirix_space_free(&lmdb->space, &free_bytes, &stop_bytes, NULL) == SIRIX_OK &&
           free_bytes < DISK_FULL_BYTES;
}

/*
 * Whether a commit that failed for want of space failed before its sync. A write-back error that
 * LMDB's descriptor has reported shows once more on ours, and a failed meta page shows as MDB_PANIC.
 */
static bool is_clean(const struct sirix_lmdb *lmdb)
{
    MDB_txn *probe = NULL;

    if (fdatasync(lmdb->data_fd) != 0 || mdb_txn_begin(lmdb->env, NULL, 0, &probe) != MDB_SUCCESS) {
        return false;
    }
    mdb_txn_abort(probe);
    return true;
}

enum sirix_status sirix_lmdb_commit_txn(struct sirix_lmdb *lmdb, MDB_txn *txn,
                                        struct sirix_error *err)
{
    int rc = mdb_txn_commit(txn);

    if (rc == MDB_SUCCESS) {
        return SIRIX_OK;
    }
    if (rc == MDB_MAP_FULL || rc == MDB_TXN_FULL) {
        return sirix_lmdb_write_fail(lmdb, err, rc, "commit");
    }
    if (is_disk_full(lmdb, rc) && is_clean(lmdb)) {
        return sirix_lmdb_write_fail(lmdb, err, ENOSPC, "commit");
    }
    atomic_store(&lmdb->latched, true);
    return sirix_fail(err, SIRIX_OUTCOME_UNKNOWN,
                      "the commit failed (%s) and may or may not be on disk; the database is "
                      "read-only until it is reopened",
                      mdb_strerror(rc));
}

/* --- One transaction -------------------------------------------------------------------------- */

struct change {
    struct sirix_lmdb *lmdb;
    MDB_txn *txn;
    const struct sirix_batch *batch;
    struct sirix_commit_outcome *outcome;
    uint64_t bound;         /* The row "next" as the transaction leaves it. */
    uint64_t packs_removed; /* Members taken out of packs. */
};

enum sirix_status sirix_lmdb_put_meta(struct sirix_lmdb *lmdb, MDB_txn *txn, const char *name,
                                      struct sirix_bytes value, struct sirix_error *err)
{
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = name, .len = strlen(name)});
    MDB_val val = sirix_lmdb_val(value);
    int rc = mdb_put(txn, lmdb->meta, &key, &val, 0);

    return rc == MDB_SUCCESS ? SIRIX_OK : sirix_lmdb_write_fail(lmdb, err, rc, "put a row of meta");
}

static enum sirix_status expect(struct change *change, size_t index)
{
    const struct sirix_ref_put *put = &change->batch->refs[index];
    struct sirix_commit_outcome *outcome = change->outcome;
    struct sirix_bytes current = {0};
    MDB_val key = sirix_lmdb_val(put->key);
    MDB_val val;
    int rc = mdb_get(change->txn, change->lmdb->refs, &key, &val);

    if (rc == MDB_SUCCESS) {
        current = sirix_lmdb_bytes(&val);
    } else if (rc != MDB_NOTFOUND) {
        return sirix_lmdb_write_fail(change->lmdb, &outcome->error, rc, "look up a row");
    }
    if (sirix_ref_expectation_holds(put, current)) {
        return SIRIX_OK;
    }
    outcome->conflict_index = index;
    if (current.data != NULL) {
        /* The callback comes after the transaction has gone. */
        size_t len = current.len < sizeof(change->lmdb->current) ? current.len
                                                                 : sizeof(change->lmdb->current);
        memcpy(change->lmdb->current, current.data, len);
        outcome->current = (struct sirix_bytes){.data = change->lmdb->current, .len = len};
    }
    return sirix_fail(&outcome->error, SIRIX_CONFLICT,
                      "ref %zu of the batch does not hold what was expected", index);
}

static enum sirix_status apply_ref(struct change *change, size_t index)
{
    const struct sirix_ref_put *put = &change->batch->refs[index];
    MDB_val key = sirix_lmdb_val(put->key);
    MDB_val val = sirix_lmdb_val(put->value);
    int rc = MDB_SUCCESS;

    if (put->expect != SIRIX_REF_EXPECT_ANY) {
        enum sirix_status status = expect(change, index);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    if (put->value.data == NULL) {
        rc = mdb_del(change->txn, change->lmdb->refs, &key, NULL);
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    } else {
        rc = mdb_put(change->txn, change->lmdb->refs, &key, &val, 0);
    }
    return rc == MDB_SUCCESS
               ? SIRIX_OK
               : sirix_lmdb_write_fail(change->lmdb, &change->outcome->error, rc, "change a row");
}

static enum sirix_status apply_refs(struct change *change)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < change->batch->ref_count && status == SIRIX_OK; i++) {
        status = apply_ref(change, i);
    }
    return status;
}

/* Deletes the single segments in the range. */
static int delete_singles(MDB_cursor *cursor, const struct sirix_segment_range *range)
{
    uint64_t first = range->first;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &first, .len = sizeof(first)});
    MDB_val val;
    int rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE);

    while (rc == MDB_SUCCESS && sirix_lmdb_number(&key) <= range->last) {
        rc = mdb_cursor_del(cursor, 0);
        if (rc == MDB_SUCCESS) {
            rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT);
        }
    }
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

static enum sirix_status apply_deletes(struct change *change, MDB_cursor *cursor)
{
    struct sirix_error *err = &change->outcome->error;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < change->batch->delete_count && status == SIRIX_OK; i++) {
        const struct sirix_segment_range *range = &change->batch->deletes[i];
        int rc = delete_singles(cursor, range);

        if (rc != MDB_SUCCESS) {
            status = sirix_lmdb_write_fail(change->lmdb, err, rc, "delete segments");
        } else if (range->first < change->lmdb->packed_below) {
            status = sirix_lmdb_pack_remove(change->lmdb, change->txn, range->first, range->last,
                                            &change->packs_removed, err);
        }
    }
    return status;
}

/* A number below the pack mark may lie in a pack: a sparse segment takes it out, others may not be. */
static enum sirix_status leave_pack(struct change *change, const struct sirix_segment_put *put)
{
    struct sirix_lmdb *lmdb = change->lmdb;
    struct sirix_error *err = &change->outcome->error;
    struct sirix_bytes pack;
    struct sirix_bytes member;
    enum sirix_status status = SIRIX_OK;

    if (put->number >= lmdb->packed_below) {
        return SIRIX_OK;
    }
    if (sirix_segment_is_sparse(put->bytes)) {
        return sirix_lmdb_pack_remove(lmdb, change->txn, put->number, put->number,
                                      &change->packs_removed, err);
    }
    status = sirix_lmdb_pack_find(lmdb, change->txn, put->number, &pack, err);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && sirix_pack_find(pack, put->number, &member)) {
        status = sirix_segment_stored_already(put->number, err);
    }
    return status;
}

static enum sirix_status apply_puts(struct change *change, MDB_cursor *cursor)
{
    struct sirix_error *err = &change->outcome->error;
    uint64_t last = 0;
    MDB_val key;
    MDB_val val;
    int rc = mdb_cursor_get(cursor, &key, &val, MDB_LAST);
    enum sirix_status status = SIRIX_OK;

    if (rc == MDB_SUCCESS) {
        last = sirix_lmdb_number(&key);
    } else if (rc != MDB_NOTFOUND) {
        return sirix_lmdb_write_fail(change->lmdb, err, rc, "find the last segment");
    }
    for (size_t i = 0; i < change->batch->put_count && status == SIRIX_OK; i++) {
        const struct sirix_segment_put *put = &change->batch->puts[i];
        /* Appending fills pages; a put in the middle splits them in halves. */
        unsigned flags = put->number > last ? MDB_APPEND : MDB_NOOVERWRITE;

        status = leave_pack(change, put);
        if (status != SIRIX_OK) {
            break;
        }
        if (flags == MDB_NOOVERWRITE && sirix_segment_is_sparse(put->bytes)) {
            flags = 0;
        }
        key =
            sirix_lmdb_val((struct sirix_bytes){.data = &put->number, .len = sizeof(put->number)});
        val = sirix_lmdb_val(put->bytes);
        rc = mdb_cursor_put(cursor, &key, &val, flags);
        if (rc == MDB_KEYEXIST) {
            status = sirix_segment_stored_already(put->number, err);
        } else if (rc != MDB_SUCCESS) {
            status = sirix_lmdb_write_fail(change->lmdb, err, rc, "put a segment");
        }
        last = put->number > last ? put->number : last;
    }
    return status;
}

/* The rows of "meta" that follow from the rest. */
static enum sirix_status apply_meta(struct change *change)
{
    struct sirix_lmdb *lmdb = change->lmdb;
    struct sirix_error *err = &change->outcome->error;
    uint64_t next = atomic_load(&lmdb->base.next_number);
    uint8_t row[8];
    enum sirix_status status = SIRIX_OK;

    change->bound = lmdb->bound;
    if (next > lmdb->bound) {
        change->bound = next + NUMBERS_AHEAD;
        sirix_store_u64le(row, change->bound);
        status = sirix_lmdb_put_meta(lmdb, change->txn, SIRIX_LMDB_META_NEXT,
                                     (struct sirix_bytes){.data = row, .len = sizeof(row)}, err);
    }
    if (status == SIRIX_OK && change->packs_removed != 0) {
        status = sirix_lmdb_put_packed(lmdb, change->txn, lmdb->packed_below,
                                       lmdb->packed_count - change->packs_removed, err);
    }
    return status;
}

static enum sirix_status apply(struct change *change)
{
    MDB_cursor *cursor = NULL;
    enum sirix_status status = apply_refs(change);

    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_cursor_open(change->txn, change->lmdb->seg, &cursor);
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_write_fail(change->lmdb, &change->outcome->error, rc, "open a cursor");
    }
    status = apply_deletes(change, cursor);
    if (status == SIRIX_OK) {
        status = apply_puts(change, cursor);
    }
    mdb_cursor_close(cursor);
    return status == SIRIX_OK ? apply_meta(change) : status;
}

/* Tries the batch once. */
static enum sirix_status try_batch(struct sirix_lmdb *lmdb, const struct sirix_batch *batch,
                                   struct sirix_commit_outcome *outcome)
{
    struct change change = {.lmdb = lmdb, .batch = batch, .outcome = outcome};
    int rc = mdb_txn_begin(lmdb->env, NULL, 0, &change.txn);

    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_write_fail(lmdb, &outcome->error, rc, "begin a commit");
    }
    enum sirix_status status = apply(&change);
    if (status != SIRIX_OK) {
        mdb_txn_abort(change.txn);
        return status;
    }
    status = sirix_lmdb_commit_txn(lmdb, change.txn, &outcome->error);
    if (status != SIRIX_OK) {
        return status;
    }
    lmdb->bound = change.bound;
    lmdb->packed_count -= change.packs_removed;
    for (size_t i = 0; i < batch->put_count; i++) {
        if (sirix_segment_is_sparse(batch->puts[i].bytes)) {
            sirix_verified_remove(&lmdb->verified, batch->puts[i].number);
        }
    }
    return SIRIX_OK;
}

/* --- Room ------------------------------------------------------------------------------------- */

static uint64_t bytes_needed(const struct sirix_batch *batch)
{
    uint64_t pages = PAGES_A_BATCH + 2 * batch->ref_count + 2 * batch->delete_count;

    for (size_t i = 0; i < batch->put_count; i++) {
        pages += 2 + batch->puts[i].bytes.len / PAGE_BYTES;
    }
    return pages * PAGE_BYTES;
}

void sirix_lmdb_grow_early(struct sirix_lmdb *lmdb, uint64_t need_bytes)
{
    uint64_t used_bytes = sirix_lmdb_used(lmdb) + need_bytes;

    if (used_bytes > lmdb->map_bytes / 4 * 3 && sirix_lmdb_now() >= lmdb->grow_again_at) {
        (void)sirix_lmdb_grow(lmdb, used_bytes, false,
                              WAIT_EARLY_MS); /* The batch may fit without. */
    }
}

/* After a batch found no room: whether there may be some now. */
static bool make_room(struct sirix_lmdb *lmdb, const struct sirix_batch *batch,
                      struct sirix_error *err)
{
    if (lmdb->last_rc == MDB_MAP_FULL) {
        uint64_t used_bytes = sirix_lmdb_used(lmdb) + bytes_needed(batch);

        /* One long wait a second: readers that come in wait as long. */
        unsigned wait_ms = sirix_lmdb_now() < lmdb->wait_again_at ? WAIT_EARLY_MS : WAIT_FULL_MS;

        if (sirix_lmdb_grow(lmdb, used_bytes, batch->frees_space, wait_ms)) {
            return true;
        }
        lmdb->wait_again_at = lmdb->grow_again_at;
        (void)sirix_fail(err, SIRIX_NO_SPACE,
                         "the map is full at %" PRIu64 " bytes and could not grow: %s",
                         lmdb->map_bytes,
                         lmdb->map_bytes_max != 0 && lmdb->map_bytes >= lmdb->map_bytes_max
                             ? "that is its limit"
                             : "a reader did not yield, or address space ran out");
        return false;
    }
    if (lmdb->last_rc == MDB_TXN_FULL) {
        return false;
    }
    if (batch->frees_space && sirix_space_release_reserve(&lmdb->space)) {
        return true;
    }
    (void)sirix_fail_reason(err, SIRIX_NO_SPACE, SIRIX_REASON_DISK_FULL,
                            "the disk is full; reads go on");
    return false;
}

static enum sirix_status write_batch(struct sirix_lmdb *lmdb, const struct sirix_batch *batch,
                                     struct sirix_commit_outcome *outcome)
{
    enum sirix_status status = sirix_lmdb_check_writable(lmdb, &outcome->error);

    if (status == SIRIX_OK && !batch->frees_space) {
        status = sirix_space_check(&lmdb->space, &outcome->error);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_lmdb_grow_early(lmdb, bytes_needed(batch));
    lmdb->last_rc = MDB_SUCCESS;
    status = try_batch(lmdb, batch, outcome);
    if (status == SIRIX_IO && is_disk_full(lmdb, lmdb->last_rc)) {
        status = SIRIX_NO_SPACE; /* Pages of a large transaction are written before its commit. */
    }
    if (status == SIRIX_NO_SPACE && make_room(lmdb, batch, &outcome->error)) {
        status = try_batch(lmdb, batch, outcome);
    }
    return status;
}

void sirix_lmdb_commit(struct sirix_backend *base, const struct sirix_batch *batch,
                       sirix_committed_fn done, void *context)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;
    struct sirix_commit_outcome outcome = {0};
    int rc = pthread_mutex_lock(&lmdb->writing);

    assert(rc == 0);
    outcome.status = write_batch(lmdb, batch, &outcome);
    rc = pthread_mutex_unlock(&lmdb->writing);
    assert(rc == 0);
    if (outcome.status == SIRIX_OK) {
        outcome.error = (struct sirix_error){0}; /* Of a first try without room. */
    }
    outcome.error.status = outcome.status;
    done(context, &outcome);
}
