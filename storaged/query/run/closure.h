/* What function items of the evaluator point to. Private to this folder. */
#ifndef SIRIX_QUERY_RUN_CLOSURE_H
#define SIRIX_QUERY_RUN_CLOSURE_H

#include "query/run/run.h"

enum sirix_closure_kind {
    SIRIX_CLOSURE_USER,    /* A declared or inline function with what it has captured. */
    SIRIX_CLOSURE_CAST,    /* A constructor function. */
    SIRIX_CLOSURE_PARTIAL, /* Another function item with some of its arguments. */
};

struct sirix_run_closure {
    enum sirix_closure_kind kind;
    const struct sirix_plan_function *user;
    struct sirix_sequence *captured; /* user->capture_count. */
    enum sirix_type type;
    struct sirix_item target; /* A function, object or array. */
    size_t argument_count;    /* Of the target. */
    struct sirix_sequence *arguments;
    const bool *is_open; /* The arguments that are still to come. */
};

/* An item that applies target to arguments of which some are open. */
enum sirix_status sirix_run_partial(struct sirix_run *run, struct sirix_item target,
                                    struct sirix_sequence *arguments, const bool *is_open,
                                    size_t count, struct sirix_item *out,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The arguments of a call, evaluated; is_open may be NULL where no placeholder can stand. */
enum sirix_status sirix_run_arguments(struct sirix_run *run, const struct sirix_plan *plan,
                                      uint32_t first, struct sirix_sequence **out, bool **out_open,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
