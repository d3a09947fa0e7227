/*
 * Strings and names. The text is looked over in spans that are canonical as they stand; only where
 * an escape must be rewritten, or a chunk ends, bytes are copied to the reader's buffer.
 *
 *   buf                    canonical text so far that is no longer (or never was) in the chunk
 *   [span, at)             canonical text behind it, still in the chunk
 *   pending                the first bytes of an escape or character that a chunk's end has cut
 */
#include "base/utf8.h"
#include "json/canonical.h"
#include "json/reader_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

enum { UNIT_BYTES_MAX = 12 }; /* Two \uxxxx. */
/* Every decoded byte may be an escape; the rest is slack for the unit that passes the limit. */
enum { NAME_CANONICAL_MAX = (SIRIX_JSON_NAME_BYTES_MAX + 4) * 6 };

/* One escape or one character that is not ASCII. */
enum unit_result { UNIT_OK, UNIT_SHORT, UNIT_BAD_ESCAPE, UNIT_LONE_SURROGATE, UNIT_BAD_UTF8 };

struct unit {
    uint32_t code_point;
    size_t len;
};

struct scan {
    struct sirix_json_reader *reader;
    const uint8_t *span;
    const uint8_t *at;
    size_t part_max; /* Canonical bytes that buf and span may have together. */
    size_t shrink;   /* Canonical bytes minus decoded bytes, of this part. */
    bool has_escapes;
};

/* The first byte in [at, end) that is a quote, a backslash, a control or not ASCII. */
static inline const uint8_t *find_special(const uint8_t *at, const uint8_t *end)
{
#if defined(__SSE2__)
    const __m128i quote = _mm_set1_epi8('"');
    const __m128i backslash = _mm_set1_epi8('\\');
    const __m128i below_space = _mm_set1_epi8(0x1f);

    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i special =
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash));

        special = _mm_or_si128(special, _mm_cmpeq_epi8(_mm_min_epu8(bytes, below_space), bytes));
        /* A byte that is not ASCII has the top bit that movemask collects. */
        unsigned mask = (unsigned)_mm_movemask_epi8(_mm_or_si128(special, bytes));
        if (mask != 0) {
            return at + __builtin_ctz(mask);
        }
        at += 16;
    }
#endif
    while (at < end && *at >= 0x20 && *at < 0x80 && *at != '"' && *at != '\\') {
        at++;
    }
    return at;
}

/*
 * Passes over valid characters of two and three bytes, which are most of what is not ASCII, while
 * the next 4 bytes surely lie before end. Whatever it stops at gets the full look.
 */
static inline const uint8_t *skip_characters(const uint8_t *at, const uint8_t *end)
{
    while (end - at >= 4) {
        uint32_t first = at[0];
        uint32_t second = at[1];
        uint32_t third = at[2];
        uint32_t code_point = (first & 0x0f) << 12 | (second & 0x3f) << 6 | (third & 0x3f);

        if ((first & 0xf0) == 0xe0 && (second & 0xc0) == 0x80 && (third & 0xc0) == 0x80 &&
            code_point >= 0x800 && (code_point & 0xf800) != 0xd800) {
            at += 3;
        } else if (first >= 0xc2 && first < 0xe0 && (second & 0xc0) == 0x80) {
            at += 2;
        } else {
            break;
        }
    }
    return at;
}

/* Four hex digits, of which `have` are there. */
static enum unit_result look_hex(const uint8_t *text, size_t have, uint32_t *out)
{
    for (size_t i = 0; i < 4 && i < have; i++) {
        if (sirix_json_hex_digit(text[i]) < 0) {
            return UNIT_BAD_ESCAPE;
        }
    }
    return have >= 4 && sirix_json_hex4(text, out) ? UNIT_OK : UNIT_SHORT;
}

static enum unit_result look_surrogate(const uint8_t *text, size_t len, struct unit *unit)
{
    uint32_t low = 0;

    if (unit->code_point >= 0xdc00) {
        return UNIT_LONE_SURROGATE;
    }
    if ((len > 6 && text[6] != '\\') || (len > 7 && text[7] != 'u')) {
        return UNIT_LONE_SURROGATE;
    }
    if (len < 8) {
        return UNIT_SHORT;
    }
    enum unit_result result = look_hex(text + 8, len - 8, &low);
    if (result != UNIT_OK) {
        return result;
    }
    if (low < 0xdc00 || low > 0xdfff) {
        return UNIT_LONE_SURROGATE;
    }
    unit->code_point = 0x10000 + ((unit->code_point - 0xd800) << 10) + (low - 0xdc00);
    unit->len = 12;
    return UNIT_OK;
}

