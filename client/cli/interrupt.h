/*
 * Ctrl-C: the first one ends what is going on in an orderly way, the second one ends the program.
 *
 * Process   One at a time. SIGINT, SIGTERM and SIGHUP are taken from start to stop, unless they were
 *           ignored before (nohup). A thread of our own triggers the cancel handle, because that may
 *           not be done where a signal arrives.
 */
#ifndef SIRIX_CLI_INTERRUPT_H
#define SIRIX_CLI_INTERRUPT_H

#include <stdbool.h>

#include "sirix/sirix.h"

/* SIRIX_NO_MEMORY, SIRIX_IO. *out_cancel is for the calls, and lives until stop. */
enum sirix_status sirixctl_interrupt_start(struct sirix_call_cancel **out_cancel,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Only when no call has the handle any more. Without a start it does nothing. */
void sirixctl_interrupt_stop(void);

/* Waits until fd can be read or the program was interrupted; false: it was. */
bool sirixctl_interrupt_wait_readable(int fd);

#endif
