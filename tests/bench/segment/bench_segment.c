/*
 * Durable commits a second: ours against bare LMDB put + commit of the same bytes, and against append
 * + fdatasync. One table; every row's rounds are interleaved, ratios are medians of paired rounds.
 *
 *     bench_segment DIR [ROUNDS]      DIR exists; the files made in it are removed
 *
 * A commit is one segment of 700 bytes and two rows (a head of 16 bytes that is replaced, an index row
 * of 40 bytes that is new). Bare LMDB puts the same bytes as one value under a rising integer key in
 * one table. "16" and "64" put that many commits into one transaction. "clients" go through the
 * committer, each waiting for its commit before the next.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <lmdb.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endian.h"
#include "store/revision/committer.h"

enum {
    SEGMENT_BYTES = 700,
    HEAD_BYTES = 16,
    INDEX_BYTES = 40,
    KEY_BYTES = 24,
    COMMIT_BYTES = SEGMENT_BYTES + HEAD_BYTES + INDEX_BYTES + 2 * KEY_BYTES,
    GROUP_MAX = 64,
    ROUNDS_DEFAULT = 9,
    ROUNDS_MAX = 101,
    ROUND_MS = 250,
};

static void must(bool ok, const char *what)
{
    if (!ok) {
        (void)fprintf(stderr, "bench_segment: %s failed\n", what);
        exit(EXIT_FAILURE);
    }
}

static uint64_t now_ns(void)
{
    return sirix_clock_monotonic_ns(sirix_clock_system());
}

/* --- Ours ------------------------------------------------------------------------------------- */

struct ours {
    struct sirix_backend *backend;
    struct sirix_committer_pool *pool;
    struct sirix_committer *committer;
    uint64_t index; /* Of index rows, so that each is new. */
};

struct commit_bytes {
    uint8_t segment[SEGMENT_BYTES];
    uint8_t head_key[KEY_BYTES];
    uint8_t index_key[KEY_BYTES];
    uint8_t row[INDEX_BYTES];
};

static void fill_commit(struct commit_bytes *bytes, uint64_t resource, uint64_t index)
{
    memset(bytes, 0, sizeof(*bytes));
    sirix_store_u64be(bytes->head_key, resource);
    bytes->head_key[8] = 'h';
    sirix_store_u64be(bytes->index_key, resource);
    bytes->index_key[8] = 'i';
    sirix_store_u64be(bytes->index_key + 9, index);
    sirix_store_u64le(bytes->row, index);
    for (size_t i = SIRIX_SEGMENT_HEADER_BYTES; i < SEGMENT_BYTES; i++) {
        bytes->segment[i] = (uint8_t)(i * 7 + index);
    }
    sirix_segment_seal(bytes->segment, SEGMENT_BYTES, SIRIX_SEGMENT_COMMIT, 1);
}

static void check_committed(void *context, const struct sirix_commit_outcome *outcome)
{
    (void)context;
    if (outcome->status != SIRIX_OK) {
        (void)fprintf(stderr, "%s\n", outcome->error.text);
    }
    must(outcome->status == SIRIX_OK, "commit");
}

/* One batch of `group` commits. */
static void commit_ours(struct ours *ours, size_t group)
{
    static struct commit_bytes bytes[GROUP_MAX];
    struct sirix_segment_put puts[GROUP_MAX];
    struct sirix_ref_put refs[2 * GROUP_MAX];
    uint64_t number = sirix_segment_reserve(ours->backend, group);

    for (size_t i = 0; i < group; i++) {
        fill_commit(&bytes[i], i, ours->index++);
        puts[i] = (struct sirix_segment_put){number + i, {bytes[i].segment, SEGMENT_BYTES}};
        refs[2 * i] = (struct sirix_ref_put){.key = {bytes[i].head_key, KEY_BYTES},
                                             .value = {bytes[i].row, HEAD_BYTES}};
        refs[2 * i + 1] = (struct sirix_ref_put){.key = {bytes[i].index_key, KEY_BYTES},
                                                 .value = {bytes[i].row, INDEX_BYTES}};
    }
    const struct sirix_batch batch = {
        .puts = puts, .put_count = group, .refs = refs, .ref_count = 2 * group};
    sirix_backend_commit(ours->backend, &batch, check_committed, NULL);
}

struct client_work {
    struct sirix_commit_work work;
    struct commit_bytes bytes;
    uint64_t number;
};

static enum sirix_status prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                 struct sirix_error *err)
{
    struct client_work *client = (struct client_work *)work;
    struct sirix_bytes head_key = {client->bytes.head_key, KEY_BYTES};
    struct sirix_bytes current;
    enum sirix_status status = sirix_group_ref_get(group, head_key, &current, err);

