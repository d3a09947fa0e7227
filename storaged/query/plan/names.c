/* Namespaces and names. */
#include <stdio.h>
#include <string.h>

#include "query/plan/builder.h"

enum { NAMESPACES_MAX = 1000, DISTANCE_BYTES_MAX = 64 };

#define LITERAL(text)                                                                              \
    {                                                                                              \
        text, sizeof(text) - 1                                                                     \
    }

const struct sirix_bytes builder_local_uri =
    LITERAL("http://www.w3.org/2005/xquery-local-functions");
const struct sirix_bytes builder_err_uri = LITERAL("http://www.w3.org/2005/xqt-errors");

/* Prefixes that need no declaration and are not of functions. */
static const struct builder_namespace predeclared[] = {
    {LITERAL("local"), LITERAL("http://www.w3.org/2005/xquery-local-functions")},
    {LITERAL("xml"), LITERAL("http://www.w3.org/XML/1998/namespace")},
    {LITERAL("xsi"), LITERAL("http://www.w3.org/2001/XMLSchema-instance")},
    {LITERAL("jerr"), LITERAL("http://jsoniq.org/errors")},
    {LITERAL("js"), LITERAL("http://jsoniq.org/types")},
    {LITERAL("an"), LITERAL("http://zorba.io/annotations")},
    {LITERAL("output"), LITERAL("http://www.w3.org/2010/xslt-xquery-serialization")},
};

bool builder_bytes_are(struct sirix_bytes bytes, const char *text)
{
    return bytes.len == strlen(text) && memcmp(bytes.data, text, bytes.len) == 0;
}

bool builder_add_namespace(struct builder *builder, struct sirix_bytes prefix,
                           struct sirix_bytes uri)
{
    if (builder->namespace_count >= NAMESPACES_MAX) {
        builder_fail_limit(builder, 0, 0, "query.namespaces", "the number of declared namespaces",
                           NAMESPACES_MAX);
        return false;
    }
    if (builder->namespace_count == builder->namespace_cap) {
        uint32_t cap = builder->namespace_cap == 0 ? 8 : builder->namespace_cap * 2;
        struct builder_namespace *grown = builder_alloc(builder, cap, sizeof(grown[0]));

        if (grown == NULL) {
            return false;
        }
        if (builder->namespace_count != 0) {
            memcpy(grown, builder->namespaces, builder->namespace_count * sizeof(grown[0]));
        }
        builder->namespaces = grown;
        builder->namespace_cap = cap;
    }
    builder->namespaces[builder->namespace_count++] =
        (struct builder_namespace){.prefix = prefix, .uri = uri};
    return true;
}

static bool find_prefix(const struct builder *builder, struct sirix_bytes prefix,
                        struct sirix_bytes *out)
{
    enum sirix_function_ns ns = SIRIX_NS_NONE;

    for (uint32_t i = builder->namespace_count; i-- > 0;) {
        if (sirix_bytes_equal(builder->namespaces[i].prefix, prefix)) {
            *out = builder->namespaces[i].uri;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(predeclared) / sizeof(predeclared[0]); i++) {
        if (sirix_bytes_equal(predeclared[i].prefix, prefix)) {
            *out = predeclared[i].uri;
            return true;
        }
    }
    if (sirix_function_ns_of_prefix(prefix, &ns)) {
        const char *uri = sirix_function_ns_uri(ns);

        *out = (struct sirix_bytes){uri, strlen(uri)};
        return true;
    }
    return false;
}

bool builder_has_prefix(const struct builder *builder, struct sirix_bytes prefix)
{
    struct sirix_bytes uri = {NULL, 0};

    return find_prefix(builder, prefix, &uri);
}

bool builder_uri(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                 uint32_t column, struct sirix_bytes *out)
{
    if (name->has_uri) {
        *out = name->uri;
        return true;
    }
    if (name->prefix.len == 0) {
        *out = (struct sirix_bytes){NULL, 0};
        return true;
    }
    if (!find_prefix(builder, name->prefix, out)) {
        builder_fail(builder, line, column, "XPST0081", "the prefix %.*s is not declared",
                     (int)(name->prefix.len < 60 ? name->prefix.len : 60),
                     (const char *)name->prefix.data);
        return false;
    }
    return true;
}

bool builder_expand(struct builder *builder, const struct sirix_ast_name *name, uint32_t line,
                    uint32_t column, struct builder_name *out)
{
    out->local = name->local;
    return builder_uri(builder, name, line, column, &out->uri);
}

uint32_t builder_bucket(const struct builder *builder, const struct builder_name *name)
{
    return (uint32_t)(sirix_hash(&builder->work->hash_key, name->local.data, name->local.len) %
                      BUILDER_BUCKETS);
}

bool builder_same_name(const struct builder_name *a, const struct builder_name *b)
{
    return sirix_bytes_equal(a->local, b->local) && sirix_bytes_equal(a->uri, b->uri);
}

bool builder_same_text(const struct sirix_ast_name *a, const struct sirix_ast_name *b)
{
    return sirix_bytes_equal(a->local, b->local) && sirix_bytes_equal(a->prefix, b->prefix);
}

const char *builder_show(const struct sirix_ast_name *name, char *to, size_t to_bytes)
{
    const int prefix_len = (int)(name->prefix.len < 60 ? name->prefix.len : 60);
    const int local_len = (int)(name->local.len < 60 ? name->local.len : 60);

    (void)snprintf(to, to_bytes, "%.*s%s%.*s", prefix_len,
                   prefix_len == 0 ? "" : (const char *)name->prefix.data,
                   prefix_len == 0 ? "" : ":", local_len, (const char *)name->local.data);
    return to;
}

size_t builder_distance(struct sirix_bytes a, struct sirix_bytes b)
{
    const uint8_t *from = a.data;
    const uint8_t *to = b.data;
    size_t row[DISTANCE_BYTES_MAX + 1];

    if (a.len > DISTANCE_BYTES_MAX || b.len > DISTANCE_BYTES_MAX || a.len == 0 || b.len == 0) {
        return SIZE_MAX;
    }
    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = corner + (from[i - 1] == to[j - 1] ? 0 : 1);
            size_t shorter = row[j] < row[j - 1] ? row[j] : row[j - 1];

            corner = row[j];
            row[j] = change < shorter + 1 ? change : shorter + 1;
        }
    }
    return row[b.len] * 3 <= (a.len > b.len ? a.len : b.len) + 1 ? row[b.len] : SIZE_MAX;
}
