/*
 * JSON-RPC 2.0 messages: one text in, a message in a request's arena out; answers the other way.
 *
 * Ids        are kept and echoed as they were written: 0, "0" and 1.0 are three ids.
 * Order      Members may come in any order; unknown ones are ignored.
 * Refused    what is not JSON: -32700; what is no message: -32600, with the id where it can be read.
 *            A member that is there twice is refused with its pointer, never the last one taken.
 */
#ifndef SIRIX_JSONRPC_MESSAGE_H
#define SIRIX_JSONRPC_MESSAGE_H

#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/tree.h"

enum {
    SIRIX_JSONRPC_PARSE_ERROR = -32700,
    SIRIX_JSONRPC_INVALID_REQUEST = -32600,
    SIRIX_JSONRPC_METHOD_NOT_FOUND = -32601,
    SIRIX_JSONRPC_INVALID_PARAMS = -32602,
    SIRIX_JSONRPC_INTERNAL_ERROR = -32603,
};

enum {
    SIRIX_JSONRPC_ID_BYTES_MAX = 1024,
    SIRIX_JSONRPC_MEMORY_BYTES_MAX = 256 * 1024 * 1024, /* Of one message as a tree. */
};

enum sirix_jsonrpc_kind {
    SIRIX_JSONRPC_REQUEST,
    SIRIX_JSONRPC_NOTIFICATION,
    SIRIX_JSONRPC_RESPONSE, /* To something that we had asked. */
};

/* Why a message cannot be served as it is. */
struct sirix_jsonrpc_fault {
    int code;
    struct sirix_error error;
};

struct sirix_jsonrpc_message {
    enum sirix_jsonrpc_kind kind;
    struct sirix_bytes id;     /* JSON text; empty: a notification, or the id could not be read. */
    struct sirix_bytes method; /* Canonical. */
    struct sirix_json_node *params; /* An object, or NULL. */
    struct sirix_json_node *result; /* Of a response; NULL: it is an error. */
    bool is_faulty;                 /* To be answered with the fault, whatever the kind. */
    struct sirix_jsonrpc_fault fault;
};

/* What one text holds: a message, or several in a batch. All of it lies in the arena. */
struct sirix_jsonrpc_input {
    struct sirix_json_tree tree;
    bool is_batch;
    struct sirix_jsonrpc_message *messages;
    size_t count;
};

/*
 * Reads a text. Never fails because of the text: what is wrong with it is in the messages, of which
 * there is at least one. An empty batch is one faulty message that is no batch. SIRIX_NO_MEMORY,
 * SIRIX_IO (no random key).
 */
enum sirix_status sirix_jsonrpc_read(struct sirix_arena *arena, struct sirix_bytes text,
                                     struct sirix_jsonrpc_input *out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The JSON text of an id as it was written, in the arena or borrowed from the node; empty when the
 * node is no id (also when it is NULL).
 */
enum sirix_status sirix_jsonrpc_id(struct sirix_arena *arena, const struct sirix_json_node *node,
                                   struct sirix_bytes *out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends {"jsonrpc":"2.0","id":…,"result":…}; result is JSON text. */
enum sirix_status sirix_jsonrpc_write_result(struct sirix_buf *out, struct sirix_bytes id,
                                             struct sirix_bytes result,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Appends an error answer: the code, the sentence, and data {reason, field, …} with the facts that
 * the error has, behind more members as JSON text ("a":1,"b":2) or NULL. An empty id becomes null.
 */
enum sirix_status sirix_jsonrpc_write_error(struct sirix_buf *out, struct sirix_bytes id, int code,
                                            const struct sirix_error *error, const char *more,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Writes the facts of an error as members of an object that is open: reason, field, pointer, … */
enum sirix_status sirix_jsonrpc_write_facts(struct sirix_json_writer *writer,
                                            const struct sirix_error *error,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
