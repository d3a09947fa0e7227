/* The values of external variables, as --variables gives them: one JSON object. */
#ifndef SIRIX_CLI_COMMANDS_QUERY_VARIABLES_H
#define SIRIX_CLI_COMMANDS_QUERY_VARIABLES_H

#include "base/arena.h"
#include "sirix/query.h"

enum { SIRIXCTL_VARIABLES_BYTES_MAX = 1024 * 1024 };

/* The list and its texts live in the arena. Zeroed: there are none. */
struct sirixctl_variables {
    struct sirix_arena arena;
    struct sirix_query_variable *list;
    size_t count;
};

/* Reads the object: a field is a variable. A text of NULL gives none. deinit it whatever comes of it. */
enum sirix_status sirixctl_variables_init(struct sirixctl_variables *variables, const char *text,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
void sirixctl_variables_deinit(struct sirixctl_variables *variables);

#endif
