/*
 * sirixctl backup DB FILE                  everything at one instant, its history included
 * sirixctl backup DB FILE --since BASE     what came since the backup in the file BASE
 * sirixctl restore DB FILE...              a new database out of one, and of what is on top of it
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "base/sha256.h"
#include "cli/commands/commands.h"
#include "cli/interrupt.h"
#include "cli/progress.h"

enum {
    PATH_BYTES_MAX = 4096,
    TAIL_BYTES = 8,                /* The length of the last frame. */
    FRAME_BYTES_MAX = 1024 * 1024, /* More than a last frame can have. */
    FILE_MODE = 0600,              /* It holds all that the database does. */
};

static enum sirix_status fail_file(struct sirix_error *err, const char *what, const char *path)
{
    enum sirix_status status = errno == ENOENT   ? SIRIX_NOT_FOUND
                               : errno == ENOSPC ? SIRIX_NO_SPACE
                                                 : SIRIX_IO;

    return sirix_fail(err, status, "%s `%s`: %s", what, path, strerror(errno));
}

/* The name of the database that an operand is. */
static enum sirix_status database_operand(const struct sirixctl *ctl, struct sirix_error *err)
{
    return sirixctl_check_operand(ctl, 0, SIRIX_NAME_DATABASE, err);
}

/* --- Backup ------------------------------------------------------------------------------------- */

enum backup_flag { FLAG_SINCE };

static const struct sirixctl_flag backup_flags[] = {
    [FLAG_SINCE] = {"since", "BASE", "only what came since the backup in this file"},
};

static enum sirix_status read_at(int fd, const char *path, void *out, size_t len, off_t at,
                                 struct sirix_error *err)
{
    ssize_t got = pread(fd, out, len, at);

    if (got < 0) {
        return fail_file(err, "read", path);
    }
    return (size_t)got == len
               ? SIRIX_OK
               : sirix_fail(err, SIRIX_CORRUPT, "`%s` is no whole backup: it ends early", path);
}

/* The last frame of a backup; the caller's to free. */
static enum sirix_status read_base(const char *path, struct sirix_bytes *out_frame,
                                   struct sirix_error *err)
{
    struct stat file = {0};
    uint8_t tail[TAIL_BYTES];
    uint8_t *frame = NULL;
    uint64_t len = 0;
    enum sirix_status status = SIRIX_OK;
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0 || fstat(fd, &file) != 0) {
        status = fail_file(err, "open", path);
        goto out;
    }
    status = read_at(fd, path, tail, sizeof(tail),
                     file.st_size < TAIL_BYTES ? 0 : file.st_size - TAIL_BYTES, err);
    len = status == SIRIX_OK ? sirix_load_u64le(tail) : 0;
    if (status == SIRIX_OK &&
        (len < TAIL_BYTES || len > FRAME_BYTES_MAX || len > (uint64_t)file.st_size)) {
        status =
            sirix_fail(err, SIRIX_CORRUPT, "`%s` is no whole backup: its end is missing", path);
    }
    frame = status == SIRIX_OK ? malloc(len) : NULL;
    if (status == SIRIX_OK && frame == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "allocate the end of a backup");
    }
    if (status == SIRIX_OK) {
        status = read_at(fd, path, frame, len, file.st_size - (off_t)len, err);
    }
    if (status == SIRIX_OK) {
        *out_frame = (struct sirix_bytes){.data = frame, .len = len};
        frame = NULL;
    }

out:
    free(frame);
    if (fd >= 0) {
        (void)close(fd);
    }
    return status;
}

static enum sirix_status write_all(int fd, const char *path, struct sirix_bytes bytes,
                                   struct sirix_error *err)
{
    const uint8_t *at = bytes.data;

    while (bytes.len != 0) {
        ssize_t written = write(fd, at, bytes.len);
        if (written < 0 && errno != EINTR) {
            return fail_file(err, "write", path);
        }
        if (written > 0) {
            at += written;
            bytes.len -= (size_t)written;
        }
    }
    return SIRIX_OK;
}

