/*
 * Makes the data of the workflows, the same for every store:
 *
 *     bench_branches_seed ITEMS CUSTOMERS FILE ROWS_FILE
 *
 * FILE is one JSON document: an object of tables, each an object of rows under their keys; the stock of
 * a warehouse is an object in it, the lines of an order an array. ROWS_FILE has a row a line: table,
 * four numbers of its key (0: none), JSON; tabs between.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "bench/branches/workload.h"
#include "bench/common/measure.h"

enum { SEED = 7, SUPPLIERS = 100, NATIONS = 25, REGIONS = 5, LINES_MIN = 5, LINES_SPAN = 11 };

struct seed {
    FILE *document;
    FILE *rows;
    uint64_t random;
    uint64_t bytes;
    bool first; /* Of its table. */
};

static unsigned drawn(struct seed *seed, unsigned from, unsigned span)
{
    return from + (unsigned)bench_random(&seed->random, span);
}

static void begin(struct seed *seed, const char *table, bool first)
{
    (void)fprintf(seed->document, "%s\"%s\":{", first ? "{" : "},\n", table);
    seed->first = true;
}

/* A name in a table of the document; what is under it follows. */
static void SIRIX_PRINTF(2, 3) name(struct seed *seed, const char *fmt, ...)
{
    va_list args;

    va_start(args, fmt);
    (void)fprintf(seed->document, seed->first ? "\"" : ",\n\"");
    (void)vfprintf(seed->document, fmt, args);
    (void)fprintf(seed->document, "\":");
    va_end(args);
    seed->first = false;
}

static void row(struct seed *seed, const char *table, const unsigned key[4], const char *json)
{
    (void)fputs(json, seed->document);
    (void)fprintf(seed->rows, "%s\t%u\t%u\t%u\t%u\t%s\n", table, key[0], key[1], key[2], key[3],
                  json);
    seed->bytes += strlen(json);
}

static void small_tables(struct seed *seed)
{
    char json[256];

    begin(seed, "region", true);
    for (unsigned i = 1; i <= REGIONS; i++) {
        name(seed, "%u", i);
        (void)snprintf(json, sizeof(json), "{\"r\":%u,\"name\":\"region %u\"}", i, i);
        row(seed, "region", (unsigned[4]){i}, json);
    }
    begin(seed, "nation", false);
    for (unsigned i = 1; i <= NATIONS; i++) {
        name(seed, "%u", i);
        (void)snprintf(json, sizeof(json), "{\"n\":%u,\"r\":%u,\"name\":\"nation %u\"}", i,
                       1 + i % REGIONS, i);
        row(seed, "nation", (unsigned[4]){i}, json);
    }
    begin(seed, "supplier", false);
    for (unsigned i = 1; i <= SUPPLIERS; i++) {
        name(seed, "%u", i);
        (void)snprintf(json, sizeof(json), "{\"s\":%u,\"n\":%u,\"name\":\"supplier %u\"}", i,
                       1 + i % NATIONS, i);
        row(seed, "supplier", (unsigned[4]){i}, json);
    }
    begin(seed, "warehouse", false);
    for (unsigned w = 1; w <= BRANCHES_WAREHOUSES; w++) {
        name(seed, "%u", w);
        (void)snprintf(json, sizeof(json), "{\"w\":%u,\"name\":\"warehouse %u\",\"tax\":0.%02u}", w,
                       w, drawn(seed, 0, 20));
        row(seed, "warehouse", (unsigned[4]){w}, json);
    }
    begin(seed, "district", false);
    for (unsigned w = 1; w <= BRANCHES_WAREHOUSES; w++) {
        for (unsigned d = 1; d <= BRANCHES_DISTRICTS; d++) {
            name(seed, "%u-%u", w, d);
            (void)snprintf(json, sizeof(json),
                           "{\"w\":%u,\"d\":%u,\"name\":\"district %u\",\"ytd\":%u}", w, d, d,
                           drawn(seed, 1000, 50000));
            row(seed, "district", (unsigned[4]){w, d}, json);
        }
    }
}

static void customers(struct seed *seed, unsigned count)
{
    char balance[32];
    char json[512];

    begin(seed, "customer", false);
    for (unsigned i = 0; i < BRANCHES_WAREHOUSES * BRANCHES_DISTRICTS * count; i++) {
        unsigned w = 1 + i / count / BRANCHES_DISTRICTS;
        unsigned d = 1 + i / count % BRANCHES_DISTRICTS;
        unsigned c = 1 + i % count;

        (void)snprintf(balance, sizeof(balance), "%d.%02u", (int)drawn(seed, 0, 12000) - 1000,
                       drawn(seed, 0, 100));
        name(seed, "%u-%u-%u", w, d, c);
        (void)snprintf(json, sizeof(json),
                       "{\"w\":%u,\"d\":%u,\"c\":%u,\"first\":\"First%u\",\"last\":\"Last%u\","
                       "\"city\":\"City %u\",\"credit\":\"%s\",\"discount\":0.%02u,"
                       "\"balance\":%s,\"payment\":%u,\"since\":\"2024-%02u-%02u\"}",
                       w, d, c, i, drawn(seed, 0, 1000), drawn(seed, 0, 500),
                       drawn(seed, 0, 10) == 0 ? "BC" : "GC", drawn(seed, 0, 50),
                       drawn(seed, 0, 50) == 0 ? "null" : balance, drawn(seed, 10, 5000),
                       drawn(seed, 1, 12), drawn(seed, 1, 28));
        row(seed, "customer", (unsigned[4]){w, d, c}, json);
    }
}

