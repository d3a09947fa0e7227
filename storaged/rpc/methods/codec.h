/*
 * Between the messages of storage.proto and the service's plain structures: what more than one
 * method needs. Nothing here decides anything.
 */
#ifndef SIRIX_RPC_CODEC_H
#define SIRIX_RPC_CODEC_H

#include <stdint.h>
#include <string.h>

#include "rpc/methods/storage.h"
#include "rpc/runtime/call.h"
#include "rpc/runtime/server.h"
#include "service/apply.h"
#include "service/labels.h"
#include "service/write.h"
#include "sirix/storage/v1/storage.pb-c.h"

/* What every method of the service is given as its context. */
struct sirix_rpc_storage {
    struct sirix_service *service;
    struct sirix_rpc_server *server;
    struct sirix_principal_store *principals; /* NULL: there is no file of them. */
    bool embedded;
    int64_t started_us;
};

static inline struct sirix_rpc_storage *sirix_rpc_storage_of(struct sirix_rpc_call *call)
{
    return sirix_rpc_call_context(call);
}

/* Who asks. */
struct sirix_request sirix_rpc_request(struct sirix_rpc_call *call);

/* --- Bytes -------------------------------------------------------------------------------------- */

static inline struct sirix_bytes sirix_rpc_bytes(ProtobufCBinaryData binary)
{
    return (struct sirix_bytes){.data = binary.data, .len = binary.len};
}

/* protobuf-c takes non-const pointers for bytes that it only reads; the cast lives here alone. */
static inline ProtobufCBinaryData sirix_rpc_binary(struct sirix_bytes bytes)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = bytes.data};

    return (ProtobufCBinaryData){.len = bytes.len, .data = pointer.out};
}

static inline ProtobufCBinaryData sirix_rpc_binary_str(const char *text)
{
    return sirix_rpc_binary((struct sirix_bytes){.data = text, .len = strlen(text)});
}

/* Times before 1970 do not occur in a store. */
static inline uint64_t sirix_rpc_time(int64_t time_us)
{
    return time_us < 0 ? 0 : (uint64_t)time_us;
}

/*
 * count structures of size bytes in the call's arena, and a list of pointers to them, as repeated
 * fields want it. *out_list is NULL for count 0.
 */
enum sirix_status sirix_rpc_list(struct sirix_rpc_call *call, size_t count, size_t size,
                                 void **out_items, void ***out_list,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Requests ----------------------------------------------------------------------------------- */

/* message may be NULL: the newest of main. */
struct sirix_view_request sirix_rpc_view(const Sirix__Storage__V1__View *message);

/*
 * options may be NULL. request is the whole message, whose hash stands for it under an idempotency
 * key. The bytes stay those of the message.
 */
enum sirix_status sirix_rpc_write_options(const Sirix__Storage__V1__WriteOptions *options,
                                          const ProtobufCMessage *request,
                                          struct sirix_write_options *out_options,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * What requests about a name have in common, by the names of their fields: database, resource, name,
 * view and options. What a request does not have is empty.
 */
struct sirix_rpc_named {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_bytes name;
    struct sirix_view_request view;
    struct sirix_write_options options;
};
enum sirix_status sirix_rpc_named(const ProtobufCMessage *request,
                                  struct sirix_rpc_named *out_named,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same of a list: database, resource, page_size and cursor. */
struct sirix_list_page sirix_rpc_list_page(const ProtobufCMessage *request);

/* The hash of a message as it would be packed. */
enum sirix_status sirix_rpc_hash(const ProtobufCMessage *message,
                                 uint8_t out_hash[SIRIX_SHA256_BYTES],
                                 struct sirix_error *err) SIRIX_MUST_CHECK;

/* What a request is narrowed to, in the call's arena; *out NULL: nothing, everything is seen. */
struct sirix_scope;
enum sirix_status sirix_rpc_scope(struct sirix_rpc_call *call,
                                  const Sirix__Storage__V1__Scope *from, struct sirix_scope **out,
                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* SIRIX_INVALID names the field where the position is none of ours. */
enum sirix_status sirix_rpc_place(const Sirix__Storage__V1__Place *message, const char *field,
                                  uint64_t *out_target, enum sirix_place *out_place,
                                  uint64_t *out_index, struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Answers ------------------------------------------------------------------------------------ */

void sirix_rpc_write_result(const struct sirix_write_result *result,
                            Sirix__Storage__V1__WriteResult *out_message);
/* info outlives the message. */
struct sirix_revision_info;
void sirix_rpc_revision_info(const struct sirix_revision_info *info,
                             Sirix__Storage__V1__RevisionInfo *message);
Sirix__Storage__V1__NodeKind sirix_rpc_kind(enum sirix_value_kind kind);
/* Of a struct sirix_branch_item and a struct sirix_snapshot_item, as a page's fill. */
void sirix_rpc_branch(const void *branch, void *out_branch);
void sirix_rpc_snapshot(const void *snapshot, void *out_snapshot);

/* A page of a list, as the service has it, to be made into messages. */
struct sirix_rpc_page {
    void *items; /* Each begins with its name, which ends with a NUL. */
    size_t item_bytes;
    size_t count;
    bool more;
    size_t message_bytes;
    void (*fill)(const void *item, void *message);
};

/* *out_list as sirix_rpc_list() makes it; *out_cursor is empty after the last page. */
enum sirix_status sirix_rpc_page_messages(struct sirix_rpc_call *call,
                                          const struct sirix_rpc_page *page, void ***out_list,
                                          ProtobufCBinaryData *out_cursor,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- Writes that take a turn -------------------------------------------------------------------- */

struct sirix_rpc_turn;

/* The write itself, with the turn held. It closes the write and replies. */
typedef enum sirix_status (*sirix_rpc_turn_fn)(struct sirix_rpc_call *call, void *state,
                                               struct sirix_error *err);

/* First member of the state of such a method. */
struct sirix_rpc_turn {
    struct sirix_rpc_call *call;
    struct sirix_write *write;
    sirix_rpc_turn_fn run;
    bool waits;
};

/*
 * Asks for the turn of an opened write and calls run, at once or when it came. Returns what run
 * returned, or SIRIX_OK while it waits.
 */
enum sirix_status sirix_rpc_turn_take(struct sirix_rpc_call *call, struct sirix_rpc_turn *turn,
                                      struct sirix_write *write, sirix_rpc_turn_fn run,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* For the method's row: woken, cancelled, draining. */
enum sirix_status sirix_rpc_turn_woken(struct sirix_rpc_call *call, void *state,
                                       struct sirix_error *err);
void sirix_rpc_turn_cancelled(struct sirix_rpc_call *call, void *state);
enum sirix_status sirix_rpc_turn_draining(struct sirix_rpc_call *call, void *state,
                                          struct sirix_error *err);

#endif
