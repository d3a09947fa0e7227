/* Nodes, documents, histories and differences. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_READ_H
#define SIRIX_SIRIX_READ_H

#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

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
    const char *branch;       /* That it was committed on, also one that is gone by now. */
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
    bool since_parted;             /* From the newest revision that both ends come from. */
    bool json_patch;               /* RFC 6902 instead of changes. */
    uint64_t max_changes;          /* 0: all; the counts are always of the whole diff. */
    uint32_t max_value_bytes;      /* Of one old or new value. */
    uint32_t max_patch_operations; /* 0: 10,000; to 1,000,000. More is SIRIX_EXHAUSTED. */
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

#ifdef __cplusplus
}
#endif

#endif
