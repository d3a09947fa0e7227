/* From collected updates to edits of the store, and from these to one commit. */
#include "query/node/update.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>

#include "query/value/json.h"
#include "json/text.h"

void sirix_store_edits_deinit(struct sirix_store_edits *edits)
{
    for (size_t i = 0; i < edits->count; i++) {
        sirix_edit_free(edits->edits[i]);
        edits->edits[i] = NULL;
    }
    edits->count = 0;
}

/* --- What is touched ----------------------------------------------------------------------------------- */

static enum sirix_status check_head(struct sirix_store_view *view, struct sirix_query_error *err)
{
    const struct sirix_store_timeline *line = NULL;
    enum sirix_status status = sirix_query_store_timeline(view, &line, err);

    if (status == SIRIX_OK && line->revisions[line->count - 1] != view->view.record.revision) {
        return sirix_fail(&err->base, SIRIX_PRECONDITION,
                          "revision %" PRIu64 " of resource %s is not the newest of its branch: "
                          "only that can be updated; revert to it first",
                          view->view.record.revision, view->resource->name);
    }
    return status;
}

struct find_name {
    uint64_t id;
    char *to;
};

static enum sirix_status take_name(void *context, const struct sirix_branch_info *info, bool *stop,
                                   struct sirix_error *err)
{
    struct find_name *find = context;

    (void)err;
    if (info->id == find->id && info->name.len < SIRIX_STORE_BRANCH_BYTES) {
        memcpy(find->to, info->name.data, info->name.len);
        find->to[info->name.len] = '\0';
        *stop = true;
    }
    return SIRIX_OK;
}

/* The name of the branch that a view belongs to; it stays with the resource. */
static enum sirix_status branch_name(struct sirix_store_view *view, struct sirix_bytes *out,
                                     struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = view->resource;
    struct find_name find = {.id = view->view.branch_id, .to = resource->branch};
    enum sirix_status status =
        sirix_branch_list(resource->place.resource, resource->place.reader, (struct sirix_bytes){0},
                          take_name, &find, &err->base);

    if (status == SIRIX_OK && resource->branch[0] == '\0') {
        return sirix_fail_reason(&err->base, SIRIX_NOT_FOUND, SIRIX_REASON_BRANCH_UNKNOWN,
                                 "the branch of resource %s that is updated is gone",
                                 resource->name);
    }
    *out = (struct sirix_bytes){.data = resource->branch, .len = strlen(resource->branch)};
    return status;
}

static enum sirix_status touch(struct sirix_store_edits *edits, struct sirix_store_view *view,
                               struct sirix_query_error *err)
{
    const struct sirix_store_resource *resource = view->resource;
    struct sirix_bytes branch = {0};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < edits->count; i++) {
        if (edits->views[i] == view) {
            edits->touched[i].changes++;
            return SIRIX_OK;
        }
        if (strcmp(edits->views[i]->resource->database, resource->database) != 0) {
            return sirix_fail(&err->base, SIRIX_INVALID,
                              "a query updates one database, not both %s and %s",
                              edits->views[i]->resource->database, resource->database);
        }
        if (edits->views[i]->resource == resource) {
            return sirix_fail(&err->base, SIRIX_INVALID,
                              "a query updates one branch of resource %s, not two", resource->name);
        }
    }
    if (edits->count == SIRIX_STORE_TOUCHED_MAX) {
        return sirix_query_fail_limit(err, "touched", "a query updates at most %d resources",
                                      SIRIX_STORE_TOUCHED_MAX);
    }
    status = check_head(view, err);
    if (status == SIRIX_OK) {
        status = branch_name(view, &branch, err);
    }
    if (status == SIRIX_OK) {
        edits->views[edits->count] = view;
        edits->touched[edits->count++] = (struct sirix_query_touched){
            .database = {.data = resource->database, .len = strlen(resource->database)},
            .resource = {.data = resource->name, .len = strlen(resource->name)},
            .store = resource->place.resource,
            .branch_id = view->view.branch_id,
            .branch = branch,
            .revision = view->view.record.revision,
            .changes = 1,
        };
    }
    return status;
}

