/* Character classes and escapes of regular expressions. */
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "query/value/regex_blocks.h"
#include "query/value/regex_translate.h"
#include "query/value/xml_names.h"

/* [a-[b-[c]]]: how deep classes are taken away from classes. */
enum { SUBTRACTIONS_MAX = 8 };

/* A range without the surrogates, which PCRE2 refuses in one. */
static enum sirix_status put_range(struct sirix_buf *to, uint32_t first, uint32_t last,
                                   struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (first < 0xe000 && last > 0xd7ff) {
        if (first < 0xd800) {
            status = sirix_buf_printf(to, &err->base, "\\x{%x}-\\x{d7ff}", (unsigned)first);
        }
        if (status != SIRIX_OK || last < 0xe000) {
            return status;
        }
        first = 0xe000;
    }
    return sirix_buf_printf(to, &err->base, "\\x{%x}-\\x{%x}", (unsigned)first, (unsigned)last);
}

/* Ranges in order, or what is between them. */
static enum sirix_status put_ranges(struct sirix_buf *to, const struct sirix_code_points *ranges,
                                    size_t count, bool complement, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint32_t next = 0;

    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        if (!complement) {
            status = put_range(to, ranges[i].first, ranges[i].last, err);
        } else if (next < ranges[i].first) {
            status = put_range(to, next, ranges[i].first - 1, err);
        }
        next = ranges[i].last + 1;
    }
    if (status == SIRIX_OK && complement && next <= SIRIX_CODE_POINT_MAX) {
        status = put_range(to, next, SIRIX_CODE_POINT_MAX, err);
    }
    return status;
}

/* \i and \c with the colon, in order of code points: what a complement needs. */
static const struct sirix_code_points name_starts[] = {
    {':', ':'},       {'A', 'Z'},       {'_', '_'},       {'a', 'z'},
    {0xc0, 0xd6},     {0xd8, 0xf6},     {0xf8, 0x2ff},    {0x370, 0x37d},
    {0x37f, 0x1fff},  {0x200c, 0x200d}, {0x2070, 0x218f}, {0x2c00, 0x2fef},
    {0x3001, 0xd7ff}, {0xf900, 0xfdcf}, {0xfdf0, 0xfffd}, {0x10000, 0xeffff},
};
static const struct sirix_code_points name_chars[] = {
    {'-', '.'},       {'0', ':'},       {'A', 'Z'},         {'_', '_'},       {'a', 'z'},
    {0xb7, 0xb7},     {0xc0, 0xd6},     {0xd8, 0xf6},       {0xf8, 0x37d},    {0x37f, 0x1fff},
    {0x200c, 0x200d}, {0x203f, 0x2040}, {0x2070, 0x218f},   {0x2c00, 0x2fef}, {0x3001, 0xd7ff},
    {0xf900, 0xfdcf}, {0xfdf0, 0xfffd}, {0x10000, 0xeffff},
};
static const struct sirix_code_points spaces[] = {{'\t', '\n'}, {'\r', '\r'}, {' ', ' '}};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* \s \S \i \I \c \C \d \D \w \W as members of a class; *out_known false for other letters. */
static enum sirix_status put_multi(struct sirix_buf *to, uint32_t letter, bool *out_known,
                                   struct sirix_query_error *err)
{
    *out_known = true;
    switch (letter) {
    case 's':
    case 'S':
        return put_ranges(to, spaces, COUNT(spaces), letter == 'S', err);
    case 'i':
    case 'I':
        return put_ranges(to, name_starts, COUNT(name_starts), letter == 'I', err);
    case 'c':
    case 'C':
        return put_ranges(to, name_chars, COUNT(name_chars), letter == 'C', err);
    case 'd':
        return sirix_buf_append_str(to, "\\p{Nd}", &err->base);
    case 'D':
        return sirix_buf_append_str(to, "\\P{Nd}", &err->base);
    case 'w':
        return sirix_buf_append_str(to, "\\p{L}\\p{M}\\p{N}\\p{S}", &err->base);
    case 'W':
        return sirix_buf_append_str(to, "\\p{P}\\p{Z}\\p{C}", &err->base);
    default:
        *out_known = false;
        return SIRIX_OK;
    }
}

