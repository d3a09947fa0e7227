/*
 * Speed and size of the trie over LMDB, one line a figure: bulk build, point reads, scans, one-value
 * commits and the comparison of revisions. Times are CPU time of the thread.
 *
 *     bench_page DIR KEYS [COMMITS]      DIR exists and is empty
 */
#include <inttypes.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/hash.h"
#include "store/page/node.h"
#include "store/page/trie.h"

enum { GETS_A_KEY = 2, GETS_MAX = 2000000, RECORD_SLOT_BYTES = 192 };

struct bench {
    struct sirix_backend *backend;
    struct sirix_reader *reader;
    uint64_t keys;
    uint64_t dice;
    sem_t done;
    enum sirix_status outcome;
};

static uint64_t roll(struct bench *bench)
{
    bench->dice += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(bench->dice);
}

static double cpu_seconds(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void must(enum sirix_status status, const char *what)
{
    if (status != SIRIX_OK) {
        (void)fprintf(stderr, "%s: %s\n", what, sirix_status_name(status));
        exit(EXIT_FAILURE);
    }
}

static void committed(void *context, const struct sirix_commit_outcome *outcome)
{
    struct bench *bench = context;

    bench->outcome = outcome->status;
    (void)sem_post(&bench->done);
}

static void commit(struct bench *bench, struct sirix_segment_built *segment)
{
    struct sirix_segment_put put = {segment->number, {segment->bytes, segment->len}};
    struct sirix_batch batch = {.puts = &put, .put_count = 1};

    sirix_segment_seal(segment->bytes, segment->len, segment->kind, 1);
    sirix_backend_commit(bench->backend, &batch, committed, bench);
    (void)sem_wait(&bench->done);
    must(bench->outcome, "commit");
    free(segment->bytes);
}

static enum sirix_status flush(void *context, struct sirix_segment_built *segment,
                               struct sirix_error *err)
{
    (void)err;
    commit(context, segment);
    return SIRIX_OK;
}

/* A field with a small number, as most rows of real documents: about 6 bytes, two keys. */
static struct sirix_bytes record_of(uint64_t key, uint64_t value, uint8_t place[16])
{
    size_t len = 4;

    place[0] = SIRIX_NODE_FIELD_INTEGER;
    place[1] = (uint8_t)(2 * (key % 40) + 1);
    place[2] = (uint8_t)(key % 30 * 4);
    for (; value >= 0x80; value >>= 7) {
        place[len++ - 1] = (uint8_t)(value | 0x80);
    }
    place[len - 1] = (uint8_t)value;
    return (struct sirix_bytes){place, len};
}

static struct sirix_trie build(struct bench *bench)
{
    const struct sirix_page_writer_options options = {
        .backend = bench->backend,
        .resource_id = 1,
        .segment_bytes = SIRIX_SEGMENT_BULK_BYTES - 16,
        .flush = flush,
        .flush_context = bench,
    };
    struct sirix_page_writer *writer = NULL;
    struct sirix_trie_bulk *bulk = NULL;
    struct sirix_trie_edit *edit = NULL;
    struct sirix_trie_graft *grafts = NULL;
    struct sirix_segment_built *segments = NULL;
    struct sirix_trie trie = {0};
    size_t count = 0;
    uint8_t place[16];
    uint8_t body[32];
    double start = cpu_seconds();
    double took = 0;

    must(sirix_page_writer_new(&options, &writer, NULL), "writer");
    must(sirix_trie_bulk_new(writer, 0, &bulk, NULL), "bulk");
    for (uint64_t key = 2; key < bench->keys; key += 2) {
        must(sirix_trie_bulk_put(bulk, key, 2, record_of(key, roll(bench) % 20000, place), NULL),
             "put");
        must(sirix_trie_bulk_settle(bulk, key + 2, NULL), "settle");
    }
    must(sirix_trie_bulk_finish(bulk, &grafts, &count, NULL), "finish");
    must(sirix_trie_edit_new(bench->reader, trie, &edit, NULL), "edit");
    for (size_t i = 0; i < count; i++) {
        must(sirix_trie_edit_graft(edit, grafts[i].level, grafts[i].index, grafts[i].address, NULL),
             "graft");
    }
    must(sirix_trie_edit_write(edit, writer, &trie, NULL), "write");
    must(sirix_page_writer_finish(writer, &segments, &count, body, NULL), "finish");
    took = cpu_seconds() - start;
    (void)printf("bulk build            %8.0f ns/row   %6.2f bytes/key   height %" PRIu32 "\n",
                 took * 2e9 / (double)bench->keys,
                 (double)sirix_page_writer_bytes(writer) / (double)bench->keys, trie.height);
    sirix_trie_edit_free(edit);
    sirix_trie_bulk_free(bulk);
    sirix_page_writer_free(writer);
    free(grafts);
    free(segments);
    sirix_reader_yield(bench->reader);
    return trie;
}

static void point_reads(struct bench *bench, struct sirix_trie trie, const char *name)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row;
    const uint64_t wanted = bench->keys * GETS_A_KEY;
    const uint64_t gets = wanted < GETS_MAX ? wanted : GETS_MAX;
    uint64_t sum = 0;
    double start = 0;
    double took = 0;

    sirix_trie_cursor_init(&cursor, bench->reader, trie);
    for (uint32_t round = 0; round < 2; round++) {
        start = cpu_seconds();
        for (uint64_t i = 0; i < gets; i++) {
            must(sirix_trie_get(&cursor, 2 + roll(bench) % (bench->keys - 4), &row, NULL), "get");
            sum += row.record.len;
        }
        took = cpu_seconds() - start;
    }
    (void)printf("point read, %-9s %8.0f ns        (%" PRIu64 ")\n", name,
                 took * 1e9 / (double)gets, sum % 10);
}

