/*
 * Verify of one document: from the value down, every child is looked up and must name its parent, lists
 * must hold each child once and as many as they count, labels in large containers must rise and be
 * found, names must be indexed, long texts must have their hash. Then the sums: nodes, bytes of text,
 * and rows, of which none may belong to no node.
 *
 * The way down is a stack on the heap. Since a node is only entered from the parent that it names
 * itself, no damage can make the walk go in circles.
 */
#include "store/revision/verify.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/buf.h"
#include "base/sha256.h"
#include "store/child/child_tree.h"
#include "store/child/name_index.h"
#include "store/page/node.h"
#include "store/page/string.h"

enum { FRAMES_MIN = 16, LONG_TEXTS_MAX = 2 };

/* An open container. */
struct frame {
    uint64_t key; /* Of the container's row. */
    uint64_t count;
    uint64_t index;  /* Of the next child. */
    size_t keys_end; /* Inline: its keys are the last `count` of the stack of keys below here. */
    bool object;
    bool tree;
    uint64_t root;
    uint64_t name_index;
    bool has_label; /* Of the child before. */
    struct sirix_label label;
    struct sirix_child_cursor *cursor; /* Trees alone. */
};

struct tree_walk {
    struct sirix_verify_run *run;
    struct sirix_resource *resource;
    const struct sirix_record *record;
    struct sirix_trie_cursor cursor;
    struct frame *frames;
    size_t depth;
    size_t frame_cap;
    struct sirix_buf keys; /* u64 each: children of open inline containers. */
    struct sirix_buf name; /* The name at hand, for its hash. */
    struct sirix_text long_texts[LONG_TEXTS_MAX];
    size_t long_count;
    uint64_t nodes;
    uint64_t rows;
    uint64_t text_bytes;
};

static enum sirix_status note(struct tree_walk *walk, enum sirix_status status,
                              const struct sirix_error *cause, struct sirix_error *err)
{
    return sirix_verify_note(walk->run, walk->resource, walk->record->revision, status, cause, err);
}

static enum sirix_status wrong(uint64_t key, const char *what, struct sirix_error *cause)
{
    return sirix_fail(cause, SIRIX_CORRUPT, "node %" PRIu64 ": %s", key, what);
}

/* --- Texts -------------------------------------------------------------------------------------- */

/* Length of a decimal as it is written. */
static uint64_t decimal_len(int64_t mantissa, uint32_t scale)
{
    char digits[32];
    uint64_t len = (uint64_t)snprintf(digits, sizeof(digits), "%" PRId64, mantissa);
    uint64_t sign = mantissa < 0;

    return len - sign <= scale ? sign + scale + 2 : len + 1;
}

static uint64_t value_len(const struct sirix_node *node)
{
    char digits[32];

    switch (sirix_node_value_kind(node->kind)) {
    case SIRIX_NODE_STRING:
        return node->text.len + 2;
    case SIRIX_NODE_INTEGER:
        return (uint64_t)snprintf(digits, sizeof(digits), "%" PRId64, node->integer);
    case SIRIX_NODE_NUMBER:
        return node->number_text ? node->text.len : decimal_len(node->integer, node->scale);
    case SIRIX_NODE_FALSE:
        return 5;
    case SIRIX_NODE_TRUE:
    case SIRIX_NODE_NULL:
        return 4;
    default:
        return 0;
    }
}

/* A long text is looked at once the slices of its node are no longer needed. */
static void remember_text(struct tree_walk *walk, const struct sirix_text *text)
{
    if (text->address != 0) {
        assert(walk->long_count < LONG_TEXTS_MAX);
        walk->long_texts[walk->long_count++] = *text;
    }
}

static enum sirix_status check_long_text(struct tree_walk *walk, const struct sirix_text *text,
                                         struct sirix_error *cause)
{
    struct sirix_string_reader string;
    struct sirix_sha256 sha = {0};
    uint8_t hash[SIRIX_SHA256_BYTES];
    uint64_t offset = 0;
    enum sirix_status status =
        sirix_string_reader_init(&string, walk->run->reader, text->address, cause);

