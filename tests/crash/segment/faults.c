#include "crash/segment/faults.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
    bool armed;
    struct fault_plan plan;
    int64_t count;
    bool skip_syncs;
    int failed_sync_fd; /* A write-back error is told once to each descriptor. */
    off_t quota;
    const struct fault_watcher *watcher;
} faults = {.failed_sync_fd = -1};

void faults_skip_syncs(void)
{
    faults.skip_syncs = true;
}

void faults_arm(const struct fault_plan *plan)
{
    faults.plan = *plan;
    faults.count = 0;
    faults.failed_sync_fd = -1;
    faults.armed = true;
}

int64_t faults_disarm(void)
{
    faults.armed = false;
    faults.failed_sync_fd = -1;
    return faults.count;
}

void faults_set_quota(off_t bytes)
{
    faults.quota = bytes;
}

void faults_watch(const struct fault_watcher *watcher)
{
    faults.watcher = watcher;
}

static void die(void)
{
    (void)raise(SIGKILL);
}

/* Counts a call; true when the plan's effect befalls it. */
static bool is_hit(enum fault_call call)
{
    if (!faults.armed || (faults.plan.calls & call) == 0) {
        return false;
    }
    int64_t at = faults.count++;
    bool hit = faults.plan.nth >= 0 &&
               (at == faults.plan.nth || (faults.plan.and_all_after && at > faults.plan.nth));
    if (hit && faults.plan.effect == FAULT_KILLS_BEFORE) {
        die();
    }
    return hit;
}

static bool fails(bool hit)
{
    return hit && (faults.plan.effect == FAULT_FAILS || faults.plan.effect == FAULT_IS_SHORT);
}

static void after(bool hit)
{
    if (hit && faults.plan.effect == FAULT_KILLS_AFTER) {
        die();
    }
}

/* --- Writes ----------------------------------------------------------------------------------- */

/* How many of len bytes at offset may be written; -1 with errno when none. */
static ssize_t allowed(bool hit, size_t len, off_t offset)
{
    if (hit && faults.plan.effect == FAULT_IS_SHORT) {
        return (ssize_t)(len / 2);
    }
    if (hit && faults.plan.effect == FAULT_FAILS) {
        errno = faults.plan.error;
        return -1;
    }
    if (faults.quota != 0 && offset + (off_t)len > faults.quota) {
        if (offset >= faults.quota) {
            errno = ENOSPC;
            return -1;
        }
        return (ssize_t)(faults.quota - offset);
    }
    return (ssize_t)len;
}

static void note_write(int fd, const void *data, size_t len, off_t offset)
{
    if (faults.watcher != NULL && len != 0) {
        bool synced = (fcntl(fd, F_GETFL) & O_DSYNC) != 0;
        faults.watcher->written(faults.watcher->context, fd, data, len, offset, synced);
    }
}

ssize_t __real_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset);
ssize_t __wrap_pwrite(int fd, const void *data, size_t len, off_t offset)
{
    bool hit = is_hit(FAULT_WRITE);
    ssize_t part = allowed(hit, len, offset);

    if (part < 0) {
        return -1;
    }
    ssize_t written = __real_pwrite(fd, data, (size_t)part, offset);
    if (written > 0) {
        note_write(fd, data, (size_t)written, offset);
    }
    after(hit);
    return written;
}

ssize_t __real_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count);
ssize_t __wrap_writev(int fd, const struct iovec *parts, int count)
{
    bool hit = is_hit(FAULT_WRITE);
    off_t offset = lseek(fd, 0, SEEK_CUR);
    size_t len = 0;
    ssize_t total = 0;

    for (int i = 0; i < count; i++) {
        len += parts[i].iov_len;
    }
    ssize_t part = allowed(hit, len, offset);
    if (part < 0) {
        return -1;
    }
    /* One by one, so that it can be cut anywhere. */
    for (int i = 0; i < count && total < part; i++) {
        size_t want =
            parts[i].iov_len < (size_t)(part - total) ? parts[i].iov_len : (size_t)(part - total);
        ssize_t written = __real_pwrite(fd, parts[i].iov_base, want, offset + total);
        if (written < 0) {
            return total == 0 ? -1 : total;
        }
        note_write(fd, parts[i].iov_base, (size_t)written, offset + total);
        total += written;
    }
    (void)lseek(fd, offset + total, SEEK_SET);
    after(hit);
    return total;
}

/* --- Syncs ------------------------------------------------------------------------------------ */

static int sync_file(int fd, int (*real)(int fd))
{
    bool hit = is_hit(FAULT_SYNC);

    if (fails(hit)) {
        faults.failed_sync_fd = fd;
        errno = faults.plan.error;
        return -1;
    }
    if (faults.failed_sync_fd >= 0 && faults.failed_sync_fd != fd) {
        faults.failed_sync_fd = -1;
        errno = faults.plan.error;
        return -1;
    }
    int rc = faults.skip_syncs ? 0 : real(fd);
    if (rc == 0 && faults.watcher != NULL) {
        faults.watcher->synced(faults.watcher->context, fd);
    }
    after(hit);
    return rc;
}

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);
int __wrap_fdatasync(int fd)
{
    return sync_file(fd, __real_fdatasync);
}

int __real_fsync(int fd);
int __wrap_fsync(int fd);
int __wrap_fsync(int fd)
{
    return sync_file(fd, __real_fsync);
}

int __real_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...);
int __wrap_open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    int mode = (flags & O_CREAT) != 0 ? va_arg(args, int) : 0;
    va_end(args);
    /* The watcher needs the flag; without one it only costs time. */
    if (faults.skip_syncs && faults.watcher == NULL) {
        flags &= ~O_DSYNC;
    }
    return __real_open(path, flags, mode);
}

/* --- Memory ----------------------------------------------------------------------------------- */

void *__real_malloc(size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_malloc(size_t size)
{
    if (fails(is_hit(FAULT_ALLOC))) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_malloc(size);
}

void *__real_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_calloc(size_t count, size_t size)
{
    if (fails(is_hit(FAULT_ALLOC))) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_calloc(count, size);
}

void *__real_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size);
void *__wrap_realloc(void *old, size_t size)
{
    if (fails(is_hit(FAULT_ALLOC))) {
        errno = ENOMEM;
        return NULL;
    }
    return __real_realloc(old, size);
}

int __real_posix_memalign(void **out, size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size);
int __wrap_posix_memalign(void **out, size_t align, size_t size)
{
    return fails(is_hit(FAULT_ALLOC)) ? ENOMEM : __real_posix_memalign(out, align, size);
}

void *__real_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset);
void *__wrap_mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
    if (fails(is_hit(FAULT_MMAP))) {
        errno = ENOMEM;
        return MAP_FAILED;
    }
    return __real_mmap(at, len, prot, flags, fd, offset);
}
