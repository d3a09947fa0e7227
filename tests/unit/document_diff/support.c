#include "unit/document_diff/support.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>
#include <inttypes.h>

#include "base/hash.h"

static void must(enum sirix_status status, const struct sirix_error *err)
{
    if (status != SIRIX_OK) {
        print_error("%s: %s\n", sirix_status_name(status), err->text);
        fail();
    }
}

void view_of(struct fixture *f, uint64_t revision, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {
        .by = revision == 0 ? SIRIX_VIEW_BRANCH : SIRIX_VIEW_REVISION,
        .revision = revision,
    };
    struct sirix_error err = {0};

    must(sirix_view_open(f->resource, f->reader, &spec, view, &err), &err);
}

void make_branch(const struct sirix_view *view, const char *name)
{
    struct sirix_branch_info info;
    struct sirix_error err = {0};

    must(sirix_branch_create(view, bytes_of(name), 0, &info, &err), &err);
}

void branch_head(struct fixture *f, const char *branch, struct sirix_view *view)
{
    const struct sirix_view_spec spec = {.by = SIRIX_VIEW_BRANCH, .name = bytes_of(branch)};
    struct sirix_error err = {0};

    sirix_reader_yield(f->reader);
    must(sirix_view_open(f->resource, f->reader, &spec, view, &err), &err);
}

/* --- Diffs as text ------------------------------------------------------------------------------ */

static void add_path(struct sirix_diff *diff, const struct sirix_change *change,
                     enum sirix_diff_side side, struct sirix_buf *out)
{
    struct sirix_error err = {0};

    must(sirix_diff_path(diff, change, side, SIRIX_PATH_SIRIX, out, &err), &err);
}

static void add_value(struct sirix_diff *diff, const struct sirix_change *change,
                      enum sirix_diff_side side, struct sirix_buf *out)
{
    struct sirix_error err = {0};
    bool cut = false;

    must(sirix_diff_value(diff, change, side, SIZE_MAX / 2, out, &cut, &err), &err);
    assert_false(cut);
}

static void add_change(struct sirix_diff *diff, const struct sirix_change *change,
                       struct sirix_buf *out)
{
    static const char *const kinds[] = {"insert ",  "delete ", "update ",
                                        "replace ", "rename ", "move "};
    enum sirix_diff_side side =
        change->kind == SIRIX_CHANGE_INSERT ? SIRIX_DIFF_AFTER : SIRIX_DIFF_BEFORE;
    const struct sirix_change_side *of = sirix_change_side(change, side);
    struct sirix_error err = {0};

    must(sirix_buf_append_str(out, kinds[change->kind], &err), &err);
    add_path(diff, change, side, out);
    must(sirix_buf_append_str(out, " ", &err), &err);
    switch (change->kind) {
    case SIRIX_CHANGE_INSERT:
    case SIRIX_CHANGE_DELETE:
        add_value(diff, change, side, out);
        must(sirix_buf_printf(out, &err, " at %" PRIu64 " after %" PRIu64, of->index, of->left),
             &err);
        break;
    case SIRIX_CHANGE_UPDATE:
    case SIRIX_CHANGE_REPLACE:
        add_value(diff, change, SIRIX_DIFF_BEFORE, out);
        must(sirix_buf_append_str(out, " -> ", &err), &err);
        add_value(diff, change, SIRIX_DIFF_AFTER, out);
        must(sirix_buf_append_str(out, change->equal_value ? " equal" : "", &err), &err);
        break;
    case SIRIX_CHANGE_RENAME:
    case SIRIX_CHANGE_MOVE:
        must(sirix_buf_append_str(out, "-> ", &err), &err);
        add_path(diff, change, SIRIX_DIFF_AFTER, out);
        if (change->kind == SIRIX_CHANGE_MOVE) {
            must(sirix_buf_printf(out, &err, " from %" PRIu64 " to %" PRIu64, change->before.index,
                                  change->after.index),
                 &err);
        }
        break;
    }
    must(sirix_buf_append_str(out, "\n", &err), &err);
}