enum sirix_status sirix_store_edits_plan(struct sirix_store_edits *edits,
                                         struct sirix_query_store *store,
                                         const struct sirix_updates *updates,
                                         struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    edits->store = store;
    for (size_t i = 0; i < updates->count && status == SIRIX_OK; i++) {
        uint64_t key = 0;

        status = touch(edits, sirix_store_view_of(store, updates->list[i].target, &key), err);
        if (sirix_run_failed(status)) {
            sirix_query_error_locate(err, updates->list[i].line, updates->list[i].column);
        }
    }
    return status;
}

/* --- One update ---------------------------------------------------------------------------------------- */

struct making {
    struct sirix_store_edits *edits;
    struct sirix_work *work;
    const struct sirix_updates *updates;
    size_t index; /* Of the branch. */
    struct sirix_buf text;
    struct sirix_buf name;
};

static enum sirix_status text_of(struct making *making, struct sirix_item value,
                                 struct sirix_query_error *err)
{
    sirix_buf_clear(&making->text);
    return sirix_item_print_json(making->work, value, &making->text, err);
}

static enum sirix_status name_of(struct making *making, struct sirix_bytes plain,
                                 struct sirix_bytes *out, struct sirix_query_error *err)
{
    sirix_buf_clear(&making->name);
    enum sirix_status status = sirix_json_text_escape(&making->name, plain, &err->base);
    if (status == SIRIX_OK) {
        *out = sirix_buf_view(&making->name);
    }
    return status;
}

static enum sirix_status insert_element(struct making *making, const struct sirix_update *update,
                                        uint64_t container, struct sirix_query_error *err)
{
    struct sirix_store_view *view = making->edits->views[making->index];
    struct sirix_edit_insert insert = {.target = container, .place = SIRIX_PLACE_LAST_CHILD};
    struct sirix_edit_result result;
    struct sirix_node node;
    uint64_t sibling = 0;
    bool found = false;
    enum sirix_status status = sirix_stored_get(&view->document, container, &node, &err->base);

    if (status == SIRIX_OK) {
        status = sirix_stored_child_at(&view->document, &node, update->position, &sibling, &found,
                                       &err->base);
    }
    if (status == SIRIX_OK && found) {
        insert.target = sibling;
        insert.place = SIRIX_PLACE_LEFT_SIBLING;
    }
    if (status == SIRIX_OK) {
        status = text_of(making, update->value, err);
    }
    return status == SIRIX_OK
               ? sirix_edit_insert(making->edits->edits[making->index], &insert,
                                   sirix_buf_view(&making->text), &result, &err->base)
               : status;
}

static enum sirix_status insert_field(struct making *making, const struct sirix_update *update,
                                      uint64_t container, struct sirix_query_error *err)
{
    struct sirix_bytes name = {0};
    struct sirix_edit_insert insert = {
        .target = container, .place = SIRIX_PLACE_LAST_CHILD, .name = &name};
    struct sirix_edit_result result;
    enum sirix_status status = name_of(making, update->name, &name, err);

    if (status == SIRIX_OK) {
        status = text_of(making, update->value, err);
    }
    return status == SIRIX_OK
               ? sirix_edit_insert(making->edits->edits[making->index], &insert,
                                   sirix_buf_view(&making->text), &result, &err->base)
               : status;
}

static enum sirix_status apply(struct making *making, const struct sirix_update *update,
                               uint64_t key, struct sirix_query_error *err)
{
    struct sirix_edit *edit = making->edits->edits[making->index];
    const struct sirix_edit_update value = {.target = key};
    struct sirix_edit_result result;
    struct sirix_bytes name = {0};
    uint64_t nodes = 0;
    bool changed = false;
    enum sirix_status status = SIRIX_OK;

    switch (update->kind) {
    case SIRIX_UPDATE_INSERT_ELEMENT:
        return insert_element(making, update, key, err);
    case SIRIX_UPDATE_INSERT_FIELD:
        return insert_field(making, update, key, err);
    case SIRIX_UPDATE_DELETE:
        return sirix_edit_delete(edit, key, &nodes, &err->base);
    case SIRIX_UPDATE_REPLACE:
        status = text_of(making, update->value, err);
        return status == SIRIX_OK ? sirix_edit_update(edit, &value, sirix_buf_view(&making->text),
                                                      &result, &err->base)
                                  : status;
    default:
        status = name_of(making, update->name, &name, err);
        return status == SIRIX_OK ? sirix_edit_rename(edit, key, name, &changed, &err->base)
                                  : status;
    }
}

