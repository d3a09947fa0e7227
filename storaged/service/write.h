/*
 * What every write goes through: its options are checked, its author is made up, it gets the write
 * turn of its branch, and its idempotency key is looked up.
 *
 *     sirix_write_options_check()  ->  sirix_write_open()  ->  sirix_write_take_turn()
 *         -> [waits: ready() from another thread -> sirix_write_turn_came()] -> the write
 *         -> sirix_write_close()
 */
#ifndef SIRIX_SERVICE_WRITE_H
#define SIRIX_SERVICE_WRITE_H

#include "service/idempotency.h"
#include "service/service.h"

struct sirix_write_options {
    bool has_expected;
    uint64_t expected_revision;
    struct sirix_bytes message;
    struct sirix_bytes on_behalf_of;
    struct sirix_bytes idempotency_key;       /* Empty: none. */
    uint8_t request_hash[SIRIX_SHA256_BYTES]; /* Of the whole request; with a key. */
};

/* Limits and encoding. SIRIX_INVALID names the field. */
enum sirix_status sirix_write_options_check(const struct sirix_write_options *options,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same of a write that makes no revision, with which a message or a name to act for would be kept:
 * SIRIX_INVALID (reason field_invalid) where there is one.
 */
enum sirix_status sirix_write_options_check_bare(const struct sirix_write_options *options,
                                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The author of a record: the caller's name, and behind '~' whom it claims to act for (':' if it is
 * trusted to say so). Neither byte occurs in a caller's name.
 */
enum { SIRIX_AUTHOR_TEXT_BYTES = SIRIX_CALLER_NAME_BYTES_MAX + 1 + SIRIX_ON_BEHALF_BYTES_MAX };
struct sirix_author {
    size_t len;
    char text[SIRIX_AUTHOR_TEXT_BYTES];
};
void sirix_author_make(const struct sirix_caller *caller, struct sirix_bytes on_behalf_of,
                       struct sirix_author *out_author);

/* And apart again. */
void sirix_author_split(struct sirix_bytes author, struct sirix_bytes *out_principal,
                        struct sirix_bytes *out_on_behalf_of, bool *out_claimed);

struct sirix_write_result {
    uint64_t revision;
    uint64_t parent_revision;
    int64_t time_us;
    bool changed;
    bool replayed;
};

struct sirix_write;
typedef void (*sirix_write_ready_fn)(void *context);

/* One write on one branch. Zero-initialise; stream true: its reader is kept over turns. */
struct sirix_write {
    bool stream;
    bool any_branch;   /* Also one whose time is over: for what deletes it. */
    bool adds_nothing; /* So that no quota of bytes refuses it. */
    bool hidden;       /* Its resource has no revision yet that anybody could have seen. */
    struct sirix_request request;
    struct sirix_write_options options;
    struct sirix_target target;
    struct sirix_author author;
    uint64_t branch_id;
    char branch[129];
    struct sirix_turn turn;
    sirix_write_ready_fn ready;
    void *context;
    enum sirix_status turn_status; /* Once ready was called. */
    struct sirix_error turn_err;
};

/*
 * Checks the right to write and the options, opens the resource and finds the branch (empty: main).
 * The bytes of options stay valid until _close.
 */
enum sirix_status sirix_write_open(const struct sirix_request *request,
                                   const struct sirix_write_options *options,
                                   struct sirix_bytes database, struct sirix_bytes resource,
                                   struct sirix_bytes branch, struct sirix_write *write,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same for a stream's write on a resource that is open already since no name leads to it: see
 * sirix_resource_create_hidden(). The revision to expect is 0. The write takes handle and resource over,
 * if it succeeds.
 */
enum sirix_status sirix_write_open_hidden(const struct sirix_request *request,
                                          const struct sirix_write_options *options,
                                          struct sirix_handle *handle,
                                          struct sirix_resource *resource,
                                          struct sirix_bytes branch, struct sirix_write *write,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Asks for the branch's turn. *out_waits true: `ready` is called later, once, on another thread,
 * and may only wake the writer; between now and then nobody may close the write. The reader is
 * given back while it waits.
 */
enum sirix_status sirix_write_take_turn(struct sirix_write *write, sirix_write_ready_fn ready,
                                        void *context, bool *out_waits,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* After `ready`: whether it has the turn (SIRIX_DEADLINE, reason queue_timeout: no). */
enum sirix_status sirix_write_turn_came(struct sirix_write *write,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Stops waiting; false: `ready` was or is being called. */
bool sirix_write_withdraw(struct sirix_write *write);

/*
 * With the turn: opens the branch's head as it is now. SIRIX_CONFLICT (reason revision_moved) if
 * the options expect another. The view is the caller's to close.
 */
enum sirix_status sirix_write_head(struct sirix_write *write, struct sirix_view *out_view,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same without reading the revision, which may be damaged: where the head is. SIRIX_NOT_FOUND
 * (reason branch_unknown) when another branch has the name by now.
 */
enum sirix_status sirix_write_head_revision(struct sirix_write *write, uint64_t *out_revision,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* The row that makes a retry answer the same; its key is empty without an idempotency key. */
struct sirix_rider sirix_write_rider(const struct sirix_write *write);

/*
 * Looks an earlier write with the same key up. *out_replayed true: *out_result is its result and
 * *out_answer (valid until the reader is used again) what the service kept with it.
 */
enum sirix_status sirix_write_replay(struct sirix_write *write, bool *out_replayed,
                                     struct sirix_write_result *out_result,
                                     struct sirix_bytes *out_answer,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same with the results of all resources that the earlier write changed; none without one. */
enum sirix_status sirix_write_replay_all(struct sirix_write *write, struct sirix_published_of *out,
                                         size_t max, size_t *out_count,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * To be told how a commit ended: counts it, tells who watches, and marks the database where the outcome is unknown.
 * Returns status.
 */
enum sirix_status sirix_write_ended(struct sirix_write *write, enum sirix_status status);

/* Tells the watches of a revision that another write's commit has made: a query changes several at once. */
void sirix_write_tell(const struct sirix_write *write);

/* Gives the turn and the resource back. Not while it waits. NULL-safe on a zeroed write. */
void sirix_write_close(struct sirix_write *write);

#endif
