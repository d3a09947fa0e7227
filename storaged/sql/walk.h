/*
 * Going through the rows of an inferred table: all elements that a path leads to and that are objects, in
 * the order of the document. Survives yields: it keeps keys, never slices.
 */
#ifndef SIRIX_SQL_WALK_H
#define SIRIX_SQL_WALK_H

#include "sql/schema.h"
#include "sql/value.h"

enum { SIRIX_SQL_LEVELS_MAX = SIRIX_DOCUMENT_DEPTH_MAX + 2 };

/* One step of the path and where the walk is in it. */
struct sirix_sql_level {
    enum sirix_path_step step;
    uint32_t path; /* In the table's paths. */
    struct sirix_bytes canonical;
    struct sirix_stored_name name;
    struct sirix_stored_list list; /* ELEMENT and ANY_MEMBER. */
    uint64_t member;               /* MEMBER: its listed key, once; 0: none. */
    uint64_t listed;               /* The child that the walk is in. */
    bool in_object;                /* That child is an object. */
};

/* The object of a row, and where its members are. */
struct sirix_sql_row {
    uint64_t key; /* Its node_key. */
    bool tree;    /* It has many members: they are looked up one by one. */
    bool ids_known;
    uint32_t count;
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    uint32_t ids[SIRIX_NODE_CHILDREN_INLINE_MAX]; /* Of their names + 1; 0: the name has none. */
};

struct sirix_sql_walk {
    struct sirix_sql_session *session;
    const struct sirix_sql_table *table;
    struct sirix_document document;
    struct sirix_sql_level *levels; /* malloc'ed */
    size_t level_count;
    size_t first; /* The level that it began in. */
    size_t level;
    bool counting; /* Rows are counted and not looked at. */
    bool weighing; /* ... and given all at once, an array at a time: session->weight. */
    bool done;
    struct sirix_sql_row row;
};

/* view stays open and its statement runs. */
enum sirix_status sirix_sql_walk_init(struct sirix_sql_walk *walk,
                                      struct sirix_sql_session *session,
                                      const struct sirix_sql_table *table,
                                      struct sirix_sql_view *view,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
void sirix_sql_walk_deinit(struct sirix_sql_walk *walk);

/* Before the first row: of all of them; of those below a row of the table around it; or one by its key. */
enum sirix_status sirix_sql_walk_all(struct sirix_sql_walk *walk,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_sql_walk_below(struct sirix_sql_walk *walk, uint64_t parent_key,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/* The next row; done is set after the last. */
enum sirix_status sirix_sql_walk_next(struct sirix_sql_walk *walk,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

/* Puts the row of a key in place; *out_is false: it is no row of the table. */
enum sirix_status sirix_sql_walk_get(struct sirix_sql_walk *walk, uint64_t key, bool *out_is,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same where the key is known to be one: of an index. */
enum sirix_status sirix_sql_walk_row(struct sirix_sql_walk *walk, uint64_t key,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* The key of the row around the present one; 0: there is none. */
enum sirix_status sirix_sql_walk_parent(struct sirix_sql_walk *walk, uint64_t *out_key,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * The member of the present row, decoded: slices until the next look-up. guess: where among the members it
 * was found last, any number at first. *out_found false: there is none.
 */
enum sirix_status sirix_sql_walk_member(struct sirix_sql_walk *walk, struct sirix_stored_name *name,
                                        uint32_t *guess, struct sirix_node *out_node,
                                        bool *out_found, struct sirix_error *err) SIRIX_MUST_CHECK;

/* Appends a JSON object of the present row's members that have no column. */
enum sirix_status sirix_sql_walk_rest(struct sirix_sql_walk *walk, struct sirix_buf *out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
