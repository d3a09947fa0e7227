/*
 * What a storage backend is made of, for the files of this folder only: the table of operations that
 * segment.c dispatches through, and the part of a backend and of a reader that all of them share.
 */
#ifndef SIRIX_STORE_SEGMENT_BACKEND_H
#define SIRIX_STORE_SEGMENT_BACKEND_H

#include <stdatomic.h>

#include "store/segment/segment.h"

/* Each does what the function of segment.h with the same name promises, unless said otherwise. */
struct sirix_backend_ops {
    enum sirix_status (*reader_open)(struct sirix_backend *backend,
                                     struct sirix_reader **out_reader, struct sirix_error *err);
    void (*reader_close)(struct sirix_reader *reader);
    void (*reader_yield)(struct sirix_reader *reader); /* The front has counted the generation. */

    /* A whole segment as stored, verified. SIRIX_CORRUPT when absent. */
    enum sirix_status (*segment_get)(struct sirix_reader *reader, uint64_t number,
                                     struct sirix_bytes *out_bytes, struct sirix_error *err);
    enum sirix_status (*segment_scan)(struct sirix_reader *reader, uint64_t first, uint64_t last,
                                      sirix_segment_visit_fn visit, void *context,
                                      struct sirix_error *err);
    enum sirix_status (*ref_get)(struct sirix_reader *reader, struct sirix_bytes key,
                                 struct sirix_bytes *out_value, struct sirix_error *err);
    enum sirix_status (*ref_scan)(struct sirix_reader *reader, struct sirix_bytes prefix,
                                  struct sirix_bytes from, bool reverse, sirix_ref_visit_fn visit,
                                  void *context, struct sirix_error *err);

    /* The front has checked the batch: sealed segments, rising numbers, lengths of keys and values. */
    void (*commit)(struct sirix_backend *backend, const struct sirix_batch *batch,
                   sirix_committed_fn done, void *context);
    enum sirix_status (*maintain)(struct sirix_backend *backend, size_t budget_bytes,
                                  bool *out_more, struct sirix_error *err);
    enum sirix_status (*writable)(struct sirix_backend *backend, struct sirix_error *err);
    enum sirix_status (*stats)(struct sirix_backend *backend, struct sirix_backend_stats *out_stats,
                               struct sirix_error *err);
    void (*close)(struct sirix_backend *backend);
};

/* First member of every backend. */
struct sirix_backend {
    const struct sirix_backend_ops *ops;
    _Atomic uint64_t next_number; /* The next one that sirix_segment_reserve() gives. */
    _Atomic uint64_t settled;
    sirix_owner_fn owner; /* NULL: nobody knows the resources' names. */
    void *owner_context;
};

/* First member of every reader. */
struct sirix_reader {
    struct sirix_backend *backend;
    uint64_t generation;
};

/* Order of ref keys: bytes, a prefix before what it begins. */
int sirix_ref_key_compare(struct sirix_bytes a, struct sirix_bytes b);

static inline bool sirix_ref_key_starts_with(struct sirix_bytes key, struct sirix_bytes prefix)
{
    return key.len >= prefix.len &&
           (prefix.len == 0 || memcmp(key.data, prefix.data, prefix.len) == 0);
}

/* Whether a row that holds `current` (data NULL: absent) fits the expectation of put. */
bool sirix_ref_expectation_holds(const struct sirix_ref_put *put, struct sirix_bytes current);

/* Ends a commit that failed before anything was changed, or with an unknown outcome. */
void sirix_commit_failed(sirix_committed_fn done, void *context, enum sirix_status status,
                         const struct sirix_error *error);

/* sirix_segment_check() that names the owner where the backend knows it. */
enum sirix_status sirix_segment_verify(const struct sirix_backend *backend,
                                       struct sirix_bytes bytes, uint64_t number,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether sealed bytes are those of a sparse segment, which may take the place of a stored one. */
bool sirix_segment_is_sparse(struct sirix_bytes bytes);

/* The sentences for a put of a number that is stored, and for a segment that is not. */
enum sirix_status sirix_segment_stored_already(uint64_t number, struct sirix_error *err);
enum sirix_status sirix_segment_absent(uint64_t number, struct sirix_error *err);

#endif
