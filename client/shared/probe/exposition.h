/*
 * Prometheus' text form of what is counted (version 0.0.4).
 *
 *     # HELP sirix_commits_total Revisions made.
 *     # TYPE sirix_commits_total counter
 *     sirix_commits_total 12
 *
 * Names, helps and labels are literals of ours or names of methods: nothing that a caller may choose
 * becomes a label. The first failure is kept and told at the end.
 */
#ifndef SIRIX_PROBE_EXPOSITION_H
#define SIRIX_PROBE_EXPOSITION_H

#include "base/buf.h"
#include "base/histogram.h"

struct sirix_exposition {
    struct sirix_buf *out;
    enum sirix_status status;
};

/* What the lines after it are of; type is "counter", "gauge" or "histogram". */
void sirix_exposition_family(struct sirix_exposition *exposition, const char *name,
                             const char *type, const char *help);

/* labels is "" or as {method="Apply"}, braces included. */
void sirix_exposition_number(struct sirix_exposition *exposition, const char *name,
                             const char *labels, uint64_t value);

/* A number of microseconds, as seconds. */
void sirix_exposition_seconds(struct sirix_exposition *exposition, const char *name,
                              const char *labels, uint64_t value_us);

/* A family of one number. */
void sirix_exposition_one(struct sirix_exposition *exposition, const char *name, const char *type,
                          const char *help, uint64_t value);

/*
 * All lines of one histogram. label is "" or as method="Apply" without braces. Of times (in
 * microseconds, shown in seconds) or of sizes, as bounds say.
 */
void sirix_exposition_histogram(struct sirix_exposition *exposition, const char *name,
                                const char *label, const uint64_t *bounds,
                                const struct sirix_histogram_reading *reading);

#endif
