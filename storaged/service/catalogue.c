/* The catalogue is the folder of databases and, in each, the store's table of resources. */
#include "service/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"

static struct sirix_bytes text_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* --- Databases ---------------------------------------------------------------------------------- */

struct counting {
    const struct sirix_request *request;
    struct sirix_bytes database;
    uint64_t count;
};

static enum sirix_status count_seen(void *context, struct sirix_bytes name, bool *stop,
                                    struct sirix_error *err)
{
    struct counting *counting = context;

    (void)err;
    *stop = false;
    counting->count += sirix_request_sees(counting->request, counting->database, name) ? 1 : 0;
    return SIRIX_OK;
}

/* arena NULL: without the reason. */
static enum sirix_status fill_open(const struct sirix_request *request,
                                   struct sirix_database *database, struct sirix_arena *arena,
                                   struct sirix_database_item *item, struct sirix_error *err)
{
    struct counting counting = {.request = request, .database = text_bytes(item->name)};
    struct sirix_error why = {0};
    char *reason = NULL;

    if (arena != NULL && sirix_database_takes_writes(database, &why) != SIRIX_OK) {
        enum sirix_status status = sirix_arena_strdup(arena, why.text, &reason, err);
        if (status != SIRIX_OK) {
            return status;
        }
        item->read_only_reason = reason;
    }
    enum sirix_status status = sirix_resource_list(
        database, (struct sirix_bytes){.data = NULL, .len = 0}, count_seen, &counting, err);
    item->resource_count = counting.count;
    return status;
}

/* Only of a database that is open already: listing opens nothing. */
static enum sirix_status fill_database(const struct sirix_request *request, const char *name,
                                       struct sirix_arena *arena, struct sirix_database_item *item,
                                       struct sirix_error *err)
{
    struct sirix_registry *registry = request->service->registry;
    struct sirix_handle *handle = NULL;

    enum sirix_status status =
        sirix_registry_stat(registry, name, &item->open, &item->stored_bytes, err);
    if (status != SIRIX_OK) {
        return status;
    }
    memcpy(item->name, name, strlen(name) + 1);
    if (item->open) {
        status = sirix_registry_acquire(registry, text_bytes(name), &handle, err);
        if (status == SIRIX_OK) {
            status = fill_open(request, sirix_handle_database(handle), arena, item, err);
            sirix_registry_release(handle);
        }
    }
    return status;
}

/* *out_there false: dropped since the list of names was made. */
static enum sirix_status list_database(const struct sirix_request *request, const char *name,
                                       struct sirix_arena *arena, struct sirix_database_item *item,
                                       bool *out_there, struct sirix_error *err)
{
    struct sirix_error gone = {0};

    enum sirix_status status = sirix_cancel_check(request->cancel, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *item = (struct sirix_database_item){0};
    status = fill_database(request, name, arena, item, &gone);
    *out_there = status == SIRIX_OK;
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = gone;
    }
    return status;
}

/* Takes the names out that are not there for the caller; how many are left. */
static size_t keep_seen(const struct sirix_request *request, struct sirix_registry_name *names,
                        size_t count)
{
    size_t kept = 0;

    for (size_t i = 0; i < count; i++) {
        if (sirix_request_sees(request, text_bytes(names[i].name),
                               (struct sirix_bytes){.data = NULL, .len = 0})) {
            names[kept++] = names[i];
        }
    }
    return kept;
}

enum sirix_status sirix_service_list_databases(const struct sirix_request *request,
                                               const struct sirix_list_page *page,
                                               struct sirix_arena *arena,
                                               struct sirix_database_item **out_items,
                                               size_t *out_count, bool *out_more,
                                               struct sirix_error *err)
{
    struct sirix_registry_name *names = NULL;
    struct sirix_database_item *items = NULL;
    void *memory = NULL;
    uint64_t size = 0;
    size_t count = 0;
    size_t filled = 0;

