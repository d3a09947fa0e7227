/* The syntax of XPath's regular expressions, translated to PCRE2 while it is checked. */
#define PCRE2_CODE_UNIT_WIDTH 8
#include "query/value/regex_translate.h"

#include <pcre2.h>
#include <string.h>

#include "base/utf8.h"

enum { NESTING_MAX = 200, REPEATS_MAX = 65535 };

struct translator {
    struct sirix_regex_reader reader;
    struct sirix_regex_source *source;
    uint8_t open[NESTING_MAX]; /* Group numbers of the open parentheses; 0: not capturing. */
    unsigned depth;
    bool closed[SIRIX_REGEX_GROUPS_MAX + 1];
    bool can_repeat;  /* What stands before may have a quantifier. */
    bool skips_space; /* Flag x. */
    bool dot_is_all;
};

enum sirix_status sirix_regex_bad(const struct sirix_regex_reader *reader, const char *what,
                                  struct sirix_query_error *err)
{
    size_t position = sirix_utf8_count(reader->start, (size_t)(reader->at - reader->start));

    return sirix_query_fail(err, "FORX0002",
                            "the regular expression is not valid at character %zu: %s",
                            position + 1, what);
}

bool sirix_regex_next(struct sirix_regex_reader *reader, uint32_t *out)
{
    if (reader->at == reader->end) {
        return false;
    }
    reader->at += sirix_utf8_decode(reader->at, (size_t)(reader->end - reader->at), out);
    return true;
}

enum sirix_status sirix_regex_put(struct sirix_buf *to, uint32_t code_point,
                                  struct sirix_query_error *err)
{
    uint8_t bytes[SIRIX_UTF8_BYTES_MAX + 1] = {'\\'};
    bool is_word = (code_point >= '0' && code_point <= '9') ||
                   (code_point >= 'a' && code_point <= 'z') ||
                   (code_point >= 'A' && code_point <= 'Z') || code_point >= 0x80;

    if (code_point < 0x20) {
        return sirix_buf_printf(to, &err->base, "\\x{%x}", (unsigned)code_point);
    }
    size_t len = sirix_utf8_encode(code_point, bytes + 1);
    return sirix_buf_append(to, is_word ? bytes + 1 : bytes, is_word ? len : len + 1, &err->base);
}

static bool is_at(const struct translator *translator, const char *text)
{
    size_t len = strlen(text);
    const struct sirix_regex_reader *reader = &translator->reader;

    return (size_t)(reader->end - reader->at) >= len && memcmp(reader->at, text, len) == 0;
}

static enum sirix_status put(struct translator *translator, const char *text,
                             struct sirix_query_error *err)
{
    return sirix_buf_append_str(translator->reader.to, text, &err->base);
}

/* --- Parentheses -------------------------------------------------------------------------------------- */

static enum sirix_status open_group(struct translator *translator, struct sirix_query_error *err)
{
    struct sirix_regex_source *source = translator->source;

    if (translator->depth == NESTING_MAX) {
        return sirix_regex_bad(&translator->reader, "too many parentheses within each other", err);
    }
    translator->can_repeat = false;
    if (is_at(translator, "?:")) {
        translator->reader.at += 2;
        translator->open[translator->depth++] = 0;
        return put(translator, "(?:", err);
    }
    if (is_at(translator, "?")) {
        return sirix_regex_bad(&translator->reader, "(? without a colon", err);
    }
    if (source->groups == SIRIX_REGEX_GROUPS_MAX) {
        return sirix_regex_bad(&translator->reader, "too many groups", err);
    }
    source->groups++;
    for (unsigned i = translator->depth; i > 0 && source->parents[source->groups] == 0; i--) {
        source->parents[source->groups] = translator->open[i - 1];
    }
    translator->open[translator->depth++] = (uint8_t)source->groups;
    return put(translator, "(", err);
}

static enum sirix_status close_group(struct translator *translator, struct sirix_query_error *err)
{
    if (translator->depth == 0) {
        return sirix_regex_bad(&translator->reader, ") without (", err);
    }
    translator->closed[translator->open[--translator->depth]] = true;
    translator->can_repeat = true;
    return put(translator, ")", err);
}

/* --- Quantifiers ---------------------------------------------------------------------------------------- */

