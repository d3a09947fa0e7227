/*
 * A diff, a batch a turn. It keeps two views and a stream's reader, yielded at the end of each turn.
 * Changes past max_changes are counted without being read.
 */
#include "service/diff.h"

#include <stdlib.h>

#include "store/document/patch.h"
#include "json/text.h"

enum { CHECK_EVERY = 256, BATCH_ARENA_BYTES = 16 * 1024 * 1024 };

struct sirix_diff_stream {
    struct sirix_request request;
    struct sirix_target target;
    struct sirix_view from;
    struct sirix_view to;
    bool has_views;
    struct sirix_diff *diff;
    struct sirix_patch_writer *patch;
    bool patch_done;
    struct sirix_buf text;    /* Scratch, and the piece of a patch. */
    struct sirix_arena arena; /* Of one batch. */
    uint64_t value_max;
    uint64_t changes_left;
    bool truncated;
    bool over;
};

/* --- Opening ------------------------------------------------------------------------------------ */

/* Puts the newest revision that both come from in the place of `from`. */
static enum sirix_status go_to_parting(struct sirix_target *target, const struct sirix_view *to,
                                       struct sirix_view *from, struct sirix_error *err)
{
    struct sirix_view_spec spec = {.by = SIRIX_VIEW_REVISION};
    struct sirix_view parting = {0};
    uint64_t address = 0;

    enum sirix_status status =
        sirix_view_merge_base(target->reader, from, to, &spec.revision, &address, err);
    if (status == SIRIX_OK) {
        status = sirix_view_open(target->resource, target->reader, &spec, &parting, err);
    }
    if (status == SIRIX_OK) {
        sirix_view_close(from);
        *from = parting;
    }
    return status;
}

enum sirix_status sirix_diff_views_open(struct sirix_target *target,
                                        const struct sirix_diff_views *wanted,
                                        struct sirix_view *out_from, struct sirix_view *out_to,
                                        struct sirix_error *err)
{
    struct sirix_error no_parent = {0};
    struct sirix_view from = {0};
    struct sirix_view to = {0};

    enum sirix_status status = sirix_target_view(target, &wanted->to, wanted->to_field, &to, err);
    if (status != SIRIX_OK) {
        return status;
    }
    if (wanted->has_from) {
        status = sirix_target_view(target, &wanted->from, wanted->from_field, &from, err);
    } else if (to.record.parent_revision == 0) {
        const struct sirix_view_request same = {.which = SIRIX_VIEW_WHICH_REVISION,
                                                .revision = to.record.revision};
        status = sirix_target_view(target, &same, wanted->to_field, &from, err);
    } else {
        status = sirix_view_open_parent(&to, target->reader, &from, &no_parent);
        if (status != SIRIX_OK && err != NULL) {
            *err = no_parent;
        }
    }
    if (status == SIRIX_OK && wanted->since_parted) {
        status = go_to_parting(target, &to, &from, err);
    }
    if (status != SIRIX_OK) {
        sirix_view_close(&from);
        sirix_view_close(&to);
        return status;
    }
    *out_from = from;
    *out_to = to;
    return SIRIX_OK;
}

/* In the middle of a step that passes many rows. */
static enum sirix_status pause_step(void *context, struct sirix_error *err)
{
    struct sirix_diff_stream *stream = context;

    sirix_reader_yield(stream->target.reader);
    return sirix_cancel_check(stream->request.cancel, err);
}

static enum sirix_status open_work(struct sirix_diff_stream *stream,
                                   const struct sirix_diff_request *wanted, struct sirix_error *err)
{
    const struct sirix_diff_options native = {.old_view = &stream->from,
                                              .new_view = &stream->to,
                                              .reader = stream->target.reader,
                                              .pause = pause_step,
                                              .pause_context = stream};
    const struct sirix_patch_options patch = {.old_view = &stream->from,
                                              .new_view = &stream->to,
                                              .reader = stream->target.reader,
                                              .max_ops = wanted->max_patch_operations,
                                              .pause = pause_step,
                                              .pause_context = stream};

    return wanted->json_patch ? sirix_patch_writer_new(&patch, &stream->patch, err)
                              : sirix_diff_new(&native, &stream->diff, err);
}

enum sirix_status sirix_diff_stream_open(const struct sirix_request *request,
                                         const struct sirix_diff_request *wanted,
                                         struct sirix_diff_stream **out_stream,
                                         struct sirix_diff_ends *out_ends, struct sirix_error *err)
{
    uint64_t value_max = 0;
    uint64_t operations = 0;
    enum sirix_status status =
        sirix_limit_check(wanted->max_value_bytes, SIRIX_DIFF_VALUE_DEFAULT, SIRIX_DIFF_VALUE_MAX,
                          "max_value_bytes", &value_max, err);

