/* Rewrites of FLWOR expressions. Private to this folder. */
#ifndef SIRIX_QUERY_PLAN_REWRITE_FLWOR_H
#define SIRIX_QUERY_PLAN_REWRITE_FLWOR_H

#include "query/plan/rewrite.h"

/* Of a FLWOR node, in place, whose parts have been rewritten. */
enum sirix_status sirix_plan_rewrite_flwor(struct sirix_work *work, struct sirix_plan *node,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Tells an order by how many tuples a call around it looks at; for explain alone. */
void sirix_plan_rewrite_limit(struct sirix_plan *call);

#endif
