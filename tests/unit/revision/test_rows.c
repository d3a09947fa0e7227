/* Bytes of ref rows: what is written is read, and whatever else stands there is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "unit/revision/support.h"

/* --- Rows: every value round trips, and no other length is taken --------------------------------- */

static struct sirix_rows_value make_meta(void)
{
    const struct sirix_meta_row row = {.major = SIRIX_FORMAT_MAJOR,
                                       .minor = SIRIX_FORMAT_MINOR,
                                       .created_us = -5,
                                       .next_resource = 7,
                                       .next_intent = 9};
    return sirix_rows_meta_encode(&row);
}

static enum sirix_status read_meta(struct sirix_bytes value)
{
    struct sirix_meta_row row;
    enum sirix_status status = sirix_rows_meta_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.created_us, -5);
        assert_int_equal(row.next_resource, 7);
        assert_int_equal(row.next_intent, 9);
    }
    return status;
}

static struct sirix_rows_value make_resource_name(void)
{
    const struct sirix_resource_name_row row = {.resource = 3, .name = test_name("Users")};

    return sirix_rows_resource_name_encode(&row);
}

static enum sirix_status read_resource_name(struct sirix_bytes value)
{
    struct sirix_resource_name_row row;
    enum sirix_status status = sirix_rows_resource_name_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.resource, 3);
        assert_true(sirix_bytes_equal(row.name, test_name("Users")));
    }
    return status;
}

static struct sirix_rows_value make_descriptor(void)
{
    const struct sirix_descriptor_row row = {
        .created_us = 1, .name_seed = {1, 2, 3}, .name = test_name("n")};

    return sirix_rows_descriptor_encode(&row);
}

static enum sirix_status read_descriptor(struct sirix_bytes value)
{
    struct sirix_descriptor_row row;
    enum sirix_status status = sirix_rows_descriptor_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.created_us, 1);
        assert_int_equal(row.name_seed[2], 3);
        assert_true(sirix_bytes_equal(row.name, test_name("n")));
    }
    return status;
}

static struct sirix_rows_value make_counters(void)
{
    const struct sirix_counters_row row = {.last_revision = 9,
                                           .last_time_us = 8,
                                           .next_key = 128,
                                           .run_key = 70,
                                           .next_branch = 5,
                                           .oldest_revision = 4,
                                           .revision_count = 3,
                                           .branch_count = 2,
                                           .snapshot_count = 1,
                                           .newest = {[9] = {.address = 6, .time_us = 8}}};
    return sirix_rows_counters_encode(&row);
}

static enum sirix_status read_counters(struct sirix_bytes value)
{
    struct sirix_counters_row row;
    enum sirix_status status = sirix_rows_counters_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.last_revision, 9);
        assert_int_equal(row.run_key, 70);
        assert_int_equal(row.snapshot_count, 1);
        assert_int_equal(row.newest[9].address, 6);
    }
    return status;
}

static struct sirix_rows_value make_head(void)
{
    const struct sirix_head_row row = {.revision = 5, .address = 6, .expires_us = 7};

    return sirix_rows_head_encode(&row);
}

static enum sirix_status read_head(struct sirix_bytes value)
{
    struct sirix_head_row row;
    enum sirix_status status = sirix_rows_head_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.revision, 5);
        assert_int_equal(row.address, 6);
        assert_int_equal(row.expires_us, 7);
    }
    return status;
}

static struct sirix_rows_value make_branch(void)
{
    const struct sirix_label_row row = {.kind = SIRIX_LABEL_BRANCH,
                                        .name = test_name("b"),
                                        .created_us = 1,
                                        .branch = 2,
                                        .expires_us = 3,
                                        .revision = 4,
                                        .address = 5,
                                        .time_us = 6};
    return sirix_rows_label_encode(&row);
}

