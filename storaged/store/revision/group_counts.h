/* What a pool of committers counts of the groups that it gives to the disk. Any thread. */
#ifndef SIRIX_STORE_REVISION_GROUP_COUNTS_H
#define SIRIX_STORE_REVISION_GROUP_COUNTS_H

#include "store/revision/committer.h"

/* Zero-initialised. */
struct sirix_group_counts {
    struct sirix_histogram sizes;
    struct sirix_histogram prepare_us;
    struct sirix_histogram write_us;
    _Atomic uint64_t bytes;
    _Atomic uint64_t failures;
};

/* A group that ended well or not; began, submitted and now are instants in ns. */
struct sirix_group_ended {
    bool well;
    uint64_t works;
    uint64_t bytes;
    uint64_t began_ns;
    uint64_t submitted_ns; /* UINT64_MAX: there was nothing to write, and nothing is counted. */
    uint64_t now_ns;
};
void sirix_group_counts_add(struct sirix_group_counts *counts,
                            const struct sirix_group_ended *ended);

void sirix_group_counts_read(const struct sirix_group_counts *counts,
                             struct sirix_committer_totals *out_totals);

#endif
