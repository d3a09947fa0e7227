/* What stored text has encoded. */
#include "guard/suspicion_decode.h"

#include <stdbool.h>
#include <stddef.h>

#include "json/canonical.h"

enum {
    ENCODED_MIN = 20, /* Characters of an encoded run that are worth a look. */
    DECODED_MAX = 16 * 1024,
};

enum sirix_status sirix_suspicion_put(struct sirix_buf *out, uint32_t c, struct sirix_error *err)
{
    uint8_t bytes[4];
    size_t len = 0;

    if (c < 0x80) {
        bytes[len++] = (uint8_t)c;
    } else if (c < 0x800) {
        bytes[len++] = (uint8_t)(0xc0 | c >> 6);
    } else if (c < 0x10000) {
        bytes[len++] = (uint8_t)(0xe0 | c >> 12);
        bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 63));
    } else {
        bytes[len++] = (uint8_t)(0xf0 | c >> 18);
        bytes[len++] = (uint8_t)(0x80 | (c >> 12 & 63));
        bytes[len++] = (uint8_t)(0x80 | (c >> 6 & 63));
    }
    if (c >= 0x80) {
        bytes[len++] = (uint8_t)(0x80 | (c & 63));
    }
    return sirix_buf_append(out, bytes, len, err);
}

/* --- Runs -------------------------------------------------------------------------------------- */

static int digit64(uint8_t c)
{
    return c >= 'A' && c <= 'Z'   ? c - 'A'
           : c >= 'a' && c <= 'z' ? c - 'a' + 26
           : c >= '0' && c <= '9' ? c - '0' + 52
           : c == '+' || c == '-' ? 62
           : c == '/' || c == '_' ? 63
                                  : -1;
}

static enum sirix_status decode_hex(struct sirix_bytes run, struct sirix_buf *out,
                                    struct sirix_error *err)
{
    const uint8_t *text = run.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 1; i < run.len && status == SIRIX_OK; i += 2) {
        const unsigned high = (unsigned)sirix_json_hex_digit(text[i - 1]);
        const unsigned low = (unsigned)sirix_json_hex_digit(text[i]);

        status = sirix_buf_append_u8(out, (uint8_t)(high << 4 | low), err);
    }
    return status;
}

static enum sirix_status decode_base64(struct sirix_bytes run, struct sirix_buf *out,
                                       struct sirix_error *err)
{
    const uint8_t *text = run.data;
    uint32_t bits = 0;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < run.len && status == SIRIX_OK; i++) {
        bits = bits << 6 | (uint32_t)digit64(text[i]);
        if (i % 4 != 0) {
            status = sirix_buf_append_u8(out, (uint8_t)(bits >> (6 - 2 * (i % 4))), err);
        }
    }
    return status;
}

enum sirix_status sirix_suspicion_decode_runs(struct sirix_bytes plain, struct sirix_buf *out,
                                              struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t at = 0; at < plain.len && status == SIRIX_OK && out->len < DECODED_MAX;) {
        size_t len = 0;
        bool is_hex = true;

        while (at + len < plain.len && digit64(text[at + len]) >= 0) {
            is_hex &= sirix_json_hex_digit(text[at + len]) >= 0;
            len++;
        }
        if (len >= ENCODED_MIN) {
            const struct sirix_bytes run = {.data = text + at, .len = len};

            status = is_hex ? decode_hex(run, out, err) : decode_base64(run, out, err);
        }
        if (len >= ENCODED_MIN && status == SIRIX_OK) {
            status = sirix_buf_append_u8(out, '\n', err);
        }
        at += len + 1;
    }
    return status;
}

/* --- Escapes ----------------------------------------------------------------------------------- */

/* So many digits of base 16; false: they are not there. */
static bool take_hex(const uint8_t *at, size_t left, size_t digits, uint32_t *out)
{
    uint32_t c = 0;

    if (left < digits) {
        return false;
    }
    for (size_t i = 0; i < digits; i++) {
        const int digit = sirix_json_hex_digit(at[i]);

        if (digit < 0) {
            return false;
        }
        c = c << 4 | (uint32_t)digit;
    }
    *out = c;
    return true;
}

/* &#73; or &#x49; at a place; how long it is, or 0. */
static size_t take_reference(const uint8_t *at, size_t left, uint32_t *out)
{
    const bool is_hex = at[2] == 'x' || at[2] == 'X';
    uint32_t c = 0;
    size_t i = is_hex ? 3 : 2;

    for (; i < left && i < 10 && at[i] != ';'; i++) {
        const int digit = sirix_json_hex_digit(at[i]);

        if (digit < 0 || (!is_hex && digit > 9)) {
            return 0;
        }
        c = c * (is_hex ? 16 : 10) + (uint32_t)digit;
    }
    *out = c;
    return i < left && at[i] == ';' && c < 0x110000 ? i + 1 : 0;
}

/* One of %49, &#73;, &#x49;, \u0049, \x49 at a place; how long it is, or 0. */
static size_t take_escape(const uint8_t *at, size_t left, uint32_t *out)
{
    if (left >= 3 && at[0] == '%') {
        return take_hex(at + 1, left - 1, 2, out) ? 3 : 0;
    }
    if (left >= 4 && at[0] == '&' && at[1] == '#') {
        return take_reference(at, left, out);
    }
    if (left >= 4 && at[0] == '\\' && (at[1] == 'u' || at[1] == 'x')) {
        const size_t digits = at[1] == 'u' ? 4 : 2;

        return take_hex(at + 2, left - 2, digits, out) ? 2 + digits : 0;
    }
    return 0;
}

enum sirix_status sirix_suspicion_decode_escapes(struct sirix_bytes plain, struct sirix_buf *out,
                                                 struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(out);
    for (size_t at = 0; at < plain.len && status == SIRIX_OK;) {
        uint32_t c = 0;
        const size_t len = take_escape(text + at, plain.len - at, &c);

        count += len != 0;
        status = len == 0          ? sirix_buf_append_u8(out, text[at], err)
                 : text[at] == '%' ? sirix_buf_append_u8(out, (uint8_t)c, err)
                                   : sirix_suspicion_put(out, c, err);
        at += len == 0 ? 1 : len;
    }
    if (count < 4) {
        sirix_buf_clear(out);
    }
    return status;
}
