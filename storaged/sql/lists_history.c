/* revisions, changes, history: what happened to one resource. */
#include <string.h>

#include "service/diff.h"
#include "service/history.h"
#include "sql/list.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
    }
#define COUNT(title, text)                                                                         \
    {                                                                                              \
        .name = (title), .type = "integer", .costly = true, .meaning = (text)                      \
    }
#define ARGUMENT(title, kind, text)                                                                \
    {                                                                                              \
        .name = (title), .type = (kind), .argument = true, .meaning = (text)                       \
    }

enum { PAGE_REVISIONS = 500, VALUE_BYTES = 64 * 1024 };

/* The place that two arguments name. What is not seen is not there. */
static enum sirix_status place_of(struct sirix_sql_list_scan *scan, size_t first,
                                  struct sirix_bytes *out_database,
                                  struct sirix_bytes *out_resource, struct sirix_error *err)
{
    struct sirix_sql_place *place = NULL;
    enum sirix_status status = sirix_sql_default_database(
        scan->session, sirix_sql_list_given(scan, first), out_database, err);

    if (status == SIRIX_OK) {
        status = sirix_sql_place_open(scan->session, *out_database,
                                      sirix_sql_list_given(scan, first + 1), &place, err);
    }
    if (status == SIRIX_OK) {
        *out_database = place->database;
        *out_resource = place->resource;
    }
    return status;
}

/* The revision that the statement sees as the newest. */
static enum sirix_status newest_of(struct sirix_sql_list_scan *scan, struct sirix_bytes database,
                                   struct sirix_bytes resource, uint64_t *out_revision,
                                   struct sirix_error *err)
{
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;
    enum sirix_status status = sirix_sql_place_open(scan->session, database, resource, &place, err);

    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(scan->session, place, (struct sirix_bytes){0}, &view, err);
    }
    if (status == SIRIX_OK) {
        *out_revision = view->view.record.revision;
    }
    return status;
}

static enum sirix_status keep_cursor(struct sirix_sql_list_scan *scan, struct sirix_bytes cursor,
                                     struct sirix_error *err)
{
    sirix_buf_clear(&scan->cursor);
    scan->done = cursor.len == 0;
    return sirix_buf_append_bytes(&scan->cursor, cursor, err);
}

enum { REVISIONS_COUNTS = 9, REVISIONS_DATABASE = 15, REVISIONS_BRANCH = 17 };

/* --- revisions ------------------------------------------------------------------------------------ */

/* Counts of what a revision changed, in the order of the columns. */
enum { COUNTS = 6 };
static const enum sirix_change_kind counted[COUNTS] = {
    SIRIX_CHANGE_INSERT,  SIRIX_CHANGE_DELETE, SIRIX_CHANGE_UPDATE,
    SIRIX_CHANGE_REPLACE, SIRIX_CHANGE_RENAME, SIRIX_CHANGE_MOVE,
};

/* By comparing it with its parent; the first one has none, and nothing to be told. */
static enum sirix_status count_changes(struct sirix_sql_list_scan *scan, uint64_t revision,
                                       struct sirix_sql_value out[COUNTS], struct sirix_error *err)
{
    struct sirix_diff_request wanted = {
        .to = {.which = SIRIX_VIEW_WHICH_REVISION, .revision = revision},
        .max_changes = 1,
        .max_value_bytes = SIRIX_READ_VALUE_MIN,
    };
    const struct sirix_diff_item *items = NULL;
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_ends ends;
    bool truncated = false;
    size_t count = 1;
    enum sirix_status status =
        place_of(scan, REVISIONS_DATABASE, &wanted.database, &wanted.resource, err);

    if (status == SIRIX_OK) {
        status = sirix_diff_stream_open(&scan->session->request, &wanted, &stream, &ends, err);
    }
    while (status == SIRIX_OK && count != 0) {
        status = sirix_diff_stream_changes(stream, &items, &count, err);
        if (status == SIRIX_OK) {
            status = sirix_sql_check(scan->session, err);
        }
    }
    if (status == SIRIX_OK) {
        const struct sirix_diff_counts counts = sirix_diff_stream_counts(stream, &truncated);

        for (size_t i = 0; i < COUNTS; i++) {
            out[i] = sirix_sql_number_value(counts.of[counted[i]]);
        }
    }
    sirix_diff_stream_close(stream);
    return status;
}

