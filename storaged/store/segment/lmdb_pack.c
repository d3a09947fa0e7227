/*
 * Packs in the table: look-up, taking members out, and the housekeeping that makes them. Members are
 * copied, originals deleted and the mark moved in one transaction, so that a reader finds a segment in
 * one place or the other, whatever happens between.
 */
#include <assert.h>
#include <sys/stat.h>

#include "base/endian.h"
#include "store/segment/lmdb_backend.h"

enum { STEPS_A_SLICE = 64, BUILD_BYTES_MAX = 512 * 1024 };

static enum sirix_status check_pack(struct sirix_lmdb *lmdb, struct sirix_bytes pack, uint64_t key,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!sirix_verified_has(&lmdb->verified_packs, key)) {
        status = sirix_pack_check(pack, key, err);
        if (status == SIRIX_OK) {
            sirix_verified_add(&lmdb->verified_packs, key);
        }
    }
    return status;
}

enum sirix_status sirix_lmdb_pack_find(struct sirix_lmdb *lmdb, MDB_txn *txn, uint64_t number,
                                       struct sirix_bytes *out_pack, struct sirix_error *err)
{
    MDB_cursor *cursor = NULL;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &number, .len = sizeof(number)});
    MDB_val val;
    int rc = mdb_cursor_open(txn, lmdb->pack, &cursor);

    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE);
        mdb_cursor_close(cursor);
    }
    if (rc == MDB_NOTFOUND) {
        return SIRIX_NOT_FOUND;
    }
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_fail(err, rc, "look up a pack");
    }
    struct sirix_bytes pack = sirix_lmdb_bytes(&val);
    enum sirix_status status = check_pack(lmdb, pack, sirix_lmdb_number(&key), err);
    if (status == SIRIX_OK) {
        *out_pack = pack;
    }
    return status;
}

enum sirix_status sirix_lmdb_put_packed(struct sirix_lmdb *lmdb, MDB_txn *txn,
                                        uint64_t packed_below, uint64_t packed_count,
                                        struct sirix_error *err)
{
    uint8_t row[16];

    sirix_store_u64le(row, packed_below);
    sirix_store_u64le(row + 8, packed_count);
    return sirix_lmdb_put_meta(lmdb, txn, SIRIX_LMDB_META_PACKED,
                               (struct sirix_bytes){.data = row, .len = sizeof(row)}, err);
}

/* --- Taking members out ----------------------------------------------------------------------- */

/* Takes [first, last] out of the pack under the cursor, which lies under key. */
static enum sirix_status shrink(struct sirix_lmdb *lmdb, MDB_cursor *cursor, uint64_t key,
                                struct sirix_bytes pack, const struct sirix_segment_range *range,
                                uint64_t *removed, struct sirix_error *err)
{
    struct sirix_pack_member kept[SIRIX_PACK_GROUP];
    size_t count = sirix_pack_count(pack);
    size_t kept_count = 0;
    struct sirix_buf buf;
    enum sirix_status status = SIRIX_OK;
    int rc = MDB_SUCCESS;

    sirix_buf_init(&buf, BUILD_BYTES_MAX);
    for (size_t i = 0; i < count; i++) {
        struct sirix_pack_member member = sirix_pack_at(pack, i);

        if (member.number < range->first || member.number > range->last) {
            kept[kept_count++] = member;
        }
    }
    if (kept_count == count) {
        return SIRIX_OK;
    }
    if (kept_count == 0) {
        rc = mdb_cursor_del(cursor, 0);
    } else {
        /* Members are views into the map: the new pack is finished before anything changes. */
        status = sirix_pack_build(kept, kept_count, &buf, err);
        if (status == SIRIX_OK) {
            MDB_val name = sirix_lmdb_val((struct sirix_bytes){.data = &key, .len = sizeof(key)});
            MDB_val val = sirix_lmdb_val(sirix_buf_view(&buf));
            rc = mdb_cursor_put(cursor, &name, &val, 0);
        }
    }
    if (rc != MDB_SUCCESS) {
        status = sirix_lmdb_write_fail(lmdb, err, rc, "rewrite a pack");
    }
    if (status == SIRIX_OK) {
        *removed += count - kept_count;
    }
    sirix_buf_deinit(&buf);
    return status;
}

/*
 * A damaged pack goes when all that it may hold is to go, so that damage does not keep prune from its
 * work; else it stays as it is, and none of it can be read anyway. Its members stay in the count.
 */
