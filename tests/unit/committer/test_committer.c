/* Group commit: what a work can rely on, how groups are made up, and what a failure does to whom.
 *
 * Where a test needs a group of a known make-up, a work before it keeps its prepare waiting until the
 * rest has been submitted. */
#include "unit/committer/committer_fixture.h"

/* --- Behaviour -------------------------------------------------------------------------------- */

static void a_work_is_on_disk_when_run_returns(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 1);
    struct step step = {STEP, .key = "head", .value = "1", .number = number,
                        .segment = test_segment_new(number, 100)};
    struct sirix_reader *reader = NULL;
    struct sirix_bytes page;

    assert_int_equal(sirix_committer_run(f->committer, &step.work, NULL), SIRIX_OK);
    assert_int_equal(step.done_count, 1); /* Its own done came first. */
    expect_row(f, "head", "1");
    assert_int_equal(sirix_reader_open(f->backend, &reader, NULL), SIRIX_OK);
    assert_int_equal(sirix_segment_get(reader, sirix_address_make(number, 16), 84, &page, NULL),
                     SIRIX_OK);
    sirix_reader_close(reader);
    test_segment_free(step.segment);
}

static void who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do(void **state)
{
    struct fixture *f = *state;
    struct step alone = {STEP, .key = "k", .value = "1"};
    struct step several[2] = {{STEP, .key = "k", .value = "2"}, {STEP, .key = "k", .value = "3"}};
    struct step after = {STEP, .key = "k", .value = "4"};

    assert_int_equal(sirix_committer_run(f->committer, &alone.work, NULL), SIRIX_OK);
    run_as_one_group(f, several, 2);
    assert_int_equal(sirix_committer_run(f->committer, &after.work, NULL), SIRIX_OK);

    assert_true(pthread_equal(alone.prepared_on, pthread_self()));
    assert_false(pthread_equal(several[0].prepared_on, pthread_self()));
    assert_false(pthread_equal(after.prepared_on, pthread_self()));
    expect_row(f, "k", "4");
}

static void works_that_wait_share_one_group(void **state)
{
    struct fixture *f = *state;
    struct step steps[50];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 50; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
    }
    run_as_one_group(f, steps, 50);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.works, 51);
    assert_int_equal(stats.groups, 2);
    assert_int_equal(stats.waiting, 0);
}

static void a_work_sees_rows_of_earlier_works_of_its_group(void **state)
{
    struct fixture *f = *state;
    struct step before = {STEP, .key = "n", .value = "0"};
    struct step steps[] = {
        {STEP, .look_at = "n", .key = "n", .value = "1"},
        {STEP, .look_at = "n", .key = "n", .value = NULL},
        {STEP, .look_at = "n", .key = "n", .value = "3"},
        {STEP, .look_at = "n"},
    };

    assert_int_equal(sirix_committer_run(f->committer, &before.work, NULL), SIRIX_OK);
    run_as_one_group(f, steps, 4);

    assert_string_equal(steps[0].seen, "0");
    assert_string_equal(steps[1].seen, "1");
    assert_string_equal(steps[2].seen, "-");
    assert_string_equal(steps[3].seen, "3");
    expect_row(f, "n", "3");
}

static void what_a_pool_wrote_is_counted(void **state)
{
    struct fixture *f = *state;
    struct step steps[] = {
        {STEP, .key = "a", .value = "1"},
        {STEP, .key = "b", .value = "2"},
        {STEP, .key = "c", .value = "3", .fail_with = SIRIX_PRECONDITION},
    };
    struct sirix_committer_totals before;
    struct sirix_committer_totals after;

    sirix_committer_pool_totals(f->pool, &before);
    run_as_one_group(f, steps, 3);
    sirix_committer_pool_totals(f->pool, &after);

    /* The group that held the thread up counts too. */
    assert_true(after.groups > before.groups);
    assert_true(after.works - before.works >= 2);
    assert_int_equal(after.sizes.total, after.groups);
    assert_int_equal(after.write_us.total, after.groups);
    assert_int_equal(after.prepare_us.total, after.groups);
    assert_int_equal(after.failures, 0);
}

