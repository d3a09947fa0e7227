/* Resources: the table that the store has of them in each database. */
#include "service/catalogue.h"

#include <string.h>

#include "base/name.h"
#include "service/quota.h"
#include "service/watch.h"

static struct sirix_bytes text_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* --- Resources ---------------------------------------------------------------------------------- */

struct resource_listing {
    const struct sirix_request *request;
    struct sirix_bytes database;
    struct sirix_resource_item *items;
    uint64_t size;
    size_t count;
    bool more;
};

static enum sirix_status visit_resource(void *context, struct sirix_bytes name, bool *stop,
                                        struct sirix_error *err)
{
    struct resource_listing *listing = context;

    if (!sirix_request_sees(listing->request, listing->database, name)) {
        return SIRIX_OK;
    }
    if (listing->count == listing->size) {
        listing->more = true;
        *stop = true;
        return SIRIX_OK;
    }
    struct sirix_resource_item *item = &listing->items[listing->count++];
    memcpy(item->name, name.data, name.len > SIRIX_NAME_BYTES_MAX ? 0 : name.len);
    return sirix_cancel_check(listing->request->cancel, err);
}

/* Head of main. False: it was dropped since the list was made. */
static enum sirix_status fill_resource(struct sirix_target *target,
                                       struct sirix_resource_item *item, bool *out_there,
                                       struct sirix_error *err)
{
    struct sirix_resource *resource = NULL;
    struct sirix_view view = {0};
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    struct sirix_error gone = {0};

    enum sirix_status status = sirix_resource_open(sirix_handle_database(target->handle),
                                                   text_bytes(item->name), &resource, &gone);
    if (status == SIRIX_OK) {
        item->id = sirix_resource_id(resource);
        status = sirix_view_open(resource, target->reader, &spec, &view, &gone);
        if (status == SIRIX_OK) {
            item->revision = view.record.revision;
            item->time_us = view.record.time_us;
            sirix_view_close(&view);
        } else if (status == SIRIX_CORRUPT) { /* It hides neither itself nor the others. */
            status = SIRIX_OK;
        }
        sirix_resource_unref(resource);
    }
    *out_there = status == SIRIX_OK;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = gone;
    }
    return status;
}

enum sirix_status sirix_service_list_resources(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_resource_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err)
{
    struct resource_listing listing = {.request = request, .database = page->database};
    struct sirix_target target = {0};
    void *memory = NULL;
    size_t filled = 0;

