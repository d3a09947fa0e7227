/*
 * Documents of a size, and how cost grows with it. CI runs a tenth; SIRIX_LARGE=1 runs all of it: a
 * million prepends, an object of a million names, a string of 64 MiB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "unit/document/fixture.h"
#include "unit/document/temp_dir.h"

struct large {
    struct fixture f;
    char dir[64];
};

static bool is_full(void)
{
    const char *text = getenv("SIRIX_LARGE");

    return text != NULL && strcmp(text, "1") == 0;
}

static double cpu_s(void)
{
    struct timespec at;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static int set_up(void **state)
{
    struct large *large = calloc(1, sizeof(*large));
    struct sirix_lmdb_options options = {.create = true, .no_sync = true};
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    assert_non_null(large);
    (void)snprintf(large->dir, sizeof(large->dir), "/tmp/sirix-large-XXXXXX");
    assert_non_null(mkdtemp(large->dir));
    options.dir = large->dir;
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_OK);
    fixture_open_on(&large->f, backend, large->dir, true);
    *state = large;
    return 0;
}

static int tear_down(void **state)
{
    struct large *large = *state;

    fixture_close(&large->f);
    temp_dir_remove(large->dir);
    free(large);
    return 0;
}

static uint64_t stored_bytes(struct fixture *f)
{
    struct sirix_backend_stats stats = {0};
    struct sirix_error err = {0};

    assert_int_equal(sirix_backend_stats(f->backend, &stats, &err), SIRIX_OK);
    return stats.segment_bytes;
}

enum where { PREPEND, BESIDE_LAST, MIDDLE, RANDOM };

/* Inserts in edits of 1,000; bytes and time of the last tenth stay near those of the first. */
static void insert_many(struct fixture *f, enum where where)
{
    unsigned total = is_full() ? 1000000 : 100000;
    uint64_t bytes[10] = {0};
    double seconds[10] = {0};
    uint64_t random = 1;

    import_text(f, "[0,1,2]");
    for (unsigned tenth = 0; tenth < 10; tenth++) {
        uint64_t before = stored_bytes(f);
        double start = cpu_s();
        for (unsigned batch = 0; batch < total / 10000; batch++) {
            struct sirix_view view;
            struct sirix_edit *edit = fixture_edit(f, &view);
            for (unsigned i = 0; i < 1000; i++) {
                unsigned count = 3 + tenth * (total / 10) + batch * 1000 + i;
                uint64_t index = where == BESIDE_LAST ? count - 2 : where == MIDDLE ? count / 2 : 0;
                if (where == RANDOM) {
                    random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
                    index = (random >> 33) % count;
                }
                edit_insert(edit, 1, SIRIX_PLACE_INDEX, index, NULL, "7");
            }
            assert_true(fixture_commit(f, edit, &view));
        }
        bytes[tenth] = stored_bytes(f) - before;
        seconds[tenth] = cpu_s() - start;
    }
    print_message("%.1f to %.1f bytes, %.2f to %.2f us an insert\n", (double)bytes[1] * 10 / total,
                  (double)bytes[9] * 10 / total, seconds[1] * 1e7 / total,
                  seconds[9] * 1e7 / total);
    /*
     * Height grows by a level now and then. Inserts at random share fewer leaves the more leaves there
     * are, until each has its own.
     */
    assert_true(bytes[9] < bytes[1] * (where == RANDOM ? 5 : where == MIDDLE ? 3 : 2));
    {
        struct sirix_document document;
        struct sirix_document_node node;
        struct sirix_error err = {0};
        struct sirix_view view;
        fixture_head(f, &view);
        sirix_document_init(&document, &view, f->reader);
        assert_int_equal(sirix_document_get(&document, 1, &node, &err), SIRIX_OK);
        assert_int_equal(node.child_count, total + 3);
        assert_int_equal(view.record.text_bytes, 2 * (total + 3) + 1);
        sirix_view_close(&view);
    }
}

static void prepends_stay_flat(void **state)
{
    insert_many(&((struct large *)*state)->f, PREPEND);
}

static void inserts_beside_the_last_insert_stay_flat(void **state)
{
    insert_many(&((struct large *)*state)->f, BESIDE_LAST);
}

static void inserts_in_the_middle_stay_flat(void **state)
{
    insert_many(&((struct large *)*state)->f, MIDDLE);
}

static void random_inserts_stay_flat(void **state)
{
    insert_many(&((struct large *)*state)->f, RANDOM);
}

