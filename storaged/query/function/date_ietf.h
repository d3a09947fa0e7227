/* parse-ietf-date(). Internal. */
#ifndef SIRIX_QUERY_FUNCTION_DATE_IETF_H
#define SIRIX_QUERY_FUNCTION_DATE_IETF_H

#include "query/function/function.h"

/* The function itself; FORG0010 for text that is no such date. */
enum sirix_status parse_ietf_date(struct sirix_call *call, struct sirix_sequence *out,
                                  struct sirix_query_error *err);

#endif
