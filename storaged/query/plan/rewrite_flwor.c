/*
 * Clauses that come sooner, and joins.
 *
 *     where a and b                 where a where b
 *     let $y := e where c           where c let $y := e            c does not ask for $y
 *     for $x .. for $y .. where c   .. a copy of c before for $y   c does not ask for $y: "early"
 *     for $y in e where a eq b      a table of e's items by b      one side asks for $y alone, the other
 *                                                                  for the tuple, and e for neither
 *
 * No error comes up that did not before: a where passes a let only, which is evaluated for the same tuples; an
 * early one that fails lets its tuple pass, and so does not the one in its place.
 */
#include "query/plan/rewrite_flwor.h"

#include <string.h>

enum { WORDS_MAX = 16, EARLY_NODES_MAX = 64 };

/* --- Which variables an expression reads ------------------------------------------------------ */

/* Slots of a frame as a set; frames of more variables are not looked at. */
struct slots {
    uint64_t words[WORDS_MAX];
};

static bool add_slot(struct slots *slots, uint32_t slot)
{
    if (slot == SIRIX_PLAN_NO_SLOT) {
        return true;
    }
    if (slot >= WORDS_MAX * 64) {
        return false;
    }
    slots->words[slot / 64] |= UINT64_C(1) << (slot % 64);
    return true;
}

static bool has_slot(const struct slots *slots, uint32_t slot)
{
    return slot < WORDS_MAX * 64 && (slots->words[slot / 64] >> (slot % 64) & 1) != 0;
}

static bool meet(const struct slots *a, const struct slots *b)
{
    for (size_t i = 0; i < WORDS_MAX; i++) {
        if ((a->words[i] & b->words[i]) != 0) {
            return true;
        }
    }
    return false;
}

/* The slots of variables around it that an inline function keeps. */
static bool captures(const struct sirix_plan *plan, struct slots *slots)
{
    bool known = true;

    for (uint32_t i = 0; i < plan->user->capture_count && known; i++) {
        known = add_slot(slots, plan->user->captures[i]);
    }
    return known;
}

/* The slots that an expression reads; false: not known, or it does more than read. */
static bool reads(const struct sirix_plan *plan, struct slots *slots)
{
    bool known = true;

    if (plan == NULL) {
        return true;
    }
    if ((plan->flags & SIRIX_PLAN_UPDATING) != 0) {
        return false;
    }
    if (plan->kind == SIRIX_PLAN_VARIABLE || plan->kind == SIRIX_PLAN_GROUP_KEY) {
        known = add_slot(slots, plan->slot);
    } else if (plan->kind == SIRIX_PLAN_CLOSURE) {
        known = captures(plan, slots);
    }
    for (uint32_t i = 0; i < plan->child_count && known; i++) {
        known = reads(plan->children[i], slots);
    }
    return known;
}

/* The variables that a clause binds. */
static bool binds(const struct sirix_plan *clause, struct slots *slots)
{
    bool known = true;

    if (clause->kind == SIRIX_PLAN_WHERE || clause->kind == SIRIX_PLAN_ORDER) {
        return true;
    }
    known = add_slot(slots, clause->slot) && add_slot(slots, clause->position_slot);
    for (uint32_t c = 0; (clause->kind == SIRIX_PLAN_WINDOW || clause->kind == SIRIX_PLAN_GROUP) &&
                         c < clause->child_count && known;
         c++) {
        const struct sirix_plan *edge = clause->children[c];

        known = add_slot(slots, edge->slot) && add_slot(slots, edge->position_slot) &&
                add_slot(slots, edge->previous_slot) && add_slot(slots, edge->next_slot);
    }
    return known;
}

static bool bound_before(struct sirix_plan *const *clauses, uint32_t end, struct slots *slots)
{
    bool known = true;

    for (uint32_t i = 0; i < end && known; i++) {
        known = binds(clauses[i], slots);
    }
    return known;
}

