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

bool sirix_access_branch(const struct sirix_access *access, struct sirix_bytes branch)
{
    return !access->allow_branches.is_given || contains(&access->allow_branches, branch, false);
}

/* --- Both of two -------------------------------------------------------------------------------- */

static struct sirix_bytes bytes_of(const char *name)
{
    return (struct sirix_bytes){.data = name, .len = strlen(name)};
}

static bool has_exactly(const struct sirix_access_list *list, const char *name)
{
    for (size_t i = 0; i < list->count; i++) {
        if (strcmp(list->names[i], name) == 0) {
            return true;
        }
    }
    return false;
}

/* Adds the names of list that the other allows, each once. */
static void add_common(const struct sirix_access_list *list, const struct sirix_access_list *other,
                       struct sirix_access_list *out)
{
    for (size_t i = 0; i < list->count; i++) {
        if (contains(other, bytes_of(list->names[i]), false) && !has_exactly(out, list->names[i])) {
            out->names[out->count++] = list->names[i];
        }
    }
}

static enum sirix_status make_list(struct sirix_arena *arena, size_t count,
                                   struct sirix_access_list *out, struct sirix_error *err)
{
    void *names = NULL;
    enum sirix_status status = sirix_arena_calloc(arena, count, sizeof(*out->names), &names, err);

    if (status == SIRIX_OK) {
        *out = (struct sirix_access_list){.is_given = true, .names = names};
    }
    return status;
}

static enum sirix_status common(const struct sirix_access_list *a,
                                const struct sirix_access_list *b, struct sirix_arena *arena,
                                struct sirix_access_list *out, struct sirix_error *err)
{
    if (!a->is_given || !b->is_given) {
        *out = a->is_given ? *a : *b;
        return SIRIX_OK;
    }
    enum sirix_status status = make_list(arena, a->count + b->count, out, err);
    if (status == SIRIX_OK) {
        add_common(a, b, out);
        add_common(b, a, out);
    }
    return status;
}

static enum sirix_status joined(const struct sirix_access_list *a,
                                const struct sirix_access_list *b, struct sirix_arena *arena,
                                struct sirix_access_list *out, struct sirix_error *err)
{
    enum sirix_status status = make_list(arena, a->count + b->count, out, err);

    for (size_t i = 0; i < a->count && status == SIRIX_OK; i++) {
        out->names[out->count++] = a->names[i];
    }
    for (size_t i = 0; i < b->count && status == SIRIX_OK; i++) {
        out->names[out->count++] = b->names[i];
    }
    return status;
}

/* The rule of a database; NULL: all of its resources are allowed. */
static const struct sirix_access_rule *find_rule(const struct sirix_access *access,
                                                 const char *database)
{
    for (size_t i = 0; i < access->rule_count; i++) {
        const char *name = access->rules[i].database;

        if (sirix_ascii_equal_fold(name, strlen(name), database, strlen(database))) {
            return &access->rules[i];
        }
    }
    return NULL;
}

static enum sirix_status common_rules(const struct sirix_access *a, const struct sirix_access *b,
                                      struct sirix_arena *arena, struct sirix_access *out,
                                      struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(arena, a->rule_count + b->rule_count, sizeof(*out->rules), &memory, err);

    out->rules = memory;
    for (size_t i = 0; i < a->rule_count && status == SIRIX_OK; i++) {
        const struct sirix_access_rule *other = find_rule(b, a->rules[i].database);
        struct sirix_access_rule *rule = &out->rules[out->rule_count++];

        *rule = a->rules[i];
        if (other != NULL) {
            status =
                common(&a->rules[i].resources, &other->resources, arena, &rule->resources, err);
        }
    }
    for (size_t i = 0; i < b->rule_count && status == SIRIX_OK; i++) {
        if (find_rule(a, b->rules[i].database) == NULL) {
            out->rules[out->rule_count++] = b->rules[i];
        }
    }
    return status;
}

enum sirix_status sirix_access_both(const struct sirix_access *a, const struct sirix_access *b,
                                    struct sirix_arena *arena, struct sirix_access *out,
                                    struct sirix_error *err)
{
    struct sirix_access both = {.rule_count = 0};
    enum sirix_status status =
        common(&a->allow_databases, &b->allow_databases, arena, &both.allow_databases, err);

    if (status == SIRIX_OK) {
        status = joined(&a->deny_databases, &b->deny_databases, arena, &both.deny_databases, err);
    }
    if (status == SIRIX_OK) {
        status = common(&a->allow_branches, &b->allow_branches, arena, &both.allow_branches, err);
    }
    if (status == SIRIX_OK) {
        status = common_rules(a, b, arena, &both, err);
    }
    if (status == SIRIX_OK) {
        *out = both;
    }
    return status;
}
