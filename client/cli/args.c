/* Parsing of flags, and guessing what was meant. */
#include "cli/args.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { WORD_BYTES_MAX = 64, DISTANCE_MAX = 3 };

enum sirix_status sirixctl_usage(struct sirix_error *err, const char *fmt, ...)
{
    char text[SIRIX_ERROR_TEXT_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    return sirix_fail(err, SIRIX_UNSUPPORTED, "%s", text);
}

/* --- Nearest words ---------------------------------------------------------------------------- */

static size_t least(size_t a, size_t b, size_t c)
{
    size_t ab = a < b ? a : b;

    return ab < c ? ab : c;
}

/* Levenshtein's distance of two short words. */
static size_t distance(const char *a, const char *b)
{
    size_t row[WORD_BYTES_MAX + 1];
    size_t a_len = strlen(a);
    size_t b_len = strlen(b);

    if (a_len > WORD_BYTES_MAX || b_len > WORD_BYTES_MAX) {
        return WORD_BYTES_MAX;
    }
    for (size_t j = 0; j <= b_len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a_len; i++) {
        size_t diagonal = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            size_t above = row[j];

            row[j] = least(above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1U : 0U));
            diagonal = above;
        }
    }
    return row[b_len];
}

const char *sirixctl_nearest(const char *unknown, const char *const *known, size_t count)
{
    const char *best = NULL;
    size_t best_distance = DISTANCE_MAX + 1;

    for (size_t i = 0; i < count; i++) {
        size_t len = strlen(unknown);
        size_t d = distance(unknown, known[i]);

        /* A beginning is near, however much is missing; a word of which most differs is not. */
        if (len >= 2 && strncmp(unknown, known[i], len) == 0) {
            d = 1;
        }
        size_t longer = strlen(known[i]) > len ? strlen(known[i]) : len;
        if (d < best_distance && 2 * d <= longer) {
            best_distance = d;
            best = known[i];
        }
    }
    return best;
}

/* --- Flags ------------------------------------------------------------------------------------ */

static enum sirix_status fail_unknown(const char *name, size_t name_len,
                                      const struct sirixctl_flags *common,
                                      const struct sirixctl_flags *own, struct sirix_error *err)
{
    const char *known[2 * SIRIXCTL_FLAGS_MAX];
    char word[WORD_BYTES_MAX + 1];
    size_t count = 0;

    for (size_t i = 0; i < own->count; i++) {
        known[count++] = own->items[i].name;
    }
    for (size_t i = 0; i < common->count; i++) {
        known[count++] = common->items[i].name;
    }
    (void)snprintf(word, sizeof(word), "%.*s", (int)name_len, name);
    const char *nearest = sirixctl_nearest(word, known, count);
    if (nearest != NULL) {
        return sirixctl_usage(err, "unknown flag --%s; did you mean --%s?", word, nearest);
    }
    return sirixctl_usage(err, "unknown flag --%s", word);
}

/* The table's place of a name, or its count. */
static size_t find_flag(const struct sirixctl_flags *flags, const char *name, size_t name_len)
{
    size_t at = 0;

    while (at < flags->count && (strlen(flags->items[at].name) != name_len ||
                                 strncmp(flags->items[at].name, name, name_len) != 0)) {
        at++;
    }
    return at;
}

/* Takes one flag at argv[*at], and its value, which may be the next argument. */
static enum sirix_status take_flag(int argc, const char **argv, int *at,
                                   const struct sirixctl_flags *common,
                                   const struct sirixctl_flags *own, struct sirixctl_args *args,
                                   struct sirix_error *err)
{
    const char *name = argv[*at] + 2;
    size_t name_len = strcspn(name, "=");
    const char *value = name[name_len] == '=' ? name + name_len + 1 : NULL;
    size_t place = find_flag(own, name, name_len);
    const struct sirixctl_flag *flag = place < own->count ? &own->items[place] : NULL;
    const char **slot = flag != NULL ? &args->own[place] : NULL;

    if (flag == NULL) {
        place = find_flag(common, name, name_len);
        if (place == common->count) {
            return fail_unknown(name, name_len, common, own, err);
        }
        flag = &common->items[place];
        slot = &args->common[place];
    }
    if (*slot != NULL) {
        return sirixctl_usage(err, "--%s is given twice", flag->name);
    }
    if (flag->value == NULL && value != NULL) {
        return sirixctl_usage(err, "--%s takes no value", flag->name);
    }
    if (flag->value != NULL && value == NULL) {
        if (*at + 1 >= argc) {
            return sirixctl_usage(err, "--%s needs a value: %s", flag->name, flag->value);
        }
        *at += 1;
        value = argv[*at];
    }
    *slot = value != NULL ? value : "";
    return SIRIX_OK;
}

