/*
 * What the gateway is told at start: the file of --config, {"server": {...}}, and flags, which win.
 *
 * One table in settings.c says everything about a key: its name, type, default, limits, and a line
 * for people. Reading, --help, --check-config and the table of docs/mcp.md come from it.
 *
 * Strict     An unknown key, a wrong type, a value outside its limits, a name given twice and two
 *            settings that exclude each other are SIRIX_INVALID with one sentence that names the key.
 * Memory     Everything lies in the settings' arena, and lives until deinit.
 */
#ifndef SIRIX_GUARD_SETTINGS_H
#define SIRIX_GUARD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "guard/access.h"

enum { SIRIX_SETTINGS_FILE_BYTES_MAX = 1024 * 1024 };

struct sirix_settings {
    struct sirix_arena arena;
    const char *name;
    const char *version;
    const char *transport;
    const char *database_path; /* NULL: not given; so with every other text without default. */
    const char *storage;
    bool read_only;
    struct sirix_access access;
    uint64_t max_result_size;
    uint64_t max_result_bytes;
    uint64_t max_string_value_length;
    bool sanitize_output;
    uint64_t max_calls_per_minute;
    uint64_t max_concurrent_calls;
    uint64_t query_timeout_ms;
    uint64_t write_timeout_ms;
    const char *tool_names;
    const char *http_listen;
    struct sirix_access_list http_hosts; /* Names of hosts. */
    const char *http_tls_cert;
    const char *http_tls_key;
    bool http_plain;
    const char *public_url;
    const char *callers_file;
    const char *oauth_issuer;
    const char *oauth_jwks_url;
    const char *oauth_audience;
    const char *state_key_file;
    bool confirm_destructive;
    const char *confirm; /* NULL: by the transport. */
    bool confirm_writes;
    bool audit_log;
    const char *audit_log_path;
    const char *token_file; /* What is shown to storage; so the next three. */
    const char *tls_ca;
    const char *tls_cert;
    const char *tls_key;
    uint64_t sql_default_rows;
    uint64_t sql_max_rows;
};

enum sirix_setting_type {
    SIRIX_SETTING_TEXT,
    SIRIX_SETTING_BOOL,
    SIRIX_SETTING_NUMBER,
    SIRIX_SETTING_NAMES, /* An array of names. */
    SIRIX_SETTING_TEXTS, /* An array of texts. */
    SIRIX_SETTING_RULES, /* An object: database to an array of names. */
};

struct sirix_setting {
    const char *key;
    size_t offset;            /* Into struct sirix_settings. */
    const char *default_text; /* As it is written in the file; NULL: none. */
    uint64_t min;             /* Of numbers. */
    uint64_t max;
    const char *choices; /* Of texts: the allowed ones, separated by `|`; NULL: any. */
    enum sirix_setting_type type;
    const char *help;
};

extern const struct sirix_setting sirix_settings_table[];
extern const size_t sirix_settings_count;

/* The defaults. */
enum sirix_status sirix_settings_init(struct sirix_settings *settings,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_settings_deinit(struct sirix_settings *settings);

/* Takes over the text of a file; what it does not name stays as it was. */
enum sirix_status sirix_settings_parse(struct sirix_settings *settings, struct sirix_bytes text,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same of a file of at most SIRIX_SETTINGS_FILE_BYTES_MAX; errors name the path. */
enum sirix_status sirix_settings_load(struct sirix_settings *settings, const char *path,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether everything together makes sense; last, when flags are taken over too. */
enum sirix_status sirix_settings_check(const struct sirix_settings *settings,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether callers over HTTP have to say who they are. */
bool sirix_settings_know_callers(const struct sirix_settings *settings);

/* Appends the effective settings as an indented JSON text that --config would accept. */
enum sirix_status sirix_settings_print(const struct sirix_settings *settings, struct sirix_buf *out,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the table for docs/mcp.md, and the shorter one of --help. */
enum sirix_status sirix_settings_print_docs(struct sirix_buf *out,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_settings_print_help(struct sirix_buf *out,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
