/* Random operations in an edit, each made in the model too; and what must be refused. */
#include <inttypes.h>
#include <stdlib.h>

#include "model/trial.h"
#include "json/tree.h"

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == SIRIX_OK, "%s: %s: %s", what, sirix_status_name(status), err->text);
}

static void must_be(enum sirix_status status, enum sirix_status expected,
                    const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == expected, "%s: %s, not %s: %s", what, sirix_status_name(status),
                sirix_status_name(expected), err->text);
}

/* --- Keys of new nodes ----------------------------------------------------------------------------- */

static void use_key(struct trial *trial, const struct model_node *node)
{
    struct sirix_error err = {0};
    uint64_t last = node->key + (node->name != NULL ? 1 : 0);

    for (uint64_t key = node->key; key <= last; key++) {
        MODEL_CHECK(!sirix_map_get(&trial->used, key, NULL), "key %" PRIu64 " is given again", key);
        must(sirix_map_put(&trial->used, key, 1, &err), &err, "map");
    }
}

/* The keys of all below node, from the store; each must be new. */
static void learn_children(struct trial *trial, struct model_node *node)
{
    struct sirix_error err = {0};
    uint64_t key = 0;

    for (size_t i = 0; i < node->count; i++) {
        must(sirix_edit_child_at(trial->edit, node->key, i, &node->children[i]->key, &err), &err,
             "child of a new node");
        use_key(trial, node->children[i]);
        learn_children(trial, node->children[i]);
    }
    must_be(sirix_edit_child_at(trial->edit, node->key, node->count, &key, &err), SIRIX_NOT_FOUND,
            &err, "one child too many");
}

static struct model_node *any_node(struct trial *trial)
{
    return model_nth(trial->root, trial_random(trial, model_count(trial->root)));
}

static void set_name(struct model_node *node, const char *name)
{
    free(node->name);
    node->name = name == NULL ? NULL : strdup(name);
}

/* --- Inserting ------------------------------------------------------------------------------------- */

struct inserting {
    struct sirix_edit_insert insert;
    struct model_node *parent; /* NULL: the value slot. */
    size_t index;
    struct sirix_buf name;
    struct sirix_bytes name_view;
    struct sirix_buf text;
};

/* A spot where something can go. */
static void choose_spot(struct trial *trial, struct inserting *in)
{
    struct model_node *node = trial->root == NULL ? NULL : any_node(trial);

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
    must(sirix_json_tree_init(&tree, &arena, &err), &err, "tree");
    must(sirix_json_tree_parse(&tree, bytes_of(text), &options, NULL, &err), &err, "parse");
    must(sirix_json_tree_print(tree.root, &plain, &err), &err, "print");
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
    must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "insert members");
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
            must(sirix_edit_child_at(trial->edit, in->parent->key, in->index + i, &member->key,
                                     &err),
                 &err, "new member");
            use_key(trial, member);
            learn_children(trial, member);
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
        in->name_view = bytes_of(trial_text(&in->name));
        in->insert.name = &in->name_view;
        clash = model_member(in->parent, trial_text(&in->name)) != NULL;
    }
    trial_say(trial, "insert into %" PRIu64 " place %d index %" PRIu64 " name %s: %s",
              in->insert.target, (int)in->insert.place, in->insert.index,
              is_member ? trial_text(&in->name) : "-", trial_text(&in->text));
    status = sirix_edit_insert(trial->edit, &in->insert, sirix_buf_view(&in->text), &result, &err);
    must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "insert");
    if (clash) {
        return;
    }
    node = model_parse(trial_text(&in->text));
    set_name(node, is_member ? trial_text(&in->name) : NULL);
    node->key = result.key;
    MODEL_CHECK(result.changed && result.key_count == 1 && result.node_count == model_count(node),
                "the result of an insert");
    if (in->parent == NULL) {
        MODEL_CHECK(node->key == 1, "the value's key");
        trial->root = node;
    } else {
        use_key(trial, node);
        model_insert(in->parent, in->index, node);
    }
    learn_children(trial, node);
    trial->changed = true;
}

static void inserting_end(struct inserting *in)
{
    sirix_buf_deinit(&in->name);
    sirix_buf_deinit(&in->text);
}

