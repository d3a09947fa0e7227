/* One code point in the canonical form of json/text.h, and the pieces of escapes. Internal. */
#ifndef SIRIX_JSON_CANONICAL_H
#define SIRIX_JSON_CANONICAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/utf8.h"

enum { SIRIX_JSON_CANONICAL_BYTES_MAX = 6 };

/* What `\` and letter stand for; false when that is no escape. `\/` is one, though not canonical. */
static inline bool sirix_json_short_escape(uint8_t letter, uint32_t *out_code_point)
{
    switch (letter) {
    case '"':
    case '\\':
    case '/':
        *out_code_point = letter;
        return true;
    case 'b':
        *out_code_point = '\b';
        return true;
    case 'f':
        *out_code_point = '\f';
        return true;
    case 'n':
        *out_code_point = '\n';
        return true;
    case 'r':
        *out_code_point = '\r';
        return true;
    case 't':
        *out_code_point = '\t';
        return true;
    default:
        return false;
    }
}

static inline int sirix_json_hex_digit(uint8_t byte)
{
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    if (byte >= 'a' && byte <= 'f') {
        return byte - 'a' + 10;
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

/* Four hex digits. */
static inline bool sirix_json_hex4(const uint8_t *text, uint32_t *out_value)
{
    uint32_t value = 0;

    for (int i = 0; i < 4; i++) {
        int digit = sirix_json_hex_digit(text[i]);

        if (digit < 0) {
            return false;
        }
        value = value << 4 | (uint32_t)digit;
    }
    *out_value = value;
    return true;
}

/* Writes a code point as it stands in a canonical string; returns the length, 1..6. */
static inline size_t sirix_json_canonical(uint32_t code_point,
                                          uint8_t to[SIRIX_JSON_CANONICAL_BYTES_MAX])
{
    static const char digits[] = "0123456789abcdef";
    static const char letters[] = "\0\0\0\0\0\0\0\0btn\0fr"; /* By code point from 0. */

    if (code_point >= 0x20 && code_point != '"' && code_point != '\\') {
        return sirix_utf8_encode(code_point, to);
    }
    to[0] = '\\';
    if (code_point >= 0x20) {
        to[1] = (uint8_t)code_point;
        return 2;
    }
    if (code_point < sizeof(letters) - 1 && letters[code_point] != '\0') {
        to[1] = (uint8_t)letters[code_point];
        return 2;
    }
    to[1] = 'u';
    to[2] = '0';
    to[3] = '0';
    to[4] = (uint8_t)digits[code_point >> 4];
    to[5] = (uint8_t)digits[code_point & 15];
    return 6;
}

#endif
