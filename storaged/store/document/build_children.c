/*
 * Children of open containers: their keys, the names of members, and duplicates among these.
 */
#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/endian.h"
#include "store/document/build.h"

enum { STACK_MIN = 256, TAKEN_MIN = 8 };

/* A token is the id of an interned name, or this bit and the place of its hash in the frame's part. */
#define TOKEN_HASH UINT32_C(0x80000000)

/* --- Keys and rows --------------------------------------------------------------------------------- */

enum sirix_status sirix_build_note_taken(struct sirix_build *build, uint64_t first, uint64_t last,
                                         struct sirix_error *err)
{
    if (build->taken_count != 0 && build->taken[build->taken_count - 1].last + 1 == first) {
        build->taken[build->taken_count - 1].last = last;
        return SIRIX_OK;
    }
    if (build->taken_count == build->taken_cap) {
        size_t cap = build->taken_cap == 0 ? TAKEN_MIN : build->taken_cap * 2;
        struct sirix_key_range *taken = realloc(build->taken, cap * sizeof(*taken));
        if (taken == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu key ranges", cap);
        }
        build->taken = taken;
        build->taken_cap = cap;
    }
    build->taken[build->taken_count++] = (struct sirix_key_range){.first = first, .last = last};
    return SIRIX_OK;
}

/* Keys of a bulk build rise without end: its pages are written in their order. */
static enum sirix_status take_bulk_run(struct sirix_build *build, uint32_t count, uint64_t *out_key,
                                       struct sirix_error *err)
{
    struct sirix_edit_keys *keys = &build->edit->keys;
    uint64_t before = keys->max;
    enum sirix_status status = SIRIX_OK;

    keys->run_keys = build->bulk_run;
    status = sirix_edit_take_keys(build->edit, count, out_key, err);
    keys->run_keys = SIRIX_EDIT_RUN_KEYS_MIN;
    if (build->bulk_run < SIRIX_BUILD_BULK_RUN_MAX) {
        build->bulk_run *= 2;
    }
    if (status == SIRIX_OK && *out_key <= before) {
        return sirix_fail(err, SIRIX_INTERNAL, "key %" PRIu64 " was given after %" PRIu64, *out_key,
                          before);
    }
    return status;
}

enum sirix_status sirix_build_take_keys(struct sirix_build *build, uint32_t count,
                                        uint64_t *out_key, struct sirix_error *err)
{
    struct sirix_edit_keys *keys = &build->edit->keys;
    enum sirix_status status = SIRIX_OK;
    uint64_t key = keys->next;

    if (build->bulk == NULL) {
        status = sirix_edit_take_keys(build->edit, count, &key, err);
        if (status == SIRIX_OK) {
            status = sirix_build_note_taken(build, key, key + count - 1, err);
        }
    } else {
        if (keys->end - key < count ||
            (count == 2 && !keys->straddle && key % SIRIX_LEAF_KEYS == SIRIX_LEAF_KEYS - 1)) {
            status = take_bulk_run(build, count, &key, err);
        } else {
            keys->next += count;
            keys->max = key + count - 1;
        }
        if (status == SIRIX_OK && key / SIRIX_LEAF_KEYS != build->bulk_settled) {
            build->bulk_settled = key / SIRIX_LEAF_KEYS;
            status =
                sirix_trie_bulk_settle(build->bulk, build->bulk_settled * SIRIX_LEAF_KEYS, err);
        }
    }
    if (status == SIRIX_OK) {
        *out_key = key;
    }
    return status;
}

enum sirix_status sirix_build_put(struct sirix_build *build, const struct sirix_node *node,
                                  struct sirix_error *err)
{
    struct sirix_edit *edit = build->edit;
    enum sirix_status status = SIRIX_OK;

    if (build->bulk == NULL || node->key < build->bulk_first) {
        return sirix_edit_put(edit, node, err);
    }
    status = sirix_edit_step(edit, err);
    return status == SIRIX_OK ? sirix_trie_bulk_put_node(build->bulk, node, err) : status;
}

/* --- The child list -------------------------------------------------------------------------------- */

