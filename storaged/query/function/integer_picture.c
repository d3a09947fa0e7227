/* Whole numbers by picture: digits with grouping, letters, Roman numbers, English words. */
#include "query/function/integer_picture.h"

#include <string.h>

#include "base/utf8.h"

enum { PATTERN_CHARS_MAX = 256, WORDS_DIGITS_MAX = 15, ROMAN_MAX = 4999 };

uint32_t digit_family(uint32_t code_point)
{
    static const uint32_t zeros[] = {
        0x30,   0x660,  0x6f0,  0x7c0,  0x966,  0x9e6,  0xa66,   0xae6,   0xb66,   0xbe6,
        0xc66,  0xce6,  0xd66,  0xde6,  0xe50,  0xed0,  0xf20,   0x1040,  0x1090,  0x17e0,
        0x1810, 0x1946, 0x19d0, 0x1a80, 0x1a90, 0x1b50, 0x1bb0,  0x1c40,  0x1c50,  0xa620,
        0xa8d0, 0xa900, 0xa9d0, 0xaa50, 0xabf0, 0xff10, 0x104a0, 0x11066, 0x1d7ce,
    };

    for (size_t i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
        if (code_point >= zeros[i] && code_point <= zeros[i] + 9) {
            return zeros[i];
        }
    }
    return 0;
}

static enum sirix_status append(struct sirix_buf *to, uint32_t code_point,
                                struct sirix_query_error *err)
{
    uint8_t bytes[SIRIX_UTF8_BYTES_MAX];

    return sirix_buf_append(to, bytes, sirix_utf8_encode(code_point, bytes), &err->base);
}

/* --- Digits ------------------------------------------------------------------------------------------ */

/* A pattern from its right end: where separators are, how many digits there must be. */
struct pattern {
    uint32_t zero;
    size_t mandatory;
    size_t places;                         /* Digits and optional digits. */
    uint32_t separator[PATTERN_CHARS_MAX]; /* Before the digit with that index from the right. */
    size_t interval;                       /* Regular grouping; 0: only where the pattern has it. */
    uint32_t interval_separator;
};

static enum sirix_status bad_pattern(struct sirix_bytes token, struct sirix_query_error *err)
{
    return sirix_query_fail(err, "FODF1310", "\"%.*s\" is not a picture of a number",
                            (int)(token.len > 60 ? 60 : token.len), (const char *)token.data);
}

static bool is_alphanumeric(uint32_t code_point)
{
    return (code_point >= 'a' && code_point <= 'z') || (code_point >= 'A' && code_point <= 'Z') ||
           digit_family(code_point) != 0;
}

/* Grouping is regular when all separators are one and stand at multiples of the first distance. */
static void find_interval(struct pattern *pattern)
{
    size_t first = 0;

    for (size_t i = 1; i < pattern->places && first == 0; i++) {
        first = pattern->separator[i] != 0 ? i : 0;
    }
    if (first == 0) {
        return;
    }
    for (size_t i = 1; i < pattern->places; i++) {
        uint32_t expected = i % first == 0 ? pattern->separator[first] : 0;

        if (pattern->separator[i] != expected) {
            return;
        }
    }
    pattern->interval = first;
    pattern->interval_separator = pattern->separator[first];
}

/* The code points of a pattern; false when there are too many. */
static bool decode(struct sirix_bytes token, uint32_t chars[PATTERN_CHARS_MAX], size_t *out_count)
{
    const uint8_t *at = token.data;
    size_t left = token.len;
    size_t count = 0;

    while (left > 0) {
        size_t len = sirix_utf8_decode(at, left, &chars[count]);

        if (len == 0 || ++count == PATTERN_CHARS_MAX) {
            return false;
        }
        at += len;
        left -= len;
    }
    *out_count = count;
    return true;
}

/* Reads a pattern from the right; false when it is not valid. */
static bool read_pattern(struct sirix_bytes token, struct pattern *to)
{
    uint32_t chars[PATTERN_CHARS_MAX];
    size_t count = 0;
    bool optional = false;

    if (!decode(token, chars, &count)) {
        return false;
    }
    uint32_t pending = 0;
    for (size_t i = count; i > 0; i--) {
        uint32_t c = chars[i - 1];
        uint32_t zero = digit_family(c);

        bool is_separator = zero == 0 && c != '#';

        if (is_separator && (is_alphanumeric(c) || pending != 0 || to->places == 0 || i == 1)) {
            return false; /* A separator at an end, two together, or a letter. */
        }
        if (is_separator) {
            pending = c;
            continue;
        }
        if ((zero != 0 && optional) || (zero != 0 && to->zero != 0 && zero != to->zero)) {
            return false;
        }
        optional = optional || c == '#';
        to->zero = zero != 0 ? zero : to->zero;
        to->mandatory += zero != 0;
        to->separator[to->places++] = pending;
        pending = 0;
    }
    find_interval(to);
    return to->mandatory != 0;
}

