/* What the JSON tests share: texts, and a tree of a text. */
#ifndef TESTS_UNIT_JSON_JSON_HELP_H
#define TESTS_UNIT_JSON_JSON_HELP_H

#include <stdio.h>
#include <string.h>

#include "json/tree.h"

static inline struct sirix_bytes text(const char *s)
{
    return (struct sirix_bytes){.data = s, .len = strlen(s)};
}

/* A repeatable random number. */
static inline uint64_t next_random(uint64_t *seed)
{
    *seed += UINT64_C(0x9e3779b97f4a7c15);
    return sirix_mix64(*seed);
}

static inline struct sirix_json_tree parsed(struct sirix_arena *arena, const char *json)
{
    struct sirix_json_tree tree;
    struct sirix_error err = {0};

    if (sirix_json_tree_init(&tree, arena, &err) != SIRIX_OK ||
        sirix_json_tree_parse(&tree, text(json), NULL, NULL, &err) != SIRIX_OK) {
        fail_msg("%.200s: %s", json, err.text);
    }
    return tree;
}

/* The compact text of a value, in the arena. */
static inline const char *printed(struct sirix_arena *arena, const struct sirix_json_node *node)
{
    struct sirix_buf buf;
    char *copy = NULL;

    sirix_buf_init(&buf, SIZE_MAX);
    assert_int_equal(sirix_json_tree_print(node, &buf, NULL), SIRIX_OK);
    assert_int_equal(sirix_arena_c_str(arena, sirix_buf_view(&buf), &copy, NULL), SIRIX_OK);
    sirix_buf_deinit(&buf);
    return copy;
}

#endif