static enum sirix_status push_key(struct sirix_build *build, uint64_t key, uint32_t token,
                                  struct sirix_error *err)
{
    if (build->key_count == build->key_cap) {
        size_t cap = build->key_cap == 0 ? STACK_MIN : build->key_cap * 2;
        uint64_t *keys = realloc(build->keys, cap * sizeof(*keys));
        uint32_t *tokens = NULL;
        if (keys != NULL) {
            build->keys = keys;
            tokens = realloc(build->tokens, cap * sizeof(*tokens));
        }
        if (tokens == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu children", cap);
        }
        build->tokens = tokens;
        build->key_cap = cap;
    }
    build->keys[build->key_count] = key;
    build->tokens[build->key_count++] = token;
    return SIRIX_OK;
}

static bool is_members(const struct sirix_build *build, const struct sirix_build_frame *frame)
{
    return build->options.form == SIRIX_BUILD_MEMBERS && frame == build->frames;
}

enum sirix_status sirix_build_token_hash(struct sirix_build *build,
                                         const struct sirix_build_frame *frame, uint32_t token,
                                         struct sirix_name_hash *out_hash, struct sirix_error *err)
{
    struct sirix_resource *resource = build->edit->base.resource;
    struct sirix_bytes name = {0};
    enum sirix_status status = SIRIX_OK;

    if ((token & TOKEN_HASH) != 0) {
        *out_hash = build->hashes[frame->hashes_base + (token & ~TOKEN_HASH)];
        return SIRIX_OK;
    }
    status = sirix_names_get(resource, token, &name, err);
    if (status == SIRIX_OK) {
        *out_hash = sirix_name_hash(sirix_resource_name_seed(resource), name);
    }
    return status;
}

/* Starts the set of a large object's members with those that it has. */
static enum sirix_status start_seen(struct sirix_build *build, struct sirix_build_frame *frame,
                                    struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    frame->seen = malloc(sizeof(*frame->seen));
    if (frame->seen == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a set of names");
    }
    sirix_map_init(frame->seen);
    for (uint64_t i = 0; i < frame->count && status == SIRIX_OK; i++) {
        struct sirix_name_hash hash = {0};
        status =
            sirix_build_token_hash(build, frame, build->tokens[frame->keys_base + i], &hash, err);
        if (status == SIRIX_OK) {
            status = sirix_map_put(frame->seen, hash.high, build->keys[frame->keys_base + i], err);
        }
    }
    return status;
}

/* Adds a child at the end of a small build's child tree. */
static enum sirix_status open_append(struct sirix_build *build, struct sirix_build_frame *frame,
                                     struct sirix_node *child, uint32_t token,
                                     struct sirix_error *err)
{
    struct sirix_name_hash hash = {0};
    enum sirix_status status = SIRIX_OK;

    if (frame->is_object) {
        status = sirix_build_token_hash(build, frame, token, &hash, err);
    }
    return status == SIRIX_OK
               ? sirix_open_list_insert(build->edit, frame->open,
                                        sirix_child_edit_count(frame->open->children), child,
                                        sirix_name_hash_stored(hash), err)
               : status;
}

/* The 65th child: those before it move into a child tree. */
static enum sirix_status promote(struct sirix_build *build, struct sirix_build_frame *frame,
                                 struct sirix_error *err)
{
    const struct sirix_node container = {
        .key = frame->container,
        .kind = frame->is_object ? SIRIX_NODE_OBJECT : SIRIX_NODE_ARRAY,
    };
    enum sirix_status status = SIRIX_OK;

