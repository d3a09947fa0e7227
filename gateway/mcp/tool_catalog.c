/* catalog_tables, catalog_describe, catalog_search: what can be asked in SQL, for who does not know yet. */
#include <inttypes.h>
#include <string.h>

#include "mcp/sql.h"

enum { STATEMENT_BYTES_MAX = 60 * 1024, WORDS_MAX = 8, NOTE_BYTES = 512 };

#define TABLE_NAME                                                                                 \
    "CASE table_schema WHEN 'main' THEN table_name ELSE table_schema || '.' || table_name END"

/* A list of objects whose members are the columns of a statement; NULL leaves a member out. */
struct listing {
    struct sirix_mcp_call *call;
    const char *const *names; /* Of the members, one a column. */
    struct sirix_json_node *list;
    size_t bytes;
    uint64_t given;
};

static enum sirix_status add_object(void *context, const struct sirix_sql_value *values,
                                    size_t count, bool *stop, struct sirix_error *err)
{
    struct listing *listing = context;
    struct sirix_answer *answer = &listing->call->answer;
    struct sirix_json_node *object = sirix_answer_object(answer);

    (void)err;
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind != SIRIX_SQL_NULL) {
            sirix_answer_set(answer, object, listing->names[i],
                             sirix_mcp_sql_value(answer, &values[i]));
        }
    }
    const size_t size = sirix_answer_size(answer, object) + 1;
    if (!sirix_answer_has_room(answer, listing->bytes + NOTE_BYTES, size)) {
        *stop = true;
        return SIRIX_OK;
    }
    sirix_answer_append(answer, listing->list, object);
    listing->bytes += size;
    listing->given++;
    return SIRIX_OK;
}

/* Runs a statement whose rows become the objects of a member. */
static enum sirix_status list_rows(struct sirix_mcp_call *call, const struct sirix_buf *sql,
                                   const char *database, const char *member,
                                   const char *const *names, uint64_t *out_given,
                                   struct sirix_error *err)
{
    struct sirix_answer *answer = &call->answer;
    struct listing listing = {.call = call, .names = names, .list = sirix_answer_array(answer)};
    const uint64_t limit = sirix_mcp_limit(call, "limit", 0);
    const struct sirix_mcp_sql wanted = {
        .sql = sirix_buf_view(sql),
        .database = database,
        .rows = limit,
        .context = &listing,
        .row = add_object,
    };
    enum sirix_sql_cut cut = SIRIX_SQL_WHOLE;
    enum sirix_status status = sirix_mcp_sql_run(call, &wanted, &cut, err);

    if (status != SIRIX_OK) {
        return status;
    }
    answer->has_count = true;
    answer->count = listing.given;
    sirix_answer_str(answer, answer->body, "status", "ok");
    if (cut != SIRIX_SQL_WHOLE) {
        sirix_answer_truncate(answer, cut == SIRIX_SQL_CUT_BYTES
                                          ? SIRIX_ANSWER_LIMIT_BYTES
                                          : sirix_mcp_limit_reason(call, limit));
        sirix_answer_str(answer, answer->body, "note",
                         "There is more. Name a database, search by words with catalog_search, or "
                         "ask information_schema.tables and information_schema.columns with "
                         "store_query, WHERE and LIMIT with OFFSET.");
    }
    sirix_answer_set(answer, answer->body, member, listing.list);
    *out_given = listing.given;
    return SIRIX_OK;
}

/* --- catalog_tables ----------------------------------------------------------------------------- */

enum sirix_status sirix_tool_catalog_tables(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const char *const names[] = {"name", "type", "database", "resource", "meaning"};
    struct sirix_buf sql = {.max = STATEMENT_BYTES_MAX};
    const char *database = NULL;
    uint64_t given = 0;
    enum sirix_status status = sirix_mcp_sql_database(call, &database, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&sql,
                                      "SELECT " TABLE_NAME ", table_type, database, resource, "
                                      "meaning FROM information_schema.tables",
                                      err);
    }
    if (status == SIRIX_OK) {
        status = list_rows(call, &sql, database, "tables", names, &given, err);
    }
    sirix_buf_deinit(&sql);
    return status;
}

/* --- catalog_describe --------------------------------------------------------------------------- */

struct first_row {
    struct sirix_mcp_call *call;
    const char *const *names;
    bool found;
};

static enum sirix_status take_first(void *context, const struct sirix_sql_value *values,
                                    size_t count, bool *stop, struct sirix_error *err)
{
    struct first_row *first = context;
    struct sirix_answer *answer = &first->call->answer;

    (void)err;
    *stop = true;
    first->found = true;
    for (size_t i = 0; i < count; i++) {
        if (values[i].kind != SIRIX_SQL_NULL) {
            sirix_answer_set(answer, answer->body, first->names[i],
                             sirix_mcp_sql_value(answer, &values[i]));
        }
    }
    return SIRIX_OK;
}

