/* Start, transport and end. */
#include "app.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit_command.h"
#include "backend/backend.h"
#include "base/log.h"
#include "guard/gate.h"
#include "guard/options.h"
#include "guard/settings_read.h"
#include "mcp/callers.h"
#include "mcp/server.h"
#include "transport/http.h"
#include "transport/ops.h"
#include "transport/stdio.h"

enum {
    EXIT_USAGE = 2,
    PRINTED_BYTES_MAX = 64 * 1024,
    PATH_BYTES_MAX = 4096,
    PEM_BYTES_MAX = 64 * 1024
};

/* One line for a person; the caller ends the process. */
static int complain(const struct sirix_error *error)
{
    (void)fprintf(stderr, "sirix-mcp: %s\n", error->text);
    return error->status == SIRIX_NO_MEMORY ? EXIT_FAILURE : EXIT_USAGE;
}

static int print(enum sirix_status status, struct sirix_buf *text, const struct sirix_error *error)
{
    int code = EXIT_SUCCESS;

    if (status != SIRIX_OK) {
        code = complain(error);
    } else if (fwrite(text->data, 1, text->len, stdout) != text->len || fflush(stdout) != 0) {
        code = EXIT_FAILURE;
    }
    sirix_buf_deinit(text);
    return code;
}

static int print_help(void)
{
    struct sirix_error err = {0};
    struct sirix_buf text;

    sirix_buf_init(&text, PRINTED_BYTES_MAX);
    enum sirix_status status = sirix_options_print_help(&text, &err);
    return print(status, &text, &err);
}

static int print_settings(const struct sirix_settings *settings)
{
    struct sirix_error err = {0};
    struct sirix_buf text;

    sirix_buf_init(&text, SIRIX_SETTINGS_FILE_BYTES_MAX);
    enum sirix_status status = sirix_settings_print(settings, &text, &err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u8(&text, '\n', &err);
    }
    return print(status, &text, &err);
}

static void warn(const struct sirix_settings *settings)
{
    if (!settings->read_only) {
        sirix_log_write(SIRIX_LOG_WARN, "WARN: MCP server running in read-write mode", NULL, 0);
    }
}

/* Moves stdout away; the new descriptor is the protocol's alone. */
static int take_stdout(void)
{
    int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);

    if (fd >= 0 && dup2(STDERR_FILENO, STDOUT_FILENO) < 0) {
        (void)close(fd);
        fd = -1;
    }
    return fd;
}

/* A descriptor that becomes readable at SIGTERM or SIGINT. Before any thread is started. */
static int take_signals(void)
{
    sigset_t set;

    (void)signal(SIGPIPE, SIG_IGN);
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGTERM);
    (void)sigaddset(&set, SIGINT);
    return pthread_sigmask(SIG_BLOCK, &set, NULL) == 0 ? signalfd(-1, &set, SFD_CLOEXEC) : -1;
}

static enum sirix_status serve_stdio(const struct sirix_mcp_server *server, int stop_fd,
                                     struct sirix_error *err)
{
    const int out_fd = take_stdout();
    const struct sirix_stdio_options options = {
        .in_fd = STDIN_FILENO,
        .out_fd = out_fd,
        .stop_fd = stop_fd,
    };

    if (out_fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot move stdout away: %s", strerror(errno));
    }
    enum sirix_status status = sirix_stdio_run(server, &options, err);
    if (status != SIRIX_DEADLINE) {
        (void)close(out_fd);
    }
    return status;
}

/* A file of PEM texts as a C string, or NULL where there is none. */
static enum sirix_status read_pem(const char *path, struct sirix_buf *buf, char **out,
                                  struct sirix_error *err)
{
    struct sirix_error inner = {0};
    const char *text = NULL;
    enum sirix_status status = SIRIX_OK;

    if (path == NULL) {
        return SIRIX_OK;
    }
    status = sirix_setting_read_file(path, buf, &inner);
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(buf, &text, &inner);
    }
    if (status == SIRIX_OK) {
        *out = (char *)buf->data;
    }
    return status == SIRIX_OK ? SIRIX_OK : sirix_fail(err, status, "%s: %s", path, inner.text);
}

/* What serving HTTP needs beside the server. */
struct door {
    struct sirix_gateway_backend *reader;
    struct sirix_callers *callers;
    struct sirix_buf cert;
    struct sirix_buf key;
};

static void close_door(struct door *door)
{
    sirix_callers_free(door->callers);
    sirix_backend_stop(door->reader);
    sirix_buf_deinit(&door->cert);
    sirix_buf_deinit(&door->key);
}

/* Callers who may only read have a way to storaged on which nobody can write. */
static enum sirix_status open_callers(const struct sirix_mcp_server *server, struct door *door,
                                      struct sirix_error *err)
{
    const struct sirix_settings *settings = server->settings;
    const struct sirix_gateway_backend_options reader = {
        .directory = settings->database_path,
        .address = settings->storage,
        .read_only = true,
    };
    enum sirix_status status = SIRIX_OK;

