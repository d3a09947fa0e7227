/* Scopes of requests. */
#include "service/scope.h"

#include "base/utf8.h"

static bool is_alike(struct sirix_bytes a, struct sirix_bytes b)
{
    return sirix_ascii_equal_fold(a.data, a.len, b.data, b.len);
}

static bool contains(const struct sirix_scope_list *list, struct sirix_bytes name, bool fold)
{
    static const struct sirix_bytes any = {.data = "*", .len = 1};

    for (size_t i = 0; i < list->count; i++) {
        if (sirix_bytes_equal(list->names[i], any) || sirix_bytes_equal(list->names[i], name) ||
            (fold && is_alike(list->names[i], name))) {
            return true;
        }
    }
    return false;
}

bool sirix_scope_sees(const struct sirix_scope *scope, struct sirix_bytes database,
                      struct sirix_bytes resource)
{
    if (contains(&scope->deny_databases, database, true) ||
        (scope->allow_databases.given && !contains(&scope->allow_databases, database, false))) {
        return false;
    }
    for (size_t i = 0; i < scope->rule_count && resource.len != 0; i++) {
        /* Fails closed: a rule also governs a name that differs in case alone. */
        if (is_alike(scope->rules[i].database, database)) {
            return contains(&scope->rules[i].resources, resource, false);
        }
    }
    return true;
}

bool sirix_scope_allows(void *context, struct sirix_bytes database, struct sirix_bytes resource)
{
    return sirix_scope_sees(context, database, resource);
}

bool sirix_scope_sees_all(const struct sirix_scope *scope, struct sirix_bytes database)
{
    static const struct sirix_bytes any = {.data = "*", .len = 1};

    /* Only a "*" in its rule lets a resource through that is called that, which none is. */
    return sirix_scope_sees(scope, database, (struct sirix_bytes){.data = NULL, .len = 0}) &&
           sirix_scope_sees(scope, database, any);
}
