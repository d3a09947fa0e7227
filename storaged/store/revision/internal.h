/*
 * What the files of this folder share: the insides of databases and resources, and the few helpers
 * that every change and every look-up needs. Not for other folders.
 */
#ifndef SIRIX_STORE_REVISION_INTERNAL_H
#define SIRIX_STORE_REVISION_INTERNAL_H

#include <pthread.h>

#include "base/map.h"
#include "base/utf8.h"
#include "store/revision/database.h"
#include "store/revision/names.h"
#include "store/revision/rows.h"
#include "store/revision/view.h"

enum {
    SIRIX_RESOURCES_IDLE_MAX = 256, /* Kept in memory without a handle. */
    SIRIX_BACKGROUND_DELETES_MAX = 1000,
    SIRIX_KEYS_FROM_RUN_MAX = 8,
    SIRIX_PUBLICATIONS_MAX = SIRIX_RIDER_RESULTS_MAX, /* In one commit. */
};

struct sirix_database {
    struct sirix_backend *backend;
    struct sirix_committer *committer;
    const struct sirix_clock *clock;
    char *dir;        /* May be NULL. */
    bool newer_minor; /* The format is newer than ours: nothing is written. */
    pthread_mutex_t lock;
    /* Under the lock: */
    struct sirix_map resources; /* Id to struct sirix_resource, with and without handles. */
    struct sirix_resource *idle_newest;
    struct sirix_resource *idle_oldest;
    size_t idle_count;
    uint64_t evictions; /* Rises whenever a resource leaves memory. */
};

struct sirix_resource {
    struct sirix_database *database;
    uint32_t id;
    _Atomic int64_t created_us; /* The time of revision 1. */
    struct sirix_name_seed seed;
    char name[SIRIX_NAME_BYTES_MAX + 1];
    _Atomic uint64_t hidden_intent; /* Not 0: it has no name yet, and this would remove it. */
    struct sirix_names names;
    pthread_mutex_t key_lock;
    uint64_t next_key; /* As in struct sirix_counters_row; under key_lock. */
    uint64_t run_key;
    pthread_rwlock_t
        pin_gate; /* Read: while a view is resolved and pinned. Write: to choose victims. */
    pthread_mutex_t pin_lock;
    struct sirix_map pins; /* Revision to how many views hold it; under pin_lock. */
    /* Under the database's lock: */
    uint64_t refs;
    struct sirix_resource *idle_newer;
    struct sirix_resource *idle_older;
};

/* --- Database ---------------------------------------------------------------------------------- */

