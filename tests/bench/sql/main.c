/*
 * bench_sql FOLDER RECORDS OTHERS ROUNDS: both sides load RECORDS.json and .lines, OTHERS.json and .lines,
 * answer the same questions, are compared, and are timed in turns, warm. Prints "name value" lines, ms.
 */
#include <inttypes.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/common/measure.h"
#include "bench/sql/sides.h"

enum {
    KEYS = 4000,   /* Looked up in one statement; its text has 64 KiB at most. */
    SINGLE = 1000, /* Statements that look one up. */
    TEXT_BYTES = 64 * 1024,
    LATE_ROUNDS = 5,
    LATE_MS = 300,
    SORT_ROUNDS = 30,
    SORT_STEP_MS = 60,
};

static const struct {
    const char *name;
    const char *ours;
    const char *theirs;
} questions[] = {
    {"count", "SELECT count(*) FROM records", "SELECT count(*) FROM records"},
    {"filter", "SELECT count(*), avg(balance) FROM records WHERE active = 1 AND balance > 50000",
     "SELECT count(*), avg(json_extract(doc, '$.balance')) FROM records WHERE json_extract(doc, "
     "'$.active') = 1 AND json_extract(doc, '$.balance') > 50000"},
    {"group", "SELECT state, count(*), sum(id) FROM records GROUP BY state ORDER BY state",
     "SELECT json_extract(doc, '$.state') AS s, count(*), sum(json_extract(doc, '$.id')) FROM "
     "records GROUP BY s ORDER BY s"},
    {"join",
     "SELECT o.level, count(*), sum(r.id) FROM others o JOIN records r ON r.id = o.ref GROUP BY "
     "o.level ORDER BY o.level",
     "WITH o AS MATERIALIZED (SELECT json_extract(doc, '$.ref') AS ref, json_extract(doc, "
     "'$.level') AS level FROM others), r AS MATERIALIZED (SELECT json_extract(doc, '$.id') AS id "
     "FROM records) SELECT o.level, count(*), sum(r.id) FROM o JOIN r ON r.id = o.ref GROUP BY "
     "o.level ORDER BY o.level"},
    {"sort", "SELECT id FROM records ORDER BY balance DESC, id LIMIT 5",
     "SELECT json_extract(doc, '$.id') FROM records ORDER BY json_extract(doc, '$.balance') DESC, "
     "json_extract(doc, '$.id') LIMIT 5"},
};

void side_add(struct side_answer *answer, const char *text, size_t len, int first)
{
    const size_t had = strlen(answer->text);
    const size_t room = sizeof(answer->text) - had - 2;

    if (room > len) {
        answer->text[had] = first ? ';' : '|';
        memcpy(answer->text + had + 1, text, len);
        answer->text[had + 1 + len] = '\0';
    }
}

static void print(const char *who, const char *what, struct bench_times *times, double scale)
{
    enum { NAME = 128 };
    char name[NAME];

    (void)snprintf(name, sizeof(name), "%s_%s_ms", who, what);
    bench_print(name, bench_times_at(times, 0.5) / 1e3 / scale);
    bench_times_deinit(times);
}

/* One question, in turns. */
static void ask(struct ours *ours, struct theirs *theirs, const char *name, const char *our_sql,
                const char *their_sql, int rounds, double scale)
{
    struct bench_times our_times = {0};
    struct bench_times their_times = {0};
    static struct side_answer our_answer;
    static struct side_answer their_answer;

    for (int i = 0; i <= rounds; i++) {
        double begin = bench_wall_s();

        ours_run(ours, our_sql, &our_answer);
        if (i != 0) { /* The first is to warm up. */
            bench_times_add(&our_times, (bench_wall_s() - begin) * 1e6);
        }
        begin = bench_wall_s();
        theirs_run(theirs, their_sql, &their_answer);
        if (i != 0) {
            bench_times_add(&their_times, (bench_wall_s() - begin) * 1e6);
        }
        if (strcmp(our_answer.text, their_answer.text) != 0) {
            (void)fprintf(stderr, "%s: %s and %s\n", name, our_answer.text, their_answer.text);
            exit(EXIT_FAILURE);
        }
    }
    print("sirix", name, &our_times, scale);
    print("sqlite", name, &their_times, scale);
}

static void lookups(struct ours *ours, struct theirs *theirs, uint64_t rows, int rounds)
{
    static char our_sql[TEXT_BYTES];
    static char their_sql[TEXT_BYTES];
    size_t our_len = (size_t)sprintf(our_sql, "SELECT sum(r.id) FROM json_each('[");
    size_t their_len =
        (size_t)sprintf(their_sql, "SELECT sum(json_extract(r.doc, '$.id')) FROM json_each('[");
    const uint64_t keys = rows < KEYS ? rows : KEYS;
    uint64_t random = 7;

    for (uint64_t i = 0; i < keys; i++) {
        const uint64_t place = bench_random(&random, rows);

        our_len += (size_t)sprintf(our_sql + our_len, "%s%" PRIu64, i == 0 ? "" : ",",
                                   ours_key(ours, place));
        their_len +=
            (size_t)sprintf(their_sql + their_len, "%s%" PRIu64, i == 0 ? "" : ",", place + 1);
    }
    (void)sprintf(our_sql + our_len, "]') k JOIN records r ON r.node_key = k.value");
    (void)sprintf(their_sql + their_len, "]') k JOIN records r ON r.id = k.value");
    ask(ours, theirs, "lookup", our_sql, their_sql, rounds * 3, (double)keys);
}

