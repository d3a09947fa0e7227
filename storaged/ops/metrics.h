/*
 * What is told of the daemon in numbers: /metrics for a machine that gathers them.
 *
 * No name of a database, resource, branch or principal is a label: those are without bound. The
 * methods are; there are some forty.
 */
#ifndef SIRIX_OPS_METRICS_H
#define SIRIX_OPS_METRICS_H

#include "ops/health.h"
#include "probe/exposition.h"
#include "service/service.h"

enum { SIRIX_METRICS_CODES = 17 };

/* One method, as whoever serves it has counted. */
struct sirix_metrics_method {
    const char *name; /* "Apply", "Health/Check"; a literal of ours. */
    bool lasts;       /* Meant to last; it has no times. */
    uint64_t running;
    uint64_t codes[SIRIX_METRICS_CODES]; /* Ended, by canonical code. */
    struct sirix_histogram_reading times;
};

/* Of the service with gRPC. */
struct sirix_metrics_calls {
    const struct sirix_metrics_method *methods;
    size_t method_count;
    uint64_t running;
    uint64_t waiting; /* For a worker. */
    uint64_t slow;
};

/* Writes everything; service may be NULL (it is not open yet). Any thread. */
void sirix_metrics_write(struct sirix_exposition *exposition, struct sirix_health *health,
                         struct sirix_service *service, const struct sirix_metrics_calls *calls);

/* The lines that every process of ours gives of itself: memory, descriptors, start, threads. */
void sirix_metrics_write_process(struct sirix_exposition *exposition);

#endif
