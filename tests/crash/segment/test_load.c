/*
 * kill -9 under load: a child commits from several threads through the committer, with real syncs,
 * and tells each acknowledged commit through a pipe; the parent kills it at a random point, opens the
 * database and looks for everything it was told. The same database goes through all rounds.
 *
 * SIRIX_CRASH_SECONDS sets how long (default 5), SIRIX_CRASH_SEED where the randomness begins.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/endian.h"
#include "base/hash.h"
#include "store/revision/committer.h"
#include "unit/segment/support.h"

enum {
    CLIENTS = 6, /* The last one writes large segments as background work. */
    SECONDS_DEFAULT = 5,
    KILL_AFTER_MAX = 400, /* Acknowledged commits. */
    KEY_BYTES = 32,
    LARGE_BYTES = 60 * 1024,
};

/* One commit of one client, as the pipe carries it: less than PIPE_BUF, so never in pieces. */
struct acknowledged {
    uint32_t client;
    uint32_t commit;
};

static struct sirix_bytes head_key(char key[KEY_BYTES], unsigned client)
{
    int len = snprintf(key, KEY_BYTES, "head/%u", client);

    return (struct sirix_bytes){.data = key, .len = (size_t)len};
}

static struct sirix_bytes commit_key(char key[KEY_BYTES], unsigned client, unsigned commit)
{
    int len = snprintf(key, KEY_BYTES, "commit/%u/%08u", client, commit);

    return (struct sirix_bytes){.data = key, .len = (size_t)len};
}

/* --- The child -------------------------------------------------------------------------------- */

struct commit_work {
    struct sirix_commit_work work;
    unsigned client;
    unsigned commit;
    uint64_t number;
    struct sirix_bytes segment;
};

static enum sirix_status prepare_commit(struct sirix_commit_work *work, struct sirix_group *group,
                                        struct sirix_error *err)
{
    struct commit_work *commit = (struct commit_work *)work;
    char key[KEY_BYTES];
    uint8_t number[8];
    uint8_t head[4];
    enum sirix_status status = sirix_group_segment_put(group, commit->number, commit->segment, err);

