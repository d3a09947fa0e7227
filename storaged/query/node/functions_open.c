/*
 * Functions that open something: documents by revision, time, snapshot and branch; collections; what
 * exists; and the texts that the caller has given along.
 */
#include <limits.h>

#include "query/node/functions.h"
#include "query/value/json.h"

static enum sirix_status give_view(struct sirix_call *call, struct sirix_store_resource *resource,
                                   const struct sirix_view_spec *spec, struct sirix_sequence *out,
                                   struct sirix_query_error *err)
{
    struct sirix_query_store *store = sirix_call_store(call);
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    enum sirix_status status = spec == NULL
                                   ? sirix_query_store_asked(resource, store, &view, err)
                                   : sirix_query_store_view(resource, store, spec, &view, err);

    if (status == SIRIX_OK) {
        status = sirix_store_root(call->work, view, &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

/* jn:doc($database, $resource [, $revision [, $updatable]]) */
static enum sirix_status doc(struct sirix_call *call, struct sirix_sequence *out,
                             struct sirix_query_error *err)
{
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION};
    struct sirix_store_resource *resource = NULL;
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    if (status != SIRIX_OK || !sirix_call_has(call, 2)) {
        return status == SIRIX_OK ? give_view(call, resource, NULL, out, err) : status;
    }
    status = sirix_call_number(call, 2, 1, &spec.revision, err);
    return status == SIRIX_OK ? give_view(call, resource, &spec, out, err) : status;
}

/* The revision at a time; *out NULL: the resource did not exist yet. */
static enum sirix_status view_at(struct sirix_call *call, struct sirix_store_resource *resource,
                                 int64_t time_us, struct sirix_store_view **out,
                                 struct sirix_query_error *err)
{
    const struct sirix_view_spec spec = {
        .by = SIRIX_VIEW_BRANCH, .has_time = true, .time_us = time_us};
    struct sirix_store_view *newest = NULL;
    enum sirix_status status =
        sirix_query_store_newest(resource, sirix_call_store(call), &newest, err);

    if (status == SIRIX_OK && newest->view.record.time_us <= time_us) {
        *out = newest;
        return SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = sirix_query_store_view(resource, sirix_call_store(call), &spec, out, err);
    }
    if (status == SIRIX_NOT_FOUND && err->base.reason == SIRIX_REASON_REVISION_BEFORE_FIRST) {
        *err = (struct sirix_query_error){0};
        *out = NULL;
        return SIRIX_OK;
    }
    return status;
}

/* jn:open($database, $resource [, $time [, $updatable]]) */
static enum sirix_status open_at(struct sirix_call *call, struct sirix_sequence *out,
                                 struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = NULL;
    struct sirix_store_view *view = NULL;
    struct sirix_item item = {0};
    int64_t time_us = 0;
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    if (status != SIRIX_OK || !sirix_call_has(call, 2)) {
        return status == SIRIX_OK ? give_view(call, resource, NULL, out, err) : status;
    }
    status = sirix_call_time(call, 2, &time_us, err);
    if (status == SIRIX_OK) {
        status = view_at(call, resource, time_us, &view, err);
    }
    if (status == SIRIX_OK && view != NULL) {
        status = sirix_store_root(call->work, view, &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

/* jn:open-revisions($database, $resource, $from, $to): those that were current at some time between. */
static enum sirix_status open_revisions(struct sirix_call *call, struct sirix_sequence *out,
                                        struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = NULL;
    struct sirix_store_view *first = NULL;
    struct sirix_store_view *last = NULL;
    const struct sirix_store_timeline *line = NULL;
    struct sirix_sequence items = {0};
    int64_t from = 0;
    int64_t to = 0;
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    if (status == SIRIX_OK) {
        status = sirix_call_time(call, 2, &from, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_call_time(call, 3, &to, err);
    }
    if (status == SIRIX_OK) {
        status = view_at(call, resource, from, &first, err);
    }
    if (status == SIRIX_OK) {
        status = view_at(call, resource, to, &last, err);
    }
    if (status == SIRIX_OK && last != NULL && from <= to) {
        status = sirix_query_store_timeline(last, &line, err);
    }
    for (size_t i = 0; line != NULL && i < line->count && status == SIRIX_OK; i++) {
        const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION,
                                             .revision = line->revisions[i]};
        struct sirix_store_view *view = NULL;
        struct sirix_item item = {0};

        if (line->revisions[i] > last->view.record.revision) {
            break;
        }
        if (first != NULL && line->revisions[i] < first->view.record.revision) {
            continue;
        }
        status = sirix_work_tick(call->work, 16, err);
        if (status == SIRIX_OK) {
            status = sirix_query_store_view(resource, sirix_call_store(call), &spec, &view, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_store_root(call->work, view, &item, err);
        }
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sirix_sequence_append(call->work, &items, item, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = items;
    }
    return status;
}

/* --- Names ------------------------------------------------------------------------------------------ */

struct names {
    struct sirix_work *work;
    struct sirix_sequence items;
    struct sirix_query_error *err;
    struct sirix_bytes wanted; /* Or whether this one is there. */
    bool found;
};

static enum sirix_status add_name(struct names *names, struct sirix_bytes name)
{
    struct sirix_item item = {0};
    enum sirix_status status = sirix_item_new_string(names->work, name, &item, names->err);

    return status == SIRIX_OK ? sirix_sequence_append(names->work, &names->items, item, names->err)
                              : status;
}

static enum sirix_status visit_name(void *context, struct sirix_bytes name, bool *stop,
                                    struct sirix_error *err)
{
    *stop = false;
    (void)err; /* It is names->err's own. */
    return add_name(context, name);
}

static enum sirix_status visit_wanted(void *context, struct sirix_bytes name, bool *stop,
                                      struct sirix_error *err)
{
    struct names *names = context;

    (void)err;
    if (sirix_bytes_equal(name, names->wanted)) {
        names->found = true;
        *stop = true;
    }
    return SIRIX_OK;
}

/* jn:collection([$database]): the values of all its resources. */
static enum sirix_status collection(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    struct sirix_query_store *store = sirix_call_store(call);
    const struct sirix_query_catalogue *catalogue = store->options->catalogue;
    struct names names = {.work = call->work, .err = err};
    struct sirix_sequence items = {0};
    struct sirix_bytes database = store->options->database;
    enum sirix_status status = SIRIX_OK;

    if (sirix_call_has(call, 0)) {
        database = sirix_call_text(call, 0);
    }
    if (database.len == 0 || catalogue == NULL) {
        return sirix_query_fail(err, "FODC0002", "there is no default collection");
    }
    status = catalogue->resources(catalogue->context, database, visit_name, &names, &err->base);
    for (size_t i = 0; i < names.items.count && status == SIRIX_OK; i++) {
        struct sirix_store_resource *resource = NULL;
        struct sirix_store_view *view = NULL;
        struct sirix_item item = {0};

        status = sirix_query_store_resource(store, database, sirix_item_bytes(names.items.items[i]),
                                            &resource, err);
        if (status == SIRIX_OK) {
            status = sirix_query_store_asked(resource, store, &view, err);
        }
        if (status == SIRIX_NOT_FOUND && err->base.reason == SIRIX_REASON_REVISION_BEFORE_FIRST) {
            *err =
                (struct sirix_query_error){0}; /* Not there yet at the time that was asked for. */
            status = SIRIX_OK;
            continue;
        }
        if (status == SIRIX_OK) {
            status = sirix_store_root(call->work, view, &item, err);
        }
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sirix_sequence_append(call->work, &items, item, err);
        }
    }
    if (status == SIRIX_OK) {
        *out = items;
    }
    return status;
}

/* jn:exists-database($database), jn:exists-resource($database, $resource): detail tells which. */
static enum sirix_status exists(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    const struct sirix_query_catalogue *catalogue = sirix_call_store(call)->options->catalogue;
    const bool of_resource = call->function->detail != 0;
    struct names names = {
        .work = call->work, .err = err, .wanted = sirix_call_text(call, of_resource ? 1 : 0)};
    enum sirix_status status = SIRIX_OK;

    if (catalogue != NULL && of_resource) {
        status = catalogue->resources(catalogue->context, sirix_call_text(call, 0), visit_wanted,
                                      &names, &err->base);
    } else if (catalogue != NULL) {
        status = catalogue->databases(catalogue->context, visit_wanted, &names, &err->base);
    }
    if (status == SIRIX_NOT_FOUND) { /* The database. */
        *err = (struct sirix_query_error){0};
        status = SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_call_give(call, sirix_item_boolean(names.found), out, err)
                              : status;
}

/* --- Snapshots and branches --------------------------------------------------------------------------- */

/* sdb:snapshot and sdb:branch($database, $resource, $name): detail is what the name is of. */
static enum sirix_status labelled(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    const struct sirix_view_spec spec = {.by = (enum sirix_view_by)call->function->detail,
                                         .name = sirix_call_text(call, 2)};
    struct sirix_store_resource *resource = NULL;
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (spec.by == SIRIX_VIEW_BRANCH &&
        (spec.name.len == 0 ||
         sirix_bytes_equal(spec.name, (struct sirix_bytes){.data = "main", .len = 4}))) {
        return give_view(call, resource, NULL, out, err);
    }
    return give_view(call, resource, &spec, out, err);
}

static enum sirix_status visit_snapshot(void *context, const struct sirix_snapshot_info *info,
                                        bool *stop, struct sirix_error *err)
{
    *stop = false;
    (void)err;
    return add_name(context, info->name);
}

static enum sirix_status visit_branch(void *context, const struct sirix_branch_info *info,
                                      bool *stop, struct sirix_error *err)
{
    *stop = false;
    (void)err;
    return add_name(context, info->name);
}

/* sdb:snapshots and sdb:branches($database, $resource). */
static enum sirix_status labels(struct sirix_call *call, struct sirix_sequence *out,
                                struct sirix_query_error *err)
{
    struct names names = {.work = call->work, .err = err};
    struct sirix_store_resource *resource = NULL;
    const struct sirix_bytes first = {0};
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    if (status == SIRIX_OK && call->function->detail == SIRIX_VIEW_BRANCH) {
        status = sirix_branch_list(resource->place.resource, resource->place.reader, first,
                                   visit_branch, &names, &err->base);
    } else if (status == SIRIX_OK) {
        status = sirix_snapshot_list(resource->place.resource, resource->place.reader, first,
                                     visit_snapshot, &names, &err->base);
    }
    if (status == SIRIX_OK) {
        *out = names.items;
    }
    return status;
}

/* --- Named inputs --------------------------------------------------------------------------------------- */

static enum sirix_status input(struct sirix_call *call, struct sirix_bytes *out,
                               struct sirix_query_error *err)
{
    const struct sirix_query_options *options = sirix_call_store(call)->options;
    const struct sirix_bytes name = sirix_call_text(call, 0);

    for (size_t i = 0; i < options->input_count; i++) {
        if (sirix_bytes_equal(options->inputs[i].name, name)) {
            *out = options->inputs[i].text;
            return SIRIX_OK;
        }
    }
    return sirix_query_fail(err, "FODC0002", "there is no input \"%.*s\"",
                            (int)(name.len < 200 ? name.len : 200), (const char *)name.data);
}

/* The number of the first line that ends within a value; 0: each value has a line of its own. */
static size_t broken_line(struct sirix_bytes text)
{
    const char *chars = text.data;
    size_t depth = 0;
    size_t line = 1;
    bool in_string = false;

    for (size_t i = 0; i < text.len; i++) {
        if (in_string && chars[i] == '\\') {
            i++; /* Whatever it is, it does not end the string. */
        } else if (in_string) {
            in_string = chars[i] != '"';
        } else if (chars[i] == '"') {
            in_string = true;
        } else if (chars[i] == '{' || chars[i] == '[') {
            depth++;
        } else if (chars[i] == '}' || chars[i] == ']') {
            depth -= depth > 0 ? 1 : 0;
        } else if (chars[i] == '\n') {
            if (depth > 0) {
                return line;
            }
            line++;
        }
    }
    return 0;
}

/* json-lines($name), structured-json-lines($name): any number of values. */
static enum sirix_status json_lines(struct sirix_call *call, struct sirix_sequence *out,
                                    struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    enum sirix_status status = input(call, &text, err);
    size_t line = status == SIRIX_OK ? broken_line(text) : 0;

    if (line != 0) {
        return sirix_query_fail(err, "JNDY0021",
                                "line %zu ends within a value: a line holds a whole one", line);
    }
    return status == SIRIX_OK ? sirix_items_parse_json_lines(call->work, text, out, err) : status;
}

/* json-doc($name): one value. */
static enum sirix_status json_doc(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    struct sirix_bytes text = {0};
    struct sirix_item item = {0};
    enum sirix_status status = input(call, &text, err);

    if (status == SIRIX_OK) {
        status = sirix_item_parse_json(call->work, text, SIRIX_JSON_DOUBLES_LAST, &item, err);
    }
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

/* parallelize($items [, $partitions]): the items. */
static enum sirix_status identity(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err)
{
    (void)err;
    *out = call->arguments[0];
    return SIRIX_OK;
}

static const struct sirix_function rows[] = {
    SIRIX_ROW(JN, "parallelize", 1, 2, identity, NULL, 0, SIRIX_T(ITEM, MANY), SIRIX_T(ITEM, MANY),
              SIRIX_T(INTEGER, ONE)),
    SIRIX_ROW(JN, "doc", 2, 4, doc, NULL, 0, SIRIX_T(ITEM, OPTIONAL), SIRIX_T(STRING, ONE),
              SIRIX_T(STRING, ONE), SIRIX_T(INTEGER, OPTIONAL), SIRIX_T(BOOLEAN, OPTIONAL)),
    SIRIX_ROW(JN, "open", 2, 4, open_at, NULL, 0, SIRIX_T(ITEM, OPTIONAL), SIRIX_T(STRING, ONE),
              SIRIX_T(STRING, ONE), SIRIX_T(DATE_TIME, OPTIONAL), SIRIX_T(BOOLEAN, OPTIONAL)),
    SIRIX_ROW(JN, "open-revisions", 4, 4, open_revisions, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE), SIRIX_T(DATE_TIME, ONE),
              SIRIX_T(DATE_TIME, ONE)),
    SIRIX_ROW(JN, "collection", 0, 1, collection, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(STRING, OPTIONAL)),
    SIRIX_ROW(JN, "exists-database", 1, 1, exists, NULL, 0, SIRIX_T(BOOLEAN, ONE),
              SIRIX_T(STRING, ONE)),
    SIRIX_ROW(JN, "exists-resource", 2, 2, exists, NULL, 1, SIRIX_T(BOOLEAN, ONE),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE)),
    SIRIX_ROW(SDB, "snapshot", 3, 3, labelled, NULL, SIRIX_VIEW_SNAPSHOT, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE)),
    SIRIX_ROW(SDB, "branch", 3, 3, labelled, NULL, SIRIX_VIEW_BRANCH, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE)),
    SIRIX_ROW(SDB, "snapshots", 2, 2, labels, NULL, SIRIX_VIEW_SNAPSHOT, SIRIX_T(STRING, MANY),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE)),
    SIRIX_ROW(SDB, "branches", 2, 2, labels, NULL, SIRIX_VIEW_BRANCH, SIRIX_T(STRING, MANY),
              SIRIX_T(STRING, ONE), SIRIX_T(STRING, ONE)),
    SIRIX_ROW(JN, "json-lines", 1, 2, json_lines, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(STRING, ONE), SIRIX_T(INTEGER, OPTIONAL)),
    SIRIX_ROW(JN, "structured-json-lines", 1, 2, json_lines, NULL, 0, SIRIX_T(ITEM, MANY),
              SIRIX_T(STRING, ONE), SIRIX_T(INTEGER, OPTIONAL)),
    SIRIX_ROW(JN, "json-doc", 1, 1, json_doc, NULL, 0, SIRIX_T(ITEM, OPTIONAL),
              SIRIX_T(STRING, ONE)),
};
const struct sirix_function_table sirix_store_open_functions = {
    .functions = rows, .count = sizeof(rows) / sizeof(rows[0])};
