/* Inserting: at every place, of values and of members, and of a deleted node under its key. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/operation.h"
#include "json/tree.h"

struct sirix_bytes operation_bytes(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

void operation_must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == SIRIX_OK, "%s: %s: %s", what, sirix_status_name(status), err->text);
}

void operation_must_be(enum sirix_status status, enum sirix_status expected,
                       const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == expected, "%s: %s, not %s: %s", what, sirix_status_name(status),
                sirix_status_name(expected), err->text);
}

/* --- Keys of new nodes ----------------------------------------------------------------------------- */

void operation_use_key(struct trial *trial, const struct model_node *node)
{
    struct sirix_error err = {0};
    uint64_t last = node->key + (node->name != NULL ? 1 : 0);

    for (uint64_t key = node->key; key <= last; key++) {
        MODEL_CHECK(!sirix_map_get(&trial->used, key, NULL), "key %" PRIu64 " is given again", key);
        operation_must(sirix_map_put(&trial->used, key, 1, &err), &err, "map");
    }
}

/* The keys of all below node, from the store; each must be new. */
void operation_learn_children(struct trial *trial, struct model_node *node)
{
    struct sirix_error err = {0};
    uint64_t key = 0;

    for (size_t i = 0; i < node->count; i++) {
        operation_must(
            sirix_edit_child_at(trial->edit, node->key, i, &node->children[i]->key, &err), &err,
            "child of a new node");
        operation_use_key(trial, node->children[i]);
        operation_learn_children(trial, node->children[i]);
    }
    operation_must_be(sirix_edit_child_at(trial->edit, node->key, node->count, &key, &err),
                      SIRIX_NOT_FOUND, &err, "one child too many");
}

struct model_node *operation_any_node(struct trial *trial)
{
    return model_nth(trial->root, trial_random(trial, model_count(trial->root)));
}

void operation_set_name(struct model_node *node, const char *name)
{
    free(node->name);
    node->name = name == NULL ? NULL : strdup(name);
}

/* --- Inserting ------------------------------------------------------------------------------------- */

/* A spot where something can go. */
static void choose_spot(struct trial *trial, struct inserting *in)
{
    struct model_node *node = trial->root == NULL ? NULL : operation_any_node(trial);

    in->insert.target = trial_random(trial, 2);
    if (node == NULL) {
        return;
    }
    if (node->kind == MODEL_SCALAR) {
        node = node->parent == NULL ? node : node->parent;
    }
    if (node->parent != NULL && trial_random(trial, 3) == 0) {
        in->insert.place =
            trial_random(trial, 2) == 0 ? SIRIX_PLACE_LEFT_SIBLING : SIRIX_PLACE_RIGHT_SIBLING;
        in->index = model_index(node) + (in->insert.place == SIRIX_PLACE_RIGHT_SIBLING ? 1 : 0);
        in->insert.target = node->key + (node->name != NULL ? trial_random(trial, 2) : 0);
        in->parent = node->parent;
        return;
    }
    in->parent = node;
    in->insert.target = node->parent == NULL
                            ? trial_random(trial, 2)
                            : node->key + (node->name != NULL ? trial_random(trial, 2) : 0);
    switch (trial_random(trial, 3)) {
    case 0:
        in->insert.place = SIRIX_PLACE_FIRST_CHILD;
        break;
    case 1:
        in->insert.place = SIRIX_PLACE_LAST_CHILD;
        in->index = node->count;
        break;
    default:
        in->insert.place = SIRIX_PLACE_INDEX;
        in->index = trial_random(trial, node->count + 1);
        in->insert.index = in->index;
        break;
    }
}

static struct model_node *parse_last(const char *text)
{
    const struct sirix_json_tree_options options = {.duplicates = SIRIX_JSON_DUPLICATES_LAST};
    struct sirix_arena arena;
    struct sirix_json_tree tree = {0};
    struct sirix_error err = {0};
    struct sirix_buf plain;
    struct model_node *node = NULL;

    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&plain, SIZE_MAX);
    operation_must(sirix_json_tree_init(&tree, &arena, &err), &err, "tree");
    operation_must(sirix_json_tree_parse(&tree, operation_bytes(text), &options, NULL, &err), &err,
                   "parse");
    operation_must(sirix_json_tree_print(tree.root, &plain, &err), &err, "print");
    node = model_parse(trial_text(&plain));
    sirix_buf_deinit(&plain);
    sirix_arena_deinit(&arena);
    return node;
}

static void insert_members(struct trial *trial, struct inserting *in)
{
    bool last = trial_random(trial, 2) == 0;
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct model_node *object = NULL;
    bool clash = false;
    enum sirix_status status = SIRIX_OK;

    trial_object(trial, 2, last, &in->text);
    in->insert.duplicates = last ? SIRIX_DUPLICATES_LAST : SIRIX_DUPLICATES_REFUSE;
    object = parse_last(trial_text(&in->text));
    for (size_t i = 0; i < object->count; i++) {
        clash = clash || model_member(in->parent, object->children[i]->name) != NULL;
    }
    trial_say(trial, "insert members into %" PRIu64 " place %d index %" PRIu64 ": %s",
              in->insert.target, (int)in->insert.place, in->insert.index, trial_text(&in->text));
    status = sirix_edit_insert(trial->edit, &in->insert, sirix_buf_view(&in->text), &result, &err);
    operation_must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "insert members");
    MODEL_CHECK(!clash || err.reason == SIRIX_REASON_DUPLICATE_KEY, "reason");
    if (!clash) {
        size_t count = object->count;
        MODEL_CHECK(result.key_count == count, "%" PRIu64 " members, not %zu", result.key_count,
                    count);
        MODEL_CHECK(result.node_count == model_count(object) - 1, "%" PRIu64 " nodes, not %zu",
                    result.node_count, model_count(object) - 1);
        for (size_t i = 0; i < count; i++) {
            struct model_node *member = model_take(object->children[0]);
            model_insert(in->parent, in->index + i, member);
            operation_must(sirix_edit_child_at(trial->edit, in->parent->key, in->index + i,
                                               &member->key, &err),
                           &err, "new member");
            operation_use_key(trial, member);
            operation_learn_children(trial, member);
        }
        MODEL_CHECK(count == 0 || result.key == in->parent->children[in->index]->key,
                    "the first member's key");
        trial->changed = trial->changed || count != 0;
    }
    model_free(object);
}

