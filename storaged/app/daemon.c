/*
 * Start     signals, limits, folder and lock, service, server, doors, readiness.
 * End       not ready, drain, server, service, lock.
 *
 * Signals are blocked before gRPC starts its threads, which inherit the mask, and taken by the main
 * thread alone; it also does the housekeeping between them.
 */
#include "app/daemon.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "app/data_folder.h"
#include "app/telemetry.h"
#include "auth/principal_store.h"
#include "base/log.h"
#include "ops/health.h"
#include "rpc/methods/storage.h"
#include "rpc/runtime/server.h"
#include "rpc/runtime/tls.h"
#include "rpc/standard/health.h"
#include "rpc/standard/reflection.h"
#include "service/quota.h"
#include "service/service.h"

enum {
    TICK_MS = 1000,
    THREAD_STACK_BYTES = 512 * 1024,
    CALLS_WAITING_MAX = 4096,
    PRIVATE_UMASK = 0077,
    MODE_TEXT_BYTES = 16,
    NS_PER_MS = 1000000,
    US_PER_MS = 1000,
};

#define BYTES_PER_MIB (UINT64_C(1) << 20)

struct parts {
    const struct sirix_app_options *options;
    struct sirix_data_folder folder;
    struct sirix_principal_store *principals; /* NULL: there is no file of them. */
    struct sirix_service *service;
    struct sirix_rpc_server *server;
    struct sirix_rpc_health *rpc_health;
    struct sirix_rpc_storage *storage;
    struct sirix_health health;
    bool has_health;
    struct sirix_telemetry telemetry;
};

/* --- What is logged for others ------------------------------------------------------------------ */

static void on_opened(void *context, const char *database, const struct sirix_recovery *recovery)
{
    (void)context;
    sirix_log(recovery->intents != 0 ? SIRIX_LOG_WARN : SIRIX_LOG_INFO, "database opened",
              sirix_log_str("database", database), sirix_log_u64("resources", recovery->resources),
              sirix_log_u64("abandoned_commits", recovery->intents),
              sirix_log_u64("abandoned_segments", recovery->abandoned_segments));
}

static void on_grpc_log(const char *text)
{
    sirix_log(SIRIX_LOG_DEBUG, "grpc", sirix_log_str("text", text));
}

static void on_health(void *context, bool alive, bool ready)
{
    struct parts *parts = context;

    if (parts->rpc_health != NULL) {
        sirix_rpc_health_set(parts->rpc_health, SIRIX_RPC_HEALTH_PROCESS, alive);
        sirix_rpc_health_set(parts->rpc_health, SIRIX_RPC_HEALTH_STORAGE, ready);
    }
}

/* --- Start -------------------------------------------------------------------------------------- */

/* gRPC's listener never recovers from running out of descriptors: there had better be many. */
static void raise_descriptors(void)
{
    struct rlimit limit = {0};

    if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
        limit.rlim_cur = limit.rlim_max;
        if (setrlimit(RLIMIT_NOFILE, &limit) != 0) {
            sirix_log(SIRIX_LOG_WARN, "the limit of descriptors stays as it is",
                      sirix_log_i64("errno", errno));
        }
    }
}

/*
 * Of every thread that is started from here on, gRPC's included: 64 workers with the system's 8 MiB
 * would take half a gigabyte of a limit on data. Sanitizers need several times as much.
 */
static void limit_stacks(void)
{
#ifndef SIRIX_SANITIZED
    pthread_attr_t attributes;

    int rc = pthread_attr_init(&attributes);
    if (rc == 0) {
        rc = pthread_attr_setstacksize(&attributes, THREAD_STACK_BYTES);
        rc = rc == 0 ? pthread_setattr_default_np(&attributes) : rc;
        (void)pthread_attr_destroy(&attributes);
    }
    if (rc != 0) {
        sirix_log(SIRIX_LOG_WARN, "the stacks of threads stay as they are",
                  sirix_log_i64("errno", rc));
    }
#endif
}

