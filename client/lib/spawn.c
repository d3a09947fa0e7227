/*
 * posix_spawn only: a fork after gRPC has started would hang the child or break the parent's
 * connections.
 */
#include "lib/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/transport/channel.h"

static const char program_name[] = "storaged";
static const char log_name[] = "storaged.log";

enum {
    READY_FD = 3,
    FIRST_FD_CLOSED = READY_FD + 1,
    LOG_MODE = 0600,
    NS_A_MS = 1000000,
    SIGNAL_EXIT_BASE = 128,
};

/* --- Finding ---------------------------------------------------------------------------------- */

/* folder/storaged, if that can be run; NULL if not, or if there is no memory. */
static char *program_in(const char *folder, size_t folder_len)
{
    char *path = NULL;

    if (asprintf(&path, "%.*s/%s", (int)folder_len, folder, program_name) < 0) {
        return NULL;
    }
    if (access(path, X_OK) != 0) {
        free(path);
        return NULL;
    }
    return path;
}

static char *program_beside_us(void)
{
    char self[PATH_MAX];
    ssize_t len = readlink("/proc/self/exe", self, sizeof(self));

    if (len <= 0 || (size_t)len >= sizeof(self)) {
        return NULL;
    }
    while (len > 0 && self[len - 1] != '/') {
        len--;
    }
    return len > 1 ? program_in(self, (size_t)len - 1) : NULL;
}

static char *program_on_path(void)
{
    const char *path = getenv("PATH");
    char *found = NULL;

    while (path != NULL && *path != '\0' && found == NULL) {
        size_t len = strcspn(path, ":");

        /* A relative folder would mean another one in each working directory. */
        if (path[0] == '/') {
            found = program_in(path, len);
        }
        path += path[len] == ':' ? len + 1 : len;
    }
    return found;
}

enum sirix_status sirix_spawn_find(const char *wish, char **out_program, struct sirix_error *err)
{
    char *found = NULL;

    if (wish != NULL) {
        found = realpath(wish, NULL);
        if (found == NULL || access(found, X_OK) != 0) {
            free(found);
            return sirix_fail(err, SIRIX_NOT_FOUND, "cannot run `%s`: %s", wish, strerror(errno));
        }
        *out_program = found;
        return SIRIX_OK;
    }
    found = program_beside_us();
    if (found == NULL) {
        found = program_on_path();
    }
    if (found == NULL) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "no program `%s` beside this one, nor on PATH",
                          program_name);
    }
    *out_program = found;
    return SIRIX_OK;
}

/* --- Starting --------------------------------------------------------------------------------- */

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing, int error)
{
    return sirix_fail(err, SIRIX_IO, "%s: %s", doing, strerror(error));
}

static enum sirix_status fail_log(const char *directory, struct sirix_error *err)
{
    int error = errno;

    if (error == EROFS) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s cannot be written (a read-only file system), and storaged keeps its "
                          "lock, its sockets and its log there, also to read: copy the folder to "
                          "where it can be written, and give the copy",
                          directory);
    }
    return sirix_fail(err, error == ENOSPC ? SIRIX_NO_SPACE : SIRIX_IO,
                      "open storaged.log in %s: %s", directory, strerror(error));
}

/* Opens the log; *out_made: it was not there before. */
static enum sirix_status open_log(const char *directory, int directory_fd, int *out_fd,
                                  bool *out_made, struct sirix_error *err)
{
    const int flags = O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC;
    struct stat stat = {0};
    int fd = openat(directory_fd, log_name, flags | O_EXCL, LOG_MODE);

    *out_made = fd >= 0;
    if (fd < 0 && errno == EEXIST) {
        fd = openat(directory_fd, log_name, flags, LOG_MODE);
    }
    if (fd < 0) {
        return fail_log(directory, err);
    }
    bool too_long = fstat(fd, &stat) == 0 && stat.st_size > SIRIX_SPAWN_LOG_BYTES_MAX;
    if (too_long && ftruncate(fd, 0) != 0) {
        enum sirix_status status = fail_errno(err, "shorten storaged.log", errno);

        (void)close(fd);
        return status;
    }
    *out_fd = fd;
    return SIRIX_OK;
}

static int set_up_files(posix_spawn_file_actions_t *actions, int log_fd, int ready_fd)
{
    int rc = posix_spawn_file_actions_addopen(actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);

    if (rc == 0) {
        rc = posix_spawn_file_actions_addopen(actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
    }
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(actions, log_fd, STDERR_FILENO);
    }
    if (rc == 0) {
        rc = posix_spawn_file_actions_adddup2(actions, ready_fd, READY_FD);
    }
    if (rc == 0) {
        /* A pipe of our host that the daemon kept would never end for the host. */
        rc = posix_spawn_file_actions_addclosefrom_np(actions, FIRST_FD_CLOSED);
    }
    if (rc == 0) {
        rc = posix_spawn_file_actions_addchdir_np(actions, "/");
    }
    return rc;
}

static int set_up_signals(posix_spawnattr_t *attributes)
{
    sigset_t none;
    sigset_t all;

    (void)sigemptyset(&none);
    (void)sigfillset(&all);
    int rc = posix_spawnattr_setsigmask(attributes, &none);
    if (rc == 0) {
        rc = posix_spawnattr_setsigdefault(attributes, &all);
    }
    if (rc == 0) {
        rc = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK |
                                                      POSIX_SPAWN_SETSIGDEF);
    }
    return rc;
}