static void insert_value(struct trial *trial, struct inserting *in)
{
    bool is_member = in->parent != NULL && in->parent->kind == MODEL_OBJECT;
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct model_node *node = NULL;
    bool clash = false;
    enum sirix_status status = SIRIX_OK;

    trial_value(trial, 3, &in->text);
    if (is_member) {
        trial_name(trial, &in->name);
        in->name_view = operation_bytes(trial_text(&in->name));
        in->insert.name = &in->name_view;
        clash = model_member(in->parent, trial_text(&in->name)) != NULL;
    }
    trial_say(trial, "insert into %" PRIu64 " place %d index %" PRIu64 " name %s: %s",
              in->insert.target, (int)in->insert.place, in->insert.index,
              is_member ? trial_text(&in->name) : "-", trial_text(&in->text));
    status = sirix_edit_insert(trial->edit, &in->insert, sirix_buf_view(&in->text), &result, &err);
    operation_must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "insert");
    if (clash) {
        return;
    }
    node = model_parse(trial_text(&in->text));
    operation_set_name(node, is_member ? trial_text(&in->name) : NULL);
    node->key = result.key;
    MODEL_CHECK(result.changed && result.key_count == 1 && result.node_count == model_count(node),
                "the result of an insert");
    if (in->parent == NULL) {
        MODEL_CHECK(node->key == 1, "the value's key");
        trial->root = node;
    } else {
        operation_use_key(trial, node);
        model_insert(in->parent, in->index, node);
    }
    operation_learn_children(trial, node);
    trial->changed = true;
}

void inserting_end(struct inserting *in)
{
    sirix_buf_deinit(&in->name);
    sirix_buf_deinit(&in->text);
}

void inserting_begin(struct trial *trial, struct inserting *in)
{
    *in = (struct inserting){.parent = NULL};
    sirix_buf_init(&in->name, SIZE_MAX);
    sirix_buf_init(&in->text, SIZE_MAX);
    choose_spot(trial, in);
}

void operation_insert(struct trial *trial)
{
    struct inserting in;

    inserting_begin(trial, &in);
    if (in.parent != NULL && in.parent->kind == MODEL_SCALAR) {
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        operation_must_be(
            sirix_edit_insert(trial->edit, &in.insert, operation_bytes("1"), &result, &err),
            SIRIX_PRECONDITION, &err, "insert into a scalar");
    } else if (in.parent != NULL && in.parent->kind == MODEL_OBJECT &&
               trial_random(trial, 3) == 0) {
        insert_members(trial, &in);
    } else {
        insert_value(trial, &in);
    }
    inserting_end(&in);
}

/* A node that was deleted comes back under its key. */
void operation_insert_keyed(struct trial *trial)
{
    struct inserting in;
    struct trial_grave *grave = NULL;
    struct sirix_edit_result result = {0};
    struct sirix_error err = {0};
    struct model_node *node = NULL;
    enum sirix_status status = SIRIX_OK;

    if (trial->grave_count == 0 || trial->root == NULL) {
        return;
    }
    grave = &trial->graves[trial_random(trial, trial->grave_count)];
    inserting_begin(trial, &in);
    if (in.parent != NULL && in.parent->kind != MODEL_SCALAR &&
        (in.parent->kind == MODEL_OBJECT) == grave->is_member) {
        if (grave->is_member) {
            trial_name(trial, &in.name);
            in.name_view = operation_bytes(trial_text(&in.name));
            in.insert.name = &in.name_view;
        }
        trial_say(trial, "insert key %" PRIu64 " into %" PRIu64 " name %s", grave->key,
                  in.insert.target, grave->is_member ? trial_text(&in.name) : "-");
        status = sirix_edit_insert_keyed(trial->edit, &in.insert, grave->key,
                                         operation_bytes("[7,{}]"), &result, &err);
        MODEL_CHECK(status == SIRIX_OK || status == SIRIX_ALREADY_EXISTS, "insert keyed: %s: %s",
                    sirix_status_name(status), err.text);
        if (status == SIRIX_OK) {
            node = model_parse("[7,{}]");
            node->key = grave->key;
            MODEL_CHECK(result.key == grave->key, "a given key");
            operation_set_name(node, grave->is_member ? trial_text(&in.name) : NULL);
            MODEL_CHECK(!grave->is_member || model_member(in.parent, node->name) == NULL,
                        "a keyed insert made a duplicate");
            model_insert(in.parent, in.index, node);
            operation_learn_children(trial, node);
            trial->changed = true;
        }
    }
    inserting_end(&in);
}
