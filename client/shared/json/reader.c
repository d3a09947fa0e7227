/*
 * The grammar: which token may come, by a state and a stack of open containers. Strings, numbers
 * and the stack have files of their own.
 */
#include "json/reader.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/reader_internal.h"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static const uint8_t nothing[1]; /* Where an empty chunk lies. */
static const uint8_t bom[] = {0xef, 0xbb, 0xbf};

struct literal {
    const char *text;
    size_t len;
    enum sirix_json_event_kind kind;
};

static const struct literal literals[] = {
    {"true", 4, SIRIX_JSON_TRUE},
    {"false", 5, SIRIX_JSON_FALSE},
    {"null", 4, SIRIX_JSON_NULL},
};

/* --- White space ------------------------------------------------------------------------------ */

static inline bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

static const uint8_t *skip_spaces(const uint8_t *at, const uint8_t *end)
{
#if defined(__SSE2__)
    while (end - at >= 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)at);
        __m128i spaces = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8(' ')),
                                      _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\n')));

        spaces = _mm_or_si128(spaces, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\t')));
        spaces = _mm_or_si128(spaces, _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\r')));
        unsigned others = (unsigned)_mm_movemask_epi8(spaces) ^ 0xffffu;
        if (others != 0) {
            return at + __builtin_ctz(others);
        }
        at += 16;
    }
#endif
    while (at < end && is_space(*at)) {
        at++;
    }
    return at;
}

/* --- Errors ----------------------------------------------------------------------------------- */

static enum sirix_status fail_expected(struct sirix_json_reader *reader, const char *expected,
                                       struct sirix_error *err)
{
    uint64_t offset = reader_offset_of(reader, reader->at);

    if (reader->at == reader->end) {
        return reader_fail(reader, SIRIX_REASON_JSON_TRUNCATED, offset, err,
                           "the text ends too early: expected %s", expected);
    }
    if (*reader->at > 0x20 && *reader->at < 0x7f) {
        return reader_fail(reader, SIRIX_REASON_JSON_SYNTAX, offset, err, "expected %s, found '%c'",
                           expected, *reader->at);
    }
    return reader_fail(reader, SIRIX_REASON_JSON_SYNTAX, offset, err,
                       "expected %s, found byte 0x%02x", expected, *reader->at);
}

static const char *expected_in(const struct sirix_json_reader *reader)
{
    switch ((enum reader_state)reader->state) {
    case STATE_VALUE_OR_END:
        return "a value or ']'";
    case STATE_NAME_OR_END:
        return "a name in double quotes or '}'";
    case STATE_NAME:
        return "a name in double quotes";
    case STATE_COLON:
        return "':'";
    case STATE_COMMA_OR_END:
        return reader->levels[reader->depth - 1].is_object ? "',' or '}'" : "',' or ']'";
    case STATE_TAIL:
    case STATE_END:
        return "the end of the text";
    case STATE_START:
    case STATE_VALUE:
    case STATE_RECORD:
        break;
    }
    return "a value";
}

/* --- Structure -------------------------------------------------------------------------------- */

/* The state behind a whole value. */
static inline void value_is_over(struct sirix_json_reader *reader)
{
    if (reader->depth == 0) {
        reader->state = STATE_TAIL;
    } else if (reader->depth == 1 && reader->options.ndjson) {
        reader->state = STATE_RECORD;
        reader->touches_value = true;
    } else {
        reader->state = STATE_COMMA_OR_END;
    }
}

static enum sirix_status open_container(struct sirix_json_reader *reader, bool is_object,
                                        struct sirix_json_event *out, struct sirix_error *err)
{
    uint64_t offset = reader_offset_of(reader, reader->at);
    enum sirix_status status = reader_push(reader, is_object, offset, err);

    if (status == SIRIX_OK) {
        reader->at++;
        reader->state = is_object ? STATE_NAME_OR_END : STATE_VALUE_OR_END;
        out->kind = is_object ? SIRIX_JSON_OBJECT_BEGIN : SIRIX_JSON_ARRAY_BEGIN;
        out->offset = offset;
    }
    return status;
}

