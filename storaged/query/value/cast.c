/* Atomisation, and casts between types. */
#include "query/value/cast.h"

#include <math.h>

#include "query/value/big.h"
#include "query/value/cast_text.h"
#include "query/value/container.h"
#include "query/value/datetime.h"
#include "query/value/number.h"

static const char *name_of(struct sirix_item item)
{
    return sirix_type_name((enum sirix_type)item.type);
}

enum sirix_status sirix_item_atomise(struct sirix_item item, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    if (sirix_item_is_atomic(item)) {
        *out = item;
        return SIRIX_OK;
    }
    return sirix_query_fail(err, "FOTY0013", "%s %s is not an atomic value",
                            item.kind == SIRIX_ITEM_FUNCTION ? "a" : "an", name_of(item));
}

enum sirix_status sirix_item_atomise_one(struct sirix_work *work, struct sirix_item item,
                                         struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_sequence members = {0};

    if (item.kind != SIRIX_ITEM_ARRAY) {
        return sirix_item_atomise(item, out, err);
    }
    enum sirix_status status = sirix_array_flatten(work, item, &members, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (members.count > 1) {
        return sirix_query_fail(err, "XPTY0004", "an array of %zu values is not an atomic value",
                                members.count);
    }
    if (members.count == 0) {
        *out = (struct sirix_item){0};
        return SIRIX_OK;
    }
    return sirix_item_atomise(members.items[0], out, err);
}

/* --- Integer types ------------------------------------------------------------------------------------- */

/* The range of a type; what has no bound on a side has flag. */
static const struct range {
    enum sirix_type type;
    bool has_least;
    bool has_most;
    int64_t least;
    uint64_t most;
} ranges[] = {
    {SIRIX_TYPE_NON_POSITIVE_INTEGER, false, true, 0, 0},
    {SIRIX_TYPE_NEGATIVE_INTEGER, false, true, 0, UINT64_MAX}, /* At most -1: see below. */
    {SIRIX_TYPE_LONG, true, true, INT64_MIN, INT64_MAX},
    {SIRIX_TYPE_INT, true, true, INT32_MIN, INT32_MAX},
    {SIRIX_TYPE_SHORT, true, true, INT16_MIN, INT16_MAX},
    {SIRIX_TYPE_BYTE, true, true, INT8_MIN, INT8_MAX},
    {SIRIX_TYPE_NON_NEGATIVE_INTEGER, true, false, 0, 0},
    {SIRIX_TYPE_UNSIGNED_LONG, true, true, 0, UINT64_MAX},
    {SIRIX_TYPE_UNSIGNED_INT, true, true, 0, UINT32_MAX},
    {SIRIX_TYPE_UNSIGNED_SHORT, true, true, 0, UINT16_MAX},
    {SIRIX_TYPE_UNSIGNED_BYTE, true, true, 0, UINT8_MAX},
    {SIRIX_TYPE_POSITIVE_INTEGER, true, false, 1, 0},
};

static bool in_range(const struct range *range, struct sirix_item item)
{
    int sign = sirix_number_sign(item);

    if (range->type == SIRIX_TYPE_NEGATIVE_INTEGER) {
        return sign < 0;
    }
    if (item.kind == SIRIX_ITEM_INTEGER) {
        int64_t value = item.value.integer;

        return (!range->has_least || value >= range->least) &&
               (!range->has_most || value < 0 || (uint64_t)value <= range->most);
    }
    if (sign < 0) {
        return !range->has_least;
    }
    return !range->has_most ||
           (range->most == UINT64_MAX && item.value.big->size == 1); /* Past int64, one limb. */
}

/* Gives an integer the derived type, if it is in its range. */
static enum sirix_status narrow(struct sirix_item item, enum sirix_type type,
                                struct sirix_item *out, struct sirix_query_error *err)
{
    for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++) {
        if (ranges[i].type == type && !in_range(&ranges[i], item)) {
            return sirix_query_fail(err, "FORG0001", "the number is out of the range of xs:%s",
                                    sirix_type_name(type));
        }
    }
    item.type = (uint8_t)type;
    item.origin = 0;
    *out = item;
    return SIRIX_OK;
}

/* --- Numbers ------------------------------------------------------------------------------------------------ */

struct exact_run {
    struct sirix_work *work;
    double value;
    struct sirix_item *out;
};