/* All of the stream to fd; *out_end is its last part, whose bytes are copied to sha. */
static enum sirix_status copy_stream(struct sirixctl *ctl, struct sirix_backup_stream *stream,
                                     int fd, const char *path, struct sirix_backup_part *out_end,
                                     uint8_t sha[SIRIX_SHA256_BYTES], struct sirix_error *err)
{
    struct sirix_backup_part part = {.kind = SIRIX_BACKUP_PART_START};
    struct sirixctl_progress progress;
    enum sirix_status status = sirix_backup_stream_next(stream, &part, err);

    sirixctl_progress_start(&progress, "backup", part.incremental ? 0 : part.estimated_bytes,
                            !ctl->quiet && !ctl->json && fd != STDOUT_FILENO);
    while (status == SIRIX_OK && part.kind != SIRIX_BACKUP_PART_END) {
        status = sirix_backup_stream_next(stream, &part, err);
        if (status == SIRIX_OK && part.kind == SIRIX_BACKUP_PART_DATA) {
            sirixctl_progress_add(&progress, part.data.len);
            status = write_all(fd, path, part.data, err);
        }
    }
    sirixctl_progress_stop(&progress);
    if (status == SIRIX_OK && part.sha256.len != SIRIX_SHA256_BYTES) {
        status = sirix_fail(err, SIRIX_INTERNAL, "the server names the backup in no form of ours");
    }
    if (status == SIRIX_OK) {
        memcpy(sha, part.sha256.data, SIRIX_SHA256_BYTES);
        *out_end = part;
    }
    return status;
}

/* Into a new file beside the wanted one, which takes its name when it is whole and on disk. */
static enum sirix_status copy_to_file(struct sirixctl *ctl, struct sirix_backup_stream *stream,
                                      const char *path, struct sirix_backup_part *out_end,
                                      uint8_t sha[SIRIX_SHA256_BYTES], struct sirix_error *err)
{
    char part[PATH_BYTES_MAX];
    int len = snprintf(part, sizeof(part), "%s.XXXXXX", path);

    if (strcmp(path, "-") == 0) {
        return copy_stream(ctl, stream, STDOUT_FILENO, "stdout", out_end, sha, err);
    }
    if (len < 0 || (size_t)len >= sizeof(part)) {
        return sirixctl_usage(err, "the path of the file is too long");
    }
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0) {
        return fail_file(err, "make a file beside", path);
    }
    enum sirix_status status = copy_stream(ctl, stream, fd, path, out_end, sha, err);
    if (status == SIRIX_OK && (fchmod(fd, FILE_MODE) != 0 || fsync(fd) != 0)) {
        status = fail_file(err, "write", path);
    }
    if (close(fd) != 0 && status == SIRIX_OK) {
        status = fail_file(err, "write", path);
    }
    if (status == SIRIX_OK && rename(part, path) != 0) {
        status = fail_file(err, "rename to", path);
    }
    if (status != SIRIX_OK) {
        (void)unlink(part);
    }
    return status;
}

static enum sirix_status tell_backup(struct sirixctl *ctl, const struct sirix_backup_part *end,
                                     const uint8_t sha[SIRIX_SHA256_BYTES], bool incremental,
                                     struct sirix_error *err)
{
    char hex[SIRIX_SHA256_HEX_BYTES];
    struct sirixctl_json json;
    char size[16];

