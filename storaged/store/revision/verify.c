/*
 * Verify: the run over segments, resources, heads and labels. It never stops at damage: a fault is
 * told, with what it belongs to, and the next thing is looked at.
 */
#include "store/revision/verify.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/endian.h"

enum {
    STEPS_BETWEEN_LOOKS = 32, /* At the clock. */
    SCAN_BYTES = 512 * 1024,  /* Of segments between two pauses. */
    SCAN_COUNT = 64,
};

/* A yield costs what the reader holds: it is looked up again, and in builds with sanitizers copied. */
static const uint64_t yield_after_ns = 1000000;

/* What damage is told with where it is met ("resource R: ") stands in front already. */
static const char *without_owner(const char *why, const struct sirix_resource *resource)
{
    char owner[SIRIX_NAME_BYTES_MAX + 64];
    int len = snprintf(owner, sizeof(owner), "resource %s: ", resource->name);

    return strncmp(why, owner, (size_t)len) == 0 ? why + len : why;
}

enum sirix_status sirix_verify_fault(struct sirix_verify_run *run,
                                     const struct sirix_resource *resource, uint64_t revision,
                                     enum sirix_reason reason, struct sirix_error *err,
                                     const char *fmt, ...)
{
    struct sirix_error fault = {0};
    char why[SIRIX_ERROR_TEXT_BYTES];
    char where[SIRIX_NAME_BYTES_MAX + 64] = "";
    struct sirix_bytes owner = {0};
    va_list args;

    va_start(args, fmt);
    int written = vsnprintf(why, sizeof(why), fmt, args);
    va_end(args);
    if (written < 0) {
        why[0] = '\0';
    }
    if (resource != NULL && revision != 0) {
        (void)snprintf(where, sizeof(where), "resource %s, revision %" PRIu64 ": ", resource->name,
                       revision);
    } else if (resource != NULL) {
        (void)snprintf(where, sizeof(where), "resource %s: ", resource->name);
    }
    if (resource != NULL) {
        owner = (struct sirix_bytes){.data = resource->name, .len = strlen(resource->name)};
    }
    enum sirix_status status =
        sirix_fail_reason(&fault, SIRIX_CORRUPT, reason, "%s%s", where,
                          resource != NULL ? without_owner(why, resource) : why);

    (void)status; /* The fault is what the visitor is told of; it decides how the run goes on. */
    fault.current_revision = revision;
    run->progress.faults++;
    return run->fault(run->context, owner, &fault, err);
}

enum sirix_status sirix_verify_note(struct sirix_verify_run *run,
                                    const struct sirix_resource *resource, uint64_t revision,
                                    enum sirix_status status, const struct sirix_error *cause,
                                    struct sirix_error *err)
{
    if (status == SIRIX_CORRUPT || status == SIRIX_NOT_FOUND) {
        return sirix_verify_fault(run, resource, revision, cause->reason, err, "%s",
                                  cause->text[0] != '\0' ? cause->text : "a row is missing");
    }
    if (status != SIRIX_OK && err != NULL) {
        *err = *cause;
    }
    return status;
}

enum sirix_status sirix_verify_step(struct sirix_verify_run *run, struct sirix_error *err)
{
    uint64_t now_ns = 0;

    run->steps++;
    if (run->steps < STEPS_BETWEEN_LOOKS || run->yield == NULL) {
        return SIRIX_OK;
    }
    run->steps = 0;
    now_ns = sirix_clock_monotonic_ns(run->database->clock);
    if (now_ns - run->yielded_ns < yield_after_ns) {
        return SIRIX_OK;
    }
    run->yielded_ns = now_ns;
    return run->yield(run->context, &run->progress, err);
}

/* --- Segments ----------------------------------------------------------------------------------- */

struct segment_walk {
    struct sirix_verify_run *run;
    const struct sirix_resource *resource; /* NULL: all. */
    uint64_t next;
    uint64_t bytes;
    uint32_t count;
    bool more;
};

/* Segments of other resources are left alone, as far as their headers can be read. */
static bool is_of_other(const struct segment_walk *walk, struct sirix_bytes bytes)
{
    const uint8_t *header = bytes.data;

    return walk->resource != NULL && bytes.len >= SIRIX_SEGMENT_HEADER_BYTES &&
           sirix_load_u16le(header) == SIRIX_SEGMENT_MAGIC &&
           sirix_load_u32le(header + 4) != walk->resource->id;
}