static enum sirix_status add_revision(struct sirix_sql_list_scan *scan,
                                      const struct sirix_revision_info *info,
                                      struct sirix_error *err)
{
    struct sirix_sql_value time = {0};
    enum sirix_status status = sirix_sql_list_time(scan, info->time_us, &time, err);
    const struct sirix_sql_value none = {.kind = SIRIX_SQL_NULL};
    struct sirix_sql_value values[REVISIONS_COUNTS + COUNTS] = {
        sirix_sql_number_value(info->revision),
        info->parent_revision == 0 ? none : sirix_sql_number_value(info->parent_revision),
        sirix_sql_text_value(info->branch),
        time,
        sirix_sql_text_value(info->author),
        info->on_behalf_of.len == 0 ? none : sirix_sql_text_value(info->on_behalf_of),
        sirix_sql_text_value(info->message),
        info->reverted_to == 0 ? none : sirix_sql_number_value(info->reverted_to),
        sirix_sql_number_value(info->node_count),
    };

    if (status == SIRIX_OK && scan->is_costly && info->parent_revision != 0) {
        status = count_changes(scan, info->revision, &values[REVISIONS_COUNTS], err);
    }
    return status == SIRIX_OK
               ? sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err)
               : status;
}

static enum sirix_status revisions_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_history_request wanted = {.page_size = PAGE_REVISIONS,
                                           .cursor = sirix_buf_view(&scan->cursor)};
    struct sirix_history history = {0};

    enum sirix_status status =
        place_of(scan, REVISIONS_DATABASE, &wanted.database, &wanted.resource, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_sql_list_given(scan, REVISIONS_BRANCH).len != 0) {
        wanted.view = sirix_sql_view_request(sirix_sql_list_given(scan, REVISIONS_BRANCH), true);
    } else {
        wanted.view.which = SIRIX_VIEW_WHICH_REVISION;
        status = newest_of(scan, wanted.database, wanted.resource, &wanted.view.revision, err);
    }
    if (status == SIRIX_OK) {
        status =
            sirix_service_history(&scan->session->request, &wanted, &scan->arena, &history, err);
    }
    for (size_t i = 0; i < history.count && status == SIRIX_OK; i++) {
        status = add_revision(scan, &history.revisions[i], err);
    }
    return status == SIRIX_OK ? keep_cursor(scan, history.next_cursor, err) : status;
}

const struct sirix_sql_list sirix_sql_list_revisions = {
    .name = "revisions",
    .meaning = "One row a revision of a resource: main's, or those behind another branch; newest "
               "first.",
    .form = "revisions('database', 'resource'[, 'branch'])",
    .columns = {COLUMN("revision", "integer", "Its number."),
                COLUMN("parent", "integer", "The revision before it; NULL: it is the first."),
                COLUMN("branch", "text", "The branch that it was committed on."),
                COLUMN("time", "text", "When, RFC 3339 in UTC."),
                COLUMN("author", "text", "Who committed it."),
                COLUMN("on_behalf_of", "text", "For whom, as the author said."),
                COLUMN("message", "text", "What the author said about it."),
                COLUMN("reverted_to", "integer", "The revision whose content it brought back."),
                COLUMN("node_count", "integer", "Values in it."),
                COUNT("inserts", "Nodes that it inserted; NULL: it is the first."),
                COUNT("deletes", "Nodes that it deleted."),
                COUNT("updates", "Values that it changed."),
                COUNT("replaces", "Values that it gave another kind."),
                COUNT("renames", "Members that it renamed."),
                COUNT("moves", "Nodes that it moved."), ARGUMENT("database", "text", "Argument 1."),
                ARGUMENT("resource", "text", "Argument 2."),
                ARGUMENT("from_branch", "text", "Argument 3, may be left out.")},
    .required = 2,
    .page = revisions_page,
};

/* --- changes -------------------------------------------------------------------------------------- */

enum { CHANGES_DATABASE = 7, CHANGES_FROM = 9, CHANGES_TO = 10 };