static void inserting_begin(struct trial *trial, struct inserting *in)
{
    *in = (struct inserting){.parent = NULL};
    sirix_buf_init(&in->name, SIZE_MAX);
    sirix_buf_init(&in->text, SIZE_MAX);
    choose_spot(trial, in);
}

static void insert_something(struct trial *trial)
{
    struct inserting in;

    inserting_begin(trial, &in);
    if (in.parent != NULL && in.parent->kind == MODEL_SCALAR) {
        struct sirix_edit_result result = {0};
        struct sirix_error err = {0};
        must_be(sirix_edit_insert(trial->edit, &in.insert, bytes_of("1"), &result, &err),
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
static void insert_keyed(struct trial *trial)
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
            in.name_view = bytes_of(trial_text(&in.name));
            in.insert.name = &in.name_view;
        }
        trial_say(trial, "insert key %" PRIu64 " into %" PRIu64 " name %s", grave->key,
                  in.insert.target, grave->is_member ? trial_text(&in.name) : "-");
        status = sirix_edit_insert_keyed(trial->edit, &in.insert, grave->key, bytes_of("[7,{}]"),
                                         &result, &err);
        MODEL_CHECK(status == SIRIX_OK || status == SIRIX_ALREADY_EXISTS, "insert keyed: %s: %s",
                    sirix_status_name(status), err.text);
        if (status == SIRIX_OK) {
            node = model_parse("[7,{}]");
            node->key = grave->key;
            MODEL_CHECK(result.key == grave->key, "a given key");
            set_name(node, grave->is_member ? trial_text(&in.name) : NULL);
            MODEL_CHECK(!grave->is_member || model_member(in.parent, node->name) == NULL,
                        "a keyed insert made a duplicate");
            model_insert(in.parent, in.index, node);
            learn_children(trial, node);
            trial->changed = true;
        }
    }
    inserting_end(&in);
}

/* --- Updating -------------------------------------------------------------------------------------- */

/* The new value takes the old node's place, key and name. */
static void replace_in_model(struct trial *trial, struct model_node *old, struct model_node *new)
{
    struct model_node *parent = old->parent;

    new->key = old->key;
    set_name(new, old->name);
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
    struct model_node *old = any_node(trial);
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
    must(sirix_edit_update(trial->edit, &update, sirix_buf_view(&text), &result, &err), &err,
         "update");
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
        learn_children(trial, new);
        trial->changed = true;
    }
    free(old_text);
    free(new_text);
    sirix_buf_deinit(&text);
}

/* --- Deleting, renaming, moving -------------------------------------------------------------------- */

static void delete_something(struct trial *trial)
{
    struct model_node *node = any_node(trial);
    struct sirix_error err = {0};
    uint64_t nodes = 0;

    if (node->parent == NULL && trial_random(trial, 4) != 0) {
        return;
    }
    trial_say(trial, "delete %" PRIu64, node->key);
    must(sirix_edit_delete(trial->edit, node->key, &nodes, &err), &err, "delete");
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
    must_be(sirix_edit_delete(trial->edit, node->key, &nodes, &err), SIRIX_NOT_FOUND, &err,
            "delete again");
    model_free(node);
    trial->changed = true;
}

static void rename_something(struct trial *trial)
{
    struct model_node *node = any_node(trial);
    struct sirix_error err = {0};
    struct sirix_buf name;
    bool changed = false;
    bool same = false;
    bool clash = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&name, SIZE_MAX);
    trial_name(trial, &name);
    trial_say(trial, "rename %" PRIu64 " to %s", node->key, trial_text(&name));
    status = sirix_edit_rename(trial->edit, node->key, bytes_of(trial_text(&name)), &changed, &err);
    if (node->name == NULL) {
        must_be(status, SIRIX_PRECONDITION, &err, "rename an element");
    } else {
        same = strcmp(node->name, trial_text(&name)) == 0;
        clash = !same && model_member(node->parent, trial_text(&name)) != NULL;
        must_be(status, clash ? SIRIX_ALREADY_EXISTS : SIRIX_OK, &err, "rename");
        MODEL_CHECK(clash || changed == !same, "rename says changed %d", changed);
        if (!clash && !same) {
            set_name(node, trial_text(&name));
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
        set_name(node, (const char *)in->name.data);
    } else if (!to_object) {
        set_name(node, NULL);
    }
    if (fresh) {
        node->key = key;
        use_key(trial, node);
    }
    MODEL_CHECK(node->key == key, "a move gives key %" PRIu64 ", not %" PRIu64, key, node->key);
}

