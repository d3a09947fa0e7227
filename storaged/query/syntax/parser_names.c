/* Names and literals. */
#include <stdlib.h>

#include "base/utf8.h"
#include "query/syntax/parser_internal.h"

/* --- Names ------------------------------------------------------------------------------------ */

bool parser_at_name(const struct parser *parser)
{
    return parser_at(parser, SIRIX_TOKEN_NAME) || parser_at(parser, SIRIX_TOKEN_QNAME) ||
           parser_at(parser, SIRIX_TOKEN_BRACED);
}

static bool is_space(uint8_t byte)
{
    return byte == ' ' || byte == '\n' || byte == '\r' || byte == '\t';
}

/* The URI of Q{uri}, without the space around it. */
static struct sirix_bytes braced_uri(const struct parser *parser, const struct sirix_token *token)
{
    const uint8_t *at = (const uint8_t *)parser->text.data + token->start + 2;
    const uint8_t *end = (const uint8_t *)parser->text.data + token->end - 1;

    while (at < end && is_space(*at)) {
        at++;
    }
    while (end > at && is_space(end[-1])) {
        end--;
    }
    return (struct sirix_bytes){.data = at, .len = (size_t)(end - at)};
}

struct sirix_ast_name *parser_name(struct parser *parser)
{
    struct sirix_token token = parser->token;
    struct sirix_ast_name *name = NULL;

    if (!parser_at_name(parser)) {
        return parser_fail_expected(parser, "a name");
    }
    name = parser_alloc(parser, 1, sizeof(*name));
    if (name == NULL || !parser_advance(parser)) {
        return NULL;
    }
    if (token.kind == SIRIX_TOKEN_NAME) {
        name->local = parser_text(parser, &token);
        return name;
    }
    if (token.kind == SIRIX_TOKEN_QNAME) {
        const uint8_t *text = parser->text.data;

        name->prefix = (struct sirix_bytes){text + token.start, token.colon - token.start};
        name->local = (struct sirix_bytes){text + token.colon + 1, token.end - token.colon - 1};
        return name;
    }
    name->has_uri = true;
    name->uri = braced_uri(parser, &token);
    if (!parser_at(parser, SIRIX_TOKEN_NAME) || parser->token.start != token.end) {
        return parser_fail_expected(parser, "a name behind Q{...}");
    }
    name->local = parser_text(parser, &parser->token);
    return parser_advance(parser) ? name : NULL;
}

struct sirix_ast_name *parser_variable_name(struct parser *parser)
{
    if (!parser_expect(parser, SIRIX_TOKEN_DOLLAR, "a variable: '$'")) {
        return NULL;
    }
    if (!parser_at_name(parser)) {
        return parser_fail_expected(parser, "the name of a variable");
    }
    return parser_name(parser);
}

bool parser_local_name(struct parser *parser, struct sirix_bytes *out)
{
    struct sirix_token *token = &parser->token;

    if (token->kind == SIRIX_TOKEN_QNAME) {
        /* The lexer took a:b for one name; go back to the colon. */
        const uint8_t *text = parser->text.data;

        parser->has_ahead = false;
        parser->lexer.at = token->colon;
        parser->lexer.line = token->line;
        parser->lexer.column =
            token->column +
            (uint32_t)sirix_utf8_count(text + token->start, token->colon - token->start);
        parser->lexer.after_value = true;
        token->kind = SIRIX_TOKEN_NAME;
        token->end = token->colon;
    }
    if (token->kind != SIRIX_TOKEN_NAME) {
        parser_fail_expected(parser, "a name");
        return false;
    }
    *out = parser_text(parser, token);
    return parser_advance(parser);
}

struct sirix_ast *parser_named(struct parser *parser, enum sirix_ast_kind kind,
                               const struct sirix_token *place, struct sirix_ast_name *name,
                               uint32_t child_count)
{
    struct sirix_ast *node = name == NULL ? NULL : parser_node(parser, kind, place, child_count);

    if (node != NULL) {
        node->name = name;
    }
    return node;
}

/* --- Strings ---------------------------------------------------------------------------------- */

/* What is left of a literal to read, and where it goes. */
struct decoder {
    struct parser *parser;
    const struct sirix_token *token;
    const uint8_t *at;
    const uint8_t *end;
    uint8_t quote;
    uint8_t *to;
    size_t len;
    bool bad_char; /* A reference to what is no character. */
};

