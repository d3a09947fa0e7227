/*
 * How long things take, or how many they are: counts in fixed buckets, added to by any thread.
 *
 * Threads   every function, at any time; a reading may lack what is added while it is taken.
 */
#ifndef SIRIX_BASE_HISTOGRAM_H
#define SIRIX_BASE_HISTOGRAM_H

#include <stdatomic.h>
#include <stdint.h>

enum { SIRIX_HISTOGRAM_BUCKETS = 16 };

/* The upper bounds (inclusive) of the buckets but for the last, which has none. */
extern const uint64_t sirix_histogram_times_us[SIRIX_HISTOGRAM_BUCKETS]; /* 50 us to 10 s. */
extern const uint64_t sirix_histogram_sizes[SIRIX_HISTOGRAM_BUCKETS];    /* 1 to 1,024. */

/* Zero-initialised. */
struct sirix_histogram {
    _Atomic uint64_t counts[SIRIX_HISTOGRAM_BUCKETS + 1];
    _Atomic uint64_t sum;
};

/* bounds: one of the two tables above; the same one for a histogram always. */
void sirix_histogram_add(struct sirix_histogram *histogram,
                         const uint64_t bounds[SIRIX_HISTOGRAM_BUCKETS], uint64_t value);

struct sirix_histogram_reading {
    uint64_t counts[SIRIX_HISTOGRAM_BUCKETS + 1]; /* Of each bucket alone. */
    uint64_t total;
    uint64_t sum;
};

void sirix_histogram_read(const struct sirix_histogram *histogram,
                          struct sirix_histogram_reading *out_reading);

/*
 * The bound of the bucket that the given share of the values, in thousandths, does not pass: an upper
 * estimate. 0 of an empty histogram; UINT64_MAX where it lies past the last bound.
 */
uint64_t sirix_histogram_quantile(const struct sirix_histogram_reading *reading,
                                  const uint64_t bounds[SIRIX_HISTOGRAM_BUCKETS],
                                  unsigned per_mille);

#endif
