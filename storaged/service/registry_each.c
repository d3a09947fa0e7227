/* A walk over the open databases that holds each while it is looked at, and no lock. */
#include "service/registry_state.h"

/* With the mutex held: the first open entry from a bucket on; NULL past the last. */
static struct sirix_handle *find_open(struct sirix_registry *registry, size_t *bucket,
                                      const struct sirix_handle *after)
{
    struct sirix_handle *handle = after != NULL ? after->next : NULL;

    for (;;) {
        while (handle != NULL && handle->state != SIRIX_ENTRY_OPEN) {
            handle = handle->next;
        }
        if (handle != NULL || *bucket == SIRIX_REGISTRY_BUCKETS) {
            return handle;
        }
        handle = registry->buckets[(*bucket)++];
    }
}

/* A look is no use of it: since when it is idle is left to those who use it meanwhile. */
static void give_back(struct sirix_registry *registry, struct sirix_handle *handle)
{
    if (--handle->refs == 0 && (handle->dropped || handle->suspect)) {
        sirix_registry_close_entry(registry, handle);
    }
}

void sirix_registry_each_open(struct sirix_registry *registry, sirix_registry_each_fn visit,
                              void *context)
{
    size_t bucket = 0;

    (void)pthread_mutex_lock(&registry->mutex);
    struct sirix_handle *handle = find_open(registry, &bucket, NULL);
    while (handle != NULL) {
        handle->refs++;
        (void)pthread_mutex_unlock(&registry->mutex);
        visit(context, handle->database);
        (void)pthread_mutex_lock(&registry->mutex);
        /* One that was dropped meanwhile leads nowhere: the rest waits for the next time. */
        struct sirix_handle *next = handle->dropped ? NULL : find_open(registry, &bucket, handle);
        if (next != NULL) { /* Closing the one may take the mutex away from the other. */
            next->refs++;
        }
        give_back(registry, handle);
        if (next != NULL) {
            next->refs--;
        }
        handle = next;
    }
    (void)pthread_mutex_unlock(&registry->mutex);
}
