/*
 * A plan as text, for people: one line an operator, indented by what it is part of, with variables
 * by number and the choices that were made.
 */
#ifndef SIRIX_QUERY_PLAN_EXPLAIN_H
#define SIRIX_QUERY_PLAN_EXPLAIN_H

#include "base/buf.h"
#include "query/plan/plan.h"

/* Appends the plan. Texts of the query are shown with escapes, cut where they are long. */
enum sirix_status sirix_plan_explain(const struct sirix_plan_query *query, struct sirix_buf *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
