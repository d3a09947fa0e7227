/* Casts from a string. */
#include "query/value/cast_text.h"

#include <math.h>
#include <string.h>

#include "base/utf8.h"
#include "query/value/datetime.h"
#include "query/value/number.h"
#include "query/value/xml_names.h"

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

struct sirix_bytes sirix_text_trim(struct sirix_bytes text)
{
    const char *chars = text.data;

    while (text.len > 0 && is_space(chars[0])) {
        chars++;
        text.len--;
    }
    while (text.len > 0 && is_space(chars[text.len - 1])) {
        text.len--;
    }
    text.data = chars;
    return text;
}

enum sirix_status sirix_cast_bad_text(struct sirix_bytes text, enum sirix_type type,
                                      struct sirix_query_error *err)
{
    size_t len = text.len > 60 ? sirix_utf8_cut(text.data, text.len, 60) : text.len;

    return sirix_query_fail(err, "FORG0001", "\"%.*s\"%s is not of type %s%s", (int)len,
                            len == 0 ? "" : (const char *)text.data, len < text.len ? "..." : "",
                            type == SIRIX_TYPE_NULL ? "" : "xs:", sirix_type_name(type));
}

/* --- String types ------------------------------------------------------------------------------------------ */

/* xs:normalizedString replaces white space by blanks; xs:token also makes runs of them one. */
static enum sirix_status normalise(struct sirix_work *work, struct sirix_bytes text, bool collapse,
                                   struct sirix_bytes *out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, text.len, &memory, &err->base);
    const char *from = text.data;
    char *to = memory;
    size_t len = 0;

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < text.len; i++) {
        bool space = is_space(from[i]);
        bool repeats = collapse && space && len > 0 && to[len - 1] == ' ';

        to[len] = from[i];
        if (space) {
            to[len] = ' ';
        }
        len += repeats ? 0 : 1;
    }
    *out = (struct sirix_bytes){.data = to, .len = len};
    if (collapse) {
        *out = sirix_text_trim(*out);
    }
    return SIRIX_OK;
}

/* A name of the kind: all characters of names, the first one too unless it is a token. */
static bool is_xml_name(struct sirix_bytes text, bool is_token, bool allow_colon)
{
    const uint8_t *at = text.data;
    size_t left = text.len;

    for (bool first = true; left > 0; first = false) {
        uint32_t code_point = 0;
        size_t len = sirix_utf8_decode(at, left, &code_point);
        bool good = len != 0 &&
                    (sirix_xml_is_name_start(code_point) || (allow_colon && code_point == ':') ||
                     ((is_token || !first) && sirix_xml_is_name_char(code_point)));

        if (!good) {
            return false;
        }
        at += len;
        left -= len;
    }
    return text.len != 0;
}

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* [a-zA-Z]{1,8}(-[a-zA-Z0-9]{1,8})* */
static bool is_language(struct sirix_bytes text)
{
    const char *chars = text.data;
    size_t part = 0;
    bool is_first = true;

    for (size_t i = 0; i < text.len; i++) {
        bool is_dash = chars[i] == '-';
        bool is_digit = !is_first && chars[i] >= '0' && chars[i] <= '9';

        part = is_dash ? part : part + 1;
        if ((is_dash && part == 0) || part > 8 || (!is_dash && !is_letter(chars[i]) && !is_digit)) {
            return false;
        }
        if (is_dash) {
            part = 0;
            is_first = false;
        }
    }
    return part != 0;
}

