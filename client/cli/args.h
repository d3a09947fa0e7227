/*
 * The command line: a table of flags in, values and operands out.
 *
 *     --name value, --name=value, --flag, -- (ends the flags), - and -1 (operands)
 *
 * Flags may stand anywhere, before and after the operands; those of every command also before the
 * command. A dash and a digit begin a number, not a flag. An unknown flag is refused with the nearest
 * known one. Values are views of argv.
 */
#ifndef SIRIX_CLI_ARGS_H
#define SIRIX_CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum { SIRIXCTL_FLAGS_MAX = 24, SIRIXCTL_OPERANDS_MAX = 1024 };

struct sirixctl_flag {
    const char *name;  /* Without the dashes. */
    const char *value; /* What stands for its value in the help; NULL: it takes none. */
    const char *help;
};

struct sirixctl_flags {
    const struct sirixctl_flag *items;
    size_t count;
};

/* Values by the place of the flag in its table; NULL: not given; "": given, without a value. */
struct sirixctl_args {
    const char *common[SIRIXCTL_FLAGS_MAX];
    const char *own[SIRIXCTL_FLAGS_MAX];
    const char **operands; /* Into argv. */
    size_t operand_count;
};

/*
 * Sorts argv[0..argc) by two tables; moves the operands to the front of argv. SIRIX_UNSUPPORTED is
 * the status of every mistake of usage (its exit code is EX_USAGE).
 */
enum sirix_status sirixctl_args_parse(int argc, const char **argv,
                                      const struct sirixctl_flags *common,
                                      const struct sirixctl_flags *own,
                                      struct sirixctl_args *out_args,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * How many arguments stand before the command: flags that every command has, and their values. The
 * caller moves them behind it, where sirixctl_args_parse() takes them. Errors as there.
 */
enum sirix_status sirixctl_args_lead(int argc, const char *const *argv,
                                     const struct sirixctl_flags *common, int *out_count,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The known word that is nearest to an unknown one, if it is near enough; else NULL. */
const char *sirixctl_nearest(const char *unknown, const char *const *known, size_t count);

/* A decimal number of a flag or operand, within bounds. what is named when it is none. */
enum sirix_status sirixctl_parse_u64(const char *text, const char *what, uint64_t max,
                                     uint64_t *out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same where a missing text (NULL) leaves *out as it is. */
enum sirix_status sirixctl_parse_optional(const char *text, const char *what, uint64_t max,
                                          uint64_t *out, struct sirix_error *err) SIRIX_MUST_CHECK;

/* A mistake of usage. */
enum sirix_status sirixctl_usage(struct sirix_error *err, const char *fmt, ...) SIRIX_PRINTF(2, 3);

#endif
