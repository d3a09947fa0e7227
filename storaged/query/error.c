/* The carrier of a query's failure. */
#include "query/error.h"

#include <assert.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

/* Copies text into a fixed array; what does not fit is cut at a character. */
static void copy_text(char *to, size_t to_bytes, const char *text)
{
    size_t len = strlen(text);

    if (len >= to_bytes) {
        len = sirix_utf8_cut(text, len, to_bytes - 1);
    }
    memcpy(to, text, len);
    to[len] = '\0';
}

static enum sirix_status SIRIX_PRINTF(5, 0)
    fail(struct sirix_query_error *err, uint32_t line, uint32_t column, const char *code,
         const char *fmt, va_list args)
{
    char text[SIRIX_ERROR_TEXT_BYTES + 4];

    assert(code[0] != '\0');

    if (err == NULL) {
        return SIRIX_INVALID;
    }
    if (vsnprintf(text, sizeof(text), fmt, args) < 0) {
        text[0] = '\0';
    }
    (void)sirix_fail(&err->base, SIRIX_INVALID, "%s", text);
    copy_text(err->code, sizeof(err->code), code);
    err->code_ns[0] = '\0';
    err->suggestion[0] = '\0';
    err->line = line;
    err->column = column;
    err->value = NULL;
    return SIRIX_INVALID;
}

enum sirix_status sirix_query_fail(struct sirix_query_error *err, const char *code, const char *fmt,
                                   ...)
{
    va_list args;

    va_start(args, fmt);
    enum sirix_status status = fail(err, 0, 0, code, fmt, args);
    va_end(args);
    return status;
}

enum sirix_status sirix_query_fail_at(struct sirix_query_error *err, uint32_t line, uint32_t column,
                                      const char *code, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    enum sirix_status status = fail(err, line, column, code, fmt, args);
    va_end(args);
    return status;
}

enum sirix_status sirix_query_fail_limit(struct sirix_query_error *err, const char *limit_name,
                                         const char *fmt, ...)
{
    if (err != NULL) {
        char text[SIRIX_ERROR_TEXT_BYTES + 4];
        va_list args;

        va_start(args, fmt);
        int len = vsnprintf(text, sizeof(text), fmt, args);
        va_end(args);
        if (len < 0) {
            text[0] = '\0';
        }
        (void)sirix_fail_reason(&err->base, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                "%s (limit %s)", text, limit_name);
        sirix_error_set_field(&err->base, limit_name);
        err->code[0] = '\0';
        err->code_ns[0] = '\0';
        err->suggestion[0] = '\0';
        err->line = 0;
        err->column = 0;
        err->value = NULL;
    }
    return SIRIX_EXHAUSTED;
}

void sirix_query_error_locate(struct sirix_query_error *err, uint32_t line, uint32_t column)
{
    if (err != NULL && err->line == 0) {
        err->line = line;
        err->column = column;
    }
}

void sirix_query_error_suggest(struct sirix_query_error *err, const char *name)
{
    if (err != NULL) {
        copy_text(err->suggestion, sizeof(err->suggestion), name);
    }
}

void sirix_query_error_convert(const struct sirix_query_error *from, struct sirix_error *err)
{
    if (err == NULL) {
        return;
    }

    char place[48] = "";
    struct sirix_error copy = from->base;

    if (from->line != 0 &&
        snprintf(place, sizeof(place), " at %" PRIu32 ":%" PRIu32, from->line, from->column) < 0) {
        place[0] = '\0';
    }
    if (from->code[0] != '\0') {
        (void)sirix_fail_reason(err, from->base.status, SIRIX_REASON_QUERY, "%s%s: %s%s%s%s",
                                from->code, place, from->base.text,
                                from->suggestion[0] == '\0' ? "" : "; did you mean ",
                                from->suggestion, from->suggestion[0] == '\0' ? "" : "?");
        sirix_error_set_code(err, from->code, from->line, from->column);
    } else {
        *err = copy;
        err->line = from->line;
        err->column = from->column;
    }
}
