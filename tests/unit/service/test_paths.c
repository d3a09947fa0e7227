/* The paths of a resource as a tree: what planners and inferred tables go by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/catalogue.h"
#include "service/folder.h"
#include "service/import.h"
#include "service/paths.h"

static char dir[64];
static struct sirix_service *service;
static struct sirix_cancel cancel = {.deadline_us = UINT64_MAX};
static struct sirix_request request;
static struct sirix_arena arena;

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static void never(void *context)
{
    (void)context;
    fail_msg("a turn was waited for");
}

static void import(const char *resource, const char *json)
{
    const struct sirix_import_request wanted = {
        .database = text("db"), .resource = text(resource), .replace = true};
    struct sirix_import *import = NULL;
    struct sirix_import_result result;
    bool replayed = false;
    bool waits = false;

    assert_int_equal(sirix_import_open(&request, &wanted, &import, &replayed, &result, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_import_feed(import, text(json), NULL), SIRIX_OK);
    assert_int_equal(sirix_import_end(import, NULL), SIRIX_OK);
    assert_int_equal(sirix_write_take_turn(sirix_import_write(import), never, NULL, &waits, NULL),
                     SIRIX_OK);
    assert_false(waits);
    assert_int_equal(sirix_import_publish(import, &result, NULL), SIRIX_OK);
    sirix_import_close(import);
}

static struct sirix_paths paths_of(const char *resource, uint64_t revision)
{
    const struct sirix_view_request wanted = {.which = revision == 0 ? SIRIX_VIEW_WHICH_NONE
                                                                     : SIRIX_VIEW_WHICH_REVISION,
                                              .revision = revision};
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    struct sirix_paths paths = {0};

    assert_int_equal(sirix_target_open_named(&request, text("db"), text(resource), &target, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_target_view(&target, &wanted, "view", &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_paths_of_view(&target, &view, &arena, &paths, NULL), SIRIX_OK);
    sirix_view_close(&view);
    sirix_target_close(&target);
    return paths;
}

/* Of every tree: parents before children, subtrees that follow at once, siblings in their order. */
static void check_tree(const struct sirix_paths *paths)
{
    assert_int_equal(paths->nodes[0].step, SIRIX_STEP_VALUE);
    assert_int_equal(paths->nodes[0].parent, SIRIX_PATH_NONE);
    assert_int_equal(paths->nodes[0].end, paths->count);
    for (uint32_t i = 1; i < paths->count; i++) {
        const struct sirix_path_node *node = &paths->nodes[i];

        assert_true(node->parent < i && node->end > i);
        assert_true(node->end <= paths->nodes[node->parent].end);
        assert_int_not_equal(node->id, 0);
        if (node->end < paths->nodes[node->parent].end) { /* Its next sibling. */
            const struct sirix_path_node *next = &paths->nodes[node->end];
            assert_int_equal(next->parent, node->parent);
            assert_true(next->step >= node->step);
        }
    }
}

static uint32_t child(const struct sirix_paths *paths, uint32_t parent, enum sirix_path_step step,
                      const char *name)
{
    for (uint32_t i = parent + 1; i < paths->nodes[parent].end; i = paths->nodes[i].end) {
        if (paths->nodes[i].step == step && sirix_bytes_equal(paths->nodes[i].name, text(name))) {
            return i;
        }
    }
    fail_msg("there is no %s", name);
    return 0;
}

static void an_array_of_objects_is_a_table_with_its_columns(void **state)
{
    (void)state;
    import("r", "{\"rows\":[{\"b\":1,\"a\\u0000\":null},{\"b\":\"x\",\"in\":{\"c\":[true]}}],"
                "\"n\":0}");

    struct sirix_paths paths = paths_of("r", 0);
    check_tree(&paths);
    assert_true(paths.whole);
    uint32_t rows = child(&paths, 0, SIRIX_STEP_MEMBER, "rows");
    uint32_t row = child(&paths, rows, SIRIX_STEP_ELEMENT, "");
    assert_int_equal(paths.nodes[rows].kinds, 1U << SIRIX_VALUE_ARRAY);
    assert_int_equal(paths.nodes[row].kinds, 1U << SIRIX_VALUE_OBJECT);
    assert_int_equal(paths.nodes[child(&paths, row, SIRIX_STEP_MEMBER, "b")].kinds,
                     1U << SIRIX_VALUE_NUMBER | 1U << SIRIX_VALUE_STRING);
    assert_int_equal(paths.nodes[row + 1].name.len, 2); /* "a" and U+0000 comes before "b". */
    assert_int_equal(paths.nodes[row + 1].kinds, 1U << SIRIX_VALUE_NULL);
    uint32_t in = child(&paths, row, SIRIX_STEP_MEMBER, "in");
    uint32_t c = child(&paths, in, SIRIX_STEP_MEMBER, "c");
    assert_int_equal(paths.nodes[child(&paths, c, SIRIX_STEP_ELEMENT, "")].kinds,
                     1U << SIRIX_VALUE_BOOLEAN);
}

