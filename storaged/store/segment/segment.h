/*
 * The only interface to durable storage. Everything above speaks in segments (immutable runs of
 * bytes with a number that is never used again) and refs (small mutable rows under byte keys); where
 * bytes lie, packing, caching and collection are a backend's business.
 *
 * Address   segment number:43 | offset / 8:21. 0 is "nothing": numbers start at 1. A page keeps its
 *           address for life, packed or not. An address never points into a segment with a higher
 *           number than the one that holds it.
 * Numbers   one counter a database, reserved in memory when building starts, with gaps allowed.
 * Durable   a batch is on disk when its callback reports SIRIX_OK, entirely or not at all.
 * Readers   a reader is one worker's window on the storage. Slices given by it live until its next
 *           sirix_reader_yield() or close, never longer; nothing may assume that get is cheap. Only
 *           the outermost loop of a request yields, every few milliseconds, so that no transaction
 *           of the backend grows old; no function of the store does.
 * Threads   a backend may be used from any thread; a reader by one thread at a time.
 * Errors    SIRIX_CORRUPT names segment, kind and resource (reason checksum); SIRIX_IO; SIRIX_NO_MEMORY.
 */
#ifndef SIRIX_STORE_SEGMENT_SEGMENT_H
#define SIRIX_STORE_SEGMENT_SEGMENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

enum {
    SIRIX_ADDRESS_OFFSET_BITS = 21,
    SIRIX_SEGMENT_ALIGN = 8,
    SIRIX_SEGMENT_BYTES_MAX = 16 * 1024 * 1024, /* What an address can reach. */
    SIRIX_SEGMENT_BULK_BYTES = 256 * 1024, /* Size bulk work aims at: a first read stays cheap. */
    SIRIX_REF_KEY_BYTES_MAX = 400,         /* LMDB takes 511; other engines less. */
    SIRIX_REF_VALUE_BYTES_MAX = 16 * 1024,
};
#define SIRIX_SEGMENT_NUMBER_MAX ((UINT64_C(1) << 43) - 1)

static inline uint64_t sirix_address_make(uint64_t number, uint64_t offset)
{
    return number << SIRIX_ADDRESS_OFFSET_BITS | offset / SIRIX_SEGMENT_ALIGN;
}

static inline uint64_t sirix_address_number(uint64_t address)
{
    return address >> SIRIX_ADDRESS_OFFSET_BITS;
}

static inline uint32_t sirix_address_offset(uint64_t address)
{
    return (uint32_t)(address & ((UINT64_C(1) << SIRIX_ADDRESS_OFFSET_BITS) - 1)) *
           SIRIX_SEGMENT_ALIGN;
}

/*
 * Every segment starts with this header, little-endian:
 *
 *     offset  size  field
 *     0       2     magic 0x5352
 *     2       1     format (1)
 *     3       1     kind, enum sirix_segment_kind
 *     4       4     resource id (0: of the database itself)
 *     8       4     length of the segment in bytes, header included
 *     12      4     CRC32C over bytes 0..11 and 16..length
 *
 * It is checked when the segment first enters a backend's cache and always by verify.
 */
enum { SIRIX_SEGMENT_HEADER_BYTES = 16, SIRIX_SEGMENT_MAGIC = 0x5352, SIRIX_SEGMENT_FORMAT = 1 };

enum sirix_segment_kind {
    SIRIX_SEGMENT_COMMIT = 1, /* A revision record at offset 16, then pages. */
    SIRIX_SEGMENT_PAGES = 2,  /* Pages alone: further segments of a commit, imports. */
    SIRIX_SEGMENT_SPARSE = 3, /* Live pages and a directory; written by prune only. */
};

/*
 * A sparse segment keeps the number of the one that it replaces and those of its pages that live on;
 * their addresses stay as they are, found through a directory (offsets rising):
 *
 *     offset  size  field
 *     16      4     count of entries
 *     20      4     0
 *     24      12*n  per run of pages: u32 offset in the segment as first written, u32 offset in this
 *                   one, u32 length
 */
enum { SIRIX_SPARSE_DIRECTORY_AT = 24, SIRIX_SPARSE_ENTRY_BYTES = 12 };

/* Fills the header of a finished segment in place (bytes 0..15). */
void sirix_segment_seal(uint8_t *bytes, size_t len, enum sirix_segment_kind kind,
                        uint32_t resource_id);

