#include "store/document/path_rows.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/endian.h"
#include "base/hash.h"
#include "store/revision/rows.h"

enum {
    ROW_KEY_BYTES = 9, /* After the prefix. */
    ROW_VALUE_BYTES = 12,
    ROOT_ID = 1,
    KINDS = SIRIX_NODE_NULL,
};

static uint64_t child_id(struct sirix_resource *resource, uint64_t parent, uint32_t step)
{
    struct sirix_hash_key key;
    uint8_t bytes[ROW_VALUE_BYTES];
    uint64_t id = 0;

    memcpy(key.bytes, sirix_resource_name_seed(resource)->bytes, sizeof(key.bytes));
    sirix_store_u64le(bytes, parent);
    sirix_store_u32le(bytes + 8, step);
    id = sirix_hash(&key, bytes, sizeof(bytes));
    return id > ROOT_ID ? id : id + 2;
}

static struct sirix_rows_key row_key(struct sirix_resource *resource, uint64_t id, uint32_t kind)
{
    struct sirix_rows_key key = sirix_rows_prefix_paths(sirix_resource_id(resource));

    sirix_store_u64be(key.bytes + key.len, id);
    key.bytes[key.len + 8] = (uint8_t)kind;
    key.len += ROW_KEY_BYTES;
    return key;
}

/* --- Reading --------------------------------------------------------------------------------------- */

/* A row as it was read; parents are found among the others afterwards. */
struct read_row {
    uint64_t id;
    uint64_t parent;
    uint32_t step;
    uint32_t kinds;
    uint32_t path; /* Where it went; NONE: not yet. */
};

struct reading {
    struct sirix_resource *resource;
    size_t prefix_len;
    struct read_row *rows;
    size_t count;
    size_t cap;
    bool coarse;
};

static enum sirix_status read_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    struct reading *reading = context;
    const uint8_t *at = (const uint8_t *)key.data + reading->prefix_len;
    struct read_row *row = NULL;
    uint64_t id = 0;

    *stop = false;
    if (key.len != reading->prefix_len + ROW_KEY_BYTES || value.len != ROW_VALUE_BYTES ||
        at[8] > KINDS) {
        return sirix_fail(err, SIRIX_CORRUPT, "a row of the paths of resource %s has a wrong form",
                          sirix_resource_name(reading->resource));
    }
    id = sirix_load_u64be(at);
    if (id == 0) {
        reading->coarse = true;
        return SIRIX_OK;
    }
    if (reading->count != 0 && reading->rows[reading->count - 1].id == id) {
        reading->rows[reading->count - 1].kinds |= UINT32_C(1) << at[8];
        return SIRIX_OK;
    }
    if (reading->count == reading->cap) {
        size_t cap = reading->cap == 0 ? 64 : reading->cap * 2;
        struct read_row *rows = realloc(reading->rows, cap * sizeof(*rows));
        if (rows == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu paths", cap);
        }
        reading->rows = rows;
        reading->cap = cap;
    }
    row = &reading->rows[reading->count++];
    row->id = id;
    row->parent = sirix_load_u64le(value.data);
    row->step = sirix_load_u32le((const uint8_t *)value.data + 8);
    row->kinds = UINT32_C(1) << at[8];
    row->path = SIRIX_PATH_NONE;
    return SIRIX_OK;
}

static enum sirix_status read_all(struct reading *reading, struct sirix_reader *reader,
                                  struct sirix_error *err)
{
    const struct sirix_rows_key prefix =
        sirix_rows_prefix_paths(sirix_resource_id(reading->resource));

    reading->prefix_len = prefix.len;
    return sirix_ref_scan(reader, sirix_rows_key_view(&prefix), (struct sirix_bytes){0}, false,
                          read_row, reading, err);
}

/* Rows stand in the order of their ids. */
static struct read_row *find_row(const struct reading *reading, uint64_t id)
{
    size_t low = 0;
    size_t high = reading->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (reading->rows[middle].id < id) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low < reading->count && reading->rows[low].id == id ? &reading->rows[low] : NULL;
}

