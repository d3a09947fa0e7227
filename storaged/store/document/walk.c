/*
 * Pre-order walk with a stack of its own: a frame an open container, O(depth) memory.
 */
#include <stdlib.h>

#include "store/document/document.h"
#include "store/document/rows.h"

enum { FRAMES_MIN = 8 };

struct sirix_walk {
    struct sirix_rows rows;
    uint64_t start;
    bool started;
    bool descend; /* The node given last is a container whose children come next. */
    struct sirix_document_node last;
    uint64_t *parents; /* What callers call the container of each frame. */
    struct sirix_siblings *frames;
    uint32_t depth; /* Frames in use. */
    uint32_t cap;
};

enum sirix_status sirix_walk_new_rows(const struct sirix_rows *rows, uint64_t key,
                                      struct sirix_walk **out_walk, struct sirix_error *err)
{
    struct sirix_walk *walk = calloc(1, sizeof(*walk));

    if (walk == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a walk");
    }
    walk->rows = *rows;
    walk->start = key;
    *out_walk = walk;
    return SIRIX_OK;
}

enum sirix_status sirix_walk_new(struct sirix_document *document, uint64_t key,
                                 struct sirix_walk **out_walk, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_document(document);

    return sirix_walk_new_rows(&rows, key, out_walk, err);
}

void sirix_walk_free(struct sirix_walk *walk)
{
    if (walk == NULL) {
        return;
    }
    free(walk->frames);
    free(walk->parents);
    free(walk);
}

static enum sirix_status grow(struct sirix_walk *walk, struct sirix_error *err)
{
    uint32_t cap = walk->cap == 0 ? FRAMES_MIN : walk->cap * 2;
    struct sirix_siblings *frames = realloc(walk->frames, cap * sizeof(*frames));
    uint64_t *parents = NULL;

    if (frames != NULL) {
        walk->frames = frames;
        parents = realloc(walk->parents, cap * sizeof(*parents));
    }
    if (parents == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a walk of %u levels", cap);
    }
    walk->parents = parents;
    walk->cap = cap;
    return SIRIX_OK;
}

/*
 * Opens the children of the node given last. Its row was a slice then: it is read again, because the
 * reader may have yielded in between.
 */
static enum sirix_status descend(struct sirix_walk *walk, struct sirix_error *err)
{
    struct sirix_document_node node = {0};
    struct sirix_list list = {0};
    enum sirix_status status = SIRIX_OK;

    walk->descend = false;
    /* Levels of names that a damaged store may chain without end. */
    if (walk->depth > SIRIX_DOCUMENT_DEPTH_MAX) {
        return sirix_fail(err, SIRIX_CORRUPT, "the document is nested deeper than %d levels",
                          SIRIX_DOCUMENT_DEPTH_MAX);
    }
    if (walk->depth == walk->cap) {
        status = grow(walk, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_node(&walk->rows, walk->last.key, &node, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_list_of(&walk->rows, &node, &list, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_siblings_init(&walk->frames[walk->depth], &walk->rows, &list, 0, err);
    }
    if (status == SIRIX_OK) {
        walk->parents[walk->depth++] = walk->last.key;
    }
    return status;
}

/* The next child of the innermost container that has one left. */
static enum sirix_status next_key(struct sirix_walk *walk, uint64_t *out_key,
                                  struct sirix_error *err)
{
    while (walk->depth != 0) {
        enum sirix_status status =
            sirix_siblings_next(&walk->frames[walk->depth - 1], out_key, err);
        if (status != SIRIX_NOT_FOUND) {
            return status;
        }
        walk->depth--;
    }
    return SIRIX_NOT_FOUND;
}

enum sirix_status sirix_walk_next(struct sirix_walk *walk, struct sirix_document_node *out_node,
                                  uint32_t *out_depth, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;
    uint64_t key = 0;

    if (!walk->started) {
        status = sirix_rows_node(&walk->rows, walk->start, &walk->last, err);
        walk->started = status == SIRIX_OK;
    } else {
        if (walk->descend) {
            status = descend(walk, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        status = next_key(walk, &key, err);
        if (status == SIRIX_OK) {
            status = sirix_rows_child(&walk->rows, key, &walk->last, err);
            walk->last.parent = walk->parents[walk->depth - 1];
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    walk->descend = walk->last.child_count != 0;
    *out_node = walk->last;
    *out_depth = walk->depth;
    return SIRIX_OK;
}
