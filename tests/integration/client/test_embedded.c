/* Finding and starting the daemon of a folder. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "server.h"

extern char **environ;

enum { PATH_BYTES = 512, CROWD = 20, END_LIMIT_MS = 60 * 1000 };

static struct server_program program;
static struct sirix_error err;
static char folder[PATH_BYTES];
static const char *self;

static int set_up(void **state)
{
    (void)state;
    err = (struct sirix_error){0};
    (void)snprintf(folder, sizeof(folder), "/tmp/sirix embedded %%41#?XXXXXX");
    assert_non_null(mkdtemp(folder));
    return 0;
}

static int tear_down(void **state)
{
    char command[PATH_BYTES + 16];

    (void)state;
    (void)snprintf(command, sizeof(command), "rm -rf '%s'", folder);
    return system(command);
}

static enum sirix_status open_in(const char *directory, bool read_only,
                                 struct sirix_client **out_client)
{
    const struct sirix_embedded_options options = {
        .read_only = read_only, .program = program.script, .client = {.client_name = "test"}};

    return sirix_embedded_open(directory, &options, out_client, &err);
}

static uint32_t daemon_of(struct sirix_client *client)
{
    struct sirix_server_status *status = NULL;

    assert_int_equal(sirix_client_status(client, NULL, &status, &err), SIRIX_OK);
    uint32_t pid = status->process_id;
    sirix_client_free(status);
    return pid;
}

/* How many daemons ever got hold of the folder. */
static int starts_in(const char *directory)
{
    char path[PATH_BYTES + 16];
    char line[32];
    int count = 0;

    (void)snprintf(path, sizeof(path), "%s/starts", directory);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof(line), file) != NULL) {
        count++;
    }
    (void)fclose(file);
    return count;
}

/* Waits for the process to end; whoever has to reap it may do that later. */
static void wait_for_end(uint32_t pid)
{
    int fd = (int)syscall(SYS_pidfd_open, (pid_t)pid, 0);
    struct pollfd ended = {.fd = fd, .events = POLLIN};

    if (fd >= 0) {
        assert_int_equal(poll(&ended, 1, END_LIMIT_MS), 1);
        (void)close(fd);
    } else {
        assert_int_equal(errno, ESRCH);
    }
    (void)waitpid((pid_t)pid, NULL, WNOHANG); /* If it is a child of ours. */
}

static void the_first_client_starts_it_and_the_second_finds_it(void **state)
{
    struct sirix_client *first = NULL;
    struct sirix_client *second = NULL;

    (void)state;
    assert_int_equal(open_in(folder, false, &first), SIRIX_OK);
    assert_int_equal(open_in(folder, false, &second), SIRIX_OK);

    assert_int_equal(daemon_of(first), daemon_of(second));
    sirix_client_close(first);
    sirix_client_close(second);
}

static void a_folder_that_is_missing_is_made_for_its_owner_alone(void **state)
{
    struct sirix_client *client = NULL;
    char missing[PATH_BYTES + 16];
    struct stat stat_of = {0};

    (void)state;
    (void)snprintf(missing, sizeof(missing), "%s/new", folder);
    assert_int_equal(open_in(missing, false, &client), SIRIX_OK);
    assert_int_equal(stat(missing, &stat_of), 0);
    assert_int_equal(stat_of.st_mode & 0777, 0700);
    sirix_client_close(client);
    (void)snprintf(missing, sizeof(missing), "%s/two/levels", folder);
    assert_int_equal(open_in(missing, false, &client), SIRIX_NOT_FOUND);
}

static void a_path_longer_than_a_socket_address_works(void **state)
{
    struct sirix_client *client = NULL;
    char deep[PATH_BYTES + 128];

    (void)state;
    (void)snprintf(deep, sizeof(deep), "%s/%0100d", folder, 1);
    assert_int_equal(open_in(deep, false, &client), SIRIX_OK);
    assert_true(daemon_of(client) != 0);
    sirix_client_close(client);
}

static void a_reader_is_a_reader(void **state)
{
    struct sirix_client *client = NULL;

    (void)state;
    assert_int_equal(open_in(folder, true, &client), SIRIX_OK);
    assert_int_equal(sirix_client_create_database(client, "db", NULL, NULL, &err),
                     SIRIX_PERMISSION);
    assert_int_equal(err.reason, SIRIX_REASON_READ_ONLY);
    sirix_client_close(client);
}

static void it_ends_after_its_last_client_and_the_next_one_starts_another(void **state)
{
    struct sirix_client *client = NULL;

    (void)state;
    assert_int_equal(open_in(folder, false, &client), SIRIX_OK);
    uint32_t first = daemon_of(client);
    sirix_client_close(client);
    wait_for_end(first);

    assert_int_equal(open_in(folder, false, &client), SIRIX_OK);
    assert_true(daemon_of(client) != first);
    assert_int_equal(starts_in(folder), 2);
    sirix_client_close(client);
}

static void a_client_holds_it(void **state)
{
    struct sirix_client *client = NULL;

    (void)state;
    assert_int_equal(open_in(folder, false, &client), SIRIX_OK);
    uint32_t pid = daemon_of(client);

    /* Three times the fake's patience without a call; then it is still the same one. */
    assert_int_equal(poll(NULL, 0, 900), 0);

    assert_int_equal(daemon_of(client), pid);
    sirix_client_close(client);
}