static char *writable(const char *text)
{
    union {
        const char *in;
        char *out;
    } pointer = {.in = text};

    return pointer.out; /* posix_spawn reads its arguments only. */
}

static int spawn(const char *program, const char *directory, int log_fd, int ready_fd,
                 pid_t *out_pid)
{
    char ready[16];
    char *argv[] = {writable(program),
                    writable("--data"),
                    writable(directory),
                    writable("--embedded"),
                    writable("--ready-fd"),
                    ready,
                    NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;

    (void)snprintf(ready, sizeof(ready), "%d", READY_FD);
    int rc = posix_spawn_file_actions_init(&actions);
    if (rc != 0) {
        return rc;
    }
    rc = posix_spawnattr_init(&attributes);
    if (rc == 0) {
        rc = set_up_files(&actions, log_fd, ready_fd);
        if (rc == 0) {
            rc = set_up_signals(&attributes);
        }
        if (rc == 0) {
            rc = posix_spawn(out_pid, program, &actions, &attributes, argv, environ);
        }
        (void)posix_spawnattr_destroy(&attributes);
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    return rc;
}

/* --- Waiting ---------------------------------------------------------------------------------- */

/* The last line of the log, without what a terminal would act on. */
static void read_last_line(int log_fd, char *to, size_t to_bytes)
{
    char tail[1024];
    struct stat stat = {0};

    to[0] = '\0';
    if (fstat(log_fd, &stat) != 0) {
        return;
    }
    off_t from = stat.st_size > (off_t)sizeof(tail) ? stat.st_size - (off_t)sizeof(tail) : 0;
    ssize_t len = pread(log_fd, tail, sizeof(tail), from);
    while (len > 0 && (tail[len - 1] == '\n' || tail[len - 1] == '\r')) {
        len--;
    }
    ssize_t start = len;
    while (start > 0 && tail[start - 1] != '\n') {
        start--;
    }
    size_t used = 0;
    for (ssize_t i = start; i < len && used + 1 < to_bytes; i++) {
        unsigned char byte = (unsigned char)tail[i];

        to[used++] = (char)(byte >= ' ' && byte < 0x7f ? byte : '?');
    }
    to[used] = '\0';
}

/* Reads the pipe until a byte (ready), its end (gone), or the time. */
static enum sirix_spawn_end wait_for_word(int fd, uint64_t until_ns)
{
    for (;;) {
        uint64_t now_ns = sirix_monotonic_ns();
        uint64_t left_ms = until_ns > now_ns ? (until_ns - now_ns) / NS_A_MS + 1 : 0;
        struct pollfd pollfd = {.fd = fd, .events = POLLIN};
        int timeout_ms = left_ms > INT_MAX ? INT_MAX : (int)left_ms;
        char byte = 0;

        int rc = poll(&pollfd, 1, timeout_ms);
        if (rc == 0) {
            return SIRIX_SPAWN_SILENT;
        }
        if (rc < 0) {
            continue; /* EINTR: nothing else can happen to one good descriptor. */
        }
        ssize_t len = read(fd, &byte, 1);
        if (len > 0) {
            return SIRIX_SPAWN_READY;
        }
        if (len == 0) {
            return SIRIX_SPAWN_EXITED;
        }
    }
}

/* The pipe has ended, so it is about to be gone. */
static int reap(pid_t pid)
{
    int state = 0;
    pid_t rc = 0;

    do {
        rc = waitpid(pid, &state, 0);
    } while (rc < 0 && errno == EINTR);
    if (rc != pid) {
        return 0; /* The program around us reaps all children itself. */
    }
    return WIFEXITED(state) ? WEXITSTATUS(state) : SIGNAL_EXIT_BASE + WTERMSIG(state);
}

enum sirix_status sirix_spawn_start(const char *program, const char *directory, int directory_fd,
                                    uint64_t until_ns, struct sirix_spawned *out_spawned,
                                    struct sirix_error *err)
{
    struct sirix_spawned spawned = {.pid = 0};
    int ready[2] = {-1, -1};
    int log_fd = -1;
    int rc = 0;
    bool made_log = false;
    enum sirix_status status = open_log(directory, directory_fd, &log_fd, &made_log, err);

    if (status != SIRIX_OK) {
        goto out;
    }
    if (pipe2(ready, O_CLOEXEC) != 0) {
        status = fail_errno(err, "make a pipe", errno);
        goto out;
    }
    rc = spawn(program, directory, log_fd, ready[1], &spawned.pid);
    if (rc != 0) {
        status = fail_errno(err, "start storaged", rc);
        goto out;
    }
    (void)close(ready[1]);
    ready[1] = -1;
    spawned.end = wait_for_word(ready[0], until_ns);
    if (spawned.end == SIRIX_SPAWN_EXITED) {
        spawned.exit_code = reap(spawned.pid);
        spawned.pid = 0;
        read_last_line(log_fd, spawned.last_line, sizeof(spawned.last_line));
        if (made_log) {
            /* Perhaps no folder of ours at all: leave nothing in it. */
            (void)unlinkat(directory_fd, log_name, 0);
        }
    }
    *out_spawned = spawned;
out:
    if (ready[0] >= 0) {
        (void)close(ready[0]);
    }
    if (ready[1] >= 0) {
        (void)close(ready[1]);
    }
    if (log_fd >= 0) {
        (void)close(log_fd);
    }
    return status;
}