    enum sirix_status status = sirix_list_page_check(page, SIRIX_NAME_DATABASE, &size, err);
    if (status == SIRIX_OK) {
        status = sirix_registry_list(request->service->registry, page->cursor, &names, &count, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    count = keep_seen(request, names, count);
    bool more = count > size;
    count = more ? (size_t)size : count;
    status = sirix_arena_calloc(arena, count, sizeof(struct sirix_database_item), &memory, err);
    items = memory;
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        bool is_there = false;
        status = list_database(request, names[i].name, arena, &items[filled], &is_there, err);
        filled += is_there ? 1 : 0;
    }
    free(names);
    if (status == SIRIX_OK) {
        *out_items = items;
        *out_count = filled;
        *out_more = more;
    }
    return status;
}

struct database_change {
    const struct sirix_request *request;
    struct sirix_bytes database;
};

static enum sirix_status refuse_expected(const struct sirix_write_options *options,
                                         struct sirix_error *err)
{
    if (!options->has_expected) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                                 "a database has no revision to expect");
    sirix_error_set_field(err, "options.expected_revision");
    return status;
}

static enum sirix_status create_database(void *context, void *answer, struct sirix_error *err)
{
    const struct database_change *change = context;
    struct sirix_database_item *item = answer;
    struct sirix_error gone = {0};
    char name[SIRIX_NAME_BYTES_MAX + 1];

    enum sirix_status status =
        sirix_registry_create(change->request->service->registry, change->database, err);
    if (status == SIRIX_OK) {
        memcpy(name, change->database.data, change->database.len);
        name[change->database.len] = '\0';
        status = fill_database(change->request, name, NULL, item, &gone);
        if (status == SIRIX_NOT_FOUND) { /* Made, and dropped by another one since. */
            *item = (struct sirix_database_item){0};
            memcpy(item->name, name, sizeof(name));
            status = SIRIX_OK;
        } else if (status != SIRIX_OK && err != NULL) {
            *err = gone;
        }
    }
    return status;
}

enum sirix_status sirix_service_create_database(const struct sirix_request *request,
                                                struct sirix_bytes database,
                                                const struct sirix_write_options *options,
                                                struct sirix_database_item *out_item,
                                                struct sirix_error *err)
{
    struct database_change change = {.request = request, .database = database};
    struct sirix_database_item answer = {0};
    bool replayed = false;

    enum sirix_status status = refuse_expected(options, err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen(request, database,
                                          (struct sirix_bytes){.data = NULL, .len = 0}, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_remembered_run(&(struct sirix_change_remembered){.request = request,
                                                                   .options = options,
                                                                   .database = database,
                                                                   .change = create_database,
                                                                   .context = &change,
                                                                   .answer = &answer,
                                                                   .answer_len = sizeof(answer)},
                                 &replayed, err);
    }
    if (status == SIRIX_OK) {
        *out_item = answer;
    }
    return status;
}

static enum sirix_status drop_database(void *context, void *answer, struct sirix_error *err)
{
    const struct database_change *change = context;

    *(bool *)answer = true;
    return sirix_registry_drop(change->request->service->registry, change->database, err);
}

enum sirix_status sirix_service_drop_database(const struct sirix_request *request,
                                              struct sirix_bytes database,
                                              const struct sirix_write_options *options,
                                              struct sirix_error *err)
{
    struct database_change change = {.request = request, .database = database};
    bool dropped = false;
    bool replayed = false;

    enum sirix_status status = refuse_expected(options, err);
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen(request, database,
                                          (struct sirix_bytes){.data = NULL, .len = 0}, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_request_check_seen_all(request, database, "drop", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_request_check_change(
            request, database, (struct sirix_bytes){.data = NULL, .len = 0}, "database", err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_remembered_run(&(struct sirix_change_remembered){.request = request,
                                                                   .options = options,
                                                                   .database = database,
                                                                   .change = drop_database,
                                                                   .context = &change,
                                                                   .answer = &dropped,
                                                                   .answer_len = sizeof(dropped)},
                                 &replayed, err);
    }
    return status;
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
    return status;
}

enum sirix_status sirix_drop_resource_open(const struct sirix_request *request,
                                           const struct sirix_write_place *place,
                                           struct sirix_write *write, bool *out_known,
                                           struct sirix_error *err)
{
    struct sirix_answer answer = {0};

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
