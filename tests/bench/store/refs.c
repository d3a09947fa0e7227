/* Labels, branches and reverts: what costs nothing but a small row. And branches of branches. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/store/store.h"

typedef void (*operation_fn)(const struct sirix_view *view, uint64_t index);

static void name_of(char *name, size_t size, const char *prefix, uint64_t index)
{
    (void)snprintf(name, size, "%s-%" PRIu64, prefix, index);
}

static void make_branch(const struct sirix_view *view, uint64_t index)
{
    struct sirix_branch_info info;
    struct sirix_error err = {0};
    char name[64];

    name_of(name, sizeof(name), "branch", index);
    bench_must(sirix_branch_create(view, bench_bytes(name), 0, &info, &err), &err);
}

static void make_label(const struct sirix_view *view, uint64_t index)
{
    struct sirix_snapshot_created created;
    struct sirix_error err = {0};
    char name[64];

    name_of(name, sizeof(name), "label", index);
    bench_must(sirix_snapshot_create(view, bench_bytes(name), false, &created, &err), &err);
}

static void revert(struct bench_store *store, struct sirix_resource *resource,
                   const struct sirix_view *source)
{
    const struct sirix_rider none = {0};
    struct sirix_published published;
    struct sirix_view base;
    struct sirix_error err = {0};

    bench_head(resource, store->reader, NULL, &base);
    bench_must(
        sirix_revert(&base, source, bench_bytes("bench"), bench_bytes(""), &none, &published, &err),
        &err);
    sirix_view_close(&base);
}

struct taken {
    double wall_us;
    double cpu_us;
    double bytes;
};

static void print_taken(const char *what, struct taken taken, uint64_t count)
{
    char name[64];

    (void)snprintf(name, sizeof(name), "%s_us", what);
    bench_print(name, taken.wall_us / (double)count);
    (void)snprintf(name, sizeof(name), "%s_cpu_us", what);
    bench_print(name, taken.cpu_us / (double)count);
    (void)snprintf(name, sizeof(name), "%s_bytes", what);
    bench_print(name, taken.bytes / (double)count);
}

static struct taken now(struct bench_store *store)
{
    return (struct taken){.wall_us = bench_wall_s() * 1e6,
                          .cpu_us = bench_cpu_s() * 1e6,
                          .bytes = (double)bench_stats(store).file_bytes};
}

static struct taken since(struct bench_store *store, struct taken start)
{
    struct taken end = now(store);

    return (struct taken){.wall_us = end.wall_us - start.wall_us,
                          .cpu_us = end.cpu_us - start.cpu_us,
                          .bytes = end.bytes - start.bytes};
}

static void measure(struct bench_store *store, struct sirix_resource *resource, const char *what,
                    operation_fn operation, const struct sirix_view *view, uint64_t first,
                    uint64_t count)
{
    struct taken start = now(store);

    for (uint64_t i = 0; i < count; i++) {
        if (operation == NULL) {
            revert(store, resource, view);
        } else {
            operation(view, first + i);
        }
    }
    print_taken(what, since(store, start), count);
}

/*
 * refs RESOURCE COUNT MEASURED: makes branches and labels until the resource has COUNT of each, then
 * measures MEASURED more, and as many reverts to the oldest value.
 */
void bench_refs(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    uint64_t count = strtoull(arguments[1], NULL, 10);
    uint64_t measured = strtoull(arguments[2], NULL, 10);
    struct sirix_resource_info info;
    struct sirix_error err = {0};
    struct sirix_view view;

    bench_must(sirix_resource_info(resource, &info, &err), &err);
    bench_revision(resource, store->reader, 1, &view);
    for (uint64_t i = info.branch_count - 1; i < count; i++) {
        make_branch(&view, i);
    }
    for (uint64_t i = info.snapshot_count; i < count; i++) {
        make_label(&view, i);
    }
    bench_must(sirix_resource_info(resource, &info, &err), &err);
    bench_print("branches", (double)info.branch_count);
    measure(store, resource, "branch", make_branch, &view, info.branch_count - 1, measured);
    measure(store, resource, "label", make_label, &view, info.snapshot_count, measured);
    measure(store, resource, "revert", NULL, &view, 0, measured);
    sirix_view_close(&view);
    sirix_resource_unref(resource);
}

/*
 * depth RESOURCE FIRST LAST MEASURED: a branch of a branch of a branch, each with a commit of its own,
 * from depth FIRST (its parents are of an earlier call; 0: main) up to LAST; of the last MEASURED the
 * time is taken.
 */
void bench_depth(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    uint64_t first = strtoull(arguments[1], NULL, 10);
    uint64_t last = strtoull(arguments[2], NULL, 10);
    uint64_t measured = strtoull(arguments[3], NULL, 10);
    struct taken start = now(store);
    char parent[64] = "main";
    uint64_t random = 11 + first;

    bench_check(measured > 0 && first + measured <= last, "the depth");
    if (first > 0) {
        name_of(parent, sizeof(parent), "deep", first - 1);
    }
    for (uint64_t i = first; i < last; i++) {
        struct sirix_branch_info info;
        struct sirix_error err = {0};
        struct sirix_view view;
        char name[64];
        if (i == last - measured) {
            start = now(store);
        }
        name_of(name, sizeof(name), "deep", i);
        bench_head(resource, store->reader, parent, &view);
        bench_must(sirix_branch_create(&view, bench_bytes(name), 0, &info, &err), &err);
        sirix_view_close(&view);
        bench_update_one(resource, store->reader, name, &random);
        memcpy(parent, name, sizeof(parent));
    }
    print_taken("deep", since(store, start), measured);
    sirix_resource_unref(resource);
}
