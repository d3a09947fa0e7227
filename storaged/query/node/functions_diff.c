/*
 * jn:diff: what changed between two revisions, as an object in SirixDB's form:
 *
 *     {"database": .., "resource": .., "old-revision": .., "new-revision": .., "diffs": [
 *         {"insert": {"nodeKey", "insertPositionNodeKey", "insertPosition", "path", "type", "data"}},
 *         {"delete": {"nodeKey", "path"}},
 *         {"replace": {"oldNodeKey", "newNodeKey", "path", "type", "data"}},
 *         {"update": {"nodeKey", "path", "name"}} or {"update": {"nodeKey", "path", "type", "value"}}]}
 *
 * An element that stands elsewhere is a delete and an insert. A structured value is in data as a JSON
 * text in a string; scalars are themselves.
 */
#include <inttypes.h>

#include "query/node/functions.h"
#include "query/value/json.h"
#include "store/document/diff.h"
#include "json/text.h"

enum { VALUE_BYTES_MAX = 64 * 1024 * 1024 };

struct making {
    struct sirix_call *call;
    struct sirix_diff *diff;
    struct sirix_buf out;
    struct sirix_buf text;
    bool first;
};

static enum sirix_status pause(void *context, struct sirix_error *err)
{
    struct sirix_query_error own = {0};
    enum sirix_status status =
        sirix_work_tick(((struct making *)context)->call->work, SIRIX_DIFF_PAUSE_STEPS, &own);

    if (status != SIRIX_OK) {
        *err = own.base;
    }
    return status;
}

static const char *type_name(enum sirix_node_kind kind)
{
    switch (kind) {
    case SIRIX_NODE_STRING:
        return "string";
    case SIRIX_NODE_INTEGER:
    case SIRIX_NODE_NUMBER:
        return "number";
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_FALSE:
        return "boolean";
    case SIRIX_NODE_NULL:
        return "null";
    default:
        return "jsonFragment";
    }
}

static enum sirix_status put(struct making *making, const char *text, struct sirix_query_error *err)
{
    return sirix_buf_append_str(&making->out, text, &err->base);
}

/* What is in text, as a string of JSON. */
static enum sirix_status put_text(struct making *making, struct sirix_query_error *err)
{
    enum sirix_status status = put(making, "\"", err);

    if (status == SIRIX_OK) {
        status = sirix_json_text_escape(&making->out, sirix_buf_view(&making->text), &err->base);
    }
    return status == SIRIX_OK ? put(making, "\"", err) : status;
}

static enum sirix_status put_path(struct making *making, const struct sirix_change *change,
                                  enum sirix_diff_side side, struct sirix_query_error *err)
{
    enum sirix_status status = put(making, ",\"path\":", err);

    sirix_buf_clear(&making->text);
    if (status == SIRIX_OK) {
        status = sirix_diff_path(making->diff, change, side, SIRIX_PATH_SIRIX, &making->text,
                                 &err->base);
    }
    return status == SIRIX_OK ? put_text(making, err) : status;
}

static enum sirix_status put_value(struct making *making, const struct sirix_change *change,
                                   const char *name, struct sirix_query_error *err)
{
    const enum sirix_node_kind kind = change->after.kind;
    bool cut = false;
    enum sirix_status status = sirix_buf_printf(&making->out, &err->base,
                                                ",\"type\":\"%s\",\"%s\":", type_name(kind), name);

    sirix_buf_clear(&making->text);
    if (status == SIRIX_OK) {
        status = sirix_diff_value(making->diff, change, SIRIX_DIFF_AFTER, VALUE_BYTES_MAX,
                                  &making->text, &cut, &err->base);
    }
    if (status == SIRIX_OK && cut) {
        return sirix_query_fail_limit(err, "value_bytes", "a value in the diff is too long");
    }
    if (status == SIRIX_OK && sirix_node_is_container(kind)) {
        return put_text(making, err);
    }
    return status == SIRIX_OK
               ? sirix_buf_append_bytes(&making->out, sirix_buf_view(&making->text), &err->base)
               : status;
}