/* A refusal of the store in the words of the language; what is gone already needs no change. */
static enum sirix_status translate(const struct sirix_update *update, enum sirix_status status,
                                   struct sirix_query_error *err)
{
    if (status == SIRIX_NOT_FOUND && err->base.reason == SIRIX_REASON_NODE_UNKNOWN) {
        *err = (struct sirix_query_error){0};
        return SIRIX_OK;
    }
    if (status == SIRIX_ALREADY_EXISTS) {
        const struct sirix_bytes name = update->name;

        return sirix_query_fail_at(err, update->line, update->column, "JNUP0006",
                                   "the object has a field \"%.*s\" already",
                                   (int)(name.len < 100 ? name.len : 100), (const char *)name.data);
    }
    if (status == SIRIX_PRECONDITION && err->base.reason == SIRIX_REASON_NODE_KIND) {
        *err = (struct sirix_query_error){0}; /* Its value was replaced by another kind of value. */
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        sirix_query_error_locate(err, update->line, update->column);
    }
    return status;
}

/* Whether the container that is inserted into gets another value in the same query. */
static bool container_goes(const struct sirix_updates *updates, const struct sirix_update *update)
{
    for (size_t i = 0; i < updates->count; i++) {
        const struct sirix_update *other = &updates->list[i];

        if ((other->kind == SIRIX_UPDATE_REPLACE || other->kind == SIRIX_UPDATE_DELETE) &&
            other->target.origin == update->target.origin) {
            return true;
        }
    }
    return false;
}

static enum sirix_status apply_kind(struct making *making, enum sirix_update_kind kind,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < making->updates->count && status == SIRIX_OK; i++) {
        const struct sirix_update *update = &making->updates->list[i];
        struct sirix_store_view *view = NULL;
        uint64_t key = 0;

        view = sirix_store_view_of(making->edits->store, update->target, &key);
        if (update->kind != kind || view != making->edits->views[making->index]) {
            continue;
        }
        if (kind == SIRIX_UPDATE_INSERT_FIELD && container_goes(making->updates, update)) {
            continue;
        }
        if (kind != SIRIX_UPDATE_INSERT_ELEMENT) {
            status = sirix_store_canonical(view, key, &key, err);
        }
        if (status == SIRIX_OK) {
            status = translate(update, apply(making, update, key, err), err);
        }
    }
    return status;
}

/* --- The commit ---------------------------------------------------------------------------------------- */

static enum sirix_status make_edit(struct making *making, sirix_query_check_fn check,
                                   void *check_context, struct sirix_query_error *err)
{
    static const enum sirix_update_kind order[] = {
        SIRIX_UPDATE_INSERT_ELEMENT, SIRIX_UPDATE_REPLACE,      SIRIX_UPDATE_DELETE,
        SIRIX_UPDATE_RENAME,         SIRIX_UPDATE_INSERT_FIELD,
    };
    struct sirix_store_edits *edits = making->edits;
    struct sirix_store_view *view = edits->views[making->index];
    enum sirix_status status = sirix_edit_new(&view->view, view->resource->place.reader,
                                              &edits->edits[making->index], &err->base);

    if (status == SIRIX_OK && check != NULL) {
        sirix_edit_set_pause(edits->edits[making->index], check, check_context);
    }
    for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && status == SIRIX_OK; i++) {
        status = apply_kind(making, order[i], err);
    }
    return status;
}

/* Waits for the one publishing of all edits. */
struct waiting {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    bool done;
    enum sirix_status status;
    struct sirix_error error;
    struct sirix_published published[SIRIX_STORE_TOUCHED_MAX];
};

