/* Finding, starting and holding an embedded daemon. */
#include "lib/embedded.h"

#include <errno.h>
#include <fcntl.h>
#include <grpc/byte_buffer.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/client.h"
#include "lib/spawn.h"
#include "lib/transport/message.h"
#include "sirix/storage/v1/storage.pb-c.h"

static const char writer_socket[] = "storaged.sock";
static const char reader_socket[] = "reader.sock";
static const uint64_t ns_a_ms = 1000000;

enum {
    DIRECTORY_MODE = 0700,
    PAUSE_FIRST_MS = 5,
    PAUSE_MAX_MS = 100,
    SOCKET_PATH_BYTES_MAX = sizeof(((struct sockaddr_un *)NULL)->sun_path),
};

struct sirix_embedded {
    struct sirix_channel *channel; /* The client's. */
    char *directory;               /* Absolute. */
    char *program_wish;            /* NULL: wherever it is found. */
    char *client_name;
    int directory_fd;
    char socket[SOCKET_PATH_BYTES_MAX];
    uint32_t start_timeout_ms;
    pthread_mutex_t mutex; /* Of what follows. */
    struct sirix_call attach;
    pid_t child; /* A daemon that we started, to be reaped; 0: none. */
};

/* What stops one round of attaching, beside success. */
enum round { ROUND_DONE, ROUND_AGAIN, ROUND_FAILED };

/* --- The socket ------------------------------------------------------------------------------- */

/* Whether somebody listens there. A plain connect: gRPC would pause before its second try. */
static bool somebody_listens(const struct sirix_embedded *embedded)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return false;
    }
    memcpy(address.sun_path, embedded->socket, strlen(embedded->socket));
    bool listens = connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0 ||
                   errno == EAGAIN; /* Its backlog is full: somebody is there. */
    (void)close(fd);
    return listens;
}

/* A path that fits a socket address: past 107 bytes, by way of the open folder. */
static enum sirix_status set_socket(struct sirix_embedded *embedded, bool read_only,
                                    struct sirix_error *err)
{
    const char *name = read_only ? reader_socket : writer_socket;
    int len =
        snprintf(embedded->socket, sizeof(embedded->socket), "%s/%s", embedded->directory, name);

    if (len < 0 || (size_t)len >= sizeof(embedded->socket)) {
        len = snprintf(embedded->socket, sizeof(embedded->socket), "/proc/self/fd/%d/%s",
                       embedded->directory_fd, name);
    }
    if (len < 0 || (size_t)len >= sizeof(embedded->socket)) {
        return sirix_fail(err, SIRIX_INTERNAL, "name the socket of `%s`", embedded->directory);
    }
    return SIRIX_OK;
}

/* --- Attaching -------------------------------------------------------------------------------- */

/* Waits for the one message that says that the server holds on. */
static enum sirix_status await_hello(struct sirix_call *attach, grpc_byte_buffer *request,
                                     uint64_t until_ns, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    attach->give_up_ns = until_ns; /* It shall last, so it has no deadline. */
    sirix_call_request(attach, request);
    grpc_byte_buffer *hello = sirix_call_receive(attach);
    if (hello == NULL) {
        status = sirix_call_finish(attach, err);
        if (status == SIRIX_OK) {
            status = sirix_fail(err, SIRIX_UNAVAILABLE, "storaged ended the attachment");
        }
    }
    grpc_byte_buffer_destroy(hello);
    attach->give_up_ns = UINT64_MAX;
    return status;
}

static enum sirix_status attach(struct sirix_embedded *embedded, uint64_t until_ns,
                                struct sirix_error *err)
{
    Sirix__Storage__V1__AttachRequest request = SIRIX__STORAGE__V1__ATTACH_REQUEST__INIT;
    grpc_byte_buffer *buffer = NULL;

    request.client = sirix_message_from_str(embedded->client_name);
    enum sirix_status status = sirix_message_encode(&request.base, &buffer, err);
    if (status != SIRIX_OK) {
        return status;
    }
    sirix_channel_forget_failures(embedded->channel);
    status = sirix_call_start(&embedded->attach, embedded->channel, SIRIX_METHOD_ATTACH, UINT64_MAX,
                              NULL, err);
    if (status == SIRIX_OK) {
        status = await_hello(&embedded->attach, buffer, until_ns, err);
        if (status != SIRIX_OK) {
            sirix_call_deinit(&embedded->attach);
        }
    }
    grpc_byte_buffer_destroy(buffer);
    return status;
}

