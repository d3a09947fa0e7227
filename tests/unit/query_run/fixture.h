/* A database in memory with resources of JSON text, and queries over it with their answers as text. */
#ifndef SIRIX_TESTS_UNIT_QUERY_RUN_FIXTURE_H
#define SIRIX_TESTS_UNIT_QUERY_RUN_FIXTURE_H

#include "query/query.h"

enum { QUERY_FIXTURE_ANSWER_BYTES = 64 * 1024 * 1024 };

struct query_fixture {
    struct sirix_backend *backend;
    struct sirix_committer_pool *pool;
    struct sirix_database *database;
    struct sirix_reader *reader; /* Of preparing things. */
    struct sirix_query_catalogue catalogue;
    const char *hidden; /* A resource that the catalogue does not show; NULL: none. */
    uint64_t checks;    /* How often a query has asked whether to go on. */
    uint64_t stop_at;   /* The check that says SIRIX_CANCELLED; 0: none. */
    size_t item_max;    /* Of a batch; 0: as many as go. */
    bool naive;
    bool jsoniq;
    struct sirix_query_limits limits;
    const struct sirix_query_named *inputs;
    size_t input_count;
    const struct sirix_query_named *variables;
    size_t variable_count;
    const char *context; /* The resource that is the context item; NULL: none. */
};

/* The database is called "db". dir NULL: in memory; else LMDB in that folder, not synchronised. */
void query_fixture_open(struct query_fixture *f, const char *dir);
void query_fixture_close(struct query_fixture *f);

/* Makes a resource; its revision 1 has no value. */
void query_fixture_create(struct query_fixture *f, const char *resource);
/* Sets the whole value of a resource, made if need be; one revision, the first of a new one. */
void query_fixture_put(struct query_fixture *f, const char *resource, const char *json);
/* The same from a file of any size. */
void query_fixture_import(struct query_fixture *f, const char *resource, const char *path);
void query_fixture_snapshot(struct query_fixture *f, const char *resource, const char *name);
void query_fixture_branch(struct query_fixture *f, const char *resource, const char *name);

/* What options a query of this fixture has. */
void query_fixture_options(struct query_fixture *f, const char *text,
                           struct sirix_query_options *out);

/*
 * The items of a query as JSON, one a line; or "! CODE" for an error of the language, "! status reason" for
 * another one. The caller's to free().
 */
char *query_fixture_run(struct query_fixture *f, const char *text);

/* Runs an updating query and commits: "changed N" revisions, or an error as above. */
char *query_fixture_update(struct query_fixture *f, const char *text);

#endif
