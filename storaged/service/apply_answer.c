/*
 * What is kept of an Apply's answer:
 *
 *     byte 0        1: the operations follow; 0: they were too many
 *     varint        their number
 *     per operation byte kind | 0x40 equal_value | 0x80 changed, varint number of keys,
 *                   varint per key: its difference to the one before, zigzag (the first one's: to 0)
 *
 * of a patch or diff:
 *
 *     byte 0        2: all follows; 3: the keys were too many; | 0x80: nothing changed
 *     3 varints     applied, already, tests
 *     varint        the number of keys (not in form 3)
 *     per key       two varints: source_key's difference to the one before (it rises), and node_key's
 *                   to the one before, zigzag
 */
#include <string.h>

#include "base/varint.h"
#include "service/apply.h"

enum {
    FORM_NONE = 0,
    FORM_OPERATIONS = 1,
    FORM_SOURCE = 2,
    FORM_COUNTS = 3,
    KIND_MASK = 0x3f,
    EQUAL_BIT = 0x40,
    CHANGED_BIT = 0x80,
    UNCHANGED_BIT = 0x80,
};

static uint64_t zigzag(uint64_t difference)
{
    return (difference << 1) ^ (uint64_t)(-(int64_t)(difference >> 63));
}

static uint64_t unzigzag(uint64_t value)
{
    return (value >> 1) ^ (uint64_t)(-(int64_t)(value & 1));
}

static enum sirix_status encode_operation(const struct sirix_operation_result *operation,
                                          struct sirix_buf *out, struct sirix_error *err)
{
    uint8_t head = (uint8_t)((unsigned)operation->kind | (operation->equal_value ? EQUAL_BIT : 0U) |
                             (operation->changed ? CHANGED_BIT : 0U));
    uint64_t before = 0;

    enum sirix_status status = sirix_buf_append_u8(out, head, err);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_varint(out, operation->node_key_count, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < operation->node_key_count; i++) {
        status = sirix_buf_append_varint(out, zigzag(operation->node_keys[i] - before), err);
        before = operation->node_keys[i];
    }
    return status;
}

