/* Counters without a lock: each is right by itself. */
#include "base/histogram.h"

const uint64_t sirix_histogram_times_us[SIRIX_HISTOGRAM_BUCKETS] = {
    50,    100,   250,    500,    1000,   2500,    5000,    10000,
    25000, 50000, 100000, 250000, 500000, 1000000, 2500000, 10000000,
};

const uint64_t sirix_histogram_sizes[SIRIX_HISTOGRAM_BUCKETS] = {
    1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64, 96, 128, 256, 512, 1024,
};

void sirix_histogram_add(struct sirix_histogram *histogram,
                         const uint64_t bounds[SIRIX_HISTOGRAM_BUCKETS], uint64_t value)
{
    unsigned bucket = 0;

    while (bucket < SIRIX_HISTOGRAM_BUCKETS && value > bounds[bucket]) {
        bucket++;
    }
    (void)atomic_fetch_add_explicit(&histogram->counts[bucket], 1, memory_order_relaxed);
    (void)atomic_fetch_add_explicit(&histogram->sum, value, memory_order_relaxed);
}

void sirix_histogram_read(const struct sirix_histogram *histogram,
                          struct sirix_histogram_reading *out_reading)
{
    out_reading->total = 0;
    for (unsigned i = 0; i <= SIRIX_HISTOGRAM_BUCKETS; i++) {
        out_reading->counts[i] = atomic_load_explicit(&histogram->counts[i], memory_order_relaxed);
        out_reading->total += out_reading->counts[i];
    }
    out_reading->sum = atomic_load_explicit(&histogram->sum, memory_order_relaxed);
}

uint64_t sirix_histogram_quantile(const struct sirix_histogram_reading *reading,
                                  const uint64_t bounds[SIRIX_HISTOGRAM_BUCKETS],
                                  unsigned per_mille)
{
    enum { PER_MILLE = 1000 };
    uint64_t below = 0;

    if (reading->total == 0) {
        return 0;
    }
    for (unsigned i = 0; i < SIRIX_HISTOGRAM_BUCKETS; i++) {
        below += reading->counts[i];
        if (below * PER_MILLE >= reading->total * per_mille) {
            return bounds[i];
        }
    }
    return UINT64_MAX;
}
