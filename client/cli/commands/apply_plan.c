/* Planning a patch. */
#include "cli/commands/apply.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buf.h"
#include "json/pointer.h"
#include "json/text.h"

enum { PAGE_CHILDREN = 10000, PAGE_NODES = 20000, VALUE_BYTES_MAX = 64 * 1024 * 1024 };

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
struct step {
    size_t number;
    struct sirix_json_steps path;
    struct sirix_bytes path_text;
    struct sirix_json_node *value; /* NULL: none was given. */
    struct sirix_json_steps from;
    bool has_from;
};

/* --- Errors ----------------------------------------------------------------------------------- */

static enum sirix_status SIRIX_PRINTF(5, 6)
    fail_step(struct sirix_error *err, enum sirix_status status, enum sirix_reason reason,
              const struct step *step, const char *fmt, ...)
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

static enum sirix_status fail_nowhere(struct sirix_error *err, const struct step *step)
{
    return fail_step(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step, "there is no such place");
}

/* --- The model -------------------------------------------------------------------------------- */

static enum sirix_status new_node(struct sirixctl_plan *plan, struct sirixctl_plan_node *parent,
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
    enum sirix_status status = new_node(plan, parent, &child, err);

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

static enum sirix_status read_children(struct sirixctl_plan *plan, struct sirixctl_plan_node *node,
                                       const struct step *step, struct sirix_error *err)
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
        return fail_step(err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
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
            status =
                fail_step(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT, step,
                          "it passes a value with over %d children", SIRIXCTL_PLAN_CHILDREN_MAX);
        }
    } while (status == SIRIX_OK && request.cursor.len != 0);
    sirix_client_free(page);
    node->is_read = status == SIRIX_OK;
    return status;
}

static enum sirix_status read_root(struct sirixctl_plan *plan, struct sirix_error *err)
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
    enum sirix_status status = new_node(plan, NULL, &plan->root, err);

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
static struct sirixctl_plan_node *find_child(struct sirixctl_plan_node *node,
                                             const struct sirix_json_step *step, uint64_t *out_at)
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
static enum sirix_status walk(struct sirixctl_plan *plan, const struct sirix_json_steps *steps,
                              size_t count, const struct step *step,
                              struct sirixctl_plan_node **out, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = plan->root;
    uint64_t at = 0;

    for (size_t i = 0; i < count; i++) {
        enum sirix_status status = SIRIX_OK;

        if (node->type != SIRIX_NODE_TYPE_OBJECT && node->type != SIRIX_NODE_TYPE_ARRAY) {
            return fail_nowhere(err, step);
        }
        status = read_children(plan, node, step, err);
        if (status != SIRIX_OK) {
            return status;
        }
        node = find_child(node, &steps->steps[i], &at);
        if (node == NULL) {
            return fail_nowhere(err, step);
        }
    }
    if (node->type == SIRIX_NODE_TYPE_NONE) {
        return fail_nowhere(err, step); /* A resource without a value. */
    }
    *out = node;
    return SIRIX_OK;
}

static void unlink_child(struct sirixctl_plan_node *child)
{
    struct sirixctl_plan_node **link = &child->parent->first;

    while (*link != child) {
        link = &(*link)->next;
    }
    *link = child->next;
    child->next = NULL;
}

