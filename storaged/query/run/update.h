/*
 * Updates are collected while an expression runs and applied when it is over: all of them see the values
 * as they were. What is to be put in is copied when it is collected.
 *
 * Targets    in memory: a container with a field or a position. In the store: the item that is changed
 *            (delete, replace, rename) or the container (insert); its origin says which.
 * Conflicts  JNUP0005 two inserts of one field, JNUP0009 two replaces, JNUP0010 two renames of one target.
 *
 * Private to this folder, storaged/query/node and the door.
 */
#ifndef SIRIX_QUERY_RUN_UPDATE_H
#define SIRIX_QUERY_RUN_UPDATE_H

#include "query/run/run.h"

enum { SIRIX_UPDATES_MAX = 1000000 };

enum sirix_update_kind {
    SIRIX_UPDATE_INSERT_FIELD,   /* container, name, value */
    SIRIX_UPDATE_INSERT_ELEMENT, /* container, position (before it; size: at the end), value */
    SIRIX_UPDATE_DELETE,         /* container and name or position; or the stored item */
    SIRIX_UPDATE_REPLACE,        /* the same, value */
    SIRIX_UPDATE_RENAME,         /* the same, name: the new one */
};

struct sirix_update {
    enum sirix_update_kind kind;
    uint32_t line;
    uint32_t column;
    bool stored;
    struct sirix_item target; /* The container; stored and no insert: the item itself. */
    struct sirix_bytes field; /* In memory: of an object. */
    uint64_t position;        /* In an array. */
    struct sirix_bytes name;  /* Of a new field. */
    struct sirix_item value;
    uint64_t hash; /* Of what it is done to; for conflicts. */
};

struct sirix_updates {
    struct sirix_arena *arena; /* Of the list and of the values that it holds. */
    struct sirix_update *list;
    size_t count;
    size_t cap;
};

/*
 * Applies those to values in memory and takes them out of the list; those to the store stay. roots: they
 * may change nothing outside these values (XUDY0014); NULL: anything.
 */
enum sirix_status sirix_updates_apply(struct sirix_run *run, struct sirix_updates *updates,
                                      const struct sirix_sequence *roots,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whether two of a list are the same kind of change to the same thing: the error of that. */
enum sirix_status sirix_updates_check(struct sirix_run *run, const struct sirix_updates *updates,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
