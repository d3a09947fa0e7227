/*
 * Generated records: nested objects with names, numbers, decimals, booleans, nulls and short arrays,
 * about 430 bytes a record, as one JSON array or as one record a line. The same seed gives the same
 * records in both forms.
 */
#ifndef SIRIX_TESTS_BENCH_COMMON_RECORDS_H
#define SIRIX_TESTS_BENCH_COMMON_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct records {
    uint64_t random;
    uint64_t next_id;
    uint64_t bytes; /* Given so far. */
    uint64_t bytes_max;
    bool lines; /* One record a line instead of an array. */
    int state;  /* 0: before, 1: in, 2: after. */
};

void records_init(struct records *records, uint64_t seed, uint64_t bytes_max, bool lines);

/* Writes whole records to `to` (cap >= 4096), at most cap bytes; 0: that was all. */
size_t records_next(struct records *records, char *to, size_t cap);

#endif
