/* The items that a query hands out at once, as text. Private to the door. */
#ifndef SIRIX_QUERY_QUERY_BATCH_H
#define SIRIX_QUERY_QUERY_BATCH_H

#include "query/node/store.h"

enum { SIRIX_QUERY_BATCH_ITEMS_MAX = 1024 };

/* Where the texts of an item lie in the buffer, which may move. */
struct sirix_query_span {
    size_t json_at;
    size_t json_len;
    size_t text_at;
    size_t text_len;
    bool atomic;
    const struct sirix_store_view *view; /* Of an item that tells its node, else NULL. */
    uint64_t node_key;
    size_t path_at;
    size_t path_len;
};

struct sirix_query_batch {
    struct sirix_buf texts;
    struct sirix_query_span spans[SIRIX_QUERY_BATCH_ITEMS_MAX];
    struct sirix_query_item items[SIRIX_QUERY_BATCH_ITEMS_MAX];
    size_t count;
};

void sirix_query_batch_init(struct sirix_query_batch *batch, size_t bytes_max);
void sirix_query_batch_deinit(struct sirix_query_batch *batch);
void sirix_query_batch_clear(struct sirix_query_batch *batch);

/* Adds an item (there is room for one more). with_node: and which node of the store it is. */
enum sirix_status sirix_query_batch_add(struct sirix_query_batch *batch,
                                        struct sirix_query_store *store, struct sirix_work *work,
                                        const struct sirix_item *item, bool with_node,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* All of them, valid until the batch changes. */
const struct sirix_query_item *sirix_query_batch_items(struct sirix_query_batch *batch);

#endif
