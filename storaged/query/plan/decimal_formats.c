/* What `declare decimal-format` says, as format-number() wants it. */
#include "query/plan/builder.h"

static bool fail(struct builder *builder, uint32_t line, uint32_t column, const char *code,
                 const char *message)
{
    builder_fail(builder, line, column, code, "%s", message);
    return false;
}

/* Whether one of the properties before number i has its name. */
static bool is_repeated(const struct sirix_ast_declaration *from, uint32_t i)
{
    bool is_repeated = false;

    for (uint32_t j = 0; j < i && !is_repeated; j++) {
        is_repeated = sirix_bytes_equal(from->properties[j].name, from->properties[i].name);
    }
    return is_repeated;
}

static bool set_property(struct builder *builder, const struct sirix_ast_property *property,
                         struct sirix_decimal_format *to)
{
    switch (sirix_decimal_format_set(to, property->name, property->value)) {
    case SIRIX_DECIMAL_FORMAT_UNKNOWN:
        return fail(builder, property->line, property->column, "XPST0003",
                    "decimal formats have no such property");
    case SIRIX_DECIMAL_FORMAT_INVALID:
        return fail(builder, property->line, property->column, "XQST0097",
                    "the property cannot have this value: it is one character, the zero one "
                    "that digits begin with");
    default:
        return true;
    }
}

static bool set_properties(struct builder *builder, const struct sirix_ast_declaration *from,
                           struct sirix_decimal_format *to)
{
    for (uint32_t i = 0; i < from->property_count; i++) {
        const struct sirix_ast_property *property = &from->properties[i];

        if (is_repeated(from, i)) {
            return fail(builder, property->line, property->column, "XQST0114",
                        "the property is given twice");
        }
        if (!set_property(builder, property, to)) {
            return false;
        }
    }
    return true;
}

static bool is_same_name(const struct sirix_decimal_format *a, const struct sirix_decimal_format *b)
{
    return sirix_bytes_equal(a->uri, b->uri) && sirix_bytes_equal(a->local, b->local);
}

bool builder_decimal_format(struct builder *builder,
                            const struct sirix_ast_declaration *declaration)
{
    struct sirix_plan_query *query = builder->query;
    struct sirix_decimal_format *format = &query->decimal_formats[query->decimal_format_count];

    *format = sirix_decimal_format_default();
    if (declaration->name != NULL) {
        format->prefix = declaration->name->prefix;
        format->local = declaration->name->local;
        if ((declaration->name->has_uri || format->prefix.len != 0) &&
            !builder_uri(builder, declaration->name, declaration->line, declaration->column,
                         &format->uri)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < query->decimal_format_count; i++) {
        if (is_same_name(&query->decimal_formats[i], format)) {
            return fail(builder, declaration->line, declaration->column, "XQST0111",
                        "there is a decimal format of this name already");
        }
    }
    if (!set_properties(builder, declaration, format)) {
        return false;
    }
    if (!sirix_decimal_format_is_clear(format)) {
        return fail(builder, declaration->line, declaration->column, "XQST0098",
                    "two properties of the decimal format are the same character");
    }
    query->decimal_format_count++;
    return true;
}
