/*
 * An error on the wire: the canonical code and sentence in the status, and everything else in
 * grpc-status-details-bin.
 */
#ifndef SIRIX_RPC_DETAILS_H
#define SIRIX_RPC_DETAILS_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

/* Larger trailing metadata fails the call, or its whole connection, at the receiver. */
enum { SIRIX_RPC_DETAILS_BYTES_MAX = 4096 };

/* Writes the google.rpc.Status of err (whose status is not OK) into out and returns its size. */
size_t sirix_rpc_details_encode(const struct sirix_error *err,
                                uint8_t out[SIRIX_RPC_DETAILS_BYTES_MAX]);

#endif
