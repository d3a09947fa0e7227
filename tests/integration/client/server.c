#include "server.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { READY_FD = 3 };

static void die(const char *what)
{
    (void)fprintf(stderr, "%s\n", what);
    exit(2);
}

struct server_program server_program_from(int argc, char **argv)
{
    if (argc != 3) {
        die("usage: test FAKE_SERVER STUBS");
    }
    /* The server finds its modules by this; so does one that libsirix starts. */
    if (setenv("PYTHONPATH", argv[2], 1) != 0) {
        die("setenv");
    }
    return (struct server_program){.script = argv[1], .stubs = argv[2]};
}

void server_restart(struct server *server, const struct server_program *program)
{
    posix_spawn_file_actions_t actions;
    char script[256];
    char socket[128];
    char byte = 0;
    int ready[2];

    (void)snprintf(script, sizeof(script), "%s", program->script);
    (void)snprintf(socket, sizeof(socket), "%s/socket", server->folder);
    char python[] = "/usr/bin/python3";
    char socket_flag[] = "--socket";
    char ready_flag[] = "--ready-fd";
    char ready_fd[] = "3";
    char *argv[] = {python, script, socket_flag, socket, ready_flag, ready_fd, NULL};
    if (pipe2(ready, O_CLOEXEC) != 0 || posix_spawn_file_actions_init(&actions) != 0 ||
        posix_spawn_file_actions_adddup2(&actions, ready[1], READY_FD) != 0 ||
        posix_spawn(&server->pid, python, &actions, NULL, argv, environ) != 0) {
        die("cannot start the fake server");
    }
    (void)posix_spawn_file_actions_destroy(&actions);
    (void)close(ready[1]);
    if (read(ready[0], &byte, 1) != 1) {
        die("the fake server did not get ready");
    }
    (void)close(ready[0]);
}

void server_start(struct server *server, const struct server_program *program)
{
    *server = (struct server){.folder = "/tmp/sirix_client_test_XXXXXX"};
    if (mkdtemp(server->folder) == NULL) {
        die("mkdtemp");
    }
    (void)snprintf(server->address, sizeof(server->address), "unix:%s/socket", server->folder);
    server_restart(server, program);
}

void server_kill(struct server *server)
{
    if (server->pid > 0) {
        (void)kill(server->pid, SIGKILL);
        (void)waitpid(server->pid, NULL, 0);
        server->pid = 0;
    }
}

void server_stop(struct server *server)
{
    char socket[128];

    server_kill(server);
    (void)snprintf(socket, sizeof(socket), "%s/socket", server->folder);
    (void)unlink(socket);
    (void)rmdir(server->folder);
}

static enum sirix_status read_text(void *context, void *buffer, size_t capacity, size_t *out_len,
                                   struct sirix_error *err)
{
    struct text_source *source = context;
    size_t len = source->text.len - source->at;

    if (len == 0 && source->fail_with != SIRIX_OK) {
        return sirix_fail(err, source->fail_with, "the source broke");
    }
    len = len < capacity ? len : capacity;
    len = source->piece != 0 && source->piece < len ? source->piece : len;
    if (len != 0) {
        memcpy(buffer, (const char *)source->text.data + source->at, len);
    }
    source->at += len;
    *out_len = len;
    return SIRIX_OK;
}

struct sirix_source text_source(struct text_source *source)
{
    return (struct sirix_source){.read = read_text, .context = source};
}
