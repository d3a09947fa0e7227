/*
 * JSON strings in the store's one canonical form, without the quotes around them:
 *
 *     \" \\ \b \f \n \r \t     for these seven
 *     \u00xx, lower case       for every other code point below U+0020
 *     UTF-8                    for everything else, `/` and U+007F included
 *
 * Two strings are equal exactly when their canonical bytes are. "Plain" is the decoded text: UTF-8
 * that may hold U+0000. Both are valid UTF-8; functions that take plain text check that.
 */
#ifndef SIRIX_JSON_TEXT_H
#define SIRIX_JSON_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

/* Whether text is in canonical form and valid UTF-8: for bytes that come from a disk or a peer. */
bool sirix_json_text_valid(struct sirix_bytes canonical);

/* Whether a canonical text holds an escape; if not, canonical and plain are the same bytes. */
bool sirix_json_text_has_escapes(struct sirix_bytes canonical);

/* Bytes of the plain text that a canonical one stands for. */
size_t sirix_json_text_plain_len(struct sirix_bytes canonical);

/* The longest canonical prefix of at most max bytes that cuts neither an escape nor a character. */
size_t sirix_json_text_cut(struct sirix_bytes canonical, size_t max);

/*
 * Appends plain text in canonical form. SIRIX_INVALID (json_encoding, with the offset of the bad
 * byte) when it is not UTF-8; the buffer is then as before.
 */
enum sirix_status sirix_json_text_escape(struct sirix_buf *buf, struct sirix_bytes plain,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the plain text of a canonical one. */
enum sirix_status sirix_json_text_unescape(struct sirix_buf *buf, struct sirix_bytes canonical,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The same into an arena. Without escapes both give back a view of their input, which must then
 * live as long as the result.
 */
enum sirix_status sirix_json_text_to_plain(struct sirix_arena *arena, struct sirix_bytes canonical,
                                           struct sirix_bytes *out,
                                           struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_text_to_canonical(struct sirix_arena *arena, struct sirix_bytes plain,
                                               struct sirix_bytes *out,
                                               struct sirix_error *err) SIRIX_MUST_CHECK;

/* Compares two canonical texts by their code points: < 0, 0, > 0. */
int sirix_json_text_compare(struct sirix_bytes a, struct sirix_bytes b);

/* Appends plain text with its controls as escapes and the rest as it is: for people and C strings. */
enum sirix_status sirix_json_text_show(struct sirix_buf *buf, struct sirix_bytes plain,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
