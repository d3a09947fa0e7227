/*
 * The product's rules between the transport and the store: what names, views and write options mean,
 * who may write, whose turn it is, and that a retried write happens once. No gRPC, no protobuf, no
 * LMDB.
 *
 *     read.h history.h diff.h     what is read
 *     write.h apply.h import.h    what makes a revision
 *     labels.h                    snapshots and branches
 *     catalogue.h verify.h        databases, resources, checking
 *
 * Results   are plain structures whose bytes live in the arena that the call was given, or until the
 *           object that gave them ends. Texts are plain UTF-8 that may hold U+0000, unless said.
 * Threads   a service is used by any thread; one request by one thread at a time.
 */
#ifndef SIRIX_SERVICE_SERVICE_H
#define SIRIX_SERVICE_SERVICE_H

#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/clock.h"
#include "base/status.h"
#include "service/cancel.h"
#include "service/registry.h"
#include "service/turns.h"

struct sirix_idempotency;
struct sirix_scope;
struct sirix_watch_hub;
struct sirix_quotas;

enum {
    SIRIX_WRITE_QUEUE_DEFAULT_MS = 5000,
    SIRIX_SERVICE_PAGE_MAX = 1000,
    SIRIX_SERVICE_HISTORY_DEFAULT = 20,
    SIRIX_IDEMPOTENCY_KEY_BYTES_MAX = 128,
    SIRIX_ON_BEHALF_BYTES_MAX = 128,
};

struct sirix_service_options {
    const char *dir;                 /* The data folder. */
    const struct sirix_clock *clock; /* NULL: the system's. */
    uint32_t write_queue_timeout_ms; /* 0: the default. */
    uint32_t databases_open_max;     /* 0: the default. */
    uint32_t idle_close_ms;          /* 0: the default. */
    uint64_t map_bytes_max;          /* 0: no limit. */
    sirix_registry_opened_fn opened; /* May be NULL. */
    void *context;
};

struct sirix_service {
    const struct sirix_clock *clock;
    struct sirix_committer_pool *committers;
    struct sirix_registry *registry;
    struct sirix_turns *turns;
    struct sirix_idempotency *idempotency;
    struct sirix_watch_hub *watches;
    struct sirix_quotas *quotas;
    sirix_registry_opened_fn opened; /* Of the options. */
    void *context;
    char *dir;
    _Atomic uint64_t commits;
};

enum sirix_status sirix_service_open(const struct sirix_service_options *options,
                                     struct sirix_service **out_service,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* No request is running. NULL is allowed. */
void sirix_service_close(struct sirix_service *service);

/* Housekeeping; about once a second. */
void sirix_service_tick(struct sirix_service *service);

/* Who asks, as whoever let the request in knows it. Outlives the request. */
enum { SIRIX_CALLER_NAME_BYTES_MAX = 64 };

enum sirix_right {
    SIRIX_RIGHT_SEE, /* A database, or (name not empty) a resource of it, is there for the caller. */
    SIRIX_RIGHT_SEE_ALL, /* So is every resource of the database. */
    SIRIX_RIGHT_CHANGE,  /* A branch or snapshot may be changed; name empty: any of them. */
};
typedef bool (*sirix_rights_fn)(const void *rights, enum sirix_right right,
                                struct sirix_bytes database, struct sirix_bytes name);

struct sirix_caller {
    const char *name; /* At most SIRIX_CALLER_NAME_BYTES_MAX letters, digits, '.', '_' and '-'. */
    bool may_write;
    bool trusted_to_speak_for_others;
    sirix_rights_fn allows; /* NULL: everything, but writing without may_write. */
    const void *rights;
};

/* A request: who asks, and until when. */
struct sirix_request {
    struct sirix_service *service;
    struct sirix_caller caller;
    const struct sirix_cancel *cancel;
    const struct sirix_scope *scope; /* What it narrows itself to; NULL: nothing. */
};

/* SIRIX_PERMISSION (reason read_only) unless the caller may write. */
enum sirix_status sirix_request_may_write(const struct sirix_request *request,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Whether a database, or (resource not empty) a resource of it, is there for the caller and inside of
 * what the request narrows itself to; whether every resource of the database is.
 */
bool sirix_request_sees(const struct sirix_request *request, struct sirix_bytes database,
                        struct sirix_bytes resource);
bool sirix_request_sees_all(const struct sirix_request *request, struct sirix_bytes database);

/* SIRIX_NOT_FOUND, as for what is not there, unless it is seen. */
enum sirix_status sirix_request_check_seen(const struct sirix_request *request,
                                           struct sirix_bytes database, struct sirix_bytes resource,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_PERMISSION (reason role) unless all of a database is seen. what: what is asked for, a verb. */
enum sirix_status sirix_request_check_seen_all(const struct sirix_request *request,
                                               struct sirix_bytes database, const char *what,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * SIRIX_PERMISSION (reason branch_forbidden) unless a branch or snapshot may be changed; name empty:
 * unless every one may.
 */
enum sirix_status sirix_request_check_change(const struct sirix_request *request,
                                             struct sirix_bytes database, struct sirix_bytes name,
                                             const char *field,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- What a request is about -------------------------------------------------------------------- */

/*
 * An open resource and, for one turn, a reader. Zero-initialise; _close copes with a half-opened
 * one.
 */
struct sirix_target {
    struct sirix_handle *handle;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    bool stream; /* The reader is a stream's. */
};

/* database and resource; resource empty: the database alone. */
enum sirix_status sirix_target_open(const struct sirix_request *request,
                                    struct sirix_bytes database, struct sirix_bytes resource,
                                    struct sirix_target *target,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same where the request must name a resource. */
enum sirix_status sirix_target_open_named(const struct sirix_request *request,
                                          struct sirix_bytes database, struct sirix_bytes resource,
                                          struct sirix_target *target,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same with a reader that may be kept over turns, yielded at the end of each. */
enum sirix_status sirix_target_open_stream(const struct sirix_request *request,
                                           struct sirix_bytes database, struct sirix_bytes resource,
                                           struct sirix_target *target,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_target_close(struct sirix_target *target);

/* --- Views -------------------------------------------------------------------------------------- */

enum sirix_view_which {
    SIRIX_VIEW_WHICH_NONE, /* The newest of main. */
    SIRIX_VIEW_WHICH_REVISION,
    SIRIX_VIEW_WHICH_SNAPSHOT,
    SIRIX_VIEW_WHICH_BRANCH,
};

struct sirix_view_request {
    enum sirix_view_which which;
    uint64_t revision;
    struct sirix_bytes name;
    struct sirix_bytes timestamp; /* RFC 3339; empty: none. */
};

/* What a request says, checked without opening anything. */
enum sirix_status sirix_view_request_check(const struct sirix_view_request *wanted,
                                           const char *field, struct sirix_view_spec *out_spec,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* Opens what is asked for. field is how the request calls the view, such as "view" or "from". */
enum sirix_status sirix_target_view(struct sirix_target *target,
                                    const struct sirix_view_request *wanted, const char *field,
                                    struct sirix_view *out_view,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The head of a branch; name empty: main. field such as "branch". */
enum sirix_status sirix_target_branch(struct sirix_target *target, struct sirix_bytes name,
                                      const char *field, struct sirix_view *out_view,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Pages -------------------------------------------------------------------------------------- */

/* 0 takes preset; more than max is SIRIX_INVALID and names the field. */
enum sirix_status sirix_limit_check(uint64_t asked, uint64_t preset, uint64_t max,
                                    const char *field, uint64_t *out_value,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
