/*
 * Pages that an edit writes before its commit. Few of them stay in memory and go out with the commit's
 * own segment, in one transaction; more than that go to disk under an intent, which dies with the
 * publication or names what must be deleted.
 */
#include <stdlib.h>

#include "store/document/edit_state.h"
#include "store/document/flusher.h"

enum { SEGMENTS_MIN = 8 };

static enum sirix_status keep_segment(void *context, struct sirix_segment_built *segment,
                                      struct sirix_error *err)
{
    struct sirix_edit *edit = context;
    enum sirix_status status = sirix_edit_pause(edit, err);

    if (status != SIRIX_OK) {
        free(segment->bytes);
        return status;
    }
    if (edit->early_count == edit->early_cap) {
        size_t cap = edit->early_cap == 0 ? SEGMENTS_MIN : edit->early_cap * 2;
        struct sirix_segment_built *segments =
            realloc(edit->early_segments, cap * sizeof(*segments));
        if (segments == NULL) {
            free(segment->bytes);
            return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for %zu segments", cap);
        }
        edit->early_segments = segments;
        edit->early_cap = cap;
    }
    edit->early_segments[edit->early_count++] = *segment;
    edit->early_bytes += segment->len;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_early(struct sirix_edit *edit, struct sirix_page_writer **out_writer,
                                   struct sirix_error *err)
{
    const struct sirix_page_writer_options options = {
        .backend = sirix_reader_backend(edit->reader),
        .resource_id = sirix_resource_id(edit->base.resource),
        .flush = keep_segment,
        .flush_context = edit,
    };
    enum sirix_status status = SIRIX_OK;

    if (edit->early == NULL) {
        status = sirix_page_writer_new(&options, &edit->early, err);
    }
    if (status == SIRIX_OK) {
        *out_writer = edit->early;
    }
    return status;
}

/* The first count segments are somebody else's now. */
static void shift_segments(struct sirix_edit *edit, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        edit->early_bytes -= edit->early_segments[i].len;
    }
    edit->early_count -= count;
    if (edit->early_count != 0) {
        memmove(edit->early_segments, edit->early_segments + count,
                edit->early_count * sizeof(edit->early_segments[0]));
    }
}

static void forget_segments(struct sirix_edit *edit)
{
    for (size_t i = 0; i < edit->early_count; i++) {
        free(edit->early_segments[i].bytes);
    }
    edit->early_count = 0;
    edit->early_bytes = 0;
}

/* How many of the first segments fit one background work. */
static size_t batch_count(const struct sirix_edit *edit)
{
    size_t bytes = edit->early_segments[0].len;
    size_t count = 1;

    while (count < edit->early_count &&
           bytes + edit->early_segments[count].len <= SIRIX_BACKGROUND_BYTES_MAX) {
        bytes += edit->early_segments[count++].len;
    }
    return count;
}

static enum sirix_status start_flushing(struct sirix_edit *edit, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    if (edit->intent == 0) {
        status = sirix_intent_begin(edit->base.resource, &edit->intent, err);
    }
    if (status == SIRIX_OK && edit->flusher == NULL) {
        status = sirix_flusher_start(edit->base.resource, edit->intent, &edit->flusher, err);
    }
    return status;
}

static enum sirix_status give_batch(struct sirix_edit *edit, struct sirix_error *err)
{
    size_t count = batch_count(edit);
    enum sirix_status status = sirix_flusher_give(edit->flusher, edit->early_segments, count, err);

    if (status == SIRIX_OK) {
        shift_segments(edit, count);
    }
    return status;
}

/* Sends all closed segments on their way to the disk; waits for each before it. */
static enum sirix_status flush_segments(struct sirix_edit *edit, struct sirix_error *err)
{
    enum sirix_status status = edit->early_count != 0 ? start_flushing(edit, err) : SIRIX_OK;

    while (status == SIRIX_OK && edit->early_count != 0) {
        status = give_batch(edit, err);
    }
    return status;
}

/* And waits until they are there: outside, as a reader that is in keeps the map from growing. */
static enum sirix_status flush_all(struct sirix_edit *edit, struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    sirix_reader_yield(edit->reader);
    status = flush_segments(edit, err);
    if (status == SIRIX_OK && edit->flusher != NULL) {
        status = sirix_flusher_wait(edit->flusher, err);
    }
    sirix_reader_yield(edit->reader); /* What was put is seen from here on. */
    return status;
}

static bool is_much(const struct sirix_edit *edit)
{
    return edit->early_bytes + SIRIX_SEGMENT_BULK_BYTES > SIRIX_EDIT_EARLY_BYTES_MAX;
}

enum sirix_status sirix_edit_early_relieve(struct sirix_edit *edit, struct sirix_error *err)
{
    return is_much(edit) && edit->flusher != NULL && sirix_flusher_is_idle(edit->flusher)
               ? give_batch(edit, err)
               : SIRIX_OK;
}

