/*
 * The store as a client sees it: calls over gRPC on a Unix socket, through libsirix.
 *
 *     bench_client ADDRESS DATABASE reads RESOURCE READS
 *     bench_client ADDRESS DATABASE commits RESOURCE SECONDS CLIENTS
 *     bench_client ADDRESS PREFIX databases RESOURCE FIRST LAST   makes PREFIX-FIRST up to PREFIX-LAST,
 *                                                                 each with an empty RESOURCE
 *
 * One client writes RESOURCE; of several each writes a resource of its own: RESOURCE-0, ... They share
 * one connection.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>

#include "bench/common/measure.h"
#include "sirix/sirix.h"

enum { CLIENTS_MAX = 256, KEYS = 200 };

struct caller {
    struct sirix_client *client;
    const char *database;
    char resource[128];
    uint64_t random;
    uint64_t keys[KEYS];
    double until;
    uint64_t commits;
    struct bench_times times;
};

/* Reads the member of a random record and gives its key. */
static uint64_t read_member(struct caller *caller, const char *member, uint64_t records)
{
    struct sirix_read_node_request request = {
        .database = caller->database, .resource = caller->resource, .has_max_depth = true};
    struct sirix_node_page *page = NULL;
    struct sirix_error err = {0};
    uint64_t key = 0;
    char path[64];

    (void)snprintf(path, sizeof(path), "/[%" PRIu64 "]/%s", bench_random(&caller->random, records),
                   member);
    request.target.path = bench_bytes(path);
    bench_must(sirix_client_read_node(caller->client, &request, NULL, &page, &err), &err);
    bench_check(page->count == 1, "reading one node");
    key = page->nodes[0].node_key;
    sirix_client_free(page);
    return key;
}

static uint64_t record_count(struct caller *caller)
{
    struct sirix_read_node_request request = {
        .database = caller->database, .resource = caller->resource, .has_max_depth = true};
    struct sirix_node_page *page = NULL;
    struct sirix_error err = {0};
    uint64_t count = 0;

    request.target.node_key = 1;
    bench_must(sirix_client_read_node(caller->client, &request, NULL, &page, &err), &err);
    count = page->nodes[0].child_count;
    sirix_client_free(page);
    bench_check(count != 0, "a resource without elements");
    return count;
}

static void run_reads(struct caller *caller, uint64_t reads)
{
    uint64_t records = record_count(caller);
    double cpu = bench_cpu_s();

    for (uint64_t i = 0; i < reads; i++) {
        double start = bench_wall_s();
        (void)read_member(caller, "user/address/city", records);
        bench_times_add(&caller->times, (bench_wall_s() - start) * 1e6);
    }
    bench_print("read_us", bench_times_at(&caller->times, 0.5));
    bench_print("read_p99_us", bench_times_at(&caller->times, 0.99));
    bench_print("client_cpu_us", (bench_cpu_s() - cpu) * 1e6 / (double)reads);
    bench_times_deinit(&caller->times);
}

static void *run_writer(void *context)
{
    struct caller *caller = context;

    while (bench_wall_s() < caller->until) {
        struct sirix_operation operation = {.kind = SIRIX_OPERATION_UPDATE};
        struct sirix_apply_request request = {.database = caller->database,
                                              .resource = caller->resource,
                                              .operations = &operation,
                                              .operation_count = 1};
        struct sirix_apply_result *result = NULL;
        struct sirix_error err = {0};
        double start = bench_wall_s();
        char text[32];

        (void)snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64,
                       bench_random(&caller->random, 1000000), bench_random(&caller->random, 100));
        operation.node_key = caller->keys[bench_random(&caller->random, KEYS)];
        operation.json = bench_bytes(text);
        bench_must(sirix_client_apply(caller->client, &request, NULL, &result, &err), &err);
        sirix_client_free(result);
        bench_times_add(&caller->times, (bench_wall_s() - start) * 1e6);
        caller->commits++;
    }
    return NULL;
}

static void run_commits(struct caller *first, const char *resource, double seconds, size_t count)
{
    static struct caller callers[CLIENTS_MAX];
    static pthread_t threads[CLIENTS_MAX];
    struct bench_times times = {0};
    double commits = 0;
    double wall = 0;

    bench_check(count >= 1 && count <= CLIENTS_MAX, "the number of clients");
    for (size_t i = 0; i < count; i++) {
        callers[i] = *first;
        callers[i].random = i;
        (void)snprintf(callers[i].resource, sizeof(callers[i].resource),
                       count == 1 ? "%s" : "%s-%zu", resource, i);
        uint64_t records = record_count(&callers[i]);
        for (size_t j = 0; j < KEYS; j++) {
            callers[i].keys[j] = read_member(&callers[i], "balance", records);
        }
    }
    wall = bench_wall_s();
    for (size_t i = 0; i < count; i++) {
        callers[i].until = wall + seconds;
        bench_check(pthread_create(&threads[i], NULL, run_writer, &callers[i]) == 0, "a thread");
    }
    for (size_t i = 0; i < count; i++) {
        bench_check(pthread_join(threads[i], NULL) == 0, "joining a thread");
        commits += (double)callers[i].commits;
        for (size_t j = 0; j < callers[i].times.count; j++) {
            bench_times_add(&times, callers[i].times.us[j]);
        }
        bench_times_deinit(&callers[i].times);
    }
    bench_print("rate", commits / (bench_wall_s() - wall));
    bench_print("p50_us", bench_times_at(&times, 0.5));
    bench_print("p99_us", bench_times_at(&times, 0.99));
    bench_times_deinit(&times);
}

static void run_databases(const struct caller *caller, uint64_t first, uint64_t last)
{
    for (uint64_t i = first; i <= last; i++) {
        struct sirix_error err = {0};
        char name[128];
        (void)snprintf(name, sizeof(name), "%s-%" PRIu64, caller->database, i);
        bench_must(sirix_client_create_database(caller->client, name, NULL, NULL, &err), &err);
        bench_must(sirix_client_create_resource(caller->client, name, caller->resource, NULL, NULL,
                                                NULL, &err),
                   &err);
    }
    bench_print("databases", (double)(last - first + 1));
}

int main(int argc, char **argv)
{
    struct caller caller = {.random = 1};
    struct sirix_error err = {0};

    if (argc < 6) {
        (void)fprintf(stderr,
                      "usage: %s ADDRESS DATABASE reads RESOURCE READS"
                      " | commits RESOURCE SECONDS CLIENTS | databases RESOURCE FIRST LAST\n",
                      argv[0]);
        return EXIT_FAILURE;
    }
    caller.database = argv[2];
    (void)snprintf(caller.resource, sizeof(caller.resource), "%s", argv[4]);
    bench_must(sirix_client_open(argv[1], NULL, &caller.client, &err), &err);
    if (strcmp(argv[3], "reads") == 0) {
        run_reads(&caller, strtoull(argv[5], NULL, 10));
    } else if (strcmp(argv[3], "databases") == 0 && argc == 7) {
        run_databases(&caller, strtoull(argv[5], NULL, 10), strtoull(argv[6], NULL, 10));
    } else {
        bench_check(strcmp(argv[3], "commits") == 0 && argc == 7, "reading the command");
        run_commits(&caller, argv[4], strtod(argv[5], NULL), strtoull(argv[6], NULL, 10));
    }
    sirix_client_close(caller.client);
    return EXIT_SUCCESS;
}