/* A statement for each: text to row. */
static void single_lookups(struct ours *ours, struct theirs *theirs, uint64_t rows)
{
    static struct side_answer answer;
    struct bench_times our_times = {0};
    struct bench_times their_times = {0};
    uint64_t random = 11;
    char sql[256];

    for (int i = 0; i < SINGLE; i++) {
        const uint64_t place = bench_random(&random, rows);
        double begin = bench_wall_s();

        (void)snprintf(sql, sizeof(sql), "SELECT id FROM records WHERE node_key = %" PRIu64,
                       ours_key(ours, place));
        ours_run(ours, sql, &answer);
        bench_times_add(&our_times, (bench_wall_s() - begin) * 1e6);
        bench_check(answer.rows == 1, "one row by its key");
        begin = bench_wall_s();
        (void)snprintf(sql, sizeof(sql),
                       "SELECT json_extract(doc, '$.id') FROM records WHERE id = %" PRIu64,
                       place + 1);
        theirs_run(theirs, sql, &answer);
        bench_times_add(&their_times, (bench_wall_s() - begin) * 1e6);
    }
    print("sirix", "statement", &our_times, 1);
    print("sqlite", "statement", &their_times, 1);
}

/* Anonymous memory of this process at present. */
static double anonymous_mib(void)
{
    enum { LINE = 256 };
    FILE *file = fopen("/proc/self/smaps_rollup", "r");
    char line[LINE];
    double kib = 0;

    bench_check(file != NULL, "/proc/self/smaps_rollup");
    while (fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, "Anonymous:", 10) == 0) {
            kib = strtod(line + 10, NULL);
        }
    }
    (void)fclose(file);
    return kib / 1024;
}

/*
 * How much later than its time a statement ends, and with what memory. Sorts are ended in the middle of the
 * reading, of the sorting and of the merging, for which they have times of their own.
 */
static void endless(struct ours *ours)
{
    static const char *const statements[] = {
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT max(i) FROM n",
        "SELECT count(*) FROM records a, records b, records c WHERE a.id + b.id > c.id",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n) SELECT "
        "sum(length(replace(hex(printf('%.*c', 900000, 'x')), '7', 'yy'))) FROM n",
        "SELECT count(*) FROM nodes('db', 'records') a, nodes('db', 'records') b WHERE a.value = "
        "b.value",
    };
    static const char sort[] =
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n LIMIT 1000000) SELECT "
        "count(*) FROM "
        "(SELECT 1 FROM n GROUP BY (i * 7919) % 1000003) a CROSS JOIN nodes('db', 'records') b";
    double worst = 0;

    for (int i = 1; i <= SORT_ROUNDS; i++) {
        const double late = ours_run_until(ours, sort, (uint32_t)(i * SORT_STEP_MS));

        worst = late > worst ? late : worst;
    }
    for (size_t s = 0; s < sizeof(statements) / sizeof(statements[0]); s++) {
        for (int i = 0; i < LATE_ROUNDS; i++) {
            const double late = ours_run_until(ours, statements[s], LATE_MS);

            worst = late > worst ? late : worst;
        }
    }
    bench_print("sirix_late_worst_ms", worst);
}

int main(int argc, char **argv)
{
    enum { PATH = 4096 };
    char dir[PATH];
    char file[PATH];
    char texts[4][PATH];
    struct side_answer answer;

    bench_check(argc == 5, "bench_sql FOLDER RECORDS OTHERS ROUNDS");
    const int rounds = atoi(argv[4]);
    (void)snprintf(dir, sizeof(dir), "%s/data", argv[1]);
    (void)snprintf(file, sizeof(file), "%s/table.db", argv[1]);
    for (int i = 0; i < 4; i++) {
        (void)snprintf(texts[i], sizeof(texts[i]), "%s.%s", argv[2 + i / 2],
                       i % 2 == 0 ? "json" : "lines");
    }
    struct ours *ours = ours_open(dir, texts[0], texts[2]);
    (void)malloc_trim(0); /* What the import has left. */
    bench_print("anon_before_mib", anonymous_mib());
    struct bench_memory *memory = bench_memory_start(0);
    endless(ours);
    bench_memory_stop(memory);
    struct theirs *theirs = theirs_open(file, texts[1], texts[3]);
    ours_run(ours, "SELECT count(*) FROM records", &answer);
    const uint64_t rows = strtoull(answer.text + 1, NULL, 10);
    bench_print("records", (double)rows);
    for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++) {
        ask(ours, theirs, questions[i].name, questions[i].ours, questions[i].theirs, rounds, 1);
    }
    lookups(ours, theirs, rows, rounds);
    single_lookups(ours, theirs, rows);
    theirs_close(theirs);
    ours_close(ours);
    return 0;
}