static enum sirix_status drop_damaged(struct sirix_lmdb *lmdb, MDB_cursor *cursor, uint64_t key,
                                      const struct sirix_segment_range *range,
                                      struct sirix_error *err)
{
    if (range->first > sirix_pack_group_first(key) || range->last < key) {
        return SIRIX_OK;
    }
    int rc = mdb_cursor_del(cursor, 0);
    return rc == MDB_SUCCESS ? SIRIX_OK
                             : sirix_lmdb_write_fail(lmdb, err, rc, "delete a damaged pack");
}

enum sirix_status sirix_lmdb_pack_remove(struct sirix_lmdb *lmdb, MDB_txn *txn, uint64_t first,
                                         uint64_t last, uint64_t *removed, struct sirix_error *err)
{
    const struct sirix_segment_range range = {.first = first, .last = last};
    MDB_cursor *cursor = NULL;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &first, .len = sizeof(first)});
    MDB_val val;
    enum sirix_status status = SIRIX_OK;
    int rc = mdb_cursor_open(txn, lmdb->pack, &cursor);

    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_get(cursor, &key, &val, MDB_SET_RANGE);
    }
    while (rc == MDB_SUCCESS && status == SIRIX_OK) {
        uint64_t number = sirix_lmdb_number(&key);
        struct sirix_bytes pack = sirix_lmdb_bytes(&val);

        if (sirix_pack_group_first(number) > last) {
            break;
        }
        if (check_pack(lmdb, pack, number, NULL) == SIRIX_OK) {
            status = shrink(lmdb, cursor, number, pack, &range, removed, err);
        } else {
            status = drop_damaged(lmdb, cursor, number, &range, err);
        }
        if (status == SIRIX_OK) {
            rc = mdb_cursor_get(cursor, &key, &val, MDB_NEXT);
        }
    }
    mdb_cursor_close(cursor);
    if (status == SIRIX_OK && rc != MDB_SUCCESS && rc != MDB_NOTFOUND) {
        status = sirix_lmdb_write_fail(lmdb, err, rc, "look through packs");
    }
    return status;
}

/* --- Making packs ----------------------------------------------------------------------------- */

struct packing {
    struct sirix_lmdb *lmdb;
    MDB_txn *txn;
    MDB_cursor *cursor; /* Of the single segments. */
    uint64_t settled;
    uint64_t below; /* The mark as the transaction moves it. */
    uint64_t count; /* Members in packs. */
    size_t written;
    bool ended; /* Nothing is left to pack below `settled`. */
    struct sirix_buf buf;
};

/* Collects the small segments from the mark to the end of the group of the first one found there. */
static int collect(struct packing *packing, struct sirix_pack_member *members, size_t *out_count,
                   uint64_t *out_group_end)
{
    uint64_t from = packing->below;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &from, .len = sizeof(from)});
    MDB_val val;
    size_t count = 0;
    int rc = mdb_cursor_get(packing->cursor, &key, &val, MDB_SET_RANGE);

    if (rc != MDB_SUCCESS) {
        return rc;
    }
    uint64_t end = sirix_pack_group_first(sirix_lmdb_number(&key)) + SIRIX_PACK_GROUP;
    while (rc == MDB_SUCCESS && sirix_lmdb_number(&key) < end) {
        if (val.mv_size <= SIRIX_PACK_MEMBER_BYTES_MAX) {
            members[count++] = (struct sirix_pack_member){.number = sirix_lmdb_number(&key),
                                                          .bytes = sirix_lmdb_bytes(&val)};
        }
        rc = mdb_cursor_get(packing->cursor, &key, &val, MDB_NEXT);
    }
    *out_count = count;
    *out_group_end = end;
    return rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
}

/* Puts the built pack and deletes the originals of its members. */
static int replace(struct packing *packing, const uint64_t *numbers, size_t count)
{
    MDB_val key = sirix_lmdb_val(
        (struct sirix_bytes){.data = &numbers[count - 1], .len = sizeof(numbers[0])});
    MDB_val val = sirix_lmdb_val(sirix_buf_view(&packing->buf));
    int rc = mdb_put(packing->txn, packing->lmdb->pack, &key, &val, MDB_NOOVERWRITE);

    for (size_t i = 0; i < count && rc == MDB_SUCCESS; i++) {
        key = sirix_lmdb_val((struct sirix_bytes){.data = &numbers[i], .len = sizeof(numbers[0])});
        rc = mdb_del(packing->txn, packing->lmdb->seg, &key, NULL);
    }
    return rc;
}

/* One pack, or the news that there is nothing to pack at the mark. */
static enum sirix_status pack_step(struct packing *packing, struct sirix_error *err)
{
    struct sirix_pack_member members[SIRIX_PACK_GROUP];
    uint64_t numbers[SIRIX_PACK_GROUP];
    size_t count = 0;
    uint64_t group_end = 0;
    int rc = collect(packing, members, &count, &group_end);