    if (status == SIRIX_OK) {
        status = sirix_limit_check(wanted->max_patch_operations, SIRIX_PATCH_OPS_DEFAULT,
                                   SIRIX_PATCH_OPS_MAX, "max_patch_operations", &operations, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    struct sirix_diff_stream *stream = calloc(1, sizeof(*stream));
    if (stream == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "allocate a diff stream");
    }
    stream->request = *request;
    stream->value_max = value_max;
    stream->changes_left = wanted->max_changes == 0 ? UINT64_MAX : wanted->max_changes;
    sirix_buf_init(&stream->text, SIZE_MAX);
    sirix_arena_init(&stream->arena, BATCH_ARENA_BYTES);
    status =
        sirix_target_open_stream(request, wanted->database, wanted->resource, &stream->target, err);
    if (status == SIRIX_OK) {
        const struct sirix_diff_views views = {.has_from = wanted->has_from,
                                               .from = wanted->from,
                                               .to = wanted->to,
                                               .since_parted = wanted->since_parted,
                                               .from_field = "from",
                                               .to_field = "to"};
        status = sirix_diff_views_open(&stream->target, &views, &stream->from, &stream->to, err);
        stream->has_views = status == SIRIX_OK;
    }
    if (status == SIRIX_OK) {
        status = open_work(stream, wanted, err);
    }
    if (status != SIRIX_OK) {
        sirix_diff_stream_close(stream);
        return status;
    }
    *out_ends = (struct sirix_diff_ends){
        .from_revision = stream->from.record.revision,
        .to_revision = stream->to.record.revision,
        .from_time_us = stream->from.record.time_us,
        .to_time_us = stream->to.record.time_us,
    };
    sirix_reader_yield(stream->target.reader);
    *out_stream = stream;
    return SIRIX_OK;
}

void sirix_diff_stream_close(struct sirix_diff_stream *stream)
{
    if (stream == NULL) {
        return;
    }
    sirix_diff_free(stream->diff);
    sirix_patch_writer_free(stream->patch);
    if (stream->has_views) {
        sirix_view_close(&stream->from);
        sirix_view_close(&stream->to);
    }
    sirix_target_close(&stream->target);
    sirix_buf_deinit(&stream->text);
    sirix_arena_deinit(&stream->arena);
    free(stream);
}

/* --- Changes ------------------------------------------------------------------------------------ */

static enum sirix_status keep_text(struct sirix_diff_stream *stream, struct sirix_bytes *out,
                                   struct sirix_error *err)
{
    return sirix_arena_copy(&stream->arena, sirix_buf_view(&stream->text), out, err);
}

static enum sirix_status read_name(struct sirix_diff_stream *stream,
                                   const struct sirix_change *change, enum sirix_diff_side side,
                                   struct sirix_bytes *out, struct sirix_error *err)
{
    struct sirix_bytes plain = {.data = NULL, .len = 0};

    sirix_buf_clear(&stream->text);
    enum sirix_status status = sirix_diff_name(stream->diff, change, side, &stream->text, err);
    if (status == SIRIX_OK) {
        status =
            sirix_json_text_to_plain(&stream->arena, sirix_buf_view(&stream->text), &plain, err);
    }
    if (status == SIRIX_OK) {
        status = sirix_arena_copy(&stream->arena, plain, out, err);
    }
    return status;
}

static enum sirix_status read_value(struct sirix_diff_stream *stream,
                                    const struct sirix_change *change, enum sirix_diff_side side,
                                    struct sirix_bytes *out, bool *out_cut, struct sirix_error *err)
{
    if (change->kind == SIRIX_CHANGE_RENAME || change->kind == SIRIX_CHANGE_MOVE) {
        return SIRIX_OK;
    }
    sirix_buf_clear(&stream->text);
    enum sirix_status status = sirix_diff_value(
        stream->diff, change, side, (size_t)stream->value_max, &stream->text, out_cut, err);
    return status == SIRIX_OK ? keep_text(stream, out, err) : status;
}

static enum sirix_status read_item(struct sirix_diff_stream *stream,
                                   const struct sirix_change *change, struct sirix_diff_item *item,
                                   struct sirix_error *err)
{
    enum sirix_diff_side shown =
        change->kind == SIRIX_CHANGE_DELETE ? SIRIX_DIFF_BEFORE : SIRIX_DIFF_AFTER;

