/* Checking goes 8 ASCII bytes a step, and by a table of first bytes elsewhere. */
#include "base/utf8.h"

#include <string.h>

#include "base/endian.h"

/* What a first byte promises: length, and the range of the second byte; later ones are 80..BF. */
struct first_byte {
    uint8_t len;
    uint8_t second_min;
    uint8_t second_max;
};

static struct first_byte first_byte_of(uint8_t byte)
{
    if (byte < 0x80) {
        return (struct first_byte){1, 0, 0};
    }
    if (byte < 0xc2 || byte > 0xf4) {
        return (struct first_byte){0, 0, 0};
    }
    if (byte < 0xe0) {
        return (struct first_byte){2, 0x80, 0xbf};
    }
    if (byte < 0xf0) {
        return (struct first_byte){3, byte == 0xe0 ? 0xa0 : 0x80, byte == 0xed ? 0x9f : 0xbf};
    }
    return (struct first_byte){4, byte == 0xf0 ? 0x90 : 0x80, byte == 0xf4 ? 0x8f : 0xbf};
}

/* How many bytes of the sequence that starts here are as they should be, up to its length. */
static size_t good_bytes(struct first_byte first, const uint8_t *at, size_t len)
{
    size_t good = 1;

    if (first.len == 0) {
        return 0;
    }
    if (first.len > 1 && len > 1) {
        if (at[1] < first.second_min || at[1] > first.second_max) {
            return 1;
        }
        good = 2;
        while (good < first.len && good < len && (at[good] & 0xc0) == 0x80) {
            good++;
        }
    }
    return good;
}

static size_t skip_ascii(const uint8_t *bytes, size_t len, size_t at)
{
    while (len - at >= 8 && (sirix_load_u64le(bytes + at) & UINT64_C(0x8080808080808080)) == 0) {
        at += 8;
    }
    while (at < len && bytes[at] < 0x80) {
        at++;
    }
    return at;
}

bool sirix_utf8_valid(const void *text, size_t len, size_t *out_bad)
{
    const uint8_t *bytes = text;

    for (size_t at = skip_ascii(bytes, len, 0); at < len; at = skip_ascii(bytes, len, at)) {
        struct first_byte first = first_byte_of(bytes[at]);

        bool is_good = first.len != 0 && good_bytes(first, bytes + at, len - at) == first.len;

        if (!is_good && out_bad != NULL) {
            *out_bad = at;
        }
        if (!is_good) {
            return false;
        }
        at += first.len;
    }
    return true;
}

size_t sirix_utf8_decode(const void *text, size_t len, uint32_t *out_code_point)
{
    const uint8_t *bytes = text;
    struct first_byte first = first_byte_of(bytes[0]);
    uint32_t code_point = bytes[0];

    if (first.len == 0 || good_bytes(first, bytes, len) != first.len) {
        return 0;
    }
    if (first.len > 1) {
        code_point &= 0x7fu >> first.len;
        for (size_t i = 1; i < first.len; i++) {
            code_point = (code_point << 6) | (bytes[i] & 0x3f);
        }
    }
    *out_code_point = code_point;
    return first.len;
}

size_t sirix_utf8_missing(const void *text, size_t len)
{
    const uint8_t *bytes = text;

    if (len == 0) {
        return 0;
    }
    struct first_byte first = first_byte_of(bytes[0]);

    if (len >= first.len || good_bytes(first, bytes, len) != len) {
        return 0;
    }
    return first.len - len;
}

size_t sirix_utf8_encode(uint32_t code_point, uint8_t to[SIRIX_UTF8_BYTES_MAX])
{
    if (code_point < 0x80) {
        to[0] = (uint8_t)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        to[0] = (uint8_t)(0xc0 | (code_point >> 6));
        to[1] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 2;
    }
    if (code_point < 0x10000) {
        to[0] = (uint8_t)(0xe0 | (code_point >> 12));
        to[1] = (uint8_t)(0x80 | ((code_point >> 6) & 0x3f));
        to[2] = (uint8_t)(0x80 | (code_point & 0x3f));
        return 3;
    }
    to[0] = (uint8_t)(0xf0 | (code_point >> 18));
    to[1] = (uint8_t)(0x80 | ((code_point >> 12) & 0x3f));
    to[2] = (uint8_t)(0x80 | ((code_point >> 6) & 0x3f));
    to[3] = (uint8_t)(0x80 | (code_point & 0x3f));
    return 4;
}

size_t sirix_utf8_cut(const void *text, size_t len, size_t at)
{
    const uint8_t *bytes = text;

    if (at >= len) {
        return len;
    }
    while (at > 0 && (bytes[at] & 0xc0) == 0x80) {
        at--;
    }
    return at;
}

size_t sirix_utf8_count(const void *text, size_t len)
{
    const uint8_t *bytes = text;
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        count += (bytes[i] & 0xc0) != 0x80;
    }
    return count;
}

static uint8_t fold(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + ('a' - 'A')) : byte;
}

void sirix_ascii_fold(const void *text, size_t len, char *to)
{
    const uint8_t *bytes = text;

    for (size_t i = 0; i < len; i++) {
        to[i] = (char)fold(bytes[i]);
    }
}

bool sirix_ascii_equal_fold(const void *a, size_t a_len, const void *b, size_t b_len)
{
    const uint8_t *left = a;
    const uint8_t *right = b;

    if (a_len != b_len) {
        return false;
    }
    for (size_t i = 0; i < a_len; i++) {
        if (fold(left[i]) != fold(right[i])) {
            return false;
        }
    }
    return true;
}
