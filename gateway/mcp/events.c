/* Listeners, and the thread that looks for changes. */
#include "mcp/events.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "jsonrpc/put.h"
#include "mcp/callers.h"
#include "mcp/resources.h"
#include "mcp/server.h"

enum { MESSAGE_BYTES_MAX = 16 * 1024, NS_PER_MS = 1000 * 1000 };

struct sirix_events_watch {
    struct sirix_events_watch *next;
    uint64_t state;
    bool is_gone;    /* The resource is not there, or was not when it was last looked at. */
    bool is_looking; /* It is on the list of this round. */
    size_t uri_len;
    char uri[];
};

struct sirix_events {
    const struct sirix_mcp_server *server;
    pthread_mutex_t mutex;
    pthread_cond_t changed; /* Something is watched now, or the end. */
    struct sirix_events_listener *first;
    size_t count;
    bool is_ending;
    bool has_thread;
    pthread_t thread;
    struct sirix_call_cancel *cancel; /* Of the calls of the thread. */
};

/* Something that is looked at in a round, for all who see it with the same eyes. */
struct look {
    const struct sirix_mcp_server *server; /* Of a caller: with a reference. */
    char *uri;                             /* NULL: the list of resources. */
    size_t uri_len;
};

/* --- Messages -------------------------------------------------------------------------------------- */

static void tell(struct sirix_events_listener *listener, const char *method, struct sirix_bytes uri)
{
    struct sirix_buf message;
    struct sirix_put put;

    sirix_buf_init(&message, MESSAGE_BYTES_MAX);
    sirix_put_init(&put, &message);
    sirix_put_object(&put, NULL);
    sirix_put_str(&put, "jsonrpc", "2.0");
    sirix_put_str(&put, "method", method);
    if (uri.len != 0 || listener->subscription.len != 0) {
        sirix_put_object(&put, "params");
        if (uri.len != 0) {
            sirix_put_plain(&put, "uri", uri);
        }
        if (listener->subscription.len != 0) {
            sirix_put_object(&put, "_meta");
            sirix_put_raw(&put, "io.modelcontextprotocol/subscriptionId", listener->subscription);
            sirix_put_object_end(&put);
        }
        sirix_put_object_end(&put);
    }
    sirix_put_object_end(&put);
    if (sirix_put_finish(&put, NULL) == SIRIX_OK) {
        listener->tell(listener, sirix_buf_view(&message));
    }
    sirix_buf_deinit(&message);
}

static void tell_all(struct sirix_events *events, const char *method,
                     bool (*wants)(const struct sirix_events_listener *listener))
{
    (void)pthread_mutex_lock(&events->mutex);
    for (struct sirix_events_listener *at = events->first; at != NULL; at = at->next) {
        if (wants(at)) {
            tell(at, method, (struct sirix_bytes){.data = NULL, .len = 0});
        }
    }
    (void)pthread_mutex_unlock(&events->mutex);
}

static bool wants_tools(const struct sirix_events_listener *listener)
{
    return listener->wants_tools;
}

static bool wants_prompts(const struct sirix_events_listener *listener)
{
    return listener->wants_prompts;
}

void sirix_events_tools_changed(struct sirix_events *events)
{
    tell_all(events, "notifications/tools/list_changed", wants_tools);
}

void sirix_events_prompts_changed(struct sirix_events *events)
{
    tell_all(events, "notifications/prompts/list_changed", wants_prompts);
}

/* --- Looking --------------------------------------------------------------------------------------- */

static const struct sirix_mcp_server *server_of(const struct sirix_events *events,
                                                const struct sirix_events_listener *listener)
{
    return listener->server != NULL ? listener->server : events->server;
}

/* A watch of the listener that is still to be looked at; NULL: none. */
static struct sirix_events_watch *next_watch(const struct sirix_events_listener *listener)
{
    struct sirix_events_watch *watch = listener->watches;

