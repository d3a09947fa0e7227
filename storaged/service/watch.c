/*
 * A hub lists the watches; a watch lists where it is in each of its resources, sorted by name. Who makes
 * a revision marks the place as having news; the watch takes the mark off before it reads, so that what
 * is made meanwhile marks it again.
 */
#include "service/watch.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/name.h"

enum { PLACES_FIRST = 16, TEXT_BYTES_MAX = 256 * 1024 };

/* Where a watch is in one resource. */
struct place {
    char resource[SIRIX_NAME_BYTES_MAX + 1];
    uint32_t id; /* 0: not known yet. */
    uint64_t next;
    bool news;
};

struct sirix_watch {
    struct sirix_watch *after; /* In the hub. */
    struct sirix_watch *before;
    struct sirix_watch_hub *hub;
    struct sirix_request request;
    char database[SIRIX_NAME_BYTES_MAX + 1];
    bool single; /* One resource alone. */
    sirix_watch_wake_fn wake;
    void *context;
    pthread_mutex_t mutex; /* Of what follows. */
    struct place *places;  /* By name. */
    size_t count;
    size_t capacity;
    size_t at;     /* Where the last look ended, so that no resource starves another. */
    bool unlisted; /* There may be resources without a place. */
    bool gone;
};

struct sirix_watch_hub {
    pthread_mutex_t mutex;
    struct sirix_watch *first;
    uint64_t count;
};

/* --- The hub ------------------------------------------------------------------------------------ */

enum sirix_status sirix_watch_hub_new(struct sirix_watch_hub **out_hub, struct sirix_error *err)
{
    struct sirix_watch_hub *hub = calloc(1, sizeof(*hub));

    if (hub == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the list of watches");
    }
    (void)pthread_mutex_init(&hub->mutex, NULL);
    *out_hub = hub;
    return SIRIX_OK;
}

void sirix_watch_hub_free(struct sirix_watch_hub *hub)
{
    if (hub != NULL) {
        (void)pthread_mutex_destroy(&hub->mutex);
        free(hub);
    }
}

uint64_t sirix_watch_hub_count(struct sirix_watch_hub *hub)
{
    (void)pthread_mutex_lock(&hub->mutex);
    uint64_t count = hub->count;
    (void)pthread_mutex_unlock(&hub->mutex);
    return count;
}

/* With the mutex held: where a resource is, or would be. */
static size_t find_place(const struct sirix_watch *watch, const char *resource, bool *out_found)
{
    size_t low = 0;
    size_t high = watch->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(watch->places[middle].resource, resource);

        if (order == 0) {
            *out_found = true;
            return middle;
        }
        if (order < 0) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    *out_found = false;
    return low;
}

/* Whether the watch has to look. */
static bool mark(struct sirix_watch *watch, const char *resource, bool gone)
{
    bool found = false;

    (void)pthread_mutex_lock(&watch->mutex);
    watch->gone = watch->gone || gone;
    if (resource != NULL) {
        size_t at = find_place(watch, resource, &found);
        if (found) {
            watch->places[at].news = true;
        }
    } else {
        for (size_t i = 0; i < watch->count; i++) {
            watch->places[i].news = true;
        }
    }
    if (!found && !watch->single) {
        watch->unlisted = true;
    }
    bool marked = gone || found || resource == NULL || !watch->single;
    (void)pthread_mutex_unlock(&watch->mutex);
    return marked;
}

void sirix_watch_hub_tell(struct sirix_watch_hub *hub, const char *database, const char *resource,
                          bool gone)
{
    (void)pthread_mutex_lock(&hub->mutex);
    for (struct sirix_watch *watch = hub->first; watch != NULL; watch = watch->after) {
        if (strcmp(watch->database, database) == 0 && mark(watch, resource, gone)) {
            watch->wake(watch->context);
        }
    }
    (void)pthread_mutex_unlock(&hub->mutex);
}

static enum sirix_status enlist(struct sirix_watch *watch, struct sirix_error *err)
{
    struct sirix_watch_hub *hub = watch->request.service->watches;
    enum sirix_status status = SIRIX_OK;

    (void)pthread_mutex_lock(&hub->mutex);
    if (hub->count >= SIRIX_WATCHES_MAX) {
        status = sirix_fail(err, SIRIX_EXHAUSTED, "there are %d watches, as many as may be",
                            SIRIX_WATCHES_MAX);
    } else {
        watch->hub = hub;
        watch->after = hub->first;
        if (hub->first != NULL) {
            hub->first->before = watch;
        }
        hub->first = watch;
        hub->count++;
    }
    (void)pthread_mutex_unlock(&hub->mutex);
    return status;
}

