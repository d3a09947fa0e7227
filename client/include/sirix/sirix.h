/*
 * libsirix: the client of storaged, a revision store of JSON documents.
 *
 *     struct sirix_error err = {0};
 *     struct sirix_client *client = NULL;
 *     if (sirix_embedded_open("/var/lib/notes", NULL, &client, &err) != SIRIX_OK) ...
 *
 * What the calls mean is said by the contract, proto/sirix/storage/v1/storage.proto; this header
 * says what the library adds.
 *
 * Errors    A failing call returns its status and fills *err (which may be NULL): the stable reason,
 *           the field, JSON pointer or offset where it is wrong, the current revision and a retry
 *           hint, as the server sent them. Outputs are written on success only.
 * Outcome   A write answers SIRIX_OUTCOME_UNKNOWN when the request may have reached the server and
 *           no answer came back (lost connection, deadline, cancellation). Every other failure of a
 *           write means that nothing was changed.
 * Retries   Reads are tried again on SIRIX_UNAVAILABLE with growing pauses until the deadline;
 *           writes only if they carry an idempotency key. Imports and streamed values are never
 *           sent twice. A stream is tried again until its first message came.
 * Memory    Strings and bytes of a request are read during the call only. An answer that comes as a
 *           pointer is the caller's: one sirix_client_free() gives back all of it.
 * Threads   A client may be used by any number of threads at once; an answer is plain memory; a
 *           stream belongs to one thread at a time; a cancel handle may be triggered by any thread.
 * Process   The first open tunes malloc for gRPC and silences gRPC's log, once a process. After an
 *           open, do not fork() without exec. The library writes to no file descriptor of the
 *           process, handles no signal, and reads no environment variable but PATH, for storaged.
 * Limits    A message is at most 4 MiB. Names have at most SIRIX_NAME_BYTES_MAX (128) bytes.
 *
 * The status table, struct sirix_error and struct sirix_bytes are those of base/, which is
 * installed beside this header: a program that also uses base (the gateway does) must see one and
 * the same type, so they are included, not declared a second time.
 */
