/*
 * UTF-8 as the standard has it: no overlong forms, no surrogates, nothing past U+10FFFF. Any code
 * point that is left is valid, U+0000 and noncharacters included.
 */
#ifndef SIRIX_BASE_UTF8_H
#define SIRIX_BASE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { SIRIX_UTF8_BYTES_MAX = 4, SIRIX_CODE_POINT_MAX = 0x10ffff };

/* Whether all of it is valid; if not and out_bad is given, where the first bad sequence starts. */
bool sirix_utf8_valid(const void *text, size_t len, size_t *out_bad);

/*
 * Reads one code point from len > 0 bytes: returns how many bytes it took (1..4), or 0 when they
 * are not valid or end within a character (sirix_utf8_missing() tells these apart).
 */
size_t sirix_utf8_decode(const void *text, size_t len, uint32_t *out_code_point);

/* How many bytes are missing when text is the beginning of a valid character; 0 if it is not. */
size_t sirix_utf8_missing(const void *text, size_t len);

/* Writes a code point (<= SIRIX_CODE_POINT_MAX, no surrogate) and returns its length, 1..4. */
size_t sirix_utf8_encode(uint32_t code_point, uint8_t to[SIRIX_UTF8_BYTES_MAX]);

/* The largest length <= at (at <= len) that does not cut a character of valid text. */
size_t sirix_utf8_cut(const void *text, size_t len, size_t at);

/* The number of code points in valid text. */
size_t sirix_utf8_count(const void *text, size_t len);

/* ASCII letters to lower case, every other byte as it is: for names, which are ASCII. */
void sirix_ascii_fold(const void *text, size_t len, char *to);

/* Whether two texts are equal but for the case of ASCII letters. */
bool sirix_ascii_equal_fold(const void *a, size_t a_len, const void *b, size_t b_len);

#endif
