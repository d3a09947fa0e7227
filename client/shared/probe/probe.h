/*
 * For whoever runs a process: GET /healthz/started, /healthz/alive, /healthz/ready and /metrics
 * (Prometheus' text form), at an address of their own. No data of the storage is to be seen there, so
 * it needs neither TLS nor tokens; who may reach it is the network's to say.
 *
 * Threads   one of its own, on which the functions of the owner are called.
 */
#ifndef SIRIX_PROBE_PROBE_H
#define SIRIX_PROBE_PROBE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "probe/exposition.h"

enum {
    SIRIX_PROBE_CONNECTIONS_MAX = 32,
    SIRIX_PROBE_IDLE_S = 10,
    SIRIX_PROBE_TEXT_BYTES_MAX = 1024 * 1024,
};

/* What the process says of itself. */
struct sirix_probe_owner {
    void *context;
    bool (*is_started)(void *context); /* NULL: from the first on. */
    bool (*is_alive)(void *context);   /* NULL: as long as it answers. */
    bool (*is_ready)(void *context);
    void (*write_metrics)(void *context, struct sirix_exposition *exposition);
};

struct sirix_probe;

/*
 * Serves at HOST:PORT (HOST is localhost or an IP address, an IPv6 address in brackets; port 0 takes
 * a free one). SIRIX_INVALID: no such address; SIRIX_IO: it cannot be had; SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_probe_start(const struct sirix_probe_owner *owner, const char *listen,
                                    struct sirix_probe **out_probe,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

uint16_t sirix_probe_port(const struct sirix_probe *probe);

/* Whether a text is an address to listen at, as sirix_probe_start() wants it. */
enum sirix_status sirix_probe_check_address(const char *listen,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* NULL is allowed. */
void sirix_probe_stop(struct sirix_probe *probe);

#endif
