/*
 * Patches on any input: two or three lines of JSON, a, b and perhaps a patch. What must hold:
 *   - apply(diff(a, b), a) is b, and the other way round
 *   - a given patch is applied to a whole or not at all
 *   - value equality is symmetric, and what has the same text is equal
 */
#include <assert.h>
#include <string.h>

#include "json/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES_MAX = 64 * 1024 * 1024, TEXT_BYTES_MAX = 64 * 1024 };

static bool parse(struct sirix_arena *arena, struct sirix_bytes text, struct sirix_json_tree *out)
{
    const struct sirix_json_tree_options options = {.duplicates = SIRIX_JSON_DUPLICATES_LAST};

    return sirix_json_tree_init(out, arena, NULL) == SIRIX_OK &&
           sirix_json_tree_parse(out, text, &options, NULL, NULL) == SIRIX_OK;
}

static void check_diff(struct sirix_arena *arena, struct sirix_json_tree *a,
                       struct sirix_json_tree *b)
{
    struct sirix_json_tree patch;
    struct sirix_json_tree copy = *a;

    assert(sirix_json_tree_init(&patch, arena, NULL) == SIRIX_OK);
    assert(sirix_json_clone(&copy, a->root, &copy.root, NULL) == SIRIX_OK);
    assert(sirix_json_patch_diff(a, a->root, b, b->root, &patch, NULL, NULL) == SIRIX_OK);
    assert(sirix_json_patch_apply(&copy, &patch, patch.root, NULL, NULL) == SIRIX_OK);
    assert(sirix_json_same_text(&copy, copy.root, b, b->root, false));
    assert(sirix_json_equal(&copy, copy.root, b, b->root));
    assert(sirix_json_same_text(a, a->root, b, b->root, false) ==
           (sirix_json_count(patch.root) == 0));
}

static void check_patch(struct sirix_json_tree *a, struct sirix_json_tree *patch)
{
    struct sirix_json_tree copy = *a;

    assert(sirix_json_clone(&copy, a->root, &copy.root, NULL) == SIRIX_OK);
    if (sirix_json_patch_apply(&copy, patch, patch->root, NULL, NULL) != SIRIX_OK) {
        assert(sirix_json_same_text(&copy, copy.root, a, a->root, true));
    }
    assert(copy.root != NULL);
}

/* The line that starts at *at, which moves behind it. */
static struct sirix_bytes next_line(const uint8_t *data, size_t size, size_t *at)
{
    const uint8_t *start = data + *at;
    const uint8_t *end = *at < size ? memchr(start, '\n', size - *at) : NULL;
    struct sirix_bytes line = {.data = start,
                               .len = end == NULL ? size - *at : (size_t)(end - start)};

    *at += line.len + (end == NULL ? 0 : 1);
    return line;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sirix_json_tree a;
    struct sirix_json_tree b;
    struct sirix_json_tree patch;
    struct sirix_arena arena;
    size_t at = 0;

    if (size > TEXT_BYTES_MAX) {
        return 0;
    }
    sirix_arena_init(&arena, ARENA_BYTES_MAX);
    if (parse(&arena, next_line(data, size, &at), &a) &&
        parse(&arena, next_line(data, size, &at), &b)) {
        assert(sirix_json_equal(&a, a.root, &b, b.root) ==
               sirix_json_equal(&b, b.root, &a, a.root));
        check_diff(&arena, &a, &b);
        check_diff(&arena, &b, &a);
        if (at < size && parse(&arena, next_line(data, size, &at), &patch)) {
            check_patch(&a, &patch);
        }
    }
    sirix_arena_deinit(&arena);
    return 0;
}
