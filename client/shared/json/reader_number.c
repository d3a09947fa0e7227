/*
 * Numbers: one pass over the text that checks the grammar and gathers the value. A number that a
 * chunk's end cuts is gathered in the reader's buffer and then read from there.
 */
#include "json/canonical.h"
#include "json/reader_internal.h"

/* How far a look at a number got. */
enum outcome { DONE, CUT, BAD, TOO_LONG };

struct look {
    const uint8_t *at; /* Behind the number, or the byte that may not stand there. */
    const char *expected;
    uint64_t digits; /* Of whole and fraction together; wraps past 19 and then means nothing. */
    size_t whole_len;
    size_t fraction_len;
    bool negative;
    bool leading_zero;
    bool has_exponent;
};

static inline const uint8_t *take_digits(const uint8_t *at, const uint8_t *end, uint64_t *digits)
{
    while (at < end && (uint8_t)(*at - '0') < 10) {
        *digits = *digits * 10 + (uint64_t)(*at - '0');
        at++;
    }
    return at;
}

/* At least one digit, and a byte behind them unless the input is over. */
static enum outcome some_digits(struct look *look, const uint8_t *end, bool is_last, size_t *len)
{
    const uint8_t *start = look->at;

    look->at = take_digits(look->at, end, &look->digits);
    *len = (size_t)(look->at - start);
    if (look->at == end && !is_last) {
        return CUT;
    }
    look->expected = "a digit";
    return *len == 0 ? BAD : DONE;
}

static enum outcome look_exponent(struct look *look, const uint8_t *end, bool is_last)
{
    size_t len = 0;
    uint64_t digits = look->digits;

    look->has_exponent = true;
    look->at++;
    if (look->at < end && (*look->at == '+' || *look->at == '-')) {
        look->at++;
    }
    enum outcome outcome = some_digits(look, end, is_last, &len);
    look->digits = digits;
    return outcome;
}

/* Reads the number at look->at. */
static enum outcome look_at_number(struct look *look, const uint8_t *end, bool is_last)
{
    enum outcome outcome = DONE;

    look->negative = *look->at == '-';
    look->at += look->negative ? 1 : 0;
    look->leading_zero = look->at < end && *look->at == '0';
    outcome = some_digits(look, end, is_last, &look->whole_len);
    if (look->leading_zero && look->whole_len > 1) {
        look->at -= look->whole_len - 1;
        look->expected = "no digit behind a leading zero";
        return BAD;
    }
    if (outcome != DONE) {
        return outcome;
    }
    if (look->at < end && *look->at == '.') {
        look->at++;
        outcome = some_digits(look, end, is_last, &look->fraction_len);
        if (outcome != DONE) {
            return outcome;
        }
    }
    if (look->at < end && (*look->at | 0x20) == 'e') {
        outcome = look_exponent(look, end, is_last);
    }
    return outcome;
}

/* The class from what was gathered; agrees with sirix_json_number_classify(). */
static struct sirix_json_number number_of(const struct look *look)
{
    struct sirix_json_number number = {.number_class = SIRIX_JSON_NUMBER_TEXT};
    size_t significant = (look->leading_zero ? 0 : look->whole_len) + look->fraction_len;

    if (look->has_exponent || (look->negative && look->digits == 0)) {
        return number;
    }
    if (look->fraction_len != 0) {
        if (significant <= SIRIX_JSON_DECIMAL_DIGITS_MAX) {
            number.number_class = SIRIX_JSON_NUMBER_DECIMAL;
            number.scale = (uint8_t)look->fraction_len;
            number.mantissa = look->negative ? -(int64_t)look->digits : (int64_t)look->digits;
        }
        return number;
    }
    uint64_t limit = look->negative ? (uint64_t)INT64_MAX + 1 : INT64_MAX;
    if (look->whole_len <= 19 && look->digits <= limit) {
        number.number_class = SIRIX_JSON_NUMBER_INTEGER;
        number.mantissa = (int64_t)(look->negative ? 0 - look->digits : look->digits);
    }
    return number;
}

