/* Unicode case and normalisation of texts: valid UTF-8 in, valid UTF-8 appended to a buffer. */
#ifndef SIRIX_QUERY_VALUE_UNICODE_H
#define SIRIX_QUERY_VALUE_UNICODE_H

#include "base/buf.h"
#include "query/value/item.h"

enum sirix_unicode_form {
    SIRIX_UNICODE_NFC,
    SIRIX_UNICODE_NFD,
    SIRIX_UNICODE_NFKC,
    SIRIX_UNICODE_NFKD,
};

/* Full mappings, but for those that depend on language or place. */
enum sirix_status sirix_text_upper(struct sirix_work *work, struct sirix_bytes text,
                                   struct sirix_buf *to,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_text_lower(struct sirix_work *work, struct sirix_bytes text,
                                   struct sirix_buf *to,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Scratch memory: 4 bytes a code point of the decomposed text. */
enum sirix_status sirix_text_normalise(struct sirix_work *work, struct sirix_bytes text,
                                       enum sirix_unicode_form form, struct sirix_buf *to,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
