/*
 * What the engine asks of whoever opens databases: the service, with the caller's scope, or a test.
 *
 * Scope     everything that a query reads goes through here: a database or resource that the caller may
 *           not see is answered as one that does not exist, and left out of lists.
 * Readers   one a database is enough; the resources of one database may share it. The engine yields it
 *           every few milliseconds, where it holds no slice, and ends every use with _close.
 * Threads   a query calls from the thread that steps it, one at a time, not always the same one.
 */
#ifndef SIRIX_QUERY_CATALOGUE_H
#define SIRIX_QUERY_CATALOGUE_H

#include "store/store.h"

/* An open resource and the reader for it, until sirix_query_catalogue.close(). */
struct sirix_query_place {
    struct sirix_resource *resource;
    struct sirix_reader *reader;
    void *handle; /* The catalogue's own. */
};

struct sirix_query_catalogue {
    void *context;

    /* SIRIX_NOT_FOUND, reason database_unknown or resource_unknown; SIRIX_EXHAUSTED. */
    enum sirix_status (*open)(void *context, struct sirix_bytes database,
                              struct sirix_bytes resource, struct sirix_query_place *out_place,
                              struct sirix_error *err);
    void (*close)(void *context, struct sirix_query_place *place);

    /* Names in the order of the names without regard to case. visit sets *stop to end early. */
    enum sirix_status (*databases)(void *context, sirix_name_visit_fn visit, void *visit_context,
                                   struct sirix_error *err);
    enum sirix_status (*resources)(void *context, struct sirix_bytes database,
                                   sirix_name_visit_fn visit, void *visit_context,
                                   struct sirix_error *err);
};

#endif
