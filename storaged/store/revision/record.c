/*
 * Encoding of revision records. Fixed slots (docs/format.md), then author and message, zero-padded
 * to a multiple of 8:
 *
 *     0 type, version, author length u16, message length u32     80 next key
 *     8 revision            16 time                              88 node count
 *    24 parent revision     32 parent address                    96 text bytes
 *    40 jump revision       48 jump address                     104 adopted from
 *    56 depth u32, height u32                                   112 adoptions u32, segments u32
 *    64 branch id                                               120 secondary roots (0)
 *    72 root                                                    128 body, 160 chain, 192 texts
 */
#include "store/revision/record.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include "base/endian.h"
#include "base/sha256.h"

enum {
    RECORD_TYPE = 0x52,
    RECORD_VERSION = 1,
    AT_AUTHOR_LEN = 2,
    AT_MESSAGE_LEN = 4,
    AT_REVISION = 8,
    AT_TIME = 16,
    AT_PARENT_REVISION = 24,
    AT_PARENT_ADDRESS = 32,
    AT_JUMP_REVISION = 40,
    AT_JUMP_ADDRESS = 48,
    AT_DEPTH = 56,
    AT_HEIGHT = 60,
    AT_BRANCH = 64,
    AT_ROOT = 72,
    AT_NEXT_KEY = 80,
    AT_NODE_COUNT = 88,
    AT_TEXT_BYTES = 96,
    AT_ADOPTED_FROM = 104,
    AT_ADOPTIONS = 112,
    AT_SEGMENT_COUNT = 116,
    AT_SECONDARY = 120,
    AT_BODY = 128,
    AT_CHAIN = 160,
    AT_TEXTS = 192,
};

_Static_assert((int)SIRIX_HASH_BYTES == (int)SIRIX_SHA256_BYTES, "hashes are SHA-256");

size_t sirix_record_bytes(size_t author_len, size_t message_len)
{
    assert(author_len <= SIRIX_AUTHOR_BYTES_MAX && message_len <= SIRIX_MESSAGE_BYTES_MAX);
    return (AT_TEXTS + author_len + message_len + 7) & ~(size_t)7;
}

/* Everything before the texts, chain included. */
static void encode_fixed(const struct sirix_record *record, uint8_t *place)
{
    memset(place, 0, AT_TEXTS);
    place[0] = RECORD_TYPE;
    place[1] = RECORD_VERSION;
    sirix_store_u16le(place + AT_AUTHOR_LEN, (uint16_t)record->author.len);
    sirix_store_u32le(place + AT_MESSAGE_LEN, (uint32_t)record->message.len);
    sirix_store_u64le(place + AT_REVISION, record->revision);
    sirix_store_u64le(place + AT_TIME, (uint64_t)record->time_us);
    sirix_store_u64le(place + AT_PARENT_REVISION, record->parent_revision);
    sirix_store_u64le(place + AT_PARENT_ADDRESS, record->parent_address);
    sirix_store_u64le(place + AT_JUMP_REVISION, record->jump_revision);
    sirix_store_u64le(place + AT_JUMP_ADDRESS, record->jump_address);
    sirix_store_u32le(place + AT_DEPTH, record->depth);
    sirix_store_u32le(place + AT_HEIGHT, record->trie.height);
    sirix_store_u64le(place + AT_BRANCH, record->branch_id);
    sirix_store_u64le(place + AT_ROOT, record->trie.root);
    sirix_store_u64le(place + AT_NEXT_KEY, record->next_key);
    sirix_store_u64le(place + AT_NODE_COUNT, record->node_count);
    sirix_store_u64le(place + AT_TEXT_BYTES, record->text_bytes);
    sirix_store_u64le(place + AT_ADOPTED_FROM, record->adopted_from);
    sirix_store_u32le(place + AT_ADOPTIONS, record->adoptions);
    sirix_store_u32le(place + AT_SEGMENT_COUNT, record->segment_count);
    memcpy(place + AT_BODY, record->body, SIRIX_HASH_BYTES);
    memcpy(place + AT_CHAIN, record->chain, SIRIX_HASH_BYTES);
}

void sirix_record_encode(const struct sirix_record *record, uint8_t *place)
{
    size_t size = sirix_record_bytes(record->author.len, record->message.len);
    uint8_t *at = place + AT_TEXTS;

    encode_fixed(record, place);
    memset(at, 0, size - AT_TEXTS);
    if (record->author.len != 0) {
        memcpy(at, record->author.data, record->author.len);
        at += record->author.len;
    }
    if (record->message.len != 0) {
        memcpy(at, record->message.data, record->message.len);
    }
}

static enum sirix_status damaged(const char *field, struct sirix_error *err)
{
    return sirix_fail(err, SIRIX_CORRUPT, "revision record: %s is impossible", field);
}

/* What must hold between the fields of any record, wherever it comes from. */
static enum sirix_status check_fields(const struct sirix_record *record, struct sirix_error *err)
{
    bool first = record->depth == 0;

