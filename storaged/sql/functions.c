/*
 * Functions of the engine whose time follows the product of two lengths, in forms that end soon: a text of a
 * megabyte must not keep a statement from being interrupted.
 */
#include <string.h>

#include "sql/lock.h"

enum { TRIM_CHARACTERS_MAX = 256 };

struct piece {
    const unsigned char *data;
    size_t len;
};

static struct piece text_of(sqlite3_value *value)
{
    const unsigned char *data = sqlite3_value_text(value);

    return (struct piece){.data = data, .len = (size_t)sqlite3_value_bytes(value)};
}

static bool is_null(sqlite3_value **values, int count)
{
    for (int i = 0; i < count; i++) {
        if (sqlite3_value_type(values[i]) == SQLITE_NULL) {
            return true;
        }
    }
    return false;
}

static size_t characters(const unsigned char *data, size_t len)
{
    size_t count = 0;

    for (size_t i = 0; i < len; i++) {
        count += (data[i] & 0xc0) != 0x80 ? 1 : 0;
    }
    return count;
}

/* instr(X, Y): from 1, in characters; of two blobs in bytes. 0: not found. */
static void instr(sqlite3_context *context, int argc, sqlite3_value **values)
{
    const bool blobs = sqlite3_value_type(values[0]) == SQLITE_BLOB &&
                       sqlite3_value_type(values[1]) == SQLITE_BLOB;
    struct piece in = {0};
    struct piece what = {0};

    if (is_null(values, argc)) {
        return;
    }
    if (blobs) {
        in = (struct piece){sqlite3_value_blob(values[0]), (size_t)sqlite3_value_bytes(values[0])};
        what =
            (struct piece){sqlite3_value_blob(values[1]), (size_t)sqlite3_value_bytes(values[1])};
    } else {
        in = text_of(values[0]);
        what = text_of(values[1]);
        if (in.data == NULL || what.data == NULL) {
            sqlite3_result_error_nomem(context);
            return;
        }
    }
    if (what.len == 0) {
        sqlite3_result_int(context, 1);
        return;
    }
    const unsigned char *at = in.len == 0 ? NULL : memmem(in.data, in.len, what.data, what.len);
    sqlite3_int64 found = 0;
    if (at != NULL) {
        const size_t before = (size_t)(at - in.data);
        found = 1 + (sqlite3_int64)(blobs ? before : characters(in.data, before));
    }
    sqlite3_result_int64(context, found);
}

/* Appends; false: no memory, or longer than a value may be, which is told to the context. */
static bool append(sqlite3_context *context, sqlite3_str *out, const unsigned char *data,
                   size_t len)
{
    if (len != 0) {
        sqlite3_str_append(out, (const char *)data, (int)len);
    }
    switch (sqlite3_str_errcode(out)) {
    case SQLITE_OK:
        return true;
    case SQLITE_TOOBIG:
        sqlite3_result_error_toobig(context);
        return false;
    default:
        sqlite3_result_error_nomem(context);
        return false;
    }
}

/* replace(X, Y, Z): every Y in X becomes Z. */
static void replace(sqlite3_context *context, int argc, sqlite3_value **values)
{
    if (is_null(values, argc)) {
        return;
    }
    const struct piece in = text_of(values[0]);
    const struct piece what = text_of(values[1]);
    const struct piece with = text_of(values[2]);
    if (in.data == NULL || what.data == NULL || with.data == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (what.len == 0) {
        sqlite3_result_value(context, values[0]);
        return;
    }
    sqlite3_str *out = sqlite3_str_new(sqlite3_context_db_handle(context));
    const unsigned char *at = in.data;
    const unsigned char *end = in.data + in.len;
    bool fits = true;
    while (fits) {
        const unsigned char *next =
            at == end ? NULL : memmem(at, (size_t)(end - at), what.data, what.len);

        fits = append(context, out, at, (size_t)((next == NULL ? end : next) - at));
        if (next == NULL) {
            break;
        }
        fits = fits && append(context, out, with.data, with.len);
        at = next + what.len;
    }
    const int len = sqlite3_str_length(out);
    char *text = sqlite3_str_finish(out);
    if (!fits) {
        sqlite3_free(text);
    } else if (text == NULL) {
        sqlite3_result_text(context, "", 0, SQLITE_STATIC);
    } else {
        sqlite3_result_text(context, text, len, sqlite3_free);
    }
}

/* --- trim ------------------------------------------------------------------------------------------- */

enum { LEFT = 1, RIGHT = 2 };

/* Bytes of the character that begins, or ends, a text. */
static size_t character_at(const struct piece *in, bool first)
{
    size_t len = 1;

    if (first) {
        while (len < in->len && (in->data[len] & 0xc0) == 0x80) {
            len++;
        }
    } else {
        while (len < in->len && (in->data[in->len - len] & 0xc0) == 0x80) {
            len++;
        }
    }
    return len;
}

/* Whether a set holds a character. */
static bool holds(struct piece set, const unsigned char *character, size_t len)
{
    while (set.len != 0) {
        const size_t one = character_at(&set, true);

        if (one == len && memcmp(set.data, character, len) == 0) {
            return true;
        }
        set.data += one;
        set.len -= one;
    }
    return false;
}

static void trim(sqlite3_context *context, sqlite3_value **values, int sides)
{
    if (is_null(values, 2)) {
        return;
    }
    struct piece in = text_of(values[0]);
    const struct piece set = text_of(values[1]);
    if (in.data == NULL || set.data == NULL) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (set.len > TRIM_CHARACTERS_MAX) {
        sqlite3_result_error(context, "trim takes at most 256 bytes of characters", -1);
        return;
    }
    while ((sides & LEFT) != 0 && in.len != 0) {
        const size_t len = character_at(&in, true);

        if (!holds(set, in.data, len)) {
            break;
        }
        in.data += len;
        in.len -= len;
    }
    while ((sides & RIGHT) != 0 && in.len != 0) {
        const size_t len = character_at(&in, false);

        if (!holds(set, in.data + in.len - len, len)) {
            break;
        }
        in.len -= len;
    }
    sqlite3_result_text64(context, (const char *)in.data, in.len, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static void trim_both(sqlite3_context *context, int argc, sqlite3_value **values)
{
    (void)argc;
    trim(context, values, LEFT | RIGHT);
}

static void trim_left(sqlite3_context *context, int argc, sqlite3_value **values)
{
    (void)argc;
    trim(context, values, LEFT);
}

static void trim_right(sqlite3_context *context, int argc, sqlite3_value **values)
{
    (void)argc;
    trim(context, values, RIGHT);
}

int sirix_sql_functions_add(sqlite3 *db)
{
    static const struct {
        const char *name;
        int arguments;
        void (*function)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        {"instr", 2, instr},     {"replace", 3, replace},  {"trim", 2, trim_both},
        {"ltrim", 2, trim_left}, {"rtrim", 2, trim_right},
    };
    int rc = SQLITE_OK;

    for (size_t i = 0; rc == SQLITE_OK && i < sizeof(functions) / sizeof(functions[0]); i++) {
        rc = sqlite3_create_function_v2(db, functions[i].name, functions[i].arguments,
                                        SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, NULL,
                                        functions[i].function, NULL, NULL, NULL);
    }
    return rc;
}
