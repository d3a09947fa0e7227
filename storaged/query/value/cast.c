/* Casts between types, `instance of`, and the conversion of arguments. */
#include "query/value/cast.h"

#include <math.h>

#include "query/value/big.h"
#include "query/value/callable.h"
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

/* --- Instance of --------------------------------------------------------------------------------------------- */

/* Every member of a container matches the type; no deeper than the types' text nests. */
static enum sirix_status members_match(struct sirix_work *work, struct sirix_item item,
                                       const struct sirix_sequence_type *type, bool *out,
                                       struct sirix_query_error *err)
{
    struct sirix_cursor cursor;
    bool matches = true;
    enum sirix_status status = sirix_cursor_start(work, item, &cursor, err);

    while (status == SIRIX_OK && matches) {
        struct sirix_item member = {0};
        struct sirix_sequence held = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = sirix_cursor_next(work, &cursor, NULL, &member, err);
        }
        if (status != SIRIX_OK || member.kind == SIRIX_ITEM_NONE) {
            break;
        }
        if (member.kind == SIRIX_ITEM_NULL || member.kind == SIRIX_ITEM_ARRAY) {
            status = sirix_item_spread(work, member, &held, err);
        } else {
            held = sirix_sequence_of(&member);
        }
        if (status == SIRIX_OK) {
            status = sirix_sequence_matches(work, &held, type, &matches, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = matches;
    }
    return status;
}

enum sirix_status sirix_item_matches(struct sirix_work *work, struct sirix_item item,
                                     const struct sirix_sequence_type *type, bool *out,
                                     struct sirix_query_error *err)
{
    if (!sirix_item_is(item, type->type)) {
        *out = type->type == SIRIX_TYPE_FUNCTION && type->function == NULL &&
               sirix_item_is_structured(item); /* function(*) */
        return SIRIX_OK;
    }
    if (type->member != NULL && sirix_item_is_structured(item)) {
        return members_match(work, item, type->member, out, err);
    }
    if (type->function != NULL && item.kind == SIRIX_ITEM_FUNCTION) {
        struct sirix_sequence_type own = {.type = SIRIX_TYPE_FUNCTION,
                                          .function = &item.value.function->signature};
        struct sirix_sequence_type wanted = {.type = SIRIX_TYPE_FUNCTION,
                                             .function = type->function};

        *out = sirix_sequence_type_within(&own, &wanted);
        return SIRIX_OK;
    }
    *out = true;
    return SIRIX_OK;
}

enum sirix_status sirix_sequence_matches(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, bool *out,
                                         struct sirix_query_error *err)
{
    bool matches = sirix_occurrence_allows(type->occurrence, sequence->count);