static enum sirix_status view_argument(struct sirix_sql_list_scan *scan, size_t column,
                                       const struct sirix_sql_place *place,
                                       struct sirix_view_request *out, struct sirix_error *err)
{
    const struct sirix_sql_value *given = &scan->given[column];
    struct sirix_sql_place *open = NULL;
    struct sirix_sql_view *view = NULL;
    struct sirix_bytes spec = given->bytes;
    char *text = NULL;
    enum sirix_status status = SIRIX_OK;

    if (given->kind != SIRIX_SQL_INTEGER && (given->kind != SIRIX_SQL_TEXT || spec.len == 0)) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "a revision is a number, or the name of a snapshot or branch, or "
                                 "a time, as text that is not empty");
    }
    if (given->kind == SIRIX_SQL_INTEGER) {
        status = sirix_arena_printf(&scan->session->arena, &text, err, "%lld",
                                    (long long)given->integer);
        spec = (struct sirix_bytes){.data = text, .len = text == NULL ? 0 : strlen(text)};
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_place_open(scan->session, place->database, place->resource, &open, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(scan->session, open, spec, &view, err);
    }
    if (status == SIRIX_OK) {
        *out = (struct sirix_view_request){.which = SIRIX_VIEW_WHICH_REVISION,
                                           .revision = view->view.record.revision};
    }
    return status;
}

static enum sirix_status open_changes(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_diff_request wanted = {.has_from = true, .max_value_bytes = VALUE_BYTES};
    struct sirix_diff_stream *stream = NULL;
    struct sirix_diff_ends ends;
    struct sirix_sql_place place = {0};

    enum sirix_status status =
        place_of(scan, CHANGES_DATABASE, &place.database, &place.resource, err);
    if (status == SIRIX_OK) {
        status = view_argument(scan, CHANGES_FROM, &place, &wanted.from, err);
    }
    if (status == SIRIX_OK) {
        status = view_argument(scan, CHANGES_TO, &place, &wanted.to, err);
    }
    wanted.database = place.database;
    wanted.resource = place.resource;
    if (status == SIRIX_OK) {
        status = sirix_diff_stream_open(&scan->session->request, &wanted, &stream, &ends, err);
    }
    scan->state = stream;
    return status;
}

static void end_changes(struct sirix_sql_list_scan *scan)
{
    sirix_diff_stream_close(scan->state);
    scan->state = NULL;
}

static const char *change_name(enum sirix_change_kind kind)
{
    static const char *const names[] = {
        [SIRIX_CHANGE_INSERT] = "insert", [SIRIX_CHANGE_DELETE] = "delete",
        [SIRIX_CHANGE_UPDATE] = "update", [SIRIX_CHANGE_REPLACE] = "replace",
        [SIRIX_CHANGE_RENAME] = "rename", [SIRIX_CHANGE_MOVE] = "move",
    };

    return names[kind];
}

static enum sirix_status changes_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    const struct sirix_diff_item *items = NULL;
    const struct sirix_sql_value none = {.kind = SIRIX_SQL_NULL};
    size_t count = 0;

    enum sirix_status status = scan->state == NULL ? open_changes(scan, err) : SIRIX_OK;
    if (status == SIRIX_OK) {
        status = sirix_diff_stream_changes(scan->state, &items, &count, err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        const struct sirix_change *change = &items[i].change;
        const struct sirix_change_side *shown =
            change->kind == SIRIX_CHANGE_DELETE ? &change->before : &change->after;
        const struct sirix_sql_value values[] = {
            sirix_sql_str_value(change_name(change->kind)),
            sirix_sql_number_value(shown->key),
            sirix_sql_text_value(items[i].path),
            change->before.key == 0 ? none : sirix_sql_text_value(items[i].old_value),
            change->after.key == 0 ? none : sirix_sql_text_value(items[i].new_value),
            items[i].old_name.len == 0 ? none : sirix_sql_text_value(items[i].old_name),
            items[i].new_name.len == 0 ? none : sirix_sql_text_value(items[i].new_name),
        };

        status = sirix_sql_list_add_copy(scan, values, sizeof(values) / sizeof(values[0]), err);
    }
    scan->done = count == 0;
    return status;
}

