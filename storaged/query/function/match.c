/* matches, replace, tokenize, contains-token, analyze-string. */
#include "query/function/support.h"
#include "query/function/tables.h"
#include "query/value/cast_text.h"
#include "query/value/regex.h"

/* Compiles argument 1 with the flags of argument `flags_at`. */
static enum sirix_status regex_argument(struct sirix_call *call, size_t flags_at,
                                        struct sirix_regex **out, struct sirix_query_error *err)
{
    return sirix_regex_get(call->work, text_argument(call, 1), text_argument(call, flags_at), out,
                           err);
}

/* The same for functions that need an expression that does not match the empty string. */
static enum sirix_status splitting_regex(struct sirix_call *call, size_t flags_at,
                                         struct sirix_regex **out, struct sirix_query_error *err)
{
    const size_t *spans = NULL;
    bool found = false;
    enum sirix_status status = regex_argument(call, flags_at, out, err);

    if (status == SIRIX_OK) {
        status = sirix_regex_match(call->work, *out, literal_bytes(""), 0, &found, &spans, err);
    }
    if (status == SIRIX_OK && found) {
        struct sirix_bytes pattern = text_argument(call, 1);

        return sirix_query_fail(err, "FORX0003", "\"%.*s\" matches the empty string",
                                (int)(pattern.len > 100 ? 100 : pattern.len),
                                (const char *)pattern.data);
    }
    return status;
}

static struct sirix_bytes part(struct sirix_bytes text, size_t from, size_t to)
{
    return (struct sirix_bytes){.data = (const char *)text.data + from, .len = to - from};
}

static enum sirix_status matches(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_regex *regex = NULL;
    const size_t *spans = NULL;
    bool found = false;
    enum sirix_status status = regex_argument(call, 2, &regex, err);

    if (status == SIRIX_OK) {
        status =
            sirix_regex_match(call->work, regex, text_argument(call, 0), 0, &found, &spans, err);
    }
    return status != SIRIX_OK ? status : give_boolean(call, found, out, err);
}

/* --- replace() --------------------------------------------------------------------------------------- */

/* Checks a replacement: \\ and \$ are the only escapes, $ needs a digit. */
static enum sirix_status check_replacement(struct sirix_bytes text, struct sirix_query_error *err)
{
    const char *chars = text.data;

    for (size_t i = 0; i < text.len; i++) {
        bool is_last = i + 1 == text.len;
        char after = chars[is_last ? i : i + 1];

        if (chars[i] == '\\' && (is_last || (after != '\\' && after != '$'))) {
            return sirix_query_fail(err, "FORX0004",
                                    "a backslash in a replacement is not before \\ or $");
        }
        if (chars[i] == '\\') {
            i++;
        } else if (chars[i] == '$' && (is_last || after < '0' || after > '9')) {
            return sirix_query_fail(err, "FORX0004", "a $ in a replacement is not before a digit");
        }
    }
    return SIRIX_OK;
}

/* $N: as many digits as there are groups for, at least one; moves *at behind them. */
static size_t group_of(struct sirix_bytes text, size_t *at, size_t groups)
{
    const char *chars = text.data;
    size_t group = (size_t)(chars[(*at)++] - '0');

    while (*at < text.len && chars[*at] >= '0' && chars[*at] <= '9' &&
           group * 10 + (size_t)(chars[*at] - '0') <= groups) {
        group = group * 10 + (size_t)(chars[(*at)++] - '0');
    }
    return group;
}

/* The next piece of a replacement: what a group matched, or a character; moves *at behind it. */
static struct sirix_bytes next_piece(struct sirix_bytes replacement, size_t *at,
                                     struct sirix_bytes text, const size_t *spans, size_t groups)
{
    const char *chars = replacement.data;

    if (chars[*at] == '$') {
        (*at)++;
        size_t group = group_of(replacement, at, groups);

        return group <= groups && spans[2 * group] != SIZE_MAX
                   ? part(text, spans[2 * group], spans[2 * group + 1])
                   : literal_bytes("");
    }
    *at += chars[*at] == '\\' ? 1 : 0;
    (*at)++;
    return part(replacement, *at - 1, *at);
}

static enum sirix_status append_replacement(struct sirix_buf *buf, struct sirix_bytes replacement,
                                            struct sirix_bytes text, const size_t *spans,
                                            size_t groups, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t at = 0; status == SIRIX_OK && at < replacement.len;) {
        struct sirix_bytes piece = next_piece(replacement, &at, text, spans, groups);

        status = sirix_buf_append_bytes(buf, piece, &err->base);
    }
    return status;
}

