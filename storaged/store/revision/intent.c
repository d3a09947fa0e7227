/*
 * Intents: what must be undone when a bulk commit dies, or finished when a drop dies.
 *
 *     T intent          kind, resource, how many rows of ranges
 *     U intent part     ranges of segment numbers, each named no later than its bytes are put
 *
 * A flush adds its ranges and its segments in one transaction; ranges that touch are joined, so an
 * import that has the numbers for itself keeps one. Undoing deletes segments of the last part first,
 * then that part's row, at most SIRIX_BACKGROUND_DELETES_MAX numbers or rows a transaction, and the
 * intent's own row last: killed anywhere, it goes on where it was.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>
#include <stdlib.h>

static enum sirix_status intent_get(struct sirix_group *group, uint64_t intent,
                                    struct sirix_intent_row *out_row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_intent(intent);
    struct sirix_bytes value = {0};
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_INTERNAL, "there is no intent %" PRIu64, intent);
    }
    return status == SIRIX_OK ? sirix_rows_intent_decode(value, out_row, err) : status;
}

static enum sirix_status intent_put(struct sirix_group *group, uint64_t intent,
                                    const struct sirix_intent_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_intent(intent);
    const struct sirix_rows_value value = sirix_rows_intent_encode(row);

    return sirix_row_put(group, &key, &value, err);
}

enum sirix_status sirix_intent_add(struct sirix_group *group, enum sirix_intent_kind kind,
                                   uint32_t resource, int64_t now_us, uint64_t *out_intent,
                                   struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_meta();
    const struct sirix_intent_row row = {.kind = kind, .resource = resource, .created_us = now_us};
    struct sirix_meta_row meta;
    struct sirix_rows_value changed;
    struct sirix_bytes value = {0};
    uint64_t intent = 0;
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_meta_decode(value, &meta, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    intent = meta.next_intent++;
    changed = sirix_rows_meta_encode(&meta);
    status = sirix_row_put(group, &key, &changed, err);
    if (status == SIRIX_OK) {
        status = intent_put(group, intent, &row, err);
    }
    if (status == SIRIX_OK) {
        *out_intent = intent;
    }
    return status;
}

enum sirix_status sirix_intent_name(struct sirix_group *group, uint64_t intent, uint64_t number,
                                    struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_intent_ranges(intent, 0);
    uint8_t range[SIRIX_INTENT_RANGE_BYTES];
    struct sirix_intent_row row;
    enum sirix_status status = intent_get(group, intent, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    assert(row.part_count == 0);
    row.part_count = 1;
    sirix_rows_range_put(range, (struct sirix_segment_range){.first = number, .last = number});
    status = sirix_group_ref_put(group, sirix_rows_key_view(&key),
                                 (struct sirix_bytes){.data = range, .len = sizeof(range)}, err);
    return status == SIRIX_OK ? intent_put(group, intent, &row, err) : status;
}

enum sirix_status sirix_intent_settle(struct sirix_group *group, uint64_t intent, uint32_t resource,
                                      struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_intent(intent);
    struct sirix_intent_row row;
    enum sirix_status status = intent_get(group, intent, &row, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (row.kind == SIRIX_INTENT_DROP || row.resource != resource) {
        return sirix_fail(err, SIRIX_INTERNAL, "intent %" PRIu64 " is of another resource", intent);
    }
    for (uint32_t part = 0; status == SIRIX_OK && part < row.part_count; part++) {
        const struct sirix_rows_key ranges = sirix_rows_key_intent_ranges(intent, part);

        status = sirix_row_delete(group, &ranges, err);
    }
    return status == SIRIX_OK ? sirix_row_delete(group, &key, err) : status;
}

/* --- Begin -------------------------------------------------------------------------------------- */

struct begin_work {
    struct sirix_commit_work work;
    const struct sirix_resource *resource;
    uint64_t intent;
};

