/*
 * Executing plans. Private to this folder, storaged/query/node and the door.
 *
 * Push      an expression is evaluated into a sink, item after item; the state of loops is on the
 *           query's stack. A sink that has enough returns SIRIX_RUN_STOP, which everything in between
 *           passes on; whoever made the sink turns it into SIRIX_OK.
 * Focus     the frame, the focus and everything else of an expression hold again whenever its sink is
 *           called: what changes them for a part of itself puts a scope around the sink.
 * Memory    results lie in run->work.arena. A loop marks it before each turn and rewinds it afterwards,
 *           unless `kept` has changed: a sink that keeps something which lies in the arena, or takes
 *           memory from it that outlives its call, adds to `kept`. Whoever evaluates a whole expression
 *           into a value of its own, passing nothing on, puts `kept` back at the end: to the loops
 *           around it the value is an ordinary one of their turn. What must outlive any loop lies in
 *           another arena.
 * Depth     bounded by the stack (sirix_run_deep), asked in every evaluation.
 */
#ifndef SIRIX_QUERY_RUN_RUN_H
#define SIRIX_QUERY_RUN_RUN_H

#include "query/function/function.h"
#include "query/plan/plan.h"
#include "query/value/cast.h"
#include "query/value/compare.h"
#include "query/value/container.h"
#include "query/value/number.h"

struct sirix_run;
struct sirix_updates;

/* No failure: the sink has enough. Never leaves the run. */
#define SIRIX_RUN_STOP ((enum sirix_status)1000)

enum {
    SIRIX_RUN_STACK_RESERVE = 512 * 1024, /* Below it no evaluation starts. */
    SIRIX_RUN_WANT_ALL = -1,
};

struct sirix_sink {
    enum sirix_status (*take)(struct sirix_sink *sink, struct sirix_run *run,
                              const struct sirix_item *item, struct sirix_query_error *err);
    uint64_t want; /* It will look at no more items than these: a hint. UINT64_MAX: any number. */
    /*
     * How many items it passes over before it looks at one; NULL: none. Whoever can pass over them without
     * making them may do so, and takes them off the number.
     */
    uint64_t *skip;
};

/*
 * A variable: mostly one item, which then lies in single. value.stamp: no other value that the run has bound
 * has it; 0: it is not told from others.
 */
struct sirix_slot {
    struct sirix_sequence value;
    struct sirix_item single;
};

static inline void sirix_slot_set_item(struct sirix_slot *slot, const struct sirix_item *item)
{
    slot->single = *item;
    slot->value = (struct sirix_sequence){.items = &slot->single, .count = 1};
}

static inline void sirix_slot_set(struct sirix_slot *slot, const struct sirix_sequence *value)
{
    if (value->count == 1) {
        const struct sirix_item item = sirix_sequence_at(value, 0);
        sirix_slot_set_item(slot, &item);
    } else {
        slot->value = *value;
        slot->value.stamp = 0;
    }
}

/* --- What the store offers ------------------------------------------------------------------------ */

/* A name that fields of the store are looked up by; the store's own cache of it. Zero-initialised. */
struct sirix_run_name {
    struct sirix_bytes plain;
    struct sirix_bytes canonical; /* The store's: data NULL until it is needed. */
    const void *of;
    bool has_id;
    uint32_t id;
    uint32_t hint; /* Where it was found the last time. */
};

/* Of items whose container is stored. */
struct sirix_run_store {
    /* The field of an object; kind NONE: there is none. */
    enum sirix_status (*field)(struct sirix_run *run, const struct sirix_item *object,
                               struct sirix_run_name *name, struct sirix_item *out,
                               struct sirix_query_error *err);
    /* The members of a container, in order; the sink's skip is taken off. */
    enum sirix_status (*children)(struct sirix_run *run, const struct sirix_item *container,
                                  struct sirix_sink *sink, struct sirix_query_error *err);
    /* Fields of that name at any depth below a container, in document order. */
    enum sirix_status (*descendants)(struct sirix_run *run, const struct sirix_item *container,
                                     struct sirix_run_name *name, struct sirix_sink *sink,
                                     struct sirix_query_error *err);
    /* How many there are, without making items. */
    enum sirix_status (*count_descendants)(struct sirix_run *run,
                                           const struct sirix_item *container,
                                           struct sirix_run_name *name, uint64_t *out_count,
                                           struct sirix_query_error *err);
};

