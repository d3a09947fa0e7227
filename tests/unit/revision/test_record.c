/* Revision records: their bytes, their chain, and the depths that jumps lead to. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>

#include "store/revision/internal.h"
#include "unit/revision/support.h"

/* --- Records -------------------------------------------------------------------------------------- */

static struct sirix_record sample(void)
{
    struct sirix_record record = {
        .revision = 10,
        .time_us = 123,
        .parent_revision = 9,
        .parent_address = 900,
        .jump_revision = 7,
        .jump_address = 700,
        .depth = 8,
        .branch_id = 3,
        .trie = {.root = 55, .height = 4},
        .next_key = 640,
        .node_count = 12,
        .text_bytes = 99,
        .adopted_from = 2,
        .adoptions = 1,
        .segment_count = 1,
        .author = test_name("somebody"),
        .message = test_name("why it was done"),
    };

    memset(record.body, 1, sizeof(record.body));
    memset(record.chain, 2, sizeof(record.chain));
    return record;
}

static void a_record_is_read_as_written_and_no_shorter(void **state)
{
    const struct sirix_record record = sample();
    size_t len = sirix_record_bytes(record.author.len, record.message.len);
    struct sirix_record read;

    (void)state;
    assert_int_equal(len % 8, 0);
    for (size_t have = 0; have <= len; have++) {
        uint8_t *bytes = malloc(len);

        assert_non_null(bytes);
        sirix_record_encode(&record, bytes);
        uint8_t *cut = realloc(bytes, have == 0 ? 1 : have);
        assert_non_null(cut);
        enum sirix_status status =
            sirix_record_decode((struct sirix_bytes){.data = cut, .len = have}, &read, NULL);
        assert_int_equal(status, have == len ? SIRIX_OK : SIRIX_CORRUPT);
        if (status == SIRIX_OK) {
            assert_int_equal(read.revision, 10);
            assert_int_equal(read.jump_address, 700);
            assert_int_equal(read.trie.height, 4);
            assert_int_equal(read.adoptions, 1);
            assert_true(sirix_bytes_equal(read.author, record.author));
            assert_true(sirix_bytes_equal(read.message, record.message));
            assert_memory_equal(read.body, record.body, sizeof(read.body));
            assert_memory_equal(read.chain, record.chain, sizeof(read.chain));
        }
        free(cut);
    }
}

/* Whatever stands there, decode answers; the sanitizers look on. */
static void no_record_of_random_bytes_breaks_the_decoder(void **state)
{
    const struct sirix_record record = sample();
    uint8_t bytes[256];
    size_t len = sirix_record_bytes(record.author.len, record.message.len);
    struct test_rev f = {.random = 5};

    (void)state;
    assert_true(len <= sizeof(bytes));
    for (int i = 0; i < 20000; i++) {
        struct sirix_record read;

        sirix_record_encode(&record, bytes);
        for (uint64_t n = 1 + test_rev_random(&f, 4); n > 0; n--) {
            bytes[test_rev_random(&f, len)] = (uint8_t)test_rev_random(&f, 256);
        }
        enum sirix_status status =
            sirix_record_decode((struct sirix_bytes){.data = bytes, .len = len}, &read, NULL);
        if (status == SIRIX_OK) {
            assert_true(read.revision > read.parent_revision);
            assert_true(read.author.len + read.message.len <= len - 192);
        }
    }
}

