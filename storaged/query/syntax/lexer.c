/*
 * One pass over the text; line and column move with it. Every byte is looked at a bounded number of
 * times.
 */
#include "query/syntax/lexer.h"

#include <string.h>

#include "base/utf8.h"

struct range {
    uint32_t first;
    uint32_t last;
};

/* NameStartChar of XML without the colon, past ASCII. */
static const struct range name_starts[] = {
    {0xc0, 0xd6},     {0xd8, 0xf6},     {0xf8, 0x2ff},    {0x370, 0x37d},
    {0x37f, 0x1fff},  {0x200c, 0x200d}, {0x2070, 0x218f}, {0x2c00, 0x2fef},
    {0x3001, 0xd7ff}, {0xf900, 0xfdcf}, {0xfdf0, 0xfffd}, {0x10000, 0xeffff},
};

/* What NameChar adds. */
static const struct range name_others[] = {{0xb7, 0xb7}, {0x300, 0x36f}, {0x203f, 0x2040}};

struct symbol {
    const char *text;
    size_t len;
    enum sirix_token_kind kind;
};

static const struct symbol symbols[] = {
#define SIRIX_X(upper, text) {text, sizeof(text) - 1, SIRIX_TOKEN_##upper},
    SIRIX_TOKEN_SYMBOL_LIST(SIRIX_X)
#undef SIRIX_X
};

enum { SYMBOL_COUNT = sizeof(symbols) / sizeof(symbols[0]) };

static bool is_in(const struct range *ranges, size_t count, uint32_t code_point)
{
    for (size_t i = 0; i < count; i++) {
        if (code_point >= ranges[i].first && code_point <= ranges[i].last) {
            return true;
        }
    }
    return false;
}

static bool is_letter(uint8_t byte)
{
    return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_';
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Bytes of the name character at `at`, 0 if there is none. */
static size_t name_char(const uint8_t *text, size_t len, size_t at, bool is_first)
{
    if (at >= len) {
        return 0;
    }
    if (text[at] < 0x80) {
        bool fits = is_letter(text[at]) || (!is_first && (is_digit(text[at]) || text[at] == '-'));

        return fits ? 1 : 0;
    }

    uint32_t code_point = 0;
    size_t size = sirix_utf8_decode(text + at, len - at, &code_point);
    bool fits =
        is_in(name_starts, sizeof(name_starts) / sizeof(name_starts[0]), code_point) ||
        (!is_first && is_in(name_others, sizeof(name_others) / sizeof(name_others[0]), code_point));

    return fits ? size : 0;
}

/* Where the name that begins at `at` ends; at itself if none does. */
static size_t name_end(const uint8_t *text, size_t len, size_t at)
{
    size_t size = name_char(text, len, at, true);

    while (size != 0) {
        at += size;
        size = name_char(text, len, at, false);
    }
    return at;
}

/* Moves to a later place. */
static void advance(struct sirix_lexer *lexer, size_t to)
{
    for (; lexer->at < to; lexer->at++) {
        uint8_t byte = lexer->text[lexer->at];

        if (byte == '\n') {
            lexer->line++;
            lexer->column = 1;
        } else if ((byte & 0xc0) != 0x80) {
            lexer->column++;
        }
    }
}

static uint8_t byte_at(const struct sirix_lexer *lexer, size_t at)
{
    return at < lexer->len ? lexer->text[at] : 0;
}

static bool starts(const struct sirix_lexer *lexer, size_t at, const char *with)
{
    size_t len = strlen(with);

    return lexer->len - at >= len && memcmp(lexer->text + at, with, len) == 0;
}

/* --- Space ------------------------------------------------------------------------------------ */

/* A comment (: ... :), which may hold others. */
static enum sirix_status skip_nested(struct sirix_lexer *lexer, struct sirix_query_error *err)
{
    uint32_t line = lexer->line;
    uint32_t column = lexer->column;
    size_t depth = 0;
    size_t at = lexer->at;

    do {
        if (at >= lexer->len) {
            return sirix_query_fail_at(err, line, column, "XPST0003", "the comment does not end");
        }
        if (starts(lexer, at, "(:")) {
            depth++;
            at += 2;
        } else if (starts(lexer, at, ":)")) {
            depth--;
            at += 2;
        } else {
            at++;
        }
    } while (depth != 0);
    advance(lexer, at);
    return SIRIX_OK;
}

/* A comment as in C. */
static enum sirix_status skip_flat(struct sirix_lexer *lexer, struct sirix_query_error *err)
{
    const uint8_t *end = memmem(lexer->text + lexer->at + 2, lexer->len - lexer->at - 2, "*/", 2);

    if (end == NULL) {
        return sirix_query_fail_at(err, lexer->line, lexer->column, "XPST0003",
                                   "the comment does not end");
    }
    advance(lexer, (size_t)(end - lexer->text) + 2);
    return SIRIX_OK;
}

/* Whether `//` at the lexer's place begins a comment: see the header. */
static bool is_line_comment(const struct sirix_lexer *lexer)
{
    size_t behind = lexer->at + 2;
    uint8_t next = byte_at(lexer, behind);

    return !lexer->after_value && next != '"' && next != '\'' &&
           name_char(lexer->text, lexer->len, behind, true) == 0;
}

static enum sirix_status skip_space(struct sirix_lexer *lexer, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && lexer->at < lexer->len) {
        uint8_t byte = lexer->text[lexer->at];

        if (byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r') {
            advance(lexer, lexer->at + 1);
        } else if (starts(lexer, lexer->at, "(:")) {
            status = skip_nested(lexer, err);
        } else if (starts(lexer, lexer->at, "/*")) {
            status = skip_flat(lexer, err);
        } else if (starts(lexer, lexer->at, "//") && is_line_comment(lexer)) {
            const uint8_t *end = memchr(lexer->text + lexer->at, '\n', lexer->len - lexer->at);

            advance(lexer, end == NULL ? lexer->len : (size_t)(end - lexer->text));
        } else {
            break;
        }
    }
    return status;
}

