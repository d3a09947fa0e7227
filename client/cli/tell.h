/*
 * How a failed command is told: to people in words, to programs as JSON.
 *
 *     sirixctl: there is no database shp
 *     hint: did you mean shop?
 *
 *     sirixctl: expected a value, not `}` (at /a/1, byte 8)
 *
 * The first line says what is wrong and where; a hint says what to do about it, if anything is known.
 */
#ifndef SIRIX_CLI_TELL_H
#define SIRIX_CLI_TELL_H

#include "cli/command.h"

enum { SIRIXCTL_HINT_BYTES_MAX = 320 };

/*
 * What would help, "" if nothing is known. May ask the server which names there are; ctl may have no
 * client. Never fails: a hint that cannot be had is none.
 */
void sirixctl_hint(struct sirixctl *ctl, const struct sirix_error *err,
                   char out_hint[SIRIXCTL_HINT_BYTES_MAX]);

/* hint: may be "". */
void sirixctl_tell_words(struct sirixctl_out *out, const struct sirix_error *err, const char *hint);

/* {"error":{"status","reason","message","field"?,"pointer"?,"offset"?,...}} and a newline. */
void sirixctl_tell_json(struct sirixctl_out *out, const struct sirix_error *err);

#endif
