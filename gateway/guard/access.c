/* Allow and deny lists. */
#include "guard/access.h"

#include <string.h>

#include "base/utf8.h"

static bool contains(const struct sirix_access_list *list, struct sirix_bytes name, bool fold)
{
    for (size_t i = 0; i < list->count; i++) {
        const char *item = list->names[i];
        struct sirix_bytes allowed = {.data = item, .len = strlen(item)};

        if (strcmp(item, "*") == 0 || sirix_bytes_equal(allowed, name) ||
            (fold && sirix_ascii_equal_fold(allowed.data, allowed.len, name.data, name.len))) {
            return true;
        }
    }
    return false;
}

bool sirix_access_database(const struct sirix_access *access, struct sirix_bytes database)
{
    if (contains(&access->deny_databases, database, true)) {
        return false;
    }
    return !access->allow_databases.is_given || contains(&access->allow_databases, database, false);
}

bool sirix_access_resource(const struct sirix_access *access, struct sirix_bytes database,
                           struct sirix_bytes resource)
{
    if (!sirix_access_database(access, database)) {
        return false;
    }
    for (size_t i = 0; i < access->rule_count; i++) {
        const struct sirix_access_rule *rule = &access->rules[i];

        /* Fails closed: an entry also governs a name that differs in case alone. */
        if (sirix_ascii_equal_fold(rule->database, strlen(rule->database), database.data,
                                   database.len)) {
            return contains(&rule->resources, resource, false);
        }
    }
    return true;
}