enum sirix_status sirixctl_args_lead(int argc, const char *const *argv,
                                     const struct sirixctl_flags *common, int *out_count,
                                     struct sirix_error *err)
{
    static const struct sirixctl_flags none = {NULL, 0};
    int at = 0;

    while (at < argc && strncmp(argv[at], "--", 2) == 0 && argv[at][2] != '\0') {
        const char *name = argv[at] + 2;
        size_t name_len = strcspn(name, "=");
        size_t place = find_flag(common, name, name_len);

        if (place == common->count) {
            return fail_unknown(name, name_len, common, &none, err);
        }
        bool value_follows = common->items[place].value != NULL && name[name_len] != '=';
        if (value_follows && at + 1 >= argc) {
            return sirixctl_usage(err, "--%s needs a value: %s", common->items[place].name,
                                  common->items[place].value);
        }
        at += value_follows ? 2 : 1;
    }
    *out_count = at;
    return SIRIX_OK;
}

/* The first flag of a table that begins with a letter; NULL: none does. */
static const char *begins_with(const struct sirixctl_flags *flags, char letter)
{
    for (size_t i = 0; i < flags->count; i++) {
        if (flags->items[i].name[0] == letter) {
            return flags->items[i].name;
        }
    }
    return NULL;
}

/* One dash. `-o` is most likely the long flag that begins so. */
static enum sirix_status fail_short(const char *word, const struct sirixctl_flags *common,
                                    const struct sirixctl_flags *own, struct sirix_error *err)
{
    const char *meant = begins_with(own, word[1]);

    if (meant == NULL) {
        meant = begins_with(common, word[1]);
    }
    if (meant == NULL) {
        return sirixctl_usage(err, "unknown flag %s; flags begin with two dashes", word);
    }
    return sirixctl_usage(err, "unknown flag %s; flags begin with two dashes, did you mean --%s?",
                          word, meant);
}

/* `-`, and numbers below zero. */
static bool is_operand(const char *word)
{
    return word[0] != '-' || word[1] == '\0' || (word[1] >= '0' && word[1] <= '9');
}

enum sirix_status sirixctl_args_parse(int argc, const char **argv,
                                      const struct sirixctl_flags *common,
                                      const struct sirixctl_flags *own,
                                      struct sirixctl_args *out_args, struct sirix_error *err)
{
    struct sirixctl_args args = {.operands = argv};
    bool flags_are_over = false;

    for (int at = 0; at < argc; at++) {
        enum sirix_status status = SIRIX_OK;

        if (!flags_are_over && strcmp(argv[at], "--") == 0) {
            flags_are_over = true;
        } else if (!flags_are_over && strncmp(argv[at], "--", 2) == 0) {
            status = take_flag(argc, argv, &at, common, own, &args, err);
        } else if (!flags_are_over && !is_operand(argv[at])) {
            status = fail_short(argv[at], common, own, err);
        } else if (args.operand_count == SIRIXCTL_OPERANDS_MAX) {
            status = sirixctl_usage(err, "more than %d arguments", SIRIXCTL_OPERANDS_MAX);
        } else {
            argv[args.operand_count++] = argv[at]; /* Never past the argument just read. */
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out_args = args;
    return SIRIX_OK;
}

/* --- Numbers ---------------------------------------------------------------------------------- */

enum sirix_status sirixctl_parse_u64(const char *text, const char *what, uint64_t max,
                                     uint64_t *out, struct sirix_error *err)
{
    uint64_t value = 0;
    bool fits = text[0] != '\0';

    for (const char *at = text; *at != '\0' && fits; at++) {
        fits = *at >= '0' && *at <= '9' && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(*at - '0'), &value);
    }
    if (!fits || value > max) {
        return sirixctl_usage(err, "%s wants a whole number up to %" PRIu64 ", not `%s`", what, max,
                              text);
    }
    *out = value;
    return SIRIX_OK;
}

enum sirix_status sirixctl_parse_optional(const char *text, const char *what, uint64_t max,
                                          uint64_t *out, struct sirix_error *err)
{
    return text == NULL ? SIRIX_OK : sirixctl_parse_u64(text, what, max, out, err);
}
