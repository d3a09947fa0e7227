/*
 * Queries over one connection to storaged, as many as are asked for on stdin:
 *
 *     bench_query ADDRESS        asks: "q LEN\n" and LEN bytes of a query; "u LEN\n" of an updating one
 *                                answers: "COUNT\n" and COUNT lines, each an item as JSON
 *
 * What fails ends the program.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/buf.h"
#include "bench/common/measure.h"
#include "sirix/sirix.h"

enum { TEXT_BYTES_MAX = 1024 * 1024, ANSWER_BYTES_MAX = 1024 * 1024 * 1024 };

static void run_query(struct sirix_client *client, struct sirix_bytes text, struct sirix_buf *lines)
{
    const struct sirix_query_request request = {.query = text};
    struct sirix_query_stream *stream = NULL;
    struct sirix_query_part part = {.kind = SIRIX_QUERY_PART_ITEMS};
    struct sirix_error err = {0};
    uint64_t count = 0;

    bench_must(sirix_client_query(client, &request, NULL, &stream, &err), &err);
    while (part.kind != SIRIX_QUERY_PART_END) {
        bench_must(sirix_query_stream_next(stream, &part, &err), &err);
        for (size_t i = 0; part.kind == SIRIX_QUERY_PART_ITEMS && i < part.count; i++) {
            bench_must(sirix_buf_append_bytes(lines, part.items[i].json, &err), &err);
            bench_must(sirix_buf_append_str(lines, "\n", &err), &err);
            count++;
        }
    }
    sirix_query_stream_close(stream);
    (void)printf("%" PRIu64 "\n", count);
}

static void run_update(struct sirix_client *client, struct sirix_bytes text)
{
    const struct sirix_update_query_request request = {.query = text};
    struct sirix_update_query_result *result = NULL;
    struct sirix_error err = {0};

    bench_must(sirix_client_update_query(client, &request, NULL, &result, &err), &err);
    sirix_client_free(result);
    (void)printf("0\n");
}

int main(int argc, char **argv)
{
    struct sirix_client *client = NULL;
    struct sirix_error err = {0};
    struct sirix_buf lines;
    char kind = 0;
    size_t len = 0;

    bench_check(argc == 2, "one argument, an address");
    bench_must(sirix_client_open(argv[1], NULL, &client, &err), &err);
    char *text = malloc(TEXT_BYTES_MAX);
    bench_check(text != NULL, "memory");
    sirix_buf_init(&lines, ANSWER_BYTES_MAX);
    while (scanf("%c %zu%*c", &kind, &len) == 2) {
        bench_check(len <= TEXT_BYTES_MAX && fread(text, 1, len, stdin) == len, "a query's text");
        sirix_buf_clear(&lines);
        if (kind == 'u') {
            run_update(client, (struct sirix_bytes){.data = text, .len = len});
        } else {
            run_query(client, (struct sirix_bytes){.data = text, .len = len}, &lines);
        }
        const struct sirix_bytes answer = sirix_buf_view(&lines);
        bench_check(fwrite(answer.data, 1, answer.len, stdout) == answer.len, "writing");
        bench_check(fflush(stdout) == 0, "writing");
    }
    sirix_buf_deinit(&lines);
    free(text);
    sirix_client_close(client);
    return 0;
}
