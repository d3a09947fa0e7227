/* One table; everything else walks it. */
#include "app/arguments.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "app/config_file.h"
#include "probe/probe.h"

enum option_kind {
    KIND_TEXT,
    KIND_LIST,
    KIND_FLAG,
    KIND_NUMBER,
    KIND_LEVEL,
    KIND_OPS,
    KIND_ACTION
};

struct option_row {
    const char *name;
    const char *value; /* How the help calls it; NULL: none. */
    const char *help;
    enum option_kind kind;
    size_t offset; /* In struct sirix_app_options. */
    int64_t min;   /* Numbers; an action: which. */
    int64_t max;
    int64_t preset;
};

#define AT(member) offsetof(struct sirix_app_options, member)

static const struct option_row rows[] = {
    {"--config", "FILE", "settings, one NAME = VALUE a line; what is given here too counts here",
     KIND_TEXT, AT(config), 0, 0, 0},
    {"--data", "DIR", "the data folder; made if its last part is missing", KIND_TEXT, AT(data), 0,
     0, 0},
    {"--listen", "ADDRESS",
     "also listen at unix:PATH or HOST:PORT (repeatable); storaged.sock and reader.sock in DIR are "
     "always there",
     KIND_LIST, AT(listen), 0, 0, 0},
    {"--principals", "FILE",
     "who may do what at HOST:PORT, by token or certificate; SIGHUP reads it again", KIND_TEXT,
     AT(principals), 0, 0, 0},
    {"--tls-cert", "FILE", "TLS at HOST:PORT: certificates, PEM; read again when they change",
     KIND_TEXT, AT(tls_certificate), 0, 0, 0},
    {"--tls-key", "FILE", "the key of --tls-cert, PEM", KIND_TEXT, AT(tls_key), 0, 0, 0},
    {"--tls-client-ca", "FILE", "clients at HOST:PORT have a certificate of this authority, PEM",
     KIND_TEXT, AT(tls_client_ca), 0, 0, 0},
    {"--insecure", NULL, "listen beyond this machine without TLS or without principals", KIND_FLAG,
     AT(insecure), 0, 0, 0},
    {"--embedded", NULL, "end 5 s after the last client", KIND_FLAG, AT(embedded), 0, 0, 0},
    {"--ready-fd", "N", "write a line to this descriptor and close it when calls are answered",
     KIND_NUMBER, AT(ready_fd), 3, 1 << 20, -1},
    {"--workers", "N", "threads for work that may block", KIND_NUMBER, AT(workers), 1, 1024, 64},
    {"--write-queue-timeout", "MS", "how long a write waits for its branch's turn", KIND_NUMBER,
     AT(write_queue_timeout_ms), 1, 3600000, 5000},
    {"--grace", "MS", "how long running calls may go on after SIGTERM", KIND_NUMBER, AT(grace_ms),
     0, 3600000, 10000},
    {"--databases-open", "N", "databases kept open at once", KIND_NUMBER, AT(databases_open_max), 1,
     100000, 1000},
    {"--map-max", "MIB", "largest memory map of one database; 0: no limit", KIND_NUMBER,
     AT(map_max_mib), 0, INT64_C(1) << 40, 0},
    {"--ops", "HOST:PORT",
     "answer /healthz/started, /healthz/alive, /healthz/ready and /metrics over HTTP there",
     KIND_OPS, AT(ops), 0, 0, 0},
    {"--slow-call", "MS", "log calls that take longer; 0: none", KIND_NUMBER, AT(slow_call_ms), 0,
     3600000, 1000},
    {"--log-level", "LEVEL", "debug, info, warn, error or off", KIND_LEVEL, AT(log_level), 0, 0,
     SIRIX_LOG_INFO},
    {"--check-config", NULL, "print what is in force and end", KIND_ACTION, AT(action),
     SIRIX_APP_CHECK_CONFIG, 0, 0},
    {"--version", NULL, "print the version and end", KIND_ACTION, AT(action), SIRIX_APP_VERSION, 0,
     0},
    {"--help", NULL, "print this and end", KIND_ACTION, AT(action), SIRIX_APP_HELP, 0, 0},
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), UNIX_PREFIX_LEN = 5, PORT_MAX = 65535 };

static void *member(struct sirix_app_options *options, const struct option_row *row)
{
    return (char *)options + row->offset;
}

