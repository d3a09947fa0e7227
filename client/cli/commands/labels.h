/* What the commands for snapshots and those for branches share. */
#ifndef SIRIX_CLI_COMMANDS_LABELS_H
#define SIRIX_CLI_COMMANDS_LABELS_H

#include "cli/pages.h"

/* DB/RESOURCE NAME: checks both and connects. */
enum sirix_status sirixctl_label_operands(struct sirixctl *ctl, enum sirix_name_kind kind,
                                          struct sirixctl_name *out_name,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * DB/RESOURCE: lists its labels. array is the answer's member with them; NULL: the answer is one
 * object of them. The kind's context is the struct sirixctl_name.
 */
enum sirix_status sirixctl_label_list(struct sirixctl *ctl, const struct sirixctl_list_kind *kind,
                                      const char *array, struct sirix_error *err) SIRIX_MUST_CHECK;

/* DB/RESOURCE NAME: removes a label. was stands before its revision in words. */
struct sirixctl_label_delete {
    enum sirix_name_kind kind;
    const char *member;
    const char *was;
    enum sirix_status (*call)(struct sirix_client *client,
                              const struct sirix_delete_name_request *request,
                              const struct sirix_call_options *options,
                              struct sirix_delete_name_result *out_result, struct sirix_error *err);
};
enum sirix_status sirixctl_label_remove(struct sirixctl *ctl,
                                        const struct sirixctl_label_delete *what,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
