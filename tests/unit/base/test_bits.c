/* Byte orders, varints, checksums and hashes, against published values and against each other. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/crc32c.h"
#include "base/endian.h"
#include "base/hash.h"
#include "base/sha256.h"
#include "base/varint.h"

static void integers_have_the_byte_order_that_their_name_says(void **state)
{
    uint8_t bytes[9] = {0};

    (void)state;
    sirix_store_u16le(bytes + 1, 0x0102);
    assert_memory_equal(bytes + 1, "\x02\x01", 2);
    assert_int_equal(sirix_load_u16le(bytes + 1), 0x0102);
    sirix_store_u32le(bytes + 1, 0x01020304);
    assert_memory_equal(bytes + 1, "\x04\x03\x02\x01", 4);
    assert_int_equal(sirix_load_u32le(bytes + 1), 0x01020304);
    sirix_store_u32be(bytes + 1, 0x01020304);
    assert_memory_equal(bytes + 1, "\x01\x02\x03\x04", 4);
    assert_int_equal(sirix_load_u32be(bytes + 1), 0x01020304);
    sirix_store_u64le(bytes + 1, UINT64_C(0x0102030405060708));
    assert_memory_equal(bytes + 1, "\x08\x07\x06\x05\x04\x03\x02\x01", 8);
    assert_true(sirix_load_u64le(bytes + 1) == UINT64_C(0x0102030405060708));
    sirix_store_u64be(bytes + 1, UINT64_C(0x0102030405060708));
    assert_memory_equal(bytes + 1, "\x01\x02\x03\x04\x05\x06\x07\x08", 8);
    assert_true(sirix_load_u64be(bytes + 1) == UINT64_C(0x0102030405060708));
}

static void varints_come_back_and_have_one_form(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        for (int off = -1; off <= 1; off++) {
            uint64_t value = (UINT64_C(1) << bit) + (uint64_t)(int64_t)off;
            uint8_t bytes[SIRIX_VARINT_BYTES_MAX];
            uint64_t back = 0;
            size_t len = sirix_varint_encode(value, bytes);

            assert_int_equal(len, sirix_varint_size(value));
            assert_int_equal(sirix_varint_decode(bytes, sizeof(bytes), &back), len);
            assert_true(back == value);
            for (size_t cut = 0; cut < len; cut++) {
                assert_int_equal(sirix_varint_decode(bytes, cut, &back), 0);
            }
            assert_true(sirix_zigzag_decode(sirix_zigzag_encode((int64_t)value)) == (int64_t)value);
        }
    }
    assert_int_equal(sirix_zigzag_encode(-1), 1);
    assert_int_equal(sirix_zigzag_encode(1), 2);
}

static void malformed_varints_are_refused(void **state)
{
    static const struct {
        const char *why;
        const char *bytes;
        size_t len;
    } CASES[] = {
        {"eleven bytes", "\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 11},
        {"more than 64 bits", "\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02", 10},
        {"a zero too many", "\x80\x00", 2},
        {"a zero behind others", "\xff\x80\x00", 3},
        {"nothing", "", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(CASES) / sizeof(CASES[0]); i++) {
        uint64_t value = 77;
        size_t len = sirix_varint_decode((const uint8_t *)CASES[i].bytes, CASES[i].len, &value);

        if (len != 0 || value != 77) {
            fail_msg("%s: accepted", CASES[i].why);
        }
    }
}

static void crc32c_gives_the_published_values(void **state)
{
    uint8_t bytes[32];

    (void)state;
    assert_int_equal(sirix_crc32c(0, "123456789", 9), 0xe3069283);
    memset(bytes, 0, sizeof(bytes));
    assert_int_equal(sirix_crc32c(0, bytes, 32), 0x8a9136aa);
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(sirix_crc32c(0, bytes, 32), 0x62a8ab43);
    for (size_t i = 0; i < 32; i++) {
        bytes[i] = (uint8_t)i;
    }
    assert_int_equal(sirix_crc32c(0, bytes, 32), 0x46dd794e);
    assert_int_equal(sirix_crc32c(0, NULL, 0), 0);
}

static void crc32c_by_instruction_and_by_tables_agree_whole_and_in_pieces(void **state)
{
    static uint8_t bytes[20000];
    uint32_t seed = 1;

    (void)state;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        seed = seed * 1664525 + 1013904223;
        bytes[i] = (uint8_t)(seed >> 24);
    }
    for (size_t len = 0; len < sizeof(bytes); len = len * 5 / 4 + 1) {
        size_t start = len % 17 < sizeof(bytes) - len ? len % 17 : 0;
        uint32_t whole = sirix_crc32c(7, bytes + start, len);
        uint32_t piece = sirix_crc32c(7, bytes + start, len / 3);

        assert_int_equal(whole, sirix_crc32c_portable(7, bytes + start, len));
        assert_int_equal(whole, sirix_crc32c(piece, bytes + start + len / 3, len - len / 3));
    }
}

static void siphash_gives_the_published_values(void **state)
{
    /* The first and last vectors of the authors' reference, key 00..0f, input 00, 00 01, ... */
    struct sirix_hash_key key;
    uint8_t input[64];

    (void)state;
    for (size_t i = 0; i < 64; i++) {
        input[i] = (uint8_t)i;
        key.bytes[i % SIRIX_HASH_KEY_BYTES] = (uint8_t)(i % SIRIX_HASH_KEY_BYTES);
    }
    assert_true(sirix_hash(&key, NULL, 0) == UINT64_C(0x726fdb47dd0e0e31));
    assert_true(sirix_hash(&key, input, 1) == UINT64_C(0x74f839c593dc67fd));
    assert_true(sirix_hash(&key, input, 15) == UINT64_C(0xa129ca6149be45e5));
    assert_true(sirix_hash(&key, input, 63) == UINT64_C(0x958a324ceb064572));
}

