/*
 * A hash table of queues that exist while their turn is held, each a list of those who wait; and one
 * list of all who wait, by the time when they give up, for the timer. Almost all wait equally long,
 * so a new one belongs at the end of that list or near it.
 */
#include "service/turns.h"

#include <assert.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>

#include "base/hash.h"
#include "service/cancel.h"

enum { BUCKETS = 4096, US_PER_MS = 1000, US_PER_SECOND = 1000000, NS_PER_US = 1000 };

struct queue {
    struct queue *next; /* In its bucket. */
    struct sirix_turn_key key;
    struct sirix_turn *first;
    struct sirix_turn *last;
};

struct sirix_turns {
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    pthread_t timer;
    bool timer_runs;
    bool stopping;
    uint32_t timeout_ms;
    uint64_t waiting;
    struct sirix_turn *soonest;
    struct sirix_turn *latest;
    struct queue *buckets[BUCKETS];
};

/* --- The queues; with the mutex held ------------------------------------------------------------ */

static struct queue **bucket_of(struct sirix_turns *turns, const struct sirix_turn_key *key)
{
    uint64_t hash = sirix_mix64((uint64_t)(uintptr_t)key->database);

    hash = sirix_mix64(hash ^ key->resource);
    hash = sirix_mix64(hash ^ key->branch);
    return &turns->buckets[hash % BUCKETS];
}

static struct queue *find(struct sirix_turns *turns, const struct sirix_turn_key *key)
{
    struct queue *queue = *bucket_of(turns, key);

    while (queue != NULL &&
           (queue->key.database != key->database || queue->key.resource != key->resource ||
            queue->key.branch != key->branch)) {
        queue = queue->next;
    }
    return queue;
}

static void remove_queue(struct sirix_turns *turns, struct queue *queue)
{
    struct queue **at = bucket_of(turns, &queue->key);

    while (*at != queue) {
        at = &(*at)->next;
    }
    *at = queue->next;
    free(queue);
}

static void add_waiting(struct sirix_turns *turns, struct queue *queue, struct sirix_turn *turn)
{
    struct sirix_turn *before = turns->latest;

    turn->next = NULL;
    if (queue->last == NULL) {
        queue->first = turn;
    } else {
        queue->last->next = turn;
    }
    queue->last = turn;

    while (before != NULL && before->until_us > turn->until_us) {
        before = before->sooner;
    }
    turn->sooner = before;
    turn->later = before == NULL ? turns->soonest : before->later;
    if (turn->later == NULL) {
        turns->latest = turn;
    } else {
        turn->later->sooner = turn;
    }
    if (before == NULL) {
        turns->soonest = turn;
        (void)pthread_cond_signal(&turns->changed);
    } else {
        before->later = turn;
    }
    turn->waiting = true;
    turns->waiting++;
}

/* Takes a turn that waits out of both lists; *out_place: how many were before it. */
static void remove_waiting(struct sirix_turns *turns, struct sirix_turn *turn, uint64_t *out_place)
{
    struct queue *queue = find(turns, &turn->key);
    struct sirix_turn *before = NULL;
    uint64_t place = 1; /* The one whose turn it is. */

    assert(queue != NULL);
    for (struct sirix_turn *at = queue->first; at != turn; at = at->next) {
        before = at;
        place++;
    }
    if (before == NULL) {
        queue->first = turn->next;
    } else {
        before->next = turn->next;
    }
    if (queue->last == turn) {
        queue->last = before;
    }

    if (turn->sooner == NULL) {
        turns->soonest = turn->later;
    } else {
        turn->sooner->later = turn->later;
    }
    if (turn->later == NULL) {
        turns->latest = turn->sooner;
    } else {
        turn->later->sooner = turn->sooner;
    }
    turn->waiting = false;
    turns->waiting--;
    *out_place = place;
}

/* --- The timer ---------------------------------------------------------------------------------- */

static void expire(struct sirix_turns *turns, struct sirix_turn *turn, uint64_t now)
{
    struct sirix_error err = {0};
    uint64_t place = 0;
    uint64_t waited_ms = (now - turn->since_us) / US_PER_MS;

    remove_waiting(turns, turn, &place);
    (void)pthread_mutex_unlock(&turns->mutex);
    (void)sirix_fail_reason(&err, SIRIX_DEADLINE, SIRIX_REASON_QUEUE_TIMEOUT,
                            "waited %" PRIu64 " ms for the branch's write turn, at place %" PRIu64
                            " of its queue; nothing was changed",
                            waited_ms, place);
    err.retry_after_ms = turns->timeout_ms;
    err.queue_place = place;
    turn->granted(turn, SIRIX_DEADLINE, &err);
    (void)pthread_mutex_lock(&turns->mutex);
}

