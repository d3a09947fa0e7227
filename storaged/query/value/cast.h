/*
 * Atomisation, casting, `instance of`, and the function conversion rules.
 */
#ifndef SIRIX_QUERY_VALUE_CAST_H
#define SIRIX_QUERY_VALUE_CAST_H

#include <stdbool.h>

#include "query/value/item.h"
#include "query/value/sequence.h"
#include "query/value/type.h"

/* Atomics are themselves; FOTY0013 for objects, arrays and functions. */
enum sirix_status sirix_item_atomise(struct sirix_item item, struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The one atomic value that an item stands for: an array of one stands for it, an empty one for nothing
 * (kind NONE); XPTY0004 for one of several.
 */
enum sirix_status sirix_item_atomise_one(struct sirix_work *work, struct sirix_item item,
                                         struct sirix_item *out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The sequence with the members of its arrays in place of them, at any depth; shares it if there are none. */
enum sirix_status sirix_sequence_spread(struct sirix_work *work,
                                        const struct sirix_sequence *sequence,
                                        struct sirix_sequence *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * item cast as type (an atomic type). FORG0001 bad text or value, FOCA0002 and FOCA0003 numbers that
 * do not fit, FOAR0002, FODT0001, XPTY0004 types that never cast. null casts to string and boolean.
 */
enum sirix_status sirix_item_cast(struct sirix_work *work, struct sirix_item item,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whether that cast succeeds; failures that are not of the language, as memory and limits, are errors. */
enum sirix_status sirix_item_castable(struct sirix_work *work, struct sirix_item item,
                                      enum sirix_type type, bool *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* item instance of an item type, member and function types included. */
enum sirix_status sirix_item_matches(struct sirix_work *work, struct sirix_item item,
                                     const struct sirix_sequence_type *type, bool *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* sequence instance of a sequence type. */
enum sirix_status sirix_sequence_matches(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, bool *out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The function conversion rules: where the type is atomic, arrays are replaced by their members and
 * objects and functions are FOTY0013; casts untyped items, promotes
 * numbers (integer to decimal, float, double) and anyURI to string, checks the number of items. what
 * names the value in the message ("argument 2 of fn:substring"). XPTY0004 otherwise. The result may
 * share the input. A function of another signature is wrapped in one of the wanted signature, if the arity fits.
 */
enum sirix_status sirix_sequence_convert(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, const char *what,
                                         struct sirix_sequence *out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
