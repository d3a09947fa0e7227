/* Sequences in an arena, ranges that are never written out, and iterators over both. */
#include "query/value/sequence.h"

#include <string.h>

#include "base/checked.h"

enum { FIRST_ITEMS = 4 };

struct sirix_sequence sirix_sequence_range(int64_t first, int64_t last)
{
    struct sirix_sequence range = {0};

    if (first <= last) {
        uint64_t more = (uint64_t)last - (uint64_t)first;

        range.is_range = true;
        range.first = first;
        range.count = more == SIZE_MAX ? SIZE_MAX : (size_t)more + 1;
    }
    return range;
}

struct sirix_sequence sirix_sequence_part(const struct sirix_sequence *sequence, size_t first,
                                          size_t count)
{
    struct sirix_sequence part = {.count = count};

    assert(first <= sequence->count && count <= sequence->count - first);

    if (count == 0) {
        return part;
    }
    if (sequence->is_range) {
        part.is_range = true;
        part.first = sequence->first + (int64_t)first;
    } else {
        part.items = sequence->items + first; /* cap 0: appending to a part copies. */
    }
    return part;
}

enum sirix_status sirix_sequence_reserve(struct sirix_work *work, struct sirix_sequence *sequence,
                                         size_t count, struct sirix_query_error *err)
{
    size_t bytes = 0;
    void *memory = NULL;

    if (count < sequence->count) {
        count = sequence->count;
    }
    if (!sequence->is_range && count <= sequence->cap) {
        return SIRIX_OK;
    }
    if (!sirix_mul_size(count, sizeof(struct sirix_item), &bytes)) {
        return sirix_query_fail_limit(err, "memory_bytes", "a sequence of %zu items", count);
    }
    enum sirix_status status = sirix_arena_alloc(work->arena, bytes, &memory, &err->base);
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_item *items = memory;

    if (sequence->is_range) {
        for (size_t i = 0; i < sequence->count; i++) {
            items[i] = sirix_item_integer(sequence->first + (int64_t)i);
        }
        sequence->is_range = false;
    } else if (sequence->count != 0) {
        memcpy(items, sequence->items, sequence->count * sizeof(*items));
    }
    sequence->items = items;
    sequence->cap = count;
    return SIRIX_OK;
}

/* Room for more items, at least doubling. */
static enum sirix_status grow(struct sirix_work *work, struct sirix_sequence *sequence, size_t more,
                              struct sirix_query_error *err)
{
    size_t wanted = 0;
    size_t doubled = 0;

    if (!sequence->is_range && more <= sequence->cap - sequence->count &&
        sequence->cap >= sequence->count) {
        return SIRIX_OK;
    }
    if (!sirix_add_size(sequence->count, more, &wanted)) {
        return sirix_query_fail_limit(err, "memory_bytes", "a sequence of more than 2^64 items");
    }
    if (sirix_mul_size(sequence->count, 2, &doubled) && doubled > wanted) {
        wanted = doubled;
    }
    return sirix_sequence_reserve(work, sequence, wanted < FIRST_ITEMS ? FIRST_ITEMS : wanted, err);
}

enum sirix_status sirix_sequence_append(struct sirix_work *work, struct sirix_sequence *sequence,
                                        struct sirix_item item, struct sirix_query_error *err)
{
    if (sequence->is_range || sequence->cap <= sequence->count) {
        enum sirix_status status = grow(work, sequence, 1, err);

        if (status != SIRIX_OK) {
            return status;
        }
    }
    assert(sequence->items != NULL);
    sequence->items[sequence->count++] = item;
    return SIRIX_OK;
}

