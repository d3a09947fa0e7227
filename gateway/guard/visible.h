/*
 * Stored text on its way to a model: cut at a number of code points, and with the characters that
 * would hide, reorder or steer made visible as <U+202E>. Texts are canonical (json/text.h).
 *
 * Made visible: controls but tab, LF and CRLF; U+007F..U+009F; soft hyphen, zero-width and
 * direction-changing characters, line and paragraph separators, fillers, invisible operators, the
 * byte order mark, variation selectors beyond the first of a character, private tags (U+E0000..).
 * Left alone where scripts and emoji need them: one U+200C, U+200D, U+FE0E or U+FE0F between
 * characters past U+007F that are themselves visible.
 */
#ifndef SIRIX_GUARD_VISIBLE_H
#define SIRIX_GUARD_VISIBLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"

struct sirix_visible {
    size_t taken;       /* Canonical bytes of the input that were used. */
    bool is_cut;        /* taken is not all of it. */
    bool was_changed;   /* Something was made visible. */
    size_t code_points; /* Of the input that were used. */
};

/*
 * Appends the text, at most code_points_max code points of it (SIZE_MAX: all). With show false it is
 * only cut. The text must be canonical.
 */
enum sirix_status sirix_visible_append(struct sirix_buf *out, struct sirix_bytes canonical,
                                       size_t code_points_max, bool show,
                                       struct sirix_visible *result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Appends, as plain text, the notice, a line break and the data between tags
 * <database-content-RANDOM> whose random part does not occur in the data.
 */
enum sirix_status sirix_visible_wrap(struct sirix_buf *out, const char *notice,
                                     struct sirix_bytes data,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