static void *run_timer(void *context)
{
    struct sirix_turns *turns = context;

    (void)pthread_mutex_lock(&turns->mutex);
    while (!turns->stopping) {
        uint64_t now = sirix_cancel_now_us();
        struct sirix_turn *turn = turns->soonest;
        if (turn == NULL) {
            (void)pthread_cond_wait(&turns->changed, &turns->mutex);
        } else if (turn->until_us <= now) {
            expire(turns, turn, now);
        } else {
            struct timespec until = {
                .tv_sec = (time_t)(turn->until_us / US_PER_SECOND),
                .tv_nsec = (long)(turn->until_us % US_PER_SECOND) * NS_PER_US,
            };
            (void)pthread_cond_timedwait(&turns->changed, &turns->mutex, &until);
        }
    }
    (void)pthread_mutex_unlock(&turns->mutex);
    return NULL;
}

enum sirix_status sirix_turns_start(uint32_t timeout_ms, struct sirix_turns **out_turns,
                                    struct sirix_error *err)
{
    pthread_condattr_t monotonic;
    struct sirix_turns *turns = calloc(1, sizeof(*turns));

    if (turns == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the write queues");
    }
    turns->timeout_ms = timeout_ms;
    (void)pthread_mutex_init(&turns->mutex, NULL);
    (void)pthread_condattr_init(&monotonic);
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&turns->changed, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    if (pthread_create(&turns->timer, NULL, run_timer, turns) != 0) {
        sirix_turns_stop(turns);
        return sirix_fail(err, SIRIX_NO_MEMORY, "start the timer of the write queues");
    }
    turns->timer_runs = true;
    (void)pthread_setname_np(turns->timer, "sirix-turns");
    *out_turns = turns;
    return SIRIX_OK;
}

void sirix_turns_stop(struct sirix_turns *turns)
{
    if (turns == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&turns->mutex);
    assert(turns->waiting == 0);
    turns->stopping = true;
    (void)pthread_cond_signal(&turns->changed);
    (void)pthread_mutex_unlock(&turns->mutex);
    if (turns->timer_runs) {
        (void)pthread_join(turns->timer, NULL);
    }
    for (size_t i = 0; i < BUCKETS; i++) {
        assert(turns->buckets[i] == NULL);
    }
    (void)pthread_cond_destroy(&turns->changed);
    (void)pthread_mutex_destroy(&turns->mutex);
    free(turns);
}

/* --- Taking and giving back --------------------------------------------------------------------- */

enum sirix_status sirix_turns_take(struct sirix_turns *turns, struct sirix_turn *turn,
                                   uint64_t deadline_us, bool *out_waits, struct sirix_error *err)
{
    uint64_t now = sirix_cancel_now_us();

    assert(!turn->waiting && !turn->held);

    turn->since_us = now;
    turn->until_us = now + (uint64_t)turns->timeout_ms * US_PER_MS;
    if (deadline_us < turn->until_us) {
        turn->until_us = deadline_us;
    }
    (void)pthread_mutex_lock(&turns->mutex);
    struct queue *queue = find(turns, &turn->key);
    if (queue != NULL) {
        add_waiting(turns, queue, turn);
        *out_waits = true;
        (void)pthread_mutex_unlock(&turns->mutex);
        return SIRIX_OK;
    }
    queue = calloc(1, sizeof(*queue));
    if (queue != NULL) {
        struct queue **bucket = bucket_of(turns, &turn->key);
        queue->key = turn->key;
        queue->next = *bucket;
        *bucket = queue;
        turn->held = true;
        *out_waits = false;
    }
    (void)pthread_mutex_unlock(&turns->mutex);
    return queue == NULL ? sirix_fail(err, SIRIX_NO_MEMORY, "allocate a write queue") : SIRIX_OK;
}

void sirix_turns_release(struct sirix_turns *turns, struct sirix_turn *turn)
{
    (void)pthread_mutex_lock(&turns->mutex);
    if (!turn->held) {
        (void)pthread_mutex_unlock(&turns->mutex);
        return;
    }
    turn->held = false;
    struct queue *queue = find(turns, &turn->key);
    assert(queue != NULL);
    struct sirix_turn *next = queue->first;
    if (next == NULL) {
        remove_queue(turns, queue);
    } else {
        uint64_t place = 0;
        remove_waiting(turns, next, &place);
        next->held = true;
    }
    (void)pthread_mutex_unlock(&turns->mutex);
    if (next != NULL) {
        next->granted(next, SIRIX_OK, NULL);
    }
}

bool sirix_turns_withdraw(struct sirix_turns *turns, struct sirix_turn *turn)
{
    uint64_t place = 0;

    (void)pthread_mutex_lock(&turns->mutex);
    bool was_waiting = turn->waiting;
    if (was_waiting) {
        remove_waiting(turns, turn, &place);
    }
    (void)pthread_mutex_unlock(&turns->mutex);
    return was_waiting;
}

uint64_t sirix_turns_waiting(struct sirix_turns *turns)
{
    (void)pthread_mutex_lock(&turns->mutex);
    uint64_t waiting = turns->waiting;
    (void)pthread_mutex_unlock(&turns->mutex);
    return waiting;
}
