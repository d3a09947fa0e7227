/*
 * The principals of a daemon: the file that was read last, read again when asked to.
 *
 * Threads   authenticate and reload from any thread.
 */
#ifndef SIRIX_AUTH_PRINCIPAL_STORE_H
#define SIRIX_AUTH_PRINCIPAL_STORE_H

#include "auth/principal_table.h"

struct sirix_principal_store;

/*
 * Reads the file. SIRIX_IO; SIRIX_PRECONDITION: others than its owner may write it; SIRIX_INVALID: as
 * sirix_principal_table_parse().
 */
enum sirix_status sirix_principal_store_open(const char *path,
                                             struct sirix_principal_store **out_store,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* No reference to a principal is needed for it. NULL is allowed. */
void sirix_principal_store_close(struct sirix_principal_store *store);

/* How many there are now. */
size_t sirix_principal_store_count(struct sirix_principal_store *store);

/*
 * Reads the file again; after an error everything is as it was. Calls that run go on as who they are;
 * sirix_principal_is_outdated() tells them. *out_count: how many principals there are.
 */
enum sirix_status sirix_principal_store_reload(struct sirix_principal_store *store,
                                               size_t *out_count,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* sirix_principal_table_find() with a reference, which the caller gives back with _unref. */
enum sirix_status sirix_principal_store_authenticate(struct sirix_principal_store *store,
                                                     const struct sirix_credentials *credentials,
                                                     const struct sirix_principal **out_principal,
                                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
