/*
 * Server reflection, v1 and v1alpha, from the embedded descriptor set: what lets grpcurl and dynamic
 * clients call storaged without its .proto files.
 */
#ifndef SIRIX_RPC_REFLECTION_H
#define SIRIX_RPC_REFLECTION_H

#include "base/status.h"
#include "rpc/runtime/server.h"

/* Adds both methods to a server. */
enum sirix_status sirix_rpc_reflection_add(struct sirix_rpc_server *server,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
