/* Looking for instructions in stored text. */
#include "guard/suspicion.h"

#include <string.h>

#include "base/buf.h"
#include "base/utf8.h"
#include "guard/suspicion_decode.h"
#include "guard/suspicion_words.h"
#include "json/canonical.h"

enum {
    NEAR_BYTES = 160,         /* Words that belong together are not farther apart. */
    FAR_BYTES = 320,          /* Nor those that name a tool. */
    ODD_BYTES_MAX = 8 * 1024, /* Of a text that are looked at in forms that people do not write. */
    APART_MIN = 5,            /* Letters in a row that stand apart. */
    TAG_FIRST = 0xe0020,
    TAG_LAST = 0xe007e,
};

const char *sirix_suspicion_name(enum sirix_suspicion suspicion)
{
    switch (suspicion) {
    case SIRIX_SUSPICION_INSTRUCTION:
        return "instruction";
    case SIRIX_SUSPICION_ROLE:
        return "role";
    case SIRIX_SUSPICION_TOOL:
        return "tool";
    default:
        return "none";
    }
}

/* --- The normal form ------------------------------------------------------------------------------- */

/* U+00C0..U+017F without accents; '.' where there is no letter for it. */
static const char latin[] = "aaaaaaaceeeeiiiidnooooo.ouuuuy.saaaaaaaceeeeiiiidnooooo.ouuuuy.y"
                            "aaaaaaccccccccddddeeeeeeeeeegggggggghhhhiiiiiiiiiiiijjkkklllllll"
                            "lllnnnnnnnnnoooooooorrrrrrssssssssttttttuuuuuuuuuuuuwwyyyzzzzzzs";

/* Cyrillic and Greek letters that look like Latin ones. */
static const struct {
    uint32_t code_point;
    char letter;
} look_alikes[] = {
    {0x0430, 'a'}, {0x0435, 'e'}, {0x043e, 'o'}, {0x0440, 'p'}, {0x0441, 'c'}, {0x0443, 'y'},
    {0x0445, 'x'}, {0x0455, 's'}, {0x0456, 'i'}, {0x0458, 'j'}, {0x0501, 'd'}, {0x04bb, 'h'},
    {0x043c, 'm'}, {0x043d, 'h'}, {0x0442, 't'}, {0x043a, 'k'}, {0x0432, 'b'}, {0x03b1, 'a'},
    {0x03bf, 'o'}, {0x03c1, 'p'}, {0x03b5, 'e'}, {0x03b9, 'i'}, {0x03ba, 'k'}, {0x03bd, 'v'},
    {0x03c5, 'u'}, {0x03c4, 't'}, {0x0261, 'g'}, {0x0131, 'i'}, {0x0578, 'n'}, {0x057d, 'u'},
};

struct form {
    bool folds_alikes;
    bool folds_digits;
    bool joins; /* Letters that stand apart. */
    bool is_rot13;
};

/* The plain letter of one that is written in another way: wide, in a circle, with an accent. */
static uint32_t fold_shape(uint32_t c)
{
    if (c >= 0xff01 && c <= 0xff5e) {
        c -= 0xfee0; /* Full width. */
    } else if (c >= 0x1d400 && c <= 0x1d6a3) {
        c = 'a' + (c - 0x1d400) % 52 % 26; /* Mathematical letters. */
    } else if (c >= 0x24b6 && c <= 0x24e9) {
        c = 'a' + (c - 0x24b6) % 26; /* In circles. */
    } else if (c >= 0x1f130 && c <= 0x1f149) {
        c = 'a' + (c - 0x1f130); /* In squares. */
    } else if (c >= TAG_FIRST && c <= TAG_LAST) {
        c -= 0xe0000;
    } else if (c >= 0xc0 && c <= 0x17f) {
        c = (uint32_t)(unsigned char)latin[c - 0xc0];
    } else if ((c >= 0x410 && c <= 0x42f) || (c >= 0x391 && c <= 0x3a9)) {
        c += 0x20;
    } else if (c >= 0x400 && c <= 0x40f) {
        c += 0x50;
    }
    return c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c;
}

static uint32_t fold_alike(uint32_t c)
{
    for (size_t i = 0; i < sizeof(look_alikes) / sizeof(look_alikes[0]); i++) {
        if (look_alikes[i].code_point == c) {
            return (uint32_t)(unsigned char)look_alikes[i].letter;
        }
    }
    return c;
}

