/*
 * Applying a patch. Every change of the tree is noted with what undoes it, so a patch that fails
 * half way is taken back step by step, and no copy of the document is needed.
 */
#include "json/patch.h"

#include <stdio.h>
#include <string.h>

#include "json/pointer.h"
#include "json/text.h"
#include "json/tree_index.h"

enum op_kind { OP_ADD, OP_REMOVE, OP_REPLACE, OP_MOVE, OP_COPY, OP_TEST, OP_COUNT };

static const struct {
    const char *name;
    bool has_value;
    bool has_from;
} op_rules[OP_COUNT] = {
    [OP_ADD] = {"add", true, false},         [OP_REMOVE] = {"remove", false, false},
    [OP_REPLACE] = {"replace", true, false}, [OP_MOVE] = {"move", false, true},
    [OP_COPY] = {"copy", false, true},       [OP_TEST] = {"test", true, false},
};

struct op {
    enum op_kind kind;
    struct sirix_json_steps path;
    struct sirix_json_steps from;
    const struct sirix_json_node *value;
};

/* What takes one change back; a node without a container was, or is, the root. */
struct undo {
    bool was_added;
    struct sirix_json_node *node;
    struct sirix_json_node *container;
    struct sirix_json_node *before;
    struct sirix_bytes name;
    bool has_name;
};

struct apply {
    struct sirix_json_tree *tree;
    struct sirix_json_tree *patch_tree;
    struct sirix_buf undos; /* struct undo */
    unsigned depth_max;
    size_t op_index;
    const struct op *op;
};

/* --- Errors ----------------------------------------------------------------------------------- */

static enum sirix_status refuse(const struct apply *apply, enum sirix_reason reason,
                                const struct sirix_json_steps *place, const char *what,
                                struct sirix_error *err)
{
    const char *name = apply->op == NULL ? "unknown" : op_rules[apply->op->kind].name;
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, reason, "operation %zu of the patch (%s): %s",
                          apply->op_index, name, what);

    sirix_error_set_field(err, "patch");
    if (place != NULL) {
        sirix_json_error_set_steps(err, place);
    }
    return status;
}

/* --- Changes that can be taken back ----------------------------------------------------------- */

static enum sirix_status note(struct apply *apply, const struct undo *undo, struct sirix_error *err)
{
    return sirix_buf_append(&apply->undos, undo, sizeof(*undo), err);
}

/* Takes a node out of its container, or the root out of the tree. */
static enum sirix_status take_out(struct apply *apply, struct sirix_json_node *node,
                                  struct sirix_error *err)
{
    const struct undo undo = {
        .node = node,
        .container = node->parent,
        .before = node->next,
        .name = node->name,
        .has_name = node->has_name,
    };
    enum sirix_status status = note(apply, &undo, err);

    if (status == SIRIX_OK) {
        if (node->parent == NULL) {
            apply->tree->root = NULL;
        } else {
            json_unlink(node);
        }
    }
    return status;
}

/* Puts a node before another (NULL: at the end) of a container, or as the root (no container). */
static enum sirix_status put_in(struct apply *apply, struct sirix_json_node *container,
                                struct sirix_json_node *before, struct sirix_json_node *node,
                                struct sirix_error *err)
{
    const struct undo undo = {.was_added = true, .node = node, .container = container};
    enum sirix_status status = note(apply, &undo, err);

    if (status == SIRIX_OK) {
        if (container == NULL) {
            apply->tree->root = node;
        } else {
            json_link(container, before, node);
        }
    }
    return status;
}

static void take_back(struct apply *apply)
{
    struct undo undo;

    while (apply->undos.len != 0) {
        apply->undos.len -= sizeof(undo);
        memcpy(&undo, apply->undos.data + apply->undos.len, sizeof(undo));
        if (undo.was_added && undo.container != NULL) {
            json_unlink(undo.node);
        } else if (!undo.was_added && undo.container != NULL) {
            undo.node->name = undo.name;
            undo.node->has_name = undo.has_name;
            json_link(undo.container, undo.before, undo.node);
        } else {
            apply->tree->root = undo.was_added ? NULL : undo.node;
        }
    }
}

/* --- Operations ------------------------------------------------------------------------------- */

