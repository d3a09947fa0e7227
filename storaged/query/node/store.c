/* Opening what a query reads, and giving it back. */
#include "query/node/store.h"

#include <stdlib.h>
#include <string.h>

enum { TABLE_MIN = 16 };

void sirix_query_store_init(struct sirix_query_store *store,
                            const struct sirix_query_options *options)
{
    *store = (struct sirix_query_store){.options = options};
}

static void free_resource(const struct sirix_query_store *store,
                          struct sirix_store_resource *resource)
{
    for (struct sirix_store_view *view = resource->views; view != NULL;) {
        struct sirix_store_view *next = view->next;

        sirix_view_close(&view->view);
        free(view);
        view = next;
    }
    for (struct sirix_store_timeline *line = resource->timelines; line != NULL;) {
        struct sirix_store_timeline *next = line->next;

        free(line->revisions);
        free(line);
        line = next;
    }
    if (resource->place.resource != NULL) {
        store->options->catalogue->close(store->options->catalogue->context, &resource->place);
    }
    sirix_path_summary_deinit(&resource->paths);
    free(resource->table);
    free(resource->database);
    free(resource->name);
    free(resource);
}

void sirix_query_store_deinit(struct sirix_query_store *store)
{
    while (store->resources != NULL) {
        struct sirix_store_resource *resource = store->resources;

        store->resources = resource->next;
        free_resource(store, resource);
    }
    free(store->views);
    free(store->pins);
    *store = (struct sirix_query_store){0};
}

void sirix_query_store_yield(struct sirix_query_store *store)
{
    for (struct sirix_store_resource *resource = store->resources; resource != NULL;
         resource = resource->next) {
        sirix_reader_yield(resource->place.reader);
    }
}

static enum sirix_status no_memory(struct sirix_query_error *err)
{
    return sirix_fail(&err->base, SIRIX_NO_MEMORY, "no memory for what the query has opened");
}

static char *copy_name(struct sirix_bytes name)
{
    char *copy = malloc(name.len + 1);

    if (copy != NULL) {
        if (name.len != 0) {
            memcpy(copy, name.data, name.len);
        }
        copy[name.len] = '\0';
    }
    return copy;
}

static bool is_named(const char *name, struct sirix_bytes bytes)
{
    return strlen(name) == bytes.len &&
           (bytes.len == 0 || memcmp(name, bytes.data, bytes.len) == 0);
}

enum sirix_status sirix_query_store_resource(struct sirix_query_store *store,
                                             struct sirix_bytes database,
                                             struct sirix_bytes resource,
                                             struct sirix_store_resource **out,
                                             struct sirix_query_error *err)
{
    const struct sirix_query_catalogue *catalogue = store->options->catalogue;
    struct sirix_store_resource *made = NULL;
    enum sirix_status status = SIRIX_OK;

    for (made = store->resources; made != NULL; made = made->next) {
        if (is_named(made->database, database) && is_named(made->name, resource)) {
            *out = made;
            return SIRIX_OK;
        }
    }
    if (catalogue == NULL) {
        return sirix_fail_reason(&err->base, SIRIX_NOT_FOUND, SIRIX_REASON_DATABASE_UNKNOWN,
                                 "there is no database here");
    }
    if (store->resource_count == SIRIX_STORE_PLACES_MAX) {
        return sirix_query_fail_limit(err, "resources", "a query opens more than %d resources",
                                      SIRIX_STORE_PLACES_MAX);
    }
    made = calloc(1, sizeof(*made));
    if (made == NULL) {
        return no_memory(err);
    }
    sirix_path_summary_init(&made->paths);
    made->database = copy_name(database);
    made->name = copy_name(resource);
    status =
        made->database == NULL || made->name == NULL
            ? no_memory(err)
            : catalogue->open(catalogue->context, database, resource, &made->place, &err->base);
    if (status != SIRIX_OK) {
        free_resource(store, made);
        return status;
    }
    made->next = store->resources;
    store->resources = made;
    store->resource_count++;
    *out = made;
    return SIRIX_OK;
}

extern const struct sirix_container_ops sirix_store_container_ops;

/* --- Views ------------------------------------------------------------------------------------------ */

