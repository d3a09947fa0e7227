/* Values of ref rows: little-endian fields one after the other, lengths exact. */
#include "store/revision/rows.h"

#include <assert.h>
#include <inttypes.h>

#include "base/endian.h"

enum {
    COUNTERS_BYTES = 72,
    INDEX_ENTRY_BYTES = 24,
    INDEX_RUN_BYTES = SIRIX_INDEX_RUN * INDEX_ENTRY_BYTES
};

_Static_assert(COUNTERS_BYTES + INDEX_RUN_BYTES <= SIRIX_ROWS_VALUE_BYTES_MAX,
               "counters and a run of the index must fit a value");
_Static_assert(SIRIX_INTENT_RANGES_MAX *SIRIX_INTENT_RANGE_BYTES <= SIRIX_REF_VALUE_BYTES_MAX,
               "a row of ranges must fit a value");
_Static_assert(SIRIX_RIDER_HEADER_BYTES + SIRIX_RIDER_RESULTS_MAX * SIRIX_RIDER_RESULT_BYTES +
                       4096 <=
                   SIRIX_REF_VALUE_BYTES_MAX,
               "a rider must fit a value");

static void add_u32(struct sirix_rows_value *value, uint32_t field)
{
    sirix_store_u32le(value->bytes + value->len, field);
    value->len += sizeof(field);
}

static void add_u64(struct sirix_rows_value *value, uint64_t field)
{
    sirix_store_u64le(value->bytes + value->len, field);
    value->len += sizeof(field);
}

static void add_i64(struct sirix_rows_value *value, int64_t field)
{
    add_u64(value, (uint64_t)field);
}

static void add_raw(struct sirix_rows_value *value, const void *bytes, size_t len)
{
    assert(len <= sizeof(value->bytes) - value->len);
    if (len != 0) {
        memcpy(value->bytes + value->len, bytes, len);
        value->len += len;
    }
}

static void add_name(struct sirix_rows_value *value, struct sirix_bytes name)
{
    uint8_t len = (uint8_t)name.len;

    assert(name.len <= SIRIX_NAME_BYTES_MAX);
    add_raw(value, &len, 1);
    add_raw(value, name.data, name.len);
}

/* Fields are taken one by one; a value that is too short, or not used up, is short or long for good. */
struct taker {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static struct taker take_from(struct sirix_bytes value)
{
    return (struct taker){.at = value.data, .left = value.len};
}

static const uint8_t *take_raw(struct taker *taker, size_t len)
{
    const uint8_t *at = taker->at;

    if (taker->bad || len > taker->left) {
        taker->bad = true;
        return NULL;
    }
    taker->at += len;
    taker->left -= len;
    return at;
}

static uint32_t take_u32(struct taker *taker)
{
    const uint8_t *at = take_raw(taker, 4);

    return at == NULL ? 0 : sirix_load_u32le(at);
}

static uint64_t take_u64(struct taker *taker)
{
    const uint8_t *at = take_raw(taker, 8);

    return at == NULL ? 0 : sirix_load_u64le(at);
}

static int64_t take_i64(struct taker *taker)
{
    return (int64_t)take_u64(taker);
}

static struct sirix_bytes take_name(struct taker *taker)
{
    const uint8_t *len = take_raw(taker, 1);
    const uint8_t *bytes = len == NULL ? NULL : take_raw(taker, *len);

