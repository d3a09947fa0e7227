/*
 * sirixctl export DB/RESOURCE[@WHAT]
 *
 * Writes the JSON text, followed by a newline; --json changes nothing about it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands/commands.h"

enum own_flag { FLAG_BRANCH, FLAG_NODE, FLAG_INDENT, FLAG_NDJSON, FLAG_OUTPUT };

static const struct sirixctl_flag own_flags[] = {
    [FLAG_BRANCH] = {"branch", "NAME", "of this branch instead of main"},
    [FLAG_NODE] = {"node", "NODE", "this node (key or path) instead of the whole"},
    [FLAG_INDENT] = {"indent", "N", "spaces a level, at most 8 (default 0: compact)"},
    [FLAG_NDJSON] = {"ndjson", NULL, "the elements of an array, one a line"},
    [FLAG_OUTPUT] = {"output", "FILE", "to this file, which appears when it is whole"},
};

enum { INDENT_MAX = 8, PATH_BYTES_MAX = 4096 };

static enum sirix_status copy_stream(struct sirix_document_stream *stream, struct sirixctl_out *out,
                                     struct sirix_error *err)
{
    struct sirix_bytes text = {0};
    bool ends_line = false;

    for (;;) {
        enum sirix_status status = sirix_document_stream_next(stream, &text, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (text.len == 0) {
            break;
        }
        sirixctl_out_json(out, text);
        if (ferror(out->file) != 0) {
            break; /* A full disk or a reader that went away: no use in reading on. */
        }
        ends_line = ((const char *)text.data)[text.len - 1] == '\n';
    }
    if (!ends_line) {
        sirixctl_out_printf(out, "\n");
    }
    return sirixctl_out_finish(out, err);
}

static enum sirix_status fail_file(struct sirix_error *err, const char *what, const char *path)
{
    return sirix_fail(err, SIRIX_IO, "%s `%s`: %s", what, path, strerror(errno));
}

/* Writes all of it to fd, which it closes; durable says whether the disk is waited for. */
static enum sirix_status copy_to_fd(struct sirix_document_stream *stream, int fd, const char *path,
                                    bool durable, struct sirix_error *err)
{
    FILE *file = fdopen(fd, "w");
    struct sirixctl_out out;

    if (file == NULL) {
        (void)close(fd);
        return fail_file(err, "write", path);
    }
    sirixctl_out_init(&out, file, false);
    enum sirix_status status = copy_stream(stream, &out, err);
    if (status == SIRIX_OK && durable && fsync(fd) != 0) {
        status = fail_file(err, "write", path);
    }
    if (fclose(file) != 0 && status == SIRIX_OK) {
        status = fail_file(err, "write", path);
    }
    return status;
}

/* The permissions that a new file would have got; mkstemp() gives fewer. */
static mode_t new_file_mode(void)
{
    mode_t mask = umask(0);

    (void)umask(mask);
    return 0666 & ~mask;
}

/* Into a new file beside the wanted one, which takes its name at the end. */
static enum sirix_status copy_to_file(struct sirix_document_stream *stream, const char *path,
                                      struct sirix_error *err)
{
    char part[PATH_BYTES_MAX];
    struct stat before = {0};
    bool exists = stat(path, &before) == 0;
    int len = snprintf(part, sizeof(part), "%s.XXXXXX", path);

    if (exists && !S_ISREG(before.st_mode)) {
        /* A device or pipe: it has no name to take. */
        int fd = open(path, O_WRONLY | O_CLOEXEC);

        return fd < 0 ? fail_file(err, "open", path) : copy_to_fd(stream, fd, path, false, err);
    }
    if (len < 0 || (size_t)len >= sizeof(part)) {
        return sirixctl_usage(err, "--output: the path is too long");
    }
    int fd = mkostemp(part, O_CLOEXEC);
    if (fd < 0) {
        return fail_file(err, "make a file beside", path);
    }
    (void)fchmod(fd, exists ? before.st_mode & 07777 : new_file_mode()); /* Else fewer. */
    enum sirix_status status = copy_to_fd(stream, fd, path, true, err);
    if (status == SIRIX_OK && rename(part, path) != 0) {
        status = fail_file(err, "rename to", path);
    }
    if (status != SIRIX_OK) {
        (void)unlink(part);
    }
    return status;
}

static enum sirix_status run(struct sirixctl *ctl, struct sirix_error *err)
{
    const char *const *flags = ctl->args.own;
    struct sirix_read_document_request request = {.ndjson = flags[FLAG_NDJSON] != NULL};
    struct sirix_document_stream *stream = NULL;
    struct sirixctl_name name;
    uint64_t indent = 0;
    enum sirix_status status = sirixctl_resource_operand(ctl, 0, &name, err);

    if (status == SIRIX_OK) {
        status = sirixctl_parse_optional(flags[FLAG_INDENT], "--indent", INDENT_MAX, &indent, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_target(flags[FLAG_NODE], &request.target, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_view(ctl, &name, flags[FLAG_BRANCH], &request.view, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    request.database = name.database;
    request.resource = name.resource;
    request.indent = (uint32_t)indent;
    status = sirix_client_read_document(ctl->client, &request, &ctl->call, &stream, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (flags[FLAG_OUTPUT] != NULL) {
        status = copy_to_file(stream, flags[FLAG_OUTPUT], err);
    } else {
        status = copy_stream(stream, &ctl->out, err);
    }
    sirix_document_stream_close(stream);
    return status;
}

const struct sirixctl_command sirixctl_export = {
    .name = "export",
    .operands = "DB/RESOURCE[@WHAT]",
    .summary = "Write a document, or a part of it, as JSON text",
    .answer = "the document, as without it",
    .flags = SIRIXCTL_FLAGS(own_flags),
    .operands_min = 1,
    .operands_max = 1,
    .needs = SIRIXCTL_NEEDS_READER,
    .run = run,
};