static struct sirix_store_view **chain_of(const struct sirix_store_resource *resource,
                                          uint64_t revision)
{
    return &resource->table[(size_t)revision & (resource->table_size - 1)];
}

static struct sirix_store_view *find_revision(const struct sirix_store_resource *resource,
                                              uint64_t revision)
{
    struct sirix_store_view *view =
        resource->table_size == 0 ? NULL : *chain_of(resource, revision);

    while (view != NULL && view->view.record.revision != revision) {
        view = view->chain;
    }
    return view;
}

static enum sirix_status grow_table(struct sirix_store_resource *resource,
                                    struct sirix_query_error *err)
{
    const size_t size = resource->table_size == 0 ? TABLE_MIN : resource->table_size * 2;
    struct sirix_store_view **table = calloc(size, sizeof(struct sirix_store_view *));

    if (table == NULL) {
        return no_memory(err);
    }
    free(resource->table);
    resource->table = table;
    resource->table_size = size;
    for (struct sirix_store_view *view = resource->views; view != NULL; view = view->next) {
        struct sirix_store_view **chain = chain_of(resource, view->view.record.revision);

        view->chain = *chain;
        *chain = view;
    }
    return SIRIX_OK;
}

/* Takes a view that was opened over, or gives the one that shows the same revision already. */
static enum sirix_status adopt(struct sirix_store_resource *resource,
                               struct sirix_query_store *store, struct sirix_view *opened,
                               struct sirix_store_view **out, struct sirix_query_error *err)
{
    struct sirix_store_view *view = find_revision(resource, opened->record.revision);
    struct sirix_store_view **chain = NULL;

    for (; view != NULL; view = view->chain) {
        if (view->view.record_address == opened->record_address &&
            view->view.branch_id == opened->branch_id) {
            sirix_view_close(opened);
            *out = view;
            return SIRIX_OK;
        }
    }
    if (store->view_count == SIRIX_STORE_VIEWS_MAX) {
        sirix_view_close(opened);
        return sirix_query_fail_limit(err, "revisions", "a query opens more than %d revisions",
                                      SIRIX_STORE_VIEWS_MAX);
    }
    if (store->view_count == store->view_cap) {
        const size_t cap = store->view_cap == 0 ? 16 : store->view_cap * 2;
        struct sirix_store_view **views =
            realloc(store->views, cap * sizeof(struct sirix_store_view *));

        if (views == NULL) {
            sirix_view_close(opened);
            return no_memory(err);
        }
        store->views = views;
        store->view_cap = cap;
    }
    if (resource->view_count * 2 >= resource->table_size) {
        enum sirix_status status = grow_table(resource, err);

        if (status != SIRIX_OK) {
            sirix_view_close(opened);
            return status;
        }
    }
    view = calloc(1, sizeof(*view));
    if (view == NULL) {
        sirix_view_close(opened);
        return no_memory(err);
    }
    view->container.ops = &sirix_store_container_ops;
    view->store = store;
    view->resource = resource;
    view->view = *opened;
    view->next = resource->views;
    resource->views = view;
    resource->view_count++;
    chain = chain_of(resource, opened->record.revision);
    view->chain = *chain;
    *chain = view;
    store->views[store->view_count++] = view;
    view->number = store->view_count;
    sirix_document_init(&view->document, &view->view, resource->place.reader);
    *out = view;
    return SIRIX_OK;
}

enum sirix_status sirix_query_store_view(struct sirix_store_resource *resource,
                                         struct sirix_query_store *store,
                                         const struct sirix_view_spec *spec,
                                         struct sirix_store_view **out,
                                         struct sirix_query_error *err)
{
    struct sirix_view opened = {0};
    enum sirix_status status = SIRIX_OK;

    if (spec->by == SIRIX_VIEW_REVISION) {
        struct sirix_store_view *view = find_revision(resource, spec->revision);

        if (view != NULL) {
            *out = view;
            return SIRIX_OK;
        }
    }
    status = sirix_view_open(resource->place.resource, resource->place.reader, spec, &opened,
                             &err->base);
    return status == SIRIX_OK ? adopt(resource, store, &opened, out, err) : status;
}

