#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "json/number.h"
#include "json/tree.h"

void model_fail(const char *file, int line, const char *fmt, ...)
{
    va_list args;

    (void)fprintf(stderr, "%s:%d: ", file, line);
    va_start(args, fmt);
    (void)vfprintf(stderr, fmt, args);
    va_end(args);
    (void)fputc('\n', stderr);
    abort();
}

static void *must_alloc(size_t size)
{
    void *memory = calloc(1, size);

    MODEL_CHECK(memory != NULL, "no memory");
    return memory;
}

static char *copy_bytes(const void *data, size_t len)
{
    char *copy = must_alloc(len + 1);

    if (len != 0) {
        memcpy(copy, data, len);
    }
    return copy;
}

/* --- Trees ----------------------------------------------------------------------------------------- */

void model_insert(struct model_node *parent, size_t index, struct model_node *child)
{
    if (parent->count == parent->cap) {
        parent->cap = parent->cap == 0 ? 8 : parent->cap * 2;
        parent->children = realloc(parent->children, parent->cap * sizeof(struct model_node *));
        MODEL_CHECK(parent->children != NULL, "no memory");
    }
    memmove(parent->children + index + 1, parent->children + index,
            (parent->count - index) * sizeof(struct model_node *));
    parent->children[index] = child;
    parent->count++;
    child->parent = parent;
}

size_t model_index(const struct model_node *child)
{
    for (size_t i = 0; i < child->parent->count; i++) {
        if (child->parent->children[i] == child) {
            return i;
        }
    }
    model_fail(__FILE__, __LINE__, "the model lost a child");
}

struct model_node *model_take(struct model_node *child)
{
    struct model_node *parent = child->parent;
    size_t index = model_index(child);

    parent->count--;
    memmove(parent->children + index, parent->children + index + 1,
            (parent->count - index) * sizeof(struct model_node *));
    child->parent = NULL;
    return child;
}

struct model_node *model_member(const struct model_node *object, const char *name)
{
    for (size_t i = 0; i < object->count; i++) {
        if (strcmp(object->children[i]->name, name) == 0) {
            return object->children[i];
        }
    }
    return NULL;
}

bool model_is_inside(const struct model_node *node, const struct model_node *subtree)
{
    for (; node != NULL; node = node->parent) {
        if (node == subtree) {
            return true;
        }
    }
    return false;
}

void model_free(struct model_node *node)
{
    if (node == NULL) {
        return;
    }
    for (size_t i = 0; i < node->count; i++) {
        model_free(node->children[i]);
    }
    free(node->children);
    free(node->name);
    free(node->text);
    free(node);
}

struct model_node *model_copy(const struct model_node *node)
{
    struct model_node *copy = NULL;

    if (node == NULL) {
        return NULL;
    }
    copy = must_alloc(sizeof(*copy));
    copy->key = node->key;
    copy->kind = node->kind;
    copy->name = node->name == NULL ? NULL : copy_bytes(node->name, strlen(node->name));
    copy->text = node->text == NULL ? NULL : copy_bytes(node->text, strlen(node->text));
    for (size_t i = 0; i < node->count; i++) {
        model_insert(copy, i, model_copy(node->children[i]));
    }
    return copy;
}

static struct model_node *from_json(const struct sirix_json_node *json)
{
    struct model_node *node = must_alloc(sizeof(*node));
    struct sirix_bytes text = {0};

    node->name = json->has_name ? copy_bytes(json->name.data, json->name.len) : NULL;
    switch ((enum sirix_json_kind)json->kind) {
    case SIRIX_JSON_KIND_NULL:
        node->text = copy_bytes("null", 4);
        break;
    case SIRIX_JSON_KIND_FALSE:
        node->text = copy_bytes("false", 5);
        break;
    case SIRIX_JSON_KIND_TRUE:
        node->text = copy_bytes("true", 4);
        break;
    case SIRIX_JSON_KIND_NUMBER:
        node->text = copy_bytes(json->value.text.data, json->value.text.len);
        break;
    case SIRIX_JSON_KIND_STRING:
        text = json->value.text;
        node->text = must_alloc(text.len + 3);
        node->text[0] = '"';
        if (text.len != 0) {
            memcpy(node->text + 1, text.data, text.len);
        }
        node->text[text.len + 1] = '"';
        break;
    case SIRIX_JSON_KIND_ARRAY:
    case SIRIX_JSON_KIND_OBJECT:
        node->kind = json->kind == SIRIX_JSON_KIND_ARRAY ? MODEL_ARRAY : MODEL_OBJECT;
        for (const struct sirix_json_node *child = json->value.list.first; child != NULL;
             child = child->next) {
            model_insert(node, node->count, from_json(child));
        }
        break;
    }
    return node;
}

