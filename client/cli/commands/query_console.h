/* What the command `query` and its console share. */
#ifndef SIRIX_CLI_COMMANDS_QUERY_CONSOLE_H
#define SIRIX_CLI_COMMANDS_QUERY_CONSOLE_H

#include "cli/command.h"
#include "cli/console.h"

/* Runs one query and shows its answer. */
enum sirix_status sirixctl_query_show(struct sirixctl *ctl,
                                      const struct sirix_query_request *request,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Queries of a person, one after the other; each is like the request but for its text. */
enum sirix_status sirixctl_query_console(struct sirixctl *ctl,
                                         const struct sirix_query_request *request,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
