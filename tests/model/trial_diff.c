/*
 * What diff.h, apply.h and patch.h promise, for two revisions of a trial: on any branches, in any order.
 *
 *     inverse      the changes from b to a are those from a to b, swapped
 *     apply        diff(a, b) applied to a gives b, and the diff back gives a again
 *     patch out    the RFC 6902 text of diff(a, b), applied to the text of a, gives b
 *     patch in     the same patch applied to the stored a gives b
 *
 * What was applied is compared with the model of its own text: counts, navigation and all.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/trial.h"
#include "store/document/apply.h"
#include "store/document/patch.h"
#include "json/patch.h"
#include "json/tree.h"

/* Two revisions, and a branch that starts at the first. */
struct comparison {
    struct trial *trial;
    const struct trial_revision *before;
    const struct trial_revision *after;
    char branch[16];
};

static struct sirix_bytes bytes_of(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

static void must(enum sirix_status status, const struct sirix_error *err, const char *what)
{
    MODEL_CHECK(status == SIRIX_OK, "%s: %s: %s", what, sirix_status_name(status), err->text);
}

static void open_revision(struct trial *trial, uint64_t number, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION, .revision = number};

    trial_open_view(trial, &spec, view);
}

static void open_head(const struct comparison *c, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = bytes_of(c->branch)};

    trial_open_view(c->trial, &spec, view);
}

/* --- Equality -------------------------------------------------------------------------------------- */

/* Numbers and strings as written; members in any order unless ordered. NULL: no value. */
static bool same_text(const char *a, const char *b, bool ordered)
{
    struct sirix_arena arena;
    struct sirix_json_tree tree_a;
    struct sirix_json_tree tree_b;
    struct sirix_error err = {0};
    bool same = false;

    if (a == NULL || b == NULL) {
        return a == b;
    }
    sirix_arena_init(&arena, SIZE_MAX);
    must(sirix_json_tree_init(&tree_a, &arena, &err), &err, "tree");
    must(sirix_json_tree_init(&tree_b, &arena, &err), &err, "tree");
    must(sirix_json_tree_parse(&tree_a, bytes_of(a), NULL, NULL, &err), &err, "parse");
    must(sirix_json_tree_parse(&tree_b, bytes_of(b), NULL, NULL, &err), &err, "parse");
    same = sirix_json_same_text(&tree_a, tree_a.root, &tree_b, tree_b.root, ordered);
    sirix_arena_deinit(&arena);
    return same;
}

static char *text_of(const struct model_node *root)
{
    return root == NULL ? NULL : model_text(root);
}

static struct model_node *child_of_key(const struct model_node *node, uint64_t key)
{
    for (size_t i = 0; i < node->count; i++) {
        if (node->children[i]->key == key) {
            return node->children[i];
        }
    }
    return NULL;
}

/* Whether a member or element that is new in b may pass for one of a that is gone. */
static bool is_put_anew(const struct model_node *a, const struct model_node *b,
                        const struct model_node *child)
{
    for (size_t i = 0; i < a->count; i++) {
        const struct model_node *old = a->children[i];
        if (child_of_key(b, old->key) == NULL &&
            (a->kind == MODEL_OBJECT ? strcmp(old->name, child->name) == 0
                                     : model_equal(old, child))) {
            return true;
        }
    }
    return false;
}

/*
 * Whether a diff carries the order of all members: none that stay changed their order among each
 * other, and none was put under a new key. a and b are of one key.
 */
static bool carries_order(const struct model_node *a, const struct model_node *b)
{
    size_t last = 0;

    if (a->kind != b->kind) {
        return true;
    }
    for (size_t i = 0; i < b->count; i++) {
        const struct model_node *old = child_of_key(a, b->children[i]->key);
        if (old == NULL) {
            if (is_put_anew(a, b, b->children[i])) {
                return false;
            }
            continue;
        }
        if (a->kind == MODEL_OBJECT && model_index(old) < last) {
            return false;
        }
        last = model_index(old);
        if (!carries_order(old, b->children[i])) {
            return false;
        }
    }
    return true;
}