/* --- Starting --------------------------------------------------------------------------------- */

static void reap_child(struct sirix_embedded *embedded)
{
    if (embedded->child != 0 && waitpid(embedded->child, NULL, WNOHANG) != 0) {
        embedded->child = 0; /* Reaped, or not ours any more. */
    }
}

/*
 * Starts the daemon unless somebody else is at it. ROUND_AGAIN: look again soon; *err says why it
 * was not ready, if that is known.
 */
static enum round start_daemon(struct sirix_embedded *embedded, uint64_t until_ns,
                               struct sirix_error *err)
{
    struct sirix_spawned spawned = {.pid = 0};
    enum round round = ROUND_AGAIN;
    char *program = NULL;
    int lock = openat(embedded->directory_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (lock < 0) {
        (void)sirix_fail(err, SIRIX_IO, "open `%s`: %s", embedded->directory, strerror(errno));
        return ROUND_FAILED;
    }
    if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
        goto out;
    }
    if (somebody_listens(embedded)) {
        goto out;
    }
    reap_child(embedded);
    if (sirix_spawn_find(embedded->program_wish, &program, err) != SIRIX_OK ||
        sirix_spawn_start(program, embedded->directory, embedded->directory_fd, until_ns, &spawned,
                          err) != SIRIX_OK) {
        round = ROUND_FAILED;
        goto out;
    }
    if (spawned.end == SIRIX_SPAWN_EXITED) {
        (void)sirix_fail(err, SIRIX_UNAVAILABLE, "storaged ended at once with code %d: %s",
                         spawned.exit_code,
                         spawned.last_line[0] != '\0' ? spawned.last_line : "it said nothing");
        /* Somebody owns the folder, perhaps a daemon that is ending: it may be free soon. */
        if (spawned.exit_code != sirix_status_exit_code(SIRIX_UNAVAILABLE)) {
            round = ROUND_FAILED;
        }
    } else {
        embedded->child = spawned.pid;
    }
out:
    free(program);
    (void)close(lock); /* And the lock with it. */
    return round;
}

/* One look at the socket and what follows from it. */
static enum round go_round(struct sirix_embedded *embedded, uint64_t until_ns,
                           struct sirix_error *err)
{
    if (!somebody_listens(embedded)) {
        enum round round = start_daemon(embedded, until_ns, err);

        if (round != ROUND_AGAIN || !somebody_listens(embedded)) {
            return round;
        }
    }
    enum sirix_status status = attach(embedded, until_ns, err);
    if (status == SIRIX_OK) {
        return ROUND_DONE;
    }
    /* Refused while it ends, or hung up on: there will be another one. */
    return status == SIRIX_UNAVAILABLE || status == SIRIX_CANCELLED ? ROUND_AGAIN : ROUND_FAILED;
}

static enum sirix_status ensure_locked(struct sirix_embedded *embedded, uint64_t until_ns,
                                       struct sirix_call_cancel *cancel, struct sirix_error *err)
{
    struct sirix_error failure = {0};
    uint64_t pause_ns = PAUSE_FIRST_MS * ns_a_ms;

    if (embedded->attach.call != NULL) {
        if (sirix_call_is_alive(&embedded->attach)) {
            return SIRIX_OK;
        }
        sirix_call_deinit(&embedded->attach);
    }
    uint64_t start_by_ns = sirix_monotonic_ns() + embedded->start_timeout_ms * ns_a_ms;
    until_ns = start_by_ns < until_ns ? start_by_ns : until_ns;
    for (;;) {
        enum round round = go_round(embedded, until_ns, &failure);

        if (round == ROUND_DONE) {
            return SIRIX_OK;
        }
        if (round == ROUND_FAILED || sirix_monotonic_ns() + pause_ns >= until_ns) {
            break;
        }
        if (!sirix_call_cancel_sleep(cancel, pause_ns)) {
            return sirix_call_cancel_fail(err);
        }
        pause_ns = pause_ns < PAUSE_MAX_MS * ns_a_ms ? pause_ns * 2 : pause_ns;
    }
    if (failure.status == SIRIX_OK || failure.status == SIRIX_CANCELLED) {
        return sirix_fail(err, SIRIX_UNAVAILABLE, "storaged of `%s` did not get ready in time",
                          embedded->directory);
    }
    if (err != NULL) {
        *err = failure;
    }
    return failure.status;
}

