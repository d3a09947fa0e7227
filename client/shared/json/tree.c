/* Trees: reading, making, changing, comparing, writing. Lists and indexes are in tree_index.c. */
#include "json/tree.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

#include "json/number.h"
#include "json/text.h"
#include "json/tree_index.h"

static struct sirix_bytes literal(const char *text)
{
    return (struct sirix_bytes){.data = text, .len = strlen(text)};
}

/* --- Making ----------------------------------------------------------------------------------- */

enum sirix_status sirix_json_tree_init(struct sirix_json_tree *tree, struct sirix_arena *arena,
                                       struct sirix_error *err)
{
    *tree = (struct sirix_json_tree){.arena = arena};
    return sirix_random_bytes(tree->key.bytes, sizeof(tree->key.bytes), err);
}

enum sirix_status sirix_json_new(struct sirix_json_tree *tree, enum sirix_json_kind kind,
                                 struct sirix_json_node **out, struct sirix_error *err)
{
    void *memory = NULL;
    enum sirix_status status =
        sirix_arena_alloc_aligned(tree->arena, sizeof(struct sirix_json_node),
                                  _Alignof(struct sirix_json_node), &memory, err);

    if (status == SIRIX_OK) {
        struct sirix_json_node *node = memory;

        *node = (struct sirix_json_node){.kind = (uint8_t)kind};
        *out = node;
    }
    return status;
}

static enum sirix_status new_text(struct sirix_json_tree *tree, enum sirix_json_kind kind,
                                  struct sirix_bytes text, struct sirix_json_node **out,
                                  struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    enum sirix_status status = sirix_json_new(tree, kind, &node, err);

    if (status == SIRIX_OK) {
        node->value.text = text;
        *out = node;
    }
    return status;
}

enum sirix_status sirix_json_new_bool(struct sirix_json_tree *tree, bool value,
                                      struct sirix_json_node **out, struct sirix_error *err)
{
    return sirix_json_new(tree, value ? SIRIX_JSON_KIND_TRUE : SIRIX_JSON_KIND_FALSE, out, err);
}

enum sirix_status sirix_json_new_i64(struct sirix_json_tree *tree, int64_t value,
                                     struct sirix_json_node **out, struct sirix_error *err)
{
    char text[SIRIX_JSON_DECIMAL_TEXT_BYTES];
    struct sirix_bytes bytes = {.data = text, .len = sirix_json_number_format_integer(value, text)};
    enum sirix_status status = sirix_arena_copy(tree->arena, bytes, &bytes, err);

    return status == SIRIX_OK ? new_text(tree, SIRIX_JSON_KIND_NUMBER, bytes, out, err) : status;
}

enum sirix_status sirix_json_new_u64(struct sirix_json_tree *tree, uint64_t value,
                                     struct sirix_json_node **out, struct sirix_error *err)
{
    char *text = NULL;
    enum sirix_status status =
        sirix_arena_printf(tree->arena, &text, err, "%llu", (unsigned long long)value);

    return status == SIRIX_OK ? new_text(tree, SIRIX_JSON_KIND_NUMBER, literal(text), out, err)
                              : status;
}

enum sirix_status sirix_json_new_number(struct sirix_json_tree *tree, struct sirix_bytes text,
                                        struct sirix_json_node **out, struct sirix_error *err)
{
    return new_text(tree, SIRIX_JSON_KIND_NUMBER, text, out, err);
}

enum sirix_status sirix_json_new_string(struct sirix_json_tree *tree, struct sirix_bytes canonical,
                                        struct sirix_json_node **out, struct sirix_error *err)
{
    return new_text(tree, SIRIX_JSON_KIND_STRING, canonical, out, err);
}

enum sirix_status sirix_json_new_string_plain(struct sirix_json_tree *tree,
                                              struct sirix_bytes plain,
                                              struct sirix_json_node **out, struct sirix_error *err)
{
    struct sirix_bytes text = {0};
    enum sirix_status status = sirix_json_text_to_canonical(tree->arena, plain, &text, err);

    if (status == SIRIX_OK && text.data == plain.data) {
        status = sirix_arena_copy(tree->arena, plain, &text, err);
    }
    return status == SIRIX_OK ? new_text(tree, SIRIX_JSON_KIND_STRING, text, out, err) : status;
}

/* --- Reading ---------------------------------------------------------------------------------- */

