/*
 * Idempotency keys: what a write answered, kept for a day beside the write itself.
 *
 * Three kinds of rows: the rider by (principal, key), an entry in the order of expiry, and how many a
 * principal has. Nothing sweeps on its own: each new rider drops up to PURGE_MAX expired ones, so that
 * old ones go faster than new ones come.
 */
#include "store/revision/internal.h"

#include <inttypes.h>

#include "base/buf.h"

enum { PURGE_MAX = 2 };
#define RIDER_LIFE_US (INT64_C(24) * 3600 * 1000000)

_Static_assert(SIRIX_RIDER_PRINCIPAL_BYTES_MAX <= (int)SIRIX_RIDER_PRINCIPAL_BYTES_ROOM &&
                   SIRIX_RIDER_KEY_BYTES_MAX <= (int)SIRIX_RIDER_KEY_BYTES_ROOM,
               "keys of riders must fit");

static enum sirix_status too_long(const char *field, size_t len, int limit, struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SIZE_LIMIT,
                          "the %s has %zu bytes, the limit is %d", field, len, limit);

    sirix_error_set_field(err, field);
    return status;
}

enum sirix_status sirix_rider_check(const struct sirix_rider *rider, struct sirix_error *err)
{
    if (rider->key.len > SIRIX_RIDER_KEY_BYTES_MAX) {
        return too_long("idempotency_key", rider->key.len, SIRIX_RIDER_KEY_BYTES_MAX, err);
    }
    if (rider->principal.len > SIRIX_RIDER_PRINCIPAL_BYTES_MAX) {
        return too_long("principal", rider->principal.len, SIRIX_RIDER_PRINCIPAL_BYTES_MAX, err);
    }
    if (rider->answer.len > SIRIX_RIDER_ANSWER_BYTES_MAX) {
        return too_long("answer", rider->answer.len, SIRIX_RIDER_ANSWER_BYTES_MAX, err);
    }
    return SIRIX_OK;
}

/* Whether a stored rider speaks for this request. */
static enum sirix_status judge(struct sirix_bytes value, const struct sirix_rider *rider,
                               int64_t now_us, bool *out_known, struct sirix_rider_row *out_row,
                               struct sirix_error *err)
{
    struct sirix_rider_row row;
    enum sirix_status status = sirix_rows_rider_decode(value, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (row.expires_us <= now_us) {
        *out_known = false;
        return SIRIX_OK;
    }
    if (memcmp(row.request_hash, rider->request_hash, SIRIX_HASH_BYTES) != 0) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_IDEMPOTENCY_MISMATCH,
                                   "this idempotency key was used by another request");
        sirix_error_set_field(err, "idempotency_key");
        return status;
    }
    *out_row = row;
    *out_known = true;
    return SIRIX_OK;
}

enum sirix_status sirix_rider_lookup(struct sirix_group *group, const struct sirix_rider *rider,
                                     int64_t now_us, bool *out_known,
                                     struct sirix_rider_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_rider(rider->principal, rider->key);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        *out_known = false;
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? judge(value, rider, now_us, out_known, out_row, err) : status;
}

static enum sirix_status read_row(struct sirix_database *database, struct sirix_reader *reader,
                                  const struct sirix_rider *rider, struct sirix_rider_row *out,
                                  struct sirix_error *err)
{
    struct sirix_rows_key key;
    struct sirix_bytes value = {0};
    bool known = false;
    enum sirix_status status = sirix_rider_check(rider, err);

    if (status != SIRIX_OK) {
        return status;
    }
    key = sirix_rows_key_rider(rider->principal, rider->key);
    status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);
    if (status == SIRIX_OK) {
        status = judge(value, rider, sirix_database_now_us(database), &known, out, err);
    }
    return status == SIRIX_OK && !known ? SIRIX_NOT_FOUND : status;
}

/* Number i of the results; a row without any has one of zeros. */
static struct sirix_published_of result_of(const struct sirix_rider_row *row, size_t i)
{
    const struct sirix_rider_result result =
        i < row->result_count ? sirix_rows_rider_result(row, i) : (struct sirix_rider_result){0};

    return (struct sirix_published_of){.resource = result.resource,
                                       .published = {
                                           .revision = result.revision,
                                           .parent_revision = result.parent_revision,
                                           .time_us = result.time_us,
                                           .record_address = result.record_address,
                                           .replayed = true,
                                           .answer = row->answer,
                                       }};
}

enum sirix_status sirix_rider_find(struct sirix_database *database, struct sirix_reader *reader,
                                   const struct sirix_rider *rider,
                                   struct sirix_published *out_published, struct sirix_error *err)
{
    struct sirix_rider_row row;
    enum sirix_status status = read_row(database, reader, rider, &row, err);

