/*
 * The connections that are open: how long each has been at what it does, and whether its client is
 * still there. One thread looks (sirix_connections_look); all others only note what happens.
 */
#ifndef SIRIX_TRANSPORT_HTTP_CONNECTIONS_H
#define SIRIX_TRANSPORT_HTTP_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

enum sirix_connection_phase {
    SIRIX_CONNECTION_HEAD,  /* Nothing, or a part of a head, has come since the last answer. */
    SIRIX_CONNECTION_BODY,  /* The head is there. */
    SIRIX_CONNECTION_WORK,  /* The request is there; also while a stream goes on. */
    SIRIX_CONNECTION_WRITE, /* The answer is there. */
    SIRIX_CONNECTION_PHASES,
};

/* Called when a client has gone while somebody watched; with the lock held. */
typedef void (*sirix_connection_gone_fn)(void *context);

/* One connection; private to http_connections.c. */
struct sirix_connection {
    int fd;
    uint32_t generation;
    enum sirix_connection_phase phase;
    uint64_t since_ns;
    sirix_connection_gone_fn gone; /* NULL: nobody watches. */
    void *context;
    bool is_open;
    bool is_fresh; /* No request has come yet. */
};

struct sirix_connections {
    pthread_mutex_t mutex;
    int epoll_fd;
    struct sirix_connection *items;
    size_t max;
    uint32_t limits_ms[SIRIX_CONNECTION_PHASES]; /* 0: none. */
};

/* SIRIX_IO, SIRIX_NO_MEMORY. */
enum sirix_status sirix_connections_init(struct sirix_connections *connections, size_t max,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_connections_deinit(struct sirix_connections *connections);

/* A connection is there; NULL: there are too many. The descriptor stays the caller's. */
struct sirix_connection *sirix_connections_add(struct sirix_connections *connections, int fd);

/* It goes; before its descriptor is closed. */
void sirix_connections_remove(struct sirix_connections *connections,
                              struct sirix_connection *connection);

/* It begins something else. */
void sirix_connections_enter(struct sirix_connections *connections,
                             struct sirix_connection *connection,
                             enum sirix_connection_phase phase);

/* Calls gone() once if the client closes its connection, or its half of it, until unwatched. */
void sirix_connections_watch(struct sirix_connections *connections,
                             struct sirix_connection *connection, sirix_connection_gone_fn gone,
                             void *context);
void sirix_connections_unwatch(struct sirix_connections *connections,
                               struct sirix_connection *connection);

/*
 * Waits at most so long for clients that go, and tells of them; then ends connections that have been
 * at one thing for longer than its limit.
 */
void sirix_connections_look(struct sirix_connections *connections, int timeout_ms);

/* Whether none has a request that is not answered to its end, or may be about to send its first. */
bool sirix_connections_are_idle(struct sirix_connections *connections);

/* For poll(): readable when a client has gone. */
int sirix_connections_fd(const struct sirix_connections *connections);

#endif
