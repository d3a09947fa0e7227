/* The canonical form of strings, both ways. */
#include "json/text.h"

#include <string.h>

#include "base/utf8.h"
#include "json/canonical.h"

/* Length of the canonical escape that starts at text[0] == '\\', or 0 if it is not canonical. */
static size_t escape_len(const uint8_t *text, size_t len)
{
    uint8_t canonical[SIRIX_JSON_CANONICAL_BYTES_MAX];
    uint32_t code_point = 0;

    if (len < 2) {
        return 0;
    }
    if (text[1] != 'u') {
        return sirix_json_short_escape(text[1], &code_point) && text[1] != '/' ? 2 : 0;
    }
    if (len < 6 || !sirix_json_hex4(text + 2, &code_point) || code_point >= 0x20) {
        return 0;
    }
    size_t size = sirix_json_canonical(code_point, canonical);
    return size == 6 && memcmp(canonical, text, 6) == 0 ? 6 : 0;
}

/* The code point of a unit (a character or an escape) of valid canonical text, and its length. */
static size_t next_code_point(const uint8_t *text, size_t len, uint32_t *out)
{
    *out = text[0];
    if (text[0] < 0x80 && text[0] != '\\') {
        return 1;
    }
    if (text[0] != '\\') {
        size_t size = sirix_utf8_decode(text, len, out);

        return size == 0 ? 1 : size;
    }
    if (len >= 6 && text[1] == 'u') {
        (void)sirix_json_hex4(text + 2, out);
        return 6;
    }
    if (len >= 2) {
        (void)sirix_json_short_escape(text[1], out);
        return 2;
    }
    return 1;
}

bool sirix_json_text_valid(struct sirix_bytes canonical)
{
    const uint8_t *text = canonical.data;
    size_t len = 1;

    for (size_t at = 0; at < canonical.len && len != 0; at += len) {
        bool is_plain = text[at] >= 0x20 && text[at] != '"';

        len = text[at] == '\\' ? escape_len(text + at, canonical.len - at) : is_plain;
    }
    return len != 0 && sirix_utf8_valid(text, canonical.len, NULL);
}

bool sirix_json_text_has_escapes(struct sirix_bytes canonical)
{
    return canonical.len != 0 && memchr(canonical.data, '\\', canonical.len) != NULL;
}

size_t sirix_json_text_plain_len(struct sirix_bytes canonical)
{
    const uint8_t *text = canonical.data;
    size_t len = canonical.len;

    if (len == 0) {
        return 0; /* Then there may be no address to add to. */
    }
    const uint8_t *end = text + canonical.len;
    while (text < end && (text = memchr(text, '\\', (size_t)(end - text))) != NULL) {
        size_t escape = end - text >= 6 && text[1] == 'u' ? 6 : 2;

        escape = escape > (size_t)(end - text) ? (size_t)(end - text) : escape;
        len -= escape - 1;
        text += escape;
    }
    return len;
}

size_t sirix_json_text_cut(struct sirix_bytes canonical, size_t max)
{
    const uint8_t *text = canonical.data;

    if (max >= canonical.len) {
        return canonical.len;
    }
    size_t cut = sirix_utf8_cut(text, canonical.len, max);
    /* An escape has 6 bytes at most; only a backslash that is not escaped itself starts one. */
    size_t at = cut < 6 ? 0 : cut - 6;
    while (at > 0 && text[at - 1] == '\\') {
        at--;
    }
    while (at < cut) {
        uint32_t code_point = 0;
        size_t len =
            text[at] == '\\' ? next_code_point(text + at, canonical.len - at, &code_point) : 1;

        if (at + len > cut) {
            return at;
        }
        at += len;
    }
    return cut;
}

/* Appends len bytes as they are, and the one behind them as an escape. */
static enum sirix_status append_escaped(struct sirix_buf *buf, const uint8_t *text, size_t len,
                                        struct sirix_error *err)
{
    uint8_t canonical[SIRIX_JSON_CANONICAL_BYTES_MAX];
    size_t canonical_len = sirix_json_canonical(text[len], canonical);
    enum sirix_status status = sirix_buf_append(buf, text, len, err);

    return status == SIRIX_OK ? sirix_buf_append(buf, canonical, canonical_len, err) : status;
}