static void link_child(struct sirixctl_plan_node *parent, struct sirixctl_plan_node *child,
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

static void mark_dirty(struct sirixctl_plan_node *node)
{
    for (; node != NULL; node = node->parent) {
        node->is_dirty = true;
    }
}

static enum sirix_node_type type_of(const struct sirix_json_node *value)
{
    static const enum sirix_node_type TYPES[] = {
        [SIRIX_JSON_KIND_NULL] = SIRIX_NODE_TYPE_NULL,
        [SIRIX_JSON_KIND_FALSE] = SIRIX_NODE_TYPE_BOOLEAN,
        [SIRIX_JSON_KIND_TRUE] = SIRIX_NODE_TYPE_BOOLEAN,
        [SIRIX_JSON_KIND_NUMBER] = SIRIX_NODE_TYPE_NUMBER,
        [SIRIX_JSON_KIND_STRING] = SIRIX_NODE_TYPE_STRING,
        [SIRIX_JSON_KIND_ARRAY] = SIRIX_NODE_TYPE_ARRAY,
        [SIRIX_JSON_KIND_OBJECT] = SIRIX_NODE_TYPE_OBJECT,
    };

    return TYPES[value->kind];
}

/* --- Operations ------------------------------------------------------------------------------- */

static enum sirix_status add_operation(struct sirixctl_plan *plan, const struct step *step,
                                       const struct sirix_operation *operation,
                                       struct sirix_error *err)
{
    if (plan->count == SIRIXCTL_PLAN_OPERATIONS_MAX) {
        return fail_step(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT, step,
                         "a patch may change %d places", SIRIXCTL_PLAN_OPERATIONS_MAX);
    }
    plan->operations[plan->count++] = *operation;
    return SIRIX_OK;
}

/* The operation needs the key of a node that is there already. */
static enum sirix_status need_key(const struct sirixctl_plan_node *node, const struct step *step,
                                  struct sirix_error *err)
{
    if (node->has_key) {
        return SIRIX_OK;
    }
    return fail_step(err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
                     "this patch put the value there itself; put the final value there instead");
}

/* A value of the patch as compact text, in the arena. */
static enum sirix_status value_text(struct sirixctl_plan *plan, const struct sirix_json_node *value,
                                    struct sirix_bytes *out_text, struct sirix_error *err)
{
    struct sirix_buf buf;

    sirix_buf_init(&buf, VALUE_BYTES_MAX);
    enum sirix_status status = sirix_json_tree_print(value, &buf, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(plan->arena, sirix_buf_view(&buf), out_text, err);
    }
    sirix_buf_deinit(&buf);
    return status;
}

static enum sirix_status replace_node(struct sirixctl_plan *plan, const struct step *step,
                                      struct sirixctl_plan_node *node, struct sirix_bytes text,
                                      enum sirix_node_type type, struct sirix_error *err)
{
    struct sirix_operation operation = {
        .kind = SIRIX_OPERATION_REPLACE,
        .node_key = node->key,
        .json = text,
    };
    enum sirix_status status = need_key(node, step, err);

    if (status == SIRIX_OK) {
        status = add_operation(plan, step, &operation, err);
    }
    if (status == SIRIX_OK) {
        /* It keeps its key; what is below is new. An empty one has nothing below. */
        node->type = type;
        node->first = NULL;
        node->has_key = type != SIRIX_NODE_TYPE_OBJECT && type != SIRIX_NODE_TYPE_ARRAY;
        node->is_read = false;
        mark_dirty(node);
    }
    return status;
}

/* Where an insert or move goes: the parent and the place in its list. */
struct spot {
    struct sirixctl_plan_node *parent;
    struct sirixctl_plan_node *taken; /* The member that has the name already. */
    struct sirix_bytes name;          /* Canonical. */
    uint64_t at;
    bool is_member;
};

static enum sirix_status find_spot(struct sirixctl_plan *plan, const struct step *step,
                                   struct spot *out_spot, struct sirix_error *err)
{
    const struct sirix_json_step *last = &step->path.steps[step->path.count - 1];
    struct spot spot = {.parent = NULL};
    enum sirix_status status =
        walk(plan, &step->path, step->path.count - 1, step, &spot.parent, err);

    if (status == SIRIX_OK && spot.parent->type != SIRIX_NODE_TYPE_OBJECT &&
        spot.parent->type != SIRIX_NODE_TYPE_ARRAY) {
        status = fail_nowhere(err, step);
    }
    if (status == SIRIX_OK) {
        status = need_key(spot.parent, step, err);
    }
    if (status == SIRIX_OK) {
        status = read_children(plan, spot.parent, step, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    spot.is_member = spot.parent->type == SIRIX_NODE_TYPE_OBJECT;
    spot.taken = find_child(spot.parent, last, &spot.at);
    spot.name = last->name;
    /* In a list: before the element that is there, or behind the last one. */
    if (!spot.is_member && spot.taken == NULL && !last->is_end &&
        !(last->is_position && last->position == spot.at)) {
        return fail_nowhere(err, step);
    }
    if (!spot.is_member) {
        spot.taken = NULL;
    }
    *out_spot = spot;
    return SIRIX_OK;
}

static struct sirix_place place_of(const struct spot *spot)
{
    return (struct sirix_place){
        .node_key = spot->parent->key,
        .position = spot->is_member ? SIRIX_POSITION_LAST_CHILD : SIRIX_POSITION_INDEX,
        .index = spot->at,
    };
}

static enum sirix_status insert_text(struct sirixctl_plan *plan, const struct step *step,
                                     struct sirix_bytes text, enum sirix_node_type type,
                                     struct sirix_error *err)
{
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_INSERT, .json = text};
    struct sirixctl_plan_node *child = NULL;
    struct spot spot;

    if (step->path.count == 0 && plan->root->type != SIRIX_NODE_TYPE_NONE) {
        return replace_node(plan, step, plan->root, text, type, err);
    }
    if (step->path.count == 0) {
        plan->root->type = type;
        return add_operation(plan, step, &operation, err);
    }
    enum sirix_status status = find_spot(plan, step, &spot, err);
    if (status == SIRIX_OK && spot.taken != NULL) {
        return replace_node(plan, step, spot.taken, text, type, err);
    }
    if (status == SIRIX_OK) {
        operation.place = place_of(&spot);
        operation.has_name = spot.is_member;
        status = spot.is_member
                     ? sirix_json_text_to_plain(plan->arena, spot.name, &operation.name, err)
                     : SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = add_operation(plan, step, &operation, err);
    }
    if (status == SIRIX_OK) {
        status = new_node(plan, spot.parent, &child, err);
    }
    if (status == SIRIX_OK) {
        child->type = type;
        child->has_name = spot.is_member;
        child->name = spot.is_member ? spot.name : (struct sirix_bytes){0};
        link_child(spot.parent, child, spot.at);
        mark_dirty(child);
    }
    return status;
}

static enum sirix_status plan_add(struct sirixctl_plan *plan, const struct step *step,
                                  struct sirix_error *err)
{
    struct sirix_bytes text;
    enum sirix_status status = value_text(plan, step->value, &text, err);

    return status != SIRIX_OK ? status : insert_text(plan, step, text, type_of(step->value), err);
}

static enum sirix_status plan_replace(struct sirixctl_plan *plan, const struct step *step,
                                      struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_bytes text;
    enum sirix_status status = walk(plan, &step->path, step->path.count, step, &node, err);

    if (status == SIRIX_OK) {
        status = value_text(plan, step->value, &text, err);
    }
    return status != SIRIX_OK ? status
                              : replace_node(plan, step, node, text, type_of(step->value), err);
}

static enum sirix_status plan_remove(struct sirixctl_plan *plan, const struct step *step,
                                     struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_DELETE};
    enum sirix_status status = walk(plan, &step->path, step->path.count, step, &node, err);

    if (status == SIRIX_OK && node->parent == NULL) {
        status = fail_step(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                           "the whole value cannot be removed");
    }
    if (status == SIRIX_OK) {
        status = need_key(node, step, err);
    }
    if (status == SIRIX_OK) {
        operation.node_key = node->key;
        status = add_operation(plan, step, &operation, err);
    }
    if (status == SIRIX_OK) {
        mark_dirty(node->parent);
        unlink_child(node);
    }
    return status;
}

static bool is_inside(const struct sirixctl_plan_node *node, const struct sirixctl_plan_node *of)
{
    for (; node != NULL; node = node->parent) {
        if (node == of) {
            return true;
        }
    }
    return false;
}

/* Unlinks the node, finds the spot as it is then, and links it there. */
static enum sirix_status move_node(struct sirixctl_plan *plan, const struct step *step,
                                   struct sirixctl_plan_node *node, struct sirix_error *err)
{
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_MOVE, .node_key = node->key};
    struct sirixctl_plan_node *old_parent = node->parent;
    struct sirix_operation removal = {.kind = SIRIX_OPERATION_DELETE};
    struct spot spot;

    mark_dirty(old_parent);
    unlink_child(node);
    enum sirix_status status = find_spot(plan, step, &spot, err);
    if (status == SIRIX_OK && spot.taken != NULL) {
        /* A member of that name makes room. */
        status = need_key(spot.taken, step, err);
        removal.node_key = spot.taken->key;
        if (status == SIRIX_OK) {
            status = add_operation(plan, step, &removal, err);
        }
        if (status == SIRIX_OK) {
            unlink_child(spot.taken);
        }
    }
    if (status == SIRIX_OK) {
        operation.place = place_of(&spot);
        operation.has_name = spot.is_member;
        status = spot.is_member
                     ? sirix_json_text_to_plain(plan->arena, spot.name, &operation.name, err)
                     : SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = add_operation(plan, step, &operation, err);
    }
    if (status == SIRIX_OK) {
        node->has_key = spot.parent == old_parent; /* Elsewhere it gets new keys. */
        node->is_read = node->has_key && node->is_read;
        node->first = node->is_read ? node->first : NULL;
        node->has_name = spot.is_member;
        node->name = spot.is_member ? spot.name : (struct sirix_bytes){0};
        link_child(spot.parent, node, spot.is_member ? UINT64_MAX : spot.at);
        mark_dirty(node);
    }
    return status;
}

