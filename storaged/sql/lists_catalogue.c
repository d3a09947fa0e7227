/* databases, resources, snapshots, branches, paths. */
#include <stdlib.h>
#include <string.h>

#include "service/catalogue.h"
#include "sql/list.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
    }
#define PLACE(title, text)                                                                         \
    {                                                                                              \
        .name = (title), .type = "text", .filter = true, .meaning = (text)                         \
    }
#define ARGUMENT(title, kind, text)                                                                \
    {                                                                                              \
        .name = (title), .type = (kind), .argument = true, .meaning = (text)                       \
    }

/* --- databases ------------------------------------------------------------------------------------ */

static enum sirix_status add_database(void *context, struct sirix_bytes database,
                                      struct sirix_bytes resource, bool *stop,
                                      struct sirix_error *err)
{
    const struct sirix_sql_value values[] = {sirix_sql_text_value(database)};

    (void)resource;
    (void)stop;
    return sirix_sql_list_add_copy(context, values, 1, err);
}

static enum sirix_status databases_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    scan->done = true;
    return sirix_sql_each_database(scan->session, add_database, scan, err);
}

const struct sirix_sql_list sirix_sql_list_databases = {
    .name = "databases",
    .meaning = "One row a database.",
    .form = "databases",
    .columns = {COLUMN("database", "text", "Its name.")},
    .page = databases_page,
};

/* --- resources ------------------------------------------------------------------------------------ */

static enum sirix_status add_resource(void *context, struct sirix_bytes database,
                                      struct sirix_bytes resource, bool *stop,
                                      struct sirix_error *err)
{
    struct sirix_sql_list_scan *scan = context;
    const struct sirix_bytes wanted = sirix_sql_list_given(scan, 1);
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;
    struct sirix_sql_value time = {0};

    (void)stop;
    if (wanted.len != 0 && !sirix_bytes_equal(wanted, resource)) {
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_sql_place_open(scan->session, database, resource, &place, err);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(scan->session, place, (struct sirix_bytes){0}, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_list_time(scan, view->view.record.time_us, &time, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    const struct sirix_sql_value values[] = {
        sirix_sql_text_value(place->database),
        sirix_sql_text_value(place->resource),
        sirix_sql_number_value(view->view.record.revision),
        time,
        sirix_sql_number_value(view->view.record.node_count),
        sirix_sql_number_value(view->view.record.text_bytes),
    };
    return sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err);
}

static enum sirix_status resources_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    scan->done = true;
    return sirix_sql_each_resource(scan->session, sirix_sql_list_given(scan, 0), add_resource, scan,
                                   err);
}

const struct sirix_sql_list sirix_sql_list_resources = {
    .name = "resources",
    .meaning = "One row a resource, at the newest revision of main.",
    .form = "resources",
    .columns = {PLACE("database", "Where it is."), PLACE("resource", "Its name."),
                COLUMN("revision", "integer", "The newest revision of branch main."),
                COLUMN("time", "text", "When that was committed, RFC 3339 in UTC."),
                COLUMN("node_count", "integer", "Values in it."),
                COLUMN("text_bytes", "integer", "Length of its JSON text.")},
    .page = resources_page,
};

/* --- snapshots and branches: resources in turn, and a page of names of each ------------------------ */

struct name_list {
    struct {
        char database[SIRIX_LABEL_NAME_BYTES];
        char resource[SIRIX_LABEL_NAME_BYTES];
    } * places;
    size_t count;
    size_t cap;
    size_t at;
};

struct gathering {
    struct name_list *names;
    struct sirix_bytes wanted;
};

static enum sirix_status gather_place(void *context, struct sirix_bytes database,
                                      struct sirix_bytes resource, bool *stop,
                                      struct sirix_error *err)
{
    enum { FIRST = 16 };
    const struct gathering *gathering = context;
    struct name_list *names = gathering->names;

    (void)stop;
    if (gathering->wanted.len != 0 && !sirix_bytes_equal(gathering->wanted, resource)) {
        return SIRIX_OK;
    }
    if (names->count == names->cap) {
        const size_t cap = names->cap == 0 ? FIRST : names->cap * 2;
        void *grown = sqlite3_realloc64(names->places, cap * sizeof(*names->places));

        if (grown == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a list");
        }
        names->places = grown;
        names->cap = cap;
    }
    sirix_label_name(names->places[names->count].database, database);
    sirix_label_name(names->places[names->count].resource, resource);
    names->count++;
    return SIRIX_OK;
}

static void end_places(struct sirix_sql_list_scan *scan)
{
    struct name_list *names = scan->state;

    if (names != NULL) {
        sqlite3_free(names->places);
        sqlite3_free(names);
        scan->state = NULL;
    }
}

/* The place and page to read next; *out_names NULL: none is left. */
static enum sirix_status next_place(struct sirix_sql_list_scan *scan, struct name_list **out_names,
                                    struct sirix_list_page *out_page, struct sirix_error *err)
{
    struct name_list *names = scan->state;