enum sirix_status sirix_json_text_escape(struct sirix_buf *buf, struct sirix_bytes plain,
                                         struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    size_t before = buf->len;
    size_t span = 0;
    size_t bad = 0;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_utf8_valid(text, plain.len, &bad)) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_JSON_ENCODING,
                                   "invalid UTF-8 at byte %zu of the text", bad);
        sirix_error_set_offset(err, bad);
        return status;
    }
    for (size_t at = 0; at < plain.len && status == SIRIX_OK; at++) {
        if (text[at] < 0x20 || text[at] == '"' || text[at] == '\\') {
            status = append_escaped(buf, text + span, at - span, err);
            span = at + 1;
        }
    }
    if (status == SIRIX_OK && span != plain.len) {
        status = sirix_buf_append(buf, text + span, plain.len - span, err);
    }
    if (status != SIRIX_OK) {
        buf->len = before;
    }
    return status;
}

enum sirix_status sirix_json_text_unescape(struct sirix_buf *buf, struct sirix_bytes canonical,
                                           struct sirix_error *err)
{
    const uint8_t *text = canonical.data;
    const uint8_t *end = canonical.len == 0 ? text : text + canonical.len;
    enum sirix_status status = sirix_buf_reserve(buf, sirix_json_text_plain_len(canonical), err);

    while (status == SIRIX_OK && text < end) {
        const uint8_t *escape = memchr(text, '\\', (size_t)(end - text));
        size_t span = (size_t)((escape == NULL ? end : escape) - text);

        status = sirix_buf_append(buf, text, span, err);
        text += span;
        if (status == SIRIX_OK && text < end) {
            uint8_t plain[SIRIX_UTF8_BYTES_MAX];
            uint32_t code_point = 0;

            text += next_code_point(text, (size_t)(end - text), &code_point);
            status = sirix_buf_append(buf, plain, sirix_utf8_encode(code_point, plain), err);
        }
    }
    return status;
}

/* Runs one of the two above into a buffer and copies the result to the arena. */
static enum sirix_status convert(struct sirix_arena *arena, struct sirix_bytes text,
                                 enum sirix_status (*step)(struct sirix_buf *, struct sirix_bytes,
                                                           struct sirix_error *),
                                 struct sirix_bytes *out, struct sirix_error *err)
{
    struct sirix_buf buf;

    sirix_buf_init(&buf, SIZE_MAX);
    enum sirix_status status = step(&buf, text, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(arena, sirix_buf_view(&buf), out, err);
    }
    sirix_buf_deinit(&buf);
    return status;
}

enum sirix_status sirix_json_text_to_plain(struct sirix_arena *arena, struct sirix_bytes canonical,
                                           struct sirix_bytes *out, struct sirix_error *err)
{
    if (!sirix_json_text_has_escapes(canonical)) {
        *out = canonical;
        return SIRIX_OK;
    }
    return convert(arena, canonical, sirix_json_text_unescape, out, err);
}

enum sirix_status sirix_json_text_to_canonical(struct sirix_arena *arena, struct sirix_bytes plain,
                                               struct sirix_bytes *out, struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    size_t at = 0;

    while (at < plain.len && text[at] >= 0x20 && text[at] < 0x80 && text[at] != '"' &&
           text[at] != '\\') {
        at++;
    }
    if (at == plain.len) {
        *out = plain;
        return SIRIX_OK;
    }
    return convert(arena, plain, sirix_json_text_escape, out, err);
}

int sirix_json_text_compare(struct sirix_bytes a, struct sirix_bytes b)
{
    const uint8_t *left = a.data;
    const uint8_t *right = b.data;
    size_t left_at = 0;
    size_t right_at = 0;

    while (left_at < a.len && right_at < b.len) {
        uint32_t left_point = 0;
        uint32_t right_point = 0;

        left_at += next_code_point(left + left_at, a.len - left_at, &left_point);
        right_at += next_code_point(right + right_at, b.len - right_at, &right_point);
        if (left_point != right_point) {
            return left_point < right_point ? -1 : 1;
        }
    }
    return (left_at < a.len) - (right_at < b.len);
}

enum sirix_status sirix_json_text_show(struct sirix_buf *buf, struct sirix_bytes plain,
                                       struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < plain.len && status == SIRIX_OK; i++) {
        uint8_t shown[SIRIX_JSON_CANONICAL_BYTES_MAX] = {text[i]};
        size_t len = text[i] < 0x20 ? sirix_json_canonical(text[i], shown) : 1;

        status = sirix_buf_append(buf, shown, len, err);
    }
    return status;
}
