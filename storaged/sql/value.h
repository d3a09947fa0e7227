/* Stored values on their way to SQLite. */
#ifndef SIRIX_SQL_VALUE_H
#define SIRIX_SQL_VALUE_H

#include "query/node/stored.h"
#include "sql/session.h"

/* A value that may be a slice of the reader or of the scratch it was made with. */
struct sirix_sql_cell {
    struct sirix_sql_value value;
    bool json; /* TEXT that is JSON, so that SQLite's JSON functions nest it. */
};

/*
 * The value of a decoded row. Strings and numbers as themselves: integers to 64 bits exact, longer ones as
 * text with all digits, decimals as the nearest double; booleans 1 and 0; containers as JSON text when
 * containers is true, else NULL. EXHAUSTED: longer than SIRIX_SQL_VALUE_BYTES_MAX.
 */
enum sirix_status sirix_sql_cell_of(struct sirix_document *document, const struct sirix_node *node,
                                    bool containers, struct sirix_buf *scratch,
                                    struct sirix_sql_cell *out_cell,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends the JSON text of a node's value. */
enum sirix_status sirix_sql_json_append(struct sirix_document *document, uint64_t key,
                                        struct sirix_buf *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Copies. */
void sirix_sql_cell_give(const struct sirix_sql_cell *cell, sqlite3_context *context);

static inline struct sirix_sql_cell sirix_sql_cell_integer(int64_t integer)
{
    return (struct sirix_sql_cell){.value = {.kind = SIRIX_SQL_INTEGER, .integer = integer}};
}
static inline struct sirix_sql_cell sirix_sql_cell_text(struct sirix_bytes text)
{
    return (struct sirix_sql_cell){.value = {.kind = SIRIX_SQL_TEXT, .bytes = text}};
}
/* Keys and counts are far below 2^63. */
static inline struct sirix_sql_cell sirix_sql_cell_number(uint64_t number)
{
    return sirix_sql_cell_integer((int64_t)number);
}

/* --- Filters that a scan applies before it gives a row ---------------------------------------------- */

struct sirix_sql_filter {
    int column;
    int op; /* SQLITE_INDEX_CONSTRAINT_... */
    bool
        numbers; /* Of a column where SQLite takes text for numbers: only numbers are compared here. */
    struct sirix_sql_value with;
};

/* False only where SQLite would say no as well; it looks again at what passes. */
bool sirix_sql_filter_passes(const struct sirix_sql_filter *filter,
                             const struct sirix_sql_value *value);

/* A value that SQLite gave, which stays alive as long as the copy. It may take memory to give a text. */
enum sirix_status sirix_sql_value_from(sqlite3_value *value, struct sirix_sql_value *out_value,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
