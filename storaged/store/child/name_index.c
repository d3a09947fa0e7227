/* Name indexes: hashing, finding, changing. A pair (hash, key) is an item whose label is the pair. */
#include "store/child/name_index.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "store/child/child_nodes.h"

/* What makes the second half of the 128-bit hash another function than the first. */
enum { SECOND_HALF = 0xa5 };

struct sirix_name_hash sirix_name_hash(const struct sirix_name_seed *seed, struct sirix_bytes name)
{
    struct sirix_hash_key key;
    struct sirix_name_hash hash;

    memcpy(key.bytes, seed->bytes, sizeof(key.bytes));
    hash.high = sirix_hash(&key, name.data, name.len);
    for (size_t i = 0; i < sizeof(key.bytes); i++) {
        key.bytes[i] ^= SECOND_HALF;
    }
    hash.low = sirix_hash(&key, name.data, name.len);
    return hash;
}

static struct sirix_child_item item_of(uint32_t hash, uint64_t key)
{
    return (struct sirix_child_item){
        .key = key,
        .label = {.major = (int64_t)hash, .minor = key},
        .order = SIRIX_ORDER_EXPLICIT,
    };
}

/* --- Finding ------------------------------------------------------------------------------------ */

/* A walk over the leaves from the first pair >= (hash, 0) on. */
struct find {
    uint32_t depth; /* Open pages. */
    uint32_t positions[SIRIX_CHILD_HEIGHT_MAX];
    struct sirix_child_page pages[SIRIX_CHILD_HEIGHT_MAX];
};

/* Opens pages from address down to a leaf, each where label begins. */
static enum sirix_status descend(struct find *find, struct sirix_reader *reader, uint64_t address,
                                 uint32_t level, struct sirix_label label, struct sirix_error *err)
{
    struct sirix_child_page *page = NULL;
    enum sirix_status status = SIRIX_OK;

    do {
        int position = 0;

        page = &find->pages[find->depth];
        status = sirix_child_page_load(reader, SIRIX_CHILD_KIND_NAMES, address, level, page, err);
        if (status != SIRIX_OK) {
            break;
        }
        position = sirix_child_page_seek(page, label);
        /* No pair has key 0: in a leaf the pairs sought stand right of the label (hash, 0). */
        if (page->level == 0) {
            position += 1;
        } else {
            position = position < 0 ? 0 : position;
            address = page->entries[position].address;
            level = page->level - 1;
        }
        find->positions[find->depth] = (uint32_t)position;
        find->depth += 1;
    } while (page->level != 0);
    return status;
}

/* Closes pages that are at their end and goes on in the next leaf; depth 0 at the end of the tree. */
static enum sirix_status next_leaf(struct find *find, struct sirix_reader *reader,
                                   struct sirix_label label, struct sirix_error *err)
{
    struct sirix_child_page *page = NULL;

    do {
        find->depth -= 1;
        if (find->depth == 0) {
            return SIRIX_OK;
        }
        page = &find->pages[find->depth - 1];
        find->positions[find->depth - 1] += 1;
    } while (find->positions[find->depth - 1] == page->count);
    return descend(find, reader, page->entries[find->positions[find->depth - 1]].address,
                   page->level - 1, label, err);
}

/* Visits pairs from where find stands; in the deepest open page, a leaf. */
static enum sirix_status visit_pairs(struct find *find, struct sirix_reader *reader, uint32_t hash,
                                     sirix_name_candidate_fn visit, void *context,
                                     struct sirix_error *err)
{
    const struct sirix_label label = {.major = (int64_t)hash};
    enum sirix_status status = SIRIX_OK;
    bool stop = false;

    while (status == SIRIX_OK && !stop && find->depth != 0) {
        const struct sirix_child_page *leaf = &find->pages[find->depth - 1];
        uint32_t *position = &find->positions[find->depth - 1];

        if (*position == leaf->count) {
            status = next_leaf(find, reader, label, err);
            continue;
        }
        if (leaf->items[*position].label.major != (int64_t)hash) {
            break;
        }
        status = visit(context, leaf->items[*position].key, &stop, err);
        *position += 1;
    }
    return status;
}

enum sirix_status sirix_name_index_find(struct sirix_reader *reader, uint64_t root, uint32_t hash,
                                        sirix_name_candidate_fn visit, void *context,
                                        struct sirix_error *err)
{
    const struct sirix_label label = {.major = (int64_t)hash};
    struct find find;
    enum sirix_status status = SIRIX_OK;

