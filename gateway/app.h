/*
 * sirix-mcp as a function, so that tests can serve another registry by the same program.
 *
 * On stdio, stdout carries nothing but the protocol: its descriptor is moved away before anything
 * else can write to it, and descriptor 1 becomes stderr.
 */
#ifndef SIRIX_GATEWAY_APP_H
#define SIRIX_GATEWAY_APP_H

#include "mcp/registry.h"

/* The whole program; its exit code. */
int sirix_gateway_main(int argc, char **argv, const struct sirix_mcp_registry *registry);

#endif
