/* The model of a plan. */
#include "cli/commands/apply_model.h"

#include <stdarg.h>
#include <stdio.h>

#include "json/text.h"

enum { PAGE_CHILDREN = 10000, PAGE_NODES = 20000 };

/* --- Errors ----------------------------------------------------------------------------------- */

enum sirix_status sirixctl_plan_fail(struct sirix_error *err, enum sirix_status status,
                                     enum sirix_reason reason,
                                     const struct sirixctl_plan_step *step, const char *fmt, ...)
{
    char sentence[SIRIX_ERROR_TEXT_BYTES / 2];
    char pointer[SIRIX_ERROR_WHERE_BYTES];
    va_list args;

    va_start(args, fmt);
    (void)vsnprintf(sentence, sizeof(sentence), fmt, args);
    va_end(args);
    (void)snprintf(pointer, sizeof(pointer), "%.*s", (int)step->path_text.len,
                   (const char *)step->path_text.data);
    (void)sirix_fail_reason(err, status, reason, "operation %zu of the patch: %s", step->number,
                            sentence);
    sirix_error_set_pointer(err, pointer);
    return status;
}

enum sirix_status sirixctl_plan_fail_nowhere(struct sirix_error *err,
                                             const struct sirixctl_plan_step *step)
{
    return sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                              "there is no such place");
}

/* --- The model -------------------------------------------------------------------------------- */

enum sirix_status sirixctl_plan_new_node(struct sirixctl_plan *plan,
                                         struct sirixctl_plan_node *parent,
                                         struct sirixctl_plan_node **out, struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_calloc(plan->arena, 1, sizeof(struct sirixctl_plan_node), &memory, err);

    if (status == SIRIX_OK) {
        *out = memory;
        (*out)->parent = parent;
    }
    return status;
}

/* One child as the server told it. */
static enum sirix_status add_child(struct sirixctl_plan *plan, struct sirixctl_plan_node *parent,
                                   const struct sirix_node_info *info,
                                   struct sirixctl_plan_node ***tail, struct sirix_error *err)
{
    struct sirixctl_plan_node *child = NULL;
    struct sirix_bytes name = {0};
    struct sirix_bytes copy = {0};
    enum sirix_status status = sirixctl_plan_new_node(plan, parent, &child, err);

    if (status == SIRIX_OK && info->has_name) {
        status = sirix_arena_copy(plan->arena, info->name, &copy, err);
    }
    if (status == SIRIX_OK && info->has_name) {
        status = sirix_json_text_to_canonical(plan->arena, copy, &name, err);
    }
    if (status == SIRIX_OK) {
        child->key = info->node_key;
        child->has_key = true;
        child->type = info->type;
        child->name = name;
        child->has_name = info->has_name;
        **tail = child;
        *tail = &child->next;
    }
    return status;
}

/* Takes the children of the target out of one answer. */
static enum sirix_status take_page(struct sirixctl_plan *plan, struct sirixctl_plan_node *node,
                                   const struct sirix_node_page *page,
                                   struct sirixctl_plan_node ***tail, size_t *count,
                                   struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 1; i < page->count && status == SIRIX_OK; i++) {
        if (page->nodes[i].parent_index == 0) {
            *count += 1;
            status = add_child(plan, node, &page->nodes[i], tail, err);
        }
    }
    return status;
}

enum sirix_status sirixctl_plan_read_children(struct sirixctl_plan *plan,
                                              struct sirixctl_plan_node *node,
                                              const struct sirixctl_plan_step *step,
                                              struct sirix_error *err)
{
    struct sirix_read_node_request request = {
        .database = plan->name->database,
        .resource = plan->name->resource,
        .view = plan->view,
        .target = {.node_key = node->key},
        .has_max_depth = true,
        .max_depth = 1,
        .max_children = PAGE_CHILDREN,
        .max_nodes = PAGE_NODES,
        .max_value_bytes = 1,
    };
    struct sirixctl_plan_node **tail = &node->first;
    struct sirix_node_page *page = NULL;
    enum sirix_status status = SIRIX_OK;
    size_t count = 0;