static enum sirix_status plan_move(struct sirixctl_plan *plan, const struct step *step,
                                   struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirixctl_plan_node *there = NULL;
    enum sirix_status status = walk(plan, &step->from, step->from.count, step, &node, err);

    if (status == SIRIX_OK && (node->parent == NULL || step->path.count == 0)) {
        status = fail_step(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                           "the whole value cannot be moved");
    }
    if (status == SIRIX_OK) {
        status = need_key(node, step, err);
    }
    if (status == SIRIX_OK) {
        status = walk(plan, &step->path, step->path.count - 1, step, &there, err);
    }
    if (status == SIRIX_OK && is_inside(there, node)) {
        status = fail_step(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                           "a value cannot be moved into itself");
    }
    return status != SIRIX_OK ? status : move_node(plan, step, node, err);
}

/* The text of a node that the patch has not touched. */
static enum sirix_status stored_text(struct sirixctl_plan *plan, const struct step *step,
                                     const struct sirixctl_plan_node *node, struct sirix_buf *text,
                                     struct sirix_error *err)
{
    struct sirix_read_document_request request = {
        .database = plan->name->database,
        .resource = plan->name->resource,
        .view = plan->view,
        .target = {.node_key = node->key},
    };
    struct sirix_document_stream *stream = NULL;
    struct sirix_bytes piece = {.len = 1};