    if (!settings->read_only && settings->database_path != NULL) {
        status = sirix_backend_start(&reader, &door->reader, err);
    }
    return status == SIRIX_OK ? sirix_callers_new(server, door->reader, &door->callers, err)
                              : status;
}

static enum sirix_status serve_http(const struct sirix_mcp_server *server, int stop_fd,
                                    const struct sirix_gate *gate, int ready_fd,
                                    struct sirix_error *err)
{
    const struct sirix_settings *settings = server->settings;
    struct sirix_http_options options = {
        .listen = settings->http_listen,
        .stop_fd = stop_fd,
        .ready_fd = ready_fd,
    };
    struct door door = {.reader = NULL};

    sirix_buf_init(&door.cert, PEM_BYTES_MAX);
    sirix_buf_init(&door.key, PEM_BYTES_MAX);
    enum sirix_status status =
        read_pem(settings->http_tls_cert, &door.cert, &options.tls_cert, err);
    if (status == SIRIX_OK) {
        status = read_pem(settings->http_tls_key, &door.key, &options.tls_key, err);
    }
    if (status == SIRIX_OK && gate != NULL) {
        status = open_callers(server, &door, err);
    }
    if (status == SIRIX_OK) {
        options.gate = gate;
        options.callers = door.callers;
        status = sirix_http_run(server, &options, err);
    }
    /* A call that does not end goes on using all of it. */
    if (status != SIRIX_DEADLINE) {
        close_door(&door);
    }
    return status;
}

static bool is_http(const struct sirix_settings *settings)
{
    return strcmp(settings->transport, "http") == 0;
}

/*
 * The key of what clients keep for us. Copies that serve one endpoint must share it; one process
 * alone does without a file where none can be made.
 */
static enum sirix_status take_keys(const struct sirix_settings *settings,
                                   struct sirix_seal_keys *keys, struct sirix_error *err)
{
    char path[PATH_BYTES_MAX];

    if (settings->state_key_file != NULL) {
        return sirix_seal_keys_load(settings->state_key_file, false, keys, err);
    }
    if (settings->database_path == NULL) {
        return SIRIX_OK;
    }
    if (mkdir(settings->database_path, S_IRWXU) != 0 && errno != EEXIST) {
        return SIRIX_OK; /* Whoever opens the folder says what is wrong with it. */
    }
    if ((size_t)snprintf(path, sizeof(path), "%s/state.key", settings->database_path) >=
        sizeof(path)) {
        return sirix_fail(err, SIRIX_INVALID, "databasePath is too long");
    }
    enum sirix_status status = sirix_seal_keys_load(path, true, keys, err);
    return status == SIRIX_IO ? SIRIX_OK : status;
}

/* Where the audit log goes: a path, the data folder, or stderr. */
static enum sirix_status open_audit(const struct sirix_settings *settings, struct sirix_audit **out,
                                    struct sirix_error *err)
{
    struct sirix_audit_options options = {.path = settings->audit_log_path};
    char path[PATH_BYTES_MAX];

    if (!settings->audit_log) {
        return SIRIX_OK;
    }
    if (options.path == NULL && settings->database_path != NULL) {
        if ((size_t)snprintf(path, sizeof(path), "%s/audit/audit.jsonl", settings->database_path) >=
            sizeof(path)) {
            return sirix_fail(err, SIRIX_INVALID, "databasePath is too long");
        }
        options.path = path;
    }
    return sirix_audit_open(&options, out, err);
}

static int serve(const struct sirix_settings *settings, const struct sirix_mcp_registry *registry,
                 const struct sirix_gate *gate, const char *ops_listen, int ready_fd)
{
    const struct sirix_gateway_backend_options where = {
        .directory = settings->database_path,
        .address = settings->storage,
        .read_only = settings->read_only,
        .token_file = settings->token_file,
        .tls_ca = settings->tls_ca,
        .tls_cert = settings->tls_cert,
        .tls_key = settings->tls_key,
    };
    struct sirix_gateway_backend *backend = NULL;
    struct sirix_probe *ops = NULL;
    struct sirix_mcp_server server;
    struct sirix_error err = {0};
    const int stop_fd = take_signals();

    if (stop_fd < 0) {
        (void)fprintf(stderr, "sirix-mcp: cannot set up signals: %s\n", strerror(errno));
        return EXIT_FAILURE;
    }
    enum sirix_status status = sirix_backend_start(&where, &backend, &err);
    if (status == SIRIX_OK) {
        status = sirix_mcp_server_init(&server, settings, registry, backend, &err);
    }
    if (status == SIRIX_OK) {
        status = take_keys(settings, &server.keys, &err);
        if (status == SIRIX_OK) {
            status = open_audit(settings, &server.audit, &err);
        }
        if (status == SIRIX_OK && ops_listen != NULL) {
            status = sirix_ops_start(&server, ops_listen, &ops, &err);
        }
        if (status != SIRIX_OK) {
            sirix_audit_close(server.audit);
            sirix_mcp_server_deinit(&server);
        }
    }
    if (status == SIRIX_OK) {
        status = is_http(settings) ? serve_http(&server, stop_fd, gate, ready_fd, &err)
                                   : serve_stdio(&server, stop_fd, &err);
        if (status == SIRIX_DEADLINE) {
            sirix_log_error(SIRIX_LOG_WARN, "leaving behind what does not end", &err);
            _exit(EXIT_SUCCESS);
        }
        sirix_probe_stop(ops);
        sirix_audit_close(server.audit);
        sirix_mcp_server_deinit(&server);
    }
    sirix_backend_stop(backend);
    (void)close(stop_fd);
    if (status != SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_ERROR, "ended by an error", &err);
    }
    return status == SIRIX_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}

