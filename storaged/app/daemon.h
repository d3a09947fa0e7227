/* The daemon: its parts started in order, served until it is told to end, ended in reverse. */
#ifndef SIRIX_APP_DAEMON_H
#define SIRIX_APP_DAEMON_H

#include "app/arguments.h"

enum { SIRIX_EMBEDDED_IDLE_MS = 5000 };

/*
 * Runs until SIGTERM, SIGINT or, embedded, until nobody is left. Logs what it does; on failure the
 * error is logged and returned. SIRIX_OK: it ended well.
 */
enum sirix_status sirix_daemon_run(const struct sirix_app_options *options,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether the folder and the files that the options name would do; nothing is changed. */
enum sirix_status sirix_daemon_check(const struct sirix_app_options *options,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
