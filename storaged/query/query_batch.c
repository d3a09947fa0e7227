/* Printing items into a batch. */
#include "query/query_batch.h"

#include <assert.h>
#include <string.h>

#include "query/value/json.h"

enum { SERIALISE_BYTES = 64 * 1024 };

void sirix_query_batch_init(struct sirix_query_batch *batch, size_t bytes_max)
{
    sirix_buf_init(&batch->texts, bytes_max);
    batch->count = 0;
}

void sirix_query_batch_deinit(struct sirix_query_batch *batch)
{
    sirix_buf_deinit(&batch->texts);
}

void sirix_query_batch_clear(struct sirix_query_batch *batch)
{
    sirix_buf_clear(&batch->texts);
    batch->count = 0;
}

static enum sirix_status print_stored(struct sirix_query_batch *batch,
                                      struct sirix_query_store *store, struct sirix_work *work,
                                      const struct sirix_item *item, struct sirix_query_error *err)
{
    uint64_t key = 0;
    struct sirix_store_view *view = sirix_store_view_of(store, *item, &key);
    const struct sirix_serialise_options options = {.key = key};
    struct sirix_serialiser *serialiser = NULL;
    bool done = false;
    enum sirix_status status =
        sirix_serialiser_new(&view->document, &options, &serialiser, &err->base);

    while (status == SIRIX_OK && !done) {
        status =
            sirix_serialiser_step(serialiser, SERIALISE_BYTES, &batch->texts, &done, &err->base);
        if (status == SIRIX_OK) {
            status = sirix_work_tick(work, SERIALISE_BYTES / SIRIX_WORK_BYTES_PER_UNIT, err);
        }
    }
    sirix_serialiser_free(serialiser);
    return status;
}

static enum sirix_status print_item(struct sirix_query_batch *batch,
                                    struct sirix_query_store *store, struct sirix_work *work,
                                    const struct sirix_item *item, struct sirix_query_span *span,
                                    struct sirix_query_error *err)
{
    const bool stored =
        sirix_item_is_structured(*item) && sirix_container_is_stored(*item) && item->origin != 0;
    struct sirix_bytes text = {0};
    enum sirix_status status = SIRIX_OK;

    span->json_at = batch->texts.len;
    status = stored ? print_stored(batch, store, work, item, err)
                    : sirix_item_print_json(work, *item, &batch->texts, err);
    span->json_len = batch->texts.len - span->json_at;
    span->text_at = batch->texts.len;
    span->text_len = 0;
    span->atomic = sirix_item_is_atomic(*item);
    if (status == SIRIX_OK && span->atomic) {
        status = sirix_item_text(work, *item, &text, err);
    }
    if (status == SIRIX_OK && span->atomic) {
        status = sirix_buf_append_bytes(&batch->texts, text, &err->base);
        span->text_len = text.len;
    }
    return status;
}

/* Which node of the store an item is, for whoever wants to go on from it. */
static enum sirix_status locate_item(struct sirix_query_batch *batch,
                                     struct sirix_query_store *store, const struct sirix_item *item,
                                     struct sirix_query_span *span, struct sirix_query_error *err)
{
    uint64_t key = 0;
    struct sirix_store_view *view = NULL;
    enum sirix_status status = SIRIX_OK;

    span->view = NULL;
    span->path_at = batch->texts.len;
    if (item->origin != 0) {
        view = sirix_store_view_of(store, *item, &key);
    }
    if (view != NULL) {
        status = sirix_store_canonical(view, key, &span->node_key, err);
    }
    if (view != NULL && status == SIRIX_OK) {
        status =
            sirix_document_path(&view->document, key, SIRIX_PATH_SIRIX, &batch->texts, &err->base);
    }
    if (status == SIRIX_OK) {
        span->view = view;
        span->path_len = batch->texts.len - span->path_at;
    }
    return status;
}

enum sirix_status sirix_query_batch_add(struct sirix_query_batch *batch,
                                        struct sirix_query_store *store, struct sirix_work *work,
                                        const struct sirix_item *item, bool with_node,
                                        struct sirix_query_error *err)
{
    struct sirix_query_span *span = &batch->spans[batch->count];

    assert(batch->count < SIRIX_QUERY_BATCH_ITEMS_MAX);
    *span = (struct sirix_query_span){0};
    enum sirix_status status = print_item(batch, store, work, item, span, err);
    if (status == SIRIX_OK && with_node) {
        status = locate_item(batch, store, item, span, err);
    }
    batch->count += status == SIRIX_OK ? 1 : 0;
    return status;
}

static void tell_node(const struct sirix_query_batch *batch, const struct sirix_query_span *span,
                      struct sirix_query_item *item)
{
    const struct sirix_store_resource *resource = span->view->resource;

    item->node_key = span->node_key;
    item->revision = span->view->view.record.revision;
    item->database =
        (struct sirix_bytes){.data = resource->database, .len = strlen(resource->database)};
    item->resource = (struct sirix_bytes){.data = resource->name, .len = strlen(resource->name)};
    item->path =
        (struct sirix_bytes){.data = batch->texts.data + span->path_at, .len = span->path_len};
}

const struct sirix_query_item *sirix_query_batch_items(struct sirix_query_batch *batch)
{
    for (size_t i = 0; i < batch->count; i++) {
        const struct sirix_query_span *span = &batch->spans[i];

        batch->items[i] = (struct sirix_query_item){
            .json = {.data = batch->texts.data + span->json_at, .len = span->json_len},
            .text = {.data = batch->texts.data + span->text_at, .len = span->text_len},
            .atomic = span->atomic,
        };
        if (span->view != NULL) {
            tell_node(batch, span, &batch->items[i]);
        }
    }
    return batch->items;
}