/* The header is as good a witness as there is; a resource that was dropped has no name. */
static enum sirix_status tell_damage(const struct segment_walk *walk, struct sirix_bytes bytes,
                                     const struct sirix_error *cause, struct sirix_error *err)
{
    struct sirix_resource *owner = NULL;
    struct sirix_error unknown = {0};

    if (walk->resource == NULL && bytes.len >= SIRIX_SEGMENT_HEADER_BYTES &&
        sirix_load_u32le((const uint8_t *)bytes.data + 4) != 0) {
        enum sirix_status found = sirix_resource_open_id(
            walk->run->database, sirix_load_u32le((const uint8_t *)bytes.data + 4),
            (struct sirix_bytes){0}, &owner, &unknown);
        owner = found == SIRIX_OK ? owner : NULL;
    }
    enum sirix_status status = sirix_verify_note(
        walk->run, walk->resource != NULL ? walk->resource : owner, 0, SIRIX_CORRUPT, cause, err);
    sirix_resource_unref(owner);
    return status;
}

static enum sirix_status check_segment(void *context, uint64_t number, struct sirix_bytes bytes,
                                       bool *stop, struct sirix_error *err)
{
    struct segment_walk *walk = context;
    struct sirix_error cause = {0};
    enum sirix_status status = SIRIX_OK;

    if (walk->bytes >= SCAN_BYTES || walk->count >= SCAN_COUNT) {
        walk->more = true;
        *stop = true;
        return SIRIX_OK;
    }
    walk->next = number + 1;
    walk->count++;
    if (is_of_other(walk, bytes)) {
        return SIRIX_OK;
    }
    walk->bytes += bytes.len;
    walk->run->progress.segments++;
    walk->run->progress.bytes += bytes.len;
    status = sirix_segment_check(bytes, number, &cause);
    return status == SIRIX_CORRUPT ? tell_damage(walk, bytes, &cause, err) : status;
}

static enum sirix_status verify_segments(struct sirix_verify_run *run,
                                         const struct sirix_resource *resource,
                                         struct sirix_error *err)
{
    struct segment_walk walk = {.run = run, .resource = resource, .next = 1, .more = true};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && walk.more) {
        struct sirix_error cause = {0};

        walk.more = false;
        walk.bytes = 0;
        walk.count = 0;
        status = sirix_segment_scan(run->reader, walk.next, SIRIX_SEGMENT_NUMBER_MAX, check_segment,
                                    &walk, &cause);
        if (status == SIRIX_CORRUPT) {
            /* What holds the segments together is damaged: the scan cannot go on. */
            return sirix_verify_note(run, NULL, 0, status, &cause, err);
        }
        if (status != SIRIX_OK && err != NULL) {
            *err = cause;
        }
        if (status == SIRIX_OK && run->yield != NULL) {
            status = run->yield(run->context, &run->progress, err);
        }
    }
    return status;
}

/* --- Heads and labels --------------------------------------------------------------------------- */

struct ref_walk {
    struct sirix_verify_run *run;
    struct sirix_resource *resource;
    const struct sirix_counters_row *counters;
    uint64_t branches;
    uint64_t snapshots;
    struct sirix_map revisions; /* Heads and labels, each once, with the address of its record. */
};

/* A revision that a row names must be in the index under the same address. */
static enum sirix_status check_place(struct ref_walk *walk, const char *what, uint64_t revision,
                                     uint64_t address, struct sirix_error *err)
{
    struct sirix_index_entry entry;
    struct sirix_error cause = {0};
    enum sirix_status status = SIRIX_OK;

    if (revision > walk->counters->last_revision) {
        return sirix_verify_fault(walk->run, walk->resource, revision, SIRIX_REASON_NONE, err,
                                  "%s names it, the newest revision is %" PRIu64, what,
                                  walk->counters->last_revision);
    }
    status = sirix_index_read(walk->run->reader, walk->resource, walk->counters, revision, &entry,
                              &cause);
    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, revision, status, &cause, err);
    }
    if (entry.address != address) {
        return sirix_verify_fault(walk->run, walk->resource, revision, SIRIX_REASON_NONE, err,
                                  "%s has another address than the index", what);
    }
    return sirix_map_put(&walk->revisions, revision, address, err);
}

