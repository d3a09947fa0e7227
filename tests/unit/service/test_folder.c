/* Folders by descriptor: what is made, renamed, measured and deleted, and what failing leaves. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "service/folder.h"

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __real_renameat(int from_at, const char *from, int to_at, const char *to);
int __wrap_renameat(int from_at, const char *from, int to_at, const char *to);

static int failing_fsync;
static int failing_rename;

int __wrap_fsync(int fd)
{
    if (failing_fsync != 0) {
        errno = failing_fsync;
        return -1;
    }
    return __real_fsync(fd);
}

int __wrap_renameat(int from_at, const char *from, int to_at, const char *to)
{
    if (failing_rename != 0) {
        errno = failing_rename;
        return -1;
    }
    return __real_renameat(from_at, from, to_at, to);
}

static char dir[64];
static struct sirix_folder *folder;

static int setup(void **state)
{
    (void)state;
    failing_fsync = 0;
    failing_rename = 0;
    (void)snprintf(dir, sizeof(dir), "/tmp/sirix_folder_XXXXXX");
    return mkdtemp(dir) != NULL && sirix_folder_open(dir, "in", &folder, NULL) == SIRIX_OK ? 0 : -1;
}

static int teardown(void **state)
{
    struct sirix_folder *parent = NULL;
    char *slash = strrchr(dir, '/');

    (void)state;
    failing_fsync = 0;
    failing_rename = 0;
    sirix_folder_close(folder);
    if (sirix_folder_open("/", "tmp", &parent, NULL) != SIRIX_OK ||
        sirix_folder_delete(parent, slash + 1, NULL) != SIRIX_OK) {
        return -1;
    }
    sirix_folder_close(parent);
    return 0;
}

static void put_file(const char *name, size_t len)
{
    char path[256];

    (void)snprintf(path, sizeof(path), "%s/in/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    for (size_t i = 0; i < len; i++) {
        (void)fputc('x', file);
    }
    assert_int_equal(fclose(file), 0);
}

static bool is_there(const char *name)
{
    bool is = false;

    assert_int_equal(sirix_folder_exists(folder, name, &is, NULL), SIRIX_OK);
    return is;
}

static bool count_names(void *context, const char *name)
{
    assert_true(strcmp(name, "a") == 0 || strcmp(name, "b") == 0);
    ++*(int *)context;
    return true;
}

static void only_folders_are_listed(void **state)
{
    int count = 0;

    (void)state;
    assert_int_equal(sirix_folder_make(folder, "a", NULL), SIRIX_OK);
    assert_int_equal(sirix_folder_make(folder, "b", NULL), SIRIX_OK);
    put_file("file", 1);

    assert_int_equal(sirix_folder_list(folder, count_names, &count, NULL), SIRIX_OK);
    assert_int_equal(count, 2);
    assert_false(is_there("file"));
}

static void a_folder_is_deleted_with_everything_in_it_and_a_link_alone(void **state)
{
    char path[256];

    (void)state;
    assert_int_equal(sirix_folder_make(folder, "keep", NULL), SIRIX_OK);
    put_file("keep/precious", 1);
    assert_int_equal(sirix_folder_make(folder, "a", NULL), SIRIX_OK);
    assert_int_equal(sirix_folder_make(folder, "a/b", NULL), SIRIX_OK);
    put_file("a/one", 10);
    put_file("a/b/two", 10);
    (void)snprintf(path, sizeof(path), "%s/in/a/link", dir);
    assert_int_equal(symlink("../keep", path), 0);

    assert_int_equal(sirix_folder_delete(folder, "a", NULL), SIRIX_OK);
    assert_false(is_there("a"));
    (void)snprintf(path, sizeof(path), "%s/in/keep/precious", dir);
    assert_int_equal(access(path, F_OK), 0);
    assert_int_equal(sirix_folder_delete(folder, "a", NULL), SIRIX_OK); /* Again: no failure. */
}

static void what_is_too_deep_is_left_alone(void **state)
{
    char name[256] = "d";
    struct sirix_error err = {0};

    (void)state;
    for (int i = 0; i <= SIRIX_FOLDER_DEPTH_MAX; i++) {
        assert_int_equal(sirix_folder_make(folder, name, NULL), SIRIX_OK);
        (void)strncat(name, "/d", sizeof(name) - strlen(name) - 1);
    }
    assert_int_equal(sirix_folder_delete(folder, "d", &err), SIRIX_IO);
    assert_true(is_there("d"));
    assert_int_equal(sirix_folder_delete(folder, "d/d", NULL), SIRIX_OK);
}

static void bytes_on_disk_are_counted(void **state)
{
    uint64_t empty = 0;
    uint64_t full = 0;

    (void)state;
    assert_int_equal(sirix_folder_make(folder, "a", NULL), SIRIX_OK);
    assert_int_equal(sirix_folder_bytes(folder, "a", &empty, NULL), SIRIX_OK);
    put_file("a/file", 100000);
    assert_int_equal(sirix_folder_bytes(folder, "a", &full, NULL), SIRIX_OK);
    assert_true(full >= empty + 100000);
    assert_int_equal(sirix_folder_bytes(folder, "none", &full, NULL), SIRIX_NOT_FOUND);
}

static void a_rename_that_fails_says_why(void **state)
{
    const struct {
        int code;
        enum sirix_status status;
    } cases[] = {{ENOSPC, SIRIX_NO_SPACE},
                 {EDQUOT, SIRIX_NO_SPACE},
                 {EIO, SIRIX_IO},
                 {ENOMEM, SIRIX_NO_MEMORY}};

    (void)state;
    assert_int_equal(sirix_folder_make(folder, "a", NULL), SIRIX_OK);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_error err = {0};
        failing_rename = cases[i].code;
        assert_int_equal(sirix_folder_rename(folder, "a", "b", &err), cases[i].status);
        failing_rename = 0;
        failing_fsync = cases[i].code;
        assert_int_equal(sirix_folder_rename(folder, "a", "a", &err), cases[i].status);
        failing_fsync = 0;
    }
    assert_int_equal(sirix_folder_rename(folder, "a", "b", NULL), SIRIX_OK);
    assert_true(is_there("b"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(only_folders_are_listed, setup, teardown),
        cmocka_unit_test_setup_teardown(a_folder_is_deleted_with_everything_in_it_and_a_link_alone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(what_is_too_deep_is_left_alone, setup, teardown),
        cmocka_unit_test_setup_teardown(bytes_on_disk_are_counted, setup, teardown),
        cmocka_unit_test_setup_teardown(a_rename_that_fails_says_why, setup, teardown),
    };
    return cmocka_run_group_tests_name("service folder", tests, NULL, NULL);
}
