/*
 * A JSON text of any size as one revision. It is built while it comes, without the branch's write
 * turn, which is taken to publish it alone: a slow client blocks nobody, and a branch that moved
 * meanwhile is SIRIX_CONFLICT. A resource that it creates is seen by nobody before it is published;
 * SIRIX_ALREADY_EXISTS then: another one has got the name meanwhile.
 */
#ifndef SIRIX_SERVICE_IMPORT_H
#define SIRIX_SERVICE_IMPORT_H

#include "service/apply.h"

struct sirix_import_request {
    struct sirix_bytes database;
    struct sirix_bytes resource;
    struct sirix_bytes branch;
    struct sirix_write_options options;
    bool ndjson;
    uint32_t max_depth; /* Levels of the text, up to SIRIX_DOCUMENT_DEPTH_MAX, which 0 takes. */
    bool last_duplicate_wins;
    bool replace;
    bool existing_only;
    bool has_place;
    uint64_t target;
    enum sirix_place place;
    uint64_t index;
    bool has_name;
    struct sirix_bytes name;
};

struct sirix_import_result {
    struct sirix_write_result result;
    uint64_t nodes;
    uint64_t text_bytes;
    uint64_t duplicates_dropped;
    uint64_t root_key;
    uint64_t items; /* Of NDJSON. */
    bool database_created;
    bool resource_created;
};

struct sirix_import;

/*
 * Creates what is missing, checks expected_revision, and makes ready for the text. *out_replayed
 * true: the idempotency key is known, *out_result is the answer and *out_import NULL. The bytes of
 * wanted and of its options stay valid until _close.
 */
enum sirix_status sirix_import_open(const struct sirix_request *request,
                                    const struct sirix_import_request *wanted,
                                    struct sirix_import **out_import, bool *out_replayed,
                                    struct sirix_import_result *out_result,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next piece of the text; errors carry offset and pointer. */
enum sirix_status sirix_import_feed(struct sirix_import *import, struct sirix_bytes piece,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The text is complete. */
enum sirix_status sirix_import_end(struct sirix_import *import,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* For the turn, between _end and _publish. */
struct sirix_write *sirix_import_write(struct sirix_import *import);

/* request_hash of the options may have been completed since _open: it is what is kept. */
enum sirix_status sirix_import_publish(struct sirix_import *import,
                                       struct sirix_import_result *out_result,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* NULL is allowed. Unless it was published, nothing of a resource that it created stays. */
void sirix_import_close(struct sirix_import *import);

#endif
