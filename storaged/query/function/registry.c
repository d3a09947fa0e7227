/* How functions are found: namespaces, a hash index over the tables, and the nearest name. */
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "query/function/function.h"
#include "query/function/support.h"

enum { NAME_BYTES_MAX = 64 };

static const struct {
    const char *prefix;
    const char *uri;
} spaces[SIRIX_NS_COUNT] = {
    [SIRIX_NS_NONE] = {"", ""},
    [SIRIX_NS_FN] = {"fn", "http://www.w3.org/2005/xpath-functions"},
    [SIRIX_NS_XS] = {"xs", "http://www.w3.org/2001/XMLSchema"},
    [SIRIX_NS_MATH] = {"math", "http://www.w3.org/2005/xpath-functions/math"},
    [SIRIX_NS_MAP] = {"map", "http://www.w3.org/2005/xpath-functions/map"},
    [SIRIX_NS_ARRAY] = {"array", "http://www.w3.org/2005/xpath-functions/array"},
    [SIRIX_NS_JN] = {"jn", "http://jsoniq.org/functions"},
    [SIRIX_NS_SDB] = {"sdb", "https://sirix.io"},
    [SIRIX_NS_BIT] = {"bit", "http://brackit.org/ns/bit"},
    [SIRIX_NS_ERR] = {"err", "http://www.w3.org/2005/xqt-errors"},
};

/* More prefixes and URIs of the same namespaces. */
static const struct {
    const char *prefix;
    const char *uri;
    enum sirix_function_ns ns;
} others[] = {
    {"libjn", "http://jsoniq.org/function-library", SIRIX_NS_JN},
    {"jn", "http://jsoniq.org/default-function-namespace", SIRIX_NS_JN},
    {"jn", "http://jsoniq.org/default-function-ns", SIRIX_NS_JN},
    {"js", "http://jsoniq.org/types", SIRIX_NS_XS},
    {"xsd", "http://www.w3.org/2001/XMLSchema", SIRIX_NS_XS},
};

/* Where an unprefixed name is looked for, in this order. */
static const enum sirix_function_ns unprefixed[] = {
    SIRIX_NS_FN, SIRIX_NS_JN, SIRIX_NS_BIT, SIRIX_NS_MATH, SIRIX_NS_XS, SIRIX_NS_SDB,
};

struct sirix_function_set {
    const struct sirix_function **slots; /* Open addressing by namespace and name. */
    size_t slot_count;
    struct sirix_function_table *tables;
    size_t table_count;
};

/* --- Namespaces ---------------------------------------------------------------------------------------- */

const char *sirix_function_ns_prefix(enum sirix_function_ns ns)
{
    return spaces[ns].prefix;
}

const char *sirix_function_ns_uri(enum sirix_function_ns ns)
{
    return spaces[ns].uri;
}

