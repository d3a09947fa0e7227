/* Writing the audit log. */
#include "guard/audit.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/hash.h"
#include "base/sha256.h"

enum { INSTANCE_CHARS = 12, STAMP_BYTES = 20 };

struct sirix_audit {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* Nobody syncs. */
    const struct sirix_clock *clock;
    char stem[SIRIX_AUDIT_PATH_BYTES_MAX]; /* Of the files; "": stderr. */
    char file[SIRIX_AUDIT_PATH_BYTES_MAX];
    const char *suffix; /* ".jsonl" */
    char instance[INSTANCE_CHARS + 1];
    int fd;
    unsigned syncing; /* Threads that sync fd. */
    unsigned part;
    uint64_t file_bytes;
    uint64_t bytes; /* Of the file: all of whole lines. */
    uint64_t seq;   /* Of the next line. */
    char previous[SIRIX_SHA256_HEX_BYTES];
    bool is_broken; /* A piece of a line is on the file and cannot be taken back. */
    struct sirix_buf line;
};

/* --- Lines ----------------------------------------------------------------------------------------- */

static enum sirix_status write_all(int fd, const uint8_t *data, size_t len, struct sirix_error *err)
{
    while (len != 0) {
        const ssize_t done = write(fd, data, len);

        if (done < 0 && errno == EINTR) {
            continue;
        }
        if (done <= 0) {
            return sirix_fail(err, SIRIX_IO, "cannot write the audit log: %s",
                              strerror(done == 0 ? ENOSPC : errno));
        }
        data += done;
        len -= (size_t)done;
    }
    return SIRIX_OK;
}

/* The line with its hash into audit->line, and the hash in hex. */
static enum sirix_status make_line(struct sirix_audit *audit, const char *event,
                                   struct sirix_bytes members, char hash[SIRIX_SHA256_HEX_BYTES],
                                   struct sirix_error *err)
{
    struct sirix_buf *line = &audit->line;
    uint8_t digest[SIRIX_SHA256_BYTES];
    char time[SIRIX_TIME_TEXT_BYTES];

