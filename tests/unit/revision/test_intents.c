/* Intents and hidden resources: nothing half-made is ever seen, and nothing of it stays. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
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

static int setup_lmdb_no_sync(void **state)
{
    static struct test_rev f;

    test_rev_open(&f, TEST_REV_LMDB_NO_SYNC, 1);
    *state = &f;
    return 0;
}

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

/* --- Intents --------------------------------------------------------------------------------------- */

static uint64_t segment_count(struct test_rev *f)
{
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_stats(sirix_database_backend(f->database), &stats, NULL),
                     SIRIX_OK);
    return stats.segment_count;
}

/* Puts `count` page segments under an intent, leaving a gap of numbers after each when sparse. */
static void flush_pages(struct test_rev *f, uint64_t intent, size_t count, bool sparse)
{
    struct sirix_segment_built segments[16];
    struct sirix_error err = {0};

    for (size_t i = 0; i < count; i++) {
        segments[i] = (struct sirix_segment_built){
            .number = sirix_segment_reserve(sirix_database_backend(f->database), sparse ? 2 : 1),
            .bytes = calloc(1, 64),
            .len = 64,
            .kind = SIRIX_SEGMENT_PAGES,
        };
        assert_non_null(segments[i].bytes);
        sirix_segment_seal(segments[i].bytes, segments[i].len, segments[i].kind,
                           sirix_resource_id(f->resource));
    }
    if (sirix_intent_flush(f->resource, intent, segments, count, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    for (size_t i = 0; i < count; i++) {
        free(segments[i].bytes);
    }
}

static void a_published_intent_keeps_its_segments_and_leaves_no_row(void **state)
{
    struct test_rev *f = *state;
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_recovery recovery;
    struct sirix_view view;
    uint64_t before = segment_count(f);
    uint64_t intent = 0;
    size_t rows = 0;

    assert_int_equal(sirix_intent_begin(f->resource, &intent, NULL), SIRIX_OK);
    for (int i = 0; i < 5; i++) {
        flush_pages(f, intent, 16, i % 2 == 1);
    }
    assert_int_equal(test_count_rows(f, "U", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    test_publication_make(f, &view, 1, &publication);
    publication.intent = intent;
    assert_int_equal(sirix_publish(&publication, &published, NULL), SIRIX_OK);
    test_publication_free(&publication);
    sirix_view_close(&view);
    assert_int_equal(test_count_rows(f, "T", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(test_count_rows(f, "U", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(segment_count(f), before + 81);
    test_rev_reopen(f, &recovery);
    assert_int_equal(recovery.intents, 0);
    assert_int_equal(recovery.resources, 1);
    assert_int_equal(segment_count(f), before + 81);
}

static void an_abandoned_intent_leaves_nothing(void **state)
{
    struct test_rev *f = *state;
    uint64_t before = segment_count(f);
    uint64_t intent = 0;
    size_t rows = 0;

    assert_int_equal(sirix_intent_begin(f->resource, &intent, NULL), SIRIX_OK);
    for (int i = 0; i < 40; i++) {
        flush_pages(f, intent, 16, true); /* More ranges than one row holds. */
    }
    assert_int_equal(test_count_rows(f, "U", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 2);
    (void)test_set(f, "main", 1); /* Not the intent's: it stays. */
    assert_int_equal(sirix_intent_abandon(f->resource, intent, NULL), SIRIX_OK);
    assert_int_equal(segment_count(f), before + 1);
    assert_int_equal(test_count_rows(f, "T", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(test_count_rows(f, "U", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
}

static void opening_deletes_exactly_what_intents_name(void **state)
{
    struct test_rev *f = *state;
    struct sirix_recovery recovery;
    struct sirix_view view;
    uint64_t intents[2] = {0};

    (void)test_set(f, "main", 1);
    uint64_t before = segment_count(f);
    assert_int_equal(sirix_intent_begin(f->resource, &intents[0], NULL), SIRIX_OK);
    assert_int_equal(sirix_intent_begin(f->resource, &intents[1], NULL), SIRIX_OK);
    for (int i = 0; i < 200; i++) {
        flush_pages(f, intents[i % 2], 8, i % 3 == 0);
    }
    (void)test_set(f, "main", 2);
    test_rev_reopen(f, &recovery); /* As after a kill: nobody published or abandoned them. */

    assert_int_equal(recovery.intents, 2);
    assert_int_equal(recovery.abandoned_segments, 1600);
    assert_int_equal(segment_count(f), before + 1);
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(f, &view), 2);
    sirix_view_close(&view);
    test_rev_reopen(f, &recovery);
    assert_int_equal(recovery.intents, 0);
}

/* --- Hidden resources ------------------------------------------------------------------------------- */

/* Publishes on a resource that is not f->resource. */
static enum sirix_status publish_on(struct test_rev *f, struct sirix_resource *resource,
                                    int64_t value, struct sirix_published *published,
                                    struct sirix_error *err)
{
    struct sirix_resource *mine = f->resource;
    struct sirix_view view;

    f->resource = resource;
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    enum sirix_status status = test_publish(f, &view, value, published, err);
    sirix_view_close(&view);
    f->resource = mine;
    return status;
}

static void a_hidden_resource_appears_with_its_first_publication(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *hidden = NULL;
    struct sirix_resource *found = NULL;
    struct sirix_published published;
    struct sirix_recovery recovery;
    struct sirix_error err = {0};
    size_t rows = 0;

    assert_int_equal(sirix_resource_create_hidden(f->database, test_name("new"), &hidden, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_resource_open(f->database, test_name("new"), &found, &err),
                     SIRIX_NOT_FOUND);
    assert_int_equal(publish_on(f, hidden, 42, &published, NULL), SIRIX_OK);
    assert_int_equal(published.revision, 1);
    assert_int_equal(published.parent_revision, 0);
    assert_int_equal(sirix_resource_open(f->database, test_name("new"), &found, NULL), SIRIX_OK);
    assert_ptr_equal(found, hidden);
    sirix_resource_unref(found);
    assert_int_equal(publish_on(f, hidden, 43, &published, NULL), SIRIX_OK);
    assert_int_equal(published.revision, 2);
    assert_int_equal(published.parent_revision, 1);
    assert_int_equal(sirix_resource_discard(hidden, NULL), SIRIX_OK); /* It is hidden no more. */
    sirix_resource_unref(hidden);
    assert_int_equal(test_count_rows(f, "T", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
    assert_int_equal(test_count_rows(f, "U", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 0);
    test_rev_reopen(f, &recovery);
    assert_int_equal(recovery.resources, 2);
    assert_int_equal(recovery.intents, 0);
}

static enum sirix_status no_fault(void *context, struct sirix_bytes resource,
                                  const struct sirix_error *fault, struct sirix_error *err)
{
    (void)context;
    (void)resource;
    (void)err;
    fail_msg("%s", fault->text);
    return SIRIX_OK;
}

/* Looks at a resource of one revision, made of a hidden one, that holds 42. */
static void expect_one_revision(struct test_rev *f, struct sirix_resource *made, int64_t time_us)
{
    struct sirix_resource *mine = f->resource;
    struct sirix_resource_info info;
    struct sirix_view view;
    struct sirix_view parent;
    struct sirix_error err = {0};

    f->resource = made;
    assert_int_equal(sirix_resource_info(made, &info, NULL), SIRIX_OK);
    assert_int_equal(info.newest_revision, 1);
    assert_int_equal(info.revision_count, 1);
    assert_int_equal(info.created_us, time_us);
    assert_int_equal(info.last_modified_us, time_us);
    assert_int_equal(test_view_at(f, "main", time_us, &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(f, &view), 42);
    assert_int_equal(view.record.depth, 0);
    assert_int_equal(sirix_view_open_parent(&view, f->reader, &parent, &err), SIRIX_NOT_FOUND);
    sirix_view_close(&view);
    assert_int_equal(test_view_at(f, "main", time_us - 1, &view, &err), SIRIX_NOT_FOUND);
    assert_int_equal(err.reason, SIRIX_REASON_REVISION_BEFORE_FIRST);
    f->resource = mine;
}

/* What it was made with is not left: not as a revision, not as a segment, not as a time. */
static void a_hidden_resource_begins_with_its_first_publication(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *hidden = NULL;
    struct sirix_verify_progress progress;
    struct sirix_published published;
    struct sirix_recovery recovery;
    uint64_t before = segment_count(f);

    assert_int_equal(sirix_resource_create_hidden(f->database, test_name("new"), &hidden, NULL),
                     SIRIX_OK);
    (void)atomic_fetch_add(&f->now_us, 1000000);
    assert_int_equal(publish_on(f, hidden, 42, &published, NULL), SIRIX_OK);
    assert_int_equal(segment_count(f), before + 1);
    expect_one_revision(f, hidden, published.time_us);
    sirix_resource_unref(hidden);
    test_rev_reopen(f, &recovery);
    assert_int_equal(sirix_resource_open(f->database, test_name("new"), &hidden, NULL), SIRIX_OK);
    expect_one_revision(f, hidden, published.time_us);
    sirix_resource_unref(hidden);
    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_verify(f->database, NULL, f->reader, no_fault, NULL, NULL, &progress, NULL),
        SIRIX_OK);
    assert_int_equal(progress.revisions, 2);
}

/* The record that goes may have been packed meanwhile, as an import may take long. */
static void a_hidden_resource_begins_though_its_record_was_packed(void **state)
{
    struct test_rev *f = *state;
    struct sirix_backend *backend = sirix_database_backend(f->database);
    struct sirix_resource *hidden = NULL;
    struct sirix_backend_stats stats;
    struct sirix_verify_progress progress;
    struct sirix_published published;
    uint64_t before = segment_count(f);
    bool more = true;

    assert_int_equal(sirix_resource_create_hidden(f->database, test_name("new"), &hidden, NULL),
                     SIRIX_OK);
    for (int i = 0; i < 600; i++) {
        (void)test_set(f, "main", i);
    }
    while (more) {
        assert_int_equal(sirix_backend_maintain(backend, 1 << 20, &more, NULL), SIRIX_OK);
    }
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_in_range(stats.pack_count, 1, 10);
    assert_int_equal(publish_on(f, hidden, 42, &published, NULL), SIRIX_OK);
    assert_int_equal(segment_count(f), before + 601);
    expect_one_revision(f, hidden, published.time_us);
    sirix_resource_unref(hidden);
    sirix_reader_yield(f->reader);
    assert_int_equal(
        sirix_verify(f->database, NULL, f->reader, no_fault, NULL, NULL, &progress, NULL),
        SIRIX_OK);
}

static void a_name_taken_meanwhile_leaves_a_hidden_resource_hidden(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *hidden = NULL;
    struct sirix_resource *other = NULL;
    struct sirix_published published;
    struct sirix_error err = {0};
    uint64_t before = 0;
    size_t rows = 0;
    size_t rows_before = 0;

    assert_int_equal(test_count_rows(f, "r", 1, &rows_before), SIRIX_OK);
    before = segment_count(f);
    assert_int_equal(sirix_resource_create_hidden(f->database, test_name("new"), &hidden, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_resource_create(f->database, test_name("New"), test_name(""),
                                           test_name(""), &other, NULL),
                     SIRIX_OK);
    assert_int_equal(publish_on(f, hidden, 42, &published, &err), SIRIX_ALREADY_EXISTS);
    assert_int_equal(err.reason, SIRIX_REASON_NAME_CASE);
    assert_int_equal(sirix_resource_discard(hidden, NULL), SIRIX_OK);
    sirix_resource_unref(hidden);
    sirix_resource_unref(other);
    assert_int_equal(sirix_resource_drop(f->database, test_name("New"), NULL), SIRIX_OK);
    assert_int_equal(test_count_rows(f, "r", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, rows_before);
    assert_int_equal(segment_count(f), before + 1); /* The dropped one's waits for prune. */
}

static void a_hidden_resource_that_was_left_goes_at_the_next_opening(void **state)
{
    struct test_rev *f = *state;
    struct sirix_resource *hidden = NULL;
    struct sirix_recovery recovery;
    uint64_t before = segment_count(f);
    uint64_t intent = 0;
    size_t rows = 0;

    assert_int_equal(sirix_resource_create_hidden(f->database, test_name("new"), &hidden, NULL),
                     SIRIX_OK);
    assert_int_equal(sirix_intent_begin(hidden, &intent, NULL), SIRIX_OK);
    sirix_resource_unref(hidden);
    test_rev_reopen(f, &recovery);
    assert_int_equal(recovery.intents, 2);
    assert_int_equal(recovery.abandoned_segments, 1);
    assert_int_equal(recovery.resources, 1);
    assert_int_equal(segment_count(f), before);
    assert_int_equal(test_count_rows(f, "r", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 1);
    assert_int_equal(test_count_rows(f, "h", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 2);
}

int main(void)
{
#define CASE(name)      cmocka_unit_test_setup_teardown(name, setup, teardown)
#define CASE_LMDB(name) cmocka_unit_test_setup_teardown(name, setup_lmdb, teardown)
    const struct CMUnitTest tests[] = {
        CASE_LMDB(a_published_intent_keeps_its_segments_and_leaves_no_row),
        CASE(an_abandoned_intent_leaves_nothing),
        CASE_LMDB(opening_deletes_exactly_what_intents_name),
        CASE_LMDB(a_hidden_resource_appears_with_its_first_publication),
        CASE_LMDB(a_hidden_resource_begins_with_its_first_publication),
        cmocka_unit_test_setup_teardown(a_hidden_resource_begins_though_its_record_was_packed,
                                        setup_lmdb_no_sync, teardown),
        CASE(a_name_taken_meanwhile_leaves_a_hidden_resource_hidden),
        CASE_LMDB(a_hidden_resource_that_was_left_goes_at_the_next_opening),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
