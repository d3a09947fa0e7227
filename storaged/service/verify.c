/* One thread a run; problems go through a list under a mutex, so a slow reader slows nothing. */
#include "service/verify.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { US_PER_MS = 1000 };

static atomic_uint running;

struct sirix_verify_run {
    struct sirix_request request;
    struct sirix_target target;
    sirix_verify_wake_fn wake;
    void *context;
    pthread_t thread;
    bool thread_runs;
    atomic_bool stopping;
    uint64_t told_us; /* Of the thread. */

    pthread_mutex_t mutex; /* The rest is under it. */
    struct sirix_verify_problem problems[SIRIX_VERIFY_PROBLEMS_MAX];
    size_t problem_count;
    size_t problems_taken;
    struct sirix_verify_progress progress;
    bool progress_new;
    bool ended;
    bool end_taken;
    enum sirix_status status;
    struct sirix_error err;
    uint64_t resources;
};

static enum sirix_status on_fault(void *context, struct sirix_bytes resource,
                                  const struct sirix_error *fault, struct sirix_error *err)
{
    struct sirix_verify_run *run = context;

    (void)err;
    (void)pthread_mutex_lock(&run->mutex);
    bool kept = run->problem_count < SIRIX_VERIFY_PROBLEMS_MAX;
    if (kept) {
        struct sirix_verify_problem *problem = &run->problems[run->problem_count++];
        problem->fault = *fault;
        if (resource.len < sizeof(problem->resource) && resource.len != 0) {
            memcpy(problem->resource, resource.data, resource.len);
        }
    }
    (void)pthread_mutex_unlock(&run->mutex);
    if (kept) {
        run->wake(run->context, false);
    }
    return SIRIX_OK;
}

static enum sirix_status on_yield(void *context, const struct sirix_verify_progress *progress,
                                  struct sirix_error *err)
{
    struct sirix_verify_run *run = context;
    uint64_t now = sirix_cancel_now_us();

    if (atomic_load(&run->stopping)) {
        return sirix_fail(err, SIRIX_CANCELLED, "the check was stopped");
    }
    if (now - run->told_us >= (uint64_t)SIRIX_VERIFY_PROGRESS_MS * US_PER_MS) {
        run->told_us = now;
        (void)pthread_mutex_lock(&run->mutex);
        run->progress = *progress;
        run->progress_new = true;
        (void)pthread_mutex_unlock(&run->mutex);
        run->wake(run->context, false);
    }
    sirix_reader_yield(run->target.reader);
    return sirix_cancel_check(run->request.cancel, err);
}

static enum sirix_status count_one(void *context, struct sirix_bytes name, bool *stop,
                                   struct sirix_error *err)
{
    (void)name;
    (void)err;
    *stop = false;
    ++*(uint64_t *)context;
    return SIRIX_OK;
}

static void *run_verify(void *context)
{
    struct sirix_verify_run *run = context;
    struct sirix_database *database = sirix_handle_database(run->target.handle);
    struct sirix_verify_progress progress = {0};
    struct sirix_error err = {0};
    uint64_t resources = 1;

    enum sirix_status status = sirix_verify(database, run->target.resource, run->target.reader,
                                            on_fault, on_yield, run, &progress, &err);
    if (status == SIRIX_OK && run->target.resource == NULL) {
        resources = 0;
        status = sirix_resource_list(database, (struct sirix_bytes){.data = NULL, .len = 0},
                                     count_one, &resources, &err);
    }
    (void)pthread_mutex_lock(&run->mutex);
    run->progress = progress;
    run->resources = resources;
    run->status = status;
    run->err = err;
    run->ended = true;
    (void)pthread_mutex_unlock(&run->mutex);
    run->wake(run->context, true);
    return NULL;
}

enum sirix_status sirix_verify_start(const struct sirix_request *request,
                                     struct sirix_bytes database, struct sirix_bytes resource,
                                     sirix_verify_wake_fn wake, void *context,
                                     struct sirix_verify_run **out_run, struct sirix_error *err)
{
    if (atomic_fetch_add(&running, 1) >= SIRIX_VERIFY_RUNNING_MAX) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_EXHAUSTED, "%d checks are running, as many as may",
                          SIRIX_VERIFY_RUNNING_MAX);
    }
    struct sirix_verify_run *run = calloc(1, sizeof(*run));
    if (run == NULL) {
        (void)atomic_fetch_sub(&running, 1);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a check");
    }
    run->request = *request;
    run->wake = wake;
    run->context = context;
    run->told_us = sirix_cancel_now_us();
    (void)pthread_mutex_init(&run->mutex, NULL);
    enum sirix_status status = sirix_request_check_seen(request, database, resource, err);
    if (status == SIRIX_OK && resource.len == 0) {
        status = sirix_request_check_seen_all(request, database, "check", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open_stream(request, database, resource, &run->target, err);
    }
    if (status == SIRIX_OK && pthread_create(&run->thread, NULL, run_verify, run) != 0) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "start the thread of a check");
    }
    run->thread_runs = status == SIRIX_OK;
    if (status != SIRIX_OK) {
        sirix_verify_stop(run);
        return status;
    }
    *out_run = run;
    return SIRIX_OK;
}

enum sirix_status sirix_verify_next(struct sirix_verify_run *run,
                                    struct sirix_verify_news *out_news, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&run->mutex);
    out_news->what = SIRIX_VERIFY_NOTHING;
    if (run->problems_taken < run->problem_count) {
        out_news->what = SIRIX_VERIFY_PROBLEM;
        out_news->problem = run->problems[run->problems_taken++];
    } else if (run->ended && !run->end_taken) {
        run->end_taken = true;
        out_news->what = SIRIX_VERIFY_END;
        out_news->resources = run->resources;
        status = run->status;
        if (status != SIRIX_OK && err != NULL) {
            *err = run->err;
        }
    } else if (run->progress_new && !run->ended) {
        out_news->what = SIRIX_VERIFY_PROGRESS;
        run->progress_new = false;
    }
    out_news->progress = run->progress;
    (void)pthread_mutex_unlock(&run->mutex);
    return status;
}

void sirix_verify_stop(struct sirix_verify_run *run)
{
    if (run == NULL) {
        return;
    }
    atomic_store(&run->stopping, true);
    if (run->thread_runs) {
        (void)pthread_join(run->thread, NULL);
    }
    sirix_target_close(&run->target);
    (void)pthread_mutex_destroy(&run->mutex);
    free(run);
    (void)atomic_fetch_sub(&running, 1);
}
