/* Settings out of JSON values. Internal to guard/. */
#ifndef SIRIX_GUARD_SETTINGS_READ_H
#define SIRIX_GUARD_SETTINGS_READ_H

#include "guard/settings.h"
#include "json/tree.h"

/* Checks the value against the table and takes it over. */
enum sirix_status sirix_setting_read(struct sirix_settings *settings,
                                     const struct sirix_setting *setting,
                                     const struct sirix_json_node *value,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Takes over a member of an object that says what may be seen: allowDatabases, denyDatabases,
 * allowResources, allowBranches. *out_is_known false: it is none of these. Texts go into the arena.
 */
enum sirix_status sirix_setting_read_access(struct sirix_arena *arena,
                                            const struct sirix_json_node *member,
                                            struct sirix_access *access, bool *out_is_known,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* The content of a file of at most the buffer's limit; the error names no path. SIRIX_IO. */
enum sirix_status sirix_setting_read_file(const char *path, struct sirix_buf *out,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