static bool take_number(struct translator *translator, unsigned *out)
{
    struct sirix_regex_reader *reader = &translator->reader;
    const uint8_t *start = reader->at;
    unsigned value = 0;

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') {
        value = value > REPEATS_MAX ? value : value * 10 + (unsigned)(*reader->at - '0');
        reader->at++;
    }
    *out = value;
    return reader->at > start;
}

/* {n}, {n,}, {n,m} behind the brace. */
static enum sirix_status take_count(struct translator *translator, struct sirix_query_error *err)
{
    struct sirix_regex_reader *reader = &translator->reader;
    unsigned least = 0;
    unsigned most = 0;
    bool has_most = true;
    bool good = take_number(translator, &least);

    most = least;
    if (good && is_at(translator, ",")) {
        reader->at++;
        has_most = take_number(translator, &most);
    }
    good = good && is_at(translator, "}");
    if (!good || (has_most && most < least)) {
        return sirix_regex_bad(reader, "a quantifier in braces that is none", err);
    }
    reader->at++;
    if (least > REPEATS_MAX || (has_most && most > REPEATS_MAX)) {
        return sirix_regex_bad(reader, "a quantifier of more than 65535", err);
    }
    return has_most ? sirix_buf_printf(reader->to, &err->base, "{%u,%u}", least, most)
                    : sirix_buf_printf(reader->to, &err->base, "{%u,}", least);
}

static enum sirix_status quantifier(struct translator *translator, uint32_t sign,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!translator->can_repeat) {
        return sirix_regex_bad(&translator->reader, "a quantifier with nothing before it", err);
    }
    if (sign == '{') {
        status = take_count(translator, err);
    } else {
        status = sirix_buf_append_u8(translator->reader.to, (uint8_t)sign, &err->base);
    }
    if (status == SIRIX_OK && is_at(translator, "?")) {
        translator->reader.at++;
        status = put(translator, "?", err);
    }
    translator->can_repeat = false;
    return status;
}

/* --- Atoms -------------------------------------------------------------------------------------------------- */

/* \1 to \99: as many digits as there are groups for. */
static enum sirix_status back_reference(struct translator *translator,
                                        struct sirix_query_error *err)
{
    struct sirix_regex_reader *reader = &translator->reader;
    size_t group = (size_t)(*reader->at++ - '0');

    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' &&
           group * 10 + (size_t)(*reader->at - '0') <= translator->source->groups) {
        group = group * 10 + (size_t)(*reader->at++ - '0');
    }
    if (group > translator->source->groups || !translator->closed[group]) {
        return sirix_regex_bad(reader, "a reference to a group that is not closed yet", err);
    }
    translator->can_repeat = true;
    return sirix_buf_printf(reader->to, &err->base, "\\g{%zu}", group);
}

static enum sirix_status escape(struct translator *translator, struct sirix_query_error *err)
{
    struct sirix_regex_reader *reader = &translator->reader;
    struct sirix_buf members;
    uint32_t single = 0;
    bool is_class = false;

    if (reader->at < reader->end && *reader->at >= '1' && *reader->at <= '9') {
        return back_reference(translator, err);
    }
    sirix_buf_init(&members, SIZE_MAX);
    enum sirix_status status = sirix_regex_escape(reader, &members, &single, &is_class, err);
    if (status == SIRIX_OK && is_class) {
        status = sirix_buf_printf(reader->to, &err->base, "[%.*s]", (int)members.len,
                                  (const char *)members.data);
    } else if (status == SIRIX_OK) {
        status = sirix_regex_put(reader->to, single, err);
    }
    sirix_buf_deinit(&members);
    translator->can_repeat = true;
    return status;
}

static enum sirix_status step(struct translator *translator, uint32_t c,
                              struct sirix_query_error *err)
{
    switch (c) {
    case '(':
        return open_group(translator, err);
    case ')':
        return close_group(translator, err);
    case '|':
        translator->can_repeat = false;
        return put(translator, "|", err);
    case '^':
    case '$':
        translator->can_repeat = true; /* As W3C's grammar has it. */
        return put(translator, c == '^' ? "(?:^)" : "(?:$)", err);
    case '.':
        translator->can_repeat = true;
        return put(translator, translator->dot_is_all ? "(?s:.)" : "[^\\n\\r]", err);
    case '?':
    case '*':
    case '+':
    case '{':
        return quantifier(translator, c, err);
    case '[':
        translator->can_repeat = true;
        return sirix_regex_class(&translator->reader, err);
    case '\\':
        return escape(translator, err);
    case ']':
    case '}':
        return sirix_regex_bad(&translator->reader, "a closing bracket or brace alone", err);
    default:
        translator->can_repeat = true;
        return sirix_regex_put(translator->reader.to, c, err);
    }
}

