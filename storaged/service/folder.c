/* Folders by descriptor. Walks keep one open folder a level, at most SIRIX_FOLDER_DEPTH_MAX. */
#include "service/folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct sirix_folder {
    int fd;
    char *path;
};

enum { FOLDER_MODE = 0700, STAT_BLOCK_BYTES = 512 };

static enum sirix_status fail_errno(struct sirix_error *err, const char *doing, const char *name)
{
    int code = errno;
    enum sirix_status status = code == ENOSPC || code == EDQUOT ? SIRIX_NO_SPACE
                               : code == ENOMEM                 ? SIRIX_NO_MEMORY
                                                                : SIRIX_IO;
    char text[128];

    return sirix_fail_reason(err, status,
                             status == SIRIX_NO_SPACE ? SIRIX_REASON_DISK_FULL : SIRIX_REASON_NONE,
                             "%s %s: %s", doing, name, strerror_r(code, text, sizeof(text)));
}

enum sirix_status sirix_folder_open(const char *dir, const char *name,
                                    struct sirix_folder **out_folder, struct sirix_error *err)
{
    struct sirix_folder *folder = calloc(1, sizeof(*folder));

    if (folder == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a folder");
    }
    folder->fd = -1;
    if (asprintf(&folder->path, "%s/%s", dir, name) < 0) {
        free(folder);
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a path");
    }
    enum sirix_status status = SIRIX_OK;
    if (mkdir(folder->path, FOLDER_MODE) != 0 && errno != EEXIST) {
        status = fail_errno(err, "make folder", folder->path);
    } else {
        folder->fd = open(folder->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (folder->fd < 0) {
            status = fail_errno(err, "open folder", folder->path);
        }
    }
    if (status != SIRIX_OK) {
        sirix_folder_close(folder);
        return status;
    }
    *out_folder = folder;
    return SIRIX_OK;
}

void sirix_folder_close(struct sirix_folder *folder)
{
    if (folder == NULL) {
        return;
    }
    if (folder->fd >= 0) {
        (void)close(folder->fd);
    }
    free(folder->path);
    free(folder);
}

enum sirix_status sirix_folder_path(const struct sirix_folder *folder, const char *name, char *out,
                                    size_t size, struct sirix_error *err)
{
    int len = snprintf(out, size, "%s/%s", folder->path, name);

    if (len < 0 || (size_t)len >= size) {
        return sirix_fail(err, SIRIX_INVALID, "the path of the data folder is too long");
    }
    return SIRIX_OK;
}

static enum sirix_status sync_folder(const struct sirix_folder *folder, struct sirix_error *err)
{
    return fsync(folder->fd) == 0 ? SIRIX_OK : fail_errno(err, "sync folder", folder->path);
}

enum sirix_status sirix_folder_make(struct sirix_folder *folder, const char *name,
                                    struct sirix_error *err)
{
    if (mkdirat(folder->fd, name, FOLDER_MODE) != 0) {
        return fail_errno(err, "make folder", name);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_folder_exists(const struct sirix_folder *folder, const char *name,
                                      bool *out_is, struct sirix_error *err)
{
    struct stat info = {0};

    if (fstatat(folder->fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0) {
        *out_is = S_ISDIR(info.st_mode);
        return SIRIX_OK;
    }
    if (errno == ENOENT) {
        *out_is = false;
        return SIRIX_OK;
    }
    return fail_errno(err, "look for folder", name);
}

enum sirix_status sirix_folder_rename(struct sirix_folder *folder, const char *from, const char *to,
                                      struct sirix_error *err)
{
    if (renameat(folder->fd, from, folder->fd, to) != 0) {
        return fail_errno(err, "rename folder", from);
    }
    return sync_folder(folder, err);
}

/* One level of a walk over everything below an entry. */
struct level {
    DIR *dir;
    char name[NAME_MAX + 1]; /* In the level above. */
};

static DIR *open_dir(int at, const char *name)
{
    int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    DIR *dir = fd < 0 ? NULL : fdopendir(fd);

    if (dir == NULL && fd >= 0) {
        (void)close(fd);
    }
    return dir;
}

static bool is_dot(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Everything below an entry, files where they are met, folders after what is in them. */
typedef int (*visit_fn)(void *context, int at, const char *name, bool is_folder);

struct walking {
    struct level levels[SIRIX_FOLDER_DEPTH_MAX];
    size_t depth;
    int at;
    visit_fn visit;
    void *context;
};

static int enter(struct walking *walking, int at, const char *name)
{
    struct level *level = &walking->levels[walking->depth];

    if (walking->depth == SIRIX_FOLDER_DEPTH_MAX) {
        errno = ELOOP;
        return -1;
    }
    (void)snprintf(level->name, sizeof(level->name), "%s", name);
    level->dir = open_dir(at, name);
    if (level->dir == NULL) {
        return -1;
    }
    walking->depth++;
    return 0;
}

/* The deepest folder is empty by now, or at least done. */
static int go_back(struct walking *walking)
{
    struct level *level = &walking->levels[--walking->depth];
    int above = walking->depth == 0 ? walking->at : dirfd(walking->levels[walking->depth - 1].dir);

    (void)closedir(level->dir);
    return walking->visit(walking->context, above, level->name, true);
}

static int step(struct walking *walking)
{
    DIR *dir = walking->levels[walking->depth - 1].dir;
    struct stat info = {0};

    errno = 0;
    const struct dirent *entry = readdir(dir);
    if (entry == NULL) {
        return errno != 0 ? -1 : go_back(walking);
    }
    if (is_dot(entry->d_name)) {
        return 0;
    }
    if (fstatat(dirfd(dir), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    return S_ISDIR(info.st_mode)
               ? enter(walking, dirfd(dir), entry->d_name)
               : walking->visit(walking->context, dirfd(dir), entry->d_name, false);
}

static int walk(int at, const char *name, visit_fn visit, void *context)
{
    struct walking walking = {.at = at, .visit = visit, .context = context};

    int rc = enter(&walking, at, name);
    while (rc == 0 && walking.depth > 0) {
        rc = step(&walking);
    }
    int saved = errno;
    while (walking.depth > 0) {
        (void)closedir(walking.levels[--walking.depth].dir);
    }
    errno = saved;
    return rc;
}

static int visit_delete(void *context, int at, const char *name, bool is_folder)
{
    (void)context;
    if (unlinkat(at, name, is_folder ? AT_REMOVEDIR : 0) != 0 && errno != ENOENT) {
        return -1;
    }
    return 0;
}

enum sirix_status sirix_folder_delete(struct sirix_folder *folder, const char *name,
                                      struct sirix_error *err)
{
    if (walk(folder->fd, name, visit_delete, NULL) != 0) {
        return errno == ENOENT ? SIRIX_OK : fail_errno(err, "delete folder", name);
    }
    return SIRIX_OK;
}

static int visit_measure(void *context, int at, const char *name, bool is_folder)
{
    uint64_t *bytes = context;
    struct stat info = {0};

    (void)is_folder;
    if (fstatat(at, name, &info, AT_SYMLINK_NOFOLLOW) != 0) {
        return errno == ENOENT ? 0 : -1;
    }
    *bytes += (uint64_t)info.st_blocks * STAT_BLOCK_BYTES;
    return 0;
}

enum sirix_status sirix_folder_bytes(const struct sirix_folder *folder, const char *name,
                                     uint64_t *out_bytes, struct sirix_error *err)
{
    uint64_t bytes = 0;

    if (walk(folder->fd, name, visit_measure, &bytes) != 0) {
        return errno == ENOENT ? sirix_fail(err, SIRIX_NOT_FOUND, "there is no folder %s", name)
                               : fail_errno(err, "measure folder", name);
    }
    *out_bytes = bytes;
    return SIRIX_OK;
}

enum sirix_status sirix_folder_list(const struct sirix_folder *folder, sirix_folder_visit_fn visit,
                                    void *context, struct sirix_error *err)
{
    DIR *dir = open_dir(folder->fd, ".");
    const struct dirent *entry = NULL;
    bool more = true;

    if (dir == NULL) {
        return fail_errno(err, "list folder", folder->path);
    }
    errno = 0;
    while (more && (entry = readdir(dir)) != NULL) {
        struct stat info = {0};
        if (!is_dot(entry->d_name) &&
            fstatat(folder->fd, entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISDIR(info.st_mode)) {
            more = visit(context, entry->d_name);
        }
        errno = 0;
    }
    enum sirix_status status =
        more && errno != 0 ? fail_errno(err, "list folder", folder->path) : SIRIX_OK;
    (void)closedir(dir);
    return status;
}

void sirix_folder_drop_name(uint64_t number, char out_name[SIRIX_FOLDER_NAME_BYTES])
{
    (void)snprintf(out_name, SIRIX_FOLDER_NAME_BYTES, ".drop-%" PRIu64, number);
}
