/* Items: making, keeping, and what any of them is as a boolean. Their text is in text.c. */
#include "query/value/item.h"

#include <math.h>
#include <string.h>

#include "query/value/big.h"
#include "query/value/container.h"

enum sirix_status sirix_item_new_string(struct sirix_work *work, struct sirix_bytes text,
                                        struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_bytes copy = {0};

    if (text.len > SIRIX_ITEM_STRING_BYTES_MAX) {
        return sirix_query_fail_limit(err, "string_bytes",
                                      "a string of %zu bytes is longer than %d", text.len,
                                      SIRIX_ITEM_STRING_BYTES_MAX);
    }
    enum sirix_status status = sirix_arena_copy(work->arena, text, &copy, &err->base);
    if (status == SIRIX_OK) {
        *out = sirix_item_string(copy);
    }
    return status;
}

struct sirix_item sirix_item_literal(const char *text)
{
    return sirix_item_string((struct sirix_bytes){.data = text, .len = strlen(text)});
}

bool sirix_item_is(struct sirix_item item, enum sirix_type type)
{
    return item.kind != SIRIX_ITEM_NONE && sirix_type_derives((enum sirix_type)item.type, type);
}

/* Copies len bytes behind a pointer, aligned as any struct wants it. */
static enum sirix_status copy_bytes(struct sirix_work *work, const void *from, size_t len,
                                    const void **out, struct sirix_query_error *err)
{
    void *copy = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, len, &copy, &err->base);

    if (status == SIRIX_OK) {
        if (len != 0) {
            memcpy(copy, from, len);
        }
        *out = copy;
    }
    return status;
}

/* The same for text, which needs no alignment. */
static enum sirix_status copy_text(struct sirix_work *work, struct sirix_item item,
                                   const void **out, struct sirix_query_error *err)
{
    struct sirix_bytes copy = {0};
    enum sirix_status status =
        sirix_arena_copy(work->arena, sirix_item_bytes(item), &copy, &err->base);

    if (status == SIRIX_OK) {
        *out = copy.data;
    }
    return status;
}

static enum sirix_status keep_qname(struct sirix_work *work, struct sirix_item item,
                                    struct sirix_item *out, struct sirix_query_error *err)
{
    struct sirix_qname name = *item.value.qname;
    struct sirix_bytes *parts[] = {&name.uri, &name.prefix, &name.local};
    const void *copy = NULL;

    for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
        enum sirix_status status = sirix_arena_copy(work->arena, *parts[i], parts[i], &err->base);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    enum sirix_status status = copy_bytes(work, &name, sizeof(name), &copy, err);
    if (status == SIRIX_OK) {
        item.value.qname = copy;
        *out = item;
    }
    return status;
}

enum sirix_status sirix_item_keep(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_item *out, struct sirix_query_error *err)
{
    const void *copy = NULL;
    enum sirix_status status = SIRIX_OK;

    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
    case SIRIX_ITEM_BASE64:
    case SIRIX_ITEM_HEX:
        status = copy_text(work, item, &copy, err);
        item.value.text = copy;
        break;
    case SIRIX_ITEM_BIG_INTEGER:
    case SIRIX_ITEM_BIG_DECIMAL:
        status = copy_bytes(work, item.value.big, sirix_big_bytes(item.value.big), &copy, err);
        item.value.big = copy;
        break;
    case SIRIX_ITEM_DURATION:
        status = copy_bytes(work, item.value.duration, sizeof(*item.value.duration), &copy, err);
        item.value.duration = copy;
        break;
    case SIRIX_ITEM_QNAME:
        return keep_qname(work, item, out, err);
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
        return sirix_container_keep(work, item, out, err);
    default: /* Inline, or a function, which the evaluator keeps. */
        break;
    }
    if (status == SIRIX_OK) {
        *out = item;
    }
    return status;
}

enum sirix_status sirix_item_truth(struct sirix_item item, bool *out, struct sirix_query_error *err)
{
    switch ((enum sirix_item_kind)item.kind) {
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_NULL:
        *out = false;
        return SIRIX_OK;
    case SIRIX_ITEM_BOOLEAN:
        *out = item.value.boolean;
        return SIRIX_OK;
    case SIRIX_ITEM_INTEGER:
    case SIRIX_ITEM_DECIMAL:
        *out = item.value.integer != 0;
        return SIRIX_OK;
    case SIRIX_ITEM_BIG_INTEGER:
    case SIRIX_ITEM_BIG_DECIMAL:
        *out = item.value.big->size != 0;
        return SIRIX_OK;
    case SIRIX_ITEM_DOUBLE:
        *out = item.value.number != 0 && !isnan(item.value.number);
        return SIRIX_OK;
    case SIRIX_ITEM_FLOAT:
        *out = item.value.single != 0 && !isnan(item.value.single);
        return SIRIX_OK;
    case SIRIX_ITEM_STRING:
    case SIRIX_ITEM_UNTYPED:
    case SIRIX_ITEM_ANY_URI:
        *out = item.len != 0;
        return SIRIX_OK;
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
        *out = true;
        return SIRIX_OK;
    case SIRIX_ITEM_FUNCTION:
        return sirix_query_fail(err, "FORG0006", "a function has no effective boolean value");
    default:
        return sirix_query_fail(err, "FORG0006",
                                "an item of type xs:%s has no effective boolean value",
                                sirix_type_name((enum sirix_type)item.type));
    }
}