static enum sirix_status check_head(void *context, struct sirix_bytes key, struct sirix_bytes value,
                                    bool *stop, struct sirix_error *err)
{
    struct ref_walk *walk = context;
    struct sirix_head_row head;
    struct sirix_error cause = {0};
    uint64_t branch = 0;
    enum sirix_status status = sirix_rows_head_decode(value, &head, &cause);

    *stop = false;
    walk->branches++;
    if (status == SIRIX_OK && !sirix_rows_key_head_parse(key, &branch)) {
        status = sirix_fail(&cause, SIRIX_CORRUPT, "head row with a malformed key");
    }
    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, 0, status, &cause, err);
    }
    return check_place(walk, "a head", head.revision, head.address, err);
}

/* What a revision of a branch is called by: the same name under the id. */
static enum sirix_status check_name(const struct ref_walk *walk, const struct sirix_label_row *row,
                                    struct sirix_error *err)
{
    struct sirix_bytes name = {0};
    struct sirix_error cause = {0};
    enum sirix_status status =
        sirix_branch_name(walk->resource, walk->run->reader, row->branch, &name, &cause);

    if (status != SIRIX_OK && status != SIRIX_NOT_FOUND) {
        return sirix_verify_note(walk->run, walk->resource, 0, status, &cause, err);
    }
    return sirix_bytes_equal(name, row->name)
               ? SIRIX_OK
               : sirix_verify_fault(walk->run, walk->resource, 0, SIRIX_REASON_NONE, err,
                                    "branch %.*s has another name under its id", (int)row->name.len,
                                    (const char *)row->name.data);
}

static enum sirix_status check_label(void *context, struct sirix_bytes key,
                                     struct sirix_bytes value, bool *stop, struct sirix_error *err)
{
    struct ref_walk *walk = context;
    struct sirix_label_row row;
    struct sirix_head_row head;
    struct sirix_error cause = {0};
    enum sirix_status status = sirix_rows_label_decode(value, &row, &cause);

    (void)key;
    *stop = false;
    if (status != SIRIX_OK) {
        return sirix_verify_note(walk->run, walk->resource, 0, status, &cause, err);
    }
    if (row.kind == SIRIX_LABEL_SNAPSHOT) {
        walk->snapshots++;
        return check_place(walk, "a snapshot", row.revision, row.address, err);
    }
    status = sirix_head_read(walk->run->reader, walk->resource, row.branch, &head, &cause);
    if (status == SIRIX_NOT_FOUND) {
        return sirix_verify_fault(walk->run, walk->resource, 0, SIRIX_REASON_NONE, err,
                                  "branch %.*s has no head", (int)row.name.len,
                                  (const char *)row.name.data);
    }
    return status == SIRIX_OK
               ? check_name(walk, &row, err)
               : sirix_verify_note(walk->run, walk->resource, 0, status, &cause, err);
}

static enum sirix_status verify_refs(struct ref_walk *walk, struct sirix_error *err)
{
    const struct sirix_rows_key heads = sirix_rows_prefix_heads(walk->resource->id);
    const struct sirix_rows_key labels = sirix_rows_prefix_labels(walk->resource->id);
    struct sirix_reader *reader = walk->run->reader;
    enum sirix_status status = sirix_ref_scan(
        reader, sirix_rows_key_view(&heads), (struct sirix_bytes){0}, false, check_head, walk, err);

    if (status == SIRIX_OK) {
        status = sirix_ref_scan(reader, sirix_rows_key_view(&labels), (struct sirix_bytes){0},
                                false, check_label, walk, err);
    }
    if (status == SIRIX_OK && (walk->branches != walk->counters->branch_count ||
                               walk->snapshots != walk->counters->snapshot_count)) {
        status = sirix_verify_fault(walk->run, walk->resource, 0, SIRIX_REASON_NONE, err,
                                    "%" PRIu64 " branches and %" PRIu64
                                    " snapshots are there, counted are %" PRIu64 " and %" PRIu64,
                                    walk->branches, walk->snapshots, walk->counters->branch_count,
                                    walk->counters->snapshot_count);
    }
    return status;
}