static enum sirix_status replace(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_bytes replacement = text_argument(call, 2);
    struct sirix_regex *regex = NULL;
    struct sirix_buf buf;
    size_t at = 0;
    enum sirix_status status = splitting_regex(call, 3, &regex, err);

    if (status == SIRIX_OK && !sirix_regex_is_literal(regex)) {
        status = check_replacement(replacement, err);
    }
    text_buffer_init(&buf);
    while (status == SIRIX_OK) {
        const size_t *spans = NULL;
        bool found = false;

        status = sirix_regex_match(call->work, regex, text, at, &found, &spans, err);
        if (status != SIRIX_OK || !found) {
            break;
        }
        status = sirix_buf_append_bytes(&buf, part(text, at, spans[0]), &err->base);
        if (status == SIRIX_OK && sirix_regex_is_literal(regex)) {
            status = sirix_buf_append_bytes(&buf, replacement, &err->base);
        } else if (status == SIRIX_OK) {
            status =
                append_replacement(&buf, replacement, text, spans, sirix_regex_groups(regex), err);
        }
        at = spans[1];
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(&buf, part(text, at, text.len), &err->base);
    }
    return give_buffer(call, status, &buf, out, err);
}

/* --- tokenize() --------------------------------------------------------------------------------------- */

static enum sirix_status add_text(struct sirix_call *call, struct sirix_sequence *to,
                                  struct sirix_bytes text, struct sirix_query_error *err)
{
    return sirix_sequence_append(call->work, to, sirix_item_string(text), err);
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* The words between white space. */
static enum sirix_status words(struct sirix_call *call, struct sirix_bytes text,
                               struct sirix_sequence *out, struct sirix_query_error *err)
{
    const char *chars = text.data;
    enum sirix_status status = SIRIX_OK;

