/* What nobody sees takes its name in one rename. */
#include "service/registry_restore.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "service/registry_state.h"
#include "store/segment/segment.h"

enum sirix_status sirix_registry_restore_begin(struct sirix_registry *registry,
                                               struct sirix_bytes name,
                                               struct sirix_restore_place *out_place,
                                               struct sirix_error *err)
{
    struct sirix_restore_place place = {.name = ""};
    enum sirix_status status = sirix_name_check(SIRIX_NAME_DATABASE, name, "database", err);

    if (status != SIRIX_OK) {
        return status;
    }
    memcpy(place.name, name.data, name.len);
    (void)pthread_mutex_lock(&registry->naming);
    status = sirix_registry_refuse_twin(registry, place.name, err);
    (void)snprintf(place.folder, sizeof(place.folder), ".restore-%" PRIu64,
                   registry->restore_count++);
    (void)pthread_mutex_unlock(&registry->naming);
    if (status == SIRIX_OK) {
        status =
            sirix_folder_path(registry->folder, place.folder, place.path, sizeof(place.path), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_folder_delete(registry->folder, place.folder, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_folder_make(registry->folder, place.folder, err);
    }
    if (status == SIRIX_OK) {
        *out_place = place;
    }
    return status;
}

enum sirix_status sirix_registry_restore_backend(struct sirix_registry *registry,
                                                 const struct sirix_restore_place *place,
                                                 struct sirix_backend **out_backend,
                                                 struct sirix_error *err)
{
    const struct sirix_lmdb_options options = {
        .dir = place->path, .map_bytes_max = registry->options.map_bytes_max, .create = true};

    return sirix_backend_open_lmdb(&options, out_backend, err);
}

enum sirix_status sirix_registry_restore_finish(struct sirix_registry *registry,
                                                const struct sirix_restore_place *place,
                                                struct sirix_error *err)
{
    (void)pthread_mutex_lock(&registry->naming);
    enum sirix_status status = sirix_registry_refuse_twin(registry, place->name, err);
    if (status == SIRIX_OK) {
        status = sirix_folder_rename(registry->folder, place->folder, place->name, err);
    }
    if (status == SIRIX_OK) {
        (void)atomic_fetch_add(&registry->count, 1);
    }
    (void)pthread_mutex_unlock(&registry->naming);
    return status;
}

void sirix_registry_restore_abort(struct sirix_registry *registry,
                                  const struct sirix_restore_place *place)
{
    struct sirix_error left = {0};

    /* What cannot be removed now is at the next start. */
    enum sirix_status status = sirix_folder_delete(registry->folder, place->folder, &left);
    (void)status;
}
