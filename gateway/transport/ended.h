/*
 * Threads that nobody keeps a list of, and that are gone when their owner is: each, as it ends, waits
 * for the one that ended before it, so that whoever waits for the last has waited for all. What
 * libraries keep for a thread is then given back before the process ends.
 */
#ifndef SIRIX_TRANSPORT_ENDED_H
#define SIRIX_TRANSPORT_ENDED_H

#include <pthread.h>
#include <stdbool.h>

/* Zeroed: none has ended. Under the owner's mutex. */
struct sirix_ended {
    pthread_t last;
    bool has_last;
};

/*
 * With the owner's mutex: the calling thread, which is joinable, is the last one. Gives the one before
 * it, which it joins when it touches nothing of the owner's any more.
 */
static inline struct sirix_ended sirix_ended_put(struct sirix_ended *ended)
{
    const struct sirix_ended before = *ended;

    *ended = (struct sirix_ended){.last = pthread_self(), .has_last = true};
    return before;
}

/* Waits until it is gone, if there is one. Without the mutex. */
static inline void sirix_ended_join(const struct sirix_ended *ended)
{
    if (ended->has_last) {
        (void)pthread_join(ended->last, NULL);
    }
}

#endif
