/* From paths to tables and columns. */
#include "sql/schema.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/name.h"
#include "json/text.h"

enum {
    KIND_OBJECT = 1 << SIRIX_VALUE_OBJECT,
    KIND_ARRAY = 1 << SIRIX_VALUE_ARRAY,
    KIND_STRING = 1 << SIRIX_VALUE_STRING,
    KIND_NUMBER = 1 << SIRIX_VALUE_NUMBER,
    KIND_BOOLEAN = 1 << SIRIX_VALUE_BOOLEAN,
    KIND_NULL = 1 << SIRIX_VALUE_NULL,
    NAME_BYTES_MAX = 4096, /* Of a table's name. */
    SUFFIX_BYTES = 24,
};

/* --- Types ---------------------------------------------------------------------------------------- */

const char *sirix_sql_type_name(uint32_t kinds)
{
    const uint32_t values = kinds & ~(uint32_t)(KIND_NULL | (1 << SIRIX_VALUE_NONE));

    if ((values & ~(uint32_t)(KIND_OBJECT | KIND_ARRAY)) == 0 && values != 0) {
        return "json";
    }
    return values == KIND_STRING    ? "text"
           : values == KIND_NUMBER  ? "number"
           : values == KIND_BOOLEAN ? "boolean"
                                    : "any";
}

const char *sirix_sql_type_declared(const char *type)
{
    return strcmp(type, "text") == 0 || strcmp(type, "json") == 0        ? "TEXT"
           : strcmp(type, "number") == 0 || strcmp(type, "boolean") == 0 ? "NUMERIC"
           : strcmp(type, "integer") == 0                                ? "INTEGER"
                                                                         : "";
}

/* --- Tables --------------------------------------------------------------------------------------- */

static bool holds_rows(const struct sirix_path_node *node)
{
    return node->step == SIRIX_STEP_ELEMENT && (node->kinds & KIND_OBJECT) != 0;
}

/* One step, the name as it is. */
static enum sirix_status append_step(const struct sirix_paths *paths, uint32_t step,
                                     struct sirix_buf *name, struct sirix_error *err)
{
    const struct sirix_path_node *node = &paths->nodes[step];
    const bool nested =
        node->step == SIRIX_STEP_ELEMENT && paths->nodes[node->parent].step == SIRIX_STEP_ELEMENT;

    if (node->step == SIRIX_STEP_MEMBER) {
        enum sirix_status status = sirix_buf_append_u8(name, '/', err);

        return status == SIRIX_OK ? sirix_buf_append_bytes(name, node->name, err) : status;
    }
    return node->step == SIRIX_STEP_ANY_MEMBER || nested
               ? sirix_buf_append_str(name, nested ? "/[]" : "/*", err)
               : SIRIX_OK;
}

/* Appends the steps from the value down to a path. */
static enum sirix_status append_steps(const struct sirix_paths *paths, uint32_t path,
                                      struct sirix_arena *arena, struct sirix_buf *name,
                                      struct sirix_error *err)
{
    uint32_t *steps = NULL;
    void *memory = NULL;
    size_t count = 0;

    for (uint32_t at = path; at != SIRIX_PATH_NONE; at = paths->nodes[at].parent) {
        count++;
    }
    enum sirix_status status = sirix_arena_calloc(arena, count, sizeof(*steps), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    steps = memory;
    for (uint32_t at = path; at != SIRIX_PATH_NONE; at = paths->nodes[at].parent) {
        steps[--count] = at;
    }
    for (size_t i = 0; status == SIRIX_OK; i++) {
        status = append_step(paths, steps[i], name, err);
        if (steps[i] == path) {
            break;
        }
    }
    return status;
}

static bool name_taken(const struct sirix_sql_schema *schema, struct sirix_bytes name)
{
    for (size_t i = 0; i < schema->count; i++) {
        if (strlen(schema->tables[i].name) == name.len &&
            strncasecmp(schema->tables[i].name, name.data, name.len) == 0) {
            return true;
        }
    }
    return false;
}

static enum sirix_status add_table(struct sirix_arena *arena, struct sirix_sql_schema *schema,
                                   const struct sirix_paths *paths, uint32_t path,
                                   struct sirix_buf *name, struct sirix_error *err)
{
    char *text = NULL;

