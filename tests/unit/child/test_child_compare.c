/* Comparison of child trees: right for any two trees, and as cheap as what differs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "store/child/child_page.h"
#include "store/child/child_tree.h"
#include "unit/child/support.h"

/* Counts the pages that are fetched: the linker sends all calls of the tree here. */
static uint64_t fetches;

enum sirix_status __real_sirix_child_page_load(struct sirix_reader *reader,
                                               enum sirix_child_kind kind, uint64_t address,
                                               uint32_t level, struct sirix_child_page *out_page,
                                               struct sirix_error *err);
enum sirix_status __wrap_sirix_child_page_load(struct sirix_reader *reader,
                                               enum sirix_child_kind kind, uint64_t address,
                                               uint32_t level, struct sirix_child_page *out_page,
                                               struct sirix_error *err);
enum sirix_status __wrap_sirix_child_page_load(struct sirix_reader *reader,
                                               enum sirix_child_kind kind, uint64_t address,
                                               uint32_t level, struct sirix_child_page *out_page,
                                               struct sirix_error *err)
{
    fetches += 1;
    return __real_sirix_child_page_load(reader, kind, address, level, out_page, err);
}

static int setup(void **state)
{
    static struct test_child f;

    test_child_open(&f, 3);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_allocs_until_failure = -1;
    test_child_close(*state);
    return 0;
}

/* A version of a tree, and its children as an array. */
struct version {
    uint64_t root;
    uint64_t *keys;
    size_t count;
};

static struct version version_bulk(struct test_child *f, size_t count)
{
    struct version version = {.keys = calloc(count + 1, sizeof(uint64_t)), .count = count};
    struct sirix_page_writer *writer = test_child_writer(f);
    struct sirix_child_bulk *bulk = NULL;

