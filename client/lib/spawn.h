/* Finding the program storaged and starting it for one folder. */
#ifndef SIRIX_LIB_SPAWN_H
#define SIRIX_LIB_SPAWN_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

/* Of the log that an embedded daemon leaves in its folder; a longer one is begun anew. */
enum { SIRIX_SPAWN_LOG_BYTES_MAX = 1024 * 1024 };

/*
 * Where storaged is: wish if not NULL, else beside the running program, else in an absolute folder
 * of PATH. *out_program is absolute and the caller's to free(). SIRIX_NOT_FOUND, SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_spawn_find(const char *wish, char **out_program,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_spawn_end {
    SIRIX_SPAWN_READY,  /* It said that it listens. */
    SIRIX_SPAWN_EXITED, /* It ended without: somebody else owns the folder, or it cannot. */
    SIRIX_SPAWN_SILENT, /* Neither by the time given; it goes on. */
};

struct sirix_spawned {
    enum sirix_spawn_end end;
    pid_t pid; /* Of a child that still runs; ours to reap. */
    /* Of one that EXITED: its exit code (128 + signal if it was killed) and its last words. */
    int exit_code;
    char last_line[256];
};

/*
 * Runs `program --data directory --embedded --ready-fd N` with a session of its own, null stdin and
 * stdout, nothing else of our descriptors, and its log in directory_fd's storaged.log; waits until
 * it is ready or gone, or until_ns. directory is absolute. SIRIX_IO: it could not be started.
 */
enum sirix_status sirix_spawn_start(const char *program, const char *directory, int directory_fd,
                                    uint64_t until_ns, struct sirix_spawned *out_spawned,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
