/*
 * Values of ref rows and revision records from any bytes: refused, or what encode would write. The first
 * byte chooses the row.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "store/revision/rows.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What was read must be written again as it was. */
static void same(const struct sirix_rows_value *again, struct sirix_bytes value)
{
    if (!sirix_bytes_equal(sirix_rows_value_view(again), value)) {
        abort();
    }
}

static void check_meta(struct sirix_bytes value)
{
    struct sirix_meta_row row;

    if (sirix_rows_meta_decode(value, &row, NULL) == SIRIX_OK && row.major == SIRIX_FORMAT_MAJOR &&
        row.minor <= SIRIX_FORMAT_MINOR) {
        struct sirix_rows_value again = sirix_rows_meta_encode(&row);

        same(&again, value);
    }
}

#define CHECK(what)                                                                                \
    static void check_##what(struct sirix_bytes value)                                             \
    {                                                                                              \
        struct sirix_##what##_row row;                                                             \
                                                                                                   \
        if (sirix_rows_##what##_decode(value, &row, NULL) == SIRIX_OK) {                           \
            struct sirix_rows_value again = sirix_rows_##what##_encode(&row);                      \
                                                                                                   \
            same(&again, value);                                                                   \
        }                                                                                          \
    }

CHECK(resource_name)
CHECK(descriptor)
CHECK(counters)
CHECK(head)
CHECK(label)
CHECK(move)
CHECK(tomb)
CHECK(intent)

static void check_index(struct sirix_bytes value)
{
    struct sirix_index_entry entries[SIRIX_INDEX_RUN];

    for (uint64_t revision = 0; revision < SIRIX_INDEX_RUN; revision++) {
        if (sirix_rows_index_get(value, revision, &entries[revision], NULL) != SIRIX_OK) {
            return;
        }
    }
    const struct sirix_rows_value again = sirix_rows_index_encode(entries);
    same(&again, value);
}

static void check_ranges(struct sirix_bytes value)
{
    size_t count = 0;

    if (sirix_rows_ranges_count(value, &count, NULL) != SIRIX_OK) {
        return;
    }
    for (size_t i = 0; i < count; i++) {
        struct sirix_segment_range range = sirix_rows_range_get(value, i);

        if (range.first == 0 || range.first > range.last) {
            abort();
        }
    }
}

static void check_rider(struct sirix_bytes value)
{
    struct sirix_rider_row row;

    if (sirix_rows_rider_decode(value, &row, NULL) != SIRIX_OK) {
        return;
    }
    for (size_t i = 0; i < row.result_count; i++) {
        (void)sirix_rows_rider_result(&row, i);
    }
    if (SIRIX_RIDER_HEADER_BYTES + row.results.len + row.answer.len != value.len) {
        abort();
    }
}

static void check_record(struct sirix_bytes value)
{
    struct sirix_record record;
    uint8_t chain[SIRIX_HASH_BYTES];

    if (sirix_record_decode(value, &record, NULL) != SIRIX_OK) {
        return;
    }
    size_t len = sirix_record_bytes(record.author.len, record.message.len);
    uint8_t *again = malloc(len);

    if (again == NULL || sirix_record_chain(&record, NULL, chain, NULL) != SIRIX_OK) {
        free(again);
        return;
    }
    sirix_record_encode(&record, again);
    /* The padding is not looked at, all else is kept. */
    size_t used = 192 + record.author.len + record.message.len;
    if (len > value.len || memcmp(again, value.data, used) != 0) {
        abort();
    }
    free(again);
}

static void check_keys(struct sirix_bytes value)
{
    struct sirix_bytes principal = {0};
    struct sirix_bytes key = {0};
    int64_t time_us = 0;
    uint64_t number = 0;
    uint32_t id = 0;

    (void)sirix_rows_key_name_parse(value, &id);
    (void)sirix_rows_key_move_parse(value, &time_us);
    (void)sirix_rows_key_tomb_parse(value, &time_us);
    (void)sirix_rows_key_expiry_parse(value, &time_us, &id, &number);
    (void)sirix_rows_key_intent_parse(value, &number);
    (void)sirix_rows_key_head_parse(value, &number);
    if (sirix_rows_key_rider_expiry_parse(value, &time_us, &principal, &key) &&
        principal.len + key.len + 11 != value.len) {
        abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const checks[])(struct sirix_bytes value) = {
        check_meta,   check_resource_name, check_descriptor, check_counters, check_head,
        check_label,  check_move,          check_tomb,       check_intent,   check_index,
        check_ranges, check_rider,         check_record,     check_keys,
    };

    if (size == 0) {
        return 0;
    }
    checks[data[0] % (sizeof(checks) / sizeof(checks[0]))](
        (struct sirix_bytes){.data = data + 1, .len = size - 1});
    return 0;
}
