/* Any text as a statement: it is answered or refused, writes nothing, and ends in its time. */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "service/catalogue.h"
#include "sql/sql.h"
#include "unit/sql/remove_tree.h"

enum { TIME_MAX_MS = 200, ROW_MAX = 100, DIR_BYTES = 32 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct sirix_cancel cancel = {.deadline_us = UINT64_MAX};
static struct sirix_request request;

static struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

static char dir[DIR_BYTES] = "/tmp/sirix-fuzz-XXXXXX";

static void close_service(void)
{
    sirix_service_close(request.service);
    (void)remove_tree(dir); /* What is left is in /tmp. */
}

/* One service for all inputs; nothing that they do may change it. */
static void open_service(void)
{
    const struct sirix_write_options options = {.message = text("")};
    struct sirix_write_result result;
    struct sirix_database_item item;
    struct sirix_service_options service = {.dir = mkdtemp(dir)};

    assert(service.dir != NULL);
    if (sirix_service_open(&service, &request.service, NULL) != SIRIX_OK) {
        abort();
    }
    if (atexit(close_service) != 0) {
        abort();
    }
    request.caller = (struct sirix_caller){.name = "fuzz", .may_write = true};
    request.cancel = &cancel;
    if (sirix_service_create_database(&request, text("db"), &options, &item, NULL) != SIRIX_OK ||
        sirix_service_create_resource(&request, text("db"), text("t"), &options, &result, NULL) !=
            SIRIX_OK) {
        abort();
    }
}

static enum sirix_status on_columns(void *context, const struct sirix_sql_column *columns,
                                    size_t count, struct sirix_error *err)
{
    (void)context;
    (void)err;
    for (size_t i = 0; i < count; i++) {
        assert(columns[i].name != NULL && columns[i].type != NULL);
    }
    return SIRIX_OK;
}

static enum sirix_status on_row(void *context, const struct sirix_sql_value *values, size_t count,
                                struct sirix_error *err)
{
    uint64_t *revision = context;

    (void)err;
    *revision = count != 0 && values[0].kind == SIRIX_SQL_INTEGER ? (uint64_t)values[0].integer : 0;
    return SIRIX_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t last = 0;
    const struct sirix_sql_sink sink = {.context = &last, .columns = on_columns, .row = on_row};
    struct sirix_sql_request wanted = {
        .sql = {.data = data, .len = size}, .row_max = ROW_MAX, .time_max_ms = TIME_MAX_MS};
    struct sirix_sql_end end = {0};
    struct sirix_error err = {0};

    if (request.service == NULL) {
        open_service();
    }
    const enum sirix_status status = sirix_sql_run(&request, &wanted, &sink, &end, &err);
    assert(status != SIRIX_INTERNAL && end.row_count <= ROW_MAX);
    wanted.sql = text("SELECT revision FROM resources");
    if (sirix_sql_run(&request, &wanted, &sink, &end, &err) != SIRIX_OK || last != 1) {
        abort(); /* It changed something. */
    }
    return 0;
}
