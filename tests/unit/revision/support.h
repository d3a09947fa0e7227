/*
 * What the tests of the revision layer share: a database over the memory backend (or LMDB in a folder
 * to throw away), a clock that is set by hand, documents of one integer, and failing allocations.
 */
#ifndef SIRIX_TESTS_UNIT_REVISION_SUPPORT_H
#define SIRIX_TESTS_UNIT_REVISION_SUPPORT_H

#include <stdatomic.h>
#include <stdint.h>

#include "store/revision/rows.h"
#include "store/revision/view.h"

enum test_rev_backend {
    TEST_REV_MEMORY,
    TEST_REV_MEMORY_LATE, /* Answers come later, from another thread. */
    TEST_REV_LMDB,
    TEST_REV_LMDB_NO_SYNC,
};

struct test_rev {
    enum test_rev_backend backend;
    struct sirix_committer_pool *pool;
    struct sirix_database *database;
    struct sirix_resource *resource; /* "r", when made. */
    struct sirix_reader *reader;
    struct sirix_clock clock;
    _Atomic int64_t now_us;  /* What the clock says next. */
    _Atomic uint64_t now_ns; /* The same of the one that only rises. */
    _Atomic int64_t step_us; /* How far each look moves it. */
    uint64_t random;
    char dir[64]; /* LMDB only. */
};

/* A fresh database with resource "r"; seed also seeds the backend. */
void test_rev_open(struct test_rev *f, enum test_rev_backend backend, uint64_t seed);
void test_rev_close(struct test_rev *f);
/* Closes the LMDB database and opens it again. */
void test_rev_reopen(struct test_rev *f, struct sirix_recovery *out_recovery);

uint64_t test_rev_random(struct test_rev *f, uint64_t limit);

static inline struct sirix_bytes test_name(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* Views; the status is returned, the reader yields first. */
enum sirix_status test_view_branch(struct test_rev *f, const char *branch, struct sirix_view *view,
                                   struct sirix_error *err);
enum sirix_status test_view_at(struct test_rev *f, const char *branch, int64_t time_us,
                               struct sirix_view *view, struct sirix_error *err);
enum sirix_status test_view_revision(struct test_rev *f, uint64_t revision, struct sirix_view *view,
                                     struct sirix_error *err);
enum sirix_status test_view_snapshot(struct test_rev *f, const char *name, struct sirix_view *view,
                                     struct sirix_error *err);

/* The integer that is the document of a view, or stands at a key; INT64_MIN: none. */
int64_t test_value(struct test_rev *f, const struct sirix_view *view);
int64_t test_value_at(struct test_rev *f, const struct sirix_view *view, uint64_t key);

/*
 * A publication that sets the document of base to an integer, on base's branch. Its segments go to the
 * publishing; the array is freed with test_publication_free().
 */
void test_publication_make(struct test_rev *f, const struct sirix_view *base, int64_t value,
                           struct sirix_publication *publication);
/* The same with an integer row at any key, or (INT64_MIN) without the row that was there. */
void test_publication_make_at(struct test_rev *f, const struct sirix_view *base, uint64_t key,
                              int64_t value, struct sirix_publication *publication);
/* The same with two rows of one value. */
void test_publication_make_both(struct test_rev *f, const struct sirix_view *base, uint64_t key,
                                uint64_t other, int64_t value,
                                struct sirix_publication *publication);
void test_publication_free(struct sirix_publication *publication);

/* Publishes an integer on top of base. */
enum sirix_status test_publish(struct test_rev *f, const struct sirix_view *base, int64_t value,
                               struct sirix_published *published, struct sirix_error *err);
/* Publishes an integer on a branch's head; everything must work. */
struct sirix_published test_set(struct test_rev *f, const char *branch, int64_t value);

uint64_t test_branch(struct test_rev *f, const char *from, const char *name, int64_t expires_us);

/* How many ref rows begin with these bytes, as of now. */
enum sirix_status test_count_rows(struct test_rev *f, const void *prefix, size_t len,
                                  size_t *out_rows);

/* Writes a row past the committer, which must be idle. */
void test_put_row(struct test_rev *f, const struct sirix_rows_key *key, struct sirix_bytes value);

/*
 * Allocations until one fails (0: the next); -1: none does. Programs that use it link with malloc,
 * calloc and realloc wrapped. Counts on every thread.
 */
extern _Atomic int test_allocs_until_failure;

#endif
