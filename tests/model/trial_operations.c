/* Random operations in an edit, each made in the model too; and what must be refused. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/operation.h"

/* --- Updating -------------------------------------------------------------------------------------- */

/* The new value takes the old node's place, key and name. */
static void replace_in_model(struct trial *trial, struct model_node *old, struct model_node *new)
{
    struct model_node *parent = old->parent;

    new->key = old->key;
    operation_set_name(new, old->name);
    if (parent == NULL) {
        trial->root = new;
    } else {
        size_t index = model_index(old);
        (void)model_take(old);
        model_insert(parent, index, new);
    }
    model_free(old);
}

static void update_something(struct trial *trial)
{
    struct model_node *old = operation_any_node(trial);
    const struct sirix_edit_update update = {
        .target = old->parent == NULL ? trial_random(trial, 2)
                                      : old->key + (old->name != NULL ? trial_random(trial, 2) : 0),
    };
    struct model_node *new = NULL;
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct sirix_buf text;
    char *old_text = model_text(old);
    char *new_text = NULL;
    bool same = false;

    sirix_buf_init(&text, SIZE_MAX);
    if (trial_random(trial, 4) == 0) {
        MODEL_CHECK(sirix_buf_append_str(&text, old_text, &err) == SIRIX_OK, "memory");
    } else {
        trial_value(trial, 3, &text);
    }
    trial_say(trial, "update %" PRIu64 ": %s", update.target, trial_text(&text));
    operation_must(sirix_edit_update(trial->edit, &update, sirix_buf_view(&text), &result, &err),
                   &err, "update");
    new = model_parse(trial_text(&text));
    new_text = model_text(new);
    same = strcmp(old_text, new_text) == 0;
    MODEL_CHECK(result.key == old->key, "the key of an update");
    MODEL_CHECK(result.changed == !same, "an update from %s to %s says changed %d", old_text,
                new_text, result.changed);
    MODEL_CHECK(result.equal_value == (!same && model_equal(old, new)),
                "an update from %s to %s says equal %d", old_text, new_text, result.equal_value);
    if (same) {
        model_free(new);
    } else {
        replace_in_model(trial, old, new);
        operation_learn_children(trial, new);
        trial->changed = true;
    }
    free(old_text);
    free(new_text);
    sirix_buf_deinit(&text);
}

/* --- Deleting, renaming, moving -------------------------------------------------------------------- */

static void delete_something(struct trial *trial)
{
    struct model_node *node = operation_any_node(trial);
    struct sirix_error err = {0};
    uint64_t nodes = 0;

    if (node->parent == NULL && trial_random(trial, 4) != 0) {
        return;
    }
    trial_say(trial, "delete %" PRIu64, node->key);
    operation_must(sirix_edit_delete(trial->edit, node->key, &nodes, &err), &err, "delete");
    MODEL_CHECK(nodes == model_count(node), "%" PRIu64 " nodes deleted, not %zu", nodes,
                model_count(node));
    if (node->parent == NULL) {
        trial->root = NULL;
    } else {
        size_t at = trial_random(trial, sizeof(trial->graves) / sizeof(trial->graves[0]));
        at = at < trial->grave_count ? at : trial->grave_count++;
        trial->graves[at] = (struct trial_grave){.key = node->key, .is_member = node->name != NULL};
        (void)model_take(node);
    }
    operation_must_be(sirix_edit_delete(trial->edit, node->key, &nodes, &err), SIRIX_NOT_FOUND,
                      &err, "delete again");
    model_free(node);
    trial->changed = true;
}

static void rename_something(struct trial *trial)
{
    struct model_node *node = operation_any_node(trial);
    struct sirix_error err = {0};
    struct sirix_buf name;
    bool changed = false;
    bool same = false;
    bool clash = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&name, SIZE_MAX);
    trial_name(trial, &name);
    trial_say(trial, "rename %" PRIu64 " to %s", node->key, trial_text(&name));
    status = sirix_edit_rename(trial->edit, node->key, operation_bytes(trial_text(&name)), &changed,
                               &err);
    if (node->name == NULL) {
        operation_must_be(status, SIRIX_PRECONDITION, &err, "rename an element");
    } else {
        same = strcmp(node->name, trial_text(&name)) == 0;
        clash = !same && model_member(node->parent, trial_text(&name)) != NULL;
        operation_must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "rename");
        MODEL_CHECK(clash || changed == !same, "rename says changed %d", changed);
        if (!clash && !same) {
            operation_set_name(node, trial_text(&name));
            trial->changed = true;
        }
    }
    sirix_buf_deinit(&name);
}