    if (status == SIRIX_OK && string.info.stored_len != text->len) {
        status =
            sirix_fail(cause, SIRIX_CORRUPT, "a long text has another length than its node says");
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_init(&sha, cause);
    }
    while (status == SIRIX_OK && offset < text->len) {
        struct sirix_bytes part = {0};

        status = sirix_string_reader_at(&string, offset, &part, cause);
        if (status == SIRIX_OK && part.len == 0) {
            status = sirix_fail(cause, SIRIX_CORRUPT, "a long text ends early");
        }
        if (status == SIRIX_OK) {
            status = sirix_sha256_update(&sha, part.data, part.len, cause);
            offset += part.len;
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_sha256_final(&sha, hash, cause);
    }
    if (status == SIRIX_OK && memcmp(hash, string.info.hash, sizeof(hash)) != 0) {
        status = sirix_fail_reason(cause, SIRIX_CORRUPT, SIRIX_REASON_CHECKSUM,
                                   "a long text does not have its hash");
    }
    sirix_sha256_deinit(&sha);
    return status;
}

/* --- Names -------------------------------------------------------------------------------------- */

static enum sirix_status load_long_name(struct tree_walk *walk, const struct sirix_text *text,
                                        struct sirix_error *cause)
{
    struct sirix_string_reader string;
    enum sirix_status status =
        sirix_string_reader_init(&string, walk->run->reader, text->address, cause);

    while (status == SIRIX_OK && walk->name.len < text->len) {
        struct sirix_bytes part = {0};

        status = sirix_string_reader_at(&string, walk->name.len, &part, cause);
        if (status == SIRIX_OK && part.len == 0) {
            status = sirix_fail(cause, SIRIX_CORRUPT, "a long name ends early");
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(&walk->name, part, cause);
        }
    }
    return status;
}

/* Copies the stored name of a field. */
static enum sirix_status load_name(struct tree_walk *walk, const struct sirix_node *node,
                                   struct sirix_error *cause)
{
    struct sirix_bytes name = node->name.bytes;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_clear(&walk->name);
    if (!node->name_interned && node->name.address != 0) {
        return load_long_name(walk, &node->name, cause);
    }
    if (node->name_interned) {
        status = sirix_names_get(walk->resource, node->name_id, &name, cause);
    }
    return status == SIRIX_OK ? sirix_buf_append_bytes(&walk->name, name, cause) : status;
}

struct find {
    uint64_t key;
    bool found;
};

static enum sirix_status find_key(void *context, uint64_t key, bool *stop, struct sirix_error *err)
{
    struct find *find = context;

    (void)err;
    find->found = find->found || key == find->key;
    *stop = find->found;
    return SIRIX_OK;
}

/* The name of a member: counted, and found by the object's index where it has one. */
static enum sirix_status check_name(struct tree_walk *walk, const struct frame *frame,
                                    const struct sirix_node *node, struct sirix_error *cause)
{
    struct find find = {.key = node->key};
    enum sirix_status status = load_name(walk, node, cause);

    if (status != SIRIX_OK) {
        return status;
    }
    walk->text_bytes += walk->name.len + 3; /* Two quotes and the colon. */
    if (!frame->tree) {
        return SIRIX_OK;
    }
    uint32_t hash =
        sirix_name_hash_stored(sirix_name_hash(&walk->resource->seed, sirix_buf_view(&walk->name)));

    status =
        sirix_name_index_find(walk->run->reader, frame->name_index, hash, find_key, &find, cause);
    if (status == SIRIX_OK && !find.found) {
        status = wrong(node->key, "its name is not in the index of its object", cause);
    }
    return status == SIRIX_NOT_FOUND ? wrong(node->key, "its object has no index of names", cause)
                                     : status;
}

/* --- Containers --------------------------------------------------------------------------------- */

static enum sirix_status make_frame(struct tree_walk *walk, struct frame **out_frame,
                                    struct sirix_error *cause)
{
    if (walk->depth == walk->frame_cap) {
        size_t cap = walk->frame_cap == 0 ? FRAMES_MIN : walk->frame_cap * 2;
        struct frame *frames = realloc(walk->frames, cap * sizeof(*frames));

        if (frames == NULL) {
            return sirix_fail(cause, SIRIX_NO_MEMORY, "cannot follow the depth of a document");
        }
        walk->frames = frames;
        walk->frame_cap = cap;
    }
    *out_frame = &walk->frames[walk->depth];
    **out_frame = (struct frame){0};
    return SIRIX_OK;
}

static bool is_among(const uint64_t *keys, size_t count, uint64_t key)
{
    for (size_t i = 0; i < count; i++) {
        if (keys[i] == key) {
            return true;
        }
    }
    return false;
}

/* The children of an inline container go onto the stack of keys; none may be there twice. */
static enum sirix_status push_inline(struct tree_walk *walk, const struct sirix_node *node,
                                     struct sirix_error *cause)
{
    uint64_t keys[SIRIX_NODE_CHILDREN_INLINE_MAX];
    enum sirix_status status = SIRIX_OK;