static enum sirix_status begin_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                       struct sirix_error *err)
{
    struct begin_work *begin = (struct begin_work *)work;
    struct sirix_counters_row counters;
    enum sirix_status status = sirix_counters_get(group, begin->resource, &counters, err);

    if (status != SIRIX_OK) {
        return status;
    }
    return sirix_intent_add(group, SIRIX_INTENT_SEGMENTS, begin->resource->id,
                            sirix_database_now_us(begin->resource->database), &begin->intent, err);
}

enum sirix_status sirix_intent_begin(struct sirix_resource *resource, uint64_t *out_intent,
                                     struct sirix_error *err)
{
    struct begin_work begin = {
        .work = {.prepare = begin_prepare, .done = sirix_work_done},
        .resource = resource,
    };
    enum sirix_status status = sirix_database_writable(resource->database, err);

    if (status == SIRIX_OK) {
        status = sirix_committer_run(resource->database->committer, &begin.work, err);
    }
    if (status == SIRIX_OK) {
        *out_intent = begin.intent;
    }
    return status;
}

/* --- Flush -------------------------------------------------------------------------------------- */

struct flush_work {
    struct sirix_commit_work work;
    const struct sirix_resource *resource;
    uint64_t intent;
    const struct sirix_segment_built *segments;
    size_t count;
    uint8_t
        ranges[SIRIX_INTENT_RANGES_MAX * SIRIX_INTENT_RANGE_BYTES]; /* The part in the making. */
    size_t range_count;
};

/* Takes over the last part of the intent, if it has one and there is room in it. */
static enum sirix_status load_last_part(struct flush_work *flush, struct sirix_group *group,
                                        struct sirix_intent_row *row, struct sirix_error *err)
{
    struct sirix_rows_key key;
    struct sirix_bytes value = {0};
    size_t count = 0;
    enum sirix_status status = SIRIX_OK;

    flush->range_count = 0;
    if (row->part_count == 0) {
        row->part_count = 1;
        return SIRIX_OK;
    }
    key = sirix_rows_key_intent_ranges(flush->intent, row->part_count - 1);
    status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);
    if (status == SIRIX_NOT_FOUND) {
        return sirix_fail(err, SIRIX_CORRUPT, "intent %" PRIu64 " lacks its ranges", flush->intent);
    }
    if (status == SIRIX_OK) {
        status = sirix_rows_ranges_count(value, &count, err);
    }
    if (status == SIRIX_OK && count != 0) {
        memcpy(flush->ranges, value.data, value.len);
        flush->range_count = count;
    }
    return status;
}

static enum sirix_status put_part(struct flush_work *flush, struct sirix_group *group,
                                  uint32_t part, struct sirix_error *err)
{
    const struct sirix_rows_key key = sirix_rows_key_intent_ranges(flush->intent, part);
    const struct sirix_bytes value = {.data = flush->ranges,
                                      .len = flush->range_count * SIRIX_INTENT_RANGE_BYTES};

    return sirix_group_ref_put(group, sirix_rows_key_view(&key), value, err);
}

/* Names one segment number: joined to the last range where it follows it. */
static enum sirix_status name_number(struct flush_work *flush, struct sirix_group *group,
                                     struct sirix_intent_row *row, uint64_t number,
                                     struct sirix_error *err)
{
    const struct sirix_segment_range alone = {.first = number, .last = number};
    const struct sirix_bytes ranges = {.data = flush->ranges,
                                       .len = flush->range_count * SIRIX_INTENT_RANGE_BYTES};
    enum sirix_status status = SIRIX_OK;

    if (flush->range_count != 0) {
        struct sirix_segment_range last = sirix_rows_range_get(ranges, flush->range_count - 1);

        if (last.last + 1 == number) {
            last.last = number;
            sirix_rows_range_put(flush->ranges + ranges.len - SIRIX_INTENT_RANGE_BYTES, last);
            return SIRIX_OK;
        }
    }
    if (flush->range_count == SIRIX_INTENT_RANGES_MAX) {
        status = put_part(flush, group, row->part_count - 1, err);
        row->part_count++;
        flush->range_count = 0;
    }
    sirix_rows_range_put(flush->ranges + flush->range_count * SIRIX_INTENT_RANGE_BYTES, alone);
    flush->range_count++;
    return status;
}