    while (watch != NULL && !watch->is_looking) {
        watch = watch->next;
    }
    return watch;
}

/* What one listener still has to be looked at for; false: nothing. Called with the mutex. */
static bool take_look(struct sirix_events_listener *listener, struct look *out)
{
    struct sirix_events_watch *watch = next_watch(listener);

    if (listener->is_looking) {
        listener->is_looking = false;
        return true;
    }
    if (watch == NULL) {
        return false;
    }
    /* Without memory the rest is looked at in the next round. */
    watch->is_looking = false;
    out->uri = malloc(watch->uri_len + 1);
    if (out->uri == NULL) {
        return false;
    }
    memcpy(out->uri, watch->uri, watch->uri_len);
    out->uri_len = watch->uri_len;
    return true;
}

/* What is to be looked at next, copied out of the lock; false: all was. */
static bool next_look(struct sirix_events *events, struct look *out)
{
    bool is_found = false;

    *out = (struct look){.uri = NULL};
    (void)pthread_mutex_lock(&events->mutex);
    for (struct sirix_events_listener *at = events->first; at != NULL && !is_found; at = at->next) {
        is_found = take_look(at, out);
        if (is_found) {
            out->server = server_of(events, at);
            (void)sirix_caller_ref(out->server->caller);
        }
    }
    (void)pthread_mutex_unlock(&events->mutex);
    return is_found;
}

/* Tells a listener if one of its watches is of that URI and has changed. */
static void compare_one(struct sirix_events_listener *listener, struct sirix_bytes uri,
                        bool is_gone, uint64_t state)
{
    for (struct sirix_events_watch *watch = listener->watches; watch != NULL; watch = watch->next) {
        const bool is_meant =
            sirix_bytes_equal((struct sirix_bytes){watch->uri, watch->uri_len}, uri);

        watch->is_looking &= !is_meant;
        if (is_meant && (watch->is_gone != is_gone || (!is_gone && watch->state != state))) {
            watch->is_gone = is_gone;
            watch->state = state;
            tell(listener, "notifications/resources/updated", uri);
        }
    }
}

/* Tells a listener that wants to know if the list is another one than before. */
static void compare_list(struct sirix_events_listener *listener, uint64_t state)
{
    const bool is_changed = listener->knows_list && listener->list_state != state;

    listener->is_looking = false;
    if (!listener->wants_resources) {
        return;
    }
    listener->knows_list = true;
    listener->list_state = state;
    if (is_changed) {
        tell(listener, "notifications/resources/list_changed",
             (struct sirix_bytes){.data = NULL, .len = 0});
    }
}

static void compare(struct sirix_events *events, const struct look *look, bool is_gone,
                    uint64_t state)
{
    (void)pthread_mutex_lock(&events->mutex);
    for (struct sirix_events_listener *at = events->first; at != NULL; at = at->next) {
        if (server_of(events, at) != look->server) {
            continue;
        }
        if (look->uri == NULL) {
            compare_list(at, state);
        } else {
            compare_one(at, (struct sirix_bytes){look->uri, look->uri_len}, is_gone, state);
        }
    }
    (void)pthread_mutex_unlock(&events->mutex);
}

static void look_at(struct sirix_events *events, const struct look *look)
{
    const struct sirix_bytes uri = {.data = look->uri, .len = look->uri_len};
    struct sirix_arena arena;
    uint64_t state = 0;

    sirix_arena_init(&arena, SIZE_MAX);
    enum sirix_status status =
        look->uri == NULL
            ? sirix_resources_list_state(look->server, &arena, events->cancel, &state, NULL)
            : sirix_resources_state(look->server, &arena, uri, events->cancel, &state, NULL);
    /* A storage that cannot be asked is no change. */
    if (status == SIRIX_OK || (status == SIRIX_NOT_FOUND && look->uri != NULL)) {
        compare(events, look, status == SIRIX_NOT_FOUND, state);
    }
    sirix_arena_deinit(&arena);
}

