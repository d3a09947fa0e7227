/*
 * The command line of sirix-mcp. `--flag VALUE` and `--flag=VALUE` are the same; a flag may stand
 * once; what is unknown, or belongs to a later version, is refused by name.
 */
#ifndef SIRIX_GUARD_OPTIONS_H
#define SIRIX_GUARD_OPTIONS_H

#include <stdbool.h>

#include "base/status.h"
#include "guard/settings.h"

/* Texts are those of argv. */
struct sirix_options {
    const char *database_path;
    const char *config;
    const char *storage;
    const char *http; /* Address to listen at. */
    const char *ready_fd;
    const char *ops; /* Address of health and metrics. */
    const char *state_key_file;
    const char *callers_file;
    const char *token_file; /* What is shown to storage; so the next three. */
    const char *tls_ca;
    const char *tls_cert;
    const char *tls_key;
    bool read_write;
    bool check_config;
    bool version;
    bool help;
};

enum sirix_status sirix_options_parse(int argc, char *const *argv, struct sirix_options *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Defaults, then the file, then the flags, then the check of all together. */
enum sirix_status sirix_options_settings(const struct sirix_options *options,
                                         struct sirix_settings *settings,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends what --help prints. */
enum sirix_status sirix_options_print_help(struct sirix_buf *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
