/*
 * Measures the store over LMDB.
 *
 *     bench_store DIR sync|nosync COMMAND [ARGUMENT...]     (usage() lists the commands)
 */
#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <sys/stat.h>

#include "bench/store/store.h"

/* As storaged does (sirix_rpc_tune_malloc): or pages go to the kernel and back with every transaction. */
enum { MMAP_THRESHOLD_BYTES = 1024 * 1024, TRIM_THRESHOLD_BYTES = 64 * 1024 * 1024 };

void bench_store_open(struct bench_store *store, const char *dir, bool no_sync)
{
    const struct sirix_lmdb_options lmdb = {.dir = dir, .create = true, .no_sync = no_sync};
    struct sirix_database_options options = {.dir = dir};
    struct sirix_recovery recovery = {0};
    struct sirix_error err = {0};

    bench_check(mkdir(dir, 0700) == 0 || errno == EEXIST, dir);
    *store = (struct bench_store){.dir = dir};
    bench_must(sirix_committer_pool_start(2, &store->pool, &err), &err);
    bench_must(sirix_backend_open_lmdb(&lmdb, &store->backend, &err), &err);
    options.backend = store->backend;
    options.pool = store->pool;
    bench_must(sirix_database_open(&options, &store->database, &recovery, &err), &err);
    bench_must(sirix_reader_open(store->backend, &store->reader, &err), &err);
}

void bench_store_close(struct bench_store *store)
{
    sirix_reader_close(store->reader);
    sirix_database_close(store->database);
    sirix_committer_pool_stop(store->pool);
}

void bench_head(struct sirix_resource *resource, struct sirix_reader *reader, const char *branch,
                struct sirix_view *out_view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH,
                                         .name = bench_bytes(branch == NULL ? "" : branch)};
    struct sirix_error err = {0};

    sirix_reader_yield(reader);
    bench_must(sirix_view_open(resource, reader, &spec, out_view, &err), &err);
    sirix_reader_yield(reader);
}

void bench_revision(struct sirix_resource *resource, struct sirix_reader *reader, uint64_t revision,
                    struct sirix_view *out_view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = revision};
    struct sirix_error err = {0};

    bench_must(sirix_view_open(resource, reader, &spec, out_view, &err), &err);
    sirix_reader_yield(reader);
}

struct sirix_resource *bench_resource(struct bench_store *store, const char *name)
{
    struct sirix_resource *resource = NULL;
    struct sirix_error err = {0};

    bench_must(sirix_resource_open(store->database, bench_bytes(name), &resource, &err), &err);
    return resource;
}

struct sirix_backend_stats bench_stats(struct bench_store *store)
{
    struct sirix_backend_stats stats = {0};
    struct sirix_error err = {0};

    bench_must(sirix_backend_stats(store->backend, &stats, &err), &err);
    return stats;
}

bool bench_commit(struct sirix_edit *edit, struct sirix_reader *reader)
{
    const struct sirix_edit_commit commit = {.author = bench_bytes("bench"),
                                             .message = bench_bytes("")};
    struct sirix_publication publication;
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    bool changed = false;

    bench_must(sirix_edit_prepare(edit, &commit, &publication, &changed, &err), &err);
    sirix_reader_yield(reader);
    if (changed) {
        bench_must(sirix_publish(&publication, &published, &err), &err);
        sirix_edit_published(edit, SIRIX_OK);
    }
    return changed;
}

uint64_t bench_record_count(struct sirix_document *document)
{
    struct sirix_document_node node;
    struct sirix_error err = {0};

    bench_must(sirix_document_get(document, 1, &node, &err), &err);
    bench_check(node.child_count != 0, "a document without elements");
    return node.child_count;
}

uint64_t bench_balance(struct sirix_document *document, uint64_t record)
{
    struct sirix_error err = {0};
    uint64_t key = 0;

    bench_must(sirix_document_child_at(document, 1, record, &key, &err), &err);
    bench_must(sirix_document_member(document, key, bench_bytes("balance"), &key, &err), &err);
    return key;
}

void bench_update_one(struct sirix_resource *resource, struct sirix_reader *reader,
                      const char *branch, uint64_t *random)
{
    struct sirix_edit_update update = {0};
    struct sirix_edit_result result = {0};
    struct sirix_edit *edit = NULL;
    struct sirix_document document;
    struct sirix_view view;
    struct sirix_error err = {0};
    char text[32];

    bench_head(resource, reader, branch, &view);
    sirix_document_init(&document, &view, reader);
    update.target = bench_balance(&document, bench_random(random, bench_record_count(&document)));
    bench_must(sirix_edit_new(&view, reader, &edit, &err), &err);
    (void)snprintf(text, sizeof(text), "%" PRIu64 ".%02" PRIu64, bench_random(random, 1000000),
                   bench_random(random, 100));
    bench_must(sirix_edit_update(edit, &update, bench_bytes(text), &result, &err), &err);
    (void)bench_commit(edit, reader);
    sirix_edit_free(edit);
    sirix_view_close(&view);
}

/* --- Commands ---------------------------------------------------------------------------------- */

/* Opening is what every process of ours does first; here it is all. */
static void run_open(struct bench_store *store, char **arguments)
{
    (void)store;
    (void)arguments;
}

struct command {
    const char *name;
    const char *arguments;
    int count;
    void (*run)(struct bench_store *store, char **arguments);
};
static const struct command commands[] = {
    {"open", "", 0, run_open},
    {"import", "RESOURCE FILE", 2, bench_import},
    {"export", "RESOURCE FILE", 2, bench_export},
    {"commits", "RESOURCE SECONDS COUNT CLIENTS SEED", 5, bench_commits},
    {"reads", "RESOURCE READS", 2, bench_reads},
    {"refs", "RESOURCE COUNT MEASURED", 3, bench_refs},
    {"depth", "RESOURCE FIRST LAST MEASURED", 4, bench_depth},
    {"diff", "RESOURCE CHANGES", 2, bench_diffs},
    {"elements", "RESOURCE READS", 2, bench_elements},
};
enum { COMMANDS = sizeof(commands) / sizeof(commands[0]) };

static int usage(const char *program)
{
    (void)fprintf(stderr, "usage: %s DIR sync|nosync COMMAND [ARGUMENT...]\n", program);
    for (size_t i = 0; i < COMMANDS; i++) {
        (void)fprintf(stderr, "    %s %s\n", commands[i].name, commands[i].arguments);
    }
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    const struct command *command = NULL;
    struct bench_store store;
    double wall = 0;
    double cpu = 0;

    for (size_t i = 0; argc > 3 && i < COMMANDS; i++) {
        if (strcmp(argv[3], commands[i].name) == 0 && argc == commands[i].count + 4) {
            command = &commands[i];
        }
    }
    if (command == NULL) {
        return usage(argv[0]);
    }
    (void)mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
    (void)mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
    wall = bench_wall_s();
    cpu = bench_cpu_s();
    bench_store_open(&store, argv[1], strcmp(argv[2], "nosync") == 0);
    bench_print("open_us", (bench_wall_s() - wall) * 1e6);
    bench_print("open_cpu_us", (bench_cpu_s() - cpu) * 1e6);
    command->run(&store, argv + 4);
    bench_store_close(&store);
    return EXIT_SUCCESS;
}