/* Where a move goes, in the model: index is counted without the node. */
static size_t moved_index(const struct model_node *node, const struct inserting *in)
{
    bool same = in->parent == node->parent;

    if (same && in->insert.place != SIRIX_PLACE_INDEX && in->index > model_index(node)) {
        return in->index - 1;
    }
    return in->index;
}

static enum sirix_status expected_move(const struct model_node *node, const struct inserting *in,
                                       bool named)
{
    bool to_object = in->parent->kind == MODEL_OBJECT;
    const char *name = named ? (const char *)in->name.data : node->name;
    const struct model_node *other = NULL;

    if (node->parent == NULL || in->parent->kind == MODEL_SCALAR ||
        model_is_inside(in->parent, node)) {
        return SIRIX_PRECONDITION;
    }
    if (in->parent == node->parent && in->insert.place == SIRIX_PLACE_INDEX &&
        in->index >= node->parent->count) {
        return SIRIX_OUT_OF_RANGE;
    }
    if (to_object && !named && node->name == NULL) {
        return SIRIX_INVALID;
    }
    other = to_object ? model_member(in->parent, name) : NULL;
    return other != NULL && other != node ? SIRIX_ALREADY_EXISTS : SIRIX_OK;
}

static void move_in_model(struct trial *trial, struct model_node *node, const struct inserting *in,
                          bool named, uint64_t key)
{
    bool to_object = in->parent->kind == MODEL_OBJECT;
    bool fresh = to_object != (node->name != NULL);
    size_t index = moved_index(node, in);

    (void)model_take(node);
    model_insert(in->parent, index, node);
    if (to_object && named) {
        operation_set_name(node, (const char *)in->name.data);
    } else if (!to_object) {
        operation_set_name(node, NULL);
    }
    if (fresh) {
        node->key = key;
        operation_use_key(trial, node);
    }
    MODEL_CHECK(node->key == key, "a move gives key %" PRIu64 ", not %" PRIu64, key, node->key);
}

static void move_something(struct trial *trial)
{
    struct model_node *node = operation_any_node(trial);
    struct sirix_edit_move move = {.key = node->key};
    struct inserting in;
    struct sirix_error err = {0};
    uint64_t key = 0;
    bool changed = false;
    bool named = trial_random(trial, 2) == 0;
    bool stays = false;
    enum sirix_status expected = SIRIX_OK;

    inserting_begin(trial, &in);
    trial_name(trial, &in.name);
    in.name_view = operation_bytes(trial_text(&in.name));
    move.target = in.insert.target;
    move.place = in.insert.place;
    move.index = in.insert.index;
    move.name = named ? &in.name_view : NULL;
    expected = expected_move(node, &in, named);
    trial_say(trial, "move %" PRIu64 " to %" PRIu64 " place %d index %" PRIu64 " name %s",
              node->key, move.target, (int)move.place, move.index,
              named ? trial_text(&in.name) : "-");
    operation_must_be(sirix_edit_move(trial->edit, &move, &key, &changed, &err), expected, &err,
                      "move");
    if (expected == SIRIX_OK) {
        stays = in.parent == node->parent && moved_index(node, &in) == model_index(node) &&
                (in.parent->kind == MODEL_ARRAY || !named ||
                 strcmp(node->name, (const char *)in.name.data) == 0);
        MODEL_CHECK(changed == !stays, "a move says changed %d", changed);
        move_in_model(trial, node, &in, named, key);
        trial->changed = trial->changed || changed;
    }
    inserting_end(&in);
}

/* --- What is refused, and what is dropped ---------------------------------------------------------- */

