/* The questions of document.h about a revision, against the model. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "model/model.h"
#include "json/text.h"

enum { SHARE = 16 }; /* One in so many of the nodes that were asked about before is asked again. */

struct comparing {
    struct sirix_document document;
    struct sirix_walk *walk;
    struct sirix_buf path;
    struct sirix_map before; /* From keys to the nodes that were asked about, as they were. */
};

static void must(enum sirix_status status, const struct sirix_error *err, const char *what,
                 uint64_t key)
{
    MODEL_CHECK(status == SIRIX_OK, "%s of node %" PRIu64 ": %s: %s", what, key,
                sirix_status_name(status), err->text);
}

static void must_be(enum sirix_status status, uint64_t key, uint64_t expected, const char *what,
                    uint64_t of)
{
    MODEL_CHECK(status == SIRIX_OK || status == SIRIX_NOT_FOUND, "%s of %" PRIu64 ": %s", what, of,
                sirix_status_name(status));
    MODEL_CHECK((status == SIRIX_OK) == (expected != 0) && (expected == 0 || key == expected),
                "%s of %" PRIu64 " is %" PRIu64 " (%s), not %" PRIu64, what, of, key,
                sirix_status_name(status), expected);
}

static void compare_name(const struct sirix_document_node *node, const struct model_node *model)
{
    MODEL_CHECK(node->is_member == (model->name != NULL), "node %" PRIu64 " is_member", model->key);
    if (model->name == NULL) {
        return;
    }
    if (strlen(model->name) > SIRIX_TEXT_INLINE_MAX) {
        MODEL_CHECK(node->long_name.len == strlen(model->name), "long name of %" PRIu64,
                    model->key);
    } else {
        MODEL_CHECK(node->name.len == strlen(model->name) &&
                        memcmp(node->name.data, model->name, node->name.len) == 0,
                    "name of %" PRIu64 " is %.*s, not %s", model->key, (int)node->name.len,
                    (const char *)node->name.data, model->name);
    }
}

static void compare_scalar(struct comparing *c, const struct sirix_document_node *node,
                           const struct model_node *model)
{
    struct sirix_error err = {0};
    struct sirix_buf text;
    bool cut = true;

    sirix_buf_init(&text, SIZE_MAX);
    must(sirix_document_scalar(&c->document, node, SIZE_MAX, &text, &cut, &err), &err, "text",
         model->key);
    MODEL_CHECK(!cut && text.len == strlen(model->text) &&
                    memcmp(text.data, model->text, text.len) == 0,
                "text of %" PRIu64 " is %.*s, not %s", model->key, (int)text.len,
                (const char *)text.data, model->text);
    sirix_buf_deinit(&text);
}

static enum model_kind kind_of(enum sirix_node_kind kind)
{
    return kind == SIRIX_NODE_OBJECT  ? MODEL_OBJECT
           : kind == SIRIX_NODE_ARRAY ? MODEL_ARRAY
                                      : MODEL_SCALAR;
}

static void compare_children(struct comparing *c, const struct model_node *model)
{
    struct sirix_children children;
    struct sirix_error err = {0};
    uint64_t key = 0;
    size_t first = model->count / 3;
    enum sirix_status status = SIRIX_OK;

    must(sirix_children_init(&children, &c->document, model->key, first, &err), &err, "children",
         model->key);
    for (size_t i = first; i <= model->count; i++) {
        uint64_t expected = i < model->count ? model->children[i]->key : 0;
        status = sirix_children_next(&children, &key, &err);
        must_be(status, key, expected, "next child", model->key);
        status = sirix_document_child_at(&c->document, model->key, i, &key, &err);
        must_be(status, key, expected, "child at", model->key);
    }
    status = sirix_document_first_child(&c->document, model->key, &key, &err);
    must_be(status, key, model->count == 0 ? 0 : model->children[0]->key, "first child",
            model->key);
    status = sirix_document_last_child(&c->document, model->key, &key, &err);
    must_be(status, key, model->count == 0 ? 0 : model->children[model->count - 1]->key,
            "last child", model->key);
    if (model->kind == MODEL_OBJECT) {
        status =
            sirix_document_member(&c->document, model->key,
                                  (struct sirix_bytes){.data = "no such", .len = 7}, &key, &err);
        must_be(status, key, 0, "a member that is not there", model->key);
    }
}

