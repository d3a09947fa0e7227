/*
 * How fast the reader is: json_speed FILE [CHUNK_BYTES] reads the whole file again and again for a
 * second and prints MB/s and ns an event, of processor time. Not a test; see docs/testing.md for what is measured.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "base/buf.h"
#include "json/reader.h"

enum { ROUNDS_NS = 1000000000, CHUNK_BYTES_DEFAULT = 256 * 1024 };

static bool load(const char *path, struct sirix_buf *out)
{
    FILE *file = fopen(path, "rb");
    size_t got = 1;
    bool ok = file != NULL;

    while (ok && got != 0) {
        ok = sirix_buf_reserve(out, 1 << 20, NULL) == SIRIX_OK;
        if (ok) {
            got = fread(out->data + out->len, 1, 1 << 20, file);
            out->len += got;
        }
    }
    if (file != NULL) {
        ok = fclose(file) == 0 && ok;
    }
    return ok;
}

/* The processor's time, so that what else the machine does counts less. */
static uint64_t cpu_ns(void)
{
    struct timespec now = {0};

    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* Reads the text once and returns the number of events, 0 for an error. */
static uint64_t read_once(struct sirix_json_reader *reader, const struct sirix_buf *text,
                          size_t chunk_bytes, struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    uint64_t events = 0;
    size_t at = 0;

    for (; event.kind != SIRIX_JSON_END; events++) {
        if (sirix_json_reader_next(reader, &event, err) != SIRIX_OK) {
            return 0;
        }
        if (event.kind == SIRIX_JSON_NEED_INPUT) {
            size_t len = text->len - at < chunk_bytes ? text->len - at : chunk_bytes;
            struct sirix_bytes chunk = {.data = text->data + at, .len = len};

            at += len;
            sirix_json_reader_feed(reader, chunk, at == text->len);
        }
    }
    return events;
}

int main(int argc, char **argv)
{
    size_t chunk_bytes = argc > 2 ? strtoul(argv[2], NULL, 10) : CHUNK_BYTES_DEFAULT;
    struct sirix_json_reader reader;
    struct sirix_error err = {0};
    struct sirix_buf text;
    uint64_t best_ns = UINT64_MAX;
    uint64_t total_ns = 0;
    uint64_t events = 0;

    sirix_buf_init(&text, SIZE_MAX);
    if (argc < 2 || chunk_bytes == 0 || !load(argv[1], &text)) {
        (void)fprintf(stderr, "usage: json_speed FILE [CHUNK_BYTES]\n");
        return EXIT_FAILURE;
    }
    sirix_json_reader_init(&reader, NULL);
    while (total_ns < ROUNDS_NS) {
        uint64_t start = cpu_ns();

        sirix_json_reader_reset(&reader);
        events = read_once(&reader, &text, chunk_bytes, &err);
        if (events == 0) {
            (void)fprintf(stderr, "%s\n", err.text);
            return EXIT_FAILURE;
        }
        uint64_t ns = cpu_ns() - start;
        best_ns = ns < best_ns ? ns : best_ns;
        total_ns += ns;
    }
    (void)printf("%zu bytes, %llu events, best %.0f MB/s, %.1f ns an event\n", text.len,
                 (unsigned long long)events, (double)text.len * 1e3 / (double)best_ns,
                 (double)best_ns / (double)events);
    sirix_json_reader_deinit(&reader);
    sirix_buf_deinit(&text);
    return EXIT_SUCCESS;
}
