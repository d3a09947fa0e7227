/*
 * A crash between any two steps: the commit to the disk of each step in turn is answered "unknown",
 * done or not done, the database is closed as it stands and opened again. Then nothing may be left
 * of what was not published, and nothing missing of what was.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "unit/revision/support.h"

/* --- The crash ------------------------------------------------------------------------------------ */

static _Atomic int commits_until_crash = -1; /* 0: the next one; -1: none. */
static _Atomic bool crash_applies;

struct pending {
    sirix_committed_fn done;
    void *context;
};

static void answer_unknown(sirix_committed_fn done, void *context)
{
    struct sirix_commit_outcome outcome = {.status = SIRIX_OUTCOME_UNKNOWN};

    outcome.error.status = SIRIX_OUTCOME_UNKNOWN;
    done(context, &outcome);
}

static void applied(void *context, const struct sirix_commit_outcome *outcome)
{
    const struct pending *pending = context;

    assert_int_equal(outcome->status, SIRIX_OK);
    answer_unknown(pending->done, pending->context);
}

void __real_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context);
void __wrap_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context);
void __wrap_sirix_backend_commit(struct sirix_backend *backend, const struct sirix_batch *batch,
                                 sirix_committed_fn done, void *context)
{
    struct pending pending = {.done = done, .context = context};

    if (atomic_load(&commits_until_crash) < 0 || atomic_fetch_sub(&commits_until_crash, 1) != 0) {
        __real_sirix_backend_commit(backend, batch, done, context);
    } else if (atomic_load(&crash_applies)) {
        __real_sirix_backend_commit(backend, batch, applied, &pending);
    } else {
        answer_unknown(done, context);
    }
}

/* --- Checks ---------------------------------------------------------------------------------------- */

static struct test_rev fixture;

static uint64_t segment_count(void)
{
    struct sirix_backend_stats stats;

    assert_int_equal(sirix_backend_stats(sirix_database_backend(fixture.database), &stats, NULL),
                     SIRIX_OK);
    return stats.segment_count;
}

static uint64_t newest(void)
{
    struct sirix_resource_info info;

    assert_int_equal(sirix_resource_info(fixture.resource, &info, NULL), SIRIX_OK);
    return info.newest_revision;
}

static size_t rows(const char *prefix)
{
    size_t count = 0;

    assert_int_equal(test_count_rows(&fixture, prefix, strlen(prefix), &count), SIRIX_OK);
    return count;
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

static void expect_sound(void)
{
    struct sirix_verify_progress progress;

    sirix_reader_yield(fixture.reader);
    assert_int_equal(
        sirix_verify(fixture.database, NULL, fixture.reader, no_fault, NULL, NULL, &progress, NULL),
        SIRIX_OK);
    assert_int_equal(rows("T"), 0);
    assert_int_equal(rows("U"), 0);
}

/* --- An import -------------------------------------------------------------------------------------- */

enum { FLUSHES = 7, FLUSH_SEGMENTS = 9 };

static enum sirix_status flush(uint64_t intent, struct sirix_error *err)
{
    struct sirix_segment_built segments[FLUSH_SEGMENTS];
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < FLUSH_SEGMENTS; i++) {
        segments[i] = (struct sirix_segment_built){
            .number = sirix_segment_reserve(sirix_database_backend(fixture.database), 1 + i % 2),
            .bytes = calloc(1, 64),
            .len = 64,
            .kind = SIRIX_SEGMENT_PAGES,
        };
        assert_non_null(segments[i].bytes);
        sirix_segment_seal(segments[i].bytes, segments[i].len, segments[i].kind,
                           sirix_resource_id(fixture.resource));
    }
    status = sirix_intent_flush(fixture.resource, intent, segments, FLUSH_SEGMENTS, err);
    for (size_t i = 0; i < FLUSH_SEGMENTS; i++) {
        free(segments[i].bytes);
    }
    return status;
}

/* Begins, flushes, and publishes or abandons. */
static enum sirix_status import(bool publish, struct sirix_error *err)
{
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    uint64_t intent = 0;
    enum sirix_status status = sirix_intent_begin(fixture.resource, &intent, err);

