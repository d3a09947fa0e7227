/* databases, resources, snapshots, branches. */
#include <stdlib.h>
#include <string.h>

#include "sql/facts.h"
#include "sql/list.h"

#define COLUMN(title, kind, text)                                                                  \
    {                                                                                              \
        .name = (title), .type = (kind), .meaning = (text)                                         \
    }
#define PLACE(title, text)                                                                         \
    {                                                                                              \
        .name = (title), .type = "text", .filter = true, .meaning = (text)                         \
    }
/* --- databases ------------------------------------------------------------------------------------ */

static enum sirix_status add_database(void *context, struct sirix_bytes database,
                                      struct sirix_bytes resource, bool *stop,
                                      struct sirix_error *err)
{
    const struct sirix_sql_value values[] = {sirix_sql_text_value(database)};

    (void)resource;
    *stop = false;
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

/* --- resources, branches, snapshots: out of the facts, some rows a page ------------------------------- */

enum { PAGE_ROWS = 512 };

/* Where a list is. */
struct place_at {
    const struct sirix_sql_facts *facts;
    const struct sirix_sql_resource *resource;
    size_t item;
};

/* How many rows a resource has, and one of them. */
typedef size_t (*count_fn)(const struct sirix_sql_resource *resource);
typedef enum sirix_status (*add_fn)(struct sirix_sql_list_scan *scan, const struct place_at *at,
                                    struct sirix_error *err);

static void end_places(struct sirix_sql_list_scan *scan)
{
    sqlite3_free(scan->state);
    scan->state = NULL;
}

static enum sirix_status begin_places(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    const struct sirix_sql_facts *facts = NULL;
    enum sirix_status status = sirix_sql_facts_all(scan->session, &facts, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct place_at *at = sqlite3_malloc64(sizeof(*at));
    if (at == NULL) {
        return sirix_sql_no_memory(err);
    }
    *at = (struct place_at){.facts = facts, .resource = facts == NULL ? NULL : facts->resources};
    scan->state = at;
    return SIRIX_OK;
}

/* Whether a given database or resource leaves this one out. */
static bool is_left_out(const struct sirix_sql_list_scan *scan, const struct place_at *at)
{
    const struct sirix_bytes database = sirix_sql_list_given(scan, 0);
    const struct sirix_bytes resource = sirix_sql_list_given(scan, 1);

    return (database.len != 0 && !sirix_bytes_equal(database, at->facts->database)) ||
           (resource.len != 0 && !sirix_bytes_equal(resource, at->resource->name));
}

static enum sirix_status each_place(struct sirix_sql_list_scan *scan, count_fn count, add_fn add,
                                    struct sirix_error *err)
{
    enum sirix_status status = scan->state == NULL ? begin_places(scan, err) : SIRIX_OK;
    struct place_at *at = scan->state;
    size_t rows = 0;

    while (status == SIRIX_OK && at->facts != NULL && rows < PAGE_ROWS) {
        if (at->resource == NULL) {
            at->facts = at->facts->next;
            at->resource = at->facts == NULL ? NULL : at->facts->resources;
            at->item = 0;
        } else if (at->item == count(at->resource) || is_left_out(scan, at)) {
            at->resource = at->resource->next;
            at->item = 0;
        } else {
            status = add(scan, at, err);
            at->item++;
            rows++;
        }
    }
    if (status == SIRIX_OK) {
        scan->done = at->facts == NULL;
    }
    return status;
}

static struct sirix_sql_value known(const struct sirix_sql_resource *resource, uint64_t number)
{
    return resource->revision == 0 ? (struct sirix_sql_value){.kind = SIRIX_SQL_NULL}
                                   : sirix_sql_number_value(number);
}

static size_t one(const struct sirix_sql_resource *resource)
{
    (void)resource;
    return 1;
}

static enum sirix_status add_resource(struct sirix_sql_list_scan *scan, const struct place_at *at,
                                      struct sirix_error *err)
{
    const struct sirix_sql_resource *resource = at->resource;
    struct sirix_sql_value values[] = {
        sirix_sql_text_value(at->facts->database), sirix_sql_text_value(resource->name),
        known(resource, resource->revision),       {.kind = SIRIX_SQL_NULL},
        known(resource, resource->node_count),     known(resource, resource->text_bytes),
    };
    enum sirix_status status = sirix_sql_list_time(scan, resource->time_us, &values[3], err);

    return status == SIRIX_OK
               ? sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err)
               : status;
}

static enum sirix_status resources_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    return each_place(scan, one, add_resource, err);
}

const struct sirix_sql_list sirix_sql_list_resources = {
    .name = "resources",
    .meaning = "One row a resource, at the newest revision of main.",
    .form = "resources",
    .columns = {PLACE("database", "Where it is."), PLACE("resource", "Its name."),
                COLUMN("revision", "integer",
                       "The newest revision of branch main; NULL: it is damaged."),
                COLUMN("time", "text", "When that was committed, RFC 3339 in UTC."),
                COLUMN("node_count", "integer", "Values in it."),
                COLUMN("text_bytes", "integer", "Length of its JSON text.")},
    .page = resources_page,
    .end = end_places,
};

static size_t snapshots_of(const struct sirix_sql_resource *resource)
{
    return resource->snapshot_count;
}

static enum sirix_status add_snapshot(struct sirix_sql_list_scan *scan, const struct place_at *at,
                                      struct sirix_error *err)
{
    const struct sirix_sql_snapshot *snapshot = &at->resource->snapshots[at->item];
    struct sirix_sql_value values[] = {
        sirix_sql_text_value(at->facts->database),
        sirix_sql_text_value(at->resource->name),
        sirix_sql_text_value(snapshot->name),
        sirix_sql_number_value(snapshot->revision),
        {.kind = SIRIX_SQL_NULL},
        {.kind = SIRIX_SQL_NULL},
    };
    enum sirix_status status = sirix_sql_list_time(scan, snapshot->time_us, &values[4], err);

    if (status == SIRIX_OK) {
        status = sirix_sql_list_time(scan, snapshot->created_us, &values[5], err);
    }
    return status == SIRIX_OK
               ? sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err)
               : status;
}

static enum sirix_status snapshots_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    return each_place(scan, snapshots_of, add_snapshot, err);
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

static size_t branches_of(const struct sirix_sql_resource *resource)
{
    return resource->branch_count;
}

static enum sirix_status add_branch(struct sirix_sql_list_scan *scan, const struct place_at *at,
                                    struct sirix_error *err)
{
    const struct sirix_sql_branch *branch = &at->resource->branches[at->item];
    const int64_t times[] = {branch->time_us, branch->created_us, branch->expires_us};
    static const size_t columns[] = {4, 6, 7};
    struct sirix_sql_value values[] = {
        sirix_sql_text_value(at->facts->database),
        sirix_sql_text_value(at->resource->name),
        sirix_sql_text_value(branch->name),
        sirix_sql_number_value(branch->revision),
        {.kind = SIRIX_SQL_NULL},
        sirix_sql_number_value(branch->base_revision),
        {.kind = SIRIX_SQL_NULL},
        {.kind = SIRIX_SQL_NULL},
    };
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < sizeof(times) / sizeof(times[0]) && status == SIRIX_OK; i++) {
        status = sirix_sql_list_time(scan, times[i], &values[columns[i]], err);
    }
    return status == SIRIX_OK
               ? sirix_sql_list_add(scan, values, sizeof(values) / sizeof(values[0]), err)
               : status;
}

static enum sirix_status branches_page(struct sirix_sql_list_scan *scan, struct sirix_error *err)
{
    return each_place(scan, branches_of, add_branch, err);
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
