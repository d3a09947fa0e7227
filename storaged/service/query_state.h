/* What queries that read and queries that update share. Private to this folder. */
#ifndef SIRIX_SERVICE_QUERY_STATE_H
#define SIRIX_SERVICE_QUERY_STATE_H

#include "service/query.h"

/* The databases that one query has open, and a reader for each. */
struct sirix_query_opened {
    struct sirix_query_opened *next;
    struct sirix_target target;
    struct sirix_reader *reader; /* Its own or that of another one of the same database. */
};

struct sirix_query_session {
    struct sirix_request request;
    struct sirix_query_request wanted;
    struct sirix_query_catalogue catalogue;
    struct sirix_query_opened *opened;
};

void sirix_query_session_init(struct sirix_query_session *session,
                              const struct sirix_request *request,
                              const struct sirix_query_request *wanted);

/* The engine's options for what is asked. */
enum sirix_status sirix_query_session_options(struct sirix_query_session *session,
                                              struct sirix_query_options *out_options,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* An error of the engine as the service's; returns its status. */
enum sirix_status sirix_query_session_fail(enum sirix_status status,
                                           const struct sirix_query_error *from,
                                           struct sirix_error *err);

#endif
