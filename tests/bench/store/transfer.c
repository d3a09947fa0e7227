/* Whole documents in and out. */
#include <stdio.h>

#include "bench/store/store.h"

enum { PIECE_BYTES = 256 * 1024 };

/* import RESOURCE FILE: durable at the end, whatever the size. */
void bench_import(struct bench_store *store, char **arguments)
{
    const struct sirix_edit_insert insert = {.target = 0};
    struct sirix_edit_result result = {0};
    struct sirix_resource *resource = NULL;
    struct sirix_edit *edit = NULL;
    struct sirix_error err = {0};
    struct sirix_view view;
    FILE *file = fopen(arguments[1], "r");
    char *piece = malloc(PIECE_BYTES);
    size_t len = 0;
    double bytes = 0;
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();
    struct bench_memory *memory = bench_memory_start(0);

    bench_check(file != NULL && piece != NULL, arguments[1]);
    bench_must(
        sirix_resource_create_hidden(store->database, bench_bytes(arguments[0]), &resource, &err),
        &err);
    bench_head(resource, store->reader, NULL, &view);
    bench_must(sirix_edit_new(&view, store->reader, &edit, &err), &err);
    bench_must(sirix_edit_insert_begin(edit, &insert, &err), &err);
    while ((len = fread(piece, 1, PIECE_BYTES, file)) != 0) {
        bench_must(sirix_edit_value_feed(edit, (struct sirix_bytes){piece, len}, &err), &err);
        bytes += (double)len;
    }
    bench_must(sirix_edit_value_end(edit, &result, &err), &err);
    (void)bench_commit(edit, store->reader);
    wall = bench_wall_s() - wall;
    cpu = bench_cpu_s() - cpu;
    bench_memory_stop(memory);
    bench_print("bytes", bytes);
    bench_print("wall_s", wall);
    bench_print("cpu_s", cpu);
    bench_print("nodes", (double)result.node_count);
    bench_print("segment_bytes", (double)bench_stats(store).segment_bytes);
    bench_print("file_bytes", (double)bench_stats(store).file_bytes);
    sirix_edit_free(edit);
    sirix_view_close(&view);
    sirix_resource_unref(resource);
    (void)fclose(file);
    free(piece);
}

/* One pass over the newest revision; expected NULL: the bytes are only counted. */
static double export_once(struct bench_store *store, struct sirix_resource *resource,
                          const struct sirix_bytes *expected)
{
    const struct sirix_serialise_options options = {.key = 0};
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_document document;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_buf out;
    size_t len = 0;
    bool done = false;

    bench_head(resource, store->reader, NULL, &view);
    sirix_document_init(&document, &view, store->reader);
    sirix_buf_init(&out, SIZE_MAX);
    bench_must(sirix_serialiser_new(&document, &options, &serialiser, &err), &err);
    while (!done) {
        bench_must(sirix_serialiser_step(serialiser, PIECE_BYTES, &out, &done, &err), &err);
        if (expected != NULL) {
            bench_check(len + out.len <= expected->len &&
                            memcmp((const char *)expected->data + len, out.data, out.len) == 0,
                        "comparing what came out with what went in");
        }
        len += out.len;
        sirix_buf_clear(&out);
        sirix_reader_yield(store->reader);
    }
    bench_check(expected == NULL || len == expected->len, "comparing lengths");
    sirix_serialiser_free(serialiser);
    sirix_buf_deinit(&out);
    sirix_view_close(&view);
    return (double)len;
}

/* export RESOURCE FILE: the first pass of this process, and the second; FILE, unless "-", must be equal. */
void bench_export(struct bench_store *store, char **arguments)
{
    struct sirix_resource *resource = bench_resource(store, arguments[0]);
    struct bench_memory *memory = bench_memory_start(0);
    double wall = bench_wall_s();
    double cpu = bench_cpu_s();

    bench_print("bytes", export_once(store, resource, NULL));
    bench_print("first_wall_s", bench_wall_s() - wall);
    bench_print("first_cpu_s", bench_cpu_s() - cpu);
    wall = bench_wall_s();
    cpu = bench_cpu_s();
    (void)export_once(store, resource, NULL);
    bench_print("wall_s", bench_wall_s() - wall);
    bench_print("cpu_s", bench_cpu_s() - cpu);
    bench_memory_stop(memory);
    if (strcmp(arguments[1], "-") != 0) {
        const struct sirix_bytes expected = bench_map_file(arguments[1]);
        (void)export_once(store, resource, &expected);
    }
    sirix_resource_unref(resource);
}