    if (status == SIRIX_OK || status == SIRIX_NOT_FOUND) {
        status = sirix_group_ref_put(group, head_key,
                                     (struct sirix_bytes){client->bytes.row, HEAD_BYTES}, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_group_ref_put(group, (struct sirix_bytes){client->bytes.index_key, KEY_BYTES},
                                (struct sirix_bytes){client->bytes.row, INDEX_BYTES}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_group_segment_put(
            group, client->number, (struct sirix_bytes){client->bytes.segment, SEGMENT_BYTES}, err);
    }
    return status;
}

static void nothing(struct sirix_commit_work *work, enum sirix_status status,
                    const struct sirix_error *error)
{
    (void)work;
    (void)status;
    (void)error;
}

struct client {
    struct ours *ours;
    uint64_t resource;
    uint64_t index;
    uint64_t until_ns;
    uint64_t commits;
};

static void *run_client(void *context)
{
    struct client *client = context;

    while (now_ns() < client->until_ns) {
        struct client_work work = {.work = {.prepare = prepare, .done = nothing}};

        fill_commit(&work.bytes, client->resource, client->index++);
        work.number = sirix_segment_reserve(client->ours->backend, 1);
        must(sirix_committer_run(client->ours->committer, &work.work, NULL) == SIRIX_OK,
             "commit of a client");
        client->commits++;
    }
    return NULL;
}

static double clients_rate(struct ours *ours, size_t count)
{
    static uint64_t round;
    struct client clients[GROUP_MAX];
    pthread_t threads[GROUP_MAX];
    uint64_t began = now_ns();
    uint64_t commits = 0;

    round++;
    for (size_t i = 0; i < count; i++) {
        clients[i] = (struct client){.ours = ours,
                                     .resource = 1000 + i,
                                     .index = round << 32,
                                     .until_ns = began + ROUND_MS * UINT64_C(1000000)};
        must(pthread_create(&threads[i], NULL, run_client, &clients[i]) == 0, "thread");
    }
    for (size_t i = 0; i < count; i++) {
        must(pthread_join(threads[i], NULL) == 0, "join");
        commits += clients[i].commits;
    }
    return (double)commits * 1e9 / (double)(now_ns() - began);
}

/* --- The limits ------------------------------------------------------------------------------- */

struct bare {
    MDB_env *env;
    MDB_dbi table;
    uint64_t next;
    int append_fd;
};

static void commit_bare(struct bare *bare, size_t group)
{
    static uint8_t value[COMMIT_BYTES];
    MDB_txn *txn = NULL;

    must(mdb_txn_begin(bare->env, NULL, 0, &txn) == 0, "begin");
    for (size_t i = 0; i < group; i++) {
        uint64_t number = bare->next++;
        MDB_val key = {.mv_size = sizeof(number), .mv_data = &number};
        MDB_val val = {.mv_size = sizeof(value), .mv_data = value};
        must(mdb_put(txn, bare->table, &key, &val, MDB_APPEND) == 0, "put");
    }
    must(mdb_txn_commit(txn) == 0, "commit of bare LMDB");
}

static void append_synced(struct bare *bare, size_t group)
{
    static uint8_t value[COMMIT_BYTES * GROUP_MAX];
    size_t len = group * COMMIT_BYTES;

    must(write(bare->append_fd, value, len) == (ssize_t)len, "append");
    must(fdatasync(bare->append_fd) == 0, "sync");
}

/* --- The table -------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
    double left = *(const double *)a;
    double right = *(const double *)b;

    return (left > right) - (left < right);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof(*values), compare);
    return values[count / 2];
}

typedef void (*commit_fn)(void *what, size_t group);

static double rate(commit_fn commit, void *what, size_t group)
{
    uint64_t began = now_ns();
    uint64_t ended = began;
    uint64_t commits = 0;

    while (ended - began < ROUND_MS * UINT64_C(1000000)) {
        commit(what, group);
        commits += group;
        ended = now_ns();
    }
    return (double)commits * 1e9 / (double)(ended - began);
}

static void ours_fn(void *what, size_t group)
{
    commit_ours(what, group);
}

static void bare_fn(void *what, size_t group)
{
    commit_bare(what, group);
}

static void append_fn(void *what, size_t group)
{
    append_synced(what, group);
}

static void print_row(struct ours *ours, struct bare *bare, size_t group, size_t clients,
                      size_t rounds)
{
    double our_rates[ROUNDS_MAX];
    double bare_rates[ROUNDS_MAX];
    double append_rates[ROUNDS_MAX];
    double ratios[ROUNDS_MAX];

    for (size_t i = 0; i < rounds; i++) {
        bare_rates[i] = rate(bare_fn, bare, group);
        our_rates[i] = clients == 0 ? rate(ours_fn, ours, group) : clients_rate(ours, clients);
        append_rates[i] = rate(append_fn, bare, group);
        ratios[i] = our_rates[i] / bare_rates[i];
    }
    char name[32];
    (void)snprintf(name, sizeof(name), clients == 0 ? "batches of %zu" : "%zu clients",
                   clients == 0 ? group : clients);
    (void)printf("%-16s %12.0f %12.0f %16.0f %10.2f\n", name, median(our_rates, rounds),
                 median(bare_rates, rounds), median(append_rates, rounds), median(ratios, rounds));
    (void)fflush(stdout);
}

/* In the folder that was given, which is the working directory. */
static const char ours_dir[] = "bench_ours";
static const char bare_dir[] = "bench_bare";
static const char append_file[] = "bench_append";

static void open_all(struct ours *ours, struct bare *bare)
{
    MDB_txn *txn = NULL;

    must(mkdir(ours_dir, 0700) == 0 && mkdir(bare_dir, 0700) == 0, "mkdir");
    const struct sirix_lmdb_options options = {.dir = ours_dir, .create = true};
    must(sirix_backend_open_lmdb(&options, &ours->backend, NULL) == SIRIX_OK, "open");
    must(sirix_committer_pool_start(0, &ours->pool, NULL) == SIRIX_OK, "pool");
    must(sirix_committer_open(ours->pool, ours->backend, &ours->committer, NULL) == SIRIX_OK,
         "committer");
    must(mdb_env_create(&bare->env) == 0 && mdb_env_set_mapsize(bare->env, (size_t)4 << 30) == 0 &&
             mdb_env_open(bare->env, bare_dir, 0, 0600) == 0 &&
             mdb_txn_begin(bare->env, NULL, 0, &txn) == 0 &&
             mdb_dbi_open(txn, NULL, MDB_INTEGERKEY, &bare->table) == 0 && mdb_txn_commit(txn) == 0,
         "open bare LMDB");
    bare->append_fd = open(append_file, O_WRONLY | O_CREAT | O_APPEND, 0600);
    must(bare->append_fd >= 0, "open the file to append to");
}

static void close_all(struct ours *ours, struct bare *bare)
{
    const char *const files[] = {"bench_ours/data.mdb", "bench_ours/lock.mdb", "bench_ours/reserve",
                                 "bench_bare/data.mdb", "bench_bare/lock.mdb", append_file};

    sirix_committer_close(ours->committer);
    sirix_committer_pool_stop(ours->pool);
    sirix_backend_close(ours->backend);
    mdb_env_close(bare->env);
    (void)close(bare->append_fd);
    for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
        (void)unlink(files[i]);
    }
    (void)rmdir(ours_dir);
    (void)rmdir(bare_dir);
}

int main(int argc, char **argv)
{
    struct ours ours = {0};
    struct bare bare = {.next = 1};
    size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : ROUNDS_DEFAULT;

    if (argc < 2 || rounds < 1 || rounds > ROUNDS_MAX) {
        (void)fprintf(stderr, "usage: bench_segment DIR [ROUNDS, at most %d]\n", ROUNDS_MAX);
        return EXIT_FAILURE;
    }
    must(chdir(argv[1]) == 0, "chdir");
    open_all(&ours, &bare);
    (void)printf("durable commits a second, medians of %zu rounds of %d ms, %d bytes a commit\n",
                 rounds, ROUND_MS, COMMIT_BYTES);
    (void)printf("%-16s %12s %12s %16s %10s\n", "", "ours", "bare LMDB", "write+fdatasync",
                 "ours/bare");
    const size_t groups[] = {1, 16, 64};
    for (size_t i = 0; i < 3; i++) {
        print_row(&ours, &bare, groups[i], 0, rounds);
    }
    (void)printf("\nthrough the committer; bare LMDB and write+fdatasync commit one by one\n");
    const size_t clients[] = {1, 8, 64};
    for (size_t i = 0; i < 3; i++) {
        print_row(&ours, &bare, 1, clients[i], rounds);
    }
    struct sirix_backend_stats stats;
    must(sirix_backend_stats(ours.backend, &stats, NULL) == SIRIX_OK, "stats");
    (void)printf("\n%" PRIu64 " segments, %" PRIu64 " packs, %.0f bytes of file a commit\n",
                 stats.segment_count, stats.pack_count,
                 (double)stats.file_bytes / (double)stats.segment_count);
    close_all(&ours, &bare);
    return EXIT_SUCCESS;
}
