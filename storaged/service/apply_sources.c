/* A patch or a diff, done to the edit of a branch's head. */
#include "service/apply_sources.h"

#include <stdlib.h>
#include <string.h>

#include "service/diff.h"
#include "store/document/apply.h"
#include "store/document/patch.h"

/* A value as deep as a document may be, in the operation that is in the patch. */
enum { PATCH_DEPTH_MAX = SIRIX_DOCUMENT_DEPTH_MAX + 2 };

static enum sirix_status fail_field(struct sirix_error *err, enum sirix_reason reason,
                                    const char *field, const char *what)
{
    enum sirix_status status = sirix_fail_reason(err, SIRIX_INVALID, reason, "%s", what);

    sirix_error_set_field(err, field);
    return status;
}

enum sirix_status sirix_apply_check_source(const struct sirix_apply_request *wanted,
                                           struct sirix_error *err)
{
    if (wanted->source == SIRIX_APPLY_DIFF) {
        return wanted->to.which == SIRIX_VIEW_WHICH_NONE && wanted->to.timestamp.len == 0
                   ? fail_field(err, SIRIX_REASON_FIELD_MISSING, "diff.to",
                                "a diff says what its changes lead to")
                   : SIRIX_OK;
    }
    if (wanted->patch_streamed) {
        return SIRIX_OK;
    }
    if (wanted->patch.len == 0) {
        return fail_field(err, SIRIX_REASON_FIELD_MISSING, "json_patch", "the patch has no text");
    }
    return wanted->patch.len > SIRIX_APPLY_VALUE_BYTES_MAX
               ? fail_field(err, SIRIX_REASON_SIZE_LIMIT, "json_patch",
                            "a patch of more than 1 MiB goes through ApplyStream")
               : SIRIX_OK;
}

enum sirix_status sirix_apply_pause(void *context, struct sirix_error *err)
{
    const struct sirix_write *write = context;

    return sirix_cancel_check(write->request.cancel, err);
}

/* --- Patches ------------------------------------------------------------------------------------ */

/* All of the spool in one piece. */
static enum sirix_status read_spool(const struct sirix_apply_work *work, struct sirix_buf *text,
                                    struct sirix_error *err)
{
    const struct sirix_spool *spool = work->wanted->spool;
    enum sirix_status status = SIRIX_OK;
    struct sirix_buf scratch;

    sirix_buf_init(&scratch, SIRIX_SPOOL_PIECE_BYTES);
    status = sirix_buf_reserve(text, (size_t)spool->len, err);
    for (uint64_t at = 0; status == SIRIX_OK && at < spool->len;) {
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        status = sirix_apply_pause(work->write, err);
        if (status == SIRIX_OK) {
            status = sirix_spool_read(spool, at, spool->len - at, &scratch, &piece, err);
        }
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(text, piece, err);
        }
        at += piece.len;
    }
    sirix_buf_deinit(&scratch);
    return status;
}

static enum sirix_status read_patch(const struct sirix_apply_work *work,
                                    struct sirix_json_tree *tree, struct sirix_error *err)
{
    const struct sirix_json_tree_options options = {.reader = {.depth_max = PATCH_DEPTH_MAX}};
    struct sirix_bytes text = work->wanted->patch;
    enum sirix_status status = SIRIX_OK;
    struct sirix_buf streamed;

    sirix_buf_init(&streamed, SIRIX_APPLY_PATCH_BYTES_MAX);
    if (work->wanted->patch_streamed) {
        status = read_spool(work, &streamed, err);
        text = sirix_buf_view(&streamed);
    }
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(tree, text, &options, NULL, err);
    }
    sirix_buf_deinit(&streamed); /* The tree has its own copy. */
    return status;
}

static uint64_t count_tests(struct sirix_json_tree *tree)
{
    static const struct sirix_bytes test = {.data = "test", .len = 4};
    uint64_t tests = 0;

    for (struct sirix_json_node *operation = sirix_json_first(tree->root); operation != NULL;
         operation = operation->next) {
        const struct sirix_json_node *op = sirix_json_member_str(tree, operation, "op");

        tests += sirix_bytes_equal(op->value.text, test) ? 1 : 0;
    }
    return tests;
}

enum sirix_status sirix_apply_patch_source(const struct sirix_apply_work *work,
                                           struct sirix_apply_result *result,
                                           struct sirix_error *err)
{
    struct sirix_json_tree tree;
    struct sirix_arena arena;
    enum sirix_status status = SIRIX_OK;