    for (size_t at = 0; status == SIRIX_OK && at < text.len;) {
        size_t start = at;

        while (at < text.len && !is_space(chars[at])) {
            at++;
        }
        if (at > start) {
            status = add_text(call, out, part(text, start, at), err);
        }
        at++;
        if (status == SIRIX_OK) {
            status = sirix_work_tick(call->work, 1, err);
        }
    }
    return status;
}

static enum sirix_status tokenize(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_sequence tokens = {0};
    struct sirix_regex *regex = NULL;
    enum sirix_status status = SIRIX_OK;
    size_t at = 0;

    if (call->argument_count == 1) {
        status = words(call, text, &tokens, err);
    } else {
        status = splitting_regex(call, 2, &regex, err);
    }
    while (status == SIRIX_OK && regex != NULL && text.len > 0) {
        const size_t *spans = NULL;
        bool found = false;

        status = sirix_regex_match(call->work, regex, text, at, &found, &spans, err);
        if (status == SIRIX_OK) {
            status = add_text(call, &tokens, part(text, at, found ? spans[0] : text.len), err);
        }
        if (status != SIRIX_OK || !found) {
            break;
        }
        at = spans[1];
    }
    if (status == SIRIX_OK) {
        *out = tokens;
    }
    return status;
}

/* contains-token(texts*, token): whether the token is one of the words. */
static enum sirix_status contains_token(struct sirix_call *call, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    struct sirix_bytes token = sirix_text_trim(text_argument(call, 1));
    enum sirix_status status = check_collation(call, 2, err);
    bool found = false;

    while (status == SIRIX_OK && !found) {
        struct sirix_item item = {0};
        struct sirix_sequence tokens = {0};

        status = next_input(call, &item, err);
        if (status == SIRIX_OK && item.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (status == SIRIX_OK) {
            status = words(call, sirix_item_bytes(item), &tokens, err);
        }
        for (size_t i = 0; status == SIRIX_OK && i < tokens.count; i++) {
            found = found || sirix_bytes_equal(sirix_item_bytes(tokens.items[i]), token);
        }
    }
    return status != SIRIX_OK ? status : give_boolean(call, found && token.len != 0, out, err);
}

/* --- analyze-string() ---------------------------------------------------------------------------------- */

/* {"match": bool, "value": text, "groups": [{"nr": n, "value": text}, ...]} */
static enum sirix_status add_piece(struct sirix_call *call, struct sirix_sequence *to,
                                   struct sirix_bytes value, const struct sirix_item *groups,
                                   struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    struct sirix_item piece = {0};
    enum sirix_status status = sirix_object_new(work, 3, &piece, err);

    if (status == SIRIX_OK) {
        status = sirix_object_add(work, piece, literal_bytes("match"),
                                  sirix_item_boolean(groups != NULL), err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_object_add(work, piece, literal_bytes("value"), sirix_item_string(value), err);
    }
    if (status == SIRIX_OK && groups != NULL) {
        status = sirix_object_add(work, piece, literal_bytes("groups"), *groups, err);
    }
    return status != SIRIX_OK ? status : sirix_sequence_append(work, to, piece, err);
}

/* The groups that took part in a match, in order of their numbers. */
static enum sirix_status groups_of(struct sirix_call *call, const struct sirix_regex *regex,
                                   struct sirix_bytes text, const size_t *spans,
                                   struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_work *work = call->work;
    size_t count = sirix_regex_groups(regex);
    enum sirix_status status = sirix_array_new(work, count, out, err);

    for (size_t i = 1; status == SIRIX_OK && i <= count; i++) {
        struct sirix_item group = {0};

        if (spans[2 * i] == SIZE_MAX) {
            continue;
        }
        status = sirix_object_new(work, 2, &group, err);
        if (status == SIRIX_OK) {
            status = sirix_object_add(work, group, literal_bytes("nr"),
                                      sirix_item_integer((int64_t)i), err);
        }
        if (status == SIRIX_OK) {
            struct sirix_bytes value = part(text, spans[2 * i], spans[2 * i + 1]);

            status = sirix_object_add(work, group, literal_bytes("value"), sirix_item_string(value),
                                      err);
        }
        if (status == SIRIX_OK) {
            status = sirix_array_append(work, *out, group, err);
        }
    }
    return status;
}

/* An object in place of XML: {"parts": [...]} with matching and other parts in order. */
static enum sirix_status analyze_string(struct sirix_call *call, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    struct sirix_bytes text = text_argument(call, 0);
    struct sirix_sequence pieces = {0};
    struct sirix_regex *regex = NULL;
    struct sirix_item array = {0};
    struct sirix_item result = {0};
    size_t at = 0;
    enum sirix_status status = splitting_regex(call, 2, &regex, err);

    while (status == SIRIX_OK && at < text.len) {
        const size_t *spans = NULL;
        struct sirix_item groups = {0};
        bool found = false;

        status = sirix_regex_match(call->work, regex, text, at, &found, &spans, err);
        size_t stop = status == SIRIX_OK && found ? spans[0] : text.len;

        if (status == SIRIX_OK && stop > at) {
            status = add_piece(call, &pieces, part(text, at, stop), NULL, err);
        }
        if (status != SIRIX_OK || !found) {
            break;
        }
        at = spans[1];
        status = groups_of(call, regex, text, spans, &groups, err);
        if (status == SIRIX_OK) {
            status = add_piece(call, &pieces, part(text, spans[0], spans[1]), &groups, err);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_array_from(call->work, &pieces, &array, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_new(call->work, 1, &result, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_object_add(call->work, result, literal_bytes("parts"), array, err);
    }
    return status != SIRIX_OK ? status : give(call, result, out, err);
}

static const struct sirix_function rows[] = {
    ROW(FN, "matches", 2, 3, PURE, matches, 0, T(BOOLEAN, ONE), T(STRING, OPTIONAL), T(STRING, ONE),
        T(STRING, ONE)),
    ROW(FN, "replace", 3, 4, PURE, replace, 0, T(STRING, ONE), T(STRING, OPTIONAL), T(STRING, ONE),
        T(STRING, ONE), T(STRING, ONE)),
    ROW(FN, "tokenize", 1, 3, PURE, tokenize, 0, T(STRING, MANY), T(STRING, OPTIONAL),
        T(STRING, ONE), T(STRING, ONE)),
    ROW(FN, "contains-token", 2, 3, PURE | STREAMS, contains_token, 0, T(BOOLEAN, ONE),
        T(STRING, MANY), T(STRING, ONE), T(STRING, ONE)),
    ROW(FN, "analyze-string", 2, 3, PURE, analyze_string, 0, T(OBJECT, ONE), T(STRING, OPTIONAL),
        T(STRING, ONE), T(STRING, ONE)),
};

const struct sirix_function_table sirix_functions_match = {rows, sizeof(rows) / sizeof(rows[0])};