/* SIRIX_PRECONDITION (format_version) when the format is newer than what this program may write. */
enum sirix_status sirix_database_writable(const struct sirix_database *database,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

static inline int64_t sirix_database_now_us(const struct sirix_database *database)
{
    return sirix_clock_realtime_us(database->clock);
}

/* One more handle of a resource that has one. */
struct sirix_resource *sirix_resource_ref(struct sirix_resource *resource);
void sirix_resource_free(struct sirix_resource *resource);

/* A handle of a resource by its id; name is for sentences. */
enum sirix_status sirix_resource_open_id(struct sirix_database *database, uint32_t id,
                                         struct sirix_bytes name,
                                         struct sirix_resource **out_resource,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Within a group: a hidden resource begins at that time, not when it was made. */
enum sirix_status sirix_resource_begin(struct sirix_group *group, struct sirix_resource *resource,
                                       int64_t time_us, struct sirix_error *err) SIRIX_MUST_CHECK;
/* Within a group: gives a hidden resource its name. ALREADY_EXISTS when it was taken meanwhile. */
enum sirix_status sirix_resource_reveal(struct sirix_group *group,
                                        const struct sirix_resource *resource,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The sentence for a resource that is not there (any more). */
enum sirix_status sirix_resource_unknown(struct sirix_bytes name, struct sirix_error *err);

/* --- Rows within a group ----------------------------------------------------------------------- */

/* NOT_FOUND with its sentence when the resource was dropped. */
enum sirix_status sirix_counters_get(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     struct sirix_counters_row *out_row,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_counters_put(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     const struct sirix_counters_row *row,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_row_put(struct sirix_group *group, const struct sirix_rows_key *key,
                                const struct sirix_rows_value *value,
                                struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_row_delete(struct sirix_group *group, const struct sirix_rows_key *key,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The head of a branch; SIRIX_NOT_FOUND (branch_unknown) when there is none. */
enum sirix_status sirix_head_get(struct sirix_group *group, const struct sirix_resource *resource,
                                 uint64_t branch, struct sirix_head_row *out_row,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_head_put(struct sirix_group *group, const struct sirix_resource *resource,
                                 uint64_t branch, const struct sirix_head_row *row,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next instant of a resource: now, or just past its last one where the clock stands or steps back. */
int64_t sirix_counters_tick(struct sirix_counters_row *row, int64_t now_us);

/* Whether a time to live has passed: against the clock, but never before the resource's last commit. */
static inline bool sirix_expired(int64_t expires_us, int64_t now_us,
                                 const struct sirix_counters_row *counters)
{
    return expires_us != 0 &&
           expires_us <= (now_us > counters->last_time_us ? now_us : counters->last_time_us);
}
enum sirix_status sirix_branch_expired(struct sirix_bytes name, int64_t expires_us,
                                       struct sirix_error *err);

/* --- Rows seen by a reader --------------------------------------------------------------------- */

enum sirix_status sirix_counters_read(struct sirix_reader *reader,
                                      const struct sirix_resource *resource,
                                      struct sirix_counters_row *out_row,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* SIRIX_NOT_FOUND, without a sentence, when there is no such head. */
enum sirix_status sirix_head_read(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, uint64_t branch,
                                  struct sirix_head_row *out_row,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* A revision between 1 and the last one of the counters, which may be older than what reader shows. */
enum sirix_status sirix_index_read(struct sirix_reader *reader,
                                   const struct sirix_resource *resource,
                                   const struct sirix_counters_row *counters, uint64_t revision,
                                   struct sirix_index_entry *out_entry,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
/* NOT_FOUND for a name of a kind; there: the row that is under the name, in any spelling, or NULL. */
enum sirix_status sirix_label_missing(const struct sirix_resource *resource,
                                      enum sirix_label_kind kind, struct sirix_bytes name,
                                      const struct sirix_label_row *there, struct sirix_error *err);
/* The row of a snapshot, or of a branch other than main; NOT_FOUND with the sentence for its kind. */
enum sirix_status sirix_label_find(struct sirix_reader *reader,
                                   const struct sirix_resource *resource,
                                   enum sirix_label_kind kind, struct sirix_bytes name,
                                   struct sirix_label_row *out_row,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* sirix_branch_find() with the counters at hand and the name checked. */
enum sirix_status sirix_branch_read(const struct sirix_resource *resource,
                                    struct sirix_reader *reader, struct sirix_bytes name,
                                    const struct sirix_counters_row *counters, bool expired_too,
                                    struct sirix_branch_head *out_branch,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Within a group: the row under a name in any spelling, *out_there; its texts live as the group's. */
enum sirix_status sirix_label_get(struct sirix_group *group, const struct sirix_resource *resource,
                                  struct sirix_bytes name, bool *out_there,
                                  struct sirix_label_row *out_row,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_label_put(struct sirix_group *group, const struct sirix_resource *resource,
                                  const struct sirix_label_row *row,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* ALREADY_EXISTS for a name whose row is there, perhaps in another spelling. */
enum sirix_status sirix_label_taken(const struct sirix_resource *resource, struct sirix_bytes name,
                                    const struct sirix_label_row *row, struct sirix_error *err);

/* Within a group: removes a branch; its life is kept for as-of unless it expired. */
enum sirix_status sirix_branch_remove(struct sirix_group *group,
                                      const struct sirix_resource *resource,
                                      const struct sirix_label_row *row,
                                      struct sirix_counters_row *counters, int64_t now_us,
                                      bool keep_past, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a text is the name of the main branch. */
static inline bool sirix_name_is_main(struct sirix_bytes name)
{
    return sirix_bytes_equal(name, (struct sirix_bytes){.data = SIRIX_BRANCH_MAIN,
                                                        .len = sizeof(SIRIX_BRANCH_MAIN) - 1});
}
bool sirix_name_is_main_folded(struct sirix_bytes name);

/* --- Records and their graph ------------------------------------------------------------------- */

/* The depth at which the jump of a record of this depth points: skew-binary; of 0 it is 0. */
uint32_t sirix_jump_depth(uint32_t depth);

/* Reads a record and checks that it is that revision's; its texts are dropped. */
enum sirix_status sirix_record_of(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, uint64_t revision,
                                  uint64_t address, struct sirix_record *out_record,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* A record with the address where it stands: one step of a walk along the graph. */
struct sirix_step {
    uint64_t address;
    struct sirix_record record; /* Without texts. */
};
enum sirix_status sirix_step_parent(struct sirix_reader *reader,
                                    const struct sirix_resource *resource, struct sirix_step *step,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_step_jump(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, struct sirix_step *step,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
/* Moves the step to its ancestor of that depth (<= its own). */
enum sirix_status sirix_step_to_depth(struct sirix_reader *reader,
                                      const struct sirix_resource *resource,
                                      struct sirix_step *step, uint32_t depth,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Moves the step to its newest ancestor (or itself) made at or before the time; NOT_FOUND: none. */
enum sirix_status sirix_step_to_time(struct sirix_reader *reader,
                                     const struct sirix_resource *resource, struct sirix_step *step,
                                     int64_t time_us, struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Publishing -------------------------------------------------------------------------------- */

/*
 * Fills in what the parent decides (NULL: the first revision): parent, jump, depth, adoptions, and then
 * the chain. Revision and time are there already. Reads the parent's jump record.
 */
enum sirix_status sirix_record_link(struct sirix_reader *reader,
                                    const struct sirix_resource *resource,
                                    struct sirix_record *record, const struct sirix_step *parent,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Adds the counters' last revision to the index: to the run in the counters, which the caller puts. The
 * first revision of a run moves the run before it to its own row.
 */
enum sirix_status sirix_index_append(struct sirix_group *group,
                                     const struct sirix_resource *resource,
                                     struct sirix_counters_row *counters,
                                     const struct sirix_index_entry *entry,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* A commit of one segment that holds nothing but its record, with the body's hash set. */
enum sirix_status sirix_record_segment_new(struct sirix_backend *backend,
                                           struct sirix_record *record,
                                           struct sirix_segment_built *out_segment,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Refuses texts of a commit that are too long: SIRIX_INVALID (size_limit) with the field. */
enum sirix_status sirix_texts_check(struct sirix_bytes author, struct sirix_bytes message,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Riders ------------------------------------------------------------------------------------ */

enum sirix_status sirix_rider_check(const struct sirix_rider *rider,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Within a group: *out_known with the row (valid until prepare returns) when the key was used by the
 * same request; SIRIX_INVALID (idempotency_mismatch) when by another.
 */
enum sirix_status sirix_rider_lookup(struct sirix_group *group, const struct sirix_rider *rider,
                                     int64_t now_us, bool *out_known,
                                     struct sirix_rider_row *out_row,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Within a group: keeps the rider; drops a few that have expired. SIRIX_EXHAUSTED: too many. */
enum sirix_status sirix_rider_put(struct sirix_group *group, const struct sirix_rider *rider,
                                  int64_t now_us, const struct sirix_rider_result *results,
                                  size_t result_count, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Runs a work and waits for it; once not NULL: with its idempotency key, and result given to its answer
 * after the work's prepare. When *once says replayed, the work's prepare was not called.
 */
enum sirix_status sirix_run_once(struct sirix_database *database, struct sirix_commit_work *work,
                                 const void *result, struct sirix_once *once,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

static inline bool sirix_once_replayed(const struct sirix_once *once)
{
    return once != NULL && once->replayed;
}

/* --- Intents and recovery ---------------------------------------------------------------------- */

/* Within a group: takes the next intent id and writes its row. */
enum sirix_status sirix_intent_add(struct sirix_group *group, enum sirix_intent_kind kind,
                                   uint32_t resource, int64_t now_us, uint64_t *out_intent,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
/* Within a group: names the one segment of an intent that was just added. */
enum sirix_status sirix_intent_name(struct sirix_group *group, uint64_t intent, uint64_t number,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/* Within a group: removes the rows of an intent whose segments are published. */
enum sirix_status sirix_intent_settle(struct sirix_group *group, uint64_t intent, uint32_t resource,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Does what an intent of a dead commit or drop asks for, in bounded batches; adds to *recovery. */
enum sirix_status sirix_intent_undo(struct sirix_database *database, uint64_t intent,
                                    struct sirix_recovery *recovery,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/* All intents that are there. */
enum sirix_status sirix_intents_recover(struct sirix_database *database,
                                        struct sirix_recovery *recovery,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends works whose submitter waits in sirix_committer_run(): there is nothing left to do. */
void sirix_work_done(struct sirix_commit_work *work, enum sirix_status status,
                     const struct sirix_error *error);

#endif
