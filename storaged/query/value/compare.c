/* The comparison operators, the order of keys, and equality with its hash. */
#include "query/value/compare.h"

#include <math.h>
#include <string.h>

#include "query/value/cast.h"
#include "query/value/datetime.h"
#include "query/value/number.h"

static const double int64_end = 9223372036854775808.0; /* 2^63 */

/* How two atomics compare: an order, equality only, or not at all. */
enum relation {
    RELATION_NONE,
    RELATION_EQUALITY, /* order is 0 or not. */
    RELATION_ORDER,
    RELATION_UNORDERED, /* NaN. */
};

static bool holds(enum sirix_comparison op, int order)
{
    switch (op) {
    case SIRIX_EQ:
        return order == 0;
    case SIRIX_NE:
        return order != 0;
    case SIRIX_LT:
        return order < 0;
    case SIRIX_LE:
        return order <= 0;
    case SIRIX_GT:
        return order > 0;
    case SIRIX_GE:
        return order >= 0;
    }
    return false;
}

static int compare_durations(struct sirix_item a, struct sirix_item b)
{
    struct sirix_duration x = sirix_duration_parts(a);
    struct sirix_duration y = sirix_duration_parts(b);

    if (x.months != y.months) {
        return x.months < y.months ? -1 : 1;
    }
    if (x.seconds != y.seconds) {
        return x.seconds < y.seconds ? -1 : 1;
    }
    return (x.nanoseconds > y.nanoseconds) - (x.nanoseconds < y.nanoseconds);
}

static bool has_order(struct sirix_item date)
{
    return sirix_type_derives((enum sirix_type)date.type, SIRIX_TYPE_DATE_TIME) ||
           date.type == SIRIX_TYPE_DATE || date.type == SIRIX_TYPE_TIME;
}

static enum relation compare_names(const struct sirix_qname *a, const struct sirix_qname *b,
                                   int *order)
{
    *order = !(sirix_bytes_equal(a->uri, b->uri) && sirix_bytes_equal(a->local, b->local));
    return RELATION_EQUALITY;
}

/* Dates and durations, of which one operand is. */
static enum relation relate_times(const struct sirix_work *work, struct sirix_item a,
                                  struct sirix_item b, int *order)
{
    if (sirix_item_is_duration(a) && sirix_item_is_duration(b)) {
        *order = compare_durations(a, b);
        return a.kind == b.kind && a.kind != SIRIX_ITEM_DURATION ? RELATION_ORDER
                                                                 : RELATION_EQUALITY;
    }
    if (a.kind != SIRIX_ITEM_DATETIME || b.kind != SIRIX_ITEM_DATETIME) {
        return RELATION_NONE;
    }
    enum sirix_type a_type = sirix_type_primitive((enum sirix_type)a.type);

    if (a_type != sirix_type_primitive((enum sirix_type)b.type)) {
        return RELATION_NONE;
    }
    *order = sirix_datetime_compare(a, b, work->zone);
    return has_order(a) ? RELATION_ORDER : RELATION_EQUALITY;
}

static enum relation relate(const struct sirix_work *work, struct sirix_item a, struct sirix_item b,
                            int *order)
{
    bool unordered = false;

    if (a.kind == SIRIX_ITEM_NULL || b.kind == SIRIX_ITEM_NULL) {
        *order = (b.kind == SIRIX_ITEM_NULL ? 1 : 0) - (a.kind == SIRIX_ITEM_NULL ? 1 : 0);
        return RELATION_ORDER;
    }
    if (sirix_item_is_numeric(a) && sirix_item_is_numeric(b)) {
        *order = sirix_number_compare(a, b, &unordered);
        return unordered ? RELATION_UNORDERED : RELATION_ORDER;
    }
    if (sirix_item_is_text(a) && sirix_item_is_text(b)) {
        *order = sirix_text_compare(sirix_item_bytes(a), sirix_item_bytes(b));
        return RELATION_ORDER;
    }
    if (a.kind == SIRIX_ITEM_BOOLEAN && b.kind == SIRIX_ITEM_BOOLEAN) {
        *order = (int)a.value.boolean - (int)b.value.boolean;
        return RELATION_ORDER;
    }
    if (a.kind == b.kind && (a.kind == SIRIX_ITEM_BASE64 || a.kind == SIRIX_ITEM_HEX)) {
        *order = sirix_text_compare(sirix_item_bytes(a), sirix_item_bytes(b));
        return RELATION_ORDER;
    }
    if (a.kind == SIRIX_ITEM_QNAME && b.kind == SIRIX_ITEM_QNAME) {
        return compare_names(a.value.qname, b.value.qname, order);
    }
    return relate_times(work, a, b, order);
}

