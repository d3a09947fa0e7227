/*
 * kill -9 under load: a child process commits, branches, promotes and imports on several threads and tells of
 * each revision that was acknowledged; it is killed after a random number of them. Every
 * acknowledged revision must be there, and everything must be sound.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unit/revision/support.h"

enum { ROUNDS = 12, WRITERS = 3, ACKS_MAX = 150 };

struct ack {
    uint64_t revision;
    int64_t value;
    uint64_t address;
};

static struct test_rev fixture;
static int acks_out;
static _Atomic int64_t next_value;

/* In the child: nothing but the parent's kill ends it. */
static void must(bool holds)
{
    if (!holds) {
        abort();
    }
}

static void acknowledge(const struct sirix_published *published, int64_t value)
{
    const struct ack ack = {
        .revision = published->revision, .value = value, .address = published->record_address};

    must(write(acks_out, &ack, sizeof(ack)) == (ssize_t)sizeof(ack));
}

static void write_once(struct sirix_reader *reader, const char *branch)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = test_name(branch)};
    int64_t value = atomic_fetch_add(&next_value, 1);
    struct sirix_published published;
    struct sirix_view view;

    sirix_reader_yield(reader);
    must(sirix_view_open(fixture.resource, reader, &spec, &view, NULL) == SIRIX_OK);
    enum sirix_status status = test_publish(&fixture, &view, value, &published, NULL);
    must(status == SIRIX_OK || status == SIRIX_CONFLICT);
    sirix_view_close(&view);
    if (status == SIRIX_OK) {
        acknowledge(&published, value);
    }
}

static void flush_once(void)
{
    struct sirix_segment_built segment = {
        .number = sirix_segment_reserve(sirix_database_backend(fixture.database), 1),
        .bytes = calloc(1, 64),
        .len = 64,
        .kind = SIRIX_SEGMENT_PAGES,
    };
    uint64_t intent = 0;

    must(segment.bytes != NULL);
    sirix_segment_seal(segment.bytes, segment.len, segment.kind,
                       sirix_resource_id(fixture.resource));
    must(sirix_intent_begin(fixture.resource, &intent, NULL) == SIRIX_OK);
    must(sirix_intent_flush(fixture.resource, intent, &segment, 1, NULL) == SIRIX_OK);
    free(segment.bytes); /* And never published. */
}

static void *write_for_ever(void *context)
{
    int number = *(const int *)context;
    struct sirix_reader *reader = NULL;
    struct sirix_promoted promoted;
    char name[16];

    must(sirix_reader_open(sirix_database_backend(fixture.database), &reader, NULL) == SIRIX_OK);
    (void)snprintf(name, sizeof(name), "w%d", number);
    for (int i = 0;; i++) {
        write_once(reader, number == 0 ? "main" : name);
        if (i % 7 == 3 && number != 0) {
            sirix_reader_yield(reader);
            must(sirix_branch_promote(fixture.resource, test_name(name), test_name("main"), true,
                                      &promoted, NULL) == SIRIX_OK);
        }
        if (i % 11 == 5) {
            flush_once();
        }
    }
    return NULL;
}

static void open_all(struct sirix_recovery *recovery)
{
    const struct sirix_lmdb_options lmdb = {.dir = fixture.dir};
    struct sirix_database_options options = {.pool = fixture.pool, .clock = &fixture.clock};
    struct sirix_error err = {0};

    if (sirix_backend_open_lmdb(&lmdb, &options.backend, &err) != SIRIX_OK ||
        sirix_database_open(&options, &fixture.database, recovery, &err) != SIRIX_OK ||
        sirix_reader_open(sirix_database_backend(fixture.database), &fixture.reader, &err) !=
            SIRIX_OK ||
        sirix_resource_open(fixture.database, test_name("r"), &fixture.resource, &err) !=
            SIRIX_OK) {
        (void)fprintf(stderr, "%s\n", err.text);
        abort();
    }
}

