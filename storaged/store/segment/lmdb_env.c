/*
 * The life of an LMDB environment: opening and what must hold then, figures, and the one table of
 * LMDB's error codes.
 *
 * Rules of LMDB that shape this file:
 *   - a new file is safe only when its folder has been synced, which LMDB leaves to us;
 *   - an existing database is opened without a write transaction, so that opening costs no sync.
 */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/endian.h"
#include "store/segment/lmdb_backend.h"

enum {
    FILE_MODE = 0640,
    READERS_MAX = 512,
    /* Exactly what LMDB 0.9 makes: it takes the number of readers from the size of a file it finds. */
    LOCK_BYTES = 192 + (READERS_MAX - 1) * 64,
    TABLES = 4,
    FILE_TO_MAP = 4, /* The map starts at this many times the file. */
    FORMAT_BYTES = 4,
    NEXT_BYTES = 8,
    PACKED_BYTES = 16,
};

static const uint64_t map_bytes_least = UINT64_C(1) << 30;
static const char data_name[] = "data.mdb";
static const char lock_name[] = "lock.mdb";

/* --- Translation ------------------------------------------------------------------------------ */

enum sirix_status sirix_lmdb_fail(struct sirix_error *err, int rc, const char *doing)
{
    enum sirix_status status = SIRIX_IO;

    if (rc == MDB_PANIC) {
        /* A meta page could not be written: LMDB ends its service, reading included. */
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_DATABASE_READ_ONLY,
                                 "%s: the database has to be reopened after a failed write", doing);
    }
    switch (rc) {
    case MDB_NOTFOUND:
        status = SIRIX_NOT_FOUND;
        break;
    case MDB_MAP_FULL:
    case MDB_TXN_FULL:
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
        status = SIRIX_NO_SPACE;
        break;
    case ENOMEM:
        status = SIRIX_NO_MEMORY;
        break;
    case MDB_READERS_FULL:
        status = SIRIX_EXHAUSTED;
        break;
    case MDB_CORRUPTED:
    case MDB_BAD_TXN: /* After a damaged page, every look-up until the yield. */
    case MDB_INVALID:
    case MDB_PAGE_NOTFOUND:
    case MDB_VERSION_MISMATCH:
        status = SIRIX_CORRUPT;
        break;
    default:
        break;
    }
    return sirix_fail(err, status, "%s: %s", doing, mdb_strerror(rc));
}

/* LMDB takes non-const pointers for bytes it only reads; the cast lives here and nowhere else. */
MDB_val sirix_lmdb_val(struct sirix_bytes bytes)
{
    union {
        const void *in;
        void *out;
    } pointer = {.in = bytes.data};

    return (MDB_val){.mv_size = bytes.len, .mv_data = pointer.out};
}

/* --- Figures ---------------------------------------------------------------------------------- */

static int count_tables(const struct sirix_lmdb *lmdb, MDB_txn *txn,
                        struct sirix_backend_stats *stats)
{
    const MDB_dbi tables[] = {lmdb->seg, lmdb->pack};
    MDB_stat stat;
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = SIRIX_LMDB_META_PACKED,
                                                      .len = sizeof(SIRIX_LMDB_META_PACKED) - 1});
    MDB_val val;
    int rc = MDB_SUCCESS;

    for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]) && rc == MDB_SUCCESS; i++) {
        rc = mdb_stat(txn, tables[i], &stat);
        if (rc == MDB_SUCCESS) {
            stats->segment_bytes +=
                (stat.ms_branch_pages + stat.ms_leaf_pages + stat.ms_overflow_pages) *
                (uint64_t)stat.ms_psize;
            stats->segment_count = i == 0 ? stat.ms_entries : stats->segment_count;
            stats->pack_count = stat.ms_entries;
        }
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_get(txn, lmdb->meta, &key, &val);
        if (rc == MDB_SUCCESS && val.mv_size == PACKED_BYTES) {
            stats->segment_count += sirix_load_u64le((const uint8_t *)val.mv_data + 8);
        }
        rc = rc == MDB_NOTFOUND ? MDB_SUCCESS : rc;
    }
    return rc;
}

