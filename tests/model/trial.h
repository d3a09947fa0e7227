/*
 * One trial: a database, and a list of steps that are made from numbers, so that any of them can be
 * left out. Runs in a process of its own; a difference to the model aborts it.
 */
#ifndef SIRIX_TESTS_MODEL_TRIAL_H
#define SIRIX_TESTS_MODEL_TRIAL_H

#include "base/map.h"
#include "model/model.h"

enum {
    TRIAL_BRANCHES_MAX = 4,
    TRIAL_NODES_MAX = 400,
    TRIAL_STEPS = 60,
};

struct trial_revision {
    uint64_t number;
    struct model_node *root;
};

struct trial_branch {
    char name[16];
    struct model_node *root; /* Of its head. */
};

/* The top of a subtree that was deleted: its key may come back by insert_keyed. */
struct trial_grave {
    uint64_t key;
    bool is_member;
};

struct trial {
    uint64_t random;
    bool verbose;
    bool durable; /* LMDB in dir. */
    bool fails;   /* Memory that is full now and then, and once may lose an answer. */
    bool over;    /* It did: the database only reads until it is opened again. */
    char dir[64];
    struct sirix_committer_pool *pool;
    struct sirix_database *database;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    struct trial_branch branches[TRIAL_BRANCHES_MAX];
    size_t branch_count;
    struct trial_revision *revisions;
    size_t revision_count;
    size_t revision_cap;
    struct sirix_map used; /* Keys that were ever given. */
    struct trial_grave graves[64];
    size_t grave_count;
    size_t comparison_count; /* Each has a branch of its own name. */

    /* The edit in progress. */
    struct sirix_edit *edit;
    struct model_node *root;
    bool changed;
};

uint64_t trial_random(struct trial *trial, uint64_t limit);
void trial_say(const struct trial *trial, const char *fmt, ...) SIRIX_PRINTF(2, 3);

/* Runs the steps of these numbers; seed chooses the backend. Returns or aborts. */
void trial_run(uint64_t seed, const uint64_t *steps, size_t count, bool verbose);

/* Whether a write was done; a backend that fails may say no, and then nothing has changed. */
bool trial_is_done(struct trial *trial, enum sirix_status status, const struct sirix_error *err,
                   const char *what);
/* What is published by now is seen. */
void trial_open_view(struct trial *trial, const struct sirix_view_spec *spec,
                     struct sirix_view *view);

/* Two random revisions: diff, apply and RFC 6902, there and back (trial_diff.c). */
void trial_compare_revisions(struct trial *trial);

/* One operation in trial->edit and trial->root (trial_operations.c). */
void trial_operation(struct trial *trial);

/* JSON text of a random value, of a random object, and a random member name (trial_values.c). */
void trial_value(struct trial *trial, unsigned depth, struct sirix_buf *out);
void trial_object(struct trial *trial, unsigned depth, bool duplicates, struct sirix_buf *out);
void trial_name(struct trial *trial, struct sirix_buf *out);
const char *trial_text(struct sirix_buf *buf);

#endif
