/*
 * Comparing values: the operators, equality for grouping with a hash that agrees, order by, deep-equal.
 *
 * null      Equal to itself, below every other atomic; null ne "x" is true, never an error.
 * Strings   By code points. xs:anyURI and xs:string compare; untyped is a string here (value
 *           comparison), or cast to the other operand's type (general comparison).
 */
#ifndef SIRIX_QUERY_VALUE_COMPARE_H
#define SIRIX_QUERY_VALUE_COMPARE_H

#include <stdbool.h>
#include <stdint.h>

#include "query/value/item.h"
#include "query/value/sequence.h"

enum sirix_comparison {
    SIRIX_EQ,
    SIRIX_NE,
    SIRIX_LT,
    SIRIX_LE,
    SIRIX_GT,
    SIRIX_GE,
};

/*
 * a op b of two atomics: XPTY0004 when the types do not compare (1 eq "1") or have no order (lt of
 * hexBinary is fine, of xs:duration is not), FOTY0013 for structured items and functions. A comparison
 * with NaN is false, ne true.
 */
enum sirix_status sirix_compare_values(struct sirix_work *work, enum sirix_comparison op,
                                       struct sirix_item a, struct sirix_item b, bool *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* One pair of a general comparison: the same after casting untyped operands. */
enum sirix_status sirix_compare_general(struct sirix_work *work, enum sirix_comparison op,
                                        struct sirix_item a, struct sirix_item b, bool *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Whether two atomics are the same value: as `eq`, but NaN equals NaN, numbers compare exactly (which
 * makes it an equivalence), dates without a zone are at the implicit one, types that do not compare are
 * different. Two items of kind NONE (a missing key) are the same.
 */
bool sirix_item_same(struct sirix_work *work, struct sirix_item a, struct sirix_item b);

/* A keyed hash of an atomic or of NONE: the same value, the same hash. */
uint64_t sirix_item_hash(struct sirix_work *work, struct sirix_item item);

/*
 * The order of two keys of order by, min, max and sort: < 0, 0, > 0. NONE (the empty sequence) and NaN
 * are least, or greatest if empty_greatest; null is below other atomics. XPTY0004 when the types do not
 * compare.
 */
enum sirix_status sirix_item_order(struct sirix_work *work, struct sirix_item a,
                                   struct sirix_item b, bool empty_greatest, int *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* deep-equal of items: structure and values; object fields in any order, NaN equal to NaN. FOTY0015 for functions. */
enum sirix_status sirix_item_deep_equal(struct sirix_work *work, struct sirix_item a,
                                        struct sirix_item b, bool *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The two texts by code points: < 0, 0, > 0. */
int sirix_text_compare(struct sirix_bytes a, struct sirix_bytes b);

#endif