/* --- The run -------------------------------------------------------------------------------------- */

enum sirix_run_leave {
    SIRIX_LEAVE_NONE,
    SIRIX_LEAVE_BREAK,
    SIRIX_LEAVE_CONTINUE,
    SIRIX_LEAVE_EXIT
};

struct sirix_run_global {
    struct sirix_slot slot;
    bool ready;
    bool running;
};

/* A call whose value is known already in this frame: accumulate.h. */
struct sirix_run_result {
    const struct sirix_plan *call;
    const struct sirix_slot *frame;
    struct sirix_sum sum;
    const struct sirix_query_error *error;
    enum sirix_status status;
};

struct sirix_run {
    struct sirix_work work;
    struct sirix_arena *frames; /* Slots of calls; rewound at their end. */
    struct sirix_arena *keep;   /* What lives as long as the run; never rewound. */
    struct sirix_arena *global; /* Values of global variables, with the loops that make them. */
    struct sirix_slot *frame;
    struct sirix_focus focus;
    struct sirix_focus initial_focus; /* The context item of the query, if it has one. */
    uint64_t kept;
    uint32_t stamps; /* Given to variables so far. */
    const char *stack_floor;
    const struct sirix_plan_query *plan;
    struct sirix_run_global *globals;
    struct sirix_evaluator evaluator;
    const struct sirix_run_store *store; /* NULL: there is none. */
    struct sirix_updates *updates;       /* Where updates are collected; NULL: none may be made. */
    const struct sirix_run_result *results; /* Of the groups that are being given out. */
    size_t result_count;
    enum sirix_run_leave leave; /* A block is being left. */
    struct sirix_sequence exit_value;
    bool naive; /* No shortcut that gives the same answer in less time. */
    /* An external variable's value; kind NONE in *out_found false. */
    enum sirix_status (*external)(void *context, const struct sirix_plan_global *global,
                                  struct sirix_sequence *out, bool *out_found,
                                  struct sirix_query_error *err);
    /* The plan of a query's text, for sdb:explain(). */
    enum sirix_status (*explain)(void *context, struct sirix_bytes text, struct sirix_item *out,
                                 struct sirix_query_error *err);
    void *external_context; /* Of both. */
};

static inline bool sirix_run_failed(enum sirix_status status)
{
    return status != SIRIX_OK && status != SIRIX_RUN_STOP;
}

/* Tells the value of a variable from all others. */
static inline void sirix_run_stamp(struct sirix_run *run, struct sirix_slot *slot)
{
    slot->value.stamp = run->stamps == UINT32_MAX ? 0 : ++run->stamps;
}

/* SIRIX_EXHAUSTED when the stack is used up: expressions or calls are nested too deep. */
enum sirix_status sirix_run_too_deep(struct sirix_query_error *err) SIRIX_MUST_CHECK;
static inline enum sirix_status SIRIX_MUST_CHECK sirix_run_deep(const struct sirix_run *run,
                                                                struct sirix_query_error *err)
{
    return (const char *)__builtin_frame_address(0) < run->stack_floor + SIRIX_RUN_STACK_RESERVE
               ? sirix_run_too_deep(err)
               : SIRIX_OK;
}