    if (sequence->is_range && sequence->count > 0) { /* All of one type. */
        if (matches) {
            *out = sirix_type_derives(SIRIX_TYPE_INTEGER, type->type);
        } else {
            *out = false;
        }
        return SIRIX_OK;
    }
    for (size_t i = 0; matches && i < sequence->count; i++) {
        enum sirix_status status = sirix_work_tick(work, 1, err);

        if (status == SIRIX_OK) {
            status = sirix_item_matches(work, sirix_sequence_at(sequence, i), type, &matches, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = matches;
    return SIRIX_OK;
}

/* --- Conversion --------------------------------------------------------------------------------------------- */

static enum sirix_status wrong_type(struct sirix_item item, const struct sirix_sequence_type *type,
                                    const char *what, struct sirix_query_error *err)
{
    char shown[128];

    sirix_sequence_type_show(type, shown, sizeof(shown));
    return sirix_query_fail(err, "XPTY0004", "%s is of type %s, not %s", what, name_of(item),
                            shown);
}

/* One item to the atomic type of a parameter. */
static enum sirix_status convert_atomic(struct sirix_work *work, struct sirix_item item,
                                        const struct sirix_sequence_type *type, const char *what,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_item_atomise(item, &item, err);
    enum sirix_type wanted = type->type;

    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_item_is(item, wanted)) {
        *out = item;
        return SIRIX_OK;
    }
    if (item.kind == SIRIX_ITEM_UNTYPED) {
        return sirix_item_cast(work, item,
                               wanted == SIRIX_TYPE_NUMERIC ? SIRIX_TYPE_DOUBLE : wanted, out, err);
    }
    if (wanted == SIRIX_TYPE_DOUBLE && sirix_item_is_numeric(item)) {
        *out = sirix_item_double(sirix_number_to_double(item));
        return SIRIX_OK;
    }
    if (wanted == SIRIX_TYPE_FLOAT && sirix_item_is_numeric(item) &&
        item.kind != SIRIX_ITEM_DOUBLE) {
        *out = sirix_item_float(sirix_number_to_float(item));
        return SIRIX_OK;
    }
    if (wanted == SIRIX_TYPE_STRING && item.kind == SIRIX_ITEM_ANY_URI) {
        *out = sirix_item_string(sirix_item_bytes(item));
        return SIRIX_OK;
    }
    return wrong_type(item, type, what, err);
}

static enum sirix_status convert_item(struct sirix_work *work, struct sirix_item item,
                                      const struct sirix_sequence_type *type, const char *what,
                                      struct sirix_item *out, struct sirix_query_error *err)
{
    bool matches = false;

    if (sirix_type_derives(type->type, SIRIX_TYPE_ATOMIC)) {
        return convert_atomic(work, item, type, what, out, err);
    }
    if (type->type == SIRIX_TYPE_FUNCTION && sirix_item_is_structured(item) &&
        (type->function == NULL || type->function->arity == 1)) {
        *out = item; /* Called, it gives the member of that key. */
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_item_matches(work, item, type, &matches, err);
    if (status == SIRIX_OK && !matches && type->type == SIRIX_TYPE_FUNCTION &&
        type->function != NULL && item.kind == SIRIX_ITEM_FUNCTION) {
        /* Function coercion: what does not fit shows when it is called; the arity must fit now. */
        matches = item.value.function->signature.arity == type->function->arity;
    }
    if (status == SIRIX_OK && !matches) {
        status = wrong_type(item, type, what, err);
    }
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

/* The sequence with the members of its arrays in place of them. */
static enum sirix_status spread_arrays(struct sirix_work *work,
                                       const struct sirix_sequence *sequence,
                                       struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence made = {0};
    bool has_array = false;

    for (size_t i = 0; !sequence->is_range && i < sequence->count && !has_array; i++) {
        has_array = sequence->items[i].kind == SIRIX_ITEM_ARRAY;
    }
    if (!has_array) {
        *out = *sequence;
        return SIRIX_OK;
    }
    for (size_t i = 0; i < sequence->count; i++) {
        struct sirix_item item = sequence->items[i];
        enum sirix_status status = item.kind == SIRIX_ITEM_ARRAY
                                       ? sirix_array_flatten(work, item, &made, err)
                                       : sirix_sequence_append(work, &made, item, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = made;
    return SIRIX_OK;
}

static enum sirix_status wrong_count(size_t count, const struct sirix_sequence_type *type,
                                     const char *what, struct sirix_query_error *err)
{
    char shown[128];

    sirix_sequence_type_show(type, shown, sizeof(shown));
    return sirix_query_fail(err, "XPTY0004", "%s has %zu items, but is %s", what, count, shown);
}

enum sirix_status sirix_sequence_convert(struct sirix_work *work,
                                         const struct sirix_sequence *sequence,
                                         const struct sirix_sequence_type *type, const char *what,
                                         struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence from = *sequence;
    struct sirix_sequence made = {0};
    bool copies = false;
    enum sirix_status status = SIRIX_OK;

    if (sirix_type_derives(type->type, SIRIX_TYPE_ATOMIC)) {
        status = spread_arrays(work, sequence, &from, err);
    }
    if (status == SIRIX_OK && !sirix_occurrence_allows(type->occurrence, from.count)) {
        status = wrong_count(from.count, type, what, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (type->type == SIRIX_TYPE_ITEM ||
        (from.is_range && sirix_type_derives(SIRIX_TYPE_INTEGER, type->type))) {
        *out = from;
        return SIRIX_OK;
    }
    for (size_t i = 0; i < from.count; i++) {
        struct sirix_item item = sirix_sequence_at(&from, i);
        struct sirix_item converted = {0};

        status = sirix_work_tick(work, 1, err);
        if (status == SIRIX_OK) {
            status = convert_item(work, item, type, what, &converted, err);
        }
        if (status == SIRIX_OK && !copies &&
            (converted.kind != item.kind || converted.type != item.type)) {
            struct sirix_sequence before = sirix_sequence_part(&from, 0, i);

            copies = true;
            status = sirix_sequence_reserve(work, &made, from.count, err);
            if (status == SIRIX_OK) {
                status = sirix_sequence_append_all(work, &made, &before, err);
            }
        }
        if (status == SIRIX_OK && copies) {
            status = sirix_sequence_append(work, &made, converted, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
    }
    *out = copies ? made : from;
    return SIRIX_OK;
}