static void check_text(const struct comparison *c, const char *text,
                       const struct trial_revision *expected, bool ordered, const char *what)
{
    char *wanted = text_of(expected->root);

    MODEL_CHECK(same_text(text, wanted, ordered),
                "%s from revision %" PRIu64 " to %" PRIu64 " gives%s\n%s\nnot\n%s", what,
                c->before->number, c->after->number, ordered ? " (member order counts)" : "",
                text == NULL ? "no value" : text, wanted == NULL ? "no value" : wanted);
    free(wanted);
}

/* --- Inverse --------------------------------------------------------------------------------------- */

struct changes {
    struct sirix_change *list;
    size_t count;
};

static void open_diff(struct trial *trial, const struct sirix_view *before,
                      const struct sirix_view *after, struct sirix_diff **diff)
{
    const struct sirix_diff_options options = {
        .old_view = before, .new_view = after, .reader = trial->reader};
    struct sirix_error err = {0};

    must(sirix_diff_new(&options, diff, &err), &err, "diff");
}

static struct sirix_change swapped(struct sirix_change change)
{
    struct sirix_change_side side = change.before;

    change.before = change.after;
    change.after = side;
    if (change.kind == SIRIX_CHANGE_INSERT) {
        change.kind = SIRIX_CHANGE_DELETE;
    } else if (change.kind == SIRIX_CHANGE_DELETE) {
        change.kind = SIRIX_CHANGE_INSERT;
    }
    return change;
}

static int compare_changes(const void *left, const void *right)
{
    const struct sirix_change *a = left;
    const struct sirix_change *b = right;
    const uint64_t of_a[] = {a->before.key, a->after.key, (uint64_t)a->kind};
    const uint64_t of_b[] = {b->before.key, b->after.key, (uint64_t)b->kind};

    for (size_t i = 0; i < sizeof(of_a) / sizeof(of_a[0]); i++) {
        if (of_a[i] != of_b[i]) {
            return of_a[i] < of_b[i] ? -1 : 1;
        }
    }
    return 0;
}

/* All changes, sorted; swapped if backward. */
static struct changes read_changes(struct trial *trial, const struct sirix_view *before,
                                   const struct sirix_view *after, bool backward)
{
    struct changes changes = {0};
    struct sirix_diff *diff = NULL;
    struct sirix_change change;
    struct sirix_error err = {0};
    enum sirix_status status = SIRIX_OK;
    size_t cap = 0;

    open_diff(trial, before, after, &diff);
    while ((status = sirix_diff_next(diff, &change, &err)) == SIRIX_OK) {
        if (changes.count == cap) {
            cap = cap == 0 ? 64 : cap * 2;
            changes.list = realloc(changes.list, cap * sizeof(*changes.list));
            MODEL_CHECK(changes.list != NULL, "no memory");
        }
        changes.list[changes.count++] = backward ? swapped(change) : change;
        if (trial_random(trial, 8) == 0) {
            sirix_reader_yield(trial->reader);
        }
    }
    MODEL_CHECK(status == SIRIX_NOT_FOUND, "next change: %s", err.text);
    MODEL_CHECK(sirix_diff_counts(diff).all == changes.count, "the count of changes");
    sirix_diff_free(diff);
    if (changes.count != 0) {
        qsort(changes.list, changes.count, sizeof(*changes.list), compare_changes);
    }
    return changes;
}

static bool same_side(enum sirix_change_kind kind, const struct sirix_change_side *a,
                      const struct sirix_change_side *b)
{
    bool has_place =
        kind == SIRIX_CHANGE_INSERT || kind == SIRIX_CHANGE_DELETE || kind == SIRIX_CHANGE_MOVE;

    return a->key == b->key && a->parent == b->parent &&
           (a->key == 0 ||
            (a->kind == b->kind && (!has_place || (a->index == b->index && a->left == b->left))));
}

