/*
 * Objects and arrays: one small table of operations, two implementations.
 *
 *   in memory      made here, mutable by the functions at the end of this file
 *   in the store   made by storaged/query/node; nothing is copied, children are read when asked for
 *
 * struct sirix_container is the beginning of the implementation's own struct. Many items of the store
 * may share one (a view of a revision); the item's origin then says which node it is. Names are plain
 * UTF-8. Children that are given out live as long as the container's arena, or work->arena.
 */
#ifndef SIRIX_QUERY_VALUE_CONTAINER_H
#define SIRIX_QUERY_VALUE_CONTAINER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/bytes.h"
#include "query/value/item.h"
#include "query/value/sequence.h"

struct sirix_container_ops;

struct sirix_container {
    const struct sirix_container_ops *ops;
};

enum { SIRIX_CURSOR_WORDS = 6 };

/* A walk over the children in order. The caller's; the words are the implementation's. */
struct sirix_cursor {
    struct sirix_item container;
    uint64_t words[SIRIX_CURSOR_WORDS];
    void *state; /* In work->arena of the start, or NULL. */
};

struct sirix_container_ops {
    bool is_stored; /* The items of this one live in the store. */

    /* The number of members. */
    enum sirix_status (*size)(struct sirix_work *work, struct sirix_item container, uint64_t *out,
                              struct sirix_query_error *err);
    /* An array's element by position from 0; kind NONE beyond the last. */
    enum sirix_status (*element)(struct sirix_work *work, struct sirix_item array,
                                 uint64_t position, struct sirix_item *out,
                                 struct sirix_query_error *err);
    /* An object's field; kind NONE when there is none of that name. */
    enum sirix_status (*field)(struct sirix_work *work, struct sirix_item object,
                               struct sirix_bytes name, struct sirix_item *out,
                               struct sirix_query_error *err);
    /*
     * Starts a walk, and gives the next child: kind NONE at the end. out_name (may be NULL: then
     * nothing is spent on it) gets a field's name; empty for elements.
     */
    enum sirix_status (*start)(struct sirix_work *work, struct sirix_item container,
                               struct sirix_cursor *out, struct sirix_query_error *err);
    enum sirix_status (*next)(struct sirix_work *work, struct sirix_cursor *cursor,
                              struct sirix_bytes *out_name, struct sirix_item *out,
                              struct sirix_query_error *err);
};

static inline const struct sirix_container_ops *sirix_container_ops(struct sirix_item container)
{
    return container.value.container->ops;
}

static inline bool sirix_container_is_stored(struct sirix_item container)
{
    return sirix_container_ops(container)->is_stored;
}

/* The operations; see above. size also serves objects. */
static inline enum sirix_status SIRIX_MUST_CHECK sirix_container_size(struct sirix_work *work,
                                                                      struct sirix_item container,
                                                                      uint64_t *out,
                                                                      struct sirix_query_error *err)
{
    return sirix_container_ops(container)->size(work, container, out, err);
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_array_element(struct sirix_work *work,
                                                                     struct sirix_item array,
                                                                     uint64_t position,
                                                                     struct sirix_item *out,
                                                                     struct sirix_query_error *err)
{
    return sirix_container_ops(array)->element(work, array, position, out, err);
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_object_field(struct sirix_work *work,
                                                                    struct sirix_item object,
                                                                    struct sirix_bytes name,
                                                                    struct sirix_item *out,
                                                                    struct sirix_query_error *err)
{
    return sirix_container_ops(object)->field(work, object, name, out, err);
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_cursor_start(struct sirix_work *work,
                                                                    struct sirix_item container,
                                                                    struct sirix_cursor *out,
                                                                    struct sirix_query_error *err)
{
    return sirix_container_ops(container)->start(work, container, out, err);
}

static inline enum sirix_status SIRIX_MUST_CHECK sirix_cursor_next(struct sirix_work *work,
                                                                   struct sirix_cursor *cursor,
                                                                   struct sirix_bytes *out_name,
                                                                   struct sirix_item *out,
                                                                   struct sirix_query_error *err)
{
    return sirix_container_ops(cursor->container)->next(work, cursor, out_name, out, err);
}

/* Whether two structured items are the same one (not only equal). */
bool sirix_container_same(struct sirix_item a, struct sirix_item b);

/* --- In memory --------------------------------------------------------------------------------- */

/*
 * An empty container in work->arena, with room for count members. It grows in the arena of the work
 * that a later call is given, which must live as long.
 */
enum sirix_status sirix_object_new(struct sirix_work *work, size_t count, struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_array_new(struct sirix_work *work, size_t count, struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* An array of all items of a sequence. */
enum sirix_status sirix_array_from(struct sirix_work *work, const struct sirix_sequence *items,
                                   struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * What a sequence is as the value of a field or an element: the item itself, null for none, an array
 * for several.
 */
enum sirix_status sirix_item_from_sequence(struct sirix_work *work,
                                           const struct sirix_sequence *sequence,
                                           struct sirix_item *out,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * The same for the maps and arrays of XQuery 3.1, whose members are sequences: what stands for none or
 * several is marked SIRIX_ITEM_SPREADS, and sirix_item_spread() gives the sequence back. Everywhere else
 * the marked item is a null or an array like any other.
 */
enum sirix_status sirix_item_box_sequence(struct sirix_work *work,
                                          const struct sirix_sequence *sequence,
                                          struct sirix_item *out,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_item_spread(struct sirix_work *work, struct sirix_item member,
                                    struct sirix_sequence *out,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Adds a field at the end; JNDY0003 when the name is there. The name is borrowed. */
enum sirix_status sirix_object_add(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_bytes name, struct sirix_item value,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Sets a field: in its place, or at the end. */
enum sirix_status sirix_object_set(struct sirix_work *work, struct sirix_item item,
                                   struct sirix_bytes name, struct sirix_item value,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Removes or renames a field, keeping the order; whether it was there. */
bool sirix_object_remove(struct sirix_item item, struct sirix_bytes name);
enum sirix_status sirix_object_rename(struct sirix_work *work, struct sirix_item item,
                                      struct sirix_bytes name, struct sirix_bytes new_name,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Puts an element before position (position == size: at the end), replaces and removes one. */
enum sirix_status sirix_array_insert(struct sirix_work *work, struct sirix_item item,
                                     size_t position, struct sirix_item value,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_array_append(struct sirix_work *work, struct sirix_item item,
                                     struct sirix_item value,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
void sirix_array_replace(struct sirix_item item, size_t position, struct sirix_item value);
void sirix_array_remove(struct sirix_item item, size_t position);

/* The elements of an in-memory array without a copy; valid until it changes. */
struct sirix_sequence sirix_array_view(struct sirix_item item);

/* Adds the members of an array, those of arrays within it in their places, to a sequence. No C recursion. */
enum sirix_status sirix_array_flatten(struct sirix_work *work, struct sirix_item array,
                                      struct sirix_sequence *to,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* sirix_item_keep() of a container. */
enum sirix_status sirix_container_keep(struct sirix_work *work, struct sirix_item item,
                                       struct sirix_item *out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * A deep copy in memory of any item, items of the store included; new identity, no origins. Depth is
 * bounded by SIRIX_VALUE_DEPTH_MAX; ticks each node.
 */
enum { SIRIX_VALUE_DEPTH_MAX = 1000 };
enum sirix_status sirix_item_copy(struct sirix_work *work, struct sirix_item item,
                                  struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