static void block_signals(sigset_t *out_signals)
{
    (void)sigemptyset(out_signals);
    (void)sigaddset(out_signals, SIGTERM);
    (void)sigaddset(out_signals, SIGINT);
    (void)sigaddset(out_signals, SIGHUP);
    (void)pthread_sigmask(SIG_BLOCK, out_signals, NULL);
    (void)signal(SIGPIPE, SIG_IGN);
}

static bool is_unix(const char *address)
{
    return strncmp(address, "unix:", strlen("unix:")) == 0;
}

static void on_tls(void *context, const struct sirix_error *err)
{
    (void)context;
    if (err == NULL) {
        sirix_log_write(SIRIX_LOG_INFO, "the certificates were read again", NULL, 0);
    } else {
        sirix_log_error(SIRIX_LOG_WARN, "the certificates stay as they were", err);
    }
}

static struct sirix_rpc_tls_files tls_files(const struct sirix_app_options *options)
{
    return (struct sirix_rpc_tls_files){
        .certificate = options->tls_certificate,
        .key = options->tls_key,
        .client_ca = options->tls_client_ca,
        .told = on_tls,
    };
}

static enum sirix_status listen_at(struct parts *parts, struct sirix_rpc_door *door,
                                   const char *address, struct sirix_error *err)
{
    const struct sirix_rpc_tls_files files = tls_files(parts->options);
    bool has_tls = files.certificate != NULL && !is_unix(address);
    int port = 0;

    enum sirix_status status = has_tls
                                   ? sirix_rpc_door_listen_tls(door, address, &files, &port, err)
                                   : sirix_rpc_door_listen(door, address, &port, err);
    if (status == SIRIX_OK) {
        sirix_log(SIRIX_LOG_INFO, "listening", sirix_log_str("address", address),
                  sirix_log_i64("port", is_unix(address) ? 0 : port),
                  sirix_log_bool("tls", has_tls),
                  sirix_log_bool("principals", parts->principals != NULL && !is_unix(address)));
    }
    return status;
}

static void warn_of_open_address(const struct parts *parts, const char *address)
{
    bool is_here = false;
    struct sirix_error err = {0};

    if (sirix_app_address_check(address, &is_here, &err) != SIRIX_OK || is_here) {
        return; /* It was checked when it was given. */
    }
    if (parts->options->tls_certificate == NULL) {
        sirix_log(SIRIX_LOG_WARN, "this address has no TLS: tokens and data can be read on the way",
                  sirix_log_str("address", address));
    }
    if (parts->principals == NULL) {
        sirix_log(SIRIX_LOG_WARN,
                  "this address asks nobody who they are: whoever reaches it is its "
                  "operator",
                  sirix_log_str("address", address));
    }
}

/*
 * A Unix socket is its owner's, by the permissions of the file system; at other addresses principals
 * are asked for where there are any.
 */
static enum sirix_status listen_at_given(struct parts *parts, struct sirix_rpc_door *owner,
                                         struct sirix_error *err)
{
    struct sirix_rpc_door *guarded = NULL;
    enum sirix_status status = SIRIX_OK;

    if (parts->principals != NULL) {
        status =
            sirix_rpc_server_open_guarded_door(parts->server, parts->principals, &guarded, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < parts->options->listen_count; i++) {
        const char *address = parts->options->listen[i];

        warn_of_open_address(parts, address);
        status =
            listen_at(parts, guarded == NULL || is_unix(address) ? owner : guarded, address, err);
    }
    return status;
}

static enum sirix_status open_doors(struct parts *parts, struct sirix_error *err)
{
    struct sirix_rpc_door *owner = NULL;
    struct sirix_rpc_door *reader = NULL;
    char address[SIRIX_ADDRESS_BYTES_MAX];

