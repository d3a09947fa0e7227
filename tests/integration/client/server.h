/* A fake storaged for the tests of this folder: started once a test program, on a Unix socket. */
#ifndef SIRIX_TESTS_CLIENT_SERVER_H
#define SIRIX_TESTS_CLIENT_SERVER_H

#include <stddef.h>
#include <sys/types.h>

#include "sirix/sirix.h"

/* The program and where its Python modules are: the arguments of every test program. */
struct server_program {
    const char *script;
    const char *stubs;
};

/* Reads the arguments; ends the program when they are not there. */
struct server_program server_program_from(int argc, char **argv);

struct server {
    char folder[64];
    char address[128];
    pid_t pid;
};

/* Starts it and waits until it listens; ends the program if it does not. */
void server_start(struct server *server, const struct server_program *program);

/* Kills it, at once, and removes its folder. */
void server_stop(struct server *server);

/* Kills it and waits for its end; the folder stays. */
void server_kill(struct server *server);

/* Starts it anew in its folder. */
void server_restart(struct server *server, const struct server_program *program);

/* A text as a source; reads at most piece bytes at a time. */
struct text_source {
    struct sirix_bytes text;
    size_t at;
    size_t piece;
    enum sirix_status fail_with; /* At the end of the text, if not OK. */
};

struct sirix_source text_source(struct text_source *source);

#endif
