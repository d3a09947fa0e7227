/*
 * The LMDB backend, for its own files only: what they share and who may call what.
 *
 * Tables    seg   u64 number (native order) -> segment
 *           pack  u64 key -> pack (pack.h)
 *           refs  bytes -> bytes
 *           meta  "format" -> u16 major, u16 minor
 *                 "next"   -> u64: numbers from here on have never been given
 *                 "packed" -> u64: groups below have been packed, u64: segments in packs
 * Writer    one at a time, under `writing`: a commit, a slice of housekeeping.
 * Gate      a reader is inside from its first look-up to its yield. The map may move only while
 *           nobody is. A wish to move it keeps newcomers waiting until a deadline, never for longer:
 *           a thread that is inside with one reader and enters with another would wait for itself.
 */
#ifndef SIRIX_STORE_SEGMENT_LMDB_BACKEND_H
#define SIRIX_STORE_SEGMENT_LMDB_BACKEND_H

#include <lmdb.h>
#include <pthread.h>

#include "store/segment/backend.h"
#include "store/segment/pack.h"
#include "store/segment/slices.h"
#include "store/segment/space.h"
#include "store/segment/verified.h"

enum {
    SIRIX_LMDB_FORMAT_MAJOR = 1,
    SIRIX_LMDB_FORMAT_MINOR = 0,
    SIRIX_LMDB_MAP_MARGIN = 16 * 1024 * 1024, /* Of the map, for deletes when it is full. */
};

#define SIRIX_LMDB_META_FORMAT "format"
#define SIRIX_LMDB_META_NEXT   "next"
#define SIRIX_LMDB_META_PACKED "packed"

struct sirix_lmdb_reader;

struct sirix_lmdb {
    struct sirix_backend base;
    MDB_env *env;
    MDB_dbi seg;
    MDB_dbi pack;
    MDB_dbi refs;
    MDB_dbi meta;
    int dir_fd;
    int data_fd; /* Our own: it sees a failed write-back even if LMDB's has reported it. */
    uint64_t map_bytes_max;
    bool newer_minor; /* Written by a newer program: no writes. */
    _Atomic bool latched;
    struct sirix_verified verified;       /* By segment number. */
    struct sirix_verified verified_packs; /* By key. */

    pthread_mutex_t gate;
    pthread_cond_t gate_changed;
    unsigned inside;
    unsigned readers;  /* Open. */
    atomic_uint slots; /* Of LMDB's table of readers, taken. */
    struct sirix_lmdb_reader *first_reader;
    bool moving;           /* A move of the map is wished for... */
    uint64_t moving_until; /* ...until this instant (CLOCK_MONOTONIC, ns). */
    uint64_t moves;        /* Of the map; fixed for who is inside. */
    bool dead;             /* A move failed half way: there is no map any more. */

    pthread_mutex_t writing;
    /* All below is the writer's. */
    uint64_t map_bytes;
    uint64_t grow_again_at; /* After a move that did not come about, ns. */
    uint64_t wait_again_at; /* After a full wait for readers was in vain, ns. */
    int last_rc;            /* LMDB's code for the failure met last: map full or disk full? */
    uint64_t bound;         /* The row "next". */
    uint64_t
        packed_below; /* Possibly ahead of the row "packed", over groups without small members. */
    uint64_t packed_count;
    struct sirix_space space;
    uint8_t current[SIRIX_REF_VALUE_BYTES_MAX]; /* Of the last conflict. */
};

/* --- lmdb_env.c ------------------------------------------------------------------------------- */

/* The one table from LMDB's codes to ours. */
enum sirix_status sirix_lmdb_fail(struct sirix_error *err, int rc, const char *doing);

MDB_val sirix_lmdb_val(struct sirix_bytes bytes);

static inline struct sirix_bytes sirix_lmdb_bytes(const MDB_val *val)
{
    return (struct sirix_bytes){.data = val->mv_data, .len = val->mv_size};
}

static inline uint64_t sirix_lmdb_number(const MDB_val *key)
{
    uint64_t number;

    memcpy(&number, key->mv_data, sizeof(number));
    return number;
}

/* --- lmdb_damage.c ---------------------------------------------------------------------------- */

