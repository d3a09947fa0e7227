/*
 * The revision record: what one revision is. It stands at offset 16 of a commit's first segment, has
 * fixed slots, and is never changed once published. Byte table: docs/format.md.
 *
 * chain  SHA-256 over (chain of the parent, all other fields of the record, SHA-256 of the message,
 *        body). body is SHA-256 over the page bytes of the commit as first written. So the chain of a
 *        revision vouches for its whole history; records of pruned revisions stay as stubs.
 * jump   a skew-binary ancestor: ancestor tests, n back, as-of and merge base are O(log n).
 */
#ifndef SIRIX_STORE_REVISION_RECORD_H
#define SIRIX_STORE_REVISION_RECORD_H

#include "store/page/trie.h"

enum {
    SIRIX_HASH_BYTES = 32,
    SIRIX_AUTHOR_BYTES_MAX = 256,
    SIRIX_MESSAGE_BYTES_MAX = 4096,
};

struct sirix_record {
    uint64_t revision;        /* From 1, dense and rising per resource over all branches. */
    int64_t time_us;          /* UTC microseconds, strictly rising per resource. */
    uint64_t parent_revision; /* 0: none. */
    uint64_t parent_address;  /* Of the parent's record; 0: none. */
    uint64_t jump_revision;
    uint64_t jump_address;
    uint32_t depth; /* Steps to revision 1 along parents. */
    uint64_t branch_id;
    struct sirix_trie trie;
    uint64_t next_key;
    uint64_t node_count;   /* Values in the document: members and elements count once. */
    uint64_t text_bytes;   /* Length of the minified serialisation. */
    uint64_t adopted_from; /* Revert: the source revision. 0: none. */
    uint32_t adoptions; /* Records with adopted_from from revision 1 to this one, both included. */
    uint32_t
        segment_count; /* Of the commit; body can be recomputed when it is 1. 0: many, flushed. */
    struct sirix_bytes author;
    struct sirix_bytes message;
    uint8_t body[SIRIX_HASH_BYTES];
    uint8_t chain[SIRIX_HASH_BYTES];
};

/* Bytes of the record with these texts, a multiple of 8. */
size_t sirix_record_bytes(size_t author_len, size_t message_len);

/* Writes the record into place (sirix_record_bytes() long). */
void sirix_record_encode(const struct sirix_record *record, uint8_t *place);

/* Reads a record; texts are views into bytes. SIRIX_CORRUPT names the field. */
enum sirix_status sirix_record_decode(struct sirix_bytes bytes, struct sirix_record *out_record,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* The chain value that belongs to record, given its parent's (NULL: no parent, 32 zeros). */
enum sirix_status sirix_record_chain(const struct sirix_record *record, const uint8_t *parent_chain,
                                     uint8_t out_chain[SIRIX_HASH_BYTES],
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Reads the record at address. Texts are slices of the reader. */
enum sirix_status sirix_record_read(struct sirix_reader *reader, uint64_t address,
                                    struct sirix_record *out_record,
                                    struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