    if (node->child_count > SIRIX_NODE_CHILDREN_INLINE_MAX) {
        return wrong(node->key, "has too many children for a list", cause);
    }
    status = sirix_node_children(node, keys, cause);
    for (size_t i = 0; status == SIRIX_OK && i < node->child_count; i++) {
        if (is_among(keys, i, keys[i])) {
            status = wrong(node->key, "lists a child twice", cause);
        }
    }
    return status == SIRIX_OK
               ? sirix_buf_append(&walk->keys, keys, node->child_count * sizeof(keys[0]), cause)
               : status;
}

static enum sirix_status push(struct tree_walk *walk, const struct sirix_node *node,
                              struct sirix_error *cause)
{
    struct frame *frame = NULL;
    uint64_t count = 0;
    enum sirix_status status = make_frame(walk, &frame, cause);

    if (status != SIRIX_OK) {
        return status;
    }
    assert(frame != NULL);
    frame->key = node->key;
    frame->count = node->child_count;
    frame->object = node->kind == SIRIX_NODE_OBJECT;
    frame->tree = node->child_tree;
    frame->root = node->child_tree_address;
    frame->name_index = node->name_index_address;
    walk->text_bytes += 2 + (node->child_count > 1 ? node->child_count - 1 : 0);
    if (!frame->tree) {
        status = push_inline(walk, node, cause);
        frame->keys_end = walk->keys.len;
        walk->depth += status == SIRIX_OK;
        return status;
    }
    status = sirix_child_tree_count(walk->run->reader, frame->root, &count, cause);
    if (status == SIRIX_OK && count != frame->count) {
        status = wrong(frame->key, "its child tree has another count of children", cause);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    frame->cursor = malloc(sizeof(*frame->cursor));
    if (frame->cursor == NULL) {
        return sirix_fail(cause, SIRIX_NO_MEMORY, "cannot walk a child tree");
    }
    sirix_child_cursor_init(frame->cursor, walk->run->reader, frame->root, 0);
    walk->depth++;
    return SIRIX_OK;
}

static void pop(struct tree_walk *walk)
{
    struct frame *frame = &walk->frames[--walk->depth];

    if (!frame->tree) {
        walk->keys.len = frame->keys_end - (size_t)frame->count * sizeof(uint64_t);
    }
    free(frame->cursor);
}

static enum sirix_status next_child(struct tree_walk *walk, struct frame *frame, uint64_t *out_key,
                                    struct sirix_error *cause)
{
    size_t left = (size_t)(frame->count - frame->index) * sizeof(uint64_t);
    enum sirix_status status = SIRIX_OK;

