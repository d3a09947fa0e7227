/*
 * A folder of folders, worked on by descriptor: whatever happens to the path above it, these
 * functions stay inside. What changes names is on disk when a function returns.
 */
#ifndef SIRIX_SERVICE_FOLDER_H
#define SIRIX_SERVICE_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

struct sirix_folder;

enum {
    SIRIX_FOLDER_PATH_BYTES = 4096,
    SIRIX_FOLDER_NAME_BYTES = 160,
    SIRIX_FOLDER_DEPTH_MAX = 8, /* Of what is deleted or measured. */
};

/* Opens DIR/name, which is made (mode 0700) if it is not there. */
enum sirix_status sirix_folder_open(const char *dir, const char *name,
                                    struct sirix_folder **out_folder,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_folder_close(struct sirix_folder *folder);

/* The path of an entry, for libraries that want one. SIRIX_INVALID: too long. */
enum sirix_status sirix_folder_path(const struct sirix_folder *folder, const char *name, char *out,
                                    size_t size, struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_folder_make(struct sirix_folder *folder, const char *name,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_folder_exists(const struct sirix_folder *folder, const char *name,
                                      bool *out_is, struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_folder_rename(struct sirix_folder *folder, const char *from, const char *to,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Deletes an entry with everything in it; one that is not there is no failure. */
enum sirix_status sirix_folder_delete(struct sirix_folder *folder, const char *name,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Bytes allocated on disk for an entry and what is in it. SIRIX_NOT_FOUND. */
enum sirix_status sirix_folder_bytes(const struct sirix_folder *folder, const char *name,
                                     uint64_t *out_bytes, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Visits the names of all folders in it, in no order. False ends the walk. */
typedef bool (*sirix_folder_visit_fn)(void *context, const char *name);
enum sirix_status sirix_folder_list(const struct sirix_folder *folder, sirix_folder_visit_fn visit,
                                    void *context, struct sirix_error *err) SIRIX_MUST_CHECK;

/* A name for something that waits to be deleted; begins with a dot. */
void sirix_folder_drop_name(uint64_t number, char out_name[SIRIX_FOLDER_NAME_BYTES]);

#endif