    sirix_buf_clear(name);
    enum sirix_status status = sirix_buf_append_bytes(name, schema->resource, err);
    if (status == SIRIX_OK) {
        status = append_steps(paths, path, arena, name, err);
    }
    if (status == SIRIX_EXHAUSTED || (status == SIRIX_OK && memchr(name->data, 0, name->len))) {
        return SIRIX_OK; /* Nobody could write its name. */
    }
    const size_t len = name->len;
    for (unsigned n = 2; status == SIRIX_OK && name_taken(schema, sirix_buf_view(name)); n++) {
        name->len = len;
        status = sirix_buf_printf(name, err, "_%u", n);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_c_str(arena, sirix_buf_view(name), &text, err);
    }
    if (status == SIRIX_OK) {
        const uint32_t others =
            paths->nodes[path].kinds & ~(uint32_t)(KIND_OBJECT | (1 << SIRIX_VALUE_NONE));

        schema->tables[schema->count++] = (struct sirix_sql_table){
            .name = text,
            .database = schema->database,
            .resource = schema->resource,
            .path = path,
            .paths = paths,
            .objects_only = others == 0,
        };
    }
    return status;
}

static enum sirix_status infer(struct sirix_arena *arena, struct sirix_sql_schema *schema,
                               const struct sirix_paths *paths, struct sirix_error *err)
{
    struct sirix_buf name = {.max = NAME_BYTES_MAX};
    void *memory = NULL;
    size_t count = 0;

    for (uint32_t i = 0; i < paths->count; i++) {
        count += holds_rows(&paths->nodes[i]) ? 1 : 0;
    }
    count = count < SIRIX_SQL_TABLES_MAX ? count : SIRIX_SQL_TABLES_MAX;
    enum sirix_status status =
        sirix_arena_calloc(arena, count, sizeof(*schema->tables), &memory, err);
    schema->tables = memory;
    for (uint32_t i = 0; status == SIRIX_OK && i < paths->count && schema->count < count; i++) {
        if (holds_rows(&paths->nodes[i])) {
            status = add_table(arena, schema, paths, i, &name, err);
        }
    }
    sirix_buf_deinit(&name);
    return status;
}

enum sirix_status sirix_sql_schema_of(struct sirix_sql_session *session,
                                      struct sirix_bytes database, struct sirix_bytes resource,
                                      const struct sirix_sql_schema **out_schema,
                                      struct sirix_error *err)
{
    const struct sirix_paths *paths = NULL;
    struct sirix_sql_schema *schema = session->schemas;
    struct sirix_sql_place *place = NULL;
    struct sirix_sql_view *view = NULL;
    void *memory = NULL;

