/*
 * SQLite's memory, counted for each statement: what one needs is not taken from another. A statement runs on
 * one thread, and so is its memory: the budget of the thread that allocates is charged.
 *
 * Large pieces are also where a statement notices that it is over: one call of a function on a long text is
 * no step of the engine, but it allocates.
 */
#ifndef SIRIX_SQL_MEMORY_H
#define SIRIX_SQL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct sirix_sql_budget {
    size_t used;
    size_t used_max; /* The most at one time. */
    size_t limit;
    bool exceeded;                /* An allocation was refused for its sake. */
    bool lacking;                 /* An allocation failed, for whatever reason. */
    bool (*go_on)(void *context); /* Asked before large allocations; false refuses. May be NULL. */
    void *context;
};

/* Makes SQLite use it; before its first use in the process, and any number of times. */
enum sirix_status sirix_sql_memory_install(struct sirix_error *err) SIRIX_MUST_CHECK;

/* From now on the thread's allocations are charged to budget; NULL: to nobody. Gives what was before. */
struct sirix_sql_budget *sirix_sql_budget_swap(struct sirix_sql_budget *budget);

/* An allocation failed: by the limit, which is the statement's fault, or there is none. */
enum sirix_status sirix_sql_no_memory(struct sirix_error *err);

#endif