static enum sirix_status flush_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                       struct sirix_error *err)
{
    struct flush_work *flush = (struct flush_work *)work;
    struct sirix_counters_row counters;
    struct sirix_intent_row row;
    enum sirix_status status = sirix_counters_get(group, flush->resource, &counters, err);

    if (status == SIRIX_OK) {
        status = intent_get(group, flush->intent, &row, err);
    }
    if (status == SIRIX_OK) {
        status = load_last_part(flush, group, &row, err);
    }
    for (size_t i = 0; status == SIRIX_OK && i < flush->count; i++) {
        const struct sirix_segment_built *segment = &flush->segments[i];

        status = name_number(flush, group, &row, segment->number, err);
        if (status == SIRIX_OK) {
            status = sirix_group_segment_put(
                group, segment->number,
                (struct sirix_bytes){.data = segment->bytes, .len = segment->len}, err);
        }
    }
    if (status == SIRIX_OK) {
        status = put_part(flush, group, row.part_count - 1, err);
    }
    return status == SIRIX_OK ? intent_put(group, flush->intent, &row, err) : status;
}

enum sirix_status sirix_intent_flush(struct sirix_resource *resource, uint64_t intent,
                                     struct sirix_segment_built *segments, size_t count,
                                     struct sirix_error *err)
{
    struct flush_work *flush = NULL;
    size_t bytes = 0;
    enum sirix_status status = SIRIX_OK;

    if (count == 0) {
        return SIRIX_OK;
    }
    flush = calloc(1, sizeof(*flush));
    if (flush == NULL) {
        status = sirix_fail(err, SIRIX_NO_MEMORY, "cannot allocate a flush");
    }
    for (size_t i = 0; i < count; i++) {
        bytes += segments[i].len;
    }
    if (status == SIRIX_OK) {
        flush->work = (struct sirix_commit_work){
            .work_class = SIRIX_WORK_BACKGROUND,
            .size_hint = bytes,
            .prepare = flush_prepare,
            .done = sirix_work_done,
        };
        flush->resource = resource;
        flush->intent = intent;
        flush->segments = segments;
        flush->count = count;
        status = sirix_committer_run(resource->database->committer, &flush->work, err);
    }
    free(flush);
    return status;
}

/* --- Undo --------------------------------------------------------------------------------------- */

struct undo_work {
    struct sirix_commit_work work;
    uint64_t intent;
    uint64_t deleted; /* Numbers or rows that this step deletes. */
    bool over;        /* Nothing is left of the intent. */
};

/* Deletes the end of the last part: as many numbers as one transaction may. */
static enum sirix_status undo_ranges(struct undo_work *undo, struct sirix_group *group,
                                     struct sirix_intent_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key key =
        sirix_rows_key_intent_ranges(undo->intent, row->part_count - 1);
    uint8_t ranges[SIRIX_INTENT_RANGES_MAX * SIRIX_INTENT_RANGE_BYTES];
    struct sirix_bytes value = {0};
    size_t count = 0;
    enum sirix_status status = sirix_group_ref_get(group, sirix_rows_key_view(&key), &value, err);

    if (status == SIRIX_OK) {
        status = sirix_rows_ranges_count(value, &count, err);
    }
    if (status != SIRIX_OK) {
        return status == SIRIX_NOT_FOUND
                   ? sirix_fail(err, SIRIX_CORRUPT, "intent %" PRIu64 " lacks its ranges",
                                undo->intent)
                   : status;
    }
    if (value.len != 0) {
        memcpy(ranges, value.data, value.len);
    }
    value.data = ranges;
    while (status == SIRIX_OK && count != 0 && undo->deleted < SIRIX_BACKGROUND_DELETES_MAX) {
        struct sirix_segment_range range = sirix_rows_range_get(value, count - 1);
        uint64_t room = SIRIX_BACKGROUND_DELETES_MAX - undo->deleted;
        struct sirix_segment_range end = range;

        if (range.last - range.first >= room) {
            end.first = range.last - room + 1;
            range.last = end.first - 1;
            sirix_rows_range_put(ranges + (count - 1) * SIRIX_INTENT_RANGE_BYTES, range);
        } else {
            count--;
        }
        undo->deleted += end.last - end.first + 1;
        status = sirix_group_segment_delete(group, end, err);
    }
    if (status != SIRIX_OK) {
        return status;
    }
    if (count != 0) {
        value.len = count * SIRIX_INTENT_RANGE_BYTES;
        return sirix_group_ref_put(group, sirix_rows_key_view(&key), value, err);
    }
    row->part_count--;
    status = sirix_row_delete(group, &key, err);
    return status == SIRIX_OK ? intent_put(group, undo->intent, row, err) : status;
}

