/*
 * Publication: several resources at once, names, keys; what survives a reopening.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

static int setup(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_MEMORY, 1);
    *state = &f;
    return 0;
}

static int setup_lmdb(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_LMDB, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

static uint64_t newest(struct test_rev *f)
{
    struct sirix_resource_info info;

    assert_int_equal(sirix_resource_info(f->resource, &info, NULL), SIRIX_OK);
    return info.newest_revision;
}

/* --- Several resources ----------------------------------------------------------------------------- */

struct ended {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool over;
    enum sirix_status status;
    size_t count;
    struct sirix_published published[4];
};

static void note_end(void *context, enum sirix_status status,
                     const struct sirix_published *published, size_t count,
                     const struct sirix_error *error)
{
    struct ended *ended = context;

    (void)error;
    (void)pthread_mutex_lock(&ended->lock);
    ended->status = status;
    ended->count = count;
    for (size_t i = 0; i < count; i++) {
        ended->published[i] = published[i];
    }
    ended->over = true;
    (void)pthread_cond_signal(&ended->changed);
    (void)pthread_mutex_unlock(&ended->lock);
}

static struct ended publish_all(struct sirix_publication *publications, size_t count)
{
    struct ended ended = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    struct sirix_publishing *publishing = NULL;
    struct sirix_error err = {0};