/* --- Tokens ----------------------------------------------------------------------------------- */

static enum sirix_status scan_string(const struct sirix_lexer *lexer, struct sirix_token *token,
                                     struct sirix_query_error *err)
{
    uint8_t quote = lexer->text[token->start];
    bool escapes = lexer->escapes[quote == '"' ? 0 : 1];
    size_t at = token->start + 1;

    while (at < lexer->len) {
        const bool is_escape = escapes && lexer->text[at] == '\\';
        const bool is_quote = !is_escape && lexer->text[at] == quote;

        if (is_escape || (is_quote && byte_at(lexer, at + 1) == quote)) {
            at += 2;
        } else if (!is_quote) {
            at++;
        } else {
            token->kind = SIRIX_TOKEN_STRING;
            token->end = at + 1;
            return SIRIX_OK;
        }
    }
    return sirix_query_fail_at(err, token->line, token->column, "XPST0003",
                               "the string does not end");
}

static size_t skip_digits(const struct sirix_lexer *lexer, size_t at)
{
    while (is_digit(byte_at(lexer, at))) {
        at++;
    }
    return at;
}

static enum sirix_status scan_number(const struct sirix_lexer *lexer, struct sirix_token *token,
                                     struct sirix_query_error *err)
{
    size_t at = skip_digits(lexer, token->start);

    token->kind = SIRIX_TOKEN_INTEGER;
    if (byte_at(lexer, at) == '.') {
        token->kind = SIRIX_TOKEN_DECIMAL;
        at = skip_digits(lexer, at + 1);
    }
    if ((byte_at(lexer, at) | 0x20) == 'e') {
        uint8_t sign = byte_at(lexer, at + 1);
        size_t digits = at + 1 + (sign == '+' || sign == '-' ? 1 : 0);
        size_t end = skip_digits(lexer, digits);

        if (end > digits) {
            token->kind = SIRIX_TOKEN_DOUBLE;
            at = end;
        }
    }
    if (name_char(lexer->text, lexer->len, at, true) != 0) {
        return sirix_query_fail_at(err, token->line, token->column, "XPST0003",
                                   "a number is followed by a name without a space");
    }
    token->end = at;
    return SIRIX_OK;
}

static enum sirix_status scan_name(const struct sirix_lexer *lexer, struct sirix_token *token,
                                   struct sirix_query_error *err)
{
    size_t end = name_end(lexer->text, lexer->len, token->start);

    if (end == token->start + 1 && lexer->text[token->start] == 'Q' && byte_at(lexer, end) == '{') {
        const uint8_t *close = memchr(lexer->text + end, '}', lexer->len - end);

        if (close == NULL) {
            return sirix_query_fail_at(err, token->line, token->column, "XPST0003",
                                       "expected '}' behind the URI of Q{");
        }
        token->kind = SIRIX_TOKEN_BRACED;
        token->end = (size_t)(close - lexer->text) + 1;
        return SIRIX_OK;
    }
    token->kind = SIRIX_TOKEN_NAME;
    token->end = end;
    if (byte_at(lexer, end) == ':') {
        size_t local_end = name_end(lexer->text, lexer->len, end + 1);

        if (local_end > end + 1) {
            token->kind = SIRIX_TOKEN_QNAME;
            token->colon = end;
            token->end = local_end;
        }
    }
    return SIRIX_OK;
}