static enum sirix_status get_stats(struct sirix_backend *base,
                                   struct sirix_backend_stats *out_stats, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;
    struct sirix_backend_stats stats = {0};
    struct stat file;
    uint64_t stop_bytes = 0;
    MDB_txn *txn = NULL;
    enum sirix_status status = sirix_space_free(&lmdb->space, &stats.free_bytes, &stop_bytes, err);

    if (status == SIRIX_OK && fstat(lmdb->data_fd, &file) != 0) {
        status =
            sirix_fail(err, SIRIX_IO, "ask for the size of the data file: %s", mdb_strerror(errno));
    }
    if (status == SIRIX_OK) {
        status = sirix_lmdb_enter(lmdb, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &txn);
    if (rc == MDB_SUCCESS) {
        rc = count_tables(lmdb, txn, &stats);
        mdb_txn_abort(txn);
    }
    sirix_lmdb_leave(lmdb);
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_fail(err, rc, "count what is stored");
    }
    stats.file_bytes = (uint64_t)file.st_blocks * 512;
    stats.next_number = atomic_load(&base->next_number);
    sirix_lmdb_readers(lmdb, &stats.readers, &stats.oldest_reader_ns);
    stats.read_only = atomic_load(&lmdb->latched) || lmdb->newer_minor;
    *out_stats = stats;
    return SIRIX_OK;
}

/* Whoever is inside keeps the map in its place, so that `dead` does not change under us. */
static enum sirix_status get_writable(struct sirix_backend *base, struct sirix_error *err)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;

    enum sirix_status status = sirix_lmdb_enter(lmdb, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_lmdb_check_writable(lmdb, err);
    sirix_lmdb_leave(lmdb);
    return status == SIRIX_OK ? sirix_space_check(&lmdb->space, err) : status;
}

/* --- Life ------------------------------------------------------------------------------------- */

static void close_backend(struct sirix_backend *base)
{
    struct sirix_lmdb *lmdb = (struct sirix_lmdb *)base;

    assert(lmdb->readers == 0);
    if (lmdb->env != NULL) {
        mdb_env_close(lmdb->env);
    }
    if (lmdb->data_fd >= 0) {
        (void)close(lmdb->data_fd); /* Nothing is written through it. */
    }
    if (lmdb->dir_fd >= 0) {
        (void)close(lmdb->dir_fd);
    }
    sirix_verified_deinit(&lmdb->verified);
    sirix_verified_deinit(&lmdb->verified_packs);
    (void)pthread_cond_destroy(&lmdb->gate_changed);
    (void)pthread_mutex_destroy(&lmdb->gate);
    (void)pthread_mutex_destroy(&lmdb->writing);
    free(lmdb);
}

static const struct sirix_backend_ops lmdb_ops = {
    .reader_open = sirix_lmdb_reader_open,
    .reader_close = sirix_lmdb_reader_close,
    .reader_yield = sirix_lmdb_reader_yield,
    .segment_get = sirix_lmdb_segment_get,
    .segment_scan = sirix_lmdb_segment_scan,
    .ref_get = sirix_lmdb_ref_get,
    .ref_scan = sirix_lmdb_ref_scan,
    .commit = sirix_lmdb_commit,
    .maintain = sirix_lmdb_maintain,
    .writable = get_writable,
    .stats = get_stats,
    .close = close_backend,
};

static struct sirix_lmdb *backend_new(void)
{
    struct sirix_lmdb *lmdb = calloc(1, sizeof(*lmdb));
    pthread_condattr_t attributes;

    if (lmdb == NULL) {
        return NULL;
    }
    lmdb->base.ops = &lmdb_ops;
    lmdb->dir_fd = -1;
    lmdb->data_fd = -1;
    lmdb->bound = 1;
    lmdb->packed_below = 0;
    sirix_verified_init(&lmdb->verified);
    sirix_verified_init(&lmdb->verified_packs);
    int rc = pthread_mutex_init(&lmdb->gate, NULL);
    assert(rc == 0);
    rc = pthread_mutex_init(&lmdb->writing, NULL);
    assert(rc == 0);
    rc = pthread_condattr_init(&attributes);
    assert(rc == 0);
    rc = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    assert(rc == 0);
    rc = pthread_cond_init(&lmdb->gate_changed, &attributes);
    assert(rc == 0);
    (void)pthread_condattr_destroy(&attributes);
    return lmdb;
}