    if (record->revision == 0) {
        return damaged("revision", err);
    }
    if (first != (record->parent_revision == 0) || first != (record->parent_address == 0) ||
        record->parent_revision >= record->revision) {
        return damaged("parent", err);
    }
    if (first != (record->jump_revision == 0) || first != (record->jump_address == 0) ||
        record->jump_revision > record->parent_revision) {
        return damaged("jump", err);
    }
    if (record->trie.height > SIRIX_TRIE_HEIGHT_MAX) {
        return damaged("height", err);
    }
    if (record->adopted_from >= record->revision) {
        return damaged("adopted from", err);
    }
    if (record->adoptions > record->depth ||
        (record->adopted_from != 0 && record->adoptions == 0)) {
        return damaged("adoptions", err);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_record_decode(struct sirix_bytes bytes, struct sirix_record *out_record,
                                      struct sirix_error *err)
{
    const uint8_t *at = bytes.data;
    struct sirix_record record = {0};

    if (bytes.len < AT_TEXTS) {
        return sirix_fail(err, SIRIX_CORRUPT, "revision record: only %zu bytes", bytes.len);
    }
    if (at[0] != RECORD_TYPE || at[1] != RECORD_VERSION) {
        return sirix_fail(err, SIRIX_CORRUPT, "revision record: type %u, version %u is none",
                          (unsigned)at[0], (unsigned)at[1]);
    }
    record.author.len = sirix_load_u16le(at + AT_AUTHOR_LEN);
    record.message.len = sirix_load_u32le(at + AT_MESSAGE_LEN);
    if (record.author.len > SIRIX_AUTHOR_BYTES_MAX ||
        record.message.len > SIRIX_MESSAGE_BYTES_MAX ||
        sirix_record_bytes(record.author.len, record.message.len) > bytes.len) {
        return damaged("length of author or message", err);
    }
    if (sirix_load_u64le(at + AT_SECONDARY) != 0) {
        return damaged("number of secondary roots", err);
    }
    record.revision = sirix_load_u64le(at + AT_REVISION);
    record.time_us = (int64_t)sirix_load_u64le(at + AT_TIME);
    record.parent_revision = sirix_load_u64le(at + AT_PARENT_REVISION);
    record.parent_address = sirix_load_u64le(at + AT_PARENT_ADDRESS);
    record.jump_revision = sirix_load_u64le(at + AT_JUMP_REVISION);
    record.jump_address = sirix_load_u64le(at + AT_JUMP_ADDRESS);
    record.depth = sirix_load_u32le(at + AT_DEPTH);
    record.trie.height = sirix_load_u32le(at + AT_HEIGHT);
    record.branch_id = sirix_load_u64le(at + AT_BRANCH);
    record.trie.root = sirix_load_u64le(at + AT_ROOT);
    record.next_key = sirix_load_u64le(at + AT_NEXT_KEY);
    record.node_count = sirix_load_u64le(at + AT_NODE_COUNT);
    record.text_bytes = sirix_load_u64le(at + AT_TEXT_BYTES);
    record.adopted_from = sirix_load_u64le(at + AT_ADOPTED_FROM);
    record.adoptions = sirix_load_u32le(at + AT_ADOPTIONS);
    record.segment_count = sirix_load_u32le(at + AT_SEGMENT_COUNT);
    memcpy(record.body, at + AT_BODY, SIRIX_HASH_BYTES);
    memcpy(record.chain, at + AT_CHAIN, SIRIX_HASH_BYTES);
    record.author.data = at + AT_TEXTS;
    record.message.data = at + AT_TEXTS + record.author.len;

    enum sirix_status status = check_fields(&record, err);
    if (status == SIRIX_OK) {
        *out_record = record;
    }
    return status;
}

enum sirix_status sirix_record_chain(const struct sirix_record *record, const uint8_t *parent_chain,
                                     uint8_t out_chain[SIRIX_HASH_BYTES], struct sirix_error *err)
{
    /* The parent's chain, the fixed slots without the record's own chain, the author, and the hash of
     * the message, which lets a message be erased without breaking the chain. */
    uint8_t input[SIRIX_HASH_BYTES + AT_TEXTS + SIRIX_AUTHOR_BYTES_MAX + SIRIX_HASH_BYTES];
    size_t len = SIRIX_HASH_BYTES;

    assert(record->author.len <= SIRIX_AUTHOR_BYTES_MAX);
    if (parent_chain != NULL) {
        memcpy(input, parent_chain, SIRIX_HASH_BYTES);
    } else {
        memset(input, 0, SIRIX_HASH_BYTES);
    }
    encode_fixed(record, input + len);
    len += AT_CHAIN;
    if (record->author.len != 0) {
        memcpy(input + len, record->author.data, record->author.len);
        len += record->author.len;
    }
    enum sirix_status status =
        sirix_sha256(record->message.data, record->message.len, input + len, err);
    if (status != SIRIX_OK) {
        return status;
    }
    len += SIRIX_HASH_BYTES;
    return sirix_sha256(input, len, out_chain, err);
}

enum sirix_status sirix_record_read(struct sirix_reader *reader, uint64_t address,
                                    struct sirix_record *out_record, struct sirix_error *err)
{
    struct sirix_bytes bytes = {0};
    enum sirix_status status = sirix_segment_get(reader, address, AT_TEXTS, &bytes, err);

    if (status == SIRIX_OK) {
        status = sirix_record_decode(bytes, out_record, err);
    }
    return status;
}
