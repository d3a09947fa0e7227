/*
 * Idempotency: what a repeated write answers, what is kept and for how long.
 */
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

static int teardown(void **state)
{
    test_rev_close(*state);
    return 0;
}

static struct sirix_rider rider_of(const char *key, uint8_t request, const char *answer)
{
    struct sirix_rider rider = {
        .principal = test_name("agent"), .key = test_name(key), .answer = test_name(answer)};

    memset(rider.request_hash, request, sizeof(rider.request_hash));
    return rider;
}

static enum sirix_status publish_with(struct test_rev *f, const struct sirix_view *base,
                                      int64_t value, const struct sirix_rider *rider,
                                      struct sirix_publication *publication,
                                      struct sirix_published *published, struct sirix_error *err)
{
    test_publication_make(f, base, value, publication);
    publication->rider = *rider;
    return sirix_publish(publication, published, err);
}

static uint64_t newest(struct test_rev *f)
{
    struct sirix_resource_info info;

    assert_int_equal(sirix_resource_info(f->resource, &info, NULL), SIRIX_OK);
    return info.newest_revision;
}

static void a_repeated_write_answers_what_the_first_one_did(void **state)
{
    struct test_rev *f = *state;
    const struct sirix_rider rider = rider_of("k1", 7, "first answer");
    const struct sirix_rider other = rider_of("k1", 8, "");
    struct sirix_publication publication;
    struct sirix_published first;
    struct sirix_published again;
    struct sirix_view view;
    struct sirix_error err = {0};

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_rider_find(f->database, f->reader, &rider, &first, &err),
                     SIRIX_NOT_FOUND);
    assert_int_equal(publish_with(f, &view, 1, &rider, &publication, &first, &err), SIRIX_OK);
    assert_false(first.replayed);
    assert_null(publication.replay);
    test_publication_free(&publication);

    /* The head has moved, and still the answer is the first one's. */
    assert_int_equal(publish_with(f, &view, 2, &rider, &publication, &again, &err), SIRIX_OK);
    assert_true(again.replayed);
    assert_int_equal(again.revision, first.revision);
    assert_int_equal(again.time_us, first.time_us);
    assert_int_equal(again.record_address, first.record_address);
    assert_int_equal(again.answer.len, strlen("first answer"));
    assert_memory_equal(again.answer.data, "first answer", again.answer.len);
    test_publication_free(&publication);
    assert_int_equal(newest(f), 2);

    assert_int_equal(publish_with(f, &view, 2, &other, &publication, &again, &err), SIRIX_INVALID);
    assert_int_equal(err.reason, SIRIX_REASON_IDEMPOTENCY_MISMATCH);
    test_publication_free(&publication);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_rider_find(f->database, f->reader, &other, &again, &err), SIRIX_INVALID);
    assert_int_equal(sirix_rider_find(f->database, f->reader, &rider, &again, &err), SIRIX_OK);
    assert_int_equal(again.revision, first.revision);
    sirix_view_close(&view);
}

static void a_failed_write_keeps_no_rider(void **state)
{
    struct test_rev *f = *state;
    const struct sirix_rider rider = rider_of("k1", 7, "");
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;

    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    (void)test_set(f, "main", 1);
    assert_int_equal(publish_with(f, &view, 2, &rider, &publication, &published, NULL),
                     SIRIX_CONFLICT);
    test_publication_free(&publication);
    sirix_view_close(&view);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_rider_find(f->database, f->reader, &rider, &published, NULL),
                     SIRIX_NOT_FOUND);
}

static void riders_go_after_a_day_and_others_make_them_go(void **state)
{
    struct test_rev *f = *state;
    struct sirix_rider rider = rider_of("old", 7, "");
    struct sirix_published published = {.revision = 1};
    struct sirix_published again;
    char key[16];

    for (int i = 0; i < 6; i++) {
        (void)snprintf(key, sizeof(key), "old%d", i);
        rider = rider_of(key, 7, "");
        assert_int_equal(sirix_rider_record(f->resource, &rider, &published, &again, NULL),
                         SIRIX_OK);
        assert_false(again.replayed);
    }
    assert_int_equal(sirix_rider_record(f->resource, &rider, &published, &again, NULL), SIRIX_OK);
    assert_true(again.replayed);
    assert_int_equal(again.revision, 1);

    atomic_fetch_add(&f->now_us, INT64_C(25) * 3600 * 1000000);
    sirix_reader_yield(f->reader);
    assert_int_equal(sirix_rider_find(f->database, f->reader, &rider, &again, NULL),
                     SIRIX_NOT_FOUND);
    published.revision = 2;
    assert_int_equal(sirix_rider_record(f->resource, &rider, &published, &again, NULL), SIRIX_OK);
    assert_false(again.replayed);
    for (int i = 0; i < 3; i++) {
        (void)snprintf(key, sizeof(key), "new%d", i);
        rider = rider_of(key, 7, "");
        assert_int_equal(sirix_rider_record(f->resource, &rider, &published, &again, NULL),
                         SIRIX_OK);
    }
    /* Nothing is left of the old ones: four riders, each with its place in the order. */
    size_t rows = 0;

    assert_int_equal(test_count_rows(f, "K", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 4);
    assert_int_equal(test_count_rows(f, "E", 1, &rows), SIRIX_OK);
    assert_int_equal(rows, 4);
}

static void texts_and_riders_that_are_too_long_are_refused(void **state)
{
    struct test_rev *f = *state;
    static char text[5000];
    struct sirix_rider rider = rider_of("k", 1, "");
    struct sirix_publication publication;
    struct sirix_published published;
    struct sirix_view view;
    struct sirix_error err = {0};

    memset(text, 'x', sizeof(text));
    assert_int_equal(test_view_branch(f, "main", &view, NULL), SIRIX_OK);
    test_publication_make(f, &view, 1, &publication);
    publication.record.message = (struct sirix_bytes){.data = text, .len = 4097};
    assert_int_equal(sirix_publish(&publication, &published, &err), SIRIX_INVALID);
    assert_string_equal(err.field, "message");
    assert_null(publication.segments[0].bytes);
    test_publication_free(&publication);
    rider.key = (struct sirix_bytes){.data = text, .len = 129};
    assert_int_equal(publish_with(f, &view, 1, &rider, &publication, &published, &err),
                     SIRIX_INVALID);
    assert_string_equal(err.field, "idempotency_key");
    test_publication_free(&publication);
    rider.key.len = 128;
    rider.answer = (struct sirix_bytes){.data = text, .len = 4096};
    rider.principal = (struct sirix_bytes){.data = text, .len = 200};
    assert_int_equal(publish_with(f, &view, 1, &rider, &publication, &published, &err), SIRIX_OK);
    test_publication_free(&publication);
    sirix_view_close(&view);
}

int main(void)
{
#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(a_repeated_write_answers_what_the_first_one_did),
        CASE(a_failed_write_keeps_no_rider),
        CASE(riders_go_after_a_day_and_others_make_them_go),
        CASE(texts_and_riders_that_are_too_long_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
