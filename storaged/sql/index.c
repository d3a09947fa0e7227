/* Chains through one array, newest first while they are made, then turned round. */
#include "sql/index.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_ENTRIES = 1024, NUMBER_BYTES_MAX = 63 };

struct entry {
    uint64_t hash;
    uint64_t key;
    uint32_t next; /* Entry + 1; 0: the last. */
};

struct sirix_sql_index {
    struct entry *entries; /* SQLite's memory, so that its limit holds. */
    uint32_t *slots;
    size_t count;
    size_t cap;
    size_t slot_count; /* A power of two. */
};

enum sirix_status sirix_sql_index_new(struct sirix_sql_index **out_index, struct sirix_error *err)
{
    struct sirix_sql_index *index = sqlite3_malloc(sizeof(*index));

    if (index == NULL) {
        return sirix_sql_no_memory(err);
    }
    *index = (struct sirix_sql_index){0};
    *out_index = index;
    return SIRIX_OK;
}

void sirix_sql_index_free(struct sirix_sql_index *index)
{
    if (index != NULL) {
        sqlite3_free(index->entries);
        sqlite3_free(index->slots);
        sqlite3_free(index);
    }
}

static uint64_t mix(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    hash ^= hash >> 32;
    hash *= UINT64_C(0xd6e8feb86659fd93);
    return hash ^ (hash >> 32);
}

static uint64_t hash_real(double real)
{
    uint64_t bits = 0;

    real = real == 0 ? 0 : real; /* -0 is 0. */
    memcpy(&bits, &real, sizeof(bits));
    return mix(bits);
}

/* A text that reads as a number has the number's hash: SQLite may compare it as one. */
static uint64_t hash_text(struct sirix_bytes text)
{
    enum { FNV_BITS_PRIME = 0x1b3 };
    char copy[NUMBER_BYTES_MAX + 1];
    const uint8_t *at = text.data;
    uint64_t hash = UINT64_C(0xcbf29ce484222325);

    if (text.len != 0 && text.len <= NUMBER_BYTES_MAX) {
        char *end = NULL;

        memcpy(copy, text.data, text.len);
        copy[text.len] = '\0';
        const double real = strtod(copy, &end);
        while (*end == ' ' || (*end >= '\t' && *end <= '\r')) {
            end++;
        }
        if (end != copy && *end == '\0' && isfinite(real)) {
            return hash_real(real);
        }
    }
    for (size_t i = 0; i < text.len; i++) {
        hash = (hash ^ at[i]) * ((UINT64_C(1) << 40) + FNV_BITS_PRIME);
    }
    return mix(hash);
}

static bool hash_value(const struct sirix_sql_value *value, uint64_t *out_hash)
{
    switch (value->kind) {
    case SIRIX_SQL_INTEGER:
        *out_hash = hash_real((double)value->integer);
        return true;
    case SIRIX_SQL_REAL:
        *out_hash = hash_real(value->real);
        return true;
    case SIRIX_SQL_TEXT:
        *out_hash = hash_text(value->bytes);
        return true;
    default:
        return false;
    }
}

enum sirix_status sirix_sql_index_add(struct sirix_sql_index *index,
                                      const struct sirix_sql_value *value, uint64_t key,
                                      struct sirix_error *err)
{
    uint64_t hash = 0;

    if (!hash_value(value, &hash)) {
        return SIRIX_OK;
    }
    if (index->count == index->cap) {
        const size_t cap = index->cap == 0 ? FIRST_ENTRIES : index->cap * 2;
        struct entry *grown =
            cap > UINT32_MAX / 2 ? NULL : sqlite3_realloc64(index->entries, cap * sizeof(*grown));

        if (grown == NULL) {
            return sirix_sql_no_memory(err);
        }
        index->entries = grown;
        index->cap = cap;
    }
    index->entries[index->count++] = (struct entry){.hash = hash, .key = key};
    return SIRIX_OK;
}

enum sirix_status sirix_sql_index_finish(struct sirix_sql_index *index, struct sirix_error *err)
{
    index->slot_count = FIRST_ENTRIES;
    while (index->slot_count < index->count) {
        index->slot_count *= 2;
    }
    index->slots = sqlite3_malloc64(index->slot_count * sizeof(*index->slots));
    if (index->slots == NULL) {
        return sirix_sql_no_memory(err);
    }
    memset(index->slots, 0, index->slot_count * sizeof(*index->slots));
    for (size_t i = index->count; i-- != 0;) {
        uint32_t *slot = &index->slots[index->entries[i].hash & (index->slot_count - 1)];

        index->entries[i].next = *slot;
        *slot = (uint32_t)i + 1;
    }
    return SIRIX_OK;
}

/* The first entry from a chain's place on that has the hash, + 1; 0: none. */
static size_t same_hash(const struct sirix_sql_index *index, size_t at, uint64_t hash)
{
    while (at != 0 && index->entries[at - 1].hash != hash) {
        at = index->entries[at - 1].next;
    }
    return at;
}

size_t sirix_sql_index_find(const struct sirix_sql_index *index,
                            const struct sirix_sql_value *value)
{
    uint64_t hash = 0;

    return hash_value(value, &hash)
               ? same_hash(index, index->slots[hash & (index->slot_count - 1)], hash)
               : 0;
}

bool sirix_sql_index_next(const struct sirix_sql_index *index, size_t *at, uint64_t *out_key)
{
    if (*at == 0) {
        return false;
    }
    const struct entry *entry = &index->entries[*at - 1];

    *out_key = entry->key;
    *at = same_hash(index, entry->next, entry->hash);
    return true;
}