    for (int i = 0; status == SIRIX_OK && i < FLUSHES; i++) {
        status = flush(intent, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (!publish) {
        return sirix_intent_abandon(fixture.resource, intent, err);
    }
    assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
    test_publication_make(&fixture, &view, 7, &publication);
    publication.intent = intent;
    status = sirix_publish(&publication, &published, err);
    test_publication_free(&publication);
    sirix_view_close(&view);
    return status;
}

static void expect_refused(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OUTCOME_UNKNOWN &&
        (status != SIRIX_UNAVAILABLE || err->reason != SIRIX_REASON_DATABASE_READ_ONLY)) {
        fail_msg("%s: %s", sirix_status_name(status), err->text);
    }
}

/* Crashes at step after step until none is left; a crash during recovery is one of them. */
static void crash_everywhere(bool publish, bool applies)
{
    enum sirix_status status = SIRIX_UNAVAILABLE;
    int step = 0;

    for (step = 0; status != SIRIX_OK; step++) {
        struct sirix_error err = {0};
        struct sirix_recovery recovery;
        uint64_t segments = segment_count();
        uint64_t revision = newest();

        atomic_store(&crash_applies, applies);
        atomic_store(&commits_until_crash, step);
        status = import(publish, &err);
        atomic_store(&commits_until_crash, -1);
        if (status != SIRIX_OK) {
            struct sirix_snapshot_created created;
            struct sirix_view view;
            struct sirix_error later = {0};

            expect_refused(status, &err);
            assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
            status = sirix_snapshot_create(&view, test_name("x"), true, &created, &later);
            expect_refused(status, &later);
            sirix_view_close(&view);
        }
        test_rev_reopen(&fixture, &recovery);

        bool published = newest() == revision + 1;
        assert_true(published || newest() == revision);
        assert_true(!published || publish);
        assert_int_equal(segment_count(),
                         segments + (published ? FLUSHES * FLUSH_SEGMENTS + 1 : 0));
        expect_sound();
    }
    assert_in_range(step, FLUSHES + 2, FLUSHES + 8);
    (void)test_set(&fixture, "main", 3);
}

static void an_import_is_there_as_a_whole_or_not_at_all(void **state)
{
    (void)state;
    crash_everywhere(true, false);
    crash_everywhere(true, true);
}

static void an_abandoned_import_goes_wherever_it_crashes(void **state)
{
    (void)state;
    crash_everywhere(false, false);
    crash_everywhere(false, true);
}

/* Recovery itself dies after each of its steps; the next opening goes on. */
static void recovery_that_dies_goes_on_at_the_next_opening(void **state)
{
    struct sirix_lmdb_options lmdb = {.dir = fixture.dir, .no_sync = true};
    uint64_t segments = segment_count();
    uint64_t intent = 0;
    enum sirix_status status = SIRIX_UNAVAILABLE;
    int openings = 0;

    (void)state;
    assert_int_equal(sirix_intent_begin(fixture.resource, &intent, NULL), SIRIX_OK);
    for (int i = 0; i < 400; i++) { /* Several batches of deletes. */
        assert_int_equal(flush(intent, NULL), SIRIX_OK);
    }
    sirix_resource_unref(fixture.resource);
    sirix_reader_close(fixture.reader);
    sirix_database_close(fixture.database);
    for (openings = 0; status != SIRIX_OK; openings++) {
        struct sirix_database_options options = {.pool = fixture.pool, .clock = &fixture.clock};
        struct sirix_error err = {0};

        assert_int_equal(sirix_backend_open_lmdb(&lmdb, &options.backend, NULL), SIRIX_OK);
        atomic_store(&crash_applies, openings % 2 == 0);
        atomic_store(&commits_until_crash, openings % 3);
        status = sirix_database_open(&options, &fixture.database, NULL, &err);
        atomic_store(&commits_until_crash, -1);
        assert_in_range(openings, 0, 100);
    }
    assert_in_range(openings, 3, 100);
    assert_int_equal(
        sirix_reader_open(sirix_database_backend(fixture.database), &fixture.reader, NULL),
        SIRIX_OK);
    assert_int_equal(sirix_resource_open(fixture.database, test_name("r"), &fixture.resource, NULL),
                     SIRIX_OK);
    assert_int_equal(segment_count(), segments);
    expect_sound();
}

/* --- A resource that comes with its value ----------------------------------------------------------- */

enum { FIRST_FLUSHES = 2 };

/* Made hidden, and named by the publication of its first value, some of which was put before. */
static enum sirix_status create_with_value(struct sirix_error *err)
{
    struct sirix_resource *mine = fixture.resource;
    struct sirix_resource *hidden = NULL;
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    uint64_t intent = 0;
    enum sirix_status status =
        sirix_resource_create_hidden(fixture.database, test_name("h"), &hidden, err);

