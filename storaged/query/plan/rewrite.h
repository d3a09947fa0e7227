/*
 * Rewrites: a plan that gives the same answers, sooner. A plan runs as well without it; the tests
 * run both and compare.
 *
 * Errors stay where they are: what would fail is left as it is, and fails when it runs, if it does.
 */
#ifndef SIRIX_QUERY_PLAN_REWRITE_H
#define SIRIX_QUERY_PLAN_REWRITE_H

#include "query/function/function.h"
#include "query/plan/plan.h"
#include "query/value/work.h"

/* Rewrites in place; new nodes lie in work->arena. */
enum sirix_status sirix_plan_rewrite(struct sirix_work *work, struct sirix_plan_query *query,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