static enum sirix_status scan_symbol(const struct sirix_lexer *lexer, struct sirix_token *token,
                                     struct sirix_query_error *err)
{
    for (size_t i = 0; i < SYMBOL_COUNT; i++) {
        if (starts(lexer, token->start, symbols[i].text)) {
            token->kind = symbols[i].kind;
            token->end = token->start + symbols[i].len;
            return SIRIX_OK;
        }
    }

    size_t len = sirix_utf8_cut(lexer->text + token->start, lexer->len - token->start,
                                lexer->len - token->start < 4 ? lexer->len - token->start : 4);
    uint32_t code_point = 0;

    if (len != 0) {
        (void)sirix_utf8_decode(lexer->text + token->start, len, &code_point);
    }
    return sirix_query_fail_at(err, token->line, token->column, "XPST0003",
                               "the character U+%04X has no meaning here", (unsigned)code_point);
}

static bool ends_value(enum sirix_token_kind kind)
{
    switch (kind) {
    case SIRIX_TOKEN_NAME:
    case SIRIX_TOKEN_QNAME:
    case SIRIX_TOKEN_STRING:
    case SIRIX_TOKEN_INTEGER:
    case SIRIX_TOKEN_DECIMAL:
    case SIRIX_TOKEN_DOUBLE:
    case SIRIX_TOKEN_CLOSE:
    case SIRIX_TOKEN_SQUARE_CLOSE:
    case SIRIX_TOKEN_BRACE_CLOSE:
    case SIRIX_TOKEN_MERGE_CLOSE:
    case SIRIX_TOKEN_CONTEXT:
    case SIRIX_TOKEN_DOT:
        return true;
    default:
        return false;
    }
}

/* --- Public ----------------------------------------------------------------------------------- */

void sirix_lexer_init(struct sirix_lexer *lexer, struct sirix_bytes text)
{
    *lexer = (struct sirix_lexer){
        .text = text.data, .len = text.len, .line = 1, .column = 1, .escapes = {true, false}};
}

enum sirix_status sirix_lexer_next(struct sirix_lexer *lexer, struct sirix_token *out,
                                   struct sirix_query_error *err)
{
    enum sirix_status status = skip_space(lexer, err);

    if (status != SIRIX_OK) {
        return status;
    }

    struct sirix_token token = {.kind = SIRIX_TOKEN_END,
                                .line = lexer->line,
                                .column = lexer->column,
                                .start = lexer->at,
                                .end = lexer->at};

    if (lexer->at < lexer->len) {
        uint8_t byte = lexer->text[lexer->at];

        if (byte == '"' || byte == '\'') {
            status = scan_string(lexer, &token, err);
        } else if (is_digit(byte) || (byte == '.' && is_digit(byte_at(lexer, lexer->at + 1)))) {
            status = scan_number(lexer, &token, err);
        } else if (name_char(lexer->text, lexer->len, lexer->at, true) != 0) {
            status = scan_name(lexer, &token, err);
        } else {
            status = scan_symbol(lexer, &token, err);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    advance(lexer, token.end);
    lexer->after_value = ends_value(token.kind);
    *out = token;
    return SIRIX_OK;
}

enum sirix_status sirix_lexer_raw(struct sirix_lexer *lexer, const char *first, const char *second,
                                  struct sirix_bytes *out, bool *out_second,
                                  struct sirix_query_error *err)
{
    for (size_t at = lexer->at; at < lexer->len; at++) {
        const bool is_first = starts(lexer, at, first);

        if (is_first || (second != NULL && starts(lexer, at, second))) {
            *out = (struct sirix_bytes){lexer->text + lexer->at, at - lexer->at};
            *out_second = !is_first;
            advance(lexer, at + strlen(is_first ? first : second));
            lexer->after_value = false;
            return SIRIX_OK;
        }
    }
    return sirix_query_fail_at(err, lexer->line, lexer->column, "XPST0003",
                               "expected '%s' before the end of the query", first);
}

bool sirix_lexer_is_name(struct sirix_bytes name)
{
    return name.len != 0 && name_end(name.data, name.len, 0) == name.len;
}