static const struct sirix_query_pin *find_pin(const struct sirix_query_store *store,
                                              const struct sirix_store_resource *resource,
                                              bool asked)
{
    for (size_t i = 0; i < store->options->pin_count; i++) {
        const struct sirix_query_pin *pin = &store->options->pins[i];

        if (is_named(resource->database, pin->database) &&
            is_named(resource->name, pin->resource) && pin->asked == asked) {
            return pin;
        }
    }
    return NULL;
}

enum sirix_status sirix_query_store_newest(struct sirix_store_resource *resource,
                                           struct sirix_query_store *store,
                                           struct sirix_store_view **out,
                                           struct sirix_query_error *err)
{
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH};
    const struct sirix_query_pin *pin = NULL;
    enum sirix_status status = SIRIX_OK;

    if (resource->newest == NULL) {
        pin = find_pin(store, resource, false);
        if (pin != NULL) {
            spec = (struct sirix_view_spec){.by = SIRIX_VIEW_REVISION, .revision = pin->revision};
        }
        status = sirix_query_store_view(resource, store, &spec, &resource->newest, err);
        resource->pinned = status == SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        *out = resource->newest;
    }
    return status;
}

/* Whether options.view is about this resource. */
static bool is_asked(const struct sirix_query_store *store,
                     const struct sirix_store_resource *resource)
{
    const struct sirix_query_options *options = store->options;
    const struct sirix_view_spec *view = &options->view;
    const bool of_main = view->by == SIRIX_VIEW_BRANCH && view->name.len == 0;

    if (of_main) {
        return view->has_time; /* One time for all that the query opens. */
    }
    return options->database.len != 0 && is_named(resource->database, options->database) &&
           is_named(resource->name, options->resource);
}

enum sirix_status sirix_query_store_asked(struct sirix_store_resource *resource,
                                          struct sirix_query_store *store,
                                          struct sirix_store_view **out,
                                          struct sirix_query_error *err)
{
    static const char *const view_fields[] = {
        [SIRIX_VIEW_BRANCH] = "view.branch",
        [SIRIX_VIEW_REVISION] = "view.revision",
        [SIRIX_VIEW_SNAPSHOT] = "view.snapshot",
    };
    struct sirix_view_spec spec = store->options->view;
    const struct sirix_query_pin *pin = NULL;
    enum sirix_status status = SIRIX_OK;

    if (!is_asked(store, resource)) {
        return sirix_query_store_newest(resource, store, out, err);
    }
    if (resource->asked == NULL) {
        pin = find_pin(store, resource, true);
        resource->asked_pinned = spec.by != SIRIX_VIEW_REVISION;
        if (pin != NULL) {
            spec = (struct sirix_view_spec){.by = SIRIX_VIEW_REVISION, .revision = pin->revision};
        }
        status = sirix_query_store_view(resource, store, &spec, &resource->asked, err);
        if (status == SIRIX_NOT_FOUND || status == SIRIX_OUT_OF_RANGE ||
            status == SIRIX_PRECONDITION) {
            sirix_error_set_field(&err->base, view_fields[store->options->view.by]);
        }
    }
    if (status == SIRIX_OK) {
        *out = resource->asked;
    }
    return status;
}

static void add_pin(struct sirix_query_store *store, const struct sirix_store_resource *resource,
                    const struct sirix_store_view *view, bool asked)
{
    store->pins[store->pin_count++] = (struct sirix_query_pin){
        .database = {.data = resource->database, .len = strlen(resource->database)},
        .resource = {.data = resource->name, .len = strlen(resource->name)},
        .revision = view->view.record.revision,
        .asked = asked,
    };
}

enum sirix_status sirix_query_store_pins(struct sirix_query_store *store,
                                         struct sirix_query_error *err)
{
    free(store->pins);
    store->pin_count = 0;
    store->pins = calloc(2 * store->resource_count + 1, sizeof(*store->pins));
    if (store->pins == NULL) {
        return no_memory(err);
    }
    for (const struct sirix_store_resource *resource = store->resources; resource != NULL;
         resource = resource->next) {
        if (resource->pinned) {
            add_pin(store, resource, resource->newest, false);
        }
        if (resource->asked_pinned && resource->asked != NULL) {
            add_pin(store, resource, resource->asked, true);
        }
    }
    return SIRIX_OK;
}

