/*
 * A small file as a whole: what is configured, not what is stored.
 */
#ifndef SIRIX_BASE_FILE_H
#define SIRIX_BASE_FILE_H

#include <sys/stat.h>

#include "base/buf.h"

/*
 * Appends the file to a buffer, whose limit is the file's. *out_info is of what was read. SIRIX_IO says
 * which file and why; SIRIX_EXHAUSTED; SIRIX_NO_MEMORY. After an error the buffer has what came.
 */
enum sirix_status sirix_file_read(const char *path, struct sirix_buf *into, struct stat *out_info,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a file is another one, or was written since. */
bool sirix_file_has_changed(const struct stat *before, const struct stat *now);

#endif
