/* QNames: made of a namespace and a name, and taken apart. */
#include "query/function/support.h"
#include "query/function/tables.h"

static enum sirix_status give_string(struct sirix_call *call, struct sirix_bytes text,
                                     enum sirix_type type, struct sirix_sequence *out,
                                     struct sirix_query_error *err)
{
    struct sirix_item item = {0};
    enum sirix_status status =
        sirix_item_cast(call->work, sirix_item_string(text), type, &item, err);

    return status != SIRIX_OK ? status : give(call, item, out, err);
}

/* Whether text is an NCName. */
static enum sirix_status is_ncname(struct sirix_call *call, struct sirix_bytes text, bool *out,
                                   struct sirix_query_error *err)
{
    return sirix_item_castable(call->work, sirix_item_string(text), SIRIX_TYPE_NCNAME, out, err);
}

static enum sirix_status make(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_bytes uri = text_argument(call, 0);
    struct sirix_bytes text = text_argument(call, 1);
    const char *chars = text.data;
    const char *colon = memchr(text.len == 0 ? "" : chars, ':', text.len);
    struct sirix_qname *name = NULL;
    void *memory = NULL;
    bool good = true;
    bool prefix_good = true;
    enum sirix_status status =
        sirix_arena_calloc(call->work->arena, 1, sizeof(*name), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    name = memory;
    name->uri = uri;
    name->local = text;
    if (colon != NULL) {
        name->prefix = (struct sirix_bytes){.data = chars, .len = (size_t)(colon - chars)};
        name->local =
            (struct sirix_bytes){.data = colon + 1, .len = text.len - (size_t)(colon - chars) - 1};
        status = is_ncname(call, name->prefix, &prefix_good, err);
    }
    if (status == SIRIX_OK) {
        status = is_ncname(call, name->local, &good, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!good || !prefix_good || (colon != NULL && uri.len == 0)) {
        return sirix_query_fail(err, "FOCA0002", "\"%.*s\" is no QName here",
                                (int)(text.len > 100 ? 100 : text.len), (const char *)text.data);
    }
    return give(call,
                (struct sirix_item){
                    .kind = SIRIX_ITEM_QNAME, .type = SIRIX_TYPE_QNAME, .value.qname = name},
                out, err);
}

enum part { PART_PREFIX, PART_LOCAL, PART_URI };

static enum sirix_status part_of(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_item item = argument(call, 0);

    if (item.kind == SIRIX_ITEM_NONE) {
        return give_nothing(out);
    }
    switch ((enum part)call->function->detail) {
    case PART_PREFIX:
        if (item.value.qname->prefix.len == 0) {
            return give_nothing(out);
        }
        return give_string(call, item.value.qname->prefix, SIRIX_TYPE_NCNAME, out, err);
    case PART_LOCAL:
        return give_string(call, item.value.qname->local, SIRIX_TYPE_NCNAME, out, err);
    case PART_URI:
        return give_string(call, item.value.qname->uri, SIRIX_TYPE_ANY_URI, out, err);
    }
    return SIRIX_INTERNAL;
}

static const struct sirix_function rows[] = {
    ROW(FN, "QName", 2, 2, PURE, make, 0, T(QNAME, ONE), T(STRING, OPTIONAL), T(STRING, ONE)),
    ROW(FN, "prefix-from-QName", 1, 1, PURE, part_of, PART_PREFIX, T(NCNAME, OPTIONAL),
        T(QNAME, OPTIONAL)),
    ROW(FN, "local-name-from-QName", 1, 1, PURE, part_of, PART_LOCAL, T(NCNAME, OPTIONAL),
        T(QNAME, OPTIONAL)),
    ROW(FN, "namespace-uri-from-QName", 1, 1, PURE, part_of, PART_URI, T(ANY_URI, OPTIONAL),
        T(QNAME, OPTIONAL)),
};

const struct sirix_function_table sirix_functions_qname = {rows, sizeof(rows) / sizeof(rows[0])};