static void published(void *context, enum sirix_status status,
                      const struct sirix_published *results, size_t count,
                      const struct sirix_error *error)
{
    struct waiting *waiting = context;

    (void)pthread_mutex_lock(&waiting->mutex); /* Cannot fail for a mutex of ours. */
    waiting->status = status;
    if (status == SIRIX_OK) {
        memcpy(waiting->published, results, count * sizeof(*results));
    } else if (error != NULL) {
        waiting->error = *error;
    }
    waiting->done = true;
    (void)pthread_cond_signal(&waiting->cond);
    (void)pthread_mutex_unlock(&waiting->mutex);
}

static enum sirix_status publish(struct sirix_publication *publications, size_t count,
                                 struct sirix_published *out, struct sirix_query_error *err)
{
    struct waiting waiting = {.mutex = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};
    struct sirix_publishing *publishing = NULL;
    enum sirix_status status =
        sirix_publishing_start(publications, count, published, &waiting, &publishing, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    (void)pthread_mutex_lock(&waiting.mutex);
    while (!waiting.done) {
        (void)pthread_cond_wait(&waiting.cond, &waiting.mutex);
    }
    (void)pthread_mutex_unlock(&waiting.mutex);
    if (waiting.status == SIRIX_OK) {
        for (size_t i = 0; i < count; i++) {
            out[i] = waiting.published[i];
            out[i].answer = (struct sirix_bytes){0}; /* It goes with the publishing. */
        }
    } else {
        err->base = waiting.error;
        err->base.status = waiting.status;
    }
    sirix_publishing_free(publishing);
    return waiting.status;
}

static enum sirix_status prepare_all(struct sirix_store_edits *edits,
                                     const struct sirix_edit_commit *commit,
                                     struct sirix_publication *publications, size_t *places,
                                     size_t *out_count, struct sirix_query_committed *committed,
                                     struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;

    for (size_t i = 0; i < edits->count && status == SIRIX_OK; i++) {
        const struct sirix_view *view = &edits->views[i]->view;
        struct sirix_edit_commit own = *commit;
        bool changed = false;

        if (count != 0) { /* One row tells of the whole commit. */
            own.rider = (struct sirix_rider){0};
        }
        status =
            sirix_edit_prepare(edits->edits[i], &own, &publications[count], &changed, &err->base);
        committed[i] = (struct sirix_query_committed){
            .published = {.revision = view->record.revision,
                          .parent_revision = view->record.parent_revision,
                          .time_us = view->record.time_us,
                          .record_address = view->record_address},
            .changed = changed,
        };
        if (status == SIRIX_OK && changed) {
            places[count++] = i;
        }
    }
    *out_count = count;
    return status;
}

enum sirix_status sirix_store_edits_commit(struct sirix_store_edits *edits, struct sirix_work *work,
                                           const struct sirix_updates *updates,
                                           const struct sirix_edit_commit *commit,
                                           sirix_query_check_fn check, void *check_context,
                                           struct sirix_query_committed *committed,
                                           struct sirix_query_error *err)
{
    struct sirix_publication publications[SIRIX_STORE_TOUCHED_MAX];
    struct sirix_published results[SIRIX_STORE_TOUCHED_MAX];
    size_t places[SIRIX_STORE_TOUCHED_MAX];
    struct making making = {.edits = edits, .work = work, .updates = updates};
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&making.text, SIZE_MAX);
    sirix_buf_init(&making.name, SIZE_MAX);
    for (; making.index < edits->count && status == SIRIX_OK; making.index++) {
        status = make_edit(&making, check, check_context, err);
    }
    sirix_buf_deinit(&making.text);
    sirix_buf_deinit(&making.name);
    if (status == SIRIX_OK) {
        status = prepare_all(edits, commit, publications, places, &count, committed, err);
    }
    if (status == SIRIX_OK && count != 0) {
        status = publish(publications, count, results, err);
    }
    for (size_t i = 0; i < count; i++) {
        sirix_edit_published(edits->edits[places[i]], status);
        if (status == SIRIX_OK) {
            committed[places[i]].published = results[i];
        }
    }
    return status;
}
