/* Function items, as far as values know them: a signature, and what the callers of functions keep. */
#ifndef SIRIX_QUERY_VALUE_CALLABLE_H
#define SIRIX_QUERY_VALUE_CALLABLE_H

#include "base/bytes.h"
#include "query/value/type.h"

struct sirix_function;
struct sirix_sequence;
struct sirix_focus; /* query/function/function.h */

/* What item.value.function points to. */
struct sirix_function_value {
    const struct sirix_function *builtin; /* A reference to a built-in function, or NULL. */
    const void *closure;     /* The evaluator's: inline functions, partial applications. */
    int ns;                  /* enum sirix_function_ns of query/function/function.h */
    struct sirix_bytes uri;  /* Of a user function. */
    struct sirix_bytes name; /* Local name; empty: anonymous. */
    struct sirix_function_type signature;
    const struct sirix_sequence *bound; /* builtin: first arguments that are given already. */
    size_t bound_count;
    const struct sirix_focus *focus; /* builtin: where the reference was made; NULL: none. */
    /* Another function, called with what the signature makes of arguments and result; or NULL. */
    const struct sirix_function_value *coerced;
};

#endif
