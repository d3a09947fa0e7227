/* Readers of a handle: a few are kept open and lent, and those of streams are counted. */
#include "service/registry_state.h"

struct sirix_database *sirix_handle_database(const struct sirix_handle *handle)
{
    return handle->database;
}

const char *sirix_handle_name(const struct sirix_handle *handle)
{
    return handle->name;
}

uint64_t sirix_handle_uses(struct sirix_handle *handle)
{
    (void)pthread_mutex_lock(&handle->registry->mutex);
    uint64_t uses = handle->refs;
    (void)pthread_mutex_unlock(&handle->registry->mutex);
    return uses;
}

enum sirix_status sirix_handle_reader_get(struct sirix_handle *handle,
                                          struct sirix_reader **out_reader, struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;

    (void)pthread_mutex_lock(&handle->registry->mutex);
    if (handle->reader_count > 0) {
        reader = handle->readers[--handle->reader_count];
    }
    (void)pthread_mutex_unlock(&handle->registry->mutex);
    if (reader != NULL) {
        *out_reader = reader;
        return SIRIX_OK;
    }
    return sirix_reader_open(sirix_database_backend(handle->database), out_reader, err);
}

void sirix_handle_reader_put(struct sirix_handle *handle, struct sirix_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    sirix_reader_yield(reader);
    (void)pthread_mutex_lock(&handle->registry->mutex);
    if (handle->reader_count < SIRIX_HANDLE_READERS_KEPT) {
        handle->readers[handle->reader_count++] = reader;
        reader = NULL;
    }
    (void)pthread_mutex_unlock(&handle->registry->mutex);
    if (reader != NULL) {
        sirix_reader_close(reader);
    }
}

enum sirix_status sirix_handle_stream_reader_open(struct sirix_handle *handle,
                                                  struct sirix_reader **out_reader,
                                                  struct sirix_error *err)
{
    struct sirix_registry *registry = handle->registry;

    (void)pthread_mutex_lock(&registry->mutex);
    bool full = handle->stream_readers >= SIRIX_STREAM_READERS_MAX;
    if (!full) {
        handle->stream_readers++;
    }
    (void)pthread_mutex_unlock(&registry->mutex);
    if (full) {
        (void)sirix_fail(err, SIRIX_EXHAUSTED, "%d streams read database %s, the limit",
                         SIRIX_STREAM_READERS_MAX, handle->name);
        sirix_error_set_retry(err, SIRIX_STREAM_RETRY_MS);
        return SIRIX_EXHAUSTED;
    }
    enum sirix_status status =
        sirix_reader_open(sirix_database_backend(handle->database), out_reader, err);
    if (status != SIRIX_OK) {
        (void)pthread_mutex_lock(&registry->mutex);
        handle->stream_readers--;
        (void)pthread_mutex_unlock(&registry->mutex);
    }
    return status;
}

void sirix_handle_stream_reader_close(struct sirix_handle *handle, struct sirix_reader *reader)
{
    if (reader == NULL) {
        return;
    }
    sirix_reader_close(reader);
    (void)pthread_mutex_lock(&handle->registry->mutex);
    handle->stream_readers--;
    (void)pthread_mutex_unlock(&handle->registry->mutex);
}

void sirix_handle_suspect(struct sirix_handle *handle)
{
    (void)pthread_mutex_lock(&handle->registry->mutex);
    handle->suspect = true;
    (void)pthread_mutex_unlock(&handle->registry->mutex);
}
