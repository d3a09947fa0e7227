/*
 * A database: one backend, its resources, and the committer through which everything is written.
 *
 * Model     A resource is one JSON value with all its revisions, on branches that share one numbering.
 *           Resource ids (u32) and branch ids (u64) are never reused. Branch `main` has id 0, always
 *           exists and is not a row of the name table; a row `main` there is the snapshot label.
 * Durable   every changing function returns after its change is on disk, or failed.
 * Threads   all functions from any thread; they block on the disk, none holds a lock while it does.
 * Names     validated here (base/name.h): SIRIX_INVALID with reason name_invalid and the field.
 * Errors    NOT_FOUND with the reason of what is unknown; ALREADY_EXISTS; CONFLICT carries
 *           current_revision; UNAVAILABLE database_read_only after an unknown outcome.
 */
#ifndef SIRIX_STORE_REVISION_DATABASE_H
#define SIRIX_STORE_REVISION_DATABASE_H

#include "base/clock.h"
#include "store/child/name_index.h"
#include "store/revision/committer.h"
#include "store/revision/record.h"

struct sirix_database;
struct sirix_resource;

#define SIRIX_BRANCH_ID_MAIN UINT64_C(0)

struct sirix_database_options {
    struct sirix_backend *backend; /* Taken over, also when opening fails. */
    struct sirix_committer_pool *pool;
    const struct sirix_clock *clock; /* NULL: the system's. */
    const char *dir;                 /* For spill files of imports; NULL: none allowed. */
};

/* What opening found and repaired. */
struct sirix_recovery {
    uint64_t abandoned_segments; /* Deleted: named by intents of killed bulk commits. */
    uint64_t intents;
    uint64_t resources;
};

