/* Queries. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_QUERY_H
#define SIRIX_SIRIX_QUERY_H

#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * What a query is narrowed to; what is outside answers as what is not there. Deny wins; names are exact
 * (those that are denied: without regard to case), "*" is every name.
 */
struct sirix_scope_rule {
    const char *database;
    const char *const *resources; /* The only ones that are allowed. */
    size_t resource_count;
};

/* Zero-initialised: everything. */
struct sirix_scope {
    bool has_allow_databases; /* Else all are. */
    const char *const *allow_databases;
    size_t allow_database_count;
    const char *const *deny_databases;
    size_t deny_database_count;
    const struct sirix_scope_rule *allow_resources; /* Of other databases all are. */
    size_t allow_resource_count;
};

/* The value of a `declare variable $name external`. */
struct sirix_query_variable {
    const char *name;
    struct sirix_bytes json; /* JSON text of one value. */
};

struct sirix_query_request {
    struct sirix_bytes query;
    const char *database; /* With resource: its value is the context item `$$`. Both or neither. */
    const char *resource;
    struct sirix_view
        view;       /* Of that resource; a timestamp alone is of all that the query opens. */
    uint64_t limit; /* Items of this page; 0: all. */
    struct sirix_bytes cursor; /* Of the page before: goes on in the same revisions. */
    bool explain;              /* The plan instead of items. */
    bool jsoniq;               /* JSONiq's dialect, unless the text says. */
    bool with_nodes;           /* Items tell which nodes they are. */
    const struct sirix_query_variable *variables;
    size_t variable_count;
    const struct sirix_scope *scope; /* NULL: everything. */
    uint64_t memory_bytes_max;       /* 0: the server's default, here and below. */
    uint64_t items_visited_max;
};

struct sirix_query_item {
    struct sirix_bytes json; /* JSON text. */
    uint64_t node_key;       /* With with_nodes, of an item that is stored; else 0. */
    struct sirix_bytes path;
    uint64_t revision;
    struct sirix_bytes database;
    struct sirix_bytes resource;
};

/* What was read at its newest revision; pages after this one read the same. */
struct sirix_query_read {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    uint64_t revision;
};

enum sirix_query_part_kind {
    SIRIX_QUERY_PART_ITEMS,
    SIRIX_QUERY_PART_PLAN,
    SIRIX_QUERY_PART_END, /* The last part of a whole answer. */
};

/* Only the fields of its kind are set; pointers are valid until the next call on the stream. */
struct sirix_query_part {
    enum sirix_query_part_kind kind;
    const struct sirix_query_item *items;
    size_t count;
    struct sirix_bytes plan;
    struct sirix_bytes next_cursor; /* Of END; empty: there are no more items. */
    const struct sirix_query_read *reads;
    size_t read_count;
};

struct sirix_query_stream;

/* The errors of a query have a code, a line and a column: see struct sirix_error. */
enum sirix_status sirix_client_query(struct sirix_client *client,
                                     const struct sirix_query_request *request,
                                     const struct sirix_call_options *call,
                                     struct sirix_query_stream **out_stream,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* After END, END again. An answer that was cut off before its end is an error. */
enum sirix_status sirix_query_stream_next(struct sirix_query_stream *stream,
                                          struct sirix_query_part *out_part,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

void sirix_query_stream_close(struct sirix_query_stream *stream);

struct sirix_update_query_request {
    struct sirix_bytes query;
    const char *database;
    const char *resource;
    const char *branch; /* Of that resource; NULL: main. */
    bool jsoniq;
    const struct sirix_query_variable *variables;
    size_t variable_count;
    const struct sirix_scope *scope;
    uint64_t memory_bytes_max;
    uint64_t items_visited_max;
    bool dry_run; /* Keep nothing: of each resource the head that was read. */
    struct sirix_write_options write;
};

/* One resource that was changed. */
struct sirix_query_update {
    const char *database;
    const char *resource;
    const char *branch;
    struct sirix_write_result result;
    uint64_t changes; /* Nodes inserted, deleted, replaced, renamed; 0 of a replayed call. */
};

struct sirix_update_query_result {
    const struct sirix_query_update *updates;
    size_t count; /* 0: the query changed nothing. */
};

/* One revision in each resource that the query changes, all in one commit. */
enum sirix_status sirix_client_update_query(struct sirix_client *client,
                                            const struct sirix_update_query_request *request,
                                            const struct sirix_call_options *call,
                                            struct sirix_update_query_result **out_result,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