    if (frame->tree) {
        status = sirix_child_cursor_next(frame->cursor, out_key, cause);
        if (status == SIRIX_NOT_FOUND) {
            status = wrong(frame->key, "its child tree ends early", cause);
        }
    } else {
        memcpy(out_key, walk->keys.data + frame->keys_end - left, sizeof(*out_key));
    }
    frame->index++;
    return status;
}

/* In a child tree, labels rise and lead back to the child's index. */
static enum sirix_status check_label(struct tree_walk *walk, struct frame *frame,
                                     const struct sirix_node *node, struct sirix_error *cause)
{
    const struct sirix_label label = sirix_node_label(node);
    uint64_t index = 0;
    enum sirix_status status = SIRIX_OK;

    if (frame->has_label &&
        (label.major < frame->label.major ||
         (label.major == frame->label.major && label.minor <= frame->label.minor))) {
        return wrong(node->key, "its label is not after that of its left sibling", cause);
    }
    frame->label = label;
    frame->has_label = true;
    status =
        sirix_child_tree_index(walk->run->reader, frame->root, node->key, label, &index, cause);
    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && index != frame->index - 1)) {
        status = wrong(node->key, "its label does not lead to its place", cause);
    }
    return status;
}

/* --- Nodes -------------------------------------------------------------------------------------- */

static enum sirix_status get_node(struct tree_walk *walk, uint64_t key, uint64_t parent,
                                  struct sirix_node *out_node, struct sirix_error *cause)
{
    struct sirix_row row;
    enum sirix_status status = sirix_trie_get(&walk->cursor, key, &row, cause);

    if (status == SIRIX_NOT_FOUND || (status == SIRIX_OK && row.key != key)) {
        return wrong(key, "a container lists it and it is not there", cause);
    }
    if (status == SIRIX_OK) {
        status = sirix_node_decode(row.record, key, out_node, cause);
    }
    if (status == SIRIX_OK && out_node->parent != parent) {
        return sirix_fail(cause, SIRIX_CORRUPT,
                          "node %" PRIu64 " names %" PRIu64 " as its parent, it is listed by "
                          "%" PRIu64,
                          key, out_node->parent, parent);
    }
    walk->rows += status == SIRIX_OK;
    walk->run->progress.nodes++;
    return status;
}

/* A child (frame NULL: the document's value), with its name and value. */
static enum sirix_status check_node(struct tree_walk *walk, struct frame *frame, uint64_t key,
                                    struct sirix_error *cause)
{
    struct sirix_node node;
    uint64_t parent = frame != NULL ? frame->key : 0;
    bool object = frame != NULL && frame->object;
    enum sirix_status status = get_node(walk, key, parent, &node, cause);

    if (status != SIRIX_OK) {
        return status;
    }
    walk->nodes++;
    walk->long_count = 0;
    if (sirix_node_is_field(node.kind) != object) {
        return wrong(key, object ? "is an element in an object" : "is a member outside of objects",
                     cause);
    }
    if (frame != NULL && frame->tree) {
        status = check_label(walk, frame, &node, cause);
    }
    if (status == SIRIX_OK && object) {
        status = check_name(walk, frame, &node, cause);
        if (!node.name_interned) {
            remember_text(walk, &node.name);
        }
    }
    if (status == SIRIX_OK && node.kind == SIRIX_NODE_FIELD) {
        status = get_node(walk, key + 1, key, &node, cause);
        if (status == SIRIX_OK && !sirix_node_is_container(node.kind)) {
            return wrong(key, "its value is no container and has a row of its own", cause);
        }
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (sirix_node_is_container(node.kind)) {
        return push(walk, &node, cause);
    }
    walk->text_bytes += value_len(&node);
    remember_text(walk, &node.text);
    return SIRIX_OK;
}

static enum sirix_status check_long_texts(struct tree_walk *walk, struct sirix_error *cause)
{
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; status == SIRIX_OK && i < walk->long_count; i++) {
        status = check_long_text(walk, &walk->long_texts[i], cause);
    }
    walk->long_count = 0;
    return status;
}

/* From the value down. What is damaged is told and left out. */
static enum sirix_status walk_down(struct tree_walk *walk, struct sirix_error *err)
{
    struct sirix_error cause = {0};
    enum sirix_status status = check_node(walk, NULL, 1, &cause);