/* --- Clauses ------------------------------------------------------------------------------------ */

/* The clauses of a FLWOR on their way to its node. */
struct clauses {
    struct sirix_work *work;
    struct sirix_plan **list;
    uint32_t count;
    uint32_t cap;
};

static enum sirix_status new_where(struct clauses *clauses, const struct sirix_plan *from,
                                   struct sirix_plan *condition, uint32_t flags,
                                   struct sirix_plan **out, struct sirix_query_error *err)
{
    void *memory = NULL;
    enum sirix_status status = sirix_arena_alloc(
        clauses->work->arena, sizeof(*from) + sizeof(struct sirix_plan *), &memory, &err->base);

    if (status == SIRIX_OK) {
        struct sirix_plan *made = memory;

        *made = *from;
        made->children = (struct sirix_plan **)(void *)(made + 1);
        made->children[0] = condition;
        made->child_count = 1;
        made->flags |= flags;
        *out = made;
    }
    return status;
}

/* Room for what there is, a where for each condition of an `and`, and an early copy of each. */
static enum sirix_status make_room(struct clauses *clauses, const struct sirix_plan *flwor,
                                   struct sirix_query_error *err)
{
    size_t cap = flwor->child_count;
    void *memory = NULL;

    for (uint32_t i = 0; i + 1 < flwor->child_count; i++) {
        const struct sirix_plan *clause = flwor->children[i];

        if (clause->kind == SIRIX_PLAN_WHERE) {
            const struct sirix_plan *condition = clause->children[0];

            cap += condition->kind == SIRIX_PLAN_AND ? condition->child_count * (size_t)2 : 1;
        }
    }
    enum sirix_status status = sirix_arena_calloc(clauses->work->arena, cap,
                                                  sizeof(struct sirix_plan *), &memory, &err->base);
    clauses->list = memory;
    clauses->cap = (uint32_t)cap;
    return status;
}

static void insert(struct clauses *clauses, uint32_t at, struct sirix_plan *clause)
{
    memmove(clauses->list + at + 1, clauses->list + at,
            (clauses->count - at) * sizeof(struct sirix_plan *));
    clauses->list[at] = clause;
    clauses->count++;
}

/* All clauses, each condition of an `and` in a where of its own. */
static enum sirix_status split(struct clauses *clauses, const struct sirix_plan *flwor,
                               struct sirix_query_error *err)
{
    enum sirix_status status = make_room(clauses, flwor, err);

    for (uint32_t i = 0; i + 1 < flwor->child_count && status == SIRIX_OK; i++) {
        struct sirix_plan *clause = flwor->children[i];
        const struct sirix_plan *condition =
            clause->kind == SIRIX_PLAN_WHERE ? clause->children[0] : NULL;

        if (condition == NULL || condition->kind != SIRIX_PLAN_AND || condition->child_count == 0) {
            clauses->list[clauses->count++] = clause;
            continue;
        }
        for (uint32_t c = 0; c < condition->child_count && status == SIRIX_OK; c++) {
            status = new_where(clauses, clause, condition->children[c], 0,
                               &clauses->list[clauses->count], err);
            clauses->count += status == SIRIX_OK ? 1 : 0;
        }
    }
    return status;
}

/* Whether a where that asks for these variables may go before a clause. */
static bool may_pass(const struct sirix_plan *clause, const struct slots *asked)
{
    struct slots bound = {{0}};

    return clause->kind == SIRIX_PLAN_LET && (clause->flags & SIRIX_PLAN_UPDATING) == 0 &&
           binds(clause, &bound) && !meet(asked, &bound);
}

static void pass_lets(struct clauses *clauses)
{
    for (uint32_t i = 1; i < clauses->count; i++) {
        struct sirix_plan *where = clauses->list[i];
        struct slots asked = {{0}};
        uint32_t at = i;

        if (where->kind != SIRIX_PLAN_WHERE || !reads(where, &asked)) {
            continue;
        }
        while (at != 0 && may_pass(clauses->list[at - 1], &asked)) {
            clauses->list[at] = clauses->list[at - 1];
            at--;
        }
        clauses->list[at] = where;
    }
}

