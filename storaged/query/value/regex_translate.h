/* XPath's regular expressions as PCRE2 writes them. Internal to regex.c. */
#ifndef SIRIX_QUERY_VALUE_REGEX_TRANSLATE_H
#define SIRIX_QUERY_VALUE_REGEX_TRANSLATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "query/value/regex.h"

struct sirix_regex_source {
    struct sirix_bytes text; /* For pcre2_compile(), in work->scratch. */
    uint32_t options;        /* PCRE2_*. */
    size_t groups;
    bool is_literal;
    uint8_t
        parents[SIRIX_REGEX_GROUPS_MAX + 1]; /* parents[i]: the group around group i, 0: none. */
};

/* FORX0001 flags, FORX0002 pattern. */
enum sirix_status sirix_regex_translate(struct sirix_work *work, struct sirix_bytes pattern,
                                        struct sirix_bytes flags, struct sirix_regex_source *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* --- Pieces shared by regex_translate.c and regex_class.c ------------------------------------------- */

struct sirix_regex_reader {
    struct sirix_work *work;
    const uint8_t *start;
    const uint8_t *at;
    const uint8_t *end;
    struct sirix_buf *to;
};

/* "at character n: what" as FORX0002. */
enum sirix_status sirix_regex_bad(const struct sirix_regex_reader *reader, const char *what,
                                  struct sirix_query_error *err);

/* Reads a code point; false at the end. */
bool sirix_regex_next(struct sirix_regex_reader *reader, uint32_t *out);

/* Writes a code point as itself. */
enum sirix_status sirix_regex_put(struct sirix_buf *to, uint32_t code_point,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * An escape behind its backslash: a single character (*out_single, nothing written), or a class whose
 * members are written as what stands inside [ ].
 */
enum sirix_status sirix_regex_escape(struct sirix_regex_reader *reader, struct sirix_buf *to,
                                     uint32_t *out_single, bool *out_is_class,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A class behind its [: written as one atom. */
enum sirix_status sirix_regex_class(struct sirix_regex_reader *reader,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