enum sirix_status sirix_compare_values(struct sirix_work *work, enum sirix_comparison op,
                                       struct sirix_item a, struct sirix_item b, bool *out,
                                       struct sirix_query_error *err)
{
    int order = 0;
    enum sirix_status status = SIRIX_OK;

    if (!sirix_item_is_atomic(a) || !sirix_item_is_atomic(b)) {
        status = sirix_item_atomise(a, &a, err);
        if (status == SIRIX_OK) {
            status = sirix_item_atomise(b, &b, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    enum relation relation = relate(work, a, b, &order);

    if (relation == RELATION_UNORDERED) {
        *out = op == SIRIX_NE;
        return SIRIX_OK;
    }
    if (relation == RELATION_NONE || (relation == RELATION_EQUALITY && op > SIRIX_NE)) {
        return sirix_query_fail(
            err, "XPTY0004", "a value of type %s does not compare with one of type %s",
            sirix_type_name((enum sirix_type)a.type), sirix_type_name((enum sirix_type)b.type));
    }
    *out = holds(op, order);
    return SIRIX_OK;
}

/* What an untyped operand is cast to next to another one in a general comparison. */
static enum sirix_type untyped_as(struct sirix_item other)
{
    if (sirix_item_is_numeric(other)) {
        return SIRIX_TYPE_DOUBLE;
    }
    if (sirix_item_is_text(other) || other.kind == SIRIX_ITEM_NULL) {
        return SIRIX_TYPE_STRING;
    }
    if (other.kind == SIRIX_ITEM_MONTHS || other.kind == SIRIX_ITEM_SECONDS) {
        return (enum sirix_type)other.type;
    }
    return sirix_type_primitive((enum sirix_type)other.type);
}

enum sirix_status sirix_compare_general(struct sirix_work *work, enum sirix_comparison op,
                                        struct sirix_item a, struct sirix_item b, bool *out,
                                        struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (a.kind == SIRIX_ITEM_UNTYPED && sirix_item_is_atomic(b)) {
        status = sirix_item_cast(work, a, untyped_as(b), &a, err);
    }
    if (status == SIRIX_OK && b.kind == SIRIX_ITEM_UNTYPED && sirix_item_is_atomic(a)) {
        status = sirix_item_cast(work, b, untyped_as(a), &b, err);
    }
    return status != SIRIX_OK ? status : sirix_compare_values(work, op, a, b, out, err);
}

bool sirix_item_same(struct sirix_work *work, struct sirix_item a, struct sirix_item b)
{
    int order = 0;

    if (a.kind == SIRIX_ITEM_NONE || b.kind == SIRIX_ITEM_NONE) {
        return a.kind == b.kind;
    }
    if (a.kind == SIRIX_ITEM_STRING && b.kind == SIRIX_ITEM_STRING) {
        return sirix_bytes_equal(sirix_item_bytes(a), sirix_item_bytes(b));
    }
    if (sirix_item_is_numeric(a) && sirix_item_is_numeric(b)) {
        return sirix_number_order(a, b) == 0;
    }
    return relate(work, a, b, &order) != RELATION_NONE && order == 0;
}

/* Mixes a word with the key of the work. */
static uint64_t hash_word(const struct sirix_work *work, uint64_t kind, uint64_t word)
{
    uint64_t key[2];

    memcpy(key, work->hash_key.bytes, sizeof(key));
    return sirix_mix64(sirix_mix64(word ^ key[0]) + (key[1] ^ kind));
}

/*
 * Numbers that are the same have the same nearest double; whole ones in range of int64 are hashed as
 * integers, so that ids beyond 2^53 spread.
 */
static uint64_t hash_number(const struct sirix_work *work, struct sirix_item item)
{
    double value = 0;
    uint64_t bits = 0;

    if (item.kind == SIRIX_ITEM_INTEGER) {
        return hash_word(work, SIRIX_ITEM_INTEGER, (uint64_t)item.value.integer);
    }
    value = sirix_number_to_double(item);
    if (item.kind == SIRIX_ITEM_DECIMAL || item.kind == SIRIX_ITEM_BIG_DECIMAL) {
        int64_t whole = 0;

        if (item.kind == SIRIX_ITEM_DECIMAL && sirix_number_to_i64(item, &whole)) {
            return hash_word(work, SIRIX_ITEM_INTEGER, (uint64_t)whole);
        }
    }
    if (value >= -int64_end && value < int64_end && value == trunc(value)) {
        return hash_word(work, SIRIX_ITEM_INTEGER, (uint64_t)(int64_t)value);
    }
    if (isnan(value)) {
        value = (double)NAN;
    }
    memcpy(&bits, &value, sizeof(bits));
    return hash_word(work, SIRIX_ITEM_DOUBLE, bits);
}

uint64_t sirix_item_hash(struct sirix_work *work, struct sirix_item item)
{
    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_NULL:
        return hash_word(work, item.kind, 0);
    case SIRIX_ITEM_BOOLEAN:
        return hash_word(work, SIRIX_ITEM_BOOLEAN, item.value.boolean);
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
    case SIRIX_ITEM_BASE64:
    case SIRIX_ITEM_HEX:
        return sirix_hash(&work->hash_key, item.value.text, item.len);
    case SIRIX_ITEM_QNAME:
        return sirix_hash(&work->hash_key, item.value.qname->local.data,
                          item.value.qname->local.len);
    case SIRIX_ITEM_DATETIME: {
        int64_t zone = item.zone == SIRIX_ITEM_NO_ZONE ? work->zone : item.zone;

        return hash_word(work, SIRIX_ITEM_DATETIME,
                         (uint64_t)(item.value.integer - zone * 60) ^ (uint64_t)item.len << 34);
    }
    case SIRIX_ITEM_MONTHS:
    case SIRIX_ITEM_SECONDS:
    case SIRIX_ITEM_DURATION: {
        struct sirix_duration parts = sirix_duration_parts(item);

        return hash_word(work, SIRIX_ITEM_DURATION,
                         sirix_mix64((uint64_t)parts.months) + (uint64_t)parts.seconds +
                             ((uint64_t)parts.nanoseconds << 34));
    }
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
    case SIRIX_ITEM_FUNCTION:
        return hash_word(work, item.kind, 0);
    default:
        return hash_number(work, item);
    }
}

/* 0: an ordinary key; 1: NaN; 2: no key. */
static int emptiness(struct sirix_item item)
{
    return item.kind == SIRIX_ITEM_NONE ? 2 : sirix_number_is_nan(item) ? 1 : 0;
}

/* Two keys that are there and no NaN. */
static enum sirix_status order_atoms(struct sirix_work *work, struct sirix_item a,
                                     struct sirix_item b, int *out, struct sirix_query_error *err)
{
    int order = 0;
    enum relation relation = relate(work, a, b, &order);
    bool is_duration = sirix_item_is_duration(a) && sirix_item_is_duration(b);

    if (relation != RELATION_ORDER && !is_duration) { /* Keys of durations sort by months first. */
        return sirix_query_fail(err, "XPTY0004", "values of types %s and %s have no order",
                                sirix_type_name((enum sirix_type)a.type),
                                sirix_type_name((enum sirix_type)b.type));
    }
    *out = order;
    return SIRIX_OK;
}

enum sirix_status sirix_item_order(struct sirix_work *work, struct sirix_item a,
                                   struct sirix_item b, bool empty_greatest, int *out,
                                   struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (a.kind >= SIRIX_ITEM_OBJECT) {
        status = sirix_item_atomise_one(work, a, &a, err);
    }
    if (status == SIRIX_OK && b.kind >= SIRIX_ITEM_OBJECT) {
        status = sirix_item_atomise_one(work, b, &b, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    int a_empty = emptiness(a);
    int b_empty = emptiness(b);

    if (a_empty != 0 || b_empty != 0) {
        int order = (a_empty < b_empty) - (a_empty > b_empty);

        *out = empty_greatest ? -order : order;
        return SIRIX_OK;
    }
    return order_atoms(work, a, b, out, err);
}
