/*
 * One trial: a database, and a list of steps that are made from numbers, so that any of them can be
 * left out. Runs in a process of its own; a difference to the model aborts it.
 */
#ifndef SIRIX_TESTS_MODEL_TRIAL_H
#define SIRIX_TESTS_MODEL_TRIAL_H

#include <stdatomic.h>

#include "base/clock.h"
#include "base/map.h"
#include "model/model.h"

enum {
    TRIAL_BRANCHES_MAX = 4,
    TRIAL_LABELS_MAX = 6,
    TRIAL_NODES_MAX = 400,
    TRIAL_STEPS = 60,
    TRIAL_STEPS_LONG = 240, /* Of every TRIAL_LONG_EVERY-th: enough segments for packs. */
    TRIAL_LONG_EVERY = 8,
};

struct trial_revision {
    uint64_t number;
    uint64_t parent; /* 0: the first. */
    struct model_node *root;
};

struct trial_branch {
    char name[16];
    uint64_t head;
    uint64_t base;           /* The revision that it was made at. */
    struct model_node *root; /* Of its head. */
    uint64_t life;           /* Of all branches of all names. */
    int64_t expires_us;      /* 0: never. */
};

/* When a revision was made on a branch. */
struct trial_moment {
    char name[16];
    uint64_t life;
    int64_t time_us;
    uint64_t revision;
    uint64_t before; /* The head until then. */
};

struct trial_label {
    char name[16];
    uint64_t revision;
};

/* The top of a subtree that was deleted: its key may come back by insert_keyed. */
struct trial_grave {
    uint64_t key;
    bool is_member;
};

/* What a run of trials has met, counted over all of their processes. */
struct trial_seen {
    _Atomic uint64_t packs;   /* Packs that held segments when all revisions were read again. */
    _Atomic uint64_t lost[2]; /* Answers that were lost and settled: of memory, of LMDB. */
};

struct trial {
    uint64_t random;
    bool verbose;
    bool durable; /* LMDB in dir. */
    bool fails;   /* Memory that is full, or loses an answer, now and then. */
    bool unknown; /* An answer was lost: trial_settle() opens the database again. */
    struct trial_seen *seen;
    struct sirix_backend *memory; /* Kept when the database is closed; NULL: durable. */
    char dir[64];
    struct sirix_committer_pool *pool;
    struct sirix_database *database;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    struct trial_branch branches[TRIAL_BRANCHES_MAX];
    size_t branch_count; /* The first is main. */
    struct trial_label labels[TRIAL_LABELS_MAX];
    size_t label_count;
    struct trial_revision *revisions;
    size_t revision_count;
    size_t revision_cap;
    struct sirix_map used; /* Keys that were ever given. */
    struct trial_grave graves[64];
    size_t grave_count;
    size_t comparison_count; /* Each has a branch of its own name. */
    struct sirix_clock clock;
    _Atomic int64_t now_us; /* What it says. */
    struct trial_moment moments[64];
    size_t moment_count;
    uint64_t lives;

    /* The edit in progress. */
    struct sirix_edit *edit;
    struct model_node *root;
    bool changed;
};

uint64_t trial_random(struct trial *trial, uint64_t limit);
void trial_say(const struct trial *trial, const char *fmt, ...) SIRIX_PRINTF(2, 3);

/* Runs the steps of these numbers; seed chooses the backend. Returns or aborts. */
void trial_run(uint64_t seed, const uint64_t *steps, size_t count, bool verbose,
               struct trial_seen *seen);

/* Whether a write was done; a backend that fails may say no, and then nothing has changed. */
bool trial_is_done(struct trial *trial, enum sirix_status status, const struct sirix_error *err,
                   const char *what);
/* What is published by now is seen. */
void trial_open_view(struct trial *trial, const struct sirix_view_spec *spec,
                     struct sirix_view *view);
void trial_open_branch(struct trial *trial, const struct trial_branch *branch,
                       struct sirix_view *view);
void trial_close_database(struct trial *trial);
void trial_open_database(struct trial *trial, uint64_t seed, bool create);
void trial_reopen(struct trial *trial);

struct trial_branch *trial_any_branch(struct trial *trial);
const struct trial_revision *trial_any_revision(struct trial *trial);
const struct trial_revision *trial_find_revision(const struct trial *trial, uint64_t number);
/* A branch's head is a revision that the model has. */
void trial_set_head(struct trial_branch *branch, const struct trial_revision *revision);
/*
 * Ends a write to a branch, when everything that it held is given back. done: it made revision
 * `published` of this value; if its answer was lost, the store says whether it did. The head is
 * compared with the model.
 */
void trial_note_write(struct trial *trial, struct trial_branch *branch, bool done,
                      uint64_t published, const struct model_node *root);

/*
 * Answers that get lost (trial_crash.c). Memory loses them by itself. _arm before a write on LMDB: now
 * and then one of its commits to the backend, done or not done, is answered "unknown". _settle, when nothing of the database is
 * held any more, opens it again if that has happened; whether it has.
 */
void trial_arm(struct trial *trial);
bool trial_settle(struct trial *trial);
/* This backend stays when a database that has it is closed. NULL: none does. */
void trial_keep_backend(struct sirix_backend *backend);

/* Labels and branches: made, moved, deleted, promoted, listed (trial_labels.c). */
void trial_branch_step(struct trial *trial);
void trial_snapshot_step(struct trial *trial);
/* Time (trial_times.c): views as of then, branches that expire; and an edit that its branch overtakes. */
void trial_clock_start(struct trial *trial);
int64_t trial_any_expiry(struct trial *trial);
void trial_note_moment(struct trial *trial, const struct trial_branch *branch, uint64_t revision,
                       uint64_t before);
void trial_check_moments(struct trial *trial);
void trial_time_step(struct trial *trial);
void trial_rebase_step(struct trial *trial);
/* An import over what is there, or one that ends badly (trial_import.c). */
void trial_import_step(struct trial *trial);

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
