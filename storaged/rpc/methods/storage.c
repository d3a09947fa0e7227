/* All tables, one after the other. */
#include "rpc/methods/storage.h"

#include <stdlib.h>

#include "rpc/methods/codec.h"

static const struct sirix_rpc_method *const tables[] = {
    sirix_rpc_admin_methods,   sirix_rpc_catalogue_methods, sirix_rpc_read_methods,
    sirix_rpc_history_methods, sirix_rpc_apply_methods,     sirix_rpc_import_methods,
    sirix_rpc_label_methods,   sirix_rpc_verify_methods,    sirix_rpc_diff_methods,
    sirix_rpc_query_methods,   sirix_rpc_sql_methods,       sirix_rpc_backup_methods,
    sirix_rpc_watch_methods,
};

enum sirix_status sirix_rpc_storage_new(struct sirix_rpc_server *server,
                                        struct sirix_service *service, bool embedded,
                                        struct sirix_rpc_storage **out_storage,
                                        struct sirix_error *err)
{
    struct sirix_rpc_storage *storage = calloc(1, sizeof(*storage));
    enum sirix_status status = SIRIX_OK;

    if (storage == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the storage methods");
    }
    *storage = (struct sirix_rpc_storage){
        .service = service,
        .server = server,
        .embedded = embedded,
        .started_us = sirix_clock_realtime_us(service->clock),
    };
    for (size_t i = 0; status == SIRIX_OK && i < sizeof(tables) / sizeof(tables[0]); i++) {
        size_t count = 0;
        while (tables[i][count].path != NULL) {
            count++;
        }
        status = sirix_rpc_server_add_methods(server, tables[i], count, storage, err);
    }
    if (status != SIRIX_OK) {
        free(storage);
        return status;
    }
    *out_storage = storage;
    return SIRIX_OK;
}

void sirix_rpc_storage_set_principals(struct sirix_rpc_storage *storage,
                                      struct sirix_principal_store *principals)
{
    storage->principals = principals;
}

void sirix_rpc_storage_free(struct sirix_rpc_storage *storage)
{
    free(storage);
}