static enum sirix_status fail_number(struct sirix_json_reader *reader, const struct look *look,
                                     bool at_end, uint64_t offset, struct sirix_error *err)
{
    if (at_end) {
        return reader_fail(reader, SIRIX_REASON_JSON_TRUNCATED, offset, err,
                           "the text ends inside a number");
    }
    return reader_fail(reader, SIRIX_REASON_JSON_SYNTAX, offset, err,
                       "not a JSON number: expected %s", look->expected);
}

static enum sirix_status fail_long(struct sirix_json_reader *reader, struct sirix_error *err)
{
    return reader_fail(reader, SIRIX_REASON_SIZE_LIMIT, reader->token_offset, err,
                       "a number longer than %d bytes", SIRIX_JSON_NUMBER_BYTES_MAX);
}

static void give(const struct look *look, struct sirix_bytes text, uint64_t offset,
                 struct sirix_json_event *out)
{
    out->kind = SIRIX_JSON_NUMBER;
    out->text = text;
    out->number = number_of(look);
    out->offset = offset;
}

static bool is_number_byte(uint8_t byte)
{
    return (byte >= '0' && byte <= '9') || byte == '.' || byte == '-' || byte == '+' ||
           (byte | 0x20) == 'e';
}

/* Gathers the bytes of a cut number; *out_whole: it is over. */
static enum sirix_status gather(struct sirix_json_reader *reader, bool *out_whole,
                                struct sirix_error *err)
{
    const uint8_t *from = reader->at;
    const uint8_t *to = from;
    size_t room = SIRIX_JSON_NUMBER_BYTES_MAX - reader->buf.len;

    while (to < reader->end && is_number_byte(*to)) {
        to++;
    }
    if ((size_t)(to - from) > room) {
        return fail_long(reader, err);
    }
    enum sirix_status status = sirix_buf_append(&reader->buf, from, (size_t)(to - from), err);
    if (status != SIRIX_OK) {
        return reader_keep_error(reader, status, err);
    }
    reader->at = to;
    *out_whole = to < reader->end || reader->is_last;
    return SIRIX_OK;
}

static enum sirix_status go_on(struct sirix_json_reader *reader, struct sirix_json_event *out,
                               struct sirix_error *err)
{
    bool whole = false;
    enum sirix_status status = gather(reader, &whole, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (!whole) {
        reader_need_input(reader, out);
        return SIRIX_OK;
    }
    struct look look = {.at = reader->buf.data};
    const uint8_t *end = reader->buf.data + reader->buf.len;
    enum outcome outcome = look_at_number(&look, end, true);
    uint64_t bad = reader->token_offset + (uint64_t)(look.at - reader->buf.data);
    /* Bytes left over: "1-2" or "1e2e3". */
    look.expected = outcome == DONE ? "the end of the number" : look.expected;
    if (outcome != DONE || look.at != end) {
        bool at_end = look.at == end && reader->is_last && reader->at == reader->end;
        return fail_number(reader, &look, at_end, bad, err);
    }
    reader->token = TOKEN_NONE;
    give(&look, sirix_buf_view(&reader->buf), reader->token_offset, out);
    return SIRIX_OK;
}

enum sirix_status reader_number(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                struct sirix_error *err)
{
    struct look look = {.at = reader->at};

    if (reader->token == TOKEN_NUMBER) {
        return go_on(reader, out, err);
    }
    enum outcome outcome = look_at_number(&look, reader->end, reader->is_last);
    uint64_t offset = reader_offset_of(reader, reader->at);
    size_t len = (size_t)(look.at - reader->at);

    if (outcome == CUT) {
        reader->token = TOKEN_NUMBER;
        reader->token_offset = offset;
        sirix_buf_clear(&reader->buf);
        return go_on(reader, out, err);
    }
    if (outcome == BAD) {
        bool at_end = look.at == reader->end;
        return fail_number(reader, &look, at_end, reader_offset_of(reader, look.at), err);
    }
    if (len > SIRIX_JSON_NUMBER_BYTES_MAX) {
        reader->token_offset = offset;
        return fail_long(reader, err);
    }
    give(&look, (struct sirix_bytes){.data = reader->at, .len = len}, offset, out);
    reader->at = look.at;
    return SIRIX_OK;
}
