/* Point reads at the newest and the oldest revision, and elements by their index. */
#include <stdio.h>

#include "bench/store/store.h"

enum { BLOCK = 100, BLOCKS_A_YIELD = 10 };

struct reading {
    struct sirix_view view;
    struct sirix_document document;
    struct bench_times by_key;
    struct bench_times by_path;
    double cpu_s; /* Of all reads by key. */
};

static void init_reading(struct reading *reading, struct bench_store *store,
                         struct sirix_resource *resource, uint64_t revision)
{
    *reading = (struct reading){0};
    if (revision == 0) {
        bench_head(resource, store->reader, NULL, &reading->view);
    } else {
        bench_revision(resource, store->reader, revision, &reading->view);
    }
    sirix_document_init(&reading->document, &reading->view, store->reader);
}

/* The value of one of the keys, as text. */
static void read_value(struct sirix_document *document, uint64_t key, struct sirix_buf *out)
{
    struct sirix_document_node node;
    struct sirix_error err = {0};
    bool cut = false;

    sirix_buf_clear(out);
    bench_must(sirix_document_get(document, key, &node, &err), &err);
    bench_must(sirix_document_scalar(document, &node, 1024, out, &cut, &err), &err);
}

static void run_block(struct reading *reading, const uint64_t *keys, struct sirix_buf *out)
{
    double cpu = bench_cpu_s();
    double start = bench_wall_s();

    for (size_t i = 0; i < BLOCK; i++) {
        read_value(&reading->document, keys[i], out);
    }
    bench_times_add(&reading->by_key, (bench_wall_s() - start) * 1e6 / BLOCK);
    reading->cpu_s += bench_cpu_s() - cpu;
}

static void run_path_block(struct reading *reading, uint64_t records, uint64_t *random,
                           struct sirix_buf *out)
{
    struct sirix_error err = {0};
    double start = bench_wall_s();

    for (size_t i = 0; i < BLOCK; i++) {
        char path[64];
        uint64_t key = 0;
        (void)snprintf(path, sizeof(path), "/[%zu]/user/address/city",
                       (size_t)bench_random(random, records));
        bench_must(sirix_document_resolve(&reading->document, SIRIX_PATH_SIRIX, bench_bytes(path),
                                          &key, &err),
                   &err);
        read_value(&reading->document, key, out);
    }
    bench_times_add(&reading->by_path, (bench_wall_s() - start) * 1e6 / BLOCK);
}

static void print_reading(const char *which, struct reading *reading)
{
    char name[64];
    double reads = (double)(reading->by_key.count * BLOCK);

    (void)snprintf(name, sizeof(name), "%s_us", which);
    bench_print(name, bench_times_at(&reading->by_key, 0.5));
    (void)snprintf(name, sizeof(name), "%s_cpu_us", which);
    bench_print(name, reading->cpu_s * 1e6 / reads);
    (void)snprintf(name, sizeof(name), "%s_path_us", which);
    bench_print(name, bench_times_at(&reading->by_path, 0.5));
    bench_times_deinit(&reading->by_key);
    bench_times_deinit(&reading->by_path);
    sirix_view_close(&reading->view);
}

/*
 * reads RESOURCE READS: values of random records by key, and others by path, blocks of the newest and
 * of the oldest revision in turns.
 */
void bench_reads(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    uint64_t blocks = strtoull(arguments[1], NULL, 10) / BLOCK + 1;
    uint64_t *keys = malloc(blocks * BLOCK * sizeof(*keys));
    struct reading sides[2];
    struct sirix_buf out;
    uint64_t random = 3;
    uint64_t records = 0;

    bench_check(keys != NULL, "memory");
    init_reading(&sides[0], store, resource, 0);
    init_reading(&sides[1], store, resource, 1);
    sirix_buf_init(&out, SIZE_MAX);
    records = bench_record_count(&sides[0].document);
    for (uint64_t i = 0; i < blocks * BLOCK; i++) {
        keys[i] = bench_balance(&sides[1].document, bench_random(&random, records));
    }
    for (uint64_t block = 0; block < blocks; block++) {
        for (size_t side = 0; side < 2; side++) {
            sirix_reader_yield(store->reader);
            run_block(&sides[(block + side) % 2], keys + block * BLOCK, &out);
        }
        for (size_t side = 0; side < 2; side++) {
            run_path_block(&sides[(block + side) % 2], records, &random, &out);
        }
    }
    bench_print("revisions", (double)sides[0].view.record.revision);
    print_reading("newest", &sides[0]);
    print_reading("oldest", &sides[1]);
    free(keys);
    sirix_buf_deinit(&out);
    sirix_resource_unref(resource);
}

/* elements RESOURCE READS: random elements of an array of scalars by index. */
void bench_elements(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    uint64_t blocks = strtoull(arguments[1], NULL, 10) / BLOCK + 1;
    struct bench_times times = {0};
    struct reading reading;
    struct sirix_buf out;
    struct sirix_error err = {0};
    uint64_t random = 5;
    uint64_t count = 0;

    init_reading(&reading, store, resource, 0);
    sirix_buf_init(&out, SIZE_MAX);
    count = bench_record_count(&reading.document);
    for (uint64_t block = 0; block < blocks; block++) {
        double start = bench_wall_s();
        for (size_t i = 0; i < BLOCK; i++) {
            uint64_t key = 0;
            bench_must(sirix_document_child_at(&reading.document, 1, bench_random(&random, count),
                                               &key, &err),
                       &err);
            read_value(&reading.document, key, &out);
        }
        bench_times_add(&times, (bench_wall_s() - start) * 1e6 / BLOCK);
        if (block % BLOCKS_A_YIELD == 0) {
            sirix_reader_yield(store->reader);
        }
    }
    bench_print("element_us", bench_times_at(&times, 0.5));
    bench_times_deinit(&times);
    sirix_buf_deinit(&out);
    sirix_view_close(&reading.view);
    sirix_resource_unref(resource);
}
