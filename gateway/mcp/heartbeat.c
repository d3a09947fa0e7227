/* Beats. */
#include "mcp/heartbeat.h"

#include <time.h>

#include "base/clock.h"
#include "mcp/notify.h"
#include "mcp/server.h"

enum { MS_PER_S = 1000, NS_PER_MS = 1000 * 1000 };

void sirix_heartbeat_init(struct sirix_heartbeat *heartbeat)
{
    pthread_condattr_t attributes;

    *heartbeat = (struct sirix_heartbeat){.interval_ms = SIRIX_HEARTBEAT_MS};
    (void)pthread_mutex_init(&heartbeat->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&heartbeat->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void sirix_heartbeat_deinit(struct sirix_heartbeat *heartbeat)
{
    (void)pthread_mutex_lock(&heartbeat->mutex);
    heartbeat->is_ending = true;
    (void)pthread_cond_broadcast(&heartbeat->changed);
    (void)pthread_mutex_unlock(&heartbeat->mutex);
    if (heartbeat->has_thread) {
        (void)pthread_join(heartbeat->thread, NULL);
    }
    (void)pthread_cond_destroy(&heartbeat->changed);
    (void)pthread_mutex_destroy(&heartbeat->mutex);
}

/* Tells those that have been silent for half of the interval. Called with the mutex. */
static void beat(struct sirix_heartbeat *heartbeat)
{
    const uint64_t now_ns = sirix_clock_monotonic_ns(sirix_clock_system());
    const uint64_t quiet_ns = (uint64_t)heartbeat->interval_ms * NS_PER_MS / 2;

    for (struct sirix_mcp_request *at = heartbeat->first; at != NULL; at = at->next_beating) {
        if (at->progress_ns == 0 || now_ns - at->progress_ns >= quiet_ns) {
            sirix_mcp_tell_beat(at);
        }
    }
}

/* Waits for half of the interval, and then for requests; false: the end. Called with the mutex. */
static bool wait_for_beat(struct sirix_heartbeat *heartbeat)
{
    const uint32_t ms = heartbeat->interval_ms / 2;
    struct timespec until;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += ms / MS_PER_S;
    until.tv_nsec += (long)(ms % MS_PER_S) * NS_PER_MS;
    if (until.tv_nsec >= (long)MS_PER_S * NS_PER_MS) {
        until.tv_sec++;
        until.tv_nsec -= (long)MS_PER_S * NS_PER_MS;
    }
    while (!heartbeat->is_ending && rc == 0) {
        rc = pthread_cond_timedwait(&heartbeat->changed, &heartbeat->mutex, &until);
    }
    while (!heartbeat->is_ending && heartbeat->first == NULL) {
        (void)pthread_cond_wait(&heartbeat->changed, &heartbeat->mutex);
    }
    return !heartbeat->is_ending;
}

static void *run(void *context)
{
    struct sirix_heartbeat *heartbeat = context;

    (void)pthread_mutex_lock(&heartbeat->mutex);
    while (wait_for_beat(heartbeat)) {
        beat(heartbeat);
    }
    (void)pthread_mutex_unlock(&heartbeat->mutex);
    return NULL;
}

void sirix_heartbeat_add(struct sirix_heartbeat *heartbeat, struct sirix_mcp_request *request)
{
    if (request->context.progress_token.len == 0 || request->context.peer == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&heartbeat->mutex);
    request->next_beating = heartbeat->first;
    heartbeat->first = request;
    if (!heartbeat->has_thread) {
        /* Without a thread there are no beats, but everything else goes on. */
        heartbeat->has_thread = pthread_create(&heartbeat->thread, NULL, run, heartbeat) == 0;
    }
    (void)pthread_cond_broadcast(&heartbeat->changed);
    (void)pthread_mutex_unlock(&heartbeat->mutex);
}

void sirix_heartbeat_remove(struct sirix_heartbeat *heartbeat, struct sirix_mcp_request *request)
{
    (void)pthread_mutex_lock(&heartbeat->mutex);
    for (struct sirix_mcp_request **at = &heartbeat->first; *at != NULL;
         at = &(*at)->next_beating) {
        if (*at == request) {
            *at = request->next_beating;
            break;
        }
    }
    (void)pthread_mutex_unlock(&heartbeat->mutex);
}