/* Whether what is served may be reached from there. */
static enum sirix_status check_transport(const struct sirix_settings *settings,
                                         struct sirix_error *err)
{
    bool is_loopback = true;
    enum sirix_status status =
        is_http(settings) ? sirix_http_check_address(settings->http_listen, &is_loopback, err)
                          : SIRIX_OK;

    if (status == SIRIX_OK && !is_loopback && !sirix_settings_know_callers(settings)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "httpListen is no loopback address; serving others needs to "
                                   "know who they are: callersFile or oauthIssuer");
        sirix_error_set_field(err, "httpListen");
    }
    if (status == SIRIX_OK && !is_loopback && settings->http_tls_cert == NULL &&
        !settings->http_plain) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "httpListen is no loopback address; give httpTlsCert and "
                                   "httpTlsKey, or httpPlain where something in front speaks TLS");
        sirix_error_set_field(err, "httpListen");
    }
    if (status == SIRIX_OK && is_http(settings) && settings->storage != NULL &&
        settings->state_key_file == NULL) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING,
                                   "serving HTTP with --storage needs --state-key-file, which all "
                                   "copies of the server share");
        sirix_error_set_field(err, "stateKeyFile");
    }
    return status;
}

/* The descriptor of --ready-fd, or -1. */
static enum sirix_status take_ready_fd(const struct sirix_options *options, int *out,
                                       struct sirix_error *err)
{
    char *end = NULL;

    *out = -1;
    if (options->ready_fd == NULL) {
        return SIRIX_OK;
    }
    errno = 0;
    const long fd = strtol(options->ready_fd, &end, 10);
    if (errno != 0 || *end != '\0' || fd < 0 || fd > INT_MAX || fcntl((int)fd, F_GETFD) < 0) {
        return sirix_fail(err, SIRIX_INVALID, "--ready-fd %.20s is no open descriptor",
                          options->ready_fd);
    }
    *out = (int)fd;
    return SIRIX_OK;
}

int sirix_gateway_main(int argc, char **argv, const struct sirix_mcp_registry *registry)
{
    struct sirix_options options = {0};
    struct sirix_settings settings;
    struct sirix_error err = {0};
    struct sirix_gate gate = {.jwks = NULL};
    int ready_fd = -1;
    int code = EXIT_USAGE;

    if (argc > 1 && strcmp(argv[1], "audit") == 0) {
        return sirix_audit_command(argc, argv);
    }
    if (sirix_options_parse(argc, argv, &options, &err) != SIRIX_OK) {
        return complain(&err);
    }
    if (options.help) {
        return print_help();
    }
    if (options.version) {
        return printf("sirix-mcp %s\n", SIRIX_VERSION) < 0 ? EXIT_FAILURE : EXIT_SUCCESS;
    }
    if (sirix_options_settings(&options, &settings, &err) != SIRIX_OK) {
        return complain(&err);
    }
    const bool knows_callers = sirix_settings_know_callers(&settings);
    if (check_transport(&settings, &err) != SIRIX_OK ||
        take_ready_fd(&options, &ready_fd, &err) != SIRIX_OK ||
        (knows_callers && sirix_gate_open(&settings, &gate, &err) != SIRIX_OK)) {
        code = complain(&err);
    } else {
        sirix_log_setup(SIRIX_LOG_WARN, STDERR_FILENO, NULL);
        warn(&settings);
        code = options.check_config ? print_settings(&settings)
                                    : serve(&settings, registry, knows_callers ? &gate : NULL,
                                            options.ops, ready_fd);
    }
    if (knows_callers) {
        sirix_gate_close(&gate);
    }
    sirix_settings_deinit(&settings);
    return code;
}