    if (frame->is_object && build->bulk == NULL) {
        status = start_seen(build, frame, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (build->bulk != NULL) {
        status = sirix_build_bulk_promote(build, frame, err);
    } else {
        status = sirix_open_list_new(build->edit, &container, &frame->open, err);
        for (uint64_t i = 0; i < frame->count && status == SIRIX_OK; i++) {
            struct sirix_node child = {.key = build->keys[frame->keys_base + i]};
            status = open_append(build, frame, &child, build->tokens[frame->keys_base + i], err);
            /* Keys rise here, so that every label is the default one, which no row has to say. */
            assert(status != SIRIX_OK || child.order == SIRIX_ORDER_KEY);
        }
    }
    build->key_count = frame->keys_base;
    return status;
}

/* A child past the 64 that are kept here. */
static enum sirix_status add_to_large(struct sirix_build *build, struct sirix_build_frame *frame,
                                      uint64_t key, uint32_t token, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (frame->count == SIRIX_NODE_CHILDREN_INLINE_MAX) {
        status =
            is_members(build, frame) ? start_seen(build, frame, err) : promote(build, frame, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (frame->open != NULL) {
        status = open_append(build, frame, &build->child, token, err);
    } else if (frame->bulk != NULL) {
        status = sirix_build_bulk_append(build, frame, key, token, err);
    } else {
        status = push_key(build, key, token, err);
    }
    frame->count++;
    if (status == SIRIX_OK && frame->seen != NULL) {
        struct sirix_name_hash hash = {0};
        status = sirix_build_token_hash(build, frame, token, &hash, err);
        if (status == SIRIX_OK) {
            status = sirix_map_put(frame->seen, hash.high, key, err);
        }
    }
    /* Hashes are only kept for members whose tokens are compared. */
    if (frame->seen != NULL || frame->names != NULL) {
        build->hash_count = frame->hashes_base;
    }
    return status;
}

enum sirix_status sirix_build_add_child(struct sirix_build *build, uint64_t key, uint32_t token,
                                        struct sirix_error *err)
{
    struct sirix_build_frame *frame = &build->frames[build->depth - 1];

    build->child.order = SIRIX_ORDER_KEY;
    build->child.label = (struct sirix_label){0};
    build->text_bytes += frame->count != 0 ? 1 : 0;
    if (frame->count >= SIRIX_NODE_CHILDREN_INLINE_MAX) {
        return add_to_large(build, frame, key, token, err);
    }
    frame->count++;
    return push_key(build, key, token, err);
}

enum sirix_status sirix_build_children(struct sirix_build *build, struct sirix_node *node,
                                       struct sirix_buf *deltas, struct sirix_error *err)
{
    struct sirix_build_frame *frame = &build->frames[build->depth - 1];
    enum sirix_status status = SIRIX_OK;

    node->child_count = frame->count;
    if (frame->open != NULL) {
        sirix_open_list_mark(node, frame->open);
        return SIRIX_OK;
    }
    if (frame->bulk != NULL) {
        struct sirix_page_writer *pages = NULL;
        node->child_tree = true;
        status = sirix_edit_early(build->edit, &pages, err);
        if (status == SIRIX_OK) {
            status = sirix_child_bulk_finish(frame->bulk, &node->child_tree_address, err);
        }
        if (status == SIRIX_OK && frame->names != NULL) {
            status = sirix_name_bulk_finish(frame->names, pages, &node->name_index_address, err);
        }
        return status;
    }
    if (frame->count == 0) {
        return SIRIX_OK;
    }
    status = sirix_node_children_encode(node->key, build->keys + frame->keys_base,
                                        (size_t)frame->count, deltas, err);
    node->children = sirix_buf_view(deltas);
    return status;
}

/* --- Names ----------------------------------------------------------------------------------------- */

static uint64_t quick_hash(struct sirix_bytes name)
{
    const uint8_t *at = name.data;
    uint64_t hash = name.len * UINT64_C(0x9e3779b97f4a7c15);
    size_t i = 0;

    for (; i + 8 <= name.len; i += 8) {
        hash = (hash ^ sirix_load_u64le(at + i)) * UINT64_C(0xff51afd7ed558ccd);
        hash ^= hash >> 32;
    }
    for (uint64_t tail = 0, shift = 0; i < name.len; i++, shift += 8) {
        tail |= (uint64_t)at[i] << shift;
        if (i + 1 == name.len) {
            hash = (hash ^ tail) * UINT64_C(0xff51afd7ed558ccd);
        }
    }
    return hash ^ hash >> 29;
}

static enum sirix_status push_hash(struct sirix_build *build, struct sirix_name_hash hash,
                                   struct sirix_error *err)
{
    if (build->hash_count == build->hash_cap) {
        size_t cap = build->hash_cap == 0 ? STACK_MIN : build->hash_cap * 2;
        struct sirix_name_hash *hashes = realloc(build->hashes, cap * sizeof(*hashes));
        if (hashes == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu names", cap);
        }
        build->hashes = hashes;
        build->hash_cap = cap;
    }
    build->hashes[build->hash_count++] = hash;
    return SIRIX_OK;
}

/* A name without an id: kept for the row, and as a hash for comparing. */
static enum sirix_status keep_name(struct sirix_build *build, struct sirix_bytes name,
                                   bool has_escapes, uint32_t *out_token, struct sirix_error *err)
{
    const struct sirix_build_frame *frame = &build->frames[build->depth - 1];
    struct sirix_text text = {.len = name.len};
    size_t place = build->hash_count - frame->hashes_base;
    enum sirix_status status = push_hash(
        build, sirix_name_hash(sirix_resource_name_seed(build->edit->base.resource), name), err);

    if (status == SIRIX_OK && name.len > SIRIX_TEXT_INLINE_MAX) {
        status = sirix_edit_early_text(build->edit, name, build->bulk == NULL, &text, err);
    } else if (status == SIRIX_OK) {
        sirix_buf_clear(&build->child_name);
        status = sirix_buf_append_bytes(&build->child_name, name, err);
        text.bytes = sirix_buf_view(&build->child_name);
    }
    if (status == SIRIX_OK) {
        text.escaped = has_escapes;
        build->child.name_interned = false;
        build->child.name = text;
        *out_token = TOKEN_HASH | (uint32_t)place;
    }
    return status;
}

static void set_interned(struct sirix_build *build, uint32_t id)
{
    build->child.name_interned = true;
    build->child.name_id = id;
    build->child.name.bytes.len = 0;
}

/* Members mostly come in the order in which they came before: whether this is the one that is due. */
static bool is_expected(const struct sirix_build *build, struct sirix_bytes name, uint32_t *out_id)
{
    const struct sirix_path *paths = build->paths.paths;
    uint32_t parent = build->frames[build->depth - 1].path;
    uint32_t path = parent == SIRIX_PATH_NONE ? SIRIX_PATH_NONE : paths[parent].hint;

    if (path == SIRIX_PATH_NONE || paths[path].name.data == NULL ||
        !sirix_bytes_equal(paths[path].name, name)) {
        return false;
    }
    *out_id = paths[path].step;
    return true;
}

static enum sirix_status intern(struct sirix_build *build, struct sirix_bytes name,
                                bool has_escapes, uint32_t *out_token, struct sirix_bytes *out_kept,
                                struct sirix_error *err)
{
    struct sirix_edit *edit = build->edit;
    struct sirix_build_name *slot = NULL;
    uint64_t hash = 0;
    uint32_t id = 0;
    bool is_interned = false;
    enum sirix_status status = SIRIX_OK;

    if (name.len > SIRIX_NAME_INTERNED_BYTES_MAX) {
        return keep_name(build, name, has_escapes, out_token, err);
    }
    hash = quick_hash(name);
    slot = &build->names[hash % SIRIX_BUILD_NAME_SLOTS];
    if (slot->hash != hash || slot->name.data == NULL || !sirix_bytes_equal(slot->name, name)) {
        struct sirix_bytes kept = {0};
        status = sirix_names_intern(edit->base.resource, name, &is_interned, &id, err);
        if (status == SIRIX_OK && !is_interned) {
            return keep_name(build, name, has_escapes, out_token, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_names_get(edit->base.resource, id, &kept, err);
        }
        if (status != SIRIX_OK) {
            return status;
        }
        edit->names_used[id / 64] |= UINT64_C(1) << (id % 64);
        *slot = (struct sirix_build_name){.hash = hash, .name = kept, .id = id};
    }
    set_interned(build, slot->id);
    *out_token = slot->id;
    *out_kept = slot->name;
    return SIRIX_OK;
}

/* --- Duplicates ------------------------------------------------------------------------------------ */

static bool same_token(const struct sirix_build *build, const struct sirix_build_frame *frame,
                       uint32_t a, uint32_t b)
{
    const struct sirix_name_hash *hash_a = NULL;
    const struct sirix_name_hash *hash_b = NULL;

    if ((a & b & TOKEN_HASH) == 0) {
        return a == b;
    }
    hash_a = &build->hashes[frame->hashes_base + (a & ~TOKEN_HASH)];
    hash_b = &build->hashes[frame->hashes_base + (b & ~TOKEN_HASH)];
    return hash_a->high == hash_b->high && hash_a->low == hash_b->low;
}

/* One of 64 bits for a token; equal names have the same one. */
static uint64_t token_bit(const struct sirix_build *build, const struct sirix_build_frame *frame,
                          uint32_t token)
{
    uint64_t spread = token;

    if ((token & TOKEN_HASH) != 0) {
        spread = build->hashes[frame->hashes_base + (token & ~TOKEN_HASH)].low;
    }
    return UINT64_C(1) << (spread % 64);
}

static enum sirix_status has_name(struct sirix_build *build, uint64_t key, struct sirix_bytes name,
                                  bool *out_has, struct sirix_error *err)
{
    struct sirix_rows rows = sirix_rows_of_edit(build->edit);
    struct sirix_node field = {0};
    enum sirix_status status = sirix_edit_row(build->edit, key, &field, err);

    return status == SIRIX_OK ? sirix_rows_name_equals(&rows, &field, name, out_has, err) : status;
}

/* The member of the innermost object that has this name already. */
static enum sirix_status find_earlier(struct sirix_build *build, uint32_t token,
                                      struct sirix_bytes name, bool *out_found, uint64_t *out_key,
                                      struct sirix_error *err)
{
    const struct sirix_build_frame *frame = &build->frames[build->depth - 1];
    struct sirix_name_hash hash = {0};
    enum sirix_status status = SIRIX_OK;

    *out_found = false;
    if (frame->seen == NULL && (frame->token_bits & token_bit(build, frame, token)) == 0) {
        return SIRIX_OK;
    }
    if (frame->seen == NULL) {
        for (size_t i = build->key_count; i > frame->keys_base && !*out_found; i--) {
            *out_found = same_token(build, frame, build->tokens[i - 1], token);
            *out_key = build->keys[i - 1];
        }
        return SIRIX_OK;
    }
    status = sirix_build_token_hash(build, frame, token, &hash, err);
    if (status != SIRIX_OK || !sirix_map_get(frame->seen, hash.high, out_key)) {
        return status;
    }
    *out_found = true;
    /* Half a hash is the same: where the row is at hand, the names are compared. */
    return build->bulk == NULL || *out_key < build->bulk_first
               ? has_name(build, *out_key, name, out_found, err)
               : SIRIX_OK;
}

enum sirix_status sirix_build_duplicate(struct sirix_build *build, uint64_t container,
                                        uint64_t earlier, uint64_t later, struct sirix_error *err)
{
    if (build->duplicate_count == SIRIX_EDIT_DROPPED_MAX) {
        return sirix_fail_reason(err, SIRIX_EXHAUSTED, SIRIX_REASON_SIZE_LIMIT,
                                 "the value has more than %d duplicate members",
                                 SIRIX_EDIT_DROPPED_MAX);
    }
    if (build->duplicate_count == build->duplicate_cap) {
        size_t cap = build->duplicate_cap == 0 ? TAKEN_MIN : build->duplicate_cap * 2;
        struct sirix_build_duplicate *all = realloc(build->duplicates, cap * sizeof(*all));
        if (all == NULL) {
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu duplicates", cap);
        }
        build->duplicates = all;
        build->duplicate_cap = cap;
    }
    build->duplicates[build->duplicate_count++] = (struct sirix_build_duplicate){
        .container = container,
        .earlier = earlier,
        .later = later,
    };
    return SIRIX_OK;
}

enum sirix_status sirix_build_member(struct sirix_build *build,
                                     const struct sirix_json_event *event, struct sirix_error *err)
{
    struct sirix_build_frame *frame = &build->frames[build->depth - 1];
    struct sirix_bytes kept = {0};
    uint32_t token = 0;
    uint64_t earlier = 0;
    bool found = false;
    enum sirix_status status = SIRIX_OK;

    if (is_expected(build, event->text, &token)) {
        set_interned(build, token);
    } else {
        status = intern(build, event->text, event->has_escapes, &token, &kept, err);
    }
    if (status == SIRIX_OK) {
        status = find_earlier(build, token, event->text, &found, &earlier, err);
    }
    if (status == SIRIX_OK && found && build->options.duplicates == SIRIX_DUPLICATES_REFUSE) {
        status = sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_DUPLICATE_KEY,
                                   "an object has two members of one name");
        sirix_json_reader_locate(&build->reader, event, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_build_take_keys(build, 2, &build->child_key, err);
    }
    if (status == SIRIX_OK && found) {
        status = sirix_build_duplicate(build, frame->container, earlier, build->child_key, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    build->child.key = build->child_key;
    build->child.parent = frame->container;
    build->text_bytes += event->text.len + 3;
    frame->token_bits |= token_bit(build, frame, token);
    status = sirix_build_add_child(build, build->child_key, token, err);
    if (status == SIRIX_OK) {
        status = sirix_path_summary_add(&build->paths, frame->path,
                                        (token & TOKEN_HASH) != 0 ? SIRIX_PATH_STEP_ANY : token,
                                        &build->child_path, err);
    }
    if (status == SIRIX_OK && kept.data != NULL && build->child_path != SIRIX_PATH_NONE &&
        build->paths.paths[build->child_path].step == token) {
        build->paths.paths[build->child_path].name = kept;
    }
    return status;
}
