/*
 * Reading one revision: a part of the tree as a flat list, or the whole text as a stream.
 */
#ifndef SIRIX_SERVICE_READ_H
#define SIRIX_SERVICE_READ_H

#include "service/service.h"
#include "store/document/document.h"

enum {
    SIRIX_READ_DEPTH_DEFAULT = 3,
    SIRIX_READ_DEPTH_MAX = 100,
    SIRIX_READ_CHILDREN_DEFAULT = 100,
    SIRIX_READ_CHILDREN_MAX = 10000,
    SIRIX_READ_NODES_DEFAULT = 1000,
    SIRIX_READ_NODES_MAX = 20000,
    SIRIX_READ_BYTES_DEFAULT = 256 * 1024,
    SIRIX_READ_BYTES_MAX = 3 * 1024 * 1024,
    SIRIX_READ_VALUE_DEFAULT = 4096,
    SIRIX_READ_VALUE_MAX = 1024 * 1024,
    SIRIX_READ_VALUE_MIN = 16, /* One escape or character always fits. */
    SIRIX_READ_CHUNK_BYTES = 128 * 1024,
    SIRIX_READ_INDENT_MAX = 8,
};

/* What a node's value is. */
enum sirix_value_kind {
    SIRIX_VALUE_NONE,
    SIRIX_VALUE_OBJECT,
    SIRIX_VALUE_ARRAY,
    SIRIX_VALUE_STRING,
    SIRIX_VALUE_NUMBER,
    SIRIX_VALUE_BOOLEAN,
    SIRIX_VALUE_NULL,
};
enum sirix_value_kind sirix_value_kind_of(enum sirix_node_kind kind);

/* Which node: by key, or by path ("/users/[5]/name") when has_path. */
struct sirix_node_target {
    uint64_t node_key;
    bool has_path;
    struct sirix_bytes path;
};

/* The key of a target in a document; keys 0 and 1 are both the document's value. */
enum sirix_status sirix_node_target_resolve(struct sirix_document *document,
                                            const struct sirix_node_target *target,
                                            uint64_t *out_key,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_read_node_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_view_request view;
    struct sirix_node_target target;
    bool has_depth;
    uint32_t max_depth;
    uint32_t max_children;
    uint32_t max_nodes;
    uint32_t max_bytes;
    uint32_t max_value_bytes;
    uint64_t value_offset;
    struct sirix_bytes cursor;
    bool with_paths;
};

struct sirix_read_item {
    uint64_t node_key;
    int32_t parent_index; /* -1: the target. */
    bool is_member;
    bool is_element;
    struct sirix_bytes name;
    uint64_t index;
    enum sirix_value_kind kind;
    struct sirix_bytes value; /* JSON text of a scalar. */
    uint64_t child_count;
    bool cut;
    uint64_t value_bytes;
    struct sirix_bytes path;
};

struct sirix_read_node {
    uint64_t revision;
    int64_t time_us;
    struct sirix_bytes path;
    struct sirix_read_item *items;
    size_t count;
    bool truncated;
    struct sirix_bytes next_cursor;
    bool has_next_offset;
    uint64_t next_offset;
};

/* A resource without a value gives an empty list for keys 0 and 1. */
enum sirix_status sirix_service_read_node(const struct sirix_request *request,
                                          const struct sirix_read_node_request *wanted,
                                          struct sirix_arena *arena,
                                          struct sirix_read_node *out_read,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* --- The whole text ----------------------------------------------------------------------------- */

struct sirix_read_document_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_view_request view;
    struct sirix_node_target target;
    uint32_t indent;
    bool ndjson;
};

struct sirix_read_document;

/* Opens a text to be read in pieces; yields nothing yet. SIRIX_PRECONDITION: there is no value. */
enum sirix_status sirix_read_document_open(const struct sirix_request *request,
                                           const struct sirix_read_document_request *wanted,
                                           struct sirix_read_document **out_read,
                                           uint64_t *out_revision, int64_t *out_time_us,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next piece, about SIRIX_READ_CHUNK_BYTES, valid until the next call. May be empty at the end. */
enum sirix_status sirix_read_document_next(struct sirix_read_document *read,
                                           struct sirix_bytes *out_piece, bool *out_done,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_read_document_close(struct sirix_read_document *read);

#endif