    sirix_buf_clear(line);
    (void)sirix_time_format(sirix_clock_realtime_us(audit->clock), time);
    enum sirix_status status =
        sirix_buf_printf(line, err, "{\"seq\":%" PRIu64 ",\"time\":\"%s\",\"event\":\"%s\"",
                         audit->seq, time, event);
    if (status == SIRIX_OK && members.len != 0) {
        status = sirix_buf_append_u8(line, ',', err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_bytes(line, members, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_printf(line, err, ",\"prev\":\"%s\"", audit->previous);
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256(line->data, line->len, digest, err);
    }
    if (status == SIRIX_OK) {
        sirix_sha256_hex(digest, hash);
        status = sirix_buf_printf(line, err, ",\"hash\":\"%s\"}\n", hash);
    }
    return status;
}

/* With the lock. */
static enum sirix_status append_locked(struct sirix_audit *audit, const char *event,
                                       struct sirix_bytes members, uint64_t *out_seq,
                                       struct sirix_error *err)
{
    char hash[SIRIX_SHA256_HEX_BYTES];
    enum sirix_status status = audit->is_broken
                                   ? sirix_fail(err, SIRIX_IO, "the audit log ended in an error")
                                   : make_line(audit, event, members, hash, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = write_all(audit->fd, audit->line.data, audit->line.len, err);
    if (status != SIRIX_OK) {
        /* Of stderr nothing can be taken back, but a line that is cut is seen as one. */
        audit->is_broken = audit->stem[0] == '\0' || ftruncate(audit->fd, (off_t)audit->bytes) != 0;
        return status;
    }
    audit->bytes += audit->line.len;
    memcpy(audit->previous, hash, sizeof(hash));
    *out_seq = audit->seq++;
    return SIRIX_OK;
}

/* --- Files ----------------------------------------------------------------------------------------- */

/* A file is there after a power failure only once its folder is on the disk. */
static enum sirix_status sync_folder(const char *file, struct sirix_error *err)
{
    char folder[SIRIX_AUDIT_PATH_BYTES_MAX] = ".";
    const char *slash = strrchr(file, '/');

    if (slash != NULL) {
        const size_t len = slash == file ? 1 : (size_t)(slash - file);

        memcpy(folder, file, len);
        folder[len] = '\0';
    }
    const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const bool is_done = fd >= 0 && fsync(fd) == 0;
    const int reason = errno;
    if (fd >= 0) {
        (void)close(fd);
    }
    return is_done ? SIRIX_OK
                   : sirix_fail(err, SIRIX_IO, "cannot use the folder of the audit log %s: %s",
                                file, strerror(reason));
}

static enum sirix_status open_part(const struct sirix_audit *audit, unsigned part,
                                   char file[SIRIX_AUDIT_PATH_BYTES_MAX], int *out_fd,
                                   struct sirix_error *err)
{
    char number[16] = "";

    if (part > 1) {
        (void)snprintf(number, sizeof(number), ".%u", part);
    }
    if ((size_t)snprintf(file, SIRIX_AUDIT_PATH_BYTES_MAX, "%s%s%s", audit->stem, number,
                         audit->suffix) >= SIRIX_AUDIT_PATH_BYTES_MAX) {
        return sirix_fail(err, SIRIX_INVALID, "auditLogPath is too long");
    }
    const int fd =
        open(file, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, S_IRUSR | S_IWUSR);
    if (fd < 0) {
        return sirix_fail(err, SIRIX_IO, "cannot make the audit log %s: %s", file, strerror(errno));
    }
    enum sirix_status status = sync_folder(file, err);
    if (status != SIRIX_OK) {
        (void)close(fd);
        return status;
    }
    *out_fd = fd;
    return SIRIX_OK;
}

static enum sirix_status write_genesis(struct sirix_audit *audit, struct sirix_error *err)
{
    char members[128];
    uint64_t seq = 0;
    const int len = snprintf(members, sizeof(members),
                             "\"instance\":\"%s\",\"part\":%u,\"pid\":%ld,\"version\":\"%s\"",
                             audit->instance, audit->part, (long)getpid(), SIRIX_VERSION);

    return append_locked(audit, "genesis", (struct sirix_bytes){members, (size_t)len}, &seq, err);
}

/* With the lock: goes on in the next file. The one before is whole and on the disk. */
static enum sirix_status rotate(struct sirix_audit *audit, struct sirix_error *err)
{
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};
    char file[SIRIX_AUDIT_PATH_BYTES_MAX];
    uint64_t seq = 0;
    int fd = -1;

    while (audit->syncing != 0) {
        (void)pthread_cond_wait(&audit->idle, &audit->lock);
    }
    if (audit->bytes < audit->file_bytes) {
        return SIRIX_OK; /* Another thread did it meanwhile. */
    }
    /* The next file first: without one, this one goes on. */
    enum sirix_status status = open_part(audit, audit->part + 1, file, &fd, err);
    if (status == SIRIX_OK) {
        status = append_locked(audit, "rotate", nothing, &seq, err);
    }
    if (status == SIRIX_OK && fdatasync(audit->fd) != 0) {
        status = sirix_fail(err, SIRIX_IO, "cannot write the audit log: %s", strerror(errno));
        audit->is_broken = true; /* The file has ended, and no other one goes on. */
    }
    if (status != SIRIX_OK) {
        if (fd >= 0) {
            (void)close(fd);
            (void)unlink(file);
        }
        return status;
    }
    (void)close(audit->fd);
    memcpy(audit->file, file, sizeof(audit->file));
    audit->fd = fd;
    audit->part++;
    audit->bytes = 0;
    return write_genesis(audit, err);
}

/* --- Life ------------------------------------------------------------------------------------------ */

/* The folders above the file. */
static enum sirix_status make_folders(const char *path, struct sirix_error *err)
{
    char folder[SIRIX_AUDIT_PATH_BYTES_MAX];

    for (size_t i = 1; path[i] != '\0'; i++) {
        if (path[i] != '/') {
            continue;
        }
        memcpy(folder, path, i);
        folder[i] = '\0';
        if (mkdir(folder, S_IRWXU) != 0 && errno != EEXIST) {
            return sirix_fail(err, SIRIX_IO, "cannot make the folder %s of the audit log: %s",
                              folder, strerror(errno));
        }
    }
    return SIRIX_OK;
}

/* audit.jsonl -> audit-TIME-INSTANCE and .jsonl */
static enum sirix_status make_stem(struct sirix_audit *audit, const char *path,
                                   struct sirix_error *err)
{
    char time[SIRIX_TIME_TEXT_BYTES];
    char stamp[STAMP_BYTES] = "";
    size_t len = strlen(path);
    size_t used = 0;

    (void)sirix_time_format(sirix_clock_realtime_us(audit->clock), time);
    memcpy(time + strcspn(time, ".Z"), "Z", sizeof("Z")); /* To the second. */
    for (const char *at = time; *at != '\0' && used + 1 < sizeof(stamp); at++) {
        if (*at != '-' && *at != ':') {
            stamp[used++] = *at;
        }
    }
    audit->suffix = "";
    if (len > 6 && strcmp(path + len - 6, ".jsonl") == 0) {
        audit->suffix = ".jsonl";
        len -= 6;
    } else if (len > 4 && strcmp(path + len - 4, ".log") == 0) {
        audit->suffix = ".log";
        len -= 4;
    }
    return len < sizeof(audit->stem) &&
                   (size_t)snprintf(audit->stem, sizeof(audit->stem), "%.*s-%s-%s", (int)len, path,
                                    stamp, audit->instance) < sizeof(audit->stem)
               ? make_folders(audit->stem, err)
               : sirix_fail(err, SIRIX_INVALID, "auditLogPath is too long");
}

static enum sirix_status start(struct sirix_audit *audit, const char *path, struct sirix_error *err)
{
    char id[SIRIX_RANDOM_ID_BYTES];
    enum sirix_status status = sirix_random_id(id, err);

    if (status != SIRIX_OK) {
        return status;
    }
    memcpy(audit->instance, id, INSTANCE_CHARS);
    memset(audit->previous, '0', sizeof(audit->previous) - 1);
    if (path != NULL) {
        status = make_stem(audit, path, err);
        if (status == SIRIX_OK) {
            status = open_part(audit, 1, audit->file, &audit->fd, err);
        }
    } else {
        audit->fd = STDERR_FILENO;
    }
    return status == SIRIX_OK ? write_genesis(audit, err) : status;
}

static void release(struct sirix_audit *audit)
{
    if (audit->fd >= 0 && audit->stem[0] != '\0') {
        (void)close(audit->fd);
    }
    sirix_buf_deinit(&audit->line);
    (void)pthread_cond_destroy(&audit->idle);
    (void)pthread_mutex_destroy(&audit->lock);
    free(audit);
}

enum sirix_status sirix_audit_open(const struct sirix_audit_options *options,
                                   struct sirix_audit **out, struct sirix_error *err)
{
    struct sirix_audit *audit = calloc(1, sizeof(*audit));

    if (audit == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory");
    }
    audit->fd = -1;
    audit->part = 1;
    audit->clock = options->clock != NULL ? options->clock : sirix_clock_system();
    audit->file_bytes = options->file_bytes != 0 ? options->file_bytes : SIRIX_AUDIT_FILE_BYTES;
    sirix_buf_init(&audit->line, SIRIX_AUDIT_LINE_BYTES_MAX);
    (void)pthread_mutex_init(&audit->lock, NULL);
    (void)pthread_cond_init(&audit->idle, NULL);
    enum sirix_status status = start(audit, options->path, err);
    if (status != SIRIX_OK) {
        release(audit);
        return status;
    }
    *out = audit;
    return SIRIX_OK;
}

void sirix_audit_close(struct sirix_audit *audit)
{
    static const struct sirix_bytes nothing = {.data = NULL, .len = 0};

    if (audit == NULL) {
        return;
    }
    if (sirix_audit_append(audit, "end", nothing, true, NULL, NULL) != SIRIX_OK) {
        audit->is_broken = true; /* The log then says that the process did not end by itself. */
    }
    release(audit);
}

const char *sirix_audit_file(const struct sirix_audit *audit)
{
    return audit->stem[0] == '\0' ? NULL : audit->file;
}

enum sirix_status sirix_audit_append(struct sirix_audit *audit, const char *event,
                                     struct sirix_bytes members, bool is_durable, uint64_t *out_seq,
                                     struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint64_t seq = 0;

    (void)pthread_mutex_lock(&audit->lock);
    if (audit->stem[0] != '\0' && audit->bytes >= audit->file_bytes) {
        status = rotate(audit, err);
    }
    if (status == SIRIX_OK) {
        status = append_locked(audit, event, members, &seq, err);
    }
    if (status == SIRIX_OK && is_durable && audit->stem[0] != '\0') {
        /* Others may append meanwhile, and their lines ride along. */
        audit->syncing++;
        (void)pthread_mutex_unlock(&audit->lock);
        if (fdatasync(audit->fd) != 0) {
            status = sirix_fail(err, SIRIX_IO, "cannot write the audit log: %s", strerror(errno));
        }
        (void)pthread_mutex_lock(&audit->lock);
        if (--audit->syncing == 0) {
            (void)pthread_cond_broadcast(&audit->idle);
        }
    }
    (void)pthread_mutex_unlock(&audit->lock);
    if (status == SIRIX_OK && out_seq != NULL) {
        *out_seq = seq;
    }
    return status;
}
