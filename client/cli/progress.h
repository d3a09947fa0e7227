/*
 * A bar on a terminal for long transfers:
 *
 *     users.json  42% [========>           ] 12.3 MB of 29.0 MB  45.2 MB/s  0:03 left
 *
 * Drawn to stderr, ten times a second at most, and only if that is a terminal.
 */
#ifndef SIRIX_CLI_PROGRESS_H
#define SIRIX_CLI_PROGRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIRIXCTL_PROGRESS_BYTES_MAX = 256 };

struct sirixctl_progress {
    const char *label;
    bool shown;
    uint64_t total_bytes; /* 0: not known. */
    uint64_t done_bytes;
    uint64_t start_ns;
    uint64_t drawn_ns;
};

/* wanted: false draws nothing, wherever stderr goes. label must outlive it. */
void sirixctl_progress_start(struct sirixctl_progress *progress, const char *label,
                             uint64_t total_bytes, bool wanted);
void sirixctl_progress_add(struct sirixctl_progress *progress, uint64_t bytes);

/* Removes the bar from the screen. */
void sirixctl_progress_stop(struct sirixctl_progress *progress);

/* The text of the bar after elapsed_ns; returns its length. The label is shown as safe text. */
size_t sirixctl_progress_format(const struct sirixctl_progress *progress, uint64_t elapsed_ns,
                                char out_text[SIRIXCTL_PROGRESS_BYTES_MAX]);

#endif
