/*
 * What a resource looks like: the paths that occur in it, each with the kinds of values seen there. Read
 * from the summary that every commit keeps, so the cost follows the number of paths and never the size
 * of a document. For telling, for planning queries and for inferring tables: an ELEMENT that has been an
 * object is a row of a table, the paths below it are its columns.
 *
 * Covers    all revisions on all branches: what occurs in the revision of any view is in it. What is in
 *           it may have been in another revision only, and it does not know how often.
 * Whole     `whole` false: paths may be missing, because the resource has more than SIRIX_PATHS_MAX or
 *           a subtree of more than SIRIX_PATH_WALK_MAX nodes was moved or renamed.
 * Names     past SIRIX_PATH_NAMES_MAX names below one path further ones are ANY_MEMBER together, and so
 *           are names of more than 64 bytes.
 * Order     a path comes before those below it, which follow at once. Of one parent: the element first,
 *           then members by name in byte order, then ANY_MEMBER.
 */
#ifndef SIRIX_SERVICE_PATHS_H
#define SIRIX_SERVICE_PATHS_H

#include "service/read.h"
#include "store/document/path_summary.h"

enum { SIRIX_PATHS_BYTES_MAX = 1024 * 1024 }; /* Of text, a page. */

enum sirix_path_step {
    SIRIX_STEP_VALUE, /* The document's value: the first path, and no other. */
    SIRIX_STEP_ELEMENT,
    SIRIX_STEP_MEMBER,
    SIRIX_STEP_ANY_MEMBER,
};

struct sirix_path_node {
    enum sirix_path_step step;
    struct sirix_bytes name; /* Of a MEMBER: plain UTF-8. */
    uint32_t kinds;          /* Bit (1 << enum sirix_value_kind) for each seen. */
    uint32_t parent;         /* Index; SIRIX_PATH_NONE for the first. */
    uint32_t end; /* Index behind all paths below it: the next sibling, if there is one. */
    uint64_t id;  /* Of the path in its resource, for ever. */
    /* Of a MEMBER: the sooner the resource's documents had a member of its name, the less. For ever. */
    uint32_t seen;
};

struct sirix_paths {
    const struct sirix_path_node *nodes;
    uint32_t count; /* 0: the view's revision has no value. */
    bool whole;
};

/* The paths that may occur in the revision of a view of target's resource, in the arena. */
enum sirix_status sirix_paths_of_view(struct sirix_target *target, const struct sirix_view *view,
                                      struct sirix_arena *arena, struct sirix_paths *out_paths,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* A path as text, such as "/users/[]/name"; "*" is ANY_MEMBER. */
struct sirix_path_entry {
    struct sirix_bytes path;
    uint32_t kinds;
    bool any_member; /* The last step is ANY_MEMBER, not a member that is called "*". */
};

struct sirix_path_page {
    struct sirix_path_entry *entries;
    size_t count;
    struct sirix_bytes next_cursor; /* Empty: these were the last. */
};

/*
 * The texts of paths from a cursor on (empty: from the first), up to SIRIX_PATHS_MAX and about
 * SIRIX_PATHS_BYTES_MAX of text. A cursor stays good while paths are added. SIRIX_INVALID (reason
 * cursor): it is none of these paths.
 */
enum sirix_status sirix_paths_page(const struct sirix_paths *paths, struct sirix_bytes cursor,
                                   struct sirix_arena *arena, struct sirix_path_page *out_page,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
