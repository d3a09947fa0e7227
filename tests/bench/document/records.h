/*
 * Generated records: one JSON array of nested objects with names, numbers, decimals, booleans, nulls and
 * short arrays, about 430 bytes a record. The same seed gives the same text.
 */
#ifndef SIRIX_TESTS_BENCH_DOCUMENT_RECORDS_H
#define SIRIX_TESTS_BENCH_DOCUMENT_RECORDS_H

#include <stddef.h>
#include <stdint.h>

struct records {
    uint64_t random;
    uint64_t next_id;
    uint64_t bytes; /* Given so far. */
    uint64_t bytes_max;
    int state; /* 0: before, 1: in, 2: after. */
};

void records_init(struct records *records, uint64_t seed, uint64_t bytes_max);

/* Writes whole records to `to` (cap >= 4096), at most cap bytes; 0: the array is over. */
size_t records_next(struct records *records, char *to, size_t cap);

#endif
