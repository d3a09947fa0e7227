/*
 * Any bytes as a query that runs, without a store: with the rewrites and without them it gives the same
 * items, or fails both times, and it ends within the limits that are set.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "query/query.h"

enum { CHECKS_MAX = 300, RESULTS_MAX = 1000, MEMORY_BYTES = 32 * 1024 * 1024 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Counts down instead of looking at a clock, so that an input always does the same. */
static enum sirix_status count_down(void *context, struct sirix_error *err)
{
    int *left = context;

    *left -= 1;
    return *left < 0 ? sirix_fail(err, SIRIX_DEADLINE, "enough") : SIRIX_OK;
}

static enum sirix_status collect(struct sirix_query *query, struct sirix_buf *all,
                                 struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;
    bool done = false;

    while (status == SIRIX_OK && !done) {
        const struct sirix_query_item *items = NULL;
        size_t count = 0;

        status = sirix_query_next(query, 0, 0, &items, &count, &done, err);
        for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
            status = sirix_buf_append_bytes(all, items[i].json, &err->base);
            if (status == SIRIX_OK) {
                status = sirix_buf_append_u8(all, '\n', &err->base);
            }
        }
    }
    return status;
}

static enum sirix_status run(struct sirix_bytes text, bool naive, struct sirix_buf *all)
{
    int left = CHECKS_MAX;
    const struct sirix_query_options options = {
        .text = text,
        .updating = true,
        .naive = naive,
        .has_now = true,
        .now_us = 1700000000000000,
        .limits = {.memory_bytes = MEMORY_BYTES, .results = RESULTS_MAX},
        .check = count_down,
        .context = &left};
    struct sirix_query *query = NULL;
    struct sirix_query_error err = {.line = 0};
    enum sirix_status status = sirix_query_prepare(&options, &query, &err);

    if (status == SIRIX_OK) {
        status = collect(query, all, &err);
    }
    assert(status == SIRIX_OK || err.base.text[0] != '\0');
    sirix_query_close(query);
    return status;
}

static bool has(struct sirix_bytes text, const char *word)
{
    return memmem(text.data, text.len, word, strlen(word)) != NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct sirix_bytes text = {data, size};
    struct sirix_buf results[2];
    enum sirix_status status[2];

    for (int i = 0; i < 2; i++) {
        sirix_buf_init(&results[i], MEMORY_BYTES);
        status[i] = run(text, i == 1, &results[i]);
    }
    /* Limits may be met sooner without rewrites; what is random differs by itself. */
    if (!has(text, "random") && status[0] != SIRIX_EXHAUSTED && status[1] != SIRIX_EXHAUSTED &&
        status[0] != SIRIX_DEADLINE && status[1] != SIRIX_DEADLINE) {
        assert(status[0] == status[1]);
        assert(status[0] != SIRIX_OK ||
               sirix_bytes_equal(sirix_buf_view(&results[0]), sirix_buf_view(&results[1])));
    }
    for (int i = 0; i < 2; i++) {
        sirix_buf_deinit(&results[i]);
    }
    return 0;
}