static size_t check_inverse(const struct comparison *c, const struct sirix_view *a,
                            const struct sirix_view *b)
{
    struct changes there = read_changes(c->trial, a, b, false);
    struct changes back = read_changes(c->trial, b, a, true);
    size_t count = there.count;

    MODEL_CHECK(there.count == back.count, "%zu changes there, %zu back", there.count, back.count);
    for (size_t i = 0; i < count; i++) {
        const struct sirix_change *x = &there.list[i];
        const struct sirix_change *y = &back.list[i];
        MODEL_CHECK(x->kind == y->kind && same_side(x->kind, &x->before, &y->before) &&
                        same_side(x->kind, &x->after, &y->after) && x->depth == y->depth &&
                        x->is_member == y->is_member && x->equal_value == y->equal_value,
                    "change %d of %" PRIu64 " and %" PRIu64
                    " is another one backwards: %d of %" PRIu64 " and %" PRIu64,
                    (int)x->kind, x->before.key, x->after.key, (int)y->kind, y->before.key,
                    y->after.key);
    }
    free(there.list);
    free(back.list);
    return count;
}

/* --- Applying -------------------------------------------------------------------------------------- */

/* The keys of all below a node, from the store. */
static void read_keys(struct sirix_document *document, struct model_node *node)
{
    struct sirix_error err = {0};

    for (size_t i = 0; i < node->count; i++) {
        must(sirix_document_child_at(document, node->key, i, &node->children[i]->key, &err), &err,
             "child");
        read_keys(document, node->children[i]);
    }
}

/* The head's text, after it was compared with the model of that text; NULL: no value. */
static char *head_text(const struct comparison *c)
{
    const struct sirix_serialise_options options = {.key = 0};
    struct sirix_document document;
    struct sirix_serialiser *serialiser = NULL;
    struct sirix_error err = {0};
    struct sirix_view view;
    struct sirix_buf out;
    struct model_node *root = NULL;
    char *text = NULL;
    bool done = false;

    open_head(c, &view);
    sirix_document_init(&document, &view, c->trial->reader);
    must(sirix_document_has_value(&document, &done, &err), &err, "value");
    if (done) {
        done = false;
        sirix_buf_init(&out, SIZE_MAX);
        must(sirix_serialiser_new(&document, &options, &serialiser, &err), &err, "serialise");
        while (!done) {
            must(sirix_serialiser_step(serialiser, 1 << 16, &out, &done, &err), &err, "serialise");
        }
        sirix_serialiser_free(serialiser);
        text = strdup(trial_text(&out));
        MODEL_CHECK(text != NULL, "no memory");
        sirix_buf_deinit(&out);
        root = model_parse(text);
        root->key = 1;
        read_keys(&document, root);
    }
    model_compare(&view, c->trial->reader, root, root);
    sirix_view_close(&view);
    model_free(root);
    return text;
}

/* Publishes an edit of the branch; false: the backend refused. */
static bool publish(const struct comparison *c, struct sirix_edit *edit, bool has_changes)
{
    const struct sirix_edit_commit commit = {.author = bytes_of("me"),
                                             .message = bytes_of("applied")};
    struct sirix_published published = {0};
    struct sirix_error err = {0};
    bool changed = false;
    bool done = trial_is_done(
        c->trial, sirix_edit_commit(edit, &commit, &published, &changed, &err), &err, "apply");

    MODEL_CHECK(!done || changed == has_changes, "applying %s changes says changed %d",
                has_changes ? "some" : "no", changed);
    return done;
}

static const struct model_node *node_of_key(const struct model_node *node, uint64_t key)
{
    const struct model_node *found = node != NULL && node->key == key ? node : NULL;

    for (size_t i = 0; node != NULL && i < node->count && found == NULL; i++) {
        found = node_of_key(node->children[i], key);
    }
    return found;
}

/*
 * Whether the target still has a node that went to another parent, because something equal, or of its
 * name, was put anew in its place: to a diff they are one.
 */
static bool is_stood_for(const struct model_node *old, const struct model_node *after)
{
    const struct model_node *parent =
        old == NULL || old->parent == NULL ? NULL : node_of_key(after, old->parent->key);

    for (size_t i = 0; parent != NULL && i < parent->count; i++) {
        const struct model_node *new = parent->children[i];
        if (child_of_key(old->parent, new->key) == NULL &&
            (parent->kind == MODEL_OBJECT ? old->name != NULL && strcmp(old->name, new->name) == 0
                                          : model_equal(old, new))) {
            return true;
        }
    }
    return false;
}

