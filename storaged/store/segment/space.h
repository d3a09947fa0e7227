/*
 * Room on the disk of one database: how much is free, below what writes stop, and a reserve file whose
 * bytes are given back when even a delete finds no room.
 *
 * Reserve   `reserve` beside the data: an eighth of the data file, 256 KiB to 16 MiB, really allocated.
 * Threads   One thread at a time, except sirix_space_free() and sirix_space_check().
 */
#ifndef SIRIX_STORE_SEGMENT_SPACE_H
#define SIRIX_STORE_SEGMENT_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

enum {
    SIRIX_SPACE_RESERVE_BYTES_MIN = 256 * 1024,
    SIRIX_SPACE_RESERVE_BYTES_MAX = 16 * 1024 * 1024,
    SIRIX_SPACE_STOP_BYTES = 64 * 1024 * 1024, /* Or a hundredth of the disk, what is more. */
};

struct sirix_space {
    int dir_fd;          /* Of the database's folder; borrowed. */
    uint64_t stop_bytes; /* 0: by the rule above. */
    uint64_t reserved;   /* Size of the reserve file. */
};

void sirix_space_init(struct sirix_space *space, int dir_fd, uint64_t stop_bytes);

/* Bytes that are free for us, and below how many writes stop. SIRIX_IO. */
enum sirix_status sirix_space_free(const struct sirix_space *space, uint64_t *out_free,
                                   uint64_t *out_stop, struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_NO_SPACE, naming both figures, when writes have to stop. */
enum sirix_status sirix_space_check(const struct sirix_space *space,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Makes the reserve as large as a data file of file_bytes wants it, if there is room in plenty. */
void sirix_space_keep_reserve(struct sirix_space *space, uint64_t file_bytes);

/* Gives the reserve to the disk; false when there is none. */
bool sirix_space_release_reserve(struct sirix_space *space);

#endif