static enum sirix_status close_container(struct sirix_json_reader *reader,
                                         struct sirix_json_event *out)
{
    out->kind = *reader->at == '}' ? SIRIX_JSON_OBJECT_END : SIRIX_JSON_ARRAY_END;
    out->offset = reader_offset_of(reader, reader->at);
    reader->at++;
    reader->depth--;
    value_is_over(reader);
    return SIRIX_OK;
}

static enum sirix_status read_literal(struct sirix_json_reader *reader,
                                      struct sirix_json_event *out, struct sirix_error *err)
{
    const struct literal *literal = NULL;

    if (reader->token == TOKEN_NONE) {
        reader->token_offset = reader_offset_of(reader, reader->at);
        sirix_buf_clear(&reader->buf);
        reader->pending_len = 0;
        reader->token = TOKEN_LITERAL;
        reader->pending[0] = *reader->at;
    }
    for (size_t i = 0; i < sizeof(literals) / sizeof(literals[0]); i++) {
        if ((uint8_t)literals[i].text[0] == reader->pending[0]) {
            literal = &literals[i];
        }
    }
    assert(literal != NULL);
    while (reader->pending_len < literal->len) {
        char expected[16];

        if (reader->at == reader->end && !reader->is_last) {
            reader_need_input(reader, out);
            return SIRIX_OK;
        }
        if (reader->at == reader->end ||
            *reader->at != (uint8_t)literal->text[reader->pending_len]) {
            (void)snprintf(expected, sizeof(expected), "'%s'", literal->text);
            return fail_expected(reader, expected, err);
        }
        reader->at++;
        reader->pending_len++;
    }
    reader->token = TOKEN_NONE;
    reader->pending_len = 0;
    out->kind = literal->kind;
    out->offset = reader->token_offset;
    value_is_over(reader);
    return SIRIX_OK;
}

/* A string value or a number, begun or gone on with. */
static enum sirix_status read_scalar(struct sirix_json_reader *reader, enum reader_token token,
                                     struct sirix_json_event *out, struct sirix_error *err)
{
    enum sirix_status status = token == TOKEN_NUMBER ? reader_number(reader, out, err)
                                                     : reader_string(reader, token, out, err);

    if (status != SIRIX_OK || reader->token != TOKEN_NONE) {
        return status;
    }
    if (token != TOKEN_NAME) {
        value_is_over(reader);
    } else if (reader->at < reader->end && *reader->at == ':') {
        reader->at++; /* It mostly follows at once; then nobody has to look for it. */
        reader->state = STATE_VALUE;
    } else {
        reader->state = STATE_COLON;
    }
    return SIRIX_OK;
}

static enum sirix_status read_value(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                    struct sirix_error *err)
{
    switch (*reader->at) {
    case '"':
        return read_scalar(reader, TOKEN_STRING, out, err);
    case '{':
        return open_container(reader, true, out, err);
    case '[':
        return open_container(reader, false, out, err);
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
        return read_scalar(reader, TOKEN_NUMBER, out, err);
    case 't':
    case 'f':
    case 'n':
        return read_literal(reader, out, err);
    case ']':
        if (reader->state == STATE_VALUE_OR_END) {
            return close_container(reader, out);
        }
        break;
    default:
        break;
    }
    return fail_expected(reader, expected_in(reader), err);
}

/* --- The ends of the text --------------------------------------------------------------------- */