    if (rc == MDB_NOTFOUND || (rc == MDB_SUCCESS && group_end > packing->settled)) {
        packing->ended = true;
        return SIRIX_OK;
    }
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_write_fail(packing->lmdb, err, rc, "look for segments to pack");
    }
    size_t fit = count < 2 ? count : sirix_pack_fit(members, count);
    for (size_t i = 0; i < fit; i++) {
        numbers[i] = members[i].number;
    }
    uint64_t below = fit < count ? members[fit].number : group_end;
    if (fit >= 2) {
        sirix_buf_clear(&packing->buf);
        enum sirix_status status = sirix_pack_build(members, fit, &packing->buf, err);
        if (status != SIRIX_OK) {
            return status;
        }
        rc = replace(packing, numbers, fit);
        if (rc != MDB_SUCCESS) {
            return sirix_lmdb_write_fail(packing->lmdb, err, rc, "put a pack");
        }
        packing->count += fit;
        packing->written += packing->buf.len;
    }
    packing->below = below;
    return SIRIX_OK;
}

static enum sirix_status pack_slice(struct packing *packing, size_t budget_bytes,
                                    struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = packing->lmdb;
    enum sirix_status status = SIRIX_OK;
    MDB_txn *ending = NULL;
    int rc = mdb_txn_begin(lmdb->env, NULL, 0, &packing->txn);

    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(packing->txn, lmdb->seg, &packing->cursor);
    }
    if (rc != MDB_SUCCESS) {
        status = sirix_lmdb_write_fail(lmdb, err, rc, "begin to pack");
        goto out;
    }
    for (int i = 0; i < STEPS_A_SLICE && status == SIRIX_OK && !packing->ended &&
                    packing->written < budget_bytes;
         i++) {
        status = pack_step(packing, err);
    }
    mdb_cursor_close(packing->cursor); /* A cursor of a write transaction ends before it. */
    packing->cursor = NULL;
    if (status == SIRIX_OK && packing->written != 0) {
        status = sirix_lmdb_put_packed(lmdb, packing->txn, packing->below, packing->count, err);
        if (status == SIRIX_OK) {
            ending = packing->txn;
            packing->txn = NULL;
            status = sirix_lmdb_commit_txn(lmdb, ending, err);
        }
    }

out:
    mdb_cursor_close(packing->cursor);
    mdb_txn_abort(packing->txn);
    return status;
}

static enum sirix_status pack_some(struct sirix_lmdb *lmdb, size_t budget_bytes, bool *out_more,
                                   struct sirix_error *err)
{
    struct packing packing = {
        .lmdb = lmdb,
        .settled = atomic_load(&lmdb->base.settled),
        .below = lmdb->packed_below,
        .count = lmdb->packed_count,
    };
    enum sirix_status status = SIRIX_OK;

    if (sirix_pack_group_first(packing.below) + SIRIX_PACK_GROUP > packing.settled) {
        *out_more = false;
        return SIRIX_OK;
    }
    sirix_buf_init(&packing.buf, BUILD_BYTES_MAX);
    status = pack_slice(&packing, budget_bytes, err);
    sirix_buf_deinit(&packing.buf);
    if (status == SIRIX_OK) {
        lmdb->packed_below = packing.below;
        lmdb->packed_count = packing.count;
        *out_more = !packing.ended;
    }
    return status;
}

enum sirix_status sirix_lmdb_maintain(struct sirix_backend *base, size_t budget_bytes,
                                      bool *out_more, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;
    struct stat file;
    bool more = false;
    int rc = pthread_mutex_lock(&lmdb->writing);

    assert(rc == 0);
    enum sirix_status status = sirix_lmdb_check_writable(lmdb, err);
    /* Packing takes room before it gives some back; on a full disk it waits, which is no failure. */
    if (status == SIRIX_OK && sirix_space_check(&lmdb->space, NULL) == SIRIX_OK) {
        if (fstat(lmdb->data_fd, &file) == 0) {
            sirix_space_keep_reserve(&lmdb->space, (uint64_t)file.st_size);
        }
        sirix_lmdb_grow_early(lmdb, 2 * (uint64_t)budget_bytes);
        status = pack_some(lmdb, budget_bytes, &more, err);
        if (status == SIRIX_NO_SPACE) {
            status = SIRIX_OK; /* Nothing was changed, and the next ordinary write says it. */
        }
    }
    rc = pthread_mutex_unlock(&lmdb->writing);
    assert(rc == 0);
    if (status == SIRIX_OK) {
        *out_more = more;
    }
    return status;
}
