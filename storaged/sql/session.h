/*
 * What one statement has open: its connection, and the resources and revisions that it reads.
 *
 * Views     one for each resource and revision that was asked for, found once, so that a statement sees
 *           one state however often it looks.
 * Yields    sirix_sql_tick() lets readers go every few milliseconds. Whoever calls it holds no slice; it
 *           is called by virtual tables before they read and by the engine between its operations.
 * Errors    SQLite passes numbers; the error itself waits in the session.
 */
#ifndef SIRIX_SQL_SESSION_H
#define SIRIX_SQL_SESSION_H

#include <sqlite3.h>

#include "base/arena.h"
#include "base/buf.h"
#include "service/paths.h"
#include "sql/memory.h"
#include "sql/sql.h"
#include "store/store.h"

/* Each can be left out by a test, to show that the others hold alone. */
enum sirix_sql_layer {
    SIRIX_SQL_LAYER_AUTHORIZER = 1 << 0,
    SIRIX_SQL_LAYER_CONNECTION = 1 << 1,
    SIRIX_SQL_LAYER_STATEMENT = 1 << 2,
    SIRIX_SQL_LAYER_LIMITS = 1 << 3,
};

enum {
    SIRIX_SQL_PLACES_MAX = 1000,
    SIRIX_SQL_VIEWS_MAX = 10000,
    SIRIX_SQL_ARENA_BYTES_MAX = 64 * 1024 * 1024,
    SIRIX_SQL_SPEC_BYTES_MAX = 160, /* A name of 128, a time, or a number. */
};

/* A resource that is open. */
struct sirix_sql_place {
    struct sirix_target target;
    struct sirix_reader *reader; /* Of its database, shared by its resources. */
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_sql_view *views;
    struct sirix_sql_place *next;
};

/* A revision of it. */
struct sirix_sql_view {
    struct sirix_sql_place *place;
    struct sirix_bytes spec; /* As it was asked for; empty: the newest of main. */
    struct sirix_view view;
    struct sirix_paths paths;
    bool paths_known;
    struct sirix_sql_view *next;
};

struct sirix_sql_session {
    struct sirix_request request;
    const struct sirix_sql_request *wanted;
    unsigned layers_off; /* Of enum sirix_sql_layer. */
    sqlite3 *db;
    bool setting_up; /* The connection does what we say, not what a caller says. */
    struct sirix_sql_place *places;
    size_t place_count;
    size_t view_count;
    struct sirix_arena arena; /* Of all that lives as long as the statement. */
    uint64_t stop_us;         /* Of its time; UINT64_MAX: none. */
    uint64_t yielded_us;
    uint32_t ticks;
    bool failed; /* `error` says why. */
    struct sirix_error error;
    char refused[SIRIX_ERROR_TEXT_BYTES];  /* What the authorizer refused last; "": nothing. */
    struct sirix_sql_schema *schemas;      /* Tables that were inferred: schema.h. */
    struct sirix_registry_name *databases; /* Of all databases, listed once. */
    size_t database_count;
    bool databases_known;
    struct sirix_sql_facts *facts; /* Once facts_known: facts.h. */
    bool facts_known;
    bool facts_wanted; /* The text names a list that tells of them. */
    size_t created;    /* Tables made for this text. */
    struct sirix_sql_made *made;
    const char *refused_table; /* That the authorizer refused last as the engine's; NULL: none. */
    /* Counting: whole_count.c. */
    unsigned selects;
    bool counts;
    bool weighing;  /* Scans may give one row for many. */
    int64_t weight; /* Of the present row. */
    struct sirix_sql_budget budget;
};

/* The name of a table that was made, as SQLite knows it. */
struct sirix_sql_made {
    const char *name;
    struct sirix_sql_made *next;
};
bool sirix_sql_is_made(const struct sirix_sql_session *session, const char *name);

/* Keeps the name of a table of the engine's that cannot be read, for who may have meant one of the store. */
void sirix_sql_refuse_table(struct sirix_sql_session *session, const char *name);

bool sirix_sql_visible(const struct sirix_sql_session *session, struct sirix_bytes database,
                       struct sirix_bytes resource);

/* Whether a resource is open already. */
bool sirix_sql_place_is_open(const struct sirix_sql_session *session, struct sirix_bytes database,
                             struct sirix_bytes resource);

/* Opens a resource, or finds it open. What may not be seen is NOT_FOUND. */
enum sirix_status sirix_sql_place_open(struct sirix_sql_session *session,
                                       struct sirix_bytes database, struct sirix_bytes resource,
                                       struct sirix_sql_place **out_place,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The statement's reader of a database; NULL: it has none. */
struct sirix_reader *sirix_sql_reader_of(const struct sirix_sql_session *session,
                                         const struct sirix_handle *handle);

/* The view that a revision number, a snapshot, a branch or a time stands for; empty: the newest. */
enum sirix_status sirix_sql_view_open(struct sirix_sql_session *session,
                                      struct sirix_sql_place *place, struct sirix_bytes spec,
                                      struct sirix_sql_view **out_view,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Its paths, read once. */
enum sirix_status sirix_sql_view_paths(struct sirix_sql_session *session,
                                       struct sirix_sql_view *view,
                                       const struct sirix_paths **out_paths,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* As a request's view. */
struct sirix_view_request sirix_sql_view_request(struct sirix_bytes spec, bool branch);

/*
 * The database that an argument names or, without one, the request's or the only one that can be seen.
 * SIRIX_INVALID: that is not clear.
 */
enum sirix_status sirix_sql_default_database(struct sirix_sql_session *session,
                                             struct sirix_bytes named,
                                             struct sirix_bytes *out_database,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Calls visit with what can be seen, in order. */
typedef enum sirix_status (*sirix_sql_name_fn)(void *context, struct sirix_bytes database,
                                               struct sirix_bytes resource, bool *stop,
                                               struct sirix_error *err);
enum sirix_status sirix_sql_each_database(struct sirix_sql_session *session,
                                          sirix_sql_name_fn visit, void *context,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
/* database empty: of all. */
enum sirix_status sirix_sql_each_resource(struct sirix_sql_session *session,
                                          struct sirix_bytes database, sirix_sql_name_fn visit,
                                          void *context, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether to go on: time and cancelling. Readers stay where they are. */
enum sirix_status sirix_sql_check(struct sirix_sql_session *session,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same, and lets readers yield now and then. Nobody holds a slice. */
enum sirix_status sirix_sql_tick(struct sirix_sql_session *session,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* The cheap form: looks at the clock every few hundred calls. */
enum { SIRIX_SQL_TICK_CALLS = 256 };
static inline enum sirix_status SIRIX_MUST_CHECK sirix_sql_touch(struct sirix_sql_session *session,
                                                                 struct sirix_error *err)
{
    return ++session->ticks % SIRIX_SQL_TICK_CALLS == 0 ? sirix_sql_tick(session, err) : SIRIX_OK;
}

/* Keeps the error for the end of the statement and gives SQLite's number for it. */
int sirix_sql_failed(struct sirix_sql_session *session, const struct sirix_error *err);

void sirix_sql_session_close(struct sirix_sql_session *session);

/* sirix_sql_run() without some layers: for tests. */
enum sirix_status sirix_sql_run_without(const struct sirix_request *request,
                                        const struct sirix_sql_request *wanted,
                                        const struct sirix_sql_sink *sink, unsigned layers_off,
                                        struct sirix_sql_end *out_end,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