    if (node->is_dirty || !node->has_key) {
        return fail_step(err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
                         "the value was changed by this patch before; "
                         "test and copy it before that");
    }
    enum sirix_status status =
        sirix_client_read_document(plan->ctl->client, &request, &plan->ctl->call, &stream, err);
    while (status == SIRIX_OK && piece.len != 0) {
        status = sirix_document_stream_next(stream, &piece, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(text, piece, err);
        }
    }
    sirix_document_stream_close(stream);
    return status;
}

static enum sirix_status plan_copy(struct sirixctl_plan *plan, const struct step *step,
                                   struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_bytes text;
    struct sirix_buf buf;
    enum sirix_status status = walk(plan, &step->from, step->from.count, step, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&buf, VALUE_BYTES_MAX);
    status = stored_text(plan, step, node, &buf, err);
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(plan->arena, sirix_buf_view(&buf), &text, err);
    }
    sirix_buf_deinit(&buf);
    return status != SIRIX_OK ? status : insert_text(plan, step, text, node->type, err);
}

static enum sirix_status plan_test(struct sirixctl_plan *plan, struct sirix_json_tree *patch,
                                   const struct step *step, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_json_tree stored;
    struct sirix_buf buf;
    enum sirix_status status = walk(plan, &step->path, step->path.count, step, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    sirix_buf_init(&buf, VALUE_BYTES_MAX);
    status = stored_text(plan, step, node, &buf, err);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_init(&stored, plan->arena, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&stored, sirix_buf_view(&buf), NULL, NULL, err);
    }
    if (status == SIRIX_OK && !sirix_json_equal(&stored, stored.root, patch, step->value)) {
        status = fail_step(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TEST, step,
                           "the test failed: another value is there");
    }
    if (status == SIRIX_OK) {
        plan->tests++;
    }
    sirix_buf_deinit(&buf);
    return status;
}

/* --- Reading the patch ------------------------------------------------------------------------ */