/* Opens the folder and says how large the data file is: 0 when there is none. */
static enum sirix_status open_folder(struct sirix_lmdb *lmdb,
                                     const struct sirix_lmdb_options *options,
                                     uint64_t *out_file_bytes, struct sirix_error *err)
{
    struct stat found;
    uint64_t file_bytes = 0;

    lmdb->dir_fd = open(options->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (lmdb->dir_fd < 0) {
        return sirix_fail(err, errno == ENOENT ? SIRIX_NOT_FOUND : SIRIX_IO, "%s: %s", options->dir,
                          mdb_strerror(errno));
    }
    /* LMDB loses its own locks when one process opens an environment twice. */
    if (flock(lmdb->dir_fd, LOCK_EX | LOCK_NB) != 0) {
        return sirix_fail_reason(err, SIRIX_UNAVAILABLE, SIRIX_REASON_LOCKED,
                                 "%s is open already, here or in another process: %s", options->dir,
                                 mdb_strerror(errno));
    }
    if (fstatat(lmdb->dir_fd, data_name, &found, 0) == 0) {
        file_bytes = (uint64_t)found.st_size;
    } else if (errno != ENOENT) {
        return sirix_fail(err, SIRIX_IO, "%s/%s: %s", options->dir, data_name, mdb_strerror(errno));
    }
    if (file_bytes == 0 && !options->create) {
        return sirix_fail(err, SIRIX_NOT_FOUND, "%s holds no database", options->dir);
    }
    *out_file_bytes = file_bytes;
    return SIRIX_OK;
}

/*
 * Makes the file as long as its pages. It may be shorter by right, when the last pages were freed
 * before they were written, or because it was cut: then a look-up gives zeros, which are refused, and
 * not the signal that reading beyond the end of a mapped file is.
 */
static enum sirix_status make_whole(struct sirix_lmdb *lmdb, const char *dir,
                                    struct sirix_error *err)
{
    struct stat file;
    MDB_envinfo info;
    int rc = mdb_env_info(lmdb->env, &info);

    assert(rc == MDB_SUCCESS); /* It fails for a NULL argument only. */
    lmdb->map_bytes = info.me_mapsize;
    if (fstat(lmdb->data_fd, &file) != 0) {
        return sirix_fail(err, SIRIX_IO, "%s/%s: %s", dir, data_name, mdb_strerror(errno));
    }
    uint64_t used_bytes = sirix_lmdb_used(lmdb);
    if ((uint64_t)file.st_size < used_bytes && ftruncate(lmdb->data_fd, (off_t)used_bytes) != 0) {
        return sirix_fail(err, SIRIX_IO, "%s/%s: lengthen it to its pages: %s", dir, data_name,
                          mdb_strerror(errno));
    }
    return SIRIX_OK;
}

/*
 * Puts the whole file of locks on the disk. LMDB writes it through a map: where a page of it is a hole
 * and the disk is full, such a write is a signal that ends the process, and not an error.
 */
static enum sirix_status keep_locks(struct sirix_lmdb *lmdb, const char *dir,
                                    struct sirix_error *err)
{
    int fd = openat(lmdb->dir_fd, lock_name, O_RDWR | O_CREAT | O_CLOEXEC, FILE_MODE);
    int rc = fd < 0 ? errno : posix_fallocate(fd, 0, LOCK_BYTES);

    if (rc == ENOSPC && fd >= 0 && sirix_space_release_reserve(&lmdb->space)) {
        rc = posix_fallocate(fd, 0, LOCK_BYTES);
    }
    if (fd >= 0) {
        (void)close(fd); /* Nothing was written to it. */
    }
    return rc == 0 ? SIRIX_OK : sirix_lmdb_fail(err, rc, dir);
}

static enum sirix_status open_env(struct sirix_lmdb *lmdb, const struct sirix_lmdb_options *options,
                                  uint64_t file_bytes, struct sirix_error *err)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint64_t map = options->map_bytes_min == 0 ? map_bytes_least : options->map_bytes_min;
    int dead = 0;

    map = map < FILE_TO_MAP * file_bytes ? FILE_TO_MAP * file_bytes : map;
    if (options->map_bytes_max != 0 && map > options->map_bytes_max) {
        map = options->map_bytes_max;
    }
    map = map < file_bytes ? file_bytes : map;
    map = (map + page - 1) / page * page;

    int rc = mdb_env_create(&lmdb->env);
    if (rc == MDB_SUCCESS) {
        rc = sirix_lmdb_watch_damage(lmdb);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_env_set_mapsize(lmdb->env, map);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_env_set_maxreaders(lmdb->env, READERS_MAX);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_env_set_maxdbs(lmdb->env, TABLES);
    }
    if (rc == MDB_SUCCESS) {
        /* NOTLS: readers belong to workers and move between threads. */
        rc = mdb_env_open(lmdb->env, options->dir, MDB_NOTLS | (options->no_sync ? MDB_NOSYNC : 0),
                          FILE_MODE);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_reader_check(lmdb->env, &dead); /* Slots of killed processes hold pages back. */
    }
    if (rc != MDB_SUCCESS) {
        return sirix_lmdb_fail(err, rc, options->dir);
    }
    lmdb->data_fd = openat(lmdb->dir_fd, data_name, O_RDWR | O_CLOEXEC);
    if (lmdb->data_fd < 0) {
        return sirix_fail(err, SIRIX_IO, "%s/%s: %s", options->dir, data_name, mdb_strerror(errno));
    }
    lmdb->map_bytes_max = options->map_bytes_max;
    return make_whole(lmdb, options->dir, err);
}

