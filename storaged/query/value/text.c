/* The string value of items, and the order of texts. */
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "query/value/compare.h"
#include "query/value/datetime.h"
#include "query/value/item.h"
#include "query/value/number.h"
#include "json/number.h"

static struct sirix_bytes literal(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* Moves a buffer's bytes to the arena. */
static enum sirix_status settle(struct sirix_work *work, struct sirix_buf *buf,
                                struct sirix_bytes *out, struct sirix_query_error *err)
{
    return sirix_arena_copy(work->arena, sirix_buf_view(buf), out, &err->base);
}

/* Integers and decimals that are kept inline; a decimal has no zeros at its end as a string. */
static size_t print_small(struct sirix_item item, char to[SIRIX_JSON_DECIMAL_TEXT_BYTES])
{
    int64_t mantissa = item.value.integer;
    uint8_t scale = item.kind == SIRIX_ITEM_DECIMAL ? item.scale : 0;

    while (scale > 0 && mantissa % 10 == 0) {
        mantissa /= 10;
        scale--;
    }
    return scale == 0 ? sirix_json_number_format_integer(mantissa, to)
                      : sirix_json_number_format_decimal(mantissa, scale, to);
}

static enum sirix_status number_text(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_bytes *out, struct sirix_query_error *err)
{
    struct sirix_buf buf;
    char text[SIRIX_DOUBLE_TEXT_BYTES];
    struct sirix_bytes bytes = {.data = text, .len = 0};

    static_assert((size_t)SIRIX_DOUBLE_TEXT_BYTES >= (size_t)SIRIX_JSON_DECIMAL_TEXT_BYTES,
                  "room for both");
    if (item.kind == SIRIX_ITEM_INTEGER || item.kind == SIRIX_ITEM_DECIMAL) {
        bytes.len = print_small(item, text);
    } else if (item.kind == SIRIX_ITEM_DOUBLE) {
        bytes.len = sirix_double_print(item.value.number, text);
    }
    if (bytes.len != 0) {
        return sirix_arena_copy(work->arena, bytes, out, &err->base);
    }
    item.flags = 0;
    sirix_buf_init(&buf, SIZE_MAX);
    enum sirix_status status = sirix_number_print(work, item, &buf, err);
    if (status == SIRIX_OK) {
        status = settle(work, &buf, out, err);
    }
    sirix_buf_deinit(&buf);
    return status;
}

static enum sirix_status qname_text(struct sirix_work *work, const struct sirix_qname *name,
                                    struct sirix_bytes *out, struct sirix_query_error *err)
{
    char *text = NULL;

    if (name->prefix.len == 0) {
        *out = name->local;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_arena_printf(
        work->arena, &text, &err->base, "%.*s:%.*s", (int)name->prefix.len,
        (const char *)name->prefix.data, (int)name->local.len, (const char *)name->local.data);
    if (status == SIRIX_OK) {
        *out = literal(text);
    }
    return status;
}

static enum sirix_status base64_text(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_bytes *out, struct sirix_query_error *err)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    size_t len = ((size_t)item.len + 2) / 3 * 4;
    const uint8_t *bytes = (const uint8_t *)item.value.text;
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, len, &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    char *to = memory;

    for (size_t i = 0; i < item.len; i += 3) {
        size_t left = item.len - i;
        uint32_t three = (uint32_t)bytes[i] << 16;

        three |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        three |= left > 2 ? bytes[i + 2] : 0;
        *to++ = digits[three >> 18];
        *to++ = digits[three >> 12 & 63];
        to[0] = digits[three >> 6 & 63];
        to[1] = digits[three & 63];
        if (left < 3) { /* Padding. */
            to[1] = '=';
        }
        if (left < 2) {
            to[0] = '=';
        }
        to += 2;
    }
    *out = (struct sirix_bytes){.data = memory, .len = len};
    return SIRIX_OK;
}

static enum sirix_status hex_text(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_bytes *out, struct sirix_query_error *err)
{
    static const char digits[] = "0123456789ABCDEF";
    const uint8_t *bytes = (const uint8_t *)item.value.text;
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc(work->arena, 2 * (size_t)item.len, &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    char *to = memory;

    for (size_t i = 0; i < item.len; i++) {
        *to++ = digits[bytes[i] >> 4];
        *to++ = digits[bytes[i] & 15];
    }
    *out = (struct sirix_bytes){.data = memory, .len = 2 * (size_t)item.len};
    return SIRIX_OK;
}

/* Dates and durations. */
static enum sirix_status time_text(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_bytes *out, struct sirix_query_error *err)
{
    char text[SIRIX_DATETIME_TEXT_BYTES];
    size_t len = item.kind == SIRIX_ITEM_DATETIME ? sirix_datetime_print(item, text)
                                                  : sirix_duration_print(item, text);

    return sirix_arena_copy(work->arena, (struct sirix_bytes){.data = text, .len = len}, out,
                            &err->base);
}

enum sirix_status sirix_item_text(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_bytes *out, struct sirix_query_error *err)
{
    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_NULL:
        *out = literal("null");
        return SIRIX_OK;
    case SIRIX_ITEM_BOOLEAN:
        *out = literal(item.value.boolean ? "true" : "false");
        return SIRIX_OK;
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
        *out = sirix_item_bytes(item);
        return SIRIX_OK;
    case SIRIX_ITEM_QNAME:
        return qname_text(work, item.value.qname, out, err);
    case SIRIX_ITEM_DATETIME:
    case SIRIX_ITEM_MONTHS:
    case SIRIX_ITEM_SECONDS:
    case SIRIX_ITEM_DURATION:
        return time_text(work, item, out, err);
    case SIRIX_ITEM_BASE64:
        return base64_text(work, item, out, err);
    case SIRIX_ITEM_HEX:
        return hex_text(work, item, out, err);
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
    case SIRIX_ITEM_FUNCTION:
        return sirix_query_fail(err, "FOTY0014", "an item of type %s has no string value",
                                sirix_type_name((enum sirix_type)item.type));
    default:
        return number_text(work, item, out, err);
    }
}

/* UTF-8 sorts by code points as its bytes do. */
int sirix_text_compare(struct sirix_bytes a, struct sirix_bytes b)
{
    size_t common = a.len < b.len ? a.len : b.len;
    int order = common == 0 ? 0 : memcmp(a.data, b.data, common);

    return order != 0 ? order : (a.len > b.len) - (a.len < b.len);
}
