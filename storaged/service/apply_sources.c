/* A patch or a diff, done to the edit of a branch's head. */
#include "service/apply_sources.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "service/diff.h"
#include "store/document/apply.h"
#include "store/document/patch.h"
#include "json/reader.h"
#include "json/tree.h"

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

/*
 * A patch is read twice: once for its form and the number of its operations, then operation after
 * operation, each into a tree of its own, so that no more than one is in memory.
 */
struct patch {
    const struct sirix_apply_work *work;
    struct sirix_json_reader reader;
    struct sirix_buf chunk; /* Of the spool: what the reader is at. */
    uint64_t at;            /* What the reader was fed. */
    uint64_t len;
    struct sirix_json_tree tree; /* One operation, in the arena. */
    struct sirix_arena arena;
    struct sirix_buf text;  /* Of one operation that is spooled, */
    struct sirix_buf piece; /* and a part of it. */
    struct sirix_patch_copies copies;
    uint64_t count;
    uint64_t tests;
};

typedef enum sirix_status (*operation_fn)(struct patch *patch, uint64_t start, uint64_t end,
                                          struct sirix_error *err);

static enum sirix_status read_piece(const struct patch *patch, uint64_t at, uint64_t max,
                                    struct sirix_buf *scratch, struct sirix_bytes *out_piece,
                                    struct sirix_error *err)
{
    const struct sirix_apply_request *wanted = patch->work->wanted;

    if (wanted->patch_streamed) {
        return sirix_spool_read(wanted->spool, at, max, scratch, out_piece, err);
    }
    *out_piece =
        (struct sirix_bytes){.data = (const uint8_t *)wanted->patch.data + at, .len = (size_t)max};
    return SIRIX_OK;
}

/* The text of one operation, which lies in one piece only where it is not spooled. */
static enum sirix_status read_operation(struct patch *patch, uint64_t start, uint64_t end,
                                        struct sirix_bytes *out_text, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (!patch->work->wanted->patch_streamed) {
        return read_piece(patch, start, end - start, NULL, out_text, err);
    }
    sirix_buf_clear(&patch->text);
    for (uint64_t at = start; status == SIRIX_OK && at < end;) {
        struct sirix_bytes piece = {.data = NULL, .len = 0};
        status = read_piece(patch, at, end - at, &patch->piece, &piece, err);
        if (status == SIRIX_OK) {
            status = sirix_buf_append_bytes(&patch->text, piece, err);
        }
        at += piece.len;
    }
    *out_text = sirix_buf_view(&patch->text);
    return status;
}

/* A place in an operation becomes one in the patch. */
static void shift_place(struct sirix_error *err, uint64_t number, uint64_t start)
{
    char pointer[SIRIX_ERROR_WHERE_BYTES + 24];

    if (err != NULL && err->has_offset) {
        (void)snprintf(pointer, sizeof(pointer), "/%" PRIu64 "%s", number, err->pointer);
        sirix_error_set_pointer(err, pointer);
        sirix_error_set_offset(err, err->offset + start);
    }
}

static enum sirix_status do_operation(struct patch *patch, uint64_t start, uint64_t end,
                                      struct sirix_error *err)
{
    const struct sirix_json_tree_options options = {.reader = {.depth_max = PATCH_DEPTH_MAX}};
    struct sirix_bytes text = {.data = NULL, .len = 0};
    bool is_test = false;

    sirix_arena_reset(&patch->arena);
    patch->tree.root = NULL;
    enum sirix_status status = read_operation(patch, start, end, &text, err);
    if (status == SIRIX_OK) {
        status = sirix_json_tree_parse(&patch->tree, text, &options, NULL, err);
        if (status == SIRIX_INVALID) {
            shift_place(err, patch->count, start);
        }
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_apply_one(patch->work->edit, &patch->tree, patch->tree.root,
                                       patch->count, &patch->copies, &is_test, err);
    }
    patch->count += 1;
    patch->tests += is_test ? 1 : 0;
    return status;
}

static enum sirix_status count_operation(struct patch *patch, uint64_t start, uint64_t end,
                                         struct sirix_error *err)
{
    (void)start;
    (void)end;
    (void)err;
    patch->count += 1;
    return SIRIX_OK;
}

static enum sirix_status feed(struct patch *patch, struct sirix_error *err)
{
    struct sirix_bytes piece = {.data = NULL, .len = 0};
    uint64_t left = patch->len - patch->at;
    uint64_t max = left < SIRIX_SPOOL_PIECE_BYTES ? left : SIRIX_SPOOL_PIECE_BYTES;
    enum sirix_status status = sirix_apply_pause(patch->work->write, err);