struct drop_walk {
    struct undo_work *undo;
    struct sirix_group *group;
};

static enum sirix_status drop_row(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                  bool *stop, struct sirix_error *err)
{
    struct drop_walk *walk = context;
    enum sirix_status status = sirix_group_ref_put(walk->group, key, (struct sirix_bytes){0}, err);

    (void)value;
    walk->undo->deleted++;
    *stop = walk->undo->deleted >= SIRIX_BACKGROUND_DELETES_MAX;
    return status;
}

/*
 * Deletes some of the rows of a resource that was dropped or never named. Entries in the order of
 * expiry go by sweeps; the segments of a dropped one go by prune.
 */
static enum sirix_status undo_drop(struct undo_work *undo, struct sirix_group *group,
                                   const struct sirix_intent_row *row, struct sirix_error *err)
{
    const struct sirix_rows_key prefixes[] = {sirix_rows_prefix_resource(row->resource),
                                              sirix_rows_prefix_hot(row->resource)};
    struct drop_walk walk = {.undo = undo, .group = group};
    enum sirix_status status = SIRIX_OK;

    for (size_t i = 0; i < 2 && status == SIRIX_OK && undo->deleted < SIRIX_BACKGROUND_DELETES_MAX;
         i++) {
        status = sirix_ref_scan(sirix_group_reader(group), sirix_rows_key_view(&prefixes[i]),
                                (struct sirix_bytes){0}, false, drop_row, &walk, err);
    }
    return status;
}

static enum sirix_status undo_prepare(struct sirix_commit_work *work, struct sirix_group *group,
                                      struct sirix_error *err)
{
    struct undo_work *undo = (struct undo_work *)work;
    const struct sirix_rows_key key = sirix_rows_key_intent(undo->intent);
    struct sirix_intent_row row;
    enum sirix_status status = intent_get(group, undo->intent, &row, err);

    undo->deleted = 0;
    undo->over = false;
    if (status != SIRIX_OK) {
        return status;
    }
    if (row.part_count != 0) {
        return undo_ranges(undo, group, &row, err);
    }
    if (row.kind != SIRIX_INTENT_SEGMENTS) {
        status = undo_drop(undo, group, &row, err);
    }
    if (status == SIRIX_OK && undo->deleted == 0) {
        undo->over = true;
        status = sirix_row_delete(group, &key, err);
    }
    return status;
}

enum sirix_status sirix_intent_undo(struct sirix_database *database, uint64_t intent,
                                    struct sirix_recovery *recovery, struct sirix_error *err)
{
    struct undo_work undo = {.intent = intent};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && !undo.over) {
        undo.work = (struct sirix_commit_work){
            .work_class = SIRIX_WORK_BACKGROUND,
            .frees_space = true,
            .prepare = undo_prepare,
            .done = sirix_work_done,
        };
        status = sirix_committer_run(database->committer, &undo.work, err);
    }
    if (status == SIRIX_OK && recovery != NULL) {
        recovery->intents++;
    }
    return status;
}