    if (bytes == NULL || *len == 0 || *len > SIRIX_NAME_BYTES_MAX) {
        taker->bad = true;
        return (struct sirix_bytes){0};
    }
    return (struct sirix_bytes){.data = bytes, .len = *len};
}

/* The end of a decode: what is the row, whether its fields make sense. */
static enum sirix_status taken(const struct taker *taker, bool sound, const char *what,
                               struct sirix_error *err)
{
    if (taker->bad || taker->left != 0) {
        return sirix_fail(err, SIRIX_CORRUPT, "%s row has a wrong length", what);
    }
    if (!sound) {
        return sirix_fail(err, SIRIX_CORRUPT, "%s row holds an impossible value", what);
    }
    return SIRIX_OK;
}

struct sirix_rows_value sirix_rows_meta_encode(const struct sirix_meta_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u32(&value, row->major);
    add_u32(&value, row->minor);
    add_i64(&value, row->created_us);
    add_u32(&value, row->next_resource);
    add_u64(&value, row->next_intent);
    return value;
}

enum sirix_status sirix_rows_meta_decode(struct sirix_bytes value, struct sirix_meta_row *out_row,
                                         struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_meta_row row = {.major = take_u32(&taker), .minor = take_u32(&taker)};

    /* The version decides how the rest is read: the caller refuses an unknown one. A newer minor may
     * have added fields behind ours. */
    if (!taker.bad && row.major != SIRIX_FORMAT_MAJOR) {
        *out_row = row;
        return SIRIX_OK;
    }
    row.created_us = take_i64(&taker);
    row.next_resource = take_u32(&taker);
    row.next_intent = take_u64(&taker);
    if (!taker.bad && row.minor > SIRIX_FORMAT_MINOR) {
        taker.left = 0;
    }
    enum sirix_status status =
        taken(&taker, row.next_resource != 0 && row.next_intent != 0, "database", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_resource_name_encode(const struct sirix_resource_name_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u32(&value, row->resource);
    add_name(&value, row->name);
    return value;
}

enum sirix_status sirix_rows_resource_name_decode(struct sirix_bytes value,
                                                  struct sirix_resource_name_row *out_row,
                                                  struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_resource_name_row row = {.resource = take_u32(&taker)};

    row.name = take_name(&taker);
    enum sirix_status status = taken(&taker, row.resource != 0, "resource name", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_descriptor_encode(const struct sirix_descriptor_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_i64(&value, row->created_us);
    add_raw(&value, row->name_seed, sizeof(row->name_seed));
    add_name(&value, row->name);
    return value;
}

enum sirix_status sirix_rows_descriptor_decode(struct sirix_bytes value,
                                               struct sirix_descriptor_row *out_row,
                                               struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_descriptor_row row = {.created_us = take_i64(&taker)};
    const uint8_t *seed = take_raw(&taker, sizeof(row.name_seed));

    row.name = take_name(&taker);
    enum sirix_status status = taken(&taker, true, "resource descriptor", err);
    if (status == SIRIX_OK) {
        memcpy(row.name_seed, seed, sizeof(row.name_seed));
        *out_row = row;
    }
    return status;
}

static void add_entry(struct sirix_rows_value *value, const struct sirix_index_entry *entry)
{
    add_u64(value, entry->address);
    add_i64(value, entry->time_us);
    add_u64(value, entry->branch);
}

static struct sirix_index_entry take_entry(struct taker *taker)
{
    struct sirix_index_entry entry = {.address = take_u64(taker)};

    entry.time_us = take_i64(taker);
    entry.branch = take_u64(taker);
    return entry;
}

struct sirix_rows_value sirix_rows_counters_encode(const struct sirix_counters_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u64(&value, row->last_revision);
    add_i64(&value, row->last_time_us);
    add_u64(&value, row->next_key);
    add_u64(&value, row->run_key);
    add_u64(&value, row->next_branch);
    add_u64(&value, row->oldest_revision);
    add_u64(&value, row->revision_count);
    add_u64(&value, row->branch_count);
    add_u64(&value, row->snapshot_count);
    for (size_t i = 0; i <= row->last_revision % SIRIX_INDEX_RUN; i++) {
        add_entry(&value, &row->newest[i]);
    }
    return value;
}

enum sirix_status sirix_rows_counters_decode(struct sirix_bytes value,
                                             struct sirix_counters_row *out_row,
                                             struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_counters_row row = {.last_revision = take_u64(&taker)};

    row.last_time_us = take_i64(&taker);
    row.next_key = take_u64(&taker);
    row.run_key = take_u64(&taker);
    row.next_branch = take_u64(&taker);
    row.oldest_revision = take_u64(&taker);
    row.revision_count = take_u64(&taker);
    row.branch_count = take_u64(&taker);
    row.snapshot_count = take_u64(&taker);
    for (size_t i = 0; i <= row.last_revision % SIRIX_INDEX_RUN; i++) {
        row.newest[i] = take_entry(&taker);
    }
    bool sound = row.last_revision != 0 && row.oldest_revision != 0 &&
                 row.oldest_revision <= row.last_revision && row.next_branch != 0 &&
                 row.branch_count != 0 && row.run_key <= row.next_key;
    enum sirix_status status = taken(&taker, sound, "resource counters", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_head_encode(const struct sirix_head_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u64(&value, row->revision);
    add_u64(&value, row->address);
    add_i64(&value, row->expires_us);
    return value;
}

enum sirix_status sirix_rows_head_decode(struct sirix_bytes value, struct sirix_head_row *out_row,
                                         struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_head_row row = {.revision = take_u64(&taker)};

    row.address = take_u64(&taker);
    row.expires_us = take_i64(&taker);
    enum sirix_status status = taken(&taker, row.revision != 0 && row.address != 0, "head", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value
sirix_rows_index_encode(const struct sirix_index_entry entries[SIRIX_INDEX_RUN])
{
    struct sirix_rows_value value;

    value.len = 0;
    for (size_t i = 0; i < SIRIX_INDEX_RUN; i++) {
        add_entry(&value, &entries[i]);
    }
    return value;
}

enum sirix_status sirix_rows_index_get(struct sirix_bytes value, uint64_t revision,
                                       struct sirix_index_entry *out_entry, struct sirix_error *err)
{
    const size_t slot = (size_t)(revision % SIRIX_INDEX_RUN);

    if (value.len != INDEX_RUN_BYTES) {
        return sirix_fail(err, SIRIX_CORRUPT,
                          "index row of revision %" PRIu64 " has a wrong length: %zu bytes",
                          revision, value.len);
    }
    struct taker taker = take_from((struct sirix_bytes){
        .data = (const uint8_t *)value.data + slot * INDEX_ENTRY_BYTES, .len = INDEX_ENTRY_BYTES});

    *out_entry = take_entry(&taker);
    return SIRIX_OK;
}

struct sirix_rows_value sirix_rows_label_encode(const struct sirix_label_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u32(&value, (uint32_t)row->kind);
    add_i64(&value, row->created_us);
    add_u64(&value, row->revision);
    add_u64(&value, row->address);
    add_i64(&value, row->time_us);
    if (row->kind == SIRIX_LABEL_BRANCH) {
        add_u64(&value, row->branch);
        add_i64(&value, row->expires_us);
    }
    add_name(&value, row->name);
    return value;
}

enum sirix_status sirix_rows_label_decode(struct sirix_bytes value, struct sirix_label_row *out_row,
                                          struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_label_row row = {0};
    uint32_t kind = take_u32(&taker);

    row.created_us = take_i64(&taker);
    row.revision = take_u64(&taker);
    row.address = take_u64(&taker);
    row.time_us = take_i64(&taker);
    if (kind == SIRIX_LABEL_BRANCH) {
        row.branch = take_u64(&taker);
        row.expires_us = take_i64(&taker);
    }
    row.name = take_name(&taker);
    bool known = kind == SIRIX_LABEL_BRANCH ? row.branch != 0 : kind == SIRIX_LABEL_SNAPSHOT;
    enum sirix_status status =
        taken(&taker, known && row.revision != 0 && row.address != 0, "branch or snapshot", err);
    if (status == SIRIX_OK) {
        row.kind = (enum sirix_label_kind)kind;
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_move_encode(const struct sirix_move_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u64(&value, row->from_revision);
    add_u64(&value, row->from_address);
    add_u64(&value, row->to_revision);
    add_u64(&value, row->to_address);
    return value;
}

enum sirix_status sirix_rows_move_decode(struct sirix_bytes value, struct sirix_move_row *out_row,
                                         struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_move_row row = {.from_revision = take_u64(&taker)};

    row.from_address = take_u64(&taker);
    row.to_revision = take_u64(&taker);
    row.to_address = take_u64(&taker);
    bool sound = row.from_revision != 0 && row.from_address != 0 && row.to_revision != 0 &&
                 row.to_address != 0;
    enum sirix_status status = taken(&taker, sound, "head move", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_tomb_encode(const struct sirix_tomb_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u64(&value, row->branch);
    add_i64(&value, row->created_us);
    add_u64(&value, row->base_revision);
    add_u64(&value, row->head_revision);
    add_u64(&value, row->head_address);
    return value;
}

enum sirix_status sirix_rows_tomb_decode(struct sirix_bytes value, struct sirix_tomb_row *out_row,
                                         struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_tomb_row row = {.branch = take_u64(&taker)};

    row.created_us = take_i64(&taker);
    row.base_revision = take_u64(&taker);
    row.head_revision = take_u64(&taker);
    row.head_address = take_u64(&taker);
    bool sound = row.branch != 0 && row.head_revision != 0 && row.head_address != 0;
    enum sirix_status status = taken(&taker, sound, "deleted branch", err);
    if (status == SIRIX_OK) {
        *out_row = row;
    }
    return status;
}

struct sirix_rows_value sirix_rows_intent_encode(const struct sirix_intent_row *row)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u32(&value, (uint32_t)row->kind);
    add_u32(&value, row->resource);
    add_u32(&value, row->part_count);
    add_i64(&value, row->created_us);
    return value;
}

enum sirix_status sirix_rows_intent_decode(struct sirix_bytes value,
                                           struct sirix_intent_row *out_row,
                                           struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_intent_row row = {0};
    uint32_t kind = take_u32(&taker);

    row.resource = take_u32(&taker);
    row.part_count = take_u32(&taker);
    row.created_us = take_i64(&taker);
    bool sound = kind >= SIRIX_INTENT_SEGMENTS && kind <= SIRIX_INTENT_CREATE;
    enum sirix_status status = taken(&taker, sound, "intent", err);
    if (status == SIRIX_OK) {
        row.kind = (enum sirix_intent_kind)kind;
        *out_row = row;
    }
    return status;
}

enum sirix_status sirix_rows_ranges_count(struct sirix_bytes value, size_t *out_count,
                                          struct sirix_error *err)
{
    size_t count = value.len / SIRIX_INTENT_RANGE_BYTES;

    if (value.len % SIRIX_INTENT_RANGE_BYTES != 0 || count > SIRIX_INTENT_RANGES_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "row of segment ranges has a wrong length");
    }
    for (size_t i = 0; i < count; i++) {
        struct sirix_segment_range range = sirix_rows_range_get(value, i);

        if (range.first == 0 || range.first > range.last || range.last > SIRIX_SEGMENT_NUMBER_MAX) {
            return sirix_fail(err, SIRIX_CORRUPT, "row of segment ranges holds an impossible one");
        }
    }
    *out_count = count;
    return SIRIX_OK;
}

struct sirix_segment_range sirix_rows_range_get(struct sirix_bytes value, size_t index)
{
    const uint8_t *at = (const uint8_t *)value.data + index * SIRIX_INTENT_RANGE_BYTES;

    assert((index + 1) * SIRIX_INTENT_RANGE_BYTES <= value.len);
    return (struct sirix_segment_range){.first = sirix_load_u64le(at),
                                        .last = sirix_load_u64le(at + 8)};
}

void sirix_rows_range_put(uint8_t *place, struct sirix_segment_range range)
{
    sirix_store_u64le(place, range.first);
    sirix_store_u64le(place + 8, range.last);
}

void sirix_rows_rider_header_encode(const struct sirix_rider_row *row,
                                    uint8_t place[SIRIX_RIDER_HEADER_BYTES])
{
    memcpy(place, row->request_hash, SIRIX_HASH_BYTES);
    sirix_store_u64le(place + 32, (uint64_t)row->expires_us);
    sirix_store_u32le(place + 40, row->result_count);
}

void sirix_rows_rider_result_encode(const struct sirix_rider_result *result,
                                    uint8_t place[SIRIX_RIDER_RESULT_BYTES])
{
    sirix_store_u32le(place, result->resource);
    sirix_store_u64le(place + 4, result->revision);
    sirix_store_u64le(place + 12, result->parent_revision);
    sirix_store_u64le(place + 20, (uint64_t)result->time_us);
    sirix_store_u64le(place + 28, result->record_address);
}

enum sirix_status sirix_rows_rider_decode(struct sirix_bytes value, struct sirix_rider_row *out_row,
                                          struct sirix_error *err)
{
    struct taker taker = take_from(value);
    struct sirix_rider_row row = {0};
    const uint8_t *hash = take_raw(&taker, SIRIX_HASH_BYTES);

    row.expires_us = take_i64(&taker);
    row.result_count = take_u32(&taker);
    if (taker.bad || row.result_count > SIRIX_RIDER_RESULTS_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "idempotency row is damaged");
    }
    row.results.len = (size_t)row.result_count * SIRIX_RIDER_RESULT_BYTES;
    row.results.data = take_raw(&taker, row.results.len);
    if (taker.bad) {
        return sirix_fail(err, SIRIX_CORRUPT, "idempotency row has a wrong length");
    }
    memcpy(row.request_hash, hash, SIRIX_HASH_BYTES);
    row.answer = (struct sirix_bytes){.data = taker.at, .len = taker.left};
    *out_row = row;
    return SIRIX_OK;
}

struct sirix_rider_result sirix_rows_rider_result(const struct sirix_rider_row *row, size_t index)
{
    const uint8_t *at = (const uint8_t *)row->results.data + index * SIRIX_RIDER_RESULT_BYTES;

    assert(index < row->result_count);
    return (struct sirix_rider_result){
        .resource = sirix_load_u32le(at),
        .revision = sirix_load_u64le(at + 4),
        .parent_revision = sirix_load_u64le(at + 12),
        .time_us = (int64_t)sirix_load_u64le(at + 20),
        .record_address = sirix_load_u64le(at + 28),
    };
}

struct sirix_rows_value sirix_rows_count_encode(uint64_t count)
{
    struct sirix_rows_value value;

    value.len = 0;
    add_u64(&value, count);
    return value;
}

enum sirix_status sirix_rows_count_decode(struct sirix_bytes value, uint64_t *out_count,
                                          struct sirix_error *err)
{
    struct taker taker = take_from(value);
    uint64_t count = take_u64(&taker);
    enum sirix_status status = taken(&taker, true, "count", err);

    if (status == SIRIX_OK) {
        *out_count = count;
    }
    return status;
}
