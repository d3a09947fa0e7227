/* The command line. */
#include "guard/options.h"

#include <string.h>

enum { SHOWN_BYTES_MAX = 80 };

struct flag {
    const char *name;
    const char *value; /* What the value is called; NULL: there is none. */
    size_t offset;
    const char *help;
};

#define AT(field) offsetof(struct sirix_options, field)

static const struct flag flags[] = {
    {"--database-path", "DIR", AT(database_path), "data folder; starts a storaged if none runs"},
    {"--storage", "ADDRESS", AT(storage), "a running storaged: unix:PATH or HOST:PORT"},
    {"--config", "FILE", AT(config), "settings, {\"server\": {...}}"},
    {"--http", "HOST:PORT", AT(http), "serve HTTP there instead of stdin and stdout"},
    {"--ready-fd", "FD", AT(ready_fd), "with --http: gets the URL as a line when it is served"},
    {"--ops", "HOST:PORT", AT(ops), "health and metrics there: /healthz/ready, /metrics"},
    {"--state-key-file", "FILE", AT(state_key_file), "key that seals what clients keep for us"},
    {"--token-file", "FILE", AT(token_file), "with --storage: the token that is shown to it"},
    {"--tls-ca", "FILE", AT(tls_ca), "with --storage: TLS; who signed its certificate, or system"},
    {"--tls-cert", "FILE", AT(tls_cert), "with --storage: our certificate"},
    {"--tls-key", "FILE", AT(tls_key), "with --storage: its key"},
    {"--callers-file", "FILE", AT(callers_file),
     "with --http: tokens of callers, and their rights"},
    {"--read-write", NULL, AT(read_write), "also list and call the tools that write"},
    {"--check-config", NULL, AT(check_config), "print the effective settings and end"},
    {"--version", NULL, AT(version), "print the version and end"},
    {"--help", NULL, AT(help), "print this and end"},
};

static const struct flag *find(const char *argument, size_t len)
{
    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
        if (strlen(flags[i].name) == len && strncmp(flags[i].name, argument, len) == 0) {
            return &flags[i];
        }
    }
    return NULL;
}

static enum sirix_status take(const struct flag *flag, const char *value, struct sirix_options *out,
                              struct sirix_error *err)
{
    char *at = (char *)out + flag->offset;

    if (flag->value == NULL) {
        const bool yes = true;
        bool before = false;

        memcpy(&before, at, sizeof(before));
        memcpy(at, &yes, sizeof(yes));
        return before ? sirix_fail(err, SIRIX_INVALID, "%s is given twice", flag->name) : SIRIX_OK;
    }
    const char *before = NULL;
    memcpy(&before, at, sizeof(before));
    if (before != NULL) {
        return sirix_fail(err, SIRIX_INVALID, "%s is given twice", flag->name);
    }
    if (value == NULL || value[0] == '\0') {
        return sirix_fail(err, SIRIX_INVALID, "%s needs a value: %s", flag->name, flag->value);
    }
    memcpy(at, &value, sizeof(value));
    return SIRIX_OK;
}

enum sirix_status sirix_options_parse(int argc, char *const *argv, struct sirix_options *out,
                                      struct sirix_error *err)
{
    struct sirix_options options = {0};
    enum sirix_status status = SIRIX_OK;

    for (int i = 1; i < argc && status == SIRIX_OK; i++) {
        const char *argument = argv[i];
        size_t len = strcspn(argument, "=");
        const char *value = argument[len] == '=' ? argument + len + 1 : NULL;
        const struct flag *flag = find(argument, len);

        if (flag == NULL) {
            return sirix_fail(err, SIRIX_INVALID, "unknown argument %.*s; --help lists them",
                              SHOWN_BYTES_MAX, argument);
        }
        if (flag->value == NULL && value != NULL) {
            return sirix_fail(err, SIRIX_INVALID, "%s takes no value", flag->name);
        }
        /* A flag is not taken for the value of the flag before it. */
        if (flag->value != NULL && value == NULL && i + 1 < argc && argv[i + 1][0] != '-') {
            value = argv[++i];
        }
        status = take(flag, value, &options, err);
    }
    if (status == SIRIX_OK && options.database_path != NULL && options.storage != NULL) {
        status = sirix_fail(err, SIRIX_INVALID,
                            "--database-path and --storage exclude each other; give one");
    }
    if (status == SIRIX_OK) {
        *out = options;
    }
    return status;
}

enum sirix_status sirix_options_settings(const struct sirix_options *options,
                                         struct sirix_settings *settings, struct sirix_error *err)
{
    enum sirix_status status = sirix_settings_init(settings, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (options->config != NULL) {
        status = sirix_settings_load(settings, options->config, err);
    }
    if (status == SIRIX_OK && (options->database_path != NULL || options->storage != NULL)) {
        settings->database_path = options->database_path;
        settings->storage = options->storage;
    }
    if (options->read_write) {
        settings->read_only = false;
    }
    if (options->state_key_file != NULL) {
        settings->state_key_file = options->state_key_file;
    }
    const struct {
        const char *given;
        const char **to;
    } credentials[] = {
        {options->token_file, &settings->token_file},
        {options->tls_ca, &settings->tls_ca},
        {options->tls_cert, &settings->tls_cert},
        {options->tls_key, &settings->tls_key},
    };
    for (size_t i = 0; i < sizeof(credentials) / sizeof(credentials[0]); i++) {
        if (credentials[i].given != NULL) {
            *credentials[i].to = credentials[i].given;
        }
    }
    if (options->callers_file != NULL) {
        settings->callers_file = options->callers_file;
    }
    if (options->http != NULL) {
        settings->transport = "http";
        settings->http_listen = options->http;
    }
    if (status == SIRIX_OK) {
        status = sirix_settings_check(settings, err);
    }
    if (status != SIRIX_OK) {
        sirix_settings_deinit(settings);
    }
    return status;
}

enum sirix_status sirix_options_print_help(struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_str(
        out,
        "Usage: sirix-mcp --database-path DIR | --storage ADDRESS [--config FILE] [--read-write]\n"
        "\nSpeaks MCP on stdin and stdout for an AI agent's host, or over HTTP; logs to stderr.\n\n"
        "Flags:\n",
        err);

    for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]) && status == SIRIX_OK; i++) {
        const struct flag *flag = &flags[i];
        size_t width = strlen(flag->name) + (flag->value == NULL ? 0 : strlen(flag->value) + 1);
        status =
            sirix_buf_printf(out, err, "  %s%s%s%*s%s\n", flag->name,
                             flag->value == NULL ? "" : " ", flag->value == NULL ? "" : flag->value,
                             width < 24 ? (int)(24 - width) : 1, "", flag->help);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(
            out, "\nKeys of the settings file, with their defaults (a flag wins):\n", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_settings_print_help(out, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(out,
                                      "\nExit codes: 0 at the end of stdin or at SIGTERM, 2 for a "
                                      "mistake in flags or settings, 1 otherwise.\n",
                                      err);
    }
    return status;
}
