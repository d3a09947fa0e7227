/*
 * Results against what a case expects: the same number of items; structured ones as JSON values, in
 * which members have no order and numbers count by value; atomic ones as text, else as numbers.
 */
#ifndef SIRIX_TESTS_CONFORMANCE_QUERY_COMPARE_H
#define SIRIX_TESTS_CONFORMANCE_QUERY_COMPARE_H

#include "query/query.h"
#include "json/tree.h"

/* An item that a query gave; texts live in the case's arena. */
struct result_item {
    struct sirix_bytes json;
    struct sirix_bytes text; /* JSON text if structured, else the string value. */
    bool atomic;
};

struct comparison {
    struct sirix_arena *arena;
    double tolerance;
    bool any_order;
    const struct sirix_json_node *ignore_keys; /* An array of names, or NULL. */
};

/* Whether items are what the array of texts expects. */
bool compare_results(const struct comparison *comparison, const struct result_item *items,
                     size_t count, const struct sirix_json_node *expect);

/* The plain text of a string node, in the arena. */
struct sirix_bytes plain_text(struct sirix_arena *arena, const struct sirix_json_node *node);

#endif