/* Opens the tables in txn, making them if asked to; MDB_NOTFOUND when they are not there. */
static int open_tables(struct sirix_lmdb *lmdb, MDB_txn *txn, unsigned create)
{
    int rc = mdb_dbi_open(txn, "seg", create | MDB_INTEGERKEY, &lmdb->seg);

    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, "pack", create | MDB_INTEGERKEY, &lmdb->pack);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, "refs", create, &lmdb->refs);
    }
    if (rc == MDB_SUCCESS) {
        rc = mdb_dbi_open(txn, "meta", create, &lmdb->meta);
    }
    return rc;
}

static int get_meta(struct sirix_lmdb *lmdb, MDB_txn *txn, const char *name, size_t len,
                    const uint8_t **out_value)
{
    MDB_val key = sirix_lmdb_val((struct sirix_bytes){.data = name, .len = strlen(name)});
    MDB_val val;
    int rc = mdb_get(txn, lmdb->meta, &key, &val);

    if (rc == MDB_NOTFOUND || (rc == MDB_SUCCESS && val.mv_size != len)) {
        return MDB_CORRUPTED; /* All rows of "meta" are there from the first transaction on. */
    }
    if (rc == MDB_SUCCESS) {
        *out_value = val.mv_data;
    }
    return rc;
}

static enum sirix_status check_format(struct sirix_lmdb *lmdb, const uint8_t *row, const char *dir,
                                      struct sirix_error *err)
{
    unsigned major = sirix_load_u16le(row);
    unsigned minor = sirix_load_u16le(row + 2);

    if (major != SIRIX_LMDB_FORMAT_MAJOR) {
        return sirix_fail_reason(err, SIRIX_UNSUPPORTED, SIRIX_REASON_FORMAT_VERSION,
                                 "%s has format %u.%u, this program reads %d.x", dir, major, minor,
                                 SIRIX_LMDB_FORMAT_MAJOR);
    }
    lmdb->newer_minor = minor > SIRIX_LMDB_FORMAT_MINOR;
    return SIRIX_OK;
}

/* Reads what is kept about an existing database; SIRIX_NOT_FOUND, without a sentence: it has no tables. */
static enum sirix_status load(struct sirix_lmdb *lmdb, const char *dir, struct sirix_error *err)
{
    MDB_txn *txn = NULL;
    MDB_txn *ending = NULL;
    const uint8_t *row = NULL;
    enum sirix_status status = SIRIX_OK;

    int rc = mdb_txn_begin(lmdb->env, NULL, MDB_RDONLY, &txn);
    if (rc == MDB_SUCCESS) {
        rc = open_tables(lmdb, txn, 0);
    }
    if (rc == MDB_SUCCESS) {
        rc = get_meta(lmdb, txn, SIRIX_LMDB_META_FORMAT, FORMAT_BYTES, &row);
    }
    if (rc == MDB_SUCCESS) {
        status = check_format(lmdb, row, dir, err);
        if (status != SIRIX_OK) {
            goto out;
        }
        rc = get_meta(lmdb, txn, SIRIX_LMDB_META_NEXT, NEXT_BYTES, &row);
    }
    if (rc == MDB_SUCCESS) {
        lmdb->bound = sirix_load_u64le(row);
        rc = get_meta(lmdb, txn, SIRIX_LMDB_META_PACKED, PACKED_BYTES, &row);
    }
    if (rc == MDB_SUCCESS) {
        lmdb->packed_below = sirix_load_u64le(row);
        lmdb->packed_count = sirix_load_u64le(row + 8);
        /* Committing, not aborting, is what keeps the handles of the tables. */
        ending = txn;
        txn = NULL;
        rc = mdb_txn_commit(ending);
    }
    if (rc == MDB_NOTFOUND) {
        status = SIRIX_NOT_FOUND;
    } else if (rc != MDB_SUCCESS) {
        status = sirix_lmdb_fail(err, rc, dir);
    }

out:
    mdb_txn_abort(txn);
    return status;
}