/* Marks all that is to be looked at; whether there is any. Called with the mutex. */
static bool begin_round(struct sirix_events *events)
{
    bool is_watched = false;

    for (struct sirix_events_listener *at = events->first; at != NULL; at = at->next) {
        at->is_looking = at->wants_resources;
        is_watched |= at->wants_resources || at->watches != NULL;
        for (struct sirix_events_watch *watch = at->watches; watch != NULL; watch = watch->next) {
            watch->is_looking = true;
        }
    }
    return is_watched;
}

/* Waits until it is time to look; false: the end. */
static bool wait_for_round(struct sirix_events *events)
{
    const long ns_per_s = 1000000000;
    struct timespec until;
    int rc = 0;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)SIRIX_EVENTS_TICK_MS * NS_PER_MS;
    until.tv_sec += until.tv_nsec / ns_per_s;
    until.tv_nsec %= ns_per_s;
    (void)pthread_mutex_lock(&events->mutex);
    while (!events->is_ending && rc != ETIMEDOUT) {
        rc = pthread_cond_timedwait(&events->changed, &events->mutex, &until);
    }
    while (!events->is_ending && !begin_round(events)) {
        (void)pthread_cond_wait(&events->changed, &events->mutex);
    }
    const bool goes_on = !events->is_ending;
    (void)pthread_mutex_unlock(&events->mutex);
    return goes_on;
}

static void *run(void *context)
{
    struct sirix_events *events = context;
    struct look look;

    while (wait_for_round(events)) {
        while (next_look(events, &look)) {
            look_at(events, &look);
            sirix_caller_unref(look.server->caller);
            free(look.uri);
        }
    }
    return NULL;
}

/* --- Life ------------------------------------------------------------------------------------------ */

enum sirix_status sirix_events_new(const struct sirix_mcp_server *server, struct sirix_events **out,
                                   struct sirix_error *err)
{
    struct sirix_events *events = calloc(1, sizeof(*events));
    pthread_condattr_t attributes;

    if (events == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for events");
    }
    events->server = server;
    (void)pthread_mutex_init(&events->mutex, NULL);
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&events->changed, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    *out = events;
    return SIRIX_OK;
}

void sirix_events_free(struct sirix_events *events)
{
    if (events == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&events->mutex);
    events->is_ending = true;
    (void)pthread_cond_broadcast(&events->changed);
    (void)pthread_mutex_unlock(&events->mutex);
    if (events->has_thread) {
        sirix_call_cancel_trigger(events->cancel);
        (void)pthread_join(events->thread, NULL);
        sirix_call_cancel_free(events->cancel);
    }
    (void)pthread_cond_destroy(&events->changed);
    (void)pthread_mutex_destroy(&events->mutex);
    free(events);
}

/* Called with the mutex. */
static enum sirix_status need_thread(struct sirix_events *events, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (events->has_thread) {
        (void)pthread_cond_broadcast(&events->changed);
        return SIRIX_OK;
    }
    status = sirix_call_cancel_new(&events->cancel, err);
    if (status == SIRIX_OK && pthread_create(&events->thread, NULL, run, events) != 0) {
        sirix_call_cancel_free(events->cancel);
        events->cancel = NULL;
        status = sirix_fail(err, SIRIX_IO, "cannot start a thread");
    }
    events->has_thread = status == SIRIX_OK;
    return status;
}

enum sirix_status sirix_events_add(struct sirix_events *events,
                                   struct sirix_events_listener *listener, struct sirix_bytes first,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&events->mutex);
    if (events->count == SIRIX_EVENTS_LISTENERS_MAX) {
        status = sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                   "%d listeners are there already", SIRIX_EVENTS_LISTENERS_MAX);
    }
    if (status == SIRIX_OK && listener->wants_resources) {
        status = need_thread(events, err);
    }
    if (status == SIRIX_OK && first.len != 0) {
        listener->tell(listener, first);
    }
    if (status == SIRIX_OK) {
        listener->next = events->first;
        events->first = listener;
        events->count++;
    }
    (void)pthread_mutex_unlock(&events->mutex);
    return status;
}

