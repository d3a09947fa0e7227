/* statvfs and one preallocated file. */
#include "store/segment/space.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { FILE_MODE = 0640, FILE_SHARE = 8, DISK_SHARE = 100 };

static const char reserve_name[] = "reserve";

void sirix_space_init(struct sirix_space *space, int dir_fd, uint64_t stop_bytes)
{
    struct stat found;

    *space = (struct sirix_space){.dir_fd = dir_fd, .stop_bytes = stop_bytes};
    if (fstatat(dir_fd, reserve_name, &found, 0) == 0) {
        space->reserved = (uint64_t)found.st_size;
    }
}

enum sirix_status sirix_space_free(const struct sirix_space *space, uint64_t *out_free,
                                   uint64_t *out_stop, struct sirix_error *err)
{
    struct statvfs disk;

    if (fstatvfs(space->dir_fd, &disk) != 0) {
        return sirix_fail(err, SIRIX_IO, "ask for the free space: %s", strerror(errno));
    }
    uint64_t unit = disk.f_frsize;
    uint64_t stop = space->stop_bytes;
    if (stop == 0) {
        stop = disk.f_blocks * unit / DISK_SHARE;
        stop = stop < SIRIX_SPACE_STOP_BYTES ? SIRIX_SPACE_STOP_BYTES : stop;
    }
    *out_free = disk.f_bavail * unit;
    *out_stop = stop;
    return SIRIX_OK;
}

enum sirix_status sirix_space_check(const struct sirix_space *space, struct sirix_error *err)
{
    uint64_t free_bytes = 0;
    uint64_t stop_bytes = 0;
    enum sirix_status status = sirix_space_free(space, &free_bytes, &stop_bytes, err);

    if (status == SIRIX_OK && free_bytes < stop_bytes) {
        status = sirix_fail_reason(err, SIRIX_NO_SPACE, SIRIX_REASON_DISK_FULL,
                                   "the disk has %" PRIu64 " bytes free, writes stop below %" PRIu64
                                   "; reads go on, and writes that only delete",
                                   free_bytes, stop_bytes);
    }
    return status;
}

void sirix_space_keep_reserve(struct sirix_space *space, uint64_t file_bytes)
{
    uint64_t want = file_bytes / FILE_SHARE;
    uint64_t free_bytes = 0;
    uint64_t stop_bytes = 0;

    want = want < SIRIX_SPACE_RESERVE_BYTES_MIN ? SIRIX_SPACE_RESERVE_BYTES_MIN : want;
    want = want > SIRIX_SPACE_RESERVE_BYTES_MAX ? SIRIX_SPACE_RESERVE_BYTES_MAX : want;
    if (space->reserved >= want ||
        sirix_space_free(space, &free_bytes, &stop_bytes, NULL) != SIRIX_OK ||
        free_bytes < stop_bytes || free_bytes - stop_bytes < 2 * want) {
        return; /* No error: the reserve is a comfort, and the next call tries again. */
    }

    int fd = openat(space->dir_fd, reserve_name, O_WRONLY | O_CREAT | O_CLOEXEC, FILE_MODE);
    if (fd < 0) {
        return;
    }
    if (posix_fallocate(fd, 0, (off_t)want) == 0) {
        space->reserved = want;
    } else {
        (void)unlinkat(space->dir_fd, reserve_name, 0);
        space->reserved = 0;
    }
    (void)close(fd); /* Nothing was written to it. */
}

bool sirix_space_release_reserve(struct sirix_space *space)
{
    if (space->reserved == 0 || unlinkat(space->dir_fd, reserve_name, 0) != 0) {
        return false;
    }
    space->reserved = 0;
    return true;
}
