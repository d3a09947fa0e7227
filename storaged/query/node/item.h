/* Items of the store from the inside. Private to this folder. */
#ifndef SIRIX_QUERY_NODE_ITEM_H
#define SIRIX_QUERY_NODE_ITEM_H

#include "query/node/store.h"

/* The view that an object or array of the store belongs to, and the key of the row that holds a value. */
static inline struct sirix_store_view *sirix_store_container_view(struct sirix_item container)
{
    return (struct sirix_store_view *)(void *)container.value.container;
}

static inline uint64_t sirix_store_key(struct sirix_item item)
{
    return item.origin & SIRIX_STORE_KEY_MASK;
}

/* The row of an object or array. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_store_container_node(
    struct sirix_item container, struct sirix_node *out, struct sirix_query_error *err)
{
    return sirix_stored_get(&sirix_store_container_view(container)->document,
                            sirix_store_key(container), out, &err->base);
}

/* scan.c: a name as the rows of a view have it. */
enum sirix_status sirix_store_prepare_name(struct sirix_run *run, struct sirix_store_view *view,
                                           struct sirix_run_name *name,
                                           struct sirix_stored_name *out,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whether the row of a member has that name. */
enum sirix_status sirix_store_row_has_name(struct sirix_store_view *view,
                                           const struct sirix_row *row,
                                           struct sirix_stored_name *name, bool *out_equal,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* descent.c: see struct sirix_run_store. */
enum sirix_status sirix_store_descendants(struct sirix_run *run, const struct sirix_item *container,
                                          struct sirix_run_name *name, struct sirix_sink *sink,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_store_count_descendants(struct sirix_run *run,
                                                const struct sirix_item *container,
                                                struct sirix_run_name *name, uint64_t *out_count,
                                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The item of a row that holds a value. */
enum sirix_status sirix_store_row_item(struct sirix_work *work, struct sirix_store_view *view,
                                       const struct sirix_row *row, struct sirix_item *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
