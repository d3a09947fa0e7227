/* Arithmetic on order labels. */
#include "store/child/child_label.h"

#include <assert.h>

__extension__ typedef unsigned __int128 uint128;

#define STEP       ((uint128)1 << 40)
#define OPEN_STEP  ((uint128)1 << ROOM_BITS_MAX) /* Between new labels where an end is open. */
#define MAJOR_SIGN (UINT64_C(1) << 63)

enum {
    ROOM_BITS = 24,     /* Room that a child of a relabelled leaf must get, as a power of two; */
    ROOM_GROWTH = 2,    /* how much more, each time the run of leaves has doubled; */
    ROOM_BITS_MAX = 64, /* and the most that is asked for. */
    RECENT_KEYS_MAX = 4096,
};

static uint128 number_of(struct sirix_label label)
{
    return (uint128)((uint64_t)label.major ^ MAJOR_SIGN) << 64 | label.minor;
}

static struct sirix_label label_of(uint128 number)
{
    return (struct sirix_label){
        .major = (int64_t)((uint64_t)(number >> 64) ^ MAJOR_SIGN),
        .minor = (uint64_t)number,
    };
}

static bool choose_default(uint64_t key, enum sirix_order order, struct sirix_child_item *out_item)
{
    *out_item = (struct sirix_child_item){
        .key = key,
        .label = sirix_label_default(key, order),
        .order = order,
    };
    return true;
}

static bool choose_explicit(uint64_t key, uint128 number, struct sirix_child_item *out_item)
{
    *out_item = (struct sirix_child_item){
        .key = key,
        .label = label_of(number),
        .order = SIRIX_ORDER_EXPLICIT,
    };
    return true;
}

/*
 * Whether a neighbour is likely to be the last insert: newer children have larger keys, moves apart.
 * A child whose subtree has more nodes than this does not count: then labels go half-way, and the few
 * that are given anew are nothing beside the subtrees.
 */
static bool is_recent(const struct sirix_child_item *item, const struct sirix_child_item *other,
                      uint64_t key)
{
    return item->order == SIRIX_ORDER_EXPLICIT && item->key < key &&
           key - item->key <= RECENT_KEYS_MAX &&
           (other->order != SIRIX_ORDER_EXPLICIT || item->key > other->key);
}

/*
 * Whether inserts go on between the two last ones, as they do at the middle of a growing array: then
 * the next one will stand beside the newer neighbour, and the room must stay there.
 */
static bool is_closing_in(const struct sirix_child_item *newer,
                          const struct sirix_child_item *older, uint64_t key)
{
    return older->order == SIRIX_ORDER_EXPLICIT &&
           (newer->key - older->key) / 2 <= key - newer->key;
}

static bool choose_between(const struct sirix_child_item *left,
                           const struct sirix_child_item *right, uint64_t key,
                           struct sirix_child_item *out_item)
{
    uint128 low = number_of(left->label);
    uint128 high = number_of(right->label);
    uint128 number = low + (high - low) / 2;
    bool beside_left = is_recent(left, right, key);
    bool beside_right = is_recent(right, left, key);

    assert(low < high);
    if (high - low < 2) {
        return false;
    }
    if ((beside_left && is_closing_in(left, right, key)) ||
        (beside_right && is_closing_in(right, left, key))) {
        beside_left = !beside_left;
        beside_right = !beside_right;
    }
    if (high - low > STEP && beside_left) {
        number = low + STEP;
    } else if (high - low > STEP && beside_right) {
        number = high - STEP;
    }
    return choose_explicit(key, number, out_item);
}

bool sirix_label_choose(const struct sirix_child_item *left, const struct sirix_child_item *right,
                        uint64_t key, struct sirix_child_item *out_item)
{
    struct sirix_label rising = sirix_label_default(key, SIRIX_ORDER_KEY);
    struct sirix_label falling = sirix_label_default(key, SIRIX_ORDER_MIRRORED);

    assert(key != 0 && key <= INT64_MAX);
    if (left != NULL && right != NULL) {
        return choose_between(left, right, key, out_item);
    }
    if (right == NULL) {
        if (left == NULL || sirix_label_compare(rising, left->label) > 0) {
            return choose_default(key, SIRIX_ORDER_KEY, out_item);
        }
        uint128 low = number_of(left->label);
        return low <= ~(uint128)0 - STEP && choose_explicit(key, low + STEP, out_item);
    }
    if (sirix_label_compare(falling, right->label) < 0) {
        return choose_default(key, SIRIX_ORDER_MIRRORED, out_item);
    }
    uint128 high = number_of(right->label);
    return high >= STEP && choose_explicit(key, high - STEP, out_item);
}

