/*
 * The memory backend, for its own files only.
 *
 * `lock` guards the tables. Callbacks of commits and visits of scans run without it, so they may call
 * back into the backend.
 */
#ifndef SIRIX_STORE_SEGMENT_MEMORY_BACKEND_H
#define SIRIX_STORE_SEGMENT_MEMORY_BACKEND_H

#include <pthread.h>

#include "base/endian.h"
#include "store/segment/backend.h"
#include "store/segment/memory_rows.h"
#include "store/segment/slices.h"

struct sirix_memory_job {
    const struct sirix_batch *batch;
    sirix_committed_fn done;
    void *context;
};

struct sirix_memory_reader {
    struct sirix_reader base;
    struct sirix_memory_reader *next;
    uint64_t batch; /* The snapshot that it sees. */
    struct sirix_slices slices;
};

struct sirix_memory {
    struct sirix_backend base;
    struct sirix_memory_options options;
    pthread_mutex_t lock;
    pthread_cond_t changed;            /* A job, or stopping. */
    struct sirix_memory_rows segments; /* Under the number, big-endian. */
    struct sirix_memory_rows refs;
    uint64_t segment_bytes;
    uint64_t batch; /* The last one that was applied. */
    uint64_t random;
    bool latched;
    struct sirix_memory_reader *readers;
    bool has_thread;
    bool stopping;
    bool has_job;
    struct sirix_memory_job job;
    pthread_t thread;
    uint8_t current[SIRIX_REF_VALUE_BYTES_MAX]; /* Of the last conflict. */
};

/* A segment number as a key that sorts. */
struct sirix_memory_number_key {
    uint8_t bytes[8];
};

static inline struct sirix_bytes sirix_memory_number_key(struct sirix_memory_number_key *key,
                                                         uint64_t number)
{
    sirix_store_u64be(key->bytes, number);
    return (struct sirix_bytes){.data = key->bytes, .len = sizeof(key->bytes)};
}

void sirix_memory_lock(struct sirix_memory *backend);
void sirix_memory_unlock(struct sirix_memory *backend);

/* --- memory_read.c: what backend.h asks for --------------------------------------------------- */

enum sirix_status sirix_memory_reader_open(struct sirix_backend *base,
                                           struct sirix_reader **out_reader,
                                           struct sirix_error *err);
void sirix_memory_reader_close(struct sirix_reader *base);
void sirix_memory_reader_yield(struct sirix_reader *base);
enum sirix_status sirix_memory_segment_get(struct sirix_reader *base, uint64_t number,
                                           struct sirix_bytes *out_bytes, struct sirix_error *err);
enum sirix_status sirix_memory_segment_scan(struct sirix_reader *base, uint64_t first,
                                            uint64_t last, sirix_segment_visit_fn visit,
                                            void *context, struct sirix_error *err);
enum sirix_status sirix_memory_ref_get(struct sirix_reader *base, struct sirix_bytes key,
                                       struct sirix_bytes *out_value, struct sirix_error *err);
enum sirix_status sirix_memory_ref_scan(struct sirix_reader *base, struct sirix_bytes prefix,
                                        struct sirix_bytes from, bool reverse,
                                        sirix_ref_visit_fn visit, void *context,
                                        struct sirix_error *err);

#endif
