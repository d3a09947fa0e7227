/*
 * What the machine gives at most: bare LMDB, and appends with fdatasync.
 *
 *     bench_limits DIR put BYTES SECONDS GROUP    synced transactions of GROUP puts of BYTES each
 *     bench_limits DIR append BYTES SECONDS GROUP as many bytes appended to a file, then fdatasync
 *     bench_limits DIR bulk BYTES                 BYTES in values of 256 KiB, 4 MiB a transaction, synced
 *     bench_limits DIR copy FILE                  memcpy of a file's bytes, in pieces of 256 KiB
 */
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/common/measure.h"

enum { BULK_VALUE = 256 * 1024 - 16, BULK_PUTS = 16, PIECE_BYTES = 256 * 1024 };

struct bare {
    MDB_env *env;
    MDB_dbi table;
    uint64_t next;
};

static void open_bare(struct bare *bare, const char *dir)
{
    MDB_txn *txn = NULL;
    MDB_cursor *cursor = NULL;
    MDB_val key;
    MDB_val value;

    (void)mkdir(dir, 0700);
    bench_check(mdb_env_create(&bare->env) == 0 &&
                    mdb_env_set_mapsize(bare->env, (size_t)16 << 30) == 0 &&
                    mdb_env_open(bare->env, dir, 0, 0600) == 0 &&
                    mdb_txn_begin(bare->env, NULL, 0, &txn) == 0 &&
                    mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &bare->table) == 0 &&
                    mdb_cursor_open(txn, bare->table, &cursor) == 0,
                "opening bare LMDB");
    bare->next = 1;
    if (mdb_cursor_get(cursor, &key, &value, MDB_LAST) == 0) {
        memcpy(&bare->next, key.mv_data, sizeof(bare->next));
        bare->next++;
    }
    mdb_cursor_close(cursor);
    bench_check(mdb_txn_commit(txn) == 0, "committing");
}

static void put_group(struct bare *bare, uint8_t *bytes, size_t len, size_t group)
{
    MDB_txn *txn = NULL;

    bench_check(mdb_txn_begin(bare->env, NULL, 0, &txn) == 0, "begin");
    for (size_t i = 0; i < group; i++) {
        uint64_t number = bare->next++;
        MDB_val key = {.mv_size = sizeof(number), .mv_data = &number};
        MDB_val value = {.mv_size = len, .mv_data = bytes};
        bench_check(mdb_put(txn, bare->table, &key, &value, MDB_APPEND) == 0, "put");
    }
    bench_check(mdb_txn_commit(txn) == 0, "commit");
}

static void print_rate(double wall, double cpu, double commits)
{
    bench_print("commits", commits);
    bench_print("rate", commits / wall);
    bench_print("cpu_us", cpu * 1e6 / commits);
}

/* Synced groups for some time, through LMDB or (bare NULL) appended to a file. */
static void run_groups(struct bare *bare, int fd, size_t len, double seconds, size_t group)
{
    uint8_t *bytes = calloc(group, len);
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();
    double commits = 0;

    bench_check(bytes != NULL, "memory");
    while (bench_wall_s() - wall < seconds) {
        if (bare != NULL) {
            put_group(bare, bytes, len, group);
        } else {
            bench_check(write(fd, bytes, group * len) == (ssize_t)(group * len) &&
                            fdatasync(fd) == 0,
                        "append");
        }
        commits += (double)group;
    }
    print_rate(bench_wall_s() - wall, bench_cpu_s() - cpu, commits);
    free(bytes);
}

static void run_bulk(struct bare *bare, double bytes)
{
    uint8_t *value = malloc(BULK_VALUE);
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();

    bench_check(value != NULL, "memory");
    memset(value, 'x', BULK_VALUE);
    for (double done = 0; done < bytes; done += (double)BULK_VALUE * BULK_PUTS) {
        put_group(bare, value, BULK_VALUE, BULK_PUTS);
    }
    bench_print("wall_s", bench_wall_s() - wall);
    bench_print("cpu_s", bench_cpu_s() - cpu);
    free(value);
}

static void run_copy(const char *path)
{
    const struct sirix_bytes bytes = bench_map_file(path);
    uint8_t *piece = malloc(PIECE_BYTES);

    bench_check(piece != NULL, "memory");
    for (size_t round = 0; round < 2; round++) {
        double wall = bench_wall_s();
        double cpu = bench_cpu_s();
        for (size_t at = 0; at < bytes.len; at += PIECE_BYTES) {
            size_t len = bytes.len - at < PIECE_BYTES ? bytes.len - at : PIECE_BYTES;
            memcpy(piece, (const char *)bytes.data + at, len);
            __asm__ volatile("" : : "r"(piece) : "memory");
        }
        if (round == 1) {
            bench_print("wall_s", bench_wall_s() - wall);
            bench_print("cpu_s", bench_cpu_s() - cpu);
        }
    }
    free(piece);
}

int main(int argc, char **argv)
{
    const char *command = argc < 4 ? "" : argv[2];
    bool group = argc == 6 && (strcmp(command, "put") == 0 || strcmp(command, "append") == 0);
    struct bare bare = {0};
    int fd = -1;

    if (argc == 4 && strcmp(command, "copy") == 0) {
        run_copy(argv[3]);
        return EXIT_SUCCESS;
    }
    if (!group && (argc != 4 || strcmp(command, "bulk") != 0)) {
        (void)fprintf(stderr,
                      "usage: %s DIR put|append BYTES SECONDS GROUP | bulk BYTES"
                      " | copy FILE\n",
                      argv[0]);
        return EXIT_FAILURE;
    }
    if (strcmp(command, "append") == 0) {
        fd = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        bench_check(fd >= 0, argv[1]);
    } else {
        open_bare(&bare, argv[1]);
    }
    if (group) {
        run_groups(fd < 0 ? &bare : NULL, fd, strtoull(argv[3], NULL, 10), strtod(argv[4], NULL),
                   strtoull(argv[5], NULL, 10));
    } else {
        run_bulk(&bare, strtod(argv[3], NULL));
    }
    if (fd >= 0) {
        (void)close(fd);
    } else {
        mdb_env_close(bare.env);
    }
    return EXIT_SUCCESS;
}