    enum sirix_status status = sirix_sql_place_open(session, database, resource, &place, err);
    if (status != SIRIX_OK) {
        return status;
    }
    while (schema != NULL && schema->place != place) {
        schema = schema->next;
    }
    if (schema != NULL) {
        *out_schema = schema;
        return SIRIX_OK;
    }
    status = sirix_arena_calloc(&session->arena, 1, sizeof(*schema), &memory, err);
    if (status == SIRIX_OK) {
        schema = memory;
        schema->place = place;
        schema->database = place->database;
        schema->resource = place->resource;
        status = sirix_sql_view_open(session, place, (struct sirix_bytes){0}, &view, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_sql_view_paths(session, view, &paths, err);
    }
    if (status == SIRIX_OK) {
        status = infer(&session->arena, schema, paths, err);
    }
    if (status == SIRIX_OK) {
        schema->next = session->schemas;
        session->schemas = schema;
        *out_schema = schema;
    }
    return status;
}

enum sirix_status sirix_sql_paths_look(struct sirix_sql_session *session,
                                       struct sirix_bytes database, struct sirix_bytes resource,
                                       struct sirix_arena *arena, struct sirix_paths *out_paths,
                                       struct sirix_error *err)
{
    const struct sirix_view_request newest = {.which = SIRIX_VIEW_WHICH_NONE};
    struct sirix_target target = {0};
    struct sirix_view view = {0};
    enum sirix_status status =
        sirix_target_open_named(&session->request, database, resource, &target, err);

    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_reader *own = target.reader;
    struct sirix_reader *reader = sirix_sql_reader_of(session, target.handle);
    target.reader = reader == NULL ? own : reader;
    status = sirix_target_view(&target, &newest, "revision", &view, err);
    if (status == SIRIX_OK) {
        status = sirix_paths_of_view(&target, &view, arena, out_paths, err);
        sirix_view_close(&view);
    }
    target.reader = own;
    sirix_target_close(&target);
    return status;
}

enum sirix_status sirix_sql_schema_look(struct sirix_sql_session *session,
                                        struct sirix_bytes database, struct sirix_bytes resource,
                                        struct sirix_arena *arena,
                                        struct sirix_sql_schema *out_schema,
                                        struct sirix_error *err)
{
    struct sirix_sql_schema schema = {.database = database, .resource = resource};
    struct sirix_paths *paths = NULL;
    void *memory = NULL;

    for (const struct sirix_sql_schema *known = session->schemas; known != NULL;
         known = known->next) {
        if (sirix_bytes_equal(known->database, database) &&
            sirix_bytes_equal(known->resource, resource)) {
            *out_schema = *known;
            return SIRIX_OK;
        }
    }
    enum sirix_status status = sirix_arena_calloc(arena, 1, sizeof(*paths), &memory, err);
    if (status == SIRIX_OK) {
        paths = memory;
        status = sirix_sql_paths_look(session, database, resource, arena, paths, err);
    }
    if (status == SIRIX_OK) {
        status = infer(arena, &schema, paths, err);
    }
    if (status == SIRIX_OK) {
        *out_schema = schema;
    }
    return status;
}

/* --- Columns -------------------------------------------------------------------------------------- */

static bool column_taken(const struct sirix_sql_table *table, const char *name)
{
    for (size_t i = 0; i < table->column_count; i++) {
        if (strcasecmp(table->columns[i].name, name) == 0) {
            return true;
        }
    }
    return strcasecmp(name, "revision") == 0 || strcasecmp(name, "parent_key") == 0;
}

static enum sirix_status add_column(struct sirix_arena *arena, struct sirix_sql_table *table,
                                    struct sirix_bytes plain, struct sirix_sql_member column,
                                    struct sirix_error *err)
{
    struct sirix_bytes canonical = {0};
    char *name = NULL;