static enum sirix_status read_branch(struct sirix_bytes value)
{
    struct sirix_label_row row;
    enum sirix_status status = sirix_rows_label_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.kind, SIRIX_LABEL_BRANCH);
        assert_int_equal(row.branch, 2);
        assert_int_equal(row.expires_us, 3);
        assert_int_equal(row.time_us, 6);
    }
    return status;
}

static struct sirix_rows_value make_snapshot(void)
{
    const struct sirix_label_row row = {.kind = SIRIX_LABEL_SNAPSHOT,
                                        .name = test_name("before-cleanup"),
                                        .created_us = 1,
                                        .revision = 4,
                                        .address = 5,
                                        .time_us = 6};
    return sirix_rows_label_encode(&row);
}

static enum sirix_status read_snapshot(struct sirix_bytes value)
{
    struct sirix_label_row row;
    enum sirix_status status = sirix_rows_label_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.kind, SIRIX_LABEL_SNAPSHOT);
        assert_int_equal(row.revision, 4);
        assert_true(sirix_bytes_equal(row.name, test_name("before-cleanup")));
    }
    return status;
}

static struct sirix_rows_value make_move(void)
{
    const struct sirix_move_row row = {
        .from_revision = 1, .from_address = 2, .to_revision = 3, .to_address = 4};

    return sirix_rows_move_encode(&row);
}

static enum sirix_status read_move(struct sirix_bytes value)
{
    struct sirix_move_row row;
    enum sirix_status status = sirix_rows_move_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.from_revision, 1);
        assert_int_equal(row.to_address, 4);
    }
    return status;
}

static struct sirix_rows_value make_tomb(void)
{
    const struct sirix_tomb_row row = {
        .branch = 1, .created_us = 2, .base_revision = 3, .head_revision = 4, .head_address = 5};
    return sirix_rows_tomb_encode(&row);
}

static enum sirix_status read_tomb(struct sirix_bytes value)
{
    struct sirix_tomb_row row;
    enum sirix_status status = sirix_rows_tomb_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.branch, 1);
        assert_int_equal(row.head_address, 5);
    }
    return status;
}

static struct sirix_rows_value make_intent(void)
{
    const struct sirix_intent_row row = {
        .kind = SIRIX_INTENT_DROP, .resource = 3, .part_count = 4, .created_us = 5};

    return sirix_rows_intent_encode(&row);
}

static enum sirix_status read_intent(struct sirix_bytes value)
{
    struct sirix_intent_row row;
    enum sirix_status status = sirix_rows_intent_decode(value, &row, NULL);

    if (status == SIRIX_OK) {
        assert_int_equal(row.kind, SIRIX_INTENT_DROP);
        assert_int_equal(row.part_count, 4);
    }
    return status;
}

static struct sirix_rows_value make_count(void)
{
    return sirix_rows_count_encode(11);
}

static enum sirix_status read_count(struct sirix_bytes value)
{
    uint64_t count = 0;
    enum sirix_status status = sirix_rows_count_decode(value, &count, NULL);

    assert_true(status != SIRIX_OK || count == 11);
    return status;
}

struct row_case {
    const char *name;
    struct sirix_rows_value (*make)(void);
    enum sirix_status (*read)(struct sirix_bytes value);
};

static const struct row_case ROWS[] = {
    {"database", make_meta, read_meta},
    {"resource name", make_resource_name, read_resource_name},
    {"descriptor", make_descriptor, read_descriptor},
    {"counters", make_counters, read_counters},
    {"head", make_head, read_head},
    {"branch", make_branch, read_branch},
    {"snapshot", make_snapshot, read_snapshot},
    {"move", make_move, read_move},
    {"tomb", make_tomb, read_tomb},
    {"intent", make_intent, read_intent},
    {"count", make_count, read_count},
};

/* The bytes alone on the heap, so that the sanitizer sees a read past them. */
static enum sirix_status read_exactly(const struct row_case *row, const uint8_t *bytes, size_t len)
{
    uint8_t *copy = malloc(len + 1);

