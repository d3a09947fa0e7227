/*
 * How the daemon is: starting, serving, draining. Alive and ready are told apart, because a process
 * that opens its store or winds up its calls is alive and not ready.
 *
 * Threads   any; the listener is called by whoever changes the state, one change at a time.
 */
#ifndef SIRIX_OPS_HEALTH_H
#define SIRIX_OPS_HEALTH_H

#include <pthread.h>
#include <stdbool.h>

enum sirix_health_state {
    SIRIX_HEALTH_STARTING, /* Alive, not ready. */
    SIRIX_HEALTH_SERVING,  /* Alive and ready. */
    SIRIX_HEALTH_DRAINING, /* Neither: send no new work. There is no way back. */
};

typedef void (*sirix_health_changed_fn)(void *context, bool alive, bool ready);

struct sirix_health {
    pthread_mutex_t mutex;
    enum sirix_health_state state;
    sirix_health_changed_fn changed;
    void *context;
};

/* Caller's storage. changed may be NULL; it is called with the present state at once. */
void sirix_health_init(struct sirix_health *health, sirix_health_changed_fn changed, void *context);
void sirix_health_deinit(struct sirix_health *health);

void sirix_health_set(struct sirix_health *health, enum sirix_health_state state);
enum sirix_health_state sirix_health_get(struct sirix_health *health);

#endif
