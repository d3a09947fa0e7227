/* The principals that are always there, and what patterns let through. */
#include "auth/principal.h"

#include <string.h>

const struct sirix_principal sirix_principal_owner = {
    .role = SIRIX_ROLE_OPERATOR,
    .name = "owner",
};

const struct sirix_principal sirix_principal_reader = {
    .role = SIRIX_ROLE_READER,
    .name = "reader",
};

const struct sirix_principal sirix_principal_nobody = {
    .role = SIRIX_ROLE_READER,
    .name = "nobody",
};

const char *sirix_role_name(enum sirix_role role)
{
    static const char *const names[] = {
        [SIRIX_ROLE_READER] = "reader",
        [SIRIX_ROLE_WRITER] = "writer",
        [SIRIX_ROLE_OPERATOR] = "operator",
    };

    return names[role];
}

/* The last `*` takes as little as it can; where that fails, one character more. */
bool sirix_pattern_matches(const char *pattern, struct sirix_bytes text)
{
    const char *bytes = text.data;
    const char *star = NULL;
    size_t star_at = 0;
    size_t at = 0;

    while (at < text.len) {
        if (*pattern == '*') {
            star = ++pattern;
            star_at = at;
        } else if (*pattern != '\0' && *pattern == bytes[at]) {
            pattern++;
            at++;
        } else if (star != NULL) {
            pattern = star;
            at = ++star_at;
        } else {
            return false;
        }
    }
    while (*pattern == '*') {
        pattern++;
    }
    return *pattern == '\0';
}

static bool is_any(const struct sirix_patterns *patterns)
{
    if (patterns->count == 0) {
        return true;
    }
    for (size_t i = 0; i < patterns->count; i++) {
        if (strcmp(patterns->items[i], "*") == 0) {
            return true;
        }
    }
    return false;
}

static bool matches_any(const struct sirix_patterns *patterns, struct sirix_bytes text)
{
    for (size_t i = 0; i < patterns->count; i++) {
        if (sirix_pattern_matches(patterns->items[i], text)) {
            return true;
        }
    }
    return patterns->count == 0;
}

/*
 * The part of a pattern that is about resources, where the part before its '/' lets the database
 * through; NULL: it does not.
 */
static const char *resource_part(const char *pattern, struct sirix_bytes database)
{
    const char *slash = strchr(pattern, '/');
    char head[256];

    if (slash == NULL) {
        return pattern;
    }
    size_t len = (size_t)(slash - pattern);
    if (len >= sizeof(head)) {
        return NULL;
    }
    memcpy(head, pattern, len);
    head[len] = '\0';
    return sirix_pattern_matches(head, database) ? slash + 1 : NULL;
}

bool sirix_principal_sees(const struct sirix_principal *principal, struct sirix_bytes database,
                          struct sirix_bytes resource)
{
    if (!matches_any(&principal->databases, database)) {
        return false;
    }
    if (resource.len == 0 || principal->resources.count == 0) {
        return true;
    }
    for (size_t i = 0; i < principal->resources.count; i++) {
        const char *part = resource_part(principal->resources.items[i], database);

        if (part != NULL && sirix_pattern_matches(part, resource)) {
            return true;
        }
    }
    return false;
}

bool sirix_principal_sees_all(const struct sirix_principal *principal, struct sirix_bytes database)
{
    if (!matches_any(&principal->databases, database)) {
        return false;
    }
    for (size_t i = 0; i < principal->resources.count; i++) {
        const char *part = resource_part(principal->resources.items[i], database);

        if (part != NULL && strcmp(part, "*") == 0) {
            return true;
        }
    }
    return principal->resources.count == 0;
}

bool sirix_principal_may_change(const struct sirix_principal *principal, struct sirix_bytes name)
{
    return name.len == 0 ? is_any(&principal->branches) : matches_any(&principal->branches, name);
}
