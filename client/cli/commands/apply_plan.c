/* Planning a patch: one function an operation. */
#include <string.h>

#include "base/buf.h"
#include "cli/commands/apply_model.h"
#include "json/text.h"

enum { VALUE_BYTES_MAX = 64 * 1024 * 1024 };

static enum sirix_node_type type_of(const struct sirix_json_node *value)
{
    static const enum sirix_node_type type_of_kind[] = {
        [SIRIX_JSON_KIND_NULL] = SIRIX_NODE_TYPE_NULL,
        [SIRIX_JSON_KIND_FALSE] = SIRIX_NODE_TYPE_BOOLEAN,
        [SIRIX_JSON_KIND_TRUE] = SIRIX_NODE_TYPE_BOOLEAN,
        [SIRIX_JSON_KIND_NUMBER] = SIRIX_NODE_TYPE_NUMBER,
        [SIRIX_JSON_KIND_STRING] = SIRIX_NODE_TYPE_STRING,
        [SIRIX_JSON_KIND_ARRAY] = SIRIX_NODE_TYPE_ARRAY,
        [SIRIX_JSON_KIND_OBJECT] = SIRIX_NODE_TYPE_OBJECT,
    };

    return type_of_kind[value->kind];
}

/* --- Operations ------------------------------------------------------------------------------- */

static enum sirix_status add_operation(struct sirixctl_plan *plan,
                                       const struct sirixctl_plan_step *step,
                                       const struct sirix_operation *operation,
                                       struct sirix_error *err)
{
    if (plan->count == SIRIXCTL_PLAN_OPERATIONS_MAX) {
        return sirixctl_plan_fail(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT, step,
                                  "a patch may change %d places", SIRIXCTL_PLAN_OPERATIONS_MAX);
    }
    plan->operations[plan->count++] = *operation;
    return SIRIX_OK;
}

