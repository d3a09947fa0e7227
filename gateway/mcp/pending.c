/* Questions to clients. */
#include "mcp/pending.h"

#include <errno.h>
#include <string.h>
#include <time.h>

void sirix_pending_init(struct sirix_pending *pending)
{
    pthread_condattr_t attributes;

    *pending = (struct sirix_pending){0};
    (void)pthread_mutex_init(&pending->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&pending->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
}

void sirix_pending_deinit(struct sirix_pending *pending)
{
    (void)pthread_cond_destroy(&pending->changed);
    (void)pthread_mutex_destroy(&pending->mutex);
}

enum sirix_status sirix_pending_add(struct sirix_pending *pending,
                                    struct sirix_pending_entry *entry, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    *entry = (struct sirix_pending_entry){.is_answered = false};
    sirix_buf_init(&entry->answer, SIRIX_PENDING_ANSWER_BYTES_MAX);
    status = sirix_random_id(entry->id, err);
    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&pending->mutex);
    if (pending->is_ending) {
        status = sirix_fail(err, SIRIX_CANCELLED, "the server ends");
    } else if (pending->count == SIRIX_PENDING_MAX) {
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "%d questions wait for answers already", SIRIX_PENDING_MAX);
    } else {
        entry->next = pending->first;
        pending->first = entry;
        pending->count++;
    }
    (void)pthread_mutex_unlock(&pending->mutex);
    return status;
}

void sirix_pending_remove(struct sirix_pending *pending, struct sirix_pending_entry *entry)
{
    (void)pthread_mutex_lock(&pending->mutex);
    for (struct sirix_pending_entry **at = &pending->first; *at != NULL; at = &(*at)->next) {
        if (*at == entry) {
            *at = entry->next;
            pending->count--;
            break;
        }
    }
    (void)pthread_mutex_unlock(&pending->mutex);
    sirix_buf_deinit(&entry->answer);
}

static struct timespec after_ms(uint32_t ms)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_MONOTONIC, &at);
    at.tv_sec += ms / 1000;
    at.tv_nsec += (long)(ms % 1000) * 1000000;
    if (at.tv_nsec >= 1000000000) {
        at.tv_sec++;
        at.tv_nsec -= 1000000000;
    }
    return at;
}

enum sirix_status sirix_pending_wait(struct sirix_pending *pending,
                                     const struct sirix_pending_entry *entry,
                                     const struct sirix_mcp_cancel *cancel, uint32_t timeout_ms,
                                     struct sirix_error *err)
{
    const struct timespec until = after_ms(timeout_ms);
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&pending->mutex);
    while (!entry->is_answered && status == SIRIX_OK) {
        if (pending->is_ending || sirix_mcp_cancel_is_set(cancel)) {
            status = sirix_fail(err, SIRIX_CANCELLED, "the request was cancelled");
        } else if (pthread_cond_timedwait(&pending->changed, &pending->mutex, &until) ==
                   ETIMEDOUT) {
            status = sirix_fail(err, SIRIX_DEADLINE, "the client did not answer in time");
        }
    }
    (void)pthread_mutex_unlock(&pending->mutex);
    return status;
}

/* Whether the JSON text of an id is that of the entry. */
static bool has_id(const struct sirix_pending_entry *entry, struct sirix_bytes id)
{
    const size_t len = strlen(entry->id);
    const char *text = id.data;

    return id.len == len + 2 && text[0] == '"' && memcmp(text + 1, entry->id, len) == 0;
}

void sirix_pending_deliver(struct sirix_pending *pending, struct sirix_bytes id,
                           const struct sirix_json_node *result)
{
    (void)pthread_mutex_lock(&pending->mutex);
    for (struct sirix_pending_entry *at = pending->first; at != NULL; at = at->next) {
        if (has_id(at, id) && !at->is_answered) {
            /* What is too long, or without memory, is as good as an error. */
            at->is_error =
                result == NULL || sirix_json_tree_print(result, &at->answer, NULL) != SIRIX_OK;
            at->is_answered = true;
            (void)pthread_cond_broadcast(&pending->changed);
        }
    }
    (void)pthread_mutex_unlock(&pending->mutex);
}

void sirix_pending_wake(struct sirix_pending *pending)
{
    (void)pthread_mutex_lock(&pending->mutex);
    (void)pthread_cond_broadcast(&pending->changed);
    (void)pthread_mutex_unlock(&pending->mutex);
}

void sirix_pending_end(struct sirix_pending *pending)
{
    (void)pthread_mutex_lock(&pending->mutex);
    pending->is_ending = true;
    (void)pthread_cond_broadcast(&pending->changed);
    (void)pthread_mutex_unlock(&pending->mutex);
}

bool sirix_pending_is_ending(struct sirix_pending *pending)
{
    (void)pthread_mutex_lock(&pending->mutex);
    const bool is_ending = pending->is_ending;
    (void)pthread_mutex_unlock(&pending->mutex);
    return is_ending;
}
