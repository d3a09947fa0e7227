/* URI templates. */
#include "mcp/uri.h"

#include <ctype.h>
#include <string.h>

#include "base/utf8.h"
#include "json/canonical.h"

bool sirix_uri_is_template(const char *text)
{
    return strchr(text, '{') != NULL;
}

/* A segment decoded; *out_good is false when it is no proper text. */
static enum sirix_status decode(struct sirix_arena *arena, const char *segment, size_t len,
                                bool *out_good, struct sirix_bytes *out, struct sirix_error *err)
{
    const struct sirix_bytes raw = {.data = segment, .len = len};
    char *text = NULL;
    size_t done = 0;
    enum sirix_status status = sirix_arena_c_str(arena, raw, &text, err);

    *out_good = len != 0;
    for (size_t i = 0; i < len && *out_good && status == SIRIX_OK; i++) {
        int high = 0;
        int low = 0;

        if (segment[i] != '%') {
            text[done++] = segment[i];
            continue;
        }
        high = i + 2 < len ? sirix_json_hex_digit((uint8_t)segment[i + 1]) : -1;
        low = i + 2 < len ? sirix_json_hex_digit((uint8_t)segment[i + 2]) : -1;
        *out_good = high >= 0 && low >= 0 && (high != 0 || low != 0);
        if (*out_good) {
            text[done++] = (char)(high << 4 | low);
            i += 2;
        }
    }
    if (status == SIRIX_OK && *out_good) {
        text[done] = '\0';
        *out_good = memchr(text, '\0', done) == NULL && sirix_utf8_valid(text, done, NULL);
        *out = (struct sirix_bytes){.data = text, .len = done};
    }
    return status;
}

enum sirix_status sirix_uri_match(struct sirix_arena *arena, const char *uri_template,
                                  struct sirix_bytes uri, bool *out_matches,
                                  struct sirix_uri_values *out_values, struct sirix_error *err)
{
    struct sirix_uri_values values = {.count = 0};
    const char *at = uri.data;
    const char *end = at + uri.len;
    enum sirix_status status = SIRIX_OK;
    bool matches = uri.len <= SIRIX_URI_BYTES_MAX;

    while (*uri_template != '\0' && matches && status == SIRIX_OK) {
        if (*uri_template != '{') {
            matches = at < end && *at == *uri_template;
            at += matches;
            uri_template++;
            continue;
        }
        const char *slash = memchr(at, '/', (size_t)(end - at));
        const char *stop = slash == NULL ? end : slash;
        matches = values.count < SIRIX_URI_VALUES_MAX;
        if (matches) {
            status =
                decode(arena, at, (size_t)(stop - at), &matches, &values.items[values.count], err);
            values.count++;
        }
        at = stop;
        uri_template += strcspn(uri_template, "}") + 1;
    }
    if (status == SIRIX_OK) {
        *out_matches = matches && at == end;
        *out_values = values;
    }
    return status;
}

static enum sirix_status encode(struct sirix_buf *out, struct sirix_bytes value,
                                struct sirix_error *err)
{
    const unsigned char *at = value.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < value.len && status == SIRIX_OK; i++) {
        status = isalnum(at[i]) || (at[i] != '\0' && strchr("-._~", at[i]) != NULL)
                     ? sirix_buf_append_u8(out, at[i], err)
                     : sirix_buf_printf(out, err, "%%%02X", at[i]);
    }
    return status;
}

enum sirix_status sirix_uri_expand(struct sirix_buf *out, const char *uri_template,
                                   const struct sirix_bytes *values, size_t count,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t used = 0;

    while (*uri_template != '\0' && status == SIRIX_OK) {
        if (*uri_template != '{') {
            status = sirix_buf_append_u8(out, (uint8_t)*uri_template++, err);
        } else if (used == count) {
            status = sirix_fail(err, SIRIX_INTERNAL, "a template has more variables than values");
        } else {
            status = encode(out, values[used++], err);
            uri_template += strcspn(uri_template, "}") + 1;
        }
    }
    return status;
}
