/*
 * libsirix: the client of storaged, a revision store of JSON documents.
 *
 *     struct sirix_error err = {0};
 *     struct sirix_client *client = NULL;
 *     if (sirix_embedded_open("/var/lib/notes", NULL, &client, &err) != SIRIX_OK) ...
 *
 * What the calls mean is said by the contract, proto/sirix/storage/v1/storage.proto; this header
 * says what the library adds.
 *
 * Errors    A failing call returns its status and fills *err (which may be NULL): the stable reason,
 *           the field, JSON pointer or offset where it is wrong, the current revision and a retry
 *           hint, as the server sent them. Outputs are written on success only.
 * Outcome   A write answers SIRIX_OUTCOME_UNKNOWN when the request may have reached the server and
 *           no answer came back (lost connection, deadline, cancellation). Every other failure of a
 *           write means that nothing was changed.
 * Retries   Reads are tried again on SIRIX_UNAVAILABLE, and on SIRIX_EXHAUSTED with a retry hint (no
 *           room just now), with growing pauses, until the deadline or for connect_timeout_ms after
 *           the first miss; writes only if they carry an idempotency key.
 *           A dry run is a read: tried again as one, and never of unknown outcome. Imports and
 *           streamed values are never sent twice. A stream is tried again until its first message
 *           came.
 * Memory    Strings and bytes of a request are read during the call only. An answer that comes as a
 *           pointer is the caller's: one sirix_client_free() gives back all of it.
 * Threads   A client may be used by any number of threads at once; an answer is plain memory; a
 *           stream belongs to one thread at a time; a cancel handle may be triggered by any thread.
 * Process   The first open tunes malloc for gRPC and silences gRPC's log, once a process. After an
 *           open, do not fork without exec. The library writes to no file descriptor of the
 *           process, handles no signal, and reads no environment variable but PATH, for storaged.
 * Limits    A message is at most 4 MiB. Names have at most SIRIX_NAME_BYTES_MAX (128) bytes.
 *
 * The status table, struct sirix_error and struct sirix_bytes are those of base/, which is
 * installed beside this header: a program that also uses base (the gateway does) must see one and
 * the same type, so they are included, not declared a second time.
 */
#ifndef SIRIX_SIRIX_H
#define SIRIX_SIRIX_H

#include "sirix/admin.h"
#include "sirix/catalogue.h"
#include "sirix/client.h"
#include "sirix/labels.h"
#include "sirix/query.h"
#include "sirix/read.h"
#include "sirix/sql.h"
#include "sirix/watch.h"
#include "sirix/write.h"

#endif