enum sirix_status sirix_sequence_append_all(struct sirix_work *work,
                                            struct sirix_sequence *sequence,
                                            const struct sirix_sequence *more,
                                            struct sirix_query_error *err)
{
    if (more->count == 0) {
        return SIRIX_OK;
    }
    if (sequence->count == 0 && sequence->cap == 0) {
        *sequence = *more;
        sequence->cap = 0; /* Shared: the next append copies. */
        return SIRIX_OK;
    }
    if (sequence->is_range && more->is_range &&
        more->first == sequence->first + (int64_t)sequence->count) {
        sequence->count += more->count;
        return SIRIX_OK;
    }
    enum sirix_status status = sequence->cap >= sequence->count &&
                                       more->count <= sequence->cap - sequence->count &&
                                       !sequence->is_range
                                   ? SIRIX_OK
                                   : grow(work, sequence, more->count, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (more->is_range) {
        for (size_t i = 0; i < more->count; i++) {
            sequence->items[sequence->count + i] = sirix_item_integer(more->first + (int64_t)i);
        }
    } else {
        memcpy(sequence->items + sequence->count, more->items,
               more->count * sizeof(struct sirix_item));
    }
    sequence->count += more->count;
    return sirix_work_tick(work, more->count / 16, err);
}

enum sirix_status sirix_sequence_single(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_sequence *out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(work->arena, sizeof(item), &memory, &err->base);

    if (status != SIRIX_OK) {
        return status;
    }
    memcpy(memory, &item, sizeof(item));
    *out = (struct sirix_sequence){.items = memory, .count = 1, .cap = 1};
    return SIRIX_OK;
}

enum sirix_status sirix_sequence_keep(struct sirix_work *work,
                                      const struct sirix_sequence *sequence,
                                      struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence kept = {0};

    if (sequence->is_range || sequence->count == 0) {
        *out = *sequence;
        return SIRIX_OK;
    }
    enum sirix_status status = sirix_sequence_reserve(work, &kept, sequence->count, err);
    for (size_t i = 0; status == SIRIX_OK && i < sequence->count; i++) {
        status = sirix_item_keep(work, sequence->items[i], &kept.items[i], err);
    }
    if (status == SIRIX_OK) {
        kept.count = sequence->count;
        *out = kept;
    }
    return status;
}

static enum sirix_status next_of_sequence(struct sirix_iterator *base, struct sirix_item *out,
                                          struct sirix_query_error *err)
{
    struct sirix_sequence_iterator *iterator = (struct sirix_sequence_iterator *)base;

    (void)err;
    if (iterator->at == iterator->sequence->count) {
        *out = (struct sirix_item){0};
    } else {
        *out = sirix_sequence_at(iterator->sequence, iterator->at++);
    }
    return SIRIX_OK;
}

void sirix_sequence_iterate(struct sirix_sequence_iterator *iterator,
                            const struct sirix_sequence *sequence)
{
    *iterator =
        (struct sirix_sequence_iterator){.iterator.next = next_of_sequence, .sequence = sequence};
}

bool sirix_iterator_rest(const struct sirix_iterator *iterator, struct sirix_sequence *out)
{
    const struct sirix_sequence_iterator *over = (const struct sirix_sequence_iterator *)iterator;

    if (iterator->next != next_of_sequence) {
        return false;
    }
    *out = sirix_sequence_part(over->sequence, over->at, over->sequence->count - over->at);
    return true;
}

enum sirix_status sirix_iterator_drain(struct sirix_work *work, struct sirix_iterator *iterator,
                                       struct sirix_sequence *out, struct sirix_query_error *err)
{
    struct sirix_sequence all = {0};

    if (sirix_iterator_rest(iterator, &all)) { /* Share what is there already. */
        struct sirix_sequence_iterator *over = (struct sirix_sequence_iterator *)iterator;

        over->at = over->sequence->count;
        *out = all;
        return SIRIX_OK;
    }
    for (;;) {
        struct sirix_item item = {0};
        enum sirix_status status = sirix_work_tick(work, 1, err);

        if (status == SIRIX_OK) {
            status = sirix_iterator_next(iterator, &item, err);
        }
        if (status == SIRIX_OK && item.kind != SIRIX_ITEM_NONE) {
            status = sirix_sequence_append(work, &all, item, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        if (item.kind == SIRIX_ITEM_NONE) {
            *out = all;
            return SIRIX_OK;
        }
    }
}

enum sirix_status sirix_iterator_truth(const struct sirix_work *work,
                                       struct sirix_iterator *iterator, bool *out,
                                       struct sirix_query_error *err)
{
    struct sirix_item first = {0};
    struct sirix_item second = {0};
    enum sirix_status status = sirix_iterator_next(iterator, &first, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (first.kind == SIRIX_ITEM_NONE) {
        *out = false;
        return SIRIX_OK;
    }
    if (sirix_item_is_structured(first) && work->strict_truth) {
        return sirix_query_fail(err, "FORG0006",
                                "an %s has no effective boolean value in JSONiq 3.1",
                                sirix_type_name((enum sirix_type)first.type));
    }
    if (!sirix_item_is_structured(first)) {
        status = sirix_iterator_next(iterator, &second, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (second.kind != SIRIX_ITEM_NONE) {
            return sirix_query_fail(err, "FORG0006",
                                    "a sequence of several items has no effective boolean value");
        }
    }
    return sirix_item_truth(first, out, err);
}

enum sirix_status sirix_sequence_truth(const struct sirix_work *work,
                                       const struct sirix_sequence *sequence, bool *out,
                                       struct sirix_query_error *err)
{
    struct sirix_sequence_iterator over = {0};

    sirix_sequence_iterate(&over, sequence);
    return sirix_iterator_truth(work, &over.iterator, out, err);
}