    sirix_sha256_hex(sha, hex);
    if (!ctl->json) {
        sirixctl_format_bytes(end->bytes, size);
        if (!ctl->quiet && strcmp(ctl->args.operands[1], "-") != 0) {
            sirixctl_out_printf(&ctl->out, "%s, ", size);
            sirixctl_out_count(&ctl->out, end->segments, "segment");
            sirixctl_out_printf(&ctl->out, "%s\nsha256 %s\n",
                                incremental ? ", on top of the base" : "", hex);
        }
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_u64(&json, "bytes", end->bytes);
    sirixctl_json_u64(&json, "segments", end->segments);
    sirixctl_json_bool(&json, "incremental", incremental);
    sirixctl_json_str(&json, "sha256", hex);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status run_backup(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *since = ctl->args.own[FLAG_SINCE];
    const char *path = ctl->args.operands[1];
    struct sirix_backup_stream *stream = NULL;
    struct sirix_bytes base = {.data = NULL, .len = 0};
    struct sirix_backup_part end = {.kind = SIRIX_BACKUP_PART_END};
    uint8_t sha[SIRIX_SHA256_BYTES] = {0};
    enum sirix_status status = database_operand(ctl, err);

    if (status == SIRIX_OK && strcmp(path, "-") == 0 && (ctl->json || isatty(STDOUT_FILENO))) {
        status = sirixctl_usage(err, "a backup goes to a file, or with - to a pipe");
    }
    if (status == SIRIX_OK && since != NULL) {
        status = read_base(since, &base, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_client_backup(ctl->client, ctl->args.operands[0], base, &ctl->call, &stream, err);
    }
    if (status == SIRIX_OK) {
        status = copy_to_file(ctl, stream, path, &end, sha, err);
    }
    if (status == SIRIX_OK) {
        status = tell_backup(ctl, &end, sha, since != NULL, err);
    }
    sirix_backup_stream_close(stream);
    union {
        const void *in;
        void *out;
    } frame = {.in = base.data};
    free(frame.out);
    return status;
}

const struct sirixctl_command sirixctl_backup = {
    .name = "backup",
    .operands = "DB FILE",
    .summary = "Keep a database, with its history, in a file",
    .details =
        "Others may write meanwhile: the file holds the database as it was at one instant. It\n"
        "appears when it is whole. FILE - writes to a pipe.",
    .answer = "{\"bytes\",\"segments\",\"incremental\",\"sha256\"}",
    .flags = SIRIXCTL_FLAGS(backup_flags),
    .operands_min = 2,
    .operands_max = 2,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_backup,
};

/* --- Restore ------------------------------------------------------------------------------------ */

/* Files, one after the other. */
struct files {
    const char *const *paths;
    size_t count;
    size_t at;
    int fd; /* -1: the next is to be opened. */
    struct sirixctl_progress progress;
};

/* The present file, opened if it is not; *out_len 0: it is at its end. */
static enum sirix_status read_present(struct files *files, void *buffer, size_t capacity,
                                      size_t *out_len, struct sirix_error *err)
{
    const char *path = files->paths[files->at];
    ssize_t len = 0;

    if (files->fd < 0) {
        files->fd = strcmp(path, "-") == 0 ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    }
    if (files->fd < 0) {
        return fail_file(err, "open", path);
    }
    do {
        if (!sirixctl_interrupt_wait_readable(files->fd)) {
            return sirix_fail(err, SIRIX_CANCELLED, "the restore was interrupted");
        }
        len = read(files->fd, buffer, capacity);
    } while (len < 0 && (errno == EINTR || errno == EAGAIN));
    if (len < 0) {
        return fail_file(err, "read", path);
    }
    *out_len = (size_t)len;
    return SIRIX_OK;
}

static void close_present(struct files *files)
{
    if (files->fd >= 0 && files->fd != STDIN_FILENO) {
        (void)close(files->fd);
    }
    files->fd = -1;
}

static enum sirix_status read_files(void *context, void *buffer, size_t capacity, size_t *out_len,
                                    struct sirix_error *err)
{
    struct files *files = context;
    size_t len = 0;

    for (; len == 0 && files->at < files->count; files->at += len == 0 ? 1 : 0) {
        enum sirix_status status = read_present(files, buffer, capacity, &len, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (len == 0) {
            close_present(files);
        }
    }
    sirixctl_progress_add(&files->progress, len);
    *out_len = len;
    return SIRIX_OK;
}

static uint64_t size_of_all(const struct files *files)
{
    uint64_t bytes = 0;

    for (size_t i = 0; i < files->count; i++) {
        struct stat file = {0};
        if (stat(files->paths[i], &file) != 0 || !S_ISREG(file.st_mode)) {
            return 0;
        }
        bytes += (uint64_t)file.st_size;
    }
    return bytes;
}

/* The offset of damage is that of all the files together: which file is it, and where in it? */
static void name_file(const struct files *files, struct sirix_error *err)
{
    uint64_t before = 0;

    if (err == NULL || !err->has_offset) {
        return;
    }
    for (size_t i = 0; i < files->count; i++) {
        struct stat file = {0};
        if (stat(files->paths[i], &file) != 0 || !S_ISREG(file.st_mode)) {
            return;
        }
        if (err->offset < before + (uint64_t)file.st_size || i + 1 == files->count) {
            size_t len = strlen(err->text);
            err->offset -= before;
            (void)snprintf(err->text + len, sizeof(err->text) - len,
                           " (byte %" PRIu64 " of `%.200s`)", err->offset, files->paths[i]);
            return;
        }
        before += (uint64_t)file.st_size;
    }
}

static enum sirix_status tell_restore(struct sirixctl *ctl,
                                      const struct sirix_restore_result *result,
                                      struct sirix_error *err)
{
    struct sirixctl_json json;

    if (!ctl->json) {
        if (!ctl->quiet) {
            sirixctl_out_printf(&ctl->out, "restored ");
            sirixctl_out_str(&ctl->out, ctl->args.operands[0]);
            sirixctl_out_printf(&ctl->out, " as of ");
            sirixctl_out_time(&ctl->out, result->made_at_us);
            sirixctl_out_printf(&ctl->out, ": ");
            sirixctl_out_count(&ctl->out, result->resources, "resource");
            sirixctl_out_printf(&ctl->out, ", ");
            sirixctl_out_count(&ctl->out, result->revisions, "revision");
            sirixctl_out_printf(&ctl->out, ", all checked\n");
        }
        return SIRIX_OK;
    }
    sirixctl_json_init(&json);
    sirixctl_json_object(&json, NULL);
    sirixctl_json_u64(&json, "backups", result->backups);
    sirixctl_json_u64(&json, "segments", result->segments);
    sirixctl_json_u64(&json, "bytes", result->bytes);
    sirixctl_json_u64(&json, "resources", result->resources);
    sirixctl_json_u64(&json, "revisions", result->revisions);
    sirixctl_json_time(&json, "madeAt", result->made_at_us);
    sirixctl_json_object_end(&json);
    return sirixctl_json_finish(&json, &ctl->out, err);
}

static enum sirix_status run_restore(struct sirixctl *ctl, struct sirix_error *err)
{
    struct files files = {
        .paths = ctl->args.operands + 1, .count = ctl->args.operand_count - 1, .fd = -1};
    const struct sirix_source source = {.read = read_files, .context = &files};
    struct sirix_restore_result result = {0};
    enum sirix_status status = database_operand(ctl, err);

    for (size_t i = 0; status == SIRIX_OK && i < files.count; i++) {
        if (strcmp(files.paths[i], "-") != 0 && access(files.paths[i], R_OK) != 0) {
            status = fail_file(err, "open", files.paths[i]);
        }
    }
    if (status == SIRIX_OK) {
        status = sirixctl_connect(ctl, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    sirixctl_progress_start(&files.progress, "restore", size_of_all(&files),
                            !ctl->quiet && !ctl->json);
    status =
        sirix_client_restore(ctl->client, ctl->args.operands[0], &source, &ctl->call, &result, err);
    sirixctl_progress_stop(&files.progress);
    close_present(&files);
    if (status != SIRIX_OK) {
        name_file(&files, err);
        return status;
    }
    return tell_restore(ctl, &result, err);
}

const struct sirixctl_command sirixctl_restore = {
    .name = "restore",
    .operands = "DB FILE...",
    .summary = "Make a new database out of a backup",
    .details =
        "The first FILE is a full backup, the others the incremental ones on top of it, in order.\n"
        "DB may be another name than the one that was backed up, and must not be there. "
        "Everything\n"
        "is checked, the hash chain included, before DB appears; otherwise nothing is left. FILE "
        "-\n"
        "reads a pipe.",
    .answer = "{\"backups\",\"segments\",\"bytes\",\"resources\",\"revisions\",\"madeAt\"}",
    .operands_min = 2,
    .operands_max = SIRIXCTL_OPERANDS_MAX,
    .needs = SIRIXCTL_NEEDS_WRITER,
    .run = run_restore,
};