static void a_view_has_the_paths_of_all_revisions_or_none_without_a_value(void **state)
{
    const struct sirix_write_options plain = {.message = text("")};
    struct sirix_write_result result;

    (void)state;
    import("r", "[1]");
    import("r", "{\"a\":2}");

    for (uint64_t revision = 1; revision <= 2; revision++) {
        struct sirix_paths paths = paths_of("r", revision);
        check_tree(&paths);
        assert_int_equal(paths.count, 3);
        assert_int_equal(paths.nodes[0].kinds, 1U << SIRIX_VALUE_OBJECT | 1U << SIRIX_VALUE_ARRAY);
        assert_int_equal(paths.nodes[1].step, SIRIX_STEP_ELEMENT);
        assert_int_equal(paths.nodes[2].step, SIRIX_STEP_MEMBER);
    }
    assert_int_equal(
        sirix_service_create_resource(&request, text("db"), text("bare"), &plain, &result, NULL),
        SIRIX_OK);
    assert_int_equal(paths_of("bare", 1).count, 0);
}

static void a_page_goes_on_where_the_one_before_ended(void **state)
{
    struct sirix_path_page page = {0};
    char cursor[17];

    (void)state;
    import("r", "{\"a\":1,\"b\":{\"~/[\":2,\"[\":3}}");
    struct sirix_paths paths = paths_of("r", 0);
    (void)snprintf(cursor, sizeof(cursor), "%016llx", (unsigned long long)paths.nodes[1].id);

    assert_int_equal(sirix_paths_page(&paths, text(cursor), &arena, &page, NULL), SIRIX_OK);
    assert_int_equal(page.count, 3);
    assert_true(sirix_bytes_equal(page.entries[0].path, text("/b")));
    assert_true(sirix_bytes_equal(page.entries[1].path, text("/b/~2")));
    assert_true(sirix_bytes_equal(page.entries[2].path, text("/b/~0~1[")));
    assert_int_equal(page.next_cursor.len, 0);
    (void)snprintf(cursor, sizeof(cursor), "%016llx", (unsigned long long)paths.nodes[4].id);
    assert_int_equal(sirix_paths_page(&paths, text(cursor), &arena, &page, NULL), SIRIX_OK);
    assert_int_equal(page.count, 0);
    assert_int_equal(sirix_paths_page(&paths, text("none"), &arena, &page, NULL), SIRIX_INVALID);
}

static int setup(void **state)
{
    (void)state;
    (void)snprintf(dir, sizeof(dir), "/tmp/sirix_paths_XXXXXX");
    if (mkdtemp(dir) == NULL) {
        return -1;
    }
    const struct sirix_service_options options = {.dir = dir};
    sirix_arena_init(&arena, SIZE_MAX);
    enum sirix_status status = sirix_service_open(&options, &service, NULL);
    request = (struct sirix_request){
        .service = service,
        .caller = {.name = "tester", .may_write = true},
        .cancel = &cancel,
    };
    return status == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct sirix_folder *parent = NULL;

    (void)state;
    sirix_service_close(service);
    sirix_arena_deinit(&arena);
    int failed = sirix_folder_open("/", "tmp", &parent, NULL) != SIRIX_OK ||
                 sirix_folder_delete(parent, strrchr(dir, '/') + 1, NULL) != SIRIX_OK;
    sirix_folder_close(parent);
    return failed ? -1 : 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(an_array_of_objects_is_a_table_with_its_columns),
        CASE(a_view_has_the_paths_of_all_revisions_or_none_without_a_value),
        CASE(a_page_goes_on_where_the_one_before_ended),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