    enum sirix_status status = sirix_list_page_check(page, SIRIX_NAME_RESOURCE, &listing.size, err);
    if (status == SIRIX_OK) {
        status = sirix_target_open(request, page->database,
                                   (struct sirix_bytes){.data = NULL, .len = 0}, &target, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_arena_calloc(arena, (size_t)listing.size, sizeof(struct sirix_resource_item),
                                &memory, err);
    listing.items = memory;
    if (status == SIRIX_OK) {
        status = sirix_resource_list(sirix_handle_database(target.handle), page->cursor,
                                     visit_resource, &listing, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < listing.count; i++) {
        bool is_there = false;
        status = fill_resource(&target, &listing.items[i], &is_there, err);
        listing.items[filled] = listing.items[i];
        filled += is_there ? 1 : 0;
    }
    sirix_target_close(&target);
    if (status == SIRIX_OK) {
        *out_items = listing.items;
        *out_count = filled;
        *out_more = listing.more;
    }
    return status;
}

struct resource_change {
    const struct sirix_request *request;
    struct sirix_bytes database;
    struct sirix_bytes resource;
    const struct sirix_write_options *options;
    struct sirix_write *write;
};

enum { CREATED_NUMBERS = 2, DROPPED_NUMBERS = 0 };

static void tell_created(void *context, const void *result, struct sirix_answer *answer)
{
    const struct sirix_published *published = result;

    (void)context;
    *answer = (struct sirix_answer){
        .count = CREATED_NUMBERS,
        .numbers = {published->revision, (uint64_t)published->time_us},
    };
}

static void tell_watches(const struct sirix_request *request, const struct sirix_handle *handle,
                         struct sirix_bytes resource)
{
    char name[SIRIX_NAME_BYTES_MAX + 1] = {0};

    memcpy(name, resource.data, resource.len > SIRIX_NAME_BYTES_MAX ? 0 : resource.len);
    sirix_watch_hub_tell(request->service->watches, sirix_handle_name(handle), name, false);
}

static enum sirix_status create_resource(void *context, struct sirix_once *once,
                                         struct sirix_answer *answer, struct sirix_error *err)
{
    const struct resource_change *change = context;
    struct sirix_target target = {0};
    struct sirix_author author;
    struct sirix_published made = {0};

    enum sirix_status status =
        sirix_target_open(change->request, change->database,
                          (struct sirix_bytes){.data = NULL, .len = 0}, &target, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_quota_check_bytes(change->request->service, target.handle, err);
    if (status != SIRIX_OK) {
        sirix_target_close(&target);
        return status;
    }
    sirix_author_make(&change->request->caller, change->options->on_behalf_of, &author);
    status =
        sirix_resource_create_once(sirix_handle_database(target.handle), change->resource,
                                   (struct sirix_bytes){.data = author.text, .len = author.len},
                                   change->options->message, once, &made, err);
    if (status == SIRIX_ALREADY_EXISTS) {
        sirix_error_set_field(err, "resource");
    }
    if (status == SIRIX_OK) { /* With a key the row's answer counts. */
        tell_created(context, &made, answer);
        tell_watches(change->request, target.handle, change->resource);
    }
    sirix_target_close(&target);
    return status;
}

enum sirix_status sirix_service_create_resource(const struct sirix_request *request,
                                                struct sirix_bytes database,
                                                struct sirix_bytes resource,
                                                const struct sirix_write_options *options,
                                                struct sirix_write_result *out_result,
                                                struct sirix_error *err)
{
    struct resource_change change = {
        .request = request, .database = database, .resource = resource, .options = options};
    const struct sirix_change_once once = {
        .request = request,
        .options = options,
        .database = database,
        .makes_revision = true,
        .answer_count = CREATED_NUMBERS,
        .change = create_resource,
        .tell = tell_created,
        .context = &change,
    };
    struct sirix_answer answer = {0};
    bool replayed = false;

    enum sirix_status status = sirix_name_check(SIRIX_NAME_RESOURCE, resource, "resource", err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen(request, database, resource, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_request_check_change(request, database, text_bytes(SIRIX_BRANCH_MAIN),
                                            "resource", err);
    }
    if (status == SIRIX_OK && options->has_expected && options->expected_revision != 0) {
        status = sirix_fail_reason(err, SIRIX_CONFLICT, SIRIX_REASON_REVISION_MOVED,
                                   "a resource that is created has no revision yet");
        sirix_error_set_field(err, "options.expected_revision");
    }
    if (status == SIRIX_OK) {
        status = sirix_once_run(&once, &answer, &replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_result = (struct sirix_write_result){.revision = answer.numbers[0],
                                                  .time_us = (int64_t)answer.numbers[1],
                                                  .changed = true,
                                                  .replayed = replayed};
    }
    return status;
}

static void tell_dropped(void *context, const void *result, struct sirix_answer *answer)
{
    (void)context;
    (void)result;
    *answer = (struct sirix_answer){.count = DROPPED_NUMBERS};
}

static enum sirix_status drop_resource(void *context, struct sirix_once *once,
                                       struct sirix_answer *answer, struct sirix_error *err)
{
    const struct resource_change *change = context;
    uint64_t revision = 0;

    /* Of the rows alone: a resource with a damaged head goes as any other. */
    enum sirix_status status = sirix_write_head_revision(change->write, &revision, err);
    if (status == SIRIX_OK) {
        tell_dropped(context, NULL, answer);
        status = sirix_resource_drop_once(sirix_handle_database(change->write->target.handle),
                                          change->resource, once, err);
    }
    if (status == SIRIX_OK) {
        tell_watches(change->request, change->write->target.handle, change->resource);
    }
    return status;
}

enum sirix_status sirix_drop_resource_open(const struct sirix_request *request,
                                           const struct sirix_write_place *place,
                                           struct sirix_write *write, bool *out_known,
                                           struct sirix_error *err)
{
    struct sirix_answer answer = {0};

    write->adds_nothing = true;
    enum sirix_status status = sirix_request_check_change(
        request, place->database, (struct sirix_bytes){.data = NULL, .len = 0}, "resource", err);
    return status == SIRIX_OK
               ? sirix_once_open(request, place, DROPPED_NUMBERS, write, &answer, out_known, err)
               : status;
}

enum sirix_status sirix_drop_resource_run(struct sirix_write *write, struct sirix_bytes database,
                                          struct sirix_bytes resource, struct sirix_error *err)
{
    struct resource_change change = {
        .request = &write->request, .resource = resource, .write = write};
    const struct sirix_change_once once = {
        .request = &write->request,
        .options = &write->options,
        .database = database,
        .answer_count = DROPPED_NUMBERS,
        .change = drop_resource,
        .tell = tell_dropped,
        .context = &change,
    };
    struct sirix_answer answer = {0};
    bool replayed = false;

    return sirix_once_run(&once, &answer, &replayed, err);
}

/* --- About one resource ------------------------------------------------------------------------- */

static enum sirix_status
fill_details(const struct sirix_request *request, struct sirix_target *target,
             const struct sirix_details_request *wanted, struct sirix_arena *arena,
             struct sirix_resource_details *details, struct sirix_error *err)
{
    struct sirix_view view = {0};
    struct sirix_paths paths = {0};
    bool open = false;

    enum sirix_status status = sirix_target_view(target, &wanted->view, "view", &view, err);
    if (status != SIRIX_OK) {
        return status;
    }
    details->revision = view.record.revision;
    details->node_count = view.record.node_count;
    details->text_bytes = view.record.text_bytes;
    status = sirix_resource_info(target->resource, &details->info, err);
    if (status == SIRIX_OK) {
        status = sirix_registry_stat(request->service->registry, sirix_handle_name(target->handle),
                                     &open, &details->stored_bytes, err);
    }
    if (status == SIRIX_OK && wanted->with_paths) {
        status = sirix_paths_of_view(target, &view, arena, &paths, err);
        details->paths_missing = !paths.whole;
    }
    if (status == SIRIX_OK && wanted->with_paths) {
        status = sirix_paths_page(&paths, wanted->paths_cursor, arena, &details->paths, err);
        if (status == SIRIX_INVALID) {
            sirix_error_set_field(err, "paths_cursor");
        }
    }
    sirix_view_close(&view);
    return status;
}

enum sirix_status sirix_service_get_resource(const struct sirix_request *request,
                                             const struct sirix_details_request *wanted,
                                             struct sirix_arena *arena,
                                             struct sirix_resource_details *out_details,
                                             struct sirix_error *err)
{
    const struct sirix_list_page page = {.database = wanted->database,
                                         .resource = wanted->resource};
    struct sirix_resource_details details = {0};
    struct sirix_target target = {0};
    bool more = false;

    enum sirix_status status =
        sirix_target_open_named(request, wanted->database, wanted->resource, &target, err);
    if (status == SIRIX_OK) {
        status = fill_details(request, &target, wanted, arena, &details, err);
        sirix_target_close(&target);
    }
    if (status == SIRIX_OK) {
        status = sirix_service_list_branches(request, &page, arena, &details.branches,
                                             &details.branch_count, &more, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_service_list_snapshots(request, &page, arena, &details.snapshots,
                                              &details.snapshot_count, &more, err);
    }
    if (status == SIRIX_OK) {
        *out_details = details;
    }
    return status;
}
