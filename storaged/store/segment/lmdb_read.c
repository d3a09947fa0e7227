/*
 * Readers and look-ups. A reader's transaction is begun by the first look-up after a yield and reset
 * by the yield; between them it is inside the gate and its pointers into the map hold.
 *
 * The tables of a reader outlive its yield only when they still are true: when the renewed transaction
 * sees the very snapshot of the one before, nothing was committed in between, so that no page of it can
 * have been written again, and when the map stands where it stood. A reader that does one small thing
 * a turn would otherwise look everything up anew each time, at ten times the cost.
 *
 * A yielded reader keeps its slot in LMDB's table, which is quicker to use again, while few do; past
 * SLOTS_KEPT it gives it back. So the slots are for those that are inside, and any number of calls may
 * wait with a reader open.
 *
 * In debug and sanitizer builds every slice is a heap copy that dies at the yield, so that a pointer
 * kept for too long is a report and not a rare crash.
 */
#include <assert.h>
#include <stdlib.h>

#include "store/segment/lmdb_reader.h"

enum { SLOTS_KEPT = 128 };

#if defined(SIRIX_SANITIZED) || defined(SIRIX_SLICE_COPIES)
enum { COPY_SLICES = 1 };
#else
enum { COPY_SLICES = 0 };
#endif

enum sirix_status sirix_lmdb_reader_open(struct sirix_backend *base,
                                         struct sirix_reader **out_reader, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;
    struct sirix_lmdb_reader *reader = calloc(1, sizeof(*reader));

    if (reader == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a reader");
    }
    reader->base.backend = base;
    sirix_slices_init(&reader->segments);
    sirix_slices_init(&reader->packs);
    int rc = pthread_mutex_lock(&lmdb->gate);
    assert(rc == 0);
    lmdb->readers++;
    reader->next = lmdb->first_reader;
    if (reader->next != NULL) {
        reader->next->previous = reader;
    }
    lmdb->first_reader = reader;
    rc = pthread_mutex_unlock(&lmdb->gate);
    assert(rc == 0);
    *out_reader = &reader->base;
    return SIRIX_OK;
}

static void give_slot_back(struct sirix_lmdb_reader *reader)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)reader->base.backend;

    if (reader->txn != NULL) {
        mdb_txn_abort(reader->txn);
        reader->txn = NULL;
        atomic_fetch_sub_explicit(&lmdb->slots, 1, memory_order_relaxed);
    }
}

void sirix_lmdb_reader_yield(struct sirix_reader *base)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;

    if (COPY_SLICES) {
        sirix_slices_clear(&reader->segments);
    }
    if (reader->inside) {
        struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base->backend;

        if (atomic_load_explicit(&lmdb->slots, memory_order_relaxed) > SLOTS_KEPT) {
            give_slot_back(reader);
        } else {
            mdb_txn_reset(reader->txn);
        }
        reader->inside = false;
        atomic_store_explicit(&reader->since_ns, 0, memory_order_relaxed);
        sirix_lmdb_leave(lmdb);
    }
}

void sirix_lmdb_reader_close(struct sirix_reader *base)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base->backend;

    sirix_lmdb_reader_yield(base);
    give_slot_back(reader);
    int rc = pthread_mutex_lock(&lmdb->gate);
    assert(rc == 0);
    lmdb->readers--;
    if (reader->next != NULL) {
        reader->next->previous = reader->previous;
    }
    if (reader->previous != NULL) {
        reader->previous->next = reader->next;
    } else {
        lmdb->first_reader = reader->next;
    }
    rc = pthread_mutex_unlock(&lmdb->gate);
    assert(rc == 0);
    sirix_slices_deinit(&reader->segments);
    sirix_slices_deinit(&reader->packs);
    free(reader);
}

void sirix_lmdb_readers(struct sirix_lmdb *lmdb, uint64_t *out_count, uint64_t *out_oldest_ns)
{
    uint64_t now = sirix_lmdb_now();
    uint64_t oldest = 0;

    int rc = pthread_mutex_lock(&lmdb->gate);
    assert(rc == 0);
    for (const struct sirix_lmdb_reader *r = lmdb->first_reader; r != NULL; r = r->next) {
        uint64_t since = atomic_load_explicit(&r->since_ns, memory_order_relaxed);
        if (since != 0 && since < now && now - since > oldest) {
            oldest = now - since;
        }
    }
    *out_count = lmdb->readers;
    rc = pthread_mutex_unlock(&lmdb->gate);
    assert(rc == 0);
    *out_oldest_ns = oldest;
}

