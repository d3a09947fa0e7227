/* See compare.h. */
#include "compare.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json/text.h"

enum { NUMBER_BYTES_MAX = 4096 };

struct sirix_bytes plain_text(struct sirix_arena *arena, const struct sirix_json_node *node)
{
    struct sirix_bytes plain = {"", 0};

    assert(node->kind == SIRIX_JSON_KIND_STRING);
    if (sirix_json_text_to_plain(arena, node->value.text, &plain, NULL) != SIRIX_OK) {
        abort();
    }
    return plain;
}

/* --- Structured items --------------------------------------------------------------------------- */

static bool is_ignored(const struct comparison *comparison, const struct sirix_json_node *node)
{
    if (comparison->ignore_keys == NULL || !node->has_name) {
        return false;
    }
    for (const struct sirix_json_node *key = sirix_json_first(comparison->ignore_keys); key != NULL;
         key = key->next) {
        if (sirix_bytes_equal(key->value.text, node->name)) {
            return true;
        }
    }
    return false;
}

static void drop_ignored(const struct comparison *comparison, struct sirix_json_node *root)
{
    struct sirix_json_node *node = root;

    while (node != NULL) {
        struct sirix_json_node *next = sirix_json_walk(root, node);

        if (is_ignored(comparison, node)) {
            next = sirix_json_walk_skip(root, node);
            sirix_json_detach(node);
        }
        node = next;
    }
}

static bool read_value(const struct comparison *comparison, struct sirix_bytes text,
                       struct sirix_json_tree *out)
{
    if (sirix_json_tree_init(out, comparison->arena, NULL) != SIRIX_OK ||
        sirix_json_tree_parse(out, text, NULL, NULL, NULL) != SIRIX_OK) {
        return false;
    }
    drop_ignored(comparison, out->root);
    return true;
}

static bool same_structure(const struct comparison *comparison, struct sirix_bytes is,
                           struct sirix_bytes should)
{
    struct sirix_json_tree trees[2];

    return read_value(comparison, is, &trees[0]) && read_value(comparison, should, &trees[1]) &&
           sirix_json_equal(&trees[0], trees[0].root, &trees[1], trees[1].root);
}

/* --- Atomic items ------------------------------------------------------------------------------- */

static bool read_number(struct sirix_bytes text, double *out)
{
    char copy[NUMBER_BYTES_MAX];
    char *end = NULL;

    if (text.len == 0 || text.len >= sizeof(copy) ||
        strchr("+-.0123456789", *(const char *)text.data) == NULL) {
        return false;
    }
    memcpy(copy, text.data, text.len);
    copy[text.len] = '\0';
    *out = strtod(copy, &end);
    return *end == '\0' && isfinite(*out) && strpbrk(copy, "xX") == NULL;
}

static bool same_atomic(const struct comparison *comparison, struct sirix_bytes is,
                        struct sirix_bytes should)
{
    double a = 0;
    double b = 0;

    if (sirix_bytes_equal(is, should)) {
        return true;
    }
    if (!read_number(is, &a) || !read_number(should, &b)) {
        return false;
    }
    return fabs(a - b) <= comparison->tolerance * fmax(fabs(a), fabs(b));
}

/* --- Sequences ---------------------------------------------------------------------------------- */

static bool same_item(const struct comparison *comparison, const struct result_item *item,
                      const struct sirix_json_node *expect)
{
    struct sirix_bytes should = plain_text(comparison->arena, expect);

    return item->atomic ? same_atomic(comparison, item->text, should)
                        : same_structure(comparison, item->text, should);
}

/* Each expected item takes one that is not taken yet. */
static bool same_in_any_order(const struct comparison *comparison, const struct result_item *items,
                              size_t count, const struct sirix_json_node *expect)
{
    bool *taken = calloc(count + 1, sizeof(*taken));
    bool is_same = true;

    assert(taken != NULL);
    for (const struct sirix_json_node *node = sirix_json_first(expect); node != NULL && is_same;
         node = node->next) {
        size_t i = 0;

        while (i < count && (taken[i] || !same_item(comparison, &items[i], node))) {
            i++;
        }
        is_same = i < count;
        taken[is_same ? i : count] = true;
    }
    free(taken);
    return is_same;
}

bool compare_results(const struct comparison *comparison, const struct result_item *items,
                     size_t count, const struct sirix_json_node *expect)
{
    const struct sirix_json_node *node = sirix_json_first(expect);

    if (sirix_json_count(expect) != count) {
        return false;
    }
    if (comparison->any_order) {
        return same_in_any_order(comparison, items, count, expect);
    }
    for (size_t i = 0; i < count; i++, node = node->next) {
        if (!same_item(comparison, &items[i], node)) {
            return false;
        }
    }
    return true;
}