/* The separator behind the digit with an index from the right; 0: none. */
static uint32_t separator_at(const struct pattern *pattern, size_t from_right)
{
    if (from_right == 0) {
        return 0;
    }
    if (pattern->interval != 0) {
        return from_right % pattern->interval == 0 ? pattern->interval_separator : 0;
    }
    return from_right < pattern->places ? pattern->separator[from_right] : 0;
}

static enum sirix_status put_digits(struct sirix_bytes digits, const struct pattern *pattern,
                                    struct sirix_buf *to, struct sirix_query_error *err)
{
    const char *chars = digits.data;
    size_t places = digits.len > pattern->mandatory ? digits.len : pattern->mandatory;
    enum sirix_status status = SIRIX_OK;

    for (size_t place = places; status == SIRIX_OK && place > 0; place--) {
        size_t from_right = place - 1;
        uint32_t separator = separator_at(pattern, from_right);
        uint32_t digit =
            from_right < digits.len ? (uint32_t)(chars[digits.len - 1 - from_right] - '0') : 0;

        status = append(to, pattern->zero + digit, err);
        if (status == SIRIX_OK && separator != 0) {
            status = append(to, separator, err);
        }
    }
    return status;
}

static const char *ordinal_suffix(struct sirix_bytes digits)
{
    const char *chars = digits.data;
    char last = chars[digits.len - 1];
    bool is_teen = digits.len > 1 && chars[digits.len - 2] == '1';

    if (is_teen) {
        return "th";
    }
    return last == '1' ? "st" : last == '2' ? "nd" : last == '3' ? "rd" : "th";
}

static enum sirix_status decimal(struct sirix_bytes digits, struct sirix_bytes token, bool ordinal,
                                 struct sirix_buf *to, struct sirix_query_error *err)
{
    struct pattern pattern = {0};

    if (!read_pattern(token, &pattern)) {
        return bad_pattern(token, err);
    }
    enum sirix_status status = put_digits(digits, &pattern, to, err);
    if (status == SIRIX_OK && ordinal && pattern.zero == '0') {
        status = sirix_buf_append_str(to, ordinal_suffix(digits), &err->base);
    }
    return status;
}

/* --- Letters and Roman numbers ------------------------------------------------------------------------ */

static enum sirix_status letters(uint64_t value, char first, struct sirix_buf *to,
                                 struct sirix_query_error *err)
{
    char text[16];
    size_t at = sizeof(text);

    for (; value > 0; value = (value - 1) / 26) {
        text[--at] = (char)(first + (char)((value - 1) % 26));
    }
    return sirix_buf_append(to, text + at, sizeof(text) - at, &err->base);
}

static enum sirix_status roman(uint64_t value, bool upper, struct sirix_buf *to,
                               struct sirix_query_error *err)
{
    static const struct {
        unsigned value;
        const char *lower;
        const char *upper;
    } signs[] = {
        {1000, "m", "M"}, {900, "cm", "CM"}, {500, "d", "D"},  {400, "cd", "CD"}, {100, "c", "C"},
        {90, "xc", "XC"}, {50, "l", "L"},    {40, "xl", "XL"}, {10, "x", "X"},    {9, "ix", "IX"},
        {5, "v", "V"},    {4, "iv", "IV"},   {1, "i", "I"},
    };
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < sizeof(signs) / sizeof(signs[0]); i++) {
        for (; status == SIRIX_OK && value >= signs[i].value; value -= signs[i].value) {
            status = sirix_buf_append_str(to, upper ? signs[i].upper : signs[i].lower, &err->base);
        }
    }
    return status;
}

/* --- Words ------------------------------------------------------------------------------------------------ */

static const char *const small_words[] = {
    "zero",     "one",     "two",     "three",     "four",     "five",     "six",
    "seven",    "eight",   "nine",    "ten",       "eleven",   "twelve",   "thirteen",
    "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
};
static const char *const ten_words[] = {"",      "",      "twenty",  "thirty", "forty",
                                        "fifty", "sixty", "seventy", "eighty", "ninety"};

/* Words are put together with this many bytes at most: 15 digits of the longest words. */
struct words {
    char text[512];
    size_t len;
};

static void add_word(struct words *words, char before, const char *word)
{
    size_t len = strlen(word);

    if (words->len != 0) {
        words->text[words->len++] = before;
    }
    memcpy(words->text + words->len, word, len);
    words->len += len;
}

static void below_thousand(struct words *words, unsigned value, bool has_before)
{
    if (value >= 100) {
        add_word(words, ' ', small_words[value / 100]);
        add_word(words, ' ', "hundred");
        has_before = true;
        value %= 100;
        if (value == 0) {
            return;
        }
    }
    if (value != 0 && has_before) {
        add_word(words, ' ', "and");
    }
    if (value >= 20) {
        add_word(words, ' ', ten_words[value / 10]);
        if (value % 10 != 0) {
            add_word(words, '-', small_words[value % 10]);
        }
    } else if (value != 0) {
        add_word(words, ' ', small_words[value]);
    }
}

