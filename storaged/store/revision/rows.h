/*
 * Ref rows of a database: the small mutable rows beside the immutable segments. Keys and values as
 * bytes, encode and decode; byte tables: docs/format.md.
 *
 * Keys      Rows of the database begin with their own tag. Rows of a resource begin with 'h' or 'r',
 *           the resource id and a tag: 'h' those that every commit changes, which are few and small,
 *           so that those of many resources share a page, 'r' all others. Dropping a resource is
 *           deleting two prefixes. Numbers in keys are big-endian, times with their sign bit turned,
 *           so that byte order is their order. Names in keys are case-folded.
 * Values    little-endian, of exact length: shorter or longer ones are SIRIX_CORRUPT and the error
 *           names the row.
 *
 * Pure functions: no I/O, no allocation.
 */
#ifndef SIRIX_STORE_REVISION_ROWS_H
#define SIRIX_STORE_REVISION_ROWS_H

#include "base/name.h"
#include "store/revision/record.h"
#include "store/segment/segment.h"

enum {
    SIRIX_FORMAT_MAJOR = 2,
    SIRIX_FORMAT_MINOR = 0,
    SIRIX_INDEX_RUN = 16, /* Revisions an index row covers. */
    SIRIX_ROWS_VALUE_BYTES_MAX = 512,
    SIRIX_INTENT_RANGES_MAX = 512,          /* Ranges in one row of an intent. */
    SIRIX_RIDER_PRINCIPAL_BYTES_ROOM = 200, /* What a key of a rider has room for. */
    SIRIX_RIDER_KEY_BYTES_ROOM = 128,
};

/* A key or value in the making. */
struct sirix_rows_key {
    size_t len;
    uint8_t bytes[SIRIX_REF_KEY_BYTES_MAX];
};
struct sirix_rows_value {
    size_t len;
    uint8_t bytes[SIRIX_ROWS_VALUE_BYTES_MAX];
};

static inline struct sirix_bytes sirix_rows_key_view(const struct sirix_rows_key *key)
{
    return (struct sirix_bytes){.data = key->bytes, .len = key->len};
}
static inline struct sirix_bytes sirix_rows_value_view(const struct sirix_rows_value *value)
{
    return (struct sirix_bytes){.data = value->bytes, .len = value->len};
}

/* --- Keys -------------------------------------------------------------------------------------- */

struct sirix_rows_key sirix_rows_key_meta(void);
struct sirix_rows_key sirix_rows_key_resource_name(struct sirix_bytes name); /* len <= 128. */
struct sirix_rows_key sirix_rows_prefix_resource_names(void);
struct sirix_rows_key sirix_rows_prefix_resource(uint32_t resource);
struct sirix_rows_key sirix_rows_prefix_hot(uint32_t resource); /* Those that commits change. */
struct sirix_rows_key sirix_rows_key_descriptor(uint32_t resource);
struct sirix_rows_key sirix_rows_key_counters(uint32_t resource);
struct sirix_rows_key sirix_rows_key_head(uint32_t resource, uint64_t branch);
struct sirix_rows_key sirix_rows_prefix_heads(uint32_t resource);
struct sirix_rows_key sirix_rows_key_index(uint32_t resource, uint64_t revision);
struct sirix_rows_key sirix_rows_key_label(uint32_t resource, struct sirix_bytes name);
struct sirix_rows_key sirix_rows_prefix_labels(uint32_t resource);
struct sirix_rows_key sirix_rows_key_move(uint32_t resource, uint64_t branch, int64_t time_us);
struct sirix_rows_key sirix_rows_prefix_moves(uint32_t resource, uint64_t branch);
struct sirix_rows_key sirix_rows_key_tomb(uint32_t resource, struct sirix_bytes name,
                                          int64_t deleted_us);
struct sirix_rows_key sirix_rows_prefix_tombs(uint32_t resource, struct sirix_bytes name);
struct sirix_rows_key sirix_rows_key_name(uint32_t resource, uint32_t name_id);
struct sirix_rows_key sirix_rows_prefix_names(uint32_t resource);
/* The path summary's rows are the document layer's: only their place is kept here. */
struct sirix_rows_key sirix_rows_prefix_paths(uint32_t resource);
struct sirix_rows_key sirix_rows_key_expiry(int64_t expires_us, uint32_t resource, uint64_t branch);
struct sirix_rows_key sirix_rows_prefix_expiries(void);
struct sirix_rows_key sirix_rows_key_intent(uint64_t intent);
struct sirix_rows_key sirix_rows_prefix_intents(void);
struct sirix_rows_key sirix_rows_key_intent_ranges(uint64_t intent, uint32_t part);
struct sirix_rows_key sirix_rows_key_rider(struct sirix_bytes principal, struct sirix_bytes key);
struct sirix_rows_key sirix_rows_key_rider_count(struct sirix_bytes principal);
struct sirix_rows_key sirix_rows_key_rider_expiry(int64_t expires_us, struct sirix_bytes principal,
                                                  struct sirix_bytes key);