static enum sirix_status ignore_row(void *context, const struct sirix_sql_value *values,
                                    size_t count, bool *stop, struct sirix_error *err)
{
    (void)context;
    (void)values;
    (void)count;
    (void)err;
    *stop = true;
    return SIRIX_OK;
}

static struct sirix_bytes without_prefix(struct sirix_bytes name, const char *prefix)
{
    const size_t len = strlen(prefix);

    return name.len > len && strncasecmp(name.data, prefix, len) == 0
               ? (struct sirix_bytes){.data = (const char *)name.data + len, .len = name.len - len}
               : (struct sirix_bytes){0};
}

/* Lets the engine say that there is no such table, or several: it knows the nearest names. */
static enum sirix_status check_table(struct sirix_mcp_call *call, struct sirix_bytes table,
                                     const char *database, struct sirix_error *err)
{
    const struct sirix_bytes inner = without_prefix(table, "information_schema.");
    struct sirix_buf sql = {.max = STATEMENT_BYTES_MAX};
    enum sirix_sql_cut cut = SIRIX_SQL_WHOLE;
    enum sirix_status status = sirix_buf_append_str(
        &sql, inner.len == 0 ? "SELECT * FROM " : "SELECT * FROM information_schema.", err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_name(&sql, inner.len == 0 ? table : inner, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&sql, " LIMIT 0", err);
    }
    const struct sirix_mcp_sql wanted = {
        .sql = sirix_buf_view(&sql), .database = database, .rows = 1, .row = ignore_row};
    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_run(call, &wanted, &cut, err);
    }
    sirix_buf_deinit(&sql);
    return status;
}

/* Which rows of information_schema are of a table; qualified: its first part is a database. */
static enum sirix_status append_where(struct sirix_buf *sql, struct sirix_bytes table,
                                      bool qualified, struct sirix_error *err)
{
    const struct sirix_bytes inner = without_prefix(table, "information_schema.");
    const char *slash = qualified ? memchr(table.data, '/', table.len) : NULL;
    struct sirix_bytes name = inner.len == 0 ? table : inner;
    enum sirix_status status = SIRIX_OK;

    if (slash != NULL) {
        const struct sirix_bytes database = {.data = table.data,
                                             .len = (size_t)(slash - (const char *)table.data)};

        name = (struct sirix_bytes){.data = slash + 1, .len = table.len - database.len - 1};
        status = sirix_buf_append_str(sql, " WHERE lower(database) = lower(", err);
        if (status == SIRIX_OK) {
            status = sirix_mcp_sql_literal(sql, database, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_str(sql, ") AND table_name = ", err);
        }
    } else {
        status = sirix_buf_printf(sql, err, " WHERE table_schema = '%s' AND table_name = ",
                                  inner.len == 0 ? "main" : "information_schema");
    }
    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_literal(sql, name, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(sql, " COLLATE NOCASE", err) : status;
}

static enum sirix_status describe_table(struct sirix_mcp_call *call, struct sirix_bytes table,
                                        const char *database, bool qualified, bool *out_found,
                                        struct sirix_error *err)
{
    static const char *const names[] = {"table", "type", "database", "resource", "meaning"};
    struct first_row first = {.call = call, .names = names};
    struct sirix_buf sql = {.max = STATEMENT_BYTES_MAX};
    enum sirix_sql_cut cut = SIRIX_SQL_WHOLE;
    enum sirix_status status =
        sirix_buf_append_str(&sql,
                             "SELECT " TABLE_NAME ", table_type, database, resource, meaning FROM "
                             "information_schema.tables",
                             err);

    if (status == SIRIX_OK) {
        status = append_where(&sql, table, qualified, err);
    }
    const struct sirix_mcp_sql wanted = {.sql = sirix_buf_view(&sql),
                                         .database = database,
                                         .rows = 1,
                                         .context = &first,
                                         .row = take_first};
    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_run(call, &wanted, &cut, err);
    }
    sirix_buf_deinit(&sql);
    if (status == SIRIX_OK) {
        *out_found = first.found;
    }
    return status;
}

static enum sirix_status describe_columns(struct sirix_mcp_call *call, struct sirix_bytes table,
                                          const char *database, bool qualified, uint64_t *out_given,
                                          struct sirix_error *err)
{
    static const char *const names[] = {"name", "type", "hidden", "meaning"};
    struct sirix_buf sql = {.max = STATEMENT_BYTES_MAX};
    enum sirix_status status =
        sirix_buf_append_str(&sql,
                             "SELECT column_name, data_type, nullif(hidden, 'no'), meaning FROM "
                             "information_schema.columns",
                             err);

    if (status == SIRIX_OK) {
        status = append_where(&sql, table, qualified, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&sql, " ORDER BY ordinal_position", err);
    }
    if (status == SIRIX_OK) {
        status = list_rows(call, &sql, database, "columns", names, out_given, err);
    }
    sirix_buf_deinit(&sql);
    return status;
}

enum sirix_status sirix_tool_catalog_describe(struct sirix_mcp_call *call, struct sirix_error *err)
{
    const struct sirix_bytes table = sirix_argument_text(&call->arguments, "table");
    const char *database = NULL;
    bool qualified = false;
    bool found = false;
    uint64_t given = 0;
    enum sirix_status status = sirix_mcp_sql_database(call, &database, err);

    if (status == SIRIX_OK) {
        status = check_table(call, table, database, err);
    }
    if (status == SIRIX_OK) {
        status = describe_table(call, table, database, false, &found, err);
    }
    if (status == SIRIX_OK && !found) {
        qualified = true;
        status = describe_table(call, table, database, true, &found, err);
    }
    if (status == SIRIX_OK && !found) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_SQL_ERROR,
                                 "the table went while it was looked at; ask again");
    }
    return status == SIRIX_OK ? describe_columns(call, table, database, qualified, &given, err)
                              : status;
}

