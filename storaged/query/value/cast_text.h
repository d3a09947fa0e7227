/* Casts from a string, by target. Internal to storaged/query/value. */
#ifndef SIRIX_QUERY_VALUE_CAST_TEXT_H
#define SIRIX_QUERY_VALUE_CAST_TEXT_H

#include "query/value/item.h"

/* White space (space, tab, LF, CR) taken off both ends. */
struct sirix_bytes sirix_text_trim(struct sirix_bytes text);

/* The text as a string type: white space as the type wants it, its pattern checked. FORG0001. */
enum sirix_status sirix_cast_string(struct sirix_work *work, struct sirix_bytes text,
                                    enum sirix_type type, struct sirix_item *out,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The text as any other atomic type; integer types are not checked for their range. FORG0001. */
enum sirix_status sirix_cast_from_text(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_type type, struct sirix_item *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* "..." is not an xs:type. */
enum sirix_status sirix_cast_bad_text(struct sirix_bytes text, enum sirix_type type,
                                      struct sirix_query_error *err);

#endif
