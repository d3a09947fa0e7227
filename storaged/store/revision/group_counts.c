/* Histograms of groups. */
#include "store/revision/group_counts.h"

enum { NS_PER_US = 1000 };

void sirix_group_counts_add(struct sirix_group_counts *counts,
                            const struct sirix_group_ended *ended)
{
    if (ended->submitted_ns == UINT64_MAX) {
        return;
    }
    if (!ended->well) {
        (void)atomic_fetch_add_explicit(&counts->failures, 1, memory_order_relaxed);
        return;
    }
    sirix_histogram_add(&counts->sizes, sirix_histogram_sizes, ended->works);
    sirix_histogram_add(&counts->prepare_us, sirix_histogram_times_us,
                        (ended->submitted_ns - ended->began_ns) / NS_PER_US);
    sirix_histogram_add(&counts->write_us, sirix_histogram_times_us,
                        (ended->now_ns - ended->submitted_ns) / NS_PER_US);
    (void)atomic_fetch_add_explicit(&counts->bytes, ended->bytes, memory_order_relaxed);
}

void sirix_group_counts_read(const struct sirix_group_counts *counts,
                             struct sirix_committer_totals *out_totals)
{
    struct sirix_committer_totals totals = {0};

    sirix_histogram_read(&counts->sizes, &totals.sizes);
    sirix_histogram_read(&counts->prepare_us, &totals.prepare_us);
    sirix_histogram_read(&counts->write_us, &totals.write_us);
    totals.groups = totals.sizes.total;
    totals.works = totals.sizes.sum;
    totals.bytes = atomic_load_explicit(&counts->bytes, memory_order_relaxed);
    totals.failures = atomic_load_explicit(&counts->failures, memory_order_relaxed);
    *out_totals = totals;
}
