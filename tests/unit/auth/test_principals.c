/* What patterns let through, and what a file of principals is read as. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "auth/principal_table.h"
#include "base/sha256.h"
#include "unit/base/alloc_sweep.h"

#define TOKEN_A "token-a-0123456789"
#define TOKEN_B "token-b-0123456789"

static struct sirix_bytes bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void patterns_match_runs_and_nothing_else(void **state)
{
    const struct {
        const char *pattern;
        const char *text;
        bool matches;
    } cases[] = {
        {"*", "", true},         {"*", "anything", true}, {"", "", true},
        {"", "a", false},        {"a", "a", true},        {"a", "A", false},
        {"a", "aa", false},      {"aa", "a", false},      {"a*", "a", true},
        {"a*", "abc", true},     {"a*", "ba", false},     {"*a", "ba", true},
        {"*a", "ab", false},     {"a*b", "ab", true},     {"a*b", "axxb", true},
        {"a*b", "axxbx", false}, {"a*b*c", "abbc", true}, {"a*b*c", "acb", false},
        {"*a*a*", "aa", true},   {"*a*a*", "a", false},   {"**", "x", true},
        {"log-*", "log-", true}, {"log-*", "log", false}, {"*.*", "a.b", true},
        {"a*ab", "aab", true},   {"a*ab", "aaab", true},  {"a*ab", "aaba", false},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (sirix_pattern_matches(cases[i].pattern, bytes(cases[i].text)) != cases[i].matches) {
            fail_msg("'%s' and '%s'", cases[i].pattern, cases[i].text);
        }
    }
}

/* The worst of patterns ends in the product of both lengths, not in the power. */
static void a_pattern_of_many_runs_ends(void **state)
{
    char text[129];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    assert_false(sirix_pattern_matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", bytes(text)));
}

static void append_hash(char *text, size_t size, const char *token)
{
    uint8_t hash[SIRIX_SHA256_BYTES];
    char hex[SIRIX_SHA256_HEX_BYTES];
    size_t len = strlen(text);

    assert_int_equal(sirix_sha256(token, strlen(token), hash, NULL), SIRIX_OK);
    sirix_sha256_hex(hash, hex);
    (void)snprintf(text + len, size - len, " token=sha256:%s", hex);
}

static struct sirix_principal_table *parse(const char *before, const char *token, const char *after)
{
    struct sirix_principal_table *table = NULL;
    struct sirix_error err = {0};
    char text[2048];

    (void)snprintf(text, sizeof(text), "%s", before);
    append_hash(text, sizeof(text), token);
    (void)snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s", after);
    if (sirix_principal_table_parse(bytes(text), &table, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    return table;
}

static const struct sirix_principal *by_token(const struct sirix_principal_table *table,
                                              const char *token)
{
    const struct sirix_credentials credentials = {.has_token = true, .token = bytes(token)};
    const struct sirix_principal *principal = NULL;
    struct sirix_error err = {0};

    enum sirix_status status = sirix_principal_table_find(table, &credentials, &principal, &err);
    assert_true(status == SIRIX_OK || status == SIRIX_UNAUTHENTICATED);
    return principal;
}

static void rights_are_those_of_the_three_lists(void **state)
{
    struct sirix_principal_table *table =
        parse("# a comment\n\n  ci\twriter", TOKEN_A,
              " databases=shop,log-* resources=users,log-*/*,shop/o*s branches=ci-*,x # more\r\n");
    const struct sirix_principal *ci = by_token(table, TOKEN_A);
    const struct {
        const char *database;
        const char *resource;
        bool seen;
    } cases[] = {
        {"shop", "", true},        {"log-", "", true},         {"log", "", false},
        {"Shop", "", false},       {"shop", "users", true},    {"log-1", "users", true},
        {"log-1", "other", true},  {"shop", "other", false},   {"shop", "orders", true},
        {"other", "users", false}, {"other", "orders", false}, {"shop", "Users", false},
    };

    (void)state;
    assert_non_null(ci);
    assert_string_equal(ci->name, "ci");
    assert_int_equal(ci->role, SIRIX_ROLE_WRITER);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        if (sirix_principal_sees(ci, bytes(cases[i].database), bytes(cases[i].resource)) !=
            cases[i].seen) {
            fail_msg("%s/%s", cases[i].database, cases[i].resource);
        }
    }
    assert_true(sirix_principal_sees_all(ci, bytes("log-1")));
    assert_false(sirix_principal_sees_all(ci, bytes("shop")));
    assert_false(sirix_principal_sees_all(ci, bytes("other")));
    assert_true(sirix_principal_may_change(ci, bytes("ci-1")));
    assert_true(sirix_principal_may_change(ci, bytes("x")));
    assert_false(sirix_principal_may_change(ci, bytes("main")));
    assert_false(sirix_principal_may_change(ci, bytes("")));
    assert_true(sirix_principal_may_change(&sirix_principal_owner, bytes("")));
    assert_true(sirix_principal_sees_all(&sirix_principal_owner, bytes("any")));
    sirix_principal_table_unref(table);
}

static void a_token_is_that_of_one_principal(void **state)
{
    struct sirix_principal_table *table =
        parse("a reader", TOKEN_A, "\nb operator certificate=dns:b");

    (void)state;
    assert_int_equal(sirix_principal_table_count(table), 2);
    assert_string_equal(by_token(table, TOKEN_A)->name, "a");
    assert_null(by_token(table, TOKEN_B));
    assert_null(by_token(table, ""));
    assert_null(by_token(table, TOKEN_A "x"));
    sirix_principal_table_unref(table);
}

static void a_table_lives_as_long_as_one_of_its_principals_is_held(void **state)
{
    struct sirix_principal_table *table = parse("a reader", TOKEN_A, "");
    const struct sirix_principal *a = by_token(table, TOKEN_A);

    (void)state;
    sirix_principal_ref(a);
    assert_false(sirix_principal_is_outdated(a));
    sirix_principal_table_retire(table);
    sirix_principal_table_unref(table);
    assert_true(sirix_principal_is_outdated(a));
    assert_string_equal(a->name, "a");
    sirix_principal_unref(a);
    sirix_principal_ref(&sirix_principal_owner);
    sirix_principal_unref(&sirix_principal_owner);
    assert_false(sirix_principal_is_outdated(&sirix_principal_owner));
}

/* What a token could be is in no error. */
static void what_is_wrong_is_named_with_its_line_and_not_repeated(void **state)
{
    static const char secret[] = "secret-secret-secret";
    static const char *const lines[] = {
        "secret-secret-secret",
        "a secret-secret-secret",
        "a reader secret-secret-secret",
        "a reader token=secret-secret-secret",
        "a reader token=sha256:secret-secret-secret",
        "a reader certificate=secret-secret-secret",
        "a reader databases=secret-secret-secret!",
        "a reader databases=",
        "a reader databases=a,,b",
        "a reader resources=/secret-secret-secret",
        "a reader resources=a/b/c",
        "a reader certificate=dns:x certificate=dns:x databases=* databases=*",
        "a reader certificate=dns:",
        "a reader",
    };

    (void)state;
    for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++) {
        struct sirix_principal_table *table = NULL;
        struct sirix_error err = {0};
        char text[256];

        (void)snprintf(text, sizeof(text), "# first\n\n%s\n", lines[i]);
        if (sirix_principal_table_parse(bytes(text), &table, &err) != SIRIX_INVALID ||
            err.line != 3 || strstr(err.text, "line 3") == NULL ||
            strstr(err.text, secret) != NULL) {
            fail_msg("'%s': %s", lines[i], err.text);
        }
        assert_null(table);
    }
}

/* --- Failures ----------------------------------------------------------------------------------- */

static enum sirix_status parse_and_find(struct sirix_error *err)
{
    static const char text[] = "a writer certificate=dns:a databases=a,b resources=a/b "
                               "branches=*\nb reader certificate=cn:b\n";
    const struct sirix_identity identity = {.kind = SIRIX_IDENTITY_CN, .name = bytes("b")};
    const struct sirix_credentials credentials = {.identities = &identity, .identity_count = 1};
    const struct sirix_principal *principal = NULL;
    struct sirix_principal_table *table = NULL;

    enum sirix_status status = sirix_principal_table_parse(bytes(text), &table, err);
    if (status == SIRIX_OK) {
        status = sirix_principal_table_find(table, &credentials, &principal, err);
        assert_true(status != SIRIX_OK || strcmp(principal->name, "b") == 0);
        sirix_principal_table_unref(table);
    }
    return status;
}

static void reading_bears_every_failing_allocation(void **state)
{
    /* The table, and its arena. */
    static const struct alloc_sweep_row row = {
        .name = "reading", .run = parse_and_find, .failures = 2, .failures_with_copies = 2};

    (void)state;
    alloc_sweep(&row, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(patterns_match_runs_and_nothing_else),
        cmocka_unit_test(a_pattern_of_many_runs_ends),
        cmocka_unit_test(rights_are_those_of_the_three_lists),
        cmocka_unit_test(a_token_is_that_of_one_principal),
        cmocka_unit_test(a_table_lives_as_long_as_one_of_its_principals_is_held),
        cmocka_unit_test(what_is_wrong_is_named_with_its_line_and_not_repeated),
        cmocka_unit_test(reading_bears_every_failing_allocation),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
