/*
 * The data folder: ours alone, and one daemon's at a time.
 *
 * The lock is taken before anything else is touched (a socket unlinked, a database opened) and held
 * to the end of the process; it goes with it, also when it is killed.
 */
#ifndef SIRIX_APP_DATA_FOLDER_H
#define SIRIX_APP_DATA_FOLDER_H

#include <stddef.h>

#include "base/status.h"

struct sirix_data_folder {
    int fd;
    int lock_fd;
    char *path;           /* Absolute. */
    unsigned closed_mode; /* What its mode was before it was closed to others; 0: it was closed. */
};

/*
 * Makes the folder if only its last part is missing, makes sure that nobody else may enter it (mode
 * 0700), and locks it. SIRIX_UNAVAILABLE (reason locked): another daemon has it. SIRIX_PRECONDITION:
 * it belongs to somebody else, is open to others and not ours to close (or a place that all share,
 * as /tmp is), or lies on a network file system or one that cannot be written. SIRIX_IO.
 */
enum sirix_status sirix_data_folder_open(const char *dir, struct sirix_data_folder *out_folder,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same checks without making, changing or locking anything. */
enum sirix_status sirix_data_folder_check(const char *dir,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_data_folder_close(struct sirix_data_folder *folder);

/*
 * Removes the socket that a killed daemon left, and gives the address to listen at: the absolute
 * path, or, where that is longer than a socket's may be, one relative to the folder, which then is
 * made the working directory.
 */
enum { SIRIX_SOCKET_PATH_BYTES_MAX = 107 };
enum sirix_status sirix_data_folder_socket(struct sirix_data_folder *folder, const char *name,
                                           char *out_address, size_t size,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
