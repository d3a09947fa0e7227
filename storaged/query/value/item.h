/*
 * Items: what sequences are made of. 24 bytes, passed by value.
 *
 * Kinds      An item's kind says how its value is kept, its type what the language calls it: an
 *            xs:short is kind INTEGER with type SHORT. A zeroed item has kind NONE: no item (the end
 *            of an iterator, a field that is not there). Integers and decimals that fit int64 are
 *            kept inline; larger ones are the BIG kinds. Both are normal: an integer that fits is
 *            never BIG.
 * Memory     Bytes and structs behind pointers are in an arena (or in the query's constants) and live
 *            as long as it does. sirix_item_keep() moves an item to a longer life.
 * Store      Items read from the store carry their node in `origin`: opaque here, a business of
 *            storaged/query/node, 0 for everything else. Copying an item copies it; computing a new
 *            value does not. Dates and durations never have one.
 * Containers Objects and arrays are reached through query/value/container.h only.
 */
#ifndef SIRIX_QUERY_VALUE_ITEM_H
#define SIRIX_QUERY_VALUE_ITEM_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "query/error.h"
#include "query/value/type.h"
#include "query/value/work.h"

enum sirix_item_kind {
    SIRIX_ITEM_NONE, /* No item. */
    SIRIX_ITEM_NULL,
    SIRIX_ITEM_BOOLEAN,
    SIRIX_ITEM_INTEGER,     /* value.integer. */
    SIRIX_ITEM_BIG_INTEGER, /* value.big, scale 0; does not fit int64. */
    SIRIX_ITEM_DECIMAL,     /* value.integer / 10^scale, scale 0..18. */
    SIRIX_ITEM_BIG_DECIMAL, /* value.big. */
    SIRIX_ITEM_DOUBLE,
    SIRIX_ITEM_FLOAT,
    SIRIX_ITEM_STRING,   /* Plain UTF-8, len bytes, no NUL; may hold U+0000. */
    SIRIX_ITEM_UNTYPED,  /* xs:untypedAtomic: as STRING. */
    SIRIX_ITEM_ANY_URI,  /* As STRING. */
    SIRIX_ITEM_QNAME,    /* value.qname. */
    SIRIX_ITEM_DATETIME, /* Everything with a point in time; see below. The type says which. */
    SIRIX_ITEM_MONTHS,   /* yearMonthDuration: value.integer months. */
    SIRIX_ITEM_SECONDS,  /* dayTimeDuration: value.integer seconds plus len nanoseconds. */
    SIRIX_ITEM_DURATION, /* xs:duration: value.duration. */
    SIRIX_ITEM_BASE64,   /* Decoded, len bytes. */
    SIRIX_ITEM_HEX,      /* Decoded, len bytes. */
    SIRIX_ITEM_OBJECT,   /* value.container. */
    SIRIX_ITEM_ARRAY,    /* value.container. */
    SIRIX_ITEM_FUNCTION, /* value.function: query/function/function.h. */
};

enum sirix_item_flag {
    SIRIX_ITEM_AS_WRITTEN = 1, /* DECIMAL, BIG_DECIMAL: print all of the scale: 1.10, not 1.1. */
    SIRIX_ITEM_SPREADS = 2,    /* ARRAY, NULL: stands for a sequence that a map or array holds. */
};

enum {
    SIRIX_ITEM_NO_ZONE = INT16_MIN,                 /* zone of a DATETIME without one. */
    SIRIX_ITEM_STRING_BYTES_MAX = 64 * 1024 * 1024, /* Of one string or binary. */
};

struct sirix_container; /* query/value/container.h */
struct sirix_big;       /* query/value/big.h */
struct sirix_function_value;

struct sirix_qname {
    struct sirix_bytes uri; /* Empty: none. */
    struct sirix_bytes prefix;
    struct sirix_bytes local;
};

struct sirix_duration {
    int64_t months;
    int64_t seconds; /* Of one sign with months; nanoseconds are added (floor). */
    uint32_t nanoseconds;
};

/*
 * DATETIME: value.integer is the local time in seconds since 1970-01-01T00:00:00 of that local time
 * (proleptic Gregorian, no leap seconds), len the nanoseconds above it, zone the offset in minutes.
 * Parts that a type does not have are those of 1972-12-31T00:00:00 (day 1 where it has a month only).
 */
struct sirix_item {
    uint8_t kind; /* enum sirix_item_kind */
    uint8_t type; /* enum sirix_type; the most specific one */
    union {
        struct {
            uint8_t flags; /* enum sirix_item_flag */
            uint8_t scale; /* DECIMAL */
        };
        int16_t zone; /* DATETIME: -840..840 or SIRIX_ITEM_NO_ZONE */
    };
    uint32_t len; /* Bytes of text or binary; nanoseconds. */
    union {
        bool boolean;
        int64_t integer;
        double number;
        float single;
        const char *text;
        const struct sirix_big *big;
        const struct sirix_qname *qname;
        const struct sirix_duration *duration;
        struct sirix_container *container;
        const struct sirix_function_value *function;
    } value;
    uint64_t origin;
};

