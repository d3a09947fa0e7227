/* The data folder: whose it is, where it lies, who has it, and how its sockets are reached. */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cmocka.h>

#include "app/data_folder.h"

int __real_fstatfs(int fd, struct statfs *info);
int __wrap_fstatfs(int fd, struct statfs *info);
int __real_flock(int fd, int operation);
int __wrap_flock(int fd, int operation);
int __real_fchmod(int fd, mode_t mode);
int __wrap_fchmod(int fd, mode_t mode);
int __real_openat(int fd, const char *path, int flags, ...);
int __wrap_openat(int fd, const char *path, int flags, ...);
uid_t __real_geteuid(void);
uid_t __wrap_geteuid(void);

static long system_type; /* 0: the real one. */
static int failing_flock;
static int failing_fchmod;
static int failing_openat; /* Of what would be made. */
static uid_t other_user;   /* 0: the real one. */

int __wrap_fstatfs(int fd, struct statfs *info)
{
    int rc = __real_fstatfs(fd, info);

    if (system_type != 0) {
        info->f_type = system_type;
    }
    return rc;
}

int __wrap_flock(int fd, int operation)
{
    if (failing_flock != 0) {
        errno = failing_flock;
        return -1;
    }
    return __real_flock(fd, operation);
}

int __wrap_fchmod(int fd, mode_t mode)
{
    if (failing_fchmod != 0) {
        errno = failing_fchmod;
        return -1;
    }
    return __real_fchmod(fd, mode);
}

int __wrap_openat(int fd, const char *path, int flags, ...)
{
    va_list args;

    if ((flags & O_CREAT) == 0) {
        return __real_openat(fd, path, flags);
    }
    va_start(args, flags);
    mode_t mode = va_arg(args, mode_t);
    va_end(args);
    if (failing_openat != 0) {
        errno = failing_openat;
        return -1;
    }
    return __real_openat(fd, path, flags, mode);
}

uid_t __wrap_geteuid(void)
{
    return other_user != 0 ? other_user : __real_geteuid();
}

static char parent[64];
static char dir[96];

static int setup(void **state)
{
    (void)state;
    system_type = 0;
    failing_flock = 0;
    failing_fchmod = 0;
    failing_openat = 0;
    other_user = 0;
    (void)snprintf(parent, sizeof(parent), "/tmp/sirix_data_XXXXXX");
    if (mkdtemp(parent) == NULL) {
        return -1;
    }
    (void)snprintf(dir, sizeof(dir), "%s/data", parent);
    return 0;
}

static int teardown(void **state)
{
    const char *const names[] = {"/storaged.lock", "/other", "/storaged.sock", ""};
    char path[128];

    (void)state;
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        (void)snprintf(path, sizeof(path), "%s%s", dir, names[i]);
        (void)remove(path);
    }
    return rmdir(parent);
}

static unsigned mode_of(const char *path)
{
    struct stat info = {0};

    assert_int_equal(stat(path, &info), 0);
    return info.st_mode & 07777U;
}

static enum sirix_status open_folder(struct sirix_error *err)
{
    struct sirix_data_folder folder = {.fd = -1, .lock_fd = -1};
    enum sirix_status status = sirix_data_folder_open(dir, &folder, err);

    if (status == SIRIX_OK) {
        sirix_data_folder_close(&folder);
    }
    return status;
}

static void a_missing_folder_is_made_for_its_owner_alone(void **state)
{
    (void)state;
    assert_int_equal(open_folder(NULL), SIRIX_OK);
    assert_int_equal(mode_of(dir), 0700);
}

static void one_holder_at_a_time(void **state)
{
    struct sirix_data_folder first = {.fd = -1, .lock_fd = -1};
    struct sirix_error err = {0};
    char pid[32];

    (void)state;
    assert_int_equal(sirix_data_folder_open(dir, &first, NULL), SIRIX_OK);
    assert_int_equal(open_folder(&err), SIRIX_UNAVAILABLE);
    assert_int_equal(err.reason, SIRIX_REASON_LOCKED);
    (void)snprintf(pid, sizeof(pid), "process %ld", (long)getpid());
    assert_non_null(strstr(err.text, pid));
    sirix_data_folder_close(&first);
    assert_int_equal(open_folder(NULL), SIRIX_OK);
}

static void an_open_folder_is_closed_if_it_is_empty_or_ours(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0755), 0);
    assert_int_equal(open_folder(NULL), SIRIX_OK);
    assert_int_equal(mode_of(dir), 0700);
    assert_int_equal(chmod(dir, 0755), 0); /* With our lock in it: known. */
    assert_int_equal(open_folder(NULL), SIRIX_OK);
    assert_int_equal(mode_of(dir), 0700);
}

static void what_its_mode_was_is_known_if_it_was_closed(void **state)
{
    static const unsigned cases[][2] = {{0700, 0}, {0777, 0777}, {02750, 02750}, {0701, 0701}};

    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_data_folder folder = {.fd = -1, .lock_fd = -1};

        assert_int_equal(chmod(dir, cases[i][0]), 0);
        assert_int_equal(sirix_data_folder_open(dir, &folder, NULL), SIRIX_OK);
        assert_int_equal(folder.closed_mode, cases[i][1]);
        assert_int_equal(mode_of(dir), 0700);
        sirix_data_folder_close(&folder);
    }
}