static enum sirix_status begin(struct making *making, const char *kind, const char *key_name,
                               uint64_t key, struct sirix_query_error *err)
{
    enum sirix_status status =
        sirix_buf_printf(&making->out, &err->base, "%s{\"%s\":{\"%s\":%" PRIu64,
                         making->first ? "" : ",", kind, key_name, key);

    making->first = false;
    return status;
}

static enum sirix_status put_insert(struct making *making, const struct sirix_change *change,
                                    struct sirix_query_error *err)
{
    const struct sirix_change_side *after = &change->after;
    enum sirix_status status = begin(making, "insert", "nodeKey", after->key, err);

    if (status == SIRIX_OK) {
        status =
            sirix_buf_printf(&making->out, &err->base,
                             ",\"insertPositionNodeKey\":%" PRIu64 ",\"insertPosition\":\"%s\"",
                             after->left != 0 ? after->left : after->parent,
                             after->left != 0 ? "asRightSibling" : "asFirstChild");
    }
    if (status == SIRIX_OK) {
        status = put_path(making, change, SIRIX_DIFF_AFTER, err);
    }
    if (status == SIRIX_OK) {
        status = put_value(making, change, "data", err);
    }
    return status == SIRIX_OK ? put(making, "}}", err) : status;
}

static enum sirix_status put_delete(struct making *making, const struct sirix_change *change,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = begin(making, "delete", "nodeKey", change->before.key, err);

    if (status == SIRIX_OK) {
        status = put_path(making, change, SIRIX_DIFF_BEFORE, err);
    }
    return status == SIRIX_OK ? put(making, "}}", err) : status;
}

static enum sirix_status put_replace(struct making *making, const struct sirix_change *change,
                                     struct sirix_query_error *err)
{
    enum sirix_status status = begin(making, "replace", "oldNodeKey", change->before.key, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_printf(&making->out, &err->base, ",\"newNodeKey\":%" PRIu64,
                                  change->after.key);
    }
    if (status == SIRIX_OK) {
        status = put_path(making, change, SIRIX_DIFF_AFTER, err);
    }
    if (status == SIRIX_OK) {
        status = put_value(making, change, "data", err);
    }
    return status == SIRIX_OK ? put(making, "}}", err) : status;
}

static enum sirix_status put_update(struct making *making, const struct sirix_change *change,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = begin(making, "update", "nodeKey", change->after.key, err);

    if (status == SIRIX_OK) {
        status = put_path(making, change, SIRIX_DIFF_AFTER, err);
    }
    if (status == SIRIX_OK && change->kind == SIRIX_CHANGE_UPDATE) {
        status = put_value(making, change, "value", err);
    } else if (status == SIRIX_OK) {
        status = put(making, ",\"name\":\"", err);
        if (status == SIRIX_OK) { /* It is stored as JSON has it. */
            status =
                sirix_diff_name(making->diff, change, SIRIX_DIFF_AFTER, &making->out, &err->base);
        }
        status = status == SIRIX_OK ? put(making, "\"", err) : status;
    }
    return status == SIRIX_OK ? put(making, "}}", err) : status;
}

static enum sirix_status put_change(struct making *making, const struct sirix_change *change,
                                    struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    switch (change->kind) {
    case SIRIX_CHANGE_INSERT:
        return put_insert(making, change, err);
    case SIRIX_CHANGE_DELETE:
        return put_delete(making, change, err);
    case SIRIX_CHANGE_REPLACE:
        return put_replace(making, change, err);
    case SIRIX_CHANGE_MOVE:
        status = put_delete(making, change, err);
        return status == SIRIX_OK ? put_insert(making, change, err) : status;
    default:
        return put_update(making, change, err);
    }
}

static enum sirix_status put_head(struct making *making,
                                  const struct sirix_store_resource *resource,
                                  uint64_t old_revision, uint64_t new_revision,
                                  struct sirix_query_error *err)
{
    /* Names of databases and resources are letters, digits and a few signs: no escapes. */
    return sirix_buf_printf(&making->out, &err->base,
                            "{\"database\":\"%s\",\"resource\":\"%s\",\"old-revision\":%" PRIu64
                            ",\"new-revision\":%" PRIu64 ",\"diffs\":[",
                            resource->database, resource->name, old_revision, new_revision);
}