static void put_code_point(struct decoder *decoder, uint32_t code_point)
{
    decoder->len += sirix_utf8_encode(code_point, decoder->to + decoder->len);
}

static bool read_hex4(struct decoder *decoder, uint32_t *out)
{
    uint32_t value = 0;

    if (decoder->end - decoder->at < 4) {
        return false;
    }
    for (int i = 0; i < 4; i++) {
        uint8_t byte = decoder->at[i];
        uint8_t lower = byte | 0x20;

        if (byte >= '0' && byte <= '9') {
            value = value * 16 + (uint32_t)(byte - '0');
        } else if (lower >= 'a' && lower <= 'f') {
            value = value * 16 + (uint32_t)(lower - 'a') + 10;
        } else {
            return false;
        }
    }
    decoder->at += 4;
    *out = value;
    return true;
}

/* Behind \u: four digits, or two times four for what lies past U+FFFF. */
static bool decode_unicode(struct decoder *decoder)
{
    uint32_t code_point = 0;

    if (!read_hex4(decoder, &code_point)) {
        return false;
    }
    if (code_point >= 0xd800 && code_point < 0xdc00) {
        uint32_t low = 0;

        if (decoder->end - decoder->at < 2 || memcmp(decoder->at, "\\u", 2) != 0) {
            return false;
        }
        decoder->at += 2;
        if (!read_hex4(decoder, &low) || low < 0xdc00 || low > 0xdfff) {
            return false;
        }
        code_point = 0x10000 + ((code_point - 0xd800) << 10) + (low - 0xdc00);
    } else if (code_point >= 0xdc00 && code_point < 0xe000) {
        return false;
    }
    put_code_point(decoder, code_point);
    return true;
}

/* Behind a backslash. */
static bool decode_escape(struct decoder *decoder)
{
    static const char from[] = "\"\\/bfnrt";
    static const char to[] = "\"\\/\b\f\n\r\t";

    if (decoder->at == decoder->end) {
        return false;
    }

    uint8_t byte = *decoder->at++;
    const char *found = byte == 0 ? NULL : strchr(from, byte);

    if (byte == 'u') {
        return decode_unicode(decoder);
    }
    if (found != NULL && (byte != '"' || decoder->quote == '"')) {
        decoder->to[decoder->len++] = (uint8_t)to[found - from];
        return true;
    }
    if (byte == '\'' && decoder->quote == '\'') {
        decoder->to[decoder->len++] = byte;
        return true;
    }
    return false;
}

/* The code point of a character reference without & and ;, such as #x41. */
static bool reference_number(const char *text, size_t len, uint32_t *out)
{
    char digits[16];
    char *end = NULL;
    int base = len > 1 && text[1] == 'x' ? 16 : 10;
    size_t skip = base == 16 ? 2 : 1;

    if (len <= skip || len - skip >= sizeof(digits) || text[skip] == '-' || text[skip] == '+' ||
        is_space((uint8_t)text[skip])) {
        return false;
    }
    memcpy(digits, text + skip, len - skip);
    digits[len - skip] = '\0';

    unsigned long value = strtoul(digits, &end, base);

    if (*end != '\0' || value > SIRIX_CODE_POINT_MAX || (value >= 0xd800 && value < 0xe000) ||
        (value < ' ' && !is_space((uint8_t)value)) || value == 0xfffe || value == 0xffff) {
        return false;
    }
    *out = (uint32_t)value;
    return true;
}

/* Whether it has the letters of a reference to a character: then the character is what is wrong. */
static bool is_reference_text(const char *text, size_t len)
{
    bool is_text = true;

    for (size_t i = 0; i < len && is_text; i++) {
        /* Not strspn: the text of a query does not end with a NUL. */
        is_text = text[i] != '\0' && strchr("x0123456789abcdefABCDEF", text[i]) != NULL;
    }
    return is_text;
}