    if (status == SIRIX_OK) {
        *out_published = result_of(&row, 0).published;
    }
    return status;
}

enum sirix_status sirix_rider_find_all(struct sirix_database *database, struct sirix_reader *reader,
                                       const struct sirix_rider *rider,
                                       struct sirix_published_of *out, size_t max,
                                       size_t *out_count, struct sirix_error *err)
{
    struct sirix_rider_row row;
    enum sirix_status status = read_row(database, reader, rider, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    *out_count = row.result_count < max ? row.result_count : max;
    for (size_t i = 0; i < *out_count; i++) {
        out[i] = result_of(&row, i);
    }
    return SIRIX_OK;
}

/* --- Keeping ------------------------------------------------------------------------------------ */

static enum sirix_status count_get(struct sirix_group *group, struct sirix_bytes principal,
                                   uint64_t *out_count, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_rider_count(principal);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        *out_count = 0;
        return SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_rows_count_decode(value, out_count, err) : status;
}

static enum sirix_status count_put(struct sirix_group *group, struct sirix_bytes principal,
                                   uint64_t count, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_rider_count(principal);
    const struct sirix_rows_value value = sirix_rows_count_encode(count);

    return count == 0 ? sirix_row_delete(group, &key, err)
                      : sirix_row_put(group, &key, &value, err);
}

/* Drops a rider by its place in the order of expiry. */
static enum sirix_status drop(struct sirix_group *group, const struct sirix_rows_key *expiry,
                              struct sirix_bytes principal, struct sirix_bytes key,
                              struct sirix_error *err)
{
    const struct sirix_rows_key rider = sirix_rows_key_rider(principal, key);
    uint64_t count = 0;
    enum sirix_status status = count_get(group, principal, &count, err);

    if (status == SIRIX_OK && count != 0) {
        status = count_put(group, principal, count - 1, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_row_delete(group, &rider, err);
    }
    return status == SIRIX_OK ? sirix_row_delete(group, expiry, err) : status;
}

struct purge_walk {
    int64_t now_us;
    size_t count;
    struct sirix_rows_key keys[PURGE_MAX];
};

static enum sirix_status purge_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                   bool *stop, struct sirix_error *err)
{
    struct purge_walk *walk = context;
    struct sirix_bytes principal = {0};
    struct sirix_bytes name = {0};
    int64_t expires_us = 0;

    (void)value;
    if (!sirix_rows_key_rider_expiry_parse(key, &expires_us, &principal, &name)) {
        return sirix_fail(err, SIRIX_CORRUPT, "idempotency expiry row with a malformed key");
    }
    if (expires_us > walk->now_us || key.len > SIRIX_REF_KEY_BYTES_MAX) {
        *stop = true;
        return SIRIX_OK;
    }
    walk->keys[walk->count].len = key.len;
    memcpy(walk->keys[walk->count].bytes, key.data, key.len);
    walk->count++;
    *stop = walk->count == PURGE_MAX;
    return SIRIX_OK;
}

/* Drops a few riders that have expired. Earlier works of the group may have dropped the same ones. */
static enum sirix_status purge(struct sirix_group *group, int64_t now_us, struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_rider_expiries();
    struct purge_walk walk = {.now_us = now_us};
    enum sirix_status status =
        sirix_ref_scan(sirix_group_reader(group), sirix_rows_key_view(&prefix),
                       (struct sirix_bytes){0}, false, purge_row, &walk, err);

    for (size_t i = 0; status == SIRIX_OK && i < walk.count; i++) {
        struct sirix_bytes principal = {0};
        struct sirix_bytes key = {0};
        struct sirix_bytes value = {0};
        int64_t expires_us = 0;

        (void)sirix_rows_key_rider_expiry_parse(sirix_rows_key_view(&walk.keys[i]), &expires_us,
                                                &principal, &key);
        status = sirix_group_ref_get(group, sirix_rows_key_view(&walk.keys[i]), &value, err);
        if (status == SIRIX_OK) {
            status = drop(group, &walk.keys[i], principal, key, err);
        } else if (status == SIRIX_NOT_FOUND) {
            status = SIRIX_OK;
        }
    }
    return status;
}

/* An expired rider that is still there under the same key makes room for the new one. */
static enum sirix_status replace_expired(struct sirix_group *group, const struct sirix_rider *rider,
                                         struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_rider(rider->principal, rider->key);
    struct sirix_rider_row row;
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_rider_decode(value, &row, err);
    }
    if (status == SIRIX_OK) {
        const struct sirix_rows_key expiry =
            sirix_rows_key_rider_expiry(row.expires_us, rider->principal, rider->key);

        status = drop(group, &expiry, rider->principal, rider->key, err);
    }
    return status;
}