static const void *const_member(const struct sirix_app_options *options,
                                const struct option_row *row)
{
    return (const char *)options + row->offset;
}

/* --- Addresses ---------------------------------------------------------------------------------- */

static const char host_characters[] =
    "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-_:";

static bool is_loopback(const char *host)
{
    struct in_addr v4 = {0};
    struct in6_addr v6 = IN6ADDR_ANY_INIT;

    if (strcmp(host, "localhost") == 0) {
        return true;
    }
    if (inet_pton(AF_INET, host, &v4) == 1) {
        return ntohl(v4.s_addr) >> 24 == IN_LOOPBACKNET;
    }
    return inet_pton(AF_INET6, host, &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

static bool parse_number(const char *text, int64_t min, int64_t max, int64_t *out)
{
    char *end = NULL;

    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno != 0 || end == text || *end != '\0' || value < min || value > max) {
        return false;
    }
    *out = value;
    return true;
}

enum sirix_status sirix_app_address_check(const char *address, bool *out_here,
                                          struct sirix_error *err)
{
    char host[256];
    int64_t port = 0;

    if (strncmp(address, "unix:", UNIX_PREFIX_LEN) == 0) {
        if (address[UNIX_PREFIX_LEN] == '\0' || strlen(address) >= SIRIX_ADDRESS_BYTES_MAX) {
            return sirix_fail(err, SIRIX_INVALID, "--listen %.64s: a path is missing or too long",
                              address);
        }
        *out_here = true;
        return SIRIX_OK;
    }
    const char *colon = strrchr(address, ':');
    size_t len = colon == NULL ? 0 : (size_t)(colon - address);
    if (len == 0 || len >= sizeof(host) || !parse_number(colon + 1, 0, PORT_MAX, &port)) {
        return sirix_fail(err, SIRIX_INVALID, "--listen %.64s: neither unix:PATH nor HOST:PORT",
                          address);
    }
    bool brackets = len > 2 && address[0] == '[' && address[len - 1] == ']';
    memcpy(host, address + (brackets ? 1 : 0), len - (brackets ? 2 : 0));
    host[len - (brackets ? 2 : 0)] = '\0';
    if (host[strspn(host, host_characters)] != '\0') {
        return sirix_fail(err, SIRIX_INVALID, "--listen %.64s: neither unix:PATH nor HOST:PORT",
                          address);
    }
    *out_here = is_loopback(host);
    return SIRIX_OK;
}

/* --- Reading ------------------------------------------------------------------------------------ */

static const struct option_row *find_row(const char *name, size_t len)
{
    for (size_t i = 0; i < ROWS; i++) {
        if (strlen(rows[i].name) == len && memcmp(rows[i].name, name, len) == 0) {
            return &rows[i];
        }
    }
    return NULL;
}

static void set_presets(struct sirix_app_options *options)
{
    *options = (struct sirix_app_options){.action = SIRIX_APP_RUN, .log_level = SIRIX_LOG_INFO};
    for (size_t i = 0; i < ROWS; i++) {
        if (rows[i].kind == KIND_NUMBER) {
            *(int64_t *)member(options, &rows[i]) = rows[i].preset;
        }
    }
}

static enum sirix_status set_value(const struct option_row *row, const char *value,
                                   struct sirix_app_options *options, struct sirix_error *err)
{
    switch (row->kind) {
    case KIND_TEXT:
        if (value[0] == '\0') {
            return sirix_fail(err, SIRIX_INVALID, "%s: the value is empty", row->name);
        }
        *(const char **)member(options, row) = value;
        return SIRIX_OK;
    case KIND_OPS:
        *(const char **)member(options, row) = value;
        if (sirix_probe_check_address(value, NULL) != SIRIX_OK) {
            return sirix_fail(err, SIRIX_INVALID,
                              "%s %.64s: HOST:PORT, where HOST is localhost or an IP address",
                              row->name, value);
        }
        return SIRIX_OK;
    case KIND_LIST:
        if (options->listen_count == SIRIX_LISTEN_MAX) {
            return sirix_fail(err, SIRIX_INVALID, "%s: at most %d times", row->name,
                              SIRIX_LISTEN_MAX);
        }
        options->listen[options->listen_count++] = value;
        return sirix_app_address_check(value, &(bool){false}, err);
    case KIND_NUMBER:
        if (!parse_number(value, row->min, row->max, member(options, row))) {
            return sirix_fail(err, SIRIX_INVALID,
                              "%s %.64s: a whole number from %" PRId64 " to %" PRId64, row->name,
                              value, row->min, row->max);
        }
        return SIRIX_OK;
    case KIND_LEVEL:
        if (!sirix_log_level_parse(value, &options->log_level)) {
            return sirix_fail(err, SIRIX_INVALID, "%s %.64s: %s", row->name, value, row->help);
        }
        return SIRIX_OK;
    case KIND_FLAG:
        *(bool *)member(options, row) = true;
        return SIRIX_OK;
    default:
        options->action = (enum sirix_app_action)row->min;
        return SIRIX_OK;
    }
}

/* What is left of the command line. */
struct rest {
    int count;
    char **args;
    int at;
};

/* The value of an option: behind its '=', or the next argument; "" if it takes none. */
static enum sirix_status take_value(const struct option_row *row, const char *equals,
                                    struct rest *rest, const char **out_value,
                                    struct sirix_error *err)
{
    if (row->value == NULL) {
        *out_value = "";
        return equals == NULL ? SIRIX_OK
                              : sirix_fail(err, SIRIX_INVALID, "%s takes no value", row->name);
    }
    if (equals != NULL) {
        *out_value = equals + 1;
        return SIRIX_OK;
    }
    if (rest->at == rest->count) {
        return sirix_fail(err, SIRIX_INVALID, "%s wants a value: %s", row->name, row->value);
    }
    *out_value = rest->args[rest->at++];
    return SIRIX_OK;
}

static enum sirix_status take_option(struct rest *rest, bool seen[ROWS],
                                     struct sirix_app_options *options, struct sirix_error *err)
{
    const char *arg = rest->args[rest->at++];
    const char *equals = strchr(arg, '=');
    const char *value = "";
    const struct option_row *row =
        find_row(arg, equals == NULL ? strlen(arg) : (size_t)(equals - arg));

    if (row == NULL) {
        return sirix_fail(err, SIRIX_INVALID, "unknown option %.64s (see --help)", arg);
    }
    if (seen[row - rows] && row->kind != KIND_LIST) {
        return sirix_fail(err, SIRIX_INVALID, "%s is given twice", row->name);
    }
    seen[row - rows] = true;
    enum sirix_status status = take_value(row, equals, rest, &value, err);
    return status == SIRIX_OK ? set_value(row, value, options, err) : status;
}

/* What a file of settings is read into. */
struct file {
    const bool *on_line; /* By rows: given on the command line, which counts more. */
    bool in_file[ROWS];
    struct sirix_app_options *options;
};

static enum sirix_status take_setting(void *context, const char *name, const char *value,
                                      struct sirix_error *err)
{
    struct file *file = context;
    char option[64];
    int len = snprintf(option, sizeof(option), "--%s", name);
    const struct option_row *row =
        len < 0 || (size_t)len >= sizeof(option) ? NULL : find_row(option, (size_t)len);

    if (row == NULL || row->kind == KIND_ACTION || row->offset == AT(config)) {
        return sirix_fail(err, SIRIX_INVALID, "unknown setting %.64s", name);
    }
    if (file->in_file[row - rows] && row->kind != KIND_LIST) {
        return sirix_fail(err, SIRIX_INVALID, "%s is given twice", name);
    }
    file->in_file[row - rows] = true;
    if (row->kind == KIND_FLAG) {
        bool yes = strcmp(value, "yes") == 0;
        if (!yes && strcmp(value, "no") != 0) {
            return sirix_fail(err, SIRIX_INVALID, "%s %.64s: yes or no", name, value);
        }
        if (!yes) {
            return SIRIX_OK;
        }
    }
    return file->on_line[row - rows] ? SIRIX_OK : set_value(row, value, file->options, err);
}

/* What options have to do with each other. */
static enum sirix_status check_together(const struct sirix_app_options *options,
                                        struct sirix_error *err)
{
    bool has_tls = options->tls_certificate != NULL;

    if (has_tls != (options->tls_key != NULL)) {
        return sirix_fail(err, SIRIX_INVALID, "--tls-cert and --tls-key go together");
    }
    if (options->tls_client_ca != NULL && !has_tls) {
        return sirix_fail(err, SIRIX_INVALID, "--tls-client-ca goes with --tls-cert and --tls-key");
    }
    for (size_t i = 0; i < options->listen_count; i++) {
        bool is_here = false;
        enum sirix_status status = sirix_app_address_check(options->listen[i], &is_here, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (!is_here && !options->insecure && (!has_tls || options->principals == NULL)) {
            return sirix_fail(err, SIRIX_INVALID,
                              "--listen %.64s: beyond loopback addresses (127.0.0.1, [::1], "
                              "localhost) it takes TLS (--tls-cert, --tls-key) and --principals, "
                              "or --insecure to do without",
                              options->listen[i]);
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_app_options_parse(int argc, char **argv,
                                          struct sirix_app_options *out_options,
                                          struct sirix_error *err)
{
    struct sirix_app_options options;
    struct rest rest = {.count = argc, .args = argv, .at = 1};
    bool seen[ROWS] = {false};
    enum sirix_status status = SIRIX_OK;

    set_presets(&options);
    while (status == SIRIX_OK && rest.at < rest.count) {
        status = take_option(&rest, seen, &options, err);
    }
    if (status == SIRIX_OK && options.config != NULL) {
        struct file file = {.on_line = seen, .options = &options};
        status =
            sirix_config_file_read(options.config, take_setting, &file, &options.config_text, err);
        out_options->config_text = options.config_text;
    }
    bool needs_data = options.action == SIRIX_APP_RUN || options.action == SIRIX_APP_CHECK_CONFIG;
    if (status == SIRIX_OK && needs_data && options.data == NULL) {
        status = sirix_fail(err, SIRIX_INVALID, "--data DIR is missing (see --help)");
    }
    if (status == SIRIX_OK) {
        status = check_together(&options, err);
    }
    if (status == SIRIX_OK) {
        *out_options = options;
    }
    return status;
}

/* --- Printing ----------------------------------------------------------------------------------- */

void sirix_app_help(FILE *out)
{
    (void)fprintf(out, "storaged " SIRIX_VERSION ", the daemon of a revision store of JSON "
                       "documents.\n\nUsage: storaged --data DIR [OPTION...]\n\n");
    for (size_t i = 0; i < ROWS; i++) {
        char left[64];
        (void)snprintf(left, sizeof(left), "%s%s%s", rows[i].name, rows[i].value == NULL ? "" : " ",
                       rows[i].value == NULL ? "" : rows[i].value);
        (void)fprintf(out, "  %-28s %s", left, rows[i].help);
        if (rows[i].kind == KIND_NUMBER && rows[i].preset >= 0) {
            (void)fprintf(out, " (%" PRId64 ")", rows[i].preset);
        }
        (void)fputc('\n', out);
    }
}

static const char *level_name(enum sirix_log_level level)
{
    static const char *const names[] = {
        [SIRIX_LOG_DEBUG] = "debug", [SIRIX_LOG_INFO] = "info", [SIRIX_LOG_WARN] = "warn",
        [SIRIX_LOG_ERROR] = "error", [SIRIX_LOG_OFF] = "off",
    };

    return names[level];
}

static void print_row(const struct option_row *row, const struct sirix_app_options *options,
                      FILE *out)
{
    const void *at = const_member(options, row);

    switch (row->kind) {
    case KIND_TEXT:
    case KIND_OPS:
        if (*(const char *const *)at != NULL) {
            (void)fprintf(out, "%s %s\n", row->name, *(const char *const *)at);
        }
        break;
    case KIND_LIST:
        for (size_t i = 0; i < options->listen_count; i++) {
            (void)fprintf(out, "%s %s\n", row->name, options->listen[i]);
        }
        break;
    case KIND_FLAG:
        (void)fprintf(out, "%s %s\n", row->name, *(const bool *)at ? "yes" : "no");
        break;
    case KIND_NUMBER:
        (void)fprintf(out, "%s %" PRId64 "\n", row->name, *(const int64_t *)at);
        break;
    case KIND_LEVEL:
        (void)fprintf(out, "%s %s\n", row->name, level_name(options->log_level));
        break;
    default:
        break;
    }
}

void sirix_app_options_print(const struct sirix_app_options *options, FILE *out)
{
    for (size_t i = 0; i < ROWS; i++) {
        print_row(&rows[i], options, out);
    }
}
