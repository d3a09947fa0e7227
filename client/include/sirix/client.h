/* Clients, and what every call may be given. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_CLIENT_H
#define SIRIX_SIRIX_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Installed beside these headers; the types are those of base, not declared a second time. */
#include "base/bytes.h"
#include "base/status.h"

#ifdef __cplusplus
}
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The bytes of a C string, without its NUL. NULL gives no bytes. */
static inline struct sirix_bytes sirix_bytes_from_str(const char *text)
{
    struct sirix_bytes bytes = {text, text != NULL ? strlen(text) : 0};

    return bytes;
}

/* --- Clients ------------------------------------------------------------------------------------ */

struct sirix_client;

enum {
    SIRIX_CLIENT_DEADLINE_DEFAULT_MS = 30 * 1000,
    SIRIX_CLIENT_CONNECT_DEFAULT_MS = 5 * 1000,
    SIRIX_EMBEDDED_START_DEFAULT_MS = 15 * 1000,
};

/* A deadline_ms that means: none. */
#define SIRIX_DEADLINE_NONE UINT32_MAX

/* Zero-initialise; a zero takes the default. */
struct sirix_client_options {
    const char *client_name;      /* For the server's log; at most 256 bytes. */
    uint32_t default_deadline_ms; /* Of calls that name none, streams apart. */
    uint32_t connect_timeout_ms;  /* How long a server that is not there is waited for. */
    /*
     * How the client shows who it is at HOST:PORT, and whom it trusts. A Unix socket and an embedded
     * server ask for neither.
     */
    const char
        *token_file;      /* Its first line is the token; read again when the file changes. Without
                               TLS it is sent to this machine alone. */
    const char *tls_ca;   /* PEM, or "system": TLS with servers of these authorities. */
    const char *tls_cert; /* PEM: the client's own certificate, with tls_key; or NULL. */
    const char *tls_key;
    const void *reserved[2]; /* Must be NULL. */
};

/*
 * A client of the storaged at `unix:PATH` or `HOST:PORT`. Does not connect: the first call does, and
 * connections that are lost are made anew. SIRIX_INVALID (field "address"), SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_client_open(const char *address, const struct sirix_client_options *options,
                                    struct sirix_client **out_client,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Zero-initialise; a zero takes the default. */
struct sirix_embedded_options {
    /*
     * Open DIR/reader.sock only, where the server lets nobody write. (The daemon itself is the same
     * one, whoever starts it.)
     */
    bool read_only;
    uint32_t start_timeout_ms;
    const char *program; /* storaged; default: beside the calling program, then on PATH. */
    struct sirix_client_options client;
};

/*
 * A client of the storaged that owns the folder directory, which is started if nobody has: with a
 * session of its own, null stdin and stdout, its log in DIRECTORY/storaged.log. The folder is made
 * (mode 0700) if only its last component is missing. However many processes do this at once, one
 * daemon results. It ends some seconds after its last client. If it dies while the client is open,
 * the next call starts another.
 *
 * SIRIX_NOT_FOUND: no storaged program, or no such folder; SIRIX_UNAVAILABLE: it did not get ready,
 * with the last line of its log; SIRIX_IO; SIRIX_NO_MEMORY.
 */
enum sirix_status sirix_embedded_open(const char *directory,
                                      const struct sirix_embedded_options *options,
                                      struct sirix_client **out_client,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Only when no call and no stream of the client is left. NULL is allowed. */
void sirix_client_close(struct sirix_client *client);

/* Gives back an answer that came as a pointer from any function below. NULL is allowed. */
void sirix_client_free(const void *answer);

/* --- What every call may be given --------------------------------------------------------------- */

/* Ends calls from another thread. One handle may be given to any number of calls at once. */
struct sirix_call_cancel;

enum sirix_status sirix_call_cancel_new(struct sirix_call_cancel **out_cancel,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Ends all calls and streams that have the handle, and every later one at once: SIRIX_CANCELLED (a
 * write that was sent: SIRIX_OUTCOME_UNKNOWN). Any thread; returns at once.
 */
void sirix_call_cancel_trigger(struct sirix_call_cancel *cancel);
bool sirix_call_cancel_triggered(const struct sirix_call_cancel *cancel);

/* Only when no call and no stream has it any more. NULL is allowed. */
void sirix_call_cancel_free(struct sirix_call_cancel *cancel);

/* Zero-initialise; NULL instead of a pointer to it means the same. */
struct sirix_call_options {
    /* For all tries together. 0: the client's default; a stream: none. */
    uint32_t deadline_ms;
    struct sirix_call_cancel *cancel; /* May be NULL. */
    /* W3C trace context, handed on to the server. Printable ASCII, at most 512 bytes, or empty. */
    struct sirix_bytes traceparent;
};

/*
 * What every write may carry; part of its request. message and on_behalf_of are kept with the revision
 * that a write makes: databases, drops, snapshots, branches and promotes, which make none, refuse them.
 */
struct sirix_write_options {
    /* The head that the writer has seen; another one now is SIRIX_CONFLICT (revision_moved). */
    bool has_expected_revision;
    uint64_t expected_revision;
    struct sirix_bytes message;         /* Kept with the revision; at most 4,096 bytes. */
    struct sirix_bytes on_behalf_of;    /* For whom the caller acts; at most 128 bytes. */
    struct sirix_bytes idempotency_key; /* 1 to 128 bytes; the same key returns the first answer. */
};

enum sirix_view_kind {
    SIRIX_VIEW_DEFAULT, /* The head of branch main; with a timestamp: of main at that time. */
    SIRIX_VIEW_REVISION,
    SIRIX_VIEW_SNAPSHOT,
    SIRIX_VIEW_BRANCH, /* Its head, or with a timestamp its head at that time. */
};

/* What is read. Zero-initialised: the newest revision of main. */
struct sirix_view {
    enum sirix_view_kind kind;
    uint64_t revision;
    const char *name;             /* Of the snapshot or branch. */
    struct sirix_bytes timestamp; /* RFC 3339; with DEFAULT or BRANCH only. */
};

/* Lists come in pages. */
struct sirix_page {
    uint32_t size;             /* At most so many; 0: the default of the call. */
    struct sirix_bytes cursor; /* next_cursor of the page before; empty: the first page. */
};

/* What every write that makes a revision answers. */
struct sirix_write_result {
    uint64_t revision;        /* The head of the branch after the write. */
    uint64_t parent_revision; /* 0 for the first of a resource. */
    uint64_t timestamp_us;
    bool changed;  /* false: the text was identical, `revision` is the old head. */
    bool replayed; /* This answers an earlier call with the same idempotency key. */
};

enum sirix_node_type {
    SIRIX_NODE_TYPE_NONE,
    SIRIX_NODE_TYPE_OBJECT,
    SIRIX_NODE_TYPE_ARRAY,
    SIRIX_NODE_TYPE_STRING,
    SIRIX_NODE_TYPE_NUMBER,
    SIRIX_NODE_TYPE_BOOLEAN,
    SIRIX_NODE_TYPE_NULL,
};

/* "object", "array", …, "none" for anything else. Never NULL. */
const char *sirix_node_type_name(enum sirix_node_type type);

/*
 * Where bytes come from, piece by piece: writes 1..capacity bytes and their number, or 0 at the end.
 * Any failure ends the call, changes nothing, and is returned by it.
 */
struct sirix_source {
    enum sirix_status (*read)(void *context, void *buffer, size_t capacity, size_t *out_len,
                              struct sirix_error *err);
    void *context;
};

#ifdef __cplusplus
}
#endif

#endif
