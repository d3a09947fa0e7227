/* Commits of one value: rate, bytes, and where the bytes go. */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "bench/store/store.h"
#include "store/child/child_page.h"
#include "store/page/page.h"

enum { CLIENTS_MAX = 256 };

struct client {
    struct bench_store *store;
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    uint64_t random;
    double until;   /* Seconds of the wall clock; 0: count. */
    uint64_t count; /* Commits to make; 0: until. */
    uint64_t commits;
    struct bench_times times;
};

static void *run_client(void *context)
{
    struct client *client = context;

    while (client->count != 0 ? client->commits < client->count : bench_wall_s() < client->until) {
        double start = bench_wall_s();
        bench_update_one(client->resource, client->reader, NULL, &client->random);
        bench_times_add(&client->times, (bench_wall_s() - start) * 1e6);
        client->commits++;
    }
    return NULL;
}

static void start_clients(struct bench_store *store, struct client *clients, size_t count,
                          char **arguments)
{
    double seconds = strtod(arguments[1], NULL);

    for (size_t i = 0; i < count; i++) {
        struct sirix_error err = {0};
        char name[128];
        (void)snprintf(name, sizeof(name), count == 1 ? "%s" : "%s-%zu", arguments[0], i);
        clients[i] = (struct client){.store = store,
                                     .resource = bench_resource(store, name),
                                     .random = strtoull(arguments[4], NULL, 10) * 1000 + i,
                                     .until = bench_wall_s() + seconds,
                                     .count = strtoull(arguments[2], NULL, 10)};
        bench_must(sirix_reader_open(store->backend, &clients[i].reader, &err), &err);
    }
}

/*
 * commits RESOURCE SECONDS COUNT CLIENTS SEED: COUNT commits a client or, COUNT 0, as many as go in
 * SECONDS. One client writes RESOURCE; of several each writes a resource of its own: RESOURCE-0, ...
 */
void bench_commits(struct bench_store *store, char **arguments)
{
    static struct client clients[CLIENTS_MAX];
    static pthread_t threads[CLIENTS_MAX];
    size_t count = strtoull(arguments[3], NULL, 10);
    struct sirix_committer_stats groups_before = {0};
    struct sirix_committer_stats groups = {0};
    struct sirix_backend_stats before = bench_stats(store);
    struct sirix_backend_stats after = {0};
    struct bench_times times = {0};
    uint64_t commits = 0;
    double wall = 0;
    double cpu = 0;

    bench_check(count >= 1 && count <= CLIENTS_MAX, "the number of clients");
    start_clients(store, clients, count, arguments);
    sirix_committer_stats(sirix_database_committer(store->database), &groups_before);
    wall = bench_wall_s();
    cpu = bench_cpu_s();
    for (size_t i = 0; i < count; i++) {
        bench_check(pthread_create(&threads[i], NULL, run_client, &clients[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++) {
        bench_check(pthread_join(threads[i], NULL) == 0, "joining a thread");
        commits += clients[i].commits;
        for (size_t j = 0; j < clients[i].times.count; j++) {
            bench_times_add(&times, clients[i].times.us[j]);
        }
        bench_times_deinit(&clients[i].times);
        sirix_reader_close(clients[i].reader);
        sirix_resource_unref(clients[i].resource);
    }
    wall = bench_wall_s() - wall;
    cpu = bench_cpu_s() - cpu;
    sirix_committer_stats(sirix_database_committer(store->database), &groups);
    after = bench_stats(store);
    bench_print("commits", (double)commits);
    bench_print("rate", (double)commits / wall);
    bench_print("cpu_us", cpu * 1e6 / (double)commits);
    bench_print("p50_us", bench_times_at(&times, 0.5));
    bench_print("p99_us", bench_times_at(&times, 0.99));
    bench_print("works_a_group", (double)(groups.works - groups_before.works) /
                                     (double)(groups.groups - groups_before.groups));
    bench_print("segment_bytes",
                (double)(after.segment_bytes - before.segment_bytes) / (double)commits);
    bench_print("file_bytes", (double)(after.file_bytes - before.file_bytes) / (double)commits);
    bench_layers(store, before.next_number, commits);
    bench_times_deinit(&times);
}

/* --- Layers ------------------------------------------------------------------------------------ */

enum layer { RECORD, INNER, LEAF, DELTA, CHILD, STRING, LAYERS };
static const char *const layer_names[LAYERS] = {"layer_record", "layer_inner", "layer_leaf",
                                                "layer_delta",  "layer_child", "layer_string"};

/* The length and layer of the page that bytes start with. */
static size_t page_len(struct sirix_bytes bytes, uint64_t address, enum layer *out_layer)
{
    uint64_t children[SIRIX_CHILD_INNER_MAX];
    uint64_t inner[SIRIX_INNER_CHILDREN];
    struct sirix_error err = {0};
    const uint8_t *page = bytes.data;
    size_t count = 0;
    size_t len = 0;

    switch (page[0]) {
    case SIRIX_PAGE_INNER:
        *out_layer = INNER;
        bench_must(sirix_inner_children(page, address, inner, &err), &err);
        return sirix_inner_size(inner);
    case SIRIX_PAGE_LEAF:
        *out_layer = LEAF;
        return SIRIX_LEAF_HEADER_BYTES + sirix_load_u32le(page + 4);
    case SIRIX_PAGE_LEAF_DELTA:
        *out_layer = DELTA;
        return SIRIX_DELTA_HEADER_BYTES + sirix_load_u32le(page + 4);
    case SIRIX_PAGE_STRING_ROOT:
    case SIRIX_PAGE_STRING_CHUNK:
        *out_layer = STRING;
        return bytes.len;
    default:
        *out_layer = CHILD;
        bench_must(sirix_child_page_links(bytes, address, &len, children, &count, &err), &err);
        return len;
    }
}

static enum sirix_status add_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                     bool *stop, struct sirix_error *err)
{
    const uint8_t *data = bytes.data;
    double *layers = context;
    struct sirix_record record;
    enum sirix_status status = SIRIX_OK;
    size_t at = SIRIX_SEGMENT_HEADER_BYTES;

    *stop = false;
    layers[RECORD] += SIRIX_SEGMENT_HEADER_BYTES;
    if (data[3] == SIRIX_SEGMENT_COMMIT) {
        size_t len = 0;
        status = sirix_record_decode((struct sirix_bytes){data + at, bytes.len - at}, &record, err);
        if (status != SIRIX_OK) {
            return status;
        }
        len = sirix_record_bytes(record.author.len, record.message.len);
        layers[RECORD] += (double)len;
        at += len;
    }
    while (at < bytes.len) {
        enum layer layer = STRING;
        size_t len = sirix_page_padded(page_len((struct sirix_bytes){data + at, bytes.len - at},
                                                sirix_address_make(number, at), &layer));
        layers[layer] += (double)len;
        at += len;
    }
    return SIRIX_OK;
}

void bench_layers(struct bench_store *store, uint64_t first, uint64_t commits)
{
    double layers[LAYERS] = {0};
    struct sirix_error err = {0};

    sirix_reader_yield(store->reader);
    bench_must(sirix_segment_scan(store->reader, first, SIRIX_SEGMENT_NUMBER_MAX, add_segment,
                                  layers, &err),
               &err);
    for (size_t i = 0; i < LAYERS; i++) {
        bench_print(layer_names[i], layers[i] / (double)commits);
    }
}
