/*
 * A stack of a query's own: the threads that serve requests have small ones, and an evaluation that has
 * something to show stops in the middle and goes on later, perhaps on another thread.
 *
 *     sirix_stack_new() -> sirix_stack_resume() ... -> sirix_stack_free()
 *                                 |  ^
 *                                 v  |
 *                        work -> sirix_stack_suspend()
 *
 * Memory    mapped lazily between two guard pages; pages that were never touched cost nothing.
 * End       work has to return before _free(): whoever wants an early end makes the next
 *           sirix_stack_suspend() return and the work give up.
 * Threads   one at a time; any.
 */
#ifndef SIRIX_QUERY_RUN_STACK_H
#define SIRIX_QUERY_RUN_STACK_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"

struct sirix_stack;

typedef void (*sirix_stack_work_fn)(void *context);

/* size_bytes is rounded up to pages. SIRIX_NO_MEMORY. */
enum sirix_status sirix_stack_new(size_t size_bytes, sirix_stack_work_fn work, void *context,
                                  struct sirix_stack **out_stack,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_stack_free(struct sirix_stack *stack);

/* Runs the work until it suspends or returns. Not after its return. */
void sirix_stack_resume(struct sirix_stack *stack);

/* Whether the work has returned. */
bool sirix_stack_ended(const struct sirix_stack *stack);

/* Called by the work: goes back to whoever resumed it, and returns when it is resumed again. */
void sirix_stack_suspend(struct sirix_stack *stack);

/* The lowest address that the work may use; stacks grow towards it. */
const char *sirix_stack_floor(const struct sirix_stack *stack);

#endif
