/* Checks, a lock, and sockets with long paths. */
#include "app/data_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum {
    FOLDER_MODE = 0700,
    OTHERS_MODE = 0077,
    MODE_BITS = 07777,
    LOCK_MODE = 0600,
    PID_TEXT_BYTES = 32,
};

static const char lock_name[] = "storaged.lock";

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing, const char *path)
{
    int code = errno;
    char text[128];

    return sirix_fail(err, code == ENOSPC ? SIRIX_NO_SPACE : SIRIX_IO, "%s %s: %s", doing, path,
                      strerror_r(code, text, sizeof(text)));
}

/* Locks and memory maps are not to be trusted there. */
static const char *network_name(long type)
{
    static const struct {
        unsigned long type;
        const char *name;
    } systems[] = {
        {NFS_SUPER_MAGIC, "NFS"},     {SMB_SUPER_MAGIC, "SMB"}, {CIFS_SUPER_MAGIC, "CIFS"},
        {SMB2_SUPER_MAGIC, "SMB"},    {AFS_SUPER_MAGIC, "AFS"}, {CODA_SUPER_MAGIC, "Coda"},
        {CEPH_SUPER_MAGIC, "Ceph"},   {V9FS_MAGIC, "9P"},       {0x0BD00BD0UL, "Lustre"},
        {OCFS2_SUPER_MAGIC, "OCFS2"}, {0x47504653UL, "GPFS"},
    };

    for (size_t i = 0; i < sizeof(systems) / sizeof(systems[0]); i++) {
        if ((unsigned long)type == systems[i].type) {
            return systems[i].name;
        }
    }
    return NULL;
}

/* Empty, or a data folder already: then closing it to others takes nothing from anybody. */
static bool is_ours_to_close(int fd)
{
    int copy = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = copy < 0 ? NULL : fdopendir(copy);
    bool empty = true;
    bool known = false;
    const struct dirent *entry = NULL;

    if (dir == NULL) {
        if (copy >= 0) {
            (void)close(copy);
        }
        return false;
    }
    while ((entry = readdir(dir)) != NULL) {
        /* libsirix, which starts embedded daemons, puts their log there before. */
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0 &&
            strcmp(entry->d_name, "storaged.log") != 0) {
            empty = false;
            known = known || strcmp(entry->d_name, lock_name) == 0;
        }
    }
    (void)closedir(dir);
    return empty || known;
}

/* *out_mode: as it is if it is open to others, else 0. */
static enum sirix_status check_folder(int fd, const char *path, unsigned *out_mode,
                                      struct sirix_error *err)
{
    struct stat info = {0};
    struct statfs system = {0};

    if (fstat(fd, &info) != 0 || fstatfs(fd, &system) != 0) {
        return fail_errno(err, "look at", path);
    }
    if (network_name(system.f_type) != NULL) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s lies on a network file system, %s, where neither locks nor memory "
                          "maps hold what a database needs",
                          path, network_name(system.f_type));
    }
    if (info.st_uid != geteuid()) {
        return sirix_fail(err, SIRIX_PRECONDITION, "%s belongs to another user (%u)", path,
                          (unsigned)info.st_uid);
    }
    unsigned mode = info.st_mode & MODE_BITS;
    if ((mode & S_ISVTX) != 0) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s is a place that all share (mode %04o): give a folder of its own",
                          path, mode);
    }
    if ((mode & OTHERS_MODE) != 0 && !is_ours_to_close(fd)) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s is open to others (mode %04o) and holds other things: give a folder "
                          "of its own, or chmod 700 it",
                          path, mode);
    }
    *out_mode = (mode & OTHERS_MODE) != 0 ? mode : 0;
    return SIRIX_OK;
}

/* Who holds the lock, for the message: what it wrote into the file. */
static void read_owner(int fd, char out[PID_TEXT_BYTES])
{
    ssize_t len = pread(fd, out, PID_TEXT_BYTES - 1, 0);

    out[len < 0 ? 0 : len] = '\0';
    out[strcspn(out, "\n")] = '\0';
}

static enum sirix_status lock_folder(struct sirix_data_folder *folder, struct sirix_error *err)
{
    char owner[PID_TEXT_BYTES];

