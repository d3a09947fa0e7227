/*
 * A script of batches whose outcome can be told from the database alone.
 *
 * Batch i (from 1) puts three segments under fresh numbers, notes the first of them in row "b<i>" and
 * sets rows "left" and "right" to i. Every fifth one also deletes the segments and the row of batch
 * i - 4. So whatever happened, the database must hold batches 1..left, all of each or, where it was
 * deleted, nothing of it; and left == right.
 */
#ifndef SIRIX_TESTS_CRASH_SEGMENT_SCRIPT_H
#define SIRIX_TESTS_CRASH_SEGMENT_SCRIPT_H

#include "unit/segment/support.h"

enum { SCRIPT_SEGMENTS = 3 };

/* Runs batch i; the callback's outcome. `around`, if any, is called with true before and false after. */
struct test_outcome script_run(struct sirix_backend *backend, uint64_t batch,
                               void (*around)(bool before));

/*
 * Opens the database in dir and checks that it holds acknowledged <= left <= attempted batches, whole.
 * Returns left. Fails the test, naming what it was about, otherwise.
 */
uint64_t script_verify(const char *dir, uint64_t acknowledged, uint64_t attempted,
                       const char *about);

/* As script_verify() of an open backend. */
uint64_t script_check(struct sirix_backend *backend, uint64_t acknowledged, uint64_t attempted,
                      const char *about);

/* Makes a database in dir with batches 1..count, packed as far as it goes. */
void script_prepare(const char *dir, uint64_t count);

/* Copies the data file of one folder into another. */
void script_copy(const char *from_dir, const char *to_dir);

struct sirix_lmdb_options script_options(const char *dir);

/* Lets every group of numbers that is complete be packed. SIRIX_OK or what maintain said. */
enum sirix_status script_pack(struct sirix_backend *backend, struct sirix_error *err);

#endif
