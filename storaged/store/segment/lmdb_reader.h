/* A reader of the LMDB backend, for lmdb_read.c and lmdb_scan.c. */
#ifndef SIRIX_STORE_SEGMENT_LMDB_READER_H
#define SIRIX_STORE_SEGMENT_LMDB_READER_H

#include "store/segment/lmdb_backend.h"

struct sirix_lmdb_reader {
    struct sirix_reader base;
    MDB_txn *txn;                   /* NULL until the first look-up; reset while not inside. */
    struct sirix_lmdb_reader *next; /* In the backend's list; with `previous` under its gate. */
    struct sirix_lmdb_reader *previous;
    _Atomic uint64_t since_ns;    /* Inside since; 0: it is not. */
    bool inside;                  /* The gate. */
    size_t snapshot;              /* LMDB's number of the snapshot seen last... */
    uint64_t moves;               /* ...and how often the map had moved by then. */
    struct sirix_slices segments; /* Number -> verified bytes; owns the copies. */
    struct sirix_slices packs;    /* First number of a group -> the pack used last, in the map. */
};

/* Makes sure that the reader is inside with a live transaction. */
enum sirix_status sirix_lmdb_reader_begin(struct sirix_lmdb_reader *reader,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * What the caller is given for bytes in the map: them, or a copy owned by slices in builds that look for
 * mistakes.
 */
enum sirix_status sirix_lmdb_slice(struct sirix_slices *slices, struct sirix_bytes bytes,
                                   struct sirix_bytes *out_slice,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
