/* History along parents, and of one node. */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/buf.h"

enum sirix_status sirix_view_history(const struct sirix_view *view, struct sirix_reader *reader,
                                     sirix_record_visit_fn visit, void *context,
                                     struct sirix_error *err)
{
    const struct sirix_resource *resource = view->resource;
    uint64_t revision = view->record.revision;
    uint64_t address = view->record_address;
    bool stop = false;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && !stop && address != 0) {
        struct sirix_record record;
        uint64_t at = address;

        status = sirix_record_read(reader, at, &record, err);
        if (status == SIRIX_OK && record.revision != revision) {
            status = sirix_fail(err, SIRIX_CORRUPT,
                                "resource %s: the record of revision %" PRIu64
                                " says that it is revision %" PRIu64,
                                resource->name, revision, record.revision);
        }
        if (status == SIRIX_OK) {
            /* The record dies when visit yields. */
            revision = record.parent_revision;
            address = record.parent_address;
            status = visit(context, &record, at, &stop, err);
        }
    }
    return status;
}

/*
 * A node's history. Pages are never changed, so as long as no revert lies between, a leaf that is in a
 * revision and in its ancestor is in all revisions between: the oldest one that has it is found by
 * jumps. There the row is compared with the parent's. Only where the key's leaf is absent altogether
 * the walk goes parent by parent, and it ends where the key had not been given yet.
 */
struct node_walk {
    const struct sirix_resource *resource;
    struct sirix_reader *reader;
    uint64_t key;
};

/* The leaf that decides about the key in a revision, and a copy of the row in it. */
struct node_state {
    uint64_t row_key; /* The key under which the row or its absence is looked up. */
    uint64_t leaf;
    bool present;
    struct sirix_buf record;
};

static enum sirix_status read_state(const struct node_walk *walk, struct sirix_trie trie,
                                    struct node_state *state, struct sirix_error *err)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row;
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_init(&cursor, walk->reader, trie);
    sirix_buf_clear(&state->record);
    status = sirix_trie_get(&cursor, walk->key, &row, err);
    state->present = status == SIRIX_OK;
    state->row_key = walk->key;
    if (status == SIRIX_OK) {
        state->row_key = row.key;
        status = sirix_buf_append_bytes(&state->record, row.record, err);
    } else if (status == SIRIX_NOT_FOUND) {
        status = SIRIX_OK;
    }
    return status == SIRIX_OK ? sirix_trie_leaf_address(&cursor, state->row_key, &state->leaf, err)
                              : status;
}

/* Whether an ancestor holds the very same leaf, with no revert between it and the step. */
static enum sirix_status same_leaf(const struct node_walk *walk, const struct sirix_step *ancestor,
                                   const struct sirix_step *step, const struct node_state *state,
                                   bool *out_same, struct sirix_error *err)
{
    struct sirix_trie_cursor cursor;
    uint64_t leaf = 0;
    enum sirix_status status = SIRIX_OK;

    if (ancestor->record.adoptions != step->record.adoptions) {
        *out_same = false;
        return SIRIX_OK;
    }
    sirix_trie_cursor_init(&cursor, walk->reader, ancestor->record.trie);
    status = sirix_trie_leaf_address(&cursor, state->row_key, &leaf, err);
    *out_same = leaf == state->leaf;
    return status;
}

typedef enum sirix_status (*step_fn)(struct sirix_reader *reader,
                                     const struct sirix_resource *resource, struct sirix_step *step,
                                     struct sirix_error *err);

/* Takes a step back if the leaf is the same there; *out_same tells. */
static enum sirix_status step_back(const struct node_walk *walk, step_fn go,
                                   struct sirix_step *step, const struct node_state *state,
                                   bool *out_same, struct sirix_error *err)
{
    struct sirix_step next = *step;
    enum sirix_status status = go(walk->reader, walk->resource, &next, err);

    if (status == SIRIX_OK) {
        status = same_leaf(walk, &next, step, state, out_same, err);
    }
    if (status == SIRIX_OK && *out_same) {
        *step = next;
    }
    return status;
}

/* Moves the step to the oldest ancestor that has its leaf without a revert between. */
static enum sirix_status to_first_with_leaf(const struct node_walk *walk, struct sirix_step *step,
                                            const struct node_state *state, struct sirix_error *err)
{
    /* Absence is not written by one revision: it may come and go. */
    bool same = state->leaf != 0;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && same && step->record.depth > 0) {
        status = step_back(walk, sirix_step_jump, step, state, &same, err);
        if (status == SIRIX_OK && !same) {
            status = step_back(walk, sirix_step_parent, step, state, &same, err);
        }
    }
    return status;
}

/* The state in the parent, to which the step moves; before the first revision nothing is there. */
static enum sirix_status to_parent(const struct node_walk *walk, struct sirix_step *step,
                                   struct node_state *before, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (step->record.depth == 0) {
        before->present = false;
        sirix_buf_clear(&before->record);
        return SIRIX_OK;
    }
    status = sirix_step_parent(walk->reader, walk->resource, step, err);
    return status == SIRIX_OK ? read_state(walk, step->record.trie, before, err) : status;
}

static bool differs(const struct node_state *a, const struct node_state *b)
{
    return a->present != b->present ||
           !sirix_bytes_equal(sirix_buf_view(&a->record), sirix_buf_view(&b->record));
}

static enum sirix_status visit_step(const struct node_walk *walk, const struct sirix_step *step,
                                    bool deleted, sirix_node_history_fn visit, void *context,
                                    bool *stop, struct sirix_error *err)
{
    struct sirix_record record;
    enum sirix_status status = sirix_record_read(walk->reader, step->address, &record, err);

    return status == SIRIX_OK ? visit(context, &record, step->address, deleted, stop, err) : status;
}

enum sirix_status sirix_view_node_history(const struct sirix_view *view,
                                          struct sirix_reader *reader, uint64_t key,
                                          sirix_node_history_fn visit, void *context,
                                          struct sirix_error *err)
{
    const struct node_walk walk = {.resource = view->resource, .reader = reader, .key = key};
    struct sirix_step step = {.address = view->record_address, .record = view->record};
    struct node_state states[2] = {0};
    struct node_state *now = &states[0];
    struct node_state *before = &states[1];
    bool stop = false;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&states[0].record, SIZE_MAX);
    sirix_buf_init(&states[1].record, SIZE_MAX);
    status = read_state(&walk, step.record.trie, now, err);
    while (status == SIRIX_OK && !stop && key < step.record.next_key) {
        struct node_state *swap = now;
        struct sirix_step parent;

        status = to_first_with_leaf(&walk, &step, now, err);
        parent = step;
        if (status == SIRIX_OK) {
            status = to_parent(&walk, &parent, before, err);
        }
        if (status == SIRIX_OK && differs(now, before)) {
            status = visit_step(&walk, &step, !now->present, visit, context, &stop, err);
        }
        stop = stop || step.record.depth == 0;
        step = parent;
        now = before;
        before = swap;
    }
    sirix_buf_deinit(&states[0].record);
    sirix_buf_deinit(&states[1].record);
    return status;
}