static void a_failed_prepare_ends_alone_and_takes_back_what_it_added(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 2);
    struct sirix_bytes a = test_segment_new(number, 64);
    struct sirix_bytes b = test_segment_new(number + 1, 64);
    struct step steps[] = {
        {STEP, .key = "n", .value = "1"},
        {STEP, .key = "n", .value = "2", .number = number + 1, .segment = b,
         .fail_with = SIRIX_CANCELLED},
        {STEP, .key = "other", .value = "x", .fail_with = SIRIX_PRECONDITION},
        {STEP, .look_at = "n", .number = number, .segment = a},
    };
    struct sirix_backend_stats stats;

    run_as_one_group(f, steps, 4);

    assert_int_equal(steps[0].status, SIRIX_OK);
    assert_int_equal(steps[1].status, SIRIX_CANCELLED);
    assert_string_equal(steps[1].error.text, "this work was told to fail");
    assert_int_equal(steps[2].status, SIRIX_PRECONDITION);
    assert_int_equal(steps[3].status, SIRIX_OK);
    assert_string_equal(steps[3].seen, "1");
    expect_row(f, "n", "1");
    expect_row(f, "other", NULL);
    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 1);
    test_segment_free(a);
    test_segment_free(b);
}

static void a_segment_that_is_not_sealed_fails_its_work_alone(void **state)
{
    struct fixture *f = *state;
    const uint8_t zeros[64] = {0};
    struct step steps[] = {
        {STEP, .key = "n", .value = "1"},
        {STEP, .number = 1, .segment = {.data = zeros, .len = sizeof(zeros)}},
    };

    (void)sirix_segment_reserve(f->backend, 1);
    run_as_one_group(f, steps, 2);

    assert_int_equal(steps[0].status, SIRIX_OK);
    assert_int_equal(steps[1].status, SIRIX_CORRUPT);
    expect_row(f, "n", "1");
}

static void segments_of_a_group_may_come_in_any_order(void **state)
{
    struct fixture *f = *state;
    uint64_t number = sirix_segment_reserve(f->backend, 3);
    struct step steps[3];
    struct sirix_backend_stats stats;

    for (uint64_t i = 0; i < 3; i++) {
        steps[i] = (struct step){STEP, .number = number + 2 - i,
                                 .segment = test_segment_new(number + 2 - i, 80)};
    }
    run_as_one_group(f, steps, 3);

    assert_int_equal(sirix_backend_stats(f->backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 3);
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(steps[i].status, SIRIX_OK);
        test_segment_free(steps[i].segment);
    }
}

/* A small work that submits itself again from done until it is told to stop. */
struct repeating {
    struct step step;
    struct fixture *f;
    const struct step *until_ended;
    unsigned rounds;
    struct latch stopped;
};

static void submit_again(struct sirix_commit_work *work, enum sirix_status status,
                         const struct sirix_error *error)
{
    struct repeating *repeating = (struct repeating *)work;

    (void)error;
    assert_int_equal(status, SIRIX_OK);
    repeating->rounds++;
    if (repeating->until_ended->done_count == 0) {
        sirix_committer_submit(repeating->f->committer, work);
    } else {
        latch_open(&repeating->stopped);
    }
}

static void background_work_is_in_every_fourth_group_at_least(void **state)
{
    struct fixture *f = *state;
    /* Groups do not mix works that free space with others, so the small works always come first. */
    struct step background = {.work = {.prepare = prepare_step,
                                       .done = end_step,
                                       .frees_space = true,
                                       .work_class = SIRIX_WORK_BACKGROUND},
                              .ended = LATCH_CLOSED,
                              .key = "b",
                              .value = "1"};
    struct repeating repeating = {
        .step = {.work = {.prepare = prepare_step, .done = submit_again}, .key = "s", .value = "1"},
        .f = f,
        .until_ended = &background,
        .stopped = LATCH_CLOSED};
    struct latch latch = LATCH_CLOSED;

    repeating.step.wait_for = &latch;
    sirix_committer_submit(f->committer, &repeating.step.work);
    sirix_committer_submit(f->committer, &background.work);
    latch_open(&latch);
    latch_wait(&repeating.stopped);

    assert_int_equal(background.status, SIRIX_OK);
    assert_true(repeating.rounds <= 6);
}

static void one_background_work_goes_with_a_group(void **state)
{
    struct fixture *f = *state;
    struct step steps[4];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 4; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
        steps[i].work.work_class = i < 2 ? SIRIX_WORK_BACKGROUND : SIRIX_WORK_SMALL;
    }
    run_as_one_group(f, steps, 4);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.works, 5);
    assert_int_equal(stats.groups, 3); /* The first alone, small ones with one, the other one. */
}