    if (status == SIRIX_OK && left != 0) {
        status = read_piece(patch, patch->at, max, &patch->chunk, &piece, err);
    }
    if (status == SIRIX_OK) {
        patch->at += piece.len;
        sirix_json_reader_feed(&patch->reader, piece, patch->at == patch->len);
    }
    return status;
}

/* The next event of the text, whatever has to be fed for it. */
static enum sirix_status next_event(struct patch *patch, struct sirix_json_event *event,
                                    struct sirix_error *err)
{
    enum sirix_status status = sirix_json_reader_next(&patch->reader, event, err);

    while (status == SIRIX_OK && event->kind == SIRIX_JSON_NEED_INPUT) {
        status = feed(patch, err);
        if (status == SIRIX_OK) {
            status = sirix_json_reader_next(&patch->reader, event, err);
        }
    }
    return status;
}

/* Calls visit for each element of the array that the text is. */
static enum sirix_status each_operation(struct patch *patch, operation_fn visit,
                                        struct sirix_error *err)
{
    struct sirix_json_event event = {.kind = SIRIX_JSON_NEED_INPUT};
    bool inside = false;
    uint64_t start = 0;

    patch->at = 0;
    patch->count = 0;
    sirix_json_reader_reset(&patch->reader);
    enum sirix_status status = next_event(patch, &event, err);
    if (status == SIRIX_OK && event.kind != SIRIX_JSON_ARRAY_BEGIN) {
        return sirix_patch_fail_form(err);
    }
    while (status == SIRIX_OK) {
        status = next_event(patch, &event, err);
        if (status != SIRIX_OK || event.kind == SIRIX_JSON_END) {
            break;
        }
        if (!inside) {
            start = event.offset;
            inside = sirix_json_reader_depth(&patch->reader) != 0;
        }
        if (inside && sirix_json_reader_depth(&patch->reader) == 1 &&
            (event.kind != SIRIX_JSON_STRING_PART || event.is_last)) {
            inside = false;
            status = visit(patch, start, sirix_json_reader_offset(&patch->reader), err);
        }
    }
    return status;
}

enum sirix_status sirix_apply_patch_source(const struct sirix_apply_work *work,
                                           struct sirix_apply_result *result,
                                           struct sirix_error *err)
{
    const struct sirix_apply_request *wanted = work->wanted;
    const struct sirix_json_reader_options options = {.depth_max = PATCH_DEPTH_MAX};
    struct patch patch = {.work = work,
                          .len = wanted->patch_streamed ? wanted->spool->len : wanted->patch.len};

    sirix_json_reader_init(&patch.reader, &options);
    sirix_arena_init(&patch.arena, SIRIX_APPLY_OPERATION_BYTES_MAX);
    sirix_buf_init(&patch.chunk, SIRIX_SPOOL_PIECE_BYTES);
    sirix_buf_init(&patch.piece, SIRIX_SPOOL_PIECE_BYTES);
    sirix_buf_init(&patch.text, SIRIX_APPLY_PATCH_BYTES_MAX);
    enum sirix_status status = sirix_json_tree_init(&patch.tree, &patch.arena, err);
    if (status == SIRIX_OK) {
        status = each_operation(&patch, count_operation, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_patch_check_count(patch.count, SIRIX_PATCH_OPS_MAX, err);
    }
    if (status == SIRIX_OK) {
        status = each_operation(&patch, do_operation, err);
    }
    if (status == SIRIX_OK) {
        result->tests = patch.tests;
        result->applied = patch.count - patch.tests;
        result->operations_known = true;
    } else if (status == SIRIX_INVALID || status == SIRIX_EXHAUSTED) {
        sirix_error_set_field(err, "json_patch");
    }
    sirix_json_reader_deinit(&patch.reader);
    sirix_arena_deinit(&patch.arena);
    sirix_buf_deinit(&patch.chunk);
    sirix_buf_deinit(&patch.piece);
    sirix_buf_deinit(&patch.text);
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
    const char *branch = work->write->branch;
    struct sirix_diff_views wanted = {
        .has_from = work->wanted->has_from,
        .from = work->wanted->from,
        .to = work->wanted->to,
        .since_parted = work->wanted->since_parted,
        .from_field = "diff.from",
        .to_field = "diff.to",
    };
    struct sirix_view from = {0};
    struct sirix_view to = {0};

    if (wanted.since_parted && !wanted.has_from) {
        wanted.has_from = true;
        wanted.from = (struct sirix_view_request){.which = SIRIX_VIEW_WHICH_BRANCH,
                                                  .name = {.data = branch, .len = strlen(branch)}};
    }
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