static void a_place_that_all_share_is_refused_and_left_alone(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    assert_int_equal(mkdir(dir, 0700), 0);
    assert_int_equal(chmod(dir, 01777), 0);
    assert_int_equal(open_folder(&err), SIRIX_PRECONDITION);
    assert_non_null(strstr(err.text, "mode 1777"));
    assert_int_equal(sirix_data_folder_check(dir, NULL), SIRIX_PRECONDITION);
    assert_int_equal(mode_of(dir), 01777);
}

static void a_folder_that_cannot_be_written_is_refused_with_the_way_out(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    failing_openat = EROFS;
    assert_int_equal(open_folder(&err), SIRIX_PRECONDITION);
    assert_non_null(strstr(err.text, dir));
    assert_non_null(strstr(err.text, "copy the folder"));
    failing_openat = EACCES;
    assert_int_equal(open_folder(&err), SIRIX_IO);
}

static void an_open_folder_of_other_things_is_refused_and_left_alone(void **state)
{
    struct sirix_error err = {0};
    char path[128];

    (void)state;
    assert_int_equal(mkdir(dir, 0755), 0);
    (void)snprintf(path, sizeof(path), "%s/other", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);

    assert_int_equal(open_folder(&err), SIRIX_PRECONDITION);
    assert_non_null(strstr(err.text, "chmod 700"));
    assert_int_equal(mode_of(dir), 0755);
    assert_int_equal(chmod(dir, 0700), 0);
    assert_int_equal(open_folder(NULL), SIRIX_OK);
}

static void network_file_systems_are_refused_by_name(void **state)
{
    const struct {
        long type;
        const char *name;
    } cases[] = {{NFS_SUPER_MAGIC, "NFS"},
                 {(long)CIFS_SUPER_MAGIC, "CIFS"},
                 {(long)SMB2_SUPER_MAGIC, "SMB"},
                 {V9FS_MAGIC, "9P"},
                 {CEPH_SUPER_MAGIC, "Ceph"}};

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct sirix_error err = {0};
        system_type = cases[i].type;
        assert_int_equal(open_folder(&err), SIRIX_PRECONDITION);
        assert_non_null(strstr(err.text, cases[i].name));
        assert_int_equal(sirix_data_folder_check(dir, &err), SIRIX_PRECONDITION);
    }
    system_type = 0;
    assert_int_equal(sirix_data_folder_check(dir, NULL), SIRIX_OK);
}

static void somebody_elses_folder_is_refused(void **state)
{
    struct sirix_error err = {0};

    (void)state;
    other_user = 12345;
    assert_int_equal(open_folder(&err), SIRIX_PRECONDITION);
    assert_non_null(strstr(err.text, "another user"));
}

static void failures_of_the_system_are_io(void **state)
{
    (void)state;
    assert_int_equal(mkdir(dir, 0755), 0);
    failing_flock = ENOLCK;
    assert_int_equal(open_folder(NULL), SIRIX_IO);
    failing_flock = 0;
    failing_fchmod = EPERM;
    assert_int_equal(open_folder(NULL), SIRIX_IO);
    failing_fchmod = 0;
    assert_int_equal(open_folder(NULL), SIRIX_OK);
}

static void a_socket_with_a_short_path_is_named_whole_and_the_old_one_removed(void **state)
{
    struct sirix_data_folder folder = {.fd = -1, .lock_fd = -1};
    char address[4096];
    char path[128];

    (void)state;
    assert_int_equal(sirix_data_folder_open(dir, &folder, NULL), SIRIX_OK);
    (void)snprintf(path, sizeof(path), "%s/storaged.sock", dir);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fclose(file), 0);

    assert_int_equal(
        sirix_data_folder_socket(&folder, "storaged.sock", address, sizeof(address), NULL),
        SIRIX_OK);
    assert_string_equal(address + strlen("unix:"), path);
    assert_int_not_equal(access(path, F_OK), 0);
    sirix_data_folder_close(&folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_missing_folder_is_made_for_its_owner_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(one_holder_at_a_time, setup, teardown),
        cmocka_unit_test_setup_teardown(an_open_folder_is_closed_if_it_is_empty_or_ours, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(what_its_mode_was_is_known_if_it_was_closed, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_place_that_all_share_is_refused_and_left_alone, setup,
                                        teardown),
        cmocka_unit_test_setup_teardown(a_folder_that_cannot_be_written_is_refused_with_the_way_out,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(an_open_folder_of_other_things_is_refused_and_left_alone,
                                        setup, teardown),
        cmocka_unit_test_setup_teardown(network_file_systems_are_refused_by_name, setup, teardown),
        cmocka_unit_test_setup_teardown(somebody_elses_folder_is_refused, setup, teardown),
        cmocka_unit_test_setup_teardown(failures_of_the_system_are_io, setup, teardown),
        cmocka_unit_test_setup_teardown(
            a_socket_with_a_short_path_is_named_whole_and_the_old_one_removed, setup, teardown),
    };
    return cmocka_run_group_tests_name("app data folder", tests, NULL, NULL);
}