static void a_group_keeps_to_its_bytes(void **state)
{
    struct fixture *f = *state;
    struct step steps[4];
    struct sirix_committer_stats stats;

    for (size_t i = 0; i < 4; i++) {
        steps[i] = (struct step){STEP, .key = "k", .value = "v"};
        steps[i].work.size_hint = SIRIX_GROUP_BYTES_MAX / 2;
    }
    run_as_one_group(f, steps, 4);

    sirix_committer_stats(f->committer, &stats);
    assert_int_equal(stats.groups, 3);
}

static void after_an_unknown_outcome_everything_is_refused(void **state)
{
    struct fixture *f = *state;
    struct latch started = LATCH_CLOSED;
    struct latch latch = LATCH_CLOSED;
    struct step first = {STEP, .started = &started, .wait_for = &latch, .key = "k", .value = "v"};
    struct step waiting = {STEP, .key = "k", .value = "w"};
    struct step later = {STEP, .key = "k", .value = "x"};
    struct sirix_committer_stats stats;
    struct sirix_error err = {0};

    sirix_committer_stats(f->committer, &stats);
    assert_false(stats.read_only);
    sirix_committer_submit(f->committer, &first.work);
    latch_wait(&started);
    sirix_committer_submit(f->committer, &waiting.work);
    latch_open(&latch);
    latch_wait(&first.ended);
    latch_wait(&waiting.ended);
    assert_int_equal(first.status, SIRIX_OUTCOME_UNKNOWN);
    assert_int_equal(first.error.status, SIRIX_OUTCOME_UNKNOWN);
    assert_int_equal(waiting.status, SIRIX_UNAVAILABLE);

    assert_int_equal(sirix_committer_run(f->committer, &later.work, &err), SIRIX_UNAVAILABLE);
    assert_int_equal(err.reason, SIRIX_REASON_DATABASE_READ_ONLY);
    assert_int_equal(later.seen[0], '\0'); /* Not even prepared. */
    sirix_committer_stats(f->committer, &stats);
    assert_true(stats.read_only);
}

static void no_space_fails_the_group_and_not_the_database(void **state)
{
    struct fixture *f = *state;
    struct step write = {STEP, .key = "k", .value = "v"};
    struct step free_some = {STEP, .key = "k"};
    struct sirix_error err = {0};

    free_some.work.frees_space = true;
    assert_int_equal(sirix_committer_run(f->committer, &write.work, &err), SIRIX_NO_SPACE);
    assert_int_equal(err.status, SIRIX_NO_SPACE);
    assert_int_equal(sirix_committer_run(f->committer, &free_some.work, &err), SIRIX_OK);
}

static void a_group_without_changes_needs_no_commit(void **state)
{
    struct fixture *f = *state; /* Whose every commit has an unknown outcome. */
    struct step step = {STEP, .look_at = "k"};

    assert_int_equal(sirix_committer_run(f->committer, &step.work, NULL), SIRIX_OK);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(what_a_pool_wrote_is_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_work_is_on_disk_when_run_returns, setup, teardown),
        cmocka_unit_test_setup_teardown(a_work_is_on_disk_when_run_returns, setup_late, teardown),
        cmocka_unit_test_setup_teardown(
            who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do, setup,
            teardown),
        cmocka_unit_test_setup_teardown(
            who_writes_alone_commits_itself_and_a_thread_of_the_pool_where_several_do, setup_late,
            teardown),
        cmocka_unit_test_setup_teardown(works_that_wait_share_one_group, setup, teardown),
        cmocka_unit_test_setup_teardown(works_that_wait_share_one_group, setup_late, teardown),
        cmocka_unit_test_setup_teardown(a_work_sees_rows_of_earlier_works_of_its_group, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_failed_prepare_ends_alone_and_takes_back_what_it_added,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(a_segment_that_is_not_sealed_fails_its_work_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(segments_of_a_group_may_come_in_any_order, setup, teardown),
        cmocka_unit_test_setup_teardown(background_work_is_in_every_fourth_group_at_least, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_background_work_goes_with_a_group, setup, teardown),
        cmocka_unit_test_setup_teardown(a_group_keeps_to_its_bytes, setup, teardown),
        cmocka_unit_test_setup_teardown(after_an_unknown_outcome_everything_is_refused,
                                        setup_unknown, teardown),
        cmocka_unit_test_setup_teardown(no_space_fails_the_group_and_not_the_database, setup_full,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_group_without_changes_needs_no_commit, setup_unknown,
                                        teardown),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