enum sirix_status sirix_cast_string(struct sirix_work *work, struct sirix_bytes text,
                                    enum sirix_type type, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    bool good = true;
    enum sirix_status status = SIRIX_OK;
    struct sirix_bytes whole = text;

    if (type != SIRIX_TYPE_STRING) {
        status = normalise(work, text, type != SIRIX_TYPE_NORMALIZED_STRING, &text, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    switch (type) {
    case SIRIX_TYPE_LANGUAGE:
        good = is_language(text);
        break;
    case SIRIX_TYPE_NMTOKEN:
        good = is_xml_name(text, true, true);
        break;
    case SIRIX_TYPE_NAME:
        good = is_xml_name(text, false, true);
        break;
    case SIRIX_TYPE_NCNAME:
    case SIRIX_TYPE_ID:
    case SIRIX_TYPE_IDREF:
    case SIRIX_TYPE_ENTITY:
        good = is_xml_name(text, false, false);
        break;
    default:
        break;
    }
    if (!good) {
        return sirix_cast_bad_text(whole, type, err);
    }
    *out = sirix_item_string(text);
    out->type = (uint8_t)type;
    return SIRIX_OK;
}

/* --- Numbers ------------------------------------------------------------------------------------------------- */

static const char *skip_sign(const char *at, const char *end)
{
    return at < end && (*at == '+' || *at == '-') ? at + 1 : at;
}

static const char *skip_digits(const char *at, const char *end)
{
    while (at < end && *at >= '0' && *at <= '9') {
        at++;
    }
    return at;
}

/* [+-]?digits, with a point (.5 and 5. too) and an exponent if those are allowed. */
static bool is_number(struct sirix_bytes text, bool allow_point, bool allow_exponent)
{
    const char *end = (const char *)text.data + text.len;
    const char *start = skip_sign(text.data, end);
    const char *at = skip_digits(start, end);
    size_t digits = (size_t)(at - start);

    if (allow_point && at < end && *at == '.') {
        start = ++at;
        at = skip_digits(at, end);
        digits += (size_t)(at - start);
    }
    if (digits == 0 || at == end) {
        return digits != 0;
    }
    if (!allow_exponent || (*at != 'e' && *at != 'E')) {
        return false;
    }
    start = skip_sign(at + 1, end);
    at = skip_digits(start, end);
    return at == end && at > start;
}

static bool is_word(struct sirix_bytes text, const char *word)
{
    return text.len == strlen(word) && memcmp(text.data, word, text.len) == 0;
}

/* A number's text as a double, however many digits it has and without an exponent too. */
static enum sirix_status read_double(struct sirix_work *work, struct sirix_bytes text, double *out,
                                     struct sirix_query_error *err)
{
    bool has_exponent =
        memchr(text.data, 'e', text.len) != NULL || memchr(text.data, 'E', text.len) != NULL;
    struct sirix_item item = {0};
    char *made = NULL;

    if (!has_exponent) { /* So that it is not read as an exact number. */
        enum sirix_status status = sirix_arena_printf(work->arena, &made, &err->base, "%.*se0",
                                                      (int)text.len, (const char *)text.data);

        if (status != SIRIX_OK) {
            return status;
        }
        text = (struct sirix_bytes){.data = made, .len = strlen(made)};
    }
    enum sirix_status status = sirix_number_parse(work, text, false, &item, err);
    if (status == SIRIX_OK) {
        *out = item.value.number;
    }
    return status;
}

static enum sirix_status floating(struct sirix_work *work, struct sirix_bytes text,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    double value = 0;
    enum sirix_status status = SIRIX_OK;

    if (is_word(text, "NaN")) {
        value = (double)NAN;
    } else if (is_word(text, "INF") || is_word(text, "+INF")) {
        value = HUGE_VAL;
    } else if (is_word(text, "-INF")) {
        value = -HUGE_VAL;
    } else if (text.len == 0 || !is_number(text, true, true)) {
        return sirix_cast_bad_text(text, type, err);
    } else {
        status = read_double(work, text, &value, err);
    }
    if (status == SIRIX_OK) {
        *out = type == SIRIX_TYPE_FLOAT ? sirix_item_float((float)value) : sirix_item_double(value);
    }
    return status;
}

static enum sirix_status exact(struct sirix_work *work, struct sirix_bytes text,
                               enum sirix_type type, struct sirix_item *out,
                               struct sirix_query_error *err)
{
    bool is_decimal = type == SIRIX_TYPE_DECIMAL;

    if (text.len == 0 || !is_number(text, is_decimal, false)) {
        return sirix_cast_bad_text(text, type, err);
    }
    return sirix_decimal_from_digits(
        work, text, 0, is_decimal ? SIRIX_TYPE_DECIMAL : SIRIX_TYPE_INTEGER, out, err);
}

/* --- Binary ---------------------------------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9') {
        return c - '0';
    }
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static enum sirix_status hex(struct sirix_work *work, struct sirix_bytes text,
                             struct sirix_item *out, struct sirix_query_error *err)
{
    const char *chars = text.data;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, text.len / 2, &memory, &err->base);
    uint8_t *to = memory;

    if (status != SIRIX_OK) {
        return status;
    }
    for (size_t i = 0; i < text.len; i += 2) {
        int high = hex_digit(chars[i]);
        int low = i + 1 < text.len ? hex_digit(chars[i + 1]) : -1;

        if (high < 0 || low < 0) {
            return sirix_cast_bad_text(text, SIRIX_TYPE_HEX_BINARY, err);
        }
        to[i / 2] = (uint8_t)(high << 4 | low);
    }
    *out = (struct sirix_item){.kind = SIRIX_ITEM_HEX,
                               .type = SIRIX_TYPE_HEX_BINARY,
                               .len = (uint32_t)(text.len / 2),
                               .value.text = memory};
    return SIRIX_OK;
}

static int base64_digit(char c)
{
    if (c >= 'A' && c <= 'Z') {
        return c - 'A';
    }
    if (c >= 'a' && c <= 'z') {
        return c - 'a' + 26;
    }
    if (c >= '0' && c <= '9') {
        return c - '0' + 52;
    }
    return c == '+' ? 62 : c == '/' ? 63 : -1;
}

/* The digits read so far of a base64 text. */
struct base64_reader {
    uint8_t *to;
    size_t len;
    uint32_t bits;
    unsigned digits;
    unsigned padding;
};

/* One character that is no white space; false when it may not stand here. */
static bool take_base64(struct base64_reader *reader, char c)
{
    static const uint32_t dropped[] = {0, 0xff, 0xffff};
    int digit = base64_digit(c);
    bool is_padding = c == '=' && reader->digits % 4 >= 2;

    if (!is_padding && (digit < 0 || reader->padding != 0)) {
        return false;
    }
    reader->padding += is_padding ? 1 : 0;
    reader->bits = reader->bits << 6 | (is_padding ? 0 : (uint32_t)digit);
    reader->digits++;
    if (reader->digits % 4 != 0) {
        return true;
    }
    bool is_clean = (reader->bits & dropped[reader->padding]) == 0;

    for (unsigned i = 0; i < 3 - reader->padding; i++) {
        reader->to[reader->len++] = (uint8_t)(reader->bits >> (16 - 8 * i));
    }
    reader->bits = 0;
    return is_clean;
}

/* Groups of four with blanks anywhere; bits that padding drops are zero. */
static enum sirix_status base64(struct sirix_work *work, struct sirix_bytes text,
                                struct sirix_item *out, struct sirix_query_error *err)
{
    const char *chars = text.data;
    struct base64_reader reader = {0};
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(work->arena, text.len / 4 * 3 + 3, &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    reader.to = memory;
    for (size_t i = 0; i < text.len; i++) {
        if (!is_space(chars[i]) && !take_base64(&reader, chars[i])) {
            return sirix_cast_bad_text(text, SIRIX_TYPE_BASE64_BINARY, err);
        }
    }
    if (reader.digits % 4 != 0) {
        return sirix_cast_bad_text(text, SIRIX_TYPE_BASE64_BINARY, err);
    }
    *out = (struct sirix_item){.kind = SIRIX_ITEM_BASE64,
                               .type = SIRIX_TYPE_BASE64_BINARY,
                               .len = (uint32_t)reader.len,
                               .value.text = memory};
    return SIRIX_OK;
}

/* --- All of them ------------------------------------------------------------------------------------------------- */

static enum sirix_status boolean(struct sirix_bytes text, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    bool is_true = is_word(text, "true") || is_word(text, "1");

    if (!is_true && !is_word(text, "false") && !is_word(text, "0")) {
        return sirix_cast_bad_text(text, SIRIX_TYPE_BOOLEAN, err);
    }
    *out = sirix_item_boolean(is_true);
    return SIRIX_OK;
}

/* A name without a prefix: what a prefix means is not known here. */
static enum sirix_status qname(struct sirix_work *work, struct sirix_bytes text,
                               struct sirix_item *out, struct sirix_query_error *err)
{
    void *memory = NULL;

    if (text.len != 0 && memchr(text.data, ':', text.len) != NULL) {
        return sirix_query_fail(err, "FONS0004", "the prefix of \"%.*s\" is not bound here",
                                (int)(text.len > 60 ? 60 : text.len), (const char *)text.data);
    }
    if (!is_xml_name(text, false, false)) {
        return sirix_cast_bad_text(text, SIRIX_TYPE_QNAME, err);
    }
    enum sirix_status status =
        sirix_arena_calloc(work->arena, 1, sizeof(struct sirix_qname), &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    ((struct sirix_qname *)memory)->local = text;
    *out = (struct sirix_item){
        .kind = SIRIX_ITEM_QNAME, .type = SIRIX_TYPE_QNAME, .value.qname = memory};
    return SIRIX_OK;
}

enum sirix_status sirix_cast_from_text(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_type type, struct sirix_item *out,
                                       struct sirix_query_error *err)
{
    struct sirix_bytes whole = text;

    text = sirix_text_trim(text);
    switch (sirix_type_primitive(type)) {
    case SIRIX_TYPE_NULL:
        if (!is_word(text, "null")) {
            return sirix_cast_bad_text(text, type, err);
        }
        *out = sirix_item_null();
        return SIRIX_OK;
    case SIRIX_TYPE_BOOLEAN:
        return boolean(text, out, err);
    case SIRIX_TYPE_STRING:
        return sirix_cast_string(work, whole, type, out, err);
    case SIRIX_TYPE_UNTYPED:
        *out = sirix_item_string(whole);
        out->kind = SIRIX_ITEM_UNTYPED;
        out->type = SIRIX_TYPE_UNTYPED;
        return SIRIX_OK;
    case SIRIX_TYPE_ANY_URI: {
        enum sirix_status status = normalise(work, text, true, &text, err);

        *out = sirix_item_string(text);
        out->kind = SIRIX_ITEM_ANY_URI;
        out->type = SIRIX_TYPE_ANY_URI;
        return status;
    }
    case SIRIX_TYPE_QNAME:
        return qname(work, text, out, err);
    case SIRIX_TYPE_DOUBLE:
    case SIRIX_TYPE_FLOAT:
        return floating(work, text, type, out, err);
    case SIRIX_TYPE_DECIMAL:
    case SIRIX_TYPE_INTEGER:
        return exact(work, text, type, out, err);
    case SIRIX_TYPE_DURATION:
    case SIRIX_TYPE_YEAR_MONTH_DURATION:
    case SIRIX_TYPE_DAY_TIME_DURATION:
        return sirix_duration_parse(work, text, type, out, err);
    case SIRIX_TYPE_HEX_BINARY:
        return hex(work, text, out, err);
    case SIRIX_TYPE_BASE64_BINARY:
        return base64(work, text, out, err);
    case SIRIX_TYPE_ERROR:
        return sirix_cast_bad_text(text, type, err);
    default:
        return sirix_datetime_parse(text, type, out, err);
    }
}
