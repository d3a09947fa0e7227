/* Status and reason names and codes, all from the two X-lists, and the filling of sirix_error. */
#include "base/status.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"

struct status_row {
    const char *name;
    int grpc;
    int jsonrpc;
    int exit_code;
};

static const struct status_row status_rows[] = {
#define SIRIX_X(upper, lower, grpc_code, jsonrpc_code, exit)                                       \
    [SIRIX_##upper] = {#lower, (grpc_code), (jsonrpc_code), (exit)},
    SIRIX_STATUS_LIST(SIRIX_X)
#undef SIRIX_X
};

static const char *const reason_names[] = {
#define SIRIX_X(upper, lower) [SIRIX_REASON_##upper] = #lower,
    SIRIX_REASON_LIST(SIRIX_X)
#undef SIRIX_X
};

enum { STATUS_COUNT = sizeof(status_rows) / sizeof(status_rows[0]) };
enum { REASON_COUNT = sizeof(reason_names) / sizeof(reason_names[0]) };

/* A value from outside the enum (a corrupt or newer peer) is reported as our mistake. */
static const struct status_row *row_of(enum sirix_status status)
{
    size_t index = (size_t)status;

    return &status_rows[index < STATUS_COUNT ? index : SIRIX_INTERNAL];
}

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

static void SIRIX_PRINTF(4, 0) fill(struct sirix_error *err, enum sirix_status status,
                                    enum sirix_reason reason, const char *fmt, va_list args)
{
    char text[SIRIX_ERROR_TEXT_BYTES + 4]; /* One whole character more than is kept. */

    /* Arguments may point into *err, so the sentence is made before the old facts go. */
    if (vsnprintf(text, sizeof(text), fmt, args) < 0) {
        text[0] = '\0';
    }
    *err = (struct sirix_error){.status = status, .reason = reason};
    copy_text(err->text, sizeof(err->text), text);
}

const char *sirix_status_name(enum sirix_status status)
{
    return row_of(status)->name;
}

const char *sirix_reason_name(enum sirix_reason reason)
{
    size_t index = (size_t)reason;

    return reason_names[index < REASON_COUNT ? index : SIRIX_REASON_NONE];
}

int sirix_status_grpc_code(enum sirix_status status)
{
    return row_of(status)->grpc;
}

int sirix_status_jsonrpc_code(enum sirix_status status)
{
    return row_of(status)->jsonrpc;
}

int sirix_status_exit_code(enum sirix_status status)
{
    return row_of(status)->exit_code;
}

#undef sirix_fail /* See status.h: an analyser gets them as macros. */
#undef sirix_fail_reason

enum sirix_status sirix_fail(struct sirix_error *err, enum sirix_status status, const char *fmt,
                             ...)
{
    assert(status != SIRIX_OK);

    if (err != NULL) {
        va_list args;

        va_start(args, fmt);
        fill(err, status, SIRIX_REASON_NONE, fmt, args);
        va_end(args);
    }
    return status;
}

enum sirix_status sirix_fail_reason(struct sirix_error *err, enum sirix_status status,
                                    enum sirix_reason reason, const char *fmt, ...)
{
    assert(status != SIRIX_OK);

    if (err != NULL) {
        va_list args;

        va_start(args, fmt);
        fill(err, status, reason, fmt, args);
        va_end(args);
    }
    return status;
}

void sirix_error_set_field(struct sirix_error *err, const char *field)
{
    if (err != NULL) {
        copy_text(err->field, sizeof(err->field), field);
    }
}

void sirix_error_set_pointer(struct sirix_error *err, const char *pointer)
{
    if (err != NULL) {
        copy_text(err->pointer, sizeof(err->pointer), pointer);
    }
}

void sirix_error_set_retry(struct sirix_error *err, uint64_t after_ms)
{
    if (err != NULL) {
        err->retry_after_ms = after_ms;
    }
}

void sirix_error_set_offset(struct sirix_error *err, uint64_t offset)
{
    if (err != NULL) {
        err->has_offset = true;
        err->offset = offset;
    }
}

void sirix_error_set_code(struct sirix_error *err, const char *code, uint32_t line, uint32_t column)
{
    if (err != NULL) {
        copy_text(err->code, sizeof(err->code), code);
        err->line = line;
        err->column = column;
    }
}
