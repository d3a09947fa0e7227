#include <inttypes.h>
#include <stdlib.h>

#include "model/trial.h"

static void add(struct sirix_buf *out, const char *text)
{
    struct sirix_error err = {0};

    MODEL_CHECK(sirix_buf_append_str(out, text, &err) == SIRIX_OK, "%s", err.text);
}

static void add_number(struct sirix_buf *out, const char *fmt_before, uint64_t number)
{
    struct sirix_error err = {0};

    MODEL_CHECK(sirix_buf_printf(out, &err, "%s%" PRIu64, fmt_before, number) == SIRIX_OK, "%s",
                err.text);
}

const char *trial_text(struct sirix_buf *buf)
{
    const char *text = NULL;
    struct sirix_error err = {0};

    MODEL_CHECK(sirix_buf_c_str(buf, &text, &err) == SIRIX_OK, "%s", err.text);
    return text;
}

static void add_long(struct trial *trial, struct sirix_buf *out, size_t len)
{
    const char digits[] = "0123456789abcdef";

    for (size_t i = 0; i < len; i++) {
        char one[2] = {digits[trial_random(trial, 16)], '\0'};
        add(out, one);
    }
}

void trial_name(struct trial *trial, struct sirix_buf *out)
{
    static const char *const names[] = {"a",   "b",         "c",        "",        "x/y",    "m~n",
                                        "[0]", "\\\"q\\\\", "\xc3\xa4", "\\u0000", "length", "0"};

    switch (trial_random(trial, 8)) {
    case 0:
        add_number(out, "k", trial_random(trial, 200));
        break;
    case 1:
        if (trial_random(trial, 4) == 0) {
            add_long(trial, out, 60 + trial_random(trial, 10));
            break;
        }
        add_number(out, "n", trial_random(trial, 20));
        break;
    case 2:
        if (trial_random(trial, 10) == 0) {
            add_long(trial, out, SIRIX_TEXT_INLINE_MAX - 2 + trial_random(trial, 5));
            break;
        }
        add_number(out, "m", trial_random(trial, 5));
        break;
    default:
        add(out, names[trial_random(trial, sizeof(names) / sizeof(names[0]))]);
        break;
    }
}

static void add_scalar(struct trial *trial, struct sirix_buf *out)
{
    static const char *const fixed[] = {
        "true",
        "false",
        "null",
        "0",
        "-1",
        "1.1",
        "1.10",
        "1.100",
        "-0",
        "-0.0",
        "1e5",
        "100000",
        "1E400",
        "0.001",
        "-12.5",
        "\"\"",
        "\"a\\n\\u0001b\"",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "123456789012345678.5",
        "0.123456789012345678",
        "\"\\\\\\\"\"",
        "\"\xe6\x97\xa5\xe6\x9c\xac\"",
    };

    switch (trial_random(trial, 6)) {
    case 0:
        add_number(out, trial_random(trial, 2) == 0 ? "-1" : "1",
                   trial_random(trial, UINT64_C(100000000000000)));
        break;
    case 1:
        add(out, "\"");
        add_long(trial, out, trial_random(trial, 40));
        add(out, "\"");
        break;
    case 2:
        add(out, "\"");
        if (trial_random(trial, 8) == 0) {
            add_long(trial, out, SIRIX_TEXT_INLINE_MAX - 2 + trial_random(trial, 5));
        } else if (trial_random(trial, 16) == 0) {
            add_long(trial, out, 3000 + trial_random(trial, 2000));
        }
        add(out, "\"");
        break;
    default:
        add(out, fixed[trial_random(trial, sizeof(fixed) / sizeof(fixed[0]))]);
        break;
    }
}

static size_t child_count(struct trial *trial)
{
    switch (trial_random(trial, 12)) {
    case 0:
        return 60 + trial_random(trial, 12);
    case 1:
        return 28 + trial_random(trial, 8);
    default:
        return trial_random(trial, 5);
    }
}

void trial_object(struct trial *trial, unsigned depth, bool duplicates, struct sirix_buf *out)
{
    size_t count = child_count(trial);
    char(*names)[2048] = calloc(count + 1, sizeof(*names));
    struct sirix_buf name;
    bool is_first = true;

    MODEL_CHECK(names != NULL, "no memory");
    sirix_buf_init(&name, SIZE_MAX);
    add(out, "{");
    for (size_t i = 0; i < count; i++) {
        bool known = false;
        sirix_buf_clear(&name);
        if (count > 30 && !duplicates) {
            add_number(&name, "k", i * 3 + trial_random(trial, 3));
        } else {
            trial_name(trial, &name);
        }
        for (size_t j = 0; j < i && !known; j++) {
            known = strcmp(names[j], trial_text(&name)) == 0;
        }
        memcpy(names[i], trial_text(&name), name.len + 1);
        if (known && !duplicates) {
            continue;
        }
        add(out, is_first ? "\"" : " , \"");
        add(out, trial_text(&name));
        add(out, "\" : ");
        trial_value(trial, count > 10 ? 0 : depth - 1, out);
        is_first = false;
    }
    add(out, "}");
    sirix_buf_deinit(&name);
    free(names);
}

void trial_value(struct trial *trial, unsigned depth, struct sirix_buf *out)
{
    uint64_t kind = depth == 0 ? 0 : trial_random(trial, 3);

    if (kind == 0) {
        add_scalar(trial, out);
    } else if (kind == 1) {
        trial_object(trial, depth, false, out);
    } else {
        size_t count = child_count(trial);
        add(out, "[ ");
        for (size_t i = 0; i < count; i++) {
            add(out, i == 0 ? "" : ", ");
            trial_value(trial, count > 10 ? 0 : depth - 1, out);
        }
        add(out, " ]");
    }
}
