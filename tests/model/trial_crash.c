/*
 * Answers that get lost: a commit to the backend is made, or is not, and answered "unknown" all the
 * same, as after a failing sync. The database then only reads; opening it again shows what there is.
 */
#include "model/trial.h"

enum { LOST_PER_WRITES = 10, COMMITS_OF_A_WRITE = 3 };

static _Atomic int commits_until_lost = -1; /* 0: the next one; -1: none. */
static _Atomic bool lost_is_done;

struct pending {
    sirix_committed_fn done;
    void *context;
};

static void answer_unknown(sirix_committed_fn done, void *context)
{
    struct sirix_commit_outcome outcome = {.status = SIRIX_OUTCOME_UNKNOWN};

    outcome.error.status = SIRIX_OUTCOME_UNKNOWN;
    done(context, &outcome);
}

static void answered(void *context, const struct sirix_commit_outcome *outcome)
{
    const struct pending *pending = context;

    MODEL_CHECK(outcome->status == SIRIX_OK, "a commit to LMDB fails: %s", outcome->error.text);
    answer_unknown(pending->done, pending->context);
}

void __real_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context);
void __wrap_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context);
/* LMDB answers before its commit returns, so `pending` may live here. */
void __wrap_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context)
{
    struct pending pending = {.done = done, .context = context};

    if (commits_until_lost < 0 || commits_until_lost-- != 0) {
        __real_sirix_backend_commit(backend, batch, done, context);
    } else if (lost_is_done) {
        __real_sirix_backend_commit(backend, batch, answered, &pending);
    } else {
        answer_unknown(done, context);
    }
}

void trial_arm(struct trial *trial)
{
    if (trial->durable && trial_random(trial, LOST_PER_WRITES) == 0) {
        commits_until_lost = (int)trial_random(trial, COMMITS_OF_A_WRITE);
        lost_is_done = trial_random(trial, 2) == 0;
    }
}

bool trial_settle(struct trial *trial)
{
    commits_until_lost = -1;
    if (!trial->unknown) {
        return false;
    }
    trial->unknown = false;
    trial_reopen(trial);
    atomic_fetch_add(&trial->seen->lost[trial->durable], 1);
    return true;
}

/* --- Memory that outlives its database ------------------------------------------------------------- */

static struct sirix_backend *kept;

void __real_sirix_backend_close(struct sirix_backend *backend);
void __wrap_sirix_backend_close(struct sirix_backend *backend);
void __wrap_sirix_backend_close(struct sirix_backend *backend)
{
    if (backend != kept || backend == NULL) {
        __real_sirix_backend_close(backend);
    }
}

void trial_keep_backend(struct sirix_backend *backend)
{
    kept = backend;
}