const struct sirix_sql_list sirix_sql_list_changes = {
    .name = "changes",
    .meaning = "One row a change between two revisions.",
    .form = "changes('database', 'resource', from, to)",
    .columns = {COLUMN("change", "text", "insert, delete, update, replace, rename or move."),
                COLUMN("node_key", "integer", "The node."),
                COLUMN("path", "text", "Where it is, or was."),
                COLUMN("old_value", "json", "Its value before, the first 64 KiB."),
                COLUMN("new_value", "json", "Its value after, the first 64 KiB."),
                COLUMN("old_name", "text", "Its name before, if it is a member."),
                COLUMN("new_name", "text", "Its name after."),
                ARGUMENT("database", "text", "Argument 1."),
                ARGUMENT("resource", "text", "Argument 2."),
                ARGUMENT("from", "any", "Argument 3: a revision, snapshot, branch or time."),
                ARGUMENT("to", "any", "Argument 4, the same.")},
    .required = 4,
    .page = changes_page,
    .end = end_changes,
};

/* --- history -------------------------------------------------------------------------------------- */

enum { HISTORY_DATABASE = 5, HISTORY_KEY = 7 };

static const char *node_change_name(enum sirix_node_change change)
{
    static const char *const names[] = {
        [SIRIX_NODE_CHANGE_NONE] = NULL,         [SIRIX_NODE_CHANGE_INSERT] = "insert",
        [SIRIX_NODE_CHANGE_DELETE] = "delete",   [SIRIX_NODE_CHANGE_UPDATE] = "update",
        [SIRIX_NODE_CHANGE_REPLACE] = "replace", [SIRIX_NODE_CHANGE_RENAME] = "rename",
        [SIRIX_NODE_CHANGE_MOVE] = "move",
    };

    return names[change];
}

static enum sirix_status history_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_node_history_request wanted = {
        .page = {.page_size = PAGE_REVISIONS,
                 .cursor = sirix_buf_view(&scan->cursor),
                 .view = {.which = SIRIX_VIEW_WHICH_REVISION}},
        .max_value_bytes = VALUE_BYTES,
    };
    struct sirix_node_history history = {0};
    const struct sirix_sql_value *key = &scan->given[HISTORY_KEY];

    if (key->kind != SIRIX_SQL_INTEGER || key->integer < 0) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "node_key of history is a whole number");
    }
    wanted.node_key = (uint64_t)key->integer;
    enum sirix_status status =
        place_of(scan, HISTORY_DATABASE, &wanted.page.database, &wanted.page.resource, err);
    if (status == SIRIX_OK) {
        status = newest_of(scan, wanted.page.database, wanted.page.resource,
                           &wanted.page.view.revision, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_service_node_history(&scan->session->request, &wanted, &scan->arena,
                                            &history, err);
    }
    for (size_t i = 0; i < history.count && status == SIRIX_OK; i++) {
        const struct sirix_node_history_entry *entry = &history.entries[i];
        struct sirix_sql_value values[] = {
            sirix_sql_number_value(entry->revision.revision),
            sirix_sql_str_value(node_change_name(entry->change)),
            entry->change == SIRIX_NODE_CHANGE_DELETE
                ? (struct sirix_sql_value){.kind = SIRIX_SQL_NULL}
                : sirix_sql_text_value(entry->value),
            {0},
            sirix_sql_text_value(entry->revision.author),
        };

        status = sirix_sql_list_time(scan, entry->revision.time_us, &values[3], err);
        if (status == SIRIX_OK) {
            status = sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err);
        }
    }
    return status == SIRIX_OK ? keep_cursor(scan, history.next_cursor, err) : status;
}

const struct sirix_sql_list sirix_sql_list_history = {
    .name = "history",
    .meaning = "One row a revision in which one node changed, newest first.",
    .form = "history('database', 'resource', node_key)",
    .columns = {COLUMN("revision", "integer", "The revision."),
                COLUMN("change", "text", "What it did to the node."),
                COLUMN("value", "json", "The node's value in it, the first 64 KiB."),
                COLUMN("time", "text", "When it was committed."),
                COLUMN("author", "text", "By whom."), ARGUMENT("database", "text", "Argument 1."),
                ARGUMENT("resource", "text", "Argument 2."),
                ARGUMENT("node_key", "integer", "Argument 3.")},
    .required = 3,
    .page = history_page,
};
