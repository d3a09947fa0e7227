/*
 * Views: which revision of a resource is read, and the graph of revisions.
 *
 * A view is a plain value that holds a reference to its resource; its revision is pinned until
 * sirix_view_close(). Nothing in it dies with a yield.
 *
 * Naming    a revision number; a snapshot; a branch (default main); a branch and a time: the branch's
 *           head at that time, whatever promotes did before and after; also of a deleted branch, as of
 *           a time when it was there. `snapshot: main` without such a label reads the head of branch
 *           main. Names are case-sensitive, and no two of a resource differ in case alone.
 * Errors    four different ones: unknown or before the first: NOT_FOUND (revision_unknown,
 *           revision_before_first with its time in the text); above the newest: OUT_OF_RANGE
 *           (revision_ahead, current_revision); pruned: PRECONDITION (revision_pruned, names the
 *           oldest kept). An expired branch: PRECONDITION (branch_expired).
 */
#ifndef SIRIX_STORE_REVISION_VIEW_H
#define SIRIX_STORE_REVISION_VIEW_H

#include "store/revision/database.h"

enum sirix_view_by {
    SIRIX_VIEW_BRANCH = 0, /* name empty: main. With has_time: as of time_us. */
    SIRIX_VIEW_REVISION,
    SIRIX_VIEW_SNAPSHOT,
};

struct sirix_view_spec {
    enum sirix_view_by by;
    struct sirix_bytes name; /* Branch or snapshot. */
    uint64_t revision;
    bool has_time;
    int64_t time_us;
};

struct sirix_view {
    struct sirix_resource *resource;
    uint64_t record_address;
    struct sirix_record record; /* author and message are empty here: read the record for them. */
    uint64_t branch_id;         /* The branch named, or the one the revision was made on. */
};

