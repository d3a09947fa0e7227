/* Writing: an answer means that the revision is on disk. Part of sirix/sirix.h, which has the promises that all calls share. */
#ifndef SIRIX_SIRIX_WRITE_H
#define SIRIX_SIRIX_WRITE_H

#include "sirix/client.h"

#ifdef __cplusplus
extern "C" {
#endif

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

enum sirix_apply_source {
    SIRIX_APPLY_OPERATIONS,
    SIRIX_APPLY_JSON_PATCH,
    SIRIX_APPLY_DIFF,
};

/* Zero-initialise; only the fields of its source are read. */
struct sirix_apply_request {
    const char *database;
    const char *resource;
    const char *branch; /* NULL: main. */
    struct sirix_write_options write;
    enum sirix_apply_source source;
    /* SIRIX_APPLY_OPERATIONS: 1 to 10,000; done in order, all or none. */
    const struct sirix_operation *operations;
    size_t operation_count;
    /*
     * SIRIX_APPLY_JSON_PATCH: the text of an RFC 6902 patch, at most 64 MiB and 1,000,000 operations,
     * or its text piece by piece, if not NULL. Its copies together make at most 8,388,608 nodes and
     * 256 MiB of JSON text; SIRIX_EXHAUSTED (size_limit) names the operation that would pass that.
     */
    struct sirix_bytes json_patch;
    const struct sirix_source *json_patch_source;
    /*
     * SIRIX_APPLY_DIFF: what changed from one revision of this resource to another, done again on the
     * branch. SIRIX_CONFLICT (apply_conflict) names the first node that the branch has otherwise.
     */
    bool has_diff_from; /* Else the parent of diff_to. */
    struct sirix_view diff_from;
    struct sirix_view diff_to; /* Must name something. */
    bool diff_since_parted;    /* From where it and diff_from (else: the branch) parted. */
    bool force_revision;       /* Make a revision even if nothing changed. */
    bool dry_run; /* Check and do everything, but keep nothing. Tried again as a read is. */
};

struct sirix_operation_result {
    const uint64_t *node_keys; /* Created at the top. */
    size_t node_key_count;
    enum sirix_node_type type; /* Of the value stored. */
    bool equal_value;
    bool changed;
};

/* A node that a diff inserted under another key than it has in the diff's new revision. */
struct sirix_key_pair {
    uint64_t source_key;
    uint64_t node_key;
};

struct sirix_apply_result {
    struct sirix_write_result result;
    const struct sirix_operation_result *operations;
    size_t count;     /* As many as operations; 0 where they were too large for the answer. */
    uint64_t applied; /* Of a patch: operations but tests; of a diff: changes done. */
    uint64_t already; /* Of a diff: changes whose result was there. */
    uint64_t tests;   /* Of a patch: tests that passed. */
    const struct sirix_key_pair *keys; /* Of a diff, by source_key; at most 50,000. */
    size_t key_count;
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
    uint32_t max_depth; /* Levels of the text, at most 1,000, which 0 takes too. */
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

#ifdef __cplusplus
}
#endif

#endif
