/*
 * Group commit: everything that changes a database goes through its committer, one group at a time,
 * one batch and one sync a group.
 *
 * Work      a piece of writing with a `prepare` that runs on a committer thread, alone for its
 *           database, and adds segments and ref changes to the group; it reads refs as the earlier
 *           works of the group have left them. A prepare that fails ends that work alone with its
 *           error and takes back what it added. `done` is called once, on a committer thread, when
 *           the group is durable or has failed; until then everything that prepare added must live.
 *           "A committer thread" is one of the pool or, where nobody else writes, one that waits in
 *           sirix_committer_run().
 * Groups    all waiting small works (up to SIRIX_GROUP_WORKS_MAX and SIRIX_GROUP_BYTES_MAX), then at
 *           most one background work (import flush <= 4 MB, pack <= 1 MB, <= 1,000 deletes), smaller
 *           when the last group took more than 20 ms; background work is never starved: at least
 *           every fourth group carries one that waits.
 * Threads   a pool shared by all databases; at most one group in flight a database.
 * Failure   after SIRIX_OUTCOME_UNKNOWN every waiting and later work ends with SIRIX_UNAVAILABLE,
 *           reason database_read_only, until the database is reopened.
 */
#ifndef SIRIX_STORE_REVISION_COMMITTER_H
#define SIRIX_STORE_REVISION_COMMITTER_H

#include "base/histogram.h"
#include "store/segment/segment.h"

enum {
    SIRIX_GROUP_WORKS_MAX = 1024,
    SIRIX_GROUP_BYTES_MAX = 4 * 1024 * 1024,
    SIRIX_BACKGROUND_BYTES_MAX = 4 * 1024 * 1024,
    SIRIX_COMMITTER_THREADS_MAX = 64,
};

struct sirix_committer_pool;
struct sirix_committer;
struct sirix_group;

/* threads 0: two. */
enum sirix_status sirix_committer_pool_start(uint32_t threads,
                                             struct sirix_committer_pool **out_pool,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
/* What all committers of a pool have written, those that are closed by now included. Any thread. */
struct sirix_committer_totals {
    uint64_t groups;
    uint64_t works;
    uint64_t bytes;
    uint64_t failures;                         /* Groups that ended otherwise than well. */
    struct sirix_histogram_reading sizes;      /* Works of a group; sirix_histogram_sizes. */
    struct sirix_histogram_reading prepare_us; /* sirix_histogram_times_us, also the next. */
    struct sirix_histogram_reading write_us;   /* Until all of the group was on disk. */
};
void sirix_committer_pool_totals(const struct sirix_committer_pool *pool,
                                 struct sirix_committer_totals *out_totals);

/* Every committer has been closed. */
void sirix_committer_pool_stop(struct sirix_committer_pool *pool);

enum sirix_status sirix_committer_open(struct sirix_committer_pool *pool,
                                       struct sirix_backend *backend,
                                       struct sirix_committer **out_committer,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;
/* Waits for everything submitted, then ends. */
void sirix_committer_close(struct sirix_committer *committer);

enum sirix_work_class {
    SIRIX_WORK_SMALL,      /* Commits, labels, heads. */
    SIRIX_WORK_BACKGROUND, /* Import flushes, sweeps, prune slices. */
};

/*
 * Embedded in the submitter's own structure, which must live until done. size_hint: bytes of segments
 * that prepare will add.
 */
struct sirix_commit_work {
    enum sirix_work_class work_class;
    bool
        frees_space; /* Deletes, drop, prune: goes on below the free-space limit, in groups of its own. */
    size_t size_hint;
    enum sirix_status (*prepare)(struct sirix_commit_work *work, struct sirix_group *group,
                                 struct sirix_error *err);
    /* error is NULL for SIRIX_OK. May submit new work; must not wait for one. */
    void (*done)(struct sirix_commit_work *work, enum sirix_status status,
                 const struct sirix_error *error);
    struct sirix_commit_work *next; /* The committer's. */
    void *waiter;                   /* The committer's. */
};

/* Thread-safe; never blocks on the disk. */
void sirix_committer_submit(struct sirix_committer *committer, struct sirix_commit_work *work);

/* Submits and waits for done; the work's own done is called first. Never from a committer thread. */
enum sirix_status sirix_committer_run(struct sirix_committer *committer,
                                      struct sirix_commit_work *work,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* The sentence for works after an unknown outcome: SIRIX_UNAVAILABLE, database_read_only. */
enum sirix_status sirix_committer_refuse(struct sirix_error *err);

/* --- For prepare ------------------------------------------------------------------------------- */

/* A reader of committed state for prepare; it is renewed before each group. */
struct sirix_reader *sirix_group_reader(struct sirix_group *group);

/*
 * How many bytes of segments background work should add now, at most SIRIX_BACKGROUND_BYTES_MAX; it
 * falls when groups take long. Deletes count about 4 KiB each.
 */
size_t sirix_group_budget(const struct sirix_group *group);

/* A row as earlier works of the group left it. The value is valid until prepare returns. */
enum sirix_status sirix_group_ref_get(struct sirix_group *group, struct sirix_bytes key,
                                      struct sirix_bytes *out_value,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Copies key and value. value.data NULL deletes the row. */
enum sirix_status sirix_group_ref_put(struct sirix_group *group, struct sirix_bytes key,
                                      struct sirix_bytes value,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether works of the group have put or deleted rows whose keys begin so. */
bool sirix_group_changes(const struct sirix_group *group, struct sirix_bytes prefix);

/*
 * Sealed bytes; not copied, alive until done. Deletes come before puts, whatever the order of works: a
 * delete does not reach what the same group puts.
 */
enum sirix_status sirix_group_segment_put(struct sirix_group *group, uint64_t number,
                                          struct sirix_bytes bytes,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_group_segment_delete(struct sirix_group *group,
                                             struct sirix_segment_range range,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Counts for tests and metrics. */
struct sirix_committer_stats {
    uint64_t groups;
    uint64_t works;
    uint64_t bytes;
    uint64_t waiting;
    uint64_t maintenances;         /* Slices of housekeeping between groups. */
    uint64_t maintenance_failures; /* Those that failed; the next one tries again. */
    bool read_only;                /* After an unknown outcome. */
};
void sirix_committer_stats(struct sirix_committer *committer,
                           struct sirix_committer_stats *out_stats);

#endif