enum sirix_status sirix_edit_early_between(struct sirix_edit *edit, struct sirix_error *err)
{
    if (edit->flusher == NULL && !is_much(edit)) {
        return SIRIX_OK;
    }
    sirix_reader_yield(edit->reader);
    return is_much(edit) ? flush_segments(edit, err) : SIRIX_OK;
}

/* --- Texts --------------------------------------------------------------------------------------- */

static void forget_texts(struct sirix_edit *edit)
{
    size_t cursor = 0;
    uint64_t key = 0;
    uint64_t value = 0;

    while (sirix_map_next(&edit->early_texts, &cursor, &key, &value)) {
        free(sirix_edit_pointer(value));
    }
    sirix_map_clear(&edit->early_texts);
    edit->early_text_bytes = 0;
}

enum sirix_status sirix_edit_early_keep(struct sirix_edit *edit, uint64_t address,
                                        struct sirix_bytes text, struct sirix_error *err)
{
    struct sirix_early_text *copy = malloc(sizeof(*copy) + text.len);
    enum sirix_status status = SIRIX_OK;

    if (copy == NULL) {
        return sirix_fail(err, SIRIX_NO_MEMORY, "no memory for a text of %zu bytes", text.len);
    }
    copy->len = text.len;
    memcpy(copy->bytes, text.data, text.len);
    status = sirix_map_put_ptr(&edit->early_texts, address, copy, err);
    if (status != SIRIX_OK) {
        free(copy);
        return status;
    }
    edit->early_text_bytes += text.len;
    return SIRIX_OK;
}

enum sirix_status sirix_edit_early_text(struct sirix_edit *edit, struct sirix_bytes text, bool keep,
                                        struct sirix_text *out_text, struct sirix_error *err)
{
    struct sirix_page_writer *pages = NULL;
    struct sirix_string_writer writer = {0};
    struct sirix_text stored = {0};
    uint64_t decoded = 0;
    enum sirix_status status = sirix_edit_early(edit, &pages, err);

    if (status == SIRIX_OK) {
        status = sirix_string_writer_init(&writer, pages, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    status = sirix_string_writer_append(&writer, text, err);
    if (status == SIRIX_OK) {
        status = sirix_string_writer_finish(&writer, &stored, &decoded, err);
    }
    sirix_string_writer_deinit(&writer);
    if (status == SIRIX_OK && keep) {
        status = sirix_edit_early_keep(edit, stored.address, text, err);
    }
    if (status == SIRIX_OK) {
        *out_text = stored;
    }
    return status;
}

const struct sirix_early_text *sirix_edit_early_text_find(struct sirix_edit *edit, uint64_t address)
{
    return sirix_map_get_ptr(&edit->early_texts, address);
}

/* --- Ending -------------------------------------------------------------------------------------- */

/* Ends the writer; its hash is chained to those of the writers before it. */
static enum sirix_status end_writer(struct sirix_edit *edit, struct sirix_error *err)
{
    struct sirix_segment_built *none = NULL;
    uint8_t hashes[2 * SIRIX_SHA256_BYTES];
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    if (edit->early == NULL) {
        return SIRIX_OK;
    }
    memcpy(hashes, edit->early_body, SIRIX_SHA256_BYTES);
    status = sirix_page_writer_finish(edit->early, &none, &count, hashes + SIRIX_SHA256_BYTES, err);
    free(none);
    sirix_page_writer_free(edit->early);
    edit->early = NULL;
    if (status == SIRIX_OK) {
        status = sirix_sha256(hashes, sizeof(hashes), edit->early_body, err);
        edit->has_early = true;
    }
    return status;
}

enum sirix_status sirix_edit_early_settle(struct sirix_edit *edit, struct sirix_error *err)
{
    enum sirix_status status = end_writer(edit, err);

    if (status == SIRIX_OK) {
        status = flush_all(edit, err);
    }
    if (status == SIRIX_OK) {
        forget_texts(edit);
    }
    return status;
}

enum sirix_status sirix_edit_early_tidy(struct sirix_edit *edit, struct sirix_error *err)
{
    return edit->early_text_bytes + edit->early_bytes > SIRIX_EDIT_EARLY_BYTES_MAX
               ? sirix_edit_early_settle(edit, err)
               : SIRIX_OK;
}

enum sirix_status sirix_edit_early_finish(struct sirix_edit *edit, struct sirix_error *err)
{
    enum sirix_status status = end_writer(edit, err);

    if (status == SIRIX_OK && edit->intent != 0) {
        status = flush_all(edit, err);
    }
    return status;
}

void sirix_edit_early_deinit(struct sirix_edit *edit)
{
    sirix_page_writer_free(edit->early);
    edit->early = NULL;
    forget_segments(edit);
    sirix_flusher_stop(edit->flusher);
    edit->flusher = NULL;
    free(edit->early_segments);
    edit->early_segments = NULL;
    edit->early_cap = 0;
    forget_texts(edit);
    if (edit->intent != 0 && !edit->intent_given) {
        /* What cannot be deleted now is deleted when the database is opened again. */
        enum sirix_status ignored = sirix_intent_abandon(edit->base.resource, edit->intent, NULL);
        (void)ignored;
    }
    edit->intent = 0;
}
