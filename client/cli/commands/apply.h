/*
 * From an RFC 6902 patch to operations on node keys.
 *
 * A patch names places by pointers, and each operation sees the ones before; the server takes keys,
 * and one list that is done whole. So a plan keeps a model of the places that the patch touches: it
 * reads the children of a node when a pointer first passes there, and changes the model, not the
 * server, as it goes on. All of it is read from one revision, which the write then expects.
 *
 * What it cannot do it refuses, naming the operation: a place inside a value that the same patch
 * added, moved to another parent, or replaced (put the whole value there instead), and an object or
 * array with more children than a plan reads.
 */
#ifndef SIRIX_CLI_COMMANDS_APPLY_H
#define SIRIX_CLI_COMMANDS_APPLY_H

#include "base/arena.h"
#include "cli/command.h"
#include "json/tree.h"

enum {
    SIRIXCTL_PLAN_OPERATIONS_MAX = 10 * 1000,
    SIRIXCTL_PLAN_CHILDREN_MAX = 100 * 1000,
};

struct sirixctl_plan_node;

struct sirixctl_plan {
    struct sirixctl *ctl;
    const struct sirixctl_name *name;
    struct sirix_view view; /* The revision that everything is read from. */
    struct sirix_arena *arena;
    struct sirixctl_plan_node *root;
    struct sirix_operation *operations;
    size_t count;
    size_t tests; /* Passed. */
};

/* Reads the patch, an array, into plan->operations. plan has ctl, name, view and arena set. */
enum sirix_status sirixctl_plan_patch(struct sirixctl_plan *plan, struct sirix_json_tree *tree,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