    if (node->is_read) {
        return SIRIX_OK;
    }
    if (!node->has_key) {
        return sirixctl_plan_fail(err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
                                  "the place is inside a value that this patch put there; "
                                  "put the whole value there instead");
    }
    do {
        struct sirix_node_page *next = NULL;

        status = sirix_client_read_node(plan->ctl->client, &request, &plan->ctl->call, &next, err);
        if (status == SIRIX_OK) {
            status = sirixctl_next_page(&request.cursor, next->next_cursor, err);
        }
        sirix_client_free(page); /* Its cursor was needed until now. */
        page = next;
        if (status == SIRIX_OK) {
            status = take_page(plan, node, page, &tail, &count, err);
        }
        if (status == SIRIX_OK && count > SIRIXCTL_PLAN_CHILDREN_MAX) {
            status = sirixctl_plan_fail(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT, step,
                                        "it passes a value with over %d children",
                                        SIRIXCTL_PLAN_CHILDREN_MAX);
        }
    } while (status == SIRIX_OK && request.cursor.len != 0);
    sirix_client_free(page);
    node->is_read = status == SIRIX_OK;
    return status;
}

enum sirix_status sirixctl_plan_read_root(struct sirixctl_plan *plan, struct sirix_error *err)
{
    struct sirix_read_node_request request = {
        .database = plan->name->database,
        .resource = plan->name->resource,
        .view = plan->view,
        .has_max_depth = true,
        .max_value_bytes = 1,
    };
    struct sirix_error failure = {0};
    struct sirix_node_page *page = NULL;
    enum sirix_status status = sirixctl_plan_new_node(plan, NULL, &plan->root, err);

    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_client_read_node(plan->ctl->client, &request, &plan->ctl->call, &page, &failure);
    if (status == SIRIX_NOT_FOUND && failure.reason == SIRIX_REASON_NODE_UNKNOWN) {
        plan->root->is_read = true; /* A resource without a value. */
        return SIRIX_OK;
    }
    if (status == SIRIX_OK && page->count > 0) {
        plan->root->key = page->nodes[0].node_key;
        plan->root->has_key = true;
        plan->root->type = page->nodes[0].type;
    } else if (err != NULL) {
        *err = failure;
    }
    sirix_client_free(page);
    return status;
}

/* The child that a step names, or NULL; *out_at is where in the list it stands, or would. */
struct sirixctl_plan_node *sirixctl_plan_find_child(struct sirixctl_plan_node *node,
                                                    const struct sirix_json_step *step,
                                                    uint64_t *out_at)
{
    uint64_t at = 0;

    for (struct sirixctl_plan_node *child = node->first; child != NULL; child = child->next) {
        bool found = node->type == SIRIX_NODE_TYPE_OBJECT
                         ? sirix_bytes_equal(child->name, step->name)
                         : step->is_position && step->position == at;

        if (found) {
            *out_at = at;
            return child;
        }
        at++;
    }
    *out_at = at;
    return NULL;
}

/* The node at the first count steps. */
enum sirix_status sirixctl_plan_walk(struct sirixctl_plan *plan,
                                     const struct sirix_json_steps *steps, size_t count,
                                     const struct sirixctl_plan_step *step,
                                     struct sirixctl_plan_node **out, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = plan->root;
    uint64_t at = 0;

    for (size_t i = 0; i < count; i++) {
        enum sirix_status status = SIRIX_OK;

        if (node->type != SIRIX_NODE_TYPE_OBJECT && node->type != SIRIX_NODE_TYPE_ARRAY) {
            return sirixctl_plan_fail_nowhere(err, step);
        }
        status = sirixctl_plan_read_children(plan, node, step, err);
        if (status != SIRIX_OK) {
            return status;
        }
        node = sirixctl_plan_find_child(node, &steps->steps[i], &at);
        if (node == NULL) {
            return sirixctl_plan_fail_nowhere(err, step);
        }
    }
    if (node->type == SIRIX_NODE_TYPE_NONE) {
        return sirixctl_plan_fail_nowhere(err, step); /* A resource without a value. */
    }
    *out = node;
    return SIRIX_OK;
}

void sirixctl_plan_unlink(struct sirixctl_plan_node *child)
{
    struct sirixctl_plan_node **link = &child->parent->first;

    while (*link != child) {
        link = &(*link)->next;
    }
    *link = child->next;
    child->next = NULL;
}

void sirixctl_plan_link(struct sirixctl_plan_node *parent, struct sirixctl_plan_node *child,
                        uint64_t at)
{
    struct sirixctl_plan_node **link = &parent->first;

    while (at > 0 && *link != NULL) {
        link = &(*link)->next;
        at--;
    }
    child->parent = parent;
    child->next = *link;
    *link = child;
}

void sirixctl_plan_mark_dirty(struct sirixctl_plan_node *node)
{
    for (; node != NULL; node = node->parent) {
        node->is_dirty = true;
    }
}
