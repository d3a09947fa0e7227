/*
 * grpc.health.v1.Health: Check, Watch and List over two services, the process ("") and the store
 * ("sirix.storage.v1.Storage").
 */
#ifndef SIRIX_RPC_HEALTH_H
#define SIRIX_RPC_HEALTH_H

#include <stdbool.h>

#include "base/status.h"
#include "rpc/runtime/server.h"

struct sirix_rpc_health;

enum sirix_rpc_health_service {
    SIRIX_RPC_HEALTH_PROCESS,
    SIRIX_RPC_HEALTH_STORAGE,
    SIRIX_RPC_HEALTH_SERVICES,
};

/*
 * Adds the methods to a server; both services are NOT_SERVING until told otherwise. Lives longer
 * than the server.
 */
enum sirix_status sirix_rpc_health_new(struct sirix_rpc_server *server,
                                       struct sirix_rpc_health **out_health,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* After sirix_rpc_server_free(). NULL is allowed. */
void sirix_rpc_health_free(struct sirix_rpc_health *health);

/* Any thread; those who watch are told. */
void sirix_rpc_health_set(struct sirix_rpc_health *health, enum sirix_rpc_health_service service,
                          bool serving);

#endif