/* Evaluates into a sink. SIRIX_RUN_STOP: the sink had enough. */
enum sirix_status sirix_run_push(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* At most one item (kind NONE: none); XPTY0004 when there are more. */
enum sirix_status sirix_run_one(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_item *out,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The same, which has to be atomic; XPTY0004. */
enum sirix_status sirix_run_atom(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_item *out,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/*
 * At most one item without going through a sink, for the kinds where that is cheap: *out_many true: it is
 * not known, push it.
 */
enum sirix_status sirix_run_few(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_item *out, bool *out_many,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* All items; shares where it can. */
enum sirix_status sirix_run_all(struct sirix_run *run, const struct sirix_plan *plan,
                                struct sirix_sequence *out,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The effective boolean value. */
enum sirix_status sirix_run_truth(struct sirix_run *run, const struct sirix_plan *plan, bool *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* Gives every item of a sequence to a sink. */
enum sirix_status sirix_run_give(struct sirix_run *run, const struct sirix_sequence *sequence,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* A sink that keeps all items. */
struct sirix_collector {
    struct sirix_sink sink;
    struct sirix_sequence *to;
};
void sirix_collector_init(struct sirix_collector *collector, struct sirix_sequence *to);

/* Whether an item points into memory that a rewind could take. */
static inline bool sirix_item_has_memory(const struct sirix_item *item)
{
    switch (item->kind) {
    case SIRIX_ITEM_NONE:
    case SIRIX_ITEM_NULL:
    case SIRIX_ITEM_BOOLEAN:
    case SIRIX_ITEM_INTEGER:
    case SIRIX_ITEM_DECIMAL:
    case SIRIX_ITEM_DOUBLE:
    case SIRIX_ITEM_FLOAT:
    case SIRIX_ITEM_DATETIME:
    case SIRIX_ITEM_MONTHS:
    case SIRIX_ITEM_SECONDS:
        return false;
    case SIRIX_ITEM_OBJECT:
    case SIRIX_ITEM_ARRAY:
        return !sirix_container_is_stored(*item);
    default:
        return true;
    }
}

/* A plan's place for what its run knows of it: the one thing of it that is not constant. */
static inline void **sirix_run_cache(const struct sirix_plan *plan)
{
    /* NOLINTNEXTLINE(performance-no-int-to-ptr): it takes the const off what is not constant. */
    return &((struct sirix_plan *)(uintptr_t)plan)->run;
}

/* --- A turn of a loop ------------------------------------------------------------------------------ */

struct sirix_turn_mark {
    struct sirix_arena_mark mark;
    uint64_t kept;
};

static inline struct sirix_turn_mark sirix_run_turn_begin(const struct sirix_run *run)
{
    return (struct sirix_turn_mark){.mark = sirix_arena_mark(run->work.arena), .kept = run->kept};
}

static inline void sirix_run_turn_end(struct sirix_run *run, const struct sirix_turn_mark *mark)
{
    if (run->kept == mark->kept) {
        sirix_arena_rewind(run->work.arena, mark->mark);
    }
}

/* --- A scope around a sink: frame and focus of whoever is outside hold while it is called --------- */

struct sirix_scope {
    struct sirix_sink sink;
    struct sirix_sink *outer;
    struct sirix_slot *frame;
    struct sirix_focus focus;
};
void sirix_scope_init(struct sirix_scope *scope, const struct sirix_run *run,
                      struct sirix_sink *outer);

/* --- The parts ------------------------------------------------------------------------------------- */

/* operator.c: kinds that give one item at most. */
enum sirix_status sirix_run_operator(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_range(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sequence *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* set.c */
enum sirix_status sirix_run_sets(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* build.c */
enum sirix_status sirix_run_object(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_item *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_array(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_item *out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* path.c, predicate.c */
enum sirix_status sirix_run_path(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_predicate(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_sink *sink,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* lookup.c: a filter by equality through a table; *out_known false: it is none, or not yet. */
enum sirix_status sirix_run_lookup(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, bool *out_known,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* The field of one item by a FIELD node's key; kind NONE: none. */
enum sirix_status sirix_run_field_of(struct sirix_run *run, const struct sirix_plan *plan,
                                     const struct sirix_item *base, struct sirix_item *out,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* The key of a step or of a pair in a constructor as a string: JNTY0018 or XPTY0004 if it is not one. */
enum sirix_status sirix_run_key(struct sirix_run *run, const struct sirix_plan *key,
                                bool is_constructor, struct sirix_bytes *out,
                                struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* What a step found: nothing for kind NONE, one item, or the sequence that a map or an array holds. */
enum sirix_status sirix_run_give_held(struct sirix_run *run, const struct sirix_item *found,
                                      struct sirix_sink *sink,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Members of a container, stored or not. */
enum sirix_status sirix_run_children(struct sirix_run *run, const struct sirix_item *container,
                                     struct sirix_sink *sink,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* slice.c: the steps [[n]] and [a:b:c] of one item. */
enum sirix_status sirix_run_member(struct sirix_run *run, const struct sirix_plan *plan,
                                   const struct sirix_item *base, struct sirix_sink *sink,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_slice(struct sirix_run *run, const struct sirix_plan *plan,
                                  const struct sirix_item *base, struct sirix_sink *sink,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* How many items a path has, without making them; *out_known false: it is no such path. */
enum sirix_status sirix_run_count_path(struct sirix_run *run, const struct sirix_plan *plan,
                                       uint64_t *out_count, bool *out_known,
                                       struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* A position from the start of an array of that size, negative ones from its end; false: outside. */
bool sirix_run_position(int64_t position, uint64_t size, uint64_t *out);

/* control.c */
enum sirix_status sirix_run_control(struct sirix_run *run, const struct sirix_plan *plan,
                                    struct sirix_sink *sink,
                                    struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_quantified(struct sirix_run *run, const struct sirix_plan *plan,
                                       bool *out, struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* script.c */
enum sirix_status sirix_run_script(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* call.c, closure.c, aggregate.c */
enum sirix_status sirix_run_call(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Calls that give one item at most and need no sink; *out_known false: use sirix_run_call(). */
enum sirix_status sirix_run_call_one(struct sirix_run *run, const struct sirix_plan *plan,
                                     struct sirix_item *out, bool *out_known,
                                     struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_invoke(void *context, struct sirix_item function,
                                   const struct sirix_sequence *arguments, size_t argument_count,
                                   struct sirix_sequence *out,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Calls a declared or inline function; arguments are not converted yet. captured may be NULL. */
enum sirix_status sirix_run_user(struct sirix_run *run, const struct sirix_plan_function *function,
                                 const struct sirix_sequence *captured,
                                 const struct sirix_sequence *arguments, struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_function_item(struct sirix_run *run, const struct sirix_plan *plan,
                                          struct sirix_item *out,
                                          struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_aggregate(struct sirix_run *run, const struct sirix_plan *plan,
                                      struct sirix_item *out, bool *out_known,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Whether a call is a count, sum or avg of one argument; adds what its argument gives now. */
bool sirix_run_adds_up(const struct sirix_plan *call);
enum sirix_status sirix_run_add_up(struct sirix_run *run, const struct sirix_plan *call,
                                   struct sirix_sum *sum,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_stream(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_sink *sink, bool *out_known,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* flwor.c and what belongs to it */
enum sirix_status sirix_run_flwor(struct sirix_run *run, const struct sirix_plan *plan,
                                  struct sirix_sink *sink,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* The items that a FOR binds: of its expression, or the members of its only array. */
enum sirix_status sirix_run_for_items(struct sirix_run *run, const struct sirix_plan *clause,
                                      struct sirix_sink *sink,
                                      struct sirix_query_error *err) SIRIX_MUST_CHECK;
/* Binds a variable after checking its declared type. */
enum sirix_status sirix_run_bind(struct sirix_run *run, const struct sirix_plan *clause,
                                 struct sirix_slot *slot, const struct sirix_sequence *value,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* update.c */
enum sirix_status sirix_run_update(struct sirix_run *run, const struct sirix_plan *plan,
                                   struct sirix_query_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_run_copy(struct sirix_run *run, const struct sirix_plan *plan,
                                 struct sirix_sink *sink,
                                 struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* The value of a global variable. */
enum sirix_status sirix_run_global_value(struct sirix_run *run, uint32_t number,
                                         const struct sirix_slot **out,
                                         struct sirix_query_error *err) SIRIX_MUST_CHECK;

/* New slots in run->frames, empty; the caller marks and rewinds. */
enum sirix_status sirix_run_frame(struct sirix_run *run, uint32_t slot_count,
                                  struct sirix_slot **out,
                                  struct sirix_query_error *err) SIRIX_MUST_CHECK;

#endif
