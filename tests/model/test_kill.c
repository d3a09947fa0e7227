/*
 * An import that is killed between any two steps leaves either nothing or all of it. The child says on
 * a pipe what step it is at; the parent kills it there, opens the database again and looks.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "bench/common/records.h"
#include "unit/document/fixture.h"
#include "unit/document/temp_dir.h"

enum { TEXT_BYTES = 9 * 1000 * 1000, PIECE_BYTES = 128 * 1024, KILLS = 40 };

static struct sirix_backend *open_backend(const char *dir, bool create)
{
    const struct sirix_lmdb_options options = {.dir = dir, .create = create, .no_sync = true};
    struct sirix_backend *backend = NULL;
    struct sirix_error err = {0};

    assert_int_equal(sirix_backend_open_lmdb(&options, &backend, &err), SIRIX_OK);
    return backend;
}

static void say(int pipe_fd)
{
    if (write(pipe_fd, "s", 1) != 1) {
        _exit(EXIT_FAILURE);
    }
}

/* The child: says one byte before each step, and ends when all are done. */
static void import_saying_each_step(const char *dir, struct sirix_bytes text, int pipe_fd)
{
    const struct sirix_edit_insert insert = {.target = 0};
    const struct sirix_edit_commit commit = {.author = bytes_of("me")};
    struct sirix_published published = {0};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_edit *edit = NULL;
    struct fixture f;
    bool changed = false;
    bool ok = true;

    fixture_open_on(&f, open_backend(dir, false), dir, false);
    edit = fixture_edit(&f, &view);
    ok = sirix_edit_insert_begin(edit, &insert, &err) == SIRIX_OK;
    for (size_t at = 0; at < text.len && ok; at += PIECE_BYTES) {
        size_t len = text.len - at < PIECE_BYTES ? text.len - at : PIECE_BYTES;
        say(pipe_fd);
        ok = sirix_edit_value_feed(
                 edit, (struct sirix_bytes){.data = (const char *)text.data + at, .len = len},
                 &err) == SIRIX_OK;
    }
    say(pipe_fd);
    ok = ok && sirix_edit_value_end(edit, &result, &err) == SIRIX_OK;
    say(pipe_fd);
    ok = ok && sirix_edit_commit(edit, &commit, &published, &changed, &err) == SIRIX_OK;
    say(pipe_fd);
    _exit(ok ? EXIT_SUCCESS : EXIT_FAILURE);
}

/* Kills the child after so many steps; whether it lived to be killed. */
static bool kill_after(const char *dir, struct sirix_bytes text, unsigned steps)
{
    int ends[2];
    int status = 0;
    char byte = 0;
    pid_t child = 0;

    assert_int_equal(pipe(ends), 0);
    child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        import_saying_each_step(dir, text, ends[1]);
    }
    (void)close(ends[1]);
    while (steps != 0 && read(ends[0], &byte, 1) == 1) {
        steps--;
    }
    (void)kill(child, SIGKILL);
    assert_int_equal(waitpid(child, &status, 0), child);
    (void)close(ends[0]);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) == EXIT_SUCCESS);
    return WIFSIGNALED(status);
}

static void an_import_killed_at_any_step_left_nothing_or_everything(void **state)
{
    char *text = malloc(TEXT_BYTES + 8192);
    struct records records;
    size_t len = 0;
    size_t more = 0;
    unsigned nothing = 0;
    unsigned steps_max = 0;

    (void)state;
    assert_non_null(text);
    records_init(&records, 5, TEXT_BYTES, false);
    while ((more = records_next(&records, text + len, 4096)) != 0) {
        len += more;
    }
    text[len] = '\0';
    steps_max = (unsigned)(len / PIECE_BYTES) + 4;
    for (unsigned i = 0; i < KILLS; i++) {
        /* The last steps are where it turns: each of them, then a spread over the others. */
        unsigned steps = i < 4 ? steps_max - i : 1 + i * steps_max / KILLS;
        char dir[] = "/tmp/sirix-kill-XXXXXX";
        struct fixture f;
        struct sirix_backend_stats fresh = {0};
        struct sirix_backend_stats stats = {0};
        struct sirix_error err = {0};
        struct sirix_view view;

        assert_non_null(mkdtemp(dir));
        fixture_open_on(&f, open_backend(dir, true), dir, true);
        assert_int_equal(sirix_backend_stats(f.backend, &fresh, &err), SIRIX_OK);
        fixture_close(&f);
        (void)kill_after(dir, (struct sirix_bytes){.data = text, .len = len}, steps);

        fixture_open_on(&f, open_backend(dir, false), dir, false);
        fixture_head(&f, &view);
        if (view.record.node_count == 0) {
            assert_int_equal(sirix_backend_stats(f.backend, &stats, &err), SIRIX_OK);
            assert_int_equal(stats.segment_count, fresh.segment_count);
            nothing++;
            import_bytes(&f, bytes_of("[1]"), 100);
            assert_head(&f, "[1]");
        } else {
            assert_head(&f, text);
        }
        sirix_view_close(&view);
        fixture_close(&f);
        temp_dir_remove(dir);
    }
    print_message("%u of %d imports left nothing\n", nothing, KILLS);
    assert_true(nothing > 0 && nothing < KILLS);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_import_killed_at_any_step_left_nothing_or_everything),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