    assert_non_null(copy);
    copy = realloc(copy, len == 0 ? 1 : len);
    assert_non_null(copy);
    memcpy(copy, bytes, len);
    enum sirix_status status = row->read((struct sirix_bytes){.data = copy, .len = len});
    free(copy);
    return status;
}

static void rows_are_read_as_written_and_refused_in_any_other_length(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof(ROWS) / sizeof(ROWS[0]); i++) {
        struct sirix_rows_value value = ROWS[i].make();

        assert_int_equal(read_exactly(&ROWS[i], value.bytes, value.len), SIRIX_OK);
        for (size_t len = 0; len < value.len; len++) {
            if (read_exactly(&ROWS[i], value.bytes, len) != SIRIX_CORRUPT) {
                fail_msg("%s row of %zu bytes", ROWS[i].name, len);
            }
        }
        value.bytes[value.len] = 0;
        assert_int_equal(read_exactly(&ROWS[i], value.bytes, value.len + 1), SIRIX_CORRUPT);
    }
}

static void rows_with_impossible_fields_are_refused(void **state)
{
    struct sirix_rows_value value;
    struct sirix_head_row head;
    struct sirix_counters_row counters;
    struct sirix_label_row label;
    struct sirix_intent_row intent;

    (void)state;
    value = make_head();
    memset(value.bytes, 0, 8);
    assert_int_equal(sirix_rows_head_decode(sirix_rows_value_view(&value), &head, NULL),
                     SIRIX_CORRUPT);
    value = make_counters();
    value.bytes[40] = 10; /* The oldest is newer than the newest. */
    assert_int_equal(sirix_rows_counters_decode(sirix_rows_value_view(&value), &counters, NULL),
                     SIRIX_CORRUPT);
    value = make_snapshot();
    value.bytes[0] = 3;
    assert_int_equal(sirix_rows_label_decode(sirix_rows_value_view(&value), &label, NULL),
                     SIRIX_CORRUPT);
    value = make_intent();
    value.bytes[0] = 9;
    assert_int_equal(sirix_rows_intent_decode(sirix_rows_value_view(&value), &intent, NULL),
                     SIRIX_CORRUPT);
}

static void counters_hold_the_newest_run_and_a_row_of_the_index_a_whole_one(void **state)
{
    struct sirix_counters_row row = {.next_branch = 1, .oldest_revision = 1, .branch_count = 1};
    struct sirix_index_entry entry = {0};
    struct sirix_rows_value value;

    (void)state;
    for (uint64_t revision = 1; revision < 40; revision++) {
        struct sirix_counters_row read;
        const size_t slot = (size_t)(revision % SIRIX_INDEX_RUN);

        row.last_revision = revision;
        row.newest[slot] = (struct sirix_index_entry){
            .address = revision * 10, .time_us = (int64_t)revision, .branch = revision % 3};
        value = sirix_rows_counters_encode(&row);
        assert_int_equal(value.len, 72 + 24 * (slot + 1));
        assert_int_equal(sirix_rows_counters_decode(sirix_rows_value_view(&value), &read, NULL),
                         SIRIX_OK);
        assert_memory_equal(read.newest, row.newest, (slot + 1) * sizeof(row.newest[0]));
        value.bytes[0] ^= 1; /* Another last revision has another number of entries. */
        assert_int_equal(sirix_rows_counters_decode(sirix_rows_value_view(&value), &read, NULL),
                         SIRIX_CORRUPT);
    }
    value = sirix_rows_index_encode(row.newest);
    for (uint64_t revision = 16; revision < 32; revision++) {
        const struct sirix_index_entry *put = &row.newest[revision % SIRIX_INDEX_RUN];

        assert_int_equal(
            sirix_rows_index_get(sirix_rows_value_view(&value), revision, &entry, NULL), SIRIX_OK);
        assert_int_equal(entry.address, put->address);
        assert_int_equal(entry.time_us, put->time_us);
        assert_int_equal(entry.branch, put->branch);
    }
    value.len -= 24;
    assert_int_equal(sirix_rows_index_get(sirix_rows_value_view(&value), 16, &entry, NULL),
                     SIRIX_CORRUPT);
    value.len = 0;
    assert_int_equal(sirix_rows_index_get(sirix_rows_value_view(&value), 16, &entry, NULL),
                     SIRIX_CORRUPT);
}