static enum sirix_status put_row(struct sirix_group *group, const struct sirix_rider *rider,
                                 int64_t expires_us, const struct sirix_rider_result *results,
                                 size_t result_count, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_rider(rider->principal, rider->key);
    struct sirix_rider_row row = {.expires_us = expires_us, .result_count = (uint32_t)result_count};
    uint8_t header[SIRIX_RIDER_HEADER_BYTES];
    struct sirix_buf value;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&value, SIRIX_REF_VALUE_BYTES_MAX);
    memcpy(row.request_hash, rider->request_hash, SIRIX_HASH_BYTES);
    sirix_rows_rider_header_encode(&row, header);
    status = sirix_buf_append(&value, header, sizeof(header), err);
    for (size_t i = 0; status == SIRIX_OK && i < result_count; i++) {
        uint8_t bytes[SIRIX_RIDER_RESULT_BYTES];

        sirix_rows_rider_result_encode(&results[i], bytes);
        status = sirix_buf_append(&value, bytes, sizeof(bytes), err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&value, rider->answer, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_group_ref_put(group, sirix_rows_key_view(&key), sirix_buf_view(&value), err);
    }
    sirix_buf_deinit(&value);
    return status;
}

enum sirix_status sirix_rider_put(struct sirix_group *group, const struct sirix_rider *rider,
                                  int64_t now_us, const struct sirix_rider_result *results,
                                  size_t result_count, struct sirix_error *err)
{
    static const uint8_t mark = 1; /* A row needs a value. */
    const int64_t expires_us = now_us + RIDER_LIFE_US;
    const struct sirix_rows_key expiry =
        sirix_rows_key_rider_expiry(expires_us, rider->principal, rider->key);
    uint64_t count = 0;
    enum sirix_status status = purge(group, now_us, err);

    if (status == SIRIX_OK) {
        status = replace_expired(group, rider, err);
    }
    if (status == SIRIX_OK) {
        status = count_get(group, rider->principal, &count, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (count >= SIRIX_RIDERS_PER_PRINCIPAL_MAX) {
        return sirix_fail(err, SIRIX_EXHAUSTED,
                          "the principal has used %" PRIu64 " idempotency keys within a day: write "
                          "without one, or later",
                          count);
    }
    status = count_put(group, rider->principal, count + 1, err);
    if (status == SIRIX_OK) {
        status = put_row(group, rider, expires_us, results, result_count, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_group_ref_put(group, sirix_rows_key_view(&expiry),
                                     (struct sirix_bytes){.data = &mark, .len = 1}, err);
    }
    return status;
}

/* --- The rider of a write that changed nothing --------------------------------------------------- */

struct record_work {
    struct sirix_commit_work work;
    const struct sirix_resource *resource;
    const struct sirix_rider *rider;
    struct sirix_published
        published; /* In: what the no-op answers. Out: what the key stands for. */
};

static enum sirix_status record_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct record_work *record = (struct record_work *)work;
    const struct sirix_published *published = &record->published;
    const struct sirix_rider_result result = {
        .resource = record->resource->id,
        .revision = published->revision,
        .parent_revision = published->parent_revision,
        .time_us = published->time_us,
        .record_address = published->record_address,
    };
    struct sirix_rider_row row;
    struct sirix_rider_result first = {0};
    bool known = false;
    int64_t now_us = sirix_database_now_us(record->resource->database);
    enum sirix_status status = sirix_rider_lookup(group, record->rider, now_us, &known, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!known) {
        return sirix_rider_put(group, record->rider, now_us, &result, 1, err);
    }
    if (row.result_count != 0) {
        first = sirix_rows_rider_result(&row, 0);
    }
    record->published = (struct sirix_published){
        .revision = first.revision,
        .parent_revision = first.parent_revision,
        .time_us = first.time_us,
        .record_address = first.record_address,
        .replayed = true,
    };
    return SIRIX_OK;
}

enum sirix_status sirix_rider_record(struct sirix_resource *resource,
                                     const struct sirix_rider *rider,
                                     const struct sirix_published *published,
                                     struct sirix_published *out_published, struct sirix_error *err)
{
    struct record_work record = {
        .work = {.prepare = record_prepare, .done = sirix_work_done},
        .resource = resource,
        .rider = rider,
        .published = *published,
    };
    enum sirix_status status = sirix_database_writable(resource->database, err);

    if (status == SIRIX_OK) {
        status = sirix_rider_check(rider, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_committer_run(resource->database->committer, &record.work, err);
    }
    if (status == SIRIX_OK) {
        *out_published = record.published;
    }
    return status;
}
