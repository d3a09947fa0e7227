/*
 * A process killed with SIGKILL before or after each single write and sync of commits and packing:
 * what it had acknowledged is there, and the batch it died in is there as a whole or not at all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "crash/segment/faults.h"
#include "crash/segment/script.h"

enum { PREPARED = 260, BATCHES = 7, ABOUT_BYTES = 64, SWEEP_MAX = 2000 };

static char template_dir[TEST_DIR_BYTES];

static int make_template(void **state)
{
    (void)state;
    faults_skip_syncs();
    test_dir_make(template_dir);
    script_prepare(template_dir, PREPARED);
    return 0;
}

static int remove_template(void **state)
{
    (void)state;
    test_dir_remove(template_dir);
    return 0;
}

/* The child: batches, packing after the third, a byte into the pipe for each that is acknowledged. */
static void run_child(const char *dir, const struct fault_plan *plan, int acknowledge)
{
    const struct sirix_lmdb_options options = script_options(dir);
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    faults_arm(plan);
    if (sirix_backend_open_lmdb(&options, &backend, &err) != SIRIX_OK) {
        _exit(2);
    }
    for (uint64_t batch = PREPARED + 1; batch <= PREPARED + BATCHES; batch++) {
        if (script_run(backend, batch, NULL).status != SIRIX_OK ||
            write(acknowledge, "a", 1) != 1) {
            _exit(3);
        }
        if (batch == PREPARED + 3 && script_pack(backend, &err) != SIRIX_OK) {
            _exit(4);
        }
    }
    sirix_backend_close(backend);
    _exit(0);
}

/* How many batches the child acknowledged before it ended; *killed tells how it ended. */
static unsigned wait_for_child(pid_t child, int acknowledged, bool *killed)
{
    unsigned count = 0;
    char byte = 0;
    int ended = 0;

    while (read(acknowledged, &byte, 1) == 1) {
        count++;
    }
    assert_int_equal(waitpid(child, &ended, 0), child);
    *killed = WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL;
    if (!*killed && !(WIFEXITED(ended) && WEXITSTATUS(ended) == 0)) {
        fail_msg("the child ended with %d", ended);
    }
    return count;
}

static bool kill_once(const struct fault_plan *plan, const char *about)
{
    char dir[TEST_DIR_BYTES];
    int ends[2];
    bool killed = false;

    test_dir_make(dir);
    script_copy(template_dir, dir);
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        run_child(dir, plan, ends[1]);
    }
    (void)close(ends[1]);
    unsigned acknowledged = wait_for_child(child, ends[0], &killed);
    (void)close(ends[0]);
    (void)script_verify(dir, PREPARED + acknowledged,
                        PREPARED + acknowledged + (acknowledged < BATCHES ? 1 : 0), about);
    /* And once more after the first opening has done what it does. */
    (void)script_verify(dir, PREPARED + acknowledged,
                        PREPARED + acknowledged + (acknowledged < BATCHES ? 1 : 0), about);
    test_dir_remove(dir);
    return killed;
}

static void sweep(enum fault_effect effect, const char *name)
{
    bool killed = true;
    unsigned kills = 0;

    for (int64_t nth = 0; killed; nth++) {
        char about[ABOUT_BYTES];
        const struct fault_plan plan = {
            .calls = FAULT_WRITE | FAULT_SYNC, .nth = nth, .effect = effect};

        assert_true(nth < SWEEP_MAX);
        (void)snprintf(about, sizeof(about), "killed %s call %d", name, (int)nth);
        killed = kill_once(&plan, about);
        kills += killed ? 1 : 0;
    }
    assert_true(kills >= 3 * BATCHES); /* Pages, sync, meta page of each, at least. */
}

static void a_process_killed_before_any_write_or_sync_loses_nothing(void **state)
{
    (void)state;
    sweep(FAULT_KILLS_BEFORE, "before");
}

static void a_process_killed_after_any_write_or_sync_loses_nothing(void **state)
{
    (void)state;
    sweep(FAULT_KILLS_AFTER, "after");
}

/* Creation: killed at any call, the folder holds no database or an empty one, and can be used. */
static void a_process_killed_while_it_creates_leaves_a_usable_folder(void **state)
{
    (void)state;
    bool killed = true;

    for (int64_t nth = 0; killed; nth++) {
        char dir[TEST_DIR_BYTES];
        const struct fault_plan plan = {
            .calls = FAULT_WRITE | FAULT_SYNC, .nth = nth, .effect = FAULT_KILLS_BEFORE};
        int ended = 0;

        test_dir_make(dir);
        pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            const struct sirix_lmdb_options options = script_options(dir);
            struct sirix_backend *backend = NULL;
            faults_arm(&plan);
            enum sirix_status status = sirix_backend_open_lmdb(&options, &backend, NULL);
            _exit(status == SIRIX_OK ? 0 : 1);
        }
        assert_int_equal(waitpid(child, &ended, 0), child);
        killed = WIFSIGNALED(ended);
        assert_true(killed || WEXITSTATUS(ended) == 0);
        assert_int_equal(script_verify(dir, 0, 0, "creation"), 0);
        test_dir_remove(dir);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_process_killed_before_any_write_or_sync_loses_nothing),
        cmocka_unit_test(a_process_killed_after_any_write_or_sync_loses_nothing),
        cmocka_unit_test(a_process_killed_while_it_creates_leaves_a_usable_folder),
    };
    return cmocka_run_group_tests_name("segment kill", tests, make_template, remove_template);
}