/* pointer: the member called name, or NULL. */
static enum sirix_status read_pointer(struct sirixctl_plan *plan,
                                      const struct sirix_json_node *pointer, const char *member,
                                      struct step *step, struct sirix_json_steps *out_steps,
                                      struct sirix_bytes *out_text, struct sirix_error *err)
{
    struct sirix_error failure = {0};
    struct sirix_bytes text;

    if (pointer == NULL || pointer->kind != SIRIX_JSON_KIND_STRING) {
        return fail_step(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, step,
                         "it wants a `%s` that is a string", member);
    }
    enum sirix_status status =
        sirix_json_text_to_plain(plan->arena, pointer->value.text, &text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_json_pointer_parse(plan->arena, text, out_steps, &failure);
    if (status != SIRIX_OK) {
        return fail_step(err, status, failure.reason, step, "`%s`: %s", member, failure.text);
    }
    *out_text = text;
    return SIRIX_OK;
}

struct verb {
    const char *name;
    bool has_value;
    bool has_from;
    enum sirix_status (*plan)(struct sirixctl_plan *plan, const struct step *step,
                              struct sirix_error *err);
};

static const struct verb VERBS[] = {
    {"add", true, false, plan_add},         {"remove", false, false, plan_remove},
    {"replace", true, false, plan_replace}, {"move", false, true, plan_move},
    {"copy", false, true, plan_copy},       {"test", true, false, NULL},
};

static const struct verb *find_verb(struct sirix_json_tree *tree, struct sirix_json_node *node)
{
    const struct sirix_json_node *op = sirix_json_member_str(tree, node, "op");

    if (op == NULL || op->kind != SIRIX_JSON_KIND_STRING) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof(VERBS) / sizeof(VERBS[0]); i++) {
        if (op->value.text.len == strlen(VERBS[i].name) &&
            memcmp(op->value.text.data, VERBS[i].name, op->value.text.len) == 0) {
            return &VERBS[i];
        }
    }
    return NULL;
}

static enum sirix_status plan_step(struct sirixctl_plan *plan, struct sirix_json_tree *tree,
                                   struct sirix_json_node *node, size_t number,
                                   struct sirix_error *err)
{
    struct step step = {.number = number, .path_text = {.data = "", .len = 0}};
    const struct verb *verb = find_verb(tree, node);
    struct sirix_bytes from_text;

    if (verb == NULL) {
        return fail_step(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, &step,
                         "`op` is none of add, remove, replace, move, copy and test");
    }
    enum sirix_status status = read_pointer(plan, sirix_json_member_str(tree, node, "path"), "path",
                                            &step, &step.path, &step.path_text, err);
    if (status == SIRIX_OK && verb->has_from) {
        status = read_pointer(plan, sirix_json_member_str(tree, node, "from"), "from", &step,
                              &step.from, &from_text, err);
    }
    step.value = sirix_json_member_str(tree, node, "value");
    if (status == SIRIX_OK && verb->has_value && step.value == NULL) {
        status =
            fail_step(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, &step, "it wants a `value`");
    }
    if (status != SIRIX_OK) {
        return status;
    }
    return verb->plan != NULL ? verb->plan(plan, &step, err) : plan_test(plan, tree, &step, err);
}

enum sirix_status sirixctl_plan_patch(struct sirixctl_plan *plan, struct sirix_json_tree *tree,
                                      struct sirix_error *err)
{
    void *memory = NULL;
    size_t number = 0;

    if (tree->root->kind != SIRIX_JSON_KIND_ARRAY) {
        return sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                 "a patch is an array of operations");
    }
    /* A move onto a member takes two. */
    size_t capacity = 2 * sirix_json_count(tree->root);
    capacity = capacity < SIRIXCTL_PLAN_OPERATIONS_MAX ? capacity : SIRIXCTL_PLAN_OPERATIONS_MAX;
    enum sirix_status status =
        sirix_arena_calloc(plan->arena, capacity + 1, sizeof(struct sirix_operation), &memory, err);
    if (status == SIRIX_OK) {
        plan->operations = memory;
        status = read_root(plan, err);
    }
    for (struct sirix_json_node *node = sirix_json_first(tree->root);
         node != NULL && status == SIRIX_OK; node = node->next) {
        status = plan_step(plan, tree, node, number++, err);
    }
    return status;
}