    if (status != SIRIX_OK) {
        return status;
    }
    fixture.resource = hidden;
    status = sirix_intent_begin(hidden, &intent, err);
    for (int i = 0; status == SIRIX_OK && i < FIRST_FLUSHES; i++) {
        status = flush(intent, err);
    }
    if (status == SIRIX_OK) {
        sirix_reader_yield(fixture.reader);
        assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
        test_publication_make(&fixture, &view, 7, &publication);
        publication.intent = intent;
        status = sirix_publish(&publication, &published, err);
        test_publication_free(&publication);
        sirix_view_close(&view);
    }
    fixture.resource = mine;
    sirix_resource_unref(hidden);
    return status;
}

/* One revision, which is the first and holds the value; then it is dropped. */
static void expect_made(struct sirix_resource *made)
{
    struct sirix_resource *mine = fixture.resource;
    struct sirix_resource_info info;
    struct sirix_view view;

    fixture.resource = made;
    assert_int_equal(sirix_resource_info(made, &info, NULL), SIRIX_OK);
    assert_int_equal(info.newest_revision, 1);
    assert_int_equal(info.revision_count, 1);
    assert_int_equal(test_view_at(&fixture, "main", info.created_us, &view, NULL), SIRIX_OK);
    assert_int_equal(test_value(&fixture, &view), 7);
    sirix_view_close(&view);
    fixture.resource = mine;
    sirix_resource_unref(made);
    expect_sound();
    assert_int_equal(sirix_resource_drop(fixture.database, test_name("h"), NULL), SIRIX_OK);
}

static void a_new_resource_is_there_with_its_value_or_not_at_all(void **state)
{
    enum sirix_status status = SIRIX_UNAVAILABLE;
    size_t rows_before = rows("r") + rows("h");
    unsigned there = 0;
    int step = 0;

    (void)state;
    for (step = 0; status != SIRIX_OK; step++) {
        struct sirix_resource *made = NULL;
        struct sirix_recovery recovery;
        struct sirix_error err = {0};
        uint64_t segments = segment_count();

        atomic_store(&crash_applies, step % 2 == 0);
        atomic_store(&commits_until_crash, step / 2);
        status = create_with_value(&err);
        atomic_store(&commits_until_crash, -1);
        if (status != SIRIX_OK) {
            expect_refused(status, &err);
        }
        test_rev_reopen(&fixture, &recovery);
        if (sirix_resource_open(fixture.database, test_name("h"), &made, NULL) == SIRIX_OK) {
            assert_int_equal(segment_count(), segments + FIRST_FLUSHES * FLUSH_SEGMENTS + 1);
            expect_made(made);
            there++;
        } else {
            assert_int_not_equal(status, SIRIX_OK);
            assert_int_equal(segment_count(), segments);
        }
        assert_int_equal(rows("r") + rows("h"), rows_before);
        expect_sound();
    }
    assert_in_range(step, 2 * (FIRST_FLUSHES + 3), 2 * (FIRST_FLUSHES + 3) + 2);
    assert_int_equal(there, 2); /* Lost when it was done, and not lost. */
}

/* --- A drop ------------------------------------------------------------------------------------------ */

static void a_drop_is_finished_wherever_it_crashes(void **state)
{
    struct sirix_resource *mine = fixture.resource;
    bool dropped = false;

    (void)state;
    for (int step = 0; !dropped || step < 8; step++) {
        struct sirix_resource *other = NULL;
        struct sirix_recovery recovery;
        struct sirix_error err = {0};

        enum sirix_status status =
            sirix_resource_open(fixture.database, test_name("o"), &other, NULL);
        if (status == SIRIX_NOT_FOUND) {
            status = sirix_resource_create(fixture.database, test_name("o"), test_name(""),
                                           test_name(""), &other, NULL);
        }
        assert_int_equal(status, SIRIX_OK);
        mine = fixture.resource;
        fixture.resource = other;
        for (int i = 0; i < 1200; i++) { /* Rows for more than one batch. */
            char name[16];
            struct sirix_branch_info info;
            struct sirix_view view;

            (void)snprintf(name, sizeof(name), "b%d", i);
            if (test_view_branch(&fixture, name, &view, NULL) == SIRIX_OK) {
                sirix_view_close(&view);
                break; /* They are all there from the last round. */
            }
            assert_int_equal(test_view_branch(&fixture, "main", &view, NULL), SIRIX_OK);
            assert_int_equal(sirix_branch_create(&view, test_name(name), 0, &info, NULL), SIRIX_OK);
            sirix_view_close(&view);
        }
        fixture.resource = mine;
        sirix_resource_unref(other);

        atomic_store(&crash_applies, step % 2 == 0);
        atomic_store(&commits_until_crash, step / 2);
        status = sirix_resource_drop(fixture.database, test_name("o"), &err);
        atomic_store(&commits_until_crash, -1);
        test_rev_reopen(&fixture, &recovery);
        bool gone = sirix_resource_open(fixture.database, test_name("o"), &other, NULL) != SIRIX_OK;
        assert_true(status != SIRIX_OK || gone);
        if (!gone) {
            sirix_resource_unref(other);
        } else {
            dropped = true;
            assert_int_equal(rows("r") + rows("h"), 3); /* Those of the other resource. */
        }
        expect_sound();
    }
}

static int setup(void **state)
{
    (void)state;
    test_rev_open(&fixture, TEST_REV_LMDB_NO_SYNC, 1); /* Nothing here loses the system's cache. */
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    test_rev_close(&fixture);
    return 0;
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(an_import_is_there_as_a_whole_or_not_at_all),
        CASE(an_abandoned_import_goes_wherever_it_crashes),
        CASE(recovery_that_dies_goes_on_at_the_next_opening),
        CASE(a_new_resource_is_there_with_its_value_or_not_at_all),
        CASE(a_drop_is_finished_wherever_it_crashes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