static enum sirix_status open_side(struct sirix_call *call, struct sirix_store_resource *resource,
                                   size_t argument, struct sirix_store_view **out,
                                   struct sirix_query_error *err)
{
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION};
    enum sirix_status status = sirix_call_number(call, argument, 1, &spec.revision, err);

    return status == SIRIX_OK
               ? sirix_query_store_view(resource, sirix_call_store(call), &spec, out, err)
               : status;
}

static enum sirix_status make(struct making *making, const struct sirix_diff_options *options,
                              struct sirix_item *out, struct sirix_query_error *err)
{
    enum sirix_status status = sirix_diff_new(options, &making->diff, &err->base);

    while (status == SIRIX_OK) {
        struct sirix_change change;

        status = sirix_diff_next(making->diff, &change, &err->base);
        if (status == SIRIX_OK) {
            status = put_change(making, &change, err);
        }
    }
    if (status == SIRIX_NOT_FOUND && err->base.reason == SIRIX_REASON_NONE) {
        status = put(making, "]}", err);
        if (status == SIRIX_OK) {
            status = sirix_item_parse_json(making->call->work, sirix_buf_view(&making->out),
                                           SIRIX_JSON_DOUBLES_LAST, out, err);
        }
    }
    sirix_diff_free(making->diff);
    return status;
}

/* jn:diff($database, $resource, $old, $new [, $startNodeKey [, $maxLevel]]) */
static enum sirix_status diff(struct sirix_call *call, struct sirix_sequence *out,
                              struct sirix_query_error *err)
{
    struct sirix_store_resource *resource = NULL;
    struct sirix_store_view *old_view = NULL;
    struct sirix_store_view *new_view = NULL;
    struct making making = {.call = call, .first = true};
    struct sirix_diff_options options = {.pause = pause, .pause_context = &making};
    struct sirix_item item = {0};
    uint64_t depth = 0;
    enum sirix_status status = sirix_call_resource(call, &resource, err);

    sirix_buf_init(&making.out, SIRIX_ITEM_STRING_BYTES_MAX);
    sirix_buf_init(&making.text, VALUE_BYTES_MAX);
    if (status == SIRIX_OK) {
        status = open_side(call, resource, 2, &old_view, err);
    }
    if (status == SIRIX_OK) {
        status = open_side(call, resource, 3, &new_view, err);
    }
    if (status == SIRIX_OK && sirix_call_has(call, 4)) {
        status = sirix_call_number(call, 4, 0, &options.start, err);
    }
    if (status == SIRIX_OK && sirix_call_has(call, 5)) {
        status = sirix_call_number(call, 5, 0, &depth, err);
    }
    if (status == SIRIX_OK) {
        options.depth_max = depth > UINT32_MAX ? 0 : (uint32_t)depth;
        options.old_view = &old_view->view;
        options.new_view = &new_view->view;
        options.reader = resource->place.reader;
        status = put_head(&making, resource, old_view->view.record.revision,
                          new_view->view.record.revision, err);
    }
    if (status == SIRIX_OK) {
        status = make(&making, &options, &item, err);
    }
    sirix_buf_deinit(&making.out);
    sirix_buf_deinit(&making.text);
    return status == SIRIX_OK ? sirix_call_give(call, item, out, err) : status;
}

static const struct sirix_function rows[] = {
    SIRIX_ROW(JN, "diff", 4, 6, diff, NULL, 0, SIRIX_T(OBJECT, ONE), SIRIX_T(STRING, ONE),
              SIRIX_T(STRING, ONE), SIRIX_T(INTEGER, ONE), SIRIX_T(INTEGER, ONE),
              SIRIX_T(INTEGER, OPTIONAL)),
};
const struct sirix_function_table sirix_store_diff_functions = {
    .functions = rows, .count = sizeof(rows) / sizeof(rows[0])};
