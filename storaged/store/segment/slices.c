/*
 * Open addressing with a stamp a slot: forgetting everything is one addition, so that a yield costs
 * nothing however much was read before it.
 */
#include "store/segment/slices.h"

#include <assert.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/hash.h"

struct sirix_slice_slot {
    uint64_t key;
    const void *data;
    uint32_t len;
    uint32_t stamp;
};

struct sirix_slice_copy {
    struct sirix_slice_copy *next;
    uint8_t misaligning[2];
    uint8_t bytes[];
};

enum { SLOTS_MIN = 256 };

void sirix_slices_init(struct sirix_slices *slices)
{
    *slices = (struct sirix_slices){.stamp = 1};
}

static void free_copies(struct sirix_slices *slices)
{
    while (slices->copies != NULL) {
        struct sirix_slice_copy *copy = slices->copies;

        slices->copies = copy->next;
        free(copy);
    }
}

void sirix_slices_deinit(struct sirix_slices *slices)
{
    free_copies(slices);
    free(slices->slots);
    sirix_slices_init(slices);
}

static void forget_all(struct sirix_slices *slices)
{
    slices->used = 0;
    slices->stamp++;
    if (slices->stamp == 0) {
        for (size_t i = 0; i < slices->slot_count; i++) {
            slices->slots[i].stamp = 0;
        }
        slices->stamp = 1;
    }
}

void sirix_slices_clear(struct sirix_slices *slices)
{
    free_copies(slices);
    forget_all(slices);
}

/* The slot of key, or the free one where it would go. The table is never full. */
static struct sirix_slice_slot *slot_of(const struct sirix_slices *slices, uint64_t key)
{
    size_t mask = slices->slot_count - 1;
    size_t at = (size_t)sirix_mix64(key) & mask;

    while (slices->slots[at].stamp == slices->stamp && slices->slots[at].key != key) {
        at = (at + 1) & mask;
    }
    return &slices->slots[at];
}

bool sirix_slices_find(const struct sirix_slices *slices, uint64_t key,
                       struct sirix_bytes *out_bytes)
{
    if (slices->used == 0) {
        return false;
    }

    const struct sirix_slice_slot *slot = slot_of(slices, key);
    if (slot->stamp != slices->stamp) {
        return false;
    }
    *out_bytes = (struct sirix_bytes){.data = slot->data, .len = slot->len};
    return true;
}

/* Doubles the table; false when there is no memory for it. */
static bool grow(struct sirix_slices *slices)
{
    struct sirix_slices wider = *slices;

    wider.slot_count = slices->slot_count == 0 ? SLOTS_MIN : 2 * slices->slot_count;
    wider.slots = calloc(wider.slot_count, sizeof(*wider.slots));
    if (wider.slots == NULL) {
        return false;
    }
    for (size_t i = 0; i < slices->slot_count; i++) {
        if (slices->slots[i].stamp == slices->stamp) {
            *slot_of(&wider, slices->slots[i].key) = slices->slots[i];
        }
    }
    free(slices->slots);
    *slices = wider;
    return true;
}

void sirix_slices_remember(struct sirix_slices *slices, uint64_t key, struct sirix_bytes bytes)
{
    assert(bytes.len <= UINT32_MAX);

    if (slices->used == SIRIX_SLICES_MAX) {
        forget_all(slices);
    } else if (2 * (slices->used + 1) > slices->slot_count && !grow(slices)) {
        return;
    }

    struct sirix_slice_slot *slot = slot_of(slices, key);
    if (slot->stamp != slices->stamp) {
        slices->used++;
    }
    *slot = (struct sirix_slice_slot){
        .key = key, .data = bytes.data, .len = (uint32_t)bytes.len, .stamp = slices->stamp};
}

enum sirix_status sirix_slices_copy(struct sirix_slices *slices, struct sirix_bytes bytes,
                                    struct sirix_bytes *out_copy, struct sirix_error *err)
{
    size_t size = 0;
    struct sirix_slice_copy *copy = NULL;

    if (sirix_add_size(offsetof(struct sirix_slice_copy, bytes), bytes.len, &size)) {
        copy = malloc(size < sizeof(*copy) ? sizeof(*copy) : size);
    }
    if (copy == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "copy %zu bytes of storage", bytes.len);
    }
    if (bytes.len != 0) {
        memcpy(copy->bytes, bytes.data, bytes.len);
    }
    copy->next = slices->copies;
    slices->copies = copy;
    *out_copy = (struct sirix_bytes){.data = copy->bytes, .len = bytes.len};
    return SIRIX_OK;
}