    folder->lock_fd = openat(folder->fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC, LOCK_MODE);
    if (folder->lock_fd < 0 && errno == EROFS) {
        return sirix_fail(err, SIRIX_PRECONDITION,
                          "%s cannot be written (a read-only file system), and storaged keeps its "
                          "lock and its sockets there, also to read: copy the folder to where it "
                          "can be written, and give the copy",
                          folder->path);
    }
    if (folder->lock_fd < 0) {
        return fail_errno(err, "open the lock of", folder->path);
    }
    if (flock(folder->lock_fd, LOCK_EX | LOCK_NB) != 0) {
        if (errno != EWOULDBLOCK) {
            return fail_errno(err, "lock", folder->path);
        }
        read_owner(folder->lock_fd, owner);
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_LOCKED,
                                 "%s is in use by another storaged (process %s); there is one "
                                 "daemon a data folder: connect to it",
                                 folder->path, owner[0] == '\0' ? "unknown" : owner);
    }
    int len = snprintf(owner, sizeof(owner), "%ld\n", (long)getpid());
    if (ftruncate(folder->lock_fd, 0) != 0 ||
        pwrite(folder->lock_fd, owner, (size_t)len, 0) != (ssize_t)len) {
        return fail_errno(err, "write the lock of", folder->path);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_data_folder_check(const char *dir, struct sirix_error *err)
{
    unsigned mode = 0;
    int fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    if (fd < 0 && errno == ENOENT) {
        return SIRIX_OK; /* It will be made. */
    }
    if (fd < 0) {
        return fail_errno(err, "open folder", dir);
    }
    enum sirix_status status = check_folder(fd, dir, &mode, err);
    (void)close(fd);
    return status;
}

enum sirix_status sirix_data_folder_open(const char *dir, struct sirix_data_folder *out_folder,
                                         struct sirix_error *err)
{
    struct sirix_data_folder folder = {.fd = -1, .lock_fd = -1};

    if (mkdir(dir, FOLDER_MODE) != 0 && errno != EEXIST) {
        return fail_errno(err, "make folder", dir);
    }
    folder.path = realpath(dir, NULL);
    if (folder.path == NULL) {
        return fail_errno(err, "open folder", dir);
    }
    enum sirix_status status = SIRIX_OK;
    folder.fd = open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder.fd < 0) {
        status = fail_errno(err, "open folder", folder.path);
    }
    if (status == SIRIX_OK) {
        status = check_folder(folder.fd, folder.path, &folder.closed_mode, err);
    }
    if (status == SIRIX_OK) {
        status = lock_folder(&folder, err);
    }
    if (status == SIRIX_OK && folder.closed_mode != 0 && fchmod(folder.fd, FOLDER_MODE) != 0) {
        status = fail_errno(err, "close to others", folder.path);
    }
    if (status != SIRIX_OK) {
        sirix_data_folder_close(&folder);
        return status;
    }
    *out_folder = folder;
    return SIRIX_OK;
}

void sirix_data_folder_close(struct sirix_data_folder *folder)
{
    if (folder->lock_fd >= 0) {
        (void)close(folder->lock_fd); /* And the lock with it. */
    }
    if (folder->fd >= 0) {
        (void)close(folder->fd);
    }
    free(folder->path);
    *folder = (struct sirix_data_folder){.fd = -1, .lock_fd = -1};
}

enum sirix_status sirix_data_folder_socket(struct sirix_data_folder *folder, const char *name,
                                           char *out_address, size_t size, struct sirix_error *err)
{
    int len = snprintf(out_address, size, "unix:%s/%s", folder->path, name);

    if (unlinkat(folder->fd, name, 0) != 0 && errno != ENOENT) {
        return fail_errno(err, "remove the old socket", name);
    }
    if (len < 0 || (size_t)len >= size ||
        (size_t)len - strlen("unix:") > SIRIX_SOCKET_PATH_BYTES_MAX) {
        if (fchdir(folder->fd) != 0) {
            return fail_errno(err, "enter", folder->path);
        }
        (void)snprintf(out_address, size, "unix:%s", name);
    }
    return SIRIX_OK;
}
