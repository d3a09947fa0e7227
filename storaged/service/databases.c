/* The databases of the folder: listed, made and dropped. */
#include "service/catalogue.h"

#include <stdlib.h>
#include <string.h>

#include "base/name.h"
#include "service/watch.h"

static struct sirix_bytes text_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

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
    enum sirix_status status =
        sirix_registry_drop(change->request->service->registry, change->database, err);
    if (status == SIRIX_OK) {
        char name[SIRIX_NAME_BYTES_MAX + 1] = {0};

        memcpy(name, change->database.data, change->database.len);
        sirix_watch_hub_tell(change->request->service->watches, name, NULL, true);
    }
    return status;
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
