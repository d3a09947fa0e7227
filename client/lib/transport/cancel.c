/* Cancel handles. */
#include "lib/transport/cancel.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

static const uint64_t ns_a_second = 1000000000;

struct sirix_call_cancel {
    pthread_mutex_t mutex;
    pthread_cond_t triggered_now;
    bool triggered;
    struct sirix_cancel_link *links;
};

enum sirix_status sirix_call_cancel_new(struct sirix_call_cancel **out_cancel,
                                        struct sirix_error *err)
{
    struct sirix_call_cancel *cancel = calloc(1, sizeof(*cancel));
    pthread_condattr_t attributes;

    if (cancel == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a cancel handle");
    }
    /* None of these four can fail on Linux with these arguments. */
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&cancel->triggered_now, &attributes);
    (void)pthread_mutex_init(&cancel->mutex, NULL);
    (void)pthread_condattr_destroy(&attributes);
    *out_cancel = cancel;
    return SIRIX_OK;
}

void sirix_call_cancel_trigger(struct sirix_call_cancel *cancel)
{
    (void)pthread_mutex_lock(&cancel->mutex);
    if (!cancel->triggered) {
        cancel->triggered = true;
        for (struct sirix_cancel_link *link = cancel->links; link != NULL; link = link->next) {
            (void)grpc_call_cancel(link->call, NULL);
        }
        (void)pthread_cond_broadcast(&cancel->triggered_now);
    }
    (void)pthread_mutex_unlock(&cancel->mutex);
}

/* The handle is not changed for its user; its mutex is. */
static struct sirix_call_cancel *writable(const struct sirix_call_cancel *cancel)
{
    union {
        const struct sirix_call_cancel *in;
        struct sirix_call_cancel *out;
    } pointer = {.in = cancel};

    return pointer.out;
}

bool sirix_call_cancel_triggered(const struct sirix_call_cancel *cancel)
{
    struct sirix_call_cancel *self = writable(cancel);

    (void)pthread_mutex_lock(&self->mutex);
    bool triggered = self->triggered;
    (void)pthread_mutex_unlock(&self->mutex);
    return triggered;
}

void sirix_call_cancel_free(struct sirix_call_cancel *cancel)
{
    if (cancel == NULL) {
        return;
    }
    (void)pthread_cond_destroy(&cancel->triggered_now);
    (void)pthread_mutex_destroy(&cancel->mutex);
    free(cancel);
}

bool sirix_call_cancel_link(struct sirix_call_cancel *cancel, struct sirix_cancel_link *link)
{
    (void)pthread_mutex_lock(&cancel->mutex);
    bool linked = !cancel->triggered;
    if (linked) {
        link->previous = NULL;
        link->next = cancel->links;
        if (link->next != NULL) {
            link->next->previous = link;
        }
        cancel->links = link;
    }
    (void)pthread_mutex_unlock(&cancel->mutex);
    return linked;
}

void sirix_call_cancel_unlink(struct sirix_call_cancel *cancel, struct sirix_cancel_link *link)
{
    (void)pthread_mutex_lock(&cancel->mutex);
    if (link->previous != NULL) {
        link->previous->next = link->next;
    } else {
        cancel->links = link->next;
    }
    if (link->next != NULL) {
        link->next->previous = link->previous;
    }
    (void)pthread_mutex_unlock(&cancel->mutex);
}

bool sirix_call_cancel_sleep(struct sirix_call_cancel *cancel, uint64_t duration_ns)
{
    struct timespec until = {0};

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    uint64_t end_ns = (uint64_t)until.tv_nsec + duration_ns;
    until.tv_sec += (time_t)(end_ns / ns_a_second);
    until.tv_nsec = (long)(end_ns % ns_a_second);

    if (cancel == NULL) {
        while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) == EINTR) {
        }
        return true;
    }
    (void)pthread_mutex_lock(&cancel->mutex);
    int rc = 0;
    while (!cancel->triggered && rc == 0) {
        rc = pthread_cond_timedwait(&cancel->triggered_now, &cancel->mutex, &until);
    }
    bool slept = !cancel->triggered;
    (void)pthread_mutex_unlock(&cancel->mutex);
    return slept;
}

enum sirix_status sirix_call_cancel_fail(struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CANCELLED, "the call was cancelled");
}