/* Before the first byte that counts; *out_ready: go on with the value. */
static enum sirix_status read_start(struct sirix_json_reader *reader, bool *out_ready,
                                    struct sirix_json_event *out, struct sirix_error *err)
{
    while (reader->at < reader->end && reader->bom_seen < sizeof(bom) &&
           *reader->at == bom[reader->bom_seen]) {
        reader->at++;
        reader->bom_seen++;
    }
    if (reader->at == reader->end && !reader->is_last) {
        reader_need_input(reader, out);
        return SIRIX_OK;
    }
    if (reader->bom_seen != 0 && reader->bom_seen != sizeof(bom)) {
        return reader_fail(reader, SIRIX_REASON_JSON_ENCODING, 0, err, "invalid UTF-8");
    }
    if (reader->at < reader->end && (*reader->at >= 0xfe || *reader->at == 0)) {
        return reader_fail(reader, SIRIX_REASON_JSON_ENCODING, 0, err,
                           "the text is not UTF-8 but seems to be UTF-16 or UTF-32");
    }
    reader->had_bom = reader->bom_seen != 0;
    reader->state = STATE_VALUE;
    *out_ready = true;
    if (reader->options.ndjson) {
        uint64_t offset = reader_offset_of(reader, reader->at);
        enum sirix_status status = reader_push(reader, false, offset, err);

        if (status != SIRIX_OK) {
            return status;
        }
        reader->state = STATE_RECORD;
        reader->touches_value = false;
        out->kind = SIRIX_JSON_ARRAY_BEGIN;
        out->offset = offset;
        *out_ready = false;
    }
    return SIRIX_OK;
}

/* All input is used up. */
static enum sirix_status read_end(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                  struct sirix_error *err)
{
    if (!reader->is_last) {
        reader_need_input(reader, out);
        return SIRIX_OK;
    }
    switch ((enum reader_state)reader->state) {
    case STATE_RECORD:
        reader->depth--;
        reader->state = STATE_TAIL;
        out->kind = SIRIX_JSON_ARRAY_END;
        break;
    case STATE_TAIL:
    case STATE_END:
        reader->state = STATE_END;
        out->kind = SIRIX_JSON_END;
        break;
    default:
        return fail_expected(reader, expected_in(reader), err);
    }
    out->offset = reader_offset_of(reader, reader->end);
    return SIRIX_OK;
}

static enum sirix_status read_record(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                     struct sirix_error *err)
{
    if (reader->touches_value) {
        return fail_expected(reader, "white space between two values", err);
    }
    /* The position stays that of the last value until the next one begins. */
    reader->levels[0].position += reader->had_record ? 1 : 0;
    reader->had_record = true;
    return read_value(reader, out, err);
}

/* A name, or the end of an object that has no member yet. */
static enum sirix_status read_name(struct sirix_json_reader *reader, struct sirix_json_event *out,
                                   struct sirix_error *err)
{
    if (*reader->at == '"') {
        return read_scalar(reader, TOKEN_NAME, out, err);
    }
    if (*reader->at == '}' && reader->state == STATE_NAME_OR_END) {
        return close_container(reader, out);
    }
    return fail_expected(reader, expected_in(reader), err);
}

static enum sirix_status go_on(struct sirix_json_reader *reader, struct sirix_json_event *out,
                               struct sirix_error *err)
{
    if (reader->token == TOKEN_LITERAL) {
        return read_literal(reader, out, err);
    }
    return read_scalar(reader, (enum reader_token)reader->token, out, err);
}

/*
 * Takes the comma or colon that stands at reader->at, if one is due: then *out_more is true and the
 * next token is due. Else the end of the container is read, or the error found.
 */
static enum sirix_status read_separator(struct sirix_json_reader *reader, bool *out_more,
                                        struct sirix_json_event *out, struct sirix_error *err)
{
    struct sirix_json_level *level = &reader->levels[reader->depth - 1];
    uint8_t byte = *reader->at;

    if (reader->state == STATE_COLON) {
        if (byte != ':') {
            return fail_expected(reader, expected_in(reader), err);
        }
        reader->at++;
        reader->state = STATE_VALUE;
        *out_more = true;
        return SIRIX_OK;
    }
    if (byte == ',') {
        reader->at++;
        reader->state = level->is_object ? STATE_NAME : STATE_VALUE;
        level->position++;
        *out_more = true;
        return SIRIX_OK;
    }
    if (byte == (level->is_object ? '}' : ']')) {
        return close_container(reader, out);
    }
    return fail_expected(reader, expected_in(reader), err);
}