/* Before the environment is opened: what ends the process inside of LMDB is noted in the folder. */
int sirix_lmdb_watch_damage(struct sirix_lmdb *lmdb);
/* SIRIX_CORRUPT, with what was met, where such a note is. */
enum sirix_status sirix_lmdb_refuse_damaged(const struct sirix_lmdb *lmdb, const char *dir,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- lmdb_gate.c ------------------------------------------------------------------------------ */

/* Goes inside; the caller then begins or renews its transaction. SIRIX_IO when there is no map. */
enum sirix_status sirix_lmdb_enter(struct sirix_lmdb *lmdb,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_lmdb_leave(struct sirix_lmdb *lmdb);

/*
 * Doubles the map until used_bytes fit into 3/4 of it, waiting up to wait_ms for readers to leave.
 * False when the limit forbids it or a reader stays; what frees space may go SIRIX_LMDB_MAP_MARGIN past
 * the limit. For the writer, without a transaction.
 */
bool sirix_lmdb_grow(struct sirix_lmdb *lmdb, uint64_t used_bytes, bool past_limit,
                     unsigned wait_ms);

/* Bytes of the map that have ever been used. For the writer. */
uint64_t sirix_lmdb_used(struct sirix_lmdb *lmdb);

/* How many readers are open, and for how long the oldest of them has been inside. Any thread. */
void sirix_lmdb_readers(struct sirix_lmdb *lmdb, uint64_t *out_count, uint64_t *out_oldest_ns);

/* CLOCK_MONOTONIC in nanoseconds. */
uint64_t sirix_lmdb_now(void);

/* --- lmdb_read.c ------------------------------------------------------------------------------ */

enum sirix_status sirix_lmdb_reader_open(struct sirix_backend *base,
                                         struct sirix_reader **out_reader, struct sirix_error *err);
void sirix_lmdb_reader_close(struct sirix_reader *base);
void sirix_lmdb_reader_yield(struct sirix_reader *base);
enum sirix_status sirix_lmdb_segment_get(struct sirix_reader *base, uint64_t number,
                                         struct sirix_bytes *out_bytes, struct sirix_error *err);
enum sirix_status sirix_lmdb_ref_get(struct sirix_reader *base, struct sirix_bytes key,
                                     struct sirix_bytes *out_value, struct sirix_error *err);

/* --- lmdb_scan.c ------------------------------------------------------------------------------ */

enum sirix_status sirix_lmdb_segment_scan(struct sirix_reader *base, uint64_t first, uint64_t last,
                                          sirix_segment_visit_fn visit, void *context,
                                          struct sirix_error *err);
enum sirix_status sirix_lmdb_ref_scan(struct sirix_reader *base, struct sirix_bytes prefix,
                                      struct sirix_bytes from, bool reverse,
                                      sirix_ref_visit_fn visit, void *context,
                                      struct sirix_error *err);

/* --- lmdb_write.c ----------------------------------------------------------------------------- */

void sirix_lmdb_commit(struct sirix_backend *base, const struct sirix_batch *batch,
                       sirix_committed_fn done, void *context);

/*
 * Commits txn, which is gone afterwards. Decides after a failure whether anything can have been
 * changed; if so it latches the backend and returns SIRIX_OUTCOME_UNKNOWN.
 */
enum sirix_status sirix_lmdb_commit_txn(struct sirix_lmdb *lmdb, MDB_txn *txn,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_OK when writes are allowed at all; else the reason. */
enum sirix_status sirix_lmdb_check_writable(struct sirix_lmdb *lmdb,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* sirix_lmdb_fail() for the writer: keeps the code as well. */
enum sirix_status sirix_lmdb_write_fail(struct sirix_lmdb *lmdb, struct sirix_error *err, int rc,
                                        const char *doing);

/* Grows the map before need_bytes more would fill it to 3/4, if readers let it. For the writer. */
void sirix_lmdb_grow_early(struct sirix_lmdb *lmdb, uint64_t need_bytes);

enum sirix_status sirix_lmdb_put_meta(struct sirix_lmdb *lmdb, MDB_txn *txn, const char *name,
                                      struct sirix_bytes value,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- lmdb_pack.c ------------------------------------------------------------------------------ */

/* The pack that may hold number, checked; SIRIX_NOT_FOUND without a sentence. */
enum sirix_status sirix_lmdb_pack_find(struct sirix_lmdb *lmdb, MDB_txn *txn, uint64_t number,
                                       struct sirix_bytes *out_pack,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Takes the members in [first, last] out of their packs and adds how many there were to *removed. The
 * row "packed" is the caller's to write.
 */
enum sirix_status sirix_lmdb_pack_remove(struct sirix_lmdb *lmdb, MDB_txn *txn, uint64_t first,
                                         uint64_t last, uint64_t *removed,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_lmdb_put_packed(struct sirix_lmdb *lmdb, MDB_txn *txn,
                                        uint64_t packed_below, uint64_t packed_count,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_lmdb_maintain(struct sirix_backend *base, size_t budget_bytes,
                                      bool *out_more, struct sirix_error *err);

#endif