/* The topmost row on the way up from row that is not in the summary yet, and the path above it. */
static enum sirix_status topmost(struct reading *reading, struct read_row *row,
                                 struct read_row **out_first, uint32_t *out_parent,
                                 struct sirix_error *err)
{
    for (size_t steps = 0; row->id != ROOT_ID; steps++) {
        struct read_row *above = find_row(reading, row->parent);
        if (above == NULL || steps > SIRIX_DOCUMENT_DEPTH_MAX) {
            return sirix_fail(err, SIRIX_CORRUPT, "a path of resource %s hangs in the air",
                              sirix_resource_name(reading->resource));
        }
        if (above->path != SIRIX_PATH_NONE) {
            *out_parent = above->path;
            break;
        }
        row = above;
    }
    *out_first = row;
    return SIRIX_OK;
}

/* Puts a row into the summary after those above it, up to the first that is there. */
static enum sirix_status place_row(struct reading *reading, struct sirix_path_summary *summary,
                                   struct read_row *row, struct sirix_error *err)
{
    while (row->path == SIRIX_PATH_NONE) {
        struct read_row *first = row;
        uint32_t parent = 0;
        enum sirix_status status = topmost(reading, row, &first, &parent, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (first->id == ROOT_ID) {
            status = sirix_path_summary_root(summary, err);
            first->path = 0;
        } else {
            status = sirix_path_summary_append(summary, parent, first->step, &first->path, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        summary->paths[first->path].kinds |= first->kinds;
        summary->paths[first->path].id = first->id;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_path_summary_read(struct sirix_resource *resource,
                                          struct sirix_reader *reader,
                                          struct sirix_path_summary *out_summary,
                                          struct sirix_error *err)
{
    struct reading reading = {.resource = resource};
    struct sirix_path_summary summary;
    enum sirix_status status = read_all(&reading, reader, err);

    sirix_path_summary_init(&summary);
    for (size_t i = 0; i < reading.count && status == SIRIX_OK; i++) {
        status = place_row(&reading, &summary, &reading.rows[i], err);
    }
    free(reading.rows);
    if (status != SIRIX_OK) {
        sirix_path_summary_deinit(&summary);
        return status;
    }
    summary.coarse = reading.coarse;
    *out_summary = summary;
    return SIRIX_OK;
}

/* --- Noting ---------------------------------------------------------------------------------------- */

enum sirix_status sirix_edit_path_of(struct sirix_edit *edit, uint64_t key, uint32_t *out_path,
                                     struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    uint32_t *steps = malloc((SIRIX_DOCUMENT_DEPTH_MAX + 1) * sizeof(*steps));
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (steps == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a path");
    }
    while (status == SIRIX_OK && key > 1) {
        struct sirix_document_node node = {0};
        status = sirix_rows_node(&rows, key, &node, err);
        if (status == SIRIX_OK && count > SIRIX_DOCUMENT_DEPTH_MAX) {
            status = sirix_fail(err, SIRIX_CORRUPT, "node %" PRIu64 " is nested without end", key);
        }
        if (status == SIRIX_OK && node.key > 1) {
            steps[count++] = sirix_path_step_of(sirix_node_listed(&node));
        }
        key = node.parent;
    }
    if (status == SIRIX_OK) {
        status = sirix_path_summary_root(&edit->paths, err);
    }
    *out_path = 0;
    while (status == SIRIX_OK && count != 0) {
        status = sirix_path_summary_add(&edit->paths, *out_path, steps[--count], out_path, err);
    }
    free(steps);
    return status;
}

enum sirix_status sirix_edit_paths_walk(struct sirix_edit *edit, uint64_t key,
                                        struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(edit);
    uint32_t *open = calloc(SIRIX_DOCUMENT_DEPTH_MAX + 2, sizeof(*open));
    struct sirix_walk *walk = NULL;
    struct sirix_document_node node = {0};
    uint32_t depth = 0;
    uint64_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (open == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a walk over paths");
    }
    status = sirix_edit_path_of(edit, key, &open[0], err);
    if (status == SIRIX_OK) {
        status = sirix_walk_new_rows(&rows, key, &walk, err);
    }
    while (status == SIRIX_OK && count++ < SIRIX_PATH_WALK_MAX) {
        status = sirix_edit_step(edit, err);
        if (status == SIRIX_OK) {
            status = sirix_walk_next(walk, &node, &depth, err);
        }
        if (status == SIRIX_OK && depth != 0) {
            status = sirix_path_summary_add(&edit->paths, open[depth - 1],
                                            sirix_path_step_of(sirix_node_listed(&node)),
                                            &open[depth], err);
        }
        if (status == SIRIX_OK) {
            sirix_path_summary_mark(&edit->paths, open[depth], node.kind);
        }
    }
    edit->paths.coarse = edit->paths.coarse || count > SIRIX_PATH_WALK_MAX;
    sirix_walk_free(walk);
    free(open);
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* --- Writing --------------------------------------------------------------------------------------- */

struct writing {
    struct sirix_edit *edit;
    uint64_t *ids; /* Of the edit's paths; 0: left out. */
    size_t count;
    bool loaded;
    struct reading stored; /* Everything, once something is new. */
    uint32_t added;
};

static enum sirix_status has_row(struct writing *w, uint64_t id, uint32_t kind, bool *out_has,
                                 struct sirix_error *err)
{
    const struct sirix_rows_key key = row_key(w->edit->base.resource, id, kind);
    struct sirix_bytes value = {0};
    enum sirix_status status =
        sirix_ref_get(w->edit->reader, sirix_rows_key_view(&key), &value, err);

    *out_has = status == SIRIX_OK;
    return status == SIRIX_NOT_FOUND ? SIRIX_OK : status;
}

/* Whether a path has any row; those of likely kinds are asked for first. */
static enum sirix_status is_known(struct writing *w, uint64_t id, uint32_t likely, bool *out_known,
                                  struct sirix_error *err)
{
    const uint32_t all = (UINT32_C(1) << (KINDS + 1)) - 2;
    const uint32_t rounds[] = {likely & all, ~likely & all};
    enum sirix_status status = SIRIX_OK;

    *out_known = false;
    for (int round = 0; round < 2; round++) {
        uint32_t kinds = rounds[round];
        for (; kinds != 0 && status == SIRIX_OK && !*out_known; kinds &= kinds - 1) {
            status = has_row(w, id, (uint32_t)__builtin_ctz(kinds), out_known, err);
        }
    }
    return status;
}

static enum sirix_status emit(struct writing *w, uint64_t id, uint32_t kind, uint64_t parent,
                              uint32_t step, struct sirix_error *err)
{
    const struct sirix_rows_key key = row_key(w->edit->base.resource, id, kind);
    struct sirix_buf *bytes = &w->edit->extra_bytes;
    enum sirix_status status = sirix_buf_append(bytes, key.bytes, key.len, err);

    if (status == SIRIX_OK) {
        status = sirix_buf_append_u64le(bytes, parent, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_buf_append_u32le(bytes, step, err);
    }
    w->count++;
    return status;
}

static uint32_t stored_children(const struct writing *w, uint64_t parent)
{
    uint32_t count = 0;

    for (size_t i = 0; i < w->stored.count; i++) {
        count += w->stored.rows[i].parent == parent && w->stored.rows[i].id != ROOT_ID ? 1 : 0;
    }
    return count;
}

/*
 * The id under which a path of the edit is stored: its own; that of `*` beside it, where the parent
 * has too many names; 0 where there are too many paths.
 */
static enum sirix_status choose_id(struct writing *w, uint64_t parent, uint32_t likely,
                                   uint32_t *step, uint64_t *out_id, struct sirix_error *err)
{
    struct sirix_resource *resource = w->edit->base.resource;
    bool known = false;
    enum sirix_status status = SIRIX_OK;

    *out_id = child_id(resource, parent, *step);
    status = is_known(w, *out_id, likely, &known, err);
    if (status != SIRIX_OK || known) {
        return status;
    }
    if (!w->loaded) {
        w->stored.resource = resource;
        status = read_all(&w->stored, w->edit->reader, err);
        w->loaded = status == SIRIX_OK;
    }
    if (status == SIRIX_OK && stored_children(w, parent) >= SIRIX_PATH_NAMES_MAX) {
        *step = SIRIX_PATH_STEP_ANY;
        *out_id = child_id(resource, parent, *step);
        status = is_known(w, *out_id, likely, &known, err);
    }
    if (status == SIRIX_OK && !known && w->stored.count + w->added >= SIRIX_PATHS_MAX) {
        w->edit->paths.coarse = true;
        *out_id = 0;
    } else if (!known) {
        w->added++;
    }
    return status;
}

static enum sirix_status write_path(struct writing *w, uint32_t index, struct sirix_error *err)
{
    const struct sirix_path *path = &w->edit->paths.paths[index];
    uint64_t parent = index == 0 ? 0 : w->ids[path->parent];
    uint32_t step = path->step;
    enum sirix_status status = SIRIX_OK;

    w->ids[index] = ROOT_ID;
    if (index != 0) {
        w->ids[index] = 0;
        if (parent == 0) {
            return SIRIX_OK;
        }
        status = choose_id(w, parent, path->kinds, &step, &w->ids[index], err);
    }
    for (uint32_t kind = SIRIX_NODE_OBJECT;
         kind <= KINDS && status == SIRIX_OK && w->ids[index] != 0; kind++) {
        bool has = false;
        if ((path->kinds >> kind & 1) == 0) {
            continue;
        }
        status = has_row(w, w->ids[index], kind, &has, err);
        if (status == SIRIX_OK && !has) {
            status = emit(w, w->ids[index], kind, parent, step, err);
        }
    }
    return status;
}

/* Bytes were appended one row after another; now that they stay where they are, refs point to them. */
static enum sirix_status point_refs(struct writing *w, struct sirix_error *err)
{
    struct sirix_edit *edit = w->edit;
    size_t key_len = row_key(edit->base.resource, 0, 0).len;

    edit->extra_refs = calloc(w->count + 1, sizeof(*edit->extra_refs));
    if (edit->extra_refs == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu path rows", w->count);
    }
    for (size_t i = 0; i < w->count; i++) {
        const uint8_t *at = edit->extra_bytes.data + i * (key_len + ROW_VALUE_BYTES);
        edit->extra_refs[i].key = (struct sirix_bytes){.data = at, .len = key_len};
        edit->extra_refs[i].value =
            (struct sirix_bytes){.data = at + key_len, .len = ROW_VALUE_BYTES};
    }
    return SIRIX_OK;
}

enum sirix_status sirix_edit_paths_rows(struct sirix_edit *edit, size_t *out_count,
                                        struct sirix_error *err)
{
    struct writing w = {.edit = edit};
    bool has = false;
    enum sirix_status status = SIRIX_OK;

    *out_count = 0;
    if (edit->paths.count == 0 && !edit->paths.coarse) {
        return SIRIX_OK;
    }
    w.ids = calloc(edit->paths.count + 1, sizeof(*w.ids));
    if (w.ids == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %u paths", edit->paths.count);
    }
    for (uint32_t i = 0; i < edit->paths.count && status == SIRIX_OK; i++) {
        status = write_path(&w, i, err);
    }
    if (status == SIRIX_OK && edit->paths.coarse) {
        status = has_row(&w, 0, 0, &has, err);
        if (status == SIRIX_OK && !has) {
            status = emit(&w, 0, 0, 0, 0, err);
        }
    }
    if (status == SIRIX_OK) {
        status = point_refs(&w, err);
    }
    if (status == SIRIX_OK) {
        *out_count = w.count;
    }
    free(w.ids);
    free(w.stored.rows);
    return status;
}
