/* Pages of snapshots and branches. */
#include "service/labels.h"

#include <string.h>

#include "base/name.h"

static void set_name(char out[SIRIX_NAME_BYTES_MAX + 1], struct sirix_bytes name)
{
    size_t len = name.len > SIRIX_NAME_BYTES_MAX ? SIRIX_NAME_BYTES_MAX : name.len;

    if (len != 0) {
        memcpy(out, name.data, len);
    }
    out[len] = '\0';
}

struct listing {
    const struct sirix_request *request;
    uint64_t size;
    size_t count;
    bool more;
    struct sirix_snapshot_item *snapshots;
    struct sirix_branch_item *branches;
};

static enum sirix_status step(struct listing *listing, bool *stop, struct sirix_error *err)
{
    if (listing->count == listing->size) {
        listing->more = true;
        *stop = true;
    }
    return sirix_cancel_check(listing->request->cancel, err);
}

static enum sirix_status visit_snapshot(void *context, const struct sirix_snapshot_info *info,
                                        bool *stop, struct sirix_error *err)
{
    struct listing *listing = context;

    enum sirix_status status = step(listing, stop, err);
    if (status == SIRIX_OK && !*stop) {
        struct sirix_snapshot_item *item = &listing->snapshots[listing->count++];
        set_name(item->name, info->name);
        item->revision = info->revision;
        item->time_us = info->time_us;
        item->created_us = info->created_us;
    }
    return status;
}

static enum sirix_status visit_branch(void *context, const struct sirix_branch_info *info,
                                      bool *stop, struct sirix_error *err)
{
    struct listing *listing = context;

    enum sirix_status status = step(listing, stop, err);
    if (status == SIRIX_OK && !*stop) {
        struct sirix_branch_item *item = &listing->branches[listing->count++];
        set_name(item->name, info->name);
        item->revision = info->head_revision;
        item->base_revision = info->base_revision;
        item->created_us = info->created_us;
        item->expires_us = info->expires_us;
    }
    return status;
}

static enum sirix_status open_list(const struct sirix_request *request,
                                   const struct sirix_label_page *page, enum sirix_name_kind kind,
                                   struct listing *listing, struct sirix_target *target,
                                   struct sirix_error *err)
{
    listing->request = request;
    enum sirix_status status =
        sirix_limit_check(page->page_size, SIRIX_SERVICE_PAGE_MAX, SIRIX_SERVICE_PAGE_MAX,
                          "page_size", &listing->size, err);
    if (status == SIRIX_OK && page->cursor.len != 0) {
        status = sirix_name_check(kind, page->cursor, "cursor", err);
    }
    if (status == SIRIX_OK && page->resource.len == 0) {
        status = sirix_name_check(SIRIX_NAME_RESOURCE, page->resource, "resource", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_target_open(request, page->database, page->resource, target, err);
    }
    return status;
}

enum sirix_status sirix_service_list_snapshots(const struct sirix_request *request,
                                               const struct sirix_label_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_snapshot_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err)
{
    struct listing listing = {0};
    struct sirix_target target = {0};
    void *memory = NULL;

    enum sirix_status status =
        open_list(request, page, SIRIX_NAME_SNAPSHOT, &listing, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_arena_calloc(arena, (size_t)listing.size, sizeof(struct sirix_snapshot_item),
                                &memory, err);
    listing.snapshots = memory;
    if (status == SIRIX_OK) {
        status = sirix_snapshot_list(target.resource, target.reader, page->cursor, visit_snapshot,
                                     &listing, err);
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_items = listing.snapshots;
        *out_count = listing.count;
        *out_more = listing.more;
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

enum sirix_status sirix_service_list_branches(const struct sirix_request *request,
                                              const struct sirix_label_page *page,
                                              struct sirix_arena *arena,
                                              struct sirix_branch_item **out_items,
                                              size_t *out_count, bool *out_more,
                                              struct sirix_error *err)
{
    struct listing listing = {0};
    struct sirix_target target = {0};
    void *memory = NULL;

    enum sirix_status status = open_list(request, page, SIRIX_NAME_BRANCH, &listing, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_arena_calloc(arena, (size_t)listing.size, sizeof(struct sirix_branch_item),
                                &memory, err);
    listing.branches = memory;
    if (status == SIRIX_OK) {
        status = sirix_branch_list(target.resource, target.reader, page->cursor, visit_branch,
                                   &listing, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < listing.count; i++) {
        status = head_time(&target, &listing.branches[i], err);
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_items = listing.branches;
        *out_count = listing.count;
        *out_more = listing.more;
    }
    return status;
}
