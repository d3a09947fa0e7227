/*
 * Databases that are being restored: in folders whose names begin with a dot, which the next start
 * removes if nobody did.
 */
#ifndef SIRIX_SERVICE_REGISTRY_RESTORE_H
#define SIRIX_SERVICE_REGISTRY_RESTORE_H

#include "base/name.h"
#include "service/folder.h"
#include "service/registry.h"

struct sirix_restore_place {
    char name[SIRIX_NAME_BYTES_MAX + 1]; /* That it will have. */
    char folder[SIRIX_FOLDER_NAME_BYTES];
    char path[SIRIX_FOLDER_PATH_BYTES];
};

/* Makes the folder. SIRIX_INVALID (field database); SIRIX_ALREADY_EXISTS. */
enum sirix_status sirix_registry_restore_begin(struct sirix_registry *registry,
                                               struct sirix_bytes name,
                                               struct sirix_restore_place *out_place,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* An empty backend in it. */
enum sirix_status sirix_registry_restore_backend(struct sirix_registry *registry,
                                                 const struct sirix_restore_place *place,
                                                 struct sirix_backend **out_backend,
                                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* Everything in it is on disk and closed: gives it its name. SIRIX_ALREADY_EXISTS. */
enum sirix_status sirix_registry_restore_finish(struct sirix_registry *registry,
                                                const struct sirix_restore_place *place,
                                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* Removes the folder. */
void sirix_registry_restore_abort(struct sirix_registry *registry,
                                  const struct sirix_restore_place *place);

#endif
