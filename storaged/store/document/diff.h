/*
 * What changed between two revisions of a resource, by node key.
 *
 * Found by comparing the two tries, so that everything shared is skipped: the cost follows the change,
 * and the revisions may be on any branches, in any order, reverted or not.
 *
 * Changes   UPDATE   a scalar became another of the same JSON type (1 and 1.5 are both numbers)
 *           REPLACE  a value became one of another type
 *           RENAME   a member has another name
 *           INSERT, DELETE  a subtree is new or gone. Only its top is listed. A node that moved to
 *                    another parent is a delete and an insert.
 *           MOVE     an array element stands elsewhere among its siblings: those outside a longest
 *                    common subsequence of the survivors
 * None      positions that only shifted; the order of members alone; how a child list is stored.
 * Names     a member that is gone and one that is new, of one name in one object, are the same member
 *           with another key: nothing when their values are equal (member order aside), else an UPDATE
 *           or a REPLACE whose two keys differ. (Subtrees of more than SIRIX_DIFF_SAME_NODES_MAX
 *           values are taken for different.)
 * Values    elements that are gone and new in one place with equal values, from either end of it, are
 *           nothing: an array that was put anew lists what is different.
 * Text      change is decided by the stored text: 1.1 -> 1.10 is an UPDATE with equal_value.
 * Inverse   the changes from b to a are those from a to b with old and new swapped (INSERT is DELETE).
 * Order     by the keys of the changed nodes; of one container: same-named members, then deletes by
 *           old index, then inserts and moves by new index.
 * Limits    start: only the subtree of that node, its own name and value included, its place not.
 *           depth_max: only nodes at most so many levels below start (below the value, without one).
 * Memory    the changed children of one container, and 16 bytes a container on the way to a change.
 * Yields    the reader may yield between any two calls. One call may pass many rows that the changes
 *           given do not name (the inside of a large deleted subtree): see pause.
 * Threads   one thread at a time; the views stay open.
 */
#ifndef SIRIX_STORE_DOCUMENT_DIFF_H
#define SIRIX_STORE_DOCUMENT_DIFF_H

#include "store/document/document.h"

enum { SIRIX_DIFF_SAME_NODES_MAX = 1024 * 1024 };

struct sirix_diff;

/*
 * Called every SIRIX_DIFF_PAUSE_STEPS rows or children that one call passes: the place to let the
 * reader yield and to look at a deadline. Anything but SIRIX_OK ends the call with it; the diff can
 * then only be freed.
 */
typedef enum sirix_status (*sirix_diff_pause_fn)(void *context, struct sirix_error *err);
enum { SIRIX_DIFF_PAUSE_STEPS = 512 };

struct sirix_diff_options {
    const struct sirix_view *old_view; /* Of one resource. */
    const struct sirix_view *new_view;
    struct sirix_reader *reader;
    uint64_t start;            /* Key of a node; 0 or 1: the whole document. */
    uint32_t depth_max;        /* 0: no limit. */
    sirix_diff_pause_fn pause; /* NULL: none. */
    void *pause_context;
};

/*
 * NOT_FOUND (node_unknown) when neither revision has the start node. If only one has it, the diff is
 * its insert or delete.
 */
enum sirix_status sirix_diff_new(const struct sirix_diff_options *options,
                                 struct sirix_diff **out_diff,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_diff_free(struct sirix_diff *diff);

enum sirix_change_kind {
    SIRIX_CHANGE_INSERT,
    SIRIX_CHANGE_DELETE,
    SIRIX_CHANGE_UPDATE,
    SIRIX_CHANGE_REPLACE,
    SIRIX_CHANGE_RENAME,
    SIRIX_CHANGE_MOVE,
};
enum { SIRIX_CHANGE_KINDS = SIRIX_CHANGE_MOVE + 1 };

/* The changed node as one of the two revisions has it. Keys are canonical (document.h). */
struct sirix_change_side {
    uint64_t key;    /* 0: this revision does not have it. */
    uint64_t parent; /* 0: the document. */
    enum sirix_node_kind kind;
    /* INSERT, DELETE and MOVE only: */
    uint64_t index; /* Among its siblings. */
    uint64_t left;  /* Key of its left sibling; 0: it is the first. */
};

struct sirix_change {
    enum sirix_change_kind kind;
    struct sirix_change_side before; /* In the old revision. INSERT: key 0. */
    struct sirix_change_side after;  /* In the new one. DELETE: key 0. */
    /*
     * INSERT and MOVE: after.left as the old revision knows it, which is another key if that is the
     * same member or element under a new one. anchor_is_new: it does not; the anchor is after.left,
     * which this diff inserts.
     */
    uint64_t anchor;
    bool anchor_is_new;
    bool is_member;
    bool equal_value; /* UPDATE of a number: the text changed, the value did not. */
    uint32_t depth;   /* Levels below start. */
};

/* The next change; NOT_FOUND (reason NONE, no sentence) after the last. */
enum sirix_status sirix_diff_next(struct sirix_diff *diff, struct sirix_change *out_change,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* How many changes of each kind _next() has given; after the last, of the whole diff. */
struct sirix_diff_counts {
    uint64_t of[SIRIX_CHANGE_KINDS];
    uint64_t all;
};
struct sirix_diff_counts sirix_diff_counts(const struct sirix_diff *diff);

/* Which revision a question is about. */
enum sirix_diff_side { SIRIX_DIFF_BEFORE, SIRIX_DIFF_AFTER };

/* The document of one side, for questions of any kind. It is the diff's. */
struct sirix_document *sirix_diff_document(struct sirix_diff *diff, enum sirix_diff_side side);

static inline const struct sirix_change_side *sirix_change_side(const struct sirix_change *change,
                                                                enum sirix_diff_side side)
{
    return side == SIRIX_DIFF_BEFORE ? &change->before : &change->after;
}

/*
 * Appends the path of the changed node in the revision of side, its JSON text (at most about max_bytes
 * of it, cut between characters; *out_cut tells), or a member's name in stored form. Nothing is
 * appended where that revision does not have the node; elements have no name.
 */
enum sirix_status sirix_diff_path(struct sirix_diff *diff, const struct sirix_change *change,
                                  enum sirix_diff_side side, enum sirix_path_form form,
                                  struct sirix_buf *out, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_diff_value(struct sirix_diff *diff, const struct sirix_change *change,
                                   enum sirix_diff_side side, size_t max_bytes,
                                   struct sirix_buf *out, bool *out_cut,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_diff_name(struct sirix_diff *diff, const struct sirix_change *change,
                                  enum sirix_diff_side side, struct sirix_buf *out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