/* --- catalog_search ----------------------------------------------------------------------------- */

/* What is searched: names of tables and columns with what they mean, and paths. */
static const char *const everything =
    "WITH found(kind, name, of_table, database, resource, type, meaning) AS ("
    "SELECT 'table', " TABLE_NAME ", NULL, database, resource, table_type, meaning "
    "FROM information_schema.tables UNION ALL "
    "SELECT 'column', column_name, " TABLE_NAME ", database, NULL, data_type, meaning "
    "FROM information_schema.columns UNION ALL "
    "SELECT 'path', p.path, NULL, r.database, r.resource, p.kinds, NULL "
    "FROM resources r JOIN paths(r.database, r.resource) p) "
    "SELECT kind, name, of_table, database, resource, type, meaning FROM found WHERE 1";

/* The next word of a text; empty: there is none. */
static struct sirix_bytes next_word(const char **at, const char *end)
{
    while (*at < end && **at == ' ') {
        ++*at;
    }
    const char *begin = *at;
    while (*at < end && **at != ' ') {
        ++*at;
    }
    return (struct sirix_bytes){.data = begin, .len = (size_t)(*at - begin)};
}

static enum sirix_status append_word(struct sirix_buf *sql, struct sirix_bytes word,
                                     struct sirix_error *err)
{
    enum sirix_status status =
        sirix_buf_append_str(sql,
                             " AND instr(lower(name || ' ' || coalesce(of_table, '') || ' ' || "
                             "coalesce(resource, '') || ' ' || coalesce(database, '') || ' ' || "
                             "coalesce(meaning, '')), lower(",
                             err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_literal(sql, word, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(sql, ")) > 0", err) : status;
}

/* Those that have the first word in their name come first, short names before long ones. */
static enum sirix_status append_order(struct sirix_buf *sql, struct sirix_bytes word,
                                      struct sirix_error *err)
{
    enum sirix_status status =
        sirix_buf_append_str(sql, " ORDER BY instr(lower(name), lower(", err);

    if (status == SIRIX_OK) {
        status = sirix_mcp_sql_literal(sql, word, err);
    }
    return status == SIRIX_OK ? sirix_buf_append_str(sql,
                                                     ")) = 0, CASE kind WHEN 'table' THEN 0 WHEN "
                                                     "'column' THEN 1 ELSE 2 END, length(name), "
                                                     "name, of_table, database, resource",
                                                     err)
                              : status;
}

enum sirix_status sirix_tool_catalog_search(struct sirix_mcp_call *call, struct sirix_error *err)
{
    static const char *const names[] = {"kind",     "name", "table",  "database",
                                        "resource", "type", "meaning"};
    const struct sirix_bytes words = sirix_argument_text(&call->arguments, "words");
    const char *at = words.data;
    const char *end = at + words.len;
    const struct sirix_bytes first = next_word(&at, end);
    struct sirix_buf sql = {.max = STATEMENT_BYTES_MAX};
    struct sirix_bytes word = first;
    const char *database = NULL;
    uint64_t given = 0;
    size_t count = 0;

    if (first.len == 0) {
        enum sirix_status bad =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, "words holds none");
        sirix_error_set_field(err, "words");
        return bad;
    }
    enum sirix_status status = sirix_mcp_sql_database(call, &database, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_str(&sql, everything, err);
    }
    for (; status == SIRIX_OK && word.len != 0 && count < WORDS_MAX; count++) {
        status = append_word(&sql, word, err);
        word = next_word(&at, end);
    }
    if (status == SIRIX_OK) {
        status = append_order(&sql, first, err);
    }
    if (status == SIRIX_OK) {
        status = list_rows(call, &sql, database, "matches", names, &given, err);
    }
    sirix_buf_deinit(&sql);
    return status;
}