static void scan(struct bench *bench, struct sirix_trie trie, const char *name)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row = {0};
    uint64_t rows = 0;
    double start = cpu_seconds();

    sirix_trie_cursor_init(&cursor, bench->reader, trie);
    for (uint64_t key = 0; sirix_trie_next(&cursor, key, &row, NULL) == SIRIX_OK;
         key = row.key + row.width) {
        rows++;
    }
    (void)printf("scan, %-9s       %8.1f ns/row    %" PRIu64 " rows\n", name,
                 (cpu_seconds() - start) * 1e9 / (double)rows, rows);
}

static struct sirix_trie commit_values(struct bench *bench, struct sirix_trie trie,
                                       uint64_t commits, uint64_t window, const char *name)
{
    const uint64_t first = 2 + roll(bench) % (bench->keys - window - 4) / 2 * 2;
    uint64_t page_bytes = 0;
    double building = 0;

    for (uint64_t i = 0; i < commits; i++) {
        const struct sirix_page_writer_options options = {
            .backend = bench->backend,
            .resource_id = 1,
            .record_bytes = RECORD_SLOT_BYTES,
        };
        const uint64_t key = first + roll(bench) % window / 2 * 2;
        struct sirix_page_writer *writer = NULL;
        struct sirix_trie_edit *edit = NULL;
        struct sirix_segment_built *segments = NULL;
        size_t count = 0;
        uint8_t place[16];
        uint8_t body[32];
        double start = cpu_seconds();
        must(sirix_page_writer_new(&options, &writer, NULL), "writer");
        must(sirix_trie_edit_new(bench->reader, trie, &edit, NULL), "edit");
        must(sirix_trie_edit_put(edit, key, 2, record_of(key, roll(bench) % 20000, place), NULL),
             "put");
        must(sirix_trie_edit_write(edit, writer, &trie, NULL), "write");
        page_bytes += sirix_page_writer_bytes(writer);
        must(sirix_page_writer_finish(writer, &segments, &count, body, NULL), "finish");
        building += cpu_seconds() - start;
        sirix_trie_edit_free(edit);
        sirix_page_writer_free(writer);
        for (size_t s = 0; s < count; s++) {
            commit(bench, &segments[s]);
        }
        free(segments);
        sirix_reader_yield(bench->reader);
    }
    (void)printf("commit, %-9s     %8.0f ns/build  %6.0f bytes of pages\n", name,
                 building * 1e9 / (double)commits, (double)page_bytes / (double)commits);
    return trie;
}