static enum unit_result look_unit(const uint8_t *text, size_t len, struct unit *unit)
{
    if (text[0] != '\\') {
        unit->len = sirix_utf8_decode(text, len, &unit->code_point);
        if (unit->len != 0) {
            return UNIT_OK;
        }
        return sirix_utf8_missing(text, len) != 0 ? UNIT_SHORT : UNIT_BAD_UTF8;
    }
    if (len < 2) {
        return UNIT_SHORT;
    }
    if (text[1] != 'u') {
        unit->len = 2;
        return sirix_json_short_escape(text[1], &unit->code_point) ? UNIT_OK : UNIT_BAD_ESCAPE;
    }
    enum unit_result result = look_hex(text + 2, len - 2, &unit->code_point);
    unit->len = 6;
    if (result == UNIT_OK && unit->code_point >= 0xd800 && unit->code_point <= 0xdfff) {
        result = look_surrogate(text, len, unit);
    }
    return result;
}

static size_t canonical_len(const struct scan *scan)
{
    return scan->reader->buf.len + (size_t)(scan->at - scan->span);
}

static enum sirix_status fail_too_long(struct sirix_json_reader *reader, struct sirix_error *err)
{
    if (reader->token == TOKEN_NAME) {
        return reader_fail(reader, SIRIX_REASON_SIZE_LIMIT, reader->token_offset, err,
                           "a name longer than %d bytes", SIRIX_JSON_NAME_BYTES_MAX);
    }
    return reader_fail(reader, SIRIX_REASON_SIZE_LIMIT, reader->token_offset, err,
                       "a string longer than %zu bytes", reader->options.string_bytes_max);
}

/*
 * A string that is too long already is refused for that, whatever else is wrong behind: the verdict
 * may not depend on where parts and chunks end.
 */
static bool is_too_long(const struct scan *scan)
{
    const struct sirix_json_reader *reader = scan->reader;
    size_t max =
        reader->token == TOKEN_NAME ? SIRIX_JSON_NAME_BYTES_MAX : reader->options.string_bytes_max;

    return canonical_len(scan) - scan->shrink > max - reader->token_plain_before;
}

static enum sirix_status fail_unit(const struct scan *scan, enum unit_result result,
                                   uint64_t offset, struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;

    if (is_too_long(scan)) {
        return fail_too_long(reader, err);
    }
    switch (result) {
    case UNIT_BAD_ESCAPE:
        return reader_fail(reader, SIRIX_REASON_JSON_SYNTAX, offset, err,
                           "not an escape of JSON: expected one of \\\" \\\\ \\/ \\b \\f \\n \\r "
                           "\\t \\uxxxx");
    case UNIT_LONE_SURROGATE:
        return reader_fail(reader, SIRIX_REASON_JSON_ENCODING, offset, err,
                           "half of a surrogate pair, which is no character");
    case UNIT_SHORT:
        return reader_fail(reader, SIRIX_REASON_JSON_TRUNCATED, offset, err,
                           "the text ends inside a string");
    case UNIT_BAD_UTF8:
    case UNIT_OK:
        break;
    }
    return reader_fail(reader, SIRIX_REASON_JSON_ENCODING, offset, err, "invalid UTF-8");
}

/* Moves the span to the buffer; it starts again at next. */
static enum sirix_status flush(struct scan *scan, const uint8_t *next, struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    enum sirix_status status =
        sirix_buf_append(&reader->buf, scan->span, (size_t)(scan->at - scan->span), err);

    if (status != SIRIX_OK) {
        return reader_keep_error(reader, status, err);
    }
    reader->text_changed = true;
    scan->span = next;
    scan->at = next;
    return SIRIX_OK;
}

/* Takes a unit that lies at `text` in the chunk (or, if not in_chunk, in pending). */
static enum sirix_status take_unit(struct scan *scan, const uint8_t *text, const struct unit *unit,
                                   bool in_chunk, struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    uint8_t canonical[SIRIX_JSON_CANONICAL_BYTES_MAX];
    uint8_t plain[SIRIX_UTF8_BYTES_MAX];
    size_t len = sirix_json_canonical(unit->code_point, canonical);

    if (canonical[0] == '\\') {
        scan->has_escapes = true;
        scan->shrink += len - sirix_utf8_encode(unit->code_point, plain);
    }
    if (in_chunk && len == unit->len && memcmp(text, canonical, len) == 0) {
        scan->at += len;
        return SIRIX_OK;
    }
    enum sirix_status status = flush(scan, in_chunk ? text + unit->len : scan->at, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append(&reader->buf, canonical, len, err);
        if (status != SIRIX_OK) {
            status = reader_keep_error(reader, status, err);
        }
    }
    return status;
}

