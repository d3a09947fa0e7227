/*
 * Makes the data of the benches, the same bytes for every peer.
 *
 *     bench_data records BYTES FILE LINES_FILE    an array of records, and the same one a line
 *     bench_data elements COUNT FILE              an array of integers
 */
#include <inttypes.h>
#include <stdio.h>

#include "bench/common/measure.h"
#include "bench/common/records.h"

enum { PIECE_BYTES = 256 * 1024, SEED = 1 };

static void write_records(const char *path, uint64_t bytes, bool lines)
{
    struct records records;
    char *piece = malloc(PIECE_BYTES);
    FILE *file = fopen(path, "w");

    bench_check(piece != NULL && file != NULL, path);
    records_init(&records, SEED, bytes, lines);
    for (size_t len = records_next(&records, piece, PIECE_BYTES); len != 0;
         len = records_next(&records, piece, PIECE_BYTES)) {
        bench_check(fwrite(piece, 1, len, file) == len, path);
    }
    bench_check(fclose(file) == 0, path);
    free(piece);
    bench_print("records", (double)records.next_id);
    bench_print("bytes", (double)records.bytes);
}

static void write_elements(const char *path, uint64_t count)
{
    FILE *file = fopen(path, "w");
    uint64_t random = SEED;

    bench_check(file != NULL, path);
    for (uint64_t i = 0; i < count; i++) {
        (void)fprintf(file, "%c%" PRIu64, i == 0 ? '[' : ',', bench_random(&random, 1000000));
    }
    (void)fputc(']', file);
    bench_check(fclose(file) == 0, path);
}

int main(int argc, char **argv)
{
    if (argc == 5 && strcmp(argv[1], "records") == 0) {
        write_records(argv[3], strtoull(argv[2], NULL, 10), false);
        write_records(argv[4], strtoull(argv[2], NULL, 10), true);
    } else if (argc == 4 && strcmp(argv[1], "elements") == 0) {
        write_elements(argv[3], strtoull(argv[2], NULL, 10));
    } else {
        (void)fprintf(stderr, "usage: %s records BYTES FILE LINES_FILE | elements COUNT FILE\n",
                      argv[0]);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