struct builder {
    struct sirix_json_tree *tree;
    enum sirix_json_duplicates duplicates;
    struct sirix_bytes
        text; /* The arena's copy of the input: what lies in it is not copied again. */
    struct sirix_json_node *root;
    struct sirix_json_node *container; /* Innermost open one. */
    struct sirix_bytes name;           /* Of the member whose value is due. */
    struct sirix_json_node *replaced;  /* The member of that name that is there already. */
    struct sirix_buf parts;            /* A string in parts. */
    struct sirix_json_tree_stats stats;
};

static enum sirix_status keep_text(struct builder *builder, struct sirix_bytes text,
                                   struct sirix_bytes *out, struct sirix_error *err)
{
    uintptr_t at = (uintptr_t)text.data;
    uintptr_t start = (uintptr_t)builder->text.data;

    if (at >= start && at + text.len <= start + builder->text.len) {
        *out = text;
        return SIRIX_OK;
    }
    return sirix_arena_copy(builder->tree->arena, text, out, err);
}

static enum sirix_status place(struct builder *builder, struct sirix_json_node *node)
{
    builder->stats.nodes++;
    if (builder->container == NULL) {
        builder->root = node;
        return SIRIX_OK;
    }
    if (builder->container->kind == SIRIX_JSON_KIND_OBJECT) {
        node->name = builder->name;
        node->has_name = true;
    }
    if (builder->replaced != NULL) {
        json_exchange(builder->replaced, node);
        builder->replaced = NULL;
        builder->stats.duplicates++;
    } else {
        json_link(builder->container, NULL, node);
    }
    return SIRIX_OK;
}

static enum sirix_status build_name(struct builder *builder, const struct sirix_json_reader *reader,
                                    const struct sirix_json_event *event, struct sirix_error *err)
{
    builder->replaced = sirix_json_member(builder->tree, builder->container, event->text);
    if (builder->replaced != NULL && builder->duplicates == SIRIX_JSON_DUPLICATES_REFUSE) {
        enum sirix_status status =
            sirix_fail_reason(err, SIRIX_INVALID, SIRIX_REASON_DUPLICATE_KEY,
                              "a second member of the same name in one object at byte %llu",
                              (unsigned long long)event->offset);

        sirix_json_reader_locate(reader, event, err);
        return status;
    }
    return keep_text(builder, event->text, &builder->name, err);
}

static enum sirix_status build_text(struct builder *builder, enum sirix_json_kind kind,
                                    struct sirix_bytes text, struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    struct sirix_bytes kept = {0};
    enum sirix_status status = keep_text(builder, text, &kept, err);

    if (status == SIRIX_OK) {
        status = new_text(builder->tree, kind, kept, &node, err);
    }
    return status == SIRIX_OK ? place(builder, node) : status;
}

static enum sirix_status build_part(struct builder *builder, const struct sirix_json_event *event,
                                    struct sirix_error *err)
{
    enum sirix_status status = sirix_buf_append_bytes(&builder->parts, event->text, err);

    if (status == SIRIX_OK && event->is_last) {
        status = build_text(builder, SIRIX_JSON_KIND_STRING, sirix_buf_view(&builder->parts), err);
        sirix_buf_clear(&builder->parts);
    }
    return status;
}

static enum sirix_status build_plain(struct builder *builder, enum sirix_json_kind kind,
                                     struct sirix_error *err)
{
    struct sirix_json_node *node = NULL;
    enum sirix_status status = sirix_json_new(builder->tree, kind, &node, err);

    if (status == SIRIX_OK) {
        status = place(builder, node);
    }
    if (status == SIRIX_OK && sirix_json_is_container(node)) {
        builder->container = node;
    }
    return status;
}

