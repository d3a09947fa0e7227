/* Whole numbers by picture, as format-integer() and the components of dates have them. Internal. */
#ifndef SIRIX_QUERY_FUNCTION_INTEGER_PICTURE_H
#define SIRIX_QUERY_FUNCTION_INTEGER_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "query/value/item.h"

/*
 * Appends a number, given as ASCII digits without zeros in front ("0" for zero), in the format of a
 * primary token: a pattern of digits ("1", "001", "#,##0"), A a i I, w W Ww; other tokens count as "1".
 * ordinal: "1st", "first". A number that a letter format does not reach is written in digits.
 * FODF1310 when the pattern is not valid.
 */
enum sirix_status format_integer(struct sirix_bytes digits, bool negative, struct sirix_bytes token,
                                 bool ordinal, struct sirix_buf *to,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The zero of the family of decimal digits that a code point is in; 0: it is no digit. */
uint32_t digit_family(uint32_t code_point);

#endif