    if (names == NULL) {
        names = sqlite3_malloc64(sizeof(*names));
        if (names == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a list");
        }
        *names = (struct name_list){.at = 0};
        scan->state = names;
        struct gathering gathering = {.names = names, .wanted = sirix_sql_list_given(scan, 1)};
        enum sirix_status status = sirix_sql_each_resource(
            scan->session, sirix_sql_list_given(scan, 0), gather_place, &gathering, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    scan->done = names->at == names->count;
    *out_names = scan->done ? NULL : names;
    if (!scan->done) {
        *out_page = (struct sirix_list_page){
            .database = {.data = names->places[names->at].database,
                         .len = strlen(names->places[names->at].database)},
            .resource = {.data = names->places[names->at].resource,
                         .len = strlen(names->places[names->at].resource)},
            .page_size = SIRIX_SERVICE_PAGE_MAX,
            .cursor = sirix_buf_view(&scan->cursor),
        };
    }
    return SIRIX_OK;
}

/* Remembers where the next page of a place begins, or goes to the next place. */
static enum sirix_status after_page(struct sirix_sql_list_scan *scan, struct name_list *names,
                                    bool more, const char *last, struct sirix_error *err)
{
    sirix_buf_clear(&scan->cursor);
    if (more) {
        return sirix_buf_append_str(&scan->cursor, last, err);
    }
    names->at++;
    return SIRIX_OK;
}

static enum sirix_status snapshots_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_snapshot_item *items = NULL;
    struct name_list *names = NULL;
    struct sirix_list_page page;
    size_t count = 0;
    bool more = false;

    enum sirix_status status = next_place(scan, &names, &page, err);
    if (status != SIRIX_OK || names == NULL) {
        return status;
    }
    status = sirix_service_list_snapshots(&scan->session->request, &page, &scan->arena, &items,
                                          &count, &more, err);
    if (status == SIRIX_NOT_FOUND) {
        return after_page(scan, names, false, "", err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_sql_value time = {0};
        struct sirix_sql_value created = {0};

        status = sirix_sql_list_time(scan, items[i].time_us, &time, err);
        if (status == SIRIX_OK) {
            status = sirix_sql_list_time(scan, items[i].created_us, &created, err);
        }
        const struct sirix_sql_value values[] = {
            sirix_sql_text_value(page.database),
            sirix_sql_text_value(page.resource),
            sirix_sql_str_value(items[i].name),
            sirix_sql_number_value(items[i].revision),
            time,
            created,
        };
        if (status == SIRIX_OK) {
            status = sirix_sql_list_add_copy(scan, values, sizeof(values) / sizeof(values[0]), err);
        }
    }
    return status == SIRIX_OK
               ? after_page(scan, names, more, count == 0 ? "" : items[count - 1].name, err)
               : status;
}

const struct sirix_sql_list sirix_sql_list_snapshots = {
    .name = "snapshots",
    .meaning = "One row a snapshot: a name for a revision.",
    .form = "snapshots",
    .columns = {PLACE("database", "Where it is."), PLACE("resource", "What it is of."),
                COLUMN("snapshot", "text", "Its name."),
                COLUMN("revision", "integer", "The revision that it names."),
                COLUMN("time", "text", "When that was committed."),
                COLUMN("created", "text", "When the name was given.")},
    .page = snapshots_page,
    .end = end_places,
};

static enum sirix_status branches_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    struct sirix_branch_item *items = NULL;
    struct name_list *names = NULL;
    struct sirix_list_page page;
    size_t count = 0;
    bool more = false;

    enum sirix_status status = next_place(scan, &names, &page, err);
    if (status != SIRIX_OK || names == NULL) {
        return status;
    }
    status = sirix_service_list_branches(&scan->session->request, &page, &scan->arena, &items,
                                         &count, &more, err);
    if (status == SIRIX_NOT_FOUND) {
        return after_page(scan, names, false, "", err);
    }
    for (size_t i = 0; i < count && status == SIRIX_OK; i++) {
        struct sirix_sql_value times[3] = {0};
        const int64_t given[] = {items[i].time_us, items[i].created_us, items[i].expires_us};

        for (size_t t = 0; t < 3 && status == SIRIX_OK; t++) {
            status = sirix_sql_list_time(scan, given[t], &times[t], err);
        }
        const struct sirix_sql_value values[] = {
            sirix_sql_text_value(page.database),
            sirix_sql_text_value(page.resource),
            sirix_sql_str_value(items[i].name),
            sirix_sql_number_value(items[i].revision),
            times[0],
            sirix_sql_number_value(items[i].base_revision),
            times[1],
            times[2],
        };
        if (status == SIRIX_OK) {
            status = sirix_sql_list_add_copy(scan, values, sizeof(values) / sizeof(values[0]), err);
        }
    }
    return status == SIRIX_OK
               ? after_page(scan, names, more, count == 0 ? "" : items[count - 1].name, err)
               : status;
}

const struct sirix_sql_list sirix_sql_list_branches = {
    .name = "branches",
    .meaning = "One row a branch.",
    .form = "branches",
    .columns = {PLACE("database", "Where it is."), PLACE("resource", "What it is of."),
                COLUMN("branch", "text", "Its name."),
                COLUMN("revision", "integer", "Its newest revision."),
                COLUMN("time", "text", "When that was committed."),
                COLUMN("base_revision", "integer", "Where it began."),
                COLUMN("created", "text", "When it was made."),
                COLUMN("expires", "text", "When it goes by itself; NULL: never.")},
    .page = branches_page,
    .end = end_places,
};

/* --- paths ---------------------------------------------------------------------------------------- */

static enum sirix_status kinds_text(struct sirix_sql_list_scan *scan, uint32_t kinds,
                                    struct sirix_sql_value *out, struct sirix_error *err)
{
    static const char *const names[] = {
        [SIRIX_VALUE_OBJECT] = "object",   [SIRIX_VALUE_ARRAY] = "array",
        [SIRIX_VALUE_STRING] = "string",   [SIRIX_VALUE_NUMBER] = "number",
        [SIRIX_VALUE_BOOLEAN] = "boolean", [SIRIX_VALUE_NULL] = "null",
    };
    enum { KINDS_BYTES_MAX = 64 };
    struct sirix_buf text = {.max = KINDS_BYTES_MAX};
    enum sirix_status status = SIRIX_OK;

