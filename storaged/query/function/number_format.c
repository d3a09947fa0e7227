/* format-integer(). */
#include "query/function/integer_picture.h"
#include "query/function/support.h"
#include "query/function/tables.h"

/* --- format-integer() ---------------------------------------------------------------------------------- */

/* The picture's token and, behind its last semicolon, whether it asks for ordinals. */
static enum sirix_status take_picture(struct sirix_bytes picture, struct sirix_bytes *token,
                                      bool *ordinal, struct sirix_query_error *err)
{
    const char *chars = picture.data;
    size_t semicolon = picture.len;

    for (size_t i = picture.len; i > 0 && semicolon == picture.len; i--) {
        semicolon = chars[i - 1] == ';' ? i - 1 : picture.len;
    }
    *token = (struct sirix_bytes){.data = chars, .len = semicolon};
    *ordinal = semicolon + 1 < picture.len && chars[semicolon + 1] == 'o';
    bool bad_modifier = semicolon + 1 < picture.len && strchr("coat", chars[semicolon + 1]) == NULL;
    if (token->len == 0 || bad_modifier) {
        return sirix_query_fail(err, "FODF1310", "\"%.*s\" is not a picture of a number",
                                (int)(picture.len > 60 ? 60 : picture.len), chars);
    }
    return SIRIX_OK;
}

static enum sirix_status integer(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item value = argument(call, 0);
    struct sirix_bytes token = {0};
    struct sirix_bytes digits = {0};
    struct sirix_buf buf;
    bool ordinal = false;

    if (value.kind == SIRIX_ITEM_NONE) {
        return give_text(call, literal_bytes(""), out, err);
    }
    enum sirix_status status = take_picture(text_argument(call, 1), &token, &ordinal, err);
    if (status == SIRIX_OK) {
        status = sirix_item_text(call->work, value, &digits, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    bool negative = *(const char *)digits.data == '-';

    if (negative) {
        digits = (struct sirix_bytes){.data = (const char *)digits.data + 1, .len = digits.len - 1};
    }
    text_buffer_init(&buf);
    status = format_integer(digits, negative, token, ordinal, &buf, err);
    return give_buffer(call, status, &buf, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "format-integer", 2, 3, PURE, integer, 0, T(STRING, ONE), T(INTEGER, OPTIONAL),
        T(STRING, ONE), T(STRING, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_number_format = {rows,
                                                                   sizeof(rows) / sizeof(rows[0])};