static void cardinal(struct words *words, uint64_t value)
{
    static const struct {
        uint64_t size;
        const char *name;
    } groups[] = {{1000000000000, "trillion"},
                  {1000000000, "billion"},
                  {1000000, "million"},
                  {1000, "thousand"}};

    if (value == 0) {
        add_word(words, ' ', small_words[0]);
    }
    for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++) {
        if (value >= groups[i].size) {
            below_thousand(words, (unsigned)(value / groups[i].size), false);
            add_word(words, ' ', groups[i].name);
            value %= groups[i].size;
        }
    }
    below_thousand(words, (unsigned)value, words->len != 0);
}

/* Makes the last word an ordinal: one, first; twenty, twentieth; six, sixth. */
static void make_ordinal(struct words *words)
{
    static const struct {
        const char *cardinal;
        const char *ordinal;
    } odd[] = {{"one", "first"},    {"two", "second"}, {"three", "third"},   {"five", "fifth"},
               {"eight", "eighth"}, {"nine", "ninth"}, {"twelve", "twelfth"}};
    size_t start = words->len;

    while (start > 0 && words->text[start - 1] != ' ' && words->text[start - 1] != '-') {
        start--;
    }
    for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
        size_t len = strlen(odd[i].cardinal);

        if (words->len - start == len && memcmp(words->text + start, odd[i].cardinal, len) == 0) {
            size_t ordinal_len = strlen(odd[i].ordinal);

            memcpy(words->text + start, odd[i].ordinal, ordinal_len);
            words->len = start + ordinal_len;
            return;
        }
    }
    const char *suffix = "th";
    if (words->text[words->len - 1] == 'y') {
        words->len--;
        suffix = "ieth";
    }
    memcpy(words->text + words->len, suffix, strlen(suffix));
    words->len += strlen(suffix);
}

static enum sirix_status in_words(uint64_t value, struct sirix_bytes token, bool ordinal,
                                  struct sirix_buf *to, struct sirix_query_error *err)
{
    struct words words = {.len = 0};
    const char *chars = token.data;
    bool is_title = token.len == 2;

    cardinal(&words, value);
    if (ordinal) {
        make_ordinal(&words);
    }
    for (size_t i = 0; i < words.len; i++) {
        bool is_first = i == 0 || words.text[i - 1] == ' ' || words.text[i - 1] == '-';
        bool is_and = is_first && words.len - i > 3 && memcmp(words.text + i, "and ", 4) == 0;

        bool is_letter = words.text[i] != ' ' && words.text[i] != '-';

        if (is_letter && chars[0] == 'W' && (!is_title || (is_first && !is_and))) {
            words.text[i] = (char)(words.text[i] - 'a' + 'A');
        }
    }
    return sirix_buf_append(to, words.text, words.len, &err->base);
}

/* --- All of them ---------------------------------------------------------------------------------------- */

static bool token_is(struct sirix_bytes token, const char *text)
{
    return token.len == strlen(text) && memcmp(token.data, text, token.len) == 0;
}

static bool has_digit(struct sirix_bytes token)
{
    const uint8_t *at = token.data;
    size_t left = token.len;

    while (left > 0) {
        uint32_t c = 0;
        size_t len = sirix_utf8_decode(at, left, &c);

        if (len == 0) {
            return false;
        }
        if (digit_family(c) != 0 || c == '#') {
            return true;
        }
        at += len;
        left -= len;
    }
    return false;
}

enum sirix_status format_integer(struct sirix_bytes digits, bool negative, struct sirix_bytes token,
                                 bool ordinal, struct sirix_buf *to, struct sirix_query_error *err)
{
    static const struct sirix_bytes plain = {.data = "1", .len = 1};
    const char *chars = digits.data;
    uint64_t value = 0;
    enum sirix_status status = SIRIX_OK;

    if (negative) {
        status = sirix_buf_append_u8(to, '-', &err->base);
    }
    if (status != SIRIX_OK || has_digit(token)) {
        return status != SIRIX_OK ? status : decimal(digits, token, ordinal, to, err);
    }
    if (digits.len > WORDS_DIGITS_MAX) {
        return decimal(digits, plain, ordinal, to, err);
    }
    for (size_t i = 0; i < digits.len; i++) {
        value = value * 10 + (uint64_t)(chars[i] - '0');
    }
    if (token_is(token, "w") || token_is(token, "W") || token_is(token, "Ww")) {
        return in_words(value, token, ordinal, to, err);
    }
    if ((token_is(token, "a") || token_is(token, "A")) && value > 0) {
        return letters(value, *(const char *)token.data, to, err);
    }
    if ((token_is(token, "i") || token_is(token, "I")) && value > 0 && value <= ROMAN_MAX) {
        return roman(value, token_is(token, "I"), to, err);
    }
    return decimal(digits, plain, ordinal, to, err);
}