static enum sirix_status exact_body(void *context, struct sirix_query_error *err)
{
    struct exact_run *run = context;
    uint32_t scale = 0;
    mpz_t value;

    sirix_big_load_double(value, &scale, run->value);
    return sirix_big_store(run->work, value, scale, SIRIX_TYPE_DECIMAL, run->out, err);
}

/* Any number as a decimal of exactly its value. */
static enum sirix_status to_decimal(struct sirix_work *work, struct sirix_item item,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct exact_run run = {.work = work, .out = out};

    if (item.kind == SIRIX_ITEM_DOUBLE || item.kind == SIRIX_ITEM_FLOAT) {
        run.value = sirix_number_to_double(item);
        if (isnan(run.value) || isinf(run.value)) {
            return sirix_query_fail(err, "FOCA0002", "NaN and infinity are not exact numbers");
        }
        return sirix_big_run(work, exact_body, &run, err);
    }
    if (item.kind == SIRIX_ITEM_INTEGER) {
        item.kind = SIRIX_ITEM_DECIMAL;
        item.scale = 0;
    } else if (item.kind == SIRIX_ITEM_BIG_INTEGER) {
        item.kind = SIRIX_ITEM_BIG_DECIMAL;
    }
    item.type = SIRIX_TYPE_DECIMAL;
    item.origin = 0;
    *out = item;
    return SIRIX_OK;
}

static enum sirix_status to_integer(struct sirix_work *work, struct sirix_item item,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_item whole = {0};
    int64_t small = 0;

    if (sirix_number_to_i64(item, &small)) {
        *out = sirix_item_integer(small);
        return SIRIX_OK;
    }
    enum sirix_status status = to_decimal(work, item, &whole, err);
    if (status == SIRIX_OK) {
        status = sirix_number_round(work, whole, SIRIX_ROUND_TRUNCATE, 0, &whole, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_number_to_i64(whole, &small)) {
        *out = sirix_item_integer(small);
        return SIRIX_OK;
    }
    whole.kind = SIRIX_ITEM_BIG_INTEGER;
    whole.type = SIRIX_TYPE_INTEGER;
    *out = whole;
    return SIRIX_OK;
}

static enum sirix_status from_number(struct sirix_work *work, struct sirix_item item,
                                     enum sirix_type type, struct sirix_item *out,
                                     struct sirix_query_error *err)
{
    switch (sirix_type_primitive(type)) {
    case SIRIX_TYPE_DOUBLE:
        *out = sirix_item_double(sirix_number_to_double(item));
        return SIRIX_OK;
    case SIRIX_TYPE_FLOAT:
        *out = sirix_item_float(sirix_number_to_float(item));
        return SIRIX_OK;
    case SIRIX_TYPE_DECIMAL:
        return to_decimal(work, item, out, err);
    case SIRIX_TYPE_INTEGER: {
        enum sirix_status status = to_integer(work, item, &item, err);

        return status != SIRIX_OK ? status : narrow(item, type, out, err);
    }
    case SIRIX_TYPE_BOOLEAN: {
        bool is_true = false;
        enum sirix_status status = sirix_item_truth(item, &is_true, err);

        *out = sirix_item_boolean(is_true);
        return status;
    }
    default:
        return sirix_query_fail(err, "XPTY0004", "a number is never cast to xs:%s",
                                sirix_type_name(type));
    }
}

/* --- Casting -------------------------------------------------------------------------------------------------- */

static enum sirix_status never(struct sirix_item item, enum sirix_type type,
                               struct sirix_query_error *err)
{
    return sirix_query_fail(err, "XPTY0004", "a value of type %s is never cast to %s",
                            name_of(item), sirix_type_name(type));
}

/* The cast to string types and untypedAtomic, which every atomic has. */
static enum sirix_status to_text(struct sirix_work *work, struct sirix_item item,
                                 enum sirix_type type, struct sirix_item *out,
                                 struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    enum sirix_status status = sirix_item_text(work, item, &text, err);

    return status != SIRIX_OK ? status : sirix_cast_from_text(work, text, type, out, err);
}

static enum sirix_status from_text(struct sirix_work *work, struct sirix_item item,
                                   enum sirix_type type, struct sirix_item *out,
                                   struct sirix_query_error *err)
{
    struct sirix_item made = {0};

    if (item.kind == SIRIX_ITEM_ANY_URI) { /* Text types only, which the caller has tried. */
        return never(item, type, err);
    }
    enum sirix_status status = sirix_cast_from_text(work, sirix_item_bytes(item), type, &made, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is_integer(made)) {
        return narrow(made, type, out, err);
    }
    *out = made;
    return SIRIX_OK;
}

/* What is neither text nor a number. */
static enum sirix_status from_other(struct sirix_work *work, struct sirix_item item,
                                    enum sirix_type type, struct sirix_item *out,
                                    struct sirix_query_error *err)
{
    enum sirix_type wanted = sirix_type_primitive(type);
    bool is_binary = wanted == SIRIX_TYPE_BASE64_BINARY || wanted == SIRIX_TYPE_HEX_BINARY;

    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_BOOLEAN:
        if (!sirix_type_derives(type, SIRIX_TYPE_NUMERIC)) {
            return never(item, type, err);
        }
        return from_number(work, sirix_item_integer(item.value.boolean), type, out, err);
    case SIRIX_ITEM_DATETIME:
        if (wanted < SIRIX_TYPE_DATE_TIME || wanted > SIRIX_TYPE_G_MONTH) {
            return never(item, type, err);
        }
        return sirix_datetime_cast(item, type, out, err);
    case SIRIX_ITEM_MONTHS:
    case SIRIX_ITEM_SECONDS:
    case SIRIX_ITEM_DURATION:
        if (!sirix_type_derives(type, SIRIX_TYPE_DURATION)) {
            return never(item, type, err);
        }
        return sirix_duration_cast(work, item, type, out, err);
    case SIRIX_ITEM_BASE64:
    case SIRIX_ITEM_HEX:
        if (!is_binary) {
            return never(item, type, err);
        }
        item.kind = wanted == SIRIX_TYPE_HEX_BINARY ? SIRIX_ITEM_HEX : SIRIX_ITEM_BASE64;
        item.type = (uint8_t)wanted;
        *out = item;
        return SIRIX_OK;
    default:
        return never(item, type, err);
    }
}