char *diff_text(struct fixture *f, const struct sirix_view *before, const struct sirix_view *after,
                uint64_t start, uint32_t depth_max)
{
    const struct sirix_diff_options options = {
        .old_view = before,
        .new_view = after,
        .reader = f->reader,
        .start = start,
        .depth_max = depth_max,
    };
    struct sirix_diff *diff = NULL;
    struct sirix_error err = {0};
    struct sirix_change change;
    struct sirix_buf out;
    enum sirix_status status = SIRIX_OK;
    uint64_t count = 0;

    sirix_buf_init(&out, SIZE_MAX);
    must(sirix_diff_new(&options, &diff, &err), &err);
    for (;;) {
        status = sirix_diff_next(diff, &change, &err);
        if (status == SIRIX_NOT_FOUND) {
            break;
        }
        must(status, &err);
        add_change(diff, &change, &out);
        count += 1;
        sirix_reader_yield(f->reader);
    }
    assert_int_equal(sirix_diff_counts(diff).all, count);
    sirix_diff_free(diff);
    must(sirix_buf_append_u8(&out, 0, &err), &err);
    return (char *)out.data;
}

void assert_diff(struct fixture *f, uint64_t before, uint64_t after, const char *expected)
{
    struct sirix_view view_before;
    struct sirix_view view_after;
    char *text = NULL;

    view_of(f, before, &view_before);
    view_of(f, after, &view_after);
    text = diff_text(f, &view_before, &view_after, 0, 0);
    assert_string_equal(text, expected);
    free(text);
    sirix_view_close(&view_before);
    sirix_view_close(&view_after);
}

/* --- Random edits ------------------------------------------------------------------------------- */

uint64_t test_rounds(uint64_t rounds)
{
    const char *text = getenv("SIRIX_TEST_ROUNDS");

    return text == NULL ? rounds : strtoull(text, NULL, 10);
}

uint64_t random_below(uint64_t *state, uint64_t limit)
{
    *state += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(*state) % limit;
}

static void random_scalar(uint64_t *state, struct sirix_buf *out)
{
    struct sirix_error err = {0};
    static const char *const words[] = {"true", "false", "null",     "1.1",         "1.10",
                                        "1e2",  "100",   "\"a\\n\"", "\"\\u0000\"", "-0"};

    if (random_below(state, 3) == 0) {
        must(sirix_buf_append_str(out, words[random_below(state, 10)], &err), &err);
    } else if (random_below(state, 2) == 0) {
        must(sirix_buf_printf(out, &err, "%d", (int)random_below(state, 50)), &err);
    } else {
        must(sirix_buf_printf(out, &err, "\"s%d\"", (int)random_below(state, 50)), &err);
    }
}

void random_value(uint64_t *state, unsigned depth, struct sirix_buf *out)
{
    struct sirix_error err = {0};
    bool is_object = random_below(state, 2) == 0;
    uint64_t count = random_below(state, 5);

    if (depth == 0 || random_below(state, 3) == 0) {
        random_scalar(state, out);
        return;
    }
    if (random_below(state, 12) == 0) {
        count = 60 + random_below(state, 20); /* Around the bound between lists and trees. */
        depth = 1;
    }
    must(sirix_buf_append_str(out, is_object ? "{" : "[", &err), &err);
    for (uint64_t i = 0; i < count; i++) {
        must(sirix_buf_append_str(out, i == 0 ? "" : ",", &err), &err);
        if (is_object) {
            must(sirix_buf_printf(out, &err, "\"n%d\":", (int)i), &err);
        }
        random_value(state, depth - 1, out);
    }
    must(sirix_buf_append_str(out, is_object ? "}" : "]", &err), &err);
}

struct known {
    uint64_t *keys;
    size_t count;
};

static struct known known_nodes(struct fixture *f, const struct sirix_view *view)
{
    struct known known = {.keys = calloc(view->record.node_count + 1, sizeof(uint64_t))};
    struct sirix_document document;
    struct sirix_document_node node;
    struct sirix_walk *walk = NULL;
    struct sirix_error err = {0};
    uint32_t depth = 0;