struct model_node *model_parse(const char *text)
{
    struct sirix_arena arena;
    struct sirix_json_tree tree = {0};
    struct sirix_error err = {0};
    struct model_node *node = NULL;

    sirix_arena_init(&arena, SIZE_MAX);
    MODEL_CHECK(sirix_json_tree_init(&tree, &arena, &err) == SIRIX_OK, "%s", err.text);
    MODEL_CHECK(sirix_json_tree_parse(&tree,
                                      (struct sirix_bytes){.data = text, .len = strlen(text)}, NULL,
                                      NULL, &err) == SIRIX_OK,
                "the model cannot read %s: %s", text, err.text);
    node = from_json(tree.root);
    sirix_arena_deinit(&arena);
    return node;
}

size_t model_count(const struct model_node *node)
{
    size_t count = 1;

    for (size_t i = 0; i < node->count; i++) {
        count += model_count(node->children[i]);
    }
    return count;
}

static struct model_node *nth(struct model_node *node, size_t *n)
{
    if ((*n)-- == 0) {
        return node;
    }
    for (size_t i = 0; i < node->count; i++) {
        struct model_node *found = nth(node->children[i], n);
        if (found != NULL) {
            return found;
        }
    }
    return NULL;
}

struct model_node *model_nth(struct model_node *node, size_t n)
{
    return nth(node, &n);
}

uint32_t model_height(const struct model_node *node)
{
    uint32_t height = 0;

    for (size_t i = 0; i < node->count; i++) {
        uint32_t below = model_height(node->children[i]);
        height = below > height ? below : height;
    }
    return height + (node->kind == MODEL_SCALAR ? 0 : 1);
}

static void append(char **text, size_t *len, size_t *cap, const char *more)
{
    size_t more_len = strlen(more);

    if (*len + more_len + 1 > *cap) {
        *cap = (*len + more_len + 1) * 2;
        *text = realloc(*text, *cap);
        MODEL_CHECK(*text != NULL, "no memory");
    }
    memcpy(*text + *len, more, more_len + 1);
    *len += more_len;
}

static void print(const struct model_node *node, char **text, size_t *len, size_t *cap)
{
    if (node->kind == MODEL_SCALAR) {
        append(text, len, cap, node->text);
        return;
    }
    append(text, len, cap, node->kind == MODEL_ARRAY ? "[" : "{");
    for (size_t i = 0; i < node->count; i++) {
        append(text, len, cap, i == 0 ? "" : ",");
        if (node->kind == MODEL_OBJECT) {
            append(text, len, cap, "\"");
            append(text, len, cap, node->children[i]->name);
            append(text, len, cap, "\":");
        }
        print(node->children[i], text, len, cap);
    }
    append(text, len, cap, node->kind == MODEL_ARRAY ? "]" : "}");
}

char *model_text(const struct model_node *node)
{
    char *text = NULL;
    size_t len = 0;
    size_t cap = 0;

    print(node, &text, &len, &cap);
    return text;
}

static bool is_number(const struct model_node *node)
{
    return node->kind == MODEL_SCALAR &&
           (node->text[0] == '-' || (node->text[0] >= '0' && node->text[0] <= '9'));
}

bool model_equal(const struct model_node *a, const struct model_node *b)
{
    if (is_number(a) && is_number(b)) {
        return sirix_json_number_compare(
                   (struct sirix_bytes){.data = a->text, .len = strlen(a->text)},
                   (struct sirix_bytes){.data = b->text, .len = strlen(b->text)}) == 0;
    }
    if (a->kind != b->kind || a->count != b->count) {
        return false;
    }
    if (a->kind == MODEL_SCALAR) {
        return strcmp(a->text, b->text) == 0;
    }
    for (size_t i = 0; i < a->count; i++) {
        const struct model_node *other =
            a->kind == MODEL_OBJECT ? model_member(b, a->children[i]->name) : b->children[i];
        if (other == NULL || !model_equal(a->children[i], other)) {
            return false;
        }
    }
    return true;
}