static uint32_t fold_digit(uint32_t c)
{
    static const char from[] = "0134578@$!|";
    static const char to[] = "oieastbasil";
    const char *at = c == 0 || c >= 0x80 ? NULL : strchr(from, (int)c);

    return at == NULL ? c : (uint32_t)(unsigned char)to[at - from];
}

static uint32_t fold_letter(uint32_t c, const struct form *form)
{
    c = fold_shape(c);
    if (form->folds_alikes) {
        c = fold_alike(c);
    }
    if (form->folds_digits) {
        c = fold_digit(c);
    }
    if (form->is_rot13 && c >= 'a' && c <= 'z') {
        c = 'a' + (c - 'a' + 13) % 26;
    }
    return c;
}

static bool is_invisible(uint32_t c)
{
    return (c >= 0x200b && c <= 0x200f) || (c >= 0x202a && c <= 0x202e) ||
           (c >= 0x2060 && c <= 0x206f) || c == 0xfeff || c == 0xad || c == 0x34f ||
           (c >= 0xfe00 && c <= 0xfe0f) || (c >= 0x300 && c <= 0x36f) || c >= 0xe0000;
}

static bool is_word(uint32_t c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c >= 0x80;
}

/* Whether it stands between words, once it is folded. */
static bool parts_words(uint32_t c)
{
    return !is_word(c) || c == 0xa0 || c == 0x3000 || (c >= 0x2000 && c <= 0x206f);
}

/* <U+202E>, as guard/visible.h writes what it has made visible; 0: it is none. */
static size_t take_shown(const uint8_t *at, size_t left, uint32_t *out)
{
    uint32_t c = 0;
    size_t i = 3;

    if (left < 8 || memcmp(at, "<U+", 3) != 0) {
        return 0;
    }
    for (; i < left && i < 9 && sirix_json_hex_digit(at[i]) >= 0; i++) {
        c = c << 4 | (uint32_t)sirix_json_hex_digit(at[i]);
    }
    if (i < 7 || i == left || at[i] != '>') {
        return 0;
    }
    *out = c;
    return i + 1;
}

/* The character at a place; how long it is, 1 at least. What is no text parts words. */
static size_t take_character(const uint8_t *at, size_t left, uint32_t *out)
{
    size_t len = take_shown(at, left, out);

    if (len == 0) {
        len = sirix_utf8_decode(at, left, out);
    }
    if (len == 0) {
        *out = ' ';
        len = 1;
    }
    return len;
}

/* How many letters stand apart from a place on: a space or the end follows each. */
static size_t count_apart(const struct sirix_buf *words, size_t at)
{
    const uint8_t *text = words->data;
    size_t run = 0;

    while (at + 2 * run < words->len && text[at + 2 * run] < 0x80 && text[at + 2 * run] != ' ' &&
           (at + 2 * run + 1 == words->len || text[at + 2 * run + 1] == ' ')) {
        run++;
    }
    return run;
}

/* Joins letters that stand apart; whether there were some: "i g n o r e  a l l" becomes "ignoreall". */
static bool join(struct sirix_buf *words)
{
    const size_t before = words->len;
    uint8_t *text = words->data;
    size_t to = 0;
    size_t at = 0;

    while (at < words->len) {
        const size_t run = count_apart(words, at);

        if (run < APART_MIN || (at != 0 && text[at - 1] != ' ')) {
            text[to++] = text[at++];
            continue;
        }
        for (size_t i = 0; i < run; i++) {
            text[to++] = text[at + 2 * i];
        }
        at += 2 * run - 1;
    }
    words->len = to;
    return to < before;
}

/* What there is in a text that another form may be worth a look for. */
struct traits {
    bool has_alikes; /* Letters that may be others'. */
    bool has_digits; /* Digits and signs that may be letters. */
    bool has_joined; /* Letters that stood apart. */
};

