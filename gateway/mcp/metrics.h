/* What a server counts. Any thread; read by whoever shows it. */
#ifndef SIRIX_MCP_METRICS_H
#define SIRIX_MCP_METRICS_H

#include <stdatomic.h>

struct sirix_metrics {
    atomic_ullong requests_legacy;
    atomic_ullong requests_modern;
    atomic_ullong requests_failed; /* Answered with an error of the protocol. */
    atomic_ullong tools_called;
    atomic_ullong tools_refused; /* Answered with isError. */
    atomic_ullong tools_us;      /* What all calls took together. */
    atomic_ullong questions;     /* Asked of clients. */
    atomic_long running;         /* Requests that are being answered. */
};

#endif
