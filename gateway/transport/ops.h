/*
 * The gateway's health and metrics, for probe/probe.h. Ready means that storaged has answered just now,
 * and that the process is not ending.
 */
#ifndef SIRIX_TRANSPORT_OPS_H
#define SIRIX_TRANSPORT_OPS_H

#include "base/status.h"
#include "mcp/server.h"
#include "probe/probe.h"

enum { SIRIX_OPS_READY_MS = 1000 };

/* Serves at HOST:PORT until sirix_probe_stop(). SIRIX_INVALID (field ops), SIRIX_IO, SIRIX_NO_MEMORY. */
enum sirix_status sirix_ops_start(const struct sirix_mcp_server *server, const char *listen,
                                  struct sirix_probe **out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
