/* The tables of functions of this folder, one a file. Internal. */
#ifndef SIRIX_QUERY_FUNCTION_TABLES_H
#define SIRIX_QUERY_FUNCTION_TABLES_H

#include "query/function/function.h"

extern const struct sirix_function_table sirix_functions_aggregate;
extern const struct sirix_function_table sirix_functions_array;
extern const struct sirix_function_table sirix_functions_constructor;
extern const struct sirix_function_table sirix_functions_context;
extern const struct sirix_function_table sirix_functions_date_format;
extern const struct sirix_function_table sirix_functions_date_parts;
extern const struct sirix_function_table sirix_functions_date_zone;
extern const struct sirix_function_table sirix_functions_number_picture;
extern const struct sirix_function_table sirix_functions_general;
extern const struct sirix_function_table sirix_functions_higher_order;
extern const struct sirix_function_table sirix_functions_json;
extern const struct sirix_function_table sirix_functions_map;
extern const struct sirix_function_table sirix_functions_match;
extern const struct sirix_function_table sirix_functions_math;
extern const struct sirix_function_table sirix_functions_number;
extern const struct sirix_function_table sirix_functions_number_format;
extern const struct sirix_function_table sirix_functions_object;
extern const struct sirix_function_table sirix_functions_qname;
extern const struct sirix_function_table sirix_functions_random;
extern const struct sirix_function_table sirix_functions_sequence;
extern const struct sirix_function_table sirix_functions_sort;
extern const struct sirix_function_table sirix_functions_string;
extern const struct sirix_function_table sirix_functions_text;
extern const struct sirix_function_table sirix_functions_uri;

#endif