/* The operation needs the key of a node that is there already. */
static enum sirix_status need_key(const struct sirixctl_plan_node *node,
                                  const struct sirixctl_plan_step *step, struct sirix_error *err)
{
    if (node->has_key) {
        return SIRIX_OK;
    }
    return sirixctl_plan_fail(
        err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
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

static enum sirix_status replace_node(struct sirixctl_plan *plan,
                                      const struct sirixctl_plan_step *step,
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
        sirixctl_plan_mark_dirty(node);
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

static enum sirix_status find_spot(struct sirixctl_plan *plan,
                                   const struct sirixctl_plan_step *step, struct spot *out_spot,
                                   struct sirix_error *err)
{
    const struct sirix_json_step *last = &step->path.steps[step->path.count - 1];
    struct spot spot = {.parent = NULL};
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->path, step->path.count - 1, step, &spot.parent, err);

    if (status == SIRIX_OK && spot.parent->type != SIRIX_NODE_TYPE_OBJECT &&
        spot.parent->type != SIRIX_NODE_TYPE_ARRAY) {
        status = sirixctl_plan_fail_nowhere(err, step);
    }
    if (status == SIRIX_OK) {
        status = need_key(spot.parent, step, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_plan_read_children(plan, spot.parent, step, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    spot.is_member = spot.parent->type == SIRIX_NODE_TYPE_OBJECT;
    spot.taken = sirixctl_plan_find_child(spot.parent, last, &spot.at);
    spot.name = last->name;
    /* In a list: before the element that is there, or behind the last one. */
    if (!spot.is_member && spot.taken == NULL && !last->is_end &&
        !(last->is_position && last->position == spot.at)) {
        return sirixctl_plan_fail_nowhere(err, step);
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

static enum sirix_status insert_text(struct sirixctl_plan *plan,
                                     const struct sirixctl_plan_step *step, struct sirix_bytes text,
                                     enum sirix_node_type type, struct sirix_error *err)
{
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_INSERT, .json = text};
    struct sirixctl_plan_node *child = NULL;
    struct spot spot = {.taken = NULL};

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
        status = sirixctl_plan_new_node(plan, spot.parent, &child, err);
    }
    if (status == SIRIX_OK) {
        child->type = type;
        child->has_name = spot.is_member;
        child->name = spot.is_member ? spot.name : (struct sirix_bytes){0};
        sirixctl_plan_link(spot.parent, child, spot.at);
        sirixctl_plan_mark_dirty(child);
    }
    return status;
}

static enum sirix_status plan_add(struct sirixctl_plan *plan, const struct sirixctl_plan_step *step,
                                  struct sirix_error *err)
{
    struct sirix_bytes text;
    enum sirix_status status = value_text(plan, step->value, &text, err);

    return status != SIRIX_OK ? status : insert_text(plan, step, text, type_of(step->value), err);
}

static enum sirix_status plan_replace(struct sirixctl_plan *plan,
                                      const struct sirixctl_plan_step *step,
                                      struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_bytes text;
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->path, step->path.count, step, &node, err);

    if (status == SIRIX_OK) {
        status = value_text(plan, step->value, &text, err);
    }
    return status != SIRIX_OK ? status
                              : replace_node(plan, step, node, text, type_of(step->value), err);
}

static enum sirix_status plan_remove(struct sirixctl_plan *plan,
                                     const struct sirixctl_plan_step *step, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_DELETE};
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->path, step->path.count, step, &node, err);

    if (status == SIRIX_OK && node->parent == NULL) {
        status = sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
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
        sirixctl_plan_mark_dirty(node->parent);
        sirixctl_plan_unlink(node);
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
static enum sirix_status move_node(struct sirixctl_plan *plan,
                                   const struct sirixctl_plan_step *step,
                                   struct sirixctl_plan_node *node, struct sirix_error *err)
{
    struct sirix_operation operation = {.kind = SIRIX_OPERATION_MOVE, .node_key = node->key};
    struct sirixctl_plan_node *old_parent = node->parent;
    struct sirix_operation removal = {.kind = SIRIX_OPERATION_DELETE};
    struct spot spot = {.taken = NULL};

    sirixctl_plan_mark_dirty(old_parent);
    sirixctl_plan_unlink(node);
    enum sirix_status status = find_spot(plan, step, &spot, err);
    if (status == SIRIX_OK && spot.taken != NULL) {
        /* A member of that name makes room. */
        status = need_key(spot.taken, step, err);
        removal.node_key = spot.taken->key;
        if (status == SIRIX_OK) {
            status = add_operation(plan, step, &removal, err);
        }
        if (status == SIRIX_OK) {
            sirixctl_plan_unlink(spot.taken);
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
        sirixctl_plan_link(spot.parent, node, spot.is_member ? UINT64_MAX : spot.at);
        sirixctl_plan_mark_dirty(node);
    }
    return status;
}

static enum sirix_status plan_move(struct sirixctl_plan *plan,
                                   const struct sirixctl_plan_step *step, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirixctl_plan_node *there = NULL;
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->from, step->from.count, step, &node, err);

    if (status == SIRIX_OK && (node->parent == NULL || step->path.count == 0)) {
        status = sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                                    "the whole value cannot be moved");
    }
    if (status == SIRIX_OK) {
        status = need_key(node, step, err);
    }
    if (status == SIRIX_OK) {
        status = sirixctl_plan_walk(plan, &step->path, step->path.count - 1, step, &there, err);
    }
    if (status == SIRIX_OK && is_inside(there, node)) {
        status = sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TARGET, step,
                                    "a value cannot be moved into itself");
    }
    return status != SIRIX_OK ? status : move_node(plan, step, node, err);
}

/* The text of a node that the patch has not touched. */
static enum sirix_status stored_text(struct sirixctl_plan *plan,
                                     const struct sirixctl_plan_step *step,
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
        return sirixctl_plan_fail(err, SIRIX_UNSUPPORTED, SIRIX_REASON_NONE, step,
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

static enum sirix_status plan_copy(struct sirixctl_plan *plan,
                                   const struct sirixctl_plan_step *step, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_bytes text;
    struct sirix_buf buf;
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->from, step->from.count, step, &node, err);

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
                                   const struct sirixctl_plan_step *step, struct sirix_error *err)
{
    struct sirixctl_plan_node *node = NULL;
    struct sirix_json_tree stored;
    struct sirix_buf buf;
    enum sirix_status status =
        sirixctl_plan_walk(plan, &step->path, step->path.count, step, &node, err);

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
        status = sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_PATCH_TEST, step,
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
                                      struct sirixctl_plan_step *step,
                                      struct sirix_json_steps *out_steps,
                                      struct sirix_bytes *out_text, struct sirix_error *err)
{
    struct sirix_error failure = {0};
    struct sirix_bytes text;

    if (pointer == NULL || pointer->kind != SIRIX_JSON_KIND_STRING) {
        return sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, step,
                                  "it wants a `%s` that is a string", member);
    }
    enum sirix_status status =
        sirix_json_text_to_plain(plan->arena, pointer->value.text, &text, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_json_pointer_parse(plan->arena, text, out_steps, &failure);
    if (status != SIRIX_OK) {
        return sirixctl_plan_fail(err, status, failure.reason, step, "`%s`: %s", member,
                                  failure.text);
    }
    *out_text = text;
    return SIRIX_OK;
}

struct verb {
    const char *name;
    bool has_value;
    bool has_from;
    enum sirix_status (*plan)(struct sirixctl_plan *plan, const struct sirixctl_plan_step *step,
                              struct sirix_error *err);
};

static const struct verb known_verbs[] = {
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
    for (size_t i = 0; i < sizeof(known_verbs) / sizeof(known_verbs[0]); i++) {
        if (op->value.text.len == strlen(known_verbs[i].name) &&
            memcmp(op->value.text.data, known_verbs[i].name, op->value.text.len) == 0) {
            return &known_verbs[i];
        }
    }
    return NULL;
}

static enum sirix_status plan_step(struct sirixctl_plan *plan, struct sirix_json_tree *tree,
                                   struct sirix_json_node *node, size_t number,
                                   struct sirix_error *err)
{
    struct sirixctl_plan_step step = {.number = number, .path_text = {.data = "", .len = 0}};
    const struct verb *verb = find_verb(tree, node);
    struct sirix_bytes from_text;

    if (verb == NULL) {
        return sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID, &step,
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
        status = sirixctl_plan_fail(err, SIRIX_INVALID, SIRIX_REASON_FIELD_MISSING, &step,
                                    "it wants a `value`");
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
        status = sirixctl_plan_read_root(plan, err);
    }
    for (struct sirix_json_node *node = sirix_json_first(tree->root);
         node != NULL && status == SIRIX_OK; node = node->next) {
        status = plan_step(plan, tree, node, number++, err);
    }
    return status;
}