    enum sirix_status status =
        sirix_rpc_server_open_door(parts->server, &sirix_principal_owner, &owner, err);
    /* Addresses that are relative to where we were started come before the folder is entered. */
    if (status == SIRIX_OK) {
        status = listen_at_given(parts, owner, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_data_folder_socket(&parts->folder, "storaged.sock", address, sizeof(address),
                                          err);
    }
    if (status == SIRIX_OK) {
        status = listen_at(parts, owner, address, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_server_open_door(parts->server, &sirix_principal_reader, &reader, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_data_folder_socket(&parts->folder, "reader.sock", address, sizeof(address), err);
    }
    return status == SIRIX_OK ? listen_at(parts, reader, address, err) : status;
}

static enum sirix_status enter(void *quotas, const char *principal, struct sirix_error *err)
{
    return sirix_quotas_enter(quotas, principal, err);
}

static void leave(void *quotas, const char *principal)
{
    sirix_quotas_leave(quotas, principal);
}

static enum sirix_status start(struct parts *parts, struct sirix_error *err)
{
    const struct sirix_app_options *options = parts->options;
    struct sirix_rpc_options rpc = {
        .workers = (unsigned)options->workers,
        .calls_waiting_max = CALLS_WAITING_MAX,
        .context = &parts->telemetry,
        .on_ended = sirix_telemetry_ended,
        .enter = enter,
        .leave = leave,
    };

    sirix_health_init(&parts->health, on_health, parts);
    parts->has_health = true;
    parts->telemetry.health = &parts->health;
    parts->telemetry.slow_us = (uint64_t)options->slow_call_ms * US_PER_MS;
    enum sirix_status status = sirix_data_folder_open(options->data, &parts->folder, err);
    if (status == SIRIX_OK && parts->folder.closed_mode != 0) {
        char mode[MODE_TEXT_BYTES];

        (void)snprintf(mode, sizeof(mode), "%04o", parts->folder.closed_mode);
        sirix_log(SIRIX_LOG_WARN, "the data folder was open to others and is now its owner's alone",
                  sirix_log_str("data", parts->folder.path), sirix_log_str("mode_before", mode),
                  sirix_log_str("mode", "0700"));
    }
    if (status == SIRIX_OK) { /* Only who has the folder may have the address. */
        status = sirix_telemetry_start(&parts->telemetry, options->ops, err);
    }
    if (status == SIRIX_OK && options->principals != NULL) {
        status = sirix_principal_store_open(options->principals, &parts->principals, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_service_options service = {
            .dir = parts->folder.path,
            .write_queue_timeout_ms = (uint32_t)options->write_queue_timeout_ms,
            .databases_open_max = (uint32_t)options->databases_open_max,
            .map_bytes_max = (uint64_t)options->map_max_mib * BYTES_PER_MIB,
            .opened = on_opened,
        };
        status = sirix_service_open(&service, &parts->service, err);
    }
    if (status == SIRIX_OK) {
        atomic_store(&parts->telemetry.service, parts->service);
        rpc.quotas = parts->service->quotas;
        status = sirix_rpc_server_new(&rpc, &parts->server, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_health_new(parts->server, &parts->rpc_health, err);
    }
    if (status == SIRIX_OK) {
        on_health(parts, true, false);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_reflection_add(parts->server, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rpc_storage_new(parts->server, parts->service, options->embedded,
                                       &parts->storage, err);
    }
    if (status == SIRIX_OK) {
        atomic_store(&parts->telemetry.server, parts->server); /* All methods are in it. */
        sirix_rpc_storage_set_principals(parts->storage, parts->principals);
        status = open_doors(parts, err);
    }
    return status == SIRIX_OK ? sirix_rpc_server_start(parts->server, err) : status;
}

static void tell_ready(const struct sirix_app_options *options)
{
    static const char word[] = "ready\n";

    if (options->ready_fd < 0) {
        return;
    }
    /* Whoever waited may be gone; then nobody misses the word. */
    ssize_t written = write((int)options->ready_fd, word, sizeof(word) - 1);
    (void)written;
    (void)close((int)options->ready_fd);
}

/* --- Serving ------------------------------------------------------------------------------------ */

static void reload_principals(struct parts *parts)
{
    struct sirix_error err = {0};
    size_t count = 0;

    if (parts->principals == NULL) {
        return; /* There is nothing that a hang-up would be about. */
    }
    if (sirix_rpc_storage_reload_principals(parts->storage, &count, &err) != SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_WARN, "the principals stay as they were", &err);
        return;
    }
    sirix_log(SIRIX_LOG_INFO, "the principals were read again", sirix_log_u64("count", count));
}

/* Returns what ended it, for the log. */
static const char *serve(struct parts *parts, const sigset_t *signals)
{
    for (;;) {
        uint64_t idle_ms =
            parts->options->embedded ? sirix_rpc_server_idle_us(parts->server) / 1000 : 0;
        if (idle_ms >= SIRIX_EMBEDDED_IDLE_MS) {
            return "nobody is left";
        }
        uint64_t left_ms = SIRIX_EMBEDDED_IDLE_MS - idle_ms;
        uint64_t wait_ms = left_ms < TICK_MS ? left_ms : TICK_MS;
        const struct timespec timeout = {.tv_sec = (time_t)(wait_ms / 1000),
                                         .tv_nsec = (long)(wait_ms % 1000) * NS_PER_MS};
        int number = sigtimedwait(signals, NULL, &timeout);
        if (number == SIGHUP) {
            reload_principals(parts);
        } else if (number > 0) {
            return number == SIGTERM ? "SIGTERM" : "SIGINT";
        }
        sirix_service_tick(parts->service);
    }
}

static void stop(struct parts *parts)
{
    if (parts->has_health) {
        sirix_health_set(&parts->health, SIRIX_HEALTH_DRAINING);
    }
    if (parts->server != NULL) {
        sirix_rpc_server_drain(parts->server, (unsigned)parts->options->grace_ms);
    }
    sirix_telemetry_stop(&parts->telemetry);
    sirix_rpc_server_free(parts->server);
    if (parts->has_health) {
        sirix_health_deinit(&parts->health);
    }
    sirix_rpc_storage_free(parts->storage);
    sirix_rpc_health_free(parts->rpc_health);
    sirix_service_close(parts->service);
    sirix_principal_store_close(parts->principals);
    sirix_data_folder_close(&parts->folder);
}

enum sirix_status sirix_daemon_run(const struct sirix_app_options *options, struct sirix_error *err)
{
    struct parts parts = {.options = options, .folder = {.fd = -1, .lock_fd = -1}};
    sigset_t signals;

    sirix_log_setup(options->log_level, STDERR_FILENO, NULL);
    sirix_rpc_tune_malloc();
    sirix_rpc_log_to(on_grpc_log);
    (void)umask(PRIVATE_UMASK);
    block_signals(&signals);
    raise_descriptors();
    limit_stacks();

    enum sirix_status status = start(&parts, err);
    if (status != SIRIX_OK) {
        sirix_log_error(SIRIX_LOG_ERROR, "cannot start", err);
        stop(&parts);
        return status;
    }
    sirix_health_set(&parts.health, SIRIX_HEALTH_SERVING);
    sirix_log(SIRIX_LOG_INFO, "serving", sirix_log_str("version", SIRIX_VERSION),
              sirix_log_str("data", parts.folder.path),
              sirix_log_bool("embedded", options->embedded), sirix_log_i64("pid", getpid()));
    tell_ready(options);
    const char *why = serve(&parts, &signals);
    sirix_log(SIRIX_LOG_INFO, "ending", sirix_log_str("why", why));
    stop(&parts);
    sirix_log_write(SIRIX_LOG_INFO, "ended", NULL, 0);
    return SIRIX_OK;
}

enum sirix_status sirix_daemon_check(const struct sirix_app_options *options,
                                     struct sirix_error *err)
{
    const struct sirix_rpc_tls_files files = tls_files(options);
    struct sirix_principal_store *principals = NULL;

    enum sirix_status status = sirix_data_folder_check(options->data, err);
    if (status == SIRIX_OK && options->principals != NULL) {
        status = sirix_principal_store_open(options->principals, &principals, err);
        sirix_principal_store_close(principals);
    }
    if (status == SIRIX_OK && files.certificate != NULL) {
        status = sirix_rpc_tls_check(&files, err);
    }
    return status;
}