    sirix_store_u64le(number, commit->number);
    sirix_store_u32le(head, commit->commit);
    if (status == SIRIX_OK) {
        status = sirix_group_ref_put(group, commit_key(key, commit->client, commit->commit),
                                     (struct sirix_bytes){number, sizeof(number)}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_group_ref_put(group, head_key(key, commit->client),
                                     (struct sirix_bytes){head, sizeof(head)}, err);
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
    struct sirix_backend *backend;
    struct sirix_committer *committer;
    unsigned index;
    unsigned head;
    int acknowledge;
};

static void *commit_for_ever(void *context)
{
    struct client *client = context;

    for (unsigned i = client->head + 1;; i++) {
        bool large = client->index == CLIENTS - 1;
        uint64_t number = sirix_segment_reserve(client->backend, 1);
        struct commit_work commit = {
            .work = {.prepare = prepare_commit,
                     .done = nothing,
                     .work_class = large ? SIRIX_WORK_BACKGROUND : SIRIX_WORK_SMALL},
            .client = client->index,
            .commit = i,
            .number = number,
            .segment = test_segment_new(number, large ? LARGE_BYTES : 200 + i % 1500),
        };
        const struct acknowledged told = {.client = client->index, .commit = i};

        if (sirix_committer_run(client->committer, &commit.work, NULL) != SIRIX_OK ||
            write(client->acknowledge, &told, sizeof(told)) != sizeof(told)) {
            _exit(3);
        }
        test_segment_free(commit.segment);
    }
    return NULL;
}

static unsigned head_of(struct sirix_backend *backend, unsigned client)
{
    struct sirix_reader *reader = NULL;
    struct sirix_bytes value;
    char key[KEY_BYTES];
    unsigned head = 0;

    if (sirix_reader_open(backend, &reader, NULL) != SIRIX_OK) {
        return 0;
    }
    if (sirix_ref_get(reader, head_key(key, client), &value, NULL) == SIRIX_OK) {
        head = sirix_load_u32le(value.data);
    }
    sirix_reader_close(reader);
    return head;
}

static void run_child(const char *dir, int acknowledge)
{
    const struct sirix_lmdb_options options = {
        .dir = dir, .create = true, .reserve_bytes = 1, .map_bytes_min = 4 << 20};
    struct sirix_committer_pool *pool = NULL;
    struct sirix_committer *committer = NULL;
    struct sirix_backend *backend = NULL;
    struct client clients[CLIENTS];
    pthread_t threads[CLIENTS];

    if (sirix_backend_open_lmdb(&options, &backend, NULL) != SIRIX_OK ||
        sirix_committer_pool_start(0, &pool, NULL) != SIRIX_OK ||
        sirix_committer_open(pool, backend, &committer, NULL) != SIRIX_OK) {
        _exit(2);
    }
    for (unsigned i = 0; i < CLIENTS; i++) {
        clients[i] = (struct client){.backend = backend,
                                     .committer = committer,
                                     .index = i,
                                     .head = head_of(backend, i),
                                     .acknowledge = acknowledge};
        if (pthread_create(&threads[i], NULL, commit_for_ever, &clients[i]) != 0) {
            _exit(4);
        }
    }
    (void)pthread_join(threads[0], NULL); /* It never ends by itself. */
    _exit(5);
}

/* --- The parent ------------------------------------------------------------------------------- */

static void check_commit(struct sirix_reader *reader, unsigned client, unsigned commit)
{
    char key[KEY_BYTES];
    struct sirix_bytes value;
    struct sirix_bytes page;
    struct sirix_error err = {0};

    if (sirix_ref_get(reader, commit_key(key, client, commit), &value, &err) != SIRIX_OK) {
        fail_msg("client %u, commit %u: %s", client, commit, err.text);
    }
    uint64_t number = sirix_load_u64le(value.data);
    if (sirix_segment_get(reader, sirix_address_make(number, 16), 1, &page, &err) != SIRIX_OK) {
        fail_msg("client %u, commit %u: %s", client, commit, err.text);
    }
    assert_true(test_segment_equal(
        number, (struct sirix_bytes){(const uint8_t *)page.data - 16, page.len + 16}));
}

/* Opens the database, checks all commits of all clients from `from` on, and notes their heads. */
static void check_all(const char *dir, const unsigned told[CLIENTS], unsigned heads[CLIENTS],
                      const unsigned from[CLIENTS])
{
    const struct sirix_lmdb_options options = {.dir = dir, .reserve_bytes = 1};
    struct sirix_backend *backend = NULL;
    struct sirix_reader *reader = NULL;
    struct sirix_backend_stats stats;
    struct sirix_error err = {0};
    uint64_t commits = 0;

    if (sirix_backend_open_lmdb(&options, &backend, &err) != SIRIX_OK) {
        fail_msg("%s", err.text);
    }
    assert_int_equal(sirix_reader_open(backend, &reader, NULL), SIRIX_OK);
    for (unsigned client = 0; client < CLIENTS; client++) {
        heads[client] = head_of(backend, client);
        commits += heads[client];
        /* A client waits for each commit, so at most one was on its way. */
        if (heads[client] < told[client] || heads[client] > told[client] + 1) {
            fail_msg("client %u was told %u, the database has %u", client, told[client],
                     heads[client]);
        }
        for (unsigned commit = from[client] + 1; commit <= heads[client]; commit++) {
            check_commit(reader, client, commit);
        }
        sirix_reader_yield(reader);
    }
    assert_int_equal(sirix_backend_stats(backend, &stats, NULL), SIRIX_OK);
    assert_int_equal(stats.segment_count, commits);
    sirix_reader_close(reader);
    sirix_backend_close(backend);
}

/* Runs a child until it has acknowledged `count` commits, kills it, and notes what it told. */
static void kill_after(const char *dir, unsigned count, unsigned told[CLIENTS])
{
    struct acknowledged acknowledged;
    unsigned seen = 0;
    int ends[2];
    int ended = 0;

    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        (void)close(ends[0]);
        run_child(dir, ends[1]);
    }
    (void)close(ends[1]);
    while (read(ends[0], &acknowledged, sizeof(acknowledged)) == sizeof(acknowledged)) {
        assert_true(acknowledged.client < CLIENTS);
        assert_int_equal(acknowledged.commit, told[acknowledged.client] + 1);
        told[acknowledged.client] = acknowledged.commit;
        seen++;
        if (seen == count) {
            assert_int_equal(kill(child, SIGKILL), 0); /* What is still in the pipe counts too. */
        }
    }
    (void)close(ends[0]);
    assert_int_equal(waitpid(child, &ended, 0), child);
    assert_true(WIFSIGNALED(ended) && WTERMSIG(ended) == SIGKILL);
}

static uint64_t number_from(const char *variable, uint64_t otherwise)
{
    const char *text = getenv(variable);

    return text == NULL ? otherwise : strtoull(text, NULL, 10);
}

static void nothing_acknowledged_is_lost_by_kill_9_under_load(void **state)
{
    (void)state;
    const struct sirix_clock *clock = sirix_clock_system();
    uint64_t seconds = number_from("SIRIX_CRASH_SECONDS", SECONDS_DEFAULT);
    uint64_t seed = number_from("SIRIX_CRASH_SEED", (uint64_t)sirix_clock_realtime_us(clock));
    uint64_t until = sirix_clock_monotonic_ns(clock) + seconds * UINT64_C(1000000000);
    unsigned told[CLIENTS] = {0};
    unsigned heads[CLIENTS] = {0};
    const unsigned from_the_first[CLIENTS] = {0};
    char dir[TEST_DIR_BYTES];
    uint64_t rounds = 0;

    test_dir_make(dir);
    print_message("seed %llu\n", (unsigned long long)seed);
    do {
        unsigned checked[CLIENTS];

        memcpy(checked, heads, sizeof(checked));
        kill_after(dir, 1 + (unsigned)(sirix_mix64(seed + rounds) % KILL_AFTER_MAX), told);
        check_all(dir, told, heads, checked);
        memcpy(told, heads, sizeof(told));
        rounds++;
    } while (sirix_clock_monotonic_ns(clock) < until);
    check_all(dir, told, heads, from_the_first);
    print_message("%llu rounds\n", (unsigned long long)rounds);
    test_dir_remove(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_acknowledged_is_lost_by_kill_9_under_load),
    };
    return cmocka_run_group_tests_name("segment under load", tests, NULL, NULL);
}
