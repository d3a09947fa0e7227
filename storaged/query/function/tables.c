/* All tables of this folder together. */
#include "query/function/tables.h"

#include <assert.h>

size_t sirix_function_library(struct sirix_function_table to[SIRIX_FUNCTION_LIBRARY_TABLES])
{
    static const struct sirix_function_table *const tables[] = {
        &sirix_functions_aggregate,   &sirix_functions_array,
        &sirix_functions_constructor, &sirix_functions_context,
        &sirix_functions_date_format, &sirix_functions_date_parts,
        &sirix_functions_date_zone,   &sirix_functions_number_picture,
        &sirix_functions_general,     &sirix_functions_higher_order,
        &sirix_functions_json,        &sirix_functions_map,
        &sirix_functions_match,       &sirix_functions_math,
        &sirix_functions_number,      &sirix_functions_number_format,
        &sirix_functions_object,      &sirix_functions_qname,
        &sirix_functions_random,      &sirix_functions_sequence,
        &sirix_functions_sort,        &sirix_functions_string,
        &sirix_functions_text,        &sirix_functions_uri,
    };
    size_t count = sizeof(tables) / sizeof(tables[0]);

    static_assert(sizeof(tables) / sizeof(tables[0]) <= SIRIX_FUNCTION_LIBRARY_TABLES,
                  "the caller has room for all tables");
    for (size_t i = 0; i < count; i++) {
        to[i] = *tables[i];
    }
    return count;
}
