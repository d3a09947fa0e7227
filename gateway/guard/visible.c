/* Making text visible, and wrapping it. */
#include "guard/visible.h"

#include <string.h>

#include "base/hash.h"
#include "base/utf8.h"
#include "json/canonical.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/* In rising order. */
static const struct range hidden[] = {
    {0x0000, 0x0008}, {0x000b, 0x001f}, {0x007f, 0x009f},   {0x00ad, 0x00ad},   {0x034f, 0x034f},
    {0x061c, 0x061c}, {0x115f, 0x1160}, {0x17b4, 0x17b5},   {0x180b, 0x180f},   {0x200b, 0x200f},
    {0x2028, 0x202e}, {0x2060, 0x206f}, {0x3164, 0x3164},   {0xfe00, 0xfe0f},   {0xfeff, 0xfeff},
    {0xffa0, 0xffa0}, {0xfff0, 0xfffb}, {0x1bca0, 0x1bca3}, {0x1d173, 0x1d17a}, {0xe0000, 0xe0fff},
};

static bool is_hidden(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof(hidden) / sizeof(hidden[0]); i++) {
        if (code_point < hidden[i].first) {
            return false;
        }
        if (code_point <= hidden[i].last) {
            return true;
        }
    }
    return false;
}

static bool is_joiner(uint32_t code_point)
{
    return code_point == 0x200c || code_point == 0x200d;
}

/* One code point of a canonical text, and how many bytes it takes. */
static size_t decode(const uint8_t *at, size_t left, uint32_t *out_code_point)
{
    if (at[0] != '\\') {
        return sirix_utf8_decode(at, left, out_code_point);
    }
    if (left >= 2 && at[1] != 'u') {
        return sirix_json_short_escape(at[1], out_code_point) ? 2 : 0;
    }
    return left >= 6 && sirix_json_hex4(at + 2, out_code_point) ? 6 : 0;
}

/* Whether a hidden character is one that scripts and emoji need there. */
static bool may_stay(uint32_t code_point, uint32_t before, const uint8_t *after, size_t after_len)
{
    uint32_t next = 0;
    bool has_next = after_len != 0 && decode(after, after_len, &next) != 0;
    /* A keycap is a digit, a selector and U+20E3. */
    bool is_keycap = has_next && next == 0x20e3;

    if (code_point == '\r') {
        return has_next && next == '\n';
    }
    if (code_point == 0xfe0e || code_point == 0xfe0f) {
        return is_keycap || (before > 0x7f && !is_hidden(before));
    }
    return is_joiner(code_point) && before > 0x7f && (!is_hidden(before) || before == 0xfe0f) &&
           has_next && next > 0x7f && !is_hidden(next);
}

/* The text up to a hidden character, then that as <U+202E>. */
static enum sirix_status show_one(struct sirix_buf *out, const uint8_t *clean, size_t clean_len,
                                  uint32_t code_point, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append(out, clean, clean_len, err);

    return status == SIRIX_OK ? sirix_buf_printf(out, err, "<U+%04X>", (unsigned)code_point)
                              : status;
}

enum sirix_status sirix_visible_append(struct sirix_buf *out, struct sirix_bytes canonical,
                                       size_t code_points_max, bool show,
                                       struct sirix_visible *result, struct sirix_error *err)
{
    const uint8_t *text = canonical.data;
    struct sirix_visible done = {0};
    size_t clean = 0; /* Start of the bytes that go out as they are. */
    uint32_t before = 0;
    enum sirix_status status = SIRIX_OK;

    while (done.taken < canonical.len && done.code_points < code_points_max && status == SIRIX_OK) {
        uint32_t code_point = 0;
        size_t len = decode(text + done.taken, canonical.len - done.taken, &code_point);

        if (len == 0) {
            return sirix_fail(err, SIRIX_INTERNAL, "a text is not canonical at byte %zu",
                              done.taken);
        }
        if (show && is_hidden(code_point) &&
            !may_stay(code_point, before, text + done.taken + len,
                      canonical.len - done.taken - len)) {
            status = show_one(out, text + clean, done.taken - clean, code_point, err);
            clean = done.taken + len;
            done.was_changed = true;
        }
        before = code_point;
        done.taken += len;
        done.code_points++;
    }
    if (status == SIRIX_OK && done.taken > clean) {
        status = sirix_buf_append(out, text + clean, done.taken - clean, err);
    }
    if (status == SIRIX_OK) {
        done.is_cut = done.taken < canonical.len;
        *result = done;
    }
    return status;
}

enum sirix_status sirix_visible_wrap(struct sirix_buf *out, const char *notice,
                                     struct sirix_bytes data, struct sirix_error *err)
{
    char random[SIRIX_RANDOM_ID_BYTES];
    enum sirix_status status = SIRIX_OK;

    do {
        status = sirix_random_id(random, err);
        if (status != SIRIX_OK) {
            return status;
        }
    } while (data.len != 0 && memmem(data.data, data.len, random, strlen(random)) != NULL);
    status = sirix_buf_printf(out, err, "%s\n<database-content-%s>\n", notice, random);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(out, data, err);
    }
    return status == SIRIX_OK ? sirix_buf_printf(out, err, "\n</database-content-%s>", random)
                              : status;
}
