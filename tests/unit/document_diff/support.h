/* Diffs as text, views of all revisions, and random edits: for the tests of this folder. */
#ifndef SIRIX_TESTS_DOCUMENT_DIFF_SUPPORT_H
#define SIRIX_TESTS_DOCUMENT_DIFF_SUPPORT_H

#include "store/document/diff.h"
#include "unit/document/fixture.h"

/* A view of a revision, or with 0 of main's head. */
void view_of(struct fixture *f, uint64_t revision, struct sirix_view *view);

/*
 * All changes as lines: kind, path, values, places. free() it. The reader yields between the steps.
 *
 *     insert /a/[1] 2 at 1 after 5      delete /a/[0] 1 at 0 after 0
 *     update /b 1 -> 2                  update /b 1.1 -> 1.10 equal
 *     replace /b 1 -> {"c":2}           rename /b -> /c
 *     move /a/[2] -> /a/[0] from 2 to 0
 */
char *diff_text(struct fixture *f, const struct sirix_view *before, const struct sirix_view *after,
                uint64_t start, uint32_t depth_max);

/* The same of two revisions, compared; 0: main's head. */
void assert_diff(struct fixture *f, uint64_t before, uint64_t after, const char *expected);

/* Rounds of a random test: SIRIX_TEST_ROUNDS, or the given number. */
uint64_t test_rounds(uint64_t rounds);

/* Seeded random numbers below limit. */
uint64_t random_below(uint64_t *state, uint64_t limit);

/* A branch at a view, and a view of a branch's head. */
void make_branch(const struct sirix_view *view, const char *name);
void branch_head(struct fixture *f, const char *branch, struct sirix_view *view);

/* A few random operations as one commit, on main or a branch; refused ones are left out. */
void random_commit(struct fixture *f, uint64_t *state, uint64_t operations);
void random_commit_on(struct fixture *f, const char *branch, uint64_t *state, uint64_t operations);

/* A random JSON value as text: small objects, arrays and scalars. */
void random_value(uint64_t *state, unsigned depth, struct sirix_buf *out);

#endif