    for (unsigned i = SIRIX_VALUE_OBJECT; i <= SIRIX_VALUE_NULL && status == SIRIX_OK; i++) {
        if ((kinds & (1U << i)) != 0) {
            status = sirix_buf_printf(&text, err, "%s%s", text.len == 0 ? "" : ",", names[i]);
        }
    }
    out->kind = SIRIX_SQL_TEXT;
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&scan->arena, sirix_buf_view(&text), &out->bytes, err);
    }
    sirix_buf_deinit(&text);
    return status;
}

static enum sirix_status paths_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    const struct sirix_paths *paths = NULL;
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;
    struct sirix_path_page page = {0};
    struct sirix_bytes database = {0};

    enum sirix_status status =
        sirix_sql_default_database(scan->session, sirix_sql_list_given(scan, 2), &database, err);
    if (status == SIRIX_OK) {
        status = sirix_sql_place_open(scan->session, database, sirix_sql_list_given(scan, 3),
                                      &place, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_open(scan->session, place, (struct sirix_bytes){0}, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_paths(scan->session, view, &paths, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_paths_page(paths, sirix_buf_view(&scan->cursor), &scan->arena, &page, err);
    }
    for (size_t i = 0; i < page.count && status == SIRIX_OK; i++) {
        struct sirix_sql_value values[2] = {sirix_sql_text_value(page.entries[i].path)};

        status = kinds_text(scan, page.entries[i].kinds, &values[1], err);
        if (status == SIRIX_OK) {
            status = sirix_sql_list_add(scan, values, 2, err);
        }
    }
    sirix_buf_clear(&scan->cursor);
    scan->done = page.next_cursor.len == 0;
    return status == SIRIX_OK ? sirix_buf_append_bytes(&scan->cursor, page.next_cursor, err)
                              : status;
}

const struct sirix_sql_list sirix_sql_list_paths = {
    .name = "paths",
    .meaning = "One row a path that occurs in a resource, in any of its revisions.",
    .form = "paths('database', 'resource')",
    .columns = {COLUMN("path", "text", "Such as /users/[]/name."),
                COLUMN("kinds", "text", "Kinds of values seen there, with commas."),
                ARGUMENT("database", "text", "Argument 1."),
                ARGUMENT("resource", "text", "Argument 2.")},
    .required = 2,
    .page = paths_page,
};
