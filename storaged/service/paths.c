/*
 * The paths of one revision, with how often and as what each occurs: array places fold into "[]",
 * names of an object with many members into "*". The walk stops at a number of nodes; what was found
 * until then is given, flagged.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/map.h"
#include "service/catalogue.h"
#include "json/text.h"

enum { WALK_NODES_MAX = 1000000, CHECK_EVERY = 1024 };

struct paths {
    struct sirix_arena *arena;
    struct sirix_path_entry *entries;
    size_t count;
    size_t bytes;
    struct sirix_map index; /* Hash of a path to its entry + 1; collisions are probed. */
    struct sirix_hash_key key;
    bool truncated;
};

/* The path of each level of the walk: a length in one buffer, and whether its members fold. */
struct level {
    size_t len;
    bool folds;
};

static enum sirix_status add(struct paths *paths, struct sirix_bytes path,
                             enum sirix_value_kind kind, struct sirix_error *err)
{
    uint64_t hash = sirix_hash(&paths->key, path.data, path.len);
    uint64_t at = 0;

    while (sirix_map_get(&paths->index, hash, &at)) {
        struct sirix_path_entry *entry = &paths->entries[at];
        if (sirix_bytes_equal(entry->path, path)) {
            entry->count++;
            entry->kinds |= 1U << kind;
            return SIRIX_OK;
        }
        hash = sirix_mix64(hash + 1);
    }
    if (paths->count == SIRIX_PATHS_MAX || paths->bytes + path.len > SIRIX_PATHS_BYTES_MAX) {
        paths->truncated = true;
        return SIRIX_OK;
    }
    struct sirix_path_entry *entry = &paths->entries[paths->count];
    *entry = (struct sirix_path_entry){.count = 1, .kinds = 1U << kind};
    enum sirix_status status = sirix_arena_copy(paths->arena, path, &entry->path, err);
    if (status == SIRIX_OK) {
        status = sirix_map_put(&paths->index, hash, paths->count, err);
    }
    if (status == SIRIX_OK) {
        paths->count++;
        paths->bytes += path.len;
    }
    return status;
}

/* Appends "/name", with the escapes of a path. */
static enum sirix_status append_name(struct sirix_buf *path, struct sirix_bytes name,
                                     struct sirix_error *err)
{
    const char *text = name.data;

    enum sirix_status status = sirix_buf_append_u8(path, '/', err);
    for (size_t i = 0; status == SIRIX_OK && i < name.len; i++) {
        if (text[i] == '~') {
            status = sirix_buf_append_str(path, "~0", err);
        } else if (text[i] == '/') {
            status = sirix_buf_append_str(path, "~1", err);
        } else if (text[i] == '[' && i == 0) {
            status = sirix_buf_append_str(path, "~2", err);
        } else {
            status = sirix_buf_append_u8(path, (uint8_t)text[i], err);
        }
    }
    return status;
}

static enum sirix_status append_step(struct sirix_buf *path, const struct level *parent,
                                     const struct sirix_document_node *node,
                                     struct sirix_arena *scratch, struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    if (!node->is_member) {
        return sirix_buf_append_str(path, "/[]", err);
    }
    /* A name that lies out of line has over a kilobyte: it is no path that one asks for. */
    if (parent->folds || (node->name.len == 0 && node->long_name.len != 0)) {
        return sirix_buf_append_str(path, "/*", err);
    }
    enum sirix_status status = sirix_json_text_to_plain(scratch, node->name, &plain, err);
    return status == SIRIX_OK ? append_name(path, plain, err) : status;
}

/* What the walk holds. */
struct walking {
    struct sirix_walk *steps;
    struct paths *paths;
    struct level *levels;
    struct sirix_arena scratch;
    struct sirix_buf path;
};

/* One node; *out_over after the last. */
static enum sirix_status step(struct walking *walking, bool *out_over, struct sirix_error *err)
{
    struct sirix_document_node node;
    struct sirix_error end = {0};
    uint32_t depth = 0;

    enum sirix_status status = sirix_walk_next(walking->steps, &node, &depth, &end);
    *out_over = status == SIRIX_NOT_FOUND && end.reason == SIRIX_REASON_NONE;
    if (*out_over) {
        return SIRIX_OK;
    }
    if (status != SIRIX_OK) {
        if (err != NULL) {
            *err = end;
        }
        return status;
    }
    walking->path.len = depth == 0 ? 0 : walking->levels[depth - 1].len;
    if (depth != 0) {
        sirix_arena_reset(&walking->scratch);
        status =
            append_step(&walking->path, &walking->levels[depth - 1], &node, &walking->scratch, err);
    }
    walking->levels[depth] = (struct level){
        .len = walking->path.len,
        .folds = node.kind == SIRIX_NODE_OBJECT && node.child_count > SIRIX_PATHS_NAMES_MAX,
    };
    return status == SIRIX_OK ? add(walking->paths, sirix_buf_view(&walking->path),
                                    sirix_value_kind_of(node.kind), err)
                              : status;
}

static enum sirix_status walk(const struct sirix_request *request, struct sirix_walk *steps,
                              struct paths *paths, struct sirix_error *err)
{
    struct walking walking = {
        .steps = steps,
        .paths = paths,
        .levels = calloc(SIRIX_DOCUMENT_DEPTH_MAX + 2, sizeof(struct level)),
    };
    enum sirix_status status = SIRIX_OK;
    bool over = false;

    if (walking.levels == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate the levels of a walk");
    }
    sirix_arena_init(&walking.scratch, SIRIX_PATHS_BYTES_MAX);
    sirix_buf_init(&walking.path, SIRIX_PATHS_BYTES_MAX);
    for (uint64_t nodes = 0; status == SIRIX_OK && !over && nodes < WALK_NODES_MAX; nodes++) {
        if (nodes % CHECK_EVERY == 0) {
            status = sirix_cancel_check(request->cancel, err);
        }
        if (status == SIRIX_OK) {
            status = step(&walking, &over, err);
        }
    }
    paths->truncated = paths->truncated || !over;
    sirix_buf_deinit(&walking.path);
    sirix_arena_deinit(&walking.scratch);
    free(walking.levels);
    return status;
}

enum sirix_status sirix_paths_collect(const struct sirix_request *request,
                                      struct sirix_document *document, struct sirix_arena *arena,
                                      struct sirix_path_entry **out_paths, size_t *out_count,
                                      bool *out_truncated, struct sirix_error *err)
{
    struct paths paths = {.arena = arena};
    struct sirix_walk *steps = NULL;
    void *memory = NULL;
    bool has_value = false;

    enum sirix_status status = sirix_document_has_value(document, &has_value, err);
    if (status != SIRIX_OK || !has_value) {
        *out_count = 0;
        return status;
    }
    status = sirix_random_bytes(paths.key.bytes, sizeof(paths.key.bytes), err);
    if (status == SIRIX_OK) {
        status = sirix_arena_calloc(arena, SIRIX_PATHS_MAX, sizeof(struct sirix_path_entry),
                                    &memory, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_walk_new(document, 1, &steps, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    paths.entries = memory;
    sirix_map_init(&paths.index);
    status = walk(request, steps, &paths, err);
    sirix_map_deinit(&paths.index);
    sirix_walk_free(steps);
    if (status == SIRIX_OK) {
        *out_paths = paths.entries;
        *out_count = paths.count;
        *out_truncated = paths.truncated;
    }
    return status;
}
