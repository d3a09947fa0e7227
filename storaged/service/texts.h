/* Stored texts, in the row or out of line. Private to the service. */
#ifndef SIRIX_SERVICE_TEXTS_H
#define SIRIX_SERVICE_TEXTS_H

#include "base/arena.h"
#include "base/buf.h"
#include "store/document/document.h"

/* Appends the text of a name or string, out of line or not, from an offset on; at most max bytes. */
enum sirix_status sirix_text_append(struct sirix_reader *reader, const struct sirix_text *text,
                                    uint64_t offset, uint64_t max, struct sirix_buf *out,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

/* The name of a member as plain text in the arena. scratch is overwritten. */
enum sirix_status sirix_member_name(struct sirix_reader *reader,
                                    const struct sirix_document_node *node,
                                    struct sirix_arena *arena, struct sirix_buf *scratch,
                                    struct sirix_bytes *out_name,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
