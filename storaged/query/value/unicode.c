/* Unicode case and normalisation on utf8proc. */
#include "query/value/unicode.h"

#include <utf8proc.h>

#include "base/utf8.h"

/* Upper case of more than one code point (SpecialCasing.txt, the unconditional ones in use today). */
static const struct {
    uint32_t code_point;
    const char *upper;
} specials[] = {
    {0x00df, "SS"},
    {0x0149, "\u02bcN"},
    {0x01f0, "J\u030c"},
    {0x0390, "\u0399\u0308\u0301"},
    {0x03b0, "\u03a5\u0308\u0301"},
    {0x0587, "\u0535\u0552"},
    {0x1e96, "H\u0331"},
    {0x1e97, "T\u0308"},
    {0x1e98, "W\u030a"},
    {0x1e99, "Y\u030a"},
    {0x1e9a, "A\u02be"},
    {0x1f50, "\u03a5\u0313"},
    {0x1fb6, "\u0391\u0342"},
    {0x1fc6, "\u0397\u0342"},
    {0x1fd6, "\u0399\u0342"},
    {0x1fe4, "\u03a1\u0313"},
    {0x1fe6, "\u03a5\u0342"},
    {0x1ff6, "\u03a9\u0342"},
    {0xfb00, "FF"},
    {0xfb01, "FI"},
    {0xfb02, "FL"},
    {0xfb03, "FFI"},
    {0xfb04, "FFL"},
    {0xfb05, "ST"},
    {0xfb06, "ST"},
    {0xfb13, "\u0544\u0546"},
    {0xfb14, "\u0544\u0535"},
    {0xfb15, "\u0544\u053b"},
    {0xfb16, "\u054e\u0546"},
    {0xfb17, "\u0544\u053d"},
};

static const char *special_upper(uint32_t code_point)
{
    for (size_t i = 0; i < sizeof(specials) / sizeof(specials[0]); i++) {
        if (specials[i].code_point == code_point) {
            return specials[i].upper;
        }
    }
    return NULL;
}

static enum sirix_status append(struct sirix_buf *to, uint32_t code_point,
                                struct sirix_query_error *err)
{
    uint8_t bytes[SIRIX_UTF8_BYTES_MAX];

    return sirix_buf_append(to, bytes, sirix_utf8_encode(code_point, bytes), &err->base);
}

static enum sirix_status map_char(uint32_t code_point, bool upper, struct sirix_buf *to,
                                  struct sirix_query_error *err)
{
    const char *special = upper && code_point >= 0x80 ? special_upper(code_point) : NULL;

    if (special != NULL) {
        return sirix_buf_append_str(to, special, &err->base);
    }
    if (!upper && code_point == 0x130) {
        return sirix_buf_append_str(to, "i\u0307", &err->base);
    }
    utf8proc_int32_t mapped = upper ? utf8proc_toupper((utf8proc_int32_t)code_point)
                                    : utf8proc_tolower((utf8proc_int32_t)code_point);
    return append(to, (uint32_t)mapped, err);
}

static enum sirix_status map_case(struct sirix_work *work, struct sirix_bytes text, bool upper,
                                  struct sirix_buf *to, struct sirix_query_error *err)
{
    const uint8_t *at = text.data;
    size_t left = text.len;
    enum sirix_status status = sirix_buf_reserve(to, text.len, &err->base);

    while (status == SIRIX_OK && left > 0) {
        uint32_t code_point = *at;
        size_t len = 1;

        if (code_point < 0x80) {
            bool changes = upper ? code_point >= 'a' && code_point <= 'z'
                                 : code_point >= 'A' && code_point <= 'Z';

            status = sirix_buf_append_u8(to, (uint8_t)(changes ? code_point ^ 0x20 : code_point),
                                         &err->base);
        } else {
            len = sirix_utf8_decode(at, left, &code_point);
            assert(len != 0);
            status = map_char(code_point, upper, to, err);
        }
        at += len;
        left -= len;
        if (status == SIRIX_OK && left % 256 == 0) {
            status = sirix_work_tick(work, 16, err);
        }
    }
    return status;
}

enum sirix_status sirix_text_upper(struct sirix_work *work, struct sirix_bytes text,
                                   struct sirix_buf *to, struct sirix_query_error *err)
{
    return map_case(work, text, true, to, err);
}

enum sirix_status sirix_text_lower(struct sirix_work *work, struct sirix_bytes text,
                                   struct sirix_buf *to, struct sirix_query_error *err)
{
    return map_case(work, text, false, to, err);
}

/* Whether every byte is ASCII, which every form leaves alone. */
static bool is_ascii(struct sirix_bytes text)
{
    const uint8_t *bytes = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] >= 0x80) {
            return false;
        }
    }
    return true;
}

enum sirix_status sirix_text_normalise(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_unicode_form form, struct sirix_buf *to,
                                       struct sirix_query_error *err)
{
    static const utf8proc_option_t options[] = {
        UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT,
    };
    struct sirix_arena_mark mark = sirix_arena_mark(work->scratch);
    void *memory = NULL;
    enum sirix_status status = sirix_work_tick(work, 1 + text.len / 8, err);

    if (status != SIRIX_OK || text.len == 0 || is_ascii(text)) {
        return status != SIRIX_OK ? status : sirix_buf_append_bytes(to, text, &err->base);
    }
    utf8proc_ssize_t count =
        utf8proc_decompose(text.data, (utf8proc_ssize_t)text.len, NULL, 0, options[form]);
    if (count < 0) {
        return sirix_fail(&err->base, SIRIX_INTERNAL, "a string could not be normalised");
    }
    /* reencode() works in place and puts a NUL behind. */
    status = sirix_arena_alloc(work->scratch, ((size_t)count + 1) * sizeof(utf8proc_int32_t),
                               &memory, &err->base);
    if (status == SIRIX_OK) {
        count =
            utf8proc_decompose(text.data, (utf8proc_ssize_t)text.len, memory, count, options[form]);
        count = count < 0 ? count : utf8proc_reencode(memory, count, options[form]);
        status = count < 0
                     ? sirix_fail(&err->base, SIRIX_INTERNAL, "a string could not be normalised")
                     : sirix_buf_append(to, memory, (size_t)count, &err->base);
    }
    sirix_arena_rewind(work->scratch, mark);
    return status;
}