enum sirix_status sirix_lmdb_reader_begin(struct sirix_lmdb_reader *reader, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)reader->base.backend;

    if (reader->inside) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_lmdb_enter(lmdb, err);
    if (status != SIRIX_OK) {
        return status;
    }
    bool takes_slot = reader->txn == NULL;
    int rc = takes_slot ? mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &reader->txn)
                        : mdb_txn_renew(reader->txn);
    if (rc != MDB_SUCCESS) {
        sirix_lmdb_leave(lmdb);
        return sirix_lmdb_fail(err, rc, "begin to read");
    }
    if (takes_slot) {
        atomic_fetch_add_explicit(&lmdb->slots, 1, memory_order_relaxed);
    }
    reader->inside = true;
    atomic_store_explicit(&reader->since_ns, sirix_lmdb_now(), memory_order_relaxed);
    if (mdb_txn_id(reader->txn) != reader->snapshot || lmdb->moves != reader->moves) {
        sirix_slices_clear(&reader->segments);
        sirix_slices_clear(&reader->packs);
        reader->snapshot = mdb_txn_id(reader->txn);
        reader->moves = lmdb->moves;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_lmdb_slice(struct sirix_slices *slices, struct sirix_bytes bytes,
                                   struct sirix_bytes *out_slice, struct sirix_error *err)
{
    if (COPY_SLICES) {
        return sirix_slices_copy(slices, bytes, out_slice, err);
    }
    *out_slice = bytes;
    return SIRIX_OK;
}

/* Looks number up in the pack that was used last for its group, then in the table. */
static enum sirix_status get_packed(struct sirix_lmdb_reader *reader, uint64_t number,
                                    struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)reader->base.backend;
    struct sirix_bytes pack = {.data = NULL, .len = 0};
    enum sirix_status status = sirix_lmdb_pack_find(lmdb, reader->txn, number, &pack, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_segment_absent(number, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!sirix_pack_find(pack, number, out_bytes)) {
        return sirix_segment_absent(number, err);
    }
    sirix_slices_remember(&reader->packs, sirix_pack_group_first(number), pack);
    return SIRIX_OK;
}

static enum sirix_status look_up(struct sirix_lmdb_reader *reader, uint64_t number,
                                 struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)reader->base.backend;
    struct sirix_bytes pack;
    MDB_val val;

    if (sirix_slices_find(&reader->packs, sirix_pack_group_first(number), &pack) &&
        sirix_pack_find(pack, number, out_bytes)) {
        return SIRIX_OK;
    }
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &number, .len = sizeof(number)});
    int rc = mdb_get(reader->txn, lmdb->seg, &key, &val);
    if (rc == MDB_SUCCESS) {
        *out_bytes = sirix_lmdb_bytes(&val);
        return SIRIX_OK;
    }
    return rc == MDB_NOTFOUND ? get_packed(reader, number, out_bytes, err)
                              : sirix_lmdb_fail(err, rc, "look up a segment");
}

enum sirix_status sirix_lmdb_segment_get(struct sirix_reader *base, uint64_t number,
                                         struct sirix_bytes *out_bytes, struct sirix_error *err)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base->backend;
    struct sirix_bytes bytes = {.data = NULL, .len = 0};

    enum sirix_status status = sirix_lmdb_reader_begin(reader, err);
    if (status != SIRIX_OK) {
        return status;
    }
    /* Only now: what the tables hold from before a yield counts for the same snapshot alone. */
    if (sirix_slices_find(&reader->segments, number, out_bytes)) {
        return SIRIX_OK;
    }
    status = look_up(reader, number, &bytes, err);
    if (status == SIRIX_OK && !sirix_verified_has(&lmdb->verified, number)) {
        status = sirix_segment_verify(base->backend, bytes, number, err);
        if (status == SIRIX_OK) {
            sirix_verified_add(&lmdb->verified, number);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_lmdb_slice(&reader->segments, bytes, &bytes, err);
    }
    if (status == SIRIX_OK) {
        sirix_slices_remember(&reader->segments, number, bytes);
        *out_bytes = bytes;
    }
    return status;
}

enum sirix_status sirix_lmdb_ref_get(struct sirix_reader *base, struct sirix_bytes key,
                                     struct sirix_bytes *out_value, struct sirix_error *err)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base->backend;
    MDB_val name = sirix_lmdb_val(key);
    MDB_val val;
    enum sirix_status status = sirix_lmdb_reader_begin(reader, err);

    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_get(reader->txn, lmdb->refs, &name, &val);
    if (rc == MDB_NOTFOUND) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "no such row");
    }
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_fail(err, rc, "look up a row");
    }
    return sirix_lmdb_slice(&reader->segments, sirix_lmdb_bytes(&val), out_value, err);
}
