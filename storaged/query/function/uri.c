/* Escaping for URIs, and relative references (RFC 3986, section 5.2). */
#include "query/function/support.h"
#include "query/function/tables.h"

enum escaping {
    ESCAPE_FOR_URI, /* All but unreserved characters. */
    ESCAPE_IRI,     /* What an IRI may hold and a URI may not. */
    ESCAPE_HTML,    /* All but printable ASCII. */
};

static bool is_kept(uint8_t c, enum escaping escaping)
{
    bool is_alnum = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');

    switch (escaping) {
    case ESCAPE_FOR_URI:
        return is_alnum || c == '-' || c == '_' || c == '.' || c == '~';
    case ESCAPE_IRI:
        return c > 0x20 && c < 0x7f && strchr("<>\"{}|\\^`", c) == NULL;
    case ESCAPE_HTML:
        return c >= 0x20 && c < 0x7f;
    }
    return false;
}

static enum sirix_status escape(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    struct sirix_bytes text = text_argument(call, 0);
    const uint8_t *bytes = text.data;
    struct sirix_buf buf;
    enum sirix_status status = tick_bytes(call, text.len, err);

    text_buffer_init(&buf);
    for (size_t i = 0; status == SIRIX_OK && i < text.len; i++) {
        char escaped[] = {'%', digits[bytes[i] >> 4], digits[bytes[i] & 15]};
        bool kept = is_kept(bytes[i], (enum escaping)call->function->detail);

        status = kept ? sirix_buf_append_u8(&buf, bytes[i], &err->base)
                      : sirix_buf_append(&buf, escaped, sizeof(escaped), &err->base);
    }
    return give_buffer(call, status, &buf, out, err);
}

/* --- resolve-uri() ---------------------------------------------------------------------------------- */

struct uri {
    struct sirix_bytes scheme;
    struct sirix_bytes authority;
    struct sirix_bytes path;
    struct sirix_bytes query;
    struct sirix_bytes fragment;
    bool has_scheme;
    bool has_authority;
    bool has_query;
    bool has_fragment;
};

static struct sirix_bytes cut(const char *from, const char *to)
{
    return (struct sirix_bytes){.data = from, .len = (size_t)(to - from)};
}

/* The first of the stop characters, or the end. */
static const char *until(const char *at, const char *end, const char *stops)
{
    while (at < end && strchr(stops, *at) == NULL) {
        at++;
    }
    return at;
}

static bool is_scheme(const char *at, const char *end)
{
    bool is_first = true;

    for (; at < end; at++, is_first = false) {
        bool is_letter = (*at >= 'a' && *at <= 'z') || (*at >= 'A' && *at <= 'Z');
        bool is_other = (*at >= '0' && *at <= '9') || *at == '+' || *at == '-' || *at == '.';

        if (!is_letter && (is_first || !is_other)) {
            return false;
        }
    }
    return !is_first;
}

static void take_apart(struct sirix_bytes text, struct uri *to)
{
    const char *at = text.data;
    const char *end = at + text.len;
    const char *stop = until(at, end, ":/?#");

    *to = (struct uri){0};
    if (stop < end && *stop == ':' && is_scheme(at, stop)) {
        to->has_scheme = true;
        to->scheme = cut(at, stop);
        at = stop + 1;
    }
    if (end - at >= 2 && at[0] == '/' && at[1] == '/') {
        stop = until(at + 2, end, "/?#");
        to->has_authority = true;
        to->authority = cut(at + 2, stop);
        at = stop;
    }
    stop = until(at, end, "?#");
    to->path = cut(at, stop);
    at = stop;
    if (at < end && *at == '?') {
        stop = until(at, end, "#");
        to->has_query = true;
        to->query = cut(at + 1, stop);
        at = stop;
    }
    if (at < end) {
        to->has_fragment = true;
        to->fragment = cut(at + 1, end);
    }
}

/* Takes the last segment off what is in the buffer behind start. */
static void drop_segment(struct sirix_buf *buf, size_t start)
{
    while (buf->len > start && buf->data[buf->len - 1] != '/') {
        buf->len--;
    }
    if (buf->len > start) {
        buf->len--;
    }
}

/* remove_dot_segments of the RFC. */
static enum sirix_status append_path(struct sirix_buf *buf, struct sirix_bytes path,
                                     struct sirix_query_error *err)
{
    const char *at = path.data;
    const char *end = path.len == 0 ? at : at + path.len;
    size_t start = buf->len;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && at < end) {
        const char *stop = until(at + 1, end, "/");
        struct sirix_bytes segment = cut(at, stop);
        bool is_up = bytes_are(segment, "/..") || bytes_are(segment, "..");
        bool is_dot = is_up || bytes_are(segment, "/.") || bytes_are(segment, ".");

        if (is_up) {
            drop_segment(buf, start);
        }
        if (!is_dot) {
            status = sirix_buf_append_bytes(buf, segment, &err->base);
        } else if (stop == end && *at == '/') {
            status = sirix_buf_append_u8(buf, '/', &err->base);
        }
        at = stop;
    }
    return status;
}

/* The base's path up to its last slash, and the reference's path. */
static enum sirix_status append_merged(struct sirix_buf *buf, const struct uri *base,
                                       struct sirix_bytes path, struct sirix_query_error *err)
{
    struct sirix_buf merged;
    struct sirix_bytes head = base->path;
    const char *chars = head.data;
    enum sirix_status status = SIRIX_OK;