    assert_non_null(version.keys);
    assert_int_equal(sirix_child_bulk_new(writer, &bulk, NULL), SIRIX_OK);
    for (size_t i = 0; i < count; i++) {
        version.keys[i] = i + 1;
        assert_int_equal(sirix_child_bulk_append(bulk, i + 1, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_child_bulk_finish(bulk, &version.root, NULL), SIRIX_OK);
    sirix_child_bulk_free(bulk);
    (void)test_child_publish(f, writer);
    return version;
}

/* An edit on a version, with the array following. */
struct changing {
    struct sirix_child_edit *edit;
    struct version version;
};

static struct changing change(struct test_child *f, const struct version *base, size_t more)
{
    struct changing changing = {.version = *base};

    changing.version.keys = calloc(base->count + more + 1, sizeof(uint64_t));
    assert_non_null(changing.version.keys);
    memcpy(changing.version.keys, base->keys, base->count * sizeof(uint64_t));
    assert_int_equal(sirix_child_edit_new(f->reader, base->root, &changing.edit, NULL), SIRIX_OK);
    return changing;
}

static void insert(struct changing *changing, size_t index, uint64_t key)
{
    struct version *version = &changing->version;
    const struct sirix_child_label *labels = NULL;
    size_t count = 0;

    assert_int_equal(sirix_child_edit_insert(changing->edit, index, key, &labels, &count, NULL),
                     SIRIX_OK);
    memmove(version->keys + index + 1, version->keys + index,
            (version->count - index) * sizeof(uint64_t));
    version->keys[index] = key;
    version->count += 1;
}

static uint64_t take_out(struct changing *changing, size_t index)
{
    struct version *version = &changing->version;
    uint64_t key = version->keys[index];

    assert_int_equal(sirix_child_edit_remove(changing->edit, index, NULL), SIRIX_OK);
    memmove(version->keys + index, version->keys + index + 1,
            (version->count - index - 1) * sizeof(uint64_t));
    version->count -= 1;
    return key;
}

static struct version written(struct test_child *f, struct changing *changing)
{
    struct sirix_page_writer *writer = test_child_writer(f);

    assert_int_equal(sirix_child_edit_write(changing->edit, writer, &changing->version.root, NULL),
                     SIRIX_OK);
    sirix_child_edit_free(changing->edit);
    (void)test_child_publish(f, writer);
    return changing->version;
}

/*
 * Compares two versions and replays the differences: what a has and no run names must be, in order,
 * what b has and no run names. Returns how many keys the runs of both sides name.
 */
static size_t assert_compare_tells_all(struct test_child *f, const struct version *a,
                                       const struct version *b, bool yields)
{
    struct sirix_child_compare *compare = NULL;
    struct sirix_child_difference difference;
    enum sirix_status status = SIRIX_OK;
    size_t at_a = 0;
    size_t at_b = 0;
    size_t named = 0;

    assert_int_equal(sirix_child_compare_new(f->reader, a->root, b->root, &compare, NULL),
                     SIRIX_OK);
    while ((status = sirix_child_compare_next(compare, &difference, NULL)) == SIRIX_OK) {
        size_t common = (size_t)difference.index_a - at_a;

        assert_true(difference.count_a + difference.count_b > 0);
        assert_int_equal(difference.index_b - at_b, common);
        assert_memory_equal(a->keys + at_a, b->keys + at_b, common * sizeof(uint64_t));
        assert_memory_equal(a->keys + difference.index_a, difference.keys_a,
                            difference.count_a * sizeof(uint64_t));
        assert_memory_equal(b->keys + difference.index_b, difference.keys_b,
                            difference.count_b * sizeof(uint64_t));
        at_a = (size_t)difference.index_a + difference.count_a;
        at_b = (size_t)difference.index_b + difference.count_b;
        named += difference.count_a + difference.count_b;
        if (yields && test_random(f, 16) == 0) {
            sirix_reader_yield(f->reader);
        }
    }
    assert_int_equal(status, SIRIX_NOT_FOUND);
    assert_int_equal(a->count - at_a, b->count - at_b);
    assert_memory_equal(a->keys + at_a, b->keys + at_b, (a->count - at_a) * sizeof(uint64_t));
    sirix_child_compare_free(compare);
    return named;
}

/* --- Behaviour ---------------------------------------------------------------------------------- */

static void equal_trees_differ_in_nothing_and_are_not_read(void **state)
{
    struct test_child *f = *state;
    struct version a = version_bulk(f, 5000);

    fetches = 0;
    assert_int_equal(assert_compare_tells_all(f, &a, &a, false), 0);
    assert_int_equal(fetches, 0);
    free(a.keys);
}

static void an_empty_tree_differs_in_everything(void **state)
{
    struct test_child *f = *state;
    struct version a = version_bulk(f, 5000);
    struct version none = {.keys = a.keys};

    assert_int_equal(assert_compare_tells_all(f, &a, &none, true), 5000);
    assert_int_equal(assert_compare_tells_all(f, &none, &a, true), 5000);
    assert_int_equal(assert_compare_tells_all(f, &none, &none, true), 0);
    free(a.keys);
}

static void random_versions_of_one_tree_are_told_apart_exactly(void **state)
{
    enum { VERSIONS = 24 };
    struct test_child *f = *state;
    struct version versions[VERSIONS];
    uint64_t next_key = 2001;

    versions[0] = version_bulk(f, 2000);
    for (size_t v = 1; v < VERSIONS; v++) {
        /* Any earlier version may be the parent: branches and reverts. */
        const struct version *base = &versions[test_random(f, v)];
        struct changing changing = change(f, base, 300);
        size_t operations = test_random(f, 4) == 0 ? 1 : test_random(f, 300);

        for (size_t i = 0; i < operations; i++) {
            size_t count = changing.version.count;
            uint64_t what = test_random(f, 3);

            if (what == 0 || count < 2) {
                insert(&changing, test_random(f, count + 1), next_key++);
            } else if (what == 1) {
                (void)take_out(&changing, test_random(f, count));
            } else {
                uint64_t moved = take_out(&changing, test_random(f, count));
                insert(&changing, test_random(f, count), moved);
            }
        }
        versions[v] = written(f, &changing);
    }
    for (size_t a = 0; a < VERSIONS; a++) {
        for (size_t b = 0; b < VERSIONS; b++) {
            (void)assert_compare_tells_all(f, &versions[a], &versions[b], true);
        }
    }
    for (size_t v = 0; v < VERSIONS; v++) {
        free(versions[v].keys);
    }
}

/* --- Cost --------------------------------------------------------------------------------------- */

static void cost_follows_the_change_and_not_the_tree(void **state)
{
    enum { SMALL = 10 * 1000, LARGE = 1000 * 1000 };
    struct test_child *f = *state;
    static const size_t sizes[] = {SMALL, LARGE};
    static const char *const places[] = {"start", "middle", "end"};

    for (size_t s = 0; s < 2; s++) {
        struct version a = version_bulk(f, sizes[s]);

        for (size_t place = 0; place < 3; place++) {
            struct changing changing = change(f, &a, 1);
            struct version b = {0};
            uint64_t pages = 0;

            insert(&changing, sizes[s] * place / 2, sizes[s] + 1);
            b = written(f, &changing);
            fetches = 0;
            assert_int_equal(assert_compare_tells_all(f, &a, &b, false), 1);
            pages = fetches;
            /* Up to three pages a level: the path of a, and that of b where its pages were split. */
            if (pages > 3 * 5) {
                fail_msg("%s of %zu: %zu pages read", places[place], sizes[s], (size_t)pages);
            }
            free(b.keys);
        }
        free(a.keys);
    }
}

/* A leaf too many at the front: every leaf behind it hangs elsewhere, and most inner pages do too. */
static void shared_pages_are_skipped_wherever_they_hang(void **state)
{
    enum { CHILDREN = 200 * 1000, MORE = 5000 };
    struct test_child *f = *state;
    struct version a = version_bulk(f, CHILDREN);
    struct changing changing = change(f, &a, MORE);
    struct version b = {0};
    struct version c = {0};

    for (uint64_t i = 0; i < MORE; i++) {
        insert(&changing, 0, CHILDREN + 1 + i);
    }
    b = written(f, &changing);
    fetches = 0;
    assert_int_equal(assert_compare_tells_all(f, &a, &b, true), MORE);
    assert_true(fetches < 2 * (MORE / 64 + MORE / 1024) + 20);

    /* And with one level less: all but the first thousand children are gone. */
    changing = change(f, &a, 0);
    while (changing.version.count > 1000) {
        (void)take_out(&changing, changing.version.count - 1);
    }
    c = written(f, &changing);
    fetches = 0;
    assert_int_equal(assert_compare_tells_all(f, &a, &c, true), CHILDREN - 1000);
    assert_int_equal(assert_compare_tells_all(f, &c, &a, true), CHILDREN - 1000);
    free(a.keys);
    free(b.keys);
    free(c.keys);
}

/* --- Failure ------------------------------------------------------------------------------------ */

static void a_failed_allocation_is_reported_and_leaks_nothing(void **state)
{
    struct test_child *f = *state;
    struct version a = version_bulk(f, 500);
    struct version b = version_bulk(f, 700);
    enum sirix_status status = SIRIX_NO_MEMORY;
    unsigned failures = 0;

    for (int nth = 0; status == SIRIX_NO_MEMORY; nth++) {
        struct sirix_child_compare *compare = NULL;
        struct sirix_child_difference difference;

        sirix_reader_yield(f->reader);
        test_allocs_until_failure = nth;
        status = sirix_child_compare_new(f->reader, a.root, b.root, &compare, NULL);
        while (status == SIRIX_OK) {
            status = sirix_child_compare_next(compare, &difference, NULL);
        }
        test_allocs_until_failure = -1;
        failures += status == SIRIX_NO_MEMORY ? 1 : 0;
        sirix_child_compare_free(compare);
    }
    assert_int_equal(status, SIRIX_NOT_FOUND);
    assert_true(failures > 0);
    free(a.keys);
    free(b.keys);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(equal_trees_differ_in_nothing_and_are_not_read, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(an_empty_tree_differs_in_everything, setup, teardown),
        cmocka_unit_test_setup_teardown(random_versions_of_one_tree_are_told_apart_exactly, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(cost_follows_the_change_and_not_the_tree, setup, teardown),
        cmocka_unit_test_setup_teardown(shared_pages_are_skipped_wherever_they_hang, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_allocation_is_reported_and_leaks_nothing, setup,
                                        teardown),
    };
    return cmocka_run_group_tests_name("child_compare", tests, NULL, NULL);
}
