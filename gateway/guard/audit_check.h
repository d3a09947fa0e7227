/*
 * Checking an audit log (guard/audit.h): that no line was changed, added or left out, that the parts of
 * a chain follow each other, and which writes have an intent and no outcome.
 *
 * Files are given one after the other; the parts of a chain in their order. A line that was cut at the
 * end of the file is what a power failure leaves, and no mistake: it is counted and left out.
 */
#ifndef SIRIX_GUARD_AUDIT_CHECK_H
#define SIRIX_GUARD_AUDIT_CHECK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/bytes.h"
#include "base/sha256.h"
#include "base/status.h"

enum {
    SIRIX_AUDIT_INTENTS_MAX = 1024, /* Without an outcome, of all files. */
    SIRIX_AUDIT_KEY_BYTES_MAX = 128,
    SIRIX_AUDIT_NAME_BYTES_MAX = 256,
};

/* A write that was begun, and nothing says how it ended. */
struct sirix_audit_intent {
    uint64_t seq;
    char instance[SIRIX_AUDIT_NAME_BYTES_MAX];
    char tool[SIRIX_AUDIT_NAME_BYTES_MAX];
    char database[SIRIX_AUDIT_NAME_BYTES_MAX];
    char resource[SIRIX_AUDIT_NAME_BYTES_MAX];
    char key[SIRIX_AUDIT_KEY_BYTES_MAX + 1]; /* Idempotency key. */
};

struct sirix_audit_check {
    struct sirix_audit_intent *intents;
    size_t intent_count;
    uint64_t lines;
    uint64_t seq; /* Of the last line. */
    char hash[SIRIX_SHA256_HEX_BYTES];
    char instance[SIRIX_AUDIT_NAME_BYTES_MAX];
    uint64_t part;
    bool has_chain;  /* A genesis was read. */
    bool has_ended;  /* The last line is `end`, */
    bool is_rotated; /* or `rotate`. */
    bool is_torn;    /* The last file ended in the middle of a line. */
};

enum sirix_status sirix_audit_check_init(struct sirix_audit_check *check,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_audit_check_deinit(struct sirix_audit_check *check);

/* One line without its line break. SIRIX_CORRUPT (reason chain) says what is wrong with it. */
enum sirix_status sirix_audit_check_line(struct sirix_audit_check *check, struct sirix_bytes line,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* All lines of an open file; errors name the number of the line. SIRIX_CORRUPT, SIRIX_IO. */
enum sirix_status sirix_audit_check_file(struct sirix_audit_check *check, int fd,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
