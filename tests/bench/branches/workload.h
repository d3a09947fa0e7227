/*
 * Five workflows of agents that branch, as BranchBench (arXiv 2604.17180) describes them: every step
 * makes a branch, changes it, asks it, and may throw it away. What a workflow's statements do is said
 * here; how a store does them is its own matter.
 *
 * The data are CH-benCHmark's at scale 0: 10 warehouses of 10 districts, 1,000 items in the stock of
 * each warehouse, 100 customers and 100 orders a district, 5 to 15 lines an order.
 */
#ifndef SIRIX_TESTS_BENCH_BRANCHES_WORKLOAD_H
#define SIRIX_TESTS_BENCH_BRANCHES_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BRANCHES_WAREHOUSES = 10,
    BRANCHES_DISTRICTS = 10,
    BRANCHES_NAME_BYTES = 32,
    BRANCHES_ORDERS_LOOKED_AT = 20, /* Of each district, the newest, for wrong counts. */
};

/* How large the data are: items and customers a district (and as many orders). */
struct branches_scale {
    unsigned items;
    unsigned customers;
};

/* --- What a step may do ------------------------------------------------------------------------- */

enum branches_kind {
    /* software_dev: two new members in every customer, then their values. */
    BRANCHES_ADD_TIER,
    BRANCHES_FILL_TIER,
    /* failure_repro */
    BRANCHES_ADD_TO_DISTRICTS,
    BRANCHES_ADD_TO_WAREHOUSES,
    BRANCHES_ADD_TO_ORDERS,
    BRANCHES_DROP_FROM_DISTRICTS,
    BRANCHES_DROP_FROM_WAREHOUSES,
    BRANCHES_INSERT_ORDER, /* With no lines. */
    BRANCHES_SET_BALANCE,
    BRANCHES_DELETE_LINES,
    BRANCHES_INSERT_LINE,
    /* data_cleaning */
    BRANCHES_ADD_CHECKED,
    BRANCHES_ZERO_MISSING,
    BRANCHES_DELETE_MISSING,
    /* mcts, simulation: if there is enough. */
    BRANCHES_DECREMENT,
    BRANCHES_RESTOCK, /* All of a warehouse that are below 10. */
};

struct branches_statement {
    enum branches_kind kind;
    unsigned warehouse; /* From 1, as all numbers of things. */
    unsigned district;
    unsigned customer;
    unsigned item;
    unsigned order;
    unsigned line;
    unsigned value;  /* An amount, a declared number of lines. */
    unsigned column; /* Makes the names of new members differ. */
};

enum branches_question {
    BRANCHES_NULL_TIERS,        /* How many customers have no tier. */
    BRANCHES_TIERS,             /* Number and mean balance a tier; the sum of both. */
    BRANCHES_WRONG_COUNTS,      /* Newer orders whose lines are not as many as declared. */
    BRANCHES_NEGATIVE_BALANCES, /* How many. */
    BRANCHES_MISSING_BALANCES,  /* How many, plus the spread of payments. */
    BRANCHES_REVENUE,           /* Of all lines whose warehouse is there. */
    BRANCHES_STOCK_OUTS,  /* Items up to three quarters: how many below 10, plus the total cost. */
    BRANCHES_STOCK_COSTS, /* How many below 10, plus the mean and the least cost. */
};

/* --- Stores -------------------------------------------------------------------------------------- */

/*
 * What a store can do; any failure ends the program. A connection belongs to one worker. Names of
 * branches are new; the root's is "main".
 */
struct branches_store {
    void *(*open)(const char *where, const struct branches_scale *scale);
    void (*close)(void *connection);
    void (*create)(void *connection, const char *branch, const char *parent);
    void (*connect)(void *connection, const char *branch); /* A first small read of it. */
    void (*drop)(void *connection, const char *branch);
    void (*run)(void *connection, const char *branch, const struct branches_statement *statement);
    double (*ask)(void *connection, const char *branch, enum branches_question question,
                  unsigned column);
    /* One query over several branches, the sum of their answers; NULL: the store has none. */
    double (*ask_all)(void *connection, const char *const *branches, const unsigned *columns,
                      size_t count, enum branches_question question);
};

/*
 * The main of a store's program:
 *
 *     PROGRAM WHERE WORKFLOW full|mini THREADS_MAX SECONDS_MAX ITEMS CUSTOMERS
 *
 * THREADS_MAX: fewer workers than the workflow has share its steps; 0: as many. Past SECONDS_MAX no
 * step begins any more. What was measured is printed as "name value" lines.
 */
int branches_main(int argc, char **argv, const struct branches_store *store);

#endif
