/*
 * A command of sirixctl and what it is given.
 *
 * A command's function returns a status; whoever called it tells the error, once, and makes it the
 * exit code of the program (base/status.h has the table, sirixctl help prints it).
 */
#ifndef SIRIX_CLI_COMMAND_H
#define SIRIX_CLI_COMMAND_H

#include "cli/args.h"
#include "cli/name.h"
#include "cli/output.h"
#include "sirix/sirix.h"

/* Flags that every command has: their places in sirixctl_args.common. */
enum sirixctl_common {
    SIRIXCTL_STORAGE,
    SIRIXCTL_DATA,
    SIRIXCTL_STORAGED,
    SIRIXCTL_TOKEN_FILE,
    SIRIXCTL_TLS_CA,
    SIRIXCTL_TLS_CERT,
    SIRIXCTL_TLS_KEY,
    SIRIXCTL_TIMEOUT,
    SIRIXCTL_JSON,
    SIRIXCTL_COLOR,
    SIRIXCTL_QUIET,
    SIRIXCTL_HELP,
};

/* Flags of commands that write; a command's own table begins with them. */
#define SIRIXCTL_WRITE_FLAGS                                                                       \
    {"branch", "NAME", "write to this branch instead of main"},                                    \
        {"message", "TEXT", "kept with the revision"},                                             \
        {"expected-revision", "N", "refuse unless the head is revision N"},                        \
        {"idempotency-key", "KEY", "the same key again changes nothing and answers the same"},     \
    {                                                                                              \
        "on-behalf-of", "WHO", "for whom this is done"                                             \
    }

enum sirixctl_write_flag {
    SIRIXCTL_BRANCH,
    SIRIXCTL_MESSAGE,
    SIRIXCTL_EXPECTED_REVISION,
    SIRIXCTL_IDEMPOTENCY_KEY,
    SIRIXCTL_ON_BEHALF_OF,
    SIRIXCTL_WRITE_FLAG_COUNT,
};

/* What a shell reports of a program that wrote to nobody (SIGPIPE). */
enum { SIRIXCTL_EXIT_PIPE = 141 };

enum sirixctl_needs {
    SIRIXCTL_NEEDS_NOTHING,
    SIRIXCTL_NEEDS_READER,
    SIRIXCTL_NEEDS_WRITER,
};

struct sirixctl_command;

/* One run of the program. */
struct sirixctl {
    const struct sirixctl_command *command;
    struct sirixctl_args args;
    struct sirixctl_out out; /* stdout */
    bool json;
    bool quiet;
    struct sirix_client *client; /* NULL until sirixctl_connect(). */
    struct sirix_call_options call;
};

struct sirixctl_command {
    const char *name;     /* "import", "snapshot create" */
    const char *operands; /* "DB/RESOURCE FILE" */
    const char *summary;  /* One line. */
    const char *details;  /* More lines for its help, or NULL. */
    const char *answer;   /* What --json prints, for docs/cli.md. */
    struct sirixctl_flags flags;
    size_t operands_min;
    size_t operands_max;
    enum sirixctl_needs needs;
    enum sirix_status (*run)(struct sirixctl *ctl, struct sirix_error *err);
};

/* All commands, in the order of the help. */
extern const struct sirixctl_command *const sirixctl_commands[];
extern const size_t sirixctl_command_count;

/* The flags of all commands. */
extern const struct sirixctl_flags sirixctl_common_flags;

#define SIRIXCTL_FLAGS(table)                                                                      \
    {                                                                                              \
        (table), sizeof(table) / sizeof((table)[0])                                                \
    }

/* --- The server --------------------------------------------------------------------------------- */

/* Whether the flags name one server, if the command needs any. */
enum sirix_status sirixctl_check_door(const struct sirixctl *ctl,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Opens ctl->client, unless it is open. A command calls it (or sirixctl_view(), which does) when all
 * that it was given is checked, and before its first call.
 */
enum sirix_status sirixctl_connect(struct sirixctl *ctl, struct sirix_error *err) SIRIX_MUST_CHECK;
void sirixctl_disconnect(struct sirixctl *ctl);

/* --- What commands share ------------------------------------------------------------------------ */

/* Operand number at as DB/RESOURCE[@WHAT]. */
enum sirix_status sirixctl_resource_operand(const struct sirixctl *ctl, size_t at,
                                            struct sirixctl_name *out_name,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same for a write: no @. */
enum sirix_status sirixctl_write_operand(const struct sirixctl *ctl, size_t at,
                                         struct sirixctl_name *out_name,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Operand number at, and the command's --branch (NULL: none), as what they have to name. */
enum sirix_status sirixctl_check_operand(const struct sirixctl *ctl, size_t at,
                                         enum sirix_name_kind kind,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirixctl_check_branch(const char *branch,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Whether a text is one JSON value of at most depth_max levels; the error has the pointer and offset
 * of the mistake.
 */
enum { SIRIXCTL_JSON_DEPTH_MAX = 1000 }; /* Of a value that is stored. */
enum sirix_status sirixctl_check_json(struct sirix_bytes text, unsigned depth_max,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The view of a name, with the command's --branch (NULL: it has none or none was given). Checks both
 * and connects.
 */
enum sirix_status sirixctl_view(struct sirixctl *ctl, const struct sirixctl_name *name,
                                const char *branch, struct sirix_view *out_view,
                                struct sirix_error *err) SIRIX_MUST_CHECK;

/* --expected-revision, which may be missing (NULL), into write. */
enum sirix_status sirixctl_expected_revision(const char *text, struct sirix_write_options *write,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIXCTL_WRITE_FLAGS as the library wants them. */
enum sirix_status sirixctl_write_options(const struct sirixctl *ctl,
                                         struct sirix_write_options *out_write,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* A node by its key (digits) or path ("" or anything with a slash). NULL: the document. */
enum sirix_status sirixctl_target(const char *text, struct sirix_target *out_target,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* first, last, before, after, or an index; NULL leaves the place as it is. */
enum sirix_status sirixctl_position(const char *text, struct sirix_place *place,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The key of a target in a view: itself, or asked for. */
enum sirix_status sirixctl_target_key(struct sirixctl *ctl, const struct sirixctl_name *name,
                                      const struct sirix_view *view,
                                      const struct sirix_target *target, uint64_t *out_key,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* A whole file, or stdin for "-", as text; the caller's to free(). */
enum sirix_status sirixctl_read_file(const char *path, size_t bytes_max, char **out_text,
                                     size_t *out_len, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Members revision, parentRevision, timestamp, changed, replayed. */
void sirixctl_json_write_result(struct sirixctl_json *json,
                                const struct sirix_write_result *result);

/*
 * The answer of a write. In words: "revision 3", or that nothing changed; nothing when quiet. With
 * --json: true, and json is an object with those members, to be ended and finished by the caller.
 */
bool sirixctl_begin_write_answer(struct sirixctl *ctl, const struct sirix_write_result *result,
                                 struct sirixctl_json *json);

#endif
