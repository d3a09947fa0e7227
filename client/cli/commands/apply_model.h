/*
 * The model of a plan: the part of the document that the patch passes through, read when it is first
 * needed, and changed as the patch goes on. See apply.h.
 */
#ifndef SIRIX_CLI_COMMANDS_APPLY_MODEL_H
#define SIRIX_CLI_COMMANDS_APPLY_MODEL_H

#include "cli/commands/apply.h"
#include "json/pointer.h"

/* A place in the model. */
struct sirixctl_plan_node {
    struct sirixctl_plan_node *parent;
    struct sirixctl_plan_node *next; /* Sibling. */
    struct sirixctl_plan_node *first;
    uint64_t key;
    enum sirix_node_type type;
    struct sirix_bytes name; /* Canonical; of a member. */
    bool has_name;
    bool has_key;  /* false: the patch put it there, and the server will give the key. */
    bool is_read;  /* Its children are in the model. */
    bool is_dirty; /* The patch changed it, or something below it. */
};

/* One operation of the patch. */
struct sirixctl_plan_step {
    size_t number;
    struct sirix_json_steps path;
    struct sirix_bytes path_text;
    struct sirix_json_node *value; /* NULL: none was given. */
    struct sirix_json_steps from;
    bool has_from;
};

/* An error of one operation: its number and path go with the sentence. */
enum sirix_status sirixctl_plan_fail(struct sirix_error *err, enum sirix_status status,
                                     enum sirix_reason reason,
                                     const struct sirixctl_plan_step *step, const char *fmt, ...)
    SIRIX_PRINTF(5, 6);

/* The place that an operation names does not exist. */
enum sirix_status sirixctl_plan_fail_nowhere(struct sirix_error *err,
                                             const struct sirixctl_plan_step *step);

/* A cleared node in the plan's arena; not linked. */
enum sirix_status sirixctl_plan_new_node(struct sirixctl_plan *plan,
                                         struct sirixctl_plan_node *parent,
                                         struct sirixctl_plan_node **out,
                                         struct sirix_error *err) SIRIX_MUST_CHECK;

/* Makes plan->root; of type NONE where the resource has no value. */
enum sirix_status sirixctl_plan_read_root(struct sirixctl_plan *plan,
                                          struct sirix_error *err) SIRIX_MUST_CHECK;

/* The children of a container are in the model afterwards. */
enum sirix_status sirixctl_plan_read_children(struct sirixctl_plan *plan,
                                              struct sirixctl_plan_node *node,
                                              const struct sirixctl_plan_step *step,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* The child that a step names, or NULL; *out_at is where in the list it stands, or would. */
struct sirixctl_plan_node *sirixctl_plan_find_child(struct sirixctl_plan_node *node,
                                                    const struct sirix_json_step *step,
                                                    uint64_t *out_at);

/* The node at the first count steps. */
enum sirix_status sirixctl_plan_walk(struct sirixctl_plan *plan,
                                     const struct sirix_json_steps *steps, size_t count,
                                     const struct sirixctl_plan_step *step,
                                     struct sirixctl_plan_node **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;

/* Takes a child out of its list; puts one into a list at a place, or at its end. */
void sirixctl_plan_unlink(struct sirixctl_plan_node *child);
void sirixctl_plan_link(struct sirixctl_plan_node *parent, struct sirixctl_plan_node *child,
                        uint64_t at);

/* The stored text of a node and of all above it is no longer what it will be. */
void sirixctl_plan_mark_dirty(struct sirixctl_plan_node *node);

#endif
