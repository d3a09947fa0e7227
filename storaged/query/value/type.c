/* The table of types, and sequence types. */
#include "query/value/type.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    enum sirix_type parent;
} types[] = {
#define SIRIX_X(upper, text, parent_upper) {(text), SIRIX_TYPE_##parent_upper},
    SIRIX_TYPE_LIST(SIRIX_X)
#undef SIRIX_X
};

/* Other names of the same types. */
static const struct {
    const char *name;
    enum sirix_type type;
} aliases[] = {
    {"atomic", SIRIX_TYPE_ATOMIC},
    {"structured-item", SIRIX_TYPE_STRUCTURED},
    {"map", SIRIX_TYPE_OBJECT},
};

const char *sirix_type_name(enum sirix_type type)
{
    assert(type < SIRIX_TYPE_COUNT);

    return types[type].name;
}

static bool is_name(struct sirix_bytes name, const char *text)
{
    return name.len == strlen(text) && memcmp(name.data, text, name.len) == 0;
}

bool sirix_type_find(struct sirix_bytes name, bool xs_only, enum sirix_type *out)
{
    for (size_t i = 0; i < SIRIX_TYPE_COUNT; i++) {
        bool is_xs = i == SIRIX_TYPE_ATOMIC || i > SIRIX_TYPE_NULL;

        if ((is_xs || !xs_only) && is_name(name, types[i].name)) {
            *out = (enum sirix_type)i;
            return true;
        }
    }
    for (size_t i = 0; !xs_only && i < sizeof(aliases) / sizeof(aliases[0]); i++) {
        if (is_name(name, aliases[i].name)) {
            *out = aliases[i].type;
            return true;
        }
    }
    return false;
}

bool sirix_type_derives(enum sirix_type type, enum sirix_type other)
{
    while (type != other) {
        if (type == SIRIX_TYPE_ITEM) {
            return false;
        }
        type = types[type].parent;
    }
    return true;
}

enum sirix_type sirix_type_primitive(enum sirix_type type)
{
    if (sirix_type_derives(type, SIRIX_TYPE_INTEGER)) {
        return SIRIX_TYPE_INTEGER;
    }
    while (type != SIRIX_TYPE_ITEM && types[type].parent != SIRIX_TYPE_ATOMIC &&
           types[type].parent != SIRIX_TYPE_NUMERIC && types[type].parent != SIRIX_TYPE_ITEM &&
           types[type].parent != SIRIX_TYPE_STRUCTURED &&
           types[type].parent != SIRIX_TYPE_DURATION) {
        type = types[type].parent;
    }
    return type;
}

bool sirix_occurrence_allows(enum sirix_occurrence occurrence, size_t count)
{
    switch (occurrence) {
    case SIRIX_OCCURRENCE_ONE:
        return count == 1;
    case SIRIX_OCCURRENCE_OPTIONAL:
        return count <= 1;
    case SIRIX_OCCURRENCE_MANY:
        return true;
    case SIRIX_OCCURRENCE_SOME:
        return count >= 1;
    case SIRIX_OCCURRENCE_NONE:
        return count == 0;
    }
    return false;
}

static bool occurrence_within(enum sirix_occurrence a, enum sirix_occurrence b)
{
    for (size_t count = 0; count <= 2; count++) {
        if (sirix_occurrence_allows(a, count) && !sirix_occurrence_allows(b, count)) {
            return false;
        }
    }
    return true;
}

/* Objects and arrays are functions, too, where no signature is asked for. */
static bool derives(const struct sirix_sequence_type *a, const struct sirix_sequence_type *b)
{
    return sirix_type_derives(a->type, b->type) ||
           (b->type == SIRIX_TYPE_FUNCTION && b->function == NULL &&
            sirix_type_derives(a->type, SIRIX_TYPE_STRUCTURED));
}

/* How deep types within types are compared; the parser's nesting limit is lower than what this guards. */
enum { TYPE_DEPTH_MAX = 64 };

/* Bounded recursion: a type's text nests at most TYPE_DEPTH_MAX deep here, deeper ones are unequal. */
static bool within(const struct sirix_sequence_type *a, const struct sirix_sequence_type *b,
                   unsigned depth)
{
    if (depth > TYPE_DEPTH_MAX) {
        return false;
    }
    if (a->occurrence == SIRIX_OCCURRENCE_NONE) {
        return sirix_occurrence_allows(b->occurrence, 0);
    }
    if (!occurrence_within(a->occurrence, b->occurrence) ||
        b->occurrence == SIRIX_OCCURRENCE_NONE || !derives(a, b)) {
        return false;
    }
    if (b->key != SIRIX_TYPE_ITEM && b->key != SIRIX_TYPE_ATOMIC && b->key != SIRIX_TYPE_STRING &&
        !sirix_type_derives(a->key, b->key)) {
        return false;
    }
    if (b->member != NULL && (a->member == NULL || !within(a->member, b->member, depth + 1))) {
        return false;
    }
    if (b->function == NULL) {
        return true;
    }
    if (a->function == NULL || a->function->arity != b->function->arity) {
        return false;
    }
    for (size_t i = 0; i < a->function->arity; i++) { /* Parameters the other way round. */
        if (!within(&b->function->parameters[i], &a->function->parameters[i], depth + 1)) {
            return false;
        }
    }
    return within(&a->function->result, &b->function->result, depth + 1);
}

bool sirix_sequence_type_within(const struct sirix_sequence_type *a,
                                const struct sirix_sequence_type *b)
{
    return within(a, b, 0);
}

void sirix_sequence_type_show(const struct sirix_sequence_type *type, char *to, size_t to_bytes)
{
    static const char *const signs[] = {"", "?", "*", "+", ""};
    const char *open = "";

    if (to_bytes == 0) {
        return;
    }
    to[0] = '\0';
    if (type->occurrence == SIRIX_OCCURRENCE_NONE) {
        (void)snprintf(to, to_bytes, "empty-sequence()"); /* Cut if longer, as promised. */
        return;
    }
    switch (type->type) {
    case SIRIX_TYPE_ITEM:
    case SIRIX_TYPE_STRUCTURED:
    case SIRIX_TYPE_OBJECT:
    case SIRIX_TYPE_ARRAY:
        open = "()";
        break;
    case SIRIX_TYPE_FUNCTION:
        open = "(*)";
        break;
    default:
        break;
    }
    bool is_xs = open[0] == '\0' && type->type != SIRIX_TYPE_NULL;

    if (type->type == SIRIX_TYPE_FUNCTION && type->function != NULL) {
        (void)snprintf(to, to_bytes, "function of %zu parameters%s", type->function->arity,
                       signs[type->occurrence]);
        return;
    }
    (void)snprintf(to, to_bytes, "%s%s%s%s", is_xs ? "xs:" : "", types[type->type].name, open,
                   signs[type->occurrence]);
}
