/* What a caller sees: lists of two together, and the server as it is for one of them. */
#include "unit/gateway/gateway_help.h"

#include <stdio.h>

#include "guard/settings_read.h"
#include "mcp/callers.h"
#include "unit/gateway/fake_backend.h"

static struct sirix_arena arena;

/* --- What both allow ---------------------------------------------------------------------------- */

static struct sirix_access access_of(const char *members)
{
    struct sirix_access access = {.rule_count = 0};
    struct sirix_json_tree tree;
    bool is_known = false;

    assert_int_equal(sirix_json_tree_init(&tree, &arena, NULL), SIRIX_OK);
    assert_int_equal(sirix_json_tree_parse(&tree, text(members), NULL, NULL, NULL), SIRIX_OK);
    for (const struct sirix_json_node *at = sirix_json_first(tree.root); at != NULL;
         at = at->next) {
        assert_int_equal(sirix_setting_read_access(&arena, at, &access, &is_known, NULL), SIRIX_OK);
        assert_true(is_known);
    }
    return access;
}

/* Whoever is allowed by both is allowed by what both allow, and nobody else: all pairs of some lists. */
static void what_both_allow_is_what_each_allows(void **state)
{
    static const char *const lists[] = {
        "{}",
        "{\"allowDatabases\":[]}",
        "{\"allowDatabases\":[\"*\"]}",
        "{\"allowDatabases\":[\"a\",\"b\"]}",
        "{\"allowDatabases\":[\"b\",\"c\",\"b\"],\"denyDatabases\":[\"c\"]}",
        "{\"denyDatabases\":[\"*\"]}",
        "{\"denyDatabases\":[\"A\"]}",
        "{\"allowResources\":{\"a\":[],\"b\":[\"x\"]}}",
        "{\"allowResources\":{\"B\":[\"x\",\"y\"],\"c\":[\"*\"]}}",
        "{\"allowBranches\":[\"x\"]}",
        "{\"allowBranches\":[\"*\"],\"allowResources\":{\"a\":[\"y\"]}}",
        "{\"allowBranches\":[],\"allowDatabases\":[\"a\",\"*\"]}",
    };
    static const char *const databases[] = {"a", "A", "b", "B", "c", "d"};
    static const char *const resources[] = {"x", "y", "z"};

    (void)state;
    sirix_arena_init(&arena, SIZE_MAX);
    for (size_t i = 0; i < COUNT(lists) * COUNT(lists); i++) {
        const struct sirix_access a = access_of(lists[i / COUNT(lists)]);
        const struct sirix_access b = access_of(lists[i % COUNT(lists)]);
        struct sirix_access both;

        assert_int_equal(sirix_access_both(&a, &b, &arena, &both, NULL), SIRIX_OK);
        for (size_t d = 0; d < COUNT(databases); d++) {
            const struct sirix_bytes database = text(databases[d]);

            assert_int_equal(sirix_access_database(&both, database),
                             sirix_access_database(&a, database) &&
                                 sirix_access_database(&b, database));
            for (size_t r = 0; r < COUNT(resources); r++) {
                const struct sirix_bytes resource = text(resources[r]);

                assert_int_equal(sirix_access_resource(&both, database, resource),
                                 sirix_access_resource(&a, database, resource) &&
                                     sirix_access_resource(&b, database, resource));
            }
        }
        for (size_t r = 0; r < COUNT(resources); r++) {
            assert_int_equal(sirix_access_branch(&both, text(resources[r])),
                             sirix_access_branch(&a, text(resources[r])) &&
                                 sirix_access_branch(&b, text(resources[r])));
        }
    }
    sirix_arena_deinit(&arena);
}

/* --- Callers ------------------------------------------------------------------------------------ */

static void a_caller_sees_no_more_than_its_rights(void **state)
{
    struct sirix_settings settings;
    struct sirix_mcp_registry registry = sirix_mcp_product();
    struct sirix_mcp_server server;
    struct sirix_callers *callers = NULL;
    struct sirix_caller *reader = NULL;
    struct sirix_caller *again = NULL;
    struct sirix_caller *writer = NULL;
    struct sirix_identity who = {.name = "a", .rights = SIRIX_RIGHT_READ};
    struct sirix_gateway_backend *const backends[2] = {(void *)&settings, (void *)&server};

    (void)state;
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    settings.read_only = false;
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, backends[0], NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_callers_new(&server, backends[1], &callers, NULL), SIRIX_OK);
    assert_int_equal(sirix_callers_get(callers, &who, &reader, NULL), SIRIX_OK);
    assert_int_equal(sirix_callers_get(callers, &who, &again, NULL), SIRIX_OK);
    assert_ptr_equal(reader, again);
    assert_true(sirix_caller_server(reader)->settings->read_only);
    assert_ptr_equal(sirix_caller_server(reader)->backend, backends[1]);
    who.rights |= SIRIX_RIGHT_WRITE;
    assert_int_equal(sirix_callers_get(callers, &who, &writer, NULL), SIRIX_OK);
    assert_ptr_not_equal(reader, writer);
    assert_false(sirix_caller_server(writer)->settings->read_only);
    assert_false(sirix_caller_server(writer)->may_create);
    assert_ptr_equal(sirix_caller_server(writer)->backend, backends[0]);
    assert_ptr_not_equal(sirix_caller_server(writer)->rate, sirix_caller_server(reader)->rate);
    assert_string_equal(sirix_caller_server(writer)->principal, "a");
    sirix_caller_unref(reader);
    sirix_caller_unref(again);
    sirix_caller_unref(writer);
    sirix_callers_free(callers);
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
}

static void callers_make_room_for_others_when_they_are_away(void **state)
{
    struct sirix_settings settings;
    struct sirix_mcp_registry registry = sirix_mcp_product();
    struct sirix_mcp_server server;
    struct sirix_callers *callers = NULL;
    struct sirix_caller *caller = NULL;
    struct sirix_caller *first = NULL;
    char name[16];
    struct sirix_identity who = {.name = name, .rights = SIRIX_RIGHT_READ};

    (void)state;
    assert_int_equal(sirix_settings_init(&settings, NULL), SIRIX_OK);
    assert_int_equal(sirix_mcp_server_init(&server, &settings, &registry, NULL, NULL), SIRIX_OK);
    assert_int_equal(sirix_callers_new(&server, NULL, &callers, NULL), SIRIX_OK);
    for (int i = 0; i < SIRIX_CALLERS_MAX + 10; i++) {
        (void)snprintf(name, sizeof(name), "c%d", i);
        assert_int_equal(sirix_callers_get(callers, &who, i == 0 ? &first : &caller, NULL),
                         SIRIX_OK);
        if (i != 0) {
            sirix_caller_unref(caller);
        }
    }
    /* The first one is still at work, so it was not the one to go. */
    (void)snprintf(name, sizeof(name), "c0");
    assert_int_equal(sirix_callers_get(callers, &who, &caller, NULL), SIRIX_OK);
    assert_ptr_equal(caller, first);
    sirix_caller_unref(caller);
    sirix_caller_unref(first);
    sirix_callers_free(callers);
    sirix_mcp_server_deinit(&server);
    sirix_settings_deinit(&settings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_both_allow_is_what_each_allows),
        cmocka_unit_test(a_caller_sees_no_more_than_its_rights),
        cmocka_unit_test(callers_make_room_for_others_when_they_are_away),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
