/* Open connections. */
#include "transport/http_connections.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"

enum { EVENTS_MAX = 64, GENERATION_BITS = 32 };

static const uint64_t ns_per_ms = 1000000;

static uint64_t now_ns(void)
{
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

enum sirix_status sirix_connections_init(struct sirix_connections *connections, size_t max,
                                         struct sirix_error *err)
{
    *connections = (struct sirix_connections){.max = max};
    connections->items = calloc(max, sizeof(*connections->items));
    if (connections->items == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu connections", max);
    }
    connections->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    if (connections->epoll_fd < 0) {
        free(connections->items);
        return sirix_fail(err, SIRIX_IO, "cannot watch connections: %s", strerror(errno));
    }
    (void)pthread_mutex_init(&connections->mutex, NULL);
    return SIRIX_OK;
}

void sirix_connections_deinit(struct sirix_connections *connections)
{
    (void)close(connections->epoll_fd);
    (void)pthread_mutex_destroy(&connections->mutex);
    free(connections->items);
}

/* Events of a connection that are reported once; none: not at all. */
static void arm(const struct sirix_connections *connections,
                const struct sirix_connection *connection, int operation, uint32_t events)
{
    const size_t index = (size_t)(connection - connections->items);
    struct epoll_event event = {
        .events = events | EPOLLONESHOT,
        .data.u64 = (uint64_t)connection->generation << GENERATION_BITS | index,
    };

    /* Where it fails a client that goes is found out when it is written to. */
    (void)epoll_ctl(connections->epoll_fd, operation, connection->fd, &event);
}

struct sirix_connection *sirix_connections_add(struct sirix_connections *connections, int fd)
{
    struct sirix_connection *found = NULL;

    (void)pthread_mutex_lock(&connections->mutex);
    for (size_t i = 0; i < connections->max && found == NULL; i++) {
        if (!connections->items[i].is_open) {
            found = &connections->items[i];
            found->fd = fd;
            found->generation++;
            found->phase = SIRIX_CONNECTION_HEAD;
            found->since_ns = now_ns();
            found->gone = NULL;
            found->is_open = true;
            found->is_fresh = true;
            arm(connections, found, EPOLL_CTL_ADD, 0);
        }
    }
    (void)pthread_mutex_unlock(&connections->mutex);
    return found;
}

void sirix_connections_remove(struct sirix_connections *connections,
                              struct sirix_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->mutex);
    (void)epoll_ctl(connections->epoll_fd, EPOLL_CTL_DEL, connection->fd, NULL);
    connection->is_open = false;
    connection->gone = NULL;
    (void)pthread_mutex_unlock(&connections->mutex);
}

void sirix_connections_enter(struct sirix_connections *connections,
                             struct sirix_connection *connection, enum sirix_connection_phase phase)
{
    if (connection == NULL) {
        return;
    }
    const uint64_t now = now_ns();
    (void)pthread_mutex_lock(&connections->mutex);
    connection->phase = phase;
    connection->is_fresh = false;
    connection->since_ns = now;
    (void)pthread_mutex_unlock(&connections->mutex);
}

void sirix_connections_watch(struct sirix_connections *connections,
                             struct sirix_connection *connection, sirix_connection_gone_fn gone,
                             void *context)
{
    if (connection == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->mutex);
    connection->gone = gone;
    connection->context = context;
    arm(connections, connection, EPOLL_CTL_MOD, EPOLLRDHUP);
    (void)pthread_mutex_unlock(&connections->mutex);
}

void sirix_connections_unwatch(struct sirix_connections *connections,
                               struct sirix_connection *connection)
{
    if (connection == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&connections->mutex);
    if (connection->gone != NULL) {
        connection->gone = NULL;
        arm(connections, connection, EPOLL_CTL_MOD, 0);
    }
    (void)pthread_mutex_unlock(&connections->mutex);
}

static void tell_gone(struct sirix_connections *connections, uint64_t id)
{
    const size_t index = (size_t)(uint32_t)id;
    const uint32_t generation = (uint32_t)(id >> GENERATION_BITS);
    struct sirix_connection *connection = &connections->items[index];

    if (connection->is_open && connection->generation == generation && connection->gone != NULL) {
        const sirix_connection_gone_fn gone = connection->gone;

        connection->gone = NULL;
        gone(connection->context);
    }
}

void sirix_connections_look(struct sirix_connections *connections, int timeout_ms)
{
    struct epoll_event events[EVENTS_MAX];
    const int count = epoll_wait(connections->epoll_fd, events, EVENTS_MAX, timeout_ms);

    (void)pthread_mutex_lock(&connections->mutex);
    for (int i = 0; i < count; i++) {
        tell_gone(connections, events[i].data.u64);
    }
    const uint64_t now = now_ns();
    for (size_t i = 0; i < connections->max; i++) {
        const struct sirix_connection *connection = &connections->items[i];
        const uint64_t limit_ns = (uint64_t)connections->limits_ms[connection->phase] * ns_per_ms;

        if (connection->is_open && limit_ns != 0 && now - connection->since_ns > limit_ns) {
            /* Its own thread finds the end of it, and cleans up. */
            (void)shutdown(connection->fd, SHUT_RDWR);
        }
    }
    (void)pthread_mutex_unlock(&connections->mutex);
}

int sirix_connections_fd(const struct sirix_connections *connections)
{
    return connections->epoll_fd;
}

bool sirix_connections_are_idle(struct sirix_connections *connections)
{
    bool is_idle = true;

    (void)pthread_mutex_lock(&connections->mutex);
    for (size_t i = 0; i < connections->max && is_idle; i++) {
        const struct sirix_connection *connection = &connections->items[i];

        is_idle = !connection->is_open ||
                  (connection->phase == SIRIX_CONNECTION_HEAD && !connection->is_fresh);
    }
    (void)pthread_mutex_unlock(&connections->mutex);
    return is_idle;
}
