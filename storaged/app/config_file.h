/*
 * A file of settings: what the command line takes, without the dashes, one a line.
 *
 *     # Comments and empty lines are for people.
 *     data = /var/lib/sirix
 *     listen = 127.0.0.1:50051
 *     insecure = no
 */
#ifndef SIRIX_APP_CONFIG_FILE_H
#define SIRIX_APP_CONFIG_FILE_H

#include "base/status.h"

enum { SIRIX_CONFIG_FILE_BYTES_MAX = 64 * 1024 };

/* One setting; both texts live as long as the file's. */
typedef enum sirix_status (*sirix_config_line_fn)(void *context, const char *name,
                                                  const char *value, struct sirix_error *err);

/*
 * Reads a file and visits its settings in order. *out_text holds all texts that were visited, and is the
 * caller's to free() when nothing needs them any more; it is set also when a visit fails. Errors name the file and the
 * line: SIRIX_NOT_FOUND, SIRIX_IO, SIRIX_INVALID, SIRIX_NO_MEMORY, and those of visit.
 */
enum sirix_status sirix_config_file_read(const char *path, sirix_config_line_fn visit,
                                         void *context, char **out_text,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
