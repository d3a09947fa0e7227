/*
 * The part of the store that one query reads: resources that it has opened, revisions of them, and items
 * that live there.
 *
 * Items      of containers point to their view; every item of the store has an origin: the number of its
 *            view and the key of the row that holds its value. Nothing of a container is copied; texts
 *            and big numbers are, into the arena of the work at hand, so that items survive yields.
 * State      the newest revision of a branch is looked up once a resource and branch; all of the query
 *            sees that one.
 * Slices     end in sirix_query_store_yield(): nobody calls it, or anything that ticks, while it holds
 *            one.
 * Memory     views and resources are malloc'ed and live as long as the query.
 */
#ifndef SIRIX_QUERY_NODE_STORE_H
#define SIRIX_QUERY_NODE_STORE_H

#include "query/catalogue.h"
#include "query/function/function.h"
#include "query/node/stored.h"
#include "query/query.h"
#include "query/run/run.h"
#include "store/document/path_summary.h"

enum {
    SIRIX_STORE_KEY_BITS = 44,
    SIRIX_STORE_VIEWS_MAX = (1 << 20) - 2,
    SIRIX_STORE_PLACES_MAX = 10000,
    SIRIX_STORE_BRANCH_BYTES = 129,
};
#define SIRIX_STORE_KEY_MASK ((UINT64_C(1) << SIRIX_STORE_KEY_BITS) - 1)

struct sirix_query_store;
struct sirix_store_resource;

/* The revisions of one branch, oldest first. */
struct sirix_store_timeline {
    uint64_t branch_id;
    uint64_t *revisions;
    size_t count;
    size_t cap;
    struct sirix_store_timeline *next;
};

/* A resource that is open. */
struct sirix_store_resource {
    struct sirix_query_place place;
    char *database;
    char *name;
    struct sirix_store_view *newest; /* Of main, as the query sees it. */
    struct sirix_store_view *asked;  /* Where the query names no revision; see _asked(). */
    struct sirix_store_view *views;  /* All that are open. */
    struct sirix_store_view **table; /* The same by revision; a power of two, at most half full. */
    size_t table_size;
    size_t view_count;
    struct sirix_store_timeline *timelines;
    struct sirix_path_summary paths; /* Once paths_read. */
    bool paths_read;
    bool pinned;                           /* Read at its newest revision. */
    bool asked_pinned;                     /* Read at a view that may move: a head, a snapshot. */
    char branch[SIRIX_STORE_BRANCH_BYTES]; /* That updates touch. */
    struct sirix_store_resource *next;
};

/* One revision of it. */
struct sirix_store_view {
    struct sirix_container container; /* First: items point to it. */
    struct sirix_query_store *store;
    struct sirix_store_resource *resource;
    uint64_t number; /* From 1. */
    struct sirix_view view;
    struct sirix_document document;
    /* The object that was looked into last, as long as the reader does not yield. */
    bool object_known;
    uint64_t object_key;
    uint64_t object_generation;
    uint32_t object_count;
    uint64_t object_keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    struct sirix_store_view *next;
    struct sirix_store_view *chain; /* In the table. */
};

struct sirix_query_store {
    const struct sirix_query_options *options;
    struct sirix_store_resource *resources;
    size_t resource_count;
    struct sirix_store_view **views; /* By number - 1. */
    size_t view_count;
    size_t view_cap;
    struct sirix_query_pin *pins; /* Made by sirix_query_store_pins(). */
    size_t pin_count;
};

/* What run calls of it. */
extern const struct sirix_run_store sirix_query_store_ops;

void sirix_query_store_init(struct sirix_query_store *store,
                            const struct sirix_query_options *options);
void sirix_query_store_deinit(struct sirix_query_store *store);

/* Lets every reader yield. */
void sirix_query_store_yield(struct sirix_query_store *store);

/* --- Opening ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_query_store_resource(struct sirix_query_store *store,
                                             struct sirix_bytes database,
                                             struct sirix_bytes resource,
                                             struct sirix_store_resource **out,
                                             struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The newest revision of main, the same all through the query. */
enum sirix_status sirix_query_store_newest(struct sirix_store_resource *resource,
                                           struct sirix_query_store *store,
                                           struct sirix_store_view **out,
                                           struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * What the query reads where it names no revision: what options.view says, if that is of this resource or
 * a time for all, else the newest revision of main.
 */
enum sirix_status sirix_query_store_asked(struct sirix_store_resource *resource,
                                          struct sirix_query_store *store,
                                          struct sirix_store_view **out,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Whatever the spec says. */
enum sirix_status sirix_query_store_view(struct sirix_store_resource *resource,
                                         struct sirix_query_store *store,
                                         const struct sirix_view_spec *spec,
                                         struct sirix_store_view **out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The revisions of the branch that a view belongs to, up to its head as the query sees it. */
enum sirix_status sirix_query_store_timeline(struct sirix_store_view *view,
                                             const struct sirix_store_timeline **out,
                                             struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The revisions read at their newest without being told; valid until the store ends. */
enum sirix_status sirix_query_store_pins(struct sirix_query_store *store,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* --- Items ------------------------------------------------------------------------------------------ */

/* The value of the whole document; kind NONE: it has none. */
enum sirix_status sirix_store_root(struct sirix_work *work, struct sirix_store_view *view,
                                   struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The item that a listed key leads to. */
enum sirix_status sirix_store_item(struct sirix_work *work, struct sirix_store_view *view,
                                   uint64_t listed, struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The item of a node by any of its keys; kind NONE: there is no such node in this revision. */
enum sirix_status sirix_store_select(struct sirix_work *work, struct sirix_store_view *view,
                                     uint64_t key, struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* View and row key of an item's value; NULL: it is none of the store. */
struct sirix_store_view *sirix_store_view_of(const struct sirix_query_store *store,
                                             struct sirix_item item, uint64_t *out_key);

/* The key that callers know a node by. */
enum sirix_status sirix_store_canonical(struct sirix_store_view *view, uint64_t value_key,
                                        uint64_t *out_key,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* --- Functions and updates -------------------------------------------------------------------------- */

/* jn: and sdb: functions that need the store. evaluator->store is the struct sirix_query_store. */
size_t sirix_query_store_functions(const struct sirix_function_table **out_tables);

#endif
