/*
 * Lines out of a descriptor, written by a thread of its own, so that a peer that does not read holds
 * up nobody but its own answers.
 *
 * Order     Lines go out whole and in the order of sending.
 * Limit     Sending never waits and never refuses: whoever makes answers asks sirix_output_is_full()
 *           before it takes on more work, so that what waits stays bounded by the limit and the answers
 *           that were under way.
 * Threads   Any number may send.
 */
#ifndef SIRIX_TRANSPORT_OUTPUT_H
#define SIRIX_TRANSPORT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/status.h"

struct sirix_output;

/*
 * Writes to fd, which stays the caller's. bytes_max: where the output counts as full. SIRIX_IO,
 * SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_output_start(int fd, size_t bytes_max, struct sirix_output **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Sends a line, which has its line break; the buffer is empty afterwards. SIRIX_NO_MEMORY. */
enum sirix_status sirix_output_send(struct sirix_output *output, struct sirix_buf *line,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

bool sirix_output_is_full(struct sirix_output *output);

/* Whether the descriptor cannot be written to any more; what is sent then is dropped. */
bool sirix_output_is_broken(struct sirix_output *output);

/*
 * A descriptor that is readable when the output breaks, and when it is not full any more;
 * sirix_output_take_event() makes it wait again.
 */
int sirix_output_event_fd(const struct sirix_output *output);
void sirix_output_take_event(struct sirix_output *output);

/* How much went out so far. */
uint64_t sirix_output_written_bytes(struct sirix_output *output);

/*
 * Waits until everything is written or the output is broken, then ends the thread and frees all of
 * it: true. False when the peer takes nothing for quiet_ms: the thread still waits for it and goes
 * on using the output, so the process must be left with _exit().
 */
bool sirix_output_stop(struct sirix_output *output, uint32_t quiet_ms);

#endif
