/* Pages of snapshots and branches. */
#include "service/labels.h"

#include <string.h>

#include "base/name.h"

void sirix_label_name(char out[SIRIX_LABEL_NAME_BYTES], struct sirix_bytes name)
{
    size_t len = name.len < SIRIX_LABEL_NAME_BYTES ? name.len : SIRIX_LABEL_NAME_BYTES - 1;

    if (len != 0) {
        memcpy(out, name.data, len);
    }
    out[len] = '\0';
}

enum sirix_status sirix_list_page_check(const struct sirix_list_page *page,
                                        enum sirix_name_kind kind, uint64_t *out_size,
                                        struct sirix_error *err)
{
    enum sirix_status status =
        page->cursor.len == 0 ? SIRIX_OK : sirix_name_check(kind, page->cursor, "cursor", err);

    return status == SIRIX_OK
               ? sirix_limit_check(page->page_size, SIRIX_SERVICE_PAGE_MAX, SIRIX_SERVICE_PAGE_MAX,
                                   "page_size", out_size, err)
               : status;
}

/* One page as it fills. */
struct listing {
    const struct sirix_request *request;
    struct sirix_target target;
    uint64_t size;
    size_t item_bytes;
    size_t count;
    bool more;
    void *items;
};

/* The place of the next item; NULL where the page is full. */
static enum sirix_status next_item(struct listing *listing, struct sirix_bytes name, bool *stop,
                                   void **out_item, struct sirix_error *err)
{
    *out_item = NULL;
    if (listing->count == listing->size) {
        listing->more = true;
        *stop = true;
    } else {
        *out_item = (char *)listing->items + listing->count++ * listing->item_bytes;
        sirix_label_name(*out_item, name); /* The first member of either item. */
    }
    return sirix_cancel_check(listing->request->cancel, err);
}

static enum sirix_status visit_snapshot(void *context, const struct sirix_snapshot_info *info,
                                        bool *stop, struct sirix_error *err)
{
    void *place = NULL;

    enum sirix_status status = next_item(context, info->name, stop, &place, err);
    if (status == SIRIX_OK && place != NULL) {
        struct sirix_snapshot_item *item = place;
        item->revision = info->revision;
        item->time_us = info->time_us;
        item->created_us = info->created_us;
    }
    return status;
}

static enum sirix_status visit_branch(void *context, const struct sirix_branch_info *info,
                                      bool *stop, struct sirix_error *err)
{
    void *place = NULL;

    enum sirix_status status = next_item(context, info->name, stop, &place, err);
    if (status == SIRIX_OK && place != NULL) {
        struct sirix_branch_item *item = place;
        item->revision = info->head_revision;
        item->base_revision = info->base_revision;
        item->created_us = info->created_us;
        item->expires_us = info->expires_us;
    }
    return status;
}

/* The head's time is not in the list's rows. An expired branch has none to read. */
static enum sirix_status head_time(struct sirix_target *target, struct sirix_branch_item *item,
                                   struct sirix_error *err)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = item->revision};
    struct sirix_view view = {0};
    struct sirix_error gone = {0};

    if (item->revision == 0) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_view_open(target->resource, target->reader, &spec, &view, &gone);
    if (status == SIRIX_OK) {
        item->time_us = view.record.time_us;
        sirix_view_close(&view);
        return SIRIX_OK;
    }
    if (status == SIRIX_NOT_FOUND || status == SIRIX_PRECONDITION) {
        return SIRIX_OK; /* Pruned meanwhile. */
    }
    if (err != NULL) {
        *err = gone;
    }
    return status;
}

static enum sirix_status fill_branches(struct listing *listing, const struct sirix_list_page *page,
                                       struct sirix_error *err)
{
    struct sirix_branch_item *items = listing->items;

    enum sirix_status status = sirix_branch_list(listing->target.resource, listing->target.reader,
                                                 page->cursor, visit_branch, listing, err);
    for (size_t i = 0; status == SIRIX_OK && i < listing->count; i++) {
        status = head_time(&listing->target, &items[i], err);
    }
    return status;
}

static enum sirix_status fill_snapshots(struct listing *listing, const struct sirix_list_page *page,
                                        struct sirix_error *err)
{
    return sirix_snapshot_list(listing->target.resource, listing->target.reader, page->cursor,
                               visit_snapshot, listing, err);
}

/* Opens, fills and closes; the items are in the arena. */
static enum sirix_status list(struct listing *listing, const struct sirix_list_page *page,
                              enum sirix_name_kind kind, struct sirix_arena *arena,
                              struct sirix_error *err)
{
    enum sirix_status status = sirix_list_page_check(page, kind, &listing->size, err);

    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, (size_t)listing->size, listing->item_bytes,
                                    &listing->items, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open_named(listing->request, page->database, page->resource,
                                         &listing->target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = kind == SIRIX_NAME_BRANCH ? fill_branches(listing, page, err)
                                       : fill_snapshots(listing, page, err);
    sirix_target_close(&listing->target);
    return status;
}

enum sirix_status sirix_service_list_snapshots(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_snapshot_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err)
{
    struct listing listing = {.request = request, .item_bytes = sizeof(**out_items)};

    enum sirix_status status = list(&listing, page, SIRIX_NAME_SNAPSHOT, arena, err);
    if (status == SIRIX_OK) {
        *out_items = listing.items;
        *out_count = listing.count;
        *out_more = listing.more;
    }
    return status;
}

enum sirix_status
sirix_service_list_branches(const struct sirix_request *request, const struct sirix_list_page *page,
                            struct sirix_arena *arena, struct sirix_branch_item **out_items,
                            size_t *out_count, bool *out_more, struct sirix_error *err)
{
    struct listing listing = {.request = request, .item_bytes = sizeof(**out_items)};

    enum sirix_status status = list(&listing, page, SIRIX_NAME_BRANCH, arena, err);
    if (status == SIRIX_OK) {
        *out_items = listing.items;
        *out_count = listing.count;
        *out_more = listing.more;
    }
    return status;
}