static void sha256_gives_the_published_values(void **state)
{
    uint8_t hash[SIRIX_SHA256_BYTES];
    char hex[SIRIX_SHA256_HEX_BYTES];
    struct sirix_sha256 sha;

    (void)state;
    assert_int_equal(sirix_sha256(NULL, 0, hash, NULL), SIRIX_OK);
    sirix_sha256_hex(hash, hex);
    assert_string_equal(hex, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    assert_int_equal(sirix_sha256_init(&sha, NULL), SIRIX_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(sirix_sha256_update(&sha, "a", 1, NULL), SIRIX_OK);
        assert_int_equal(sirix_sha256_update(&sha, NULL, 0, NULL), SIRIX_OK);
        assert_int_equal(sirix_sha256_update(&sha, "bc", 2, NULL), SIRIX_OK);
        assert_int_equal(sirix_sha256_final(&sha, hash, NULL), SIRIX_OK);
        sirix_sha256_hex(hash, hex);
        assert_string_equal(hex,
                            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    }
    sirix_sha256_deinit(&sha);
    sirix_sha256_deinit(&sha);
    sirix_sha256_deinit(NULL);
}

static void secrets_are_compared_whole(void **state)
{
    (void)state;
    assert_true(sirix_equal_constant_time("abc", "abc", 3));
    assert_false(sirix_equal_constant_time("abc", "abd", 3));
    assert_true(sirix_equal_constant_time(NULL, NULL, 0));
}

static void random_ids_are_hex_and_differ(void **state)
{
    char one[SIRIX_RANDOM_ID_BYTES];
    char other[SIRIX_RANDOM_ID_BYTES];

    (void)state;
    assert_int_equal(sirix_random_id(one, NULL), SIRIX_OK);
    assert_int_equal(sirix_random_id(other, NULL), SIRIX_OK);
    assert_int_equal(strlen(one), 32);
    assert_int_equal(strspn(one, "0123456789abcdef"), 32);
    assert_string_not_equal(one, other);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(integers_have_the_byte_order_that_their_name_says),
        cmocka_unit_test(varints_come_back_and_have_one_form),
        cmocka_unit_test(malformed_varints_are_refused),
        cmocka_unit_test(crc32c_gives_the_published_values),
        cmocka_unit_test(crc32c_by_instruction_and_by_tables_agree_whole_and_in_pieces),
        cmocka_unit_test(siphash_gives_the_published_values),
        cmocka_unit_test(sha256_gives_the_published_values),
        cmocka_unit_test(secrets_are_compared_whole),
        cmocka_unit_test(random_ids_are_hex_and_differ),
    };
    return cmocka_run_group_tests_name("bits", tests, NULL, NULL);
}
