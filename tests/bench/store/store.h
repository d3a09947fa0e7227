/*
 * The bench of the store: one process, one measurement; the database stays on disk between them.
 *
 * An option `nosync` leaves the disk's syncs out: what remains is the cost of the engine.
 */
#ifndef SIRIX_TESTS_BENCH_STORE_STORE_H
#define SIRIX_TESTS_BENCH_STORE_STORE_H

#include "bench/common/measure.h"
#include "store/document/edit.h"

struct bench_store {
    const char *dir;
    struct sirix_committer_pool *pool;
    struct sirix_backend *backend;
    struct sirix_database *database;
    struct sirix_reader *reader;
};

void bench_store_open(struct bench_store *store, const char *dir, bool no_sync);
void bench_store_close(struct bench_store *store);

/* The head of a branch (NULL: main), fresh from disk; and a revision by its number. */
void bench_head(struct sirix_resource *resource, struct sirix_reader *reader, const char *branch,
                struct sirix_view *out_view);
void bench_revision(struct sirix_resource *resource, struct sirix_reader *reader, uint64_t revision,
                    struct sirix_view *out_view);
struct sirix_resource *bench_resource(struct bench_store *store, const char *name);
struct sirix_backend_stats bench_stats(struct bench_store *store);

/*
 * Commits an edit; true when it made a revision. The reader yields before the commit waits for the
 * disk: while a transaction of LMDB is open, no page that commits let go of is used again.
 */
bool bench_commit(struct sirix_edit *edit, struct sirix_reader *reader);

/* The number of records of a document that is one array. */
uint64_t bench_record_count(struct sirix_document *document);
/* The member `balance` of a record. */
uint64_t bench_balance(struct sirix_document *document, uint64_t record);
/* One commit that gives the balance of a random record a new value, on a branch (NULL: main). */
void bench_update_one(struct sirix_resource *resource, struct sirix_reader *reader,
                      const char *branch, uint64_t *random);

/* The commands; arguments follow the command's name. */
void bench_import(struct bench_store *store, char **arguments);
void bench_export(struct bench_store *store, char **arguments);
void bench_commits(struct bench_store *store, char **arguments);
void bench_reads(struct bench_store *store, char **arguments);
void bench_refs(struct bench_store *store, char **arguments);
void bench_depth(struct bench_store *store, char **arguments);
void bench_diffs(struct bench_store *store, char **arguments);
void bench_elements(struct bench_store *store, char **arguments);

/* Prints the mean bytes by layer of the segments with numbers from first on. */
void bench_layers(struct bench_store *store, uint64_t first, uint64_t commits);

#endif
