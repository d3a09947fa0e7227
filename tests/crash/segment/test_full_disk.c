/*
 * A full disk: writes are refused and change nothing, reads and deletes go on, and when there is room
 * again so is writing. Once with a quota in the write calls, and, where the test may mount, on a real
 * file system of 12 MiB.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "crash/segment/faults.h"
#include "crash/segment/script.h"

enum {
    FULL_AFTER_MAX = 4000,
    QUOTA_FIRST = 600 * 1024,
    QUOTA_END = 700 * 1024,
    QUOTA_STEP = 5 * 1024,
};

/* Runs batches from `batch` until one is refused, which has to be for want of space; its number. */
static uint64_t fill(struct sirix_backend *backend, uint64_t batch)
{
    for (uint64_t end = batch + FULL_AFTER_MAX; batch < end; batch++) {
        struct test_outcome outcome = script_run(backend, batch, NULL);

        if (outcome.status != SIRIX_OK) {
            if (outcome.status != SIRIX_NO_SPACE) {
                fail_msg("a full disk gave %s: %s", sirix_status_name(outcome.status),
                         outcome.error.text);
            }
            return batch;
        }
    }
    fail_msg("the disk never was full");
    return 0;
}

static void a_quota_in_the_middle_of_a_commit_changes_nothing(void **state)
{
    (void)state;
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend = NULL;
    struct sirix_backend_stats stats;

    test_dir_make(dir);
    const struct sirix_lmdb_options options = script_options(dir);
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
    uint64_t batch = 1;
    /* A limit at every page of a stretch, so that commits are cut at different places. */
    for (off_t quota = QUOTA_FIRST; quota < QUOTA_END; quota += QUOTA_STEP) {
        faults_set_quota(quota);
        for (;; batch++) {
            struct test_outcome outcome = script_run(backend, batch, NULL);

            if (outcome.status == SIRIX_OUTCOME_UNKNOWN) {
                /* A short write with room on the real disk looks like a broken one. */
                sirix_backend_close(backend);
                assert_int_equal(sirix_backend_open_lmdb(&options, &backend, NULL), SIRIX_OK);
                break;
            }
            if (outcome.status != SIRIX_OK) {
                assert_int_equal(outcome.status, SIRIX_NO_SPACE);
                break;
            }
        }
        assert_int_equal(script_check(backend, batch - 1, batch - 1, "quota"), batch - 1);
    }
    faults_set_quota(0);
    assert_int_equal(script_run(backend, batch, NULL).status, SIRIX_OK);
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_false(stats.read_only);
    sirix_backend_close(backend);
    (void)script_verify(dir, batch, batch, "after the quota");
    test_dir_remove(dir);
}

/* A small file system of this process alone; false when it may not mount. */
static bool mount_small(const char *dir)
{
    return unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
           mount("tmpfs", dir, "tmpfs", 0, "size=12m,mode=0700") == 0;
}

/* Deletes the batches that are left of [first, last]: the segments, and the rows with them. */
static enum sirix_status delete_all(struct sirix_backend *backend, uint64_t last_number)
{
    struct sirix_error err = {0};
    struct test_outcome outcome = test_delete(backend, 1, last_number);

    err = outcome.error;
    if (outcome.status != SIRIX_OK) {
        print_message("delete: %s\n", err.text);
    }
    return outcome.status;
}

static void on_a_full_disk_reads_and_deletes_go_on(void **state)
{
    (void)state;
    char dir[TEST_DIR_BYTES];
    struct sirix_backend *backend = NULL;
    struct sirix_backend_stats stats;
    struct sirix_error err = {0};
    bool more = false;

    test_dir_make(dir);
    if (!mount_small(dir)) {
        print_message("not allowed to mount (%s): the quota alone was tried\n", strerror(errno));
        test_dir_remove(dir);
        skip();
    }
    struct sirix_lmdb_options options = script_options(dir);
    options.reserve_bytes = 0; /* The rule: 64 MiB at least, which this disk never has. */
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_NO_SPACE);

    options.reserve_bytes = 1; /* Now the disk itself is the limit. */
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_OK);
    assert_int_equal(sirix_backend_maintain(backend, 1 << 20, &more, &err), SIRIX_OK);
    uint64_t batch = fill(backend, 1);
    assert_true(batch > 100);
    assert_int_equal(script_check(backend, batch - 1, batch - 1, "full"), batch - 1);
    assert_int_equal(script_run(backend, batch, NULL).status, SIRIX_NO_SPACE);
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_false(stats.read_only);
    sirix_backend_close(backend);
    assert_int_equal(script_verify(dir, batch - 1, batch - 1, "full, reopened"), batch - 1);

    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_OK);
    assert_int_equal(delete_all(backend, stats.next_number - 1), SIRIX_OK);
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, 0);
    /* Freed pages are used again: as much as before goes in once more. */
    uint64_t first = sirix_segment_reserve(backend, 1000);
    for (uint64_t number = first; number < first + 1000; number++) {
        assert_int_equal(test_put(backend, number, 1, 3000).status, SIRIX_OK);
    }
    sirix_backend_close(backend);
    (void)umount2(dir, MNT_DETACH);
    test_dir_remove(dir);
}

/* Takes all that is left of the disk that dir is on. */
static void fill_disk(const char *dir)
{
    static const char zeros[4096];
    char path[TEST_DIR_BYTES + 8];

    (void)snprintf(path, sizeof(path), "%s/fill", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    while (fwrite(zeros, sizeof(zeros), 1, file) == 1 && fflush(file) == 0) {
    }
    assert_int_equal(errno, ENOSPC);
    (void)fclose(file);
}

static void free_disk(const char *dir)
{
    char path[TEST_DIR_BYTES + 8];

    (void)snprintf(path, sizeof(path), "%s/fill", dir);
    assert_int_equal(unlink(path), 0);
}

static void opening_on_a_full_disk_is_refused_or_takes_the_reserve(void **state)
{
    (void)state;
    char dir[TEST_DIR_BYTES];
    char lock[TEST_DIR_BYTES + 16];
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};
    bool more = false;

    test_dir_make(dir);
    if (!mount_small(dir)) {
        print_message("not allowed to mount (%s)\n", strerror(errno));
        test_dir_remove(dir);
        skip();
    }
    struct sirix_lmdb_options options = script_options(dir);
    options.reserve_bytes = 1;
    fill_disk(dir);
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_NO_SPACE);

    free_disk(dir);
    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_OK);
    assert_int_equal(script_run(backend, 1, NULL).status, SIRIX_OK);
    assert_int_equal(sirix_backend_maintain(backend, 1 << 20, &more, &err), SIRIX_OK);
    sirix_backend_close(backend);

    /* As after a copy that left the locks behind: what is stored can still be read. */
    (void)snprintf(lock, sizeof(lock), "%s/lock.mdb", dir);
    assert_int_equal(unlink(lock), 0);
    fill_disk(dir);
    assert_int_equal(script_verify(dir, 1, 1, "full, without locks"), 1);
    (void)umount2(dir, MNT_DETACH);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_quota_in_the_middle_of_a_commit_changes_nothing),
        cmocka_unit_test(on_a_full_disk_reads_and_deletes_go_on),
        cmocka_unit_test(opening_on_a_full_disk_is_refused_or_takes_the_reserve),
    };
    faults_skip_syncs();
    return cmocka_run_group_tests_name("segment on a full disk", tests, NULL, NULL);
}
