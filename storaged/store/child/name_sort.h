/*
 * Sorting name pairs for a bulk-built index: by the stored hash, then by key, in bounded memory.
 *
 * Memory    half of what is allowed holds pairs, half is scratch for the sort; full halves are sorted
 *           and spilled as runs to an unlinked file, and merged at the end through buffers of equal
 *           size. Runs are as many as have a buffer of SIRIX_NAME_SORT_BUFFER_BYTES each: with 16 MiB
 *           about 1.4 thousand million pairs; past that it is SIRIX_EXHAUSTED.
 * Errors    SIRIX_IO and SIRIX_NO_SPACE of the spill file name its folder.
 */
#ifndef SIRIX_STORE_CHILD_NAME_SORT_H
#define SIRIX_STORE_CHILD_NAME_SORT_H

#include "store/child/name_index.h"

enum {
    SIRIX_NAME_SORT_MEMORY_MIN = 64 * 1024,
    SIRIX_NAME_SORT_MEMORY_DEFAULT = 16 * 1024 * 1024,
    SIRIX_NAME_SORT_BUFFER_BYTES = 4 * 1024,
};

struct sirix_name_pair {
    struct sirix_name_hash hash;
    uint64_t key;
};

struct sirix_name_sort;

enum sirix_status sirix_name_sort_new(size_t memory_bytes, const char *spill_dir,
                                      struct sirix_name_sort **out_sort,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_name_sort_free(struct sirix_name_sort *sort);

enum sirix_status sirix_name_sort_add(struct sirix_name_sort *sort,
                                      const struct sirix_name_pair *pair,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Ends the adding: pairs can be taken in order from then on. */
enum sirix_status sirix_name_sort_start(struct sirix_name_sort *sort,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next pair; SIRIX_NOT_FOUND, without a sentence, after the last. */
enum sirix_status sirix_name_sort_next(struct sirix_name_sort *sort,
                                       struct sirix_name_pair *out_pair,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