static void items(struct seed *seed, unsigned count)
{
    char json[256];

    begin(seed, "item", false);
    for (unsigned i = 1; i <= count; i++) {
        name(seed, "%u", i);
        (void)snprintf(json, sizeof(json),
                       "{\"i\":%u,\"name\":\"item %u\",\"price\":%u.%02u,\"data\":\"%08x\"}", i, i,
                       drawn(seed, 1, 100), drawn(seed, 0, 100), drawn(seed, 0, 1U << 30));
        row(seed, "item", (unsigned[4]){i}, json);
    }
    begin(seed, "stock", false);
    for (unsigned w = 1; w <= BRANCHES_WAREHOUSES; w++) {
        name(seed, "%u", w);
        for (unsigned i = 1; i <= count; i++) {
            (void)fprintf(seed->document, "%s\"%u\":", i == 1 ? "{" : ",\n", i);
            (void)snprintf(json, sizeof(json),
                           "{\"w\":%u,\"i\":%u,\"s\":%u,\"quantity\":%u,\"cost\":%u,\"ytd\":0}", w,
                           i, 1 + i % SUPPLIERS, drawn(seed, 5, 96), drawn(seed, 1, 90));
            row(seed, "stock", (unsigned[4]){w, i}, json);
        }
        (void)fputc('}', seed->document);
    }
}

static void orders(struct seed *seed, unsigned count, unsigned item_count)
{
    enum { ORDERS_MAX = BRANCHES_WAREHOUSES * BRANCHES_DISTRICTS };
    unsigned char *lines = malloc((size_t)ORDERS_MAX * count);
    char json[256];

    bench_check(lines != NULL, "memory");
    begin(seed, "orders", false);
    for (unsigned i = 0; i < ORDERS_MAX * count; i++) {
        unsigned w = 1 + i / count / BRANCHES_DISTRICTS;
        unsigned d = 1 + i / count % BRANCHES_DISTRICTS;
        unsigned o = 1 + i % count;

        lines[i] = (unsigned char)drawn(seed, LINES_MIN, LINES_SPAN);
        name(seed, "%u-%u-%u", w, d, o);
        (void)snprintf(json, sizeof(json), "{\"w\":%u,\"d\":%u,\"o\":%u,\"c\":%u,\"lines\":%u}", w,
                       d, o, drawn(seed, 1, count), lines[i]);
        row(seed, "orders", (unsigned[4]){w, d, o}, json);
    }
    begin(seed, "order_line", false);
    for (unsigned i = 0; i < ORDERS_MAX * count; i++) {
        unsigned w = 1 + i / count / BRANCHES_DISTRICTS;
        unsigned d = 1 + i / count % BRANCHES_DISTRICTS;
        unsigned o = 1 + i % count;

        name(seed, "%u-%u-%u", w, d, o);
        for (unsigned n = 1; n <= lines[i]; n++) {
            (void)fputc(n == 1 ? '[' : ',', seed->document);
            (void)snprintf(json, sizeof(json),
                           "{\"w\":%u,\"d\":%u,\"o\":%u,\"n\":%u,\"i\":%u,\"quantity\":%u,"
                           "\"amount\":%u.%02u}",
                           w, d, o, n, drawn(seed, 1, item_count), drawn(seed, 1, 10),
                           drawn(seed, 1, 500), drawn(seed, 0, 100));
            row(seed, "order_line", (unsigned[4]){w, d, o, n}, json);
        }
        (void)fputc(']', seed->document);
    }
    free(lines);
}

int main(int argc, char **argv)
{
    struct seed seed = {.random = SEED};

    if (argc != 5) {
        (void)fprintf(stderr, "usage: %s ITEMS CUSTOMERS FILE ROWS_FILE\n", argv[0]);
        return EXIT_FAILURE;
    }
    unsigned item_count = (unsigned)strtoul(argv[1], NULL, 10);
    unsigned customer_count = (unsigned)strtoul(argv[2], NULL, 10);
    bench_check(item_count > 0 && customer_count > 0, "reading the sizes");
    seed.document = fopen(argv[3], "w");
    seed.rows = fopen(argv[4], "w");
    bench_check(seed.document != NULL && seed.rows != NULL, "making the files");
    small_tables(&seed);
    customers(&seed, customer_count);
    items(&seed, item_count);
    orders(&seed, customer_count, item_count);
    (void)fputs("}}\n", seed.document);
    bench_print("document_bytes", (double)ftell(seed.document));
    bench_print("row_bytes", (double)seed.bytes);
    bench_check(fclose(seed.document) == 0 && fclose(seed.rows) == 0, "writing the files");
    return EXIT_SUCCESS;
}
