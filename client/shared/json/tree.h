/*
 * A JSON value in memory, for messages, patches and small documents. (Stored documents are never
 * trees; storaged/store works on pages.)
 *
 * Memory    Everything lies in the arena given at init and goes with it; removed nodes are not freed
 *           before. Texts of nodes are canonical strings (json/text.h) and numbers as written.
 * Order     Members and elements keep the order they were given in.
 * Cost      A member of a large object is found by a hash index that is made on first use; an element
 *           by walking from the front, the back, or the element found last.
 * Depth     No function here uses C recursion.
 * Threads   One thread at a time, also for look-ups (they make indexes).
 */
#ifndef SIRIX_JSON_TREE_H
#define SIRIX_JSON_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/bytes.h"
#include "base/hash.h"
#include "base/status.h"
#include "json/reader.h"
#include "json/writer.h"

enum sirix_json_kind {
    SIRIX_JSON_KIND_NULL,
    SIRIX_JSON_KIND_FALSE,
    SIRIX_JSON_KIND_TRUE,
    SIRIX_JSON_KIND_NUMBER,
    SIRIX_JSON_KIND_STRING,
    SIRIX_JSON_KIND_ARRAY,
    SIRIX_JSON_KIND_OBJECT,
};

struct sirix_json_children; /* Index of a container; private. */

/* Read the fields, change them through the functions below. */
struct sirix_json_node {
    struct sirix_json_node *parent; /* NULL at the root and for a value that is not placed yet. */
    struct sirix_json_node *prev;   /* Siblings. */
    struct sirix_json_node *next;
    struct sirix_bytes name; /* Of a member, canonical; empty elsewhere. */
    uint8_t kind;            /* enum sirix_json_kind */
    bool has_name;
    uint32_t name_hash; /* Private. */
    uint32_t mark;      /* Private to whoever works on the tree. */
    union {
        struct sirix_bytes text; /* NUMBER: as written; STRING: canonical. */
        struct {
            struct sirix_json_node *first; /* ARRAY, OBJECT. */
            struct sirix_json_node *last;
            size_t count;
            struct sirix_json_children *index; /* Private. */
        } list;
    } value;
};

struct sirix_json_tree {
    struct sirix_arena *arena;    /* The caller's. */
    struct sirix_hash_key key;    /* Unpredictable, against chosen collisions. */
    struct sirix_json_node *root; /* NULL in an empty tree. */
};

enum sirix_json_duplicates {
    SIRIX_JSON_DUPLICATES_REFUSE, /* SIRIX_INVALID (duplicate_key) with pointer and offset. */
    SIRIX_JSON_DUPLICATES_LAST,   /* The last one stays, at the first one's place; counted. */
};

/* A value of 0 in a field means the default. */
struct sirix_json_tree_options {
    struct sirix_json_reader_options reader;
    enum sirix_json_duplicates duplicates;
};

struct sirix_json_tree_stats {
    uint64_t duplicates; /* Members dropped by SIRIX_JSON_DUPLICATES_LAST. */
    uint64_t nodes;      /* Values made, dropped ones included. */
    bool had_bom;
};

/* An empty tree in an arena. SIRIX_IO when the system gives no random key. */
enum sirix_status sirix_json_tree_init(struct sirix_json_tree *tree, struct sirix_arena *arena,
                                       struct sirix_error *err) SIRIX_MUST_CHECK;

/*
 * Reads a text into the tree as its root; text is copied. options and out_stats may be NULL. Errors
 * of the reader (json/reader.h), of the arena, and duplicate_key. On failure the root is unchanged.
 */
