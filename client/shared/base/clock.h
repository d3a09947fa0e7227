/*
 * Time: instants in microseconds since 1970-01-01T00:00:00Z, and their one text form, RFC 3339.
 *
 * Text that is read
 *   2024-01-15T10:00:00-05:00   date, `T` or `t`, time, and an offset or `Z`: always demanded
 *   2024-01-15T15:00:00.5Z      a fraction of any length; digits past the microsecond are dropped
 *   2024-01-15                  a date alone is its 00:00:00Z
 * Refused: a missing or partial offset, a space for the `T`, second 60, hour 24, dates that are not
 * in the calendar, years outside 0001..9999 also after the offset is applied.
 */
#ifndef SIRIX_BASE_CLOCK_H
#define SIRIX_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "base/status.h"

/*
 * Where the time comes from. A test gives its own functions; context is handed back to them.
 * The functions may be called from any thread.
 */
struct sirix_clock {
    int64_t (*realtime_us)(void *context);   /* The time of day; may step back. */
    uint64_t (*monotonic_ns)(void *context); /* Never steps back; its zero means nothing. */
    void *context;
};

/* The system's clock. The pointer is valid for ever. */
const struct sirix_clock *sirix_clock_system(void);

static inline int64_t sirix_clock_realtime_us(const struct sirix_clock *clock)
{
    return clock->realtime_us(clock->context);
}

static inline uint64_t sirix_clock_monotonic_ns(const struct sirix_clock *clock)
{
    return clock->monotonic_ns(clock->context);
}

/* The first and the last instant with a text form: 0001-01-01T00:00:00Z, 9999-12-31T23:59:59.999999Z. */
#define SIRIX_TIME_US_MIN INT64_C(-62135596800000000)
#define SIRIX_TIME_US_MAX INT64_C(253402300799999999)

enum { SIRIX_TIME_TEXT_BYTES = 28 }; /* The text and its NUL. */

/*
 * Writes the instant, always with `Z` and six digits of the fraction, so that texts have one length
 * and sort as their instants do, and returns that length. An instant outside the range is written as
 * the nearest one inside.
 */
size_t sirix_time_format(int64_t time_us, char out_text[SIRIX_TIME_TEXT_BYTES]);

/*
 * Reads an instant. SIRIX_INVALID (reason field_invalid) says what is wrong and sets the offset of
 * the byte where it is wrong; the caller adds the field.
 */
enum sirix_status sirix_time_parse(struct sirix_bytes text, int64_t *out_time_us,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