/* --- Timelines -------------------------------------------------------------------------------------- */

struct find_branch {
    uint64_t id;
    uint64_t head;
};

static enum sirix_status look_at_branch(void *context, const struct sirix_branch_info *info,
                                        bool *stop, struct sirix_error *err)
{
    struct find_branch *find = context;

    (void)err;
    if (info->id == find->id) {
        find->head = info->head_revision;
        *stop = true;
    }
    return SIRIX_OK;
}

struct grow_timeline {
    struct sirix_store_timeline *line;
};

static enum sirix_status add_revision(void *context, const struct sirix_record *record,
                                      uint64_t address, bool *stop, struct sirix_error *err)
{
    struct sirix_store_timeline *line = ((struct grow_timeline *)context)->line;

    (void)address;
    *stop = false;
    if (line->count == line->cap) {
        const size_t cap = line->cap == 0 ? 64 : line->cap * 2;
        uint64_t *revisions = realloc(line->revisions, cap * sizeof(*revisions));

        if (revisions == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu revisions", cap);
        }
        line->revisions = revisions;
        line->cap = cap;
    }
    line->revisions[line->count++] = record->revision;
    return SIRIX_OK;
}

/* The view at the end of a branch; the view itself where the branch is gone or leads elsewhere. */
static enum sirix_status head_of(struct sirix_store_view *view, struct sirix_store_view **out,
                                 struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = view->resource;
    struct find_branch find = {.id = view->view.branch_id};
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION};
    struct sirix_store_view *head = NULL;
    bool is_ancestor = false;
    enum sirix_status status = SIRIX_OK;

    if (find.id == SIRIX_BRANCH_ID_MAIN) {
        status = sirix_query_store_newest(resource, view->store, &head, err);
    } else {
        status = sirix_branch_list(resource->place.resource, resource->place.reader,
                                   (struct sirix_bytes){0}, look_at_branch, &find, &err->base);
        if (status == SIRIX_OK && find.head != 0) {
            spec.revision = find.head;
            status = sirix_query_store_view(resource, view->store, &spec, &head, err);
        }
    }
    if (status == SIRIX_OK && head != NULL) {
        status = sirix_view_is_ancestor(resource->place.reader, &view->view, &head->view,
                                        &is_ancestor, &err->base);
    }
    if (status == SIRIX_OK) {
        *out = is_ancestor ? head : view;
    }
    return status;
}

enum sirix_status sirix_query_store_timeline(struct sirix_store_view *view,
                                             const struct sirix_store_timeline **out,
                                             struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = view->resource;
    struct grow_timeline grow = {0};
    struct sirix_store_view *head = NULL;

    for (grow.line = resource->timelines; grow.line != NULL; grow.line = grow.line->next) {
        if (grow.line->branch_id == view->view.branch_id &&
            grow.line->revisions[grow.line->count - 1] >= view->view.record.revision) {
            *out = grow.line;
            return SIRIX_OK;
        }
    }
    enum sirix_status status = head_of(view, &head, err);
    if (status != SIRIX_OK) {
        return status;
    }
    grow.line = calloc(1, sizeof(*grow.line));
    if (grow.line == NULL) {
        return no_memory(err);
    }
    grow.line->branch_id = view->view.branch_id;
    grow.line->next = resource->timelines;
    status =
        sirix_view_history(&head->view, resource->place.reader, add_revision, &grow, &err->base);
    if (status != SIRIX_OK || grow.line->count == 0) {
        free(grow.line->revisions);
        free(grow.line);
        return status == SIRIX_OK
                   ? sirix_fail(&err->base, SIRIX_CORRUPT, "a revision without a history")
                   : status;
    }
    for (size_t i = 0; i < grow.line->count / 2; i++) {
        const size_t other = grow.line->count - 1 - i;
        const uint64_t revision = grow.line->revisions[i];

        grow.line->revisions[i] = grow.line->revisions[other];
        grow.line->revisions[other] = revision;
    }
    resource->timelines = grow.line;
    *out = grow.line;
    return SIRIX_OK;
}