    while (head.len > 0 && chars[head.len - 1] != '/') {
        head.len--;
    }
    text_buffer_init(&merged);
    if (base->has_authority && base->path.len == 0) {
        status = sirix_buf_append_u8(&merged, '/', &err->base);
    } else {
        status = sirix_buf_append_bytes(&merged, head, &err->base);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&merged, path, &err->base);
    }
    if (status == SIRIX_OK) {
        status = append_path(buf, sirix_buf_view(&merged), err);
    }
    sirix_buf_deinit(&merged);
    return status;
}

static enum sirix_status append_part(struct sirix_buf *buf, bool has, const char *mark,
                                     struct sirix_bytes part, const char *behind,
                                     struct sirix_query_error *err)
{
    if (!has) {
        return SIRIX_OK;
    }
    return sirix_buf_printf(buf, &err->base, "%s%.*s%s", mark, (int)part.len,
                            part.len == 0 ? "" : (const char *)part.data, behind);
}

/* All of the result; base is absolute, reference is not. */
static enum sirix_status resolve(struct sirix_buf *buf, const struct uri *base,
                                 const struct uri *reference, struct sirix_query_error *err)
{
    const struct uri *place = reference->has_authority ? reference : base;
    const char *path = reference->path.data;
    bool keeps_path = !reference->has_authority && reference->path.len == 0;
    bool keeps_query = keeps_path && !reference->has_query;
    enum sirix_status status = append_part(buf, true, "", base->scheme, ":", err);

    if (status == SIRIX_OK) {
        status = append_part(buf, place->has_authority, "//", place->authority, "", err);
    }
    if (status == SIRIX_OK && keeps_path) {
        status = sirix_buf_append_bytes(buf, base->path, &err->base);
    } else if (status == SIRIX_OK && (reference->has_authority || path[0] == '/')) {
        status = append_path(buf, reference->path, err);
    } else if (status == SIRIX_OK) {
        status = append_merged(buf, base, reference->path, err);
    }
    if (status == SIRIX_OK) {
        status = keeps_query
                     ? append_part(buf, base->has_query, "?", base->query, "", err)
                     : append_part(buf, reference->has_query, "?", reference->query, "", err);
    }
    return status != SIRIX_OK
               ? status
               : append_part(buf, reference->has_fragment, "#", reference->fragment, "", err);
}

static bool has_bad_chars(struct sirix_bytes text)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    const uint8_t *bytes = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (bytes[i] <= 0x20 || bytes[i] == 0x7f || strchr("<>\"{}|\\^`", bytes[i]) != NULL) {
            return true;
        }
        bool is_escape = text.len - i >= 3 && strchr(hex, bytes[i + 1]) != NULL &&
                         strchr(hex, bytes[i + 2]) != NULL;

        if (bytes[i] == '%' && !is_escape) {
            return true;
        }
    }
    return text.len > 0 && bytes[0] == ':';
}

static enum sirix_status resolve_uri(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_bytes base_text = text_argument(call, 1);
    struct uri reference;
    struct uri base;
    struct sirix_buf buf;

    if (!has_argument(call, 0)) {
        return give_nothing(out);
    }
    if (has_bad_chars(text) || has_bad_chars(base_text)) {
        return sirix_query_fail(err, "FORG0002", "\"%.*s\" is not a URI",
                                (int)(text.len > 100 ? 100 : text.len), (const char *)text.data);
    }
    take_apart(text, &reference);
    if (!reference.has_scheme && call->argument_count < 2) {
        return sirix_query_fail(err, "FONS0005", "there is no static base URI");
    }
    take_apart(base_text, &base);
    bool base_fits =
        base.has_scheme && !base.has_fragment &&
        (base.has_authority || base.path.len == 0 || *(const char *)base.path.data == '/');
    if (!reference.has_scheme && !base_fits) {
        return sirix_query_fail(err, "FORG0002", "the base URI is not absolute and hierarchical");
    }
    text_buffer_init(&buf);
    enum sirix_status status = reference.has_scheme ? sirix_buf_append_bytes(&buf, text, &err->base)
                                                    : resolve(&buf, &base, &reference, err);
    status = give_buffer(call, status, &buf, out, err);
    if (status == SIRIX_OK) {
        out->items[0].kind = SIRIX_ITEM_ANY_URI;
        out->items[0].type = SIRIX_TYPE_ANY_URI;
    }
    return status;
}

#define ESCAPE(title, which)                                                                       \
    ROW(FN, title, 1, 1, PURE, escape, which, T(STRING, ONE), T(STRING, OPTIONAL))

static const struct sirix_function rows[] = {
    ESCAPE("encode-for-uri", ESCAPE_FOR_URI),
    ESCAPE("iri-to-uri", ESCAPE_IRI),
    ESCAPE("escape-html-uri", ESCAPE_HTML),
    ROW(FN, "resolve-uri", 1, 2, PURE, resolve_uri, 0, T(ANY_URI, OPTIONAL), T(STRING, OPTIONAL),
        T(STRING, ONE)),
};

const struct sirix_function_table sirix_functions_uri = {rows, sizeof(rows) / sizeof(rows[0])};
