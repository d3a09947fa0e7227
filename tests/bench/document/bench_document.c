/*
 * Documents over LMDB: import, stored size, memory, serialising, point reads, small commits.
 *
 *     bench_document DIR MEGABYTES [sync]
 *
 * DIR must not hold a database yet. One line a figure: name, value, unit.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/hash.h"
#include "bench/common/records.h"
#include "store/document/edit.h"

enum { PIECE_BYTES = 256 * 1024, POINT_READS = 200000, COMMITS = 1000 };

static double now_s(clockid_t clock)
{
    struct timespec at;

    (void)clock_gettime(clock, &at);
    return (double)at.tv_sec + (double)at.tv_nsec * 1e-9;
}

static void must(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OK) {
        (void)fprintf(stderr, "%s: %s\n", sirix_status_name(status), err->text);
        exit(EXIT_FAILURE);
    }
}

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* A field of /proc/self/status in KiB. */
static uint64_t memory_kib(const char *field)
{
    char line[256];
    uint64_t kib = 0;
    FILE *file = fopen("/proc/self/status", "r");

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, field, strlen(field)) == 0) {
            kib = strtoull(line + strlen(field) + 1, NULL, 10);
        }
    }
    if (file != NULL) {
        (void)fclose(file);
    }
    return kib;
}

struct bench {
    struct sirix_database *database;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    uint64_t anon_peak_kib;
    uint64_t text_bytes;
};

static void head(struct bench *bench, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_error err = {0};

    sirix_reader_yield(bench->reader);
    must(sirix_view_open(bench->resource, bench->reader, &spec, view, &err), &err);
}

static void commit(struct sirix_edit *edit)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("bench"), .message = bytes_of("")};
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    bool changed = false;

    must(sirix_edit_commit(edit, &commit, &published, &changed, &err), &err);
}

static void run_import(struct bench *bench, uint64_t bytes)
{
    const struct sirix_edit_insert insert = {.target = 0};
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_edit *edit = NULL;
    struct sirix_view view;
    struct records records;
    char *piece = malloc(PIECE_BYTES);
    double start = now_s(CLOCK_MONOTONIC);
    double cpu = now_s(CLOCK_PROCESS_CPUTIME_ID);
    double generating = 0;
    uint64_t count = 0;

    records_init(&records, 1, bytes, false);
    head(bench, &view);
    must(sirix_edit_new(&view, bench->reader, &edit, &err), &err);
    must(sirix_edit_insert_begin(edit, &insert, &err), &err);
    for (;;) {
        double before = now_s(CLOCK_THREAD_CPUTIME_ID);
        size_t len = records_next(&records, piece, PIECE_BYTES);
        generating += now_s(CLOCK_THREAD_CPUTIME_ID) - before;
        if (len == 0) {
            break;
        }
        must(sirix_edit_value_feed(edit, (struct sirix_bytes){.data = piece, .len = len}, &err),
             &err);
        if (++count % 64 == 0) {
            uint64_t kib = memory_kib("RssAnon:");
            bench->anon_peak_kib = kib > bench->anon_peak_kib ? kib : bench->anon_peak_kib;
        }
    }
    must(sirix_edit_value_end(edit, &result, &err), &err);
    commit(edit);
    sirix_edit_free(edit);
    sirix_view_close(&view);
    bench->text_bytes = records.bytes;
    (void)printf("import %.1f MB/s\n",
                 (double)records.bytes / 1e6 / (now_s(CLOCK_MONOTONIC) - start - generating));
    (void)printf("import_cpu %.1f MB/s\n",
                 (double)records.bytes / 1e6 /
                     (now_s(CLOCK_PROCESS_CPUTIME_ID) - cpu - generating));
    (void)printf("import_nodes %" PRIu64 " nodes\n", result.node_count);
    (void)printf("import_anon %.1f MiB\n", (double)bench->anon_peak_kib / 1024);
    free(piece);
}

static void run_serialise(struct bench *bench)
{
    const struct sirix_serialise_options options = {.key = 0};

    for (int round = 0; round < 2; round++) {
        struct sirix_document document;
        struct sirix_serialiser *serialiser = NULL;
        struct sirix_error err = {0};
        struct sirix_view view;
        struct sirix_buf out;
        uint64_t bytes = 0;
        bool done = false;
        double start = now_s(CLOCK_THREAD_CPUTIME_ID);

        head(bench, &view);
        sirix_document_init(&document, &view, bench->reader);
        sirix_buf_init(&out, SIZE_MAX);
        must(sirix_serialiser_new(&document, &options, &serialiser, &err), &err);
        while (!done) {
            must(sirix_serialiser_step(serialiser, PIECE_BYTES, &out, &done, &err), &err);
            bytes += out.len;
            sirix_buf_clear(&out);
            sirix_reader_yield(bench->reader);
        }
        (void)printf("%s %.1f MB/s\n", round == 0 ? "serialise_first" : "serialise_warm",
                     (double)bytes / 1e6 / (now_s(CLOCK_THREAD_CPUTIME_ID) - start));
        if (bytes != bench->text_bytes) {
            (void)fprintf(stderr, "%" PRIu64 " bytes came back of %" PRIu64 "\n", bytes,
                          bench->text_bytes);
            exit(EXIT_FAILURE);
        }
        sirix_serialiser_free(serialiser);
        sirix_buf_deinit(&out);
        sirix_view_close(&view);
    }
}

