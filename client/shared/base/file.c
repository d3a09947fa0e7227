/* Files are read until nothing comes, whatever size they say they have. */
#include "base/file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { READ_BYTES = 4096 };

static enum sirix_status fail_errno(const char *path, struct sirix_error *err)
{
    char text[128];

    return sirix_fail(err, SIRIX_IO, "read %s: %s", path, strerror_r(errno, text, sizeof(text)));
}

/* *out_got 0: it is at its end. */
static enum sirix_status read_some(int fd, const char *path, struct sirix_buf *into,
                                   ssize_t *out_got, struct sirix_error *err)
{
    size_t room = into->max - into->len < READ_BYTES ? into->max - into->len : READ_BYTES;
    uint8_t byte = 0;

    if (room == 0) { /* Full, which is well if the file has no more. */
        *out_got = read(fd, &byte, 1);
        if (*out_got > 0) {
            return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                     "%s has over %zu bytes", path, into->max);
        }
        return *out_got < 0 ? fail_errno(path, err) : SIRIX_OK;
    }
    enum sirix_status status = sirix_buf_reserve(into, room, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *out_got = read(fd, into->data + into->len, room);
    if (*out_got < 0) {
        return fail_errno(path, err);
    }
    into->len += (size_t)*out_got;
    return SIRIX_OK;
}

enum sirix_status sirix_file_read(const char *path, struct sirix_buf *into, struct stat *out_info,
                                  struct sirix_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY);
    struct stat info = {0};
    ssize_t got = 1;

    if (fd < 0) {
        return fail_errno(path, err);
    }
    enum sirix_status status = fstat(fd, &info) == 0 ? SIRIX_OK : fail_errno(path, err);
    while (status == SIRIX_OK && got != 0) {
        status = read_some(fd, path, into, &got, err);
    }
    (void)close(fd);
    if (status == SIRIX_OK) {
        *out_info = info;
    }
    return status;
}

bool sirix_file_has_changed(const struct stat *before, const struct stat *now)
{
    return before->st_dev != now->st_dev || before->st_ino != now->st_ino ||
           before->st_size != now->st_size || before->st_mtim.tv_sec != now->st_mtim.tv_sec ||
           before->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}
