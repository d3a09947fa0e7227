/*
 * Sequences and iterators.
 *
 * A sequence is an array of items in an arena, or a range of integers that is never written out
 * (`1 to 1000000000` takes no memory): read it through sirix_sequence_at(). Copying the struct shares
 * the items; whoever appends owns the struct alone.
 *
 * An iterator gives one item a call and is pulled; kind NONE is the end, and asking again after it
 * gives the end again.
 */
#ifndef SIRIX_QUERY_VALUE_SEQUENCE_H
#define SIRIX_QUERY_VALUE_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "query/value/item.h"

/* A zeroed one is the empty sequence. */
struct sirix_sequence {
    struct sirix_item *items; /* NULL when empty or a range. */
    size_t count;
    size_t cap;
    bool is_range;
    uint32_t stamp; /* Of the variable that holds it, for the run alone; else 0. */
    int64_t first;  /* is_range: item i is first + i. */
};

struct sirix_iterator {
    /* Writes the next item, or one of kind NONE, on success only. */
    enum sirix_status (*next)(struct sirix_iterator *iterator, struct sirix_item *out,
                              struct sirix_query_error *err);
    /* Gives back what is not in an arena (cursors of the store); NULL: nothing. Called at most once. */
    void (*close)(struct sirix_iterator *iterator);
};

static inline enum sirix_status SIRIX_MUST_CHECK sirix_iterator_next(
    struct sirix_iterator *iterator, struct sirix_item *out, struct sirix_query_error *err)
{
    return iterator->next(iterator, out, err);
}

static inline void sirix_iterator_close(struct sirix_iterator *iterator)
{
    if (iterator != NULL && iterator->close != NULL) {
        iterator->close(iterator);
        iterator->close = NULL;
    }
}

/* Item number i (i < count), from 0. */
static inline struct sirix_item sirix_sequence_at(const struct sirix_sequence *sequence, size_t i)
{
    return sequence->is_range ? sirix_item_integer(sequence->first + (int64_t)i)
                              : sequence->items[i];
}

/* A sequence of one item that the caller keeps. */
static inline struct sirix_sequence sirix_sequence_of(struct sirix_item *item)
{
    return (struct sirix_sequence){.items = item, .count = 1};
}

/* first to last; empty when last < first. */
struct sirix_sequence sirix_sequence_range(int64_t first, int64_t last);

/* Part of a sequence, sharing its items; first and count are within it. */
struct sirix_sequence sirix_sequence_part(const struct sirix_sequence *sequence, size_t first,
                                          size_t count);

/* Makes room for count items in all, in work->arena. */
enum sirix_status sirix_sequence_reserve(struct sirix_work *work, struct sirix_sequence *sequence,
                                         size_t count,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Adds an item at the end; a range is written out first. Amortised O(1). */
enum sirix_status sirix_sequence_append(struct sirix_work *work, struct sirix_sequence *sequence,
                                        struct sirix_item item,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Adds all items of another one; appending to an empty one shares instead of copying. */
enum sirix_status sirix_sequence_append_all(struct sirix_work *work,
                                            struct sirix_sequence *sequence,
                                            const struct sirix_sequence *more,
                                            struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A sequence of one item in the arena. */
enum sirix_status sirix_sequence_single(struct sirix_work *work, struct sirix_item item,
                                        struct sirix_sequence *out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* sirix_item_keep() of every item. */
enum sirix_status sirix_sequence_keep(struct sirix_work *work,
                                      const struct sirix_sequence *sequence,
                                      struct sirix_sequence *out,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* An iterator over a sequence; both structs are the caller's, in any memory. */
struct sirix_sequence_iterator {
    struct sirix_iterator iterator; /* First. */
    const struct sirix_sequence *sequence;
    size_t at;
};
void sirix_sequence_iterate(struct sirix_sequence_iterator *iterator,
                            const struct sirix_sequence *sequence);

/* Whether an iterator goes over a sequence; what is left of it, sharing its items, without taking any. */
bool sirix_iterator_rest(const struct sirix_iterator *iterator, struct sirix_sequence *out);

/* All that is left of an iterator, in work->arena; a tick an item. */
enum sirix_status sirix_iterator_drain(struct sirix_work *work, struct sirix_iterator *iterator,
                                       struct sirix_sequence *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Effective boolean value: false when empty; the first item structured: true, or
 * FORG0006 where work says so; else FORG0006 when several. */
enum sirix_status sirix_sequence_truth(const struct sirix_work *work,
                                       const struct sirix_sequence *sequence, bool *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_iterator_truth(const struct sirix_work *work,
                                       struct sirix_iterator *iterator, bool *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