    if (root == 0) {
        return SIRIX_OK;
    }
    find.depth = 0;
    status = descend(&find, reader, root, SIRIX_CHILD_LEVEL_ANY, label, err);
    if (status == SIRIX_OK) {
        status = visit_pairs(&find, reader, hash, visit, context, err);
    }
    return status;
}

/* --- Changing ----------------------------------------------------------------------------------- */

struct sirix_name_edit {
    struct sirix_child_nodes nodes;
};

enum sirix_status sirix_name_edit_new(struct sirix_reader *reader, uint64_t root,
                                      struct sirix_name_edit **out_edit, struct sirix_error *err)
{
    struct sirix_name_edit *edit = calloc(1, sizeof(*edit));
    enum sirix_status status = SIRIX_OK;

    if (edit == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a name index's changes");
    }
    status = sirix_child_nodes_init(&edit->nodes, reader, SIRIX_CHILD_KIND_NAMES, root, err);
    if (status != SIRIX_OK) {
        free(edit);
        return status;
    }
    *out_edit = edit;
    return SIRIX_OK;
}

void sirix_name_edit_free(struct sirix_name_edit *edit)
{
    if (edit != NULL) {
        sirix_child_nodes_deinit(&edit->nodes);
        free(edit);
    }
}

enum sirix_status sirix_name_edit_find(struct sirix_name_edit *edit, uint32_t hash,
                                       sirix_name_candidate_fn visit, void *context,
                                       struct sirix_error *err)
{
    struct sirix_child_nodes *nodes = &edit->nodes;
    const struct sirix_child_item from = item_of(hash, 0);
    struct sirix_child_path path;
    enum sirix_status status = SIRIX_OK;
    uint64_t index = 0;
    bool stop = false;

    if (nodes->root == NULL) {
        return SIRIX_OK;
    }
    status = sirix_child_nodes_seek_label(nodes, from.label, &path, &index, err);
    for (; status == SIRIX_OK && !stop && index < nodes->count; index++) {
        const struct sirix_child_page *leaf = &path.nodes[0]->page;

        if (path.positions[0] == leaf->count) {
            status = sirix_child_nodes_seek_item(nodes, index, &path, err);
            leaf = &path.nodes[0]->page;
        }
        if (status != SIRIX_OK) {
            break;
        }
        if (leaf->items[path.positions[0]].label.major != (int64_t)hash) {
            break;
        }
        status = visit(context, leaf->items[path.positions[0]].key, &stop, err);
        path.positions[0] += 1;
    }
    return status;
}

enum sirix_status sirix_name_edit_insert(struct sirix_name_edit *edit, uint32_t hash, uint64_t key,
                                         struct sirix_error *err)
{
    struct sirix_child_nodes *nodes = &edit->nodes;
    const struct sirix_child_item item = item_of(hash, key);
    struct sirix_child_path path;
    const struct sirix_child_path *way = NULL; /* Stays NULL for an empty index. */
    uint64_t index = 0;
    enum sirix_status status = SIRIX_OK;

    assert(key != 0 && key <= INT64_MAX);
    if (nodes->root != NULL) {
        status = sirix_child_nodes_seek_label(nodes, item.label, &path, &index, err);
        way = &path;
    }
    if (status == SIRIX_OK) {
        status = sirix_child_nodes_reserve(nodes, way, err);
    }
    if (status == SIRIX_OK) {
        sirix_child_nodes_insert(nodes, way, &item, SIRIX_CHILD_RUN_NONE);
    }
    return status;
}

enum sirix_status sirix_name_edit_remove(struct sirix_name_edit *edit, uint32_t hash, uint64_t key,
                                         struct sirix_error *err)
{
    struct sirix_child_nodes *nodes = &edit->nodes;
    const struct sirix_child_item item = item_of(hash, key);
    struct sirix_child_path path;
    uint64_t index = 0;
    enum sirix_status status = nodes->root == NULL ? SIRIX_NOT_FOUND : SIRIX_OK;

    if (status == SIRIX_OK) {
        status = sirix_child_nodes_seek_label(nodes, item.label, &path, &index, err);
    }
    if (status == SIRIX_OK) {
        uint32_t position = path.positions[0];

        if (position == 0 ||
            sirix_label_compare(path.nodes[0]->page.items[position - 1].label, item.label) != 0) {
            return SIRIX_NOT_FOUND;
        }
        path.positions[0] -= 1;
        status = sirix_child_nodes_remove(nodes, &path, err);
    }
    return status;
}

enum sirix_status sirix_name_edit_write(struct sirix_name_edit *edit,
                                        struct sirix_page_writer *writer, uint64_t *out_root,
                                        struct sirix_error *err)
{
    return sirix_child_nodes_write(&edit->nodes, writer, out_root, err);
}