static void a_daemon_that_was_killed_is_replaced_by_the_next_call(void **state)
{
    struct sirix_client *client = NULL;
    struct sirix_write_options write = {0};

    (void)state;
    assert_int_equal(open_in(folder, false, &client), SIRIX_OK);
    uint32_t first = daemon_of(client);
    assert_int_equal(kill((pid_t)first, SIGKILL), 0);
    wait_for_end(first);
    assert_int_not_equal(daemon_of(client), first); /* A read. */

    uint32_t second = daemon_of(client);
    assert_int_equal(kill((pid_t)second, SIGKILL), 0);
    wait_for_end(second);
    /* A write without a key: nothing of it was sent when the daemon was found dead. */
    assert_int_equal(sirix_client_create_database(client, "db", &write, NULL, &err), SIRIX_OK);
    sirix_client_close(client);
}

/* How the fake server of the folder shall behave. */
static void set_mode(const char *mode)
{
    char path[PATH_BYTES + 16];

    (void)snprintf(path, sizeof(path), "%s/fake_mode", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(mode, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void a_daemon_that_cannot_start_is_quoted_without_its_control_characters(void **state)
{
    struct sirix_client *client = NULL;

    (void)state;
    set_mode("broken");
    assert_int_equal(open_in(folder, false, &client), SIRIX_UNAVAILABLE);
    assert_non_null(strstr(err.text, "code 74"));
    assert_non_null(strstr(err.text, "the disk ?[31mis on fire"));
}

static void a_program_that_is_not_there_is_named(void **state)
{
    const struct sirix_embedded_options options = {.program = "/nowhere/storaged"};
    struct sirix_client *client = NULL;

    (void)state;
    assert_int_equal(sirix_embedded_open(folder, &options, &client, &err), SIRIX_NOT_FOUND);
    assert_non_null(strstr(err.text, "/nowhere/storaged"));
}

/* This program again, as one of a crowd: opens the folder, prints the daemon's id, waits. */
static int be_one_of_a_crowd(const char *directory)
{
    struct sirix_client *client = NULL;
    char byte = 0;

    if (open_in(directory, false, &client) != SIRIX_OK) {
        (void)fprintf(stderr, "open: %s\n", err.text);
        return 1;
    }
    (void)printf("%u\n", daemon_of(client));
    (void)fflush(stdout);
    (void)!read(STDIN_FILENO, &byte, 1); /* Until all have printed. */
    sirix_client_close(client);
    return 0;
}

struct crowd {
    pid_t pids[CROWD];
    FILE *says[CROWD];
    int hold; /* Closed to let them go. */
};

static void start_crowd(struct crowd *crowd)
{
    int hold[2];

    assert_int_equal(pipe(hold), 0);
    for (size_t i = 0; i < CROWD; i++) {
        posix_spawn_file_actions_t actions;
        char path[PATH_BYTES];
        char *argv[] = {path, (char *)(uintptr_t)program.script, (char *)(uintptr_t)program.stubs,
                        folder, NULL};
        int says[2];

        (void)snprintf(path, sizeof(path), "%s", self);
        assert_int_equal(pipe(says), 0);
        assert_int_equal(posix_spawn_file_actions_init(&actions), 0);
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, hold[0], STDIN_FILENO), 0);
        assert_int_equal(posix_spawn_file_actions_adddup2(&actions, says[1], STDOUT_FILENO), 0);
        assert_int_equal(posix_spawn_file_actions_addclosefrom_np(&actions, 3), 0);
        assert_int_equal(posix_spawn(&crowd->pids[i], self, &actions, NULL, argv, environ), 0);
        (void)posix_spawn_file_actions_destroy(&actions);
        (void)close(says[1]);
        crowd->says[i] = fdopen(says[0], "r");
        assert_non_null(crowd->says[i]);
    }
    (void)close(hold[0]);
    crowd->hold = hold[1];
}

static void a_crowd_that_comes_at_once_ends_with_one_daemon(void **state)
{
    struct crowd crowd;
    unsigned long daemon = 0;

    (void)state;
    set_mode("patient"); /* On a busy machine the first client may be slow to attach. */
    start_crowd(&crowd);
    for (size_t i = 0; i < CROWD; i++) {
        char line[32] = "";

        assert_non_null(fgets(line, sizeof(line), crowd.says[i]));
        unsigned long one = strtoul(line, NULL, 10);
        assert_true(one != 0);
        assert_true(daemon == 0 || one == daemon);
        daemon = one;
    }

    (void)close(crowd.hold);
    for (size_t i = 0; i < CROWD; i++) {
        int state_of = 0;

        assert_int_equal(waitpid(crowd.pids[i], &state_of, 0), crowd.pids[i]);
        assert_int_equal(state_of, 0);
        (void)fclose(crowd.says[i]);
    }
    assert_int_equal(starts_in(folder), 1);
    assert_int_equal(kill((pid_t)daemon, SIGKILL), 0);
    wait_for_end((uint32_t)daemon);
}

int main(int argc, char **argv)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_first_client_starts_it_and_the_second_finds_it),
        TEST(a_folder_that_is_missing_is_made_for_its_owner_alone),
        TEST(a_path_longer_than_a_socket_address_works),
        TEST(a_reader_is_a_reader),
        TEST(it_ends_after_its_last_client_and_the_next_one_starts_another),
        TEST(a_client_holds_it),
        TEST(a_daemon_that_was_killed_is_replaced_by_the_next_call),
        TEST(a_daemon_that_cannot_start_is_quoted_without_its_control_characters),
        TEST(a_program_that_is_not_there_is_named),
        TEST(a_crowd_that_comes_at_once_ends_with_one_daemon),
    };

    self = argv[0];
    if (argc == 4) {
        program = server_program_from(3, argv);
        return be_one_of_a_crowd(argv[3]);
    }
    program = server_program_from(argc, argv);
    return cmocka_run_group_tests_name("embedded", tests, NULL, NULL);
}
