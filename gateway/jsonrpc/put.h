/*
 * A JSON writer whose first failure is kept and ends all that follows, so that a message of many
 * members is written as one list of lines. name NULL: an element of an array, or the root.
 */
#ifndef SIRIX_JSONRPC_PUT_H
#define SIRIX_JSONRPC_PUT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/status.h"
#include "json/writer.h"

struct sirix_put {
    struct sirix_json_writer writer;
    enum sirix_status status;
    struct sirix_error error;
};

/* Appends to out, which stays the caller's. */
void sirix_put_init(struct sirix_put *put, struct sirix_buf *out);

void sirix_put_object(struct sirix_put *put, const char *name);
void sirix_put_array(struct sirix_put *put, const char *name);
void sirix_put_object_end(struct sirix_put *put);
void sirix_put_array_end(struct sirix_put *put);

void sirix_put_str(struct sirix_put *put, const char *name, const char *text);
void sirix_put_plain(struct sirix_put *put, const char *name, struct sirix_bytes plain);
void sirix_put_canonical(struct sirix_put *put, const char *name, struct sirix_bytes canonical);
void sirix_put_raw(struct sirix_put *put, const char *name, struct sirix_bytes json);
void sirix_put_raw_str(struct sirix_put *put, const char *name, const char *json);
void sirix_put_u64(struct sirix_put *put, const char *name, uint64_t value);
void sirix_put_i64(struct sirix_put *put, const char *name, int64_t value);
void sirix_put_bool(struct sirix_put *put, const char *name, bool value);

/* Notes a failure of something that was to be written; SIRIX_OK is none. error may be NULL. */
void sirix_put_fail(struct sirix_put *put, enum sirix_status status,
                    const struct sirix_error *error);

/* Ends the text and gives back what the writer holds; the first failure. Always to be called. */
enum sirix_status sirix_put_finish(struct sirix_put *put, struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
