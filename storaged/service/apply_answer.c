/*
 * What is kept of an Apply's answer:
 *
 *     byte 0        1: the operations follow; 0: they were too many
 *     varint        their number
 *     per operation byte kind | 0x40 equal_value | 0x80 changed, varint number of keys,
 *                   varint per key: its difference to the one before, zigzag (the first one's: to 0)
 */
#include <string.h>

#include "base/varint.h"
#include "service/apply.h"

enum { FORM_NONE = 0, FORM_OPERATIONS = 1, KIND_MASK = 0x3f, EQUAL_BIT = 0x40, CHANGED_BIT = 0x80 };

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

enum sirix_status sirix_apply_answer_encode(const struct sirix_operation_result *operations,
                                            size_t count, struct sirix_buf *out,
                                            struct sirix_error *err)
{
    struct sirix_error too_long = {0};

    sirix_buf_init(out, SIRIX_RIDER_ANSWER_BYTES_MAX);
    enum sirix_status status = sirix_buf_append_u8(out, FORM_OPERATIONS, &too_long);
    if (status == SIRIX_OK) {
        status = sirix_buf_append_varint(out, count, &too_long);
    }
    for (size_t i = 0; status == SIRIX_OK && i < count; i++) {
        status = encode_operation(&operations[i], out, &too_long);
    }
    if (status == SIRIX_EXHAUSTED) {
        sirix_buf_clear(out);
        return sirix_buf_append_u8(out, FORM_NONE, err);
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

enum sirix_status sirix_apply_answer_decode(struct sirix_bytes answer, struct sirix_arena *arena,
                                            struct sirix_apply_result *result,
                                            struct sirix_error *err)
{
    struct answer_cursor cursor = {.at = answer.data,
                                   .end = (const uint8_t *)answer.data + answer.len};
    uint64_t count = 0;
    void *memory = NULL;

    if (answer.len == 0 || *cursor.at == FORM_NONE) {
        result->operations_known = false;
        return SIRIX_OK;
    }
    cursor.at++;
    if (!take(&cursor, &count) || count > (uint64_t)(cursor.end - cursor.at)) {
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
        status = decode_operation(&cursor, arena, &result->operations[i], err);
    }
    return status;
}