/* Nodes that were inserted have their keys of the new revision, but for those that are taken. */
static void check_keys(const struct sirix_map *keys, const struct model_node *before,
                       const struct model_node *after)
{
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t other = 0;

    while (sirix_map_next(keys, &cursor, &key, &other)) {
        MODEL_CHECK(is_stood_for(node_of_key(before, key), after),
                    "node %" PRIu64 " got key %" PRIu64 " where its own was free", key, other);
    }
}

/* Applies the diff between two views to the branch, whose head has what the first has. */
static bool apply(const struct comparison *c, const struct sirix_view *before,
                  const struct sirix_view *after, bool is_back)
{
    struct sirix_apply_counts result = {0};
    struct sirix_diff *diff = NULL;
    struct sirix_edit *edit = NULL;
    struct sirix_error err = {0};
    struct sirix_map keys;
    struct sirix_view head;
    uint64_t all = 0;
    bool done = false;

    sirix_map_init(&keys);
    open_head(c, &head);
    open_diff(c->trial, before, after, &diff);
    must(sirix_edit_new(&head, c->trial->reader, &edit, &err), &err, "edit");
    must(sirix_apply(diff, edit, &keys, &result, &err), &err, "apply");
    all = sirix_diff_counts(diff).all;
    MODEL_CHECK(result.applied + result.already == all,
                "%" PRIu64 " applied and %" PRIu64 " there, of %" PRIu64, result.applied,
                result.already, all);
    if (is_back) {
        check_keys(&keys, c->after->root, c->before->root);
    } else {
        check_keys(&keys, c->before->root, c->after->root);
    }
    sirix_diff_free(diff);
    done = publish(c, edit, all != 0);
    sirix_edit_free(edit);
    sirix_view_close(&head);
    sirix_map_deinit(&keys);
    return done;
}

/* Forth and back on the branch; false: the backend refused. */
static bool check_apply(const struct comparison *c, const struct sirix_view *a,
                        const struct sirix_view *b)
{
    const struct model_node *from = c->before->root;
    const struct model_node *to = c->after->root;
    bool ordered = from == NULL || to == NULL || carries_order(from, to);
    struct sirix_view head;
    char *text = NULL;
    bool done = false;

    if (!apply(c, a, b, false)) {
        return false;
    }
    text = head_text(c);
    check_text(c, text, c->after, ordered, "applying the diff");
    free(text);

    open_head(c, &head);
    done = apply(c, &head, a, true);
    sirix_view_close(&head);
    if (done) {
        text = head_text(c);
        check_text(c, text, c->before, false, "applying the diff and the diff back");
        free(text);
    }
    return done;
}

/* --- RFC 6902 -------------------------------------------------------------------------------------- */

/* The patch from a to b; false: the one thing that a patch cannot say. */
static bool write_patch(const struct comparison *c, const struct sirix_view *a,
                        const struct sirix_view *b, struct sirix_buf *out)
{
    const struct sirix_patch_options options = {
        .old_view = a, .new_view = b, .reader = c->trial->reader, .max_ops = SIRIX_PATCH_OPS_MAX};
    struct sirix_patch_writer *writer = NULL;
    struct sirix_error err = {0};
    enum sirix_status status = sirix_patch_writer_new(&options, &writer, &err);
    bool done = false;

    if (c->after->root == NULL && c->before->root != NULL) {
        MODEL_CHECK(status == SIRIX_PRECONDITION, "a patch to no value: %s",
                    sirix_status_name(status));
        return false;
    }
    must(status, &err, "patch");
    while (!done) {
        must(sirix_patch_writer_step(writer, 1 + trial_random(c->trial, 2000), out, &done, &err),
             &err, "write patch");
        sirix_reader_yield(c->trial->reader);
    }
    sirix_patch_writer_free(writer);
    return true;
}