/* --- New labels --------------------------------------------------------------------------------- */

/* The distance between the plan's labels: count + 1 of them between, or next to, the bounds. */
static uint128 step_of(const struct sirix_relabel *plan)
{
    uint128 parts = (uint128)plan->count + 2;
    uint128 low = plan->has_low ? number_of(plan->low) : 0;
    uint128 high = plan->has_high ? number_of(plan->high) : ~(uint128)0;
    uint128 step = (high - low) / parts;

    if (!plan->has_low || !plan->has_high) {
        step = step > OPEN_STEP ? OPEN_STEP : step;
    }
    return step;
}

struct sirix_label sirix_relabel_at(const struct sirix_relabel *plan, uint64_t i)
{
    uint128 step = step_of(plan);

    assert(i <= plan->count);
    if (plan->has_low) {
        return label_of(number_of(plan->low) + step * (i + 1));
    }
    if (plan->has_high) {
        return label_of(number_of(plan->high) - step * (plan->count + 1 - i));
    }
    return label_of(number_of((struct sirix_label){0}) + step * (i + 1));
}

/* Takes the leaf to the left (or right) of the plan's run into it. */
static enum sirix_status widen(struct sirix_child_nodes *nodes, bool to_left,
                               struct sirix_relabel *plan, struct sirix_error *err)
{
    uint64_t at = to_left ? plan->first - 1 : plan->first + plan->count;
    struct sirix_child_path path;
    enum sirix_status status = sirix_child_nodes_seek_item(nodes, at, &path, err);

    if (status == SIRIX_OK) {
        uint32_t count = path.nodes[0]->page.count;

        plan->first -= to_left ? count : 0;
        plan->count += count;
    }
    return status;
}

/* The labels just outside the plan's run. */
static enum sirix_status find_bounds(struct sirix_child_nodes *nodes, struct sirix_relabel *plan,
                                     struct sirix_error *err)
{
    struct sirix_child_path path;
    enum sirix_status status = SIRIX_OK;

    plan->has_low = plan->first != 0;
    plan->has_high = plan->first + plan->count < nodes->count;
    if (plan->has_low) {
        status = sirix_child_nodes_seek_item(nodes, plan->first - 1, &path, err);
        if (status == SIRIX_OK) {
            plan->low = path.nodes[0]->page.items[path.positions[0]].label;
        }
    }
    if (status == SIRIX_OK && plan->has_high) {
        status = sirix_child_nodes_seek_item(nodes, plan->first + plan->count, &path, err);
        if (status == SIRIX_OK) {
            plan->high = path.nodes[0]->page.items[path.positions[0]].label;
        }
    }
    return status;
}

/* Doubles the plan's run of leaves, or takes the whole tree. */
static enum sirix_status double_run(struct sirix_child_nodes *nodes, uint64_t leaves,
                                    struct sirix_relabel *plan, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint64_t i = 0; i < leaves && plan->count < nodes->count && status == SIRIX_OK; i++) {
        bool left_open = plan->first != 0;
        bool right_open = plan->first + plan->count < nodes->count;

        status = widen(nodes, left_open && (!right_open || i % 2 == 0), plan, err);
    }
    return status == SIRIX_OK ? find_bounds(nodes, plan, err) : status;
}

enum sirix_status sirix_relabel_plan(struct sirix_child_nodes *nodes,
                                     const struct sirix_child_path *path, uint64_t index,
                                     struct sirix_relabel *out_plan, struct sirix_error *err)
{
    struct sirix_relabel plan = {
        .first = index - path->positions[0],
        .count = path->nodes[0]->page.count,
    };
    uint64_t leaves = 1;
    uint32_t room = ROOM_BITS;
    enum sirix_status status = find_bounds(nodes, &plan, err);

    while (status == SIRIX_OK && plan.count < nodes->count && step_of(&plan) < (uint128)1 << room) {
        status = double_run(nodes, leaves, &plan, err);
        leaves *= 2;
        room += room < ROOM_BITS_MAX ? ROOM_GROWTH : 0;
    }
    if (status == SIRIX_OK) {
        *out_plan = plan;
    }
    return status;
}
