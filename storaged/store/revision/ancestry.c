/*
 * The graph of revisions: walks along parents with skew-binary jumps.
 *
 * The depth at which a jump points follows from the depth alone, so a walk by depth reads only the
 * records it lands on: about 2 log2(n) of them. Records are checked for being the revision that the
 * pointer names, so that damage shows as damage and never as another history.
 */
#include "store/revision/internal.h"

#include <assert.h>
#include <inttypes.h>

uint32_t sirix_jump_depth(uint32_t depth)
{
    uint64_t rest = depth;
    uint64_t summand = 0;

    /* Written greedily as a sum of numbers 2^k - 1, a depth's jump leaves its smallest summand out. */
    while (rest > 0) {
        uint32_t k = 63 - (uint32_t)__builtin_clzll(rest + 1);

        summand = (UINT64_C(1) << k) - 1;
        rest -= summand;
    }
    return (uint32_t)(depth - summand);
}

enum sirix_status sirix_record_of(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, uint64_t revision,
                                  uint64_t address, struct sirix_record *out_record,
                                  struct sirix_error *err)
{
    struct sirix_record record;
    enum sirix_status status = sirix_record_read(reader, address, &record, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (record.revision != revision) {
        return sirix_fail(err, SIRIX_CORRUPT,
                          "resource %s: the record of revision %" PRIu64
                          " says that it is revision %" PRIu64,
                          resource->name, revision, record.revision);
    }
    record.author = (struct sirix_bytes){0};
    record.message = (struct sirix_bytes){0};
    *out_record = record;
    return SIRIX_OK;
}

/* Reads the record that a pointer of the step's record names; it must lie at that depth. */
static enum sirix_status follow(struct sirix_reader *reader, const struct sirix_resource *resource,
                                struct sirix_step *step, uint64_t revision, uint64_t address,
                                uint32_t depth, struct sirix_error *err)
{
    struct sirix_record record;
    enum sirix_status status = sirix_record_of(reader, resource, revision, address, &record, err);

    if (status != SIRIX_OK) {
        return status;
    }
    if (record.depth != depth) {
        return sirix_fail(err, SIRIX_CORRUPT,
                          "resource %s: revision %" PRIu64 " has depth %u where revision %" PRIu64
                          " needs %u",
                          resource->name, revision, record.depth, step->record.revision, depth);
    }
    step->address = address;
    step->record = record;
    return SIRIX_OK;
}

enum sirix_status sirix_step_parent(struct sirix_reader *reader,
                                    const struct sirix_resource *resource, struct sirix_step *step,
                                    struct sirix_error *err)
{
    assert(step->record.depth > 0);
    return follow(reader, resource, step, step->record.parent_revision, step->record.parent_address,
                  step->record.depth - 1, err);
}

enum sirix_status sirix_step_jump(struct sirix_reader *reader,
                                  const struct sirix_resource *resource, struct sirix_step *step,
                                  struct sirix_error *err)
{
    assert(step->record.depth > 0);
    return follow(reader, resource, step, step->record.jump_revision, step->record.jump_address,
                  sirix_jump_depth(step->record.depth), err);
}

enum sirix_status sirix_step_to_depth(struct sirix_reader *reader,
                                      const struct sirix_resource *resource,
                                      struct sirix_step *step, uint32_t depth,
                                      struct sirix_error *err)
{
    enum sirix_status status = SIRIX_OK;

    assert(depth <= step->record.depth);
    while (status == SIRIX_OK && step->record.depth > depth) {
        status = sirix_jump_depth(step->record.depth) >= depth
                     ? sirix_step_jump(reader, resource, step, err)
                     : sirix_step_parent(reader, resource, step, err);
    }
    return status;
}

enum sirix_status sirix_step_to_time(struct sirix_reader *reader,
                                     const struct sirix_resource *resource, struct sirix_step *step,
                                     int64_t time_us, struct sirix_error *err)
{
    while (step->record.time_us > time_us) {
        struct sirix_step far = *step;

        if (step->record.depth == 0) {
            return sirix_fail(err, SIRIX_NOT_FOUND, "no revision is that old");
        }
        enum sirix_status status = sirix_step_jump(reader, resource, &far, err);
        if (status != SIRIX_OK) {
            return status;
        }
        if (far.record.time_us > time_us) {
            *step = far;
            continue;
        }
        status = sirix_step_parent(reader, resource, step, err);
        if (status != SIRIX_OK) {
            return status;
        }
    }
    return SIRIX_OK;
}

enum sirix_status sirix_view_is_ancestor(struct sirix_reader *reader,
                                         const struct sirix_view *ancestor,
                                         const struct sirix_view *descendant, bool *out_is,
                                         struct sirix_error *err)
{
    struct sirix_step step = {.address = descendant->record_address, .record = descendant->record};
    enum sirix_status status = SIRIX_OK;

    assert(ancestor->resource->id == descendant->resource->id);
    if (ancestor->record.depth > descendant->record.depth) {
        *out_is = false;
        return SIRIX_OK;
    }
    status = sirix_step_to_depth(reader, descendant->resource, &step, ancestor->record.depth, err);
    if (status == SIRIX_OK) {
        *out_is = step.record.revision == ancestor->record.revision;
    }
    return status;
}

enum sirix_status sirix_view_merge_base(struct sirix_reader *reader, const struct sirix_view *a,
                                        const struct sirix_view *b, uint64_t *out_revision,
                                        uint64_t *out_address, struct sirix_error *err)
{
    const struct sirix_resource *resource = a->resource;
    struct sirix_step left = {.address = a->record_address, .record = a->record};
    struct sirix_step right = {.address = b->record_address, .record = b->record};
    uint32_t depth =
        left.record.depth < right.record.depth ? left.record.depth : right.record.depth;
    enum sirix_status status = SIRIX_OK;

    assert(a->resource->id == b->resource->id);
    status = sirix_step_to_depth(reader, resource, &left, depth, err);
    if (status == SIRIX_OK) {
        status = sirix_step_to_depth(reader, resource, &right, depth, err);
    }
    while (status == SIRIX_OK && left.record.revision != right.record.revision) {
        if (left.record.depth == 0) {
            return sirix_fail(err, SIRIX_CORRUPT,
                              "resource %s: revisions %" PRIu64 " and %" PRIu64
                              " have no common ancestor",
                              resource->name, a->record.revision, b->record.revision);
        }
        /* Both stand at one depth, so both jumps span the same distance. */
        bool far = left.record.jump_revision != right.record.jump_revision;

        status = far ? sirix_step_jump(reader, resource, &left, err)
                     : sirix_step_parent(reader, resource, &left, err);
        if (status == SIRIX_OK) {
            status = far ? sirix_step_jump(reader, resource, &right, err)
                         : sirix_step_parent(reader, resource, &right, err);
        }
    }
    if (status == SIRIX_OK) {
        *out_revision = left.record.revision;
        *out_address = left.address;
    }
    return status;
}