enum sirix_status sirix_item_cast(struct sirix_work *work, struct sirix_item item,
                                  enum sirix_type type, struct sirix_item *out,
                                  struct sirix_query_error *err)
{
    enum sirix_status status = sirix_item_atomise(item, &item, err);
    enum sirix_type primitive = sirix_type_primitive(type);

    if (status == SIRIX_OK && type == SIRIX_TYPE_ERROR) {
        return sirix_query_fail(err, "FORG0001", "xs:error has no values");
    }

    if (status != SIRIX_OK) {
        return status;
    }
    if (type == SIRIX_TYPE_ATOMIC || type == SIRIX_TYPE_NOTATION) {
        return sirix_query_fail(err, "XPST0080", "nothing is cast to xs:%s", sirix_type_name(type));
    }
    if (!sirix_type_derives(type, SIRIX_TYPE_ATOMIC)) {
        return sirix_query_fail(err, "XQST0052", "%s is no type to cast to", sirix_type_name(type));
    }
    if (item.type == type) {
        *out = item;
        return SIRIX_OK;
    }
    if (type == SIRIX_TYPE_NUMERIC) {
        if (sirix_item_is_numeric(item)) {
            *out = item;
            return SIRIX_OK;
        }
        type = SIRIX_TYPE_DOUBLE;
        primitive = type;
    }
    if (primitive == SIRIX_TYPE_STRING || primitive == SIRIX_TYPE_UNTYPED ||
        (primitive == SIRIX_TYPE_ANY_URI && sirix_item_is_text(item))) {
        return to_text(work, item, type, out, err);
    }
    if (sirix_item_is_text(item)) {
        return from_text(work, item, type, out, err);
    }
    return sirix_item_is_numeric(item) ? from_number(work, item, type, out, err)
                                       : from_other(work, item, type, out, err);
}

enum sirix_status sirix_item_castable(struct sirix_work *work, struct sirix_item item,
                                      enum sirix_type type, bool *out,
                                      struct sirix_query_error *err)
{
    struct sirix_query_error failure = {0};
    struct sirix_item ignored = {0};
    enum sirix_status status = sirix_item_cast(work, item, type, &ignored, &failure);

    if (status != SIRIX_OK && !sirix_query_error_catchable(&failure)) {
        *err = failure;
        return status;
    }
    *out = status == SIRIX_OK;
    return SIRIX_OK;
}