/* --- Early copies ------------------------------------------------------------------------------- */

/* Whether to ask once more costs little; counts its nodes. */
static bool is_cheap(const struct sirix_plan *plan, unsigned *nodes)
{
    if (plan == NULL) {
        return true;
    }
    switch ((enum sirix_plan_kind)plan->kind) {
    case SIRIX_PLAN_FLWOR:
    case SIRIX_PLAN_CALL_USER:
    case SIRIX_PLAN_DYNAMIC_CALL:
    case SIRIX_PLAN_SOME:
    case SIRIX_PLAN_EVERY:
    case SIRIX_PLAN_DESCENDANT:
    case SIRIX_PLAN_RANGE:
    case SIRIX_PLAN_MAP:
        return false;
    default:
        break;
    }
    for (uint32_t i = 0; i < plan->child_count; i++) {
        if (++*nodes > EARLY_NODES_MAX || !is_cheap(plan->children[i], nodes)) {
            return false;
        }
    }
    return true;
}

/* Where a condition could be asked first; *out_sooner: that spares the items of a for. */
static uint32_t earliest(const struct clauses *clauses, uint32_t where, bool *out_sooner)
{
    struct slots asked = {{0}};
    uint32_t at = 0;
    unsigned nodes = 0;

    *out_sooner = false;
    if (!reads(clauses->list[where], &asked) || !is_cheap(clauses->list[where], &nodes)) {
        return where;
    }
    for (uint32_t i = 0; i < where; i++) {
        const struct sirix_plan *clause = clauses->list[i];
        struct slots bound = {{0}};

        if ((clause->kind != SIRIX_PLAN_FOR && clause->kind != SIRIX_PLAN_LET &&
             clause->kind != SIRIX_PLAN_WHERE) ||
            (clause->flags & SIRIX_PLAN_UPDATING) != 0 || !binds(clause, &bound) ||
            meet(&asked, &bound)) {
            at = i + 1;
            *out_sooner = false;
        } else if (clause->kind == SIRIX_PLAN_FOR) {
            *out_sooner = true;
        }
    }
    return at;
}

static enum sirix_status ask_early(struct clauses *clauses, struct sirix_query_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t i = 1; i < clauses->count && status == SIRIX_OK; i++) {
        const struct sirix_plan *where = clauses->list[i];
        struct sirix_plan *early = NULL;
        bool sooner = false;
        uint32_t at = 0;

        if (where->kind != SIRIX_PLAN_WHERE || (where->flags & SIRIX_PLAN_EARLY) != 0) {
            continue;
        }
        at = earliest(clauses, i, &sooner);
        if (!sooner || clauses->count == clauses->cap) {
            continue;
        }
        while (at < i && (clauses->list[at]->flags & SIRIX_PLAN_EARLY) != 0) {
            at++; /* Behind those that came before it. */
        }
        status = new_where(clauses, where, where->children[0], SIRIX_PLAN_EARLY, &early, err);
        if (status == SIRIX_OK) {
            insert(clauses, at, early);
            i++;
        }
    }
    return status;
}

/* --- Joins ---------------------------------------------------------------------------------------- */

/* Whether a comparison joins the clause's variable with the tuple; sets both keys. */
static bool joins(const struct sirix_plan *condition, const struct slots *tuple,
                  struct sirix_plan *clause)
{
    struct slots sides[2] = {{{0}}, {{0}}};

