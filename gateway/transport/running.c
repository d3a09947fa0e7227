/* Running requests. */
#include "transport/running.h"

#include <stdlib.h>
#include <string.h>

void sirix_running_init(struct sirix_running *running)
{
    *running = (struct sirix_running){0};
    (void)pthread_mutex_init(&running->mutex, NULL);
}

static void clear(struct sirix_running_entry *entry)
{
    sirix_call_cancel_free(entry->cancel.call);
    free(entry->id);
    entry->cancel.call = NULL;
    atomic_store(&entry->cancel.is_set, false);
    entry->id = NULL;
    entry->id_len = 0;
    entry->is_used = false;
    entry->is_cancelled = false;
}

void sirix_running_deinit(struct sirix_running *running)
{
    for (size_t i = 0; i < SIRIX_RUNNING_MAX; i++) {
        clear(&running->entries[i]);
    }
    (void)pthread_mutex_destroy(&running->mutex);
}

static bool has_id(const struct sirix_running_entry *entry, struct sirix_bytes id)
{
    return entry->is_used && entry->id_len == id.len && memcmp(entry->id, id.data, id.len) == 0;
}

static enum sirix_status fill(struct sirix_running_entry *entry, struct sirix_bytes id,
                              struct sirix_error *err)
{
    enum sirix_status status = sirix_call_cancel_new(&entry->cancel.call, err);

    if (status != SIRIX_OK) {
        return status;
    }
    entry->id = malloc(id.len);
    if (entry->id == NULL) {
        clear(entry);
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a request");
    }
    memcpy(entry->id, id.data, id.len);
    entry->id_len = id.len;
    entry->is_used = true;
    return SIRIX_OK;
}

enum sirix_status sirix_running_add(struct sirix_running *running, struct sirix_bytes id,
                                    struct sirix_running_entry **out, struct sirix_error *err)
{
    struct sirix_running_entry *free_entry = NULL;
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&running->mutex);
    for (size_t i = 0; i < SIRIX_RUNNING_MAX && status == SIRIX_OK; i++) {
        struct sirix_running_entry *entry = &running->entries[i];

        if (has_id(entry, id)) {
            status = sirix_fail_reason(err, SIRIX_ALREADY_EXISTS, SIRIX_REASON_FIELD_INVALID,
                                       "a request with this id is still running");
            sirix_error_set_field(err, "id");
        } else if (!entry->is_used && free_entry == NULL) {
            free_entry = entry;
        }
    }
    if (status == SIRIX_OK && free_entry == NULL) {
        status =
            sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                              "%d requests are running; wait for an answer", SIRIX_RUNNING_MAX);
    }
    if (status == SIRIX_OK) {
        status = fill(free_entry, id, err);
    }
    (void)pthread_mutex_unlock(&running->mutex);
    if (status == SIRIX_OK) {
        *out = free_entry;
    }
    return status;
}

bool sirix_running_remove(struct sirix_running *running, struct sirix_running_entry *entry)
{
    (void)pthread_mutex_lock(&running->mutex);
    const bool was_cancelled = entry->is_cancelled;
    clear(entry);
    (void)pthread_mutex_unlock(&running->mutex);
    return was_cancelled;
}

bool sirix_running_is_cancelled(struct sirix_running *running,
                                const struct sirix_running_entry *entry)
{
    (void)pthread_mutex_lock(&running->mutex);
    const bool is_cancelled = entry->is_cancelled;
    (void)pthread_mutex_unlock(&running->mutex);
    return is_cancelled;
}

void sirix_running_cancel(struct sirix_running *running, struct sirix_bytes id)
{
    (void)pthread_mutex_lock(&running->mutex);
    for (size_t i = 0; i < SIRIX_RUNNING_MAX; i++) {
        if (has_id(&running->entries[i], id)) {
            running->entries[i].is_cancelled = true;
            sirix_mcp_cancel_set(&running->entries[i].cancel);
        }
    }
    (void)pthread_mutex_unlock(&running->mutex);
}

void sirix_running_stop(struct sirix_running *running)
{
    (void)pthread_mutex_lock(&running->mutex);
    for (size_t i = 0; i < SIRIX_RUNNING_MAX; i++) {
        if (running->entries[i].is_used) {
            sirix_mcp_cancel_set(&running->entries[i].cancel);
        }
    }
    (void)pthread_mutex_unlock(&running->mutex);
}
