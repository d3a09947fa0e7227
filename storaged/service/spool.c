/* Memory first, then a nameless file. */
#include "service/spool.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { FILE_MODE = 0600 };

void sirix_spool_init(struct sirix_spool *spool, const char *dir)
{
    *spool = (struct sirix_spool){.dir = dir, .fd = -1};
    sirix_buf_init(&spool->memory, SIRIX_SPOOL_MEMORY_BYTES);
}

void sirix_spool_deinit(struct sirix_spool *spool)
{
    if (spool->fd >= 0) {
        (void)close(spool->fd);
        spool->fd = -1;
    }
    sirix_buf_deinit(&spool->memory);
}

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing)
{
    int code = errno;
    bool full = code == ENOSPC || code == EDQUOT;
    char text[128];

    return sirix_fail_reason(err, full ? SIRIX_NO_SPACE : SIRIX_IO,
                             full ? SIRIX_REASON_DISK_FULL : SIRIX_REASON_NONE, "%s: %s", doing,
                             strerror_r(code, text, sizeof(text)));
}

static enum sirix_status write_all(int fd, const void *data, size_t len, struct sirix_error *err)
{
    const char *at = data;

    while (len > 0) {
        ssize_t written = write(fd, at, len);
        if (written < 0 && errno != EINTR) {
            return fail_errno(err, "write a spooled value");
        }
        if (written > 0) {
            at += written;
            len -= (size_t)written;
        }
    }
    return SIRIX_OK;
}

static enum sirix_status open_file(struct sirix_spool *spool, struct sirix_error *err)
{
    spool->fd = open(spool->dir, O_TMPFILE | O_RDWR | O_CLOEXEC, FILE_MODE);
    if (spool->fd < 0) {
        return fail_errno(err, "open a file for a spooled value");
    }
    enum sirix_status status = write_all(spool->fd, spool->memory.data, spool->memory.len, err);
    sirix_buf_deinit(&spool->memory);
    return status;
}

enum sirix_status sirix_spool_append(struct sirix_spool *spool, struct sirix_bytes piece,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (piece.len > SIRIX_SPOOL_BYTES_MAX - spool->len) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "streamed values have over %llu bytes together: use Import",
                                 (unsigned long long)SIRIX_SPOOL_BYTES_MAX);
    }
    if (spool->fd < 0 && piece.len <= SIRIX_SPOOL_MEMORY_BYTES - spool->memory.len) {
        status = sirix_buf_append_bytes(&spool->memory, piece, err);
    } else {
        if (spool->fd < 0) {
            status = open_file(spool, err);
        }
        if (status == SIRIX_OK) {
            status = write_all(spool->fd, piece.data, piece.len, err);
        }
    }
    if (status == SIRIX_OK) {
        spool->len += piece.len;
    }
    return status;
}

enum sirix_status sirix_spool_read(const struct sirix_spool *spool, uint64_t offset, uint64_t max,
                                   struct sirix_buf *scratch, struct sirix_bytes *out_piece,
                                   struct sirix_error *err)
{
    uint64_t len = spool->len - offset;

    assert(offset < spool->len);

    len = len > max ? max : len;
    len = len > SIRIX_SPOOL_PIECE_BYTES ? SIRIX_SPOOL_PIECE_BYTES : len;
    if (spool->fd < 0) {
        *out_piece = (struct sirix_bytes){.data = spool->memory.data + offset, .len = (size_t)len};
        return SIRIX_OK;
    }
    sirix_buf_clear(scratch);
    enum sirix_status status = sirix_buf_reserve(scratch, (size_t)len, err);
    if (status != SIRIX_OK) {
        return status;
    }
    ssize_t got = 0;
    do {
        got = pread(spool->fd, scratch->data, (size_t)len, (off_t)offset);
    } while (got < 0 && errno == EINTR);
    if (got <= 0) {
        return got < 0 ? fail_errno(err, "read a spooled value")
                       : sirix_fail(err, SIRIX_IO, "a spooled value ends early");
    }
    scratch->len = (size_t)got;
    *out_piece = sirix_buf_view(scratch);
    return SIRIX_OK;
}
