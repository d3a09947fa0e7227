/*
 * Regular expressions with the syntax of XPath 3.1 (XSD's, with anchors, reluctant quantifiers, back
 * references and non-capturing groups), translated to PCRE2.
 *
 * Limits     Pattern bytes, compiled size, match steps and depth; past the last two a match fails with
 *            the limit "regex_steps", never with a wrong answer.
 * Memory     The program and PCRE2's own memory come from the arena that it was compiled in.
 * Threads    A compiled expression serves one thread at a time.
 */
#ifndef SIRIX_QUERY_VALUE_REGEX_H
#define SIRIX_QUERY_VALUE_REGEX_H

#include <stdbool.h>
#include <stddef.h>

#include "query/value/item.h"

enum {
    SIRIX_REGEX_PATTERN_BYTES_MAX = 32 * 1024,
    SIRIX_REGEX_STEPS_MAX = 1000 * 1000, /* From each place where a match may begin. */
    SIRIX_REGEX_DEPTH_MAX = 20000,
    SIRIX_REGEX_HEAP_KIB_MAX = 16 * 1024,
    SIRIX_REGEX_GROUPS_MAX = 255,
};

struct sirix_regex;

/* A cache of the last few expressions of a query; in an arena that outlives the query's tuples. */
enum sirix_status sirix_regex_cache_new(struct sirix_arena *arena, struct sirix_regex_cache **out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Compiles a pattern with flags (of "smixq"), or finds it in the cache of the work: FORX0001 bad flag,
 * FORX0002 bad pattern with the place in it.
 */
enum sirix_status sirix_regex_get(struct sirix_work *work, struct sirix_bytes pattern,
                                  struct sirix_bytes flags, struct sirix_regex **out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Capturing groups of the expression. */
size_t sirix_regex_groups(const struct sirix_regex *regex);

/* Whether it was compiled with flag q. */
bool sirix_regex_is_literal(const struct sirix_regex *regex);

/*
 * Finds the first match at or behind byte `from` of the text. Group i of the match (0: all of it) is
 * [out_spans[2i], out_spans[2i + 1]); SIZE_MAX where it did not take part. *out_spans lives until the
 * next match of any expression of the same cache.
 */
enum sirix_status sirix_regex_match(struct sirix_work *work, struct sirix_regex *regex,
                                    struct sirix_bytes text, size_t from, bool *out_found,
                                    const size_t **out_spans,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* For fn:analyze-string: the group that encloses group i (0: none). 1 <= i <= groups. */
size_t sirix_regex_parent(const struct sirix_regex *regex, size_t group);

#endif