static void impossible_records_are_refused_by_the_field(void **state)
{
    struct {
        const char *field;
        size_t offset;
        uint64_t value;
    } cases[] = {
        {"type", 0, 0},
        {"revision", 8, 0},
        {"parent", 24, 10},
        {"parent", 32, 0},
        {"jump", 40, 10},
        {"height", 60, 15},
        {"adopted from", 104, 10},
        {"adoptions", 112, 9},
        {"secondary", 120, 1},
        {"length", 4, 4097},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        const struct sirix_record record = sample();
        struct sirix_record read;
        struct sirix_error err = {0};
        uint8_t bytes[256];
        size_t len = sirix_record_bytes(record.author.len, record.message.len);

        sirix_record_encode(&record, bytes);
        for (size_t j = 0; j < (cases[i].offset % 8 == 4 ? 4 : 8); j++) {
            bytes[cases[i].offset + j] = (uint8_t)(cases[i].value >> (8 * j));
        }
        assert_int_equal(
            sirix_record_decode((struct sirix_bytes){.data = bytes, .len = len}, &read, &err),
            SIRIX_CORRUPT);
        if (strstr(err.text, cases[i].field) == NULL) {
            fail_msg("%s: %s", cases[i].field, err.text);
        }
    }
}

static void the_chain_vouches_for_every_field(void **state)
{
    const struct sirix_record record = sample();
    struct sirix_record other = record;
    uint8_t parent[SIRIX_HASH_BYTES] = {1};
    uint8_t chain[SIRIX_HASH_BYTES];
    uint8_t changed[SIRIX_HASH_BYTES];

    (void)state;
    assert_int_equal(sirix_record_chain(&record, parent, chain, NULL), SIRIX_OK);
    memset(other.chain, 77, sizeof(other.chain)); /* Its own slot is not part of it. */
    assert_int_equal(sirix_record_chain(&other, parent, changed, NULL), SIRIX_OK);
    assert_memory_equal(chain, changed, sizeof(chain));

    uint64_t *numbers[] = {&other.revision,      &other.parent_revision, &other.parent_address,
                           &other.jump_revision, &other.jump_address,    &other.branch_id,
                           &other.trie.root,     &other.next_key,        &other.node_count,
                           &other.text_bytes,    &other.adopted_from};
    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        *numbers[i] += 1;
        assert_int_equal(sirix_record_chain(&other, parent, changed, NULL), SIRIX_OK);
        assert_memory_not_equal(chain, changed, sizeof(chain));
        *numbers[i] -= 1;
    }
    other.message = test_name("why it was donE");
    assert_int_equal(sirix_record_chain(&other, parent, changed, NULL), SIRIX_OK);
    assert_memory_not_equal(chain, changed, sizeof(chain));
    other.message = record.message;
    other.author = test_name("someb0dy");
    assert_int_equal(sirix_record_chain(&other, parent, changed, NULL), SIRIX_OK);
    assert_memory_not_equal(chain, changed, sizeof(chain));
    assert_int_equal(sirix_record_chain(&record, NULL, changed, NULL), SIRIX_OK);
    assert_memory_not_equal(chain, changed, sizeof(chain));
}

/* --- Jumps ---------------------------------------------------------------------------------------- */

static void jumps_are_skew_binary_and_reach_any_depth_in_few_steps(void **state)
{
    static uint32_t jump[200001];

    (void)state;
    jump[0] = 0;
    for (uint32_t d = 1; d <= 200000; d++) {
        uint32_t p = d - 1;

        jump[d] = p - jump[p] == jump[p] - jump[jump[p]] && p != 0 ? jump[jump[p]] : p;
        assert_int_equal(sirix_jump_depth(d), jump[d]);
    }
    for (uint32_t to = 0; to < 200000; to += 997) {
        uint32_t at = 200000;
        int steps = 0;

        while (at > to) {
            at = jump[at] >= to ? jump[at] : at - 1;
            steps++;
        }
        assert_in_range(steps, 1, 3 * 18);
    }
    assert_int_equal(sirix_jump_depth(UINT32_MAX), 0);
    assert_int_equal(sirix_jump_depth(UINT32_MAX - 1), INT32_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_record_is_read_as_written_and_no_shorter),
        cmocka_unit_test(no_record_of_random_bytes_breaks_the_decoder),
        cmocka_unit_test(impossible_records_are_refused_by_the_field),
        cmocka_unit_test(the_chain_vouches_for_every_field),
        cmocka_unit_test(jumps_are_skew_binary_and_reach_any_depth_in_few_steps),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