static void compare_place(struct comparing *c, const struct model_node *model)
{
    const struct model_node *parent = model->parent;
    struct sirix_error err = {0};
    uint64_t key = 0;
    uint64_t index = 0;
    size_t at = parent == NULL ? 0 : model_index(model);
    enum sirix_status status = SIRIX_OK;

    must(sirix_document_child_index(&c->document, model->key, &index, &err), &err, "index",
         model->key);
    MODEL_CHECK(index == at, "index of %" PRIu64 " is %" PRIu64 ", not %zu", model->key, index, at);
    status = sirix_document_left_sibling(&c->document, model->key, &key, &err);
    must_be(status, key, at == 0 ? 0 : parent->children[at - 1]->key, "left sibling", model->key);
    status = sirix_document_right_sibling(&c->document, model->key, &key, &err);
    must_be(status, key,
            parent == NULL || at + 1 == parent->count ? 0 : parent->children[at + 1]->key,
            "right sibling", model->key);
    if (model->name != NULL) {
        struct sirix_bytes name = {.data = model->name, .len = strlen(model->name)};
        status = sirix_document_member(&c->document, parent->key, name, &key, &err);
        must_be(status, key, model->key, "member", parent->key);
    }
    for (int form = SIRIX_PATH_SIRIX; form <= SIRIX_PATH_POINTER; form++) {
        sirix_buf_clear(&c->path);
        must(sirix_document_path(&c->document, model->key, (enum sirix_path_form)form, &c->path,
                                 &err),
             &err, "path", model->key);
        status = sirix_document_resolve(&c->document, (enum sirix_path_form)form,
                                        sirix_buf_view(&c->path), &key, &err);
        must_be(status, key, model->key, "resolved path", model->key);
    }
}

/* --- Which nodes are asked about ------------------------------------------------------------------- */

static void remember(struct comparing *c, const struct model_node *node)
{
    struct sirix_error err = {0};

    must(sirix_map_put(&c->before, node->key, (uint64_t)(uintptr_t)node, &err), &err, "map",
         node->key);
    for (size_t i = 0; i < node->count; i++) {
        remember(c, node->children[i]);
    }
}

