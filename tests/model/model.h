/*
 * A document as plain pointers: slow, simple, and the judge of what the store should hold. Nodes carry
 * the store's keys, so that everything can be compared node by node. A failed check prints what it is
 * about and aborts: each trial runs in a process of its own.
 */
#ifndef SIRIX_TESTS_MODEL_MODEL_H
#define SIRIX_TESTS_MODEL_MODEL_H

#include "store/document/document.h"
#include "store/document/edit.h"

enum model_kind { MODEL_SCALAR, MODEL_ARRAY, MODEL_OBJECT };

struct model_node {
    uint64_t key;
    enum model_kind kind;
    char *name; /* Stored form; NULL: no member. */
    char *text; /* Scalars: their JSON text. */
    struct model_node *parent;
    struct model_node **children;
    size_t count;
    size_t cap;
};

/* Prints and aborts. */
void model_fail(const char *file, int line, const char *fmt, ...) SIRIX_PRINTF(3, 4)
    __attribute__((noreturn));
#define MODEL_CHECK(condition, ...)                                                                \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            model_fail(__FILE__, __LINE__, __VA_ARGS__);                                           \
        }                                                                                          \
    } while (false)

struct model_node *model_parse(const char *text);
struct model_node *model_copy(const struct model_node *node);
void model_free(struct model_node *node);

void model_insert(struct model_node *parent, size_t index, struct model_node *child);
/* Takes the child out; it is the caller's. */
struct model_node *model_take(struct model_node *child);
size_t model_index(const struct model_node *child);
struct model_node *model_member(const struct model_node *object, const char *name);
bool model_is_inside(const struct model_node *node, const struct model_node *subtree);

size_t model_count(const struct model_node *node);
/* The n-th node of the subtree in document order. */
struct model_node *model_nth(struct model_node *node, size_t n);
uint32_t model_height(const struct model_node *node);

/* Minified text; free() it. */
char *model_text(const struct model_node *node);
/* Equal by value: numbers by their value, members in any order. */
bool model_equal(const struct model_node *a, const struct model_node *b);

/*
 * Compares what the store tells about a revision with the model; root NULL: no value. Text, walk and
 * counts always as a whole. All that can be asked of a node (itself, its children, siblings, places and
 * paths) is asked of each that differs from the node of its key in `asked`, and of a few of the others:
 * asked NULL is everything, the root itself a sample.
 */
void model_compare(const struct sirix_view *view, struct sirix_reader *reader,
                   const struct model_node *root, const struct model_node *asked);

#endif
