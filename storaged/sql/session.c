/* Resources and revisions of a statement; time and cancelling. */
#include "sql/session.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/name.h"

enum { YIELD_US = 5000 };

static const struct sirix_bytes nothing = {.data = NULL, .len = 0};

bool sirix_sql_is_made(const struct sirix_sql_session *session, const char *name)
{
    const struct sirix_sql_made *made = session->made;

    while (made != NULL && strcasecmp(made->name, name) != 0) {
        made = made->next;
    }
    return made != NULL;
}

bool sirix_sql_visible(const struct sirix_sql_session *session, struct sirix_bytes database,
                       struct sirix_bytes resource)
{
    return sirix_request_sees(&session->request, database, resource) &&
           (session->wanted->visible == NULL ||
            session->wanted->visible(session->wanted->visible_context, database, resource));
}

static enum sirix_status unseen(struct sirix_bytes database, struct sirix_bytes resource,
                                bool database_unseen, struct sirix_error *err)
{
    const struct sirix_bytes name = database_unseen ? database : resource;

    return sirix_fail_reason(err, SIRIX_NOT_FOUND,
                             database_unseen ? SIRIX_REASON_DATABASE_UNKNOWN
                                             : SIRIX_REASON_RESOURCE_UNKNOWN,
                             "there is no %s %.*s", database_unseen ? "database" : "resource",
                             (int)name.len, (const char *)name.data);
}

/* --- Places --------------------------------------------------------------------------------------- */

static struct sirix_sql_place *find_place(const struct sirix_sql_session *session,
                                          struct sirix_bytes database, struct sirix_bytes resource)
{
    struct sirix_sql_place *place = session->places;

    while (place != NULL && (!sirix_bytes_equal(place->database, database) ||
                             !sirix_bytes_equal(place->resource, resource))) {
        place = place->next;
    }
    return place;
}

bool sirix_sql_place_is_open(const struct sirix_sql_session *session, struct sirix_bytes database,
                             struct sirix_bytes resource)
{
    return find_place(session, database, resource) != NULL;
}

struct sirix_reader *sirix_sql_reader_of(const struct sirix_sql_session *session,
                                         const struct sirix_handle *handle)
{
    const struct sirix_sql_place *place = session->places;

    while (place != NULL && place->target.handle != handle) {
        place = place->next;
    }
    return place == NULL ? NULL : place->reader;
}

/* A stream's reader of the first resource of a database serves all of them. */
static enum sirix_status take_reader(const struct sirix_sql_session *session,
                                     struct sirix_sql_place *place, struct sirix_error *err)
{
    struct sirix_target *target = &place->target;

    place->reader = sirix_sql_reader_of(session, target->handle);
    sirix_handle_reader_put(target->handle, target->reader);
    target->reader = NULL;
    if (place->reader != NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_handle_stream_reader_open(target->handle, &target->reader, err);
    target->stream = true;
    place->reader = target->reader;
    return status;
}

enum sirix_status sirix_sql_place_open(struct sirix_sql_session *session,
                                       struct sirix_bytes database, struct sirix_bytes resource,
                                       struct sirix_sql_place **out_place, struct sirix_error *err)
{
    struct sirix_sql_place *place = find_place(session, database, resource);
    void *memory = NULL;

    if (place != NULL) {
        *out_place = place;
        return SIRIX_OK;
    }
    if (session->place_count == SIRIX_SQL_PLACES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_LIMIT,
                                 "one statement reads at most %d resources", SIRIX_SQL_PLACES_MAX);
    }
    if (!sirix_sql_visible(session, database, resource)) {
        return unseen(database, resource, !sirix_sql_visible(session, database, nothing), err);
    }
    enum sirix_status status = sirix_arena_calloc(&session->arena, 1, sizeof(*place), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    place = memory;
    status = sirix_arena_copy(&session->arena, database, &place->database, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&session->arena, resource, &place->resource, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_target_open_named(&session->request, database, resource, &place->target, err);
    }
    if (status == SIRIX_OK) {
        status = take_reader(session, place, err);
        if (status != SIRIX_OK) {
            sirix_target_close(&place->target);
        }
    }
    if (status == SIRIX_OK) {
        place->next = session->places;
        session->places = place;
        session->place_count++;
        *out_place = place;
    }
    return status;
}

/* --- Views ---------------------------------------------------------------------------------------- */

struct sirix_view_request sirix_sql_view_request(struct sirix_bytes spec, bool branch)
{
    struct sirix_view_request wanted = {.which = SIRIX_VIEW_WHICH_NONE};