    if (sirix_publishing_start(publications, count, note_end, &ended, &publishing, &err) !=
        SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    (void)pthread_mutex_lock(&ended.lock);
    while (!ended.over) {
        (void)pthread_cond_wait(&ended.changed, &ended.lock);
    }
    (void)pthread_mutex_unlock(&ended.lock);
    sirix_publishing_free(publishing);
    return ended;
}

static void several_resources_change_together_or_not_at_all(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *mine = f->resource;
    struct sirix_resource *other = NULL;
    struct sirix_publication both[2];
    struct sirix_publication twice[2];
    struct sirix_publishing *publishing = NULL;
    struct sirix_view one;
    struct sirix_view two;

    assert_int_equal(sirix_resource_create(f->database, test_name("s"), test_name(""),
                                           test_name(""), &other, NULL),
                     SIRIX_OK);
    assert_int_equal(test_view_branch(f, "main", &one, NULL), SIRIX_OK);
    f->resource = other;
    assert_int_equal(test_view_branch(f, "main", &two, NULL), SIRIX_OK);
    f->resource = mine;

    test_publication_make(f, &one, 1, &both[0]);
    test_publication_make(f, &two, 2, &both[1]);
    struct ended ended = publish_all(both, 2);
    assert_int_equal(ended.status, SIRIX_OK);
    assert_int_equal(ended.count, 2);
    assert_int_equal(ended.published[0].revision, 2);
    assert_int_equal(ended.published[1].revision, 2);
    test_publication_free(&both[0]);
    test_publication_free(&both[1]);

    /* The second one's base is stale: neither is made. */
    sirix_view_close(&one);
    assert_int_equal(test_view_branch(f, "main", &one, NULL), SIRIX_OK);
    test_publication_make(f, &one, 3, &both[0]);
    test_publication_make(f, &two, 4, &both[1]);
    ended = publish_all(both, 2);
    assert_int_equal(ended.status, SIRIX_CONFLICT);
    test_publication_free(&both[0]);
    test_publication_free(&both[1]);
    assert_int_equal(newest(f), 2);
    (void)test_set(f, "main", 5);
    assert_int_equal(newest(f), 3);

    test_publication_make(f, &one, 3, &twice[0]);
    test_publication_make(f, &one, 4, &twice[1]);
    assert_int_equal(sirix_publishing_start(twice, 2, note_end, &ended, &publishing, NULL),
                     SIRIX_INVALID);
    test_publication_free(&twice[0]);
    test_publication_free(&twice[1]);
    sirix_view_close(&one);
    sirix_view_close(&two);
    sirix_resource_unref(other);
}

/* --- Names and keys -------------------------------------------------------------------------------- */

static void only_published_names_are_there_after_a_reopening(void **state)
{
    struct test_rev *f = *state;
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_bytes name = {0};
    struct sirix_view view;
    struct sirix_error err = {0};
    uint32_t ids[3] = {0};
    uint32_t id = 0;
    bool interned = false;
    char longest[66];

    memset(longest, 'n', sizeof(longest) - 1);
    longest[65] = '\0';
    assert_int_equal(sirix_names_intern(f->resource, test_name("never"), &interned, &ids[0], NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_names_intern(f->resource, test_name("used"), &interned, &ids[1], NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_names_intern(f->resource, test_name(""), &interned, &ids[2], NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_names_intern(f->resource, test_name(longest), &interned, &id, NULL),
                     SIRIX_OK);
    assert_false(interned);

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    test_publication_make(f, &view, 1, &publication);
    const uint32_t used[] = {ids[1], ids[2], ids[1]};
    publication.name_ids = used;
    publication.name_id_count = 3;
    assert_int_equal(sirix_publish(&publication, &published, NULL), SIRIX_OK);
    test_publication_free(&publication);
    sirix_view_close(&view);
    test_rev_reopen(f, NULL);

    assert_int_equal(sirix_names_get(f->resource, ids[1], &name, &err), SIRIX_OK);
    assert_memory_equal(name.data, "used", 4);
    assert_true(sirix_names_find(f->resource, test_name("used"), &id));
    assert_int_equal(id, ids[1]);
    assert_true(sirix_names_find(f->resource, test_name(""), &id));
    assert_int_equal(id, ids[2]);
    assert_false(sirix_names_find(f->resource, test_name("never"), &id));
    assert_int_equal(sirix_names_get(f->resource, ids[0], &name, &err), SIRIX_CORRUPT);
    /* Its id is free again. */
    assert_int_equal(sirix_names_intern(f->resource, test_name("next"), &interned, &id, NULL),
                     SIRIX_OK);
    assert_int_equal(id, ids[0]);
}

static void the_dictionary_ends_at_65536_names(void **state)
{
    struct test_rev *f = *state;
    char name[16];
    bool interned = false;
    uint32_t id = 0;

    for (uint32_t i = 0; i < 65536; i++) {
        (void)snprintf(name, sizeof(name), "n%u", i);
        assert_int_equal(sirix_names_intern(f->resource, test_name(name), &interned, &id, NULL),
                         SIRIX_OK);
        assert_true(interned);
        assert_int_equal(id, i);
    }
    assert_int_equal(sirix_names_intern(f->resource, test_name("one more"), &interned, &id, NULL),
                     SIRIX_OK);
    assert_false(interned);
    assert_int_equal(sirix_names_intern(f->resource, test_name("n123"), &interned, &id, NULL),
                     SIRIX_OK);
    assert_true(interned);
    assert_int_equal(id, 123);
}

static uint64_t take(struct test_rev *f, uint64_t count, bool whole)
{
    uint64_t first = 0;

    assert_int_equal(sirix_resource_take_keys(f->resource, count, whole, &first, NULL), SIRIX_OK);
    return first;
}

static void keys_come_from_the_open_run_and_are_never_given_twice(void **state)
{
    struct test_rev *f = *state;
    uint64_t first = 0;

    assert_int_equal(take(f, 1, false), 2);
    assert_int_equal(take(f, 8, false), 3);
    assert_int_equal(take(f, 9, false), 64);  /* A leaf of its own. */
    assert_int_equal(take(f, 1, true), 128);  /* Whole leaves. */
    assert_int_equal(take(f, 65, true), 192); /* Two of them. */
    assert_int_equal(take(f, 2, false), 11);  /* The run goes on. */
    for (uint64_t key = 13; key < 61; key += 8) {
        assert_int_equal(take(f, 8, false), key);
    }
    assert_int_equal(take(f, 8, false), 320); /* Three were left: none straddles two leaves. */
    assert_int_equal(sirix_resource_take_keys(f->resource, UINT64_MAX, true, &first, NULL),
                     SIRIX_EXHAUSTED);

    struct sirix_published published = test_set(f, "main", 1);
    struct sirix_view view;
    assert_int_equal(test_view_revision(f, published.revision, &view, NULL), SIRIX_OK);
    assert_int_equal(view.record.next_key, 384);
    sirix_view_close(&view);
    (void)take(f, 3, false); /* Given, but never published. */
    test_rev_reopen(f, NULL);
    assert_int_equal(take(f, 4, false), 328);
    assert_int_equal(take(f, 1, true), 384);
}

/* --- Reopening, formats, failures ------------------------------------------------------------------ */

static void everything_is_there_after_a_reopening(void **state)
{
    struct test_rev *f = *state;
    struct sirix_snapshot_created created;
    struct sirix_view view;

    for (int i = 0; i < 40; i++) {
        (void)test_set(f, "main", i);
    }
    (void)test_branch(f, "main", "b", 0);
    struct sirix_published last = test_set(f, "b", 99);
    assert_int_equal(test_view_revision(f, 10, &view, NULL), SIRIX_OK);
    assert_int_equal(sirix_snapshot_create(&view, test_name("v"), false, &created, NULL), SIRIX_OK);
    sirix_view_close(&view);
    atomic_fetch_sub(&f->now_us, INT64_C(7200000000));
    test_rev_reopen(f, NULL);

    assert_int_equal(test_view_branch(f, "b", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(f, &view), 99);
    sirix_view_close(&view);
    assert_int_equal(test_view_snapshot(f, "v", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(f, &view), 8);
    sirix_view_close(&view);
    struct sirix_published next = test_set(f, "b", 100);
    assert_int_equal(next.revision, last.revision + 1);
    assert_true(next.time_us > last.time_us);
}

static void set_version(struct test_rev *f, uint32_t major, uint32_t minor)
{
    const struct sirix_rows_key key = sirix_rows_key_meta();
    const struct sirix_meta_row row = {
        .major = major, .minor = minor, .next_resource = 2, .next_intent = 1};
    const struct sirix_rows_value value = sirix_rows_meta_encode(&row);

    test_put_row(f, &key, sirix_rows_value_view(&value));
}

static void an_unknown_format_is_refused_and_a_newer_minor_is_only_read(void **state)
{
    struct test_rev *f = *state;
    struct sirix_database *again = NULL;
    struct sirix_published published;
    struct sirix_snapshot_created created;
    struct sirix_view view;
    struct sirix_error err = {0};

    (void)test_set(f, "main", 4);
    assert_int_equal(sirix_database_takes_writes(f->database, NULL), SIRIX_OK);
    set_version(f, SIRIX_FORMAT_MAJOR, SIRIX_FORMAT_MINOR + 1);
    test_rev_reopen(f, NULL);
    assert_int_equal(sirix_database_takes_writes(f->database, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_FORMAT_VERSION);
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(f, &view), 4);
    assert_int_equal(test_publish(f, &view, 5, &published, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_FORMAT_VERSION);
    assert_int_equal(sirix_snapshot_create(&view, test_name("x"), false, &created, &err),
                     SIRIX_PRECONDITION);
    assert_int_equal(sirix_branch_delete(f->resource, test_name("x"), &err), SIRIX_PRECONDITION);
    sirix_view_close(&view);

    set_version(f, SIRIX_FORMAT_MAJOR + 1, 0);
    sirix_resource_unref(f->resource);
    sirix_reader_close(f->reader);
    sirix_database_close(f->database);
    const struct sirix_lmdb_options lmdb = {.dir = f->dir};
    struct sirix_database_options options = {.pool = f->pool, .clock = &f->clock};
    assert_int_equal(sirix_backend_open_lmdb(&lmdb, &options.backend, NULL), SIRIX_OK);
    assert_int_equal(sirix_database_open(&options, &again, NULL, &err), SIRIX_PRECONDITION);
    assert_int_equal(err.reason, SIRIX_REASON_FORMAT_VERSION);
    f->resource = NULL;
    f->reader = NULL;
    f->database = NULL;
}

static void keys_used_without_being_taken_are_never_given(void **state)
{
    struct test_rev *f = *state;
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    test_publication_make(f, &view, 1, &publication);
    publication.record.next_key = 1000;
    assert_int_equal(sirix_publish(&publication, &published, NULL), SIRIX_OK);
    test_publication_free(&publication);
    sirix_view_close(&view);
    assert_int_equal(take(f, 1, true), 1024);
}

/* --- Rows that go with a publication --------------------------------------------------------------- */

static void extra_rows_are_written_with_their_publication_or_not_at_all(void **state)
{
    struct test_rev *f = *state;
    struct sirix_rows_key key = sirix_rows_prefix_paths(sirix_resource_id(f->resource));
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    size_t rows = 0;

    key.bytes[key.len++] = 'x';
    const struct sirix_ref_put refs[] = {
        {.key = sirix_rows_key_view(&key), .value = test_name("path")}};

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    for (size_t expected = 1; expected <= 2; expected++) {
        if (expected == 2) {
            key.bytes[key.len - 1] = 'y'; /* On the same base: a conflict. */
        }
        test_publication_make(f, &view, 1, &publication);
        publication.extra_refs = refs;
        publication.extra_ref_count = 1;
        assert_int_equal(sirix_publish(&publication, &published, NULL),
                         expected == 1 ? SIRIX_OK : SIRIX_CONFLICT);
        test_publication_free(&publication);
        assert_int_equal(test_count_rows(f, key.bytes, key.len - 1, &rows), SIRIX_OK);
        assert_int_equal(rows, 1);
    }
    sirix_view_close(&view);
}

int main(void)
{
#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_LMDB(name) cmocka_unit_test_setup_teardown(name, setup_lmdb, teardown)
    const struct CMUnitTest tests[] = {
        CASE(several_resources_change_together_or_not_at_all),
        CASE_LMDB(only_published_names_are_there_after_a_reopening),
        CASE(the_dictionary_ends_at_65536_names),
        CASE_LMDB(keys_come_from_the_open_run_and_are_never_given_twice),
        CASE_LMDB(everything_is_there_after_a_reopening),
        CASE_LMDB(an_unknown_format_is_refused_and_a_newer_minor_is_only_read),
        CASE(keys_used_without_being_taken_are_never_given),
        CASE(extra_rows_are_written_with_their_publication_or_not_at_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