    if ((condition->kind != SIRIX_PLAN_COMPARE && condition->kind != SIRIX_PLAN_COMPARE_ANY) ||
        (condition->op != SIRIX_AST_EQ && condition->op != SIRIX_AST_GENERAL_EQ) ||
        !reads(condition->children[0], &sides[0]) || !reads(condition->children[1], &sides[1])) {
        return false;
    }
    for (uint32_t inner = 0; inner < 2; inner++) {
        const struct slots *other = &sides[1 - inner];

        if (has_slot(&sides[inner], clause->slot) && !meet(&sides[inner], tuple) &&
            !has_slot(other, clause->slot) && !has_slot(other, clause->position_slot) &&
            meet(other, tuple)) {
            clause->inner_key = condition->children[inner];
            clause->outer_key = condition->children[1 - inner];
            return true;
        }
    }
    return false;
}

/* Conditions that ask for the items of a join alone decide about them while the table is made. */
static void mark_of_item(const struct clauses *clauses, uint32_t at, const struct slots *tuple)
{
    const struct sirix_plan *clause = clauses->list[at];

    for (uint32_t i = at + 1; i < clauses->count && clauses->list[i]->kind == SIRIX_PLAN_WHERE;
         i++) {
        struct slots asked = {{0}};
        unsigned nodes = 0;

        if ((clauses->list[i]->flags & SIRIX_PLAN_EARLY) == 0 && reads(clauses->list[i], &asked) &&
            has_slot(&asked, clause->slot) && !meet(&asked, tuple) &&
            is_cheap(clauses->list[i], &nodes)) {
            clauses->list[i]->flags |= SIRIX_PLAN_OF_ITEM;
        }
    }
}

static void find_join(const struct clauses *clauses, uint32_t at)
{
    struct sirix_plan *clause = clauses->list[at];
    struct slots tuple = {{0}};
    struct slots source = {{0}};

    if (clause->kind != SIRIX_PLAN_FOR || clause->typed ||
        (clause->flags & SIRIX_PLAN_ALLOWING_EMPTY) != 0 ||
        !bound_before(clauses->list, at, &tuple) || !reads(clause->children[0], &source) ||
        meet(&source, &tuple)) {
        return;
    }
    for (uint32_t i = at + 1; i < clauses->count && clauses->list[i]->kind == SIRIX_PLAN_WHERE;
         i++) {
        if (joins(clauses->list[i]->children[0], &tuple, clause)) {
            clause->number = i - at;
            mark_of_item(clauses, at, &tuple);
            return;
        }
    }
}

/* --- Limits --------------------------------------------------------------------------------------- */

/* Whether an expression gives exactly one item for each tuple, whatever happens. */
static bool gives_one(const struct sirix_plan *flwor, const struct sirix_plan *result)
{
    bool one = false;

    switch ((enum sirix_plan_kind)result->kind) {
    case SIRIX_PLAN_CONSTANT:
    case SIRIX_PLAN_OBJECT:
    case SIRIX_PLAN_ARRAY:
    case SIRIX_PLAN_CONCAT:
    case SIRIX_PLAN_COMPARE_ANY:
    case SIRIX_PLAN_AND:
    case SIRIX_PLAN_OR:
    case SIRIX_PLAN_NOT:
        return true;
    case SIRIX_PLAN_VARIABLE:
        break;
    default:
        return false;
    }
    /* A variable of a for that is not grouped afterwards. */
    for (uint32_t i = 0; i + 1 < flwor->child_count; i++) {
        const struct sirix_plan *clause = flwor->children[i];

        if (clause->kind == SIRIX_PLAN_FOR && clause->slot == result->slot) {
            one = (clause->flags & SIRIX_PLAN_ALLOWING_EMPTY) == 0;
        } else if (clause->kind == SIRIX_PLAN_GROUP) {
            one = false;
        }
    }
    return one;
}

/* $x.a, $x.a.b of such a variable: one item or none, and asking twice costs little. */
static bool gives_one_or_none(const struct sirix_plan *flwor, const struct sirix_plan *result)
{
    while (result->kind == SIRIX_PLAN_FIELD && result->children[1]->kind == SIRIX_PLAN_CONSTANT &&
           result->children[1]->item.kind == SIRIX_ITEM_STRING) {
        result = result->children[0];
    }
    return result->kind == SIRIX_PLAN_VARIABLE && gives_one(flwor, result);
}