#ifndef SIRIX_SIRIX_H
#define SIRIX_SIRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#ifdef __cplusplus
extern "C" {
#endif

#include "base/bytes.h"
#include "base/status.h"

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
    uint32_t connect_timeout_ms;  /* How long a write waits for the connection. */
    const void *reserved[6];      /* For TLS and tokens; must be NULL. */
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

/* What every write may carry; part of its request. */
struct sirix_write_options {
    /* The head that the writer has seen; another one now is SIRIX_CONFLICT (revision_moved). */
    bool has_expected_revision;
    uint64_t expected_revision;
    struct sirix_bytes message;         /* Kept with the revision; at most 4,096 bytes. */
    struct sirix_bytes on_behalf_of;    /* For whom the caller acts; at most 256 bytes. */
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

/* --- Catalogue ---------------------------------------------------------------------------------- */

struct sirix_database_info {
    const char *name;
    uint64_t stored_bytes;
    uint64_t resource_count; /* 0 and unknown while not open. */
    bool open;
    struct sirix_bytes read_only_reason; /* Empty: it can be written. */
};

struct sirix_database_list {
    const struct sirix_database_info *items; /* By name. */
    size_t count;
    struct sirix_bytes next_cursor; /* Empty after the last page. */
};

/* page may be NULL. */
enum sirix_status sirix_client_list_databases(struct sirix_client *client,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_database_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* write may be NULL here and in the three calls below. */
enum sirix_status sirix_client_create_database(struct sirix_client *client, const char *database,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_client_drop_database(struct sirix_client *client, const char *database,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_resource_entry {
    const char *name;
    uint64_t revision; /* Head of main; 0 before the first. */
    uint64_t timestamp_us;
    uint64_t id;
};

struct sirix_resource_list {
    const struct sirix_resource_entry *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_resources(struct sirix_client *client, const char *database,
                                              const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_resource_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* out_result may be NULL. */
enum sirix_status sirix_client_create_resource(struct sirix_client *client, const char *database,
                                               const char *resource,
                                               const struct sirix_write_options *write,
                                               const struct sirix_call_options *call,
                                               struct sirix_write_result *out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_status sirix_client_drop_resource(struct sirix_client *client, const char *database,
                                             const char *resource,
                                             const struct sirix_write_options *write,
                                             const struct sirix_call_options *call,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_snapshot_info {
    const char *name;
    uint64_t revision;
    uint64_t timestamp_us;  /* Of that revision. */
    uint64_t created_at_us; /* When the label was set. */
};

struct sirix_branch_info {
    const char *name;
    uint64_t revision; /* Its head; 0 where it has none. */
    uint64_t timestamp_us;
    uint64_t base_revision; /* That it began at; 0 for main. */
    uint64_t created_at_us;
    uint64_t expires_at_us; /* 0: never. */
};

struct sirix_path_summary {
    struct sirix_bytes path; /* Such as "/users/[]/name". */
    uint64_t count;          /* Over all revisions: an upper bound for any one. */
    uint32_t types;          /* Bit (1 << enum sirix_node_type) for each seen there. */
};

struct sirix_resource_request {
    const char *database;
    const char *resource;
    struct sirix_view view; /* Governs revision, node_count and text_bytes. */
    bool with_path_summary;
};

struct sirix_resource_info {
    const char *database;
    const char *resource;
    uint64_t revision_count;
    uint64_t newest_revision;
    uint64_t oldest_revision;
    uint64_t created_at_us;
    uint64_t last_modified_at_us;
    uint64_t revision;
    uint64_t node_count;
    uint64_t text_bytes;
    uint64_t stored_bytes;
    const char *storage_type;
    uint64_t branch_count;
    uint64_t snapshot_count;
    const struct sirix_branch_info *branches; /* The first 1,000. */
    size_t listed_branch_count;
    const struct sirix_snapshot_info *snapshots; /* The first 1,000. */
    size_t listed_snapshot_count;
    const struct sirix_path_summary *paths;
    size_t path_count;
    bool paths_truncated;
};

enum sirix_status sirix_client_get_resource(struct sirix_client *client,
                                            const struct sirix_resource_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_resource_info **out_info,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Reading ------------------------------------------------------------------------------------ */

/* Names a node: by path if there is one, else by key; 0 (the document) and 1 mean the same. */
struct sirix_target {
    uint64_t node_key;
    struct sirix_bytes path; /* "/users/[5]/name" */
};

struct sirix_read_node_request {
    const char *database;
    const char *resource;
    struct sirix_view view;
    struct sirix_target target;
    bool has_max_depth; /* Else 3. */
    uint32_t max_depth; /* 0: the target alone; at most 100. */
    uint32_t max_children;
    uint32_t max_nodes;
    uint32_t max_bytes;
    uint32_t max_value_bytes;
    uint64_t value_offset;     /* Decoded bytes of the target's text to skip. */
    struct sirix_bytes cursor; /* Continues the target's children. */
    bool with_paths;
};

/* One node of a flat list in document order. */
struct sirix_node_info {
    uint64_t node_key;
    int32_t parent_index; /* Into the list, always smaller than its own; -1 for the target. */
    bool has_name;        /* A member: `name`; else, if has_index, an element: `index`. */
    bool has_index;
    struct sirix_bytes name;
    uint64_t index;
    enum sirix_node_type type;
    struct sirix_bytes value; /* JSON text of a scalar; empty for an object or array. */
    uint64_t child_count;
    bool cut;
    uint64_t value_bytes; /* Of a string or number: decoded bytes in all. */
    struct sirix_bytes path;
};

struct sirix_node_page {
    uint64_t revision;
    uint64_t timestamp_us;
    struct sirix_bytes path; /* Of the target. */
    const struct sirix_node_info *nodes;
    size_t count; /* At least 1, the target, unless the resource has no value. */
    bool truncated;
    struct sirix_bytes next_cursor;
    bool has_next_offset;
    uint64_t next_offset;
};

enum sirix_status sirix_client_read_node(struct sirix_client *client,
                                         const struct sirix_read_node_request *request,
                                         const struct sirix_call_options *call,
                                         struct sirix_node_page **out_page,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_read_document_request {
    const char *database;
    const char *resource;
    struct sirix_view view;
    struct sirix_target target;
    uint32_t indent; /* Spaces a level, at most 8; 0: compact. */
    bool ndjson;     /* The elements of an array, one a line. */
};

/* JSON text as it comes: nothing buffers the document. */
struct sirix_document_stream;

/* Returns when the first message came, so that errors about names and views are told here. */
enum sirix_status sirix_client_read_document(struct sirix_client *client,
                                             const struct sirix_read_document_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_document_stream **out_stream,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

uint64_t sirix_document_stream_revision(const struct sirix_document_stream *stream);
uint64_t sirix_document_stream_timestamp_us(const struct sirix_document_stream *stream);

/* The next piece, valid until the next call on the stream; empty at the end of the text. */
enum sirix_status sirix_document_stream_next(struct sirix_document_stream *stream,
                                             struct sirix_bytes *out_text,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Also before the end, which stops the server's work. NULL is allowed. */
void sirix_document_stream_close(struct sirix_document_stream *stream);

struct sirix_revision_info {
    uint64_t revision;
    uint64_t parent_revision; /* 0 for the first. */
    const char *branch;       /* That it was committed on; "" if that is gone. */
    uint64_t timestamp_us;
    struct sirix_bytes author;       /* The principal that the server knew. */
    struct sirix_bytes on_behalf_of; /* As claimed; may be empty. */
    struct sirix_bytes message;
    uint64_t reverted_to; /* Of a revert, else 0. */
    struct sirix_bytes chain;
    uint64_t node_count;
};

struct sirix_history_request {
    const char *database;
    const char *resource;
    struct sirix_view view; /* The newest to list. */
    struct sirix_page page; /* Default 20, at most 1,000. */
};

struct sirix_history_page {
    const struct sirix_revision_info *items; /* Newest first, along the ancestry. */
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_history(struct sirix_client *client,
                                       const struct sirix_history_request *request,
                                       const struct sirix_call_options *call,
                                       struct sirix_history_page **out_page,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

enum sirix_change_kind {
    SIRIX_CHANGE_KIND_NONE,
    SIRIX_CHANGE_KIND_INSERT,
    SIRIX_CHANGE_KIND_DELETE,
    SIRIX_CHANGE_KIND_UPDATE,  /* A scalar by a scalar of the same type. */
    SIRIX_CHANGE_KIND_REPLACE, /* By a value of another type. */
    SIRIX_CHANGE_KIND_RENAME,
    SIRIX_CHANGE_KIND_MOVE, /* Within one parent. */
};

/* "insert", "delete", …, "none" for anything else. Never NULL. */
const char *sirix_change_kind_name(enum sirix_change_kind kind);

struct sirix_node_history_request {
    const char *database;
    const char *resource;
    struct sirix_view view;
    uint64_t node_key;
    struct sirix_page page;
    uint32_t max_value_bytes;
};

struct sirix_node_history_entry {
    struct sirix_revision_info revision;
    enum sirix_change_kind change;
    enum sirix_node_type type; /* NONE for a delete. */
    struct sirix_bytes value;
    bool cut;
    struct sirix_bytes name;
};

struct sirix_node_history_page {
    const struct sirix_node_history_entry *items; /* Newest first. */
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_node_history(struct sirix_client *client,
                                            const struct sirix_node_history_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_node_history_page **out_page,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_diff_request {
    const char *database;
    const char *resource;
    bool has_from; /* Else: the parent of `to`. */
    struct sirix_view from;
    struct sirix_view to;
    bool json_patch;               /* RFC 6902 instead of changes. */
    uint64_t max_changes;          /* 0: all; the counts are always of the whole diff. */
    uint32_t max_value_bytes;      /* Of one old or new value. */
    uint32_t max_patch_operations; /* More is SIRIX_EXHAUSTED. */
};

struct sirix_change {
    enum sirix_change_kind kind;
    uint64_t node_key;
    struct sirix_bytes path; /* In the new revision; of a delete in the old one. */
    struct sirix_bytes old_value;
    struct sirix_bytes new_value;
    bool old_cut;
    bool new_cut;
    enum sirix_node_type old_type;
    enum sirix_node_type new_type;
    uint64_t parent_key;
    uint64_t left_sibling_key; /* 0: it is the first child. */
    bool has_old_index;
    bool has_new_index;
    uint64_t old_index;
    uint64_t new_index;
    bool has_old_name;
    bool has_new_name;
    struct sirix_bytes old_name;
    struct sirix_bytes new_name;
    bool equal_value; /* The text changed, the value did not. */
};

struct sirix_diff_counts {
    uint64_t inserts;
    uint64_t deletes;
    uint64_t updates;
    uint64_t replaces;
    uint64_t renames;
    uint64_t moves;
    bool truncated; /* max_changes left some out. */
};

struct sirix_diff_ends {
    uint64_t from_revision;
    uint64_t to_revision;
    uint64_t from_timestamp_us;
    uint64_t to_timestamp_us;
};

enum sirix_diff_part_kind {
    SIRIX_DIFF_PART_CHANGES,
    SIRIX_DIFF_PART_JSON_PATCH, /* The next bytes of one JSON array. */
    SIRIX_DIFF_PART_END,        /* The last part of a complete diff: the counts. */
};

/* Only the fields of its kind are set; pointers are valid until the next call on the stream. */
struct sirix_diff_part {
    enum sirix_diff_part_kind kind;
    const struct sirix_change *changes;
    size_t change_count;
    struct sirix_bytes json_patch;
    struct sirix_diff_counts counts;
};

struct sirix_diff_stream;

enum sirix_status sirix_client_diff(struct sirix_client *client,
                                    const struct sirix_diff_request *request,
                                    const struct sirix_call_options *call,
                                    struct sirix_diff_stream **out_stream,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Which revisions are compared. */
struct sirix_diff_ends sirix_diff_stream_ends(const struct sirix_diff_stream *stream);

/* After END, END again. A diff that was cut off before its end is an error. */
enum sirix_status sirix_diff_stream_next(struct sirix_diff_stream *stream,
                                         struct sirix_diff_part *out_part,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_diff_stream_close(struct sirix_diff_stream *stream);

/* --- Writing: an answer means that the revision is on disk -------------------------------------- */

enum sirix_position {
    SIRIX_POSITION_FIRST_CHILD,
    SIRIX_POSITION_LAST_CHILD,
    SIRIX_POSITION_LEFT_SIBLING,
    SIRIX_POSITION_RIGHT_SIBLING,
    SIRIX_POSITION_INDEX, /* A child at `index`; index = child count appends. */
};

/* The parent or, for the two siblings, the node beside; 0 and 1: the document's value. */
struct sirix_place {
    uint64_t node_key;
    enum sirix_position position;
    uint64_t index;
};

enum sirix_operation_kind {
    SIRIX_OPERATION_INSERT,  /* place, name?, value */
    SIRIX_OPERATION_UPDATE,  /* node_key, value; refused for an object or array */
    SIRIX_OPERATION_REPLACE, /* node_key, value */
    SIRIX_OPERATION_DELETE,  /* node_key */
    SIRIX_OPERATION_RENAME,  /* node_key, name */
    SIRIX_OPERATION_MOVE,    /* node_key, place, name? */
};

/* Zero-initialise; only the fields of its kind are read. */
struct sirix_operation {
    enum sirix_operation_kind kind;
    uint64_t node_key;
    struct sirix_place place;
    bool has_name; /* Of the member; an insert without: `value` is an object of members. */
    struct sirix_bytes name;
    struct sirix_bytes json;           /* The value: JSON text of any size, or */
    const struct sirix_source *source; /* its text piece by piece, if not NULL. */
};

struct sirix_apply_request {
    const char *database;
    const char *resource;
    const char *branch; /* NULL: main. */
    struct sirix_write_options write;
    const struct sirix_operation *operations; /* 1 to 10,000; done in order, all or none. */
    size_t operation_count;
    bool force_revision; /* Make a revision even if nothing changed. */
};

struct sirix_operation_result {
    const uint64_t *node_keys; /* Created at the top. */
    size_t node_key_count;
    enum sirix_node_type type; /* Of the value stored. */
    bool equal_value;
    bool changed;
};

struct sirix_apply_result {
    struct sirix_write_result result;
    const struct sirix_operation_result *operations;
    size_t count; /* As many as operations. */
};

/* One message where it fits, else a stream: the caller need not know. */
enum sirix_status sirix_client_apply(struct sirix_client *client,
                                     const struct sirix_apply_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_apply_result **out_result,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_import_request {
    const char *database;
    const char *resource;
    const char *branch; /* NULL: main. */
    struct sirix_write_options write;
    bool ndjson;              /* One JSON text a line; becomes one array. */
    bool last_duplicate_wins; /* Else a duplicate member is refused, with its pointer. */
    bool replace;             /* A value that is there already; else SIRIX_ALREADY_EXISTS. */
    bool existing_only;       /* Do not create the database and resource. */
    bool has_place;           /* Insert there instead of giving the resource its value. */
    struct sirix_place place;
    bool has_name; /* With a place in an object. */
    struct sirix_bytes name;
    uint32_t max_depth; /* 0: 1,000. */
    struct sirix_source source;
};

struct sirix_import_result {
    struct sirix_write_result result;
    uint64_t nodes;
    uint64_t text_bytes;
    uint64_t duplicates_dropped;
    uint64_t root_key;
    bool database_created;
    bool resource_created;
    uint64_t items; /* Lines of NDJSON. */
};

/* The source is read by the calling thread, at the pace of the server. No default deadline. */
enum sirix_status sirix_client_import(struct sirix_client *client,
                                      const struct sirix_import_request *request,
                                      const struct sirix_call_options *call,
                                      struct sirix_import_result *out_result,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_revert_request {
    const char *database;
    const char *resource;
    const char *branch; /* That gets the new revision; NULL: main. */
    struct sirix_write_options write;
    struct sirix_view view; /* What is brought back; must name something. */
};

struct sirix_revert_result {
    struct sirix_write_result result;
    uint64_t reverted_to;
};

enum sirix_status sirix_client_revert(struct sirix_client *client,
                                      const struct sirix_revert_request *request,
                                      const struct sirix_call_options *call,
                                      struct sirix_revert_result *out_result,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Labels and branches ------------------------------------------------------------------------ */

struct sirix_create_snapshot_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_view view; /* What is labelled. */
    bool replace;           /* Move a label that is elsewhere; `main` always moves. */
    struct sirix_write_options write;
};

struct sirix_create_snapshot_result {
    struct sirix_snapshot_info snapshot;
    uint64_t previous_revision; /* 0: the label is new. */
    bool changed;               /* false: it was there already. */
    bool replayed;
};

enum sirix_status sirix_client_create_snapshot(struct sirix_client *client,
                                               const struct sirix_create_snapshot_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_create_snapshot_result **out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_snapshot_list {
    const struct sirix_snapshot_info *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_snapshots(struct sirix_client *client, const char *database,
                                              const char *resource, const struct sirix_page *page,
                                              const struct sirix_call_options *call,
                                              struct sirix_snapshot_list **out_list,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* A snapshot or branch to delete. */
struct sirix_delete_name_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_write_options write; /* A branch's expected_revision is its own head. */
};

struct sirix_delete_name_result {
    uint64_t revision; /* Where it was. */
    bool replayed;
};

/* out_result may be NULL. */
enum sirix_status sirix_client_delete_snapshot(struct sirix_client *client,
                                               const struct sirix_delete_name_request *request,
                                               const struct sirix_call_options *call,
                                               struct sirix_delete_name_result *out_result,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_create_branch_request {
    const char *database;
    const char *resource;
    const char *name;
    struct sirix_view view; /* Where it begins. */
    uint64_t expires_at_us; /* 0: never. */
    struct sirix_write_options write;
};

struct sirix_create_branch_result {
    struct sirix_branch_info branch;
    bool replayed;
};

enum sirix_status sirix_client_create_branch(struct sirix_client *client,
                                             const struct sirix_create_branch_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_create_branch_result **out_result,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_branch_list {
    const struct sirix_branch_info *items;
    size_t count;
    struct sirix_bytes next_cursor;
};

enum sirix_status sirix_client_list_branches(struct sirix_client *client, const char *database,
                                             const char *resource, const struct sirix_page *page,
                                             const struct sirix_call_options *call,
                                             struct sirix_branch_list **out_list,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* out_result may be NULL. */
enum sirix_status sirix_client_delete_branch(struct sirix_client *client,
                                             const struct sirix_delete_name_request *request,
                                             const struct sirix_call_options *call,
                                             struct sirix_delete_name_result *out_result,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/* Moves the head of `target` to the head of `branch`. */
struct sirix_promote_request {
    const char *database;
    const char *resource;
    const char *branch;
    const char *target; /* NULL: main. */
    bool replace;       /* Also if the target's head is no ancestor of the branch's. */
    struct sirix_write_options write; /* expected_revision is the target's. */
};

struct sirix_promote_result {
    uint64_t revision;          /* The head of the target now, */
    uint64_t previous_revision; /* and before. */
    bool changed;
    bool replayed;
};

enum sirix_status sirix_client_promote(struct sirix_client *client,
                                       const struct sirix_promote_request *request,
                                       const struct sirix_call_options *call,
                                       struct sirix_promote_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Administration ----------------------------------------------------------------------------- */

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

#ifdef __cplusplus
}
#endif

#endif