enum sirix_status sirix_database_open(const struct sirix_database_options *options,
                                      struct sirix_database **out_database,
                                      struct sirix_recovery *out_recovery,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Every resource handle, reader and view has been given back. */
void sirix_database_close(struct sirix_database *database);

struct sirix_backend *sirix_database_backend(struct sirix_database *database);
struct sirix_committer *sirix_database_committer(struct sirix_database *database);
/*
 * SIRIX_OK when the database takes changes at present. Else the sentence and status that they would
 * get: SIRIX_PRECONDITION (format_version), SIRIX_UNAVAILABLE (database_read_only), SIRIX_NO_SPACE
 * (disk_full); SIRIX_IO. Any thread; it does not touch what is stored.
 */
enum sirix_status sirix_database_takes_writes(struct sirix_database *database,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;
/* Where spill files may go; NULL: nowhere. */
const char *sirix_database_dir(const struct sirix_database *database);

/* --- Resources --------------------------------------------------------------------------------- */

/*
 * Makes the resource with revision 1, an empty record. The handle is the caller's to unref: if it cannot be
 * had (SIRIX_NO_MEMORY), the resource is there all the same.
 */
enum sirix_status sirix_resource_create(struct sirix_database *database, struct sirix_bytes name,
                                        struct sirix_bytes author, struct sirix_bytes message,
                                        struct sirix_resource **out_resource,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_once;
struct sirix_published;
/*
 * The same without a handle, and with an idempotency key whose result *out_published is; not written by
 * a replay. What fails has made nothing.
 */
enum sirix_status sirix_resource_create_once(struct sirix_database *database,
                                             struct sirix_bytes name, struct sirix_bytes author,
                                             struct sirix_bytes message, struct sirix_once *once,
                                             struct sirix_published *out_published,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_resource_open(struct sirix_database *database, struct sirix_bytes name,
                                      struct sirix_resource **out_resource,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_resource_unref(struct sirix_resource *resource);
/*
 * The same, seen by nobody: it cannot be opened or listed before the first publication on it, which
 * gives it its name in the same transaction (ALREADY_EXISTS when another has taken it) and is its
 * revision 1, without a parent: the empty record that views of it read until then goes. So an import
 * creates a resource and its value together. An owner who gives up calls sirix_resource_discard()
 * before the unref; what a killed process leaves hidden is removed at the next opening.
 */
enum sirix_status sirix_resource_create_hidden(struct sirix_database *database,
                                               struct sirix_bytes name,
                                               struct sirix_resource **out_resource,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;
/* Removes a resource that is still hidden; does nothing to one that is not. */
enum sirix_status sirix_resource_discard(struct sirix_resource *resource,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* Removes name, heads, labels and index rows at once; its bytes wait for prune. */
enum sirix_status sirix_resource_drop(struct sirix_database *database, struct sirix_bytes name,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* With an idempotency key; the result is NULL. */
enum sirix_status sirix_resource_drop_once(struct sirix_database *database, struct sirix_bytes name,
                                           struct sirix_once *once,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* In the order of the names without regard to case, after `after` (empty: from the first). */
typedef enum sirix_status (*sirix_name_visit_fn)(void *context, struct sirix_bytes name, bool *stop,
                                                 struct sirix_error *err);
enum sirix_status sirix_resource_list(struct sirix_database *database, struct sirix_bytes after,
                                      sirix_name_visit_fn visit, void *context,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* The same in the state that a reader is at; visit may not yield it. */
enum sirix_status sirix_resource_list_at(struct sirix_reader *reader, struct sirix_bytes after,
                                         sirix_name_visit_fn visit, void *context,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

const char *sirix_resource_name(const struct sirix_resource *resource);
uint32_t sirix_resource_id(const struct sirix_resource *resource);
struct sirix_database *sirix_resource_database(const struct sirix_resource *resource);
const struct sirix_name_seed *sirix_resource_name_seed(const struct sirix_resource *resource);

struct sirix_resource_info {
    uint64_t newest_revision;
    uint64_t oldest_revision; /* 1 until something is pruned. */
    uint64_t revision_count;
    int64_t created_us;
    int64_t last_modified_us;
    uint64_t branch_count; /* main included. */
    uint64_t snapshot_count;
};
enum sirix_status sirix_resource_info(struct sirix_resource *resource,
                                      struct sirix_resource_info *out_info,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Fresh node keys, memory only: `count` consecutive ones. Up to 8 come from the resource's shared open
 * run; more, or whole_leaves, start at a multiple of 64 and end with their leaf.
 */
enum sirix_status sirix_resource_take_keys(struct sirix_resource *resource, uint64_t count,
                                           bool whole_leaves, uint64_t *out_first,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether all of these consecutive keys have been taken, by whomever. */
bool sirix_resource_keys_taken(struct sirix_resource *resource, uint64_t first, uint64_t count);

/* --- Member names ------------------------------------------------------------------------------ */

/*
 * The id of a name (stored form), giving it one if there is room and it is short enough; *out_interned
 * false: write it inline. An id that is not yet on disk is written by the commit that publishes a
 * use: every id used by a commit is passed to its publication.
 */
enum sirix_status sirix_names_intern(struct sirix_resource *resource, struct sirix_bytes name,
                                     bool *out_interned, uint32_t *out_id,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
/* The id of a name if it has one: a name without id may still be inline somewhere. */
bool sirix_names_find(struct sirix_resource *resource, struct sirix_bytes name, uint32_t *out_id);
/* The stored form of an id; valid while the resource is open. SIRIX_CORRUPT: no such id. */
enum sirix_status sirix_names_get(struct sirix_resource *resource, uint32_t id,
                                  struct sirix_bytes *out_name,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Publishing -------------------------------------------------------------------------------- */

/*
 * An idempotency row, written in the same transaction as the change. Key: (principal, key), in this
 * database. Kept 24 hours, 100,000 a principal, then new keys are refused (EXHAUSTED).
 */
struct sirix_rider {
    struct sirix_bytes principal;
    struct sirix_bytes key; /* Empty: no rider. */
    uint8_t request_hash[SIRIX_HASH_BYTES];
    struct sirix_bytes answer; /* The service's own bytes, <= SIRIX_RIDER_ANSWER_BYTES_MAX. */
};
enum {
    SIRIX_RIDER_ANSWER_BYTES_MAX = 4096,
    SIRIX_RIDER_KEY_BYTES_MAX = 128,
    SIRIX_RIDER_PRINCIPAL_BYTES_MAX = 200,
    SIRIX_RIDERS_PER_PRINCIPAL_MAX = 100000,
};

/* What a publication gave. */
struct sirix_published {
    uint64_t revision;
    uint64_t parent_revision;
    int64_t time_us;
    uint64_t record_address;
    bool replayed; /* An earlier write with this idempotency key: `answer` is that write's. */
    struct sirix_bytes
        answer; /* Replayed only. Valid until the publishing, publication.replay or, from
                                  sirix_rider_find(), the reader's slices go. */
};

/*
 * Looks the idempotency key up: SIRIX_NOT_FOUND when it is new, SIRIX_OK with the first write's
 * result, SIRIX_INVALID (reason idempotency_mismatch) for another request under the same key. answer
 * is a slice of the reader. It is looked up again when the write is published.
 */
enum sirix_status sirix_rider_find(struct sirix_database *database, struct sirix_reader *reader,
                                   const struct sirix_rider *rider,
                                   struct sirix_published *out_published,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same with the results of all resources that the first write changed, at most max of them. */
struct sirix_published_of {
    uint32_t resource; /* Its id. */
    struct sirix_published published;
};
enum sirix_status sirix_rider_find_all(struct sirix_database *database, struct sirix_reader *reader,
                                       const struct sirix_rider *rider,
                                       struct sirix_published_of *out, size_t max,
                                       size_t *out_count, struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * An idempotency key for a change that makes no revision: of labels, branches and resources. The row is
 * written in the transaction of the change; its answer is made there, of the change's result, by
 * `answer` on a committer thread (<= SIRIX_RIDER_ANSWER_BYTES_MAX bytes; returns how many).
 *
 * When the key was used by the same request before, nothing is changed: the call is SIRIX_OK, replayed
 * is true, answer_bytes holds the first one's answer, and the call's own outputs are not written. Ask
 * sirix_rider_find() first: what a call checks before its transaction may have changed since.
 */
struct sirix_once {
    struct sirix_rider rider; /* Without answer. */
    size_t (*answer)(void *context, const void *result, uint8_t *bytes);
    void *context;
    bool replayed;
    size_t answer_len;
    uint8_t answer_bytes[SIRIX_RIDER_ANSWER_BYTES_MAX];
};

/*
 * Keeps the answer of a write that made no revision (a no-op) under its idempotency key; *out_published
 * is `published`, or the first write's result when the key is known (replayed, without its answer).
 */
enum sirix_status sirix_rider_record(struct sirix_resource *resource,
                                     const struct sirix_rider *rider,
                                     const struct sirix_published *published,
                                     struct sirix_published *out_published,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Publishes one revision on a branch: fills in revision, time, parent, jump and chain, seals and puts
 * the segments, moves the head from base to the new revision. SIRIX_CONFLICT (reason revision_moved,
 * current_revision) when the branch's head is not base any more. All arrays and bytes stay alive until
 * the function returns; the segments' bytes are taken over by it in every case.
 */
struct sirix_publication {
    struct sirix_resource *resource;
    uint64_t branch_id;
    uint64_t base_revision; /* Head that the change was built on. */
    uint64_t base_address;
    struct sirix_record record; /* trie, next_key, counts, adopted_from, author, message, body. */
    struct sirix_segment_built *segments; /* From the page writer; the first has the record slot. */
    size_t segment_count;
    const uint32_t *name_ids; /* Interned names that it uses, any order, repeats allowed. */
    size_t name_id_count;
    uint64_t intent; /* Of a bulk commit, deleted with it; 0: none. */
    bool
        frees_space; /* It only deletes: goes on below the free-space limit, if all of one call do. */
    struct sirix_rider rider;
    const struct sirix_ref_put *extra_refs; /* E.g. path summary rows; expectations are ignored. */
    size_t extra_ref_count;
    uint8_t *replay; /* sirix_publish() alone: set by a replay, holds the answer; free() it. */
};
enum sirix_status sirix_publish(struct sirix_publication *publication,
                                struct sirix_published *out_published,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Several publications in one atomic commit (one a resource), all of one database. Asynchronous form:
 * `done` is called on a committer thread; then free with sirix_publishing_free(). The request and
 * what it points to live until done.
 */
struct sirix_publishing;
typedef void (*sirix_publishing_done_fn)(void *context, enum sirix_status status,
                                         const struct sirix_published *published, size_t count,
                                         const struct sirix_error *error);
enum sirix_status sirix_publishing_start(struct sirix_publication *publications, size_t count,
                                         sirix_publishing_done_fn done, void *context,
                                         struct sirix_publishing **out_publishing,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_publishing_free(struct sirix_publishing *publishing);

/*
 * Bulk commits write an intent first (durable before the first segment is put) and name each range of
 * segment numbers in it before putting it; opening a database deletes exactly what intents name.
 * _flush puts sealed segments (<= SIRIX_BACKGROUND_BYTES_MAX together) as background work and waits.
 * _abandon deletes what was put. The intent dies with the publication that carries it.
 */
enum sirix_status sirix_intent_begin(struct sirix_resource *resource, uint64_t *out_intent,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_intent_flush(struct sirix_resource *resource, uint64_t intent,
                                     struct sirix_segment_built *segments, size_t count,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_intent_abandon(struct sirix_resource *resource, uint64_t intent,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Revert: a new revision on the branch whose content is that of `source` (a view of the same
 * resource). SIRIX_CONFLICT when the branch's head is not base.
 */
struct sirix_view;
enum sirix_status sirix_revert(const struct sirix_view *base, const struct sirix_view *source,
                               struct sirix_bytes author, struct sirix_bytes message,
                               const struct sirix_rider *rider,
                               struct sirix_published *out_published,
                               struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