/* Words with one space between them; adds to the traits. */
static enum sirix_status normalise(struct sirix_bytes plain, const struct form *form,
                                   struct sirix_buf *out, struct traits *traits,
                                   struct sirix_error *err)
{
    const uint8_t *text = plain.data;
    bool has_other = false;
    bool has_latin = false;
    uint32_t before = ' ';
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(out);
    for (size_t at = 0; at < plain.len && status == SIRIX_OK;) {
        uint32_t c = 0;

        at += take_character(text + at, plain.len - at, &c);
        if (is_invisible(c) && (c < TAG_FIRST || c > TAG_LAST)) {
            continue;
        }
        const uint32_t raw = c;
        c = fold_letter(c, form);
        has_other |= raw >= 0x250 && raw <= 0x58f;
        has_latin |= c >= 'a' && c <= 'z';
        traits->has_digits |= (raw >= '0' && raw <= '9') || raw == '@' || raw == '$' || raw == '!';
        if (parts_words(c)) {
            c = ' ';
        }
        if (c != ' ' || before != ' ') {
            status = sirix_suspicion_put(out, c, err);
        }
        before = c;
    }
    traits->has_alikes |= has_other && has_latin;
    if (status == SIRIX_OK && form->joins) {
        traits->has_joined |= join(out);
    }
    return status;
}

/* --- Looking --------------------------------------------------------------------------------------- */

struct looking {
    size_t seen[SIRIX_WORDS_KINDS]; /* Where a word of the kind was seen last, and 1; 0: not yet. */
    enum sirix_suspicion found;
};

static bool is_near(const struct looking *l, enum sirix_words kind, size_t at, size_t distance)
{
    return l->seen[kind] != 0 && at + 1 - l->seen[kind] <= distance;
}

static void judge(struct looking *l, size_t at)
{
    if (l->seen[SIRIX_WORDS_STRONG] == at + 1 ||
        (is_near(l, SIRIX_WORDS_DROP, at, NEAR_BYTES) &&
         is_near(l, SIRIX_WORDS_PRIOR, at, NEAR_BYTES) &&
         is_near(l, SIRIX_WORDS_RULES, at, NEAR_BYTES)) ||
        (is_near(l, SIRIX_WORDS_AI, at, NEAR_BYTES) &&
         is_near(l, SIRIX_WORDS_MUST, at, NEAR_BYTES)) ||
        (is_near(l, SIRIX_WORDS_HIDE, at, NEAR_BYTES / 2) &&
         is_near(l, SIRIX_WORDS_USER, at, NEAR_BYTES / 2)) ||
        (is_near(l, SIRIX_WORDS_SHOW, at, NEAR_BYTES / 2) &&
         is_near(l, SIRIX_WORDS_PROMPT, at, NEAR_BYTES / 2)) ||
        (is_near(l, SIRIX_WORDS_ACT, at, NEAR_BYTES) &&
         is_near(l, SIRIX_WORDS_SECRET, at, NEAR_BYTES) &&
         is_near(l, SIRIX_WORDS_WHERE, at, NEAR_BYTES))) {
        l->found = SIRIX_SUSPICION_INSTRUCTION;
    } else if (is_near(l, SIRIX_WORDS_TOOL, at, FAR_BYTES) &&
               is_near(l, SIRIX_WORDS_ACT, at, FAR_BYTES) &&
               is_near(l, SIRIX_WORDS_SECRET, at, FAR_BYTES)) {
        l->found = SIRIX_SUSPICION_TOOL;
    }
}

/* The words of all kinds that begin at a place. */
static void look_here(struct looking *l, struct sirix_bytes words, size_t at)
{
    const struct sirix_suspicion_index *index = sirix_suspicion_index();
    const uint8_t *text = (const uint8_t *)words.data + at;
    const size_t left = words.len - at;

    for (size_t i = index->first[*text]; i < index->first[*text + 1]; i++) {
        const size_t len = index->entries[i].len;

        if (len <= left && memcmp(index->entries[i].text, text, len) == 0) {
            l->seen[index->entries[i].kind] = at + 1;
            judge(l, at);
        }
    }
}

static enum sirix_suspicion look(struct sirix_bytes words, bool anywhere)
{
    struct looking l = {.found = SIRIX_SUSPICION_NONE};
    const uint8_t *text = words.data;

    for (size_t at = 0; at < words.len && l.found == SIRIX_SUSPICION_NONE; at++) {
        const bool is_start = at == 0 || text[at - 1] == ' ' || anywhere ||
                              text[at] >= 0xc0; /* Scripts without spaces. */

        if (is_start && text[at] != ' ') {
            look_here(&l, words, at);
        }
    }
    return l.found;
}