static void an_object_of_many_names_is_found_by_each(void **state)
{
    struct large *large = *state;
    struct fixture *f = &large->f;
    unsigned total = is_full() ? 1000000 : 100000;
    char *text = malloc((size_t)total * 32 + 16);
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    size_t len = 1;
    uint64_t key = 0;

    assert_non_null(text);
    text[0] = '{';
    for (unsigned i = 0; i < total; i++) {
        len += (size_t)sprintf(text + len, "%s\"name %u\":%u", i == 0 ? "" : ",", i, i);
    }
    (void)strcpy(text + len, "}");
    import_bytes(f, bytes_of(text), 1 << 16);
    assert_head(f, text);

    fixture_head(f, &view);
    sirix_document_init(&document, &view, f->reader);
    for (unsigned i = 0; i < total; i += total / 1000) {
        char name[32];
        char *value = NULL;
        (void)snprintf(name, sizeof(name), "name %u", i);
        assert_int_equal(sirix_document_member(&document, 1, bytes_of(name), &key, &err), SIRIX_OK);
        value = text_of_view(f, &view, key);
        assert_int_equal(strtoul(value, NULL, 10), i);
        free(value);
    }
    assert_int_equal(sirix_document_member(&document, 1, bytes_of("name"), &key, &err),
                     SIRIX_NOT_FOUND);
    sirix_view_close(&view);

    edit = fixture_edit(f, &view);
    assert_int_equal(sirix_edit_member(edit, 1, bytes_of("name 77"), &key, &err), SIRIX_OK);
    edit_delete(edit, key);
    edit_insert(edit, 1, SIRIX_PLACE_FIRST_CHILD, 0, "name 77", "true");
    assert_true(fixture_commit(f, edit, &view));
    assert_int_equal(key_at(f, "/name 77") > key, true);
    free(text);
}

static void deleting_a_large_subtree_writes_little(void **state)
{
    struct large *large = *state;
    struct fixture *f = &large->f;
    unsigned total = is_full() ? 1000000 : 100000;
    char *text = malloc((size_t)total * 8 + 64);
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    uint64_t before = 0;
    double start = 0;
    size_t len = 0;

    assert_non_null(text);
    len += (size_t)sprintf(text, "{\"a\":1,\"b\":[");
    for (unsigned i = 0; i < total; i++) {
        len += (size_t)sprintf(text + len, "%s%u", i == 0 ? "" : ",", i % 1000);
    }
    (void)strcpy(text + len, "],\"c\":2}");
    import_text(f, text);
    before = stored_bytes(f);
    start = cpu_s();
    edit = fixture_edit(f, &view);
    assert_int_equal(edit_delete(edit, key_at(f, "/b")), total + 1);
    assert_true(fixture_commit(f, edit, &view));
    print_message("%u nodes deleted in %.3f s, %llu bytes\n", total, cpu_s() - start,
                  (unsigned long long)(stored_bytes(f) - before));
    assert_true(stored_bytes(f) - before < 8192);
    assert_head(f, "{\"a\":1,\"c\":2}");
    free(text);
}

/* Streams in and out: the store never holds it whole, only this test's buffer of one piece. */
static void a_string_of_control_characters_at_the_limit_is_kept(void **state)
{
    struct large *large = *state;
    struct fixture *f = &large->f;
    const struct sirix_edit_insert insert = {.target = 0};
    const struct sirix_serialise_options options = {.key = 0};
    size_t decoded = is_full() ? SIRIX_STRING_BYTES_MAX : SIRIX_STRING_BYTES_MAX / 8;
    enum { UNITS = 10000 };
    char *piece = malloc((size_t)UNITS * 6);
    struct sirix_edit_result result = {0};
    struct sirix_document document;
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = fixture_edit(f, &view);
    struct sirix_buf out;
    uint64_t at = 0;
    bool done = false;

    assert_non_null(piece);
    for (size_t i = 0; i < UNITS; i++) {
        memcpy(piece + i * 6, "\\u0001", 6);
    }
    assert_int_equal(sirix_edit_insert_begin(edit, &insert, &err), SIRIX_OK);
    assert_int_equal(sirix_edit_value_feed(edit, bytes_of("\""), &err), SIRIX_OK);
    for (size_t left = decoded; left != 0;) {
        size_t units = left < UNITS ? left : UNITS;
        assert_int_equal(sirix_edit_value_feed(
                             edit, (struct sirix_bytes){.data = piece, .len = units * 6}, &err),
                         SIRIX_OK);
        left -= units;
    }
    assert_int_equal(sirix_edit_value_feed(edit, bytes_of("\""), &err), SIRIX_OK);
    assert_int_equal(sirix_edit_value_end(edit, &result, &err), SIRIX_OK);
    assert_true(fixture_commit(f, edit, &view));

    fixture_head(f, &view);
    assert_int_equal(view.record.text_bytes, decoded * 6 + 2);
    sirix_document_init(&document, &view, f->reader);
    sirix_buf_init(&out, 1 << 20);
    assert_int_equal(sirix_serialiser_new(&document, &options, &serialiser, &err), SIRIX_OK);
    while (!done) {
        assert_int_equal(sirix_serialiser_step(serialiser, 100000, &out, &done, &err), SIRIX_OK);
        for (size_t i = 0; i < out.len; i++, at++) {
            bool quote = at == 0 || at == decoded * 6 + 1;
            assert_int_equal(out.data[i], quote ? '"' : "\\u0001"[(at - 1) % 6]);
        }
        sirix_buf_clear(&out);
        sirix_reader_yield(f->reader);
    }
    assert_int_equal(at, decoded * 6 + 2);
    sirix_serialiser_free(serialiser);
    sirix_buf_deinit(&out);
    sirix_view_close(&view);
    free(piece);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(prepends_stay_flat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(inserts_beside_the_last_insert_stay_flat, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(inserts_in_the_middle_stay_flat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(random_inserts_stay_flat, set_up, tear_down),
        cmocka_unit_test_setup_teardown(an_object_of_many_names_is_found_by_each, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(deleting_a_large_subtree_writes_little, set_up, tear_down),
        cmocka_unit_test_setup_teardown(a_string_of_control_characters_at_the_limit_is_kept, set_up,
                                        tear_down),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
