/* Differences of two revisions. */
#include <inttypes.h>
#include <stdio.h>

#include "bench/store/store.h"
#include "store/document/diff.h"

enum { DIFFS = 9 };

/* One commit on main with a new balance in `count` records, spread evenly. */
static void change_many(struct bench_store *store, struct sirix_resource *resource, uint64_t count)
{
    struct sirix_edit *edit = NULL;
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;
    uint64_t records = 0;

    bench_head(resource, store->reader, NULL, &view);
    sirix_document_init(&document, &view, store->reader);
    records = bench_record_count(&document);
    bench_check(count <= records, "as many changes as records");
    bench_must(sirix_edit_new(&view, store->reader, &edit, &err), &err);
    for (uint64_t i = 0; i < count; i++) {
        struct sirix_edit_update update = {
            .target = bench_balance(&document, records / 2 / count + records * i / count)};
        struct sirix_edit_result result;
        char text[48];
        (void)snprintf(text, sizeof(text), "%" PRIu64 ".%03" PRIu64, view.record.revision, i);
        bench_must(sirix_edit_update(edit, &update, bench_bytes(text), &result, &err), &err);
    }
    bench_check(bench_commit(edit, store->reader), "making a revision");
    sirix_edit_free(edit);
    sirix_view_close(&view);
}

static uint64_t diff_once(struct bench_store *store, const struct sirix_view *old_view,
                          const struct sirix_view *new_view)
{
    const struct sirix_diff_options options = {
        .old_view = old_view, .new_view = new_view, .reader = store->reader};
    struct sirix_diff *diff = NULL;
    struct sirix_change change;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;
    uint64_t count = 0;

    bench_must(sirix_diff_new(&options, &diff, &err), &err);
    while ((status = sirix_diff_next(diff, &change, &err)) == SIRIX_OK) {
        count++;
    }
    bench_check(status == SIRIX_NOT_FOUND, "a diff");
    sirix_diff_free(diff);
    return count;
}

/*
 * diff RESOURCE CHANGES: the changes of one commit of CHANGES values; first_us is the first of this
 * process, diff_us the median of those after it.
 */
void bench_diffs(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    uint64_t changes = strtoull(arguments[1], NULL, 10);
    struct bench_times times = {0};
    struct bench_times cpu_times = {0};
    struct sirix_error err = {0};
    struct sirix_view new_view;
    struct sirix_view old_view;

    change_many(store, resource, changes);
    bench_head(resource, store->reader, NULL, &new_view);
    bench_must(sirix_view_open_parent(&new_view, store->reader, &old_view, &err), &err);
    for (size_t i = 0; i <= DIFFS; i++) {
        double start = 0;
        double cpu = 0;
        sirix_reader_yield(store->reader);
        start = bench_wall_s();
        cpu = bench_cpu_s();
        bench_check(diff_once(store, &old_view, &new_view) == changes, "counting the changes");
        if (i == 0) {
            bench_print("first_us", (bench_wall_s() - start) * 1e6);
        } else {
            bench_times_add(&times, (bench_wall_s() - start) * 1e6);
            bench_times_add(&cpu_times, (bench_cpu_s() - cpu) * 1e6);
        }
    }
    bench_print("nodes", (double)new_view.record.node_count);
    bench_print("diff_us", bench_times_at(&times, 0.5));
    bench_print("diff_cpu_us", bench_times_at(&cpu_times, 0.5));
    bench_times_deinit(&times);
    bench_times_deinit(&cpu_times);
    sirix_view_close(&old_view);
    sirix_view_close(&new_view);
    sirix_resource_unref(resource);
}