enum sirix_status sirix_json_tree_parse(struct sirix_json_tree *tree, struct sirix_bytes text,
                                        const struct sirix_json_tree_options *options,
                                        struct sirix_json_tree_stats *out_stats,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* New values, not placed anywhere. Canonical and number texts are borrowed, plain ones copied. */
enum sirix_status sirix_json_new(struct sirix_json_tree *tree, enum sirix_json_kind kind,
                                 struct sirix_json_node **out,
                                 struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_bool(struct sirix_json_tree *tree, bool value,
                                      struct sirix_json_node **out,
                                      struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_i64(struct sirix_json_tree *tree, int64_t value,
                                     struct sirix_json_node **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_u64(struct sirix_json_tree *tree, uint64_t value,
                                     struct sirix_json_node **out,
                                     struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_number(struct sirix_json_tree *tree, struct sirix_bytes text,
                                        struct sirix_json_node **out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_string(struct sirix_json_tree *tree, struct sirix_bytes canonical,
                                        struct sirix_json_node **out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_new_string_plain(struct sirix_json_tree *tree,
                                              struct sirix_bytes plain,
                                              struct sirix_json_node **out,
                                              struct sirix_error *err) SIRIX_MUST_CHECK;

/* A deep copy, not placed; texts stay where they are, so both trees' arenas must live. */
enum sirix_status sirix_json_clone(struct sirix_json_tree *tree, const struct sirix_json_node *node,
                                   struct sirix_json_node **out,
                                   struct sirix_error *err) SIRIX_MUST_CHECK;

/* Puts a value that is not placed at the end of an array, or before an element of it. */
void sirix_json_array_append(struct sirix_json_node *array, struct sirix_json_node *value);
void sirix_json_array_insert(struct sirix_json_node *array, struct sirix_json_node *before,
                             struct sirix_json_node *value);

/*
 * Makes value the member of that name: behind the others, or in the place of the one that had the
 * name, which goes to *out_old (may be NULL; NULL if none). The name is canonical and borrowed.
 */
enum sirix_status sirix_json_object_set(struct sirix_json_tree *tree,
                                        struct sirix_json_node *object, struct sirix_bytes name,
                                        struct sirix_json_node *value,
                                        struct sirix_json_node **out_old,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

/* The same for a C string literal that needs no escape. */
enum sirix_status sirix_json_object_set_str(struct sirix_json_tree *tree,
                                            struct sirix_json_node *object, const char *name,
                                            struct sirix_json_node *value,
                                            struct sirix_error *err) SIRIX_MUST_CHECK;

/* Takes a value out of its container; it may be placed elsewhere. No effect on one not placed. */
void sirix_json_detach(struct sirix_json_node *node);

/*
 * The member of that canonical name, or NULL. The first look-up in a large object makes its index;
 * if there is no memory for it, the members are walked instead.
 */
struct sirix_json_node *sirix_json_member(struct sirix_json_tree *tree,
                                          struct sirix_json_node *object, struct sirix_bytes name);

/* The same for a C string literal that needs no escape; also NULL when node is not an object. */
struct sirix_json_node *sirix_json_member_str(struct sirix_json_tree *tree,
                                              struct sirix_json_node *node, const char *name);

/* Element number position of an array, from 0; NULL beyond the last. */
struct sirix_json_node *sirix_json_element(struct sirix_json_tree *tree,
                                           struct sirix_json_node *array, size_t position);

/* How many siblings are before a placed node; 0 for one that is not placed. */
size_t sirix_json_position(const struct sirix_json_node *node);

static inline bool sirix_json_is_container(const struct sirix_json_node *node)
{
    return node->kind >= SIRIX_JSON_KIND_ARRAY;
}

static inline struct sirix_json_node *sirix_json_first(const struct sirix_json_node *container)
{
    return container->value.list.first;
}

static inline size_t sirix_json_count(const struct sirix_json_node *container)
{
    return container->value.list.count;
}

/*
 * The node after this one in document order within the subtree of top, NULL at its end; children
 * come after their parent. _skip leaves the children of node out.
 */
struct sirix_json_node *sirix_json_walk(const struct sirix_json_node *top,
                                        const struct sirix_json_node *node);
struct sirix_json_node *sirix_json_walk_skip(const struct sirix_json_node *top,
                                             const struct sirix_json_node *node);

/* A number with no fraction that fits, whatever its form (1e2 is 100). */
bool sirix_json_get_i64(const struct sirix_json_node *node, int64_t *out);
bool sirix_json_get_bool(const struct sirix_json_node *node, bool *out);

/* Equal by value: numbers exactly by value, members in any order. */
bool sirix_json_equal(struct sirix_json_tree *a_tree, const struct sirix_json_node *a,
                      struct sirix_json_tree *b_tree, struct sirix_json_node *b);

/* Equal as stored text: numbers as written; member order counts only if ordered. */
bool sirix_json_same_text(struct sirix_json_tree *a_tree, const struct sirix_json_node *a,
                          struct sirix_json_tree *b_tree, struct sirix_json_node *b, bool ordered);

/* Writes a value through a writer that is ready for one, and the same as compact text to a buffer. */
enum sirix_status sirix_json_tree_write(const struct sirix_json_node *node,
                                        struct sirix_json_writer *writer,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;
enum sirix_status sirix_json_tree_print(const struct sirix_json_node *node, struct sirix_buf *out,
                                        struct sirix_error *err) SIRIX_MUST_CHECK;

#endif
