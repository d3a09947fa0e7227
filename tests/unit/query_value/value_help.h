/*
 * What the tests of values share. Items are written as their type's name, a blank, and their text:
 * "integer 12", "date 2001-02-03", "string a b", "json {"a":1}"; "null" and "none" alone.
 */
#ifndef TESTS_UNIT_QUERY_VALUE_VALUE_HELP_H
#define TESTS_UNIT_QUERY_VALUE_VALUE_HELP_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "query/value/cast.h"
#include "query/value/compare.h"
#include "query/value/container.h"
#include "query/value/json.h"
#include "query/value/number.h"

/* One piece of work with its two arenas. */
struct bench {
    struct sirix_arena arena;
    struct sirix_arena scratch;
    struct sirix_work work;
    struct sirix_query_error err;
};

static inline struct sirix_bytes text_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static inline struct bench *bench_new(size_t limit_bytes)
{
    struct bench *bench = test_calloc(1, sizeof(*bench));

    sirix_arena_init(&bench->arena, limit_bytes);
    sirix_arena_init(&bench->scratch, limit_bytes);
    if (sirix_work_init(&bench->work, &bench->arena, &bench->scratch, &bench->err) != SIRIX_OK) {
        fail_msg("%s", bench->err.base.text);
    }
    /* 2026-03-01T12:00:00.5Z */
    bench->work.now_seconds = 1772366400;
    bench->work.now_nanoseconds = 500000000;
    return bench;
}

static inline void bench_free(struct bench *bench)
{
    sirix_arena_deinit(&bench->arena);
    sirix_arena_deinit(&bench->scratch);
    test_free(bench);
}

/* An item as it is written; see above. */
static inline struct sirix_item item_of(struct bench *bench, const char *written)
{
    const char *blank = strchr(written, ' ');
    struct sirix_bytes name = {.data = written,
                               .len = blank == NULL ? strlen(written) : (size_t)(blank - written)};
    struct sirix_bytes text = text_of(blank == NULL ? "" : blank + 1);
    struct sirix_item item = {0};
    enum sirix_type type = SIRIX_TYPE_STRING;
    enum sirix_status status = SIRIX_OK;

    if (strcmp(written, "none") == 0) {
        return item;
    }
    if (strcmp(written, "null") == 0) {
        return sirix_item_null();
    }
    if (name.len == 4 && memcmp(written, "json", 4) == 0) {
        status =
            sirix_item_parse_json(&bench->work, text, SIRIX_JSON_DOUBLES_LAST, &item, &bench->err);
    } else {
        if (!sirix_type_find(name, false, &type)) {
            fail_msg("no such type: %s", written);
        }
        status = sirix_item_cast(&bench->work, sirix_item_string(text), type, &item, &bench->err);
    }
    if (status != SIRIX_OK) {
        fail_msg("%s: %s %s", written, bench->err.code, bench->err.base.text);
    }
    return item;
}

/* The same the other way round; valid until the bench goes. */
static inline const char *shown(struct bench *bench, struct sirix_item item)
{
    struct sirix_buf buf;
    const char *text = NULL;
    char *copy = NULL;
    struct sirix_bytes bytes = {0};
    enum sirix_status status = SIRIX_OK;

    if (item.kind == SIRIX_ITEM_NONE) {
        return "none";
    }
    if (item.kind == SIRIX_ITEM_NULL) {
        return "null";
    }
    sirix_buf_init(&buf, SIZE_MAX);
    if (sirix_item_is_structured(item)) {
        status = sirix_buf_append_str(&buf, "json ", &bench->err.base);
        if (status == SIRIX_OK) {
            status = sirix_item_print_json(&bench->work, item, &buf, &bench->err);
        }
    } else {
        status = sirix_item_text(&bench->work, item, &bytes, &bench->err);
        if (status == SIRIX_OK) {
            status = sirix_buf_printf(&buf, &bench->err.base, "%s %.*s",
                                      sirix_type_name((enum sirix_type)item.type), (int)bytes.len,
                                      (const char *)bytes.data);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_c_str(&buf, &text, &bench->err.base);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_strdup(&bench->arena, text, &copy, &bench->err.base);
    }
    sirix_buf_deinit(&buf);
    if (status != SIRIX_OK) {
        fail_msg("an item that cannot be shown: %s", bench->err.base.text);
    }
    return copy;
}

/* What came out of a call: the item, "!CODE", or "!status" for what is no error of the language. */
static inline const char *outcome(struct bench *bench, enum sirix_status status,
                                  struct sirix_item item)
{
    char *copy = NULL;

    if (status == SIRIX_OK) {
        return shown(bench, item);
    }
    if (sirix_arena_printf(&bench->arena, &copy, NULL, "!%s",
                           bench->err.code[0] != '\0' ? bench->err.code
                                                      : sirix_status_name(status)) != SIRIX_OK) {
        fail_msg("no memory for the name of an error");
    }
    return copy;
}

#endif