    *item = (struct sirix_diff_item){.change = *change};
    sirix_buf_clear(&stream->text);
    enum sirix_status status =
        sirix_diff_path(stream->diff, change, shown, SIRIX_PATH_SIRIX, &stream->text, err);
    if (status == SIRIX_OK) {
        status = keep_text(stream, &item->path, err);
    }
    if (status == SIRIX_OK) {
        status =
            read_value(stream, change, SIRIX_DIFF_BEFORE, &item->old_value, &item->old_cut, err);
    }
    if (status == SIRIX_OK) {
        status =
            read_value(stream, change, SIRIX_DIFF_AFTER, &item->new_value, &item->new_cut, err);
    }
    if (status == SIRIX_OK && change->is_member) {
        status = read_name(stream, change, SIRIX_DIFF_BEFORE, &item->old_name, err);
    }
    if (status == SIRIX_OK && change->is_member) {
        status = read_name(stream, change, SIRIX_DIFF_AFTER, &item->new_name, err);
    }
    return status;
}

/* One step of the diff: *out_over after the last. */
static enum sirix_status next_change(struct sirix_diff_stream *stream,
                                     struct sirix_change *out_change, bool *out_over,
                                     struct sirix_error *err)
{
    struct sirix_error end = {0};

    enum sirix_status status = sirix_diff_next(stream->diff, out_change, &end);
    *out_over = status == SIRIX_NOT_FOUND && end.reason == SIRIX_REASON_NONE;
    if (*out_over) {
        stream->over = true;
        return SIRIX_OK;
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = end;
    }
    return status;
}

/* Counts what max_changes leaves out. */
static enum sirix_status count_rest(struct sirix_diff_stream *stream, struct sirix_error *err)
{
    struct sirix_change change;
    enum sirix_status status = SIRIX_OK;
    bool over = false;

    for (uint64_t i = 0; status == SIRIX_OK && !over; i++) {
        if (i % CHECK_EVERY == 0) {
            sirix_reader_yield(stream->target.reader);
            status = sirix_cancel_check(stream->request.cancel, err);
        }
        if (status == SIRIX_OK) {
            status = next_change(stream, &change, &over, err);
            stream->truncated = stream->truncated || (status == SIRIX_OK && !over);
        }
    }
    return status;
}

static size_t item_bytes(const struct sirix_diff_item *item)
{
    return item->path.len + item->old_value.len + item->new_value.len + item->old_name.len +
           item->new_name.len;
}

enum sirix_status sirix_diff_stream_changes(struct sirix_diff_stream *stream,
                                            const struct sirix_diff_item **out_items,
                                            size_t *out_count, struct sirix_error *err)
{
    void *memory = NULL;
    size_t count = 0;
    size_t bytes = 0;
    bool over = false;

    sirix_arena_reset(&stream->arena);
    enum sirix_status status = sirix_arena_calloc(&stream->arena, SIRIX_DIFF_BATCH_CHANGES,
                                                  sizeof(struct sirix_diff_item), &memory, err);
    struct sirix_diff_item *items = memory;
    while (status == SIRIX_OK && !stream->over && stream->changes_left > 0 &&
           count < SIRIX_DIFF_BATCH_CHANGES && bytes < SIRIX_DIFF_BATCH_BYTES) {
        struct sirix_change change;
        status = sirix_cancel_check(stream->request.cancel, err);
        if (status == SIRIX_OK) {
            status = next_change(stream, &change, &over, err);
        }
        if (status == SIRIX_OK && !over) {
            status = read_item(stream, &change, &items[count], err);
        }
        if (status == SIRIX_OK && !over) {
            bytes += item_bytes(&items[count++]);
            stream->changes_left--;
        }
    }
    if (status == SIRIX_OK && count == 0 && !stream->over) {
        status = count_rest(stream, err);
    }
    sirix_reader_yield(stream->target.reader);
    if (status == SIRIX_OK) {
        *out_items = items;
        *out_count = count;
    }
    return status;
}

/* --- Patch -------------------------------------------------------------------------------------- */

enum sirix_status sirix_diff_stream_patch(struct sirix_diff_stream *stream,
                                          struct sirix_bytes *out_piece, struct sirix_error *err)
{
    enum sirix_status status = sirix_cancel_check(stream->request.cancel, err);

    sirix_buf_clear(&stream->text);
    while (status == SIRIX_OK && stream->text.len == 0 && !stream->patch_done) {
        status = sirix_patch_writer_step(stream->patch, SIRIX_DIFF_BATCH_BYTES, &stream->text,
                                         &stream->patch_done, err);
    }
    sirix_reader_yield(stream->target.reader);
    if (status == SIRIX_OK) {
        *out_piece = sirix_buf_view(&stream->text);
    }
    return status;
}

struct sirix_diff_counts sirix_diff_stream_counts(const struct sirix_diff_stream *stream,
                                                  bool *out_truncated)
{
    *out_truncated = stream->truncated;
    return stream->diff == NULL ? sirix_patch_writer_changes(stream->patch)
                                : sirix_diff_counts(stream->diff);
}