static void refuse_something(struct trial *trial)
{
    static const char *const bad[] = {"[1,",
                                      "{\"a\":[1],\"a\":2}",
                                      "{\"a\" 1}",
                                      "",
                                      "[1]x",
                                      "\"\\ud800\"",
                                      "[01]",
                                      "nul",
                                      "[[1,2],{\"b\":{\"c\":1,\"c\":2}}]"};
    const char *text = bad[trial_random(trial, sizeof(bad) / sizeof(bad[0]))];
    struct inserting in;
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    const struct sirix_bytes name = operation_bytes("never seen before");

    inserting_begin(trial, &in);
    if (in.parent == NULL || in.parent->kind != MODEL_SCALAR) {
        in.insert.name = in.parent != NULL && in.parent->kind == MODEL_OBJECT ? &name : NULL;
        trial_say(trial, "refuse %s at %" PRIu64, text, in.insert.target);
        operation_must_be(
            sirix_edit_insert(trial->edit, &in.insert, operation_bytes(text), &result, &err),
            SIRIX_INVALID, &err, "a bad text");
    }
    if (in.parent != NULL && in.parent->kind == MODEL_ARRAY) {
        in.insert.name = &name;
        operation_must_be(
            sirix_edit_insert(trial->edit, &in.insert, operation_bytes("1"), &result, &err),
            SIRIX_INVALID, &err, "a name in an array");
        in.insert.name = NULL;
        in.insert.target = in.parent->key;
        in.insert.place = SIRIX_PLACE_INDEX;
        in.insert.index = in.parent->count + 1;
        operation_must_be(
            sirix_edit_insert(trial->edit, &in.insert, operation_bytes("1"), &result, &err),
            SIRIX_OUT_OF_RANGE, &err, "an index past the end");
    }
    inserting_end(&in);
}

static void abort_something(struct trial *trial)
{
    struct model_node *node = operation_any_node(trial);
    const struct sirix_edit_update update = {.target = node->key};
    struct sirix_error err = {0};
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    trial_value(trial, 3, &text);
    trial_say(trial, "begin and abort an update of %" PRIu64, node->key);
    operation_must(sirix_edit_update_begin(trial->edit, &update, &err), &err, "begin");
    operation_must(
        sirix_edit_value_feed(
            trial->edit,
            (struct sirix_bytes){.data = text.data, .len = trial_random(trial, text.len + 1)},
            &err),
        &err, "feed");
    sirix_edit_value_abort(trial->edit);
    sirix_buf_deinit(&text);
}

/* The edit answers as the model for one node. */
static void look_through_edit(struct trial *trial)
{
    const struct model_node *model = operation_any_node(trial);
    struct sirix_document_node node = {0};
    struct sirix_error err = {0};
    uint64_t index = 0;
    uint64_t key = 0;

    operation_must(sirix_edit_get(trial->edit, model->key, &node, &err), &err, "get");
    MODEL_CHECK(node.key == model->key && node.child_count == model->count &&
                    node.parent == (model->parent == NULL ? 0 : model->parent->key),
                "node %" PRIu64 " seen through the edit", model->key);
    operation_must(sirix_edit_child_index(trial->edit, model->key, &index, &err), &err, "index");
    MODEL_CHECK(index == (model->parent == NULL ? 0 : model_index(model)), "index of %" PRIu64,
                model->key);
    if (model->name != NULL) {
        operation_must(sirix_edit_member(trial->edit, model->parent->key,
                                         operation_bytes(model->name), &key, &err),
                       &err, "member");
        MODEL_CHECK(key == model->key, "member of %" PRIu64, model->parent->key);
    }
}

void trial_operation(struct trial *trial)
{
    if (trial->root == NULL) {
        operation_insert(trial);
        return;
    }
    if (model_count(trial->root) > TRIAL_NODES_MAX) {
        delete_something(trial);
        return;
    }
    switch (trial_random(trial, 16)) {
    case 0:
    case 1:
    case 2:
    case 3:
    case 4:
        operation_insert(trial);
        break;
    case 5:
    case 6:
    case 7:
        update_something(trial);
        break;
    case 8:
    case 9:
        delete_something(trial);
        break;
    case 10:
        rename_something(trial);
        break;
    case 11:
    case 12:
        move_something(trial);
        break;
    case 13:
        refuse_something(trial);
        break;
    case 14:
        abort_something(trial);
        break;
    default:
        operation_insert_keyed(trial);
        break;
    }
    if (trial->root != NULL) {
        look_through_edit(trial);
    }
}