    if (spec.len == 0) {
        return wanted;
    }
    if (sirix_name_is_revision(spec, &wanted.revision)) {
        wanted.which = SIRIX_VIEW_WHICH_REVISION;
    } else if (sirix_name_is_timestamp(spec)) {
        wanted.timestamp = spec;
    } else {
        wanted.which = branch ? SIRIX_VIEW_WHICH_BRANCH : SIRIX_VIEW_WHICH_SNAPSHOT;
        wanted.name = spec;
    }
    return wanted;
}

/* With the reader of the statement in the target's place. */
static enum sirix_status open_view(struct sirix_sql_place *place, struct sirix_bytes spec,
                                   struct sirix_view *out_view, struct sirix_error *err)
{
    struct sirix_target target = place->target;
    struct sirix_view_request wanted = sirix_sql_view_request(spec, false);

    target.reader = place->reader;
    enum sirix_status status = sirix_target_view(&target, &wanted, "revision", out_view, err);
    if (status == SIRIX_NOT_FOUND && wanted.which == SIRIX_VIEW_WHICH_SNAPSHOT) {
        struct sirix_error second = {0};

        wanted = sirix_sql_view_request(spec, true);
        if (sirix_target_view(&target, &wanted, "revision", out_view, &second) == SIRIX_OK) {
            return SIRIX_OK;
        }
        return sirix_fail_reason(
            err, SIRIX_NOT_FOUND, SIRIX_REASON_SNAPSHOT_UNKNOWN,
            "%.*s has no revision, snapshot or branch \"%.*s\"; see: SELECT * FROM snapshots",
            (int)place->resource.len, (const char *)place->resource.data, (int)spec.len,
            (const char *)spec.data);
    }
    return status;
}

enum sirix_status sirix_sql_view_open(struct sirix_sql_session *session,
                                      struct sirix_sql_place *place, struct sirix_bytes spec,
                                      struct sirix_sql_view **out_view, struct sirix_error *err)
{
    struct sirix_sql_view *view = place->views;
    void *memory = NULL;

    while (view != NULL && !sirix_bytes_equal(view->spec, spec)) {
        view = view->next;
    }
    if (view != NULL) {
        *out_view = view;
        return SIRIX_OK;
    }
    if (session->view_count == SIRIX_SQL_VIEWS_MAX || spec.len > SIRIX_SQL_SPEC_BYTES_MAX) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_LIMIT,
                                 "a statement reads at most %d revisions, named in %d bytes each",
                                 SIRIX_SQL_VIEWS_MAX, SIRIX_SQL_SPEC_BYTES_MAX);
    }
    enum sirix_status status = sirix_arena_calloc(&session->arena, 1, sizeof(*view), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    view = memory;
    view->place = place;
    status = sirix_arena_copy(&session->arena, spec, &view->spec, err);
    if (status == SIRIX_OK) {
        status = open_view(place, spec, &view->view, err);
    }
    if (status == SIRIX_OK) {
        view->next = place->views;
        place->views = view;
        session->view_count++;
        *out_view = view;
    }
    return status;
}

enum sirix_status sirix_sql_view_paths(struct sirix_sql_session *session,
                                       struct sirix_sql_view *view,
                                       const struct sirix_paths **out_paths,
                                       struct sirix_error *err)
{
    if (!view->paths_known) {
        struct sirix_target target = view->place->target;

        target.reader = view->place->reader;
        enum sirix_status status =
            sirix_paths_of_view(&target, &view->view, &session->arena, &view->paths, err);
        if (status != SIRIX_OK) {
            return status;
        }
        view->paths_known = true;
    }
    *out_paths = &view->paths;
    return SIRIX_OK;
}

