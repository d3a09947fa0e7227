/* One setting out of a JSON value. Internal to guard/settings*. */
#ifndef SIRIX_GUARD_SETTINGS_READ_H
#define SIRIX_GUARD_SETTINGS_READ_H

#include "guard/settings.h"
#include "json/tree.h"

/* Checks the value against the table and takes it over, with its bit in given. */
enum sirix_status sirix_setting_read(struct sirix_settings *settings,
                                     const struct sirix_setting *setting,
                                     const struct sirix_json_node *value,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
