/* One row a command; each is in the file of its name. */
#ifndef SIRIX_CLI_COMMANDS_H
#define SIRIX_CLI_COMMANDS_H

#include "cli/command.h"

extern const struct sirixctl_command sirixctl_import;
extern const struct sirixctl_command sirixctl_export;
extern const struct sirixctl_command sirixctl_read;
extern const struct sirixctl_command sirixctl_list;
extern const struct sirixctl_command sirixctl_create;
extern const struct sirixctl_command sirixctl_drop;
extern const struct sirixctl_command sirixctl_history;
extern const struct sirixctl_command sirixctl_diff;
extern const struct sirixctl_command sirixctl_insert;
extern const struct sirixctl_command sirixctl_update;
extern const struct sirixctl_command sirixctl_delete;
extern const struct sirixctl_command sirixctl_rename;
extern const struct sirixctl_command sirixctl_move;
extern const struct sirixctl_command sirixctl_apply;
extern const struct sirixctl_command sirixctl_revert;
extern const struct sirixctl_command sirixctl_snapshot_create;
extern const struct sirixctl_command sirixctl_snapshot_list;
extern const struct sirixctl_command sirixctl_snapshot_delete;
extern const struct sirixctl_command sirixctl_branch_create;
extern const struct sirixctl_command sirixctl_branch_list;
extern const struct sirixctl_command sirixctl_branch_delete;
extern const struct sirixctl_command sirixctl_branch_promote;
extern const struct sirixctl_command sirixctl_query;
extern const struct sirixctl_command sirixctl_update_query;
extern const struct sirixctl_command sirixctl_sql;
extern const struct sirixctl_command sirixctl_verify;
extern const struct sirixctl_command sirixctl_status;
extern const struct sirixctl_command sirixctl_top;
extern const struct sirixctl_command sirixctl_backup;
extern const struct sirixctl_command sirixctl_restore;
extern const struct sirixctl_command sirixctl_watch;
extern const struct sirixctl_command sirixctl_principal_add;
extern const struct sirixctl_command sirixctl_principal_rotate;
extern const struct sirixctl_command sirixctl_principal_remove;
extern const struct sirixctl_command sirixctl_principal_list;
extern const struct sirixctl_command sirixctl_principal_reload;
extern const struct sirixctl_command sirixctl_quota;
extern const struct sirixctl_command sirixctl_completion;

#endif