    if (status == SIRIX_OK) {
        status = check_long_texts(walk, &cause);
    }
    status = note(walk, status, &cause, err);
    while (status == SIRIX_OK && walk->depth > 0) {
        struct frame *frame = &walk->frames[walk->depth - 1];
        uint64_t key = 0;

        if (frame->index == frame->count) {
            pop(walk);
            continue;
        }
        cause = (struct sirix_error){0};
        status = next_child(walk, frame, &key, &cause);
        if (status != SIRIX_OK) {
            frame->index = frame->count; /* The rest of this list cannot be read. */
        } else {
            status = check_node(walk, frame, key, &cause);
        }
        if (status == SIRIX_OK) {
            status = check_long_texts(walk, &cause);
        }
        status = note(walk, status, &cause, err);
        if (status == SIRIX_OK) {
            status = sirix_verify_step(walk->run, err);
        }
    }
    return status;
}

/* All rows of the trie, whoever they belong to. */
static enum sirix_status count_rows(struct tree_walk *walk, uint64_t *out_rows,
                                    struct sirix_error *err)
{
    struct sirix_trie_cursor cursor;
    struct sirix_row row;
    uint64_t rows = 0;
    uint64_t key = 0;
    enum sirix_status status = SIRIX_OK;

    sirix_trie_cursor_init(&cursor, walk->run->reader, walk->record->trie);
    while (status == SIRIX_OK) {
        status = sirix_trie_next(&cursor, key, &row, err);
        if (status == SIRIX_OK) {
            rows++;
            key = row.key + row.width;
            status = sirix_verify_step(walk->run, err);
        }
    }
    if (status == SIRIX_NOT_FOUND) {
        *out_rows = rows;
        return SIRIX_OK;
    }
    return status;
}

static enum sirix_status check_sums(struct tree_walk *walk, uint64_t faults,
                                    struct sirix_error *err)
{
    const struct sirix_record *record = walk->record;
    struct sirix_error cause = {0};
    uint64_t rows = 0;
    enum sirix_status status = count_rows(walk, &rows, &cause);

    if (status != SIRIX_OK) {
        return note(walk, status, &cause, err);
    }
    if (walk->run->progress.faults != faults) {
        return SIRIX_OK; /* Damage was told already: what it hides is missing from the sums. */
    }
    if (rows != walk->rows) {
        return sirix_verify_fault(walk->run, walk->resource, record->revision, SIRIX_REASON_NONE,
                                  err, "%" PRIu64 " rows belong to no node", rows - walk->rows);
    }
    if (walk->nodes != record->node_count || walk->text_bytes != record->text_bytes) {
        return sirix_verify_fault(
            walk->run, walk->resource, record->revision, SIRIX_REASON_NONE, err,
            "it has %" PRIu64 " nodes and %" PRIu64 " bytes of text, its record says %" PRIu64
            " and %" PRIu64,
            walk->nodes, walk->text_bytes, record->node_count, record->text_bytes);
    }
    return SIRIX_OK;
}

enum sirix_status sirix_verify_tree(struct sirix_verify_run *run, struct sirix_resource *resource,
                                    const struct sirix_record *record, struct sirix_error *err)
{
    struct tree_walk walk = {.run = run, .resource = resource, .record = record};
    uint64_t faults = run->progress.faults;
    enum sirix_status status = SIRIX_OK;

    sirix_buf_init(&walk.keys, SIZE_MAX);
    sirix_buf_init(&walk.name, SIRIX_MEMBER_NAME_BYTES_MAX);
    sirix_trie_cursor_init(&walk.cursor, run->reader, record->trie);
    if (record->trie.root != 0) {
        status = walk_down(&walk, err);
    }
    if (status == SIRIX_OK) {
        status = check_sums(&walk, faults, err);
    }
    while (walk.depth > 0) {
        pop(&walk);
    }
    free(walk.frames);
    sirix_buf_deinit(&walk.keys);
    sirix_buf_deinit(&walk.name);
    return status;
}