/* Many random changes in one edit, which is thrown away. */
static void large_edit(struct bench *bench, struct sirix_trie trie, uint64_t puts)
{
    const struct sirix_page_writer_options options = {.backend = bench->backend};
    struct sirix_page_writer *writer = NULL;
    struct sirix_trie_edit *edit = NULL;
    uint8_t place[16];
    double start = cpu_seconds();
    double put_seconds = 0;

    must(sirix_page_writer_new(&options, &writer, NULL), "writer");
    must(sirix_trie_edit_new(bench->reader, trie, &edit, NULL), "edit");
    for (uint64_t i = 0; i < puts; i++) {
        uint64_t key = 2 + roll(bench) % (bench->keys - 4) / 2 * 2;
        must(sirix_trie_edit_put(edit, key, 2, record_of(key, roll(bench) % 20000, place), NULL),
             "put");
    }
    put_seconds = cpu_seconds() - start;
    start = cpu_seconds();
    must(sirix_trie_edit_write(edit, writer, &trie, NULL), "write");
    (void)printf("large edit            %8.0f ns/put   %8.0f ns/put to write, %.0f bytes/put\n",
                 put_seconds * 1e9 / (double)puts, (cpu_seconds() - start) * 1e9 / (double)puts,
                 (double)sirix_page_writer_bytes(writer) / (double)puts);
    sirix_trie_edit_free(edit);
    sirix_page_writer_free(writer);
}

static void compare(struct bench *bench, struct sirix_trie a, struct sirix_trie b, const char *name)
{
    struct sirix_trie_compare walk;
    struct sirix_row row_a;
    struct sirix_row row_b;
    uint64_t found = 0;
    double start = cpu_seconds();

    sirix_trie_compare_init(&walk, bench->reader, a, bench->reader, b);
    while (sirix_trie_compare_next(&walk, &row_a, &row_b, NULL) == SIRIX_OK) {
        found++;
    }
    (void)printf("compare, %-9s    %8.1f us        %" PRIu64 " rows\n", name,
                 (cpu_seconds() - start) * 1e6, found);
}

int main(int argc, char **argv)
{
    struct bench bench = {.keys = argc > 2 ? strtoull(argv[2], NULL, 10) : 0, .dice = 1};
    const uint64_t commits = argc > 3 ? strtoull(argv[3], NULL, 10) : 10000;
    struct sirix_trie first = {0};
    struct sirix_trie last = {0};
    struct sirix_trie one = {0};

    if (bench.keys < 10000) {
        (void)fprintf(stderr, "usage: bench_page DIR KEYS [COMMITS], KEYS >= 10000\n");
        return EXIT_FAILURE;
    }
    const struct sirix_lmdb_options options = {.dir = argv[1], .create = true, .no_sync = true};
    if (sem_init(&bench.done, 0, 0) != 0) {
        return EXIT_FAILURE;
    }
    must(sirix_backend_open_lmdb(&options, &bench.backend, NULL), "open");
    must(sirix_reader_open(bench.backend, &bench.reader, NULL), "reader");
    first = build(&bench);
    point_reads(&bench, first, "fresh");
    scan(&bench, first, "fresh");
    one = commit_values(&bench, first, 1, bench.keys / 2, "one");
    compare(&bench, first, one, "one");
    last = commit_values(&bench, one, commits, bench.keys - 10, "random");
    compare(&bench, first, last, "random");
    last = commit_values(&bench, last, commits, 200, "local");
    point_reads(&bench, last, "newest");
    point_reads(&bench, first, "oldest");
    scan(&bench, last, "newest");
    large_edit(&bench, last, 100000);
    sirix_reader_close(bench.reader);
    sirix_backend_close(bench.backend);
    (void)sem_destroy(&bench.done);
    return EXIT_SUCCESS;
}
