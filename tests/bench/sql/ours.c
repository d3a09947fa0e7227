/* The SQL door in this process, on a data folder of its own. */
#include "bench/sql/sides.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "bench/common/measure.h"
#include "service/import.h"
#include "sql/sql.h"

struct ours {
    struct sirix_service *service;
    struct sirix_cancel cancel;
    struct sirix_request request;
    uint64_t *keys;
    size_t key_count;
    size_t key_cap;
};

static void import(struct ours *ours, const char *resource, const char *file)
{
    enum { PIECE = 1024 * 1024 };
    const struct sirix_import_request wanted = {.database = bench_bytes("db"),
                                                .resource = bench_bytes(resource)};
    const struct sirix_bytes text = bench_map_file(file);
    struct sirix_import *running = NULL;
    struct sirix_import_result result;
    struct sirix_error err = {0};
    bool replayed = false;

    bench_must(sirix_import_open(&ours->request, &wanted, &running, &replayed, &result, &err),
               &err);
    for (size_t at = 0; at < text.len; at += PIECE) {
        const struct sirix_bytes piece = {.data = (const char *)text.data + at,
                                          .len = text.len - at < PIECE ? text.len - at : PIECE};

        bench_must(sirix_import_feed(running, piece, &err), &err);
    }
    bench_must(sirix_import_end(running, &err), &err);
    bench_must(sirix_import_publish(running, &result, &err), &err);
    sirix_import_close(running);
}

static enum sirix_status no_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    (void)context;
    (void)columns;
    (void)count;
    (void)err;
    return SIRIX_OK;
}

static enum sirix_status add_row(void *context, const struct sirix_sql_value *values, size_t count,
                                 struct sirix_error *err)
{
    enum { NUMBER = 64 };
    struct side_answer *answer = context;

    (void)err;
    for (size_t i = 0; i < count; i++) {
        char number[NUMBER] = "~";

        if (values[i].kind == SIRIX_SQL_INTEGER) {
            (void)snprintf(number, sizeof(number), "%lld", (long long)values[i].integer);
        } else if (values[i].kind == SIRIX_SQL_REAL) {
            (void)snprintf(number, sizeof(number), "%.6g", values[i].real);
        }
        if (values[i].kind == SIRIX_SQL_TEXT) {
            side_add(answer, values[i].bytes.data, values[i].bytes.len, i == 0);
        } else {
            side_add(answer, number, strlen(number), i == 0);
        }
    }
    answer->rows++;
    return SIRIX_OK;
}

static enum sirix_status add_key(void *context, const struct sirix_sql_value *values, size_t count,
                                 struct sirix_error *err)
{
    struct ours *ours = context;

    (void)count;
    (void)err;
    if (ours->key_count == ours->key_cap) {
        ours->key_cap = ours->key_cap == 0 ? 1024 : ours->key_cap * 2;
        ours->keys = realloc(ours->keys, ours->key_cap * sizeof(*ours->keys));
        bench_check(ours->keys != NULL, "memory for keys");
    }
    ours->keys[ours->key_count++] = (uint64_t)values[0].integer;
    return SIRIX_OK;
}

struct ours *ours_open(const char *dir, const char *records, const char *others)
{
    const struct sirix_service_options options = {.dir = dir};
    const char *sql = "SELECT node_key FROM records";
    const struct sirix_sql_request all = {.sql = bench_bytes(sql)};
    struct ours *ours = calloc(1, sizeof(*ours));
    const struct sirix_sql_sink sink = {.context = ours, .columns = no_columns, .row = add_key};
    struct sirix_sql_end end;
    struct sirix_error err = {0};

    bench_check(ours != NULL && mkdir(dir, 0700) == 0, "a folder");
    bench_must(sirix_service_open(&options, &ours->service, &err), &err);
    ours->cancel.deadline_us = UINT64_MAX;
    ours->request = (struct sirix_request){.service = ours->service,
                                           .caller = {.name = "bench", .may_write = true},
                                           .cancel = &ours->cancel};
    import(ours, "records", records);
    import(ours, "others", others);
    bench_must(sirix_sql_run(&ours->request, &all, &sink, &end, &err), &err);
    return ours;
}

void ours_close(struct ours *ours)
{
    sirix_service_close(ours->service);
    free(ours->keys);
    free(ours);
}

void ours_run(struct ours *ours, const char *sql, struct side_answer *out)
{
    const struct sirix_sql_request wanted = {.sql = bench_bytes(sql)};
    const struct sirix_sql_sink sink = {.context = out, .columns = no_columns, .row = add_row};
    struct sirix_sql_end end;
    struct sirix_error err = {0};

    out->text[0] = '\0';
    out->rows = 0;
    bench_must(sirix_sql_run(&ours->request, &wanted, &sink, &end, &err), &err);
}

double ours_run_until(struct ours *ours, const char *sql, uint32_t time_max_ms)
{
    struct side_answer answer = {.rows = 0};
    const struct sirix_sql_request wanted = {.sql = bench_bytes(sql), .time_max_ms = time_max_ms};
    const struct sirix_sql_sink sink = {.context = &answer, .columns = no_columns, .row = add_row};
    struct sirix_sql_end end;
    struct sirix_error err = {0};
    const double begin = bench_wall_s();

    bench_check(sirix_sql_run(&ours->request, &wanted, &sink, &end, &err) == SIRIX_INVALID &&
                    err.reason == SIRIX_REASON_SQL_LIMIT,
                "a statement without an end ends by its time");
    return (bench_wall_s() - begin) * 1e3 - time_max_ms;
}

uint64_t ours_key(struct ours *ours, uint64_t place)
{
    return ours->keys[place % ours->key_count];
}
