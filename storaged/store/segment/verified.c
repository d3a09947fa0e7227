/*
 * Three levels of 512 pointers over chunks of 65,536 bits: 9 + 9 + 9 + 16 bits of the number. A node
 * is published by compare-and-exchange; who comes second frees its own.
 */
#include "store/segment/verified.h"

#include <assert.h>
#include <stdlib.h>

enum {
    CHUNK_BITS = 16,
    NODE_BITS = 9,
    NODE_LEVELS = 3,
    NODE_POINTERS = 1 << NODE_BITS,
    WORD_BITS = 64,
    CHUNK_WORDS = (1 << CHUNK_BITS) / WORD_BITS,
};

struct node {
    _Atomic(void *) below[NODE_POINTERS];
};

struct chunk {
    _Atomic uint64_t words[CHUNK_WORDS];
};

void sirix_verified_init(struct sirix_verified *verified)
{
    atomic_init(&verified->root, NULL);
}

/* Frees what lies under a slot; `level` nodes deep, a constant. */
static void free_below(_Atomic(void *) *slot, unsigned level)
{
    struct node *node = atomic_load(slot);

    for (size_t i = 0; node != NULL && level > 0 && i < NODE_POINTERS; i++) {
        free_below(&node->below[i], level - 1);
    }
    free(node);
    atomic_store(slot, NULL);
}

void sirix_verified_deinit(struct sirix_verified *verified)
{
    free_below(&verified->root, NODE_LEVELS);
}

/* What *slot points to, making it of size bytes if asked to; NULL when absent or out of memory. */
static void *follow(_Atomic(void *) *slot, size_t size, bool make)
{
    void *found = atomic_load_explicit(slot, memory_order_acquire);

    if (found != NULL || !make) {
        return found;
    }
    void *made = calloc(1, size);
    if (made == NULL) {
        return NULL;
    }
    if (!atomic_compare_exchange_strong(slot, &found, made)) {
        free(made);
        return found;
    }
    return made;
}

static _Atomic uint64_t *word_of(struct sirix_verified *verified, uint64_t number, bool make)
{
    _Atomic(void *) *slot = &verified->root;

    assert(number >> (CHUNK_BITS + NODE_BITS * NODE_LEVELS) == 0);

    for (unsigned level = NODE_LEVELS; level > 0; level--) {
        struct node *node = follow(slot, sizeof(*node), make);
        if (node == NULL) {
            return NULL;
        }
        slot = &node->below[(number >> (CHUNK_BITS + NODE_BITS * (level - 1))) % NODE_POINTERS];
    }
    struct chunk *chunk = follow(slot, sizeof(*chunk), make);
    return chunk == NULL ? NULL : &chunk->words[(number / WORD_BITS) % CHUNK_WORDS];
}

static uint64_t bit_of(uint64_t number)
{
    return UINT64_C(1) << (number % WORD_BITS);
}

bool sirix_verified_has(struct sirix_verified *verified, uint64_t number)
{
    _Atomic uint64_t *word = word_of(verified, number, false);

    return word != NULL && (atomic_load_explicit(word, memory_order_relaxed) & bit_of(number)) != 0;
}

void sirix_verified_add(struct sirix_verified *verified, uint64_t number)
{
    _Atomic uint64_t *word = word_of(verified, number, true);

    if (word != NULL) {
        atomic_fetch_or_explicit(word, bit_of(number), memory_order_relaxed);
    }
}

void sirix_verified_remove(struct sirix_verified *verified, uint64_t number)
{
    _Atomic uint64_t *word = word_of(verified, number, false);

    if (word != NULL) {
        atomic_fetch_and_explicit(word, ~bit_of(number), memory_order_relaxed);
    }
}
