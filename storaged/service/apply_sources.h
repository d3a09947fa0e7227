/*
 * What an Apply does that has no operations: a patch, or a diff, on the edit of a branch's head.
 * Private to the apply files of this folder.
 */
#ifndef SIRIX_SERVICE_APPLY_SOURCES_H
#define SIRIX_SERVICE_APPLY_SOURCES_H

#include "service/apply.h"

struct sirix_apply_work {
    struct sirix_write *write;
    struct sirix_edit *edit;
    const struct sirix_apply_request *wanted;
    struct sirix_arena *arena; /* Of the answer. */
};

/* sirix_apply_check() of a patch or diff. */
enum sirix_status sirix_apply_check_source(const struct sirix_apply_request *wanted,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* A pause of an edit or diff: context is the write, whose deadline and cancel flag it looks at. */
enum sirix_status sirix_apply_pause(void *context, struct sirix_error *err);

/* Both set the counts, keys and operations_known of result. */
enum sirix_status sirix_apply_patch_source(const struct sirix_apply_work *work,
                                           struct sirix_apply_result *result,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_apply_diff_source(const struct sirix_apply_work *work,
                                          struct sirix_apply_result *result,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