static void run_point_reads(struct bench *bench)
{
    struct sirix_document document;
    struct sirix_document_node node;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t random = 1;
    uint64_t found = 0;
    double start = 0;

    head(bench, &view);
    sirix_document_init(&document, &view, bench->reader);
    start = now_s(CLOCK_THREAD_CPUTIME_ID);
    for (uint64_t i = 0; i < POINT_READS; i++) {
        uint64_t key = 0;
        random += UINT64_C(0x9e3779b97f4a7c15);
        key = 1 + sirix_mix64(random) % (view.record.node_count);
        found += sirix_document_get(&document, key, &node, &err) == SIRIX_OK ? 1 : 0;
        if (i % 1000 == 999) {
            sirix_reader_yield(bench->reader);
        }
    }
    (void)printf("point_read %.3f us (%" PRIu64 " of %d found)\n",
                 (now_s(CLOCK_THREAD_CPUTIME_ID) - start) * 1e6 / POINT_READS, found, POINT_READS);
    sirix_view_close(&view);
}

static void run_commits(struct bench *bench)
{
    struct sirix_backend_stats before = {0};
    struct sirix_backend_stats after = {0};
    struct sirix_error err = {0};
    uint64_t random = 7;
    double start = 0;
    uint64_t first = 0;

    must(sirix_backend_stats(sirix_database_backend(bench->database), &before, &err), &err);
    start = now_s(CLOCK_MONOTONIC);
    for (uint64_t i = 0; i < COMMITS; i++) {
        struct sirix_edit_result result = {0};
        struct sirix_edit *edit = NULL;
        struct sirix_view view;
        struct sirix_document document;
        uint64_t key = 0;
        char text[32];

        random += UINT64_C(0x9e3779b97f4a7c15);
        head(bench, &view);
        sirix_document_init(&document, &view, bench->reader);
        must(sirix_document_child_at(&document, 1, sirix_mix64(random) % 1000, &first, &err), &err);
        must(sirix_document_member(&document, first, bytes_of("state"), &key, &err), &err);
        must(sirix_edit_new(&view, bench->reader, &edit, &err), &err);
        (void)snprintf(text, sizeof(text), "\"s%" PRIu64 "\"", i);
        must(sirix_edit_update(edit, &(struct sirix_edit_update){.target = key}, bytes_of(text),
                               &result, &err),
             &err);
        commit(edit);
        sirix_edit_free(edit);
        sirix_view_close(&view);
    }
    must(sirix_backend_stats(sirix_database_backend(bench->database), &after, &err), &err);
    (void)printf("commit %.1f us\n", (now_s(CLOCK_MONOTONIC) - start) * 1e6 / COMMITS);
    (void)printf("commit_bytes %.1f bytes\n",
                 (double)(after.segment_bytes - before.segment_bytes) / COMMITS);
}

int main(int argc, char **argv)
{
    struct sirix_lmdb_options lmdb = {.create = true};
    struct sirix_database_options options = {0};
    struct sirix_committer_pool *pool = NULL;
    struct sirix_backend_stats stats = {0};
    struct sirix_recovery recovery = {0};
    struct sirix_error err = {0};
    struct bench bench = {0};

    if (argc < 3) {
        (void)fprintf(stderr, "usage: %s DIR MEGABYTES [sync]\n", argv[0]);
        return EXIT_FAILURE;
    }
    lmdb.dir = argv[1];
    lmdb.no_sync = argc < 4;
    must(sirix_committer_pool_start(2, &pool, &err), &err);
    must(sirix_backend_open_lmdb(&lmdb, &options.backend, &err), &err);
    options.pool = pool;
    options.dir = argv[1];
    must(sirix_database_open(&options, &bench.database, &recovery, &err), &err);
    must(sirix_resource_create(bench.database, bytes_of("records"), bytes_of("bench"), bytes_of(""),
                               &bench.resource, &err),
         &err);
    must(sirix_reader_open(options.backend, &bench.reader, &err), &err);
    run_import(&bench, strtoull(argv[2], NULL, 10) * 1000000);
    must(sirix_backend_stats(options.backend, &stats, &err), &err);
    (void)printf("stored %.3f bytes a byte of text\n",
                 (double)stats.segment_bytes / (double)bench.text_bytes);
    run_serialise(&bench);
    run_point_reads(&bench);
    run_commits(&bench);
    sirix_reader_close(bench.reader);
    sirix_resource_unref(bench.resource);
    sirix_database_close(bench.database);
    sirix_committer_pool_stop(pool);
    return EXIT_SUCCESS;
}
