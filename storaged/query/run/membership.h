/*
 * a = b with many items in b: from the ninth item of a on they are found by a table of their hashes, which
 * lives as long as the variable that b is, if it is one.
 *
 * Private to this folder.
 */
#ifndef SIRIX_QUERY_RUN_MEMBERSHIP_H
#define SIRIX_QUERY_RUN_MEMBERSHIP_H

#include "query/run/run.h"

struct sirix_member {
    uint64_t hash;
    uint32_t index; /* In b, plus 1; 0: free. */
};

/* What is known of one b. */
struct sirix_members {
    uint32_t stamp; /* Of the variable's value; 0: it is no variable. */
    uint64_t asked;
    unsigned tables;             /* Made so far. */
    bool given_up;               /* It holds what is equal in other ways than by hash. */
    struct sirix_member *slots;  /* NULL: not made. */
    uint64_t groups;             /* Of the items: sirix_join_group(). */
    size_t size;                 /* A power of two. */
    struct sirix_sequence items; /* With slots: b, its arrays spread. */
};

/* One evaluation. Caller's storage. */
struct sirix_membership {
    struct sirix_sequence items;   /* Of b, its arrays spread. */
    struct sirix_members *members; /* NULL: every item is compared. */
    struct sirix_members own;
    struct sirix_arena *arena; /* For its table. */
};

/* plan: the comparison; right: what its right side gives. */
enum sirix_status sirix_membership_init(struct sirix_run *run, const struct sirix_plan *plan,
                                        const struct sirix_sequence *right,
                                        struct sirix_membership *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whether an atomic item is among them; *out_known false: they have to be compared. */
enum sirix_status sirix_membership_ask(struct sirix_run *run, struct sirix_membership *membership,
                                       const struct sirix_item *atom, bool *out_found,
                                       bool *out_known,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