/* Makes the tables and the rows of "meta" in one transaction, and makes the files stay. */
static enum sirix_status create(struct sirix_lmdb *lmdb, const struct sirix_lmdb_options *options,
                                struct sirix_error *err)
{
    const char *dir = options->dir;
    MDB_txn *txn = NULL;
    MDB_txn *ending = NULL;
    uint8_t format[FORMAT_BYTES];
    uint8_t next[NEXT_BYTES];
    enum sirix_status status = sirix_space_check(&lmdb->space, err);

    if (status != SIRIX_OK) {
        return status;
    }
    int rc = mdb_txn_begin(lmdb->env, NULL, 0, &txn);
    if (rc == MDB_SUCCESS) {
        rc = open_tables(lmdb, txn, MDB_CREATE);
    }
    if (rc != MDB_SUCCESS) {
        status = sirix_lmdb_fail(err, rc, dir);
        goto out;
    }
    sirix_store_u16le(format, SIRIX_LMDB_FORMAT_MAJOR);
    sirix_store_u16le(format + 2, SIRIX_LMDB_FORMAT_MINOR);
    sirix_store_u64le(next, lmdb->bound);
    status = sirix_lmdb_put_meta(lmdb, txn, SIRIX_LMDB_META_FORMAT,
                                 (struct sirix_bytes){.data = format, .len = sizeof(format)}, err);
    if (status == SIRIX_OK) {
        status = sirix_lmdb_put_meta(lmdb, txn, SIRIX_LMDB_META_NEXT,
                                     (struct sirix_bytes){.data = next, .len = sizeof(next)}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_lmdb_put_packed(lmdb, txn, lmdb->packed_below, lmdb->packed_count, err);
    }
    if (status == SIRIX_OK) {
        ending = txn;
        txn = NULL;
        status = sirix_lmdb_commit_txn(lmdb, ending, err);
    }
    if (status == SIRIX_OK && !options->no_sync && fsync(lmdb->dir_fd) != 0) {
        status = sirix_fail(err, SIRIX_IO, "sync %s: %s", dir, mdb_strerror(errno));
    }

out:
    mdb_txn_abort(txn);
    return status;
}

enum sirix_status sirix_backend_open_lmdb(const struct sirix_lmdb_options *options,
                                          struct sirix_backend **out_backend,
                                          struct sirix_error *err)
{
    uint64_t file_bytes = 0;
    struct sirix_lmdb *lmdb = backend_new();
    enum sirix_status status = SIRIX_OK;

    if (lmdb == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a backend for %s", options->dir);
    }
    status = open_folder(lmdb, options, &file_bytes, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    sirix_space_init(&lmdb->space, lmdb->dir_fd, options->reserve_bytes);
    status = sirix_lmdb_refuse_damaged(lmdb, options->dir, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = keep_locks(lmdb, options->dir, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = open_env(lmdb, options, file_bytes, err);
    if (status != SIRIX_OK) {
        goto out;
    }
    status = load(lmdb, options->dir, err);
    if (status == SIRIX_NOT_FOUND) {
        /* Tables and format come in one transaction: without it nothing was ever stored. */
        status = options->create
                     ? create(lmdb, options, err)
                     : sirix_fail(err, SIRIX_NOT_FOUND, "%s holds no database", options->dir);
    }
    if (status != SIRIX_OK) {
        goto out;
    }
    atomic_init(&lmdb->base.next_number, lmdb->bound);
    atomic_init(&lmdb->base.settled, lmdb->bound);
    *out_backend = &lmdb->base;
    lmdb = NULL;

out:
    if (lmdb != NULL) {
        close_backend(&lmdb->base);
    }
    return status;
}