    sirix_arena_init(&arena, SIRIX_APPLY_PATCH_TREE_BYTES_MAX);
    status = sirix_json_tree_init(&tree, &arena, err);
    if (status == SIRIX_OK) {
        status = read_patch(work, &tree, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_apply(work->edit, &tree, tree.root, SIRIX_PATCH_OPS_MAX, err);
    }
    if (status == SIRIX_OK) {
        result->tests = count_tests(&tree);
        result->applied = sirix_json_count(tree.root) - result->tests;
        result->operations_known = true;
    } else if (status == SIRIX_INVALID || status == SIRIX_EXHAUSTED) {
        sirix_error_set_field(err, "json_patch");
    }
    sirix_arena_deinit(&arena);
    return status;
}

/* --- Diffs -------------------------------------------------------------------------------------- */

static int compare_pairs(const void *a, const void *b)
{
    uint64_t left = ((const struct sirix_key_pair *)a)->source_key;
    uint64_t right = ((const struct sirix_key_pair *)b)->source_key;

    return left < right ? -1 : left > right;
}

/* All pairs are sorted, so that the first ones are the same however often they are asked for. */
static enum sirix_status list_keys(const struct sirix_apply_work *work, const struct sirix_map *map,
                                   struct sirix_apply_result *result, struct sirix_error *err)
{
    struct sirix_key_pair *pairs = calloc(map->count + 1, sizeof(*pairs));
    enum sirix_status status = SIRIX_OK;
    void *memory = NULL;
    size_t cursor = 0;
    size_t count = 0;

    if (pairs == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate %zu pairs of keys", map->count);
    }
    while (count < map->count &&
           sirix_map_next(map, &cursor, &pairs[count].source_key, &pairs[count].node_key)) {
        count++;
    }
    qsort(pairs, count, sizeof(*pairs), compare_pairs);
    count = count < SIRIX_APPLY_KEYS_MAX ? count : SIRIX_APPLY_KEYS_MAX;
    status = sirix_arena_calloc(work->arena, count, sizeof(*pairs), &memory, err);
    if (status == SIRIX_OK) {
        memcpy(memory, pairs, count * sizeof(*pairs));
        result->keys = memory;
        result->key_count = count;
    }
    free(pairs);
    return status;
}

static enum sirix_status apply_views(const struct sirix_apply_work *work,
                                     const struct sirix_view *from, const struct sirix_view *to,
                                     struct sirix_apply_result *result, struct sirix_error *err)
{
    const struct sirix_diff_options options = {.old_view = from,
                                               .new_view = to,
                                               .reader = work->write->target.reader,
                                               .pause = sirix_apply_pause,
                                               .pause_context = work->write};
    struct sirix_apply_counts counts = {.applied = 0, .already = 0};
    struct sirix_diff *diff = NULL;
    struct sirix_map keys;

    sirix_map_init(&keys);
    enum sirix_status status = sirix_diff_new(&options, &diff, err);
    if (status == SIRIX_OK) {
        status = sirix_apply(diff, work->edit, &keys, &counts, err);
    }
    if (status == SIRIX_OK) {
        result->applied = counts.applied;
        result->already = counts.already;
        result->operations_known = true;
        status = list_keys(work, &keys, result, err);
    }
    if (status == SIRIX_CONFLICT) {
        sirix_error_set_field(err, "diff");
    }
    sirix_diff_free(diff);
    sirix_map_deinit(&keys);
    return status;
}

enum sirix_status sirix_apply_diff_source(const struct sirix_apply_work *work,
                                          struct sirix_apply_result *result,
                                          struct sirix_error *err)
{
    const struct sirix_diff_views wanted = {
        .has_from = work->wanted->has_from,
        .from = work->wanted->from,
        .to = work->wanted->to,
        .from_field = "diff.from",
        .to_field = "diff.to",
    };
    struct sirix_view from = {0};
    struct sirix_view to = {0};

    enum sirix_status status =
        sirix_diff_views_open(&work->write->target, &wanted, &from, &to, err);
    if (status != SIRIX_OK) {
        return status;
    }
    status = apply_views(work, &from, &to, result, err);
    sirix_view_close(&from);
    sirix_view_close(&to);
    return status;
}
