/*
 * A database with one resource, and the short forms that tests of documents use. Every helper
 * fails the test when what it does fails; the _expect forms want the failure.
 */
#ifndef SIRIX_TESTS_DOCUMENT_FIXTURE_H
#define SIRIX_TESTS_DOCUMENT_FIXTURE_H

#include "store/document/document.h"
#include "store/document/edit.h"

enum { FIXTURE_DIR_BYTES = 32 };

struct fixture {
    struct sirix_committer_pool *pool;
    struct sirix_backend *backend; /* The database's. */
    struct sirix_database *database;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    char dir[FIXTURE_DIR_BYTES]; /* LMDB's, removed at the end; empty: none. */
};

/* In memory; over LMDB if SIRIX_FIXTURE_LMDB=1, as each program runs a second time. */
void fixture_open(struct fixture *f);
/* Over a given backend, which is taken; create: the resource is made, else opened. */
void fixture_open_on(struct fixture *f, struct sirix_backend *backend, const char *dir,
                     bool create);
/* In memory, with a resource whose revision 1 is the first commit, as an import has it. */
void fixture_open_new(struct fixture *f);
void fixture_close(struct fixture *f);

/* A view of main's head. */
void fixture_head(struct fixture *f, struct sirix_view *view);

/* An edit on main's head; its view stays open in *view until the edit is gone. */
struct sirix_edit *fixture_edit(struct fixture *f, struct sirix_view *view);
/* Commits, frees edit and view, yields the reader; whether there was a change. */
bool fixture_commit(struct fixture *f, struct sirix_edit *edit, struct sirix_view *view);
/* Frees both without a commit. */
void fixture_drop(struct sirix_edit *edit, struct sirix_view *view);

struct sirix_bytes bytes_of(const char *text);

/* Operations in an open edit. */
uint64_t edit_insert(struct sirix_edit *edit, uint64_t target, enum sirix_place place,
                     uint64_t index, const char *name, const char *text);
struct sirix_edit_result edit_update(struct sirix_edit *edit, uint64_t target, const char *text);
uint64_t edit_delete(struct sirix_edit *edit, uint64_t key);

/* Whole commits of one operation. */
void import_text(struct fixture *f, const char *text);
void import_bytes(struct fixture *f, struct sirix_bytes text, size_t piece);

/* The document (or a value) of main's head as minified text; free() it. Checks the record's counts. */
char *text_of_head(struct fixture *f);
char *text_of_view(struct fixture *f, const struct sirix_view *view, uint64_t key);
void assert_head(struct fixture *f, const char *expected);

/* Key of a pointer in main's head. */
uint64_t key_at(struct fixture *f, const char *pointer);

#endif
