/*
 * FLWOR expressions: a chain of clauses, each of which hands every tuple on to the next one.
 *
 * Phases     group by and order by take in all tuples before they give any out; between them tuples
 *            stream. A phase runs the clauses from `start` up to such a clause (`stop`) or the return.
 * Tuples     are the slots of the frame: nothing is copied while they stream.
 *
 * Private to this folder.
 */
#ifndef SIRIX_QUERY_RUN_FLWOR_H
#define SIRIX_QUERY_RUN_FLWOR_H

#include "query/run/run.h"

struct sirix_flwor_groups;
struct sirix_flwor_order;
struct sirix_flwor_join;

struct sirix_flwor {
    const struct sirix_plan *plan;
    struct sirix_sink *sink;
    uint32_t clause_count;
    uint32_t stop; /* The clause that takes the tuples of this phase; clause_count: the return. */
    uint64_t *counts;                  /* Of COUNT clauses, one a clause. */
    struct sirix_flwor_groups *groups; /* That the phase fills. */
    struct sirix_flwor_order *order;
    struct sirix_flwor_join **joins; /* One a clause, NULL where there is none. */
    bool
        ask_of_items; /* Conditions of a join's items have not all been decided while it was made. */
};

/* Runs the clauses from `clause` on for the tuple in the frame. */
enum sirix_status sirix_flwor_chain(struct sirix_run *run, struct sirix_flwor *flwor,
                                    uint32_t clause,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * Evaluates a part before its time: an error of the language is the part's own business when its time comes,
 * here it is *out_failed.
 */
enum sirix_status sirix_flwor_early_truth(struct sirix_run *run, const struct sirix_plan *plan,
                                          bool *out, bool *out_failed,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_flwor_early_key(struct sirix_run *run, const struct sirix_plan *plan,
                                        struct sirix_item *out, bool *out_failed,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* window.c: all windows over the clause's items, each handed on. */
enum sirix_status sirix_flwor_window(struct sirix_run *run, struct sirix_flwor *flwor,
                                     uint32_t clause,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* group.c */
enum sirix_status sirix_flwor_groups_new(struct sirix_run *run, const struct sirix_flwor *flwor,
                                         uint32_t at, struct sirix_flwor_groups **out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_flwor_groups_add(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Binds each group's variables and hands it on, in order of first appearance. */
enum sirix_status sirix_flwor_groups_give(struct sirix_run *run, struct sirix_flwor_groups *groups,
                                          struct sirix_flwor *flwor, uint32_t next,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* order.c */
enum sirix_status sirix_flwor_order_new(struct sirix_run *run, const struct sirix_flwor *flwor,
                                        uint32_t at, struct sirix_flwor_order **out,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_flwor_order_add(struct sirix_run *run, struct sirix_flwor_order *order,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_flwor_order_give(struct sirix_run *run, struct sirix_flwor_order *order,
                                         struct sirix_flwor *flwor, uint32_t next,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* join.c: of a FOR with keys. */
enum sirix_status sirix_flwor_join_new(struct sirix_run *run, const struct sirix_plan *clause,
                                       struct sirix_flwor_join **out,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;
/*
 * Binds each item that matches the tuple, in order, and hands it on. A table holds only items that the
 * wheres OF_ITEM let pass.
 */
enum sirix_status sirix_flwor_join_give(struct sirix_run *run, struct sirix_flwor_join *join,
                                        struct sirix_flwor *flwor, uint32_t clause,
                                        struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Values that are equal have one hash: numbers of all kinds meet as doubles. */
uint64_t sirix_join_hash(struct sirix_run *run, struct sirix_item key);
/*
 * The types that a key compares with, as a bit: a table is asked by its hash only for keys of the group
 * that all of its keys have; others have to be compared one by one, for that is an error or depends on
 * how they are rounded. null compares with everything: no bit.
 */
static inline uint64_t sirix_join_group(struct sirix_item key)
{
    switch ((enum sirix_item_kind)key.kind) {
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_NULL:
        return 0;
    case SIRIX_ITEM_BIG_INTEGER:
    case SIRIX_ITEM_DECIMAL:
    case SIRIX_ITEM_BIG_DECIMAL:
    case SIRIX_ITEM_DOUBLE:
        return UINT64_C(1) << SIRIX_ITEM_INTEGER;
    case SIRIX_ITEM_ANY_URI:
        return UINT64_C(1) << SIRIX_ITEM_STRING;
    case SIRIX_ITEM_SECONDS:
    case SIRIX_ITEM_DURATION:
        return UINT64_C(1) << SIRIX_ITEM_MONTHS;
    case SIRIX_ITEM_DATETIME:
        return UINT64_C(1) << (32 + sirix_type_primitive((enum sirix_type)key.type) -
                               SIRIX_TYPE_DATE_TIME);
    default:
        return UINT64_C(1) << key.kind;
    }
}
static inline bool sirix_join_differs(uint64_t groups, struct sirix_item key)
{
    return key.kind != SIRIX_ITEM_NULL && (groups & ~sirix_join_group(key)) != 0;
}
/* The key that an expression gives; *out_one false: there are several, or it is nothing that compares. */
enum sirix_status sirix_join_key(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out, bool *out_one,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