bool sirix_function_ns_of_prefix(struct sirix_bytes prefix, enum sirix_function_ns *out)
{
    for (size_t i = SIRIX_NS_FN; i < SIRIX_NS_COUNT; i++) {
        if (bytes_are(prefix, spaces[i].prefix)) {
            *out = (enum sirix_function_ns)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (bytes_are(prefix, others[i].prefix)) {
            *out = others[i].ns;
            return true;
        }
    }
    return false;
}

bool sirix_function_ns_of_uri(struct sirix_bytes uri, enum sirix_function_ns *out)
{
    for (size_t i = SIRIX_NS_FN; i < SIRIX_NS_COUNT; i++) {
        if (bytes_are(uri, spaces[i].uri)) {
            *out = (enum sirix_function_ns)i;
            return true;
        }
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        if (bytes_are(uri, others[i].uri)) {
            *out = others[i].ns;
            return true;
        }
    }
    return false;
}

/* --- The index -------------------------------------------------------------------------------------------- */

/* Names of functions are ours and of the query; the table is fixed, so a plain hash will do. */
static size_t slot_of(const struct sirix_function_set *set, enum sirix_function_ns ns,
                      struct sirix_bytes name)
{
    const uint8_t *bytes = name.data;
    uint64_t hash = (uint64_t)ns;

    for (size_t i = 0; i < name.len; i++) {
        hash = hash * 31 + bytes[i];
    }
    return (size_t)sirix_mix64(hash) & (set->slot_count - 1);
}

static void insert(struct sirix_function_set *set, const struct sirix_function *function)
{
    size_t slot = slot_of(set, function->ns, literal_bytes(function->name));

    while (set->slots[slot] != NULL) {
        slot = (slot + 1) & (set->slot_count - 1);
    }
    set->slots[slot] = function;
}

enum sirix_status sirix_function_set_new(const struct sirix_function_table *tables, size_t count,
                                         struct sirix_function_set **out, struct sirix_error *err)
{
    size_t functions = 0;
    struct sirix_function_set *set = calloc(1, sizeof(*set));

    for (size_t i = 0; i < count; i++) {
        functions += tables[i].count;
    }
    if (set == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the index of functions");
    }
    set->table_count = count;
    set->slot_count = 64;
    while (set->slot_count < 2 * functions) {
        set->slot_count *= 2;
    }
    set->slots = calloc(set->slot_count, sizeof(const struct sirix_function *));
    set->tables = calloc(count + 1, sizeof(*set->tables));
    if (set->slots == NULL || set->tables == NULL) {
        sirix_function_set_free(set);
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for the index of functions");
    }
    for (size_t i = 0; i < count; i++) {
        set->tables[i] = tables[i];
        for (size_t j = 0; j < tables[i].count; j++) {
            insert(set, &tables[i].functions[j]);
        }
    }
    *out = set;
    return SIRIX_OK;
}

void sirix_function_set_free(struct sirix_function_set *set)
{
    if (set != NULL) {
        free(set->slots);
        free(set->tables);
        free(set);
    }
}

static bool has_arity(const struct sirix_function *function, size_t arity)
{
    bool is_variadic = (function->flags & SIRIX_FUNCTION_VARIADIC) != 0;
    size_t most = is_variadic ? SIRIX_FUNCTION_ARITY_MAX : function->max_arity;

    return arity >= function->min_arity && arity <= most;
}

/* The function in one namespace; also widens the range of arities that the name has. */
static const struct sirix_function *find_in(const struct sirix_function_set *set,
                                            enum sirix_function_ns ns, struct sirix_bytes name,
                                            size_t arity, size_t *min, size_t *max)
{
    for (size_t slot = slot_of(set, ns, name); set->slots[slot] != NULL;
         slot = (slot + 1) & (set->slot_count - 1)) {
        const struct sirix_function *function = set->slots[slot];
        size_t most = (function->flags & SIRIX_FUNCTION_VARIADIC) != 0 ? SIRIX_FUNCTION_ARITY_MAX
                                                                       : function->max_arity;

        if (function->ns != ns || !bytes_are(name, function->name)) {
            continue;
        }
        *min = function->min_arity < *min ? function->min_arity : *min;
        *max = most > *max ? most : *max;
        if (has_arity(function, arity)) {
            return function;
        }
    }
    return NULL;
}

static const struct sirix_function *find(const struct sirix_function_set *set,
                                         enum sirix_function_ns ns, struct sirix_bytes name,
                                         size_t arity, size_t *min, size_t *max)
{
    const struct sirix_function *function = NULL;

    if (name.len > NAME_BYTES_MAX) {
        return NULL;
    }
    if (ns != SIRIX_NS_NONE) {
        return find_in(set, ns, name, arity, min, max);
    }
    for (size_t i = 0; i < sizeof(unprefixed) / sizeof(unprefixed[0]) && function == NULL; i++) {
        function = find_in(set, unprefixed[i], name, arity, min, max);
    }
    return function;
}

const struct sirix_function *sirix_function_find(const struct sirix_function_set *set,
                                                 enum sirix_function_ns ns, struct sirix_bytes name,
                                                 size_t arity)
{
    size_t min = SIZE_MAX;
    size_t max = 0;

    return find(set, ns, name, arity, &min, &max);
}

bool sirix_function_arities(const struct sirix_function_set *set, enum sirix_function_ns ns,
                            struct sirix_bytes name, size_t *out_min, size_t *out_max)
{
    size_t min = SIZE_MAX;
    size_t max = 0;

    (void)find(set, ns, name, SIZE_MAX, &min, &max); /* No function has that arity: all are seen. */
    if (min == SIZE_MAX) {
        return false;
    }
    if (out_min != NULL) {
        *out_min = min;
    }
    if (out_max != NULL) {
        *out_max = max;
    }
    return true;
}

/* --- The nearest name --------------------------------------------------------------------------------------- */

/* Insertions, deletions and replacements between two short names. */
static size_t distance(struct sirix_bytes a, struct sirix_bytes b)
{
    size_t row[NAME_BYTES_MAX + 1];
    const char *x = a.data;
    const char *y = b.data;

    for (size_t j = 0; j <= b.len; j++) {
        row[j] = j;
    }
    for (size_t i = 1; i <= a.len; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.len; j++) {
            size_t change = corner + (x[i - 1] != y[j - 1]);
            size_t least = row[j] < row[j - 1] ? row[j] + 1 : row[j - 1] + 1;

            corner = row[j];
            row[j] = change < least ? change : least;
        }
    }
    return row[b.len];
}

/* How far a known name is from one that is looked for; SIZE_MAX: too far. */
static size_t score_of(const struct sirix_function *function, enum sirix_function_ns ns,
                       struct sirix_bytes name)
{
    struct sirix_bytes known = literal_bytes(function->name);
    size_t away = known.len > NAME_BYTES_MAX ? SIZE_MAX : distance(name, known);

    if (away > 1 + name.len / 3 || away >= name.len) {
        return SIZE_MAX;
    }
    return 2 * away + (ns == SIRIX_NS_NONE || function->ns == ns ? 0 : 1); /* Of equals its own. */
}

bool sirix_function_nearest(const struct sirix_function_set *set, enum sirix_function_ns ns,
                            struct sirix_bytes name, char *to, size_t to_bytes)
{
    const struct sirix_function *best = NULL;
    size_t best_score = SIZE_MAX;

    if (name.len == 0 || name.len > NAME_BYTES_MAX) {
        return false;
    }
    for (size_t i = 0; i < set->slot_count; i++) {
        size_t score = set->slots[i] == NULL ? SIZE_MAX : score_of(set->slots[i], ns, name);
        bool is_before = score == best_score && best != NULL && set->slots[i] != NULL &&
                         strcmp(set->slots[i]->name, best->name) < 0;

        if (score < best_score || is_before) {
            best = set->slots[i];
            best_score = score;
        }
    }
    if (best == NULL) {
        return false;
    }
    (void)snprintf(to, to_bytes, "%s:%s", sirix_function_ns_prefix(best->ns), best->name);
    return true;
}