    assert_non_null(known.keys);
    sirix_document_init(&document, view, f->reader);
    must(sirix_walk_new(&document, 1, &walk, &err), &err);
    while (sirix_walk_next(walk, &node, &depth, &err) == SIRIX_OK) {
        known.keys[known.count++] = node.key;
    }
    sirix_walk_free(walk);
    return known;
}

static void random_operation(struct fixture *f, struct sirix_edit *edit, const struct known *known,
                             uint64_t *state)
{
    uint64_t key = known->keys[random_below(state, known->count)];
    uint64_t other = known->keys[random_below(state, known->count)];
    char name_text[16];
    struct sirix_document_node node;
    struct sirix_edit_result result;
    struct sirix_error err = {0};
    struct sirix_bytes name = {.data = name_text};
    struct sirix_buf value;
    bool changed = false;
    uint64_t ignored = 0;
    enum sirix_status status = sirix_edit_get(edit, key, &node, &err);

    (void)f;
    if (status != SIRIX_OK) {
        return; /* Gone by an operation before. */
    }
    name.len = (size_t)snprintf(name_text, sizeof(name_text), "n%d", (int)random_below(state, 8));
    sirix_buf_init(&value, SIZE_MAX);
    random_value(state, (unsigned)random_below(state, 3), &value);
    switch (random_below(state, 8)) {
    case 0:
    case 1:
    case 2: {
        const struct sirix_edit_insert insert = {
            .target = key,
            .place = SIRIX_PLACE_INDEX,
            .index = random_below(state, node.child_count + 1),
            .name = node.kind == SIRIX_NODE_OBJECT ? &name : NULL,
        };
        status = sirix_edit_insert(edit, &insert, sirix_buf_view(&value), &result, &err);
        break;
    }
    case 3: {
        const struct sirix_edit_update update = {.target = key};
        if (sirix_node_is_container(node.kind) && random_below(state, 4) != 0) {
            break; /* Else large parts would always be gone. */
        }
        status = sirix_edit_update(edit, &update, sirix_buf_view(&value), &result, &err);
        break;
    }
    case 4:
        if (key != 1) {
            status = sirix_edit_delete(edit, key, &ignored, &err);
        }
        break;
    case 5:
        if (node.is_member) {
            status = sirix_edit_rename(edit, key, name, &changed, &err);
        }
        break;
    case 6: {
        const struct sirix_edit_move move = {
            .key = key, .target = other, .place = SIRIX_PLACE_INDEX, .name = &name};
        status = sirix_edit_move(edit, &move, &ignored, &changed, &err);
        break;
    }
    default: { /* Among its siblings. */
        struct sirix_document_node parent;
        if (key == 1) {
            break;
        }
        must(sirix_edit_get(edit, node.parent, &parent, &err), &err);
        const struct sirix_edit_move move = {
            .key = key,
            .target = node.parent,
            .place = SIRIX_PLACE_INDEX,
            .index = random_below(state, parent.child_count),
        };
        status = sirix_edit_move(edit, &move, &ignored, &changed, &err);
        break;
    }
    }
    if (status != SIRIX_OK && status != SIRIX_ALREADY_EXISTS && status != SIRIX_PRECONDITION &&
        status != SIRIX_INVALID && status != SIRIX_OUT_OF_RANGE && status != SIRIX_NOT_FOUND) {
        must(status, &err);
    }
    sirix_buf_deinit(&value);
}

void random_commit_on(struct fixture *f, const char *branch, uint64_t *state, uint64_t operations)
{
    struct sirix_error err = {0};
    struct sirix_edit *edit = NULL;
    struct known known;
    struct sirix_view view;

    branch_head(f, branch, &view);
    must(sirix_edit_new(&view, f->reader, &edit, &err), &err);
    known = known_nodes(f, &view);
    for (uint64_t i = 0; i < operations; i++) {
        random_operation(f, edit, &known, state);
    }
    free(known.keys);
    (void)fixture_commit(f, edit, &view);
}

void random_commit(struct fixture *f, uint64_t *state, uint64_t operations)
{
    random_commit_on(f, "main", state, operations);
}