static enum sirix_status encode_operations(const struct sirix_apply_result *result,
                                           struct sirix_buf *out, struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_u8(out, FORM_OPERATIONS, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_varint(out, result->operation_count, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < result->operation_count; i++) {
        status = encode_operation(&result->operations[i], out, err);
    }
    return status;
}

static enum sirix_status encode_counts(const struct sirix_apply_result *result, uint8_t form,
                                       struct sirix_buf *out, struct sirix_error *err)
{
    const uint64_t counts[] = {result->applied, result->already, result->tests};
    enum sirix_status status = sirix_buf_append_u8(out, form, err);

    for (size_t i = 0; status == SIRIX_OK && i < sizeof(counts) / sizeof(counts[0]); i++) {
        status = sirix_buf_append_varint(out, counts[i], err);
    }
    return status;
}

static enum sirix_status encode_source(const struct sirix_apply_result *result,
                                       struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_key_pair before = {.source_key = 0, .node_key = 0};
    enum sirix_status status = encode_counts(result, FORM_SOURCE, out, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_varint(out, result->key_count, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < result->key_count; i++) {
        const struct sirix_key_pair *pair = &result->keys[i];
        status = sirix_buf_append_varint(out, pair->source_key - before.source_key, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_varint(out, zigzag(pair->node_key - before.node_key), err);
        }
        before = *pair;
    }
    return status;
}

void sirix_apply_answer_unchanged(struct sirix_buf *answer)
{
    if (answer->len != 0 && (answer->data[0] == FORM_SOURCE || answer->data[0] == FORM_COUNTS)) {
        answer->data[0] |= UNCHANGED_BIT;
    }
}

enum sirix_status sirix_apply_answer_encode(enum sirix_apply_source source,
                                            const struct sirix_apply_result *result,
                                            struct sirix_buf *out, struct sirix_error *err)
{
    struct sirix_error too_long = {0};
    bool operations = source == SIRIX_APPLY_OPERATIONS;

    sirix_buf_init(out, SIRIX_RIDER_ANSWER_BYTES_MAX);
    enum sirix_status status = operations ? encode_operations(result, out, &too_long)
                                          : encode_source(result, out, &too_long);
    if (status == SIRIX_EXHAUSTED) {
        sirix_buf_clear(out);
        return operations ? sirix_buf_append_u8(out, FORM_NONE, err)
                          : encode_counts(result, FORM_COUNTS, out, err);
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = too_long;
    }
    return status;
}

struct answer_cursor {
    const uint8_t *at;
    const uint8_t *end;
};

static bool take(struct answer_cursor *cursor, uint64_t *out)
{
    size_t size = sirix_varint_decode(cursor->at, (size_t)(cursor->end - cursor->at), out);

    cursor->at += size;
    return size != 0;
}

static enum sirix_status decode_operation(struct answer_cursor *cursor, struct sirix_arena *arena,
                                          struct sirix_operation_result *operation,
                                          struct sirix_error *err)
{
    uint64_t keys = 0;
    uint64_t difference = 0;
    uint64_t before = 0;
    void *memory = NULL;

    if (cursor->at == cursor->end) {
        return sirix_fail(err, SIRIX_CORRUPT, "a kept answer ends early");
    }
    uint8_t head = *cursor->at++;
    if (!take(cursor, &keys) || keys > (uint64_t)(cursor->end - cursor->at)) {
        return sirix_fail(err, SIRIX_CORRUPT, "a kept answer has a wrong number of keys");
    }
    enum sirix_status status =
        sirix_arena_calloc(arena, (size_t)keys, sizeof(uint64_t), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    *operation = (struct sirix_operation_result){
        .node_keys = memory,
        .node_key_count = (size_t)keys,
        .kind = (enum sirix_value_kind)(head & KIND_MASK),
        .equal_value = (head & EQUAL_BIT) != 0,
        .changed = (head & CHANGED_BIT) != 0,
    };
    for (size_t i = 0; i < keys; i++) {
        if (!take(cursor, &difference)) {
            return sirix_fail(err, SIRIX_CORRUPT, "a kept answer ends early");
        }
        before += unzigzag(difference);
        operation->node_keys[i] = before;
    }
    return SIRIX_OK;
}

static enum sirix_status decode_operations(struct answer_cursor *cursor, struct sirix_arena *arena,
                                           struct sirix_apply_result *result,
                                           struct sirix_error *err)
{
    uint64_t count = 0;
    void *memory = NULL;

    if (!take(cursor, &count) || count > (uint64_t)(cursor->end - cursor->at)) {
        return sirix_fail(err, SIRIX_CORRUPT, "a kept answer has a wrong number of operations");
    }
    enum sirix_status status = sirix_arena_calloc(
        arena, (size_t)count, sizeof(struct sirix_operation_result), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    result->operations = memory;
    result->operation_count = (size_t)count;
    result->operations_known = true;
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        status = decode_operation(cursor, arena, &result->operations[i], err);
    }
    return status;
}

static enum sirix_status decode_keys(struct answer_cursor *cursor, struct sirix_arena *arena,
                                     struct sirix_apply_result *result, struct sirix_error *err)
{
    struct sirix_key_pair before = {.source_key = 0, .node_key = 0};
    uint64_t count = 0;
    void *memory = NULL;

    if (!take(cursor, &count) || count > (uint64_t)(cursor->end - cursor->at)) {
        return sirix_fail(err, SIRIX_CORRUPT, "a kept answer has a wrong number of keys");
    }
    enum sirix_status status =
        sirix_arena_calloc(arena, (size_t)count, sizeof(struct sirix_key_pair), &memory, err);
    if (status != SIRIX_OK) {
        return status;
    }
    result->keys = memory;
    result->key_count = (size_t)count;
    result->operations_known = true;
    for (size_t i = 0; i < count; i++) {
        uint64_t source = 0;
        uint64_t node = 0;
        if (!take(cursor, &source) || !take(cursor, &node)) {
            return sirix_fail(err, SIRIX_CORRUPT, "a kept answer ends early");
        }
        before.source_key += source;
        before.node_key += unzigzag(node);
        result->keys[i] = before;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_apply_answer_decode(struct sirix_bytes answer, struct sirix_arena *arena,
                                            struct sirix_apply_result *result,
                                            struct sirix_error *err)
{
    struct answer_cursor cursor = {.at = answer.data,
                                   .end = (const uint8_t *)answer.data + answer.len};
    uint8_t head = answer.len == 0 ? FORM_NONE : *cursor.at++;
    uint8_t form = head & (uint8_t)~UNCHANGED_BIT;

    result->operations_known = false;
    if (form == FORM_NONE) {
        return SIRIX_OK;
    }
    if (form == FORM_OPERATIONS) {
        return decode_operations(&cursor, arena, result, err);
    }
    if ((form != FORM_SOURCE && form != FORM_COUNTS) || !take(&cursor, &result->applied) ||
        !take(&cursor, &result->already) || !take(&cursor, &result->tests)) {
        return sirix_fail(err, SIRIX_CORRUPT, "a kept answer has no form that is known");
    }
    result->result.changed = (head & UNCHANGED_BIT) == 0;
    return form == FORM_SOURCE ? decode_keys(&cursor, arena, result, err) : SIRIX_OK;
}