/* Gives what there is as an event; is_over: the closing quote is next. */
static enum sirix_status give(struct scan *scan, bool is_over, struct sirix_json_event *out,
                              struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    bool is_name = reader->token == TOKEN_NAME;
    size_t plain = canonical_len(scan) - scan->shrink;
    struct sirix_bytes text = {.data = scan->span, .len = (size_t)(scan->at - scan->span)};

    if (is_too_long(scan) || (is_name && !is_over)) {
        return fail_too_long(reader, err);
    }
    if (reader->text_changed) {
        enum sirix_status status = flush(scan, scan->at, err);
        if (status != SIRIX_OK) {
            return status;
        }
        text = sirix_buf_view(&reader->buf);
    }
    reader->at = scan->at + (is_over ? 1 : 0);
    out->is_first = !reader->part_open;
    out->is_last = is_over;
    out->kind = is_name ? SIRIX_JSON_NAME : SIRIX_JSON_STRING;
    if (!is_over || reader->part_open) {
        out->kind = SIRIX_JSON_STRING_PART;
    }
    out->text = text;
    out->has_escapes = scan->has_escapes;
    out->plain_len = plain;
    out->offset = reader->token_offset;
    if (is_name) {
        reader_note_name(reader, text, !reader->text_changed);
    }
    if (is_over) {
        reader->token = TOKEN_NONE;
    } else {
        reader->part_open = true;
        reader->token_plain_before += plain;
    }
    return SIRIX_OK;
}

/* The chunk is used up, `left` bytes before its end as part of a unit. */
static enum sirix_status suspend(struct scan *scan, size_t left, struct sirix_json_event *out,
                                 struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;

    if (reader->is_last) {
        return fail_unit(scan, UNIT_SHORT, reader_offset_of(reader, reader->end), err);
    }
    memcpy(reader->pending, scan->at, left);
    reader->pending_len = (uint8_t)left;
    enum sirix_status status = flush(scan, reader->end, err);
    if (status == SIRIX_OK) {
        reader->cut_by_chunk = true;
        reader->token_shrink = scan->shrink;
        reader->token_escapes = scan->has_escapes;
        reader_need_input(reader, out);
    }
    return status;
}

/* Completes the unit that the last chunk's end has cut; *out_short: it is not whole yet. */
static enum sirix_status complete_pending(struct scan *scan, bool *out_short,
                                          struct sirix_json_event *out, struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    size_t had = reader->pending_len;
    size_t room = UNIT_BYTES_MAX - had;
    size_t more = (size_t)(reader->end - scan->at);
    struct unit unit = {0};

    more = more > room ? room : more;
    memcpy(reader->pending + had, scan->at, more);
    enum unit_result result = look_unit(reader->pending, had + more, &unit);
    if (result == UNIT_SHORT) {
        *out_short = true;
        if (reader->is_last) {
            return fail_unit(scan, result, reader_offset_of(reader, reader->end), err);
        }
        reader->pending_len = (uint8_t)(had + more);
        reader_need_input(reader, out);
        return SIRIX_OK;
    }
    if (result != UNIT_OK) {
        return fail_unit(scan, result, reader_offset_of(reader, scan->at) - had, err);
    }
    reader->pending_len = 0;
    scan->at += unit.len - had;
    scan->span = scan->at;
    return take_unit(scan, reader->pending, &unit, false, err);
}

/* Takes the control, character or escape at scan->at; *out_given: an event was given instead. */
static enum sirix_status take_special(struct scan *scan, bool *out_given,
                                      struct sirix_json_event *out, struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    size_t left = (size_t)(reader->end - scan->at);
    uint64_t offset = reader_offset_of(reader, scan->at);
    struct unit unit = {0};

    if (*scan->at < 0x20) {
        return is_too_long(scan)
                   ? fail_too_long(reader, err)
                   : reader_fail(reader, SIRIX_REASON_JSON_SYNTAX, offset, err,
                                 "a control character (0x%02x) that is not escaped in a string",
                                 *scan->at);
    }
    enum unit_result result = look_unit(scan->at, left, &unit);
    if (result == UNIT_SHORT) {
        *out_given = true;
        return suspend(scan, left, out, err);
    }
    if (result != UNIT_OK) {
        return fail_unit(scan, result, offset, err);
    }
    if (*scan->at >= 0x80) {
        scan->at += unit.len; /* A valid character is canonical as it stands. */
        return SIRIX_OK;
    }
    return take_unit(scan, scan->at, &unit, true, err);
}