static void delist(struct sirix_watch *watch)
{
    struct sirix_watch_hub *hub = watch->hub;

    if (hub == NULL) {
        return;
    }
    (void)pthread_mutex_lock(&hub->mutex);
    if (watch->after != NULL) {
        watch->after->before = watch->before;
    }
    if (watch->before != NULL) {
        watch->before->after = watch->after;
    } else {
        hub->first = watch->after;
    }
    hub->count--;
    (void)pthread_mutex_unlock(&hub->mutex);
}

/* --- Places ------------------------------------------------------------------------------------- */

static struct sirix_bytes text_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* Adds a place unless there is one; what is new of it is still to be looked at. */
static enum sirix_status add_place(struct sirix_watch *watch, struct sirix_bytes resource,
                                   uint64_t next, struct sirix_error *err)
{
    char name[SIRIX_NAME_BYTES_MAX + 1] = {0};
    enum sirix_status status = SIRIX_OK;
    bool found = false;

    memcpy(name, resource.data, resource.len > SIRIX_NAME_BYTES_MAX ? 0 : resource.len);
    (void)pthread_mutex_lock(&watch->mutex);
    size_t at = find_place(watch, name, &found);
    if (!found && watch->count == SIRIX_WATCH_RESOURCES_MAX) {
        status = sirix_fail(err, SIRIX_EXHAUSTED,
                            "a database that is watched has at most %d resources: watch one",
                            SIRIX_WATCH_RESOURCES_MAX);
    } else if (!found && watch->count == watch->capacity) {
        size_t capacity = watch->capacity == 0 ? PLACES_FIRST : 2 * watch->capacity;
        struct place *places = realloc(watch->places, capacity * sizeof(*places));
        if (places == NULL) {
            status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the places of a watch");
        } else {
            watch->places = places;
            watch->capacity = capacity;
        }
    }
    if (status == SIRIX_OK && !found) {
        memmove(watch->places + at + 1, watch->places + at,
                (watch->count - at) * sizeof(*watch->places));
        watch->places[at] = (struct place){.next = next, .news = true};
        memcpy(watch->places[at].resource, name, sizeof(name));
        watch->count++;
    }
    (void)pthread_mutex_unlock(&watch->mutex);
    return status;
}

static void remove_place(struct sirix_watch *watch, const char *resource)
{
    bool found = false;

    (void)pthread_mutex_lock(&watch->mutex);
    size_t at = find_place(watch, resource, &found);
    if (found) {
        watch->count--;
        memmove(watch->places + at, watch->places + at + 1,
                (watch->count - at) * sizeof(*watch->places));
    }
    (void)pthread_mutex_unlock(&watch->mutex);
}

/* Puts back what is known of a place now; more: there is more to read at once. */
static void keep_place(struct sirix_watch *watch, const struct place *place, bool more)
{
    bool found = false;

    (void)pthread_mutex_lock(&watch->mutex);
    size_t at = find_place(watch, place->resource, &found);
    if (found) {
        watch->places[at].id = place->id;
        watch->places[at].next = place->next;
        watch->places[at].news = watch->places[at].news || more;
    }
    (void)pthread_mutex_unlock(&watch->mutex);
}

/* The next place with news, whose mark is taken off. */
static bool take_place(struct sirix_watch *watch, struct place *out_place)
{
    bool found = false;

    (void)pthread_mutex_lock(&watch->mutex);
    for (size_t i = 0; !found && i < watch->count; i++) {
        watch->at = watch->at + 1 < watch->count ? watch->at + 1 : 0;
        if (watch->places[watch->at].news) {
            watch->places[watch->at].news = false;
            *out_place = watch->places[watch->at];
            found = true;
        }
    }
    (void)pthread_mutex_unlock(&watch->mutex);
    return found;
}

static enum sirix_status list_place(void *context, struct sirix_bytes name, bool *stop,
                                    struct sirix_error *err)
{
    struct sirix_watch *watch = context;

    *stop = false;
    return sirix_request_sees(&watch->request, text_bytes(watch->database), name)
               ? add_place(watch, name, 1, err)
               : SIRIX_OK;
}

/* Gives every resource that has none a place before its first revision. */
static enum sirix_status list_places(struct sirix_watch *watch, struct sirix_error *err)
{
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};
    struct sirix_target target = {0};

    enum sirix_status status =
        sirix_target_open(&watch->request, text_bytes(watch->database), nothing, &target, err);
    if (status == SIRIX_OK) {
        status = sirix_resource_list(sirix_handle_database(target.handle), nothing, list_place,
                                     watch, err);
        sirix_target_close(&target);
    }
    return status;
}

/* --- Beginning ---------------------------------------------------------------------------------- */

/* Moves a place behind the newest revision. NOT_FOUND: it is gone. */
static enum sirix_status skip_to_newest(struct sirix_watch *watch, struct place *place,
                                        struct sirix_error *err)
{
    struct sirix_target target = {0};
    struct sirix_resource_info info = {0};

