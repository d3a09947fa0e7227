/*
 * Path summary: which paths occur in a resource, and with values of which kinds. For planning queries and
 * for telling what a document looks like; never for finding nodes.
 *
 * Paths     steps from the document's value: a member's name, `*` (any member), or an element.
 * Grows     it covers all revisions on all branches and only grows: what it lacks occurs nowhere,
 *           unless it is coarse. What it has need not occur in the revision that is read.
 * Bounds    an object whose members have more than SIRIX_PATH_NAMES_MAX names becomes `*` from there
 *           on, as do names that have no id; past SIRIX_PATHS_MAX paths, or when a subtree of more than
 *           SIRIX_PATH_WALK_MAX nodes was moved or renamed, it is marked coarse.
 * Stored    as ref rows, written by the commits that add to it (docs/format.md); not versioned, and
 *           can be collected again from the revisions.
 */
#ifndef SIRIX_STORE_DOCUMENT_PATH_SUMMARY_H
#define SIRIX_STORE_DOCUMENT_PATH_SUMMARY_H

#include "store/document/document.h"

enum {
    SIRIX_PATH_NAMES_MAX = 256,
    SIRIX_PATHS_MAX = 10000,
    SIRIX_PATH_WALK_MAX = 100000,
};

#define SIRIX_PATH_STEP_ELEMENT UINT32_C(0xfffffffe)
#define SIRIX_PATH_STEP_ANY     UINT32_C(0xffffffff)
#define SIRIX_PATH_NONE         UINT32_C(0xffffffff)

struct sirix_path {
    uint64_t id;     /* Of a path that was read: the same for ever. 0: it was not. */
    uint32_t parent; /* Index; SIRIX_PATH_NONE for the document's value, which is path 0. */
    uint32_t step;   /* Name id, or one of SIRIX_PATH_STEP_*. */
    uint32_t kinds;  /* Bit of each enum sirix_node_kind of values (OBJECT..NULL) that occurred. */
    uint32_t child_count;
    uint32_t first_child; /* Index or NONE. */
    uint32_t last_child;
    uint32_t next;           /* Sibling, index or NONE. */
    uint32_t hint;           /* Private: the child that is likely to be asked for. */
    struct sirix_bytes name; /* Private: what the id stands for, to a build that met it. */
};

/* Parents come before their children. Caller's storage. */
struct sirix_path_summary {
    struct sirix_path *paths;
    uint32_t count; /* 0: empty, not even a value. */
    uint32_t cap;
    bool coarse;
};
void sirix_path_summary_init(struct sirix_path_summary *summary);
void sirix_path_summary_deinit(struct sirix_path_summary *summary);

/* Reads the stored summary of a resource. */
enum sirix_status sirix_path_summary_read(struct sirix_resource *resource,
                                          struct sirix_reader *reader,
                                          struct sirix_path_summary *out_summary,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* Adds what occurs in one revision, by walking all of it. */
enum sirix_status sirix_path_summary_collect(struct sirix_document *document,
                                             struct sirix_path_summary *summary,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The child of a path by a step, added if it is new (as `*` where the bounds say so). NONE stays NONE;
 * *out NONE: past the bounds, and the summary is coarse now.
 */
enum sirix_status sirix_path_summary_add(struct sirix_path_summary *summary, uint32_t path,
                                         uint32_t step, uint32_t *out_path,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends a path as text: `/users/[]/name`, `*` for any member; escapes as SIRIX_PATH_SIRIX. */
enum sirix_status sirix_path_summary_text(const struct sirix_path_summary *summary,
                                          struct sirix_resource *resource, uint32_t path,
                                          struct sirix_buf *out,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

static inline void sirix_path_summary_mark(struct sirix_path_summary *summary, uint32_t path,
                                           enum sirix_node_kind kind)
{
    if (path != SIRIX_PATH_NONE) {
        summary->paths[path].kinds |= UINT32_C(1) << kind;
    }
}

#endif
