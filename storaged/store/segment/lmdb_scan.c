/* Scans: refs by prefix both ways, and all segments in order, packed or not, by two cursors. */
#include <assert.h>

#include "store/segment/lmdb_reader.h"

/* --- Segments --------------------------------------------------------------------------------- */

/* Two cursors side by side: the next single segment, the next member of a pack. */
struct merge {
    struct sirix_lmdb *lmdb;
    MDB_cursor *singles;
    MDB_cursor *packs;
    bool has_single;
    struct sirix_pack_member single;
    bool has_pack;
    struct sirix_bytes pack;
    uint64_t pack_key;
    size_t index; /* In the pack. */
    size_t count; /* Members of the pack; 0: it is damaged and shown as a whole. */
};

static enum sirix_status step_single(struct merge *merge, uint64_t from, MDB_cursor_op op,
                                     struct sirix_error *err)
{
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &from, .len = sizeof(from)});
    MDB_val val;
    int rc = mdb_cursor_get(merge->singles, &key, &val, op);

    merge->has_single = rc == MDB_SUCCESS;
    if (rc == MDB_SUCCESS) {
        merge->single = (struct sirix_pack_member){.number = sirix_lmdb_number(&key),
                                                   .bytes = sirix_lmdb_bytes(&val)};
        return SIRIX_OK;
    }
    return rc == MDB_NOTFOUND ? SIRIX_OK : sirix_lmdb_fail(err, rc, "scan segments");
}

/* Moves to the first member >= from of the pack that op finds, or of a later one. */
static enum sirix_status step_pack(struct merge *merge, uint64_t from, MDB_cursor_op op,
                                   struct sirix_error *err)
{
    uint64_t wanted = from;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = &wanted, .len = sizeof(wanted)});
    MDB_val val;
    int rc = mdb_cursor_get(merge->packs, &key, &val, op);

    while (rc == MDB_SUCCESS) {
        merge->pack = sirix_lmdb_bytes(&val);
        merge->pack_key = sirix_lmdb_number(&key);
        if (sirix_pack_check(merge->pack, merge->pack_key, NULL) != SIRIX_OK) {
            merge->count = 0; /* For the visitor to see and to refuse. */
            break;
        }
        merge->count = sirix_pack_count(merge->pack);
        merge->index = sirix_pack_lower_bound(merge->pack, from);
        if (merge->index < merge->count) {
            break;
        }
        rc = mdb_cursor_get(merge->packs, &key, &val, MDB_NEXT);
    }
    merge->has_pack = rc == MDB_SUCCESS;
    return rc == MDB_SUCCESS || rc == MDB_NOTFOUND ? SIRIX_OK
                                                   : sirix_lmdb_fail(err, rc, "scan packs");
}

/* Takes the lower of the two and moves its cursor on; false at the end. */
static enum sirix_status next_member(struct merge *merge, struct sirix_pack_member *out_member,
                                     bool *out_found, struct sirix_error *err)
{
    struct sirix_pack_member packed = {0};

    *out_found = merge->has_single || merge->has_pack;
    if (merge->has_pack && merge->count == 0) {
        packed = (struct sirix_pack_member){.number = merge->pack_key, .bytes = merge->pack};
    } else if (merge->has_pack) {
        packed = sirix_pack_at(merge->pack, merge->index);
    }
    if (merge->has_single && (!merge->has_pack || merge->single.number < packed.number)) {
        *out_member = merge->single;
        return step_single(merge, 0, MDB_NEXT, err);
    }
    if (merge->has_pack) {
        *out_member = packed;
        merge->index++;
        if (merge->count == 0 || merge->index == merge->count) {
            return step_pack(merge, packed.number + 1, MDB_NEXT, err);
        }
    }
    return SIRIX_OK;
}

/* Shows one segment to the visitor; where slices are copies, a copy that dies with the visit. */
static enum sirix_status show(struct sirix_lmdb_reader *reader,
                              const struct sirix_pack_member *member, sirix_segment_visit_fn visit,
                              void *context, bool *stop, struct sirix_error *err)
{
    struct sirix_slices copies;
    struct sirix_bytes bytes;
    uint64_t generation = reader->base.generation;

    sirix_slices_init(&copies);
    enum sirix_status status = sirix_lmdb_slice(&copies, member->bytes, &bytes, err);
    if (status == SIRIX_OK) {
        status = visit(context, member->number, bytes, stop, err);
    }
    sirix_slices_deinit(&copies);
    assert(reader->base.generation == generation); /* Who visits does not yield. */
    return status;
}