    enum sirix_status status = sirix_target_open(&watch->request, text_bytes(watch->database),
                                                 text_bytes(place->resource), &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_resource_info(target.resource, &info, err);
    if (status == SIRIX_OK) {
        place->id = sirix_resource_id(target.resource);
        place->next = info.newest_revision + 1;
    }
    sirix_target_close(&target);
    return status;
}

static enum sirix_status check_from(const struct sirix_target *target, uint64_t from,
                                    uint64_t newest, struct sirix_error *err)
{
    const struct sirix_view_request first = {.which = SIRIX_VIEW_WHICH_REVISION, .revision = from};
    struct sirix_target at = *target;
    struct sirix_view view = {0};

    if (from == newest + 1) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_target_view(&at, &first, "from", &view, err);
    if (status == SIRIX_OK) {
        sirix_view_close(&view);
    } else {
        sirix_error_set_field(err, "from_revision");
    }
    return status;
}

static enum sirix_status begin_single(struct sirix_watch *watch,
                                      const struct sirix_watch_request *wanted, uint64_t *out_next,
                                      struct sirix_error *err)
{
    struct sirix_target target = {0};
    struct sirix_resource_info info = {0};
    struct place place = {0};

    enum sirix_status status =
        sirix_target_open(&watch->request, wanted->database, wanted->resource, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_resource_info(target.resource, &info, err);
    if (status == SIRIX_OK && wanted->has_from) {
        status = check_from(&target, wanted->from, info.newest_revision, err);
    }
    if (status == SIRIX_OK) {
        memcpy(place.resource, wanted->resource.data, wanted->resource.len);
        place.id = sirix_resource_id(target.resource);
        place.next = wanted->has_from ? wanted->from : info.newest_revision + 1;
        status = add_place(watch, wanted->resource, place.next, err);
    }
    if (status == SIRIX_OK) {
        keep_place(watch, &place, true);
        *out_next = place.next;
    }
    sirix_target_close(&target);
    return status;
}

static enum sirix_status begin_all(struct sirix_watch *watch,
                                   const struct sirix_watch_request *wanted,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < wanted->after_count; i++) {
        status =
            sirix_name_check(SIRIX_NAME_RESOURCE, wanted->after[i].resource, "after.resource", err);
        if (status == SIRIX_OK) {
            status =
                add_place(watch, wanted->after[i].resource, wanted->after[i].revision + 1, err);
        }
    }
    if (status == SIRIX_OK) {
        status = list_places(watch, err);
    }
    if (status != SIRIX_OK || wanted->after_count != 0) {
        return status;
    }
    for (size_t i = 0; status == SIRIX_OK && i < watch->count; i++) {
        struct place place = watch->places[i]; /* Nobody else adds or removes any. */
        struct sirix_error gone = {0};

        status = skip_to_newest(watch, &place, &gone);
        if (status == SIRIX_OK) {
            keep_place(watch, &place, true);
        } else if (status == SIRIX_NOT_FOUND) {
            status = SIRIX_OK; /* It will be told as dropped. */
        } else if (err != NULL) {
            *err = gone;
        }
    }
    return status;
}

enum sirix_status sirix_watch_start(const struct sirix_request *request,
                                    const struct sirix_watch_request *wanted,
                                    sirix_watch_wake_fn wake, void *context,
                                    struct sirix_watch **out_watch, uint64_t *out_next,
                                    struct sirix_error *err)
{
    struct sirix_watch *watch = NULL;
    uint64_t next = 0;