struct sirix_rows_key sirix_rows_prefix_rider_expiries(void);

/* What stands in keys that are scanned. False: no key of that kind. Views into key. */
bool sirix_rows_key_name_parse(struct sirix_bytes key, uint32_t *out_name_id);
bool sirix_rows_key_move_parse(struct sirix_bytes key, int64_t *out_time_us);
struct sirix_rows_key sirix_rows_key_branch_name(uint32_t resource, uint64_t branch);
bool sirix_rows_key_tomb_parse(struct sirix_bytes key, int64_t *out_deleted_us);
bool sirix_rows_key_expiry_parse(struct sirix_bytes key, int64_t *out_expires_us,
                                 uint32_t *out_resource, uint64_t *out_branch);
bool sirix_rows_key_intent_parse(struct sirix_bytes key, uint64_t *out_intent);
bool sirix_rows_key_head_parse(struct sirix_bytes key, uint64_t *out_branch);
bool sirix_rows_key_rider_expiry_parse(struct sirix_bytes key, int64_t *out_expires_us,
                                       struct sirix_bytes *out_principal,
                                       struct sirix_bytes *out_key);

/* --- Values ------------------------------------------------------------------------------------ */

struct sirix_meta_row {
    uint32_t major;
    uint32_t minor;
    int64_t created_us;
    uint32_t next_resource;
    uint64_t next_intent;
};
struct sirix_rows_value sirix_rows_meta_encode(const struct sirix_meta_row *row);
enum sirix_status sirix_rows_meta_decode(struct sirix_bytes value, struct sirix_meta_row *out_row,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_resource_name_row {
    uint32_t resource;
    struct sirix_bytes name; /* As written. */
};
struct sirix_rows_value sirix_rows_resource_name_encode(const struct sirix_resource_name_row *row);
enum sirix_status sirix_rows_resource_name_decode(struct sirix_bytes value,
                                                  struct sirix_resource_name_row *out_row,
                                                  struct sirix_error *err) SIRIX_MUST_CHECK;

/* What never changes about a resource. */
struct sirix_descriptor_row {
    int64_t created_us;
    uint8_t name_seed[16];
    struct sirix_bytes name;
};
struct sirix_rows_value sirix_rows_descriptor_encode(const struct sirix_descriptor_row *row);
enum sirix_status sirix_rows_descriptor_decode(struct sirix_bytes value,
                                               struct sirix_descriptor_row *out_row,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* One revision in the index; run n covers revisions n*16 .. n*16+15. */
struct sirix_index_entry {
    uint64_t address; /* 0: pruned (or revision 0, which is none). */
    int64_t time_us;
    uint64_t branch;
};

/* What changes with every commit of a resource. */
struct sirix_counters_row {
    uint64_t last_revision;
    int64_t last_time_us; /* Of the last commit or head move. */
    uint64_t next_key;    /* The first leaf that was never given, a multiple of 64. */
    uint64_t run_key;     /* The next key of the open run; a multiple of 64: there is none. */
    uint64_t next_branch;
    uint64_t oldest_revision; /* The oldest that was not pruned. */
    uint64_t revision_count;
    uint64_t branch_count; /* main included. */
    uint64_t snapshot_count;
    /* The run of the index that last_revision is in, up to it; further entries are not looked at. */
    struct sirix_index_entry newest[SIRIX_INDEX_RUN];
};
struct sirix_rows_value sirix_rows_counters_encode(const struct sirix_counters_row *row);
enum sirix_status sirix_rows_counters_decode(struct sirix_bytes value,
                                             struct sirix_counters_row *out_row,
                                             struct sirix_error *err) SIRIX_MUST_CHECK;

struct sirix_head_row {
    uint64_t revision;
    uint64_t address;
    int64_t expires_us; /* 0: never. */
};
struct sirix_rows_value sirix_rows_head_encode(const struct sirix_head_row *row);
enum sirix_status sirix_rows_head_decode(struct sirix_bytes value, struct sirix_head_row *out_row,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* The row of a run that is behind last_revision: all its entries. */
struct sirix_rows_value
sirix_rows_index_encode(const struct sirix_index_entry entries[SIRIX_INDEX_RUN]);
enum sirix_status sirix_rows_index_get(struct sirix_bytes value, uint64_t revision,
                                       struct sirix_index_entry *out_entry,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* A name behind `@`: a branch or a snapshot. */
enum sirix_label_kind { SIRIX_LABEL_BRANCH = 1, SIRIX_LABEL_SNAPSHOT = 2 };
struct sirix_label_row {
    enum sirix_label_kind kind;
    struct sirix_bytes name; /* As written. */
    int64_t created_us;
    uint64_t branch;    /* Branch: its id. */
    int64_t expires_us; /* Branch: 0 is never. */
    uint64_t revision;  /* Branch: where it was created. Snapshot: the revision it names. */
    uint64_t address;   /* Of that revision's record. */
    int64_t time_us;    /* Of that revision. */
};
struct sirix_rows_value sirix_rows_label_encode(const struct sirix_label_row *row);
enum sirix_status sirix_rows_label_decode(struct sirix_bytes value, struct sirix_label_row *out_row,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* A head that was moved by a promote; its time stands in the key. */
struct sirix_move_row {
    uint64_t from_revision;
    uint64_t from_address;
    uint64_t to_revision;
    uint64_t to_address;
};
struct sirix_rows_value sirix_rows_move_encode(const struct sirix_move_row *row);
enum sirix_status sirix_rows_move_decode(struct sirix_bytes value, struct sirix_move_row *out_row,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* A branch that was deleted; its name and the time of its end stand in the key. */
struct sirix_tomb_row {
    uint64_t branch;
    int64_t created_us;
    uint64_t base_revision;
    uint64_t head_revision;
    uint64_t head_address;
};
struct sirix_rows_value sirix_rows_tomb_encode(const struct sirix_tomb_row *row);
enum sirix_status sirix_rows_tomb_decode(struct sirix_bytes value, struct sirix_tomb_row *out_row,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* A bulk commit, a drop, or a resource without a name yet. */
enum sirix_intent_kind {
    SIRIX_INTENT_SEGMENTS = 1,
    SIRIX_INTENT_DROP = 2,
    SIRIX_INTENT_CREATE = 3,
};
struct sirix_intent_row {
    enum sirix_intent_kind kind;
    uint32_t resource;
    uint32_t part_count; /* Rows of ranges. */
    int64_t created_us;
};
struct sirix_rows_value sirix_rows_intent_encode(const struct sirix_intent_row *row);
enum sirix_status sirix_rows_intent_decode(struct sirix_bytes value,
                                           struct sirix_intent_row *out_row,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/* A row of ranges: 16 bytes each, first and last number. */
enum { SIRIX_INTENT_RANGE_BYTES = 16 };
enum sirix_status sirix_rows_ranges_count(struct sirix_bytes value, size_t *out_count,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_segment_range sirix_rows_range_get(struct sirix_bytes value, size_t index);
void sirix_rows_range_put(uint8_t *place, struct sirix_segment_range range);

/* What an idempotency key's row holds; the answer follows the results to the end of the value. */
struct sirix_rider_result {
    uint32_t resource;
    uint64_t revision;
    uint64_t parent_revision;
    int64_t time_us;
    uint64_t record_address;
};
enum {
    SIRIX_RIDER_HEADER_BYTES = 44,
    SIRIX_RIDER_RESULT_BYTES = 36,
    SIRIX_RIDER_RESULTS_MAX = 256,
};
struct sirix_rider_row {
    uint8_t request_hash[SIRIX_HASH_BYTES];
    int64_t expires_us;
    uint32_t result_count;
    struct sirix_bytes results; /* Encoded. */
    struct sirix_bytes answer;
};
void sirix_rows_rider_header_encode(const struct sirix_rider_row *row,
                                    uint8_t place[SIRIX_RIDER_HEADER_BYTES]);
void sirix_rows_rider_result_encode(const struct sirix_rider_result *result,
                                    uint8_t place[SIRIX_RIDER_RESULT_BYTES]);
enum sirix_status sirix_rows_rider_decode(struct sirix_bytes value, struct sirix_rider_row *out_row,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;
struct sirix_rider_result sirix_rows_rider_result(const struct sirix_rider_row *row, size_t index);

/* A row of one number: how many riders a principal has. */
struct sirix_rows_value sirix_rows_count_encode(uint64_t count);
enum sirix_status sirix_rows_count_decode(struct sirix_bytes value, uint64_t *out_count,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