enum sirix_status sirix_lmdb_segment_scan(struct sirix_reader *base, uint64_t first, uint64_t last,
                                          sirix_segment_visit_fn visit, void *context,
                                          struct sirix_error *err)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;
    struct merge merge = {.lmdb = (struct sirix_lmdb *)base->backend};
    struct sirix_pack_member member = {0};
    bool found = true;
    bool stop = false;
    enum sirix_status status = sirix_lmdb_reader_begin(reader, err);

    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_cursor_open(reader->txn, merge.lmdb->seg, &merge.singles);
    if (rc == MDB_SUCCESS) {
        rc = mdb_cursor_open(reader->txn, merge.lmdb->pack, &merge.packs);
    }
    if (rc != MDB_SUCCESS) {
        status = sirix_lmdb_fail(err, rc, "open a scan of segments");
        goto out;
    }
    status = step_single(&merge, first, MDB_SET_RANGE, err);
    if (status == SIRIX_OK) {
        status = step_pack(&merge, first, MDB_SET_RANGE, err);
    }
    while (status == SIRIX_OK && !stop) {
        status = next_member(&merge, &member, &found, err);
        if (status != SIRIX_OK || !found || member.number > last) {
            break;
        }
        status = show(reader, &member, visit, context, &stop, err);
    }

out:
    mdb_cursor_close(merge.packs);
    mdb_cursor_close(merge.singles);
    return status;
}

/* --- Refs ------------------------------------------------------------------------------------- */

/* The first key behind all that begin with prefix; false when there is none. */
static bool prefix_end(struct sirix_bytes prefix, uint8_t key[SIRIX_REF_KEY_BYTES_MAX],
                       struct sirix_bytes *out_end)
{
    size_t len = prefix.len;

    while (len > 0 && ((const uint8_t *)prefix.data)[len - 1] == UINT8_MAX) {
        len--;
    }
    if (len == 0) {
        return false;
    }
    memcpy(key, prefix.data, len);
    key[len - 1]++;
    *out_end = (struct sirix_bytes){.data = key, .len = len};
    return true;
}

/* Places the cursor on the last key < bound, or <= bound if inclusive. */
static int seek_before(MDB_cursor *cursor, struct sirix_bytes bound, bool inclusive, MDB_val *key,
                       MDB_val *val)
{
    *key = sirix_lmdb_val(bound);
    int rc = mdb_cursor_get(cursor, key, val, MDB_SET_RANGE);

    if (rc == MDB_NOTFOUND) {
        return mdb_cursor_get(cursor, key, val, MDB_LAST);
    }
    if (rc != MDB_SUCCESS || (inclusive && sirix_bytes_equal(sirix_lmdb_bytes(key), bound))) {
        return rc;
    }
    return mdb_cursor_get(cursor, key, val, MDB_PREV);
}

/* Places the cursor on the first row of a scan. */
static int seek(MDB_cursor *cursor, struct sirix_bytes prefix, struct sirix_bytes from,
                bool reverse, MDB_val *key, MDB_val *val)
{
    uint8_t end_key[SIRIX_REF_KEY_BYTES_MAX];
    struct sirix_bytes end;
    bool inside = from.len != 0 && sirix_ref_key_starts_with(from, prefix);
    bool above = sirix_ref_key_compare(from, prefix) > 0;

    if (!reverse) {
        struct sirix_bytes start = above ? from : prefix;

        *key = sirix_lmdb_val(start);
        return mdb_cursor_get(cursor, key, val, start.len == 0 ? MDB_FIRST : MDB_SET_RANGE);
    }
    if (inside) {
        return seek_before(cursor, from, true, key, val);
    }
    if (from.len != 0 && !above) {
        return MDB_NOTFOUND;
    }
    if (prefix_end(prefix, end_key, &end)) {
        return seek_before(cursor, end, false, key, val);
    }
    return mdb_cursor_get(cursor, key, val, MDB_LAST);
}

enum sirix_status sirix_lmdb_ref_scan(struct sirix_reader *base, struct sirix_bytes prefix,
                                      struct sirix_bytes from, bool reverse,
                                      sirix_ref_visit_fn visit, void *context,
                                      struct sirix_error *err)
{
    struct sirix_lmdb_reader *reader = (struct sirix_lmdb_reader *)base;
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base->backend;
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val val;
    bool stop = false;
    uint64_t generation = base->generation;
    enum sirix_status status = sirix_lmdb_reader_begin(reader, err);

    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_cursor_open(reader->txn, lmdb->refs, &cursor);
    if (rc == MDB_SUCCESS) {
        rc = seek(cursor, prefix, from, reverse, &key, &val);
    }
    while (rc == MDB_SUCCESS && status == SIRIX_OK &&
           sirix_ref_key_starts_with(sirix_lmdb_bytes(&key), prefix)) {
        struct sirix_bytes name;
        struct sirix_bytes value;

        status = sirix_lmdb_slice(&reader->segments, sirix_lmdb_bytes(&key), &name, err);
        if (status == SIRIX_OK) {
            status = sirix_lmdb_slice(&reader->segments, sirix_lmdb_bytes(&val), &value, err);
        }
        if (status == SIRIX_OK) {
            status = visit(context, name, value, &stop, err);
        }
        assert(base->generation == generation); /* Who visits does not yield. */
        if (stop) {
            break;
        }
        rc = mdb_cursor_get(cursor, &key, &val, reverse ? MDB_PREV : MDB_NEXT);
    }
    mdb_cursor_close(cursor);
    if (status == SIRIX_OK && rc != MDB_SUCCESS && rc != MDB_NOTFOUND) {
        status = sirix_lmdb_fail(err, rc, "scan rows");
    }
    return status;
}
