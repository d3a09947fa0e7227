/* The server's state, and the check of a database. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_ADMIN_H
#define SIRIX_SIRIX_ADMIN_H

#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

struct sirix_server_status {
    const char *version;
    uint64_t started_at_us;
    uint64_t now_us; /* The server's clock. */
    uint32_t process_id;
    bool embedded;
    bool draining;
    const char *principal; /* Who the caller is to the server. */
    const char *role;      /* "reader", "writer", "operator" or "unknown". */
    uint64_t databases;
    uint64_t databases_open;
    uint64_t calls_running;
    uint64_t writes_waiting;
    uint64_t calls_total;
    uint64_t commits_total;
    uint64_t resident_bytes;
};

enum sirix_status sirix_client_status(struct sirix_client *client,
                                      const struct sirix_call_options *call,
                                      struct sirix_server_status **out_status,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* One kind of call, as counts since the server's start. */
struct sirix_method_activity {
    const char *method; /* "Apply", or "/grpc.health.v1.Health/Check". */
    uint64_t running;
    uint64_t ended;
    uint64_t failed; /* Of those that ended. */
    uint64_t total_us;
    const uint64_t
        *bucket_counts; /* bucket_count + 1 of them; NULL: its calls are meant to last. */
};

/* What is going on: the difference of two is what happened between them. */
struct sirix_server_activity {
    struct sirix_server_status status;
    uint64_t calls_queued; /* Turns that wait for a worker. */
    uint64_t groups;       /* Transactions of the store, each with one sync. */
    uint64_t group_works;
    uint64_t group_bytes;
    uint64_t group_write_us;
    const uint64_t *bucket_bounds_us; /* Rising and inclusive; one more bucket follows the last. */
    size_t bucket_count;
    const struct sirix_method_activity *methods;
    size_t method_count;
};

enum sirix_status sirix_client_activity(struct sirix_client *client,
                                        const struct sirix_call_options *call,
                                        struct sirix_server_activity **out_activity,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Lets the server read its file of principals again. For operators. SIRIX_PRECONDITION: it was started
 * without one; SIRIX_INVALID: the file is wrong, and what was in force stays.
 */
enum sirix_status sirix_client_reload_principals(struct sirix_client *client,
                                                 const struct sirix_call_options *call,
                                                 uint32_t *out_count,
                                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* 0: no limit. */
struct sirix_quota {
    uint64_t bytes;     /* Of the files of a database. */
    uint64_t snapshots; /* Of one resource of it. */
    uint64_t branches;  /* Of one resource of it, main included. */
    uint64_t calls;     /* At a time. */
};

/*
 * Sets all limits of a database or (database NULL) of a principal, which has but that of calls; wanted
 * NULL: asks for them alone. *out_quota is what is in force. For operators.
 */
enum sirix_status sirix_client_set_quota(struct sirix_client *client, const char *database,
                                         const char *principal, const struct sirix_quota *wanted,
                                         const struct sirix_call_options *call,
                                         struct sirix_quota *out_quota,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_verify_part_kind {
    SIRIX_VERIFY_PART_PROGRESS,
    SIRIX_VERIFY_PART_PROBLEM,
    SIRIX_VERIFY_PART_END, /* The last part of a complete check. */
};

/* Only the fields of its kind are set; pointers are valid until the next call on the stream. */
struct sirix_verify_part {
    enum sirix_verify_part_kind kind;
    /* PROGRESS and END. */
    uint64_t segments;
    uint64_t bytes;
    /* PROBLEM; revision 0 where it belongs to no one revision. */
    struct sirix_bytes resource;
    uint64_t revision;
    struct sirix_bytes reason;
    struct sirix_bytes message;
    /* END. */
    uint64_t resources;
    uint64_t revisions;
    uint64_t problems; /* 0: all is well. More than 1,000 are counted but not sent. */
};

struct sirix_verify_stream;

/* resource NULL: every resource of the database. */
enum sirix_status sirix_client_verify(struct sirix_client *client, const char *database,
                                      const char *resource, const struct sirix_call_options *call,
                                      struct sirix_verify_stream **out_stream,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_verify_stream_next(struct sirix_verify_stream *stream,
                                           struct sirix_verify_part *out_part,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_verify_stream_close(struct sirix_verify_stream *stream);

/* --- Backup and restore -------------------------------------------------------------------------- */

enum sirix_backup_part_kind {
    SIRIX_BACKUP_PART_START, /* The first. */
    SIRIX_BACKUP_PART_DATA,
    SIRIX_BACKUP_PART_END, /* The last of a whole backup; without it there is none. */
};

/* Only the fields of its kind are set; pointers are valid until the next call on the stream. */
struct sirix_backup_part {
    enum sirix_backup_part_kind kind;
    /* START. */
    uint64_t estimated_bytes;
    bool incremental;
    /* DATA: to be kept as it is, in order. */
    struct sirix_bytes data;
    /* END. */
    uint64_t bytes;
    uint64_t segments;
    struct sirix_bytes sha256; /* Names the backup. */
};

struct sirix_backup_stream;

/*
 * A database at one instant, with its history. base: the last frame of an earlier backup, on top of
 * which only what is new is given; empty: all. The last 8 bytes of that frame, and so of the backup, are
 * its length (little-endian).
 */
enum sirix_status sirix_client_backup(struct sirix_client *client, const char *database,
                                      struct sirix_bytes base,
                                      const struct sirix_call_options *call,
                                      struct sirix_backup_stream **out_stream,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_backup_stream_next(struct sirix_backup_stream *stream,
                                           struct sirix_backup_part *out_part,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_backup_stream_close(struct sirix_backup_stream *stream);

struct sirix_restore_result {
    uint64_t backups; /* 1, and one for each incremental one. */
    uint64_t segments;
    uint64_t bytes;
    uint64_t resources;
    uint64_t revisions;
    uint64_t made_at_us; /* When the last of the backups was made. */
};

/*
 * A new database out of a backup and the incremental ones on top of it, which source gives one after the
 * other. SIRIX_ALREADY_EXISTS; SIRIX_CORRUPT: damage, with its offset. Without SIRIX_OK nothing is left.
 */
enum sirix_status sirix_client_restore(struct sirix_client *client, const char *database,
                                       const struct sirix_source *source,
                                       const struct sirix_call_options *call,
                                       struct sirix_restore_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
