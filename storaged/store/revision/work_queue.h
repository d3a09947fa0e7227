/* Works in the order in which they came. They are linked through themselves; for the committer only. */
#ifndef SIRIX_STORE_REVISION_WORK_QUEUE_H
#define SIRIX_STORE_REVISION_WORK_QUEUE_H

#include "store/revision/committer.h"

struct work_queue {
    struct sirix_commit_work *first;
    struct sirix_commit_work *last;
    uint64_t count;
};

static inline void work_queue_push(struct work_queue *queue, struct sirix_commit_work *work)
{
    work->next = NULL;
    if (queue->last == NULL) {
        queue->first = work;
    } else {
        queue->last->next = work;
    }
    queue->last = work;
    queue->count++;
}

static inline struct sirix_commit_work *work_queue_pop(struct work_queue *queue)
{
    struct sirix_commit_work *work = queue->first;

    if (work != NULL) {
        queue->first = work->next;
        queue->last = queue->first == NULL ? NULL : queue->last;
        queue->count--;
        work->next = NULL;
    }
    return work;
}

#endif
