/*
 * For whoever runs the process: GET /healthz/started, /healthz/alive, /healthz/ready and /metrics
 * (Prometheus' text form), on an address of their own. No data of the storage is to be seen there.
 *
 * Ready means that storaged has answered just now, and that the process is not ending.
 */
#ifndef SIRIX_TRANSPORT_OPS_H
#define SIRIX_TRANSPORT_OPS_H

#include "base/status.h"
#include "mcp/server.h"

enum { SIRIX_OPS_READY_MS = 1000, SIRIX_OPS_CONNECTIONS_MAX = 32, SIRIX_OPS_IDLE_S = 10 };

struct sirix_ops;

/* Serves at HOST:PORT. SIRIX_INVALID (field ops), SIRIX_IO, SIRIX_NO_MEMORY. */
enum sirix_status sirix_ops_start(const struct sirix_mcp_server *server, const char *listen,
                                  struct sirix_ops **out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* NULL is allowed. */
void sirix_ops_stop(struct sirix_ops *ops);

#endif
