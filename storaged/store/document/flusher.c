#include "store/document/flusher.h"

#include <pthread.h>
#include <stdlib.h>

struct sirix_flusher {
    struct sirix_resource *resource;
    uint64_t intent;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    struct sirix_segment_built *batch; /* On its way, or NULL. */
    size_t count;
    bool stops;
    enum sirix_status status; /* The first failure. */
    struct sirix_error error;
};

static void free_batch(struct sirix_segment_built *batch, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        free(batch[i].bytes);
    }
    free(batch);
}

static void *run(void *argument)
{
    struct sirix_flusher *flusher = argument;

    (void)pthread_mutex_lock(&flusher->lock);
    for (;;) {
        struct sirix_error error = {0};
        enum sirix_status status = SIRIX_OK;
        while (flusher->batch == NULL && !flusher->stops) {
            (void)pthread_cond_wait(&flusher->changed, &flusher->lock);
        }
        if (flusher->batch == NULL) {
            break;
        }
        (void)pthread_mutex_unlock(&flusher->lock);
        status = sirix_intent_flush(flusher->resource, flusher->intent, flusher->batch,
                                    flusher->count, &error);
        (void)pthread_mutex_lock(&flusher->lock);
        if (status != SIRIX_OK && flusher->status == SIRIX_OK) {
            flusher->status = status;
            flusher->error = error;
        }
        free_batch(flusher->batch, flusher->count);
        flusher->batch = NULL;
        (void)pthread_cond_broadcast(&flusher->changed);
    }
    (void)pthread_mutex_unlock(&flusher->lock);
    return NULL;
}

enum sirix_status sirix_flusher_start(struct sirix_resource *resource, uint64_t intent,
                                      struct sirix_flusher **out_flusher, struct sirix_error *err)
{
    struct sirix_flusher *flusher = calloc(1, sizeof(*flusher));

    if (flusher == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a flusher");
    }
    flusher->resource = resource;
    flusher->intent = intent;
    (void)pthread_mutex_init(&flusher->lock, NULL);
    (void)pthread_cond_init(&flusher->changed, NULL);
    if (pthread_create(&flusher->thread, NULL, run, flusher) != 0) {
        (void)pthread_cond_destroy(&flusher->changed);
        (void)pthread_mutex_destroy(&flusher->lock);
        free(flusher);
        return sirix_fail(err, SIRIX_EXHAUSTED, "the system gives no thread for a bulk commit");
    }
    *out_flusher = flusher;
    return SIRIX_OK;
}

void sirix_flusher_stop(struct sirix_flusher *flusher)
{
    if (flusher == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&flusher->lock);
    flusher->stops = true;
    (void)pthread_cond_broadcast(&flusher->changed);
    (void)pthread_mutex_unlock(&flusher->lock);
    (void)pthread_join(flusher->thread, NULL);
    (void)pthread_cond_destroy(&flusher->changed);
    (void)pthread_mutex_destroy(&flusher->lock);
    free(flusher);
}

/* Locked: waits until nothing is on its way; the first failure so far. */
static enum sirix_status settle(struct sirix_flusher *flusher, struct sirix_error *err)
{
    while (flusher->batch != NULL) {
        (void)pthread_cond_wait(&flusher->changed, &flusher->lock);
    }
    if (flusher->status != SIRIX_OK && err != NULL) {
        *err = flusher->error;
    }
    return flusher->status;
}

enum sirix_status sirix_flusher_give(struct sirix_flusher *flusher,
                                     const struct sirix_segment_built *segments, size_t count,
                                     struct sirix_error *err)
{
    struct sirix_segment_built *batch = malloc(count * sizeof(*batch));
    enum sirix_status status = SIRIX_OK;

    if (batch == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu segments", count);
    }
    memcpy(batch, segments, count * sizeof(*batch));
    (void)pthread_mutex_lock(&flusher->lock);
    status = settle(flusher, err);
    if (status == SIRIX_OK) {
        flusher->batch = batch;
        flusher->count = count;
        batch = NULL;
        (void)pthread_cond_broadcast(&flusher->changed);
    }
    (void)pthread_mutex_unlock(&flusher->lock);
    free(batch);
    return status;
}

bool sirix_flusher_is_idle(struct sirix_flusher *flusher)
{
    (void)pthread_mutex_lock(&flusher->lock);
    bool is_idle = flusher->batch == NULL;
    (void)pthread_mutex_unlock(&flusher->lock);
    return is_idle;
}

enum sirix_status sirix_flusher_wait(struct sirix_flusher *flusher, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&flusher->lock);
    status = settle(flusher, err);
    (void)pthread_mutex_unlock(&flusher->lock);
    return status;
}