    enum sirix_status status =
        sirix_name_check(SIRIX_NAME_DATABASE, wanted->database, "database", err);
    if (status == SIRIX_OK && wanted->resource.len != 0) {
        status = sirix_name_check(SIRIX_NAME_RESOURCE, wanted->resource, "resource", err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    watch = calloc(1, sizeof(*watch));
    if (watch == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a watch");
    }
    watch->request = *request;
    watch->wake = wake;
    watch->context = context;
    watch->single = wanted->resource.len != 0;
    memcpy(watch->database, wanted->database.data, wanted->database.len);
    (void)pthread_mutex_init(&watch->mutex, NULL);
    /* Listed before it looks: what is made in between is told. */
    status = enlist(watch, err);
    if (status == SIRIX_OK) {
        status =
            watch->single ? begin_single(watch, wanted, &next, err) : begin_all(watch, wanted, err);
    }
    if (status != SIRIX_OK) {
        sirix_watch_stop(watch);
        return status;
    }
    *out_watch = watch;
    *out_next = next;
    return SIRIX_OK;
}

void sirix_watch_stop(struct sirix_watch *watch)
{
    if (watch == NULL) {
        return;
    }
    delist(watch);
    (void)pthread_mutex_destroy(&watch->mutex);
    free(watch->places);
    free(watch);
}

/* --- Events ------------------------------------------------------------------------------------- */

struct batch {
    struct sirix_arena *arena;
    struct sirix_watch_event *events;
    size_t count;
    size_t text_bytes;
};

static bool is_full(const struct batch *batch)
{
    return batch->count == SIRIX_WATCH_BATCH_MAX || batch->text_bytes > TEXT_BYTES_MAX;
}

static struct sirix_watch_event *add_event(struct batch *batch, const struct place *place)
{
    struct sirix_watch_event *event = &batch->events[batch->count++];

    memcpy(event->resource, place->resource, sizeof(event->resource));
    return event;
}

static enum sirix_status fail_gone(const struct place *place, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_RESOURCE_UNKNOWN,
                          "there is no resource %s", place->resource);

    sirix_error_set_field(err, "resource");
    return status;
}

/* The resource is not there, or it is another one by now. */
static enum sirix_status add_dropped(struct sirix_watch *watch, struct place *place,
                                     struct batch *batch, struct sirix_error *err)
{
    if (watch->single) {
        return fail_gone(place, err);
    }
    add_event(batch, place)->dropped = true;
    remove_place(watch, place->resource);
    return SIRIX_OK;
}

static enum sirix_status read_revisions(struct sirix_watch *watch, struct sirix_target *target,
                                        struct place *place, struct batch *batch,
                                        struct sirix_error *err)
{
    struct sirix_resource_info info = {0};

    enum sirix_status status = sirix_resource_info(target->resource, &info, err);
    while (status == SIRIX_OK && place->next <= info.newest_revision && !is_full(batch)) {
        struct sirix_watch_event *event = add_event(batch, place);

        status = sirix_cancel_check(watch->request.cancel, err);
        if (status == SIRIX_OK) {
            status = sirix_revision_info_read(target, place->next, batch->arena, &event->info, err);
        }
        event->behind = info.newest_revision - place->next;
        batch->text_bytes += event->info.message.len + event->info.author.len;
        place->next += status == SIRIX_OK ? 1 : 0;
    }
    if (status == SIRIX_OK) {
        keep_place(watch, place, place->next <= info.newest_revision);
    }
    return status;
}

static enum sirix_status read_place(struct sirix_watch *watch, struct place *place,
                                    struct batch *batch, struct sirix_error *err)
{
    struct sirix_target target = {0};
    struct sirix_error missing = {0};

    enum sirix_status status = sirix_target_open(&watch->request, text_bytes(watch->database),
                                                 text_bytes(place->resource), &target, &missing);
    if (status == SIRIX_NOT_FOUND && missing.reason == SIRIX_REASON_RESOURCE_UNKNOWN) {
        return add_dropped(watch, place, batch, err);
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = missing;
        }
        return status;
    }
    uint32_t id = sirix_resource_id(target.resource);
    if (place->id != 0 && place->id != id) {
        status = add_dropped(watch, place, batch, err);
        if (status == SIRIX_OK) { /* The new one from its first revision on. */
            status = add_place(watch, text_bytes(place->resource), 1, err);
        }
    } else {
        place->id = id;
        status = read_revisions(watch, &target, place, batch, err);
    }
    sirix_target_close(&target);
    return status;
}

/* With a look at what is asked of the whole watch. */
static enum sirix_status take_marks(struct sirix_watch *watch, struct sirix_error *err)
{
    (void)pthread_mutex_lock(&watch->mutex);
    bool gone = watch->gone;
    bool unlisted = watch->unlisted;
    watch->unlisted = false;
    (void)pthread_mutex_unlock(&watch->mutex);
    if (gone) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                              "the database %s was dropped", watch->database);
        sirix_error_set_field(err, "database");
        return status;
    }
    return unlisted ? list_places(watch, err) : SIRIX_OK;
}

enum sirix_status sirix_watch_next(struct sirix_watch *watch, struct sirix_arena *arena,
                                   struct sirix_watch_event **out_events, size_t *out_count,
                                   struct sirix_error *err)
{
    struct batch batch = {.arena = arena};
    struct place place;
    void *memory = NULL;

    enum sirix_status status = take_marks(watch, err);
    if (status == SIRIX_OK) {
        status =
            sirix_arena_calloc(arena, SIRIX_WATCH_BATCH_MAX, sizeof(*batch.events), &memory, err);
    }
    batch.events = memory;
    while (status == SIRIX_OK && !is_full(&batch) && take_place(watch, &place)) {
        status = read_place(watch, &place, &batch, err);
    }
    if (status == SIRIX_OK) {
        *out_events = batch.events;
        *out_count = batch.count;
    }
    return status;
}
