/* The methods of sirix.storage.v1.Storage, to be added to a server. */
#ifndef SIRIX_RPC_STORAGE_H
#define SIRIX_RPC_STORAGE_H

#include "base/status.h"
#include "rpc/runtime/server.h"

struct sirix_service;
struct sirix_rpc_storage;

/* service outlives the server; the result lives until after it. */
enum sirix_status sirix_rpc_storage_new(struct sirix_rpc_server *server,
                                        struct sirix_service *service, bool embedded,
                                        struct sirix_rpc_storage **out_storage,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
/* What ReloadPrincipals reads again; before the server starts, and outlives it. */
struct sirix_principal_store;
void sirix_rpc_storage_set_principals(struct sirix_rpc_storage *storage,
                                      struct sirix_principal_store *principals);

/*
 * Reads them again, and ends the calls that last for ever and began with what was in force before: their
 * clients call again.
 */
enum sirix_status sirix_rpc_storage_reload_principals(struct sirix_rpc_storage *storage,
                                                      size_t *out_count,
                                                      struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_rpc_storage_free(struct sirix_rpc_storage *storage);

/* The tables of each file; ended by a row without a path. */
extern const struct sirix_rpc_method sirix_rpc_admin_methods[];
extern const struct sirix_rpc_method sirix_rpc_catalogue_methods[];
extern const struct sirix_rpc_method sirix_rpc_read_methods[];
extern const struct sirix_rpc_method sirix_rpc_history_methods[];
extern const struct sirix_rpc_method sirix_rpc_diff_methods[];
extern const struct sirix_rpc_method sirix_rpc_apply_methods[];
extern const struct sirix_rpc_method sirix_rpc_import_methods[];
extern const struct sirix_rpc_method sirix_rpc_label_methods[];
extern const struct sirix_rpc_method sirix_rpc_query_methods[];
extern const struct sirix_rpc_method sirix_rpc_verify_methods[];
extern const struct sirix_rpc_method sirix_rpc_sql_methods[];
extern const struct sirix_rpc_method sirix_rpc_backup_methods[];
extern const struct sirix_rpc_method sirix_rpc_watch_methods[];

#define SIRIX_RPC_STORAGE_PATH(name) "/sirix.storage.v1.Storage/" name

#endif
