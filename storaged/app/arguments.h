/* The command line of storaged: one table of options, which --help and --check-config print. */
#ifndef SIRIX_APP_ARGUMENTS_H
#define SIRIX_APP_ARGUMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/log.h"
#include "base/status.h"

enum { SIRIX_LISTEN_MAX = 6, SIRIX_ADDRESS_BYTES_MAX = 4096 };

enum sirix_app_action {
    SIRIX_APP_RUN,
    SIRIX_APP_CHECK_CONFIG,
    SIRIX_APP_VERSION,
    SIRIX_APP_HELP,
};

struct sirix_app_options {
    enum sirix_app_action action;
    const char *config; /* A file of settings; NULL: none. */
    char *config_text;  /* Of it; what it sets are texts in here. Kept to the end of the process. */
    const char *data;   /* As given. */
    const char *listen[SIRIX_LISTEN_MAX];
    size_t listen_count;
    const char *principals; /* NULL: none. */
    const char *tls_certificate;
    const char *tls_key;
    const char *tls_client_ca;
    bool insecure; /* Listens where anybody may come from, without TLS or without principals. */
    bool embedded;
    int64_t ready_fd; /* -1: none. */
    int64_t workers;
    int64_t write_queue_timeout_ms;
    int64_t grace_ms;
    int64_t databases_open_max;
    int64_t map_max_mib;  /* 0: no limit. */
    const char *ops;      /* HOST:PORT of health and metrics; NULL: none. */
    int64_t slow_call_ms; /* Calls that take longer are logged; 0: none. */
    enum sirix_log_level log_level;
};

/*
 * Reads argv, and the file of --config for what argv leaves open; texts stay those of argv, or are in
 * config_text, also after a failure. SIRIX_INVALID: one line that names the option; an unknown
 * one, one given twice, a missing or impossible value, an address that is not allowed.
 */
enum sirix_status sirix_app_options_parse(int argc, char **argv,
                                          struct sirix_app_options *out_options,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_app_help(FILE *out);

/* One line an option, with the value that is in force. */
void sirix_app_options_print(const struct sirix_app_options *options, FILE *out);

/*
 * Whether an address is "unix:PATH" or HOST:PORT, as 127.0.0.1:50051 or [::1]:50051. *out_here: only
 * this machine reaches it: a Unix socket, or a loopback host.
 */
enum sirix_status sirix_app_address_check(const char *address, bool *out_here,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