void sirix_events_remove(struct sirix_events *events, struct sirix_events_listener *listener)
{
    (void)pthread_mutex_lock(&events->mutex);
    for (struct sirix_events_listener **at = &events->first; *at != NULL; at = &(*at)->next) {
        if (*at == listener) {
            *at = listener->next;
            events->count--;
            break;
        }
    }
    while (listener->watches != NULL) {
        struct sirix_events_watch *watch = listener->watches;

        listener->watches = watch->next;
        free(watch);
    }
    listener->watch_count = 0;
    (void)pthread_mutex_unlock(&events->mutex);
}

enum sirix_status sirix_events_want_resources(struct sirix_events *events,
                                              struct sirix_events_listener *listener,
                                              struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&events->mutex);
    if (!listener->wants_resources) {
        status = need_thread(events, err);
        listener->wants_resources = status == SIRIX_OK;
    }
    (void)pthread_mutex_unlock(&events->mutex);
    return status;
}

/* --- Watching -------------------------------------------------------------------------------------- */

static struct sirix_events_watch **find(struct sirix_events_listener *listener,
                                        struct sirix_bytes uri)
{
    struct sirix_events_watch **at = &listener->watches;

    while (*at != NULL &&
           !sirix_bytes_equal((struct sirix_bytes){(*at)->uri, (*at)->uri_len}, uri)) {
        at = &(*at)->next;
    }
    return at;
}

/* Called with the mutex. */
static enum sirix_status add_watch(struct sirix_events *events,
                                   struct sirix_events_listener *listener, struct sirix_bytes uri,
                                   uint64_t state, struct sirix_error *err)
{
    if (*find(listener, uri) != NULL) {
        return SIRIX_OK;
    }
    if (listener->watch_count == SIRIX_EVENTS_WATCHES_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "%d resources are watched already", SIRIX_EVENTS_WATCHES_MAX);
    }
    struct sirix_events_watch *watch = calloc(1, sizeof(*watch) + uri.len);
    if (watch == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory to watch a resource");
    }
    enum sirix_status status = need_thread(events, err);
    if (status != SIRIX_OK) {
        free(watch);
        return status;
    }
    memcpy(watch->uri, uri.data, uri.len);
    watch->uri_len = uri.len;
    watch->state = state;
    watch->next = listener->watches;
    listener->watches = watch;
    listener->watch_count++;
    return SIRIX_OK;
}

enum sirix_status sirix_events_watch(struct sirix_events *events,
                                     struct sirix_events_listener *listener, struct sirix_bytes uri,
                                     struct sirix_error *err)
{
    struct sirix_arena arena;
    uint64_t state = 0;

    sirix_arena_init(&arena, SIZE_MAX);
    enum sirix_status status =
        sirix_resources_state(server_of(events, listener), &arena, uri, NULL, &state, err);
    sirix_arena_deinit(&arena);
    if (status == SIRIX_OK) {
        (void)pthread_mutex_lock(&events->mutex);
        status = add_watch(events, listener, uri, state, err);
        (void)pthread_mutex_unlock(&events->mutex);
    }
    return status;
}

void sirix_events_unwatch(struct sirix_events *events, struct sirix_events_listener *listener,
                          struct sirix_bytes uri)
{
    (void)pthread_mutex_lock(&events->mutex);
    struct sirix_events_watch **at = find(listener, uri);
    struct sirix_events_watch *watch = *at;
    if (watch != NULL) {
        *at = watch->next;
        listener->watch_count--;
        free(watch);
    }
    (void)pthread_mutex_unlock(&events->mutex);
}