static_assert(sizeof(struct sirix_item) == 24, "items are passed by value");

static inline bool sirix_item_is_none(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_NONE;
}

static inline bool sirix_item_is_structured(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_OBJECT || item.kind == SIRIX_ITEM_ARRAY;
}

/* Whether it stands for a sequence that a map or an array holds: sirix_item_spread(). */
static inline bool sirix_item_spreads(struct sirix_item item)
{
    return (item.kind == SIRIX_ITEM_NULL || item.kind == SIRIX_ITEM_ARRAY) &&
           (item.flags & SIRIX_ITEM_SPREADS) != 0;
}

static inline bool sirix_item_is_atomic(struct sirix_item item)
{
    return item.kind != SIRIX_ITEM_NONE && item.kind < SIRIX_ITEM_OBJECT;
}

static inline bool sirix_item_is_numeric(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_INTEGER && item.kind <= SIRIX_ITEM_FLOAT;
}

static inline bool sirix_item_is_integer(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_BIG_INTEGER;
}

/* STRING, UNTYPED and ANY_URI: value.text and len. */
static inline bool sirix_item_is_text(struct sirix_item item)
{
    return item.kind >= SIRIX_ITEM_STRING && item.kind <= SIRIX_ITEM_ANY_URI;
}

static inline struct sirix_item sirix_item_null(void)
{
    return (struct sirix_item){.kind = SIRIX_ITEM_NULL, .type = SIRIX_TYPE_NULL};
}

static inline struct sirix_item sirix_item_boolean(bool value)
{
    return (struct sirix_item){
        .kind = SIRIX_ITEM_BOOLEAN, .type = SIRIX_TYPE_BOOLEAN, .value.boolean = value};
}

static inline struct sirix_item sirix_item_integer(int64_t value)
{
    return (struct sirix_item){
        .kind = SIRIX_ITEM_INTEGER, .type = SIRIX_TYPE_INTEGER, .value.integer = value};
}

/* mantissa / 10^scale, scale 0..18. */
static inline struct sirix_item sirix_item_decimal(int64_t mantissa, uint8_t scale)
{
    struct sirix_item item = {.kind = SIRIX_ITEM_DECIMAL, .type = SIRIX_TYPE_DECIMAL};

    item.scale = scale;
    item.value.integer = mantissa;
    return item;
}

static inline struct sirix_item sirix_item_double(double value)
{
    return (struct sirix_item){
        .kind = SIRIX_ITEM_DOUBLE, .type = SIRIX_TYPE_DOUBLE, .value.number = value};
}

static inline struct sirix_item sirix_item_float(float value)
{
    return (struct sirix_item){
        .kind = SIRIX_ITEM_FLOAT, .type = SIRIX_TYPE_FLOAT, .value.single = value};
}

/* A view of text that lives elsewhere: valid UTF-8, at most SIRIX_ITEM_STRING_BYTES_MAX. */
static inline struct sirix_item sirix_item_string(struct sirix_bytes text)
{
    return (struct sirix_item){.kind = SIRIX_ITEM_STRING,
                               .type = SIRIX_TYPE_STRING,
                               .len = (uint32_t)text.len,
                               .value.text = text.data};
}

/* The bytes of a text or binary item. */
static inline struct sirix_bytes sirix_item_bytes(struct sirix_item item)
{
    return (struct sirix_bytes){.data = item.value.text, .len = item.len};
}

/* A string with a copy of text in the arena; refuses one longer than the limit. */
enum sirix_status sirix_item_new_string(struct sirix_work *work, struct sirix_bytes text,
                                        struct sirix_item *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A string item of a literal of ours. */
struct sirix_item sirix_item_literal(const char *text);

/* Whether the item has the type (derived types included); function and member types are not looked at. */
bool sirix_item_is(struct sirix_item item, enum sirix_type type);

/*
 * Copies everything behind the item's pointers to work->arena, so that it outlives the arena it came
 * from. In-memory containers are copied whole (no C recursion); items of the store keep their origin.
 */
enum sirix_status sirix_item_keep(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Effective boolean value of one item: false, 0, NaN, "", null are false; other atomics that have one
 * are true, and so are objects and arrays, as JSONiq has it. FORG0006 for dates, functions and such.
 */
enum sirix_status sirix_item_truth(struct sirix_item item, bool *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The string value as xs:string casting has it; into work->arena unless it is text already. FOTY0014
 * for objects, arrays and functions; null is "null".
 */
enum sirix_status sirix_item_text(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_bytes *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