static enum sirix_status build(struct builder *builder, const struct sirix_json_reader *reader,
                               const struct sirix_json_event *event, struct sirix_error *err)
{
    switch (event->kind) {
    case SIRIX_JSON_OBJECT_BEGIN:
        return build_plain(builder, SIRIX_JSON_KIND_OBJECT, err);
    case SIRIX_JSON_ARRAY_BEGIN:
        return build_plain(builder, SIRIX_JSON_KIND_ARRAY, err);
    case SIRIX_JSON_OBJECT_END:
    case SIRIX_JSON_ARRAY_END:
        builder->container = builder->container->parent;
        return SIRIX_OK;
    case SIRIX_JSON_NAME:
        return build_name(builder, reader, event, err);
    case SIRIX_JSON_STRING:
        return build_text(builder, SIRIX_JSON_KIND_STRING, event->text, err);
    case SIRIX_JSON_STRING_PART:
        return build_part(builder, event, err);
    case SIRIX_JSON_NUMBER:
        return build_text(builder, SIRIX_JSON_KIND_NUMBER, event->text, err);
    case SIRIX_JSON_TRUE:
        return build_plain(builder, SIRIX_JSON_KIND_TRUE, err);
    case SIRIX_JSON_FALSE:
        return build_plain(builder, SIRIX_JSON_KIND_FALSE, err);
    case SIRIX_JSON_NULL:
        return build_plain(builder, SIRIX_JSON_KIND_NULL, err);
    case SIRIX_JSON_NEED_INPUT:
    case SIRIX_JSON_END:
        break;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_json_tree_parse(struct sirix_json_tree *tree, struct sirix_bytes text,
                                        const struct sirix_json_tree_options *options,
                                        struct sirix_json_tree_stats *out_stats,
                                        struct sirix_error *err)
{
    struct builder builder = {.tree = tree};
    struct sirix_json_event event = {.kind = SIRIX_JSON_NULL};
    struct sirix_json_reader reader;

    sirix_json_reader_init(&reader, options == NULL ? NULL : &options->reader);
    sirix_buf_init(&builder.parts, SIZE_MAX);
    builder.duplicates = options == NULL ? SIRIX_JSON_DUPLICATES_REFUSE : options->duplicates;
    enum sirix_status status = sirix_arena_copy(tree->arena, text, &builder.text, err);
    if (status == SIRIX_OK) {
        sirix_json_reader_feed(&reader, builder.text, true);
    }
    while (status == SIRIX_OK && event.kind != SIRIX_JSON_END) {
        status = sirix_json_reader_next(&reader, &event, err);
        if (status == SIRIX_OK) {
            status = build(&builder, &reader, &event, err);
        }
    }
    if (status == SIRIX_OK) {
        tree->root = builder.root;
        if (out_stats != NULL) {
            *out_stats = builder.stats;
            out_stats->had_bom = sirix_json_reader_had_bom(&reader);
        }
    }
    sirix_buf_deinit(&builder.parts);
    sirix_json_reader_deinit(&reader);
    return status;
}

/* --- Changing --------------------------------------------------------------------------------- */

void sirix_json_array_append(struct sirix_json_node *array, struct sirix_json_node *value)
{
    json_link(array, NULL, value);
}

void sirix_json_array_insert(struct sirix_json_node *array, struct sirix_json_node *before,
                             struct sirix_json_node *value)
{
    assert(before == NULL || before->parent == array);

    json_link(array, before, value);
}

enum sirix_status sirix_json_object_set(struct sirix_json_tree *tree,
                                        struct sirix_json_node *object, struct sirix_bytes name,
                                        struct sirix_json_node *value,
                                        struct sirix_json_node **out_old, struct sirix_error *err)
{
    struct sirix_json_node *old = NULL;

    if (object->kind != SIRIX_JSON_KIND_OBJECT || value->parent != NULL) {
        return sirix_fail(err, SIRIX_INTERNAL, "a member set in what is no object, or set twice");
    }
    old = sirix_json_member(tree, object, name);
    value->name = name;
    value->has_name = true;
    if (old != NULL) {
        json_exchange(old, value);
    } else {
        json_link(object, NULL, value);
    }
    if (out_old != NULL) {
        *out_old = old;
    }
    return SIRIX_OK;
}

enum sirix_status sirix_json_object_set_str(struct sirix_json_tree *tree,
                                            struct sirix_json_node *object, const char *name,
                                            struct sirix_json_node *value, struct sirix_error *err)
{
    return sirix_json_object_set(tree, object, literal(name), value, NULL, err);
}

void sirix_json_detach(struct sirix_json_node *node)
{
    if (node->parent != NULL) {
        json_unlink(node);
        node->has_name = false;
        node->name = (struct sirix_bytes){0};
    }
}

/* --- Looking ---------------------------------------------------------------------------------- */

struct sirix_json_node *sirix_json_member_str(struct sirix_json_tree *tree,
                                              struct sirix_json_node *node, const char *name)
{
    if (node == NULL || node->kind != SIRIX_JSON_KIND_OBJECT) {
        return NULL;
    }
    return sirix_json_member(tree, node, literal(name));
}

struct sirix_json_node *sirix_json_walk_skip(const struct sirix_json_node *top,
                                             const struct sirix_json_node *node)
{
    while (node != top && node->next == NULL) {
        node = node->parent;
    }
    return node == top ? NULL : node->next;
}

struct sirix_json_node *sirix_json_walk(const struct sirix_json_node *top,
                                        const struct sirix_json_node *node)
{
    if (sirix_json_is_container(node) && sirix_json_first(node) != NULL) {
        return sirix_json_first(node);
    }
    return sirix_json_walk_skip(top, node);
}

bool sirix_json_get_i64(const struct sirix_json_node *node, int64_t *out)
{
    return node->kind == SIRIX_JSON_KIND_NUMBER && sirix_json_number_to_i64(node->value.text, out);
}

bool sirix_json_get_bool(const struct sirix_json_node *node, bool *out)
{
    if (node->kind != SIRIX_JSON_KIND_TRUE && node->kind != SIRIX_JSON_KIND_FALSE) {
        return false;
    }
    *out = node->kind == SIRIX_JSON_KIND_TRUE;
    return true;
}

/* --- Two trees side by side ------------------------------------------------------------------- */

struct comparison {
    bool by_value; /* Numbers by value; else by text. */
    bool ordered;  /* Members must stand in the same order. */
    struct sirix_json_tree *b_tree;
};

static bool same_here(const struct comparison *how, const struct sirix_json_node *a,
                      const struct sirix_json_node *b)
{
    if (a->kind != b->kind) {
        return false;
    }
    if (sirix_json_is_container(a)) {
        return sirix_json_count(a) == sirix_json_count(b);
    }
    if (a->kind == SIRIX_JSON_KIND_NUMBER && how->by_value) {
        return sirix_json_number_compare(a->value.text, b->value.text) == 0;
    }
    return a->kind < SIRIX_JSON_KIND_NUMBER || sirix_bytes_equal(a->value.text, b->value.text);
}

/* The child of b_parent that stands for a; candidate is the one at the same place. */
static struct sirix_json_node *counterpart(const struct comparison *how,
                                           const struct sirix_json_node *a,
                                           struct sirix_json_node *b_parent,
                                           struct sirix_json_node *candidate)
{
    if (!a->has_name || (candidate != NULL && sirix_bytes_equal(a->name, candidate->name))) {
        return candidate;
    }
    return how->ordered ? NULL : sirix_json_member(how->b_tree, b_parent, a->name);
}

/* Walks a in document order, and b with it; counts are equal, so every child of b is met. */
static bool compare(const struct comparison *how, const struct sirix_json_node *a_top,
                    struct sirix_json_node *b_top)
{
    const struct sirix_json_node *a = a_top;
    struct sirix_json_node *b = b_top;

    for (;;) {
        if (b == NULL || !same_here(how, a, b)) {
            return false;
        }
        if (sirix_json_is_container(a) && sirix_json_first(a) != NULL) {
            a = sirix_json_first(a);
            b = counterpart(how, a, b, sirix_json_first(b));
            continue;
        }
        while (a != a_top && a->next == NULL) {
            a = a->parent;
            b = b->parent;
        }
        if (a == a_top) {
            return true;
        }
        a = a->next;
        b = counterpart(how, a, b->parent, b->next);
    }
}

bool sirix_json_equal(struct sirix_json_tree *a_tree, const struct sirix_json_node *a,
                      struct sirix_json_tree *b_tree, struct sirix_json_node *b)
{
    const struct comparison how = {.by_value = true, .b_tree = b_tree};

    (void)a_tree; /* Only members of b are looked up. */
    return compare(&how, a, b);
}

bool sirix_json_same_text(struct sirix_json_tree *a_tree, const struct sirix_json_node *a,
                          struct sirix_json_tree *b_tree, struct sirix_json_node *b, bool ordered)
{
    const struct comparison how = {.ordered = ordered, .b_tree = b_tree};

    (void)a_tree;
    return compare(&how, a, b);
}

enum sirix_status sirix_json_clone(struct sirix_json_tree *tree, const struct sirix_json_node *node,
                                   struct sirix_json_node **out, struct sirix_error *err)
{
    const struct sirix_json_node *from = node;
    struct sirix_json_node *top = NULL;
    struct sirix_json_node *parent = NULL;

    for (;;) {
        struct sirix_json_node *copy = NULL;
        enum sirix_status status =
            sirix_json_new(tree, (enum sirix_json_kind)from->kind, &copy, err);

        if (status != SIRIX_OK) {
            return status;
        }
        if (!sirix_json_is_container(from)) {
            copy->value.text = from->value.text;
        }
        if (parent == NULL) {
            top = copy;
        } else {
            copy->name = from->name;
            copy->has_name = from->has_name;
            json_link(parent, NULL, copy);
        }
        if (sirix_json_is_container(from) && sirix_json_first(from) != NULL) {
            parent = copy;
            from = sirix_json_first(from);
            continue;
        }
        while (from != node && from->next == NULL) {
            assert(parent != NULL);
            from = from->parent;
            parent = parent->parent;
        }
        if (from == node) {
            *out = top;
            return SIRIX_OK;
        }
        from = from->next;
    }
}

/* --- Writing ---------------------------------------------------------------------------------- */

static enum sirix_status write_begin(const struct sirix_json_node *node,
                                     struct sirix_json_writer *writer, struct sirix_error *err)
{
    switch ((enum sirix_json_kind)node->kind) {
    case SIRIX_JSON_KIND_NULL:
        return sirix_json_write_null(writer, err);
    case SIRIX_JSON_KIND_FALSE:
    case SIRIX_JSON_KIND_TRUE:
        return sirix_json_write_bool(writer, node->kind == SIRIX_JSON_KIND_TRUE, err);
    case SIRIX_JSON_KIND_NUMBER:
        return sirix_json_write_number(writer, node->value.text, err);
    case SIRIX_JSON_KIND_STRING:
        return sirix_json_write_string(writer, node->value.text, err);
    case SIRIX_JSON_KIND_ARRAY:
        return sirix_json_write_array_begin(writer, err);
    case SIRIX_JSON_KIND_OBJECT:
        return sirix_json_write_object_begin(writer, err);
    }
    return sirix_fail(err, SIRIX_INTERNAL, "a node of unknown kind %u", node->kind);
}

static enum sirix_status write_end(const struct sirix_json_node *node,
                                   struct sirix_json_writer *writer, struct sirix_error *err)
{
    return node->kind == SIRIX_JSON_KIND_OBJECT ? sirix_json_write_object_end(writer, err)
                                                : sirix_json_write_array_end(writer, err);
}

/* Ends what ends behind a value that has no child to go to; *at is the next value, NULL at the end. */
static enum sirix_status write_ends(const struct sirix_json_node *top,
                                    const struct sirix_json_node **at,
                                    struct sirix_json_writer *writer, struct sirix_error *err)
{
    const struct sirix_json_node *node = *at;
    enum sirix_status status =
        sirix_json_is_container(node) ? write_end(node, writer, err) : SIRIX_OK;

    while (status == SIRIX_OK && node != top && node->next == NULL) {
        node = node->parent;
        status = write_end(node, writer, err);
    }
    *at = node == top ? NULL : node->next;
    return status;
}

enum sirix_status sirix_json_tree_write(const struct sirix_json_node *node,
                                        struct sirix_json_writer *writer, struct sirix_error *err)
{
    const struct sirix_json_node *at = node;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && at != NULL) {
        if (at->has_name && at != node) {
            status = sirix_json_write_name(writer, at->name, err);
        }
        if (status == SIRIX_OK) {
            status = write_begin(at, writer, err);
        }
        if (status != SIRIX_OK) {
            break;
        }
        if (sirix_json_is_container(at) && sirix_json_first(at) != NULL) {
            at = sirix_json_first(at);
        } else {
            status = write_ends(node, &at, writer, err);
        }
    }
    return status;
}

enum sirix_status sirix_json_tree_print(const struct sirix_json_node *node, struct sirix_buf *out,
                                        struct sirix_error *err)
{
    const struct sirix_json_writer_options options = {.depth_max = UINT_MAX};
    struct sirix_json_writer writer;

    sirix_json_writer_init_buf(&writer, out, &options);
    enum sirix_status status = sirix_json_tree_write(node, &writer, err);
    if (status == SIRIX_OK) {
        status = sirix_json_writer_finish(&writer, err);
    }
    sirix_json_writer_deinit(&writer);
    return status;
}