enum sirix_status sirix_intent_abandon(struct sirix_resource *resource, uint64_t intent,
                                       struct sirix_error *err)
{
    return sirix_intent_undo(resource->database, intent, NULL, err);
}

/* --- Recovery ----------------------------------------------------------------------------------- */

struct recover_walk {
    bool found;
    uint64_t intent;
    struct sirix_intent_row row;
};

static enum sirix_status first_intent(void *context, struct sirix_bytes key,
                                      struct sirix_bytes value, bool *stop, struct sirix_error *err)
{
    struct recover_walk *walk = context;

    if (!sirix_rows_key_intent_parse(key, &walk->intent)) {
        return sirix_fail(err, SIRIX_CORRUPT, "intent row with a malformed key");
    }
    walk->found = true;
    *stop = true;
    return sirix_rows_intent_decode(value, &walk->row, err);
}

static enum sirix_status count_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                       bool *stop, struct sirix_error *err)
{
    uint64_t *count = context;

    (void)number;
    (void)bytes;
    (void)err;
    *stop = false;
    *count += 1;
    return SIRIX_OK;
}

/* How many segments an intent's ranges really hold. */
static enum sirix_status count_segments(struct sirix_reader *reader,
                                        const struct recover_walk *walk, uint64_t *count,
                                        struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    for (uint32_t part = 0; status == SIRIX_OK && part < walk->row.part_count; part++) {
        const struct sirix_rows_key key = sirix_rows_key_intent_ranges(walk->intent, part);
        struct sirix_bytes value = {0};
        size_t range_count = 0;

        status = sirix_ref_get(reader, sirix_rows_key_view(&key), &value, err);
        if (status == SIRIX_OK) {
            status = sirix_rows_ranges_count(value, &range_count, err);
        } else if (status == SIRIX_NOT_FOUND) {
            status =
                sirix_fail(err, SIRIX_CORRUPT, "intent %" PRIu64 " lacks its ranges", walk->intent);
        }
        for (size_t i = 0; status == SIRIX_OK && i < range_count; i++) {
            struct sirix_segment_range range = sirix_rows_range_get(value, i);

            status = sirix_segment_scan(reader, range.first, range.last, count_segment, count, err);
        }
    }
    return status;
}

/* Looks for one intent and undoes it; *out_found: there was one. */
static enum sirix_status recover_one(struct sirix_database *database, struct sirix_reader *reader,
                                     struct sirix_recovery *recovery, bool *out_found,
                                     struct sirix_error *err)
{
    const struct sirix_rows_key prefix = sirix_rows_prefix_intents();
    struct recover_walk walk = {0};
    enum sirix_status status = SIRIX_OK;

    sirix_reader_yield(reader);
    status = sirix_ref_scan(reader, sirix_rows_key_view(&prefix), (struct sirix_bytes){0}, false,
                            first_intent, &walk, err);
    if (status == SIRIX_OK && walk.found && walk.row.part_count != 0) {
        status = count_segments(reader, &walk, &recovery->abandoned_segments, err);
    }
    sirix_reader_yield(reader); /* No slice may be held while the undoing waits for the disk. */
    if (status == SIRIX_OK && walk.found) {
        status = sirix_intent_undo(database, walk.intent, recovery, err);
    }
    *out_found = walk.found;
    return status;
}

enum sirix_status sirix_intents_recover(struct sirix_database *database,
                                        struct sirix_recovery *recovery, struct sirix_error *err)
{
    struct sirix_reader *reader = NULL;
    bool found = true;
    enum sirix_status status = sirix_reader_open(database->backend, &reader, err);

    while (status == SIRIX_OK && found) {
        status = recover_one(database, reader, recovery, &found, err);
    }
    sirix_reader_close(reader);
    return status;
}