static enum sirix_status find(struct apply *apply, const struct sirix_json_steps *steps,
                              struct sirix_json_node **out, struct sirix_error *err)
{
    enum sirix_status status = sirix_json_resolve(apply->tree, apply->tree->root, steps, out, NULL);

    if (status != SIRIX_OK) {
        status = refuse(apply, SIRIX_REASON_PATCH_TARGET, steps, "there is no such place", err);
    }
    return status;
}

/* Levels of containers in a value: 0 for a scalar. */
static size_t height_of(const struct sirix_json_node *top)
{
    size_t height = 0;
    size_t depth = 0;

    for (const struct sirix_json_node *node = top; node != NULL;) {
        bool is_container = sirix_json_is_container(node);

        height = is_container && depth + 1 > height ? depth + 1 : height;
        if (is_container && sirix_json_first(node) != NULL) {
            depth++;
            node = sirix_json_first(node);
            continue;
        }
        while (node != top && node->next == NULL) {
            node = node->parent;
            depth--;
        }
        node = node == top ? NULL : node->next;
    }
    return height;
}

/* Puts a value that is not placed at a path, as `add` does. */
static enum sirix_status add_at(struct apply *apply, const struct sirix_json_steps *path,
                                struct sirix_json_node *value, struct sirix_error *err)
{
    struct sirix_json_node *container = NULL;
    struct sirix_json_node *there = NULL;

    if (path->count + height_of(value) > apply->depth_max) {
        return refuse(apply, SIRIX_REASON_DEPTH_LIMIT, path,
                      "too many arrays and objects within each other", err);
    }
    if (path->count == 0) {
        enum sirix_status status =
            apply->tree->root == NULL ? SIRIX_OK : take_out(apply, apply->tree->root, err);
        return status == SIRIX_OK ? put_in(apply, NULL, NULL, value, err) : status;
    }
    const struct sirix_json_steps up = {.steps = path->steps, .count = path->count - 1};
    const struct sirix_json_step *last = &path->steps[path->count - 1];
    enum sirix_status status = find(apply, &up, &container, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (container->kind == SIRIX_JSON_KIND_OBJECT) {
        struct sirix_json_node *before = NULL;

        there = sirix_json_member(apply->tree, container, last->name);
        if (there != NULL) {
            before = there->next;
            status = take_out(apply, there, err);
        }
        value->name = last->name;
        value->has_name = true;
        return status == SIRIX_OK ? put_in(apply, container, before, value, err) : status;
    }
    if (container->kind != SIRIX_JSON_KIND_ARRAY) {
        return refuse(apply, SIRIX_REASON_PATCH_TARGET, path,
                      "the parent is no array and no object", err);
    }
    if (!last->is_end && (!last->is_position || last->position > sirix_json_count(container))) {
        return refuse(apply, SIRIX_REASON_PATCH_TARGET, path,
                      "no position of the array, nor the one behind its last element", err);
    }
    if (!last->is_end) {
        there = sirix_json_element(apply->tree, container, (size_t)last->position);
    }
    value->name = (struct sirix_bytes){0};
    value->has_name = false;
    return put_in(apply, container, there, value, err);
}

static enum sirix_status run_add(struct apply *apply, struct sirix_error *err)
{
    struct sirix_json_node *value = NULL;
    enum sirix_status status = sirix_json_clone(apply->tree, apply->op->value, &value, err);

    return status == SIRIX_OK ? add_at(apply, &apply->op->path, value, err) : status;
}

static enum sirix_status run_remove(struct apply *apply, struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    enum sirix_status status = find(apply, &apply->op->path, &node, err);

    if (status == SIRIX_OK && node == apply->tree->root) {
        status = refuse(apply, SIRIX_REASON_PATCH_TARGET, &apply->op->path,
                        "the whole value cannot be removed, only replaced", err);
    }
    return status == SIRIX_OK ? take_out(apply, node, err) : status;
}

static enum sirix_status run_replace(struct apply *apply, struct sirix_error *err)
{
    const struct sirix_json_steps *path = &apply->op->path;
    struct sirix_json_node *old = NULL;
    struct sirix_json_node *value = NULL;
    enum sirix_status status = find(apply, path, &old, err);