static bool is_category(struct sirix_bytes name)
{
    static const char *const known[] = {"L",  "Lu", "Ll", "Lt", "Lm", "Lo", "M",  "Mn", "Mc",
                                        "Me", "N",  "Nd", "Nl", "No", "P",  "Pc", "Pd", "Ps",
                                        "Pe", "Pi", "Pf", "Po", "Z",  "Zs", "Zl", "Zp", "S",
                                        "Sm", "Sc", "Sk", "So", "C",  "Cc", "Cf", "Co", "Cn"};

    for (size_t i = 0; i < COUNT(known); i++) {
        if (name.len == strlen(known[i]) && memcmp(name.data, known[i], name.len) == 0) {
            return true;
        }
    }
    return false;
}

/* {Lu} or {IsGreek} behind \p or \P. */
static enum sirix_status put_property(struct sirix_regex_reader *reader, struct sirix_buf *to,
                                      bool negated, struct sirix_query_error *err)
{
    const uint8_t *open = reader->at;
    const uint8_t *close =
        reader->at < reader->end ? memchr(open, '}', (size_t)(reader->end - open)) : NULL;

    if (close == NULL || *open != '{') {
        return sirix_regex_bad(reader, "\\p needs a category in braces", err);
    }
    struct sirix_bytes name = {.data = open + 1, .len = (size_t)(close - open) - 1};
    const char *text = name.data;

    reader->at = close + 1;
    if (is_category(name)) {
        return sirix_buf_printf(to, &err->base, "\\%c{%.*s}", negated ? 'P' : 'p', (int)name.len,
                                text);
    }
    for (size_t i = 0; name.len > 2 && memcmp(text, "Is", 2) == 0 && i < COUNT(sirix_regex_blocks);
         i++) {
        const struct sirix_regex_block *block = &sirix_regex_blocks[i];

        if (name.len - 2 == strlen(block->name) &&
            memcmp(text + 2, block->name, name.len - 2) == 0) {
            struct sirix_code_points range = {block->first, block->last};

            return put_ranges(to, &range, 1, negated, err);
        }
    }
    return sirix_regex_bad(reader, "an unknown category or block", err);
}

enum sirix_status sirix_regex_escape(struct sirix_regex_reader *reader, struct sirix_buf *to,
                                     uint32_t *out_single, bool *out_is_class,
                                     struct sirix_query_error *err)
{
    static const char same[] = "\\|.?*+(){}-[]^$";
    uint32_t letter = 0;
    bool known = false;

    *out_is_class = false;
    if (!sirix_regex_next(reader, &letter)) {
        return sirix_regex_bad(reader, "a backslash at the end", err);
    }
    if (letter == 'n' || letter == 'r' || letter == 't') {
        *out_single = letter == 'n' ? '\n' : letter == 'r' ? '\r' : '\t';
        return SIRIX_OK;
    }
    if (letter < 0x80 && letter != 0 && strchr(same, (int)letter) != NULL) {
        *out_single = letter;
        return SIRIX_OK;
    }
    if (letter == 'p' || letter == 'P') {
        *out_is_class = true;
        return put_property(reader, to, letter == 'P', err);
    }
    enum sirix_status status = put_multi(to, letter, &known, err);
    if (status == SIRIX_OK && !known) {
        return sirix_regex_bad(reader, "an unknown escape", err);
    }
    *out_is_class = true;
    return status;
}

/* One character of a class, or an escape of several (*out_is_class). */
static enum sirix_status take_member(struct sirix_regex_reader *reader, struct sirix_buf *to,
                                     uint32_t *out, bool *out_is_class,
                                     struct sirix_query_error *err)
{
    *out_is_class = false;
    if (!sirix_regex_next(reader, out)) {
        return sirix_regex_bad(reader, "a class without its end", err);
    }
    if (*out == '\\') {
        return sirix_regex_escape(reader, to, out, out_is_class, err);
    }
    return *out == '[' ? sirix_regex_bad(reader, "[ within a class", err) : SIRIX_OK;
}