/* Marks of a conversation, as models are trained with. */
static bool has_role(struct sirix_bytes plain, struct sirix_buf *lower, struct sirix_error *err,
                     enum sirix_status *out_status)
{
    static const char *const marks[] = {
        "<|im_start|>",
        "<|im_end|>",
        "<|system|>",
        "<|user|>",
        "<|assistant|>",
        "<|endoftext|>",
        "[inst]",
        "[/inst]",
        "<<sys>>",
        "<system>",
        "</system>",
        "### instruction",
        "### system",
        "</database-content",
        "<database-content",
        "\nsystem: ",
        "\nassistant: ",
        "\n\nhuman: ",
        "[system]",
        "<|start_header_id|>",
        "begin system prompt",
        "<instructions>",
        "<function_calls>",
        "<tool_call>",
    };
    const uint8_t *text = plain.data;

    sirix_buf_clear(lower);
    *out_status = sirix_buf_append_u8(lower, '\n', err);
    if (*out_status == SIRIX_OK) {
        *out_status = sirix_buf_append(lower, text, plain.len, err);
    }
    for (size_t i = 0; i < lower->len; i++) {
        if (lower->data[i] >= 'A' && lower->data[i] <= 'Z') {
            lower->data[i] = (uint8_t)(lower->data[i] + ('a' - 'A'));
        }
    }
    for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
        if (memmem(lower->data, lower->len, marks[i], strlen(marks[i])) != NULL) {
            return true;
        }
    }
    return false;
}

/* --- All of it ------------------------------------------------------------------------------------- */

static void turn(struct sirix_buf *words)
{
    for (size_t i = 0; i < words->len / 2; i++) {
        const uint8_t byte = words->data[i];

        words->data[i] = words->data[words->len - 1 - i];
        words->data[words->len - 1 - i] = byte;
    }
}

/* In every form of the words that the text gives a reason for. */
static enum sirix_status look_at(struct sirix_bytes plain, struct sirix_buf *words,
                                 enum sirix_suspicion *out, struct sirix_error *err)
{
    enum { ODD_FORM = 3 }; /* From there on. */
    static const struct form forms[] = {
        {false, false, false, false}, {true, false, false, false}, {false, true, false, false},
        {true, true, true, false},    {false, false, false, true},
    };
    struct traits traits = {0};
    enum sirix_status status = SIRIX_OK;

    *out = SIRIX_SUSPICION_NONE;
    for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
        if (*out != SIRIX_SUSPICION_NONE || (i == 1 && !traits.has_alikes) ||
            (i == 2 && !traits.has_digits)) {
            continue;
        }
        if (i == ODD_FORM) {
            plain.len = plain.len < ODD_BYTES_MAX ? plain.len : ODD_BYTES_MAX;
        }
        status = normalise(plain, &forms[i], words, &traits, err);
        if (status != SIRIX_OK) {
            return status;
        }
        *out = look(sirix_buf_view(words), forms[i].joins && traits.has_joined);
    }
    if (*out == SIRIX_SUSPICION_NONE) {
        /* Backwards; only ASCII is right then. */
        status = normalise(plain, &forms[0], words, &traits, err);
        turn(words);
        if (status == SIRIX_OK) {
            *out = look(sirix_buf_view(words), false);
        }
    }
    return status;
}

enum sirix_status sirix_suspicion_of(struct sirix_bytes plain, enum sirix_suspicion *out,
                                     struct sirix_error *err)
{
    enum sirix_suspicion found = SIRIX_SUSPICION_NONE;
    struct sirix_buf words;
    struct sirix_buf decoded;
    enum sirix_status status = SIRIX_OK;

    plain.len = plain.len < SIRIX_SUSPICION_BYTES_MAX ? plain.len : SIRIX_SUSPICION_BYTES_MAX;
    sirix_buf_init(&words, SIZE_MAX);
    sirix_buf_init(&decoded, SIZE_MAX);
    if (plain.len != 0 && has_role(plain, &words, err, &status)) {
        found = SIRIX_SUSPICION_ROLE;
    }
    if (status == SIRIX_OK && found == SIRIX_SUSPICION_NONE) {
        status = look_at(plain, &words, &found, err);
    }
    for (int way = 0; way < 2 && status == SIRIX_OK && found == SIRIX_SUSPICION_NONE; way++) {
        sirix_buf_clear(&decoded);
        status = way == 0 ? sirix_suspicion_decode_runs(plain, &decoded, err)
                          : sirix_suspicion_decode_escapes(plain, &decoded, err);
        if (status == SIRIX_OK && decoded.len != 0) {
            status = look_at(sirix_buf_view(&decoded), &words, &found, err);
        }
    }
    sirix_buf_deinit(&words);
    sirix_buf_deinit(&decoded);
    if (status == SIRIX_OK) {
        *out = found;
    }
    return status;
}
