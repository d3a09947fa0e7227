/* Case, normalisation, code points. */
#include "base/utf8.h"
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/unicode.h"

/* upper-case() and, detail 1, lower-case(). */
static enum sirix_status letter_case(struct sirix_call *call, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_buf buf;

    text_buffer_init(&buf);
    enum sirix_status status = call->function->detail == 0
                                   ? sirix_text_upper(call->work, text, &buf, err)
                                   : sirix_text_lower(call->work, text, &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

/* The name of a form, in any case and with white space around it. */
static bool find_form(struct sirix_bytes name, enum sirix_unicode_form *out)
{
    static const char *const names[] = {"NFC", "NFD", "NFKC", "NFKD"};
    const char *chars = name.data;

    while (name.len > 0 && (*chars == ' ' || *chars == '\t' || *chars == '\n' || *chars == '\r')) {
        chars++;
        name.len--;
    }
    while (name.len > 0 && (chars[name.len - 1] == ' ' || chars[name.len - 1] == '\n')) {
        name.len--;
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (sirix_ascii_equal_fold(chars, name.len, names[i], strlen(names[i]))) {
            *out = (enum sirix_unicode_form)i;
            return true;
        }
    }
    return false;
}

static bool is_blank(struct sirix_bytes text)
{
    const char *chars = text.data;

    for (size_t i = 0; i < text.len; i++) {
        if (chars[i] != ' ' && chars[i] != '\t' && chars[i] != '\n' && chars[i] != '\r') {
            return false;
        }
    }
    return true;
}

static enum sirix_status normalize_unicode(struct sirix_call *call, struct sirix_sequence *out,
                                           struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_bytes name =
        call->argument_count > 1 ? text_argument(call, 1) : literal_bytes("NFC");
    enum sirix_unicode_form form = SIRIX_UNICODE_NFC;
    struct sirix_buf buf;

    if (is_blank(name)) {
        return give_text(call, text, out, err);
    }
    if (!find_form(name, &form)) {
        return sirix_query_fail(err, "FOCH0003", "there is no normalisation form \"%.*s\"",
                                (int)(name.len > 40 ? 40 : name.len), (const char *)name.data);
    }
    text_buffer_init(&buf);
    enum sirix_status status = sirix_text_normalise(call->work, text, form, &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

/* What XML calls a character. */
static bool is_char(int64_t code_point)
{
    if (code_point < 0x20) {
        return code_point == '\t' || code_point == '\n' || code_point == '\r';
    }
    return code_point <= SIRIX_CODE_POINT_MAX && !(code_point >= 0xd800 && code_point <= 0xdfff) &&
           code_point != 0xfffe && code_point != 0xffff;
}

static enum sirix_status codepoints_to_string(struct sirix_call *call, struct sirix_sequence *out,
                                              struct sirix_query_error *err)
{
    struct sirix_buf buf;
    enum sirix_status status = SIRIX_OK;

    text_buffer_init(&buf);
    while (status == SIRIX_OK) {
        struct sirix_item item = {0};
        uint8_t bytes[SIRIX_UTF8_BYTES_MAX];

        status = next_input(call, &item, err);
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK &&
            (item.kind != SIRIX_ITEM_INTEGER || !is_char(item.value.integer))) {
            status = sirix_query_fail(err, "FOCH0001", "%s is no code point of a character",
                                      item.kind == SIRIX_ITEM_INTEGER ? "the number"
                                                                      : "a number that large");
        }
        if (status == SIRIX_OK) {
            size_t len = sirix_utf8_encode((uint32_t)item.value.integer, bytes);

            status = sirix_buf_append(&buf, bytes, len, &err->base);
        }
    }
    return give_buffer(call, status, &buf, out, err);
}

static enum sirix_status string_to_codepoints(struct sirix_call *call, struct sirix_sequence *out,
                                              struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_sequence codes = {0};
    const uint8_t *at = text.data;
    size_t left = text.len;
    enum sirix_status status =
        sirix_sequence_reserve(call->work, &codes, sirix_utf8_count(text.data, text.len), err);

    while (status == SIRIX_OK && left > 0) {
        uint32_t code_point = 0;
        size_t len = sirix_utf8_decode(at, left, &code_point);

        assert(len != 0);
        at += len;
        left -= len;
        status = sirix_sequence_append(call->work, &codes, sirix_item_integer(code_point), err);
        if (status == SIRIX_OK) {
            status = sirix_work_tick(call->work, 1, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = codes;
    }
    return status;
}

static const struct sirix_function rows[] = {
    ROW(FN, "upper-case", 1, 1, PURE, letter_case, 0, T(STRING, ONE), T(STRING, OPTIONAL)),
    ROW(FN, "lower-case", 1, 1, PURE, letter_case, 1, T(STRING, ONE), T(STRING, OPTIONAL)),
    ROW(FN, "normalize-unicode", 1, 2, PURE, normalize_unicode, 0, T(STRING, ONE),
        T(STRING, OPTIONAL), T(STRING, ONE)),
    ROW(FN, "codepoints-to-string", 1, 1, PURE | STREAMS, codepoints_to_string, 0, T(STRING, ONE),
        T(INTEGER, MANY)),
    ROW(FN, "string-to-codepoints", 1, 1, PURE, string_to_codepoints, 0, T(INTEGER, MANY),
        T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_text = {rows, sizeof(rows) / sizeof(rows[0])};
