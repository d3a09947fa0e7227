/* How commands tell of a revision. */
#ifndef SIRIX_CLI_REVISION_H
#define SIRIX_CLI_REVISION_H

#include "cli/output.h"
#include "sirix/sirix.h"

/* Members of the object that is open. */
void sirixctl_json_revision(struct sirixctl_json *json, const struct sirix_revision_info *info);

/* In one line, without its end. */
void sirixctl_out_revision(struct sirixctl_out *out, const struct sirix_revision_info *info);

#endif