static enum sirix_status read_flags(struct sirix_bytes flags, struct translator *translator,
                                    struct sirix_query_error *err)
{
    const char *chars = flags.data;
    struct sirix_regex_source *source = translator->source;

    source->options = PCRE2_UTF | PCRE2_NO_UTF_CHECK | PCRE2_DOLLAR_ENDONLY |
                      PCRE2_MATCH_UNSET_BACKREF | PCRE2_USE_OFFSET_LIMIT;
    for (size_t i = 0; i < flags.len; i++) {
        switch (chars[i]) {
        case 's':
            translator->dot_is_all = true;
            break;
        case 'm':
            source->options |= PCRE2_MULTILINE;
            break;
        case 'i':
            source->options |= PCRE2_CASELESS;
            break;
        case 'x':
            translator->skips_space = true;
            break;
        case 'q':
            source->is_literal = true;
            break;
        default:
            return sirix_query_fail(err, "FORX0001", "\"%.*s\" is not made of the flags s m i x q",
                                    (int)(flags.len > 20 ? 20 : flags.len), chars);
        }
    }
    return SIRIX_OK;
}

static bool is_space(uint8_t c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Flag x: white space goes before anything else is looked at, but for what stands in [ ]. */
static enum sirix_status strip_space(struct sirix_regex_reader *reader,
                                     struct sirix_query_error *err)
{
    size_t len = (size_t)(reader->end - reader->start);
    size_t depth = 0;
    bool escaped = false;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(reader->work->scratch, len + 1, &memory, &err->base);
    uint8_t *to = memory;
    size_t kept = 0;

    for (size_t i = 0; i < len && status == SIRIX_OK; i++) {
        uint8_t c = reader->start[i];

        if (depth == 0 && is_space(c)) {
            continue;
        }
        if (!escaped && c == '[') {
            depth++;
        } else if (!escaped && c == ']' && depth > 0) {
            depth--;
        }
        escaped = !escaped && c == '\\';
        to[kept++] = c;
    }
    if (status == SIRIX_OK) {
        reader->start = to;
        reader->at = to;
        reader->end = to + kept;
    }
    return status;
}

static enum sirix_status translate(struct translator *translator, struct sirix_query_error *err)
{
    enum sirix_status status = translator->skips_space && !translator->source->is_literal
                                   ? strip_space(&translator->reader, err)
                                   : SIRIX_OK;
    uint32_t c = 0;

    while (status == SIRIX_OK && sirix_regex_next(&translator->reader, &c)) {
        status = translator->source->is_literal ? sirix_regex_put(translator->reader.to, c, err)
                                                : step(translator, c, err);
    }
    if (status == SIRIX_OK && translator->depth != 0) {
        status = sirix_regex_bad(&translator->reader, "( without )", err);
    }
    return status;
}

enum sirix_status sirix_regex_translate(struct sirix_work *work, struct sirix_bytes pattern,
                                        struct sirix_bytes flags, struct sirix_regex_source *out,
                                        struct sirix_query_error *err)
{
    struct sirix_buf buf;
    const uint8_t *start = pattern.len == 0 ? (const uint8_t *)"" : pattern.data;
    struct translator translator = {
        .reader = {.work = work, .start = start, .at = start, .end = start + pattern.len},
        .source = out,
    };

    if (pattern.len > SIRIX_REGEX_PATTERN_BYTES_MAX) {
        return sirix_query_fail_limit(err, "regex_pattern_bytes",
                                      "a regular expression of %zu bytes is longer than %d",
                                      pattern.len, SIRIX_REGEX_PATTERN_BYTES_MAX);
    }
    sirix_buf_init(&buf, SIZE_MAX);
    translator.reader.to = &buf;
    enum sirix_status status = read_flags(flags, &translator, err);
    if (status == SIRIX_OK) {
        status = translate(&translator, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(work->scratch, sirix_buf_view(&buf), &out->text, &err->base);
    }
    sirix_buf_deinit(&buf);
    return status;
}