enum sirix_status sirix_view_open(struct sirix_resource *resource, struct sirix_reader *reader,
                                  const struct sirix_view_spec *spec, struct sirix_view *out_view,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_view_close(struct sirix_view *view);

/* The view of the parent revision; NOT_FOUND when there is none. */
enum sirix_status sirix_view_open_parent(const struct sirix_view *view, struct sirix_reader *reader,
                                         struct sirix_view *out_parent,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether ancestor is descendant itself or one of its ancestors: O(log n). */
enum sirix_status sirix_view_is_ancestor(struct sirix_reader *reader,
                                         const struct sirix_view *ancestor,
                                         const struct sirix_view *descendant, bool *out_is,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
/* The newest common ancestor's record: O(log n). */
enum sirix_status sirix_view_merge_base(struct sirix_reader *reader, const struct sirix_view *a,
                                        const struct sirix_view *b, uint64_t *out_revision,
                                        uint64_t *out_address,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * History along parents, newest first, from the view itself. Each record is valid during the visit;
 * the walk keeps addresses, so visit may yield the reader once it has copied what it needs.
 */
typedef enum sirix_status (*sirix_record_visit_fn)(void *context, const struct sirix_record *record,
                                                   uint64_t address, bool *stop,
                                                   struct sirix_error *err);
enum sirix_status sirix_view_history(const struct sirix_view *view, struct sirix_reader *reader,
                                     sirix_record_visit_fn visit, void *context,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Revisions in which the row of node key changed (first: the one that made it), newest first along
 * the ancestry: compares leaf addresses. deleted: the node is gone from this revision on.
 */
typedef enum sirix_status (*sirix_node_history_fn)(void *context, const struct sirix_record *record,
                                                   uint64_t address, bool deleted, bool *stop,
                                                   struct sirix_error *err);
enum sirix_status sirix_view_node_history(const struct sirix_view *view,
                                          struct sirix_reader *reader, uint64_t key,
                                          sirix_node_history_fn visit, void *context,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Snapshots: labels on revisions ------------------------------------------------------------ */

struct sirix_snapshot_info {
    struct sirix_bytes name;
    uint64_t revision;
    int64_t time_us;    /* Of the revision. */
    int64_t created_us; /* Of the label. */
};

struct sirix_snapshot_created {
    uint64_t revision;
    uint64_t previous_revision; /* 0: the label is new. */
    int64_t time_us;
};

/*
 * Labels the view's revision. The same label at the same revision is a success; `main` moves; another
 * label at another revision is ALREADY_EXISTS unless replace.
 */
enum sirix_status sirix_snapshot_create(const struct sirix_view *view, struct sirix_bytes name,
                                        bool replace, struct sirix_snapshot_created *out_created,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_snapshot_delete(struct sirix_resource *resource, struct sirix_bytes name,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
typedef enum sirix_status (*sirix_snapshot_visit_fn)(void *context,
                                                     const struct sirix_snapshot_info *info,
                                                     bool *stop, struct sirix_error *err);
/*
 * In the order of the names without regard to case, after `after`; one consistent snapshot of the table:
 * visit may not yield the reader.
 */
enum sirix_status sirix_snapshot_list(struct sirix_resource *resource, struct sirix_reader *reader,
                                      struct sirix_bytes after, sirix_snapshot_visit_fn visit,
                                      void *context, struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Branches ---------------------------------------------------------------------------------- */

struct sirix_branch_info {
    struct sirix_bytes name;
    uint64_t id;
    uint64_t head_revision;
    uint64_t base_revision; /* Where it was created. */
    int64_t created_us;
    int64_t expires_us; /* 0: never. */
};

/*
 * Creates a branch whose head is the view's revision. expires_us 0: never; else absolute, compared with
 * the later one of the clock and the resource's last change. The name of an expired branch is free.
 */
enum sirix_status sirix_branch_create(const struct sirix_view *view, struct sirix_bytes name,
                                      int64_t expires_us, struct sirix_branch_info *out_info,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
/* Never main (SIRIX_INVALID). What only it reached stays until prune, and can be read as of its life. */
enum sirix_status sirix_branch_delete(struct sirix_resource *resource, struct sirix_bytes name,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
typedef enum sirix_status (*sirix_branch_visit_fn)(void *context,
                                                   const struct sirix_branch_info *info, bool *stop,
                                                   struct sirix_error *err);
/* main first, then as snapshots are listed. Branches that have expired are left out. */
enum sirix_status sirix_branch_list(struct sirix_resource *resource, struct sirix_reader *reader,
                                    struct sirix_bytes after, sirix_branch_visit_fn visit,
                                    void *context, struct sirix_error *err) SIRIX_MUST_CHECK;

/* A branch as its rows have it: nothing of the revisions that it leads to is read. */
struct sirix_branch_head {
    uint64_t id;
    uint64_t revision; /* Its head, */
    uint64_t address;  /* and that one's record. */
    uint64_t base_revision;
    int64_t created_us;
    int64_t expires_us; /* 0: never. */
};
/*
 * Finds a branch (name empty: main), also one whose head is damaged. NOT_FOUND (branch_unknown);
 * PRECONDITION (branch_expired) unless expired_too.
 */
enum sirix_status sirix_branch_find(struct sirix_resource *resource, struct sirix_reader *reader,
                                    struct sirix_bytes name, bool expired_too,
                                    struct sirix_branch_head *out_branch,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
/*
 * The name of a branch that is there, or on which revisions were made, as written, by the id that records
 * have: a slice of the reader. NOT_FOUND (without a sentence): no such branch has the id.
 */
enum sirix_status sirix_branch_name(struct sirix_resource *resource, struct sirix_reader *reader,
                                    uint64_t id, struct sirix_bytes *out_name,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Makes target's head that of source: fast-forward, or PRECONDITION (not_fast_forward) that names both
 * tips unless replace. Makes no revision; promoting twice is a success.
 */
struct sirix_promoted {
    uint64_t revision;          /* Target's head now. */
    uint64_t previous_revision; /* And before. */
    bool fast_forward;
};
enum sirix_status sirix_branch_promote(struct sirix_resource *resource, struct sirix_bytes source,
                                       struct sirix_bytes target, bool replace,
                                       struct sirix_promoted *out_promoted,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Deletes branches whose time to live has passed by the clock, at most max; *out_more: some are left.
 * The names of those on which revisions were made are kept, for these; nothing for views as of their life.
 */
enum sirix_status sirix_branch_sweep(struct sirix_database *database, uint32_t max,
                                     uint32_t *out_swept, bool *out_more,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same changes with an idempotency key (NULL: none), see struct sirix_once. Results: of a creation
 * and a promote what they give out; of a deletion a uint64_t, the revision that the label or the
 * branch's head was at.
 */
enum sirix_status sirix_snapshot_create_once(const struct sirix_view *view, struct sirix_bytes name,
                                             bool replace, struct sirix_once *once,
                                             struct sirix_snapshot_created *out_created,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_snapshot_delete_once(struct sirix_resource *resource,
                                             struct sirix_bytes name, struct sirix_once *once,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_branch_create_once(const struct sirix_view *view, struct sirix_bytes name,
                                           int64_t expires_us, struct sirix_once *once,
                                           struct sirix_branch_info *out_info,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
/*
 * id: only the branch of that id, another of the name is NOT_FOUND; 0: any. *out_revision is where its
 * head was; not written by a replay.
 */
enum sirix_status sirix_branch_delete_once(struct sirix_resource *resource, struct sirix_bytes name,
                                           uint64_t id, struct sirix_once *once,
                                           uint64_t *out_revision,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_branch_promote_once(struct sirix_resource *resource,
                                            struct sirix_bytes source, struct sirix_bytes target,
                                            bool replace, struct sirix_once *once,
                                            struct sirix_promoted *out_promoted,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Verify ------------------------------------------------------------------------------------ */

/*
 * Reads everything of a resource (or, resource NULL, of the database): checksums of all segments,
 * records and their chain, tries, child trees, name indexes, counts. Each fault found is visited with
 * what it belongs to; the walk goes on where it can. A long call: `yield` is called about every
 * millisecond and ends it when it returns other than OK.
 */
struct sirix_verify_progress {
    uint64_t revisions;
    uint64_t segments;
    uint64_t nodes; /* Rows read. */
    uint64_t bytes;
    uint64_t faults;
};
/* resource: the name of the one that the fault belongs to; empty where that cannot be told. */
typedef enum sirix_status (*sirix_verify_fault_fn)(void *context, struct sirix_bytes resource,
                                                   const struct sirix_error *fault,
                                                   struct sirix_error *err);
typedef enum sirix_status (*sirix_verify_yield_fn)(void *context,
                                                   const struct sirix_verify_progress *progress,
                                                   struct sirix_error *err);
enum sirix_status sirix_verify(struct sirix_database *database, struct sirix_resource *resource,
                               struct sirix_reader *reader, sirix_verify_fault_fn fault,
                               sirix_verify_yield_fn yield, void *context,
                               struct sirix_verify_progress *out_progress,
                               struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