static void check_patch_out(const struct comparison *c, const char *patch)
{
    const struct sirix_json_patch_options options = {.max_ops = SIRIX_PATCH_OPS_MAX};
    struct sirix_arena arena;
    struct sirix_json_tree tree;
    struct sirix_json_tree patch_tree;
    struct sirix_error err = {0};
    struct sirix_buf out;
    char *text = text_of(c->before->root);

    sirix_arena_init(&arena, SIZE_MAX);
    sirix_buf_init(&out, SIZE_MAX);
    must(sirix_json_tree_init(&tree, &arena, &err), &err, "tree");
    must(sirix_json_tree_init(&patch_tree, &arena, &err), &err, "tree");
    must(sirix_json_tree_parse(&tree, bytes_of(text), NULL, NULL, &err), &err, "parse");
    must(sirix_json_tree_parse(&patch_tree, bytes_of(patch), NULL, NULL, &err), &err, "parse");
    must(sirix_json_patch_apply(&tree, &patch_tree, patch_tree.root, &options, &err), &err, patch);
    must(sirix_json_tree_print(tree.root, &out, &err), &err, "print");
    check_text(c, trial_text(&out), c->after, false, "the patch");
    sirix_buf_deinit(&out);
    sirix_arena_deinit(&arena);
    free(text);
}

/* The branch has the value of the old revision again, maybe with other keys. */
static void check_patch_in(const struct comparison *c, const char *patch, bool has_changes)
{
    struct sirix_arena arena;
    struct sirix_json_tree tree;
    struct sirix_edit *edit = NULL;
    struct sirix_error err = {0};
    struct sirix_view head;
    char *text = NULL;
    bool done = false;

    sirix_arena_init(&arena, SIZE_MAX);
    must(sirix_json_tree_init(&tree, &arena, &err), &err, "tree");
    must(sirix_json_tree_parse(&tree, bytes_of(patch), NULL, NULL, &err), &err, "parse");
    open_head(c, &head);
    must(sirix_edit_new(&head, c->trial->reader, &edit, &err), &err, "edit");
    must(sirix_patch_apply(edit, &tree, tree.root, SIRIX_PATCH_OPS_MAX, &err), &err, patch);
    done = publish(c, edit, has_changes);
    sirix_edit_free(edit);
    sirix_view_close(&head);
    if (done) {
        text = head_text(c);
        check_text(c, text, c->after, false, "the patch on the stored revision");
        free(text);
    }
    sirix_arena_deinit(&arena);
}

/* --- The step -------------------------------------------------------------------------------------- */

static void compare_revisions(const struct comparison *c)
{
    struct sirix_branch_info info = {0};
    struct sirix_error err = {0};
    struct sirix_view a;
    struct sirix_view b;
    struct sirix_buf patch;
    bool has_changes = false;
    bool done = false;

    open_revision(c->trial, c->before->number, &a);
    open_revision(c->trial, c->after->number, &b);
    has_changes = check_inverse(c, &a, &b) != 0;
    done = trial_is_done(c->trial, sirix_branch_create(&a, bytes_of(c->branch), 0, &info, &err),
                         &err, "branch to apply on");
    done = done && check_apply(c, &a, &b);
    sirix_buf_init(&patch, SIZE_MAX);
    if (write_patch(c, &a, &b, &patch) && c->before->root != NULL) {
        check_patch_out(c, trial_text(&patch));
        if (done) {
            check_patch_in(c, trial_text(&patch), has_changes);
        }
    }
    sirix_buf_deinit(&patch);
    sirix_view_close(&a);
    sirix_view_close(&b);
}

void trial_compare_revisions(struct trial *trial)
{
    struct comparison c = {.trial = trial};
    struct sirix_error err = {0};

    c.before = &trial->revisions[trial_random(trial, trial->revision_count)];
    c.after = &trial->revisions[trial_random(trial, trial->revision_count)];
    (void)snprintf(c.branch, sizeof(c.branch), "apply%zu", trial->comparison_count++);
    trial_say(trial, "diff from revision %" PRIu64 " to %" PRIu64 ", applied on %s",
              c.before->number, c.after->number, c.branch);
    trial_arm(trial);
    compare_revisions(&c);
    (void)trial_settle(trial);
    enum sirix_status status = sirix_branch_delete(trial->resource, bytes_of(c.branch), &err);
    /* It may never have been made, or be gone although the answer was lost. */
    while (status != SIRIX_NOT_FOUND && !trial_is_done(trial, status, &err, "delete branch")) {
        (void)trial_settle(trial);
        status = sirix_branch_delete(trial->resource, bytes_of(c.branch), &err);
    }
}
