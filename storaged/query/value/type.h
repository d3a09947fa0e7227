/*
 * Types: the schema types that atomic items have, the item types of JSONiq, and sequence types.
 *
 * JSONiq's unprefixed names and XQuery's xs: names are the same types (integer is xs:integer); null,
 * object, array, item, json-item, structured-item, atomic and function are item types.
 */
#ifndef SIRIX_QUERY_VALUE_TYPE_H
#define SIRIX_QUERY_VALUE_TYPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"

/* X(NAME, "name", PARENT): every type but ITEM has a parent; a type is derived from its ancestors. */
#define SIRIX_TYPE_LIST(X)                                                                         \
    X(ITEM, "item", ITEM)                                                                          \
    X(STRUCTURED, "json-item", ITEM)                                                               \
    X(OBJECT, "object", STRUCTURED)                                                                \
    X(ARRAY, "array", STRUCTURED)                                                                  \
    X(FUNCTION, "function", ITEM)                                                                  \
    X(ATOMIC, "anyAtomicType", ITEM)                                                               \
    X(NULL, "null", ATOMIC)                                                                        \
    X(BOOLEAN, "boolean", ATOMIC)                                                                  \
    X(STRING, "string", ATOMIC)                                                                    \
    X(NORMALIZED_STRING, "normalizedString", STRING)                                               \
    X(TOKEN, "token", NORMALIZED_STRING)                                                           \
    X(LANGUAGE, "language", TOKEN)                                                                 \
    X(NMTOKEN, "NMTOKEN", TOKEN)                                                                   \
    X(NAME, "Name", TOKEN)                                                                         \
    X(NCNAME, "NCName", NAME)                                                                      \
    X(ID, "ID", NCNAME)                                                                            \
    X(IDREF, "IDREF", NCNAME)                                                                      \
    X(ENTITY, "ENTITY", NCNAME)                                                                    \
    X(UNTYPED, "untypedAtomic", ATOMIC)                                                            \
    X(ANY_URI, "anyURI", ATOMIC)                                                                   \
    X(QNAME, "QName", ATOMIC)                                                                      \
    X(NOTATION, "NOTATION", ATOMIC)                                                                \
    X(NUMERIC, "numeric", ATOMIC)                                                                  \
    X(DECIMAL, "decimal", NUMERIC)                                                                 \
    X(INTEGER, "integer", DECIMAL)                                                                 \
    X(NON_POSITIVE_INTEGER, "nonPositiveInteger", INTEGER)                                         \
    X(NEGATIVE_INTEGER, "negativeInteger", NON_POSITIVE_INTEGER)                                   \
    X(LONG, "long", INTEGER)                                                                       \
    X(INT, "int", LONG)                                                                            \
    X(SHORT, "short", INT)                                                                         \
    X(BYTE, "byte", SHORT)                                                                         \
    X(NON_NEGATIVE_INTEGER, "nonNegativeInteger", INTEGER)                                         \
    X(UNSIGNED_LONG, "unsignedLong", NON_NEGATIVE_INTEGER)                                         \
    X(UNSIGNED_INT, "unsignedInt", UNSIGNED_LONG)                                                  \
    X(UNSIGNED_SHORT, "unsignedShort", UNSIGNED_INT)                                               \
    X(UNSIGNED_BYTE, "unsignedByte", UNSIGNED_SHORT)                                               \
    X(POSITIVE_INTEGER, "positiveInteger", NON_NEGATIVE_INTEGER)                                   \
    X(DOUBLE, "double", NUMERIC)                                                                   \
    X(FLOAT, "float", NUMERIC)                                                                     \
    X(DURATION, "duration", ATOMIC)                                                                \
    X(YEAR_MONTH_DURATION, "yearMonthDuration", DURATION)                                          \
    X(DAY_TIME_DURATION, "dayTimeDuration", DURATION)                                              \
    X(DATE_TIME, "dateTime", ATOMIC)                                                               \
    X(DATE_TIME_STAMP, "dateTimeStamp", DATE_TIME)                                                 \
    X(DATE, "date", ATOMIC)                                                                        \
    X(TIME, "time", ATOMIC)                                                                        \
    X(G_YEAR_MONTH, "gYearMonth", ATOMIC)                                                          \
    X(G_YEAR, "gYear", ATOMIC)                                                                     \
    X(G_MONTH_DAY, "gMonthDay", ATOMIC)                                                            \
    X(G_DAY, "gDay", ATOMIC)                                                                       \
    X(G_MONTH, "gMonth", ATOMIC)                                                                   \
    X(BASE64_BINARY, "base64Binary", ATOMIC)                                                       \
    X(HEX_BINARY, "hexBinary", ATOMIC)                                                             \
    X(ERROR, "error", ATOMIC)

enum sirix_type {
#define SIRIX_X(upper, name, parent) SIRIX_TYPE_##upper,
    SIRIX_TYPE_LIST(SIRIX_X)
#undef SIRIX_X
        SIRIX_TYPE_COUNT
};

enum sirix_occurrence {
    SIRIX_OCCURRENCE_ONE,
    SIRIX_OCCURRENCE_OPTIONAL, /* ? */
    SIRIX_OCCURRENCE_MANY,     /* * */
    SIRIX_OCCURRENCE_SOME,     /* + */
    SIRIX_OCCURRENCE_NONE,     /* empty-sequence(); the type has no meaning. */
};

struct sirix_function_type;

/* A zeroed one is item(), exactly one. */
struct sirix_sequence_type {
    enum sirix_type type;
    enum sirix_occurrence occurrence;
    const struct sirix_function_type *function; /* FUNCTION: its signature; NULL: any. */
    const struct sirix_sequence_type *member;   /* ARRAY, OBJECT: of each member; NULL: any. */
    enum sirix_type key; /* OBJECT: what each name can be read as; ITEM: any. */
};

struct sirix_function_type {
    size_t arity;
    const struct sirix_sequence_type *parameters;
    struct sirix_sequence_type result;
};

/* "integer", "anyAtomicType", "json-item"; without a prefix. Never NULL. */
const char *sirix_type_name(enum sirix_type type);

/*
 * The type of a local name: "integer", "object", "atomic", "structured-item", "anyAtomicType", ...
 * The caller has decided that the prefix is xs: or absent; with xs_only the item types are not found.
 */
bool sirix_type_find(struct sirix_bytes name, bool xs_only, enum sirix_type *out);

/* Whether type is other or derived from it. */
bool sirix_type_derives(enum sirix_type type, enum sirix_type other);

/* The primitive type that a type is represented as: INT is INTEGER, TOKEN is STRING, DECIMAL is DECIMAL. */
enum sirix_type sirix_type_primitive(enum sirix_type type);

/* Whether the number of items is allowed. */
bool sirix_occurrence_allows(enum sirix_occurrence occurrence, size_t count);

/* Whether every sequence of type a is also one of type b: for function tests. */
bool sirix_sequence_type_within(const struct sirix_sequence_type *a,
                                const struct sirix_sequence_type *b);

/* Writes "xs:integer*", "object?", "function(item()) as item()*", NUL-terminated, cut if longer. */
void sirix_sequence_type_show(const struct sirix_sequence_type *type, char *to, size_t to_bytes);

#endif