enum sirix_status sirix_embedded_ensure(struct sirix_embedded *embedded, uint64_t until_ns,
                                        struct sirix_call_cancel *cancel, struct sirix_error *err)
{
    (void)pthread_mutex_lock(&embedded->mutex);
    enum sirix_status status = ensure_locked(embedded, until_ns, cancel, err);
    (void)pthread_mutex_unlock(&embedded->mutex);
    return status;
}

/* --- Open and close --------------------------------------------------------------------------- */

void sirix_embedded_stop(struct sirix_embedded *embedded)
{
    if (embedded == NULL) {
        return;
    }
    sirix_call_deinit(&embedded->attach);
    reap_child(embedded);
    if (embedded->directory_fd >= 0) {
        (void)close(embedded->directory_fd);
    }
    (void)pthread_mutex_destroy(&embedded->mutex);
    free(embedded->directory);
    free(embedded->program_wish);
    free(embedded->client_name);
    free(embedded);
}

static enum sirix_status open_directory(struct sirix_embedded *embedded, const char *directory,
                                        struct sirix_error *err)
{
    if (mkdir(directory, DIRECTORY_MODE) != 0 && errno != EEXIST) {
        return sirix_fail(err, errno == ENOENT ? SIRIX_NOT_FOUND : SIRIX_IO, "make `%s`: %s",
                          directory, strerror(errno));
    }
    embedded->directory = realpath(directory, NULL);
    if (embedded->directory != NULL) {
        embedded->directory_fd = open(embedded->directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
    }
    if (embedded->directory_fd < 0) {
        return sirix_fail(err, errno == ENOMEM ? SIRIX_NO_MEMORY : SIRIX_IO, "open `%s`: %s",
                          directory, strerror(errno));
    }
    return SIRIX_OK;
}

static enum sirix_status new_embedded(const char *directory,
                                      const struct sirix_embedded_options *options,
                                      struct sirix_embedded **out_embedded, struct sirix_error *err)
{
    const char *name = options->client.client_name != NULL ? options->client.client_name : "";
    struct sirix_embedded *embedded = calloc(1, sizeof(*embedded));
    enum sirix_status status = SIRIX_OK;

    if (embedded == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a client");
    }
    embedded->directory_fd = -1;
    embedded->start_timeout_ms = options->start_timeout_ms != 0 ? options->start_timeout_ms
                                                                : SIRIX_EMBEDDED_START_DEFAULT_MS;
    (void)pthread_mutex_init(&embedded->mutex, NULL); /* Cannot fail on Linux. */
    embedded->client_name = strdup(name);
    if (options->program != NULL) {
        embedded->program_wish = strdup(options->program);
    }
    if (embedded->client_name == NULL ||
        (options->program != NULL && embedded->program_wish == NULL)) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate a client");
    }
    if (status == SIRIX_OK) {
        status = open_directory(embedded, directory, err);
    }
    if (status == SIRIX_OK) {
        status = set_socket(embedded, options->read_only, err);
    }
    if (status != SIRIX_OK) {
        sirix_embedded_stop(embedded);
        return status;
    }
    *out_embedded = embedded;
    return SIRIX_OK;
}

enum sirix_status sirix_embedded_open(const char *directory,
                                      const struct sirix_embedded_options *options,
                                      struct sirix_client **out_client, struct sirix_error *err)
{
    static const struct sirix_embedded_options defaults = {0};
    char address[SOCKET_PATH_BYTES_MAX + sizeof("unix:")];
    struct sirix_embedded *embedded = NULL;
    struct sirix_channel *channel = NULL;
    struct sirix_client *client = NULL;

    options = options != NULL ? options : &defaults;
    enum sirix_status status = sirix_client_check_options(&options->client, err);
    if (status == SIRIX_OK) {
        status = new_embedded(directory, options, &embedded, err);
    }
    if (status == SIRIX_OK) {
        (void)snprintf(address, sizeof(address), "unix:%s", embedded->socket);
        status = sirix_channel_open(address, &(struct sirix_security_options){0}, &channel, err);
    }
    if (status == SIRIX_OK) {
        embedded->channel = channel;
        status = sirix_embedded_ensure(embedded, UINT64_MAX, NULL, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_client_new(channel, &options->client, &client, err);
    }
    if (status != SIRIX_OK) {
        sirix_embedded_stop(embedded);
        sirix_channel_close(channel);
        return status;
    }
    client->embedded = embedded;
    *out_client = client;
    return SIRIX_OK;
}
