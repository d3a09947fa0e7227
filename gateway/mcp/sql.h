/* What the tools share that answer from SQL: one statement, its rows, its limits. */
#ifndef SIRIX_MCP_SQL_H
#define SIRIX_MCP_SQL_H

#include "mcp/tools.h"

/*
 * One statement as the server runs it. rows: how many are wanted at most. The call's time and scope hold.
 * row is called for each; *stop ends the statement.
 */
struct sirix_mcp_sql {
    struct sirix_bytes sql;
    const char *database; /* NULL: all. */
    uint64_t rows;
    void *context;
    enum sirix_status (*columns)(void *context, const struct sirix_sql_column *columns,
                                 size_t count, struct sirix_error *err); /* NULL: not wanted. */
    enum sirix_status (*row)(void *context, const struct sirix_sql_value *values, size_t count,
                             bool *stop, struct sirix_error *err);
};
enum sirix_status sirix_mcp_sql_run(struct sirix_mcp_call *call, const struct sirix_mcp_sql *wanted,
                                    enum sirix_sql_cut *out_cut,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The argument database, which may be missing, into the call and *out_database, NULL then. */
enum sirix_status sirix_mcp_sql_database(struct sirix_mcp_call *call, const char **out_database,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends a text as a literal, or a name as a quoted one. */
enum sirix_status sirix_mcp_sql_literal(struct sirix_buf *out, struct sirix_bytes text,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_mcp_sql_name(struct sirix_buf *out, struct sirix_bytes name,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* A value as JSON that is not placed: what is stored is made visible. */
struct sirix_json_node *sirix_mcp_sql_value(struct sirix_answer *answer,
                                            const struct sirix_sql_value *value);

/*
 * The facts of a refusal as an object: status "invalid", the reason as a sentence, its code, and the
 * nearest names where the sentence has some.
 */
enum sirix_status sirix_mcp_sql_refusal(const struct sirix_error *error, struct sirix_buf *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* Whether a failure is about what was asked, and not about the server. */
bool sirix_mcp_sql_is_refusal(enum sirix_status status);

#endif
