/*
 * Damage in LMDB's own pages, which carry no checksum. Mostly LMDB gives an error; where it meets what it
 * holds to be impossible it ends the process, and nothing can be given back first. So that the process does
 * not end again and again for one damaged database, and the others go on: what was met is written beside
 * the data file, and while that is there the database is not opened.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "store/segment/lmdb_backend.h"

enum { NOTE_MODE = 0640, NOTE_BYTES_MAX = 400 };

static const char note_name[] = "damaged";

/* LMDB aborts when this returns. */
static void write_note(MDB_env *env, const char *met)
{
    const struct sirix_lmdb *lmdb = mdb_env_get_userctx(env);
    const size_t len = strlen(met);
    int fd = openat(lmdb->dir_fd, note_name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, NOTE_MODE);

    if (fd >= 0 && write(fd, met, len < NOTE_BYTES_MAX ? len : NOTE_BYTES_MAX) >= 0) {
        (void)fsync(
            fd); /* The folder's entry is lost with the machine at most: then it is met again. */
    }
    if (fd >= 0) {
        (void)close(fd);
    }
}

int sirix_lmdb_watch_damage(struct sirix_lmdb *lmdb)
{
    int rc = mdb_env_set_userctx(lmdb->env, lmdb);

    return rc == MDB_SUCCESS ? mdb_env_set_assert(lmdb->env, write_note) : rc;
}

enum sirix_status sirix_lmdb_refuse_damaged(const struct sirix_lmdb *lmdb, const char *dir,
                                            struct sirix_error *err)
{
    char met[NOTE_BYTES_MAX + 1];
    int fd = openat(lmdb->dir_fd, note_name, O_RDONLY | O_CLOEXEC);
    enum sirix_status status = SIRIX_OK;

    if (fd < 0) {
        return errno == ENOENT
                   ? SIRIX_OK
                   : sirix_fail(err, SIRIX_IO, "%s/%s: %s", dir, note_name, mdb_strerror(errno));
    }
    ssize_t len = read(fd, met, NOTE_BYTES_MAX);
    if (len < 0) {
        status = sirix_fail(err, SIRIX_IO, "%s/%s: %s", dir, note_name, mdb_strerror(errno));
    } else {
        status =
            sirix_fail(err, SIRIX_CORRUPT,
                       "%s is damaged in the tree that holds its segments and rows, which ended "
                       "the program (%.*s): restore it, or remove the file %s to try again",
                       dir, (int)len, met, note_name);
    }
    (void)close(fd);
    return status;
}