    if (status == SIRIX_OK && path->count + height_of(apply->op->value) > apply->depth_max) {
        status = refuse(apply, SIRIX_REASON_DEPTH_LIMIT, path,
                        "too many arrays and objects within each other", err);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_clone(apply->tree, apply->op->value, &value, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_json_node *container = old->parent;
    struct sirix_json_node *before = old->next;
    value->name = old->name;
    value->has_name = old->has_name;
    status = take_out(apply, old, err);
    return status == SIRIX_OK ? put_in(apply, container, before, value, err) : status;
}

static bool same_step(const struct sirix_json_step *a, const struct sirix_json_step *b)
{
    return sirix_bytes_equal(a->name, b->name);
}

/* Whether `from` is a beginning of `path`, or all of it. */
static bool is_within(const struct sirix_json_steps *path, const struct sirix_json_steps *from)
{
    if (from->count > path->count) {
        return false;
    }
    for (size_t i = 0; i < from->count; i++) {
        if (!same_step(&from->steps[i], &path->steps[i])) {
            return false;
        }
    }
    return true;
}

static enum sirix_status run_move(struct apply *apply, struct sirix_error *err)
{
    const struct sirix_json_steps *path = &apply->op->path;
    const struct sirix_json_steps *from = &apply->op->from;
    struct sirix_json_node *node = NULL;
    enum sirix_status status = find(apply, from, &node, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (is_within(path, from)) {
        if (path->count == from->count) {
            return SIRIX_OK; /* Where it is already. */
        }
        return refuse(apply, SIRIX_REASON_PATCH_TARGET, path, "a value cannot be moved into itself",
                      err);
    }
    status = take_out(apply, node, err);
    return status == SIRIX_OK ? add_at(apply, path, node, err) : status;
}

static enum sirix_status run_copy(struct apply *apply, struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    struct sirix_json_node *copy = NULL;
    enum sirix_status status = find(apply, &apply->op->from, &node, err);

    if (status == SIRIX_OK) {
        status = sirix_json_clone(apply->tree, node, &copy, err);
    }
    return status == SIRIX_OK ? add_at(apply, &apply->op->path, copy, err) : status;
}

static enum sirix_status run_test(struct apply *apply, struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    enum sirix_status status = find(apply, &apply->op->path, &node, err);

    /* The value of the patch is walked; members are looked up in the document. */
    if (status == SIRIX_OK &&
        !sirix_json_equal(apply->patch_tree, apply->op->value, apply->tree, node)) {
        status = refuse(apply, SIRIX_REASON_PATCH_TEST, &apply->op->path,
                        "the value there is another one", err);
    }
    return status;
}

static enum sirix_status run(struct apply *apply, struct sirix_error *err)
{
    switch (apply->op->kind) {
    case OP_ADD:
        return run_add(apply, err);
    case OP_REMOVE:
        return run_remove(apply, err);
    case OP_REPLACE:
        return run_replace(apply, err);
    case OP_MOVE:
        return run_move(apply, err);
    case OP_COPY:
        return run_copy(apply, err);
    case OP_TEST:
        return run_test(apply, err);
    case OP_COUNT:
        break;
    }
    return sirix_fail(err, SIRIX_INTERNAL, "an operation of unknown kind");
}

/* --- Reading operations ----------------------------------------------------------------------- */

static enum sirix_status missing(const struct apply *apply, const char *member,
                                 enum sirix_reason reason, const char *what,
                                 struct sirix_error *err)
{
    enum sirix_status status =
        sirix_fail_reason(err, SIRIX_INVALID, reason, "operation %zu of the patch: \"%s\" %s",
                          apply->op_index, member, what);

    sirix_error_set_field(err, "patch");
    return status;
}

static enum sirix_status read_pointer(struct apply *apply, struct sirix_json_node *node,
                                      const char *member, struct sirix_json_steps *out,
                                      struct sirix_error *err)
{
    struct sirix_json_node *text = sirix_json_member_str(apply->patch_tree, node, member);
    struct sirix_bytes plain = {0};
    struct sirix_error why = {0};

    if (text == NULL) {
        return missing(apply, member, SIRIX_REASON_FIELD_MISSING, "is missing", err);
    }
    if (text->kind != SIRIX_JSON_KIND_STRING) {
        return missing(apply, member, SIRIX_REASON_FIELD_INVALID, "is not a string", err);
    }
    enum sirix_status status =
        sirix_json_text_to_plain(apply->tree->arena, text->value.text, &plain, err);
    if (status == SIRIX_OK) {
        status = sirix_json_pointer_parse(apply->tree->arena, plain, out, &why);
        if (status == SIRIX_INVALID) {
            char what[SIRIX_ERROR_TEXT_BYTES];

            (void)snprintf(what, sizeof(what), "is not a JSON pointer: %.200s", why.text);
            return missing(apply, member, why.reason, what, err);
        }
        if (status != SIRIX_OK && err != NULL) {
            *err = why;
        }
    }
    return status;
}

static enum sirix_status read_op(struct apply *apply, struct sirix_json_node *node, struct op *out,
                                 struct sirix_error *err)
{
    struct sirix_json_node *name = NULL;
    struct op op = {.kind = OP_COUNT};

    if (node->kind != SIRIX_JSON_KIND_OBJECT) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                              "operation %zu of the patch is not an object", apply->op_index);

        sirix_error_set_field(err, "patch");
        return status;
    }
    name = sirix_json_member_str(apply->patch_tree, node, "op");
    if (name == NULL) {
        return missing(apply, "op", SIRIX_REASON_FIELD_MISSING, "is missing", err);
    }
    if (name->kind != SIRIX_JSON_KIND_STRING) {
        return missing(apply, "op", SIRIX_REASON_FIELD_INVALID, "is not a string", err);
    }
    for (int kind = 0; kind < OP_COUNT; kind++) {
        const struct sirix_bytes text = {.data = op_rules[kind].name,
                                         .len = strlen(op_rules[kind].name)};

        if (sirix_bytes_equal(name->value.text, text)) {
            op.kind = (enum op_kind)kind;
        }
    }
    if (op.kind == OP_COUNT) {
        return missing(apply, "op", SIRIX_REASON_FIELD_INVALID,
                       "is none of add, remove, replace, move, copy and test", err);
    }
    enum sirix_status status = read_pointer(apply, node, "path", &op.path, err);
    if (status == SIRIX_OK && op_rules[op.kind].has_from) {
        status = read_pointer(apply, node, "from", &op.from, err);
    }
    if (status == SIRIX_OK && op_rules[op.kind].has_value) {
        op.value = sirix_json_member_str(apply->patch_tree, node, "value");
        if (op.value == NULL) {
            status = missing(apply, "value", SIRIX_REASON_FIELD_MISSING, "is missing", err);
        }
    }
    if (status == SIRIX_OK) {
        *out = op;
    }
    return status;
}

enum sirix_status sirix_json_patch_apply(struct sirix_json_tree *tree,
                                         struct sirix_json_tree *patch_tree,
                                         struct sirix_json_node *patch,
                                         const struct sirix_json_patch_options *options,
                                         struct sirix_error *err)
{
    struct apply apply = {
        .tree = tree, .patch_tree = patch_tree, .depth_max = SIRIX_JSON_DEPTH_MAX};
    size_t max_ops = SIRIX_JSON_PATCH_MAX_OPS;
    enum sirix_status status = SIRIX_OK;

    if (options != NULL) {
        max_ops = options->max_ops == 0 ? max_ops : options->max_ops;
        apply.depth_max = options->depth_max == 0 ? apply.depth_max : options->depth_max;
    }
    if (patch->kind != SIRIX_JSON_KIND_ARRAY) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_FIELD_INVALID,
                                   "a patch is an array of operations");
        sirix_error_set_field(err, "patch");
        return status;
    }
    if (sirix_json_count(patch) > max_ops) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "the patch has %zu operations; at most %zu are allowed",
                                 sirix_json_count(patch), max_ops);
    }
    sirix_buf_init(&apply.undos, SIZE_MAX);
    for (struct sirix_json_node *node = sirix_json_first(patch); node != NULL && status == SIRIX_OK;
         node = node->next) {
        struct op op;

        apply.op = NULL;
        status = read_op(&apply, node, &op, err);
        if (status == SIRIX_OK) {
            apply.op = &op;
            status = run(&apply, err);
        }
        apply.op_index++;
    }
    if (status != SIRIX_OK) {
        take_back(&apply);
    }
    sirix_buf_deinit(&apply.undos);
    return status;
}
