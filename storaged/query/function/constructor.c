/* Constructors: xs:integer("1") and, unprefixed, integer("1") are casts. */
#include "query/function/support.h"
#include "query/function/tables.h"

static enum sirix_status construct(struct sirix_call *call, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    enum sirix_status status =
        sirix_item_cast(call->work, item, (enum sirix_type)call->function->detail, &item, err);
    return status != SIRIX_OK ? status : give(call, item, out, err);
}

#define CONSTRUCTOR(type, title)                                                                   \
    ROW(XS, title, 1, 1, PURE, construct, SIRIX_TYPE_##type, T(type, OPTIONAL), T(ATOMIC, OPTIONAL))

static const struct sirix_function rows[] = {
    CONSTRUCTOR(BOOLEAN, "boolean"),
    CONSTRUCTOR(STRING, "string"),
    CONSTRUCTOR(NORMALIZED_STRING, "normalizedString"),
    CONSTRUCTOR(TOKEN, "token"),
    CONSTRUCTOR(LANGUAGE, "language"),
    CONSTRUCTOR(NMTOKEN, "NMTOKEN"),
    CONSTRUCTOR(NAME, "Name"),
    CONSTRUCTOR(NCNAME, "NCName"),
    CONSTRUCTOR(ID, "ID"),
    CONSTRUCTOR(IDREF, "IDREF"),
    CONSTRUCTOR(ENTITY, "ENTITY"),
    CONSTRUCTOR(UNTYPED, "untypedAtomic"),
    CONSTRUCTOR(ANY_URI, "anyURI"),
    CONSTRUCTOR(QNAME, "QName"),
    CONSTRUCTOR(NUMERIC, "numeric"),
    CONSTRUCTOR(DECIMAL, "decimal"),
    CONSTRUCTOR(INTEGER, "integer"),
    CONSTRUCTOR(NON_POSITIVE_INTEGER, "nonPositiveInteger"),
    CONSTRUCTOR(NEGATIVE_INTEGER, "negativeInteger"),
    CONSTRUCTOR(LONG, "long"),
    CONSTRUCTOR(INT, "int"),
    CONSTRUCTOR(SHORT, "short"),
    CONSTRUCTOR(BYTE, "byte"),
    CONSTRUCTOR(NON_NEGATIVE_INTEGER, "nonNegativeInteger"),
    CONSTRUCTOR(UNSIGNED_LONG, "unsignedLong"),
    CONSTRUCTOR(UNSIGNED_INT, "unsignedInt"),
    CONSTRUCTOR(UNSIGNED_SHORT, "unsignedShort"),
    CONSTRUCTOR(UNSIGNED_BYTE, "unsignedByte"),
    CONSTRUCTOR(POSITIVE_INTEGER, "positiveInteger"),
    CONSTRUCTOR(DOUBLE, "double"),
    CONSTRUCTOR(FLOAT, "float"),
    CONSTRUCTOR(DURATION, "duration"),
    CONSTRUCTOR(YEAR_MONTH_DURATION, "yearMonthDuration"),
    CONSTRUCTOR(DAY_TIME_DURATION, "dayTimeDuration"),
    CONSTRUCTOR(DATE_TIME, "dateTime"),
    CONSTRUCTOR(DATE_TIME_STAMP, "dateTimeStamp"),
    CONSTRUCTOR(DATE, "date"),
    CONSTRUCTOR(TIME, "time"),
    CONSTRUCTOR(G_YEAR_MONTH, "gYearMonth"),
    CONSTRUCTOR(G_YEAR, "gYear"),
    CONSTRUCTOR(G_MONTH_DAY, "gMonthDay"),
    CONSTRUCTOR(G_DAY, "gDay"),
    CONSTRUCTOR(G_MONTH, "gMonth"),
    CONSTRUCTOR(BASE64_BINARY, "base64Binary"),
    CONSTRUCTOR(HEX_BINARY, "hexBinary"),
    CONSTRUCTOR(ERROR, "error"),
};

const struct sirix_function_table sirix_functions_constructor = {rows,
                                                                 sizeof(rows) / sizeof(rows[0])};