/* Looks over the string from scan->at until it ends, the part is full or the chunk is used up. */
static enum sirix_status look_over(struct scan *scan, struct sirix_json_event *out,
                                   struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;
    enum sirix_status status = SIRIX_OK;
    bool given = false;

    while (status == SIRIX_OK && !given) {
        size_t room = scan->part_max - canonical_len(scan);
        const uint8_t *limit =
            (size_t)(reader->end - scan->at) > room ? scan->at + room : reader->end;

        scan->at = find_special(scan->at, limit);
        if (scan->at == reader->end) {
            return suspend(scan, 0, out, err);
        }
        if (*scan->at == '"') {
            return give(scan, true, out, err);
        }
        /* A unit is begun only if its canonical form fits for sure. */
        if (scan->part_max - canonical_len(scan) < SIRIX_JSON_CANONICAL_BYTES_MAX) {
            return give(scan, false, out, err);
        }
        const uint8_t *behind = skip_characters(scan->at, limit);
        if (behind == scan->at) {
            status = take_special(scan, &given, out, err);
        } else {
            scan->at = behind;
        }
    }
    return status;
}

/* Goes on with a string: behind a part, or in a new chunk. */
static enum sirix_status go_on(struct sirix_json_reader *reader, struct scan *scan,
                               struct sirix_json_event *out, struct sirix_error *err)
{
    bool is_short = false;

    if (!reader->cut_by_chunk) {
        sirix_buf_clear(&reader->buf);
        reader->text_changed = false;
    } else {
        scan->shrink = reader->token_shrink;
        scan->has_escapes = reader->token_escapes;
    }
    reader->cut_by_chunk = false;
    if (reader->pending_len != 0) {
        enum sirix_status status = complete_pending(scan, &is_short, out, err);
        if (status != SIRIX_OK || is_short) {
            reader->cut_by_chunk = is_short;
            return status;
        }
    }
    return look_over(scan, out, err);
}

static enum sirix_status begin_slowly(struct scan *scan, enum reader_token token,
                                      const uint8_t *start, struct sirix_json_event *out,
                                      struct sirix_error *err)
{
    struct sirix_json_reader *reader = scan->reader;

    reader->token = (uint8_t)token;
    reader->token_offset = reader_offset_of(reader, reader->at);
    reader->token_plain_before = 0;
    reader->part_open = false;
    reader->text_changed = false;
    reader->cut_by_chunk = false;
    reader->pending_len = 0;
    sirix_buf_clear(&reader->buf);
    scan->span = start;
    return look_over(scan, out, err);
}

enum sirix_status reader_string(struct sirix_json_reader *reader, enum reader_token token,
                                struct sirix_json_event *out, struct sirix_error *err)
{
    bool is_name = token == TOKEN_NAME;
    struct scan scan = {
        .reader = reader,
        .span = reader->at,
        .at = reader->at,
        .part_max = is_name ? NAME_CANONICAL_MAX : reader->options.part_bytes_max,
    };

    if (reader->token != TOKEN_NONE) {
        return go_on(reader, &scan, out, err);
    }
    /* Most strings lie in the chunk, are short, and need no second look. */
    const uint8_t *start = reader->at + 1;
    const uint8_t *limit = reader->end;
    size_t fast_max = is_name ? SIRIX_JSON_NAME_BYTES_MAX : scan.part_max;
    if ((size_t)(limit - start) > fast_max) {
        limit = start + fast_max;
    }
    scan.at = find_special(start, limit);
    size_t len = (size_t)(scan.at - start);
    if (scan.at == reader->end || *scan.at != '"' || len > reader->options.string_bytes_max) {
        return begin_slowly(&scan, token, start, out, err);
    }
    out->kind = is_name ? SIRIX_JSON_NAME : SIRIX_JSON_STRING;
    out->has_escapes = false;
    out->is_first = true;
    out->is_last = true;
    out->text = (struct sirix_bytes){.data = start, .len = len};
    out->plain_len = len;
    out->offset = reader_offset_of(reader, reader->at);
    if (is_name) {
        reader_note_name(reader, out->text, true);
    }
    reader->at = scan.at + 1;
    return SIRIX_OK;
}