/* The documents of all heads and labels, each revision once. */
static enum sirix_status verify_trees(struct ref_walk *walk, struct sirix_error *err)
{
    size_t cursor = 0;
    uint64_t revision = 0;
    uint64_t address = 0;
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && sirix_map_next(&walk->revisions, &cursor, &revision, &address)) {
        struct sirix_record record;
        struct sirix_error cause = {0};

        status =
            sirix_record_of(walk->run->reader, walk->resource, revision, address, &record, &cause);
        if (status != SIRIX_OK) {
            status = sirix_verify_note(walk->run, walk->resource, revision, status, &cause, err);
            continue;
        }
        status = sirix_verify_tree(walk->run, walk->resource, &record, err);
    }
    return status;
}

/* --- Resources ---------------------------------------------------------------------------------- */

static enum sirix_status verify_resource(struct sirix_verify_run *run,
                                         struct sirix_resource *resource, struct sirix_error *err)
{
    struct sirix_counters_row counters;
    struct ref_walk walk = {.run = run, .resource = resource, .counters = &counters};
    struct sirix_error cause = {0};
    enum sirix_status status = sirix_counters_read(run->reader, resource, &counters, &cause);

    if (status != SIRIX_OK) {
        return sirix_verify_note(run, resource, 0, status, &cause, err);
    }
    sirix_map_init(&walk.revisions);
    status = verify_refs(&walk, err);
    if (status == SIRIX_OK) {
        status = sirix_verify_records(run, resource, &counters, err);
    }
    if (status == SIRIX_OK) {
        status = verify_trees(&walk, err);
    }
    sirix_map_deinit(&walk.revisions);
    return status;
}

struct next_name {
    struct sirix_bytes after;
    bool found;
    size_t len;
    char bytes[SIRIX_NAME_BYTES_MAX];
};

static enum sirix_status take_next(void *context, struct sirix_bytes name, bool *stop,
                                   struct sirix_error *err)
{
    struct next_name *next = context;

    (void)err;
    memcpy(next->bytes, name.data, name.len);
    next->len = name.len;
    next->found = true;
    *stop = true;
    return SIRIX_OK;
}

/* All resources, one name after the other: some may come and go meanwhile. */
static enum sirix_status verify_all(struct sirix_verify_run *run, struct sirix_error *err)
{
    struct next_name next = {.found = true};
    enum sirix_status status = SIRIX_OK;

    while (status == SIRIX_OK && next.found) {
        struct sirix_resource *resource = NULL;
        struct sirix_error cause = {0};
        char after[SIRIX_NAME_BYTES_MAX];

        memcpy(after, next.bytes, next.len);
        next.found = false;
        status =
            sirix_resource_list(run->database, (struct sirix_bytes){.data = after, .len = next.len},
                                take_next, &next, err);
        if (status != SIRIX_OK || !next.found) {
            break;
        }
        status = sirix_resource_open(run->database,
                                     (struct sirix_bytes){.data = next.bytes, .len = next.len},
                                     &resource, &cause);
        if (status == SIRIX_OK) {
            status = verify_resource(run, resource, err);
            sirix_resource_unref(resource);
        } else if (cause.reason == SIRIX_REASON_RESOURCE_UNKNOWN) {
            status = SIRIX_OK;
        } else {
            status = sirix_verify_note(run, NULL, 0, status, &cause, err);
        }
    }
    return status;
}

/* NOLINTNEXTLINE(readability-function-size): a visitor more than others have. */
enum sirix_status sirix_verify(struct sirix_database *database, struct sirix_resource *resource,
                               struct sirix_reader *reader, sirix_verify_fault_fn fault,
                               sirix_verify_yield_fn yield, void *context,
                               struct sirix_verify_progress *out_progress, struct sirix_error *err)
{
    struct sirix_verify_run run = {
        .database = database,
        .reader = reader,
        .fault = fault,
        .yield = yield,
        .context = context,
    };
    enum sirix_status status = verify_segments(&run, resource, err);

    if (status == SIRIX_OK) {
        status = resource != NULL ? verify_resource(&run, resource, err) : verify_all(&run, err);
    }
    if (status == SIRIX_OK) {
        *out_progress = run.progress;
    }
    return status;
}
