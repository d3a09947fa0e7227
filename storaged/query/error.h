/*
 * Why a query failed. Two kinds, told apart by the code:
 *
 *   code not ""   an error of the language (XPST0003, FORG0001, JNTY0004, a code of fn:error): status
 *                 SIRIX_INVALID; try/catch may catch it
 *   code ""       everything else (a limit, no memory, cancelled, the store): the status says what;
 *                 no query may catch it
 *
 * Functions of storaged/query take the carrier as their last parameter; calls of base, json and store
 * are given &err->base. Zero-initialise it; only a failing call writes to it.
 */
#ifndef SIRIX_QUERY_ERROR_H
#define SIRIX_QUERY_ERROR_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

struct sirix_sequence;

enum {
    SIRIX_QUERY_CODE_BYTES = 128,      /* Local name of a code; longer ones are cut. */
    SIRIX_QUERY_NAMESPACE_BYTES = 256, /* Its namespace. */
    SIRIX_QUERY_SUGGESTION_BYTES = 128,
};

struct sirix_query_error {
    struct sirix_error base;                       /* Status, reason and the sentence. */
    char code[SIRIX_QUERY_CODE_BYTES];             /* "FORG0001"; see above. */
    char code_ns[SIRIX_QUERY_NAMESPACE_BYTES];     /* "" for the standard ones (err:, jerr:). */
    uint32_t line;                                 /* From 1; 0: not known (yet). */
    uint32_t column;                               /* In code points, from 1. */
    char suggestion[SIRIX_QUERY_SUGGESTION_BYTES]; /* The nearest known name, or "". */
    const struct sirix_sequence *value; /* $err:value, in the arena of the query; NULL: none. */
};

/* Records an error of the language and returns SIRIX_INVALID. err may be NULL. */
enum sirix_status sirix_query_fail(struct sirix_query_error *err, const char *code, const char *fmt,
                                   ...) SIRIX_PRINTF(3, 4);

/* The same at a place in the query. */
enum sirix_status sirix_query_fail_at(struct sirix_query_error *err, uint32_t line, uint32_t column,
                                      const char *code, const char *fmt, ...) SIRIX_PRINTF(5, 6);

/* A named limit was passed: SIRIX_EXHAUSTED, reason size_limit. limit_name goes into the field. */
enum sirix_status sirix_query_fail_limit(struct sirix_query_error *err, const char *limit_name,
                                         const char *fmt, ...) SIRIX_PRINTF(3, 4);

/* Gives an error its place if it has none yet: the innermost expression that knows one. */
void sirix_query_error_locate(struct sirix_query_error *err, uint32_t line, uint32_t column);

/* Adds "did you mean name?". */
void sirix_query_error_suggest(struct sirix_query_error *err, const char *name);

/* Whether it is an error of the language, which try/catch may catch. */
static inline bool sirix_query_error_catchable(const struct sirix_query_error *err)
{
    return err->code[0] != '\0';
}

/*
 * The same failure as the rest of storaged knows it: the status, and one sentence with code, place
 * and suggestion ("XPST0017 at 3:14: unknown function jn:docs; did you mean jn:doc?"). What the store
 * says is left as it is; only its place is added. err may be NULL.
 */
void sirix_query_error_convert(const struct sirix_query_error *from, struct sirix_error *err);

#endif