/* Reads what is due at a byte that is no white space; *out_more: it was a separator, go on. */
static inline enum sirix_status read_token(struct sirix_json_reader *reader, bool *out_more,
                                           struct sirix_json_event *out, struct sirix_error *err)
{
    switch ((enum reader_state)reader->state) {
    case STATE_VALUE:
    case STATE_VALUE_OR_END:
        return read_value(reader, out, err);
    case STATE_NAME:
    case STATE_NAME_OR_END:
        return read_name(reader, out, err);
    case STATE_COLON:
    case STATE_COMMA_OR_END:
        return read_separator(reader, out_more, out, err);
    case STATE_RECORD:
        return read_record(reader, out, err);
    case STATE_START:
    case STATE_TAIL:
    case STATE_END:
        break;
    }
    return fail_expected(reader, expected_in(reader), err);
}

/* --- Public ----------------------------------------------------------------------------------- */

void sirix_json_reader_init(struct sirix_json_reader *reader,
                            const struct sirix_json_reader_options *options)
{
    *reader = (struct sirix_json_reader){
        .start = nothing, .at = nothing, .end = nothing, .state = STATE_START};
    if (options != NULL) {
        reader->options = *options;
    }
    if (reader->options.depth_max == 0) {
        reader->options.depth_max = SIRIX_JSON_DEPTH_MAX;
    }
    if (reader->options.string_bytes_max == 0) {
        reader->options.string_bytes_max = SIRIX_JSON_STRING_BYTES_MAX;
    }
    if (reader->options.part_bytes_max == 0) {
        reader->options.part_bytes_max = SIRIX_JSON_PART_BYTES_MAX;
    }
    assert(reader->options.part_bytes_max >= SIRIX_JSON_PART_BYTES_MIN);
    sirix_buf_init(&reader->buf, SIZE_MAX);
}

void sirix_json_reader_deinit(struct sirix_json_reader *reader)
{
    if (reader != NULL) {
        sirix_buf_deinit(&reader->buf);
        free(reader->levels);
        reader->levels = NULL;
        reader->level_cap = 0;
        reader->depth = 0;
    }
}

void sirix_json_reader_reset(struct sirix_json_reader *reader)
{
    struct sirix_json_reader old = *reader;

    sirix_json_reader_init(reader, &old.options);
    reader->buf = old.buf;
    sirix_buf_clear(&reader->buf);
    reader->levels = old.levels;
    reader->level_cap = old.level_cap;
}

void sirix_json_reader_feed(struct sirix_json_reader *reader, struct sirix_bytes chunk,
                            bool is_last)
{
    const uint8_t *start = chunk.len == 0 ? nothing : chunk.data;

    assert(reader->at == reader->end && !reader->is_last);

    reader->start_offset += (uint64_t)(reader->end - reader->start);
    reader->start = start;
    reader->at = start;
    reader->end = start + chunk.len;
    reader->is_last = is_last;
}

enum sirix_status sirix_json_reader_next(struct sirix_json_reader *reader,
                                         struct sirix_json_event *out_event,
                                         struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool more = false;

    if (reader->failed != SIRIX_OK) {
        if (err != NULL) {
            *err = reader->error;
        }
        return reader->failed;
    }
    if (reader->token != TOKEN_NONE) {
        return go_on(reader, out_event, err);
    }
    if (reader->state == STATE_START) {
        status = read_start(reader, &more, out_event, err);
        if (status != SIRIX_OK || !more) {
            return status;
        }
    }
    do {
        const uint8_t *at = reader->at;

        if (at < reader->end && *at <= ' ') {
            reader->at = skip_spaces(at, reader->end);
            reader->touches_value = reader->touches_value && reader->at == at;
        }
        more = false;
        status = reader->at == reader->end ? read_end(reader, out_event, err)
                                           : read_token(reader, &more, out_event, err);
    } while (more && status == SIRIX_OK);
    return status;
}

bool sirix_json_reader_had_bom(const struct sirix_json_reader *reader)
{
    return reader->had_bom;
}

uint64_t sirix_json_reader_offset(const struct sirix_json_reader *reader)
{
    return reader_offset_of(reader, reader->at);
}

unsigned sirix_json_reader_depth(const struct sirix_json_reader *reader)
{
    return reader->depth;
}