static void keys_sort_as_what_they_stand_for(void **state)
{
    const int64_t times[] = {INT64_MIN, -1000, -1, 0, 1, 1700000000000000, INT64_MAX};

    (void)state;
    for (size_t i = 0; i + 1 < sizeof(times) / sizeof(times[0]); i++) {
        struct sirix_rows_key a = sirix_rows_key_move(1, 2, times[i]);
        struct sirix_rows_key b = sirix_rows_key_move(1, 2, times[i + 1]);
        int64_t time_us = 0;

        assert_true(memcmp(a.bytes, b.bytes, a.len) < 0);
        assert_true(sirix_rows_key_move_parse(sirix_rows_key_view(&a), &time_us));
        assert_int_equal(time_us, times[i]);
        a.len--;
        assert_false(sirix_rows_key_move_parse(sirix_rows_key_view(&a), &time_us));
    }
    struct sirix_rows_key upper = sirix_rows_key_label(1, test_name("ABC-x.Z"));
    struct sirix_rows_key lower = sirix_rows_key_label(1, test_name("abc-X.z"));
    assert_true(sirix_bytes_equal(sirix_rows_key_view(&upper), sirix_rows_key_view(&lower)));
    /* No resource's rows lie between another's. */
    struct sirix_rows_key first = sirix_rows_prefix_resource(1);
    struct sirix_rows_key second = sirix_rows_prefix_resource(2);
    struct sirix_rows_key last = sirix_rows_key_tomb(1, test_name("zzz"), INT64_MAX);
    assert_memory_equal(last.bytes, first.bytes, first.len);
    assert_true(memcmp(last.bytes, second.bytes, second.len) < 0);
    first = sirix_rows_prefix_hot(1);
    second = sirix_rows_prefix_hot(2);
    last = sirix_rows_key_head(1, UINT64_MAX);
    assert_memory_equal(last.bytes, first.bytes, first.len);
    assert_true(memcmp(last.bytes, second.bytes, second.len) < 0);
}

static void a_rider_key_of_any_bytes_is_parsed_again(void **state)
{
    char principal[200];
    char key[128];
    struct sirix_bytes out_principal = {0};
    struct sirix_bytes out_key = {0};
    int64_t expires_us = 0;

    (void)state;
    memset(principal, 0xff, sizeof(principal));
    memset(key, 0, sizeof(key));
    struct sirix_rows_key row = sirix_rows_key_rider_expiry(
        12345, (struct sirix_bytes){.data = principal, .len = sizeof(principal)},
        (struct sirix_bytes){.data = key, .len = sizeof(key)});
    assert_true(sirix_rows_key_rider_expiry_parse(sirix_rows_key_view(&row), &expires_us,
                                                  &out_principal, &out_key));
    assert_int_equal(expires_us, 12345);
    assert_int_equal(out_principal.len, sizeof(principal));
    assert_int_equal(out_key.len, sizeof(key));
    row.len = 100; /* Shorter than its principal. */
    assert_false(sirix_rows_key_rider_expiry_parse(sirix_rows_key_view(&row), &expires_us,
                                                   &out_principal, &out_key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_are_read_as_written_and_refused_in_any_other_length),
        cmocka_unit_test(rows_with_impossible_fields_are_refused),
        cmocka_unit_test(counters_hold_the_newest_run_and_a_row_of_the_index_a_whole_one),
        cmocka_unit_test(keys_sort_as_what_they_stand_for),
        cmocka_unit_test(a_rider_key_of_any_bytes_is_parsed_again),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