static void move_something(struct trial *trial)
{
    struct model_node *node = any_node(trial);
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
    in.name_view = bytes_of(trial_text(&in.name));
    move.target = in.insert.target;
    move.place = in.insert.place;
    move.index = in.insert.index;
    move.name = named ? &in.name_view : NULL;
    expected = expected_move(node, &in, named);
    trial_say(trial, "move %" PRIu64 " to %" PRIu64 " place %d index %" PRIu64 " name %s",
              node->key, move.target, (int)move.place, move.index,
              named ? trial_text(&in.name) : "-");
    must_be(sirix_edit_move(trial->edit, &move, &key, &changed, &err), expected, &err, "move");
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
    const struct sirix_bytes name = bytes_of("never seen before");

    inserting_begin(trial, &in);
    if (in.parent == NULL || in.parent->kind != MODEL_SCALAR) {
        in.insert.name = in.parent != NULL && in.parent->kind == MODEL_OBJECT ? &name : NULL;
        trial_say(trial, "refuse %s at %" PRIu64, text, in.insert.target);
        must_be(sirix_edit_insert(trial->edit, &in.insert, bytes_of(text), &result, &err),
                SIRIX_INVALID, &err, "a bad text");
    }
    if (in.parent != NULL && in.parent->kind == MODEL_ARRAY) {
        in.insert.name = &name;
        must_be(sirix_edit_insert(trial->edit, &in.insert, bytes_of("1"), &result, &err),
                SIRIX_INVALID, &err, "a name in an array");
        in.insert.name = NULL;
        in.insert.target = in.parent->key;
        in.insert.place = SIRIX_PLACE_INDEX;
        in.insert.index = in.parent->count + 1;
        must_be(sirix_edit_insert(trial->edit, &in.insert, bytes_of("1"), &result, &err),
                SIRIX_OUT_OF_RANGE, &err, "an index past the end");
    }
    inserting_end(&in);
}

static void abort_something(struct trial *trial)
{
    struct model_node *node = any_node(trial);
    const struct sirix_edit_update update = {.target = node->key};
    struct sirix_error err = {0};
    struct sirix_buf text;

    sirix_buf_init(&text, SIZE_MAX);
    trial_value(trial, 3, &text);
    trial_say(trial, "begin and abort an update of %" PRIu64, node->key);
    must(sirix_edit_update_begin(trial->edit, &update, &err), &err, "begin");
    must(sirix_edit_value_feed(
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
    const struct model_node *model = any_node(trial);
    struct sirix_document_node node = {0};
    struct sirix_error err = {0};
    uint64_t index = 0;
    uint64_t key = 0;

    must(sirix_edit_get(trial->edit, model->key, &node, &err), &err, "get");
    MODEL_CHECK(node.key == model->key && node.child_count == model->count &&
                    node.parent == (model->parent == NULL ? 0 : model->parent->key),
                "node %" PRIu64 " seen through the edit", model->key);
    must(sirix_edit_child_index(trial->edit, model->key, &index, &err), &err, "index");
    MODEL_CHECK(index == (model->parent == NULL ? 0 : model_index(model)), "index of %" PRIu64,
                model->key);
    if (model->name != NULL) {
        must(sirix_edit_member(trial->edit, model->parent->key, bytes_of(model->name), &key, &err),
             &err, "member");
        MODEL_CHECK(key == model->key, "member of %" PRIu64, model->parent->key);
    }
}

void trial_operation(struct trial *trial)
{
    if (trial->root == NULL) {
        insert_something(trial);
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
        insert_something(trial);
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
        insert_keyed(trial);
        break;
    }
    if (trial->root != NULL) {
        look_through_edit(trial);
    }
}