    enum sirix_status status = sirix_arena_c_str(arena, plain, &name, err);
    for (unsigned n = 2; status == SIRIX_OK && !column.hidden && column_taken(table, name); n++) {
        status = sirix_arena_printf(arena, &name, err, "%.*s_%u", (int)plain.len,
                                    (const char *)plain.data, n);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_text_to_canonical(arena, plain, &canonical, err);
    }
    if (status == SIRIX_OK) {
        column.name = name;
        column.member = canonical;
        table->columns[table->column_count++] = column;
    }
    return status;
}

static struct sirix_bytes text_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* A path that may be a column. */
struct candidate {
    uint32_t seen;
    uint32_t path;
};

static int compare_candidates(const void *left, const void *right)
{
    const struct candidate *a = left;
    const struct candidate *b = right;

    return a->seen == b->seen ? 0 : a->seen < b->seen ? -1 : 1;
}

/* The members that can be columns, as they were first seen; *out_rest: there are others. */
static enum sirix_status candidates_of(struct sirix_arena *arena,
                                       const struct sirix_sql_table *table,
                                       struct candidate **out_candidates, size_t *out_count,
                                       bool *out_rest, struct sirix_error *err)
{
    const struct sirix_path_node *nodes = table->paths->nodes;
    struct candidate *candidates = NULL;
    void *memory = NULL;
    size_t count = 0;

    for (uint32_t i = table->path + 1; i < nodes[table->path].end; i = nodes[i].end) {
        count++;
    }
    enum sirix_status status = sirix_arena_calloc(arena, count, sizeof(*candidates), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    candidates = memory;
    count = 0;
    *out_rest = !table->paths->whole;
    for (uint32_t i = table->path + 1; i < nodes[table->path].end; i = nodes[i].end) {
        const struct sirix_path_node *node = &nodes[i];

        if (node->step == SIRIX_STEP_ELEMENT) {
            continue; /* Of an element that was an array. */
        }
        if (node->step == SIRIX_STEP_ANY_MEMBER || node->name.len == 0 ||
            memchr(node->name.data, 0, node->name.len) != NULL) {
            *out_rest = true;
            continue;
        }
        candidates[count++] = (struct candidate){.seen = node->seen, .path = i};
    }
    if (count != 0) {
        qsort(candidates, count, sizeof(*candidates), compare_candidates);
    }
    *out_candidates = candidates;
    *out_count = count;
    return SIRIX_OK;
}

enum sirix_status sirix_sql_table_columns(struct sirix_arena *arena, struct sirix_sql_table *table,
                                          struct sirix_error *err)
{
    struct candidate *candidates = NULL;
    size_t candidate_count = 0;
    bool rest = false;
    void *memory = NULL;

    if (table->columns != NULL) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        candidates_of(arena, table, &candidates, &candidate_count, &rest, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, SIRIX_SQL_MEMBER_COLUMNS_MAX + 4,
                                    sizeof(*table->columns), &memory, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    table->columns = memory;
    status = add_column(arena, table, text_of("node_key"),
                        (struct sirix_sql_member){.source = SIRIX_SQL_FROM_KEY}, err);
    for (size_t i = 0; status == SIRIX_OK && i < candidate_count; i++) {
        const struct sirix_path_node *node = &table->paths->nodes[candidates[i].path];

        if (table->column_count > SIRIX_SQL_MEMBER_COLUMNS_MAX) {
            rest = true;
            break;
        }
        status = add_column(
            arena, table, node->name,
            (struct sirix_sql_member){.source = SIRIX_SQL_FROM_MEMBER, .kinds = node->kinds}, err);
    }
    if (status == SIRIX_OK && rest) {
        status = add_column(
            arena, table, text_of("rest"),
            (struct sirix_sql_member){.source = SIRIX_SQL_FROM_REST, .kinds = KIND_OBJECT}, err);
    }
    if (status == SIRIX_OK) {
        status = add_column(
            arena, table, text_of("revision"),
            (struct sirix_sql_member){.source = SIRIX_SQL_FROM_REVISION, .hidden = true}, err);
    }
    if (status == SIRIX_OK) {
        status = add_column(
            arena, table, text_of("parent_key"),
            (struct sirix_sql_member){.source = SIRIX_SQL_FROM_PARENT, .hidden = true}, err);
    }
    return status;
}

/* --- Finding -------------------------------------------------------------------------------------- */

struct search {
    struct sirix_sql_session *session;
    struct sirix_bytes name;     /* As it is looked for. */
    struct sirix_bytes resource; /* Its first part. */
    struct sirix_sql_table *found;
    char also[SIRIX_NAME_BYTES_MAX * 2 + 2]; /* Another one: "database/resource". */
};

static bool same_name(struct sirix_bytes a, struct sirix_bytes b)
{
    return a.len == b.len && strncasecmp(a.data, b.data, a.len) == 0;
}

/* A resource whose name begins the wanted one: its table of that name, if it has one. */
static enum sirix_status search_resource(void *context, struct sirix_bytes database,
                                         struct sirix_bytes resource, bool *stop,
                                         struct sirix_error *err)
{
    struct search *search = context;
    const struct sirix_sql_schema *schema = NULL;

    if (!same_name(resource, search->resource)) {
        return SIRIX_OK;
    }
    enum sirix_status status =
        sirix_sql_schema_of(search->session, database, resource, &schema, err);
    if (status == SIRIX_NOT_FOUND) {
        return SIRIX_OK; /* Dropped since it was listed. */
    }
    for (size_t i = 0; status == SIRIX_OK && i < schema->count; i++) {
        struct sirix_sql_table *table = &schema->tables[i];

        if (!same_name(text_of(table->name), search->name) || table == search->found) {
            continue;
        }
        if (search->found != NULL) {
            (void)snprintf(search->also, sizeof(search->also), "%.*s/%.*s", (int)database.len,
                           (const char *)database.data, (int)resource.len,
                           (const char *)resource.data);
            *stop = true;
        } else {
            search->found = table;
        }
    }
    return status;
}

static struct sirix_bytes first_part(struct sirix_bytes name)
{
    const char *slash = memchr(name.data, '/', name.len);

    return (struct sirix_bytes){.data = name.data,
                                .len = slash == NULL ? name.len
                                                     : (size_t)(slash - (const char *)name.data)};
}

struct database_search {
    struct sirix_bytes name;
    struct sirix_bytes found;
    struct sirix_sql_session *session;
};

static enum sirix_status search_database(void *context, struct sirix_bytes database,
                                         struct sirix_bytes resource, bool *stop,
                                         struct sirix_error *err)
{
    struct database_search *search = context;

    (void)resource;
    if (!same_name(database, search->name)) {
        return SIRIX_OK;
    }
    *stop = true;
    return sirix_arena_copy(&search->session->arena, database, &search->found, err);
}

/* The first part as a database. */
static enum sirix_status search_qualified(struct search *search, struct sirix_error *err)
{
    struct database_search database = {.name = first_part(search->name),
                                       .session = search->session};
    enum sirix_status status = SIRIX_OK;

    if (database.name.len == search->name.len) {
        return SIRIX_OK;
    }
    status = sirix_sql_each_database(search->session, search_database, &database, err);
    if (status != SIRIX_OK || database.found.len == 0) {
        return status;
    }
    search->name.data = (const char *)search->name.data + database.name.len + 1;
    search->name.len -= database.name.len + 1;
    search->resource = first_part(search->name);
    return sirix_sql_each_resource(search->session, database.found, search_resource, search, err);
}

enum sirix_status sirix_sql_table_find(struct sirix_sql_session *session, struct sirix_bytes name,
                                       struct sirix_sql_table **out_table, struct sirix_error *err)
{
    struct search search = {.session = session, .name = name, .resource = first_part(name)};
    enum sirix_status status = SIRIX_OK;

    if (name.len == 0 || name.len > NAME_BYTES_MAX) {
        *out_table = NULL;
        return SIRIX_OK;
    }
    status =
        sirix_sql_each_resource(session, session->wanted->database, search_resource, &search, err);
    if (status == SIRIX_OK && search.also[0] == '\0') {
        status = search_qualified(&search, err);
    }
    if (status == SIRIX_OK && search.also[0] != '\0') {
        return sirix_fail_reason(
            err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
            "\"%.*s\" may be of \"%.*s/%.*s\" or of \"%s\"; name the database in front",
            (int)name.len, (const char *)name.data, (int)search.found->database.len,
            (const char *)search.found->database.data, (int)search.found->resource.len,
            (const char *)search.found->resource.data, search.also);
    }
    if (status == SIRIX_OK) {
        *out_table = search.found;
    }
    return status;
}
