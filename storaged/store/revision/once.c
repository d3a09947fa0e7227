/* Changes without a revision that are made once per idempotency key. */
#include "store/revision/internal.h"

#include <assert.h>

/* Goes in the place of the work that makes the change, and calls its prepare itself. */
struct once_work {
    struct sirix_commit_work work;
    struct sirix_database *database;
    struct sirix_commit_work *change;
    const void *result;
    struct sirix_once *once;
};

static enum sirix_status once_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                      struct sirix_error *err)
{
    const struct once_work *wrap = (const struct once_work *)work;
    struct sirix_once *once = wrap->once;
    struct sirix_rider rider = once->rider;
    struct sirix_rider_row row;
    bool known = false;
    int64_t now_us = sirix_database_now_us(wrap->database);
    enum sirix_status status = sirix_rider_lookup(group, &rider, now_us, &known, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (known) {
        if (row.answer.len > sizeof(once->answer_bytes)) {
            return sirix_fail(err, SIRIX_CORRUPT, "the answer of an idempotency key is too long");
        }
        memcpy(once->answer_bytes, row.answer.data, row.answer.len);
        once->answer_len = row.answer.len;
        once->replayed = true;
        return SIRIX_OK;
    }
    status = wrap->change->prepare(wrap->change, group, err);
    if (status != SIRIX_OK) {
        return status;
    }
    once->answer_len = once->answer(once->context, wrap->result, once->answer_bytes);
    assert(once->answer_len <= sizeof(once->answer_bytes));
    rider.answer = (struct sirix_bytes){.data = once->answer_bytes, .len = once->answer_len};
    return sirix_rider_put(group, &rider, now_us, NULL, 0, err);
}

enum sirix_status sirix_run_once(struct sirix_database *database, struct sirix_commit_work *work,
                                 const void *result, struct sirix_once *once,
                                 struct sirix_error *err)
{
    struct once_work wrap = {
        .work = *work, .database = database, .change = work, .result = result, .once = once};
    enum sirix_status status = sirix_database_writable(database, err);

    if (status == SIRIX_OK && once != NULL) {
        once->replayed = false;
        once->rider.answer = (struct sirix_bytes){0};
        status = sirix_rider_check(&once->rider, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (once == NULL || once->rider.key.len == 0) {
        return sirix_committer_run(database->committer, work, err);
    }
    wrap.work.prepare = once_prepare;
    return sirix_committer_run(database->committer, &wrap.work, err);
}