static void close_all(void)
{
    sirix_resource_unref(fixture.resource);
    sirix_reader_close(fixture.reader);
    sirix_database_close(fixture.database);
    sirix_committer_pool_stop(fixture.pool);
    fixture.pool = NULL;
}

static void run_child(void)
{
    static int numbers[WRITERS];
    pthread_t threads[WRITERS];

    must(sirix_committer_pool_start(0, &fixture.pool, NULL) == SIRIX_OK);
    open_all(NULL);
    for (int i = 0; i < WRITERS; i++) {
        numbers[i] = i;
        must(pthread_create(&threads[i], NULL, write_for_ever, &numbers[i]) == 0);
    }
    for (int i = 0; i < WRITERS; i++) {
        (void)pthread_join(threads[i], NULL);
    }
}

/* Reads one acknowledgement; false at the end. */
static bool read_ack(int from, struct ack *ack)
{
    size_t have = 0;

    while (have < sizeof(*ack)) {
        ssize_t got = read(from, (uint8_t *)ack + have, sizeof(*ack) - have);

        if (got < 0 && errno == EINTR) {
            continue;
        }
        assert_true(got >= 0);
        if (got == 0) {
            return false;
        }
        have += (size_t)got;
    }
    return true;
}

/* Lets the child work until it has acknowledged `count`, kills it, and gives all that it told. */
static size_t work_and_kill(size_t count, struct ack *acks, size_t room)
{
    int ends[2];
    size_t told = 0;
    int status = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        acks_out = ends[1];
        run_child();
        abort();
    }
    assert_int_equal(close(ends[1]), 0);
    while (told < count && read_ack(ends[0], &acks[told])) {
        told++;
    }
    assert_int_equal(told, count); /* Else it died of itself. */
    assert_int_equal(kill(child, SIGKILL), 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
    while (told < room && read_ack(ends[0], &acks[told])) {
        told++;
    }
    assert_int_equal(close(ends[0]), 0);
    return told;
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

static void nothing_acknowledged_is_lost(void **state)
{
    static struct ack acks[ROUNDS * 2 * ACKS_MAX + 64];
    size_t told = 0;
    size_t rows = 0;

    (void)state;
    test_rev_open(&fixture, TEST_REV_LMDB, 77);
    (void)test_branch(&fixture, "main", "w1", 0);
    (void)test_branch(&fixture, "main", "w2", 0);
    close_all();
    for (int round = 0; round < ROUNDS; round++) {
        size_t count = 1 + test_rev_random(&fixture, ACKS_MAX);
        struct sirix_verify_progress progress;
        struct sirix_recovery recovery;

        told += work_and_kill(count, acks + told, sizeof(acks) / sizeof(acks[0]) - told);
        assert_int_equal(sirix_committer_pool_start(0, &fixture.pool, NULL), SIRIX_OK);
        open_all(&recovery);
        for (size_t i = 0; i < told; i++) {
            struct sirix_view view;

            assert_int_equal(test_view_revision(&fixture, acks[i].revision, &view, NULL), SIRIX_OK);
            assert_int_equal(test_value(&fixture, &view), acks[i].value);
            assert_int_equal(view.record_address, acks[i].address);
            sirix_view_close(&view);
        }
        assert_int_equal(test_count_rows(&fixture, "T", 1, &rows), SIRIX_OK);
        assert_int_equal(rows, 0);
        sirix_reader_yield(fixture.reader);
        assert_int_equal(sirix_verify(fixture.database, NULL, fixture.reader, no_fault, NULL, NULL,
                                      &progress, NULL),
                         SIRIX_OK);
        assert_true(progress.revisions >= told);
        atomic_fetch_add(&next_value, 1000000);
        close_all();
    }
    assert_int_equal(sirix_committer_pool_start(0, &fixture.pool, NULL), SIRIX_OK);
    open_all(NULL);
    test_rev_close(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