/* Behind an ampersand: XQuery's references. */
static bool decode_reference(struct decoder *decoder)
{
    static const struct {
        const char *name;
        char is;
    } named[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
    const uint8_t *semicolon = memchr(decoder->at, ';', (size_t)(decoder->end - decoder->at));

    if (semicolon == NULL) {
        return false;
    }

    const char *text = (const char *)decoder->at;
    size_t len = (size_t)(semicolon - decoder->at);
    uint32_t code_point = 0;

    decoder->at = semicolon + 1;
    if (len != 0 && text[0] == '#') {
        if (!reference_number(text, len, &code_point)) {
            decoder->bad_char = len > 1 && is_reference_text(text + 1, len - 1);
            return false;
        }
        put_code_point(decoder, code_point);
        return true;
    }
    for (size_t i = 0; i < sizeof(named) / sizeof(named[0]); i++) {
        if (strlen(named[i].name) == len && memcmp(named[i].name, text, len) == 0) {
            decoder->to[decoder->len++] = (uint8_t)named[i].is;
            return true;
        }
    }
    return false;
}

static bool decode(struct decoder *decoder, bool escapes, bool references)
{
    const char *wrong = NULL;

    while (decoder->at < decoder->end && wrong == NULL) {
        uint8_t byte = *decoder->at++;

        if (byte == decoder->quote) {
            decoder->at++; /* It is doubled. */
            decoder->to[decoder->len++] = byte;
        } else if (escapes && byte == '\\') {
            wrong = decode_escape(decoder) ? NULL
                                           : "the string holds an escape that JSON does not know";
        } else if (references && byte == '&') {
            wrong = decode_reference(decoder)
                        ? NULL
                        : "the string holds a reference that XQuery does not know";
        } else {
            decoder->to[decoder->len++] = byte;
        }
    }
    if (wrong != NULL) {
        parser_fail_at(decoder->parser, decoder->token, decoder->bad_char ? "XQST0090" : "XPST0003",
                       wrong);
    }
    return wrong == NULL;
}

bool parser_string(struct parser *parser, struct sirix_bytes *out)
{
    struct sirix_token token = parser->token;
    const uint8_t *text = parser->text.data;

    if (token.kind != SIRIX_TOKEN_STRING) {
        parser_fail_expected(parser, "a string");
        return false;
    }

    struct decoder decoder = {.parser = parser,
                              .token = &token,
                              .at = text + token.start + 1,
                              .end = text + token.end - 1,
                              .quote = text[token.start]};
    size_t len = (size_t)(decoder.end - decoder.at);
    bool escapes = parser->lexer.escapes[decoder.quote == '"' ? 0 : 1];
    bool references = parser->dialect == SIRIX_SYNTAX_XQUERY;

    if (memchr(decoder.at, decoder.quote, len) == NULL &&
        (!escapes || memchr(decoder.at, '\\', len) == NULL) &&
        (!references || memchr(decoder.at, '&', len) == NULL)) {
        *out = (struct sirix_bytes){.data = decoder.at, .len = len};
        return parser_advance(parser);
    }
    /* No escape is shorter than what it stands for. */
    decoder.to = parser_alloc(parser, len + SIRIX_UTF8_BYTES_MAX, 1);
    if (decoder.to == NULL || !decode(&decoder, escapes, references)) {
        return false;
    }
    *out = (struct sirix_bytes){.data = decoder.to, .len = decoder.len};
    return parser_advance(parser);
}

struct sirix_ast *parser_string_node(struct parser *parser, const struct sirix_token *place,
                                     struct sirix_bytes text)
{
    struct sirix_ast *node = parser_node(parser, SIRIX_AST_STRING, place, 0);

    if (node != NULL) {
        node->text = text;
    }
    return node;
}

struct sirix_ast *parser_literal(struct parser *parser)
{
    struct sirix_token token = parser->token;
    struct sirix_bytes text = parser_text(parser, &token);
    enum sirix_ast_kind kind = SIRIX_AST_INTEGER;

    if (token.kind == SIRIX_TOKEN_STRING) {
        return parser_string(parser, &text) ? parser_string_node(parser, &token, text) : NULL;
    }
    if (token.kind == SIRIX_TOKEN_DECIMAL) {
        kind = SIRIX_AST_DECIMAL;
    } else if (token.kind == SIRIX_TOKEN_DOUBLE) {
        kind = SIRIX_AST_DOUBLE;
    }

    struct sirix_ast *node = parser_node(parser, kind, &token, 0);

    if (node == NULL || !parser_advance(parser)) {
        return NULL;
    }
    node->text = text;
    return node;
}
