/*
 * Rows of a table by the value of one column, made while a statement runs: when a join looks a second time
 * for one value, all rows are read once and after that only those that may match. Values that SQLite may
 * call equal have one hash; what comes out is looked at again.
 */
#ifndef SIRIX_SQL_INDEX_H
#define SIRIX_SQL_INDEX_H

#include "sql/value.h"

struct sirix_sql_index;

enum sirix_status sirix_sql_index_new(struct sirix_sql_index **out_index,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_sql_index_free(struct sirix_sql_index *index);

/* NULL and blobs are in no index. EXHAUSTED: statements have no more memory. */
enum sirix_status sirix_sql_index_add(struct sirix_sql_index *index,
                                      const struct sirix_sql_value *value, uint64_t key,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* After the last _add(). */
enum sirix_status sirix_sql_index_finish(struct sirix_sql_index *index,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Where the rows of a value begin, and the next one of them, in the order of _add(). */
size_t sirix_sql_index_find(const struct sirix_sql_index *index,
                            const struct sirix_sql_value *value);
bool sirix_sql_index_next(const struct sirix_sql_index *index, size_t *at, uint64_t *out_key);

#endif