/* Checks header, length and checksum; SIRIX_CORRUPT names number, kind and resource. */
enum sirix_status sirix_segment_check(struct sirix_bytes bytes, uint64_t number,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_backend;
struct sirix_reader;

/*
 * Whose a segment is: fills in the name of a resource, with a NUL, or returns false. Called where damage
 * is met, on any thread that reads; it may not read itself.
 */
enum { SIRIX_OWNER_NAME_BYTES = 129 };
typedef bool (*sirix_owner_fn)(void *context, uint32_t resource_id,
                               char name[SIRIX_OWNER_NAME_BYTES]);
/* From then on damage that a reader meets is told with the owner's name. Before the first reader. */
void sirix_backend_name_owners(struct sirix_backend *backend, sirix_owner_fn owner, void *context);

/* --- Reading --------------------------------------------------------------------------------- */

enum sirix_status sirix_reader_open(struct sirix_backend *backend, struct sirix_reader **out_reader,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_reader_close(struct sirix_reader *reader);

/*
 * Ends every slice of this reader and shows it what was committed since. A failure is kept and
 * reported by the next get.
 */
void sirix_reader_yield(struct sirix_reader *reader);

/* Rises by one with each yield: caches of slices compare it. */
uint64_t sirix_reader_generation(const struct sirix_reader *reader);

struct sirix_backend *sirix_reader_backend(const struct sirix_reader *reader);

/*
 * Bytes from address to the end of its segment, at least min_len of them, verified. SIRIX_CORRUPT
 * when the segment is absent, damaged or too short.
 */
enum sirix_status sirix_segment_get(struct sirix_reader *reader, uint64_t address, size_t min_len,
                                    struct sirix_bytes *out_bytes,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* One ref row; SIRIX_NOT_FOUND (without a sentence of its own: the caller knows what it is). */
enum sirix_status sirix_ref_get(struct sirix_reader *reader, struct sirix_bytes key,
                                struct sirix_bytes *out_value,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Visits ref rows whose key starts with prefix, in byte order from the first key >= from (or, in
 * reverse, from the last key <= from; from empty: the end of the prefix range). visit returns
 * SIRIX_OK to go on and sets *stop to end early; anything else ends the scan and is returned.
 */
typedef enum sirix_status (*sirix_ref_visit_fn)(void *context, struct sirix_bytes key,
                                                struct sirix_bytes value, bool *stop,
                                                struct sirix_error *err);
enum sirix_status sirix_ref_scan(struct sirix_reader *reader, struct sirix_bytes prefix,
                                 struct sirix_bytes from, bool reverse, sirix_ref_visit_fn visit,
                                 void *context, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Visits the numbers of all stored segments in [first, last], packed or not, in rising order with
 * their bytes (unverified: verify calls sirix_segment_check itself; valid during the visit only). Damage
 * does not end a scan: a pack that cannot be taken apart is shown as it is, under its highest number.
 */
typedef enum sirix_status (*sirix_segment_visit_fn)(void *context, uint64_t number,
                                                    struct sirix_bytes bytes, bool *stop,
                                                    struct sirix_error *err);
enum sirix_status sirix_segment_scan(struct sirix_reader *reader, uint64_t first, uint64_t last,
                                     sirix_segment_visit_fn visit, void *context,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Writing --------------------------------------------------------------------------------- */

/* Takes count consecutive numbers; memory only. Thread-safe. Returns the first. */
uint64_t sirix_segment_reserve(struct sirix_backend *backend, uint64_t count);

struct sirix_segment_put {
    uint64_t number;
    struct sirix_bytes bytes; /* Sealed. */
};

/* Inclusive range of segment numbers to delete. */
struct sirix_segment_range {
    uint64_t first;
    uint64_t last;
};

enum sirix_ref_expect {
    SIRIX_REF_EXPECT_ANY,
    SIRIX_REF_EXPECT_ABSENT,
    SIRIX_REF_EXPECT_VALUE, /* The row must hold exactly `expected`. */
};

struct sirix_ref_put {
    struct sirix_bytes key;
    struct sirix_bytes value; /* data NULL: delete the row. */
    enum sirix_ref_expect expect;
    struct sirix_bytes expected;
};

/*
 * What goes to disk together. Everything stays the caller's and must live until the callback. Refs
 * come first, then deletes, then puts: a sparse segment may replace the stored one of its number, any
 * other put of a number that is still stored is SIRIX_INVALID. Deleting what is not there is nothing.
 */
struct sirix_batch {
    const struct sirix_segment_put *puts; /* Rising numbers. */
    size_t put_count;
    const struct sirix_segment_range *deletes;
    size_t delete_count;
    const struct sirix_ref_put *refs; /* Applied in order; expectations see earlier ones. */
    size_t ref_count;
    bool frees_space; /* Deletes, prune, drop: goes on below the free-space limit. */
    bool is_checked;  /* All puts have passed sirix_segment_check(); it is not done again. */
};

/*
 * How a batch ended. status is
 *   SIRIX_OK               durable
 *   SIRIX_CONFLICT         refs[conflict_index] did not hold its expectation; nothing was changed.
 *                          current (valid during the callback) is the row's value, data NULL: absent
 *   SIRIX_NO_SPACE         disk or map full before anything was changed
 *   SIRIX_OUTCOME_UNKNOWN  it may or may not be on disk; the backend refuses further batches
 *                          (SIRIX_UNAVAILABLE, reason database_read_only) until it is reopened
 *   others                 nothing was changed
 */
struct sirix_commit_outcome {
    enum sirix_status status;
    size_t conflict_index;
    struct sirix_bytes current;
    struct sirix_error error;
};
typedef void (*sirix_committed_fn)(void *context, const struct sirix_commit_outcome *outcome);

/*
 * Commits a batch and calls done once, from this or another thread. One batch at a time per backend:
 * the committer above sees to it.
 */
void sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                          sirix_committed_fn done, void *context);

/*
 * One bounded slice of housekeeping (packing, map growth), at most about budget_bytes of writes.
 * *out_more tells whether work is left. Called by the committer between groups.
 */
enum sirix_status sirix_backend_maintain(struct sirix_backend *backend, size_t budget_bytes,
                                         bool *out_more, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Segments below this number are all published or abandoned: only those may be packed. The committer
 * moves it forward.
 */
void sirix_backend_set_settled(struct sirix_backend *backend, uint64_t number);

/*
 * SIRIX_OK when a batch that adds something would be tried now. Else as its commit would end:
 * SIRIX_UNAVAILABLE (database_read_only), SIRIX_PRECONDITION (format_version), SIRIX_NO_SPACE
 * (disk_full); SIRIX_IO. From any thread, also while a batch is under way.
 */
enum sirix_status sirix_backend_writable(struct sirix_backend *backend,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_backend_stats {
    uint64_t file_bytes;    /* Allocated on disk. */
    uint64_t segment_bytes; /* Live segment bytes, packs included. */
    uint64_t segment_count;
    uint64_t pack_count;
    uint64_t free_bytes; /* Of the file system. */
    uint64_t next_number;
    uint64_t readers;          /* Open. */
    uint64_t oldest_reader_ns; /* How long the one has read that has not yielded for longest. */
    bool read_only;            /* Latched after an unknown outcome. */
};
enum sirix_status sirix_backend_stats(struct sirix_backend *backend,
                                      struct sirix_backend_stats *out_stats,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends the backend; no reader may be open. NULL is allowed. */
void sirix_backend_close(struct sirix_backend *backend);

/* --- Backends -------------------------------------------------------------------------------- */

struct sirix_lmdb_options {
    const char *dir;        /* Exists; data.mdb, lock.mdb and reserve are made in it. */
    uint64_t map_bytes_min; /* 0: 1 GiB. Grows by doubling before it is 3/4 full. */
    uint64_t map_bytes_max; /* 0: no limit of ours. Deletes may go 16 MiB past it. */
    uint64_t reserve_bytes; /* Writes stop below this much free disk; 0: max(64 MiB, 1 %). */
    bool create;            /* Make it when absent; otherwise absent is SIRIX_NOT_FOUND. */
    bool no_sync;           /* Benchmarks only: commits are not durable. */
};
/*
 * Opens a database. SIRIX_NOT_FOUND; SIRIX_UNAVAILABLE, reason locked: it is open already, here or in
 * another process; SIRIX_UNSUPPORTED, reason format_version; SIRIX_CORRUPT; SIRIX_NO_SPACE; SIRIX_IO. A
 * database of a newer minor format opens for reading: commits are SIRIX_PRECONDITION, format_version.
 */
enum sirix_status sirix_backend_open_lmdb(const struct sirix_lmdb_options *options,
                                          struct sirix_backend **out_backend,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The test backend: memory, with seeded misbehaviour. Slices are heap copies freed at yield. With
 * delays the callback comes from another thread later. unknown_per_mille answers OUTCOME_UNKNOWN,
 * having applied the batch or not by a coin; unlike LMDB it stays usable after
 * sirix_backend_memory_reopen(), which keeps what was applied.
 */
struct sirix_memory_options {
    uint64_t seed;
    uint32_t delay_us_max; /* 0: callbacks come before commit returns. */
    uint32_t unknown_per_mille;
    uint32_t no_space_per_mille;
};
enum sirix_status sirix_backend_open_memory(const struct sirix_memory_options *options,
                                            struct sirix_backend **out_backend,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_backend_memory_reopen(struct sirix_backend *backend);

#endif
