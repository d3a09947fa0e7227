/*
 * TLS of doors: certificates are files, and read again when they changed.
 *
 * Reading   At each handshake the files are looked at (time, size, inode). If one has changed all are
 *           read; what cannot be used is told, and the ones before stay in force until a file changes
 *           again, so that a certificate and its key may be replaced one after the other.
 * Clients   With a client_ca every client has to have a certificate of it.
 */
#ifndef SIRIX_RPC_TLS_H
#define SIRIX_RPC_TLS_H

#include "base/status.h"
#include "rpc/runtime/server.h"

enum { SIRIX_RPC_TLS_FILE_BYTES_MAX = 1024 * 1024 };

/* err NULL: the files are in force; else they are not, and why. On any thread. */
typedef void (*sirix_rpc_tls_fn)(void *context, const struct sirix_error *err);

struct sirix_rpc_tls_files {
    const char *certificate; /* PEM: the server's, then those between it and the root. */
    const char *key;         /* PEM. */
    const char *client_ca;   /* PEM; NULL: clients are asked for nothing. */
    sirix_rpc_tls_fn told;   /* Of every change after the first reading; may be NULL. */
    void *context;
};

/* Whether the files can be read and belong together. SIRIX_IO, SIRIX_INVALID, SIRIX_NO_MEMORY. */
enum sirix_status sirix_rpc_tls_check(const struct sirix_rpc_tls_files *files,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* sirix_rpc_door_listen() with TLS 1.2 or 1.3; texts are copied. */
enum sirix_status sirix_rpc_door_listen_tls(struct sirix_rpc_door *door, const char *address,
                                            const struct sirix_rpc_tls_files *files, int *out_port,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