static bool is_at(const struct sirix_regex_reader *reader, size_t ahead, uint8_t byte)
{
    return (size_t)(reader->end - reader->at) > ahead && reader->at[ahead] == byte;
}

/* A member, or a range that begins with it. */
static enum sirix_status put_member(struct sirix_regex_reader *reader, struct sirix_buf *to,
                                    bool is_first, struct sirix_query_error *err)
{
    uint32_t first = 0;
    uint32_t last = 0;
    bool is_class = false;
    bool is_dash = is_at(reader, 0, '-');
    enum sirix_status status = take_member(reader, to, &first, &is_class, err);

    if (status != SIRIX_OK || is_class) {
        return status;
    }
    if (is_dash && !is_first && !is_at(reader, 0, ']') && !is_at(reader, 0, '-')) {
        return sirix_regex_bad(reader, "a dash in the middle of a class", err);
    }
    bool is_range = is_at(reader, 0, '-') && !is_at(reader, 1, ']') && !is_at(reader, 1, '[');
    if (!is_range) {
        return put_range(to, first, first, err);
    }
    reader->at++;
    status = take_member(reader, to, &last, &is_class, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (is_class || last < first) {
        return sirix_regex_bad(reader, "a range that does not go up", err);
    }
    return put_range(to, first, last, err);
}

static enum sirix_status put_class(struct sirix_regex_reader *reader, struct sirix_buf *out,
                                   unsigned depth, struct sirix_query_error *err);

/* The members up to the ]; what is subtracted goes to less. */
static enum sirix_status put_members(struct sirix_regex_reader *reader, struct sirix_buf *members,
                                     struct sirix_buf *less, unsigned depth,
                                     struct sirix_query_error *err)
{
    enum sirix_status status = is_at(reader, 0, ']')
                                   ? sirix_regex_bad(reader, "an empty class", err)
                                   : put_member(reader, members, true, err);

    while (status == SIRIX_OK && !is_at(reader, 0, ']')) {
        bool subtracts = is_at(reader, 0, '-') && is_at(reader, 1, '[');

        if (!subtracts) {
            status = put_member(reader, members, false, err);
            continue;
        }
        reader->at += 2;
        status = put_class(reader, less, depth + 1, err);
        if (status == SIRIX_OK && !is_at(reader, 0, ']')) {
            status = sirix_regex_bad(reader, "a class goes on behind a subtraction", err);
        }
    }
    reader->at += status == SIRIX_OK ? 1 : 0; /* The ]. */
    return status;
}

/* Bounded recursion: a class within a class within ... at most SUBTRACTIONS_MAX deep. */
static enum sirix_status put_class(struct sirix_regex_reader *reader, struct sirix_buf *out,
                                   unsigned depth, struct sirix_query_error *err)
{
    struct sirix_buf members;
    struct sirix_buf less;
    bool negated = is_at(reader, 0, '^');

    if (depth == SUBTRACTIONS_MAX) {
        return sirix_regex_bad(reader, "too many classes within a class", err);
    }
    sirix_buf_init(&members, SIZE_MAX);
    sirix_buf_init(&less, SIZE_MAX);
    reader->at += negated ? 1 : 0;
    enum sirix_status status = put_members(reader, &members, &less, depth, err);
    if (status == SIRIX_OK) {
        bool has_less = less.len != 0;

        status = sirix_buf_printf(out, &err->base, "%s%.*s%s[%s%.*s]%s", has_less ? "(?:(?!" : "",
                                  (int)less.len, has_less ? (const char *)less.data : "",
                                  has_less ? ")" : "", negated ? "^" : "", (int)members.len,
                                  (const char *)members.data, has_less ? ")" : "");
    }
    sirix_buf_deinit(&members);
    sirix_buf_deinit(&less);
    return status;
}

enum sirix_status sirix_regex_class(struct sirix_regex_reader *reader,
                                    struct sirix_query_error *err)
{
    return put_class(reader, reader->to, 0, err);
}
