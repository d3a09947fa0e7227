/* The list of commands, and the flags that all of them have. */
#include "cli/commands/commands.h"

#include "cli/command.h"

const struct sirixctl_command *const sirixctl_commands[] = {
    &sirixctl_import,
    &sirixctl_export,
    &sirixctl_read,
    &sirixctl_list,
    &sirixctl_create,
    &sirixctl_drop,
    &sirixctl_history,
    &sirixctl_diff,
    &sirixctl_insert,
    &sirixctl_update,
    &sirixctl_delete,
    &sirixctl_rename,
    &sirixctl_move,
    &sirixctl_apply,
    &sirixctl_revert,
    &sirixctl_snapshot_create,
    &sirixctl_snapshot_list,
    &sirixctl_snapshot_delete,
    &sirixctl_branch_create,
    &sirixctl_branch_list,
    &sirixctl_branch_delete,
    &sirixctl_branch_promote,
    &sirixctl_query,
    &sirixctl_update_query,
    &sirixctl_sql,
    &sirixctl_verify,
    &sirixctl_backup,
    &sirixctl_restore,
    &sirixctl_status,
    &sirixctl_top,
    &sirixctl_principal_add,
    &sirixctl_principal_rotate,
    &sirixctl_principal_remove,
    &sirixctl_principal_list,
    &sirixctl_principal_reload,
    &sirixctl_quota,
    &sirixctl_completion,
    &sirixctl_watch,
};

static const struct sirixctl_flag common_flags[] = {
    [SIRIXCTL_STORAGE] = {"storage", "ADDRESS", "the server: unix:PATH or HOST:PORT"},
    [SIRIXCTL_DATA] = {"data", "DIR", "the server of this folder, which is started if need be"},
    [SIRIXCTL_STORAGED] = {"storaged", "PROGRAM", "with --data: where storaged is"},
    [SIRIXCTL_TOKEN_FILE] = {"token-file", "FILE",
                             "show the token of its first line (or set SIRIX_TOKEN_FILE)"},
    [SIRIXCTL_TLS_CA] = {"tls-ca", "FILE", "TLS with servers of these authorities; or `system`"},
    [SIRIXCTL_TLS_CERT] = {"tls-cert", "FILE", "show this certificate, with --tls-key"},
    [SIRIXCTL_TLS_KEY] = {"tls-key", "FILE", "the key of --tls-cert"},
    [SIRIXCTL_TIMEOUT] = {"timeout", "SECONDS",
                          "give up after so long, connecting included; at least 1"},
    [SIRIXCTL_JSON] = {"json", NULL, "answers and errors as JSON"},
    [SIRIXCTL_COLOR] = {"color", "WHEN", "auto (default; NO_COLOR is respected), always, never"},
    [SIRIXCTL_QUIET] = {"quiet", NULL, "no progress, no words about success"},
    [SIRIXCTL_HELP] = {"help", NULL, "how to use the command"},
};

const struct sirixctl_flags sirixctl_common_flags = SIRIXCTL_FLAGS(common_flags);

const size_t sirixctl_command_count = sizeof(sirixctl_commands) / sizeof(sirixctl_commands[0]);