/* --- Names ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_sql_each_database(struct sirix_sql_session *session,
                                          sirix_sql_name_fn visit, void *context,
                                          struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool stop = false;

    if (!session->databases_known) {
        status = sirix_registry_list(session->request.service->registry, nothing,
                                     &session->databases, &session->database_count, err);
        session->databases_known = status == SIRIX_OK;
    }
    for (size_t i = 0; status == SIRIX_OK && i < session->database_count && !stop; i++) {
        const struct sirix_bytes name = {.data = session->databases[i].name,
                                         .len = strlen(session->databases[i].name)};

        if (sirix_sql_visible(session, name, nothing)) {
            status = visit(context, name, nothing, &stop, err);
        }
    }
    return status;
}

struct each {
    struct sirix_sql_session *session;
    struct sirix_bytes database;
    sirix_sql_name_fn visit;
    void *context;
    bool stopped;
};

static enum sirix_status each_name(void *context, struct sirix_bytes name, bool *stop,
                                   struct sirix_error *err)
{
    struct each *each = context;

    if (!sirix_sql_visible(each->session, each->database, name)) {
        return SIRIX_OK;
    }
    enum sirix_status status = each->visit(each->context, each->database, name, stop, err);
    each->stopped = *stop;
    return status;
}

static enum sirix_status each_of_database(void *context, struct sirix_bytes database,
                                          struct sirix_bytes resource, bool *stop,
                                          struct sirix_error *err)
{
    struct each *each = context;
    struct sirix_target target = {0};

    (void)resource;
    enum sirix_status status =
        sirix_target_open(&each->session->request, database, nothing, &target, err);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    if (status == SIRIX_OK) {
        each->database = database;
        status = sirix_resource_list(sirix_handle_database(target.handle), nothing, each_name, each,
                                     err);
        *stop = each->stopped;
    }
    sirix_target_close(&target);
    return status;
}

enum sirix_status sirix_sql_each_resource(struct sirix_sql_session *session,
                                          struct sirix_bytes database, sirix_sql_name_fn visit,
                                          void *context, struct sirix_error *err)
{
    struct each each = {.session = session, .visit = visit, .context = context};
    bool stop = false;

    if (database.len == 0) {
        return sirix_sql_each_database(session, each_of_database, &each, err);
    }
    return sirix_sql_visible(session, database, nothing)
               ? each_of_database(&each, database, nothing, &stop, err)
               : SIRIX_OK;
}

struct only {
    struct sirix_sql_session *session;
    struct sirix_bytes name;
    size_t count;
};

static enum sirix_status count_database(void *context, struct sirix_bytes database,
                                        struct sirix_bytes resource, bool *stop,
                                        struct sirix_error *err)
{
    struct only *only = context;

    (void)resource;
    *stop = ++only->count > 1;
    return sirix_arena_copy(&only->session->arena, database, &only->name, err);
}

enum sirix_status sirix_sql_default_database(struct sirix_sql_session *session,
                                             struct sirix_bytes named,
                                             struct sirix_bytes *out_database,
                                             struct sirix_error *err)
{
    struct only only = {.session = session};
    const struct sirix_bytes given = named.len != 0 ? named : session->wanted->database;

    if (given.len != 0) {
        *out_database = given;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_sql_each_database(session, count_database, &only, err);
    if (status == SIRIX_OK && only.count != 1) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 only.count == 0 ? "there is no database"
                                                 : "there are several databases; name one");
    }
    if (status == SIRIX_OK) {
        *out_database = only.name;
    }
    return status;
}

/* --- Time and failure ----------------------------------------------------------------------------- */

static enum sirix_status check_at(const struct sirix_sql_session *session, uint64_t now,
                                  struct sirix_error *err)
{
    if (session->stop_us != UINT64_MAX && now >= session->stop_us &&
        (session->layers_off & SIRIX_SQL_LAYER_LIMITS) == 0) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_LIMIT,
                                 "the statement took longer than its %u ms; filter more, or count "
                                 "less",
                                 session->wanted->time_max_ms);
    }
    return sirix_cancel_check(session->request.cancel, err);
}

enum sirix_status sirix_sql_check(struct sirix_sql_session *session, struct sirix_error *err)
{
    return check_at(session, sirix_cancel_now_us(), err);
}

static void yield_all(struct sirix_sql_session *session)
{
    for (struct sirix_sql_place *place = session->places; place != NULL; place = place->next) {
        if (place->target.reader != NULL) {
            sirix_reader_yield(place->reader);
        }
    }
}

enum sirix_status sirix_sql_tick(struct sirix_sql_session *session, struct sirix_error *err)
{
    const uint64_t now = sirix_cancel_now_us();

    if (now - session->yielded_us >= YIELD_US && !session->setting_up) {
        session->yielded_us = now;
        yield_all(session);
    }
    return check_at(session, now, err);
}

int sirix_sql_failed(struct sirix_sql_session *session, const struct sirix_error *err)
{
    if (!session->failed) {
        session->failed = true;
        session->error = *err;
    }
    return err->status == SIRIX_NO_MEMORY ? SQLITE_NOMEM : SQLITE_ERROR;
}

void sirix_sql_session_close(struct sirix_sql_session *session)
{
    for (struct sirix_sql_place *place = session->places; place != NULL; place = place->next) {
        for (struct sirix_sql_view *view = place->views; view != NULL; view = view->next) {
            sirix_view_close(&view->view);
        }
    }
    /* The reader that others borrow goes with its own place, after all views. */
    for (struct sirix_sql_place *place = session->places; place != NULL; place = place->next) {
        sirix_target_close(&place->target);
    }
    session->places = NULL;
    free(session->databases);
    sirix_arena_deinit(&session->arena);
}
