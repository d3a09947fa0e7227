/*
 * Aggregates over groups without the groups: where all that is asked of a grouped variable is count(), sum()
 * or avg() of it or of fields of it, each tuple is added up as it comes, and its items are let go.
 *
 *     for $r in D[] group by $k := $r.dept return {"k": $k, "n": count($r), "mean": avg($r.pay)}
 *
 * Results    wait in run->results while the group is given out: a call that finds itself there is done.
 *            What fails while adding up is told when the result is asked for, and never if it is not.
 *
 * Private to this folder.
 */
#ifndef SIRIX_QUERY_RUN_ACCUMULATE_H
#define SIRIX_QUERY_RUN_ACCUMULATE_H

#include "query/run/flwor.h"

enum { SIRIX_ACCUMULATORS_MAX = 16 };

/* The calls that one GROUP clause adds up for; none where a grouped variable is used otherwise. */
struct sirix_accumulators {
    const struct sirix_plan *calls[SIRIX_ACCUMULATORS_MAX];
    size_t count;
    bool covered; /* Nothing else is asked: the groups' items need not be kept. */
};
void sirix_accumulators_find(const struct sirix_plan *flwor, uint32_t group_clause,
                             struct sirix_accumulators *out);

/* What one call has added up for one group. */
struct sirix_accumulator {
    struct sirix_sum sum;
    struct sirix_query_error *error; /* NULL: none so far. */
    enum sirix_status status;
};

/* Adds the tuple in the frame. */
enum sirix_status sirix_accumulate(struct sirix_run *run, const struct sirix_plan *call,
                                   struct sirix_accumulator *accumulator,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