/* How many items come of a tuple that the last clause, an order, gives on. */
static void mark_order(struct sirix_plan *flwor)
{
    struct sirix_plan *last = flwor->children[flwor->child_count - 2];
    const struct sirix_plan *result = flwor->children[flwor->child_count - 1];

    if (last->kind != SIRIX_PLAN_ORDER) {
        return;
    }
    if (gives_one(flwor, result)) {
        last->flags |= SIRIX_PLAN_ONE_EACH;
    } else if (gives_one_or_none(flwor, result)) {
        last->flags |= SIRIX_PLAN_ONE_OR_NONE;
    }
}

/* for $x in e let ... return: as many items as e has, so that pages need not begin at the first. */
static void mark_for(struct sirix_plan *flwor)
{
    struct sirix_plan *first = flwor->children[0];
    bool plain = first->kind == SIRIX_PLAN_FOR && !first->typed &&
                 (first->flags & (SIRIX_PLAN_ALLOWING_EMPTY | SIRIX_PLAN_UPDATING)) == 0;

    for (uint32_t i = 1; i + 1 < flwor->child_count && plain; i++) {
        plain = flwor->children[i]->kind == SIRIX_PLAN_LET;
    }
    if (plain && (flwor->flags & SIRIX_PLAN_UPDATING) == 0 &&
        gives_one(flwor, flwor->children[flwor->child_count - 1])) {
        first->flags |= SIRIX_PLAN_ONE_EACH;
    }
}

/* A number of items from a constant; 0: it is none. */
static uint64_t count_of(const struct sirix_plan *plan)
{
    return plan->kind == SIRIX_PLAN_CONSTANT && plan->item.kind == SIRIX_ITEM_INTEGER &&
                   plan->item.value.integer > 0
               ? (uint64_t)plan->item.value.integer
               : 0;
}

void sirix_plan_rewrite_limit(struct sirix_plan *call)
{
    struct sirix_plan *flwor = call->child_count == 0 ? NULL : call->children[0];
    uint64_t want = 0;

    if (call->function->ns != SIRIX_NS_FN || flwor == NULL || flwor->kind != SIRIX_PLAN_FLWOR) {
        return;
    }
    if (strcmp(call->function->name, "head") == 0) {
        want = 1;
    } else if (strcmp(call->function->name, "subsequence") == 0 && call->child_count == 3 &&
               count_of(call->children[1]) != 0 && count_of(call->children[2]) != 0) {
        want = count_of(call->children[1]) + count_of(call->children[2]) - 1;
    }
    if (want != 0 && flwor->child_count > 1) {
        struct sirix_plan *last = flwor->children[flwor->child_count - 2];

        if ((last->flags & (SIRIX_PLAN_ONE_EACH | SIRIX_PLAN_ONE_OR_NONE)) != 0) {
            last->number = want;
        }
    }
}

/* --- All of it -------------------------------------------------------------------------------------- */

enum sirix_status sirix_plan_rewrite_flwor(struct sirix_work *work, struct sirix_plan *node,
                                           struct sirix_query_error *err)
{
    struct clauses clauses = {.work = work};
    struct sirix_plan *result = node->children[node->child_count - 1];
    enum sirix_status status = split(&clauses, node, err);

    if (status == SIRIX_OK) {
        pass_lets(&clauses);
        status = ask_early(&clauses, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    for (uint32_t i = 1; i < clauses.count; i++) {
        find_join(&clauses, i);
    }
    clauses.list[clauses.count++] = result;
    node->children = clauses.list;
    node->child_count = clauses.count;
    mark_order(node);
    mark_for(node);
    return SIRIX_OK;
}