static bool same_string(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* The key beside a node, on the left or on the right; 0: none. */
static uint64_t beside(const struct model_node *node, size_t index, bool right)
{
    if (right) {
        return index + 1 < node->parent->count ? node->parent->children[index + 1]->key : 0;
    }
    return index == 0 ? 0 : node->parent->children[index - 1]->key;
}

/* Whether the answers about a node are what they were; an index that others moved does not count. */
static bool is_as_before(const struct comparing *c, const struct model_node *node)
{
    const struct model_node *old = NULL;
    size_t index = 0;
    size_t old_index = 0;
    uint64_t place = 0;

    if (!sirix_map_get(&c->before, node->key, &place)) {
        return false;
    }
    old = (const struct model_node *)(uintptr_t)place;
    if (old->kind != node->kind || old->count != node->count ||
        !same_string(old->name, node->name) || !same_string(old->text, node->text) ||
        (old->parent == NULL) != (node->parent == NULL)) {
        return false;
    }
    for (size_t i = 0; i < node->count; i++) {
        if (old->children[i]->key != node->children[i]->key) {
            return false;
        }
    }
    if (node->parent == NULL) {
        return true;
    }
    index = model_index(node);
    old_index = model_index(old);
    return old->parent->key == node->parent->key &&
           beside(node, index, false) == beside(old, old_index, false) &&
           beside(node, index, true) == beside(old, old_index, true);
}

static bool is_asked(const struct comparing *c, const struct model_node *node)
{
    uint64_t revision = c->document.view->record.revision;

    return sirix_mix64(node->key * UINT64_C(0x9e3779b97f4a7c15) + revision) % SHARE == 0 ||
           !is_as_before(c, node);
}

/* --- Nodes ----------------------------------------------------------------------------------------- */

static void ask_node(struct comparing *c, const struct model_node *model,
                     const struct sirix_document_node *walked)
{
    struct sirix_document_node node = {0};
    struct sirix_document_node second = {0};
    struct sirix_error err = {0};

    must(sirix_document_get(&c->document, model->key, &node, &err), &err, "get", model->key);
    MODEL_CHECK(node.key == model->key, "node %" PRIu64 " calls itself %" PRIu64, model->key,
                node.key);
    MODEL_CHECK(walked->parent == node.parent && walked->kind == node.kind &&
                    walked->child_count == node.child_count,
                "node %" PRIu64 " is another one in the walk", model->key);
    compare_name(&node, model);
    if (model->kind == MODEL_SCALAR) {
        compare_scalar(c, &node, model);
    }
    if (model->name != NULL) {
        must(sirix_document_get(&c->document, model->key + 1, &second, &err), &err, "get k + 1 of",
             model->key);
        MODEL_CHECK(second.key == model->key, "k + 1 of %" PRIu64 " is %" PRIu64, model->key,
                    second.key);
    }
    compare_children(c, model);
    compare_place(c, model);
}

/* The walk comes to every node; what else is asked changes nothing of the walk. */
static void compare_node(struct comparing *c, const struct model_node *model, uint32_t depth)
{
    struct sirix_document_node walked = {0};
    struct sirix_error err = {0};
    uint32_t walked_depth = 0;

    must(sirix_walk_next(c->walk, &walked, &walked_depth, &err), &err, "walk to", model->key);
    MODEL_CHECK(walked.key == model->key && walked_depth == depth,
                "the walk comes to %" PRIu64 " at depth %u, not to %" PRIu64 " at %u", walked.key,
                walked_depth, model->key, depth);
    MODEL_CHECK(walked.parent == (model->parent == NULL ? 0 : model->parent->key),
                "parent of %" PRIu64 " is %" PRIu64, model->key, walked.parent);
    MODEL_CHECK(kind_of(walked.kind) == model->kind, "kind of %" PRIu64 " is %d", model->key,
                (int)walked.kind);
    MODEL_CHECK(walked.child_count == model->count, "children of %" PRIu64 ": %" PRIu64 ", not %zu",
                model->key, walked.child_count, model->count);
    compare_name(&walked, model);
    if (is_asked(c, model)) {
        ask_node(c, model, &walked);
    }
    for (size_t i = 0; i < model->count; i++) {
        compare_node(c, model->children[i], depth + 1);
    }
}

static void compare_text(struct comparing *c, const struct sirix_view *view,
                         const struct model_node *root)
{
    const struct sirix_serialise_options options = {.key = 0};
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_error err = {0};
    struct sirix_buf out;
    char *text = model_text(root);
    bool done = false;

    sirix_buf_init(&out, SIZE_MAX);
    must(sirix_serialiser_new(&c->document, &options, &serialiser, &err), &err, "serialise", 0);
    while (!done) {
        must(sirix_serialiser_step(serialiser, 100, &out, &done, &err), &err, "serialise", 0);
        sirix_reader_yield(c->document.reader);
    }
    MODEL_CHECK(out.len == strlen(text) && memcmp(out.data, text, out.len) == 0,
                "the text is\n%.*s\nnot\n%s", (int)out.len, (const char *)out.data, text);
    MODEL_CHECK(view->record.text_bytes == out.len,
                "the record says %" PRIu64 " bytes of text, it is %zu", view->record.text_bytes,
                out.len);
    MODEL_CHECK(view->record.node_count == model_count(root),
                "the record says %" PRIu64 " nodes, there are %zu", view->record.node_count,
                model_count(root));
    sirix_serialiser_free(serialiser);
    sirix_buf_deinit(&out);
    free(text);
}

void model_compare(const struct sirix_view *view, struct sirix_reader *reader,
                   const struct model_node *root, const struct model_node *asked)
{
    struct comparing c = {0};
    struct sirix_document_node node = {0};
    struct sirix_error err = {0};
    uint32_t depth = 0;
    bool has = false;

    sirix_document_init(&c.document, view, reader);
    sirix_buf_init(&c.path, SIZE_MAX);
    must(sirix_document_has_value(&c.document, &has, &err), &err, "value", 0);
    MODEL_CHECK(has == (root != NULL), "the resource %s a value", has ? "has" : "lacks");
    if (root == NULL) {
        MODEL_CHECK(view->record.node_count == 0 && view->record.text_bytes == 0,
                    "an empty document has counts");
        return;
    }
    sirix_map_init(&c.before);
    if (asked != NULL) {
        remember(&c, asked);
    }
    compare_text(&c, view, root);
    must(sirix_walk_new(&c.document, 1, &c.walk, &err), &err, "walk", 1);
    compare_node(&c, root, 0);
    MODEL_CHECK(sirix_walk_next(c.walk, &node, &depth, &err) == SIRIX_NOT_FOUND,
                "the walk goes on to %" PRIu64, node.key);
    sirix_walk_free(c.walk);
    sirix_map_deinit(&c.before);
    sirix_buf_deinit(&c.path);
}
